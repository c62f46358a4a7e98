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
 * The arithmetic of MAD's blocks and filters, see mad.h: the only copy, included by C
 * and by CUDA C, in single precision.
 */

#ifndef AVFILTER_MAD_BLOCK_H
#define AVFILTER_MAD_BLOCK_H

#include "shared_arith.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#include "cuda/kernel.cuh"

#define MAD_SQRT(x)     approx_sqrt(x)
#define MAD_LOG2(x)     approx_log2(x)
#define MAD_LOG_SQRT(x) (0.5f * 0.693147181f * approx_log2(x))
#define mad_log_gabor_gain(square) approx_exp2(-0.5f * 1.44269504f * (square))
#else
#include <math.h>

#define MAD_SQRT(x)     sqrtf(x)
#define MAD_LOG2(x)     log2f(x)
#define MAD_LOG_SQRT(x) ((float)(0.5 * log(x)))
/// Gain of a log-Gabor filter; square is the sum of the squared distances, in its widths.
#define mad_log_gabor_gain(square) ((float)exp(-0.5 * (float)(square)))
#endif

/// A block is flat if its sum of squared deviations is below this: that is rounding noise.
#define MAD_FLAT_M2 1e-15f

/// Blocks of MAD_BLOCK samples begin every MAD_STEP samples, in both axes.
#define MAD_BLOCK     16
#define MAD_SUB_BLOCK 8
#define MAD_STEP      4
#define MAD_BLOCK_SAMPLES (MAD_BLOCK * MAD_BLOCK)
#define MAD_SUB_SAMPLES   (MAD_SUB_BLOCK * MAD_SUB_BLOCK)
#define MAD_CELL_SAMPLES  (MAD_STEP * MAD_STEP)

/// Samples at the beginning and end of each axis that the scores leave out.
#define MAD_BORDER_BEGIN 16
#define MAD_BORDER_END   17

#define MAD_SCALES       5
#define MAD_ORIENTATIONS 4

/// Factor of the detection map. With it, hi is the root mean square of the interior, as lo is that
/// of the appearance map.
#define MAD_DETECTION_SCALE 200
/// The samples of an output map span log2(1 + value / unit) from 0 to octaves. The unit keeps
/// differences of rounding where errors are just visible below one sample.
#define MAD_DETECTION_UNIT     256
#define MAD_DETECTION_OCTAVES  12
#define MAD_APPEARANCE_OCTAVES 6

/// Angles are in units of a filter's width: the step from filter to filter, and a full turn.
#define MAD_ANGLE_STEP 1.5
#define MAD_FULL_TURN (2 * MAD_ORIENTATIONS * MAD_ANGLE_STEP)

/// Errors in blocks darker than this are taken as invisible.
#define MAD_MIN_MEAN 0.5
/// Square of the least visible contrast, exp(-5).
#define MAD_MIN_CONTRAST_SQUARED 4.5399929762484854e-5

/// The mean of some samples, and the sums of the powers of their deviations from it.
typedef struct MADMoments {
    float mean, m2, m3, m4;
} MADMoments;

SHARED_INLINE MADMoments mad_cell_moments(const float v[MAD_CELL_SAMPLES])
{
    MADMoments m = { 0, 0, 0, 0 };

    UNROLL
    for (int i = 0; i < MAD_CELL_SAMPLES; i++)
        m.mean += v[i];
    m.mean *= 1.f / MAD_CELL_SAMPLES;
    UNROLL
    for (int i = 0; i < MAD_CELL_SAMPLES; i++) {
        const float d = v[i] - m.mean, d2 = d * d;

        m.m2 += d2;
        m.m3 += d2 * d;
        m.m4 += d2 * d2;
    }
    return m;
}

/// Moments of the union of two sets of n samples each.
SHARED_INLINE MADMoments mad_merge_moments(MADMoments a, MADMoments b, int n)
{
    const float d = b.mean - a.mean, d2 = d * d;
    MADMoments m;

    m.mean = (a.mean + b.mean) / 2;
    m.m2   = a.m2 + b.m2 + n / 2.f * d2;
    m.m3   = a.m3 + b.m3 + 1.5f * d * (b.m2 - a.m2);
    m.m4   = a.m4 + b.m4 + 2 * d * (b.m3 - a.m3) + 1.5f * d2 * (a.m2 + b.m2) +
             n / 8.f * d2 * d2;
    return m;
}

/**
 * How visible the error of a block is: the logarithm of the ratio of the contrasts, 0 or more.
 *
 * @param mean    of the reference's lightness
 * @param masking least variance of the reference in a sub-block
 * @param error   variance of the error
 */
SHARED_INLINE float mad_visibility(float mean, float masking, float error)
{
    const float min_masking = (float)MAD_MIN_CONTRAST_SQUARED * (mean * mean);

    masking = masking > min_masking ? masking : min_masking;
    // log(sqrt()): these are variances, contrasts are deviations
    return mean >= (float)MAD_MIN_MEAN && error > masking ? MAD_LOG_SQRT(error / masking) : 0;
}

/// Standard deviation, skewness and kurtosis of a block, from its sums of powers.
SHARED_INLINE void mad_std_skew_kurt(float dst[3], float m2, float m3, float m4)
{
    const int flat = m2 < MAD_FLAT_M2;

    dst[0] = flat ? 0 : MAD_SQRT(m2 / (MAD_BLOCK_SAMPLES - 1));
    dst[1] = flat ? 0 : MAD_BLOCK * m3 / (m2 * MAD_SQRT(m2));
    dst[2] = flat ? 0 : MAD_BLOCK_SAMPLES * m4 / (m2 * m2);
}

/// Distance of two results of mad_std_skew_kurt(); unit scales the standard deviations.
SHARED_INLINE float mad_stat_diff(const float a[3], const float b[3], float unit)
{
    return fabsf(a[0] - b[0]) * unit + 2 * fabsf(a[1] - b[1]) + fabsf(a[2] - b[2]);
}

/// The sample of a value of the detection or the appearance map, from 0 to white.
SHARED_INLINE int mad_map_sample(float value, int is_detection, int white)
{
    const float scale  = is_detection ? (float)MAD_DETECTION_SCALE / MAD_DETECTION_UNIT : 1;
    const int octaves  = is_detection ? MAD_DETECTION_OCTAVES : MAD_APPEARANCE_OCTAVES;
    const float sample = MAD_LOG2(1 + scale * value) / octaves * white + 0.5f;

    return sample < white ? (int)sample : white;
}

/// Distance between the angles of a frequency and of a filter, in units of the filter's width.
SHARED_INLINE float mad_angle_distance(float angle, float direction)
{
    const float d = fabsf(angle - direction), complement = (float)MAD_FULL_TURN - d;

    return d < complement ? d : complement;
}

#endif /* AVFILTER_MAD_BLOCK_H */
