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

#include "cuda/kernel.cuh"

#define VMAF_SYNC() __syncthreads()

#include "vf_vmaf_cuda.h"

/**
 * @file
 * The features of VMAF v1 for a batch of pairs; blockIdx.y is the pair. The arithmetic is that of
 * vmaf_arithmetic.h. What needs a logarithm or a power is left to the host, which gets sums.
 *
 * A launch measures all pairs by one form of a feature: a contrast sensitivity of ADM, a window of
 * motion, a picture of CAMBI, a size of chroma. Sums of integers have no order; those of floats are
 * made by one thread each, in the order of the CPU.
 *
 * Times were not measured in this form. Each kernel is chosen after prototypes of 54 us in all for
 * a pair at 1080p.
 */

static DEVICE_INLINE int clip(int i, int least, int most)
{
    return min(max(i, least), most);
}

static DEVICE_INLINE int get_sample(const VMAFCUDAPlane &p, int x, int y)
{
    const uint8_t *at = p.data + (int64_t)y * p.pitch + x * p.step;
    const int v = (p.size == 1 ? *at : *(const uint16_t *)at) >> p.down;

    return v << p.up | v >> p.repeat;
}

/// Add a warp's values to a sum in device memory.
static DEVICE_INLINE void add_sum(uint64_t *dst, uint64_t value)
{
    value = warp_sum(value);
    if (threadIdx.x % WARP_SIZE == 0 && value)
        atomic_add64(dst, value);
}

/// Whether all other thread blocks have come here; all threads call it after their last writes.
static DEVICE_INLINE bool is_last(uint32_t *nb_done, unsigned nb_blocks)
{
    __shared__ bool last;

    fence_device();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomic_add(nb_done, 1) == nb_blocks - 1;
        if (last)
            *nb_done = 0;
    }
    __syncthreads();
    fence_device();
    return last;
}

// ---- motion ----

/// Differences of the blurred reference to one of its frames before.
static DEVICE_INLINE void measure_motion(const VMAFCUDAParams &p)
{
    __shared__ int blurred[VMAF_MOTION_TILE_H][VMAF_MOTION_THREADS];
    const VMAFCUDAPair &pair    = p.pair[blockIdx.y];
    const VMAFCUDAPlane &now    = pair.plane[PAIR_REFERENCE][0];
    const VMAFCUDAPlane &before = pair.before[p.window];
    VMAFCUDAState *state = p.state + blockIdx.y;
    const int nb_tiles   = DIV_UP(p.width, VMAF_MOTION_TILE_W);
    const int left = blockIdx.x % nb_tiles * VMAF_MOTION_TILE_W;
    const int top  = blockIdx.x / nb_tiles * VMAF_MOTION_TILE_H;
    const int x    = vmaf_mirror(clip(left + (int)threadIdx.x - 2, -2, p.width + 1), p.width);
    uint32_t sum   = 0;
    int d[VMAF_MOTION_TAPS];

    if (!before.data)
        return;
    UNROLL
    for (int i = 0; i < VMAF_MOTION_TILE_H + VMAF_MOTION_TAPS - 1; i++) {
        const int y = vmaf_mirror(min(top + i - 2, p.height + 1), p.height);

        UNROLL
        for (int j = 0; j < VMAF_MOTION_TAPS - 1; j++)
            d[j] = d[j + 1];
        d[4] = get_sample(before, x, y) - get_sample(now, x, y);
        if (i >= VMAF_MOTION_TAPS - 1)
            blurred[i - VMAF_MOTION_TAPS + 1][threadIdx.x] =
                vmaf_motion_columns(d[0], d[1], d[2], d[3], d[4], p.depth);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < VMAF_MOTION_TILE_W * VMAF_MOTION_TILE_H;
         i += VMAF_MOTION_THREADS) {
        const int column = i % VMAF_MOTION_TILE_W, row = i / VMAF_MOTION_TILE_W;
        const int *b = &blurred[row][column];

        if (left + column < p.width && top + row < p.height)
            sum += vmaf_motion_row(vmaf_motion_taps(b[0] >> 1, b[1] >> 1, b[2] >> 1, b[3] >> 1,
                                                    b[4] >> 1),
                                   vmaf_motion_taps(b[0] & 1, b[1] & 1, b[2] & 1, b[3] & 1,
                                                    b[4] & 1));
    }
    add_sum(&state->sad, sum);
    if (is_last(&state->nb_done, gridDim.x) && threadIdx.x == 0) {
        *(uint64_t *)(pair.result + p.result_at) = load_relaxed(&state->sad);
        state->sad = 0;
    }
}

// ---- ADM ----

#define ADM_THREADS (VMAF_ADM_TILE_W * VMAF_ADM_TILE_H)

/// @name Coefficients of a tile with those around it, and the columns that they are made of
/// @{
#define AROUND_W  (VMAF_ADM_TILE_W + 2)
#define AROUND_H  (VMAF_ADM_TILE_H + 2)
#define COLUMNS_W (2 * AROUND_W + 2)
/// @}

/// What a thread block shares: 18 KB.
typedef struct ADMShared {
    int column[PAIR_NB][2][AROUND_H][COLUMNS_W];        ///< low, high
    int near[VMAF_ADM_PARTS][AROUND_H][AROUND_W];       ///< what masks around it, over the bands
} ADMShared;

