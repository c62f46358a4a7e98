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
 * Kernels of ssim_cuda: sums of SSIM over all windows of all planes of a batch of pairs
 *
 * Grid: blockIdx.y is the pair; along x, the thread blocks of all planes follow each other. A
 * thread block of SSIM_WARPS_8 or SSIM_WARPS_16 warps side by side has a strip of SSIM_STRIP_ROWS
 * rows of windows in a plane, or a chunk of it. Shared memory holds a sum of each warp and, with
 * more than 8 bits, the windows of a chunk.
 *
 * A window has 8x8 samples, 2x2 blocks of 4x4, and windows begin at every block. A thread has the
 * SSIM_STRIP_ROWS + 1 blocks of a column, of one component or of two interleaved ones. It sums the
 * samples of each block, adds the sums of two blocks below each other, and then those of the next
 * lane: a warp has SSIM_WARP_WINDOWS windows in a row.
 *
 * The SSIM of windows of 8 bits is summed in fixed point, exactly and in any order. With more than
 * 8 bits, vf_ssim.c sums the windows of a row in single precision. To reproduce its digits, a
 * thread block has complete rows, a chunk of them at a time in shared memory, and one thread sums
 * a row from left to right.
 *
 * The last thread block of a pair to finish writes the result and zeroes the state.
 */

#include "cuda/kernel.cuh"
#include "vf_ssim_cuda.h"

#define BLOCK 4                 ///< width and height of a block in samples

/// Integer types of the sums over a block, and of the products of sums over a window.
template<typename T> struct Accumulator;
template<> struct Accumulator<uint8_t>  { typedef uint32_t sum; typedef int32_t window; };
template<> struct Accumulator<uint16_t> { typedef uint64_t sum; typedef int64_t window; };

/// Number of warps of a thread block.
template<typename T> struct Warps;
template<> struct Warps<uint8_t>  { enum { NB = SSIM_WARPS_8 }; };
template<> struct Warps<uint16_t> { enum { NB = SSIM_WARPS_16 }; };

/// Shared memory of a thread block.
template<typename T> struct Shared {
    uint64_t warp_sum[Warps<T>::NB][2];     ///< fixed-point sum of each warp and channel
};
template<> struct Shared<uint16_t> {
    uint64_t warp_sum[Warps<uint16_t>::NB][2];
    /// SSIM of the windows of a chunk, rows of each channel; 0 after the last window
    float row[2 * SSIM_STRIP_ROWS][Warps<uint16_t>::NB * SSIM_WARP_WINDOWS] __align__(16);
};

/// Sums over the samples of a block or window: main, reference, both squared, their product.
template<typename S> struct Sums {
    uint32_t main, ref;
    S squares, product;
};

/// Addresses of a position in the planes of main and reference, and bytes between rows.
struct PlanePair {
    const uint8_t *main, *ref;
    int main_pitch, ref_pitch;
};

/// N words of samples in the order of memory.
template<int N> struct __align__(4 * N) Words {
    uint32_t v[N];
};

/// Load N words, with one access if ALIGNED, otherwise sample by sample.
template<typename T, int N, bool ALIGNED>
static DEVICE_INLINE Words<N> load_words(const uint8_t *src)
{
    const int per_word = 4 / sizeof(T);
    Words<N> ret;

    if (ALIGNED)
        return *(const Words<N> *)src;
#pragma unroll
    for (int i = 0; i < N; i++) {
        ret.v[i] = 0;
#pragma unroll
        for (int j = 0; j < per_word; j++)
            ret.v[i] |= (uint32_t)((const T *)src)[i * per_word + j] << (j * 8 * sizeof(T));
    }
    return ret;
}

/// Return sample i of N words.
template<typename T, int N>
static DEVICE_INLINE uint32_t value(const Words<N> &word, int i, int shift)
{
    const int per_word = 4 / sizeof(T);
    uint32_t v = word.v[i / per_word] >> (i % per_word * 8 * sizeof(T)) & (T)~0;

    return sizeof(T) == 1 ? v : v >> shift;
}

/// Compute the sums over the block of each of C channels.
template<typename T, int C, bool ALIGNED>
static DEVICE_INLINE void sum_blocks(Sums<typename Accumulator<T>::sum> (&dst)[C],
                                     const PlanePair &src, int shift)
{
    typedef typename Accumulator<T>::sum S;
    const int nb_at_once = ALIGNED ? BLOCK : 1, nb_words = C * sizeof(T);

#pragma unroll
    for (int c = 0; c < C; c++)
        dst[c].main = dst[c].ref = dst[c].squares = dst[c].product = 0;
#pragma unroll nb_at_once
    for (int y = 0; y < BLOCK; y++) {
        const uint8_t *main = src.main + y * (int64_t)src.main_pitch;
        const uint8_t *ref  = src.ref  + y * (int64_t)src.ref_pitch;
        const Words<nb_words> main_word = load_words<T, nb_words, ALIGNED>(main);
        const Words<nb_words> ref_word  = load_words<T, nb_words, ALIGNED>(ref);

#pragma unroll
        for (int i = 0; i < C * BLOCK; i++) {
            const S m = value<T>(main_word, i, shift), r = value<T>(ref_word, i, shift);
            Sums<S> &sums = dst[i % C];

            sums.main    += (uint32_t)m;
            sums.ref     += (uint32_t)r;
            sums.squares += m * m;
            sums.squares += r * r;
            sums.product += m * r;
        }
    }
}

