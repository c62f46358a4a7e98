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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libavutil/pixdesc.h"

#include "run.h"
#include "text.h"

/// As of all quality tools.
enum { EXIT_FOUND, EXIT_MISSED, EXIT_FAILED, EXIT_SIGNAL = 128 };

#define SIZE_ERROR   0.1    ///< samples are added while the predicted size may be off by more
#define MOST_SAMPLES 24     ///< that are reached by that
#define LEAST_ERROR  0.08   ///< of the size that samples leave out, however alike they are
#define LEAST_SCORED 16     ///< frames of each sample, if it has them

/// A part of the source that is encoded. Times are in seconds.
typedef struct Sample {
    double start, duration;     ///< in what is taken of the source; duration 0: all
    int64_t bytes;              ///< of the source
    int nb_frames;              ///< of the source
    int step;                   ///< one of this many frames is scored
} Sample;

typedef struct Search {
    Options o;
    Input in;
    Job job;
    Sample sample[1000];
    int nb_samples;
    Point point[SEARCH_MOST];   ///< by rising CRF
    int nb_points;
} Search;

// ---- samples ----

static void lay_sample(Search *s, double start, double duration)
{
    Sample *sample = &s->sample[s->nb_samples++];

    *sample           = (Sample){ start, duration };
    sample->nb_frames = input_count(&s->in, start, duration ? duration : INFINITY, &sample->bytes);
    sample->step      = av_clip(sample->nb_frames / LEAST_SCORED, 1, s->o.step);
}

/// Lay so many samples over the video, with equal gaps. Those that were laid before, about half of
/// them, are among these. @return whether there is room: they are not most of the video
static int lay_samples(Search *s, int nb)
{
    const double duration = s->o.duration / 1e6, gap = (s->in.seconds - nb * duration) / (nb + 1);

    if (s->o.nb_frames || nb * duration >= s->in.seconds * 0.85)
        return 0;
    for (int i = 0, step = s->nb_samples ? 2 : 1; i < nb; i += step)
        lay_sample(s, gap * (i + 1) + duration * i, duration);
    return 1;
}

#define JSON_RESULT(r, source)                                                          \
    { "frames", (r)->nb_frames }, { "scored_frames", (r)->nb_scores },                  \
    { "size", (r)->bytes }, { "encode_percent", 100. * (r)->bytes / (source) }

/// As it is printed.
static const char *score_text(const Search *s, double score)
{
    const Metric *m = s->o.metric;

    return text("%s %.*f", m->name, m->digits, score);
}

/// Encode and score a sample with a CRF. @return 1 if the result was kept, 0, or -1 after a message
static int try_sample(Search *s, int number, double crf, Result *r)
{
    const Sample *sample = &s->sample[number];
    const Options *o     = &s->o;
    // a guess: the number of CRFs that will be tried
    const int nb_crfs    = o->plan.min_crf == o->plan.max_crf ? 1 : FFMAX(4, s->nb_points + 1);
    int ret;

    progress_begin(text("CRF %g, sample %d of %d, ", crf, number + 1, s->nb_samples),
                   (nb_crfs - s->nb_points) * (double)s->nb_samples - number);
    ret = run_measure(&s->job, command_sample(&s->job, crf, sample->start, sample->duration,
                                              sample->step),
                      o->cache, sample->nb_frames, sample->step, r);
    if (o->json && ret >= 0)
        JSON("sample-encode-done", { "sample", number + 1 }, { "samples", s->nb_samples },
             { "start", o->start / 1e6 + sample->start },
             { "seconds", sample->duration ? sample->duration : s->in.seconds }, { "crf", crf },
             { "metric", .string = o->metric->name }, { "score", score_mean(o->metric, r) },
             JSON_RESULT(r, sample->bytes), { "encode_seconds", r->seconds },
             { "from_cache", JSON_BOOL(ret) });
    return ret;
}

// ---- the search ----

/// What the whole encode will be: its size is to the source's as that of the samples is to theirs,
/// and may differ from that as much as the samples do.
static void predict(const Search *s, const Result *result, Point *p)
{
    const int nb = s->nb_samples, is_all = !s->sample->duration;
    const double seen = is_all ? 1 : nb * s->sample->duration / s->in.seconds, unseen = 1 - seen;
    double bytes = 0, source = 0, seconds = 0, squares = 0;

    for (int i = 0; i < nb; i++) {
        bytes   += result[i].bytes;
        source  += FFMAX(s->sample[i].bytes, 1);
        seconds += result[i].seconds;
    }
    for (int i = 0; i < nb; i++)
        squares += pow(result[i].bytes - bytes / source * s->sample[i].bytes, 2);
    p->seconds = seconds / seen;
    p->percent = 100 * bytes / source;
    p->size    = is_all ? bytes : s->in.bytes * bytes / source;
    // the standard error, times about what Student's t is for 90 %
    p->size_error = is_all ? 0 : nb == 1 ? NAN : p->size *
                    FFMAX(sqrt(squares * nb / (nb - 1) * unseen) / bytes * (1.65 + 2.5 / (nb - 1)),
                          LEAST_ERROR * unseen);
}

