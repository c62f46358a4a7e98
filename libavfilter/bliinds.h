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
 * Code shared by the CPU and the CUDA filter of BLIINDS: from integer sums over the blocks of a
 * frame to features, score, metadata, side data and logs. vf_bliinds.c describes the method.
 *
 * A frame takes three steps. ff_bliinds_frame_init() reads its metadata and decides whether it is
 * scored and by which model. The filter computes BLIINDSLevelSums for the three levels, on the CPU
 * or on a GPU. ff_bliinds_score() turns the sums into features, applies the model and reports.
 *
 * All functions belong to the thread of the filter; a BLIINDSContext needs no lock.
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

#define BLIINDS_MIN_SIZE 4      ///< least width and height in samples: level 3 then has one sample

/**
 * Indices of the features.
 *
 * - 24 features of the BLIINDS-II paper: for each level, the mean over all blocks
 *   ("100") and the 10 % percentile pooling ("10": mean over the 10 % of blocks with the largest
 *   zeta, sub and ori, or the smallest gamma).
 * - 9 band energies: for each level, log2(0.1 + mean variance) of the coefficients of the low (1),
 *   middle (2) and high (3) band.
 * - 7 grid phases of level 1, which show blockiness: band energies and mean statistics of the
 *   blocks that straddle a line of the 8x8 coding grid, minus those of the blocks aligned with it.
 * - 2 motion features: log2(0.1 + x), where x is the mean magnitude, or the mean square, of the
 *   difference between the level 3 samples of this frame and the previous one. A typical value
 *   replaces them if the previous frame is unknown.
 * - 10 coded features from the metadata of the quantizer_metadata bitstream filter, NAN without
 *   it: log2 of the quantizer step in units of an 8-bit sample, as byte-weighted mean over the
 *   group of pictures so far; log2 of the I frame's bits per luma sample; log2 of the displayed
 *   over the coded size, clipped to 0..2; log2 of the chroma step over the luma step, as signalled;
 *   and six codec indicators, 1 for the codec of the frame and 0 otherwise. H.264 has no indicator.
 */
enum {
    BLIINDS_FEATURE_BAND            = 24,   ///< first band energy
    BLIINDS_FEATURE_GRID_PHASE      = 33,   ///< first grid phase: those of the band energies
    BLIINDS_FEATURE_GRID_PHASE_STAT = 36,   ///< first grid phase of a mean statistic
    BLIINDS_FEATURE_MOTION          = 40,   ///< first motion feature
    BLIINDS_FEATURE_CODED           = 42,   ///< first coded feature
    BLIINDS_NB_CODED                = 10,
    BLIINDS_NB_FEATURES             = 52,
};

/// Names of the features in metadata, logs and model files, such as "L1.zeta100".
extern const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES];

/// Models by the kind of frame that they score; `basis` in metadata and logs.
enum BLIINDSModelKind {
    BLIINDS_PIXELS,         ///< frames without coded features
    BLIINDS_BITSTREAM,      ///< frames with coded features
    BLIINDS_FLAT,           ///< frames with coded features most of whose blocks are flat
    BLIINDS_NB_MODELS
};

#define BLIINDS_MAX_UNITS 16    ///< maximum number of hidden units of a model

/// Hidden unit of the one-layer network: out * z / (1 + |z|), z = constant + sum(weight * feature).
typedef struct BLIINDSUnit {
    double out;
    double constant;
    double weight[BLIINDS_NB_FEATURES];
} BLIINDSUnit;

/// One model of a model file; doc/model-format.md describes the fields and their keywords.
typedef struct BLIINDSModel {
    char name[64];          ///< empty if the file has no model of this kind
    char predicts[64];      ///< meaning of the score, for the summary; may be empty
    double weight[BLIINDS_NB_FEATURES];
    double constant;
    BLIINDSUnit unit[BLIINDS_MAX_UNITS];    ///< hidden units, added to the weighted sum
    int nb_units;
    int logistic;           ///< 1: the sum is log((score - min) / (max - score)); 0: the score
    int higher_is_better;
    int for_flat;           ///< the file declares this model for flat frames
    double min, max;        ///< range of the score, min < max
    double step;            ///< rounding unit of the score; 0 for no rounding
    double sigma;           ///< standard deviation of the prediction; NAN if unknown
    /// weights in log(sigma of a frame): one per feature, then one for the score
    double sigma_weight[BLIINDS_NB_FEATURES + 1];
    double sigma_p80;       ///< 80th percentile of sigma in the training set; NAN if unknown
} BLIINDSModel;

/// Prediction of a model for one frame.
typedef struct BLIINDSPrediction {
    double raw;             ///< prediction before rounding and clipping
    double score;           ///< raw, rounded to the model's step and clipped to its range
    double sigma;           ///< standard deviation of the score's error; NAN if unknown
} BLIINDSPrediction;

