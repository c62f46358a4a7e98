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
 * SpEED chroma: the change of the entropy of U and V
 */

#ifndef AVFILTER_VMAF_SPEED_H
#define AVFILTER_VMAF_SPEED_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"

#include "avfilter.h"
#include "vmaf_cpu.h"
#include "vmaf_speed_ops.h"

#define VMAF_CHROMA 2           ///< planes of chroma

/// Sizes that chroma is scaled to: speed_prescale of the models.
enum VMAFPrescale {
    VMAF_PRESCALE_1,
    VMAF_PRESCALE_06,
    VMAF_PRESCALE_05,
    VMAF_NB_PRESCALES
};

/// Set up for chroma planes of w x h samples. @return 0, or AVERROR(EINVAL) after a message
int ff_vmaf_speed_dims_init(SpeedDims *s, AVFilterContext *ctx, int w, int h,
                            enum VMAFPrescale prescale);

/// Set the sources of nb scaled rows or columns, from n samples.
void ff_vmaf_speed_positions(SpeedPosition *dst, int n, int nb);

/// Return the number of values in the statistics of a plane: whether its covariance is singular, then
/// the variances of all blocks, then their entropies.
size_t ff_vmaf_speed_stats_size(const SpeedDims *s);

/**
 * Compute the scores of a pair.
 *
 * @param stats [VMAF_CHROMA][PAIR_NB][ff_vmaf_speed_stats_size()]
 * @param score of U, of V, and of both
 */
void ff_vmaf_speed_score(const SpeedDims *s, const float *stats, double score[VMAF_CHROMA + 1]);

/// Vectorized functions. Buffers may be read and written VMAF_PAD bytes before and after; rows of
/// frames may not.
typedef struct SpeedDSPContext {
    /// Add a row of w samples, times a tap.
    void (*add_row)(float *sum, float tap, const uint8_t *row, int depth, int w);
    /// Add a row of w scaled samples, times a tap. weight: that of row b
    void (*add_bilinear)(float *sum, float tap, const uint8_t *a, const uint8_t *b, float weight,
                         const SpeedPosition *src_x, int depth, int w);
    /// Compute the statistics of a plane, see ff_vmaf_speed_stats_size(), from its grid.
    void (*plane_stats)(const SpeedDims *s, const float *grid, float *stats);
} SpeedDSPContext;

void ff_vmaf_speed_dsp_init(SpeedDSPContext *dsp);
void ff_vmaf_speed_dsp_init_avx2(SpeedDSPContext *dsp);

/// Buffers of a plane of one picture. Each one is a job.
typedef struct SpeedPlane {
    float *sum;                 ///< a vertically filtered row, w samples
    float *grid, *blurred;      ///< grid_w * grid_h samples
} SpeedPlane;

/// Extractor on the CPU.
typedef struct SpeedContext {
    SpeedDims dims;
    int depth;
    SpeedDSPContext dsp;
    SpeedPosition *src_x, *src_y;
    SpeedPlane plane[VMAF_CHROMA][2];   ///< U and V of encode and reference
    float *stats;               ///< see ff_vmaf_speed_score()
    VMAFBuffers buffers;

    const AVFrame *frame[2];    ///< encode and reference of the current pair
    int begun;                  ///< whether the task is set
    double *score;              ///< result of the current pair
} SpeedContext;

/// Allocate the buffers of an extractor. @return 0 or AVERROR(ENOMEM)
int ff_vmaf_speed_init(SpeedContext *s, const SpeedDims *dims, int depth);

/// Begin to score a pair. @param score see ff_vmaf_speed_score()
void ff_vmaf_speed_begin(SpeedContext *s, const AVFrame *encode, const AVFrame *reference,
                         double score[VMAF_CHROMA + 1]);

/// Set the task, or the result when the task is done. @return 0 if the result is set
int ff_vmaf_speed_next(SpeedContext *s, VMAFTask *task);

void ff_vmaf_speed_close(SpeedContext *s);

#endif /* AVFILTER_VMAF_SPEED_H */
