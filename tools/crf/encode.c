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
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "libavcodec/avcodec.h"
#include "libavutil/md5.h"
#include "libavutil/mem.h"
#include "libavutil/murmur3.h"
#include "libavutil/pixdesc.h"
#include "libavutil/time.h"

#include "parts.h"

// ---- input ----

/// The name of a file as ffmpeg takes it: neither an option nor a protocol.
static const char *file_url(const char *path)
{
    return *path == '-' || strchr(path, ':') ? text("file:%s", path) : path;
}

/// The URL of an input: what exists under that name is a file.
static const char *input_url(const char *path)
{
    return access(path, F_OK) ? path : file_url(path);
}

static int input_open(Input *in, const char *path)
{
    const AVIOContext *pb;
    int ret;

    *in = (Input){ 0 };
    if ((ret = avformat_open_input(&in->format, input_url(path), NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(in->format, NULL)) < 0 ||
        (ret = av_find_best_stream(in->format, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0)) < 0)
        return fail("Cannot read video of '%s': %s.", path, av_err2str(ret));
    in->stream   = in->format->streams[ret];
    pb           = in->format->pb;
    in->is_live  = pb ? !(pb->seekable & AVIO_SEEKABLE_NORMAL)
                      : !av_match_name("image2", in->format->iformat->name);
    in->seekable = !in->is_live && !(in->format->iformat->flags & AVFMT_NOTIMESTAMPS) &&
                   !(in->format->ctx_flags & AVFMTCTX_UNSEEKABLE);
    return !(in->stream->disposition & AV_DISPOSITION_ATTACHED_PIC) ? 0 :
           fail("'%s' contains an attached picture but no video stream.", path);
}

/**
 * Read all packets, list and count those of a part, and warn if the file is truncated.
 *
 * @param length    seconds of the part; 0 is up to the end
 * @param nb_frames the most frames of the part, 0 if there is no limit
 */
static int input_scan(Input *in, double start, double length, int nb_frames)
{
    const AVFormatContext *format = in->format;
    const double offset = format->start_time == AV_NOPTS_VALUE ? 0 : format->start_time / 1e6;
    const double stated = format->duration / 1e6;
    struct AVMurMur3 *hash = checked(av_murmur3_alloc());
    AVPacket *p = checked(av_packet_alloc());
    double end  = 0, last = 0;      // of all streams, and of the video
    double missing;

    av_murmur3_init(hash);
    for (; av_read_frame(in->format, p) >= 0; av_packet_unref(p)) {
        const AVStream *st = format->streams[p->stream_index];
        const double unit  = av_q2d(st->time_base);
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;
        const double begin = time == AV_NOPTS_VALUE ? last : time * unit - offset;
        const struct Unit u = { begin - start, p->size };
        const int64_t header[] = { p->pts, p->dts, p->duration, p->flags, p->size };

        end = FFMAX(end, begin + p->duration * unit);
        if (st != in->stream)
            continue;
        // packets before the part are decoded, too
        av_murmur3_update(hash, (const uint8_t *)header, sizeof(header));
        av_murmur3_update(hash, p->data, p->size);
        last = begin + p->duration * unit;
        if (u.time < 0 || length && u.time >= length || nb_frames && in->nb_units == nb_frames)
            continue;
        checked(av_dynarray2_add((void **)&in->unit, &in->nb_units, sizeof(u), (uint8_t *)&u));
        in->bytes  += u.size;
        in->seconds = FFMAX(in->seconds, last - start);
    }
    av_packet_free(&p);
    av_murmur3_final(hash, (uint8_t *)in->hash);
    av_free(hash);
    if (!in->nb_units)
        return fail("'%s' has no frames%s.", format->url, start || length ? " in that part" : "");
    // the duration of Matroska is the time of its end
    missing = stated - end - (strstr(format->iformat->name, "matroska") ? offset : 0);
    // other durations are estimates, and this one may be a little longer than all streams
    if (format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM && missing > 0.5)
        tell("'%s' is cut off: %.2f s are missing at its end. Using the part that can be read.\n",
             format->url, missing);
    return 0;
}

// ---- scores ----

#define LEAST_SKIPPED 120   ///< frames from which on not all are scored
#define LEAST_SCORED   16   ///< frames that are scored at any rate

static void score_add(Result *r, double score)
{
    checked(av_dynarray2_add((void **)&r->score, &r->nb_scores, sizeof(score), (uint8_t *)&score));
}

double score_mean(const Metric *m, const Result *r)
{
    double sum = 0;

    for (int i = 0; i < r->nb_scores; i++)
        sum += m->is_in_decibels ? pow(10, -r->score[i] / 20) : r->score[i];
    sum /= r->nb_scores;
    return m->is_in_decibels ? -20 * log10(sum) : sum;
}

static int compare_doubles(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const double *)a, *(const double *)b);
}

