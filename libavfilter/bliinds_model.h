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
 * Models that turn BLIINDS-II features into a score: a text file, documented
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
 * 9 band phases: the energy of the blocks that straddle a line of the grid of
 * 8x8 samples of their level minus that of the others, 0 if there are none of either.
 * 18 shares of blocks: those in which the band's variance is below 1 ("quiet")
 * and below 1/8 ("empty").
 * 4 phases: the same as of a band, of means at level 1.
 */
#define BLIINDS_LEVEL_FEATURES(f, l)                                            \
    f(#l ".zeta100") f(#l ".zeta10") f(#l ".gamma100") f(#l ".gamma10")         \
    f(#l ".sub100")  f(#l ".sub10")  f(#l ".ori100")   f(#l ".ori10")
#define BLIINDS_BAND_FEATURES(f, name)                                          \
    f("L1." name "1") f("L1." name "2") f("L1." name "3")                       \
    f("L2." name "1") f("L2." name "2") f("L2." name "3")                       \
    f("L3." name "1") f("L3." name "2") f("L3." name "3")
#define BLIINDS_FEATURES(f)                                                     \
    BLIINDS_LEVEL_FEATURES(f, L1)                                               \
    BLIINDS_LEVEL_FEATURES(f, L2)                                               \
    BLIINDS_LEVEL_FEATURES(f, L3)                                               \
    BLIINDS_BAND_FEATURES(f, "band")                                            \
    BLIINDS_BAND_FEATURES(f, "phase")                                           \
    BLIINDS_BAND_FEATURES(f, "quiet")                                           \
    BLIINDS_BAND_FEATURES(f, "empty")                                           \
    f("phase.zeta") f("phase.gamma") f("phase.sub") f("phase.ori")

enum {
    BLIINDS_STATISTIC_FEATURES = 8,     ///< per level
    BLIINDS_FEATURE_BAND       = 24,    ///< first of the band energies
    BLIINDS_FEATURE_BAND_PHASE = 33,    ///< first of the band phases
    BLIINDS_FEATURE_QUIET      = 42,    ///< first of the shares
    BLIINDS_FEATURE_EMPTY      = 51,    ///< the same of empty blocks
    BLIINDS_FEATURE_PHASE      = 60,    ///< first of the other phases
    BLIINDS_NB_FEATURES        = 64
};

extern const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES];

typedef struct BLIINDSModel {
    char name[64];
    double weight[BLIINDS_NB_FEATURES];
    double constant;
    double min, max;        ///< range of the score
    double step;            ///< the score is rounded to multiples of it; 0 for none
    int higher_is_better;
    double sigma;           ///< standard deviation of the prediction, NAN if unknown

    /// @name The training set, for the distance of a frame from it
    /// @{
    int nb_known;                       ///< features it is given for, 0 if unknown
    int known[BLIINDS_NB_FEATURES];     ///< which
    double mean[BLIINDS_NB_FEATURES];   ///< of the known ones
    double *precision;                  ///< inverse covariance, [nb_known][nb_known]
    /// @}
} BLIINDSModel;

/**
 * Load a model.
 *
 * @param name a built-in model's name, else the path of a model file
 * @return 0, or a negative AVERROR after a message with file, line and reason
 */
int ff_bliinds_model_load(BLIINDSModel *model, void *logctx, const char *name);

/// Free what ff_bliinds_model_load() allocated.
void ff_bliinds_model_free(BLIINDSModel *model);

/// The prediction before it is rounded and clipped to the model's range.
double ff_bliinds_model_raw(const BLIINDSModel *model,
                            const double feature[BLIINDS_NB_FEATURES]);

/// A raw prediction on the model's scale: rounded to its step, clipped to its range.
double ff_bliinds_model_score(const BLIINDSModel *model, double raw);

/**
 * Mahalanobis distance of a frame's features from the training set.
 *
 * @return the distance in standard deviations, NAN if the model does not tell
 */
double ff_bliinds_model_distance(const BLIINDSModel *model,
                                 const double feature[BLIINDS_NB_FEATURES]);

#endif /* AVFILTER_BLIINDS_MODEL_H */
