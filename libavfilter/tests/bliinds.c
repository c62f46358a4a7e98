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
 * Tests of what the BLIINDS-II filters compute: the table of shapes, the search in it,
 * the level images, the statistics of each block, the worst of them, and the
 * built-in model. Usage: bliinds [FILE...], for maps of tests/oracle, see README.md
 * there, and texts of models.
 */

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avassert.h"
#include "libavutil/mem.h"

#include "libavfilter/bliinds.h"
#include "libavfilter/bliinds_dsp.h"
#include "bliinds_pool.h"

/// The largest rho of 24 numbers is 24^2 / (2 * 23) = 12.52..
#define MAX_RHO 12.53f

static int failed;

#define CHECK(condition, ...) do {              \
    if (!(condition)) {                         \
        fprintf(stderr, __VA_ARGS__);           \
        failed = 1;                             \
    }                                           \
} while (0)

static void *alloc(size_t nb, size_t size)
{
    void *memory = av_calloc(nb, size);

    av_assert0(memory);
    return memory;
}

/// Where the gamma functions of rho(g) are known: 1 / g = n.
static double rho_of_inverse(int n)
{
    double rho = 1;

    // (n - 1)! (3n - 1)! / (2n - 1)!^2
    for (int i = n; i < 2 * n; i++)
        rho *= (double)(i + n) / i;
    return rho;
}

static void check_rho(const float *table, double g, double expected)
{
    const double rho = table[lrint(g * 1000) - BLIINDS_GAMMA_MIN];

    CHECK(fabs(rho / expected - 1) < 1e-7, "rho(%g) is %.9g, not %.9g\n", g, rho, expected);
}

static void test_table(const float *table)
{
    static const int inverse[] = { 1, 2, 4, 5, 8, 10, 20, 25 };
    const struct { double g, rho; } known[] = {
        { 2,  M_PI / 2 },
        { 4,  M_SQRT2 },                        // by G(1/4) G(3/4) = pi sqrt(2)
        // by G(5/2) = 3/4 sqrt(pi), G(15/2) = 135135/128 sqrt(pi)
        { .4, 0.75 * 135135 / 128 * M_PI / (24 * 24) },
        // the release's
        { .03, 4.3413417e7 }, { 10, 1.3503759 },
    };

    for (int j = 1; j < BLIINDS_GAMMA_NB; j++)
        CHECK(table[j] < table[j - 1], "rho does not fall at entry %d\n", j);
    for (int i = 0; i < FF_ARRAY_ELEMS(inverse); i++)
        check_rho(table, 1. / inverse[i], rho_of_inverse(inverse[i]));
    for (int i = 0; i < FF_ARRAY_ELEMS(known); i++)
        check_rho(table, known[i].g, known[i].rho);
    printf("table: %d shapes from 0.030 to %.3f\n", BLIINDS_GAMMA_NB,
           bliinds_gamma_value(BLIINDS_GAMMA_NB - 2) / 1000. + .001);
}

/// The definition of gamma holds for every float that can occur.
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

/// Sums of a level that has nb blocks of a class, whose bands' variances are all v.
static BLIINDSLevelSums make_sums(int class, uint64_t nb, double v)
{
    const double whole = floor(nb * v);
    BLIINDSLevelSums sums = { 0 };

    sums.grid[class].nb_blocks = nb;
    for (int b = 0; b < 3; b++)
        sums.grid[class].band[b] = (BLIINDSSum){ whole, (nb * v - whole) * 0x1p32 };
    return sums;
}

/// Blocks of both classes count.
static void test_classes(void)
{
    BLIINDSLevelSums sums[BLIINDS_LEVELS], straddling = make_sums(1, 300, 5);
    double both[BLIINDS_FEATURE_CODED], all[BLIINDS_FEATURE_CODED];

    for (int l = 0; l < BLIINDS_LEVELS; l++)
        sums[l] = make_sums(1, 400, 4);
    ff_bliinds_features(all, sums);
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        sums[l] = make_sums(0, 100, 1);
        sums[l].grid[1] = straddling.grid[1];
    }
    ff_bliinds_features(both, sums);
    for (int i = BLIINDS_FEATURE_BAND; i < BLIINDS_FEATURE_PHASE; i++)
        CHECK(both[i] == all[i], "%s of blocks of both classes is %f\n",
              ff_bliinds_feature_name[i], both[i]);
}

