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

#include <stdint.h>

#include <math.h>
#include <string.h>

#include "libavutil/intfloat.h"
#include "libavutil/macros.h"

#include "bliinds_dsp.h"
#include "bliinds_pool.h"

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
