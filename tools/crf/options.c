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

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/opt.h"
#include "libavutil/parseutils.h"

#include "options.h"
#include "text.h"

#define TEXT(name, field, value, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_STRING, { .str = value } }
#define FLAG(name, field, value, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_BOOL, { .i64 = value }, 0, 1 }
#define REAL(name, field, value, min, max, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_DOUBLE, { .dbl = value }, min, max }
#define INTEGER(name, field, value, max, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_INT, { .i64 = value }, 0, max }
#define TIME(name, field, value, min, help) \
    { name, help, offsetof(Options, field), AV_OPT_TYPE_DURATION, { .i64 = value }, min, INT64_MAX }

static const AVOption options[] = {
    TEXT("i", input, NULL, "the video to encode"),
    TIME("ss", start, 0, 0, "start at this time of the input"),
    TIME("to", end, 0, 0, "end at this time of the input"),
    TIME("t", length, 0, 0, "take this much of the input"),
    TEXT("hwaccel", hwaccel, NULL, "decode the input by this device: auto, cuda, vaapi, qsv, ..."),
    TEXT("c:v", encoder, NULL, "the encoder (default: libsvtav1 -preset 8, libx265 or libx264)"),
    TEXT("vf", filters, NULL, "filters before the encoder, as in ffmpeg"),
    TEXT("reference-vfilter", reference, NULL, "filters before the comparison (default: -vf)"),
    TEXT("r", rate, NULL, "frame rate of the encode"),
    TEXT("s", size, NULL, "size of the encode, WxH"),
    INTEGER("frames", nb_frames, 0, INT_MAX, "the most frames of the encode"),
    TEXT("keyint", keyint, NULL, "largest distance of key frames, in frames or as a time (10s)"),
    TEXT("enc", ignored, NULL, "name=value, an option of the encoder"),
    TEXT("svt", ignored, NULL, "name=value, a parameter of libsvtav1"),
    TEXT("scd", ignored, NULL, "key frames where scenes change, for libsvtav1: true, false"),
    TEXT("pix_fmt", pix_fmt, NULL, "pixel format to encode in"),
    TEXT("metric", metric_name, NULL, "vmaf (default), ssim, xpsnr or mad"),
    REAL("target", plan.target, NAN, -INFINITY, INFINITY, "the score of --metric to reach"),
    REAL("target-vmaf", plan.target, NAN, 0, 110, "VMAF to reach: higher is better (default 95)"),
    REAL("target-ssim", plan.target, NAN, 0, 1, "SSIM to reach: higher is better"),
    REAL("target-xpsnr", plan.target, NAN, 0, 100, "XPSNR to reach, in dB: higher is better"),
    REAL("target-mad", plan.target, NAN, 0, INFINITY, "MAD to reach: lower is better"),
    TEXT("vmaf-model", model, "v1", "v1, 4k, phone, or the name of a model of VMAF v1"),
    TEXT("pool", pool, "mean", "the score that counts: mean, p1 to p50 (percentile), worst "
         "(sample)"),
    REAL("tolerance", plan.tolerance, NAN, 0, INFINITY, "so much better than the target is enough"),
    REAL("min-crf", plan.min_crf, NAN, 0, 255, "lowest CRF to try (default: by encoder)"),
    REAL("max-crf", plan.max_crf, NAN, 0, 255, "highest CRF to try (default: by encoder)"),
    REAL("crf-increment", plan.increment, NAN, 0.01, 50, "try multiples of this only"),
    REAL("crf", crf, NAN, 0, 255, "try this CRF only; no target is needed"),
    FLAG("thorough", thorough, 0, "find the highest CRF that reaches the target: no tolerance"),
    REAL("max-encoded-percent", plan.max_percent, 100, 0, INFINITY,
         "largest size, in % of the source's video (default 100)"),
    INTEGER("samples", samples, 0, 1000, "number of samples"),
    TIME("sample-every", every, 720000000, 1000, "one sample for this much video (default 12m)"),
    INTEGER("min-samples", min_samples, 3, 1000, "least number of samples (default 3)"),
    TIME("sample-duration", duration, 10000000, 1000, "length of a sample (default 10s)"),
    INTEGER("score-every", step, 0, 10000, "score one of this many frames (default: by metric)"),
    FLAG("cache", cache, 1, "keep results, and use those that were kept: true (default), false"),
    TEXT("gpu", gpu, "", "score on a GPU: auto, off, or its number (default: if one works)"),
    TEXT("encode", encode, NULL, "write the encode to this file, and score all of it"),
    TEXT("verify", verify, NULL, "do not search: score all of this encode of the input"),
    FLAG("video-only", video_only, 0, "leave out all streams but the video"),
    FLAG("y", overwrite, 0, "replace the file of --encode"),
    FLAG("json", json, 0, "write JSON to standard output, one object per line"),
    TEXT("loglevel", loglevel, "error", "ffmpeg's messages: quiet, error, warning, info, ..."),
    FLAG("version", version, 0, "print the version"),
    FLAG("help", help, 0, "print this"),
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
    { "codec", "c:v" }, { "vcodec", "c:v" }, { "encoder", "c:v" }, { "e", "c:v" },
    { "codec:a", "c:a" }, { "acodec", "c:a" }, { "filter", "vf" }, { "vfilter", "vf" },
    { "input", "i" }, { "h", "help" }, { "v", "loglevel" }, { "vframes", "frames" },
    { "pix-format", "pix_fmt" }, { "min-vmaf", "target-vmaf" }, { "min-xpsnr", "target-xpsnr" },
    { "o", "encode" }, { "output", "encode" },
};

