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
 * Arithmetic of BLIINDS-II: levels, DCT and statistics of a block, and the sums over blocks.
 *
 * After Saad, Bovik and Charrier 2012 (BLIINDS-II), as implemented in the authors' release: shape of
 * the generalised Gaussian, coefficient of frequency variation, energy subband ratio, orientation.
 * C and CUDA C share this only copy; the assembly in x86/vf_bliinds.asm reproduces it.
 *
 * Data flow: bliinds_lowpass() computes levels 2 and 3. Each block of 5x5 samples goes through
 * bliinds_dct5_integer_stage() by rows, bliinds_dct5_columns(), and bliinds_block(), which
 * completes the DCT and returns the statistics. bliinds_gamma() looks up the shape of the
 * generalised Gaussian. bliinds_fixed() converts the values for exact sums, BLIINDSLevelSums.
 *
 * Every operation is an IEEE single precision addition, subtraction, multiplication, division or
 * square root in a fixed order, so that all compilers and processors yield the same bits. Compile
 * the including files without contraction of a * b + c and without fast-math, and not for
 * processors that compute in a wider format, such as the x87.
 *
 * Deviations from the paper: many statistics are ratios of sums that are exactly zero on flat,
 * ruled or letterboxed content, where a rounding error would be divided by 1e-7. For exact zeros,
 * level samples are integers, and the DCT has two stages, the first with integer factors and exact.
 */

#ifndef AVFILTER_BLIINDS_BLOCK_H
#define AVFILTER_BLIINDS_BLOCK_H

#include <stdint.h>

#include "shared_arith.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#include "cuda/kernel.cuh"

/**
 * Return a / b, correctly rounded.
 *
 * Newton's refinement as in the division operator, without its branch for very small or very large
 * operands.
 *
 * @param a 0, or 2^-100..2^24
 * @param b 1e-8..2^24
 */
SHARED_INLINE float bliinds_div(float a, float b)
{
    float r = guess_rcp(b), q;

    r = __builtin_fmaf(r, __builtin_fmaf(-b, r, 1.f), r);
    q = a * r;
    q = __builtin_fmaf(r, __builtin_fmaf(-b, q, a), q);
    return __builtin_fmaf(r, __builtin_fmaf(-b, q, a), q);
}

/// Return the correctly rounded square root of x, which is 0 or in 2^-100..2^48.
SHARED_INLINE float bliinds_sqrt(float x)
{
    const float r = guess_rsqrt(x > 0x1p-100f ? x : 0x1p-100f), s = x * r;

    return __builtin_fmaf(__builtin_fmaf(-s, s, x), r * .5f, s);
}

/// Return a - 4 b; the result is exact, so that a fused operation does not change it.
SHARED_INLINE float bliinds_sub_4x(float a, float b)
{
    return __builtin_fmaf(-4.f, b, a);
}

/// @name Approximations of a / b and 1 / sqrt(x) with a relative error of up to 1e-6
/// @{
#define bliinds_approx_div(a, b) ((a) * guess_rcp(b))
#define bliinds_approx_rsqrt(x)  guess_rsqrt(x)
/// @}
#else
#include <float.h>
#include <math.h>
// 0 and 16 both mean that float is evaluated in single precision
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "Scores need float in its own format: on 32-bit x86, --extra-cflags='-msse2 -mfpmath=sse'"
#endif
#define bliinds_div(a, b) ((a) / (b))
#define bliinds_sqrt(x)   sqrtf(x)
#define bliinds_sub_4x(a, b) ((a) - 4.f * (b))
#define bliinds_approx_div(a, b) ((a) / (b))
#define bliinds_approx_rsqrt(x)  (1.f / sqrtf(x))
#endif

#define BLIINDS_LEVELS  3   ///< level 1 is the picture; each next level is half as wide and high
#define BLIINDS_BLOCK   5   ///< width and height of a block, in samples
#define BLIINDS_STEP    3   ///< distance of neighbouring blocks in samples: they overlap by 2

/**
 * Fraction bits of level samples, which are int32_t in units of 2^-21 of an 8-bit step. With one
 * more bit, the sum of two samples could overflow.
 */
#define BLIINDS_FRAC_BITS 21

/**
 * Number of lower bits of a level sample. The integer stage of the DCT processes the upper bits, a
 * multiple of 2^-9, and the lower bits apart, as both grow by 6 bits and each stays exact in
 * single precision.
 */
#define BLIINDS_LOWER_BITS 12

/**
 * Outer tap, in units of 2^-24, of the low-pass filter before decimation: a Gaussian of sigma 0.5
 * with 3 taps (0.106506978919200, 0.786986042161605, 0.106506978919200). The taps sum to exactly 1,
 * so that constants and ramps are preserved.
 */
