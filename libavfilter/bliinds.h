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
 * What the BLIINDS filters share: from sums over blocks to features, score,
 * metadata, side data and logs. They differ only in where the sums are made.
 *
 * A function of type int returns 0, or a negative AVERROR after a message.
 */

#ifndef AVFILTER_BLIINDS_H
#define AVFILTER_BLIINDS_H

#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/opt.h"

#include "avfilter.h"
#include "bliinds_block.h"
#include "sample_format.h"
#include "score_log.h"

#define BLIINDS_MIN_SIZE 4      ///< level 3 then has one sample

/**
 * The features, in the order of their values.
 *
 * 24 of the paper: per level, mean over all blocks ("100") and over the 10 %
 * of worst quality ("10": the largest zeta, sub and ori, the smallest gamma).
 * 9 band energies: per level, log2 of 0.1 + the mean variance of the low (1),
 * middle (2) and high (3) band's coefficients.
 * 7 phases of level 1: band energies and mean statistics of the blocks that straddle a line
 * of the 8x8 grid, minus those of the other blocks.
 * 2 features of motion: log2 of 0.1 + the mean magnitude, and the mean square, of the difference
 * of the level 3 samples from those of the frame before; what is usual, where there is none.
 * 10 coded features, from the keys of quantizer_metadata, NAN without them: log2 of the
 * quantizer step in units of an 8-bit sample, as mean over the group of pictures so far,
 * weighted by bytes; log2 of its I frame's bits per sample of luma; log2 of the shown
 * size over the coded one, clipped to 0 to 2; log2 of chroma's step, less luma's, as the stream asks for it; and
 * for each codec but H.264, 1 if it is the frame's, else 0.
 */
enum {
    BLIINDS_FEATURE_BAND       = 24,    ///< first of the band energies
    BLIINDS_FEATURE_PHASE      = 33,    ///< first of the phases, those of the bands
    BLIINDS_FEATURE_MEAN_PHASE = 36,    ///< first of the phases of means of statistics
    BLIINDS_FEATURE_MOTION     = 40,    ///< first of those of motion
    BLIINDS_FEATURE_CODED      = 42,    ///< first of the coded features
    BLIINDS_NB_CODED           = 10,
    BLIINDS_NB_FEATURES        = 52,
};

extern const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES];

/// What a score is made from.
enum BLIINDSBasis {
    BLIINDS_PIXELS,
    BLIINDS_BITSTREAM,      ///< the pixels and the coded features
    BLIINDS_OF_FLAT,        ///< the same, of a frame most of which is flat
    BLIINDS_NB_BASES
};

#define BLIINDS_MAX_UNITS 16

/// A hidden unit: out * z / (1 + |z|), where z = constant + sum of weight * feature.
typedef struct BLIINDSUnit {
    double out;
    double constant;
    double weight[BLIINDS_NB_FEATURES];
} BLIINDSUnit;

typedef struct BLIINDSModel {
    char name[64];          ///< empty if there is no model
    char predicts[64];      ///< what the score is, for the reader; may be empty
    double weight[BLIINDS_NB_FEATURES];
    double constant;
    BLIINDSUnit unit[BLIINDS_MAX_UNITS];    ///< are added to the weighted sum
    int nb_units;
    int logistic;           ///< the sum is log((score - min) / (max - score))
    int higher_is_better;
    int of_flat;            ///< it is for flat frames
    double min, max;        ///< range of the score
    double step;            ///< the score is rounded to multiples of it; 0 for none
    double sigma;           ///< standard deviation of the prediction, NAN if unknown
    /// weights of the features, and behind them of the score, in the logarithm of sigma
    double sigma_weight[BLIINDS_NB_FEATURES + 1];
    double sigma_p80;       ///< 80 % of the training set have a lower sigma; NAN if unknown
} BLIINDSModel;

/// What a model makes of the features of a frame.
typedef struct BLIINDSPrediction {
    double raw;
    double score;           ///< rounded to the model's step, clipped to its range
    double sigma;           ///< standard deviation of the score's error, NAN if unknown
} BLIINDSPrediction;

