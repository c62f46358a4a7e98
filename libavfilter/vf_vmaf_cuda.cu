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

#define SPEED_SYNC() __syncthreads()
#define SPEED_LANES WARP_SIZE
#define SPEED_SYNC_LANES() sync_warp()
#define SPEED_JOIN_LANES(bits) warp_ballot(bits)

#include "vf_vmaf_cuda.h"

/**
 * @file
 * The features of VMAF v1 for a batch of pairs; blockIdx.y is the pair. The arithmetic is that of
 * vmaf_*_ops.h. What needs a power is left to the host, which gets sums.
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
    return sizeof(T) == 1 ? *at * p.factor >> 6 : *(const T *)at >> p.down & p.mask;
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
    int d[MOTION_TAPS];

    UNROLL
    for (int i = 0; i < VMAF_MOTION_TILE_H + MOTION_TAPS - 1; i++) {
        const int y = mirror(top + i - 2, 2 * (p.height - 1));

        UNROLL
        for (int j = 0; j < MOTION_TAPS - 1; j++)
            d[j] = d[j + 1];
        d[4] = load_sample<T>(before, a + y * before.pitch) -
               load_sample<T>(now, b + y * now.pitch);
        if (i >= MOTION_TAPS - 1)
            dst[i - MOTION_TAPS + 1][threadIdx.x] =
                motion_filter_vertical(d[0], d[1], d[2], d[3], d[4], p.depth);
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
                    sum += motion_filter_horizontal(v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4]);
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
#define COLUMN_ROWS  (AROUND_H / COLUMN_PARTS)

/// What a thread block shares: 25 KB.
typedef struct ADMShared {
    int2 near[AROUND_H][AROUND_W];      ///< what both parts mask around them, over the bands
    int column[PAIR_NB][2][AROUND_H][COLUMNS_W];        ///< low, high
    int line[2 * AROUND_H + 2];         ///< of the picture, for each that a column is made of
} ADMShared;

/// What becomes of a coefficient of each band.
typedef struct ADMCoefficient {
    int source[ADM_BANDS];
    int part[ADM_PARTS][ADM_BANDS];     ///< weighted
    int here[ADM_PARTS];        ///< what masks at its own place is so much more
} ADMCoefficient;

/// Sums of scale 0 have 32 bits.
template<bool FIRST> struct ADMSum       { typedef int64_t type; };
template<>           struct ADMSum<true> { typedef int type; };

/// The low or the high part of four samples, to which something is added for its rounding.
template<typename S>
static DEVICE_INLINE int adm_filter(int is_high, int a, int b, int c, int d, int rest, int shift)
{
    const int tap[2][4] = { ADM_DWT_LOW, ADM_DWT_HIGH };

    return (S)a * tap[is_high][0] + ((S)b * tap[is_high][1] +
           ((S)c * tap[is_high][2] + ((S)d * tap[is_high][3] + rest))) >> shift;
}

/// Split a part of a column of a picture. A sample T is of a plane if the scale is the first.
template<bool FIRST, typename T>
static DEVICE_INLINE void adm_column(ADMShared &s, const VMAFCUDAParams &p, int picture,
                                     int column, int begin, int left)
{
    typedef typename ADMSum<FIRST>::type S;
    const VMAFCUDAPlane &plane = p.pair[blockIdx.y].plane[picture][0];
    const int64_t size = (int64_t)p.adm.width * p.adm.height;
    const int pitch    = FIRST ? plane.pitch : p.adm.width * (int)sizeof(T);
    const uint8_t *src = (FIRST ? plane.data :
                          (const uint8_t *)(p.image + (blockIdx.y * PAIR_NB + picture) * size)) +
                         mirror(2 * left - 3 + column, 2 * p.adm.width - 1) * sizeof(T);
    const int shift = FIRST ? p.depth : p.adm.scale == 1 ? 0 : 16, half = (1 << shift) >> 1;
    const int least = FIRST ? ADM_DWT_LOW_SUM << (p.depth - 1) : 0;
    int v[2 * COLUMN_ROWS + 2];

    UNROLL
    for (int i = 0; i < 2 * COLUMN_ROWS + 2; i++) {
        const uint8_t *at = src + (int64_t)s.line[2 * begin + i] * pitch;

        v[i] = FIRST ? load_sample<T>(plane, at) : (int)*(const T *)at;
    }
    UNROLL
    for (int i = 0; i < COLUMN_ROWS; i++)
        UNROLL
        for (int is_high = 0; is_high < 2; is_high++)
            s.column[picture][is_high][begin + i][column] =
                adm_filter<S>(is_high, v[2 * i], v[2 * i + 1], v[2 * i + 2], v[2 * i + 3],
                              is_high ? half : half - least, shift);
}

/// Split the columns that a tile is made of.
template<bool FIRST>
static DEVICE_INLINE void adm_columns(ADMShared &s, const VMAFCUDAParams &p, int left)
{
    const int part    = threadIdx.x / (PAIR_NB * COLUMNS_W), begin = part * COLUMN_ROWS;
    const int picture = threadIdx.x / COLUMNS_W % PAIR_NB, column = threadIdx.x % COLUMNS_W;

    if (part >= COLUMN_PARTS)
        return;
    if (!FIRST)
        adm_column<FIRST, int32_t>(s, p, picture, column, begin, left);
    else if (p.pair[blockIdx.y].plane[picture][0].size == 1)
        adm_column<FIRST, uint8_t>(s, p, picture, column, begin, left);
    else
        adm_column<FIRST, uint16_t>(s, p, picture, column, begin, left);
}

/// The low or the high part of four columns in a row.
template<bool FIRST>
static DEVICE_INLINE int adm_row(const int *row, int scale, int is_high, int x)
{
    typedef typename ADMSum<FIRST>::type S;
    const int2 a = *(const int2 *)(row + 2 * x), b = *(const int2 *)(row + 2 * x + 2);
    const int shift = FIRST || scale % 2 == 0 ? 16 : 15;

    return adm_filter<S>(is_high, a.x, a.y, b.x, b.y, 1 << shift >> 1, shift);
}

/// adm_within_1deg(), which is asked where floats do not tell.
static DEVICE_INLINE bool adm_is_aligned(float product, float source, float encode)
{
    const float square = product * product, limit = ADM_COS_1DEG_SQ * source * encode;

    if (limit == 0 || vmaf_fabsf(square - limit) > limit * 1e-5f)
        return product >= 0 && square >= limit;
    return adm_within_1deg(product, source, encode);
}

/// The coefficients at column x and row y of a tile with those around it; outside of the picture,
/// of those that stand for them.
template<bool FIRST>
static DEVICE_INLINE void adm_coefficient(ADMCoefficient &dst, ADMShared &s,
                                          const ADMScale &adm, int x, int y, int left, int top)
{
    typedef typename ADMSum<FIRST>::type S;
    int c[PAIR_NB][ADM_BANDS], near[ADM_PARTS] = { 0, 0 }, column = x, row = y;
    bool is_aligned;

    // else these are not summed
    if (!adm.left || !adm.top) {
        column = adm_mirror(min(left + x - 1, adm.w), adm.w) - left + 1;
        row    = adm_mirror(min(top + y - 1, adm.h), adm.h) - top + 1;
    }
    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        c[i][ADM_H] = adm_row<FIRST>(s.column[i][1][row], adm.scale, 0, column);
        c[i][ADM_V] = adm_row<FIRST>(s.column[i][0][row], adm.scale, 1, column);
        c[i][ADM_D] = adm_row<FIRST>(s.column[i][1][row], adm.scale, 1, column);
    }
    const S rh = c[PAIR_REFERENCE][ADM_H], rv = c[PAIR_REFERENCE][ADM_V];
    const S eh = c[PAIR_MAIN][ADM_H],      ev = c[PAIR_MAIN][ADM_V];

    is_aligned = adm_is_aligned(rh * eh + rv * ev, rh * rh + rv * rv, eh * eh + ev * ev);
    dst.here[ADM_RESTORED] = dst.here[ADM_ADDITIVE] = 0;
    UNROLL
    for (int band = 0; band < ADM_BANDS; band++) {
        const int r = c[PAIR_REFERENCE][band], e = c[PAIR_MAIN][band];
        const int kept = adm_decouple(FIRST, r, e, is_aligned);
        const int of[ADM_PARTS] = { kept, e - kept };

        dst.source[band] = r;
        UNROLL
        for (int part = 0; part < ADM_PARTS; part++) {
            const int weighed = adm_csf(FIRST, of[part], adm.csf_weight[band]);
            int around;
            const int centre = adm_contrast_mask(FIRST, weighed, band, &around);

            dst.part[part][band]  = weighed;
            dst.here[part]       += centre - around;
            near[part]           += around;
        }
    }
    s.near[y][x] = { near[ADM_RESTORED], near[ADM_ADDITIVE] };
}

/// Add the cubes of the coefficients at a place; those around are there.
template<bool FIRST>
static DEVICE_INLINE void adm_cubes(uint64_t sum[ADM_SUMS][ADM_BANDS], const ADMShared &s,
                                    const ADMCoefficient &c, const ADMScale &adm, int x, int y)
{
    int threshold[ADM_PARTS] = { c.here[0], c.here[1] };

    UNROLL
    for (int i = 0; i < 9; i++) {
        const int2 near = s.near[y - 1 + i / 3][x - 1 + i % 3];

        threshold[ADM_RESTORED] += near.x;
        threshold[ADM_ADDITIVE] += near.y;
    }
    UNROLL
    for (int band = 0; band < ADM_BANDS; band++) {
        UNROLL
        for (int part = 0; part < ADM_PARTS; part++)
            sum[part][band] += adm_cube(c.part[part][band], threshold[!part],
                                        adm_cube_shifts(!FIRST, part, band,
                                                        adm.cube_shifts[part][band].shift));
        sum[ADM_REFERENCE][band] +=
            adm_cube(c.source[band], 0,
                     FIRST ? adm_cube_shifts(0, ADM_REFERENCE, band, 0)
                           : adm.cube_shifts[ADM_REFERENCE][band]);
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
    const ADMScale &adm = p.adm;
    const int tid = threadIdx.x, x = tid % VMAF_ADM_TILE_W + 1, y = tid / VMAF_ADM_TILE_W + 1;
    const int run     = VMAF_ADM_TILE_W * VMAF_ADM_TILES(!FIRST), nb_runs = DIV_UP(adm.w, run);
    const int begin   = blockIdx.x % nb_runs * run, end = min(begin + run, adm.w);
    const int top     = blockIdx.x / nb_runs * VMAF_ADM_TILE_H, row = top + y - 1;
    const bool has_rows = top < adm.bottom && top + VMAF_ADM_TILE_H > adm.top;
    uint64_t sum[ADM_SUMS][ADM_BANDS] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };

    if (tid < 2 * AROUND_H + 2)
        s.line[tid] = mirror(2 * top - 3 + tid, 2 * adm.height - 1);
    __syncthreads();
#pragma unroll 1
    for (int left = begin; left < end; left += VMAF_ADM_TILE_W) {
        const int column = left + x - 1;
        ADMCoefficient c;

        adm_columns<FIRST>(s, p, left);
        __syncthreads();
        if (column < adm.w && row < adm.h && adm.scale + 1 < ADM_SCALES)
            adm_store_next<FIRST>(s, p, x, y, left, top);
        if (has_rows && left < adm.right && left + VMAF_ADM_TILE_W > adm.left) {
            // the frame around the tile: above and below, then the sides
            if (tid < 2 * AROUND_W + 2 * VMAF_ADM_TILE_H) {
                const int i = tid - 2 * AROUND_W;

                adm_coefficient<FIRST>(c, s, adm, i < 0 ? tid % AROUND_W : i % 2 * (AROUND_W - 1),
                                       i < 0 ? tid / AROUND_W * (AROUND_H - 1) : i / 2 + 1,
                                       left, top);
            }
            adm_coefficient<FIRST>(c, s, adm, x, y, left, top);
            __syncthreads();
            if (column >= adm.left && column < adm.right && row >= adm.top && row < adm.bottom)
                adm_cubes<FIRST>(sum, s, c, adm, x, y);
        }
        __syncthreads();
    }
    UNROLL
    for (int i = 0; i < ADM_SUMS * ADM_BANDS; i++)
        add_sum(&p.rows[((blockIdx.y * ADM_SCALES + adm.scale) *
                         ADM_SUMS * ADM_BANDS + i) * (int64_t)p.nb_rows +
                        min(row, p.nb_rows - 1)], sum[i / ADM_BANDS][i % ADM_BANDS]);
}

/// Round the sums of rows and add them up, for a sum of a scale each.
static DEVICE_INLINE void adm_finish(const VMAFCUDAParams &p)
{
    __shared__ uint64_t sum;
    const int scale = blockIdx.x / (ADM_SUMS * ADM_BANDS);
    const int part  = blockIdx.x / ADM_BANDS % ADM_SUMS;
    uint64_t *rows  = p.rows + (blockIdx.y * gridDim.x + blockIdx.x) * (int64_t)p.nb_rows;
    uint64_t own    = 0;

    if (threadIdx.x == 0)
        sum = 0;
    for (int i = threadIdx.x; i < DIV_UP(p.nb_rows, 1 << scale); i += VMAF_FINISH_THREADS) {
        own    += adm_round_row(rows[i], p.row_shift[scale][part]);
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

/// Rows that are loaded before they are looked at: two lanes for each.
#define CAMBI_AHEAD (WARP_SIZE / 4)

/// Of two columns in a row of the encode and of the one after them: values, or their sums with
/// those to their right.
typedef struct CambiRow {
    uint32_t two;           ///< 16 bits each
    uint32_t next;
} CambiRow;

/// Load what is needed of four samples in a row. Past the edges the last one stands.
template<typename T>
static DEVICE_INLINE CambiRow cambi_load(const VMAFCUDAParams &p, const int column[4], int y)
{
    const VMAFCUDAPlane &plane = p.pair[blockIdx.y].plane[PAIR_MAIN][0];
    const uint8_t *src = plane.data + p.line[min(y, p.cambi.height - 1)] * plane.pitch;
    uint32_t v[4];

    UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = cambi_to_10bit(load_sample<T>(plane, src + column[i]), p.cambi.depth);
    for (int i = 0; i < 3 && p.cambi.anti_dither; i++)
        v[i] += v[i + 1];
    return { v[1] << 16 | v[0], v[2] };
}

/// Where the encode was dithered, the means of 2x2 samples.
static DEVICE_INLINE CambiRow cambi_mean(bool anti_dither, const CambiRow &row, const CambiRow &below)
{
    if (!anti_dither)
        return row;
    return { row.two + below.two >> 2 & 0x3fff3fff, row.next + below.next >> 2 };
}

/// Take bits from the lower and the upper half in turn.
static DEVICE_INLINE uint32_t interleave_bits(uint32_t x)
{
    const uint32_t kept[] = { 0xff0000ff, 0xf00ff00f, 0xc3c3c3c3, 0x99999999 };

    UNROLL
    for (int i = 0; i < 4; i++) {
        const int shift = 8 >> i;

        x = (x & kept[i]) | (x << shift & ~kept[i] & ~kept[i] << shift) |
            (x >> shift & ~kept[i] & ~kept[i] >> shift);
    }
    return x;
}

/**
 * Make the picture of every sample, or every second one, and tell which samples begin no edge. A
 * lane has two columns.
 */
