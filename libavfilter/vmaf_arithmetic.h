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
 * The integers of VMAF v1, ADM's detail and the motion of the source: the only copy, included by C
 * and by CUDA C. Roundings are those of libvmaf, for which the models were trained: also those that
 * look odd.
 *
 * ADM: Songnan Li, Fan Zhang, Lin Ma and King Ngi Ngan, "Image Quality Assessment by
 * Separately Evaluating Detail Losses and Additive Impairments", IEEE
 * Transactions on Multimedia 13(5), 2011.
 *
 * Both pictures are split into wavelet bands of four scales. Each coefficient of the encode is
 * split into the part that it kept of the source's, and the part that was added. Each part masks
 * the other.
 *
 * Motion is the difference of two frames of the source, blurred down the columns, then along the
 * rows.
 */

#ifndef AVFILTER_VMAF_ARITHMETIC_H
#define AVFILTER_VMAF_ARITHMETIC_H

#include <stdint.h>

#include "cuda/shared.h"

#if !defined(__CUDACC__) && !defined(__CUDA__)
#include <float.h>
// 16 means single precision for float, like 0
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Scores need float in its own format: on 32-bit x86, --extra-cflags='-msse2 -mfpmath=sse'"
#endif
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

/// A scale of pictures of one size, for one distance of viewing.
typedef struct VMAFADMScale {
    int scale;
    int width, height;          ///< of the picture that is split
    int w, h;                   ///< of a band
    int left, right, top, bottom;       ///< what is summed, without right and bottom
    uint32_t weight[VMAF_ADM_BANDS];    ///< how visible a band is, in fixed point
    int square_shift[VMAF_ADM_SUMS][VMAF_ADM_BANDS], cube_shift[VMAF_ADM_SUMS][VMAF_ADM_BANDS];
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

/// 2^30 / m, rounded down, for m from 1 to 2^15.
SHARED_INLINE uint32_t vmaf_adm_reciprocal(uint32_t m)
{
    const float inverse  = 1.f / (int)m;
    const uint32_t below = (int)(0x1.fffffcp29f * inverse);
    const uint32_t rest  = (1u << 30) - below * m;

    // not one too few where the rest is divided without remainder
    return below + (int)((int)rest * inverse + 0x1p-16f);
}

/// Whether two vectors of horizontal and vertical detail are within one degree; their squares'
/// and their scalar product are given.
SHARED_INLINE int vmaf_adm_is_aligned(float product, float source, float encode)
{
    const double cos2 = 0x1.ffd814p-1f;     // cos(1 degree) squared

    return product >= 0 && (double)product * product >= cos2 * source * encode;
}

SHARED_INLINE int vmaf_adm_abs(int x)
{
    return x < 0 ? -x : x;
}

/// With vectors within one degree, no more is kept than there is.
SHARED_INLINE int vmaf_adm_limit(int kept, int source, int encode, int is_aligned, uint32_t ratio)
{
    const int least = kept < encode ? kept : encode, most = kept > encode ? kept : encode;
    const int limited = source > 0 ? least : most;

    return is_aligned & (ratio > 0) & (source != 0) ? limited : kept;
}

/// The part of a coefficient of scale 0 that was kept. All products have 32 bits.
SHARED_INLINE int vmaf_adm_kept0(int source, int encode, int is_aligned)
{
    const uint32_t s = vmaf_adm_abs(source), e = vmaf_adm_abs(encode);
    const uint32_t m = s > 1 ? s : 1;
    // with any more the ratio is 1, too
    const uint32_t reached = e <= m ? e : m + 1;
    const uint32_t product = vmaf_adm_reciprocal(m) * reached + 16384 >> 15;
    const uint32_t ratio   = (source ^ encode) < 0 ? 0 : product < 32768 ? product : 32768;
    const int kept         = (int)ratio * source + 16384 >> 15;

    return vmaf_adm_limit(kept, source, encode, is_aligned, ratio);
}

/// The same of the other scales.
SHARED_INLINE int vmaf_adm_kept(int source, int encode, int is_aligned)
{
    const uint32_t s = vmaf_adm_abs(source), e = vmaf_adm_abs(encode);
    const union { float f; uint32_t i; } exponent = { (float)(int)(s & ~(s >> 1)) };
    // the upper 15 bits of it, rounded
    const int bits   = (int)(exponent.i >> 23) - 127 - 14;
    const int more   = bits > 0 ? bits : 0;
    const uint32_t r = s + ((1u << more) >> 1) >> more, m = r > 1 ? r : 1;
    // with any more the ratio is 1, too
    const int reached = e < 2 * s ? e : 2 * s;
    // 2^-(15 + more), by which the product is exact
    const union { uint32_t i; float f; } unit = { (uint32_t)(127 - 15 - more) << 23 };
    const double exact     = (double)(int)vmaf_adm_reciprocal(m) * reached * unit.f;
    const uint32_t product = (int)(exact + 0.5);
    const uint32_t ratio   = (source ^ encode) < 0 ? 0 : product < 32768 ? product : 32768;
    const int kept         = vmaf_adm_shift((int64_t)(int)ratio * source, 15);

    return vmaf_adm_limit(kept, source, encode, is_aligned, ratio);
}

/// How visible a coefficient is. One of scale 0 is multiplied by its weight as it is.
SHARED_INLINE int vmaf_adm_weigh(int x, int weight)
{
    return vmaf_adm_shift((int64_t)x * weight, 28);
}

/// What a weighed coefficient of scale 0 masks: around it, and at its own place.
SHARED_INLINE int vmaf_adm_mask0(int x, int band, int *near)
{
    // libvmaf's rounding of the diagonal is one less than a half
    const int shift = band == VMAF_ADM_D ? 17 : 15, half = band == VMAF_ADM_D ? 65535 : 16384;
    const int e     = vmaf_adm_abs(x + half >> shift);

    *near = (int16_t)(4369 * e + 2048 >> 12);
    // from 15360 on this wraps, in libvmaf
    return  (int16_t)(8738 * e + 2048 >> 12);
}

/// The same of the other scales: minus a half in libvmaf, so -1 where there is nothing.
SHARED_INLINE int vmaf_adm_mask(int x, int *near)
{
    const uint64_t e = vmaf_adm_abs(x);

    *near = (int)(e * 143165577 + (1u << 31) >> 32) - 1;
    return  (int)(e * 286331153 + (1u << 31) >> 32) - 1;
}

/// The cube of a weighed coefficient above its masking threshold.
SHARED_INLINE uint64_t vmaf_adm_cube(int x, int threshold, int square_shift, int shift)
{
    const int above       = vmaf_adm_abs(x) - threshold;
    const uint64_t seen   = above > 0 ? above : 0;
    const uint32_t square = seen * seen + (1ull << square_shift >> 1) >> square_shift;

    return square * seen + (1ull << shift >> 1) >> shift;
}

/// The cube of a coefficient of the source, as it is.
SHARED_INLINE uint64_t vmaf_adm_cube_source0(int x)
{
    const uint32_t e = vmaf_adm_abs(x);

    return (uint64_t)(e * e) * e;
}

/// The same of the other scales: libvmaf adds one to the square, and not a half.
SHARED_INLINE uint64_t vmaf_adm_cube_source(int x, int square_shift, int shift)
{
    const uint64_t e      = vmaf_adm_abs(x);
    const uint32_t square = (e * e >> square_shift) + 1;

    return square * e + (1ull << shift >> 1) >> shift;
}

SHARED_INLINE uint64_t vmaf_adm_round_row(uint64_t sum, int shift)
{
    return sum + (1ull << shift >> 1) >> shift;
}

// ---- motion ----

#define VMAF_MOTION_TAPS 5

/// Index of the row or column that stands for i of n.
SHARED_INLINE int vmaf_motion_mirror(int i, int n)
{
    return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
}

SHARED_INLINE int vmaf_motion_taps(int a, int b, int c, int d, int e)
{
    return (a + e) * 3571 + (b + d) * 16004 + c * 26386;
}

/// Blur five differences that are below each other.
SHARED_INLINE int vmaf_motion_columns(int a, int b, int c, int d, int e, int depth)
{
    return vmaf_motion_taps(a, b, c, d, e) + (1 << (depth - 1)) >> depth;
}

/// Blur five of these. They are given as halves and the bit below, or the sum would have 33 bits.
SHARED_INLINE int vmaf_motion_row(const int *half, const int *odd)
{
    const int halves = vmaf_motion_taps(half[-2], half[-1], half[0], half[1], half[2]);
    const int rest   = vmaf_motion_taps(odd[-2], odd[-1], odd[0], odd[1], odd[2]);
    const int sum    = halves + (rest + 32768 >> 1) >> 15;

    return sum < 0 ? -sum : sum;
}

#endif /* AVFILTER_VMAF_ARITHMETIC_H */
