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
#include <assert.h>
#include <math.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"

#include "vmaf.h"

#define DIGITS 6        ///< after the point, as in libvmaf's logs

int ff_vmaf_init(VMAFContext *s, AVFilterContext *ctx)
{
    if (s->bitdepth % 10) {
        av_log(ctx, AV_LOG_ERROR, "bitdepth=%d: only 10 is supported.\n", s->bitdepth);
        return AVERROR(EINVAL);
    }
    if (s->models && (s->nb_models = ff_vmaf_models_parse(s->model, s->models, ctx)) < 0)
        return s->nb_models;
    s->log.filter           = "vmaf";
    s->log.title            = "VMAF";
    s->log.predicts         = "";
    s->log.higher_is_better = 1;
    s->log.metric           = s->metric;
    return ff_metric_init(&s->log, ctx, &s->nb_frames);
}

// a model has VIF, or CAMBI and SpEED
static_assert(VMAF_MAX_MODELS * (VMAF_NB_VALUES - VIF_SCALES) <= METRIC_MAX, "METRIC_MAX");
static_assert(VMAF_MAX_MODELS <= METRIC_MAX_SCORES, "METRIC_MAX_SCORES");

/// Return the rank of a value in the JSON log. libvmaf logs scores last, after what needs the next
/// frame; logs of v1 models alone have each model's score before its values.
static int json_rank(const VMAFContext *s, enum VMAFValue value)
{
    for (int m = 0; m < s->nb_models; m++)
        if (s->model[m].variant->family == VMAF_V0)
            return value == VMAF_SCORE ? 2 : value >= VMAF_MOTION2;
    return 0;
}

