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
#include "libavutil/intfloat.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH 259
/// Rows begin at 1 to this: before and after them is what a function must leave alone.
#define MAX_START 16
#define ROW       FFALIGN(MAX_START + MAX_WIDTH + 1, 16)
/// The same of rows of twice the width.
#define LINE      (MAX_START + 2 * MAX_WIDTH + 1)
#define MAX_LINES 32
/// What a function must leave alone.
#define GUARD     0x5a5a5a5a

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

static void fill(float *dst, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = value();
}

static void fill_guard(float *dst, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = av_int2float(GUARD);
}

static int random_start(void)
{
    return 1 + rnd() % MAX_START;
}

/// The same w elements, and nothing written before and behind them.
static void compare(const float *dst0, const float *dst1, int w)
{
    if (memcmp(dst0, dst1, 4 * w) || av_float2int(dst1[-1]) != GUARD ||
        av_float2int(dst1[w]) != GUARD)
        checkasm_fail_func("%d elements", w);
}

static const struct { int depth, shift; } format[] = {
    { 8, 0 }, { 9, 0 }, { 10, 0 }, { 12, 0 }, { 14, 0 }, { 16, 0 }, { 10, 6 }, { 12, 4 },
};

static void check_load(const DetailLossDSPContext *dsp, int bytes)
{
    LOCAL_ALIGNED_32(uint8_t, src,  [2 * ROW]);
    LOCAL_ALIGNED_32(float,   dst0, [ROW]);
    LOCAL_ALIGNED_32(float,   dst1, [ROW]);

    declare_func(void, float *dst, const uint8_t *src, int w, int shift, int mask, float unit);

    if (!check_func(dsp->load_row[bytes - 1], "detailloss_load_row%d", 8 * bytes))
        return;
    for (int i = 0; i < 2 * ROW; i++)
        src[i] = rnd();
    for (int f = 0; f < FF_ARRAY_ELEMS(format); f++) {
        const int mask   = (1 << format[f].depth) - 1;
        const float unit = 1.1643836f / (1 << (format[f].depth - 8));

        if ((format[f].depth > 8) != (bytes > 1))
            continue;
        for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w++) {
            const int at = random_start();

            fill_guard(dst0, ROW);
            fill_guard(dst1, ROW);
            call_ref(dst0 + at, src + bytes * at, w, format[f].shift, mask, unit);
            call_new(dst1 + at, src + bytes * at, w, format[f].shift, mask, unit);
            compare(dst0 + at, dst1 + at, w);
        }
    }
    bench_new(dst1, src, 256, 0, (1 << 8 * bytes) - 1, 1.f);
}

static void check_split_columns(const DetailLossDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, src,  [4], [ROW]);
    LOCAL_ALIGNED_32(float, dst0, [2], [ROW]);
    LOCAL_ALIGNED_32(float, dst1, [2], [ROW]);

    declare_func(void, float *low, float *high, const float *const line[4], int w);

    if (!check_func(dsp->split_columns, "detailloss_split_columns"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();
        const float *const line[4] = { src[0] + at, src[1] + at, src[2] + at, src[3] + at };

        fill(src[0], 4 * ROW);
        fill_guard(dst0[0], 2 * ROW);
        fill_guard(dst1[0], 2 * ROW);
        call_ref(dst0[0] + at, dst0[1] + at, line, w);
        call_new(dst1[0] + at, dst1[1] + at, line, w);
        compare(dst0[0] + at, dst1[0] + at, w);
        compare(dst0[1] + at, dst1[1] + at, w);
    }
    bench_new(dst1[0], dst1[1], ((const float *[4]){ src[0], src[1], src[2], src[3] }), 256);
}

static void check_split_row(const DetailLossDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, src,  [LINE]);
    LOCAL_ALIGNED_32(float, dst0, [2], [ROW]);
    LOCAL_ALIGNED_32(float, dst1, [2], [ROW]);

    declare_func(void, float *low, float *high, const float *src, int w);

    if (!check_func(dsp->split_row, "detailloss_split_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();

        fill(src, LINE);
        fill_guard(dst0[0], 2 * ROW);
        fill_guard(dst1[0], 2 * ROW);
        call_ref(dst0[0] + at, dst0[1] + at, src + at, w);
        call_new(dst1[0] + at, dst1[1] + at, src + at, w);
        compare(dst0[0] + at, dst1[0] + at, w);
        compare(dst0[1] + at, dst1[1] + at, w);
    }
    bench_new(dst1[0], dst1[1], src + MAX_START, 256);
}

