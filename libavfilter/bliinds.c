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

/// The coded features, counted from BLIINDS_FEATURE_CODED.
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
    [BLIINDS_PIXELS] = "pixels", [BLIINDS_BITSTREAM] = "bitstream", [BLIINDS_OF_FLAT] = "flat", NULL
};
static_assert(NB_METRICS + BLIINDS_NB_FEATURES + FF_ARRAY_ELEMS(basis_name) - 1 <= METRIC_MAX,
              "METRIC_MAX");

/// A frame is flat if more than this share of its level 1 blocks is: only a model of its own can
/// score it. Beyond the next share it is blank, and none can. No frame is valid whose level 3 has
/// fewer blocks than the last one: they tell too little.
#define MAX_FLAT   0.75
#define BLANK      0.99
#define MIN_BLOCKS 10

/// A frame is still if the mean square of its difference from the one before it, for samples of
/// level 3 from 0 to 255, is at most 1 / STILL_DIVISOR. doc/quality-gate.texi has the measurements.
/// Blank frames are not marked as still: they are not valid, which is an alarm of its own.
#define STILL_DIVISOR 16

/// @name The side data, see the filter's documentation
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

    // all that there are have the same name, range and direction
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

// ---- before the samples are looked at ----

/// A value from quantizer_metadata, empty if there is none.
static const char *coded_value(const AVFrame *frame, const char *key)
{
    const AVDictionaryEntry *entry = av_dict_get(frame->metadata, key, NULL, 0);

    return entry ? entry->value : "";
}

/// A number from quantizer_metadata, NAN if there is none.
static double coded_number(const AVFrame *frame, const char *key)
{
    const char *text = coded_value(frame, key);
    double value;
    int length;

    return av_sscanf(text, "%lf%n", &value, &length) == 1 && !text[length] ? value : NAN;
}

/**
 * Set the coded features: NAN or infinite where they are not known.
 *
 * @return the name of the frame's codec if no model knows it, else NULL
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
        { "mpeg1video", CODED_MPEG2 }, { "h264", 0 },       // H.264 has no feature of its own
    };
    const char *codec   = coded_value(frame, "lavc.quantizer.codec");
    const double step   = coded_number(frame, "lavc.quantizer.gop_step");
    const double intra  = coded_number(frame, "lavc.quantizer.gop_intra_bytes");
    const double width  = coded_number(frame, "lavc.quantizer.width");
    const double height = coded_number(frame, "lavc.quantizer.height");
    // the picture may have been scaled, rotated or cropped
    const double scale  = FFMAX(FFMAX(luma->width, luma->height) / FFMAX(width, height),
                                FFMIN(luma->width, luma->height) / FFMIN(width, height));
    const double shown  = shown_height ? shown_height / (double)luma->height : 1;
    int known = 0;

    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        dst[i] = NAN;
    if (!isfinite(step))
        return NULL;
    while (known < FF_ARRAY_ELEMS(codecs) && strcmp(codec, codecs[known].name))
        known++;
    if (known == FF_ARRAY_ELEMS(codecs))
        return codec;
    dst[CODED_STEP]  = step;
    dst[CODED_INTRA] = log2(8 * intra / (width * height));
    // The models are trained from the coded size to four times that.
    dst[CODED_SCALE] = av_clipd(log2(scale * shown), 0, 2);
    // the key is left out where it is 0
    dst[CODED_CHROMA] = *coded_value(frame, "lavc.quantizer.chroma") ?
                        coded_number(frame, "lavc.quantizer.chroma") : 0;
    for (int i = CODED_HEVC; i < BLIINDS_NB_CODED; i++)
        dst[i] = 0;
    if (codecs[known].feature)
        dst[codecs[known].feature] = 1;
    return NULL;
}

/**
 * Whether n_subsample chooses a frame: one of each run of step frames, at a place that
 * changes from run to run in a pseudo-random, but repeatable way. A fixed distance would
 * prefer some types of frames, since encoders use these in a fixed pattern.
 *
 * @param n    the frame's number, from 0; frame 0 is always chosen
 * @param step 1 chooses all
 */
