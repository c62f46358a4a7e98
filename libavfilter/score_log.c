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

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "libavutil/avstring.h"
#include "libavutil/dict.h"
#include "libavutil/error.h"
#include "libavutil/file_open.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/thread.h"
#include "libavutil/time.h"

#include "filters.h"
#include "score_log.h"
#include "version.h"

/// All outputs of the process.
static MetricOutput *outputs;
static AVMutex outputs_lock = AV_MUTEX_INITIALIZER;

// ---- files ----

static int file_error(const MetricFile *f, void *logctx, const char *format)
{
    const int ret = errno ? AVERROR(errno) : AVERROR(EIO);

    av_log(logctx, AV_LOG_ERROR, format, f->path, av_err2str(ret));
    return ret;
}

static int is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

static int open_file(MetricFile *f, void *logctx)
{
    errno   = 0;
    f->file = is_stdout(f->path) ? stdout : avpriv_fopen_utf8(f->path, "wb");
    return f->file ? 0 : file_error(f, logctx, "Cannot open '%s' for writing: %s.\n");
}

static int is_same_file(const MetricFile *a, const MetricFile *b)
{
    return a->path && b->path && !is_stdout(a->path) && !is_stdout(b->path) &&
           (!strcmp(a->path, b->path) ||
            a->st.st_ino && a->st.st_ino == b->st.st_ino && a->st.st_dev == b->st.st_dev) &&
           // of devices such as /dev/null there may be several
           (a->st.st_mode & S_IFMT) != S_IFCHR;
}

/// Open a file that no output of the process has, unless it is a FIFO. outputs_lock is held.
static int claim_file(MetricFile *f, void *logctx, const char *path)
{
    int ret;

    if (!path)
        return 0;
    if (!(f->path = av_strdup(path)))
        return AVERROR(ENOMEM);
    stat(f->path, &f->st);
    for (const MetricOutput *o = outputs; o; o = o->next)
        for (int i = 0; i < METRIC_NB_FILES; i++)
            if (f != &o->file[i] && is_same_file(f, &o->file[i])) {
                av_log(logctx, AV_LOG_ERROR, "'%s' is being written by %s already: set another "
                       "file.\n", path, o->instance);
                return AVERROR(EBUSY);
            }
    if ((f->st.st_mode & S_IFMT) == S_IFIFO)
        return 0;
    ret = open_file(f, logctx);
    // it may be a new file
    stat(f->path, &f->st);
    return ret;
}

/// Whether a footer can be written that is overwritten later: not to a pipe.
static int can_rewrite(const MetricFile *f)
{
    fpos_t pos;

    return f->file && f->file != stdout && !fgetpos(f->file, &pos);
}

int ff_metric_write(MetricFile *f, void *logctx, AVBPrint *text, int is_footer)
{
    int ret;

    if (!f->file && (ret = open_file(f, logctx)) < 0)
        return ret;
    errno = av_bprint_is_complete(text) ? 0 : ENOMEM;
    // blanks: the rest of the file may become shorter than it was
    if (errno || f->footer_size && (fsetpos(f->file, &f->footer) ||
                                    fprintf(f->file, "%*s", (int)f->footer_size, "") < 0 ||
                                    fsetpos(f->file, &f->footer)))
        return file_error(f, logctx, "Cannot write '%s': %s.\n");
    f->footer_size = is_footer && !fgetpos(f->file, &f->footer) ? text->len : 0;
    // flushed at once: where the output has ended early, an error at the end would not be seen
    if (fwrite(text->str, 1, text->len, f->file) < text->len || fflush(f->file))
        return file_error(f, logctx,
                          "Cannot write '%s': %s; free some space or name another file.\n");
    av_bprint_clear(text);
    return 0;
}

// ---- outputs ----

/// Its address identifies a thread.
static _Thread_local char this_thread;

static const char *instance_name(const AVFilterContext *ctx)
{
    return ctx->name ? ctx->name : ctx->filter->name;
}

