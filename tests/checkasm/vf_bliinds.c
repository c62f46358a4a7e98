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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkasm.h"
#include "libavfilter/bliinds_block.h"
#include "libavfilter/bliinds_dsp.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH  259
#define MAX_BLOCKS ((MAX_WIDTH + BLIINDS_STEP - 1) / BLIINDS_STEP)
#define STRIDE     (MAX_BLOCKS + 5)
/// Row of samples with the ones before and after it.
#define LINE       (1 + BLIINDS_STEP * MAX_BLOCKS + 3)
/// What a function must leave alone.
#define GUARD      0x5a5a5a5a

static const int widths[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33,
    63, 64, 65, 96, 127, 130, 255, 256, MAX_WIDTH,
};

/// Pictures: value of a sample of the given number of bits.
enum { RANDOM, FLAT, BRIGHT, ROWS, COLUMNS, SUM, CHECKER, DOT, FAINT, NB_CONTENTS };

/**
 * A difference from what a function should compute, rather than from the C
 * version: fail() ignores it before FFmpeg 9.0 while there is only that one.
 */
static void wrong(const char *name, int content, int w, int i, double got, double expected)
{
    fprintf(stderr, "%s: content %d, width %d, index %d: %.9g and not %.9g\n",
            name, content, w, i, got, expected);
    fail();
    exit(1);
}

static int content_value(int content, int bits, int x, int y)
{
    const int max = (1 << bits) - 1;

    switch (content) {
    case FLAT:    return max / 3;
    case BRIGHT:  return max;
    case ROWS:    return y * 37 & max;
    case COLUMNS: return x * 11 & max;
    case SUM:     return (x * x % 7 + y * 5 % 9) * (max >> 4);
    case CHECKER: return (x ^ y) & 2 ? max : 0;
    case DOT:     return x % 13 == 6 && y == 3 ? max : 0;
    case FAINT:   return max / 2 + (rnd() & 1);
    default:      return rnd() & max;
    }
}

static void check_expand(const BLIINDSDSPContext *dsp, int bytes)
{
    static const struct { int depth, shift; } format[] = {
        { 8, 0 }, { 9, 0 }, { 10, 0 }, { 12, 0 }, { 14, 0 }, { 16, 0 }, { 10, 6 }, { 12, 4 },
    };
    LOCAL_ALIGNED_32(uint16_t, src16, [MAX_WIDTH]);
    LOCAL_ALIGNED_32(int32_t,  dst0,  [MAX_WIDTH + 1]);
    LOCAL_ALIGNED_32(int32_t,  dst1,  [MAX_WIDTH + 1]);
    uint8_t *src8 = (uint8_t *)src16;

    declare_func(void, int32_t *dst, const uint8_t *src, int w, int down, int black, int up);

    if (!check_func(bytes == 1 ? dsp->expand_row8 : dsp->expand_row16,
                    "bliinds_expand_row%d", 8 * bytes))
        return;
    for (int f = 0; f < FF_ARRAY_ELEMS(format); f++) {
        const int depth = format[f].depth, down = format[f].shift;
        const int up    = BLIINDS_FRAC_BITS - (depth - 8);

        if ((depth > 8) != (bytes > 1))
            continue;
        for (int i = 0; i < FF_ARRAY_ELEMS(widths); i++) {
            const int w = widths[i], black = i & 1 ? 16 << (depth - 8) : 0;

            for (int x = 0; x < w; x++) {
                int value = content_value(i % 3 ? RANDOM : BRIGHT, depth, x, 0);

                if (bytes == 1)
                    src8[x] = value;
                else
                    src16[x] = value << down;
            }
            for (int x = 0; x <= w; x++)
                dst0[x] = dst1[x] = GUARD;
            call_ref(dst0, src8, w, down, black, up);
            call_new(dst1, src8, w, down, black, up);
            if (memcmp(dst0, dst1, (w + 1) * sizeof(*dst0)) || dst1[w] != GUARD)
                fail();
            // in units of 2^-21 of an 8-bit step
            for (int x = 0; x < w; x++) {
                int value = bytes == 1 ? src8[x] : src16[x] >> down;
                double expected = ldexp(value - black, 21 + 8 - depth);

                if (dst0[x] != expected)
                    wrong("expand", i % 3 ? RANDOM : BRIGHT, w, x, dst0[x], expected);
            }
        }
    }
    for (int x = 0; x < MAX_WIDTH; x++)
        src16[x] = rnd();
    bench_new(dst1, src8, 256, 0, 0, bytes == 1 ? 21 : 13);
}

