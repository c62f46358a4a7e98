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
 * Kernel parameters, sizes of thread blocks and structures in GPU memory that vf_bliinds_cuda.c and
 * vf_bliinds_cuda.cu share.
 *
 * Also the bins of the histograms from which the 10 % of blocks of worst quality are selected.
 */

#ifndef AVFILTER_BLIINDS_CUDA_H
#define AVFILTER_BLIINDS_CUDA_H

#include <stdint.h>

#include "bliinds_block.h"
#include "cuda/shared.h"

/**
 * @name Size of a tile in blocks of level 1, and its number of threads
 * Two thirds of the threads compute two blocks of level 1 each, the others those of levels 2 and 3.
 * @{
 */
#define BLIINDS_TILE_W 32
#define BLIINDS_TILE_H 16
#define BLIINDS_TILE_THREADS (BLIINDS_TILE_W * BLIINDS_TILE_H * 3 / 4)
/// @}
#define BLIINDS_TILES_PER_SM   2    ///< thread blocks of a tile kernel on a multiprocessor
/// Maximum number of tiles of a thread block: a thread sums up to 2^13 blocks, see bliinds_fixed()
#define BLIINDS_MAX_TILES      (1 << 12)
#define BLIINDS_FINISH_THREADS 64   ///< at least the number of 64-bit words of the band sums

#define BLIINDS_MOTION_THREADS    256
#define BLIINDS_MOTION_PER_THREAD 16    ///< level 3 samples of a thread

#define BLIINDS_POOL_THREADS    256
#define BLIINDS_POOL_PER_THREAD 2           ///< blocks that a thread loads at a time
#define BLIINDS_POOL_CHUNK      (BLIINDS_POOL_THREADS * BLIINDS_POOL_PER_THREAD)
#define BLIINDS_POOL_MAX        (1 << 16)   ///< blocks of a thread block, a limit of 64-bit sums
#define BLIINDS_POOLS_PER_SM    3           ///< thread blocks resident on a multiprocessor

#define BLIINDS_POOL10_THREADS   1024
#define BLIINDS_BLOCKS_PER_ENTRY 16     ///< a list has one entry per this many blocks of its level

/// Number of statistics stored as float. Gamma, which follows them, is an index.
#define BLIINDS_NB_FLOATS BLIINDS_GAMMA

#define BLIINDS_BINS           320  ///< number of bins of the histogram of a statistic
#define BLIINDS_SHAPES_PER_BIN 32   ///< number of shapes in a bin of gamma

/**
 * Number of lower bits in which the values of one bin differ. The first and the last bin are open:
 * see bliinds_bin_is_open().
 */
#define BLIINDS_BIN_BITS 18

/// @name Bins at which the spacing for the energy subband ratio changes, see bliinds_bin()
/// @{
#define BLIINDS_SUB_BINS1 64                            ///< number of bins below 0.5
#define BLIINDS_SUB_BINS2 (BLIINDS_SUB_BINS1 + 160)     ///< number of bins below 1
/// @}

/// Return the bits of a float. The bits of non-negative floats have the order of their values.
SHARED_INLINE uint32_t bliinds_bits(float x)
{
    union { float f; uint32_t i; } u = { x };

    return u.i;
}

/// Return the float with the given bits.
SHARED_INLINE float bliinds_from_bits(uint32_t x)
{
    union { uint32_t i; float f; } u = { x };

    return u.f;
}

/// Return the distance of the bits x from those of start in units of 2^shift, rounded down.
SHARED_INLINE int bliinds_bin_offset(uint32_t x, float start, int shift)
{
    return (int)(x >> shift) - (int)(bliinds_bits(start) >> shift);
}

