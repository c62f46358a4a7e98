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
 * Compare the assembly functions of BLIINDSDSPContext with C, bit by bit, and check what they leave
 * unwritten.
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
#define MAX_VALUES FFMAX(BLIINDS_NB_ROWS * STRIDE, BLIINDS_SELECT_CHUNK)
/// Elements of a row of samples with one before, and the padding behind that functions may access.
#define LINE       (1 + MAX_WIDTH + BLIINDS_ROW_PAD)
/// Value of elements that a function must not write.
#define GUARD      0x5a5a5a5a

static const int widths[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 31, 32, 33,
    63, 64, 65, 96, 127, 130, 255, 256, MAX_WIDTH,
};
/// Lengths of rows of blocks: multiples of BLIINDS_VECTOR.
static const int nb_blocks[] = { 16, 32, 48, MAX_BLOCKS };

/// Picture contents; their statistics include corner cases of the arithmetic.
enum { RANDOM, FLAT, BRIGHT, ROWS, COLUMNS, SUM, CHECKER, DOT, FAINT, NB_CONTENTS };

/// Return a sample of the given bit depth.
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

/// Fill a row with w level samples; samples beyond its ends are 0.
static void fill_line(int32_t *line, int w, int y, int content, int bits)
{
    for (int x = 0; x < LINE; x++)
        line[x] = x < 1 || x > w ? 0 :
                  content_value(content, bits, x - 1, y) * (1 << (BLIINDS_FRAC_BITS + 8 - bits));
}

/// Output of the C function and of the assembly function.
static union {
    DECLARE_ALIGNED_32(int32_t, i)[MAX_VALUES + 1];
    float f[MAX_VALUES + 1];
} dst[2];

static DECLARE_ALIGNED_32(uint16_t, src16)[MAX_WIDTH];
static DECLARE_ALIGNED_32(int32_t,  line)[5][LINE];
static DECLARE_ALIGNED_32(float,    value)[MAX_VALUES];

/// Content and bit depth of the current call, for messages.
static int content, bits;

/// Compare n elements of each row, and check that element end of the assembly output is unwritten.
static void compare(int nb_rows, int stride, int n, int end)
{
    for (int i = 0; i < nb_rows; i++) {
        const int32_t *row0 = dst[0].i + i * stride, *row1 = dst[1].i + i * stride;

        if (n && memcmp(row0, row1, 4 * n) || row1[end] != GUARD)
            checkasm_fail_func("row %d of %d with %d elements, content %d of %d bits",
                               i, nb_rows, n, content, bits);
    }
}

/// Fill both outputs with GUARD.
static void reset_dst(void)
{
    memset(dst, GUARD & 0xff, sizeof(dst));
}

static void check_expand(const BLIINDSDSPContext *dsp, int depth, int down)
{
    const int up = BLIINDS_FRAC_BITS - (depth - 8);
    uint8_t *src8 = (uint8_t *)src16;

    declare_func(void, int32_t *dst, const uint8_t *src, int w, int down, int black, int up);

    bits = depth;
    if (!check_func(depth > 8 ? dsp->expand_row16 : dsp->expand_row8, "bliinds_expand_%d_%d",
                    depth, down))
        return;
    for (int i = 0; i < FF_ARRAY_ELEMS(widths); i++) {
        const int w = widths[i], black = i & 1 ? 16 << (depth - 8) : 0;

        content = i % 3 ? RANDOM : BRIGHT;
        for (int x = 0; x < w; x++) {
            int sample = content_value(content, depth, x, 0);

            if (depth > 8)
                src16[x] = sample << down;
            else
                src8[x] = sample;
        }
        reset_dst();
        call_ref(dst[0].i, src8, w, down, black, up);
        call_new(dst[1].i, src8, w, down, black, up);
        compare(1, 0, w, w);
    }
    bench_new(dst[1].i, src8, 256, down, 0, up);
}

static void check_lowpass(const BLIINDSDSPContext *dsp)
{
    declare_func(void, int32_t *dst, const int32_t *above, const int32_t *middle,
                 const int32_t *below, int w);

    if (!check_func(dsp->lowpass_row, "bliinds_lowpass_row"))
        return;
    for (content = 0; content < NB_CONTENTS; content++) {
        bits = content == RANDOM ? 22 : 8;
        for (int i = 1; i < FF_ARRAY_ELEMS(widths); i++) {
            const int w = widths[i];

            for (int y = 0; y < 3; y++)
                fill_line(line[y], w, y, content, bits);
            if (i & 1) // as if the last row were outside of the picture
                memset(line[2], 0, sizeof(line[2]));
            reset_dst();
            call_ref(dst[0].i, line[0] + 1, line[1] + 1, line[2] + 1, w);
            call_new(dst[1].i, line[0] + 1, line[1] + 1, line[2] + 1, w);
            compare(1, 0, w / 2, w / 2 + BLIINDS_ROW_PAD);
        }
    }
    bench_new(dst[1].i, line[0] + 1, line[0] + 1, line[0] + 1, 256);
}

