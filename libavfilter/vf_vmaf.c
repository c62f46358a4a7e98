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
 * VMAF v1 (v1.0.16) and v0.6.1: full-reference quality as libvmaf computes it, to the digit
 *
 * A regression that was trained on subjective scores combines features: detail loss and additive
 * impairment (ADM) and motion of the reference; in v1 with banding (CAMBI) and the change of chroma's
 * entropy (SpEED), in v0.6.1 with visual information fidelity (VIF). The motion of a frame depends on the
 * next one: frames wait for it.
 *
 * Slices add up integers, and floats are computed in one order: the result does not depend on the
 * number of threads.
 */

#include <stdint.h>
#include <string.h>

#include "config_components.h"

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/pixfmt.h"

#include "avfilter.h"
#include "filters.h"
#include "formats.h"
#include "sample_format.h"
#include "dualinput.h"
#include "vmaf.h"

typedef struct VMAFCPUContext {
    LumaInputs inputs;                  ///< the first member
    PairSync sync;
    VMAFContext common;

    int drained;                        ///< command: frames do not wait any more
    ADMContext adm[VMAF_MAX_MODELS];
    VIFContext vif[VMAF_MAX_MODELS];
    MotionContext motion[VMAF_NB_WINDOWS];
    SpeedContext speed[VMAF_NB_PRESCALES];
    CAMBIContext cambi[VMAF_MAX_MODELS];
    AVFrame *prev[VMAF_NB_WINDOWS];     ///< previous frames of the reference
} VMAFCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption vmaf_options[] = {
    VMAF_OPTIONS(VMAFCPUContext, common, FLAGS),
    REINIT_DRAIN(VMAFCPUContext, drained),
    PAIR_SYNC_OPTIONS(VMAFCPUContext, sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(vmaf);

/// Check that a format is read as it is. Gray is, too: models that measure chroma refuse it.
static int is_accepted(const AVPixFmtDescriptor *desc)
{
    const int depth = desc->comp[0].depth;

    return luma_is_supported(desc) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) &&
           (depth == 8 || depth == 10 || depth == 12) &&
           desc->log2_chroma_w <= 1 && desc->log2_chroma_h <= desc->log2_chroma_w;
}

// ---- pairs ----

/// Set the next task of a pass. @return 0 if there is none: the result is set
static int next_task(VMAFCPUContext *s, const VMAFPass *pass, VMAFTask *task)
{
    switch (pass->feature) {
    case VMAF_FEATURE_SPEED: return ff_vmaf_speed_next(&s->speed[pass->instance], task);
    case VMAF_FEATURE_CAMBI: return ff_vmaf_cambi_next(&s->cambi[pass->instance], task);
    case VMAF_FEATURE_ADM:   return ff_vmaf_adm_next(&s->adm[pass->instance], task);
    case VMAF_FEATURE_VIF:   return ff_vmaf_vif_next(&s->vif[pass->instance], task);
    default:                 return ff_vmaf_motion_next(&s->motion[pass->instance], task);
    }
}

/// Run a job of consecutive tasks.
static int task_job(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const VMAFTask *task = arg;

    for (; jobnr >= task->nb_jobs; task++)
        jobnr -= task->nb_jobs;
    return task->func(ctx, task->arg, jobnr, task->nb_jobs);
}

/// Run passes that have begun, at the same time: a barrier ends one task of each.
static void run_passes(AVFilterContext *ctx, const VMAFPass **pass, int nb_passes)
{
    while (nb_passes) {
        VMAFTask task[VMAF_MAX_PASSES];
        int nb = 0, nb_jobs = 0;

        for (int i = 0; i < nb_passes; i++)
            if (next_task(ctx->priv, pass[i], &task[nb])) {
                pass[nb] = pass[i];
                nb_jobs += task[nb++].nb_jobs;
            }
        nb_passes = nb;
        if (nb_jobs)
            ff_filter_execute(ctx, task_job, task, NULL, nb_jobs);
    }
}

static void score_frame(AVFilterContext *ctx, AVFrame *main, const AVFrame *encode,
                        const AVFrame *reference)
{
    VMAFCPUContext *s = ctx->priv;
    VMAFContext *c    = &s->common;
    const int chosen  = c->nb_frames % c->n_subsample == 0;
    const VMAFPass *begun[VMAF_MAX_PASSES];
    uint64_t sad[VMAF_NB_WINDOWS] = { 0 };
    VMAFPairResult result;
    int nb_begun = 0;

    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes; pass++) {
        const int i = pass->instance;

        if (pass->feature == VMAF_FEATURE_MOTION ? c->segment_len <= i : !chosen)
            continue;
        begun[nb_begun++] = pass;
        switch (pass->feature) {
        case VMAF_FEATURE_SPEED:
            ff_vmaf_speed_begin(&s->speed[i], encode, reference, result.speed[i]);
            break;
        case VMAF_FEATURE_CAMBI:
            ff_vmaf_cambi_begin(&s->cambi[i], encode, &result.cambi[i]);
            break;
        case VMAF_FEATURE_ADM:
            ff_vmaf_adm_begin(&s->adm[i], encode, reference, c->adm[i], &result.adm[i]);
            break;
        case VMAF_FEATURE_VIF:
            ff_vmaf_vif_begin(&s->vif[i], encode, reference, &result.vif[i]);
            break;
        case VMAF_FEATURE_MOTION:
            ff_vmaf_motion_begin(&s->motion[i], s->prev[i], reference, &sad[i]);
            break;
        }
    }
    run_passes(ctx, begun, nb_begun);
    ff_vmaf_add(c, main, chosen ? &result : NULL, sad);
}

