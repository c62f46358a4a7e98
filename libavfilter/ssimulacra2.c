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

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/csp.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"

#include "ssimulacra2.h"

/// Y'CbCr without a matrix is BT.709 for pictures with more lines than this.
#define MAX_SD_HEIGHT 650

/// Error maps of a norm in the order of the weights.
enum { NB_MAPS = 3, NB_NORMS = 2 };

#define NB_WEIGHTS (SSIMULACRA2_CHANNELS * SSIMULACRA2_SCALES * NB_NORMS * NB_MAPS)

/// The variant vszip leaves out smaller weights.
#define VSZIP_MIN_WEIGHT 0.01

/**
 * Weights of the norms: for each channel and scale those of SSIM, artifact and detail loss for the mean, and
 * for the 4-norm. Pictures with fewer scales use them without gaps.
 *
 * Copyright (c) Jon Sneyers, Cloudinary. Licensed under the BSD 3-clause license, with the patent grant of
 * https://github.com/cloudinary/ssimulacra2.
 */
static const double weight[NB_WEIGHTS] = {
    // X
    0, 0.0007376606707406586, 0,
    0, 0.0007793481682867309, 0,
    0, 0.0004371155730107379, 0,
    1.1041726426657346, 0.00066284834129271, 0.00015231632783718752,
    0, 0.0016406437456599754, 0,
    1.8422455520539298, 11.441172603757666, 0,
    0.0007989109436015163, 0.000176816438078653, 0,
    1.8787594979546387, 10.94906990605142, 0,
    0.0007289346991508072, 0.9677937080626833, 0,
    0.00014003424285435884, 0.9981766977854967, 0.00031949755934435053,
    0.0004550992113792063, 0, 0,
    0.0013648766163243398, 0, 0,
    // Y
    0, 0, 0,
    7.466890328078848, 0, 17.445833984131262,
    0.0006235601634041466, 0, 0,
    6.683678146179332, 0.00037724407979611296, 1.027889937768264,
    225.20515300849274, 0, 0,
    19.213238186143016, 0.0011401524586618361, 0.001237755635509985,
    176.39317598450694, 0, 0,
    24.43300999870476, 0.28520802612117757, 0.0004485436923833408,
    0, 0, 0,
    34.77906344483772, 44.835625328877896, 0,
    0, 0, 0,
    0, 0, 0,
    // B
    0, 0.0008680556573291698, 0,
    0, 0, 0,
    0, 0.0005313191874358747, 0,
    0.00016533814161379112, 0, 0,
    0, 0, 0,
    0.0004179171803251336, 0.0017290828234722833, 0,
    0.0020827005846636437, 0, 0,
    8.826982764996862, 23.19243343998926, 0,
    95.1080498811086, 0.9863978034400682, 0.9834382792465353,
    0.0012286405048278493, 171.2667255897307, 0.9807858872435379,
    0, 0, 0,
    0.0005130064588990679, 0, 0.00010854057858411537,
};

/// Gaussians of the variants: truncated cosines, whose recursive form is the reference's; and a true Gaussian of
/// the same sigma of 1.5.
static const SSIMULACRA2Gaussian gaussian[] = {
    [SSIMULACRA2_REFERENCE] = { { 0.26462110548819834f, 0.21292859201042202f, 0.10933537277746015f,
                                  0.036011114658364252f, 0.0094143678096536288f } },
    [SSIMULACRA2_VSZIP]     = { { 0.26655998826026917f, 0.2134445458650589f, 0.10958608239889145f,
                                  0.03607496991753578f, 0.007614418864250183f } },
};

int ff_ssimulacra2_is_supported(const AVPixFmtDescriptor *desc)
{
    const int depth = desc->comp[0].depth;

    if (!luma_is_planar(desc) || desc->flags & AV_PIX_FMT_FLAG_ALPHA ||
        depth != 8 && depth != 10 && depth != 12)
        return 0;
    return desc->nb_components == 1 || desc->nb_components == 3 && desc->log2_chroma_w <= 1 &&
                                       desc->log2_chroma_h <= desc->log2_chroma_w;
}

