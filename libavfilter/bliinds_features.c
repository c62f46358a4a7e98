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

#include "bliinds_features.h"

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

void ff_bliinds_coded_features(double dst[BLIINDS_NB_CODED], const AVFrame *frame, int w, int h,
                               int shown_height)
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
    const double scale  = FFMAX(FFMAX(w, h) / FFMAX(width, height),
                                FFMIN(w, h) / FFMIN(width, height));
    const double shown  = shown_height ? shown_height / (double)h : 1;

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

int ff_bliinds_is_coded(const double coded[BLIINDS_NB_CODED])
{
    for (int i = 0; i < BLIINDS_NB_CODED; i++)
        if (!isfinite(coded[i]))
            return 0;
    return 1;
}

/// A sum as double, rounded once: it does not matter how whole and fraction share it.
static double sum_value(BLIINDSSum sum)
{
    return sum.whole + (sum.fraction >> 32) + (uint32_t)sum.fraction * 0x1p-32;
}

static void compute_statistics(double *dst, const BLIINDSLevelSums *level)
{
    static const uint8_t position[BLIINDS_NB_STATISTICS] = {
        [BLIINDS_ZETA] = 0, [BLIINDS_SUB] = 4, [BLIINDS_ORI] = 6,
    };
    const BLIINDSClassSums *c = level->grid;
    const double n = bliinds_level_blocks(level);
    const double k = bliinds_nb_worst(bliinds_level_blocks(level));

    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
        dst[position[i]]     = (sum_value(c[0].statistic[i]) +
                                sum_value(c[1].statistic[i])) / n;
        dst[position[i] + 1] = sum_value(level->worst[i]) / k;
    }
    dst[2] = (c[0].gamma + c[1].gamma) / (n * 1000);
    dst[3] = level->worst_gamma / (k * 1000);
}

/// Energies of the bands of a level.
static void compute_bands(double dst[3], const BLIINDSLevelSums *level)
{
    const BLIINDSClassSums *c = level->grid;

    for (int b = 0; b < 3; b++)
        dst[b] = log2((sum_value(c[0].band[b]) + sum_value(c[1].band[b])) /
                      bliinds_level_blocks(level) + 0.1);
}

/// Means over the blocks of a class, in the order of the phases.
static void class_means(double dst[7], const BLIINDSClassSums *c)
{
    for (int b = 0; b < 3; b++)
        dst[b] = log2(sum_value(c->band[b]) / c->nb_blocks + 0.1);
    dst[3] = sum_value(c->statistic[BLIINDS_ZETA]) / c->nb_blocks;
    dst[4] = c->gamma / (c->nb_blocks * 1000.);
    dst[5] = sum_value(c->statistic[BLIINDS_SUB]) / c->nb_blocks;
    dst[6] = sum_value(c->statistic[BLIINDS_ORI]) / c->nb_blocks;
}

/**
 * Means over the blocks of level 1 that straddle the grid minus those over the others. The
 * smallest frame has both: the first block of a row straddles the grid, the second is clear.
 */
static void compute_phases(double dst[7], const BLIINDSLevelSums *level)
{
    double clear[7];

    class_means(clear, &level->grid[0]);
    class_means(dst,   &level->grid[1]);
    for (int i = 0; i < 7; i++)
        dst[i] -= clear[i];
}

void ff_bliinds_features(double dst[BLIINDS_FEATURE_CODED],
                         const BLIINDSLevelSums sums[BLIINDS_LEVELS])
{
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        compute_statistics(dst + l * BLIINDS_STATISTIC_FEATURES, &sums[l]);
        compute_bands(dst + BLIINDS_FEATURE_BAND + l * 3, &sums[l]);
    }
    compute_phases(dst + BLIINDS_FEATURE_PHASE, &sums[0]);
}
