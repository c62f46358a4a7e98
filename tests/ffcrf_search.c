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

enum { SMOOTH, PLATEAUS, STEPS, NB_MONOTONE, NOISE = NB_MONOTONE, BUMPS, RANDOM, NB_KINDS };

static Metric metric;
static SearchPlan plan = { .metric = &metric };
static double distortions[25501];   ///< of all CRFs from 0 to 255 by 0.01, at most
static int all;                     ///< CRFs
static double first;                ///< of these, in increments
static int failed;

#define CHECK(condition, ...) (void)((condition) || (failed++, printf(__VA_ARGS__)))

/// The same numbers on every machine.
static double between(double low, double high)
{
    static uint64_t state = 1;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return low + (high - low) * ((state >> 11) / 9007199254740992.);
}

static int choice(int nb)
{
    return between(0, nb);
}

/// Make a curve of that kind, and what is searched on it.
static void make_case(int kind)
{
    static const double increments[] = { 0.01, 0.05, 0.1, 0.1, 0.25, 0.3, 0.5, 1, 1, 2, 7, 50 };
    static const double lowest[]     = { 10, 10,  5,   0, 20,   22 };
    static const double highest[]    = { 46, 46, 63, 255, 20.6, 22 };
    const int higher   = choice(2), sign = higher ? -1 : 1;
    const double worst = choice(2) ? 100 : 1, typical = worst * between(0.02, 0.6);
    const double level = worst * between(0.01, 0.2);
    const double rise  = between(1, 7), middle = between(0.2, 0.8);

    metric = (Metric){ .higher_is_better = higher, .best = higher ? worst : 0,
                       .offset = worst * 0.02, .typical = worst * (higher ? 0.8 : 0.2) };
    plan.exact       = choice(3) ? 0.4 : 0;
    plan.tolerance   = plan.exact * worst * between(0, 0.05);
    plan.max_percent = choice(5) ? INFINITY : between(1, 200);
    do {
        const int range = choice(FF_ARRAY_ELEMS(lowest));

        plan.increment = increments[choice(FF_ARRAY_ELEMS(increments))];
        plan.min_crf   = lowest[range];
        plan.max_crf   = highest[range];
        first = search_first(&plan);
        all   = search_last(&plan) - first + 1;
    } while (all < 1);

    for (int i = 0; i < all; i++) {
        const double x = (double)i / all - middle, last = i ? distortions[i - 1] : 0;
        double d       = FFMAX((typical + metric.offset) * exp(x * rise) - metric.offset, 0);

        switch (kind) {
        case PLATEAUS: d = floor(d / level) * level; break;
        case STEPS:    d = choice(all) < 12 ? last + worst * between(0, 0.3) : last; break;
        case NOISE:    d += level * between(-0.5, 0.5); break;
        case BUMPS:    d += level * sin(i * 40. / all); break;
        case RANDOM:   d = choice(100) ? worst * between(0, 1) : INFINITY; break;
        }
        distortions[i] = av_clipd(d, 0, kind == RANDOM ? INFINITY : worst);
    }
    // one of the scores, or any: better than the best, or worse than the worst, too
    plan.target = metric.best + sign * (choice(5) ? worst * between(-0.05, 0.7) :
                                       FFMIN(distortions[choice(all)], worst));
}

/// The score, and the size in percent of the source's, of the encode with the CRF of that number.
static Point encode(int i)
{
    const double score = metric.best + (metric.higher_is_better ? -1 : 1) * distortions[i];

    return (Point){ (first + i) * plan.increment, score, .percent = 150 * exp(-4. * i / all) };
}

/// Check what was found against a scan of all.
static void check_found(int kind, SearchState state, const Point *found, const Point *end)
{
    const int at   = rint(found->crf / plan.increment) - first;
    const int near = FFMAX3(1, (int)(plan.exact / plan.increment + 1e-6), (all + 1024) / 1024);
    const int misses  = found + 1 < end ? rint(found[1].crf / plan.increment) - first : all;
    const int reached = reaches(&metric, found->score, plan.target);
    const int close   = fabs(found->score - plan.target) <= plan.tolerance;
    const int fits    = reached && found->percent <= plan.max_percent;
    const int holds[] = {
        [SEARCH_TOLERANCE] = fits && close,
        [SEARCH_EXACT]     = fits && misses == at + 1 && misses < all,
        [SEARCH_NEAR]      = fits && misses <= at + near,
        [SEARCH_LAST]      = fits && at == all - 1,
        [SEARCH_MISSED]    = !reached && at == 0,
        [SEARCH_TOO_LARGE] = found->percent > plan.max_percent,
    };
    int best = -1;

    while (best + 1 < all && reaches(&metric, encode(best + 1).score, plan.target))
        best++;
    CHECK(holds[state] && (kind >= NB_MONOTONE ||
          (state == SEARCH_MISSED ? best < 0 :
           state == SEARCH_TOO_LARGE ? best < 0 || encode(best).percent > plan.max_percent ||
                                       reached && at > best - near :
           at <= best && (at > best - near || close))), "kind %d: state %d with %d, best is %d\n",
          kind, state, at, best);
}

static int test_curve(int kind)
{
    Point point[SEARCH_MOST];
    const Point *found;
    SearchState state;
    double crf;
    int i, at, nb = 0;

    make_case(kind);
    while ((state = search_next(&plan, point, nb, &crf, &found)) == SEARCH_TRY) {
        at = rint(crf / plan.increment) - first;
        CHECK(fabs(crf - (first + at) * plan.increment) < 1e-9, "kind %d: CRF %g\n", kind, crf);
        if (at < 0 || at >= all || nb == SEARCH_MOST)
            break;
        for (i = nb++; i > 0 && point[i - 1].crf > crf; i--)
            point[i] = point[i - 1];
        CHECK(!i || point[i - 1].crf < crf, "kind %d: CRF %g is tried again\n", kind, crf);
        point[i] = encode(at);
    }
    CHECK(found, "kind %d: after %d tries, CRF %g of %d\n", kind, nb, crf, all);
    if (found)
        check_found(kind, state, found, point + nb);
    return nb;
}

int main(void)
{
    // as many tries as it takes; rounding may differ from machine to machine
    static const int most[NB_KINDS] = { 9225, 12546, 15168, 11543, 12298, 11176 };
    int tries[NB_KINDS] = { 0 };

    for (int i = 0; i < 20000; i++)
        tries[i % NB_KINDS] += test_curve(i % NB_KINDS);
    for (int i = 0; i < NB_KINDS; i++)
        CHECK(tries[i] <= most[i] + 5, "kind %d takes %d tries\n", i, tries[i]);
    printf(failed ? "%d failed\n" : "all end at the best CRF\n", failed);
    return failed > 0;
}
