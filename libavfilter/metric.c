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

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "libavutil/avassert.h"
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
#include "metric.h"
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
    if (!f->file)
        return file_error(f, logctx, "Cannot open '%s' for writing: %s.\n");
    // it may be a new file
    stat(f->path, &f->st);
    return 0;
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
    return (f->st.st_mode & S_IFMT) == S_IFIFO ? 0 : open_file(f, logctx);
}

int ff_metric_can_rewrite(const MetricFile *f)
{
    fpos_t pos;

    return f->file && f->file != stdout && !fgetpos(f->file, &pos);
}

int ff_metric_write(MetricFile *f, void *logctx, AVBPrint *text, int is_footer)
{
    int ret;

    if (!av_bprint_is_complete(text)) {
        errno = ENOMEM;
        return file_error(f, logctx, "Cannot write '%s': %s.\n");
    }
    if (!f->file && (ret = open_file(f, logctx)) < 0)
        return ret;
    errno = 0;
    if (f->footer_size) {
        // blanks: the rest of the file may become shorter than it was
        if (fsetpos(f->file, &f->footer) || fprintf(f->file, "%*s", (int)f->footer_size, "") < 0 ||
            fsetpos(f->file, &f->footer))
            return file_error(f, logctx, "Cannot write '%s': %s.\n");
        f->footer_size = 0;
    }
    if (is_footer && !fgetpos(f->file, &f->footer))
        f->footer_size = text->len;
    // flushed at once: where the output has ended early, an error at the end would not be seen
    if (fwrite(text->str, 1, text->len, f->file) < text->len || fflush(f->file))
        return file_error(f, logctx,
                          "Cannot write '%s': %s; free some space or name another file.\n");
    av_bprint_clear(text);
    return 0;
}

// ---- outputs ----

static void *this_thread(void)
{
#if HAVE_PTHREADS
    return (void *)(uintptr_t)pthread_self();
#elif HAVE_W32THREADS
    return (void *)(uintptr_t)GetCurrentThreadId();
#else
    return NULL;
#endif
}

static const char *instance_name(const AVFilterContext *ctx)
{
    return ctx->name ? ctx->name : ctx->filter->name;
}

