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

enum {
    ANY, EQUAL, BUT_ONE, ZERO, EDGES, TIES, ONE_BIN, LARGEST, SMALLEST, RISING, FALLING,
    NEAR_1, FEW, ZERO_AND_BIN, THRESHOLD, MISLEADING_SAMPLE, NB_KINDS
};

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

/// Values such that the worst end in a bin, of which most are its first and its last ones.
static float threshold_value(AVLFG *lfg, float start, int statistic)
{
    const unsigned place = av_lfg_get(lfg) % 32, inside = av_lfg_get(lfg) % (1 << 18);
    float x = start;

    if (place < 1)
        x *= 2;
    else if (place > 10)
        x *= av_lfg_get(lfg) % 1024 / 1024.f;
    else if (place > 4)
        x = av_int2float(av_float2int(start) + (place < 9 ? (1 << 18) - 1 : inside));
    return beside(lfg, x, statistic);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/// Fill n shapes of gamma.
static void make_shapes(AVLFG *lfg, float *value, int n, int kind)
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

/// Fill n values of a statistic.
static void make_values(AVLFG *lfg, float *value, int n, int statistic, int kind)
{
    // those beyond the tie: one too few, as many as are wanted, or one too many
    const int nb_more = bliinds_nb_worst(n) - 1 + av_lfg_get(lfg) % 3;
    float one, start, few[20];

    if (statistic == BLIINDS_GAMMA) {
        make_shapes(lfg, value, n, kind);
        return;
    }
    start = bin_start(lfg, statistic);
    one   = kind == EQUAL || kind == BUT_ONE ? beside(lfg, start, statistic)
                                             : any_value(lfg, statistic);
    for (int i = 0; i < FF_ARRAY_ELEMS(few); i++)
        few[i] = beside(lfg, bin_start(lfg, statistic), statistic);
    for (int i = 0; i < n; i++) {
        const float in_bin = limited(av_int2float(av_float2int(start) +
                                                  av_lfg_get(lfg) % (1 << 18)), statistic);

        switch (kind) {
        default:        value[i] = any_value(lfg, statistic); break;
        case EQUAL:
        case BUT_ONE:   value[i] = one; break;
        case ZERO:      value[i] = 0; break;
        case EDGES:     value[i] = beside(lfg, bin_start(lfg, statistic), statistic); break;
        case TIES:      value[i] = i < nb_more ? limited(one * 2 + 1, statistic) : one; break;
        case ONE_BIN:   value[i] = in_bin; break;
        case LARGEST:   value[i] = beside(lfg, max_statistic[statistic], statistic); break;
        case SMALLEST:  value[i] = av_int2float(av_lfg_get(lfg) % 4); break;
        case NEAR_1:    value[i] = 1.f + ((int)(av_lfg_get(lfg) % 64) - 48) * 0x1p-24f; break;
        case FEW:       value[i] = few[av_lfg_get(lfg) % FF_ARRAY_ELEMS(few)]; break;
        case ZERO_AND_BIN: value[i] = av_lfg_get(lfg) % 20 ? 0 : in_bin; break;
        case THRESHOLD: value[i] = threshold_value(lfg, start, statistic); break;
        // as many at equal distances as add_largest_of_many() looks at, and those before them
        case MISLEADING_SAMPLE:
            value[i] = i % FFMAX(n / 4096, 1) < 2 ? one : any_value(lfg, statistic);
            break;
        }
    }
    if (kind == BUT_ONE)
        value[av_lfg_get(lfg) % n] = any_value(lfg, statistic);
    if (kind == RISING || kind == FALLING)
        qsort(value, n, sizeof(*value), compare_floats);
    for (int i = 0; i < n / 2 && kind == FALLING; i++)
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
