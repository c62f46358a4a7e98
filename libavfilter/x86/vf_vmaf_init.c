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

#include "libavfilter/vmaf_cpu.h"

void ff_vmaf_split_columns8_avx2(void *low, void *high, const void *const line[4],
                                 int depth, int w);
void ff_vmaf_split_columns16_avx2(void *low, void *high, const void *const line[4],
                                  int depth, int w);
void ff_vmaf_split_columns_next_avx2(void *low, void *high, const void *const line[4],
                                     int depth, int w);
void ff_vmaf_split_columns_wide_avx2(void *low, void *high, const void *const line[4],
                                     int depth, int w);

#define DECLARE(suffix)                                                                     \
void ff_vmaf_split_row ## suffix(void *low, void *high, const void *src, int shift, int w); \
void ff_vmaf_align_row ## suffix(int32_t *dst, const uint8_t *bands, ptrdiff_t stride,      \
                                 int w);                                                    \
void ff_vmaf_part_row ## suffix(int32_t *dst, const uint8_t *bands, ptrdiff_t stride,       \
                                const int32_t *is_aligned,                                  \
                                const uint32_t weight[VMAF_ADM_BANDS], int w);              \
uint64_t ff_vmaf_source_row ## suffix(const void *src, int square_shift, int shift, int w);

DECLARE(0_avx2)
DECLARE(_avx2)

void ff_vmaf_threshold_row_avx2(int32_t *dst, const int32_t *above, const int32_t *row,
                                const int32_t *below, const int32_t *here, int w);
uint64_t ff_vmaf_cube_row_avx2(const int32_t *value, const int32_t *threshold, int unit,
                               int square_shift, int shift, int w);

#define FUNCTIONS(columns, suffix) (VMAFADMDSP){                                            \
    .split_columns = columns,                                                               \
    .split_row     = ff_vmaf_split_row ## suffix,                                           \
    .align_row     = ff_vmaf_align_row ## suffix,                                           \
    .part_row      = ff_vmaf_part_row ## suffix,                                            \
    .source_row    = ff_vmaf_source_row ## suffix,                                          \
    .threshold_row = ff_vmaf_threshold_row_avx2,                                            \
    .cube_row      = ff_vmaf_cube_row_avx2,                                                 \
}

av_cold void ff_vmaf_adm_dsp_init_x86(VMAFADMDSP dsp[VMAF_ADM_SCALES], int depth)
{
#if ARCH_X86_64
    if (!EXTERNAL_AVX2_FAST(av_get_cpu_flags()))
        return;
    dsp[0] = FUNCTIONS(depth == 8 ? ff_vmaf_split_columns8_avx2 : ff_vmaf_split_columns16_avx2,
                       0_avx2);
    dsp[1] = FUNCTIONS(ff_vmaf_split_columns_next_avx2, _avx2);
    for (int scale = 2; scale < VMAF_ADM_SCALES; scale++)
        dsp[scale] = FUNCTIONS(ff_vmaf_split_columns_wide_avx2, _avx2);
#endif
}
