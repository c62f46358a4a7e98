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

#include "libavfilter/vmaf_vif.h"

// in the assembly
static_assert(!offsetof(VIFFilter, tap) && offsetof(VIFFilter, offset) == 72 &&
              offsetof(VIFFilter, nb_pairs) == 108, "VIFFilter");

#define VERTICAL(bits)                                                                      \
void ff_vmaf_vif_vertical ## bits ## _avx2(int16_t *dst[2], ptrdiff_t stride,               \
                                           const uint8_t *const (*row)[2 * VIF_MAX_PAIRS],  \
                                           const VIFFilter *filter, int shift, int w);

VERTICAL(8)
VERTICAL(16)

void ff_vmaf_vif_horizontal_avx2(uint32_t *dst, const int16_t *src, ptrdiff_t stride,
                                 const VIFFilter *filter, int w);
void ff_vmaf_vif_statistics_avx2(VIFScaleSums *sums, uint32_t *src, ptrdiff_t stride,
                                 const uint16_t *log2_table, const double *gain_limit, int w);

av_cold void ff_vmaf_vif_dsp_init_x86(VIFDSPContext *dsp)
{
#if ARCH_X86_64
    if (!EXTERNAL_AVX2_FAST(av_get_cpu_flags()))
        return;
    dsp->vertical[0] = ff_vmaf_vif_vertical8_avx2;
    dsp->vertical[1] = ff_vmaf_vif_vertical16_avx2;
    dsp->horizontal  = ff_vmaf_vif_horizontal_avx2;
    dsp->statistics  = ff_vmaf_vif_statistics_avx2;
#endif
}
