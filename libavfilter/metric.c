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
#include <sys/stat.h>
#if HAVE_UNISTD_H
#include <unistd.h>
#endif

#include "libavutil/avassert.h"
#include "libavutil/avstring.h"
#include "libavutil/dict.h"
#include "libavutil/error.h"
#include "libavutil/file_open.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/time.h"

#include "metric.h"
#include "version.h"

/// What a filter before a rebuild leaves: its process, where its own text ends, then its totals.
#define REBUILT      "rebuilt pid:%d end:%"PRId64
#define REBUILT_SIZE (64 + 17 * (int)(sizeof(MetricTotals) / 8))

// ---- files ----

static int fail(const MetricFile *f, void *logctx, const char *format)
{
    const int ret = errno ? AVERROR(errno) : AVERROR(EIO);

    av_log(logctx, AV_LOG_ERROR, format, f->path, av_err2str(ret));
    return ret;
}

static int open_file(MetricFile *f, void *logctx)
{
    errno   = 0;
    f->file = !strcmp(f->path, "-") ? stdout : avpriv_fopen_utf8(f->path, "ab");
    return f->file ? 0 : fail(f, logctx, "Cannot open '%s' for writing: %s.\n");
}

int ff_metric_file_open(MetricFile *f, void *logctx)
{
    struct stat st;

    if (!f->path || !stat(f->path, &st) && (st.st_mode & S_IFMT) == S_IFIFO)
        return 0;
    return open_file(f, logctx);
}

int ff_metric_file_goes_on(const MetricFile *f)
{
    struct stat st;

    return f->file && f->file != stdout && !fstat(fileno(f->file), &st) &&
           (st.st_mode & S_IFMT) == S_IFREG;
}

/// @return where the text ends before the line of a filter of this process, or -1 without one
static int64_t read_rebuilt(const MetricFile *f)
{
    FILE *in = avpriv_fopen_utf8(f->path, "rb");
    char text[REBUILT_SIZE + 1], *line, *word;
    int64_t end = -1;
    size_t size = 0;
    int pid, length;

    if (in && (!fseek(in, -REBUILT_SIZE, SEEK_END) || !fseek(in, 0, SEEK_SET)))
        size = fread(text, 1, REBUILT_SIZE, in);
    if (in)
        fclose(in);
    text[size] = 0;
    if (!size || text[--size] != '\n')
        return -1;
    text[size] = 0;
    line = strrchr(text, '\n');
    line = line ? line + 1 : text;
    if (sscanf(line, REBUILT"%n", &pid, &end, &length) != 2 || pid != getpid() || end < 0)
        return -1;
    word = line + length;
    for (int i = 0; i < f->nb_totals && *word == ' '; i++)
        f->totals[i] = strtoull(word, &word, 16);
    return *word ? -1 : end;
}

int ff_metric_file_begin(MetricFile *f, void *logctx)
{
    int64_t end;
    int ret;

    if (!f->path || f->begun)
        return 0;
    f->begun = 1;
    if (!f->file && (ret = open_file(f, logctx)) < 0)
        return ret;
    if (!ff_metric_file_goes_on(f))
        return 0;
    end = read_rebuilt(f);
    if (ftruncate(fileno(f->file), FFMAX(end, 0)) < 0)
        return fail(f, logctx, "Cannot cut '%s': %s.\n");
    return end >= 0;
}

int ff_metric_file_write(MetricFile *f, void *logctx, AVBPrint *text)
{
    if (!av_bprint_is_complete(text)) {
        errno = ENOMEM;
        return fail(f, logctx, "Cannot write '%s': %s.\n");
    }
    errno = 0;
    // flushed at once: where the output has ended early, an error at the end would not be seen
    if (fwrite(text->str, 1, text->len, f->file) < text->len || fflush(f->file))
        return fail(f, logctx, "Cannot write '%s': %s; free some space or name another file.\n");
    av_bprint_clear(text);
    return 0;
}

