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
#include "vf_detailloss_cuda.h"

/**
 * The sums of vf_detailloss.c for a batch of pairs; blockIdx.y is the pair. A kernel
 * splits the pictures of one scale. A thread block takes one tile of coefficients
 * after the other, with the coefficients around it, which mask a part of them.
 */
#define TILE_THREADS (DETAIL_TILE_W * DETAIL_TILE_H)

/// @name Coefficients of a tile with those around it, and the samples that they are made of
/// @{
#define AROUND_W (DETAIL_TILE_W + 2)
#define AROUND_H (DETAIL_TILE_H + 2)
#define SAMPLES_W (2 * AROUND_W + 4)            ///< one more before and after, to load in fours
#define SAMPLES_H (2 * AROUND_H + 2)
/// @}

/// Rows of samples of both images that a warp loads.
#define NB_WARPS (TILE_THREADS / WARP_SIZE)
#define ROWS     ((PAIR_NB * SAMPLES_H + NB_WARPS - 1) / NB_WARPS)

/// What a thread block shares: an image's samples, then its columns split.
typedef struct Shared {
    float sample[PAIR_NB][SAMPLES_H][SAMPLES_W] __align__(16);
    float low[PAIR_NB][AROUND_H][SAMPLES_W];
    float high[PAIR_NB][AROUND_H][SAMPLES_W];
    float kept[AROUND_H][AROUND_W], added[AROUND_H][AROUND_W];  ///< sums over the orientations
} Shared;

/// Add a warp's values to a sum in device memory.
static DEVICE_INLINE void add_sum(uint64_t *dst, uint64_t value)
{
    value = warp_sum(value);
    if (threadIdx.x % WARP_SIZE == 0 && value)
        atomic_add64(dst, value);
}

/// Value of a sample; bits beyond the depth do not count.
template<typename T>
static DEVICE_INLINE int value_of(const DetailCUDAParams &p, T v)
{
    return sizeof(T) == 1 ? v : v >> p.down & p.mask;
}

template<typename T>
static DEVICE_INLINE int sample_value(const DetailCUDAParams &p, const DetailCUDAPlane &plane,
                                      int step, int x, int y)
{
    return value_of(p, ((const T *)(plane.data + (int64_t)y * plane.pitch))[x * step]);
}

/// Four samples as they lie in memory.
template<typename T> struct __align__(4 * sizeof(T)) Four {
    T v[4];
};

/// The picture that is split: luma, if T is not float.
template<typename T>
static DEVICE_INLINE DetailCUDAPlane get_image(const DetailCUDAParams &p, int image)
{
    return p.pair[blockIdx.y].plane[image][0];
}

template<>
DEVICE_INLINE DetailCUDAPlane get_image<float>(const DetailCUDAParams &p, int image)
{
    const DetailCUDAPlane ret = {
        (const uint8_t *)(p.image + (int64_t)(image * DETAIL_MAX_BATCH + blockIdx.y) * p.w * p.h),
        p.w * (int)sizeof(float)
    };

    return ret;
}

/// A sample of it, in steps of 8 bits.
template<typename T>
static DEVICE_INLINE float image_value(const DetailCUDAParams &p, T v)
{
    return value_of(p, v) * p.picture.luma_unit;
}

template<>
DEVICE_INLINE float image_value<float>(const DetailCUDAParams &p, float v)
{
    return v;
}

/// The samples of a tile that reaches beyond the picture.
template<typename T>
static DEVICE_INLINE void load_outside(Shared &s, const DetailCUDAParams &p, int left, int top)
{
    for (int i = 0; i < PAIR_NB; i++) {
        const DetailCUDAPlane image = get_image<T>(p, i);

#pragma unroll 1
        for (int j = threadIdx.x; j < SAMPLES_W * SAMPLES_H; j += TILE_THREADS) {
            const int x = left + j % SAMPLES_W, y = top + j / SAMPLES_W;
            // what is far outside is of no coefficient that counts
            const int column = detail_mirror(min(max(x, -1), p.w + 2), p.w);
            const int row    = detail_mirror(min(max(y, -1), p.h + 2), p.h);

            s.sample[i][0][j] = image_value(p, ((const T *)(image.data + (int64_t)row * image.pitch))[column]);
        }
    }
}

