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
 * The twin of vf_vmaf.c: the same digits. Kernels sum integers and make the statistics of chroma;
 * vmaf.c makes features and scores of these. The filter does not wait for results: main frames
 * leave in order, each when its result and that of the frame after it have come back.
 */

#include <stddef.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/pair.h"
#include "filters.h"
#include "luma.h"
#include "vf_vmaf_cuda.h"
#include "vmaf.h"

/// Bytes of the device that a batch of more than one pair may take.
#define MAX_MEMORY (768 << 20)

/// What comes back for a pair. Behind it is, for each size of chroma, what SpEED finds in planes.
typedef struct Result {
    ADMSums adm[VMAF_NB_CSF];
    uint64_t sad[VMAF_NB_WINDOWS];
    double cambi[VMAF_MAX_MODELS][CAMBI_SCALES];   ///< means of the largest contrasts
} Result;

/// What CAMBI reads of a model, and SpEED of a size of chroma.
typedef struct Tables {
    struct {
        float reciprocal[CAMBI_MAX_WINDOW * CAMBI_MAX_WINDOW + 1];
        int column[LUMA_MAX_SIZE], line[LUMA_MAX_SIZE];
    } cambi[VMAF_MAX_MODELS];
    struct {
        SpeedPosition column[LUMA_MAX_SIZE], line[LUMA_MAX_SIZE];
    } speed[VMAF_NB_PRESCALES];
} Tables;

typedef struct VMAFCUDAContext {
    CUDAPair pair;
    VMAFContext common;

    CUDAQueueFilter filter;         ///< with the size of results of these pictures
    CUfunction motion, adm_first, adm_next, adm_finish;
    CUfunction cambi_prepare, cambi_filter, cambi_contrast, cambi_select;
    CUfunction speed_blur, speed_subtract, speed_covariance, speed_solve, speed_measure;
    CUdeviceptr images, cambi_memory, tables;
    size_t speed_at[VMAF_NB_PRESCALES];     ///< in the results
    int has_pairs;
    VMAFCUDAParams params;
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
CUDA_QUEUE_CHECK_PARAMS(VMAFCUDAParams);

// ---- kernels ----

static const CUDAQueueKernel adm_kernels[] = {
    { "vmaf_adm_first",        OFFSET(adm_first)        },
    { "vmaf_adm_next",         OFFSET(adm_next)         },
    { "vmaf_adm_finish",       OFFSET(adm_finish)       },
    { NULL }
};

static const CUDAQueueKernel motion_kernels[] = {
    { "vmaf_motion",           OFFSET(motion)           },
    { NULL }
};

static const CUDAQueueKernel cambi_kernels[] = {
    { "vmaf_cambi_prepare",    OFFSET(cambi_prepare)    },
    { "vmaf_cambi_filter",     OFFSET(cambi_filter)     },
    { "vmaf_cambi_contrast",   OFFSET(cambi_contrast)   },
    { "vmaf_cambi_select",     OFFSET(cambi_select)     },
    { NULL }
};

static const CUDAQueueKernel speed_kernels[] = {
    { "vmaf_speed_blur",       OFFSET(speed_blur)       },
    { "vmaf_speed_subtract",   OFFSET(speed_subtract)   },
    { "vmaf_speed_covariance", OFFSET(speed_covariance) },
    { "vmaf_speed_solve",      OFFSET(speed_solve)      },
    { "vmaf_speed_measure",    OFFSET(speed_measure)    },
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

    for (int i = 0; i < FF_ARRAY_ELEMS(modules) && !s->speed_measure && ret >= 0; i++)
        ret = ff_cuda_queue_load(ctx, &modules[i]);
    return ret;
}

static int launch_kernel(AVFilterContext *ctx, CUfunction function, int nb_blocks, int nb_threads)
{
    VMAFCUDAContext *s = ctx->priv;

    return ff_cuda_queue_launch(ctx, function, nb_blocks, s->pair.queue.nb_batch, nb_threads, 1, 0,
                                &s->params);
}

static int launch_motion(AVFilterContext *ctx, enum VMAFWindow window)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFCUDAParams *p  = &s->params;

    p->window    = window;
    p->result_at = offsetof(Result, sad[window]);
    return launch_kernel(ctx, s->motion, DIV_UP(p->width, VMAF_MOTION_TILE_W) *
                                         DIV_UP(p->height, VMAF_MOTION_TILE_H),
                         VMAF_MOTION_THREADS);
}

