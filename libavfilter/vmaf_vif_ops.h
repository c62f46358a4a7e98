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
 * Arithmetic of VIF, shared by C and CUDA C. Roundings are libvmaf's (integer_vif.c).
 *
 * Samples of all depths and scales have 16 bits here: those of a frame are shifted up. A window's means
 * and mean squares are filtered down the columns, then along the rows. Each pixel adds to the sums of its
 * scale; a picture of the next scale is filtered by its own taps.
 */

#ifndef AVFILTER_VMAF_VIF_OPS_H
#define AVFILTER_VMAF_VIF_OPS_H

#include <stdint.h>

#include "shared_arith.h"
#include "vmaf_ops.h"

#define VIF_SCALES 4

/// Taps beside the one in the centre of a scale's window. Both sides are mirrored by vmaf_mirror().
#define VIF_RADIUS(scale) (8 >> (scale))

/// Taps of each scale in 2^-16, from the centre outwards.
#define VIF_TAPS {                                                                          \
    {  7784,  7455,  6547, 5274, 3896, 2640, 1640, 935, 489 },                              \
    { 14692, 12590,  7925, 3663, 1244 },                                                    \
    { 26386, 16004,  3571 },                                                                \
    { 43728, 10904 },                                                                       \
}

#define VIF_NOISE (2 << 16)         ///< libvmaf's sigma_nsq: 2.0
#define VIF_EPS   (65536 * 1.0e-10) ///< added to the variance of the reference

/// Sums of a scale: libvmaf's accum_num_log, accum_den_log, accum_num_non_log and accum_den_non_log.
typedef struct VIFScaleSums {
    int64_t num_log;            ///< information that the encode keeps, in 2^-11 bits
    int64_t den_log;            ///< information of the reference, in 2^-11 bits
    int64_t num_non_log;        ///< variances of the encode where the reference is flat, in 2^-16
    int64_t den_non_log;        ///< pixels where the reference is flat
} VIFScaleSums;

typedef struct VIFSums {
    VIFScaleSums scale[VIF_SCALES];
} VIFSums;

// ---- logarithm ----

#define VIF_LOG2_WORDS 2048         ///< each for 16 entries of libvmaf's log2_table

/// Count the bits of a number of 16 bits.
SHARED_INLINE int vif_popcount(uint32_t x)
{
#if defined(__CUDACC__) || defined(__CUDA__)
    return count_bits(x);
#else
    x = (x & 0x5555) + (x >> 1 & 0x5555);
    x = (x & 0x3333) + (x >> 2 & 0x3333);
    x = (x & 0x0f0f) + (x >> 4 & 0x0f0f);
    return (x & 31) + (x >> 8);
#endif
}

/// Return 2048 log2(1 + x / 2^31) for the lower 31 bits of x, of which the upper 15 count. A word of the
/// table is the lowest of its 16 entries, in the lower half, and above it a bit for each entry, the first
/// in bit 31: whether it is larger by one than the entry before.
SHARED_INLINE int vif_log2_fraction(const uint32_t table[VIF_LOG2_WORDS], uint32_t x)
{
    const uint32_t word = table[x >> 20 & VIF_LOG2_WORDS - 1];

    return (word & 0xffff) + vif_popcount(word >> (16 | ~x >> 16 & 15));
}

// ---- statistics ----

/// Variances and covariance in a window, in 2^-16.
typedef struct VIFStats {
    int32_t ref;                ///< libvmaf's sigma1_sq; rounding may make it negative
    int32_t dis;                ///< sigma2_sq, not negative
    int32_t cov;                ///< sigma12
} VIFStats;

/// Return the product of two means in 2^-16 of the mean squares.
SHARED_INLINE uint32_t vif_mean_product(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b + (1u << 31) >> 32;
}

/// Subtract the products of the means, which have 32 bits, from the mean squares.
SHARED_INLINE VIFStats vif_stats(const uint32_t mean[PAIR_NB], uint32_t ref_square,
                                 uint32_t dis_square, uint32_t product)
{
    const uint32_t ref = mean[PAIR_REFERENCE], dis = mean[PAIR_MAIN];
    const int32_t variance = dis_square - vif_mean_product(dis, dis);
    const VIFStats stats = {
        (int32_t)(ref_square - vif_mean_product(ref, ref)), variance > 0 ? variance : 0,
        (int32_t)(product - vif_mean_product(ref, dis)),
    };

    return stats;
}

/// Return whether the window of the reference is flat, so that no logarithms are taken.
SHARED_INLINE int vif_is_flat(VIFStats stats)
{
    return stats.ref < VIF_NOISE;
}

/// Signal and noise in an encode. To the numerator, log2(signal + noise) - log2(noise) is added.
typedef struct VIFNumerator {
    double signal;              ///< to be truncated
    uint32_t noise;             ///< libvmaf's numer1
} VIFNumerator;

/// Compute the numerator of a window that is not flat and whose encode has a variance and a positive
/// covariance. The gain is limited to vif_enhn_gain_limit.
SHARED_INLINE VIFNumerator vif_numerator(VIFStats stats, double gain_limit)
{
    const double gain    = stats.cov / (stats.ref + VIF_EPS);
    const double noise   = stats.dis - gain * stats.cov;
    const double limited = gain < gain_limit ? gain : gain_limit;
    VIFNumerator n;

    n.noise  = (noise > 0 ? (int32_t)noise : 0) + VIF_NOISE;
    n.signal = limited * limited * stats.ref;
    return n;
}

#endif /* AVFILTER_VMAF_VIF_OPS_H */
