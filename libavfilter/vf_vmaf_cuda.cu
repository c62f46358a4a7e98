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
#define VMAF_SPEED_LANES WARP_SIZE

#include "vf_vmaf_cuda.h"

/**
 * @file
 * The features of VMAF v1 for a batch of pairs; blockIdx.y is the pair. The arithmetic is that of
 * vmaf_arithmetic.h. What needs a power is left to the host, which gets sums.
 *
 * A launch measures all pairs by one form of a feature: a contrast sensitivity of ADM, a window of
 * motion, a picture of CAMBI, a size of chroma. Sums of integers have no order; those of floats are
 * made by one thread each, in the order of the CPU.
 *
 * Times are in doc/benchmarks.md. Sizes of tiles and runs were chosen by them, on an H100.
 */

/// A sample at an address in a plane whose samples have sizeof(T) bytes.
template<typename T>
static DEVICE_INLINE int load_sample(const VMAFCUDAPlane &p, const uint8_t *at)
{
    return sizeof(T) == 1 ? *at * p.factor >> 6 : *(const T *)at >> p.down;
}

static DEVICE_INLINE int get_sample(const VMAFCUDAPlane &p, int x, int y)
{
    const uint8_t *at = p.data + y * p.pitch + x * p.step;

    return p.size == 1 ? load_sample<uint8_t>(p, at) : load_sample<uint16_t>(p, at);
}

