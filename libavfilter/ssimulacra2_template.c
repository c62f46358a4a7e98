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
 * Row functions of SSIMULACRA2. ssimulacra2_dsp.c includes this file, and so does
 * x86/ssimulacra2_dsp_avx2.c, which is compiled for AVX2.
 */

#include <stdint.h>

#include "libavutil/attributes.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/macros.h"

#include "ssimulacra2_dsp.h"

/// Elements of a temporary row.
#define ROW_SIZE (SSIMULACRA2_TILE + SSIMULACRA2_PAD)

// ---- samples to linear light ----

static void unpack_row(int32_t *restrict dst, const uint8_t *restrict src, int step, int depth,
                       int shift, int w)
{
    const int mask = (1 << depth) - 1;

    if (depth == 8 && step == 1) {
        for (int x = 0; x < w; x++)
            dst[x] = src[x];
    } else if (depth == 8) {
        for (int x = 0; x < w; x++)
            dst[x] = src[2 * x];
    } else if (step == 2) {
        for (int x = 0; x < w; x++)
            dst[x] = ((const uint16_t *)src)[x] >> shift & mask;
    } else {
        for (int x = 0; x < w; x++)
            dst[x] = ((const uint16_t *)src)[2 * x] >> shift & mask;
    }
}

static void chroma_vertical_row(int32_t *restrict dst, const int32_t *const row[4],
                                const int tap[4], int w)
{
    const int32_t *restrict a = row[0], *restrict b = row[1];
    const int32_t *restrict c = row[2], *restrict d = row[3];
    const int ta = tap[0], tb = tap[1], tc = tap[2], td = tap[3];

    for (int x = 0; x < w; x++)
        dst[x] = ta * a[x] + tb * b[x] + tc * c[x] + td * d[x];
}

static void chroma_horizontal_row(float *restrict dst, const int32_t *restrict src,
                                  const SSIMULACRA2Chroma *chroma, int w)
{
    const int32_t *restrict even = src + chroma->first[0], *restrict odd = src + chroma->first[1];
    const int e0 = chroma->tap[0][0], e1 = chroma->tap[0][1];
    const int e2 = chroma->tap[0][2], e3 = chroma->tap[0][3];
    const int o0 = chroma->tap[1][0], o1 = chroma->tap[1][1];
    const int o2 = chroma->tap[1][2], o3 = chroma->tap[1][3];

    for (int x = 0; x < w; x++) {
        const int32_t *restrict e = even + x, *restrict o = odd + x;

        dst[2 * x]     = e0 * e[0] + e1 * e[1] + e2 * e[2] + e3 * e[3];
        dst[2 * x + 1] = o0 * o[0] + o1 * o[1] + o2 * o[2] + o3 * o[3];
    }
}

/// Convert non-linear samples to linear light. A loop of table lookups does not become vectors: it has no other
/// work than that.
static av_always_inline void look_up(float *restrict dst, const float *restrict sample,
                                     const SSIMULACRA2Linear *restrict table, int w)
{
    float fraction[ROW_SIZE];
    int index[ROW_SIZE];

    for (int x = 0; x < w; x++)
        fraction[x] = ssimulacra2_index(sample[x], &index[x]);
    for (int x = 0; x < w; x++)
        dst[x] = table[index[x]].value + fraction[x] * table[index[x]].slope;
}

static void linear_row(float *const rgb[3], const int32_t *restrict y, const float *restrict u,
                       const float *restrict v, const SSIMULACRA2Matrix *matrix,
                       const SSIMULACRA2Linear *restrict table, int w)
{
    float red[ROW_SIZE], green[ROW_SIZE], blue[ROW_SIZE];
    const SSIMULACRA2Matrix m = *matrix;

    for (int x = 0; x < w; x++) {
        red[x]   = ssimulacra2_red(&m, y[x], u[x], v[x]);
        green[x] = ssimulacra2_green(&m, y[x], u[x], v[x]);
        blue[x]  = ssimulacra2_blue(&m, y[x], u[x], v[x]);
    }
    look_up(rgb[0], red,   table, w);
    look_up(rgb[1], green, table, w);
    look_up(rgb[2], blue,  table, w);
}

static void linear_plane_row(float *restrict dst, const int32_t *restrict src,
                             const SSIMULACRA2Matrix *matrix,
                             const SSIMULACRA2Linear *restrict table, int w)
{
    float sample[ROW_SIZE];
    const SSIMULACRA2Matrix m = *matrix;

    for (int x = 0; x < w; x++)
        sample[x] = ssimulacra2_red(&m, src[x], 0, 0);
    look_up(dst, sample, table, w);
}

// ---- planes ----

static void xyb_row(float *restrict x, float *restrict y, float *restrict b,
                    const float *restrict red, const float *restrict green,
                    const float *restrict blue, int w)
{
    for (int i = 0; i < w; i++) {
        float xyb[3];

        ssimulacra2_xyb(xyb, red[i], green[i], blue[i]);
        x[i] = xyb[0];
        y[i] = xyb[1];
        b[i] = xyb[2];
    }
}

