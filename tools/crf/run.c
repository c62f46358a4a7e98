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

#define _GNU_SOURCE         // for getline()

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "libavutil/common.h"
#include "libavutil/hash.h"
#include "libavutil/mem.h"
#include "libavutil/time.h"

#include "run.h"
#include "text.h"

volatile sig_atomic_t caught_signal;

static volatile pid_t child;

static void handle_signal(int number)
{
    caught_signal = number;
    if (child > 0)
        kill(child, SIGKILL);       // what it was making is of no use
}

void run_catch_signals(void)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };

    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/// The first line that the last command wrote to standard error, or "".
static const char *first_error;

/// Run a command of a shell. When it has ended, what it wrote to standard error is printed.
/// @param line takes each line of standard output. @return the exit status, or -1 after a message
static int run(const char *command, void (*line)(void *opaque, const char *line), void *opaque)
{
    const pid_t parent = getpid();
    FILE *errors = tmpfile(), *out;
    char *buffer = NULL;
    size_t size  = 0;
    int fd[2], status = 0;

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
    out = checked(fdopen(fd[0], "r"));
    while (getline(&buffer, &size, out) >= 0)
        line(opaque, buffer);
    fclose(out);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    child       = 0;
    first_error = "";
    rewind(errors);                 // the program has written with the same position
    while (!caught_signal && getline(&buffer, &size, errors) >= 0) {
        tell("%s", buffer);
        if (!*first_error)
            first_error = text("%.*s", (int)strcspn(buffer, "\n"), buffer);
    }
    fclose(errors);
    free(buffer);
    if (caught_signal)
        return -1;
    return WIFSIGNALED(status) ? fail("ffmpeg was ended by signal %d.", WTERMSIG(status))
                               : WEXITSTATUS(status);
}

static void keep_line(void *all, const char *line)
{
    *(const char **)all = text("%s%s", *(const char **)all, line);
}

