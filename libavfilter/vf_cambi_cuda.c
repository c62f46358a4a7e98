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
 * CAMBI of CUDA frames
 *
 * The twin of vf_cambi.c, with the same digits.
 */

#include <stddef.h>
#include <stdint.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/frame.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cambi.h"
#include "cuda/async.h"
#include "filters.h"
#include "sample_format.h"
#include "video.h"
#include "vmaf_cambi.h"
#include "vmaf_cambi_cuda.h"

typedef struct CAMBICUDAFilterContext {
    CUDAQueue queue;
    CAMBICommon common;

    CAMBICUDAContext cambi;
    CAMBIDims dims;                     ///< for pictures of width x height
    int width, height;
    CUdeviceptr tables;
} CAMBICUDAFilterContext;

#define OFFSET(x) offsetof(CAMBICUDAFilterContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption cambi_cuda_options[] = {
    CAMBI_OPTIONS(CAMBICUDAFilterContext, common, FLAGS),
    // a batch has ten launches for any number of frames
    CUDA_QUEUE_OPTION_OF(16, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(cambi_cuda);

CUDA_QUEUE_PTX(vf_vmaf_cambi_cuda);

/// Set the dimensions for pictures of a size.
static int set_size(AVFilterContext *ctx, int width, int height)
{
    CAMBICUDAFilterContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(s->queue.inputs.input[0].sw_format);

    s->width  = width;
    s->height = height;
    return ff_vmaf_cambi_dims_init(&s->dims, ctx, width, height,
                                   FFMIN(desc->comp[0].depth, VMAF_MAX_DEPTH),
                                   &s->common.options);
}

/// Check the size before the device is opened.
static int check(AVFilterContext *ctx)
{
    return set_size(ctx, ctx->inputs[0]->w, ctx->inputs[0]->h);
}

/// Allocate memory for batches of as many frames as there is room for, and fill the tables.
static int setup(AVFilterContext *ctx)
{
    CAMBICUDAFilterContext *s = ctx->priv;
    CUDAQueue *q      = &s->queue;
    const size_t size = ff_vmaf_cambi_cuda_size(&s->dims);
    CAMBICUDATables *tables;
    int ret;

    s->common.log.time_base = ctx->inputs[0]->time_base;
    // while one batch is measured, another one comes
    q->max_batch = av_clip(VMAF_CUDA_MAX_MEMORY / size, 1, (q->size + 1) / 2);
    if ((ret = ff_vmaf_cambi_cuda_alloc(ctx, &s->cambi, size)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->tables, sizeof(*tables))) < 0)
        return ret;
    if (!(tables = av_mallocz(sizeof(*tables))))
        return AVERROR(ENOMEM);
    ff_vmaf_cambi_cuda_tables(tables, &s->dims, s->width, s->height);
    ret = ff_cuda_queue_upload(ctx, s->tables, tables, sizeof(*tables));
    av_free(tables);
    return ret;
}

/// Add a frame to the batch. Cropping on the GPU may change the size.
static int add_frame(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *none)
{
    CAMBICUDAFilterContext *s = ctx->priv;
    const int width = picture_width(frame), height = picture_height(frame);
    VMAFCUDAPair *pair;
    int ret;

    if (ctx->is_disabled)
        return 0;
    if ((width != s->width || height != s->height) &&
        ((ret = ff_cuda_queue_flush(ctx)) < 0 || (ret = set_size(ctx, width, height)) < 0 ||
         (ret = setup(ctx)) < 0))
        return ret;
    *(CAMBIDims *)s->queue.state = s->dims;
    pair  = ff_cuda_queue_next_args(ctx);
    *pair = (VMAFCUDAPair){
        .plane[PAIR_MAIN][0] = ff_vmaf_cuda_plane(frame, 0, s->dims.depth),
        .result    = ff_cuda_queue_next_result(ctx),
        .is_chosen = 1,
    };
    return 1;
}

static int launch(AVFilterContext *ctx)
{
    CAMBICUDAFilterContext *s = ctx->priv;

    return ff_vmaf_cambi_cuda_launch(ctx, &s->cambi, &s->dims, s->dims.width  != s->width ||
                                                               s->dims.height != s->height,
                                     s->tables, 0);
}

static int report(AVFilterContext *ctx, AVFrame *frame, const void *result)
{
    CAMBICUDAFilterContext *s = ctx->priv;
    const int ret = ff_metric_damage(s->common.log.output, frame, NULL);
    double score;

    if (ret < 0 || !result)
        return ret;
    score = ff_vmaf_cambi_score(s->queue.state, result);
    return ff_metric_frame(&s->common.log, ctx, frame, s->queue.n, &score, 1);
}

static const CUDAQueueKernel kernels[] = { CAMBI_CUDA_KERNELS(OFFSET(cambi)) };

static const CUDAQueueFilter filter = {
    .module      = CUDA_QUEUE_MODULE(vf_vmaf_cambi_cuda, kernels),
    .result_size = sizeof(double[CAMBI_SCALES]),
    .state_size  = sizeof(CAMBIDims),
    .args_size   = sizeof(VMAFCUDAPair),
    .check       = check,
    .setup       = setup,
    .add         = add_frame,
    .launch      = launch,
    .report      = report,
};

static av_cold int init(AVFilterContext *ctx)
{
    CAMBICUDAFilterContext *s = ctx->priv;

    if (s->common.heatmap || s->common.options.model != CAMBI_MODEL_V1) {
        av_log(ctx, AV_LOG_ERROR, "%s is not supported on CUDA: insert hwdownload,format= and use the "
               "filter cambi.\n", s->common.heatmap ? "heatmap=1" : "model=libvmaf");
        return AVERROR(EINVAL);
    }
    s->queue.filter = &filter;
    return ff_cambi_init(&s->common, ctx, &s->queue.nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    CAMBICUDAFilterContext *s = ctx->priv;

    ff_cuda_queue_uninit(ctx);
    ff_metric_uninit(&s->common.log, ctx, s->queue.nb_frames, s->queue.eof == AVERROR_EOF);
}

const FFFilter ff_vf_cambi_cuda = {
    .p.name         = "cambi_cuda",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure banding in CUDA frames without a reference."),
    .p.priv_class   = &cambi_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(CAMBICUDAFilterContext),
    .init           = init,
    .activate       = ff_cuda_queue_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_queue_command,
    FILTER_INPUTS(ff_cuda_queue_input),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
