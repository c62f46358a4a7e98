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
 * Fourier transforms of any length, in single precision. Several lines are transformed at once,
 * side by side, which any compiler makes vectors of; the bits are the same on every processor.
 *
 * Why not av_tx: it transforms one line at a time, is slow where a length has other factors
 * than 2 and one of 3, 5, 7, 9 or 15, and its bits depend on the processor. A line of 1920
 * values takes 3.5 us here and 4.6 there, on one core, one of 1080 1.7 and 28, of 854 8.7 and
 * 47, and of 1366 15 and 1516.
 */

#ifndef AVFILTER_MAD_TX_H
#define AVFILTER_MAD_TX_H

/// Lines that are transformed at once.
#define MAD_LANES 8

/// A complex value of each of these lines: real parts, imaginary parts.
typedef struct MADLanes {
    float v[2][MAD_LANES];
} MADLanes;

typedef struct MADTransform MADTransform;

/// @return 0, or a negative AVERROR
int ff_mad_tx_alloc(MADTransform **t, int length);

/// Values that each scratch array of ff_mad_tx() must have room for.
int ff_mad_tx_size(const MADTransform *t);

/**
 * Transform forward. With real and imaginary parts swapped before and after, it is the inverse
 * one. Neither is normalised.
 *
 * @param scratch two arrays that are overwritten
 * @param src     may be one of them
 * @return the one that has the result
 */
MADLanes *ff_mad_tx(const MADTransform *t, MADLanes *const scratch[2], const MADLanes *src);

void ff_mad_tx_free(MADTransform **t);

#endif /* AVFILTER_MAD_TX_H */