static void check_motion(const BLIINDSDSPContext *dsp)
{
    int16_t *prev0 = (int16_t *)dst[0].i, *prev1 = (int16_t *)dst[1].i;

    declare_func(void, uint64_t sum[2], int16_t *prev, const int32_t *line, int w);

    if (!check_func(dsp->motion_row, "bliinds_motion_row"))
        return;
    for (content = 0; content < NB_CONTENTS; content++) {
        bits = content == RANDOM ? 27 : 8;
        for (int i = 0; i < FF_ARRAY_ELEMS(widths); i++) {
            const int w = widths[i];
            uint64_t sum0[2] = { 1, 2 }, sum1[2] = { 1, 2 };

            reset_dst();
            fill_line(line[0], w, 0, content, bits);
            for (int x = 0; x < w; x++) {
                // black of 0 or 16 gives the largest differences
                line[0][1 + x] -= (i & 1) * (16 << BLIINDS_FRAC_BITS);
                prev0[x] = prev1[x] = (i & 2 ? rnd() % (271 << BLIINDS_MOTION_FRAC_BITS) : 0) -
                                       (16 << BLIINDS_MOTION_FRAC_BITS);
            }
            call_ref(sum0, prev0, line[0] + 1, w);
            call_new(sum1, prev1, line[0] + 1, w);
            if (sum0[0] != sum1[0] || sum0[1] != sum1[1] || memcmp(dst + 0, dst + 1, sizeof(*dst)))
                checkasm_fail_func("%d samples, content %d", w, content);
        }
    }
    bench_new((uint64_t [2]){ 0 }, prev1, line[0] + 1, 256);
}

static void check_dct5(const BLIINDSDSPContext *dsp)
{
    float *lower0 = dst[0].f + 5 * STRIDE, *lower1 = dst[1].f + 5 * STRIDE;

    declare_func(void, float *upper, float *lower, ptrdiff_t stride,
                 const int32_t *line, int nb_blocks);

    if (!check_func(dsp->dct5_row, "bliinds_dct5_row"))
        return;
    for (content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < 2 * FF_ARRAY_ELEMS(nb_blocks); i++) {
            const int nb = nb_blocks[i / 2], has_lower = i & 1;

            // samples of up to 16 bits have no lower bits
            bits = has_lower ? 27 : 16;
            fill_line(line[0], FFMIN(3 * nb, MAX_WIDTH), 3, content, bits);
            reset_dst();
            call_ref(dst[0].f, has_lower ? lower0 : NULL, STRIDE, line[0], nb);
            call_new(dst[1].f, has_lower ? lower1 : NULL, STRIDE, line[0], nb);
            compare(has_lower ? 10 : 5, STRIDE, nb, nb);
        }
    }
    bench_new(dst[1].f, lower1, STRIDE, line[0], 80);
}

static void check_block(const BLIINDSDSPContext *dsp, int bands_only)
{
    const int nb_rows = bands_only ? BLIINDS_ROW_STATISTIC : BLIINDS_NB_ROWS;
    static const int depth[] = { 8, 27, 10, 16, 21, 29 };
    LOCAL_ALIGNED_32(float, dct5, [10], [5 * STRIDE]);
    const float *const upper[] = { dct5[0], dct5[1], dct5[2], dct5[3], dct5[4] };
    const float *const lower[] = { dct5[5], dct5[6], dct5[7], dct5[8], dct5[9] };

    declare_func(void, float *dst, const float *const upper[5],
                 const float *const lower[5], ptrdiff_t stride, int nb_blocks);

    if (!check_func(bands_only ? dsp->band_row : dsp->block_row,
                    "bliinds_%s_row", bands_only ? "band" : "block"))
        return;
    for (content = 0; content < NB_CONTENTS; content++) {
        for (int i = 0; i < 7 * FF_ARRAY_ELEMS(nb_blocks); i++) {
            const int nb = nb_blocks[i / 7], has_lower = depth[i % 6] > 16;

            bits = depth[i % 6];
            for (int y = 0; y < 5; y++) {
                fill_line(line[y], FFMIN(3 * nb, MAX_WIDTH) - i % 3, y, content, bits);
                if (i % 7 == 6 && y > 2) // as at the bottom of a picture
                    memset(line[y], 0, sizeof(line[y]));
                dsp->dct5_row(dct5[y], has_lower ? dct5[y + 5] : NULL, STRIDE, line[y], nb);
            }
            reset_dst();
            call_ref(dst[0].f, upper, has_lower ? lower : NULL, STRIDE, nb);
            call_new(dst[1].f, upper, has_lower ? lower : NULL, STRIDE, nb);
            if (dst[1].i[nb_rows * STRIDE] != GUARD)
                checkasm_fail_func("%d blocks: more than %d rows", nb, nb_rows);
            compare(nb_rows, STRIDE, nb, nb);
        }
    }
    bench_new(dst[1].f, upper, lower, STRIDE, 80);
}