/// A row of level samples; 0 beyond its ends.
static void fill_line(int32_t *line, int w, int y, int content, int bits)
{
    for (int x = 0; x < LINE; x++)
        line[x] = x < 1 || x > w ? 0 :
                  content_value(content, bits, x - 1, y) * (1 << (BLIINDS_FRAC_BITS + 8 - bits));
}

static void check_lowpass(const BLIINDSDSPContext *dsp)
{
    const double side = 0.106506978919200, mid = 0.786986042161605;
    // the outer taps' rounding to 2^-24 meets up to 2 * 255 in two directions,
    // and each direction rounds its result to an integer
    const double tolerance = 4 * 255 * 0x1p-25 * (1 << BLIINDS_FRAC_BITS) + 1;
    LOCAL_ALIGNED_32(int32_t, src,  [3], [LINE]);
    LOCAL_ALIGNED_32(int32_t, dst0, [MAX_WIDTH]);
    LOCAL_ALIGNED_32(int32_t, dst1, [MAX_WIDTH]);

    declare_func(void, int32_t *dst, const int32_t *above, const int32_t *middle,
                 const int32_t *below, int w);

    if (!check_func(dsp->lowpass_row, "bliinds_lowpass_row"))
        return;
    for (int content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < FF_ARRAY_ELEMS(widths); i++) {
            const int w = widths[i];

            for (int y = 0; y < 3; y++)
                fill_line(src[y], w, y, content, content == RANDOM ? 22 : 8);
            if (i & 1) // the last row may be outside of the picture
                memset(src[2], 0, sizeof(src[2]));
            for (int x = 0; x <= w / 2; x++)
                dst0[x] = dst1[x] = GUARD;
            call_ref(dst0, src[0] + 1, src[1] + 1, src[2] + 1, w);
            call_new(dst1, src[0] + 1, src[1] + 1, src[2] + 1, w);
            if (memcmp(dst0, dst1, (w / 2 + 1) * sizeof(*dst0)) || dst1[w / 2] != GUARD)
                fail();
            for (int x = 0; x < w / 2; x++) {
                double f[3], expected;

                for (int j = 0; j < 3; j++)
                    f[j] = side * ((double)src[0][2 * x + 1 + j] + src[2][2 * x + 1 + j]) +
                           mid * src[1][2 * x + 1 + j];
                expected = side * (f[0] + f[2]) + mid * f[1];
                if (fabs(expected - dst0[x]) > tolerance)
                    wrong("lowpass", content, w, x, dst0[x], expected);
                // flat stays flat, where nothing is outside
                if (content == FLAT && !(i & 1) && 2 * x + 2 < w && dst0[x] != src[1][1])
                    wrong("lowpass", content, w, x, dst0[x], src[1][1]);
            }
        }
    }
    fill_line(src[0], MAX_WIDTH, 0, RANDOM, 8);
    bench_new(dst1, src[0] + 1, src[0] + 1, src[0] + 1, 256);
}