template<typename T>
static DEVICE_INLINE void cambi_picture(const VMAFCUDAParams &p)
{
    const CAMBIDims &cambi = p.cambi;
    const int nb_words = DIV_UP(cambi.width, WARP_SIZE), nb_runs = DIV_UP(nb_words, 2);
    const int job  = blockIdx.x * VMAF_CAMBI_WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE, x = (job % nb_runs * WARP_SIZE + lane) * 2;
    const int top  = job / nb_runs * VMAF_CAMBI_ROWS;
    const int end  = min(top + VMAF_CAMBI_ROWS, cambi.height);
    const int halving = cambi.high_res_speedup, word = job % nb_runs * 2 + lane % 2;
    uint32_t *flat  = p.flat + (int64_t)blockIdx.y * nb_words * cambi.height + word;
    uint16_t *value = p.value + (int64_t)blockIdx.y * p.level_size + (x >> halving);
    CambiRow row[CAMBI_AHEAD + 1], now;
    int column[4];

    if (top >= end)
        return;
    UNROLL
    for (int i = 0; i < 4; i++)
        column[i] = p.column[min(x + i, cambi.width - 1)] * sizeof(T);
    row[0] = cambi_load<T>(p, column, top);
    row[CAMBI_AHEAD] = cambi_load<T>(p, column, top + 1);
    now    = cambi_mean(cambi.anti_dither, row[0], row[CAMBI_AHEAD]);
    for (int begin = top; begin < end; begin += CAMBI_AHEAD) {
        uint32_t bits = 0;

        row[0] = row[CAMBI_AHEAD];
        UNROLL
        for (int i = 1; i <= CAMBI_AHEAD; i++)
            row[i] = cambi_load<T>(p, column, begin + i + 1);
        UNROLL
        for (int i = 0; i < CAMBI_AHEAD; i++) {
            const int y = begin + i;
            const CambiRow below = cambi_mean(cambi.anti_dither, row[i], row[i + 1]);
            const uint32_t edges = (now.two ^ byte_perm(now.two, now.next, 0x5432)) |
                                   (now.two ^ below.two);
            const uint32_t even  = warp_ballot(x < cambi.width && !(edges & 0xffff));
            const uint32_t odd   = warp_ballot(x + 1 < cambi.width && !(edges >> 16));

            if (lane / 2 == i)
                bits = byte_perm(even, odd, lane % 2 ? 0x7632 : 0x5410);
            if (x < cambi.width && y < end && !halving)
                *(uint32_t *)(value + y * p.level[0].pitch) = now.two;
            else if (x < cambi.width && y < end && !(y & 1))
                value[y / 2 * p.level[0].pitch] = now.two;
            now = below;
        }
        if (begin + lane / 2 < end && lane / 2 < CAMBI_AHEAD && word < nb_words)
            flat[(begin + lane / 2) * nb_words] = interleave_bits(bits);
    }
}

