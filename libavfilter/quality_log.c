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
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "libavutil/avassert.h"
#include "libavutil/avstring.h"
#include "libavutil/error.h"
#include "libavutil/file_open.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/qsort.h"
#include "libavutil/time.h"

#include "quality_log.h"
#include "version.h"

/// What is computed of the pooled frames, in this order.
static const char *const pooled_name[] = {
    "min", "max", "mean", "harmonic_mean",
    "p1", "p5", "p10", "p50", "p90", "p95", "p99",
    "standard_error", "worst_window", "worst_window_frame",
};

static const int percentile[] = { 1, 5, 10, 50, 90, 95, 99 };

enum {
    POOL_MIN, POOL_MAX, POOL_MEAN, POOL_HARMONIC,
    POOL_P1, POOL_P5, POOL_P10, POOL_P50, POOL_P90, POOL_P95, POOL_P99,
    POOL_ERROR, POOL_WORST, POOL_WORST_FRAME,
    POOL_NB
};

/// Frames of a window: of fewer, the noise of single frames would make the worst.
#define WINDOW 48

/// Batches that a standard error is told from.
#define MIN_BATCHES 4

static int write_error(QualityLog *s, void *logctx, const char *path)
{
    if (!s->error) {
        s->error = errno ? AVERROR(errno) : AVERROR(EIO);
        av_log(logctx, AV_LOG_ERROR, "Cannot write '%s': %s; free some space or "
               "name another file.\n", path, av_err2str(s->error));
    }
    return s->error;
}

static int open_file(QualityLog *s, void *logctx, const char *path, FILE **file)
{
    if (!strcmp(path, "-")) {
        *file = stdout;
        return 0;
    }
    *file = avpriv_fopen_utf8(path, "w");
    if (!*file) {
        s->error = AVERROR(errno);
        av_log(logctx, AV_LOG_ERROR, "Cannot open '%s' for writing: %s.\n",
               path, av_err2str(s->error));
        return s->error;
    }
    return 0;
}

static int close_file(QualityLog *s, void *logctx, const char *path, FILE **file)
{
    int failed;

    if (!*file)
        return 0;
    errno  = 0;
    failed = fflush(*file) || ferror(*file);
    if (*file != stdout && fclose(*file))
        failed = 1;
    *file = NULL;
    return failed ? write_error(s, logctx, path) : 0;
}

static const char *direction_of(const QualityMetric *metric)
{
    return metric->direction == QUALITY_LOWER_IS_BETTER ? "lower is better" : "higher is better";
}

/// Devices, pipes and stdout are written directly, files by way of another name.
static int is_replaceable(const char *path)
{
    struct stat st;

    return strcmp(path, "-") && (stat(path, &st) || S_ISREG(st.st_mode));
}

static void write_header(QualityLog *s)
{
    switch (s->log_fmt) {
    case QUALITY_LOG_JSON:
        fprintf(s->log, "{\n  \"version\": \"" LIBAVFILTER_IDENT "\",\n"
                "  \"filter\": \"%s\",\n", s->filter);
        if (s->model)
            fprintf(s->log, "  \"model\": \"%s\",\n", s->model);
        fprintf(s->log, "  \"direction\": \"%s\",\n  \"range\": [%g, ",
                direction_of(&s->metric[0]), s->min);
        fprintf(s->log, isfinite(s->max) ? "%g],\n" : "null],\n", s->max);
        for (int i = 1; i < s->nb_metrics; i++)
            if (s->metric[i].scale)
                fprintf(s->log, "  \"%s\": \"%s, %s\",\n", s->metric[i].name,
                        s->metric[i].scale, direction_of(&s->metric[i]));
        fprintf(s->log, "  \"frames\": [");
        break;
    case QUALITY_LOG_CSV:
        fprintf(s->log, "Frame,");
        for (int i = 0; i < s->nb_metrics; i++)
            fprintf(s->log, "%s,", s->metric[i].name);
        fprintf(s->log, "\n");
        break;
    case QUALITY_LOG_XML:
        fprintf(s->log, "<VMAF version=\"" LIBAVFILTER_IDENT "\">\n  <frames>\n");
        break;
    case QUALITY_LOG_RECORD:
        fprintf(s->log, QUALITY_RECORD_MAGIC "\nversion " LIBAVFILTER_IDENT "\n"
                "filter %s\ntitle %s\n", s->filter, s->title);
        if (s->model)
            fprintf(s->log, "model %s\n", s->model);
        fprintf(s->log, "range %a %a\n", s->min, s->max);
        for (int i = 0; i < s->nb_metrics; i++)
            fprintf(s->log, "metric %s %d %d %d %s\n", s->metric[i].name,
                    s->metric[i].digits, s->metric[i].pooled, s->metric[i].direction,
                    s->metric[i].scale ? s->metric[i].scale : "");
        break;
    }
}

