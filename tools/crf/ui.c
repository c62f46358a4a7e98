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

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libavcodec/avcodec.h"
#include "libavutil/opt.h"
#include "libavutil/time.h"

#include "parts.h"

// ---- messages ----

const char *last_error;

#define WIPE "\r\033[K"        ///< clears the current line of a terminal

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
    fprintf(stderr, "%s%sframe %d of %d, %.1f fps, ETA %s%s", is_terminal ? WIPE : "",
            work.doing, frames, nb_frames, frames / seconds,
            clock_time(seconds * (work.jobs * nb_frames / frames - 1)),
            is_terminal ? "" : "\n");
}

void progress_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs(WIPE, stderr);
}

// ---- options ----

#define TEXT(name, field, value, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_STRING, { .str = value } }
#define FLAG(name, field, value, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_BOOL, { .i64 = value }, 0, 1 }
#define REAL(name, field, value, min, max, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_DOUBLE, { .dbl = value }, min, max }
/// The field is 0, which is out of range, if the option is not given.
#define INTEGER(name, field, value, max, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_INT, { .i64 = value }, 1, max }
#define TIME(name, field, value, min, help) \
    { name, help, offsetof(Job, field), AV_OPT_TYPE_DURATION, { .i64 = value }, min, INT64_MAX }

