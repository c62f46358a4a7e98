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

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/bprint.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/version.h"

#include "vmaf.h"
#include "vmaf_model_data.h"

#define LARGE          1440     ///< frames with more lines are those of a display with 2160 lines
#define DIGITS         6        ///< after the point, as libvmaf has them

// ---- models ----

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

/// All that a name may consist of, as it is written to metadata, lines and JSON.
#define NAME_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

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
    for (int i = 0; i < FF_ARRAY_ELEMS(forms); i++)
        if (!strcmp(forms[i].name, name))
            model->form = &forms[i];
    if (model->form)
        return 0;
    av_log(logctx, AV_LOG_ERROR, "Model '%s' has none of the versions " PREFIX "3d0h, " PREFIX
           "5d0h, " PREFIX "3d0h_2160 and " PREFIX "1d5h_2160, also with hfr_ after " PREFIX
           "; for others use the filter libvmaf.\n", text);
    return AVERROR(EINVAL);
}

/**
 * Parse model=. As in libvmaf's filter, it is split at every '|' before escapes and quotes are read,
 * and empty parts are skipped.
 *
 * @return the number of models, or a negative AVERROR after a message
 */
static int parse_models(VMAFModel model[VMAF_MAX_MODELS], const char *text, void *logctx)
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

// ---- options and names ----

int ff_vmaf_init(VMAFContext *s, AVFilterContext *ctx)
{
    const char *type = s->log.log_path ? strrchr(s->log.log_path, '.') : NULL;

    if (s->log_format ? strcmp(s->log_format, "json") :
        type && (!av_strcasecmp(type, ".csv") || !av_strcasecmp(type, ".xml"))) {
        av_log(ctx, AV_LOG_ERROR, "Logs are JSON: set log_fmt=json, or stats_file= for a line per "
               "frame.\n");
        return AVERROR(EINVAL);
    }
    if (s->bitdepth % 10) {
        av_log(ctx, AV_LOG_ERROR, "bitdepth=%d: only 10 is supported.\n", s->bitdepth);
        return AVERROR(EINVAL);
    }
    if (s->models && (s->nb_models = parse_models(s->model, s->models, ctx)) < 0)
        return s->nb_models;
    s->log.filter           = "vmaf";
    s->log.title            = "VMAF";
    s->log.predicts         = "";
    s->log.higher_is_better = 1;
    s->log.metric           = s->metric;
    return ff_metric_init(&s->log, ctx, &s->nb_frames);
}

/// Ours of the first model's values. Libvmaf's are made of them.
static const char *const value_name[VMAF_NB_VALUES] = {
    "score", "cambi", "speed_chroma_u", "speed_chroma_v", "speed_chroma_uv", "adm2", "aim", "adm3",
    "adm_scale0", "adm_scale1", "adm_scale2", "adm_scale3", "motion_sad", "motion2", "motion3",
};

/// The name that libvmaf's logs have for a value.
static char *log_name(const VMAFModel *model, enum VMAFValue value)
{
    static const char *const prescale[] = { "", "_ps_0.6_psm_bilinear", "_ps_0.5_psm_bilinear" };
    static const char *const window[]   = { "_mmxv_18", "_mffw_mmxv_18_mma" };
    const CAMBIOptions *cambi = &model->cambi;
    const char *name = value_name[value];
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
                   prescale[model->form->prescale]);
    } else if (value < VMAF_SAD) {
        av_bprintf(&text, "integer_%s_csf_2_dlmw_0.7_egl_1_min_0.5_nw_0.02%s", name,
                   model->form->viewing);
    } else {
        av_bprintf(&text, value == VMAF_SAD ? "VMAF_integer_feature_%s_score%s" : "integer_%s%s",
                   name, window[model->window]);
    }
    return av_bprint_finalize(&text, &ret) < 0 ? NULL : ret;
}

