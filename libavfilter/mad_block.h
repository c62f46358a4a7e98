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
 * The arithmetic of MAD's blocks and filters: the only copy, included by C and by
 * CUDA C, in single precision.
 *
 * Eric C. Larson and Damon M. Chandler, "Most apparent distortion:
 * full-reference image quality assessment and the role of strategy", Journal of
 * Electronic Imaging 19(1), 2010.
 */

#ifndef AVFILTER_MAD_BLOCK_H
#define AVFILTER_MAD_BLOCK_H

#include "cuda/shared.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#include "cuda/kernel.cuh"

typedef float MADReal;
#define MAD_SQRT(x)     approx_sqrt(x)
#define MAD_ABS(x)      fabsf(x)
#define MAD_LOG_SQRT(x) (0.5f * 0.693147181f * approx_log2(x))
/// exp(-x / 2)
#define MAD_GAUSS(x)    approx_exp2(-0.5f * 1.44269504f * (x))
/// Sums of squares over a block below it are rounding errors of nothing.
#define MAD_FLAT        1e-15f
#else
#include <math.h>

typedef float MADReal;
#define MAD_SQRT(x)     sqrtf(x)
#define MAD_ABS(x)      fabsf(x)
#define MAD_LOG_SQRT(x) ((MADReal)(0.5 * log(x)))
#define MAD_GAUSS(x)    ((MADReal)exp(-0.5 * (x)))
#define MAD_FLAT        1e-15f
#endif

/// Blocks of MAD_BLOCK samples begin every MAD_STEP samples, in both axes.
#define MAD_BLOCK     16
#define MAD_SUB_BLOCK 8
#define MAD_STEP      4
#define MAD_BLOCK_SAMPLES (MAD_BLOCK * MAD_BLOCK)
#define MAD_SUB_SAMPLES   (MAD_SUB_BLOCK * MAD_SUB_BLOCK)
#define MAD_CELL_SAMPLES  (MAD_STEP * MAD_STEP)

/// Samples at the begin and end of each axis that the scores leave out.
#define MAD_BORDER_BEGIN 16
#define MAD_BORDER_END   17

#define MAD_SCALES       5
#define MAD_ORIENTATIONS 4

/// Angles are in widths of a filter: from one to the next, and once round.
#define MAD_ANGLE_STEP 1.5
#define MAD_ANGLE_TURN (2 * MAD_ORIENTATIONS * MAD_ANGLE_STEP)

/// Contrasts of blocks darker than this are not looked at.
#define MAD_MIN_MEAN 0.5
/// Square of the least visible contrast, exp(-5).
#define MAD_MIN_CONTRAST_SQUARE 4.5399929762484854e-5

/// Of some samples: the mean, and the sums of the powers of their distance to it.
typedef struct MADMoments {
    MADReal mean, m2, m3, m4;
} MADMoments;

SHARED_INLINE MADMoments mad_cell_moments(const MADReal v[MAD_CELL_SAMPLES])
{
    MADMoments m = { 0, 0, 0, 0 };

    UNROLL
    for (int i = 0; i < MAD_CELL_SAMPLES; i++)
        m.mean += v[i];
    m.mean *= (MADReal)1 / MAD_CELL_SAMPLES;
    UNROLL
    for (int i = 0; i < MAD_CELL_SAMPLES; i++) {
        const MADReal d = v[i] - m.mean, d2 = d * d;

        m.m2 += d2;
        m.m3 += d2 * d;
        m.m4 += d2 * d2;
    }
    return m;
}

/// Of two sets of n samples each.
SHARED_INLINE MADMoments mad_merge(MADMoments a, MADMoments b, int n)
{
    const MADReal d = b.mean - a.mean, d2 = d * d;
    MADMoments m;

    m.mean = (a.mean + b.mean) / 2;
    m.m2   = a.m2 + b.m2 + n / (MADReal)2 * d2;
    m.m3   = a.m3 + b.m3 + (MADReal)1.5 * d * (b.m2 - a.m2);
    m.m4   = a.m4 + b.m4 + 2 * d * (b.m3 - a.m3) + (MADReal)1.5 * d2 * (a.m2 + b.m2) +
             n / (MADReal)8 * d2 * d2;
    return m;
}

/**
 * How visible the error of a block is, by the logarithms of the contrasts.
 *
 * @param mean    of the reference's lightness
 * @param masking variance of the reference where it is least, in a sub-block
 * @param error   variance of the error
 */
SHARED_INLINE MADReal mad_visibility(MADReal mean, MADReal masking, MADReal error)
{
    const MADReal least = (MADReal)MAD_MIN_CONTRAST_SQUARE * (mean * mean);

    masking = masking > least ? masking : least;
    // darker blocks are not looked at; the logarithm of variances is twice that of deviations
    return mean >= (MADReal)MAD_MIN_MEAN && error > masking ? MAD_LOG_SQRT(error / masking) : 0;
}

/// Standard deviation, skewness and kurtosis of a block, whose sums of powers these are.
SHARED_INLINE void mad_describe(MADReal dst[3], MADReal m2, MADReal m3, MADReal m4)
{
    const int flat = m2 < MAD_FLAT;

    dst[0] = flat ? 0 : MAD_SQRT(m2 / (MAD_BLOCK_SAMPLES - 1));
    dst[1] = flat ? 0 : MAD_BLOCK * m3 / (m2 * MAD_SQRT(m2));
    dst[2] = flat ? 0 : MAD_BLOCK_SAMPLES * m4 / (m2 * m2);
}

/// How far two blocks so described are apart; unit is that of the standard deviation.
SHARED_INLINE MADReal mad_difference(const MADReal a[3], const MADReal b[3], MADReal unit)
{
    return MAD_ABS(a[0] - b[0]) * unit + 2 * MAD_ABS(a[1] - b[1]) + MAD_ABS(a[2] - b[2]);
}

/// Distance of a frequency's angle from a filter's.
SHARED_INLINE MADReal mad_turn(MADReal angle, MADReal direction)
{
    const MADReal d = MAD_ABS(angle - direction), other = (MADReal)MAD_ANGLE_TURN - d;

    return d < other ? d : other;
}

/// Gain of a log-Gabor filter, at the sum of the squares of the distances.
SHARED_INLINE MADReal mad_gain(MADReal square)
{
    return MAD_GAUSS(square);
}

#endif /* AVFILTER_MAD_BLOCK_H */
