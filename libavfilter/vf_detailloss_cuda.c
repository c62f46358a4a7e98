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
 * The twin of vf_detailloss.c, where the method is described: the same bits for the
 * same samples.
 */

#include "libavutil/macros.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/pair.h"
#include "detailloss.h"
#include "filters.h"
#include "vf_detailloss_cuda.h"

typedef struct DetailLossCUDAContext {
    CUDAPair pair;
    DetailLossContext common;

    CUfunction split_8, split_16, split, cells_8, cells_16, finish_sums;
    CUdeviceptr image[DETAIL_SCALES];   ///< of the scales after the first
    DetailCUDAParams params;
} DetailLossCUDAContext;

#define OFFSET(x) offsetof(DetailLossCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption detailloss_cuda_options[] = {
    DETAIL_OPTIONS(DetailLossCUDAContext, common, FLAGS),
    CUDA_QUEUE_OPTION(FLAGS),
    { NULL }
};

FRAMESYNC_DEFINE_CLASS(detailloss_cuda, DetailLossCUDAContext, pair.sync.fs);

CUDA_QUEUE_PTX(vf_detailloss_cuda);

static int launch_kernel(AVFilterContext *ctx, CUfunction function, int nb_blocks, int nb_threads)
{
    DetailLossCUDAContext *s = ctx->priv;

    return ff_cuda_queue_launch(ctx, function, nb_blocks, s->pair.queue.nb_batch, nb_threads, 1, 0,
                                &s->params);
}

/// Split the pictures of a scale.
static int launch_split(AVFilterContext *ctx, int scale)
{
    DetailLossCUDAContext *s = ctx->priv;
    DetailCUDAParams *p = &s->params;
    const int max_blocks = s->pair.queue.nb_multiprocessors * DETAIL_TILES_PER_SM /
                           s->pair.queue.nb_batch;
    CUfunction function = scale ? s->split : p->picture.depth > 8 ? s->split_16 : s->split_8;

    p->scale = scale;
    p->w     = scale ? detail_half(p->w) : p->picture.width;
    p->h     = scale ? detail_half(p->h) : p->picture.height;
    p->image = s->image[scale];
    p->next  = scale + 1 < DETAIL_SCALES ? s->image[scale + 1] : 0;
    p->nb_tiles_x = DIV_UP(detail_half(p->w), DETAIL_TILE_W);
    p->nb_tiles   = DIV_UP(detail_half(p->h), DETAIL_TILE_H) * p->nb_tiles_x;
    return launch_kernel(ctx, function, av_clip(max_blocks, 1, p->nb_tiles),
                         DETAIL_TILE_W * DETAIL_TILE_H);
}

/// Enqueue the kernels of the batch.
static int launch(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;
    const DetailPicture *picture = &s->params.picture;
    const int nb_cells = (picture->width / DETAIL_MOTION_CELL) *
                         (picture->height / DETAIL_MOTION_CELL);
    int ret;

    for (int i = 0; i < DETAIL_SCALES; i++) {
        ret = launch_split(ctx, i);
        if (ret < 0)
            return ret;
    }
    ret = launch_kernel(ctx, picture->depth > 8 ? s->cells_16 : s->cells_8,
                        DIV_UP(nb_cells, DETAIL_CELL_THREADS), DETAIL_CELL_THREADS);
    return ret < 0 ? ret : launch_kernel(ctx, s->finish_sums, 1, DETAIL_FINISH_THREADS);
}

static DetailCUDAPlane plane(const AVFrame *frame, const AVPixFmtDescriptor *desc, int component)
{
    const AVComponentDescriptor *comp = &desc->comp[component];

    return (DetailCUDAPlane){
        .data  = ff_cuda_queue_plane(frame, component) + comp->offset,
        .pitch = frame->linesize[comp->plane],
    };
}

/// Prepare for batches of pictures like this; the batch is empty.
static int configure_batch(AVFilterContext *ctx, const DetailPicture *picture,
                           const AVPixFmtDescriptor *desc)
{
    DetailLossCUDAContext *s = ctx->priv;
    DetailCUDAParams *p = &s->params;
    const size_t nb_planes = PAIR_NB * DETAIL_MAX_BATCH;
    const size_t nb_cells  = 2 * nb_planes * picture->cells_x * picture->cells_y;
    int w = picture->width, h = picture->height, ret;

    p->picture = *picture;
    p->down    = desc->comp[0].shift;
    p->mask    = (1 << desc->comp[0].depth) - 1;
    for (int i = 0; i < FFMIN(desc->nb_components, DETAIL_MAX_COMPONENTS); i++)
        p->step[i] = desc->comp[i].step / (desc->comp[i].depth > 8 ? 2 : 1);
    for (int i = 1; i < DETAIL_SCALES; i++) {
        w   = detail_half(w);
        h   = detail_half(h);
        ret = ff_cuda_queue_alloc(ctx, &s->image[i], nb_planes * w * h * sizeof(float));
        if (ret < 0)
            return ret;
    }
    return nb_cells ? ff_cuda_queue_alloc(ctx, &p->cells, nb_cells * sizeof(uint32_t)) : 0;
}