/// The index that stands for i: where it is beyond last - i, that one. Far outside any does.
static DEVICE_INLINE int mirror(int i, int last)
{
    return max(min(vmaf_abs(i), last - vmaf_abs(i)), 0);
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

/// Blur the differences of two frames down the columns of a tile and two on each side, of which a
/// thread has one.
template<typename T>
static DEVICE_INLINE void blur_columns(int (*dst)[VMAF_MOTION_THREADS], const VMAFCUDAParams &p,
                                       const VMAFCUDAPlane &now, const VMAFCUDAPlane &before,
                                       int left, int top)
{
    const int x = mirror(left + (int)threadIdx.x - 2, 2 * (p.width - 1));
    const uint8_t *a = before.data + x * sizeof(T), *b = now.data + x * sizeof(T);
    int d[VMAF_MOTION_TAPS];

    UNROLL
    for (int i = 0; i < VMAF_MOTION_TILE_H + VMAF_MOTION_TAPS - 1; i++) {
        const int y = mirror(top + i - 2, 2 * (p.height - 1));

        UNROLL
        for (int j = 0; j < VMAF_MOTION_TAPS - 1; j++)
            d[j] = d[j + 1];
        d[4] = load_sample<T>(before, a + y * before.pitch) -
               load_sample<T>(now, b + y * now.pitch);
        if (i >= VMAF_MOTION_TAPS - 1)
            dst[i - VMAF_MOTION_TAPS + 1][threadIdx.x] =
                vmaf_motion_columns(d[0], d[1], d[2], d[3], d[4], p.depth);
    }
}

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
    // of four columns a thread
    const int column = threadIdx.x % WARP_SIZE * 4, nb_columns = min(p.width - left - column, 4);
    uint32_t sum = 0;

    if (!before.data)
        return;
    if (now.size == 1)
        blur_columns<uint8_t>(blurred, p, now, before, left, top);
    else
        blur_columns<uint16_t>(blurred, p, now, before, left, top);
    __syncthreads();
    if (column < VMAF_MOTION_TILE_W) {
        for (int row = threadIdx.x / WARP_SIZE; row < min(VMAF_MOTION_TILE_H, p.height - top);
             row += VMAF_MOTION_THREADS / WARP_SIZE) {
            const int4 a = *(const int4 *)&blurred[row][column];
            const int4 b = *(const int4 *)&blurred[row][column + 4];
            const int v[] = { a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w };

            UNROLL
            for (int i = 0; i < 4; i++)
                if (i < nb_columns)
                    sum += vmaf_motion_row64(v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4]);
        }
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

/// Threads that split the columns: so many for each have a part of the rows.
#define COLUMN_PARTS (ADM_THREADS / (PAIR_NB * COLUMNS_W))
#define COLUMN_ROWS  DIV_UP(AROUND_H, COLUMN_PARTS)

/// What a thread block shares: 25 KB.
typedef struct ADMShared {
    int2 near[AROUND_H][AROUND_W];      ///< what both parts mask around them, over the bands
    int column[PAIR_NB][2][AROUND_H][COLUMNS_W];        ///< low, high
} ADMShared;

/// What becomes of a coefficient of each band.
typedef struct ADMCoefficient {
    int source[VMAF_ADM_BANDS];
    int part[VMAF_ADM_PARTS][VMAF_ADM_BANDS];           ///< weighed
    int here[VMAF_ADM_PARTS];       ///< what masks at its own place is so much more
} ADMCoefficient;

/// Sums of scale 0 have 32 bits.
template<bool FIRST> struct ADMSum       { typedef int64_t type; };
template<>           struct ADMSum<true> { typedef int type; };

/// The low or the high part of four samples.
template<typename S>
static DEVICE_INLINE S adm_filter(int is_high, int a, int b, int c, int d)
{
    const int tap[2][4] = { VMAF_ADM_LOW, VMAF_ADM_HIGH };

    return (S)a * tap[is_high][0] + (S)b * tap[is_high][1] +
           (S)c * tap[is_high][2] + (S)d * tap[is_high][3];
}

static DEVICE_INLINE int adm_shift(int sum, int shift)
{
    return sum + ((1 << shift) >> 1) >> shift;
}

static DEVICE_INLINE int adm_shift(int64_t sum, int shift)
{
    return vmaf_adm_shift(sum, shift);
}

/// Split a part of a column of a picture. A sample T is of a plane if the scale is the first.
template<bool FIRST, typename T>
static DEVICE_INLINE void adm_column(ADMShared &s, const VMAFCUDAParams &p, int picture,
                                     int column, int begin, int left, int top)
{
    typedef typename ADMSum<FIRST>::type S;
    const VMAFCUDAPlane &plane = p.pair[blockIdx.y].plane[picture][0];
    const int64_t size = (int64_t)p.adm.width * p.adm.height;
    const int pitch    = FIRST ? plane.pitch : p.adm.width * (int)sizeof(T);
    const uint8_t *src = (FIRST ? plane.data :
                          (const uint8_t *)(p.image + (blockIdx.y * PAIR_NB + picture) * size)) +
                         mirror(2 * left - 3 + column, 2 * p.adm.width - 1) * sizeof(T);
    const int shift  = FIRST ? p.depth : p.adm.scale == 1 ? 0 : 16;
    const int offset = FIRST ? VMAF_ADM_LOW_SUM << (p.depth - 1) : 0;
    int v[4];

    UNROLL
    for (int i = -1; i < COLUMN_ROWS; i++) {
        const int row = begin + i;

        v[0] = v[2];
        v[1] = v[3];
        UNROLL
        for (int j = 2; j < 4; j++) {
            const uint8_t *at = src + mirror(2 * (top + row) - 3 + j, 2 * p.adm.height - 1) * pitch;

            v[j] = FIRST ? load_sample<T>(plane, at) : (int)*(const T *)at;
        }
        if (i >= 0 && row < AROUND_H) {
            s.column[picture][0][row][column] =
                adm_shift(adm_filter<S>(0, v[0], v[1], v[2], v[3]) - offset, shift);
            s.column[picture][1][row][column] =
                adm_shift(adm_filter<S>(1, v[0], v[1], v[2], v[3]), shift);
        }
    }
}

/// Split the columns that a tile is made of.
template<bool FIRST>
static DEVICE_INLINE void adm_columns(ADMShared &s, const VMAFCUDAParams &p, int left, int top)
{
    const int part    = threadIdx.x / (PAIR_NB * COLUMNS_W), begin = part * COLUMN_ROWS;
    const int picture = threadIdx.x / COLUMNS_W % PAIR_NB, column = threadIdx.x % COLUMNS_W;

    if (part >= COLUMN_PARTS)
        return;
    if (!FIRST)
        adm_column<FIRST, int32_t>(s, p, picture, column, begin, left, top);
    else if (p.pair[blockIdx.y].plane[picture][0].size == 1)
        adm_column<FIRST, uint8_t>(s, p, picture, column, begin, left, top);
    else
        adm_column<FIRST, uint16_t>(s, p, picture, column, begin, left, top);
}

/// The low or the high part of four columns in a row.
template<bool FIRST>
static DEVICE_INLINE int adm_row(const int *row, int scale, int is_high, int x)
{
    typedef typename ADMSum<FIRST>::type S;
    const int2 a = *(const int2 *)(row + 2 * x), b = *(const int2 *)(row + 2 * x + 2);

    return adm_shift(adm_filter<S>(is_high, a.x, a.y, b.x, b.y), scale % 2 ? 15 : 16);
}

/// The coefficients at column x and row y of a tile with those around it.
template<bool FIRST>
static DEVICE_INLINE void adm_coefficient(ADMCoefficient &dst, ADMShared &s,
                                          const VMAFADMScale &adm, int x, int y)
{
    typedef typename ADMSum<FIRST>::type S;
    int c[PAIR_NB][VMAF_ADM_BANDS], near[VMAF_ADM_PARTS] = { 0, 0 };
    bool is_aligned;

    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        c[i][VMAF_ADM_H] = adm_row<FIRST>(s.column[i][1][y], adm.scale, 0, x);
        c[i][VMAF_ADM_V] = adm_row<FIRST>(s.column[i][0][y], adm.scale, 1, x);
        c[i][VMAF_ADM_D] = adm_row<FIRST>(s.column[i][1][y], adm.scale, 1, x);
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
    s.near[y][x] = { near[VMAF_ADM_KEPT], near[VMAF_ADM_ADDED] };
}

/// Add the cubes of the coefficients at a place; those around are there.
template<bool FIRST>
static DEVICE_INLINE void adm_cubes(uint64_t sum[VMAF_ADM_SUMS][VMAF_ADM_BANDS], const ADMShared &s,
                                    const ADMCoefficient &c, const VMAFADMScale &adm,
                                    int x, int y, int left, int top)
{
    int threshold[VMAF_ADM_PARTS] = { c.here[0], c.here[1] }, column[3];

    UNROLL
    for (int i = 0; i < 3; i++)
        column[i] = vmaf_adm_mirror(left + x - 2 + i, adm.w) - left + 1;
    UNROLL
    for (int i = 0; i < 3; i++) {
        const int2 *row = s.near[vmaf_adm_mirror(top + y - 2 + i, adm.h) - top + 1];

        UNROLL
        for (int j = 0; j < 3; j++) {
            const int2 near = row[column[j]];

            threshold[VMAF_ADM_KEPT]  += near.x;
            threshold[VMAF_ADM_ADDED] += near.y;
        }
    }
    UNROLL
    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        const int unit = !FIRST ? 0 : band == VMAF_ADM_D ? 12 : 10;

        UNROLL
        for (int part = 0; part < VMAF_ADM_PARTS; part++)
            sum[part][band] += vmaf_adm_cube(c.part[part][band],
                                             (int)((uint32_t)threshold[!part] << unit),
                                             vmaf_adm_square_shift(!FIRST, band),
                                             adm.cube_shift[part][band]);
        sum[VMAF_ADM_SOURCE][band] +=
            FIRST ? vmaf_adm_cube_source0(c.source[band])
                  : vmaf_adm_cube_source(c.source[band], adm.square_shift[VMAF_ADM_SOURCE][band],
                                         adm.cube_shift[VMAF_ADM_SOURCE][band]);
    }
}

