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
 * Row functions of VIF without assembly. vmaf_vif.c includes this file, and so does x86/vmaf_vif_avx2.c,
 * which is compiled for AVX2.
 */

#include <stddef.h>
#include <stdint.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/macros.h"

#include "vmaf_vif.h"

/// Return 2048 log2(n) for n from 2^17 to 2^53 - 1, of which the 16 leading bits count.
static av_always_inline int log2_lookup(const uint16_t *table, uint64_t n)
{
    const union { double d; uint64_t i; } number = { .d = n };

    // the 15 bits after the leading one
    return table[number.i >> 37 & 0x7fff] + 2048 * ((int)(number.i >> 52) - 1023 - 15);
}

static void statistics_row(VIFScaleSums *sums, uint32_t *src, ptrdiff_t stride,
                           const uint16_t *log2_table, const double *gain_limit, int w)
{
    for (int x = 0; x < w; x++) {
        const uint32_t *at = src + x, mean[PAIR_NB] = { at[0], at[stride] };
        const VIFStats stats = vif_stats(mean, at[(2 + PAIR_REFERENCE) * stride],
                                         at[(2 + PAIR_MAIN) * stride], at[4 * stride]);

        if (vif_is_flat(stats)) {
            sums->num_non_log += stats.dis;
            sums->den_non_log++;
            continue;
        }
        sums->den_log += log2_lookup(log2_table, VIF_NOISE + (int64_t)stats.ref) - 2048 * 17;
        if (stats.cov > 0 && stats.dis > 0) {
            const VIFNumerator n = vif_numerator(stats, *gain_limit);

            sums->num_log += log2_lookup(log2_table, (uint64_t)n.signal + n.noise) -
                             log2_lookup(log2_table, n.noise);
        }
    }
}

/// Filter the columns of symmetrical rows. A constant radius makes vectors of the loop.
#define NEXT_VERTICAL(name, type, mask)                                                     \
static av_always_inline void name ## _radius(uint16_t *restrict dst,                        \
                                             const uint8_t *const *row,                     \
                                             const uint16_t *taps, int radius, int depth,   \
                                             int w)                                         \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        uint32_t sum = (((const type *)row[radius])[x] & (mask)) * (uint32_t)taps[0] +      \
                       (1u << (depth - 1));                                                 \
                                                                                            \
        for (int i = 1; i <= radius; i++)                                                   \
            sum += ((((const type *)row[radius - i])[x] & (mask)) +                         \
                    (((const type *)row[radius + i])[x] & (mask))) * (uint32_t)taps[i];     \
        dst[x] = sum >> depth;                                                              \
    }                                                                                       \
}                                                                                           \
                                                                                            \
static void name(uint16_t *dst, const uint8_t *const *row, const uint16_t *taps,            \
                 int radius, int depth, int w)                                              \
{                                                                                           \
    switch (radius) {                                                                       \
    case VIF_RADIUS(1): name ## _radius(dst, row, taps, VIF_RADIUS(1), depth, w); break;    \
    case VIF_RADIUS(2): name ## _radius(dst, row, taps, VIF_RADIUS(2), depth, w); break;    \
    default:            name ## _radius(dst, row, taps, VIF_RADIUS(3), depth, w);           \
    }                                                                                       \
}

NEXT_VERTICAL(next_vertical8,  uint8_t,  0xff)
NEXT_VERTICAL(next_vertical16, uint16_t, (1u << depth) - 1)

#define NEXT_BLOCK 64

static av_always_inline void next_horizontal_radius(uint16_t *restrict dst, const uint16_t *src,
                                                    const uint16_t *taps, int radius, int w)
{
    for (int x0 = 0; x0 < w; x0 += NEXT_BLOCK) {
        const int n = FFMIN(NEXT_BLOCK, w - x0);
        uint16_t phase[2][NEXT_BLOCK + VIF_RADIUS(1)];      // even and odd samples

        for (int x = 0; x < n + VIF_RADIUS(1); x++) {
            phase[0][x] = src[2 * (x0 + x) - VIF_RADIUS(1)];
            phase[1][x] = src[2 * (x0 + x) - VIF_RADIUS(1) + 1];
        }
        for (int x = 0; x < n; x++) {
            uint32_t sum = phase[0][x + VIF_RADIUS(2)] * (uint32_t)taps[0] + (1 << 15);

            for (int i = 1; i <= radius; i++) {
                const uint16_t *left  = phase[i & 1] + VIF_RADIUS(2) - (i + 1) / 2;
                const uint16_t *right = phase[i & 1] + VIF_RADIUS(2) + i / 2;

                sum += (left[x] + right[x]) * (uint32_t)taps[i];
            }
            dst[x0 + x] = sum >> 16;
        }
    }
}

static void next_horizontal(uint16_t *dst, const uint16_t *src, const uint16_t *taps, int radius,
                            int w)
{
    switch (radius) {
    case VIF_RADIUS(1): next_horizontal_radius(dst, src, taps, VIF_RADIUS(1), w); break;
    case VIF_RADIUS(2): next_horizontal_radius(dst, src, taps, VIF_RADIUS(2), w); break;
    default:            next_horizontal_radius(dst, src, taps, VIF_RADIUS(3), w);
    }
}
