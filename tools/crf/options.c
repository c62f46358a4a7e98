/*
 * This file is part of FFmpeg.
 *
 * FFmpeg is free software; you can redistribute it and/or
 * modify it under the terms of the GNU Lesser General Public
 * License as published by the Free Software Foundation; either
 * version 2.1 of the License, or (at your option) any later version.
 *
 * FFmpeg is distributed in the hope that it will be useful,
 * but WITHOUT ANY WARRANTY; without even the implied warranty of
 * MERCHANTABILITY or FITNESS FOR A PARTICULAR PURPOSE.  See the GNU
 * Lesser General Public License for more details.
 *
 * You should have received a copy of the GNU Lesser General Public
 * License along with FFmpeg; if not, write to the Free Software
 * Foundation, Inc., 51 Franklin Street, Fifth Floor, Boston, MA 02110-1301 USA
 */

#include <sys/stat.h>

#include "libavutil/parseutils.h"

#include "ffcrf.h"

/// A CRF is not searched for more exactly than this.
#define CRF_EXACT 0.4

#define TEXT(name, field, value, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_STRING, { .str = value } }
#define FLAG(name, field, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 }
#define REAL(name, field, value, min, max, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_DOUBLE, { .dbl = value }, min, max }
#define INTEGER(name, field, value, min, max, choices, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_INT, { .i64 = value }, min, max, \
      .unit = choices }
#define TIME(name, field, value, min, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_DURATION, { .i64 = value }, min, INT64_MAX }
#define CHOICE(option, name, value) \
    { name, NULL, 0, AV_OPT_TYPE_CONST, { .i64 = value }, .unit = option }

