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
 * What the BLIINDS filters share: from sums over blocks to features, score,
 * metadata, side data and logs. They differ only in where the sums are made.
 *
 * A function of type int returns 0, or a negative AVERROR after a message.
 */

#ifndef AVFILTER_BLIINDS_H
#define AVFILTER_BLIINDS_H

#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/opt.h"

#include "avfilter.h"
#include "bliinds_model.h"
#include "bliinds_sums.h"
#include "luma.h"
#include "metric.h"

#define BLIINDS_MIN_SIZE 4      ///< level 3 then has one sample
#define BLIINDS_MAX_SIZE 16384

#define BLIINDS_MAX_METRICS (7 + BLIINDS_NB_FEATURES)

/// What is known of a frame before its samples are looked at.
typedef struct BLIINDSFrame {
    uint64_t n;                         ///< number, from 0
    LumaFrame luma;
    double coded[BLIINDS_NB_CODED];     ///< the coded features
    enum BLIINDSBasis basis;            ///< which model scores it
    int needs_statistics;               ///< 0: the sums of the bands and nb_flat are enough
} BLIINDSFrame;

/// The part of a filter's context that does not depend on where it computes.
typedef struct BLIINDSContext {
    // options
    char *model_name;
    int shown_height;       ///< rows at which people see the video, 0: those of the frame
    int features;
    int side_data;
    int n_subsample;
    MetricLog log;

    BLIINDSModel model[BLIINDS_NB_BASES];
    double sigma_p80;       ///< sum over the valid frames of their models' sigma_p80
    uint64_t nb_valid;
    ScoreMetric metric[BLIINDS_MAX_METRICS];
} BLIINDSContext;

/// The options of a BLIINDS filter, whose context has it as member.
#define BLIINDS_OPTIONS(type, member, flags)                                                \
    { "model", "set the model: a built-in name or a file",                                  \
      offsetof(type, member.model_name), AV_OPT_TYPE_STRING, { .str = "vmaf1_est1" }, 0, 0, \
      flags },                                                                              \
    { "shown_height", "set the height at which people see the video, 0 for the frame's",    \
      offsetof(type, member.shown_height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0,                \
      BLIINDS_MAX_SIZE, flags },                                                            \
    { "features", "report the features too",                                                \
      offsetof(type, member.features), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, flags },       \
    { "side_data", "attach the score as user data unregistered SEI",                        \
      offsetof(type, member.side_data), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1, flags },      \
    { "n_subsample", "score one of every n frames",                                         \
      offsetof(type, member.n_subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, flags }, \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/// Load the model, and set up the metrics and logs.
int ff_bliinds_init(BLIINDSContext *s, AVFilterContext *ctx);

/// Check the size of the input.
int ff_bliinds_config(BLIINDSContext *s, const AVFilterLink *inlink);

/**
 * Describe a frame before its samples are looked at.
 *
 * @param n its number, from 0
 * @return 1 if it is to be scored, 0 if not, or AVERROR(EINVAL) after a message if it cannot be
 */
int ff_bliinds_describe(BLIINDSContext *s, AVFilterContext *ctx, BLIINDSFrame *dst,
                        const AVFrame *frame, uint64_t n);

/**
 * Score a frame; the score goes to its metadata, its side data and the files.
 *
 * @param frame the frame, whose pixels are not touched
 * @param f     what ff_bliinds_describe() told of it
 * @param sums  of its levels
 */
int ff_bliinds_score(BLIINDSContext *s, AVFilterContext *ctx, AVFrame *frame,
                     const BLIINDSFrame *f, const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

#endif /* AVFILTER_BLIINDS_H */
