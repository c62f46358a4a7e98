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
 * Which CRF to try next, by what was measured so far.
 */

#ifndef TOOLS_CRF_SEARCH_H
#define TOOLS_CRF_SEARCH_H

#include "score.h"

/// No search takes more encodes of each sample.
#define SEARCH_MOST 11

/// What is known of a CRF that was tried.
typedef struct Point {
    double crf;
    double score;
    // of the whole encode
    double size, size_error;    ///< bytes; the error is NAN if one sample does not tell it
    double percent;             ///< of the size of the source's video
    double encode_seconds;
} Point;

/// What is searched.
typedef struct SearchPlan {
    const Metric *metric;
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
 * Choose the next CRF.
 *
 * The CRF that is searched is the highest that reaches the target, with all below it. A
 * metric that is worse in between is taken as if all above the first miss missed.
 *
 * @param point those that were tried, by rising CRF
 * @param crf   set to the one to try
 * @param found set to the point that ended the search, NULL while there is a CRF to try
 */
SearchState search_next(const SearchPlan *plan, const Point *point, int nb_points,
                              double *crf, const Point **found);

#endif /* TOOLS_CRF_SEARCH_H */
