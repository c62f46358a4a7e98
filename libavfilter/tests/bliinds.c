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
 * Tests of the arithmetic of BLIINDS: the table of the generalised Gaussian and its look-up, corner
 * cases that pictures seldom contain, the 10 % percentile pooling, and the built-in model.
 *
 * Usage: bliinds [path of models/vmaf1_est5.txt]
 */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/avassert.h"
#include "libavutil/mem.h"

#include "libavfilter/bliinds.h"
#include "libavfilter/bliinds_dsp.h"
#include "bliinds_pool.h"

/// Upper bound of rho: for 24 coefficients, 24^2 / (2 * 23) = 12.52...
#define MAX_RHO 12.53f

/// Check the table of rho against known values of the gamma function.
static void test_table(const float *table)
{
    static const struct { double g, rho; } known[] = {
        // rho = (n - 1)! (3n - 1)! / (2n - 1)!^2 for 1 / g = n
        { 1, 2 }, { .5, 10. / 3 }, { .25, 66. / 7 }, { .1, 70035. / 323 },
        { .04, 2252125794878. / 4060189 },
        { 2, M_PI / 2 },
        { 4, M_SQRT2 },                         // G(1/4) G(3/4) = pi sqrt(2)
        // G(5/2) = 3/4 sqrt(pi), G(15/2) = 135135/128 sqrt(pi)
        { .4, 0.75 * 135135 / 128 * M_PI / (24 * 24) },
        // values of the authors' release
        { .03, 4.3413417e7 }, { 10, 1.3503759 },
    };

    for (int j = 1; j < BLIINDS_GAMMA_NB; j++)
        CHECK(table[j] < table[j - 1], "rho does not fall at entry %d\n", j);
    for (int i = 0; i < FF_ARRAY_ELEMS(known); i++) {
        const double rho = table[lrint(known[i].g * 1000) - BLIINDS_GAMMA_MIN];

        CHECK(fabs(rho / known[i].rho - 1) < 1e-7, "rho(%g) is %.9g, not %.9g\n", known[i].g, rho,
              known[i].rho);
    }
    printf("table: %d shapes from 0.030 to %.3f\n", BLIINDS_GAMMA_NB,
           bliinds_gamma_value(BLIINDS_GAMMA_NB - 2) / 1000. + .001);
}

/// Check the definition of gamma for every float that rho can be.
static void test_gamma(const float *table)
{
    static const float none[] = { 0, FLT_MIN, 1, 4.f / 3, 1.35f };
    const float first = nextafterf(table[BLIINDS_GAMMA_NB - 1], INFINITY);
    int wrong = 0;

    for (float rho = first; rho <= MAX_RHO; rho = nextafterf(rho, INFINITY)) {
        int j = bliinds_gamma(table, rho);

        wrong += j < 0 || j > BLIINDS_GAMMA_NB - 2 || !(table[j + 1] < rho && rho <= table[j]);
    }
    CHECK(!wrong, "%d values of rho get another shape than the table's\n", wrong);
    for (int i = 0; i < FF_ARRAY_ELEMS(none); i++)
        CHECK(bliinds_gamma(table, none[i]) == BLIINDS_GAMMA_NONE,
              "rho %g has a shape\n", none[i]);
    CHECK(bliinds_gamma(table, table[BLIINDS_GAMMA_NB - 1]) == BLIINDS_GAMMA_NONE,
          "the last rho of the table has a shape\n");
    CHECK(bliinds_gamma(table, NAN) == BLIINDS_GAMMA_NONE, "no number has a shape\n");
    CHECK(bliinds_gamma_value(0) == 30 && bliinds_gamma_value(BLIINDS_GAMMA_NB - 2) == 9999 &&
          bliinds_gamma_value(BLIINDS_GAMMA_NONE) == 11000, "shapes have other values\n");
    printf("gamma: every rho from %.7f to %.2f\n", first, MAX_RHO);
}