double score_pool(const Metric *m, const char *pool, const Result *sample, int nb)
{
    double worst = m->best;
    Result all   = { 0 };
    int rank;

    for (int i = 0; i < nb; i++) {
        const double mean = score_mean(m, &sample[i]);

        worst = reaches(m, worst, mean) ? mean : worst;
        for (int j = 0; j < sample[i].nb_scores; j++)
            score_add(&all, sample[i].score[j]);
    }
    if (*pool == 'w')
        return worst;
    if (*pool == 'm')
        return score_mean(m, &all);
    // a percentile is by the nearest rank from the worst score, as in the summaries of the filters
    qsort(all.score, all.nb_scores, sizeof(*all.score), compare_doubles);
    rank = (all.nb_scores * (int64_t)atoi(pool + 1) + 99) / 100;
    return all.score[m->higher_is_better ? rank - 1 : all.nb_scores - rank];
}

int scoring_step(const Job *j, int nb_frames)
{
    // a percentile of some frames is not that of all
    const int step = *j->pool == 'p' ? 1 : j->step ? j->step :
                     nb_frames < LEAST_SKIPPED ? 1 : j->metric->step;

    return av_clip(nb_frames / LEAST_SCORED, 1, step);
}

// ---- what ffmpeg prints ----

/// Lines for each frame of the source, packet and decoded frame, beside the scores; the last one is
/// written to entries of the cache only.
#define LINE_FRAME   "frame"
#define LINE_PACKET  "packet "
#define LINE_DECODED "decoded"
#define LINE_SECONDS "seconds "

/// Checks, one each second, without output and CPU time until a program is stopped. A machine that
/// is suspended makes none.
#define STALL_CHECKS 60
#define STALL_CPU_MS 10         ///< ffmpeg uses less in a second in which it only waits

/// The program that runs.
static struct {
    volatile pid_t pid;
    clockid_t clock;
    int64_t ms;                     ///< CPU time at the last check
    volatile sig_atomic_t idle;     ///< checks since the last line of output and use of CPU time
} watch;

/// Read the output of ffmpeg: the scores are those of the worst plane, as in xpsnr's own summary.
static Result parse_output(const Metric *m, const char *lines)
{
    Result planes[128] = { 0 };     // by the letter before the "="
    Result r = { 0 };
    char *rest, *line = av_strtok(text("%s", lines), "\n", &rest);
    const char *value;

    for (; line; line = av_strtok(NULL, "\n", &rest)) {
        if (!strcmp(line, LINE_FRAME)) {
            r.nb_source++;
        } else if (!strcmp(line, LINE_DECODED)) {
            r.nb_frames++;
        } else if (av_strstart(line, LINE_PACKET, &value)) {
            r.nb_packets++;
            r.bytes += atoll(value);
        } else if (av_strstart(line, LINE_SECONDS, &value)) {
            r.seconds = atof(value);
        } else if (av_strstart(line, m->key, NULL) && (value = strchr(line, '='))) {
            // decibels are infinite where planes are equal
            score_add(&planes[value[-1] & 127], FFMIN(strtod(value + 1, NULL),
                                                      m->is_in_decibels ? 100 : INFINITY));
        }
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(planes); i++)
        if (planes[i].nb_scores && (!r.nb_scores ||
            reaches(m, score_mean(m, &r), score_mean(m, &planes[i])))) {
            r.score     = planes[i].score;
            r.nb_scores = planes[i].nb_scores;
        }
    return r;
}

// ---- processes ----

volatile sig_atomic_t caught_signal;

static void handle_signal(int number)
{
    caught_signal = number;
    if (watch.pid > 0)
        kill(watch.pid, SIGKILL);   // its output would be incomplete
}

/// Stop a program that waits without an end.
static void handle_alarm(int number)
{
    struct timespec ts = { 0 };
    int64_t ms;

    clock_gettime(watch.clock, &ts);
    ms         = ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
    watch.idle = ms - watch.ms < STALL_CPU_MS ? watch.idle + 1 : 0;
    watch.ms   = ms;
    if (watch.idle >= STALL_CHECKS && watch.pid > 0)
        kill(watch.pid, SIGKILL);
}

/// The first line that the last command wrote to standard error, or "".
static const char *first_error;

