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
 * The ffmpeg command that makes the encode: the one that is printed is run.
 */

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libavutil/avstring.h"
#include "libavutil/error.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"

#include "ffcrf.h"

/// Add an argument, in printf's manner. What fails is kept in the command: nothing is added from then on.
static void add(Command *c, const char *format, ...) av_printf_format(2, 3);
static void add(Command *c, const char *format, ...)
{
    AVBPrint text;
    va_list va;
    char **argument = c->error < 0 ? NULL : av_realloc_array(c->argument, c->nb + 2, sizeof(*c->argument));

    if (!argument) {
        c->error = AVERROR(ENOMEM);
        return;
    }
    c->argument = argument;
    argument[c->nb] = NULL;
    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    va_start(va, format);
    av_vbprintf(&text, format, va);
    va_end(va);
    c->error = av_bprint_finalize(&text, &argument[c->nb]);
    if (c->error >= 0)
        argument[++c->nb] = NULL;
}

/// Add an option of the stream that is encoded.
static void add_option(Command *c, const char *name, const char *stream, const char *value)
{
    add(c, "-%s%s", name, stream);
    add(c, "%s", value);
}

/// The ffmpeg beside this program, by its short name if a shell finds it by that.
static void add_ffmpeg(Command *c)
{
    char dir[PATH_MAX], beside[PATH_MAX + 8], found[PATH_MAX], real[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
    char *path = av_strdup(getenv("PATH") ? getenv("PATH") : ""), *part, *rest = path;

    if (!path) {
        c->error = AVERROR(ENOMEM);
        return;
    }
    dir[FFMAX(size, 0)] = 0;
    *strrchr(size > 0 ? dir : strcpy(dir, "/"), '/') = 0;
    snprintf(beside, sizeof(beside), "%s/ffmpeg", dir);
    if (access(beside, X_OK) < 0 || !realpath(beside, real))
        *real = 0;
    while ((part = av_strtok(rest, ":", &rest))) {
        av_strlcpy(dir, part, sizeof(dir));
        av_strlcat(dir, "/ffmpeg", sizeof(dir));
        if (access(dir, X_OK) >= 0)
            break;
    }
    add(c, "%s", !*real || part && realpath(dir, found) && !strcmp(found, real) ? "ffmpeg" : beside);
    av_free(path);
}

/// What becomes of a stream that is not encoded.
enum { STREAM_COPY, STREAM_CONVERT, STREAM_DROP, STREAM_ERROR };

/// An encoder for text that a format can hold, NULL if there is none.
static const AVCodec *find_subtitles(const AVOutputFormat *format)
{
    static const enum AVCodecID texts[] = { AV_CODEC_ID_SUBRIP, AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_WEBVTT };

    for (int i = 0; i < FF_ARRAY_ELEMS(texts); i++) {
        const AVCodec *codec = avcodec_find_encoder(texts[i]);

        if (codec && avformat_query_codec(format, texts[i], FF_COMPLIANCE_NORMAL) == 1)
            return codec;
    }
    return NULL;
}

static int judge_stream(const AVOutputFormat *format, const AVStream *st, const AVCodec **converter)
{
    const enum AVCodecID id = st->codecpar->codec_id;
    const AVCodecDescriptor *desc = avcodec_descriptor_get(id);
    const int can = avformat_query_codec(format, id, FF_COMPLIANCE_NORMAL);

    // a file of any kind may be attached, of which it tells nothing
    if (!strcmp(format->name, "matroska") && (st->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT ||
                                              st->disposition & AV_DISPOSITION_ATTACHED_PIC))
        return STREAM_COPY;
    switch (st->codecpar->codec_type) {
    case AVMEDIA_TYPE_AUDIO:
        if (*converter)
            return avformat_query_codec(format, (*converter)->id, FF_COMPLIANCE_NORMAL) ? STREAM_CONVERT : STREAM_ERROR;
        return can ? STREAM_COPY : STREAM_ERROR;
    case AVMEDIA_TYPE_VIDEO:
        return can ? STREAM_COPY : STREAM_DROP;
    case AVMEDIA_TYPE_SUBTITLE:
        if (can)
            return STREAM_COPY;
        *converter = find_subtitles(format);
        return *converter && desc && desc->props & AV_CODEC_PROP_TEXT_SUB &&
               avcodec_find_decoder(id) ? STREAM_CONVERT : STREAM_DROP;
    default:
        return can == 1 ? STREAM_COPY : STREAM_DROP;
    }
}

static int needs_downmix(const Options *o, const AVStream *st)
{
    return o->downmix && st->codecpar->codec_type == AVMEDIA_TYPE_AUDIO && st->codecpar->ch_layout.nb_channels > 3;
}

/// What encodes a stream of audio, NULL if it is copied.
static const AVCodec *find_audio(const Options *o, const AVOutputFormat *format, const AVStream *st)
{
    static const char *const names[] = { "libopus", "aac" };

    if (st->codecpar->codec_type != AVMEDIA_TYPE_AUDIO)
        return NULL;
    if (o->audio_codec)
        return avcodec_find_encoder_by_name(o->audio_codec);
    for (int i = 0; needs_downmix(o, st) && i < FF_ARRAY_ELEMS(names); i++) {
        const AVCodec *codec = avcodec_find_encoder_by_name(names[i]);

        if (codec && avformat_query_codec(format, codec->id, FF_COMPLIANCE_NORMAL))
            return codec;
    }
    return NULL;
}

/// How the audio stream of that number is encoded.
static void add_audio(Command *c, const Options *o, int number, const AVCodec *codec, int is_stereo)
{
    char stream[16];

    snprintf(stream, sizeof(stream), ":a:%d", number);
    add_option(c, "c", stream, codec->name);
    if (o->audio_rate)
        add_option(c, "b", stream, o->audio_rate);
    if (is_stereo)
        add_option(c, "ac", stream, "2");
}

/// Which streams go where: all that the output's format takes.
static int add_streams(Command *c, const Options *o, const AVFormatContext *format,
                       const AVStream *video, const char *output, char encoded[16])
{
    const AVOutputFormat *out = av_guess_format(NULL, output, NULL);
    int nb_videos = 0, place = 0, nb_subtitles = 0, nb_audios = 0, ret = 0;
    Command conversions = { 0 };

    if (!out || out->video_codec == AV_CODEC_ID_NONE)
        return ffcrf_fail(AVERROR(EINVAL), "The name '%s' tells no format for video: let it end with .mkv or "
                          ".mp4.\n", output);
    if (!avformat_query_codec(out, o->encoder->id, FF_COMPLIANCE_NORMAL))
        return ffcrf_fail(AVERROR(EINVAL), "'%s' cannot hold %s, which %s makes: let the name end with .mkv or "
                          ".mp4.\n", output, avcodec_get_name(o->encoder->id), o->encoder->name);
    add(c, "-map");
    if (o->video_only) {
        snprintf(encoded, 16, ":v");
        add(c, "0:%d", video->index);
        return 0;
    }
    add(c, "0");
    for (unsigned i = 0; ret >= 0 && i < format->nb_streams; i++) {
        const AVStream *st = format->streams[i];
        const char *type   = av_get_media_type_string(st->codecpar->codec_type);
        const AVCodec *converter = find_audio(o, out, st);
        const int fate = st == video ? STREAM_COPY : judge_stream(out, st, &converter);

        if (fate == STREAM_ERROR) {
            ret = ffcrf_fail(AVERROR(EINVAL), "'%s' cannot hold %s, which stream %u of '%s' %s: let the name "
                             "end with .mkv, or choose by -c:a what audio is encoded by.\n", output,
                             avcodec_get_name(converter ? converter->id : st->codecpar->codec_id), i,
                             o->input, converter ? "would be" : "is");
        } else if (fate == STREAM_DROP) {
            av_log(NULL, c->is_quiet ? AV_LOG_DEBUG : AV_LOG_WARNING, "Stream %u (%s, %s) is left out: '%s' "
                   "cannot hold it.\n", i, type ? type : "unknown", avcodec_get_name(st->codecpar->codec_id), output);
            add(c, "-map");
            add(c, "-0:%u", i);
        } else if (st->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) {
            if (st == video)
                place = nb_videos;
            nb_videos++;
        } else if (st->codecpar->codec_type == AVMEDIA_TYPE_SUBTITLE) {
            if (fate == STREAM_CONVERT) {
                add(&conversions, "-c:s:%d", nb_subtitles);
                add(&conversions, "%s", converter->name);
            }
            nb_subtitles++;
        } else if (st->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) {
            if (fate == STREAM_CONVERT)
                add_audio(&conversions, o, nb_audios, converter, needs_downmix(o, st));
            nb_audios++;
        }
    }
    add_option(c, "c", "", "copy");
    for (int i = 0; i < conversions.nb; i++)
        add(c, "%s", conversions.argument[i]);
    c->error = FFMIN(c->error, conversions.error);
    ffcrf_command_free(&conversions);
    snprintf(encoded, 16, nb_videos > 1 ? ":v:%d" : ":v", place);
    return ret;
}

/// The name of a device's type, NULL if there is none.
static const char *type_name(const AVBufferRef *device)
{
    return device ? av_hwdevice_get_type_name(((AVHWDeviceContext *)device->data)->type) : NULL;
}

/// Which part of the input is taken.
static void add_part(Command *c, const Options *o)
{
    const int64_t time[2] = { o->start, o->length };

    for (int i = 0; i < 2; i++)
        if (time[i]) {
            add(c, i ? "-t" : "-ss");
            add(c, "%.12g", time[i] / 1e6);
        }
}

int ffcrf_command_make(Command *c, const Options *o, AVFormatContext *format,
                       const AVStream *video, double crf, const char *output)
{
    const AVDictionaryEntry *e = NULL;
    const char *const hwaccel = type_name(o->decode_device), *const uploads = type_name(o->encode_device);
    AVDictionary *options = NULL;
    char stream[16];
    int ret;

    add_ffmpeg(c);
    add(c, "-nostdin");
    if (uploads)
        add_option(c, "init_hw_device", "", uploads);
    if (hwaccel)
        add_option(c, "hwaccel", "", hwaccel);
    if (!o->seeks_late)
        add_part(c, o);
    if (av_packet_side_data_get(video->codecpar->coded_side_data, video->codecpar->nb_coded_side_data,
                                AV_PKT_DATA_DISPLAYMATRIX))
        add(c, "-noautorotate");
    add_option(c, "i", "", o->input);
    if (o->seeks_late)
        add_part(c, o);
    if ((ret = add_streams(c, o, format, video, output, stream)) < 0)
        return ret;
    add_option(c, "c", stream, o->encoder->name);
    ret = ffcrf_encoder_options(o, crf, &options);
    while (ret >= 0 && (e = av_dict_iterate(options, e)))
        add_option(c, e->key, stream, e->value);
    av_dict_free(&options);
    if (uploads) {
        add(c, "-filter%s", stream);
        add(c, "%s%sformat=%s,hwupload", o->filters ? o->filters : "", o->filters ? "," : "",
            ffcrf_upload_formats(o));
    } else {
        if (o->pix_fmt)
            add_option(c, "pix_fmt", stream, o->pix_fmt);
        if (o->filters)
            add_option(c, "filter", stream, o->filters);
    }
    add_option(c, "fps_mode", stream, "passthrough");
    add_option(c, "enc_time_base", stream, "filter");
    add(c, "%s%s", *output == '-' ? "./" : "", output);
    return FFMIN(ret, c->error);
}

void ffcrf_command_print(AVBPrint *text, const Command *c)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%";

    for (int i = 0; i < c->nb; i++) {
        const char *a = c->argument[i];

        if (i)
            av_bprint_chars(text, ' ', 1);
        if (*a && strspn(a, plain) == strlen(a)) {
            av_bprintf(text, "%s", a);
        } else {
            av_bprint_chars(text, '\'', 1);
            for (; *a; a++)
                if (*a == '\'')
                    av_bprintf(text, "'\\''");
                else
                    av_bprint_chars(text, *a, 1);
            av_bprint_chars(text, '\'', 1);
        }
    }
}

