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
 * What a filter's CPU or GPU part hands to the shared part for each frame:
 * sums over blocks. Included by C and by CUDA C.
 */

#ifndef AVFILTER_BLIINDS_SUMS_H
#define AVFILTER_BLIINDS_SUMS_H

#include "bliinds_block.h"

/// The statistics that are floats in a block and are pooled in the same way.
enum BLIINDSStatistic {
    BLIINDS_ZETA,
    BLIINDS_SUB,
    BLIINDS_ORI,
    BLIINDS_NB_STATISTICS
};

/// An exact sum of bliinds_fixed() values, in units of 1 and of 2^-32.
typedef struct BLIINDSSum {
    uint64_t whole, fraction;
} BLIINDSSum;

/// Add a value, or a sum of up to 2^13 values, of bliinds_fixed().
SHARED_INLINE void bliinds_sum_add(BLIINDSSum *dst, uint64_t fixed)
{
    dst->whole    += fixed >> 32;
    dst->fraction += (uint32_t)fixed;
}

/// Sums over all blocks of a class.
typedef struct BLIINDSClassSums {
    uint64_t nb_blocks;
    BLIINDSSum band[3];     ///< of the variances of the bands
    /// @name 0 if only bands are wanted; in levels 2 and 3 one class may have the sums of both
    /// @{
    BLIINDSSum statistic[BLIINDS_NB_STATISTICS];
    uint64_t gamma;         ///< of bliinds_gamma_value(), in thousandths
    /// @}
} BLIINDSClassSums;

/// Sums over all blocks of a level: integers, so that the order of additions does not matter.
typedef struct BLIINDSLevelSums {
    /// blocks clear of the grid of 8x8 samples of the level, and blocks that straddle it
    BLIINDSClassSums grid[2];
    uint64_t nb_flat;       ///< blocks that bliinds_is_flat(), at level 1; others may leave it 0
    /// @name Sums over the bliinds_nb_worst() blocks of worst quality, 0 if only bands are wanted
    /// @{
    BLIINDSSum worst[BLIINDS_NB_STATISTICS];    ///< the largest
    uint64_t worst_gamma;                       ///< the smallest, in thousandths
    /// @}
} BLIINDSLevelSums;

/// Number of blocks of a level.
SHARED_INLINE uint64_t bliinds_level_blocks(const BLIINDSLevelSums *level)
{
    return level->grid[0].nb_blocks + level->grid[1].nb_blocks;
}

/// Number of blocks along a side of n samples.
SHARED_INLINE int bliinds_nb_blocks(int n)
{
    return (n + BLIINDS_STEP - 1) / BLIINDS_STEP;
}

/// How many of n blocks along a side are clear of the 8x8 grid: four of each eight.
SHARED_INLINE int bliinds_nb_clear(int n)
{
    int nb = n / 8 * 4;

    for (int b = 0; b < n % 8; b++)
        nb += !bliinds_straddles(b);
    return nb;
}

/// Number of blocks in the worst 10 % of n.
SHARED_INLINE int bliinds_nb_worst(int n)
{
    return (n + 9) / 10;
}

// ---- the bins of the histograms from which the GPU chooses the worst blocks ----

#define BLIINDS_BINS       320      ///< of a coarse histogram
#define BLIINDS_GAMMA_FINE 32       ///< shapes in a bin

/**
 * Values in one bin share all but this many lower bits, unless the bin is the
 * first or the last one.
 */
#define BLIINDS_BIN_BITS 18

/// @name Where bins of the energy subband ratio change their spacing, see bliinds_bin()
/// @{
#define BLIINDS_SUB_BINS1 64                            ///< below .5
#define BLIINDS_SUB_BINS2 (BLIINDS_SUB_BINS1 + 160)     ///< below 1
/// @}

/// The bits of a float; those of non-negative floats have the order of the floats.
SHARED_INLINE uint32_t bliinds_bits(float x)
{
    union { float f; uint32_t i; } u = { x };

    return u.i;
}

SHARED_INLINE float bliinds_from_bits(uint32_t x)
{
    union { uint32_t i; float f; } u;

    u.i = x;
    return u.f;
}

/// Upper bits of x, without the lowest shift bits, minus those of start.
SHARED_INLINE int bliinds_upper_bits(uint32_t x, float start, int shift)
{
    return (int)(x >> shift) - (int)(bliinds_bits(start) >> shift);
}

/**
 * Bin of a value of a statistic. It grows with the value; values beyond all bins are in
 * the first and the last one. A bin includes its lower end, but not its upper end.
 *
 * There are 32 bins per octave. But the energy subband ratio is near 1 in many blocks of
 * smooth pictures: from .5 to 1 it has 16 bins per octave of its distance to 1, which is
 * exact in single precision.
 *
 * @param x         not negative
 * @param statistic of BLIINDSStatistic
 */
SHARED_INLINE int bliinds_bin(float x, int statistic)
{
    int bin;

    if (statistic != BLIINDS_SUB)
        bin = bliinds_upper_bits(bliinds_bits(x), 1.f / 64, 18);
    else if (x < .5f)
        bin = bliinds_upper_bits(bliinds_bits(x), .125f, 18);
    else if (x >= 1.f)
        bin = BLIINDS_SUB_BINS2 + bliinds_upper_bits(bliinds_bits(x), 1.f, 18);
    else {
        bin = BLIINDS_SUB_BINS1 - 1 - bliinds_upper_bits(bliinds_bits(1.f - x) - 1, .5f, 19);
        bin = bin < BLIINDS_SUB_BINS2 ? bin : BLIINDS_SUB_BINS2 - 1;
    }
    bin = bin < 0 ? 0 : bin;
    return bin < BLIINDS_BINS ? bin : BLIINDS_BINS - 1;
}

/// Bits of the lower end of a bin; of BLIINDS_BINS, bits above those of all values.
SHARED_INLINE uint32_t bliinds_bin_start(int statistic, int bin)
{
    if (bin == 0)
        return 0;
    if (bin == BLIINDS_BINS)
        return ~0u;
    if (statistic != BLIINDS_SUB)
        return bliinds_bits(1.f / 64) + ((uint32_t)bin << 18);
    if (bin < BLIINDS_SUB_BINS1)
        return bliinds_bits(.125f) + ((uint32_t)bin << 18);
    if (bin < BLIINDS_SUB_BINS2)    // 1 minus the largest of the bin's distances
        return bliinds_bits(1.f - bliinds_from_bits(bliinds_bits(.5f) -
                                                    ((uint32_t)(bin - BLIINDS_SUB_BINS1) << 19)));
    return bliinds_bits(1.f) + ((uint32_t)(bin - BLIINDS_SUB_BINS2) << 18);
}

/// Whether the values of a bin need not share their upper bits.
SHARED_INLINE int bliinds_bin_is_open(int bin)
{
    return bin == 0 || bin == BLIINDS_BINS - 1;
}

/// Bin of an index of bliinds_gamma().
SHARED_INLINE int bliinds_gamma_bin(unsigned index)
{
    return index / BLIINDS_GAMMA_FINE;
}

#endif /* AVFILTER_BLIINDS_SUMS_H */
