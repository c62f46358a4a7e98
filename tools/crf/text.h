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

/** @file What is printed: messages, a progress meter, and lines of JSON. */

#ifndef TOOLS_CRF_TEXT_H
#define TOOLS_CRF_TEXT_H

#include <stdio.h>

#include "libavutil/avstring.h"

/// Memory that was allocated; where there is none, the program ends.
void *checked(void *memory);

/// A string by a format. It stays until the program ends.
#define text(...) ((char *)checked(av_asprintf(__VA_ARGS__)))

#define tell(...) (progress_end(), (void)fprintf(stderr, __VA_ARGS__))
#define fail(...) fail_with(text(__VA_ARGS__))

extern const char *last_error;
int fail_with(const char *message);         ///< @return -1

/// Start the progress meter: its lines begin with doing; jobs are left, this one included.
void progress_begin(const char *doing, double jobs);
void progress_show(int frames, int nb_frames);
void progress_end(void);

const char *clock_time(double seconds);     ///< as 1:02:03, or 2:03

/// A string, one of JSON's words, or else a number, which is null if it is not finite.
typedef struct JSONField {
    const char *key;
    double number;
    const char *string, *word;
} JSONField;

/// Write an object on a line to standard output.
void json_write(const char *type, const JSONField *field);
#define JSON(type, ...) json_write(type, (const JSONField[]){ __VA_ARGS__, { NULL } })
#define JSON_BOOL(x) .word = (x) ? "true" : "false"

#endif /* TOOLS_CRF_TEXT_H */
