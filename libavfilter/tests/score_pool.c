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
 * Compares what is pooled without the values with what is computed of them, sorted
 * and in their order: percentiles within the stated resolution, the rest in each bit.
 */

#include <stdio.h>
#include <stdlib.h>

#include "libavutil/lfg.h"
#include "libavfilter/score_pool.c"

#define MAX_VALUES 5000

typedef double Source(AVLFG *rng, int i);

static double even(AVLFG *rng)
{
    return av_lfg_get(rng) / 4294967296.;
}

static double scores(AVLFG *rng, int i)     { return 100 * even(rng); }
static double steps(AVLFG *rng, int i)      { return av_lfg_get(rng) % 21 * .5; }
static double equal(AVLFG *rng, int i)      { return 41.7; }
static double one_other(AVLFG *rng, int i)  { return i == 3 ? -7.3 : 41.7; }
static double zeros(AVLFG *rng, int i)      { return i % 2 ? 0 : -0.; }
static double both_signs(AVLFG *rng, int i) { return even(rng) - .5; }
static double slow(AVLFG *rng, int i)       { return 30 + 10 * sin(i / 500.) + even(rng) * .001; }
static double rising(AVLFG *rng, int i)     { return i * .01; }
static double falling(AVLFG *rng, int i)    { return -i * .01; }
static double minus_one(AVLFG *rng, int i)  { return i % 9 - 1; }
static double close(AVLFG *rng, int i)      { return 64 + even(rng) * .01; }
static double lopsided(AVLFG *rng, int i)   { return i % 10 ? 64 : 64.2; }
static double octaves(AVLFG *rng, int i)    { return ldexp(even(rng) - .5, (int)(av_lfg_get(rng) % 60) - 29); }
static double edges(AVLFG *rng, int i)
{
    double edge = ldexp(1 + av_lfg_get(rng) % 1024 / 1024., (int)(av_lfg_get(rng) % 8) - 4);
    int side = av_lfg_get(rng) % 3;

    return side == 1 ? edge : nextafter(edge, side ? INFINITY : -INFINITY);
}
static double tiny(AVLFG *rng, int i)       { return ldexp(even(rng) - .5, -40 - i % 900); }
static double huge(AVLFG *rng, int i)       { return ldexp(even(rng) - .5, 40 + i % 900); }

static const struct {
    const char *name;
    Source *source;
    int any_percentile;     ///< beyond what has a resolution: between minimum and maximum
} sources[] = {
    { "scores", scores }, { "steps", steps }, { "equal", equal }, { "one other", one_other },
    { "zeros", zeros }, { "both signs", both_signs }, { "slow", slow }, { "rising", rising },
    { "falling", falling }, { "minus one", minus_one }, { "close", close }, { "lopsided", lopsided },
    { "octaves", octaves }, { "edges", edges }, { "tiny", tiny }, { "huge", huge, 1 },
};

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return FFDIFFSIGN(*x, *y);
}

static double squared_error(const double *v, int n, int size)
{
    const int nb = n / size;
    double mean = 0, squares = 0;

    for (int b = 0; b < nb; b++) {
        double sum = 0, difference;

        for (int i = b * size; i < (b + 1) * size; i++)
            sum += v[i];
        difference = sum / size - mean;
        mean    += difference / (b + 1);
        squares += difference * (sum / size - mean);
    }
    return squares / (nb - 1) * size / n;
}

static int same(double a, double b)
{
    return a == b || isnan(a) && isnan(b);
}

static int failed;

static void expect(const char *name, int n, const char *what, double got, double expected, int good)
{
    if (good)
        return;
    printf("%s, %d values: %s is %.17g and not %.17g\n", name, n, what, got, expected);
    failed = 1;
}

/// @param frame the first frame's number; the others have every second
static void check(const char *name, const double *v, int n, uint64_t frame,
                  enum ScoreDirection direction, int any_percentile, const ScorePool *p)
{
    static double sorted[MAX_VALUES];
    const int window = FFMIN(n, SCORE_WINDOW);
    double got[SCORE_POOLED_NB], sum = 0, inverse = 0, largest = NAN, worst = 0;
    int first = 0;

