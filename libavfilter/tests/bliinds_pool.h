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
 * Random statistics of blocks for tests of the pooling, with cases that pictures seldom contain:
 * ties at the threshold of the worst 10 % and values at the ends of histogram bins.
 */

#ifndef AVFILTER_TESTS_BLIINDS_POOL_H
#define AVFILTER_TESTS_BLIINDS_POOL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "libavutil/intfloat.h"
#include "libavutil/lfg.h"
#include "libavutil/macros.h"

#include "libavfilter/bliinds_block.h"

static int failed;

#define CHECK(condition, ...) do {              \
    if (!(condition)) {                         \
        fprintf(stderr, __VA_ARGS__);           \
        failed = 1;                             \
    }                                           \
} while (0)

/// Upper limits of the statistics, see BLIINDSBlock; the limit of ori is far above possible values.
static const float max_statistic[] = { 4.9f, BLIINDS_SUB_MAX, 64.f };

/// Return the lower end of a random bin other than the first, see bliinds_bin().
static float bin_start(AVLFG *lfg, int statistic)
{
    const unsigned first = av_float2int(1.f / 64) >> 18;
    const unsigned last  = av_float2int(max_statistic[statistic]) >> 18;

    if (statistic == BLIINDS_SUB && av_lfg_get(lfg) & 1)
        return 1 - av_int2float(av_float2int(.5f) - (av_lfg_get(lfg) % 160 << 19));
    return av_int2float((first + av_lfg_get(lfg) % (last - first + 1)) << 18);
}

/// Return a random value, often one that pooling may confuse with another.
static float special_value(AVLFG *lfg, int statistic)
{
    const unsigned any = av_lfg_get(lfg);

    if (statistic == BLIINDS_GAMMA)
        return bliinds_gamma_value(any >> 31 ? BLIINDS_GAMMA_NONE : any % BLIINDS_GAMMA_NB);
    switch (any >> 29) {
    case 0: return 0;
    case 1: return av_int2float(any % 4);
    case 2: return max_statistic[statistic];
    case 3: return 1 + ((int)(any % 64) - 48) * 0x1p-24f;
    // all exponents are equally likely
    case 4: return av_int2float(any % (av_float2int(max_statistic[statistic]) + 1));
    }
    return bin_start(lfg, statistic);
}

/// Return one of nb adjacent floats, starting at the predecessor of x, or a shape near x.
static float neighbour(AVLFG *lfg, float x, int statistic, unsigned nb)
{
    const unsigned any = av_lfg_get(lfg), next = av_float2int(x) + any % nb;
    const int shape    = x - BLIINDS_GAMMA_MIN + any % 33;

    if (statistic == BLIINDS_GAMMA)
        return bliinds_gamma_value(FFMIN(shape, BLIINDS_GAMMA_NONE));
    x = av_int2float(FFMAX(next, 1) - 1);
    return FFMIN(x, max_statistic[statistic]);
}

static int compare_floats(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const float *)a, *(const float *)b);
}

/**
 * Fill n values of a statistic with a random distribution.
 *
 * @param kind random bits that choose the distribution; 0 for n times the largest value
 */
static void make_values(AVLFG *lfg, float *value, int n, int statistic, unsigned kind)
{
    enum { AS_DRAWN, TIES, MISLEADING_SAMPLE, RISING, FALLING, NB_ORDERS };
    enum { NEVER, TO_NEIGHBOURS, IN_BIN, ALWAYS };
    // values are drawn from a few; in some kinds, mostly the first of them
    const int nb_palette = (int[]){ 1, 2, 20, 20 }[kind & 3], one_in = kind & 4 ? nb_palette : 50;
    const int changes = kind >> 3 & 3, order = (kind >> 5) % NB_ORDERS;
    // values beyond the tie: one less than pooled, as many, or one more
    const int nb_more = bliinds_nb_pooled10(n) - 1 + av_lfg_get(lfg) % 3;
    const float beyond = statistic == BLIINDS_GAMMA ? BLIINDS_GAMMA_MIN : max_statistic[statistic];
    float palette[20];

    for (int i = 0; i < FF_ARRAY_ELEMS(palette); i++)
        palette[i] = kind ? special_value(lfg, statistic) : beyond;
    for (int i = 0; i < n; i++) {
        const int one = av_lfg_get(lfg) % one_in;

        value[i] = palette[one < nb_palette ? one : 0];
        if (changes == ALWAYS)
            value[i] = special_value(lfg, statistic);
        else if (changes != NEVER)
            value[i] = neighbour(lfg, value[i], statistic,
                                 changes == IN_BIN && av_lfg_get(lfg) & 1 ? (1 << 18) + 2 : 3);
        if (order == TIES)
            value[i] = i < nb_more ? beyond : palette[0];
        // equal values at the positions that sum_k_largest_sampled() samples, and before them
        if (order == MISLEADING_SAMPLE && i % FFMAX(n / 4096, 1) < 2)
            value[i] = palette[0];
    }
    if (order == RISING || order == FALLING)
        qsort(value, n, sizeof(*value), compare_floats);
    for (int i = 0; i < n / 2 && order == FALLING; i++)
        FFSWAP(float, value[i], value[n - 1 - i]);
}

/// Return 1 if two sums are equal, however they are split into integer and fraction, else 0.
static int same_sum(BLIINDSSum a, BLIINDSSum b)
{
    return a.integer + (a.fraction >> 32) == b.integer + (b.fraction >> 32) &&
           (uint32_t)a.fraction == (uint32_t)b.fraction;
}

/// Return the sum of the worst 10 % of n values by a sort, which reorders them.
static BLIINDSSum sorted_pool10(float *value, int n, int statistic)
{
    const int k = bliinds_nb_pooled10(n), first = statistic == BLIINDS_GAMMA ? 0 : n - k;
    BLIINDSSum sum = { 0 };

    qsort(value, n, sizeof(*value), compare_floats);
    for (int i = first; i < first + k; i++)
        bliinds_sum_add(&sum, bliinds_fixed(value[i]));
    return sum;
}

#endif /* AVFILTER_TESTS_BLIINDS_POOL_H */