#define BLIINDS_TAP_BITS 24
#define BLIINDS_TAP_SIDE 1786891

/// @name Table of the generalised Gaussian for shapes 0.030..10.000, see ff_bliinds_gamma_table()
/// @{
#define BLIINDS_GAMMA_NB    9971                    ///< number of entries
#define BLIINDS_GAMMA_MIN   30                      ///< first shape, in thousandths
#define BLIINDS_GAMMA_NONE  (BLIINDS_GAMMA_NB - 1)  ///< index for blocks that no shape fits
#define BLIINDS_GAMMA_FLAT  11000                   ///< shape of such blocks, in thousandths
/// @}

/**
 * Sum of magnitudes up to which an oriented set counts as zero: 16 times the rounding unit of level
 * samples. In a picture that is the sum of a row and a column pattern, the diagonal set is zero in
 * exact arithmetic, and the rounding noise of the levels must not be divided by itself.
 */
#define BLIINDS_SET_NOISE (16.f / (1 << BLIINDS_FRAC_BITS))

/// Largest sum of the band variances of a flat block.
#define BLIINDS_FLAT_VARIANCE 1e-7f

/// Clipping value of the energy subband ratio, which has no bound; pictures have reached 127.
#define BLIINDS_SUB_MAX 32767.f

/// Statistics of one block, for samples in 0..255.
typedef struct BLIINDSBlock {
    float zeta;         ///< coefficient of frequency variation, 0..4.9
    float rho;          ///< variance over squared mean absolute deviation: bliinds_gamma()
    float sub;          ///< energy subband ratio, 0..BLIINDS_SUB_MAX
    float ori;          ///< variance of the frequency variations of the three oriented sets
    float band[3];      ///< variances of the low, middle and high frequency band
} BLIINDSBlock;

/**
 * Apply the separable low-pass filter in one direction.
 *
 * @param m,p previous and next sample, 0 outside of the picture
 * @param c   centre sample
 * @return side * m + (1 - 2 side) * c + side * p, rounded to nearest
 */
SHARED_INLINE int32_t bliinds_lowpass(int32_t m, int32_t c, int32_t p)
{
    return c + (int32_t)((BLIINDS_TAP_SIDE * (int64_t)(m + p - 2 * c) +
                          (1 << (BLIINDS_TAP_BITS - 1))) >> BLIINDS_TAP_BITS);
}

/// Return the upper bits of a level sample in 8-bit steps, exact in single precision.
SHARED_INLINE float bliinds_upper_bits(int32_t x)
{
    return (x >> BLIINDS_LOWER_BITS) *
           (1.f / (1 << (BLIINDS_FRAC_BITS - BLIINDS_LOWER_BITS)));
}

/// Return the lower bits of a level sample in 8-bit steps, exact in single precision.
SHARED_INLINE float bliinds_lower_bits(int32_t x)
{
    return (x & ((1 << BLIINDS_LOWER_BITS) - 1)) * (1.f / (1 << BLIINDS_FRAC_BITS));
}

/**
 * Apply the integer stage of the 5-point DCT-II.
 *
 * The rows of its matrix are (1 1 1 1 1), (1 1 -4 1 1), (1 -1 0 -1 1), (1 0 0 0 -1), (0 1 0 -1 0).
 */
SHARED_INLINE void bliinds_dct5_integer_stage(float dst[5], float x0, float x1, float x2,
                                              float x3, float x4)
{
    float s0 = x0 + x4, s1 = x1 + x3;
    float s  = s0 + s1;

    dst[0] = s + x2;
    dst[1] = bliinds_sub_4x(s, x2);
    dst[2] = s0 - s1;
    dst[3] = x0 - x4;
    dst[4] = x1 - x3;
}

/// Apply the rotation stage, which completes the orthonormal 5-point DCT-II.
SHARED_INLINE void bliinds_dct5_rotation_stage(float dst[5], const float src[5])
{
    const float k0 = 0.4472135955f;     // 1 / sqrt(5)
    const float e  = 0.1581138830f;     // sqrt(10) / 20
    const float h  = 0.3535533906f;     // 1 / (2 sqrt(2))
    const float c1 = 0.6015009550f;     // sqrt(2/5) cos(pi/10)
    const float c3 = 0.3717480345f;     // sqrt(2/5) cos(3 pi/10)
    float hm = h * src[2], et = e * src[1];

    dst[0] = k0 * src[0];
    dst[1] = c1 * src[3] + c3 * src[4];
    dst[2] = hm + et;
    dst[3] = c3 * src[3] - c1 * src[4];
    dst[4] = hm - et;
}