/// The samples of a tile, from (left, top) on: a row is loaded by a warp.
template<typename T>
static DEVICE_INLINE void load_samples(Shared &s, const DetailCUDAParams &p, int left, int top)
{
    const DetailCUDAPlane first = get_image<T>(p, 0), second = get_image<T>(p, 1);
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    Four<T> loaded[ROWS];

    if (left < 0 || top < 0 || left + SAMPLES_W > p.w || top + SAMPLES_H > p.h ||
        ((uintptr_t)first.data | first.pitch | (uintptr_t)second.data | second.pitch) % sizeof(Four<T>)) {
        load_outside<T>(s, p, left, top);
        return;
    }
    if (lane >= SAMPLES_W / 4)
        return;
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int row = warp + i * NB_WARPS, y = row % SAMPLES_H;
        const uint8_t *data = row < SAMPLES_H ? first.data : second.data;
        const int pitch     = row < SAMPLES_H ? first.pitch : second.pitch;

        if (row < PAIR_NB * SAMPLES_H)
            loaded[i] = ((const Four<T> *)(data + (int64_t)(top + y) * pitch + left * (int)sizeof(T)))[lane];
    }
    UNROLL
    for (int i = 0; i < ROWS; i++) {
        const int row = warp + i * NB_WARPS;

        if (row < PAIR_NB * SAMPLES_H) {
            UNROLL
            for (int j = 0; j < 4; j++)
                s.sample[0][row][4 * lane + j] = image_value(p, loaded[i].v[j]);
        }
    }
}

static DEVICE_INLINE void split_columns(Shared &s)
{
    for (int i = 0; i < PAIR_NB; i++)
        for (int j = threadIdx.x; j < SAMPLES_W * AROUND_H; j += TILE_THREADS) {
            const float *x = &s.sample[i][2 * (j / SAMPLES_W)][j % SAMPLES_W];

            s.low[i][0][j]  = detail_low(x[0], x[SAMPLES_W], x[2 * SAMPLES_W], x[3 * SAMPLES_W]);
            s.high[i][0][j] = detail_high(x[0], x[SAMPLES_W], x[2 * SAMPLES_W], x[3 * SAMPLES_W]);
        }
}

/// The coefficients at column x and row y of a tile with those around it.
static DEVICE_INLINE void make_coefficients(DetailCoefficient dst[DETAIL_ORIENTATIONS], Shared &s,
                                            int octave, int x, int y)
{
    const float straight = detail_weight(octave, DETAIL_STRAIGHT);
    const float diagonal = detail_weight(octave, DETAIL_DIAGONAL);
    float c[PAIR_NB][DETAIL_ORIENTATIONS];

    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        const float *low = &s.low[i][y][2 * x + 1], *high = &s.high[i][y][2 * x + 1];

        c[i][0] = detail_low(high[0], high[1], high[2], high[3]);
        c[i][1] = detail_high(low[0], low[1], low[2], low[3]);
        c[i][2] = detail_high(high[0], high[1], high[2], high[3]);
    }
    UNROLL
    for (int o = 0; o < DETAIL_ORIENTATIONS; o++)
        dst[o] = detail_coefficient(c[PAIR_REFERENCE][o], c[PAIR_MAIN][o],
                                    o == 2 ? diagonal : straight);
    s.kept[y][x]  = (dst[0].kept  + dst[1].kept)  + dst[2].kept;
    s.added[y][x] = (dst[0].added + dst[1].added) + dst[2].added;
}

/**
 * Add the cubes of a coefficient; those around are there. Outside of the picture the
 * nearest ones count.
 */
static DEVICE_INLINE void add_cubes(uint64_t sums[DETAIL_NB_BANDS][DETAIL_NB_PARTS], const Shared &s,
                                    const DetailCoefficient c[DETAIL_ORIENTATIONS],
                                    int x, int y, int left, int top, int bw, int bh)
{
    float around[2][3][3], added, kept;

    UNROLL
    for (int j = 0; j < 3; j++) {
        const int row = min(max(y + j - 1, 1 - top), bh - top);

        UNROLL
        for (int i = 0; i < 3; i++) {
            const int column = min(max(x + i - 1, 1 - left), bw - left);

            around[0][j][i] = s.added[row][column];
            around[1][j][i] = s.kept[row][column];
        }
    }
    added = detail_mask(&around[0][0][1], &around[0][1][1], &around[0][2][1]);
    kept  = detail_mask(&around[1][0][1], &around[1][1][1], &around[1][2][1]);
    UNROLL
    for (int o = 0; o < DETAIL_ORIENTATIONS; o++) {
        uint64_t *cube = sums[o == 2 ? DETAIL_DIAGONAL : DETAIL_STRAIGHT];

        cube[DETAIL_SOURCE] += detail_cube(c[o].source, 0.f);
        cube[DETAIL_KEPT]   += detail_cube(c[o].kept,   added);
        cube[DETAIL_ADDED]  += detail_cube(c[o].added,  kept);
    }
}