int ff_ssimulacra2_tap_index(enum SSIMULACRA2Variant variant, int i, int distance, int n)
{
    const int beyond = i + distance - (n - 1);

    if (i + distance >= 0 && beyond <= 0)
        return i + distance;
    if (variant == SSIMULACRA2_REFERENCE)
        return -1;
    // vszip mirrors at the first sample, but at the end at sample i
    return beyond > 0 ? FFMAX(i - beyond, 0) : FFMIN(-i - distance, n - 1);
}

// ---- tables ----

static double to_linear(enum SSIMULACRA2Transfer transfer, double x)
{
    if (transfer == SSIMULACRA2_BT1886)
        return pow(x, 2.4);
    return x > 0.04045 ? pow((x + 0.055) / 1.055, 2.4) : x / 12.92;
}

/// Make the table of a transfer function. Each entry serves the samples that are nearest to it: it has the slope
/// of the secant, and is between secant and curve, which halves the error.
static void init_table(SSIMULACRA2Linear table[SSIMULACRA2_MAX_INDEX + 1],
                       enum SSIMULACRA2Transfer transfer)
{
    const double half = 0.5 / SSIMULACRA2_UNIT;

    for (int i = 0; i <= SSIMULACRA2_MAX_INDEX; i++) {
        const double x     = (double)i / SSIMULACRA2_UNIT, first = FFMAX(x - half, 0);
        const double begin = to_linear(transfer, first), end = to_linear(transfer, x + half);
        const double slope = (end - begin) / (x + half - first) / SSIMULACRA2_UNIT;

        table[i].value = 0.5 * (to_linear(transfer, x) +
                                (begin + (x - first) * SSIMULACRA2_UNIT * slope));
        table[i].slope = slope;
    }
    // black is 0
    table[0].value = 0;
    table[0].slope = transfer == SSIMULACRA2_SRGB ? 1 / 12.92 / SSIMULACRA2_UNIT : 0;
}

// ---- colours ----

/// Interpolation of a position between samples that are in units of half a luma sample.
static SSIMULACRA2Chroma init_chroma(int is_subsampled, int position)
{
    static const int copy[4] = { 0, 128, 0, 0 }, half[4] = { -8, 72, 72, -8 };
    static const int quarter[4] = { -9, 111, 29, -3 }, three_quarters[4] = { -3, 29, 111, -9 };
    static const struct {
        const int *tap[2];
        int first[2];
    } at[] = {
        { { copy,           half    }, { -1, -1 } },    // left, top
        { { three_quarters, quarter }, { -2, -1 } },    // centre
        { { half,           copy    }, { -2, -1 } },    // bottom
    };
    SSIMULACRA2Chroma chroma;

    for (int phase = 0; phase < 2; phase++) {
        memcpy(chroma.tap[phase], is_subsampled ? at[position].tap[phase] : copy, sizeof(copy));
        chroma.first[phase] = is_subsampled ? at[position].first[phase] : -1;
    }
    return chroma;
}

/// Set the factors of a matrix of luma weights, for samples of a depth and range.
static SSIMULACRA2Matrix init_matrix(const AVLumaCoefficients *luma, int depth, int is_limited)
{
    const double kr = av_q2d(luma->cr), kb = av_q2d(luma->cb), kg = 1 - kr - kb;
    const double one = 1 << (depth - 8), max = (1 << depth) - 1;
    const double y = SSIMULACRA2_UNIT * (is_limited ? 1 / (219 * one) : 1 / max);
    const double c = SSIMULACRA2_UNIT * (is_limited ? 1 / (224 * one) : 1 / max) /
                     (1 << SSIMULACRA2_CHROMA_BITS);
    const double black = is_limited ? 16 * one * y : 0;
    const double neutral = 128 * one * (1 << SSIMULACRA2_CHROMA_BITS);
    const double v_to_r = 2 * (1 - kr) * c, u_to_b = 2 * (1 - kb) * c;
    const double u_to_g = -2 * kb * (1 - kb) / kg * c, v_to_g = -2 * kr * (1 - kr) / kg * c;

    return (SSIMULACRA2Matrix){
        .y      = y,
        .v_to_r = v_to_r,
        .u_to_g = u_to_g,
        .v_to_g = v_to_g,
        .u_to_b = u_to_b,
        .r0     = -black - v_to_r * neutral,
        .g0     = -black - u_to_g * neutral - v_to_g * neutral,
        .b0     = -black - u_to_b * neutral,
    };
}

