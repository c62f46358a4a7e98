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
 * Stockham's and Bluestein's algorithms on interleaved lines, see mad_tx.h
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/error.h"
#include "libavutil/macros.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"

#include "cuda/fft.h"
#include "mad_tx.h"

#define MAX_RADIX  7
#define MAX_PASSES 32

/// Complex factor that all lanes share.
typedef struct Complex {
    float re, im;
} Complex;

/// Pass of Stockham's algorithm: short transforms, whose values are then multiplied by twiddles.
typedef struct Pass {
    int radix;                  ///< length of the short transforms
    int nb_twiddles;            ///< number of short transforms with different twiddles
    Complex *twiddle;           ///< [nb_twiddles][radix - 1]: the first value needs none
    Complex roots[MAX_RADIX];   ///< powers of the radix-th root of unity
} Pass;

struct MADTransform {
    int length;
    int size;                   ///< length of the passes; greater than length with a chirp
    Pass pass[MAX_PASSES];
    int nb_passes;
    Complex *chirp;             ///< [length] chirp of Bluestein's algorithm, or NULL for Stockham's
    Complex *chirp_filter;      ///< [size] transform of the conjugate chirp, divided by size
};

/// Transform radix values of a lane in place.
static av_always_inline void small_dft(float *re, float *im, const Complex *roots, int radix)
{
    const float re0 = re[0], im0 = im[0];

    if (radix == 2) {
        re[0] = re0 + re[1];
        im[0] = im0 + im[1];
        re[1] = re0 - re[1];
        im[1] = im0 - im[1];
    } else if (radix == 4) {
        const float a = re0 + re[2],   b = im0 + im[2],   c = re0 - re[2],   d = im0 - im[2];
        const float e = re[1] + re[3], f = im[1] + im[3], g = re[1] - re[3], h = im[1] - im[3];

        re[0] = a + e;
        im[0] = b + f;
        re[1] = c + h;
        im[1] = d - g;
        re[2] = a - e;
        im[2] = b - f;
        re[3] = c - h;
        im[3] = d + g;
    } else {
        float sum[2][MAX_RADIX], difference[2][MAX_RADIX];

        for (int i = 1; i <= radix / 2; i++) {
            sum[0][i]        = re[i] + re[radix - i];
            sum[1][i]        = im[i] + im[radix - i];
            difference[0][i] = re[i] - re[radix - i];
            difference[1][i] = im[i] - im[radix - i];
            re[0] += sum[0][i];
            im[0] += sum[1][i];
        }
        for (int k = 1; k <= radix / 2; k++) {
            float a = re0, b = im0, c = 0, d = 0;

            for (int i = 1; i <= radix / 2; i++) {
                const Complex w = roots[i * k % radix];

                a += w.re * sum[0][i];
                b += w.re * sum[1][i];
                c += w.im * difference[0][i];
                d += w.im * difference[1][i];
            }
            re[k]         = a - d;
            im[k]         = b + c;
            re[radix - k] = a + d;
            im[radix - k] = b - c;
        }
    }
}

/**
 * Run a pass.
 *
 * @param stride product of the radices of the previous passes
 * @param radix  pass->radix, a constant after inlining
 */
static av_always_inline void run_pass(MADLanes *restrict dst, const MADLanes *restrict src,
                                      const Pass *restrict pass, int stride, int radix)
{
    const int nb = pass->nb_twiddles;

    for (int i = 0; i < nb; i++)
        for (int j = 0; j < stride; j++) {
            const Complex *twiddle = pass->twiddle + i * (radix - 1);
            const MADLanes *in  = src + i * stride + j;
            MADLanes *out       = dst + i * stride * radix + j;

            for (int lane = 0; lane < MAD_LANES; lane++) {
                float re[MAX_RADIX], im[MAX_RADIX];

                for (int k = 0; k < radix; k++) {
                    re[k] = in[k * nb * stride].v[0][lane];
                    im[k] = in[k * nb * stride].v[1][lane];
                }
                small_dft(re, im, pass->roots, radix);
                out->v[0][lane] = re[0];
                out->v[1][lane] = im[0];
                for (int k = 1; k < radix; k++) {
                    const Complex w = twiddle[k - 1];

                    out[k * stride].v[0][lane] = re[k] * w.re - im[k] * w.im;
                    out[k * stride].v[1][lane] = re[k] * w.im + im[k] * w.re;
                }
            }
        }
}

/// Run all passes, back and forth between the scratch arrays. Return the array with the result.
static MADLanes *run_passes(const MADTransform *t, MADLanes *const scratch[2], const MADLanes *src)
{
    MADLanes *dst = NULL;

    for (int i = 0, stride = 1; i < t->nb_passes; i++) {
        const Pass *pass = &t->pass[i];

        dst = scratch[src == scratch[0]];
        switch (pass->radix) {
        case 2: run_pass(dst, src, pass, stride, 2); break;
        case 3: run_pass(dst, src, pass, stride, 3); break;
        case 4: run_pass(dst, src, pass, stride, 4); break;
        case 5: run_pass(dst, src, pass, stride, 5); break;
        case 7: run_pass(dst, src, pass, stride, 7); break;
        }
        stride *= pass->radix;
        src     = dst;
    }
    return dst;
}