static int is_chosen(uint64_t n, int step)
{
    // two rounds of a multiplicative hash of the number of the run
    uint32_t hash = n / step * 0x9e3779b9;

    for (int i = 0; i < 2; i++)
        hash = (hash ^ hash >> 16) * 0x9e3779b9;
    return n % step == (uint64_t)hash * step >> 32;
}

int ff_bliinds_describe(BLIINDSContext *s, AVFilterContext *ctx, BLIINDSFrame *dst,
                        const AVFrame *frame, uint64_t n)
{
    const char *unknown;

    dst->n    = n;
    dst->luma = luma_format(frame);
    dst->is_scored  = is_chosen(n, s->n_subsample);
    dst->has_before = n == s->next && dst->luma.width == s->next_width &&
                      dst->luma.height == s->next_height;
    unknown = coded_features(dst->coded, frame, &dst->luma, s->shown_height);
    if (unknown && !s->has_unknown_codec++)
        av_log(ctx, AV_LOG_WARNING, "The model does not know the codec '%s'; its frames are handled "
               "as if they had no keys of quantizer_metadata%s.\n", unknown,
               s->model_name ? "" : " and get no score");
    // without a bitstream model, or what it needs, the pixel model is used, which may be empty
    dst->basis = s->model[BLIINDS_BITSTREAM].name[0] || s->model[BLIINDS_OF_FLAT].name[0] ?
                 BLIINDS_BITSTREAM : BLIINDS_PIXELS;
    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        if (!isfinite(dst->coded[i]))
            dst->basis = BLIINDS_PIXELS;
    dst->needs_statistics = s->features ||
                            ff_bliinds_model_needs_statistics(&s->model[dst->basis]) ||
                            dst->basis == BLIINDS_BITSTREAM &&
                            ff_bliinds_model_needs_statistics(&s->model[BLIINDS_OF_FLAT]);
    if (ctx->is_disabled || !dst->is_scored && !is_chosen(n + 1, s->n_subsample))
        return 0;
    s->next        = n + 1;
    s->next_width  = dst->luma.width;
    s->next_height = dst->luma.height;
    return 1;
}

// ---- from sums to the score ----

/// A sum as double, rounded once: it does not matter how whole and fraction share it.
static double sum_value(BLIINDSSum sum)
{
    return sum.whole + (sum.fraction >> 32) + (uint32_t)sum.fraction * 0x1p-32;
}

/// A statistic's place in the order of the features.
static const uint8_t position[BLIINDS_NB_STATISTICS] = {
    [BLIINDS_ZETA] = 0, [BLIINDS_GAMMA] = 1, [BLIINDS_SUB] = 2, [BLIINDS_ORI] = 3,
};

/// Mean of a statistic over n blocks.
static double mean(double sum, int statistic, double n)
{
    return sum / (statistic == BLIINDS_GAMMA ? n * 1000 : n);
}

/// Means over the n blocks that are clear of the grid, or straddle it, in the order of the phases.
static void class_means(double dst[7], const BLIINDSLevelSums *level, int class, int n)
{
    for (int b = 0; b < 3; b++)
        dst[b] = log2(sum_value(level->band[class][b]) / n + 0.1);
    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        dst[3 + position[i]] = mean(sum_value(level->pooled[i].grid[class]), i, n);
}

/// Return 1 if a frame hardly differs from the one before it, see STILL_DIVISOR; else 0.
static int is_still(const BLIINDSFrame *f, const BLIINDSLevelSums *sums)
{
    const uint64_t nb = (uint64_t)(f->luma.width >> 2) * (f->luma.height >> 2);

    return f->has_before && sums->motion[1] <= (nb << 2 * BLIINDS_COARSE_BITS) / STILL_DIVISOR;
}

/// The features of motion, from the sums of level 3.
static void motion_features(double dst[2], const BLIINDSFrame *f, const BLIINDSLevelSums *sums)
{
    static const double usual[2] = { 0.7, 4.3 };    // the mean of what the models are made from
    const double nb = (double)(f->luma.width >> 2) * (f->luma.height >> 2);

    for (int i = 0; i < 2; i++)
        dst[i] = f->has_before ?
                 log2(sums->motion[i] / nb / (1 << (1 + i) * BLIINDS_COARSE_BITS) + 0.1) : usual[i];
}

