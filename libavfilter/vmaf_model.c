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
#include "vmaf_model_data_v0.h"

#define LARGE 1440      ///< frames with more lines are for a display with 2160 lines

// ---- models ----

#define V1  "vmaf_v1.0.16_"
#define HFR V1 "hfr_"

#define MAX_FEATURES 6

/// Support vector regression. The score and its features are scaled: slope * x + intercept.
typedef struct VMAFSVR {
    double gamma, rho;
    double slope[1 + MAX_FEATURES], intercept[1 + MAX_FEATURES];        ///< the score's, then the features'
    enum VMAFValue feature[MAX_FEATURES];
    int nb_features;
    const double *support_vector;       ///< each a coefficient and the scaled features
    int nb_support_vectors;
} VMAFSVR;

#define SUPPORT_VECTORS(array) (array)[0], FF_ARRAY_ELEMS(array)
#define V0_FEATURES { VMAF_ADM2, VMAF_MOTION2, VMAF_VIF_SCALE, VMAF_VIF_SCALE + 1,          \
                      VMAF_VIF_SCALE + 2, VMAF_VIF_SCALE + 3 }, 6

static const VMAFSVR svr_v0 = {
    0.04, -1.33133,
    { 0.012020766332648465, 2.8098077502505414, 0.06264407466686016, 1.222763456258933,
      1.5360318811084146, 1.7620864995501058, 2.08656468286432 },
    { -0.3092981927591963, -1.7993968597186747, -0.003017198086831897, -0.1728125095425364,
      -0.5294309090081222, -0.7577185792093722, -1.083428597549764 },
    V0_FEATURES, SUPPORT_VECTORS(support_vector_v0),
};

static const VMAFSVR svr_v0_4k = {
    0.04, -2.30449,
    { 0.012388059998472608, 1.853012066458466, 0.05141551931924402, 1.0960374437054892,
      1.2189036205165853, 1.3583508615652835, 1.5373567703674345 },
    { -0.31191973282964003, -0.8536192302086182, -0.01336836451078975, -0.09603743694887917,
      -0.21890356649141152, -0.35835059999617175, -0.5373563330683786 },
    V0_FEATURES, SUPPORT_VECTORS(support_vector_v0_4k),
};

static const VMAFSVR svr_v1 = {
    0.035000000000000003, -1.2801585513962348,
    { 0.012020766332648467, 0.07265168094288038, 0.03147688934068315, 4.044462665497729,
      0.06242930101138472 },
    { -0.30712690585348135, -0.00016348141788834398, -0.014977474082856242, -3.0226057825839794,
      -0.003051650363248205 },
    { VMAF_CAMBI, VMAF_SPEED_UV, VMAF_ADM3, VMAF_MOTION3 }, 4,
    SUPPORT_VECTORS(support_vector_v1),
};

#define V0_PHONE { 1.70674692, 1.72643844, -0.00705305 }

static const VMAFVariant variants[] = {
    { "vmaf_v0.6.1",       VMAF_V0, &svr_v0,    VMAF_ADM_WATSON, 100, .transform = V0_PHONE, .max = 100 },
    { "vmaf_v0.6.1neg",    VMAF_V0, &svr_v0,    VMAF_ADM_WATSON, 1,   .transform = V0_PHONE, .max = 100 },
    // these two have no transform
    { "vmaf_4k_v0.6.1",    VMAF_V0, &svr_v0_4k, VMAF_ADM_WATSON, 100, .transform = { 0, 1, 0 }, .max = 100 },
    { "vmaf_4k_v0.6.1neg", VMAF_V0, &svr_v0_4k, VMAF_ADM_WATSON, 1,   .transform = { 0, 1, 0 }, .max = 100 },
    { V1 "3d0h",      VMAF_V1, &svr_v1, VMAF_ADM_3240,    1, VMAF_PRESCALE_1,  "",
      { 5.30624188, 0.980791305, -0.000490758318 }, 100 },
    { V1 "5d0h",      VMAF_V1, &svr_v1, VMAF_ADM_1080_5H, 1, VMAF_PRESCALE_06, "_nvd_5",
      { 5.30624188, 0.980791305, -0.000490758318 }, 100 },
    { V1 "3d0h_2160", VMAF_V1, &svr_v1, VMAF_ADM_2160_3H, 1, VMAF_PRESCALE_05, "_rdh_2160",
      { 5, 1, 0 }, 110 },
    { V1 "1d5h_2160", VMAF_V1, &svr_v1, VMAF_ADM_3240,    1, VMAF_PRESCALE_1,  "_nvd_1.5_rdh_2160",
      { 0, 1, 0 }, 100 },
};

