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
#include <stdlib.h>

#include "libavutil/avassert.h"
#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/time.h"

#include "luma_frame.h"
#include "score_log.h"
#include "version.h"

/// The frames of one size, which are never pooled with those of another.
typedef struct Size {
    int width, height;
    uint64_t nb_scored;     ///< frames with values
    uint64_t nb_valid;      ///< of these, valid ones
    ScorePool *pool;        ///< [nb_metrics]
} Size;

/// Sums over all scored frames. A successor takes them over with the files, see score_output.h.
typedef struct Totals {
    int nb_metrics;
    Size all;
    Size size[SCORE_MAX_SIZES];
    int nb_sizes;
    int has_others;         ///< frames of sizes that are not here
    uint64_t nb_frames;     ///< all frames, scored or not
    int64_t start;          ///< wall clock at the first frame, in us
} Totals;

/// How a format writes a frame and its values.
typedef struct Style {
    const char *frame;      ///< what comes before the values: a format for the number
    const char *between, *before, *after_name, *after;
    const char *none;       ///< for a value that is not finite
    const char *end;
} Style;

static const Style line_style = { "n:%"PRIu64, "", " ", ":", "", "nan", "\n" };
static const Style log_style[SCORE_LOG_NB] = {
    [SCORE_LOG_JSON] = { "\n    {\"frameNum\": %"PRIu64", \"metrics\": {",
                         ", ", "\"", "\": ", "", "null", "}}" },
    [SCORE_LOG_XML]  = { "    <frame frameNum=\"%"PRIu64"\"", "", " ", "=\"", "\"", "", " />\n" },
    [SCORE_LOG_CSV]  = { "%"PRIu64",", "", "", NULL, ",", "", "\n" },
};

static const char *const pooled_name[SCORE_POOLED_NB] = {
    "min", "max", "mean", "harmonic_mean",
    "p1", "p5", "p10", "p50", "p90", "p95", "p99",
    "standard_error", "worst_window", "worst_window_frame",
};

static const char *direction_of(const ScoreMetric *metric)
{
    return metric->direction == SCORE_LOWER_IS_BETTER ? "lower is better" : "higher is better";
}

// ---- pooling ----

static Totals *totals_of(const ScoreLog *s)
{
    return s->outputs.owned;
}

static void free_totals(void *owned)
{
    Totals *totals = owned;

    for (int i = -1; i < totals->nb_sizes; i++) {
        Size *size = i < 0 ? &totals->all : &totals->size[i];

        for (int j = 0; size->pool && j < totals->nb_metrics; j++)
            ff_score_pool_free(&size->pool[j]);
        av_free(size->pool);
    }
    av_free(totals);
}

static int init_size(const ScoreLog *s, Size *size, int width, int height)
{
    *size = (Size){ width, height, .pool = av_calloc(s->nb_metrics, sizeof(*size->pool)) };
    for (int i = 0; size->pool && i < s->nb_metrics; i++) {
        size->pool[i].direction   = s->metric[i].direction;
        size->pool[i].percentiles = s->metric[i].pooled == SCORE_POOL_VALID ||
                                    s->metric[i].pooled == SCORE_POOL_KNOWN;
    }
    return size->pool ? 0 : AVERROR(ENOMEM);
}

/// @param dst set to NULL if there are too many sizes
static int find_size(const ScoreLog *s, void *logctx, int width, int height, Size **dst)
{
    Totals *totals = totals_of(s);

    for (int i = totals->nb_sizes - 1; i >= 0; i--) {
        *dst = &totals->size[i];
        if ((*dst)->width == width && (*dst)->height == height)
            return 0;
    }
    *dst = NULL;
    if (totals->nb_sizes < SCORE_MAX_SIZES) {
        int ret = init_size(s, &totals->size[totals->nb_sizes], width, height);

        if (ret >= 0)
            *dst = &totals->size[totals->nb_sizes++];
        return ret;
    }
    if (!totals->has_others)
        av_log(logctx, AV_LOG_WARNING, "More than %d sizes of frames: %dx%d and what follows "
               "is only in the values over all sizes.\n", SCORE_MAX_SIZES, width, height);
    totals->has_others = 1;
    return 0;
}