static DEVICE_INLINE void cambi_prepare(const VMAFCUDAParams &p)
{
    if (p.pair[blockIdx.y].plane[PAIR_MAIN][0].size == 1)
        cambi_picture<uint8_t>(p);
    else
        cambi_picture<uint16_t>(p);
}

/// Add the bits of three words: the lower bits of the sums, and the upper ones.
static DEVICE_INLINE uint32_t add_bits(uint32_t a, uint32_t b, uint32_t c, uint32_t *carry)
{
    *carry = (a & b) | (c & (a ^ b));
    return a ^ b ^ c;
}

/// Tell of 32 columns in a row of the encode around which enough samples begin no edge, a bit each.
static DEVICE_INLINE uint32_t cambi_mask(const VMAFCUDAParams &p, int word, int y)
{
    const int nb_words = DIV_UP(p.cambi.width, WARP_SIZE);
    uint32_t digit[6] = { 0, 0, 0, 0, 0, 0 }, is_more = 0;

    UNROLL
    for (int i = -CAMBI_MASK_SIZE / 2; i <= CAMBI_MASK_SIZE / 2; i++) {
        const uint32_t *row = p.flat + (int64_t)blockIdx.y * p.cambi.height * nb_words +
                              (y + i) * nb_words;
        uint32_t near[3], bits[CAMBI_MASK_SIZE], upper[3], sum[3], carry = 0;

        UNROLL
        for (int j = 0; j < 3; j++)
            near[j] = y + i >= 0 && y + i < p.cambi.height && word + j > 0 &&
                      word + j <= nb_words ? row[word + j - 1] : 0;
        UNROLL
        for (int j = 0; j < CAMBI_MASK_SIZE; j++) {
            const int at = WARP_SIZE + j - CAMBI_MASK_SIZE / 2;

            bits[j] = ((uint64_t)near[at / WARP_SIZE + 1] << 32 | near[at / WARP_SIZE]) >>
                      at % WARP_SIZE;
        }
        sum[0] = add_bits(add_bits(bits[0], bits[1], bits[2], &upper[0]),
                          add_bits(bits[3], bits[4], bits[5], &upper[1]), bits[6], &upper[2]);
        sum[1] = add_bits(upper[0], upper[1], upper[2], &sum[2]);
        UNROLL
        for (int j = 0; j < 6; j++)
            digit[j] = add_bits(digit[j], j < 3 ? sum[j] : 0, carry, &carry);
    }
    UNROLL
    for (int j = 0; j < 6; j++)
        is_more = p.cambi.mask_index >> j & 1 ? digit[j] & is_more : digit[j] | is_more;
    return is_more;
}