// the scores, CAMBI with options of its own, SpEED of each size, ADM of each viewing, both motions
static_assert(VMAF_MAX_MODELS * (VMAF_SPEED_U - VMAF_SCORE) +
              VMAF_NB_PRESCALES * (VMAF_ADM2 - VMAF_SPEED_U) +
              FF_ARRAY_ELEMS(forms) * (VMAF_SAD - VMAF_ADM2) +
              VMAF_NB_WINDOWS * (VMAF_NB_VALUES - VMAF_SAD) <= METRIC_MAX, "METRIC_MAX");
static_assert(VMAF_MAX_MODELS <= METRIC_MAX_SCORES, "METRIC_MAX_SCORES");

/// Name the values of a model, of which some may be known.
static int add_metrics(VMAFContext *s, int m)
{
    const VMAFModel *model = &s->model[m];
    ScoreMetric *score;

    for (int value = 0; value < VMAF_NB_VALUES; value++) {
        char *known = log_name(model, value);
        int i = value == VMAF_SCORE ? s->log.nb_metrics : 0;

        if (!known)
            return AVERROR(ENOMEM);
        while (i < s->log.nb_metrics &&
               (s->metric[i].score_number || strcmp(s->name[i], known)))
            i++;
        s->metric_of[m][value] = i;
        if (i < s->log.nb_metrics) {
            av_free(known);
            continue;
        }
        s->name[i]   = known;
        s->metric[i] = (ScoreMetric){ .name = m ? known : value_name[value], .log_name = known,
                                      .digits = DIGITS, .pooled = 1,
                                      .score_number = value == VMAF_SCORE ? m + 1 : 0 };
        s->log.nb_metrics++;
    }
    score        = &s->metric[s->metric_of[m][VMAF_SCORE]];
    score->min   = model->disable_clip ? -INFINITY : 0;
    score->max   = model->disable_clip ?  INFINITY : model->form->max;
    score->model = model->version;
    return 0;
}

/// Check that no score has the name of another value, in metadata and lines or in log_path.
static int check_names(const VMAFContext *s, AVFilterContext *ctx)
{
    for (int m = 0; m < s->nb_models; m++)
        for (int i = 0; i < s->log.nb_metrics; i++)
            // keys of metadata are compared without regard to case
            if (i != s->metric_of[m][VMAF_SCORE] &&
                (!av_strcasecmp(s->name[i], s->model[m].name) ||
                 !av_strcasecmp(s->metric[i].name, s->model[m].name))) {
                av_log(ctx, AV_LOG_ERROR, "The name '%s' of model %s is that of another value: "
                       "choose another name=.\n", s->model[m].name, s->model[m].version);
                return AVERROR(EINVAL);
            }
    return 0;
}

// ---- score ----

/// The score of CAMBI, SpEED chroma, ADM3 and motion3.
static double predict(const VMAFModel *model, const double feature[4])
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
    ret  += model->form->transform[0];
    ret  += model->form->transform[1] * score;
    ret  += model->form->transform[2] * score * score;
    return model->disable_clip ? ret : av_clipd(ret, 0, model->form->max);
}

// ---- frames ----

/// The depth that samples are measured with.
static int choose_depth(const VMAFContext *s, AVFilterContext *ctx,
                        const AVPixFmtDescriptor *main, const AVPixFmtDescriptor *reference)
{
    const int main_depth      = FFMIN(main->comp[0].depth,      VMAF_MAX_DEPTH);
    const int reference_depth = FFMIN(reference->comp[0].depth, VMAF_MAX_DEPTH);
    const int depth = s->bitdepth && main_depth == 8 ? s->bitdepth : main_depth;

    if (main->nb_components < 3 || reference->nb_components < 3) {
        av_log(ctx, AV_LOG_ERROR, "VMAF v1 measures chroma, and %s has none: use a filter like "
               "mad or ssim.\n", main->nb_components < 3 ? main->name : reference->name);
        return AVERROR(EINVAL);
    }
    if (main->log2_chroma_w == reference->log2_chroma_w &&
        main->log2_chroma_h == reference->log2_chroma_h &&
        (reference_depth == depth || s->bitdepth == depth && reference_depth == 8))
        return depth;
    av_log(ctx, AV_LOG_ERROR, "The main input is %s, the reference %s: insert %sformat=%s before the "
           "reference%s.\n", main->name, reference->name,
           ctx->inputs[0]->format == AV_PIX_FMT_CUDA ? "scale_cuda=" : "", main->name,
           FFMIN(main_depth, reference_depth) == 8 && FFMAX(main_depth, reference_depth) == 10 ?
           ", or set bitdepth=10" : "");
    return AVERROR(EINVAL);
}

