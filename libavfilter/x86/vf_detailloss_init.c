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

#define DECLARE(opt)                                                                            \
void ff_detailloss_load_row8_ ## opt(float *dst, const uint8_t *src, int w,                     \
                                     int shift, int mask, float unit);                          \
void ff_detailloss_load_row16_ ## opt(float *dst, const uint8_t *src, int w,                    \
                                      int shift, int mask, float unit);                         \
void ff_detailloss_split_columns_ ## opt(float *low, float *high, const float *const line[4],   \
                                         int w);                                                \
void ff_detailloss_split_row_ ## opt(float *low, float *high, const float *src, int w);         \
void ff_detailloss_coefficient_row_ ## opt(float *const dst[DETAIL_NB_PARTS],                   \
                                           const float *source, const float *encode,            \
                                           int w, float weight);                                \
void ff_detailloss_sum_row_ ## opt(float *dst, const float *const src[DETAIL_ORIENTATIONS],     \
                                   int w);                                                      \
void ff_detailloss_mask_row_ ## opt(float *dst, const float *above, const float *middle,        \
                                    const float *below, int w);                                 \
uint64_t ff_detailloss_cube_row_ ## opt(const float *src, const float *mask, int w);            \
void ff_detailloss_sum_lines8_ ## opt(uint32_t *dst, const uint8_t *src, ptrdiff_t stride,      \
                                      int w, int h, int shift, int mask);                       \
void ff_detailloss_sum_lines16_ ## opt(uint32_t *dst, const uint8_t *src, ptrdiff_t stride,     \
                                       int w, int h, int shift, int mask);                      \
uint64_t ff_detailloss_motion_row_ ## opt(const uint32_t *now, const uint32_t *before, int w);

DECLARE(avx2)
DECLARE(avx512icl)

#define FUNCTIONS(opt) (DetailLossDSPContext){                                                  \
    .load_row        = { ff_detailloss_load_row8_ ## opt, ff_detailloss_load_row16_ ## opt },   \
    .split_columns   = ff_detailloss_split_columns_ ## opt,                                     \
    .split_row       = ff_detailloss_split_row_ ## opt,                                         \
    .coefficient_row = ff_detailloss_coefficient_row_ ## opt,                                   \
    .sum_row         = ff_detailloss_sum_row_ ## opt,                                           \
    .mask_row        = ff_detailloss_mask_row_ ## opt,                                          \
    .cube_row        = ff_detailloss_cube_row_ ## opt,                                          \
    .sum_lines       = { ff_detailloss_sum_lines8_ ## opt, ff_detailloss_sum_lines16_ ## opt }, \
    .motion_row      = ff_detailloss_motion_row_ ## opt,                                        \
}

av_cold void ff_detailloss_dsp_init_x86(DetailLossDSPContext *dsp)
{
#if ARCH_X86_64
    const int flags = av_get_cpu_flags();

    if (EXTERNAL_AVX2_FAST(flags))
        *dsp = FUNCTIONS(avx2);
    if (EXTERNAL_AVX512ICL(flags))
        *dsp = FUNCTIONS(avx512icl);
#endif
}
