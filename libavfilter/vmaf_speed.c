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
 * SpEED of chroma on the CPU.
 */

#include <math.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/mem.h"

#include "filters.h"
#include "vmaf_cpu.h"

#define SIDE   VMAF_SPEED_SIDE
#define BLOCK  VMAF_SPEED_BLOCK
#define STRIDE VMAF_SPEED_STRIDE
#define TAPS   VMAF_SPEED_TAPS
#define STEP   VMAF_SPEED_STEP

/// Positions of a block that are added to the covariance at once.
#define AT_ONCE 8

/// A plane of a picture. Each one is a job.
typedef struct Plane {
    float *row, *sum;       ///< w samples
    float *grid, *blurred;  ///< grid_w * grid_h samples
    float *contrast, *entropy;      ///< [nb_blocks]
} Plane;

struct VMAFSpeed {
    VMAFSpeedPicture picture;
    int depth, has_avx2;
    VMAFSpeedPosition *column, *line;
    Plane plane[VMAF_CHROMA][PAIR_NB];
    VMAFSpeedPlane found[VMAF_CHROMA][PAIR_NB];
    VMAFMemory memory;
    const AVFrame *frame[PAIR_NB];      ///< that are measured now
};

// ---- samples ----

/// Row y of what is measured.
#define GET_ROW(name, type)                                                                 \
static av_always_inline void name(const VMAFSpeed *s, float *restrict dst,                  \
                                  const uint8_t *data, ptrdiff_t linesize, int y, int depth) \
{                                                                                           \
    const VMAFSpeedPosition *line = &s->line[y];                                            \
    const type *a = (const type *)(data + line->before * linesize);                         \
    const type *b = (const type *)(data + line->after  * linesize);                         \
                                                                                            \
    for (int x = 0; x < s->picture.w && !s->picture.is_scaled; x++)                         \
        dst[x] = vmaf_speed_value(a[x], depth);                                             \
    for (int x = 0; x < s->picture.w && s->picture.is_scaled; x++) {                        \
        const VMAFSpeedPosition *p = &s->column[x];                                         \
                                                                                            \
        dst[x] = vmaf_speed_between(p->part, line->part,                                    \
                                    vmaf_speed_value(a[p->before], depth),                  \
                                    vmaf_speed_value(a[p->after],  depth),                  \
                                    vmaf_speed_value(b[p->before], depth),                  \
                                    vmaf_speed_value(b[p->after],  depth));                 \
    }                                                                                       \
}

GET_ROW(get_row8,  uint8_t)
GET_ROW(get_row16, uint16_t)

/// Blur a plane, of which only the samples of the grid are made.
static av_always_inline void make_grid(const VMAFSpeed *s, Plane *p, const uint8_t *data,
                                       ptrdiff_t linesize)
{
    static const float tap[TAPS] = VMAF_SPEED_BLUR;
    const VMAFSpeedPicture *picture = &s->picture;

    for (int y = 0; y < picture->grid_h; y++) {
        memset(p->sum, 0, picture->w * sizeof(*p->sum));
        for (int i = 0; i < TAPS; i++) {
            const int from = vmaf_mirror(y * STEP + i - TAPS / 2, picture->h);

            if (s->depth == 8)
                get_row8(s, p->row, data, linesize, from, 8);
            else
                get_row16(s, p->row, data, linesize, from, s->depth);
            for (int x = 0; x < picture->w; x++)
                p->sum[x] += tap[i] * p->row[x];
        }
        // a step is more than the taps behind it
        for (int i = 1; i <= TAPS / 2; i++)
            p->sum[-i] = p->sum[i];
        for (int x = 0; x < picture->grid_w; x++) {
            float sum = 0;

            for (int i = 0; i < TAPS; i++)
                sum += tap[i] * p->sum[x * STEP + i - TAPS / 2];
            p->grid[y * picture->grid_w + x] = sum;
        }
    }
}

