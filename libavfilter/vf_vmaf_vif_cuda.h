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
 * Interface of vf_vmaf_cuda.c and vf_vmaf_vif_cuda.cu.
 */

#ifndef AVFILTER_VMAF_VIF_CUDA_H
#define AVFILTER_VMAF_VIF_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vf_vmaf_cuda.h"
#include "vmaf_vif_ops.h"

/// @name Size in pixels of a strip, which a thread block goes down
/// @{
#define VIF_STRIP_W 112
#define VIF_STRIP_H(scale) ((scale) ? 32 : 64)
/// @}

#define VIF_THREADS 128

/// Members of VIFScaleSums.
#define VIF_NB_SUMS 4

/// Sums of a pair's current scale.
typedef struct VIFCUDAState {
    uint64_t sum[VIF_NB_SUMS];
    uint32_t nb_done;           ///< thread blocks that have added to them
} VIFCUDAState;

typedef struct VIFCUDAParams {
    DEVICE_PTR(const VMAFCUDAPair) pair;        ///< [gridDim.y]
    int result_at;              ///< offset of the scale's VIFScaleSums in a pair's result
    int depth;                  ///< bits of a sample of the first scale
    int width, height;          ///< size of this scale's pictures
    DEVICE_PTR(const uint16_t) image;           ///< [gridDim.y][PAIR_NB] pictures of this scale
    DEVICE_PTR(uint16_t) next;                  ///< those of the next scale
    DEVICE_PTR(const uint32_t) log2_table;      ///< [VIF_LOG2_WORDS]
    DEVICE_PTR(VIFCUDAState) state;             ///< [gridDim.y], all zero between launches
    double gain_limit;
} VIFCUDAParams;

#endif /* AVFILTER_VMAF_VIF_CUDA_H */
