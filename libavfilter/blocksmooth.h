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
 * Integer arithmetic of smoothing across a block edge, included by C and by CUDA C, and options of
 * both filters. vf_blocksmooth.c cites the method.
 *
 * The six samples across an edge are A B C | D E F, and the step is x = D - C. If C is close to B
 * and D to E, both sides are flat and the step is probably a coding artifact: it is smoothed over
 * all six samples. Otherwise the step may belong to the picture: only a lower step is smoothed,
 * over four samples.
 */

#ifndef AVFILTER_BLOCKSMOOTH_H
#define AVFILTER_BLOCKSMOOTH_H

#include <stddef.h>
#include <stdint.h>

#ifndef __cplusplus
#include <stdlib.h>

#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/frame.h"
#include "libavutil/log.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "filters.h"
#endif

#include "shared_arith.h"

#define BLOCKSMOOTH_TAPS        6   ///< samples across an edge
#define BLOCKSMOOTH_TAPS_BEFORE 3   ///< samples before the edge

/// Minimum and maximum block size, a power of two. Edges lie at its multiples.
#define BLOCKSMOOTH_MIN_BLOCK 8
#define BLOCKSMOOTH_MAX_BLOCK 64

#define BLOCKSMOOTH_CUDA_TILE 32    ///< width and height of a thread block's tile, in samples

/// Limits of the smoothing for a strength and a depth, in sample steps.
typedef struct BlockSmoothLimits {
    int flat;       ///< a side is flat if its two samples next to the edge differ by less
    int strong;     ///< steps between flat sides are smoothed if they are lower
    int weak;       ///< other steps are smoothed if they are lower
    int max;        ///< maximum value of a sample
} BlockSmoothLimits;

/// A component of a frame, and the parameters of its smoothing.
typedef struct BlockSmoothComponent {
    uint8_t *data;              ///< first sample, in device memory for CUDA frames
    int linesize;               ///< bytes between rows
    int step;                   ///< bytes between samples of a row
    int width, height;          ///< in samples
    int is_smoothed;            ///< whether option planes selects the component
    int block;                  ///< block size in samples
    int is_16bit;                ///< whether a sample is a word of 16 bits
    int shift;                  ///< left shift of a sample in its word
    BlockSmoothLimits limits;
} BlockSmoothComponent;

/// Parameters of the kernel.
typedef struct BlockSmoothCUDAParams {
    BlockSmoothComponent dst;   ///< component to smooth in place
    BlockSmoothComponent src;   ///< component to copy to dst first; equals dst if in place
} BlockSmoothCUDAParams;

/// Return the address of the sample at x, y.
SHARED_INLINE uint8_t *blocksmooth_sample(const BlockSmoothComponent *c, int x, int y)
{
    return c->data + (ptrdiff_t)y * c->linesize + x * c->step;
}

/// Return whether there is an edge before sample at of a line of n samples, with room for its taps.
SHARED_INLINE int blocksmooth_is_edge(int at, int n, int block)
{
    return at > 0 && !(at & (block - 1)) && at + BLOCKSMOOTH_TAPS - BLOCKSMOOTH_TAPS_BEFORE <= n;
}

/// Clip a value to 0..max.
SHARED_INLINE int blocksmooth_clip(int value, int max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

/**
 * Smooth the samples across an edge.
 *
 * @param v samples A B C D E F, smoothed in place
 */
SHARED_INLINE void blocksmooth_edge(int v[BLOCKSMOOTH_TAPS], const BlockSmoothLimits *limits)
{
    const int x = v[3] - v[2], step = abs(x), max = limits->max;
    const int is_flat = abs(v[1] - v[2]) < limits->flat && abs(v[3] - v[4]) < limits->flat;

    if (step >= (is_flat ? limits->strong : limits->weak))
        return;
    // division rounds towards 0, so that a picture and its mirror image get the same result
    if (is_flat) {
        v[0] = blocksmooth_clip(v[0] + x / 8, max);
        v[1] = blocksmooth_clip(v[1] + x / 4, max);
        v[4] = blocksmooth_clip(v[4] - x / 4, max);
        v[5] = blocksmooth_clip(v[5] - x / 8, max);
    } else {
        v[1] = blocksmooth_clip(v[1] + x / 8, max);
        v[4] = blocksmooth_clip(v[4] - x / 8, max);
    }
    // the results lie between C and D: no clipping is needed
    v[2] += x / 2;
    v[3] -= x / 2;
}

/**
 * Smooth a line of samples across an edge.
 *
 * @param p    address of D, the first sample after the edge
 * @param step bytes between the samples of the line
 */
SHARED_INLINE void blocksmooth_line(uint8_t *p, ptrdiff_t step, const BlockSmoothComponent *c)
{
    int v[BLOCKSMOOTH_TAPS];

    p -= BLOCKSMOOTH_TAPS_BEFORE * step;
    UNROLL
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++)
        v[i] = (c->is_16bit ? *(const uint16_t *)(p + i * step) : p[i * step]) >> c->shift;
    blocksmooth_edge(v, &c->limits);
    UNROLL
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
        if (c->is_16bit)
            *(uint16_t *)(p + i * step) = v[i] << c->shift;
        else
            p[i * step] = v[i];
    }
}

