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
 * to a log in one of libvmaf's formats (log_path), and to a summary at the end. Values are pooled as they are
 * printed, so that the reader of a log can compute the same; XML, and filters under libvmaf's names, pool
 * them unrounded, as libvmaf does.
 *
 * ffmpeg rebuilds a filtergraph when the parameters of an input change. Directly before that it sends
 * the command hand_over to the filters that declare it (graph_reinit.h): the files stay open,
 * and they and the totals move to a process-wide list, from which the filter with the same paths
 * in the new graph takes them in its init(). Nothing is read back from a file.
 *
 * A log belongs to one filter, and its functions are called in one thread at a time. Functions of
 * type int return 0 unless their comment says more, or a negative AVERROR after a message.
 */

#ifndef AVFILTER_SCORE_LOG_H
#define AVFILTER_SCORE_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "libavutil/bprint.h"
#include "libavutil/buffer.h"
#include "libavutil/frame.h"
#include "libavutil/opt.h"
#include "libavutil/rational.h"

#include "avfilter.h"
#include "graph_reinit.h"

/// The most metrics of a filter, with the values of a metric that has words.
#define METRIC_MAX 128

/// The most scores among these, and the largest ranges of a histogram: a wider one has no percentiles.
#define METRIC_MAX_SCORES 8
#define METRIC_MAX_RANGE  110
#define METRIC_OPEN_RANGE 1500  ///< below the maximum of a score without a minimum
#define METRIC_BINS       100   ///< histogram bins for each unit of a score

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

#define METRIC_JSON_RANKS 3

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
    int json_rank;          ///< in log_path, values of lower rank come first
    /// Number of a model's score, from 1: it has percentiles, and a summary; 0 for a feature.
    int score_number;
    /// Range of a score; INFINITY if it has no bound. With a maximum alone, it has no harmonic mean.
    double min, max;
    const char *model;      ///< model of a score, or NULL
} ScoreMetric;

/// Sums over values.
typedef struct MetricPool {
    uint64_t nb;
    double min, max, sum;
    double inverse;         ///< sum of 1 / (value + 1), NAN if one is -1 or less
} MetricPool;

/// Totals over all frames, which a rebuilt graph continues.
typedef struct MetricTotals {
    uint64_t nb_frames;     ///< all frames, scored or not
    uint64_t nb_scored;
    uint64_t nb_valid;
    int64_t start;          ///< wall clock in us when the header was written, 0 before that
    char model[256];        ///< MetricLog's, with which the log was begun
    double min, max;
    MetricPool pool[METRIC_MAX];    ///< of each metric, then of metric[0] for each word
} MetricTotals;

/// Formats of log_path. By default its ending chooses one of them, otherwise JSON.
enum MetricFormat {
    METRIC_FORMAT_BY_NAME = -1, METRIC_FORMAT_JSON, METRIC_FORMAT_XML, METRIC_FORMAT_CSV,
    METRIC_FORMAT_SUB, METRIC_NB_FORMATS
};

/// Values of pool, which is the mean of a score that its score line prints.
enum { METRIC_POOL_MEAN, METRIC_POOL_MIN, METRIC_POOL_HARMONIC_MEAN, METRIC_NB_POOLS };

/// The files of a filter.
enum { METRIC_STATS, METRIC_LOG, METRIC_NB_FILES };

/// The inputs of a filter.
enum { METRIC_MAIN, METRIC_REFERENCE, METRIC_NB_INPUTS };

/// Marks of a frame. Each is a metadata key with the value 1, and a field of logs; other frames
/// have neither. The first ones are damage of each input.
enum { METRIC_STILL = METRIC_NB_INPUTS, METRIC_NB_MARKS };

/// Damaged frames of an input: those in which the decoder has found an error, and those after them,
/// up to an intact I frame.
typedef struct MetricDamage {
    uint64_t nb;
    int lasts;              ///< the last frame is damaged
} MetricDamage;