static const AVOption options[] = {
    TEXT("i", input, NULL, "the video to encode"),
    TIME("ss", start, 0, 0, "start at this time of the input"),
    TIME("to", end, 0, 0, "end at this time of the input"),
    TIME("t", length, 0, 0, "take this much of the input"),
    TEXT("hwaccel", hwaccel, NULL,
         "decode the input by this device: auto, cuda, vaapi, qsv, ... (default: the CPU)"),
    TEXT("c:v", encoder_name, NULL, "the encoder (default: the first of libsvtav1, libx265, "
         "libx264 that this FFmpeg has; libsvtav1 with -preset 8)"),
    TEXT("vf", filters, NULL, "filters before the encoder, as in ffmpeg"),
    TEXT("reference-vfilter", reference_filters, NULL,
         "filters of what the encode is compared with (default: -vf)"),
    TEXT("keyint", keyint, NULL, "largest distance of key frames, in frames or as a time (10s)"),
    TEXT("enc", ignored, NULL, "name=value, an option of the encoder"),
    TEXT("enc-input", ignored, NULL, "name=value, an option of the input: ss, to, t, hwaccel"),
    TEXT("svt", ignored, NULL, "name=value, a parameter of libsvtav1"),
    TEXT("scd", ignored, NULL, "key frames where scenes change, for libsvtav1: true, false"),
    TEXT("pix_fmt", pix_fmt, NULL, "pixel format to encode in"),
    TEXT("metric", metric_name, NULL, "the metric: vmaf, loss, ssim, xpsnr, mad (default: vmaf, "
         "or loss if this FFmpeg has no libvmaf)"),
    REAL("target", target[0], NAN, -INFINITY, INFINITY,
         "the score to reach, in the metric's unit (default: vmaf 95, loss 5)"),
    REAL("target-vmaf", target[1], NAN, 0, 100, "metric vmaf and its target: higher is better"),
    TEXT("vmaf-model", vmaf_model, "v1", "v1, 4k, phone, v0.6.1, v0.6.1-4k, v0.6.1-phone, "
         "a name that libvmaf knows, or a file"),
    REAL("target-loss", target[2], NAN, 0, 100,
         "metric loss and its target: VMAF points lost, lower is better"),
    REAL("target-ssim", target[3], NAN, 0, 1, "metric ssim and its target: higher is better"),
    REAL("target-xpsnr", target[4], NAN, 0, 100,
         "metric xpsnr and its target: decibels, higher is better"),
    REAL("target-mad", target[5], NAN, 0, INFINITY, "metric mad and its target: lower is better"),
    TEXT("pool", pool_name, "mean", "which score has to reach the target: mean, p1 to p50 "
         "(percentile of the worst frames), worst (sample)"),
    REAL("tolerance", plan.tolerance, NAN, 0, INFINITY, "how much better than the target is good "
         "enough (default: ssim 0.002, xpsnr 0.3, others 1)"),
    REAL("min-crf", plan.min_crf, NAN, 0, 255, "lowest CRF to try (default: by encoder)"),
    REAL("max-crf", plan.max_crf, NAN, 0, 255, "highest CRF to try (default: by encoder)"),
    REAL("crf-increment", plan.increment, NAN, 0.01, 50,
         "try multiples of this only (default: 0.1, or 1)"),
    REAL("crf", crf, NAN, 0, 255, "try this CRF only; no target is needed"),
    FLAG("thorough", thorough, "find the highest CRF that reaches the target, without tolerance"),
    REAL("max-encoded-percent", plan.max_percent, 100, 0, INFINITY,
         "largest size, in % of the size of the source's video"),
    INTEGER("samples", samples, 0, 0, 1000, NULL,
            "number of samples (default: by --sample-every, and more where scenes differ)"),
    TIME("sample-every", every, 720000000, 1000, "one sample for this much video (default 12m)"),
    INTEGER("min-samples", min_samples, 3, 1, 1000, NULL, "least number of samples (default 3)"),
    TIME("sample-duration", duration, 10000000, 1000, "length of a sample (default 10s)"),
    INTEGER("score-every", step, 0, 0, 10000, NULL,
            "score one of this many frames (default: vmaf and loss 5, ssim 4, mad 24)"),
    { "memory", "bytes for decoded samples, such as 4G (default: half of the memory)",
      offsetof(Options, memory), AV_OPT_TYPE_INT64, { .i64 = 0 }, 0, INT64_MAX },
    { "cache", "keep results, and use those that were kept: true, false",
      offsetof(Options, cache), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1 },
    TEXT("gpu", gpu, "auto", "score on a GPU: auto, off, or its number"),
    TEXT("encode", encode, NULL, "write the encode to this file, and score all of it"),
    TEXT("verify", verify, NULL, "do not search: score all of this encode of the input"),
    FLAG("probe", probe, "do not search: score one sample at some CRFs by all metrics"),
    FLAG("accept-damage", accept_damage, "go on if the input is damaged or cut off"),
    TEXT("c:a", audio_codec, NULL, "the encoder of audio, or copy (default copy)"),
    TEXT("b:a", audio_rate, NULL, "bit rate of audio that is encoded, such as 128k"),
    FLAG("downmix-to-stereo", downmix, "make stereo of audio with more than 3 channels"),
    FLAG("video-only", video_only, "leave out all streams but the video"),
    FLAG("y", overwrite, "replace the file of --encode"),
    FLAG("json", json, "write JSON to standard output, one object per line"),
    INTEGER("stdout-format", json, 0, 0, 1, "stdout-format", "json or human"),
        CHOICE("stdout-format", "json",  1),
        CHOICE("stdout-format", "human", 0),
    INTEGER("loglevel", loglevel, AV_LOG_ERROR, AV_LOG_QUIET, AV_LOG_TRACE, "loglevel",
            "which messages of FFmpeg's libraries are shown: quiet, error, warning, info, "
            "verbose, debug (default error)"),
        CHOICE("loglevel", "quiet",   AV_LOG_QUIET),
        CHOICE("loglevel", "error",   AV_LOG_ERROR),
        CHOICE("loglevel", "warning", AV_LOG_WARNING),
        CHOICE("loglevel", "info",    AV_LOG_INFO),
        CHOICE("loglevel", "verbose", AV_LOG_VERBOSE),
        CHOICE("loglevel", "debug",   AV_LOG_DEBUG),
    TEXT("completion", completion, NULL, "print the completion script of a shell: bash, zsh, fish"),
    TEXT("complete", complete, NULL, "print what may follow this word, for shells"),
    FLAG("version", version, "print the version"),
    FLAG("help", help, "print this"),
    { NULL }
};

static const AVClass class = {
    .class_name = "ffcrf",
    .item_name  = av_default_item_name,
    .option     = options,
    .version    = LIBAVUTIL_VERSION_INT,
};

/// Other spellings, of ffmpeg and of ab-av1.
static const char *const alias[][2] = {
    { "codec:v", "c:v" }, { "vcodec", "c:v" }, { "encoder", "c:v" }, { "e", "c:v" },
    { "acodec", "c:a" }, { "codec:a", "c:a" }, { "input", "i" }, { "pix-format", "pix_fmt" },
    { "filter:v", "vf" }, { "vfilter", "vf" }, { "v", "loglevel" }, { "h", "help" },
    { "min-vmaf", "target-vmaf" }, { "min-xpsnr", "target-xpsnr" },
    { "o", "encode" }, { "output", "encode" },
};

/// Values to complete. Those of other options come from other tables.
static const char *const values[][2] = {
    { "gpu", "auto off" }, { "pool", "mean worst p1 p5" }, { "completion", "bash zsh fish" },
    { "scd", "true false" }, { "cache", "true false" }, { "hwaccel", "auto" },
    { "vmaf-model", "v1 4k phone v0.6.1 v0.6.1-4k v0.6.1-phone" },
};

