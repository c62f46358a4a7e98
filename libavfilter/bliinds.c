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

/// The reported values of a frame; the loss and the features come after them.
enum {
    METRIC_SCORE,
    METRIC_RAW,
    METRIC_SIGMA,
    METRIC_VALID,
    METRIC_BASIS,
    NB_METRICS
};
static const char *const basis_name[] = {
    [BLIINDS_PIXELS] = "pixels", [BLIINDS_BITSTREAM] = "bitstream",
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

static void add_metric(BLIINDSContext *s, ScoreMetric metric)
{
    s->metric[s->nb_metrics++] = metric;
}

int ff_bliinds_init(BLIINDSContext *s, AVFilterContext *ctx)
{
    enum ScoreDirection direction;
    const BLIINDSModel *model;
    // FFmpeg leaves the option NULL if there is no memory for its default
    int ret = s->model_name ? ff_bliinds_model_load(s->model, ctx, s->model_name) : AVERROR(ENOMEM);

    if (ret < 0)
        return ret;

    // if there are two, they have the same name, range and direction
    model     = &s->model[s->model[BLIINDS_PIXELS].name[0] ? BLIINDS_PIXELS : BLIINDS_BITSTREAM];
    direction = model->higher_is_better ? SCORE_HIGHER_IS_BETTER : SCORE_LOWER_IS_BETTER;
    add_metric(s, (ScoreMetric){ "score",    6, SCORE_POOL_VALID, direction });
    add_metric(s, (ScoreMetric){ "raw",      6, SCORE_POOL_VALID, direction });
    add_metric(s, (ScoreMetric){ "sigma",    6, SCORE_POOL_VALID });
    add_metric(s, (ScoreMetric){ "valid",    0, SCORE_POOL_NONE });
    add_metric(s, (ScoreMetric){ "basis",    0, SCORE_POOL_COUNT, .words = basis_name,
                                 .counted = basis_name[BLIINDS_BITSTREAM] });
    if (s->rr.read_path) {
        add_metric(s, (ScoreMetric){ "loss", 6, SCORE_POOL_KNOWN,
                                     SCORE_LOWER_IS_BETTER, BLIINDS_LOSS_SCALE });
        add_metric(s, (ScoreMetric){ "loss_sigma", 6, SCORE_POOL_KNOWN });
    }
    if (s->features)
        for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
            add_metric(s, (ScoreMetric){ ff_bliinds_feature_name[i], 9, SCORE_POOL_FEATURE });

    s->counter[0] = (ScoreCounter){ "matched",   &s->rr.kept.nb_matched };
    s->counter[1] = (ScoreCounter){ "unmatched", &s->rr.kept.nb_unmatched };
    s->counter[2] = (ScoreCounter){ "unused",    &s->rr.nb_unused };

    s->log.filter      = "bliinds";
    s->log.title       = "BLIINDS";
    s->log.model       = model->name;
    s->log.min         = model->min;
    s->log.max         = model->max;
    s->log.metric      = s->metric;
    s->log.nb_metrics  = s->nb_metrics;
    s->log.counter     = s->counter;
    s->log.nb_counters = s->rr.read_path ? FF_ARRAY_ELEMS(s->counter) : 0;
    ret = ff_score_log_init(&s->log, ctx->priv);
    if (ret >= 0)
        ff_bliinds_rr_init(&s->rr, &s->log.outputs);
    return ret;
}

static int check_size(AVFilterContext *ctx, int width, int height)
{
    if (width  >= BLIINDS_MIN_SIZE && width  <= BLIINDS_MAX_SIZE &&
        height >= BLIINDS_MIN_SIZE && height <= BLIINDS_MAX_SIZE)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "A frame of %dx%d cannot be scored: width and height "
           "must be %d to %d; scale it first.\n", width, height,
           BLIINDS_MIN_SIZE, BLIINDS_MAX_SIZE);
    return AVERROR(EINVAL);
}

int ff_bliinds_config(BLIINDSContext *s, const AVFilterLink *inlink)
{
    AVFilterContext *ctx = inlink->dst;
    int ret = check_size(ctx, inlink->w, inlink->h);

    return ret < 0 ? ret : ff_bliinds_rr_open(&s->rr, &s->log.outputs, ctx);
}

/// The bitstream model if all coded features are known and it exists, else the pixel model,
/// which may be empty.
static enum BLIINDSBasis choose_basis(const BLIINDSContext *s, const double coded[BLIINDS_NB_CODED])
{
    return ff_bliinds_is_coded(coded) && s->model[BLIINDS_BITSTREAM].name[0] ? BLIINDS_BITSTREAM
                                                                             : BLIINDS_PIXELS;
}

