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
 * The arithmetic of CAMBI, the banding in the luma of the encode: the only copy, included by C and
 * by CUDA C. Roundings are those of libvmaf.
 *
 * Pulkit Tandon, Mariana Afonso, Joel Sole and Lukas Krasula, "CAMBI: Contrast-aware Multiscale
 * Banding Index", Picture Coding Symposium 2021. The contrast to each of the four nearest steps
 * counts as far as many pixels around have either value.
 */

#ifndef AVFILTER_VMAF_CAMBI_OPS_H
#define AVFILTER_VMAF_CAMBI_OPS_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vmaf_ops.h"

#define VMAF_CAMBI_SCALES     5
#define VMAF_CAMBI_CONTRASTS  4     ///< steps of 1 to 4 are seen as bands
#define VMAF_CAMBI_MAX_WINDOW 65

/// Values that are counted, with those that are a contrast away from them.
#define VMAF_CAMBI_FIRST  67
#define VMAF_CAMBI_VALUES 497

/// A value needs neighbours that begin no edge in a window of this side.
#define VMAF_CAMBI_MASK 7

/// What is measured of pictures of one size.
typedef struct VMAFCambiPicture {
    int width, height;              ///< that were encoded
    int depth;
    int dithers;                    ///< 8-bit sources have been dithered
    int is_halved;
    int window, mask_min;
} VMAFCambiPicture;

/// A sample with 10 bits.
SHARED_INLINE int vmaf_cambi_value(int sample, int depth)
{
    return 4 * sample + (1 << (depth - 8) >> 1) >> (depth - 8);
}

/// What is alone among three becomes one of the others.
SHARED_INLINE uint16_t vmaf_cambi_mode(uint16_t a, uint16_t b, uint16_t c)
{
    const uint16_t ab = a < b ? a : b, least = ab < c ? ab : c;

    return (a == b) | (a == c) ? a : b == c ? b : least;
}

/**
 * Whether a step from a 10-bit value is seen: it is not so dark that all is black, or so bright
 * that the step is less than one percent; by BT.1886 in limited range, for a display of 0.01 to
 * 300 cd/m2.
 */
SHARED_INLINE int vmaf_cambi_is_seen(int value, int step)
{
    // the offset by the four contrasts is part of libvmaf's limit
    return value <= 51 + 127 * step && value + VMAF_CAMBI_CONTRASTS + step > 78;
}

/// The contrast of a value to the one a step away, by how often both are in the window.
SHARED_INLINE float vmaf_cambi_contrast(int step, int here, int there, const float *reciprocal)
{
    return (float)(step * here * there) * reciprocal[there + here];
}

#endif /* AVFILTER_VMAF_CAMBI_OPS_H */
