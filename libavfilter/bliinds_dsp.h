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
 * CPU functions of BLIINDS for rows of samples and rows of blocks, and the sums over a level.
 *
 * A row of luma becomes level 1 samples (expand_row), these the rows of levels 2 and 3
 * (lowpass_row). dct5_row applies the DCT along a row; from five such rows, block_row or band_row
 * completes it for a row of blocks and writes rows of values, which ff_bliinds_add_row() sums.
 * After the last row of a level, ff_bliinds_pool10() pools the 10 % of blocks of worst quality.
 */

#ifndef AVFILTER_BLIINDS_DSP_H
#define AVFILTER_BLIINDS_DSP_H

#include <stddef.h>
#include <stdint.h>

#include "bliinds_block.h"

/// Rows of values that block_row() writes. band_row() writes those before BLIINDS_ROW_STATISTIC.
enum {
    BLIINDS_ROW_BAND,
    BLIINDS_ROW_FLAT       = BLIINDS_ROW_BAND + 3,  ///< 1 for a flat block, else 0
    BLIINDS_ROW_STATISTIC,                          ///< statistics in the order of BLIINDSStatistic
    /// rho of BLIINDSBlock, until gamma_row() replaces it by the shape in thousandths
    BLIINDS_ROW_RHO        = BLIINDS_ROW_STATISTIC + BLIINDS_GAMMA,
    BLIINDS_NB_ROWS
};

/// Number of sums of a row. Each is over every 8th block: their position in the 8x8 grid is equal.
#define BLIINDS_NB_LANES 8

/// Largest number of elements of a vector; numbers of blocks are padded to a multiple of it.
#define BLIINDS_VECTOR 16

/// Elements behind a row of samples that functions may read, and may overwrite with any value.
#define BLIINDS_ROW_PAD 64

/// Maximum number of values of one select_range() call, whose sum bliinds_sum_add() accepts.
#define BLIINDS_SELECT_CHUNK (1 << 13)

/// Number of elements of BLIINDSLevelBlocks.selection for a level of n blocks.
#define BLIINDS_SELECT_SIZE(n) ((n) / 8 + BLIINDS_SELECT_CHUNK)

/**
 * Functions for one row. Strides are in elements. Sources and destinations do not overlap.
 * nb_blocks is a multiple of BLIINDS_VECTOR; the padding behind the last block has arbitrary finite
 * values. The functions are thread-safe, and all implementations return the same bits.
 */
typedef struct BLIINDSDSPContext {
    /**
     * Convert a row of luma to level 1 samples. Reads and writes exactly w samples.
     *
     * @param src   uint8_t samples; uint16_t in native byte order for expand_row16
     * @param w     width in samples
     * @param down  right shift from the stored sample to its value
     * @param black value of black, subtracted
     * @param up    left shift from a value to a level sample
     */
    void (*expand_row8)(int32_t *dst, const uint8_t *src, int w,
                        int down, int black, int up);
    void (*expand_row16)(int32_t *dst, const uint8_t *src, int w,
                         int down, int black, int up);

    /**
     * Low-pass filter three rows, and decimate them to a row of the next level.
     *
     * @param dst    w / 2 samples; dst[x] is centred on sample 2 * x + 1 of the middle row
     * @param middle row between above and below
     * @param w      width of the source rows in samples; each is followed by a sample of value 0
     */
    void (*lowpass_row)(int32_t *dst, const int32_t *above, const int32_t *middle,
                        const int32_t *below, int w);

    /**
     * Sum the differences of a row of level 3 from the previous frame, and store it for the next.
     *
     * @param sum  BLIINDSLevelSums.motion, added to
     * @param prev bliinds_motion_sample() of the previous frame, w elements; replaced by this frame
     * @param line level 3 samples, w elements
     */
    void (*motion_row)(uint64_t sum[2], int16_t *prev, const int32_t *line, int w);

    /**
     * Apply bliinds_dct5_integer_stage() along a row, for each block.
     *
     * @param upper terms of the upper bits; term k of block b at [k * stride + b]
     * @param lower terms of the lower bits in the same layout, or NULL if these bits are all 0
     * @param line  row of level samples, starting at x = -1; samples outside of the picture are 0
     */
    void (*dct5_row)(float *upper, float *lower, ptrdiff_t stride,
                     const int32_t *line, int nb_blocks);

    /**
     * Apply bliinds_dct5_columns() and bliinds_block() to each block of a row of blocks.
     *
     * @param dst   BLIINDS_NB_ROWS rows of values; row r of block b at [r * stride + b]
     * @param upper output of dct5_row() for the 5 rows of the blocks, upper bits
     * @param lower output of dct5_row() for the lower bits, or NULL if these are all 0
     */
    void (*block_row)(float *dst, const float *const upper[5],
                      const float *const lower[5], ptrdiff_t stride, int nb_blocks);

    /// Compute only the rows before BLIINDS_ROW_STATISTIC of block_row().
    void (*band_row)(float *dst, const float *const upper[5],
                     const float *const lower[5], ptrdiff_t stride, int nb_blocks);

    /**
     * Sum the rows that block_row() or band_row() wrote, as bliinds_fixed() values.
     *
     * @param sum added to; the value of row r and block b goes to [r][b % BLIINDS_NB_LANES]
     */
    void (*sum_rows)(uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                     ptrdiff_t stride, int nb_rows, int nb_blocks);

    /// Replace rho by the shape in thousandths; table is from ff_bliinds_gamma_table().
    void (*gamma_row)(float *rho, const float *table, int nb_blocks);

    /**
     * Sum the values above a range, and collect the values in the range.
     *
     * @param dst   room for n elements; receives the values in the range
     * @param above [0] adds up bliinds_fixed() of the values above the range, [1] counts them
     * @param n     a multiple of BLIINDS_VECTOR, at most BLIINDS_SELECT_CHUNK
     * @param range lower and upper end, both inclusive
     * @return number of values written to dst
     */
    int (*select_range)(float *dst, uint64_t above[2], const float *value, int n,
                        const float range[2]);
} BLIINDSDSPContext;

