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
 * ffcrf: find the CRF of an encoder that gives an encode a wanted quality.
 */

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>

#include "ffcrf.h"

enum {
    EXIT_FOUND,
    EXIT_NOT_REACHABLE,
    EXIT_USAGE,                 ///< or an input that cannot be used
    EXIT_FAILED,
    EXIT_VERIFY,                ///< the whole encode misses the target
    EXIT_SIGNAL = 128
};

#define SIZE_ERROR   0.1    ///< samples are added while the predicted size may be off by more
#define MOST_SAMPLES 24     ///< that are reached by that
#define LEAST_ERROR  0.08   ///< of the size that samples leave out, however alike they are
#define NB_PROBES    5      ///< CRFs that --probe tries

typedef struct Search {
    Options o;
    Cache cache;
    Source source;              ///< for what is known of the whole file
    Scan scan;
    Sample *sample;
    int nb_samples;
    int64_t memory[NB_MEMORIES];
    enum AVPixelFormat format;  ///< that is encoded
    Point point[SEARCH_MOST];   ///< by rising CRF
    int nb_points;
} Search;

// ---- scores ----

static int compare_doubles(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const double *)a, *(const double *)b);
}

/// The value that this percentage of all values is worse than; linear between ranks.
static double percentile(const Metric *m, double *value, int nb, double percent)
{
    const double place = (m->higher_is_better ? percent : 100 - percent) / 100 * (nb - 1);
    const int i        = FFMIN(place, nb - 2);

    qsort(value, nb, sizeof(*value), compare_doubles);
    return nb == 1 ? value[0] : value[i] + (value[i + 1] - value[i]) * (place - i);
}

/// Make one score of those of all samples, as --pool says.
static int pool(const Options *o, const Result *result, int nb_results, double *score)
{
    const Metric *m = o->metric;
    double *all = NULL, *new;
    int nb = 0;

    *score = m->best;
    for (const Result *r = result; r < result + nb_results; r++) {
        const double sample = metric_mean(m, r->score, r->nb_scores);

        if (metric_reaches(m, *score, sample))
            *score = sample;
        new = av_realloc_array(all, nb + r->nb_scores, sizeof(*all));
        if (!new) {
            av_free(all);
            return AVERROR(ENOMEM);
        }
        all = new;
        memcpy(all + nb, r->score, r->nb_scores * sizeof(*all));
        nb += r->nb_scores;
    }
    if (o->pool == POOL_MEAN)
        *score = metric_mean(m, all, nb);
    else if (o->pool == POOL_PERCENTILE)
        *score = percentile(m, all, nb, o->percent);
    av_free(all);
    return 0;
}

static double size_percent(const Result *r)
{
    return r->source_bytes ? 100. * r->bytes / r->source_bytes : NAN;
}

#define JSON_RESULT(r)                                                                  \
    { "frames", (r)->nb_frames }, { "scored_frames", (r)->nb_scores },                  \
    { "size", (r)->bytes }, { "encode_percent", size_percent(r) }

#define JSON_BOOL(x) .word = (x) ? "true" : "false"

// ---- samples ----

/// Whether so many samples are most of the video, which is then taken as one sample.
static int are_most(const Search *s, int64_t nb_samples)
{
    return nb_samples * s->o.duration >= s->scan.seconds * 1e6 * 0.85;
}

/// Lay samples over the file, with equal gaps; the whole file if they are most of it.
static int plan_samples(Search *s)
{
    const Options *o = &s->o;
    const int64_t duration = s->scan.seconds * 1e6;
    const int64_t nb = av_clip64(o->samples ? o->samples : (duration + o->every - 1) / o->every,
                                 o->samples ? 1 : o->min_samples, 1000);
    const int whole  = are_most(s, nb);
    const int64_t gap = (duration - nb * o->duration) / (nb + 1);

    s->nb_samples = whole ? 1 : nb;
    s->sample     = av_calloc(s->nb_samples, sizeof(*s->sample));
    if (!s->sample)
        return AVERROR(ENOMEM);
    for (int i = 0; i < s->nb_samples && !whole; i++)
        s->sample[i] = (Sample){ i, gap * (i + 1) + o->duration * i, o->duration };
    return 0;
}

