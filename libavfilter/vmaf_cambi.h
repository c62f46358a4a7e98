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
 * CAMBI: banding in the luma of the encode
 */

#ifndef AVFILTER_VMAF_CAMBI_H
#define AVFILTER_VMAF_CAMBI_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/frame.h"

#include "avfilter.h"
#include "vmaf_cambi_ops.h"
#include "vmaf_cpu.h"

/// Parameters of CAMBI other than the encoded picture.
enum CAMBIModel {
    CAMBI_MODEL_V1,             ///< parameters of the v1 models of VMAF
    CAMBI_MODEL_LIBVMAF,        ///< defaults of libvmaf's feature: neither a luminance threshold nor speed-up
    CAMBI_NB_MODELS
};

/// libvmaf's enc_width, enc_height and enc_bitdepth: the encoded picture, if it differs from the one
/// that is shown. 0 if it does not.
typedef struct CAMBIOptions {
    int width, height, depth;
    int model;                  ///< enum CAMBIModel
} CAMBIOptions;

/// Return the largest score.
int ff_vmaf_cambi_max(enum CAMBIModel model);

/// Set up for pictures of a size, with samples in the lower bits. @return 0, or AVERROR(EINVAL) after a message
int ff_vmaf_cambi_dims_init(CAMBIDims *s, AVFilterContext *ctx, int width, int height, int depth,
                            const CAMBIOptions *options);

/// Set dst[i] to 1 / i, for i from 1 to window * window.
void ff_vmaf_cambi_reciprocals(float *dst, int window);

/// Set the nearest of n source columns or rows for each of nb.
void ff_vmaf_cambi_positions(int *dst, int n, int nb);

/// Return how many of a scale's nb c-values are pooled, the largest ones.
int ff_vmaf_cambi_top(int nb);

/// Compute the score from the mean of the pooled c-values of each scale.
double ff_vmaf_cambi_score(const CAMBIDims *s, const double mean[CAMBI_SCALES]);

#define CAMBI_MASKED (1 << 15)  ///< set in samples inside the spatial mask: they may be banding

/// Return the number of values that have a c-value.
static av_always_inline int cambi_band_size(int vis_lum)
{
    return CAMBI_V_BAND_END - cambi_band_base(vis_lum);
}

/// Return the bin of a sample: cambi_band_size() if it is not masked, too dark or too bright.
static av_always_inline uint16_t cambi_bin(uint16_t sample, int vis_lum)
{
    const uint16_t value = sample - (CAMBI_MASKED | cambi_band_base(vis_lum));

    return FFMIN(value, cambi_band_size(vis_lum));
}

/**
 * Row functions, of w samples. Buffers may be read and written VMAF_PAD bytes before and after; rows of
 * frames may not.
 */
typedef struct CAMBIDSPContext {
    /// Read a row with 10 bits. src_x: source column of each sample, NULL if equal.
    void (*source)(uint16_t *dst, const uint8_t *src, const int *src_x, int depth, int shift, int w);
    /// Average 2x2 samples.
    void (*anti_dither)(uint16_t *dst, const uint16_t *above, const uint16_t *below, int w);
    /// Copy every second sample.
    void (*subsample)(uint16_t *dst, const uint16_t *src, int w);
    /// Replace the oldest row of zero derivatives, and update the sums over the columns.
    void (*zero_derivative)(uint8_t *nb_zero_derivative, uint8_t *zero_derivative,
                            const uint16_t *row, const uint16_t *below, int is_inside, int w);
    /// Set CAMBI_MASKED in the samples around which more than mask_index derivatives are zero
    /// (libvmaf's get_spatial_mask()). step: 2 if dst is subsampled. mask: scratch, step * w bytes
    void (*mask)(uint16_t *dst, uint8_t *mask, const uint8_t *nb_zero_derivative,
                 uint8_t mask_index, int step, int w);
    /// Apply cambi_mode3(); CAMBI_MASKED is that of b.
    void (*mode3)(uint16_t *dst, const uint16_t *a, const uint16_t *b, const uint16_t *c, int w);
    /// Find the starts of segments: consecutive samples of one value. Sets [w] as well, as the end of
    /// the last one.
    void (*segment)(uint8_t *is_start, const uint16_t *row, int vis_lum, int w);
    /// Add a row to the histograms (sign 1), or subtract it (sign -1).
    void (*hist)(uint16_t *hist, ptrdiff_t stride, const int16_t *ramp, const uint16_t *row,
                 const uint8_t *is_start, int window, int vis_lum, int sign, int w);
    /// Compute the c-values of a row's masked samples. factor: scratch. @return their number
    int (*c_value)(float *dst, float *factor, const uint16_t *hist, ptrdiff_t stride,
                   const float *reciprocal, const uint16_t *row, const uint8_t *is_start,
                   int window, int vis_lum, int w);
} CAMBIDSPContext;