/// What a command has that was printed here, which may be given back, and what ab-av1 has.
static const char *const own[][2] = {
    { "map", "0" }, { "c", "copy" }, { "fps_mode", "passthrough" }, { "enc_time_base", "filter" },
    { "stdout-format", "" },
};

/// What sets the quality or the rate of an encoder, or of its library.
#define REFUSED "b,q,qscale,qp,cq,crf,global_quality,rc,rc_mode,lossless,cqp,cq-level,end-usage," \
                "bitrate,tbr,quantizer"

static const Metric metrics[] = {
    { "vmaf", "lavfi.vmaf.score=",
      { .higher_is_better = 1, .best = 100, .worst = 0, .offset = 1, .typical = 85 },
      .digits = 2, .tolerance = 1, .step = 5 },
    { "ssim", "lavfi.ssim.All=",
      { .higher_is_better = 1, .best = 1, .worst = 0, .offset = 1e-4, .typical = 0.96 },
      .digits = 5, .tolerance = 0.002, .step = 4 },
    { "xpsnr", "lavfi.xpsnr.xpsnr.",
      { .higher_is_better = 1, .is_in_decibels = 1, .best = 100, .typical = 38 },
      .digits = 3, .tolerance = 0.3, .step = 1 },
    { "mad", "lavfi.mad.score=",
      { .best = 0, .worst = INFINITY, .offset = 0.1, .typical = 15 },
      .digits = 3, .tolerance = 1, .step = 24 },
    { NULL }
};

/// What is known of encoders, by a part of their names: the first match counts.
static const struct Encoder {
    const char *name, *crf_option;
    double min_crf, max_crf, increment;
    const char *preset;         ///< what -preset is called, if it is not -preset
    const char *set;            ///< options that it gets
    const char *formats;        ///< of a device, if it takes no others
} encoders[] = {
    { "libx26",     "crf", 10,  46, 0.1 },
    { "libsvtav1",  "crf",  5,  63, 1, .set = "preset=8" },
    { "libaom-av1", "crf",  5,  63, 1, "cpu-used" },
    { "libvpx-vp9", "crf", 10,  63, 1, "cpu-used" },
    { "libvpx",     "crf",  0,  63, 1, "cpu-used" },
    { "librav1e",   "qp",  10, 255, 1, "speed" },
    { "libvvenc",   "qp",   0,  63, 1 },
    { "av1_nvenc",  "cq",  10,  63, 0.1, .set = "rc=vbr:b=0" },
    { "_nvenc",     "cq",  10,  46, 0.1, .set = "rc=vbr:b=0" },
    { "_qsv",       "global_quality", 10,  46, 1 },
    { "av1_vaapi",  "global_quality", 10, 255, 1, NULL, "rc_mode=CQP", "nv12|p010" },
    { "h264_vaapi", "global_quality", 10,  46, 1, NULL, "rc_mode=CQP", "nv12" },
    { "_vaapi",     "global_quality", 10,  46, 1, NULL, "rc_mode=CQP", "nv12|p010" },
    { "",           "crf",  0,  63, 1 },
};

