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

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "libavutil/avassert.h"
#include "libavutil/bprint.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/time.h"

#include "score_log.h"
#include "score_number.h"
#include "version.h"

static const char *const pooled_name[SCORE_POOLED_NB] = {
    "min", "max", "mean", "harmonic_mean",
    "p1", "p5", "p10", "p50", "p90", "p95", "p99",
    "standard_error", "worst_window", "worst_window_frame",
};

static int has_own_line(const ScoreMetric *metric)
{
    return metric->scale && metric->pooled != SCORE_POOL_COUNT;
}

static const char *direction_of(const ScoreMetric *metric)
{
    return metric->direction == SCORE_LOWER_IS_BETTER ? "lower is better" : "higher is better";
}

// ---- pooling ----

/// They belong to whoever has the files, see score_output.h.
static ScoreTotals *get_scores(const ScoreLog *s)
{
    return s->outputs.owned;
}

static void free_scores(void *owned)
{
    ScoreTotals *scores = owned;

    for (int i = -1; i < scores->nb_sizes; i++) {
        ScoreSize *size = i < 0 ? &scores->all : &scores->size[i];

        for (int j = 0; size->pool && j < scores->nb_metrics; j++)
            ff_score_pool_free(&size->pool[j]);
        av_free(size->pool);
    }
    av_free(scores);
}

static ScorePool *alloc_pools(const ScoreLog *s)
{
    ScorePool *pool = av_calloc(s->nb_metrics, sizeof(*pool));

    for (int i = 0; pool && i < s->nb_metrics; i++) {
        pool[i].direction   = s->metric[i].direction;
        pool[i].percentiles = s->metric[i].pooled == SCORE_POOL_VALID ||
                              s->metric[i].pooled == SCORE_POOL_KNOWN;
    }
    return pool;
}

static int alloc_scores(ScoreLog *s)
{
    ScoreTotals *scores = av_mallocz(sizeof(*scores));
    ScorePool *pool     = alloc_pools(s);

    if (!scores || !pool) {
        av_free(scores);
        av_free(pool);
        return AVERROR(ENOMEM);
    }
    scores->nb_metrics = s->nb_metrics;
    scores->all.pool   = pool;
    s->outputs.owned   = scores;
    return 0;
}

/// The first size was alone, and all that was pooled is its own.
static int separate_first(ScoreLog *s)
{
    ScoreTotals *scores = get_scores(s);
    ScorePool *pool     = alloc_pools(s);

    if (!pool)
        return AVERROR(ENOMEM);
    scores->size[0].pool = pool;
    for (int i = 0; i < s->nb_metrics; i++) {
        int ret = ff_score_pool_copy(&pool[i], &scores->all.pool[i]);

        if (ret < 0)
            return ret;
    }
    return 0;
}

/// @param dst set to NULL if there are too many sizes
static int find_size(ScoreLog *s, void *logctx, int width, int height, ScoreSize **dst)
{
    ScoreTotals *scores = get_scores(s);
    ScoreSize *size;

    *dst = NULL;
    for (int i = scores->nb_sizes - 1; i >= 0; i--)
        if (scores->size[i].width == width && scores->size[i].height == height) {
            *dst = &scores->size[i];
            return 0;
        }
    if (scores->nb_sizes == SCORE_MAX_SIZES) {
        if (!scores->nb_other++)
            av_log(logctx, AV_LOG_WARNING, "More than %d sizes of frames: %dx%d and what follows "
                   "is only in the values over all sizes.\n", SCORE_MAX_SIZES, width, height);
        return 0;
    }
    if (scores->nb_sizes == 1 && !scores->size[0].pool) {
        int ret = separate_first(s);

        if (ret < 0)
            return ret;
    }
    size  = &scores->size[scores->nb_sizes];
    *size = (ScoreSize){ .width = width, .height = height };
    if (scores->nb_sizes) {
        size->pool = alloc_pools(s);
        if (!size->pool)
            return AVERROR(ENOMEM);
    }
    scores->nb_sizes++;
    *dst = size;
    return 0;
}