static void check_basis(const BLIINDSDSPContext *dsp)
{
    LOCAL_ALIGNED_32(int32_t, line,  [LINE]);
    LOCAL_ALIGNED_32(float,   high0, [5 * STRIDE]);
    LOCAL_ALIGNED_32(float,   high1, [5 * STRIDE]);
    LOCAL_ALIGNED_32(float,   low0,  [5 * STRIDE]);
    LOCAL_ALIGNED_32(float,   low1,  [5 * STRIDE]);

    declare_func(void, float *high, float *low, ptrdiff_t stride,
                 const int32_t *line, int nb_blocks);

    if (!check_func(dsp->basis_row, "bliinds_basis_row"))
        return;
    for (int content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < FF_ARRAY_ELEMS(widths); i++) {
            const int w = widths[i], nb = (w + 2) / 3, has_low = i & 1;

            // up to 16 bits have no low part
            fill_line(line, w, 3, content, has_low ? 27 : 16);
            for (int x = 0; x < 5 * STRIDE; x++)
                high0[x] = high1[x] = low0[x] = low1[x] = GUARD;
            call_ref(high0, has_low ? low0 : NULL, STRIDE, line, nb);
            call_new(high1, has_low ? low1 : NULL, STRIDE, line, nb);
            for (int k = 0; k < 5; k++) {
                const int n = nb + 1; // and one beyond

                if (memcmp(high0 + k * STRIDE, high1 + k * STRIDE, n * sizeof(*high0)) ||
                    memcmp(low0  + k * STRIDE, low1  + k * STRIDE, n * sizeof(*low0)) ||
                    high1[k * STRIDE + nb] != GUARD || low1[k * STRIDE + nb] != GUARD)
                    fail();
            }
            // the integer step is exact
            for (int b = 0; b < nb; b++) {
                const int32_t *x = line + 3 * b;
                const int64_t expected[5] = {
                    (int64_t)x[0] + x[1] + x[2] + x[3] + x[4],
                    (int64_t)x[0] + x[1] - 4 * (int64_t)x[2] + x[3] + x[4],
                    (int64_t)x[0] - x[1] - x[3] + x[4],
                    (int64_t)x[0] - x[4],
                    (int64_t)x[1] - x[3],
                };

                for (int k = 0; k < 5; k++) {
                    double got = high0[k * STRIDE + b];

                    if (has_low)
                        got += low0[k * STRIDE + b];
                    got *= 1 << BLIINDS_FRAC_BITS;
                    if (got != expected[k])
                        wrong("basis", content, w, b, got, expected[k]);
                }
            }
        }
    }
    fill_line(line, MAX_WIDTH, 3, RANDOM, 27);
    bench_new(high1, low1, STRIDE, line, 85);
}

/// Sums of a set of coefficients, and how far off single precision may be.
typedef struct Set {
    int n;
    double sum, sum_abs, sum_sq;
    double error;               ///< of each coefficient
} Set;

static void add_coefficient(Set *set, double x)
{
    set->n++;
    set->sum     += x;
    set->sum_abs += fabs(x);
    set->sum_sq  += x * x;
}

static double variance(const Set *set, double sum)
{
    return FFMAX((set->sum_sq - sum * sum / set->n) / (set->n - 1), 0);
}

/// A variance is the difference of two sums: its error is that of the larger one.
static double variance_error(const Set *set)
{
    return (2 * set->error * set->sum_abs + 1e-6 * set->sum_sq) / (set->n - 1);
}

static double variation(const Set *set, double *error)
{
    double mean = set->sum_abs / set->n + 1e-7;
    double var  = variance(set, set->sum_abs), e = variance_error(set);
    double f    = sqrt(var) / mean;

    *error = (sqrt(var + e) - sqrt(FFMAX(var - e, 0))) / mean +
             f * (set->error / mean + 1e-6);
    return f;
}

/// Ratio |a - b| / (c + d) of variances.
static double ratio(double a, double b, double c, double error, double *sum_error)
{
    double r = fabs(a - b) / c;

    *sum_error += error * (1 + r) / c + 1e-6 * r;
    return r;
}

/**
 * A block by the formulas of the paper and its authors' release, from the
 * samples.
 *
 * @param error what single precision may be off by: the coefficients by some
 *              rounding units of the largest, and all that follows from it
 * @return whether all values are well defined: no oriented set is next to
 *         where it is taken as rounding noise
 */
