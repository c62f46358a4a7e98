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

#include <math.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/intfloat.h"
#include "libavutil/macros.h"

#include "bliinds_dsp.h"

#define EXPAND_ROW(bits)                                                        \
static void expand_row ## bits(int32_t *dst, const uint8_t *src8, int w,        \
                               int down, int black, int up)                     \
{                                                                               \
    const uint ## bits ## _t *src = (const uint ## bits ## _t *)src8;           \
    /* bits beyond the depth, which no valid frame has, would overflow */       \
    const int mask = (1 << (BLIINDS_FRAC_BITS + 8 - up)) - 1;                   \
                                                                                \
    for (int x = 0; x < w; x++)                                                 \
        dst[x] = ((src[x] >> down & mask) - black) * (1 << up);                 \
}

EXPAND_ROW(8)
EXPAND_ROW(16)

static void lowpass_row(int32_t *dst, const int32_t *above, const int32_t *middle,
                        const int32_t *below, int w)
{
    int32_t left = bliinds_lowpass(above[0], middle[0], below[0]);

    for (int x = 0; x < w / 2; x++) {
        int i = 2 * x + 1;
        int32_t mid   = bliinds_lowpass(above[i],     middle[i],     below[i]);
        int32_t right = bliinds_lowpass(above[i + 1], middle[i + 1], below[i + 1]);

        dst[x] = bliinds_lowpass(left, mid, right);
        left   = right;
    }
}

static av_always_inline void basis_part(float *restrict dst, ptrdiff_t stride,
                                        const int32_t *restrict line, int nb_blocks,
                                        float (*part)(int32_t))
{
    for (int b = 0; b < nb_blocks; b++) {
        const int32_t *x = line + BLIINDS_STEP * b;
        float t[5];

        bliinds_basis(t, part(x[0]), part(x[1]), part(x[2]), part(x[3]), part(x[4]));
        for (int k = 0; k < 5; k++)
            dst[k * stride + b] = t[k];
    }
}

static void basis_row(float *high, float *low, ptrdiff_t stride,
                      const int32_t *line, int nb_blocks)
{
    basis_part(high, stride, line, nb_blocks, bliinds_high);
    if (low)
        basis_part(low, stride, line, nb_blocks, bliinds_low);
}

static av_always_inline void load_block(float dst[5][5], const float *const src[5],
                                        ptrdiff_t stride, int b)
{
    for (int y = 0; y < 5; y++)
        for (int k = 0; k < 5; k++)
            dst[y][k] = src[y][k * stride + b];
}

static av_always_inline void blocks(float *restrict dst, const float *const high[5],
                                    const float *const low[5], ptrdiff_t stride,
                                    int nb_blocks, int has_low)
{
    for (int b = 0; b < nb_blocks; b++) {
        BLIINDSBlock block;
        float rows[5][5], terms[5][5], low_terms[5][5];

        load_block(rows, high, stride, b);
        bliinds_columns(terms, (const float (*)[5])rows);
        if (has_low) {
            load_block(rows, low, stride, b);
            bliinds_columns(low_terms, (const float (*)[5])rows);
            for (int i = 0; i < 5; i++)
                for (int k = 0; k < 5; k++)
                    terms[i][k] += low_terms[i][k];
        }
        bliinds_block(&block, (const float (*)[5])terms);

        dst[BLIINDS_ROW_ZETA   * stride + b] = block.zeta;
        dst[BLIINDS_ROW_RHO    * stride + b] = block.rho;
        dst[BLIINDS_ROW_SUB    * stride + b] = block.sub;
        dst[BLIINDS_ROW_ORI    * stride + b] = block.ori;
        for (int i = 0; i < 3; i++)
            dst[(BLIINDS_ROW_BAND + i) * stride + b] = block.band[i];
    }
}

static void block_row(float *dst, const float *const high[5],
                      const float *const low[5], ptrdiff_t stride, int nb_blocks)
{
    if (low)
        blocks(dst, high, low, stride, nb_blocks, 1);
    else
        blocks(dst, high, NULL, stride, nb_blocks, 0);
}

av_cold void ff_bliinds_dsp_init(BLIINDSDSPContext *dsp)
{
    dsp->expand_row8  = expand_row8;
    dsp->expand_row16 = expand_row16;
    dsp->lowpass_row  = lowpass_row;
    dsp->basis_row    = basis_row;
    dsp->block_row    = block_row;
}

