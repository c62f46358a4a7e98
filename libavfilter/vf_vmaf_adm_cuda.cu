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
 * ADM of VMAF v1 for a batch of pairs.
 */

#include "vf_vmaf_cuda.cuh"
#include "vf_vmaf_adm_cuda.h"

/// @name Size of a tile with the coefficients around it, and the columns of samples below them
/// @{
#define HALO_W    (ADM_TILE_W + 2)
#define HALO_H    (ADM_TILE_H + 2)
#define COLUMNS_W (2 * HALO_W + 2)
/// @}

/// Threads that filter a column: each has a part of the rows.
#define COLUMN_PARTS (ADM_THREADS / (PAIR_NB * COLUMNS_W))
#define COLUMN_ROWS  (HALO_H / COLUMN_PARTS)

/// Shared memory of a thread block: 25 KB.
typedef struct ADMShared {
    int2 cm[HALO_H][HALO_W];            ///< cm_neighbour of both parts, summed over the bands
    int column[PAIR_NB][2][HALO_H][COLUMNS_W];  ///< vertically filtered: low, high
    int src_row[2 * HALO_H + 2];        ///< row of the picture, for each row of a column
} ADMShared;

/// Coefficients at a place.
typedef struct ADMCoefficient {
    int reference[ADM_BANDS];
    int part[ADM_PARTS][ADM_BANDS];     ///< weighted by the CSF
    int cm_centre_excess[ADM_PARTS];    ///< cm_centre minus cm_neighbour, summed over the bands
} ADMCoefficient;

/// Type of the products: those of the first scale have 32 bits.
template<bool FIRST> struct ADMSum       { typedef int64_t type; };
template<>           struct ADMSum<true> { typedef int type; };

/// Filter four samples by the low or the high pass; round is added before the shift.
template<typename S>
static DEVICE_INLINE int dwt_filter(int is_high, int a, int b, int c, int d, int round, int shift)
{
    const int tap[2][4] = { ADM_DWT_LOW, ADM_DWT_HIGH };

    return (S)a * tap[is_high][0] + ((S)b * tap[is_high][1] +
           ((S)c * tap[is_high][2] + ((S)d * tap[is_high][3] + round))) >> shift;
}

/// Filter a part of a column of a picture. In the first scale T is the type of a plane's samples.
template<bool FIRST, typename T>
static DEVICE_INLINE void dwt_vertical_part(ADMShared &s, const ADMCUDAParams &p, int picture,
                                            int column, int begin, int left)
{
    typedef typename ADMSum<FIRST>::type S;
    const VMAFCUDAPlane plane = p.pair[blockIdx.y].plane[picture][0];
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
        const uint8_t *at = src + (int64_t)s.src_row[2 * begin + i] * pitch;

        v[i] = FIRST ? load_sample<T>(plane, at) : (int)*(const T *)at;
    }
    UNROLL
    for (int i = 0; i < COLUMN_ROWS; i++)
        UNROLL
        for (int is_high = 0; is_high < 2; is_high++)
            s.column[picture][is_high][begin + i][column] =
                dwt_filter<S>(is_high, v[2 * i], v[2 * i + 1], v[2 * i + 2], v[2 * i + 3],
                              is_high ? half : half - least, shift);
}

/// Filter the columns of a tile.
template<bool FIRST>
static DEVICE_INLINE void dwt_vertical(ADMShared &s, const ADMCUDAParams &p, int left)
{
    const int part    = threadIdx.x / (PAIR_NB * COLUMNS_W), begin = part * COLUMN_ROWS;
    const int picture = threadIdx.x / COLUMNS_W % PAIR_NB, column = threadIdx.x % COLUMNS_W;

    if (part >= COLUMN_PARTS)
        return;
    if (!FIRST)
        dwt_vertical_part<FIRST, int32_t>(s, p, picture, column, begin, left);
    else if (p.pair[blockIdx.y].plane[picture][0].size == 1)
        dwt_vertical_part<FIRST, uint8_t>(s, p, picture, column, begin, left);
    else
        dwt_vertical_part<FIRST, uint16_t>(s, p, picture, column, begin, left);
}

/// Filter four columns in a row.
template<bool FIRST>
static DEVICE_INLINE int dwt_horizontal(const int *row, int scale, int is_high, int x)
{
    typedef typename ADMSum<FIRST>::type S;
    const int2 a = *(const int2 *)(row + 2 * x), b = *(const int2 *)(row + 2 * x + 2);
    const int shift = FIRST || scale % 2 == 0 ? 16 : 15;

    return dwt_filter<S>(is_high, a.x, a.y, b.x, b.y, 1 << shift >> 1, shift);
}