int ff_vmaf_set_size(VMAFContext *s, AVFilterContext *ctx, int width, int height)
{
    int ret = 0;

    s->width  = width;
    s->height = height;
    for (int i = 0; i < VMAF_NB_CSF; i++)
        ff_vmaf_adm_scales_init(s->adm[i], i, width, height);
    // libvmaf has no half sample of chroma at the end of odd sizes
    for (int i = 0; i < VMAF_NB_PRESCALES && ret >= 0; i++)
        if (s->needs_prescale[i])
            ret = ff_vmaf_speed_dims_init(&s->speed[i], ctx, width >> s->chroma_w, height >> s->chroma_h, i);
    for (int i = 0; i < s->nb_models && ret >= 0; i++)
        if (s->model[i].cambi_of == i)
            ret = ff_vmaf_cambi_dims_init(&s->cambi[i], ctx, width, height, s->depth, &s->model[i].cambi);
    return ret;
}

int ff_vmaf_config(VMAFContext *s, AVFilterContext *ctx, const LumaInputs *inputs)
{
    const AVPixFmtDescriptor *main = av_pix_fmt_desc_get(inputs->input[PAIR_MAIN].sw_format);
    const int width = inputs->width, height = inputs->height;
    int ret = choose_depth(s, ctx, main,
                           av_pix_fmt_desc_get(inputs->input[PAIR_REFERENCE].sw_format));

    if (ret < 0)
        return ret;
    s->depth    = ret;
    s->chroma_w = main->log2_chroma_w;
    s->chroma_h = main->log2_chroma_h;
    if (!s->nb_models) {
        const char *version = height > LARGE ? "version=vmaf_v1.0.16_1d5h_2160"
                                             : "version=vmaf_v1.0.16_3d0h";

        av_log(ctx, AV_LOG_INFO, "The model is %s, chosen by the height; libvmaf's default is "
               "another, v0.6.1.\n", strchr(version, '=') + 1);
        if ((s->nb_models = parse_models(s->model, version, ctx)) < 0)
            return s->nb_models;
    }
    for (int m = 0; m < s->nb_models; m++) {
        VMAFModel *model = &s->model[m];

        if (s->bitdepth && main->comp[0].depth == 8 && !model->cambi.depth)
            model->cambi.depth = 8;
        for (model->cambi_of = 0; model->cambi_of < m; model->cambi_of++)
            if (!memcmp(&s->model[model->cambi_of].cambi, &model->cambi, sizeof(model->cambi)))
                break;
        s->needs_csf[model->form->csf]           = 1;
        s->needs_prescale[model->form->prescale] = 1;
        s->needs_window[model->window]           = !s->still;
        if ((ret = add_metrics(s, m)) < 0)
            return ret;
    }
    if ((ret = check_names(s, ctx)) < 0)
        return ret;
    if ((ret = ff_metric_config(&s->log, ctx)) < 0)
        return ret;
    return ff_vmaf_set_size(s, ctx, width, height);
}

static void measure(VMAFContext *s, double *value, const VMAFSums *sums)
{
    for (int m = 0; m < s->nb_models; m++) {
        const VMAFModel *model = &s->model[m];
        const enum VMAFCSF csf = model->form->csf;
        const ADMFeatures adm  = ff_vmaf_adm_features(s->adm[csf], &sums->adm[csf], csf);
        double of_model[VMAF_NB_VALUES] = { 0 };

        of_model[VMAF_ADM2] = adm.adm2;
        of_model[VMAF_AIM]  = adm.aim;
        of_model[VMAF_ADM3] = adm.adm3;
        memcpy(of_model + VMAF_ADM_SCALE, adm.scale, sizeof(adm.scale));
        of_model[VMAF_CAMBI] = sums->cambi[model->cambi_of];
        memcpy(of_model + VMAF_SPEED_U, sums->speed[model->form->prescale],
               sizeof(sums->speed[0]));
        for (int i = 0; i < VMAF_NB_VALUES; i++)
            value[s->metric_of[m][i]] = of_model[i];
    }
}