/// Names with their dashes: one for options of ffmpeg, two for those of ffcrf.
static const AVOption options[] = {
    TEXT("-i", input, NULL, "the video to encode"),
    TIME("-ss", start, 0, 0, "start at this time of the input"),
    TIME("-to", end, 0, 0, "end at this time of the input"),
    TIME("-t", length, 0, 1, "use only this much of the input"),
    TEXT("-hwaccel", hwaccel, NULL, "decode the input on a device: auto, cuda, vaapi, qsv, ..."),
    TEXT("-c:v", encoder, NULL, "the encoder (default: libsvtav1 -preset 8, libx265 or libx264)"),
    TEXT("-vf", filters, NULL, "filters before the encoder, as in ffmpeg"),
    TEXT("--reference-vfilter", reference, NULL, "filters before the comparison (default: -vf)"),
    TEXT("-r", rate, NULL, "frame rate of the encode"),
    TEXT("-s", size, NULL, "size of the encode, WxH"),
    INTEGER("-frames:v", nb_frames, 0, INT_MAX, "maximum number of frames to encode"),
    TEXT("--keyint", keyint, NULL, "maximum key frame interval, in frames or as a time (10s)"),
    TEXT("--enc", ignored, NULL, "name=value, an option as in ffmpeg: -name value"),
    TEXT("--svt", ignored, NULL, "name=value, a parameter of libsvtav1"),
    TEXT("-pix_fmt", pix_fmt, NULL, "pixel format to encode in"),
    TEXT("--metric", ignored, NULL, "vmaf (default), ssim, xpsnr or mad"),
    REAL("--target", plan.target, NAN, -INFINITY, INFINITY, "the score of --metric to reach"),
    REAL("--target-vmaf", plan.target, NAN, 0, 110, "VMAF to reach: higher is better (default 95)"),
    REAL("--target-ssim", plan.target, NAN, 0, 1, "SSIM to reach: higher is better"),
    REAL("--target-xpsnr", plan.target, NAN, 0, 100, "XPSNR to reach, in dB: higher is better"),
    REAL("--target-mad", plan.target, NAN, 0, INFINITY, "MAD to reach: lower is better"),
    TEXT("--vmaf-model", model, "v1", "v1, 4k, phone, or the name of a model of VMAF v1"),
    { "--vmaf-scale", "scale to this size for VMAF: none (default), auto, WxH",
      offsetof(Job, scale), AV_OPT_TYPE_IMAGE_SIZE, { .str = "none" } },
    TEXT("--pool", pool, "mean", "the score that counts: mean, p1 to p50 (percentile), worst "
         "(sample)"),
    REAL("--tolerance", plan.tolerance, NAN, 0, INFINITY,
         "accept a score up to this much better than the target"),
    REAL("--min-crf", plan.min_crf, NAN, 0, 255, "lowest CRF to try (default: by encoder)"),
    REAL("--max-crf", plan.max_crf, NAN, 0, 255, "highest CRF to try (default: by encoder)"),
    REAL("--crf-increment", plan.increment, NAN, 0.01, 50, "try multiples of this only"),
    REAL("--crf", crf, NAN, 0, 255, "try only this CRF: no search, and no target is needed"),
    FLAG("--thorough", thorough, 0, "find the highest CRF that reaches the target: no tolerance"),
    REAL("--max-encoded-percent", plan.max_percent, 100, 0, INFINITY,
         "maximum size, in % of the source's video (default 100)"),
    INTEGER("--samples", samples, 0, 1000, "number of samples"),
    TIME("--sample-every", every, 720000000, 1000, "one sample per this much video (default 12m)"),
    INTEGER("--min-samples", min_samples, 3, 1000, "minimum number of samples (default 3)"),
    TIME("--sample-duration", duration, 10000000, 1000, "length of a sample (default 10s)"),
    INTEGER("--score-every", step, 0, 10000,
            "score one of this many frames (default: 7, but all of fewer than 120)"),
    FLAG("--cache", cache, 1, "keep results, and use those that were kept: true (default), false"),
    TEXT("--gpu", gpu, "", "score on a GPU: auto, off, or its number (default: if one works)"),
    TEXT("--encode", encode, NULL, "write the encode to this file, and score all of it"),
    TEXT("--verify", verify, NULL, "do not search: score all of this encode of the input"),
    FLAG("--video-only", video_only, 0, "leave out all streams but the video"),
    FLAG("-y", overwrite, 0, "replace the file of --encode"),
    FLAG("--json", json, 0, "write JSON to standard output, one object per line"),
    TEXT("--stdout-format", ignored, NULL, "json is --json, human the default, as in ab-av1"),
    TEXT("-loglevel", loglevel, "error", "ffmpeg's messages: quiet, error, warning, info, ..."),
    FLAG("--version", version, 0, "print the version"),
    FLAG("--help", help, 0, "print this"),
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
    { "-vcodec", "-c:v" }, { "-acodec", "-c:a" }, { "-scodec", "-c:s" }, { "-filter", "-vf" },
    { "-frames", "-frames:v" }, { "-vframes", "-frames:v" }, { "-v", "-loglevel" },
    { "-h", "--help" }, { "-help", "--help" }, { "-version", "--version" }, { "-e", "-c:v" },
    { "--input", "-i" }, { "--encoder", "-c:v" }, { "--acodec", "-c:a" }, { "--vfilter", "-vf" },
    { "--pix-format", "-pix_fmt" }, { "--preset", "-preset" },
    { "-o", "--encode" }, { "--output", "--encode" }, { "--min-vmaf", "--target-vmaf" },
    { "--min-xpsnr", "--target-xpsnr" }, { "-crf", "--crf" },
};

/// Options of ab-av1 that ffcrf does not have, without their dashes, and their replacement.
static const char *const replaced[][2] = {
    { "xpsnr", "use --metric xpsnr" },
    { "and-vmaf,and-xpsnr", "score the encode once more with --verify and another --metric" },
    { "vmaf", "use --vmaf-model for model=version=, and --score-every for n_subsample=" },
    { "vmaf-fps,xpsnr-fps", "leave it out, frames are paired by number" },
    { "xpsnr-pix-format", "leave it out, the format of the encode is scored" },
    { "scd", "use --svt scd=1" },
    { "enc-input", "use -hwaccel, -ss, -to or -t" },
    { "downmix-to-stereo", "use -c:a aac -ac 2" },
    { "temp-dir,keep", "leave it out, there are no temporary files" },
    { "verify-decode,verify-duration,fail-fast", "leave it out, --encode decodes the whole encode, "
      "and fails unless it has all frames" },
    { "overwrite-input", "encode to another file, and rename that" },
    { "high-crf-means-hq", "use an encoder whose higher CRFs have a lower quality" },
    { "vv", "use -loglevel verbose" },
};