static void products_row(float *restrict squares, float *restrict error, const float *restrict x1,
                         const float *restrict x2, int w)
{
    for (int i = 0; i < w; i++) {
        const float difference = x1[i] - x2[i];

        squares[i] = x1[i] * x1[i] + x2[i] * x2[i];
        error[i]   = difference * difference;
    }
}

static void downscale_row(float *restrict dst, const float *restrict upper,
                          const float *restrict lower, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = ssimulacra2_downscale(upper[2 * x], upper[2 * x + 1],
                                       lower[2 * x], lower[2 * x + 1]);
}

// ---- Gaussian ----

static void vertical_row(float *restrict dst, const float *const row[SSIMULACRA2_TAPS],
                         const SSIMULACRA2Gaussian *gaussian, int w)
{
    const float *restrict a = row[0], *restrict b = row[1], *restrict c = row[2];
    const float *restrict d = row[3], *restrict e = row[4], *restrict f = row[5];
    const float *restrict g = row[6], *restrict h = row[7], *restrict i = row[8];
    const SSIMULACRA2Gaussian t = *gaussian;

    for (int x = 0; x < w; x++)
        dst[x] = (((((((t.tap[4] * a[x] + t.tap[3] * b[x]) + t.tap[2] * c[x]) + t.tap[1] * d[x]) +
                      t.tap[0] * e[x]) + t.tap[1] * f[x]) + t.tap[2] * g[x]) +
                  t.tap[3] * h[x]) + t.tap[4] * i[x];
}

static void horizontal_row(float *restrict dst, const float *restrict src,
                           const SSIMULACRA2Gaussian *gaussian, int w)
{
    const SSIMULACRA2Gaussian t = *gaussian;

    for (int x = 0; x < w; x++)
        dst[x] = ssimulacra2_horizontal(&t, src + x);
}

// ---- error maps ----

/// Add a row's values to the sums of their groups; the elements behind a row are not added.
static av_always_inline void add_groups(float *restrict sums, const float *restrict map, int w)
{
    for (int i = 0; i < DIV_UP(w, SSIMULACRA2_GROUP); i++)
        sums[i] += (map[4 * i] + map[4 * i + 1]) + (map[4 * i + 2] + map[4 * i + 3]);
}

/// Add a map and its fourth power, as far as the mask says.
static av_always_inline void add_map(SSIMULACRA2GroupSums sums, int first, int phase, float *map,
                                     int mask, int w)
{
    if (!(mask >> first & 3))
        return;
    for (int x = w; x < FFALIGN(w, SSIMULACRA2_GROUP); x++)
        map[x] = 0;
    if (mask >> first & 1)
        add_groups(sums[first][phase], map, w);
    if (mask >> first & 2) {
        for (int x = 0; x < FFALIGN(w, SSIMULACRA2_GROUP); x++)
            map[x] = ssimulacra2_power4(map[x]);
        add_groups(sums[first + 1][phase], map, w);
    }
}

static void add_maps_row(SSIMULACRA2GroupSums sums, int phase, const SSIMULACRA2Rows *rows, int mask,
                         int w)
{
    const float *restrict x1 = rows->x[PAIR_REFERENCE], *restrict x2 = rows->x[PAIR_MAIN];
    const float *restrict u1 = rows->mu[PAIR_REFERENCE], *restrict u2 = rows->mu[PAIR_MAIN];
    float map[ROW_SIZE], loss[ROW_SIZE];

    if (mask & SSIMULACRA2_SSIM_MASK) {
        const float *restrict squares = rows->squares, *restrict error = rows->error;

        for (int x = 0; x < w; x++)
            map[x] = ssimulacra2_ssim(u1[x], u2[x], squares[x], error[x]);
        add_map(sums, SSIMULACRA2_SSIM, phase, map, mask, w);
    }
    if (mask & SSIMULACRA2_EDGE_MASK) {
        for (int x = 0; x < w; x++) {
            const float edge = ssimulacra2_edge(x1[x], x2[x], u1[x], u2[x]);

            map[x]  = edge > 0.0f ?  edge : 0.0f;
            loss[x] = edge < 0.0f ? -edge : 0.0f;
        }
        add_map(sums, SSIMULACRA2_ARTIFACT,    phase, map,  mask, w);
        add_map(sums, SSIMULACRA2_DETAIL_LOSS, phase, loss, mask, w);
    }
}

static const SSIMULACRA2DSPContext row_functions = {
    .unpack            = unpack_row,
    .chroma_vertical   = chroma_vertical_row,
    .chroma_horizontal = chroma_horizontal_row,
    .linear            = linear_row,
    .linear_plane      = linear_plane_row,
    .xyb               = xyb_row,
    .products          = products_row,
    .downscale         = downscale_row,
    .vertical          = vertical_row,
    .horizontal        = horizontal_row,
    .add_maps          = add_maps_row,
};
