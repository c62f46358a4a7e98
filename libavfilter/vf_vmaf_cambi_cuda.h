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
 * Interface of vf_vmaf_cuda.c and vf_vmaf_cambi_cuda.cu.
 */

#ifndef AVFILTER_VMAF_CAMBI_CUDA_H
#define AVFILTER_VMAF_CAMBI_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vf_vmaf_cuda.h"
#include "vmaf_cambi_ops.h"

/// @name Warps of a thread block; rows of a part of a picture, of the filter, and of c-values
/// @{
#define CAMBI_WARPS       4
#define CAMBI_ROWS        32
#define CAMBI_FILTER_ROWS 16
#define CAMBI_TILE_H      16
/// @}

/// @name Top-k pooling: thread blocks of a scale, and the radix digits of a c-value
/// @{
#define CAMBI_TOPK_BLOCKS  32
#define CAMBI_TOPK_DIGITS  3
#define CAMBI_TOPK_BITS    9
#define CAMBI_TOPK_THREADS (1 << CAMBI_TOPK_BITS)
/// @}

/// State of the pooling of a scale's c-values.
typedef struct CAMBITopK {
    uint64_t sum;               ///< sum of the c-values above the threshold, in 2^-24
    uint32_t nb, nb_done;       ///< number of c-values, and of thread blocks that are done
    int threshold;              ///< least c-value that counts: its known digits
    uint32_t nb_above;          ///< number of c-values with higher digits
} CAMBITopK;

/// State of a pair between thread blocks and launches, all zero between batches.
typedef struct CAMBICUDAState {
    CAMBITopK topk[CAMBI_SCALES];
    uint32_t hist[CAMBI_SCALES][CAMBI_TOPK_THREADS];    ///< histogram of the digit
} CAMBICUDAState;

/// Picture of a scale.
typedef struct CAMBILevel {
    int w, h, pitch;            ///< in samples
    int at;                     ///< index of the first sample in a pair's memory
} CAMBILevel;

typedef struct CAMBICUDAParams {
    DEVICE_PTR(const VMAFCUDAPair) pair;        ///< [gridDim.y]
    int result_at;              ///< offset of the means in a pair's result
    CAMBIDims dims;
    int is_scaled;              ///< whether the encode has another size than the input
    CAMBILevel level[CAMBI_SCALES + 1];         ///< the first is filtered for the first scale
    int level_size;             ///< samples of all levels
    int nb_c_values;            ///< samples of all levels but the first
    int scale;                  ///< scale that is filtered
    int first[CAMBI_SCALES];    ///< first thread block of each scale, for c-values
    int digit;                  ///< digit of the threshold, of CAMBI_TOPK_DIGITS
    int nb_top[CAMBI_SCALES];   ///< number of c-values that are pooled
    DEVICE_PTR(const int) src_x;                ///< column of the source, for each of the encode
    DEVICE_PTR(const int) src_y;
    DEVICE_PTR(const float) reciprocal;
    DEVICE_PTR(float) c_value;                  ///< [gridDim.y][nb_c_values], in any order
    DEVICE_PTR(uint16_t) value;                 ///< [gridDim.y][level_size]
    /// Whether a sample equals its right and lower neighbours, as a bit of
    /// [gridDim.y][dims.height][DIV_UP(dims.width, 32)]
    DEVICE_PTR(uint32_t) zero_derivative;
    DEVICE_PTR(CAMBICUDAState) state;           ///< [gridDim.y]
} CAMBICUDAParams;

#endif /* AVFILTER_VMAF_CAMBI_CUDA_H */