/// Encode all samples with a CRF. The first CRF tells how many samples it takes.
static int try_crf(Search *s, double crf)
{
    Result result[FF_ARRAY_ELEMS(s->sample)];
    Point p = { .crf = crf };
    int i, nb = 0, nb_cached = 0, ret;

    do {
        for (; nb < s->nb_samples; nb++) {
            if ((ret = try_sample(s, nb, crf, &result[nb])) < 0)
                return -1;
            nb_cached += ret;
        }
        predict(s, result, &p);
    } while (!s->nb_points && p.size_error > SIZE_ERROR * p.size && !s->o.samples &&
             2 * nb < MOST_SAMPLES && lay_samples(s, 2 * nb + 1));
    p.score = score_pool(s->o.metric, s->o.pool, result, nb);
    tell("CRF %g: %s, %.1f %% of the source's video%s\n", crf, score_text(s, p.score), p.percent,
         nb_cached == nb ? " (from the cache)" : "");
    for (i = s->nb_points++; i > 0 && s->point[i - 1].crf > crf; i--)
        s->point[i] = s->point[i - 1];
    s->point[i] = p;
    return 0;
}

/// @return an exit status, or -1
static int search(Search *s, const Point **found)
{
    static const char *const why[] = {
        [SEARCH_TOLERANCE] = "is within the tolerance",
        [SEARCH_EXACT]     = "is the highest that reaches the target",
        [SEARCH_NEAR]      = "is at most 0.4 below the highest that reaches the target",
        [SEARCH_LAST]      = "is the highest that may be tried",
    };
    const double target = s->o.plan.target;
    const Point *p;
    SearchState state;
    double crf;

    while ((state = search_next(&s->o.plan, s->point, s->nb_points, &crf, found)) == SEARCH_TRY)
        if (try_crf(s, crf) < 0)
            return -1;
    p = *found;
    if (state == SEARCH_MISSED)
        fail("Not reachable: even CRF %g gives %s, which does not reach %g. Allow lower CRFs with "
             "--min-crf, or take an easier target.", p->crf, score_text(s, p->score), target);
    else if (state == SEARCH_TOO_LARGE)
        fail("Not reachable: CRF %g has %.1f %% of the source's size, and gives %s for a target of "
             "%g. Allow more with --max-encoded-percent.", p->crf, p->percent,
             score_text(s, p->score), target);
    else
        tell("CRFs tried: %d. CRF %g %s.\n", s->nb_points, p->crf, why[state]);
    return state >= SEARCH_MISSED ? EXIT_MISSED : EXIT_FOUND;
}

// ---- what is found ----

/// What the search predicts of the whole encode.
static void report(const Search *s, const Point *p, const char *command)
{
    const Metric *m     = s->o.metric;
    const double target = s->o.plan.target;
    const double lowest = p->size_error > p->size ? 0 : p->size - p->size_error;
    const double most   = p->size + p->size_error;

    if (s->o.json)
        JSON("crf-search-done", { "crf", p->crf }, { "metric", .string = m->name },
             { "pool", .string = s->o.pool }, { "score", p->score }, { "target", target },
             { "predicted_encode_percent", p->percent }, { "predicted_encode_size", rint(p->size) },
             { "predicted_encode_size_min", rint(lowest) },
             { "predicted_encode_size_max", rint(most) },
             { "predicted_encode_seconds", p->seconds }, { "command", .string = command });
    else
        printf("CRF %g: %s%s, about %.2f MB%s, %.1f %% of the %.2f MB of the source's video, "
               "in %s\n%s\n", p->crf, score_text(s, p->score),
               target != m->scale.worst ? text(" (target %g)", target) : "", p->size / 1e6,
               p->size_error > 0 ? text(" (%.2f to %.2f)", lowest / 1e6, most / 1e6) : "",
               p->percent, s->in.bytes / 1e6, clock_time(p->seconds), command);
    fflush(stdout);
}

