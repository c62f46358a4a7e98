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
 * Arithmetic of SpEED chroma, the change of the entropy of U and V, shared by C and CUDA C. The order
 * and rounding of each operation are libvmaf's (speed.c).
 *
 * Christos G. Bampis, Praful Gupta, Rajiv Soundararajan and Alan C. Bovik, "SpEED-QA: Spatial
 * Efficient Entropic Differencing for Image and Video Quality", IEEE Signal Processing Letters
 * 24(9), 2017.
 */

#ifndef AVFILTER_VMAF_SPEED_OPS_H
#define AVFILTER_VMAF_SPEED_OPS_H

#include <stdint.h>

#include "shared_arith.h"
#include "vmaf_ops.h"

#if defined(__CUDACC__) || defined(__CUDA__)
#define speed_sqrtf(x) exact_sqrt(x)

/// Return 1 / sqrt(x) of a float from 1 to 2, correctly rounded: tested for every such float, with all
/// guesses that are up to eight steps away. The square keeps all its bits.
SHARED_INLINE float speed_rsqrt(float x)
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
#define speed_sqrtf(x) sqrtf(x)
#define speed_rsqrt(x) (1.0 / sqrt((double)(x)))
#endif

#define SPEED_SIDE   5      ///< side of a block, in samples of the grid
#define SPEED_BLOCK  (SPEED_SIDE * SPEED_SIDE)
#define SPEED_STRIDE 32     ///< elements of a row of a matrix, with room for whole vectors
#define SPEED_TAPS   9      ///< taps of the blur
#define SPEED_STEP   16     ///< one of so many blurred samples, in both directions, is in the grid

#define SPEED_BLUR {                                                                   \
    0x1.35db8cp-4f, 0x1.95ed7p-4f, 0x1.ec4b3cp-4f, 0x1.1459bp-3f, 0x1.1f3866p-3f,           \
    0x1.1459bp-3f, 0x1.ec4b3cp-4f, 0x1.95ed7p-4f, 0x1.35db8cp-4f }

#define SPEED_SINGULAR  1e-6                ///< a matrix with a smaller eigenvalue is singular
#define SPEED_SIGMA_NN  0.19f               ///< variance of the neural noise
#define SPEED_LOG2_2PIE 4.094191170361282   ///< log2(2 pi e)

/// Dimensions of a chroma plane.
typedef struct SpeedDims {
    int chroma_w, chroma_h; ///< size of the plane, without half samples
    int is_scaled;
    int w, h;               ///< size after the prescaling
    int grid_w, grid_h;     ///< size of the grid of blurred samples
    int blocks_w, nb_blocks;
    float base_entropy;     ///< entropy below which a block is ignored
} SpeedDims;

/// Source of a scaled row or column: two indices and the weight of the second one.
typedef struct SpeedPosition {
    int before, after;
    float weight;
} SpeedPosition;

/// Convert a sample to the range of 8 bits, centred on zero.
SHARED_INLINE float speed_center(int sample, int depth)
{
    return sample * (1.f / (1 << (depth - 8))) - 128;
}

/// Interpolate between four samples.
SHARED_INLINE float speed_bilinear(float dx, float dy, float a, float b, float c, float d)
{
    return (1 - dy) * (1 - dx) * a + (1 - dy) * dx * b + dy * (1 - dx) * c + dy * dx * d;
}

/// Filter three samples: the local mean, which is subtracted from the grid.
SHARED_INLINE float lowpass3(float a, float b, float c)
{
    const float side = 0x1.54be42p-3f, middle = 0x1.55a0dep-1f;

    return side * a + middle * b + side * c;
}

typedef float SpeedMatrix[SPEED_BLOCK][SPEED_STRIDE];

/// Decompositions of a covariance matrix, and their working memory.
typedef struct SpeedWork {
    SpeedMatrix cov;                ///< covariance matrix, symmetric
    SpeedMatrix a;                  ///< copy that is tridiagonalized in place
    float v[SPEED_BLOCK], y[SPEED_BLOCK], w[SPEED_BLOCK];
    float eigenvalue[SPEED_BLOCK];  ///< diagonal of the tridiagonal matrix, then the eigenvalues
    float subdiag[SPEED_BLOCK];     ///< subdiagonal of the tridiagonal matrix
    SpeedMatrix rq[2];              ///< QR decomposition: r, then the transpose of q
    SpeedMatrix next[2];
} SpeedWork;