/**
 * Sample the scale before, and replace what is alone among its neighbours. A thread has a part of a
 * column. The first scale is masked: a lane tells of one or two words of a row.
 */
static DEVICE_INLINE void cambi_filter(const VMAFCUDAParams &p)
{
    const int step = p.scale ? 2 : 1, halving = p.cambi.high_res_speedup;
    const int src_pitch = p.level[p.scale].pitch * step, pitch = p.level[p.scale + 1].pitch;
    const int w = p.level[p.scale + 1].w, h = p.level[p.scale + 1].h;
    const int nb_columns = DIV_UP(w, WARP_SIZE) * WARP_SIZE;
    const int job = blockIdx.x * VMAF_CAMBI_WARPS * WARP_SIZE + threadIdx.x, x = job % nb_columns;
    const int lane = threadIdx.x % WARP_SIZE, top = job / nb_columns * VMAF_CAMBI_FILTER_ROWS;
    const bool is_edge  = x == 0 || x >= w - 1;
    const uint16_t *src = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale].at +
                          min(x, w - 1) * step;
    uint16_t *dst = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale + 1].at + x;
    // samples, and the most frequent of each and those to its left and right
    int sample[VMAF_CAMBI_FILTER_ROWS + 2], mode[VMAF_CAMBI_FILTER_ROWS + 2];
    uint32_t mask = 0;

    if (top >= h)
        return;
    UNROLL
    for (int i = 0; i < VMAF_CAMBI_FILTER_ROWS + 2; i++) {
        const uint16_t *row = src + min(max(top + i - 1, 0), h - 1) * src_pitch;
        const int middle    = row[0] & ~CAMBI_MASKED;

        sample[i] = row[0];
        mode[i]   = is_edge ? middle : cambi_mode3(row[-step] & ~CAMBI_MASKED, middle,
                                                       row[step] & ~CAMBI_MASKED);
    }
    if (!p.scale)
        mask = cambi_mask(p, ((x - lane) << halving) / WARP_SIZE + lane / VMAF_CAMBI_FILTER_ROWS,
                          (top + lane % VMAF_CAMBI_FILTER_ROWS) << halving);
    UNROLL
    for (int i = 0; i < VMAF_CAMBI_FILTER_ROWS; i++) {
        const int y = top + i, bit = lane << halving;
        int value = y && y < h - 1 ? cambi_mode3(mode[i], mode[i + 1], mode[i + 2])
                                   : sample[i + 1] & ~CAMBI_MASKED;

        if (!p.scale)
            value |= shuffle_from(mask, i + bit / WARP_SIZE * VMAF_CAMBI_FILTER_ROWS) >>
                     bit % WARP_SIZE << 15 & CAMBI_MASKED;
        else
            value |= sample[i + 1] & CAMBI_MASKED;
        if (x < w && y < h)
            dst[y * pitch] = value;
    }
}

// ---- CAMBI: contrasts ----

/// Values that are counted at a time, and of these those whose neighbours all are.
#define COUNTED (2 * WARP_SIZE)
#define CENTRAL (COUNTED - 2 * CAMBI_NUM_DIFFS)

/// How often each column has each value in the window's rows. A word has four columns.
typedef uint32_t CambiCounts[COUNTED][WARP_SIZE];

/// What a warp has, which is a thread block: 9 KB.
typedef struct CambiShared {
    CambiCounts counts;
    uint32_t list[4 * WARP_SIZE];       ///< of a row: values, in which of four columns, and these
} CambiShared;

static DEVICE_INLINE int cambi_sample(uint64_t quad, int i)
{
    return quad >> 16 * i & 0xffff;
}

/// Whether a sample counts, and is one of nb values from this on.
static DEVICE_INLINE bool cambi_has(int sample, int least, int nb)
{
    return (unsigned)sample - CAMBI_MASKED - least < (unsigned)nb &&
           (unsigned)sample - CAMBI_MASKED - CAMBI_V_BAND_BASE < CAMBI_V_BAND_SIZE;
}

/// Add four samples of a row to the counts of their columns, or take them away.
static DEVICE_INLINE void cambi_add(CambiCounts &counts, uint64_t quad, int base, int sign)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int sample = cambi_sample(quad, i);

        if (cambi_has(sample, base, COUNTED))
            atomic_add(&counts[sample - CAMBI_MASKED - base][threadIdx.x % WARP_SIZE],
                       (unsigned)sign << 8 * i);
    }
}