/// Return a rho of the table or its float neighbour, a random one, or one below the table.
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

/// Return a random value of block_row(), or a corner case.
static float value_to_sum(void)
{
    switch (rnd() % 6) {
    case 0:  return 0;
    case 1:  return nextafterf(1 << 19, 0);
    case 2:  return ldexpf(1 + 2 * (rnd() & 0x7fffff), -56); // below and near the unit of the sums
    case 3:  return BLIINDS_SUB_MAX;
    default: return ldexpf(rnd(), -13 - (int)(rnd() % 60));
    }
}

static void check_sum(const BLIINDSDSPContext *dsp)
{
    uint64_t sum0[BLIINDS_NB_ROWS][BLIINDS_NB_LANES];
    uint64_t sum1[BLIINDS_NB_ROWS][BLIINDS_NB_LANES];

    declare_func(void, uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                 ptrdiff_t stride, int nb_rows, int nb_blocks);

    if (!check_func(dsp->sum_rows, "bliinds_sum_rows"))
        return;
    for (int i = 0; i < 4 * FF_ARRAY_ELEMS(nb_blocks); i++) {
        const int nb = nb_blocks[i / 4], nb_rows = i % 2 ? BLIINDS_ROW_STATISTIC : BLIINDS_NB_ROWS;

        for (int j = 0; j < MAX_VALUES; j++)
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

    declare_func(void, float *rho, const float *table, int nb_blocks);

    ff_bliinds_gamma_table(table);
    if (!check_func(dsp->gamma_row, "bliinds_gamma_row"))
        return;
    for (int i = 0; i < 32 * FF_ARRAY_ELEMS(nb_blocks); i++) {
        const int nb = nb_blocks[i / 32];

        reset_dst();
        for (int b = 0; b < nb; b++)
            dst[0].f[b] = dst[1].f[b] = rho_value(table);
        call_ref(dst[0].f, table, nb);
        call_new(dst[1].f, table, nb);
        compare(1, 0, nb, nb);
    }
    bench_new(dst[1].f, table, 80);
}

static void check_select_range(const BLIINDSDSPContext *dsp)
{
    static const float range[][2] = {
        { 1, 2 }, { 1, 1 }, { 0, 0 }, { 0, 9 }, { 8, 9 }, { 2.5, 2.75 },
    };

    declare_func(int, float *dst, uint64_t above[2], const float *value, int n,
                 const float range[2]);

    if (!check_func(dsp->select_range, "bliinds_select_range"))
        return;
    for (int i = 0; i < BLIINDS_SELECT_CHUNK; i++)
        value[i] = i % 16 == 15 ? -1 : i & 1 ? ldexpf(rnd(), -29) : rnd() % 16 * .5f;
    for (int r = 0; r < FF_ARRAY_ELEMS(range); r++) {
        for (int n = 16; n <= BLIINDS_SELECT_CHUNK; n *= 2) {
            uint64_t above0[2] = { 1, 2 }, above1[2] = { 1, 2 };
            int nb0, nb1;

            reset_dst();
            nb0 = call_ref(dst[0].f, above0, value, n, range[r]);
            nb1 = call_new(dst[1].f, above1, value, n, range[r]);
            if (nb0 != nb1 || memcmp(above0, above1, sizeof(above0)))
                checkasm_fail_func("%d values, %g to %g", n, range[r][0], range[r][1]);
            else
                compare(1, 0, nb0, nb0);
        }
    }
    for (int i = 0; i < BLIINDS_SELECT_CHUNK; i++)
        value[i] = rnd() % 1000;
    bench_new(dst[1].f, (uint64_t[2]){ 0 }, value, 256, (const float[2]){ 880, 920 });
}

void checkasm_check_bliinds(void)
{
    static const struct { int depth, shift; } format[] = {
        { 8, 0 }, { 9, 0 }, { 10, 0 }, { 12, 0 }, { 14, 0 }, { 16, 0 }, { 10, 6 }, { 12, 4 },
    };
    BLIINDSDSPContext dsp;

    ff_bliinds_dsp_init(&dsp);

    for (int i = 0; i < FF_ARRAY_ELEMS(format); i++)
        check_expand(&dsp, format[i].depth, format[i].shift);
    report("expand");

    check_lowpass(&dsp);
    report("lowpass");

    check_motion(&dsp);
    report("motion");

    check_dct5(&dsp);
    report("basis");

    check_block(&dsp, 0);
    check_block(&dsp, 1);
    report("block");

    check_sum(&dsp);
    check_gamma(&dsp);
    report("sum");

    check_select_range(&dsp);
    report("select");
}
