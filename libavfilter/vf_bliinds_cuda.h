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

#include "bliinds_block.h"
#include "cuda/shared.h"

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
#define BLIINDS_FINISH_THREADS 64      ///< as many as there are words of sums of the bands, or more

#define BLIINDS_MOTION_THREADS 256
#define BLIINDS_MOTION_PER_THREAD    16   ///< samples of level 3 that a thread compares

#define BLIINDS_POOL_THREADS 256
#define BLIINDS_POOL_PER_THREAD    2      ///< blocks that a thread pools at once
#define BLIINDS_POOL_CHUNK   (BLIINDS_POOL_THREADS * BLIINDS_POOL_PER_THREAD)
#define BLIINDS_POOL_MAX     (1 << 16)  ///< blocks that a thread block may pool in 64 bits
#define BLIINDS_POOLS_PER_SM 3      ///< thread blocks that pool on a multiprocessor

#define BLIINDS_POOL10_THREADS 1024
#define BLIINDS_BLOCKS_PER_ENTRY 16           ///< blocks for which there is one place in a list

/// Statistics before gamma, which has no float but an index.
#define BLIINDS_NB_FLOATS BLIINDS_GAMMA

#define BLIINDS_BINS       320      ///< of a histogram from which the worst blocks are chosen
#define BLIINDS_SHAPES_PER_BIN 32       ///< shapes in a bin

/**
 * Values in one bin share all but this many lower bits, unless the bin is the
 * first or the last one.
 */
#define BLIINDS_BIN_BITS 18

/// @name Where bins of the energy subband ratio change their spacing, see bliinds_bin()
/// @{
#define BLIINDS_SUB_BINS1 64                            ///< below .5
#define BLIINDS_SUB_BINS2 (BLIINDS_SUB_BINS1 + 160)     ///< below 1
/// @}

/// The bits of a float; those of non-negative floats have the order of the floats.
SHARED_INLINE uint32_t bliinds_bits(float x)
{
    union { float f; uint32_t i; } u = { x };

    return u.i;
}

SHARED_INLINE float bliinds_from_bits(uint32_t x)
{
    union { uint32_t i; float f; } u;

    u.i = x;
    return u.f;
}

/// Upper bits of x, without the lowest shift bits, minus those of start.
SHARED_INLINE int bliinds_bin_offset(uint32_t x, float start, int shift)
{
    return (int)(x >> shift) - (int)(bliinds_bits(start) >> shift);
}

/**
 * Bin of a value of a statistic. It grows with the value; values beyond all bins are in
 * the first and the last one. A bin includes its lower end, but not its upper end.
 *
 * There are 32 bins per octave. But the energy subband ratio is near 1 in many blocks of
 * smooth pictures: from .5 to 1 it has 16 bins per octave of its distance to 1, which is
 * exact in single precision.
 *
 * @param x         not negative
 * @param statistic of BLIINDSStatistic
 */
SHARED_INLINE int bliinds_bin(float x, int statistic)
{
    int bin;

    if (statistic != BLIINDS_SUB)
        bin = bliinds_bin_offset(bliinds_bits(x), 1.f / 64, 18);
    else if (x < .5f)
        bin = bliinds_bin_offset(bliinds_bits(x), .125f, 18);
    else if (x >= 1.f)
        bin = BLIINDS_SUB_BINS2 + bliinds_bin_offset(bliinds_bits(x), 1.f, 18);
    else {
        bin = BLIINDS_SUB_BINS1 - 1 - bliinds_bin_offset(bliinds_bits(1.f - x) - 1, .5f, 19);
        bin = bin < BLIINDS_SUB_BINS2 ? bin : BLIINDS_SUB_BINS2 - 1;
    }
    bin = bin < 0 ? 0 : bin;
    return bin < BLIINDS_BINS ? bin : BLIINDS_BINS - 1;
}

/// Bits of the lower end of a bin; of BLIINDS_BINS, bits above those of all values.
SHARED_INLINE uint32_t bliinds_bin_start(int statistic, int bin)
{
    if (bin == 0)
        return 0;
    if (bin == BLIINDS_BINS)
        return ~0u;
    if (statistic != BLIINDS_SUB)
        return bliinds_bits(1.f / 64) + ((uint32_t)bin << 18);
    if (bin < BLIINDS_SUB_BINS1)
        return bliinds_bits(.125f) + ((uint32_t)bin << 18);
    if (bin < BLIINDS_SUB_BINS2)    // 1 minus the largest of the bin's distances
        return bliinds_bits(1.f - bliinds_from_bits(bliinds_bits(.5f) -
                                                    ((uint32_t)(bin - BLIINDS_SUB_BINS1) << 19)));
    return bliinds_bits(1.f) + ((uint32_t)(bin - BLIINDS_SUB_BINS2) << 18);
}

/// Whether the values of a bin need not share their upper bits.
SHARED_INLINE int bliinds_bin_is_open(int bin)
{
    return bin == 0 || bin == BLIINDS_BINS - 1;
}

/// Bin of an index of bliinds_gamma().
SHARED_INLINE int bliinds_gamma_bin(unsigned index)
{
    return index / BLIINDS_SHAPES_PER_BIN;
}

/// What is left on the device between kernels; all zero between batches.
typedef struct BLIINDSCUDAState {
    BLIINDSLevelSums sums[BLIINDS_LEVELS];
    uint32_t hist[BLIINDS_LEVELS][BLIINDS_NB_STATISTICS][BLIINDS_BINS];
    uint32_t shape_hist[BLIINDS_LEVELS][BLIINDS_SHAPES_PER_BIN];
    uint32_t nb_listed[BLIINDS_LEVELS][BLIINDS_NB_FLOATS];
} BLIINDSCUDAState;

/// The statistics of a block, which one access reads or writes.
typedef struct __attribute__((aligned(16))) BLIINDSCUDABlock {
    float statistic[BLIINDS_NB_FLOATS];
    uint32_t gamma;         ///< index, with the highest bit set if the block straddles the 8x8 grid
} BLIINDSCUDABlock;

/// A value of a statistic, and how many blocks have it.
typedef struct BLIINDSCUDAValueCount {
    uint32_t bits, count;
} BLIINDSCUDAValueCount;

#define BLIINDS_MAX_BATCH 6         ///< frames in a launch

typedef struct BLIINDSCUDAFrame {
    DEVICE_PTR(const uint8_t) src;      ///< luma
    DEVICE_PTR(BLIINDSLevelSums) result;        ///< of each level
    DEVICE_PTR(int16_t) motion;         ///< bliinds_motion_sample() of level 3, [h][w], for the next frame
    DEVICE_PTR(const int16_t) prev_motion;   ///< of the frame before, or 0
    int pitch;                                  ///< of src, in bytes
    int black;                                  ///< value of black
} BLIINDSCUDAFrame;

/// The addresses are the first frame's.
typedef struct BLIINDSCUDALevel {
    int w, h;               ///< samples
    int bw, bh;             ///< blocks
    int first;              ///< the level's first block, of all levels'
    int max_list;         ///< room in each list
    /// scratch: statistics in the bin of the threshold
    DEVICE_PTR(BLIINDSCUDAValueCount) list[BLIINDS_NB_FLOATS];
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