/// Wait for the other threads that share the work on a matrix. The CPU has none.
#ifndef SPEED_SYNC
#define SPEED_SYNC()
#endif

/// Lanes that share a row of a matrix, their barrier, and the bitwise or over them.
#ifndef SPEED_LANES
#define SPEED_LANES      1
#define SPEED_SYNC_LANES()
#define SPEED_JOIN_LANES(bits) (bits)
#endif
/// Elements of a row for each lane.
#define SPEED_PER_LANE (SPEED_STRIDE / SPEED_LANES)

SHARED_INLINE float pythagoras(float a, float b)
{
    return speed_sqrtf(a * a + b * b);
}

/// Add the squares of a column, from a row on. With many lanes the loop has a fixed length, which is
/// faster.
SHARED_INLINE float sum_of_squares(SpeedMatrix m, int first, int column, float sum)
{
    UNROLL
    for (int i = SPEED_LANES > 1 ? 0 : first; i < SPEED_BLOCK; i++)
        sum += i >= first ? m[i][column] * m[i][column] : 0;
    return sum;
}

/**
 * Tridiagonalize cov by Householder reflections: set eigenvalue to the diagonal and subdiag.
 *
 * @param lane one of nb_lanes that share the work: 0 of 1, or of whole warps
 */
SHARED_INLINE void tridiagonalize(SpeedWork *s, int lane, int nb_lanes)
{
    const int width = SPEED_LANES, row = lane / width, column = lane % width;

    for (int r = row; r < SPEED_BLOCK; r += nb_lanes / width)
        for (int i = column; i < SPEED_BLOCK; i += width)
            s->a[r][i] = s->cov[r][i];
    SPEED_SYNC();
    for (int j = 0; j < SPEED_BLOCK - 2; j++) {
        const int first = j + 1, n = SPEED_BLOCK - first;
        const float head = s->a[first][j];
        const float rest = speed_sqrtf(sum_of_squares(s->a, first + 1, j, 0));
        float dot = 0, beta, tau, pivot, factor;

        if (!lane)
            s->subdiag[j] = head;
        if (rest == 0)
            continue;
        beta  = head >= 0 ? -pythagoras(head, rest) : pythagoras(head, rest);
        tau   = (beta - head) / beta;
        pivot = head - beta;
        if (!lane && pivot != 0)
            s->subdiag[j] = beta;
        if (tau == 0)
            continue;
        for (int i = lane; i < n; i += nb_lanes)
            s->v[i] = !i ? 1 : pivot != 0 ? s->a[first + i][j] / pivot : s->a[first + i][j];
        SPEED_SYNC();
        for (int r = lane; r < n; r += nb_lanes) {
            float y = 0;

            // it is symmetric
            UNROLL_SOME
            for (int i = 0; i < n; i++)
                y += tau * s->a[first + i][first + r] * s->v[i];
            s->y[r] = y;
        }
        SPEED_SYNC();
        UNROLL_SOME
        for (int i = 0; i < n; i++)
            dot += s->y[i] * s->v[i];
        factor = -0.5 * tau * dot;
        for (int i = lane; i < n; i += nb_lanes)
            s->w[i] = s->y[i] + factor * s->v[i];
        SPEED_SYNC();
        for (int r = row; r < n; r += nb_lanes / width)
            for (int i = column; i < n; i += width)
                s->a[first + r][first + i] -= s->w[r] * s->v[i] + s->v[r] * s->w[i];
        SPEED_SYNC();
    }
    for (int i = lane; i < SPEED_BLOCK; i += nb_lanes)
        s->eigenvalue[i] = s->a[i][i];
    if (!lane)
        s->subdiag[SPEED_BLOCK - 2] = s->a[SPEED_BLOCK - 1][SPEED_BLOCK - 2];
    SPEED_SYNC();
}

/// Clear small subdiagonal elements, from <= i < to. @return a bit for each nonzero one, of all
SHARED_INLINE uint32_t chop_small_elements(const float *d, float *e, int from, int to, int lane)
{
    uint32_t left = 0;

    for (int i = lane; i < SPEED_BLOCK - 1; i += SPEED_LANES) {
        if (i >= from && i < to &&
            vmaf_fabsf(e[i]) < SPEED_SINGULAR * (vmaf_fabsf(d[i]) + vmaf_fabsf(d[i + 1])))
            e[i] = 0;
        left |= (uint32_t)(e[i] != 0) << i;
    }
    return SPEED_JOIN_LANES(left);
}