/// adm_within_1deg(), which is called only if the rounding of floats matters.
static DEVICE_INLINE bool fast_within_1deg(float product, float reference, float encode)
{
    const float square = product * product, limit = ADM_COS_1DEG_SQ * reference * encode;

    if (limit == 0 || vmaf_fabsf(square - limit) > limit * 1e-5f)
        return product >= 0 && square >= limit;
    return adm_within_1deg(product, reference, encode);
}

/// Compute the coefficients at column x and row y of a tile with its halo, mirrored outside of the
/// picture.
template<bool FIRST>
static DEVICE_INLINE void decouple(ADMCoefficient &dst, ADMShared &s, const ADMScale &adm,
                                   int x, int y, int left, int top)
{
    typedef typename ADMSum<FIRST>::type S;
    int c[PAIR_NB][ADM_BANDS], cm[ADM_PARTS] = { 0, 0 }, column = x, row = y;
    bool within_1deg;

    // otherwise no coefficient outside of the picture masks one that is pooled
    if (!adm.left || !adm.top) {
        column = adm_mirror(min(left + x - 1, adm.w), adm.w) - left + 1;
        row    = adm_mirror(min(top + y - 1, adm.h), adm.h) - top + 1;
    }
    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        c[i][ADM_H] = dwt_horizontal<FIRST>(s.column[i][1][row], adm.scale, 0, column);
        c[i][ADM_V] = dwt_horizontal<FIRST>(s.column[i][0][row], adm.scale, 1, column);
        c[i][ADM_D] = dwt_horizontal<FIRST>(s.column[i][1][row], adm.scale, 1, column);
    }
    const S rh = c[PAIR_REFERENCE][ADM_H], rv = c[PAIR_REFERENCE][ADM_V];
    const S eh = c[PAIR_MAIN][ADM_H],      ev = c[PAIR_MAIN][ADM_V];

    within_1deg = fast_within_1deg(rh * eh + rv * ev, rh * rh + rv * rv, eh * eh + ev * ev);
    dst.cm_centre_excess[ADM_RESTORED] = dst.cm_centre_excess[ADM_ADDITIVE] = 0;
    UNROLL
    for (int band = 0; band < ADM_BANDS; band++) {
        const int r = c[PAIR_REFERENCE][band], e = c[PAIR_MAIN][band];
        const int restored = adm_decouple(FIRST, r, e, within_1deg, adm.gain);
        const int of[ADM_PARTS] = { restored, e - restored };

        dst.reference[band] = r;
        UNROLL
        for (int part = 0; part < ADM_PARTS; part++) {
            const int weighted = adm_csf(FIRST, of[part], adm.csf_weight[band]);
            int neighbour;
            const int centre = adm_contrast_mask(FIRST, weighted, band, &neighbour);

            dst.part[part][band]        = weighted;
            dst.cm_centre_excess[part] += centre - neighbour;
            cm[part]                   += neighbour;
        }
    }
    s.cm[y][x] = { cm[ADM_RESTORED], cm[ADM_ADDITIVE] };
}

/// Add the cubes of the coefficients at a place, once the masking around it is known.
template<bool FIRST>
static DEVICE_INLINE void minkowski_sum(uint64_t sum[ADM_SUMS][ADM_BANDS], const ADMShared &s,
                                        const ADMCoefficient &c, const ADMScale &adm, int x, int y)
{
    int threshold[ADM_PARTS] = { c.cm_centre_excess[0], c.cm_centre_excess[1] };

    UNROLL
    for (int i = 0; i < 9; i++) {
        const int2 cm = s.cm[y - 1 + i / 3][x - 1 + i % 3];

        threshold[ADM_RESTORED] += cm.x;
        threshold[ADM_ADDITIVE] += cm.y;
    }
    UNROLL
    for (int band = 0; band < ADM_BANDS; band++) {
        UNROLL
        for (int part = 0; part < ADM_PARTS; part++)
            sum[part][band] += adm_cube(c.part[part][band], threshold[!part],
                                        adm_cube_shifts(!FIRST, part, band,
                                                        adm.cube_shifts[part][band].shift));
        sum[ADM_REFERENCE][band] +=
            adm_cube(c.reference[band], 0,
                     FIRST ? adm_cube_shifts(0, ADM_REFERENCE, band, 0)
                           : adm.cube_shifts[ADM_REFERENCE][band]);
    }
}

