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
 * What an encode has lost of its source, of CUDA frames
 *
 * The twin of vf_detailloss.c, which see: the same bits for the same samples. Pairs
 * are not waited for: main frames leave when their result has come back, in order.
 */

#include <string.h>

#include "libavutil/cuda_check.h"
#include "libavutil/hwcontext.h"
#include "libavutil/macros.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/quality_pairs.h"
#include "detailloss.h"
#include "filters.h"
#include "framesync.h"
#include "release_compat.h"
#include "vf_detailloss_cuda.h"
#include "video.h"

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

#define CHECK_CU(x) FF_CUDA_CHECK_DL(ctx, s->pairs.cuda.cu, x)

typedef struct DetailLossCUDAContext {
    const AVClass *class;
    DetailLossContext common;
    QualityPairs pairs;

    CUfunction split_8, split_16, split, cells_8, cells_16, finish;
    CUdeviceptr sums;                   ///< [DETAIL_MAX_BATCH] of DetailSums
    CUdeviceptr memory;                 ///< pictures of the scales, and cells, of a batch
    CUdeviceptr image[DETAIL_SCALES];   ///< of the scales after the first, in it

    enum AVPixelFormat sw_format;       ///< that the batch has
    DetailPicture picture;
    DetailCUDAParams params;
} DetailLossCUDAContext;

#define OFFSET(x) offsetof(DetailLossCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption detailloss_cuda_options[] = {
    DETAIL_OPTIONS(DetailLossCUDAContext, common, FLAGS),
    { "queue", "set the number of frames in flight, 1 to wait for each", OFFSET(pairs.queue), AV_OPT_TYPE_INT, { .i64 = 8 }, 1, 64, FLAGS },
    { NULL }
};

FRAMESYNC_DEFINE_CLASS(detailloss_cuda, DetailLossCUDAContext, pairs.fs);

extern const unsigned char ff_vf_detailloss_cuda_ptx_data[];
extern const unsigned int ff_vf_detailloss_cuda_ptx_len;

static int launch_kernel(AVFilterContext *ctx, CUfunction function, int nb_blocks, int nb_threads)
{
    DetailLossCUDAContext *s = ctx->priv;
    void *args[] = { &s->params };

    return CHECK_CU(s->pairs.cuda.cu->cuLaunchKernel(function, nb_blocks, s->pairs.nb_batch, 1,
                                                     nb_threads, 1, 1, 0,
                                                     s->pairs.cuda.hwctx->stream, args, NULL));
}

/// Split the pictures of a scale.
static int launch_split(AVFilterContext *ctx, int scale)
{
    DetailLossCUDAContext *s = ctx->priv;
    DetailCUDAParams *p = &s->params;
    const int max_blocks = s->pairs.cuda.nb_multiprocessors * DETAIL_TILES_PER_SM;
    CUfunction function = scale ? s->split : s->picture.depth > 8 ? s->split_16 : s->split_8;

    p->scale = scale;
    p->w     = scale ? detail_half(p->w) : s->picture.width;
    p->h     = scale ? detail_half(p->h) : s->picture.height;
    p->image = s->image[scale];
    p->next  = scale + 1 < DETAIL_SCALES ? s->image[scale + 1] : 0;
    p->nb_tiles_x = DIV_UP(detail_half(p->w), DETAIL_TILE_W);
    p->nb_tiles   = DIV_UP(detail_half(p->h), DETAIL_TILE_H) * p->nb_tiles_x;
    return launch_kernel(ctx, function, av_clip(max_blocks / s->pairs.nb_batch, 1, p->nb_tiles),
                         DETAIL_TILE_W * DETAIL_TILE_H);
}

