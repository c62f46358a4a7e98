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
 * BLIINDS on CUDA frames. vf_bliinds.c describes the method; the results are identical bit by bit.
 *
 * The asynchronous queue (cuda/async.h) collects frames in batches of up to BLIINDS_MAX_BATCH.
 * add_frame() fills in the kernel parameters of a frame, launch() enqueues the kernels of
 * vf_bliinds_cuda.cu for a batch, and report() passes the sums that the GPU returns to
 * ff_bliinds_score(). If a model needs only band energies, three kernels run: bliinds_bands_*,
 * bliinds_motion and bliinds_bands_finish; else bliinds_blocks_*, bliinds_motion, bliinds_pool and
 * bliinds_pool10.
 */

#include "libavutil/mem.h"
#include "libavutil/opt.h"

#include "avfilter.h"
#include "bliinds.h"
#include "bliinds_dsp.h"
#include "cuda/async.h"
#include "filters.h"
#include "sample_format.h"
#include "vf_bliinds_cuda.h"
#include "video.h"

/// Maximum size in bytes of the data of a batch.
#define MAX_BATCH_MEMORY (128 << 20)

typedef struct BLIINDSCUDAContext {
    CUDAQueue queue;
    BLIINDSContext common;

    CUfunction blocks_8, blocks_16, motion, pool, pool10;
    CUfunction bands_8, bands_16, bands_finish;     ///< kernels for bands only
    CUdeviceptr gamma_table;
    CUdeviceptr state;                  ///< BLIINDSCUDAState[BLIINDS_MAX_BATCH]
    CUdeviceptr block_memory;           ///< blocks and lists of a batch, frame_size bytes per frame
    CUdeviceptr motion_planes;          ///< ring of max_batch + 1 planes of level 3 motion samples
    uint64_t nb_motion_planes;          ///< number of planes written so far
    int width, height;                  ///< frame size that the buffers are allocated for

    BLIINDSCUDAParams params;           ///< parameters for width x height and the current batch
    CUfunction blocks;                  ///< tile kernel of the current batch
    int bands_only;                     ///< the current batch needs band energies only
} BLIINDSCUDAContext;

