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

/** @file ffcrf: find the CRF of an encoder that gives an encode a wanted quality. */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/// As of all quality tools.
enum { EXIT_FOUND, EXIT_MISSED, EXIT_FAILED, EXIT_SIGNAL = 128 };

#define SIZE_ERROR   0.1    ///< samples are added while the predicted size may be off by more
#define MOST_SAMPLES 24     ///< that are reached by that
#define LEAST_ERROR  0.08   ///< of the size that samples leave out, however alike they are

static Job job;

static Sample sample[1000];
static Result result[FF_ARRAY_ELEMS(sample)];   ///< of the CRF that is tried
static int nb_samples;
static int nb_places;                           ///< number of samples if each had packets

static Point point[SEARCH_MOST];                ///< by rising CRF
static int nb_points;

// ---- samples ----

static void place_sample(double start, double duration)
{
    Sample s = { start, duration };
    double first = INFINITY;

    // ffmpeg begins with the first frame after the start, and takes the duration from there
    for (const struct Unit *u = job.in.unit; u < job.in.unit + job.in.nb_units; u++)
        if (u->time >= start)
            first = FFMIN(first, u->time);
    for (const struct Unit *u = job.in.unit; u < job.in.unit + job.in.nb_units; u++)
        if (!duration || u->time >= first && u->time < first + duration) {
            s.bytes += u->size;
            s.nb_frames++;
        }
    s.step = scoring_step(&job, s.nb_frames);
    if (!duration || first < start + duration)
        sample[nb_samples++] = s;
}

/// Place samples over the video, with equal gaps. The samples of the last call, about half of them,
/// are among these. @return whether there is room: they are not most of the video
static int place_samples(int nb)
{
    const double duration = job.duration / 1e6, gap = (job.in.seconds - nb * duration) / (nb + 1);

    if (job.nb_frames || !job.in.seekable || nb * duration >= job.in.seconds * 0.85)
        return 0;
    for (int i = 0, step = nb_places ? 2 : 1; i < nb; i += step)
        place_sample(gap * (i + 1) + duration * i, duration);
    nb_places = nb;
    return nb_samples > 0;
}

// ---- output ----

/// A number that is not finite becomes null.
static const char *json_number(double n)
{
    return isfinite(n) ? text("%.*g", n == rint(n) ? 15 : 10, n) : "null";
}

/// Bytes that are not valid UTF-8 (names of files may have any) become U+FFFD.
static const char *json_string(const char *value)
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

/// Write an object as a line to standard output: keys, each with its value, and NULL.
static void json_write(const char *type, ...)
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

#define NUMBER(key, n) key, json_number(n)
#define STRING(key, s) key, json_string(s)
#define SCORE(score, mean)                                                            \
    STRING("metric", job.metric->name), STRING("pool", job.pool), NUMBER("score", score), \
    NUMBER("mean", mean)
#define RESULT(r, source)                                                             \
    NUMBER("frames", (r)->nb_frames), NUMBER("scored_frames", (r)->nb_scores),        \
    NUMBER("size", (r)->bytes), NUMBER("encode_percent", 100. * (r)->bytes / (source))

/// Last key of an object: the score as in ab-av1, for the metrics that ab-av1 has.
#define AB_AV1_SCORE(n) \
    NUMBER(av_match_name(job.metric->name, "vmaf,xpsnr") ? job.metric->name : NULL, n)

/// 12.34 MB or 5.67 kB
static const char *size_text(double bytes)
{
    return bytes < 1e5 ? text("%.2f kB", bytes / 1e3) : text("%.2f MB", bytes / 1e6);
}

/// A score as it is printed: with its pool and the mean, unless it is the mean.
static const char *score_text(double score, double mean)
{
    const Metric *m = job.metric;

    return *job.pool == 'm' ? text("%s %.*f", m->name, m->digits, score) :
           text("%s %s %.*f, mean %.*f", m->name, job.pool, m->digits, score, m->digits, mean);
}

/// Encode and score a sample with a CRF. @return 1 if the result was kept, 0, or -1 after a message
static int try_sample(int number, double crf)
{
    const Sample *s   = &sample[number];
    Result *r         = &result[number];
    // a guess: the number of CRFs that will be tried
    const int nb_crfs = job.plan.min_crf == job.plan.max_crf ? 1 : FFMAX(4, nb_points + 1);
    int ret;

    progress_begin(text("CRF %g, sample %d of %d, ", crf, number + 1, nb_samples),
                   (nb_crfs - nb_points) * (double)nb_samples - number);
    ret = encode_part(&job, crf, s, NULL, r);
    if (job.json && ret >= 0)
        json_write("sample-encode-done", NUMBER("sample", number + 1),
                   NUMBER("samples", nb_samples), NUMBER("start", job.start / 1e6 + s->start),
                   NUMBER("seconds", s->duration ? s->duration : job.in.seconds),
                   NUMBER("crf", crf),
                   SCORE(score_pool(job.metric, job.pool, r, 1), score_mean(job.metric, r)),
                   RESULT(r, s->bytes),
                   NUMBER("encode_seconds", r->seconds), "from_cache", ret ? "true" : "false",
                   AB_AV1_SCORE(score_mean(job.metric, r)), NULL);
    return ret;
}

