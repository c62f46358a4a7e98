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
 * VMAF v1 of CUDA frames
 *
 * The twin of vf_vmaf.c, with the same digits. Kernels sum integers and compute the statistics of
 * chroma; vmaf.c computes features and scores from these. The filter does not wait for results:
 * main frames leave in order, each when its results and those of the next frame are there.
 */

#include <stddef.h>
#include <string.h>

#include "config_components.h"

#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/dualinput.h"
#include "filters.h"
#include "sample_format.h"
#include "vf_vmaf_adm_cuda.h"
#include "vf_vmaf_cambi_cuda.h"
#include "vf_vmaf_cuda.h"
#include "vf_vmaf_motion_cuda.h"
#include "vf_vmaf_speed_cuda.h"
#include "vmaf.h"

/// Device memory that a batch of more than one pair may take, in bytes.
#define MAX_MEMORY (768 << 20)

/// Results of a pair. They are followed by SpEED's statistics of each prescaled size of chroma.
typedef struct Result {
    ADMSums adm[VMAF_MAX_MODELS];
    uint64_t sad[VMAF_NB_WINDOWS];
    double cambi[VMAF_MAX_MODELS][CAMBI_SCALES];   ///< means of the largest c-values
} Result;

/// Lookup tables of CAMBI for each model, and of SpEED for each prescaled size of chroma.
typedef struct Tables {
    struct {
        float reciprocal[CAMBI_MAX_WINDOW * CAMBI_MAX_WINDOW + 1];
        int src_x[LUMA_MAX_SIZE], src_y[LUMA_MAX_SIZE];
    } cambi[VMAF_MAX_MODELS];
    struct {
        SpeedPosition src_x[LUMA_MAX_SIZE], src_y[LUMA_MAX_SIZE];
    } speed[VMAF_NB_PRESCALES];
} Tables;

typedef struct VMAFCUDAContext {
    CUDAPair pair;
    VMAFContext common;

    CUDAQueueFilter filter;         ///< with the size of results of these pictures
    struct {
        CUfunction adm_first, adm_next, adm_finish;
        CUfunction motion;
        CUfunction cambi_prepare, cambi_filter, cambi_contrast, cambi_select;
        CUfunction speed_blur, speed_subtract, speed_covariance, speed_solve, speed_measure;
    } kernel;
    CUdeviceptr images, cambi_memory, tables;
    size_t speed_at[VMAF_NB_PRESCALES];     ///< offset in the results
    int has_pairs;
    ADMCUDAParams adm;
    MotionCUDAParams motion;
    CAMBICUDAParams cambi;
    SpeedCUDAParams speed;
} VMAFCUDAContext;