/// All options of ffmpeg 8.1 and 9.0 that take no value. Most have a form that begins with "no".
#define NO_VALUE "?,L,accurate_seek,an,auto_conversion_filters,autorotate,autoscale,benchmark," \
    "benchmark_all,bitexact,bsfs,buildconf,codecs,colors,copy_unknown,copyinkf,copyts,debug_ts," \
    "decoders,demuxers,devices,display_hflip,display_vflip,dispositions,dn,dump,encoders,filters," \
    "find_stream_info,fix_sub_duration,fix_sub_duration_heartbeat,force_fps,formats,h,help,hex," \
    "hide_banner,hwaccels,ignore_unknown,layouts,license,muxers,n,pix_fmts,print_graphs," \
    "protocols,qphist,re,recast_media,report,sample_fmts,shortest,sn,start_at_zero,stats,stdin," \
    "version,vn,vstats,xerror,y"

/// Options of ffmpeg for an output file, for its streams other than the video, and for how the
/// muxer describes and buffers streams. All others of an output are for the encoder of the video.
#define OF_FILE "ab,ac,aframes,af,an,apad,apre,aq,ar,atag,attach,bitexact,ch_layout," \
    "channel_layout,copyinkf,copypriorss,dcodec,dframes,disposition,dn,f," \
    "fix_sub_duration_heartbeat,fs,map_chapters,map_metadata,max_muxing_queue_size,metadata," \
    "muxdelay,muxing_queue_data_threshold,muxpreload,program,sample_fmt,sdp_file,shortest," \
    "shortest_buf_duration,sn,spre,stag,stream_group,streamid,tag,thread_queue_size,timecode," \
    "timestamp,vtag"

/// Options that choose frames, streams or timestamps, or make commands of their own.
#define UNSUPPORTED \
    "copytb,filter_complex,filter_complex_script,filter_script,fpsmax,itsoffset,lavfi," \
    "stats_enc_pre,stats_enc_pre_fmt,stats_mux_pre,stats_mux_pre_fmt,target,vsync"

/// Accepted without effect: defaults, also of commands that were printed here.
#define NO_EFFECT "n,hide_banner,stats,nostats,nostdin,accurate_seek,autorotate,autoscale,map=0," \
                  "c=copy,fps_mode=passthrough,enc_time_base=filter,copypriorss:a=0"

/// Options that ffcrf sets itself, or that set the quality or rate of an encoder or its library.
#define REFUSED "map,c,fps_mode,enc_time_base,b,q,qscale,qp,cq,crf,global_quality,rc,rc_mode," \
                "lossless,cqp,cq-level,end-usage,bitrate,tbr,quantizer"

static const Metric metrics[] = {
    { "vmaf", "lavfi.vmaf.score=", .higher_is_better = 1, .best = 100, .offset = 1, .typical = 85,
      .digits = 2, .tolerance = 1, .step = 7 },
    { "ssim", "lavfi.ssim.All=", .higher_is_better = 1, .best = 1, .offset = 1e-4, .typical = 0.96,
      .digits = 5, .tolerance = 0.002, .step = 7 },
    { "xpsnr", "lavfi.xpsnr.xpsnr.", .higher_is_better = 1, .is_in_decibels = 1, .best = 100,
      .typical = 38, .digits = 3, .tolerance = 0.3, .step = 1 },
    { "mad", "lavfi.mad.score=", .best = 0, .offset = 0.1, .typical = 15,
      .digits = 3, .tolerance = 1, .step = 7 },
    { NULL }
};

/// Settings of encoders by a part of their names: the first match counts.
static const struct Encoder {
    const char *name, *crf_option;
    double min_crf, max_crf, increment;
    const char *preset;         ///< name of the option -preset, if it is another
    const char *set;            ///< default options
    const char *formats;        ///< pixel formats of a hardware device, if it takes no others
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
        printf("  %-21s %s\n", o->name, o->help);
    printf("\nOther options with one dash are ffmpeg's, for the encoder or the output:\n"
           "`ffmpeg -h encoder=NAME` and `ffmpeg -h muxer=NAME` list them.\n"
           "Exit status: 0 found, 1 not reached, 2 failed, 128 + n ended by signal n.\n");
}

