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

/**
 * @file
 * ffcrf: find the CRF of an encoder that gives an encode a wanted quality.
 */

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libavutil/avstring.h"
#include "libavutil/avutil.h"
#include "libavutil/common.h"
#include "libavutil/hwcontext.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/parseutils.h"
#include "libavutil/pixdesc.h"
#include "libavutil/time.h"

#include "ffcrf.h"

enum {
    EXIT_FOUND,
    EXIT_NOT_REACHABLE,
    EXIT_USAGE,                 ///< or the input is no good
    EXIT_FAILED,
    EXIT_VERIFY,                ///< the whole encode misses the target
    EXIT_SIGNAL = 128
};

/// Samples are added while the predicted size may be off by more than this part of it.
#define SIZE_ERROR 0.1

/// So many samples are not exceeded by that.
#define MOST_SAMPLES 24

/// Samples are not all that differs between two encodes: by so much of what they leave out.
#define LEAST_ERROR 0.08

/// So many CRFs --probe tries.
#define NB_PROBES 5

/// A CRF is not searched for more exactly than this.
#define CRF_EXACT 0.4

volatile int ffcrf_signal;
int ffcrf_demuxer_errors;
char ffcrf_refused_option[256];

// ---- options ----

#define OFFSET(x) offsetof(Options, x)