/// Whether a file, or else the place in a graph of the same thread, identifies an output.
static int is_handed_over(const MetricOutput *o, const AVFilterContext *ctx, const char *filter,
                          const char *const path[METRIC_NB_FILES])
{
    int has_file = 0;

    for (int i = 0; i < METRIC_NB_FILES; i++) {
        if (strcmp(o->file[i].path ? o->file[i].path : "", path[i] ? path[i] : ""))
            return 0;
        has_file |= path[i] && !is_stdout(path[i]);
    }
    return o->thread && !strcmp(o->filter, filter) &&
           (has_file || !strcmp(o->instance, instance_name(ctx)) && o->thread == &this_thread);
}

/// Take an output out of the list, close its files and free it. outputs_lock is held.
static void close_output(MetricOutput *o, void *logctx)
{
    MetricOutput **link = &outputs;

    while (*link != o)
        link = &(*link)->next;
    *link = o->next;
    for (int i = 0; i < METRIC_NB_FILES; i++) {
        MetricFile *f = &o->file[i];

        errno = 0;
        if (f->file && f->file != stdout && fclose(f->file))
            file_error(f, logctx, "Cannot write '%s': %s.\n");
        av_free(f->path);
    }
    av_free(o->instance);
    av_free(o->totals);
    for (int i = 0; i < METRIC_MAX_SCORES; i++)
        av_free(o->bin[i]);
    av_buffer_unref(&o->inputs);
    av_bprint_finalize(&o->footer, NULL);
    av_bprint_finalize(&o->summary, NULL);
    av_free(o);
}

int ff_metric_open(MetricOutput **output, AVFilterContext *ctx, const char *filter,
                   const char *const path[METRIC_NB_FILES], size_t totals_size)
{
    MetricOutput *o;
    int ret = 0;

    ff_mutex_lock(&outputs_lock);
    for (o = outputs; o && !is_handed_over(o, ctx, filter, path); o = o->next)
        ;
    if (o) {
        o->thread = NULL;
    } else if (!(o = av_mallocz(sizeof(*o)))) {
        ret = AVERROR(ENOMEM);
    } else {
        o->next      = outputs;
        outputs      = o;
        o->nb_inputs = ctx->nb_inputs;
        o->filter    = filter;
        o->instance  = av_strdup(instance_name(ctx));
        o->totals    = av_mallocz(totals_size);
        av_bprint_init(&o->footer,  0, AV_BPRINT_SIZE_UNLIMITED);
        av_bprint_init(&o->summary, 0, AV_BPRINT_SIZE_UNLIMITED);
        if (!o->instance || !o->totals)
            ret = AVERROR(ENOMEM);
        for (int i = 0; i < METRIC_NB_FILES && ret >= 0; i++)
            ret = claim_file(&o->file[i], ctx, path[i]);
        if (ret < 0)
            close_output(o, ctx);
    }
    ff_mutex_unlock(&outputs_lock);
    *output = ret < 0 ? NULL : o;
    return ret;
}

void ff_metric_close(MetricOutput **output, AVFilterContext *ctx, int handed_over)
{
    MetricOutput *o = *output;

    if (!o)
        return;
    ff_mutex_lock(&outputs_lock);
    if (handed_over)
        o->thread = &this_thread;
    else
        close_output(o, ctx);
    ff_mutex_unlock(&outputs_lock);
    *output = NULL;
}

// ---- damage ----

static const char *const mark_name[METRIC_NB_MARKS] = {
    [METRIC_MAIN] = "damaged", [METRIC_REFERENCE] = "reference_damaged", [METRIC_STILL] = "still",
};

static void mark_key(char key[64], const MetricOutput *o, int mark)
{
    snprintf(key, 64, "lavfi.%s.%s", o->filter, mark_name[mark]);
}

int ff_metric_mark(const MetricOutput *o, AVFrame *frame, int mark, int set)
{
    char key[64];

    mark_key(key, o, mark);
    // without the mark, one of an earlier filter goes
    return av_dict_set(&frame->metadata, key, set ? "1" : NULL, 0);
}

int ff_metric_is_marked(const MetricOutput *o, const AVFrame *frame, int mark)
{
    char key[64];

    mark_key(key, o, mark);
    return !!av_dict_get(frame->metadata, key, NULL, 0);
}

