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

#include "libavutil/common.h"
#include "libavutil/macros.h"

#include "bliinds_model.h"

/// Sigma is not less and not more than these times that of the model.
#define MIN_SIGMA 0.25
#define MAX_SIGMA 4

int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name)
{
    if (strcmp(name, ff_bliinds_model_vmaf1_est1->name))
        return ff_bliinds_model_read(model, logctx, name);
    memcpy(model, ff_bliinds_model_vmaf1_est1, sizeof(ff_bliinds_model_vmaf1_est1));
    return 0;
}

/// Without a weight, a feature need not be known.
static double weighted_sum(double sum, const double *weight, const double *value, int nb)
{
    for (int i = 0; i < nb; i++)
        if (weight[i])
            sum += weight[i] * value[i];
    return sum;
}

double ff_bliinds_model_raw(const BLIINDSModel *model,
                            const double feature[BLIINDS_NB_FEATURES])
{
    const double raw = weighted_sum(model->constant, model->weight, feature, BLIINDS_NB_FEATURES);

    return model->logistic ? model->min + (model->max - model->min) / (1 + exp(-raw)) : raw;
}

double ff_bliinds_model_score(const BLIINDSModel *model, double raw)
{
    if (model->step)
        raw = floor(raw / model->step + 0.5) * model->step;
    return av_clipd(raw, model->min, model->max);
}

double ff_bliinds_model_sigma(const BLIINDSModel *model,
                              const double feature[BLIINDS_NB_FEATURES],
                              double score, double distance)
{
    const double estimate[] = { score, distance };
    const double *weight = model->sigma_weight;
    double sum = weighted_sum(0, weight, feature, BLIINDS_NB_FEATURES);

    sum = weighted_sum(sum, weight + BLIINDS_NB_FEATURES, estimate, FF_ARRAY_ELEMS(estimate));
    return model->sigma * av_clipd(exp(sum), MIN_SIGMA, MAX_SIGMA);
}

double ff_bliinds_model_distance(const BLIINDSModel *model,
                                 const double feature[BLIINDS_NB_FEATURES])
{
    double square = 0, d[BLIINDS_NB_FEATURES];

    if (!model->nb_known)
        return NAN;
    for (int i = 0; i < model->nb_known; i++)
        d[i] = feature[model->known[i]] - model->mean[i];
    for (int i = 0; i < model->nb_known; i++) {
        double sum = 0;

        for (int j = 0; j < model->nb_known; j++)
            sum += model->precision[i][j] * d[j];
        square += d[i] * sum;
    }
    return sqrt(FFMAX(square, 0));
}