static double as_printed(int digits, double value)
{
    static const double scale[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
    const double scaled = value * scale[digits], whole = rint(scaled);
    char text[SCORE_NUMBER_SIZE];

    // far from half, and where the product's own rounding is small, that is what printf() rounds to
    if (fabs(scaled) < 0x1p40 && fabs(fabs(scaled - whole) - 0.5) > 1e-3)
        return whole / scale[digits];
    snprintf(text, sizeof(text), "%.*f", digits, value);
    return strtod(text, NULL);
}

static int add_frame(ScoreLog *s, void *logctx, const AVFrame *frame, uint64_t n,
                     const double *value, int valid)
{
    Size *size[2] = { &totals_of(s)->all };
    int ret = find_size(s, logctx, ff_picture_width(frame), ff_picture_height(frame),
                        &size[1]);

    if (ret < 0)
        return ret;
    for (int i = 0; i < 2 && size[i]; i++) {
        size[i]->nb_scored++;
        size[i]->nb_valid += !!valid;
    }
    for (int i = 0; i < s->nb_metrics; i++) {
        const ScoreMetric *metric = &s->metric[i];
        const int always = metric->pooled == SCORE_POOL_KNOWN || metric->pooled == SCORE_POOL_COUNT;
        double printed;

        if (!metric->pooled || !valid && !always || !isfinite(value[i]))
            continue;
        printed = as_printed(metric->digits, value[i]);
        for (int j = 0; j < 2 && size[j]; j++)
            if ((ret = ff_score_pool_add(&size[j]->pool[i], printed, n)) < 0)
                return ret;
    }
    return 0;
}

// ---- frames ----

static void print_value(AVBPrint *text, const Style *style, int i, const char *name,
                        int digits, double value)
{
    av_bprintf(text, "%s", i ? style->between : "");
    if (style->after_name)
        av_bprintf(text, "%s%s%s", style->before, name, style->after_name);
    av_bprintf(text, "%s%s", isfinite(value) ? SCORE_FIXED(digits, value) : style->none,
               style->after);
}

static void print_values(const ScoreLog *s, AVBPrint *text, const Style *style, const double *value)
{
    for (int i = 0; i < s->nb_metrics; i++)
        print_value(text, style, i, s->metric[i].name, s->metric[i].digits, value[i]);
    av_bprintf(text, "%s", style->end);
}

static void print_line(const ScoreLog *s, AVBPrint *text, const AVFrame *frame, uint64_t n,
                       const double *value)
{
    av_bprintf(text, line_style.frame, n + 1);
    if (frame->pts == AV_NOPTS_VALUE)
        av_bprintf(text, " pts:NOPTS pts_time:NOPTS");
    else
        av_bprintf(text, " pts:%"PRId64" pts_time:%s", frame->pts,
                   SCORE_FIXED(6, frame->pts * av_q2d(s->outputs.time_base)));
    print_values(s, text, &line_style, value);
}

static void print_log_frame(const ScoreLog *s, AVBPrint *text, uint64_t n, const double *value)
{
    if (s->log_fmt == SCORE_LOG_JSON && s->has_frames)
        av_bprintf(text, ",");
    av_bprintf(text, log_style[s->log_fmt].frame, n);
    print_values(s, text, &log_style[s->log_fmt], value);
}

// ---- the log's beginning and end ----

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
            if (s->metric[i].scale)
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
    }
}

static void print_pools(const ScoreLog *s, AVBPrint *text, const Size *size, const char *indent)
{
    const int is_json = s->log_fmt == SCORE_LOG_JSON;
    double value[SCORE_POOLED_NB];
    int first = 1;

    for (int i = 0; i < s->nb_metrics; i++) {
        const ScoreMetric *metric = &s->metric[i];

        if (!metric->pooled)
            continue;
        ff_score_pool_get(value, &size->pool[i]);
        av_bprintf(text, is_json ? "%s\n%s\"%s\": {" : "%s%s<metric name=\"%s\"",
                   is_json && !first ? "," : "", indent, metric->name);
        // frames have no digits after the point, and means of whole numbers do
        for (int j = 0; j < SCORE_POOLED_NB; j++)
            print_value(text, &log_style[s->log_fmt], j, pooled_name[j],
                        j == SCORE_WORST_FRAME ? 0 : metric->digits ? metric->digits : 6, value[j]);
        av_bprintf(text, is_json ? "}" : " />\n");
        first = 0;
    }
}