void ff_metric_update_damage(MetricOutput *o, int input, const AVFrame *frame)
{
    if (frame->decode_error_flags || frame->flags & AV_FRAME_FLAG_CORRUPT)
        o->damage[input].lasts = 1;
    // V4L2 reports key frames, but no types
    else if (frame->pict_type == AV_PICTURE_TYPE_I ||
             frame->pict_type == AV_PICTURE_TYPE_NONE && frame->flags & AV_FRAME_FLAG_KEY)
        o->damage[input].lasts = 0;
}

int ff_metric_damage(MetricOutput *o, AVFrame *main, const AVFrame *reference)
{
    const AVFrame *const frame[METRIC_NB_INPUTS] = { main, reference };
    int ret = 0;

    for (int i = 0; i < METRIC_NB_INPUTS && ret >= 0; i++) {
        MetricDamage *d = &o->damage[i];

        if (frame[i])
            ff_metric_update_damage(o, i, frame[i]);
        d->nb += frame[i] && d->lasts;
        ret = ff_metric_mark(o, main, i, frame[i] && d->lasts);
    }
    return ret;
}

// ---- pooling ----

static double as_printed(int digits, double value)
{
    char text[METRIC_NUMBER_SIZE];

    snprintf(text, sizeof(text), "%.*f", digits, value);
    return strtod(text, NULL);
}

static void add_value(MetricPool *p, double value)
{
    p->min = p->nb ? FFMIN(p->min, value) : value;
    p->max = p->nb ? FFMAX(p->max, value) : value;
    p->nb++;
    p->sum     += value;
    p->inverse += value > -1 ? 1 / (value + 1) : NAN;
}

static double pool_mean(const MetricPool *p)
{
    return p->nb ? p->sum / p->nb : NAN;
}

/// libvmaf's, N / sum(1 / (v + 1)) - 1.
static double pool_harmonic_mean(const MetricPool *p)
{
    return p->nb ? p->nb / p->inverse - 1 : NAN;
}

/// Whether a score has a maximum, for identical pictures, but no minimum.
static int has_open_range(const ScoreMetric *metric)
{
    return isfinite(metric->max) && isinf(metric->min);
}

/// Return the value of the lowest bin.
static double lowest_bin(const ScoreMetric *metric)
{
    return has_open_range(metric) ? metric->max - METRIC_OPEN_RANGE : metric->min;
}

/// @return the number of bins, 0 without percentiles
static int nb_bins(const ScoreMetric *metric)
{
    const double range = metric->max - lowest_bin(metric);

    return metric->score_number && (range <= METRIC_MAX_RANGE || has_open_range(metric)) ?
           lrint(range * METRIC_BINS) + 1 : 0;
}

/// Allocate the histograms. Those of a filter before a rebuild have the same sizes.
static int alloc_bins(MetricLog *s)
{
    for (int i = 0; i < s->nb_metrics; i++) {
        const int nb   = nb_bins(&s->metric[i]);
        uint64_t **bin = &s->output->bin[FFMAX(s->metric[i].score_number - 1, 0)];

        if (nb && !*bin && !(*bin = av_calloc(FFMAX(nb, METRIC_MAX_RANGE * METRIC_BINS + 1), sizeof(**bin))))
            return AVERROR(ENOMEM);
    }
    return 0;
}

/// The least value that at least p % of nb values do not exceed: nearest rank.
static double percentile(const ScoreMetric *metric, const uint64_t *bin, uint64_t nb, int p)
{
    uint64_t sum = 0;

    for (int i = 0; nb && i < nb_bins(metric); i++) {
        sum += bin[i];
        if (sum * 100 >= nb * p)
            return lowest_bin(metric) + i / (double)METRIC_BINS;
    }
    return NAN;
}

static void add_frame(MetricLog *s, const double *value, int valid)
{
    MetricPool *word = s->totals->pool + s->nb_metrics;
    const int pools_unrounded = s->is_compat || s->format == METRIC_FORMAT_XML;

    s->totals->nb_scored++;
    s->totals->nb_valid += !!valid;
    for (int i = 0; i < s->nb_reported && valid; i++) {
        const ScoreMetric *metric = &s->metric[i];
        const double printed = as_printed(metric->digits, value[i]);
        const int nb = nb_bins(metric);

        if (metric->pooled && isfinite(value[i]))
            add_value(&s->totals->pool[i], pools_unrounded ? value[i] : printed);
        if (nb && isfinite(value[i]))
            s->output->bin[metric->score_number - 1]
                          [av_clip(lrint((printed - lowest_bin(metric)) * METRIC_BINS), 0, nb - 1)]++;
        if (metric->words && isfinite(value[i]) && isfinite(value[0]))
            add_value(&word[(int)value[i]], as_printed(s->metric[0].digits, value[0]));
    }
}

