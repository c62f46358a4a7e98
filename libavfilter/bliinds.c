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
 * Features, score, metadata, side data and logs of the BLIINDS filters; see bliinds.h.
 *
 * Features after Saad, Bovik and Charrier 2012 (BLIINDS-II), with additions of this filter: band
 * energies, grid phases, motion and coded features.
 */

#include <assert.h>
#include <math.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/buffer.h"
#include "libavutil/common.h"
#include "libavutil/dict.h"
#include "libavutil/error.h"
#include "libavutil/intfloat.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/uuid.h"

#include "bliinds.h"
#include "filters.h"

#define LEVEL(l)                                                        \
    l ".zeta100", l ".zeta10", l ".gamma100", l ".gamma10",             \
    l ".sub100",  l ".sub10",  l ".ori100",   l ".ori10"

const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES] = {
    LEVEL("L1"), LEVEL("L2"), LEVEL("L3"),
    "L1.band1", "L1.band2", "L1.band3", "L2.band1", "L2.band2", "L2.band3",
    "L3.band1", "L3.band2", "L3.band3",
    "L1.phase1", "L1.phase2", "L1.phase3",
    "phase.zeta", "phase.gamma", "phase.sub", "phase.ori",
    "motion.mean", "motion.energy",
    "coded.step", "coded.intra", "coded.scale", "coded.chroma",
    "coded.hevc", "coded.av1", "coded.vp9", "coded.mpeg2", "coded.mpeg4", "coded.mjpeg",
};

/// Indices of the coded features, relative to BLIINDS_FEATURE_CODED.
enum {
    CODED_STEP,
    CODED_INTRA,
    CODED_SCALE,
    CODED_CHROMA,
    CODED_HEVC,
    CODED_AV1,
    CODED_VP9,
    CODED_MPEG2,
    CODED_MPEG4,
    CODED_MJPEG,
};

/// Indices of the reported values of a frame; the features follow.
enum {
    METRIC_SCORE,
    METRIC_RAW,
    METRIC_SIGMA,
    METRIC_VALID,
    METRIC_BASIS,
    NB_METRICS
};
static const char *const basis_name[] = {
    [BLIINDS_PIXELS] = "pixels", [BLIINDS_BITSTREAM] = "bitstream", [BLIINDS_FLAT] = "flat", NULL
};
static_assert(NB_METRICS + BLIINDS_NB_FEATURES + FF_ARRAY_ELEMS(basis_name) - 1 <= METRIC_MAX,
              "METRIC_MAX");

#define MAX_FLAT   0.75     ///< share of flat level 1 blocks above which only BLIINDS_FLAT applies
#define BLANK      0.99     ///< share of flat level 1 blocks above which no model applies
#define MIN_BLOCKS 10       ///< level 3 blocks below which a frame is not valid

/**
 * Threshold of still frames: the mean square of the difference from the previous frame, for level 3
 * samples in 0..255, is at most 1 / STILL_DIVISOR. doc/quality-gate.texi has measurements. Blank
 * frames are not marked: they are not valid, which is an alarm of its own.
 */
#define STILL_DIVISOR 16

/// @name Layout of the side data; doc/bliinds.texi describes it
/// @{
static const AVUUID sei_uuid = {
    0x3c, 0x0e, 0x4a, 0x9b, 0x6f, 0x52, 0x4d, 0x17,
    0x9a, 0x41, 0xd8, 0x27, 0x5b, 0xe3, 0x60, 0xf4,
};
#define SEI_VERSION 2
#define SEI_VALID   0x01
/// @}

int ff_bliinds_init(BLIINDSContext *s, AVFilterContext *ctx, uint64_t *nb_frames)
{
    const BLIINDSModel *model = s->model;
    int ret = ff_bliinds_model_load(s->model, ctx, s->model_name ? s->model_name :
                                    BLIINDS_BUILT_IN_MODEL);

    if (ret < 0)
        return ret;

    // the models of a file share their name, range and direction
    while (!model->name[0])
        model++;
    s->metric[METRIC_SCORE] = (ScoreMetric){ "score",    6, 1, .score_number = 1, .min = model->min,
                                             .max = model->max, .model = model->name };
    s->metric[METRIC_RAW]   = (ScoreMetric){ "raw",      6, 1 };
    s->metric[METRIC_SIGMA] = (ScoreMetric){ "sigma",    6, 1 };
    s->metric[METRIC_VALID] = (ScoreMetric){ "valid",    0 };
    s->metric[METRIC_BASIS] = (ScoreMetric){ "basis",    0, .words = basis_name };
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        s->metric[NB_METRICS + i] = (ScoreMetric){ ff_bliinds_feature_name[i], 9, 1 };

    s->log.filter           = "bliinds";
    s->log.title            = "BLIINDS";
    s->log.predicts         = model->predicts;
    s->log.higher_is_better = model->higher_is_better;
    s->log.metric           = s->metric;
    s->log.nb_metrics       = NB_METRICS + (s->features ? BLIINDS_NB_FEATURES :
                                            s->model_name ? 0 : BLIINDS_FEATURE_BAND);
    return ff_metric_init(&s->log, ctx, nb_frames);
}