/// What is known of encoders, by a part of their names: the first match counts.
static const struct Encoder {
    const char *name;
    double min_crf, max_crf;    ///< where to search
    const char *crf_option;     ///< if it has none of crf, cq and qp
    const char *always;         ///< options that it gets
    const char *preset;         ///< if no other is given
} encoders[] = {
    { "libx264",    10, 46 },
    { "libx265",    10, 46 },
    { "libsvtav1",   5, 63, .preset = "8" },
    { "libaom-av1",  5, 63 },
    { "libvpx-vp9", 10, 63 },
    { "librav1e",   10, 255 },
    { "av1_nvenc",  10, 63, .always = "rc=vbr:b=0" },
    { "av1_vaapi",  10, 255, "global_quality", "rc_mode=CQP" },
    { "_nvenc",     10, 46, .always = "rc=vbr:b=0" },
    { "_qsv",       10, 46, "global_quality" },
    { "_vaapi",     10, 46, "global_quality", "rc_mode=CQP" },
    { "",            0, 63 },
};

static const struct Encoder *find_encoder(const AVCodec *codec)
{
    const struct Encoder *e = encoders;

    while (!strstr(codec->name, e->name))
        e++;
    return e;
}

/// An option that no other encoder need have.
static const AVOption *encoder_option(const AVCodec *codec, const char *name)
{
    return codec->priv_class ? av_opt_find((void *)&codec->priv_class, name, NULL, 0,
                                           AV_OPT_SEARCH_FAKE_OBJ) : NULL;
}

/// The option that is searched, NULL if there is none.
static const char *crf_option(const AVCodec *codec)
{
    static const char *const names[] = { "crf", "cq", "qp" };

    for (int i = 0; i < FF_ARRAY_ELEMS(names); i++)
        if (encoder_option(codec, names[i]))
            return names[i];
    return find_encoder(codec)->crf_option;
}

int encoder_options(const Options *o, double crf, AVDictionary **options)
{
    const char *always = find_encoder(o->encoder)->always;
    char value[32];
    int ret;

    snprintf(value, sizeof(value), "%.6g", crf);
    ret = av_dict_set(options, crf_option(o->encoder), value, 0);
    if (ret >= 0 && always)
        ret = av_dict_parse_string(options, always, "=", ":", 0);
    return ret < 0 ? ret : av_dict_copy(options, o->encoder_options, 0);
}

int is_on_gpu(const AVCodec *encoder)
{
    return encoder && strstr(encoder->name, "_nvenc");
}

/// @return whether there is one, or the encoder does not tell
static int print_software_formats(AVBPrint *text, const AVCodec *encoder)
{
    const enum AVPixelFormat *formats = NULL;
    int nb = 0;

    avcodec_get_supported_config(NULL, encoder, AV_CODEC_CONFIG_PIX_FORMAT, 0,
                                 (const void **)&formats, NULL);
    for (const enum AVPixelFormat *f = formats; f && *f != AV_PIX_FMT_NONE; f++)
        if (!(av_pix_fmt_desc_get(*f)->flags & AV_PIX_FMT_FLAG_HWACCEL))
            av_bprintf(text, "%s%s", nb++ ? "|" : "", av_get_pix_fmt_name(*f));
    return nb || !formats;
}

int has_software_format(const AVCodec *encoder)
{
    AVBPrint text;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_COUNT_ONLY);
    return print_software_formats(&text, encoder);
}

const char *upload_formats(const Options *o)
{
    // of encoders with frames of their own only, those of H.264 have 8 bits
    return o->pix_fmt ? av_get_pix_fmt_name(gpu_format(av_get_pix_fmt(o->pix_fmt))) :
           o->encode_device && o->encoder->id == AV_CODEC_ID_H264 ? "nv12" : "nv12|p010";
}

int print_formats(const Options *o, AVBPrint *text)
{
    if (o->device && is_on_gpu(o->encoder) || o->encode_device)
        av_bprintf(text, "%s", upload_formats(o));
    else if (o->pix_fmt)
        av_bprintf(text, "%s", av_get_pix_fmt_name(av_get_pix_fmt(o->pix_fmt)));
    else if (o->encoder)
        print_software_formats(text, o->encoder);
    return av_bprint_is_complete(text) ? 0 : AVERROR(ENOMEM);
}

// ---- help ----

/// ffmpeg's own options have one dash.
static const char *dashes(const char *name)
{
    return name[strcspn(name, ":_")] || strlen(name) <= 2 || !strcmp(name, "hwaccel") ? "-" : "--";
}