/// Set all functions, to the fastest ones that the CPU supports.
void ff_bliinds_dsp_init(BLIINDSDSPContext *dsp);

/// Replace the C functions by the x86 assembly that the CPU supports.
void ff_bliinds_dsp_init_x86(BLIINDSDSPContext *dsp);

// ---- sums over the blocks of a level ----

/// Statistics of all blocks of a level, kept for the 10 % percentile pooling.
typedef struct BLIINDSLevelBlocks {
    int w, h;                                   ///< size in blocks
    /// [h][w] values, followed by BLIINDS_VECTOR values of -1
    float *statistic[BLIINDS_NB_STATISTICS];
    float *selection[BLIINDS_GAMMA];            ///< scratch, BLIINDS_SELECT_SIZE(w * h) elements
} BLIINDSLevelBlocks;

/**
 * Fill the table for bliinds_gamma() with the ratio rho of the generalised Gaussian of shape g:
 * rho(g) = G(1/g) G(3/g) / G(2/g)^2, where G is the gamma function.
 */
void ff_bliinds_gamma_table(float table[BLIINDS_GAMMA_NB]);

/**
 * Add a row of blocks to the sums of its level.
 *
 * Threads may add different rows of a level at the same time, each to sums of its own.
 *
 * @param sums   added to
 * @param blocks receives the statistics of the row, unless table is NULL
 * @param y      index of the row of blocks
 * @param value  output of block_row(), or of band_row() if table is NULL; overwritten
 * @param stride distance of the rows of values, in elements
 * @param table  filled by ff_bliinds_gamma_table(), or NULL to sum the bands only
 */
void ff_bliinds_add_row(const BLIINDSDSPContext *dsp, BLIINDSLevelSums *sums,
                        const BLIINDSLevelBlocks *blocks, int y,
                        float *value, ptrdiff_t stride, const float *table);

/**
 * Pool a statistic over the 10 % of blocks of worst quality.
 *
 * These have the smallest shapes of gamma, or the largest values of another statistic. Threads may
 * pool different statistics of a level at the same time.
 *
 * @param sums   pooled10 of the statistic is added to
 * @param blocks values in 0..2^19; those of the statistic may be overwritten
 */
void ff_bliinds_pool10(const BLIINDSDSPContext *dsp, BLIINDSLevelSums *sums,
                       const BLIINDSLevelBlocks *blocks, enum BLIINDSStatistic statistic);

#endif /* AVFILTER_BLIINDS_DSP_H */