/// Put a sample into the middle of each gap. @return whether there was room
static int add_samples(Search *s)
{
    const Options *o = &s->o;
    const int nb = s->nb_samples, all = 2 * nb + 1;
    const int64_t gap = (s->scan.seconds * 1e6 - all * o->duration) / (all + 1);
    Sample *sample;

    if (o->samples || all > MOST_SAMPLES || are_most(s, all))
        return 0;
    sample = av_realloc_array(s->sample, all, sizeof(*sample));
    if (!sample)
        return AVERROR(ENOMEM);
    s->sample     = sample;
    s->nb_samples = all;
    for (int i = nb; i < all; i++)
        sample[i] = (Sample){ i, gap + 2 * (gap + o->duration) * (i - nb), o->duration };
    return 1;
}

static void free_samples(Search *s)
{
    for (int i = 0; s->sample && i < s->nb_samples; i++)
        sample_unload(&s->sample[i]);
    av_freep(&s->sample);
}

/// Encode and score a sample with a CRF, if the cache does not know what comes out.
static int try_sample(Search *s, Sample *sample, double crf, Result *result)
{
    const Options *o = &s->o;
    // a guess: the number of CRFs that will be tried
    const int nb_crfs = o->plan.min_crf == o->plan.max_crf ? 1 : FFMAX(4, s->nb_points + 1);
    char doing[128];
    int ret;

    if (cache_get(&s->cache, o, sample, crf, result))
        return 0;
    snprintf(doing, sizeof(doing), "CRF %g, sample %d of %d, ", crf, sample->number + 1,
             s->nb_samples);
    if (!sample->loaded) {
        show_meter(doing, "decoding the source");
        if ((ret = sample_load(o, sample, s->memory)) < 0)
            return ret;
    }
    progress_begin(doing, (nb_crfs - s->nb_points) * (double)s->nb_samples - sample->number);
    ret = sample_encode(o, sample, crf, result);
    clear_meter();
    if (ret >= 0)
        cache_put(&s->cache, o, sample, crf, result);
    return ret;
}

// ---- the search ----

/// What the whole encode will be: its size is to the source's as that of the samples is to theirs,
/// and may differ from that as much as the samples do.
static void predict(const Search *s, const Result *result, Point *p)
{
    const int nb = s->nb_samples, is_all = !s->sample->duration;
    const double seen = is_all ? 1 : nb * s->sample->duration / (s->scan.seconds * 1e6);
    const double unseen = 1 - seen;
    double bytes = 0, source_bytes = 0, seconds = 0, squares = 0;

    for (int i = 0; i < nb; i++) {
        bytes        += result[i].bytes;
        source_bytes += FFMAX(result[i].source_bytes, 1);
        seconds      += result[i].encode_seconds;
    }
    for (int i = 0; i < nb; i++)
        squares += pow(result[i].bytes - bytes / source_bytes * result[i].source_bytes, 2);
    p->encode_seconds = seconds / seen;
    p->percent        = 100 * bytes / source_bytes;
    p->size           = is_all ? bytes : s->scan.bytes * bytes / source_bytes;
    // the standard error, times about what Student's t is for 90 %
    p->size_error = is_all ? 0 : nb == 1 ? NAN : p->size *
                    FFMAX(sqrt(squares * nb / (nb - 1) * unseen) / bytes * (1.65 + 2.5 / (nb - 1)),
                          LEAST_ERROR * unseen);
}

static void tell_sample(const Search *s, const Sample *sample, double crf, const Result *r)
{
    const Metric *m = s->o.metric;

    if (s->o.json)
        JSON("sample-encode-done",
             { "sample", sample->number + 1 }, { "samples", s->nb_samples },
             { "start", (s->o.start + sample->start) / 1e6 }, { "seconds", r->seconds },
             { "crf", crf }, { "metric", .string = m->name },
             { "score", metric_mean(m, r->score, r->nb_scores) }, JSON_RESULT(r),
             { "encode_seconds", r->encode_seconds }, { "from_cache", JSON_BOOL(r->is_cached) });
}

