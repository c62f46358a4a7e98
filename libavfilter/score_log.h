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
 * to a log in libvmaf's shape (log_path, log_fmt), and to a summary at the end. The values are
 * pooled as they are printed, so that the reader of a log can compute the same.
 */

#ifndef AVFILTER_SCORE_LOG_H
#define AVFILTER_SCORE_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/opt.h"
#include "libavutil/rational.h"

#include "score_output.h"
#include "score_pool.h"

enum ScoreLogFormat {
    SCORE_LOG_JSON,
    SCORE_LOG_CSV,
    SCORE_LOG_XML,
    SCORE_LOG_NB
};

/// Most frame sizes that are also pooled by themselves; an adaptive stream has fewer.
#define SCORE_MAX_SIZES 64

/// The frames over which a metric is pooled.
enum ScorePooled {
    SCORE_POOL_NONE,      ///< it is left out of the pooled metrics
    SCORE_POOL_VALID,     ///< valid frames
    SCORE_POOL_KNOWN,     ///< frames that have a value, valid or not
    SCORE_POOL_FEATURE,   ///< valid frames, without percentiles: there are many such metrics
    SCORE_POOL_COUNT,     ///< all scored frames; the summary counts those that are not 0
};

/// A value that a filter reports for each frame.
typedef struct ScoreMetric {
    const char *name;
    int digits;             ///< after the point
    enum ScorePooled pooled;
    enum ScoreDirection direction;  ///< tells which window is the worst
    /// Unit and range, if the metric has a line of its own in the summary, or NULL.
    /// metric[0] has a line anyway.
    const char *scale;
    /// @name Of SCORE_POOL_COUNT
    /// @{
    const char *counted;    ///< what the summary calls the frames whose value is not 0
    const char *warning;    ///< what these frames are, if they are more than half, or NULL
    /// @}
    const char *const *words;   ///< for the metadata, in place of the values 0, 1..., or NULL
} ScoreMetric;

/// What a filter counts, for the log.
typedef struct ScoreCounter {
    const char *name;
    const uint64_t *value;
} ScoreCounter;

typedef struct ScoreLog {
    // set by options, see SCORE_LOG_OPTIONS
    char *stats_file;
    char *log_path;
    int log_fmt;

    // set by the filter before its first frame; strings live as long as the log
    const char *filter;             ///< name of the filter, without _cuda
    const char *title;              ///< first word of the summary
    const char *model;              ///< name of the model, or NULL
    double min, max;                ///< range of the first metric; max may be INFINITY
    const ScoreMetric *metric;      ///< metric[0] is the score
    int nb_metrics;
    const ScoreCounter *counter;    ///< written at the end of the log
    int nb_counters;

    ScoreOutputs outputs;
    ScoreOutput stats, log;
    int has_frames;                 ///< the log has, since it was opened
} ScoreLog;

#define SCORE_STATS_FILE(name, type, member, flags)                                         \
    { name, "write a line per frame to this file, - for stdout",                            \
      offsetof(type, member.stats_file), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }

#define SCORE_LOG_FORMAT(name, help, format, flags)                                         \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = format }, 0, 0, flags, .unit = "log_fmt" }

/// The options of a log; the filter's context has it as member.
#define SCORE_LOG_OPTIONS(type, member, flags)                                              \
    SCORE_STATS_FILE("stats_file", type, member, flags),                                    \
    SCORE_STATS_FILE("f",          type, member, flags),                                    \
    { "log_path", "write a log of all frames to this file, - for stdout",                   \
      offsetof(type, member.log_path), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags },  \
    { "log_fmt", "set the format of the log", offsetof(type, member.log_fmt),               \
      AV_OPT_TYPE_INT, { .i64 = SCORE_LOG_JSON }, 0, SCORE_LOG_NB - 1, flags, .unit = "log_fmt" }, \
    SCORE_LOG_FORMAT("json", "libvmaf's JSON", SCORE_LOG_JSON, flags),                      \
    SCORE_LOG_FORMAT("csv",  "libvmaf's CSV",  SCORE_LOG_CSV,  flags),                      \
    SCORE_LOG_FORMAT("xml",  "libvmaf's XML",  SCORE_LOG_XML,  flags)

/**
 * Set up the outputs that the options name; the filter may add its own, and what it carries.
 *
 * @param options the AVClass context that has the options
 * @return 0, or AVERROR(ENOMEM)
 */
int ff_score_log_init(ScoreLog *s, void *options);

/**
 * Count a frame of the input, scored or not, before anything else is done with it. The number is
 * the log's, since the first frame may go on with those of a filter before, see score_output.h.
 *
 * @param time_base of frame->pts, the same for all frames
 * @return its number, from 0
 */
uint64_t ff_score_log_count(ScoreLog *s, void *logctx, const AVFrame *frame,
                            AVRational time_base);

/**
 * Open the files, unless that was done, before an output of the filter's own is written.
 *
 * @return 0, or a negative AVERROR after a message
 */
int ff_score_log_open(ScoreLog *s, void *logctx);

/**
 * Report one scored frame: to its metadata, lavfi.FILTER.METRIC, and to the files.
 *
 * @param n     its number, from ff_score_log_count()
 * @param value of each metric; what is not finite is neither metadata nor pooled, and written as
 *              null or nan by format
 * @param valid 0 to keep the frame out of the values pooled over valid frames
 * @return 0, or a negative AVERROR after a message
 */
int ff_score_log_frame(ScoreLog *s, void *logctx, AVFrame *frame, uint64_t n,
                       const double *value, int valid);

/**
 * Pool, finish the files, print the summary, and free all; may be called again.
 *
 * @param ended 0 if the filter goes without the end of its input: without a frame,
 *              then, nothing is written
 * @return 0, or a negative AVERROR if anything could not be written
 */
int ff_score_log_close(ScoreLog *s, void *logctx, int ended);

#endif /* AVFILTER_SCORE_LOG_H */
