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
 * Functions of SpEED that are vectorized. vmaf_speed.c includes this file, and so does
 * x86/vmaf_speed_avx2.c, which is compiled for AVX2.
 */

#include <stdint.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/macros.h"

#include "vmaf_speed.h"

#define SIDE   SPEED_SIDE
#define BLOCK  SPEED_BLOCK
#define STRIDE SPEED_STRIDE

static void add_row(float *restrict sum, float tap, const uint8_t *restrict row, int depth, int w)
{
    for (int x = 0; x < w; x++)
        sum[x] += tap * speed_center(get_sample(row, x, depth), depth);
}

static void add_bilinear_row(float *restrict sum, float tap, const uint8_t *restrict a,
                             const uint8_t *restrict b, float weight,
                             const SpeedPosition *restrict src_x, int depth, int w)
{
    for (int x = 0; x < w; x++) {
        const SpeedPosition *p = &src_x[x];

        sum[x] += tap * speed_bilinear(
            p->weight, weight,
            speed_center(get_sample(a, p->before, depth), depth),
            speed_center(get_sample(a, p->after,  depth), depth),
            speed_center(get_sample(b, p->before, depth), depth),
            speed_center(get_sample(b, p->after,  depth), depth));
    }
}

static av_always_inline void get_block(float *restrict dst, const float *restrict src, int stride)
{
    for (int y = 0; y < SIDE; y++)
        memcpy(dst + y * SIDE, src + y * stride, SIDE * sizeof(*dst));
}

/// Compute the covariance of the samples of all blocks, including overlapping ones.
static av_always_inline void covariance(const SpeedDims *s, const float *grid, SpeedMatrix dst)
{
    const int w = (s->blocks_w - 1) * SIDE + 1, h = (s->nb_blocks / s->blocks_w - 1) * SIDE + 1;
    const int n = w * h;
    float mean[STRIDE] = { 0 }, block[STRIDE] = { 0 };
    double sum[BLOCK][STRIDE] = { { 0 } }, d[STRIDE];

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            get_block(block, grid + y * s->grid_w + x, s->grid_w);
            for (int i = 0; i < STRIDE; i++)
                mean[i] += block[i];
        }
    for (int i = 0; i < BLOCK; i++)
        mean[i] /= n;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            get_block(block, grid + y * s->grid_w + x, s->grid_w);
            for (int i = 0; i < STRIDE; i++)
                d[i] = (double)block[i] - mean[i];
            for (int i = 0; i < BLOCK; i++)
                for (int j = 0; j < (i | 3) + 1; j++)
                    sum[i][j] += d[i] * d[j];
        }
    for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j <= i; j++)
            dst[i][j] = dst[j][i] = sum[i][j] / n;
}

static void plane_stats(const SpeedDims *s, const float *grid, float *stats)
{
    SpeedWork work = { 0 };
    int is_singular = 0;

    covariance(s, grid, work.cov);
    tridiagonalize(&work, 0, 1);
    tridiagonal_eigenvalues(work.eigenvalue, work.subdiag, 0);
    for (int i = 0; i < BLOCK; i++)
        is_singular |= work.eigenvalue[i] < SPEED_SINGULAR;
    stats[0] = is_singular || !qr_decompose(&work, 0, 1);
    for (int i = 0; i < s->nb_blocks && !stats[0]; i += SPEED_PER_LANE) {
        const float *block[SPEED_PER_LANE];
        float variance[SPEED_PER_LANE];

        for (int b = 0; b < SPEED_PER_LANE; b++) {
            const int n = FFMIN(i + b, s->nb_blocks - 1);

            block[b] = grid + n / s->blocks_w * SIDE * s->grid_w + n % s->blocks_w * SIDE;
        }
        speed_variances(variance, work.rq, block, s->grid_w);
        for (int b = 0; b < SPEED_PER_LANE && i + b < s->nb_blocks; b++) {
            float *entropy = &stats[1 + s->nb_blocks + i + b];

            stats[1 + i + b] = variance[b];
            *entropy = 0;
            for (int j = 0; j < BLOCK; j++)
                *entropy += speed_entropy(work.eigenvalue[j], variance[b]);
        }
    }
}

static const SpeedDSPContext row_functions = {
    .add_row      = add_row,
    .add_bilinear = add_bilinear_row,
    .plane_stats  = plane_stats,
};