/// Bytes that the pictures of a scale after the first take, for a pair.
static size_t image_size(const ADMScale *adm)
{
    return sizeof(int32_t) * PAIR_NB * adm->width * adm->height;
}

static int launch_adm(AVFilterContext *ctx, enum VMAFCSF csf)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFCUDAParams *p  = &s->params;

    p->next = s->images;
    for (int i = 0; i < ADM_SCALES; i++) {
        int ret;

        p->adm   = s->common.adm[csf][i];
        p->image = p->next;
        p->next += i ? s->pair.queue.max_batch * image_size(&p->adm) : 0;
        memcpy(p->row_shift[i], p->adm.row_shift, sizeof(p->adm.row_shift));
        ret = launch_kernel(ctx, i ? s->adm_next : s->adm_first,
                            DIV_UP(p->adm.w, VMAF_ADM_TILE_W * VMAF_ADM_TILES(i)) *
                            DIV_UP(p->adm.h, VMAF_ADM_TILE_H),
                            VMAF_ADM_TILE_W * VMAF_ADM_TILE_H);
        if (ret < 0)
            return ret;
    }
    p->result_at = offsetof(Result, adm[csf]);
    return launch_kernel(ctx, s->adm_finish, ADM_SCALES * ADM_SUMS * ADM_BANDS,
                         VMAF_FINISH_THREADS);
}

/// Sizes and places of the scales' pictures.
static void describe_levels(VMAFCUDAParams *p, const CAMBIDims *picture)
{
    int divisor = 1 + picture->high_res_speedup;

    p->cambi      = *picture;
    p->level_size = 0;
    for (int i = 0; i <= CAMBI_SCALES; i++) {
        p->level[i].w  = DIV_UP(picture->width,  divisor);
        p->level[i].h  = DIV_UP(picture->height, divisor);
        // four samples are read at a time
        p->level[i].pitch = FFALIGN(p->level[i].w, 4);
        p->level[i].at = p->level_size;
        p->level_size += p->level[i].pitch * p->level[i].h;
        divisor      <<= i > 0;
    }
    p->nb_contrasts = p->level_size - p->level[1].at;
}

/// Bytes that CAMBI takes for a pair.
static size_t cambi_size(const VMAFCUDAParams *p)
{
    return sizeof(float) * p->nb_contrasts + sizeof(uint16_t) * p->level_size +
           sizeof(uint32_t) * DIV_UP(p->cambi.width, 32) * p->cambi.height;
}

/// Launch a kernel of CAMBI, of so many jobs of a warp each.
static int launch_warps(AVFilterContext *ctx, CUfunction function, int nb)
{
    return launch_kernel(ctx, function, DIV_UP(nb, VMAF_CAMBI_WARPS), VMAF_CAMBI_WARPS * 32);
}

static int launch_cambi(AVFilterContext *ctx, int model)
{
    VMAFCUDAContext *s   = ctx->priv;
    VMAFCUDAParams *p    = &s->params;
    const int nb_columns = 128 - 8 * DIV_UP(s->common.cambi[model].window / 2, 4);
    const int max_batch  = s->pair.queue.max_batch;
    int nb = 0, ret;

    describe_levels(p, &s->common.cambi[model]);
    p->contrast   = s->cambi_memory;
    p->value      = p->contrast + sizeof(float) * max_batch * p->nb_contrasts;
    p->flat       = p->value + sizeof(uint16_t) * max_batch * p->level_size;
    p->reciprocal = s->tables + offsetof(Tables, cambi[model].reciprocal);
    p->column     = s->tables + offsetof(Tables, cambi[model].column);
    p->line       = s->tables + offsetof(Tables, cambi[model].line);
    p->result_at  = offsetof(Result, cambi[model]);
    ret = launch_warps(ctx, s->cambi_prepare, DIV_UP(p->cambi.width, 64) *
                                              DIV_UP(p->cambi.height, VMAF_CAMBI_ROWS));
    for (int i = 0; i < CAMBI_SCALES && ret >= 0; i++) {
        const int w = p->level[i + 1].w, h = p->level[i + 1].h;

        p->top[i]   = ff_vmaf_cambi_top(w * h);
        p->first[i] = nb;
        p->scale    = i;
        nb += DIV_UP(w, nb_columns) * DIV_UP(h, VMAF_CAMBI_TILE_H);
        ret = launch_warps(ctx, s->cambi_filter, DIV_UP(w, 32) *
                                                 DIV_UP(h, VMAF_CAMBI_FILTER_ROWS));
    }
    if (ret < 0 || (ret = launch_kernel(ctx, s->cambi_contrast, nb, 32)) < 0)
        return ret;
    for (p->digit = 0; p->digit < VMAF_SELECT_DIGITS && ret >= 0; p->digit++)
        ret = launch_kernel(ctx, s->cambi_select, CAMBI_SCALES * VMAF_SELECT_BLOCKS,
                            VMAF_SELECT_THREADS);
    return ret;
}