/// Check that transfer and primaries are not those of HDR or of another gamut.
static int check_tags(AVFilterContext *ctx, const char *name, const SSIMULACRA2Input *in)
{
    if (in->transfer == AVCOL_TRC_SMPTE2084 || in->transfer == AVCOL_TRC_ARIB_STD_B67) {
        av_log(ctx, AV_LOG_ERROR, "HDR is not supported: the transfer characteristics of the %s are "
               "%s. Convert both inputs to SDR.\n", name, av_color_transfer_name(in->transfer));
        return AVERROR_PATCHWELCOME;
    }
    switch (in->primaries) {
    case AVCOL_PRI_BT709:
    case AVCOL_PRI_BT470BG:
    case AVCOL_PRI_SMPTE170M:
    case AVCOL_PRI_SMPTE240M:   // same as SMPTE 170M
    case AVCOL_PRI_UNSPECIFIED:
        return 0;
    }
    av_log(ctx, AV_LOG_ERROR, "The primaries %s of the %s are not supported: convert both inputs to "
           "BT.709, or insert setparams=color_primaries=bt709 if only the tag is wrong.\n",
           av_color_primaries_name(in->primaries), name);
    return AVERROR_PATCHWELCOME;
}

/// Set the conversion of an input by tags that are all known.
static int set_conversion(AVFilterContext *ctx, const char *name, SSIMULACRA2Input *in,
                          const AVPixFmtDescriptor *desc)
{
    static const AVLumaCoefficients gray = { { 0, 1 }, { 1, 1 }, { 0, 1 } };
    const int is_rgb = !!(desc->flags & AV_PIX_FMT_FLAG_RGB);
    const AVLumaCoefficients *luma =
        is_rgb || desc->nb_components == 1 ? &gray : av_csp_luma_coeffs_from_avcsp(in->space);
    const int location = in->location - AVCHROMA_LOC_LEFT;
    // by AVChromaLocation from AVCHROMA_LOC_LEFT on
    static const uint8_t horizontal[] = { 0, 1, 0, 1, 0, 1 }, vertical[] = { 1, 1, 0, 0, 2, 2 };

    switch (in->space) {
    case AVCOL_SPC_BT709:
    case AVCOL_SPC_FCC:
    case AVCOL_SPC_BT470BG:
    case AVCOL_SPC_SMPTE170M:
    case AVCOL_SPC_SMPTE240M:
    case AVCOL_SPC_BT2020_NCL:
        break;
    default:
        if (luma == &gray)
            break;
        av_log(ctx, AV_LOG_ERROR, "The matrix %s of the %s is not supported: insert "
               "setparams=colorspace=bt709 if only the tag is wrong.\n",
               av_color_space_name(in->space), name);
        return AVERROR_PATCHWELCOME;
    }
    in->matrix     = init_matrix(luma, desc->comp[0].depth, in->range == AVCOL_RANGE_MPEG);
    in->horizontal = init_chroma(desc->log2_chroma_w, horizontal[location]);
    in->vertical   = init_chroma(desc->log2_chroma_h, vertical[location]);
    if (luma == &gray) {        // no chroma
        in->matrix.v_to_r = in->matrix.u_to_g = in->matrix.v_to_g = in->matrix.u_to_b = 0;
        in->matrix.r0 = in->matrix.b0 = in->matrix.g0;
    }
    return 0;
}