int ff_quality_log_open(QualityLog *s, void *logctx)
{
    int ret;

    if (s->open)
        return 0;
    av_assert0(s->metric[0].direction);
    s->open = 1;
    if (s->stats_file) {
        ret = open_file(s, logctx, s->stats_file, &s->stats);
        if (ret < 0)
            return ret;
        // a reader at the other end of a pipe gets each line at once
        setvbuf(s->stats, NULL, _IOLBF, BUFSIZ);
    }
    if (s->log_path) {
        if (is_replaceable(s->log_path)) {
            s->tmp_path = av_asprintf("%s.tmp", s->log_path);
            if (!s->tmp_path)
                return AVERROR(ENOMEM);
        }
        ret = open_file(s, logctx, s->tmp_path ? s->tmp_path : s->log_path, &s->log);
        if (ret < 0)
            return ret;
        write_header(s);
    }
    return 0;
}

static QualitySize *find_size(QualityLog *s, int width, int height)
{
    QualitySize *size;

    for (int i = s->nb_sizes - 1; i >= 0; i--)
        if (s->size[i].width == width && s->size[i].height == height)
            return &s->size[i];

    size = av_realloc_array(s->size, s->nb_sizes + 1, sizeof(*s->size));
    if (!size)
        return NULL;
    s->size = size;
    size   += s->nb_sizes++;
    *size   = (QualitySize){ .width = width, .height = height };
    return size;
}

/// A number, or the format's word for none.
static void write_value(QualityLog *s, const QualityMetric *metric, double value)
{
    if (isfinite(value))
        fprintf(s->log, "%.*f", metric->digits, value);
    else if (s->log_fmt == QUALITY_LOG_JSON)
        fprintf(s->log, "null");
}

/// All that ff_quality_log_frame() was given, and every bit of the values.
static void write_record_frame(QualityLog *s, const AVFrame *frame, uint64_t n,
                               AVRational time_base, const double *value, int valid)
{
    fprintf(s->log, "frame %"PRIu64" %"PRId64" %d/%d %dx%d %d", n, frame->pts,
            time_base.num, time_base.den, frame->width, frame->height, !!valid);
    for (int i = 0; i < s->nb_metrics; i++)
        fprintf(s->log, " %a", value[i]);
    fprintf(s->log, "\n");
}

static void write_log_frame(QualityLog *s, uint64_t n, const double *value)
{
    switch (s->log_fmt) {
    case QUALITY_LOG_JSON:
        fprintf(s->log, "%s\n    {\"frameNum\": %"PRIu64", \"metrics\": {",
                s->nb_logged ? "," : "", n);
        for (int i = 0; i < s->nb_metrics; i++) {
            fprintf(s->log, "%s\"%s\": ", i ? ", " : "", s->metric[i].name);
            write_value(s, &s->metric[i], value[i]);
        }
        fprintf(s->log, "}}");
        break;
    case QUALITY_LOG_CSV:
        fprintf(s->log, "%"PRIu64",", n);
        for (int i = 0; i < s->nb_metrics; i++) {
            write_value(s, &s->metric[i], value[i]);
            fprintf(s->log, ",");
        }
        fprintf(s->log, "\n");
        break;
    case QUALITY_LOG_XML:
        fprintf(s->log, "    <frame frameNum=\"%"PRIu64"\"", n);
        for (int i = 0; i < s->nb_metrics; i++) {
            fprintf(s->log, " %s=\"", s->metric[i].name);
            write_value(s, &s->metric[i], value[i]);
            fprintf(s->log, "\"");
        }
        fprintf(s->log, " />\n");
        break;
    }
}

uint64_t ff_quality_log_count(QualityLog *s)
{
    if (!s->nb_frames)
        s->start = av_gettime_relative();
    return s->nb_frames++;
}

