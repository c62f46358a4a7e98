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

#define _GNU_SOURCE         // for open_memstream()

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "libavcodec/avcodec.h"
#include "libavutil/md5.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"
#include "libavutil/time.h"

#include "parts.h"

// ---- input ----

static int input_open(Input *in, const char *path)
{
    int ret;

    *in = (Input){ 0 };
    if ((ret = avformat_open_input(&in->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(in->format, NULL)) < 0 ||
        (ret = av_find_best_stream(in->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0)) < 0)
        return fail("Cannot read video of '%s': %s.", path, av_err2str(ret));
    in->stream = in->format->streams[ret];
    return !(in->stream->disposition & AV_DISPOSITION_ATTACHED_PIC) ? 0 :
           fail("'%s' has no video but a picture.", path);
}

/// Read all packets of a part, of which length 0 is to the end, and warn of what is cut off.
/// @param nb_frames use no more than so many frames, if it is not 0
static int input_scan(Input *in, double start, double length, int nb_frames)
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
        const struct Unit u = { begin - start, p->size };

        end = FFMAX(end, begin + p->duration * unit);
        if (st != in->stream)
            continue;
        last = begin + p->duration * unit;
        if (u.time < 0 || length && u.time >= length || nb_frames && in->nb_units == nb_frames)
            continue;
        checked(av_dynarray2_add((void **)&in->unit, &in->nb_units, sizeof(u), (uint8_t *)&u));
        in->bytes  += u.size;
        in->seconds = FFMAX(in->seconds, last - start);
    }
    av_packet_free(&p);
    if (!in->nb_units)
        return fail("'%s' has no frames%s.", format->url, start || length ? " in that part" : "");
    // other durations are estimates, and this one may be a little longer than all streams
    if (format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM && stated - end > 0.5)
        tell("'%s' is cut off: %.2f s are missing at its end. What is there is used.\n",
             format->url, stated - end);
    return 0;
}

// ---- scores ----

static void score_add(Result *r, double score)
{
    checked(av_dynarray2_add((void **)&r->score, &r->nb_scores, sizeof(score), (uint8_t *)&score));
}

double score_mean(const Metric *m, const Result *r)
{
    double sum = 0;

    for (int i = 0; i < r->nb_scores; i++)
        sum += m->scale.is_in_decibels ? pow(10, -r->score[i] / 20) : r->score[i];
    sum /= r->nb_scores;
    return m->scale.is_in_decibels ? -20 * log10(sum) : sum;
}

static int compare_doubles(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const double *)a, *(const double *)b);
}

double score_pool(const Metric *m, const char *pool, const Result *sample, int nb)
{
    // a percentile is the value that so many of all are worse than; linear between ranks
    const double part = atoi(pool + 1) / 100.;
    double worst = m->scale.best, place;
    Result all   = { 0 };
    int rank;

    for (int i = 0; i < nb; i++) {
        const double mean = score_mean(m, &sample[i]);

        worst = reaches(&m->scale, worst, mean) ? mean : worst;
        for (int j = 0; j < sample[i].nb_scores; j++)
            score_add(&all, sample[i].score[j]);
    }
    if (*pool == 'w')
        return worst;
    if (*pool == 'm' || all.nb_scores == 1)
        return score_mean(m, &all);
    qsort(all.score, all.nb_scores, sizeof(*all.score), compare_doubles);
    place = (m->scale.higher_is_better ? part : 1 - part) * (all.nb_scores - 1);
    rank  = FFMIN(place, all.nb_scores - 2);
    return all.score[rank] + (all.score[rank + 1] - all.score[rank]) * (place - rank);
}

// ---- what ffmpeg prints ----

/// For each frame that is encoded, packet and decoded frame, beside the scores; and at the end of
/// what is kept.
#define LINE_FRAME   "frame"
#define LINE_PACKET  "packet "
#define LINE_DECODED "decoded"
#define LINE_SECONDS "seconds "

typedef struct Lines {
    const char **answer;        ///< gets all of them, if it is not NULL
    const Metric *metric;
    int expected;               ///< frames
    FILE *kept;                 ///< those that are known go there, or NULL
    int nb_frames, nb_packets, nb_decoded;
    int64_t bytes;
    double seconds;
    Result planes[128];         ///< by the letter of a plane; the first is of all
} Lines;

