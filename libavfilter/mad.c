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
 * Sample ranges, filter gains, pooling and score of MAD, see mad.h
 */

#include <math.h>

#include "libavutil/avutil.h"
#include "libavutil/common.h"
#include "libavutil/mathematics.h"

#include "sample_format.h"
#include "mad.h"

/**
 * Radius of the passband of a log-Gabor filter, in standard deviations. The gain beyond it, below
 * 4e-6, is taken as 0. A limit of 1e-9 makes the transforms 7 % slower and does not bring the
 * scores closer to the authors' release, from which they differ by at most 3e-6.
 */
#define MAD_MAX_DISTANCE 5

/// Score fields of a frame; hi is d_detect of the paper, lo is d_appear.
enum { METRIC_SCORE, METRIC_HI, METRIC_LO, NB_METRICS };

static const ScoreMetric metric[NB_METRICS] = {
    [METRIC_SCORE] = { "score", 9, 1, .score_number = 1, .max = INFINITY },
    [METRIC_HI]    = { "hi",    9, 1 },
    [METRIC_LO]    = { "lo",    9, 1 },
};

int ff_mad_init(MetricLog *log, AVFilterContext *ctx, uint64_t *nb_frames)
{
    log->filter     = "mad";
    log->title      = "MAD";
    log->metric     = metric;
    log->nb_metrics = NB_METRICS;
    return ff_metric_init(log, ctx, nb_frames);
}

MADRange ff_mad_range(const AVFrame *frame, const AVPixFmtDescriptor *desc)
{
    const int shift = desc->comp[0].depth - 8;

    return luma_is_limited(frame, desc) ? (MADRange){ 16 << shift, 255. / 219 / (1 << shift) }
                                        : (MADRange){ 0, 1. / (1 << shift) };
}

double ff_mad_full_range(MADRange range, int sample)
{
    return av_clipd((sample - range.black) * range.scale, 0, 255);
}

double ff_mad_lightness(double value)
{
    return 0.02874 * pow(value, 2.2 / 3);
}

/// Return the CSF of the authors' release, whose zero frequency is off the centre by half a step.
static double release_csf(int r, int c, int rows, int columns)
{
    double u = ((r + rows    / 2) % rows    - rows    / 2. + 0.5) / columns * 64;
    double v = ((c + columns / 2) % columns - columns / 2. + 0.5) / columns * 64;
    double f = hypot(u, v) / (0.15 * cos(4 * atan2(v, u)) + 0.85);

    return f < 7.8909 ? 0.9809 : 2.6 * (0.0192 + 0.114 * f) * exp(-pow(0.114 * f, 1.1));
}

double ff_mad_csf(int r, int c, int rows, int columns)
{
    return (release_csf(r, c, rows, columns) +
            release_csf((rows - r) % rows, (columns - c) % columns, rows, columns)) / 2;
}

/// Return a frequency relative to the highest one, -1 to 1. For odd sizes, the log-Gabor filters of
/// the authors' release are off the centre by half a step, to the opposite side of the CSF.
static double norm_freq(int i, int size)
{
    return ((i + (size + 1) / 2) % size - size / 2.) / (size / 2.);
}

double ff_mad_radial_distance(int scale, int r, int c, int rows, int columns)
{
    static const double wavelength[MAD_SCALES] = { 3, 9, 27, 81, 243 };

    return log(hypot(norm_freq(r, rows), norm_freq(c, columns)) * wavelength[scale] / 2) /
           log(0.55);
}

int ff_mad_passband_columns(int scale, int columns)
{
    int nb_columns = columns / 2 + 1;

    // the distance is 0 at the centre frequency and negative above it
    while (nb_columns > 1 &&
           ff_mad_radial_distance(scale, 0, nb_columns - 1, 2, columns) < -MAD_MAX_DISTANCE)
        nb_columns--;
    return nb_columns;
}

double ff_mad_angle(int r, int c, int rows, int columns)
{
    return atan2(-norm_freq(r, rows), norm_freq(c, columns)) / M_PI * (MAD_FULL_TURN / 2);
}

double ff_mad_scale_weight(int scale)
{
    static const double weight[MAD_SCALES] = { 0.5, 0.75, 1, 5, 6 };

    return weight[scale] / 13.25;
}

int ff_mad_score(MetricLog *log, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                 double hi, double lo)
{
    const double b1 = exp(-2.55 / 3.35), b2 = 1 / (M_LN10 * 3.35);
    const int border = MAD_BORDER_BEGIN + MAD_BORDER_END;
    const double nb_samples = (double)(picture_width(frame)  - border) *
                                      (picture_height(frame) - border);
    double value[NB_METRICS], weight;

    value[METRIC_HI]    = MAD_DETECTION_SCALE * sqrt(hi / nb_samples);
    value[METRIC_LO]    = sqrt(lo / nb_samples);
    weight              = 1 / (1 + b1 * pow(value[METRIC_HI], b2));
    value[METRIC_SCORE] = pow(value[METRIC_LO], 1 - weight) * pow(value[METRIC_HI], weight);
    return ff_metric_frame(log, ctx, frame, n, value, 1);
}