/// What is known of a frame before its samples are looked at.
typedef struct BLIINDSFrame {
    uint64_t n;                         ///< number, from 0
    LumaFormat luma;
    int is_scored;                      ///< 0: only the next frame needs it, for its motion
    int has_before;                     ///< its motion from the frame before is known
    double coded[BLIINDS_NB_CODED];     ///< the coded features
    enum BLIINDSBasis basis;            ///< which model scores it, BLIINDS_BITSTREAM for either
    int needs_statistics;               ///< 0: the sums of the bands and nb_flat are enough
} BLIINDSFrame;

/// The part of a filter's context that does not depend on where it computes.
typedef struct BLIINDSContext {
    // options
    char *model_name;       ///< NULL: the built-in one, whose score by the pixels is withheld
    int shown_height;       ///< rows at which people see the video, 0: those of the frame
    int features;
    int side_data;
    int n_subsample;
    MetricLog log;

    BLIINDSModel model[BLIINDS_NB_BASES];
    double sigma_p80;       ///< sum over the valid frames of their models' sigma_p80
    uint64_t nb_valid;
    uint64_t next;          ///< number and size of the frame whose motion will be known
    int next_width, next_height;
    int was_withheld;       ///< a score, and a warning has said so
    int has_unknown_codec;  ///< a frame's codec is unknown to all models, and a warning has said so
    ScoreMetric metric[5 + BLIINDS_NB_FEATURES];    ///< the features come last
} BLIINDSContext;

/// The options of a BLIINDS filter, whose context has it as member.
#define BLIINDS_OPTIONS(type, member, flags)                                                \
    { "model", "set the model: a built-in name or a file (default vmaf1_est5, which gives " \
      "no score without quantizer_metadata)", offsetof(type, member.model_name),            \
      AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags },                                   \
    { "shown_height", "set the display height in pixels (0 = frame height)",                \
      offsetof(type, member.shown_height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0,                \
      LUMA_MAX_SIZE, flags },                                                            \
    { "features", "report the features too",                                                \
      offsetof(type, member.features), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, flags },       \
    { "side_data", "attach the score as user data unregistered SEI",                        \
      offsetof(type, member.side_data), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1, flags },      \
    { "n_subsample", "score one of every n frames",                                         \
      offsetof(type, member.n_subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, flags }, \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/// Load the model, and set up the metrics and logs.
///
/// @param nb_frames set to the number of frames before a rebuild of the graph
int ff_bliinds_init(BLIINDSContext *s, AVFilterContext *ctx, uint64_t *nb_frames);

/**
 * Describe a frame before its samples are looked at.
 *
 * @param n its number, from 0
 * @return 1 if ff_bliinds_score() needs its sums, 0 if not
 */
int ff_bliinds_describe(BLIINDSContext *s, AVFilterContext *ctx, BLIINDSFrame *dst,
                        const AVFrame *frame, uint64_t n);

/**
 * Score a frame, if it is to be; the score goes to its metadata, its side data and the files.
 *
 * @param frame the frame, whose pixels are not touched
 * @param f     what ff_bliinds_describe() told of it
 * @param sums  of its levels
 */
int ff_bliinds_score(BLIINDSContext *s, AVFilterContext *ctx, AVFrame *frame,
                     const BLIINDSFrame *f, const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

/// Compute all features but the coded ones.
void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED], const BLIINDSFrame *f,
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

// ---- models, see bliinds_model.c ----

/// Name of the built-in model: the embedded file models/vmaf1_est5.txt.
#define BLIINDS_BUILT_IN_MODEL "vmaf1_est5"

/**
 * Load a built-in model or a file, see doc/model-format.md: models for different frames.
 *
 * @return 0, or a negative AVERROR after a message with file, line and reason
 */
int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name);

/// Whether a model uses more than band energies and coded features.
int ff_bliinds_model_needs_statistics(const BLIINDSModel *model);

BLIINDSPrediction ff_bliinds_model_predict(const BLIINDSModel *model,
                                           const double feature[BLIINDS_NB_FEATURES]);

#endif /* AVFILTER_BLIINDS_H */
