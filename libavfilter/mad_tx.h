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
 * Fourier transforms of any length by av_tx, which for itself is fast only where
 * the length is a power of two times at most 9 * 5 * 7.
 */

#ifndef AVFILTER_MAD_TX_H
#define AVFILTER_MAD_TX_H

#include "libavutil/tx.h"

/// One transform; it has working memory, so every thread needs one of its own.
typedef struct MADTransform MADTransform;

/**
 * @param length  number of values
 * @param inverse 1 for the inverse transform; neither is normalised
 * @return NULL without memory
 */
MADTransform *ff_mad_tx_alloc(int length, int inverse);

/// Transform between aligned arrays that do not overlap; src may be overwritten.
void ff_mad_tx(MADTransform *t, AVComplexDouble *dst, AVComplexDouble *src);

void ff_mad_tx_free(MADTransform **t);

#endif /* AVFILTER_MAD_TX_H */