// ---- text ----

static const char *direction(const MetricLog *s)
{
    return s->higher_is_better ? "higher is better" : "lower is better";
}

#define JSON_NUMBER(digits, value) (isfinite(value) ? METRIC_FIXED(digits, value) : "null")

/// Print the percentiles of a score.
static void print_percentiles(const MetricLog *s, AVBPrint *text, const char *format, int i)
{
    static const int percent[2][2] = { { 95, 99 }, { 1, 5 } };
    const ScoreMetric *metric = &s->metric[i];

    for (int j = 0; j < 2 && nb_bins(metric); j++) {
        const int p = percent[s->higher_is_better][j];
        const double value = percentile(metric, s->output->bin[metric->score_number - 1],
                                        s->totals->pool[i].nb, p);

        av_bprintf(text, format, p, JSON_NUMBER(2, value));
    }
}

static void print_line(const MetricLog *s, AVBPrint *text, const AVFrame *frame, uint64_t n,
                       const double *value)
{
    av_bprintf(text, "n:%"PRIu64, n + 1);
    if (frame->pts == AV_NOPTS_VALUE)
        av_bprintf(text, " pts:NOPTS pts_time:NOPTS");
    else
        av_bprintf(text, " pts:%"PRId64" pts_time:%s", frame->pts,
                   METRIC_FIXED(6, frame->pts * av_q2d(s->time_base)));
    for (int i = 0; i < s->nb_reported; i++)
        av_bprintf(text, " %s:%s", s->metric[i].name,
                   isfinite(value[i]) ? METRIC_FIXED(s->metric[i].digits, value[i]) : "nan");
    for (int i = 0; i < METRIC_NB_MARKS; i++)
        if (ff_metric_is_marked(s->output, frame, i))
            av_bprintf(text, " %s:1", mark_name[i]);
    av_bprintf(text, "\n");
}

static void print_header(const MetricLog *s, AVBPrint *text)
{
    const ScoreMetric *score = &s->metric[0];

    av_bprintf(text, "{\n  \"version\": \"" LIBAVFILTER_IDENT "\",\n  \"filter\": \"%s\",\n",
               s->filter);
    if (score->model)
        av_bprintf(text, "  \"model\": \"%s\",\n", score->model);
    av_bprintf(text, "  \"direction\": \"%s\",\n  \"range\": [%s, %s],\n  \"frames\": [",
               direction(s), isfinite(score->min) ? METRIC_SHORT(score->min) : "null",
               isfinite(score->max) ? METRIC_SHORT(score->max) : "null");
}

static const char *log_name(const ScoreMetric *metric)
{
    return metric->log_name ? metric->log_name : metric->name;
}

/// Print a number as libvmaf does: where six digits would be those of an integer, 16.
static void print_number(AVBPrint *text, const char *before, double value, const char *after)
{
    const double fraction = fabs(value - trunc(value));

    av_bprintf(text, "%s%s%s", before, isfinite(value) ?
               METRIC_FIXED(fraction > 0 && fraction < 1e-6 ? 16 : 6, value) : "nan", after);
}

/// Print the begin of a log in another format than JSON.
static void print_other_header(const MetricLog *s, AVBPrint *text)
{
    if (s->format == METRIC_FORMAT_XML) {
        av_bprintf(text, "<VMAF version=\"" LIBAVFILTER_IDENT "\">\n  <params qualityWidth=\"%d\" "
                   "qualityHeight=\"%d\" />\n  <frames>\n", s->width, s->height);
    } else if (s->format == METRIC_FORMAT_CSV) {
        av_bprintf(text, "Frame,");
        for (int rank = 0; rank < METRIC_JSON_RANKS; rank++)
            for (int i = 0; i < s->nb_metrics; i++)
                if (s->metric[i].json_rank == rank)
                    av_bprintf(text, "%s,", log_name(&s->metric[i]));
        av_bprintf(text, "\n");
    }
}

