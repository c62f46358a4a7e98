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
 * The twin of vf_blocksmooth.c, which see: the same bits for the same frame. One
 * kernel reads each sample once and writes it once, in place where the frame
 * is writable.
 */

#include "libavutil/cuda_check.h"
#include "libavutil/hwcontext.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "blocksmooth_options.h"
#include "cuda/quality_cuda.h"
#include "filters.h"
#include "release_compat.h"
#include "vf_deblock_cuda.h"
#include "video.h"

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

#define CHECK_CU(x) FF_CUDA_CHECK_DL(ctx, s->cuda.cu, x)

typedef struct DeblockCUDAContext {
    const AVClass *class;
    BlockSmoothOptions opt;

    QualityCUDA cuda;
    CUfunction deblock_8, deblock_16;
} DeblockCUDAContext;

static const AVOption deblock_cuda_options[] = {
    BLOCKSMOOTH_OPTIONS(DeblockCUDAContext, opt),
    { NULL }
};

AVFILTER_DEFINE_CLASS(deblock_cuda);

extern const unsigned char ff_vf_deblock_cuda_ptx_data[];
extern const unsigned int ff_vf_deblock_cuda_ptx_len;

/// @param limit of values in the high bits of samples of size bytes
static DeblockCUDALimit lane_limit(int limit, int size)
{
    const int top = 0x80 << 8 * (size - 1);

    // no value reaches it
    if (limit >= 2 * top)
        return (DeblockCUDALimit){ 0 };
    return (DeblockCUDALimit){
        .bias   = DEBLOCK_IN_LANES(size, top - limit % top),
        .is_low = limit < top ? ~0U : 0,
    };
}

static DeblockCUDALimits lane_limits(int qf, int depth, int size)
{
    const BlockSmoothLimits limits = blocksmooth_limits(qf, depth);
    const int up = 8 * size - depth;

    return (DeblockCUDALimits){
        .flat    = lane_limit(limits.flat   << up, size),
        .strong  = lane_limit(limits.strong << up, size),
        .weak    = lane_limit(limits.weak   << up, size),
        .half    = DEBLOCK_IN_LANES(size, limits.max >> 1 << up),
        .quarter = DEBLOCK_IN_LANES(size, limits.max >> 2 << up),
        .eighth  = DEBLOCK_IN_LANES(size, limits.max >> 3 << up),
    };
}

