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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libavcodec/avcodec.h"
#include "libavutil/pixdesc.h"

#include "command.h"
#include "text.h"

/// The models of VMAF that have names here: for pictures of up to 1440 lines, and for larger ones.
static const char *const models[][3] = {
    { "v1",    "vmaf_v1.0.16_3d0h",      "vmaf_v1.0.16_1d5h_2160" },
    { "4k",    "vmaf_v1.0.16_1d5h_2160", "vmaf_v1.0.16_1d5h_2160" },
    { "phone", "vmaf_v1.0.16_5d0h",      "vmaf_v1.0.16_5d0h" },
};

#define PASS " -fps_mode passthrough -enc_time_base filter"

// ---- input ----

#define END_TOLERANCE 0.5   ///< by which the stated duration may be longer than all streams, in s

int input_open(Input *in, const char *path)
{
    int ret;

    *in = (Input){ 0 };
    if ((ret = avformat_open_input(&in->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(in->format, NULL)) < 0)
        return fail("Cannot read '%s': %s.", path, av_err2str(ret));
    for (unsigned i = 0; i < in->format->nb_streams; i++) {
        AVStream *st               = in->format->streams[i];
        const AVCodecParameters *p = st->codecpar;

        // a picture of the cover is no video
        if (p->codec_type == AVMEDIA_TYPE_VIDEO &&
            !(st->disposition & AV_DISPOSITION_ATTACHED_PIC) &&
            (!in->stream || (int64_t)p->width * p->height >
                            (int64_t)in->stream->codecpar->width * in->stream->codecpar->height))
            in->stream = st;
    }
    return in->stream ? 0 : fail("'%s' has no video stream.", path);
}

static int compare_units(const void *a, const void *b)
{
    return FFDIFFSIGN(((const Unit *)a)->time, ((const Unit *)b)->time);
}

int input_scan(Input *in, double start, double length, int nb_frames)
{
    const AVFormatContext *format = in->format;
    const double offset = format->start_time == AV_NOPTS_VALUE ? 0 : format->start_time / 1e6;
    const double stated = format->duration / 1e6;
    AVPacket *p = checked(av_packet_alloc());
    double end  = 0, last = 0;      // of all streams, and of the video

    for (; av_read_frame(in->format, p) >= 0; av_packet_unref(p)) {
        const AVStream *st = format->streams[p->stream_index];
        const double unit  = av_q2d(st->time_base);
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;
        const double begin = time == AV_NOPTS_VALUE ? last : time * unit - offset;
        const Unit u       = { begin - start, p->size };

        end = FFMAX(end, begin + p->duration * unit);
        if (st != in->stream)
            continue;
        last = begin + p->duration * unit;
        if (u.time < 0 || length && u.time >= length)
            continue;
        checked(av_dynarray2_add((void **)&in->unit, &in->nb_units, sizeof(u), (uint8_t *)&u));
        in->seconds = FFMAX(in->seconds, last - start);
    }
    av_packet_free(&p);
    if (!in->nb_units)
        return fail("'%s' has no frames%s.", format->url, start || length ? " in that part" : "");
    qsort(in->unit, in->nb_units, sizeof(*in->unit), compare_units);
    if (nb_frames && nb_frames < in->nb_units)
        in->seconds = in->unit[nb_frames].time;
    in->nb_units = input_count(in, 0, INFINITY, &in->bytes);
    // other durations are estimates
    if (format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM &&
        stated - end > END_TOLERANCE)
        tell("'%s' is cut off: %.2f s are missing at its end. What is there is used.\n",
             format->url, stated - end);
    return 0;
}

int input_count(const Input *in, double start, double seconds, int64_t *bytes)
{
    const double end = FFMIN(start + seconds, in->seconds);
    int nb = 0;

    *bytes = 0;
    for (const Unit *u = in->unit; u < in->unit + in->nb_units; u++)
        if (u->time >= start && u->time < end) {
            *bytes += u->size;
            nb++;
        }
    return nb;
}

// ---- parts of commands ----

const char *command_word(const char *string)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%";
    char *quoted;

    if (*string && !string[strspn(string, plain)])
        return string;
    if (av_escape(&quoted, string, NULL, AV_ESCAPE_MODE_QUOTE, 0) < 0)
        checked(NULL);
    return quoted;
}

