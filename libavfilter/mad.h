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
 * Code shared by mad and mad_cuda: conversion of samples to full range and to lightness, gains of
 * the CSF and log-Gabor filters at a frequency, and pooling and score from the sums over both maps.
 * vf_mad.c cites the paper and lists the deviations from it. Gains and constants equal those of the
 * authors' 2011 release, run in GNU Octave.
 */

#ifndef AVFILTER_MAD_H
#define AVFILTER_MAD_H

#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "mad_block.h"
#include "score_log.h"

/// Minimum width and height of a frame, in samples.
#define MAD_MIN_SIZE 64

/// Content of the output frames, option output.
enum MADOutput { MAD_OUTPUT_MAIN, MAD_OUTPUT_DETECTION, MAD_OUTPUT_APPEARANCE, MAD_NB_OUTPUTS };

#define MAD_OUTPUT(name, help, value, option_flags)                                         \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = value }, .flags = option_flags, .unit = "output" }

/// The option output. The named member of the filter's context, an int, receives a MADOutput.
#define MAD_OUTPUT_OPTION(type, member, flags)                                              \
    { "output", "set what the output frames show", offsetof(type, member), AV_OPT_TYPE_INT, \
      { .i64 = MAD_OUTPUT_MAIN }, 0, MAD_NB_OUTPUTS - 1, flags, "output" },                 \
    MAD_OUTPUT("main",       "the main input",     MAD_OUTPUT_MAIN,       flags),           \
    MAD_OUTPUT("detection",  "the detection map",  MAD_OUTPUT_DETECTION,  flags),           \
    MAD_OUTPUT("appearance", "the appearance map", MAD_OUTPUT_APPEARANCE, flags)

/// Mapping of a sample to full range: (sample - black) * scale, clipped to 0..255.
typedef struct MADRange {
    int black;              ///< sample value of black, at the depth of the format
    double scale;           ///< full-range units of one sample step; 0 if not set
} MADRange;

/// Return the number of blocks along an axis of size samples. Block i begins at cell i.
static inline int mad_nb_blocks(int size)
{
    return (size - MAD_BLOCK) / MAD_STEP + 1;
}

/**
 * Return the number of sub-blocks of block i along an axis of size samples, 1 or 2. The authors'
 * release drops the second sub-block of the last blocks.
 */
static inline int mad_nb_sub_blocks(int i, int size)
{
    return MAD_STEP * (i + 1) + 1 <= size - MAD_BLOCK ? 2 : 1;
}

/**
 * Set up the log of a MAD filter; call it from init(). The title is "MAD", the fields are score,
 * hi and lo.
 *
 * @param log       log whose options are already set
 * @param nb_frames counter of the filter's frames; must stay valid until the log is closed
 * @return 0, or a negative AVERROR after a message
 */
int ff_mad_init(MetricLog *log, AVFilterContext *ctx, uint64_t *nb_frames);

/**
 * Return the range of a frame's luma.
 *
 * @param frame frame in memory or on a GPU; its color_range decides, see luma_is_limited()
 * @param desc  descriptor of the frame's software format
 */
MADRange ff_mad_range(const AVFrame *frame, const AVPixFmtDescriptor *desc);

/// Convert a sample, at the depth of its format, to full range, 0..255.
double ff_mad_full_range(MADRange range, int sample);

/// Return the lightness of a full-range value: luminance of a display with gamma 2.2, cube root.
double ff_mad_lightness(double value);

/**
 * @name Filters in the frequency domain
 *
 * Each function returns a value for row r and column c of a transform of rows x columns, whose
 * zero frequency is at 0, 0. Distances and angles are in units of the standard deviation of a
 * log-Gabor filter along the logarithm of the radius, and along the angle.
 * @{
 */
/**
 * Return the gain of the contrast sensitivity function. The authors' release takes the real part of
 * the filtered picture; averaging its gain at a frequency and at the opposite frequency has the
 * same effect.
 */
double ff_mad_csf(int r, int c, int rows, int columns);

/**
 * Return the signed distance from the centre frequency of the log-Gabor filters of a scale. The
 * result is meaningless at 0, 0, where the gain of all log-Gabor filters is 0.
 */
double ff_mad_radial_distance(int scale, int r, int c, int rows, int columns);

/**
 * Return the number of columns, counted from the zero frequency, in the passband of the filters of
 * a scale. Beyond them the gain is taken as 0. The passband also includes the columns of the
 * negative frequencies, one fewer, at the end of a row.
 */
int ff_mad_passband_columns(int scale, int columns);

/// Return the angle of a frequency. Log-Gabor filter o has the angle o * MAD_ANGLE_STEP.
double ff_mad_angle(int r, int c, int rows, int columns);
/** @} */

/// Return the weight of a scale, 0 to MAD_SCALES - 1, in the appearance map. The weights sum to 1.
double ff_mad_scale_weight(int scale);

/**
 * Compute d_detect, d_appear and the score of a frame from the sums over both maps, and write them
 * to the frame's metadata and to the logs as hi, lo and score.
 *
 * @param frame output frame: only its size is read, and its metadata written
 * @param n     index of the frame among all frames of the main input, from 0
 * @param hi    sum of (visibility * lmse)^2 over the interior
 * @param lo    sum of the squared appearance map over the interior
 * @return 0, or a negative AVERROR after a message
 */
int ff_mad_score(MetricLog *log, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                 double hi, double lo);

#endif /* AVFILTER_MAD_H */
