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
#include "libavutil/macros.h"
#include "libavutil/x86/cpu.h"

#include "libavfilter/detailloss_dsp.h"

#define FILTER(name) ff_detailloss_ ## name
#include "rows_init.h"

ROW(load_row8, w,
    (float *dst, const uint8_t *src, int w, int shift, int mask, float unit),
    (dst, src, w, shift, mask, unit))
ROW(load_row16, w,
    (float *dst, const uint8_t *src, int w, int shift, int mask, float unit),
    (dst, src, w, shift, mask, unit))
ROW(split_columns, w,
    (float *low, float *high, const float *const line[4], int w),
    (low, high, line, w))
ROW(split_row, w,
    (float *low, float *high, const float *src, int w),
    (low, high, src, w))
ROW(coefficient_row, w,
    (float *const dst[DETAIL_NB_PARTS], const float *source, const float *encode,
     int w, float weight),
    (dst, source, encode, w, weight))
ROW(sum_row, w,
    (float *dst, const float *const src[DETAIL_ORIENTATIONS], int w),
    (dst, src, w))
ROW(mask_row, w,
    (float *dst, const float *above, const float *middle, const float *below, int w),
    (dst, above, middle, below, w))
ROW(sum_lines8, w,
    (uint32_t *dst, const uint8_t *src, ptrdiff_t stride, int w, int h, int shift, int mask),
    (dst, src, stride, w, h, shift, mask))
ROW(sum_lines16, w,
    (uint32_t *dst, const uint8_t *src, ptrdiff_t stride, int w, int h, int shift, int mask),
    (dst, src, stride, w, h, shift, mask))

/// These take whole vectors.
#define CUBE_ROW(opt, nb_lanes)                                                     \
uint64_t ff_detailloss_cube_row_ ## opt(const float *src, const float *mask,        \
                                        int w);                                     \
static uint64_t cube_row_ ## opt(const float *src, const float *mask, int w)        \
{                                                                                   \
    const int nb       = w / nb_lanes * nb_lanes;                                   \
    const uint64_t sum =                                                            \
        nb > 0 ? ff_detailloss_cube_row_ ## opt(src, mask, nb) : 0;                 \
                                                                                    \
    return sum + BELOW_ ## opt(cube_row)(src + nb, mask ? mask + nb : NULL,         \
                                         w - nb);                                   \
}

#define MOTION_ROW(opt, nb_lanes)                                                   \
uint64_t ff_detailloss_motion_row_ ## opt(const uint32_t *now,                      \
                                          const uint32_t *before, int w);           \
static uint64_t motion_row_ ## opt(const uint32_t *now, const uint32_t *before,     \
                                   int w)                                           \
{                                                                                   \
    const int nb       = w / nb_lanes * nb_lanes, done = nb * DETAIL_MOTION_CELL;   \
    const uint64_t sum =                                                            \
        nb > 0 ? ff_detailloss_motion_row_ ## opt(now, before, nb) : 0;             \
                                                                                    \
    return sum + BELOW_ ## opt(motion_row)(now + done, before + done, w - nb);      \
}

CUBE_ROW(avx2, 8)
CUBE_ROW(avx512icl, 16)
MOTION_ROW(avx2, 8)
MOTION_ROW(avx512icl, 16)

#define SET_FUNCTIONS(opt) do {                         \
    dsp->load_row8       = load_row8_ ## opt;           \
    dsp->load_row16      = load_row16_ ## opt;          \
    dsp->split_columns   = split_columns_ ## opt;       \
    dsp->split_row       = split_row_ ## opt;           \
    dsp->coefficient_row = coefficient_row_ ## opt;     \
    dsp->sum_row         = sum_row_ ## opt;             \
    dsp->mask_row        = mask_row_ ## opt;            \
    dsp->cube_row        = cube_row_ ## opt;            \
    dsp->sum_lines8      = sum_lines8_ ## opt;          \
    dsp->sum_lines16     = sum_lines16_ ## opt;         \
    dsp->motion_row      = motion_row_ ## opt;          \
} while (0)

av_cold void ff_detailloss_dsp_init_x86(DetailLossDSPContext *dsp)
{
#if ARCH_X86_64
    const int flags = av_get_cpu_flags();

    if (EXTERNAL_AVX2_FAST(flags))
        SET_FUNCTIONS(avx2);
    if (EXTERNAL_AVX512ICL(flags))
        SET_FUNCTIONS(avx512icl);
#endif
}