static void test_small_ones(void)
{
    // a single coefficient, of the middle band: its ratio to nothing has no bound
    static const float row[5] = { 0, 0, 0, 371.7480345f, -601.5009550f };
    BLIINDSSum sum = { 0 };
    BLIINDSBlock block;
    float rows[5][5], terms[5][5];

    for (int y = 0; y < 5; y++)
        memcpy(rows[y], row, sizeof(row));
    bliinds_columns(terms, (const float (*)[5])rows);
    bliinds_block(&block, (const float (*)[5])terms);
    CHECK(block.sub == 32767, "a huge ratio is %g\n", block.sub);

    // one magnitude of a set alone, of 16 rounding units or a little more
    CHECK(bliinds_set_variation(0x1p-34f, 0x1p-17f) == 0, "noise has a variation\n");
    CHECK(bliinds_set_variation(0x1.000004p-34f, 0x1.000002p-17f) > 2, "no variation is left\n");

    // 2^24 times 0.106506978919200 and 0.786986042161605, and what is rounded to nearest
    CHECK(bliinds_lowpass(1 << 24, 0, 0) == 1786891 && bliinds_lowpass(0, 0, 1 << 24) == 1786891 &&
          bliinds_lowpass(0, 1 << 24, 0) == 13203434 && bliinds_lowpass(255, 255, 255) == 255 &&
          bliinds_lowpass(4, 0, 0) == 0 && bliinds_lowpass(5, 0, 0) == 1 &&
          bliinds_lowpass(-4, 0, 0) == 0 && bliinds_lowpass(0, 0, -5) == -1,
          "the low-pass filter has other taps\n");

    for (int i = 0; i < 8192; i++)
        bliinds_sum_add(&sum, bliinds_fixed(i * .25f));
    CHECK(sum.whole + sum.fraction * 0x1p-32 == 8191 * 8192 / 8, "the sum is not exact\n");
    CHECK(bliinds_fixed(0x1p-32f) == 1 && !bliinds_fixed(0x1p-33f), "no 32.32 number\n");

    for (int b = 0, nb_clear = 0; b < 100; b++) {
        int straddles = 0;

        CHECK(bliinds_nb_clear(b) == nb_clear, "%d of %d blocks are clear, and not %d\n",
              nb_clear, b, bliinds_nb_clear(b));
        for (int x = 3 * b; x <= 3 * b + 3; x++)
            straddles |= x % 8 == 0;
        CHECK(bliinds_straddles(b) == straddles, "block %d straddles the grid, or not\n", b);
        nb_clear += !straddles;
    }
    for (int n = 1; n < 1000; n++) {
        CHECK(bliinds_nb_blocks(n) == n / 3 + !!(n % 3),   "blocks of %d samples\n", n);
        CHECK(bliinds_nb_worst(n)  == n / 10 + !!(n % 10), "worst of %d blocks\n", n);
    }
    printf("sums, grid, counts: ok\n");
}

/// Level 1 is in units of 2^-21 of an 8-bit step, whatever the depth.
static void test_expand(const BLIINDSDSPContext *dsp)
{
    static const struct { int depth, shift; } format[] = {
        { 8, 0 }, { 9, 0 }, { 10, 0 }, { 12, 0 }, { 14, 0 }, { 16, 0 }, { 10, 6 }, { 12, 4 },
    };

    for (int f = 0; f < FF_ARRAY_ELEMS(format); f++) {
        const int depth = format[f].depth, black = 16 << (depth - 8);

        for (int value = 0; value < 1 << depth; value++) {
            const uint8_t  src8  = value;
            const uint16_t src16 = value << format[f].shift;
            int32_t got;

            (depth > 8 ? dsp->expand_row16 : dsp->expand_row8)
                (&got, depth > 8 ? (const uint8_t *)&src16 : &src8, 1, format[f].shift, black,
                 BLIINDS_FRAC_BITS - (depth - 8));
            CHECK(got == ldexp(value - black, 21 + 8 - depth), "%d of %d bits is %d\n",
                  value, depth, got);
        }
    }
}