/// Add the values of a model to the log. Values that another model has, too, are added once.
static int add_metrics(VMAFContext *s, int m)
{
    const VMAFModel *model = &s->model[m];
    ScoreMetric *score;

    for (int value = 0; value < VMAF_NB_VALUES; value++) {
        int i = value == VMAF_SCORE ? s->log.nb_metrics : 0;
        char *name;

        s->metric_of[m][value] = -1;
        if (!ff_vmaf_has_value(model, value))
            continue;
        if (!(name = ff_vmaf_log_name(model, value)))
            return AVERROR(ENOMEM);
        while (i < s->log.nb_metrics &&
               (s->metric[i].score_number || strcmp(s->name[i], name)))
            i++;
        s->metric_of[m][value] = i;
        if (i < s->log.nb_metrics) {
            av_free(name);
            continue;
        }
        s->name[i]   = name;
        s->metric[i] = (ScoreMetric){ .name = m ? name : ff_vmaf_value_name[value],
                                      .log_name = name, .digits = DIGITS, .pooled = 1,
                                      .json_rank = json_rank(s, value),
                                      .score_number = value == VMAF_SCORE ? m + 1 : 0 };
        s->log.nb_metrics++;
    }
    score        = &s->metric[s->metric_of[m][VMAF_SCORE]];
    score->min   = model->disable_clip ? -INFINITY : 0;
    score->max   = model->disable_clip ?  INFINITY : model->variant->max;
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

// ---- set-up ----

/// Return whether a model measures chroma. The default models do.
static int needs_chroma(const VMAFContext *s)
{
    for (int m = 0; m < s->nb_models; m++)
        if (s->model[m].variant->family == VMAF_V1)
            return 1;
    return !s->nb_models;
}

/// Return the depth of the samples that are compared, or AVERROR(EINVAL) after a message.
static int choose_depth(const VMAFContext *s, AVFilterContext *ctx,
                        const AVPixFmtDescriptor *main, const AVPixFmtDescriptor *reference)
{
    const int main_depth      = FFMIN(main->comp[0].depth,      VMAF_MAX_DEPTH);
    const int reference_depth = FFMIN(reference->comp[0].depth, VMAF_MAX_DEPTH);
    const int depth = s->bitdepth && main_depth == 8 ? s->bitdepth : main_depth;

    if (needs_chroma(s) && (main->nb_components < 3 || reference->nb_components < 3)) {
        av_log(ctx, AV_LOG_ERROR, "VMAF v1 measures chroma, and %s has none: use a filter like "
               "mad or ssim.\n", main->nb_components < 3 ? main->name : reference->name);
        return AVERROR(EINVAL);
    }
    if (main->nb_components == reference->nb_components &&
        main->log2_chroma_w == reference->log2_chroma_w &&
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

    s->width  = s->log.width  = width;
    s->height = s->log.height = height;
    // the sizes of the first ones are used for all
    for (int m = 0; m < s->nb_models; m++) {
        const VMAFModel *model = &s->model[m];

        ff_vmaf_adm_scales_init(s->adm[m], &ff_vmaf_adm_params[model->variant->adm],
                                model->adm_gain_limit, width, height);
        ff_vmaf_vif_dims_init(&s->vif[m], width, height, model->vif_gain_limit);
    }
    for (const VMAFPass *pass = s->pass; pass < s->pass + s->nb_passes && ret >= 0; pass++) {
        const int i = pass->instance;

        // libvmaf has no half sample of chroma at the end of odd sizes
        if (pass->feature == VMAF_FEATURE_SPEED)
            ret = ff_vmaf_speed_dims_init(&s->speed[i], ctx, width >> s->chroma_w,
                                          height >> s->chroma_h, i);
        else if (pass->feature == VMAF_FEATURE_CAMBI)
            ret = ff_vmaf_cambi_dims_init(&s->cambi[i], ctx, width, height, s->depth,
                                          &s->model[i].cambi);
    }
    return ret;
}

/// Return the instance of a feature that a model needs, or -1.
static int feature_instance(const VMAFModel *model, enum VMAFFeature feature)
{
    const int is_v1 = model->variant->family == VMAF_V1;

    switch (feature) {
    case VMAF_FEATURE_SPEED: return is_v1 ? model->variant->prescale : -1;
    case VMAF_FEATURE_CAMBI: return is_v1 ? model->cambi_instance : -1;
    case VMAF_FEATURE_ADM:   return model->adm_instance;
    case VMAF_FEATURE_VIF:   return is_v1 ? -1 : model->vif_instance;
    default:                 return model->motion_force_zero ? -1 : model->window;
    }
}

/// Find the first models that have the parameters of model m.
static void set_instances(VMAFContext *s, int m)
{
    VMAFModel *model = &s->model[m], *first = s->model;
    int cambi = 0, adm = 0, vif = 0;

    while (memcmp(&first[cambi].cambi, &model->cambi, sizeof(model->cambi)))
        cambi++;
    while (first[adm].variant->adm != model->variant->adm ||
           first[adm].adm_gain_limit != model->adm_gain_limit)
        adm++;
    while (first[vif].vif_gain_limit != model->vif_gain_limit)
        vif++;
    model->cambi_instance = cambi;
    model->adm_instance   = adm;
    model->vif_instance   = vif;
}

static void init_passes(VMAFContext *s)
{
    for (int feature = 0; feature < VMAF_NB_FEATURES - s->still; feature++)
        for (int instance = 0; instance < VMAF_MAX_MODELS; instance++) {
            int m = 0;

            while (m < s->nb_models && feature_instance(&s->model[m], feature) != instance)
                m++;
            if (m < s->nb_models)
                s->pass[s->nb_passes++] = (VMAFPass){ feature, instance };
        }
}

int ff_vmaf_config(VMAFContext *s, AVFilterContext *ctx, const LumaInputs *inputs)
{
    const AVPixFmtDescriptor *main = av_pix_fmt_desc_get(inputs->input[PAIR_MAIN].sw_format);
    const int width = inputs->width, height = inputs->height;
    int ret = choose_depth(s, ctx, main,
                           av_pix_fmt_desc_get(inputs->input[PAIR_REFERENCE].sw_format));

    if (ret < 0)
        return ret;
    // once: ffmpeg also initializes graphs that it does not configure
    if (s->log.is_compat && !s->nb_frames)
        av_log(ctx, AV_LOG_INFO, "libvmaf is not linked; this is the built-in implementation\n");
    s->depth    = ret;
    s->chroma_w = main->log2_chroma_w;
    s->chroma_h = main->log2_chroma_h;
    if (!s->nb_models) {
        const char *version = ff_vmaf_default_model(height);

        av_log(ctx, AV_LOG_INFO, "The model is %s, chosen by the height; libvmaf's default is "
               "another, v0.6.1.\n", strchr(version, '=') + 1);
        if ((s->nb_models = ff_vmaf_models_parse(s->model, version, ctx)) < 0)
            return s->nb_models;
    }
    for (int m = 0; m < s->nb_models; m++) {
        VMAFModel *model = &s->model[m];

        if (s->bitdepth && main->comp[0].depth == 8 && !model->cambi.depth)
            model->cambi.depth = 8;
        set_instances(s, m);
        s->has_window_5 |= model->window == VMAF_WINDOW_5;
        if ((ret = add_metrics(s, m)) < 0)
            return ret;
    }
    init_passes(s);
    if ((ret = check_names(s, ctx)) < 0)
        return ret;
    if ((ret = ff_metric_config(&s->log, ctx)) < 0)
        return ret;
    return ff_vmaf_set_size(s, ctx, width, height);
}

// ---- frames ----

/// Compute the values that do not depend on other frames.
static void pair_values(const VMAFContext *s, double *dst, const VMAFPairResult *result)
{
    for (int m = 0; m < s->nb_models; m++) {
        const VMAFModel *model = &s->model[m];
        const int instance     = model->adm_instance;
        const ADMFeatures adm  = ff_vmaf_adm_features(s->adm[instance], &result->adm[instance],
                                                      &ff_vmaf_adm_params[model->variant->adm]);
        double value[VMAF_NB_VALUES] = {
            [VMAF_ADM2] = adm.adm2, [VMAF_AIM] = adm.aim, [VMAF_ADM3] = adm.adm3,
        };

        memcpy(value + VMAF_ADM_SCALE, adm.scale, sizeof(adm.scale));
        if (model->variant->family == VMAF_V0) {
            ff_vmaf_vif_features(value + VMAF_VIF_SCALE, &result->vif[model->vif_instance]);
        } else {
            value[VMAF_CAMBI] = result->cambi[model->cambi_instance];
            memcpy(value + VMAF_SPEED_U, result->speed[model->variant->prescale],
                   sizeof(result->speed[0]));
        }
        for (int i = 0; i < VMAF_NB_VALUES; i++)
            if (s->metric_of[m][i] >= 0)
                dst[s->metric_of[m][i]] = value[i];
    }
}

/// motion_max_val of the models.
static const double motion_max[VMAF_NB_FAMILIES] = { [VMAF_V0] = 10000, [VMAF_V1] = 18 };

void ff_vmaf_add(VMAFContext *s, AVFrame *frame, const VMAFPairResult *result, const uint64_t *sad)
{
    VMAFPending *p = &s->pending[s->nb_pending++];

    p->frame       = frame;
    p->n           = s->nb_frames++;
    p->segment_pos = sad ? s->segment_len : -1;
    p->is_scored   = !!result;
    if (result)
        pair_values(s, p->value, result);
    if (!sad)
        return;
    for (int family = 0; family < VMAF_NB_FAMILIES; family++)
        for (int i = 0; i < VMAF_NB_WINDOWS; i++)
            ff_vmaf_motion_add(&s->motion[family][i], i, s->segment_len, sad[i],
                               s->width, s->height, motion_max[family]);
    s->segment_len++;
}

/// Add motion to the values of a frame, compute its scores, and log it.
static int score_frame(VMAFContext *s, AVFilterContext *ctx, VMAFPending *p)
{
    double motion[VMAF_NB_FAMILIES][VMAF_NB_WINDOWS][3];        // SAD, motion2 and motion3

    for (int family = 0; family < VMAF_NB_FAMILIES; family++)
        for (int i = 0; i < VMAF_NB_WINDOWS; i++) {
            MotionState *state = &s->motion[family][i];
            double *value      = motion[family][i];

            value[0] = state->sad[p->segment_pos % 4];
            value[1] = ff_vmaf_motion2(state, i, p->segment_pos, s->segment_len);
            value[2] = ff_vmaf_motion3(state, i, p->segment_pos, s->segment_len);
        }
    if (!p->is_scored)
        return 0;
    for (int m = 0; m < s->nb_models; m++) {
        const VMAFModel *model = &s->model[m];
        const double *by_window = motion[model->variant->family][model->window];
        const int *of = s->metric_of[m];
        double value[VMAF_NB_VALUES];

        p->value[of[VMAF_SAD]]     = model->motion_force_zero ? 0 : by_window[0];
        p->value[of[VMAF_MOTION2]] = model->motion_force_zero ? 0 : by_window[1];
        p->value[of[VMAF_MOTION3]] = model->motion_force_zero ? 0 : by_window[2];
        for (int i = VMAF_SCORE + 1; i < VMAF_NB_VALUES; i++)
            value[i] = of[i] < 0 ? 0 : p->value[of[i]];
        p->value[of[VMAF_SCORE]] = ff_vmaf_predict(model, value);
    }
    return ff_metric_frame(&s->log, ctx, p->frame, p->n, p->value, 1);
}

int ff_vmaf_get(VMAFContext *s, AVFilterContext *ctx, AVFrame **frame, int ended)
{
    VMAFPending *p     = s->pending;
    const int bypassed = p->segment_pos < 0;
    int ret = 0;

    if (!s->nb_pending)
        return 0;
    if (!bypassed) {
        // the frames after the first ones wait for the next
        const int64_t last = FFMAX(p->segment_pos + 1, s->has_window_5 ? 2 : 1);

        if (!ended && !s->still && s->segment_len <= last && p[s->nb_pending - 1].segment_pos >= 0)
            return 0;
        ret = score_frame(s, ctx, p);
    }
    *frame = p->frame;
    s->nb_pending--;
    memmove(p, p + 1, s->nb_pending * sizeof(*p));
    // still=1 makes each frame the first one: vmaf_cuda leaves the SAD of an unused window unset
    if (bypassed || s->still || ended && !s->nb_pending)
        s->segment_len = 0;
    if (ret < 0)
        av_frame_free(frame);
    return ret < 0 ? ret : 1;
}

void ff_vmaf_uninit(VMAFContext *s, AVFilterContext *ctx, int ended)
{
    AVFrame *frame;

    // after an early EOF downstream no request is pending for these frames
    while (s->nb_pending)
        if (ff_vmaf_get(s, ctx, &frame, 1) > 0)
            av_frame_free(&frame);
    ff_metric_uninit(&s->log, ctx, s->nb_frames, ended);
    ff_vmaf_models_free(s->model);
    for (int i = 0; i < METRIC_MAX; i++)
        av_freep(&s->name[i]);
}