// ---- options ----

#define OFFSET(member) offsetof(VMAFModel, member)

static const AVOption model_options[] = {
    { "version",            "", OFFSET(version), AV_OPT_TYPE_STRING },
    { "path",               "", OFFSET(path),    AV_OPT_TYPE_STRING },
    { "name",               "", OFFSET(name),    AV_OPT_TYPE_STRING, { .str = "vmaf" } },
    { "cambi.enc_width",    "", OFFSET(cambi.width),  AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 7680 },
    { "cambi.enc_height",   "", OFFSET(cambi.height), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 7680 },
    { "cambi.enc_bitdepth", "", OFFSET(cambi.depth),  AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 16 },
    { "disable_clip",       "", OFFSET(disable_clip), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    // no effect on v1 models, whose score is always transformed
    { "enable_transform",   "", OFFSET(enable_transform), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
    { "adm.adm_enhn_gain_limit",  "", OFFSET(adm_gain_limit), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 100 },
    { "vif.vif_enhn_gain_limit",  "", OFFSET(vif_gain_limit), AV_OPT_TYPE_DOUBLE, { .dbl = 0 }, 0, 100 },
    { "motion.motion_force_zero", "", OFFSET(motion_force_zero), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1 },
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

/// Set the version from path=: the file's name tells a model that is built in.
static int set_version(VMAFModel *model)
{
    const char *name = model->path ? av_basename(model->path) : "";
    const size_t len = strlen(name);

    if (len < 5 || strcmp(name + len - 5, ".json"))
        return 0;
    av_free(model->version);
    model->version = av_strndup(name, len - 5);
    return model->version ? 0 : AVERROR(ENOMEM);
}

/// Find the variant and the motion of a version.
static int set_variant(VMAFModel *model, const char *text, void *logctx)
{
    const char *version = model->version ? model->version : "", *rest = "";

    model->window = av_strstart(version, HFR, &rest) ? VMAF_WINDOW_5 : VMAF_WINDOW_3;
    for (int i = 0; i < FF_ARRAY_ELEMS(variants) && !model->variant; i++) {
        const char *name = variants[i].name;

        if (model->window == VMAF_WINDOW_3 ? !strcmp(name, version) :
            av_strstart(name, V1, &name) && !strcmp(name, rest))
            model->variant = &variants[i];
    }
    if (model->variant)
        return 0;
    if (av_strstart(version, "vmaf_b_", NULL) || av_strstart(version, "vmaf_float_b_", NULL))
        av_log(logctx, AV_LOG_ERROR, "Model '%s' is a bootstrap model, which is not supported: use "
               "version=vmaf_v0.6.1, or the filter libvmaf for confidence intervals.\n", text);
    else
        av_log(logctx, AV_LOG_ERROR, "Model '%s' has none of the versions " V1 "3d0h, " V1 "5d0h, "
               V1 "3d0h_2160 and " V1 "1d5h_2160, also with hfr_ after " V1 ", vmaf_v0.6.1, "
               "vmaf_v0.6.1neg, vmaf_4k_v0.6.1 and vmaf_4k_v0.6.1neg; for others use the filter "
               "libvmaf.\n", text);
    return AVERROR(EINVAL);
}

/// Parse the options of one model.
static int parse_model(VMAFModel *model, const char *text, void *logctx)
{
    const CAMBIOptions *cambi = &model->cambi;
    int ret;

    model->class = &model_class;
    av_opt_set_defaults(model);
    if (!model->name)
        return AVERROR(ENOMEM);
    if ((ret = av_set_options_string(model, text, "=", ":")) < 0) {
        av_log(logctx, AV_LOG_ERROR, "Cannot read model '%s': write version=NAME, and after \\\\: "
               "name, cambi.enc_width, cambi.enc_height, cambi.enc_bitdepth, "
               "adm.adm_enhn_gain_limit, vif.vif_enhn_gain_limit, motion.motion_force_zero, "
               "disable_clip and enable_transform; for other files and options use the filter "
               "libvmaf.\n", text);
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
    if ((ret = set_version(model)) < 0 || (ret = set_variant(model, text, logctx)) < 0)
        return ret;
    if (!model->adm_gain_limit)
        model->adm_gain_limit = model->variant->gain_limit;
    if (!model->vif_gain_limit)
        model->vif_gain_limit = model->variant->gain_limit;
    if (model->adm_gain_limit >= 1 && model->vif_gain_limit >= 1)
        return 0;
    av_log(logctx, AV_LOG_ERROR, "adm.adm_enhn_gain_limit=%g or vif.vif_enhn_gain_limit=%g is below "
           "1: set 1 to 100.\n", model->adm_gain_limit, model->vif_gain_limit);
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
    return height > LARGE ? "version=" V1 "1d5h_2160" : "version=" V1 "3d0h";
}

void ff_vmaf_models_free(VMAFModel model[VMAF_MAX_MODELS])
{
    for (int m = 0; m < VMAF_MAX_MODELS; m++)
        av_opt_free(&model[m]);
}

int ff_vmaf_has_value(const VMAFModel *model, enum VMAFValue value)
{
    switch (model->variant->family) {
    case VMAF_V0: return value < VMAF_CAMBI || value > VMAF_SPEED_UV;
    default:      return value < VMAF_VIF_SCALE || value >= VMAF_MOTION2;
    }
}

// ---- names ----

const char *const ff_vmaf_value_name[VMAF_NB_VALUES] = {
    "score", "cambi", "speed_chroma_u", "speed_chroma_v", "speed_chroma_uv", "adm2", "aim", "adm3",
    "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3", "motion_sad",
    "vif_scale0", "vif_scale1", "vif_scale2", "vif_scale3", "motion2", "motion3",
};

/// Print the limit of a gain, but for libvmaf's default.
static void print_gain_limit(AVBPrint *text, double gain_limit)
{
    if (gain_limit != 100)
        av_bprintf(text, "_egl_%g", gain_limit);
}

char *ff_vmaf_log_name(const VMAFModel *model, enum VMAFValue value)
{
    static const char *const prescale[] = { "", "_ps_0.6_psm_bilinear", "_ps_0.5_psm_bilinear" };
    static const char *const window[VMAF_NB_FAMILIES][VMAF_NB_WINDOWS] = {
        { "" }, { "_mmxv_18", "_mffw_mmxv_18_mma" },
    };
    const CAMBIOptions *cambi = &model->cambi;
    const char *name = ff_vmaf_value_name[value];
    const int is_v1  = model->variant->family == VMAF_V1;
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
        av_bprintf(&text, "integer_%s%s", name, is_v1 ? "_csf_2_dlmw_0.7" : "");
        print_gain_limit(&text, model->adm_gain_limit);
        if (is_v1)
            av_bprintf(&text, "_min_0.5_nw_0.02%s", model->variant->viewing);
    } else if (value >= VMAF_VIF_SCALE && value < VMAF_MOTION2) {
        av_bprintf(&text, "integer_%s", name);
        print_gain_limit(&text, model->vif_gain_limit);
    } else {
        av_bprintf(&text, value == VMAF_SAD ? "VMAF_integer_feature_%s_score%s%s" : "integer_%s%s%s",
                   name, model->motion_force_zero ? "_force_0" : "",
                   window[model->variant->family][model->window]);
    }
    return av_bprint_finalize(&text, &ret) < 0 ? NULL : ret;
}

// ---- score ----

double ff_vmaf_predict(const VMAFModel *model, const double value[VMAF_NB_VALUES])
{
    const VMAFVariant *variant = model->variant;
    const VMAFSVR *svr         = variant->svr;
    const double *slope = svr->slope, *intercept = svr->intercept, *vector = svr->support_vector;
    double x[MAX_FEATURES], y = 0, score, ret = 0;

    for (int i = 0; i < svr->nb_features; i++)
        x[i] = slope[i + 1] * value[svr->feature[i]] + intercept[i + 1];
    // libvmaf's replacement where SpEED chroma is 0
    if (variant->family == VMAF_V1 && (x[1] - intercept[2]) / slope[2] == 0) {
        const double adm = (x[2] - intercept[3]) / slope[3];

        x[1] = slope[2] * (-120 * adm + 120) + intercept[2];
    }
    for (int n = 0; n < svr->nb_support_vectors; n++, vector += 1 + svr->nb_features) {
        double distance = 0;

        for (int i = 0; i < svr->nb_features; i++) {
            const double d = x[i] - vector[i + 1];

            distance += d * d;
        }
        y += vector[0] * exp(-svr->gamma * distance);
    }
    score = (y - svr->rho - intercept[0]) / slope[0];
    ret  += variant->transform[0];
    ret  += variant->transform[1] * score;
    ret  += variant->transform[2] * score * score;
    // libvmaf's out_gte_in: the transform of v0 models lowers no score
    if (variant->family == VMAF_V0)
        ret = model->enable_transform ? FFMAX(ret, score) : score;
    return model->disable_clip ? ret : av_clipd(ret, 0, variant->max);
}