/// What becomes of a coefficient of each band.
typedef struct ADMCoefficient {
    int source[VMAF_ADM_BANDS];
    int part[VMAF_ADM_PARTS][VMAF_ADM_BANDS];           ///< weighed
    int here[VMAF_ADM_PARTS];       ///< what masks at its own place is so much more
} ADMCoefficient;

static DEVICE_INLINE int64_t adm_filter(const int tap[4], int a, int b, int c, int d)
{
    return (int64_t)a * tap[0] + (int64_t)b * tap[1] + (int64_t)c * tap[2] + (int64_t)d * tap[3];
}

/// A sample of the picture that is split.
template<bool FIRST>
static DEVICE_INLINE int adm_sample(const VMAFCUDAParams &p, int picture, int x, int y)
{
    const int64_t size = (int64_t)p.adm.width * p.adm.height;

    return FIRST ? get_sample(p.pair[blockIdx.y].plane[picture][0], x, y)
                 : p.image[(blockIdx.y * PAIR_NB + picture) * size + y * p.adm.width + x];
}

/// Split the columns that a tile is made of.
template<bool FIRST>
static DEVICE_INLINE void adm_columns(ADMShared &s, const VMAFCUDAParams &p, int left, int top)
{
    const int low[4] = VMAF_ADM_LOW, high[4] = VMAF_ADM_HIGH;
    const int shift  = FIRST ? p.depth : p.adm.scale == 1 ? 0 : 16;
    const int offset = FIRST ? VMAF_ADM_LOW_SUM << (p.depth - 1) : 0;

    for (int i = threadIdx.x; i < AROUND_H * COLUMNS_W; i += ADM_THREADS) {
        // what is far outside is of no coefficient that counts
        const int column = clip(2 * left - 3 + i % COLUMNS_W, -1, p.adm.width + 1);
        const int x = vmaf_adm_mirror(column, p.adm.width), row = 2 * top - 3 + i / COLUMNS_W * 2;
        int y[4];

        UNROLL
        for (int j = 0; j < 4; j++)
            y[j] = vmaf_adm_mirror(clip(row + j, -1, p.adm.height + 1), p.adm.height);
        UNROLL
        for (int picture = 0; picture < PAIR_NB; picture++) {
            const int a = adm_sample<FIRST>(p, picture, x, y[0]);
            const int b = adm_sample<FIRST>(p, picture, x, y[1]);
            const int c = adm_sample<FIRST>(p, picture, x, y[2]);
            const int d = adm_sample<FIRST>(p, picture, x, y[3]);

            s.column[picture][0][0][i] =
                vmaf_adm_shift(adm_filter(low, a, b, c, d) - offset, shift);
            s.column[picture][1][0][i] = vmaf_adm_shift(adm_filter(high, a, b, c, d), shift);
        }
    }
}

/// The low or the high part of a row of columns.
static DEVICE_INLINE int adm_row(const int *row, int scale, int is_high, int x)
{
    const int tap[2][4] = { VMAF_ADM_LOW, VMAF_ADM_HIGH };
    const int *at = row + 2 * x;

    return vmaf_adm_shift(adm_filter(tap[is_high], at[0], at[1], at[2], at[3]),
                          scale % 2 ? 15 : 16);
}

template<bool FIRST> struct ADMProduct       { typedef int64_t type; };
template<>           struct ADMProduct<true> { typedef int type; };

/// The coefficients at column x and row y of a tile with those around it.
template<bool FIRST>
static DEVICE_INLINE void adm_coefficient(ADMCoefficient &dst, ADMShared &s,
                                          const VMAFADMScale &adm, int x, int y)
{
    // the products of scale 0 have 32 bits
    typedef typename ADMProduct<FIRST>::type S;
    int c[PAIR_NB][VMAF_ADM_BANDS], near[VMAF_ADM_PARTS] = { 0, 0 };
    bool is_aligned;

    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        c[i][VMAF_ADM_H] = adm_row(s.column[i][1][y], adm.scale, 0, x);
        c[i][VMAF_ADM_V] = adm_row(s.column[i][0][y], adm.scale, 1, x);
        c[i][VMAF_ADM_D] = adm_row(s.column[i][1][y], adm.scale, 1, x);
    }
    const S rh = c[PAIR_REFERENCE][VMAF_ADM_H], rv = c[PAIR_REFERENCE][VMAF_ADM_V];
    const S eh = c[PAIR_MAIN][VMAF_ADM_H],      ev = c[PAIR_MAIN][VMAF_ADM_V];

    is_aligned = vmaf_adm_is_aligned(rh * eh + rv * ev, rh * rh + rv * rv, eh * eh + ev * ev);
    dst.here[VMAF_ADM_KEPT] = dst.here[VMAF_ADM_ADDED] = 0;
    UNROLL
    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        const int r = c[PAIR_REFERENCE][band], e = c[PAIR_MAIN][band];
        const int kept = FIRST ? vmaf_adm_kept0(r, e, is_aligned) : vmaf_adm_kept(r, e, is_aligned);
        const int of[VMAF_ADM_PARTS] = { kept, e - kept };

        dst.source[band] = r;
        UNROLL
        for (int part = 0; part < VMAF_ADM_PARTS; part++) {
            const int weighed = FIRST ? of[part] * (int)adm.weight[band]
                                      : vmaf_adm_weigh(of[part], adm.weight[band]);
            int around, centre;

            centre = FIRST ? vmaf_adm_mask0(weighed, band, &around)
                           : vmaf_adm_mask(weighed, &around);
            dst.part[part][band]  = weighed;
            dst.here[part]       += centre - around;
            near[part]           += around;
        }
    }
    UNROLL
    for (int part = 0; part < VMAF_ADM_PARTS; part++)
        s.near[part][y][x] = near[part];
}