/// Samples of the next scale's pictures.
static DEVICE_INLINE void store_next(const Shared &s, const DetailCUDAParams &p, int x, int y,
                                     int left, int top, int bw, int bh)
{
    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        const float *low = &s.low[i][y][2 * x + 1];

        p.next[(int64_t)(i * DETAIL_MAX_BATCH + blockIdx.y) * bw * bh + (top + y - 1) * bw + left + x - 1] =
            detail_low(low[0], low[1], low[2], low[3]);
    }
}

template<typename T>
static DEVICE_INLINE void split(const DetailCUDAParams &p)
{
    __shared__ Shared s;
    const int bw = detail_half(p.w), bh = detail_half(p.h), tid = threadIdx.x;
    const int x = tid % DETAIL_TILE_W + 1, y = tid / DETAIL_TILE_W + 1;
    const int octave = p.picture.octave + p.scale;
    uint64_t sums[DETAIL_NB_BANDS][DETAIL_NB_PARTS] = { { 0, 0, 0 }, { 0, 0, 0 } };

#pragma unroll 1
    for (int tile = blockIdx.x; tile < p.nb_tiles; tile += gridDim.x) {
        const int left = tile % p.nb_tiles_x * DETAIL_TILE_W, top = tile / p.nb_tiles_x * DETAIL_TILE_H;
        const bool inside = left + x - 1 < bw && top + y - 1 < bh;
        DetailCoefficient c[DETAIL_ORIENTATIONS];

        load_samples<T>(s, p, 2 * left - 4, 2 * top - 3);
        __syncthreads();
        split_columns(s);
        __syncthreads();
        // the frame around the tile: above and below, then the sides
        if (tid < 2 * AROUND_W + 2 * DETAIL_TILE_H) {
            const int i = tid - 2 * AROUND_W;

            if (i < 0)
                make_coefficients(c, s, octave, tid % AROUND_W, tid / AROUND_W * (AROUND_H - 1));
            else
                make_coefficients(c, s, octave, i % 2 * (AROUND_W - 1), i / 2 + 1);
        }
        make_coefficients(c, s, octave, x, y);
        if (inside && p.scale + 1 < DETAIL_SCALES)
            store_next(s, p, x, y, left, top, bw, bh);
        __syncthreads();
        if (inside)
            add_cubes(sums, s, c, x, y, left, top, bw, bh);
    }
    UNROLL
    for (int b = 0; b < DETAIL_NB_BANDS; b++) {
        UNROLL
        for (int i = 0; i < DETAIL_NB_PARTS; i++)
            add_sum(&p.sums[blockIdx.y].cube[p.scale][b][i], sums[b][i]);
    }
}

/// Sums over the cells of chroma, each by DETAIL_CHROMA_LANES lanes.
template<typename T>
static DEVICE_INLINE void sum_chroma_cells(const DetailCUDAParams &p)
{
    const DetailCUDAPair &pair   = p.pair[blockIdx.y];
    const DetailPicture &picture = p.picture;
    const int nb_cells = picture.cells_x * picture.cells_y;
    const int lane = threadIdx.x % DETAIL_CHROMA_LANES, nb_lanes = gridDim.x * DETAIL_CELL_THREADS;

    // all lanes of a warp stay to the end
    for (int i = blockIdx.x * DETAIL_CELL_THREADS + threadIdx.x;
         i - (int)threadIdx.x % WARP_SIZE < nb_cells * 2 * PAIR_NB * DETAIL_CHROMA_LANES;
         i += nb_lanes) {
        const int cell = i / DETAIL_CHROMA_LANES % nb_cells;
        const int image = i / DETAIL_CHROMA_LANES / nb_cells % PAIR_NB;
        const int component = i / DETAIL_CHROMA_LANES / nb_cells / PAIR_NB;
        const bool is_mine = component < 2;
        unsigned sum = 0;

        for (int y = lane; is_mine && y < picture.cell_h; y += DETAIL_CHROMA_LANES)
            for (int x = 0; x < picture.cell_w; x++)
                sum += sample_value<T>(p, pair.plane[image][1 + component], p.step[1 + component],
                                       cell % picture.cells_x * picture.cell_w + x,
                                       cell / picture.cells_x * picture.cell_h + y);
        for (int delta = DETAIL_CHROMA_LANES / 2; delta; delta /= 2)
            sum += shuffle_down(sum, delta);
        if (is_mine && lane == 0)
            p.cells[((component * PAIR_NB + image) * DETAIL_MAX_BATCH + blockIdx.y) * nb_cells + cell] = sum;
    }
}