static int add_to_pools(const ScoreLog *s, ScoreSize *size, uint64_t n,
                        const double *value, int valid)
{
    size->nb_scored++;
    size->nb_valid += !!valid;
    for (int i = 0; size->pool && i < s->nb_metrics; i++) {
        const enum ScorePooled pooled = s->metric[i].pooled;
        int ret;

        if (!pooled || !valid && pooled != SCORE_POOL_KNOWN && pooled != SCORE_POOL_COUNT || !isfinite(value[i]))
            continue;
        ret = ff_score_pool_add(&size->pool[i], value[i], n);
        if (ret < 0)
            return ret;
    }
    return 0;
}

static int add_frame(ScoreLog *s, void *logctx, const AVFrame *frame, uint64_t n,
                     const double *value, int valid)
{
    ScoreSize *size;
    int ret;

    if (!get_scores(s) && (ret = alloc_scores(s)) < 0 ||
        (ret = find_size(s, logctx, frame->width, frame->height, &size)) < 0 ||
        (ret = add_to_pools(s, &get_scores(s)->all, n, value, valid)) < 0)
        return ret;
    return size ? add_to_pools(s, size, n, value, valid) : 0;
}

static const ScorePool *pools_of(const ScoreLog *s, const ScoreSize *size)
{
    return size->pool ? size->pool : get_scores(s)->all.pool;
}

// ---- the log ----

static void print_header(const ScoreLog *s, AVBPrint *text)
{
    switch (s->log_fmt) {
    case SCORE_LOG_JSON:
        av_bprintf(text, "{\n  \"version\": \"" LIBAVFILTER_IDENT "\",\n"
                   "  \"filter\": \"%s\",\n", s->filter);
        if (s->model)
            av_bprintf(text, "  \"model\": \"%s\",\n", s->model);
        av_bprintf(text, "  \"direction\": \"%s\",\n  \"range\": [%s, %s],\n",
                   direction_of(&s->metric[0]), SCORE_SHORT(s->min),
                   isfinite(s->max) ? SCORE_SHORT(s->max) : "null");
        for (int i = 1; i < s->nb_metrics; i++)
            if (has_own_line(&s->metric[i]))
                av_bprintf(text, "  \"%s\": \"%s, %s\",\n", s->metric[i].name,
                           s->metric[i].scale, direction_of(&s->metric[i]));
        av_bprintf(text, "  \"frames\": [");
        break;
    case SCORE_LOG_CSV:
        av_bprintf(text, "Frame,");
        for (int i = 0; i < s->nb_metrics; i++)
            av_bprintf(text, "%s,", s->metric[i].name);
        av_bprintf(text, "\n");
        break;
    case SCORE_LOG_XML:
        av_bprintf(text, "<VMAF version=\"" LIBAVFILTER_IDENT "\">\n  <frames>\n");
        break;
    case SCORE_LOG_RECORD:
        av_bprintf(text, SCORE_RECORD_MAGIC "\nversion " LIBAVFILTER_IDENT "\n"
                   "filter %s\ntitle %s\n", s->filter, s->title);
        if (s->model)
            av_bprintf(text, "model %s\n", s->model);
        av_bprintf(text, "range %s %s\n", SCORE_EXACT(s->min), SCORE_EXACT(s->max));
        for (int i = 0; i < s->nb_metrics; i++)
            av_bprintf(text, "metric %s %d %d %d %s\n", s->metric[i].name,
                       s->metric[i].digits, s->metric[i].pooled, s->metric[i].direction,
                       s->metric[i].scale ? s->metric[i].scale : "");
        break;
    }
}

/// A number, or the format's word for none.
static void print_value(const ScoreLog *s, AVBPrint *text, int digits, double value)
{
    if (isfinite(value))
        av_bprintf(text, "%s", SCORE_FIXED(digits, value));
    else if (s->log_fmt == SCORE_LOG_JSON)
        av_bprintf(text, "null");
}