/// Run a command of a shell. When it has ended, what it wrote to standard error is printed.
/// @param nb_frames expected number of decoded frames, for the progress meter
/// @param lines     set to its standard output, less the metadata of no use
/// @return the exit status, or -1 after a message
static int run(const Job *j, const char *command, int nb_frames, const char **lines)
{
    const struct itimerval second = { { 1 }, { 1 } }, never = { { 0 } };
    const pid_t parent = getpid();
    FILE *errors = tmpfile(), *output, *kept;
    char line[1024];
    size_t size;
    int fd[2], status = 0, nb_decoded = 0;

    first_error = "";
    watch.idle  = 0;
    if (!errors || pipe(fd) < 0 || (watch.pid = fork()) < 0)
        return fail("No program can be started: %s.", strerror(errno));
    if (!watch.pid) {
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
        kill(watch.pid, SIGKILL);
    if (!j->in.is_live && !clock_getcpuclockid(watch.pid, &watch.clock))
        setitimer(ITIMER_REAL, &second, NULL);
    close(fd[1]);
    output = checked(fdopen(fd[0], "r"));
    kept   = checked(open_memstream((char **)lines, &size));
    while (fgets(line, sizeof(line), output)) {
        watch.idle = 0;
        if (!strcmp(line, LINE_DECODED "\n"))
            progress_show(++nb_decoded, nb_frames);
        if (!av_strstart(line, "lavfi.", NULL) || av_strstart(line, j->metric->key, NULL))
            fputs(line, kept);
    }
    progress_end();
    fclose(output);
    fclose(kept);
    while (waitpid(watch.pid, &status, 0) < 0 && errno == EINTR)
        ;
    setitimer(ITIMER_REAL, &never, NULL);
    watch.pid = 0;
    rewind(errors);                 // the program has written with the same position
    while (!caught_signal && fgets(line, sizeof(line), errors)) {
        tell("%s", line);
        if (!*first_error)
            first_error = text("%.*s", (int)strcspn(line, "\n"), line);
    }
    fclose(errors);
    if (caught_signal)
        return -1;
    if (WIFSIGNALED(status) && watch.idle >= STALL_CHECKS)
        return fail("ffmpeg was stopped: for %d seconds it had no output and used no CPU time. "
                    "Run its command, which -v verbose prints, to see where it waits.",
                    STALL_CHECKS);
    return WIFSIGNALED(status) ? fail("ffmpeg was ended by signal %d.", WTERMSIG(status))
                               : WEXITSTATUS(status);
}

/// Run a command that does what was asked for.
static int run_job(const Job *j, const char *command, int nb_frames, const char **lines)
{
    int ret;

    if (av_match_name(j->loglevel, "verbose,debug,trace"))
        tell("%s\n", command);
    ret = run(j, command, nb_frames, lines);
    return ret <= 0 ? ret : fail("ffmpeg failed: %s", first_error);
}

const char *shell_quote(const char *string)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-+=:,./@%";
    const uint8_t *next = string, *end = next + strlen(string);
    const char *format = "";
    char *quoted;
    int is_printable = 1;
    int32_t code;

    if (*string && !string[strspn(string, plain)])
        return string;
    while (next < end)
        is_printable &=
            av_utf8_decode(&code, &next, end, AV_UTF8_FLAG_ACCEPT_NON_CHARACTERS) >= 0 &&
            code >= 32 && (code < 127 || code >= 160);
    // newlines at the end would be lost in $()
    while (!is_printable && end > (const uint8_t *)string && end[-1] == '\n')
        end--;
    for (next = string; next < end; next++)
        format = text(*next != '%' && strchr(plain, *next) ? "%s%c" : "%s\\%03o", format, *next);
    if (av_escape(&quoted, is_printable ? string : (const char *)end, NULL, AV_ESCAPE_MODE_QUOTE,
                  0) < 0)
        checked(NULL);
    return is_printable ? quoted : text("\"$(printf '%s')\"%s", format, *end ? quoted : "");
}

/// Ask for what ffmpeg prints with these options. @return its exit status, or -1
static int ffmpeg_ask(const Job *j, const char *options, const char **answer)
{
    return run(j, text("%s -nostdin -v quiet %s", shell_quote(j->ffmpeg), options), 0, answer);
}

/// @return the path of ffmpeg in one of some folders, or NULL
static const char *find_ffmpeg(const char *folders)
{
    char *rest, *folder = av_strtok(text("%s", folders ? folders : ""), ":", &rest);

    for (; folder; folder = av_strtok(NULL, ":", &rest))
        if (!access(text("%s/ffmpeg", folder), X_OK))
            return text("%s/ffmpeg", folder);
    return NULL;
}

int encode_init(Job *j)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };
    const struct sigaction alarm  = { .sa_handler = handle_alarm, .sa_flags = SA_RESTART };
    char folder[PATH_MAX] = "";
    const char *beside, *help, *found = find_ffmpeg(getenv("PATH"));

    if (input_open(&j->in, j->input) < 0)
        return -1;
    if (j->in.is_live && !strstr(j->input, "://"))
        return fail("'%s' is a pipe or device, and the input is read several times: save it to a "
                    "file.", j->input);
    if (input_scan(&j->in, j->start / 1e6, j->length / 1e6, j->nb_frames) < 0)
        return -1;
    if (j->start && !j->in.seekable)
        return fail("-ss needs an input with timestamps, unlike '%s'. Convert it without loss: "
                    "ffmpeg -i %s -c:v ffv1 %s", j->input, shell_quote(input_url(j->input)),
                    shell_quote(file_url(output_name(j->input, "mkv"))));
    sigaction(SIGALRM, &alarm, NULL);
    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (signal(SIGHUP, SIG_IGN) != SIG_IGN)     // nohup
        sigaction(SIGHUP, &action, NULL);
    if (readlink("/proc/self/exe", folder, sizeof(folder) - 1) > 0)
        *strrchr(folder, '/') = 0;
    beside         = find_ffmpeg(folder);
    j->ffmpeg_path = beside ? beside : found;
    // the one that a user starts by its name needs no path
    j->ffmpeg = beside && (!found || strcmp(checked(realpath(beside, NULL)),
                                            checked(realpath(found, NULL)))) ? beside : "ffmpeg";
    if (ffmpeg_ask(j, text("-h filter=%s", j->metric->name), &help) < 0)
        return -1;
    if (av_strstart(help, "Unknown filter", NULL))
        return fail("This ffmpeg has no filter '%s': use --target-ssim or --target-xpsnr, or an "
                    "ffmpeg that has it.", j->metric->name);
    return ffmpeg_ask(j, "-version", &j->ffmpeg_version);
}

