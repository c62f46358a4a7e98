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
 * The reduced-reference loss: what an encode has lost of its source, told from the
 * energies of both, nine numbers of each frame, and from how it was coded.
 *
 * It takes no files: whoever has the sums of both can compute it.
 */

#ifndef AVFILTER_BLIINDS_LOSS_H
#define AVFILTER_BLIINDS_LOSS_H

#include <stdint.h>

#include "bliinds_model.h"
#include "bliinds_sums.h"

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
    double loss;            ///< VMAF points below the source: 0 where no loss is seen, up to 100; higher is worse
    double sigma;           ///< standard deviation of its error
} BLIINDSLoss;

void ff_bliinds_energies(BLIINDSEnergies *dst, const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

/**
 * Predict how many VMAF points an encode is below its source.
 *
 * @param coded how the encode was coded, not finite where it is not known
 */
BLIINDSLoss ff_bliinds_loss(const BLIINDSEnergies *source, const BLIINDSEnergies *encode,
                            const double coded[BLIINDS_NB_CODED]);

#endif /* AVFILTER_BLIINDS_LOSS_H */