// ---- sums over the blocks of a level ----

void ff_bliinds_gamma_table(float table[BLIINDS_GAMMA_NB])
{
    for (int j = 0; j < BLIINDS_GAMMA_NB; j++) {
        double g = (BLIINDS_GAMMA_MIN + j) / 1000.;

        table[j] = exp(lgamma(1 / g) + lgamma(3 / g) - 2 * lgamma(2 / g));
    }
}

void ff_bliinds_add_row(BLIINDSLevelSums *sums, const BLIINDSBlocks *blocks, int y,
                        const float *value, ptrdiff_t stride, const float *table)
{
    const float *row[BLIINDS_NB_STATISTICS] = {
        [BLIINDS_ZETA] = value + BLIINDS_ROW_ZETA * stride,
        [BLIINDS_SUB]  = value + BLIINDS_ROW_SUB  * stride,
        [BLIINDS_ORI]  = value + BLIINDS_ROW_ORI  * stride,
    };
    const float *rho  = value + BLIINDS_ROW_RHO  * stride;
    const float *band = value + BLIINDS_ROW_BAND * stride;
    const ptrdiff_t first = y * (ptrdiff_t)blocks->w;
    uint16_t *gamma = blocks->gamma + first;
    uint64_t sum_statistic[2][BLIINDS_NB_STATISTICS] = { 0 };
    uint64_t sum_band[2][3] = { 0 };

    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        memcpy(blocks->statistic[i] + first, row[i], blocks->w * sizeof(*row[i]));

    for (int x = 0; x < blocks->w; x++) {
        int c = bliinds_straddles(y) || bliinds_straddles(x);

        gamma[x] = bliinds_gamma(table, rho[x]);
        sums->grid[c].gamma += bliinds_gamma_value(gamma[x]);
        sums->grid[c].nb_blocks++;
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
            sum_statistic[c][i] += bliinds_fixed(row[i][x]);
        for (int i = 0; i < 3; i++)
            sum_band[c][i] += bliinds_fixed(band[i * stride + x]);
    }

    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
            bliinds_sum_add(&sums->grid[c].statistic[i], sum_statistic[c][i]);
        for (int i = 0; i < 3; i++)
            bliinds_sum_add(&sums->grid[c].band[i], sum_band[c][i]);
    }
}

void ff_bliinds_add_largest(BLIINDSSum *dst, float *value, int n, int k)
{
    static const struct { int shift, bits; } digit[] = { { 21, 11 }, { 10, 11 }, { 0, 10 } };
    uint64_t fixed;

    for (int d = 0; d < FF_ARRAY_ELEMS(digit); d++) {
        const unsigned mask = (1 << digit[d].bits) - 1;
        unsigned count[1 << 11] = { 0 }, bin = mask;
        int nb_equal = 0;

        for (int i = 0; i < n; i++)
            count[av_float2int(value[i]) >> digit[d].shift & mask]++;
        while (count[bin] < k)
            k -= count[bin--];

        // what is above that digit is in, what has it is looked at further
        for (int i = 0; i < n; i++) {
            unsigned v = av_float2int(value[i]) >> digit[d].shift & mask;

            if (v > bin)
                bliinds_sum_add(dst, bliinds_fixed(value[i]));
            else if (v == bin)
                value[nb_equal++] = value[i];
        }
        n = nb_equal;
    }

    fixed = bliinds_fixed(value[0]);
    dst->whole    += k * (fixed >> 32);
    dst->fraction += k * (fixed & UINT32_MAX);
}

void ff_bliinds_add_smallest_gamma(BLIINDSLevelSums *sums, const uint16_t *gamma,
                                   int n, int k)
{
    unsigned count[BLIINDS_GAMMA_NB] = { 0 };

    for (int i = 0; i < n; i++)
        count[gamma[i]]++;
    sums->nb_flat = count[BLIINDS_GAMMA_NONE];
    for (int j = 0; k > 0; j++) {
        int nb = FFMIN(k, count[j]);

        sums->worst_gamma += (uint64_t)nb * bliinds_gamma_value(j);
        k -= nb;
    }
}