/// Values whose counts make a contrast.
#define NEAR (2 * CAMBI_NUM_DIFFS + 1)

/// Add up four bytes of each, to one of 32 bits or two of 16.
static DEVICE_INLINE void cambi_join(unsigned nb[NEAR], unsigned four[NEAR])
{
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        nb[j]  += (four[j] & 0xff00ff) + byte_perm(four[j], 0, 0x4341);
        four[j] = 0;
    }
}

/**
 * The largest contrasts of a value in four columns in a row, of those that are counted. The window
 * of the first one is added up, in bytes as long as none overflows: it has no more than the
 * window's rows, which are at most 65. The other windows have some of the columns after it, and not
 * the same number of those at its start.
 */
static DEVICE_INLINE void cambi_most(float most[4], const VMAFCUDAParams &p,
                                     const CambiCounts &counts, int value, int base, int column)
{
    const int left = column - p.cambi.window / 2, right = column + p.cambi.window / 2;
    const int first = left / 4, last = right / 4, nb_words = 255 / p.cambi.window;
    const uint32_t first_mask = ~0u << left % 4 * 8, last_mask = ~0u >> (3 - right % 4) * 8;
    const uint32_t (*row)[WARP_SIZE] = &counts[value - base - CAMBI_NUM_DIFFS];
    unsigned nb[NEAR] = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, four[NEAR], two[2][NEAR];

    UNROLL
    for (int j = 0; j < NEAR; j++)
        four[j] = row[j][first] & first_mask & (first < last ? ~0u : last_mask);
    for (int i = first + 1, more = nb_words - 1; i < last; i++, more--) {
        if (!more) {
            more = nb_words;
            cambi_join(nb, four);
        }
        UNROLL
        for (int j = 0; j < NEAR; j++)
            four[j] += row[j][i];
    }
    cambi_join(nb, four);
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        const uint64_t out = (uint64_t)row[j][(left + 3) / 4] << 32 | row[j][first];
        const uint64_t in  = (uint64_t)row[j][(right + 3) / 4] << 32 | row[j][last];
        // sums of the first ones in each byte
        const uint32_t less = (uint32_t)(out >> left % 4 * 8) * 0x1010100;
        const uint32_t more = ((uint32_t)(in >> right % 4 * 8) & ~0xff) * 0x1010101;

        four[j] = first < last ? row[j][last] & last_mask : 0;
        two[0][j] = byte_perm(more, 0, 0x4140) - byte_perm(less, 0, 0x4140);
        two[1][j] = byte_perm(more, 0, 0x4342) - byte_perm(less, 0, 0x4342);
    }
    cambi_join(nb, four);
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        nb[j]      = byte_perm(nb[j] * 0x10001, 0, 0x3232);
        two[0][j] += nb[j];
        two[1][j] += nb[j];
    }
    UNROLL
    for (int i = 0; i < 4; i++)
        most[i] = 0;
    UNROLL
    for (int step = 1; step <= CAMBI_NUM_DIFFS; step++)
        UNROLL
        for (int i = 0; i < 4 && tvi_visible(value, step); i++) {
            const unsigned *of = two[i / 2];
            const int shift = i % 2 * 16;
            const int here  = of[CAMBI_NUM_DIFFS] >> shift & 0xffff;
            const int near  = max(of[CAMBI_NUM_DIFFS + step] >> shift & 0xffff,
                                  of[CAMBI_NUM_DIFFS - step] >> shift & 0xffff);

            if (near)
                most[i] = max(most[i], c_value(step, here, near, p.reciprocal));
        }
}

/// The bits of a warp's lanes below the own one.
static DEVICE_INLINE unsigned bits_below(unsigned bits)
{
    return count_bits(bits & (1u << threadIdx.x) - 1);
}

/// Measure the contrasts of a row, of samples that have one of the central values. Those that are
/// more than nothing are noted in any order, as they are sums.
static DEVICE_INLINE void cambi_measure(const VMAFCUDAParams &p, CambiShared &s, int scale,
                                        uint64_t quad, int base)
{
    const int lane = threadIdx.x;
    float *dst = p.contrast + (int64_t)blockIdx.y * p.nb_contrasts +
                 p.level[scale + 1].at - p.level[1].at;
    unsigned nb = 0;

    // few lanes have some, but all can measure: each value of four samples in a row once
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int sample = cambi_sample(quad, i);
        bool is_first    = cambi_has(sample, base + CAMBI_NUM_DIFFS, CENTRAL);
        unsigned alike   = 0;

        UNROLL
        for (int j = 0; j < 4; j++) {
            alike    |= (cambi_sample(quad, j) == sample) << j;
            is_first &= j >= i || cambi_sample(quad, j) != sample;
        }
        const unsigned bits = warp_ballot(is_first);

        if (is_first)
            s.list[nb + bits_below(bits)] = sample - CAMBI_MASKED << 16 | alike << 8 | lane;
        nb += count_bits(bits);
    }
    sync_warp();
    for (unsigned i = lane; i < nb + lane; i += WARP_SIZE) {
        const uint32_t one = s.list[min(i, nb - 1)];
        float contrast[4];
        unsigned bits[4], nb_left = 0, at = 0;

        cambi_most(contrast, p, s.counts, one >> 16, base, (one & 0xff) * 4);
        UNROLL
        for (int j = 0; j < 4; j++) {
            bits[j]  = warp_ballot(i < nb && one >> (8 + j) & 1 && contrast[j] > 0);
            nb_left += count_bits(bits[j]);
        }
        if (lane == 0 && nb_left)
            at = atomic_add(&p.state[blockIdx.y].select[scale].nb, nb_left);
        at = shuffle_from(at, 0);
        UNROLL
        for (int j = 0; j < 4; j++) {
            if (bits[j] >> lane & 1)
                dst[at + bits_below(bits[j])] = contrast[j];
            at += count_bits(bits[j]);
        }
    }
    sync_warp();
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

/// The least value from one on that a warp's columns have in some rows; none is very large.
static DEVICE_INLINE unsigned cambi_least(const CambiColumn &c, int top, int end, int from)
{
    unsigned least = ~0u;

#pragma unroll 4
    for (int y = top; y < end; y++) {
        const uint64_t quad = cambi_quad(c, y);

        UNROLL
        for (int i = 0; i < 4; i++) {
            const unsigned sample = cambi_sample(quad, i);

            if (cambi_has(sample, from, CAMBI_V_BAND_SIZE))
                least = min(least, sample - CAMBI_MASKED);
        }
    }
    return warp_min(least);
}

