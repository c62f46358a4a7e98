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
 * VIF of VMAF for a batch of pairs: a launch for each scale.
 *
 * Grid: x is a strip of VIF_STRIP_W columns and VIF_STRIP_H rows, y is the pair. A thread block of
 * VIF_THREADS goes down its strip, VIF_STEP rows at a time:
 * - a thread filters a column of the strip or of its margins vertically, to rows in shared memory. It
 *   keeps the samples in registers that the next step needs again;
 * - half a warp filters a row horizontally, a thread VIF_RUN adjacent pixels of it, and adds their
 *   statistics to the sums;
 * - all threads filter the rows of the next scale's pictures horizontally, and store them.
 *
 * In words of samples and means, the lower half belongs to the reference, the upper half to the encode.
 */

#include "vf_vmaf_cuda.cuh"
#include "vf_vmaf_vif_cuda.h"

#define VIF_STEP        8
#define VIF_ROW_THREADS (VIF_THREADS / VIF_STEP)
#define VIF_RUN         (VIF_STRIP_W / VIF_ROW_THREADS)
/// Words of a row: 16 modulo 32. As VIF_RUN is odd, the lanes of a warp read from different banks.
#define VIF_PITCH       144

/// Vertically filtered rows: words of means, and the mean squares.
enum VIFRow { VIF_MEANS, VIF_REF_SQUARE, VIF_DIS_SQUARE, VIF_PRODUCT, VIF_ROWS };

/// The tap of a scale at a distance from the centre. There is no scale after the last one.
static DEVICE_INLINE uint32_t vif_tap(int scale, int distance)
{
    const int tap[VIF_SCALES + 1][VIF_RADIUS(0) + 1] = VIF_TAPS;

    return tap[scale][distance];
}

/// Shared memory of a thread block: 28 KB.
typedef struct VIFShared {
    uint32_t row[VIF_ROWS][VIF_STEP][VIF_PITCH];
    uint32_t next[VIF_STEP / 2][VIF_PITCH];     ///< even rows, by the filter of the next scale
    uint32_t log2_table[VIF_LOG2_WORDS];
} VIFShared;

// ---- statistics of a window ----

/// @name 2048 log2(x), as libvmaf rounds it
/// @{
static DEVICE_INLINE int log2_32(const uint32_t *table, uint32_t x)
{
    const int zeros = count_leading_zeros(x);

    return vif_log2_fraction(table, x << zeros) + 2048 * (31 - zeros);
}

static DEVICE_INLINE int log2_64(const uint32_t *table, uint64_t x)
{
    const uint32_t high = x >> 32;
    const int shift = high ? 32 - count_leading_zeros(high) : 0;

    return log2_32(table, x >> shift) + 2048 * shift;
}

static DEVICE_INLINE int log2_double(const uint32_t *table, double x)
{
    const union { double d; uint64_t i; } bits = { x };
    const uint32_t high = bits.i >> 32;

    return vif_log2_fraction(table, high << 11) + 2048 * ((int)(high >> 20) - 1023);
}
/// @}

/**
 * Compute the numerator of a window in integers, for GPUs with slow double. VIF_EPS moves the values
 * that are truncated down by quotient * VIF_EPS / ref, where cov^2 = quotient * ref + rest.
 *
 * @param gain_limit whole number
 * @return whether a rounding of double certainly changes nothing; if not, the sum is unchanged
 */
static DEVICE_INLINE bool add_num_log(int *num_log, const uint32_t *table, const VIFStats &stats,
                                      unsigned gain_limit)
{
    const int ref        = stats.ref;
    const float inverse  = guess_rcp((float)ref);
    // less than the quotient, by 2^-21 to 2^-19 of it
    const float estimate = (float)stats.cov * stats.cov * inverse * 0x1.ffffep-1f;
    uint32_t quotient, noise;
    int64_t rest;
    int correction;

    if (estimate > 1.9e9f)
        return false;
    quotient   = estimate;
    rest       = (uint64_t)stats.cov * stats.cov - (uint64_t)quotient * ref;
    correction = (float)rest * inverse;
    quotient  += correction;
    rest      -= (int64_t)correction * ref;
    // the correction may be one off
    if (rest < 0) {
        rest += ref;
        quotient--;
    } else if (rest >= ref) {
        rest -= ref;
        quotient++;
    }

    const float shift       = 6.5536e-6f * quotient, r = (int)rest;
    // distances from the bounds that the float and double arithmetic may hide
    const float uncertainty = 0.06f * shift + ((float)quotient + stats.dis) * ref * 4.5e-16f;

    if (vmaf_fabsf(r - shift) <= uncertainty || vmaf_fabsf(r - 2 * shift) <= uncertainty ||
        ref - (int)rest <= uncertainty)
        return false;
    noise     = VIF_NOISE + max((int)(stats.dis - quotient) - (r > shift), 0);
    *num_log -= log2_32(table, noise);
    if ((uint64_t)stats.cov > (uint64_t)gain_limit * ref)
        *num_log += log2_64(table, (uint64_t)(gain_limit * gain_limit) * ref + noise);
    else
        *num_log += log2_32(table, noise + quotient - (r <= 2 * shift));
    return true;
}

