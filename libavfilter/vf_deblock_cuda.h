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
 * What crosses between vf_deblock_cuda.c and vf_deblock_cuda.cu.
 */

#ifndef AVFILTER_DEBLOCK_CUDA_H
#define AVFILTER_DEBLOCK_CUDA_H

#include <stdint.h>

#include "blocksmooth.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#define DEBLOCK_DEVICE_PTR(type) type *
#else
#include <ffnvcodec/dynlink_cuda.h>
#define DEBLOCK_DEVICE_PTR(type) CUdeviceptr
#endif

#define DEBLOCK_CELL  8             ///< samples along a side of a cell
#define DEBLOCK_WARPS 4             ///< of a thread block

#define DEBLOCK_MAX_PLANES 4

typedef struct DeblockCUDAPlane {
    DEBLOCK_DEVICE_PTR(const uint8_t) src;
    DEBLOCK_DEVICE_PTR(uint8_t) dst;        ///< src, or another picture
    int src_pitch, dst_pitch;               ///< in bytes
    int w, h;                               ///< samples of a channel
    int nb_channels;                        ///< 2 where components are interleaved
    int channels;                           ///< bit mask of those to smooth
    int nb_warps_x;                         ///< side by side
    int first_warp;
} DeblockCUDAPlane;

typedef struct DeblockCUDAParams {
    DeblockCUDAPlane plane[DEBLOCK_MAX_PLANES];
    int nb_planes, nb_warps;
    int block;
    int vertical_first;
    int shift;                              ///< right shift from a sample to its value
    BlockSmoothLimits limits;
} DeblockCUDAParams;

#endif /* AVFILTER_DEBLOCK_CUDA_H */