static int is_equal(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/// Whether a file, or else the place in a graph of the same thread, identifies an output.
static int is_handed_over(const MetricOutput *o, const AVFilterContext *ctx, const char *filter,
                          const char *const path[METRIC_NB_FILES])
{
    int has_file = 0;

    for (int i = 0; i < METRIC_NB_FILES; i++) {
        if (!is_equal(o->file[i].path, path[i]))
            return 0;
        has_file |= path[i] && !is_stdout(path[i]);
    }
    return !o->has_owner && !strcmp(o->filter, filter) &&
           (has_file || !strcmp(o->instance, instance_name(ctx)) && o->thread == this_thread());
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
    av_free(o->filter);
    av_free(o->instance);
    av_free(o->totals);
    av_buffer_unref(&o->inputs);
    av_free(o->footer);
    av_free(o->summary);
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
        o->has_owner = ret = 1;
    } else if (!(o = av_mallocz(sizeof(*o)))) {
        ret = AVERROR(ENOMEM);
    } else {
        o->next      = outputs;
        outputs      = o;
        o->has_owner = 1;
        o->filter    = av_strdup(filter);
        o->instance  = av_strdup(instance_name(ctx));
        o->totals    = av_mallocz(totals_size);
        if (!o->filter || !o->instance || !o->totals)
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
    if (handed_over) {
        o->has_owner = 0;
        o->thread    = this_thread();
    } else {
        close_output(o, ctx);
    }
    ff_mutex_unlock(&outputs_lock);
    *output = NULL;
}

// ---- pooling ----

static int nb_words(const MetricLog *s)
{
    int nb = 0;

    for (int i = 0; i < s->nb_metrics; i++)
        for (const char *const *word = s->metric[i].words; word && *word; word++)
            nb++;
    return nb;
}

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

static void add_frame(MetricLog *s, const double *value, int valid)
{
    MetricPool *word = s->totals->pool + s->nb_metrics;

    s->totals->nb_scored++;
    s->totals->nb_valid += !!valid;
    for (int i = 0; i < s->nb_reported && valid; i++) {
        const ScoreMetric *metric = &s->metric[i];

        if (metric->pooled && isfinite(value[i]))
            add_value(&s->totals->pool[i], as_printed(metric->digits, value[i]));
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
    av_bprintf(text, "\n");
}

static void print_header(const MetricLog *s, AVBPrint *text)
{
    av_bprintf(text, "{\n  \"version\": \"" LIBAVFILTER_IDENT "\",\n  \"filter\": \"%s\",\n",
               s->filter);
    if (s->model)
        av_bprintf(text, "  \"model\": \"%s\",\n", s->model);
    av_bprintf(text, "  \"direction\": \"%s\",\n  \"range\": [%s, %s],\n  \"frames\": [",
               direction(s), METRIC_SHORT(s->min),
               isfinite(s->max) ? METRIC_SHORT(s->max) : "null");
}

static const char *log_name(const ScoreMetric *metric)
{
    return metric->log_name ? metric->log_name : metric->name;
}

static void print_json_frame(const MetricLog *s, AVBPrint *text, uint64_t n, const double *value)
{
    av_bprintf(text, "%s\n    {\"frameNum\": %"PRIu64", \"metrics\": {", s->totals->nb_scored ? "," : "",
               n);
    for (int i = 0; i < s->nb_reported; i++)
        av_bprintf(text, "%s\"%s\": %s", i ? ", " : "", log_name(&s->metric[i]),
                   JSON_NUMBER(s->metric[i].digits, value[i]));
    av_bprintf(text, "}}");
}

static void print_footer(const MetricLog *s, AVBPrint *text, int ended)
{
    const MetricTotals *t = s->totals;
    const int64_t time    = FFMAX(av_gettime() - t->start, 1);
    const char *between   = "";

    av_bprintf(text, "\n  ],\n  \"pooled_metrics\": {");
    for (int i = 0; i < s->nb_metrics; i++) {
        const int digits    = s->metric[i].digits;
        const MetricPool *p = &t->pool[i];

        if (!s->metric[i].pooled || i >= s->nb_reported && !p->nb)
            continue;
        av_bprintf(text, "%s\n    \"%s\": {\"min\": %s, \"max\": %s, \"mean\": %s, "
                   "\"harmonic_mean\": %s}", between, log_name(&s->metric[i]),
                   JSON_NUMBER(digits, p->nb ? p->min : NAN),
                   JSON_NUMBER(digits, p->nb ? p->max : NAN),
                   JSON_NUMBER(digits, pool_mean(p)), JSON_NUMBER(digits, pool_harmonic_mean(p)));
        between = ",";
    }
    av_bprintf(text, "\n  },\n  \"aggregate_metrics\": {\"frames\": %"PRIu64", \"scored\": %"PRIu64
               ", \"valid\": %"PRIu64"},\n  \"fps\": %s%s\n}\n",
               t->nb_frames, t->nb_scored, t->nb_valid, METRIC_FIXED(2, t->nb_frames * 1e6 / time),
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

static void print_summary(const MetricLog *s, AVBPrint *text)
{
    const MetricTotals *t = s->totals;
    const MetricPool *p   = &t->pool[0];

    av_bprintf(text, "%s ", s->title);
    if (p->nb)
        av_bprintf(text, "mean:%s min:%s max:%s harmonic_mean:%s ",
                   METRIC_FIXED(6, pool_mean(p)), METRIC_FIXED(6, p->min), METRIC_FIXED(6, p->max),
                   METRIC_FIXED(6, pool_harmonic_mean(p)));
    else
        av_bprintf(text, "no %s ", t->nb_valid ? "score" : "valid frame");
    av_bprintf(text, "frames:%"PRIu64" invalid:%"PRIu64" ", t->nb_scored,
               t->nb_scored - t->nb_valid);
    if (p->nb && p->nb < t->nb_valid)
        av_bprintf(text, "without_score:%"PRIu64" ", t->nb_valid - p->nb);
    print_words(s, text);
    av_bprintf(text, "(");
    if (isfinite(s->max))
        av_bprintf(text, "%s..%s, ", METRIC_SHORT(s->min), METRIC_SHORT(s->max));
    av_bprintf(text, "%s", direction(s));
    if (s->model)
        av_bprintf(text, "%s%s, model %s", *s->predicts ? ", " : "", s->predicts, s->model);
    av_bprintf(text, ")");
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

int ff_metric_init(MetricLog *s, AVFilterContext *ctx, uint64_t *nb_frames)
{
    const char *const path[METRIC_NB_FILES] = { s->stats_file, s->log_path };
    int ret = ff_metric_open(&s->output, ctx, s->filter, path, sizeof(*s->totals));

    av_bprint_init(&s->text, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (ret < 0)
        return ret;
    s->totals  = s->output->totals;
    *nb_frames = s->totals->nb_frames;
    return s->nb_metrics ? ff_metric_config(s, ctx) : 0;
}

int ff_metric_config(MetricLog *s, AVFilterContext *ctx)
{
    const MetricTotals *t = s->totals;

    av_assert0(s->nb_metrics + nb_words(s) <= METRIC_MAX);
    s->configured = !t->start || t->min == s->min && t->max == s->max &&
                    !strncmp(t->model, s->model ? s->model : "", sizeof(t->model) - 1);
    if (s->configured)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "The model of the frames so far is %s, that of frames of the new size "
           "would be %s: set model= to the one that is to be used for all.\n", t->model, s->model);
    return AVERROR(EINVAL);
}

/// Begin a log, or continue one.
static int begin(MetricLog *s, AVFilterContext *ctx)
{
    MetricTotals *t = s->totals;

    if (s->begun)
        return 0;
    s->begun = 1;
    if (!s->nb_reported)
        s->nb_reported = s->nb_metrics;
    if (t->start)
        return 0;
    t->start = av_gettime();
    t->min   = s->min;
    t->max   = s->max;
    av_strlcpy(t->model, s->model ? s->model : "", sizeof(t->model));
    if (!s->log_path)
        return 0;
    print_header(s, &s->text);
    return ff_metric_write(&s->output->file[METRIC_JSON], ctx, &s->text, 0);
}

static int set_metadata(const MetricLog *s, AVFrame *frame, const double *value)
{
    int ret = 0;

    for (int i = 0; i < s->nb_reported && ret >= 0; i++) {
        const ScoreMetric *metric = &s->metric[i];
        char key[64];

        snprintf(key, sizeof(key), "lavfi.%s.%s", s->filter, metric->name);
        // without a value, one of an earlier filter goes
        ret = av_dict_set(&frame->metadata, key, !isfinite(value[i]) ? NULL :
                          metric->words ? metric->words[(int)value[i]] :
                          METRIC_FIXED(metric->digits, value[i]), 0);
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
        print_json_frame(s, &s->text, n, value);
        ret = ff_metric_write(&s->output->file[METRIC_JSON], ctx, &s->text, 0);
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

/// Render the footer of the JSON log and the summary.
static int render_end(MetricLog *s, int ended)
{
    MetricOutput *o = s->output;
    AVBPrint summary;

    av_freep(&o->footer);
    av_freep(&o->summary);
    av_bprint_init(&summary, 0, AV_BPRINT_SIZE_UNLIMITED);
    print_summary(s, &summary);
    print_footer(s, &s->text, ended);
    o->footer = av_strdup(s->text.str);
    av_bprint_clear(&s->text);
    av_bprint_finalize(&summary, &o->summary);
    return o->footer && o->summary ? 0 : AVERROR(ENOMEM);
}

/// Write the footer, and unless the log is handed over, the summary.
static void write_end(MetricLog *s, AVFilterContext *ctx)
{
    const MetricOutput *o = s->output;
    MetricFile *json = &s->output->file[METRIC_JSON];

    // a pipe gets its footer at the end
    if (json->path && (!s->handed_over || ff_metric_can_rewrite(json))) {
        av_bprintf(&s->text, "%s", o->footer);
        ff_metric_write(json, ctx, &s->text, s->handed_over);
    }
    if (s->handed_over)
        return;
    av_log(ctx, AV_LOG_INFO, "%s\n", o->summary);
    if (s->configured)
        warn_uncertain(s, ctx);
}

void ff_metric_uninit(MetricLog *s, AVFilterContext *ctx, uint64_t nb_frames, int ended)
{
    int ret = s->output ? s->error : AVERROR(EINVAL);

    if (ret >= 0 && s->configured && (nb_frames || ended) && (ret = begin(s, ctx)) >= 0) {
        s->totals->nb_frames = nb_frames;
        ret = render_end(s, ended);
    }
    if (ret >= 0 && s->output->footer)
        write_end(s, ctx);
    ff_metric_close(&s->output, ctx, s->handed_over && ret >= 0);
    av_bprint_finalize(&s->text, NULL);
}