/// Add the cubes of the coefficients at a place; those around are there.
template<bool FIRST>
static DEVICE_INLINE void adm_cubes(uint64_t sum[VMAF_ADM_SUMS][VMAF_ADM_BANDS], const ADMShared &s,
                                    const ADMCoefficient &c, const VMAFADMScale &adm,
                                    int x, int y, int left, int top)
{
    int threshold[VMAF_ADM_PARTS] = { c.here[0], c.here[1] };

    UNROLL
    for (int i = 0; i < 9; i++) {
        const int row    = vmaf_adm_mirror(top + y - 2 + i / 3, adm.h) - top + 1;
        const int column = vmaf_adm_mirror(left + x - 2 + i % 3, adm.w) - left + 1;

        threshold[VMAF_ADM_KEPT]  += s.near[VMAF_ADM_KEPT][row][column];
        threshold[VMAF_ADM_ADDED] += s.near[VMAF_ADM_ADDED][row][column];
    }
    UNROLL
    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        const int unit = !FIRST ? 0 : band == VMAF_ADM_D ? 12 : 10;

        UNROLL
        for (int part = 0; part < VMAF_ADM_PARTS; part++)
            sum[part][band] += vmaf_adm_cube(c.part[part][band],
                                             (int)((uint32_t)threshold[!part] << unit),
                                             adm.square_shift[part][band],
                                             adm.cube_shift[part][band]);
        sum[VMAF_ADM_SOURCE][band] +=
            FIRST ? vmaf_adm_cube_source0(c.source[band])
                  : vmaf_adm_cube_source(c.source[band], adm.square_shift[VMAF_ADM_SOURCE][band],
                                         adm.cube_shift[VMAF_ADM_SOURCE][band]);
    }
}

/// Samples of the next scale's pictures.
static DEVICE_INLINE void adm_store_next(const ADMShared &s, const VMAFCUDAParams &p,
                                         int x, int y, int left, int top)
{
    UNROLL
    for (int i = 0; i < PAIR_NB; i++)
        p.next[(int64_t)(blockIdx.y * PAIR_NB + i) * p.adm.w * p.adm.h +
               (top + y - 1) * p.adm.w + left + x - 1] =
            adm_row(s.column[i][0][y], p.adm.scale, 0, x);
}

/**
 * Split a scale. A warp has a row of a tile and sums it over the tiles that its thread block takes,
 * one after the other to the right.
 */
template<bool FIRST>
static DEVICE_INLINE void adm_split(const VMAFCUDAParams &p)
{
    __shared__ ADMShared s;
    const VMAFADMScale &adm = p.adm;
    const int tid = threadIdx.x, x = tid % VMAF_ADM_TILE_W + 1, y = tid / VMAF_ADM_TILE_W + 1;
    const int nb_runs = DIV_UP(adm.w, VMAF_ADM_TILE_W * VMAF_ADM_TILES);
    const int begin   = blockIdx.x % nb_runs * VMAF_ADM_TILE_W * VMAF_ADM_TILES;
    const int end     = min(begin + VMAF_ADM_TILE_W * VMAF_ADM_TILES, adm.w);
    const int top     = blockIdx.x / nb_runs * VMAF_ADM_TILE_H, row = top + y - 1;
    const bool has_rows = top < adm.bottom && top + VMAF_ADM_TILE_H > adm.top;
    uint64_t sum[VMAF_ADM_SUMS][VMAF_ADM_BANDS] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };

    if (!p.pair[blockIdx.y].is_chosen)
        return;
#pragma unroll 1
    for (int left = begin; left < end; left += VMAF_ADM_TILE_W) {
        const int column = left + x - 1;
        ADMCoefficient c;

        adm_columns<FIRST>(s, p, left, top);
        __syncthreads();
        if (column < adm.w && row < adm.h && adm.scale + 1 < VMAF_ADM_SCALES)
            adm_store_next(s, p, x, y, left, top);
        if (has_rows && left < adm.right && left + VMAF_ADM_TILE_W > adm.left) {
            // the frame around the tile: above and below, then the sides
            if (tid < 2 * AROUND_W + 2 * VMAF_ADM_TILE_H) {
                const int i = tid - 2 * AROUND_W;

                adm_coefficient<FIRST>(c, s, adm, i < 0 ? tid % AROUND_W : i % 2 * (AROUND_W - 1),
                                       i < 0 ? tid / AROUND_W * (AROUND_H - 1) : i / 2 + 1);
            }
            adm_coefficient<FIRST>(c, s, adm, x, y);
            __syncthreads();
            if (column >= adm.left && column < adm.right && row >= adm.top && row < adm.bottom)
                adm_cubes<FIRST>(sum, s, c, adm, x, y, left, top);
        }
        __syncthreads();
    }
    UNROLL
    for (int i = 0; i < VMAF_ADM_SUMS * VMAF_ADM_BANDS; i++)
        add_sum(&p.rows[((blockIdx.y * VMAF_ADM_SCALES + adm.scale) *
                         VMAF_ADM_SUMS * VMAF_ADM_BANDS + i) * (int64_t)p.nb_rows +
                        min(row, p.nb_rows - 1)], sum[i / VMAF_ADM_BANDS][i % VMAF_ADM_BANDS]);
}

