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
 * What crosses between vf_blocksmooth_cuda.c and vf_blocksmooth_cuda.cu.
 */

#ifndef AVFILTER_BLOCKSMOOTH_CUDA_H
#define AVFILTER_BLOCKSMOOTH_CUDA_H

#include <stdint.h>

#include "blocksmooth.h"
#include "cuda/shared.h"

#define BLOCKSMOOTH_CELL  8             ///< samples along a side of a cell
#define BLOCKSMOOTH_WARPS 4             ///< of a thread block, one below the other
#define BLOCKSMOOTH_WORDS 32            ///< of four bytes in a row of a warp

#define BLOCKSMOOTH_MAX_PLANES 4

/// A number in each of the samples of 1 or 2 bytes that are in a word.
#define BLOCKSMOOTH_IN_LANES(size, x) ((uint32_t)(x) * ((size) == 1 ? 0x01010101u : 0x00010001u))

/// For the top bit of a lane to tell whether its value is not below a limit.
typedef struct BlockSmoothCUDALimit {
    uint32_t bias;                          ///< added below the top bit, which is set then
    uint32_t is_low;                        ///< all bits where the limit is below a value's top bit
} BlockSmoothCUDALimit;

/// BlockSmoothLimits in all lanes, for values in the high bits of each.
typedef struct BlockSmoothCUDALimits {
    BlockSmoothCUDALimit flat, strong, weak;
    uint32_t half, quarter, eighth;         ///< the bits of these parts of a value
} BlockSmoothCUDALimits;

typedef struct BlockSmoothCUDAPlane {
    DEVICE_PTR(const uint8_t) src;
    DEVICE_PTR(uint8_t) dst;        ///< src, or another picture
    int src_pitch, dst_pitch;               ///< in bytes
    int w, h;                               ///< samples of a channel
    int nb_channels;                        ///< 2 where components are interleaved
    uint32_t mask;                          ///< of the samples to smooth in a word
    int first_row;                          ///< of the rows of thread blocks of all planes
} BlockSmoothCUDAPlane;

typedef struct BlockSmoothCUDAParams {
    BlockSmoothCUDAPlane plane[BLOCKSMOOTH_MAX_PLANES];
    int nb_columns, nb_rows;                ///< thread blocks that all planes take
    int block;
    uint32_t value;                         ///< the bits of a word that are values
    int shift;                              ///< left shift to have these in the high bits
    BlockSmoothCUDALimits limits;
} BlockSmoothCUDAParams;

#endif /* AVFILTER_BLOCKSMOOTH_CUDA_H */