int ff_quality_log_chosen(uint64_t n, int step)
{
    // a multiplicative hash, twice, of which run of step frames it is
    uint32_t hash = n / step * 0x9e3779b9;

    for (int i = 0; i < 2; i++)
        hash = (hash ^ hash >> 16) * 0x9e3779b9;
    return n % step == (uint64_t)hash * step >> 32;
}

/// Keep a frame's values to pool them at the end.
static int keep(QualityLog *s, QualitySize *size, uint64_t n, const double *value, int valid)
{
    const size_t row = s->nb_metrics * sizeof(*value);
    double *values;
    uint64_t *numbers;

    if (size->nb_scored + 1 > UINT_MAX / FFMAX(row, sizeof(*numbers)))
        return AVERROR(ENOMEM);
    values = av_fast_realloc(size->value, &size->value_size, (size->nb_scored + 1) * row);
    if (!values)
        return AVERROR(ENOMEM);
    size->value = values;
    numbers = av_fast_realloc(size->number, &size->number_size,
                              (size->nb_scored + 1) * sizeof(*numbers));
    if (!numbers)
        return AVERROR(ENOMEM);
    size->number = numbers;

    values += size->nb_scored * s->nb_metrics;
    for (int i = 0; i < s->nb_metrics; i++)
        values[i] = valid || s->metric[i].pooled == QUALITY_POOL_KNOWN ? value[i] : NAN;
    numbers[size->nb_scored++] = n;
    size->nb_valid += !!valid;
    return 0;
}

int ff_quality_log_frame(QualityLog *s, void *logctx, const AVFrame *frame,
                         uint64_t n, AVRational time_base,
                         const double *value, int valid)
{
    QualitySize *size = find_size(s, frame->width, frame->height);
    int ret;

    if (!size)
        return AVERROR(ENOMEM);
    ret = keep(s, size, n, value, valid);
    if (ret < 0)
        return ret;

    errno = 0;
    if (s->stats) {
        fprintf(s->stats, "n:%"PRIu64, n + 1);
        if (frame->pts == AV_NOPTS_VALUE)
            fprintf(s->stats, " pts:NOPTS pts_time:NOPTS");
        else
            fprintf(s->stats, " pts:%"PRId64" pts_time:%f", frame->pts,
                    frame->pts * av_q2d(time_base));
        for (int i = 0; i < s->nb_metrics; i++)
            if (isfinite(value[i]))
                fprintf(s->stats, " %s:%.*f", s->metric[i].name,
                        s->metric[i].digits, value[i]);
            else
                fprintf(s->stats, " %s:nan", s->metric[i].name);
        fprintf(s->stats, "\n");
        if (ferror(s->stats))
            return write_error(s, logctx, s->stats_file);
    }
    if (s->log) {
        if (s->log_fmt == QUALITY_LOG_RECORD)
            write_record_frame(s, frame, n, time_base, value, valid);
        else
            write_log_frame(s, n, value);
        s->nb_logged++;
        // at the end, an output that has had enough would not see the error
        if (fflush(s->log))
            return write_error(s, logctx, s->log_path);
    }
    return 0;
}

static int compare(const double *a, const double *b)
{
    return FFDIFFSIGN(*a, *b);
}

/// Square of the mean's standard error, by the means of batches of values in a row.
static double squared_error(const double *v, uint64_t n, uint64_t size)
{
    const uint64_t nb = n / size;
    double mean = 0, squares = 0;

    for (uint64_t b = 0; b < nb; b++) {
        double sum = 0, difference;

        for (uint64_t i = b * size; i < (b + 1) * size; i++)
            sum += v[i];
        difference = sum / size - mean;
        mean    += difference / (b + 1);
        squares += difference * (sum / size - mean);
    }
    return squares / (nb - 1) * size / n;
}

/**
 * Standard error of the mean of frames. Neighbours are alike, so that it is
 * larger than that of as many independent values: what batches of frames tell
 * grows with their length until their means are independent. The largest is
 * taken, of lengths that double while there are MIN_BATCHES of them.
 *
 * H. Flyvbjerg and H. G. Petersen, "Error estimates on averages of correlated
 * data", The Journal of Chemical Physics 91(1), 1989.
 */
static double standard_error(const double *v, uint64_t n)
{
    double largest = NAN;

    for (uint64_t size = 1; n / size >= MIN_BATCHES; size *= 2)
        largest = fmax(largest, squared_error(v, n, size));
    return sqrt(largest);
}