/// Samples of the next scale's pictures.
template<bool FIRST>
static DEVICE_INLINE void adm_store_next(const ADMShared &s, const VMAFCUDAParams &p,
                                         int x, int y, int left, int top)
{
    UNROLL
    for (int i = 0; i < PAIR_NB; i++)
        p.next[(int64_t)(blockIdx.y * PAIR_NB + i) * p.adm.w * p.adm.h +
               (top + y - 1) * p.adm.w + left + x - 1] =
            adm_row<FIRST>(s.column[i][0][y], p.adm.scale, 0, x);
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
    const int run     = VMAF_ADM_TILE_W * VMAF_ADM_TILES(!FIRST), nb_runs = DIV_UP(adm.w, run);
    const int begin   = blockIdx.x % nb_runs * run, end = min(begin + run, adm.w);
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
            adm_store_next<FIRST>(s, p, x, y, left, top);
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
    __shared__ uint64_t sum;
    const int scale = blockIdx.x / (VMAF_ADM_SUMS * VMAF_ADM_BANDS);
    const int part  = blockIdx.x / VMAF_ADM_BANDS % VMAF_ADM_SUMS;
    uint64_t *rows  = p.rows + (blockIdx.y * gridDim.x + blockIdx.x) * (int64_t)p.nb_rows;
    uint64_t own    = 0;

    if (!p.pair[blockIdx.y].is_chosen)
        return;
    if (threadIdx.x == 0)
        sum = 0;
    for (int i = threadIdx.x; i < p.nb_rows; i += ADM_THREADS) {
        own    += vmaf_adm_round_row(rows[i], p.row_shift[scale][part]);
        rows[i] = 0;
    }
    __syncthreads();
    add_sum(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0)
        ((uint64_t *)(p.pair[blockIdx.y].result + p.result_at))[blockIdx.x] = sum;
}

// ---- CAMBI: pictures ----

/// A sample of a scale's picture: its value, and whether the mask has it.
#define CAMBI_MASKED 0x8000

/// Three samples in a row of the encode, from a column on.
template<typename T>
static DEVICE_INLINE void cambi_load(int dst[3], int *is_deep, const VMAFCUDAParams &p,
                                     const int column[3], int y)
{
    const VMAFCUDAPlane &plane = p.pair[blockIdx.y].plane[PAIR_MAIN][0];
    const uint8_t *src = plane.data + p.line[min(y, p.cambi.height - 1)] * plane.pitch;

    UNROLL
    for (int i = 0; i < 3; i++) {
        const int sample = load_sample<T>(plane, src + column[i] * sizeof(T));

        if (sizeof(T) > 1 && !i)
            *is_deep |= sample >> p.cambi.depth;
        dst[i] = vmaf_cambi_value(sample, p.cambi.depth);
    }
}