static void take_line(Lines *l, const char *line)
{
    const char *value;

    if (l->answer) {
        *l->answer = text("%s%s", *l->answer, line);
        return;
    }
    if (!strcmp(line, LINE_FRAME "\n")) {
        l->nb_frames++;
    } else if (av_strstart(line, LINE_PACKET, &value)) {
        l->nb_packets++;
        l->bytes += atoll(value);
    } else if (!strcmp(line, LINE_DECODED "\n")) {
        progress_show(++l->nb_decoded, l->expected);
    } else if (av_strstart(line, LINE_SECONDS, &value)) {
        l->seconds = strchr(value, '\n') ? atof(value) : 0;
    } else if (av_strstart(line, l->metric->key, &value)) {
        const int plane = value[1] == '=' ? *value & 127 : 0;

        // decibels are infinite where planes are equal
        score_add(&l->planes[plane], FFMIN(strtod(value + (plane ? 2 : 0), NULL),
                                           l->metric->scale.is_in_decibels ? 100 : INFINITY));
    } else {
        return;
    }
    if (l->kept)
        fputs(line, l->kept);
}

static void take_lines(Lines *l, FILE *f)
{
    char line[1024];

    while (fgets(line, sizeof(line), f))
        take_line(l, line);
    progress_end();
    fclose(f);
}

// ---- processes ----

volatile sig_atomic_t caught_signal;

static volatile pid_t child;

static void handle_signal(int number)
{
    caught_signal = number;
    if (child > 0)
        kill(child, SIGKILL);       // what it was making is of no use
}

/// The first line that the last command wrote to standard error, or "".
static const char *first_error;

/// Run a command of a shell. When it has ended, what it wrote to standard error is printed.
/// @return the exit status, or -1 after a message
static int run(const char *command, Lines *l)
{
    const pid_t parent = getpid();
    FILE *errors = tmpfile();
    char line[1024];
    int fd[2], status = 0;

    first_error = "";
    if (!errors || pipe(fd) < 0 || (child = fork()) < 0)
        return fail("No program can be started: %s.", strerror(errno));
    if (!child) {
#ifdef __linux__
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        dup2(fileno(errors), STDERR_FILENO);
        dup2(fd[1], STDOUT_FILENO);
        if (getppid() == parent)
            execl("/bin/sh", "sh", "-c", text("exec %s", command), NULL);
        _exit(127);
    }
    if (caught_signal)              // before its number was known
        kill(child, SIGKILL);
    close(fd[1]);
    take_lines(l, checked(fdopen(fd[0], "r")));
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    child = 0;
    rewind(errors);                 // the program has written with the same position
    while (!caught_signal && fgets(line, sizeof(line), errors)) {
        tell("%s", line);
        if (!*first_error)
            first_error = text("%.*s", (int)strcspn(line, "\n"), line);
    }
    fclose(errors);
    if (caught_signal)
        return -1;
    return WIFSIGNALED(status) ? fail("ffmpeg was ended by signal %d.", WTERMSIG(status))
                               : WEXITSTATUS(status);
}

/// Run a command that does what was asked for.
static int run_job(const Job *j, const char *command, Lines *l)
{
    int ret;

    if (!strcmp(j->loglevel, "verbose"))
        tell("%s\n", command);
    ret = run(command, l);
    return ret <= 0 ? ret : fail("ffmpeg failed: %s", first_error);
}

/// Quote a word for a shell.
static const char *word(const char *string)
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

/// Ask for what ffmpeg prints with these options. @return its exit status, or -1
static int ffmpeg_ask(const Job *j, const char *options, const char **answer)
{
    *answer = "";
    return run(text("%s -nostdin -v quiet %s", word(j->ffmpeg), options), &(Lines){ answer });
}