/// Encode all samples with a CRF. The first CRF tells how many samples it takes.
static int try_crf(Search *s, double crf)
{
    const Options *o = &s->o;
    Result *result = NULL, *new;
    Point p = { .crf = crf };
    int i, nb = 0, nb_cached = 0, ret;

    do {
        new = av_realloc_array(result, s->nb_samples, sizeof(*result));
        ret = new ? 0 : AVERROR(ENOMEM);
        result = new ? new : result;
        for (; nb < s->nb_samples && ret >= 0; nb++) {
            if ((ret = try_sample(s, &s->sample[nb], crf, &result[nb])) < 0)
                break;
            nb_cached += result[nb].is_cached;
            tell_sample(s, &s->sample[nb], crf, &result[nb]);
        }
        if (ret >= 0)
            predict(s, result, &p);
    } while (ret >= 0 && !s->nb_points && p.size_error > SIZE_ERROR * p.size &&
             (ret = add_samples(s)) > 0);
    if (ret >= 0)
        ret = pool(o, result, nb, &p.score);
    for (i = 0; i < nb; i++)
        av_freep(&result[i].score);
    av_free(result);
    if (ret < 0)
        return ret;

    tell("CRF %g: %s %.*f, %.1f %% of the source's video%s\n", crf, o->metric->name,
         o->metric->digits, p.score, p.percent,
         nb_cached == s->nb_samples ? " (from the cache)" : "");
    for (i = s->nb_points++; i > 0 && s->point[i - 1].crf > crf; i--)
        s->point[i] = s->point[i - 1];
    s->point[i] = p;
    return 0;
}

/// @return 1 if a CRF was found, 0 if there is none, or a negative AVERROR
static int search(Search *s, const Point **found)
{
    static const char *const why[] = {
        [SEARCH_TOLERANCE] = "is within the tolerance",
        [SEARCH_EXACT]     = "is the highest that reaches the target",
        [SEARCH_NEAR]      = "is at most 0.4 below the highest that reaches the target",
        [SEARCH_LAST]      = "is the highest that may be tried",
    };
    const double target = s->o.plan.target;
    const Metric *m     = s->o.metric;
    const Point *p;
    SearchState state;
    double crf;

    while ((state = search_next(&s->o.plan, s->point, s->nb_points, &crf, found)) == SEARCH_TRY) {
        int ret = try_crf(s, crf);

        if (ret < 0)
            return ret;
    }
    p = *found;
    if (state == SEARCH_MISSED)
        return fail(0, "Not reachable: even CRF %g gives %s %.*f, which does not reach %g. "
                    "Allow lower CRFs with --min-crf, or take an easier target.\n", p->crf,
                    m->name, m->digits, p->score, target);
    if (state == SEARCH_TOO_LARGE)
        return fail(0, "Not reachable: CRF %g has %.1f %% of the source's size%s, and gives %s "
                    "%.*f for a target of %g. Allow more with --max-encoded-percent.\n",
                    p->crf, p->percent, metric_reaches(m, p->score, target) ? "" : " already",
                    m->name, m->digits, p->score, target);
    tell("CRFs tried: %d. CRF %g %s.\n", s->nb_points, p->crf, why[state]);
    return 1;
}

// ---- set-up ----

/// Score a grey frame, to see if all is there that the GPU needs.
static int try_gpu(const Options *o)
{
    Scorer scorer  = scorer_new(o, 1);
    AVFrame *frame = av_frame_alloc();
    int ret = AVERROR(ENOMEM);

    if (frame) {
        frame->format = AV_PIX_FMT_NV12;
        frame->width  = frame->height = 256;
        ret = av_frame_get_buffer(frame, 0);
        for (int i = 0; ret >= 0 && i < 2; i++)
            memset(frame->data[i], 128, frame->linesize[i] * (ptrdiff_t)(frame->height >> i));
        if (ret >= 0 && (ret = scorer_add(&scorer, frame, frame)) >= 0)
            ret = scorer_finish(&scorer);
    }
    scorer_close(&scorer);
    av_frame_free(&frame);
    return ret;
}

