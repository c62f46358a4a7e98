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
 * Filter graphs, and the metrics that they compute.
 */

#ifndef TOOLS_CRF_SCORE_H
#define TOOLS_CRF_SCORE_H

#include <stdint.h>

#include "libavfilter/avfilter.h"
#include "libavutil/frame.h"

/// What is known of a metric.
typedef struct Metric {
    const char *name;
    const char *filter;         ///< and its options
    const char *cuda_filter;    ///< the same on a GPU, or NULL
    const char *key;            ///< of the score in a frame's metadata; NULL: it is in a log only
    const char *step_option;    ///< of the filter, which scores one of so many frames, or NULL
    int gets_all;               ///< its filter looks at the frames before, too
    int source_is_first;        ///< of the two inputs
    int is_of_planes;           ///< a score for each plane, whose keys begin with the key
    int is_in_decibels;
    int higher_is_better;
    int digits;                 ///< after the point
    double best, worst;         ///< score of an identical encode, and of the worst
    double offset;              ///< |best - score| + offset grows about exponentially with the CRF
    double typical;             ///< score in the middle of an encoder's range
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every
    double target;              ///< by default, 0 if there is none
} Metric;

/// All of them; the last has no name.
extern const Metric metrics[];

/// @param filter with options, or NULL
int has_filter(const char *filter);

/// Of decibels, it is the mean of the distances that they stand for.
double metric_mean(const Metric *m, const double *value, int nb);

/// Whether a is at least as good as b.
int metric_reaches(const Metric *m, double a, double b);

/**
 * One frame of each run of step frames, at a place that changes from run to run,
 * as encoders repeat their kinds of frames with a period. The first is one.
 */
int is_scored(const Metric *m, int64_t n, int step);

/// @return 0, or AVERROR(EINVAL) after a message
int check_vmaf_model(const char *model);

/// Filters between frames that are put in and taken out.
typedef struct Graph {
    AVFilterGraph *graph;
    AVFilterContext *in[2], *out;
} Graph;

/**
 * Make a graph.
 *
 * @param text   filters; the second input's label is in1
 * @param frame  what goes into each input looks like these; the second may be NULL
 * @param device for hwupload, or NULL
 */
int graph_open(Graph *g, const char *text, const AVFrame *const frame[2],
               AVRational time_base, AVRational frame_rate, AVBufferRef *device);

/// The form in which a GPU takes frames of that format, NONE if it does not.
enum AVPixelFormat gpu_format(enum AVPixelFormat format);

/// Scores pairs of frames by a filter.
typedef struct Scorer {
    const Metric *metric;
    const char *model;          ///< of VMAF
    AVBufferRef *device;        ///< a GPU, or NULL; not owned
    int step;                   ///< one of so many frames is scored
    int64_t time;               ///< in microseconds, that it took
    int nb_scores;
    double *score;

    // private
    Graph graph;                ///< made for the first frame
    int64_t nb_frames;
    char *log;                  ///< file of a metric without metadata
    int nb_planes;              ///< score[] has as many of each frame, until it is complete
    double distance[4];         ///< sum of each plane's
} Scorer;

/// Score a frame of an encode by that of the source, of which is_scored().
int scorer_add(Scorer *s, const AVFrame *encode, const AVFrame *source);

/// Take what the filter still holds: score[] is complete then.
int scorer_finish(Scorer *s);

void scorer_close(Scorer *s);

#endif /* TOOLS_CRF_SCORE_H */
