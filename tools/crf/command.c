// SPDX-License-Identifier: LGPL-2.1-or-later

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libavcodec/avcodec.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"

#include "command.h"
#include "text.h"

// ---- arguments ----

static void add(Command *c, const char *argument)
{
    c->argv = checked(av_realloc_array(c->argv, c->nb + 2, sizeof(*c->argv)));
    c->argv[c->nb++] = text("%s", argument);
    c->argv[c->nb]   = NULL;
}

/// Add an option, of a stream if its specifier is given, and its value.
static void add_option(Command *c, const char *name, const char *stream, const char *value)
{
    add(c, text("-%s%s", name, stream));
    add(c, value);
}

/// Add what stands between spaces.
static void add_split(Command *c, char *words)
{
    for (char *word; (word = av_strtok(words, " ", &words));)
        add(c, word);
}

#define add_words(c, ...) add_split(c, text(__VA_ARGS__))

static void add_dictionary(Command *c, const AVDictionary *options, const char *stream)
{
    const AVDictionaryEntry *e = NULL;

    while ((e = av_dict_iterate(options, e)))
        add_option(c, e->key, stream, e->value);
}

const char *command_text(const Command *c)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%";
    const char *all = "";

    for (int i = 0; i < c->nb; i++) {
        char *word = c->argv[i];

        if ((!*word || word[strspn(word, plain)]) &&
            av_escape(&word, c->argv[i], NULL, AV_ESCAPE_MODE_QUOTE, 0) < 0)
            checked(NULL);
        all = text("%s%s%s", all, i ? " " : "", word);
    }
    return all;
}

const char *command_ffmpeg(void)
{
    char path[PATH_MAX] = "", *folders = text("%s", getenv("PATH") ? getenv("PATH") : ""), *name;
    const char *beside, *found;
    struct stat a, b;

    if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0)
        *strrchr(path, '/') = 0;
    // programs of a package are in libexec, and what starts them is in bin
    if ((name = strrchr(path, '/')) && !strcmp(name, "/libexec"))
        strcpy(name, "/bin");
    beside = text("%s/ffmpeg", path);
    if (!*path || access(beside, X_OK) || stat(beside, &a))
        return "ffmpeg";
    do {
        name  = av_strtok(folders, ":", &folders);
        found = text("%s/ffmpeg", name ? name : "");
    } while (name && access(found, X_OK));
    return name && !stat(found, &b) && a.st_ino == b.st_ino && a.st_dev == b.st_dev ? "ffmpeg"
                                                                                    : beside;
}

// ---- parts of commands ----

/// Filters before the encoder, or before the comparison. All that comes out of them is of one size
/// and format, those of the encoder's first frame.
static const char *filters(const Job *job, int is_reference)
{
    const Options *o = job->o;
    const char *user = is_reference && o->reference ? o->reference : o->filters;
    const char *end  = job->width ? text("scale=%d:%d,format=%s", job->width, job->height,
                                         av_get_pix_fmt_name(is_reference ? job->reference_format
                                                                          : job->format)) :
                       o->pix_fmt ? text("format=%s", o->pix_fmt) : "null";

    return text("%s%s%s%s%s%s", user ? user : "", user ? "," : "",
                o->rate      ? text("fps=%s,", o->rate) : "",
                o->size      ? text("scale=s=%s,", o->size) : "",
                o->nb_frames ? text("trim=end_frame=%d,", o->nb_frames) : "",
                // a command that was printed has it already
                user && strstr(user, end) ? "null" : end);
}

/// The program, and what goes for all of its files.
static Command begin(const Job *job, int is_printed)
{
    const Options *o = job->o;
    Command c = { NULL };

    add(&c, job->ffmpeg);
    add(&c, "-nostdin");
    if (!is_printed)
        add_words(&c, "-y -nostats -v %s", o->loglevel);
    if (o->device)
        add_words(&c, "-init_hw_device %s", o->device);
    if (o->measure.upload && !is_printed)
        add_words(&c, "-init_hw_device cuda=gpu:%d -filter_hw_device gpu", atoi(o->gpu));
    return c;
}

