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
 * The shape of MAD's maps and filters, for C and for CUDA.
 */

#ifndef AVFILTER_MAD_BLOCKS_H
#define AVFILTER_MAD_BLOCKS_H

/// Blocks of MAD_BLOCK samples begin every MAD_STEP samples, in both axes.
#define MAD_BLOCK     16
#define MAD_SUB_BLOCK 8
#define MAD_STEP      4

/// Samples at the begin and end of each axis that the scores leave out.
#define MAD_BORDER_BEGIN 16
#define MAD_BORDER_END   17

#define MAD_SCALES       5
#define MAD_ORIENTATIONS 4

/// Angles are in widths of a filter: from one to the next, and once round.
#define MAD_ANGLE_STEP 1.5
#define MAD_ANGLE_TURN (2 * MAD_ORIENTATIONS * MAD_ANGLE_STEP)

/// Contrasts of blocks darker than this are not looked at.
#define MAD_MIN_MEAN 0.5
/// Logarithm of the least visible contrast.
#define MAD_MIN_CONTRAST -5

#endif /* AVFILTER_MAD_BLOCKS_H */