/**
 * The largest contrast of each masked sample. A warp counts the values of 128 columns in the
 * window's rows, which slide down; the outer columns are only there for the windows of those
 * between. It does so again until all values have had their turn: each time those from the least
 * on that is left.
 */
static DEVICE_INLINE void cambi_contrast(const VMAFCUDAParams &p)
{
    __shared__ CambiShared s;
    const int lane = threadIdx.x, job = blockIdx.x;
    unsigned value = CAMBI_V_BAND_BASE;
    int scale = 0;

    while (scale < CAMBI_SCALES - 1 && job >= p.first[scale + 1])
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
    CambiColumn inner = column;

    if (lane < margin || lane >= WARP_SIZE - margin)
        inner.inside = 0;
    for (; (value = cambi_least(inner, top, end, value)) < CAMBI_MASKED; value += CENTRAL) {
        const int base  = value - CAMBI_NUM_DIFFS;
        uint64_t enters = cambi_quad(column, top - around), leaves = 0, quad = 0;

        for (int i = 0; i < COUNTED; i++)
            s.counts[i][lane] = 0;
        for (int y = top - around; y < end + around; y++) {
            const int now = y - around;

            cambi_add(s.counts, enters, base, 1);
            cambi_add(s.counts, leaves, base, -1);
            // for the next row
            enters = cambi_quad(column, y + 1);
            leaves = now - around >= top - around ? cambi_quad(column, now - around) : 0;
            if (now >= top) {
                sync_warp();
                cambi_measure(p, s, scale, quad, base);
            }
            quad = now + 1 >= top ? cambi_quad(inner, now + 1) : 0;
        }
    }
}

// ---- CAMBI: the largest contrasts ----

/// Contrasts that a thread looks at in a turn, and a thread block.
#define SELECT_AHEAD 8
#define SELECT_SHARE (SELECT_AHEAD * VMAF_SELECT_THREADS)

/// What is less than the bits of any contrast, which are in order: none is below 0.5.
#define SELECT_OFFSET 0x3e800000

/// A contrast in 2^-24.
static DEVICE_INLINE uint64_t select_value(int key)
{
    const union { uint32_t i; float f; } contrast = { (uint32_t)key + SELECT_OFFSET };

    return contrast.f * 0x1p24f;
}

/**
 * The mean of a scale's largest contrasts. Each launch finds a digit of the least of them, from the
 * highest on: a thread counts one digit. The last launch adds what is above the least, too; if all
 * of them count, that is its only task.
 */
static DEVICE_INLINE void cambi_select(const VMAFCUDAParams &p)
{
    __shared__ uint32_t nb_of[VMAF_SELECT_THREADS];
    const int scale = blockIdx.x / VMAF_SELECT_BLOCKS, tid = threadIdx.x, nb_top = p.top[scale];
    const uint32_t *contrast = (const uint32_t *)p.contrast +
                               (int64_t)blockIdx.y * p.nb_contrasts +
                               p.level[scale + 1].at - p.level[1].at;
    VMAFCUDASelect *select = &p.state[blockIdx.y].select[scale];
    uint32_t *nb_of_all = &p.state[blockIdx.y].nb_of[scale][tid];
    const bool is_end   = p.digit == VMAF_SELECT_DIGITS - 1;
    const int shift     = (VMAF_SELECT_DIGITS - 1 - p.digit) * VMAF_SELECT_BITS;
    const int nb = select->nb, least = select->least, block = blockIdx.x % VMAF_SELECT_BLOCKS;
    const int nb_blocks = max(1, min(nb / SELECT_SHARE, VMAF_SELECT_BLOCKS));
    uint32_t rest = nb_top - select->nb_above, above = 0;
    uint64_t sum  = 0;

    if (block >= nb_blocks || nb <= nb_top && !is_end)
        return;
    nb_of[tid] = 0;
    __syncthreads();
    for (int begin = block * SELECT_SHARE; begin < nb; begin += nb_blocks * SELECT_SHARE) {
        int key[SELECT_AHEAD];

        UNROLL
        for (int i = 0; i < SELECT_AHEAD; i++) {
            const int at = begin + i * VMAF_SELECT_THREADS + tid;

            key[i] = at < nb ? (int)contrast[at] - SELECT_OFFSET : -1;
        }
        UNROLL
        for (int i = 0; i < SELECT_AHEAD; i++) {
            // of those with the known digits
            const int digit      = (key[i] >> shift) - (least >> shift);
            const bool is_one    = digit >= 0 && digit < VMAF_SELECT_THREADS;
            const unsigned lanes = warp_ballot(is_one);
            // many are alike
            const int first      = WARP_SIZE - 1 - count_leading_zeros(lanes);
            const int common     = shuffle_from(digit, max(first, 0));
            const unsigned alike = warp_ballot(is_one && digit == common);

            if (is_one && (digit != common || tid % WARP_SIZE == first))
                atomic_add(&nb_of[digit], digit == common ? count_bits(alike) : 1);
            if (is_end && digit >= VMAF_SELECT_THREADS)
                sum += select_value(key[i]);
        }
    }
    __syncthreads();
    if (nb_of[tid])
        atomic_add(nb_of_all, nb_of[tid]);
    if (is_end)
        add_sum(&select->sum, sum);
    if (!is_last(&select->nb_done, nb_blocks))
        return;
    nb_of[tid] = load_relaxed(nb_of_all);
    *nb_of_all = 0;
    __syncthreads();
    for (int i = tid + 1; i < VMAF_SELECT_THREADS; i++)
        above += nb_of[i];
    if (above < rest && above + nb_of[tid] >= rest) {
        select->least     = least + (tid << shift);
        select->nb_above += above;
    }
    if (!is_end)
        return;
    sum = select_value(least + tid) * min(nb_of[tid], max(rest, above) - above);
    add_sum(&select->sum, sum);
    __syncthreads();
    if (tid == 0) {
        double *mean = (double *)(p.pair[blockIdx.y].result + p.result_at) + scale;

        *mean   = load_relaxed(&select->sum) * 0x1p-24 / nb_top;
        *select = VMAFCUDASelect();
    }
}

// ---- SpEED ----

#define BLOCK SPEED_BLOCK