/// The integer step is exact for level samples of any depth.
static void test_basis(const BLIINDSDSPContext *dsp)
{
    AVLFG lfg;

    av_lfg_init(&lfg, 1);
    for (int i = 0; i < 100000; i++) {
        float high[5], low[5];
        int32_t x[5];

        for (int j = 0; j < 5; j++)
            x[j] = i & 1 ? av_lfg_get(&lfg) >> 3 : (int)(av_lfg_get(&lfg) >> 3) - (1 << 28);
        dsp->basis_row(high, low, 1, x, 1);
        for (int k = 0; k < 5; k++) {
            static const int8_t factor[5][5] = {
                { 1, 1, 1, 1, 1 }, { 1, 1, -4, 1, 1 }, { 1, -1, 0, -1, 1 },
                { 1, 0, 0, 0, -1 }, { 0, 1, 0, -1, 0 },
            };
            const double got = ldexp(high[k] + (double)low[k], BLIINDS_FRAC_BITS);
            int64_t expected = 0;

            for (int j = 0; j < 5; j++)
                expected += factor[k][j] * (int64_t)x[j];
            CHECK(got == expected, "term %d is %.0f and not %"PRId64"\n", k, got, expected);
        }
    }
}

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

static void test_largest(const BLIINDSDSPContext *dsp, AVLFG *lfg, int n, int statistic, int kind)
{
    float *value = alloc(2 * n + BLIINDS_NB_CANDIDATES(n), sizeof(*value));
    BLIINDSSum got = { 0 }, wanted;

    make_values(lfg, value, n, statistic, kind);
    memcpy(value + n, value, n * sizeof(*value));
    wanted = sorted_worst(value + n, n);
    ff_bliinds_add_largest(dsp, &got, value, n, bliinds_nb_worst(n), value + 2 * n);
    CHECK(same_sum(got, wanted),
          "statistic %d, %s, %d blocks: %"PRIu64" + %"PRIu64" / 2^32, not %"PRIu64" + %"PRIu64"\n",
          statistic, kind_name[kind], n, got.whole, got.fraction, wanted.whole, wanted.fraction);
    av_free(value);
}

static void test_smallest_gamma(AVLFG *lfg, int n)
{
    uint16_t *gamma = alloc(n, sizeof(*gamma));
    BLIINDSLevelSums sums = { 0 };

    make_gammas(lfg, gamma, n);
    ff_bliinds_add_smallest_gamma(&sums, gamma, n, bliinds_nb_worst(n));
    CHECK(sums.worst_gamma == sorted_worst_gamma(gamma, n),
          "gamma, %d blocks: %"PRIu64"\n", n, sums.worst_gamma);
    av_free(gamma);
}

/// The choice of the worst blocks is as by a sort.
static void test_pool(const BLIINDSDSPContext *dsp)
{
    AVLFG lfg;

    av_lfg_init(&lfg, 1);
    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        test_bins(i);
    for (int i = 0; i < 10000; i++) {
        const int n = 1 + av_lfg_get(&lfg) % (i % 100 ? 300 : 100000);

        test_largest(dsp, &lfg, n, i % BLIINDS_NB_STATISTICS, i / 3 % FF_ARRAY_ELEMS(kind_name));
        test_smallest_gamma(&lfg, n);
    }
    // as many as a frame of 16384x5500 has, with the largest sum
    test_largest(dsp, &lfg, 10000000, BLIINDS_SUB, 8);
    printf("worst blocks: ok\n");
}

/// A built-in model is what its text says.
static void test_model(const char *path)
{
    static BLIINDSModel table[BLIINDS_NB_BASES], text[BLIINDS_NB_BASES];

    if (ff_bliinds_model_read(text, NULL, path) < 0 ||
        ff_bliinds_model_load(table, NULL, text[BLIINDS_PIXELS].name) < 0) {
        failed = 1;
        return;
    }
#define SAME(field) (!memcmp(&table[i].field, &text[i].field, sizeof(text[i].field)))
    for (int i = 0; i < BLIINDS_NB_BASES; i++) {
        const int same = SAME(name) && SAME(weight) && SAME(constant) && SAME(logistic) &&
                         SAME(higher_is_better) && SAME(min) && SAME(max) && SAME(step) &&
                         SAME(sigma) && SAME(sigma_weight) && SAME(sigma_p80);

        CHECK(same, "the table of model %d is not what '%s' says\n", i, path);
    }
    printf("model: %s\n", table[BLIINDS_PIXELS].name);
}

typedef struct Map {
    int h, w;
    double *value;
} Map;

