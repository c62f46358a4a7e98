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
 * Interface of vf_vmaf_cuda.c and vf_vmaf_adm_cuda.cu.
 */

#ifndef AVFILTER_VMAF_ADM_CUDA_H
#define AVFILTER_VMAF_ADM_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vf_vmaf_cuda.h"
#include "vmaf_adm_ops.h"

/// @name Size of a tile in coefficients, also with the halo, where each has a thread; and the
/// number of tiles in a row that a thread block processes: the smaller scales have few
/// @{
#define ADM_TILE_W  30
#define ADM_TILE_H  16
#define ADM_HALO_W  (ADM_TILE_W + 2)
#define ADM_HALO_H  (ADM_TILE_H + 2)
#define ADM_THREADS (ADM_HALO_W * ADM_HALO_H)
#define ADM_TILES(scale) ((scale) ? 4 : 16)
/// @}

#define ADM_FINISH_THREADS 256

typedef struct ADMCUDAParams {
    DEVICE_PTR(const VMAFCUDAPair) pair;        ///< [gridDim.y]
    int result_at;              ///< offset of the sums in a pair's result
    int depth;                  ///< bits of a sample
    ADMScale adm;               ///< scale that is transformed
    int row_shift[ADM_SCALES][ADM_SUMS];
    DEVICE_PTR(const int32_t) image;            ///< [gridDim.y][PAIR_NB] pictures of this scale
    DEVICE_PTR(int32_t) next;                   ///< pictures of the next scale
    /// [gridDim.y][ADM_SCALES][ADM_SUMS][ADM_BANDS][nb_rows] sums, all zero between batches
    DEVICE_PTR(uint64_t) rows;
    int nb_rows;                ///< rows of a band of the first scale
} ADMCUDAParams;

#endif /* AVFILTER_VMAF_ADM_CUDA_H */
