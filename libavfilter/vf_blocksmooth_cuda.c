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
 * Smooth the edges of the blocks that codecs leave, on CUDA frames
 *
 * The twin of vf_blocksmooth.c, where the method is described: the same bits for the
 * same frame. One kernel reads each sample once and writes it once, in place where the
 * frame is writable.
 */

#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "blocksmooth.h"
#include "cuda/queue.h"
#include "filters.h"
#include "vf_blocksmooth_cuda.h"
#include "video.h"

typedef struct BlockSmoothCUDAContext {
    CUDAQueue queue;            ///< for the device alone
    BlockSmoothOptions opt;

    CUfunction blocksmooth_8, blocksmooth_16;
} BlockSmoothCUDAContext;

static const AVOption blocksmooth_cuda_options[] = {
    BLOCKSMOOTH_OPTIONS(BlockSmoothCUDAContext, opt),
    { NULL }
};

AVFILTER_DEFINE_CLASS(blocksmooth_cuda);

CUDA_QUEUE_PTX(vf_blocksmooth_cuda);
CUDA_QUEUE_CHECK_PARAMS(BlockSmoothCUDAParams);

/// @param limit of values in the high bits of samples of size bytes
static BlockSmoothCUDALimit lane_limit(int limit, int size)
{
    const int top = 0x80 << 8 * (size - 1);

    // no value reaches it
    if (limit >= 2 * top)
        return (BlockSmoothCUDALimit){ 0 };
    return (BlockSmoothCUDALimit){
        .bias   = BLOCKSMOOTH_IN_LANES(size, top - limit % top),
        .is_low = limit < top ? ~0U : 0,
    };
}

static BlockSmoothCUDALimits lane_limits(int qf, int depth, int size)
{
    const BlockSmoothLimits limits = blocksmooth_limits(qf, depth);
    const int up = 8 * size - depth;

    return (BlockSmoothCUDALimits){
        .flat    = lane_limit(limits.flat   << up, size),
        .strong  = lane_limit(limits.strong << up, size),
        .weak    = lane_limit(limits.weak   << up, size),
        .half    = BLOCKSMOOTH_IN_LANES(size, limits.max >> 1 << up),
        .quarter = BLOCKSMOOTH_IN_LANES(size, limits.max >> 2 << up),
        .eighth  = BLOCKSMOOTH_IN_LANES(size, limits.max >> 3 << up),
    };
}

/// The planes of a frame, and which of their channels are to be smoothed.
static BlockSmoothCUDAParams describe(const BlockSmoothOptions *opt, const AVPixFmtDescriptor *desc,
                                  const AVFrame *dst, const AVFrame *src)
{
    const int depth = desc->comp[0].depth, sample_size = DIV_UP(depth, 8);
    BlockSmoothCUDAParams params = {
        .block  = opt->block,
        .value  = BLOCKSMOOTH_IN_LANES(sample_size, ((1U << depth) - 1) << desc->comp[0].shift),
        .shift  = 8 * sample_size - depth - desc->comp[0].shift,
        .limits = lane_limits(opt->qf, depth, sample_size),
    };

    for (int i = 0; i < desc->nb_components; i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        const int is_chroma = i == 1 || i == 2;
        BlockSmoothCUDAPlane *plane = &params.plane[comp->plane];

        plane->src         = (CUdeviceptr)src->data[comp->plane];
        plane->dst         = (CUdeviceptr)dst->data[comp->plane];
        plane->src_pitch   = src->linesize[comp->plane];
        plane->dst_pitch   = dst->linesize[comp->plane];
        plane->w           = AV_CEIL_RSHIFT(src->width,  is_chroma ? desc->log2_chroma_w : 0);
        plane->h           = AV_CEIL_RSHIFT(src->height, is_chroma ? desc->log2_chroma_h : 0);
        plane->nb_channels = comp->step / sample_size;
        if (opt->planes >> i & 1)
            plane->mask   |= plane->nb_channels == 1 ? ~0U :
                             (sample_size == 1 ? 0xff00ffU : 0xffffU) << 8 * comp->offset;
    }
    for (int i = 0; i < BLOCKSMOOTH_MAX_PLANES; i++) {
        BlockSmoothCUDAPlane *plane = &params.plane[i];
        // from half a cell outside of the picture
        const int width  = (plane->w + BLOCKSMOOTH_CELL / 2) * plane->nb_channels * sample_size;
        const int height = plane->h + BLOCKSMOOTH_CELL / 2;

        plane->first_row = params.nb_rows;
        // nothing changes in a plane that is left alone in place
        if (!plane->mask && plane->src == plane->dst)
            continue;
        params.nb_columns = FFMAX(params.nb_columns, DIV_UP(width, BLOCKSMOOTH_WORDS * 4));
        params.nb_rows   += DIV_UP(height, BLOCKSMOOTH_WARPS * BLOCKSMOOTH_CELL);
    }
    return params;
}

static int launch(AVFilterContext *ctx, BlockSmoothCUDAParams *params, int depth)
{
    BlockSmoothCUDAContext *s = ctx->priv;
    int ret;

    if (!params->nb_rows)
        return 0;
    ret = ff_cuda_queue_enter(ctx);
    if (ret < 0)
        return ret;
    ret = ff_cuda_queue_launch(ctx, depth > 8 ? s->blocksmooth_16 : s->blocksmooth_8,
                               params->nb_columns, params->nb_rows, BLOCKSMOOTH_WARPS * 32, 1, 0,
                               params);
    ff_cuda_queue_leave(ctx);
    return ret;
}

static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx  = inlink->dst;
    BlockSmoothCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc;
    BlockSmoothCUDAParams params;
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
        // that of the pool may be larger
        out->width  = frame->width;
        out->height = frame->height;
    }
    desc   = ff_cuda_queue_format(frame->hw_frames_ctx);
    params = describe(&s->opt, desc, out, frame);
    ret = launch(ctx, &params, desc->comp[0].depth);

end:
    // the kernel comes before whatever this device does next with the frame
    if (out != frame)
        av_frame_free(&frame);
    if (ret < 0) {
        av_frame_free(&out);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], out);
}

static const CUDAQueueKernel kernels[] = {
    { "blocksmooth_8",  offsetof(BlockSmoothCUDAContext, blocksmooth_8)  },
    { "blocksmooth_16", offsetof(BlockSmoothCUDAContext, blocksmooth_16) },
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
    .p.description  =
        NULL_IF_CONFIG_SMALL("Smooth the edges of a codec's blocks on CUDA frames."),
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