// ---- the search ----

/// What the whole encode will be: its size is to the source's as that of the samples is to theirs,
/// and may differ from that as much as the samples do.
static void predict(Point *p)
{
    const int nb = nb_samples, is_all = !sample->duration;
    const double seen = is_all ? 1 : nb * sample->duration / job.in.seconds, unseen = 1 - seen;
    double bytes = 0, source = 0, seconds = 0, squares = 0;

    for (int i = 0; i < nb; i++) {
        bytes   += result[i].bytes;
        source  += FFMAX(sample[i].bytes, 1);
        seconds += result[i].seconds;
    }
    for (int i = 0; i < nb; i++)
        squares += pow(result[i].bytes - bytes / source * sample[i].bytes, 2);
    p->seconds = seconds / seen;
    p->percent = 100 * bytes / source;
    p->size    = is_all ? bytes : job.in.bytes * bytes / source;
    // the standard error, times about what Student's t is for 90 %
    p->size_error = is_all ? 0 : nb == 1 ? NAN : p->size *
                    FFMAX(sqrt(squares * nb / (nb - 1) * unseen) / bytes * (1.65 + 2.5 / (nb - 1)),
                          LEAST_ERROR * unseen);
}

/// Encode all samples with a CRF. The first CRF tells how many samples it takes.
static int try_crf(double crf)
{
    Point p = { .crf = crf };
    int i, nb = 0, nb_cached = 0, ret;

    do {
        for (; nb < nb_samples; nb++) {
            if ((ret = try_sample(nb, crf)) < 0)
                return -1;
            nb_cached += ret;
        }
        predict(&p);
    } while (!nb_points && p.size_error > SIZE_ERROR * p.size && !job.samples &&
             2 * nb_places < MOST_SAMPLES && place_samples(2 * nb_places + 1));
    p.score = score_pool(job.metric, job.pool, result, nb);
    p.mean  = score_pool(job.metric, "mean", result, nb);
    tell("CRF %g: %s, %.1f %% of the source's video%s\n", crf, score_text(p.score, p.mean),
         p.percent, nb_cached == nb ? " (from the cache)" : "");
    for (i = nb_points++; i > 0 && point[i - 1].crf > crf; i--)
        point[i] = point[i - 1];
    point[i] = p;
    return 0;
}

/// @return an exit status, or -1
static int search(const Point **found)
{
    static const char *const why[] = {
        [SEARCH_TOLERANCE] = "is within the tolerance",
        [SEARCH_EXACT]     = "is the highest that reaches the target",
        [SEARCH_NEAR]      = "is at most 0.4 below the highest that reaches the target",
        [SEARCH_LAST]      = "is the highest that may be tried",
    };
    const double target = job.plan.target;
    const Point *p;
    SearchState state;
    double crf;

    while ((state = search_next(&job.plan, point, nb_points, &crf, found)) == SEARCH_TRY)
        if (try_crf(crf) < 0)
            return -1;
    p = *found;
    // a larger size helps only where a lower CRF may be tried
    if (state == SEARCH_TOO_LARGE && p->crf <= search_first(&job.plan) * job.plan.increment &&
        !reaches(job.metric, p->score, target))
        state = SEARCH_MISSED;
    if (state == SEARCH_MISSED)
        fail("Not reachable: even CRF %g gives %s, which does not reach %g. Allow lower CRFs with "
             "--min-crf, or take an easier target.", p->crf, score_text(p->score, p->mean), target);
    else if (state == SEARCH_TOO_LARGE)
        fail("Not reachable: CRF %g has %.1f %% of the source's size, and gives %s for a target of "
             "%g. Allow more with --max-encoded-percent.", p->crf, p->percent,
             score_text(p->score, p->mean), target);
    else if (job.has_target)
        tell("CRFs tried: %d. CRF %g %s.\n", nb_points, p->crf, why[state]);
    return state >= SEARCH_MISSED ? EXIT_MISSED : EXIT_FOUND;
}

// ---- what is found ----

static const char *target_text(void)
{
    return job.has_target ? text(" (target %g)", job.plan.target) : "";
}