void print_help(void)
{
    printf("usage: ffcrf -i INPUT [-c:v ENCODER] [encoder's options] [--target-vmaf 95] [options]\n"
           "Finds the CRF that gives an encode of INPUT the wanted quality.\n\n");
    for (const AVOption *o = options; o->name; o++) {
        const char *value = o->type == AV_OPT_TYPE_STRING ? o->default_val.str : NULL;

        if (o->type != AV_OPT_TYPE_CONST)
            printf("  %s%-*s %s%s%s%s\n", dashes(o->name), 22 - (int)strlen(dashes(o->name)),
                   o->name, o->help, value ? " (default " : "", value ? value : "",
                   value ? ")" : "");
    }
    printf("\nAll other options go to the encoder: `ffmpeg -h encoder=NAME` lists them.\n"
           "Exit status: 0 found, 1 not reachable, 2 wrong usage or input, 3 failed,\n"
           "4 the whole encode misses the target, 128 + n ended by signal n.\n");
}

/// What an argument is called in the table of options.
static const char *option_name(const char *argument)
{
    const char *name = argument + 1 + (argument[1] == '-');

    for (int i = 0; i < FF_ARRAY_ELEMS(alias); i++)
        if (!strcmp(name, alias[i][0]))
            return alias[i][1];
    return name;
}

static const AVOption *find_option(const char *name)
{
    const AVClass *const fake = &class;

    return av_opt_find((void *)&fake, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ);
}

static int is_flag(const AVOption *opt)
{
    return opt->type == AV_OPT_TYPE_BOOL && !opt->default_val.i64;
}

int print_completion(const char *shell)
{
    static const char *const scripts[][2] = {
        { "bash", "_ffcrf() {\n"
                  "    COMPREPLY=($(compgen -W \"$(${COMP_WORDS[0]} --complete "
                  "\"${COMP_WORDS[COMP_CWORD-1]}\")\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
                  "complete -o default -F _ffcrf ffcrf\n" },
        { "zsh",  "_ffcrf() {\n"
                  "    compadd -- $(${words[1]} --complete \"${words[CURRENT-1]}\") || _files\n}\n"
                  "compdef _ffcrf ffcrf\n" },
        { "fish", "complete -c ffcrf -a \"(ffcrf --complete (commandline -opc)[-1])\"\n" },
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(scripts); i++)
        if (!strcmp(shell, scripts[i][0]))
            return printf("%s", scripts[i][1]);
    return usage("--completion is for bash, zsh or fish, and not for '%s'.\n", shell);
}

void print_completions(const char *word)
{
    // to bash, the colon is the end of a word
    const char *name    = !strcmp(word, "v")     ? "c:v" :
                          *word == '-' && word[1] ? option_name(word) : "";
    const AVOption *opt = find_option(name);
    enum AVHWDeviceType type = AV_HWDEVICE_TYPE_NONE;
    void *iterator = NULL;
    const AVCodec *codec;

    for (const AVOption *o = options; o->name; o++)
        if (opt && opt->unit && o->type == AV_OPT_TYPE_CONST && !strcmp(o->unit, opt->unit))
            printf("%s\n", o->name);
        else if ((!opt || is_flag(opt)) && o->type != AV_OPT_TYPE_CONST)
            printf("%s%s\n", dashes(o->name), o->name);
    for (int i = 0; i < FF_ARRAY_ELEMS(values); i++)
        for (const char *v = values[i][1]; !strcmp(name, values[i][0]) && *v; v += !!*v) {
            printf("%.*s\n", (int)strcspn(v, " "), v);
            v += strcspn(v, " ");
        }
    while (!strcmp(name, "c:v") && (codec = av_codec_iterate(&iterator)))
        if (av_codec_is_encoder(codec) && codec->type == AVMEDIA_TYPE_VIDEO && crf_option(codec))
            printf("%s\n", codec->name);
    while (!strcmp(name, "hwaccel") &&
           (type = av_hwdevice_iterate_types(type)) != AV_HWDEVICE_TYPE_NONE)
        printf("%s\n", av_hwdevice_get_type_name(type));
    for (const Metric *m = metrics; !strcmp(name, "metric") && m->name; m++)
        printf("%s\n", m->name);
}

// ---- the command line ----