/// Enqueue the kernels of the batch.
static int launch(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;
    const int nb_cells = (s->picture.width / DETAIL_MOTION_CELL) * (s->picture.height / DETAIL_MOTION_CELL);
    int ret;

    for (int i = 0; i < DETAIL_SCALES; i++) {
        ret = launch_split(ctx, i);
        if (ret < 0)
            return ret;
    }
    ret = launch_kernel(ctx, s->picture.depth > 8 ? s->cells_16 : s->cells_8,
                        DIV_UP(nb_cells, DETAIL_CELL_THREADS), DETAIL_CELL_THREADS);
    return ret < 0 ? ret : launch_kernel(ctx, s->finish, 1, DETAIL_FINISH_THREADS);
}

/// Where a component begins, and with it a frame: cropping of CUDA frames leaves the left and top.
static DetailCUDAPlane plane(const AVFrame *frame, const AVPixFmtDescriptor *desc, int component)
{
    const AVComponentDescriptor *comp = &desc->comp[component];
    const int x = frame->crop_left >> (component ? desc->log2_chroma_w : 0);
    const int y = frame->crop_top  >> (component ? desc->log2_chroma_h : 0);

    return (DetailCUDAPlane){
        .data  = (CUdeviceptr)frame->data[comp->plane] + y * frame->linesize[comp->plane] +
                 x * comp->step + comp->offset,
        .pitch = frame->linesize[comp->plane],
    };
}

/// Memory for batches of pictures of a size.
static int alloc_memory(AVFilterContext *ctx, const DetailPicture *picture)
{
    DetailLossCUDAContext *s = ctx->priv;
    const size_t nb_planes = DETAIL_NB_IMAGES * DETAIL_MAX_BATCH;
    size_t offset[DETAIL_SCALES], cells, size = 0;
    int w = picture->width, h = picture->height, ret = 0;

    for (int i = 1; i < DETAIL_SCALES; i++) {
        w = detail_half(w);
        h = detail_half(h);
        offset[i] = size;
        size += FFALIGN(nb_planes * w * h * sizeof(float), 256);
    }
    cells = size;
    size += 2 * nb_planes * picture->cells_x * picture->cells_y * sizeof(uint32_t);

    if (s->memory) {
        // frees wait for kernels that still use it
        ret = CHECK_CU(s->pairs.cuda.cu->cuMemFree(s->memory));
        s->memory = 0;
    }
    if (ret >= 0)
        ret = CHECK_CU(s->pairs.cuda.cu->cuMemAlloc(&s->memory, size));
    if (ret < 0)
        return ret;
    for (int i = 1; i < DETAIL_SCALES; i++)
        s->image[i] = s->memory + offset[i];
    s->params.cells = s->memory + cells;
    return 0;
}