/// The planes of a frame, and which of their channels are to be smoothed.
static DeblockCUDAParams describe(const BlockSmoothOptions *opt, const AVPixFmtDescriptor *desc,
                                  const AVFrame *dst, const AVFrame *src)
{
    const int depth = desc->comp[0].depth, sample_size = DIV_UP(depth, 8);
    DeblockCUDAParams params = {
        .block          = opt->block,
        .vertical_first = opt->order == BLOCKSMOOTH_VERTICAL,
        .value          = DEBLOCK_IN_LANES(sample_size, ((1U << depth) - 1) << desc->comp[0].shift),
        .shift          = 8 * sample_size - depth - desc->comp[0].shift,
        .limits         = lane_limits(opt->qf, depth, sample_size),
    };

    for (int i = 0; i < desc->nb_components; i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        const int is_chroma = i == 1 || i == 2;
        DeblockCUDAPlane *plane = &params.plane[comp->plane];

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
    for (int i = 0; i < DEBLOCK_MAX_PLANES; i++) {
        DeblockCUDAPlane *plane = &params.plane[i];
        // from half a cell outside of the picture
        const int width  = (plane->w + DEBLOCK_CELL / 2) * plane->nb_channels * sample_size;
        const int height = plane->h + DEBLOCK_CELL / 2;

        plane->first_row = params.nb_rows;
        // nothing changes in a plane that is left alone in place
        if (!plane->mask && plane->src == plane->dst)
            continue;
        params.nb_columns = FFMAX(params.nb_columns, DIV_UP(width, DEBLOCK_WORDS * 4));
        params.nb_rows   += DIV_UP(height, DEBLOCK_WARPS * DEBLOCK_CELL);
    }
    return params;
}

static int launch(AVFilterContext *ctx, DeblockCUDAParams *params, int depth)
{
    DeblockCUDAContext *s = ctx->priv;
    void *args[] = { params };
    CUcontext dummy;
    int ret;

    if (!params->nb_rows)
        return 0;
    ret = CHECK_CU(s->cuda.cu->cuCtxPushCurrent(s->cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = CHECK_CU(s->cuda.cu->cuLaunchKernel(depth > 8 ? s->deblock_16 : s->deblock_8,
                                              params->nb_columns, params->nb_rows, 1,
                                              DEBLOCK_WARPS * 32, 1, 1, 0,
                                              s->cuda.hwctx->stream, args, NULL));
    CHECK_CU(s->cuda.cu->cuCtxPopCurrent(&dummy));
    return ret;
}

/// A frame of the same pool, for what somebody else holds, too.
static AVFrame *new_frame(const AVFrame *src)
{
    AVFrame *dst = av_frame_alloc();

    if (!dst)
        return NULL;
    if (av_hwframe_get_buffer(src->hw_frames_ctx, dst, 0) < 0 || av_frame_copy_props(dst, src) < 0)
        av_frame_free(&dst);
    else {
        dst->width  = src->width;
        dst->height = src->height;
    }
    return dst;
}

static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx  = inlink->dst;
    DeblockCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc;
    DeblockCUDAParams params;
    AVFrame *out = frame;
    int ret = ff_quality_cuda_check_frame(&s->cuda, ctx, frame);

    if (ret < 0)
        goto end;
    desc = ff_quality_cuda_check_format(ctx,
               ((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format);
    if (!desc) {
        ret = AVERROR(ENOSYS);
        goto end;
    }
    if (!av_frame_is_writable(frame)) {
        out = new_frame(frame);
        if (!out) {
            ret = AVERROR(ENOMEM);
            goto end;
        }
    }
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

static av_cold int init(AVFilterContext *ctx)
{
    DeblockCUDAContext *s = ctx->priv;

    return blocksmooth_check_options(ctx, &s->opt);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    DeblockCUDAContext *s = ctx->priv;

    ff_quality_cuda_close(&s->cuda, ctx);
}

static int config_input(AVFilterLink *inlink)
{
    AVFilterContext *ctx  = inlink->dst;
    DeblockCUDAContext *s = ctx->priv;
    AVBufferRef *frames_ref = ff_filter_link(inlink)->hw_frames_ctx;
    CudaFunctions *cu;
    CUcontext dummy;
    int ret = ff_quality_cuda_open(&s->cuda, ctx, frames_ref, ff_vf_deblock_cuda_ptx_data,
                                   ff_vf_deblock_cuda_ptx_len, 0, 0);

    if (ret < 0)
        return ret;
    if (!ff_quality_cuda_check_format(ctx, ((AVHWFramesContext *)frames_ref->data)->sw_format))
        return AVERROR(ENOSYS);

    cu  = s->cuda.cu;
    ret = CHECK_CU(cu->cuCtxPushCurrent(s->cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = CHECK_CU(cu->cuModuleGetFunction(&s->deblock_8, s->cuda.module, "deblock_8"));
    if (ret >= 0)
        ret = CHECK_CU(cu->cuModuleGetFunction(&s->deblock_16, s->cuda.module, "deblock_16"));
    CHECK_CU(cu->cuCtxPopCurrent(&dummy));
    return ret;
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    DeblockCUDAContext *s = ctx->priv;

    return blocksmooth_command(ctx, &s->opt, cmd, arg, res, res_len, flags);
}

static const AVFilterPad deblock_cuda_inputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_input,
        .filter_frame = filter_frame,
    },
};

const FFFilter ff_vf_deblock_cuda = {
    FILTER_PUBLIC(name)        = "deblock_cuda",
    FILTER_PUBLIC(description) = NULL_IF_CONFIG_SMALL("Smooth the edges of a codec's blocks on CUDA frames."),
    FILTER_PUBLIC(priv_class)  = &deblock_cuda_class,
    FILTER_PUBLIC(flags)       = AVFILTER_FLAG_SUPPORT_TIMELINE_GENERIC,
    .priv_size                 = sizeof(DeblockCUDAContext),
    .init                      = init,
    .uninit                    = uninit,
    .process_command           = process_command,
    FILTER_INPUTS(deblock_cuda_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