/// Add two sums.
template<typename S>
static DEVICE_INLINE Sums<S> add(const Sums<S> &a, const Sums<S> &b)
{
    Sums<S> sum;

    sum.main    = a.main    + b.main;
    sum.ref     = a.ref     + b.ref;
    sum.squares = a.squares + b.squares;
    sum.product = a.product + b.product;
    return sum;
}

/// Add the sums of the next lane.
template<typename S>
static DEVICE_INLINE Sums<S> add_next_lane(Sums<S> a)
{
    a.main    += shuffle_down(a.main,    1);
    a.ref     += shuffle_down(a.ref,     1);
    a.squares += shuffle_down(a.squares, 1);
    a.product += shuffle_down(a.product, 1);
    return a;
}

/// Compute the SSIM of a window: integers up to the quotient, which is rounded as in vf_ssim.c.
template<typename I, typename S>
static DEVICE_INLINE float window_ssim(const Sums<S> &sums, I c1, I c2)
{
    const I main = sums.main, ref = sums.ref;
    const I energy     = main * main + ref * ref;
    const I product    = main * ref;
    const I variances  = (I)sums.squares * 64 - energy;
    const I covariance = (I)sums.product * 64 - product;

    return ((float)(2 * product + c1) * (float)(2 * covariance + c2)) /
           ((float)(energy + c1) * (float)(variances + c2));
}

/// Convert to fixed point with SSIM_FRAC_BITS fractional bits.
static DEVICE_INLINE int64_t fixed_point(float v)
{
    return (int64_t)(v * (float)(1ULL << SSIM_FRAC_BITS));
}

/// Add the SSIM v of a window of channel c, row r of the strip, to the total, 8 bits.
static DEVICE_INLINE void add_window(Shared<uint8_t> &s, int64_t &total, int c, int r, float v)
{
    total += fixed_point(v);
}

/// Store the SSIM v of a window of channel c, row r of the strip, for add_row(), above 8 bits.
static DEVICE_INLINE void add_window(Shared<uint16_t> &s, int64_t &total, int c, int r, float v)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;

    s.row[c * SSIM_STRIP_ROWS + r][warp * SSIM_WARP_WINDOWS + lane] = v;
}

/// Do nothing: add_window() has added the windows, 8 bits.
static DEVICE_INLINE void add_row(const Shared<uint8_t> &s, float &sum, int nb_rows, int n)
{
}

/// Add the n windows of a chunk to the sum of the thread's row, if it has one, above 8 bits.
static DEVICE_INLINE void add_row(const Shared<uint16_t> &s, float &sum, int nb_rows, int n)
{
    // the length of a chunk's row is a multiple of this
    const int nb_at_once = Warps<uint16_t>::NB;

    __syncthreads();
    if (threadIdx.x < nb_rows) {
        const float *row = s.row[threadIdx.x];

        for (int i = 0; i < n; i += nb_at_once) {
#pragma unroll
            for (int j = 0; j < nb_at_once; j += 4) {
                const float4 v = *(const float4 *)&row[i + j];

                sum += v.x;
                sum += v.y;
                sum += v.z;
                sum += v.w;
            }
        }
    }
    __syncthreads();
}

