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
 * No-reference quality by natural scene statistics in the DCT domain, on CUDA
 * frames
 *
 * The twin of vf_bliinds.c, which see: the same bits for the same luma. Frames
 * are not waited for: they leave when their result has come back, in order.
 */

#include "libavutil/cuda_check.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "bliinds.h"
#include "bliinds_pool.h"
#include "cuda/quality_cuda.h"
#include "filters.h"
#include "release_compat.h"
#include "luma_frame.h"
#include "vf_bliinds_cuda.h"
#include "video.h"

/// Frames are scored in batches while their data takes no more bytes than this.
#define MAX_BATCH_MEMORY (128 << 20)

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

#define CHECK_CU(x) FF_CUDA_CHECK_DL(ctx, s->cuda.cu, x)

typedef struct BLIINDSCUDAContext {
    const AVClass *class;
    BLIINDSContext common;
    int queue;

    QualityCUDA cuda;
    CUfunction blocks_8, blocks_16, pool, choose;
    CUdeviceptr gamma_table;
    CUdeviceptr state;                  ///< BLIINDSCUDAState
    CUdeviceptr block_memory;           ///< statistics of all blocks of a batch
    int width, height;                  ///< that the memory is made for

    BLIINDSCUDAParams params;           ///< for width x height, and the batch
    int max_batch, nb_batch;            ///< frames that one launch may take, and has
    CUfunction blocks;                  ///< for the batch's format
    int failed;                         ///< a frame could not be scored: nor can those behind it
} BLIINDSCUDAContext;

#define OFFSET(x) offsetof(BLIINDSCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption bliinds_cuda_options[] = {
    BLIINDS_OPTIONS(BLIINDSCUDAContext, common, FLAGS),
    { "queue", "set the number of frames in flight, 1 to wait for each", OFFSET(queue), AV_OPT_TYPE_INT, { .i64 = 8 }, 1, 64, FLAGS },
    { NULL }
};

AVFILTER_DEFINE_CLASS(bliinds_cuda);

extern const unsigned char ff_vf_bliinds_cuda_ptx_data[];
extern const unsigned int ff_vf_bliinds_cuda_ptx_len;

static int launch(AVFilterContext *ctx, CUfunction function, unsigned grid_x, unsigned grid_y,
                  unsigned threads)
{
    BLIINDSCUDAContext *s = ctx->priv;
    void *args[] = { &s->params };

    return CHECK_CU(s->cuda.cu->cuLaunchKernel(function, grid_x, grid_y, 1, threads, 1, 1, 0,
                                               s->cuda.hwctx->stream, args, NULL));
}

/**
 * Split the blocks to be pooled into chunks, as many as run at once; sums in 64
 * bits allow for BLIINDS_POOL_MAX of them in each.
 *
 * @return number of chunks of a frame
 */
static int split_pool(BLIINDSCUDAContext *s)
{
    const int max_chunks = s->cuda.nb_multiprocessors * BLIINDS_POOLS_PER_SM / s->nb_batch;
    int nb_chunks;

    s->params.pool_chunk = 0;
    do {
        nb_chunks = 0;
        s->params.pool_chunk += BLIINDS_POOL_CHUNK;
        for (int l = 0; l < BLIINDS_LEVELS; l++)
            nb_chunks += DIV_UP(s->params.level[l].bw * s->params.level[l].bh,
                                s->params.pool_chunk);
    } while (nb_chunks > max_chunks && s->params.pool_chunk < BLIINDS_POOL_MAX);
    return nb_chunks;
}

/// Thread blocks that share the tiles of each frame of a batch: as many as run at once.
static int tile_thread_blocks(const BLIINDSCUDAContext *s, int nb_batch)
{
    return av_clip(s->cuda.nb_multiprocessors * BLIINDS_TILES_PER_SM / nb_batch,
                   1, s->params.nb_tiles);
}

/**
 * The size of a batch for which the thread blocks have the least to do for each
 * frame: all do as many tiles as the one that does most.
 *
 * @param max largest that there is memory for
 */
