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
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libavutil/common.h"
#include "libavutil/opt.h"
#include "libavutil/parseutils.h"
#include "libavutil/time.h"

#include "parts.h"

// ---- messages ----

const char *last_error;

#define WIPE "\r\033[K"        ///< the line of a terminal

static struct {
    const char *doing;
    double jobs;
    int64_t begin, shown;
} work;

void tell_text(char *message)
{
    for (uint8_t *c = message; *c; c++)
        if (*c < 32 && *c != '\n' || *c == 127 || *c == 0xc2 && c[1] < 0xa0)    // U+0080 to U+009F
            *c = '?';
    fputs(message, stderr);
}

int fail_with(const char *message)
{
    last_error = message;
    tell("%s\n", message);
    return -1;
}

void *checked(void *memory)
{
    if (!memory) {
        fputs("Out of memory.\n", stderr);
        exit(2);
    }
    return memory;
}

// ---- progress ----

const char *clock_time(double seconds)
{
    const int s = av_clipd(seconds + 0.5, 0, 359999);

    return s < 3600 ? text("%d:%02d", s / 60, s % 60)
                    : text("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
}

void progress_begin(const char *doing, double jobs)
{
    work.doing = doing;
    work.jobs  = jobs;
    work.begin = work.shown = av_gettime_relative();
}

void progress_show(int frames, int nb_frames)
{
    const int is_terminal = isatty(STDERR_FILENO);
    const int64_t now     = av_gettime_relative();
    const double seconds  = (now - work.begin) / 1e6;

    if (now - work.shown < (is_terminal ? 250000 : 10000000))
        return;
    work.shown = now;
    nb_frames  = FFMAX(frames, nb_frames);
    fprintf(stderr, "%s%sframe %d of %d, %.1f fps, ETA %s%s", is_terminal ? WIPE : "", work.doing, frames,
            nb_frames, frames / seconds, clock_time(seconds * (work.jobs * nb_frames / frames - 1)),
            is_terminal ? "" : "\n");
}

void progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs(WIPE, stderr);
}

// ---- JSON ----

const char *json_number(double n)
{
    return isfinite(n) ? text("%.*g", n == rint(n) ? 15 : 10, n) : "null";
}

/// Bytes that are no UTF-8, as names of files may have, become U+FFFD: JSON cannot hold them.
const char *json_string(const char *value)
{
    const uint8_t *next = value, *end = next + strlen(value);
    const char *all = "\"";

    while (next < end) {
        const uint8_t *begin = next;
        int32_t code;

        if (av_utf8_decode(&code, &next, end, AV_UTF8_FLAG_ACCEPT_NON_CHARACTERS) < 0)
            all = text("%s\xef\xbf\xbd", all);
        else if (code == '"' || code == '\\' || code < 32)
            all = text("%s\\u%04x", all, code);
        else
            all = text("%s%.*s", all, (int)(next - begin), begin);
    }
    return text("%s\"", all);
}

void json_write(const char *type, ...)
{
    const char *key;
    va_list list;

    va_start(list, type);
    printf("{\"type\": \"%s\"", type);
    while ((key = va_arg(list, const char *)))
        printf(", \"%s\": %s", key, va_arg(list, const char *));
    va_end(list);
    printf("}\n");
    fflush(stdout);
}

// ---- options ----

#define TEXT(name, field, value, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_STRING, { .str = value } }
#define FLAG(name, field, value, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_BOOL, { .i64 = value }, 0, 1 }
#define REAL(name, field, value, min, max, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_DOUBLE, { .dbl = value }, min, max }
/// 0, which is out of the range, stays where none is given.
#define INTEGER(name, field, value, max, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_INT, { .i64 = value }, 1, max }
#define TIME(name, field, value, min, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_DURATION, { .i64 = value }, min, INT64_MAX }

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
    TEXT("pix_fmt", pix_fmt, NULL, "pixel format to encode in"),
    TEXT("metric", ignored, NULL, "vmaf (default), ssim, xpsnr or mad"),
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
    TIME("sample-every", every, 720000000, 1000, "one sample for this much video (default 12:00)"),
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
#define KNOWN "map=0,c=copy,fps_mode=passthrough,enc_time_base=filter,stdout-format=json"

/// What is set here, and what sets the quality or the rate of an encoder, or of its library.
#define REFUSED "map,c,fps_mode,enc_time_base,b,q,qscale,qp,cq,crf,global_quality,rc,rc_mode," \
                "lossless,cqp,cq-level,end-usage,bitrate,tbr,quantizer"

