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
 * Arithmetic that the features of VMAF v1 have in common, shared by C and CUDA C.
 */

#ifndef AVFILTER_VMAF_OPS_H
#define AVFILTER_VMAF_OPS_H

#include "shared_arith.h"

#define VMAF_MAX_DEPTH 12       ///< bits of a sample that are read

#if !defined(__CUDACC__) && !defined(__CUDA__)
#include <float.h>
// 16 means single precision for float, like 0
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Scores need float in its own format: on 32-bit x86, --extra-cflags='-msse2 -mfpmath=sse'"
#endif
#endif

SHARED_INLINE int vmaf_abs(int x)
{
    return x < 0 ? -x : x;
}

SHARED_INLINE float vmaf_fabsf(float x)
{
    return x < 0 ? -x : x;
}

/// Mirror index i of n rows or columns; the edge's own is not repeated.
SHARED_INLINE int vmaf_mirror(int i, int n)
{
    return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
}

#endif /* AVFILTER_VMAF_OPS_H */