int ff_bliinds_describe(BLIINDSContext *s, AVFilterContext *ctx, const AVFrame *frame,
                        uint64_t n, const LumaFrame **luma)
{
    BLIINDSFrame *f = &s->frame[n % BLIINDS_MAX_IN_FLIGHT];

    f->luma = ff_luma_frame(frame, s->range);
    ff_bliinds_coded_features(f->coded, &s->coding, frame, f->luma.width, f->luma.height,
                              s->shown_height);
    *luma = !ctx->is_disabled && ff_frame_is_chosen(n, s->n_subsample) ? &f->luma : NULL;
    return *luma ? check_size(ctx, f->luma.width, f->luma.height) : 0;
}

int ff_bliinds_needs_statistics(const BLIINDSContext *s, uint64_t n)
{
    const BLIINDSFrame *f = &s->frame[n % BLIINDS_MAX_IN_FLIGHT];

    return s->features || ff_bliinds_model_needs_statistics(&s->model[choose_basis(s, f->coded)]);
}

static void predict(double value[NB_METRICS], const BLIINDSContext *s,
                    const double feature[BLIINDS_NB_FEATURES])
{
    const enum BLIINDSBasis basis = choose_basis(s, feature + BLIINDS_FEATURE_CODED);
    const BLIINDSModel *model     = &s->model[basis];

    value[METRIC_BASIS] = basis;
    value[METRIC_RAW]   = ff_bliinds_model_raw(model, feature);
    value[METRIC_SCORE] = ff_bliinds_model_score(model, value[METRIC_RAW]);
    value[METRIC_SIGMA] = ff_bliinds_model_sigma(model, feature, value[METRIC_SCORE]);
    if (!model->name[0])
        for (int i = 0; i < NB_METRICS; i++)
            value[i] = NAN;
}

static int is_valid(const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    return sums[0].nb_flat <= MAX_FLAT * bliinds_level_blocks(&sums[0]) &&
           bliinds_level_blocks(&sums[BLIINDS_LEVELS - 1]) >= MIN_BLOCKS;
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

/**
 * Write a frame's energies, and compare them with those of its source.
 *
 * @param loss set to NAN if no frame of the source matches, or if that is not valid
 */
static int compare_with_source(BLIINDSContext *s, AVFilterContext *ctx, const AVFrame *frame,
                               uint64_t n, const BLIINDSLevelSums sums[BLIINDS_LEVELS],
                               int valid, BLIINDSLoss *loss)
{
    const BLIINDSFrame *f = &s->frame[n % BLIINDS_MAX_IN_FLIGHT];
    BLIINDSRRFrame rr = {
        .n      = n,
        .time   = ff_bliinds_rr_time(frame->pts, s->log.outputs.time_base),
        .valid  = valid,
        .format = { f->luma.width, f->luma.height, f->luma.limited, f->luma.depth },
    };
    const BLIINDSRRFrame *source = NULL;
    int ret;

    *loss = (BLIINDSLoss){ NAN, NAN };
    ff_bliinds_energies(&rr.energies, sums);
    if (s->rr.write_path && ((ret = ff_score_log_open(&s->log, ctx)) < 0 ||
                             (ret = ff_bliinds_rr_write(&s->rr, &s->log.outputs, ctx, &rr)) < 0) ||
        s->rr.read_path  && (ret = ff_bliinds_rr_find(&s->rr, ctx, &rr, &source)) < 0)
        return ret;
    if (source && source->valid)
        *loss = ff_bliinds_loss(&source->energies, &rr.energies, f->coded);
    return 0;
}

int ff_bliinds_score(BLIINDSContext *s, AVFilterContext *ctx, AVFrame *frame,
                     uint64_t n, const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    const double *coded = s->frame[n % BLIINDS_MAX_IN_FLIGHT].coded;
    double value[BLIINDS_MAX_METRICS], feature[BLIINDS_NB_FEATURES];
    BLIINDSLoss loss;
    int nb = NB_METRICS, ret;

    ff_bliinds_features(feature, sums);
    memcpy(feature + BLIINDS_FEATURE_CODED, coded, BLIINDS_NB_CODED * sizeof(*coded));
    predict(value, s, feature);
    value[METRIC_VALID] = is_valid(sums);
    if ((s->rr.read_path || s->rr.write_path) &&
        (ret = compare_with_source(s, ctx, frame, n, sums, value[METRIC_VALID], &loss)) < 0)
        return ret;
    if (s->rr.read_path) {
        value[nb++] = loss.loss;
        value[nb++] = loss.sigma;
    }
    if (s->features)
        memcpy(value + nb, feature, sizeof(feature));

    if (s->side_data && (ret = set_side_data(s, frame, value)) < 0)
        return ret;
    return ff_score_log_frame(&s->log, ctx, frame, n, value, value[METRIC_VALID]);
}

int ff_bliinds_close(BLIINDSContext *s, AVFilterContext *ctx, int ended)
{
    int ret = ff_bliinds_rr_close(&s->rr, ctx), err;

    if (ended && s->rr.write_path && !s->log.outputs.noted && ff_score_log_open(&s->log, ctx) >= 0)
        ff_bliinds_rr_write(&s->rr, &s->log.outputs, ctx, NULL);
    err = ff_score_log_close(&s->log, ctx, ended);
    return ret < 0 ? ret : err;
}
