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

/// A plane of a picture. Each one is a job.
typedef struct Plane {
    float *row, *sum;       ///< w samples
    float *grid, *blurred;  ///< grid_w * grid_h samples
    float *block, *solution;    ///< [BLOCK][nb_blocks], sample by sample
    float *contrast;        ///< [nb_blocks]
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

typedef float Matrix[BLOCK][STRIDE];

// ---- samples ----

static av_always_inline float sample(const VMAFSpeed *s, const uint8_t *row, int x)
{
    return vmaf_speed_value(s->depth == 8 ? row[x] : ((const uint16_t *)row)[x], s->depth);
}

/// Row y of what is measured.
static av_always_inline void get_row(const VMAFSpeed *s, float *dst, const uint8_t *data,
                                     ptrdiff_t linesize, int y)
{
    const VMAFSpeedPosition *line = &s->line[y];
    const uint8_t *a, *b;

    if (!s->picture.is_scaled) {
        for (int x = 0; x < s->picture.w; x++)
            dst[x] = sample(s, data + y * linesize, x);
        return;
    }
    a = data + line->before * linesize;
    b = data + line->after  * linesize;
    for (int x = 0; x < s->picture.w; x++) {
        const VMAFSpeedPosition *p = &s->column[x];

        dst[x] = vmaf_speed_between(p->part, line->part, sample(s, a, p->before),
                                    sample(s, a, p->after), sample(s, b, p->before),
                                    sample(s, b, p->after));
    }
}

/// Blur a plane, of which only the samples of the grid are made.
static av_always_inline void make_grid(const VMAFSpeed *s, Plane *p, const uint8_t *data,
                                       ptrdiff_t linesize)
{
    static const float tap[TAPS] = VMAF_SPEED_BLUR;
    const VMAFSpeedPicture *picture = &s->picture;

    for (int y = 0; y < picture->grid_h; y++) {
        memset(p->sum, 0, picture->w * sizeof(*p->sum));
        for (int i = 0; i < TAPS; i++) {
            get_row(s, p->row, data, linesize, vmaf_mirror(y * STEP + i - TAPS / 2, picture->h));
            for (int x = 0; x < picture->w; x++)
                p->sum[x] += tap[i] * p->row[x];
        }
        for (int x = 0; x < picture->grid_w; x++) {
            float sum = 0;

            for (int i = 0; i < TAPS; i++)
                sum += tap[i] * p->sum[vmaf_mirror(x * STEP + i - TAPS / 2, picture->w)];
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

/// The covariance of the samples of all blocks, also of those that overlap.
static av_always_inline void covariance(const VMAFSpeedPicture *s, const Plane *p, Matrix dst)
{
    const int w = (s->blocks_w - 1) * SIDE + 1, h = (s->nb_blocks / s->blocks_w - 1) * SIDE + 1;
    const int n = w * h;
    float mean[BLOCK] = { 0 };
    double sum[BLOCK][STRIDE] = { { 0 } }, d[STRIDE] = { 0 };

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            for (int i = 0; i < BLOCK; i++)
                mean[i] += p->grid[(y + i / SIDE) * s->grid_w + x + i % SIDE];
    for (int i = 0; i < BLOCK; i++)
        mean[i] /= n;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            for (int i = 0; i < BLOCK; i++)
                d[i] = (double)p->grid[(y + i / SIDE) * s->grid_w + x + i % SIDE] - mean[i];
            for (int i = 0; i < BLOCK; i++)
                for (int j = 0; j <= i; j++)
                    sum[i][j] += d[i] * d[j];
        }
    for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j <= i; j++)
            dst[i][j] = dst[j][i] = sum[i][j] / n;
}

static float norm(const float v[BLOCK])
{
    float sum = 0;

    for (int i = 0; i < BLOCK; i++)
        sum += v[i] * v[i];
    return sqrtf(sum);
}

/// dst = a * b, of the rows and columns from first on: the others are those of a unit matrix.
static av_always_inline void multiply(float *dst, int stride, Matrix a, const float *b, int first,
                                      int columns)
{
    for (int i = first; i < BLOCK; i++) {
        float *restrict row = dst + i * stride;

        memset(row, 0, columns * sizeof(*row));
        for (int k = first; k < BLOCK; k++) {
            const float factor = a[i][k];
            const float *restrict from = b + k * stride;

            for (int j = 0; j < columns; j++)
                row[j] += factor * from[j];
        }
    }
}

/// Solve m * p->solution = p->block by Householder's reflections. @return 0 if there is none
static av_always_inline int solve(Plane *p, Matrix m, int nb_blocks)
{
    Matrix z, q = { { 0 } }, h, next;

    memcpy(z, m, sizeof(z));
    for (int i = 0; i < BLOCK; i++)
        q[i][i] = 1;
    for (int k = 0; k < BLOCK - 1; k++) {
        float v[BLOCK] = { 0 }, length;

        for (int i = k; i < BLOCK; i++)
            v[i] = z[i][k];
        length = norm(v);
        // the sign is that of the matrix as it was given, in libvmaf
        v[k]  += m[k][k] >= 0 ? length : -length;
        length = norm(v);
        for (int i = k; i < BLOCK; i++)
            v[i] /= length;
        for (int i = k; i < BLOCK; i++) {
            for (int j = k; j < BLOCK; j++)
                h[i][j] = -2 * v[i] * v[j];
            h[i][i] += 1;
        }
        multiply(next[0], STRIDE, h, z[0], k, BLOCK);
        memcpy(z[k], next[k], (BLOCK - k) * sizeof(*z));
        multiply(next[0], STRIDE, h, q[0], k, BLOCK);
        memcpy(q[k], next[k], (BLOCK - k) * sizeof(*q));
    }
    multiply(z[0], STRIDE, q, m[0], 0, BLOCK);
    multiply(p->solution, nb_blocks, q, p->block, 0, nb_blocks);
    for (int i = BLOCK - 1; i >= 0; i--) {
        float *x = p->solution + i * nb_blocks;

        if (fabsf(z[i][i]) < VMAF_SPEED_SINGULAR)
            return 0;
        for (int k = i + 1; k < BLOCK; k++)
            for (int b = 0; b < nb_blocks; b++)
                x[b] -= p->solution[k * nb_blocks + b] * z[i][k];
        for (int b = 0; b < nb_blocks; b++)
            x[b] /= z[i][i];
    }
    return 1;
}

/// The contrast of each block.
static av_always_inline void measure_blocks(const VMAFSpeedPicture *s, Plane *p,
                                            VMAFSpeedPlane *found)
{
    const int nb = s->nb_blocks;
    VMAFSpeedMatrix work;
    Matrix m;

    for (int i = 0; i < BLOCK; i++)
        for (int b = 0; b < nb; b++) {
            const int y = b / s->blocks_w * SIDE + i / SIDE, x = b % s->blocks_w * SIDE + i % SIDE;

            p->block[i * nb + b] = p->grid[y * s->grid_w + x];
        }
    covariance(s, p, m);
    memcpy(work.m, m, sizeof(m));
    vmaf_tridiagonalize(&work, 0, 1);
    vmaf_eigenvalues(work.value, work.side);
    memcpy(found->value, work.value, sizeof(work.value));
    found->is_singular = 0;
    for (int i = 0; i < BLOCK; i++)
        found->is_singular |= found->value[i] < VMAF_SPEED_SINGULAR;
    found->is_singular = found->is_singular || !solve(p, m, nb);
    for (int b = 0; b < nb && !found->is_singular; b++) {
        float contrast = 0;

        for (int i = 0; i < BLOCK; i++)
            contrast += p->solution[i * nb + b] * p->block[i * nb + b] / BLOCK;
        p->contrast[b] = contrast;
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

        p->row      = vmaf_alloc(m, picture->w, sizeof(float));
        p->sum      = vmaf_alloc(m, picture->w, sizeof(float));
        p->grid     = vmaf_alloc(m, grid, sizeof(float));
        p->blurred  = vmaf_alloc(m, grid, sizeof(float));
        p->block    = vmaf_alloc(m, BLOCK * picture->nb_blocks, sizeof(float));
        p->solution = vmaf_alloc(m, BLOCK * picture->nb_blocks, sizeof(float));
        p->contrast = vmaf_alloc(m, picture->nb_blocks, sizeof(float));
        s->found[i / PAIR_NB][i % PAIR_NB].contrast = p->contrast;
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