// ---- the cache: files that are named by the hash of all that the result depends on ----

#define CACHE_FORMAT 8

/// The folder, which is made before it is used; NULL if there is none.
static const char *cache_folder = "";

static const char *hash_text(const char *string)
{
    uint64_t digest[2];

    av_md5_sum((uint8_t *)digest, string, strlen(string));
    return text("%016"PRIx64"%016"PRIx64, digest[0], digest[1]);
}

/// Find the folder, and make it with those above it. @return NULL after a message if there is none
static const char *find_cache_folder(void)
{
    const char *own = getenv("FFCRF_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char *folder = own && *own ? text("%s/", own) : xdg && *xdg ? text("%s/ffcrf/", xdg) :
                   home && *home ? text("%s/.cache/ffcrf/", home) : NULL;

    for (char *p = folder; p && (p = strchr(p + 1, '/')); *p = '/') {
        *p = 0;
        mkdir(folder, 0777);
    }
    if (folder && !access(folder, F_OK))
        return folder;
    tell("Cache disabled: %s%s. Set FFCRF_CACHE to a writable folder.\n",
         folder ? "cannot create " : "HOME is not set", folder ? folder : "");
    return NULL;
}

/// Size, time and inode of each file that is named in a list.
static const char *file_states(const char *list, const char *separators)
{
    char *rest, *path = av_strtok(text("%s", list), separators, &rest);
    const char *all = "";
    struct stat s;

    for (; path; path = av_strtok(NULL, separators, &rest))
        if (strncmp(path, "/dev/", 5) && !stat(path, &s) && S_ISREG(s.st_mode))
            all = text("%s %"PRId64" %"PRId64".%ld %"PRIu64, all, (int64_t)s.st_size,
                       (int64_t)s.st_mtim.tv_sec, (long)s.st_mtim.tv_nsec, (uint64_t)s.st_ino);
    return all;
}

/// Everything that the result of a command depends on.
static const char *cache_key(const Job *j, const char *command)
{
    static const char words[] = " \t\n'\"=:,;[]()";
    static const char *files;
    const char *libraries;

    if (!files) {
        // the dynamic linker lists what it would load
        run(j, text("env LD_TRACE_LOADED_OBJECTS=1 %s -nostdin -v quiet -version",
                    shell_quote(j->ffmpeg)), 0, &libraries);
        files = text("%s%s", file_states(libraries, words), file_states(
                     text("/proc/self/exe\n%s\n%s", j->ffmpeg_path, j->input), "\n"));
    }
    // lookup tables and subtitles of filters are files, too
    // with spaces in their names, too
    return text("%d %s%s\n%"PRIx64" %"PRIx64"\n%s%s%s", CACHE_FORMAT, j->ffmpeg_version, command,
                j->in.hash[0], j->in.hash[1], files, file_states(command, words),
                file_states(command, words + 1));
}

/// An entry begins with the hash of its key and of the lines after it.
/// @return these lines, or NULL if there is no entry, or a damaged one
static const char *cache_get(const char *path, const char *key)
{
    FILE *f     = fopen(path, "r");
    char *lines = NULL, *all = NULL;
    size_t size = 0;

    if (f && getdelim(&all, &size, 0, f) >= 0 && (lines = strchr(all, '\n')) &&
        !av_strstart(all, hash_text(text("%s%s", key, lines + 1)), NULL))
        lines = NULL;
    if (f)
        fclose(f);
    return lines ? lines + 1 : NULL;
}

static void cache_put(const char *path, const char *key, const char *lines)
{
    const char *temporary = text("%s.%d.tmp", path, getpid());
    FILE *f = fopen(temporary, "w");
    int ret = f ? fprintf(f, "%s\n%s", hash_text(text("%s%s", key, lines)), lines) : -1;

    // it gets its name when it is complete
    if (f && fclose(f) || ret < 0 || rename(temporary, path) < 0) {
        tell("Cache disabled: cannot write '%s': %s.\n", path, strerror(errno));
        unlink(temporary);
        cache_folder = NULL;
    }
}

// ---- parts of commands ----

#define PASS " -fps_mode passthrough -enc_time_base filter"

/// An option, of a stream if its specifier is given.
static const char *option(const char *name, const char *stream, const char *value)
{
    return text(" %s %s", shell_quote(text("-%s%s", name, stream)), shell_quote(value));
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
                                is_reference && j->mixed_depth ? "10" : "") :
                       j->pix_fmt ? text("format=%s", j->pix_fmt) : "null";

    return text("%s%s%s%s%s%s", user ? user : "", user ? "," : "",
                j->rate      ? text("fps=%s,", j->rate) : "",
                j->size      ? text("scale=s=%s,", j->size) : "",
                j->nb_frames ? text("trim=end_frame=%d,", j->nb_frames) : "",
                // a command that was printed has it already
                user && strstr(user, end) ? "null" : end);
}