/// Sum the windows of a thread block's part of a strip for each channel; only thread 0 gets sum[].
template<typename T, int C, bool ALIGNED>
static DEVICE_INLINE void sum_strip(Shared<T> &s, int64_t (&sum)[2], const SSIMCUDAParams &p,
                                    const SSIMCUDAPlane &plane, const PlanePair &src,
                                    int strip, int chunk)
{
    typedef typename Accumulator<T>::window I;
    typedef typename Accumulator<T>::sum S;
    const int nb_windows = Warps<T>::NB * SSIM_WARP_WINDOWS;
    const int tid = threadIdx.x, lane = tid % WARP_SIZE, warp = tid / WARP_SIZE;
    const int top = strip * SSIM_STRIP_ROWS;
    int64_t total[C];
    float row_sum = 0.f;

#pragma unroll
    for (int c = 0; c < C; c++)
        total[c] = 0;

    for (; chunk * nb_windows < plane.bw - 1; chunk += plane.nb_chunks) {
        const int left = chunk * nb_windows;
        const int x  = left + warp * SSIM_WARP_WINDOWS + lane;
        const int bx = x < plane.bw ? x : plane.bw - 1;
        Sums<S> above[C];

#pragma unroll 1
        for (int r = -1; r < SSIM_STRIP_ROWS; r++) {
            const int by = top + r + 1 < plane.bh ? top + r + 1 : plane.bh - 1;
            const bool is_window = x < plane.bw - 1 && top + r < plane.bh - 1;
            PlanePair position = src;
            Sums<S> sums[C];

            position.main += by * BLOCK * (int64_t)src.main_pitch + bx * BLOCK * C * (int)sizeof(T);
            position.ref  += by * BLOCK * (int64_t)src.ref_pitch  + bx * BLOCK * C * (int)sizeof(T);
            sum_blocks<T, C, ALIGNED>(sums, position, p.shift);
#pragma unroll
            for (int c = 0; c < C; c++) {
                if (r >= 0) {
                    const Sums<S> column = add(above[c], sums[c]);
                    const float v = window_ssim<I>(add_next_lane(column), (I)p.c1, (I)p.c2);

                    if (lane < SSIM_WARP_WINDOWS)
                        add_window(s, total[c], c, r, is_window ? v : 0.f);
                }
                above[c] = sums[c];
            }
        }
        add_row(s, row_sum, C * SSIM_STRIP_ROWS,
                plane.bw - 1 - left < nb_windows ? plane.bw - 1 - left : nb_windows);
    }

#pragma unroll
    for (int c = 0; c < C; c++) {
        uint64_t warp_total;

        if (tid / SSIM_STRIP_ROWS == c)
            total[c] += fixed_point(row_sum);
        warp_total = warp_sum(total[c]);
        if (lane == 0)
            s.warp_sum[warp][c] = warp_total;
    }
    __syncthreads();
    if (tid == 0) {
#pragma unroll
        for (int c = 0; c < C; c++)
            for (int i = 0; i < Warps<T>::NB; i++)
                sum[c] += s.warp_sum[i][c];
    }
}

/// Body of the kernels: find the thread block's strip, sum its windows and add them to the pair.
template<typename T>
static DEVICE_INLINE void sum_windows(Shared<T> &s, const SSIMCUDAParams &p)
{
    const SSIMCUDAPair &pair = p.pair[blockIdx.y];
    SSIMCUDAState *state     = p.state + blockIdx.y;
    int64_t sum[2] = { 0, 0 };
    int i = 0, strip, chunk;
    bool is_aligned;
    PlanePair src;

    while (i + 1 < p.nb_planes && blockIdx.x >= p.plane[i + 1].first_block)
        i++;
    const SSIMCUDAPlane &plane = p.plane[i];

    strip = (blockIdx.x - plane.first_block) / plane.nb_chunks;
    chunk = (blockIdx.x - plane.first_block) % plane.nb_chunks;
    src.main       = pair.main[i];
    src.ref        = pair.ref[i];
    src.main_pitch = pair.main_pitch[i];
    src.ref_pitch  = pair.ref_pitch[i];
    is_aligned = !(((uintptr_t)src.main | (uintptr_t)src.ref | src.main_pitch | src.ref_pitch) %
                   (BLOCK * plane.nb_channels * sizeof(T)));

    if (plane.nb_channels == 1) {
        if (is_aligned)
            sum_strip<T, 1, true>(s, sum, p, plane, src, strip, chunk);
        else
            sum_strip<T, 1, false>(s, sum, p, plane, src, strip, chunk);
    } else {
        if (is_aligned)
            sum_strip<T, 2, true>(s, sum, p, plane, src, strip, chunk);
        else
            sum_strip<T, 2, false>(s, sum, p, plane, src, strip, chunk);
    }

    if (threadIdx.x)
        return;
#pragma unroll
    for (int c = 0; c < 2; c++)
        if (c < plane.nb_channels)
            atomic_add64((uint64_t *)&state->result.sum[plane.component[c]], sum[c]);
    fence_device();
    if (atomic_add(&state->nb_done, 1) < gridDim.x - 1)
        return;
    fence_device();
    for (int c = 0; c < SSIM_MAX_PLANES; c++) {
        pair.result->sum[c] = load_relaxed(&state->result.sum[c]);
        state->result.sum[c] = 0;
    }
    state->nb_done = 0;
}

extern "C" {

/// Kernel for samples of 8 bits.
__global__ void __launch_bounds__(SSIM_WARPS_8 * WARP_SIZE, SSIM_MIN_BLOCKS_8)
ssim_8(SSIMCUDAParams p)
{
    __shared__ Shared<uint8_t> s;

    sum_windows(s, p);
}

/// Kernel for samples of more than 8 bits.
__global__ void __launch_bounds__(SSIM_WARPS_16 * WARP_SIZE, SSIM_MIN_BLOCKS_16)
ssim_16(SSIMCUDAParams p)
{
    __shared__ Shared<uint16_t> s;

    sum_windows(s, p);
}

}