int64_t parse_duration(const char *text)
{
    static const struct { const char *name; double seconds; } units[] = {
        { "ms", 1e-3 }, { "s", 1 }, { "sec", 1 }, { "", 1 },
        { "m", 60 }, { "min", 60 }, { "h", 3600 },
    };
    double seconds = 0;
    int64_t duration;

    if (strchr(text, ':'))
        return av_parse_time(&duration, text, 1) < 0 ? -1 : duration;
    do {
        const size_t digits = strspn(text, "0123456789."), size = strspn(text + digits, "hmsecin");
        char *end;
        const double number = strtod(text, &end);
        int i = 0;

        while (i < FF_ARRAY_ELEMS(units) && (strlen(units[i].name) != size ||
                                             strncmp(units[i].name, text + digits, size)))
            i++;
        if (!digits || end != text + digits || i == FF_ARRAY_ELEMS(units))
            return -1;
        seconds += number * units[i].seconds;
        text    += digits + size;
    } while (*text);
    return seconds < 1e9 ? seconds * 1e6 : -1;
}

/// Refuse an option that the encoder does not have. This comes before its value is looked at, as
/// nobody knows if it has one.
static int check_encoder_option(const Options *o, const char *name)
{
    const AVClass *const generic = avcodec_get_class();
    const size_t size = strcspn(name, ":");
    char key[64];

    if (!o->encoder)
        return 0;               // that is told later
    if (name[size] && strcmp(name + size, ":v") && strcmp(name + size, ":v:0"))
        return usage("-%s is not an option of a video encoder.\n", name);
    snprintf(key, sizeof(key), "%.*s", (int)size, name);
    if (av_match_name(key, "b,qp,cq,global_quality,q"))
        return usage("-%s sets the quality, which ffcrf searches: leave it out.\n", key);
    if (!encoder_option(o->encoder, key) &&
        !av_opt_find((void *)&generic, key, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ))
        return usage("-%s is an option of neither ffcrf nor %s: see `ffcrf --help` and "
                     "`ffmpeg -h encoder=%s`.\n", key, o->encoder->name, o->encoder->name);
    return 0;
}

static int set_option(Options *o, const AVOption *opt, const char *value)
{
    // in these, 0 stands for an option that is not given
    const int is_number = !opt->unit && (opt->type == AV_OPT_TYPE_INT ||
                                         opt->type == AV_OPT_TYPE_INT64);
    int ret;

    if (opt->type == AV_OPT_TYPE_DURATION) {
        const int64_t duration = parse_duration(value);

        if (duration < opt->min)
            return usage("--%s %s is not a duration: write 20s, 12m or 1h30m.\n", opt->name, value);
        return av_opt_set_int(o, opt->name, duration, 0);
    }
    ret = is_number && strtod(value, NULL) <= 0 ? AVERROR(ERANGE) :
                                                  av_opt_set(o, opt->name, value, 0);
    return ret >= 0 ? ret : fail(ret, "'%s' is not a value for --%s: %s. `ffcrf --help` lists the "
                                 "options.\n", value, opt->name, opt->help);
}

static int set_encoder_option(Options *o, const char *name, const char *value, int flags)
{
    char *key = av_strndup(name, strcspn(name, ":"));

    return key ? av_dict_set(&o->encoder_options, key, value, AV_DICT_DONT_STRDUP_KEY | flags) :
                 AVERROR(ENOMEM);
}

/// A parameter of libsvtav1, after those that there are.
static int add_svt(Options *o, const char *parameter)
{
    int ret = 0;

    if (o->encoder && !encoder_option(o->encoder, "svtav1-params"))
        return usage("--svt and --scd are for libsvtav1, and not for %s.\n", o->encoder->name);
    if (av_dict_get(o->encoder_options, "svtav1-params", NULL, 0))
        ret = set_encoder_option(o, "svtav1-params", ":", AV_DICT_APPEND);
    return ret < 0 ? ret : set_encoder_option(o, "svtav1-params", parameter, AV_DICT_APPEND);
}

static int take_option(Options *o, const char *argument, const char *value);

/// Take name=value, as ab-av1 has options of the encoder and of the input.
static int take_pair(Options *o, const char *text, int is_input)
{
    char *pair  = av_asprintf("-%s", text + strspn(text, "-"));
    char *value = pair ? strchr(pair, '=') : NULL;
    const char *name;
    int is_known, ret;

    if (!pair)
        return AVERROR(ENOMEM);
    if (value)
        *value++ = 0;
    name     = option_name(pair);
    is_known = is_input ? av_match_name(name, "ss,to,t,hwaccel")
                        : av_match_name(name, "c:a,b:a") || !find_option(name);
    ret = is_known ? take_option(o, pair, value) : usage(
          is_input ? "%s is not an option of the input: ffcrf has ss, to, t and hwaccel.\n"
                   : "%s is not an option of the encoder: give it without --enc.\n", pair);
    av_free(pair);
    return ret;
}

