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


#include "libavutil/attributes.h"
#include "libavutil/x86/cpu.h"

#include "libavfilter/detailloss_dsp.h"

/// Elements that the functions take at a time, and the least that they are given.
#define NB_LANES 8

#define LOAD_ROW(bits)                                                              \
void ff_detailloss_load_row ## bits ## _avx2(float *dst, const uint8_t *src, int w, \
                                             int shift, int mask, float unit);      \
static void load_row ## bits(float *dst, const uint8_t *src, int w,                 \
                             int shift, int mask, float unit)                       \
{                                                                                   \
    (w < NB_LANES ? ff_detailloss_load_row ## bits ## _c :                          \
                    ff_detailloss_load_row ## bits ## _avx2)(dst, src, w,           \
                                                             shift, mask, unit);    \
}

LOAD_ROW(8)
LOAD_ROW(16)

void ff_detailloss_split_columns_avx2(float *low, float *high,
                                      const float *const line[4], int w);
static void split_columns(float *low, float *high, const float *const line[4], int w)
{
    (w < NB_LANES ? ff_detailloss_split_columns_c : ff_detailloss_split_columns_avx2)
        (low, high, line, w);
}

void ff_detailloss_split_row_avx2(float *low, float *high, const float *src, int w);
static void split_row(float *low, float *high, const float *src, int w)
{
    (w < NB_LANES ? ff_detailloss_split_row_c : ff_detailloss_split_row_avx2)
        (low, high, src, w);
}

void ff_detailloss_coefficient_row_avx2(float *const dst[DETAIL_NB_PARTS],
                                        const float *source, const float *encode,
                                        int w, float weight);
static void coefficient_row(float *const dst[DETAIL_NB_PARTS], const float *source,
                            const float *encode, int w, float weight)
{
    (w < NB_LANES ? ff_detailloss_coefficient_row_c : ff_detailloss_coefficient_row_avx2)
        (dst, source, encode, w, weight);
}

void ff_detailloss_sum_row_avx2(float *dst, const float *const src[DETAIL_ORIENTATIONS],
                                int w);
static void sum_row(float *dst, const float *const src[DETAIL_ORIENTATIONS], int w)
{
    (w < NB_LANES ? ff_detailloss_sum_row_c : ff_detailloss_sum_row_avx2)(dst, src, w);
}

void ff_detailloss_mask_row_avx2(float *dst, const float *above, const float *middle,
                                 const float *below, int w);
static void mask_row(float *dst, const float *above, const float *middle,
                     const float *below, int w)
{
    (w < NB_LANES ? ff_detailloss_mask_row_c : ff_detailloss_mask_row_avx2)
        (dst, above, middle, below, w);
}

uint64_t ff_detailloss_cube_row_avx2(const float *src, const float *hidden, int w);
static uint64_t cube_row(const float *src, const float *hidden, int w)
{
    const int nb = w / NB_LANES * NB_LANES;
    const uint64_t sum = nb > 0 ? ff_detailloss_cube_row_avx2(src, hidden, nb) : 0;

    return sum + ff_detailloss_cube_row_c(src + nb, hidden ? hidden + nb : NULL, w - nb);
}

av_cold void ff_detailloss_dsp_init_x86(DetailLossDSPContext *dsp)
{
#if ARCH_X86_64
    if (EXTERNAL_AVX2_FAST(av_get_cpu_flags())) {
        dsp->load_row8       = load_row8;
        dsp->load_row16      = load_row16;
        dsp->split_columns   = split_columns;
        dsp->split_row       = split_row;
        dsp->coefficient_row = coefficient_row;
        dsp->sum_row         = sum_row;
        dsp->mask_row        = mask_row;
        dsp->cube_row        = cube_row;
    }
#endif
}
