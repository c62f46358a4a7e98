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
 * Macros for headers with arithmetic that C filters and CUDA kernels share
 */

#ifndef AVFILTER_SHARED_ARITH_H
#define AVFILTER_SHARED_ARITH_H

#if defined(__CUDACC__) || defined(__CUDA__)
#define SHARED_INLINE static inline __device__ __attribute__((always_inline))
#define UNROLL _Pragma("unroll")        ///< unroll a loop completely: keeps arrays in registers
#define UNROLL_SOME _Pragma("unroll 8") ///< unroll a long loop by 8: overlaps its loads
#else
#define SHARED_INLINE static inline
#define UNROLL
#define UNROLL_SOME
#endif

/// Index of the pictures of a pair.
enum { PAIR_MAIN, PAIR_REFERENCE, PAIR_NB };

/// Quotient of non-negative integers, rounded up.
#define DIV_UP(a, b) (((a) + (b) - 1) / (b))

#endif /* AVFILTER_SHARED_ARITH_H */