/// Print a frame in another format than JSON.
static void print_other_frame(const MetricLog *s, AVBPrint *text, uint64_t n, const double *value)
{
    static const char *const between[] = {
        [METRIC_FORMAT_XML] = "=\"", [METRIC_FORMAT_CSV] = "", [METRIC_FORMAT_SUB] = ": ",
    };
    static const char *const after[] = {
        [METRIC_FORMAT_XML] = "\" ", [METRIC_FORMAT_CSV] = ",", [METRIC_FORMAT_SUB] = "|",
    };

    if (s->format == METRIC_FORMAT_XML)
        av_bprintf(text, "    <frame frameNum=\"%"PRIu64"\" ", n);
    else if (s->format == METRIC_FORMAT_CSV)
        av_bprintf(text, "%"PRIu64",", n);
    else
        av_bprintf(text, "{%"PRIu64"}{%"PRIu64"}frame: %"PRIu64"|", n, n + 1, n);
    for (int rank = 0; rank < METRIC_JSON_RANKS; rank++)
        for (int i = 0; i < s->nb_metrics; i++) {
            if (s->metric[i].json_rank != rank)
                continue;
            if (s->format != METRIC_FORMAT_CSV)
                av_bprintf(text, "%s", log_name(&s->metric[i]));
            print_number(text, between[s->format], value[i], after[s->format]);
        }
    av_bprintf(text, s->format == METRIC_FORMAT_XML ? "/>\n" : "\n");
}

static void print_xml_footer(const MetricLog *s, AVBPrint *text)
{
    const int64_t time = FFMAX(av_gettime() - s->totals->start, 1);

    av_bprintf(text, "  </frames>\n  <pooled_metrics>\n");
    for (int rank = 0; rank < METRIC_JSON_RANKS; rank++)
        for (int i = 0; i < s->nb_metrics; i++) {
            const MetricPool *p = &s->totals->pool[i];

            if (s->metric[i].json_rank != rank)
                continue;
            av_bprintf(text, "    <metric name=\"%s\" ", log_name(&s->metric[i]));
            print_number(text, "min=\"", p->nb ? p->min : NAN, "\" ");
            print_number(text, "max=\"", p->nb ? p->max : NAN, "\" ");
            print_number(text, "mean=\"", pool_mean(p), "\" ");
            print_number(text, "harmonic_mean=\"", pool_harmonic_mean(p), "\" />\n");
        }
    // libvmaf's second line, but the rate is known at the end only
    av_bprintf(text, "  </pooled_metrics>\n  <aggregate_metrics />\n  <fyi fps=\"%s\" />\n</VMAF>\n",
               METRIC_FIXED(2, s->totals->nb_frames * 1e6 / time));
}

static void print_json_frame(const MetricLog *s, AVBPrint *text, const AVFrame *frame, uint64_t n,
                             const double *value)
{
    const char *between = "";

    av_bprintf(text, "%s\n    {\"frameNum\": %"PRIu64", \"metrics\": {",
               s->totals->nb_scored ? "," : "", n);
    for (int rank = 0; rank < METRIC_JSON_RANKS; rank++)
        for (int i = 0; i < s->nb_reported; i++) {
            if (s->metric[i].json_rank != rank)
                continue;
            av_bprintf(text, "%s\"%s\": %s", between, log_name(&s->metric[i]),
                       JSON_NUMBER(s->metric[i].digits, value[i]));
            between = ", ";
        }
    for (int i = 0; i < METRIC_NB_MARKS; i++)
        if (ff_metric_is_marked(s->output, frame, i))
            av_bprintf(text, ", \"%s\": 1", mark_name[i]);
    av_bprintf(text, "}}");
}

