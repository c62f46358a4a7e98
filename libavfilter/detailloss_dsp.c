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
void ff_detailloss_load_row ## bits ## _c(float *dst, const uint8_t *src8, int w,   \
                                          int shift, int mask, float unit)          \
{                                                                                   \
    const uint ## bits ## _t *src = (const uint ## bits ## _t *)src8;               \
                                                                                    \
    for (int x = 0; x < w; x++)                                                     \
        dst[x] = (src[x] >> shift & mask) * unit;                                   \
}

LOAD_ROW(8)
LOAD_ROW(16)

void ff_detailloss_split_columns_c(float *low, float *high,
                                   const float *const line[4], int w)
{
    const float *a = line[0], *b = line[1], *c = line[2], *d = line[3];

    for (int x = 0; x < w; x++) {
        low[x]  = detail_low(a[x], b[x], c[x], d[x]);
        high[x] = detail_high(a[x], b[x], c[x], d[x]);
    }
}

void ff_detailloss_split_row_c(float *low, float *high, const float *src, int w)
{
    for (int x = 0; x < w; x++) {
        const float *from = src + 2 * x - 1;

        low[x]  = detail_low(from[0], from[1], from[2], from[3]);
        high[x] = detail_high(from[0], from[1], from[2], from[3]);
    }
}

void ff_detailloss_coefficient_row_c(float *const dst[DETAIL_NB_PARTS],
                                     const float *source, const float *encode,
                                     int w, float weight)
{
    for (int x = 0; x < w; x++) {
        const DetailCoefficient c = detail_coefficient(source[x], encode[x], weight);

        dst[DETAIL_SOURCE][x] = c.source;
        dst[DETAIL_KEPT][x]   = c.kept;
        dst[DETAIL_ADDED][x]  = c.added;
    }
}

void ff_detailloss_sum_row_c(float *dst, const float *const src[DETAIL_ORIENTATIONS],
                             int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = (src[0][x] + src[1][x]) + src[2][x];
}

void ff_detailloss_mask_row_c(float *dst, const float *above, const float *middle,
                              const float *below, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = detail_mask(above + x, middle + x, below + x);
}

uint64_t ff_detailloss_cube_row_c(const float *src, const float *mask, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += detail_cube(src[x], mask ? mask[x] : 0.f);
    return sum;
}

#define SUM_LINES(bits)                                                             \
void ff_detailloss_sum_lines ## bits ## _c(uint32_t *dst, const uint8_t *src8,      \
                                           ptrdiff_t stride, int w, int h,          \
                                           int shift, int mask)                     \
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

uint64_t ff_detailloss_motion_row_c(const uint32_t *now, const uint32_t *before, int w)
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

av_cold void ff_detailloss_dsp_init(DetailLossDSPContext *dsp)
{
    dsp->load_row8       = ff_detailloss_load_row8_c;
    dsp->load_row16      = ff_detailloss_load_row16_c;
    dsp->split_columns   = ff_detailloss_split_columns_c;
    dsp->split_row       = ff_detailloss_split_row_c;
    dsp->coefficient_row = ff_detailloss_coefficient_row_c;
    dsp->sum_row         = ff_detailloss_sum_row_c;
    dsp->mask_row        = ff_detailloss_mask_row_c;
    dsp->cube_row        = ff_detailloss_cube_row_c;
    dsp->sum_lines8      = ff_detailloss_sum_lines8_c;
    dsp->sum_lines16     = ff_detailloss_sum_lines16_c;
    dsp->motion_row      = ff_detailloss_motion_row_c;

#if ARCH_X86 && HAVE_X86ASM
    ff_detailloss_dsp_init_x86(dsp);
#endif
}