/// Round the sums of rows and add them up, for a sum of a scale each.
static DEVICE_INLINE void adm_finish(const VMAFCUDAParams &p)
{
    const int scale = blockIdx.x / (VMAF_ADM_SUMS * VMAF_ADM_BANDS);
    const int part  = blockIdx.x / VMAF_ADM_BANDS % VMAF_ADM_SUMS;
    uint64_t *rows  = p.rows + (blockIdx.y * gridDim.x + blockIdx.x) * (int64_t)p.nb_rows;
    uint64_t sum    = 0;

    if (!p.pair[blockIdx.y].is_chosen)
        return;
    for (int i = threadIdx.x; i < p.nb_rows; i += WARP_SIZE) {
        sum    += vmaf_adm_round_row(rows[i], p.row_shift[scale][part]);
        rows[i] = 0;
    }
    sum = warp_sum(sum);
    if (threadIdx.x == 0)
        ((uint64_t *)(p.pair[blockIdx.y].result + p.result_at))[blockIdx.x] = sum;
}

// ---- CAMBI: picture and mask ----

#define CAMBI_THREADS (VMAF_CAMBI_TILE_W * VMAF_CAMBI_TILE_H)

/// @name Samples of the encode that a tile's mask depends on, with every second one in it
/// @{
#define MASKED_W (2 * (VMAF_CAMBI_TILE_W - 1) + VMAF_CAMBI_MASK)
#define MASKED_H (2 * (VMAF_CAMBI_TILE_H - 1) + VMAF_CAMBI_MASK)
/// @}

/// What a thread block shares: 9 KB.
typedef struct MaskShared {
    uint16_t source[MASKED_H + 2][MASKED_W + 2];
    uint16_t value[MASKED_H + 1][MASKED_W + 1];
    uint8_t is_flat[MASKED_H][MASKED_W];
    uint8_t nb_flat[MASKED_H][VMAF_CAMBI_TILE_W];       ///< in a row of the window
} MaskShared;

/// The mean of a sample and those to its right and below.
static DEVICE_INLINE int cambi_dither(const MaskShared &s, bool is_right, bool is_bottom,
                                      int x, int y)
{
    const int a = s.source[y][x], b = s.source[y][x + 1];
    const int c = s.source[y + 1][x], d = s.source[y + 1][x + 1];

    return is_right ? (is_bottom ? a : a + c >> 1) : is_bottom ? a + b >> 1 : a + b + c + d >> 2;
}

/// Make the picture of every sample, or every second one, and its mask.
static DEVICE_INLINE void cambi_prepare(const VMAFCUDAParams &p)
{
    __shared__ MaskShared s;
    const VMAFCUDAPair &pair      = p.pair[blockIdx.y];
    const VMAFCambiPicture &cambi = p.cambi;
    const int step = 1 + cambi.is_halved, w = p.level[0].w, h = p.level[0].h;
    const int nb_tiles = DIV_UP(w, VMAF_CAMBI_TILE_W), tid = threadIdx.x;
    const int column   = tid % VMAF_CAMBI_TILE_W, row = tid / VMAF_CAMBI_TILE_W;
    const int x    = blockIdx.x % nb_tiles * VMAF_CAMBI_TILE_W + column;
    const int y    = blockIdx.x / nb_tiles * VMAF_CAMBI_TILE_H + row;
    const int left = (x - column) * step - VMAF_CAMBI_MASK / 2;
    const int top  = (y - row) * step - VMAF_CAMBI_MASK / 2;
    int nb_flat = 0;

    if (!pair.is_chosen)
        return;
    for (int i = tid; i < (MASKED_H + 2) * (MASKED_W + 2); i += CAMBI_THREADS) {
        const int sx = clip(left + i % (MASKED_W + 2), 0, cambi.width  - 1);
        const int sy = clip(top  + i / (MASKED_W + 2), 0, cambi.height - 1);
        const int sample = get_sample(pair.plane[PAIR_MAIN][0], p.column[sx], p.line[sy]);

        s.source[0][i] = vmaf_cambi_value(sample, cambi.depth);
        if (sample >> cambi.depth)
            p.state[blockIdx.y].select[0].top.is_deep = 1;
    }
    __syncthreads();
    for (int i = tid; i < (MASKED_H + 1) * (MASKED_W + 1); i += CAMBI_THREADS) {
        const int sx = i % (MASKED_W + 1), sy = i / (MASKED_W + 1);

        s.value[sy][sx] = !cambi.dithers ? s.source[sy][sx] :
                          cambi_dither(s, left + sx >= cambi.width - 1,
                                       top + sy >= cambi.height - 1, sx, sy);
    }
    __syncthreads();
    for (int i = tid; i < MASKED_H * MASKED_W; i += CAMBI_THREADS) {
        const int sx = i % MASKED_W, sy = i / MASKED_W, value = s.value[sy][sx];
        const int right = cambi.width - 1 - left - sx, below = cambi.height - 1 - top - sy;

        s.is_flat[sy][sx] = left + sx >= 0 && top + sy >= 0 && right >= 0 && below >= 0 &&
                            (!right || value == s.value[sy][sx + 1]) &&
                            (!below || value == s.value[sy + 1][sx]);
    }
    __syncthreads();
    for (int i = tid; i < MASKED_H * VMAF_CAMBI_TILE_W; i += CAMBI_THREADS) {
        const uint8_t *flat = &s.is_flat[i / VMAF_CAMBI_TILE_W][i % VMAF_CAMBI_TILE_W * step];
        int nb = 0;

        for (int j = 0; j < VMAF_CAMBI_MASK; j++)
            nb += flat[j];
        s.nb_flat[0][i] = nb;
    }
    __syncthreads();
    if (x >= w || y >= h)
        return;
    for (int j = 0; j < VMAF_CAMBI_MASK; j++)
        nb_flat += s.nb_flat[row * step + j][column];
    const int64_t at = (int64_t)blockIdx.y * p.level_size + y * w + x;

    p.mask[at]  = nb_flat > cambi.mask_min;
    p.value[at] = s.value[row * step + VMAF_CAMBI_MASK / 2][column * step + VMAF_CAMBI_MASK / 2];
}