/// Print the pooled values of metric i.
static void print_pooled(const MetricLog *s, AVBPrint *text, int i)
{
    const int digits    = s->metric[i].digits;
    const MetricPool *p = &s->totals->pool[i];

    av_bprintf(text, "\n    \"%s\": {\"min\": %s, \"max\": %s, \"mean\": %s, "
               "\"harmonic_mean\": %s", log_name(&s->metric[i]),
               JSON_NUMBER(digits, p->nb ? p->min : NAN),
               JSON_NUMBER(digits, p->nb ? p->max : NAN),
               JSON_NUMBER(digits, pool_mean(p)),
               JSON_NUMBER(digits, has_open_range(&s->metric[i]) ? NAN : pool_harmonic_mean(p)));
    print_percentiles(s, text, ", \"p%d\": %s", i);
    av_bprintf(text, "}");
}

static void print_footer(const MetricLog *s, AVBPrint *text, int ended)
{
    const MetricTotals *t = s->totals;
    const int64_t time    = FFMAX(av_gettime() - t->start, 1);
    const char *between   = "";

    av_bprintf(text, "\n  ],\n  \"pooled_metrics\": {");
    for (int rank = 0; rank < METRIC_JSON_RANKS; rank++)
        for (int i = 0; i < s->nb_metrics; i++) {
            if (s->metric[i].json_rank != rank || !s->metric[i].pooled ||
                i >= s->nb_reported && !t->pool[i].nb)
                continue;
            av_bprintf(text, "%s", between);
            print_pooled(s, text, i);
            between = ",";
        }
    av_bprintf(text, "\n  },\n  \"aggregate_metrics\": {\"frames\": %"PRIu64", \"scored\": %"PRIu64
               ", \"valid\": %"PRIu64, t->nb_frames, t->nb_scored, t->nb_valid);
    for (int i = 0; i < s->output->nb_inputs; i++)
        av_bprintf(text, ", \"%s\": %"PRIu64, mark_name[i], s->output->damage[i].nb);
    av_bprintf(text, "},\n  \"fps\": %s%s\n}\n", METRIC_FIXED(2, t->nb_frames * 1e6 / time),
               ended ? ",\n  \"eof\": true" : "");
}

/// The frames of each word, and, where there is more than one, their means.
static void print_words(const MetricLog *s, AVBPrint *text)
{
    const MetricPool *pool = s->totals->pool + s->nb_metrics;

    for (int i = 0; i < s->nb_metrics; i++)
        for (const char *const *word = s->metric[i].words; word && *word; word++, pool++) {
            if (!pool->nb)
                continue;
            av_bprintf(text, "%s:%"PRIu64" ", *word, pool->nb);
            if (pool->nb < s->totals->nb_valid)
                av_bprintf(text, "%s_mean:%s ", *word, METRIC_FIXED(6, pool_mean(pool)));
        }
}

/// Print the summary of a score, which is metric i.
static void print_score(const MetricLog *s, AVBPrint *text, int i)
{
    const ScoreMetric *score = &s->metric[i];
    const MetricTotals *t = s->totals;
    const MetricPool *p   = &t->pool[i];

    av_bprintf(text, "%s ", s->title);
    if (i)
        av_bprintf(text, "%s ", log_name(score));
    if (p->nb) {
        av_bprintf(text, "mean:%s min:%s max:%s ",
                   METRIC_FIXED(6, pool_mean(p)), METRIC_FIXED(6, p->min), METRIC_FIXED(6, p->max));
        if (!has_open_range(score))
            av_bprintf(text, "harmonic_mean:%s ", METRIC_FIXED(6, pool_harmonic_mean(p)));
        print_percentiles(s, text, "p%d:%s ", i);
    } else {
        av_bprintf(text, "no %s ", t->nb_valid ? "score" : "valid frame");
    }
    av_bprintf(text, "frames:%"PRIu64" invalid:%"PRIu64" ", t->nb_scored,
               t->nb_scored - t->nb_valid);
    if (p->nb && p->nb < t->nb_valid)
        av_bprintf(text, "without_score:%"PRIu64" ", t->nb_valid - p->nb);
    for (int j = 0; j < METRIC_NB_INPUTS; j++)
        if (s->output->damage[j].nb)
            av_bprintf(text, "%s:%"PRIu64" ", mark_name[j], s->output->damage[j].nb);
    if (!i)
        print_words(s, text);
    av_bprintf(text, "(");
    if (has_open_range(score))
        av_bprintf(text, "up to %s, ", METRIC_SHORT(score->max));
    else if (isfinite(score->max))
        av_bprintf(text, "%s..%s, ", METRIC_SHORT(score->min), METRIC_SHORT(score->max));
    av_bprintf(text, "%s", direction(s));
    if (score->model)
        av_bprintf(text, "%s%s, model %s", *s->predicts ? ", " : "", s->predicts, score->model);
    av_bprintf(text, ")\n");
}