/// Prepare for batches of pictures like this; the batch is empty.
static int configure_batch(AVFilterContext *ctx, const DetailPicture *picture,
                           const AVPixFmtDescriptor *desc)
{
    DetailLossCUDAContext *s = ctx->priv;
    DetailCUDAParams *p = &s->params;
    CUcontext dummy;
    int ret;

    s->sw_format = AV_PIX_FMT_NONE;
    ret = CHECK_CU(s->pairs.cuda.cu->cuCtxPushCurrent(s->pairs.cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = alloc_memory(ctx, picture);
    CHECK_CU(s->pairs.cuda.cu->cuCtxPopCurrent(&dummy));
    if (ret < 0)
        return ret;

    p->width  = picture->width;
    p->height = picture->height;
    p->octave = picture->octave;
    p->down   = desc->comp[0].shift;
    p->mask   = (1 << desc->comp[0].depth) - 1;
    p->luma_unit   = picture->luma_unit;
    p->chroma_unit = picture->chroma_unit;
    p->cell_w  = picture->cell_w;
    p->cell_h  = picture->cell_h;
    p->cells_x = picture->cells_x;
    p->cells_y = picture->cells_y;
    for (int i = 0; i < desc->nb_components; i++)
        p->step[i] = desc->comp[i].step / (desc->comp[i].depth > 8 ? 2 : 1);
    s->picture   = *picture;
    s->sw_format = av_pix_fmt_desc_get_id(desc);
    return 0;
}

static const AVPixFmtDescriptor *descriptor(const AVFrame *frame)
{
    return av_pix_fmt_desc_get(((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format);
}

/// Whether the source's frame before is one whose samples can be compared with this one's.
static int is_alike(const AVFrame *previous, const AVFrame *reference)
{
    return previous && descriptor(previous) == descriptor(reference) &&
           ff_picture_width(previous)  == ff_picture_width(reference) &&
           ff_picture_height(previous) == ff_picture_height(reference);
}

static int add_pair(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *reference)
{
    DetailLossCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc = descriptor(reference);
    const AVFrame *images[DETAIL_NB_IMAGES] = { [DETAIL_IMAGE_SOURCE] = reference, [DETAIL_IMAGE_ENCODE] = frame };
    DetailPicture picture;
    DetailCUDAPair *pair;
    int ret;

    if (!ff_frame_is_chosen(s->pairs.nb_frames, s->common.n_subsample))
        return 0;
    picture = ff_detailloss_picture(&s->common, frame, desc);
    ret = ff_detailloss_check_size(ctx, ff_picture_width(frame), ff_picture_height(frame),
                                   picture.width, picture.height, "scale_cuda");
    if (ret < 0)
        return ret;
    if (picture.width != s->picture.width || picture.height != s->picture.height ||
        picture.luma_unit != s->picture.luma_unit || av_pix_fmt_desc_get_id(desc) != s->sw_format) {
        if ((ret = ff_quality_pairs_flush(ctx, &s->pairs)) < 0 ||
            (ret = configure_batch(ctx, &picture, desc)) < 0)
            return ret;
    }

    pair  = &s->params.pair[s->pairs.nb_batch];
    *pair = (DetailCUDAPair){ .result = ff_quality_cuda_next_result(&s->pairs.cuda) };
    for (int i = 0; i < DETAIL_NB_IMAGES; i++)
        for (int c = 0; c < desc->nb_components; c++)
            pair->plane[i][c] = plane(images[i], desc, c);
    if (is_alike(s->pairs.previous, reference))
        pair->previous = plane(s->pairs.previous, desc, 0);
    return 1;
}

/// Score a frame whose result is there.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *result)
{
    DetailLossCUDAContext *s = ctx->priv;
    // the output may be gone before its last frames are scored
    const AVRational time_base = s->pairs.fs.time_base;
    const uint64_t n = ff_score_log_count(&s->common.log, ctx, frame, time_base);
    DetailPicture picture;

    if (!result)
        return 0;
    picture = ff_detailloss_picture(&s->common, frame, descriptor(frame));
    return ff_detailloss_score(&s->common, ctx, frame, n, time_base, &picture, result);
}

static int activate(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;
    int ret = ff_quality_pairs_activate(ctx, &s->pairs), finished = 0;

    if (ff_outlink_get_status(ctx->outputs[0]))
        finished = ff_score_log_close(&s->common.log, ctx, 1);
    return finished < 0 ? finished : ret;
}

static av_cold int init(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;

    s->pairs.add            = add_pair;
    s->pairs.launch         = launch;
    s->pairs.report         = report;
    s->pairs.max_batch      = FFMIN(s->pairs.queue, DETAIL_MAX_BATCH);
    s->pairs.keeps_previous = 1;
    s->sw_format            = AV_PIX_FMT_NONE;
    ff_detailloss_init(&s->common, ctx);
    return 0;
}

static void free_device_memory(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;
    CUcontext dummy;

    if (!s->pairs.cuda.cu ||
        CHECK_CU(s->pairs.cuda.cu->cuCtxPushCurrent(s->pairs.cuda.hwctx->cuda_ctx)) < 0)
        return;
    if (s->memory)
        CHECK_CU(s->pairs.cuda.cu->cuMemFree(s->memory));
    if (s->sums)
        CHECK_CU(s->pairs.cuda.cu->cuMemFree(s->sums));
    CHECK_CU(s->pairs.cuda.cu->cuCtxPopCurrent(&dummy));
}

static av_cold void uninit(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;

    ff_quality_pairs_uninit(ctx, &s->pairs);
    ff_score_log_close(&s->common.log, ctx, 0);
    free_device_memory(ctx);
    ff_quality_cuda_close(&s->pairs.cuda, ctx);
}

static int load_functions(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;
    CudaFunctions *cu = s->pairs.cuda.cu;
    const size_t size = DETAIL_MAX_BATCH * sizeof(DetailSums);
    const struct { CUfunction *function; const char *name; } kernel[] = {
        { &s->split_8,  "detail_split_8"  },
        { &s->split_16, "detail_split_16" },
        { &s->split,    "detail_split"    },
        { &s->cells_8,  "detail_cells_8"  },
        { &s->cells_16, "detail_cells_16" },
        { &s->finish,   "detail_finish"   },
    };
    CUcontext dummy;
    int ret = CHECK_CU(cu->cuCtxPushCurrent(s->pairs.cuda.hwctx->cuda_ctx));

    if (ret < 0)
        return ret;
    for (int i = 0; i < FF_ARRAY_ELEMS(kernel) && ret >= 0; i++)
        ret = CHECK_CU(cu->cuModuleGetFunction(kernel[i].function, s->pairs.cuda.module,
                                               kernel[i].name));
    if (ret >= 0 && !s->sums && (ret = CHECK_CU(cu->cuMemAlloc(&s->sums, size))) >= 0)
        ret = CHECK_CU(cu->cuMemsetD8Async(s->sums, 0, size, s->pairs.cuda.hwctx->stream));
    CHECK_CU(cu->cuCtxPopCurrent(&dummy));
    s->params.sums = s->sums;
    return ret;
}

static int config_reference(AVFilterLink *inlink)
{
    AVFilterContext *ctx = inlink->dst;
    DetailLossCUDAContext *s = ctx->priv;
    const AVFilterLink *main = ctx->inputs[0];
    int ret;

    if ((ret = ff_detailloss_check_size(ctx, main->w, main->h, inlink->w, inlink->h, "scale_cuda")) < 0 ||
        (ret = ff_quality_pairs_config_inputs(ctx, &s->pairs, ff_vf_detailloss_cuda_ptx_data,
                                              ff_vf_detailloss_cuda_ptx_len, sizeof(DetailSums))) < 0)
        return ret;
    return load_functions(ctx);
}

static int config_output(AVFilterLink *outlink)
{
    DetailLossCUDAContext *s = outlink->src->priv;

    return ff_quality_pairs_config_output(outlink, &s->pairs);
}

static const AVFilterPad detailloss_cuda_inputs[] = {
    {
        .name         = "main",
        .type         = AVMEDIA_TYPE_VIDEO,
    },
    {
        .name         = "reference",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_reference,
    },
};

static const AVFilterPad detailloss_cuda_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_detailloss_cuda = {
    FILTER_PUBLIC(name)        = "detailloss_cuda",
    FILTER_PUBLIC(description) = NULL_IF_CONFIG_SMALL("Measure what an encode in CUDA frames has lost of its source."),
    FILTER_PUBLIC(priv_class)  = &detailloss_cuda_class,
    FILTER_PUBLIC(flags)       = AVFILTER_FLAG_METADATA_ONLY |
                                 AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .preinit                   = detailloss_cuda_framesync_preinit,
    .priv_size                 = sizeof(DetailLossCUDAContext),
    .init                      = init,
    .activate                  = activate,
    .uninit                    = uninit,
    FILTER_INPUTS(detailloss_cuda_inputs),
    FILTER_OUTPUTS(detailloss_cuda_outputs),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