/// Take the lines that -progress writes until it ends, which a signal asks it to.
static void follow(FILE *f, pid_t child, int nb_frames, ProgressFunc progress, void *opaque)
{
    char line[256];
    int asked = 0;

    for (;;) {
        const int got = !!fgets(line, sizeof(line), f);

        if (ffcrf_signal && !asked) {
            kill(child, ffcrf_signal);
            asked = 1;
        }
        if (!got && !(ferror(f) && errno == EINTR))
            break;
        clearerr(f);
        if (got && !strncmp(line, "frame=", 6))
            progress(opaque, "encoding", atoi(line + 6), nb_frames, atoi(line + 6) / (double)FFMAX(nb_frames, 1));
    }
}

static int run(char **argument, int nb_frames, ProgressFunc progress, void *opaque)
{
    int fd[2], status;
    pid_t child;
    FILE *f;

    if (pipe(fd) < 0)
        return AVERROR(errno);
    child = fork();
    if (!child) {
        dup2(fd[1], STDOUT_FILENO);
        close(fd[0]);
        close(fd[1]);
        execvp(argument[0], argument);
        fprintf(stderr, "Cannot run %s: %s. Put the ffmpeg that ffcrf was built with into PATH.\n",
                argument[0], strerror(errno));
        _exit(127);
    }
    close(fd[1]);
    f = fdopen(fd[0], "r");
    if (child > 0 && f)
        follow(f, child, nb_frames, progress, opaque);
    if (f)
        fclose(f);
    else
        close(fd[0]);
    if (child < 0)
        return AVERROR(EAGAIN);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return AVERROR(errno);
    if (ffcrf_signal)
        return AVERROR_EXIT;
    return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : AVERROR_EXTERNAL;
}