static void warn_uncertain(const MetricLog *s, AVFilterContext *ctx)
{
    const MetricPool *pool = s->totals->pool;

    for (int i = 0; i < s->nb_metrics; i++)
        if (pool->nb && s->metric[i].uncertain_above > 0 &&
            pool_mean(&pool[i]) > s->metric[i].uncertain_above)
            av_log(ctx, AV_LOG_WARNING, "The score is uncertain: the mean %s is %s, more than "
                   "that of four in five videos (%s).\n", s->metric[i].name,
                   METRIC_FIXED(2, pool_mean(&pool[i])),
                   METRIC_FIXED(2, s->metric[i].uncertain_above));
}

// ---- in the order of their calls ----

/// Choose the format of log_path by its ending.
static enum MetricFormat format_of(const char *path)
{
    static const char *const ending[METRIC_NB_FORMATS] = {
        [METRIC_FORMAT_XML] = ".xml", [METRIC_FORMAT_CSV] = ".csv", [METRIC_FORMAT_SUB] = ".sub",
    };
    const char *type = path ? strrchr(path, '.') : NULL;

    for (int i = METRIC_FORMAT_XML; i < METRIC_NB_FORMATS && type; i++)
        if (!av_strcasecmp(type, ending[i]))
            return i;
    return METRIC_FORMAT_JSON;
}

int ff_metric_init(MetricLog *s, AVFilterContext *ctx, uint64_t *nb_frames)
{
    const char *const path[METRIC_NB_FILES] = { s->stats_file, s->log_path };
    int ret = ff_metric_open(&s->output, ctx, s->filter, path, sizeof(*s->totals));

    av_bprint_init(&s->text, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (ret < 0)
        return ret;
    if (s->format == METRIC_FORMAT_BY_NAME)
        s->format = format_of(s->log_path);
    s->totals  = s->output->totals;
    *nb_frames = s->totals->nb_frames;
    return s->nb_metrics ? ff_metric_config(s, ctx) : 0;
}

int ff_metric_config(MetricLog *s, AVFilterContext *ctx)
{
    const ScoreMetric *score = &s->metric[0];
    const MetricTotals *t    = s->totals;

    s->configured = !t->start || t->min == score->min && t->max == score->max &&
                    !strncmp(t->model, score->model ? score->model : "", sizeof(t->model) - 1);
    if (s->configured)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "The model of the frames so far is %s, that of frames of the new size "
           "would be %s: set model= to the one that is to be used for all.\n", t->model, score->model);
    return AVERROR(EINVAL);
}

/// Begin a log, or continue one.
static int begin(MetricLog *s, AVFilterContext *ctx)
{
    const ScoreMetric *score = &s->metric[0];
    MetricTotals *t = s->totals;
    int ret;

    if (s->begun)
        return 0;
    s->begun = 1;
    if ((ret = alloc_bins(s)) < 0)
        return ret;
    if (!s->nb_reported)
        s->nb_reported = s->nb_metrics;
    if (t->start)
        return 0;
    t->start = av_gettime();
    t->min   = score->min;
    t->max   = score->max;
    av_strlcpy(t->model, score->model ? score->model : "", sizeof(t->model));
    if (!s->log_path)
        return 0;
    if (s->format == METRIC_FORMAT_JSON)
        print_header(s, &s->text);
    else
        print_other_header(s, &s->text);
    return ff_metric_write(&s->output->file[METRIC_LOG], ctx, &s->text, 0);
}

