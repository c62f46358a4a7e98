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

#include "config.h"

#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"

#include "detailloss_dsp.h"

#define LOAD_ROW(bits)                                                              \
static void load_row ## bits(float *dst, const uint8_t *src8, int w,                \
                             int shift, int mask, float unit)                       \
{                                                                                   \
    const uint ## bits ## _t *src = (const uint ## bits ## _t *)src8;               \
                                                                                    \
    for (int x = 0; x < w; x++)                                                     \
        dst[x] = (src[x] >> shift & mask) * unit;                                   \
}

LOAD_ROW(8)
LOAD_ROW(16)

static void split_columns(float *low, float *high, const float *const line[4], int w)
{
    const float *a = line[0], *b = line[1], *c = line[2], *d = line[3];

    for (int x = 0; x < w; x++) {
        low[x]  = detail_low(a[x], b[x], c[x], d[x]);
        high[x] = detail_high(a[x], b[x], c[x], d[x]);
    }
}

static void split_row(float *low, float *high, const float *src, int w)
{
    for (int x = 0; x < w; x++) {
        const float *from = src + 2 * x - 1;

        low[x]  = detail_low(from[0], from[1], from[2], from[3]);
        high[x] = detail_high(from[0], from[1], from[2], from[3]);
    }
}

static void coefficient_row(float *const dst[DETAIL_NB_PARTS], const float *source,
                            const float *encode, int w, float weight)
{
    for (int x = 0; x < w; x++) {
        const DetailCoefficient c = detail_coefficient(source[x], encode[x], weight);

        dst[DETAIL_SOURCE][x] = c.source;
        dst[DETAIL_KEPT][x]   = c.kept;
        dst[DETAIL_ADDED][x]  = c.added;
    }
}

static void sum_row(float *dst, const float *const src[DETAIL_ORIENTATIONS], int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = (src[0][x] + src[1][x]) + src[2][x];
}

static void mask_row(float *dst, const float *above, const float *middle, const float *below,
                     int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = detail_mask(above + x, middle + x, below + x);
}

static uint64_t cube_row(const float *src, const float *mask, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += detail_cube(src[x], mask ? mask[x] : 0.f);
    return sum;
}

#define SUM_LINES(bits)                                                             \
static void sum_lines ## bits(uint32_t *dst, const uint8_t *src8, ptrdiff_t stride, \
                              int w, int h, int shift, int mask)                    \
{                                                                                   \
    memset(dst, 0, w * sizeof(*dst));                                               \
    for (int y = 0; y < h; y++, src8 += stride) {                                   \
        const uint ## bits ## _t *src = (const uint ## bits ## _t *)src8;           \
                                                                                    \
        for (int x = 0; x < w; x++)                                                 \
            dst[x] += src[x] >> shift & mask;                                       \
    }                                                                               \
}

SUM_LINES(8)
SUM_LINES(16)

static uint64_t motion_row(const uint32_t *now, const uint32_t *before, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++) {
        int change = 0;

        for (int i = 0; i < DETAIL_MOTION_CELL; i++)
            change += (int)*now++ - (int)*before++;
        sum += FFABS(change);
    }
    return sum;
}

av_cold void ff_detailloss_dsp_init(DetailLossDSPContext *dsp, int narrowest)
{
    *dsp = (DetailLossDSPContext){
        .load_row        = { load_row8, load_row16 },
        .split_columns   = split_columns,
        .split_row       = split_row,
        .coefficient_row = coefficient_row,
        .sum_row         = sum_row,
        .mask_row        = mask_row,
        .cube_row        = cube_row,
        .sum_lines       = { sum_lines8, sum_lines16 },
        .motion_row      = motion_row,
    };
#if ARCH_X86 && HAVE_X86ASM
    if (narrowest >= DETAIL_ALIGN)
        ff_detailloss_dsp_init_x86(dsp);
#endif
}