/// The next map of the file, which is the one that is asked for.
static int read_map(FILE *file, int level, const char *name, Map *map)
{
    char got[16];
    int n, l;

    if (fscanf(file, " L%d %15s %d %d", &l, got, &map->h, &map->w) != 4 ||
        l != level || strcmp(got, name) || map->h < 1 || map->w < 1)
        return -1;
    map->value = alloc(map->h, map->w * sizeof(*map->value));
    for (int y = 0; y < map->h; y += n) {
        double *row = map->value + y * map->w;

        if (fscanf(file, "%d", &n) != 1 || n < 1 || n > map->h - y)
            return -1;
        for (int x = 0; x < map->w; x++)
            if (fscanf(file, "%lf", &row[x]) != 1)
                return -1;
        for (int i = 1; i < n; i++)
            memcpy(row + i * map->w, row, map->w * sizeof(*row));
    }
    return 0;
}

typedef struct Image {
    int w, h;
    ptrdiff_t stride;
    int32_t *sample;        ///< with the samples around it that are 0
} Image;

#define AROUND 4            ///< more than a block or a filter reaches out

static int32_t *image_row(const Image *image, int y)
{
    return image->sample + (y + AROUND) * image->stride + AROUND;
}

static void alloc_image(Image *image, int w, int h)
{
    image->w = w;
    image->h = h;
    image->stride = w + 2 * AROUND;
    image->sample = alloc(h + 2 * AROUND, image->stride * sizeof(*image->sample));
}

/// Level 1, whose map has whole numbers.
static void fill_image(Image *image, const Map *map)
{
    alloc_image(image, map->w, map->h);
    for (int y = 0; y < map->h; y++)
        for (int x = 0; x < map->w; x++)
            image_row(image, y)[x] = lrint(map->value[y * map->w + x]) *
                                     (1 << BLIINDS_FRAC_BITS);
}

static void halve(const BLIINDSDSPContext *dsp, const Image *src, Image *dst)
{
    alloc_image(dst, src->w / 2, src->h / 2);
    for (int y = 0; y < dst->h; y++)
        dsp->lowpass_row(image_row(dst, y), image_row(src, 2 * y),
                         image_row(src, 2 * y + 1), image_row(src, 2 * y + 2), src->w);
}

/// Largest difference, relative where values are above 1.
static double max_difference(const Map *map, const float *value)
{
    double max = 0;

    for (int i = 0; i < map->w * map->h; i++)
        max = FFMAX(max, fabs(value[i] - map->value[i]) / FFMAX(1, map->value[i]));
    return max;
}

enum { ZETA, GAMMA, SUB, ORI1, ORI2, ORI3, NB_MAPS };

static int test_blocks(const BLIINDSDSPContext *dsp, const float *table,
                       const Image *image, int level, const Map map[NB_MAPS])
{
    const int bw = bliinds_nb_blocks(image->w), bh = bliinds_nb_blocks(image->h);
    const int n  = bw * bh;
    float *basis = alloc(2 * 5 * 5 + BLIINDS_NB_ROWS + 3, bw * sizeof(*basis));
    float *value = alloc(BLIINDS_NB_ROWS, n * sizeof(*value));
    const float *high[5], *low[5];
    float *row = basis + 2 * 5 * 5 * bw, *band = row + BLIINDS_NB_ROWS * bw;
    double zeta, sub, ori = 0;
    int steps = 0;

    for (int i = 0; i < NB_MAPS; i++)
        if (map[i].w != bw || map[i].h != bh)
            return -1;
    for (int by = 0; by < bh; by++) {
        for (int y = 0; y < 5; y++) {
            float *h = basis + y * 5 * bw, *l = h + 5 * 5 * bw;

            dsp->basis_row(h, l, bw, image_row(image, 3 * by + y - 1) - 1, bw);
            high[y] = h;
            low[y]  = l;
        }
        dsp->block_row(row, high, level > 1 ? low : NULL, bw, bw);
        dsp->band_row(band, high, level > 1 ? low : NULL, bw, bw);
        CHECK(!memcmp(row + BLIINDS_ROW_BAND * bw, band, 3 * bw * sizeof(*band)),
              "the bands alone are others in row %d of level %d\n", by, level);
        for (int i = 0; i < BLIINDS_NB_ROWS; i++)
            memcpy(value + i * n + by * bw, row + i * bw, bw * sizeof(*row));
    }

    zeta = max_difference(&map[ZETA], value + (BLIINDS_ROW_STATISTIC + BLIINDS_ZETA) * n);
    sub  = max_difference(&map[SUB],  value + (BLIINDS_ROW_STATISTIC + BLIINDS_SUB) * n);
    for (int i = 0; i < n; i++) {
        double f[3] = { map[ORI1].value[i], map[ORI2].value[i], map[ORI3].value[i] };
        double mean = (f[0] + f[1] + f[2]) / 3, var = 0;
        int gamma = bliinds_gamma_value(bliinds_gamma(table, value[BLIINDS_ROW_RHO * n + i]));
        int step  = abs(gamma - (int)lrint(map[GAMMA].value[i] * 1000));

        for (int j = 0; j < 3; j++)
            var += (f[j] - mean) * (f[j] - mean) / 2;
        ori = FFMAX(ori, fabs(value[(BLIINDS_ROW_STATISTIC + BLIINDS_ORI) * n + i] - var));
        CHECK(step <= 1, "block %d of level %d: gamma is %d and not %f\n",
              i, level, gamma, map[GAMMA].value[i]);
        steps += step;
    }
    fprintf(stderr, "level %d: zeta %.2g sub %.2g ori %.2g gamma %d\n",
            level, zeta, sub, ori, steps);
    /* Some rounding units of single precision, 2^-23; more for sub, which has
     * a variance in its divisor that may be a small difference. A shape is that
     * close to an end of its 0.001 wide interval once in some thousand blocks. */
    CHECK(zeta < 1e-6, "zeta differs by %g\n", zeta);
    CHECK(sub  < 5e-6, "sub differs by %g\n",  sub);
    CHECK(ori  < 1e-6, "ori differs by %g\n",  ori);
    CHECK(steps <= 1 + n / 500, "gamma differs in %d blocks\n", steps);

    av_free(value);
    av_free(basis);
    return 0;
}

