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
 * What crosses between vf_detailloss_cuda.c and vf_detailloss_cuda.cu.
 */

#ifndef AVFILTER_DETAILLOSS_CUDA_H
#define AVFILTER_DETAILLOSS_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "detailloss_wavelet.h"

#define DETAIL_MAX_COMPONENTS 3     ///< alpha is not compared

/// @name Coefficients of a tile, and thread blocks at once on a multiprocessor
/// @{
#define DETAIL_TILE_W 32
#define DETAIL_TILE_H 16
#define DETAIL_TILES_PER_SM 2
/// @}

#define DETAIL_CELL_THREADS  256
#define DETAIL_CHROMA_LANES   16    ///< that share the rows of a cell of chroma
#define DETAIL_FINISH_THREADS 512

#define DETAIL_MAX_BATCH 4          ///< pairs in a launch

/// A plane of chroma, or luma.
typedef struct DetailCUDAPlane {
    DEVICE_PTR(const uint8_t) data;
    int pitch;                      ///< in bytes
} DetailCUDAPlane;

typedef struct DetailCUDAPair {
    DetailCUDAPlane plane[PAIR_NB][DETAIL_MAX_COMPONENTS];
    DetailCUDAPlane previous;       ///< luma of the source's frame before, or NULL
    DEVICE_PTR(DetailSums) result;
} DetailCUDAPair;

typedef struct DetailCUDAParams {
    DetailCUDAPair pair[DETAIL_MAX_BATCH];
    DetailPicture picture;
    int step[DETAIL_MAX_COMPONENTS];    ///< from a component's sample to the next, in samples
    int down;                       ///< right shift from a sample to its value
    int mask;                       ///< bits of a value

    // of one launch
    int scale, w, h;                ///< of the picture that is split
    int nb_tiles_x, nb_tiles;
    /// [PAIR_NB][DETAIL_MAX_BATCH]: planes of this scale's pictures, and of the next's
    DEVICE_PTR(const float) image;
    DEVICE_PTR(float) next;

    /// [2][PAIR_NB][DETAIL_MAX_BATCH]: planes of sums over cells of chroma
    DEVICE_PTR(uint32_t) cells;
    DEVICE_PTR(DetailSums) sums;     ///< [DETAIL_MAX_BATCH], all zero between batches
} DetailCUDAParams;

#endif /* AVFILTER_DETAILLOSS_CUDA_H */
