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
 * Arithmetic of motion, shared by C and CUDA C. Roundings are libvmaf's (integer_motion.c).
 *
 * The difference of two frames of the reference is blurred down the columns, then along the rows.
 */

#ifndef AVFILTER_VMAF_MOTION_OPS_H
#define AVFILTER_VMAF_MOTION_OPS_H

#include "shared_arith.h"
#include "vmaf_ops.h"

#define MOTION_TAPS 5               ///< taps of the blur

/// Apply the taps, which are in 2^-16, to five samples.
SHARED_INLINE int motion_filter(int a, int b, int c, int d, int e)
{
    return (a + e) * 3571 + (b + d) * 16004 + c * 26386;
}

/// Blur five differences of a column.
SHARED_INLINE int motion_filter_vertical(int a, int b, int c, int d, int e, int depth)
{
    return motion_filter(a, b, c, d, e) + (1 << (depth - 1)) >> depth;
}

/// Blur five results of motion_filter_vertical() in a row, and return the absolute value. Halves are
/// added, since the whole sum would have 33 bits.
SHARED_INLINE int motion_filter_horizontal(int a, int b, int c, int d, int e)
{
    return vmaf_abs(((a + e) * 3571 + 32768 >> 1) + (b + d) * 8002 + c * 13193 >> 15);
}

#endif /* AVFILTER_VMAF_MOTION_OPS_H */
