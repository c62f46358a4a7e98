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
 * The arithmetic of SpEED of chroma, how much the entropy of U and V has changed: the only copy,
 * included by C and by CUDA C. Each rounding of it counts: they are those of libvmaf.
 *
 * Christos G. Bampis, Praful Gupta, Rajiv Soundararajan and Alan C. Bovik, "SpEED-QA: Spatial
 * Efficient Entropic Differencing for Image and Video Quality", IEEE Signal Processing Letters
 * 24(9), 2017.
 */

#ifndef AVFILTER_VMAF_SPEED_OPS_H
#define AVFILTER_VMAF_SPEED_OPS_H

#include <stdint.h>

#include "cuda/shared.h"
#include "vmaf_ops.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#define vmaf_sqrtf(x) exact_sqrt(x)

/// 1 / sqrt(x) of a float from 1 to 2, correctly rounded: tried for each one, with all guesses that
/// are up to eight steps away. Of the square no bit is lost.
SHARED_INLINE float vmaf_rsqrt(float x)
{
    float guess = guess_rsqrt(x), square, rest;

    rest   = __builtin_fmaf(-x * guess, guess, 1);
    guess  = __builtin_fmaf(guess, rest / 2, guess);
    square = guess * guess;
    rest   = __builtin_fmaf(-x, square, 1);
    rest   = __builtin_fmaf(-x, __builtin_fmaf(guess, guess, -square), rest);
    return __builtin_fmaf(guess, rest / 2, guess);
}
#else
#include <math.h>
#define vmaf_sqrtf(x) sqrtf(x)
#define vmaf_rsqrt(x) (1.0 / sqrt((double)(x)))
#endif

/// Side of a block, and its samples.
#define VMAF_SPEED_SIDE  5
#define VMAF_SPEED_BLOCK (VMAF_SPEED_SIDE * VMAF_SPEED_SIDE)

/// A row of a matrix, with room for whole vectors.
#define VMAF_SPEED_STRIDE 32

/// Taps of the blur, of whose output one of so many samples is kept.
#define VMAF_SPEED_TAPS 9
#define VMAF_SPEED_STEP 16

#define VMAF_SPEED_BLUR {                                                                   \
    0x1.35db8cp-4f, 0x1.95ed7p-4f, 0x1.ec4b3cp-4f, 0x1.1459bp-3f, 0x1.1f3866p-3f,           \
    0x1.1459bp-3f, 0x1.ec4b3cp-4f, 0x1.95ed7p-4f, 0x1.35db8cp-4f }

/// Eigenvalues below it are of a matrix that has no inverse.
#define VMAF_SPEED_SINGULAR 1e-6

#define VMAF_SPEED_NOISE          0.19f             ///< that the eye adds: its variance
#define VMAF_SPEED_ENTROPY_OF_ONE 4.094191170361282 ///< log2(2 pi e)

/// A plane of chroma.
typedef struct VMAFSpeedPicture {
    int chroma_w, chroma_h; ///< without half samples
    int is_scaled;
    int w, h;               ///< that are measured
    int grid_w, grid_h;     ///< what is left of it
    int blocks_w, nb_blocks;
    float none;             ///< entropy of a block that shows nothing
} VMAFSpeedPicture;

/// Between which samples a scaled one lies.
typedef struct VMAFSpeedPosition {
    int before, after;
    float part;             ///< of the one after
} VMAFSpeedPosition;

/// A sample in 8-bit steps around zero.
SHARED_INLINE float vmaf_speed_value(int sample, int depth)
{
    return sample * (1.f / (1 << (depth - 8))) - 128;
}

/// What lies between four samples.
SHARED_INLINE float vmaf_speed_between(float dx, float dy, float a, float b, float c, float d)
{
    return (1 - dy) * (1 - dx) * a + (1 - dy) * dx * b + dy * (1 - dx) * c + dy * dx * d;
}

/// The mean of three, of which the grid keeps what differs.
SHARED_INLINE float vmaf_speed_smooth(float a, float b, float c)
{
    const float side = 0x1.54be42p-3f, middle = 0x1.55a0dep-1f;

    return side * a + middle * b + side * c;
}

typedef float VMAFSpeedMatrix[VMAF_SPEED_BLOCK][VMAF_SPEED_STRIDE];

/// A symmetric matrix, and what comes of it.
typedef struct VMAFSpeedWork {
    VMAFSpeedMatrix given, m;       ///< as it was, and what is worked on
    float v[VMAF_SPEED_BLOCK], y[VMAF_SPEED_BLOCK], change[VMAF_SPEED_BLOCK];
    float value[VMAF_SPEED_BLOCK];  ///< the diagonal, then the eigenvalues
    float side[VMAF_SPEED_BLOCK];   ///< beside the diagonal
    VMAFSpeedMatrix factor[2];      ///< m is a product of a triangular one, and this
    VMAFSpeedMatrix next[2];
} VMAFSpeedWork;