/// Return the sample variance (divisor n - 1) from sums; clipped to 0 against rounding errors.
SHARED_INLINE float bliinds_variance(float sum_sq, float sum, float inv_n, float inv_n1)
{
    float v = (sum_sq - sum * sum * inv_n) * inv_n1;

    return v > 0.f ? v : 0.f;
}

/// Return the coefficient of frequency variation, standard deviation over mean of n magnitudes.
SHARED_INLINE float bliinds_freq_variation(float sum_sq, float sum, float inv_n, float inv_n1)
{
    return bliinds_div(bliinds_sqrt(bliinds_variance(sum_sq, sum, inv_n, inv_n1)),
                       sum * inv_n + 1e-7f);
}

/// Return bliinds_freq_variation() of an oriented set of 8 coefficients, 0 if it is rounding noise.
SHARED_INLINE float bliinds_set_variation(float sum_sq, float sum)
{
    float f = bliinds_freq_variation(sum_sq, sum, 1.f / 8, 1.f / 7);

    return sum > BLIINDS_SET_NOISE ? f : 0.f;
}

/// Sum of 8 values in a fixed order.
#define BLIINDS_SUM8(a, b, c, d, e, f, g, h) \
    ((((a) + (b)) + ((c) + (d))) + (((e) + (f)) + ((g) + (h))))

/// Sums of F(i, j) over the oriented sets of horizontal, diagonal and vertical frequencies.
#define BLIINDS_SET1(F) BLIINDS_SUM8(F(0,1), F(0,2), F(0,3), F(0,4), \
                                     F(1,2), F(1,3), F(1,4), F(2,4))
#define BLIINDS_SET2(F) BLIINDS_SUM8(F(1,1), F(2,2), F(2,3), F(3,2), \
                                     F(3,3), F(3,4), F(4,3), F(4,4))
#define BLIINDS_SET3(F) BLIINDS_SUM8(F(1,0), F(2,0), F(3,0), F(4,0), \
                                     F(2,1), F(3,1), F(4,1), F(4,2))

/**
 * Apply bliinds_dct5_integer_stage() to the columns of a block.
 *
 * @param dst  [vertical term][horizontal term]
 * @param rows output of the integer stage for the 5 rows, [row][horizontal term]
 */
SHARED_INLINE void bliinds_dct5_columns(float dst[5][5], const float rows[5][5])
{
    UNROLL
    for (int k = 0; k < 5; k++) {
        float t[5];

        bliinds_dct5_integer_stage(t, rows[0][k], rows[1][k], rows[2][k], rows[3][k], rows[4][k]);
        UNROLL
        for (int i = 0; i < 5; i++)
            dst[i][k] = t[i];
    }
}

/**
 * Complete the DCT of a block, and compute its statistics and band variances.
 *
 * @param terms output of bliinds_dct5_columns(); if samples are split into upper and lower bits,
 *              the sum of both outputs
 */
