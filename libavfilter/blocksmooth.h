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
 * Smoothing across an edge between blocks, by integers. vf_blocksmooth_cuda.cu has its
 * own form of blocksmooth_edge(), for several lines at once, with the same results.
 *
 * The six samples across an edge are A B C | D E F, and x = D - C. Where C is
 * near B and D near E, both sides are flat and the step is likely the codec's:
 * it is smoothed over all six samples. Otherwise it may be part of the picture: it is
 * smoothed only if it is lower, and over four samples.
 */

#ifndef AVFILTER_BLOCKSMOOTH_H
#define AVFILTER_BLOCKSMOOTH_H

#include "cuda/shared.h"

#define BLOCKSMOOTH_TAPS   6    ///< samples across an edge
#define BLOCKSMOOTH_BEFORE 3    ///< of these, before it

/// Edges that are smoothed are multiples of the block size, which is one of these.
#define BLOCKSMOOTH_MIN_BLOCK 8
#define BLOCKSMOOTH_MAX_BLOCK 64

/// The limits for a strength and a depth.
typedef struct BlockSmoothLimits {
    int flat;       ///< sides are flat where their samples differ by less
    int strong;     ///< lower steps between flat sides are smoothed
    int weak;       ///< lower steps between other sides are smoothed
    int max;        ///< largest value of a sample
} BlockSmoothLimits;

SHARED_INLINE int blocksmooth_abs(int a)
{
    return a < 0 ? -a : a;
}

SHARED_INLINE int blocksmooth_clip(int a, int max)
{
    return a < 0 ? 0 : a > max ? max : a;
}

/// @param qf strength, 1 to 255
SHARED_INLINE BlockSmoothLimits blocksmooth_limits(int qf, int depth)
{
    BlockSmoothLimits limits;

    limits.flat   = 5 << (depth - 8);
    limits.strong = 2 * qf << (depth - 8);
    limits.weak   = ((4 * qf << (depth - 8)) + 4) / 5;      // below 0.8 qf
    limits.max    = (1 << depth) - 1;
    return limits;
}

/**
 * Whether there is an edge before sample at of a line of n samples, with room to smooth it.
 *
 * @param block a power of two
 */
SHARED_INLINE int blocksmooth_is_edge(int at, int n, int block)
{
    return at > 0 && !(at & (block - 1)) && at + BLOCKSMOOTH_TAPS - BLOCKSMOOTH_BEFORE <= n;
}

/// @param v A B C D E F
SHARED_INLINE void blocksmooth_edge(int v[BLOCKSMOOTH_TAPS], const BlockSmoothLimits *limits)
{
    const int x = v[3] - v[2], step = blocksmooth_abs(x), max = limits->max;
    const int is_flat = blocksmooth_abs(v[1] - v[2]) < limits->flat &&
                        blocksmooth_abs(v[3] - v[4]) < limits->flat;

    if (step >= (is_flat ? limits->strong : limits->weak))
        return;
    // quotients are rounded towards 0
    if (is_flat) {
        v[0] = blocksmooth_clip(v[0] + x / 8, max);
        v[1] = blocksmooth_clip(v[1] + x / 4, max);
        v[4] = blocksmooth_clip(v[4] - x / 4, max);
        v[5] = blocksmooth_clip(v[5] - x / 8, max);
    } else {
        v[1] = blocksmooth_clip(v[1] + x / 8, max);
        v[4] = blocksmooth_clip(v[4] - x / 8, max);
    }
    // these lie between C and D
    v[2] += x / 2;
    v[3] -= x / 2;
}

#endif /* AVFILTER_BLOCKSMOOTH_H */
