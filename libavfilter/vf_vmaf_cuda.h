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
 * Pairs, as vf_vmaf_cuda.c passes them to the kernels of all features.
 */

#ifndef AVFILTER_VMAF_CUDA_H
#define AVFILTER_VMAF_CUDA_H

#include <stdint.h>

#include "cuda/shared.h"

/// Component of a frame.
typedef struct VMAFCUDAPlane {
    DEVICE_PTR(const uint8_t) data;
    int pitch;                      ///< in bytes
    uint8_t step, size;             ///< bytes from a sample to the next, and bytes of a sample
    uint8_t down;                   ///< right shift of a sample of two bytes
    uint16_t mask;                  ///< bits of the shifted sample that are not ignored
    uint16_t factor;                ///< factor of a sample of one byte, in 2^-6
} VMAFCUDAPlane;

typedef struct VMAFCUDAPair {
    VMAFCUDAPlane plane[PAIR_NB][3];
    VMAFCUDAPlane before[2];        ///< luma of frames n-1 and n-2 of the reference, or NULL
    DEVICE_PTR(uint8_t) result;
    int is_chosen;                  ///< whether it is scored, and not measured for its motion alone
} VMAFCUDAPair;

#endif /* AVFILTER_VMAF_CUDA_H */
