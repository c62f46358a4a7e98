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
 * Block statistics, visibility and filter gains of MAD in single precision, included by C and by
 * CUDA C so that mad and mad_cuda run the same arithmetic. On the GPU, square roots, logarithms
 * and exponentials are approximations. vf_mad.c describes the method.
 *
 * Pictures are divided into cells of 4x4 samples. A block has 4x4 cells and begins at every cell,
 * a sub-block has 2x2. The moments of a block are merged from those of its cells, each about the
 * mean of its own samples, so that no large sums of powers cancel.
 */

#ifndef AVFILTER_MAD_BLOCK_H
#define AVFILTER_MAD_BLOCK_H

#include "shared_arith.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#include "cuda/kernel.cuh"

/// Elementary functions: approximations on the GPU, those of libm on the CPU.
#define MAD_SQRT(x)     approx_sqrt(x)
#define MAD_LOG2(x)     approx_log2(x)
#define MAD_LOG_SQRT(x) (0.5f * 0.693147181f * approx_log2(x))
#define mad_log_gabor_gain(square) approx_exp2(-0.5f * 1.44269504f * (square))
#else
#include <math.h>

#define MAD_SQRT(x)     sqrtf(x)
#define MAD_LOG2(x)     log2f(x)
#define MAD_LOG_SQRT(x) ((float)(0.5 * log(x)))
/// Gain of a Gaussian at a squared distance, in units of its variance.
#define mad_log_gabor_gain(square) ((float)exp(-0.5 * (float)(square)))
#endif

/// A block whose sum of squared deviations is below this limit is flat: the rest is rounding noise.
#define MAD_FLAT_M2 1e-15f

/// Sides of a block and of a sub-block, and distance between the blocks, in samples.
#define MAD_BLOCK     16
#define MAD_SUB_BLOCK 8
#define MAD_STEP      4
#define MAD_BLOCK_SAMPLES (MAD_BLOCK * MAD_BLOCK)
#define MAD_SUB_SAMPLES   (MAD_SUB_BLOCK * MAD_SUB_BLOCK)
#define MAD_CELL_SAMPLES  (MAD_STEP * MAD_STEP)

/// Width of the border in samples, which the scores exclude: left and top, right and bottom.
#define MAD_BORDER_BEGIN 16
#define MAD_BORDER_END   17

/// Filters of the log-Gabor bank.
#define MAD_SCALES       5
#define MAD_ORIENTATIONS 4

/// Gain of the detection map in the authors' release. It makes hi, d_detect of the paper, the root
/// mean square of the map's interior, as lo, d_appear, is that of the appearance map.
#define MAD_DETECTION_SCALE 200
/// An output map shows log2(1 + value / unit), from 0 to the number of octaves. The unit is large
/// enough for rounding errors near the visibility threshold to stay below one sample step.
#define MAD_DETECTION_UNIT     256
#define MAD_DETECTION_OCTAVES  12
#define MAD_APPEARANCE_OCTAVES 6

/// Angle between neighbouring orientations and of a full turn, in standard deviations of a filter.
#define MAD_ANGLE_STEP 1.5
#define MAD_FULL_TURN (2 * MAD_ORIENTATIONS * MAD_ANGLE_STEP)

/// Minimum mean lightness of a block: errors in darker blocks are invisible.
#define MAD_MIN_MEAN 0.5
/// Square of the minimum visible contrast, exp(-5).
#define MAD_MIN_CONTRAST_SQUARED 4.5399929762484854e-5

/// Mean of a set of samples, and sums of the 2nd to 4th powers of the deviations from it.
typedef struct MADMoments {
    float mean, m2, m3, m4;
} MADMoments;

/// Compute the moments of a cell.
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

/// Merge the moments of two sets of n samples each.
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
 * Compute the visibility of the error in a block, xi of the paper: the logarithm of the ratio of
 * error contrast to masking contrast, from 0.
 *
 * @param mean    mean of the CSF-filtered lightness of the reference
 * @param masking minimum variance of that lightness over the sub-blocks
 * @param error   variance of the CSF-filtered error over the block
 */
SHARED_INLINE float mad_visibility(float mean, float masking, float error)
{
    const float min_masking = (float)MAD_MIN_CONTRAST_SQUARED * (mean * mean);

    masking = masking > min_masking ? masking : min_masking;
    // contrasts are standard deviations over the mean: the mean cancels, log(sqrt()) remains
    return mean >= (float)MAD_MIN_MEAN && error > masking ? MAD_LOG_SQRT(error / masking) : 0;
}

/**
 * Compute the standard deviation (n - 1), skewness and kurtosis (n, 3 for a Gaussian) of a block
 * from its moments. All are 0 for a flat block.
 */
SHARED_INLINE void mad_std_skew_kurt(float dst[3], float m2, float m3, float m4)
{
    const int flat = m2 < MAD_FLAT_M2;

    dst[0] = flat ? 0 : MAD_SQRT(m2 / (MAD_BLOCK_SAMPLES - 1));
    dst[1] = flat ? 0 : MAD_BLOCK * m3 / (m2 * MAD_SQRT(m2));
    dst[2] = flat ? 0 : MAD_BLOCK_SAMPLES * m4 / (m2 * m2);
}

/**
 * Compute the difference between the statistics of two blocks, a term of eta in the paper.
 *
 * @param a, b results of mad_std_skew_kurt()
 * @param unit full-range units of the samples that the standard deviations refer to
 */
SHARED_INLINE float mad_stat_diff(const float a[3], const float b[3], float unit)
{
    return fabsf(a[0] - b[0]) * unit + 2 * fabsf(a[1] - b[1]) + fabsf(a[2] - b[2]);
}

/// Convert a value of the detection or appearance map to a sample above black, from 0 to white.
SHARED_INLINE int mad_map_sample(float value, int is_detection, int white)
{
    const float scale  = is_detection ? (float)MAD_DETECTION_SCALE / MAD_DETECTION_UNIT : 1;
    const int octaves  = is_detection ? MAD_DETECTION_OCTAVES : MAD_APPEARANCE_OCTAVES;
    const float sample = MAD_LOG2(1 + scale * value) / octaves * white + 0.5f;

    return sample < white ? (int)sample : white;
}

/// Return the distance between two angles, at most half a turn, in standard deviations of a filter.
SHARED_INLINE float mad_angle_distance(float angle, float direction)
{
    const float d = fabsf(angle - direction), complement = (float)MAD_FULL_TURN - d;

    return d < complement ? d : complement;
}

#endif /* AVFILTER_MAD_BLOCK_H */