/// A part of what is taken of the source; length 0 is to its end.
static void add_input(Command *c, const Job *job, double start, double length)
{
    const Options *o = job->o;

    start  += o->start / 1e6;
    length  = length ? length : o->length / 1e6;
    if (o->hwaccel)
        add_option(c, "hwaccel", "", o->hwaccel);
    if (start > 0)
        add_words(c, "-ss %.12g", start);
    if (length > 0)
        add_words(c, "-t %.12g", length);
    add_option(c, "i", "", o->input);
}

static void add_encoder(Command *c, const Options *o, double crf, const char *stream)
{
    add_option(c, "c", stream, o->encoder);
    add_option(c, o->crf_option, stream, text("%.6g", crf));
    add_dictionary(c, o->encoder_options, stream);
    add_option(c, "fps_mode", stream, "passthrough");
    add_option(c, "enc_time_base", stream, "filter");
}

/// Print a line for each frame of a stream, or packet. ffmpeg has one buffer for all that it prints
/// to files of one name, without a lock: each kind of line needs another name of standard output.
static void add_lines(Command *c, const char *of, const char *stream, const char *output,
                      const char *line)
{
    add_option(c, text("stats_%s", of), stream, output);
    add_option(c, text("stats_%s_fmt", of), stream, line);
}

/// Filter the source to [a], which is encoded, and [s], which that is compared with.
static void add_source(Command *c, const Job *job)
{
    const Options *o = job->o;
    const int index  = job->in->stream->index;

    add_option(c, "filter_complex", "", o->reference ?
               text("[0:%d]split[x][y];[x]%s%s[a];[y]%s[s]", index, filters(job, 0), o->upload,
                    filters(job, 1)) :
               text("[0:%d]%s,split[x][s];[x]null%s[a]", index, filters(job, 0), o->upload));
}

/// Count what goes into an encoder, and what comes out.
static void add_counts(Command *c, const char *stream)
{
    add_lines(c, "enc_pre", stream, "pipe:1", LINE_FRAME);
    add_lines(c, "mux_pre", stream, "/dev/stdout", LINE_PACKET "{size}");
}

/// Score the frames of that label against [s].
static void add_score(Command *c, const Job *job, const char *encode, int step)
{
    add_option(c, "filter_complex", "", measure_graph(&job->o->measure, encode, step));
    add_words(c, "-map [c] -fps_mode passthrough -enc_time_base filter");
    add_lines(c, "enc_pre", "", "/dev/fd/1", LINE_DECODED);
    add_words(c, "-f null - -map [o] -fps_mode passthrough -enc_time_base filter -f null -");
}

// ---- whole commands ----

Command command_ask(const Job *job, const char *words)
{
    Command c = { NULL };

    add(&c, job->ffmpeg);
    add_words(&c, "-nostdin -v quiet %s", words);
    return c;
}

Command command_first(const Job *job, double crf, int file)
{
    Command c = begin(job, 0);

    add_input(&c, job, 0, 0);
    add_words(&c, "-map 0:%d", job->in->stream->index);
    add_option(&c, "vf", "", text("%s%s", filters(job, 0), job->o->upload));
    add_encoder(&c, job->o, crf, ":v");
    add_words(&c, "-frames:v 1 -f matroska /dev/fd/%d", file);
    return c;
}

Command command_sample(const Job *job, double crf, double start, double duration, int step)
{
    Command c = begin(job, 0);

    add_input(&c, job, start, duration);
    add_source(&c, job);
    add_words(&c, "-map [a]");
    add_encoder(&c, job->o, crf, ":v");
    add_counts(&c, ":v");
    // headers where most files have them
    add_words(&c, "-flags:v +global_header -f null - -dec 0:0");
    add_score(&c, job, "dec:0", step);
    return c;
}

Command command_verify(const Job *job, const Input *encode)
{
    Command c = begin(job, 0);

    add_option(&c, "i", "", job->o->verify);
    add_input(&c, job, 0, 0);
    add_option(&c, "filter_complex", "", text("[1:%d]%s,split[s][d]", job->in->stream->index,
                                              filters(job, 1)));
    add_words(&c, "-map [d] -fps_mode passthrough -enc_time_base filter");
    add_lines(&c, "enc_pre", "", "pipe:1", LINE_FRAME);
    add_words(&c, "-f null -");
    add_score(&c, job, text("0:%d", encode->stream->index), job->o->step);
    return c;
}

