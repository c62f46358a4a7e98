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
 * The metrics: their filters, the graph that scores an encode, and what is made of the scores.
 */

#ifndef TOOLS_CRF_METRIC_H
#define TOOLS_CRF_METRIC_H

#include <stdio.h>

#include "libavutil/pixdesc.h"

#include "search.h"

#define NB_METRICS 5

typedef struct Metric {
    const char *name;
    const char *filter;
    const char *stand_in;       ///< the filter where this FFmpeg lacks that one, or NULL
    const char *key;            ///< what comes before the score in a line of the log
    const char *option;         ///< that gives a target
    Scale scale;
    int digits;                 ///< after the point
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every
    double target;              ///< by default, 0 if there is none
    int has_n_subsample;        ///< the filter's option; for others frames are selected before it
} Metric;

extern const Metric metrics[NB_METRICS];

/// How a metric is measured.
typedef struct Measure {
    const Metric *metric;
    const char *filter;         ///< of this FFmpeg, or NULL
    const char *model;          ///< of VMAF
    int on_gpu;                 ///< on frames that are uploaded
} Measure;

/// Scores of frames.
typedef struct Scores {
    double *score;
    int nb;
} Scores;

/// What is made of the scores.
typedef struct Pool {
    enum { POOL_MEAN, POOL_WORST_SAMPLE, POOL_PERCENTILE } kind;
    int percent;
} Pool;

/// Choose the filters by the list of those that there are.
void measure_choose(Measure *m, const char *filters, int with_gpu);

/// The format in which frames of a format are uploaded, or NULL.
const char *upload_format(enum AVPixelFormat format);

/**
 * The filter graph that pairs the frames of [encode] with those of [s] by number, and scores one of
 * each step frames: scores go to the log, the encode's frames to [c], compared ones to [o].
 */
char *measure_graph(const Measure *m, const char *encode, const char *log, int height,
                    enum AVPixelFormat format, int step);

/// Read the log. @return 0, or -1 after a message
int measure_read(const Measure *m, FILE *log, Scores *scores);

void scores_add(Scores *s, double score);

/// The mean; for decibels, that of the errors that they stand for.
double scores_mean(const Metric *m, const Scores *s);

/// The score of some samples.
double scores_pool(const Metric *m, const Pool *pool, const Scores *sample, int nb);

#endif /* TOOLS_CRF_METRIC_H */
