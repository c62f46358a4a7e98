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
 * Test of mad_tx: compare transforms with their defining sums in double precision, for lengths of
 * each algorithm. Prints the lengths whose error exceeds the limit, and the number of correct
 * transforms.
 */

#include <math.h>
#include <stdio.h>

#include "libavutil/avassert.h"
#include "libavutil/lfg.h"
#include "libavutil/mathematics.h"
#include "libavfilter/mad_tx.h"

#define MAX_LENGTH 600
#define MAX_SIZE   (4 * MAX_LENGTH)     ///< limit of ff_mad_tx_size() for these lengths

/// Return the root mean square error of the transform of a lane, relative to its values.
static double relative_error(const MADLanes *got, const MADLanes *value, int length, int lane)
{
    double error = 0, power = 0;

    for (int k = 0; k < length; k++) {
        double re = 0, im = 0;

        for (int i = 0; i < length; i++) {
            const double angle = 2 * M_PI * ((int64_t)i * k % length) / length;

            re += value[i].v[0][lane] * cos(angle) + value[i].v[1][lane] * sin(angle);
            im += value[i].v[1][lane] * cos(angle) - value[i].v[0][lane] * sin(angle);
        }
        power += re * re + im * im;
        re    -= got[k].v[0][lane];
        im    -= got[k].v[1][lane];
        error += re * re + im * im;
    }
    return sqrt(error / power);
}

/// Transform random values of a length, and return 1 if the error is small enough.
static int check(int length, AVLFG *rng)
{
    static MADLanes value[MAX_LENGTH], memory[2][MAX_SIZE];
    MADLanes *const scratch[2] = { memory[0], memory[1] };
    MADTransform *t;
    double error;

    av_assert0(ff_mad_tx_alloc(&t, length) >= 0 && ff_mad_tx_size(t) <= MAX_SIZE);
    for (int i = 0; i < length; i++)
        for (int j = 0; j < 2 * MAD_LANES; j++)
            value[i].v[j / MAD_LANES][j % MAD_LANES] = av_lfg_get(rng) / 4294967296. - .5;
    error = relative_error(ff_mad_tx(t, scratch, value), value, length, length % MAD_LANES);
    ff_mad_tx_free(&t);
    if (!(error < 5e-7))            // also true for NaN
        printf("length %d: off by %g\n", length, error);
    return error < 5e-7;
}

int main(void)
{
    int nb = 0;
    AVLFG rng;

    av_lfg_init(&rng, 1);
    // all lengths up to 300, then every seventh: they include primes and neighbours of powers of 2
    for (int length = 2; length <= MAX_LENGTH; length += length < 300 ? 1 : 7)
        nb += check(length, &rng);
    printf("%d transforms\n", nb);
    return 0;
}