SHARED_INLINE void bliinds_block(BLIINDSBlock *dst, const float terms[5][5])
{
    float y[5][5], x[5][5];

    // columns first: y[vertical frequency][horizontal term], then x[vertical][horizontal frequency]
    UNROLL
    for (int k = 0; k < 5; k++) {
        float t[5], u[5];

        UNROLL
        for (int i = 0; i < 5; i++)
            t[i] = terms[i][k];
        bliinds_dct5_rotation_stage(u, t);
        UNROLL
        for (int i = 0; i < 5; i++)
            y[i][k] = u[i];
    }
    UNROLL
    for (int i = 0; i < 5; i++)
        bliinds_dct5_rotation_stage(x[i], y[i]);

#define MAG(i, j) fabsf(x[i][j])
#define SQR(i, j) (x[i][j] * x[i][j])
#define DEV(i, j) fabsf(x[i][j] - mean)
    // sums of magnitudes over the oriented sets, which partition the AC coefficients
    float a1 = BLIINDS_SET1(MAG), a2 = BLIINDS_SET2(MAG), a3 = BLIINDS_SET3(MAG);
    float a  = (a1 + a2) + a3;
    // q<s><b>: sum of squares over the intersection of set s and band b; the bands partition, too
    float q11 = SQR(0,1) + SQR(0,2);
    float q12 = ((SQR(0,3) + SQR(0,4)) + (SQR(1,2) + SQR(1,3))) + SQR(1,4);
    float q13 = SQR(2,4);
    float q21 = SQR(1,1);
    float q22 = (SQR(2,2) + SQR(2,3)) + SQR(3,2);
    float q23 = (SQR(3,3) + SQR(3,4)) + (SQR(4,3) + SQR(4,4));
    float q31 = SQR(1,0) + SQR(2,0);
    float q32 = ((SQR(3,0) + SQR(4,0)) + (SQR(2,1) + SQR(3,1))) + SQR(4,1);
    float q33 = SQR(4,2);
    float set1 = (q11 + q12) + q13, set2 = (q21 + q22) + q23, set3 = (q31 + q32) + q33;
    float q    = (set1 + set2) + set3;
    // sums of coefficients over the bands
    float s1 = ((x[0][1] + x[0][2]) + (x[1][0] + x[2][0])) + x[1][1];
    float s2 = (BLIINDS_SUM8(x[0][3], x[0][4], x[1][2], x[1][3],
                             x[3][0], x[4][0], x[2][1], x[3][1]) +
                ((x[1][4] + x[4][1]) + (x[2][3] + x[3][2]))) + x[2][2];
    float s3 = ((x[2][4] + x[4][2]) + (x[3][4] + x[4][3])) + (x[3][3] + x[4][4]);
    float s  = (s1 + s2) + s3;
    // variances of the bands, which have 5, 13 and 6 coefficients
    float v1 = bliinds_variance((q11 + q21) + q31, s1, 1.f /  5, 1.f /  4);
    float v2 = bliinds_variance((q12 + q22) + q32, s2, 1.f / 13, 1.f / 12);
    float v3 = bliinds_variance((q13 + q23) + q33, s3, 1.f /  6, 1.f /  5);
    float v12 = (v1 + v2) * .5f;
    // frequency variations of the oriented sets
    float f1 = bliinds_set_variation(set1, a1);
    float f2 = bliinds_set_variation(set2, a2);
    float f3 = bliinds_set_variation(set3, a3);
    float f  = ((f1 + f2) + f3) * (1.f / 3);
    float d1 = f1 - f, d2 = f2 - f, d3 = f3 - f;
    // mean absolute deviation of the AC coefficients
    float sub, mean = s * (1.f / 24);
    float dev  = ((BLIINDS_SET1(DEV) + BLIINDS_SET2(DEV)) + BLIINDS_SET3(DEV)) * (1.f / 24);
#undef MAG
#undef SQR
#undef DEV

    dst->zeta = bliinds_freq_variation(q, a, 1.f / 24, 1.f / 23);
    dst->rho  = bliinds_div(bliinds_variance(q, s, 1.f / 24, 1.f / 23), dev * dev + 1e-7f);
    // deviation from the paper, as in the release: the second ratio divides by v3 + v1
    sub = (bliinds_div(fabsf(v3 - v12), (v3 + v12) + 1e-8f) +
           bliinds_div(fabsf(v2 - v1),  (v3 + v1)  + 1e-8f)) * .5f;
    dst->sub  = sub < BLIINDS_SUB_MAX ? sub : BLIINDS_SUB_MAX;
    dst->ori  = ((d1 * d1 + d2 * d2) + d3 * d3) * .5f;
    dst->band[0] = v1;
    dst->band[1] = v2;
    dst->band[2] = v3;
}

/// Return 1 if the samples of a block are equal apart from rounding errors of its level, else 0.
SHARED_INLINE int bliinds_is_flat(const float band[3])
{
    return (band[0] + band[1]) + band[2] <= BLIINDS_FLAT_VARIANCE;
}

/**
 * Look up the shape gamma of the generalised Gaussian.
 *
 * The result is j with table[j + 1] < rho <= table[j], without interpolation. A rational
 * approximation of the inverse of the table yields j or a neighbour; two comparisons correct it.
 *
 * @param table BLIINDS_GAMMA_NB values of rho, strictly decreasing: ff_bliinds_gamma_table()
 * @param rho   ratio of a block
 * @return index of the shape, or BLIINDS_GAMMA_NONE if rho is not above the last value of the
 *         table, as in flat blocks
 */
SHARED_INLINE int bliinds_gamma(const float *table, float rho)
{
    const float last = table[BLIINDS_GAMMA_NB - 1];
    const float r = rho > last ? rho : last;
    float u, p, q;
    int j;

    u = bliinds_approx_rsqrt(r - 1.33333333f);
    p = ((1.337007827f * u + 1.668365978e-1f) * u + 6.500588432e-1f) * u + 5.727267102e-2f;
    q =  (9.041299184e-1f * u + 9.825797097e-1f) * u + 1.f;
    j = (bliinds_approx_div(p, q) - .03f) * 1000.f;
    j = j < BLIINDS_GAMMA_NB - 2 ? j : BLIINDS_GAMMA_NB - 2;
    j += (r <= table[j + 1]) - (r > table[j]);

    return rho > last ? j : BLIINDS_GAMMA_NONE;
}

