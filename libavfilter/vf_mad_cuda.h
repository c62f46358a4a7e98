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
 * What crosses between vf_mad_cuda.c and vf_mad_cuda.cu.
 */

#ifndef AVFILTER_MAD_CUDA_H
#define AVFILTER_MAD_CUDA_H

#include <stdint.h>

#include "cuda/fft.h"
#include "cuda/shared.h"
#include "mad_block.h"

/// Planes that are transformed: the samples of both, the lightness of the
/// reference, and how far that of the main picture is from it.
#define MAD_PLANES    (2 * PAIR_NB)
#define MAD_LIGHTNESS PAIR_NB

/// The first cell of the maps' interior, where the first block begins that counts.
#define MAD_FIRST_CELL (MAD_BORDER_BEGIN / MAD_STEP)
#define MAD_BLOCK_CELLS (MAD_BLOCK / MAD_STEP)

/// @name Thread blocks: samples or frequencies, cells, and blocks
/// @{
#define MAD_LOAD_W    32
#define MAD_LOAD_H    8
#define MAD_BLOCKS_W  32
#define MAD_BLOCKS_H  4
#define MAD_STRIPS    (MAD_BLOCKS_W + MAD_BLOCK_CELLS - 1)  ///< columns of cells of these blocks
#define MAD_DETECT_W  16
#define MAD_DETECT_H  8
#define MAD_POOL_THREADS 256
#define MAD_POOL_BLOCKS  64
/// @}

/// What comes back for a pair: sums of squares over the interior.
typedef struct MADCUDAResult {
    double hi, lo;
} MADCUDAResult;

typedef struct MADCUDAInput {
    DEVICE_PTR(const uint8_t) src;      ///< luma
    int pitch;                              ///< of src, in bytes
    int black, white;                       ///< least sample, and how much larger the largest is
    float scale;                            ///< to steps of the reference's samples
    DEVICE_PTR(const float) lightness;  ///< of samples less black
} MADCUDAInput;

/// Columns of frequencies in which the filters of a scale are not about 0, FFT_LANES in
/// a block.
typedef struct MADCUDAPassband {
    int blocks;                             ///< from the first on
    int skipped;                            ///< blocks behind those that are not
} MADCUDAPassband;

/// Samples to fill, as words of 16 bits.
typedef struct MADCUDAFill {
    DEVICE_PTR(uint16_t) dst;
    int64_t nb_words;
    int word;
} MADCUDAFill;

typedef struct MADCUDAParams {
    MADCUDAInput input[PAIR_NB];
    int shift;                               ///< right shift from src to a sample
    int mask;                               ///< bits of a sample
    DEVICE_PTR(uint8_t) map;            ///< luma of the output frame, if it shows a map
    int map_pitch;                          ///< in bytes
    int w, h;                               ///< of the pictures

    DEVICE_PTR(float) first_value;           ///< sample of each picture, which is subtracted from all
    /// [MAD_PLANES][h][pitch] samples
    DEVICE_PTR(float) plane;
    /// [MAD_PLANES][h][half_pitch] their transforms, complex
    DEVICE_PTR(float) spectrum;
    int pitch, half_pitch;
    /// [h][half_pitch] filter of the lightness
    DEVICE_PTR(const float) csf;
    /// [h / 2 + 1][half_pitch] radial distance at scale 0, and angle, by the
    /// distances from the centre
    DEVICE_PTR(const float) polar;

    int nb_x, nb_y;                         ///< blocks of the interior
    int full_x, full_y;                 ///< of these, ones with two sub-blocks along an axis
    float lmse_scale;                        ///< of a sum of squared steps over a block

    int scale;
    float radial_step[MAD_SCALES];          ///< radial distance from scale 0
    float weight[MAD_SCALES];               ///< in the appearance map
    MADCUDAPassband passband[MAD_SCALES];
    float norm;                             ///< of the transforms
    float ref_step;                            ///< a step of the reference's samples, of 0..255
    int orientation;                            ///< orientation of the first filter
    int nb_filters;                         ///< that are worked on at once
    FFTPlan column_plan, row_plan;
    DEVICE_PTR(const float) column_table;
    DEVICE_PTR(const float) row_table;
    /// for FFT_LARGE: [FFT_SCRATCH_BLOCKS][scratch_size] complex
    DEVICE_PTR(float) scratch;
    int64_t scratch_size;
    int nb_blocks, nb_layers;               ///< thread blocks of work, along both axes

    /// [nb_filters][PAIR_NB][h][pitch] response, complex
    DEVICE_PTR(float) response;
    /// [MAD_ORIENTATIONS][PAIR_NB][nb_y + 3][nb_x + 3] mean, and sums of the
    /// 2nd to 4th powers of what is beyond it
    DEVICE_PTR(float) cells;

    /// [nb_y][nb_x] detection: square of the mask, times the sum of lmse^2 over the
    /// cell where the block begins
    DEVICE_PTR(float) detection;
    /// [nb_y][nb_x] appearance
    DEVICE_PTR(float) appearance;
    DEVICE_PTR(MADCUDAResult) partial;  ///< [MAD_POOL_BLOCKS] sums
    DEVICE_PTR(unsigned) nb_done;       ///< thread blocks; 0 between pairs
    DEVICE_PTR(MADCUDAResult) result;
} MADCUDAParams;

#endif /* AVFILTER_MAD_CUDA_H */
