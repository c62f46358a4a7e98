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

/** @file The search for a CRF: interpolation, and bisection where that does not lead on. */

#include <math.h>

#include "libavutil/common.h"

#include "parts.h"

/// After this many encodes, a score within the tolerance, or a CRF that is about exact, is enough.
#define ENOUGH 5

double search_first(const SearchPlan *s)
{
    return ceil(s->min_crf / s->increment - 1e-6);
}

double search_last(const SearchPlan *s)
{
    return floor(s->max_crf / s->increment + 1e-6);
}

/// About linear in the CRF.
static double distortion(const SearchPlan *s, double score)
{
    const Metric *m = s->metric;

    if (m->is_in_decibels)
        return -score * M_LN10 / 20;
    // some models of VMAF go beyond the best
    return log(FFMAX(m->higher_is_better ? m->best - score : score - m->best, 0) + m->offset);
}

/// The CRF at which a score is expected that is a little better than the target; low is the highest
/// that reaches it, or NULL, and high the lowest that misses it, or NULL.
static double expect(const SearchPlan *s, int nb, const Point *low, const Point *high)
{
    const int sign     = s->metric->higher_is_better ? 1 : -1;
    const double y     = distortion(s, s->target + sign * s->tolerance / 4);
    const double prior = 3.6 / FFMAX(s->max_crf - s->min_crf, 1);  // rise with each CRF
    const Point *one   = low ? low : high, *other;
    double slope = prior;

    if (!one)
        return (s->min_crf + s->max_crf) / 2 + (y - distortion(s, s->metric->typical)) / prior;
    if (nb > 1) {
        other = low && high ? high : low ? low - 1 : high + 1;
        slope = (distortion(s, other->score) - distortion(s, one->score)) / (other->crf - one->crf);
    }
    // beyond all that is known, no slope but a likely one is taken
    if (!low || !high)
        slope = av_clipd(slope, prior / 2, prior * 2);
    return one->crf + (y - distortion(s, one->score)) / slope;
}

SearchState search_next(const SearchPlan *s, const Point *point, int nb, double *crf,
                        const Point **found)
{
    const double step = s->increment, exact = FFMAX(s->exact, step);
    const Point *low = NULL, *high = NULL;
    // in steps of the CRF: the result is at from or higher, and lower than to
    double from = search_first(s) - 1, to = search_last(s) + 1;
    // these two need not be nearer than this, so that the encodes that are left can halve the range
    const double near = FFMAX3(1, floor(exact / step + 1e-6),
                               ceil((to - from) / (1 << (SEARCH_MOST - 1))));
    double expected, next, most;

    for (int i = 0; i < nb && !high; i++)
        if (reaches(s->metric, point[i].score, s->target))
            low = &point[i];
        else
            high = &point[i];
    if (low)
        from = rint(low->crf / step);
    if (high)
        to = rint(high->crf / step);

    *found = high;
    if (high && high->percent > s->max_percent)
        return SEARCH_TOO_LARGE;
    if (!low && to - from <= 1)
        return SEARCH_MISSED;
    expected = expect(s, nb, low, high);
    *found   = low;
    if (low) {
        const int is_close =
            fabs(s->target - low->score) <= s->tolerance && low->percent <= s->max_percent;
        const SearchState state =
            to - from <= 1 ? high ? SEARCH_EXACT : SEARCH_LAST :
            is_close && (nb >= ENOUGH || expected - low->crf <= exact) ? SEARCH_TOLERANCE :
            nb >= ENOUGH && to - from <= near                          ? SEARCH_NEAR : SEARCH_TRY;

        if (state != SEARCH_TRY)
            return low->percent > s->max_percent ? SEARCH_TOO_LARGE : state;
    }

    next = expected / step;
    if (low && high) {
        // where the curve does not lead on, away from the ends, and then halve the range
        const double edge = nb > 3 ? (to - from - 2) * 0.05 : 0;

        next = nb > ENOUGH ? (from + to) / 2 : av_clipd(next, from + 1 + edge, to - 1 - edge);
    } else if (!low && to - from <= near) {
        next = from + 1;        // no CRF is found before it was tried
    } else if (nb > 2) {
        // steps that grow, where all are on one side of the target
        next = low ? FFMAX(next, from + ldexp(near, nb - 2))
                   : FFMIN(next, to   - ldexp(near, nb - 2));
    }
    // not so far that halving cannot lead back; one encode is kept for the lowest CRF
    most   = ldexp(near, FFMAX(SEARCH_MOST - 1 - nb - !low, 0));
    *crf   = step * av_clipd(floor(next + 1e-6), FFMAX(from + 1, to - most),
                             FFMIN(to - 1, from + most));
    *found = NULL;
    return SEARCH_TRY;
}
