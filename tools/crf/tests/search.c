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

/** @file The search for a CRF, on made-up curves of all kinds, against a scan of all CRFs. */

#include "tools/crf/search.c"

#include <stdint.h>
#include <stdio.h>

#define NB_CURVES 20000

enum { SMOOTH, PLATEAUS, STEPS, NB_MONOTONE, NOISE = NB_MONOTONE, BUMPS, RANDOM, NB_KINDS };

static double distortions[25501];    ///< of all CRFs from 0 to 255 by 0.01, at most
static int failed;

#define CHECK(condition, ...) do {              \
    if (!(condition)) {                         \
        printf("curve %d: ", n);                \
        printf(__VA_ARGS__);                    \
        failed++;                               \
    }                                           \
} while (0)

/// From 0 to 1: the same numbers on every machine.
static double number(void)
{
    static uint64_t state = 1;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) / 9007199254740992.;
}

static double between(double low, double high)
{
    return low + (high - low) * number();
}

/// Make a curve of that kind, of distortions of up to about the worst.
static void make_curve(int kind, int nb, double offset, double worst)
{
    const double typical = worst * between(0.02, 0.6), middle = nb * between(0.2, 0.8);
    const double rise    = between(1, 7) / nb, level = worst * between(0.01, 0.2);
    double last = 0;

    for (int i = 0; i < nb; i++) {
        double d = FFMAX((typical + offset) * exp((i - middle) * rise) - offset, 0);

        switch (kind) {
        case PLATEAUS: d = floor(d / level) * level; break;
        case STEPS:    d = number() < 12. / nb ? last + worst * number() * 0.3 : last; break;
        case NOISE:    d += level * between(-0.5, 0.5); break;
        case BUMPS:    d += level * sin(i * 40. / nb); break;
        case RANDOM:   d = worst * number(); break;
        }
        last = d = kind == RANDOM && number() < 0.01 ? INFINITY : d;
        distortions[i] = av_clipd(d, 0, kind == RANDOM ? INFINITY : worst);
    }
}

/// Size of an encode, in percent of the source's.
static double percent(int i, int nb)
{
    return 150 * exp(-4. * i / nb);
}

/// Check what was found of all CRFs, so near to the best, against the scan; best -1: there is none.
static void check_found(int n, const SearchPlan *plan, SearchState state, const Point *found,
                        const Point *end, int all, int near, int best)
{
    const double first = search_first(plan);
    const int kind     = n % NB_KINDS;
    const int at       = rint(found->crf / plan->increment) - first;
    const int reached  = reaches(plan->scale, found->score, plan->target);
    const int misses   = found + 1 < end ? rint(found[1].crf / plan->increment) - first : all;
    const int close    = fabs(found->score - plan->target) <= plan->tolerance;
    const int too_large = found->percent > plan->max_percent;
    const int holds[]  = {
        [SEARCH_TOLERANCE] = close && reached && !too_large,
        [SEARCH_EXACT]     = misses == at + 1 && misses < all && reached && !too_large,
        [SEARCH_NEAR]      = misses <= at + near && reached && !too_large,
        [SEARCH_LAST]      = at == all - 1 && reached && !too_large,
        [SEARCH_MISSED]    = at == 0 && !reached,
        [SEARCH_TOO_LARGE] = too_large,
    };

    CHECK(holds[state], "state %d with CRF %g\n", state, found->crf);

    // against the scan
    if (kind < NB_MONOTONE && state == SEARCH_MISSED)
        CHECK(best < 0, "CRF %g reaches the target\n", (first + best) * plan->increment);
    else if (kind < NB_MONOTONE && state == SEARCH_TOO_LARGE)
        CHECK(best < 0 || percent(best, all) > plan->max_percent || reached && at > best - near,
              "CRF %g is not too large\n", (first + best) * plan->increment);
    else if (kind < NB_MONOTONE)
        CHECK(at <= best && (at > best - near || close), "CRF %g was found, the best is %g\n",
              found->crf, (first + best) * plan->increment);
}