/// Print the prediction of the whole encode.
static void report(const Point *p, const char *command)
{
    const double lowest = p->size_error > p->size ? 0 : p->size - p->size_error;
    const double most   = p->size + p->size_error;

    if (job.json)
        json_write("crf-search-done", NUMBER("crf", p->crf), SCORE(p->score, p->mean),
                   NUMBER("target", job.plan.target),
                   NUMBER("predicted_encode_percent", p->percent),
                   NUMBER("predicted_encode_size", rint(p->size)),
                   NUMBER("predicted_encode_size_min", rint(lowest)),
                   NUMBER("predicted_encode_size_max", rint(most)),
                   NUMBER("predicted_encode_seconds", p->seconds), STRING("command", command),
                   AB_AV1_SCORE(p->score), NULL);
    else
        printf("CRF %g: %s%s, about %s%s, %.1f %% of the %s of the source's video, in %s\n%s\n",
               p->crf, score_text(p->score, p->mean), target_text(), size_text(p->size),
               p->size_error > 0 ? text(" (%s to %s)", size_text(lowest), size_text(most)) : "",
               p->percent, size_text(job.in.bytes), clock_time(p->seconds), command);
    fflush(stdout);
}

/// Tell the score of a whole encode. @return an exit status
static int report_whole(const Result *r)
{
    const char *path   = job.verify ? job.verify : job.encode;
    const Metric *m    = job.metric;
    // samples may have been a little better
    const double slack = job.verify ? 0 : job.plan.tolerance * (m->higher_is_better ? 1 : -1);
    const double score = score_pool(m, job.pool, r, 1), mean = score_mean(m, r);
    const double target = job.plan.target;
    const int reached  = reaches(m, score, target - slack);

    if (job.json)
        json_write("verify-done", STRING("file", path), SCORE(score, mean),
                   NUMBER("target", target), RESULT(r, job.in.bytes),
                   "reached", !job.has_target ? "null" : reached ? "true" : "false",
                   AB_AV1_SCORE(score), NULL);
    else
        printf("%s: %s%s over %d of %d frames, %s, %.1f %% of the %s of the source's video\n",
               shell_quote(path), score_text(score, mean), target_text(), r->nb_scores,
               r->nb_frames, size_text(r->bytes), 100. * r->bytes / job.in.bytes,
               size_text(job.in.bytes));
    if (!reached)
        tell("'%s' misses the target%s.\n", path, job.verify ? "" :
             ": the samples are better than the rest. Take more samples");
    return reached ? EXIT_FOUND : EXIT_MISSED;
}

/// Report the CRF that was found; with --encode, make the encode and score it meanwhile.
static int finish(const Point *found)
{
    const char *ending = text("crf%g.mkv", found->crf);
    const char *output = job.encode ? job.encode :
                         strstr(job.input, "://") ? ending : output_name(job.input, ending);
    Result r;

    report(found, encode_command(&job, found->crf, output));
    if (!job.encode)
        return EXIT_FOUND;
    progress_begin("the whole encode, ", 1);
    return encode_whole(&job, found->crf, &r) < 0 ? -1 : report_whole(&r);
}

// ---- set-up ----

/// Search, and encode. @return an exit status, or -1
static int find_crf(void)
{
    const Point *found;
    double nb;
    int ret;

    if (encode_first(&job) < 0)
        return -1;
    nb = job.samples ? job.samples : FFMAX(ceil(job.in.seconds * 1e6 / job.every), job.min_samples);
    if (!place_samples(FFMIN(nb, FF_ARRAY_ELEMS(sample))))
        place_sample(0, 0);       // the whole
    ret = search(&found);
    return ret == EXIT_FOUND ? finish(found) : ret;
}

int main(int argc, char **argv)
{
    Result whole;
    int status;

    // what libavutil says of options is said in other words
    av_log_set_level(AV_LOG_QUIET);
    // SVT-AV1 has a log of its own: errors only
    setenv("SVT_LOG", "1", 0);

    status = options_parse(&job, argc, argv);
    av_log_set_level(AV_LOG_ERROR);
    if (status >= 0 && job.help) {
        options_print_help();
    } else if (status >= 0 && job.version) {
        printf("ffcrf %s, libavformat %s\n", QUALITY_VERSION, av_version_info());
    } else if (status >= 0) {
        progress_begin("the whole encode, ", 1);
        status = encode_init(&job) < 0 ? -1 : !job.verify ? find_crf() :
                 encode_verify(&job, &whole) < 0 ? -1 : report_whole(&whole);
    }
    if (status < 0)
        status = EXIT_FAILED;
    if (caught_signal) {
        tell("Ended by signal %d.%s\n", caught_signal, nb_samples && job.cache ? " Finished work "
             "is in the cache: to continue, run the same command again." : "");
        status = EXIT_SIGNAL + caught_signal;
    } else if (job.json && last_error) {
        json_write(status == EXIT_MISSED ? "crf-search-error" : "error",
                   STRING("message", last_error), NULL);
    }
    if (fflush(stdout) || ferror(stdout)) {
        tell("Standard output cannot be written: %s.\n", strerror(errno));
        status = status ? status : EXIT_FAILED;
    }
    return status;
}