/// Replace the unspecified tags of an input by those of the other one, or by the usual ones.
static void complete_tags(SSIMULACRA2Input *in, const SSIMULACRA2Input *other,
                          const AVPixFmtDescriptor *desc, int height)
{
    const int is_gray = desc->nb_components == 1, is_jpeg = !strncmp(desc->name, "yuvj", 4);
    const int other_is_yuv = other->space != AVCOL_SPC_RGB;

    if (in->space == AVCOL_SPC_UNSPECIFIED)
        in->space = other->space != AVCOL_SPC_UNSPECIFIED && other_is_yuv ?
                    other->space : height > MAX_SD_HEIGHT ? AVCOL_SPC_BT709 : AVCOL_SPC_SMPTE170M;
    if (desc->flags & AV_PIX_FMT_FLAG_RGB)
        in->range = AVCOL_RANGE_JPEG;
    else if (in->range == AVCOL_RANGE_UNSPECIFIED)
        in->range = is_jpeg ? AVCOL_RANGE_JPEG :
                    other->range != AVCOL_RANGE_UNSPECIFIED && other_is_yuv ? other->range :
                    is_gray ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    if (in->location == AVCHROMA_LOC_UNSPECIFIED)
        in->location = other->location != AVCHROMA_LOC_UNSPECIFIED ? other->location :
                       is_jpeg ? AVCHROMA_LOC_CENTER : AVCHROMA_LOC_LEFT;
}

/// Warn of the tags that an input lacked. @param tags the input's before complete_tags()
static void warn_of_assumed(AVFilterContext *ctx, const char *name, const SSIMULACRA2Input *tags,
                            const SSIMULACRA2Input *in, const AVPixFmtDescriptor *desc)
{
    const int has_chroma = desc->nb_components == 3 && !(desc->flags & AV_PIX_FMT_FLAG_RGB);
    const char *space = has_chroma && tags->space == AVCOL_SPC_UNSPECIFIED ?
                        av_color_space_name(in->space) : NULL;
    const char *range = has_chroma && tags->range == AVCOL_RANGE_UNSPECIFIED &&
                        strncmp(desc->name, "yuvj", 4) ? av_color_range_name(in->range) : NULL;
    const char *location = has_chroma && desc->log2_chroma_w &&
                           tags->location == AVCHROMA_LOC_UNSPECIFIED ?
                           av_chroma_location_name(in->location) : NULL;

    if (space || range || location)
        av_log(ctx, AV_LOG_WARNING, "The %s is not tagged: assuming%s%s%s%s%s%s. Other values can be "
               "set with setparams.\n", name, space ? " matrix " : "", space ? space : "",
               range ? " range " : "", range ? range : "",
               location ? " chroma location " : "", location ? location : "");
}

int ff_ssimulacra2_set_colors(SSIMULACRA2Context *s, AVFilterContext *ctx,
                              const AVFrame *const frame[PAIR_NB])
{
    static const char *const name[PAIR_NB] = { "main input", "reference" };
    SSIMULACRA2Input tags[PAIR_NB];
    int changed = 0, ret;

    for (int p = 0; p < PAIR_NB; p++) {
        const AVFrame *f = frame[p];

        tags[p] = (SSIMULACRA2Input){ f->colorspace, f->color_range, f->chroma_location,
                                      f->color_primaries, f->color_trc };
        changed |= !s->colors_set ||
                   tags[p].space     != s->tags[p].space ||
                   tags[p].range     != s->tags[p].range ||
                   tags[p].location  != s->tags[p].location ||
                   tags[p].primaries != s->tags[p].primaries ||
                   tags[p].transfer  != s->tags[p].transfer;
    }
    for (int p = 0; changed && p < PAIR_NB; p++) {
        const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(luma_sw_format(frame[p]));
        SSIMULACRA2Input *in = &s->input[p];

        *in = tags[p];
        complete_tags(in, &tags[!p], desc, s->height[0]);
        if ((ret = check_tags(ctx, name[p], in)) < 0 ||
            (ret = set_conversion(ctx, name[p], in, desc)) < 0)
            return ret;
        if (!s->colors_set)
            warn_of_assumed(ctx, name[p], &tags[p], in, desc);
        s->tags[p] = tags[p];
    }
    s->colors_set = 1;
    return 0;
}

// ---- score ----

/// Weight of a sum, 0 where it is not used. @param index of the weight of the channel and scale
static double weight_of(enum SSIMULACRA2Variant variant, int index, int sum)
{
    const double value = weight[index + sum % NB_NORMS * NB_MAPS + sum / NB_NORMS];

    return variant == SSIMULACRA2_VSZIP && value <= VSZIP_MIN_WEIGHT ? 0 : value;
}