#define OFFSET(x) offsetof(VMAFCUDAContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption vmaf_cuda_options[] = {
    VMAF_OPTIONS(VMAFCUDAContext, common, FLAGS),
    // SpEED takes as long for a batch as for a pair
    CUDA_QUEUE_OPTION_OF(32, FLAGS),
    PAIR_SYNC_OPTIONS(VMAFCUDAContext, pair.sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(vmaf_cuda);

CUDA_QUEUE_PTX(vf_vmaf_adm_cuda);
CUDA_QUEUE_PTX(vf_vmaf_cambi_cuda);
CUDA_QUEUE_PTX(vf_vmaf_motion_cuda);
CUDA_QUEUE_PTX(vf_vmaf_speed_cuda);
CUDA_QUEUE_CHECK_PARAMS(ADMCUDAParams);
CUDA_QUEUE_CHECK_PARAMS(MotionCUDAParams);
CUDA_QUEUE_CHECK_PARAMS(CAMBICUDAParams);
CUDA_QUEUE_CHECK_PARAMS(SpeedCUDAParams);

// ---- kernels ----

static const CUDAQueueKernel adm_kernels[] = {
    { "vmaf_adm_first",        OFFSET(kernel.adm_first)         },
    { "vmaf_adm_next",         OFFSET(kernel.adm_next)          },
    { "vmaf_adm_finish",       OFFSET(kernel.adm_finish)        },
    { NULL }
};

static const CUDAQueueKernel motion_kernels[] = {
    { "vmaf_motion",           OFFSET(kernel.motion)            },
    { NULL }
};

static const CUDAQueueKernel cambi_kernels[] = {
    { "vmaf_cambi_prepare",    OFFSET(kernel.cambi_prepare)     },
    { "vmaf_cambi_filter",     OFFSET(kernel.cambi_filter)      },
    { "vmaf_cambi_contrast",   OFFSET(kernel.cambi_contrast)    },
    { "vmaf_cambi_select",     OFFSET(kernel.cambi_select)      },
    { NULL }
};

static const CUDAQueueKernel speed_kernels[] = {
    { "vmaf_speed_blur",       OFFSET(kernel.speed_blur)        },
    { "vmaf_speed_subtract",   OFFSET(kernel.speed_subtract)    },
    { "vmaf_speed_covariance", OFFSET(kernel.speed_covariance)  },
    { "vmaf_speed_solve",      OFFSET(kernel.speed_solve)       },
    { "vmaf_speed_measure",    OFFSET(kernel.speed_measure)     },
    { NULL }
};

/// Load the kernels of the other features; the queue has loaded those of ADM.
static int load_modules(AVFilterContext *ctx)
{
    const VMAFCUDAContext *s = ctx->priv;
    const CUDAQueueModule modules[] = {
        CUDA_QUEUE_MODULE(vf_vmaf_cambi_cuda, cambi_kernels),
        CUDA_QUEUE_MODULE(vf_vmaf_motion_cuda, motion_kernels),
        CUDA_QUEUE_MODULE(vf_vmaf_speed_cuda, speed_kernels),
    };
    int ret = 0;

    for (int i = 0; i < FF_ARRAY_ELEMS(modules) && !s->kernel.speed_measure && ret >= 0; i++)
        ret = ff_cuda_queue_load(ctx, &modules[i]);
    return ret;
}

/// Launch a kernel with nb_blocks thread blocks for each pair of the batch.
static int launch_kernel(AVFilterContext *ctx, CUfunction function, int nb_blocks, int nb_threads,
                         void *params)
{
    const CUDAQueue *q = ctx->priv;

    return ff_cuda_queue_launch(ctx, function, nb_blocks, q->nb_batch, nb_threads, 1, 0, params);
}

static int launch_motion(AVFilterContext *ctx, int window)
{
    VMAFCUDAContext *s  = ctx->priv;
    MotionCUDAParams *p = &s->motion;

    p->pair      = s->pair.queue.batch_args;
    p->window    = window;
    p->result_at = offsetof(Result, sad[window]);
    return launch_kernel(ctx, s->kernel.motion, DIV_UP(p->width, MOTION_TILE_W) *
                                                DIV_UP(p->height, MOTION_TILE_H),
                         MOTION_THREADS, p);
}

/// Bytes of the pictures of a scale after the first, for a pair.
static size_t image_size(const ADMScale *adm)
{
    return sizeof(int32_t) * PAIR_NB * adm->width * adm->height;
}

static int launch_adm(AVFilterContext *ctx, int instance)
{
    VMAFCUDAContext *s = ctx->priv;
    ADMCUDAParams *p   = &s->adm;

    p->pair = s->pair.queue.batch_args;
    p->next = s->images;
    for (int i = 0; i < ADM_SCALES; i++) {
        int ret;

        p->adm   = s->common.adm[instance][i];
        p->image = p->next;
        p->next += i ? s->pair.queue.max_batch * image_size(&p->adm) : 0;
        memcpy(p->row_shift[i], p->adm.row_shift, sizeof(p->adm.row_shift));
        ret = launch_kernel(ctx, i ? s->kernel.adm_next : s->kernel.adm_first,
                            DIV_UP(p->adm.w, ADM_TILE_W * ADM_TILES(i)) *
                            DIV_UP(p->adm.h, ADM_TILE_H), ADM_THREADS, p);
        if (ret < 0)
            return ret;
    }
    p->result_at = offsetof(Result, adm[instance]);
    return launch_kernel(ctx, s->kernel.adm_finish, ADM_SCALES * ADM_SUMS * ADM_BANDS,
                         ADM_FINISH_THREADS, p);
}

/// Set the sizes and places of the pictures of all scales.
static void set_levels(CAMBICUDAParams *p, const CAMBIDims *dims)
{
    int divisor = 1 + dims->high_res_speedup;

    p->dims       = *dims;
    p->level_size = 0;
    for (int i = 0; i <= CAMBI_SCALES; i++) {
        CAMBILevel *level = &p->level[i];

        level->w       = DIV_UP(dims->width,  divisor);
        level->h       = DIV_UP(dims->height, divisor);
        // four samples are read at a time
        level->pitch   = FFALIGN(level->w, 4);
        level->at      = p->level_size;
        p->level_size += level->pitch * level->h;
        divisor      <<= i > 0;
    }
    p->nb_c_values = p->level_size - p->level[1].at;
}

/// Bytes of CAMBI's memory for a pair.
static size_t cambi_size(const CAMBICUDAParams *p)
{
    return sizeof(float) * p->nb_c_values + sizeof(uint16_t) * p->level_size +
           sizeof(uint32_t) * DIV_UP(p->dims.width, 32) * p->dims.height;
}

/// Launch a kernel of CAMBI with nb jobs of a warp each.
static int launch_warps(AVFilterContext *ctx, CUfunction function, int nb)
{
    VMAFCUDAContext *s = ctx->priv;

    return launch_kernel(ctx, function, DIV_UP(nb, CAMBI_WARPS), CAMBI_WARPS * 32, &s->cambi);
}

static int launch_cambi(AVFilterContext *ctx, int model)
{
    VMAFCUDAContext *s   = ctx->priv;
    CAMBICUDAParams *p   = &s->cambi;
    const int nb_columns = 128 - 8 * DIV_UP(s->common.cambi[model].window / 2, 4);
    const int max_batch  = s->pair.queue.max_batch;
    int nb = 0, ret;

    set_levels(p, &s->common.cambi[model]);
    p->pair            = s->pair.queue.batch_args;
    p->c_value         = s->cambi_memory;
    p->value           = p->c_value + sizeof(float) * max_batch * p->nb_c_values;
    p->zero_derivative = p->value + sizeof(uint16_t) * max_batch * p->level_size;
    p->is_scaled       = p->dims.width != s->common.width || p->dims.height != s->common.height;
    p->reciprocal      = s->tables + offsetof(Tables, cambi[model].reciprocal);
    p->src_x           = s->tables + offsetof(Tables, cambi[model].src_x);
    p->src_y           = s->tables + offsetof(Tables, cambi[model].src_y);
    p->result_at       = offsetof(Result, cambi[model]);
    ret = launch_warps(ctx, s->kernel.cambi_prepare, DIV_UP(p->dims.width, 64) *
                                                     DIV_UP(p->dims.height, CAMBI_ROWS));
    for (int i = 0; i < CAMBI_SCALES && ret >= 0; i++) {
        const int w = p->level[i + 1].w, h = p->level[i + 1].h;

        p->nb_top[i] = ff_vmaf_cambi_top(w * h);
        p->first[i]  = nb;
        p->scale     = i;
        nb += DIV_UP(w, nb_columns) * DIV_UP(h, CAMBI_TILE_H);
        ret = launch_warps(ctx, s->kernel.cambi_filter, DIV_UP(w, 32) *
                                                        DIV_UP(h, CAMBI_FILTER_ROWS));
    }
    if (ret < 0 || (ret = launch_kernel(ctx, s->kernel.cambi_contrast, nb, 32, p)) < 0)
        return ret;
    for (p->digit = 0; p->digit < CAMBI_TOPK_DIGITS && ret >= 0; p->digit++)
        ret = launch_kernel(ctx, s->kernel.cambi_select, CAMBI_SCALES * CAMBI_TOPK_BLOCKS,
                            CAMBI_TOPK_THREADS, p);
    return ret;
}

static int launch_speed(AVFilterContext *ctx, int prescale)
{
    VMAFCUDAContext *s = ctx->priv;
    SpeedCUDAParams *p = &s->speed;
    int ret;

    p->pair      = s->pair.queue.batch_args;
    p->dims      = s->common.speed[prescale];
    p->src_x     = s->tables + offsetof(Tables, speed[prescale].src_x);
    p->src_y     = s->tables + offsetof(Tables, speed[prescale].src_y);
    p->result_at = s->speed_at[prescale];
    if ((ret = launch_kernel(ctx, s->kernel.speed_blur, DIV_UP(p->dims.grid_w, SPEED_BLUR_RUN) *
                             p->dims.grid_h * SPEED_PLANES, SPEED_BLUR_THREADS, p)) < 0 ||
        (ret = launch_kernel(ctx, s->kernel.speed_subtract, SPEED_PLANES, SPEED_THREADS, p)) < 0 ||
        (ret = launch_kernel(ctx, s->kernel.speed_covariance, 2 * SPEED_PLANES, SPEED_THREADS,
                             p)) < 0 ||
        (ret = launch_kernel(ctx, s->kernel.speed_solve, 2 * SPEED_PLANES, SPEED_THREADS, p)) < 0)
        return ret;
    return launch_kernel(ctx, s->kernel.speed_measure,
                         SPEED_PLANES * DIV_UP(p->dims.nb_blocks, 32), 32, p);
}

/// Enqueue the kernels of the batch. SpEED has few threads, which take long, and CAMBI many
/// launches: both run beside ADM.
static int launch(AVFilterContext *ctx)
{
    static const struct {
        int branch;
        int (*launch)(AVFilterContext *ctx, int instance);
    } features[VMAF_NB_FEATURES] = {
        [VMAF_FEATURE_SPEED]  = { 1, launch_speed  },
        [VMAF_FEATURE_CAMBI]  = { 2, launch_cambi  },
        [VMAF_FEATURE_ADM]    = { 3, launch_adm    },
        [VMAF_FEATURE_MOTION] = { 3, launch_motion },
    };
    const VMAFCUDAContext *s = ctx->priv;
    const VMAFContext *c = &s->common;
    int branch = 0, ret = 0;

    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes && ret >= 0; pass++) {
        if (branch != features[pass->feature].branch) {
            branch = features[pass->feature].branch;
            if ((ret = ff_cuda_queue_branch(ctx, branch)) < 0)
                return ret;
        }
        ret = features[pass->feature].launch(ctx, pass->instance);
    }
    return ret;
}