static int block_reference(double value[BLIINDS_NB_ROWS], double error[BLIINDS_NB_ROWS],
                           const double block[5][5])
{
    static const uint8_t band[5][5] = {
        { 0, 1, 1, 2, 2 }, { 1, 1, 2, 2, 2 }, { 1, 2, 2, 2, 3 }, { 2, 2, 2, 3, 3 }, { 2, 2, 3, 3, 3 },
    };
    static const uint8_t orientation[5][5] = {
        { 0, 1, 1, 1, 1 }, { 3, 2, 1, 1, 1 }, { 3, 3, 2, 2, 1 }, { 3, 3, 2, 2, 2 }, { 3, 3, 3, 2, 2 },
    };
    const double noise = 16 * 0x1p-21;
    Set all = { 0 }, bands[4] = { 0 }, sets[4] = { 0 };
    double dct[5][5], x[5][5], v[4], e[4], f[4], f_error[4], mean_f;
    double max = 0, dev = 0, m, c;
    int defined = 1;

    for (int k = 0; k < 5; k++)
        for (int n = 0; n < 5; n++)
            dct[k][n] = sqrt((k ? 2 : 1) / 5.) * cos(M_PI * k * (2 * n + 1) / 10);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            x[i][j] = 0;
            for (int r = 0; r < 5; r++)
                for (int s = 0; s < 5; s++)
                    x[i][j] += dct[i][r] * block[r][s] * dct[j][s];
            if (i || j)
                max = FFMAX(max, fabs(x[i][j]));
        }
    }
    for (int i = 0; i < 5; i++) {
        for (int j = !i; j < 5; j++) {
            add_coefficient(&all, x[i][j]);
            add_coefficient(&bands[band[i][j]], x[i][j]);
            add_coefficient(&sets[orientation[i][j]], x[i][j]);
        }
    }
    all.error = 5e-7 * max;
    for (int i = 1; i < 4; i++)
        bands[i].error = sets[i].error = all.error;

    value[BLIINDS_ROW_ZETA] = variation(&all, &error[BLIINDS_ROW_ZETA]);

    m = all.sum / 24;
    for (int i = 0; i < 5; i++)
        for (int j = !i; j < 5; j++)
            dev += fabs(x[i][j] - m) / 24;
    c = dev * dev + 1e-7;
    value[BLIINDS_ROW_RHO] = variance(&all, all.sum) / c;
    error[BLIINDS_ROW_RHO] = variance_error(&all) / c +
                             value[BLIINDS_ROW_RHO] * (4 * dev * all.error / c + 1e-6);

    for (int i = 1; i < 4; i++) {
        v[i] = variance(&bands[i], bands[i].sum);
        e[i] = variance_error(&bands[i]);
        value[BLIINDS_ROW_BAND + i - 1] = v[i];
        error[BLIINDS_ROW_BAND + i - 1] = e[i];
    }
    error[BLIINDS_ROW_SUB] = 0;
    m = (v[1] + v[2]) / 2;
    value[BLIINDS_ROW_SUB] = (ratio(v[3], m, v[3] + m + 1e-8, e[1] + e[2] + e[3],
                                    &error[BLIINDS_ROW_SUB]) +
                              ratio(v[2], v[1], v[3] + v[1] + 1e-8, e[1] + e[2] + e[3],
                                    &error[BLIINDS_ROW_SUB])) / 2;

    for (int i = 1; i < 4; i++) {
        f[i] = variation(&sets[i], &f_error[i]);
        // sums next to where they are taken as noise may go either way
        if (fabs(sets[i].sum_abs - noise) < 8 * sets[i].error)
            defined = 0;
        if (sets[i].sum_abs <= noise)
            f[i] = f_error[i] = 0;
    }
    mean_f = (f[1] + f[2] + f[3]) / 3;
    value[BLIINDS_ROW_ORI] = error[BLIINDS_ROW_ORI] = 0;
    for (int i = 1; i < 4; i++) {
        double d = f[i] - mean_f;

        value[BLIINDS_ROW_ORI] += d * d / 2;
        error[BLIINDS_ROW_ORI] += 2 * fabs(d) * f_error[i] + f_error[i] * f_error[i] + 1e-6 * d * d;
    }

    return defined;
}