static int test_picture(const BLIINDSDSPContext *dsp, const float *table, const char *path)
{
    static const char *const name[NB_MAPS] = {
        "zeta", "gamma", "subband", "ori1", "ori2", "ori3",
    };
    const char *base = strrchr(path, '/');
    Image image, half;
    FILE *file = fopen(path, "r");

    if (!file)
        return -1;
    for (int level = 1; level <= BLIINDS_LEVELS; level++) {
        Map map[NB_MAPS] = { 0 }, pixels;
        double max = 0;

        if (read_map(file, level, "image", &pixels) < 0)
            return -1;
        if (level == 1) {
            fill_image(&image, &pixels);
        } else {
            halve(dsp, &image, &half);
            av_free(image.sample);
            image = half;
        }
        if (pixels.w != image.w || pixels.h != image.h)
            return -1;
        for (int y = 0; y < image.h; y++)
            for (int x = 0; x < image.w; x++)
                max = FFMAX(max, fabs(image_row(&image, y)[x] * 0x1p-21 -
                                      pixels.value[y * image.w + x]));
        fprintf(stderr, "level %d: samples %.2g\n", level, max);
        /* The outer taps are within 2^-25 of the Gaussian's and meet up to
         * 2 * 255 in each of two directions; 2^-22 is rounded off in each. */
        CHECK(max <= (level - 1) * (4 * 255 * 0x1p-25 + 0x1p-21), "samples differ by %g\n", max);

        for (int i = 0; i < NB_MAPS; i++)
            if (read_map(file, level, name[i], &map[i]) < 0)
                return -1;
        if (test_blocks(dsp, table, &image, level, map) < 0)
            return -1;
        for (int i = 0; i < NB_MAPS; i++)
            av_free(map[i].value);
        av_free(pixels.value);
        printf("%s level %d: %dx%d samples, %d blocks\n", base ? base + 1 : path,
               level, image.w, image.h, bliinds_nb_blocks(image.w) * bliinds_nb_blocks(image.h));
    }
    av_free(image.sample);
    fclose(file);
    return 0;
}

int main(int argc, char **argv)
{
    static float table[BLIINDS_GAMMA_NB];
    BLIINDSDSPContext dsp;

    ff_bliinds_dsp_init(&dsp);
    ff_bliinds_gamma_table(table);

    test_table(table);
    test_gamma(table);
    test_classes();
    test_small_ones();
    test_expand(&dsp);
    test_basis(&dsp);
    test_pool(&dsp);
    for (int i = 1; i < argc; i++)
        if (strstr(argv[i], "/models/"))
            test_model(argv[i]);
        else
            CHECK(!test_picture(&dsp, table, argv[i]), "'%s' cannot be read, or is not "
                  "of the form that README.md says\n", argv[i]);
    return failed;
}