int encode_init(Job *j)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };
    char path[PATH_MAX] = "";
    const char *beside, *help;

    if (input_open(&j->in, j->input) < 0 ||
        input_scan(&j->in, j->start / 1e6, j->length / 1e6, j->nb_frames) < 0)
        return -1;
    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (readlink("/proc/self/exe", path, sizeof(path) - 1) > 0)
        *strrchr(path, '/') = 0;
    beside = text("%s/ffmpeg", path);
    // the one that a user starts by its name needs no path
    j->ffmpeg = system(text("test -x %s && ! test \"$(command -v ffmpeg)\" -ef %s", word(beside),
                            word(beside))) ? "ffmpeg" : beside;
    if (ffmpeg_ask(j, text("-h filter=%s", j->metric->name), &help) < 0)
        return -1;
    if (av_strstart(help, "Unknown filter", NULL))
        return fail("This ffmpeg has no filter '%s': use --target-ssim or --target-xpsnr, or an "
                    "ffmpeg that has it.", j->metric->name);
    return ffmpeg_ask(j, "-version", &j->ffmpeg_version);
}

// ---- the cache: files that are named by the hash of all that the result depends on ----

/// It is made before it is used; NULL if it cannot be.
static const char *cache_folder = "";

/// The name of an entry in the folder, which is made; NULL if there is none.
static const char *cache_entry(const Job *j, const char *command)
{
    uint64_t units[2], digest[2];
    const char *key;

    if (!j->cache || !cache_folder)
        return NULL;
    if (!*cache_folder && run("sh -c 'd=${FFCRF_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ffcrf} && "
                        "mkdir -p \"$d\" && printf %s/ \"$d\"'", &(Lines){ &cache_folder })) {
        tell("Nothing is kept. Set FFCRF_CACHE to a folder.\n");
        return cache_folder = NULL;
    }
    // files with other contents have packets of other sizes
    av_md5_sum((uint8_t *)units, (uint8_t *)j->in.unit, j->in.nb_units * sizeof(*j->in.unit));
    key = text("7 %s %s %"PRIx64" %"PRIx64, j->ffmpeg_version, command, units[0], units[1]);
    av_md5_sum((uint8_t *)digest, key, strlen(key));
    return text("%s%016"PRIx64"%016"PRIx64, cache_folder, digest[0], digest[1]);
}

static void cache_put(const char *path, const char *lines)
{
    const char *temporary = text("%s.%d.tmp", path, getpid());
    FILE *f = fopen(temporary, "w");
    int ret = f ? fputs(lines, f) : -1;

    // it gets its name when it is complete
    if (f && fclose(f) || ret < 0 || rename(temporary, path) < 0) {
        tell("The cache '%s' cannot be written: %s. The search goes on, and what it finds is not "
             "kept.\n", path, strerror(errno));
        unlink(temporary);
        cache_folder = NULL;
    }
}

/// Score, unless the result was kept. It fails if a frame got lost, or may have met another one.
/// @return 1 if it was kept
static int measure(const Job *j, const char *command, int is_sample, int nb_frames, int step,
                   Result *r)
{
    const Metric *m     = j->metric;
    const int64_t begin = av_gettime_relative();
    const char *entry   = is_sample ? cache_entry(j, command) : NULL;
    FILE *f             = entry ? fopen(entry, "r") : NULL;
    Lines l             = { .metric = m, .expected = nb_frames };
    char *kept;
    size_t size;
    int least, most, is_kept;

    if (f)
        take_lines(&l, f);
    is_kept = l.seconds > 0;
    if (!is_kept) {
        l = (Lines){ .metric = m, .expected = nb_frames };
        l.kept = checked(open_memstream(&kept, &size));
        if (run_job(j, command, &l) < 0)
            return -1;
        l.seconds = (av_gettime_relative() - begin) / 1e6;
        fprintf(l.kept, LINE_SECONDS "%f\n", l.seconds);
        fclose(l.kept);
    }
    *r = l.planes[0];
    // the plane that is worst over all frames, as xpsnr's own summary has it
    for (int i = 0; i < FF_ARRAY_ELEMS(l.planes); i++)
        if (l.planes[i].nb_scores && (!r->nb_scores ||
            reaches(&m->scale, score_mean(m, r), score_mean(m, &l.planes[i]))))
            *r = l.planes[i];
    r->seconds   = l.seconds;
    r->bytes     = l.bytes;
    r->nb_frames = l.nb_decoded;
    most         = (l.nb_decoded + step - 1) / step;
    least        = l.nb_decoded / step;     // what is shorter than a step may have none
    if (l.nb_frames != l.nb_decoded || l.nb_packets && l.nb_packets != l.nb_frames)
        return fail("The encode has %d frames, of %d packets, and what it is compared with has %d "
                    "frames: without pairs there is no score. %s", l.nb_decoded, l.nb_packets,
                    l.nb_frames, j->verify ? "Give the part, -vf and -r that it was made with."
                                           : "Leave out what drops or adds frames.");
    if (r->nb_scores < FFMAX(least, 1) || r->nb_scores > most)
        return fail("Of %d frames %d were scored, and not %d.", l.nb_decoded, r->nb_scores, most);
    if (!isfinite(score_mean(m, r)))
        return fail("%s has no score for these pictures: take another metric.", m->name);
    if (entry && !is_kept)
        cache_put(entry, kept);
    return is_kept;
}