static void check_coefficient(const DetailLossDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, source, [ROW]);
    LOCAL_ALIGNED_32(float, encode, [ROW]);
    LOCAL_ALIGNED_32(float, dst0,   [DETAIL_NB_PARTS], [ROW]);
    LOCAL_ALIGNED_32(float, dst1,   [DETAIL_NB_PARTS], [ROW]);

    declare_func(void, float *const dst[DETAIL_NB_PARTS], const float *source,
                 const float *encode, int w, float weight);

    if (!check_func(dsp->coefficient_row, "detailloss_coefficient_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();
        float *const part0[DETAIL_NB_PARTS] = { dst0[0] + at, dst0[1] + at, dst0[2] + at };
        float *const part1[DETAIL_NB_PARTS] = { dst1[0] + at, dst1[1] + at, dst1[2] + at };

        fill(source, ROW);
        for (int x = 0; x < ROW; x++)
            encode[x] = rnd() & 1 ? value() : rnd() & 1 ? source[x] : -source[x];
        fill_guard(dst0[0], DETAIL_NB_PARTS * ROW);
        fill_guard(dst1[0], DETAIL_NB_PARTS * ROW);
        call_ref(part0, source + at, encode + at, w, .01183f);
        call_new(part1, source + at, encode + at, w, .01183f);
        for (int i = 0; i < DETAIL_NB_PARTS; i++)
            compare(dst0[i] + at, dst1[i] + at, w);
    }
    bench_new(((float *[DETAIL_NB_PARTS]){ dst1[0], dst1[1], dst1[2] }), source, encode,
              256, .01183f);
}

static void check_sum(const DetailLossDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, src,  [DETAIL_ORIENTATIONS], [ROW]);
    LOCAL_ALIGNED_32(float, dst0, [ROW]);
    LOCAL_ALIGNED_32(float, dst1, [ROW]);

    declare_func(void, float *dst, const float *const src[DETAIL_ORIENTATIONS], int w);

    if (!check_func(dsp->sum_row, "detailloss_sum_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();
        const float *const of[DETAIL_ORIENTATIONS] = { src[0] + at, src[1] + at, src[2] + at };

        fill(src[0], DETAIL_ORIENTATIONS * ROW);
        fill_guard(dst0, ROW);
        fill_guard(dst1, ROW);
        call_ref(dst0 + at, of, w);
        call_new(dst1 + at, of, w);
        compare(dst0 + at, dst1 + at, w);
    }
    bench_new(dst1, ((const float *[DETAIL_ORIENTATIONS]){ src[0], src[1], src[2] }), 256);
}

static void check_mask(const DetailLossDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, src,  [3], [ROW]);
    LOCAL_ALIGNED_32(float, dst0, [ROW]);
    LOCAL_ALIGNED_32(float, dst1, [ROW]);

    declare_func(void, float *dst, const float *above, const float *middle,
                 const float *below, int w);

    if (!check_func(dsp->mask_row, "detailloss_mask_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();

        fill(src[0], 3 * ROW);
        fill_guard(dst0, ROW);
        fill_guard(dst1, ROW);
        call_ref(dst0 + at, src[0] + at, src[1] + at, src[2] + at, w);
        call_new(dst1 + at, src[0] + at, src[1] + at, src[2] + at, w);
        compare(dst0 + at, dst1 + at, w);
    }
    bench_new(dst1, src[0] + MAX_START, src[1] + MAX_START, src[2] + MAX_START, 256);
}

