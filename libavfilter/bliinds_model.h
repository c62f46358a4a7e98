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
 * Models that turn the features of a frame into a score: a text file, documented
 * in doc/model-format.md, or one that is built in.
 */

#ifndef AVFILTER_BLIINDS_MODEL_H
#define AVFILTER_BLIINDS_MODEL_H

/**
 * The features, in the order of their values.
 *
 * 24 of the paper: per level, mean over all blocks ("100") and over the 10 %
 * of worst quality ("10": the largest zeta, sub and ori, the smallest gamma).
 * 9 band energies: per level, log2 of 0.1 + the mean variance of the low (1),
 * middle (2) and high (3) band's coefficients.
 * 7 phases, of level 1: the bands' energies, and the means, of the blocks that straddle a
 * line of the grid of 8x8 samples minus those of the others.
 * 9 of how the frame was coded, from the keys of quantizer_metadata, NAN without them: log2
 * of the quantizer step in units of an 8-bit sample, the mean weighted by bytes over the
 * frames since the last I frame, on which it may depend; log2 of that I frame's bits per
 * sample of luma; log2 of the size that is shown over the coded one; and 1 for its codec, 0
 * for the others: all are 0 for H.264.
 */
#define BLIINDS_LEVEL_FEATURES(f, l)                                            \
    f(#l ".zeta100") f(#l ".zeta10") f(#l ".gamma100") f(#l ".gamma10")         \
    f(#l ".sub100")  f(#l ".sub10")  f(#l ".ori100")   f(#l ".ori10")
#define BLIINDS_PHASE_FEATURES(f)                                               \
    f("L1.phase1")  f("L1.phase2")   f("L1.phase3")                             \
    f("phase.zeta") f("phase.gamma") f("phase.sub") f("phase.ori")
#define BLIINDS_CODED_FEATURES(f)                                               \
    f("coded.step")  f("coded.intra") f("coded.scale")                          \
    f("coded.hevc")  f("coded.av1")   f("coded.vp9")                            \
    f("coded.mpeg2") f("coded.mpeg4") f("coded.mjpeg")
#define BLIINDS_FEATURES(f)                                                     \
    BLIINDS_LEVEL_FEATURES(f, L1)                                               \
    BLIINDS_LEVEL_FEATURES(f, L2)                                               \
    BLIINDS_LEVEL_FEATURES(f, L3)                                               \
    f("L1.band1") f("L1.band2") f("L1.band3")                                   \
    f("L2.band1") f("L2.band2") f("L2.band3")                                   \
    f("L3.band1") f("L3.band2") f("L3.band3")                                   \
    BLIINDS_PHASE_FEATURES(f)                                                   \
    BLIINDS_CODED_FEATURES(f)

enum {
    BLIINDS_STATISTIC_FEATURES = 8,     ///< per level
    BLIINDS_FEATURE_BAND       = 24,    ///< first of the band energies
    BLIINDS_FEATURE_PHASE      = 33,    ///< first of the phases
    BLIINDS_FEATURE_CODED      = 40,    ///< first of the coding's
    BLIINDS_NB_CODED           = 9,
    BLIINDS_NB_FEATURES        = 49
};

extern const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES];

/// What is known of a frame.
enum BLIINDSBasis {
    BLIINDS_PIXELS,
    BLIINDS_BITSTREAM,      ///< its coding, too
    BLIINDS_NB_BASES
};

typedef struct BLIINDSModel {
    char name[64];          ///< empty if there is no model
    double weight[BLIINDS_NB_FEATURES];
    double constant;
    int logistic;           ///< the sum is the logarithm of (score - min) / (max - score)
    double min, max;        ///< range of the score
    double step;            ///< the score is rounded to multiples of it; 0 for none
    int higher_is_better;
    double sigma;           ///< standard deviation of the prediction, NAN if unknown
    /// its logarithm rises by these, of the features, the score and the distance
    double sigma_weight[BLIINDS_NB_FEATURES + 2];

    /// @name The training set, for the distance of a frame from it
    /// @{
    double outside;                     ///< distance beyond which a frame is unlike it
    int nb_known;                       ///< features it is given for, 0 if unknown
    int known[BLIINDS_NB_FEATURES];     ///< which
    double mean[BLIINDS_NB_FEATURES];   ///< of the known ones
    double *precision;                  ///< inverse covariance, [nb_known][nb_known]
    /// @}
} BLIINDSModel;

/**
 * Load the model for each basis; there may be none for one of them.
 *
 * @param name a built-in model's name, else the path of a model file
 * @return 0, or a negative AVERROR after a message with file, line and reason
 */
int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name);

/// Free what ff_bliinds_model_load() allocated.
void ff_bliinds_model_free(BLIINDSModel model[BLIINDS_NB_BASES]);

/// The prediction before it is rounded and clipped to the model's range.
double ff_bliinds_model_raw(const BLIINDSModel *model,
                            const double feature[BLIINDS_NB_FEATURES]);

/// A raw prediction on the model's scale: rounded to its step, clipped to its range.
double ff_bliinds_model_score(const BLIINDSModel *model, double raw);

/**
 * The standard deviation of a prediction.
 *
 * @param distance from ff_bliinds_model_distance(), not used if the model does not
 * @return in units of the score, NAN if the model does not tell
 */
double ff_bliinds_model_sigma(const BLIINDSModel *model,
                              const double feature[BLIINDS_NB_FEATURES],
                              double score, double distance);

/**
 * Mahalanobis distance of a frame's features from the training set.
 *
 * @return the distance in standard deviations, NAN if the model does not tell
 */
double ff_bliinds_model_distance(const BLIINDSModel *model,
                                 const double feature[BLIINDS_NB_FEATURES]);

#endif /* AVFILTER_BLIINDS_MODEL_H */
