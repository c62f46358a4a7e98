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

#include "libavutil/avstring.h"
#include "libavutil/dict.h"
#include "libavutil/macros.h"

#include "bliinds.h"

#define LEVEL(l)                                                        \
    l ".zeta100", l ".zeta10", l ".gamma100", l ".gamma10",             \
    l ".sub100",  l ".sub10",  l ".ori100",   l ".ori10"

const char *const ff_bliinds_feature_name[BLIINDS_NB_FEATURES] = {
    LEVEL("L1"), LEVEL("L2"), LEVEL("L3"),
    "L1.band1", "L1.band2", "L1.band3", "L2.band1", "L2.band2", "L2.band3",
    "L3.band1", "L3.band2", "L3.band3",
    "L1.phase1", "L1.phase2", "L1.phase3",
    "phase.zeta", "phase.gamma", "phase.sub", "phase.ori",
    "coded.step", "coded.intra", "coded.scale",
    "coded.hevc", "coded.av1", "coded.vp9", "coded.mpeg2", "coded.mpeg4", "coded.mjpeg",
};

/// The coded features, counted from BLIINDS_FEATURE_CODED.
enum {
    CODED_STEP,
    CODED_INTRA,
    CODED_SCALE,
    CODED_HEVC,
    CODED_AV1,
    CODED_VP9,
    CODED_MPEG2,
    CODED_MPEG4,
    CODED_MJPEG,
};

/// A value from quantizer_metadata, empty if there is none.
static const char *coded_value(const AVFrame *frame, const char *key)
{
    const AVDictionaryEntry *entry = av_dict_get(frame->metadata, key, NULL, 0);

    return entry ? entry->value : "";
}

/// A number from quantizer_metadata, NAN if there is none.
static double coded_number(const AVFrame *frame, const char *key)
{
    const char *text = coded_value(frame, key);
    double value;
    int length;

    return av_sscanf(text, "%lf%n", &value, &length) == 1 && !text[length] ? value : NAN;
}

void ff_bliinds_coded_features(double dst[BLIINDS_NB_CODED], const AVFrame *frame,
                               const LumaFrame *luma, int shown_height)
{
    static const struct {
        const char *name;
        int feature;
    } codec[] = {
        { "hevc",  CODED_HEVC  }, { "av1",   CODED_AV1   }, { "vp9",        CODED_VP9   },
        { "mpeg4", CODED_MPEG4 }, { "mjpeg", CODED_MJPEG }, { "mpeg2video", CODED_MPEG2 },
        { "mpeg1video", CODED_MPEG2 },
    };
    const double step   = coded_number(frame, "lavc.quantizer.gop_step");
    const double intra  = coded_number(frame, "lavc.quantizer.gop_intra_bytes");
    const double width  = coded_number(frame, "lavc.quantizer.width");
    const double height = coded_number(frame, "lavc.quantizer.height");
    // the picture may have been scaled, rotated or cropped
    const double scale  = FFMAX(FFMAX(luma->width, luma->height) / FFMAX(width, height),
                                FFMIN(luma->width, luma->height) / FFMIN(width, height));
    const double shown  = shown_height ? shown_height / (double)luma->height : 1;

    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        dst[i] = NAN;
    if (!isfinite(step))
        return;
    dst[CODED_STEP]  = step;
    dst[CODED_INTRA] = log2(8 * intra / (width * height));
    dst[CODED_SCALE] = log2(scale * shown);
    for (int i = CODED_HEVC; i < BLIINDS_NB_CODED; i++)
        dst[i] = 0;
    for (int i = 0; i < FF_ARRAY_ELEMS(codec); i++)
        if (!strcmp(coded_value(frame, "lavc.quantizer.codec"), codec[i].name))
            dst[codec[i].feature] = 1;
}

/// A sum as double, rounded once: it does not matter how whole and fraction share it.
static double sum_value(BLIINDSSum sum)
{
    return sum.whole + (sum.fraction >> 32) + (uint32_t)sum.fraction * 0x1p-32;
}

/// A statistic's place in the order of the features.
static const uint8_t position[BLIINDS_NB_STATISTICS] = {
    [BLIINDS_ZETA] = 0, [BLIINDS_GAMMA] = 1, [BLIINDS_SUB] = 2, [BLIINDS_ORI] = 3,
};

/// Mean of a statistic over n blocks.
static double mean(double sum, int statistic, double n)
{
    return sum / (statistic == BLIINDS_GAMMA ? n * 1000 : n);
}

/// Means over the n blocks that are clear of the grid, or straddle it, in the order of the phases.
static void class_means(double dst[7], const BLIINDSLevelSums *level, int class, int n)
{
    for (int b = 0; b < 3; b++)
        dst[b] = log2(sum_value(level->band[class][b]) / n + 0.1);
    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        dst[3 + position[i]] = mean(sum_value(level->pooled[i].grid[class]), i, n);
}

void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED], const LumaFrame *luma,
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    const int nb_clear = bliinds_nb_clear(bliinds_nb_blocks(luma->width)) *
                         bliinds_nb_clear(bliinds_nb_blocks(luma->height));
    double *phase = dst + BLIINDS_FEATURE_PHASE, clear[7];

    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        const int n = bliinds_level_blocks(luma->width, luma->height, l);

        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            const BLIINDSPooled *pooled = &sums[l].pooled[i];
            double *feature = dst + 2 * (BLIINDS_NB_STATISTICS * l + position[i]);

            feature[0] = mean(sum_value(pooled->grid[0]) + sum_value(pooled->grid[1]), i, n);
            feature[1] = mean(sum_value(pooled->worst), i, bliinds_nb_worst(n));
        }
        for (int b = 0; b < 3; b++)
            dst[BLIINDS_FEATURE_BAND + 3 * l + b] =
                log2((sum_value(sums[l].band[0][b]) + sum_value(sums[l].band[1][b])) / n + 0.1);
    }
    // the smallest frame has both: its first block straddles the grid, the second is clear
    class_means(clear, &sums[0], 0, nb_clear);
    class_means(phase, &sums[0], 1, bliinds_level_blocks(luma->width, luma->height, 0) - nb_clear);
    for (int i = 0; i < 7; i++)
        phase[i] -= clear[i];
}
