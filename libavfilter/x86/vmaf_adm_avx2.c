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

#include <stddef.h>
#include <stdint.h>

#include "libavutil/attributes.h"

#include "libavfilter/vmaf_adm_template.c"

/// Decide in vectors of float. If an angle is too close to one degree for them, do the row again.
static void angle_flag(int32_t *restrict dst, const int32_t *restrict bands, ptrdiff_t stride,
                       int w)
{
    const int32_t *e = bands, *r = bands + ADM_BANDS * stride;
    int is_close = 0;

    for (int x = 0; x < w; x++) {
        const float eh = e[x], ev = e[x + stride], rh = r[x], rv = r[x + stride];
        const float product = rh * eh + rv * ev;
        const float limit   = ADM_COS_1DEG_SQ * (rh * rh + rv * rv) * (eh * eh + ev * ev);
        const float margin  = product * product - limit;

        dst[x]    = -((product >= 0) & (margin >= 0));
        is_close |= vmaf_fabsf(margin) < limit * 0x1p-19f;
    }
    if (is_close)
        ff_vmaf_adm_angle_flag_c(dst, bands, stride, w);
}

av_cold void ff_vmaf_adm_dsp_init_avx2(ADMDSPContext *dsp)
{
    dsp->angle_flag   = angle_flag;
    dsp->cm_threshold = cm_threshold;
}
