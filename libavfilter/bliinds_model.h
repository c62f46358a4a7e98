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

#include "bliinds_features.h"

/// What a score is made from.
enum BLIINDSBasis {
    BLIINDS_PIXELS,
    BLIINDS_BITSTREAM,      ///< the pixels and the coded features
    BLIINDS_NB_BASES
};

typedef struct BLIINDSModel {
    char name[64];          ///< empty if there is no model
    double weight[BLIINDS_NB_FEATURES];
    double constant;
    int logistic;           ///< the weighted sum is log((score - min) / (max - score))
    int higher_is_better;
    double min, max;        ///< range of the score
    double step;            ///< the score is rounded to multiples of it; 0 for none
    double sigma;           ///< standard deviation of the prediction, NAN if unknown
    /// weights of the features, and behind them of the score, in the logarithm of sigma
    double sigma_weight[BLIINDS_NB_FEATURES + 1];
    double sigma_p80;       ///< 80 % of the training set have a lower sigma; NAN if unknown
} BLIINDSModel;

/// The built-in model, made from models/vmaf1_est1.txt.
extern const BLIINDSModel ff_bliinds_model_vmaf1_est1[BLIINDS_NB_BASES];

/**
 * Load a built-in model or a file: a model for each basis, or for one of them.
 *
 * @return 0, or a negative AVERROR after a message with file, line and reason
 */
int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name);

/// Read a file, like ff_bliinds_model_load().
int ff_bliinds_model_read(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *path);

/// Whether a model uses more than band energies and coded features.
int ff_bliinds_model_needs_statistics(const BLIINDSModel *model);

/// The prediction before it is rounded and clipped to the model's range.
double ff_bliinds_model_raw(const BLIINDSModel *model,
                            const double feature[BLIINDS_NB_FEATURES]);

/// A raw prediction on the model's scale: rounded to its step, clipped to its range.
double ff_bliinds_model_score(const BLIINDSModel *model, double raw);

/// The standard deviation of the error of a score, NAN if the model does not tell.
double ff_bliinds_model_sigma(const BLIINDSModel *model,
                              const double feature[BLIINDS_NB_FEATURES], double score);

// ---- the loss of an encode, from its energies and those of its source ----

/// Low, middle and high band of each level.
#define BLIINDS_NB_BANDS (3 * BLIINDS_LEVELS)

/**
 * Energies of a frame's bands: log2 of 0.1 + the mean variance of all blocks, in units
 * of 1 / BLIINDS_ENERGY_ONE. The same integers from the CPU and from the GPU.
 */
typedef struct BLIINDSEnergies {
    int32_t band[BLIINDS_NB_BANDS];     ///< [level * 3 + band]
} BLIINDSEnergies;

#define BLIINDS_ENERGY_ONE 10000

/// @name The range of an energy: log2(0.1), and log2 of more than any variance
/// @{
#define BLIINDS_ENERGY_MIN (-33220)
#define BLIINDS_ENERGY_MAX 190000
/// @}

/// What the loss is, for logs and summaries.
#define BLIINDS_LOSS_SCALE "VMAF points lost, 0..100"

typedef struct BLIINDSLoss {
    double loss;            ///< VMAF points below the source, 0 to 100
    double sigma;           ///< standard deviation of its error
} BLIINDSLoss;

void ff_bliinds_energies(BLIINDSEnergies *dst, const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

/**
 * Predict how many VMAF points an encode is below its source.
 *
 * @param coded coded features of the encode, not finite where they are not known
 */
BLIINDSLoss ff_bliinds_loss(const BLIINDSEnergies *source, const BLIINDSEnergies *encode,
                            const double coded[BLIINDS_NB_CODED]);

#endif /* AVFILTER_BLIINDS_MODEL_H */
