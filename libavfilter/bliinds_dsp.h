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
 * The functions of the CPU for rows of samples and of blocks.
 */

#ifndef AVFILTER_BLIINDS_DSP_H
#define AVFILTER_BLIINDS_DSP_H

#include <stddef.h>
#include <stdint.h>

#include "bliinds_block.h"

/// Rows of values of a row of blocks. band_row() writes those before the statistics.
enum {
    BLIINDS_ROW_BAND,
    BLIINDS_ROW_FLAT       = BLIINDS_ROW_BAND + 3,  ///< 1 if bliinds_is_flat(), else 0
    BLIINDS_ROW_STATISTIC,                          ///< in the order of BLIINDSStatistic
    /// variance over squared mean deviation, until gamma_row() has put shapes there
    BLIINDS_ROW_RHO        = BLIINDS_ROW_STATISTIC + BLIINDS_GAMMA,
    BLIINDS_NB_ROWS
};

/// A row has 8 sums, each over every eighth block: in these the 8x8 grid lies alike.
#define BLIINDS_NB_LANES 8

/// Most elements of a vector: numbers of blocks are multiples of it.
#define BLIINDS_VECTOR 16

/// Elements behind a row of samples that functions may read, or write any value to.
#define BLIINDS_ROW_PAD 64

/// The most values of one select(): as many as bliinds_sum_add() takes.
#define BLIINDS_SELECT_CHUNK (1 << 13)

/// Room that ff_bliinds_add_largest() needs to find the largest of n values in a fast way.
#define BLIINDS_SELECT_SIZE(n) ((n) / 8 + BLIINDS_SELECT_CHUNK)

/**
 * Strides are in elements; line, dst and src do not overlap. Numbers of blocks are multiples of
 * BLIINDS_VECTOR: what rows have behind their last block is any finite value.
 */
typedef struct BLIINDSDSPContext {
    /**
     * Expand a row of luma to level 1 samples; no more than these are read and written.
     *
     * @param src   uint8_t, or native uint16_t in row16
     * @param w     samples
     * @param down  right shift from src to a sample's value
     * @param black value of black
     * @param up    left shift from a value to a level sample
     */
    void (*expand_row8)(int32_t *dst, const uint8_t *src, int w,
                        int down, int black, int up);
    void (*expand_row16)(int32_t *dst, const uint8_t *src, int w,
                         int down, int black, int up);

    /**
     * Low-pass filter and decimate three rows to one of the next level.
     *
     * @param dst    w / 2 samples
     * @param middle row between above and below; dst[x] is centred on its sample 2 * x + 1
     * @param w      samples of a row; a sample of value 0 comes after them
     */
    void (*lowpass_row)(int32_t *dst, const int32_t *above, const int32_t *middle,
                        const int32_t *below, int w);

    /**
     * Sum how a row of level 3 differs from that of the frame before, in whose place it is kept.
     *
     * @param sum    of BLIINDSLevelSums.motion, is added to
     * @param before bliinds_motion_sample() of w samples; no more are read and written
     */
    void (*motion_row)(uint64_t sum[2], int16_t *prev, const int32_t *line, int w);

    /**
     * bliinds_dct5_integer_stage() along a row, for each block.
     *
     * @param high term k of block b's upper parts at [k * stride + b]
     * @param low  the same of the lower parts, or NULL if they are all 0
     * @param line the row from sample -1 on; samples outside of it are 0
     */
    void (*dct5_row)(float *upper, float *lower, ptrdiff_t stride,
                      const int32_t *line, int nb_blocks);

    /**
     * bliinds_block() for each block of a row of blocks.
     *
     * @param dst  value r of block b at [r * stride + b]
     * @param high dct5_row() of the 5 rows
     * @param low  the same of the lower parts, or NULL if they are all 0
     */
    void (*block_row)(float *dst, const float *const upper[5],
                      const float *const lower[5], ptrdiff_t stride, int nb_blocks);

    /// block_row() without the statistics.
    void (*band_row)(float *dst, const float *const upper[5],
                     const float *const lower[5], ptrdiff_t stride, int nb_blocks);

    /**
     * Sums of rows that block_row() or band_row() wrote.
     *
     * @param sum bliinds_fixed() of block b's value is added to [r][b % BLIINDS_NB_LANES]
     */
    void (*sum_rows)(uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                     ptrdiff_t stride, int nb_rows, int nb_blocks);

    /// Replace the row BLIINDS_ROW_RHO by bliinds_gamma_value(), by ff_bliinds_gamma_table().
    void (*gamma_row)(float *rho, const float *table, int nb_blocks);

    /**
     * Sum the values above a range, and collect those in it.
     *
     * @param dst   n elements
     * @param above bliinds_fixed() of those above is added to [0], their number to [1]
     * @param n     a multiple of BLIINDS_VECTOR, at most BLIINDS_SELECT_CHUNK
     * @param range its lower and upper end, both inclusive
     * @return number of values in dst
     */
    int (*select_range)(float *dst, uint64_t above[2], const float *value, int n,
                  const float range[2]);
} BLIINDSDSPContext;

void ff_bliinds_dsp_init(BLIINDSDSPContext *dsp);
void ff_bliinds_dsp_init_x86(BLIINDSDSPContext *dsp);

// ---- sums over the blocks of a level ----

/// The blocks of a level, from which the worst are chosen.
typedef struct BLIINDSLevelBlocks {
    int w, h;
    /// of each block, [h][w], and up to the next multiple of BLIINDS_VECTOR values of -1
    float *statistic[BLIINDS_NB_STATISTICS];
    float *selection[BLIINDS_GAMMA];            ///< BLIINDS_SELECT_SIZE(w * h)
} BLIINDSLevelBlocks;

/**
 * Fill the table of the generalised Gaussian's rho for bliinds_gamma():
 * rho(g) = G(1/g) G(3/g) / G(2/g)^2 with G the gamma function.
 */
void ff_bliinds_gamma_table(float table[BLIINDS_GAMMA_NB]);

/**
 * Add a row of blocks to the sums of its level.
 *
 * @param blocks takes its statistics
 * @param y      number of the row of blocks
 * @param value  output of block_row(), or of band_row() if table is NULL, overwritten
 * @param table  of ff_bliinds_gamma_table(), or NULL for the bands alone
 */
void ff_bliinds_add_row(const BLIINDSDSPContext *dsp, BLIINDSLevelSums *sums,
                        const BLIINDSLevelBlocks *blocks, int y,
                        float *value, ptrdiff_t stride, const float *table);

/**
 * Add the values of a statistic's worst blocks to the sums of their level: the smallest shapes
 * of gamma, the largest values, from 0 to 2^19, of the others, which are overwritten.
 */
void ff_bliinds_pool10(const BLIINDSDSPContext *dsp, BLIINDSLevelSums *sums,
                          const BLIINDSLevelBlocks *blocks, enum BLIINDSStatistic statistic);

#endif /* AVFILTER_BLIINDS_DSP_H */