// ---- CAMBI: scales ----

/// Sample the scale before, and replace what is alone among its neighbours.
static DEVICE_INLINE void cambi_filter(const VMAFCUDAParams &p)
{
    const int step = p.scale ? 2 : 1, src_w = p.level[p.scale].w;
    const int w = p.level[p.scale + 1].w, h = p.level[p.scale + 1].h;
    const int nb_tiles = DIV_UP(w, VMAF_CAMBI_TILE_W);
    const int x = blockIdx.x % nb_tiles * VMAF_CAMBI_TILE_W + threadIdx.x % VMAF_CAMBI_TILE_W;
    const int y = blockIdx.x / nb_tiles * VMAF_CAMBI_TILE_H + threadIdx.x / VMAF_CAMBI_TILE_W;
    const int64_t from = (int64_t)blockIdx.y * p.level_size + p.level[p.scale].at +
                         (y * src_w + x) * step;
    const int64_t to   = (int64_t)blockIdx.y * p.level_size + p.level[p.scale + 1].at + y * w + x;
    int mode[3];

    if (!p.pair[blockIdx.y].is_chosen || x >= w || y >= h)
        return;
    p.mask[to] = p.mask[from];
    if (!y || y == h - 1) {
        p.value[to] = p.value[from];
        return;
    }
    UNROLL
    for (int i = 0; i < 3; i++) {
        const uint16_t *row = p.value + from + (i - 1) * src_w * step;

        mode[i] = x && x < w - 1 ? vmaf_cambi_mode(row[-step], row[0], row[step]) : row[0];
    }
    p.value[to] = vmaf_cambi_mode(mode[0], mode[1], mode[2]);
}

/// The scale of a thread block, where all are in one launch.
static DEVICE_INLINE int cambi_scale(const VMAFCUDAParams &p)
{
    int scale = 0;

    while (scale < VMAF_CAMBI_SCALES - 1 && blockIdx.x >= p.first[scale + 1])
        scale++;
    return scale;
}

/// @name Counts of values, with those around the ones that may count
/// @{
#define COUNTED (VMAF_CAMBI_VALUES + 2 * VMAF_CAMBI_CONTRASTS)
#define WORDS   (VMAF_CAMBI_COLUMNS / 4)
/// @}

/// How often a value is in the window, of which words first to last have columns.
static DEVICE_INLINE int cambi_count(const uint32_t *word, int first, int last,
                                     uint32_t first_mask, uint32_t last_mask)
{
    uint32_t sum = 0;

    for (int i = first; i <= last; i++) {
        uint32_t four = word[i];

        if (i == first)
            four &= first_mask;
        if (i == last)
            four &= last_mask;
        sum += (four & 0xff00ff) + (four >> 8 & 0xff00ff);
    }
    return (sum & 0xffff) + (sum >> 16);
}

/// Add a column's sample in a row to its counts, or take it away.
static DEVICE_INLINE void cambi_add(uint32_t *word, const uint16_t *value, const uint8_t *mask,
                                    int row, int column, int w, int sign)
{
    const int place = row * w + column;

    if (row >= 0 && column >= 0 && column < w && mask[place]) {
        const unsigned v = value[place] - VMAF_CAMBI_FIRST;
        uint8_t *count   = (uint8_t *)&word[(v + VMAF_CAMBI_CONTRASTS) * WORDS] + threadIdx.x;

        if (v < VMAF_CAMBI_VALUES)
            *count += sign;
    }
}

static DEVICE_INLINE float *cambi_contrasts(const VMAFCUDAParams &p, int scale)
{
    return p.contrast + (int64_t)blockIdx.y * (p.level_size - p.level[1].at) +
           p.level[scale + 1].at - p.level[1].at;
}