static void check_block(const BLIINDSDSPContext *dsp)
{
    LOCAL_ALIGNED_32(int32_t, line,  [5], [LINE]);
    LOCAL_ALIGNED_32(float,   basis, [10], [5 * STRIDE]);
    LOCAL_ALIGNED_32(float,   dst0,  [BLIINDS_NB_ROWS * STRIDE]);
    LOCAL_ALIGNED_32(float,   dst1,  [BLIINDS_NB_ROWS * STRIDE]);
    static const char *const name[BLIINDS_NB_ROWS] = {
        "zeta", "rho", "sub", "ori", "band 1", "band 2", "band 3",
    };
    const float *high[5], *low[5];

    declare_func(void, float *dst, const float *const high[5],
                 const float *const low[5], ptrdiff_t stride, int nb_blocks);

    for (int y = 0; y < 5; y++) {
        high[y] = basis[y];
        low[y]  = basis[y + 5];
    }
    if (!check_func(dsp->block_row, "bliinds_block_row"))
        return;
    for (int content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < FF_ARRAY_ELEMS(widths); i++) {
            static const int depth[] = { 8, 27, 10, 16, 21, 29 };
            const int w = widths[i], nb = (w + 2) / 3, bits = depth[i % 6];
            const int has_low = bits > 16;

            for (int y = 0; y < 5; y++) {
                fill_line(line[y], w, y, content, bits);
                if (i % 7 == 6 && y > 2) // the bottom of a picture
                    memset(line[y], 0, sizeof(line[y]));
                dsp->basis_row(basis[y], has_low ? basis[y + 5] : NULL, STRIDE, line[y], nb);
            }
            for (int x = 0; x < BLIINDS_NB_ROWS * STRIDE; x++)
                dst0[x] = dst1[x] = GUARD;
            call_ref(dst0, high, has_low ? low : NULL, STRIDE, nb);
            call_new(dst1, high, has_low ? low : NULL, STRIDE, nb);
            for (int r = 0; r < BLIINDS_NB_ROWS; r++)
                if (memcmp(dst0 + r * STRIDE, dst1 + r * STRIDE, (nb + 1) * sizeof(*dst0)) ||
                    dst1[r * STRIDE + nb] != GUARD)
                    fail();

            for (int b = 0; b < nb; b++) {
                double block[5][5], value[BLIINDS_NB_ROWS], error[BLIINDS_NB_ROWS];
                int defined;

                for (int y = 0; y < 5; y++)
                    for (int x = 0; x < 5; x++)
                        // the differences have the same AC, and none where all is flat
                        block[y][x] = ldexp((int64_t)line[y][3 * b + x] - line[2][3 * b + 2],
                                            -BLIINDS_FRAC_BITS);
                defined = block_reference(value, error, block);
                for (int r = 0; r < BLIINDS_NB_ROWS; r++) {
                    float got = dst0[r * STRIDE + b];

                    if (r == BLIINDS_ROW_ORI && !defined)
                        continue;
                    if (!(fabs(got - value[r]) <= error[r] + 1e-9))
                        wrong(name[r], content, w, b, got, value[r]);
                }
            }
        }
    }
    for (int y = 0; y < 5; y++) {
        fill_line(line[y], MAX_WIDTH, y, RANDOM, 27);
        dsp->basis_row(basis[y], basis[y + 5], STRIDE, line[y], MAX_BLOCKS);
    }
    bench_new(dst1, high, low, STRIDE, 85);
}

void checkasm_check_bliinds(void)
{
    BLIINDSDSPContext dsp;

    ff_bliinds_dsp_init(&dsp);

    check_expand(&dsp, 1);
    check_expand(&dsp, 2);
    report("expand");

    check_lowpass(&dsp);
    report("lowpass");

    check_basis(&dsp);
    report("basis");

    check_block(&dsp);
    report("block");
}