/// Four samples of a row.
template<typename T>
static DEVICE_INLINE Four<T> load_four(const DetailCUDAPlane &plane, bool is_aligned, int x, int y)
{
    const T *src = (const T *)(plane.data + (int64_t)y * plane.pitch) + x;
    Four<T> ret;

    if (is_aligned)
        return *(const Four<T> *)src;
    UNROLL
    for (int i = 0; i < 4; i++)
        ret.v[i] = src[i];
    return ret;
}

template<typename T>
static DEVICE_INLINE void sum_motion(const DetailCUDAParams &p)
{
    const DetailCUDAPair &pair = p.pair[blockIdx.y];
    const int w = p.picture.width / DETAIL_MOTION_CELL, h = p.picture.height / DETAIL_MOTION_CELL;
    const DetailCUDAPlane &source = pair.plane[PAIR_REFERENCE][0];
    const bool is_aligned = !(((uintptr_t)source.data | source.pitch |
                               (uintptr_t)pair.previous.data | pair.previous.pitch) % sizeof(Four<T>));
    uint64_t motion = 0;

    if (!pair.previous.data)
        return;
    for (int i = blockIdx.x * DETAIL_CELL_THREADS + threadIdx.x; i < w * h;
         i += gridDim.x * DETAIL_CELL_THREADS) {
        const int x0 = i % w * DETAIL_MOTION_CELL, y0 = i / w * DETAIL_MOTION_CELL;
        int difference = 0;

        UNROLL
        for (int y = 0; y < DETAIL_MOTION_CELL; y++) {
            const Four<T> now    = load_four<T>(source, is_aligned, x0, y0 + y);
            const Four<T> before = load_four<T>(pair.previous, is_aligned, x0, y0 + y);

            UNROLL
            for (int x = 0; x < DETAIL_MOTION_CELL; x++)
                difference += value_of(p, now.v[x]) - value_of(p, before.v[x]);
        }
        motion += abs(difference);
    }
    add_sum(&p.sums[blockIdx.y].motion, motion);
}

extern "C" {

#define SPLIT_KERNEL(name, T)                                                                   \
__global__ void __launch_bounds__(TILE_THREADS, DETAIL_TILES_PER_SM) name(DetailCUDAParams p)   \
{                                                                                               \
    split<T>(p);                                                                                \
}

SPLIT_KERNEL(detail_split_8,  uint8_t)
SPLIT_KERNEL(detail_split_16, uint16_t)
SPLIT_KERNEL(detail_split,    float)

#define CELLS_KERNEL(name, T)                                                                   \
__global__ void __launch_bounds__(DETAIL_CELL_THREADS) name(DetailCUDAParams p)                 \
{                                                                                               \
    sum_chroma_cells<T>(p);                                                                     \
    sum_motion<T>(p);                                                                           \
}

CELLS_KERNEL(detail_cells_8,  uint8_t)
CELLS_KERNEL(detail_cells_16, uint16_t)

/// The change of chroma; then all sums are there. By one thread block.
__global__ void __launch_bounds__(DETAIL_FINISH_THREADS) detail_finish(DetailCUDAParams p)
{
    const DetailPicture &picture = p.picture;
    const int w = detail_nb_chroma_blocks(picture.cells_x);
    const int h = detail_nb_chroma_blocks(picture.cells_y);
    const int nb_words = sizeof(DetailSums) / sizeof(uint64_t), tid = threadIdx.x;
    uint64_t *sums = (uint64_t *)(p.sums + blockIdx.y), *result = (uint64_t *)p.pair[blockIdx.y].result;
    uint64_t chroma = 0;

    for (int i = tid; i < w * h * 2; i += DETAIL_FINISH_THREADS) {
        const int component = i / (w * h), x = i % (w * h) % w, y = i % (w * h) / w;
        float variance[PAIR_NB];

        UNROLL
        for (int j = 0; j < PAIR_NB; j++) {
            const uint32_t *cells = p.cells +
                ((component * PAIR_NB + j) * DETAIL_MAX_BATCH + blockIdx.y) *
                picture.cells_x * picture.cells_y;

            variance[j] = detail_variance(cells + DETAIL_CHROMA_STEP * (y * picture.cells_x + x),
                                          picture.cells_x, picture.chroma_unit);
        }
        chroma += detail_chroma(variance[PAIR_REFERENCE], variance[PAIR_MAIN]);
    }
    add_sum(&p.sums[blockIdx.y].chroma, chroma);
    fence_device();
    __syncthreads();
    if (tid < nb_words) {
        result[tid] = load_relaxed(sums + tid);
        sums[tid]   = 0;
    }
}

}
