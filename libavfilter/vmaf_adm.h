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
 * VMAF's ADM: detail loss (DLM) and additive impairment (AIM) of the encode
 */

#ifndef AVFILTER_VMAF_ADM_H
#define AVFILTER_VMAF_ADM_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"

#include "avfilter.h"
#include "vmaf_adm_ops.h"
#include "vmaf_cpu.h"

/// Properties in which the ADM of models differs, besides the limit of the gain.
typedef struct ADMParams {
    float csf[2][ADM_SCALES];   ///< contrast sensitivity by [is_diagonal][scale]
    /// Weights of the first scale in fixed point by [is_diagonal], where libvmaf has constants; else 0.
    uint32_t first_weight[2];
    double noise_weight;        ///< adm_noise_weight
    double dlm_weight;          ///< adm_dlm_weight: share of DLM in adm3, beside AIM
    double min_val;             ///< adm_min_val: least adm3
} ADMParams;

/**
 * Set up the scales of pictures of a size, in samples.
 *
 * @param gain_limit adm_enhn_gain_limit, from 1 to 100
 */
void ff_vmaf_adm_scales_init(ADMScale scale[ADM_SCALES], const ADMParams *params, double gain_limit,
                             int w, int h);

/// Features of a pair: libvmaf's adm2, aim, adm3 and adm_scale0 to adm_scale3.
typedef struct ADMFeatures {
    double adm2, aim, adm3, scale[ADM_SCALES];
} ADMFeatures;

/// Pool the sums of a pair (libvmaf's adm_score()).
ADMFeatures ff_vmaf_adm_features(const ADMScale scale[ADM_SCALES], const ADMSums *sums,
                                 const ADMParams *params);

/// Rows that coefficients are decoupled to: the weighted parts, band by band, and their masking.
enum ADMRow {
    ADM_CM_ROW           = ADM_PARTS * ADM_BANDS,   ///< masking of neighbours, summed over the bands
    ADM_CM_CENTRE_EXCESS = ADM_CM_ROW + ADM_PARTS,  ///< how much more it is at their own place
    ADM_ROWS             = ADM_CM_CENTRE_EXCESS + ADM_PARTS
};

/**
 * Row functions. The first ones of two are for the first scale. Rows of the bands are those of the
 * main picture, in the order of enum ADMBand, then of the reference, stride elements apart. All rows
 * but the lines of frames may be read and written VMAF_PAD bytes before and after.
 */
typedef struct ADMDSPContext {
    /// Filter the columns of four lines of w >= 16 samples to low and high frequencies. In the first
    /// scale both are int16_t, and the shift is the depth.
    void (*dwt_vertical[2])(void *low, void *high, const void *const line[4], int shift, int w);
    /// Filter a row of these: coefficient x from src[2 * x - 1] on.
    void (*dwt_horizontal[2])(int32_t *low, int32_t *high, const void *src, int shift, int w);
    /// Set dst to -1 where adm_within_1deg(), else to 0.
    void (*angle_flag)(int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w);
    /// Decouple coefficients to the rows of enum ADMRow, stride elements apart. The assembly needs a gain
    /// with a factor.
    void (*decouple[2])(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                        const int32_t *angle_flag, const ADMScale *scale, int w);
    /// Compute masking thresholds from three rows each of ADM_CM_ROW: sums over 3x3 and the excess.
    void (*cm_threshold)(int32_t *dst, const int32_t *const cm_row[3],
                         const int32_t *cm_centre_excess, int w);
    /// Return the sum of adm_cube().
    uint64_t (*minkowski_sum)(const int32_t *value, const int32_t *threshold,
                              const ADMCubeShifts *shifts, int w);
} ADMDSPContext;

/// @param gain_factor ADMGain.factor of the scales
void ff_vmaf_adm_dsp_init(ADMDSPContext *dsp, int depth, int gain_factor);
void ff_vmaf_adm_dsp_init_avx2(ADMDSPContext *dsp);
void ff_vmaf_adm_dsp_init_x86(ADMDSPContext *dsp, int depth, int gain_factor);

/// C version of angle_flag().
void ff_vmaf_adm_angle_flag_c(int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w);

/// Per-slice buffers and sums.
typedef struct ADMSlice {
    void *column[2];            ///< vertically filtered rows: low and high frequencies
    int32_t *band;              ///< rows of ADM_BANDS of both pictures
    int32_t *scratch;           ///< a row of a band
    int32_t *part[3];           ///< ring of rows of enum ADMRow; row y is at y % 3
    uint64_t sum_cubed[ADM_SUMS][ADM_BANDS];
} ADMSlice;

/// Extractor on the CPU. Rows are streamed; only the pictures of the next scale are stored.
typedef struct ADMContext {
    int depth, nb_slices;
    ADMDSPContext dsp;
    ptrdiff_t stride;           ///< elements of a row of bands and parts
    ptrdiff_t image_stride[ADM_SCALES];
    int32_t *image[ADM_SCALES][2];  ///< pictures of a scale, encode and reference: band_a of the last
    int32_t *zero_row;          ///< masking threshold of the reference
    ADMSlice *slice;
    VMAFBuffers buffers;

    const AVFrame *frame[2];    ///< encode and reference of the current pair
    const ADMScale *scale;      ///< current scale
    int nb_scales;              ///< scales that are measured or begun
    ADMSums *sums;              ///< result of the current pair
} ADMContext;

/// Allocate the buffers of an extractor for pictures of these scales. @return 0 or AVERROR(ENOMEM)
int ff_vmaf_adm_init(ADMContext *s, const ADMScale scale[ADM_SCALES], int depth, int nb_slices);

/// Begin to measure a pair.
void ff_vmaf_adm_begin(ADMContext *s, const AVFrame *encode, const AVFrame *reference,
                       const ADMScale scale[ADM_SCALES], ADMSums *sums);

/// Set the next task, when the last one is done. @return 0 if there is none: the sums are set
int ff_vmaf_adm_next(ADMContext *s, VMAFTask *task);

void ff_vmaf_adm_close(ADMContext *s);

#endif /* AVFILTER_VMAF_ADM_H */