const char *command_ffmpeg(void)
{
    char path[PATH_MAX] = "";
    const char *beside;

    if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0)
        *strrchr(path, '/') = 0;
    beside = command_word(text("%s/ffmpeg", path));
    // the one that a user starts by its name needs no folder
    return system(text("test -x %s && ! test \"$(command -v ffmpeg)\" -ef %s", beside, beside)) ?
           "ffmpeg" : text("%s/ffmpeg", path);
}

/// An option, of a stream if its specifier is given.
static const char *option(const char *name, const char *stream, const char *value)
{
    return text(" %s %s", command_word(text("-%s%s", name, stream)), command_word(value));
}

static const char *all_options(const AVDictionary *options, const char *stream)
{
    const AVDictionaryEntry *e = NULL;
    const char *all = "";

    while ((e = av_dict_iterate(options, e)))
        all = text("%s%s", all, option(e->key, stream, e->value));
    return all;
}

/// Filters before the encoder, or before the comparison. All that comes out of them is of one size
/// and format, those of the encoder's first frame.
static const char *filters(const Job *job, int is_reference)
{
    const Options *o = job->o;
    const AVCodecParameters *p = job->encode;
    const char *user = is_reference && o->reference ? o->reference : o->filters;
    const char *end  = p ? text("scale=%d:%d,format=%s%s", p->width, p->height,
                                av_get_pix_fmt_name(p->format),
                                is_reference && job->is_mixed ? "10" : "") :
                       o->pix_fmt ? text("format=%s", o->pix_fmt) : "null";

    return text("%s%s%s%s%s%s", user ? user : "", user ? "," : "",
                o->rate      ? text("fps=%s,", o->rate) : "",
                o->size      ? text("scale=s=%s,", o->size) : "",
                o->nb_frames ? text("trim=end_frame=%d,", o->nb_frames) : "",
                // a command that was printed has it already
                user && strstr(user, end) ? "null" : end);
}

/// The program, and what goes for all of its files.
static const char *begin(const Job *job, int is_printed)
{
    const Options *o = job->o;

    return text("%s -nostdin%s%s%s", command_word(job->ffmpeg),
                is_printed ? "" : text(" -y -nostats%s", option("v", "", o->loglevel)),
                o->device ? option("init_hw_device", "", o->device) : "",
                is_printed || !job->upload ? "" :
                text(" -init_hw_device cuda=gpu:%d -filter_hw_device gpu", atoi(o->gpu)));
}

/// A part of what is taken of the source; length 0 is to its end.
static const char *input(const Job *job, double start, double length)
{
    const Options *o = job->o;

    start  += o->start / 1e6;
    length  = length ? length : o->length / 1e6;
    return text("%s%s%s%s", o->hwaccel ? option("hwaccel", "", o->hwaccel) : "",
                start  > 0 ? text(" -ss %.12g", start) : "",
                length > 0 ? text(" -t %.12g", length) : "", option("i", "", o->input));
}

static const char *encoder(const Options *o, double crf, const char *stream)
{
    return text("%s%s%s -fps_mode%s passthrough -enc_time_base%s filter",
                option("c", stream, o->encoder), option(o->crf_option, stream, text("%.6g", crf)),
                all_options(o->encoder_options, stream), stream, stream);
}

/// Print a line for each frame that goes in, and packet that comes out. ffmpeg has one buffer for
/// all that it prints to files of one name, and no lock: each kind of line, as that of score(),
/// needs another name of standard output.
static const char *counts(const char *stream)
{
    return text(" -stats_enc_pre%s pipe:1 -stats_enc_pre_fmt%s " LINE_FRAME
                " -stats_mux_pre%s /dev/stdout -stats_mux_pre_fmt%s '" LINE_PACKET "{size}'",
                stream, stream, stream, stream);
}

/// Filter the source to [a], which is encoded, and [s], which that is compared with.
static const char *source(const Job *job)
{
    const Options *o = job->o;
    const int index  = job->in->stream->index;

    return option("filter_complex", "", o->reference ?
                  text("[0:%d]split[x][y];[x]%s%s[a];[y]%s[s]", index, filters(job, 0), o->upload,
                       filters(job, 1)) :
                  text("[0:%d]%s,split[x][s];[x]null%s[a]", index, filters(job, 0), o->upload));
}