/// Check corner cases of block statistics, low-pass filter and sums.
static void test_corner_cases(void)
{
    // a single coefficient, in the middle band: the energy subband ratio is clipped
    static const float row[5] = { 0, 0, 0, 371.7480345f, -601.5009550f };
    BLIINDSSum sum = { 0 };
    BLIINDSBlock block;
    float rows[5][5], terms[5][5];

    for (int y = 0; y < 5; y++)
        memcpy(rows[y], row, sizeof(row));
    bliinds_dct5_columns(terms, (const float (*)[5])rows);
    bliinds_block(&block, (const float (*)[5])terms);
    CHECK(block.sub == 32767, "a huge ratio is %g\n", block.sub);

    // a set with one nonzero coefficient of 16 rounding units, and one of slightly more
    CHECK(bliinds_set_variation(0x1p-34f, 0x1p-17f) == 0, "noise has a variation\n");
    CHECK(bliinds_set_variation(0x1.000004p-34f, 0x1.000002p-17f) > 2, "no variation is left\n");

    // the taps are 2^24 times 0.106506978919200 and 0.786986042161605, rounded to nearest
    CHECK(bliinds_lowpass(1 << 24, 0, 0) == 1786891 && bliinds_lowpass(0, 0, 1 << 24) == 1786891 &&
          bliinds_lowpass(0, 1 << 24, 0) == 13203434 && bliinds_lowpass(255, 255, 255) == 255 &&
          bliinds_lowpass(4, 0, 0) == 0 && bliinds_lowpass(5, 0, 0) == 1 &&
          bliinds_lowpass(-4, 0, 0) == 0 && bliinds_lowpass(0, 0, -5) == -1,
          "the low-pass filter has other taps\n");

    for (int i = 0; i < 8192; i++)
        bliinds_sum_add(&sum, bliinds_fixed(i * .25f));
    CHECK(sum.integer + sum.fraction * 0x1p-32 == 8191 * 8192 / 8, "the sum is not exact\n");
    CHECK(bliinds_fixed(0x1p-32f) == 1 && !bliinds_fixed(0x1p-33f), "no 32.32 number\n");

    printf("sums: ok\n");
}

/// Compare the 10 % percentile pooling with a sort.
static void test_pool10(const BLIINDSDSPContext *dsp, AVLFG *lfg, int n, int statistic,
                        unsigned kind)
{
    float *value = av_calloc(2 * n + BLIINDS_VECTOR + BLIINDS_SELECT_SIZE(n), sizeof(*value));
    BLIINDSLevelBlocks blocks = { .w = n, .h = 1 };
    BLIINDSLevelSums sums = { 0 };
    const BLIINDSSum *got = &sums.pooled[statistic].pooled10;
    float *copy = value + n + BLIINDS_VECTOR;
    BLIINDSSum wanted;

    av_assert0(value);
    blocks.statistic[statistic] = value;
    if (statistic != BLIINDS_GAMMA)
        blocks.selection[statistic] = copy + n;
    make_values(lfg, value, n, statistic, kind);
    for (int i = 0; i < BLIINDS_VECTOR; i++)
        value[n + i] = -1;
    memcpy(copy, value, n * sizeof(*value));
    wanted = sorted_pool10(copy, n, statistic);
    ff_bliinds_pool10(dsp, &sums, &blocks, statistic);
    CHECK(same_sum(*got, wanted),
          "statistic %d, kind %u, %d blocks: %"PRIu64", not %"PRIu64"\n", statistic, kind, n,
          got->integer, wanted.integer);
    av_free(value);
}

/// Test pooling on random statistics of levels of many sizes.
static void test_pool(const BLIINDSDSPContext *dsp)
{
    AVLFG lfg;

    av_lfg_init(&lfg, 1);
    for (int i = 0; i < 10000; i++) {
        const int n = 1 + av_lfg_get(&lfg) % (i % 100 ? 300 : 100000);

        for (int k = i & 1; k < BLIINDS_NB_STATISTICS; k += 2)
            test_pool10(dsp, &lfg, n, k, av_lfg_get(&lfg) >> 4);
    }
    // number of blocks of a 16384x5500 frame, with the largest sum
    test_pool10(dsp, &lfg, 10000000, BLIINDS_SUB, 0);
    printf("worst blocks: ok\n");
}

/// Check that the built-in model equals the file, and that bitstream models need no statistics.
static void test_model(const char *path)
{
    static BLIINDSModel built_in[BLIINDS_NB_MODELS], file[BLIINDS_NB_MODELS];

    av_assert0(ff_bliinds_model_load(file, NULL, path) >= 0 &&
               ff_bliinds_model_load(built_in, NULL, file[BLIINDS_PIXELS].name) >= 0);
    // the struct has no padding
    CHECK(!memcmp(built_in, file, sizeof(built_in)), "the built-in model is not '%s'\n", path);
    for (int i = BLIINDS_BITSTREAM; i < BLIINDS_NB_MODELS; i++)
        CHECK(!ff_bliinds_model_needs_statistics(&built_in[i]),
              "the model of basis %d takes the time of all statistics\n", i);
    printf("model: %s\n", built_in[BLIINDS_PIXELS].name);
}

int main(int argc, char **argv)
{
    static float table[BLIINDS_GAMMA_NB];
    BLIINDSDSPContext dsp;

    ff_bliinds_dsp_init(&dsp);
    ff_bliinds_gamma_table(table);

    test_table(table);
    test_gamma(table);
    test_corner_cases();
    test_pool(&dsp);
    if (argc > 1)
        test_model(argv[1]);
    return failed;
}