// ---- parts of commands ----

#define PASS " -fps_mode passthrough -enc_time_base filter"

/// An option, of a stream if its specifier is given.
static const char *option(const char *name, const char *stream, const char *value)
{
    return text(" %s %s", word(text("-%s%s", name, stream)), word(value));
}

static const char *all_options(const AVDictionary *options, const char *stream)
{
    const AVDictionaryEntry *e = NULL;
    const char *all = "";

    while ((e = av_dict_iterate(options, e)))
        all = text("%s%s", all, option_takes_value(e->key) ? option(e->key, stream, e->value) :
                                text(" -%s", e->key));
    return all;
}

/// Filters before the encoder, or before the comparison. All that comes out of them is of one size
/// and format, those of the encoder's first frame.
static const char *filters(const Job *j, int is_reference)
{
    const AVCodecParameters *p = j->coded;
    const char *user = is_reference && j->reference ? j->reference : j->filters;
    const char *end  = p ? text("scale=%d:%d,format=%s%s", p->width, p->height,
                                av_get_pix_fmt_name(p->format),
                                is_reference && j->is_mixed ? "10" : "") :
                       j->pix_fmt ? text("format=%s", j->pix_fmt) : "null";

    return text("%s%s%s%s%s%s", user ? user : "", user ? "," : "",
                j->rate      ? text("fps=%s,", j->rate) : "",
                j->size      ? text("scale=s=%s,", j->size) : "",
                j->nb_frames ? text("trim=end_frame=%d,", j->nb_frames) : "",
                // a command that was printed has it already
                user && strstr(user, end) ? "null" : end);
}

/// The program, and what goes for all of its files.
static const char *begin(const Job *j, int is_printed)
{
    return text("%s -nostdin%s%s%s", word(j->ffmpeg),
                is_printed ? "" : text(" -y -nostats%s", option("v", "", j->loglevel)),
                *j->upload ? " -init_hw_device vaapi" : "",
                is_printed || !j->gpu_format ? "" :
                text(" -init_hw_device cuda=gpu:%d -filter_hw_device gpu", atoi(j->gpu)));
}

/// A part of what is taken of the source; length 0 is to its end.
static const char *input(const Job *j, double start, double length)
{
    start  += j->start / 1e6;
    length  = length ? length : j->length / 1e6;
    return text("%s%s%s%s", j->hwaccel ? option("hwaccel", "", j->hwaccel) : "",
                start  > 0 ? text(" -ss %.12g", start) : "",
                length > 0 ? text(" -t %.12g", length) : "", option("i", "", j->input));
}

static const char *encoder(const Job *j, double crf, const char *stream)
{
    return text("%s%s%s -fps_mode%s passthrough -enc_time_base%s filter",
                option("c", stream, j->encoder), option(j->crf_option, stream, text("%.6g", crf)),
                all_options(j->encoder_options, stream), stream, stream);
}