static int best_batch(const BLIINDSCUDAContext *s, int max)
{
    int best = 1, least = DIV_UP(s->params.nb_tiles, tile_thread_blocks(s, 1));

    for (int nb = 2; nb <= max; nb++) {
        const int nb_tiles = DIV_UP(s->params.nb_tiles, tile_thread_blocks(s, nb));

        if (nb_tiles * best < least * nb) {
            best  = nb;
            least = nb_tiles;
        }
    }
    return best;
}

/// Enqueue the kernels that pool the blocks of the batch.
static int launch_pool(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    int ret = launch(ctx, s->pool, s->nb_batch, split_pool(s), BLIINDS_POOL_THREADS);

    return ret < 0 ? ret : launch(ctx, s->choose, BLIINDS_LEVELS * BLIINDS_NB_POOLED,
                                  s->nb_batch, BLIINDS_CHOOSE_THREADS);
}

/// Enqueue the kernels of the batch.
static int launch_batch(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CUcontext dummy;
    int ret;

    if (!s->nb_batch)
        return 0;
    ret = CHECK_CU(s->cuda.cu->cuCtxPushCurrent(s->cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = launch(ctx, s->blocks, tile_thread_blocks(s, s->nb_batch), s->nb_batch,
                 BLIINDS_TILE_THREADS);
    if (ret >= 0)
        ret = launch_pool(ctx);
    CHECK_CU(s->cuda.cu->cuCtxPopCurrent(&dummy));
    s->nb_batch = 0;
    return ret < 0 ? ret : ff_quality_cuda_launched(&s->cuda, ctx);
}

/// Add a frame to the batch, before it is pushed to the ring.
static int add_to_batch(AVFilterContext *ctx, const AVFrame *frame, const LumaFrame *luma)
{
    BLIINDSCUDAContext *s = ctx->priv;
    const CUfunction blocks = luma->depth > 8 ? s->blocks_16 : s->blocks_8;
    const int bytes   = luma->depth > 8 ? 2 : 1;
    const float scale = 1.f / (1 << (luma->depth - 8));

    if (s->nb_batch && (blocks != s->blocks || luma->shift != s->params.down ||
                        scale != s->params.scale)) {
        int ret = launch_batch(ctx);

        if (ret < 0)
            return ret;
    }
    s->blocks       = blocks;
    s->params.down  = luma->shift;
    s->params.mask  = (1 << luma->depth) - 1;
    s->params.up    = BLIINDS_FRAC_BITS - (luma->depth - 8);
    s->params.scale = scale;
    s->params.frame[s->nb_batch++] = (BLIINDSCUDAFrame){
        .src    = (CUdeviceptr)frame->data[0] +
                  frame->crop_top * frame->linesize[0] + frame->crop_left * bytes,
        .pitch  = frame->linesize[0],
        .black  = luma->black,
        .result = ff_quality_cuda_next_result(&s->cuda),
    };
    return 0;
}

static void free_device_memory(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CUdeviceptr *memory[] = { &s->gamma_table, &s->state, &s->block_memory };
    CUcontext dummy;

    if (!s->cuda.cu || CHECK_CU(s->cuda.cu->cuCtxPushCurrent(s->cuda.hwctx->cuda_ctx)) < 0)
        return;
    for (int i = 0; i < FF_ARRAY_ELEMS(memory); i++) {
        if (*memory[i])
            CHECK_CU(s->cuda.cu->cuMemFree(*memory[i]));
        *memory[i] = 0;
    }
    CHECK_CU(s->cuda.cu->cuCtxPopCurrent(&dummy));
}

/// Functions, table and state: once for a device.
static int load_functions(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CudaFunctions *cu = s->cuda.cu;
    const size_t state_size = BLIINDS_MAX_BATCH * sizeof(BLIINDSCUDAState);
    float *table;
    int ret;

    if ((ret = CHECK_CU(cu->cuModuleGetFunction(&s->blocks_8,  s->cuda.module, "bliinds_blocks_8")))  < 0 ||
        (ret = CHECK_CU(cu->cuModuleGetFunction(&s->blocks_16, s->cuda.module, "bliinds_blocks_16"))) < 0 ||
        (ret = CHECK_CU(cu->cuModuleGetFunction(&s->pool,      s->cuda.module, "bliinds_pool")))      < 0 ||
        (ret = CHECK_CU(cu->cuModuleGetFunction(&s->choose,    s->cuda.module, "bliinds_choose")))    < 0 ||
        (ret = CHECK_CU(cu->cuMemAlloc(&s->gamma_table, BLIINDS_GAMMA_NB * sizeof(*table)))) < 0 ||
        (ret = CHECK_CU(cu->cuMemAlloc(&s->state, state_size))) < 0 ||
        (ret = CHECK_CU(cu->cuMemsetD8Async(s->state, 0, state_size, s->cuda.hwctx->stream))) < 0)
        return ret;

    table = av_malloc_array(BLIINDS_GAMMA_NB, sizeof(*table));
    if (!table)
        return AVERROR(ENOMEM);
    ff_bliinds_gamma_table(table);
    // in the order of the stream, which may be one that waits for no other
    ret = CHECK_CU(cu->cuMemcpyHtoDAsync(s->gamma_table, table, BLIINDS_GAMMA_NB * sizeof(*table),
                                         s->cuda.hwctx->stream));
    if (ret >= 0)
        ret = CHECK_CU(cu->cuStreamSynchronize(s->cuda.hwctx->stream));
    av_free(table);
    return ret;
}

/// Memory for the blocks of frames of a size.
static int alloc_blocks(AVFilterContext *ctx, int width, int height)
{
    BLIINDSCUDAContext *s = ctx->priv;
    BLIINDSCUDAParams *params = &s->params;
    CUdeviceptr next;
    size_t nb_blocks = 0, nb_listed = 0;
    int ret;

    s->width = s->height = 0;
    if (s->block_memory) {
        // frees wait for kernels that still use it
        ret = CHECK_CU(s->cuda.cu->cuMemFree(s->block_memory));
        s->block_memory = 0;
        if (ret < 0)
            return ret;
    }

    *params = (BLIINDSCUDAParams){ .gamma_table = s->gamma_table, .state = s->state };
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        BLIINDSCUDALevel *level = &params->level[l];

        level->w  = width  >> l;
        level->h  = height >> l;
        level->bw = bliinds_nb_blocks(level->w);
        level->bh = bliinds_nb_blocks(level->h);
        level->first      = nb_blocks;
        level->max_listed = DIV_UP(level->bw * level->bh, BLIINDS_LISTED);
        nb_blocks += level->bw * level->bh;
        nb_listed += level->max_listed;
    }
    params->nb_tiles_x = DIV_UP(params->level[0].bw, BLIINDS_TILE_W);
    params->nb_tiles   = params->nb_tiles_x * DIV_UP(params->level[0].bh, BLIINDS_TILE_H);

    params->frame_size = FFALIGN(nb_blocks * sizeof(BLIINDSCUDABlock) +
                                 nb_listed * BLIINDS_NB_STATISTICS * sizeof(BLIINDSCUDAListed), 256);
    s->max_batch = best_batch(s, av_clip(MAX_BATCH_MEMORY / params->frame_size, 1,
                                         FFMIN(s->queue, BLIINDS_MAX_BATCH)));
    ret = CHECK_CU(s->cuda.cu->cuMemAlloc(&s->block_memory, s->max_batch * params->frame_size));
    if (ret < 0)
        return ret;
    params->blocks = s->block_memory;
    next = s->block_memory + nb_blocks * sizeof(BLIINDSCUDABlock);
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            params->level[l].list[i] = next;
            next += params->level[l].max_listed * sizeof(BLIINDSCUDAListed);
        }
    }
    s->width  = width;
    s->height = height;
    return 0;
}

