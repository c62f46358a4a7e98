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

#include "libavutil/intfloat.h"
#include "libavutil/macros.h"

#include "bliinds_pool.h"

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