void ff_vmaf_cambi_dsp_init(CAMBIDSPContext *dsp);
void ff_vmaf_cambi_dsp_init_avx2(CAMBIDSPContext *dsp);

/**
 * Histogram of c-values by exponent and five bits: bin 0 is zero, the others are [1/2, 2^13). A
 * c-value is at least the contrast of one sample to any number of others, n / (n + 1), and at most
 * CAMBI_NUM_DIFFS * n / 4 in a window of n samples.
 */
#define CAMBI_C_SHIFT 18                            ///< bits of a float below its bin
#define CAMBI_C_BASE  ((126 << (23 - CAMBI_C_SHIFT)) - 1)
#define CAMBI_C_BINS  ((14 << (23 - CAMBI_C_SHIFT)) + 1)

/// Per-slice buffers and results.
typedef struct CAMBISlice {
    uint16_t *source[2];        ///< ring of rows of the encode with 10 bits; row y is at y % 2
    uint16_t *row[2];           ///< ring of these rows after anti_dither
    /// ring of rows: whether a sample equals the next one and the one below
    uint8_t *zero_derivative[CAMBI_MASK_SIZE];
    uint8_t *nb_zero_derivative;    ///< sums over the columns of the ring
    uint8_t *mask;
    uint16_t *mode[3];          ///< ring of horizontally filtered rows; row y is at y % 3
    uint16_t *hist;             ///< [values][stride] histograms of the masked samples in windows
    float *c_values;            ///< c-values of masked samples
    float *factor;              ///< reciprocals for a segment
    int nb_c_values;
    uint32_t c_hist[CAMBI_C_BINS];  ///< histogram of the c-values
    uint64_t sum;               ///< of the c-values above the threshold's bin, in 2^-24
    int nb_candidates;          ///< c-values of the threshold's bin: the first ones of c_values
} CAMBISlice;

/// Extractor on the CPU.
typedef struct CAMBIContext {
    CAMBIDims dims;
    int nb_slices;
    CAMBIDSPContext dsp;
    int *src_x, *src_y;         ///< source column and row of each one of the encode; NULL if equal
    float reciprocal[CAMBI_MAX_WINDOW * CAMBI_MAX_WINDOW + 1];
    int hist_stride;
    int16_t *ramp;              ///< 1, 2, 3...
    uint16_t *image[2];         ///< images of the current scale and the previous one
    uint8_t *is_start;          ///< whether a segment of equal samples begins
    CAMBISlice *slice;
    VMAFBuffers buffers;

    const AVFrame *frame;       ///< current frame
    const uint16_t *src;        ///< image of the previous scale
    uint16_t *dst;              ///< image of the current scale
    int src_w, step, w, h;      ///< width of src, its subsampling, and size of dst
    int nb_tasks;               ///< tasks that are done or begun: the image, then two for each scale
    int threshold_bin;          ///< bin of the least c-value that is pooled
    int nb_top, nb_remaining;   ///< c-values of a scale that are pooled; those in this bin
    double mean[CAMBI_SCALES];  ///< means of the pooled c-values
    double *score;              ///< result of the current frame
    float *heatmap;             ///< [h][w] c-values of the first scale, or NULL if they are not wanted
} CAMBIContext;

/**
 * Allocate the buffers of an extractor.
 *
 * @param width  size of the frames
 * @return 0 or AVERROR(ENOMEM)
 */
int ff_vmaf_cambi_init(CAMBIContext *s, const CAMBIDims *dims, int width, int height,
                       int nb_slices);

/// Have the c-values of the first scale kept, in s->heatmap. @return 0 or AVERROR(ENOMEM)
int ff_vmaf_cambi_keep_heatmap(CAMBIContext *s);

/// Return a c-value of the heatmap at a sample of the frame, in units of the score: 0 to 16.
double ff_vmaf_cambi_heat(const CAMBIContext *s, int x, int y);

/// Begin to score a frame.
void ff_vmaf_cambi_begin(CAMBIContext *s, const AVFrame *encode, double *score);

/// Set the next task, when the last one is done. @return 0 if there is none: the score is set
int ff_vmaf_cambi_next(CAMBIContext *s, VMAFTask *task);

void ff_vmaf_cambi_close(CAMBIContext *s);

#endif /* AVFILTER_VMAF_CAMBI_H */