/// A file that is open, or a FIFO that is opened at the first frame.
typedef struct MetricFile {
    char *path;             ///< "-" is standard output, NULL none
    FILE *file;
    struct stat st;         ///< identifies the file under its other names; zeroed if unknown
    fpos_t footer;          ///< position of a footer that is to be overwritten
    size_t footer_size;     ///< its size in bytes, 0 if there is none
} MetricFile;

/**
 * The files of a filter, and its totals. Every instance is in a list of the process: no file has two
 * owners, and one without an owner waits for the filter of a rebuilt graph.
 */
typedef struct MetricOutput {
    struct MetricOutput *next;
    const char *filter;     ///< name of the filter
    char *instance;         ///< name of the instance in its graph
    void *thread;           ///< identifies the thread that handed it over, NULL if it has an owner
    int nb_inputs;
    MetricDamage damage[METRIC_NB_INPUTS];
    MetricFile file[METRIC_NB_FILES];
    void *totals;           ///< zero at first
    /// Histogram of each score: bin i counts the values that are nearest to the lowest one + i / METRIC_BINS.
    uint64_t *bin[METRIC_MAX_SCORES];
    AVBufferRef *inputs;    ///< PairSync's, of a filter with two inputs
    /// End of the log, as far as it is not written, and summary. Where the log was handed over,
    /// they are there for a filter that cannot be configured.
    AVBPrint footer, summary;
} MetricOutput;

typedef struct MetricLog {
    // set by options, see METRIC_LOG_OPTIONS
    char *stats_file;
    char *log_path;
    int handed_over;                ///< the filter of a rebuilt graph continues the log
    int format;                     ///< enum MetricFormat, JSON for filters without the option
    int pool;

    // set by the filter before its first frame; strings live as long as the log
    const char *filter;             ///< name of the filter, without _cuda
    const char *title;              ///< first word of the summary
    const char *predicts;           ///< what the model predicts, "" if it does not say
    int higher_is_better;           ///< direction of the scores
    /// Pool values before they are rounded, and print a line of each score after the summary: the
    /// filter has the name of libvmaf's.
    int is_compat;
    int width, height;              ///< size of the pictures, for XML
    AVRational time_base;           ///< of the pts of the frames
    const ScoreMetric *metric;      ///< metric[0] is the score
    int nb_metrics;
    int nb_reported;                ///< the first so many, of the next frame; 0 at first: all

    MetricOutput *output;
    MetricTotals *totals;           ///< output's
    int configured;                 ///< ff_metric_config() has succeeded
    int begun;                      ///< the header is written
    int error;                      ///< first error; nothing is written after it
    AVBPrint text;                  ///< what is written next
} MetricLog;

/// The option stats_file, and its short name.
#define METRIC_STATS_FILE(name, offset, flags)                                              \
    { name, "write a line per frame to this file, - for stdout",                            \
      offset, AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }

/// The options of a log; the filter's context has it as member.
#define METRIC_LOG_OPTIONS(type, member, flags)                                             \
    METRIC_STATS_FILE("stats_file", offsetof(type, member.stats_file), flags),              \
    METRIC_STATS_FILE("f",          offsetof(type, member.stats_file), flags),              \
    { "log_path", "write a log of all frames to this file, - for stdout",                    \
      offsetof(type, member.log_path), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }, \
    REINIT_HAND_OVER(type, member.handed_over)

#define METRIC_CONST(name, help, value, group, flags)                                       \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, 0, 0, flags, .unit = group }

