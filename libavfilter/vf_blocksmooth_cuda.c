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
 * Deblocking filter for CUDA frames
 *
 * vf_blocksmooth.c describes the method; the results are identical. The kernel is launched for each
 * component. It works in place if the frame is writable, and otherwise copies to a new frame.
 */

#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "blocksmooth.h"
#include "cuda/async.h"
#include "filters.h"
#include "video.h"

typedef struct BlockSmoothCUDAContext {
    CUDAQueue queue;            ///< provides device and kernel; no frame is queued
    BlockSmoothOptions opt;

    CUfunction blocksmooth;
} BlockSmoothCUDAContext;

static const AVOption blocksmooth_cuda_options[] = {
    BLOCKSMOOTH_OPTIONS(BlockSmoothCUDAContext, opt),
    { NULL }
};

AVFILTER_DEFINE_CLASS(blocksmooth_cuda);

CUDA_QUEUE_PTX(vf_blocksmooth_cuda);
CUDA_QUEUE_CHECK_PARAMS(BlockSmoothCUDAParams);

/// Smooth all components of src in place, or into dst if it is another frame.
static int smooth(AVFilterContext *ctx, const AVFrame *dst, const AVFrame *src)
{
    const BlockSmoothCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc = ff_cuda_queue_format(src->hw_frames_ctx);
    int ret = ff_cuda_queue_enter(ctx);

    if (ret < 0)
        return ret;
    for (int i = 0; i < desc->nb_components && ret >= 0; i++) {
        BlockSmoothCUDAParams params = {
            .dst = blocksmooth_component(&s->opt, desc, dst, i),
            .src = blocksmooth_component(&s->opt, desc, src, i),
        };
        // the first cells begin half a cell outside of the picture
        const int width  = params.dst.width  + BLOCKSMOOTH_MIN_BLOCK / 2;
        const int height = params.dst.height + BLOCKSMOOTH_MIN_BLOCK / 2;

        if (params.dst.is_smoothed || dst != src)
            ret = ff_cuda_queue_launch(ctx, s->blocksmooth, DIV_UP(width, BLOCKSMOOTH_CUDA_TILE),
                                       DIV_UP(height, BLOCKSMOOTH_CUDA_TILE), BLOCKSMOOTH_CUDA_TILE,
                                       BLOCKSMOOTH_CUDA_TILE / BLOCKSMOOTH_MIN_BLOCK, 0, &params);
    }
    ff_cuda_queue_leave(ctx);
    return ret;
}

/// Smooth a frame, or into a new one if it is not writable, and output it.
static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx = inlink->dst;
    AVFrame *out = frame;
    int ret = ff_luma_check_size(ctx, 0, frame);

    if (ret < 0 || (ret = ff_cuda_queue_check_device(ctx, frame)) < 0)
        goto end;
    if (!av_frame_is_writable(frame)) {
        out = ff_get_video_buffer(ctx->outputs[0], frame->width, frame->height);
        if (!out || av_frame_copy_props(out, frame) < 0) {
            ret = AVERROR(ENOMEM);
            goto end;
        }
        // frames of the pool may be larger than a cropped one
        out->width  = frame->width;
        out->height = frame->height;
    }
    ret = smooth(ctx, out, frame);

end:
    // the frame may be freed: its next use on this device comes after the kernels
    if (out != frame)
        av_frame_free(&frame);
    if (ret < 0) {
        av_frame_free(&out);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], out);
}

static const CUDAQueueKernel kernels[] = {
    { "blocksmooth", offsetof(BlockSmoothCUDAContext, blocksmooth) },
    { NULL }
};

static const CUDAQueueFilter filter = { CUDA_QUEUE_MODULE(vf_blocksmooth_cuda, kernels) };

static av_cold int init(AVFilterContext *ctx)
{
    BlockSmoothCUDAContext *s = ctx->priv;

    s->queue.filter = &filter;
    return blocksmooth_check_options(ctx);
}

static const AVFilterPad blocksmooth_cuda_inputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO,
      .config_props = ff_cuda_queue_config_input, .filter_frame = filter_frame },
};

const FFFilter ff_vf_blocksmooth_cuda = {
    .p.name         = "blocksmooth_cuda",
    .p.description  = NULL_IF_CONFIG_SMALL("Smooth block edges of CUDA frames (deblocking)."),
    .p.priv_class   = &blocksmooth_cuda_class,
    .p.flags        = AVFILTER_FLAG_SUPPORT_TIMELINE_GENERIC,
    .priv_size      = sizeof(BlockSmoothCUDAContext),
    .init           = init,
    .uninit         = ff_cuda_queue_uninit,
    .process_command = blocksmooth_command,
    FILTER_INPUTS(blocksmooth_cuda_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