/// Take an option of ffcrf's or of the encoder's. @return 1 if it took the value, which may be NULL
static int take_option(Options *o, const char *argument, const char *value)
{
    const char *name    = option_name(argument);
    const AVOption *opt = find_option(name);
    int ret = 0;

    // as ab-av1 has it, whatever the encoder calls it
    if (!strcmp(name, "preset") && o->encoder && !encoder_option(o->encoder, name))
        name = encoder_option(o->encoder, "cpu-used") ? "cpu-used" : "speed";
    if (!opt && (ret = check_encoder_option(o, name)) < 0)
        return ret;
    if (opt && is_flag(opt))
        return FFMIN(set_option(o, opt, "1"), 0);
    if (!value)
        return usage("%s needs a value.\n", argument);
    if (!opt)
        ret = set_encoder_option(o, name, value, 0);
    else if (!strcmp(name, "svt"))
        ret = add_svt(o, value);
    else if (!strcmp(name, "scd"))
        ret = !strcmp(value, "true")  ? add_svt(o, "scd=1") :
              !strcmp(value, "false") ? add_svt(o, "scd=0") :
              usage("--scd is true or false, and not '%s'.\n", value);
    else if (!strcmp(name, "keyint") && strspn(value, "0123456789") == strlen(value))
        ret = set_encoder_option(o, "g", value, 0);
    else if (!strcmp(name, "enc") || !strcmp(name, "enc-input"))
        ret = take_pair(o, value, !!name[3]);
    else
        ret = set_option(o, opt, value);
    return ret < 0 ? ret : 1;
}

char *default_output(const Options *o, const char *kind)
{
    const char *name = av_basename(o->input), *dot = strrchr(name, '.');
    int size = dot && dot > name ? dot - o->input : strlen(o->input);

    return strstr(o->input, "://") ? av_asprintf("%s.mkv", kind)
                                   : av_asprintf("%.*s.%s.mkv", size, o->input, kind);
}

char *output_part(const char *output)
{
    const char *dot = strrchr(output, '.');
    const int size  = dot ? dot - output : strlen(output);

    return av_asprintf("%.*s.part%s", size, output, output + size);
}

int options_parse(Options *o, int argc, char **argv)
{
    static const char *const defaults[] = { "libsvtav1", "libx265", "libx264" };
    const char *word = argc > 1 ? argv[1] : "";
    // of ab-av1
    const int first  = 1 + av_match_name(word, "auto-encode,crf-search,sample-encode");
    int ret;

    o->class = &class;
    av_opt_set_defaults(o);
    for (int i = 0; i < FF_ARRAY_ELEMS(defaults) && !o->encoder; i++)
        o->encoder = avcodec_find_encoder_by_name(defaults[i]);
    // what options there are depends on the encoder
    for (int i = first; i < argc - 1; i++)
        if (*argv[i] == '-' && !strcmp(option_name(argv[i]), "c:v")) {
            i++;
            o->encoder = avcodec_find_encoder_by_name(strcmp(argv[i], "svt-av1") ? argv[i]
                                                                                 : "libsvtav1");
        }
    for (int i = first; i < argc; i += 1 + ret) {
        if (*argv[i] != '-' || !argv[i][1])
            return usage("'%s' is not an option: give the input with -i and the output with "
                         "--encode.\n", argv[i]);
        if ((ret = take_option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) < 0)
            return ret;
    }
    if (o->verify && !o->encoder_name)
        o->encoder = NULL;
    if (!strcmp(word, "auto-encode") && !o->encode && o->input && o->encoder)
        o->encode = default_output(o, avcodec_get_name(o->encoder->id));
    return 0;
}

// ---- what goes together ----

