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

#include <assert.h>
#include <stddef.h>

#include "libavutil/attributes.h"
#include "libavutil/x86/cpu.h"

#include "libavfilter/vmaf_adm.h"

// in the assembly
static_assert(!offsetof(ADMScale, csf_weight) && offsetof(ADMScale, gain.factor) == 16 &&
              offsetof(ADMScale, gain.max) == 20, "ADMScale");

#define DWT_VERTICAL(suffix)                                                                \
void ff_vmaf_adm_dwt_vertical ## suffix(void *low, void *high, const void *const line[4],   \
                                        int shift, int w);

DWT_VERTICAL(8_avx2)
DWT_VERTICAL(16_avx2)
DWT_VERTICAL(_avx2)

#define ROWS(suffix)                                                                        \
void ff_vmaf_adm_dwt_horizontal ## suffix(int32_t *low, int32_t *high, const void *src,     \
                                          int shift, int w);                                \
void ff_vmaf_adm_decouple ## suffix(int32_t *dst, const int32_t *bands, ptrdiff_t stride,   \
                                    const int32_t *angle_flag, const ADMScale *scale, int w);

ROWS(0_avx2)
ROWS(_avx2)

uint64_t ff_vmaf_adm_minkowski_sum_avx2(const int32_t *value, const int32_t *threshold,
                                        const ADMCubeShifts *shifts, int w);

av_cold void ff_vmaf_adm_dsp_init_x86(ADMDSPContext *dsp, int depth, int gain_factor)
{
#if ARCH_X86_64
    if (!EXTERNAL_AVX2_FAST(av_get_cpu_flags()))
        return;
    dsp->dwt_vertical[0]   = depth == 8 ? ff_vmaf_adm_dwt_vertical8_avx2
                                        : ff_vmaf_adm_dwt_vertical16_avx2;
    dsp->dwt_vertical[1]   = ff_vmaf_adm_dwt_vertical_avx2;
    dsp->dwt_horizontal[0] = ff_vmaf_adm_dwt_horizontal0_avx2;
    dsp->dwt_horizontal[1] = ff_vmaf_adm_dwt_horizontal_avx2;
    if (gain_factor) {
        dsp->decouple[0]   = ff_vmaf_adm_decouple0_avx2;
        dsp->decouple[1]   = ff_vmaf_adm_decouple_avx2;
    }
    dsp->minkowski_sum     = ff_vmaf_adm_minkowski_sum_avx2;
#endif
}
