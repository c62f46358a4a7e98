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
#include "libavfilter/detailloss_dsp.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH 259
/// Rows begin at 1 to this: before and after them is what a function must leave alone.
#define MAX_START 16
#define ROW       FFALIGN(MAX_START + MAX_WIDTH + 1, 16)
/// The same of rows of twice the width.
#define LINE      FFALIGN(MAX_START + 2 * MAX_WIDTH + 1, 16)
#define MAX_LINES 32

static DECLARE_ALIGNED_32(float,    src)[4][LINE];
static DECLARE_ALIGNED_32(float,    dst)[2][3][ROW];
static DECLARE_ALIGNED_32(uint8_t,  samples)[MAX_LINES][2 * ROW];
static DECLARE_ALIGNED_32(uint32_t, cells)[2][DETAIL_MOTION_CELL * ROW];
static const float *const rows[] = { src[0], src[1], src[2], src[3] };

/// Where rows begin, and what they are.
static int at, width, height, depth;

/// Of uint8_t and uint16_t.
static const struct { int depth, shift; } format[2][8] = {
    { { 8, 0 } },
    { { 9, 0 }, { 10, 0 }, { 12, 0 }, { 14, 0 }, { 16, 0 }, { 10, 6 }, { 12, 4 } },
};

/// A coefficient: also zeros of both signs, small ones, and equal ones.
static float value(void)
{
    switch (rnd() % 8) {
    case 0:  return 0.f;
    case 1:  return -0.f;
    case 2:  return ldexpf(rnd(), -60);
    case 3:  return 4.f * (int)(rnd() % 5) - 8;
    default: return ldexpf((int)rnd(), -22);
    }
}

/// New values, and what a function must leave alone.
static void begin(int w)
{
    at     = 1 + rnd() % MAX_START;
    width  = w;
    height = 1;
    for (int y = 0; y < FF_ARRAY_ELEMS(src); y++)
        for (int x = 0; x < LINE; x++)
            src[y][x] = value();
    memset(dst, 0x5a, sizeof(dst));
}

static void check_same(int is_same)
{
    if (!is_same)
        checkasm_fail_func("%d elements at %d, %d lines, %d bits", width, at, height, depth);
}

/// The same in all rows, and before and behind them.
static void compare(void)
{
    check_same(!memcmp(dst[0], dst[1], sizeof(dst[0])));
}

static void check_load(const DetailLossDSPContext *dsp, int bytes)
{
    declare_func(void, float *dst, const uint8_t *src, int w, int shift, int mask, float unit);

    if (!check_func(dsp->load_row[bytes - 1], "detailloss_load_row%d", 8 * bytes))
        return;
    for (int f = 0; (depth = format[bytes - 1][f].depth); f++)
        for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w++) {
            const int shift = format[bytes - 1][f].shift, mask = (1 << depth) - 1;
            const float unit = 1.1643836f / (1 << (depth - 8));

            begin(w);
            call_ref(dst[0][0] + at, samples[0] + bytes * at, w, shift, mask, unit);
            call_new(dst[1][0] + at, samples[0] + bytes * at, w, shift, mask, unit);
            compare();
        }
    bench_new(dst[1][0], samples[0], 256, 0, (1 << 8 * bytes) - 1, 1.f);
}

