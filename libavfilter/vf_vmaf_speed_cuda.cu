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
 * SpEED of chroma, of VMAF v1, for a batch of pairs.
 */

#include "cuda/kernel.cuh"

#define SPEED_SYNC() __syncthreads()
#define SPEED_LANES WARP_SIZE
#define SPEED_SYNC_LANES() sync_warp()
#define SPEED_JOIN_LANES(bits) warp_ballot(bits)

#include "vf_vmaf_cuda.cuh"
#include "vmaf_speed_ops.h"

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
        const VMAFCUDAPlane plane =
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

KERNEL(vmaf_speed_blur, IS_CHOSEN, speed_blur, VMAF_BLUR_THREADS)
KERNEL(vmaf_speed_subtract, IS_CHOSEN, speed_subtract, VMAF_SPEED_THREADS)
KERNEL(vmaf_speed_covariance, IS_CHOSEN, speed_covariance, VMAF_SPEED_THREADS)
KERNEL(vmaf_speed_solve, IS_CHOSEN, speed_solve, VMAF_SPEED_THREADS)
KERNEL(vmaf_speed_measure, IS_CHOSEN, speed_measure, WARP_SIZE)

}
