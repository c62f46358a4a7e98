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
#include "vf_vmaf_speed_cuda.h"

#define BLOCK SPEED_BLOCK

/// Return the blurred grid of a plane (0), or the differences from its local mean (1).
static DEVICE_INLINE float *speed_grid(const SpeedCUDAParams &p, int is_difference, int plane)
{
    const int64_t size = (int64_t)p.dims.grid_w * p.dims.grid_h;

    return p.grid + ((is_difference * gridDim.y + blockIdx.y) * SPEED_PLANES + plane) * size;
}

/// Return the statistics of a plane.
static DEVICE_INLINE SpeedCUDAPlane *speed_plane(const SpeedCUDAParams &p, int plane)
{
    return p.plane + blockIdx.y * SPEED_PLANES + plane;
}

/// Number of overlapping blocks in a row or column with n blocks that do not overlap.
#define OVERLAPPING(n) (((n) - 1) * SPEED_SIDE + 1)

static DEVICE_INLINE float speed_sample(const SpeedCUDAParams &p, const VMAFCUDAPlane &plane,
                                        int x, int y)
{
    if (!p.dims.is_scaled)
        return speed_center(get_sample(plane, x, y), p.depth);

    const SpeedPosition &column = p.src_x[x], &line = p.src_y[y];

    return speed_bilinear(
        column.weight, line.weight,
        speed_center(get_sample(plane, column.before, line.before), p.depth),
        speed_center(get_sample(plane, column.after,  line.before), p.depth),
        speed_center(get_sample(plane, column.before, line.after),  p.depth),
        speed_center(get_sample(plane, column.after,  line.after),  p.depth));
}

/// Blur chroma and decimate it to the grid: a thread block has a part of a row.
static DEVICE_INLINE void speed_blur(const SpeedCUDAParams &p)
{
    __shared__ float column[SPEED_BLUR_THREADS];
    const float tap[SPEED_TAPS] = SPEED_BLUR;
    const int tid = threadIdx.x, w = p.dims.grid_w, nb_runs = DIV_UP(w, SPEED_BLUR_RUN);
    const int row = blockIdx.x / nb_runs, picture = row / p.dims.grid_h;
    const int left = blockIdx.x % nb_runs * SPEED_BLUR_RUN, y = row % p.dims.grid_h;
    const int x = left + tid / SPEED_TAPS;
    float sum = 0;

    if (x < w) {
        const VMAFCUDAPlane plane =
            p.pair[blockIdx.y].plane[picture % PAIR_NB][1 + picture / PAIR_NB];
        const int sx = vmaf_mirror(x * SPEED_STEP - SPEED_TAPS / 2 +
                                   tid % SPEED_TAPS, p.dims.w);

        UNROLL
        for (int i = 0; i < SPEED_TAPS; i++)
            sum += tap[i] * speed_sample(p, plane, sx,
                                         vmaf_mirror(y * SPEED_STEP - SPEED_TAPS / 2 + i,
                                                     p.dims.h));
        column[tid] = sum;
    }
    __syncthreads();
    if (tid >= SPEED_BLUR_RUN || left + tid >= w)
        return;
    sum = 0;
    UNROLL
    for (int i = 0; i < SPEED_TAPS; i++)
        sum += tap[i] * column[tid * SPEED_TAPS + i];
    speed_grid(p, 0, picture)[y * w + left + tid] = sum;
}