/// The values of a row at a column and right of it: where the encode was dithered, of the means of
/// 2x2 samples. Past the edges the last sample stands.
static DEVICE_INLINE int2 cambi_values(bool dithers, const int row[3], const int below[3])
{
    return dithers ? make_int2(row[0] + row[1] + below[0] + below[1] >> 2,
                               row[1] + row[2] + below[1] + below[2] >> 2)
                   : make_int2(row[0], row[1]);
}

/**
 * Make the picture of every sample, or every second one, and tell which samples begin no edge. A
 * warp has 32 columns, of which it tells a word a row.
 */
template<typename T>
static DEVICE_INLINE void cambi_picture(const VMAFCUDAParams &p)
{
    const VMAFCambiPicture &cambi = p.cambi;
    const int nb_words = DIV_UP(cambi.width, WARP_SIZE);
    const int job = blockIdx.x * VMAF_CAMBI_WARPS + threadIdx.x / WARP_SIZE, word = job % nb_words;
    const int x   = word * WARP_SIZE + threadIdx.x % WARP_SIZE;
    const int top = job / nb_words * VMAF_CAMBI_ROWS;
    const int end = min(top + VMAF_CAMBI_ROWS, cambi.height);
    const int halving = cambi.is_halved;
    uint32_t *flat  = p.flat + (int64_t)blockIdx.y * nb_words * cambi.height + word;
    uint16_t *value = p.value + (int64_t)blockIdx.y * p.level_size + (x >> halving);
    int column[3], row[2][3], is_deep = 0;
    int2 now;

    if (top >= end || !p.pair[blockIdx.y].is_chosen)
        return;
    UNROLL
    for (int i = 0; i < 3; i++)
        column[i] = p.column[min(x + i, cambi.width - 1)];
    cambi_load<T>(row[0], &is_deep, p, column, top);
    cambi_load<T>(row[1], &is_deep, p, column, top + 1);
    now = cambi_values(cambi.dithers, row[0], row[1]);
    for (int y = top; y < end; y++) {
        int2 below;
        uint32_t bits;

        UNROLL
        for (int i = 0; i < 3; i++)
            row[0][i] = row[1][i];
        cambi_load<T>(row[1], &is_deep, p, column, y + 2);
        below = cambi_values(cambi.dithers, row[0], row[1]);
        bits  = warp_ballot(x < cambi.width && now.x == now.y && now.x == below.x);
        if (threadIdx.x % WARP_SIZE == 0)
            flat[y * nb_words] = bits;
        if (x < cambi.width && !((x | y) & halving))
            value[(y >> halving) * p.level[0].pitch] = now.x;
        now = below;
    }
    if (is_deep)
        p.state[blockIdx.y].select[0].top.is_deep = 1;
}

static DEVICE_INLINE void cambi_prepare(const VMAFCUDAParams &p)
{
    if (p.pair[blockIdx.y].plane[PAIR_MAIN][0].size == 1)
        cambi_picture<uint8_t>(p);
    else
        cambi_picture<uint16_t>(p);
}

/// How many of the samples around a column of the encode begin no edge, in a row.
static DEVICE_INLINE uint32_t cambi_flat(const VMAFCUDAParams &p, int x, int y)
{
    const int nb_words  = DIV_UP(p.cambi.width, WARP_SIZE);
    const int left      = x - VMAF_CAMBI_MASK / 2 + WARP_SIZE, word = left / WARP_SIZE - 1;
    const uint32_t *row = p.flat + ((int64_t)blockIdx.y * p.cambi.height + y) * nb_words;

    if (y < 0 || y >= p.cambi.height)
        return 0;
    const uint64_t low  = word >= 0 ? row[word] : 0;
    const uint64_t high = word + 1 < nb_words ? row[word + 1] : 0;

    return count_bits((uint32_t)((high << 32 | low) >> left % WARP_SIZE) &
                      ((1 << VMAF_CAMBI_MASK) - 1));
}

/// A sample of the scale before, and the most frequent of it and those to its left and right.
typedef struct CambiMode {
    int sample, mode;
} CambiMode;

static DEVICE_INLINE CambiMode cambi_row_mode(const uint16_t *row, int step, bool is_edge)
{
    const int sample = row[0], middle = sample & ~CAMBI_MASKED;

    return { sample, is_edge ? middle : vmaf_cambi_mode(row[-step] & ~CAMBI_MASKED, middle,
                                                        row[step] & ~CAMBI_MASKED) };
}

/**
 * Sample the scale before, and replace what is alone among its neighbours. A thread has a part of a
 * column. The first scale is masked.
 */