/// Pair the frames of [encode] with those of [s] by number, and print the scores of one of each
/// step frames: the encode's frames go to [c], compared ones to [o].
static const char *score(const Job *job, const char *encode, int step)
{
    const Metric *m     = job->o->metric;
    const char *options = "", *model = job->o->model, *graph;
    const int is_vmaf   = !strcmp(m->name, "vmaf");
    // which one of each step changes: encoders repeat their types of frames with a period
    const char *rest    = step < 2 || is_vmaf ? "" :
        text(",select='eq(mod(n,%d),floor(%d*mod(floor(n/%d)*0.618034,1)))'", step, step, step);

    if (job->upload)
        rest = text("%s,format=%s,hwupload", rest, job->upload);
    for (int i = 0; i < FF_ARRAY_ELEMS(models); i++)
        if (!strcmp(model, models[i][0]))
            model = models[i][1 + (job->encode->height > 1440)];
    // its motion is that to the frame before, so it takes all of them
    if (is_vmaf)
        options = text(":n_subsample=%d%s:model=version=%s", step,
                       job->is_mixed ? ":bitdepth=10" : "", model);
    // with shortest=1, ffmpeg loses the last frame of a filter that waits for the next one
    graph = text("[%s]settb=1/25,setpts=N,split[c][x];[x]null%s[e];[s]settb=1/25,setpts=N%s[r];"
                 "%s%s%s=eof_action=pass%s,metadata=print:file=/dev/stdout:direct=1[o]",
                 encode, rest, rest, m->scale.is_in_decibels ? "[r][e]" : "[e][r]", m->name,
                 job->upload ? "_cuda" : "", options);
    return text("%s -map '[c]'" PASS " -stats_enc_pre /dev/fd/1 -stats_enc_pre_fmt " LINE_DECODED
                " -f null - -map '[o]'" PASS " -f null -",
                option("filter_complex", "", graph));
}

/// Encode the streams of these maps, and score the video, which is the one of that specifier, and
/// of that number in the output.
static const char *encode_and_score(const Job *job, double crf, double start, double duration,
                                    int step, const char *maps, const char *stream, int number,
                                    const char *output)
{
    return text("%s%s%s%s%s%s %s -dec 0:%d%s", begin(job, 0), input(job, start, duration),
                source(job), maps, encoder(job->o, crf, stream), counts(stream), output, number,
                score(job, "dec:0", step));
}

// ---- whole commands ----

const char *command_first(const Job *job, double crf, int file)
{
    return text("%s%s -map 0:%d%s%s -frames:v 1 -f matroska /dev/fd/%d", begin(job, 0),
                input(job, 0, 0), job->in->stream->index,
                option("vf", "", text("%s%s", filters(job, 0), job->o->upload)),
                encoder(job->o, crf, ":v"), file);
}

const char *command_sample(const Job *job, double crf, double start, double duration, int step)
{
    // headers where most files have them
    return encode_and_score(job, crf, start, duration, step, " -map '[a]'", ":v", 0,
                            "-flags:v +global_header -f null -");
}

const char *command_verify(const Job *job, const Input *encode)
{
    const char *graph = text("[1:%d]%s,split[s][d]", job->in->stream->index, filters(job, 1));

    return text("%s%s%s%s -map '[d]'" PASS " -stats_enc_pre pipe:1 -stats_enc_pre_fmt " LINE_FRAME
                " -f null -%s", begin(job, 0), option("i", "", job->o->verify), input(job, 0, 0),
                option("filter_complex", "", graph),
                score(job, text("0:%d", encode->stream->index), job->o->step));
}

// ---- all streams ----