/// The program, and the options that apply to all of its files.
static const char *global_options(const Job *j, int is_printed)
{
    return text("%s -nostdin%s%s%s", shell_quote(j->ffmpeg),
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
                length > 0 ? text(" -t %.12g", length) : "", option("i", "", input_url(j->input)));
}

static const char *encoder(const Job *j, double crf, const char *stream)
{
    return text("%s%s%s -fps_mode%s passthrough -enc_time_base%s filter",
                option("c", stream, j->encoder), option(j->crf_option, stream, text("%.6g", crf)),
                all_options(j->encoder_options, stream), stream, stream);
}

/// The filter of --vmaf-scale with a comma before it, or "".
static const char *vmaf_scale(const Job *j)
{
    const int w = j->coded->width, h = j->coded->height, is_auto = j->scale[0] == SCALE_AUTO;
    const int is_4k  = strstr(j->model, "2160") || !strcmp(j->model, "4k") ||
                       !strcmp(j->model, "v1") && h > 1440;
    const int width  = !is_auto ? j->scale[0] : is_4k ? 3840 : 1920;
    const int height = !is_auto ? j->scale[1] : is_4k ? 2160 : 1080;

    if (!width || is_auto && (w >= 0.9 * width || h >= 0.9 * height))
        return "";
    // the side that fills the size is scaled to it, the other keeps the shape
    return (int64_t)h * width > (int64_t)w * height ?
           text(",scale=-1:%d:flags=bicubic", height) : text(",scale=%d:-1:flags=bicubic", width);
}

/**
 * Pair the frames of [encode] with those of [s] by number, and print the scores of one of each
 * step frames: the encode's frames go to [c], compared ones to [o].
 *
 * @param graph the part of the same graph that makes [s], with ";", or ""
 */
static const char *score(const Job *j, const char *graph, const char *encode, int step)
{
    const Metric *m     = j->metric;
    const char *options = "";
    const int is_vmaf   = !strcmp(m->name, "vmaf");
    const char *model   = !strcmp(j->model, "4k")    ? "vmaf_v1.0.16_1d5h_2160" :
                          !strcmp(j->model, "phone") ? "vmaf_v1.0.16_5d0h" : j->model;
    // the position in each step changes: encoders repeat their types of frames with a period
    const char *rest    = step < 2 || is_vmaf ? vmaf_scale(j) :
        text(",select='eq(mod(n,%d),floor(%d*mod(floor(n/%d)*0.618034,1)))'", step, step, step);

    if (j->gpu_format)
        // the first format keeps a scaler from writing the other one, which it rounds differently
        rest = text("%s,format=%s,format=%s,hwupload", rest,
                    av_get_pix_fmt_name(j->coded->format), j->gpu_format);
    // its motion is relative to the previous frame, so it gets all frames; v1 depends on the size
    if (is_vmaf)
        options = text(":n_subsample=%d%s%s", step, j->mixed_depth ? ":bitdepth=10" : "",
                       strcmp(model, "v1") ? text(":model=version=%s", model) : "");
    // with shortest=1, ffmpeg loses the last frame of a filter that waits for the next one
    graph = text("%s[%s]settb=1/25,setpts=N,split[c][x];[x]null%s[e];[s]settb=1/25,setpts=N%s[r];"
                 "%s%s%s=eof_action=pass%s,metadata=print:file=/dev/stdout:direct=1[o]",
                 graph, encode, rest, rest, m->is_in_decibels ? "[r][e]" : "[e][r]", m->name,
                 j->gpu_format ? "_cuda" : "", options);
    return text("%s -map '[c]'" PASS " -stats_enc_pre /dev/fd/1 -stats_enc_pre_fmt " LINE_DECODED
                " -f null - -map '[o]'" PASS " -f null -", option("filter_complex", "", graph));
}

// ---- scores of an encode ----

/// The graph of a part: [a] is encoded, and compared with [s]. FFmpeg gives side data, such as that
/// of HDR, to the first output of a graph.
static const char *part_graph(const Job *j)
{
    const int index = j->in.stream->index;

    return j->reference ?
        text("[0:%d]split[x][y];[x]%s%s[a];[y]%s[s]", index, filters(j, 0), j->upload,
             filters(j, 1)) :
        text("[0:%d]%s,split[a%s][x];%s[x]null[s]", index, filters(j, 0), *j->upload ? "0" : "",
             *j->upload ? text("[a0]null%s[a];", j->upload) : "");
}

/// Count the frames of both filter chains of a part, if they differ: pairs of unequal numbers would
/// let encoder and filters wait for each other.
static int check_reference(const Job *j, const Sample *sample)
{
    const char *lines;
    Result r;

    if (run_job(j, text("%s%s%s -map '[a]'" PASS " -stats_enc_pre /dev/fd/1 -stats_enc_pre_fmt "
                        LINE_DECODED " -f null - -map '[s]'" PASS " -stats_enc_pre pipe:1 "
                        "-stats_enc_pre_fmt " LINE_FRAME " -f null -", global_options(j, 0),
                        input(j, sample->start, sample->duration),
                        option("filter_complex", "", part_graph(j))),
                sample->nb_frames, &lines) < 0)
        return -1;
    r = parse_output(j->metric, lines);
    return r.nb_frames == r.nb_source ? 0 :
           fail("-vf makes %d frames, and --reference-vfilter %d: they cannot be paired. Leave out "
                "what drops or adds frames.", r.nb_frames, r.nb_source);
}

