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

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "config.h"

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/cpu.h"
#include "libavutil/error.h"
#include "libavutil/log.h"

#include "filters.h"
#include "shared_arith.h"
#include "vmaf_speed.h"
#include "vmaf_speed_template.c"

#define SPEED_MIN_SIZE 80       ///< least side of a scaled plane, in samples
#define SPEED_NN_FLOOR 0.1f     ///< speed_nn_floor of the v1 models
#define SPEED_MAX_VAL  45       ///< speed_max_val of the v1 models

#define TAPS SPEED_TAPS
#define STEP SPEED_STEP

// ---- grid ----

av_cold void ff_vmaf_speed_dsp_init(SpeedDSPContext *dsp)
{
    *dsp = row_functions;
#if HAVE_AVX2
    if (av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
        ff_vmaf_speed_dsp_init_avx2(dsp);
#endif
}

/// Add row y of a scaled plane, times a tap.
static void add_chroma(const SpeedContext *s, float *sum, float tap, const uint8_t *data,
                       ptrdiff_t linesize, int y)
{
    const SpeedPosition *src_y = &s->src_y[y];
    const uint8_t *a = data + src_y->before * linesize, *b = data + src_y->after * linesize;

    if (s->dims.is_scaled)
        s->dsp.add_bilinear(sum, tap, a, b, src_y->weight, s->src_x, s->depth, s->dims.w);
    else
        s->dsp.add_row(sum, tap, a, s->depth, s->dims.w);
}

/// Blur a plane at the samples of the grid.
static void make_grid(const SpeedContext *s, SpeedPlane *p, const uint8_t *data,
                      ptrdiff_t linesize)
{
    static const float tap[TAPS] = SPEED_BLUR;
    const SpeedDims *dims = &s->dims;

    for (int y = 0; y < dims->grid_h; y++) {
        memset(p->sum, 0, dims->w * sizeof(*p->sum));
        for (int i = 0; i < TAPS; i++)
            add_chroma(s, p->sum, tap[i], data, linesize,
                       vmaf_mirror(y * STEP + i - TAPS / 2, dims->h));
        // the end needs no mirror: a step is larger than the taps after its sample
        for (int i = 1; i <= TAPS / 2; i++)
            p->sum[-i] = p->sum[i];
        for (int x = 0; x < dims->grid_w; x++) {
            float sum = 0;

            for (int i = 0; i < TAPS; i++)
                sum += tap[i] * p->sum[x * STEP + i - TAPS / 2];
            p->grid[y * dims->grid_w + x] = sum;
        }
    }
}

static void subtract_local_mean(const SpeedDims *s, SpeedPlane *p)
{
    const int w = s->grid_w, h = s->grid_h;

    for (int y = 0; y < h; y++) {
        const float *above = p->grid + vmaf_mirror(y - 1, h) * w, *row = p->grid + y * w;
        const float *below = p->grid + vmaf_mirror(y + 1, h) * w;

        for (int x = 0; x < w; x++)
            p->blurred[y * w + x] = lowpass3(above[x], row[x], below[x]);
    }
    for (int y = 0; y < h; y++) {
        const float *row = p->blurred + y * w;

        for (int x = 0; x < w; x++)
            p->grid[y * w + x] -= lowpass3(row[vmaf_mirror(x - 1, w)], row[x],
                                           row[vmaf_mirror(x + 1, w)]);
    }
}

static int plane_job(AVFilterContext *ctx, void *arg, int job, int nb_jobs)
{
    SpeedContext *s = arg;
    const int i = job / PAIR_NB, picture = job % PAIR_NB;
    const AVFrame *frame = s->frame[picture];
    SpeedPlane *p = &s->plane[i][picture];

    make_grid(s, p, frame->data[1 + i], frame->linesize[1 + i]);
    subtract_local_mean(&s->dims, p);
    s->dsp.plane_stats(&s->dims, p->grid, s->stats + job * ff_vmaf_speed_stats_size(&s->dims));
    return 0;
}

// ---- extractor ----

av_cold int ff_vmaf_speed_init(SpeedContext *s, const SpeedDims *dims, int depth)
{
    const size_t grid = dims->grid_w * dims->grid_h;
    VMAFBuffers *b = &s->buffers;

    s->dims  = *dims;
    s->depth = depth;
    ff_vmaf_speed_dsp_init(&s->dsp);
    for (int i = 0; i < VMAF_CHROMA * PAIR_NB; i++) {
        SpeedPlane *p = &s->plane[i / PAIR_NB][i % PAIR_NB];

        p->sum     = vmaf_buffer_alloc(b, dims->w, sizeof(float));
        p->grid    = vmaf_buffer_alloc(b, grid, sizeof(float));
        p->blurred = vmaf_buffer_alloc(b, grid, sizeof(float));
    }
    s->stats = vmaf_buffer_alloc(b, VMAF_CHROMA * PAIR_NB * ff_vmaf_speed_stats_size(dims),
                                 sizeof(float));
    s->src_x = vmaf_buffer_alloc(b, dims->w, sizeof(*s->src_x));
    s->src_y = vmaf_buffer_alloc(b, dims->h, sizeof(*s->src_y));
    if (b->alloc_failed)
        return AVERROR(ENOMEM);
    ff_vmaf_speed_positions(s->src_x, dims->chroma_w, dims->w);
    ff_vmaf_speed_positions(s->src_y, dims->chroma_h, dims->h);
    return 0;
}

void ff_vmaf_speed_begin(SpeedContext *s, const AVFrame *encode, const AVFrame *reference,
                         double score[VMAF_CHROMA + 1])
{
    s->frame[PAIR_MAIN]      = encode;
    s->frame[PAIR_REFERENCE] = reference;
    s->begun = 0;
    s->score = score;
}

int ff_vmaf_speed_next(SpeedContext *s, VMAFTask *task)
{
    if (!s->begun) {
        s->begun = 1;
        *task    = (VMAFTask){ plane_job, s, VMAF_CHROMA * PAIR_NB };
        return 1;
    }
    ff_vmaf_speed_score(&s->dims, s->stats, s->score);
    return 0;
}

av_cold void ff_vmaf_speed_close(SpeedContext *s)
{
    vmaf_buffers_free(&s->buffers);
}

// ---- shared with CUDA ----

av_cold int ff_vmaf_speed_dims_init(SpeedDims *s, AVFilterContext *ctx, int w, int h,
                                    enum VMAFPrescale prescale)
{
    const double factor = (const double[]){ 1, 0.6, 0.5 }[prescale];

    *s = (SpeedDims){ .chroma_w = w, .chroma_h = h,
                      .w = w * factor + 0.5, .h = h * factor + 0.5 };
    if (FFMIN(s->w, s->h) < SPEED_MIN_SIZE) {
        const int min = ceil((SPEED_MIN_SIZE - 0.5) / factor);

        av_log(ctx, AV_LOG_ERROR, "The model needs chroma of at least %dx%d samples, this has "
               "%dx%d: scale both inputs, or choose another model.\n", min, min, w, h);
        return AVERROR(EINVAL);
    }
    s->is_scaled    = factor != 1;
    s->grid_w       = s->w / SPEED_STEP;
    s->grid_h       = s->h / SPEED_STEP;
    s->blocks_w     = s->grid_w / SPEED_SIDE;
    s->nb_blocks    = s->blocks_w * (s->grid_h / SPEED_SIDE);
    s->base_entropy = SPEED_BLOCK * (log2((double)((1 + SPEED_NN_FLOOR) * SPEED_SIGMA_NN)) +
                                     SPEED_LOG2_2PIE);
    return 0;
}

av_cold void ff_vmaf_speed_positions(SpeedPosition *dst, int n, int nb)
{
    const float ratio = (float)n / nb;

    for (int i = 0; i < nb; i++) {
        const float at   = (i + 0.5) * ratio - 0.5;
        const int before = vmaf_mirror(floor(at), n);

        dst[i] = (SpeedPosition){ before, vmaf_mirror(ceil(at), n), at - before };
    }
}

size_t ff_vmaf_speed_stats_size(const SpeedDims *s)
{
    return 1 + 2 * s->nb_blocks;
}

void ff_vmaf_speed_score(const SpeedDims *s, const float *stats, double score[VMAF_CHROMA + 1])
{
    const size_t size = ff_vmaf_speed_stats_size(s);
    float changed[VMAF_CHROMA] = { 0 };
    int is_regular[VMAF_CHROMA];

    for (int i = 0; i < VMAF_CHROMA; i++, stats += PAIR_NB * size) {
        const float *main_variance = stats + PAIR_MAIN * size + 1;
        const float *variance      = stats + PAIR_REFERENCE * size + 1;

        is_regular[i] = !main_variance[-1] && !variance[-1];
        for (int block = 0; block < s->nb_blocks && is_regular[i]; block++) {
            const float r = variance[s->nb_blocks + block];
            const float e = main_variance[s->nb_blocks + block];
            float ref_entropy, main_entropy;

            if (r < s->base_entropy && e < s->base_entropy)
                continue;
            // libvmaf uses float for the one and double for the other
            ref_entropy  = r * log2((double)(1 + variance[block]));
            main_entropy = e * log2(1 + (0.75 * variance[block] + 0.25 * main_variance[block]));
            changed[i]  += fabsf(ref_entropy - main_entropy);
        }
        score[i] = changed[i] /= s->nb_blocks;
    }
    score[2] = is_regular[0] == is_regular[1] ? (changed[0] + changed[1]) / 2.0
                                              : changed[!is_regular[0]];
    // NAN becomes the maximum, too
    for (int i = 0; i < VMAF_CHROMA + 1; i++)
        score[i] = score[i] < SPEED_MAX_VAL ? score[i] : SPEED_MAX_VAL;
}
