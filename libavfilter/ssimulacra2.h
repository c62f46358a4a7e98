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
 * Part of the SSIMULACRA2 filters that does not depend on where frames are: options, the colours of the
 * inputs, tables, and the score from the sums over the error maps
 */

#ifndef AVFILTER_SSIMULACRA2_H
#define AVFILTER_SSIMULACRA2_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/pixfmt.h"

#include "avfilter.h"
#include "sample_format.h"
#include "score_log.h"
#include "ssimulacra2_ops.h"

/// Least width and height of a picture, and of the scale before a scale.
#define SSIMULACRA2_MIN_SIZE 8

enum SSIMULACRA2Variant {
    SSIMULACRA2_REFERENCE,
    SSIMULACRA2_VSZIP,          ///< taps, borders and weights of the VapourSynth plugin vszip
};

enum SSIMULACRA2Transfer {
    SSIMULACRA2_SRGB,
    SSIMULACRA2_BT1886,         ///< a power of 2.4
};

/// Sums of a pair: [scale][channel][map]; 0 where no weight needs them.
typedef SSIMULACRA2Sum SSIMULACRA2Sums[SSIMULACRA2_SCALES][SSIMULACRA2_CHANNELS][SSIMULACRA2_SUMS];

/// Tags of an input's frames, and the conversion of its samples to linear light.
typedef struct SSIMULACRA2Input {
    enum AVColorSpace space;
    enum AVColorRange range;
    enum AVChromaLocation location;
    enum AVColorPrimaries primaries;
    enum AVColorTransferCharacteristic transfer;

    SSIMULACRA2Matrix matrix;
    SSIMULACRA2Chroma horizontal, vertical;
} SSIMULACRA2Input;

typedef struct SSIMULACRA2Context {
    // options
    int variant, transfer;
    MetricLog log;

    SSIMULACRA2Linear table[SSIMULACRA2_MAX_INDEX + 1];
    SSIMULACRA2Gaussian gaussian;
    SSIMULACRA2Input tags[PAIR_NB];     ///< of the last frames, without conversion
    SSIMULACRA2Input input[PAIR_NB];    ///< with assumed tags
    int colors_set;

    int nb_scales;
    int width[SSIMULACRA2_SCALES], height[SSIMULACRA2_SCALES];
    /// [scale][channel] bits of the sums that have a weight
    int mask[SSIMULACRA2_SCALES][SSIMULACRA2_CHANNELS];
    uint64_t nb_frames;         ///< frames so far, scored or not
} SSIMULACRA2Context;

/// The options of an SSIMULACRA2 filter, whose context has it as member.
#define SSIMULACRA2_OPTIONS(type, member, flags)                                                \
    { "variant", "taps, borders and weights",                                                   \
      offsetof(type, member.variant), AV_OPT_TYPE_INT, { .i64 = SSIMULACRA2_REFERENCE },        \
      SSIMULACRA2_REFERENCE, SSIMULACRA2_VSZIP, flags, .unit = "variant" },                     \
    { "reference", "those of the published formula", 0, AV_OPT_TYPE_CONST,                      \
      { .i64 = SSIMULACRA2_REFERENCE }, 0, 0, flags, .unit = "variant" },                       \
    { "vszip", "those of the VapourSynth plugin vszip", 0, AV_OPT_TYPE_CONST,                   \
      { .i64 = SSIMULACRA2_VSZIP }, 0, 0, flags, .unit = "variant" },                           \
    { "transfer", "transfer function of both inputs, whatever their tags",                      \
      offsetof(type, member.transfer), AV_OPT_TYPE_INT, { .i64 = SSIMULACRA2_SRGB },            \
      SSIMULACRA2_SRGB, SSIMULACRA2_BT1886, flags, .unit = "transfer" },                        \
    { "srgb", "sRGB", 0, AV_OPT_TYPE_CONST,                                                     \
      { .i64 = SSIMULACRA2_SRGB }, 0, 0, flags, .unit = "transfer" },                           \
    { "bt1886", "power of 2.4", 0, AV_OPT_TYPE_CONST,                                           \
      { .i64 = SSIMULACRA2_BT1886 }, 0, 0, flags, .unit = "transfer" },                         \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/// Return whether a format is supported: Y'CbCr 4:2:0, 4:2:2 and 4:4:4, planar or semi-planar, planar RGB
/// and gray, with 8, 10 or 12 bits.
int ff_ssimulacra2_is_supported(const AVPixFmtDescriptor *desc);

/// @name Functions of type int return 0, or a negative AVERROR after a message
/// @{

/// Make the tables, and open the log.
int ff_ssimulacra2_init(SSIMULACRA2Context *s, AVFilterContext *ctx);

/// Set up for pictures of a size of at least SSIMULACRA2_MIN_SIZE.
void ff_ssimulacra2_set_size(SSIMULACRA2Context *s, int width, int height);

/**
 * Set the conversions to linear light by the tags of a pair.
 *
 * A tag that one frame does not have is the other one's; those that both do not have are assumed, with a
 * warning.
 *
 * @param frame [PAIR_NB] encode and reference
 * @return AVERROR_PATCHWELCOME for HDR, primaries and matrices that are not supported
 */
int ff_ssimulacra2_set_colors(SSIMULACRA2Context *s, AVFilterContext *ctx,
                              const AVFrame *const frame[PAIR_NB]);

/// Report a frame. @param sums sums of the pair, NULL for a frame that is not compared
int ff_ssimulacra2_add(SSIMULACRA2Context *s, AVFilterContext *ctx, AVFrame *frame,
                       const SSIMULACRA2Sums sums);
/// @}

/// Return the score: 100 for equal pictures, with no lower bound.
double ff_ssimulacra2_score(const SSIMULACRA2Context *s, const SSIMULACRA2Sums sums);

/// Finish the log. @param ended whether the inputs have ended
void ff_ssimulacra2_uninit(SSIMULACRA2Context *s, AVFilterContext *ctx, int ended);

/**
 * Return the index of the sample at a distance from sample i of n, or -1 outside of the picture, where
 * samples are 0.
 */
int ff_ssimulacra2_tap_index(enum SSIMULACRA2Variant variant, int i, int distance, int n);

#endif /* AVFILTER_SSIMULACRA2_H */
