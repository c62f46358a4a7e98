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
 * Loops of VMAF's ADM on the CPU.
 */

#ifndef AVFILTER_VMAF_DSP_H
#define AVFILTER_VMAF_DSP_H

#include <stddef.h>
#include <stdint.h>

#include "vmaf_arithmetic.h"

/// Bytes before and after a row, which may be read and written.
#define VMAF_PAD 64

/// Rows of what coefficients are split to: the weighed parts, band by band; what both mask around a
/// place, over the bands; and how much more at their own place.
enum VMAFADMRow {
    VMAF_ADM_NEAR = VMAF_ADM_PARTS * VMAF_ADM_BANDS,
    VMAF_ADM_HERE = VMAF_ADM_NEAR + VMAF_ADM_PARTS,
    VMAF_ADM_ROWS = VMAF_ADM_HERE + VMAF_ADM_PARTS
};

/**
 * The first ones of two are for the first scale. Rows of the bands are those of the main picture,
 * in the order of enum VMAFADMBand, then of the reference, stride elements apart. All rows but the
 * lines of frames may be read and written VMAF_PAD bytes before and after.
 */
typedef struct VMAFADMDSP {
    /// Filter the columns of four lines of w >= 16 samples to what is low and high. In the first
    /// scale both are int16_t, and the shift is the depth.
    void (*split_columns[2])(void *low, void *high, const void *const line[4], int shift, int w);
    /// Filter a row of these: coefficient x from src[2 * x - 1] on.
    void (*split_row[2])(int32_t *low, int32_t *high, const void *src, int shift, int w);
    /// -1 where reference and encode point to the same side, else 0
    void (*align_row)(int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w);
    /// Split coefficients to the rows of enum VMAFADMRow, stride elements apart.
    void (*part_row[2])(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                        const int32_t *is_aligned, const uint32_t weight[VMAF_ADM_BANDS], int w);
    /// The sum of vmaf_adm_cube().
    uint64_t (*cube_row)(const int32_t *value, const int32_t *threshold, const VMAFADMCube *cube,
                         int w);
} VMAFADMDSP;

void ff_vmaf_adm_dsp_init(VMAFADMDSP *dsp, int depth);
void ff_vmaf_adm_dsp_init_x86(VMAFADMDSP *dsp, int depth);

#endif /* AVFILTER_VMAF_DSP_H */