/// Wait for the others that share the work on a matrix; the CPU has none.
#ifndef VMAF_SYNC
#define VMAF_SYNC()
#endif

/// Lanes that share a row of a matrix, and its elements for each. They wait for each other, and
/// join their bits.
#ifndef VMAF_SPEED_LANES
#define VMAF_SPEED_LANES      1
#define VMAF_SYNC_LANES()
#define VMAF_JOIN_LANES(bits) (bits)
#endif
#define VMAF_SPEED_SHARE (VMAF_SPEED_STRIDE / VMAF_SPEED_LANES)

SHARED_INLINE float vmaf_hypotenuse(float a, float b)
{
    return vmaf_sqrtf(a * a + b * b);
}

/// The sum of squares in a column, from a row on. With many lanes the loop has a fixed length, as
/// it takes less time then.
SHARED_INLINE float vmaf_squares(VMAFSpeedMatrix m, int first, int column, float sum)
{
    UNROLL
    for (int i = VMAF_SPEED_LANES > 1 ? 0 : first; i < VMAF_SPEED_BLOCK; i++)
        sum += i >= first ? m[i][column] * m[i][column] : 0;
    return sum;
}

/**
 * Reduce the given matrix to its diagonal and the one beside it, by Householder's reflections.
 *
 * @param lane one of nb_lanes that share the work: 0 of 1, or of whole warps
 */
SHARED_INLINE void vmaf_tridiagonalize(VMAFSpeedWork *s, int lane, int nb_lanes)
{
    const int width = VMAF_SPEED_LANES, row = lane / width, column = lane % width;

    for (int r = row; r < VMAF_SPEED_BLOCK; r += nb_lanes / width)
        for (int i = column; i < VMAF_SPEED_BLOCK; i += width)
            s->m[r][i] = s->given[r][i];
    VMAF_SYNC();
    for (int j = 0; j < VMAF_SPEED_BLOCK - 2; j++) {
        const int first = j + 1, n = VMAF_SPEED_BLOCK - first;
        const float head = s->m[first][j];
        const float rest = vmaf_sqrtf(vmaf_squares(s->m, first + 1, j, 0));
        float dot = 0, beta, tau, pivot, factor;

        if (!lane)
            s->side[j] = head;
        if (rest == 0)
            continue;
        beta  = head >= 0 ? -vmaf_hypotenuse(head, rest) : vmaf_hypotenuse(head, rest);
        tau   = (beta - head) / beta;
        pivot = head - beta;
        if (!lane && pivot != 0)
            s->side[j] = beta;
        if (tau == 0)
            continue;
        for (int i = lane; i < n; i += nb_lanes)
            s->v[i] = !i ? 1 : pivot != 0 ? s->m[first + i][j] / pivot : s->m[first + i][j];
        VMAF_SYNC();
        for (int r = lane; r < n; r += nb_lanes) {
            float y = 0;

            // it is symmetric
            UNROLL_SOME
            for (int i = 0; i < n; i++)
                y += tau * s->m[first + i][first + r] * s->v[i];
            s->y[r] = y;
        }
        VMAF_SYNC();
        UNROLL_SOME
        for (int i = 0; i < n; i++)
            dot += s->y[i] * s->v[i];
        factor = -0.5 * tau * dot;
        for (int i = lane; i < n; i += nb_lanes)
            s->change[i] = s->y[i] + factor * s->v[i];
        VMAF_SYNC();
        for (int r = row; r < n; r += nb_lanes / width)
            for (int i = column; i < n; i += width)
                s->m[first + r][first + i] -= s->change[r] * s->v[i] + s->v[r] * s->change[i];
        VMAF_SYNC();
    }
    for (int i = lane; i < VMAF_SPEED_BLOCK; i += nb_lanes)
        s->value[i] = s->m[i][i];
    if (!lane)
        s->side[VMAF_SPEED_BLOCK - 2] = s->m[VMAF_SPEED_BLOCK - 1][VMAF_SPEED_BLOCK - 2];
    VMAF_SYNC();
}

/// Clear what is too small beside the diagonal. @return a bit for each of what is left
SHARED_INLINE uint32_t vmaf_chop(const float *d, float *e, int from, int to, int lane)
{
    uint32_t left = 0;

    for (int i = lane; i < VMAF_SPEED_BLOCK - 1; i += VMAF_SPEED_LANES) {
        if (i >= from && i < to &&
            vmaf_fabsf(e[i]) < VMAF_SPEED_SINGULAR * (vmaf_fabsf(d[i]) + vmaf_fabsf(d[i + 1])))
            e[i] = 0;
        left |= (uint32_t)(e[i] != 0) << i;
    }
    return VMAF_JOIN_LANES(left);
}

