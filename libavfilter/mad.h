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
 * What the MAD filters share: the range of the samples, the filters in the frequency domain, and
 * the computation of the score from the sums over both maps. The arithmetic is that of the
 * authors' release in GNU Octave; vf_mad.c names the paper.
 */

#ifndef AVFILTER_MAD_H
#define AVFILTER_MAD_H

#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "mad_block.h"
#include "score_log.h"

#define MAD_MIN_SIZE 64

/// Contents of the output frames: the main input, or a map of its errors.
enum MADOutput { MAD_OUTPUT_MAIN, MAD_OUTPUT_DETECTION, MAD_OUTPUT_APPEARANCE, MAD_NB_OUTPUTS };

#define MAD_OUTPUT(name, help, value, option_flags)                                         \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, .flags = option_flags, .unit = "output" }

/// The option of the output; the filter's context has an int as member.
#define MAD_OUTPUT_OPTION(type, member, flags)                                              \
    { "output", "set what the output frames show", offsetof(type, member), AV_OPT_TYPE_INT, \
      { .i64 = MAD_OUTPUT_MAIN }, 0, MAD_NB_OUTPUTS - 1, flags, "output" },                 \
    MAD_OUTPUT("main",       "the main input",     MAD_OUTPUT_MAIN,       flags),           \
    MAD_OUTPUT("detection",  "the detection map",  MAD_OUTPUT_DETECTION,  flags),           \
    MAD_OUTPUT("appearance", "the appearance map", MAD_OUTPUT_APPEARANCE, flags)

/// How samples become values: (sample - black) * scale, clipped to 0..255.
typedef struct MADRange {
    int black;
    double scale;
} MADRange;

/// Number of blocks along an axis. Block i begins with cell i of MAD_STEP samples.
static inline int mad_nb_blocks(int size)
{
    return (size - MAD_BLOCK) / MAD_STEP + 1;
}

/// Number of sub-blocks of block i along an axis: 2, or 1 at the end, as in the authors' release.
static inline int mad_nb_sub_blocks(int i, int size)
{
    return MAD_STEP * (i + 1) + 1 <= size - MAD_BLOCK ? 2 : 1;
}

/// Set up the log of a MAD filter.
int ff_mad_init(MetricLog *log, AVFilterContext *ctx, uint64_t *nb_frames);

/// The range of a frame's luma, whose software format desc describes.
MADRange ff_mad_range(const AVFrame *frame, const AVPixFmtDescriptor *desc);

/// Value of a sample, 0..255.
double ff_mad_full_range(MADRange range, int sample);

/// Lightness of a value.
double ff_mad_lightness(double value);

/**
 * Filters in the frequency domain, at row r and column c of a transform of rows x columns,
 * whose zero frequency is at 0, 0. Distances and angles are in units of a filter's width.
 * @{
 */
/**
 * Gain of the contrast sensitivity function. Only the real part of what that of the authors'
 * release yields is used: that is what the mean of its gains at a frequency and at the opposite
 * one yields, which is returned.
 */
double ff_mad_csf(int r, int c, int rows, int columns);

/// Distance to the centre of a log-Gabor filter, by the logarithm of the radius; at 0, 0 its
/// gain is 0.
double ff_mad_radial_distance(int scale, int r, int c, int rows, int columns);

/**
 * Columns, from that of the zero frequency on, in which the gain of a scale's filters is not
 * taken for 0. As many but one, at the end, mirror these.
 */
int ff_mad_passband_columns(int scale, int columns);

/// The angle; those of the log-Gabor filters are multiples of MAD_ANGLE_STEP.
double ff_mad_angle(int r, int c, int rows, int columns);
/** @} */

/// Weight of a scale in the appearance map.
double ff_mad_scale_weight(int scale);

/**
 * Score a frame; the score goes to its metadata and the logs.
 *
 * @param frame of the main input, whose pixels are not touched
 * @param n     its number among the frames that the filter was given, from 0
 * @param hi    sum of (mask * lmse)^2 over the interior
 * @param lo    sum of the appearance map's squares over the interior
 * @return 0, or a negative AVERROR after a message
 */
int ff_mad_score(MetricLog *log, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                 double hi, double lo);

#endif /* AVFILTER_MAD_H */