// ---- metadata of a frame ----

/// Return a value that quantizer_metadata has attached to a frame, or "" if there is none.
static const char *quantizer_key(const AVFrame *frame, const char *key)
{
    const AVDictionaryEntry *entry = av_dict_get(frame->metadata, key, NULL, 0);

    return entry ? entry->value : "";
}

/// Return a number that quantizer_metadata has attached to a frame, or NAN if there is none.
static double quantizer_number(const AVFrame *frame, const char *key)
{
    const char *text = quantizer_key(frame, key);
    double value;
    int length;

    return av_sscanf(text, "%lf%n", &value, &length) == 1 && !text[length] ? value : NAN;
}

/**
 * Compute the coded features, NAN or infinite where unknown.
 *
 * @param shown_height display height in rows, 0 for the height of the frame
 * @return the name of the codec if the models do not support it, else NULL
 */
static const char *coded_features(double dst[BLIINDS_NB_CODED], const AVFrame *frame,
                                  const LumaFormat *luma, int shown_height)
{
    static const struct {
        const char *name;
        int feature;
    } codecs[] = {
        { "hevc",  CODED_HEVC  }, { "av1",   CODED_AV1   }, { "vp9",        CODED_VP9   },
        { "mpeg4", CODED_MPEG4 }, { "mjpeg", CODED_MJPEG }, { "mpeg2video", CODED_MPEG2 },
        { "mpeg1video", CODED_MPEG2 }, { "h264", 0 },       // H.264 has no indicator
    };
    const char *codec   = quantizer_key(frame, "lavc.quantizer.codec");
    const double step   = quantizer_number(frame, "lavc.quantizer.gop_step");
    const double intra  = quantizer_number(frame, "lavc.quantizer.gop_intra_bytes");
    const double width  = quantizer_number(frame, "lavc.quantizer.width");
    const double height = quantizer_number(frame, "lavc.quantizer.height");
    // long side to long side, short to short: the picture may be rotated, cropped or scaled
    const double scale  = FFMAX(FFMAX(luma->width, luma->height) / FFMAX(width, height),
                                FFMIN(luma->width, luma->height) / FFMIN(width, height));
    const double shown  = shown_height ? shown_height / (double)luma->height : 1;
    int codec_idx = 0;

    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        dst[i] = NAN;
    if (!isfinite(step))
        return NULL;
    while (codec_idx < FF_ARRAY_ELEMS(codecs) && strcmp(codec, codecs[codec_idx].name))
        codec_idx++;
    if (codec_idx == FF_ARRAY_ELEMS(codecs))
        return codec;
    dst[CODED_STEP]  = step;
    dst[CODED_INTRA] = log2(8 * intra / (width * height));
    // training covers display sizes from the coded size to four times that
    dst[CODED_SCALE] = av_clipd(log2(scale * shown), 0, 2);
    // quantizer_metadata omits the key if its value is 0
    dst[CODED_CHROMA] = *quantizer_key(frame, "lavc.quantizer.chroma") ?
                        quantizer_number(frame, "lavc.quantizer.chroma") : 0;
    for (int i = CODED_HEVC; i < BLIINDS_NB_CODED; i++)
        dst[i] = 0;
    if (codecs[codec_idx].feature)
        dst[codecs[codec_idx].feature] = 1;
    return NULL;
}

/**
 * Return 1 if n_subsample selects a frame, else 0.
 *
 * One frame of each group of step frames is selected, at a pseudo-random but repeatable position.
 * A fixed distance would favour some frame types, as encoders use them in a periodic pattern.
 *
 * @param n    frame number, from 0; frame 0 is always selected
 * @param step size of a group; 1 selects all frames
 */
static int is_chosen(uint64_t n, int step)
{
    // two rounds of a multiplicative hash of the number of the group
    uint32_t hash = n / step * 0x9e3779b9;

    for (int i = 0; i < 2; i++)
        hash = (hash ^ hash >> 16) * 0x9e3779b9;
    return n % step == (uint64_t)hash * step >> 32;
}