/// Pair the frames of [encode] with those of [s] by number, and print the scores of one of each
/// step frames: the encode's frames go to [c], compared ones to [o].
static const char *score(const Job *j, const char *encode, int step)
{
    const Metric *m     = j->metric;
    const char *options = "", *graph;
    const int is_vmaf   = !strcmp(m->name, "vmaf");
    const char *model   = !strcmp(j->model, "4k")    ? "vmaf_v1.0.16_1d5h_2160" :
                          !strcmp(j->model, "phone") ? "vmaf_v1.0.16_5d0h" : j->model;
    // which one of each step changes: encoders repeat their types of frames with a period
    const char *rest    = step < 2 || is_vmaf ? options_vmaf_scale(j) :
        text(",select='eq(mod(n,%d),floor(%d*mod(floor(n/%d)*0.618034,1)))'", step, step, step);

    if (j->gpu_format)
        rest = text("%s,format=%s,hwupload", rest, j->gpu_format);
    // its motion is that to the frame before, so it takes all of them; it knows which v1 is meant
    if (is_vmaf)
        options = text(":n_subsample=%d%s%s", step, j->is_mixed ? ":bitdepth=10" : "",
                       strcmp(model, "v1") ? text(":model=version=%s", model) : "");
    // with shortest=1, ffmpeg loses the last frame of a filter that waits for the next one
    graph = text("[%s]settb=1/25,setpts=N,split[c][x];[x]null%s[e];[s]settb=1/25,setpts=N%s[r];"
                 "%s%s%s=eof_action=pass%s,metadata=print:file=/dev/stdout:direct=1[o]",
                 encode, rest, rest, m->scale.is_in_decibels ? "[r][e]" : "[e][r]", m->name,
                 j->gpu_format ? "_cuda" : "", options);
    return text("%s -map '[c]'" PASS " -stats_enc_pre /dev/fd/1 -stats_enc_pre_fmt " LINE_DECODED
                " -f null - -map '[o]'" PASS " -f null -",
                option("filter_complex", "", graph));
}

// ---- commands ----

/// Score on a GPU only if one can. @return 0, or -1 if the one that was asked for cannot
static int check_gpu(Job *j)
{
    const char *const gpu = j->gpu, *metric = j->metric->name, *format = NULL, *ignored;

    if (!strcmp(gpu, "off"))
        return 0;
    if (j->coded->format == AV_PIX_FMT_YUV420P || j->coded->format == AV_PIX_FMT_YUVJ420P)
        format = "nv12";
    else if (j->coded->format == AV_PIX_FMT_YUV420P10)
        format = "p010";
    if (format && !*j->upload && !j->is_mixed &&
        !ffmpeg_ask(j, text("-v %s -init_hw_device cuda=gpu:%d -filter_hw_device gpu -f lavfi "
                               "-i color=s=320x320:d=0.04 -vf format=%s,hwupload,split,%s_cuda "
                               "-f null -", *gpu ? "error" : "quiet", atoi(gpu), format, metric),
                    &ignored))
        j->gpu_format = format;
    if (j->gpu_format || !*gpu)
        return 0;
    if (strcmp(gpu, "auto"))
        return fail("--gpu %s: it cannot score %s of this format, see -pix_fmt.", gpu, metric);
    tell("Scoring on the CPU: no GPU can score %s of this format.\n", metric);
    return 0;
}

static int find_encoder(Job *j)
{
    static const char *const defaults[] = { "libsvtav1", "libx265", "libx264" };
    const int nb     = j->encoder ? 1 : FF_ARRAY_ELEMS(defaults);
    const char *help = "";
    const AVDictionaryEntry *e = NULL;

    for (int i = 0; i < nb && !strstr(help, "-crf "); i++) {
        j->encoder = nb == 1 ? j->encoder : defaults[i];
        if (ffmpeg_ask(j, text("-h encoder=%s", word(j->encoder)), &help) < 0)
            return -1;
    }
    if (options_take_encoder(j, help) < 0)
        return -1;
    while ((e = av_dict_get(j->other_options, "c:", e, AV_DICT_IGNORE_SUFFIX)))
        if (strcmp(e->value, "copy") &&
            (ffmpeg_ask(j, text("-h encoder=%s", word(e->value)), &help) < 0 ||
             av_strstart(help, NO_ENCODER, NULL)))
            return fail("This ffmpeg has no encoder '%s' for -%s: `ffmpeg -encoders` lists those "
                        "it has.", e->value, e->key);
    return 0;
}

