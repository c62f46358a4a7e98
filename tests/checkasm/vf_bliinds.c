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
#include <string.h>

#include "checkasm.h"
#include "libavfilter/bliinds_block.h"
#include "libavfilter/bliinds_dsp.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH  259
#define MAX_BLOCKS 96
#define STRIDE     (MAX_BLOCKS + 5)
/// Row of samples with the one before, and what may be read or written behind it.
#define LINE       (1 + MAX_WIDTH + BLIINDS_ROW_PAD)
/// What a function must leave alone.
#define GUARD      0x5a

static const int widths[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33,
    63, 64, 65, 96, 127, 130, 255, 256, MAX_WIDTH,
};
/// Rows of blocks are whole vectors.
static const int nb_blocks[] = { 16, 32, 48, MAX_BLOCKS };

/// Pictures whose rows, and what is made of them, meet the corners of the arithmetic.
enum { RANDOM, FLAT, BRIGHT, ROWS, COLUMNS, SUM, CHECKER, DOT, FAINT, NB_CONTENTS };

/// Value of a sample of the given number of bits.
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

/// A row of level samples; 0 beyond its ends.
static void fill_line(int32_t *line, int w, int y, int content, int bits)
{
    for (int x = 0; x < LINE; x++)
        line[x] = x < 1 || x > w ? 0 :
                  content_value(content, bits, x - 1, y) * (1 << (BLIINDS_FRAC_BITS + 8 - bits));
}

/// The same in n elements of each row, and what is behind those that may be written is not.
static void compare(const void *dst0, const void *dst1, int nb_rows, int stride, int n, int end)
{
    static const uint8_t guard[4] = { GUARD, GUARD, GUARD, GUARD };
    const uint8_t *row0 = dst0, *row1 = dst1;

    for (int i = 0; i < nb_rows; i++, row0 += 4 * stride, row1 += 4 * stride)
        if (n && memcmp(row0, row1, 4 * n) || memcmp(row1 + 4 * end, guard, 4))
            checkasm_fail_func("row %d of %d with %d elements", i, nb_rows, n);
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
            memset(dst1, GUARD, 4 * (w + 1));
            call_ref(dst0, src8, w, down, black, up);
            call_new(dst1, src8, w, down, black, up);
            compare(dst0, dst1, 1, 0, w, w);
        }
    }
    for (int x = 0; x < MAX_WIDTH; x++)
        src16[x] = rnd();
    bench_new(dst1, src8, 256, 0, 0, bytes == 1 ? 21 : 13);
}

static void check_lowpass(const BLIINDSDSPContext *dsp)
{
    LOCAL_ALIGNED_32(int32_t, src,  [3], [LINE]);
    LOCAL_ALIGNED_32(int32_t, dst0, [LINE]);
    LOCAL_ALIGNED_32(int32_t, dst1, [LINE]);

    declare_func(void, int32_t *dst, const int32_t *above, const int32_t *middle,
                 const int32_t *below, int w);

    if (!check_func(dsp->lowpass_row, "bliinds_lowpass_row"))
        return;
    for (int content = 0; content < NB_CONTENTS; content++) {
        for (int i = 1; i < FF_ARRAY_ELEMS(widths); i++) {
            const int w = widths[i];

            for (int y = 0; y < 3; y++)
                fill_line(src[y], w, y, content, content == RANDOM ? 22 : 8);
            if (i & 1) // the last row may be outside of the picture
                memset(src[2], 0, sizeof(src[2]));
            memset(dst1, GUARD, 4 * LINE);
            call_ref(dst0, src[0] + 1, src[1] + 1, src[2] + 1, w);
            call_new(dst1, src[0] + 1, src[1] + 1, src[2] + 1, w);
            compare(dst0, dst1, 1, 0, w / 2, w / 2 + BLIINDS_ROW_PAD);
        }
    }
    bench_new(dst1, src[0] + 1, src[0] + 1, src[0] + 1, 256);
}

