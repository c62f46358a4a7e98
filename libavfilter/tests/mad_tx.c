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
 * Compares transforms of all lengths with the sums that they stand for: each way
 * to a length has its own edges, as a prime whose chirp just fits.
 */

#include <math.h>
#include <stdio.h>

#include "libavutil/lfg.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavfilter/mad_tx.h"

#define MAX_LENGTH 600

/// The largest error of a transform of values of up to 1/2.
static double error_of(const AVComplexDouble *got, const AVComplexDouble *value, int length,
                       int sign)
{
    double largest = 0;

    for (int k = 0; k < length; k++) {
        double re = 0, im = 0;

        for (int i = 0; i < length; i++) {
            const double angle = sign * 2 * M_PI * ((int64_t)i * k % length) / length;

            re += value[i].re * cos(angle) - value[i].im * sin(angle);
            im += value[i].re * sin(angle) + value[i].im * cos(angle);
        }
        re = hypot(got[k].re - re, got[k].im - im);
        if (!(re <= largest))       // a nan is an error, too
            largest = re;
    }
    return largest;
}

int main(void)
{
    AVComplexDouble *value = av_malloc_array(MAX_LENGTH, sizeof(*value));
    AVComplexDouble *src   = av_malloc_array(MAX_LENGTH, sizeof(*src));
    AVComplexDouble *dst   = av_malloc_array(MAX_LENGTH, sizeof(*dst));
    int ret = 1, nb = 0;
    AVLFG rng;

    if (!value || !src || !dst)
        goto end;
    av_lfg_init(&rng, 1);
    // all up to 300, then some: primes, and what is near powers of two
    for (int length = 2; length <= MAX_LENGTH; length += length < 300 ? 1 : 7) {
        for (int inverse = 0; inverse < 2; inverse++) {
            MADTransform *t = ff_mad_tx_alloc(length, inverse);
            double error;

            if (!t)
                goto end;
            for (int i = 0; i < length; i++)
                src[i] = value[i] = (AVComplexDouble){ av_lfg_get(&rng) / 4294967296. - .5,
                                                       av_lfg_get(&rng) / 4294967296. - .5 };
            ff_mad_tx(t, dst, src);
            ff_mad_tx_free(&t);
            error = error_of(dst, value, length, inverse ? 1 : -1);
            if (!(error < 1e-11)) {
                printf("length %d%s: off by %g\n", length, inverse ? ", inverse" : "", error);
                goto end;
            }
            nb++;
        }
    }
    printf("%d transforms\n", nb);
    ret = 0;

end:
    av_free(value);
    av_free(src);
    av_free(dst);
    return ret;
}