static void check_cube(const DetailLossDSPContext *dsp)
{
    LOCAL_ALIGNED_32(float, src,    [ROW]);
    LOCAL_ALIGNED_32(float, mask, [ROW]);

    declare_func(uint64_t, const float *src, const float *mask, int w);

    if (!check_func(dsp->cube_row, "detailloss_cube_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();
        uint64_t sum0, sum1;

        // the largest cube is a bit less than 2^50 units
        for (int x = 0; x < ROW; x++) {
            src[x]    = rnd() % 16 ? fabsf(value()) : 2500;
            mask[x] = rnd() % 4 ? fabsf(value()) / 8 : src[x];
        }
        for (int all = 0; all < 2; all++) {
            sum0 = call_ref(src + at, all ? NULL : mask + at, w);
            sum1 = call_new(src + at, all ? NULL : mask + at, w);
            if (sum0 != sum1)
                checkasm_fail_func("%d elements", w);
        }
    }
    bench_new(src, mask, 256);
}

static void check_sum_lines(const DetailLossDSPContext *dsp, int bytes)
{
    const ptrdiff_t stride = 2 * ROW;
    LOCAL_ALIGNED_32(uint8_t, src,  [MAX_LINES * 2 * ROW]);
    LOCAL_ALIGNED_32(float,   dst0, [ROW]);
    LOCAL_ALIGNED_32(float,   dst1, [ROW]);

    declare_func(void, uint32_t *dst, const uint8_t *src, ptrdiff_t stride, int w, int h,
                 int shift, int mask);

    if (!check_func(dsp->sum_lines[bytes - 1], "detailloss_sum_lines%d", 8 * bytes))
        return;
    for (int i = 0; i < MAX_LINES * 2 * ROW; i++)
        src[i] = rnd() % 8 ? rnd() : 255;
    for (int f = 0; f < FF_ARRAY_ELEMS(format); f++) {
        const int mask = (1 << format[f].depth) - 1;

        if ((format[f].depth > 8) != (bytes > 1))
            continue;
        for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w++) {
            const int at = random_start(), h = 1 + rnd() % MAX_LINES, up = rnd() & 1;
            const uint8_t *first = src + bytes * at + (up ? (h - 1) * stride : 0);

            fill_guard(dst0, ROW);
            fill_guard(dst1, ROW);
            call_ref((uint32_t *)dst0 + at, first, up ? -stride : stride, w, h,
                     format[f].shift, mask);
            call_new((uint32_t *)dst1 + at, first, up ? -stride : stride, w, h,
                     format[f].shift, mask);
            compare(dst0 + at, dst1 + at, w);
        }
    }
    bench_new((uint32_t *)dst1, src, stride, 256, DETAIL_MOTION_CELL, 0, (1 << 8 * bytes) - 1);
}

static void check_motion(const DetailLossDSPContext *dsp)
{
    const uint32_t max = DETAIL_MOTION_CELL * 65535;
    LOCAL_ALIGNED_32(uint32_t, now,    [DETAIL_MOTION_CELL * ROW]);
    LOCAL_ALIGNED_32(uint32_t, before, [DETAIL_MOTION_CELL * ROW]);

    declare_func(uint64_t, const uint32_t *now, const uint32_t *before, int w);

    if (!check_func(dsp->motion_row, "detailloss_motion_row"))
        return;
    for (int w = DETAIL_ALIGN; w <= MAX_WIDTH; w += DETAIL_ALIGN) {
        const int at = random_start();
        uint64_t sum0, sum1;

        for (int i = 0; i < DETAIL_MOTION_CELL * ROW; i++) {
            now[i]    = rnd() % (max + 1);
            before[i] = rnd() % 4 ? rnd() % (max + 1) : now[i];
            if (w & DETAIL_ALIGN) {                 // the most that they can differ by
                now[i]    = w & 2 * DETAIL_ALIGN ? max : 0;
                before[i] = max - now[i];
            }
        }
        sum0 = call_ref(now + at, before + at, w);
        sum1 = call_new(now + at, before + at, w);
        if (sum0 != sum1)
            checkasm_fail_func("%d elements", w);
    }
    bench_new(now, before, 256);
}

void checkasm_check_detailloss(void)
{
    DetailLossDSPContext dsp;

    ff_detailloss_dsp_init(&dsp, DETAIL_ALIGN);

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
