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
#include <string.h>

#include "libavutil/buffer.h"
#include "libavutil/error.h"
#include "libavutil/intfloat.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/uuid.h"

#include "bliinds.h"
#include "filters.h"

/// The reported values of a frame; the features come after them.
enum {
    METRIC_SCORE,
    METRIC_RAW,
    METRIC_SIGMA,
    METRIC_VALID,
    METRIC_BASIS,
    NB_METRICS
};
static const char *const basis_name[] = {
    [BLIINDS_PIXELS] = "pixels", [BLIINDS_BITSTREAM] = "bitstream", NULL
};

/// A frame is not valid if more than this share of its level 1 blocks is flat, or if its level 3
/// has fewer blocks than this: the other blocks tell too little.
#define MAX_FLAT   0.75
#define MIN_BLOCKS 10

/// @name The side data, see the filter's documentation
/// @{
static const AVUUID sei_uuid = {
    0x3c, 0x0e, 0x4a, 0x9b, 0x6f, 0x52, 0x4d, 0x17,
    0x9a, 0x41, 0xd8, 0x27, 0x5b, 0xe3, 0x60, 0xf4,
};
/// libx265 3.5 writes this UUID of its own before the payload, which begins with ours.
static const AVUUID x265_uuid = {
    0x2c, 0xa2, 0xde, 0x09, 0xb5, 0x17, 0x47, 0xdb,
    0xbb, 0x55, 0xa4, 0xfe, 0x7f, 0xc2, 0xfc, 0x4e,
};
#define SEI_VERSION 2
#define SEI_VALID   0x01
/// @}

int ff_bliinds_init(BLIINDSContext *s, AVFilterContext *ctx)
{
    const BLIINDSModel *model;
    // FFmpeg leaves the option NULL if there is no memory for its default
    int ret = s->model_name ? ff_bliinds_model_load(s->model, ctx, s->model_name) : AVERROR(ENOMEM);

    if (ret < 0)
        return ret;

    // if there are two, they have the same name, range and direction
    model = &s->model[s->model[BLIINDS_PIXELS].name[0] ? BLIINDS_PIXELS : BLIINDS_BITSTREAM];
    s->metric[METRIC_SCORE] = (ScoreMetric){ "score",    6, 1 };
    s->metric[METRIC_RAW]   = (ScoreMetric){ "raw",      6, 1 };
    s->metric[METRIC_SIGMA] = (ScoreMetric){ "sigma",    6, 1 };
    s->metric[METRIC_VALID] = (ScoreMetric){ "valid",    0 };
    s->metric[METRIC_BASIS] = (ScoreMetric){ "basis",    0, .words = basis_name };
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        s->metric[NB_METRICS + i] = (ScoreMetric){ ff_bliinds_feature_name[i], 9, 1 };

    s->log.filter           = "bliinds";
    s->log.title            = "BLIINDS";
    s->log.model            = model->name;
    s->log.predicts         = model->predicts;
    s->log.min              = model->min;
    s->log.max              = model->max;
    s->log.higher_is_better = model->higher_is_better;
    s->log.metric           = s->metric;
    s->log.nb_metrics       = NB_METRICS + (s->features ? BLIINDS_NB_FEATURES : 0);
    return ff_metric_init(&s->log, ctx);
}

/// @return 1, or AVERROR(EINVAL) after a message
static int check_size(AVFilterContext *ctx, int width, int height)
{
    if (FFMIN(width, height) >= BLIINDS_MIN_SIZE && FFMAX(width, height) <= LUMA_MAX_SIZE)
        return 1;
    av_log(ctx, AV_LOG_ERROR, "A frame of %dx%d cannot be scored: width and height "
           "must be %d to %d; scale it first.\n", width, height,
           BLIINDS_MIN_SIZE, LUMA_MAX_SIZE);
    return AVERROR(EINVAL);
}

int ff_bliinds_config(BLIINDSContext *s, const AVFilterLink *inlink)
{
    s->log.time_base = inlink->time_base;
    return check_size(inlink->dst, inlink->w, inlink->h);
}

