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
 * The models of VMAF v1.0.16: they differ in what is measured and in how the score is transformed,
 * the regression is the same for all.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/common.h"
#include "libavutil/dict.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"

#include "vmaf.h"
#include "vmaf_model_data.h"

#define PREFIX    "vmaf_v1.0.16_"
#define GAMMA     0.035000000000000003
#define RHO       -1.2801585513962348

/// From a score and the features to their scaled values.
static const double slope[] = {
    0.012020766332648467, 0.07265168094288038, 0.03147688934068315, 4.044462665497729,
    0.06242930101138472,
};
static const double intercept[] = {
    -0.30712690585348135, -0.00016348141788834398, -0.014977474082856242, -3.0226057825839794,
    -0.003051650363248205,
};

const double ff_vmaf_prescale[VMAF_NB_PRESCALES] = {
    [VMAF_PRESCALE_1] = 1, [VMAF_PRESCALE_06] = 0.6, [VMAF_PRESCALE_05] = 0.5,
};

#define MODELS(csf, prescale, viewing, max, ...)                                            \
    { version(""),     csf, prescale, VMAF_WINDOW_3, viewing, { __VA_ARGS__ }, max },       \
    { version("hfr_"), csf, prescale, VMAF_WINDOW_5, viewing, { __VA_ARGS__ }, max }

static const VMAFModel models[] = {
#define version(hfr) PREFIX hfr "3d0h"
    MODELS(VMAF_CSF_3240, VMAF_PRESCALE_1, "", 100, 5.30624188, 0.980791305, -0.000490758318),
#undef version
#define version(hfr) PREFIX hfr "5d0h"
    MODELS(VMAF_CSF_1080_5H, VMAF_PRESCALE_06, "_nvd_5", 100,
           5.30624188, 0.980791305, -0.000490758318),
#undef version
#define version(hfr) PREFIX hfr "3d0h_2160"
    MODELS(VMAF_CSF_2160_3H, VMAF_PRESCALE_05, "_rdh_2160", 110, 5, 1, 0),
#undef version
#define version(hfr) PREFIX hfr "1d5h_2160"
    MODELS(VMAF_CSF_3240, VMAF_PRESCALE_1, "_nvd_1.5_rdh_2160", 100, 0, 1, 0),
#undef version
};

static int refuse(void *logctx, const char *key, const char *value)
{
    if (!strcmp(key, "version"))
        av_log(logctx, AV_LOG_ERROR, "There is no model '%s': use " PREFIX "3d0h, " PREFIX "5d0h, "
               PREFIX "3d0h_2160 or " PREFIX "1d5h_2160, or with hfr_ after " PREFIX "; for others "
               "use the filter libvmaf.\n", value);
    else
        av_log(logctx, AV_LOG_ERROR, "A model has no option '%s=%s': use version, name, "
               "cambi.enc_width, cambi.enc_height and cambi.enc_bitdepth; for others use the "
               "filter libvmaf.\n", key, value);
    return AVERROR(EINVAL);
}

/// @param min the least value, or 0, which stands for that of the frame
static int parse_number(int *dst, const char *key, const char *value, int min, int max,
                        void *logctx)
{
    char *end;
    const long number = strtol(value, &end, 10);

    if (*end || end == value || number && (number < min || number > max)) {
        av_log(logctx, AV_LOG_ERROR, "%s=%s is not a number from %d to %d.\n", key, value, min, max);
        return AVERROR(EINVAL);
    }
    *dst = number;
    return 0;
}

static int parse_option(VMAFModel *model, const char *key, const char *value, void *logctx)
{
    if (!strcmp(key, "version"))
        return 0;
    if (!strcmp(key, "name")) {
        av_freep(&model->name);
        model->name = av_strdup(value);
        return model->name ? 0 : AVERROR(ENOMEM);
    }
    if (!strcmp(key, "cambi.enc_width"))
        return parse_number(&model->cambi.width,  key, value, 180, 7680, logctx);
    if (!strcmp(key, "cambi.enc_height"))
        return parse_number(&model->cambi.height, key, value, 150, 7680, logctx);
    if (!strcmp(key, "cambi.enc_bitdepth"))
        return parse_number(&model->cambi.depth,  key, value, 6, 16, logctx);
    return refuse(logctx, key, value);
}

static int parse_model(VMAFModel *model, const char *text, void *logctx)
{
    AVDictionary *options = NULL;
    const AVDictionaryEntry *e = NULL;
    int ret = av_dict_parse_string(&options, text, "=", ":", 0);

    if (ret < 0) {
        av_log(logctx, AV_LOG_ERROR, "Cannot read model '%s': write version=NAME\\\\:key=value.\n",
               text);
    } else if (!(e = av_dict_get(options, "version", NULL, 0))) {
        av_log(logctx, AV_LOG_ERROR, "Model '%s' has no version=: use one like version=" PREFIX
               "3d0h, files are not read.\n", text);
        ret = AVERROR(EINVAL);
    } else {
        for (int i = 0; i < FF_ARRAY_ELEMS(models); i++)
            if (!strcmp(models[i].version, e->value))
                *model = models[i];
        if (!model->version)
            ret = refuse(logctx, "version", e->value);
    }
    for (e = NULL; ret >= 0 && (e = av_dict_iterate(options, e)); )
        ret = parse_option(model, e->key, e->value, logctx);
    if (ret >= 0 && !model->name && !(model->name = av_strdup("vmaf")))
        ret = AVERROR(ENOMEM);
    av_dict_free(&options);
    return ret;
}

int ff_vmaf_models_parse(VMAFModel model[VMAF_MAX_MODELS], const char *text, void *logctx)
{
    int nb = 0, ret = 0;

    do {
        char *one = av_get_token(&text, "|");

        if (!one)
            return AVERROR(ENOMEM);
        if (nb == VMAF_MAX_MODELS) {
            av_log(logctx, AV_LOG_ERROR, "There are more than %d models: use another filter for "
                   "the rest.\n", VMAF_MAX_MODELS);
            ret = AVERROR(EINVAL);
        } else {
            ret = parse_model(&model[nb++], one, logctx);
        }
        av_free(one);
        for (int i = 0; i < nb - 1 && ret >= 0; i++)
            if (!strcmp(model[i].name, model[nb - 1].name)) {
                av_log(logctx, AV_LOG_ERROR, "Two models have the name '%s': give each one its "
                       "name=.\n", model[i].name);
                ret = AVERROR(EINVAL);
            }
    } while (ret >= 0 && *text++);
    return ret < 0 ? ret : nb;
}

float ff_vmaf_csf(enum VMAFCSF of, enum VMAFADMBand band, int scale)
{
    return csf[of][band == VMAF_ADM_D][scale];
}

double ff_vmaf_predict(const VMAFModel *model, const double feature[4])
{
    double x[4], y = 0, score, ret = 0;

    for (int i = 0; i < 4; i++)
        x[i] = slope[i + 1] * feature[i] + intercept[i + 1];
    // without a measure of chroma, luma has to stand for it
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
    ret  += model->transform[0];
    ret  += model->transform[1] * score;
    ret  += model->transform[2] * score * score;
    return av_clipd(ret, 0, model->max);
}
