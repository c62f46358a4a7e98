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
 * Visual information fidelity (VIF) as libvmaf computes it in integers: extractor on the CPU and features.
 */

#ifndef AVFILTER_VMAF_VIF_H
#define AVFILTER_VMAF_VIF_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"

#include "avfilter.h"
#include "vmaf_cpu.h"
#include "vmaf_vif_ops.h"

/// Sizes of the pictures of a pair, and the limit of the gain.
typedef struct VIFDims {
    int w[VIF_SCALES], h[VIF_SCALES];
    double gain_limit;          ///< vif_enhn_gain_limit, from 1 to 100
} VIFDims;

void ff_vmaf_vif_dims_init(VIFDims *dims, int w, int h, double gain_limit);

/// Compute the table of vif_log2_fraction().
void ff_vmaf_vif_log2_init(uint32_t table[VIF_LOG2_WORDS]);

/// Compute libvmaf's vif_scale0 to vif_scale3 of a pair.
void ff_vmaf_vif_features(double vif[VIF_SCALES], const VIFSums *sums);

#define VIF_MAX_PAIRS (VIF_RADIUS(0) + 1)

/**
 * Window of a scale for two neighbouring rows or columns, as pairs of samples that both use. A pair begins
 * at an offset from the first of the two.
 */
typedef struct VIFFilter {
    int16_t tap[VIF_MAX_PAIRS][2][2];   ///< [pair][output][sample]
    int32_t offset[VIF_MAX_PAIRS];
    int32_t nb_pairs;
} VIFFilter;

/// Set up the window of a scale. A tap of more than 15 bits is split.
void ff_vmaf_vif_filter_init(VIFFilter *filter, int scale);

/// Vertically filtered rows, less 2^15. Mean squares are split into halves of 16 bits.
enum VIFRow {
    VIF_MEAN,                                   ///< those of a pair
    VIF_SQUARE  = VIF_MEAN + PAIR_NB,           ///< lower and upper halves of both squares
    VIF_PRODUCT = VIF_SQUARE + 2 * PAIR_NB,     ///< halves of the product
    VIF_ROWS    = VIF_PRODUCT + 2
};

/// Horizontally filtered rows, of 32 bits.
#define VIF_STATS_ROWS (2 * PAIR_NB + 1)        ///< means, squares and the product

/// Row functions, of w pixels. Buffers may be read and written VMAF_PAD bytes before and after; rows of
/// frames may not.
typedef struct VIFDSPContext {
    /// Filter the columns of both pictures, to rows of enum VIFRow of two rows of the picture. row[2 i] and
    /// row[2 i + 1] are pair i of the filter. Samples of more than 8 bits are shifted up to 16.
    void (*vertical[2])(int16_t *dst[2], ptrdiff_t stride,
                        const uint8_t *const (*row)[2 * VIF_MAX_PAIRS], const VIFFilter *filter,
                        int shift, int w);
    /// Filter rows of enum VIFRow to VIF_STATS_ROWS of 32 bits.
    void (*horizontal)(uint32_t *dst, const int16_t *src, ptrdiff_t stride,
                       const VIFFilter *filter, int w);
    /// Add the pixels of a row to the sums of its scale. May overwrite elements behind the row.
    void (*statistics)(VIFScaleSums *sums, uint32_t *src, ptrdiff_t stride,
                       const uint16_t *log2_table, const double *gain_limit, int w);
    /// Filter a row of a picture of the next scale: its columns, then its row at even samples.
    void (*next_vertical[2])(uint16_t *dst, const uint8_t *const *row, const uint16_t *taps,
                             int radius, int depth, int w);
    void (*next_horizontal)(uint16_t *dst, const uint16_t *src, const uint16_t *taps, int radius,
                            int w);
} VIFDSPContext;

void ff_vmaf_vif_dsp_init(VIFDSPContext *dsp);
void ff_vmaf_vif_dsp_init_avx2(VIFDSPContext *dsp);
void ff_vmaf_vif_dsp_init_x86(VIFDSPContext *dsp);

/// Per-slice buffers and sums.
typedef struct VIFSlice {
    int16_t *row[2];            ///< enum VIFRow of two rows of the picture
    uint32_t *stats;            ///< VIF_STATS_ROWS of one row
    uint16_t *column;           ///< a vertically filtered row for the next scale
    VIFScaleSums sums;
} VIFSlice;

/// Extractor on the CPU. Rows are streamed; only the pictures of the next scale are stored.
typedef struct VIFContext {
    int depth, nb_slices;
    VIFDims dims;
    VIFDSPContext dsp;
    VIFFilter filter[VIF_SCALES];
    uint16_t *log2_table;       ///< of libvmaf, from 2^15 on
    ptrdiff_t stride;           ///< elements of a row of enum VIFRow and of the statistics
    ptrdiff_t image_stride[VIF_SCALES];
    uint16_t *image[VIF_SCALES][PAIR_NB];       ///< pictures of a scale, but the first
    VIFSlice *slice;
    VMAFBuffers buffers;

    const AVFrame *frame[PAIR_NB];
    int scale, nb_jobs;         ///< current scale, -1 before the first, and its jobs
    VIFSums *sums;              ///< result of the current pair
} VIFContext;

/// Allocate the buffers of an extractor. @return 0 or AVERROR(ENOMEM)
int ff_vmaf_vif_init(VIFContext *s, const VIFDims *dims, int depth, int nb_slices);

/// Begin to measure a pair.
void ff_vmaf_vif_begin(VIFContext *s, const AVFrame *encode, const AVFrame *reference, VIFSums *sums);

/// Set the next task, when the last one is done. @return 0 if there is none: the sums are set
int ff_vmaf_vif_next(VIFContext *s, VMAFTask *task);

void ff_vmaf_vif_close(VIFContext *s);

#endif /* AVFILTER_VMAF_VIF_H */