/// Return Wilkinson's shift: the eigenvalue of the last 2x2 block that is nearer to its last element.
SHARED_INLINE float wilkinson_shift(const float *d, const float *e, int last)
{
    const float h = (d[last - 1] - d[last]) / 2, side = e[last - 1], q = d[last];

    return h > 0 ? q - side * (side / (h + pythagoras(h, side))) :
           h < 0 ? q + side * (side / (-h + pythagoras(h, side))) : q - vmaf_fabsf(side);
}

/// Do a QR step with implicit shift on the block from first to last, whose subdiagonal has no zeros.
SHARED_INLINE void qr_step(float *d, float *e, int first, int last)
{
    float shift = wilkinson_shift(d, e, last), a = d[first], b = e[first], x, z = b;

    if (SPEED_SINGULAR * vmaf_fabsf(shift) > vmaf_fabsf(a) + vmaf_fabsf(b))
        shift = 0;
    x = a - shift;
    for (int k = first; k < last; k++) {
        const float f = d[k + 1], after = k < last - 1 ? e[k + 1] : 0;
        float c = 1, s = 0;

        if (z != 0) {
            const int is_steep = vmaf_fabsf(z) > vmaf_fabsf(x);
            const float t      = is_steep ? -x / z : -z / x;
            const float major  = speed_rsqrt(1 + t * t), minor = major * t;

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

/// Replace the diagonal d of a tridiagonal matrix with the eigenvalues, by SPEED_LANES lanes.
SHARED_INLINE void tridiagonal_eigenvalues(float *d, float *e, int lane)
{
    int last = SPEED_BLOCK - 1;
    uint32_t beside = chop_small_elements(d, e, 0, last, lane);

    for (int sweeps = 0; last > 0 && sweeps < 500;) {
        // the zeros of the subdiagonal before the last block
        const union { float f; uint32_t i; } zeros = { (float)(~beside & (1 << (last - 1)) - 1) };
        const int first = zeros.f > 0 ? (int)(zeros.i >> 23) - 126 : 0;

        if (!(beside >> (last - 1) & 1)) {
            last--;
            continue;
        }
        SPEED_SYNC_LANES();
        if (!lane)
            qr_step(d, e, first, last);
        SPEED_SYNC_LANES();
        beside = chop_small_elements(d, e, first, last, lane);
        sweeps++;
    }
}

/// Add a factor times a lane's elements of a row.
SHARED_INLINE void add_scaled_row(float sum[SPEED_PER_LANE], float factor, const float *row,
                                int lane)
{
    UNROLL
    for (int i = 0; i < SPEED_PER_LANE; i++)
        sum[i] += factor * row[i * SPEED_LANES + lane];
}

/// Store a lane's elements of a row.
SHARED_INLINE void store_row(float *row, const float sum[SPEED_PER_LANE], int lane)
{
    UNROLL
    for (int i = 0; i < SPEED_PER_LANE; i++)
        row[i * SPEED_LANES + lane] = sum[i];
}

/// Compute a row of the product of a reflection by v, whose first rows are those of the unit matrix,
/// and m.
SHARED_INLINE void reflect_row(float *dst, const float *v, int row, int first,
                                    SpeedMatrix m, int lane)
{
    float sum[SPEED_PER_LANE] = { 0 };

    UNROLL_SOME
    for (int j = first; j < SPEED_BLOCK; j++)
        add_scaled_row(sum, -2 * v[row] * v[j] + (j == row), m[j], lane);
    store_row(dst, sum, lane);
}

/**
 * Make a triangular matrix of the given one, by Householder's reflections, and their product.
 *
 * @return 0 if there is no inverse
 */
SHARED_INLINE int qr_decompose(SpeedWork *s, int lane, int nb_lanes)
{
    const int width = SPEED_LANES, row = lane / width, column = lane % width;
    const int nb_rows = nb_lanes / width, last = SPEED_BLOCK - 1;
    float *v = s->v;
    int is_regular = 1;

    for (int r = row; r <= last; r += nb_rows)
        for (int i = column; i <= last; i += width) {
            s->rq[0][r][i] = s->cov[r][i];
            s->rq[1][r][i] = r == i;
        }
    SPEED_SYNC();
    for (int k = 0; k < last; k++) {
        float length = speed_sqrtf(sum_of_squares(s->rq[0], k, k, 0));
        // libvmaf takes the sign of the covariance's element
        const float head = s->rq[0][k][k] + (s->cov[k][k] >= 0 ? length : -length);

        length = speed_sqrtf(sum_of_squares(s->rq[0], k + 1, k, head * head));
        for (int i = k + lane; i <= last; i += nb_lanes)
            v[i] = (i == k ? head : s->rq[0][i][k]) / length;
        SPEED_SYNC();
        for (int r = 2 * k + row; r <= 2 * last + 1; r += nb_rows)
            reflect_row(s->next[r & 1][r >> 1], v, r >> 1, k, s->rq[r & 1], column);
        SPEED_SYNC();
        for (int r = 2 * k + row; r <= 2 * last + 1; r += nb_rows)
            for (int i = column; i <= last; i += width)
                s->rq[r & 1][r >> 1][i] = s->next[r & 1][r >> 1][i];
        SPEED_SYNC();
    }
    for (int r = row; r <= last; r += nb_rows) {
        float sum[SPEED_PER_LANE] = { 0 };

        UNROLL_SOME
        for (int j = 0; j <= last; j++)
            add_scaled_row(sum, s->rq[1][r][j], s->cov[j], column);
        store_row(s->rq[0][r], sum, column);
    }
    SPEED_SYNC();
    for (int i = 0; i <= last; i++)
        is_regular &= !(vmaf_fabsf(s->rq[0][i][i]) < SPEED_SINGULAR);
    return is_regular;
}

/// Return the binary logarithm of a positive number.
SHARED_INLINE double speed_log2(float x)
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
    // the series of 2 / ln(2) * atanh()
    s      = (m.d - 1) / (m.d + 1);
    square = s * s;
    UNROLL
    for (int i = 21; i > 0; i -= 2)
        sum = sum * square + 2.8853900817779268 / i;
    return exponent + s * sum;
}

/// Return the share of an eigenvalue in the entropy of a block of a variance, with neural noise.
SHARED_INLINE double speed_entropy(float eigenvalue, float variance)
{
    return speed_log2((eigenvalue > 0 ? eigenvalue : 0) * variance + SPEED_SIGMA_NN) +
           SPEED_LOG2_2PIE;
}

/// Compute the variances (the multipliers s^2 of the paper) of SPEED_PER_LANE blocks by the QR
/// decomposition of the covariance. stride is that of the grid.
SHARED_INLINE void speed_variances(float variance[SPEED_PER_LANE],
                                       const SpeedMatrix rq[2],
                                       const float *const block[SPEED_PER_LANE], int stride)
{
    float x[SPEED_BLOCK][SPEED_PER_LANE], y[SPEED_BLOCK][SPEED_PER_LANE];

    UNROLL
    for (int i = 0; i < SPEED_BLOCK; i++)
        for (int b = 0; b < SPEED_PER_LANE; b++) {
            x[i][b] = 0;
            y[i][b] = block[b][i / SPEED_SIDE * stride + i % SPEED_SIDE];
        }
    UNROLL
    for (int i = 0; i < SPEED_BLOCK; i++)
        UNROLL
        for (int k = 0; k < SPEED_BLOCK; k++)
            add_scaled_row(x[i], rq[1][i][k], y[k], 0);
    UNROLL
    for (int i = SPEED_BLOCK - 1; i >= 0; i--) {
        UNROLL
        for (int k = i + 1; k < SPEED_BLOCK; k++)
            add_scaled_row(x[i], -rq[0][i][k], x[k], 0);
        for (int b = 0; b < SPEED_PER_LANE; b++)
            x[i][b] /= rq[0][i][i];
    }
    for (int b = 0; b < SPEED_PER_LANE; b++) {
        variance[b] = 0;
        UNROLL
        for (int i = 0; i < SPEED_BLOCK; i++)
            variance[b] += x[i][b] * y[i][b] / SPEED_BLOCK;
    }
}

#endif /* AVFILTER_VMAF_SPEED_OPS_H */
