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
 * Complex Fourier transforms of any length in single precision, of MAD_LANES lines at once. The
 * lanes are interleaved, so that compilers vectorise over them, and results are the same to the
 * last bit on every processor. Lengths with the factors 2, 3, 5 and 7 use Stockham's algorithm,
 * other lengths Bluestein's.
 *
 * libavutil's av_tx transforms one line at a time, is slow for lengths with more than a power of 2
 * and one factor 3, 5, 7, 9 or 15, and its results depend on the processor. Microseconds for a
 * line on one core, here and with av_tx:
 *
 *   length    here   av_tx
 *      854     8.7      47
 *     1080     1.7      28
 *     1366    15      1516
 *     1920     3.5       4.6
 */

#ifndef AVFILTER_MAD_TX_H
#define AVFILTER_MAD_TX_H

/// Number of lines that are transformed at once.
#define MAD_LANES 8

/// One complex value of each line: v[0] are the real parts, v[1] the imaginary parts.
typedef struct MADLanes {
    float v[2][MAD_LANES];
} MADLanes;

/// Transform of one length. It is read-only after its allocation: threads may share it.
typedef struct MADTransform MADTransform;

/**
 * Allocate a transform.
 *
 * @param t      receives the transform, also a partial one after an error: free it in both cases
 * @param length number of values of a line, at least 2
 * @return 0, or a negative AVERROR
 */
int ff_mad_tx_alloc(MADTransform **t, int length);

/// Return the number of elements that each scratch array of ff_mad_tx() must have.
int ff_mad_tx_size(const MADTransform *t);

/**
 * Compute a forward transform. Swap real and imaginary parts before and after it to compute the
 * inverse transform. Neither is normalised.
 *
 * @param scratch two arrays of ff_mad_tx_size() elements, which are overwritten
 * @param src     lines to transform; may be one of the scratch arrays
 * @return the scratch array that contains the result
 */
MADLanes *ff_mad_tx(const MADTransform *t, MADLanes *const scratch[2], const MADLanes *src);

/// Free a transform and set the pointer to NULL. A NULL transform is ignored.
void ff_mad_tx_free(MADTransform **t);

#endif /* AVFILTER_MAD_TX_H */
