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
 * Arithmetic of SSIMULACRA2 that C and CUDA C share: colour conversion, XYB, the FIR form of the
 * Gaussian, and the error maps
 *
 * Reference: SSIMULACRA 2.1, Cloudinary, https://github.com/cloudinary/ssimulacra2
 *
 * Floats are single precision, each operation rounded by itself: a compiler must not contract
 * multiplications and additions. Then all processors compute the same digits. They differ from the value
 * of the formula in exact arithmetic by less than 1e-4 of a point. The reference differs from it by up to
 * a point, as its recursive Gaussian accumulates rounding errors; the forms here do not:
 *
 * - The response of the reference's Gaussian is zero from a distance of 5 samples on. It is computed as the
 *   FIR filter that it is.
 * - The SSIM map is computed from the filtered (x1 - x2)^2 and x1^2 + x2^2, without the cancellation of
 *   sigma12 - mu1 * mu2.
 */

#ifndef AVFILTER_SSIMULACRA2_OPS_H
#define AVFILTER_SSIMULACRA2_OPS_H

#include <stdint.h>

#include "shared_arith.h"

#if !defined(__CUDACC__) && !defined(__CUDA__)
#include <float.h>
// 16 means single precision for float, like 0
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Scores need float in its own format: on 32-bit x86, --extra-cflags='-msse2 -mfpmath=sse'"
#endif
#endif

#define SSIMULACRA2_SCALES   6
#define SSIMULACRA2_CHANNELS 3      ///< X, Y, B
#define SSIMULACRA2_RADIUS   4      ///< samples on each side of the Gaussian's centre
#define SSIMULACRA2_TAPS     (2 * SSIMULACRA2_RADIUS + 1)

/// Sums of a channel: of each error map, and of its fourth power.
enum {
    SSIMULACRA2_SSIM,
    SSIMULACRA2_SSIM_4,
    SSIMULACRA2_ARTIFACT,
    SSIMULACRA2_ARTIFACT_4,
    SSIMULACRA2_DETAIL_LOSS,
    SSIMULACRA2_DETAIL_LOSS_4,
    SSIMULACRA2_SUMS
};

/// Bits of a mask of sums that need the SSIM map, and the edge maps.
#define SSIMULACRA2_SSIM_MASK (3 << SSIMULACRA2_SSIM)
#define SSIMULACRA2_EDGE_MASK (15 << SSIMULACRA2_ARTIFACT)

/// Extent of the sums in float that precede the integer sums: SSIMULACRA2_GROUP adjacent columns, in the rows of a
/// band with the same y % SSIMULACRA2_PHASES.
#define SSIMULACRA2_BAND   64
#define SSIMULACRA2_PHASES 4
#define SSIMULACRA2_GROUP  4

// ---- chroma ----

/// Bits behind the point of interpolated chroma: those of both directions.
#define SSIMULACRA2_TAP_BITS    7
#define SSIMULACRA2_CHROMA_BITS (2 * SSIMULACRA2_TAP_BITS)

/// Interpolation of chroma in one direction, by Catmull-Rom splines (b = 0, c = 0.5): sample x of luma is that
/// of the chroma samples first[x % 2] + x / 2 and the next three. The taps are in 2^-SSIMULACRA2_TAP_BITS.
typedef struct SSIMULACRA2Chroma {
    int tap[2][4];
    int first[2];
} SSIMULACRA2Chroma;

/// Mirror index i of n chroma samples at the edge of the first or last one, which is repeated.
SHARED_INLINE int ssimulacra2_mirror(int i, int n)
{
    i = i < 0 ? -1 - i : i;
    i = i < n ? i : 2 * n - 1 - i;
    return i < 0 ? 0 : i < n ? i : n - 1;
}

// ---- linear light ----

/// Units of a non-linear sample of 1, and the largest index of the table.
#define SSIMULACRA2_UNIT      1024
#define SSIMULACRA2_MAX_INDEX 1536

/// Entry of the table of the transfer function.
typedef struct SSIMULACRA2Linear {
    float value, slope;         ///< linear value at the entry; change for each unit from it
} SSIMULACRA2Linear;

/// Factors from code values to R'G'B' in SSIMULACRA2_UNIT. Interpolated chroma is in units of
/// 2^-SSIMULACRA2_CHROMA_BITS.
typedef struct SSIMULACRA2Matrix {
    float y, v_to_r, u_to_g, v_to_g, u_to_b;
    float r0, g0, b0;           ///< constants: black and neutral chroma
} SSIMULACRA2Matrix;

SHARED_INLINE float ssimulacra2_red(const SSIMULACRA2Matrix *m, float y, float u, float v)
{
    return (y * m->y + v * m->v_to_r) + m->r0;
}

SHARED_INLINE float ssimulacra2_green(const SSIMULACRA2Matrix *m, float y, float u, float v)
{
    return ((y * m->y + u * m->u_to_g) + v * m->v_to_g) + m->g0;
}

SHARED_INLINE float ssimulacra2_blue(const SSIMULACRA2Matrix *m, float y, float u, float v)
{
    return (y * m->y + u * m->u_to_b) + m->b0;
}

/**
 * Return the fraction of a non-linear sample beyond the nearest entry of the table, in SSIMULACRA2_UNIT.
 *
 * @param index set to the entry, 0 to SSIMULACRA2_MAX_INDEX; samples beyond are clipped
 */
