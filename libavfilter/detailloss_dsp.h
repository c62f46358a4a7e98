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
 * The functions of the CPU for rows of samples and of wavelet coefficients.
 */

#ifndef AVFILTER_DETAILLOSS_DSP_H
#define AVFILTER_DETAILLOSS_DSP_H

#include <stddef.h>
#include <stdint.h>

#include "detailloss_wavelet.h"

/// What the length of rows is a multiple of, but for those that are read from frames.
#define DETAIL_ALIGN 16

/**
 * Rows have w elements, where nothing else is said: a multiple of DETAIL_ALIGN. Inputs and outputs
 * do not overlap.
 */
typedef struct DetailLossDSPContext {
    /**
     * Luma in 8-bit steps, of uint8_t or of native uint16_t.
     *
     * @param w     any number from DETAIL_ALIGN on
     * @param shift right shift from src to a sample's value
     * @param mask  the bits of a value
     * @param unit  factor from a value to 8-bit steps
     */
    void (*load_row[2])(float *dst, const uint8_t *src, int w, int shift, int mask, float unit);

    /// detail_low() and detail_high() of each column of four rows.
    void (*split_columns)(float *low, float *high, const float *const line[4], int w);

    /// The same along a row: dst[x] from src[2 * x - 1] on.
    void (*split_row)(float *low, float *high, const float *src, int w);

    /// detail_coefficient() of a row, to the rows of DetailPart.
    void (*coefficient_row)(float *const dst[DETAIL_NB_PARTS], const float *source,
                            const float *encode, int w, float weight);

    /// Sum of the orientations.
    void (*sum_row)(float *dst, const float *const src[DETAIL_ORIENTATIONS], int w);

    /// detail_mask() of three rows.
    void (*mask_row)(float *dst, const float *above, const float *middle,
                     const float *below, int w);

    /**
     * @param mask masking threshold of each magnitude, or NULL for 0
     * @return sum of detail_cube()
     */
    uint64_t (*cube_row)(const float *src, const float *mask, int w);

    /**
     * Sums of the columns of h lines, of uint8_t or of native uint16_t.
     *
     * @param stride       from line to line, in bytes
     * @param w,shift,mask as in load_row
     */
    void (*sum_lines[2])(uint32_t *dst, const uint8_t *src, ptrdiff_t stride, int w, int h,
                         int shift, int mask);

    /**
     * @param now    sum_lines() of DETAIL_MOTION_CELL lines
     * @param before the same lines of the previous frame
     * @param w      number of cells, of DETAIL_MOTION_CELL columns each
     * @return sum of the absolute differences of the cells
     */
    uint64_t (*motion_row)(const uint32_t *now, const uint32_t *before, int w);
} DetailLossDSPContext;

/// @param narrowest the least w of load_row and sum_lines
void ff_detailloss_dsp_init(DetailLossDSPContext *dsp, int narrowest);
void ff_detailloss_dsp_init_x86(DetailLossDSPContext *dsp);

#endif /* AVFILTER_DETAILLOSS_DSP_H */
