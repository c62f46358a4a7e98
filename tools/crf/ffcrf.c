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
#include <unistd.h>

#include "libavutil/common.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"
#include "libavutil/time.h"

#include "cache.h"
#include "command.h"
#include "input.h"
#include "options.h"
#include "process.h"
#include "search.h"
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
    const char *cache;          ///< its folder, or NULL
    const char *facts;          ///< what results depend on, beside the commands
    Sample sample[1000];
    int nb_samples;
    Point point[SEARCH_MOST];   ///< by rising CRF
    int nb_points;
} Search;

// ---- running commands ----

/// What a command that scores has printed.
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
    const char *size;

    if (av_strstart(line, LINE_FRAME "\n", NULL)) {
        l->nb_frames++;
    } else if (av_strstart(line, LINE_PACKET, &size)) {
        l->nb_packets++;
        l->bytes += atoll(size);
    } else if (av_strstart(line, LINE_DECODED "\n", NULL)) {
        progress_show(++l->nb_decoded, l->expected);
    } else {
        score_read(l->metric, line, l->planes);
    }
}

/// Run a command that does what was asked for.
static int run(const Options *o, const char *command, Lines *lines)
{
    const char *error;
    int ret;

    if (!strcmp(o->loglevel, "verbose"))
        tell("%s\n", command);
    ret = process_run(command, take_line, lines, &error);
    return ret <= 0 ? ret : fail("ffmpeg failed%s%s", *error ? ": " : "", error);
}

static void keep_line(void *all, const char *line)
{
    *(const char **)all = text("%s%s", *(const char **)all, line);
}

/// What ffmpeg prints. @return its exit status, or -1
static int ask(const Job *job, const char *options, const char **answer)
{
    const char *error;

    *answer = "";
    return process_run(command_ask(job, options), keep_line, answer, &error);
}

/// Run a command that scores. It fails if a frame got lost, or may have met another one.
static int measure(const Search *s, const char *command, int nb_frames, int step, Result *r)
{
    const Metric *m     = s->o.measure.metric;
    const int64_t begin = av_gettime_relative();
    Lines l = { m, nb_frames };
    int least, most;

    if (run(&s->o, command, &l) < 0)
        return -1;
    // the plane that is worst over all frames, as xpsnr's own summary has it
    *r = (Result){ 0 };
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
                    l.nb_frames, s->o.verify ? "Give the part, -vf and -r that it was made with." :
                    "Leave out what drops or adds frames.");
    if (r->nb_scores < FFMAX(least, 1) || r->nb_scores > most)
        return fail("Of %d frames %d were scored, and not %d.", l.nb_decoded, r->nb_scores, most);
    return isfinite(score_mean(m, r)) ? 0 :
           fail("%s has no score for these pictures: take another metric.", m->name);
}

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

static double size_percent(int64_t bytes, int64_t source)
{
    return source ? 100. * bytes / source : NAN;
}

#define JSON_RESULT(r, source)                                                          \
    { "frames", (r)->nb_frames }, { "scored_frames", (r)->nb_scores },                  \
    { "size", (r)->bytes }, { "encode_percent", size_percent((r)->bytes, source) }

/// As it is printed.
static const char *score_text(const Search *s, double score)
{
    const Metric *m = s->o.measure.metric;

    return text("%s %.*f", m->name, m->digits, score);
}

/// Encode and score a sample with a CRF, if the cache does not know what comes out.
/// @return 1 if it does, 0, or -1 after a message
static int try_sample(Search *s, int number, double crf, Result *r)
{
    const Sample *sample = &s->sample[number];
    const double seconds = sample->duration ? sample->duration : s->in.seconds;
    const Options *o     = &s->o;
    const Metric *m      = o->measure.metric;
    // a guess: the number of CRFs that will be tried
    const int nb_crfs    = o->plan.min_crf == o->plan.max_crf ? 1 : FFMAX(4, s->nb_points + 1);
    const char *command  = command_sample(&s->job, crf, sample->start, sample->duration,
                                          sample->step);
    const char *key      = text("%s\n%s", s->facts, command);
    const int is_cached  = cache_get(s->cache, key, r);

    if (!is_cached) {
        progress_begin(text("CRF %g, sample %d of %d, ", crf, number + 1, s->nb_samples),
                       (nb_crfs - s->nb_points) * (double)s->nb_samples - number);
        if (measure(s, command, sample->nb_frames, sample->step, r) < 0)
            return -1;
        if (s->cache && cache_put(s->cache, key, r) < 0)
            s->cache = NULL;
    }
    if (o->json)
        JSON("sample-encode-done", { "sample", number + 1 }, { "samples", s->nb_samples },
             { "start", o->start / 1e6 + sample->start },
             { "seconds", seconds }, { "crf", crf },
             { "metric", .string = m->name }, { "score", score_mean(m, r) },
             JSON_RESULT(r, sample->bytes), { "encode_seconds", r->seconds },
             { "from_cache", JSON_BOOL(is_cached) });
    return !!is_cached;
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
    p.score = score_pool(s->o.measure.metric, &s->o.pool, result, nb);
    tell("CRF %g: %s, %.1f %% of the source's video%s\n", crf, score_text(s, p.score), p.percent,
         nb_cached == nb ? " (from the cache)" : "");
    for (i = s->nb_points++; i > 0 && s->point[i - 1].crf > crf; i--)
        s->point[i] = s->point[i - 1];
    s->point[i] = p;
    while (nb--)
        av_free(result[nb].score);
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
    return state == SEARCH_MISSED || state == SEARCH_TOO_LARGE ? EXIT_MISSED : EXIT_FOUND;
}