/// Per-frame information that does not depend on pixel values; lives until the frame is reported.
typedef struct BLIINDSFrame {
    uint64_t n;                         ///< frame number, from 0
    LumaFormat luma;                     ///< size, depth and black level
    int is_scored;                      ///< 0: only measured for the motion of the next frame
    int has_prev;                       ///< the previous frame was measured and has the same size
    double coded[BLIINDS_NB_CODED];     ///< coded features; NAN or infinite where unknown
    enum BLIINDSModelKind kind;         ///< BLIINDS_BITSTREAM stands for BLIINDS_FLAT, too
    int needs_statistics;               ///< 0: band sums, nb_flat and motion are enough
} BLIINDSFrame;

/// Part of the filter context shared by the CPU and the CUDA filter.
typedef struct BLIINDSContext {
    // options
    char *model_name;       ///< NULL: built-in model, which gives no score without coded features
    int shown_height;       ///< display height in rows; 0: the height of the frame
    int features;
    int side_data;
    int n_subsample;
    MetricLog log;

    BLIINDSModel model[BLIINDS_NB_MODELS];
    double sigma_p80;       ///< sum of sigma_p80 of the models over the valid frames
    uint64_t nb_valid;
    uint64_t next_n;        ///< number of the frame that follows the last measured one
    int next_width, next_height;    ///< size of the last measured frame
    int warned_withheld;            ///< a warning has reported frames without a score
    int warned_unknown_codec;       ///< a warning has reported a codec unknown to the models
    ScoreMetric metric[5 + BLIINDS_NB_FEATURES];    ///< reported values; the features come last
} BLIINDSContext;

/// AVOption entries of a BLIINDS filter; member is the BLIINDSContext in its context type.
#define BLIINDS_OPTIONS(type, member, flags)                                                \
    { "model", "set the model: a built-in name or a file (default vmaf1_est5, which gives " \
      "no score without quantizer_metadata)", offsetof(type, member.model_name),            \
      AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags },                                   \
    { "shown_height", "set the display height in pixels (0 = frame height)",                \
      offsetof(type, member.shown_height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0,                \
      LUMA_MAX_SIZE, flags },                                                               \
    { "features", "report the features too",                                                \
      offsetof(type, member.features), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, flags },       \
    { "side_data", "attach the score as user data unregistered SEI",                        \
      offsetof(type, member.side_data), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1, flags },      \
    { "n_subsample", "score one of every n frames",                                         \
      offsetof(type, member.n_subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, flags }, \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/**
 * Load the model that the options name, and set up metrics and logs.
 *
 * @param nb_frames set to the number of frames that a previous filter instance has counted in the
 *                  same log, before the filter graph was rebuilt; else to 0
 * @return 0 or a negative AVERROR, with a message logged
 */
int ff_bliinds_init(BLIINDSContext *s, AVFilterContext *ctx, uint64_t *nb_frames);

/**
 * Fill in the information on a frame that does not depend on its pixel values.
 *
 * Call it for each frame in order, as it remembers which frame was measured last.
 *
 * @param n frame number, from 0
 * @return 1 if the sums of the frame are needed, 0 if ff_bliinds_score() is not to be called
 */
int ff_bliinds_frame_init(BLIINDSContext *s, AVFilterContext *ctx, BLIINDSFrame *dst,
                          const AVFrame *frame, uint64_t n);

/**
 * Score a frame, and write the score to its metadata, its side data and the logs.
 *
 * Does nothing for a frame that was only measured for the motion of the next one.
 *
 * @param frame the frame; only metadata and side data change
 * @param f     filled in by ff_bliinds_frame_init()
 * @param sums  sums over the blocks of each level
 * @return 0 or a negative AVERROR, with a message logged except for AVERROR(ENOMEM)
 */
int ff_bliinds_score(BLIINDSContext *s, AVFilterContext *ctx, AVFrame *frame,
                     const BLIINDSFrame *f, const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

/**
 * Compute all features but the coded ones.
 *
 * @param dst indexed as ff_bliinds_feature_name; without f->needs_statistics, the features of
 *            statistics are meaningless
 */
void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED], const BLIINDSFrame *f,
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

// ---- models: bliinds_model.c ----

/// Name of the built-in model, whose file models/vmaf1_est5.txt is embedded in the library.
#define BLIINDS_BUILT_IN_MODEL "vmaf1_est5"

/**
 * Load the models of a file, or the built-in ones. doc/model-format.md describes the format.
 *
 * @param model  overwritten; kinds that the file does not have get an empty name
 * @param logctx for messages; may be NULL
 * @param name   path of a file, or BLIINDS_BUILT_IN_MODEL
 * @return 0 or a negative AVERROR, with file, line and reason logged except for AVERROR(ENOMEM)
 */
int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_MODELS], void *logctx, const char *name);

/// Return 1 if a model uses block statistics, 0 if band energies, motion and coded features do.
int ff_bliinds_model_needs_statistics(const BLIINDSModel *model);

/**
 * Apply a model to the features of a frame.
 *
 * @param model   all values of the prediction are NAN if its name is empty
 * @param feature features of weight 0 may be NAN
 */
BLIINDSPrediction ff_bliinds_model_predict(const BLIINDSModel *model,
                                           const double feature[BLIINDS_NB_FEATURES]);

#endif /* AVFILTER_BLIINDS_H */
