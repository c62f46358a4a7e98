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
 * What crosses between vf_vmaf_cuda.c and vf_vmaf_cuda.cu.
 */

#ifndef AVFILTER_VMAF_CUDA_H
#define AVFILTER_VMAF_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vmaf_adm_ops.h"
#include "vmaf_cambi_ops.h"
#include "vmaf_motion_ops.h"
#include "vmaf_speed_ops.h"

#define VMAF_MAX_BATCH 16           ///< pairs in a launch

/// @name ADM: coefficients of a tile, and how many tiles in a row a thread block takes: the smaller
/// scales have few
/// @{
#define VMAF_ADM_TILE_W 32
#define VMAF_ADM_TILE_H 16
#define VMAF_ADM_TILES(scale) ((scale) ? 4 : 15)
#define VMAF_FINISH_THREADS   256
/// @}

/// @name Motion: columns that a thread block blurs, and its rows
/// @{
#define VMAF_MOTION_THREADS 128
#define VMAF_MOTION_TILE_W  (VMAF_MOTION_THREADS - MOTION_TAPS + 1)
#define VMAF_MOTION_TILE_H  32
/// @}

/// @name CAMBI: warps of a thread block; rows of a part of a picture, and of those whose contrasts
/// a warp measures
/// @{
#define VMAF_CAMBI_WARPS       4
#define VMAF_CAMBI_ROWS        32
#define VMAF_CAMBI_FILTER_ROWS 16
#define VMAF_CAMBI_TILE_H      16
/// @}

/// @name The largest of CAMBI's contrasts: thread blocks for a scale, and digits with their bits
/// @{
#define VMAF_SELECT_BLOCKS  32
#define VMAF_SELECT_DIGITS  3
#define VMAF_SELECT_BITS    9
#define VMAF_SELECT_THREADS (1 << VMAF_SELECT_BITS)
/// @}

/// @name SpEED: blurred samples of a row in a thread block; threads, and those that sum covariances
/// @{
#define VMAF_BLUR_RUN        32
#define VMAF_BLUR_THREADS    (VMAF_BLUR_RUN * SPEED_TAPS)
#define VMAF_SPEED_THREADS   256
#define VMAF_SPEED_SUMMING   64
/// @}

/// A component of a frame.
typedef struct VMAFCUDAPlane {
    DEVICE_PTR(const uint8_t) data;
    int pitch;                      ///< in bytes
    uint8_t step, size;             ///< bytes from a sample to the next, and of one
    uint8_t down;                   ///< right shift from a sample of two bytes to its value
    uint16_t mask;                  ///< bits of that value; those beyond the depth do not count
    uint16_t factor;                ///< of a sample of one byte, in 2^-6
} VMAFCUDAPlane;

typedef struct VMAFCUDAPair {
    VMAFCUDAPlane plane[PAIR_NB][3];
    VMAFCUDAPlane before[2];        ///< luma of the reference's frames before, or NULL
    DEVICE_PTR(uint8_t) result;
    int is_chosen;                  ///< it is scored, and not measured for its motion alone
} VMAFCUDAPair;

/// The contrasts of a scale.
typedef struct VMAFCUDASelect {
    uint64_t sum;                   ///< of those above the least that counts, in 2^-24
    uint32_t nb, nb_done;
    int least;                      ///< what is known of it: its highest digits
    uint32_t nb_above;              ///< how many have higher ones
} VMAFCUDASelect;

/// What is left on the device between thread blocks and launches; all zero between batches.
typedef struct VMAFCUDAState {
    uint64_t sad;
    uint32_t nb_done;
    VMAFCUDASelect select[CAMBI_SCALES];
    uint32_t nb_of[CAMBI_SCALES][VMAF_SELECT_THREADS];
} VMAFCUDAState;

/// What is made of a plane of chroma.
typedef struct VMAFCUDAChroma {
    SpeedMatrix given;          ///< covariances
    SpeedMatrix factor[2];
    float mean[SPEED_BLOCK], value[SPEED_BLOCK];
    int is_regular;
} VMAFCUDAChroma;

typedef struct VMAFCUDAParams {
    DEVICE_PTR(const VMAFCUDAPair) pair;        ///< [gridDim.y]
    int width, height, depth;
    DEVICE_PTR(VMAFCUDAState) state;            ///< [VMAF_MAX_BATCH]
    int result_at;                  ///< where in a pair's result this launch writes
    int window;                     ///< of motion

    ADMScale adm;               ///< that is split
    int row_shift[ADM_SCALES][ADM_SUMS];
    DEVICE_PTR(const int32_t) image;            ///< [VMAF_MAX_BATCH][PAIR_NB] of this scale
    DEVICE_PTR(int32_t) next;
    /// [VMAF_MAX_BATCH][ADM_SCALES][ADM_SUMS][ADM_BANDS][nb_rows]: zero between
    /// batches
    DEVICE_PTR(uint64_t) rows;
    int nb_rows;

    CAMBIDims cambi;
    /// The first is the picture that is sampled and filtered for the first scale.
    struct {
        int w, h, pitch;
        int at;                     ///< in a pair's memory
    } level[CAMBI_SCALES + 1];
    int level_size;                 ///< of all
    int nb_contrasts;               ///< of all but the first
    int scale;                      ///< that is filtered
    int first[CAMBI_SCALES];   ///< thread block of a scale, where contrasts are measured
    int digit;                      ///< of VMAF_SELECT_DIGITS
    int top[CAMBI_SCALES];     ///< how many contrasts count
    DEVICE_PTR(const int) column;   ///< of the source, for each of what was encoded
    DEVICE_PTR(const int) line;
    DEVICE_PTR(const float) reciprocal;
    DEVICE_PTR(float) contrast;     ///< [VMAF_MAX_BATCH][nb_contrasts], in any order
    DEVICE_PTR(uint16_t) value;     ///< [VMAF_MAX_BATCH][level_size]
    /// A bit a sample: [VMAF_MAX_BATCH][cambi.height][DIV_UP(cambi.width, 32)]
    DEVICE_PTR(uint32_t) flat;

    SpeedDims speed;
    DEVICE_PTR(const SpeedPosition) speed_column;
    DEVICE_PTR(const SpeedPosition) speed_line;
    DEVICE_PTR(float) grid;         ///< [2][VMAF_MAX_BATCH][2][PAIR_NB]: blurred, and differences
    DEVICE_PTR(VMAFCUDAChroma) chroma;          ///< [VMAF_MAX_BATCH][2][PAIR_NB]
} VMAFCUDAParams;

#endif /* AVFILTER_VMAF_CUDA_H */
