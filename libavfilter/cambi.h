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
 * Part of the CAMBI filters that does not depend on where frames are: options, and the log
 *
 * Functions of type int return 0, or a negative AVERROR after a message.
 */

#ifndef AVFILTER_CAMBI_H
#define AVFILTER_CAMBI_H

#include <stdint.h>

#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "score_log.h"
#include "vmaf_cambi.h"

typedef struct CAMBICommon {
    CAMBIOptions options;
    int heatmap;
    double max;                 ///< c-value of the heatmap that is white, in units of the score
    MetricLog log;

    ScoreMetric metric;
} CAMBICommon;

#define CAMBI_MODEL(name, help, value, option_flags)                                        \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, .flags = option_flags, .unit = "model" }

/// The options of a CAMBI filter, whose context has it as member.
#define CAMBI_OPTIONS(type, member, flags)                                                  \
    { "model", "set the parameters", offsetof(type, member.options.model), AV_OPT_TYPE_INT, \
      { .i64 = CAMBI_MODEL_V1 }, 0, CAMBI_NB_MODELS - 1, flags, "model" },                  \
    CAMBI_MODEL("v1",      "those of the v1 models of VMAF",     CAMBI_MODEL_V1,      flags), \
    CAMBI_MODEL("libvmaf", "the defaults of libvmaf's feature",  CAMBI_MODEL_LIBVMAF, flags), \
    { "enc_width", "width of the encoded picture, 180 or more (0 = as shown)",              \
      offsetof(type, member.options.width), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 7680, flags }, \
    { "enc_height", "height of the encoded picture, 150 or more (0 = as shown)",            \
      offsetof(type, member.options.height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 7680, flags }, \
    { "enc_bitdepth", "bits of the encoded samples, 6 or more (0 = as shown)",              \
      offsetof(type, member.options.depth), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 16, flags },  \
    { "heatmap", "show where the banding is, in place of the picture",                      \
      offsetof(type, member.heatmap), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, flags },        \
    { "max", "set the value that is white in the heatmap",                                  \
      offsetof(type, member.max), AV_OPT_TYPE_DOUBLE, { .dbl = 5 }, 0.01, 1000, flags },    \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/// Check the options, and set up the log. @param nb_frames set to the frames before a rebuild
int ff_cambi_init(CAMBICommon *s, AVFilterContext *ctx, uint64_t *nb_frames);

/// Check that a format is read as it is.
int ff_cambi_is_accepted(const AVPixFmtDescriptor *desc);

#endif /* AVFILTER_CAMBI_H */