/// One of the two forms of the grids of all pictures of a pair, as the planes of chroma have them.
static DEVICE_INLINE float *speed_grid(const VMAFCUDAParams &p, int form, int picture)
{
    const int64_t size = (int64_t)p.speed.grid_w * p.speed.grid_h;

    return p.grid + ((form * VMAF_MAX_BATCH + blockIdx.y) * 2 * PAIR_NB + picture) * size;
}

/// What is made of a plane.
static DEVICE_INLINE VMAFCUDAChroma *speed_chroma(const VMAFCUDAParams &p, int picture)
{
    return p.chroma + blockIdx.y * 2 * PAIR_NB + picture;
}

/// Columns or rows of blocks, also of those that overlap, by those of blocks that do not.
#define OVERLAPPING(n) (((n) - 1) * SPEED_SIDE + 1)

static DEVICE_INLINE float speed_sample(const VMAFCUDAParams &p, const VMAFCUDAPlane &plane,
                                        int x, int y)
{
    if (!p.speed.is_scaled)
        return speed_center(get_sample(plane, x, y), p.depth);

    const SpeedPosition &column = p.speed_column[x], &line = p.speed_line[y];

    return speed_bilinear(
        column.weight, line.weight,
        speed_center(get_sample(plane, column.before, line.before), p.depth),
        speed_center(get_sample(plane, column.after,  line.before), p.depth),
        speed_center(get_sample(plane, column.before, line.after),  p.depth),
        speed_center(get_sample(plane, column.after,  line.after),  p.depth));
}

/// Blur chroma, of which only the samples of the grid are made: a thread block has some of a row.
static DEVICE_INLINE void speed_blur(const VMAFCUDAParams &p)
{
    __shared__ float column[VMAF_BLUR_THREADS];
    const float tap[SPEED_TAPS] = SPEED_BLUR;
    const int tid = threadIdx.x, w = p.speed.grid_w, nb_runs = DIV_UP(w, VMAF_BLUR_RUN);
    const int row = blockIdx.x / nb_runs, picture = row / p.speed.grid_h;
    const int left = blockIdx.x % nb_runs * VMAF_BLUR_RUN, y = row % p.speed.grid_h;
    const int x = left + tid / SPEED_TAPS;
    float sum = 0;

    if (x < w) {
        const VMAFCUDAPlane &plane =
            p.pair[blockIdx.y].plane[picture % PAIR_NB][1 + picture / PAIR_NB];
        const int sx = vmaf_mirror(x * SPEED_STEP - SPEED_TAPS / 2 +
                                   tid % SPEED_TAPS, p.speed.w);

        UNROLL
        for (int i = 0; i < SPEED_TAPS; i++)
            sum += tap[i] * speed_sample(p, plane, sx,
                                         vmaf_mirror(y * SPEED_STEP - SPEED_TAPS / 2 + i,
                                                     p.speed.h));
        column[tid] = sum;
    }
    __syncthreads();
    if (tid >= VMAF_BLUR_RUN || left + tid >= w)
        return;
    sum = 0;
    UNROLL
    for (int i = 0; i < SPEED_TAPS; i++)
        sum += tap[i] * column[tid * SPEED_TAPS + i];
    speed_grid(p, 0, picture)[y * w + left + tid] = sum;
}

/// Leave only what differs from around, and get the means of the samples of all blocks, also of
/// those that overlap. A thread block has a plane.
static DEVICE_INLINE void speed_subtract(const VMAFCUDAParams &p)
{
    const SpeedDims &picture = p.speed;
    const float *src = speed_grid(p, 0, blockIdx.x);
    float *dst  = speed_grid(p, 1, blockIdx.x), mean = 0;
    const int w = picture.grid_w, h = picture.grid_h, tid = threadIdx.x;
    const int nb_x = OVERLAPPING(picture.blocks_w);
    const int nb_y = OVERLAPPING(picture.nb_blocks / picture.blocks_w);

    for (int i = tid; i < w * h; i += VMAF_SPEED_THREADS) {
        const int x = i % w, y = i / w;
        const float *above = src + vmaf_mirror(y - 1, h) * w, *row = src + y * w;
        const float *below = src + vmaf_mirror(y + 1, h) * w;
        float column[3];

        UNROLL
        for (int j = 0; j < 3; j++) {
            const int sx = vmaf_mirror(x + j - 1, w);

            column[j] = lowpass3(above[sx], row[sx], below[sx]);
        }
        dst[i] = src[i] - lowpass3(column[0], column[1], column[2]);
    }
    __syncthreads();
    if (tid >= BLOCK)
        return;
    dst += tid / SPEED_SIDE * w + tid % SPEED_SIDE;
    for (int y = 0; y < nb_y; y++)
#pragma unroll 1
        for (int x = 0; x < nb_x; x += 16)
            UNROLL
            for (int i = 0; i < 16; i++)
                mean += x + i < nb_x ? dst[y * w + x + i] : 0;
    speed_chroma(p, blockIdx.x)->mean[tid] = mean / (nb_x * nb_y);
}

/// Samples that are there at a time.
#define SPEED_STRIP 48

/// The differences of two samples of a block from their means.
typedef struct SpeedPair {
    double of[2];
} __align__(16) SpeedPair;

/**
 * The covariance of the samples of all blocks. A plane has two thread blocks. In each, threads sum
 * the products of two samples with two others, in order; the rest prepare the next differences.
 */