void options_print_help(void)
{
    printf("usage: ffcrf -i INPUT [-c:v ENCODER] [encoder's options] [--target-vmaf 95] [options]\n"
           "Finds the CRF that gives an encode of INPUT the wanted quality.\n\n");
    for (const AVOption *o = options; o->name; o++)
        // ffmpeg's own options have one dash
        printf("  %*s%-21s %s\n", 2, o->name[strcspn(o->name, ":_")] || strlen(o->name) < 3 ||
               !strcmp(o->name, "hwaccel") ? "-" : "--", o->name, o->help);
    printf("\nAll other options go to the encoder: `ffmpeg -h encoder=NAME` lists them.\n"
           "Exit status: 0 found, 1 not reached, 2 failed, 128 + n ended by signal n.\n");
}

// ---- the command line ----

/// "1h30m", as ab-av1 has it, in seconds; what is not of this kind is returned as it is.
static const char *in_seconds(const char *duration)
{
    double sum = 0, number;
    char unit[4];
    int size;

    for (const char *p = duration; *p; p += size) {
        if (sscanf(p, "%lf%3[a-z]%n", &number, unit, &size) != 2)
            return duration;
        sum += number * (av_match_name(unit, "h")     ? 3600 :
                         av_match_name(unit, "m,min") ? 60   :
                         av_match_name(unit, "s,sec") ? 1    :
                         av_match_name(unit, "ms")    ? 1e-3 : NAN);
    }
    return text("%f", sum);
}

static int set_option(Options *o, const AVOption *opt, const char *argument, const char *value)
{
    const int is_time = opt->type == AV_OPT_TYPE_DURATION;

    // 0 stands for a number that is not given
    if (opt->type == AV_OPT_TYPE_INT && atoi(value) < 1 ||
        av_opt_set(o, opt->name, is_time ? in_seconds(value) : value, 0) < 0)
        return fail("'%s' is not a value for %s: %s. `ffcrf --help` lists the options.", value,
                    argument, opt->help);
    return 1;
}

/// @return 1
static int set_other(AVDictionary **options, const char *name, const char *value)
{
    return av_dict_set(options, name, value, 0) < 0 ? (checked(NULL), 0) : 1;
}

/// What an argument is called in the table: without dashes, and without what says that it is of the
/// video.
static const char *canonical_name(const char *argument)
{
    char *name = text("%s", argument + 1 + (argument[1] == '-')), *end = strstr(name, ":v");

    if (end && !end[2 + strspn(end + 2, ":0")])
        *end = 0;
    else
        end = NULL;
    for (int i = 0; i < FF_ARRAY_ELEMS(alias); i++)
        if (!strcmp(name, alias[i][0]))
            return alias[i][1];
    return end && !strcmp(name, "c") ? "c:v" : name;
}

/// Take an option of ffcrf's or of ffmpeg's. @return 1 if it took the value, which may be NULL
static int take_option(Options *o, const char *argument, const char *value)
{
    const char *name    = canonical_name(argument);
    const AVOption *opt = av_opt_find(o, name, NULL, 0, 0);

    if (!strcmp(name, "nostdin"))
        return 0;
    if (opt && opt->type == AV_OPT_TYPE_BOOL && !opt->default_val.i64)
        return set_option(o, opt, argument, "1") < 0 ? -1 : 0;
    if (!value || !strncmp(value, "--", 2))
        return fail("%s needs a value.", argument);
    for (int i = 0; i < FF_ARRAY_ELEMS(own); i++)
        if (!strcmp(name, own[i][0]))
            return !*own[i][1] || !strcmp(value, own[i][1]) || *value == '-' ? 1 :
                   fail("%s %s cannot be: it is %s here.", argument, value, own[i][1]);
    if (!strcmp(name, "target-loss") || !strcmp(name, "metric") && !strcmp(value, "detailloss"))
        return fail("%s %s: detailloss is gone. Use --target-vmaf: 100 less the loss.", argument,
                    value);
    if (!strcmp(name, "enc")) {
        const int size = strcspn(value, "=");

        return !value[size] ? fail("--enc is name=value, and not '%s'.", value) :
               take_option(o, text("-%.*s", size, value), value + size + 1);
    }
    if (!strcmp(name, "svt") || !strcmp(name, "scd")) {
        const AVDictionaryEntry *e = av_dict_get(o->encoder_options, "svtav1-params", NULL, 0);

        if (!strcmp(name, "scd"))
            value = strcmp(value, "true") ? "scd=0" : "scd=1";
        return set_other(&o->encoder_options, "svtav1-params",
                         e ? text("%s:%s", e->value, value) : value);
    }
    if (opt && opt->offset == offsetof(Options, plan.target)) {
        if (!isnan(o->plan.target))
            return fail("%s is a second target: give one.", argument);
        for (const Metric *m = metrics; m->name; m++)
            if (!strcmp(name + strlen("target-"), m->name))
                o->metric = m;
    }
    // in ffmpeg's spelling it is the encoder's own, see check_encoder_options()
    if (opt && (strcmp(name, "crf") || argument[1] == '-' && !strchr(argument, ':')))
        return set_option(o, opt, argument, value);
    return set_other(strchr(name, ':') ? &o->other_options : &o->encoder_options, name, value);
}