// ---- set-up ----

/// Set up for pictures of a size, and lay out the results.
static int set_size(AVFilterContext *ctx, int width, int height)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c = &s->common;
    size_t size    = sizeof(Result);
    int ret;

    if ((ret = ff_vmaf_set_size(c, ctx, width, height)) < 0)
        return ret;
    s->motion.width  = width;
    s->motion.height = height;
    s->adm.depth = s->motion.depth = s->speed.depth = c->depth;
    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes; pass++)
        if (pass->feature == VMAF_FEATURE_SPEED) {
            s->speed_at[pass->instance] = size;
            size += sizeof(float) * SPEED_PLANES *
                    ff_vmaf_speed_stats_size(&c->speed[pass->instance]);
        }
    // frames that are cropped on the GPU have smaller results
    if (!s->filter.result_size)
        s->filter.result_size = size;
    return 0;
}

/// Check formats and sizes before the device is opened.
static int check(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;
    int ret = ff_vmaf_config(&s->common, ctx, &s->pair.queue.inputs);

    for (int m = 0; m < s->common.nb_models && ret >= 0; m++)
        if (s->common.model[m].variant->family == VMAF_V0) {
            av_log(ctx, AV_LOG_ERROR, "Model %s is not supported on CUDA: use the filter vmaf.\n",
                   s->common.model[m].version);
            ret = AVERROR(ENOSYS);
        }
    return ret < 0 ? ret : set_size(ctx, ctx->inputs[0]->w, ctx->inputs[0]->h);
}