int ff_bliinds_frame_init(BLIINDSContext *s, AVFilterContext *ctx, BLIINDSFrame *dst,
                          const AVFrame *frame, uint64_t n)
{
    const char *unsupported;

    dst->n    = n;
    dst->luma = luma_format(frame);
    dst->is_scored = is_chosen(n, s->n_subsample);
    dst->has_prev  = n == s->next_n && dst->luma.width == s->next_width &&
                     dst->luma.height == s->next_height;
    unsupported = coded_features(dst->coded, frame, &dst->luma, s->shown_height);
    if (unsupported && !s->warned_unknown_codec++)
        av_log(ctx, AV_LOG_WARNING, "The model does not support the codec '%s'; its frames are "
               "handled like frames without quantizer_metadata%s.\n", unsupported,
               s->model_name ? "" : " and get no score");
    // fall back to the pixel model, which may be empty, if a bitstream model or a feature is missing
    dst->kind = s->model[BLIINDS_BITSTREAM].name[0] || s->model[BLIINDS_FLAT].name[0] ?
                BLIINDS_BITSTREAM : BLIINDS_PIXELS;
    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        if (!isfinite(dst->coded[i]))
            dst->kind = BLIINDS_PIXELS;
    dst->needs_statistics = s->features ||
                            ff_bliinds_model_needs_statistics(&s->model[dst->kind]) ||
                            dst->kind == BLIINDS_BITSTREAM &&
                            ff_bliinds_model_needs_statistics(&s->model[BLIINDS_FLAT]);
    if (ctx->is_disabled || !dst->is_scored && !is_chosen(n + 1, s->n_subsample))
        return 0;
    s->next_n      = n + 1;
    s->next_width  = dst->luma.width;
    s->next_height = dst->luma.height;
    return 1;
}

// ---- features ----

/// Convert a sum to double with one rounding, however the value is split into integer and fraction.
static double to_double(BLIINDSSum sum)
{
    return sum.integer + (sum.fraction >> 32) + (uint32_t)sum.fraction * 0x1p-32;
}

/// Position of each statistic among the features of a level, in pairs of 100 and 10.
static const uint8_t feature_index[BLIINDS_NB_STATISTICS] = {
    [BLIINDS_ZETA] = 0, [BLIINDS_GAMMA] = 1, [BLIINDS_SUB] = 2, [BLIINDS_ORI] = 3,
};

/// Return the mean of a statistic over n blocks; gamma is summed in thousandths.
static double mean(double sum, int statistic, double n)
{
    return sum / (statistic == BLIINDS_GAMMA ? n * 1000 : n);
}

/// Compute band energies, then mean statistics, of the n blocks of a grid class.
static void grid_class_means(double dst[7], const BLIINDSLevelSums *level, int grid_class, int n)
{
    for (int b = 0; b < 3; b++)
        dst[b] = log2(to_double(level->band[grid_class][b]) / n + 0.1);
    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        dst[3 + feature_index[i]] = mean(to_double(level->pooled[i].by_class[grid_class]), i, n);
}

/// Return 1 if a frame hardly differs from the previous one, see STILL_DIVISOR; else 0.
static int is_still(const BLIINDSFrame *f, const BLIINDSLevelSums *sums)
{
    const uint64_t nb = (uint64_t)(f->luma.width >> 2) * (f->luma.height >> 2);

    return f->has_prev && sums->motion[1] <= (nb << 2 * BLIINDS_MOTION_FRAC_BITS) / STILL_DIVISOR;
}

/// Compute the motion features from the sums of level 3.
static void motion_features(double dst[2], const BLIINDSFrame *f, const BLIINDSLevelSums *sums)
{
    static const double default_motion[2] = { 0.7, 4.3 };   // means over the training set
    const double nb = (double)(f->luma.width >> 2) * (f->luma.height >> 2);

    for (int i = 0; i < 2; i++)
        dst[i] = f->has_prev ? log2(sums->motion[i] / nb / (1 << (1 + i) * BLIINDS_MOTION_FRAC_BITS) +
                                    0.1) : default_motion[i];
}