// ---- what is found ----

/// What the search predicts of the whole encode.
static void report(const Search *s, const Point *p, const char *command)
{
    const Metric *m     = s->o.measure.metric;
    const double target = s->o.plan.target;
    const double lowest = p->size_error > p->size ? 0 : p->size - p->size_error;
    const double most   = p->size + p->size_error;

    if (s->o.json)
        JSON("crf-search-done", { "crf", p->crf }, { "metric", .string = m->name },
             { "pool", .string = s->o.pool_name }, { "score", p->score }, { "target", target },
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
    const Metric *m    = o->measure.metric;
    // samples may have been a little better
    const double slack = o->encode ? o->plan.tolerance : 0;
    const double score = score_pool(m, &o->pool, r, 1);
    const int reached  = reaches(&m->scale, score, o->plan.target +
                                 (m->scale.higher_is_better ? -slack : slack));

    if (o->json)
        JSON("verify-done", { "file", .string = path }, { "metric", .string = m->name },
             { "score", score }, { "target", o->plan.target }, JSON_RESULT(r, s->in.bytes),
             { "reached", JSON_BOOL(reached) });
    else
        printf("%s: %s (target %g) over %d of %d frames, %.2f MB, %.1f %% of the %.2f MB of the "
               "source's video\n", path, score_text(s, score), o->plan.target, r->nb_scores,
               r->nb_frames, r->bytes / 1e6, size_percent(r->bytes, s->in.bytes),
               s->in.bytes / 1e6);
    if (!reached)
        tell("'%s' misses the target%s.\n", path, o->encode ?
             ": the samples are better than the rest. Take more samples" : "");
    return reached ? EXIT_FOUND : EXIT_MISSED;
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

    part    = output_name(output, text("part%s", strrchr(output, '.')));
    command = command_whole(&s->job, found->crf, part, 1, 0);
    progress_begin("the whole encode, ", 1);
    ret = command ? measure(s, command, s->in.nb_units, s->o.step, &r) : -1;
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
    const char *const gpu = s->o.gpu, *upload = NULL, *ignored;
    Measure *m = &s->o.measure;

    if (!strcmp(gpu, "off"))
        return 0;
    if (s->job.format == AV_PIX_FMT_YUV420P || s->job.format == AV_PIX_FMT_YUVJ420P)
        upload = "nv12";
    else if (s->job.format == AV_PIX_FMT_YUV420P10)
        upload = "p010";
    if (upload && !s->o.device && !m->is_mixed &&
        !ask(&s->job, text("-v %s -init_hw_device cuda=gpu:%d -filter_hw_device gpu -f lavfi -i "
                           "color=s=320x320:d=0.04 -vf format=%s,hwupload,split,%s_cuda -f null -",
                           *gpu ? "error" : "quiet", atoi(gpu), upload, m->metric->name), &ignored))
        m->upload = upload;
    if (m->upload || !*gpu)
        return 0;
    if (strcmp(gpu, "auto"))
        return fail("--gpu %s: it cannot score %s of this format, see -pix_fmt.", gpu,
                    m->metric->name);
    tell("Scoring on the CPU: no GPU can score %s of this format.\n", m->metric->name);
    return 0;
}

static int find_encoder(Search *s)
{
    static const char *const defaults[] = { "libsvtav1", "libx265", "libx264" };
    const double rate = av_q2d(av_guess_frame_rate(s->in.format, s->in.stream, NULL));
    const char *list, *help;

    if (ask(&s->job, "-encoders", &list) < 0)
        return -1;
    for (int i = 0; i < FF_ARRAY_ELEMS(defaults) && !s->o.encoder; i++)
        if (i == FF_ARRAY_ELEMS(defaults) - 1 || strstr(list, text(" %s ", defaults[i])))
            s->o.encoder = text("%s", defaults[i]);
    if (ask(&s->job, text("-h %s", command_word(text("encoder=%s", s->o.encoder))), &help) < 0)
        return -1;
    return options_choose_encoder(&s->o, help, rate);
}

static void take_picture(Search *s, const AVCodecParameters *p)
{
    s->job.width  = p->width;
    s->job.height = s->o.measure.height = p->height;
    s->job.format = s->job.reference_format = p->format;
    s->job.codec  = p->codec_id;
}

/// Encode a first frame, to see what becomes of it, and that all that was asked for works.
static int encode_first(Search *s)
{
    FILE *f = temporary_file();
    Lines none = { s->o.measure.metric };
    Input first;

    if (!f || run(&s->o, command_first(&s->job, s->o.plan.min_crf, fileno(f)), &none) < 0 ||
        input_open(&first, text("/dev/fd/%d", fileno(f))) < 0)
        return -1;
    fclose(f);
    take_picture(s, first.stream->codecpar);
    return s->job.format >= 0 ? 0 : fail("The pixel format of %s is not known.", s->o.encoder);
}

/// Open the encode that is to be verified.
static int open_encode(Search *s, Input *encode)
{
    const int source = s->in.stream->codecpar->format;
    const AVPixFmtDescriptor *from = av_pix_fmt_desc_get(source), *to;

    if (input_open(encode, s->o.verify) < 0 || input_scan(encode, 0, 0, 0) < 0)
        return -1;
    take_picture(s, encode->stream->codecpar);
    to = av_pix_fmt_desc_get(s->job.format);
    // vmaf compares 8 bits with the 10 that they were made of, and need not round these
    if (!strcmp(s->o.measure.metric->name, "vmaf") && from && from->comp[0].depth > 8 &&
        to && to->comp[0].depth == 8) {
        const enum AVPixelFormat deep = av_get_pix_fmt(text("%s10", to->name));

        s->o.measure.is_mixed   = deep != AV_PIX_FMT_NONE;
        s->job.reference_format = s->o.measure.is_mixed ? deep : s->job.format;
    }
    return 0;
}

/// @return an exit status, or -1
static int verify(Search *s, const Input *encode)
{
    Result r;

    progress_begin("the whole encode, ", 1);
    if (measure(s, command_verify(&s->job, encode), encode->nb_units, s->o.step, &r) < 0)
        return -1;
    r.bytes = encode->bytes;
    return report_whole(s, s->o.verify, &r);
}

/// @return an exit status, or -1 after a message
static int run_all(Search *s)
{
    Options *o = &s->o;
    const char *filters, *version;
    const Point *found;
    Input encode;
    double nb;
    int ret;

    s->job = (Job){ o, &s->in, command_ffmpeg() };
    if (input_open(&s->in, o->input) < 0 || ask(&s->job, "-filters", &filters) < 0 ||
        options_choose_metric(o, filters) < 0 || !o->verify && find_encoder(s) < 0 ||
        input_scan(&s->in, o->start / 1e6, o->length / 1e6, o->nb_frames) < 0 ||
        (o->verify ? open_encode(s, &encode) : encode_first(s)) < 0 || check_gpu(s) < 0 ||
        ask(&s->job, "-version", &version) < 0)
        return -1;
    if (o->verify)
        return verify(s, &encode);
    // what is wrong with the output is better known before the search than after it
    if (o->encode && !command_whole(&s->job, 0, o->encode, 0, 0))
        return -1;
    s->cache = o->cache ? cache_folder() : NULL;
    // files with other contents have packets of other sizes
    s->facts = text("%s\n%s", version,
                    cache_hash(s->in.unit, s->in.nb_units * sizeof(*s->in.unit)));
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

    process_catch_signals();
    // what libavutil says of options is said in other words
    av_log_set_level(AV_LOG_QUIET);
    // SVT-AV1 has a log of its own: errors only
    setenv("SVT_LOG", "1", 0);

    status = options_parse(&s.o, argc, argv);
    av_log_set_level(AV_LOG_ERROR);
    if (status >= 0 && (s.o.help || argc == 1))
        options_print_help();
    else if (status >= 0 && s.o.version)
        printf("ffcrf %s, libavformat %s\n", QUALITY_VERSION, av_version_info());
    else if (status >= 0)
        status = run_all(&s);
    if (argc == 1 || status < 0)
        status = EXIT_FAILED;
    if (caught_signal) {
        tell("Ended by signal %d.%s\n", caught_signal, s.cache ? " Finished work is in the cache: "
             "to continue, run the same command again." : "");
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
