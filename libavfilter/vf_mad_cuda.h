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
 * Parameters, results and thread block sizes that vf_mad_cuda.c and vf_mad_cuda.cu share
 */

#ifndef AVFILTER_MAD_CUDA_H
#define AVFILTER_MAD_CUDA_H

#include <stdint.h>

#include "cuda/fft.h"
#include "cuda/shared.h"
#include "mad_block.h"

/// Planes that are transformed: the samples of both pictures, then, from MAD_LIGHTNESS on, the
/// lightness of the reference and the lightness error, main minus reference.
#define MAD_PLANES    (2 * PAIR_NB)
#define MAD_LIGHTNESS PAIR_NB

/// First cell and first block of the interior, along each axis.
#define MAD_FIRST_CELL (MAD_BORDER_BEGIN / MAD_STEP)
/// Cells along a side of a block.
#define MAD_BLOCK_CELLS (MAD_BLOCK / MAD_STEP)

/// @name Sizes of thread blocks: a thread has a sample (LOAD), or a block (BLOCKS, DETECT)
/// @{
#define MAD_LOAD_W    32
#define MAD_LOAD_H    8
#define MAD_BLOCKS_W  32
#define MAD_BLOCKS_H  4
#define MAD_STRIPS    (MAD_BLOCKS_W + MAD_BLOCK_CELLS - 1)  ///< columns of cells in a row of blocks
#define MAD_DETECT_W  16
#define MAD_DETECT_H  8
#define MAD_POOL_THREADS 256
#define MAD_POOL_BLOCKS  64
/// @}

/// Result of a pair: sums of the squared maps over the interior, see ff_mad_score().
typedef struct MADCUDAResult {
    double hi, lo;
} MADCUDAResult;

/// Luma of an input frame.
typedef struct MADCUDAInput {
    DEVICE_PTR(const uint8_t) src;
    int pitch;                              ///< bytes between rows of src
    int black, white;                       ///< sample of black; sample of white minus black
    float scale;                            ///< sample steps of the reference per step of the input
    DEVICE_PTR(const float) lightness;      ///< [white + 1] lightness of a sample minus black
} MADCUDAInput;

/**
 * Passband of the filters of a scale along a row of frequencies, in groups of FFT_LANES columns: a
 * thread block transforms a group. The groups after these two numbers are in the passband again.
 */
typedef struct MADCUDAPassband {
    int blocks;                             ///< groups in the passband, from column 0 on
    int skipped;                            ///< following groups, where the gain is taken as 0
} MADCUDAPassband;

/// Parameters of mad_fill: a plane as words of 16 bits.
typedef struct MADCUDAFill {
    DEVICE_PTR(uint16_t) dst;
    int64_t nb_words;
    int word;
} MADCUDAFill;

/**
 * Parameters of all other kernels. Complex values are pairs of floats. Buffers are aligned to 256
 * bytes, and kernels never write the padding of rows, which is zero.
 */
typedef struct MADCUDAParams {
    MADCUDAInput input[PAIR_NB];
    int shift;                              ///< right shift of a sample in its word
    int mask;                               ///< mask of the shifted sample's bits
    DEVICE_PTR(uint8_t) map;                ///< luma of the output frame if it shows a map
    int map_pitch;                          ///< bytes between rows of map
    int w, h;                               ///< size of the pictures in samples

    DEVICE_PTR(float) first_value;          ///< [PAIR_NB] first sample, subtracted from all
    /// [MAD_PLANES][h][pitch] planes
    DEVICE_PTR(float) plane;
    /// [MAD_PLANES][h][half_pitch] spectra, complex: columns 0 to w / 2
    DEVICE_PTR(float) spectrum;
    int pitch, half_pitch;                  ///< elements between rows
    /// [h][half_pitch] gain of the CSF, with the normalisation of the transforms
    DEVICE_PTR(const float) csf;
    /// [h / 2 + 1][half_pitch] radial distance at scale 0, and angle, of the frequency at this
    /// distance from the zero frequency
    DEVICE_PTR(const float) polar;

    int nb_x, nb_y;                         ///< blocks that begin in the interior
    int full_x, full_y;                     ///< blocks that have two sub-blocks along the axis
    float lmse_scale;                       ///< from a window's sum of squared steps to lmse

    int scale;                              ///< current scale of the log-Gabor bank
    float radial_step[MAD_SCALES];          ///< radial distance between scale 0 and each scale
    float weight[MAD_SCALES];               ///< weights in the appearance map
    MADCUDAPassband passband[MAD_SCALES];
    float norm;                             ///< normalisation of a transform there and back
    float ref_step;                         ///< full-range units of a sample step of the reference
    int orientation;                        ///< orientation of the first current filter
    int nb_filters;                         ///< current filters: consecutive orientations
    FFTPlan column_plan, row_plan;
    /// tables of the plans, complex, see ff_fft_table()
    DEVICE_PTR(const float) column_table;
    DEVICE_PTR(const float) row_table;
    /// [FFT_SCRATCH_BLOCKS][scratch_size] scratch memory of FFT_LARGE, complex
    DEVICE_PTR(float) scratch;
    int64_t scratch_size;
    int nb_blocks, nb_layers;               ///< grid of a line kernel; smaller with FFT_LARGE

    /// [nb_filters][PAIR_NB][h][pitch] responses, complex
    DEVICE_PTR(float) response;
    /// [MAD_ORIENTATIONS][PAIR_NB][nb_y + 3][nb_x + 3] moments of the response magnitudes in the
    /// cells, MADMoments
    DEVICE_PTR(float) cells;

    /// [nb_y][nb_x] squared detection map, summed over the first cell of each block
    DEVICE_PTR(float) detection;
    /// [nb_y][nb_x] appearance map
    DEVICE_PTR(float) appearance;
    DEVICE_PTR(MADCUDAResult) partial;      ///< [MAD_POOL_BLOCKS] sums of each thread block
    DEVICE_PTR(unsigned) nb_done;           ///< finished thread blocks of mad_pool, 0 between pairs
    DEVICE_PTR(MADCUDAResult) result;       ///< result of the pair
} MADCUDAParams;

#endif /* AVFILTER_MAD_CUDA_H */
