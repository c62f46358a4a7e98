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
 * What is told: messages, progress and JSON; and what libraries say in their logs only.
 */

#ifndef TOOLS_CRF_OUTPUT_H
#define TOOLS_CRF_OUTPUT_H

#include "libavutil/attributes.h"
#include "libavutil/error.h"
#include "libavutil/log.h"

/// The signal that asks to end, or 0.
extern volatile int caught_signal;

/// How many errors demuxers have logged: some go on after them as if nothing were missing.
extern int demuxer_errors;

/// What an encoder has logged of an option that it goes on without, or "".
extern char refused_option[256];

/// The last error that was told.
extern char last_error[1024];

void output_init(void);

/// Tell what is wrong. @return ret
int fail(int ret, const char *format, ...) av_printf_format(2, 3);

#define usage(...) fail(AVERROR(EINVAL), __VA_ARGS__)
#define warn(...)  av_log(NULL, AV_LOG_WARNING, __VA_ARGS__)

/// Tell it, whatever the log level.
void tell(const char *format, ...) av_printf_format(1, 2);

/// On a terminal, show it until something else is told.
void show_meter(const char *doing, const char *what);
void clear_meter(void);

/**
 * Begin to show progress.
 *
 * @param doing what all lines begin with
 * @param jobs  how many pieces of work like this one are left, with it
 */
void progress_begin(const char *doing, double jobs);

/**
 * Show progress.
 *
 * @param what is done: the same string as long as it is the same
 * @param part of this piece of work that is done
 * @return 0, or AVERROR_EXIT after a signal
 */
int progress(const char *what, int frames, int nb_frames, double part);

/// Minutes and seconds, with hours if there are any.
const char *clock_time(char text[16], double seconds);
#define CLOCK(seconds) clock_time((char[16]){ 0 }, seconds)

/// A string, one of JSON's words, or else a number, which is null if it is not finite.
typedef struct JSONField {
    const char *key;
    double number;
    const char *string, *word;
} JSONField;

/// Write an object in a line to standard output.
void json_write(const char *type, const JSONField *field);
#define JSON(type, ...) json_write(type, (const JSONField[]){ __VA_ARGS__, { NULL } })

#endif /* TOOLS_CRF_OUTPUT_H */