    ff_score_pool_get(got, p);
    memcpy(sorted, v, n * sizeof(*v));
    qsort(sorted, n, sizeof(*sorted), compare);
    for (int i = 0; i < n; i++) {
        sum     += v[i];
        inverse += v[i] > -1 ? 1 / (v[i] + 1) : NAN;
    }
    for (int size = 1; n / size >= 4; size *= 2)
        largest = fmax(largest, squared_error(v, n, size));
    for (int i = 0; i + window <= n; i++) {
        double total = 0;

        for (int j = i; j < i + window; j++)
            total += v[j];
        if (!i || (direction == SCORE_LOWER_IS_BETTER ? total > worst : total < worst)) {
            worst = total;
            first = i;
        }
    }

    expect(name, n, "minimum", got[SCORE_MIN], sorted[0], got[SCORE_MIN] == sorted[0]);
    expect(name, n, "maximum", got[SCORE_MAX], sorted[n - 1], got[SCORE_MAX] == sorted[n - 1]);
    expect(name, n, "mean", got[SCORE_MEAN], sum / n, same(got[SCORE_MEAN], sum / n));
    expect(name, n, "harmonic mean", got[SCORE_HARMONIC], n / inverse - 1,
           same(got[SCORE_HARMONIC], n / inverse - 1));
    expect(name, n, "standard error", got[SCORE_ERROR], sqrt(largest), same(got[SCORE_ERROR], sqrt(largest)));
    expect(name, n, "worst window", got[SCORE_WORST], worst / window,
           direction ? same(got[SCORE_WORST], worst / window) : isnan(got[SCORE_WORST]));
    expect(name, n, "worst window's frame", got[SCORE_WORST_FRAME], frame + 2. * first,
           direction ? got[SCORE_WORST_FRAME] == frame + 2. * first : isnan(got[SCORE_WORST_FRAME]));
    for (int i = 0; i < FF_ARRAY_ELEMS(percentile); i++) {
        const double rank     = (n - 1) * (percentile[i] / 100.);
        const int low         = rank, high = FFMIN(low + 1, n - 1);
        const double expected = sorted[low] + (sorted[high] - sorted[low]) * (rank - low);
        const double size     = FFMAX(fabs(sorted[low]), fabs(sorted[high]));
        const double limit    = FFMAX(size * ldexp(1, -SCORE_BINS_LOG2), ldexp(1, SCORE_MIN_OCTAVE));
        const double value    = got[SCORE_P1 + i];

        expect(name, n, "a percentile", value, expected,
               value >= sorted[0] && value <= sorted[n - 1] &&
               (any_percentile || fabs(value - expected) <= limit) &&
               // exact, where values are few or the same
               (n > 2 && sorted[0] < sorted[n - 1] || value == expected));
    }
}

int main(void)
{
    static const int lengths[] = { 1, 2, 3, 4, 5, 16, 47, 48, 49, 96, 1000, MAX_VALUES };
    static double v[MAX_VALUES];
    double got[SCORE_POOLED_NB];
    ScorePool nothing = { .direction = SCORE_LOWER_IS_BETTER, .percentiles = 1 };
    AVLFG rng;
    int nb = 0;

    av_lfg_init(&rng, 1);
    ff_score_pool_get(got, &nothing);
    for (int i = 0; i < SCORE_POOLED_NB; i++)
        expect("nothing", 0, "a result", got[i], NAN, isnan(got[i]));

    for (int s = 0; s < FF_ARRAY_ELEMS(sources); s++)
        for (int l = 0; l < FF_ARRAY_ELEMS(lengths); l++)
            for (int direction = 0; direction < 3; direction++) {
                ScorePool pool = { .direction = direction, .percentiles = 1 }, copy = { 0 };
                const int n = lengths[l], middle = n / 2;

                for (int i = 0; i < n; i++) {
                    v[i] = sources[s].source(&rng, i);
                    // a copy goes on as the first would
                    if (i == middle && ff_score_pool_copy(&copy, &pool) < 0 ||
                        ff_score_pool_add(&pool, v[i], 7 + 2 * i) < 0 ||
                        i >= middle && ff_score_pool_add(&copy, v[i], 7 + 2 * i) < 0)
                        return 1;
                }
                check(sources[s].name, v, n, 7, direction, sources[s].any_percentile, &pool);
                check(sources[s].name, v, n, 7, direction, sources[s].any_percentile, &copy);
                ff_score_pool_free(&pool);
                ff_score_pool_free(&copy);
                nb++;
            }
    printf("%d rows of values\n", nb);
    return failed;
}
