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
 * The features of a frame, from its sums over blocks and from how it was coded.
 */

#ifndef AVFILTER_BLIINDS_FEATURES_H
#define AVFILTER_BLIINDS_FEATURES_H

#include "libavutil/frame.h"

#include "bliinds_sums.h"

/**
 * The features, in the order of their values.
 *
 * 24 of the paper: per level, mean over all blocks ("100") and over the 10 %
 * of worst quality ("10": the largest zeta, sub and ori, the smallest gamma).
 * 9 band energies: per level, log2 of 0.1 + the mean variance of the low (1),
 * middle (2) and high (3) band's coefficients.
 * 7 phases of level 1: band energies and mean statistics of the blocks that straddle a line
 * of the 8x8 grid, minus those of the other blocks.
 * 9 coded features, from the keys of quantizer_metadata, NAN without them: log2 of the
 * quantizer step in units of an 8-bit sample, as mean over the group of pictures so far,
 * weighted by bytes; log2 of its I frame's bits per sample of luma; log2 of the shown
 * size over the coded one; and for each codec but H.264, 1 if it is the frame's, else 0.
 */
enum {
    BLIINDS_STATISTIC_FEATURES = 8,     ///< per level
    BLIINDS_FEATURE_BAND       = 24,    ///< first of the band energies
    BLIINDS_FEATURE_PHASE      = 33,    ///< first of the phases, those of the bands
    BLIINDS_FEATURE_MEAN_PHASE = 36,    ///< first of the phases of means of statistics
    BLIINDS_FEATURE_CODED      = 40,    ///< first of the coded features
    BLIINDS_NB_CODED           = 9,
    BLIINDS_NB_FEATURES        = 49
};

extern const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES];

/**
 * Compute the coded features of a frame.
 *
 * @param dst          NAN or infinite where it is not known
 * @param w,h          size of the picture, which may have been scaled, rotated or cropped
 * @param shown_height height in rows at which people see it, 0 for h
 */
void ff_bliinds_coded_features(double dst[BLIINDS_NB_CODED], const AVFrame *frame, int w, int h,
                               int shown_height);

/// Whether all coded features are known.
int ff_bliinds_is_coded(const double coded[BLIINDS_NB_CODED]);

/// Compute all features of a frame but the coded ones.
void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED],
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS]);

#endif /* AVFILTER_BLIINDS_FEATURES_H */