#ifndef __cplusplus     // host code only
/// Return the limits for a strength qf, 1 to 255, and a depth of 8 to 16 bits.
static inline BlockSmoothLimits blocksmooth_limits(int qf, int depth)
{
    BlockSmoothLimits limits;

    limits.flat   = 5 << (depth - 8);
    limits.strong = 2 * qf << (depth - 8);
    limits.weak   = ((4 * qf << (depth - 8)) + 4) / 5;      // below 0.8 qf
    limits.max    = (1 << depth) - 1;
    return limits;
}

/// Values of the options.
typedef struct BlockSmoothOptions {
    int qf;                     ///< strength, 1 to 255
    int planes;                 ///< mask of the planes to smooth
    int block;                  ///< block size in samples
} BlockSmoothOptions;

/**
 * Return the parameters of component i of a frame.
 *
 * @param desc descriptor of the software format
 */
static inline BlockSmoothComponent blocksmooth_component(const BlockSmoothOptions *opt,
                                                         const AVPixFmtDescriptor *desc,
                                                         const AVFrame *frame, int i)
{
    const AVComponentDescriptor *comp = &desc->comp[i];
    const int is_chroma = i == 1 || i == 2;
    // option planes counts the components of YUV, whose chroma may share a plane, but planes of RGB
    const int plane = desc->flags & AV_PIX_FMT_FLAG_RGB ? comp->plane : i;

    return (BlockSmoothComponent){
        .data        = frame->data[comp->plane] + comp->offset,
        .linesize    = frame->linesize[comp->plane],
        .step        = comp->step,
        .width       = AV_CEIL_RSHIFT(frame->width,  is_chroma ? desc->log2_chroma_w : 0),
        .height      = AV_CEIL_RSHIFT(frame->height, is_chroma ? desc->log2_chroma_h : 0),
        .is_smoothed = opt->planes >> plane & 1,
        .block       = opt->block,
        .is_16bit     = comp->depth > 8,
        .shift       = comp->shift,
        .limits      = blocksmooth_limits(opt->qf, comp->depth),
    };
}

#define BLOCKSMOOTH_FLAGS                                                                   \
    (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_RUNTIME_PARAM)

/// Entries of the option table. The named member of the filter's context is a BlockSmoothOptions.
#define BLOCKSMOOTH_OPTIONS(type, member)                                                   \
    { "qf", "set the strength: steps of less than twice this value are smoothed",           \
      offsetof(type, member.qf), AV_OPT_TYPE_INT, { .i64 = 127 }, 1, 255, BLOCKSMOOTH_FLAGS }, \
    { "planes", "set which planes to smooth, as a bit mask",                                \
      offsetof(type, member.planes), AV_OPT_TYPE_INT, { .i64 = 15 }, 0, 15, BLOCKSMOOTH_FLAGS }, \
    { "block", "set the size of blocks: 8, 16, 32 or 64",                                   \
      offsetof(type, member.block), AV_OPT_TYPE_INT, { .i64 = BLOCKSMOOTH_MIN_BLOCK },      \
      BLOCKSMOOTH_MIN_BLOCK, BLOCKSMOOTH_MAX_BLOCK, BLOCKSMOOTH_FLAGS }

/// Check the block size. Return 0, or AVERROR(EINVAL) after a message.
static inline int blocksmooth_check_options(AVFilterContext *ctx)
{
    int64_t block = 0;

    av_opt_get_int(ctx->priv, "block", 0, &block);
    if (block & (block - 1)) {
        av_log(ctx, AV_LOG_ERROR, "Invalid block size %d: set block to 8, 16, 32 or 64.\n",
               (int)block);
        return AVERROR(EINVAL);
    }
    return 0;
}

/// Set an option for the frames that follow; process_command. An error keeps the old value.
static inline int blocksmooth_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                                      char *res, int res_len, int flags)
{
    int64_t block = 0;
    int ret;

    av_opt_get_int(ctx->priv, "block", 0, &block);
    ret = ff_filter_process_command(ctx, cmd, arg, res, res_len, flags);
    if (ret >= 0 && (ret = blocksmooth_check_options(ctx)) < 0)
        av_opt_set_int(ctx->priv, "block", block, 0);
    return ret;
}

#endif /* __cplusplus */

#endif /* AVFILTER_BLOCKSMOOTH_H */