/// Tell the score of a whole encode. @return an exit status
static int report_whole(const Search *s, const char *path, const Result *r)
{
    const Options *o   = &s->o;
    const Metric *m    = o->metric;
    // samples may have been a little better
    const double slack = o->encode ? o->plan.tolerance : 0;
    const double score = score_pool(m, o->pool, r, 1);
    const int reached  = reaches(&m->scale, score, o->plan.target +
                                 (m->scale.higher_is_better ? -slack : slack));

    if (o->json)
        JSON("verify-done", { "file", .string = path }, { "metric", .string = m->name },
             { "score", score }, { "target", o->plan.target }, JSON_RESULT(r, s->in.bytes),
             { "reached", JSON_BOOL(reached) });
    else
        printf("%s: %s (target %g) over %d of %d frames, %.2f MB, %.1f %% of the %.2f MB of the "
               "source's video\n", path, score_text(s, score), o->plan.target, r->nb_scores,
               r->nb_frames, r->bytes / 1e6, 100. * r->bytes / s->in.bytes,
               s->in.bytes / 1e6);
    if (!reached)
        tell("'%s' misses the target%s.\n", path, o->encode ?
             ": the samples are better than the rest. Take more samples" : "");
    return reached ? EXIT_FOUND : EXIT_MISSED;
}

/// What an output is called until it is complete.
static const char *part_name(const char *output)
{
    return output_name(output, text("part%s", strrchr(output, '.')));
}

/// Refuse an output that cannot be written, or that would destroy something.
static int check_output(const Search *s)
{
    const char *output = s->o.encode, *part;
    struct stat in, out;
    AVIOContext *io;
    int ret;

    if (!stat(output, &out) &&
        (!s->o.overwrite || !S_ISREG(out.st_mode) || !stat(s->o.input, &in) &&
         in.st_dev == out.st_dev && in.st_ino == out.st_ino))
        return fail("'%s' is there already, and --encode would overwrite it: give another name, or "
                    "-y to replace a file that is not the input.", output);
    if (!command_whole(&s->job, 0, output, 0, 0))
        return -1;
    part = part_name(output);
    if ((ret = avio_open(&io, part, AVIO_FLAG_WRITE)) < 0)
        return fail("No file can be written to '%s': %s.", output, av_err2str(ret));
    avio_closep(&io);
    unlink(part);
    return 0;
}

/// Tell what was found; with --encode make it, and score it meanwhile.
static int finish(Search *s, const Point *found)
{
    const char *input  = s->o.input, *output = s->o.encode, *part;
    const char *ending = text("crf%g.mkv", found->crf);
    const char *command;
    Result r;
    int ret;

    if (!output)
        output = strstr(input, "://") ? ending : output_name(input, ending);
    if (!(command = command_whole(&s->job, found->crf, output, 0, 1)))
        return -1;
    report(s, found, command);
    if (!s->o.encode)
        return EXIT_FOUND;

    part    = part_name(output);
    command = command_whole(&s->job, found->crf, part, 1, 0);
    progress_begin("the whole encode, ", 1);
    ret = command ? run_measure(&s->job, command, 0, s->in.nb_units, s->o.step, &r) : -1;
    if (ret >= 0 && rename(part, output) < 0)
        ret = fail("'%s' cannot get its name: %s.", output, strerror(errno));
    if (ret < 0)
        unlink(part);
    return ret < 0 ? ret : report_whole(s, output, &r);
}

// ---- set-up ----

/// Score on a GPU only if one can. @return 0, or -1 if the one that was asked for cannot
static int check_gpu(Search *s)
{
    const char *const gpu = s->o.gpu, *metric = s->o.metric->name, *upload = NULL, *ignored;
    Job *job         = &s->job;
    const int format = job->encode->format;

    if (!strcmp(gpu, "off"))
        return 0;
    if (format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P)
        upload = "nv12";
    else if (format == AV_PIX_FMT_YUV420P10)
        upload = "p010";
    if (upload && !s->o.device && !job->is_mixed &&
        !run_ask(job, text("-v %s -init_hw_device cuda=gpu:%d -filter_hw_device gpu -f lavfi -i "
                           "color=s=320x320:d=0.04 -vf format=%s,hwupload,split,%s_cuda -f null -",
                           *gpu ? "error" : "quiet", atoi(gpu), upload, metric), &ignored))
        job->upload = upload;
    if (job->upload || !*gpu)
        return 0;
    if (strcmp(gpu, "auto"))
        return fail("--gpu %s: it cannot score %s of this format, see -pix_fmt.", gpu, metric);
    tell("Scoring on the CPU: no GPU can score %s of this format.\n", metric);
    return 0;
}

