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

#include "libavfilter/bliinds_dsp.h"

#define FILTER(name) ff_bliinds_ ## name
#include "rows_init.h"

ROW(expand_row8, w,
    (int32_t *dst, const uint8_t *src, int w, int down, int black, int up),
    (dst, src, w, down, black, up))
ROW(expand_row16, w,
    (int32_t *dst, const uint8_t *src, int w, int down, int black, int up),
    (dst, src, w, down, black, up))
ROW(lowpass_row, w / 2,
    (int32_t *dst, const int32_t *above, const int32_t *middle,
     const int32_t *below, int w),
    (dst, above, middle, below, w))
ROW(basis_row, nb_blocks,
    (float *high, float *low, ptrdiff_t stride, const int32_t *line, int nb_blocks),
    (high, low, stride, line, nb_blocks))
ROW(block_row, nb_blocks,
    (float *dst, const float *const high[5], const float *const low[5],
     ptrdiff_t stride, int nb_blocks),
    (dst, high, low, stride, nb_blocks))
ROW(band_row, nb_blocks,
    (float *dst, const float *const high[5], const float *const low[5],
     ptrdiff_t stride, int nb_blocks),
    (dst, high, low, stride, nb_blocks))

/// Functions that take whole vectors.
#define SUMS(opt, nb_lanes)                                                         \
void ff_bliinds_sum_rows_ ## opt(uint64_t (*sum)[BLIINDS_NB_LANES],                 \
                                 const float *value, ptrdiff_t stride,              \
                                 int nb_rows, int nb_blocks);                       \
static void sum_rows_ ## opt(uint64_t (*sum)[BLIINDS_NB_LANES],                     \
                             const float *value, ptrdiff_t stride,                  \
                             int nb_rows, int nb_blocks)                            \
{                                                                                   \
    const int nb = nb_blocks / nb_lanes * nb_lanes;                                 \
                                                                                    \
    if (nb > 0)                                                                     \
        ff_bliinds_sum_rows_ ## opt(sum, value, stride, nb_rows, nb);               \
    BELOW_ ## opt(sum_rows)(sum, value + nb, stride, nb_rows, nb_blocks - nb);      \
}                                                                                   \
                                                                                    \
int ff_bliinds_count_flat_ ## opt(const float *band, ptrdiff_t stride,              \
                                  int nb_blocks);                                   \
static int count_flat_ ## opt(const float *band, ptrdiff_t stride, int nb_blocks)   \
{                                                                                   \
    const int nb = nb_blocks / nb_lanes * nb_lanes;                                 \
                                                                                    \
    return (nb > 0 ? ff_bliinds_count_flat_ ## opt(band, stride, nb) : 0) +         \
           BELOW_ ## opt(count_flat)(band + nb, stride, nb_blocks - nb);            \
}                                                                                   \
                                                                                    \
void ff_bliinds_gamma_row_ ## opt(uint64_t sum[BLIINDS_NB_LANES], uint16_t *gamma,  \
                                  const float *rho, const float *table,             \
                                  int nb_blocks);                                   \
static void gamma_row_ ## opt(uint64_t sum[BLIINDS_NB_LANES], uint16_t *gamma,      \
                              const float *rho, const float *table, int nb_blocks)  \
{                                                                                   \
    const int nb = nb_blocks / nb_lanes * nb_lanes;                                 \
                                                                                    \
    if (nb > 0)                                                                     \
        ff_bliinds_gamma_row_ ## opt(sum, gamma, rho, table, nb);                   \
    BELOW_ ## opt(gamma_row)(sum, gamma + nb, rho + nb, table, nb_blocks - nb);     \
}                                                                                   \
                                                                                    \
int ff_bliinds_select_ ## opt(float *dst, uint64_t above[2], const float *value,    \
                              int n, const float range[2]);                         \
static int select_ ## opt(float *dst, uint64_t above[2], const float *value,        \
                          int n, const float range[2])                              \
{                                                                                   \
    const int nb   = n / nb_lanes * nb_lanes;                                       \
    const int done = nb > 0 ?                                                       \
        ff_bliinds_select_ ## opt(dst, above, value, nb, range) : 0;                \
                                                                                    \
    return done +                                                                   \
           BELOW_ ## opt(select)(dst + done, above, value + nb, n - nb, range);     \
}

SUMS(avx2, 8)
SUMS(avx512icl, 16)

#define SET_FUNCTIONS(opt) do {                     \
    dsp->expand_row8  = expand_row8_ ## opt;        \
    dsp->expand_row16 = expand_row16_ ## opt;       \
    dsp->lowpass_row  = lowpass_row_ ## opt;        \
    dsp->basis_row    = basis_row_ ## opt;          \
    dsp->block_row    = block_row_ ## opt;          \
    dsp->band_row     = band_row_ ## opt;           \
    dsp->sum_rows     = sum_rows_ ## opt;           \
    dsp->count_flat   = count_flat_ ## opt;         \
    dsp->gamma_row    = gamma_row_ ## opt;          \
    dsp->select       = select_ ## opt;             \
} while (0)

av_cold void ff_bliinds_dsp_init_x86(BLIINDSDSPContext *dsp)
{
#if ARCH_X86_64
    const int flags = av_get_cpu_flags();

    // the choice of the largest uses tzcnt and blsr
    if (EXTERNAL_AVX2_FAST(flags) && flags & AV_CPU_FLAG_BMI2)
        SET_FUNCTIONS(avx2);
    if (EXTERNAL_AVX512ICL(flags))
        SET_FUNCTIONS(avx512icl);
#endif
}