/// Leave only what differs from around.
static void subtract_mean(const VMAFSpeedPicture *s, Plane *p)
{
    const int w = s->grid_w, h = s->grid_h;

    for (int y = 0; y < h; y++) {
        const float *above = p->grid + vmaf_mirror(y - 1, h) * w, *row = p->grid + y * w;
        const float *below = p->grid + vmaf_mirror(y + 1, h) * w;

        for (int x = 0; x < w; x++)
            p->blurred[y * w + x] = vmaf_speed_smooth(above[x], row[x], below[x]);
    }
    for (int y = 0; y < h; y++) {
        const float *row = p->blurred + y * w;

        for (int x = 0; x < w; x++)
            p->grid[y * w + x] -= vmaf_speed_smooth(row[vmaf_mirror(x - 1, w)], row[x],
                                                    row[vmaf_mirror(x + 1, w)]);
    }
}

// ---- statistics ----

static av_always_inline void get_block(float *restrict dst, const float *restrict src, int stride)
{
    for (int y = 0; y < SIDE; y++)
        memcpy(dst + y * SIDE, src + y * stride, SIDE * sizeof(*dst));
}

/// Add the products of sample i of blocks and those before it, in order.
static av_always_inline void add_products(double *restrict sum,
                                          const double (*restrict d)[STRIDE], int i)
{
    for (int j = 0; j < (i | 3) + 1; j++) {
        double of_pair = sum[j];

        for (int at = 0; at < AT_ONCE; at++)
            of_pair += d[at][i] * d[at][j];
        sum[j] = of_pair;
    }
}

/// The covariance of the samples of all blocks, also of those that overlap.
static av_always_inline void covariance(const VMAFSpeedPicture *s, const Plane *p,
                                        VMAFSpeedMatrix dst)
{
    const int w = (s->blocks_w - 1) * SIDE + 1, h = (s->nb_blocks / s->blocks_w - 1) * SIDE + 1;
    const int n = w * h;
    float mean[STRIDE] = { 0 }, block[AT_ONCE][STRIDE] = { { 0 } };
    double sum[BLOCK][STRIDE] = { { 0 } }, d[AT_ONCE][STRIDE];

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            get_block(block[0], p->grid + y * s->grid_w + x, s->grid_w);
            for (int i = 0; i < STRIDE; i++)
                mean[i] += block[0][i];
        }
    for (int i = 0; i < BLOCK; i++)
        mean[i] /= n;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x += AT_ONCE) {
            const int nb = FFMIN(w - x, AT_ONCE);

            for (int at = 0; at < nb; at++)
                get_block(block[at], p->grid + y * s->grid_w + x + at, s->grid_w);
            for (int at = 0; at < nb; at++)
                for (int i = 0; i < STRIDE; i++)
                    d[at][i] = (double)block[at][i] - mean[i];
            memset(d + nb, 0, (AT_ONCE - nb) * sizeof(*d));
            for (int i = 0; i < BLOCK; i++)
                add_products(sum[i], d, i);
        }
    for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j <= i; j++)
            dst[i][j] = dst[j][i] = sum[i][j] / n;
}

/// The contrast of each block.
static av_always_inline void measure_blocks(const VMAFSpeedPicture *s, Plane *p,
                                            VMAFSpeedPlane *found)
{
    VMAFSpeedWork work = { 0 };

    covariance(s, p, work.given);
    vmaf_tridiagonalize(&work, 0, 1);
    vmaf_eigenvalues(work.value, work.side, 0);
    found->is_singular = 0;
    for (int i = 0; i < BLOCK; i++)
        found->is_singular |= work.value[i] < VMAF_SPEED_SINGULAR;
    found->is_singular = found->is_singular || !vmaf_triangulate(&work, 0, 1);
    for (int i = 0; i < s->nb_blocks && !found->is_singular; i += VMAF_SPEED_SHARE) {
        const float *block[VMAF_SPEED_SHARE];

        for (int b = 0; b < VMAF_SPEED_SHARE; b++) {
            const int n = FFMIN(i + b, s->nb_blocks - 1);

            block[b] = p->grid + n / s->blocks_w * SIDE * s->grid_w + n % s->blocks_w * SIDE;
        }
        vmaf_speed_contrast(p->contrast + i, work.factor, block, s->grid_w);
    }
    for (int i = 0; i < s->nb_blocks && !found->is_singular; i++) {
        p->entropy[i] = 0;
        for (int j = 0; j < BLOCK; j++)
            p->entropy[i] += vmaf_speed_entropy(work.value[j], p->contrast[i]);
    }
}