static int check_encoder(Options *o)
{
    const char *name = o->encoder      ? o->encoder->name :
                       o->encoder_name ? o->encoder_name : "libsvtav1";
    SearchPlan *plan = &o->plan;
    const AVPixFmtDescriptor *format;
    const struct Encoder *known;
    const AVOption *opt;
    const char *crf;
    int whole;

    if (!o->encoder || o->encoder->type != AVMEDIA_TYPE_VIDEO)
        return usage("This build of FFmpeg has no video encoder '%s': `ffmpeg -encoders` lists "
                     "those that it has.\n", name);
    crf = crf_option(o->encoder);
    if (!crf)
        return usage("%s has no constant quality by -crf, -cq or -qp, which is searched: take "
                     "libx264, libx265, libsvtav1, libaom-av1 or one of NVENC, QSV or VAAPI.\n",
                     name);
    known = find_encoder(o->encoder);
    opt   = encoder_option(o->encoder, crf);
    whole = !opt || opt->type == AV_OPT_TYPE_INT;
    if (!isnan(o->crf))
        plan->min_crf = plan->max_crf = o->crf;
    if (isnan(plan->min_crf))
        plan->min_crf = known->min_crf;
    if (isnan(plan->max_crf))
        plan->max_crf = known->max_crf;
    if (isnan(plan->increment))
        plan->increment = whole ? 1 : isnan(o->crf) ? 0.1 : 0.01;
    if (whole && (plan->increment != rint(plan->increment) ||
                  !isnan(o->crf) && o->crf != rint(o->crf)))
        return usage("%s takes whole numbers only for -%s, and so for --crf and --crf-increment.\n",
                     name, crf);
    if (plan->min_crf > plan->max_crf || plan->max_crf > (opt ? opt->max : 255))
        return usage("%s has no CRF between --min-crf %g and --max-crf %g.\n", name,
                     plan->min_crf, plan->max_crf);
    if (search_first(plan) > search_last(plan))
        return usage("No multiple of --crf-increment %g is between CRF %g and %g: give a smaller "
                     "one.\n", plan->increment, plan->min_crf, plan->max_crf);
    if (o->pix_fmt && !(format = av_pix_fmt_desc_get(av_get_pix_fmt(o->pix_fmt))))
        return usage("'%s' is not a pixel format: `ffmpeg -pix_fmts` lists them.\n", o->pix_fmt);
    if (o->pix_fmt && format->flags & AV_PIX_FMT_FLAG_HWACCEL)
        return usage("-pix_fmt %s is for frames in a device: give the format that they have there, "
                     "as nv12.\n", o->pix_fmt);
    return known->preset ? av_dict_set(&o->encoder_options, "preset", known->preset,
                                       AV_DICT_DONT_OVERWRITE) : 0;
}

/// The metric that is asked for, and its target.
static int choose_metric(Options *o)
{
    const char *name = o->metric_name;
    double *target   = &o->plan.target;
    char all[64] = "", there[64] = "";

    *target = o->target[0];
    for (const Metric *m = metrics; m->name; m++) {
        const double own = o->target[1 + (m - metrics)];

        if (!isnan(own) && (!isnan(*target) || name && strcmp(name, m->name)))
            return usage("Give one metric and one target: --target-%s is for another metric, or a "
                         "second target.\n", m->name);
        name    = isnan(own) ? name : m->name;
        *target = isnan(own) ? *target : own;
    }
    for (const Metric *m = metrics; m->name; m++) {
        const int is_there = has_filter(m->filter);

        av_strlcatf(all, sizeof(all), "%s%s", *all ? ", " : "", m->name);
        if (is_there)
            av_strlcatf(there, sizeof(there), "%s%s", *there ? ", " : "", m->name);
        if (name ? !strcmp(name, m->name) : !o->metric && is_there && m->target)
            o->metric = m;
    }
    if (!o->metric && !name)
        return usage("There is no default metric, as this FFmpeg has neither libvmaf nor "
                     "detailloss. It has %s: give a target, such as --target-ssim 0.97.\n",
                     *there ? there : "no metric");
    if (!o->metric)
        return usage("'%s' is not a metric: the metrics are %s.\n", name, all);
    if (!has_filter(o->metric->filter))
        return usage("This FFmpeg has no filter %s, which the metric %s needs. It has those of "
                     "%s: take one of them, or another FFmpeg.%s\n", o->metric->filter,
                     o->metric->name, there, strcmp(o->metric->name, "vmaf") ? "" :
                     " To have VMAF, configure it with --enable-libvmaf.");
    if (isnan(*target) && (!isnan(o->crf) || o->probe))
        *target = o->metric->worst;
    if (isnan(*target) && (name || !o->metric->target))
        return usage("Which quality? Give it with --target-%s.\n", o->metric->name);
    if (isnan(*target))
        *target = o->metric->target;
    return 0;
}

static int check_metric(Options *o)
{
    SearchPlan *plan = &o->plan;
    int ret = choose_metric(o);
    const Metric *m = o->metric;
    char *end;

    if (ret < 0)
        return ret;
    if (fabs(plan->target - m->best) > fabs(m->worst - m->best) ||
        (plan->target > m->best) != (m->worst > m->best) && plan->target != m->best)
        return usage("%g is not a score of %s, which goes from %g (best) to %g (worst).\n",
                     plan->target, m->name, m->best, m->worst);
    if (o->step > 1 && m->gets_all && !m->step_option)
        return usage("%s looks at the frames before, and scores all: leave out --score-every.\n",
                     m->name);
    if (!m->key && (ret = check_vmaf_model(o->vmaf_model)) < 0)
        return ret;
    if (isnan(plan->tolerance))
        plan->tolerance = m->tolerance;
    if (o->thorough)
        plan->tolerance = 0;
    plan->exact  = o->thorough ? 0 : CRF_EXACT;
    plan->metric = m;
    if (!o->step)
        o->step = m->step;

    o->pool = !strcmp(o->pool_name, "mean")  ? POOL_MEAN :
              !strcmp(o->pool_name, "worst") ? POOL_WORST_SAMPLE : POOL_PERCENTILE;
    if (o->pool != POOL_PERCENTILE)
        return 0;
    o->percent = *o->pool_name == 'p' ? strtol(o->pool_name + 1, &end, 10) : 0;
    if (o->percent < 1 || o->percent > 50 || *end)
        return usage("--pool is mean, worst, or p1 to p50, and not '%s'.\n", o->pool_name);
    return 0;
}