static DetailPicture describe(const AVFrame *frame, const AVPixFmtDescriptor *desc)
{
    return ff_detailloss_picture(picture_width(frame), picture_height(frame),
                                 luma_is_limited(frame, desc), desc);
}

static int add_pair(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *reference)
{
    DetailLossCUDAContext *s = ctx->priv;
    const AVPixFmtDescriptor *desc = ff_cuda_queue_format(reference->hw_frames_ctx);
    const AVFrame *images[PAIR_NB] = { [PAIR_REFERENCE] = reference, [PAIR_MAIN] = frame };
    const DetailPicture *current   = &s->params.picture;
    DetailPicture picture;
    DetailCUDAPair *pair;

    s->common.log.time_base = s->pair.sync.fs.time_base;
    if (!frame_is_chosen(s->pair.queue.n, s->common.n_subsample))
        return 0;
    picture = describe(frame, desc);
    if (picture.width != current->width || picture.height != current->height ||
        picture.luma_unit != current->luma_unit) {
        int ret = ff_cuda_queue_flush(ctx);

        if (ret < 0 || (ret = configure_batch(ctx, &picture, desc)) < 0)
            return ret;
    }

    pair  = &s->params.pair[s->pair.queue.nb_batch];
    *pair = (DetailCUDAPair){ .result = ff_cuda_queue_next_result(ctx) };
    for (int i = 0; i < PAIR_NB; i++)
        for (int c = 0; c < FFMIN(desc->nb_components, DETAIL_MAX_COMPONENTS); c++)
            pair->plane[i][c] = plane(images[i], desc, c);
    // the cropping of frames on the GPU may change
    if (s->pair.previous[0] && picture_width(s->pair.previous[0]) == picture.width &&
        picture_height(s->pair.previous[0]) == picture.height)
        pair->previous = plane(s->pair.previous[0], desc, 0);
    return 1;
}

/// Score a frame whose result is there.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *result)
{
    DetailLossCUDAContext *s = ctx->priv;
    DetailPicture picture;

    if (!result)
        return 0;
    picture = describe(frame, ff_cuda_queue_format(frame->hw_frames_ctx));
    return ff_detailloss_score(&s->common, ctx, frame, s->pair.queue.n, &picture, result);
}

static int setup(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;
    return ff_cuda_queue_alloc(ctx, &s->params.sums, DETAIL_MAX_BATCH * sizeof(DetailSums));
}

static const CUDAQueueKernel kernels[] = {
    { "detail_split_8",  OFFSET(split_8)     },
    { "detail_split_16", OFFSET(split_16)    },
    { "detail_split",    OFFSET(split)       },
    { "detail_cells_8",  OFFSET(cells_8)     },
    { "detail_cells_16", OFFSET(cells_16)    },
    { "detail_finish",   OFFSET(finish_sums) },
    { NULL }
};

static const CUDAQueueFilter filter = {
    .module         = CUDA_QUEUE_MODULE(vf_detailloss_cuda, kernels),
    .result_size    = sizeof(DetailSums),
    .setup          = setup,
    .add            = add_pair,
    .launch         = launch,
    .report         = report,
};

static av_cold int init(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;

    s->pair.queue.filter    = &filter;
    s->pair.nb_previous     = 1;
    s->pair.sync.min_size   = DETAIL_MIN_SIZE;
    s->pair.queue.max_batch = FFMIN(s->pair.queue.size, DETAIL_MAX_BATCH);
    return ff_detailloss_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    DetailLossCUDAContext *s = ctx->priv;

    ff_cuda_pair_uninit(ctx);
    ff_metric_uninit(&s->common.log, ctx, s->pair.queue.nb_frames,
                     s->pair.queue.eof == AVERROR_EOF);
}

const FFFilter ff_vf_detailloss_cuda = {
    .p.name         = "detailloss_cuda",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Measure what an encode in CUDA frames has lost of its source."),
    .p.priv_class   = &detailloss_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .preinit        = detailloss_cuda_framesync_preinit,
    .priv_size      = sizeof(DetailLossCUDAContext),
    .init           = init,
    .activate       = ff_cuda_pair_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_queue_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(ff_cuda_pair_output),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