/// Sums of a thread's windows: see VIFScaleSums.
typedef struct VIFThreadSums {
    int num_log, den_log, den_non_log;
    int64_t num_non_log;
} VIFThreadSums;

/// Add a window to the sums. @tparam USE_DOUBLE 0 to use double only where integers leave a doubt
template<bool USE_DOUBLE>
static DEVICE_INLINE void add_window(VIFThreadSums &sums, const uint32_t *table,
                                     const VIFCUDAParams &p, const VIFStats &stats)
{
    if (vif_is_flat(stats)) {
        sums.num_non_log += stats.dis;
        sums.den_non_log++;
        return;
    }
    sums.den_log += log2_32(table, VIF_NOISE + stats.ref) - 2048 * 17;
    if (stats.cov > 0 && stats.dis > 0 &&
        (USE_DOUBLE || !add_num_log(&sums.num_log, table, stats, p.gain_limit))) {
        const VIFNumerator n = vif_numerator(stats, p.gain_limit);

        // rounded towards zero, the sum has the leading bits of that of the truncated signal
        sums.num_log += log2_double(table, add_rz(n.signal, n.noise)) - log2_32(table, n.noise);
    }
}

// ---- filters ----

/// Load the samples of both pictures at a place.
template<bool IS_BYTES>
static DEVICE_INLINE uint32_t load_pair(const VMAFCUDAPlane plane[PAIR_NB], int x, int y)
{
    uint32_t v[PAIR_NB];

    UNROLL
    for (int i = 0; i < PAIR_NB; i++)
        v[i] = IS_BYTES ? load_sample<uint8_t>(plane[i], plane[i].data + y * plane[i].pitch + x)
                        : get_sample(plane[i], x, y);
    return v[PAIR_REFERENCE] | v[PAIR_MAIN] << 16;
}

/**
 * Filter VIF_STEP rows of a column, given their samples and those above and below. Squares of
 * samples of 8 bits sum up to 32 bits; the halves of others are filtered by themselves.
 */
template<int SCALE, bool IS_BYTES>
static DEVICE_INLINE void filter_column(VIFShared &s, const uint32_t *sample, int depth, int column)
{
    const int radius = VIF_RADIUS(SCALE), next_radius = VIF_RADIUS(SCALE + 1);
    const int shift  = SCALE ? 16 : depth, round = 1 << (shift - 1);
    const int square_shift = SCALE ? 16 : 2 * (depth - 8);
    uint32_t mean[PAIR_NB][VIF_STEP], low[3][VIF_STEP], high[3][VIF_STEP];
    uint32_t next[PAIR_NB][VIF_STEP / 2];

    UNROLL
    for (int y = 0; y < VIF_STEP; y++) {
        mean[0][y] = mean[1][y] = next[0][y / 2] = next[1][y / 2] = round;
        UNROLL
        for (int i = 0; i < 3; i++)
            low[i][y] = high[i][y] = 0;
    }
    UNROLL
    for (int row = 0; row < VIF_STEP + 2 * radius; row++) {
        const uint32_t r = sample[row] & 65535, e = sample[row] >> 16;
        const uint32_t square[3] = { r * r, e * e, r * e };

        UNROLL
        for (int y = 0; y < VIF_STEP; y++) {
            const int distance = vmaf_abs(row - y - radius);

            if (distance <= radius) {
                const uint32_t tap = vif_tap(SCALE, distance);

                mean[0][y] += tap * r;
                mean[1][y] += tap * e;
                UNROLL
                for (int k = 0; k < 3; k++) {
                    low[k][y] += tap * (IS_BYTES ? square[k] : square[k] & 65535);
                    if (!IS_BYTES)
                        high[k][y] += tap * (square[k] >> 16);
                }
            }
            if (SCALE + 1 < VIF_SCALES && y % 2 == 0 && distance <= next_radius) {
                const uint32_t tap = vif_tap(SCALE + 1, distance);

                next[0][y / 2] += tap * r;
                next[1][y / 2] += tap * e;
            }
        }
    }
    UNROLL
    for (int y = 0; y < VIF_STEP; y++) {
        s.row[VIF_MEANS][y][column] = mean[0][y] >> shift & 65535 | mean[1][y] >> shift << 16;
        UNROLL
        for (int k = 0; k < 3; k++)
            s.row[VIF_REF_SQUARE + k][y][column] =
                SCALE ? high[k][y] + (low[k][y] + 32768 >> 16) : IS_BYTES ? low[k][y] :
                ((uint64_t)high[k][y] << 16) + low[k][y] + (1 << square_shift >> 1) >> square_shift;
        if (SCALE + 1 < VIF_SCALES && y % 2 == 0)
            s.next[y / 2][column] = next[0][y / 2] >> shift & 65535 | next[1][y / 2] >> shift << 16;
    }
}