static int set_metadata(const MetricLog *s, AVFrame *frame, const double *value)
{
    int ret = 0;

    for (int i = 0; i < s->nb_reported && ret >= 0; i++) {
        const ScoreMetric *metric = &s->metric[i];
        char *key = av_asprintf("lavfi.%s.%s", s->filter, metric->name);

        if (!key)
            return AVERROR(ENOMEM);
        // without a value, one of an earlier filter goes
        ret = av_dict_set(&frame->metadata, key, !isfinite(value[i]) ? NULL :
                          metric->words ? metric->words[(int)value[i]] :
                          METRIC_FIXED(metric->digits, value[i]), AV_DICT_DONT_STRDUP_KEY);
    }
    return ret;
}

static int write_frame(MetricLog *s, AVFilterContext *ctx, const AVFrame *frame, uint64_t n,
                       const double *value)
{
    int ret = 0;

    if (s->stats_file) {
        print_line(s, &s->text, frame, n, value);
        ret = ff_metric_write(&s->output->file[METRIC_STATS], ctx, &s->text, 0);
    }
    if (s->log_path && ret >= 0) {
        if (s->format == METRIC_FORMAT_JSON)
            print_json_frame(s, &s->text, frame, n, value);
        else
            print_other_frame(s, &s->text, n, value);
        ret = ff_metric_write(&s->output->file[METRIC_LOG], ctx, &s->text, 0);
    }
    return ret;
}

int ff_metric_frame(MetricLog *s, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                    const double *value, int valid)
{
    if (s->error >= 0 &&
        (s->error = begin(s, ctx)) >= 0 && (s->error = set_metadata(s, frame, value)) >= 0 &&
        (s->error = write_frame(s, ctx, frame, n, value)) >= 0)
        add_frame(s, value, valid);
    return s->error;
}

/// Print libvmaf's line of a score, with nothing behind the number: programs parse it.
static void print_score_line(const MetricLog *s, AVBPrint *text, int i)
{
    const MetricPool *p = &s->totals->pool[i];
    const double value[METRIC_NB_POOLS] = { pool_mean(p), p->min, pool_harmonic_mean(p) };

    if (p->nb)
        av_bprintf(text, "VMAF score: %s\n", METRIC_FIXED(6, value[s->pool]));
}

/// Print the footer of the log and the summary, in place of those before a rebuild.
static void print_end(MetricLog *s, int ended)
{
    av_bprint_clear(&s->output->footer);
    av_bprint_clear(&s->output->summary);
    if (s->log_path && s->format == METRIC_FORMAT_JSON)
        print_footer(s, &s->output->footer, ended);
    else if (s->log_path && s->format == METRIC_FORMAT_XML)
        print_xml_footer(s, &s->output->footer);
    for (int i = 0; i < s->nb_metrics; i++)
        if (s->metric[i].score_number)
            print_score(s, &s->output->summary, i);
    for (int i = 0; i < s->nb_metrics && s->is_compat; i++)
        if (s->metric[i].score_number)
            print_score_line(s, &s->output->summary, i);
}

/// Write the footer, and unless the log is handed over, the summary.
static void write_end(MetricLog *s, AVFilterContext *ctx)
{
    MetricOutput *o  = s->output;
    MetricFile *log  = &o->file[METRIC_LOG];

    // a pipe gets its footer at the end
    if (o->footer.len && (!s->handed_over || can_rewrite(log)))
        ff_metric_write(log, ctx, &o->footer, s->handed_over);
    if (s->handed_over)
        return;
    for (const char *line = o->summary.str; *line; line += strcspn(line, "\n") + 1)
        av_log(ctx, AV_LOG_INFO, "%.*s\n", (int)strcspn(line, "\n"), line);
    if (s->configured)
        warn_uncertain(s, ctx);
}

void ff_metric_uninit(MetricLog *s, AVFilterContext *ctx, uint64_t nb_frames, int ended)
{
    int ret = s->output ? s->error : AVERROR(EINVAL);

    if (ret >= 0 && s->configured && (nb_frames || ended) && (ret = begin(s, ctx)) >= 0) {
        s->totals->nb_frames = nb_frames;
        print_end(s, ended);
    }
    if (ret >= 0)
        write_end(s, ctx);
    ff_metric_close(&s->output, ctx, s->handed_over && ret >= 0);
    av_bprint_finalize(&s->text, NULL);
}
