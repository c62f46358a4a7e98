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
 * Commands that ffmpeg sends to the filters of a filtergraph which it is about to rebuild, because the
 * parameters of an input have changed. A filter declares those that it knows as options that nobody can
 * set, of type int in its private context:
 * - drain: output every delayed frame, and delay none from now on;
 * - hand_over: the graph is freed next; leave logs and totals to the filter of the new graph.
 */

#ifndef AVFILTER_GRAPH_REINIT_H
#define AVFILTER_GRAPH_REINIT_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/opt.h"

#include "avfilter.h"
#include "filters.h"

#define REINIT_COMMAND(name, help, type, member)                                            \
    { name, help, offsetof(type, member), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1,             \
      AV_OPT_FLAG_RUNTIME_PARAM | AV_OPT_FLAG_READONLY }

#define REINIT_DRAIN(type, member)                                                          \
    REINIT_COMMAND("drain", "output delayed frames", type, member)

#define REINIT_HAND_OVER(type, member)                                                      \
    REINIT_COMMAND("hand_over", "leave the log to the rebuilt graph", type, member)

/// process_command() of a filter that declares commands: set the command's member to 1.
static inline int ff_reinit_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                                    char *res, int res_len, int flags)
{
    const AVOption *option = av_opt_find(ctx->priv, cmd, NULL,
                                         AV_OPT_FLAG_RUNTIME_PARAM | AV_OPT_FLAG_READONLY, 0);

    if (!option)
        return ff_filter_process_command(ctx, cmd, arg, res, res_len, flags);
    *(int *)((uint8_t *)ctx->priv + option->offset) = 1;
    return 0;
}

#endif /* AVFILTER_GRAPH_REINIT_H */
