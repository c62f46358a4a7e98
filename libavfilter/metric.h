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
 * Where the scores of a filter go: to the metadata of its frames, to a line per frame (stats_file),
 * to a log in libvmaf's JSON (log_path), and to a summary at the end. Values are pooled as they are
 * printed, so that the reader of a log can compute the same.
 *
 * A filter that is told to drain, because its graph is about to be rebuilt, ends its files with a
 * line of its totals. The filter of the new graph, which has the same options, finds that line,
 * removes it and goes on. Nothing else is shared by two filters.
 *
 * A log belongs to one filter, and its functions are called in one thread at a time. Functions of
 * type int return 0, or a negative AVERROR after a message.
 */

#ifndef AVFILTER_METRIC_H
#define AVFILTER_METRIC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/bprint.h"
#include "libavutil/frame.h"
#include "libavutil/opt.h"
#include "libavutil/rational.h"

/// The most metrics of a filter, with the values of a metric that has words.
#define METRIC_MAX 64

/// Bytes that any double takes with up to 20 digits after the point.
#define METRIC_NUMBER_SIZE 336

/// Print a number with a point in every locale: hosts call setlocale(), and logs are for all.
static inline char *ff_metric_print(char text[METRIC_NUMBER_SIZE], const char *format,
                                    int digits, double value)
{
    static const char number[] = "+-0123456789einfa";  // also of inf and nan
    char *point, *rest;

    snprintf(text, METRIC_NUMBER_SIZE, format, digits, value);
    point = text + strspn(text, number);
    rest  = point + strcspn(point, number);
    if (rest > point) {
        *point = '.';
        if (rest > point + 1)
            memmove(point + 1, rest, strlen(rest) + 1);
    }
    return text;
}

#define METRIC_TEXT(...)            ff_metric_print((char[METRIC_NUMBER_SIZE]){ 0 }, __VA_ARGS__)
#define METRIC_FIXED(digits, value) METRIC_TEXT("%.*f", digits, value)
#define METRIC_SHORT(value)         METRIC_TEXT("%.*g", 6, value)

/// A value that a filter reports for each frame.
typedef struct ScoreMetric {
    const char *name;
    int digits;             ///< after the point
    int pooled;             ///< over valid frames
    /// If its mean is above this, the summary calls the score uncertain; 0 or NAN: never.
    double uncertain_above;
    /// Ends with NULL. For the metadata, in place of the values 0, 1...; the summary gives the
    /// number of frames and the mean of metric[0] for each. NULL for a number.
    const char *const *words;
    const char *log_name;   ///< in log_path, NULL for name
} ScoreMetric;

/// Sums over values.
typedef struct MetricPool {
    uint64_t nb;
    double min, max, sum;
    double inverse;         ///< sum of 1 / (value + 1), NAN if one is -1 or less
} MetricPool;

/// Sums over all frames, of 8 bytes each, as they are handed on to a rebuilt graph.
typedef struct MetricTotals {
    uint64_t nb_frames;     ///< all frames, scored or not
    uint64_t nb_scored;
    uint64_t nb_valid;
    int64_t start;          ///< wall clock at the first frame, in us
    MetricPool pool[METRIC_MAX];    ///< of each metric, then of metric[0] for each word
} MetricTotals;

/// A file of lines. The first four are set before it is opened.
typedef struct MetricFile {
    const char *path;       ///< "-" is standard output, NULL none
    int is_json;            ///< its frames end without a newline
    uint64_t *totals;       ///< [nb_totals], which a rebuilt graph goes on with
    int nb_totals;
    FILE *file;
    int begun;              ///< what an earlier run left is cut off
} MetricFile;

typedef struct MetricLog {
    // set by options, see METRIC_LOG_OPTIONS
    char *stats_file;
    char *log_path;
    int drained;                    ///< the graph is about to be rebuilt

    // set by the filter before its first frame; strings live as long as the log
    const char *filter;             ///< name of the filter, without _cuda
    const char *title;              ///< first word of the summary
    const char *model;              ///< name of the model, or NULL
    const char *predicts;           ///< what the model predicts, "" if it does not say
    double min, max;                ///< range of metric[0]; max may be INFINITY
    int higher_is_better;           ///< of metric[0]
    AVRational time_base;           ///< of the pts of the frames
    const ScoreMetric *metric;      ///< metric[0] is the score
    int nb_metrics;
    int nb_reported;                ///< the first so many, of the next frame; 0 at first: all

    MetricFile stats, log;
    uint64_t first;                 ///< number of this filter's first frame
    int has_frames;                 ///< in log_path
    int error;                      ///< the first one: nothing is written after it
    AVBPrint text;                  ///< what is written next
    MetricTotals totals;
} MetricLog;

#define METRIC_STATS_FILE(name, type, member, flags)                                        \
    { name, "write a line per frame to this file, - for stdout",                            \
      offsetof(type, member.stats_file), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }

/// The option by which ffmpeg tells a filter that its graph is about to be rebuilt.
#define METRIC_DRAIN_OPTION(type, member, flags)                                            \
    { "drain", "leave the log to the filter of a rebuilt graph",                            \
      offsetof(type, member), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1,                         \
      (flags) | AV_OPT_FLAG_RUNTIME_PARAM }

/// The options of a log; the filter's context has it as member.
#define METRIC_LOG_OPTIONS(type, member, flags)                                             \
    METRIC_STATS_FILE("stats_file", type, member, flags),                                   \
    METRIC_STATS_FILE("f",          type, member, flags),                                   \
    { "log_path", "write a JSON log of all frames to this file, - for stdout",              \
      offsetof(type, member.log_path), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }, \
    METRIC_DRAIN_OPTION(type, member.drained, flags)

/// Open the files, without cutting them: ffmpeg also makes filters only to look at them.
int ff_metric_init(MetricLog *s, void *logctx);

/**
 * Report one scored frame: to its metadata, lavfi.FILTER.METRIC, and to the files.
 *
 * @param n     its number among the frames that this filter was given, from 0
 * @param value of each metric; what is not finite is neither metadata nor pooled, and written as
 *              null or nan by format
 * @param valid 0 to keep the frame out of the pooled values
 */
int ff_metric_frame(MetricLog *s, void *logctx, AVFrame *frame, uint64_t n,
                    const double *value, int valid);

/**
 * Finish the files, and print the summary or leave the totals to a rebuilt graph.
 *
 * @param nb_frames frames that the filter was given, scored or not
 * @param ended     the end of its input was seen
 */
void ff_metric_uninit(MetricLog *s, void *logctx, uint64_t nb_frames, int ended);

/// @name The files of a filter that has lines of its own
/// @{

/// Open a file, if there is a path and it is no pipe, which would be closed and opened again.
int ff_metric_file_open(MetricFile *f, void *logctx);

/**
 * Before the first line, go on with a file that a filter of this process left to be continued,
 * and with its totals, or cut it.
 *
 * @return 1 if the file goes on, 0 if it is new, was begun before, or there is none
 */
int ff_metric_file_begin(MetricFile *f, void *logctx);

/// Write text, whole and at once, and clear it.
int ff_metric_file_write(MetricFile *f, void *logctx, AVBPrint *text);

/// Whether totals can be left there to a rebuilt graph.
int ff_metric_file_goes_on(const MetricFile *f);

/// Close a file, if it is open. @param goes_on 1 to leave the totals there, if it was begun
void ff_metric_file_close(MetricFile *f, void *logctx, int goes_on);
/// @}

#endif /* AVFILTER_METRIC_H */