#define OFFSET(x) offsetof(BLIINDSCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption bliinds_cuda_options[] = {
    BLIINDS_OPTIONS(BLIINDSCUDAContext, common, FLAGS),
    CUDA_QUEUE_OPTION(FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(bliinds_cuda);

CUDA_QUEUE_PTX(vf_bliinds_cuda);
CUDA_QUEUE_CHECK_PARAMS(BLIINDSCUDAParams);

/**
 * Set the number of blocks that a thread block pools, so that all thread blocks run at once if
 * possible. Sums in 64 bits limit it to BLIINDS_POOL_MAX.
 *
 * @return number of chunks of a frame
 */
static int split_pool(BLIINDSCUDAContext *s)
{
    const int max_chunks = s->queue.nb_multiprocessors * BLIINDS_POOLS_PER_SM / s->queue.nb_batch;
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

/**
 * Return the number of thread blocks that share the tiles of each frame of a batch: as many as run
 * at once, or more if sums in 64 bits require it.
 */
static int tile_thread_blocks(const BLIINDSCUDAContext *s, int nb_batch)
{
    return av_clip(s->queue.nb_multiprocessors * BLIINDS_TILES_PER_SM / nb_batch,
                   DIV_UP(s->params.nb_tiles, BLIINDS_MAX_TILES), s->params.nb_tiles);
}

/**
 * Return the batch size with the shortest run time per frame. The thread block with the most tiles
 * determines the run time.
 *
 * @param max largest batch that fits in memory
 */
static int best_batch(const BLIINDSCUDAContext *s, int max)
{
    int best = 1, min_tiles = DIV_UP(s->params.nb_tiles, tile_thread_blocks(s, 1));

    for (int nb = 2; nb <= max; nb++) {
        const int nb_tiles = DIV_UP(s->params.nb_tiles, tile_thread_blocks(s, nb));

        if (nb_tiles * best < min_tiles * nb) {
            best      = nb;
            min_tiles = nb_tiles;
        }
    }
    return best;
}

/// Enqueue a kernel with the parameters of the batch.
static int launch_kernel(AVFilterContext *ctx, CUfunction function, int grid_x, int grid_y,
                         int threads)
{
    BLIINDSCUDAContext *s = ctx->priv;

    return ff_cuda_queue_launch(ctx, function, grid_x, grid_y, threads, 1, 0, &s->params);
}

/// Enqueue the kernels that pool the statistics of the blocks of the batch.
static int launch_pool(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    const int nb = s->queue.nb_batch;
    int ret = launch_kernel(ctx, s->pool, nb, split_pool(s), BLIINDS_POOL_THREADS);

    return ret < 0 ? ret : launch_kernel(ctx, s->pool10, BLIINDS_LEVELS * BLIINDS_NB_STATISTICS, nb,
                                         BLIINDS_POOL10_THREADS);
}

/// Enqueue all kernels of the batch.
static int launch(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    const int nb = s->queue.nb_batch;
    const int nb_samples = s->params.level[2].w * s->params.level[2].h;
    int ret = launch_kernel(ctx, s->blocks, tile_thread_blocks(s, nb), nb, BLIINDS_TILE_THREADS);

    if (ret < 0 ||
        (ret = launch_kernel(ctx, s->motion,
                             DIV_UP(nb_samples, BLIINDS_MOTION_THREADS * BLIINDS_MOTION_PER_THREAD),
                             nb, BLIINDS_MOTION_THREADS)) < 0)
        return ret;
    return s->bands_only ? launch_kernel(ctx, s->bands_finish, 1, nb, BLIINDS_FINISH_THREADS)
                          : launch_pool(ctx);
}

/// Return the address of plane n in the ring of motion planes.
static CUdeviceptr motion_plane(const BLIINDSCUDAContext *s, uint64_t n)
{
    return s->motion_planes + n % (s->queue.max_batch + 1) * s->params.level[2].w *
           s->params.level[2].h * sizeof(int16_t);
}

/// Allocate the buffers for a frame size, and set the parameters that depend on it.
static int alloc_blocks(AVFilterContext *ctx, int width, int height)
{
    BLIINDSCUDAContext *s = ctx->priv;
    BLIINDSCUDAParams *params = &s->params;
    CUdeviceptr next;
    size_t nb_blocks = 0, nb_listed = 0;
    int max_batch, ret;

    *params = (BLIINDSCUDAParams){ .gamma_table = s->gamma_table, .state = s->state };
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        BLIINDSCUDALevel *level = &params->level[l];

        level->w  = width  >> l;
        level->h  = height >> l;
        level->bw = bliinds_nb_blocks(level->w);
        level->bh = bliinds_nb_blocks(level->h);
        level->first    = nb_blocks;
        level->max_list = DIV_UP(level->bw * level->bh, BLIINDS_BLOCKS_PER_ENTRY);
        nb_blocks += level->bw * level->bh;
        nb_listed += level->max_list;
    }
    params->nb_tiles_x = DIV_UP(params->level[0].bw, BLIINDS_TILE_W);
    params->nb_tiles   = params->nb_tiles_x * DIV_UP(params->level[0].bh, BLIINDS_TILE_H);

    params->frame_size =
        FFALIGN(nb_blocks * sizeof(BLIINDSCUDABlock) +
                nb_listed * BLIINDS_NB_FLOATS * sizeof(BLIINDSCUDAValueCount), 256);
    max_batch = best_batch(s, av_clip(MAX_BATCH_MEMORY / params->frame_size, 1,
                                      FFMIN(s->queue.size, BLIINDS_MAX_BATCH)));
    ret = ff_cuda_queue_alloc(ctx, &s->block_memory, max_batch * params->frame_size);
    if (ret < 0)
        return ret;
    ret = ff_cuda_queue_alloc(ctx, &s->motion_planes, (max_batch + 1) * sizeof(int16_t) *
                              params->level[2].w * params->level[2].h);
    if (ret < 0)
        return ret;
    params->blocks = s->block_memory;
    next = s->block_memory + nb_blocks * sizeof(BLIINDSCUDABlock);
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        for (int i = 0; i < BLIINDS_NB_FLOATS; i++) {
            params->level[l].list[i] = next;
            next += params->level[l].max_list * sizeof(BLIINDSCUDAValueCount);
        }
    }
    s->queue.max_batch = max_batch;
    s->width  = width;
    s->height = height;
    return 0;
}

