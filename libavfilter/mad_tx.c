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

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "libavutil/error.h"
#include "libavutil/macros.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"

#include "mad_tx.h"

struct MADTransform {
    int length;
    void (*run)(MADTransform *t, AVComplexDouble *dst, AVComplexDouble *src);
    AVTXContext *tx[2];
    av_tx_fn fn[2];
    int size[2];                ///< lengths of tx
    int stride;                 ///< of rows of size[1] values, aligned
    AVComplexDouble *factor;    ///< of each value, between both transforms
    AVComplexDouble *chirp;     ///< Bluestein's
    AVComplexDouble *line[2];   ///< aligned scratch
};

static AVComplexDouble multiply(AVComplexDouble a, AVComplexDouble b)
{
    return (AVComplexDouble){ a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re };
}

/// e^(2 pi i k / n)
static AVComplexDouble root(int64_t k, int64_t n)
{
    double angle = 2 * M_PI * (k % n) / n;

    return (AVComplexDouble){ cos(angle), sin(angle) };
}

static int is_fast(int n)
{
    n /= n % 9 ? n % 3 ? 1 : 3 : 9;
    n /= n % 5 ? 1 : 5;
    n /= n % 7 ? 1 : 7;
    return !(n & (n - 1));
}

static void run_direct(MADTransform *t, AVComplexDouble *dst, AVComplexDouble *src)
{
    t->fn[0](t->tx[0], dst, src, sizeof(*src));
}

/// By transforms of two factors of the length (Cooley and Tukey).
static void run_split(MADTransform *t, AVComplexDouble *dst, AVComplexDouble *src)
{
    const int a = t->size[0], b = t->size[1];
    AVComplexDouble *in = t->line[1], *out = in + FFALIGN(FFMAX(a, b), 4);

    for (int j = 0; j < b; j++) {
        for (int i = 0; i < a; i++)
            in[i] = src[i * b + j];
        t->fn[0](t->tx[0], out, in, sizeof(*in));
        for (int i = 0; i < a; i++)
            t->line[0][i * t->stride + j] = multiply(out[i], t->factor[j * a + i]);
    }
    for (int i = 0; i < a; i++) {
        t->fn[1](t->tx[1], out, t->line[0] + i * t->stride, sizeof(*out));
        for (int j = 0; j < b; j++)
            dst[j * a + i] = out[j];
    }
}

/// As a convolution with a chirp, by transforms of a longer length (Bluestein).
static void run_chirp(MADTransform *t, AVComplexDouble *dst, AVComplexDouble *src)
{
    const int size = t->size[0];
    AVComplexDouble *in = t->line[0], *out = t->line[1];

    for (int i = 0; i < t->length; i++)
        in[i] = multiply(src[i], t->chirp[i]);
    memset(in + t->length, 0, (size - t->length) * sizeof(*in));
    t->fn[0](t->tx[0], out, in, sizeof(*in));
    for (int i = 0; i < size; i++)
        out[i] = multiply(out[i], t->factor[i]);
    t->fn[1](t->tx[1], in, out, sizeof(*in));
    for (int i = 0; i < t->length; i++)
        dst[i] = multiply(in[i], t->chirp[i]);
}

static int init_tx(MADTransform *t, int i, int size, int inverse)
{
    t->size[i] = size;
    return av_tx_init(&t->tx[i], &t->fn[i], AV_TX_DOUBLE_FFT, inverse, size, NULL, 0);
}

static int init_split(MADTransform *t, int a, int inverse)
{
    const int b = t->length / a;

    t->run     = run_split;
    t->stride  = FFALIGN(b, 4);
    t->factor  = av_malloc_array(t->length, sizeof(*t->factor));
    t->line[0] = av_malloc_array(a, t->stride * sizeof(*t->line[0]));
    t->line[1] = av_malloc_array(2 * FFALIGN(FFMAX(a, b), 4), sizeof(*t->line[1]));
    if (!t->factor || !t->line[0] || !t->line[1] ||
        init_tx(t, 0, a, inverse) < 0 || init_tx(t, 1, b, inverse) < 0)
        return AVERROR(ENOMEM);

    for (int j = 0; j < b; j++)
        for (int i = 0; i < a; i++) {
            AVComplexDouble w = root((int64_t)i * j, t->length);

            t->factor[j * a + i] = (AVComplexDouble){ w.re, inverse ? w.im : -w.im };
        }
    return 0;
}

static int init_chirp(MADTransform *t, int inverse)
{
    int size = 2 * t->length - 1;

    while (!is_fast(size))
        size++;
    t->run     = run_chirp;
    t->chirp   = av_malloc_array(t->length, sizeof(*t->chirp));
    t->factor  = av_malloc_array(size, sizeof(*t->factor));
    t->line[0] = av_calloc(size, sizeof(*t->line[0]));
    t->line[1] = av_malloc_array(size, sizeof(*t->line[1]));
    if (!t->chirp || !t->factor || !t->line[0] || !t->line[1] ||
        init_tx(t, 0, size, 0) < 0 || init_tx(t, 1, size, 1) < 0)
        return AVERROR(ENOMEM);

    for (int i = 0; i < t->length; i++) {
        AVComplexDouble w = root((int64_t)i * i, 2 * t->length);
        AVComplexDouble *h = t->line[0];

        if (inverse)
            w.im = -w.im;
        t->chirp[i] = (AVComplexDouble){ w.re, -w.im };
        h[i] = h[(size - i) % size] = (AVComplexDouble){ w.re / size, w.im / size };
    }
    t->fn[0](t->tx[0], t->factor, t->line[0], sizeof(*t->factor));
    return 0;
}

static int init(MADTransform *t, int inverse)
{
    int a = sqrt(t->length);

    if (is_fast(t->length)) {
        t->run = run_direct;
        return init_tx(t, 0, t->length, inverse);
    }
    while (a > 1 && (t->length % a || !is_fast(a) || !is_fast(t->length / a)))
        a--;
    return a > 1 ? init_split(t, a, inverse) : init_chirp(t, inverse);
}

MADTransform *ff_mad_tx_alloc(int length, int inverse)
{
    MADTransform *t = av_mallocz(sizeof(*t));

    if (!t)
        return NULL;
    t->length = length;
    if (init(t, inverse) < 0)
        ff_mad_tx_free(&t);
    return t;
}

void ff_mad_tx(MADTransform *t, AVComplexDouble *dst, AVComplexDouble *src)
{
    t->run(t, dst, src);
}

void ff_mad_tx_free(MADTransform **t)
{
    if (!*t)
        return;
    for (int i = 0; i < 2; i++) {
        av_tx_uninit(&(*t)->tx[i]);
        av_freep(&(*t)->line[i]);
    }
    av_freep(&(*t)->factor);
    av_freep(&(*t)->chirp);
    av_freep(t);
}