/// Filter the halves of words for VIF_RUN adjacent pixels.
template<int SCALE>
static DEVICE_INLINE void filter_row(uint32_t dst[2][VIF_RUN], const uint32_t *row)
{
    const int radius = VIF_RADIUS(SCALE);
    uint32_t v[VIF_RUN + 2 * radius];

    UNROLL
    for (int i = 0; i < VIF_RUN + 2 * radius; i++)
        v[i] = row[i];
    UNROLL
    for (int x = 0; x < VIF_RUN; x++) {
        dst[0][x] = vif_tap(SCALE, 0) * (v[x + radius] & 65535);
        dst[1][x] = vif_tap(SCALE, 0) * (v[x + radius] >> 16);
        UNROLL
        for (int i = 1; i <= radius; i++) {
            const uint32_t a = v[x + radius - i], b = v[x + radius + i];

            dst[0][x] += vif_tap(SCALE, i) * ((a & 65535) + (b & 65535));
            dst[1][x] += vif_tap(SCALE, i) * ((a >> 16) + (b >> 16));
        }
    }
}

/// Filter a run of a row, and add its windows to the sums.
template<int SCALE, bool USE_DOUBLE>
static DEVICE_INLINE void add_run(VIFThreadSums &sums, const VIFShared &s, const VIFCUDAParams &p,
                                  int row, int x, int nb)
{
    uint32_t mean[2][VIF_RUN], square[3][VIF_RUN];

    filter_row<SCALE>(mean, &s.row[VIF_MEANS][row][x]);
    UNROLL
    for (int k = 0; k < 3; k++) {
        uint32_t half[2][VIF_RUN];

        filter_row<SCALE>(half, &s.row[VIF_REF_SQUARE + k][row][x]);
        UNROLL
        for (int i = 0; i < VIF_RUN; i++)
            square[k][i] = compute_here(half[1][i] + (half[0][i] + 32768 >> 16));
    }
    UNROLL
    for (int i = 0; i < VIF_RUN; i++)
        if (i < nb) {
            uint32_t own[PAIR_NB];

            own[PAIR_REFERENCE] = mean[0][i];
            own[PAIR_MAIN]      = mean[1][i];
            add_window<USE_DOUBLE>(sums, s.log2_table, p,
                                   vif_stats(own, square[0][i], square[1][i], square[2][i]));
        }
}

/// Filter the rows of a step horizontally for the pictures of the next scale.
template<int SCALE>
static DEVICE_INLINE void store_next(const VIFShared &s, const VIFCUDAParams &p,
                                     int left, int top, int bottom)
{
    const int radius = VIF_RADIUS(SCALE + 1);
    const int width = p.width / 2, height = p.height / 2, columns = VIF_STRIP_W / 2;

    for (int n = threadIdx.x; n < VIF_STEP / 2 * columns; n += VIF_THREADS) {
        const int row = n / columns, column = n % columns;
        const int y   = top / 2 + row, x = left / 2 + column;
        uint32_t sum[PAIR_NB] = { 32768, 32768 };

        UNROLL
        for (int i = -radius; i <= radius; i++) {
            const uint32_t v = s.next[row][2 * column + VIF_RADIUS(SCALE) + i];

            sum[PAIR_REFERENCE] += vif_tap(SCALE + 1, vmaf_abs(i)) * (v & 65535);
            sum[PAIR_MAIN]      += vif_tap(SCALE + 1, vmaf_abs(i)) * (v >> 16);
        }
        if (x < width && y < height && 2 * y < bottom)
            for (int k = 0; k < PAIR_NB; k++)
                p.next[((int64_t)(blockIdx.y * PAIR_NB + k) * height + y) * width + x] =
                    sum[k] >> 16;
    }
}