/**
 * The largest contrast of each masked sample. A thread block has a byte in shared memory, of which
 * it takes 48 KB, for each value and column: how often the column has the value in the window's
 * rows. They slide down. A sample sums the columns of its window for the nine values that it needs.
 */
static DEVICE_INLINE void cambi_contrast(const VMAFCUDAParams &p)
{
    __shared__ uint32_t word[COUNTED * WORDS];
    const int scale = cambi_scale(p), w = p.level[scale + 1].w, h = p.level[scale + 1].h;
    const int around = p.cambi.window / 2, nb = VMAF_CAMBI_COLUMNS - 2 * around;
    const int nb_tiles = DIV_UP(w, nb), tile = blockIdx.x - p.first[scale], tid = threadIdx.x;
    const int left = tile % nb_tiles * nb, top = tile / nb_tiles * VMAF_CAMBI_ROWS;
    const int end  = min(top + VMAF_CAMBI_ROWS, h), column = left - around + tid;
    const int64_t at = (int64_t)blockIdx.y * p.level_size + p.level[scale + 1].at;
    const uint16_t *value = p.value + at;
    const uint8_t *mask   = p.mask + at;
    // the window of the sample at column left + tid
    const int first = tid / 4, last = tid + 2 * around >> 2;
    const uint32_t first_mask = ~0u << tid % 4 * 8;
    const uint32_t last_mask  = ~0u >> (3 - (tid + 2 * around) % 4) * 8;

    if (!p.pair[blockIdx.y].is_chosen)
        return;
    for (int i = tid; i < COUNTED * WORDS; i += VMAF_CAMBI_COLUMNS)
        word[i] = 0;
    __syncthreads();
    for (int y = top - around; y < end + around; y++) {
        const int now = y - around, leaves = now - around - 1;
        float most = 0;

        if (y < h)
            cambi_add(word, value, mask, y, column, w, 1);
        if (leaves >= top - around)
            cambi_add(word, value, mask, leaves, column, w, -1);
        if (now < top)
            continue;
        __syncthreads();
        if (tid < nb && left + tid < w) {
            const int place = now * w + left + tid, v = value[place];

            if (mask[place] && v >= VMAF_CAMBI_FIRST &&
                v < VMAF_CAMBI_FIRST + VMAF_CAMBI_VALUES) {
                const uint32_t *here =
                    &word[(v - VMAF_CAMBI_FIRST + VMAF_CAMBI_CONTRASTS) * WORDS];
                const int nb_here = cambi_count(here, first, last, first_mask, last_mask);

                for (int step = 1; step <= VMAF_CAMBI_CONTRASTS; step++) {
                    const int nb_above = cambi_count(here + step * WORDS, first, last,
                                                     first_mask, last_mask);
                    const int nb_below = cambi_count(here - step * WORDS, first, last,
                                                     first_mask, last_mask);

                    if (vmaf_cambi_is_seen(v, step))
                        most = max(most, vmaf_cambi_contrast(step, nb_here,
                                                             max(nb_above, nb_below),
                                                             p.reciprocal));
                }
            }
            cambi_contrasts(p, scale)[place] = most;
        }
        __syncthreads();
    }
}

// ---- CAMBI: the largest contrasts ----

/// The largest digit of which and of all above it there are no more than rest, which is left of it.
static DEVICE_INLINE int select_digit(uint32_t *nb_of, uint32_t *rest)
{
    const int lane = threadIdx.x, nb = VMAF_SELECT_BINS / WARP_SIZE;
    uint32_t sum = 0;
    __shared__ uint32_t sums[WARP_SIZE];
    int run = WARP_SIZE - 1, digit;

    for (int i = 0; i < nb; i++)
        sum += nb_of[lane * nb + i];
    sums[lane] = sum;
    sync_warp();
    while (run && *rest > sums[run])
        *rest -= sums[run--];
    digit = run * nb + nb - 1;
    while (digit && *rest > nb_of[digit])
        *rest -= nb_of[digit--];
    return digit;
}

/**
 * The mean of a scale's largest contrasts, in four launches: the bits of the least of them from the
 * highest on, as those of positive floats are in order; then the sum of what is above it. All are
 * multiples of 2^-24.
 */