/**
 * The worst mean of WINDOW values in a row, or of all if there are less.
 *
 * @param first set to the index of its first value
 */
static double worst_window(const double *v, uint64_t n, enum QualityDirection direction,
                           uint64_t *first)
{
    const uint64_t size = FFMIN(n, WINDOW);
    double worst = 0;

    *first = 0;
    for (uint64_t i = 0; i + size <= n; i++) {
        double sum = 0;

        for (uint64_t j = i; j < i + size; j++)
            sum += v[j];
        if (!i || (direction == QUALITY_LOWER_IS_BETTER ? sum > worst : sum < worst)) {
            worst  = sum;
            *first = i;
        }
    }
    return worst / size;
}

/**
 * Pool one metric over nb sizes, and the frames where it is known. Percentiles
 * are linear between the closest ranks; the harmonic mean is libvmaf's,
 * N / sum(1 / (v + 1)) - 1, and NAN where a value is -1 or less. All are NAN
 * without such a frame.
 */
static int pool(double dst[POOL_NB], const QualityLog *s, const QualitySize *size,
                int nb, int metric)
{
    const enum QualityDirection direction = s->metric[metric].direction;
    double sum = 0, inverse = 0, *v;
    uint64_t n = 0, *number;
    int ret = AVERROR(ENOMEM);

    for (int i = 0; i < POOL_NB; i++)
        dst[i] = NAN;
    for (int i = 0; i < nb; i++)
        n += size[i].nb_scored;
    if (!n)
        return 0;

    v      = av_malloc_array(n, sizeof(*v));
    number = av_malloc_array(n, sizeof(*number));
    if (!v || !number)
        goto end;
    ret = 0;
    n   = 0;
    for (int i = 0; i < nb; i++)
        for (uint64_t j = 0; j < size[i].nb_scored; j++)
            if (isfinite(size[i].value[j * s->nb_metrics + metric])) {
                v[n]        = size[i].value[j * s->nb_metrics + metric];
                number[n++] = size[i].number[j];
            }
    if (!n)
        goto end;
    for (uint64_t i = 0; i < n; i++) {
        sum     += v[i];
        inverse += v[i] > -1 ? 1 / (v[i] + 1) : NAN;
    }
    dst[POOL_ERROR] = standard_error(v, n);
    if (direction) {
        uint64_t first;

        dst[POOL_WORST]       = worst_window(v, n, direction, &first);
        dst[POOL_WORST_FRAME] = number[first];
    }
    AV_QSORT(v, n, double, compare);

    dst[POOL_MIN]      = v[0];
    dst[POOL_MAX]      = v[n - 1];
    dst[POOL_MEAN]     = sum / n;
    dst[POOL_HARMONIC] = n / inverse - 1;
    for (int i = 0; i < FF_ARRAY_ELEMS(percentile); i++) {
        double rank   = (n - 1) * (percentile[i] / 100.);
        uint64_t low  = rank;
        uint64_t high = FFMIN(low + 1, n - 1);

        dst[POOL_P1 + i] = v[low] + (v[high] - v[low]) * (rank - low);
    }

end:
    av_free(v);
    av_free(number);
    return ret;
}

/// Frame numbers have no digits after the point.
static void write_pooled_value(QualityLog *s, const QualityMetric *metric, int i, double value)
{
    write_value(s, i == POOL_WORST_FRAME ? &(QualityMetric){ .digits = 0 } : metric, value);
}

static int write_pooled_json(QualityLog *s, const QualitySize *size, int nb,
                             const char *indent)
{
    double value[POOL_NB];
    int first = 1, ret;

    for (int i = 0; i < s->nb_metrics; i++) {
        if (!s->metric[i].pooled)
            continue;
        ret = pool(value, s, size, nb, i);
        if (ret < 0)
            return ret;
        fprintf(s->log, "%s\n%s\"%s\": {", first ? "" : ",", indent, s->metric[i].name);
        for (int j = 0; j < POOL_NB; j++) {
            fprintf(s->log, "%s\"%s\": ", j ? ", " : "", pooled_name[j]);
            write_pooled_value(s, &s->metric[i], j, value[j]);
        }
        fprintf(s->log, "}");
        first = 0;
    }
    return 0;
}

