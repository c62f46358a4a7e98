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

#include <math.h>

#include "libavutil/common.h"

#include "detailloss.h"

/// The reported values of a frame.
enum {
    METRIC_LOSS,
    METRIC_SIGMA,
    METRIC_DETAIL,
    METRIC_ADDED,
    METRIC_CHROMA,
    METRIC_MOTION,
    NB_METRICS
};

static const ScoreMetric metric[NB_METRICS] = {
    [METRIC_LOSS]   = { "loss",   6, 1 },
    [METRIC_SIGMA]  = { "sigma",  6, 1 },
    [METRIC_DETAIL] = { "detail", 6, 1 },
    [METRIC_ADDED]  = { "added",  6, 1 },
    [METRIC_CHROMA] = { "chroma", 6, 1 },
    [METRIC_MOTION] = { "motion", 6, 1 },
};

/**
 * loss = detail * lost + square * lost^2 / 100 + added * detail added
 *      + chroma * change of chroma (gray pictures: gray * lost) - motion * motion
 * Fitted to 100 - VMAF v1 by tools/train/loss.py.
 */
static const struct {
    double detail, square, added, chroma, gray, motion;
} factor = { 3.517, -4.873, 0.662, 8.078, 0.55, 0.6404 };

/// Beyond this much detail lost, the square is continued by its tangent: else the loss would fall.
#define MAX_SQUARE 25

/// Pictures of at least this many lines are seen on a display of 2160 lines, others on one of 1080.
#define LARGE 2160

/// Motion beyond this hides no more, in 8-bit steps from one frame to the next.
#define MAX_MOTION 18

/// The standard deviation of the error is sigma[0] + sigma[1] * loss.
static const double sigma[2] = { 2.25, 0.0901 };

/// Added to each band, for what the eye does not see: the cube root of 0.02.
#define NOISE 0.2714417616594907

int ff_detailloss_init(DetailLossContext *s, AVFilterContext *ctx)
{
    s->log.filter     = "detailloss";
    s->log.title      = "Detail loss";
    s->log.min        = 0;
    s->log.max        = 100;
    s->log.metric     = metric;
    s->log.nb_metrics = NB_METRICS;
    return ff_metric_init(&s->log, ctx);
}

DetailPicture ff_detailloss_picture(int width, int height, int is_limited,
                                    const AVPixFmtDescriptor *desc)
{
    const int is_large = FFMIN(width, height) >= LARGE;
    const float unit   = 1.f / (1 << (desc->comp[0].depth - 8));
    DetailPicture p = {
        .width      = width,
        .height     = height,
        .octave     = !is_large,
        .depth      = desc->comp[0].depth,
        .luma_unit  = is_limited ? unit : unit * (219.f / 255),
    };

    if (desc->nb_components > 2) {
        p.cell_w      = DETAIL_CHROMA_CELL << is_large >> desc->log2_chroma_w;
        p.cell_h      = DETAIL_CHROMA_CELL << is_large >> desc->log2_chroma_h;
        p.cells_x     = AV_CEIL_RSHIFT(p.width,  desc->log2_chroma_w) / p.cell_w;
        p.cells_y     = AV_CEIL_RSHIFT(p.height, desc->log2_chroma_h) / p.cell_h;
        p.chroma_unit = (is_limited ? unit : unit * (224.f / 255)) / (p.cell_w * p.cell_h);
    }
    return p;
}

/// The sum over all bands of the cube root of a part's mean cube, plus noise.
static double strength(const DetailPicture *picture, const DetailSums *sums,
                       enum DetailPart part, double noise)
{
    double sum = 0;
    int w = picture->width, h = picture->height;

    for (int s = 0; s < DETAIL_SCALES; s++) {
        w = detail_half(w);
        h = detail_half(h);
        for (int b = 0; b < DETAIL_NB_BANDS; b++) {
            const int nb = b == DETAIL_STRAIGHT ? 2 : 1;

            sum += nb * (cbrt(sums->cube[s][b][part] * 0x1p-16 / ((double)nb * w * h)) + noise);
        }
    }
    return sum;
}

static void measure(double value[NB_METRICS], const DetailPicture *picture, const DetailSums *sums)
{
    const double source    = strength(picture, sums, DETAIL_SOURCE, NOISE);
    const double nb_blocks = (double)detail_nb_chroma_blocks(picture->cells_x) *
                             detail_nb_chroma_blocks(picture->cells_y) * 2;
    const int nb_cells     = (picture->width  / DETAIL_MOTION_CELL) *
                             (picture->height / DETAIL_MOTION_CELL);
    double curved, loss;

    value[METRIC_DETAIL] = 100 * (1 - strength(picture, sums, DETAIL_KEPT, NOISE) / source);
    value[METRIC_ADDED]  = 100 * strength(picture, sums, DETAIL_ADDED, 0) / source;
    value[METRIC_CHROMA] = nb_blocks ? sums->chroma * 0x1p-24 / nb_blocks : NAN;
    value[METRIC_MOTION] = (double)sums->motion * picture->luma_unit /
                           ((double)nb_cells * DETAIL_MOTION_CELL * DETAIL_MOTION_CELL);

    curved = FFMIN(value[METRIC_DETAIL], MAX_SQUARE);
    loss   = value[METRIC_DETAIL] * factor.detail +
             curved * (2 * value[METRIC_DETAIL] - curved) / 100 * factor.square +
             value[METRIC_ADDED] * factor.added;
    loss  += isfinite(value[METRIC_CHROMA]) ? value[METRIC_CHROMA] * factor.chroma
                                            : value[METRIC_DETAIL] * factor.gray;
    loss  -= FFMIN(value[METRIC_MOTION], MAX_MOTION) * factor.motion;
    value[METRIC_LOSS]  = av_clipd(loss, 0, 100);
    value[METRIC_SIGMA] = sigma[0] + sigma[1] * value[METRIC_LOSS];
}

int ff_detailloss_score(DetailLossContext *s, AVFilterContext *ctx, AVFrame *frame, uint64_t n,
                        const DetailPicture *picture, const DetailSums *sums)
{
    double value[NB_METRICS];

    measure(value, picture, sums);
    return ff_metric_frame(&s->log, ctx, frame, n, value, 1);
}
