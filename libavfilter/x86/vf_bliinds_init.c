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
 * Selection of the x86 assembly functions of BLIINDSDSPContext.
 */

#include "libavutil/attributes.h"
#include "libavutil/x86/cpu.h"

#include "libavfilter/bliinds_dsp.h"

#define FUNCTIONS(opt)                                                                      \
void ff_bliinds_expand_row8_ ## opt(int32_t *dst, const uint8_t *src, int w,                \
                                    int down, int black, int up);                           \
void ff_bliinds_expand_row16_ ## opt(int32_t *dst, const uint8_t *src, int w,               \
                                     int down, int black, int up);                          \
void ff_bliinds_lowpass_row_ ## opt(int32_t *dst, const int32_t *above,                     \
                                    const int32_t *middle, const int32_t *below, int w);    \
void ff_bliinds_motion_row_ ## opt(uint64_t sum[2], int16_t *prev,                          \
                                   const int32_t *line, int w);                             \
void ff_bliinds_dct5_row_ ## opt(float *upper, float *lower, ptrdiff_t stride,              \
                                 const int32_t *line, int nb_blocks);                       \
void ff_bliinds_block_row_ ## opt(float *dst, const float *const upper[5],                  \
                                  const float *const lower[5], ptrdiff_t stride,            \
                                  int nb_blocks);                                           \
void ff_bliinds_band_row_ ## opt(float *dst, const float *const upper[5],                   \
                                 const float *const lower[5], ptrdiff_t stride,             \
                                 int nb_blocks);                                            \
void ff_bliinds_sum_rows_ ## opt(uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,     \
                                 ptrdiff_t stride, int nb_rows, int nb_blocks);             \
void ff_bliinds_gamma_row_ ## opt(float *rho, const float *table, int nb_blocks);           \
int ff_bliinds_select_range_ ## opt(float *dst, uint64_t above[2], const float *value,      \
                                    int n, const float range[2]);                           \
                                                                                            \
static void set_ ## opt(BLIINDSDSPContext *dsp)                                             \
{                                                                                           \
    dsp->expand_row8  = ff_bliinds_expand_row8_ ## opt;                                     \
    dsp->expand_row16 = ff_bliinds_expand_row16_ ## opt;                                    \
    dsp->lowpass_row  = ff_bliinds_lowpass_row_ ## opt;                                     \
    dsp->motion_row   = ff_bliinds_motion_row_ ## opt;                                      \
    dsp->dct5_row     = ff_bliinds_dct5_row_ ## opt;                                        \
    dsp->block_row    = ff_bliinds_block_row_ ## opt;                                       \
    dsp->band_row     = ff_bliinds_band_row_ ## opt;                                        \
    dsp->sum_rows     = ff_bliinds_sum_rows_ ## opt;                                        \
    dsp->gamma_row    = ff_bliinds_gamma_row_ ## opt;                                       \
    dsp->select_range = ff_bliinds_select_range_ ## opt;                                    \
}

FUNCTIONS(avx2)
FUNCTIONS(avx512icl)

av_cold void ff_bliinds_dsp_init_x86(BLIINDSDSPContext *dsp)
{
#if ARCH_X86_64
    const int flags = av_get_cpu_flags();

    // select_range uses tzcnt and blsr
    if (EXTERNAL_AVX2_FAST(flags) && flags & AV_CPU_FLAG_BMI2)
        set_avx2(dsp);
    if (EXTERNAL_AVX512ICL(flags))
        set_avx512icl(dsp);
#endif
}