static int upload_tables(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c     = &s->common;
    Tables *t = av_mallocz(sizeof(*t));
    int ret;

    if (!t)
        return AVERROR(ENOMEM);
    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes; pass++) {
        const int i = pass->instance;

        if (pass->feature == VMAF_FEATURE_CAMBI) {
            ff_vmaf_cambi_reciprocals(t->cambi[i].reciprocal, c->cambi[i].window);
            ff_vmaf_cambi_positions(t->cambi[i].src_x, c->width,  c->cambi[i].width);
            ff_vmaf_cambi_positions(t->cambi[i].src_y, c->height, c->cambi[i].height);
        } else if (pass->feature == VMAF_FEATURE_SPEED) {
            ff_vmaf_speed_positions(t->speed[i].src_x, c->speed[i].chroma_w, c->speed[i].w);
            ff_vmaf_speed_positions(t->speed[i].src_y, c->speed[i].chroma_h, c->speed[i].h);
        }
    }
    ret = ff_cuda_queue_upload(ctx, s->tables, t, sizeof(*t));
    av_free(t);
    return ret;
}

/// Allocate memory for batches of as many pairs as there is room for.
static int setup(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c     = &s->common;
    CUDAQueue *q       = &s->pair.queue;
    size_t images = 0, cambi = 0, grids = 0, rows;
    int ret = load_modules(ctx);

    if (ret < 0)
        return ret;
    for (int i = 1; i < ADM_SCALES; i++)
        images += image_size(&c->adm[0][i]);
    s->adm.nb_rows = c->adm[0][0].h;
    rows = sizeof(uint64_t) * ADM_SCALES * ADM_SUMS * ADM_BANDS * s->adm.nb_rows;
    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes; pass++) {
        const int i = pass->instance;

        if (pass->feature == VMAF_FEATURE_CAMBI) {
            set_levels(&s->cambi, &c->cambi[i]);
            cambi = FFMAX(cambi, cambi_size(&s->cambi));
        } else if (pass->feature == VMAF_FEATURE_SPEED) {
            grids = FFMAX(grids, sizeof(float) * 2 * SPEED_PLANES *
                                 c->speed[i].grid_w * c->speed[i].grid_h);
        }
    }
    // while one batch is measured, another one comes
    q->max_batch = av_clip(MAX_MEMORY / (images + rows + cambi), 1, (q->size + 1) / 2);
    if ((ret = ff_cuda_queue_alloc(ctx, &s->images, q->max_batch * images)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->adm.rows, q->max_batch * rows)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->motion.state,
                                   q->max_batch * sizeof(MotionCUDAState))) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->cambi_memory, q->max_batch * cambi)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->cambi.state,
                                   q->max_batch * sizeof(CAMBICUDAState))) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->speed.grid, q->max_batch * grids)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->speed.plane, q->max_batch * SPEED_PLANES *
                                                         sizeof(SpeedCUDAPlane))) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->tables, sizeof(Tables))) < 0)
        return ret;
    return upload_tables(ctx);
}

