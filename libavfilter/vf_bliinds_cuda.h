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
 * What crosses between vf_bliinds_cuda.c and vf_bliinds_cuda.cu.
 */

#ifndef AVFILTER_BLIINDS_CUDA_H
#define AVFILTER_BLIINDS_CUDA_H

#include <stdint.h>

#include "bliinds_sums.h"
#include "cuda/shared.h"

#if !defined(__CUDACC__) && !defined(__CUDA__)
#include <ffnvcodec/dynlink_cuda.h>
#endif

/**
 * @name Blocks of level 1 in a tile, and its threads
 * Two thirds of the threads have two of these blocks each, the others have the upper levels.
 * @{
 */
#define BLIINDS_TILE_W 32
#define BLIINDS_TILE_H 16
#define BLIINDS_TILE_THREADS (BLIINDS_TILE_W * BLIINDS_TILE_H * 3 / 4)
/// @}
#define BLIINDS_TILES_PER_SM 2      ///< tiles worked on at once by a multiprocessor
#define BLIINDS_MAX_TILES (1 << 12) ///< of a thread block: 2^13 blocks a thread, bliinds_fixed()
#define BLIINDS_END_THREADS 64      ///< as many as there are words of sums of the bands, or more

#define BLIINDS_POOL_THREADS 256
#define BLIINDS_POOL_EACH    2      ///< blocks that a thread pools at once
#define BLIINDS_POOL_CHUNK   (BLIINDS_POOL_THREADS * BLIINDS_POOL_EACH)
#define BLIINDS_POOL_MAX     (1 << 16)  ///< blocks that a thread block may pool in 64 bits
#define BLIINDS_POOLS_PER_SM 3      ///< thread blocks that pool on a multiprocessor

#define BLIINDS_CHOOSE_THREADS 1024
#define BLIINDS_LISTED 16           ///< blocks for which there is one place in a list

/// The statistics of BLIINDSStatistic, and gamma.
#define BLIINDS_GAMMA      BLIINDS_NB_STATISTICS
#define BLIINDS_NB_POOLED (BLIINDS_NB_STATISTICS + 1)

/// Sums of a statistic of BLIINDSStatistic. For gamma the fraction has them, in thousandths.
typedef struct BLIINDSCUDAPooled {
    BLIINDSSum grid[2];     ///< blocks clear of the 8x8 grid, and straddling
    BLIINDSSum worst;
} BLIINDSCUDAPooled;

/// What comes back for a frame.
typedef struct BLIINDSCUDAResult {
    BLIINDSCUDAPooled pooled[BLIINDS_LEVELS][BLIINDS_NB_POOLED];
    BLIINDSSum bands[BLIINDS_LEVELS][2][3];     ///< as grid above at level 1; at the others, [0] has all blocks
    uint64_t nb_flat;                           ///< at level 1
} BLIINDSCUDAResult;

/// What is left on the device between kernels; all zero between batches.
typedef struct BLIINDSCUDAState {
    BLIINDSCUDAResult result;
    uint32_t count[BLIINDS_LEVELS][BLIINDS_NB_POOLED][BLIINDS_BINS];
    uint32_t gamma_fine[BLIINDS_LEVELS][BLIINDS_GAMMA_FINE];
    uint32_t nb_listed[BLIINDS_LEVELS][BLIINDS_NB_STATISTICS];
} BLIINDSCUDAState;

/// The statistics of a block, which one access reads or writes.
typedef struct __attribute__((aligned(16))) BLIINDSCUDABlock {
    float statistic[BLIINDS_NB_STATISTICS];
    uint32_t gamma;         ///< index, with the highest bit set if the block straddles the 8x8 grid
} BLIINDSCUDABlock;

/// A value of a statistic, and how many blocks have it.
typedef struct BLIINDSCUDAListed {
    uint32_t bits, count;
} BLIINDSCUDAListed;

#define BLIINDS_MAX_BATCH 6         ///< frames in a launch

typedef struct BLIINDSCUDAFrame {
    DEVICE_PTR(const uint8_t) src;      ///< luma
    DEVICE_PTR(BLIINDSCUDAResult) result;
    int pitch;                                  ///< of src, in bytes
    int black;                                  ///< value of black
} BLIINDSCUDAFrame;

/// The addresses are the first frame's.
typedef struct BLIINDSCUDALevel {
    int w, h;               ///< samples
    int bw, bh;             ///< blocks
    int first;              ///< the level's first block, of all levels'
    int max_listed;         ///< room in each list
    /// scratch: statistics in the bin of the threshold
    DEVICE_PTR(BLIINDSCUDAListed) list[BLIINDS_NB_STATISTICS];
} BLIINDSCUDALevel;

typedef struct BLIINDSCUDAParams {
    BLIINDSCUDAFrame frame[BLIINDS_MAX_BATCH];
    BLIINDSCUDALevel level[BLIINDS_LEVELS];
    DEVICE_PTR(BLIINDSCUDABlock) blocks;    ///< of all levels, in rows
    uint64_t frame_size;                        ///< from a frame's data to the next's, in bytes
    int down;                                   ///< right shift from src to a value
    int mask;                                   ///< bits of a value
    int up;                                     ///< left shift from a value to a level sample
    float scale;                                ///< from a value to 8-bit steps
    int nb_tiles_x, nb_tiles;
    int pool_chunk;                             ///< blocks that a thread block pools
    DEVICE_PTR(const float) gamma_table;
    DEVICE_PTR(BLIINDSCUDAState) state; ///< [BLIINDS_MAX_BATCH]
} BLIINDSCUDAParams;

#endif /* AVFILTER_BLIINDS_CUDA_H */