int encode_first(Job *j, const char *output)
{
    FILE *f        = tmpfile();
    const char *to = output ? output : text("/dev/fd/%d", f ? fileno(f) : -1);
    Input first;
    int ret;

    if (find_encoder(j) < 0)
        return -1;
    ret = run_job(j, text("%s%s -map 0:%d%s%s -frames:v 1%s %s", begin(j, 0), input(j, 0, 0),
                          j->in.stream->index,
                          option("vf", "", text("%s%s", filters(j, 0), j->upload)),
                          encoder(j, j->plan.min_crf, ":v"),
                          output ? all_options(j->other_options, "") : " -f matroska",
                          word(to)), &(Lines){ .metric = j->metric });
    ret = ret < 0 ? ret : input_open(&first, to);
    if (output)
        unlink(output);
    if (ret < 0)
        return ret;
    j->coded = first.stream->codecpar;
    if (j->coded->format < 0)
        return fail("The pixel format of %s is not known.", j->encoder);
    return check_gpu(j);
}

int encode_verify(Job *j, Result *r)
{
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(j->in.stream->codecpar->format), *to;
    const char *graph, *score_of;
    Input encode;

    if (input_open(&encode, j->verify) < 0 || input_scan(&encode, 0, 0, 0) < 0)
        return -1;
    j->coded = encode.stream->codecpar;
    to       = av_pix_fmt_desc_get(j->coded->format);
    // vmaf compares 8 bits with the 10 that they were made of, and need not round these
    j->is_mixed = !strcmp(j->metric->name, "vmaf") && from && from->comp[0].depth > 8 &&
                  to && av_get_pix_fmt(text("%s10", to->name)) != AV_PIX_FMT_NONE;
    if (check_gpu(j) < 0)
        return -1;
    graph    = text("[1:%d]%s,split[s][d]", j->in.stream->index, filters(j, 1));
    score_of = score(j, text("0:%d", encode.stream->index), j->step);
    if (measure(j, text("%s%s%s%s -map '[d]'" PASS " -stats_enc_pre pipe:1 -stats_enc_pre_fmt "
                        LINE_FRAME " -f null -%s", begin(j, 0), option("i", "", j->verify),
                        input(j, 0, 0), option("filter_complex", "", graph), score_of),
                0, encode.nb_units, j->step, r) < 0)
        return -1;
    r->bytes = encode.bytes;
    return 0;
}

// ---- all streams ----

/// Of the output: what maps the streams, as it is printed and with [a] for the video.
static struct {
    const char *printed, *scored;
    const char *stream;         ///< specifier of the video
    int place;                  ///< of the video
} whole;

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
    if (can == 1 || can && (type == AVMEDIA_TYPE_VIDEO || type == AVMEDIA_TYPE_AUDIO) ||
        !strcmp(out->name, "matroska") && (type == AVMEDIA_TYPE_ATTACHMENT ||
                                           st->disposition & AV_DISPOSITION_ATTACHED_PIC))
        return "copy";
    for (int i = 0; i < FF_ARRAY_ELEMS(texts); i++)
        if (d && d->props & AV_CODEC_PROP_TEXT_SUB &&
            avformat_query_codec(out, texts[i], FF_COMPLIANCE_NORMAL) == 1)
            return avcodec_get_name(texts[i]);
    return NULL;
}