/// Take a GPU if there is one that can score what is encoded.
static int open_gpu(Search *s)
{
    Options *o = &s->o;
    const int level = av_log_get_level(), wanted = !!strcmp(o->gpu, "auto");
    const char *why = NULL;

    if (!strcmp(o->gpu, "off"))
        return 0;
    if (wanted && strspn(o->gpu, "0123456789") != strlen(o->gpu))
        return usage("--gpu is auto, off or the number of a GPU, and not '%s'.\n", o->gpu);
    if (!wanted && !o->metric->cuda_filter)
        return 0;               // no GPU and no build has it
    if (!has_filter(o->metric->cuda_filter)) {
        why = "this build has no filter that scores there";
    } else if (gpu_format(s->format) == AV_PIX_FMT_NONE) {
        why = "it takes 4:2:0 of 8 or 10 bits only; see -pix_fmt";
    } else {
        if (!wanted)
            av_log_set_level(AV_LOG_QUIET);
        if (av_hwdevice_ctx_create(&o->device, AV_HWDEVICE_TYPE_CUDA, wanted ? o->gpu : NULL,
                                   NULL, 0) < 0)
            why = "there is none that works";
        else if (try_gpu(o) < 0)
            why = "it cannot run the filter";
        av_log_set_level(level);
    }
    if (!why)
        return 0;
    av_buffer_unref(&o->device);
    if (wanted)
        return usage("--gpu %s: %s.\n", o->gpu, why);
    warn("Scoring on the CPU, not on a GPU: %s.\n", why);
    return 0;
}

/// Devices that were asked for, by --hwaccel and by the encoder.
static int open_devices(Options *o)
{
    const AVCodec *e = o->encoder;
    const AVCodecHWConfig *config = e && !is_on_gpu(e) && !has_software_format(e) ?
                                    avcodec_get_hw_config(e, 0) : NULL;
    enum AVHWDeviceType type = AV_HWDEVICE_TYPE_NONE;
    const int level = av_log_get_level();
    int is_auto;

    if (config && av_hwdevice_ctx_create(&o->encode_device, config->device_type, NULL, NULL, 0) < 0)
        return usage("%s needs a device of the type %s, and there is none that works.\n", e->name,
                     av_hwdevice_get_type_name(config->device_type));
    if (!o->hwaccel || !strcmp(o->hwaccel, "none"))
        return 0;
    is_auto = !strcmp(o->hwaccel, "auto");
    if (!is_auto && av_hwdevice_find_type_by_name(o->hwaccel) == AV_HWDEVICE_TYPE_NONE)
        return usage("This build of FFmpeg has no -hwaccel '%s': `ffmpeg -hwaccels` lists those "
                     "that it has.\n", o->hwaccel);
    av_log_set_level(is_auto ? AV_LOG_QUIET : level);
    while (!o->decode_device && (type = av_hwdevice_iterate_types(type)) != AV_HWDEVICE_TYPE_NONE)
        if (is_auto || !strcmp(o->hwaccel, av_hwdevice_get_type_name(type)))
            av_hwdevice_ctx_create(&o->decode_device, type, NULL, NULL, 0);
    av_log_set_level(level);
    if (!o->decode_device && !is_auto)
        return usage("-hwaccel %s: there is no such device that works. Leave it out, or take "
                     "auto.\n", o->hwaccel);
    if (!o->decode_device)
        warn("Decoding the input on the CPU: no device that -hwaccel may take works.\n");
    return 0;
}

/// The distance of key frames, if it is told as a time.
static int set_keyint(Options *o, const Source *s)
{
    const AVRational rate  = av_guess_frame_rate(s->format, s->stream, NULL);
    const int64_t duration = o->keyint ? parse_duration(o->keyint) : 0;

    if (!duration)
        return 0;
    if (duration < 0)
        return usage("--keyint is a number of frames or a time such as 10s, not '%s'.\n",
                     o->keyint);
    if (!rate.num || !rate.den)
        return usage("'%s' has no frame rate: give --keyint as a number of frames.\n", o->input);
    return av_dict_set_int(&o->encoder_options, "g",
                           FFMAX(1, lrint(duration / 1e6 * av_q2d(rate))), 0);
}

/// Make the first frame that an encoder of the input gets, and see how the input can be decoded.
static int see_first_frame(Search *s)
{
    const Options *o = &s->o;
    AVFrame *frame   = av_frame_alloc();
    Source first;
    int ret = source_open_part(&first, o, 0, 0, 0);

    if (!frame)
        ret = AVERROR(ENOMEM);
    if (ret >= 0)
        ret = source_next(&first, frame);
    if (ret == AVERROR_EOF)
        ret = fail(AVERROR_INVALIDDATA, "'%s' has no frames%s: it may be damaged or cut off.\n",
                   o->input, o->start || o->length ? " between -ss and -to" : "");
    s->source.seeks_late = first.seeks_late;
    if (ret >= 0) {
        s->format = frame->format;
        if (o->decode_device && !first.is_downloaded)
            warn("The CPU decodes '%s', as the device of -hwaccel cannot.\n", o->input);
    }
    av_frame_free(&frame);
    source_close(&first);
    return ret;
}