static DEVICE_INLINE void speed_covariance(const VMAFCUDAParams &p)
{
    __shared__ SpeedPair shared[2][SPEED_STRIP][DIV_UP(BLOCK, 2)];
    const int plane = blockIdx.x / 2, tid = threadIdx.x, lane = tid % WARP_SIZE;
    const int w  = OVERLAPPING(p.speed.blocks_w);
    const int nb = w * OVERLAPPING(p.speed.nb_blocks / p.speed.blocks_w);
    const float *grid = speed_grid(p, 1, plane) +
                        lane / SPEED_SIDE * p.speed.grid_w + lane % SPEED_SIDE;
    VMAFCUDAChroma *chroma = speed_chroma(p, plane);
    const int nb_warps = (VMAF_SPEED_THREADS - VMAF_SPEED_SUMMING) / WARP_SIZE;
    const float mean   = lane < BLOCK ? chroma->mean[lane] : 0;
    // along the rows of the lower triangle
    int i = 0, j = 2 * tid + blockIdx.x % 2;
    double sum[2][2] = { { 0, 0 }, { 0, 0 } };

    while (j > i)
        j -= ++i;
    for (int begin = 0; begin < nb + SPEED_STRIP; begin += SPEED_STRIP) {
        const int is_odd = begin / SPEED_STRIP % 2;

        if (tid >= VMAF_SPEED_SUMMING && lane < BLOCK) {
            UNROLL
            for (int m = 0; m < SPEED_STRIP / nb_warps; m++) {
                const int row = (tid - VMAF_SPEED_SUMMING) / WARP_SIZE + m * nb_warps;
                const int k   = min(begin + row, nb - 1);

                shared[is_odd][row][lane / 2].of[lane % 2] =
                    (double)grid[k / w * p.speed.grid_w + k % w] - mean;
            }
        } else if (tid < VMAF_SPEED_SUMMING && begin && i < DIV_UP(BLOCK, 2)) {
#pragma unroll 16
            for (int k = 0; k < min(SPEED_STRIP, nb + SPEED_STRIP - begin); k++) {
                const SpeedPair a = shared[!is_odd][k][i], b = shared[!is_odd][k][j];

                UNROLL
                for (int m = 0; m < 4; m++)
                    sum[m / 2][m % 2] += a.of[m / 2] * b.of[m % 2];
            }
        }
        __syncthreads();
    }
    for (int m = 0; m < 4 && tid < VMAF_SPEED_SUMMING; m++) {
        const int row = 2 * i + m / 2, column = 2 * j + m % 2;

        if (row < BLOCK && column < BLOCK)
            chroma->given[row][column] = chroma->given[column][row] = sum[m / 2][m % 2] / nb;
    }
}

/// Solve for a plane's covariance: a thread block gets the eigenvalues, another one an inverse.
static DEVICE_INLINE void speed_solve(const VMAFCUDAParams &p)
{
    __shared__ SpeedWork work;
    VMAFCUDAChroma *chroma = speed_chroma(p, blockIdx.x / 2);
    const int tid = threadIdx.x;

    for (int i = tid; i < BLOCK * SPEED_STRIDE; i += VMAF_SPEED_THREADS)
        work.cov[0][i] = chroma->given[0][i];
    __syncthreads();
    if (blockIdx.x % 2) {
        const bool is_regular = qr_decompose(&work, tid, VMAF_SPEED_THREADS);

        if (tid == 0)
            chroma->is_regular = is_regular;
        for (int i = tid; i < 2 * BLOCK * SPEED_STRIDE; i += VMAF_SPEED_THREADS)
            chroma->factor[0][0][i] = work.rq[0][0][i];
    } else {
        tridiagonalize(&work, tid, VMAF_SPEED_THREADS);
        if (tid < WARP_SIZE) {
            tridiagonal_eigenvalues(work.eigenvalue, work.subdiag, tid);
            sync_warp();
            if (tid < BLOCK)
                chroma->value[tid] = work.eigenvalue[tid];
        }
    }
}

/// Contrasts and entropies of a plane, for a block by a thread.
static DEVICE_INLINE void speed_measure(const VMAFCUDAParams &p)
{
    const SpeedDims &picture = p.speed;
    const int nb_parts = DIV_UP(picture.nb_blocks, WARP_SIZE), plane = blockIdx.x / nb_parts;
    const int i = blockIdx.x % nb_parts * WARP_SIZE + threadIdx.x;
    const VMAFCUDAChroma *chroma = speed_chroma(p, plane);
    float *dst = (float *)(p.pair[blockIdx.y].result + p.result_at) +
                 plane * (1 + 2 * picture.nb_blocks);
    bool is_singular = !chroma->is_regular;
    const float *block;
    float contrast, entropy = 0;

    for (int k = 0; k < BLOCK; k++)
        is_singular |= chroma->value[k] < SPEED_SINGULAR;
    if (i == 0)
        dst[0] = is_singular;
    if (i >= picture.nb_blocks || is_singular)
        return;
    block = speed_grid(p, 1, plane) + i / picture.blocks_w * SPEED_SIDE * picture.grid_w +
            i % picture.blocks_w * SPEED_SIDE;
    speed_variances(&contrast, chroma->factor, &block, picture.grid_w);
    for (int k = 0; k < BLOCK; k++)
        entropy += speed_entropy(chroma->value[k], contrast);
    dst[1 + i] = contrast;
    dst[1 + picture.nb_blocks + i] = entropy;
}

extern "C" {

/// A kernel, for pairs that need it.
#define KERNEL(name, is_needed, function, ...)                          \
__global__ void __launch_bounds__(__VA_ARGS__) name(VMAFCUDAParams p)   \
{                                                                       \
    if (is_needed)                                                      \
        function(p);                                                    \
}
#define IS_CHOSEN  p.pair[blockIdx.y].is_chosen
#define HAS_BEFORE p.pair[blockIdx.y].before[p.window].data

KERNEL(vmaf_motion,          HAS_BEFORE, measure_motion,   VMAF_MOTION_THREADS)
KERNEL(vmaf_adm_first,       IS_CHOSEN,  adm_split<true>,  ADM_THREADS)
KERNEL(vmaf_adm_next,        IS_CHOSEN,  adm_split<false>, ADM_THREADS, 2)
KERNEL(vmaf_adm_finish,      IS_CHOSEN,  adm_finish,       VMAF_FINISH_THREADS)
KERNEL(vmaf_cambi_prepare,   IS_CHOSEN,  cambi_prepare,    VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_filter,    IS_CHOSEN,  cambi_filter,     VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_contrast,  IS_CHOSEN,  cambi_contrast,   WARP_SIZE)
KERNEL(vmaf_cambi_select,    IS_CHOSEN,  cambi_select,     VMAF_SELECT_THREADS)
KERNEL(vmaf_speed_blur,      IS_CHOSEN,  speed_blur,       VMAF_BLUR_THREADS)
KERNEL(vmaf_speed_subtract,  IS_CHOSEN,  speed_subtract,   VMAF_SPEED_THREADS)
KERNEL(vmaf_speed_covariance, IS_CHOSEN, speed_covariance, VMAF_SPEED_THREADS)
KERNEL(vmaf_speed_solve,     IS_CHOSEN,  speed_solve,      VMAF_SPEED_THREADS)
KERNEL(vmaf_speed_measure,   IS_CHOSEN,  speed_measure,    WARP_SIZE)

}
