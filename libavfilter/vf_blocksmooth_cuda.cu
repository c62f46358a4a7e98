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
 * Kernel of blocksmooth_cuda; vf_blocksmooth.c describes the method
 */

#include "blocksmooth.h"
#include "cuda/kernel.cuh"

#define CELL BLOCKSMOOTH_MIN_BLOCK  ///< width and height of a cell in samples

extern "C" {

/**
 * Smooth a component of a frame, in both passes.
 *
 * Grid: a thread block for each tile of 32x32 samples, shifted by half a cell up and to the left.
 * Thread block: 32x4 threads. A row of threads is a warp and has four cells side by side. No shared
 * memory.
 *
 * A cell is the 8x8 samples around a crossing of the grid of 8x8 blocks. An edge reads and changes
 * only the three samples on each of its sides. Both passes of a cell therefore stay inside the
 * cell, and cells are independent of each other, also with larger blocks.
 *
 * A cell has 8 threads of a warp. In the first pass, a thread smooths one column of the cell across
 * the horizontal edge; in the second pass, one row across the vertical edge. Samples pass from
 * thread to thread only between the passes, where sync_warp() orders the accesses.
 */
__global__ void __launch_bounds__(BLOCKSMOOTH_CUDA_TILE * BLOCKSMOOTH_CUDA_TILE / CELL)
blocksmooth(BlockSmoothCUDAParams p)
{
    const BlockSmoothComponent &c = p.dst;
    // crossing of the edges in the middle of the cell
    const int edge_x = blockIdx.x * BLOCKSMOOTH_CUDA_TILE + threadIdx.x / CELL * CELL;
    const int edge_y = blockIdx.y * BLOCKSMOOTH_CUDA_TILE + threadIdx.y * CELL;
    const int top = edge_y - CELL / 2, end = min(top + CELL, c.height);
    // column and row of the thread
    const int x = edge_x - CELL / 2 + threadIdx.x % CELL, y = top + threadIdx.x % CELL;
    const bool has_column = x >= 0 && x < c.width, has_row = y >= 0 && y < c.height;

    // out of place, the thread first copies its column
    for (int i = max(top, 0); i < end && has_column && p.src.data != c.data; i++) {
        const uint8_t *src = blocksmooth_sample(&p.src, x, i);
        uint8_t *dst       = blocksmooth_sample(&c, x, i);

        if (c.is_16bit)
            *(uint16_t *)dst = *(const uint16_t *)src;
        else
            *dst = *src;
    }
    if (has_column && c.is_smoothed && blocksmooth_is_edge(edge_y, c.height, c.block))
        blocksmooth_line(blocksmooth_sample(&c, x, edge_y), c.linesize, &c);
    sync_warp();
    if (has_row && c.is_smoothed && blocksmooth_is_edge(edge_x, c.width, c.block))
        blocksmooth_line(blocksmooth_sample(&c, edge_x, y), c.step, &c);
}

}