static int write_pooled_xml(QualityLog *s)
{
    double value[POOL_NB];
    int ret;

    for (int i = 0; i < s->nb_metrics; i++) {
        if (!s->metric[i].pooled)
            continue;
        ret = pool(value, s, s->size, s->nb_sizes, i);
        if (ret < 0)
            return ret;
        fprintf(s->log, "    <metric name=\"%s\"", s->metric[i].name);
        for (int j = 0; j < POOL_NB; j++) {
            fprintf(s->log, " %s=\"", pooled_name[j]);
            write_pooled_value(s, &s->metric[i], j, value[j]);
            fprintf(s->log, "\"");
        }
        fprintf(s->log, " />\n");
    }
    return 0;
}

static int write_footer(QualityLog *s, double fps)
{
    uint64_t scored = 0, valid = 0;
    int ret;

    for (int i = 0; i < s->nb_sizes; i++) {
        scored += s->size[i].nb_scored;
        valid  += s->size[i].nb_valid;
    }

    switch (s->log_fmt) {
    case QUALITY_LOG_JSON:
        fprintf(s->log, "\n  ],\n  \"pooled_metrics\": {");
        ret = write_pooled_json(s, s->size, s->nb_sizes, "    ");
        if (ret < 0)
            return ret;
        fprintf(s->log, "\n  },\n  \"aggregate_metrics\": {\"frames\": %"PRIu64", "
                "\"scored\": %"PRIu64", \"valid\": %"PRIu64, s->nb_frames, scored, valid);
        for (int i = 0; i < s->nb_counters; i++)
            fprintf(s->log, ", \"%s\": %"PRIu64, s->counter[i].name, *s->counter[i].value);
        fprintf(s->log, "},\n  \"sizes\": [");
        for (int i = 0; i < s->nb_sizes; i++) {
            const QualitySize *size = &s->size[i];

            fprintf(s->log, "%s\n    {\"width\": %d, \"height\": %d, \"scored\": %"PRIu64", "
                    "\"valid\": %"PRIu64", \"pooled_metrics\": {", i ? "," : "",
                    size->width, size->height, size->nb_scored, size->nb_valid);
            ret = write_pooled_json(s, size, 1, "      ");
            if (ret < 0)
                return ret;
            fprintf(s->log, "\n    }}");
        }
        fprintf(s->log, "\n  ],\n  \"fps\": %.2f\n}\n", fps);
        return 0;
    case QUALITY_LOG_XML:
        fprintf(s->log, "  </frames>\n  <pooled_metrics>\n");
        ret = write_pooled_xml(s);
        if (ret < 0)
            return ret;
        fprintf(s->log, "  </pooled_metrics>\n  <aggregate_metrics frames=\"%"PRIu64"\" "
                "scored=\"%"PRIu64"\" valid=\"%"PRIu64"\"", s->nb_frames, scored, valid);
        for (int i = 0; i < s->nb_counters; i++)
            fprintf(s->log, " %s=\"%"PRIu64"\"", s->counter[i].name, *s->counter[i].value);
        fprintf(s->log, " />\n  <fyi fps=\"%.2f\" />\n</VMAF>\n", fps);
        return 0;
    case QUALITY_LOG_RECORD:
        for (int i = 0; i < s->nb_counters; i++)
            fprintf(s->log, "counter %s %"PRIu64"\n", s->counter[i].name, *s->counter[i].value);
        fprintf(s->log, "end %"PRIu64" %.2f\n", s->nb_frames, fps);
        return 0;
    }
    return 0;
}

/// The pooled values of a metric; of the percentiles, those that tell of bad frames.
static void print_pooled(const QualityMetric *metric, const double *value, void *logctx)
{
    static const int shown[][3] = {
        [QUALITY_LOWER_IS_BETTER]  = { POOL_P50, POOL_P95, POOL_P99 },
        [QUALITY_HIGHER_IS_BETTER] = { POOL_P50, POOL_P5,  POOL_P1  },
    };

    if (!isfinite(value[POOL_MEAN])) {
        av_log(logctx, AV_LOG_INFO, metric->pooled == QUALITY_POOL_VALID ? "no valid frame " :
                                                                           "no frame ");
        return;
    }
    av_log(logctx, AV_LOG_INFO, "mean:%f ", value[POOL_MEAN]);
    if (isfinite(value[POOL_ERROR]))
        av_log(logctx, AV_LOG_INFO, "standard_error:%f ", value[POOL_ERROR]);
    av_log(logctx, AV_LOG_INFO, "min:%f max:%f ", value[POOL_MIN], value[POOL_MAX]);
    for (int i = 0; i < FF_ARRAY_ELEMS(shown[0]); i++) {
        int j = shown[metric->direction][i];

        av_log(logctx, AV_LOG_INFO, "%s:%f ", pooled_name[j], value[j]);
    }
    av_log(logctx, AV_LOG_INFO, "worst_window:%f worst_window_frame:%.0f ",
           value[POOL_WORST], value[POOL_WORST_FRAME]);
}