// ---- the command line ----

/// Set an option, or add it, as ffmpeg does with options that may be repeated. @return 1
static int set_other(AVDictionary **options, const char *name, const char *value, int flags)
{
    return av_dict_set(options, name, value, flags) < 0 ? (checked(NULL), 0) : 1;
}

int option_takes_value(const char *name)
{
    const char *bare = text("%.*s", (int)strcspn(name, ":"), name), *rest;

    return !av_match_name(bare, NO_VALUE) &&
           !(av_strstart(bare, "no", &rest) && av_match_name(rest, NO_VALUE));
}

/// The name of an option in the table, or of one of ffmpeg's, without a specifier of the video.
static const char *canonical_name(const char *argument)
{
    const char *rest;
    char *name = text("%s", argument), *end;

    if (av_strstart(name, "-codec", &rest) && (!*rest || *rest == ':'))
        name = text("-c%s", rest);
    end = strchr(name, ':');
    if (end && (name[1] == '-' || end[1] != 'v' || end[2 + strspn(end + 2, ":0123456789")]))
        end = NULL;
    if (end)
        *end = 0;
    for (int i = 0; i < FF_ARRAY_ELEMS(alias); i++)
        if (!strcmp(name, alias[i][0]))
            return alias[i][1];
    // the table's options of ffmpeg may have two dashes
    if (name[1] == '-' && av_opt_find(&(const AVClass *){ &class }, name + 1, NULL, 0,
                                      AV_OPT_SEARCH_FAKE_OBJ))
        return name + 1;
    return end && !strcmp(name, "-c") ? "-c:v" : name;
}

/// Whether a word is an option of the table, so that it is hardly the value of another one.
static int is_option(Job *j, const char *argument)
{
    const char *name = text("%.*s", (int)strcspn(argument, "="), argument);

    return *name == '-' && (strcmp(canonical_name(name), name) || av_opt_find(j, name, NULL, 0, 0));
}

/// The Levenshtein distance, if it is below a limit; otherwise any number from that on.
static int edit_distance(const char *a, const char *b, int limit)
{
    if (limit <= 0 || !*a || !*b)
        return FFMAX(strlen(a), strlen(b));
    if (*a == *b)
        return edit_distance(a + 1, b + 1, limit);
    return 1 + FFMIN3(edit_distance(a + 1, b, limit - 1), edit_distance(a, b + 1, limit - 1),
                      edit_distance(a + 1, b + 1, limit - 1));
}

/// @return -1 after a message that names the replacement or the nearest option
static int unknown_option(const char *argument)
{
    const char *nearest = NULL;
    int least = FFMIN(strlen(argument) / 3, 7) + 1, steps;

    for (int i = 0; i < FF_ARRAY_ELEMS(replaced); i++)
        if (av_match_name(argument + strspn(argument, "-"), replaced[i][0]))
            return fail("There is no option %s: %s.", argument, replaced[i][1]);
    for (int i = 0; i < FF_ARRAY_ELEMS(options) - 1 + FF_ARRAY_ELEMS(alias); i++) {
        const char *name = i < FF_ARRAY_ELEMS(alias) ? alias[i][0] :
                           options[i - FF_ARRAY_ELEMS(alias)].name;

        if ((steps = edit_distance(argument, name, least)) < least) {
            least   = steps;
            nearest = name;
        }
    }
    return nearest ? fail("There is no option %s; did you mean %s?", argument, nearest) :
           fail("There is no option %s: `ffcrf --help` lists the options. Those of ffmpeg have one "
                "dash.", argument);
}