int ff_bliinds_describe(BLIINDSContext *s, AVFilterContext *ctx, BLIINDSFrame *dst,
                        const AVFrame *frame, uint64_t n)
{
    dst->n    = n;
    dst->luma = luma_frame(frame);
    ff_bliinds_coded_features(dst->coded, frame, &dst->luma, s->shown_height);
    // without a bitstream model, or what it needs, the pixel model is used, which may be empty
    dst->basis = s->model[BLIINDS_BITSTREAM].name[0] ? BLIINDS_BITSTREAM : BLIINDS_PIXELS;
    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        if (!isfinite(dst->coded[i]))
            dst->basis = BLIINDS_PIXELS;
    dst->needs_statistics = s->features ||
                            ff_bliinds_model_needs_statistics(&s->model[dst->basis]);
    if (ctx->is_disabled || !frame_is_chosen(n, s->n_subsample))
        return 0;
    return check_size(ctx, dst->luma.width, dst->luma.height);
}

/// Find our side data in a frame, from an encoder or an earlier filter.
static AVFrameSideData *find_side_data(const AVFrame *frame)
{
    for (int i = 0; i < frame->nb_side_data; i++) {
        AVFrameSideData *sd = frame->side_data[i];

        if (sd->type != AV_FRAME_DATA_SEI_UNREGISTERED || sd->size < sizeof(AVUUID))
            continue;
        if (av_uuid_equal(sd->data, sei_uuid) ||
            sd->size >= 2 * sizeof(AVUUID) && av_uuid_equal(sd->data, x265_uuid) &&
            av_uuid_equal(sd->data + sizeof(AVUUID), sei_uuid))
            return sd;
    }
    return NULL;
}

static int set_side_data(const BLIINDSContext *s, AVFrame *frame, const double *value)
{
    const size_t name_size = strlen(s->log.model);
    AVFrameSideData *old = find_side_data(frame);
    AVBufferRef *buf = av_buffer_alloc(sizeof(AVUUID) + 2 + 3 * 4 + 1 + name_size);
    uint8_t *p;

    if (!buf)
        return AVERROR(ENOMEM);
    p = buf->data;
    av_uuid_copy(p, sei_uuid);
    p += sizeof(AVUUID);
    *p++ = SEI_VERSION;
    *p++ = value[METRIC_VALID] ? SEI_VALID : 0;
    for (int i = METRIC_SCORE; i <= METRIC_SIGMA; i++, p += 4)
        AV_WB32(p, av_float2int(value[i]));
    *p++ = name_size;
    memcpy(p, s->log.model, name_size);

    if (old) {
        av_buffer_unref(&old->buf);
        old->buf  = buf;
        old->data = buf->data;
        old->size = buf->size;
    } else if (!av_frame_new_side_data_from_buf(frame, AV_FRAME_DATA_SEI_UNREGISTERED, buf)) {
        av_buffer_unref(&buf);
        return AVERROR(ENOMEM);
    }
    return 0;
}

int ff_bliinds_score(BLIINDSContext *s, AVFilterContext *ctx, AVFrame *frame,
                     const BLIINDSFrame *f, const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    const BLIINDSModel *model = &s->model[f->basis];
    double value[FF_ARRAY_ELEMS(s->metric)], *feature = value + NB_METRICS;
    BLIINDSPrediction prediction;
    int ret, valid;

    ff_bliinds_features(feature, &f->luma, sums);
    memcpy(feature + BLIINDS_FEATURE_CODED, f->coded, sizeof(f->coded));
    prediction = ff_bliinds_model_predict(model, feature);
    valid = sums[0].nb_flat <= MAX_FLAT * bliinds_level_blocks(f->luma.width, f->luma.height, 0) &&
            bliinds_level_blocks(f->luma.width, f->luma.height, BLIINDS_LEVELS - 1) >= MIN_BLOCKS;
    value[METRIC_SCORE] = prediction.score;
    value[METRIC_RAW]   = prediction.raw;
    value[METRIC_SIGMA] = prediction.sigma;
    value[METRIC_BASIS] = model->name[0] ? f->basis : NAN;
    value[METRIC_VALID] = valid;
    if (valid) {
        // over frames of both models, the mean of what they tell
        s->sigma_p80 += model->sigma_p80;
        s->metric[METRIC_SIGMA].uncertain_above = s->sigma_p80 / ++s->nb_valid;
    }
    if (s->side_data && (ret = set_side_data(s, frame, value)) < 0)
        return ret;
    return ff_metric_frame(&s->log, ctx, frame, f->n, value, valid);
}
