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
 * Row functions of SSIMULACRA2 on the CPU
 */

#ifndef AVFILTER_SSIMULACRA2_DSP_H
#define AVFILTER_SSIMULACRA2_DSP_H

#include <stdint.h>

#include "ssimulacra2_ops.h"

/// Columns of a tile, in which rows are processed.
#define SSIMULACRA2_TILE 512

/// Elements of a row of buffers before and after a tile's columns, which may be read and written.
#define SSIMULACRA2_PAD 16

/// Sums of the groups of a tile, [sum][phase][group].
typedef float SSIMULACRA2GroupSums[SSIMULACRA2_SUMS][SSIMULACRA2_PHASES]
                                  [SSIMULACRA2_TILE / SSIMULACRA2_GROUP];

/// Filtered and unfiltered rows of a channel.
typedef struct SSIMULACRA2Rows {
    const float *x[PAIR_NB];    ///< samples of encode and reference
    const float *mu[PAIR_NB];   ///< filtered
    const float *squares, *error;   ///< filtered x1^2 + x2^2 and (x1 - x2)^2
} SSIMULACRA2Rows;

/// Row functions, for w elements. All but rows of frames may be read and written SSIMULACRA2_PAD elements beyond.
typedef struct SSIMULACRA2DSPContext {
    /// Read samples that are step bytes apart. @param depth bits of a sample, shift bits below it
    void (*unpack)(int32_t *dst, const uint8_t *src, int step, int depth, int shift, int w);

    /// Interpolate chroma vertically: add up four rows, multiplied by taps.
    void (*chroma_vertical)(int32_t *dst, const int32_t *const row[4], const int tap[4], int w);

    /**
     * Interpolate chroma horizontally to two samples of luma for each of chroma.
     *
     * @param src reads two samples before and after
     * @param w   samples of chroma
     */
    void (*chroma_horizontal)(float *dst, const int32_t *src, const SSIMULACRA2Chroma *chroma, int w);

    /// Convert Y'CbCr to linear RGB.
    void (*linear)(float *const rgb[3], const int32_t *y, const float *u, const float *v,
                   const SSIMULACRA2Matrix *matrix, const SSIMULACRA2Linear *table, int w);

    /// Convert a row of non-linear RGB samples to linear light.
    void (*linear_plane)(float *dst, const int32_t *src, const SSIMULACRA2Matrix *matrix,
                         const SSIMULACRA2Linear *table, int w);

    /// Convert linear RGB to XYB: ssimulacra2_xyb().
    void (*xyb)(float *x, float *y, float *b, const float *red, const float *green,
                const float *blue, int w);

    /// Compute x1^2 + x2^2 and (x1 - x2)^2.
    void (*products)(float *squares, float *error, const float *x1, const float *x2, int w);

    /// Halve two rows. @param w samples of dst
    void (*downscale)(float *dst, const float *upper, const float *lower, int w);

    /// Filter columns. The rows' products are added in their order.
    void (*vertical)(float *dst, const float *const row[SSIMULACRA2_TAPS],
                     const SSIMULACRA2Gaussian *gaussian, int w);

    /// Filter a row: ssimulacra2_horizontal().
    void (*horizontal)(float *dst, const float *src, const SSIMULACRA2Gaussian *gaussian, int w);

    /// Add the error maps of a row to the sums of its phase. @param mask bits of the sums that are needed
    void (*add_maps)(SSIMULACRA2GroupSums sums, int phase, const SSIMULACRA2Rows *rows, int mask,
                     int w);
} SSIMULACRA2DSPContext;

void ff_ssimulacra2_dsp_init(SSIMULACRA2DSPContext *dsp);
void ff_ssimulacra2_dsp_init_avx2(SSIMULACRA2DSPContext *dsp);

#endif /* AVFILTER_SSIMULACRA2_DSP_H */
