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
 * Arithmetic of ADM, shared by C and CUDA C. All roundings are libvmaf's (integer_adm.c), with which
 * the models were trained, even where they look odd.
 *
 * ADM: Songnan Li, Fan Zhang, Lin Ma and King Ngi Ngan, "Image Quality Assessment by
 * Separately Evaluating Detail Losses and Additive Impairments", IEEE
 * Transactions on Multimedia 13(5), 2011.
 *
 * A wavelet transform (DWT) of four scales splits both pictures into bands. Each coefficient of the
 * encode is decoupled into the restored part of the reference's and the additive impairment, and both
 * are weighted by the contrast sensitivity (CSF). The one part masks the other (contrast masking).
 */

#ifndef AVFILTER_VMAF_ADM_OPS_H
#define AVFILTER_VMAF_ADM_OPS_H

#include <stdint.h>

#include "shared_arith.h"
#include "vmaf_ops.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#define adm_approx_rcp(x) guess_rcp(x)
#else
#define adm_approx_rcp(x) (1.f / (x))
#endif

#define ADM_SCALES 4

/// Bands of detail.
enum ADMBand {
    ADM_H,                      ///< horizontal detail: high vertical frequencies
    ADM_V,                      ///< vertical detail
    ADM_D,                      ///< diagonal detail
    ADM_BANDS
};

/// Coefficients that are pooled.
enum ADMPart {
    ADM_RESTORED,               ///< restored part of the encode, for DLM
    ADM_ADDITIVE,               ///< additive impairment, for AIM
    ADM_PARTS,                  ///< the two parts that mask each other
    ADM_REFERENCE = ADM_PARTS,  ///< the reference: denominator of both
    ADM_SUMS
};

/// Sums of cubes of a pair. Each row's sum is rounded by adm_round_row().
typedef struct ADMSums {
    uint64_t sum_cubed[ADM_SCALES][ADM_SUMS][ADM_BANDS];
} ADMSums;

/// Roundings of the cube of a coefficient.
typedef struct ADMCubeShifts {
    int unit;                   ///< left shift of the masking threshold
    uint32_t round;             ///< added to the square before its shift
    int square_shift, shift;    ///< right shifts of the square, and of the cube
} ADMCubeShifts;

/// Limit of the gain within one degree (libvmaf's adm_enhn_gain_limit): how much more contrast than the
/// reference the restored part may have.
typedef struct ADMGain {
    uint32_t factor;            ///< limit if it is a whole number, else 0
    uint32_t max;               ///< largest coefficient whose product with the factor has 32 bits
    double limit;
} ADMGain;

/// A scale of the transform, for pictures of one size and the ADM of one model.
typedef struct ADMScale {
    // the assembly knows the offsets of these two
    uint32_t csf_weight[ADM_BANDS];     ///< in fixed point: 2^-21, diagonal 2^-23, next scales 2^-32
    ADMGain gain;
    int scale;
    int width, height;          ///< size of the picture that is transformed
    int w, h;                   ///< size of a band
    int left, right, top, bottom;       ///< area that is pooled, without right and bottom
    ADMCubeShifts cube_shifts[ADM_SUMS][ADM_BANDS];
    int row_shift[ADM_SUMS];    ///< right shift of a row's sum
} ADMScale;

/// Mirror index i of n rows or columns; at the far end the edge's own is repeated.
SHARED_INLINE int adm_mirror(int i, int n)
{
    return i < 0 ? -i : i < n ? i : 2 * n - 1 - i;
}

/// @name Daubechies wavelet with four taps: coefficient i uses samples 2 i - 1 to 2 i + 2
/// @{
#define ADM_DWT_LOW  { 15826, 27411, 7345, -4240 }
#define ADM_DWT_HIGH { -4240, -7345, 27411, -15826 }
#define ADM_DWT_LOW_SUM 46342
/// @}

/// Round and shift a sum whose result has 32 bits, so that a logical shift is as good.
SHARED_INLINE int adm_round_shift(int64_t sum, int shift)
{
    return (int32_t)((uint64_t)(sum + ((1 << shift) >> 1)) >> shift);
}

/// Return 2^30 / m, rounded down, for m from 1 to 2^15. adm_approx_rcp() may be one float off.
SHARED_INLINE uint32_t adm_reciprocal(uint32_t m)
{
    const float inverse  = adm_approx_rcp((int)m);
    const uint32_t below = (int)(0x1.fffff4p29f * inverse);
    const uint32_t rest  = (1u << 30) - below * m;

    // not one too few if m divides the rest
    return below + (int)((int)rest * inverse + 0x1p-16f);
}

#define ADM_COS_1DEG_SQ 0x1.ffd814p-1f  ///< libvmaf's cos_1deg_sq: cos(1 degree) squared

/**
 * Return libvmaf's angle_flag: whether the vectors of horizontal and vertical detail of both pictures
 * are within one degree.
 *
 * @param product   their scalar product
 * @param reference square of the reference's vector
 * @param encode    square of the encode's vector
 */