static DEVICE_INLINE void cambi_filter(const VMAFCUDAParams &p)
{
    const int step = p.scale ? 2 : 1, halving = p.cambi.is_halved;
    const int src_pitch = p.level[p.scale].pitch * step, pitch = p.level[p.scale + 1].pitch;
    const int w = p.level[p.scale + 1].w, h = p.level[p.scale + 1].h;
    const int nb_columns = DIV_UP(w, WARP_SIZE) * WARP_SIZE;
    const int job = blockIdx.x * VMAF_CAMBI_WARPS * WARP_SIZE + threadIdx.x, x = job % nb_columns;
    const int top = job / nb_columns * VMAF_CAMBI_FILTER_ROWS;
    const int end = min(top + VMAF_CAMBI_FILTER_ROWS, h);
    const bool is_edge  = x == 0 || x == w - 1;
    const uint16_t *src = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale].at +
                          x * step;
    uint16_t *dst = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale + 1].at + x;
    uint32_t nb_flat = 0;       // of seven rows, four bits each
    CambiMode above, now, below;

    if (!p.pair[blockIdx.y].is_chosen || x >= w || top >= end)
        return;
    now   = cambi_row_mode(src + max(top - 1, 0) * src_pitch, step, is_edge);
    below = cambi_row_mode(src + top * src_pitch, step, is_edge);
    for (int i = -VMAF_CAMBI_MASK / 2; !p.scale && i < VMAF_CAMBI_MASK / 2 - halving; i++)
        nb_flat = nb_flat << 4 | cambi_flat(p, x << halving, (top << halving) + i);
    for (int y = top; y < end; y++) {
        int value, masked;

        above  = now;
        now    = below;
        below  = cambi_row_mode(src + min(y + 1, h - 1) * src_pitch, step, is_edge);
        value  = y && y < h - 1 ? vmaf_cambi_mode(above.mode, now.mode, below.mode)
                                : now.sample & ~CAMBI_MASKED;
        masked = now.sample & CAMBI_MASKED;
        if (!p.scale) {
            for (int i = VMAF_CAMBI_MASK / 2 - halving; i <= VMAF_CAMBI_MASK / 2; i++)
                nb_flat = nb_flat << 4 | cambi_flat(p, x << halving, (y << halving) + i);
            const uint32_t two = (nb_flat & 0xf0f0f0f) + (nb_flat >> 4 & 0xf0f0f);

            masked = (int)(two * 0x1010101 >> 24) > p.cambi.mask_min ? CAMBI_MASKED : 0;
        }
        dst[y * pitch] = value | masked;
    }
}

// ---- CAMBI: contrasts ----

/// Values that are counted at a time, and of these those whose neighbours all are.
#define COUNTED (2 * WARP_SIZE)
#define CENTRAL (COUNTED - 2 * VMAF_CAMBI_CONTRASTS)

/// What the warps of a thread block share with none: how often each column has each value in the
/// window's rows. A word has four columns. 32 KB.
typedef uint32_t CambiCounts[COUNTED][WARP_SIZE];

static DEVICE_INLINE int cambi_sample(uint64_t quad, int i)
{
    return quad >> 16 * i & 0xffff;
}

/// Whether a sample counts, and is a value of at least this.
static DEVICE_INLINE bool cambi_has(int sample, int least)
{
    return sample >= (CAMBI_MASKED | least) &&
           sample < CAMBI_MASKED + VMAF_CAMBI_FIRST + VMAF_CAMBI_VALUES;
}

/// Add four samples of a row to the counts of their columns, or take them away.
static DEVICE_INLINE void cambi_add(CambiCounts &counts, uint64_t quad, int base, int sign)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int sample = cambi_sample(quad, i), row = sample - CAMBI_MASKED - base;

        if (cambi_has(sample, VMAF_CAMBI_FIRST) && (unsigned)row < COUNTED)
            counts[row][threadIdx.x % WARP_SIZE] += (unsigned)sign << 8 * i;
    }
}

/**
 * The largest contrast of a sample that is the i-th of its word's. Bytes are added up as long as
 * none overflows: it has no more than the window's rows, which are at most 65.
 */
