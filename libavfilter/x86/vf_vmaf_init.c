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

#include "libavfilter/vmaf.h"

#define COLUMNS(suffix)                                                                     \
void ff_vmaf_split_columns ## suffix(void *low, void *high, const void *const line[4],      \
                                     int shift, int w);

COLUMNS(8_avx2)
COLUMNS(16_avx2)
COLUMNS(_avx2)

#define ROWS(suffix)                                                                        \
void ff_vmaf_split_row ## suffix(int32_t *low, int32_t *high, const void *src, int shift,   \
                                 int w);                                                    \
void ff_vmaf_part_row ## suffix(int32_t *dst, const int32_t *bands, ptrdiff_t stride,       \
                                const int32_t *is_aligned, const uint32_t *weight, int w);

ROWS(0_avx2)
ROWS(_avx2)

uint64_t ff_vmaf_cube_row_avx2(const int32_t *value, const int32_t *threshold,
                               const ADMCubeShifts *cube, int w);

av_cold void ff_vmaf_adm_dsp_init_x86(VMAFADMDSP *dsp, int depth)
{
#if ARCH_X86_64
    if (!EXTERNAL_AVX2_FAST(av_get_cpu_flags()))
        return;
    dsp->split_columns[0] = depth == 8 ? ff_vmaf_split_columns8_avx2
                                       : ff_vmaf_split_columns16_avx2;
    dsp->split_columns[1] = ff_vmaf_split_columns_avx2;
    dsp->split_row[0]     = ff_vmaf_split_row0_avx2;
    dsp->split_row[1]     = ff_vmaf_split_row_avx2;
    dsp->part_row[0]      = ff_vmaf_part_row0_avx2;
    dsp->part_row[1]      = ff_vmaf_part_row_avx2;
    dsp->cube_row         = ff_vmaf_cube_row_avx2;
#endif
}