/// Wilkinson's shift: the eigenvalue of the last 2x2 block that is nearer to its end.
SHARED_INLINE float vmaf_wilkinson(const float *d, const float *e, int last)
{
    const float h = (d[last - 1] - d[last]) / 2, side = e[last - 1], q = d[last];

    return h > 0 ? q - side * (side / (h + vmaf_hypotenuse(h, side))) :
           h < 0 ? q + side * (side / (-h + vmaf_hypotenuse(h, side))) : q - vmaf_fabsf(side);
}

/// A QR sweep with an implicit shift, over a block that has no zeros beside its diagonal.
SHARED_INLINE void vmaf_sweep(float *d, float *e, int first, int last)
{
    float shift = vmaf_wilkinson(d, e, last), a = d[first], b = e[first], x, z = b;

    if (VMAF_SPEED_SINGULAR * vmaf_fabsf(shift) > vmaf_fabsf(a) + vmaf_fabsf(b))
        shift = 0;
    x = a - shift;
    for (int k = first; k < last; k++) {
        const float f = d[k + 1], after = k < last - 1 ? e[k + 1] : 0;
        float c = 1, s = 0;

        if (z != 0) {
            const int is_steep = vmaf_fabsf(z) > vmaf_fabsf(x);
            const float t      = is_steep ? -x / z : -z / x;
            const float major  = vmaf_rsqrt(1 + t * t), minor = major * t;

            c = is_steep ? minor : major;
            s = is_steep ? major : minor;
        }
        if (k > first)
            e[k - 1] = c * x - s * z;
        d[k] = c * (c * a - s * b) + s * (s * f - c * b);
        x    = c * (s * a + c * b) - s * (s * b + c * f);
        a    = s * (s * a + c * b) + c * (s * b + c * f);
        z    = -s * after;
        b    = c * after;
    }
    e[last - 1] = x;
    d[last]     = a;
}

/// Eigenvalues of a tridiagonal matrix, by as many lanes as share a row.
SHARED_INLINE void vmaf_eigenvalues(float *d, float *e, int lane)
{
    int last = VMAF_SPEED_BLOCK - 1;
    uint32_t beside = vmaf_chop(d, e, 0, last, lane);

    for (int sweeps = 0; last > 0 && sweeps < 500;) {
        // the zeros before the last block
        const union { float f; uint32_t i; } zeros = { (float)(~beside & (1 << (last - 1)) - 1) };
        const int first = zeros.f > 0 ? (int)(zeros.i >> 23) - 126 : 0;

        if (!(beside >> (last - 1) & 1)) {
            last--;
            continue;
        }
        VMAF_SYNC_LANES();
        if (!lane)
            vmaf_sweep(d, e, first, last);
        VMAF_SYNC_LANES();
        beside = vmaf_chop(d, e, first, last, lane);
        sweeps++;
    }
}

/// Add the products of a factor and a lane's elements of a row.
SHARED_INLINE void vmaf_add_row(float sum[VMAF_SPEED_SHARE], float factor, const float *row,
                                int lane)
{
    UNROLL
    for (int i = 0; i < VMAF_SPEED_SHARE; i++)
        sum[i] += factor * row[i * VMAF_SPEED_LANES + lane];
}

SHARED_INLINE void vmaf_set_row(float *row, const float sum[VMAF_SPEED_SHARE], int lane)
{
    UNROLL
    for (int i = 0; i < VMAF_SPEED_SHARE; i++)
        row[i * VMAF_SPEED_LANES + lane] = sum[i];
}

/// A row of the product of a reflection by v, whose first rows are those of a unit matrix, and m.
SHARED_INLINE void vmaf_reflect_row(float *dst, const float *v, int row, int first,
                                    VMAFSpeedMatrix m, int lane)
{
    float sum[VMAF_SPEED_SHARE] = { 0 };

    UNROLL_SOME
    for (int j = first; j < VMAF_SPEED_BLOCK; j++)
        vmaf_add_row(sum, -2 * v[row] * v[j] + (j == row), m[j], lane);
    vmaf_set_row(dst, sum, lane);
}

/**
 * Make a triangular matrix of the given one, by Householder's reflections, and their product.
 *
 * @return 0 if there is no inverse
 */