static void check_basis(const BLIINDSDSPContext *dsp)
{
    LOCAL_ALIGNED_32(int32_t, line,   [LINE]);
    LOCAL_ALIGNED_32(float,   basis0, [10 * STRIDE]);
    LOCAL_ALIGNED_32(float,   basis1, [10 * STRIDE]);

    declare_func(void, float *high, float *low, ptrdiff_t stride,
                 const int32_t *line, int nb_blocks);

    if (!check_func(dsp->basis_row, "bliinds_basis_row"))
        return;
    for (int content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < 2 * FF_ARRAY_ELEMS(nb_blocks); i++) {
            const int nb = nb_blocks[i / 2], has_low = i & 1;

            // up to 16 bits have no low part
            fill_line(line, FFMIN(3 * nb, MAX_WIDTH), 3, content, has_low ? 27 : 16);
            memset(basis1, GUARD, sizeof(float[10 * STRIDE]));
            call_ref(basis0, has_low ? basis0 + 5 * STRIDE : NULL, STRIDE, line, nb);
            call_new(basis1, has_low ? basis1 + 5 * STRIDE : NULL, STRIDE, line, nb);
            compare(basis0, basis1, has_low ? 10 : 5, STRIDE, nb, nb);
        }
    }
    bench_new(basis1, basis1 + 5 * STRIDE, STRIDE, line, 80);
}

static void check_block(const BLIINDSDSPContext *dsp, int bands_alone)
{
    const int nb_rows = bands_alone ? BLIINDS_ROW_STATISTIC : BLIINDS_NB_ROWS;
    static const int depth[] = { 8, 27, 10, 16, 21, 29 };
    LOCAL_ALIGNED_32(int32_t, line,  [LINE]);
    LOCAL_ALIGNED_32(float,   basis, [10], [5 * STRIDE]);
    LOCAL_ALIGNED_32(float,   dst0,  [BLIINDS_NB_ROWS * STRIDE + 1]);
    LOCAL_ALIGNED_32(float,   dst1,  [BLIINDS_NB_ROWS * STRIDE + 1]);
    const float *high[5], *low[5];

    declare_func(void, float *dst, const float *const high[5],
                 const float *const low[5], ptrdiff_t stride, int nb_blocks);

    for (int y = 0; y < 5; y++) {
        high[y] = basis[y];
        low[y]  = basis[y + 5];
    }
    if (!check_func(bands_alone ? dsp->band_row : dsp->block_row,
                    "bliinds_%s_row", bands_alone ? "band" : "block"))
        return;
    for (int content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < 7 * FF_ARRAY_ELEMS(nb_blocks); i++) {
            const int nb = nb_blocks[i / 7], bits = depth[i % 6], has_low = bits > 16;

            for (int y = 0; y < 5; y++) {
                fill_line(line, FFMIN(3 * nb, MAX_WIDTH) - i % 3, y, content, bits);
                if (i % 7 == 6 && y > 2) // the bottom of a picture
                    memset(line, 0, sizeof(int32_t[LINE]));
                dsp->basis_row(basis[y], has_low ? basis[y + 5] : NULL, STRIDE, line, nb);
            }
            memset(dst1, GUARD, sizeof(float[BLIINDS_NB_ROWS * STRIDE + 1]));
            call_ref(dst0, high, has_low ? low : NULL, STRIDE, nb);
            call_new(dst1, high, has_low ? low : NULL, STRIDE, nb);
            compare(dst0, dst1, nb_rows, STRIDE, nb, nb);
            compare(NULL, dst1 + nb_rows * STRIDE, 1, 0, 0, 0);
        }
    }
    bench_new(dst1, high, low, STRIDE, 80);
}

/// A rho on a shape's, or right beside it, below all of them or above.
static float rho_value(const float *table)
{
    const int j = rnd() % BLIINDS_GAMMA_NB;

    switch (rnd() % 6) {
    case 0:  return table[j];
    case 1:  return nextafterf(table[j], 0);
    case 2:  return nextafterf(table[j], 100);
    case 3:  return 0;
    case 4:  return 24.f * (rnd() & 0xffff) / 0xffff;
    default: return table[BLIINDS_GAMMA_NB - 1];
    }
}

/// Values at the corners of what block_row() may give, and any others.
static float value_to_sum(void)
{
    switch (rnd() % 6) {
    case 0:  return 0;
    case 1:  return nextafterf(1 << 19, 0);
    case 2:  return ldexpf(1 + 2 * (rnd() & 0x7fffff), -56); // below and about the unit of the sums
    case 3:  return BLIINDS_SUB_MAX;
    default: return ldexpf(rnd(), -13 - (int)(rnd() % 60));
    }
}