/// What makes a stream one that the output can hold: "copy" or an encoder; NULL if nothing does.
static const char *stream_encoder(const AVOutputFormat *out, const AVStream *st)
{
    static const enum AVCodecID texts[] = {
        AV_CODEC_ID_SUBRIP, AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_WEBVTT,
    };
    const enum AVMediaType type = st->codecpar->codec_type;
    const AVCodecDescriptor *d  = avcodec_descriptor_get(st->codecpar->codec_id);
    const int can = avformat_query_codec(out, st->codecpar->codec_id, FF_COMPLIANCE_NORMAL);

    // a file of any kind may be attached, of which the format tells nothing
    if (!strcmp(out->name, "matroska") && (type == AVMEDIA_TYPE_ATTACHMENT ||
                                           st->disposition & AV_DISPOSITION_ATTACHED_PIC))
        return "copy";
    for (int i = 0; i < FF_ARRAY_ELEMS(texts) && !can && d; i++)
        if (d->props & AV_CODEC_PROP_TEXT_SUB &&
            avformat_query_codec(out, texts[i], FF_COMPLIANCE_NORMAL) == 1)
            return avcodec_get_name(texts[i]);
    return can == 1 || can && type <= AVMEDIA_TYPE_AUDIO && type >= 0 ? "copy" : NULL;
}

/// All streams that the output's format takes: as they are, or with [a] in place of the video.
/// @param place set to that of the video, and stream to its specifier. @return NULL after a message
static const char *streams(const Job *job, const char *output, int scores, int warns, int *place,
                           const char **stream)
{
    const AVOutputFormat *out = av_guess_format(NULL, output, NULL);
    const Input *in  = job->in;
    const Options *o = job->o;
    const char *maps = o->video_only ? text(" -map 0:%d", in->stream->index) : " -map 0";
    const char *other = "";
    int nb_videos = 0, nb = 0, video = 0;

    if (!out || !avformat_query_codec(out, job->encode->codec_id, FF_COMPLIANCE_NORMAL)) {
        fail("'%s' does not name a format that holds %s: let it end with .mkv or .mp4.", output,
             avcodec_get_name(job->encode->codec_id));
        return NULL;
    }
    if (scores)
        maps = "";
    for (unsigned i = 0; i < in->format->nb_streams; i++) {
        const AVStream *st    = in->format->streams[i];
        const int type        = st->codecpar->codec_type, is_video = st == in->stream;
        const char *name      = avcodec_get_name(st->codecpar->codec_id);
        const char *converter = is_video ? "copy" : stream_encoder(out, st);

        if (!is_video && o->video_only)
            continue;
        if (!converter && type == AVMEDIA_TYPE_AUDIO &&
            !av_dict_get(o->other_options, "c:a", NULL, AV_DICT_IGNORE_SUFFIX)) {
            fail("'%s' cannot hold %s, which stream %u is: let the name end with .mkv, or choose "
                 "an encoder by -c:a.", output, name, i);
            return NULL;
        }
        if (!converter && type != AVMEDIA_TYPE_AUDIO) {
            if (warns)
                tell("Stream %u (%s) is left out: '%s' cannot hold it.\n", i, name, output);
            if (!scores)
                maps = text("%s -map -0:%u", maps, i);
            continue;
        }
        if (is_video) {
            *place = nb;
            video  = nb_videos;
        }
        if (scores) {
            // what comes from a graph has lost what is known of it
            maps  = is_video ? text("%s -map '[a]'", maps) : text("%s -map 0:%u", maps, i);
            other = text("%s -map_metadata:s:%d 0:s:%u", other, nb, i);
            if (is_video && st->disposition & AV_DISPOSITION_DEFAULT)
                other = text("%s -disposition:%d default", other, nb);
        }
        if (converter && strcmp(converter, "copy"))
            other = text("%s -c:%d %s", other, nb, converter);
        nb_videos += type == AVMEDIA_TYPE_VIDEO;
        nb++;
    }
    *stream = nb_videos > 1 ? text(":v:%d", video) : ":v";
    return text("%s -c copy%s%s", maps, other, all_options(o->other_options, ""));
}

const char *command_whole(const Job *job, double crf, const char *output, int scores, int warns)
{
    const char *to = command_word(text("%s%s", *output == '-' ? "./" : "", output));
    const char *stream, *maps;
    int place;

    if (!(maps = streams(job, output, scores, warns, &place, &stream)))
        return NULL;
    if (scores)
        return encode_and_score(job, crf, 0, 0, job->o->step, maps, stream, place, to);
    return text("%s%s%s%s%s %s", begin(job, 1), input(job, 0, 0), maps,
                encoder(job->o, crf, stream),
                option("filter", stream, text("%s%s", filters(job, 0), job->o->upload)), to);
}