/// Multiply n values of each line by factors, and swap real and imaginary parts if swap is 1.
static av_always_inline void multiply_lines(MADLanes *dst, const MADLanes *src,
                                            const Complex *factors, int n, int swap)
{
    for (int i = 0; i < n; i++) {
        const Complex f = factors[i];

        for (int lane = 0; lane < MAD_LANES; lane++) {
            const float re = src[i].v[0][lane], im = src[i].v[1][lane];

            dst[i].v[swap][lane]  = re * f.re - im * f.im;
            dst[i].v[!swap][lane] = re * f.im + im * f.re;
        }
    }
}

MADLanes *ff_mad_tx(const MADTransform *t, MADLanes *const scratch[2], const MADLanes *src)
{
    MADLanes *line = scratch[src == scratch[0]];

    if (!t->chirp)
        return run_passes(t, scratch, src);
    // Bluestein: convolve with the chirp by a forward and an inverse transform of a fast length
    multiply_lines(line, src, t->chirp, t->length, 1);
    memset(line + t->length, 0, (t->size - t->length) * sizeof(*line));
    line = run_passes(t, scratch, line);
    multiply_lines(line, line, t->chirp_filter, t->size, 1);
    line = run_passes(t, scratch, line);
    multiply_lines(line, line, t->chirp, t->length, 0);
    return line;
}

/// Return e^(-2 pi i k / n).
static Complex root_of_unity(int64_t k, int64_t n)
{
    const double angle = 2 * M_PI * (k % n) / n;

    return (Complex){ cos(angle), -sin(angle) };
}

/// Return the radix of the next pass, or 0 if n has only factors above 7.
static int next_radix(int n)
{
    static const int radix[] = { 4, 2, 3, 5, 7 };

    for (int i = 0; i < FF_ARRAY_ELEMS(radix); i++)
        if (n % radix[i] == 0)
            return radix[i];
    return 0;
}

/// Return whether n has no factors above 7.
static int has_small_factors(int n)
{
    for (int radix; n > 1; n /= radix)
        if (!(radix = next_radix(n)))
            return 0;
    return 1;
}

static int init_passes(MADTransform *t)
{
    for (int n = t->size; n > 1;) {
        Pass *pass      = &t->pass[t->nb_passes++];
        const int radix = next_radix(n);

        pass->radix = radix;
        pass->nb_twiddles = n / radix;
        pass->twiddle = av_malloc_array(pass->nb_twiddles, (radix - 1) * sizeof(*pass->twiddle));
        if (!pass->twiddle)
            return AVERROR(ENOMEM);
        for (int i = 0; i < pass->nb_twiddles; i++)
            for (int k = 1; k < radix; k++)
                pass->twiddle[i * (radix - 1) + k - 1] = root_of_unity((int64_t)i * k, n);
        for (int k = 0; k < radix; k++)
            pass->roots[k] = root_of_unity(k, radix);
        n = pass->nb_twiddles;
    }
    return 0;
}

static int init_chirp(MADTransform *t)
{
    int ret;

    t->chirp  = av_malloc_array(t->length, sizeof(*t->chirp));
    t->chirp_filter = av_malloc_array(t->size, sizeof(*t->chirp_filter));
    if (!t->chirp || !t->chirp_filter)
        return AVERROR(ENOMEM);
    ret = ff_fft_chirp(t->length, t->size, (float (*)[2])t->chirp, (float (*)[2])t->chirp_filter);
    for (int i = 0; ret >= 0 && i < t->length; i++)
        t->chirp[i].im = -t->chirp[i].im;
    return ret;
}

int ff_mad_tx_alloc(MADTransform **tp, int length)
{
    MADTransform *t = *tp = av_mallocz(sizeof(*t));
    int ret;

    if (!t)
        return AVERROR(ENOMEM);
    t->length = t->size = length;
    if (!has_small_factors(length))
        for (t->size = 2 * length - 1; !has_small_factors(t->size);)
            t->size++;
    ret = init_passes(t);
    return ret < 0 || t->size == length ? ret : init_chirp(t);
}

int ff_mad_tx_size(const MADTransform *t)
{
    return t->size;
}

void ff_mad_tx_free(MADTransform **t)
{
    if (!*t)
        return;
    for (int i = 0; i < (*t)->nb_passes; i++)
        av_freep(&(*t)->pass[i].twiddle);
    av_freep(&(*t)->chirp);
    av_freep(&(*t)->chirp_filter);
    av_freep(t);
}