// ---- a pair ----

static VMAFCUDAPlane plane(const VMAFCUDAContext *s, const AVFrame *frame, int component)
{
    const AVPixFmtDescriptor *desc   = ff_cuda_queue_format(frame->hw_frames_ctx);
    const AVComponentDescriptor *comp = &desc->comp[component];
    const int is_deep   = comp->depth > 8;
    const int is_raised = !is_deep && s->common.depth > 8;

    return (VMAFCUDAPlane){
        .data   = ff_cuda_queue_plane(frame, component) + comp->offset,
        .pitch  = frame->linesize[comp->plane],
        .step   = comp->step,
        .size   = 1 + is_deep,
        .down   = comp->shift + FFMAX(comp->depth - VMAF_MAX_DEPTH, 0),
        .mask   = (1 << FFMIN(comp->depth, VMAF_MAX_DEPTH)) - 1,
        // with the upper bits again below, if black and white are 0 and 255
        .factor = !is_raised ? 64 : component || luma_is_limited(frame, desc) ? 256 : 257,
    };
}

static int add_pair(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *reference)
{
    VMAFCUDAContext *s = ctx->priv;
    const CUDAQueue *q = &s->pair.queue;
    const AVFrame *picture[PAIR_NB] = { [PAIR_MAIN] = frame, [PAIR_REFERENCE] = reference };
    const int width = picture_width(frame), height = picture_height(frame);
    VMAFCUDAPair *pair;
    int ret;

    s->common.log.time_base = s->pair.sync.fs.time_base;
    if (width != s->common.width || height != s->common.height) {
        if (s->has_pairs) {
            av_log(ctx, AV_LOG_ERROR, "The size of the picture has changed to %dx%d: insert "
                   "scale_cuda before this filter.\n", width, height);
            return AVERROR(EINVAL);
        }
        // the size of the link is without the cropping, which CUDA frames leave to us
        if ((ret = set_size(ctx, width, height)) < 0 || (ret = setup(ctx)) < 0)
            return ret;
    }
    s->has_pairs = 1;

    pair  = ff_cuda_queue_next_args(ctx);
    *pair = (VMAFCUDAPair){
        .result    = ff_cuda_queue_next_result(ctx),
        .is_chosen = q->n % s->common.n_subsample == 0,
    };
    for (int i = 0; i < PAIR_NB; i++)
        for (int c = 0; c < 3; c++)
            pair->plane[i][c] = plane(s, picture[i], c);
    for (int i = 0; i < VMAF_NB_WINDOWS; i++) {
        const AVFrame *before = s->pair.previous[i];

        if (before && picture_width(before) == width && picture_height(before) == height)
            pair->before[i] = plane(s, before, 0);
    }
    return 1;
}