static DEVICE_INLINE float cambi_most(const VMAFCUDAParams &p, const CambiCounts &counts,
                                      int sample, int base, int i)
{
    const int around = p.cambi.window / 2, value = sample - CAMBI_MASKED;
    const int first  = i - around >> 2, last = i + around >> 2;
    const int nb_words = 255 / p.cambi.window;
    const uint32_t first_mask = ~0u << (i - around & 3) * 8;
    const uint32_t last_mask  = ~0u >> (3 - (i + around & 3)) * 8;
    const uint32_t *word = &counts[value - base - VMAF_CAMBI_CONTRASTS]
                                  [threadIdx.x % WARP_SIZE + first];
    const uint32_t *last_word = word + last - first;
    unsigned nb[2 * VMAF_CAMBI_CONTRASTS + 1], four[2 * VMAF_CAMBI_CONTRASTS + 1];
    float most = 0;

    UNROLL
    for (int j = 0; j <= 2 * VMAF_CAMBI_CONTRASTS; j++) {
        four[j] = word[j * WARP_SIZE] & first_mask & (first < last ? ~0u : last_mask);
        nb[j]   = 0;
    }
    for (int left = nb_words - 1; ++word < last_word; left--) {
        if (!left) {
            left = nb_words;
            UNROLL
            for (int j = 0; j <= 2 * VMAF_CAMBI_CONTRASTS; j++) {
                nb[j]  += (four[j] & 0xff00ff) + (four[j] >> 8 & 0xff00ff);
                four[j] = 0;
            }
        }
        UNROLL
        for (int j = 0; j <= 2 * VMAF_CAMBI_CONTRASTS; j++)
            four[j] += word[j * WARP_SIZE];
    }
    UNROLL
    for (int j = 0; j <= 2 * VMAF_CAMBI_CONTRASTS; j++) {
        const uint32_t more = first < last ? last_word[j * WARP_SIZE] & last_mask : 0;

        nb[j] += (four[j] & 0xff00ff) + (four[j] >> 8 & 0xff00ff);
        nb[j] += (more & 0xff00ff) + (more >> 8 & 0xff00ff);
        nb[j]  = nb[j] * 0x10001 >> 16;
    }
    UNROLL
    for (int step = 1; step <= VMAF_CAMBI_CONTRASTS; step++)
        if (vmaf_cambi_is_seen(value, step))
            most = max(most, vmaf_cambi_contrast(step, nb[VMAF_CAMBI_CONTRASTS],
                                                 max(nb[VMAF_CAMBI_CONTRASTS + step],
                                                     nb[VMAF_CAMBI_CONTRASTS - step]),
                                                 p.reciprocal));
    return most;
}

/// Note those of four contrasts that are more than nothing; in any order, as they are sums.
static DEVICE_INLINE void cambi_note(const VMAFCUDAParams &p, int scale, const float contrast[4])
{
    const int lane = threadIdx.x % WARP_SIZE;
    float *dst = p.contrast + (int64_t)blockIdx.y * p.level_size + p.level[scale + 1].at;
    unsigned nb = 0, end, at = 0;

    UNROLL
    for (int i = 0; i < 4; i++)
        nb += contrast[i] > 0;
    if (!warp_ballot(nb))
        return;
    end = warp_scan(nb, lane);
    if (lane == WARP_SIZE - 1)
        at = atomic_add(&p.state[blockIdx.y].select[scale].nb, end);
    at = shuffle_from(at, WARP_SIZE - 1) + end - nb;
    UNROLL
    for (int i = 0; i < 4; i++)
        if (contrast[i] > 0)
            dst[at++] = contrast[i];
}

/// Four samples of a column's rows, of a picture of h rows.
typedef struct CambiColumn {
    const uint16_t *value;
    int pitch, h;
    uint64_t inside;            ///< those in the picture
} CambiColumn;

static DEVICE_INLINE uint64_t cambi_quad(const CambiColumn &c, int y)
{
    return c.inside && y >= 0 && y < c.h ?
           *(const uint64_t *)(c.value + y * c.pitch) & c.inside : 0;
}

/// The least value of those that count in some rows of a column, or all ones.
static DEVICE_INLINE unsigned cambi_least(const CambiColumn &c, int top, int end)
{
    unsigned least = ~0u;

    for (int y = top; y < end; y++) {
        const uint64_t quad = cambi_quad(c, y);

        UNROLL
        for (int i = 0; i < 4; i++)
            if (cambi_has(cambi_sample(quad, i), VMAF_CAMBI_FIRST))
                least = min(least, (unsigned)cambi_sample(quad, i) - CAMBI_MASKED);
    }
    return least;
}

/**
 * The largest contrast of each masked sample. A warp counts the values of 128 columns in the
 * window's rows, which slide down; the outer columns are only there for the windows of those
 * between. It does so again until all values have had their turn: each time those from the least
 * on that is left.
 */
