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
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "ffcrf.h"

/// Add an argument, quoted for a shell if it has to be.
static void add(AVBPrint *text, const char *argument)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%";

    if (text->len)
        av_bprint_chars(text, ' ', 1);
    if (*argument && strspn(argument, plain) == strlen(argument))
        av_bprintf(text, "%s", argument);
    else
        av_bprint_escape(text, argument, NULL, AV_ESCAPE_MODE_QUOTE, 0);
}

/// Add an option, of the stream that is encoded if one is given.
static void add_option(AVBPrint *text, const char *name, const char *stream, const char *value)
{
    char option[128];

    snprintf(option, sizeof(option), "-%s%s", name, stream);
    add(text, option);
    add(text, value);
}

/// The ffmpeg beside this program, by its short name if a shell finds it by that. Programs of a
/// package are in libexec, and what starts them is in bin.
static int add_ffmpeg(AVBPrint *text)
{
    char dir[PATH_MAX], beside[PATH_MAX + 12], found[PATH_MAX], real[PATH_MAX] = "";
    ssize_t size = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
    const char *env = getenv("PATH");
    char *path = av_strdup(env ? env : ""), *rest = path, *part, *name;
    int packaged;

    if (!path)
        return AVERROR(ENOMEM);
    dir[FFMAX(size, 0)] = 0;
    if ((name = strrchr(dir, '/')))
        *name = 0;
    name = strrchr(dir, '/');
    if ((packaged = name && !strcmp(name, "/libexec")))
        *name = 0;
    snprintf(beside, sizeof(beside), "%s%s/ffmpeg", dir, packaged ? "/bin" : "");
    if (access(beside, X_OK) < 0 || !realpath(beside, real))
        *real = 0;
    while ((part = av_strtok(rest, ":", &rest))) {
        snprintf(dir, sizeof(dir), "%s/ffmpeg", part);
        if (access(dir, X_OK) >= 0)
            break;
    }
    add(text, !*real || part && realpath(dir, found) && !strcmp(found, real) ? "ffmpeg" : beside);
    av_free(path);
    return 0;
}

// ---- streams ----

/// What becomes of a stream that is not encoded as the video is.
enum { STREAM_COPY, STREAM_CONVERT, STREAM_DROP, STREAM_ERROR };

/// An encoder for text that a format can hold, NULL if there is none.
static const AVCodec *find_subtitles(const AVOutputFormat *format)
{
    static const enum AVCodecID texts[] = {
        AV_CODEC_ID_SUBRIP, AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_WEBVTT
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(texts); i++) {
        const AVCodec *codec = avcodec_find_encoder(texts[i]);

        if (codec && avformat_query_codec(format, texts[i], FF_COMPLIANCE_NORMAL) == 1)
            return codec;
    }
    return NULL;
}

static int needs_downmix(const Options *o, const AVStream *st)
{
    return o->downmix && st->codecpar->ch_layout.nb_channels > 3;
}

/// What encodes a stream of audio, NULL if it is copied.
static const AVCodec *find_audio(const Options *o, const AVOutputFormat *format, const AVStream *st)
{
    static const char *const names[] = { "libopus", "aac" };

    if (o->audio_codec)
        return avcodec_find_encoder_by_name(o->audio_codec);
    for (int i = 0; needs_downmix(o, st) && i < FF_ARRAY_ELEMS(names); i++) {
        const AVCodec *codec = avcodec_find_encoder_by_name(names[i]);

        if (codec && avformat_query_codec(format, codec->id, FF_COMPLIANCE_NORMAL))
            return codec;
    }
    return NULL;
}

