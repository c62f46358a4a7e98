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
 * Row functions of motion. vmaf_integer_motion.c includes this file, and so does
 * x86/vmaf_integer_motion_avx2.c, which is compiled for AVX2.
 */

#include <stdint.h>

#include "vmaf_integer_motion.h"

static void subtract_row(int16_t *restrict dst, const void *restrict prev,
                         const void *restrict row, int depth, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = get_sample(prev, x, depth) - get_sample(row, x, depth);
}

static void vertical_row(int32_t *restrict dst, const int16_t *const row[MOTION_TAPS], int depth,
                         int w)
{
    const int16_t *restrict a = row[0], *restrict b = row[1], *restrict c = row[2];
    const int16_t *restrict d = row[3], *restrict e = row[4];

    for (int x = 0; x < w; x++) {
        const int16_t ae = a[x] + e[x], bd = b[x] + d[x];

        dst[x] = motion_filter_vertical(ae, bd, c[x], 0, 0, depth);
    }
}

static uint32_t horizontal_sad_row(const int32_t *src, int w)
{
    uint32_t sum = 0;

    for (int x = 0; x < w; x++) {
        const int32_t *at = src + x;    // with src[x - 2] clang does not vectorize

        sum += motion_filter_horizontal(at[-2], at[-1], at[0], at[1], at[2]);
    }
    return sum;
}

static const MotionDSPContext row_functions = {
    .subtract       = subtract_row,
    .vertical       = vertical_row,
    .horizontal_sad = horizontal_sad_row,
};
