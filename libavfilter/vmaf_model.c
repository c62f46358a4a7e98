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

#include <stddef.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/bprint.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/version.h"

#include "vmaf_model.h"
#include "vmaf_model_data.h"

#define LARGE 1440      ///< frames with more lines are for a display with 2160 lines

// ---- options ----

#define PREFIX "vmaf_v1.0.16_"

#define OFFSET(member) offsetof(VMAFModel, member)

static const AVOption model_options[] = {
    { "version",            "", OFFSET(version), AV_OPT_TYPE_STRING },
    { "name",               "", OFFSET(name),    AV_OPT_TYPE_STRING, { .str = "vmaf" } },
    { "cambi.enc_width",    "", OFFSET(cambi.width),  AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 7680 },
    { "cambi.enc_height",   "", OFFSET(cambi.height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 7680 },
    { "cambi.enc_bitdepth", "", OFFSET(cambi.depth),  AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 16 },
    { "disable_clip",       "", OFFSET(disable_clip), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    // no effect: the score of a v1 model is always transformed
    { "enable_transform",   "", OFFSET(enable_transform), AV_OPT_TYPE_BOOL, { .i64 = 1 }, 0, 1 },
    { NULL }
};

static const AVClass model_class = {
    .class_name = "model",
    .item_name  = av_default_item_name,
    .option     = model_options,
    .version    = LIBAVUTIL_VERSION_INT,
};

/// Characters of a name, which is written to metadata, lines and JSON.
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/// Parse the options of one model.
static int parse_model(VMAFModel *model, const char *text, void *logctx)
{
    const CAMBIOptions *cambi = &model->cambi;
    const char *name = "";
    int ret;

    model->class = &model_class;
    av_opt_set_defaults(model);
    if (!model->name)
        return AVERROR(ENOMEM);
    if ((ret = av_set_options_string(model, text, "=", ":")) < 0) {
        av_log(logctx, AV_LOG_ERROR, "Cannot read model '%s': write version=NAME, and after \\\\: "
               "name, cambi.enc_width, cambi.enc_height, cambi.enc_bitdepth, disable_clip and "
               "enable_transform; for files and other options use the filter libvmaf.\n", text);
        return ret;
    }
    if (!*model->name || model->name[strspn(model->name, NAME_CHARACTERS)]) {
        av_log(logctx, AV_LOG_ERROR, "A model has the name '%s', which logs cannot contain: use "
               "letters, digits, '_', '.' and '-' only.\n", model->name);
        return AVERROR(EINVAL);
    }
    if (cambi->width && cambi->width < 180 || cambi->height && cambi->height < 150 ||
        cambi->depth && cambi->depth < 6) {
        av_log(logctx, AV_LOG_ERROR, "cambi.enc_width=%d, cambi.enc_height=%d or "
               "cambi.enc_bitdepth=%d is too small: set at least 180, 150 and 6.\n",
               cambi->width, cambi->height, cambi->depth);
        return AVERROR(EINVAL);
    }
    if (model->version && av_strstart(model->version, PREFIX, &name) &&
        av_strstart(name, "hfr_", &name))
        model->window = VMAF_WINDOW_5;
    for (int i = 0; i < FF_ARRAY_ELEMS(variants); i++)
        if (!strcmp(variants[i].name, name))
            model->variant = &variants[i];
    if (model->variant)
        return 0;
    av_log(logctx, AV_LOG_ERROR, "Model '%s' has none of the versions " PREFIX "3d0h, " PREFIX
           "5d0h, " PREFIX "3d0h_2160 and " PREFIX "1d5h_2160, also with hfr_ after " PREFIX
           "; for others use the filter libvmaf.\n", text);
    return AVERROR(EINVAL);
}

int ff_vmaf_models_parse(VMAFModel model[VMAF_MAX_MODELS], const char *text, void *logctx)
{
    char *copy = av_strdup(text), *rest = NULL, *part;
    int nb = 0, ret = copy ? 0 : AVERROR(ENOMEM);

    for (part = copy; ret >= 0 && (part = av_strtok(part, "|", &rest)); part = NULL) {
        if (nb == VMAF_MAX_MODELS) {
            av_log(logctx, AV_LOG_ERROR, "There are more than %d models: use another filter for "
                   "the rest.\n", VMAF_MAX_MODELS);
            ret = AVERROR(EINVAL);
            break;
        }
        ret = parse_model(&model[nb++], part, logctx);
    }
    av_free(copy);
    if (ret >= 0 && !nb) {
        av_log(logctx, AV_LOG_ERROR, "model='%s' names no model: write version=NAME.\n", text);
        ret = AVERROR(EINVAL);
    }
    return ret < 0 ? ret : nb;
}

const char *ff_vmaf_default_model(int height)
{
    return height > LARGE ? "version=" PREFIX "1d5h_2160" : "version=" PREFIX "3d0h";
}

void ff_vmaf_models_free(VMAFModel model[VMAF_MAX_MODELS])
{
    for (int m = 0; m < VMAF_MAX_MODELS; m++)
        av_opt_free(&model[m]);
}

// ---- names ----

const char *const ff_vmaf_value_name[VMAF_NB_VALUES] = {
    "score", "cambi", "speed_chroma_u", "speed_chroma_v", "speed_chroma_uv", "adm2", "aim", "adm3",
    "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3", "motion_sad", "motion2", "motion3",
};

char *ff_vmaf_log_name(const VMAFModel *model, enum VMAFValue value)
{
    static const char *const prescale[] = { "", "_ps_0.6_psm_bilinear", "_ps_0.5_psm_bilinear" };
    static const char *const window[]   = { "_mmxv_18", "_mffw_mmxv_18_mma" };
    const CAMBIOptions *cambi = &model->cambi;
    const char *name = ff_vmaf_value_name[value];
    AVBPrint text;
    char *ret;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (value == VMAF_SCORE) {
        av_bprintf(&text, "%s", model->name);
    } else if (value == VMAF_CAMBI) {
        av_bprintf(&text, "cambi_hrs_1080_cmxv_17_vlt_0.06");
        if (cambi->depth)
            av_bprintf(&text, "_encbd_%d", cambi->depth);
        if (cambi->height)
            av_bprintf(&text, "_ench_%d", cambi->height);
        if (cambi->width)
            av_bprintf(&text, "_encw_%d", cambi->width);
    } else if (value <= VMAF_SPEED_UV) {
        av_bprintf(&text, "%s_mxv_45_nnf_0.1%s_snn_0.19_wvm_5", name,
                   prescale[model->variant->prescale]);
    } else if (value < VMAF_SAD) {
        av_bprintf(&text, "integer_%s_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02%s", name,
                   model->variant->viewing);
    } else {
        av_bprintf(&text, value == VMAF_SAD ? "VMAF_integer_feature_%s_score%s" : "integer_%s%s",
                   name, window[model->window]);
    }
    return av_bprint_finalize(&text, &ret) < 0 ? NULL : ret;
}

// ---- score ----

double ff_vmaf_predict(const VMAFModel *model, const double feature[4])
{
    double x[4], y = 0, score, ret = 0;

    for (int i = 0; i < 4; i++)
        x[i] = slope[i + 1] * feature[i] + intercept[i + 1];
    // libvmaf's replacement where SpEED chroma is 0
    if ((x[1] - intercept[2]) / slope[2] == 0) {
        const double adm = (x[2] - intercept[3]) / slope[3];

        x[1] = slope[2] * (-120 * adm + 120) + intercept[2];
    }
    for (int n = 0; n < FF_ARRAY_ELEMS(support_vector); n++) {
        double distance = 0;

        for (int i = 0; i < 4; i++) {
            const double d = x[i] - support_vector[n].feature[i];

            distance += d * d;
        }
        y += support_vector[n].alpha * exp(-GAMMA * distance);
    }
    score = (y - RHO - intercept[0]) / slope[0];
    ret  += model->variant->transform[0];
    ret  += model->variant->transform[1] * score;
    ret  += model->variant->transform[2] * score * score;
    return model->disable_clip ? ret : av_clipd(ret, 0, model->variant->max);
}