// ---- all streams ----

/// What makes a stream one that the output can hold: "copy" or an encoder; NULL if nothing does.
static const char *stream_encoder(const AVOutputFormat *out, const AVStream *st)
{
    const enum AVMediaType type = st->codecpar->codec_type;
    const AVCodecDescriptor *d  = avcodec_descriptor_get(st->codecpar->codec_id);
    const int can = avformat_query_codec(out, st->codecpar->codec_id, FF_COMPLIANCE_NORMAL);

    // a file of any kind may be attached, of which the format tells nothing
    if (!strcmp(out->name, "matroska") && (type == AVMEDIA_TYPE_ATTACHMENT ||
                                           st->disposition & AV_DISPOSITION_ATTACHED_PIC))
        return "copy";
    if (!can && d && d->props & AV_CODEC_PROP_TEXT_SUB && out->subtitle_codec)
        return avcodec_get_name(out->subtitle_codec);
    return can == 1 || can && type <= AVMEDIA_TYPE_AUDIO && type >= 0 ? "copy" : NULL;
}

/// All streams that the output's format takes: as they are, or with [a] in place of the video.
/// @param place set to that of the video. @return its specifier, NULL after a message
static const char *add_streams(Command *c, const Job *job, const char *output, int scores,
                               int warns, int *place)
{
    const AVOutputFormat *out = av_guess_format(NULL, output, NULL);
    const Input *in  = job->in;
    const Options *o = job->o;
    int nb_videos = 0, nb_subtitles = 0, nb = 0, video = 0;
    Command other = { NULL };

    if (!out || !avformat_query_codec(out, job->codec, FF_COMPLIANCE_NORMAL)) {
        fail("'%s' does not name a format that holds %s: let it end with .mkv or .mp4.", output,
             avcodec_get_name(job->codec));
        return NULL;
    }
    if (!scores)
        add_words(c, "-map %s", o->video_only ? text("0:%d", in->stream->index) : "0");
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
                add_words(c, "-map -0:%u", i);
            continue;
        }
        if (is_video) {
            *place = nb;
            video  = nb_videos;
        }
        if (scores) {
            // what comes from a graph has lost what is known of it
            add_option(c, "map", "", is_video ? "[a]" : text("0:%u", i));
            add_words(&other, "-map_metadata:s:%d 0:s:%u", nb, i);
            if (is_video && st->disposition & AV_DISPOSITION_DEFAULT)
                add_words(&other, "-disposition:%d default", nb);
        }
        if (converter && strcmp(converter, "copy"))
            add_words(&other, "-c:s:%d %s", nb_subtitles, converter);
        nb_videos    += type == AVMEDIA_TYPE_VIDEO;
        nb_subtitles += type == AVMEDIA_TYPE_SUBTITLE;
        nb++;
    }
    add_words(c, "-c copy");
    for (int i = 0; i < other.nb; i++)
        add(c, other.argv[i]);
    add_dictionary(c, o->other_options, "");
    return nb_videos > 1 ? text(":v:%d", video) : ":v";
}

int command_whole(Command *c, const Job *job, double crf, const char *output, int scores,
                  int warns)
{
    const Options *o = job->o;
    const char *stream;
    int place;

    *c = begin(job, !scores);
    add_input(c, job, 0, 0);
    if (scores)
        add_source(c, job);
    stream = add_streams(c, job, output, scores, warns, &place);
    if (!stream)
        return -1;
    add_encoder(c, o, crf, stream);
    if (scores)
        add_counts(c, stream);
    else
        add_option(c, "filter", stream, text("%s%s", filters(job, 0), o->upload));
    add(c, text("%s%s", *output == '-' ? "./" : "", output));
    if (scores) {
        add_words(c, "-dec 0:%d", place);
        add_score(c, job, text("dec:0"), o->step);
    }
    return 0;
}
