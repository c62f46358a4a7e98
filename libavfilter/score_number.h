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
 * Numbers as text, with a point in every locale: a host may have called
 * setlocale(), and logs, metadata and models are not for one country.
 */

#ifndef AVFILTER_SCORE_NUMBER_H
#define AVFILTER_SCORE_NUMBER_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/mem.h"

/// Bytes that any double takes with up to 20 digits after the point.
#define SCORE_NUMBER_SIZE 336

/// What a number consists of, beside the point.
#define SCORE_NUMBER_CHARACTERS "+-0123456789" \
                                  "abcdefghijklmnopqrstuvwxyz" "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/// Put a point in the place of the locale's, which may have several bytes.
static inline char *score_set_point(char *text)
{
    char *point = text + strspn(text, SCORE_NUMBER_CHARACTERS);
    char *rest  = point + strcspn(point, SCORE_NUMBER_CHARACTERS);

    if (rest > point) {
        *point = '.';
        memmove(point + 1, rest, strlen(rest) + 1);
    }
    return text;
}

/// A number with so many digits after the point, as %.*f prints it.
static inline char *score_fixed(char text[SCORE_NUMBER_SIZE], int digits, double value)
{
    snprintf(text, SCORE_NUMBER_SIZE, "%.*f", digits, value);
    return score_set_point(text);
}

/// A number with six digits or less, as %g prints it.
static inline char *score_short(char text[SCORE_NUMBER_SIZE], double value)
{
    snprintf(text, SCORE_NUMBER_SIZE, "%g", value);
    return score_set_point(text);
}

/// All bits of a number, as %a prints them.
static inline char *score_exact(char text[SCORE_NUMBER_SIZE], double value)
{
    snprintf(text, SCORE_NUMBER_SIZE, "%a", value);
    return score_set_point(text);
}

#define SCORE_FIXED(digits, value) score_fixed((char[SCORE_NUMBER_SIZE]){ 0 }, digits, value)
#define SCORE_SHORT(value)         score_short((char[SCORE_NUMBER_SIZE]){ 0 }, value)
#define SCORE_EXACT(value)         score_exact((char[SCORE_NUMBER_SIZE]){ 0 }, value)

/**
 * What strtod() does where the point is a point.
 *
 * @param end set to what follows the number, to text if there is none
 */
static inline double score_strtod(const char *text, char **end)
{
    const size_t space  = strspn(text, " \t\r\n");
    const size_t before = space + strspn(text + space, SCORE_NUMBER_CHARACTERS);
    const size_t after  = before + (text[before] == '.');
    const size_t all    = after + strspn(text + after, SCORE_NUMBER_CHARACTERS);
    char half[16], *copy, *stop;
    double value;

    // 0.5 without its digits is the locale's point
    snprintf(half, sizeof(half), "%.1f", .5);
    half[strlen(half) - 1] = 0;
    copy = av_asprintf("%.*s%s%.*s", (int)before, text, after > before ? half + 1 : "",
                       (int)(all - after), text + after);
    if (!copy) {
        *end = (char *)text;
        return 0;
    }
    value = strtod(copy, &stop);
    *end  = (char *)text + (stop - copy);
    if (stop > copy + before)
        *end -= strlen(half + 1) - 1;
    av_free(copy);
    return value;
}

#endif /* AVFILTER_SCORE_NUMBER_H */