int run_ask(const Job *job, const char *options, const char **answer)
{
    *answer = "";
    return run(text("%s -nostdin -v quiet %s", command_word(job->ffmpeg), options), keep_line,
               answer);
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

/// The value that this percentage of all values is worse than; linear between ranks.
static double percentile(const Metric *m, Result *r, double percent)
{
    const int nb       = r->nb_scores;
    const double place = (m->scale.higher_is_better ? percent : 100 - percent) / 100 * (nb - 1);
    const int i        = FFMIN(place, nb - 2);
    const double *s    = r->score;

    qsort(r->score, nb, sizeof(*s), compare_doubles);
    return nb == 1 ? s[0] : s[i] + (s[i + 1] - s[i]) * (place - i);
}

double score_pool(const Metric *m, const char *pool, const Result *sample, int nb)
{
    double worst = m->scale.best;
    Result all   = { 0 };

    for (int i = 0; i < nb; i++) {
        const double mean = score_mean(m, &sample[i]);

        worst = reaches(&m->scale, worst, mean) ? mean : worst;
        for (int j = 0; j < sample[i].nb_scores; j++)
            score_add(&all, sample[i].score[j]);
    }
    return *pool == 'm' ? score_mean(m, &all) :
           *pool == 'w' ? worst : percentile(m, &all, atoi(pool + 1));
}

// ---- the cache: files that are named by the hash of all that the result depends on ----

#define MAGIC "ffcrf-cache 6"

static int cache_has_failed;

/// The name of an entry in the folder, which is made; NULL if there is none.
static const char *cache_entry(const Job *job, const char *command)
{
    const char *own = getenv("FFCRF_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char *folder    = cache_has_failed   ? NULL :
                      own && *own        ? text("%s/", own) :
                      xdg && *xdg == '/' ? text("%s/ffcrf/", xdg) :
                      home && *home      ? text("%s/.cache/ffcrf/", home) : NULL;
    char digits[2 * AV_HASH_MAX_SIZE + 1];
    struct AVHashContext *hash;

    for (char *p = folder; p && (p = strchr(p + 1, '/')); *p = '/') {
        *p = 0;
        if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
            tell("The cache '%s' cannot be made: %s. Nothing is kept. Set FFCRF_CACHE to a "
                 "folder.\n", folder, strerror(errno));
            cache_has_failed = 1;
            return NULL;
        }
    }
    if (!folder)
        return NULL;
    if (av_hash_alloc(&hash, "SHA160") < 0)
        checked(NULL);
    av_hash_init(hash);
    av_hash_update(hash, job->version, strlen(job->version));
    // files with other contents have packets of other sizes
    av_hash_update(hash, (uint8_t *)job->in->unit, job->in->nb_units * sizeof(*job->in->unit));
    av_hash_update(hash, command, strlen(command));
    av_hash_final_hex(hash, digits, sizeof(digits));
    av_hash_freep(&hash);
    return text("%s%s", folder, digits);
}

/// @return whether there was a complete result
static int cache_get(const char *path, Result *r)
{
    FILE *f = fopen(path, "r");
    char end[8] = "";
    double score;

    if (!f)
        return 0;
    if (fscanf(f, MAGIC " %d %"SCNd64" %lf", &r->nb_frames, &r->bytes, &r->seconds) == 3)
        while (fscanf(f, "%lf", &score) == 1 && isfinite(score))
            score_add(r, score);
    if (fscanf(f, "%7s", end) != 1 || strcmp(end, "end"))
        *r = (Result){ 0 };
    fclose(f);
    return r->nb_scores;
}

static void cache_put(const char *path, const Result *r)
{
    const char *temporary = text("%s.%d.tmp", path, getpid());
    FILE *f = fopen(temporary, "w");
    int bad = !f;

    if (f) {
        fprintf(f, MAGIC "\n%d %"PRId64" %.6f\n", r->nb_frames, r->bytes, r->seconds);
        for (int i = 0; i < r->nb_scores; i++)
            fprintf(f, "%.9g\n", r->score[i]);
        fputs("end\n", f);
        bad = ferror(f);
        // it gets its name when it is complete
        bad = fclose(f) || bad || rename(temporary, path) < 0;
    }
    if (bad) {
        tell("The cache '%s' cannot be written: %s. The search goes on, and what it finds is not "
             "kept.\n", path, strerror(errno));
        unlink(temporary);
        cache_has_failed = 1;
    }
}

// ---- commands that score ----

/// The names of planes that have scores of their own; others are for all planes.
#define SCORED_PLANES "yuvrgba"

/// What such a command has printed.
typedef struct Lines {
    const Metric *metric;
    int expected;               ///< frames
    int nb_frames, nb_packets, nb_decoded;
    int64_t bytes;
    Result planes[sizeof(SCORED_PLANES)];
} Lines;

static void take_line(void *lines, const char *line)
{
    Lines *l = lines;
    Result *r = l->planes;
    const char *key = l->metric->key, *value, *plane;

    if (av_strstart(line, LINE_FRAME "\n", NULL)) {
        l->nb_frames++;
    } else if (av_strstart(line, LINE_PACKET, &value)) {
        l->nb_packets++;
        l->bytes += atoll(value);
    } else if (av_strstart(line, LINE_DECODED "\n", NULL)) {
        progress_show(++l->nb_decoded, l->expected);
    } else if (av_strstart(line, key, &value)) {
        if ((plane = strchr(SCORED_PLANES, *value))) {
            r     += 1 + plane - SCORED_PLANES;
            value += 2;
        }
        // decibels are infinite where planes are equal
        score_add(r, FFMIN(strtod(value, NULL), l->metric->scale.is_in_decibels ? 100 : INFINITY));
    }
}

static int run_lines(const Job *job, const char *command, Lines *lines)
{
    int ret;

    if (!strcmp(job->o->loglevel, "verbose"))
        tell("%s\n", command);
    ret = run(command, take_line, lines);
    return ret <= 0 ? ret : fail("ffmpeg failed%s%s", *first_error ? ": " : "", first_error);
}

int run_first(const Job *job, const char *command)
{
    return run_lines(job, command, &(Lines){ job->o->metric });
}

int run_measure(const Job *job, const char *command, int is_kept, int nb_frames, int step,
                Result *r)
{
    const Metric *m     = job->o->metric;
    const int64_t begin = av_gettime_relative();
    const char *entry   = is_kept ? cache_entry(job, command) : NULL;
    Lines l = { m, nb_frames };
    int least, most;

    *r = (Result){ 0 };
    if (entry && cache_get(entry, r))
        return 1;
    if (run_lines(job, command, &l) < 0)
        return -1;
    // the plane that is worst over all frames, as xpsnr's own summary has it
    for (int i = 0; i < FF_ARRAY_ELEMS(l.planes); i++)
        if (l.planes[i].nb_scores && (!r->nb_scores ||
            reaches(&m->scale, score_mean(m, r), score_mean(m, &l.planes[i]))))
            *r = l.planes[i];
    r->seconds   = (av_gettime_relative() - begin) / 1e6;
    r->bytes     = l.bytes;
    r->nb_frames = l.nb_decoded;
    most         = (l.nb_decoded + step - 1) / step;
    least        = l.nb_decoded / step;     // what is shorter than a step may have none
    if (l.nb_frames != l.nb_decoded || l.nb_packets && l.nb_packets != l.nb_frames)
        return fail("The encode has %d frames, of %d packets, and what it is compared with has %d "
                    "frames: without pairs there is no score. %s", l.nb_decoded, l.nb_packets,
                    l.nb_frames, job->o->verify ? "Give the part, -vf and -r that it was made with."
                                                : "Leave out what drops or adds frames.");
    if (r->nb_scores < FFMAX(least, 1) || r->nb_scores > most)
        return fail("Of %d frames %d were scored, and not %d.", l.nb_decoded, r->nb_scores, most);
    if (!isfinite(score_mean(m, r)))
        return fail("%s has no score for these pictures: take another metric.", m->name);
    if (entry)
        cache_put(entry, r);
    return 0;
}