static av_always_inline int measure_plane(AVFilterContext *ctx, void *arg, int job, int nb_jobs)
{
    VMAFSpeed *s = arg;
    const int i  = job / PAIR_NB, picture = job % PAIR_NB;
    const AVFrame *frame = s->frame[picture];
    Plane *p = &s->plane[i][picture];

    make_grid(s, p, frame->data[1 + i], frame->linesize[1 + i]);
    subtract_mean(&s->picture, p);
    measure_blocks(&s->picture, p, &s->found[i][picture]);
    return 0;
}

VMAF_JOB_FORMS(measure_plane)

VMAFChroma ff_vmaf_speed(VMAFSpeed *s, AVFilterContext *ctx, const AVFrame *reference,
                         const AVFrame *encode)
{
    s->frame[PAIR_REFERENCE] = reference;
    s->frame[PAIR_MAIN]      = encode;
    ff_filter_execute(ctx, VMAF_JOB(s, measure_plane), s, NULL, VMAF_CHROMA * PAIR_NB);
    return ff_vmaf_speed_score(&s->picture, s->found);
}

// ---- set-up ----

av_cold int ff_vmaf_speed_init(VMAFSpeed **ps, AVFilterContext *ctx, int w, int h, int depth,
                               double prescale)
{
    VMAFSpeed *s  = *ps = av_mallocz(sizeof(*s));
    VMAFMemory *m = &s->memory;
    int ret;

    if (!s)
        return AVERROR(ENOMEM);
    if ((ret = ff_vmaf_speed_picture(&s->picture, ctx, w, h, prescale)) < 0)
        return ret;
    s->has_avx2 = VMAF_HAS_AVX2;
    s->depth    = depth;
    for (int i = 0; i < VMAF_CHROMA * PAIR_NB; i++) {
        const VMAFSpeedPicture *picture = &s->picture;
        const size_t grid = picture->grid_w * picture->grid_h;
        Plane *p = &s->plane[i / PAIR_NB][i % PAIR_NB];

        p->row     = vmaf_alloc(m, picture->w, sizeof(float));
        p->sum     = vmaf_alloc(m, picture->w, sizeof(float));
        p->grid    = vmaf_alloc(m, grid, sizeof(float));
        p->blurred = vmaf_alloc(m, grid, sizeof(float));
        p->contrast = vmaf_alloc(m, FFALIGN(picture->nb_blocks, VMAF_SPEED_SHARE), sizeof(float));
        p->entropy  = vmaf_alloc(m, picture->nb_blocks, sizeof(float));
        s->found[i / PAIR_NB][i % PAIR_NB].contrast = p->contrast;
        s->found[i / PAIR_NB][i % PAIR_NB].entropy  = p->entropy;
    }
    s->column = vmaf_alloc(m, s->picture.w, sizeof(*s->column));
    s->line   = vmaf_alloc(m, s->picture.h, sizeof(*s->line));
    if (m->is_short)
        return AVERROR(ENOMEM);
    ff_vmaf_speed_positions(s->column, w, s->picture.w);
    ff_vmaf_speed_positions(s->line,   h, s->picture.h);
    return 0;
}

av_cold void ff_vmaf_speed_free(VMAFSpeed **s)
{
    if (*s)
        vmaf_free(&(*s)->memory);
    av_freep(s);
}