SHARED_INLINE int adm_within_1deg(float product, float reference, float encode)
{
    return product >= 0 &&
           (double)product * product >= (double)ADM_COS_1DEG_SQ * reference * encode;
}

/// Return the absolute value of a restored part within one degree, given that of the encode.
SHARED_INLINE uint32_t adm_enhance(uint32_t restored, uint32_t encode, ADMGain gain)
{
    double product;

    if (gain.factor) {
        // larger ones have a product above any coefficient
        restored = (restored < gain.max ? restored : gain.max) * gain.factor;
        return restored < encode ? restored : encode;
    }
    product = restored * gain.limit;
    return product < encode ? (uint32_t)product : encode;
}

/// Return the restored part of a coefficient. In the first scale all products have 32 bits.
SHARED_INLINE int adm_decouple(int is_first, int reference, int encode, int within_1deg,
                               ADMGain gain)
{
    const uint32_t s = vmaf_abs(reference), e = vmaf_abs(encode);
    const union { float f; uint32_t i; } exponent = { (float)(int)(s & ~(s >> 1)) };
    // the upper 15 bits of it, rounded
    const int bits   = is_first ? 0 : (int)(exponent.i >> 23) - 127 - 14;
    const int more   = bits > 0 ? bits : 0, shift = 15 + more;
    const uint32_t r = s + ((1u << more) >> 1) >> more, m = r > 1 ? r : 1;
    // anything above has the ratio 1, too
    const uint32_t reached = e < 2 * s ? e : 2 * s, inverse = adm_reciprocal(m);
    const uint32_t product = is_first ? inverse * reached + 16384 >> 15 :
                             (uint64_t)inverse * reached + (1ull << shift >> 1) >> shift;
    const uint32_t ratio   = (reference ^ encode) < 0 ? 0 : product < 32768 ? product : 32768;
    const int restored     = is_first ? (int)ratio * reference + 16384 >> 15 :
                             adm_round_shift((int64_t)(int)ratio * reference, 15);

    if (within_1deg) {
        const int enhanced = adm_enhance(vmaf_abs(restored), e, gain);

        return reference < 0 ? -enhanced : enhanced;
    }
    return restored;
}

/// Weight a coefficient by the contrast sensitivity.
SHARED_INLINE int adm_csf(int is_first, int x, int csf_weight)
{
    return is_first ? x * csf_weight : adm_round_shift((int64_t)x * csf_weight, 28);
}

/**
 * Get the masking by a weighted coefficient.
 *
 * @param neighbour set to 1/30 of it, the masking of the eight coefficients around
 * @return 1/15 of it, the masking of its own place
 */
SHARED_INLINE int adm_contrast_mask(int is_first, int x, int band, int *neighbour)
{
    // libvmaf's rounding of the diagonal is one less than a half
    const int shift  = band == ADM_D ? 17 : 15, half = band == ADM_D ? 65535 : 16384;
    const uint64_t e = vmaf_abs(is_first ? x + half >> shift : x);

    if (is_first) {
        *neighbour = (int16_t)(4369 * (int)e + 2048 >> 12);
        // from 15360 on this wraps, in libvmaf
        return  (int16_t)(8738 * (int)e + 2048 >> 12);
    }
    // minus a half in libvmaf, so -1 if x is 0
    *neighbour = (int)(e * 143165577 + (1u << 31) >> 32) - 1;
    return  (int)(e * 286331153 + (1u << 31) >> 32) - 1;
}

/// Get the roundings of the cubes of a part, given the shift of the cube.
SHARED_INLINE ADMCubeShifts adm_cube_shifts(int scale, int part, int band, int shift)
{
    const int is_reference = part == ADM_REFERENCE, is_low = !scale && band != ADM_D;
    const int square = !is_reference ? 30 - is_low : !scale ? 0 : scale == 2 ? 30 : 31;
    const ADMCubeShifts shifts = {
        is_reference || scale ? 0 : 12 - 2 * is_low,
        // for the reference libvmaf adds one to the square, and not a half
        is_reference ? (uint32_t)!!scale << square : 1u << square >> 1, square, shift
    };

    return shifts;
}

/// Return the cube of a weighted coefficient above its masking threshold, for Minkowski pooling.
SHARED_INLINE uint64_t adm_cube(int x, int threshold, ADMCubeShifts shifts)
{
    const int above        = vmaf_abs(x) - (int)((uint32_t)threshold << shifts.unit);
    const uint64_t visible = above > 0 ? above : 0;
    const uint32_t square  = visible * visible + shifts.round >> shifts.square_shift;

    return square * visible + (1ull << shifts.shift >> 1) >> shifts.shift;
}

/// Round the sum of a row.
SHARED_INLINE uint64_t adm_round_row(uint64_t sum, int shift)
{
    return sum + (1ull << shift >> 1) >> shift;
}

#endif /* AVFILTER_VMAF_ADM_OPS_H */