void ff_vmaf_add(VMAFContext *s, AVFrame *frame, const VMAFSums *sums, const uint64_t *sad)
{
    VMAFWaiting *w = &s->waiting[s->nb_waiting++];

    w->frame     = frame;
    w->n         = s->nb_frames++;
    w->run       = sad ? s->nb_run : -1;
    w->is_scored = !!sums;
    if (sums)
        measure(s, w->value, sums);
    if (!sad)
        return;
    for (int i = 0; i < VMAF_NB_WINDOWS; i++)
        ff_vmaf_motion_add(&s->motion[i], i, s->nb_run, sad[i], s->width, s->height);
    s->nb_run++;
}

static int score_frame(VMAFContext *s, AVFilterContext *ctx, VMAFWaiting *w)
{
    double motion[VMAF_NB_WINDOWS][2];

    for (int i = 0; i < VMAF_NB_WINDOWS; i++) {
        motion[i][0] = ff_vmaf_motion2(&s->motion[i], i, w->run, s->nb_run);
        motion[i][1] = ff_vmaf_motion3(&s->motion[i], i, w->run, s->nb_run);
    }
    if (!w->is_scored)
        return 0;
    for (int m = 0; m < s->nb_models; m++) {
        const VMAFModel *model = &s->model[m];
        const int *of = s->metric_of[m];

        w->value[of[VMAF_SAD]]     = s->motion[model->window].sad[w->run % 4];
        w->value[of[VMAF_MOTION2]] = motion[model->window][0];
        w->value[of[VMAF_MOTION3]] = motion[model->window][1];
        w->value[of[VMAF_SCORE]]   = predict(model, (const double[]){
            w->value[of[VMAF_CAMBI]], w->value[of[VMAF_SPEED_UV]],
            w->value[of[VMAF_ADM3]],  w->value[of[VMAF_MOTION3]],
        });
    }
    return ff_metric_frame(&s->log, ctx, w->frame, w->n, w->value, 1);
}

int ff_vmaf_get(VMAFContext *s, AVFilterContext *ctx, AVFrame **frame, int ended)
{
    VMAFWaiting *w    = s->waiting;
    const int passes  = w->run < 0;
    int ret = 0;

    if (!s->nb_waiting)
        return 0;
    if (!passes) {
        // the frames after the first ones wait for the next
        const int64_t last = FFMAX(w->run + 1, s->needs_window[VMAF_WINDOW_5] ? 2 : 1);

        if (!ended && !s->still && s->nb_run <= last && s->waiting[s->nb_waiting - 1].run >= 0)
            return 0;
        ret = score_frame(s, ctx, w);
    }
    *frame = w->frame;
    s->nb_waiting--;
    memmove(w, w + 1, s->nb_waiting * sizeof(*w));
    // still=1 makes each frame the first one: vmaf_cuda leaves sad of a window unset that is not needed
    if (passes || s->still || ended && !s->nb_waiting)
        s->nb_run = 0;
    if (ret < 0)
        av_frame_free(frame);
    return ret < 0 ? ret : 1;
}

void ff_vmaf_uninit(VMAFContext *s, AVFilterContext *ctx, int ended)
{
    AVFrame *frame;

    // where the output has ended early, nobody has asked for these
    while (s->nb_waiting)
        if (ff_vmaf_get(s, ctx, &frame, 1) > 0)
            av_frame_free(&frame);
    ff_metric_uninit(&s->log, ctx, s->nb_frames, ended);
    for (int m = 0; m < FF_ARRAY_ELEMS(s->model); m++)
        av_opt_free(&s->model[m]);
    for (int i = 0; i < METRIC_MAX; i++)
        av_freep(&s->name[i]);
}
