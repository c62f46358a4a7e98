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
 * Row functions of CAMBI. vmaf_cambi.c includes this file, and so does x86/vmaf_cambi_avx2.c, which is
 * compiled for AVX2.
 */

#include <stdint.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/intmath.h"
#include "libavutil/intreadwrite.h"

#include "vmaf_cambi.h"

#define VECTOR 16               ///< elements that are processed together

static void source_row(uint16_t *restrict dst, const uint8_t *restrict src8,
                       const int *restrict src_x, int depth, int shift, int w)
{
    const uint16_t *src16 = (const uint16_t *)src8;

    if (depth == 8) {
        for (int x = 0; x < w; x++)
            dst[x] = cambi_to_10bit(src8[src_x ? src_x[x] : x], 8);
    } else {
        for (int x = 0; x < w; x++)
            dst[x] = src16[src_x ? src_x[x] : x] >> shift & ((1 << depth) - 1);
        for (int x = 0; x < w && depth > 10; x++)
            dst[x] = cambi_to_10bit(dst[x], depth);
    }
}

static void anti_dither_row(uint16_t *restrict dst, const uint16_t *restrict above,
                            const uint16_t *restrict below, int w)
{
    // 16 bits are enough for four samples of 10
    for (int x = 0; x < w; x++)
        dst[x] = (uint16_t)(above[x] + above[x + 1] + below[x] + below[x + 1]) >> 2;
}

static void subsample_row(uint16_t *restrict dst, const uint16_t *restrict src, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = src[2 * x];
}

static void zero_derivative_row(uint8_t *restrict nb_zero_derivative,
                                uint8_t *restrict zero_derivative,
                                const uint16_t *restrict row, const uint16_t *restrict below,
                                int is_inside, int w)
{
    for (int x = 0; x < w; x++) {
        const uint8_t is_zero = (row[x] == row[x + 1]) & (row[x] == below[x]) & is_inside;

        nb_zero_derivative[x] += is_zero - zero_derivative[x];
        zero_derivative[x]     = is_zero;
    }
}

static void mask_row(uint16_t *restrict dst, uint8_t *restrict mask,
                     const uint8_t *restrict nb_zero_derivative, uint8_t mask_index, int step, int w)
{
    const int width = step * w;

    for (int x = 0; x < width; x++) {
        const uint8_t *at = nb_zero_derivative + x;
        const uint8_t sum = at[-3] + at[-2] + at[-1] + at[0] + at[1] + at[2] + at[3];

        mask[x] = sum > mask_index;
    }
    for (int x = 0; step == 1 && x < w; x++)
        dst[x] |= mask[x] * CAMBI_MASKED;
    for (int x = 0; step == 2 && x < w; x++)
        dst[x] |= mask[2 * x] * CAMBI_MASKED;
}

static void mode3_row(uint16_t *restrict dst, const uint16_t *restrict a,
                      const uint16_t *restrict b, const uint16_t *restrict c, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = cambi_mode3(a[x] & ~CAMBI_MASKED, b[x] & ~CAMBI_MASKED, c[x] & ~CAMBI_MASKED) |
                 (b[x] & CAMBI_MASKED);
}

static void segment_row(uint8_t *restrict is_start, const uint16_t *restrict row, int vis_lum, int w)
{
    AV_WN64(is_start + (w & ~7), 0);
    for (int x = 1; x < w; x++)
        is_start[x] = cambi_bin(row[x], vis_lum) != cambi_bin(row[x - 1], vis_lum);
    is_start[0] = 0;
    is_start[w] = 1;
}

/**
 * Add a segment of length samples to the histograms of the windows that overlap with it, or subtract
 * it.
 *
 * @param hist   the segment's bin of these windows
 * @param nb     number of windows
 * @param length number of samples, at most the size of a window
 */
static av_always_inline void hist_add_run(uint16_t *restrict hist, const int16_t *restrict ramp,
                                          int nb, int length, int sign)
{
    for (int x = 0; x < FFALIGN(nb, VECTOR); x++) {
        const int16_t from_end   = nb + 1 - ramp[x];
        const int16_t nb_samples = FFMIN3(ramp[x], from_end, (int16_t)length);

        hist[x] += sign * FFMAX(nb_samples, 0);
    }
}

static void hist_row(uint16_t *hist, ptrdiff_t stride, const int16_t *ramp, const uint16_t *row,
                     const uint8_t *is_start, int window, int vis_lum, int sign, int w)
{
    for (int x = 0, start = 0; x <= w; x += 8)
        for (uint64_t starts = AV_RL64(is_start + x); starts; starts &= starts - 1) {
            const int end = x + (ff_ctzll(starts) >> 3), n = end - start;
            const int bin = cambi_bin(row[start], vis_lum);

            if (bin < cambi_band_size(vis_lum))
                hist_add_run(hist + (bin + CAMBI_NUM_DIFFS) * stride + start, ramp, n + window - 1,
                             FFMIN(n, window), sign);
            start = end;
        }
}

/// Update the c-values of n samples by those of one difference.
static av_always_inline void c_value_diff(float *restrict dst, float *restrict factor,
                                          const uint16_t *restrict hist,
                                          const uint16_t *restrict above,
                                          const uint16_t *restrict below,
                                          const float *restrict reciprocal, int diff, int n)
{
    for (int x = 0; x < FFALIGN(n, VECTOR); x++)
        factor[x] = reciprocal[hist[x] + FFMAX(above[x], below[x])];
    for (int x = 0; x < FFALIGN(n, VECTOR); x++) {
        const float c = diff * hist[x] * FFMAX(above[x], below[x]) * factor[x];

        dst[x] = FFMAX(dst[x], c);
    }
}

static int c_value_row(float *dst, float *factor, const uint16_t *hist, ptrdiff_t stride,
                       const float *reciprocal, const uint16_t *row, const uint8_t *is_start,
                       int window, int vis_lum, int w)
{
    float *const begin = dst;

    for (int x = 0, start = 0; x <= w; x += 8)
        for (uint64_t starts = AV_RL64(is_start + x); starts; starts &= starts - 1) {
            const int end = x + (ff_ctzll(starts) >> 3), n = end - start;
            const int bin = cambi_bin(row[start], vis_lum);
            const uint16_t *h = hist + (bin + CAMBI_NUM_DIFFS) * stride + start + window / 2;

            start = end;
            if (bin == cambi_band_size(vis_lum))
                continue;
            memset(dst, 0, FFALIGN(n, VECTOR) * sizeof(*dst));
            for (int diff = 1; diff <= CAMBI_NUM_DIFFS; diff++)
                if (tvi_visible(bin + cambi_band_base(vis_lum), diff, vis_lum))
                    c_value_diff(dst, factor, h, h + diff * stride, h - diff * stride, reciprocal,
                                 diff, n);
            dst += n;
        }
    return dst - begin;
}

static const CAMBIDSPContext row_functions = {
    .source          = source_row,
    .anti_dither     = anti_dither_row,
    .subsample       = subsample_row,
    .zero_derivative = zero_derivative_row,
    .mask            = mask_row,
    .mode3           = mode3_row,
    .segment         = segment_row,
    .hist            = hist_row,
    .c_value         = c_value_row,
};