static void check_split_columns(const DetailLossDSPContext *dsp)
{
    declare_func(void, float *low, float *high, const float *const line[4], int w);

    if (!check_func(dsp->split_columns, "detailloss_split_columns"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const float *line[4];

        begin(w);
        for (int i = 0; i < 4; i++)
            line[i] = src[i] + at;
        call_ref(dst[0][0] + at, dst[0][1] + at, line, w);
        call_new(dst[1][0] + at, dst[1][1] + at, line, w);
        compare();
    }
    bench_new(dst[1][0], dst[1][1], rows, 256);
}

static void check_split_row(const DetailLossDSPContext *dsp)
{
    declare_func(void, float *low, float *high, const float *src, int w);

    if (!check_func(dsp->split_row, "detailloss_split_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        begin(w);
        call_ref(dst[0][0] + at, dst[0][1] + at, src[0] + at, w);
        call_new(dst[1][0] + at, dst[1][1] + at, src[0] + at, w);
        compare();
    }
    bench_new(dst[1][0], dst[1][1], src[0] + MAX_START, 256);
}

static void check_coefficient(const DetailLossDSPContext *dsp)
{
    declare_func(void, float *const dst[DETAIL_NB_PARTS], const float *source,
                 const float *encode, int w, float weight);

    if (!check_func(dsp->coefficient_row, "detailloss_coefficient_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        float *part[2][DETAIL_NB_PARTS];

        begin(w);
        for (int x = 0; x < ROW; x++)
            if (rnd() & 1)
                src[1][x] = rnd() & 1 ? src[0][x] : -src[0][x];
        for (int i = 0; i < DETAIL_NB_PARTS; i++) {
            part[0][i] = dst[0][i] + at;
            part[1][i] = dst[1][i] + at;
        }
        call_ref(part[0], src[0] + at, src[1] + at, w, .01183f);
        call_new(part[1], src[0] + at, src[1] + at, w, .01183f);
        compare();
    }
    bench_new(((float *[DETAIL_NB_PARTS]){ dst[1][0], dst[1][1], dst[1][2] }), src[0], src[1],
              256, .01183f);
}

static void check_sum(const DetailLossDSPContext *dsp)
{
    declare_func(void, float *dst, const float *const src[DETAIL_ORIENTATIONS], int w);

    if (!check_func(dsp->sum_row, "detailloss_sum_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const float *of[DETAIL_ORIENTATIONS];

        begin(w);
        for (int i = 0; i < DETAIL_ORIENTATIONS; i++)
            of[i] = src[i] + at;
        call_ref(dst[0][0] + at, of, w);
        call_new(dst[1][0] + at, of, w);
        compare();
    }
    bench_new(dst[1][0], rows, 256);
}

static void check_mask(const DetailLossDSPContext *dsp)
{
    declare_func(void, float *dst, const float *above, const float *middle,
                 const float *below, int w);

    if (!check_func(dsp->mask_row, "detailloss_mask_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        begin(w);
        call_ref(dst[0][0] + at, src[0] + at, src[1] + at, src[2] + at, w);
        call_new(dst[1][0] + at, src[0] + at, src[1] + at, src[2] + at, w);
        compare();
    }
    bench_new(dst[1][0], src[0] + MAX_START, src[1] + MAX_START, src[2] + MAX_START, 256);
}

static void check_cube(const DetailLossDSPContext *dsp)
{
    float *mask = src[1];

    declare_func(uint64_t, const float *src, const float *mask, int w);

    if (!check_func(dsp->cube_row, "detailloss_cube_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        begin(w);
        // the largest cube is a bit less than 2^50 units
        for (int x = 0; x < ROW; x++) {
            src[0][x] = rnd() % 16 ? fabsf(src[0][x]) : 2500;
            mask[x]   = rnd() % 4 ? fabsf(mask[x]) / 8 : src[0][x];
        }
        for (int all = 0; all < 2; all++) {
            const uint64_t sum0 = call_ref(src[0] + at, all ? NULL : mask + at, w);
            const uint64_t sum1 = call_new(src[0] + at, all ? NULL : mask + at, w);

            check_same(sum0 == sum1);
        }
    }
    bench_new(src[0], mask, 256);
}

static void check_sum_lines(const DetailLossDSPContext *dsp, int bytes)
{
    const ptrdiff_t stride = sizeof(samples[0]);

    declare_func(void, uint32_t *dst, const uint8_t *src, ptrdiff_t stride, int w, int h,
                 int shift, int mask);

    if (!check_func(dsp->sum_lines[bytes - 1], "detailloss_sum_lines%d", 8 * bytes))
        return;
    for (int f = 0; (depth = format[bytes - 1][f].depth); f++)
        for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w++) {
            const int shift = format[bytes - 1][f].shift, mask = (1 << depth) - 1;
            const int h = 1 + rnd() % MAX_LINES, up = rnd() & 1;
            const uint8_t *first = samples[up ? h - 1 : 0];

            begin(w);
            height = h;
            first += bytes * at;
            call_ref((uint32_t *)dst[0][0] + at, first, up ? -stride : stride, w, h, shift, mask);
            call_new((uint32_t *)dst[1][0] + at, first, up ? -stride : stride, w, h, shift, mask);
            compare();
        }
    bench_new((uint32_t *)dst[1][0], samples[0], stride, 256, DETAIL_MOTION_CELL, 0,
              (1 << 8 * bytes) - 1);
}

static void check_motion(const DetailLossDSPContext *dsp)
{
    const uint32_t max = DETAIL_MOTION_CELL * 65535;
    uint32_t *now = cells[0], *before = cells[1];

    declare_func(uint64_t, const uint32_t *now, const uint32_t *before, int w);

    if (!check_func(dsp->motion_row, "detailloss_motion_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        uint64_t sum0, sum1;

        begin(w);
        for (int i = 0; i < FF_ARRAY_ELEMS(cells[0]); i++) {
            now[i]    = rnd() % (max + 1);
            before[i] = rnd() % 4 ? rnd() % (max + 1) : now[i];
            if (w & DETAIL_ALIGN) {                 // the most that they can differ by
                now[i]    = w & 2 * DETAIL_ALIGN ? max : 0;
                before[i] = max - now[i];
            }
        }
        sum0 = call_ref(now + at, before + at, w);
        sum1 = call_new(now + at, before + at, w);
        check_same(sum0 == sum1);
    }
    bench_new(now, before, 256);
}

void checkasm_check_detailloss(void)
{
    DetailLossDSPContext dsp;

    ff_detailloss_dsp_init(&dsp, DETAIL_ALIGN);
    for (int y = 0; y < MAX_LINES; y++)
        for (int x = 0; x < sizeof(samples[0]); x++)
            samples[y][x] = rnd() % 8 ? rnd() : 255;

    check_load(&dsp, 1);
    check_load(&dsp, 2);
    report("load");

    check_split_columns(&dsp);
    check_split_row(&dsp);
    report("split");

    check_coefficient(&dsp);
    check_sum(&dsp);
    report("coefficient");

    check_mask(&dsp);
    check_cube(&dsp);
    report("cube");

    check_sum_lines(&dsp, 1);
    check_sum_lines(&dsp, 2);
    check_motion(&dsp);
    report("cells");
}
