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
 * VMAF of CUDA frames
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
#include "vf_vmaf_cuda.h"
#include "vf_vmaf_motion_cuda.h"
#include "vf_vmaf_speed_cuda.h"
#include "vf_vmaf_vif_cuda.h"
#include "vmaf.h"
#include "vmaf_cambi_cuda.h"

/// Results of a pair. They are followed by SpEED's statistics of each prescaled size of chroma.
typedef struct Result {
    ADMSums adm[VMAF_MAX_MODELS];
    uint64_t sad[VMAF_NB_WINDOWS];
    VIFSums vif[VMAF_MAX_MODELS];
    double cambi[VMAF_MAX_MODELS][CAMBI_SCALES];   ///< means of the largest c-values
} Result;

/// Lookup tables of CAMBI for each model, of SpEED for each prescaled size of chroma, and of VIF.
typedef struct Tables {
    CAMBICUDATables cambi[VMAF_MAX_MODELS];
    struct {
        SpeedPosition src_x[LUMA_MAX_SIZE], src_y[LUMA_MAX_SIZE];
    } speed[VMAF_NB_PRESCALES];
    uint32_t log2[VIF_LOG2_WORDS];
} Tables;

typedef struct VMAFCUDAContext {
    CUDAPair pair;
    VMAFContext common;

    CUDAQueueFilter filter;         ///< with the size of results of these pictures
    struct {
        CUfunction adm_first, adm_next, adm_first_gain, adm_next_gain, adm_finish;
        CUfunction motion;
        CUfunction speed_blur, speed_subtract, speed_covariance, speed_solve, speed_measure;
        CUfunction vif[2][1 + VIF_SCALES];      ///< [uses double][first scale: 8 bits, others; scale]
    } kernel;
    int has_modules;
    CUdeviceptr images, vif_images, tables;
    size_t speed_at[VMAF_NB_PRESCALES];     ///< offset in the results
    int has_pairs;
    ADMCUDAParams adm;
    MotionCUDAParams motion;
    CAMBICUDAContext cambi;
    SpeedCUDAParams speed;
    VIFCUDAParams vif;
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
CUDA_QUEUE_PTX(vf_vmaf_vif_cuda);
CUDA_QUEUE_CHECK_PARAMS(ADMCUDAParams);
CUDA_QUEUE_CHECK_PARAMS(MotionCUDAParams);
CUDA_QUEUE_CHECK_PARAMS(SpeedCUDAParams);
CUDA_QUEUE_CHECK_PARAMS(VIFCUDAParams);
static_assert(sizeof(VIFScaleSums) == VIF_NB_SUMS * sizeof(uint64_t), "VIF_NB_SUMS");

// ---- kernels ----

static const CUDAQueueKernel adm_kernels[] = {
    { "vmaf_adm_first",        OFFSET(kernel.adm_first)         },
    { "vmaf_adm_next",         OFFSET(kernel.adm_next)          },
    { "vmaf_adm_first_gain",   OFFSET(kernel.adm_first_gain)    },
    { "vmaf_adm_next_gain",    OFFSET(kernel.adm_next_gain)     },
    { "vmaf_adm_finish",       OFFSET(kernel.adm_finish)        },
    { NULL }
};

static const CUDAQueueKernel motion_kernels[] = {
    { "vmaf_motion",           OFFSET(kernel.motion)            },
    { NULL }
};

static const CUDAQueueKernel cambi_kernels[] = { CAMBI_CUDA_KERNELS(OFFSET(cambi)) };

static const CUDAQueueKernel speed_kernels[] = {
    { "vmaf_speed_blur",       OFFSET(kernel.speed_blur)        },
    { "vmaf_speed_subtract",   OFFSET(kernel.speed_subtract)    },
    { "vmaf_speed_covariance", OFFSET(kernel.speed_covariance)  },
    { "vmaf_speed_solve",      OFFSET(kernel.speed_solve)       },
    { "vmaf_speed_measure",    OFFSET(kernel.speed_measure)     },
    { NULL }
};

static const CUDAQueueKernel vif_kernels[] = {
    { "vmaf_vif_first_8_integer",  OFFSET(kernel.vif[0][0])     },
    { "vmaf_vif_first_12_integer", OFFSET(kernel.vif[0][1])     },
    { "vmaf_vif_scale1_integer",   OFFSET(kernel.vif[0][2])     },
    { "vmaf_vif_scale2_integer",   OFFSET(kernel.vif[0][3])     },
    { "vmaf_vif_scale3_integer",   OFFSET(kernel.vif[0][4])     },
    { "vmaf_vif_first_8_double",   OFFSET(kernel.vif[1][0])     },
    { "vmaf_vif_first_12_double",  OFFSET(kernel.vif[1][1])     },
    { "vmaf_vif_scale1_double",    OFFSET(kernel.vif[1][2])     },
    { "vmaf_vif_scale2_double",    OFFSET(kernel.vif[1][3])     },
    { "vmaf_vif_scale3_double",    OFFSET(kernel.vif[1][4])     },
    { NULL }
};

/// Load the kernels of the features that are measured; the queue has loaded those of ADM.
static int load_modules(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;
    const CUDAQueueModule modules[VMAF_NB_FEATURES] = {
        [VMAF_FEATURE_CAMBI]  = CUDA_QUEUE_MODULE(vf_vmaf_cambi_cuda, cambi_kernels),
        [VMAF_FEATURE_MOTION] = CUDA_QUEUE_MODULE(vf_vmaf_motion_cuda, motion_kernels),
        [VMAF_FEATURE_SPEED]  = CUDA_QUEUE_MODULE(vf_vmaf_speed_cuda, speed_kernels),
        [VMAF_FEATURE_VIF]    = CUDA_QUEUE_MODULE(vf_vmaf_vif_cuda, vif_kernels),
    };
    int is_loaded[VMAF_NB_FEATURES] = { [VMAF_FEATURE_ADM] = 1 }, ret = 0;

    for (int i = 0; i < s->common.nb_passes && !s->has_modules && ret >= 0; i++) {
        const enum VMAFFeature feature = s->common.pass[i].feature;

        if (!is_loaded[feature]++)
            ret = ff_cuda_queue_load(ctx, &modules[feature]);
    }
    s->has_modules = ret >= 0;
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
    const int has_gain = s->common.adm[instance]->gain.factor != 1;
    const CUfunction kernel[] = { has_gain ? s->kernel.adm_first_gain : s->kernel.adm_first,
                                  has_gain ? s->kernel.adm_next_gain  : s->kernel.adm_next };

    p->pair = s->pair.queue.batch_args;
    p->next = s->images;
    for (int i = 0; i < ADM_SCALES; i++) {
        int ret;

        p->adm   = s->common.adm[instance][i];
        p->image = p->next;
        p->next += i ? s->pair.queue.max_batch * image_size(&p->adm) : 0;
        memcpy(p->row_shift[i], p->adm.row_shift, sizeof(p->adm.row_shift));
        ret = launch_kernel(ctx, kernel[i > 0], DIV_UP(p->adm.w, ADM_TILE_W * ADM_TILES(i)) *
                                                DIV_UP(p->adm.h, ADM_TILE_H), ADM_THREADS, p);
        if (ret < 0)
            return ret;
    }
    p->result_at = offsetof(Result, adm[instance]);
    return launch_kernel(ctx, s->kernel.adm_finish, ADM_SCALES * ADM_SUMS * ADM_BANDS,
                         ADM_FINISH_THREADS, p);
}

static int launch_cambi(AVFilterContext *ctx, int model)
{
    VMAFCUDAContext *s    = ctx->priv;
    const CAMBIDims *dims = &s->common.cambi[model];

    return ff_vmaf_cambi_cuda_launch(ctx, &s->cambi, dims, dims->width  != s->common.width ||
                                                           dims->height != s->common.height,
                                     s->tables + offsetof(Tables, cambi[model]),
                                     offsetof(Result, cambi[model]));
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

/// Bytes of the pictures of a scale of VIF, for a pair.
static size_t vif_image_size(const VIFDims *dims, int scale)
{
    return sizeof(uint16_t) * PAIR_NB * dims->w[scale] * dims->h[scale];
}

static int launch_vif(AVFilterContext *ctx, int instance)
{
    VMAFCUDAContext *s  = ctx->priv;
    const VIFDims *dims = &s->common.vif[instance];
    VIFCUDAParams *p    = &s->vif;
    const int use_double = s->pair.queue.has_fast_double ||
                           dims->gain_limit != (int)dims->gain_limit;
    int ret = 0;

    p->pair       = s->pair.queue.batch_args;
    p->next       = s->vif_images;
    p->log2_table = s->tables + offsetof(Tables, log2);
    p->gain_limit = dims->gain_limit;
    for (int i = 0; i < VIF_SCALES && ret >= 0; i++) {
        p->width     = dims->w[i];
        p->height    = dims->h[i];
        p->image     = p->next;
        p->next     += i ? s->pair.queue.max_batch * vif_image_size(dims, i) : 0;
        p->result_at = offsetof(Result, vif[instance].scale[i]);
        ret = launch_kernel(ctx, s->kernel.vif[use_double][i ? 1 + i : p->depth > 8],
                            DIV_UP(p->width, VIF_STRIP_W) * DIV_UP(p->height, VIF_STRIP_H(i)),
                            VIF_THREADS, p);
    }
    return ret;
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
        [VMAF_FEATURE_VIF]    = { 4, launch_vif    },
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
    s->adm.depth = s->motion.depth = s->speed.depth = s->vif.depth = c->depth;
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
            ff_vmaf_cambi_cuda_tables(&t->cambi[i], &c->cambi[i], c->width, c->height);
        } else if (pass->feature == VMAF_FEATURE_SPEED) {
            ff_vmaf_speed_positions(t->speed[i].src_x, c->speed[i].chroma_w, c->speed[i].w);
            ff_vmaf_speed_positions(t->speed[i].src_y, c->speed[i].chroma_h, c->speed[i].h);
        } else if (pass->feature == VMAF_FEATURE_VIF) {
            ff_vmaf_vif_log2_init(t->log2);
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
    size_t images = 0, vif_images = 0, cambi = 0, grids = 0, rows;
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
            cambi = FFMAX(cambi, ff_vmaf_cambi_cuda_size(&c->cambi[i]));
        } else if (pass->feature == VMAF_FEATURE_SPEED) {
            grids = FFMAX(grids, sizeof(float) * 2 * SPEED_PLANES *
                                 c->speed[i].grid_w * c->speed[i].grid_h);
        } else if (pass->feature == VMAF_FEATURE_VIF) {
            vif_images = 0;
            for (int scale = 1; scale < VIF_SCALES; scale++)
                vif_images += vif_image_size(&c->vif[i], scale);
        }
    }
    // while one batch is measured, another one comes
    q->max_batch = av_clip(VMAF_CUDA_MAX_MEMORY / (images + vif_images + rows + cambi), 1,
                           (q->size + 1) / 2);
    if ((ret = ff_cuda_queue_alloc(ctx, &s->images, q->max_batch * images)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->adm.rows, q->max_batch * rows)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->vif_images, q->max_batch * vif_images)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->vif.state,
                                   q->max_batch * sizeof(VIFCUDAState))) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->motion.state,
                                   q->max_batch * sizeof(MotionCUDAState))) < 0 ||
        (ret = ff_vmaf_cambi_cuda_alloc(ctx, &s->cambi, cambi)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->speed.grid, q->max_batch * grids)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->speed.plane, q->max_batch * SPEED_PLANES *
                                                         sizeof(SpeedCUDAPlane))) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->tables, sizeof(Tables))) < 0)
        return ret;
    return upload_tables(ctx);
}

// ---- a pair ----

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
            pair->plane[i][c] = ff_vmaf_cuda_plane(picture[i], c, s->common.depth);
    for (int i = 0; i < VMAF_NB_WINDOWS; i++) {
        const AVFrame *before = s->pair.previous[i];

        if (before && picture_width(before) == width && picture_height(before) == height)
            pair->before[i] = ff_vmaf_cuda_plane(before, 0, s->common.depth);
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
    if (chosen) {
        memcpy(sums.adm, result->adm, sizeof(sums.adm));
        memcpy(sums.vif, result->vif, sizeof(sums.vif));
    }
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
        NULL_IF_CONFIG_SMALL("Measure VMAF of CUDA frames against a reference."),
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