/// Parse a time. @return microseconds, or -1
static int64_t parse_duration(const char *string)
{
    static const char *const form[] = { "%lfh%n", "%lfm%n", "%lfs%n", "%lfms%n" };
    static const double unit[] = { 3600, 60, 1, 0.001 };
    const char *s  = string;
    double seconds = 0, number;
    int n = 0;

    if (s[strspn(s, "0123456789.:hms")] || strchr(s, '.') && strrchr(s, ':') > strchr(s, '.'))
        return -1;
    // numbers with colons between them, of which only the last one has a fraction
    if (!strpbrk(s, "hms"))
        for (int i = 0; i < 3 && sscanf(s, i ? ":%lf%n" : "%lf%n", &number, &n) == 1 &&
                        (!i || number < 60); i++, s += n)
            seconds = seconds * 60 + number;
    for (int i = 0; i < FF_ARRAY_ELEMS(unit); i++)
        // the m of ms is not that of minutes
        if (n = 0, sscanf(s, form[i], &number, &n) == 1 && n && (i != 1 || s[n] != 's')) {
            seconds += number * unit[i];
            s += n;
        }
    return *s || s == string || seconds > 1e9 ? -1 : llrint(seconds * 1e6);
}

#define DURATIONS "90s, 1m30s, 500ms, 1:30 or 01:02:03"

/// Set the field of an option. @return 1
static int set_option(Job *j, const AVOption *o, const char *argument, const char *value)
{
    const int is_real   = o->type == AV_OPT_TYPE_DOUBLE, is_time = o->type == AV_OPT_TYPE_DURATION;
    const int is_number = is_real || o->type == AV_OPT_TYPE_INT;
    const char *set     = is_time ? text("%"PRId64"us", parse_duration(value)) : value;

    if (o->type == AV_OPT_TYPE_IMAGE_SIZE && !strcmp(value, "auto"))
        return j->scale[0] = SCALE_AUTO, 1;
    // libavutil evaluates expressions, "nan" among them
    if (!(is_number && value[strspn(value, is_real ? "-.0123456789" : "0123456789")]) &&
        av_opt_set(j, o->name, set, 0) >= 0)
        return 1;
    return fail("%s: '%s' is not %s.", argument, value, is_time ? "a duration: use " DURATIONS :
                o->type == AV_OPT_TYPE_IMAGE_SIZE ? "none, auto, or a size like 1920x1080" :
                !is_number ? "true or false" :
                text("a %snumber from %g to %g", is_real ? "" : "whole ", o->min, o->max));
}

/// Take an option of ffmpeg that is not in the table. @return 1 if it took the value, or 0
static int take_ffmpegs(Job *j, const char *argument, const char *name, const char *value)
{
    const char *bare      = text("%.*s", (int)strcspn(name, ":"), name);
    const int takes_value = option_takes_value(name);
    const char *plain     = takes_value || av_match_name(bare, NO_VALUE) ? bare : bare + 2;

    if (av_match_name(takes_value ? text("%s=%s", name, value) : bare, NO_EFFECT) ||
        !strcmp(name, "map") && *value == '-')
        return takes_value;
    // options of the file keep the specifier of the stream, and may be repeated
    if (strchr(name, ':') || av_match_name(plain, OF_FILE))
        return set_other(&j->other_options, strchr(name, ':') ? name : argument + 1,
                         takes_value ? value : "", AV_DICT_MULTIKEY) & takes_value;
    if (!takes_value || av_match_name(bare, UNSUPPORTED))
        return fail("%s is not supported: ffcrf makes the commands of ffmpeg itself. Leave it out.",
                    argument);
    return set_other(&j->encoder_options, name, value, 0);
}