static int is_same_file(const char *a, const char *b)
{
    struct stat s, t;

    return !stat(a, &s) && !stat(b, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

/// Refuse an output that cannot be written, or that would destroy something.
static int check_output(const Options *o)
{
    const char *output = o->encode, *slash = strrchr(output, '/');
    const char *protocol = avio_find_protocol_name(output);
    char *folder = av_asprintf("%.*s.", slash ? (int)(slash + 1 - output) : 0, output);
    char *part   = output_part(output);
    struct stat st;
    int ret = 0;

    if (!folder || !part)
        ret = AVERROR(ENOMEM);
    else if (!protocol || strcmp(protocol, "file") || av_strstart(output, "file:", NULL))
        ret = usage("FFmpeg takes what is before the colon of '%s' for a protocol: write "
                    "--encode './%s'.\n", output, output);
    else if (access(folder, W_OK) < 0)
        ret = usage("No file can be written to '%s', where --encode is to go: %s.\n", folder,
                    strerror(errno));
    else if (is_same_file(o->input, output) || is_same_file(o->input, part))
        ret = usage("--encode %s would overwrite the input '%s': give another name.\n",
                    output, o->input);
    else if (!stat(output, &st) && !S_ISREG(st.st_mode))
        ret = usage("'%s' is not a regular file: give another name to --encode.\n", output);
    else if (!access(output, F_OK) && !o->overwrite)
        ret = usage("'%s' is there already: give another name, or -y to replace it.\n", output);
    av_free(folder);
    av_free(part);
    return ret;
}

/// Other filters follow: take the label off the output, which ffmpeg does not need either.
static void cut_label(char *filters)
{
    const size_t size = filters ? strlen(filters) : 0;
    char *label       = size && filters[size - 1] == ']' ? strrchr(filters, '[') : NULL;

    if (label)
        *label = 0;
}

int options_check(Options *o)
{
    const AVCodec *audio = o->audio_codec ? avcodec_find_encoder_by_name(o->audio_codec) : NULL;
    const int copies     = !o->audio_codec || !strcmp(o->audio_codec, "copy");
    const struct { int is_wrong; const char *message; } rules[] = {
        { copies && o->audio_codec && o->downmix,
          "--downmix-to-stereo encodes audio: leave out -c:a copy.\n" },
        { copies && o->audio_rate && !o->downmix,
          "-b:a is for audio that is encoded: give -c:a, as -c:a libopus.\n" },
        { o->end && o->length,
          "-to and -t both tell where to end: leave one out.\n" },
        { o->end && o->end <= o->start,
          "-to is before -ss: nothing is between them.\n" },
        { o->encode && o->verify,
          "--encode verifies what it makes: leave out --verify.\n" },
        { o->probe && (o->encode || o->verify),
          "--probe only compares metrics: leave out --encode and --verify.\n" },
    };
    struct stat input;
    int ret;

    if (!o->input)
        return usage("Which video? Give it with -i. `ffcrf --help` lists the options.\n");
    if (!stat(o->input, &input) && S_ISFIFO(input.st_mode))
        return usage("'%s' is a pipe: the input is read more than once, so save it to a file "
                     "first.\n", o->input);
    if ((ret = check_metric(o)) < 0 ||
        (!o->verify || o->encoder_name) && (ret = check_encoder(o)) < 0)
        return ret;
    if (!copies && (!audio || audio->type != AVMEDIA_TYPE_AUDIO))
        return usage("This build of FFmpeg has no audio encoder '%s': `ffmpeg -encoders` lists "
                     "those that it has.\n", o->audio_codec);
    for (int i = 0; i < FF_ARRAY_ELEMS(rules); i++)
        if (rules[i].is_wrong)
            return usage("%s", rules[i].message);
    cut_label(o->filters);
    cut_label(o->reference_filters);
    if (o->end)
        o->length = o->end - o->start;
    return o->encode ? check_output(o) : 0;
}

void options_free(Options *o)
{
    av_buffer_unref(&o->device);
    av_buffer_unref(&o->decode_device);
    av_buffer_unref(&o->encode_device);
    av_dict_free(&o->encoder_options);
    av_opt_free(o);
}