static int prepare(AVFilterContext *ctx, AVBufferRef *frames_ref, int width, int height)
{
    BLIINDSCUDAContext *s = ctx->priv;
    CUcontext dummy;
    int ret;

    ret = ff_quality_cuda_open(&s->cuda, ctx, frames_ref, ff_vf_bliinds_cuda_ptx_data,
                               ff_vf_bliinds_cuda_ptx_len,
                               sizeof(BLIINDSCUDAResult), s->queue);
    if (ret < 0)
        return ret;
    if (width == s->width && height == s->height)
        return 0;

    ret = launch_batch(ctx);
    if (ret < 0)
        return ret;
    ret = CHECK_CU(s->cuda.cu->cuCtxPushCurrent(s->cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    if (!s->state)
        ret = load_functions(ctx);
    if (ret >= 0)
        ret = alloc_blocks(ctx, width, height);
    CHECK_CU(s->cuda.cu->cuCtxPopCurrent(&dummy));
    return ret;
}

/// Take a frame into the ring and, if it is to be scored, into the batch.
static int queue_frame(AVFilterContext *ctx, AVFrame *frame)
{
    BLIINDSCUDAContext *s = ctx->priv;
    const LumaFrame *luma;
    uint64_t n;
    int ret = ff_bliinds_describe(&s->common, ctx, frame, &n, &luma);

    if (ret < 0)
        goto fail;
    if (luma) {
        ret = ff_quality_cuda_check_frame(&s->cuda, ctx, frame);
        if (ret < 0)
            goto fail;
        if (!ff_quality_cuda_check_format(ctx,
                ((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format)) {
            ret = AVERROR(ENOSYS);
            goto fail;
        }
        ret = prepare(ctx, frame->hw_frames_ctx, luma->width, luma->height);
        if (ret < 0)
            goto fail;
        ret = add_to_batch(ctx, frame, luma);
        if (ret < 0)
            goto fail;
    }
    ff_quality_cuda_push(&s->cuda, frame, NULL, NULL, n, !!luma);
    return s->nb_batch == s->max_batch ? launch_batch(ctx) : 0;

fail:
    av_frame_free(&frame);
    return ret;
}

static void read_result(BLIINDSLevelSums sums[BLIINDS_LEVELS], const BLIINDSCUDAResult *result,
                        const AVFrame *frame)
{
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        const BLIINDSCUDAPooled *pooled = result->pooled[l];
        const int bw = bliinds_nb_blocks(ff_picture_width(frame)  >> l);
        const int bh = bliinds_nb_blocks(ff_picture_height(frame) >> l);
        const int nb_clear = bliinds_nb_clear(bw) * bliinds_nb_clear(bh);

        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            for (int c = 0; c < 2; c++)
                sums[l].grid[c].statistic[i] = pooled[i].grid[c];
            sums[l].worst[i] = pooled[i].worst;
        }
        for (int c = 0; c < 2; c++) {
            sums[l].grid[c].nb_blocks = c ? bw * bh - nb_clear : nb_clear;
            sums[l].grid[c].gamma     = pooled[BLIINDS_GAMMA].grid[c].fraction;
            for (int i = 0; i < 3; i++)
                sums[l].grid[c].band[i] = result->bands[l][c][i];
        }
        sums[l].worst_gamma = pooled[BLIINDS_GAMMA].worst.whole;
        sums[l].nb_flat     = pooled[BLIINDS_GAMMA].worst.fraction;
    }
}

/**
 * Score the frames whose results are there; if more than max_left are in
 * flight, enqueue what is not yet.
 *
 * @param max_left wait until no more than this many are left
 * @param pass_on  0 if nobody takes the frames any more
 */
static int deliver(AVFilterContext *ctx, int max_left, int pass_on)
{
    BLIINDSCUDAContext *s = ctx->priv;
    AVFrame *frame;
    const void *result;
    uint64_t n;
    int ret;

    if (s->cuda.nb_queued > max_left && (ret = launch_batch(ctx)) < 0)
        return ret;
    while ((ret = ff_quality_cuda_pop(&s->cuda, ctx, s->cuda.nb_queued > max_left,
                                      &frame, &n, &result)) > 0) {
        if (result) {
            BLIINDSLevelSums sums[BLIINDS_LEVELS];

            read_result(sums, result, frame);
            ret = ff_bliinds_score(&s->common, ctx, frame, n, sums);
            if (ret < 0) {
                s->failed = 1;
                av_frame_free(&frame);
                return ret;
            }
        }
        if (!pass_on) {
            av_frame_free(&frame);
            continue;
        }
        ret = ff_filter_frame(ctx->outputs[0], frame);
        if (ret < 0)
            return ret;
    }
    return ret;
}

static int activate(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    AVFilterLink *inlink  = ctx->inputs[0];
    AVFilterLink *outlink = ctx->outputs[0];
    AVFrame *frame;
    int64_t pts;
    int ret, status;

    status = ff_outlink_get_status(outlink);
    if (status) {
        ff_inlink_set_status(inlink, status);
        ret = deliver(ctx, 0, 0);
        return ret < 0 ? ret : ff_bliinds_finish(&s->common, ctx);
    }

    while ((ret = ff_inlink_consume_frame(inlink, &frame)) > 0) {
        // kernels that were enqueued with the last frame have had time since
        ret = deliver(ctx, s->queue, 1);
        if (ret < 0) {
            av_frame_free(&frame);
            return ret;
        }
        ret = queue_frame(ctx, frame);
        if (ret < 0)
            return ret;
        if (s->cuda.nb_queued == s->queue) {
            ret = deliver(ctx, s->queue - 1, 1);
            if (ret < 0)
                return ret;
        }
    }
    if (ret < 0)
        return ret;

    if (ff_inlink_acknowledge_status(inlink, &status, &pts)) {
        ret = deliver(ctx, 0, 1);
        if (ret < 0)
            return ret;
        ff_outlink_set_status(outlink, status, pts);
        return ff_bliinds_finish(&s->common, ctx);
    }

    // what is done leaves; what came since does not wait for a batch if it comes slowly
    ret = deliver(ctx, s->queue, 1);
    if (ret >= 0 && ff_quality_cuda_is_slow(&s->cuda))
        ret = launch_batch(ctx);
    if (ret < 0)
        return ret;

    FF_FILTER_FORWARD_WANTED(outlink, inlink);

    return FFERROR_NOT_READY;
}

static av_cold int init(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;

    return ff_bliinds_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;

    // nobody takes these frames any more, but the logs have them
    if (!s->failed)
        deliver(ctx, 0, 0);
    ff_bliinds_uninit(&s->common, ctx);
    free_device_memory(ctx);
    ff_quality_cuda_close(&s->cuda, ctx);
}

static int config_input(AVFilterLink *inlink)
{
    AVFilterContext *ctx  = inlink->dst;
    BLIINDSCUDAContext *s = ctx->priv;
    AVBufferRef *frames_ref = ff_filter_link(inlink)->hw_frames_ctx;
    int ret = ff_bliinds_config(&s->common, inlink);

    if (ret < 0)
        return ret;
    ret = prepare(ctx, frames_ref, inlink->w, inlink->h);
    if (ret < 0)
        return ret;
    return ff_quality_cuda_check_format(ctx,
               ((AVHWFramesContext *)frames_ref->data)->sw_format) ? 0 : AVERROR(ENOSYS);
}

static const AVFilterPad bliinds_cuda_inputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_input,
    },
};

const FFFilter ff_vf_bliinds_cuda = {
    FILTER_PUBLIC(name)        = "bliinds_cuda",
    FILTER_PUBLIC(description) = NULL_IF_CONFIG_SMALL("Score quality of CUDA frames without a reference (BLIINDS-II)."),
    FILTER_PUBLIC(priv_class)  = &bliinds_cuda_class,
    FILTER_PUBLIC(flags)       = AVFILTER_FLAG_METADATA_ONLY |
                                 AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size                 = sizeof(BLIINDSCUDAContext),
    .init                      = init,
    .activate                  = activate,
    .uninit                    = uninit,
    FILTER_INPUTS(bliinds_cuda_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
