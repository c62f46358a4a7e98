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
 * Arithmetic of CAMBI, the banding in the luma of the encode, shared by C and CUDA C. Roundings are
 * libvmaf's (cambi.c).
 *
 * Pulkit Tandon, Mariana Afonso, Joel Sole and Lukas Krasula, "CAMBI: Contrast-aware Multiscale
 * Banding Index", Picture Coding Symposium 2021. The c-value of a sample is the largest contrast to a
 * value that differs by 1 to 4, weighted by how many samples of a window have either value.
 */

#ifndef AVFILTER_VMAF_CAMBI_OPS_H
#define AVFILTER_VMAF_CAMBI_OPS_H

#include <stdint.h>

#include "shared_arith.h"
#include "vmaf_ops.h"

#define CAMBI_SCALES      5
#define CAMBI_NUM_DIFFS   4         ///< differences of 1 to 4 are visible as bands
#define CAMBI_MAX_WINDOW  65        ///< side of the window of a 3840x2160 picture, in samples

/// @name Range of 10-bit values that have a c-value
/// @{
#define CAMBI_VIS_LUM     78        ///< least value with cambi_vis_lum_threshold, of the v1 models
#define CAMBI_V_BAND_BASE 67        ///< cambi_band_base(CAMBI_VIS_LUM)
#define CAMBI_V_BAND_END  564
#define CAMBI_V_BAND_SIZE (CAMBI_V_BAND_END - CAMBI_V_BAND_BASE)
/// @}

#define CAMBI_MASK_SIZE   7         ///< side of the spatial mask's window, in samples

/// Dimensions and parameters of CAMBI for pictures of one size.
typedef struct CAMBIDims {
    int width, height;              ///< size of the encoded picture
    int depth, shift;               ///< bits of a sample of the input, and bits below them
    int anti_dither;                ///< whether the encode has less than 10 bits, and is filtered by 2x2
    int high_res_speedup;           ///< whether the first scale has half the size
    int window;                     ///< side of the window, odd
    int mask_index;                 ///< number of flat samples in a mask's window that is not enough
    int vis_lum;                    ///< CAMBI_VIS_LUM, or 0 without a luminance threshold
    int max_val;                    ///< largest score
} CAMBIDims;

/// Convert a sample to 10 bits.
SHARED_INLINE int cambi_to_10bit(int sample, int depth)
{
    return 4 * sample + (1 << (depth - 8) >> 1) >> (depth - 8);
}

/// Return the most frequent of three values, or the least one if all differ.
SHARED_INLINE uint16_t cambi_mode3(uint16_t a, uint16_t b, uint16_t c)
{
    const uint16_t ab = a < b ? a : b, least = ab < c ? ab : c;

    return (a == b) | (a == c) ? a : b == c ? b : least;
}

/// Return libvmaf's v_band_base.
SHARED_INLINE int cambi_band_base(int vis_lum)
{
    return vis_lum ? vis_lum - 3 * CAMBI_NUM_DIFFS + 1 : 0;
}

/**
 * Check that a difference from a 10-bit value is visible: libvmaf's tvi_for_diff and its threshold of
 * visible luminance (0.06 or none), for BT.1886 in limited range on a display of 0.01 to 300 cd/m2.
 */
SHARED_INLINE int tvi_visible(int value, int diff, int vis_lum)
{
    // the offset by CAMBI_NUM_DIFFS is part of libvmaf's limit
    return value <= 51 + 127 * diff && value + CAMBI_NUM_DIFFS + diff > vis_lum;
}

/**
 * Return the contrast of a value to the one that differs by diff.
 *
 * @param hist       number of samples of the window with the value
 * @param hist_diff  number of samples with the other value
 * @param reciprocal [n] is 1 / n
 */
SHARED_INLINE float c_value(int diff, int hist, int hist_diff, const float *reciprocal)
{
    return (float)(diff * hist * hist_diff) * reciprocal[hist_diff + hist];
}

#endif /* AVFILTER_VMAF_CAMBI_OPS_H */
