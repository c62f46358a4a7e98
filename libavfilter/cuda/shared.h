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
 * What C and CUDA C share: the headers of arithmetic that both include, and the
 * structs of parameters that cross from one to the other.
 */

#ifndef AVFILTER_CUDA_SHARED_H
#define AVFILTER_CUDA_SHARED_H

#if defined(__CUDACC__) || defined(__CUDA__)
#define SHARED_INLINE static inline __device__ __attribute__((always_inline))
#define UNROLL _Pragma("unroll")        ///< before a loop: keeps arrays in registers
#define UNROLL_SOME _Pragma("unroll 8") ///< before a loop of any length: loads ahead
/// An address on the device.
#define DEVICE_PTR(type) type *
#else
#if !defined(__cplusplus) && __has_include(<ffnvcodec/dynlink_cuda.h>)
#include <ffnvcodec/dynlink_cuda.h>
#endif
#define SHARED_INLINE static inline
#define UNROLL
#define UNROLL_SOME
#define DEVICE_PTR(type) CUdeviceptr
#endif

/// The two pictures of a pair.
enum { PAIR_MAIN, PAIR_REFERENCE, PAIR_NB };

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

#endif /* AVFILTER_CUDA_SHARED_H */