/// Pass a frame and its results to the common part, where it may wait for the next frame's motion.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *results)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c     = &s->common;
    const Result *result = results;
    const int chosen = result && c->nb_frames % c->n_subsample == 0;
    VMAFPairResult sums;
    AVFrame *held;

    for (const VMAFPass *pass = c->pass; pass < c->pass + c->nb_passes && chosen; pass++) {
        const int i = pass->instance;

        if (pass->feature == VMAF_FEATURE_CAMBI)
            sums.cambi[i] = ff_vmaf_cambi_score(&c->cambi[i], result->cambi[i]);
        else if (pass->feature == VMAF_FEATURE_SPEED)
            ff_vmaf_speed_score(&c->speed[i],
                                (const float *)((const uint8_t *)results + s->speed_at[i]),
                                sums.speed[i]);
    }
    if (chosen)
        memcpy(sums.adm, result->adm, sizeof(sums.adm));
    if (!(held = av_frame_clone(frame)))
        return AVERROR(ENOMEM);
    ff_vmaf_add(c, held, chosen ? &sums : NULL, result ? result->sad : NULL);
    return 0;
}

static int get_frame(AVFilterContext *ctx, AVFrame **frame, int ended)
{
    VMAFCUDAContext *s = ctx->priv;

    return ff_vmaf_get(&s->common, ctx, frame, ended);
}

// ---- filter ----

static const CUDAQueueFilter filter = {
    .module    = CUDA_QUEUE_MODULE(vf_vmaf_adm_cuda, adm_kernels),
    .args_size = sizeof(VMAFCUDAPair),
    .check  = check,
    .setup  = setup,
    .add    = add_pair,
    .launch = launch,
    .report = report,
    .get    = get_frame,
};

static av_cold int init(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;

    s->filter               = filter;
    s->pair.queue.filter    = &s->filter;
    s->pair.nb_previous     = VMAF_NB_WINDOWS;
    s->pair.mixes_formats   = 1;
    s->pair.queue.inputs.min_size = VMAF_MIN_SIZE;
    s->pair.sync.output     = &s->common.log.output;
    return ff_vmaf_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;

    ff_cuda_pair_uninit(ctx);
    ff_vmaf_uninit(&s->common, ctx, s->pair.queue.eof == AVERROR_EOF);
}

const FFFilter ff_vf_vmaf_cuda = {
    .p.name         = "vmaf_cuda",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Measure VMAF v1 of CUDA frames against a reference."),
    .p.priv_class   = &vmaf_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(VMAFCUDAContext),
    .init           = init,
    .activate       = ff_cuda_pair_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_pair_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(ff_cuda_pair_output),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};

#if CONFIG_VMAF_CUDA_COMPAT_FILTER
// ---- the same filter under the name of libvmaf's ----

static const AVOption libvmaf_cuda_options[] = {
    VMAF_COMPAT_OPTIONS(VMAFCUDAContext, common, FLAGS),
    CUDA_QUEUE_OPTION_OF(32, FLAGS),
    PAIR_SYNC_OPTIONS_WITH(VMAFCUDAContext, pair.sync, EOF_ACTION_REPEAT, TS_DEFAULT, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(libvmaf_cuda);

static av_cold int compat_init(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;

    s->common.log.is_compat = 1;
    return init(ctx);
}

const FFFilter ff_vf_vmaf_cuda_compat = {
    .p.name         = "libvmaf_cuda",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Measure VMAF of CUDA frames against a reference (built in)."),
    .p.priv_class   = &libvmaf_cuda_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(VMAFCUDAContext),
    .init           = compat_init,
    .activate       = ff_cuda_pair_activate,
    .uninit         = uninit,
    .process_command = ff_cuda_pair_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(ff_cuda_pair_output),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
#endif // CONFIG_VMAF_CUDA_COMPAT_FILTER