/// All that ff_score_log_frame() was given, and every bit of the values.
static void print_record_frame(const ScoreLog *s, AVBPrint *text, const AVFrame *frame,
                               uint64_t n, AVRational time_base, const double *value, int valid)
{
    av_bprintf(text, "frame %"PRIu64" %"PRId64" %d/%d %dx%d %d", n, frame->pts,
               time_base.num, time_base.den, frame->width, frame->height, !!valid);
    for (int i = 0; i < s->nb_metrics; i++)
        av_bprintf(text, " %s", SCORE_EXACT(value[i]));
    av_bprintf(text, "\n");
}

static void print_log_frame(const ScoreLog *s, AVBPrint *text, uint64_t n, const double *value)
{
    switch (s->log_fmt) {
    case SCORE_LOG_JSON:
        av_bprintf(text, "%s\n    {\"frameNum\": %"PRIu64", \"metrics\": {",
                   s->nb_logged ? "," : "", n);
        for (int i = 0; i < s->nb_metrics; i++) {
            av_bprintf(text, "%s\"%s\": ", i ? ", " : "", s->metric[i].name);
            print_value(s, text, s->metric[i].digits, value[i]);
        }
        av_bprintf(text, "}}");
        break;
    case SCORE_LOG_CSV:
        av_bprintf(text, "%"PRIu64",", n);
        for (int i = 0; i < s->nb_metrics; i++) {
            print_value(s, text, s->metric[i].digits, value[i]);
            av_bprintf(text, ",");
        }
        av_bprintf(text, "\n");
        break;
    case SCORE_LOG_XML:
        av_bprintf(text, "    <frame frameNum=\"%"PRIu64"\"", n);
        for (int i = 0; i < s->nb_metrics; i++) {
            av_bprintf(text, " %s=\"", s->metric[i].name);
            print_value(s, text, s->metric[i].digits, value[i]);
            av_bprintf(text, "\"");
        }
        av_bprintf(text, " />\n");
        break;
    }
}

/// Frame numbers have no digits after the point.
static void print_pooled_value(const ScoreLog *s, AVBPrint *text, const ScoreMetric *metric,
                               int i, double value)
{
    const int digits = metric->pooled == SCORE_POOL_COUNT ? 6 : metric->digits;

    print_value(s, text, i == SCORE_WORST_FRAME ? 0 : digits, value);
}

static void print_pooled_json(const ScoreLog *s, AVBPrint *text, const ScoreSize *size,
                              const char *indent)
{
    double value[SCORE_POOLED_NB];
    int first = 1;

    for (int i = 0; i < s->nb_metrics; i++) {
        if (!s->metric[i].pooled)
            continue;
        ff_score_pool_get(value, &pools_of(s, size)[i]);
        av_bprintf(text, "%s\n%s\"%s\": {", first ? "" : ",", indent, s->metric[i].name);
        for (int j = 0; j < SCORE_POOLED_NB; j++) {
            av_bprintf(text, "%s\"%s\": ", j ? ", " : "", pooled_name[j]);
            print_pooled_value(s, text, &s->metric[i], j, value[j]);
        }
        av_bprintf(text, "}");
        first = 0;
    }
}

static void print_pooled_xml(const ScoreLog *s, AVBPrint *text)
{
    double value[SCORE_POOLED_NB];

    for (int i = 0; i < s->nb_metrics; i++) {
        if (!s->metric[i].pooled)
            continue;
        ff_score_pool_get(value, &get_scores(s)->all.pool[i]);
        av_bprintf(text, "    <metric name=\"%s\"", s->metric[i].name);
        for (int j = 0; j < SCORE_POOLED_NB; j++) {
            av_bprintf(text, " %s=\"", pooled_name[j]);
            print_pooled_value(s, text, &s->metric[i], j, value[j]);
            av_bprintf(text, "\"");
        }
        av_bprintf(text, " />\n");
    }
}