static const AVOption options[] = {
    { "i",        "the video to encode", OFFSET(input), AV_OPT_TYPE_STRING },
    { "ss",       "begin there in the input", OFFSET(start), AV_OPT_TYPE_DURATION, { .i64 = 0 }, 0, INT64_MAX },
    { "to",       "end there in the input", OFFSET(end), AV_OPT_TYPE_DURATION, { .i64 = 0 }, 0, INT64_MAX },
    { "t",        "take so much of the input", OFFSET(length), AV_OPT_TYPE_DURATION, { .i64 = 0 }, 0, INT64_MAX },
    { "hwaccel",  "decode the input by it: auto, cuda, vaapi, qsv, ... (default: the CPU)", OFFSET(hwaccel), AV_OPT_TYPE_STRING },
    { "c:v",      "the encoder (default: the first that is there of libsvtav1, libx265, libx264; libsvtav1 has -preset 8)", OFFSET(encoder_name), AV_OPT_TYPE_STRING },
    { "vf",       "filters before the encoder, as ffmpeg's", OFFSET(filters), AV_OPT_TYPE_STRING },
    { "reference-vfilter", "filters of what the encode is compared with (default: -vf)", OFFSET(reference_filters), AV_OPT_TYPE_STRING },
    { "keyint",   "most frames from one key frame to the next, or their time, as 10s", OFFSET(keyint), AV_OPT_TYPE_STRING },
    { "enc",      "name=value, an option of the encoder", OFFSET(ignored), AV_OPT_TYPE_STRING },
    { "enc-input", "name=value, an option of the input: ss, to, t, hwaccel", OFFSET(ignored), AV_OPT_TYPE_STRING },
    { "svt",      "name=value, a parameter of libsvtav1", OFFSET(ignored), AV_OPT_TYPE_STRING },
    { "scd",      "key frames where scenes change, for libsvtav1: true, false", OFFSET(ignored), AV_OPT_TYPE_STRING },
    { "pix_fmt",  "pixel format to encode in", OFFSET(pix_fmt), AV_OPT_TYPE_STRING },
    { "metric",   "what measures: vmaf, loss, ssim, xpsnr, mad (default: vmaf, or loss if this FFmpeg lacks libvmaf)", OFFSET(metric_name), AV_OPT_TYPE_STRING },
    { "target",   "the score to reach, in the metric's unit (default: vmaf 95, loss 5)", OFFSET(target[0]), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, -INFINITY, INFINITY },
    { "target-vmaf", "metric vmaf and its target: higher is better", OFFSET(target[1]), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 100 },
    { "vmaf-model",  "v1, 4k, phone, v0.6.1, v0.6.1-4k, v0.6.1-phone, a name that libvmaf knows, or a file", OFFSET(vmaf_model), AV_OPT_TYPE_STRING, { .str = "v1" } },
    { "target-loss",  "metric loss and its target: VMAF points lost, lower is better", OFFSET(target[2]), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 100 },
    { "target-ssim",  "metric ssim and its target: higher is better", OFFSET(target[3]), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 1 },
    { "target-xpsnr", "metric xpsnr and its target: decibels, higher is better", OFFSET(target[4]), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 100 },
    { "target-mad",   "metric mad and its target: lower is better", OFFSET(target[5]), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, INFINITY },
    { "pool",      "what of the scores has to reach it: mean, p1 to p50 (the worst so many % of frames), worst (sample)", OFFSET(pool_name), AV_OPT_TYPE_STRING, { .str = "mean" } },
    { "tolerance", "how much better than the target is good enough (default: ssim 0.002, xpsnr 0.3, others 1)", OFFSET(plan.tolerance), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, INFINITY },
    { "min-crf",   "lowest CRF to try (default: by encoder)", OFFSET(plan.min_crf), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 255 },
    { "max-crf",   "highest CRF to try (default: by encoder)", OFFSET(plan.max_crf), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 255 },
    { "crf-increment", "CRFs are multiples of it (default: 0.1, or 1)", OFFSET(plan.increment), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0.01, 50 },
    { "crf",       "try this one only; no target is needed", OFFSET(crf), AV_OPT_TYPE_DOUBLE, { .dbl = NAN }, 0, 255 },
    { "thorough",  "find the best CRF of all, whatever the tolerance", OFFSET(thorough), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "max-encoded-percent", "largest size in % of the source's video", OFFSET(plan.max_percent), AV_OPT_TYPE_DOUBLE, { .dbl = 100 }, 0, INFINITY },
    { "samples",      "number of samples (default: by --sample-every, and more where scenes differ)", OFFSET(samples), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1000 },
    { "sample-every", "one sample for each such part of the video (default 12m)", OFFSET(every), AV_OPT_TYPE_DURATION, { .i64 = 720000000 }, 1000, INT64_MAX },
    { "min-samples",  "least number of samples", OFFSET(min_samples), AV_OPT_TYPE_INT, { .i64 = 3 }, 1, 1000 },
    { "sample-duration", "length of a sample (default 10s)", OFFSET(duration), AV_OPT_TYPE_DURATION, { .i64 = 10000000 }, 1000, INT64_MAX },
    { "score-every", "score one of so many frames (default: vmaf and loss 5, ssim 4, mad 24)", OFFSET(step), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 10000 },
    { "memory",   "bytes for decoded samples, as 4G (default: half of the memory)", OFFSET(memory), AV_OPT_TYPE_INT64, { .i64 = 0 }, 0, INT64_MAX },
    { "cache",    "keep results, and take those that were kept", OFFSET(cache), AV_OPT_TYPE_INT, { .i64 = 1 }, 0, 1, 0, .unit = "cache" },
    {     "true",  NULL, 0, AV_OPT_TYPE_CONST, { .i64 = 1 }, 0, 0, 0, .unit = "cache" },
    {     "false", NULL, 0, AV_OPT_TYPE_CONST, { .i64 = 0 }, 0, 0, 0, .unit = "cache" },
    { "gpu",      "score on a GPU: auto, off, or its number", OFFSET(gpu), AV_OPT_TYPE_STRING, { .str = "auto" } },
    { "encode",   "make the encode, in this file, and score all of it", OFFSET(encode), AV_OPT_TYPE_STRING },
    { "verify",   "only score this encode of the input, all of it", OFFSET(verify), AV_OPT_TYPE_STRING },
    { "probe",    "do not search: score one sample at some CRFs by all metrics, and compare them", OFFSET(probe), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "accept-damage", "go on if the input is damaged or cut off, with what can be decoded", OFFSET(accept_damage), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "c:a",      "encode audio by it, or copy (default copy)", OFFSET(audio_codec), AV_OPT_TYPE_STRING },
    { "b:a",      "bit rate of audio that is encoded, as 128k", OFFSET(audio_rate), AV_OPT_TYPE_STRING },
    { "downmix-to-stereo", "make stereo of audio with more than 3 channels", OFFSET(downmix), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "video-only", "leave out all but the video", OFFSET(video_only), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "y",        "replace the file of --encode", OFFSET(overwrite), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "json",     "write JSON to standard output, an object a line", OFFSET(json), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "stdout-format", "json or human", OFFSET(json), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 1, 0, .unit = "stdout-format" },
    {     "json",  NULL, 0, AV_OPT_TYPE_CONST, { .i64 = 1 }, 0, 0, 0, .unit = "stdout-format" },
    {     "human", NULL, 0, AV_OPT_TYPE_CONST, { .i64 = 0 }, 0, 0, 0, .unit = "stdout-format" },
    { "loglevel", "what FFmpeg's libraries tell: quiet, error, warning, info, verbose, debug (default error)", OFFSET(loglevel), AV_OPT_TYPE_INT, { .i64 = AV_LOG_ERROR }, AV_LOG_QUIET, AV_LOG_TRACE, 0, .unit = "loglevel" },
    {     "quiet",   NULL, 0, AV_OPT_TYPE_CONST, { .i64 = AV_LOG_QUIET },   0, 0, 0, .unit = "loglevel" },
    {     "error",   NULL, 0, AV_OPT_TYPE_CONST, { .i64 = AV_LOG_ERROR },   0, 0, 0, .unit = "loglevel" },
    {     "warning", NULL, 0, AV_OPT_TYPE_CONST, { .i64 = AV_LOG_WARNING }, 0, 0, 0, .unit = "loglevel" },
    {     "info",    NULL, 0, AV_OPT_TYPE_CONST, { .i64 = AV_LOG_INFO },    0, 0, 0, .unit = "loglevel" },
    {     "verbose", NULL, 0, AV_OPT_TYPE_CONST, { .i64 = AV_LOG_VERBOSE }, 0, 0, 0, .unit = "loglevel" },
    {     "debug",   NULL, 0, AV_OPT_TYPE_CONST, { .i64 = AV_LOG_DEBUG },   0, 0, 0, .unit = "loglevel" },
    { "completion", "print what a shell completes command lines by: bash, zsh, fish", OFFSET(completion), AV_OPT_TYPE_STRING },
    { "version",  "print the version", OFFSET(version), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "help",     "print this", OFFSET(help), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
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
    { "codec:v", "c:v" }, { "vcodec", "c:v" }, { "filter:v", "vf" }, { "v", "loglevel" }, { "h", "help" },
    { "input", "i" }, { "encoder", "c:v" }, { "e", "c:v" }, { "vfilter", "vf" }, { "pix-format", "pix_fmt" },
    { "min-vmaf", "target-vmaf" }, { "min-xpsnr", "target-xpsnr" }, { "o", "encode" }, { "output", "encode" }, { "acodec", "c:a" },
    { "codec:a", "c:a" },
};

int ffcrf_fail(int ret, const char *format, ...)
{
    va_list va;

    va_start(va, format);
    av_vlog(NULL, AV_LOG_ERROR, format, va);
    va_end(va);
    return ret;
}

#define usage(...) ffcrf_fail(AVERROR(EINVAL), __VA_ARGS__)

/// What ffmpeg has, too, has one dash.
static int is_ffmpegs(const char *name)
{
    return name[strcspn(name, ":_")] || strlen(name) <= 2 || !strcmp(name, "hwaccel");
}

static void print_help(void)
{
    printf("usage: ffcrf -i INPUT [-c:v ENCODER] [encoder's options] [--target-vmaf 95] [options]\n"
           "Finds the CRF that gives an encode of INPUT the wanted quality.\n\n");
    for (const AVOption *o = options; o->name; o++) {
        const char *value = o->type == AV_OPT_TYPE_STRING ? o->default_val.str : NULL;

        if (o->type != AV_OPT_TYPE_CONST)
            printf("  %s%-*s %s%s%s%s\n", is_ffmpegs(o->name) ? "-" : "--", is_ffmpegs(o->name) ? 21 : 20, o->name,
                   o->help, value ? " (default " : "", value ? value : "", value ? ")" : "");
    }
    printf("\nAll other options go to the encoder: `ffmpeg -h encoder=NAME` lists them.\n"
           "Exit status: 0 found, 1 not reachable, 2 wrong usage or input, 3 failed,\n"
           "4 the whole encode misses the target, 128 + n ended by signal n.\n");
}

/// An option that no other encoder need have.
static const AVOption *encoder_option(const AVCodec *encoder, const char *name)
{
    return encoder->priv_class ? av_opt_find((void *)&encoder->priv_class, name, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ) : NULL;
}

/// The option of an encoder that is searched, NULL if it has none.
static const char *find_crf(const AVCodec *encoder)
{
    static const char *const names[] = { "crf", "cq", "qp" };

    for (int i = 0; i < FF_ARRAY_ELEMS(names); i++)
        if (encoder_option(encoder, names[i]))
            return names[i];
    return strstr(encoder->name, "_qsv") || strstr(encoder->name, "_vaapi") ? "global_quality" : NULL;
}

/// What an option's value may be, where there are but some.
static void print_values(AVBPrint *b, const AVOption *opt)
{
    static const char *const others[][2] = {
        { "gpu", "auto off " }, { "pool", "mean worst p1 p5 " }, { "completion", "bash zsh fish " }, { "scd", "true false " },
        { "hwaccel", "auto " }, { "vmaf-model", "v1 4k phone v0.6.1 v0.6.1-4k v0.6.1-phone " },
    };
    enum AVHWDeviceType type = AV_HWDEVICE_TYPE_NONE;
    void *iterator = NULL;
    const AVCodec *codec;

    av_bprint_clear(b);
    for (int i = 0; i < FF_ARRAY_ELEMS(others); i++)
        if (!strcmp(opt->name, others[i][0]))
            av_bprintf(b, "%s", others[i][1]);
    for (const AVOption *o = options; opt->unit && o->name; o++)
        if (o->type == AV_OPT_TYPE_CONST && !strcmp(o->unit, opt->unit))
            av_bprintf(b, "%s ", o->name);
    while (!strcmp(opt->name, "c:v") && (codec = av_codec_iterate(&iterator)))
        if (av_codec_is_encoder(codec) && codec->type == AVMEDIA_TYPE_VIDEO && find_crf(codec))
            av_bprintf(b, "%s ", codec->name);
    while (!strcmp(opt->name, "hwaccel") && (type = av_hwdevice_iterate_types(type)) != AV_HWDEVICE_TYPE_NONE)
        av_bprintf(b, "%s ", av_hwdevice_get_type_name(type));
    for (const Metric *m = ffcrf_metrics; !strcmp(opt->name, "metric") && m->name; m++)
        av_bprintf(b, "%s ", m->name);
}

/// What a shell completes command lines by. Where nothing is known of a value, it is a file's name.
static int print_completion(const char *shell)
{
    const int is_bash = !strcmp(shell, "bash"), is_fish = !strcmp(shell, "fish");
    AVBPrint values, names;

    if (!is_bash && !is_fish && strcmp(shell, "zsh"))
        return usage("--completion is for bash, zsh or fish, and not for '%s'.\n", shell);
    av_bprint_init(&values, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprint_init(&names,  0, AV_BPRINT_SIZE_UNLIMITED);
    if (!is_fish)
        printf("_ffcrf() {\n    case %s in\n", is_bash ? "${COMP_WORDS[COMP_CWORD-1]}" : "${words[CURRENT-1]}");
    for (const AVOption *o = options; o->name; o++) {
        const char *dash = is_ffmpegs(o->name) ? "-" : "--", *colon = strchr(o->name, ':');

        if (o->type == AV_OPT_TYPE_CONST)
            continue;
        print_values(&values, o);
        av_bprintf(&names, "%s%s ", dash, o->name);
        if (is_fish) {
            printf("complete -c ffcrf -%s %s%s -d \"%s\"%s%s%s\n", dash[1] ? "l" : o->name[1] ? "o" : "s", o->name,
                   o->type == AV_OPT_TYPE_BOOL ? "" : " -r", o->help, values.len ? " -f -a \"" : "", values.str,
                   values.len ? "\"" : "");
        } else if (values.len) {
            printf("    %s%s", dash, o->name);
            for (int i = 0; i < FF_ARRAY_ELEMS(alias); i++)
                if (!strcmp(alias[i][1], o->name))
                    printf("|-%s|--%s", alias[i][0], alias[i][0]);
            // bash takes the colon for the end of a word
            printf("%s%s) ", is_bash && colon ? "|" : "", is_bash && colon ? colon + 1 : "");
            printf(is_bash ? "COMPREPLY=($(compgen -W \"%s\" -- \"${COMP_WORDS[COMP_CWORD]}\")) ;;\n"
                           : "compadd -- %s;;\n", values.str);
        }
    }
    if (is_bash)
        printf("    *) COMPREPLY=($(compgen -W \"%s\" -- \"${COMP_WORDS[COMP_CWORD]}\")) ;;\n    esac\n}\n"
               "complete -o default -F _ffcrf ffcrf\n", names.str);
    else if (!is_fish)
        printf("    *) if [[ $PREFIX = -* ]]; then compadd -- %s; else _files; fi ;;\n    esac\n}\n"
               "compdef _ffcrf ffcrf\n", names.str);
    av_bprint_finalize(&values, NULL);
    av_bprint_finalize(&names, NULL);
    return 0;
}

/// "12m", "1h30m", "20s", "500ms", seconds, or hh:mm:ss. @return microseconds, negative if it is none
static int64_t parse_duration(const char *text)
{
    static const struct { const char *unit; double seconds; } units[] = {
        { "ms", 1e-3 }, { "s", 1 }, { "sec", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "", 1 },
    };
    double seconds = 0;
    int64_t duration;

    if (strchr(text, ':'))
        return av_parse_time(&duration, text, 1) < 0 ? -1 : duration;
    for (const char *p = text, *end; *p || p == text; p = end) {
        const char *unit = p + strspn(p, "0123456789.");
        size_t i;

        end = unit + strspn(unit, "hmsecin");
        for (i = 0; i < FF_ARRAY_ELEMS(units); i++)
            if (strlen(units[i].unit) == end - unit && !strncmp(units[i].unit, unit, end - unit))
                break;
        if (unit == p || i == FF_ARRAY_ELEMS(units))
            return -1;
        seconds += strtod(p, NULL) * units[i].seconds;
    }
    return seconds < 1e9 ? seconds * 1e6 : -1;
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

static const AVOption *find_option(const Options *o, const char *name)
{
    const AVOption *opt = av_opt_find((void *)o, name, NULL, 0, 0);

    return opt && opt->type != AV_OPT_TYPE_CONST ? opt : NULL;
}

/// An option of the encoder. What is none is refused before its value is taken, as it may have none.
static int check_encoder_option(const Options *o, const char *name)
{
    static const char *const rates[] = { "b", "qp", "cq", "global_quality", "q" };
    const AVClass *const generic = avcodec_get_class();
    const size_t size = strcspn(name, ":");
    char key[64];

    if (!o->encoder)
        return 0;               // that is told later
    if (name[size] && strcmp(name + size, ":v") && strcmp(name + size, ":v:0"))
        return usage("-%s is no option of a video encoder.\n", name);
    snprintf(key, sizeof(key), "%.*s", (int)size, name);
    for (int i = 0; i < FF_ARRAY_ELEMS(rates); i++)
        if (!strcmp(key, rates[i]))
            return usage("-%s sets what is searched: leave it out.\n", key);
    if (!encoder_option(o->encoder, key) &&
        !av_opt_find((void *)&generic, key, NULL, 0, AV_OPT_SEARCH_FAKE_OBJ))
        return usage("-%s is an option of neither ffcrf nor %s: see `ffcrf --help` and "
                     "`ffmpeg -h encoder=%s`.\n", key, o->encoder->name, o->encoder->name);
    return 0;
}

static int set_option(Options *o, const AVOption *opt, const char *name, const char *value)
{
    int64_t duration = 0;
    int ret;

    if (opt->type == AV_OPT_TYPE_DURATION) {
        duration = parse_duration(value);
        if (duration < opt->min)
            return usage("--%s %s is no duration: write 20s, 12m or 1h30m.\n", name, value);
        return av_opt_set_int(o, name, duration, 0);
    }
    // 0 is what stands for no number, in those whose default depends on others
    ret = (opt->type == AV_OPT_TYPE_INT || opt->type == AV_OPT_TYPE_INT64) && !opt->unit &&
          strtod(value, NULL) <= 0 ? AVERROR(ERANGE) : av_opt_set(o, name, value, 0);
    return ret >= 0 ? ret : ffcrf_fail(ret, "'%s' is no value for --%s: %s. `ffcrf --help` lists the options.\n",
                                       value, name, opt->help);
}

static int set_encoder_option(Options *o, const char *name, const char *value, int flags)
{
    char *key = av_strndup(name, strcspn(name, ":"));

    return key ? av_dict_set(&o->encoder_options, key, value, AV_DICT_DONT_STRDUP_KEY | flags) : AVERROR(ENOMEM);
}

/// A parameter of libsvtav1, after those that there are.
static int add_svt(Options *o, const char *parameter)
{
    int ret = check_encoder_option(o, "svtav1-params");

    if (ret >= 0 && av_dict_get(o->encoder_options, "svtav1-params", NULL, 0))
        ret = set_encoder_option(o, "svtav1-params", ":", AV_DICT_APPEND);
    return ret < 0 ? ret : set_encoder_option(o, "svtav1-params", parameter, AV_DICT_APPEND);
}

/**
 * Take an option of ffcrf's or of the encoder's.
 *
 * @param value what follows it, or NULL
 * @return 0 or a negative AVERROR after a message, or 1 if the value was taken
 */
static int take_option(Options *o, const char *argument, const char *value)
{
    static const char *const of_pairs[2][4] = { { "c:a", "b:a", "", "" }, { "ss", "to", "t", "hwaccel" } };
    const char *name = option_name(argument);
    const AVOption *opt = find_option(o, name);
    char *pair;
    int ret = 0, is_known = 0;

    // as ab-av1 has it, whatever the encoder calls it
    if (!strcmp(name, "preset") && o->encoder && !encoder_option(o->encoder, name))
        name = encoder_option(o->encoder, "cpu-used") ? "cpu-used" : "speed";
    if (!opt && (ret = check_encoder_option(o, name)) < 0)
        return ret;
    if (opt && opt->type == AV_OPT_TYPE_BOOL) {
        ret = set_option(o, opt, name, "1");
        return FFMIN(ret, 0);
    }
    if (!value)
        return usage("%s lacks its value.\n", argument);
    if (!opt)
        ret = set_encoder_option(o, name, value, 0);
    else if (!strcmp(name, "svt"))
        ret = add_svt(o, value);
    else if (!strcmp(name, "scd"))
        ret = add_svt(o, strcmp(value, "true") ? "scd=0" : "scd=1");
    else if (!strcmp(name, "keyint") && strspn(value, "0123456789") == strlen(value))
        ret = set_encoder_option(o, "g", value, 0);
    else if (!strcmp(name, "enc") || !strcmp(name, "enc-input")) {
        pair = av_asprintf("-%s", value + strspn(value, "-"));
        if (!pair)
            return AVERROR(ENOMEM);
        value = strchr(pair, '=');
        if (value)
            pair[value++ - pair] = 0;
        is_known = !name[3] && !find_option(o, option_name(pair));
        for (int i = 0; i < FF_ARRAY_ELEMS(of_pairs[0]); i++)
            is_known |= !strcmp(option_name(pair), of_pairs[!!name[3]][i]);
        ret = is_known ? take_option(o, pair, value) : usage(
              name[3] ? "%s is no option of the input that ffcrf has: those are ss, to, t and hwaccel.\n"
                      : "%s is none of the encoder's options: give it by itself.\n", pair);
        av_free(pair);
    } else {
        ret = set_option(o, opt, name, value);
    }
    return ret < 0 ? ret : 1;
}

/// The encode's name, where none was given.
static char *default_output(const Options *o, const char *kind)
{
    const char *name = av_basename(o->input), *dot = strrchr(name, '.');
    int size = dot && dot > name ? dot - o->input : strlen(o->input);

    return strstr(o->input, "://") ? av_asprintf("%s.mkv", kind)
                                   : av_asprintf("%.*s.%s.mkv", size, o->input, kind);
}

static int parse_arguments(Options *o, int argc, char **argv)
{
    static const char *const defaults[] = { "libsvtav1", "libx265", "libx264" };
    // words of ab-av1
    const int is_auto = argc > 1 && !strcmp(argv[1], "auto-encode");
    const int first   = is_auto || argc > 1 && (!strcmp(argv[1], "crf-search") ||
                                                !strcmp(argv[1], "sample-encode")) ? 2 : 1;

    for (int i = 0; i < FF_ARRAY_ELEMS(defaults) && !o->encoder; i++)
        o->encoder = avcodec_find_encoder_by_name(defaults[i]);
    // what options there are depends on the encoder
    for (int i = first; i < argc - 1; i++)
        if (*argv[i] == '-' && !strcmp(option_name(argv[i]), "c:v")) {
            i++;
            o->encoder = avcodec_find_encoder_by_name(strcmp(argv[i], "svt-av1") ? argv[i] : "libsvtav1");
        }
    for (int i = first; i < argc; i++) {
        int ret;

        if (*argv[i] != '-' || !argv[i][1])
            return usage("'%s' is no option: give the input with -i and the output with --encode.\n", argv[i]);
        ret = take_option(o, argv[i], i + 1 < argc ? argv[i + 1] : NULL);
        if (ret < 0)
            return ret;
        i += ret;
    }
    if (o->verify && !o->encoder_name)
        o->encoder = NULL;
    if (is_auto && !o->encode && o->input && o->encoder) {
        o->encode = default_output(o, avcodec_get_name(o->encoder->id));
        if (!o->encode)
            return AVERROR(ENOMEM);
    }
    return 0;
}

/// By the end of their names, encoders whose range is not the one to search.
static const struct {
    const char *name;
    double min, max;
} crf_ranges[] = {
    { "libx264",    10, 46 },
    { "libx265",    10, 46 },
    { "libsvtav1",   5, 63 },
    { "libaom-av1",  5, 63 },
    { "libvpx-vp9", 10, 63 },
    { "librav1e",   10, 255 },
    { "av1_nvenc",  10, 63 },
    { "av1_vaapi",  10, 255 },
    { "_nvenc",     10, 46 },
    { "_qsv",       10, 46 },
    { "_vaapi",     10, 46 },
};

static int check_encoder(Options *o)
{
    const char *name = o->encoder ? o->encoder->name : o->encoder_name ? o->encoder_name : "libsvtav1";
    const AVOption *opt;
    double min = 0, max = 63, most;
    int whole;

    if (!o->encoder || o->encoder->type != AVMEDIA_TYPE_VIDEO)
        return usage("This build of FFmpeg has no video encoder '%s': `ffmpeg -encoders` lists those "
                     "that it has.\n", name);
    o->crf_option = find_crf(o->encoder);
    if (!o->crf_option)
        return usage("%s has no constant quality by -crf, -cq or -qp, which is searched: take libx264, libx265, "
                     "libsvtav1, libaom-av1 or one of NVENC, QSV or VAAPI.\n", name);
    opt = encoder_option(o->encoder, o->crf_option);
    for (int i = FF_ARRAY_ELEMS(crf_ranges) - 1; i >= 0; i--)
        if (strlen(name) >= strlen(crf_ranges[i].name) &&
            !strcmp(name + strlen(name) - strlen(crf_ranges[i].name), crf_ranges[i].name)) {
            min = crf_ranges[i].min;
            max = crf_ranges[i].max;
        }
    most  = opt ? opt->max : 255;
    whole = !opt || opt->type == AV_OPT_TYPE_INT;
    if (!isnan(o->crf))
        o->plan.min_crf = o->plan.max_crf = o->crf;
    if (isnan(o->plan.min_crf))
        o->plan.min_crf = min;
    if (isnan(o->plan.max_crf))
        o->plan.max_crf = max;
    if (isnan(o->plan.increment))
        o->plan.increment = whole ? 1 : isnan(o->crf) ? 0.1 : 0.01;
    if (whole && o->plan.increment != rint(o->plan.increment))
        return usage("%s takes whole numbers for -%s: --crf-increment %g is not one.\n",
                     name, o->crf_option, o->plan.increment);
    if (o->plan.min_crf > o->plan.max_crf || o->plan.max_crf > most)
        return usage("No CRF is between --min-crf %g and --max-crf %g, or %s does not go so far.\n",
                     o->plan.min_crf, o->plan.max_crf, name);
    if (ffcrf_search_first(&o->plan) > ffcrf_search_last(&o->plan))
        return usage("No multiple of --crf-increment %g is between CRF %g and %g: give a smaller one.\n",
                     o->plan.increment, o->plan.min_crf, o->plan.max_crf);
    if (o->pix_fmt && av_get_pix_fmt(o->pix_fmt) == AV_PIX_FMT_NONE)
        return usage("'%s' is no pixel format: `ffmpeg -pix_fmts` lists them.\n", o->pix_fmt);
    if (!strcmp(name, "libsvtav1"))
        return av_dict_set(&o->encoder_options, "preset", "8", AV_DICT_DONT_OVERWRITE);
    return 0;
}

/// The metric that is asked for, and its target.
static int choose_metric(Options *o)
{
    const char *name = o->metric_name;
    AVBPrint all, there;

    o->plan.target = o->target[0];
    for (int i = 0; ffcrf_metrics[i].name; i++)
        if (!isnan(o->target[i + 1])) {
            if (!isnan(o->plan.target) || name && strcmp(name, ffcrf_metrics[i].name))
                return usage("One metric and one target: --target-%s is not for the other that is given.\n",
                             ffcrf_metrics[i].name);
            name           = ffcrf_metrics[i].name;
            o->plan.target = o->target[i + 1];
        }
    av_bprint_init(&all,   0, AV_BPRINT_SIZE_AUTOMATIC);
    av_bprint_init(&there, 0, AV_BPRINT_SIZE_AUTOMATIC);
    for (const Metric *m = ffcrf_metrics; m->name; m++) {
        const int has_filter = ffcrf_has_filter(m->filter);

        av_bprintf(&all, "%s%s", all.len ? ", " : "", m->name);
        if (has_filter)
            av_bprintf(&there, "%s%s", there.len ? ", " : "", m->name);
        if (name ? !strcmp(name, m->name) : !o->metric && has_filter && m->target)
            o->metric = m;
    }
    if (!o->metric)
        return usage("'%s' is no metric: there are %s.\n", name, all.str);
    if (!ffcrf_has_filter(o->metric->filter))
        return usage("This FFmpeg has no filter %.*s, which the metric %s needs. It has those of %s: take one "
                     "of them, or another FFmpeg.%s\n", (int)strcspn(o->metric->filter, "="), o->metric->filter,
                     o->metric->name, there.str, strcmp(o->metric->name, "vmaf") ? "" :
                     " To have VMAF, configure it with --enable-libvmaf.");
    if (isnan(o->plan.target) && (!isnan(o->crf) || o->probe))
        o->plan.target = o->metric->worst;
    if (isnan(o->plan.target) && (name || !o->metric->target))
        return usage("What quality? Give it with --target-%s.\n", o->metric->name);
    if (isnan(o->plan.target))
        o->plan.target = o->metric->target;
    return 0;
}

static int check_metric(Options *o)
{
    int ret = choose_metric(o);

    if (ret < 0)
        return ret;
    if (fabs(o->plan.target - o->metric->best) > fabs(o->metric->worst - o->metric->best) ||
        (o->plan.target > o->metric->best) != (o->metric->worst > o->metric->best) && o->plan.target != o->metric->best)
        return usage("%g is no score of %s, which goes from %g (best) to %g.\n", o->plan.target, o->metric->name,
                     o->metric->best, o->metric->worst);
    if (o->step > 1 && o->metric->gets_all && !o->metric->step_option)
        return usage("%s looks at the frames before, and scores all: leave out --score-every.\n", o->metric->name);
    if (!strcmp(o->metric->name, "vmaf") && (ret = ffcrf_check_vmaf_model(o)) < 0)
        return ret;
    if (isnan(o->plan.tolerance))
        o->plan.tolerance = o->metric->tolerance;
    if (o->thorough)
        o->plan.tolerance = 0;
    o->plan.exact            = o->thorough ? 0 : CRF_EXACT;
    o->plan.higher_is_better = o->metric->higher_is_better;
    o->plan.best             = o->metric->best;
    o->plan.offset           = o->metric->offset;
    o->plan.typical          = o->metric->typical;
    o->plan.is_in_decibels   = o->metric->is_in_decibels;
    if (!o->step)
        o->step = o->metric->step;

    o->pool = !strcmp(o->pool_name, "mean")  ? POOL_MEAN :
              !strcmp(o->pool_name, "worst") ? POOL_WORST_SAMPLE : POOL_PERCENTILE;
    o->percent = *o->pool_name == 'p' ? atoi(o->pool_name + 1) : 0;
    if (o->pool == POOL_PERCENTILE && (o->percent < 1 || o->percent > 50))
        return usage("'%s' is no --pool: there are mean, worst, and p1 to p50.\n", o->pool_name);
    return 0;
}

static int check_output(const Options *o)
{
    const char *name = av_basename(o->encode);
    struct stat input, output;
    char *folder = av_asprintf("%.*s.", (int)(name - o->encode), o->encode);
    int ret = folder ? access(folder, W_OK) : AVERROR(ENOMEM);

    if (folder && ret)
        ret = usage("No file can be written to '%s', where --encode is to go: %s.\n", folder, strerror(errno));
    av_free(folder);
    if (ret < 0 || stat(o->encode, &output) < 0)
        return ret;
    if (!stat(o->input, &input) && input.st_dev == output.st_dev && input.st_ino == output.st_ino)
        return usage("'%s' is the input: give another name to --encode.\n", o->encode);
    if (!o->overwrite)
        return usage("'%s' is there already: give another name, or -y to replace it.\n", o->encode);
    return 0;
}

static int check_audio(const Options *o)
{
    const AVCodec *codec = o->audio_codec ? avcodec_find_encoder_by_name(o->audio_codec) : NULL;
    const int copies     = !o->audio_codec || !strcmp(o->audio_codec, "copy");

    if (!copies && (!codec || codec->type != AVMEDIA_TYPE_AUDIO))
        return usage("This build of FFmpeg has no audio encoder '%s': `ffmpeg -encoders` lists those "
                     "that it has.\n", o->audio_codec);
    if (copies && o->audio_codec && o->downmix)
        return usage("--downmix-to-stereo encodes audio: leave out -c:a copy.\n");
    if (copies && o->audio_rate && !o->downmix)
        return usage("-b:a is for audio that is encoded: give -c:a, as -c:a libopus.\n");
    return 0;
}

static int check_options(Options *o)
{
    int ret;

    if (!o->input)
        return usage("Which video? Give it with -i. `ffcrf --help` lists the options.\n");
    if ((ret = check_metric(o)) < 0 ||
        (!o->verify || o->encoder_name) && (ret = check_encoder(o)) < 0 ||
        (ret = check_audio(o)) < 0)
        return ret;
    if (o->end && o->length)
        return usage("-to and -t both tell where to end: leave one out.\n");
    if (o->end && o->end <= o->start)
        return usage("-to is before -ss: nothing is between them.\n");
    if (o->end)
        o->length = o->end - o->start;
    if (o->encode && o->verify)
        return usage("--encode verifies what it makes: leave out --verify.\n");
    if (o->probe && (o->encode || o->verify))
        return usage("--probe only compares metrics: leave out --encode and --verify.\n");
    if (o->encode && (ret = check_output(o)) < 0)
        return ret;
    return 0;
}

// ---- what is told ----

typedef struct Search {
    Options o;
    Cache cache;
    Source source;              ///< for what is known of the whole file
    Scan scan;
    Sample *sample;
    int nb_samples;
    int64_t memory[NB_MEMORIES];
    enum AVPixelFormat format;  ///< that is encoded
    Point point[SEARCH_MOST];   ///< by rising CRF
    int nb_points;

    // progress
    const char *doing, *what;
    int current;                ///< sample
    int what_frames;            ///< before it was begun
    int64_t begin, what_begin, told;
} Search;

static int is_terminal, has_meter;
static char last_error[1024];

static void clear_meter(void)
{
    if (has_meter)
        fprintf(stderr, "\r\033[K");
    has_meter = 0;
}

static void keep_line(char *line, size_t size, const char *format, va_list va)
{
    va_list copy;

    va_copy(copy, va);
    vsnprintf(line, size, format, copy);
    va_end(copy);
    line[strcspn(line, "\n")] = 0;
}

/// Take what libraries say nowhere but in their logs.
static void listen(AVClassCategory category, int level, const char *format, va_list va)
{
    static const char *const refusals[] = {
        "Error parsing option", "Error setting", "Invalid value for", "Unknown option",
    };

    if (category == AV_CLASS_CATEGORY_DEMUXER && (level <= AV_LOG_ERROR || strstr(format, "truncated")))
        ffcrf_demuxer_errors++;
    for (int i = 0; i < FF_ARRAY_ELEMS(refusals); i++)
        if (category == AV_CLASS_CATEGORY_ENCODER && level <= AV_LOG_WARNING && av_strstart(format, refusals[i], NULL))
            keep_line(ffcrf_refused_option, sizeof(ffcrf_refused_option), format, va);
}

/// What the program says itself, which is what comes without a context, is not for
/// --loglevel to hide, and what av_opt_set() says is said in other words.
static void log_callback(void *avcl, int level, const char *format, va_list va)
{
    const AVClass *c = avcl ? *(const AVClass **)avcl : NULL;

    if (c == &class)
        return;
    if (c && c->get_category)
        listen(c->get_category(avcl), level, format, va);
    if (level <= av_log_get_level() || !avcl)
        clear_meter();
    if (!avcl && level <= AV_LOG_ERROR)
        keep_line(last_error, sizeof(last_error), format, va);
    if (avcl)
        av_log_default_callback(avcl, level, format, va);
    else if (level <= AV_LOG_WARNING)
        vfprintf(stderr, format, va);
}

static void tell(const char *format, ...) av_printf_format(1, 2);
static void tell(const char *format, ...)
{
    va_list va;

    clear_meter();
    va_start(va, format);
    vfprintf(stderr, format, va);
    va_end(va);
}

static const char *clock_time(char text[16], double seconds)
{
    int s = av_clipd(seconds + 0.5, 0, 359999);

    if (s < 3600)
        snprintf(text, 16, "%d:%02d", s / 60, s % 60);
    else
        snprintf(text, 16, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    return text;
}

#define CLOCK(seconds) clock_time((char[16]){ 0 }, seconds)

static int progress(void *opaque, const char *what, int frames, int nb_frames, double part)
{
    Search *s = opaque;
    const int64_t now = av_gettime_relative();
    // so many CRFs are likely to be tried in all
    const int nb_crfs = s->o.plan.min_crf == s->o.plan.max_crf ? 1 : FFMAX(4, s->nb_points + 1);
    const double jobs = s->sample ? (nb_crfs - s->nb_points) * (double)s->nb_samples - s->current : 1;
    double fps, left;

    if (s->what != what) {
        s->what        = what;
        s->what_begin  = now;
        s->what_frames = frames;
        s->told        = is_terminal ? 0 : s->told;
    }
    if (now - s->told < (is_terminal ? 250000 : 10000000))
        return 0;
    s->told = now;
    fps  = (frames - s->what_frames) * 1e6 / FFMAX(1, now - s->what_begin);
    left = (now - s->begin) / 1e6 * (jobs / part - 1);
    clear_meter();
    fprintf(stderr, "%s%s, frame %d of %d, %.1f fps, ETA %s%s", s->doing, what, frames,
            FFMAX(frames, nb_frames), fps, part > 0 ? CLOCK(left) : "?", is_terminal ? "" : "\n");
    fflush(stderr);
    has_meter = is_terminal;
    return 0;
}

static void start_progress(Search *s, const char *doing)
{
    s->doing = doing;
    s->what  = NULL;
    s->begin = s->told = av_gettime_relative();
}

// ---- JSON ----

/// Bytes that are no UTF-8, as names of files may have, become U+FFFD: JSON cannot hold them.
static void json_string(AVBPrint *b, const char *key, const char *value)
{
    const uint8_t *next = value, *end = next + strlen(value);

    av_bprintf(b, ", \"%s\": \"", key);
    while (next < end) {
        const uint8_t *begin = next;
        int32_t code;

        if (av_utf8_decode(&code, &next, end, AV_UTF8_FLAG_ACCEPT_NON_CHARACTERS) < 0)
            av_bprintf(b, "\xef\xbf\xbd");
        else if (code == '"' || code == '\\')
            av_bprintf(b, "\\%c", code);
        else if (code < 32)
            av_bprintf(b, "\\u%04x", code);
        else
            av_bprint_append_data(b, begin, next - begin);
    }
    av_bprint_chars(b, '"', 1);
}

static void json_number(AVBPrint *b, const char *key, double value)
{
    if (isfinite(value))
        av_bprintf(b, ", \"%s\": %.10g", key, value);
    else
        av_bprintf(b, ", \"%s\": null", key);
}

static double percent(const Result *r)
{
    return r->source_bytes ? 100. * r->bytes / r->source_bytes : NAN;
}

static void json_result(AVBPrint *b, const Result *r)
{
    json_number(b, "frames", r->nb_frames);
    json_number(b, "scored_frames", r->nb_scores);
    json_number(b, "size", r->bytes);
    json_number(b, "encode_percent", percent(r));
}

static void json_begin(AVBPrint *b, const char *type)
{
    av_bprint_init(b, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(b, "{\"type\": \"%s\"", type);
}

static void json_end(AVBPrint *b)
{
    printf("%s}\n", b->str);
    fflush(stdout);
    av_bprint_finalize(b, NULL);
}

/// What the search predicts of the whole encode.
static void json_point(AVBPrint *b, const Search *s, const Point *p)
{
    const Options *o = &s->o;

    json_number(b, "crf", p->crf);
    json_string(b, "metric", o->metric->name);
    json_string(b, "pool", o->pool_name);
    json_number(b, "score", p->score);
    json_number(b, "target", o->plan.target);
    json_number(b, "predicted_encode_percent", p->percent);
    json_number(b, "predicted_encode_size", rint(p->size));
    json_number(b, "predicted_encode_size_min", rint(p->size - p->size_error));
    json_number(b, "predicted_encode_size_max", rint(p->size + p->size_error));
    json_number(b, "predicted_encode_seconds", p->encode_seconds);
}

static void json_sample(const Search *s, const Sample *sample, double crf, const Result *r)
{
    AVBPrint b;

    json_begin(&b, "sample-encode-done");
    json_number(&b, "sample", sample->number + 1);
    json_number(&b, "samples", s->nb_samples);
    json_number(&b, "start", (s->o.start + sample->start) / 1e6);
    json_number(&b, "seconds", r->seconds);
    json_number(&b, "crf", crf);
    json_string(&b, "metric", s->o.metric->name);
    json_number(&b, "score", ffcrf_mean(s->o.metric, r->score, r->nb_scores));
    json_result(&b, r);
    json_number(&b, "encode_seconds", r->encode_seconds);
    av_bprintf(&b, ", \"from_cache\": %s", r->is_cached ? "true" : "false");
    json_end(&b);
}

// ---- scores ----

/// Whether a is at least as good as b.
static int is_as_good(const Metric *m, double a, double b)
{
    return m->higher_is_better ? a >= b : a <= b;
}

static int compare_doubles(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const double *)a, *(const double *)b);
}

/// The value that so many percent of all are worse than, linear between ranks.
static double percentile(const Metric *m, double *value, int nb, double percent)
{
    double place;
    int i;

    qsort(value, nb, sizeof(*value), compare_doubles);
    place = (m->higher_is_better ? percent : 100 - percent) / 100 * (nb - 1);
    i     = FFMIN(place, nb - 2);
    return nb == 1 ? value[0] : value[i] + (value[i + 1] - value[i]) * (place - i);
}

/// Pool the scores of all samples. Sorts them, for a percentile.
static int pool(const Options *o, const Result *result, int nb_results, double *score)
{
    double *all = NULL;
    int nb = 0;

    for (int i = 0; i < nb_results; i++)
        nb += result[i].nb_scores;
    all = av_malloc_array(nb, sizeof(*all));
    if (!all)
        return AVERROR(ENOMEM);
    nb     = 0;
    *score = o->metric->best;
    for (int i = 0; i < nb_results; i++) {
        const Result *r     = &result[i];
        const double sample = ffcrf_mean(o->metric, r->score, r->nb_scores);

        memcpy(all + nb, r->score, r->nb_scores * sizeof(*all));
        nb += r->nb_scores;
        if (is_as_good(o->metric, *score, sample))
            *score = sample;
    }
    if (o->pool == POOL_MEAN)
        *score = ffcrf_mean(o->metric, all, nb);
    else if (o->pool == POOL_PERCENTILE)
        *score = percentile(o->metric, all, nb, o->percent);
    av_free(all);
    return 0;
}

// ---- the search ----

/// How much of the video so many samples may take, before all of it is taken as one.
static int are_most(const Search *s, int64_t nb_samples)
{
    return nb_samples * s->o.duration >= s->scan.seconds * 1e6 * 0.85;
}

/// Lay samples over the file, with equal gaps; the whole file if they are most of it.
static int plan_samples(Search *s)
{
    const Options *o = &s->o;
    const int64_t duration = s->scan.seconds * 1e6;
    const int64_t nb = av_clip64(o->samples ? o->samples : (duration + o->every - 1) / o->every,
                                 o->samples ? 1 : o->min_samples, 1000);
    const int whole  = are_most(s, nb);
    const int64_t gap = (duration - nb * o->duration) / (nb + 1);

    s->nb_samples = whole ? 1 : nb;
    s->sample     = av_calloc(s->nb_samples, sizeof(*s->sample));
    if (!s->sample)
        return AVERROR(ENOMEM);
    for (int i = 0; i < s->nb_samples && !whole; i++)
        s->sample[i] = (Sample){ i, gap * (i + 1) + o->duration * i, o->duration };
    return 0;
}

/// Put a sample into the middle of each gap. @return whether there was room
static int add_samples(Search *s)
{
    const Options *o = &s->o;
    const int nb = s->nb_samples, all = 2 * nb + 1;
    const int64_t gap = (s->scan.seconds * 1e6 - all * o->duration) / (all + 1);
    Sample *sample;

    if (o->samples || all > MOST_SAMPLES || are_most(s, all))
        return 0;
    sample = av_realloc_array(s->sample, all, sizeof(*sample));
    if (!sample)
        return AVERROR(ENOMEM);
    s->sample     = sample;
    s->nb_samples = all;
    for (int i = nb; i < all; i++)
        sample[i] = (Sample){ i, gap + 2 * (gap + o->duration) * (i - nb), o->duration };
    return 1;
}

static int try_sample(Search *s, Sample *sample, double crf, Result *result)
{
    const Options *o = &s->o;
    char doing[128];
    int ret;

    if (ffcrf_cache_get(&s->cache, o, sample, crf, result))
        return 0;
    snprintf(doing, sizeof(doing), "CRF %g, sample %d of %d, ", crf, sample->number + 1, s->nb_samples);
    s->current = sample->number;
    if (!sample->loaded) {
        if (is_terminal) {
            tell("%sdecoding the source", doing);
            has_meter = 1;
        }
        if ((ret = ffcrf_sample_load(o, sample, s->memory)) < 0)
            return ret;
    }
    start_progress(s, doing);
    ret = ffcrf_candidate(o, sample, crf, result, progress, s);
    clear_meter();
    if (ret >= 0)
        ffcrf_cache_put(&s->cache, o, sample, crf, result);
    return ret;
}

/**
 * What the whole encode will be. Scenes that take more of the source's bytes take more of
 * the encode's, too: its size is to the source's as that of the samples is to theirs. How
 * far the samples are apart in that tells how far the whole may be from them.
 */
static void predict(const Search *s, const Result *result, Point *p)
{
    const int nb = s->nb_samples;
    double bytes = 0, source_bytes = 0, frames = 0, squares = 0, unseen;

    p->encode_seconds = 0;
    for (int i = 0; i < nb; i++) {
        bytes             += result[i].bytes;
        source_bytes      += FFMAX(result[i].source_bytes, 1);
        frames            += result[i].nb_frames;
        p->encode_seconds += result[i].encode_seconds;
    }
    for (int i = 0; i < nb; i++)
        squares += pow(result[i].bytes - bytes / source_bytes * result[i].source_bytes, 2);
    p->encode_seconds *= s->scan.nb_frames / frames;
    p->percent         = 100 * bytes / source_bytes;
    p->size            = s->scan.bytes * bytes / source_bytes;
    // the standard error, times about what Student's t is for 90 %
    unseen        = 1 - FFMIN(frames / s->scan.nb_frames, 1);
    p->size_error = unseen < 0.01 ? 0 : nb == 1 ? NAN : p->size *
                    FFMAX(sqrt(squares * nb / (nb - 1) * unseen) / bytes * (1.65 + 2.5 / (nb - 1)), LEAST_ERROR * unseen);
}

/// Encode all samples with a CRF, and note what came out. The first CRF tells how many samples it takes.
static int try_crf(Search *s, double crf)
{
    const Options *o = &s->o;
    Result *result = NULL, *new;
    Point p = { .crf = crf };
    int i, nb = 0, nb_cached = 0, ret;

    do {
        new = av_realloc_array(result, s->nb_samples, sizeof(*result));
        ret = new ? 0 : AVERROR(ENOMEM);
        result = new ? new : result;
        for (; nb < s->nb_samples && ret >= 0 && (ret = try_sample(s, &s->sample[nb], crf, &result[nb])) >= 0; nb++) {
            nb_cached += result[nb].is_cached;
            if (o->json)
                json_sample(s, &s->sample[nb], crf, &result[nb]);
        }
        if (ret >= 0)
            predict(s, result, &p);
    } while (ret >= 0 && !s->nb_points && p.size_error > SIZE_ERROR * p.size && (ret = add_samples(s)) > 0);
    if (ret >= 0)
        ret = pool(o, result, nb, &p.score);
    for (i = 0; i < nb; i++)
        av_freep(&result[i].score);
    av_free(result);
    if (ret < 0)
        return ret;

    tell("CRF %g: %s %.*f, %.1f %% of the source's video%s\n", crf, o->metric->name, o->metric->digits,
         p.score, p.percent, nb_cached == s->nb_samples ? " (from the cache)" : "");

    for (i = s->nb_points++; i > 0 && s->point[i - 1].crf > crf; i--)
        s->point[i] = s->point[i - 1];
    s->point[i] = p;
    return 0;
}

/// @return 1 if a CRF was found, 0 if there is none, or a negative AVERROR
static int search(Search *s, const Point **found)
{
    static const char *const why[] = {
        [SEARCH_TOLERANCE] = "is within the tolerance",
        [SEARCH_EXACT]     = "is the highest that reaches the target",
        [SEARCH_NEAR]      = "is at most 0.4 below the highest that reaches the target",
        [SEARCH_LAST]      = "is the highest that may be tried",
    };
    const Options *o = &s->o;
    const Metric *m  = o->metric;
    const Point *p;
    SearchState state;
    double crf;

    while ((state = ffcrf_search_next(&o->plan, s->point, s->nb_points, &crf, found)) == SEARCH_TRY) {
        int ret = try_crf(s, crf);

        if (ret < 0)
            return ret;
    }
    p = *found;
    if (state == SEARCH_MISSED)
        return ffcrf_fail(0, "Not reachable: even CRF %g gives %s %.*f, which does not reach %g. "
                             "Allow lower ones with --min-crf, or a lower target.\n", p->crf,
                             m->name, m->digits, p->score, o->plan.target);
    if (state == SEARCH_TOO_LARGE)
        return ffcrf_fail(0, "Not reachable: CRF %g has %.1f %% of the source's size%s, and gives %s %.*f "
                             "for a target of %g. Allow more with --max-encoded-percent.\n",
                             p->crf, p->percent, is_as_good(m, p->score, o->plan.target) ? "" : " already",
                             m->name, m->digits, p->score, o->plan.target);
    tell("CRFs tried: %d. CRF %g %s.\n", s->nb_points, p->crf, why[state]);
    return 1;
}

// ---- set-up ----

/// Score a grey frame, to see if all is there that the GPU needs.
static int try_gpu(const Options *o)
{
    AVFrame *frame = av_frame_alloc();
    Scorer scorer;
    int ret = AVERROR(ENOMEM);

    ffcrf_scorer_open(&scorer, o, 1);
    if (frame) {
        frame->format = AV_PIX_FMT_NV12;
        frame->width  = frame->height = 256;
        ret = av_frame_get_buffer(frame, 0);
        for (int i = 0; ret >= 0 && i < 2; i++)
            memset(frame->data[i], 128, frame->linesize[i] * (ptrdiff_t)(frame->height >> i));
        if (ret >= 0)
            ret = ffcrf_scorer_add(&scorer, frame, frame);
        if (ret >= 0)
            ret = ffcrf_scorer_finish(&scorer);
    }
    ffcrf_scorer_close(&scorer);
    av_frame_free(&frame);
    return ret;
}

/// Take a GPU if there is one that can score what is encoded, which has that format.
static int open_gpu(Options *o, enum AVPixelFormat format)
{
    const int level = av_log_get_level(), wanted = !!strcmp(o->gpu, "auto");
    const char *why = NULL;

    if (!strcmp(o->gpu, "off"))
        return 0;
    if (wanted && strspn(o->gpu, "0123456789") != strlen(o->gpu))
        return usage("--gpu is auto, off or the number of a GPU, and not '%s'.\n", o->gpu);
    if (!wanted && !o->metric->cuda_filter)
        return 0;               // no GPU and no build has it
    if (!ffcrf_has_filter(o->metric->cuda_filter)) {
        why = "this build has no filter that scores there";
    } else if (ffcrf_gpu_format(format) == AV_PIX_FMT_NONE) {
        why = "it takes 4:2:0 of 8 or 10 bits only; see -pix_fmt";
    } else {
        if (!wanted)
            av_log_set_level(AV_LOG_QUIET);
        if (av_hwdevice_ctx_create(&o->device, AV_HWDEVICE_TYPE_CUDA, wanted ? o->gpu : NULL, NULL, 0) < 0)
            why = "there is none that works";
        else if (try_gpu(o) < 0)
            why = "it cannot run the filter";
        av_log_set_level(level);
    }
    if (!why)
        return 0;
    av_buffer_unref(&o->device);
    if (wanted)
        return usage("--gpu %s: %s.\n", o->gpu, why);
    av_log(NULL, AV_LOG_WARNING, "Scoring on the CPU, not on a GPU: %s.\n", why);
    return 0;
}

/// Score a whole encode. @return 1 if it reaches the target, 0 if not, or a negative AVERROR
static int verify(Search *s, const char *path)
{
    const Options *o = &s->o;
    double score;
    Result r;
    int ret;

    start_progress(s, "the whole encode, ");
    ret = ffcrf_verify(o, path, &r, progress, s);
    clear_meter();
    if (ret >= 0)
        ret = pool(&(Options){ .metric = o->metric, .pool = o->pool == POOL_PERCENTILE ? o->pool : POOL_MEAN,
                               .percent = o->percent }, &r, 1, &score);
    av_freep(&r.score);
    if (ret < 0)
        return ret;
    ret = is_as_good(o->metric, score, o->plan.target + (o->metric->higher_is_better ? -1 : 1) *
                                         (o->encode ? o->plan.tolerance : 0));
    if (o->json) {
        AVBPrint b;

        json_begin(&b, "verify-done");
        json_string(&b, "file", path);
        json_string(&b, "metric", o->metric->name);
        json_number(&b, "score", score);
        json_number(&b, "target", o->plan.target);
        json_result(&b, &r);
        av_bprintf(&b, ", \"reached\": %s", ret ? "true" : "false");
        json_end(&b);
    } else {
        printf("%s: %s %.*f (target %g) over %d of %d frames, %.2f MB, %.1f %% of the %.2f MB of the source's video\n",
               path, o->metric->name, o->metric->digits, score, o->plan.target, r.nb_scores, r.nb_frames,
               r.bytes / 1e6, percent(&r), r.source_bytes / 1e6);
    }
    return ret ? ret : ffcrf_fail(0, "'%s' misses the target%s.\n", path, o->encode ?
                                  ": the samples were better than the rest; take more of them" : "");
}

static void free_samples(Search *s)
{
    for (int i = 0; s->sample && i < s->nb_samples; i++)
        ffcrf_sample_unload(&s->sample[i]);
    av_freep(&s->sample);
}

/// Score the sample at a CRF by the metric that is set.
static int probe_crf(Search *s, double crf, Result *r, double *score)
{
    int ret = try_sample(s, s->sample, crf, r);

    if (ret >= 0)
        ret = pool(&s->o, r, 1, score);
    if (ret >= 0 && s->o.json) {
        AVBPrint b;

        json_begin(&b, "probe-done");
        json_string(&b, "metric", s->o.metric->name);
        json_number(&b, "crf", crf);
        json_number(&b, "score", *score);
        json_result(&b, r);
        json_number(&b, "encode_seconds", r->encode_seconds);
        json_number(&b, "score_seconds", r->score_seconds);
        json_end(&b);
    }
    av_freep(&r->score);
    return ret;
}

static void print_row(const char *name, const double *value, int nb, int digits, double milliseconds)
{
    printf("%-10s", name);
    for (int i = 0; i < nb; i++)
        printf(" %9.*f", digits, value[i]);
    if (milliseconds >= 0)
        printf(" %9.2f", milliseconds);
    printf("\n");
    fflush(stdout);
}

/// Compare all metrics by the middle of the video. @return 1, or a negative AVERROR
static int probe(Search *s)
{
    Options *o = &s->o;
    const SearchPlan *plan = &o->plan;
    double crf[NB_PROBES], size[NB_PROBES], score[NB_PROBES];
    int nb = 0, has_sizes = 0, ret = 0;

    for (int i = 0; i < NB_PROBES; i++) {
        const double wanted = plan->min_crf + (plan->max_crf - plan->min_crf) * (i + 0.5) / NB_PROBES;
        const double step   = FFMAX(plan->increment, 1);

        crf[nb] = av_clipd(rint(wanted / step) * step, ffcrf_search_first(plan) * plan->increment,
                           ffcrf_search_last(plan) * plan->increment);
        nb     += !nb || crf[nb] != crf[nb - 1];
    }
    o->samples = 1;
    for (int i = 0; ret >= 0 && ffcrf_metrics[i].name; i++) {
        double seconds = 0, frames = 0;

        o->metric = &ffcrf_metrics[i];
        if (!ffcrf_has_filter(o->metric->filter))
            continue;
        o->step = o->metric->step;
        av_buffer_unref(&o->device);
        if (ffcrf_has_filter(o->metric->cuda_filter)) {
            if ((ret = open_gpu(o, s->format)) < 0)
                return ret;
            if (!o->device)
                av_opt_set(o, "gpu", "off", 0);     // which is told once
        }
        if ((ret = plan_samples(s)) < 0)
            return ret;
        for (int j = 0; ret >= 0 && j < nb; j++) {
            Result r;

            ret        = probe_crf(s, crf[j], &r, &score[j]);
            size[j]    = percent(&r);
            seconds   += r.score_seconds;
            frames    += r.nb_frames;
        }
        free_samples(s);
        if (ret < 0 || o->json)
            continue;
        if (!has_sizes++) {
            printf("%-10s", "CRF");
            for (int j = 0; j < nb; j++)
                printf(" %9g", crf[j]);
            printf("  ms/frame\n");
            print_row("size in %", size, nb, 1, -1);
        }
        print_row(o->metric->name, score, nb, o->metric->digits, 1e3 * seconds / frames);
    }
    return ret < 0 ? ret : 1;
}

static void report(const Search *s, const Point *p, const char *command)
{
    const Options *o = &s->o;

    if (o->json) {
        AVBPrint b;

        json_begin(&b, "crf-search-done");
        json_point(&b, s, p);
        json_string(&b, "command", command);
        json_end(&b);
        return;
    }
    printf("CRF %g: %s %.*f", p->crf, o->metric->name, o->metric->digits, p->score);
    if (o->plan.target != o->metric->worst)
        printf(" (target %g)", o->plan.target);
    printf(", about %.2f MB", p->size / 1e6);
    if (p->size_error > 0)
        printf(" (%.2f to %.2f)", FFMAX(p->size - p->size_error, 0) / 1e6, (p->size + p->size_error) / 1e6);
    printf(", %.1f %% of the %.2f MB of the source's video, in %s\n%s\n", p->percent, s->scan.bytes / 1e6,
           CLOCK(p->encode_seconds), command);
    fflush(stdout);
}

/// The exit status for a 1 of what was reached, a 0, or an error, which the user's input may be.
static int status_of(int ret)
{
    if (ret < 0 && !*last_error && !ffcrf_signal)
        av_log(NULL, AV_LOG_ERROR, "It stopped: %s.\n", av_err2str(ret));
    switch (ret) {
    case 1:                        return EXIT_FOUND;
    case 0:                        return EXIT_NOT_REACHABLE;
    case AVERROR(EINVAL):
    case AVERROR(ENOENT):
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_FILTER_NOT_FOUND:
    case AVERROR_INVALIDDATA:
    case AVERROR_OPTION_NOT_FOUND:
    case AVERROR_STREAM_NOT_FOUND: return EXIT_USAGE;
    }
    return EXIT_FAILED;
}

/// Tell what was found, and make the encode if that is wanted. @return the exit status
static int finish(Search *s, const Point *found)
{
    const Options *o = &s->o;
    char *output, kind[32];
    Command command = { 0 };
    AVBPrint text;
    int status, ret;

    snprintf(kind, sizeof(kind), "crf%g", found->crf);
    output = o->encode ? av_strdup(o->encode) : default_output(o, kind);

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    ret = output ? ffcrf_command_make(&command, o, s->source.format, s->source.stream, found->crf, output)
                 : AVERROR(ENOMEM);
    if (ret < 0) {
        status = status_of(ret);
        goto end;
    }
    ffcrf_command_print(&text, &command);
    report(s, found, text.str);
    status = EXIT_FOUND;
    if (o->encode) {
        free_samples(s);
        start_progress(s, "the whole encode, ");
        ret = ffcrf_command_run(&command, s->scan.nb_frames, progress, s);
        clear_meter();
        if (ret >= 0)
            ret = verify(s, o->encode);
        status = ret < 0 ? status_of(ret) : ret ? EXIT_FOUND : EXIT_VERIFY;
    }

end:
    ffcrf_command_free(&command);
    av_bprint_finalize(&text, NULL);
    av_free(output);
    return status;
}

/// Devices that were asked for, by --hwaccel and by the encoder.
static int open_devices(Options *o)
{
    const AVCodecHWConfig *config = o->encoder && !ffcrf_is_on_gpu(o->encoder) && !ffcrf_has_software_format(o->encoder) ?
                                    avcodec_get_hw_config(o->encoder, 0) : NULL;
    enum AVHWDeviceType type = AV_HWDEVICE_TYPE_NONE;
    const int level = av_log_get_level();

    if (config && av_hwdevice_ctx_create(&o->encode_device, config->device_type, NULL, NULL, 0) < 0)
        return usage("%s needs a device of the type %s, and there is none that works.\n", o->encoder->name,
                     av_hwdevice_get_type_name(config->device_type));
    if (!o->hwaccel || !strcmp(o->hwaccel, "none"))
        return 0;
    if (strcmp(o->hwaccel, "auto")) {
        type = av_hwdevice_find_type_by_name(o->hwaccel);
        if (type == AV_HWDEVICE_TYPE_NONE)
            return usage("This build of FFmpeg has no -hwaccel '%s': `ffmpeg -hwaccels` lists those that it has.\n",
                         o->hwaccel);
        if (av_hwdevice_ctx_create(&o->decode_device, type, NULL, NULL, 0) < 0)
            return usage("-hwaccel %s: there is no such device that works. Leave it out, or take auto.\n",
                         o->hwaccel);
        return 0;
    }
    av_log_set_level(AV_LOG_QUIET);
    while (!o->decode_device && (type = av_hwdevice_iterate_types(type)) != AV_HWDEVICE_TYPE_NONE)
        av_hwdevice_ctx_create(&o->decode_device, type, NULL, NULL, 0);
    av_log_set_level(level);
    if (!o->decode_device)
        av_log(NULL, AV_LOG_WARNING, "Decoding the input on the CPU: no device that -hwaccel may take works.\n");
    return 0;
}

/// The distance of key frames, if it is told as a time.
static int set_keyint(Options *o, const Source *s)
{
    const AVRational rate  = av_guess_frame_rate(s->format, s->stream, NULL);
    const int64_t duration = o->keyint ? parse_duration(o->keyint) : 0;

    if (!duration)
        return 0;
    if (duration < 0)
        return usage("--keyint is a number of frames or a time, as 10s, and not '%s'.\n", o->keyint);
    if (!rate.num || !rate.den)
        return usage("'%s' has no frame rate: give --keyint as a number of frames.\n", o->input);
    return av_dict_set_int(&o->encoder_options, "g", FFMAX(1, lrint(duration / 1e6 * av_q2d(rate))), 0);
}

/// See what the input is, whether all of it is there, and what there is to work with.
static int examine(Search *s)
{
    Options *o     = &s->o;
    AVFrame *frame = av_frame_alloc();
    int64_t *memory = s->memory;
    int ret = frame ? ffcrf_first_frame(o, frame) : AVERROR(ENOMEM);

    if (ret >= 0) {
        s->format = frame->format;
        if (!o->probe)
            ret = open_gpu(o, s->format);
    }
    av_frame_free(&frame);
    if (is_terminal) {
        tell("reading '%s'", o->input);
        has_meter = 1;
    }
    if (ret < 0 || (ret = ffcrf_source_scan(&s->source, &s->scan)) < 0)
        return ret;
    if (s->scan.missing > 0) {
        av_log(NULL, o->accept_damage ? AV_LOG_WARNING : AV_LOG_ERROR, "'%s' is cut off: %.2f s are missing, "
               "as its video ends at %.2f s.%s\n", o->input, s->scan.missing, s->scan.seconds,
               o->accept_damage ? "" : " With --accept-damage what is there is taken.");
        if (!o->accept_damage)
            return AVERROR_INVALIDDATA;
    }
    if ((ret = ffcrf_source_check(&s->source, o)) < 0)
        return ret;
    memory[MEMORY_SYSTEM] = o->memory ? o->memory : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
    memory[MEMORY_GPU]    = o->memory ? o->memory : INT64_MAX;
    if (o->device)
        memory[MEMORY_GPU] = FFMIN(memory[MEMORY_GPU], ffcrf_gpu_memory(o->device) / 2);
    return 0;
}

/// @return the exit status
static int run(Search *s)
{
    Options *o = &s->o;
    const Point *found;
    int ret;

    if (check_options(o) < 0 || open_devices(o) < 0 ||
        ffcrf_source_open(&s->source, o->input, o) < 0 || set_keyint(o, &s->source) < 0)
        return EXIT_USAGE;
    if ((ret = examine(s)) < 0)
        return status_of(ret);
    if (o->verify)
        return status_of(verify(s, o->verify));
    if (o->probe)
        return status_of(probe(s));
    if (o->encode) {
        // what is wrong with the output is better known before the search than after it
        Command command = { .is_quiet = 1 };

        ret = ffcrf_command_make(&command, o, s->source.format, s->source.stream, o->plan.min_crf, o->encode);
        ffcrf_command_free(&command);
        if (ret < 0)
            return EXIT_USAGE;
    }
    if (ffcrf_cache_open(&s->cache, o) < 0 || plan_samples(s) < 0)
        return EXIT_FAILED;
    ret = search(s, &found);
    return ret > 0 ? finish(s, found) : status_of(ret);
}

static void handle_signal(int number)
{
    ffcrf_signal = number;
}

int main(int argc, char **argv)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };
    Search s = { .o = { .class = &class } };
    int status = EXIT_USAGE;

    is_terminal = isatty(STDERR_FILENO);
    av_log_set_flags(AV_LOG_SKIP_REPEATED);
    av_log_set_callback(log_callback);
    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    // SVT-AV1 has a log of its own: errors only
    setenv("SVT_LOG", "1", 0);
#ifdef M_PERTURB
    // All memory is 0 at first, as it is in a new process: libx264 (core 164) makes
    // another stream by what it finds in memory that another encoder has freed.
    mallopt(M_PERTURB, 0xff);
#endif

    av_opt_set_defaults(&s.o);
    if (parse_arguments(&s.o, argc, argv) >= 0) {
        if (s.o.help || argc == 1) {
            print_help();
            status = argc == 1 ? EXIT_USAGE : EXIT_FOUND;
        } else if (s.o.completion) {
            status = print_completion(s.o.completion) < 0 ? EXIT_USAGE : EXIT_FOUND;
        } else if (s.o.version) {
            printf("ffcrf %d, FFmpeg %s\n", FFCRF_VERSION, av_version_info());
            status = EXIT_FOUND;
        } else {
            av_log_set_level(s.o.loglevel);
            status = run(&s);
        }
    }
    if (ffcrf_signal) {
        tell("Ended by signal %d: what was finished is in the cache, and the same command goes on.\n",
             ffcrf_signal);
        status = EXIT_SIGNAL + ffcrf_signal;
    } else if (s.o.json && status && status != EXIT_VERIFY && !(status == EXIT_NOT_REACHABLE && s.o.verify)) {
        // what a verification found is told by its own object
        AVBPrint b;

        json_begin(&b, status == EXIT_NOT_REACHABLE ? "crf-search-error" : "error");
        json_string(&b, "message", last_error);
        json_end(&b);
    }
    if (fflush(stdout) || ferror(stdout)) {
        tell("Standard output cannot be written: %s.\n", strerror(errno));
        status = status ? status : EXIT_FAILED;
    }

    free_samples(&s);
    ffcrf_cache_close(&s.cache);
    ffcrf_source_close(&s.source);
    av_buffer_unref(&s.o.device);
    av_buffer_unref(&s.o.decode_device);
    av_buffer_unref(&s.o.encode_device);
    av_dict_free(&s.o.encoder_options);
    av_opt_free(&s.o);
    return status;
}