/// @return the number of tries
static int test_curve(int n)
{
    static const double increments[] = { 0.01, 0.05, 0.1, 0.1, 0.25, 0.3, 0.5, 1, 1, 2, 7, 50 };
    static const double ranges[][2]  = {
        { 10, 46 }, { 10, 46 }, { 5, 63 }, { 0, 255 }, { 20, 20.6 }, { 22, 22 },
    };
    const int kind = n % NB_KINDS;
    const int is_thorough = number() < 0.3, higher = number() < 0.5;
    const double worst = number() < 0.5 ? 100 : 1, sign = higher ? -1 : 1;
    Scale scale = { higher, .best = higher ? worst : 0, .offset = worst * 0.02 };
    SearchPlan plan = {
        .tolerance   = is_thorough ? 0 : worst * between(0, 0.02),
        .max_percent = number() < 0.8 ? INFINITY : between(1, 200),
        .exact       = is_thorough ? 0 : 0.4,
        .scale       = &scale,
    };
    double first, last, crf = 0;
    Point point[SEARCH_MOST] = { { 0 } };
    const Point *found;
    SearchState state;
    int best = -1, nb = 0, all, near;

    scale.typical = scale.best + sign * worst * 0.2;
    do {
        const int range = number() * FF_ARRAY_ELEMS(ranges);

        plan.increment = increments[(int)(number() * FF_ARRAY_ELEMS(increments))];
        plan.min_crf   = ranges[range][0];
        plan.max_crf   = ranges[range][1];
        first = search_first(&plan);
        last  = search_last(&plan);
    } while (first > last);
    all = last - first + 1;
    make_curve(kind, all, scale.offset, worst);
    // one of the scores, or any: better than the best, or worse than the worst, too
    plan.target = scale.best + sign *
                  (number() < 0.2 ? FFMIN(distortions[(int)(number() * all)], worst)
                                  : worst * between(-0.05, 0.7));
    for (int i = 0; i < all && (higher ? scale.best - distortions[i] >= plan.target
                                       : distortions[i] <= plan.target); i++)
        best = i;
    near = FFMAX3(1, (int)(plan.exact / plan.increment + 1e-6), (all + 1024) / 1024);

    while ((state = search_next(&plan, point, nb, &crf, &found)) == SEARCH_TRY) {
        const int at = rint(crf / plan.increment) - first;
        int i;

        CHECK(at >= 0 && at < all && fabs(crf - (first + at) * plan.increment) < 1e-9,
              "CRF %g is no choice\n", crf);
        CHECK(nb < SEARCH_MOST, "kind %d: more than %d tries of %d CRFs\n", kind, SEARCH_MOST, all);
        if (at < 0 || at >= all || nb == SEARCH_MOST)
            return 0;
        for (i = nb++; i > 0 && point[i - 1].crf > crf; i--)
            point[i] = point[i - 1];
        CHECK(!i || point[i - 1].crf < crf, "CRF %g is tried again\n", crf);
        point[i] = (Point){ crf, scale.best + sign * distortions[at], .percent = percent(at, all) };
    }

    CHECK(found >= point && found < point + nb, "nothing that was tried is found\n");
    if (found >= point && found < point + nb)
        check_found(n, &plan, state, found, point + nb, all, near, best);
    return nb;
}

/// Three CRFs that lie on a parabola, by their distortions, give the others on it.
static void test_expect(int n)
{
    const Scale scale     = { .best = 0, .offset = 2, .typical = 20 };
    const SearchPlan plan = { .scale = &scale, .max_crf = 51 };
    Point point[3];

    for (int i = 0; i < 3; i++) {
        const double y = distortion(&plan, 10 * (i + 1));

        point[i] = (Point){ .crf = 10 + y + y * y, .score = 10 * (i + 1) };
    }
    for (double score = 11; score < 20; score++) {
        const double y = distortion(&plan, score);
        const double crf = expect(&plan, point, 3, &point[0], &point[1], score);

        CHECK(fabs(crf - (10 + y + y * y)) < 1e-9, "CRF %g is expected\n", crf);
    }
}

int main(void)
{
    // as many tries as it takes; rounding may differ from machine to machine
    static const int most[NB_KINDS] = { 9890, 12303, 14817, 11931, 12569, 11134 };
    int tries[NB_KINDS] = { 0 }, n;

    for (n = 0; n < NB_CURVES; n++)
        tries[n % NB_KINDS] += test_curve(n);
    for (int i = 0; i < NB_KINDS; i++)
        CHECK(tries[i] <= most[i] + 5, "kind %d takes %d tries\n", i, tries[i]);
    test_expect(n);
    printf(failed ? "%d failed\n" : "all end at the best CRF\n", failed);
    return !!failed;
}