static void print_footer(const ScoreLog *s, AVBPrint *text)
{
    const ScoreTotals *scores = get_scores(s);
    const double fps = s->start ? s->nb_frames * 1e6 / FFMAX(av_gettime_relative() - s->start, 1) : 0;

    switch (s->log_fmt) {
    case SCORE_LOG_JSON:
        av_bprintf(text, "\n  ],\n  \"pooled_metrics\": {");
        print_pooled_json(s, text, &scores->all, "    ");
        av_bprintf(text, "\n  },\n  \"aggregate_metrics\": {\"frames\": %"PRIu64", "
                   "\"scored\": %"PRIu64", \"valid\": %"PRIu64, s->nb_frames,
                   scores->all.nb_scored, scores->all.nb_valid);
        for (int i = 0; i < s->nb_counters; i++)
            av_bprintf(text, ", \"%s\": %"PRIu64, s->counter[i].name, *s->counter[i].value);
        av_bprintf(text, "},\n  \"sizes\": [");
        for (int i = 0; i < scores->nb_sizes; i++) {
            const ScoreSize *size = &scores->size[i];

            av_bprintf(text, "%s\n    {\"width\": %d, \"height\": %d, \"scored\": %"PRIu64", "
                       "\"valid\": %"PRIu64", \"pooled_metrics\": {", i ? "," : "",
                       size->width, size->height, size->nb_scored, size->nb_valid);
            print_pooled_json(s, text, size, "      ");
            av_bprintf(text, "\n    }}");
        }
        av_bprintf(text, "\n  ],\n  \"fps\": %s\n}\n", SCORE_FIXED(2, fps));
        break;
    case SCORE_LOG_XML:
        av_bprintf(text, "  </frames>\n  <pooled_metrics>\n");
        print_pooled_xml(s, text);
        av_bprintf(text, "  </pooled_metrics>\n  <aggregate_metrics frames=\"%"PRIu64"\" "
                   "scored=\"%"PRIu64"\" valid=\"%"PRIu64"\"", s->nb_frames,
                   scores->all.nb_scored, scores->all.nb_valid);
        for (int i = 0; i < s->nb_counters; i++)
            av_bprintf(text, " %s=\"%"PRIu64"\"", s->counter[i].name, *s->counter[i].value);
        av_bprintf(text, " />\n  <fyi fps=\"%s\" />\n</VMAF>\n", SCORE_FIXED(2, fps));
        break;
    case SCORE_LOG_RECORD:
        for (int i = 0; i < s->nb_counters; i++)
            av_bprintf(text, "counter %s %"PRIu64"\n", s->counter[i].name, *s->counter[i].value);
        av_bprintf(text, "end %"PRIu64" %s\n", s->nb_frames, SCORE_FIXED(2, fps));
        break;
    }
}

// ---- lines ----

static void print_line(const ScoreLog *s, AVBPrint *text, const AVFrame *frame,
                       uint64_t n, AVRational time_base, const double *value)
{
    av_bprintf(text, "n:%"PRIu64, n + 1);
    if (frame->pts == AV_NOPTS_VALUE)
        av_bprintf(text, " pts:NOPTS pts_time:NOPTS");
    else
        av_bprintf(text, " pts:%"PRId64" pts_time:%s", frame->pts,
                   SCORE_FIXED(6, frame->pts * av_q2d(time_base)));
    for (int i = 0; i < s->nb_metrics; i++)
        av_bprintf(text, " %s:%s", s->metric[i].name, isfinite(value[i]) ?
                   SCORE_FIXED(s->metric[i].digits, value[i]) : "nan");
    av_bprintf(text, "\n");
}

// ---- the summary ----