static const Metric metrics[] = {
    { "vmaf", "lavfi.vmaf.score=",
      { .higher_is_better = 1, .best = 100, .worst = 0, .offset = 1, .typical = 85 },
      .digits = 2, .tolerance = 1, .step = 7 },
    { "ssim", "lavfi.ssim.All=",
      { .higher_is_better = 1, .best = 1, .worst = 0, .offset = 1e-4, .typical = 0.96 },
      .digits = 5, .tolerance = 0.002, .step = 7 },
    { "xpsnr", "lavfi.xpsnr.xpsnr.",
      { .higher_is_better = 1, .is_in_decibels = 1, .best = 100, .typical = 38 },
      .digits = 3, .tolerance = 0.3, .step = 1 },
    { "mad", "lavfi.mad.score=",
      { .best = 0, .worst = INFINITY, .offset = 0.1, .typical = 15 },
      .digits = 3, .tolerance = 1, .step = 7 },
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
    for (int i = 0; i < FF_ARRAY_ELEMS(alias); i++)
        if (!strcmp(name, alias[i][0]))
            return alias[i][1];
    return end && !strcmp(name, "c") ? "c:v" : name;
}

/// Take an option of ffcrf's or of ffmpeg's. @return 1 if it took the value, which may be NULL
static int take_option(Job *j, const char *argument, const char *value)
{
    const char *name    = canonical_name(argument), *metric;
    const AVOption *opt = av_opt_find(j, name, NULL, 0, 0);
    const Metric *m     = metrics;

    if (!strcmp(name, "nostdin"))
        return 0;
    if (opt && opt->type == AV_OPT_TYPE_BOOL && !opt->default_val.i64)
        return av_opt_set_int(j, name, 1, 0);
    if (!value || !strncmp(value, "--", 2))
        return fail("%s needs a value.", argument);
    if (av_match_name(text("%s=%s", name, value), KNOWN) ||
        !strcmp(name, "map") && *value == '-')
        return 1;
    if (!strcmp(name, "enc"))
        return av_dict_parse_string(&j->encoder_options, value, "=", "", 0) >= 0 ? 1 :
               fail("--enc is name=value, and not '%s'.", value);
    if (!strcmp(name, "svt")) {
        const AVDictionaryEntry *e = av_dict_get(j->encoder_options, "svtav1-params", NULL, 0);

        return set_other(&j->encoder_options, "svtav1-params",
                         e ? text("%s:%s", e->value, value) : value);
    }
    if (av_strstart(name, "target-", &metric) || !strcmp(name, "metric") && (metric = value)) {
        while (m->name && strcmp(m->name, metric))
            m++;
        if (!m->name || j->metric && j->metric != m)
            return fail("The metric cannot be %s: it is one of vmaf, ssim, xpsnr and mad.", metric);
        j->metric = m;
    }
    if (!opt)
        return set_other(strchr(name, ':') ? &j->other_options : &j->encoder_options, name, value);
    j->crf_is_ffmpegs |= !strcmp(name, "crf") && (argument[1] != '-' || strchr(argument, ':'));
    return av_opt_set(j, name, value, 0) >= 0 ? 1 :
           fail("'%s' is not a value for %s: %s. `ffcrf --help` lists the options.", value,
                argument, opt->help);
}

static int check(Job *j)
{
    const int percent = *j->pool == 'p' ? atoi(j->pool + 1) : 0, is_one_crf = !isnan(j->crf);
    const Metric *m   = j->metric ? j->metric : metrics;
    SearchPlan *plan  = &j->plan;

    if (!j->input)
        return fail("Which video? Give it with -i. `ffcrf --help` lists the options.");
    if (j->end && (j->length || j->end <= j->start))
        return fail("-to is after -ss, and not there together with -t.");
    if (!av_match_name(j->pool, "mean,worst") &&
        (percent < 1 || percent > 50 || strcmp(j->pool, text("p%d", percent))))
        return fail("--pool is mean, worst, or p1 to p50, and not '%s'.", j->pool);
    if (j->step > 1 && (m->step == 1 || percent))
        return fail("%s needs all frames: --score-every cannot be used with it.",
                    percent ? text("--pool %s", j->pool) : m->name);
    if (isnan(plan->target) && j->metric && !is_one_crf)
        return fail("Which quality? Give it with --target-%s.", m->name);
    if (!isnan(plan->target) && j->crf_is_ffmpegs)
        return fail("-crf %g sets the quality that is searched: leave it out. --crf tries one CRF.",
                    j->crf);
    if (isnan(plan->target))
        plan->target = is_one_crf ? m->scale.worst : 95;
    if (isnan(plan->tolerance) || j->thorough)
        plan->tolerance = j->thorough ? 0 : m->tolerance;
    if (j->end)
        j->length = j->end - j->start;
    j->upload   = "";
    plan->scale = &m->scale;
    plan->exact = j->thorough ? 0 : 0.4;
    j->metric   = m;
    return 0;
}

char *output_name(const char *path, const char *ending)
{
    const char *dot = strrchr(path, '.');
    const int size  = dot && !strchr(dot, '/') ? dot - path : strlen(path);

    return text("%.*s.%s", size, path, ending);
}

