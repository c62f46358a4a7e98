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

#include "libavutil/attributes.h"
#include "libavutil/macros.h"
#include "libavutil/pixdesc.h"

#include "cuda/async.h"
#include "sample_format.h"
#include "vmaf_cambi.h"
#include "vmaf_cambi_cuda.h"

CUDA_QUEUE_CHECK_PARAMS(CAMBICUDAParams);

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

size_t ff_vmaf_cambi_cuda_size(const CAMBIDims *dims)
{
    CAMBICUDAParams p;

    set_levels(&p, dims);
    return sizeof(float) * p.nb_c_values + sizeof(uint16_t) * p.level_size +
           sizeof(uint32_t) * DIV_UP(dims->width, 32) * dims->height;
}

av_cold void ff_vmaf_cambi_cuda_tables(CAMBICUDATables *dst, const CAMBIDims *dims, int width,
                                       int height)
{
    ff_vmaf_cambi_reciprocals(dst->reciprocal, dims->window);
    ff_vmaf_cambi_positions(dst->src_x, width,  dims->width);
    ff_vmaf_cambi_positions(dst->src_y, height, dims->height);
}

int ff_vmaf_cambi_cuda_alloc(AVFilterContext *ctx, CAMBICUDAContext *s, size_t size)
{
    const CUDAQueue *q = ctx->priv;
    int ret = ff_cuda_queue_alloc(ctx, &s->memory, q->max_batch * size);

    return ret < 0 ? ret : ff_cuda_queue_alloc(ctx, &s->params.state,
                                               q->max_batch * sizeof(CAMBICUDAState));
}

/// Launch a kernel with nb_blocks thread blocks for each pair of the batch.
static int launch_kernel(AVFilterContext *ctx, CUfunction function, int nb_blocks, int nb_threads,
                         CAMBICUDAParams *p)
{
    const CUDAQueue *q = ctx->priv;

    return ff_cuda_queue_launch(ctx, function, nb_blocks, q->nb_batch, nb_threads, 1, 0, p);
}

/// Launch a kernel with nb jobs of a warp each.
static int launch_warps(AVFilterContext *ctx, CUfunction function, int nb, CAMBICUDAParams *p)
{
    return launch_kernel(ctx, function, DIV_UP(nb, CAMBI_WARPS), CAMBI_WARPS * 32, p);
}

int ff_vmaf_cambi_cuda_launch(AVFilterContext *ctx, CAMBICUDAContext *s, const CAMBIDims *dims,
                              int is_scaled, CUdeviceptr tables, int result_at)
{
    const CUDAQueue *q   = ctx->priv;
    CAMBICUDAParams *p   = &s->params;
    const int nb_columns = 128 - 8 * DIV_UP(dims->window / 2, 4);
    const int max_batch  = q->max_batch;
    int nb = 0, ret;

    set_levels(p, dims);
    p->pair            = q->batch_args;
    p->c_value         = s->memory;
    p->value           = p->c_value + sizeof(float) * max_batch * p->nb_c_values;
    p->zero_derivative = p->value + sizeof(uint16_t) * max_batch * p->level_size;
    p->is_scaled       = is_scaled;
    p->reciprocal      = tables + offsetof(CAMBICUDATables, reciprocal);
    p->src_x           = tables + offsetof(CAMBICUDATables, src_x);
    p->src_y           = tables + offsetof(CAMBICUDATables, src_y);
    p->result_at       = result_at;
    ret = launch_warps(ctx, s->prepare, DIV_UP(p->dims.width, 64) *
                                         DIV_UP(p->dims.height, CAMBI_ROWS), p);
    for (int i = 0; i < CAMBI_SCALES && ret >= 0; i++) {
        const int w = p->level[i + 1].w, h = p->level[i + 1].h;

        p->nb_top[i] = ff_vmaf_cambi_top(w * h);
        p->first[i]  = nb;
        p->scale     = i;
        nb += DIV_UP(w, nb_columns) * DIV_UP(h, CAMBI_TILE_H);
        ret = launch_warps(ctx, s->filter, DIV_UP(w, 32) * DIV_UP(h, CAMBI_FILTER_ROWS), p);
    }
    if (ret < 0 || (ret = launch_kernel(ctx, s->contrast, nb, 32, p)) < 0)
        return ret;
    for (p->digit = 0; p->digit < CAMBI_TOPK_DIGITS && ret >= 0; p->digit++)
        ret = launch_kernel(ctx, s->select, CAMBI_SCALES * CAMBI_TOPK_BLOCKS,
                            CAMBI_TOPK_THREADS, p);
    return ret;
}

VMAFCUDAPlane ff_vmaf_cuda_plane(const AVFrame *frame, int component, int depth)
{
    const AVPixFmtDescriptor *desc   = ff_cuda_queue_format(frame->hw_frames_ctx);
    const AVComponentDescriptor *comp = &desc->comp[component];
    const int is_deep   = comp->depth > 8;
    const int is_raised = !is_deep && depth > 8;

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