/// @param converter set to what encodes it, NULL if nothing does
static int judge_stream(const Options *o, const AVOutputFormat *format, const AVStream *st,
                        const AVCodec **converter)
{
    const enum AVCodecID id = st->codecpar->codec_id;
    const AVCodecDescriptor *desc = avcodec_descriptor_get(id);
    const int can = avformat_query_codec(format, id, FF_COMPLIANCE_NORMAL);

    *converter = NULL;
    // a file of any kind may be attached, of which it tells nothing
    if (!strcmp(format->name, "matroska") && (st->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT ||
                                              st->disposition & AV_DISPOSITION_ATTACHED_PIC))
        return STREAM_COPY;
    switch (st->codecpar->codec_type) {
    case AVMEDIA_TYPE_AUDIO:
        *converter = find_audio(o, format, st);
        if (*converter)
            return avformat_query_codec(format, (*converter)->id, FF_COMPLIANCE_NORMAL) ?
                   STREAM_CONVERT : STREAM_ERROR;
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

/// How a stream that is one of that number of its type is converted.
static void add_conversion(AVBPrint *text, const Options *o, const AVStream *st, int number,
                           const AVCodec *codec)
{
    const int is_audio = st->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    char stream[16];

    snprintf(stream, sizeof(stream), ":%c:%d", is_audio ? 'a' : 's', number);
    add_option(text, "c", stream, codec->name);
    if (is_audio && o->audio_rate)
        add_option(text, "b", stream, o->audio_rate);
    if (is_audio && needs_downmix(o, st))
        add_option(text, "ac", stream, "2");
}

/// All streams that the output's format takes; encoded is what the one that is encoded is called.
static int add_streams(AVBPrint *text, const Options *o, const Source *input, const char *output,
                       int is_quiet, char encoded[16])
{
    const AVOutputFormat *out = av_guess_format(NULL, output, NULL);
    int nb[AVMEDIA_TYPE_NB]   = { 0 }, place = 0, ret = 0;
    AVBPrint conversions;
    char map[16];

    if (!out || out->video_codec == AV_CODEC_ID_NONE)
        return usage("The name '%s' does not tell a video format: let it end with .mkv or .mp4.\n",
                     output);
    if (!avformat_query_codec(out, o->encoder->id, FF_COMPLIANCE_NORMAL))
        return usage("'%s' cannot hold %s, which %s makes: let the name end with .mkv or .mp4.\n",
                     output, avcodec_get_name(o->encoder->id), o->encoder->name);
    snprintf(encoded, 16, ":v");
    snprintf(map, sizeof(map), o->video_only ? "0:%d" : "0", input->stream->index);
    add_option(text, "map", "", map);
    if (o->video_only)
        return 0;
    av_bprint_init(&conversions, 0, AV_BPRINT_SIZE_UNLIMITED);
    for (unsigned i = 0; ret >= 0 && i < input->format->nb_streams; i++) {
        const AVStream *st = input->format->streams[i];
        const enum AVMediaType type = st->codecpar->codec_type;
        const char *type_name = av_get_media_type_string(type);
        const AVCodec *converter = NULL;
        const int fate = st == input->stream ? STREAM_COPY : judge_stream(o, out, st, &converter);

        if (fate == STREAM_ERROR) {
            ret = usage("'%s' cannot hold %s, which stream %u of '%s' %s: let the name end with "
                        ".mkv, or choose by -c:a what audio is encoded by.\n", output,
                        avcodec_get_name(converter ? converter->id : st->codecpar->codec_id), i,
                        o->input, converter ? "would be" : "is");
        } else if (fate == STREAM_DROP) {
            av_log(NULL, is_quiet ? AV_LOG_DEBUG : AV_LOG_WARNING,
                   "Stream %u (%s, %s) is left out: '%s' cannot hold it.\n", i,
                   type_name ? type_name : "unknown",
                   avcodec_get_name(st->codecpar->codec_id), output);
            snprintf(map, sizeof(map), "-0:%u", i);
            add_option(text, "map", "", map);
        } else if (type >= 0) {
            if (st == input->stream)
                place = nb[type];
            if (fate == STREAM_CONVERT)
                add_conversion(&conversions, o, st, nb[type], converter);
            nb[type]++;
        }
    }
    add_option(text, "c", "", "copy");
    av_bprintf(text, "%s%s", conversions.len ? " " : "", conversions.str);
    av_bprint_finalize(&conversions, NULL);
    if (nb[AVMEDIA_TYPE_VIDEO] > 1)
        snprintf(encoded, 16, ":v:%d", place);
    return ret;
}

// ---- the command ----

/// The name of a device's type, NULL if there is none.
static const char *type_name(const AVBufferRef *device)
{
    return device ? av_hwdevice_get_type_name(((AVHWDeviceContext *)device->data)->type) : NULL;
}

/// Which part of the input is taken.
static void add_part(AVBPrint *text, const Options *o)
{
    const int64_t time[2] = { o->start, o->length };
    char value[32];

    for (int i = 0; i < 2; i++)
        if (time[i]) {
            snprintf(value, sizeof(value), "%.12g", time[i] / 1e6);
            add_option(text, i ? "t" : "ss", "", value);
        }
}

/// Filters and pixel format before the encoder.
static void add_filters(AVBPrint *text, const Options *o, const char *stream)
{
    AVBPrint filters;

    av_bprint_init(&filters, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&filters, "%s", o->filters ? o->filters : "");
    if (o->encode_device)
        av_bprintf(&filters, "%sformat=%s,hwupload", filters.len ? "," : "", upload_formats(o));
    else if (o->pix_fmt)
        add_option(text, "pix_fmt", stream, o->pix_fmt);
    if (filters.len)
        add_option(text, "filter", stream, filters.str);
    av_bprint_finalize(&filters, NULL);
}

static void add_input(AVBPrint *text, const Options *o, const Source *input)
{
    const AVCodecParameters *par = input->stream->codecpar;
    const char *const hwaccel    = type_name(o->decode_device);
    const char *const uploads    = type_name(o->encode_device);

    if (uploads)
        add_option(text, "init_hw_device", "", uploads);
    if (hwaccel)
        add_option(text, "hwaccel", "", hwaccel);
    if (!input->seeks_late)
        add_part(text, o);
    if (av_packet_side_data_get(par->coded_side_data, par->nb_coded_side_data,
                                AV_PKT_DATA_DISPLAYMATRIX))
        add(text, "-noautorotate");
    add_option(text, "i", "", o->input);
    if (input->seeks_late)
        add_part(text, o);
}

int command_make(char **command, const Options *o, const Source *input, double crf,
                 const char *output, int is_quiet, const char *progress_options)
{
    const AVDictionaryEntry *e = NULL;
    AVDictionary *options = NULL;
    AVBPrint text;
    char stream[16], name[PATH_MAX + 2];
    int ret;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    ret = add_ffmpeg(&text);
    av_bprintf(&text, "%s -nostdin", progress_options);
    add_input(&text, o, input);
    if (ret >= 0)
        ret = add_streams(&text, o, input, output, is_quiet, stream);
    if (ret >= 0) {
        add_option(&text, "c", stream, o->encoder->name);
        ret = encoder_options(o, crf, &options);
        while (ret >= 0 && (e = av_dict_iterate(options, e)))
            add_option(&text, e->key, stream, e->value);
        av_dict_free(&options);
        add_filters(&text, o, stream);
        add_option(&text, "fps_mode", stream, "passthrough");
        add_option(&text, "enc_time_base", stream, "filter");
        snprintf(name, sizeof(name), "%s%s", *output == '-' ? "./" : "", output);
        add(&text, name);
    }
    if (ret >= 0 && !av_bprint_is_complete(&text))
        ret = AVERROR(ENOMEM);
    return FFMIN(ret, av_bprint_finalize(&text, command));
}

/// Take the lines that -progress writes until it ends, which a signal asks it to.
static void follow(FILE *f, pid_t child, int nb_frames)
{
    char line[256];
    int asked = 0;

    for (;;) {
        const int got = !!fgets(line, sizeof(line), f);

        if (caught_signal && !asked) {
            kill(child, caught_signal);
            asked = 1;
        }
        if (!got && !(ferror(f) && errno == EINTR))
            break;
        clearerr(f);
        if (got && !strncmp(line, "frame=", 6))
            progress("encoding", atoi(line + 6), nb_frames, atof(line + 6) / FFMAX(nb_frames, 1));
    }
}

/// Run a command by the shell.
static int run(const char *command, int nb_frames)
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
        execl("/bin/sh", "sh", "-c", command, NULL);
        _exit(127);
    }
    close(fd[1]);
    f = fdopen(fd[0], "r");
    if (child > 0 && f)
        follow(f, child, nb_frames);
    if (f)
        fclose(f);
    else
        close(fd[0]);
    if (child < 0)
        return AVERROR(EAGAIN);
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return AVERROR(errno);
    if (caught_signal)
        return AVERROR_EXIT;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        tell("Put the ffmpeg that ffcrf was built with into PATH.\n");
    return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : AVERROR_EXTERNAL;
}

int command_run(const Options *o, const Source *input, double crf, int nb_frames)
{
    char *part = output_part(o->encode), *text = NULL, *command = NULL;
    int ret = AVERROR(ENOMEM);

    if (part)
        ret = command_make(&text, o, input, crf, part, 1, " -v error -nostats -progress - -y");
    if (ret >= 0) {
        command = av_asprintf("exec %s", text);
        ret     = command ? run(command, nb_frames) : AVERROR(ENOMEM);
    }
    if (ret >= 0 && rename(part, o->encode) < 0)
        ret = AVERROR(errno);
    if (ret < 0 && part)
        unlink(part);
    if (ret < 0 && ret != AVERROR_EXIT)
        fail(ret, "'%s' could not be made%s\n", o->encode, ret == AVERROR_EXTERNAL ?
             ": see ffmpeg's message above." : ".");
    av_free(text);
    av_free(command);
    av_free(part);
    return ret;
}
