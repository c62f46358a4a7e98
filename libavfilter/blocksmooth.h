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
 * Smoothing across an edge between blocks, by integers, and the options of the filters.
 * vf_blocksmooth_cuda.cu has its own form of blocksmooth_edge(), for several lines at
 * once, with the same results.
 *
 * The six samples across an edge are A B C | D E F, and x = D - C. Where C is
 * near B and D near E, both sides are flat and the step is likely the codec's:
 * it is smoothed over all six samples. Otherwise it may be part of the picture: it is
 * smoothed only if it is lower, and over four samples.
 */

#ifndef AVFILTER_BLOCKSMOOTH_H
#define AVFILTER_BLOCKSMOOTH_H

#ifndef __cplusplus
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/opt.h"

#include "avfilter.h"
#include "filters.h"
#endif

#include "cuda/shared.h"

#define BLOCKSMOOTH_TAPS   6    ///< samples across an edge
#define BLOCKSMOOTH_BEFORE 3    ///< of these, before it

/// Edges that are smoothed are multiples of the block size, which is one of these.
#define BLOCKSMOOTH_MIN_BLOCK 8
#define BLOCKSMOOTH_MAX_BLOCK 64

/**
 * Whether there is an edge before sample at of a line of n samples, with room to smooth it.
 *
 * @param block a power of two
 */
SHARED_INLINE int blocksmooth_is_edge(int at, int n, int block)
{
    return at > 0 && !(at & (block - 1)) && at + BLOCKSMOOTH_TAPS - BLOCKSMOOTH_BEFORE <= n;
}

#ifndef __cplusplus     // what follows is not for kernels
/// The limits for a strength and a depth.
typedef struct BlockSmoothLimits {
    int flat;       ///< sides are flat where their samples differ by less
    int strong;     ///< lower steps between flat sides are smoothed
    int weak;       ///< lower steps between other sides are smoothed
    int max;        ///< largest value of a sample
} BlockSmoothLimits;

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

/// @param v A B C D E F
static inline void blocksmooth_edge(int v[BLOCKSMOOTH_TAPS], const BlockSmoothLimits *limits)
{
    const int x = v[3] - v[2], step = FFABS(x), max = limits->max;
    const int is_flat = FFABS(v[1] - v[2]) < limits->flat &&
                        FFABS(v[3] - v[4]) < limits->flat;

    if (step >= (is_flat ? limits->strong : limits->weak))
        return;
    // C's division rounds towards 0: a picture and its mirror image are smoothed alike
    if (is_flat) {
        v[0] = av_clip(v[0] + x / 8, 0, max);
        v[1] = av_clip(v[1] + x / 4, 0, max);
        v[4] = av_clip(v[4] - x / 4, 0, max);
        v[5] = av_clip(v[5] - x / 8, 0, max);
    } else {
        v[1] = av_clip(v[1] + x / 8, 0, max);
        v[4] = av_clip(v[4] - x / 8, 0, max);
    }
    // these lie between C and D
    v[2] += x / 2;
    v[3] -= x / 2;
}

typedef struct BlockSmoothOptions {
    int qf;
    int planes;                 ///< bit mask
    int block;
} BlockSmoothOptions;

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
