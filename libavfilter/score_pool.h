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
 * Statistics of values that come one by one. The values are not kept: memory does
 * not depend on their number.
 */

#ifndef AVFILTER_SCORE_POOL_H
#define AVFILTER_SCORE_POOL_H

#include <stdint.h>

/// What is computed, in this order.
enum {
    SCORE_MIN, SCORE_MAX, SCORE_MEAN, SCORE_HARMONIC,
    SCORE_P1, SCORE_P5, SCORE_P10, SCORE_P50, SCORE_P90, SCORE_P95, SCORE_P99,
    SCORE_ERROR, SCORE_WORST, SCORE_WORST_FRAME,
    SCORE_POOLED_NB
};

enum ScoreDirection {
    SCORE_NO_DIRECTION,
    SCORE_LOWER_IS_BETTER,
    SCORE_HIGHER_IS_BETTER,
};

/// Frames of a window: of fewer, the noise of single frames would make the worst.
#define SCORE_WINDOW 48

/// Lengths of batches, 1, 2, 4...
#define SCORE_BATCH_LENGTHS 40

/**
 * Bins of percentiles: an octave has 2^10 for either sign, so that a bin is not
 * wider than 2^-10 of its values. Values below the first octave share bins of 0;
 * beyond the last one only minimum and maximum are right.
 */
#define SCORE_BINS_LOG2     10
#define SCORE_MIN_OCTAVE  (-32)
#define SCORE_MAX_OCTAVE    31
#define SCORE_OCTAVES      (SCORE_MAX_OCTAVE - SCORE_MIN_OCTAVE + 1)

/// Values that are closer together than the resolution.
typedef struct ScoreBin {
    uint64_t nb;
    double min, max;
} ScoreBin;

typedef struct ScorePool {
    // set by the user, beside zeros
    enum ScoreDirection direction;    ///< tells which window is the worst, if any
    int percentiles;                    ///< 0: they are not wanted

    uint64_t nb;
    double min, max, sum;
    double inverse;                     ///< sum of 1 / (value + 1), NAN if one is -1 or less
    struct {
        double first;                   ///< sum of the one that waits for its second half
        double mean, squares;           ///< of the means of full ones
    } batch[SCORE_BATCH_LENGTHS];
    double last[SCORE_WINDOW];        ///< value nb is at nb % SCORE_WINDOW
    uint64_t last_frame[SCORE_WINDOW];
    double worst;                       ///< sum over the worst full window
    uint64_t worst_frame;               ///< its first frame
    ScoreBin *octave[2 * SCORE_OCTAVES];    ///< from -2^32 up; NULL without a value
} ScorePool;

/// Add a finite value of a frame of this number. @return 0 or AVERROR(ENOMEM)
int ff_score_pool_add(ScorePool *p, double value, uint64_t frame);

/**
 * Compute the statistics; what is not wanted, or not known of so few, is NAN. The harmonic
 * mean is libvmaf's, N / sum(1 / (v + 1)) - 1.
 */
void ff_score_pool_get(double dst[SCORE_POOLED_NB], const ScorePool *p);

void ff_score_pool_free(ScorePool *p);

#endif /* AVFILTER_SCORE_POOL_H */
