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
 * Interface of vf_vmaf_cuda.c and vf_vmaf_speed_cuda.cu.
 */

#ifndef AVFILTER_VMAF_SPEED_CUDA_H
#define AVFILTER_VMAF_SPEED_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vf_vmaf_cuda.h"
#include "vmaf_speed_ops.h"

/// @name Samples of a row that a thread block blurs; threads, and those that sum covariances
/// @{
#define SPEED_BLUR_RUN     32
#define SPEED_BLUR_THREADS (SPEED_BLUR_RUN * SPEED_TAPS)
#define SPEED_THREADS      256
#define SPEED_SUMMING      64
/// @}

#define SPEED_PLANES (2 * PAIR_NB)      ///< chroma planes of a pair: U of both pictures, then V

/// Statistics of a plane.
typedef struct SpeedCUDAPlane {
    SpeedMatrix cov;
    SpeedMatrix rq[2];
    float mean[SPEED_BLOCK], eigenvalue[SPEED_BLOCK];
    int is_regular;             ///< whether r has an inverse
} SpeedCUDAPlane;

typedef struct SpeedCUDAParams {
    DEVICE_PTR(const VMAFCUDAPair) pair;        ///< [gridDim.y]
    int result_at;              ///< offset of the statistics in a pair's result
    int depth;                  ///< bits of a sample
    SpeedDims dims;
    DEVICE_PTR(const SpeedPosition) src_x;      ///< source of each scaled column
    DEVICE_PTR(const SpeedPosition) src_y;
    /// Blurred samples, then their differences from the local mean: [2][gridDim.y][SPEED_PLANES]
    DEVICE_PTR(float) grid;
    DEVICE_PTR(SpeedCUDAPlane) plane;           ///< [gridDim.y][SPEED_PLANES]
} SpeedCUDAParams;

#endif /* AVFILTER_VMAF_SPEED_CUDA_H */