SHARED_INLINE float ssimulacra2_index(float sample, int *index)
{
    const float magic = 8388608;        // 2^23: sums with it are rounded to integers

    sample = sample > 0.0f ? sample : 0.0f;
    sample = sample < SSIMULACRA2_MAX_INDEX ? sample : SSIMULACRA2_MAX_INDEX;
    *index = (int)((sample + magic) - magic);
    return sample - ((sample + magic) - magic);
}

// ---- XYB ----

#define SSIMULACRA2_BIAS 0.0037930732552754493f

/// libjxl's opsin absorbance matrix: rows of the long, medium and short cones.
#define SSIMULACRA2_LR 0.30f
#define SSIMULACRA2_LG 0.622f
#define SSIMULACRA2_LB 0.078f
#define SSIMULACRA2_MR 0.23f
#define SSIMULACRA2_MG 0.692f
#define SSIMULACRA2_SR 0.24342268924547819f
#define SSIMULACRA2_SG 0.20476744424496821f
#define SSIMULACRA2_SB 0.55180986650955360f

#define SSIMULACRA2_CBRT_BIAS 0.15595420188071793f      ///< its cube root

/**
 * Return the cube root of a number of SSIMULACRA2_BIAS to 8, with a relative error below 2^-23.
 *
 * Two Newton steps find the reciprocal of the root from a guess by the exponent, one the root.
 */
SHARED_INLINE float ssimulacra2_cbrt(float x)
{
    union { float f; uint32_t i; } guess = { x };
    const float third = x * (1.0f / 3);
    float r, y, r2;

    guess.i = 0x54a31400 - (uint32_t)((uint64_t)guess.i * 0x55555556 >> 32);
    r  = guess.f;
    r  = r * (1.33333337f - third * (r * r * r));
    r  = r * (1.33333337f - third * (r * r * r));
    r2 = r * r;
    y  = x * r2;
    return y - (y * y * y - x) * (r2 * (1.0f / 3));
}

/// Convert linear RGB to the channels X, Y and B, scaled to positive values (libjxl's MakePositiveXYB()).
SHARED_INLINE void ssimulacra2_xyb(float xyb[3], float r, float g, float b)
{
    const float blue  = SSIMULACRA2_LB * b + SSIMULACRA2_BIAS;
    const float l     = ssimulacra2_cbrt((SSIMULACRA2_LR * r + SSIMULACRA2_LG * g) + blue);
    const float m     = ssimulacra2_cbrt((SSIMULACRA2_MR * r + SSIMULACRA2_MG * g) + blue);
    const float s     = ssimulacra2_cbrt((SSIMULACRA2_SR * r + SSIMULACRA2_SG * g) +
                                         (SSIMULACRA2_SB * b + SSIMULACRA2_BIAS));
    const float y     = 0.5f * (l + m);

    xyb[0] = (l - m) * 7.0f + 0.42f;
    xyb[1] = y + (0.01f - SSIMULACRA2_CBRT_BIAS);
    xyb[2] = (s - y) + 0.55f;
}

/// Return the mean of 2x2 linear samples, the next scale's: a and b of the upper row, c and d below.
SHARED_INLINE float ssimulacra2_downscale(float a, float b, float c, float d)
{
    return (((a + b) + c) + d) * 0.25f;
}

// ---- Gaussian ----

/// Weights of the Gaussian by the distance from its centre.
typedef struct SSIMULACRA2Gaussian {
    float tap[SSIMULACRA2_RADIUS + 1];
} SSIMULACRA2Gaussian;

/// Return the filtered sample of a row. Samples outside of the picture are 0.
SHARED_INLINE float ssimulacra2_horizontal(const SSIMULACRA2Gaussian *g, const float *centre)
{
    return (((g->tap[0] * centre[0] +
              g->tap[1] * (centre[-1] + centre[1])) +
              g->tap[2] * (centre[-2] + centre[2])) +
              g->tap[3] * (centre[-3] + centre[3])) +
              g->tap[4] * (centre[-4] + centre[4]);
}

// ---- error maps ----

#define SSIMULACRA2_C2 0.0009f

/**
 * Return the SSIM map's error.
 *
 * @param mu1, mu2 filtered samples of source and encode
 * @param squares  filtered x1^2 + x2^2
 * @param error    filtered (x1 - x2)^2
 */
SHARED_INLINE float ssimulacra2_ssim(float mu1, float mu2, float squares, float error)
{
    const float m  = mu1 - mu2, mm = m * m;
    const float variances = squares - (mu1 * mu1 + mu2 * mu2);
    const float q  = (error - mm) / (variances + SSIMULACRA2_C2);
    const float d  = q + mm * (1.0f - q);

    return d > 0.0f ? d : 0.0f;
}

/// Return the edge maps' difference: positive for an artifact of the encode, negative for a lost detail.
SHARED_INLINE float ssimulacra2_edge(float x1, float x2, float mu1, float mu2)
{
    const float d1 = x1 - mu1, d2 = x2 - mu2;
    const float a1 = d1 < 0 ? -d1 : d1, a2 = d2 < 0 ? -d2 : d2;

    return (a2 - a1) / (1.0f + a1);
}

SHARED_INLINE float ssimulacra2_power4(float x)
{
    const float x2 = x * x;

    return x2 * x2;
}

// ---- sums ----

/// Exact sum of floats that are not negative, in 2^-40 and 2^-90 of two 128-bit integers, each as the sums
/// of lower and upper 32 bits: the order of additions does not matter.
typedef struct SSIMULACRA2Sum {
    uint64_t high[2], low[2];
} SSIMULACRA2Sum;

#endif /* AVFILTER_SSIMULACRA2_OPS_H */
