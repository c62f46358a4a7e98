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
 * Parameters, results and thread block sizes that vf_ssim_cuda.c and vf_ssim_cuda.cu share
 */

#ifndef AVFILTER_SSIM_CUDA_H
#define AVFILTER_SSIM_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"

#define SSIM_STRIP_ROWS   2         ///< rows of windows of a strip, which a thread block has
#define SSIM_WARP_WINDOWS 31        ///< windows of a warp in a row

/// @name Warps of a thread block, side by side, for samples of 8 bits and of more than 8 bits
/// @{
#define SSIM_WARPS_8  8
#define SSIM_WARPS_16 16
/// @}
/// @name Minimum number of thread blocks resident on a multiprocessor
/// @{
#define SSIM_MIN_BLOCKS_8  4
#define SSIM_MIN_BLOCKS_16 2
/// @}

#define SSIM_MAX_PLANES 3
#define SSIM_MAX_BATCH  4           ///< maximum number of pairs in a launch
#define SSIM_FRAC_BITS  38          ///< fractional bits of fixed-point sums over up to 2^24 windows

/// Result of a pair: fixed-point sums over the windows of each component.
typedef struct SSIMCUDAResult {
    int64_t sum[SSIM_MAX_PLANES];
} SSIMCUDAResult;

/// State of a pair that its thread blocks share in device memory; all zero between launches.
typedef struct SSIMCUDAState {
    SSIMCUDAResult result;
    uint32_t nb_done;               ///< number of finished thread blocks
} SSIMCUDAState;

/// Geometry of a plane.
typedef struct SSIMCUDAPlane {
    int bw, bh;                     ///< size in blocks of 4x4 samples
    int nb_channels;                ///< 2 if components are interleaved, otherwise 1
    int component[2];               ///< component of each channel
    int nb_chunks;                  ///< thread blocks side by side
    int first_block;                ///< index of the plane's first thread block
} SSIMCUDAPlane;

/// Addresses of a pair, indexed by plane.
typedef struct SSIMCUDAPair {
    DEVICE_PTR(const uint8_t) main[SSIM_MAX_PLANES];
    DEVICE_PTR(const uint8_t) ref[SSIM_MAX_PLANES];
    DEVICE_PTR(SSIMCUDAResult) result;
    int main_pitch[SSIM_MAX_PLANES];    ///< bytes between rows
    int ref_pitch[SSIM_MAX_PLANES];
} SSIMCUDAPair;

/// Parameters of the kernels.
typedef struct SSIMCUDAParams {
    SSIMCUDAPair pair[SSIM_MAX_BATCH];
    SSIMCUDAPlane plane[SSIM_MAX_PLANES];
    int nb_planes;
    int shift;                      ///< right shift of a sample in its word
    int64_t c1, c2;                 ///< constants C1 and C2 of SSIM, scaled for sums over a window
    DEVICE_PTR(SSIMCUDAState) state;    ///< [SSIM_MAX_BATCH]
} SSIMCUDAParams;

#endif /* AVFILTER_SSIM_CUDA_H */