SHARED_INLINE int vmaf_triangulate(VMAFSpeedWork *s, int lane, int nb_lanes)
{
    const int width = VMAF_SPEED_LANES, row = lane / width, column = lane % width;
    const int nb_rows = nb_lanes / width, last = VMAF_SPEED_BLOCK - 1;
    float *v = s->v;
    int is_regular = 1;

    for (int r = row; r <= last; r += nb_rows)
        for (int i = column; i <= last; i += width) {
            s->factor[0][r][i] = s->given[r][i];
            s->factor[1][r][i] = r == i;
        }
    VMAF_SYNC();
    for (int k = 0; k < last; k++) {
        float length = vmaf_sqrtf(vmaf_squares(s->factor[0], k, k, 0));
        // the sign is that of the matrix as it was given, in libvmaf
        const float head = s->factor[0][k][k] + (s->given[k][k] >= 0 ? length : -length);

        length = vmaf_sqrtf(vmaf_squares(s->factor[0], k + 1, k, head * head));
        for (int i = k + lane; i <= last; i += nb_lanes)
            v[i] = (i == k ? head : s->factor[0][i][k]) / length;
        VMAF_SYNC();
        for (int r = 2 * k + row; r <= 2 * last + 1; r += nb_rows)
            vmaf_reflect_row(s->next[r & 1][r >> 1], v, r >> 1, k, s->factor[r & 1], column);
        VMAF_SYNC();
        for (int r = 2 * k + row; r <= 2 * last + 1; r += nb_rows)
            for (int i = column; i <= last; i += width)
                s->factor[r & 1][r >> 1][i] = s->next[r & 1][r >> 1][i];
        VMAF_SYNC();
    }
    for (int r = row; r <= last; r += nb_rows) {
        float sum[VMAF_SPEED_SHARE] = { 0 };

        UNROLL_SOME
        for (int j = 0; j <= last; j++)
            vmaf_add_row(sum, s->factor[1][r][j], s->given[j], column);
        vmaf_set_row(s->factor[0][r], sum, column);
    }
    VMAF_SYNC();
    for (int i = 0; i <= last; i++)
        is_regular &= !(vmaf_fabsf(s->factor[0][i][i]) < VMAF_SPEED_SINGULAR);
    return is_regular;
}

/// The binary logarithm of a positive number.
SHARED_INLINE double vmaf_log2(float x)
{
    union { double d; uint64_t i; } m = { x };
    int exponent = (int)(m.i >> 52) - 1023;
    double s, square, sum = 0;

    if (!(x > 0 && x <= 0x1.fffffep127f))
        return x > 0 ? x : (x - x) / (x - x);
    m.i = (m.i & 0xfffffffffffff) | 1023ull << 52;
    if (m.d > 1.4142135623730951) {
        m.d /= 2;
        exponent++;
    }
    // 2 / ln(2) times atanh(), by its series
    s      = (m.d - 1) / (m.d + 1);
    square = s * s;
    UNROLL
    for (int i = 21; i > 0; i -= 2)
        sum = sum * square + 2.8853900817779268 / i;
    return exponent + s * sum;
}

/// What an eigenvalue adds to the entropy of a block of a contrast, with what noise the eye adds.
SHARED_INLINE double vmaf_speed_entropy(float value, float contrast)
{
    return vmaf_log2((value > 0 ? value : 0) * contrast + VMAF_SPEED_NOISE) +
           VMAF_SPEED_ENTROPY_OF_ONE;
}

/// The contrasts of as many blocks as a lane has elements of a row, by the inverse of the matrix.
SHARED_INLINE void vmaf_speed_contrast(float contrast[VMAF_SPEED_SHARE],
                                       const VMAFSpeedMatrix factor[2],
                                       const float *const block[VMAF_SPEED_SHARE], int stride)
{
    float x[VMAF_SPEED_BLOCK][VMAF_SPEED_SHARE], y[VMAF_SPEED_BLOCK][VMAF_SPEED_SHARE];

    UNROLL
    for (int i = 0; i < VMAF_SPEED_BLOCK; i++)
        for (int b = 0; b < VMAF_SPEED_SHARE; b++) {
            x[i][b] = 0;
            y[i][b] = block[b][i / VMAF_SPEED_SIDE * stride + i % VMAF_SPEED_SIDE];
        }
    UNROLL
    for (int i = 0; i < VMAF_SPEED_BLOCK; i++)
        UNROLL
        for (int k = 0; k < VMAF_SPEED_BLOCK; k++)
            vmaf_add_row(x[i], factor[1][i][k], y[k], 0);
    UNROLL
    for (int i = VMAF_SPEED_BLOCK - 1; i >= 0; i--) {
        UNROLL
        for (int k = i + 1; k < VMAF_SPEED_BLOCK; k++)
            vmaf_add_row(x[i], -factor[0][i][k], x[k], 0);
        for (int b = 0; b < VMAF_SPEED_SHARE; b++)
            x[i][b] /= factor[0][i][i];
    }
    for (int b = 0; b < VMAF_SPEED_SHARE; b++) {
        contrast[b] = 0;
        UNROLL
        for (int i = 0; i < VMAF_SPEED_BLOCK; i++)
            contrast[b] += x[i][b] * y[i][b] / VMAF_SPEED_BLOCK;
    }
}

#endif /* AVFILTER_VMAF_SPEED_OPS_H */