/// The metric, and the target.
static int choose_metric(Options *o)
{
    const int is_one_crf = !isnan(o->crf) || av_dict_get(o->encoder_options, "crf", NULL, 0);
    const Metric *m      = !o->metric_name && o->metric ? o->metric : metrics;
    SearchPlan *plan     = &o->plan;

    while (o->metric_name && m->name && strcmp(m->name, o->metric_name))
        m++;
    if (!m->name)
        return fail("--metric is vmaf, ssim, xpsnr or mad, and not '%s'.", o->metric_name);
    if (o->metric && o->metric != m)
        return fail("--target-%s is not for --metric %s: give one of them.", o->metric->name,
                    m->name);
    if (isnan(plan->target) && o->metric_name && !is_one_crf)
        return fail("Which quality? Give it with --target-%s.", m->name);
    if (isnan(plan->target))
        plan->target = is_one_crf ? m->scale.worst : 95;
    if (o->step > 1 && m->step == 1)
        return fail("%s looks at the frames before, and scores all: leave out --score-every.",
                    m->name);
    if (o->thorough)
        plan->tolerance = 0;
    else if (isnan(plan->tolerance))
        plan->tolerance = m->tolerance;
    plan->scale = &m->scale;
    plan->exact = o->thorough ? 0 : 0.4;
    o->step     = o->step ? o->step : m->step;
    o->metric   = m;
    return 0;
}

static int check(Options *o)
{
    const int percent = *o->pool == 'p' ? atoi(o->pool + 1) : 0;

    if (!o->input)
        return fail("Which video? Give it with -i. `ffcrf --help` lists the options.");
    if (o->end && (o->length || o->end <= o->start))
        return fail("-to is after -ss, and not there together with -t.");
    if (o->end)
        o->length = o->end - o->start;
    if (o->encode && o->verify)
        return fail("--encode verifies what it makes: leave out --verify.");
    if (!av_match_name(o->gpu, "auto,off") && o->gpu[strspn(o->gpu, "0123456789")])
        return fail("--gpu is auto, off or the number of a GPU, and not '%s'.", o->gpu);
    if (!av_match_name(o->pool, "mean,worst") &&
        (percent < 1 || percent > 50 || strcmp(o->pool, text("p%d", percent))))
        return fail("--pool is mean, worst, or p1 to p50, and not '%s'.", o->pool);
    return choose_metric(o);
}

char *output_name(const char *path, const char *kind)
{
    const char *dot = strrchr(path, '.');
    const int size  = dot && !strchr(dot, '/') ? dot - path : strlen(path);

    return text("%.*s.%s", size, path, kind);
}

int options_parse(Options *o, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int ret;

    o->class = &class;
    av_opt_set_defaults(o);
    // before all others, so that errors are JSON
    for (int i = 1; i < argc; i++)
        o->json |= !strcmp(argv[i], "--json") || !strcmp(argv[i], "-json") ||
                   !strcmp(argv[i], "json") && !strcmp(argv[i - 1], "--stdout-format");
    // the words are ab-av1's
    for (int i = 1 + !!av_match_name(word, "auto-encode,crf-search,sample-encode"); i < argc;
         i += 1 + ret) {
        if (*argv[i] == '-' && argv[i][1])
            ret = take_option(o, argv[i], argv[i + 1]);
        else if (o->encode)
            ret = fail("'%s' is not an option: give the input with -i and the output with "
                       "--encode.", argv[i]);
        else        // as ffmpeg has it
            ret = av_opt_set(o, "encode", argv[i], 0);
        if (ret < 0)
            return ret;
    }
    if (!strcmp(word, "auto-encode") && !o->encode && o->input)
        av_opt_set(o, "encode", output_name(o->input, "encode.mkv"), 0);
    return o->help || o->version ? 0 : check(o);
}