/// Take an option, whose value is the next word, or behind its "=" if it is joined to it.
/// @return 1 if it took a value, or 0
static int take_option(Job *j, const char *word, const char *next, int is_joined)
{
    const char *equals   = is_joined ? strchr(word, '=') : NULL, *metric;
    const char *argument = equals ? text("%.*s", (int)(equals - word), word) : word;
    const char *value    = equals ? equals + 1 : is_joined ? NULL : next;
    const char *name     = canonical_name(argument);
    const AVOption *opt  = av_opt_find(j, name, NULL, 0, 0);
    const Metric *m      = metrics;

    if (!opt && (name[1] == '-' || !strcmp(name, "-vv") ||
                 av_opt_find(j, text("-%s", name), NULL, 0, 0)))
        return unknown_option(argument);
    if (opt && opt->type == AV_OPT_TYPE_BOOL && !opt->default_val.i64 && !is_joined)
        return av_opt_set_int(j, name, 1, 0);
    if (!opt && !option_takes_value(name + 1))
        return take_ffmpegs(j, argument, name + 1, NULL);
    if (!value || !is_joined && is_option(j, value))
        return fail("%s needs a value.", argument);
    if (!opt)
        return take_ffmpegs(j, argument, name + 1, value);
    if (!strcmp(name, "--enc"))
        return take_option(j, text("-%s", value + strspn(value, "-")), NULL, 1) < 0 ? -1 : 1;
    if (!strcmp(name, "--svt"))
        return set_other(&j->encoder_options, "svtav1-params",
                         text("%s%s", av_dict_get(j->encoder_options, "svtav1-params", NULL, 0) ?
                              ":" : "", value), AV_DICT_APPEND);
    if (av_strstart(name, "--target-", &metric) || !strcmp(name, "--metric") && (metric = value)) {
        while (m->name && strcmp(m->name, metric))
            m++;
        if (!m->name || j->metric && j->metric != m)
            return fail("%s %s: the metric is one of vmaf, ssim, xpsnr and mad%s.", argument, value,
                        j->metric ? text(", and already %s", j->metric->name) : "");
        j->metric = m;
    }
    if (!strcmp(name, "-i") && j->input)
        return fail("'%s' is a second input: ffcrf takes one. Run it once per file.", value);
    j->crf_is_ffmpegs |= !strcmp(name, "--crf") && argument[1] != '-';
    return set_option(j, opt, argument, strcmp(value, "svt-av1") ? value : "libsvtav1");
}

/// Move options of the muxer to those of the file, by the libraries' tables, as ffmpeg does. Refuse
/// options that set the searched quality, also among the parameters of a library.
static int assign_options(Job *j)
{
    const AVClass *format = avformat_get_class(), *codec = avcodec_get_class();
    const AVDictionaryEntry *f  = av_dict_get(j->other_options, "f", NULL, 0), *e = NULL;
    const char *output          = f ? f->value : j->encode ? j->encode : ".mkv";
    AVDictionary *all           = j->encoder_options;

    j->muxer = av_guess_format(f ? output : NULL, f ? NULL : output, NULL);
    if (!j->muxer)
        return fail("'%s' names no container: let it end with .mkv or .mp4.", output);
#define HAS(class, search)                                            \
    !!av_opt_find((void *)&(class), e->key, NULL, AV_OPT_FLAG_ENCODING_PARAM, \
                  AV_OPT_SEARCH_FAKE_OBJ | search)
    j->encoder_options = NULL;
    while ((e = av_dict_iterate(all, e))) {
        const int of_muxer = HAS(format, 0) || j->muxer->priv_class && HAS(j->muxer->priv_class, 0);
        const int of_codec = HAS(codec, AV_OPT_SEARCH_CHILDREN) ||
                             !HAS(format, AV_OPT_SEARCH_CHILDREN);
        const int is_list  = strstr(e->key, "-params") || strstr(e->key, "opts");

        for (const char *p = text("%s:%s", e->key, is_list ? e->value : ""), *name; *p;
             p += strcspn(p, ":"), p += !!*p)
            if (av_match_name(name = text("%.*s", (int)strcspn(p, "=:"), p), REFUSED))
                return fail("-%s %s is not allowed: ffcrf sets %s itself. Leave it out; --crf "
                            "tries one CRF.", e->key, e->value, name);
        if (!of_muxer && !of_codec)
            return fail("-%s is not an option of the muxer %s: leave it out, or choose another "
                        "format by the name of --encode.", e->key, j->muxer->name);
        if (of_muxer)
            set_other(&j->other_options, e->key, e->value, 0);
        if (of_codec || !of_muxer)
            set_other(&j->encoder_options, e->key, e->value, 0);
    }
    return 0;
}

