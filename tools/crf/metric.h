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

/** @file The metrics, and what is made of their scores. */

#ifndef TOOLS_CRF_METRIC_H
#define TOOLS_CRF_METRIC_H

#include <stdint.h>

#include "search.h"

typedef struct Metric {
    const char *name;           ///< of it, and of its filter
    const char *option;         ///< that gives a target
    const char *key;            ///< before the score in the log, or in the metadata as "lavfi..."
    Scale scale;
    int digits;                 ///< after the point
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every
    const char *scored;         ///< option for one of so many frames; others are not filtered
} Metric;

extern const Metric metrics[];  ///< to one without a name

/// What came of an encode.
typedef struct Result {
    int nb_frames, nb_scores;
    int64_t bytes;
    double seconds;             ///< that it took
    double *score;
} Result;

/// The names of planes that have scores of their own.
#define SCORED_PLANES "yuvrgba"

/// Take a score from a line of what the graph prints, for all planes or one of SCORED_PLANES.
void score_read(const Metric *m, const char *line, Result *planes);
void score_add(Result *r, double score);

/// The mean; for decibels, that of the errors that they stand for.
double score_mean(const Metric *m, const Result *r);

/// The score of some samples, by "mean", "worst" or a percentile as "p5".
double score_pool(const Metric *m, const char *pool, const Result *sample, int nb);

#endif /* TOOLS_CRF_METRIC_H */