/**
 * Return the histogram bin of a value of a statistic.
 *
 * The bin grows with the value; the first and the last bin take the values beyond. A bin includes
 * its lower but not its upper end. There are 32 bins per octave. The energy subband ratio, however,
 * is near 1 in many blocks of smooth pictures: in 0.5..1 it has 16 bins per octave of its distance
 * from 1, which is exact in single precision.
 *
 * @param x         value, not negative
 * @param statistic a BLIINDSStatistic other than gamma
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

/// Return the bits of the lower end of a bin; for BLIINDS_BINS, bits above those of all values.
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
    if (bin < BLIINDS_SUB_BINS2)    // 1 minus the largest distance from 1 in the bin
        return bliinds_bits(1.f - bliinds_from_bits(bliinds_bits(.5f) -
                                                    ((uint32_t)(bin - BLIINDS_SUB_BINS1) << 19)));
    return bliinds_bits(1.f) + ((uint32_t)(bin - BLIINDS_SUB_BINS2) << 18);
}

/// Return 1 if the values of a bin may differ in their upper bits, else 0.
SHARED_INLINE int bliinds_bin_is_open(int bin)
{
    return bin == 0 || bin == BLIINDS_BINS - 1;
}

/// Return the histogram bin of an index returned by bliinds_gamma().
SHARED_INLINE int bliinds_gamma_bin(unsigned index)
{
    return index / BLIINDS_SHAPES_PER_BIN;
}

/// Per-frame state that kernels pass on in GPU memory; all zero between batches.
typedef struct BLIINDSCUDAState {
    BLIINDSLevelSums sums[BLIINDS_LEVELS];
    uint32_t hist[BLIINDS_LEVELS][BLIINDS_NB_STATISTICS][BLIINDS_BINS]; ///< blocks by bin
    uint32_t shape_hist[BLIINDS_LEVELS][BLIINDS_SHAPES_PER_BIN];    ///< shapes in the threshold bin
    uint32_t nb_listed[BLIINDS_LEVELS][BLIINDS_NB_FLOATS];          ///< length of each list
} BLIINDSCUDAState;

/// Statistics of a block. One 16-byte access reads or writes them.
typedef struct __attribute__((aligned(16))) BLIINDSCUDABlock {
    float statistic[BLIINDS_NB_FLOATS];
    uint32_t gamma;         ///< index of the shape; bit 31: the block straddles the 8x8 grid
} BLIINDSCUDABlock;

/// Bits of a value of a statistic, and the number of blocks that have it.
typedef struct BLIINDSCUDAValueCount {
    uint32_t bits, count;
} BLIINDSCUDAValueCount;

#define BLIINDS_MAX_BATCH 6         ///< maximum number of frames in a launch

/// Per-frame kernel parameters.
typedef struct BLIINDSCUDAFrame {
    DEVICE_PTR(const uint8_t) src;          ///< luma plane
    DEVICE_PTR(BLIINDSLevelSums) result;    ///< [BLIINDS_LEVELS], written by the last kernel
    DEVICE_PTR(int16_t) motion;             ///< bliinds_motion_sample() of level 3, [h][w], written
    DEVICE_PTR(const int16_t) prev_motion;  ///< motion of the previous frame; 0 if unknown
    int pitch;                              ///< pitch of src in bytes
    int black;                              ///< value of black
} BLIINDSCUDAFrame;

/// Geometry of a level. Pointers are for the first frame of the batch, see frame_size.
typedef struct BLIINDSCUDALevel {
    int w, h;               ///< size in samples
    int bw, bh;             ///< size in blocks
    int first;              ///< index of the first block among the blocks of all levels
    int max_list;           ///< capacity of each list
    /// scratch: values in the threshold bin of each statistic
    DEVICE_PTR(BLIINDSCUDAValueCount) list[BLIINDS_NB_FLOATS];
} BLIINDSCUDALevel;

/// Parameters of all kernels.
typedef struct BLIINDSCUDAParams {
    BLIINDSCUDAFrame frame[BLIINDS_MAX_BATCH];
    BLIINDSCUDALevel level[BLIINDS_LEVELS];
    DEVICE_PTR(BLIINDSCUDABlock) blocks;    ///< blocks of all levels of the first frame, by rows
    uint64_t frame_size;                    ///< distance of the data of two frames in bytes
    int down;                               ///< right shift from a stored sample to its value
    int mask;                               ///< bit mask of a value
    int up;                                 ///< left shift from a value to a level sample
    float scale;                            ///< factor from a value to 8-bit steps
    int nb_tiles_x, nb_tiles;               ///< tiles in a row, and in a frame
    int pool_chunk;                         ///< number of blocks that a thread block pools
    DEVICE_PTR(const float) gamma_table;    ///< filled by ff_bliinds_gamma_table()
    DEVICE_PTR(BLIINDSCUDAState) state;     ///< [BLIINDS_MAX_BATCH]
} BLIINDSCUDAParams;

#endif /* AVFILTER_BLIINDS_CUDA_H */
