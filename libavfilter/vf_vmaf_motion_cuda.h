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
 * Interface of vf_vmaf_cuda.c and vf_vmaf_motion_cuda.cu.
 */

#ifndef AVFILTER_VMAF_MOTION_CUDA_H
#define AVFILTER_VMAF_MOTION_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vf_vmaf_cuda.h"
#include "vmaf_motion_ops.h"

/// @name Size of a tile in samples: each thread filters a column
/// @{
#define MOTION_THREADS 128
#define MOTION_TILE_W  (MOTION_THREADS - MOTION_TAPS + 1)
#define MOTION_TILE_H  32
/// @}

/// Counters of a pair, all zero between launches.
typedef struct MotionCUDAState {
    uint64_t sad;
    uint32_t nb_done;           ///< thread blocks that have added to it
} MotionCUDAState;

typedef struct MotionCUDAParams {
    DEVICE_PTR(const VMAFCUDAPair) pair;        ///< [gridDim.y]
    int result_at;              ///< offset of the sum in a pair's result
    int width, height, depth;
    int window;                 ///< index of the previous frame in a pair
    DEVICE_PTR(MotionCUDAState) state;          ///< [gridDim.y]
} MotionCUDAParams;

#endif /* AVFILTER_VMAF_MOTION_CUDA_H */
