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
 * What the detail loss filters share: options, the description of a picture, and the
 * computation of loss, metadata and logs from the sums over a pair of pictures.
 */

#ifndef AVFILTER_DETAILLOSS_H
#define AVFILTER_DETAILLOSS_H

#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "detailloss_wavelet.h"
#include "luma.h"
#include "metric.h"

#define DETAIL_MIN_SIZE 16

/// The part of a filter's context that does not depend on where it computes.
typedef struct DetailLossContext {
    // options
    int n_subsample;
    MetricLog log;
} DetailLossContext;

/// The options of a detail loss filter, whose context has it as member.
#define DETAIL_OPTIONS(type, member, flags)                                                 \
    { "n_subsample", "compare one of every n frames",                                       \
      offsetof(type, member.n_subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, flags }, \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/// Set up the logs.
int ff_detailloss_init(DetailLossContext *s, AVFilterContext *ctx);

/// Describe pictures of a size and software format.
DetailPicture ff_detailloss_picture(int width, int height, int is_limited,
                                    const AVPixFmtDescriptor *desc);

/**
 * Score a frame; the loss goes to its metadata and the logs.
 *
 * @param frame of the main input, whose pixels are not touched
 * @param n     its number among the frames that the filter was given, from 0
 * @param sums  of the pair
 * @return 0, or a negative AVERROR after a message
 */
int ff_detailloss_score(DetailLossContext *s, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                        const DetailPicture *picture, const DetailSums *sums);

#endif /* AVFILTER_DETAILLOSS_H */