// ---- the encoder ----

/// Refuse what sets the quality that is searched.
static int check_encoder_options(Options *o, const char *set)
{
    const AVDictionaryEntry *e = NULL, *crf = av_dict_get(o->encoder_options, "crf", NULL, 0);

    // in a command that was printed, it is the one to try
    if (crf && o->plan.target == o->plan.scale->worst && isnan(o->crf)) {
        if (set_option(o, av_opt_find(o, "crf", NULL, 0, 0), "-crf", crf->value) < 0)
            return -1;
        set_other(&o->encoder_options, "crf", NULL);
    }
    while ((e = av_dict_iterate(o->encoder_options, e))) {
        const int is_params = strstr(e->key, "-params") || strstr(e->key, "opts");
        const char *names   = text("%s:%s", e->key, is_params ? e->value : "");

        if (set && strstr(set, text("%s=%s", e->key, e->value)))
            continue;
        for (const char *p = names; *p; p += strcspn(p, ":"), p += !!*p) {
            const char *name = text("%.*s", (int)strcspn(p, "=:"), p);

            if (av_match_name(name, REFUSED))
                return fail("-%s %s sets the quality that is searched: leave out '%s'. --crf tries "
                            "one CRF.", e->key, e->value, name);
        }
    }
    return 0;
}

/// Set where to search, unless that is given.
static int set_range(Options *o, const struct Encoder *known)
{
    const int whole = known->increment == 1;
    SearchPlan *s   = &o->plan;

    if (!isnan(o->crf))
        s->min_crf = s->max_crf = o->crf;
    if (isnan(s->min_crf))
        s->min_crf = known->min_crf;
    if (isnan(s->max_crf))
        s->max_crf = known->max_crf;
    if (isnan(s->increment))
        s->increment = whole || isnan(o->crf) ? known->increment : 0.01;
    if (s->min_crf > s->max_crf || search_first(s) > search_last(s) ||
        whole && s->increment != rint(s->increment))
        return fail("%s has no CRF from --min-crf %g to --max-crf %g by --crf-increment %g%s.",
                    o->encoder, s->min_crf, s->max_crf, s->increment,
                    whole ? ": it takes whole numbers" : "");
    return 0;
}

int options_take_encoder(Options *o, const char *help, double frame_rate)
{
    const AVDictionaryEntry *preset = av_dict_get(o->encoder_options, "preset", NULL, 0);
    const struct Encoder *known = encoders;
    int64_t keyint;

    while (!strstr(o->encoder, known->name))
        known++;
    // ffmpeg takes no offence at an option of another encoder
    if (strcmp(known->crf_option, "global_quality") &&
        !strstr(help, text("\n  -%s ", known->crf_option)))
        return fail("This ffmpeg has no encoder '%s' with -%s, which is searched: take libx264, "
                    "libx265, libsvtav1, libaom-av1 or one of NVENC, QSV or VAAPI.", o->encoder,
                    known->crf_option);
    o->crf_option = known->crf_option;
    o->device     = known->formats ? "vaapi" : NULL;
    o->upload     = known->formats ? text(",format=%s,hwupload", known->formats) : "";
    if (preset && known->preset) {      // as ab-av1 has it
        set_other(&o->encoder_options, known->preset, preset->value);
        set_other(&o->encoder_options, "preset", NULL);
    }
    if (o->keyint && o->keyint[strspn(o->keyint, "0123456789")]) {
        if (av_parse_time(&keyint, in_seconds(o->keyint), 1) < 0 || keyint <= 0 || frame_rate <= 0)
            return fail("--keyint %s cannot be: it is a number of frames, or a time as 10s of a "
                        "video that has a frame rate.", o->keyint);
        o->keyint = text("%.0f", FFMAX(1, rint(keyint / 1e6 * frame_rate)));
    }
    if (o->keyint)
        set_other(&o->encoder_options, "g", o->keyint);
    if (check_encoder_options(o, known->set) < 0 ||
        known->set && av_dict_parse_string(&o->encoder_options, known->set, "=", ":",
                                           AV_DICT_DONT_OVERWRITE) < 0)
        return -1;
    return set_range(o, known);
}