/// Get the pictures of a scale.
template<int SCALE>
static DEVICE_INLINE void get_pictures(VMAFCUDAPlane plane[PAIR_NB], const VIFCUDAParams &p)
{
    const VMAFCUDAPair &pair = p.pair[blockIdx.y];

    UNROLL
    for (int i = 0; i < PAIR_NB; i++) {
        if (SCALE)
            plane[i] = { (const uint8_t *)(p.image + (int64_t)(blockIdx.y * PAIR_NB + i) *
                                                     p.width * p.height),
                         p.width * (int)sizeof(*p.image), 2, 2, 0, 65535, 0 };
        else
            plane[i] = pair.plane[i][0];
    }
}

/// Compute the sums of a scale, and make the pictures of the next one.
template<int SCALE, bool IS_BYTES, bool USE_DOUBLE>
static DEVICE_INLINE void vif_extract(const VIFCUDAParams &p)
{
    __shared__ VIFShared s;
    const int radius = VIF_RADIUS(SCALE), tid = threadIdx.x;
    const int nb_strips = DIV_UP(p.width, VIF_STRIP_W);
    const int left   = blockIdx.x % nb_strips * VIF_STRIP_W;
    const int begin  = blockIdx.x / nb_strips * VIF_STRIP_H(SCALE);
    const int bottom = min(begin + VIF_STRIP_H(SCALE), p.height);
    const int column = mirror(left + tid - radius, 2 * (p.width - 1)), last = 2 * (p.height - 1);
    const int row    = tid / VIF_ROW_THREADS, x = tid % VIF_ROW_THREADS * VIF_RUN;
    VIFCUDAState *state = p.state + blockIdx.y;
    uint32_t sample[VIF_STEP + 2 * radius];
    VIFThreadSums sums = { 0, 0, 0, 0 };
    VMAFCUDAPlane plane[PAIR_NB];

    get_pictures<SCALE>(plane, p);
    for (int i = tid; i < VIF_LOG2_WORDS; i += VIF_THREADS)
        s.log2_table[i] = p.log2_table[i];
    UNROLL
    for (int i = 0; i < 2 * radius; i++)
        sample[i] = load_pair<IS_BYTES>(plane, column, mirror(begin - radius + i, last));
#pragma unroll 1
    for (int top = begin; top < bottom; top += VIF_STEP) {
        if (tid < VIF_STRIP_W + 2 * radius) {
            UNROLL
            for (int i = 0; i < VIF_STEP; i++)
                sample[2 * radius + i] = load_pair<IS_BYTES>(plane, column,
                                                             mirror(top + radius + i, last));
            filter_column<SCALE, IS_BYTES>(s, sample, p.depth, tid);
            UNROLL
            for (int i = 0; i < 2 * radius; i++)
                sample[i] = sample[VIF_STEP + i];
        }
        __syncthreads();
        if (top + row < bottom)
            add_run<SCALE, USE_DOUBLE>(sums, s, p, row, x, p.width - left - x);
        if (SCALE + 1 < VIF_SCALES)
            store_next<SCALE>(s, p, left, top, bottom);
        __syncthreads();
    }
    add_sum(&state->sum[0], sums.num_log);
    add_sum(&state->sum[1], sums.den_log);
    add_sum(&state->sum[2], sums.num_non_log);
    add_sum(&state->sum[3], sums.den_non_log);
    if (is_last(&state->nb_done, gridDim.x) && tid < VIF_NB_SUMS) {
        ((uint64_t *)(p.pair[blockIdx.y].result + p.result_at))[tid] =
            load_relaxed(&state->sum[tid]);
        state->sum[tid] = 0;
    }
}

extern "C" {

#define KERNELS(form, use_double)                                                           \
    KERNEL(vmaf_vif_first_8_##form, VIFCUDAParams, IS_CHOSEN,                               \
           (vif_extract<0, true, use_double>), VIF_THREADS, 4)                              \
    KERNEL(vmaf_vif_first_12_##form, VIFCUDAParams, IS_CHOSEN,                              \
           (vif_extract<0, false, use_double>), VIF_THREADS, 4)                             \
    KERNEL(vmaf_vif_scale1_##form, VIFCUDAParams, IS_CHOSEN,                                \
           (vif_extract<1, false, use_double>), VIF_THREADS, 4)                             \
    KERNEL(vmaf_vif_scale2_##form, VIFCUDAParams, IS_CHOSEN,                                \
           (vif_extract<2, false, use_double>), VIF_THREADS, 4)                             \
    KERNEL(vmaf_vif_scale3_##form, VIFCUDAParams, IS_CHOSEN,                                \
           (vif_extract<3, false, use_double>), VIF_THREADS, 4)

KERNELS(double,  true)
KERNELS(integer, false)

}