int options_parse(Job *j, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int ret;

    j->class = &class;
    av_opt_set_defaults(j);
    // before all others, so that errors are JSON
    for (int i = 1; i < argc; i++)
        j->json |= !strcmp(argv[i], "--json") || !strcmp(argv[i], "-json") ||
                   !strcmp(argv[i], "json") && !strcmp(argv[i - 1], "--stdout-format");
    // the words are ab-av1's
    for (int i = 1 + !!av_match_name(word, "auto-encode,crf-search,sample-encode"); i < argc;
         i += 1 + ret) {
        if (*argv[i] == '-' && argv[i][1])
            ret = take_option(j, argv[i], argv[i + 1]);
        else if (j->encode)
            ret = fail("'%s' is not an option: give the input with -i and the output with "
                       "--encode.", argv[i]);
        else        // as ffmpeg has it
            ret = av_opt_set(j, "encode", argv[i], 0);
        if (ret < 0)
            return ret;
    }
    if (!strcmp(word, "auto-encode") && !j->encode && j->input)
        j->encode = output_name(j->input, "encode.mkv");
    return j->help || j->version ? 0 : check(j);
}

// ---- the encoder ----

/// Refuse what sets the quality that is searched, also among parameters of a library.
static int check_encoder_options(const AVDictionary *options)
{
    const AVDictionaryEntry *e = NULL;

    while ((e = av_dict_iterate(options, e))) {
        const int has_names = strstr(e->key, "-params") || strstr(e->key, "opts");
        const char *names   = text("%s:%s", e->key, has_names ? e->value : "");

        for (const char *p = names; *p; p += strcspn(p, ":"), p += !!*p) {
            const char *name = text("%.*s", (int)strcspn(p, "=:"), p);

            if (av_match_name(name, REFUSED))
                return fail("-%s %s cannot be: '%s' is set here, or sets the quality that is "
                            "searched. Leave it out. --crf tries one CRF.", e->key, e->value, name);
        }
    }
    return 0;
}

/// Set where to search, unless that is given.
static int set_range(Job *j, const struct Encoder *known)
{
    const int whole = known->increment == 1;
    SearchPlan *s   = &j->plan;

    if (!isnan(j->crf))
        s->min_crf = s->max_crf = j->crf;
    if (isnan(s->min_crf))
        s->min_crf = known->min_crf;
    if (isnan(s->max_crf))
        s->max_crf = known->max_crf;
    if (isnan(s->increment))
        s->increment = whole || isnan(j->crf) ? known->increment : 0.01;
    if (s->min_crf > s->max_crf || search_first(s) > search_last(s) ||
        whole && s->increment != rint(s->increment))
        return fail("%s has no CRF from --min-crf %g to --max-crf %g by --crf-increment %g%s.",
                    j->encoder, s->min_crf, s->max_crf, s->increment,
                    whole ? ": it takes whole numbers" : "");
    return 0;
}

int options_take_encoder(Job *j, const char *help)
{
    const AVDictionaryEntry *preset = av_dict_get(j->encoder_options, "preset", NULL, 0);
    const struct Encoder *known = encoders;

    while (!strstr(j->encoder, known->name))
        known++;
    // ffmpeg takes no offence at an option of another encoder
    if (strcmp(known->crf_option, "global_quality") &&
        !strstr(help, text("\n  -%s ", known->crf_option)))
        return fail("This ffmpeg has no encoder '%s' with -%s, which is searched: take libx264, "
                    "libx265, libsvtav1, libaom-av1 or one of NVENC, QSV or VAAPI.", j->encoder,
                    known->crf_option);
    j->crf_option = known->crf_option;
    j->upload     = known->formats ? text(",format=%s,hwupload", known->formats) : "";
    if (preset && known->preset) {      // as ab-av1 has it
        set_other(&j->encoder_options, known->preset, preset->value);
        set_other(&j->encoder_options, "preset", NULL);
    }
    if (j->keyint && j->keyint[strspn(j->keyint, "0123456789")]) {
        const AVRational rate = av_guess_frame_rate(j->in.format, j->in.stream, NULL);
        int64_t time;

        if (av_parse_time(&time, j->keyint, 1) < 0 || time < 1 || !rate.num)
            return fail("--keyint %s cannot be: it is a number of frames, or a time as 10s of a "
                        "video that has a frame rate.", j->keyint);
        j->keyint = text("%.0f", FFMAX(1, rint(time / 1e6 * av_q2d(rate))));
    }
    if (j->keyint)
        set_other(&j->encoder_options, "g", j->keyint);
    if (check_encoder_options(j->encoder_options) < 0 ||
        known->set && av_dict_parse_string(&j->encoder_options, known->set, "=", ":",
                                           AV_DICT_DONT_OVERWRITE) < 0)
        return -1;
    return set_range(j, known);
}