/// Run a command and read its scores, unless they are in the cache. It fails if a frame got lost,
/// or may be paired with the wrong frame.
/// @return 1 if the result is from the cache
static int measure(const Job *j, const char *command, const Sample *sample, int is_whole, Result *r)
{
    const int64_t begin = av_gettime_relative();
    const int step      = sample->step;
    const char *key, *entry = NULL, *lines = NULL;
    int is_cached;

    if (!is_whole && j->cache && cache_folder && !*cache_folder)
        cache_folder = find_cache_folder();
    if (!is_whole && j->cache && cache_folder) {
        key   = cache_key(j, command);
        entry = text("%s%s", cache_folder, hash_text(key));
        lines = cache_get(entry, key);
    }
    is_cached = !!lines;
    if (!is_cached) {
        if (j->reference && !j->verify && check_reference(j, sample) < 0 ||
            run_job(j, command, sample->nb_frames, &lines) < 0)
            return -1;
        lines = text("%s" LINE_SECONDS "%f\n", lines, (av_gettime_relative() - begin) / 1e6);
    }
    *r = parse_output(j->metric, lines);
    if (r->nb_source != r->nb_frames || r->nb_packets && r->nb_packets != r->nb_source)
        return fail("The encode has %d frames%s, and its reference has %d frames: they cannot be "
                    "paired. %s", r->nb_frames,
                    r->nb_packets ? text(" in %d packets", r->nb_packets) : "", r->nb_source,
                    j->verify ? "Give the part, -vf and -r that the encode was made with."
                              : "Leave out what drops or adds frames.");
    // an incomplete step at the end may have no score
    if (r->nb_scores < FFMAX(r->nb_frames / step, 1) ||
        r->nb_scores > (r->nb_frames + step - 1) / step)
        return fail("%d of %d frames were scored, and not one of each %d.", r->nb_scores,
                    r->nb_frames, step);
    if (!isfinite(score_mean(j->metric, r)))
        return fail("%s has no score for this video: choose another metric.", j->metric->name);
    if (entry && !is_cached)
        cache_put(entry, key, lines);
    return is_cached;
}

// ---- commands ----

