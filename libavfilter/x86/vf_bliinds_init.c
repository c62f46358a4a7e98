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

#include "libavfilter/bliinds_dsp.h"

#define NB_LANES BLIINDS_NB_LANES

#define EXPAND_ROW(bits)                                                            \
void ff_bliinds_expand_row ## bits ## _avx2(int32_t *dst, const uint8_t *src,       \
                                            int w, int down, int black, int up);    \
static void expand_row ## bits(int32_t *dst, const uint8_t *src, int w,             \
                               int down, int black, int up)                         \
{                                                                                   \
    (w < NB_LANES ? ff_bliinds_expand_row ## bits ## _c :                           \
                    ff_bliinds_expand_row ## bits ## _avx2)(dst, src, w,            \
                                                            down, black, up);       \
}

EXPAND_ROW(8)
EXPAND_ROW(16)

void ff_bliinds_lowpass_row_avx2(int32_t *dst, const int32_t *above,
                                 const int32_t *middle, const int32_t *below, int w);
static void lowpass_row(int32_t *dst, const int32_t *above, const int32_t *middle,
                        const int32_t *below, int w)
{
    (w / 2 < NB_LANES ? ff_bliinds_lowpass_row_c : ff_bliinds_lowpass_row_avx2)
        (dst, above, middle, below, w);
}

void ff_bliinds_basis_row_avx2(float *high, float *low, ptrdiff_t stride,
                               const int32_t *line, int nb_blocks);
static void basis_row(float *high, float *low, ptrdiff_t stride,
                      const int32_t *line, int nb_blocks)
{
    (nb_blocks < NB_LANES ? ff_bliinds_basis_row_c : ff_bliinds_basis_row_avx2)
        (high, low, stride, line, nb_blocks);
}

#define BLOCK_ROW(name)                                                             \
void ff_bliinds_ ## name ## _row_high_avx2(float *dst, const float *const high[5],  \
                                           const float *const low[5],               \
                                           ptrdiff_t stride, int nb_blocks);        \
void ff_bliinds_ ## name ## _row_low_avx2(float *dst, const float *const high[5],   \
                                          const float *const low[5],                \
                                          ptrdiff_t stride, int nb_blocks);         \
static void name ## _row(float *dst, const float *const high[5],                    \
                         const float *const low[5], ptrdiff_t stride,               \
                         int nb_blocks)                                             \
{                                                                                   \
    (nb_blocks < NB_LANES ? ff_bliinds_ ## name ## _row_c :                         \
     low ? ff_bliinds_ ## name ## _row_low_avx2 :                                   \
           ff_bliinds_ ## name ## _row_high_avx2)(dst, high, low, stride, nb_blocks); \
}

BLOCK_ROW(block)
BLOCK_ROW(band)

void ff_bliinds_sum_rows_avx2(uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                              ptrdiff_t stride, int nb_rows, int nb_blocks);
static void sum_rows(uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                     ptrdiff_t stride, int nb_rows, int nb_blocks)
{
    const int nb = nb_blocks / NB_LANES * NB_LANES;

    if (nb > 0)
        ff_bliinds_sum_rows_avx2(sum, value, stride, nb_rows, nb);
    ff_bliinds_sum_rows_c(sum, value + nb, stride, nb_rows, nb_blocks - nb);
}

int ff_bliinds_count_flat_avx2(const float *band, ptrdiff_t stride, int nb_blocks);
static int count_flat(const float *band, ptrdiff_t stride, int nb_blocks)
{
    const int nb = nb_blocks / NB_LANES * NB_LANES;

    return (nb > 0 ? ff_bliinds_count_flat_avx2(band, stride, nb) : 0) +
           ff_bliinds_count_flat_c(band + nb, stride, nb_blocks - nb);
}

void ff_bliinds_gamma_row_avx2(uint64_t sum[BLIINDS_NB_LANES], uint16_t *gamma,
                               const float *rho, const float *table, int nb_blocks);
static void gamma_row(uint64_t sum[BLIINDS_NB_LANES], uint16_t *gamma,
                      const float *rho, const float *table, int nb_blocks)
{
    const int nb = nb_blocks / NB_LANES * NB_LANES;

    if (nb > 0)
        ff_bliinds_gamma_row_avx2(sum, gamma, rho, table, nb);
    ff_bliinds_gamma_row_c(sum, gamma + nb, rho + nb, table, nb_blocks - nb);
}

int ff_bliinds_select_avx2(float *dst, uint64_t above[2], const float *value, int n,
                           const float range[2]);
static int select(float *dst, uint64_t above[2], const float *value, int n,
                  const float range[2])
{
    const int nb   = n / NB_LANES * NB_LANES;
    const int done = nb > 0 ? ff_bliinds_select_avx2(dst, above, value, nb, range) : 0;

    return done + ff_bliinds_select_c(dst + done, above, value + nb, n - nb, range);
}

av_cold void ff_bliinds_dsp_init_x86(BLIINDSDSPContext *dsp)
{
#if ARCH_X86_64
    if (EXTERNAL_AVX2_FAST(av_get_cpu_flags())) {
        dsp->expand_row8  = expand_row8;
        dsp->expand_row16 = expand_row16;
        dsp->lowpass_row  = lowpass_row;
        dsp->basis_row    = basis_row;
        dsp->block_row    = block_row;
        dsp->band_row     = band_row;
        dsp->sum_rows     = sum_rows;
        dsp->count_flat   = count_flat;
        dsp->gamma_row    = gamma_row;
        dsp->select       = select;
    }
#endif
}