/// The options log_fmt and pool. @param value default of log_fmt, enum MetricFormat
#define METRIC_FORMAT_OPTIONS(type, member, value, flags)                                   \
    { "log_fmt", "format of log_path", offsetof(type, member.format), AV_OPT_TYPE_INT,      \
      { .i64 = value }, METRIC_FORMAT_BY_NAME, METRIC_NB_FORMATS - 1, flags, .unit = "log_fmt" }, \
    METRIC_CONST("auto", "as log_path ends, or else JSON", METRIC_FORMAT_BY_NAME, "log_fmt", flags), \
    METRIC_CONST("json", "JSON",                METRIC_FORMAT_JSON, "log_fmt", flags),      \
    METRIC_CONST("xml",  "XML",                 METRIC_FORMAT_XML,  "log_fmt", flags),      \
    METRIC_CONST("csv",  "a table",             METRIC_FORMAT_CSV,  "log_fmt", flags),      \
    METRIC_CONST("sub",  "MicroDVD subtitles",  METRIC_FORMAT_SUB,  "log_fmt", flags),      \
    { "pool", "value of the line \"VMAF score\"", offsetof(type, member.pool), AV_OPT_TYPE_INT, \
      { .i64 = METRIC_POOL_MEAN }, 0, METRIC_NB_POOLS - 1, flags, .unit = "pool" },         \
    METRIC_CONST("mean", "arithmetic mean",     METRIC_POOL_MEAN,   "pool", flags),         \
    METRIC_CONST("min",  "least value",         METRIC_POOL_MIN,    "pool", flags),         \
    METRIC_CONST("harmonic_mean", "harmonic mean", METRIC_POOL_HARMONIC_MEAN, "pool", flags)

/**
 * Open and truncate the files, or continue those of the filter before a rebuild.
 *
 * @param nb_frames set to the number of frames that were given to filters before a rebuild
 */
int ff_metric_init(MetricLog *s, AVFilterContext *ctx, uint64_t *nb_frames);

/**
 * Check that a log that is continued has the same model and range. A filter whose metrics depend on the
 * size calls it in config_props, once they are set; for others, ff_metric_init() does.
 */
int ff_metric_config(MetricLog *s, AVFilterContext *ctx);

/**
 * Count damaged frames and mark the main frame, lavfi.FILTER.damaged and reference_damaged. To be called
 * for every main frame in order, scored or not.
 *
 * @param reference the frame that it is paired with, or NULL
 */
int ff_metric_damage(MetricOutput *o, AVFrame *main, const AVFrame *reference);

/**
 * Note whether damage begins or ends at a frame. ff_metric_damage() does that as well; it is also to be
 * called for frames of the reference that are not paired.
 */
void ff_metric_update_damage(MetricOutput *o, int input, const AVFrame *frame);

/// Set or remove a mark of a frame. ff_metric_damage() does that for damage.
int ff_metric_mark(const MetricOutput *o, AVFrame *frame, int mark, int set);

/// Return 1 if a frame has a mark, else 0.
int ff_metric_is_marked(const MetricOutput *o, const AVFrame *frame, int mark);

/**
 * Report one scored frame: to its metadata, lavfi.FILTER.METRIC, and to the files.
 *
 * @param n     its number among all frames, from 0
 * @param value of each metric; what is not finite is neither metadata nor pooled, and written as
 *              null or nan by format
 * @param valid 0 to keep the frame out of the pooled values
 */
int ff_metric_frame(MetricLog *s, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                    const double *value, int valid);

/**
 * Finish the files and print the summary, or hand them over to a rebuilt graph.
 *
 * @param nb_frames frames that filters were given, scored or not, those before a rebuild included
 * @param ended     the end of its input was seen
 */
void ff_metric_uninit(MetricLog *s, AVFilterContext *ctx, uint64_t nb_frames, int ended);

/// @name The files of a filter that has lines of its own
/// @{

/**
 * Take over the output that the filter of the same name and paths has handed over, or create one and
 * open its files; a FIFO is opened when it is first written to. A file that another filter of this
 * process writes is an error.
 *
 * @param filter      name of the filter, without _cuda; must outlive the output
 * @param path        of each file, NULL for none
 * @param totals_size bytes of (*output)->totals
 */
int ff_metric_open(MetricOutput **output, AVFilterContext *ctx, const char *filter,
                   const char *const path[METRIC_NB_FILES], size_t totals_size);

/**
 * Write text, whole and at once, and clear it.
 *
 * @param is_footer if the file can be positioned, the next text overwrites this one
 */
int ff_metric_write(MetricFile *f, void *logctx, AVBPrint *text, int is_footer);

/// Close the files and free the output, or hand it over. @param handed_over 1 for the latter
void ff_metric_close(MetricOutput **output, AVFilterContext *ctx, int handed_over);
/// @}

#endif /* AVFILTER_SCORE_LOG_H */
