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
 * Sums over the blocks of a level, on the CPU.
 */

#ifndef AVFILTER_BLIINDS_POOL_H
#define AVFILTER_BLIINDS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "bliinds_sums.h"

/// The blocks of a level, from which the worst are chosen.
typedef struct BLIINDSBlocks {
    int w, h;
    float *statistic[BLIINDS_NB_STATISTICS];    ///< of each block, [h][w]
    uint16_t *gamma;                            ///< index of each block, [h][w]
} BLIINDSBlocks;

/**
 * Fill the table of the generalised Gaussian's rho for bliinds_gamma():
 * rho(g) = G(1/g) G(3/g) / G(2/g)^2 with G the gamma function.
 */
void ff_bliinds_gamma_table(float table[BLIINDS_GAMMA_NB]);

/**
 * Add a row of blocks to the sums of its level, and store it.
 *
 * @param y     of the row
 * @param value of block_row(), see bliinds_dsp.h
 * @param table of ff_bliinds_gamma_table()
 */
void ff_bliinds_add_row(BLIINDSLevelSums *sums, const BLIINDSBlocks *blocks, int y,
                        const float *value, ptrdiff_t stride, const float *table);

/**
 * Add the k largest of n values to a sum, by their digits: the bits of a float
 * that is not negative order like the float.
 *
 * @param value n values from 0 to 2^19, overwritten
 * @param k     1 to n
 */
void ff_bliinds_add_largest(BLIINDSSum *dst, float *value, int n, int k);

/**
 * Add the k smallest of n shapes to a level's worst_gamma, and set nb_flat.
 *
 * @param gamma n indices from bliinds_gamma()
 * @param k     1 to n
 */
void ff_bliinds_add_smallest_gamma(BLIINDSLevelSums *sums, const uint16_t *gamma,
                                   int n, int k);

#endif /* AVFILTER_BLIINDS_POOL_H */