static void print_counts(const ScoreLog *s, AVBPrint *text)
{
    const Size *all    = &totals_of(s)->all;
    const Style *style = &log_style[s->log_fmt];

    print_value(text, style, 0, "frames", 0, totals_of(s)->nb_frames);
    print_value(text, style, 1, "scored", 0, all->nb_scored);
    print_value(text, style, 2, "valid",  0, all->nb_valid);
    for (int i = 0; i < s->nb_counters; i++)
        print_value(text, style, 3 + i, s->counter[i].name, 0, *s->counter[i].value);
}

static void print_sizes(const ScoreLog *s, AVBPrint *text)
{
    for (int i = 0; i < totals_of(s)->nb_sizes; i++) {
        const Size *size = &totals_of(s)->size[i];

        av_bprintf(text, "%s\n    {\"width\": %d, \"height\": %d, \"scored\": %"PRIu64", "
                   "\"valid\": %"PRIu64", \"pooled_metrics\": {", i ? "," : "",
                   size->width, size->height, size->nb_scored, size->nb_valid);
        print_pools(s, text, size, "      ");
        av_bprintf(text, "\n    }}");
    }
}

static void print_footer(const ScoreLog *s, AVBPrint *text)
{
    const Totals *totals = totals_of(s);
    const int64_t time   = FFMAX(av_gettime_relative() - totals->start, 1);
    const char *fps      = SCORE_FIXED(2, totals->nb_frames * 1e6 / time);

    if (s->log_fmt == SCORE_LOG_JSON) {
        av_bprintf(text, "\n  ],\n  \"pooled_metrics\": {");
        print_pools(s, text, &totals_of(s)->all, "    ");
        av_bprintf(text, "\n  },\n  \"aggregate_metrics\": {");
        print_counts(s, text);
        av_bprintf(text, "},\n  \"sizes\": [");
        print_sizes(s, text);
        av_bprintf(text, "\n  ],\n  \"fps\": %s\n}\n", fps);
    } else if (s->log_fmt == SCORE_LOG_XML) {
        av_bprintf(text, "  </frames>\n  <pooled_metrics>\n");
        print_pools(s, text, &totals_of(s)->all, "    ");
        av_bprintf(text, "  </pooled_metrics>\n  <aggregate_metrics");
        print_counts(s, text);
        av_bprintf(text, " />\n  <fyi fps=\"%s\" />\n</VMAF>\n", fps);
    }
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

static void print_summary_line(const ScoreLog *s, void *logctx, const Size *size, int i)
{
    const ScoreMetric *metric = &s->metric[i];
    double value[SCORE_POOLED_NB];
    AVBPrint text;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    ff_score_pool_get(value, &size->pool[i]);
    if (totals_of(s)->nb_sizes > 1)
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
        for (int j = 0; j < s->nb_metrics; j++)
            if (s->metric[j].pooled == SCORE_POOL_COUNT && size->pool[j].nb)
                av_bprintf(&text, "%s:%s ", s->metric[j].counted,
                           SCORE_FIXED(0, size->pool[j].sum));
        av_bprintf(&text, "(");
        if (isfinite(s->max))
            av_bprintf(&text, "%s..%s, ", SCORE_SHORT(s->min), SCORE_SHORT(s->max));
        av_bprintf(&text, "%s%s%s)", direction_of(metric), s->model ? ", model " : "",
                   s->model ? s->model : "");
    }
    av_log(logctx, AV_LOG_INFO, "%s\n", text.str);
}

static void print_summary(const ScoreLog *s, void *logctx)
{
    const Totals *totals = totals_of(s);

    for (int i = 0; i < totals->nb_sizes; i++)
        for (int j = 0; j < s->nb_metrics; j++)
            if (!j || s->metric[j].scale)
                print_summary_line(s, logctx, &totals->size[i], j);
    if (totals->nb_sizes > 1)
        av_log(logctx, AV_LOG_WARNING, "The frame size changed: scores at "
               "different sizes do not compare, see the size's own line.\n");
    for (int i = 0; i < s->nb_metrics; i++)
        if (s->metric[i].warning && 2 * totals->all.pool[i].sum > totals->all.nb_scored)
            av_log(logctx, AV_LOG_WARNING, "%s of %"PRIu64" frames are %s.\n",
                   SCORE_FIXED(0, totals->all.pool[i].sum), totals->all.nb_scored,
                   s->metric[i].warning);
}