static void print_summary(QualityLog *s, void *logctx)
{
    char range[32] = "";

    if (isfinite(s->max))
        snprintf(range, sizeof(range), "%g..%g, ", s->min, s->max);
    for (int i = 0; i < s->nb_sizes; i++) {
        const QualitySize *size = &s->size[i];

        for (int j = 0; j < s->nb_metrics; j++) {
            const QualityMetric *metric = &s->metric[j];
            double value[POOL_NB];

            if (j && !metric->scale)
                continue;
            if (pool(value, s, size, 1, j) < 0)
                return;
            if (s->nb_sizes > 1)
                av_log(logctx, AV_LOG_INFO, "%dx%d: ", size->width, size->height);
            av_log(logctx, AV_LOG_INFO, "%s ", s->title);
            if (j)
                av_log(logctx, AV_LOG_INFO, "%s ", metric->name);
            print_pooled(metric, value, logctx);
            if (j)
                av_log(logctx, AV_LOG_INFO, "(%s, %s)\n", metric->scale, direction_of(metric));
            else
                av_log(logctx, AV_LOG_INFO, "frames:%"PRIu64" invalid:%"PRIu64" (%s%s%s%s)\n",
                       size->nb_scored, size->nb_scored - size->nb_valid, range,
                       direction_of(metric), s->model ? ", model " : "", s->model ? s->model : "");
        }
    }
    if (s->nb_sizes > 1)
        av_log(logctx, AV_LOG_WARNING, "The frame size changed: scores at "
               "different sizes do not compare, see the size's own line.\n");
}

/// The filter's successor in a new graph has the same options.
static void warn_of_replacement(const QualityLog *s, void *logctx)
{
    const char *path[] = { s->stats_file, s->log_path, s->other_file };

    for (int i = 0; s->nb_frames && i < FF_ARRAY_ELEMS(path); i++)
        if (path[i] && is_replaceable(path[i]))
            av_log(logctx, AV_LOG_WARNING, "The filter is freed, but its input has not "
                   "ended: if ffmpeg rebuilds the filter graph because the frames changed, "
                   "'%s' will be REPLACED by that of the rest. For one file of all frames "
                   "give -reinit_filter 0 before -i.\n", path[i]);
}

int ff_quality_log_close(QualityLog *s, void *logctx, int unended)
{
    double fps;
    int ret = 0, err;

    if (!s->open)
        return s->error;
    s->open = 0;

    fps = s->start ? s->nb_frames * 1e6 / FFMAX(av_gettime_relative() - s->start, 1) : 0;
    if (s->log && !s->error)
        ret = write_footer(s, fps);
    err = close_file(s, logctx, s->log_path, &s->log);
    if (!ret)
        ret = err;
    if (s->tmp_path) {
#ifdef _WIN32
        remove(s->log_path);    // rename() does not replace a file there
#endif
        errno = 0;
        if (ret < 0 || s->error)
            remove(s->tmp_path);
        else if (rename(s->tmp_path, s->log_path))
            ret = write_error(s, logctx, s->log_path);
    }
    err = close_file(s, logctx, s->stats_file, &s->stats);
    if (!ret)
        ret = err;
    if (!s->error)
        print_summary(s, logctx);
    if (!s->error && unended)
        warn_of_replacement(s, logctx);
    if (!s->error)
        s->error = ret;

    av_freep(&s->tmp_path);
    for (int i = 0; i < s->nb_sizes; i++) {
        av_freep(&s->size[i].value);
        av_freep(&s->size[i].number);
    }
    av_freep(&s->size);
    s->nb_sizes = 0;
    return s->error;
}