/// Index of the first weight of a channel and scale. Smaller pictures leave no gaps, as in the reference.
static int weight_index(const SSIMULACRA2Context *s, int channel, int scale)
{
    return (channel * s->nb_scales + scale) * NB_NORMS * NB_MAPS;
}

void ff_ssimulacra2_set_size(SSIMULACRA2Context *s, int width, int height)
{
    int previous_size = SSIMULACRA2_MIN_SIZE;

    for (s->nb_scales = 0;
         s->nb_scales < SSIMULACRA2_SCALES && previous_size >= SSIMULACRA2_MIN_SIZE; s->nb_scales++) {
        s->width[s->nb_scales]  = width;
        s->height[s->nb_scales] = height;
        previous_size = FFMIN(width, height);
        width  = DIV_UP(width, 2);
        height = DIV_UP(height, 2);
    }
    for (int scale = 0; scale < s->nb_scales; scale++)
        for (int c = 0; c < SSIMULACRA2_CHANNELS; c++) {
            s->mask[scale][c] = 0;
            for (int i = 0; i < SSIMULACRA2_SUMS; i++)
                if (weight_of(s->variant, weight_index(s, c, scale), i))
                    s->mask[scale][c] |= 1 << i;
        }
}

/// Return the value of a half of a sum, in its unit.
static double sum_value(const uint64_t half[2])
{
    const uint64_t upper = half[1] + (half[0] >> 32);

    // both parts are exact, and their sum is rounded once, for upper is below 2^53
    return upper * 0x1p32 + (half[0] & UINT32_MAX);
}

double ff_ssimulacra2_score(const SSIMULACRA2Context *s, const SSIMULACRA2Sums sums)
{
    double score = 0;

    for (int c = 0; c < SSIMULACRA2_CHANNELS; c++)
        for (int scale = 0; scale < s->nb_scales; scale++)
            for (int norm = 0; norm < NB_NORMS; norm++)
                for (int map = 0; map < NB_MAPS; map++) {
                    const int i = map * NB_NORMS + norm;
                    const SSIMULACRA2Sum *sum = &sums[scale][c][i];
                    double value = (sum_value(sum->high) * 0x1p-40 + sum_value(sum->low) * 0x1p-90) /
                                   ((double)s->width[scale] * s->height[scale]);

                    if (!(s->mask[scale][c] >> i & 1))
                        continue;
                    if (norm)
                        value = sqrt(sqrt(value));
                    score += weight_of(s->variant, weight_index(s, c, scale), i) * value;
                }
    score *= 0.9562382616834844;
    score  = 2.326765642916932 * score - 0.020884521182843837 * score * score +
             6.248496625763138e-05 * score * score * score;
    return score > 0 ? 100 - 10 * pow(score, 0.6276336467831387) : 100;
}

// ---- log ----

static const ScoreMetric metric[] = {
    { "score", 6, 1, .log_name = "ssimulacra2", .score_number = 1, .min = -INFINITY, .max = 100 },
};

int ff_ssimulacra2_init(SSIMULACRA2Context *s, AVFilterContext *ctx)
{
    s->gaussian = gaussian[s->variant];
    init_table(s->table, s->transfer);
    s->log.filter           = "ssimulacra2";
    s->log.title            = "SSIMULACRA2";
    s->log.predicts         = "visual quality";
    s->log.higher_is_better = 1;
    s->log.metric           = metric;
    s->log.nb_metrics       = FF_ARRAY_ELEMS(metric);
    return ff_metric_init(&s->log, ctx, &s->nb_frames);
}

int ff_ssimulacra2_add(SSIMULACRA2Context *s, AVFilterContext *ctx, AVFrame *frame,
                       const SSIMULACRA2Sums sums)
{
    const uint64_t n = s->nb_frames++;
    double score;

    if (!sums)
        return 0;
    score = ff_ssimulacra2_score(s, sums);
    return ff_metric_frame(&s->log, ctx, frame, n, &score, 1);
}

void ff_ssimulacra2_uninit(SSIMULACRA2Context *s, AVFilterContext *ctx, int ended)
{
    ff_metric_uninit(&s->log, ctx, s->nb_frames, ended);
}