/// Check the options, and set what they imply.
static int check(Job *j, int is_sample_encode)
{
    const int percent = *j->pool == 'p' ? atoi(j->pool + 1) : 0, is_one_crf = !isnan(j->crf);
    const Metric *m   = j->metric ? j->metric : metrics;
    SearchPlan *plan  = &j->plan;
    const char **const names[] = { &j->input, &j->encode, &j->verify };
    struct stat in, out;

    for (int i = 0; i < FF_ARRAY_ELEMS(names); i++)
        if (*names[i] && access(*names[i], F_OK))   // as where a name in a printed command needs it
            av_strstart(*names[i], "file:", names[i]);
    if (!j->input)
        return fail("No input: give it with -i%s. `ffcrf --help` lists the options.", j->encode ?
                    text(", as '%s' without an option is the output", j->encode) : "");
    if (!strcmp(j->input, "-") || av_strstart(j->input, "pipe:", NULL))
        return fail("'%s' cannot be read several times: give a file with -i.", j->input);
    if (j->encode && (!*j->encode || !strcmp(j->encode, "-")))
        return fail("'%s' is not the name of an output: the container needs one.", j->encode);
    if (j->encode && !stat(j->encode, &out) && (!j->overwrite || j->is_bare_output ||
        !S_ISREG(out.st_mode) || !stat(j->input, &in) &&
        in.st_dev == out.st_dev && in.st_ino == out.st_ino))
        return fail("'%s' exists. ffcrf takes one input: run it once per file. To overwrite a file "
                    "that is not the input, name it with --encode, and add -y.", j->encode);
    if (j->end && (j->length || j->end <= j->start))
        return fail("-to must be later than -ss and cannot be combined with -t.");
    if (!av_match_name(j->pool, "mean,worst") &&
        (percent < 1 || percent > 50 || strcmp(j->pool, text("p%d", percent))))
        return fail("--pool: '%s' is not mean, worst, or p1 to p50.", j->pool);
    if (j->scale[0] && m != metrics)
        return fail("--vmaf-scale is for vmaf: leave it out with %s.", m->name);
    if (j->step > 1 && (m->step == 1 || percent))
        return fail("%s needs all frames: --score-every cannot be used with it.",
                    percent ? text("--pool %s", j->pool) : m->name);
    if (j->verify && j->encode)
        return fail("--verify scores an encode that exists: leave out '%s'.", j->encode);
    if (is_sample_encode && !is_one_crf)
        return fail("sample-encode needs a CRF: give it with --crf, or use crf-search.");
    j->has_target = !isnan(plan->target) || !is_one_crf && !j->verify;
    if (isnan(plan->target) && j->metric && j->has_target)
        return fail("No target given: set --target-%s.", m->name);
    if (!isnan(plan->target) && j->crf_is_ffmpegs)
        return fail("-crf %g sets the quality that is searched: leave it out. --crf tries one CRF.",
                    j->crf);
    if (isnan(plan->target))
        plan->target = j->has_target ? 95 : m->higher_is_better ? -INFINITY : INFINITY;
    if (isnan(plan->tolerance) || j->thorough)
        plan->tolerance = j->thorough ? 0 : m->tolerance;
    if (is_one_crf)
        plan->max_percent = INFINITY;
    if (j->end)
        j->length = j->end - j->start;
    j->upload   = "";
    plan->metric = m;
    plan->exact = j->thorough ? 0 : 0.4;
    j->metric   = m;
    return assign_options(j);
}

char *output_name(const char *path, const char *ending)
{
    const char *dot = strrchr(path, '.');
    const int size  = dot && !strchr(dot, '/') ? dot - path : strlen(path);

    return text("%.*s.%s", size, path, ending);
}