/// The pooled values of a metric; of the percentiles, those that tell of bad frames.
static void print_pooled(AVBPrint *text, const ScoreMetric *metric, const double *value)
{
    static const int shown[][3] = {
        [SCORE_LOWER_IS_BETTER]  = { SCORE_P50, SCORE_P95, SCORE_P99 },
        [SCORE_HIGHER_IS_BETTER] = { SCORE_P50, SCORE_P5,  SCORE_P1  },
    };

    if (!isfinite(value[SCORE_MEAN])) {
        av_bprintf(text, metric->pooled == SCORE_POOL_VALID ? "no valid frame " : "no frame ");
        return;
    }
    av_bprintf(text, "mean:%s ", SCORE_FIXED(6, value[SCORE_MEAN]));
    if (isfinite(value[SCORE_ERROR]))
        av_bprintf(text, "standard_error:%s ", SCORE_FIXED(6, value[SCORE_ERROR]));
    av_bprintf(text, "min:%s max:%s ", SCORE_FIXED(6, value[SCORE_MIN]),
               SCORE_FIXED(6, value[SCORE_MAX]));
    for (int i = 0; i < FF_ARRAY_ELEMS(shown[0]); i++) {
        int j = shown[metric->direction][i];

        av_bprintf(text, "%s:%s ", pooled_name[j], SCORE_FIXED(6, value[j]));
    }
    av_bprintf(text, "worst_window:%s worst_window_frame:%s ", SCORE_FIXED(6, value[SCORE_WORST]),
               SCORE_FIXED(0, value[SCORE_WORST_FRAME]));
}

static void print_counts(const ScoreLog *s, AVBPrint *text, const ScoreSize *size)
{
    for (int i = 0; i < s->nb_metrics; i++)
        if (s->metric[i].pooled == SCORE_POOL_COUNT && pools_of(s, size)[i].nb)
            av_bprintf(text, "%s:%s ", s->metric[i].scale,
                       SCORE_FIXED(0, pools_of(s, size)[i].sum));
}

static void print_summary_line(const ScoreLog *s, void *logctx, const ScoreSize *size, int i)
{
    const ScoreMetric *metric = &s->metric[i];
    double value[SCORE_POOLED_NB];
    AVBPrint text;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    ff_score_pool_get(value, &pools_of(s, size)[i]);
    if (get_scores(s)->nb_sizes > 1)
        av_bprintf(&text, "%dx%d: ", size->width, size->height);
    av_bprintf(&text, "%s ", s->title);
    if (i)
        av_bprintf(&text, "%s ", metric->name);
    print_pooled(&text, metric, value);
    if (i) {
        av_bprintf(&text, "(%s, %s)", metric->scale, direction_of(metric));
    } else {
        av_bprintf(&text, "frames:%"PRIu64" invalid:%"PRIu64" ", size->nb_scored,
                   size->nb_scored - size->nb_valid);
        print_counts(s, &text, size);
        av_bprintf(&text, "(");
        if (isfinite(s->max))
            av_bprintf(&text, "%s..%s, ", SCORE_SHORT(s->min), SCORE_SHORT(s->max));
        av_bprintf(&text, "%s%s%s)", direction_of(metric), s->model ? ", model " : "",
                   s->model ? s->model : "");
    }
    av_log(logctx, AV_LOG_INFO, "%s\n", text.str);
}

static void print_warnings(const ScoreLog *s, void *logctx)
{
    const ScoreSize *all = &get_scores(s)->all;

    for (int i = 0; i < s->nb_metrics; i++)
        if (s->metric[i].warning && 2 * all->pool[i].sum > all->nb_scored)
            av_log(logctx, AV_LOG_WARNING, "%s of %"PRIu64" frames are %s.\n",
                   SCORE_FIXED(0, all->pool[i].sum), all->nb_scored, s->metric[i].warning);
}

static void print_summary(const ScoreLog *s, void *logctx)
{
    for (int i = 0; i < get_scores(s)->nb_sizes; i++)
        for (int j = 0; j < s->nb_metrics; j++)
            if (!j || has_own_line(&s->metric[j]))
                print_summary_line(s, logctx, &get_scores(s)->size[i], j);
    if (get_scores(s)->nb_sizes > 1)
        av_log(logctx, AV_LOG_WARNING, "The frame size changed: scores at "
               "different sizes do not compare, see the size's own line.\n");
    print_warnings(s, logctx);
}

// ---- in the order of their calls ----