static int launch_speed(AVFilterContext *ctx, enum VMAFPrescale prescale)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFCUDAParams *p  = &s->params;
    const int nb_planes = VMAF_CHROMA * PAIR_NB;
    int ret;

    p->speed        = s->common.speed[prescale];
    p->speed_column = s->tables + offsetof(Tables, speed[prescale].column);
    p->speed_line   = s->tables + offsetof(Tables, speed[prescale].line);
    p->result_at    = s->speed_at[prescale];
    if ((ret = launch_kernel(ctx, s->speed_blur, DIV_UP(p->speed.grid_w, VMAF_BLUR_RUN) *
                             p->speed.grid_h * nb_planes, VMAF_BLUR_THREADS)) < 0 ||
        (ret = launch_kernel(ctx, s->speed_subtract, nb_planes, VMAF_SPEED_THREADS)) < 0 ||
        (ret = launch_kernel(ctx, s->speed_covariance, 2 * nb_planes, VMAF_SPEED_THREADS)) < 0 ||
        (ret = launch_kernel(ctx, s->speed_solve, 2 * nb_planes, VMAF_SPEED_THREADS)) < 0)
        return ret;
    return launch_kernel(ctx, s->speed_measure, nb_planes *
                         DIV_UP(p->speed.nb_blocks, 32), 32);
}

/// Enqueue the kernels of the batch. SpEED has few threads, which take long; CAMBI many launches.
static int launch(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;
    const VMAFContext *c = &s->common;
    int ret = ff_cuda_queue_branch(ctx, 1);

    s->params.pair = s->pair.queue.batch_args;
    for (int i = 0; i < VMAF_NB_PRESCALES && ret >= 0; i++)
        ret = c->needs_prescale[i] ? launch_speed(ctx, i) : 0;
    if (ret < 0 || (ret = ff_cuda_queue_branch(ctx, 2)) < 0)
        return ret;
    for (int i = 0; i < c->nb_models && ret >= 0; i++)
        ret = c->model[i].cambi_instance == i ? launch_cambi(ctx, i) : 0;
    if (ret < 0 || (ret = ff_cuda_queue_branch(ctx, 3)) < 0)
        return ret;
    for (int i = 0; i < VMAF_NB_CSF && ret >= 0; i++)
        ret = c->needs_csf[i] ? launch_adm(ctx, i) : 0;
    for (int i = 0; i < VMAF_NB_WINDOWS && ret >= 0; i++)
        ret = c->needs_window[i] ? launch_motion(ctx, i) : 0;
    return ret;
}

// ---- set-up ----