int options_parse(Job *j, int argc, char **argv)
{
    const char *first = argc > 1 ? argv[1] : "", *before = NULL;
    int ret, is_joined;

    j->class = &class;
    av_opt_set_defaults(j);
    // before all others, so that errors are JSON
    for (int i = 1; i < argc; i++)
        j->json |= !strcmp(argv[i], "--json") || !strcmp(argv[i], "--stdout-format=json") ||
                   !strcmp(argv[i], "json") && !strcmp(argv[i - 1], "--stdout-format");
    if (!strcmp(first, "encode"))
        return fail("There is no command encode: use ffcrf auto-encode -i INPUT --crf CRF, with "
                    "the same options.");
    if (av_match_name(first, "vmaf,xpsnr"))
        return fail("There is no command %s: use ffcrf -i REFERENCE --verify DISTORTED --metric "
                    "%s.", first, first);
    // commands of ab-av1
    for (int i = 1 + !!av_match_name(first, "auto-encode,crf-search,sample-encode"); i < argc;
         i += 1 + (ret && !is_joined)) {
        const char *input = j->input;

        is_joined = !strncmp(argv[i], "--", 2) && strchr(argv[i], '=');
        if (*argv[i] == '-' && argv[i][1])
            ret = take_option(j, argv[i], argv[i + 1], is_joined);
        else if (j->encode)
            ret = fail("'%s' is a second output: ffcrf takes one input, with -i, and one output. "
                       "Run it once per file, and quote names with spaces.", argv[i]);
        else {      // as in ffmpeg; but a shell makes an input and more of "-i *.mkv"
            j->is_bare_output = !j->crf_is_ffmpegs || j->input != before;
            ret = av_opt_set(j, "--encode", argv[i], 0);
        }
        before = input;
        if (ret < 0)
            return ret;
    }
    if (!strcmp(first, "auto-encode") && !j->encode && j->input)
        j->encode = output_name(j->input, "encode.mkv");
    return j->help || j->version ? 0 : check(j, !strcmp(first, "sample-encode"));
}

// ---- the encoder ----

/// Set the range of the search, unless it is given.
static int set_range(Job *j, const struct Encoder *known)
{
    const int whole = known->increment == 1;
    SearchPlan *s   = &j->plan;

    if (!isnan(j->crf))
        s->min_crf = s->max_crf = j->crf;
    s->min_crf   = isnan(s->min_crf) ? known->min_crf : s->min_crf;
    s->max_crf   = isnan(s->max_crf) ? known->max_crf : s->max_crf;
    s->increment = !isnan(s->increment) ? s->increment :
                   whole || isnan(j->crf) ? known->increment : 0.01;
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
    // ffmpeg ignores options of another encoder
    if (strcmp(known->crf_option, "global_quality") &&
        !strstr(help, text("\n  -%s ", known->crf_option)))
        return fail("'%s' has no option -%s to search: use libx264, libx265, libsvtav1, libaom-av1 "
                    "or one of NVENC, QSV or VAAPI.", j->encoder, known->crf_option);
    if (av_dict_get(j->encoder_options, "svtav1-params", NULL, 0) && !strstr(j->encoder, "svtav1"))
        return fail("--svt and -svtav1-params are for libsvtav1: leave them out with %s.",
                    j->encoder);
    j->crf_option = known->crf_option;
    j->upload     = known->formats ? text(",format=%s,hwupload", known->formats) : "";
    if (preset && known->preset) {      // as in ab-av1
        set_other(&j->encoder_options, known->preset, preset->value, 0);
        set_other(&j->encoder_options, "preset", NULL, 0);
    }
    if (j->keyint && j->keyint[strspn(j->keyint, "0123456789")]) {
        const AVRational rate = av_guess_frame_rate(j->in.format, j->in.stream, NULL);
        const int64_t time    = parse_duration(j->keyint);

        if (time < 1 || !rate.num)
            return fail("--keyint: '%s' is not a number of frames, or a duration (" DURATIONS
                        ") of a video that has a frame rate.", j->keyint);
        j->keyint = text("%.0f", FFMAX(1, rint(time / 1e6 * av_q2d(rate))));
    }
    if (j->keyint)
        set_other(&j->encoder_options, "g", j->keyint, 0);
    if (known->set && av_dict_parse_string(&j->encoder_options, known->set, "=", ":",
                                           AV_DICT_DONT_OVERWRITE) < 0)
        return -1;
    return set_range(j, known);
}