int encode_prepare(const Job *j, const char *output)
{
    const AVDictionaryEntry *f = av_dict_get(j->other_options, "f", NULL, 0);
    const AVOutputFormat *out = av_guess_format(f ? f->value : NULL, output, NULL);
    const int has_audio = !!av_dict_get(j->other_options, "c:a", NULL, AV_DICT_IGNORE_SUFFIX);
    const char *printed = j->video_only ? text(" -map 0:%d", j->in.stream->index) : " -map 0";
    const char *scored  = "", *data = "", *coders = " -c copy";
    int nb_videos = 0, video = 0, nb = 0;

    for (unsigned i = 0; i < j->in.format->nb_streams; i++) {
        const AVStream *st = j->in.format->streams[i];
        const int type     = st->codecpar->codec_type, is_video = st == j->in.stream;
        const char *name   = avcodec_get_name(st->codecpar->codec_id), *coder;

        if (!is_video && (j->video_only ||
            type == AVMEDIA_TYPE_AUDIO    && av_dict_get(j->other_options, "an", NULL, 0) ||
            type == AVMEDIA_TYPE_SUBTITLE && av_dict_get(j->other_options, "sn", NULL, 0) ||
            type == AVMEDIA_TYPE_DATA     && av_dict_get(j->other_options, "dn", NULL, 0)))
            continue;
        coder = is_video || type == AVMEDIA_TYPE_AUDIO && has_audio ? "copy" :
                stream_encoder(out, st);
        if (!coder && type == AVMEDIA_TYPE_AUDIO)
            return fail("'%s' cannot hold %s, which stream %u is: let the name end with .mkv, or "
                        "choose an encoder by -c:a.", output, name, i);
        if (!coder) {
            tell("Stream %u (%s) is left out: '%s' cannot hold it.\n", i, name, output);
            printed = text("%s -map -0:%u", printed, i);
            continue;
        }
        scored = text("%s -map %s", scored, is_video ? "'[a]'" : text("0:%u", i));
        // what comes from a graph has lost what is known of it
        data   = text("%s -map_metadata:s:%d 0:s:%u", data, nb, i);
        if (is_video) {
            whole.place = nb;
            video       = nb_videos;
            if (st->disposition & AV_DISPOSITION_DEFAULT)
                data = text("%s -disposition:%d default", data, nb);
        }
        if (strcmp(coder, "copy"))
            coders = text("%s -c:%d %s", coders, nb, coder);
        nb_videos += type == AVMEDIA_TYPE_VIDEO;
        nb++;
    }
    whole.stream  = nb_videos > 1 ? text(":v:%d", video) : ":v";
    coders        = text("%s%s%s", coders, options_of_container(j, out, whole.stream),
                         all_options(j->other_options, ""));
    whole.printed = text("%s%s", printed, coders);
    whole.scored  = text("%s%s%s", scored, data, coders);
    return 0;
}

const char *encode_command(const Job *j, double crf, const char *output)
{
    return text("%s%s%s%s%s %s", begin(j, 1), input(j, 0, 0), whole.printed,
                encoder(j, crf, whole.stream),
                option("filter", whole.stream, text("%s%s", filters(j, 0), j->upload)),
                word(output));
}

int encode_part(const Job *j, double crf, const Sample *sample, const char *output, Result *r)
{
    const int index   = j->in.stream->index;
    const char *maps  = output ? whole.scored : " -map '[a]'", *v = output ? whole.stream : ":v";
    // headers where most files have them
    const char *to    = output ? word(output) : "-flags:v +global_header -f null -";
    // [a] is encoded, and compared with [s]
    const char *graph = j->reference ?
        text("[0:%d]split[x][y];[x]%s%s[a];[y]%s[s]", index, filters(j, 0), j->upload,
             filters(j, 1)) :
        text("[0:%d]%s,split[x][s];[x]null%s[a]", index, filters(j, 0), j->upload);

    // ffmpeg has one buffer for all that it prints to files of one name, and no lock: each kind of
    // line, as that of score(), needs another name of standard output
    return measure(j, text("%s%s%s%s%s -stats_enc_pre%s pipe:1 -stats_enc_pre_fmt%s " LINE_FRAME
                           " -stats_mux_pre%s /dev/stdout -stats_mux_pre_fmt%s '" LINE_PACKET
                           "{size}' %s -dec 0:%d%s", begin(j, 0),
                           input(j, sample->start, sample->duration),
                           option("filter_complex", "", graph), maps, encoder(j, crf, v), v, v, v,
                           v, to, output ? whole.place : 0, score(j, "dec:0", sample->step)),
                   !output, sample->nb_frames, sample->step, r);
}