/// Convert a frame to planes of the depth that is compared.
/// @return a new frame, or a reference if there is nothing to convert; NULL without memory
static AVFrame *convert(const VMAFCPUContext *s, const AVFrame *src)
{
    static const enum AVPixelFormat planar[][4] = {
        { AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV420P,   AV_PIX_FMT_GRAY8  },
        { AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_GRAY10 },
        { AV_PIX_FMT_YUV444P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV420P12, AV_PIX_FMT_GRAY12 },
    };
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(src->format);
    const int depth = desc->comp[0].depth, up = s->common.depth - depth;
    const int is_gray = desc->nb_components < 3;
    AVFrame *dst;

    if (!up && !desc->comp[0].shift && (is_gray || desc->comp[2].plane == 2))
        return av_frame_clone(src);
    if (!(dst = av_frame_alloc()))
        return NULL;
    dst->format = planar[s->common.depth / 2 - 4][is_gray ? 3 : desc->log2_chroma_w + desc->log2_chroma_h];
    dst->width  = src->width;
    dst->height = src->height;
    if (av_frame_get_buffer(dst, 0) < 0)
        av_frame_free(&dst);
    for (int p = 0; p < desc->nb_components && dst; p++) {
        const AVComponentDescriptor *comp = &desc->comp[p];
        const int w = p ? AV_CEIL_RSHIFT(src->width,  desc->log2_chroma_w) : src->width;
        const int h = p ? AV_CEIL_RSHIFT(src->height, desc->log2_chroma_h) : src->height;
        // full range keeps its ends, as in swscale
        const int repeat = !up ? 16 : !p && !luma_is_limited(src, desc) ? 6 : 8;

        for (int y = 0; y < h; y++) {
            const uint8_t *from = src->data[comp->plane] + comp->offset +
                                  y * (ptrdiff_t)src->linesize[comp->plane];
            uint8_t *to = dst->data[p] + y * (ptrdiff_t)dst->linesize[p];

            for (int x = 0; x < w; x++, from += comp->step) {
                const int sample = depth > 8 ? AV_RN16(from) >> comp->shift : *from;

                if (s->common.depth > 8)
                    AV_WN16(to + 2 * x, sample << up | sample >> repeat);
                else
                    to[x] = sample;
            }
        }
    }
    return dst;
}

// ---- frames ----

/// Output the frames that have their scores. @param ended see ff_vmaf_get()
static int deliver(AVFilterContext *ctx, int ended)
{
    VMAFCPUContext *s = ctx->priv;
    AVFrame *frame;
    int ret;

    while ((ret = ff_vmaf_get(&s->common, ctx, &frame, ended)) > 0)
        if ((ret = ff_filter_frame(ctx->outputs[0], frame)) < 0)
            break;
    return ret;
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    VMAFCPUContext *s = ctx->priv;
    AVFrame *main, *reference;
    int nb_pending, ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    s->common.log.time_base = fs->time_base;
    if (reference) {
        AVFrame *encode = convert(s, main);

        reference = convert(s, reference);
        if (!encode || !reference) {
            av_frame_free(&encode);
            av_frame_free(&reference);
            av_frame_free(&main);
            return AVERROR(ENOMEM);
        }
        score_frame(ctx, main, encode, reference);
        av_frame_free(&encode);
        av_frame_free(&s->prev[1]);
        s->prev[1] = s->prev[0];
        s->prev[0] = reference;
    } else {
        // without a reference the frame is output unscored
        ff_vmaf_add(&s->common, main, NULL, NULL);
    }
    nb_pending = s->common.nb_pending;
    ret        = deliver(ctx, 0);
    // request the next frames if none was output
    if (s->common.nb_pending == nb_pending)
        ff_filter_set_ready(ctx, 100);
    return ret;
}