void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED], const BLIINDSFrame *f,
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    const LumaFormat *luma = &f->luma;
    const int nb_clear = bliinds_nb_clear(bliinds_nb_blocks(luma->width)) *
                         bliinds_nb_clear(bliinds_nb_blocks(luma->height));
    double *phase = dst + BLIINDS_FEATURE_PHASE, clear[7];

    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        const int n = bliinds_level_blocks(luma->width, luma->height, l);

        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            const BLIINDSPooled *pooled = &sums[l].pooled[i];
            double *feature = dst + 2 * (BLIINDS_NB_STATISTICS * l + position[i]);

            feature[0] = mean(sum_value(pooled->grid[0]) + sum_value(pooled->grid[1]), i, n);
            feature[1] = mean(sum_value(pooled->worst), i, bliinds_nb_worst(n));
        }
        for (int b = 0; b < 3; b++)
            dst[BLIINDS_FEATURE_BAND + 3 * l + b] =
                log2((sum_value(sums[l].band[0][b]) + sum_value(sums[l].band[1][b])) / n + 0.1);
    }
    // the smallest frame has both: its first block straddles the grid, the second is clear
    class_means(clear, &sums[0], 0, nb_clear);
    class_means(phase, &sums[0], 1, bliinds_level_blocks(luma->width, luma->height, 0) - nb_clear);
    for (int i = 0; i < 7; i++)
        phase[i] -= clear[i];
    motion_features(dst + BLIINDS_FEATURE_MOTION, f, &sums[2]);
}

/// Find our side data in a frame, from an encoder or an earlier filter.
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
    // what is flat and was scaled up is told too badly
    const int by_flat = is_flat && flat <= BLANK && f->basis == BLIINDS_BITSTREAM &&
                        s->model[BLIINDS_OF_FLAT].name[0] && f->coded[CODED_SCALE] <= 0;
    const enum BLIINDSBasis basis = by_flat ? BLIINDS_OF_FLAT : f->basis;
    const BLIINDSModel *model = &s->model[basis];
    double value[FF_ARRAY_ELEMS(s->metric)], *feature = value + NB_METRICS;
    // by the pixels alone the built-in model leads the wrong way too often: see doc/model.md
    const int withheld = !s->model_name && f->basis == BLIINDS_PIXELS;
    BLIINDSPrediction prediction;
    int ret, valid;

    if (!f->is_scored)
        return 0;
    ff_bliinds_features(feature, f, sums);
    memcpy(feature + BLIINDS_FEATURE_CODED, f->coded, sizeof(f->coded));
    prediction = ff_bliinds_model_predict(model, feature);
    valid = is_flat == by_flat && !ff_metric_is_marked(s->log.output, frame, METRIC_MAIN) &&
            bliinds_level_blocks(f->luma.width, f->luma.height, BLIINDS_LEVELS - 1) >= MIN_BLOCKS;
    value[METRIC_SCORE] = withheld ? NAN : prediction.score;
    value[METRIC_RAW]   = withheld ? NAN : prediction.raw;
    value[METRIC_SIGMA] = prediction.sigma;
    value[METRIC_BASIS] = model->name[0] ? basis : NAN;
    value[METRIC_VALID] = valid;
    if (valid) {
        // over frames of all models, the mean of what they tell
        s->sigma_p80 += model->sigma_p80;
        s->metric[METRIC_SIGMA].uncertain_above = s->sigma_p80 / ++s->nb_valid;
    }
    if (valid && withheld && !s->has_unknown_codec && !s->was_withheld++)
        av_log(ctx, AV_LOG_WARNING, "Frames without the keys of quantizer_metadata get no score: "
               "put '-bsf:v quantizer_metadata' before -i. A rough one, by the pixels alone, is "
               "given with model=%s.\n", model->name);
    s->log.nb_reported = s->features ? s->log.nb_metrics :
                         NB_METRICS + (withheld ? BLIINDS_FEATURE_BAND : 0);
    if (s->side_data && (ret = set_side_data(s, frame, value)) < 0 ||
        (ret = ff_metric_mark(s->log.output, frame, METRIC_STILL,
                              flat <= BLANK && is_still(f, &sums[2]))) < 0)
        return ret;
    return ff_metric_frame(&s->log, ctx, frame, f->n, value, valid);
}