static DEVICE_INLINE void cambi_select(const VMAFCUDAParams &p)
{
    __shared__ uint32_t nb_of[VMAF_SELECT_BINS];
    const int scale = cambi_scale(p), tid = threadIdx.x;
    VMAFCUDAState *state = p.state + blockIdx.y;
    VMAFCUDAState::VMAFCUDASelect *select = &state->select[scale];
    const int shift = 20 - 10 * p.pass, size = p.level[scale + 1].w * p.level[scale + 1].h;
    // of those with the known bits, the next ones are looked at
    const uint32_t known = p.pass ? ~0u << (shift + 10) : 0, least = select->top.least;
    const int begin = (blockIdx.x - p.first[scale]) * VMAF_SELECT_SIZE;
    const float *contrast = cambi_contrasts(p, scale);
    const bool has_digit = p.pass < VMAF_SELECT_PASSES - 1;
    uint64_t sum = 0;

    if (!p.pair[blockIdx.y].is_chosen)
        return;
    for (int i = tid; i < VMAF_SELECT_BINS && has_digit; i += VMAF_SELECT_THREADS)
        nb_of[i] = 0;
    __syncthreads();
    for (int i = begin + tid; i < min(begin + VMAF_SELECT_SIZE, size); i += VMAF_SELECT_THREADS) {
        const uint32_t bits = ((const uint32_t *)contrast)[i];

        if (has_digit && bits && (bits & known) == least)
            atomic_add(&nb_of[(bits & ~known) >> shift], 1);
        else if (!has_digit && bits > least)
            sum += (uint64_t)(contrast[i] * 0x1p24f);
    }
    __syncthreads();
    for (int i = tid; i < VMAF_SELECT_BINS && has_digit; i += VMAF_SELECT_THREADS)
        if (nb_of[i])
            atomic_add(&select->nb_of[i], nb_of[i]);
    if (!has_digit)
        add_sum(&select->top.sum, sum);
    if (!is_last(&select->nb_done,
                 (scale + 1 < VMAF_CAMBI_SCALES ? p.first[scale + 1] : gridDim.x) - p.first[scale]))
        return;
    for (int i = tid; i < VMAF_SELECT_BINS && has_digit; i += VMAF_SELECT_THREADS) {
        nb_of[i] = load_relaxed(&select->nb_of[i]);
        select->nb_of[i] = 0;
    }
    __syncthreads();
    if (has_digit && tid < WARP_SIZE) {
        // 0 before the first pass
        uint32_t rest   = select->top.rest + (p.pass ? 0 : p.top[scale]);
        const int digit = select_digit(nb_of, &rest);

        sync_warp();
        if (tid == 0) {
            select->top.least = least | (uint32_t)digit << shift;
            select->top.rest  = rest;
        }
    } else if (!has_digit && tid == 0) {
        VMAFCUDATop *dst = (VMAFCUDATop *)(p.pair[blockIdx.y].result + p.result_at) + scale;

        dst->sum     = load_relaxed(&select->top.sum);
        dst->least   = least;
        dst->rest    = select->top.rest;
        dst->nb      = p.top[scale];
        dst->is_deep = select->top.is_deep;
        select->top  = VMAFCUDATop();
    }
}

// ---- SpEED ----

#define BLOCK VMAF_SPEED_BLOCK

/// One of the two forms of the grids of all pictures of a pair, as the planes of chroma have them.
static DEVICE_INLINE float *speed_grid(const VMAFCUDAParams &p, int form, int picture)
{
    const int64_t size = (int64_t)p.speed.grid_w * p.speed.grid_h;

    return p.grid + ((form * VMAF_MAX_BATCH + blockIdx.y) * 2 * PAIR_NB + picture) * size;
}

static DEVICE_INLINE float speed_sample(const VMAFCUDAParams &p, const VMAFCUDAPlane &plane,
                                        int x, int y)
{
    if (!p.speed.is_scaled)
        return vmaf_speed_value(get_sample(plane, x, y), p.depth);

    const VMAFSpeedPosition &column = p.speed_column[x], &line = p.speed_line[y];

    return vmaf_speed_between(
        column.part, line.part,
        vmaf_speed_value(get_sample(plane, column.before, line.before), p.depth),
        vmaf_speed_value(get_sample(plane, column.after,  line.before), p.depth),
        vmaf_speed_value(get_sample(plane, column.before, line.after),  p.depth),
        vmaf_speed_value(get_sample(plane, column.after,  line.after),  p.depth));
}

/// Blur chroma, of which only the samples of the grid are made, one by a thread.
static DEVICE_INLINE void speed_blur(const VMAFCUDAParams &p)
{
    const float tap[VMAF_SPEED_TAPS] = VMAF_SPEED_BLUR;
    const int size = p.speed.grid_w * p.speed.grid_h;
    const int i = blockIdx.x * VMAF_GRID_THREADS + threadIdx.x, picture = i / size;
    const int x = i % size % p.speed.grid_w * VMAF_SPEED_STEP - VMAF_SPEED_TAPS / 2;
    const int y = i % size / p.speed.grid_w * VMAF_SPEED_STEP - VMAF_SPEED_TAPS / 2;
    float sum = 0;

    if (!p.pair[blockIdx.y].is_chosen || picture >= 2 * PAIR_NB)
        return;
    const VMAFCUDAPlane &plane = p.pair[blockIdx.y].plane[picture % PAIR_NB][1 + picture / PAIR_NB];

#pragma unroll 1
    for (int column = 0; column < VMAF_SPEED_TAPS; column++) {
        const int sx = vmaf_mirror(x + column, p.speed.w);
        float of_column = 0;

        UNROLL
        for (int row = 0; row < VMAF_SPEED_TAPS; row++)
            of_column += tap[row] * speed_sample(p, plane, sx, vmaf_mirror(y + row, p.speed.h));
        sum += tap[column] * of_column;
    }
    speed_grid(p, 0, picture)[i % size] = sum;
}

/// What a thread block shares: 20 KB.
typedef struct SpeedShared {
    VMAFSpeedWork work;
    float mean[BLOCK];
} SpeedShared;

