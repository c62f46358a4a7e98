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
 * Made-up statistics of blocks, for tests of how they are pooled: what pictures
 * seldom have, as ties at the threshold of the worst 10 %, and values at the ends
 * of bins.
 */

#ifndef AVFILTER_TESTS_BLIINDS_POOL_H
#define AVFILTER_TESTS_BLIINDS_POOL_H

#include <stdint.h>
#include <stdlib.h>

#include "libavutil/lfg.h"
#include "libavutil/macros.h"

#include "libavfilter/bliinds_sums.h"

/// Limits of the statistics, see BLIINDSBlock; that of ori is far beyond what is possible.
static const float max_statistic[BLIINDS_NB_STATISTICS] = { 4.9f, BLIINDS_SUB_MAX, 64.f };

static const char *const kind_name[] = {
    "any", "equal", "but one", "zero", "one edge", "edges", "ties", "one bin",
    "largest", "smallest", "rising", "falling", "near 1", "few", "zero and one bin",
    "threshold", "threshold", "threshold", "threshold", "misleading sample",
};

static float limited(float x, int statistic)
{
    return x < max_statistic[statistic] ? x : max_statistic[statistic];
}

/// Any float from 0 to the limit, each of its exponents as likely as another.
static float any_value(AVLFG *lfg, int statistic)
{
    return bliinds_from_bits(av_lfg_get(lfg) %
                             (bliinds_bits(max_statistic[statistic]) + 1));
}

/// The first value of a bin, or the one before or after it.
static float edge_value(AVLFG *lfg, int statistic, int bin)
{
    const uint32_t start = bliinds_bin_start(statistic, bin);

    return limited(bliinds_from_bits(start ? start + av_lfg_get(lfg) % 3 - 1 : 0), statistic);
}

static float value_in_bin(AVLFG *lfg, int statistic, int bin)
{
    const uint32_t start = bliinds_bin_start(statistic, bin);

    return limited(bliinds_from_bits(start + av_lfg_get(lfg) %
                                     (bliinds_bin_start(statistic, bin + 1) - start)), statistic);
}

/// Values such that the worst end in a bin, of which most are its first and its last ones.
static float threshold_value(AVLFG *lfg, int statistic, int bin)
{
    const uint32_t start = bliinds_bin_start(statistic, bin);
    const uint32_t end   = bliinds_bin_start(statistic, bin + 1);
    const unsigned place = av_lfg_get(lfg) % 32;
    uint32_t bits;

    if (place < 1)
        return edge_value(lfg, statistic, bin + 1 + av_lfg_get(lfg) % (BLIINDS_BINS - 1 - bin));
    if (place > 10)
        return edge_value(lfg, statistic, av_lfg_get(lfg) % bin);
    bits = place < 5 ? start + place % 2 : place < 9 ? end - 1 - place % 2 :
           start + av_lfg_get(lfg) % (end - start);
    return limited(bliinds_from_bits(bits), statistic);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/// Fill n values of a statistic.
static void make_values(AVLFG *lfg, float *value, int n, int statistic, int kind)
{
    const int bin = 1 + av_lfg_get(lfg) % (BLIINDS_BINS - 2);
    const int k = bliinds_nb_worst(n), nb_few = 1 + av_lfg_get(lfg) % 20;
    const float one = kind == 1 || kind == 2 ? edge_value(lfg, statistic, bin)
                                             : any_value(lfg, statistic);
    // those beyond the tie: one too few, as many as are wanted, or one too many
    const int nb_more = k - 1 + av_lfg_get(lfg) % 3, nb_edges = BLIINDS_BINS - 1;
    const uint32_t max = bliinds_bits(max_statistic[statistic]);

    for (int i = 0; i < n; i++)
        switch (kind) {
        default: value[i] = any_value(lfg, statistic); break;
        case 1:
        case 2:  value[i] = one; break;
        case 3:  value[i] = 0; break;
        case 4:  value[i] = edge_value(lfg, statistic, bin); break;
        case 5:  value[i] = edge_value(lfg, statistic, 1 + av_lfg_get(lfg) % nb_edges); break;
        case 6:  value[i] = i < nb_more ? limited(one * 2 + 1, statistic) : one; break;
        case 7:  value[i] = value_in_bin(lfg, statistic, bin); break;
        case 8:  value[i] = bliinds_from_bits(max - av_lfg_get(lfg) % 3); break;
        case 9:  value[i] = bliinds_from_bits(av_lfg_get(lfg) % 4); break;
        case 12:
            value[i] = limited(1.f + ((int)(av_lfg_get(lfg) % 64) - 48) * 0x1p-24f, statistic);
            break;
        case 13:
            value[i] = edge_value(lfg, statistic, 1 + bin * (i % nb_few + 1) % nb_edges);
            break;
        case 14: value[i] = av_lfg_get(lfg) % 20 ? 0 : value_in_bin(lfg, statistic, bin); break;
        case 15:
        case 16:
        case 17:
        case 18: value[i] = threshold_value(lfg, statistic, bin); break;
        // as many at equal distances as ff_bliinds_add_largest() looks at, and those before them
        case 19: value[i] = i % FFMAX(n / 4096, 1) < 2 ? one : any_value(lfg, statistic); break;
        }
    if (kind == 2)
        value[av_lfg_get(lfg) % n] = any_value(lfg, statistic);
    if (kind == 10 || kind == 11)
        qsort(value, n, sizeof(*value), compare_floats);
    for (int i = 0; i < n / 2 && kind == 11; i++)
        FFSWAP(float, value[i], value[n - 1 - i]);
}

/// Fill n indices of gamma.
static void make_gammas(AVLFG *lfg, uint16_t *gamma, int n)
{
    const int kind = av_lfg_get(lfg) % 5, one = av_lfg_get(lfg) % BLIINDS_GAMMA_NB;

    for (int i = 0; i < n; i++)
        switch (kind) {
        default: gamma[i] = av_lfg_get(lfg) % BLIINDS_GAMMA_NB; break;
        case 1:  gamma[i] = one; break;
        case 2:  gamma[i] = av_lfg_get(lfg) % 8 ? BLIINDS_GAMMA_NONE : one; break;
        case 3:  gamma[i] = (one + av_lfg_get(lfg) % 33) % BLIINDS_GAMMA_NB; break;
        case 4:  gamma[i] = BLIINDS_GAMMA_NONE; break;
        }
}

static int same_sum(BLIINDSSum a, BLIINDSSum b)
{
    return a.whole + (a.fraction >> 32) == b.whole + (b.fraction >> 32) &&
           (uint32_t)a.fraction == (uint32_t)b.fraction;
}

/// What the worst of n values add up to, by a sort, which overwrites them.
static BLIINDSSum sorted_worst(float *value, int n)
{
    BLIINDSSum sum = { 0 };

    qsort(value, n, sizeof(*value), compare_floats);
    for (int i = n - bliinds_nb_worst(n); i < n; i++)
        bliinds_sum_add(&sum, bliinds_fixed(value[i]));
    return sum;
}

static int compare_gammas(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static uint64_t sorted_worst_gamma(uint16_t *gamma, int n)
{
    uint64_t sum = 0;

    qsort(gamma, n, sizeof(*gamma), compare_gammas);
    for (int i = 0; i < bliinds_nb_worst(n); i++)
        sum += bliinds_gamma_value(gamma[i]);
    return sum;
}

#endif /* AVFILTER_TESTS_BLIINDS_POOL_H */
