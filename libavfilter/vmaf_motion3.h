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
 * The arithmetic of the motion that VMAF v1 measures, as libvmaf's integer_motion.c rounds: the only
 * copy, included by C and by CUDA C. The difference of two frames of the source is blurred, first
 * down the columns, then along the rows.
 */

#ifndef AVFILTER_VMAF_MOTION3_H
#define AVFILTER_VMAF_MOTION3_H

#include "cuda/shared.h"

#define VMAF_MOTION_TAPS 5

/// Index of the row or column that stands for i of n.
SHARED_INLINE int vmaf_motion_mirror(int i, int n)
{
    return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
}

SHARED_INLINE int vmaf_motion_taps(int a, int b, int c, int d, int e)
{
    return (a + e) * 3571 + (b + d) * 16004 + c * 26386;
}

/// Blur five differences that are below each other.
SHARED_INLINE int vmaf_motion_columns(int a, int b, int c, int d, int e, int depth)
{
    return vmaf_motion_taps(a, b, c, d, e) + (1 << (depth - 1)) >> depth;
}

/// Blur five of these. They are given as halves and the bit below, or the sum would have 33 bits.
SHARED_INLINE int vmaf_motion_row(const int *half, const int *odd)
{
    const int halves = vmaf_motion_taps(half[-2], half[-1], half[0], half[1], half[2]);
    const int rest   = vmaf_motion_taps(odd[-2], odd[-1], odd[0], odd[1], odd[2]);
    const int sum    = halves + (rest + 32768 >> 1) >> 15;

    return sum < 0 ? -sum : sum;
}

#endif /* AVFILTER_VMAF_MOTION3_H */