void ff_metric_file_close(MetricFile *f, void *logctx, int goes_on)
{
    AVBPrint text;

    if (!f->file)
        return;
    if (goes_on && f->begun && !fseek(f->file, 0, SEEK_END)) {
        av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
        av_bprintf(&text, "%s"REBUILT, f->is_json ? "\n" : "", (int)getpid(),
                   (int64_t)ftell(f->file));
        for (int i = 0; i < f->nb_totals; i++)
            av_bprintf(&text, " %"PRIx64, f->totals[i]);
        av_bprintf(&text, "\n");
        ff_metric_file_write(f, logctx, &text);
        av_bprint_finalize(&text, NULL);
    }
    errno = 0;
    if (f->file != stdout && fclose(f->file))
        fail(f, logctx, "Cannot write '%s': %s.\n");
    f->file = NULL;
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
    MetricPool *word = s->totals.pool + s->nb_metrics;

    s->totals.nb_scored++;
    s->totals.nb_valid += !!valid;
    for (int i = 0; i < s->nb_reported && valid; i++) {
        const ScoreMetric *metric = &s->metric[i];

        if (metric->pooled && isfinite(value[i]))
            add_value(&s->totals.pool[i], as_printed(metric->digits, value[i]));
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
    av_bprintf(text, "n:%"PRIu64, s->first + n + 1);
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
    av_bprintf(text, "%s\n    {\"frameNum\": %"PRIu64", \"metrics\": {", s->has_frames ? "," : "",
               s->first + n);
    for (int i = 0; i < s->nb_reported; i++)
        av_bprintf(text, "%s\"%s\": %s", i ? ", " : "", log_name(&s->metric[i]),
                   JSON_NUMBER(s->metric[i].digits, value[i]));
    av_bprintf(text, "}}");
}

static void print_footer(const MetricLog *s, AVBPrint *text, int ended)
{
    const MetricTotals *t = &s->totals;
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
    const MetricPool *pool = s->totals.pool + s->nb_metrics;

    for (int i = 0; i < s->nb_metrics; i++)
        for (const char *const *word = s->metric[i].words; word && *word; word++, pool++) {
            if (!pool->nb)
                continue;
            av_bprintf(text, "%s:%"PRIu64" ", *word, pool->nb);
            if (pool->nb < s->totals.nb_valid)
                av_bprintf(text, "%s_mean:%s ", *word, METRIC_FIXED(6, pool_mean(pool)));
        }
}

static void print_summary(const MetricLog *s, void *logctx)
{
    const MetricTotals *t = &s->totals;
    const MetricPool *p   = &t->pool[0];
    AVBPrint text;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    if (p->nb)
        av_bprintf(&text, "mean:%s min:%s max:%s harmonic_mean:%s ",
                   METRIC_FIXED(6, pool_mean(p)), METRIC_FIXED(6, p->min), METRIC_FIXED(6, p->max),
                   METRIC_FIXED(6, pool_harmonic_mean(p)));
    else
        av_bprintf(&text, "no %s ", t->nb_valid ? "score" : "valid frame");
    av_bprintf(&text, "frames:%"PRIu64" invalid:%"PRIu64" ", t->nb_scored,
               t->nb_scored - t->nb_valid);
    if (p->nb && p->nb < t->nb_valid)
        av_bprintf(&text, "without_score:%"PRIu64" ", t->nb_valid - p->nb);
    print_words(s, &text);
    av_bprintf(&text, "(");
    if (isfinite(s->max))
        av_bprintf(&text, "%s..%s, ", METRIC_SHORT(s->min), METRIC_SHORT(s->max));
    av_bprintf(&text, "%s", direction(s));
    if (s->model)
        av_bprintf(&text, "%s%s, model %s", *s->predicts ? ", " : "", s->predicts, s->model);
    av_log(logctx, AV_LOG_INFO, "%s %s)\n", s->title, text.str);
    for (int i = 0; i < s->nb_metrics; i++)
        if (p->nb && s->metric[i].uncertain_above > 0 &&
            pool_mean(&t->pool[i]) > s->metric[i].uncertain_above)
            av_log(logctx, AV_LOG_WARNING, "The score is uncertain: the mean %s is %s, more than "
                   "that of four in five videos (%s).\n", s->metric[i].name,
                   METRIC_FIXED(2, pool_mean(&t->pool[i])),
                   METRIC_FIXED(2, s->metric[i].uncertain_above));
}

// ---- in the order of their calls ----

int ff_metric_init(MetricLog *s, void *logctx)
{
    int ret;

    av_bprint_init(&s->text, 0, AV_BPRINT_SIZE_UNLIMITED);
    s->stats = s->log = (MetricFile){ .totals = (uint64_t *)&s->totals };
    s->stats.path  = s->stats_file;
    s->log.path    = s->log_path;
    s->log.is_json = 1;
    ret = ff_metric_file_open(&s->stats, logctx);
    return ret < 0 ? ret : ff_metric_file_open(&s->log, logctx);
}

/// Begin both files, with what a filter before this one has left.
static int begin(MetricLog *s, void *logctx)
{
    // what is reported may depend on the size, which is known only now
    const int nb_pools = s->nb_metrics + nb_words(s);
    int ret;

    if (s->totals.start)
        return 0;
    av_assert0(nb_pools <= METRIC_MAX);
    s->stats.nb_totals = s->log.nb_totals =
        (offsetof(MetricTotals, pool) + nb_pools * sizeof(MetricPool)) / 8;
    if (!s->nb_reported)
        s->nb_reported = s->nb_metrics;
    if ((ret = ff_metric_file_begin(&s->stats, logctx)) < 0 ||
        (ret = ff_metric_file_begin(&s->log,   logctx)) < 0)
        return ret;
    s->first = s->totals.nb_frames;
    if (!s->totals.start)
        s->totals.start = av_gettime();
    s->has_frames = ret && s->totals.nb_scored;
    if (!s->log_path || ret)
        return 0;
    print_header(s, &s->text);
    return ff_metric_file_write(&s->log, logctx, &s->text);
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

static int write_frame(MetricLog *s, void *logctx, const AVFrame *frame, uint64_t n,
                       const double *value)
{
    int ret = 0;

    if (s->stats_file) {
        print_line(s, &s->text, frame, n, value);
        ret = ff_metric_file_write(&s->stats, logctx, &s->text);
    }
    if (s->log_path && ret >= 0) {
        print_json_frame(s, &s->text, n, value);
        ret = ff_metric_file_write(&s->log, logctx, &s->text);
        s->has_frames = 1;
    }
    return ret;
}

int ff_metric_frame(MetricLog *s, void *logctx, AVFrame *frame, uint64_t n,
                    const double *value, int valid)
{
    if (s->error >= 0 &&
        (s->error = begin(s, logctx)) >= 0 && (s->error = set_metadata(s, frame, value)) >= 0 &&
        (s->error = write_frame(s, logctx, frame, n, value)) >= 0)
        add_frame(s, value, valid);
    return s->error;
}

void ff_metric_uninit(MetricLog *s, void *logctx, uint64_t nb_frames, int ended)
{
    const int goes_on = s->drained && !ended && (s->stats_file || s->log_path) &&
                        (!s->stats_file || ff_metric_file_goes_on(&s->stats)) &&
                        (!s->log_path   || ff_metric_file_goes_on(&s->log));
    int is_whole = s->error >= 0 && (ended || nb_frames) && begin(s, logctx) >= 0;

    if (is_whole)
        s->totals.nb_frames = s->first + nb_frames;
    if (is_whole && !goes_on) {
        if (s->log_path) {
            print_footer(s, &s->text, ended);
            ff_metric_file_write(&s->log, logctx, &s->text);
        }
        print_summary(s, logctx);
    }
    ff_metric_file_close(&s->stats, logctx, is_whole && goes_on);
    ff_metric_file_close(&s->log,   logctx, is_whole && goes_on);
    av_bprint_finalize(&s->text, NULL);
}
