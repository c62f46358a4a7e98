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
 * Motion of VMAF v1 for a batch of pairs.
 */

#include "vf_vmaf_cuda.cuh"
#include "vf_vmaf_motion_cuda.h"

/// Filter the differences of two frames vertically, for the columns of a tile and two on each side.
/// A thread has one.
template<typename T>
static DEVICE_INLINE void filter_columns(int (*dst)[MOTION_THREADS], const MotionCUDAParams &p,
                                         const VMAFCUDAPlane &cur, const VMAFCUDAPlane &prev,
                                         int left, int top)
{
    const int x = mirror(left + (int)threadIdx.x - 2, 2 * (p.width - 1));
    const uint8_t *a = prev.data + x * sizeof(T), *b = cur.data + x * sizeof(T);
    int d[MOTION_TAPS];

    UNROLL
    for (int i = 0; i < MOTION_TILE_H + MOTION_TAPS - 1; i++) {
        const int y = mirror(top + i - 2, 2 * (p.height - 1));

        UNROLL
        for (int j = 0; j < MOTION_TAPS - 1; j++)
            d[j] = d[j + 1];
        d[4] = load_sample<T>(prev, a + y * prev.pitch) - load_sample<T>(cur, b + y * cur.pitch);
        if (i >= MOTION_TAPS - 1)
            dst[i - MOTION_TAPS + 1][threadIdx.x] =
                motion_filter_vertical(d[0], d[1], d[2], d[3], d[4], p.depth);
    }
}

/// Compute the SAD of the filtered reference and one of its previous frames.
static DEVICE_INLINE void motion_extract(const MotionCUDAParams &p)
{
    __shared__ int filtered[MOTION_TILE_H][MOTION_THREADS];
    const VMAFCUDAPair &pair = p.pair[blockIdx.y];
    const VMAFCUDAPlane cur  = pair.plane[PAIR_REFERENCE][0];
    const VMAFCUDAPlane prev = pair.before[p.window];
    MotionCUDAState *state   = p.state + blockIdx.y;
    const int nb_tiles = DIV_UP(p.width, MOTION_TILE_W);
    const int left = blockIdx.x % nb_tiles * MOTION_TILE_W;
    const int top  = blockIdx.x / nb_tiles * MOTION_TILE_H;
    // a thread filters four columns horizontally
    const int column = threadIdx.x % WARP_SIZE * 4, nb_columns = min(p.width - left - column, 4);
    uint32_t sum = 0;

    if (cur.size == 1)
        filter_columns<uint8_t>(filtered, p, cur, prev, left, top);
    else
        filter_columns<uint16_t>(filtered, p, cur, prev, left, top);
    __syncthreads();
    if (column < MOTION_TILE_W) {
        for (int row = threadIdx.x / WARP_SIZE; row < min(MOTION_TILE_H, p.height - top);
             row += MOTION_THREADS / WARP_SIZE) {
            const int4 a = *(const int4 *)&filtered[row][column];
            const int4 b = *(const int4 *)&filtered[row][column + 4];
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

#define HAS_PREV p.pair[blockIdx.y].before[p.window].data

extern "C" {

KERNEL(vmaf_motion, MotionCUDAParams, HAS_PREV, motion_extract, MOTION_THREADS)

}