static void check_sum(const BLIINDSDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, value, [BLIINDS_NB_ROWS * STRIDE]);
    uint64_t sum0[BLIINDS_NB_ROWS][BLIINDS_NB_LANES];
    uint64_t sum1[BLIINDS_NB_ROWS][BLIINDS_NB_LANES];

    declare_func(void, uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                 ptrdiff_t stride, int nb_rows, int nb_blocks);

    if (!check_func(dsp->sum_rows, "bliinds_sum_rows"))
        return;
    for (int i = 0; i < 4 * FF_ARRAY_ELEMS(nb_blocks); i++) {
        const int nb = nb_blocks[i / 4], nb_rows = i % 2 ? BLIINDS_ROW_STATISTIC : BLIINDS_NB_ROWS;

        for (int j = 0; j < BLIINDS_NB_ROWS * STRIDE; j++)
            value[j] = value_to_sum();
        for (int r = 0; r < BLIINDS_NB_ROWS; r++)
            for (int j = 0; j < BLIINDS_NB_LANES; j++)
                sum0[r][j] = sum1[r][j] = rnd();
        call_ref(sum0, value, STRIDE, nb_rows, nb);
        call_new(sum1, value, STRIDE, nb_rows, nb);
        if (memcmp(sum0, sum1, sizeof(sum0)))
            checkasm_fail_func("%d rows of %d blocks", nb_rows, nb);
    }
    bench_new(sum1, value, STRIDE, BLIINDS_ROW_STATISTIC, 80);
}

static void check_gamma(const BLIINDSDSPContext *dsp)
{
    static float table[BLIINDS_GAMMA_NB];
    LOCAL_ALIGNED_32(float, rho0, [STRIDE]);
    LOCAL_ALIGNED_32(float, rho1, [STRIDE]);

    declare_func(void, float *rho, const float *table, int nb_blocks);

    ff_bliinds_gamma_table(table);
    if (!check_func(dsp->gamma_row, "bliinds_gamma_row"))
        return;
    for (int i = 0; i < 32 * FF_ARRAY_ELEMS(nb_blocks); i++) {
        const int nb = nb_blocks[i / 32];

        memset(rho1, GUARD, sizeof(float[STRIDE]));
        for (int b = 0; b < nb; b++)
            rho0[b] = rho1[b] = rho_value(table);
        call_ref(rho0, table, nb);
        call_new(rho1, table, nb);
        compare(rho0, rho1, 1, 0, nb, nb);
    }
    bench_new(rho1, table, 80);
}

static void check_select(const BLIINDSDSPContext *dsp)
{
    static const float range[][2] = {
        { 1, 2 }, { 1, 1 }, { 0, 0 }, { 0, 9 }, { 8, 9 }, { 2.5, 2.75 },
    };
    LOCAL_ALIGNED_32(float, value, [BLIINDS_NB_SELECT]);
    LOCAL_ALIGNED_32(float, dst0,  [BLIINDS_NB_SELECT + 1]);
    LOCAL_ALIGNED_32(float, dst1,  [BLIINDS_NB_SELECT + 1]);

    declare_func(int, float *dst, uint64_t above[2], const float *value, int n,
                 const float range[2]);

    if (!check_func(dsp->select, "bliinds_select"))
        return;
    for (int i = 0; i < BLIINDS_NB_SELECT; i++)
        value[i] = i % 16 == 15 ? -1 : i & 1 ? ldexpf(rnd(), -29) : rnd() % 16 * .5f;
    for (int r = 0; r < FF_ARRAY_ELEMS(range); r++) {
        for (int n = 16; n <= BLIINDS_NB_SELECT; n *= 2) {
            uint64_t above0[2] = { 1, 2 }, above1[2] = { 1, 2 };
            int nb0, nb1;

            memset(dst1, GUARD, 4 * (n + 1));
            nb0 = call_ref(dst0, above0, value, n, range[r]);
            nb1 = call_new(dst1, above1, value, n, range[r]);
            if (nb0 != nb1 || memcmp(above0, above1, sizeof(above0)))
                checkasm_fail_func("%d values, %g to %g", n, range[r][0], range[r][1]);
            else
                compare(dst0, dst1, 1, 0, nb0, nb0);
        }
    }
    for (int i = 0; i < BLIINDS_NB_SELECT; i++)
        value[i] = rnd() % 1000;
    bench_new(dst1, (uint64_t[2]){ 0 }, value, 256, (const float[2]){ 880, 920 });
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

    check_block(&dsp, 0);
    check_block(&dsp, 1);
    report("block");

    check_sum(&dsp);
    check_gamma(&dsp);
    report("sum");

    check_select(&dsp);
    report("select");
}
