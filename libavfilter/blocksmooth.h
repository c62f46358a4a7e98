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
 * Smoothing across an edge between blocks, by integers: the only copy, included by C and by
 * CUDA C. Also the options of both filters.
 *
 * The six samples across an edge are A B C | D E F, and x = D - C. Where C is
 * near B and D near E, both sides are flat and the step is likely the codec's:
 * it is smoothed over all six samples. Otherwise it may be part of the picture: it is
 * smoothed only if it is lower, and over four samples.
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

#define BLOCKSMOOTH_TAPS   6    ///< samples across an edge
#define BLOCKSMOOTH_TAPS_BEFORE 3    ///< of these, before it

/// Edges that are smoothed are multiples of the block size, which is one of these.
#define BLOCKSMOOTH_MIN_BLOCK 8
#define BLOCKSMOOTH_MAX_BLOCK 64

#define BLOCKSMOOTH_CUDA_TILE 32    ///< samples along a side of what a thread block smooths

/// The limits for a strength and a depth.
typedef struct BlockSmoothLimits {
    int flat;       ///< sides are flat where their samples differ by less
    int strong;     ///< lower steps between flat sides are smoothed
    int weak;       ///< lower steps between other sides are smoothed
    int max;        ///< largest value of a sample
} BlockSmoothLimits;

/// One component of a frame, and how its edges are smoothed.
typedef struct BlockSmoothComponent {
    uint8_t *data;              ///< first sample; on the device if the frame is a CUDA frame
    int linesize;               ///< bytes from a row to the next one
    int step;                   ///< bytes from a sample to the next one in its row
    int width, height;          ///< in samples
    int is_smoothed;            ///< whether the option planes selects the component
    int block;                  ///< size of blocks, a power of two
    int is_16bit;                ///< whether samples have 16 bits
    int shift;                  ///< left shift of values in their samples
    BlockSmoothLimits limits;
} BlockSmoothComponent;

/// Parameters of the kernel of blocksmooth_cuda.
typedef struct BlockSmoothCUDAParams {
    BlockSmoothComponent dst;   ///< component that is smoothed in place
    BlockSmoothComponent src;   ///< component that is copied to dst before, or dst again
} BlockSmoothCUDAParams;

/// The sample at x, y.
SHARED_INLINE uint8_t *blocksmooth_sample(const BlockSmoothComponent *c, int x, int y)
{
    return c->data + (ptrdiff_t)y * c->linesize + x * c->step;
}

/// Whether there is an edge before sample at of a line of n samples, with room to smooth it.
SHARED_INLINE int blocksmooth_is_edge(int at, int n, int block)
{
    return at > 0 && !(at & (block - 1)) && at + BLOCKSMOOTH_TAPS - BLOCKSMOOTH_TAPS_BEFORE <= n;
}

SHARED_INLINE int blocksmooth_clip(int value, int max)
{
    return value < 0 ? 0 : value > max ? max : value;
}

/// @param v A B C D E F
SHARED_INLINE void blocksmooth_edge(int v[BLOCKSMOOTH_TAPS], const BlockSmoothLimits *limits)
{
    const int x = v[3] - v[2], step = abs(x), max = limits->max;
    const int is_flat = abs(v[1] - v[2]) < limits->flat && abs(v[3] - v[4]) < limits->flat;

    if (step >= (is_flat ? limits->strong : limits->weak))
        return;
    // C's division rounds towards 0: a picture and its mirror image are smoothed alike
    if (is_flat) {
        v[0] = blocksmooth_clip(v[0] + x / 8, max);
        v[1] = blocksmooth_clip(v[1] + x / 4, max);
        v[4] = blocksmooth_clip(v[4] - x / 4, max);
        v[5] = blocksmooth_clip(v[5] - x / 8, max);
    } else {
        v[1] = blocksmooth_clip(v[1] + x / 8, max);
        v[4] = blocksmooth_clip(v[4] - x / 8, max);
    }
    // these lie between C and D
    v[2] += x / 2;
    v[3] -= x / 2;
}

/**
 * Smooth one line of samples across an edge.
 *
 * @param p    D
 * @param step bytes from a sample of the line to the next one
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

#ifndef __cplusplus     // the rest is not for kernels
/// @param qf strength, 1 to 255
static inline BlockSmoothLimits blocksmooth_limits(int qf, int depth)
{
    BlockSmoothLimits limits;

    limits.flat   = 5 << (depth - 8);
    limits.strong = 2 * qf << (depth - 8);
    limits.weak   = ((4 * qf << (depth - 8)) + 4) / 5;      // below 0.8 qf
    limits.max    = (1 << depth) - 1;
    return limits;
}

typedef struct BlockSmoothOptions {
    int qf;
    int planes;                 ///< bit mask
    int block;
} BlockSmoothOptions;

/**
 * Describe component i of a frame.
 *
 * @param desc describes the format of the samples
 */
static inline BlockSmoothComponent blocksmooth_component(const BlockSmoothOptions *opt,
                                                         const AVPixFmtDescriptor *desc,
                                                         const AVFrame *frame, int i)
{
    const AVComponentDescriptor *comp = &desc->comp[i];
    const int is_chroma = i == 1 || i == 2;
    // chroma may share a plane; RGB has planes in another order than components
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

/// The options; the filter's context has them as member.
#define BLOCKSMOOTH_OPTIONS(type, member)                                                   \
    { "qf", "set the strength: the steps that are smoothed are lower than twice it",        \
      offsetof(type, member.qf), AV_OPT_TYPE_INT, { .i64 = 127 }, 1, 255, BLOCKSMOOTH_FLAGS }, \
    { "planes", "set which planes to smooth, as a bit mask",                                \
      offsetof(type, member.planes), AV_OPT_TYPE_INT, { .i64 = 15 }, 0, 15, BLOCKSMOOTH_FLAGS }, \
    { "block", "set the size of blocks: 8, 16, 32 or 64",                                   \
      offsetof(type, member.block), AV_OPT_TYPE_INT, { .i64 = BLOCKSMOOTH_MIN_BLOCK },      \
      BLOCKSMOOTH_MIN_BLOCK, BLOCKSMOOTH_MAX_BLOCK, BLOCKSMOOTH_FLAGS }

/// @return 0, or AVERROR(EINVAL) after a message
static inline int blocksmooth_check_options(AVFilterContext *ctx)
{
    int64_t block = 0;

    av_opt_get_int(ctx->priv, "block", 0, &block);
    if (block & (block - 1)) {
        av_log(ctx, AV_LOG_ERROR, "Blocks of %d are not known; block can be 8, 16, 32 or "
               "64.\n", (int)block);
        return AVERROR(EINVAL);
    }
    return 0;
}

/// Change an option from the next frame on. After an error the old value stays.
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
