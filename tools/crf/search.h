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

/** @file The search for a CRF: which one to try next, by what is known so far. */

#ifndef TOOLS_CRF_SEARCH_H
#define TOOLS_CRF_SEARCH_H

/// The most encodes of each sample.
#define SEARCH_MOST 11

/// What the scores of a metric mean.
typedef struct Scale {
    int higher_is_better;
    int is_in_decibels;
    double best, worst;         ///< score of an identical encode, and of the worst
    double offset;              ///< |best - score| + offset grows about exponentially with the CRF
    double typical;             ///< score in the middle of an encoder's range
} Scale;

/// Whether a is at least as good as b.
static inline int reaches(const Scale *s, double a, double b)
{
    return s->higher_is_better ? a >= b : a <= b;
}

/// What is known of a CRF that was tried, for the whole encode.
typedef struct Point {
    double crf, score;
    double size, size_error;    ///< bytes; the error is NAN if one sample does not tell it
    double percent;             ///< of the size of the source's video
    double seconds;
} Point;

typedef struct SearchPlan {
    const Scale *scale;
    double min_crf, max_crf, increment;
    double target, tolerance;   ///< scores; the tolerance may be 0
    double max_percent;         ///< of the size of the source's video
    double exact;               ///< the CRF need not be found more exactly than this
} SearchPlan;

typedef enum SearchState {
    SEARCH_TRY,                 ///< a CRF is to be tried
    SEARCH_TOLERANCE,           ///< found: the score is within the tolerance
    SEARCH_EXACT,               ///< found: the next CRF misses the target
    SEARCH_NEAR,                ///< found: a CRF that is hardly higher misses it
    SEARCH_LAST,                ///< found: the highest CRF that may be tried
    SEARCH_MISSED,              ///< none: the lowest CRF misses the target
    SEARCH_TOO_LARGE,           ///< none: that CRF is too large, and a higher one misses the target
} SearchState;

/// CRFs are tried from this multiple of the increment to that.
double search_first(const SearchPlan *plan);
double search_last(const SearchPlan *plan);

/**
 * Choose the next CRF, by the points that were tried, which are by rising CRF. The highest that
 * reaches the target is searched, with all below it: all above the first miss are taken to miss.
 *
 * @param crf   set to the one to try
 * @param found set to the point that ended the search, NULL while there is a CRF to try
 */
SearchState search_next(const SearchPlan *plan, const Point *point, int nb_points,
                        double *crf, const Point **found);

#endif /* TOOLS_CRF_SEARCH_H */
