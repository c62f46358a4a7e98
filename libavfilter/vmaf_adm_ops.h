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
 * The arithmetic of VMAF's ADM: the only copy, included by C and by CUDA C. Roundings are those of
 * libvmaf, for which the models were trained: also those that look odd.
 *
 * ADM: Songnan Li, Fan Zhang, Lin Ma and King Ngi Ngan, "Image Quality Assessment by
 * Separately Evaluating Detail Losses and Additive Impairments", IEEE
 * Transactions on Multimedia 13(5), 2011.
 *
 * Both pictures are split into wavelet bands of four scales. Each coefficient of the encode is
 * split into the part that it kept of the source's, and the part that was added. Each part masks
 * the other.
 */

#ifndef AVFILTER_VMAF_ADM_OPS_H
#define AVFILTER_VMAF_ADM_OPS_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vmaf_ops.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#define vmaf_inverse(x) guess_rcp(x)
#else
#define vmaf_inverse(x) (1.f / (x))
#endif

#define VMAF_ADM_SCALES 4

/// By whether the columns and the rows of a band have low or high frequencies.
enum VMAFADMBand {
    VMAF_ADM_H,                 ///< high vertical frequencies: horizontal detail
    VMAF_ADM_V,
    VMAF_ADM_D,
    VMAF_ADM_BANDS
};

/// What cubes are summed of.
enum VMAFADMPart {
    VMAF_ADM_KEPT,              ///< what the encode kept of the source
    VMAF_ADM_ADDED,
    VMAF_ADM_PARTS,             ///< the two that mask each other
    VMAF_ADM_SOURCE = VMAF_ADM_PARTS,
    VMAF_ADM_SUMS
};

/// Of each scale. Each row's sum was rounded by vmaf_adm_round_row().
typedef struct VMAFADMSums {
    uint64_t cube[VMAF_ADM_SCALES][VMAF_ADM_SUMS][VMAF_ADM_BANDS];
} VMAFADMSums;

/// How a cube of a part is rounded.
typedef struct VMAFADMCube {
    int unit;                   ///< shift of the threshold
    uint32_t round;             ///< that is added to the square before its shift
    int square_shift, shift;
} VMAFADMCube;

/// A scale of pictures of one size, for one distance of viewing.
typedef struct VMAFADMScale {
    int scale;
    int width, height;          ///< of the picture that is split
    int w, h;                   ///< of a band
    int left, right, top, bottom;       ///< what is summed, without right and bottom
    uint32_t weight[VMAF_ADM_BANDS];    ///< how visible a band is, in fixed point
    VMAFADMCube cube[VMAF_ADM_SUMS][VMAF_ADM_BANDS];
    int row_shift[VMAF_ADM_SUMS];
} VMAFADMScale;

/// Index of the row or column that stands for i of n: the far end mirrors on its edge.
SHARED_INLINE int vmaf_adm_mirror(int i, int n)
{
    return i < 0 ? -i : i < n ? i : 2 * n - 1 - i;
}

/// @name The Daubechies wavelet with four taps: coefficient i is made of samples 2 i - 1 to 2 i + 2
/// @{
#define VMAF_ADM_LOW  { 15826, 27411, 7345, -4240 }
#define VMAF_ADM_HIGH { -4240, -7345, 27411, -15826 }
#define VMAF_ADM_LOW_SUM 46342
/// @}

/// A sum of products with its shift, whose result has 32 bits: then the kind of shift is all one.
SHARED_INLINE int vmaf_adm_shift(int64_t sum, int shift)
{
    return (int32_t)((uint64_t)(sum + ((1 << shift) >> 1)) >> shift);
}

/// 2^30 / m, rounded down, for m from 1 to 2^15. The inverse may be one float off.
SHARED_INLINE uint32_t vmaf_adm_reciprocal(uint32_t m)
{
    const float inverse  = vmaf_inverse((int)m);
    const uint32_t below = (int)(0x1.fffff4p29f * inverse);
    const uint32_t rest  = (1u << 30) - below * m;

    // not one too few where the rest is divided without remainder
    return below + (int)((int)rest * inverse + 0x1p-16f);
}

#define VMAF_ADM_COS2 0x1.ffd814p-1f     ///< cos(1 degree) squared