/// Convert an index returned by bliinds_gamma() to the shape in thousandths.
SHARED_INLINE int bliinds_gamma_value(int index)
{
    return index == BLIINDS_GAMMA_NONE ? BLIINDS_GAMMA_FLAT : BLIINDS_GAMMA_MIN + index;
}

/**
 * Convert a value of BLIINDSBlock to unsigned 32.32 fixed point, whose sums do not depend on the
 * order of additions. All values are below 2^19, so that 64 bits hold the sum of 2^13.
 */
SHARED_INLINE uint64_t bliinds_fixed(float x)
{
    return (uint64_t)(int64_t)(x * 4294967296.f);
}

/**
 * Return 1 if a block straddles a line of the 8x8 grid on which most codecs transform, else 0.
 *
 * A block is aligned with the grid if it straddles no line along either axis.
 *
 * @param b index of the block along one axis
 */
SHARED_INLINE int bliinds_is_straddling(int b)
{
    int first = (BLIINDS_STEP * b - 1) & 7;

    return first + BLIINDS_BLOCK > 8;
}

// ---- sums over the blocks of a level ----

/// Pooled statistics of a block; gamma is pooled as shape in thousandths.
enum BLIINDSStatistic {
    BLIINDS_ZETA,
    BLIINDS_SUB,
    BLIINDS_ORI,
    BLIINDS_GAMMA,
    BLIINDS_NB_STATISTICS
};

/// Exact sum of bliinds_fixed() values: integer + fraction * 2^-32, where fraction may exceed 2^32.
typedef struct BLIINDSSum {
    uint64_t integer, fraction;
} BLIINDSSum;

/// Sums of one statistic over the blocks of a level; all 0 if only the bands are computed.
typedef struct BLIINDSPooled {
    BLIINDSSum by_class[2]; ///< over the blocks aligned with the 8x8 grid, and straddling it
    BLIINDSSum pooled10;    ///< over the bliinds_nb_pooled10() blocks of worst quality
} BLIINDSPooled;

/// Sums over the blocks of a level. Integers make the order of additions irrelevant.
typedef struct BLIINDSLevelSums {
    BLIINDSPooled pooled[BLIINDS_NB_STATISTICS];
    BLIINDSSum band[2][3];  ///< [grid class][band]; levels 2 and 3 may use one class only
    uint64_t nb_flat;       ///< level 1: number of flat blocks; levels 2 and 3 may leave it 0
    /// level 3: sums of |d| and d^2, d = bliinds_motion_sample() minus that of the previous frame
    uint64_t motion[2];
} BLIINDSLevelSums;

/// Fraction bits of bliinds_motion_sample().
#define BLIINDS_MOTION_FRAC_BITS 7

/// Reduce a level 3 sample to the precision kept for the next frame. Its value is in -16..255.
SHARED_INLINE int16_t bliinds_motion_sample(int32_t sample)
{
    return sample >> (BLIINDS_FRAC_BITS - BLIINDS_MOTION_FRAC_BITS);
}

/// Add a bliinds_fixed() value, or a sum of up to 2^13 of them, to a sum.
SHARED_INLINE void bliinds_sum_add(BLIINDSSum *dst, uint64_t fixed)
{
    dst->integer  += fixed >> 32;
    dst->fraction += (uint32_t)fixed;
}

/// Return the number of blocks along a side of n samples.
SHARED_INLINE int bliinds_nb_blocks(int n)
{
    return (n + BLIINDS_STEP - 1) / BLIINDS_STEP;
}

/// Return the number of blocks of a picture of w x h samples at level l, counted from 0.
SHARED_INLINE int bliinds_level_blocks(int w, int h, int l)
{
    return bliinds_nb_blocks(w >> l) * bliinds_nb_blocks(h >> l);
}

/// Return how many of n blocks along a side are aligned with the 8x8 grid: 4 of each 8.
SHARED_INLINE int bliinds_nb_aligned(int n)
{
    int nb = n / 8 * 4;

    for (int b = 0; b < n % 8; b++)
        nb += !bliinds_is_straddling(b);
    return nb;
}

/// Return the number of blocks in 10 % of n, rounded up, for the percentile pooling of the paper.
SHARED_INLINE int bliinds_nb_pooled10(int n)
{
    return (n + 9) / 10;
}

#endif /* AVFILTER_BLIINDS_BLOCK_H */