// ---- in the order of their calls ----

int ff_score_log_init(ScoreLog *s, void *options)
{
    ScoreOutputs *outputs = &s->outputs;
    Totals *totals = av_mallocz(sizeof(*totals));

    if (!totals || init_size(s, &totals->all, 0, 0) < 0) {
        av_free(totals);
        return AVERROR(ENOMEM);
    }
    totals->nb_metrics = s->nb_metrics;
    outputs->owned     = totals;
    s->stats = (ScoreOutput){ .path = s->stats_file };
    s->log   = (ScoreOutput){ .path = s->log_path, .has_end = 1 };
    if (s->stats_file)
        outputs->output[outputs->nb_outputs++] = &s->stats;
    if (s->log_path)
        outputs->output[outputs->nb_outputs++] = &s->log;
    outputs->options    = options;
    outputs->free_owned = free_totals;
    return 0;
}

uint64_t ff_score_log_count(ScoreLog *s, void *logctx, const AVFrame *frame,
                            AVRational time_base)
{
    Totals *totals;

    ff_score_outputs_note(&s->outputs, logctx, frame, time_base);
    totals = totals_of(s);
    if (!totals)        // closed, with its output
        return 0;
    if (!totals->nb_frames)
        totals->start = av_gettime_relative();
    return totals->nb_frames++;
}

int ff_score_log_open(ScoreLog *s, void *logctx)
{
    int ret = ff_score_outputs_open(&s->outputs, logctx);
    AVBPrint text;

    if (ret <= 0 || !s->log_path)
        return FFMIN(ret, 0);
    s->has_frames = s->log.continued && totals_of(s)->all.nb_scored;
    if (s->log.continued)
        return 0;
    av_assert0(s->metric[0].direction);
    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    print_header(s, &text);
    ret = ff_score_output_write(&s->outputs, logctx, &s->log, &text);
    av_bprint_finalize(&text, NULL);
    return ret;
}

static int set_metadata(const ScoreLog *s, AVFrame *frame, const double *value)
{
    int ret = 0;

    for (int i = 0; i < s->nb_metrics && ret >= 0; i++) {
        const ScoreMetric *metric = &s->metric[i];
        char key[64];

        snprintf(key, sizeof(key), "lavfi.%s.%s", s->filter, metric->name);
        // without a value, one of an earlier filter goes
        ret = av_dict_set(&frame->metadata, key, !isfinite(value[i]) ? NULL :
                          metric->words ? metric->words[(int)value[i]] :
                          SCORE_FIXED(metric->digits, value[i]), 0);
    }
    return ret;
}

int ff_score_log_frame(ScoreLog *s, void *logctx, AVFrame *frame, uint64_t n,
                       const double *value, int valid)
{
    AVBPrint text;
    int ret = set_metadata(s, frame, value);

    if (ret < 0)
        return ret;
    if (s->outputs.closed)
        return s->outputs.error;
    if ((ret = ff_score_log_open(s, logctx)) < 0)
        return ret;
    ret = add_frame(s, logctx, frame, n, value, valid);
    if (ret < 0)        // what is pooled is not whole: nothing of it is written
        return s->outputs.error = ret;
    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (s->stats_file) {
        print_line(s, &text, frame, n, value);
        ret = ff_score_output_write(&s->outputs, logctx, &s->stats, &text);
    }
    if (s->log_path && ret >= 0) {
        print_log_frame(s, &text, n, value);
        s->has_frames = 1;
        ret = ff_score_output_write(&s->outputs, logctx, &s->log, &text);
    }
    av_bprint_finalize(&text, NULL);
    return ret;
}

static int finish(ScoreLog *s, void *logctx)
{
    AVBPrint text;
    int ret = ff_score_log_open(s, logctx);

    if (ret < 0)
        return ret;
    if (s->log_path) {
        const int64_t body = s->log.body;

        av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
        print_footer(s, &text);
        ret = ff_score_output_write(&s->outputs, logctx, &s->log, &text);
        av_bprint_finalize(&text, NULL);
        s->log.body = body;
    }
    if (ret >= 0)
        print_summary(s, logctx);
    return ret;
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