static DEVICE_INLINE void cambi_contrast(const VMAFCUDAParams &p)
{
    __shared__ CambiCounts shared[VMAF_CAMBI_WARPS];
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int job  = blockIdx.x * VMAF_CAMBI_WARPS + warp;
    CambiCounts &counts = shared[warp];
    int scale = 0;

    if (!p.pair[blockIdx.y].is_chosen || job >= p.nb_jobs)
        return;
    while (scale < VMAF_CAMBI_SCALES - 1 && job >= p.first[scale + 1])
        scale++;
    const int w = p.level[scale + 1].w, h = p.level[scale + 1].h, pitch = p.level[scale + 1].pitch;
    const int around   = p.cambi.window / 2, margin = DIV_UP(around, 4);
    const int nb_tiles = DIV_UP(w, 4 * (WARP_SIZE - 2 * margin)), tile = job - p.first[scale];
    const int x   = 4 * (tile % nb_tiles * (WARP_SIZE - 2 * margin) - margin + lane);
    const int top = tile / nb_tiles * VMAF_CAMBI_TILE_H, end = min(top + VMAF_CAMBI_TILE_H, h);
    const CambiColumn column = {
        p.value + (int64_t)blockIdx.y * p.level_size + p.level[scale + 1].at + x, pitch, h,
        x < 0 || x >= w ? 0 : ~0ull >> 16 * max(x + 4 - w, 0),
    };
    const bool is_inner = lane >= margin && lane < WARP_SIZE - margin;
    unsigned least = is_inner ? cambi_least(column, top, end) : ~0u;

    while ((least = warp_min(least)) != ~0u) {
        const int base  = least - VMAF_CAMBI_CONTRASTS, next = least + CENTRAL;
        uint64_t enters = cambi_quad(column, top - around), leaves = 0, quad = 0;

        least = ~0u;
        for (int i = 0; i < COUNTED; i++)
            counts[i][lane] = 0;
        for (int y = top - around; y < end + around; y++) {
            const int now = y - around;
            float contrast[4] = { 0, 0, 0, 0 };

            cambi_add(counts, enters, base, 1);
            cambi_add(counts, leaves, base, -1);
            // for the next row
            enters = cambi_quad(column, y + 1);
            leaves = now - around >= top - around ? cambi_quad(column, now - around) : 0;
            if (now >= top) {
                sync_warp();
                UNROLL
                for (int i = 0; i < 4; i++) {
                    const int sample = cambi_sample(quad, i);

                    if (cambi_has(sample, next))
                        least = min(least, (unsigned)sample - CAMBI_MASKED);
                    else if (cambi_has(sample, base + VMAF_CAMBI_CONTRASTS))
                        contrast[i] = cambi_most(p, counts, sample, base, i);
                }
                cambi_note(p, scale, contrast);
                sync_warp();
            }
            quad = is_inner && now + 1 >= top ? cambi_quad(column, now + 1) : 0;
        }
    }
}

// ---- CAMBI: the largest contrasts ----

/// The first lane up to which there are as many as rest, or the last one. What is left of rest is
/// for that lane.
static DEVICE_INLINE int select_lane(unsigned nb, uint32_t *rest)
{
    const unsigned until = warp_scan(nb, threadIdx.x);
    // those before it are the lowest bits
    const int lane = min(count_bits(warp_ballot(until < *rest)), WARP_SIZE - 1);

    *rest -= shuffle_from(until - nb, lane);
    return lane;
}

/// The largest digit of which and of all above it there are as many as rest, which is left of it.
static DEVICE_INLINE int select_digit(const uint32_t *nb_of, uint32_t *rest)
{
    const int lane = threadIdx.x, nb_bins = VMAF_SELECT_BINS / WARP_SIZE;
    const uint32_t *last = nb_of + VMAF_SELECT_BINS - 1;
    unsigned nb = 0;

    for (int i = 0; i < nb_bins; i++)
        nb += last[-(lane * nb_bins + i)];
    last -= select_lane(nb, rest) * nb_bins;
    last -= 2 * select_lane(last[-2 * lane] + last[-2 * lane - 1], rest);
    if (*rest > last[0])
        *rest -= *last--;
    return last - nb_of;
}

/**
 * The mean of a scale's largest contrasts, in four launches: the bits of the least of them from the
 * highest on, as those of positive floats are in order; then the sum of what is above it. All are
 * multiples of 2^-24.
 */