void ff_score_log_init(ScoreLog *s, void *options)
{
    ScoreOutputs *outputs = &s->outputs;

    s->stats = (ScoreOutput){ .path = s->stats_file };
    s->log   = (ScoreOutput){ .path = s->log_path, .has_end = 1 };
    if (s->stats_file)
        outputs->output[outputs->nb_outputs++] = &s->stats;
    if (s->log_path)
        outputs->output[outputs->nb_outputs++] = &s->log;
    outputs->options    = options;
    outputs->free_owned = free_scores;
    outputs->carried[outputs->nb_carried++] = (ScoreCarried){ &s->nb_frames, sizeof(s->nb_frames) };
    outputs->carried[outputs->nb_carried++] = (ScoreCarried){ &s->nb_logged, sizeof(s->nb_logged) };
    outputs->carried[outputs->nb_carried++] = (ScoreCarried){ &s->start,     sizeof(s->start) };
}

uint64_t ff_score_log_count(ScoreLog *s, void *logctx, const AVFrame *frame,
                              AVRational time_base)
{
    ff_score_outputs_note(&s->outputs, logctx, frame, time_base);
    if (!s->nb_frames)
        s->start = av_gettime_relative();
    return s->nb_frames++;
}

int ff_score_log_open(ScoreLog *s, void *logctx)
{
    AVBPrint text;
    int ret = ff_score_outputs_open(&s->outputs, logctx);

    if (ret <= 0 || !s->log_path || s->log.continued)
        return FFMIN(ret, 0);
    av_assert0(s->metric[0].direction);
    s->nb_logged = 0;
    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    print_header(s, &text);
    ret = ff_score_output_write(&s->outputs, logctx, &s->log, &text);
    av_bprint_finalize(&text, NULL);
    return ret;
}

static int write_frame(ScoreLog *s, void *logctx, const AVFrame *frame, uint64_t n,
                       AVRational time_base, const double *value, int valid)
{
    AVBPrint text;
    int ret = 0;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (s->stats_file) {
        print_line(s, &text, frame, n, time_base, value);
        ret = ff_score_output_write(&s->outputs, logctx, &s->stats, &text);
    }
    if (s->log_path && ret >= 0) {
        if (s->log_fmt == SCORE_LOG_RECORD)
            print_record_frame(s, &text, frame, n, time_base, value, valid);
        else
            print_log_frame(s, &text, n, value);
        s->nb_logged++;
        ret = ff_score_output_write(&s->outputs, logctx, &s->log, &text);
    }
    av_bprint_finalize(&text, NULL);
    return ret;
}

int ff_score_log_frame(ScoreLog *s, void *logctx, const AVFrame *frame,
                         uint64_t n, AVRational time_base,
                         const double *value, int valid)
{
    int ret;

    if (s->outputs.closed)
        return s->outputs.error;
    if ((ret = ff_score_log_open(s, logctx)) < 0 ||
        (ret = add_frame(s, logctx, frame, n, value, valid)) < 0)
        return ret;
    return write_frame(s, logctx, frame, n, time_base, value, valid);
}

static int finish(ScoreLog *s, void *logctx)
{
    AVBPrint text;
    int ret;

    if ((ret = ff_score_log_open(s, logctx)) < 0 ||
        !get_scores(s) && (ret = alloc_scores(s)) < 0)
        return ret;
    if (s->log_path) {
        av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
        print_footer(s, &text);
        ret = ff_score_output_end(&s->outputs, logctx, &s->log, &text);
        av_bprint_finalize(&text, NULL);
        if (ret < 0)
            return ret;
    }
    print_summary(s, logctx);
    return 0;
}

int ff_score_log_close(ScoreLog *s, void *logctx, int ended)
{
    if (!s->outputs.closed && !s->outputs.error && (ended || s->outputs.noted)) {
        int ret = finish(s, logctx);

        if (ret < 0 && !s->outputs.error)
            s->outputs.error = ret;
    }
    return ff_score_outputs_close(&s->outputs, logctx);
}
