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
 * Row function of ADM without assembly. vmaf_adm.c includes this file, and so does x86/vmaf_adm_avx2.c,
 * which is compiled for AVX2.
 */

#include <stddef.h>
#include <stdint.h>

#include "vmaf_adm.h"

static void cm_threshold(int32_t *restrict dst, const int32_t *const cm_row[3],
                         const int32_t *restrict cm_centre_excess, int w)
{
    const int32_t *restrict a = cm_row[0], *restrict b = cm_row[1], *restrict c = cm_row[2];

    for (int x = 0; x < w; x++)
        dst[x] = a[x - 1] + a[x] + a[x + 1] + b[x - 1] + b[x] + b[x + 1] +
                 c[x - 1] + c[x] + c[x + 1] + cm_centre_excess[x];
}