static int find_encoder(Search *s)
{
    static const char *const defaults[] = { "libsvtav1", "libx265", "libx264" };
    const double rate   = av_q2d(av_guess_frame_rate(s->in.format, s->in.stream, NULL));
    const int is_chosen = !!s->o.encoder;
    const char *help    = "";

    for (int i = 0; i < (is_chosen ? 1 : FF_ARRAY_ELEMS(defaults)) && !strstr(help, "-crf "); i++) {
        if (!is_chosen)
            s->o.encoder = text("%s", defaults[i]);
        if (run_ask(&s->job, text("-h %s", command_word(text("encoder=%s", s->o.encoder))),
                    &help) < 0)
            return -1;
    }
    return options_take_encoder(&s->o, help, rate);
}

/// Encode a first frame, to see what becomes of it, and that all that was asked for works.
static int encode_first(Search *s)
{
    FILE *f = tmpfile();
    Input first;

    if (!f)
        return fail("There can be no temporary file: %s.", strerror(errno));
    if (find_encoder(s) < 0 ||
        run_first(&s->job, command_first(&s->job, s->o.plan.min_crf, fileno(f))) < 0 ||
        input_open(&first, text("/dev/fd/%d", fileno(f))) < 0)
        return -1;
    fclose(f);
    s->job.encode = first.stream->codecpar;
    return s->job.encode->format >= 0 ? 0 :
           fail("The pixel format of %s is not known.", s->o.encoder);
}

/// @return an exit status, or -1
static int verify(Search *s)
{
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(s->in.stream->codecpar->format), *to;
    Job *job = &s->job;
    Input encode;
    Result r;

    if (input_open(&encode, s->o.verify) < 0 || input_scan(&encode, 0, 0, 0) < 0)
        return -1;
    job->encode = encode.stream->codecpar;
    to = av_pix_fmt_desc_get(job->encode->format);
    // vmaf compares 8 bits with the 10 that they were made of, and need not round these
    job->is_mixed = !strcmp(s->o.metric->name, "vmaf") && from && from->comp[0].depth > 8 &&
                    to && av_get_pix_fmt(text("%s10", to->name)) != AV_PIX_FMT_NONE;
    if (check_gpu(s) < 0)
        return -1;
    progress_begin("the whole encode, ", 1);
    if (run_measure(job, command_verify(job, &encode), 0, encode.nb_units, s->o.step, &r) < 0)
        return -1;
    r.bytes = encode.bytes;
    return report_whole(s, s->o.verify, &r);
}

/// @return an exit status, or -1 after a message
static int run_all(Search *s)
{
    const Options *o = &s->o;
    const Point *found;
    double nb;
    int ret;

    s->job = (Job){ o, &s->in, command_ffmpeg() };
    if (input_open(&s->in, o->input) < 0 ||
        input_scan(&s->in, o->start / 1e6, o->length / 1e6, o->nb_frames) < 0)
        return -1;
    run_catch_signals();
    if (o->verify)
        return verify(s);
    // what is wrong with the output is better known before the search than after it
    if (run_ask(&s->job, "-version", &s->job.version) < 0 || encode_first(s) < 0 ||
        check_gpu(s) < 0 || o->encode && check_output(s) < 0)
        return -1;
    nb = o->samples ? o->samples : FFMAX(ceil(s->in.seconds * 1e6 / o->every), o->min_samples);
    if (!lay_samples(s, FFMIN(nb, FF_ARRAY_ELEMS(s->sample))))
        lay_sample(s, 0, 0);    // the whole
    ret = search(s, &found);
    return ret == EXIT_FOUND ? finish(s, found) : ret;
}

int main(int argc, char **argv)
{
    static Search s;
    int status;

    // what libavutil says of options is said in other words
    av_log_set_level(AV_LOG_QUIET);
    // SVT-AV1 has a log of its own: errors only
    setenv("SVT_LOG", "1", 0);

    status = options_parse(&s.o, argc, argv);
    av_log_set_level(AV_LOG_ERROR);
    if (status >= 0 && s.o.help)
        options_print_help();
    else if (status >= 0 && s.o.version)
        printf("ffcrf %s, libavformat %s\n", QUALITY_VERSION, av_version_info());
    else if (status >= 0)
        status = run_all(&s);
    if (status < 0)
        status = EXIT_FAILED;
    if (caught_signal) {
        tell("Ended by signal %d.%s\n", caught_signal, s.nb_samples && s.o.cache ? " Finished work "
             "is in the cache: to continue, run the same command again." : "");
        status = EXIT_SIGNAL + caught_signal;
    } else if (s.o.json && last_error) {
        JSON(status == EXIT_MISSED ? "crf-search-error" : "error",
             { "message", .string = last_error });
    }
    if (fflush(stdout) || ferror(stdout)) {
        tell("Standard output cannot be written: %s.\n", strerror(errno));
        status = status ? status : EXIT_FAILED;
    }
    return status;
}