/// Leave only what differs from around.
static DEVICE_INLINE void speed_subtract(float *dst, const float *src, int w, int h)
{
    for (int i = threadIdx.x; i < w * h; i += VMAF_SPEED_THREADS) {
        const int x = i % w, y = i / w;
        const float *above = src + vmaf_mirror(y - 1, h) * w, *row = src + y * w;
        const float *below = src + vmaf_mirror(y + 1, h) * w;
        float column[3];

        UNROLL
        for (int j = 0; j < 3; j++) {
            const int sx = vmaf_mirror(x + j - 1, w);

            column[j] = vmaf_speed_smooth(above[sx], row[sx], below[sx]);
        }
        dst[i] = src[i] - vmaf_speed_smooth(column[0], column[1], column[2]);
    }
    __syncthreads();
}

/// The covariance of the samples of all blocks, also of those that overlap: one by a thread.
static DEVICE_INLINE void speed_covariance(SpeedShared &s, const VMAFSpeedPicture &picture,
                                           const float *grid)
{
    const int w = (picture.blocks_w - 1) * VMAF_SPEED_SIDE + 1, stride = picture.grid_w;
    const int h = (picture.nb_blocks / picture.blocks_w - 1) * VMAF_SPEED_SIDE + 1;
    const int tid = threadIdx.x;
    int i = 0, j = tid;
    double sum = 0;

    if (tid < BLOCK) {
        const float *src = grid + tid / VMAF_SPEED_SIDE * stride + tid % VMAF_SPEED_SIDE;
        float mean = 0;

        for (int y = 0; y < h; y++)
#pragma unroll 4
            for (int x = 0; x < w; x++)
                mean += src[y * stride + x];
        s.mean[tid] = mean / (w * h);
    }
    __syncthreads();
    // thread by thread along the rows of the lower triangle
    while (j > i)
        j -= ++i;
    if (i < BLOCK) {
        const float *a = grid + i / VMAF_SPEED_SIDE * stride + i % VMAF_SPEED_SIDE;
        const float *b = grid + j / VMAF_SPEED_SIDE * stride + j % VMAF_SPEED_SIDE;
        const float mean_a = s.mean[i], mean_b = s.mean[j];

        for (int y = 0; y < h; y++)
#pragma unroll 4
            for (int x = 0; x < w; x++)
                sum += ((double)a[y * stride + x] - mean_a) * ((double)b[y * stride + x] - mean_b);
        s.work.given[i][j] = s.work.given[j][i] = sum / (w * h);
    }
    __syncthreads();
}

/// Contrasts and eigenvalues of a plane, each one by a thread block.
static DEVICE_INLINE void speed_measure(const VMAFCUDAParams &p)
{
    __shared__ SpeedShared s;
    const VMAFSpeedPicture &picture = p.speed;
    const int tid = threadIdx.x;
    float *grid = speed_grid(p, 1, blockIdx.x);
    float *dst  = (float *)(p.pair[blockIdx.y].result + p.result_at) +
                  blockIdx.x * (VMAF_SPEED_HEAD + picture.nb_blocks);
    bool is_singular = false;

    if (!p.pair[blockIdx.y].is_chosen)
        return;
    speed_subtract(grid, speed_grid(p, 0, blockIdx.x), picture.grid_w, picture.grid_h);
    speed_covariance(s, picture, grid);
    vmaf_tridiagonalize(&s.work, tid, VMAF_SPEED_THREADS);
    if (tid == 0)
        vmaf_eigenvalues(s.work.value, s.work.side);
    __syncthreads();
    for (int i = 0; i < BLOCK; i++)
        is_singular |= s.work.value[i] < VMAF_SPEED_SINGULAR;
    is_singular = is_singular || !vmaf_triangulate(&s.work, tid, VMAF_SPEED_THREADS);
    if (tid < VMAF_SPEED_HEAD)
        dst[tid] = tid ? s.work.value[tid - 1] : is_singular;
    for (int i = tid; i < picture.nb_blocks && !is_singular; i += VMAF_SPEED_THREADS)
        dst[VMAF_SPEED_HEAD + i] =
            vmaf_speed_contrast(&s.work, grid + i / picture.blocks_w * VMAF_SPEED_SIDE *
                                picture.grid_w + i % picture.blocks_w * VMAF_SPEED_SIDE,
                                picture.grid_w);
}

extern "C" {

#define KERNEL(name, function, threads)                                 \
__global__ void __launch_bounds__(threads) name(VMAFCUDAParams p)       \
{                                                                       \
    function(p);                                                        \
}

KERNEL(vmaf_motion,         measure_motion,   VMAF_MOTION_THREADS)
KERNEL(vmaf_adm_first,      adm_split<true>,  ADM_THREADS)
KERNEL(vmaf_adm_next,       adm_split<false>, ADM_THREADS)
KERNEL(vmaf_adm_finish,     adm_finish,       WARP_SIZE)
KERNEL(vmaf_cambi_prepare,  cambi_prepare,    CAMBI_THREADS)
KERNEL(vmaf_cambi_filter,   cambi_filter,     CAMBI_THREADS)
KERNEL(vmaf_cambi_contrast, cambi_contrast,   VMAF_CAMBI_COLUMNS)
KERNEL(vmaf_cambi_select,   cambi_select,     VMAF_SELECT_THREADS)
KERNEL(vmaf_speed_blur,     speed_blur,       VMAF_GRID_THREADS)
KERNEL(vmaf_speed_measure,  speed_measure,    VMAF_SPEED_THREADS)

}
