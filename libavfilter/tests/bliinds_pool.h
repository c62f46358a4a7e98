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

#include "libavutil/intfloat.h"
#include "libavutil/lfg.h"
#include "libavutil/macros.h"

#include "libavfilter/bliinds_block.h"

/// Where values come from; see make_values().
enum { ANY, ONE, FEW, ZERO, EDGE, IN_BIN, LARGEST, SMALLEST, NEAR_1, NB_SOURCES };
enum { AS_DRAWN, TIES, MISLEADING_SAMPLE, RISING, FALLING, NB_ORDERS };

/// Limits of the statistics, see BLIINDSBlock; that of ori is far beyond what is possible.
static const float max_statistic[] = { 4.9f, BLIINDS_SUB_MAX, 64.f };

static float limited(float x, int statistic)
{
    return av_clipf(x, 0, max_statistic[statistic]);
}

/// Any float from 0 to the limit, each of its exponents as likely as another.
static float any_value(AVLFG *lfg, int statistic)
{
    return av_int2float(av_lfg_get(lfg) % (av_float2int(max_statistic[statistic]) + 1));
}

/// Lower end of a bin that is not the first: see bliinds_bin().
static float bin_start(AVLFG *lfg, int statistic)
{
    const unsigned first = av_float2int(1.f / 64) >> 18;
    const unsigned last  = av_float2int(max_statistic[statistic]) >> 18;

    if (statistic == BLIINDS_SUB && av_lfg_get(lfg) & 1)
        return 1 - av_int2float(av_float2int(.5f) - (av_lfg_get(lfg) % 160 << 19));
    return av_int2float((first + av_lfg_get(lfg) % (last - first + 1)) << 18);
}

/// A value, or one before or after it in the order of floats.
static float beside(AVLFG *lfg, float x, int statistic)
{
    return limited(av_int2float(av_float2int(x) + av_lfg_get(lfg) % 3 - 1), statistic);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/// A value of a source; few[0] is the start of the one bin.
static float make_value(AVLFG *lfg, const float few[20], int statistic, int source)
{
    const unsigned inside = av_lfg_get(lfg) % (1 << 18), place = av_lfg_get(lfg) % 4;

    switch (source) {
    case ONE:      return few[0];
    case FEW:      return few[av_lfg_get(lfg) % 20];
    case ZERO:     return 0;
    case EDGE:     return beside(lfg, bin_start(lfg, statistic), statistic);
    // most are the first and the last of the bin
    case IN_BIN:   return beside(lfg, av_int2float(av_float2int(few[0]) +
                                 (place > 1 ? inside : place ? (1 << 18) - 1 : 0)), statistic);
    case LARGEST:  return beside(lfg, max_statistic[statistic], statistic);
    case SMALLEST: return av_int2float(place);
    case NEAR_1:   return 1.f + ((int)(inside % 64) - 48) * 0x1p-24f;
    default:       return any_value(lfg, statistic);
    }
}

/// Fill n shapes of gamma.
static void make_shapes(AVLFG *lfg, float *value, int n, unsigned kind)
{
    const int one = av_lfg_get(lfg) % BLIINDS_GAMMA_NB;

    for (int i = 0; i < n; i++) {
        int index = BLIINDS_GAMMA_NONE;

        switch (kind % 5) {
        case 0: index = av_lfg_get(lfg) % BLIINDS_GAMMA_NB; break;
        case 1: index = one; break;
        case 2: index = av_lfg_get(lfg) % 8 ? index : one; break;
        case 3: index = (one + av_lfg_get(lfg) % 33) % BLIINDS_GAMMA_NB; break;
        }
        value[i] = bliinds_gamma_value(index);
    }
}

/// Fill n values of a statistic: of one source, some of another, in an order. Any number is a kind.
static void make_values(AVLFG *lfg, float *value, int n, int statistic, unsigned kind)
{
    const int often  = kind % NB_SOURCES, seldom = kind / NB_SOURCES % NB_SOURCES;
    const int one_in = (int[]){ 0, 2, 20, n }[kind >> 8 & 3], order = (kind >> 10) % NB_ORDERS;
    // those beyond the tie: one too few, as many as are wanted, or one too many
    const int nb_more = bliinds_nb_worst(n) - 1 + av_lfg_get(lfg) % 3;
    float few[20];

    if (statistic == BLIINDS_GAMMA) {
        make_shapes(lfg, value, n, kind);
        return;
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(few); i++)
        few[i] = bin_start(lfg, statistic);
    for (int i = 0; i < n; i++) {
        const int is_other = one_in && !(av_lfg_get(lfg) % one_in);

        value[i] = make_value(lfg, few, statistic, is_other ? seldom : often);
        if (order == TIES)
            value[i] = i < nb_more ? limited(few[0] * 2 + 1, statistic) : few[0];
        // as many at equal distances as add_largest_of_many() looks at, and those before them
        if (order == MISLEADING_SAMPLE && i % FFMAX(n / 4096, 1) < 2)
            value[i] = few[0];
    }
    if (order == RISING || order == FALLING)
        qsort(value, n, sizeof(*value), compare_floats);
    for (int i = 0; i < n / 2 && order == FALLING; i++)
        FFSWAP(float, value[i], value[n - 1 - i]);
}

static int same_sum(BLIINDSSum a, BLIINDSSum b)
{
    return a.whole + (a.fraction >> 32) == b.whole + (b.fraction >> 32) &&
           (uint32_t)a.fraction == (uint32_t)b.fraction;
}

/// What the worst of n values add up to, by a sort, which overwrites them.
static BLIINDSSum sorted_worst(float *value, int n, int statistic)
{
    const int k = bliinds_nb_worst(n), first = statistic == BLIINDS_GAMMA ? 0 : n - k;
    BLIINDSSum sum = { 0 };

    qsort(value, n, sizeof(*value), compare_floats);
    for (int i = first; i < first + k; i++)
        bliinds_sum_add(&sum, bliinds_fixed(value[i]));
    return sum;
}

#endif /* AVFILTER_TESTS_BLIINDS_POOL_H */