/// See what the input is, whether all of it is there, and what there is to work with.
static int examine(Search *s)
{
    const Options *o = &s->o;
    char missing[128];
    int ret;

    if ((ret = see_first_frame(s)) < 0 || !o->probe && (ret = open_gpu(s)) < 0)
        return ret;
    show_meter("reading ", o->input);
    if ((ret = source_scan(&s->source, &s->scan)) < 0)
        return ret;
    if (s->scan.missing > 0) {
        snprintf(missing, sizeof(missing), "cut off: %.2f s are missing, as its video ends at "
                 "%.2f s", s->scan.missing, s->scan.seconds);
        if ((ret = tell_damage(o, o->input, missing)) < 0)
            return ret;
    }
    if ((ret = source_check(&s->source, o)) < 0)
        return ret;
    s->memory[MEMORY_SYSTEM] = o->memory ? o->memory :
                               (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
    s->memory[MEMORY_GPU]    = o->memory ? o->memory : INT64_MAX;
    if (o->device)
        s->memory[MEMORY_GPU] = FFMIN(s->memory[MEMORY_GPU], gpu_memory(o->device) / 2);
    return 0;
}

// ---- what is asked for ----

/// Score a whole encode. @return 1 if it reaches the target, 0 if not, or a negative AVERROR
static int verify(const Options *o, const char *path)
{
    const Metric *m    = o->metric;
    const double slack = o->encode ? o->plan.tolerance : 0;   // it may miss the target by this
    double score;
    Result r;
    int ret, reached;

    progress_begin("the whole encode, ", 1);
    ret = score_file(o, path, &r);
    clear_meter();
    if (ret >= 0)           // the worst sample is the whole
        ret = pool(o, &r, 1, &score);
    av_freep(&r.score);
    if (ret < 0)
        return ret;
    reached = metric_reaches(m, score, o->plan.target + (m->higher_is_better ? -slack : slack));
    if (o->json)
        JSON("verify-done",
             { "file", .string = path }, { "metric", .string = m->name }, { "score", score },
             { "target", o->plan.target }, JSON_RESULT(&r), { "reached", JSON_BOOL(reached) });
    else
        printf("%s: %s %.*f (target %g) over %d of %d frames, %.2f MB, %.1f %% of the %.2f MB of "
               "the source's video\n", path, m->name, m->digits, score, o->plan.target, r.nb_scores,
               r.nb_frames, r.bytes / 1e6, size_percent(&r), r.source_bytes / 1e6);
    return reached ? 1 : fail(0, "'%s' misses the target%s.\n", path, o->encode ?
                              ": the samples are better than the rest. Take more samples" : "");
}

/// Score the sample at a CRF by the metric that is set.
static int probe_crf(Search *s, double crf, Result *r, double *score)
{
    const Options *o = &s->o;
    int ret = try_sample(s, s->sample, crf, r);

    if (ret >= 0)
        ret = pool(o, r, 1, score);
    if (ret >= 0 && o->json)
        JSON("probe-done",
             { "metric", .string = o->metric->name }, { "crf", crf }, { "score", *score },
             JSON_RESULT(r), { "encode_seconds", r->encode_seconds },
             { "score_seconds", r->score_seconds });
    av_freep(&r->score);
    return ret;
}

static void print_row(const char *name, const double *value, int nb, int digits)
{
    printf("%-10s", name);
    for (int i = 0; i < nb; i++)
        printf(" %9.*f", digits, value[i]);
}

/// The CRFs to compare metrics by, over all of the range.
static int plan_probes(const SearchPlan *plan, double crf[NB_PROBES])
{
    const double step = FFMAX(plan->increment, 1);
    int nb = 0;

    for (int i = 0; i < NB_PROBES; i++) {
        const double part   = (i + 0.5) / NB_PROBES;
        const double wanted = plan->min_crf + (plan->max_crf - plan->min_crf) * part;

        crf[nb] = av_clipd(rint(wanted / step) * step, search_first(plan) * plan->increment,
                           search_last(plan) * plan->increment);
        nb     += !nb || crf[nb] != crf[nb - 1];
    }
    return nb;
}

/// Take another metric, and the GPU if it can.
static int change_metric(Search *s, const Metric *m)
{
    Options *o = &s->o;
    int ret = 0;

    o->metric = m;
    o->step   = m->step;
    av_buffer_unref(&o->device);
    if (has_filter(m->cuda_filter)) {
        ret = open_gpu(s);
        if (!o->device)
            av_opt_set(o, "gpu", "off", 0);     // which is told once
    }
    return ret;
}

/// Compare all metrics by the middle of the video. @return 1, or a negative AVERROR
static int probe(Search *s)
{
    double crf[NB_PROBES], size[NB_PROBES], score[NB_PROBES];
    const int nb = plan_probes(&s->o.plan, crf);
    int has_sizes = 0, ret = 0;

    s->o.samples = 1;
    for (const Metric *m = metrics; ret >= 0 && m->name; m++) {
        double seconds = 0, frames = 0;

        if (!has_filter(m->filter))
            continue;
        if ((ret = change_metric(s, m)) < 0 || (ret = plan_samples(s)) < 0)
            return ret;
        for (int j = 0; ret >= 0 && j < nb; j++) {
            Result r;

            ret        = probe_crf(s, crf[j], &r, &score[j]);
            size[j]    = size_percent(&r);
            seconds   += r.score_seconds;
            frames    += r.nb_frames;
        }
        free_samples(s);
        if (ret < 0 || s->o.json)
            continue;
        if (!has_sizes++) {
            printf("%-10s", "CRF");
            for (int j = 0; j < nb; j++)
                printf(" %9g", crf[j]);
            printf("  ms/frame\n");
            print_row("size in %", size, nb, 1);
            printf("\n");
        }
        print_row(m->name, score, nb, m->digits);
        printf(" %9.2f\n", 1e3 * seconds / frames);
        fflush(stdout);
    }
    return ret < 0 ? ret : 1;
}

/// What the search predicts of the whole encode.
static void report(const Search *s, const Point *p, const char *command)
{
    const Metric *m     = s->o.metric;
    const double target = s->o.plan.target;
    const double lowest = p->size_error > p->size ? 0 : p->size - p->size_error;

    if (s->o.json) {
        JSON("crf-search-done",
             { "crf", p->crf }, { "metric", .string = m->name },
             { "pool", .string = s->o.pool_name }, { "score", p->score }, { "target", target },
             { "predicted_encode_percent", p->percent }, { "predicted_encode_size", rint(p->size) },
             { "predicted_encode_size_min", rint(lowest) },
             { "predicted_encode_size_max", rint(p->size + p->size_error) },
             { "predicted_encode_seconds", p->encode_seconds }, { "command", .string = command });
        return;
    }
    printf("CRF %g: %s %.*f", p->crf, m->name, m->digits, p->score);
    if (target != m->worst)
        printf(" (target %g)", target);
    printf(", about %.2f MB", p->size / 1e6);
    if (p->size_error > 0)
        printf(" (%.2f to %.2f)", lowest / 1e6, (p->size + p->size_error) / 1e6);
    printf(", %.1f %% of the %.2f MB of the source's video, in %s\n%s\n", p->percent,
           s->scan.bytes / 1e6, CLOCK(p->encode_seconds), command);
    fflush(stdout);
}

/// The exit status for a 1 of what was reached, a 0, or an error, which the user's input may be.
static int status_of(int ret)
{
    if (ret < 0 && !*last_error && !caught_signal)
        fail(ret, "It stopped: %s.\n", av_err2str(ret));
    switch (ret) {
    case 1:                        return EXIT_FOUND;
    case 0:                        return EXIT_NOT_REACHABLE;
    case AVERROR(EINVAL):
    case AVERROR(ENOENT):
    case AVERROR(ERANGE):
    case AVERROR_DECODER_NOT_FOUND:
    case AVERROR_INVALIDDATA:
    case AVERROR_OPTION_NOT_FOUND:
    case AVERROR_STREAM_NOT_FOUND: return EXIT_USAGE;
    }
    return EXIT_FAILED;
}

/// Tell what was found, and make the encode if that is wanted. @return the exit status
static int finish(Search *s, const Point *found)
{
    const Options *o = &s->o;
    char *output = NULL, *command = NULL, kind[32];
    int ret = AVERROR(ENOMEM);

    snprintf(kind, sizeof(kind), "crf%g", found->crf);
    output = o->encode ? av_strdup(o->encode) : default_output(o, kind);
    if (output)
        ret = command_make(&command, o, &s->source, found->crf, output, 0, "");
    if (ret >= 0)
        report(s, found, command);
    av_free(command);
    av_free(output);
    if (ret < 0 || !o->encode)
        return ret < 0 ? status_of(ret) : EXIT_FOUND;

    free_samples(s);
    progress_begin("the whole encode, ", 1);
    ret = command_run(o, &s->source, found->crf, s->scan.nb_frames);
    clear_meter();
    if (ret >= 0)
        ret = verify(o, o->encode);
    return ret ? status_of(ret) : EXIT_VERIFY;
}

/// @return the exit status
static int run(Search *s)
{
    Options *o = &s->o;
    const Point *found;
    int ret;

    if (options_check(o) < 0 || open_devices(o) < 0 ||
        source_open(&s->source, o->input, o) < 0 || set_keyint(o, &s->source) < 0)
        return EXIT_USAGE;
    if ((ret = examine(s)) < 0)
        return status_of(ret);
    if (o->verify)
        return status_of(verify(o, o->verify));
    if (o->probe)
        return status_of(probe(s));
    if (o->encode) {
        // what is wrong with the output is better known before the search than after it
        char *command = NULL;

        ret = command_make(&command, o, &s->source, o->plan.min_crf, o->encode, 1, "");
        av_free(command);
        if (ret < 0)
            return EXIT_USAGE;
    }
    if (cache_open(&s->cache, o) < 0 || plan_samples(s) < 0)
        return EXIT_FAILED;
    ret = search(s, &found);
    return ret > 0 ? finish(s, found) : status_of(ret);
}

static int run_options(Search *s, int argc, char **argv)
{
    Options *o = &s->o;

    if (options_parse(o, argc, argv) < 0)
        return EXIT_USAGE;
    av_log_set_level(o->loglevel);
    if (o->completion)
        return print_completion(o->completion) < 0 ? EXIT_USAGE : EXIT_FOUND;
    if (o->help || argc == 1)
        print_help();
    else if (o->complete)
        print_completions(o->complete);
    else if (o->version)
        printf("ffcrf %s, FFmpeg %s\n", QUALITY_VERSION, av_version_info());
    else
        return run(s);
    return argc == 1 ? EXIT_USAGE : EXIT_FOUND;
}

static void handle_signal(int number)
{
    caught_signal = number;
}

int main(int argc, char **argv)
{
    // the second one ends at once
    const struct sigaction action = { .sa_handler = handle_signal, .sa_flags = SA_RESETHAND };
    Search s = { 0 };
    int status;

    output_init();
    sigaction(SIGINT,  &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    // SVT-AV1 has a log of its own: errors only
    setenv("SVT_LOG", "1", 0);
#ifdef M_PERTURB
    // All memory is 0 at first, as it is in a new process: libx264 (core 164) makes
    // another stream by what it finds in memory that another encoder has freed.
    mallopt(M_PERTURB, 0xff);
#endif

    status = run_options(&s, argc, argv);
    if (caught_signal) {
        const int is_kept = s.o.cache && !s.cache.failed && !s.o.verify && !s.o.probe;

        tell("Ended by signal %d.%s\n", caught_signal, is_kept ? " Finished work is in the cache: to "
             "continue, run the same command again." : "");
        status = EXIT_SIGNAL + caught_signal;
    } else if (s.o.json && status && status != EXIT_VERIFY &&
               !(status == EXIT_NOT_REACHABLE && s.o.verify)) {
        // what a verification found is told by its own object
        JSON(status == EXIT_NOT_REACHABLE ? "crf-search-error" : "error",
             { "message", .string = last_error });
    }
    if (fflush(stdout) || ferror(stdout)) {
        tell("Standard output cannot be written: %s.\n", strerror(errno));
        status = status ? status : EXIT_FAILED;
    }

    free_samples(&s);
    cache_close(&s.cache);
    source_close(&s.source);
    options_free(&s.o);
    return status;
}
