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
    char predicts[64];      ///< what the score is, for the reader; may be empty
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

#endif /* AVFILTER_BLIINDS_MODEL_H */