void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED], const BLIINDSFrame *f,
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    const LumaFormat *luma = &f->luma;
    const int nb_aligned = bliinds_nb_aligned(bliinds_nb_blocks(luma->width)) *
                           bliinds_nb_aligned(bliinds_nb_blocks(luma->height));
    double *grid_phase = dst + BLIINDS_FEATURE_GRID_PHASE, aligned[7];

    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        const int n = bliinds_level_blocks(luma->width, luma->height, l);

        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            const BLIINDSPooled *pooled = &sums[l].pooled[i];
            double *feature = dst + 2 * (BLIINDS_NB_STATISTICS * l + feature_index[i]);

            feature[0] = mean(to_double(pooled->by_class[0]) + to_double(pooled->by_class[1]), i, n);
            feature[1] = mean(to_double(pooled->pooled10), i, bliinds_nb_pooled10(n));
        }
        for (int b = 0; b < 3; b++)
            dst[BLIINDS_FEATURE_BAND + 3 * l + b] =
                log2((to_double(sums[l].band[0][b]) + to_double(sums[l].band[1][b])) / n + 0.1);
    }
    // no division by 0: the smallest frame has blocks of both classes
    grid_class_means(aligned, &sums[0], 0, nb_aligned);
    grid_class_means(grid_phase, &sums[0], 1,
                     bliinds_level_blocks(luma->width, luma->height, 0) - nb_aligned);
    for (int i = 0; i < 7; i++)
        grid_phase[i] -= aligned[i];
    motion_features(dst + BLIINDS_FEATURE_MOTION, f, &sums[2]);
}

// ---- side data and score ----

/// Find the side data that this filter, or an encoder that has stored it, left in a frame.
static AVFrameSideData *find_side_data(const AVFrame *frame)
{
    for (int i = 0; i < frame->nb_side_data; i++) {
        AVFrameSideData *sd = frame->side_data[i];

        if (sd->type == AV_FRAME_DATA_SEI_UNREGISTERED && sd->size >= sizeof(AVUUID) &&
            av_uuid_equal(sd->data, sei_uuid))
            return sd;
    }
    return NULL;
}

/// Attach the reported values to a frame as side data, in the place of earlier ones.
static int set_side_data(const BLIINDSContext *s, AVFrame *frame, const double *value)
{
    const char *name       = s->metric[METRIC_SCORE].model;
    const size_t name_size = strlen(name);
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
    memcpy(p, name, name_size);

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
    const double flat = sums[0].nb_flat /
                        (double)bliinds_level_blocks(f->luma.width, f->luma.height, 0);
    const int is_flat = flat > MAX_FLAT;
    // the flat model is not accurate enough for frames that were scaled up
    const int use_flat_model = is_flat && flat <= BLANK && f->kind == BLIINDS_BITSTREAM &&
                               s->model[BLIINDS_FLAT].name[0] && f->coded[CODED_SCALE] <= 0;
    const enum BLIINDSModelKind kind = use_flat_model ? BLIINDS_FLAT : f->kind;
    const BLIINDSModel *model = &s->model[kind];
    double value[FF_ARRAY_ELEMS(s->metric)], *feature = value + NB_METRICS;
    // the built-in pixel model ranks too many videos in the wrong order: see doc/model.md
    const int withheld = !s->model_name && f->kind == BLIINDS_PIXELS;
    BLIINDSPrediction prediction;
    int ret, valid;

    if (!f->is_scored)
        return 0;
    ff_bliinds_features(feature, f, sums);
    memcpy(feature + BLIINDS_FEATURE_CODED, f->coded, sizeof(f->coded));
    prediction = ff_bliinds_model_predict(model, feature);
    valid = is_flat == use_flat_model && !ff_metric_is_marked(s->log.output, frame, METRIC_MAIN) &&
            bliinds_level_blocks(f->luma.width, f->luma.height, BLIINDS_LEVELS - 1) >= MIN_BLOCKS;
    value[METRIC_SCORE] = withheld ? NAN : prediction.score;
    value[METRIC_RAW]   = withheld ? NAN : prediction.raw;
    value[METRIC_SIGMA] = prediction.sigma;
    value[METRIC_BASIS] = model->name[0] ? kind : NAN;
    value[METRIC_VALID] = valid;
    if (valid) {
        // the mean over the valid frames, which different models may have scored
        s->sigma_p80 += model->sigma_p80;
        s->metric[METRIC_SIGMA].uncertain_above = s->sigma_p80 / ++s->nb_valid;
    }
    if (valid && withheld && !s->warned_unknown_codec && !s->warned_withheld++)
        av_log(ctx, AV_LOG_WARNING, "Frames without quantizer_metadata get no score: put "
               "'-bsf:v quantizer_metadata' before -i, or set model=%s for a rough score from "
               "pixels only.\n", model->name);
    s->log.nb_reported = s->features ? s->log.nb_metrics :
                         NB_METRICS + (withheld ? BLIINDS_FEATURE_BAND : 0);
    if (s->side_data && (ret = set_side_data(s, frame, value)) < 0 ||
        (ret = ff_metric_mark(s->log.output, frame, METRIC_STILL,
                              flat <= BLANK && is_still(f, &sums[2]))) < 0)
        return ret;
    return ff_metric_frame(&s->log, ctx, frame, f->n, value, valid);
}