/// Add a frame to the batch, after launching the batch if the frame needs other kernels or buffers.
///
/// @return 1 if the frame was added, 0 if it needs no sums, or a negative AVERROR
static int add_frame(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *ref)
{
    BLIINDSCUDAContext *s = ctx->priv;
    BLIINDSFrame *f = s->queue.state;
    const LumaFormat *luma = &f->luma;
    CUfunction blocks;
    float scale;
    int resized, ret = ff_bliinds_frame_init(&s->common, ctx, f, frame, s->queue.n);

    if (ret <= 0)
        return ret;
    if (f->needs_statistics)
        blocks = luma->depth > 8 ? s->blocks_16 : s->blocks_8;
    else
        blocks = luma->depth > 8 ? s->bands_16 : s->bands_8;
    scale   = 1.f / (1 << (luma->depth - 8));
    resized = luma->width != s->width || luma->height != s->height;
    if ((resized || blocks != s->blocks || luma->shift != s->params.down ||
         scale != s->params.scale) && (ret = ff_cuda_queue_flush(ctx)) < 0 ||
        resized && (ret = alloc_blocks(ctx, luma->width, luma->height)) < 0)
        return ret;

    s->blocks       = blocks;
    s->bands_only   = !f->needs_statistics;
    s->params.down  = luma->shift;
    s->params.mask  = (1 << luma->depth) - 1;
    s->params.up    = BLIINDS_FRAC_BITS - (luma->depth - 8);
    s->params.scale = scale;
    s->nb_motion_planes++;
    s->params.frame[s->queue.nb_batch] = (BLIINDSCUDAFrame){
        .src         = ff_cuda_queue_plane(frame, 0),
        .pitch       = frame->linesize[0],
        .black       = luma->black,
        .result      = ff_cuda_queue_next_result(ctx),
        .motion      = motion_plane(s, s->nb_motion_planes),
        .prev_motion = f->has_prev ? motion_plane(s, s->nb_motion_planes - 1) : 0,
    };
    return 1;
}

/// Score a frame from the sums that the GPU has returned; result is NULL if it needs none.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *result)
{
    BLIINDSCUDAContext *s = ctx->priv;
    const int ret = ff_metric_damage(s->common.log.output, frame, NULL);

    return ret < 0 || !result ? ret
           : ff_bliinds_score(&s->common, ctx, frame, s->queue.state, result);
}

/// Upload the table of the generalised Gaussian, and allocate buffers for the size of the input.
static int setup(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;
    const size_t size = BLIINDS_GAMMA_NB * sizeof(float);
    float *table;
    int ret = ff_cuda_queue_alloc(ctx, &s->state, BLIINDS_MAX_BATCH * sizeof(BLIINDSCUDAState));

    s->common.log.time_base = ctx->inputs[0]->time_base;
    if (ret < 0 || (ret = ff_cuda_queue_alloc(ctx, &s->gamma_table, size)) < 0)
        return ret;
    table = av_malloc(size);
    if (!table)
        return AVERROR(ENOMEM);
    ff_bliinds_gamma_table(table);
    ret = ff_cuda_queue_upload(ctx, s->gamma_table, table, size);
    av_free(table);
    return ret < 0 ? ret : alloc_blocks(ctx, ctx->inputs[0]->w, ctx->inputs[0]->h);
}

static const CUDAQueueKernel kernels[] = {
    { "bliinds_blocks_8",     OFFSET(blocks_8)     },
    { "bliinds_blocks_16",    OFFSET(blocks_16)    },
    { "bliinds_motion",       OFFSET(motion)       },
    { "bliinds_pool",         OFFSET(pool)         },
    { "bliinds_pool10",       OFFSET(pool10)       },
    { "bliinds_bands_8",      OFFSET(bands_8)      },
    { "bliinds_bands_16",     OFFSET(bands_16)     },
    { "bliinds_bands_finish", OFFSET(bands_finish) },
    { NULL }
};

static const CUDAQueueFilter filter = {
    .module      = CUDA_QUEUE_MODULE(vf_bliinds_cuda, kernels),
    .result_size = sizeof(BLIINDSLevelSums[BLIINDS_LEVELS]),
    .state_size  = sizeof(BLIINDSFrame),
    .setup       = setup,
    .add         = add_frame,
    .launch      = launch,
    .report      = report,
};

static av_cold int init(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;

    s->queue.filter = &filter;
    s->queue.inputs.min_size = BLIINDS_MIN_SIZE;
    return ff_bliinds_init(&s->common, ctx, &s->queue.nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    BLIINDSCUDAContext *s = ctx->priv;

    ff_cuda_queue_uninit(ctx);
    ff_metric_uninit(&s->common.log, ctx, s->queue.nb_frames, s->queue.eof == AVERROR_EOF);
}

const FFFilter ff_vf_bliinds_cuda = {
    .p.name         = "bliinds_cuda",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Estimate the VMAF loss of CUDA frames without a reference."),
    .p.priv_class   = &bliinds_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(BLIINDSCUDAContext),
    .init           = init,
    .activate       = ff_cuda_queue_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_queue_command,
    FILTER_INPUTS(ff_cuda_queue_input),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_SINGLE_PIXFMT(AV_PIX_FMT_CUDA),
};
