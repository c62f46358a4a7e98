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

/// Limits of the sigma of a frame, as factors of the sigma of the model.
#define MIN_SIGMA 0.25
#define MAX_SIGMA 4

int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name)
{
    if (strcmp(name, ff_bliinds_model_vmaf1_est1->name))
        return ff_bliinds_model_read(model, logctx, name);
    memcpy(model, ff_bliinds_model_vmaf1_est1, sizeof(ff_bliinds_model_vmaf1_est1));
    return 0;
}

/// Whether a feature is made of the statistics of blocks.
static int is_of_statistics(int feature)
{
    return feature < BLIINDS_FEATURE_BAND ||
           feature >= BLIINDS_FEATURE_MEAN_PHASE && feature < BLIINDS_FEATURE_CODED;
}

int ff_bliinds_model_needs_statistics(const BLIINDSModel *model)
{
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        if (is_of_statistics(i) && (model->weight[i] || model->sigma_weight[i]))
            return 1;
    for (int i = 0; i < model->nb_known; i++)
        if (is_of_statistics(model->known[i]))
            return 1;
    return 0;
}

/// Values of weight 0 are left out: they may be NAN.
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

// ---- the loss ----

/// 0.1 as 32.32 fixed point.
#define FLOOR 429496730

/**
 * The loss is 100 (1 - exp(-d c)). d is the sum over the bands of drop r(x), where the
 * encode has x less energy than its source, in log2, or of rise r(x), where it has x
 * more. r() is a square root whose slope is finite at 0. c is 1, or if the coded features
 * are known, exp(constant + sum of coded times these).
 *
 * The standard deviation of the error is sigma[0] + sigma[1] times the loss.
 * Fitted to 100 - VMAF v1 by tools/train/loss.py: see doc/rr-format.md.
 */
static const struct {
    double drop[BLIINDS_NB_BANDS], rise[BLIINDS_NB_BANDS];
    double constant, coded[BLIINDS_NB_CODED];
    double sigma[2];
} table[BLIINDS_NB_BASES] = {
    [BLIINDS_PIXELS] = {
        .drop     = { 0, 0, 0, 0.50492, 0, 0.026241, 0.77501, 0, 0.27992 },
        .rise     = { 0, 0, 0.017065, 0, 0, 0, 0, 0, 0.16956 },
        .sigma    = { 4.7414, 0.10484 },
    },
    [BLIINDS_BITSTREAM] = {
        .drop     = { 0, 0, 0, 0.39705, 0, 0.096717, 0.41163, 0, 0.16324 },
        .rise     = { 0, 0, 0.043947, 0, 0, 0, 0, 0.10302, 0.091574 },
        .constant = -0.4611,
        .coded    = { 0.1217, -0.017049, -0.07105, -0.10855,
                      -0.18616, -0.075718, -0.30257, -0.25704, -0.38265 },
        .sigma    = { 3.7039, 0.12367 },
    },
};

/// Change of energy, in log2, that is too small to tell much.
#define KNEE 0.015

/// Limit of the magnitude of log(c).
#define MAX_CODED 3

/**
 * log2 of 32.32 fixed point that is not 0, in units of 1 / BLIINDS_ENERGY_ONE:
 * in integers, since the log2() of two libm may differ in the last bit.
 */
static int log2_fixed(uint64_t x)
{
    const int whole = x >> 32 ? av_log2(x >> 32) : av_log2(x) - 32;
    uint64_t m = whole < 0 ? x << (-1 - whole) : x >> (whole + 1);  // 1.31, from 1 to 2
    uint64_t fraction = 0;

    // each squaring doubles the logarithm, whose next bit is then before the point
    for (int i = 0; i < 24; i++) {
        int bit;

        m   = m * m >> 31;
        bit = m >> 32;
        m >>= bit;
        fraction = fraction << 1 | bit;
    }
    return whole * BLIINDS_ENERGY_ONE +
           (int)((fraction * BLIINDS_ENERGY_ONE + (1 << 23)) >> 24);
}

void ff_bliinds_energies(BLIINDSEnergies *dst, const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        const BLIINDSClassSums *c = sums[l].grid;
        const uint64_t n = bliinds_level_blocks(&sums[l]);

        for (int b = 0; b < 3; b++) {
            const uint64_t whole    = c[0].band[b].whole    + c[1].band[b].whole;
            const uint64_t fraction = c[0].band[b].fraction + c[1].band[b].fraction;

            // n < 2^25, so that nothing overflows
            dst->band[l * 3 + b] =
                log2_fixed((whole / n << 32) + ((whole % n << 32) + fraction) / n + FLOOR);
        }
    }
}

/// r() of the loss.
static double root(int change)
{
    return sqrt(change / (double)BLIINDS_ENERGY_ONE + KNEE) - sqrt(KNEE);
}

BLIINDSLoss ff_bliinds_loss(const BLIINDSEnergies *source, const BLIINDSEnergies *encode,
                            const double coded[BLIINDS_NB_CODED])
{
    const enum BLIINDSBasis basis = ff_bliinds_is_coded(coded) ? BLIINDS_BITSTREAM : BLIINDS_PIXELS;
    double distance = 0, told = 0;
    BLIINDSLoss ret;

    if (basis == BLIINDS_BITSTREAM) {
        told = table[basis].constant;
        for (int i = 0; i < BLIINDS_NB_CODED; i++)
            told += table[basis].coded[i] * coded[i];
    }
    for (int i = 0; i < BLIINDS_NB_BANDS; i++) {
        const int drop = source->band[i] - encode->band[i];

        distance += table[basis].drop[i] * root(FFMAX(drop, 0)) +
                    table[basis].rise[i] * root(FFMAX(-drop, 0));
    }
    ret.loss  = 100 * (1 - exp(-distance * exp(av_clipd(told, -MAX_CODED, MAX_CODED))));
    ret.sigma = table[basis].sigma[0] + table[basis].sigma[1] * ret.loss;
    return ret;
}
