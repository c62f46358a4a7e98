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

/// Add up to 2^13 values of bliinds_fixed(), added up.
SHARED_INLINE void bliinds_sum_add(BLIINDSSum *dst, uint64_t fixed)
{
    dst->whole    += fixed >> 32;
    dst->fraction += (uint32_t)fixed;
}

/// Sums over all blocks of a class.
typedef struct BLIINDSClassSums {
    uint64_t nb_blocks;
    BLIINDSSum band[3];     ///< of the variances of the bands
    /// @name Levels above the first may have these of all blocks in one class
    /// @{
    BLIINDSSum statistic[BLIINDS_NB_STATISTICS];
    uint64_t gamma;         ///< of bliinds_gamma_value(), in thousandths
    /// @}
} BLIINDSClassSums;

/// Sums over all blocks of a level: integers, so in whatever order they are made.
typedef struct BLIINDSLevelSums {
    /// blocks clear of the grid of 8x8 samples of the level, and blocks that straddle it
    BLIINDSClassSums grid[2];
    uint64_t nb_flat;       ///< blocks without a shape, BLIINDS_GAMMA_NONE
    /// @name Sums over the ceil(N / 10) blocks of worst quality
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

/// Number of n blocks along a side that are clear of the 8x8 grid: four of eight.
SHARED_INLINE int bliinds_nb_clear(int n)
{
    int nb = n / 8 * 4;

    for (int b = 0; b < n % 8; b++)
        nb += !bliinds_straddles(b);
    return nb;
}

/// Number of blocks that the worst 10 % of n are.
SHARED_INLINE int bliinds_nb_worst(int n)
{
    return (n + 9) / 10;
}

#endif /* AVFILTER_BLIINDS_SUMS_H */
