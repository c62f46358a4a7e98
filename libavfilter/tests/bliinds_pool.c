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
 * The choice of the worst 10 % of the blocks, of made-up statistics, against a
 * sort; and the bins by which the GPU chooses them.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/mem.h"

#include "libavfilter/bliinds_pool.h"
#include "bliinds_pool.h"

#define NB_CASES 10000

static int failed;

#define CHECK(condition, ...) do {              \
    if (!(condition)) {                         \
        fprintf(stderr, __VA_ARGS__);           \
        failed = 1;                             \
    }                                           \
} while (0)

/// Bins follow each other without a gap, have their first value and no other's.
static void test_bins(int statistic)
{
    const uint32_t last = bliinds_bits(BLIINDS_SUB_MAX);

    for (int bin = 0; bin < BLIINDS_BINS; bin++) {
        const uint32_t start = bliinds_bin_start(statistic, bin);
        const uint32_t end   = bliinds_bin_start(statistic, bin + 1);
        uint32_t step = 1;

        CHECK(start < end, "statistic %d: bin %d is empty\n", statistic, bin);
        if (!bliinds_bin_is_open(bin))
            CHECK(start >> BLIINDS_BIN_BITS == (end - 1) >> BLIINDS_BIN_BITS,
                  "statistic %d: bin %d has %08"PRIx32" to %08"PRIx32"\n",
                  statistic, bin, start, end - 1);
        // the ends one by one, the rest in steps that meet all kinds of lower bits
        for (uint32_t bits = start; bits < end && bits <= last; bits += step) {
            int got = bliinds_bin(bliinds_from_bits(bits), statistic);

            CHECK(got == bin, "statistic %d: %08"PRIx32" is in bin %d, not %d\n",
                  statistic, bits, got, bin);
            step = bits - start < 4 || end - bits < 1024 ? 1 : end - bits < 2000 ? 7 : 997;
        }
    }
}

static void test_choice(AVLFG *lfg, int n, int statistic, int kind)
{
    float *value = av_malloc_array(n, 2 * sizeof(*value));
    BLIINDSSum got = { 0 }, wanted;

    if (!value) {
        failed = 1;
        return;
    }
    make_values(lfg, value, n, statistic, kind);
    memcpy(value + n, value, n * sizeof(*value));
    wanted = sorted_worst(value + n, n);
    ff_bliinds_add_largest(&got, value, n, bliinds_nb_worst(n));
    CHECK(got.whole == wanted.whole && got.fraction == wanted.fraction,
          "statistic %d, %s, %d blocks: %"PRIu64" + %"PRIu64" / 2^32, not %"PRIu64" + %"PRIu64"\n",
          statistic, kind_name[kind], n, got.whole, got.fraction, wanted.whole, wanted.fraction);
    av_free(value);
}

static void test_gamma(AVLFG *lfg, int n)
{
    uint16_t *gamma = av_malloc_array(n, sizeof(*gamma));
    BLIINDSLevelSums sums = { 0 };
    uint64_t nb_flat = 0;

    if (!gamma) {
        failed = 1;
        return;
    }
    make_gammas(lfg, gamma, n);
    for (int i = 0; i < n; i++)
        nb_flat += gamma[i] == BLIINDS_GAMMA_NONE;
    ff_bliinds_add_smallest_gamma(&sums, gamma, n, bliinds_nb_worst(n));
    CHECK(sums.worst_gamma == sorted_worst_gamma(gamma, n) && sums.nb_flat == nb_flat,
          "gamma, %d blocks: %"PRIu64", %"PRIu64" flat\n", n, sums.worst_gamma, sums.nb_flat);
    av_free(gamma);
}

int main(void)
{
    AVLFG lfg;

    av_lfg_init(&lfg, 1);
    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        test_bins(i);
    for (int i = 0; i < NB_CASES; i++) {
        const int n = 1 + av_lfg_get(&lfg) % (i % 100 ? 300 : 50000);

        test_choice(&lfg, n, i % BLIINDS_NB_STATISTICS, i / 3 % FF_ARRAY_ELEMS(kind_name));
        test_gamma(&lfg, n);
    }
    // as many as a frame of 16384x5500 has, with the largest sum
    test_choice(&lfg, 10000000, BLIINDS_SUB, 8);
    if (!failed)
        printf("all as by a sort\n");
    return failed;
}