/// Score on a GPU only if one can. @return 0, or -1 if the one that was asked for cannot
static int check_gpu(Job *j)
{
    const char *const gpu = j->gpu, *metric = j->metric->name, *ignored;
    const int pix_fmt     = j->coded->format;
    const char *format    = pix_fmt == AV_PIX_FMT_YUV420P10 ? "p010" :
                            pix_fmt == AV_PIX_FMT_YUV420P || pix_fmt == AV_PIX_FMT_YUVJ420P ?
                            "nv12" : NULL;

    if (!strcmp(gpu, "off"))
        return 0;
    if (format && !*j->upload && !j->mixed_depth &&
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

/// Ask for the options of an encoder. @return -1 after a message if there is no such encoder
static int ask_encoder(const Job *j, const char *name, const char *option, const char **help)
{
    if (ffmpeg_ask(j, text("-h encoder=%s", shell_quote(name)), help) < 0)
        return -1;
    return !av_strstart(*help, "Codec '", NULL) ? 0 :
           fail("This ffmpeg has no encoder '%s' for -%s: `ffmpeg -encoders` lists those it has.",
                name, option);
}

static int find_encoder(Job *j)
{
    static const char *const defaults[] = { "libsvtav1", "libx265", "libx264" };
    const AVDictionaryEntry *e = NULL;
    const char *help = "";

    for (int i = 0; !j->encoder; i++)
        if (ffmpeg_ask(j, text("-h encoder=%s", defaults[i]), &help) < 0)
            return -1;
        else if (strstr(help, "-crf ") || i == FF_ARRAY_ELEMS(defaults) - 1)
            j->encoder = defaults[i];
    if (ask_encoder(j, j->encoder, "c:v", &help) < 0 || options_take_encoder(j, help) < 0)
        return -1;
    while ((e = av_dict_get(j->other_options, "c:", e, AV_DICT_IGNORE_SUFFIX)))
        if (strcmp(e->value, "copy") && ask_encoder(j, e->value, e->key, &help) < 0)
            return -1;
    return 0;
}

/// Let the muxer of an output begin a file with the encode's stream: ffmpeg may wait forever for
/// one that has failed, and what muxers accept depends on more than the codec.
static int check_muxer(const Job *j, const char *to)
{
    AVDictionary *options = NULL;
    AVFormatContext *out;
    AVStream *st;

    avformat_alloc_output_context2(&out, j->muxer, NULL, j->encode);
    st = checked(avformat_new_stream(checked(out), NULL));
    av_dict_copy(&options, j->other_options, 0);
    if (avcodec_parameters_copy(st->codecpar, j->coded) < 0 || (st->codecpar->codec_tag = 0) ||
        avio_open(&out->pb, to, AVIO_FLAG_WRITE) < 0 || avformat_write_header(out, &options) < 0)
        return fail("'%s' (%s) cannot contain %s%s: let the name end with .mkv, or choose another "
                    "encoder.", j->encode, j->muxer->long_name,
                    avcodec_get_name(j->coded->codec_id), all_options(j->other_options, ""));
    avio_closep(&out->pb);
    avformat_free_context(out);
    return 0;
}

// ---- all streams ----

/// Options that map and encode the streams of the output.
static struct {
    const char *printed, *scored;   ///< as they are printed, and with [a] for the video
    const char *stream;             ///< specifier of the video
    int place;                      ///< index of the video
} output_maps;

/// Choose "copy" or an encoder for a stream of the output. @return NULL if no encoder fits
static const char *stream_encoder(const AVOutputFormat *out, const AVStream *st)
{
    static const enum AVCodecID texts[] = {
        AV_CODEC_ID_SUBRIP, AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_WEBVTT,
    };
    const enum AVMediaType type = st->codecpar->codec_type;
    const AVCodecDescriptor *d  = avcodec_descriptor_get(st->codecpar->codec_id);
    const int can = avformat_query_codec(out, st->codecpar->codec_id, FF_COMPLIANCE_NORMAL);

    // the codecs of a format do not include those of attachments
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

/// The default options of the output's container. @param stream specifier of the video, as ":v"
static const char *container_options(const Job *j, const char *stream)
{
    const AVDictionary *o = j->other_options;

    if (!av_match_name(j->muxer->name, "mp4,mov"))
        return "";
    // as ab-av1: playback can begin before the download ends, and Apple's players take HEVC
    return text("%s%s", av_dict_get(o, "movflags", NULL, 0) ? "" : " -movflags +faststart",
                j->coded->codec_id != AV_CODEC_ID_HEVC || av_dict_get(o, "vtag", NULL, 0) ||
                av_dict_get(o, "tag", NULL, AV_DICT_IGNORE_SUFFIX) ? "" :
                text(" -tag%s hvc1", stream));
}

/// Choose the streams of the output, and warn of those that are left out.
static int choose_streams(const Job *j)
{
    const int has_audio = !!av_dict_get(j->other_options, "c:a", NULL, AV_DICT_IGNORE_SUFFIX);
    const char *printed = j->video_only ? text(" -map 0:%d", j->in.stream->index) : " -map 0";
    // or else copied audio begins before the part in some containers
    const char *coders  = j->start ? " -c copy -copypriorss:a 0" : " -c copy";
    const char *scored  = "", *data = "";
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
                stream_encoder(j->muxer, st);
        if (!coder && type == AVMEDIA_TYPE_AUDIO)
            return fail("%s cannot hold %s, which stream %u is: let the name end with .mkv, or "
                        "choose an encoder by -c:a.", j->muxer->long_name, name, i);
        if (!coder) {
            tell("Stream %u (%s) is left out: %s cannot hold it.\n", i, name, j->muxer->long_name);
            printed = text("%s -map -0:%u", printed, i);
            continue;
        }
        scored = text("%s -map %s", scored, is_video ? "'[a]'" : text("0:%u", i));
        // what comes from a graph has lost what is known of it
        data   = text("%s -map_metadata:s:%d 0:s:%u", data, nb, i);
        if (is_video) {
            output_maps.place = nb;
            video       = nb_videos;
            if (st->disposition & AV_DISPOSITION_DEFAULT)
                data = text("%s -disposition:%d default", data, nb);
        }
        if (strcmp(coder, "copy"))
            coders = text("%s -c:%d %s", coders, nb, coder);
        nb_videos += type == AVMEDIA_TYPE_VIDEO;
        nb++;
    }
    output_maps.stream  = nb_videos > 1 ? text(":v:%d", video) : ":v";
    coders = text("%s%s%s", coders, container_options(j, output_maps.stream),
                  all_options(j->other_options, ""));
    output_maps.printed = text("%s%s", printed, coders);
    output_maps.scored  = text("%s%s%s", scored, data, coders);
    return 0;
}

const char *encode_command(const Job *j, double crf, const char *output)
{
    return text("%s%s%s%s%s %s", global_options(j, 1), input(j, 0, 0), output_maps.printed,
                encoder(j, crf, output_maps.stream),
                option("filter", output_maps.stream, text("%s%s", filters(j, 0), j->upload)),
                shell_quote(file_url(output)));
}

/// Create a file of a new name beside the output, for an incomplete encode.
/// @return NULL after a message
static const char *reserve_output(const char *output)
{
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    const char *dot   = strrchr(name, '.');
    // the longest name of a file has 255 bytes
    const char *part  = text("%.*s%.100s.%"PRIx64".part%s", (int)(name - output), output, name,
                             av_gettime(), dot ? dot : "");
    FILE *f           = fopen(part, "wx");

    if (!f)
        return fail("Cannot create '%s': %s.", part, strerror(errno)), NULL;
    fclose(f);
    return part;
}

int encode_first(Job *j)
{
    FILE *f = checked(tmpfile());
    const char *to = text("/dev/fd/%d", fileno(f)), *part, *ignored;
    Input first;

    if (j->encode && (!(part = reserve_output(j->encode)) || remove(part) < 0) ||
        find_encoder(j) < 0 ||
        run_job(j, text("%s%s -map 0:%d%s%s -frames:v 1 -f matroska %s", global_options(j, 0),
                        input(j, 0, 0), j->in.stream->index,
                        option("vf", "", text("%s%s", filters(j, 0), j->upload)),
                        encoder(j, j->plan.min_crf, ":v"), to),
                0, &ignored) < 0 || input_open(&first, to) < 0)
        return -1;
    j->coded = first.stream->codecpar;
    if (j->coded->format < 0)
        return fail("The pixel format of %s is not known.", j->encoder);
    if (j->encode && check_muxer(j, to) < 0 || choose_streams(j) < 0)
        return -1;
    fclose(f);
    return check_gpu(j);
}

int encode_part(const Job *j, double crf, const Sample *sample, const char *output, Result *r)
{
    const char *maps = output ? output_maps.scored : " -map '[a]'";
    const char *v    = output ? output_maps.stream : ":v";
    // headers where most files have them
    const char *to   = output ? shell_quote(file_url(output)) :
                       "-flags:v +global_header -f null -";

    // ffmpeg has one buffer for all that it prints to files of one name, and no lock: each kind of
    // line, as that of score(), needs another name of standard output
    return measure(j, text("%s%s%s%s%s -stats_enc_pre%s pipe:1 -stats_enc_pre_fmt%s " LINE_FRAME
                           " -stats_mux_pre%s /dev/stdout -stats_mux_pre_fmt%s '" LINE_PACKET
                           "{size}' %s -dec 0:%d%s", global_options(j, 0),
                           input(j, sample->start, sample->duration),
                           option("filter_complex", "", part_graph(j)), maps, encoder(j, crf, v),
                           v, v, v, v, to, output ? output_maps.place : 0,
                           score(j, "", "dec:0", sample->step)),
                   sample, !!output, r);
}

int encode_whole(const Job *j, double crf, Result *r)
{
    const char *part = reserve_output(j->encode);
    const int nb     = j->in.nb_units;

    if (!part)
        return -1;
    if (encode_part(j, crf, &(Sample){ .nb_frames = nb, .step = scoring_step(j, nb) }, part, r) < 0)
        return unlink(part), -1;
    // a link replaces nothing, but not all file systems have links
    if (!j->overwrite && !link(part, j->encode))
        return unlink(part);
    if ((j->overwrite || errno != EEXIST) && !rename(part, j->encode))
        return 0;
    return fail("Cannot rename '%s', which is the finished encode, to '%s': %s.", part, j->encode,
                strerror(errno));
}

// ---- an encode that exists ----

/// Refuse to compare PQ or HLG with another transfer, as the filters do of their inputs.
static int check_transfer(const Job *j)
{
    static const char hdr[] = "smpte2084,arib-std-b67";
    const AVCodecParameters *p = j->in.stream->codecpar;
    const char *from = av_color_transfer_name(p->color_trc);
    const char *to   = av_color_transfer_name(j->coded->color_trc);

    if (j->filters || j->reference || p->color_trc == AVCOL_TRC_UNSPECIFIED ||
        j->coded->color_trc == AVCOL_TRC_UNSPECIFIED || !strcmp(from, to) ||
        !av_match_name(from, hdr) && !av_match_name(to, hdr))
        return 0;
    return fail("The transfer of '%s' is %s, and that of '%s' is %s: convert the source as for the "
                "encode, for example by -vf scale=out_transfer=%s:out_primaries=%s:"
                "out_color_matrix=%s", j->input, from, j->verify, to, to,
                av_color_primaries_name(j->coded->color_primaries),
                av_color_space_name(j->coded->color_space));
}

int encode_verify(Job *j, Result *r)
{
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(j->in.stream->codecpar->format), *to;
    const char *reference;
    Input encode;
    int step;

    if (input_open(&encode, j->verify) < 0 || input_scan(&encode, 0, 0, 0) < 0)
        return -1;
    j->coded = encode.stream->codecpar;
    to       = av_pix_fmt_desc_get(j->coded->format);
    // vmaf compares 8 bits with the 10 that they were made of, and need not round these
    j->mixed_depth = !strcmp(j->metric->name, "vmaf") && from && from->comp[0].depth > 8 &&
                  to && av_get_pix_fmt(text("%s10", to->name)) != AV_PIX_FMT_NONE;
    if (check_transfer(j) < 0 || check_gpu(j) < 0)
        return -1;
    step = scoring_step(j, encode.nb_units);
    // in a graph of its own, the reference would wait for the encode, and that for the reference
    reference = text("[1:%d]%s,split[s][d];", j->in.stream->index, filters(j, 1));
    if (measure(j, text("%s%s%s%s -map '[d]'" PASS " -stats_enc_pre pipe:1 -stats_enc_pre_fmt "
                        LINE_FRAME " -f null -", global_options(j, 0),
                        option("i", "", input_url(j->verify)), input(j, 0, 0),
                        score(j, reference, text("0:%d", encode.stream->index), step)),
                &(Sample){ .nb_frames = encode.nb_units, .step = step }, 1, r) < 0)
        return -1;
    r->bytes = encode.bytes;
    return 0;
}