static int activate(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;
    int ret, status = ff_pair_sync_activate(&s->sync);

    if (status < 0 && status != FFERROR_NOT_READY)
        return status;
    // the status of the output is set already, but it follows the frames that are output now
    if ((s->sync.fs.eof || s->drained) && (ret = deliver(ctx, 1)) < 0)
        return ret;
    return status;
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    VMAFCPUContext *s = ctx->priv;
    int ret = ff_pair_sync_command(&s->sync, ctx, cmd, arg, res, res_len, flags);

    return ret < 0 || strcmp(cmd, "drain") ? ret : deliver(ctx, 1);
}

// ---- set-up ----

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    VMAFCPUContext *s = ctx->priv;
    VMAFContext *c    = &s->common;
    int nb_slices, ret;

    if ((ret = ff_pair_sync_config_output(&s->sync, outlink)) < 0 ||
        (ret = ff_vmaf_config(c, ctx, &s->inputs)) < 0)
        return ret;
    nb_slices = ff_filter_get_nb_threads(ctx);
    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes && ret >= 0; pass++) {
        const int i = pass->instance;

        switch (pass->feature) {
        case VMAF_FEATURE_SPEED:
            ret = ff_vmaf_speed_init(&s->speed[i], &c->speed[i], c->depth);
            break;
        case VMAF_FEATURE_CAMBI:
            ret = ff_vmaf_cambi_init(&s->cambi[i], &c->cambi[i], c->width, c->height, nb_slices);
            break;
        case VMAF_FEATURE_ADM:
            ret = ff_vmaf_adm_init(&s->adm[i], c->adm[i], c->depth, nb_slices);
            break;
        case VMAF_FEATURE_VIF:
            ret = ff_vmaf_vif_init(&s->vif[i], &c->vif[i], c->depth, nb_slices);
            break;
        case VMAF_FEATURE_MOTION:
            ret = ff_vmaf_motion_init(&s->motion[i], c->width, c->depth, nb_slices);
            break;
        }
    }
    return ret;
}

static av_cold int init(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    s->inputs.is_wanted = is_accepted;
    s->inputs.min_size  = VMAF_MIN_SIZE;
    s->sync.output      = &s->common.log.output;
    return ff_vmaf_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    ff_vmaf_uninit(&s->common, ctx, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    for (int i = 0; i < VMAF_NB_PRESCALES; i++)
        ff_vmaf_speed_close(&s->speed[i]);
    for (int i = 0; i < VMAF_MAX_MODELS; i++) {
        ff_vmaf_cambi_close(&s->cambi[i]);
        ff_vmaf_adm_close(&s->adm[i]);
        ff_vmaf_vif_close(&s->vif[i]);
    }
    for (int i = 0; i < VMAF_NB_WINDOWS; i++) {
        ff_vmaf_motion_close(&s->motion[i]);
        av_frame_free(&s->prev[i]);
    }
}

static const AVFilterPad vmaf_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_vmaf = {
    .p.name         = "vmaf",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure VMAF against a reference."),
    .p.priv_class   = &vmaf_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(VMAFCPUContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(vmaf_outputs),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};

#if CONFIG_VMAF_COMPAT_FILTER
// ---- the same filter under the name of libvmaf's ----

static const AVOption libvmaf_options[] = {
    VMAF_COMPAT_OPTIONS(VMAFCPUContext, common, FLAGS),
    REINIT_DRAIN(VMAFCPUContext, drained),
    PAIR_SYNC_OPTIONS_WITH(VMAFCPUContext, sync, EOF_ACTION_REPEAT, TS_DEFAULT, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(libvmaf);

static av_cold int compat_init(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    s->common.log.is_compat = 1;
    return init(ctx);
}

const FFFilter ff_vf_vmaf_compat = {
    .p.name         = "libvmaf",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure VMAF against a reference (built in)."),
    .p.priv_class   = &libvmaf_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(VMAFCPUContext),
    .init           = compat_init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(vmaf_outputs),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
#endif // CONFIG_VMAF_COMPAT_FILTER