/// Subtract the local mean, and compute the mean of each element of all overlapping blocks. A
/// thread block has a plane.
static DEVICE_INLINE void speed_subtract(const SpeedCUDAParams &p)
{
    const SpeedDims &picture = p.dims;
    const float *src = speed_grid(p, 0, blockIdx.x);
    float *dst  = speed_grid(p, 1, blockIdx.x), mean = 0;
    const int w = picture.grid_w, h = picture.grid_h, tid = threadIdx.x;
    const int nb_x = OVERLAPPING(picture.blocks_w);
    const int nb_y = OVERLAPPING(picture.nb_blocks / picture.blocks_w);

    for (int i = tid; i < w * h; i += SPEED_THREADS) {
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
    speed_plane(p, blockIdx.x)->mean[tid] = mean / (nb_x * nb_y);
}

/// Blocks that are prepared at a time.
#define SPEED_STRIP 48

/// Differences of two elements of a block from their means.
typedef struct SpeedPair {
    double diff[2];
} __align__(16) SpeedPair;

/**
 * Compute the covariance matrix of the elements of all overlapping blocks. A plane has two thread
 * blocks. In each, SPEED_SUMMING threads sum the products of two elements with two others, in the
 * order of the CPU; the other threads prepare the next differences.
 */
static DEVICE_INLINE void speed_covariance(const SpeedCUDAParams &p)
{
    __shared__ SpeedPair shared[2][SPEED_STRIP][DIV_UP(BLOCK, 2)];
    const int plane = blockIdx.x / 2, tid = threadIdx.x, lane = tid % WARP_SIZE;
    const int w  = OVERLAPPING(p.dims.blocks_w);
    const int nb = w * OVERLAPPING(p.dims.nb_blocks / p.dims.blocks_w);
    const float *grid = speed_grid(p, 1, plane) +
                        lane / SPEED_SIDE * p.dims.grid_w + lane % SPEED_SIDE;
    SpeedCUDAPlane *stats = speed_plane(p, plane);
    const int nb_warps = (SPEED_THREADS - SPEED_SUMMING) / WARP_SIZE;
    const float mean   = lane < BLOCK ? stats->mean[lane] : 0;
    // pairs of rows and columns of the lower triangle, row by row
    int i = 0, j = 2 * tid + blockIdx.x % 2;
    double sum[2][2] = { { 0, 0 }, { 0, 0 } };

    while (j > i)
        j -= ++i;
    for (int begin = 0; begin < nb + SPEED_STRIP; begin += SPEED_STRIP) {
        const int is_odd = begin / SPEED_STRIP % 2;

        if (tid >= SPEED_SUMMING && lane < BLOCK) {
            UNROLL
            for (int m = 0; m < SPEED_STRIP / nb_warps; m++) {
                const int row = (tid - SPEED_SUMMING) / WARP_SIZE + m * nb_warps;
                const int k   = min(begin + row, nb - 1);

                shared[is_odd][row][lane / 2].diff[lane % 2] =
                    (double)grid[k / w * p.dims.grid_w + k % w] - mean;
            }
        } else if (tid < SPEED_SUMMING && begin && i < DIV_UP(BLOCK, 2)) {
#pragma unroll 16
            for (int k = 0; k < min(SPEED_STRIP, nb + SPEED_STRIP - begin); k++) {
                const SpeedPair a = shared[!is_odd][k][i], b = shared[!is_odd][k][j];

                UNROLL
                for (int m = 0; m < 4; m++)
                    sum[m / 2][m % 2] += a.diff[m / 2] * b.diff[m % 2];
            }
        }
        __syncthreads();
    }
    for (int m = 0; m < 4 && tid < SPEED_SUMMING; m++) {
        const int row = 2 * i + m / 2, column = 2 * j + m % 2;

        if (row < BLOCK && column < BLOCK)
            stats->cov[row][column] = stats->cov[column][row] = sum[m / 2][m % 2] / nb;
    }
}

/// Decompose a plane's covariance matrix: one thread block computes the eigenvalues, another the QR
/// decomposition.
static DEVICE_INLINE void speed_solve(const SpeedCUDAParams &p)
{
    __shared__ SpeedWork work;
    SpeedCUDAPlane *stats = speed_plane(p, blockIdx.x / 2);
    const int tid = threadIdx.x;

    for (int i = tid; i < BLOCK * SPEED_STRIDE; i += SPEED_THREADS)
        work.cov[0][i] = stats->cov[0][i];
    __syncthreads();
    if (blockIdx.x % 2) {
        const bool is_regular = qr_decompose(&work, tid, SPEED_THREADS);

        if (tid == 0)
            stats->is_regular = is_regular;
        for (int i = tid; i < 2 * BLOCK * SPEED_STRIDE; i += SPEED_THREADS)
            stats->rq[0][0][i] = work.rq[0][0][i];
    } else {
        tridiagonalize(&work, tid, SPEED_THREADS);
        if (tid < WARP_SIZE) {
            tridiagonal_eigenvalues(work.eigenvalue, work.subdiag, tid);
            sync_warp();
            if (tid < BLOCK)
                stats->eigenvalue[tid] = work.eigenvalue[tid];
        }
    }
}

/// Compute the variances and entropies of a plane: a thread has a block.
static DEVICE_INLINE void speed_measure(const SpeedCUDAParams &p)
{
    const SpeedDims &picture = p.dims;
    const int nb_parts = DIV_UP(picture.nb_blocks, WARP_SIZE), plane = blockIdx.x / nb_parts;
    const int i = blockIdx.x % nb_parts * WARP_SIZE + threadIdx.x;
    const SpeedCUDAPlane *stats = speed_plane(p, plane);
    float *dst = (float *)(p.pair[blockIdx.y].result + p.result_at) +
                 plane * (1 + 2 * picture.nb_blocks);
    bool is_singular = !stats->is_regular;
    const float *block;
    float variance, entropy = 0;

    for (int k = 0; k < BLOCK; k++)
        is_singular |= stats->eigenvalue[k] < SPEED_SINGULAR;
    if (i == 0)
        dst[0] = is_singular;
    if (i >= picture.nb_blocks || is_singular)
        return;
    block = speed_grid(p, 1, plane) + i / picture.blocks_w * SPEED_SIDE * picture.grid_w +
            i % picture.blocks_w * SPEED_SIDE;
    speed_variances(&variance, stats->rq, &block, picture.grid_w);
    for (int k = 0; k < BLOCK; k++)
        entropy += speed_entropy(stats->eigenvalue[k], variance);
    dst[1 + i] = variance;
    dst[1 + picture.nb_blocks + i] = entropy;
}

extern "C" {

KERNEL(vmaf_speed_blur, SpeedCUDAParams, IS_CHOSEN, speed_blur, SPEED_BLUR_THREADS)
KERNEL(vmaf_speed_subtract, SpeedCUDAParams, IS_CHOSEN, speed_subtract, SPEED_THREADS)
KERNEL(vmaf_speed_covariance, SpeedCUDAParams, IS_CHOSEN, speed_covariance, SPEED_THREADS)
KERNEL(vmaf_speed_solve, SpeedCUDAParams, IS_CHOSEN, speed_solve, SPEED_THREADS)
KERNEL(vmaf_speed_measure, SpeedCUDAParams, IS_CHOSEN, speed_measure, WARP_SIZE)

}