/// Whether two vectors of horizontal and vertical detail are within one degree; their squares'
/// and their scalar product are given.
SHARED_INLINE int vmaf_adm_is_aligned(float product, float source, float encode)
{
    return product >= 0 &&
           (double)product * product >= (double)VMAF_ADM_COS2 * source * encode;
}

/// The part of a coefficient that was kept. In the first scale all products have 32 bits.
SHARED_INLINE int vmaf_adm_kept(int is_first, int source, int encode, int is_aligned)
{
    const uint32_t s = vmaf_abs(source), e = vmaf_abs(encode);
    const union { float f; uint32_t i; } exponent = { (float)(int)(s & ~(s >> 1)) };
    // the upper 15 bits of it, rounded
    const int bits   = is_first ? 0 : (int)(exponent.i >> 23) - 127 - 14;
    const int more   = bits > 0 ? bits : 0, shift = 15 + more;
    const uint32_t r = s + ((1u << more) >> 1) >> more, m = r > 1 ? r : 1;
    // with any more the ratio is 1, too
    const uint32_t reached = e < 2 * s ? e : 2 * s, inverse = vmaf_adm_reciprocal(m);
    const uint32_t product = is_first ? inverse * reached + 16384 >> 15 :
                             (uint64_t)inverse * reached + (1ull << shift >> 1) >> shift;
    const uint32_t ratio   = (source ^ encode) < 0 ? 0 : product < 32768 ? product : 32768;
    const int kept         = is_first ? (int)ratio * source + 16384 >> 15 :
                             vmaf_adm_shift((int64_t)(int)ratio * source, 15);

    // within one degree, no more is kept than there is
    return is_aligned && (int)e < vmaf_abs(kept) ? encode : kept;
}

/// How visible a coefficient is.
SHARED_INLINE int vmaf_adm_weigh(int is_first, int x, int weight)
{
    return is_first ? x * weight : vmaf_adm_shift((int64_t)x * weight, 28);
}

/// What a weighed coefficient masks: around it, and at its own place.
SHARED_INLINE int vmaf_adm_mask(int is_first, int x, int band, int *around)
{
    // libvmaf's rounding of the diagonal is one less than a half
    const int shift  = band == VMAF_ADM_D ? 17 : 15, half = band == VMAF_ADM_D ? 65535 : 16384;
    const uint64_t e = vmaf_abs(is_first ? x + half >> shift : x);

    if (is_first) {
        *around = (int16_t)(4369 * (int)e + 2048 >> 12);
        // from 15360 on this wraps, in libvmaf
        return  (int16_t)(8738 * (int)e + 2048 >> 12);
    }
    // minus a half in libvmaf, so -1 where there is nothing
    *around = (int)(e * 143165577 + (1u << 31) >> 32) - 1;
    return  (int)(e * 286331153 + (1u << 31) >> 32) - 1;
}

/// How the cubes of a part are rounded, whose shift is known.
SHARED_INLINE VMAFADMCube vmaf_adm_cube_of(int scale, int part, int band, int shift)
{
    const int is_source = part == VMAF_ADM_SOURCE, is_low = !scale && band != VMAF_ADM_D;
    const int square = !is_source ? 30 - is_low : !scale ? 0 : scale == 2 ? 30 : 31;
    const VMAFADMCube cube = {
        is_source || scale ? 0 : 12 - 2 * is_low,
        // of the source libvmaf adds one to the square, and not a half
        is_source ? (uint32_t)!!scale << square : 1u << square >> 1, square, shift
    };

    return cube;
}

/// The cube of a weighed coefficient above its masking threshold, or of one of the source.
SHARED_INLINE uint64_t vmaf_adm_cube(int x, int threshold, VMAFADMCube cube)
{
    const int above       = vmaf_abs(x) - (int)((uint32_t)threshold << cube.unit);
    const uint64_t seen   = above > 0 ? above : 0;
    const uint32_t square = seen * seen + cube.round >> cube.square_shift;

    return square * seen + (1ull << cube.shift >> 1) >> cube.shift;
}

SHARED_INLINE uint64_t vmaf_adm_round_row(uint64_t sum, int shift)
{
    return sum + (1ull << shift >> 1) >> shift;
}

#endif /* AVFILTER_VMAF_ADM_OPS_H */