int ffcrf_command_run(const Command *command, int nb_frames, ProgressFunc progress, void *opaque)
{
    static const char *const more[] = { "-v", "error", "-nostats", "-progress", "-", "-y" };
    const char *output = command->argument[command->nb - 1];
    const char *dot    = strrchr(av_basename(output), '.');
    char *part = av_asprintf("%.*s.part%s", (int)(dot - output), output, dot);
    Command c  = { 0 };
    int ret    = part ? 0 : AVERROR(ENOMEM);

    for (int i = 0; i < command->nb - 1; i++) {
        add(&c, "%s", command->argument[i]);
        for (int j = 0; !i && j < FF_ARRAY_ELEMS(more); j++)
            add(&c, "%s", more[j]);
    }
    if (part)
        add(&c, "%s", part);
    ret = FFMIN(ret, c.error);
    if (ret >= 0)
        ret = run(c.argument, nb_frames, progress, opaque);
    if (ret >= 0 && rename(part, output) < 0)
        ret = AVERROR(errno);
    if (ret < 0 && part)
        unlink(part);
    if (ret < 0 && ret != AVERROR_EXIT)
        av_log(NULL, AV_LOG_ERROR, "'%s' could not be made%s\n", output,
               ret == AVERROR_EXTERNAL ? ": see ffmpeg's message above." : ".");
    ffcrf_command_free(&c);
    av_free(part);
    return ret;
}

void ffcrf_command_free(Command *c)
{
    for (int i = 0; i < c->nb; i++)
        av_freep(&c->argument[i]);
    av_freep(&c->argument);
    c->nb = 0;
}