static DEVICE_INLINE void cambi_select(const VMAFCUDAParams &p)
{
    __shared__ uint32_t nb_of[VMAF_SELECT_BINS];
    const int scale = blockIdx.x / VMAF_SELECT_BLOCKS, tid = threadIdx.x;
    VMAFCUDAState *state = p.state + blockIdx.y;
    VMAFCUDASelect *select = &state->select[scale];
    const int shift = 20 - 10 * p.pass, nb = select->nb;
    // of those with the known bits, the next ones are looked at: 11, 10 and 10
    const uint32_t known = p.pass ? ~0u << (shift + 10) : 0, least = select->top.least;
    const float *contrast = p.contrast + (int64_t)blockIdx.y * p.level_size + p.level[scale + 1].at;
    const bool has_digit = p.pass < VMAF_SELECT_PASSES - 1;
    uint64_t sum = 0;

    if (!p.pair[blockIdx.y].is_chosen)
        return;
    for (int i = tid; i < VMAF_SELECT_BINS && has_digit; i += VMAF_SELECT_THREADS)
        nb_of[i] = 0;
    __syncthreads();
    for (int begin = blockIdx.x % VMAF_SELECT_BLOCKS * VMAF_SELECT_THREADS; begin < nb;
         begin += VMAF_SELECT_BLOCKS * VMAF_SELECT_THREADS) {
        const uint32_t bits  = begin + tid < nb ? ((const uint32_t *)contrast)[begin + tid] : 0;
        const bool is_next   = has_digit && bits && (bits & known) == least;
        const unsigned digit = is_next ? (bits & ~known) >> shift : ~0u;
        const unsigned lanes = warp_ballot(is_next);
        // many are alike
        const int first = WARP_SIZE - 1 - count_leading_zeros(lanes);
        const unsigned common = shuffle_from(digit, max(first, 0));
        const unsigned alike  = warp_ballot(is_next && digit == common);

        if (is_next && (digit != common || tid % WARP_SIZE == first))
            atomic_add(&nb_of[digit], digit == common ? count_bits(alike) : 1);
        if (!has_digit && bits > least)
            sum += (uint64_t)(contrast[begin + tid] * 0x1p24f);
    }
    __syncthreads();
    for (int i = tid; i < VMAF_SELECT_BINS && has_digit; i += VMAF_SELECT_THREADS)
        if (nb_of[i])
            atomic_add(&select->nb_of[i], nb_of[i]);
    if (!has_digit)
        add_sum(&select->top.sum, sum);
    if (!is_last(&select->nb_done, VMAF_SELECT_BLOCKS))
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
        select->nb   = 0;
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

/// Differences that are there at a time: of a row's samples from the means, for each covariance.
#define SPEED_STRIP 64

/// What a thread block shares: 32 KB.
typedef struct SpeedShared {
    VMAFSpeedWork work;
    float mean[BLOCK];
    double difference[BLOCK][SPEED_STRIP + 1];
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
    // thread by thread along the rows of the lower triangle
    const bool has_sum = tid < BLOCK * (BLOCK + 1) / 2;
    int i = 0, j = has_sum ? tid : 0;
    double sum = 0;

    while (j > i)
        j -= ++i;
    if (tid < BLOCK) {
        const float *src = grid + tid / VMAF_SPEED_SIDE * stride + tid % VMAF_SPEED_SIDE;
        float mean = 0;

        for (int y = 0; y < h; y++)
#pragma unroll 8
            for (int x = 0; x < w; x++)
                mean += src[y * stride + x];
        s.mean[tid] = mean / (w * h);
    }
    for (int y = 0; y < h; y++)
        for (int left = 0; left < w; left += SPEED_STRIP) {
            const int nb = min(w - left, SPEED_STRIP);

            __syncthreads();
            for (int k = tid; k < BLOCK * SPEED_STRIP; k += VMAF_SPEED_THREADS) {
                const int row = k / SPEED_STRIP, x = k % SPEED_STRIP;

                if (x < nb)
                    s.difference[row][x] =
                        (double)grid[(y + row / VMAF_SPEED_SIDE) * stride + left + x +
                                     row % VMAF_SPEED_SIDE] - s.mean[row];
            }
            __syncthreads();
#pragma unroll 4
            for (int x = 0; x < nb; x++)
                sum += s.difference[i][x] * s.difference[j][x];
        }
    if (has_sum)
        s.work.given[i][j] = s.work.given[j][i] = sum / (w * h);
    __syncthreads();
}

/// Contrasts and entropies of a plane, each one by a thread block.
static DEVICE_INLINE void speed_measure(const VMAFCUDAParams &p)
{
    __shared__ SpeedShared s;
    const VMAFSpeedPicture &picture = p.speed;
    const int tid = threadIdx.x;
    float *grid = speed_grid(p, 1, blockIdx.x);
    float *dst  = (float *)(p.pair[blockIdx.y].result + p.result_at) +
                  blockIdx.x * (1 + 2 * picture.nb_blocks);
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
    if (tid == 0)
        dst[0] = is_singular;
    for (int i = tid; i < picture.nb_blocks && !is_singular; i += VMAF_SPEED_THREADS) {
        const float *block = grid + i / picture.blocks_w * VMAF_SPEED_SIDE * picture.grid_w +
                             i % picture.blocks_w * VMAF_SPEED_SIDE;
        float contrast;

        vmaf_speed_contrast(&contrast, &s.work, &block, picture.grid_w);
        dst[1 + i] = contrast;
        dst[1 + picture.nb_blocks + i] = vmaf_speed_entropy(s.work.value, contrast);
    }
}

extern "C" {

#define KERNEL(name, function, ...)                                     \
__global__ void __launch_bounds__(__VA_ARGS__) name(VMAFCUDAParams p)   \
{                                                                       \
    function(p);                                                        \
}

KERNEL(vmaf_motion,         measure_motion,   VMAF_MOTION_THREADS)
KERNEL(vmaf_adm_first,      adm_split<true>,  ADM_THREADS)
KERNEL(vmaf_adm_next,       adm_split<false>, ADM_THREADS, 2)
KERNEL(vmaf_adm_finish,     adm_finish,       ADM_THREADS)
KERNEL(vmaf_cambi_prepare,  cambi_prepare,    VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_filter,   cambi_filter,     VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_contrast, cambi_contrast,   VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_select,   cambi_select,     VMAF_SELECT_THREADS)
KERNEL(vmaf_speed_blur,     speed_blur,       VMAF_GRID_THREADS)
KERNEL(vmaf_speed_measure,  speed_measure,    VMAF_SPEED_THREADS)

}
