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
 * The options of the filters that smooth the edges of blocks.
 */

#ifndef AVFILTER_BLOCKSMOOTH_OPTIONS_H
#define AVFILTER_BLOCKSMOOTH_OPTIONS_H

#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/opt.h"

#include "avfilter.h"
#include "blocksmooth.h"
#include "filters.h"

typedef struct BlockSmoothOptions {
    int qf;
    int planes;                 ///< bit mask
    int block;
} BlockSmoothOptions;

#define BLOCKSMOOTH_FLAGS                                                                   \
    (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM | AV_OPT_FLAG_RUNTIME_PARAM)

#define BLOCKSMOOTH_OPTION(name, help, offset, value, min, max)                             \
    { name, help, offset, AV_OPT_TYPE_INT, { .i64 = value }, min, max, BLOCKSMOOTH_FLAGS }

/// The options; the filter's context has them as member.
#define BLOCKSMOOTH_OPTIONS(type, member)                                                   \
    BLOCKSMOOTH_OPTION("qf",                                                                \
                       "set the strength: the steps that are smoothed are lower than twice it", \
                       offsetof(type, member.qf), 127, 1, 255),                             \
    BLOCKSMOOTH_OPTION("planes", "set which planes to smooth, as a bit mask",               \
                       offsetof(type, member.planes), 15, 0, 15),                           \
    BLOCKSMOOTH_OPTION("block", "set the size of blocks: 8, 16, 32 or 64",                  \
                       offsetof(type, member.block), BLOCKSMOOTH_MIN_BLOCK,                 \
                       BLOCKSMOOTH_MIN_BLOCK, BLOCKSMOOTH_MAX_BLOCK)

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

#endif /* AVFILTER_BLOCKSMOOTH_OPTIONS_H */