/// Store a coefficient of the low band: a sample of the next scale's pictures.
template<bool FIRST>
static DEVICE_INLINE void store_band_a(const ADMShared &s, const ADMCUDAParams &p,
                                       int x, int y, int left, int top)
{
    UNROLL
    for (int i = 0; i < PAIR_NB; i++)
        p.next[(int64_t)(blockIdx.y * PAIR_NB + i) * p.adm.w * p.adm.h +
               (top + y - 1) * p.adm.w + left + x - 1] =
            dwt_horizontal<FIRST>(s.column[i][0][y], p.adm.scale, 0, x);
}

/**
 * Transform a scale and sum the cubes of its coefficients. A thread block processes ADM_TILES tiles
 * from left to right, in which a warp has a row and sums it.
 */
template<bool FIRST>
static DEVICE_INLINE void adm_transform(const ADMCUDAParams &p)
{
    __shared__ ADMShared s;
    const ADMScale &adm = p.adm;
    const int tid = threadIdx.x, x = tid % ADM_TILE_W + 1, y = tid / ADM_TILE_W + 1;
    const int run     = ADM_TILE_W * ADM_TILES(!FIRST), nb_runs = DIV_UP(adm.w, run);
    const int begin   = blockIdx.x % nb_runs * run, end = min(begin + run, adm.w);
    const int top     = blockIdx.x / nb_runs * ADM_TILE_H, row = top + y - 1;
    const bool has_rows = top < adm.bottom && top + ADM_TILE_H > adm.top;
    uint64_t sum[ADM_SUMS][ADM_BANDS] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };

    if (tid < 2 * HALO_H + 2)
        s.src_row[tid] = mirror(2 * top - 3 + tid, 2 * adm.height - 1);
    __syncthreads();
#pragma unroll 1
    for (int left = begin; left < end; left += ADM_TILE_W) {
        const int column = left + x - 1;
        ADMCoefficient c;

        dwt_vertical<FIRST>(s, p, left);
        __syncthreads();
        if (column < adm.w && row < adm.h && adm.scale + 1 < ADM_SCALES)
            store_band_a<FIRST>(s, p, x, y, left, top);
        if (has_rows && left < adm.right && left + ADM_TILE_W > adm.left) {
            // the halo: above and below, then the sides
            if (tid < 2 * HALO_W + 2 * ADM_TILE_H) {
                const int i = tid - 2 * HALO_W;

                decouple<FIRST>(c, s, adm, i < 0 ? tid % HALO_W : i % 2 * (HALO_W - 1),
                                i < 0 ? tid / HALO_W * (HALO_H - 1) : i / 2 + 1, left, top);
            }
            decouple<FIRST>(c, s, adm, x, y, left, top);
            __syncthreads();
            if (column >= adm.left && column < adm.right && row >= adm.top && row < adm.bottom)
                minkowski_sum<FIRST>(sum, s, c, adm, x, y);
        }
        __syncthreads();
    }
    UNROLL
    for (int i = 0; i < ADM_SUMS * ADM_BANDS; i++)
        add_sum(&p.rows[((blockIdx.y * ADM_SCALES + adm.scale) *
                         ADM_SUMS * ADM_BANDS + i) * (int64_t)p.nb_rows +
                        min(row, p.nb_rows - 1)], sum[i / ADM_BANDS][i % ADM_BANDS]);
}

/// Round and add the sums of all rows: a thread block for each sum of a scale.
static DEVICE_INLINE void adm_finish(const ADMCUDAParams &p)
{
    __shared__ uint64_t sum;
    const int scale = blockIdx.x / (ADM_SUMS * ADM_BANDS);
    const int part  = blockIdx.x / ADM_BANDS % ADM_SUMS;
    uint64_t *rows  = p.rows + (blockIdx.y * gridDim.x + blockIdx.x) * (int64_t)p.nb_rows;
    uint64_t own    = 0;

    if (threadIdx.x == 0)
        sum = 0;
    for (int i = threadIdx.x; i < DIV_UP(p.nb_rows, 1 << scale); i += ADM_FINISH_THREADS) {
        own    += adm_round_row(rows[i], p.row_shift[scale][part]);
        rows[i] = 0;
    }
    __syncthreads();
    add_sum(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0)
        ((uint64_t *)(p.pair[blockIdx.y].result + p.result_at))[blockIdx.x] = sum;
}

extern "C" {

KERNEL(vmaf_adm_first, ADMCUDAParams, IS_CHOSEN, adm_transform<true>, ADM_THREADS)
KERNEL(vmaf_adm_next, ADMCUDAParams, IS_CHOSEN, adm_transform<false>, ADM_THREADS, 2)
KERNEL(vmaf_adm_finish, ADMCUDAParams, IS_CHOSEN, adm_finish, ADM_FINISH_THREADS)

}