/// Describe what is measured of pictures of a size, and what comes back.
static int set_size(AVFilterContext *ctx, int width, int height)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c = &s->common;
    size_t size    = sizeof(Result);
    int ret;

    if ((ret = ff_vmaf_set_size(c, ctx, width, height)) < 0)
        return ret;
    s->params.width  = width;
    s->params.height = height;
    s->params.depth  = c->depth;
    for (int i = 0; i < VMAF_NB_PRESCALES; i++) {
        s->speed_at[i] = size;
        if (c->needs_prescale[i])
            size += sizeof(float) * VMAF_CHROMA * PAIR_NB * ff_vmaf_speed_stats_size(&c->speed[i]);
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
    for (int i = 0; i < c->nb_models; i++)
        if (c->model[i].cambi_instance == i) {
            ff_vmaf_cambi_reciprocals(t->cambi[i].reciprocal, c->cambi[i].window);
            ff_vmaf_cambi_positions(t->cambi[i].column, s->params.width,  c->cambi[i].width);
            ff_vmaf_cambi_positions(t->cambi[i].line,   s->params.height, c->cambi[i].height);
        }
    for (int i = 0; i < VMAF_NB_PRESCALES; i++)
        if (c->needs_prescale[i]) {
            ff_vmaf_speed_positions(t->speed[i].column, c->speed[i].chroma_w, c->speed[i].w);
            ff_vmaf_speed_positions(t->speed[i].line,   c->speed[i].chroma_h, c->speed[i].h);
        }
    ret = ff_cuda_queue_upload(ctx, s->tables, t, sizeof(*t));
    av_free(t);
    return ret;
}

/// Get memory for batches of as many pairs as there is room for.
static int setup(AVFilterContext *ctx)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c     = &s->common;
    VMAFCUDAParams *p  = &s->params;
    CUDAQueue *q       = &s->pair.queue;
    size_t images = 0, cambi = 0, grids = 0, rows;
    int ret = load_modules(ctx);

    if (ret < 0)
        return ret;
    for (int i = 1; i < ADM_SCALES; i++)
        images += image_size(&c->adm[0][i]);
    p->nb_rows = c->adm[0][0].h;
    rows = sizeof(uint64_t) * ADM_SCALES * ADM_SUMS * ADM_BANDS * p->nb_rows;
    for (int i = 0; i < c->nb_models; i++) {
        if (c->model[i].cambi_instance != i)
            continue;
        describe_levels(p, &c->cambi[i]);
        cambi = FFMAX(cambi, cambi_size(p));
    }
    for (int i = 0; i < VMAF_NB_PRESCALES; i++)
        grids = FFMAX(grids, sizeof(float) * 2 * VMAF_CHROMA * PAIR_NB *
                             c->speed[i].grid_w * c->speed[i].grid_h);
    // while one batch is measured, another one comes
    q->max_batch = av_clip(MAX_MEMORY / (images + rows + cambi), 1,
                           FFMIN((q->size + 1) / 2, VMAF_MAX_BATCH));
    if ((ret = ff_cuda_queue_alloc(ctx, &s->images, q->max_batch * images)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &p->rows, q->max_batch * rows)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &s->cambi_memory, q->max_batch * cambi)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &p->grid, VMAF_MAX_BATCH * grids)) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &p->chroma, VMAF_MAX_BATCH * VMAF_CHROMA * PAIR_NB *
                                                    sizeof(VMAFCUDAChroma))) < 0 ||
        (ret = ff_cuda_queue_alloc(ctx, &p->state, VMAF_MAX_BATCH * sizeof(VMAFCUDAState))) < 0 ||
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
    const int is_raised = !is_deep && s->params.depth > 8;

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
    if (width != s->params.width || height != s->params.height) {
        if (s->has_pairs) {
            av_log(ctx, AV_LOG_ERROR, "The size of the picture has changed to %dx%d: insert "
                   "scale_cuda before this filter.\n", width, height);
            return AVERROR(EINVAL);
        }
        // that of the link is without the cropping, which CUDA frames leave to us
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

/// Hand over a frame whose result is there, and which may wait for the next one.
static int report(AVFilterContext *ctx, AVFrame *frame, const void *results)
{
    VMAFCUDAContext *s = ctx->priv;
    VMAFContext *c     = &s->common;
    const Result *result = results;
    const int chosen = result && c->nb_frames % c->n_subsample == 0;
    VMAFPairResult sums;
    AVFrame *held;

    for (int i = 0; i < c->nb_models && chosen; i++)
        if (c->model[i].cambi_instance == i)
            sums.cambi[i] = ff_vmaf_cambi_score(&c->cambi[i], result->cambi[i]);
    for (int i = 0; i < VMAF_NB_PRESCALES && chosen; i++)
        if (c->needs_prescale[i])
            ff_vmaf_speed_score(&c->speed[i],
                                (const float *)((const uint8_t *)results + s->speed_at[i]),
                                sums.speed[i]);
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
