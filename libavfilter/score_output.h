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
 * The files that filters write, and the numbers in them.
 *
 * No two filters write one file, and a file that has an end gets its name when it is whole.
 * When frames change in size or format, ffmpeg frees the filter and creates another one with
 * the same options. That one goes on with the files if its first frame is later than the last
 * one before, and the files are as they were left. Otherwise it is another video, and its
 * files replace the others, as in a new process.
 */

#ifndef AVFILTER_SCORE_OUTPUT_H
#define AVFILTER_SCORE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/bprint.h"
#include "libavutil/frame.h"
#include "libavutil/rational.h"

#define SCORE_MAX_OUTPUTS 3
#define SCORE_MAX_CARRIED 8
#define SCORE_MAX_CARRIED_SIZE 256

/// Bytes that any double takes with up to 20 digits after the point.
#define SCORE_NUMBER_SIZE 336

/// Print a number with a point in every locale: hosts call setlocale(), and logs are for all.
static inline char *score_print(char text[SCORE_NUMBER_SIZE], const char *format,
                                int digits, double value)
{
    static const char number[] = "+-0123456789einfa";  // also of inf and nan
    char *point, *rest;

    snprintf(text, SCORE_NUMBER_SIZE, format, digits, value);
    point = text + strspn(text, number);
    rest  = point + strcspn(point, number);
    if (rest > point) {
        *point = '.';
        memmove(point + 1, rest, strlen(rest) + 1);
    }
    return text;
}

#define SCORE_FIXED(digits, value) score_print((char[SCORE_NUMBER_SIZE]){ 0 }, "%.*f", digits, value)
#define SCORE_SHORT(value)         score_print((char[SCORE_NUMBER_SIZE]){ 0 }, "%.*g", 6, value)

typedef struct ScoreOutput {
    // set by the filter
    const char *path;       ///< "-" is standard output
    int has_end;            ///< it is not valid without its end

    FILE *file;
    char *tmp_path;         ///< written first, then renamed to path
    int64_t body;           ///< bytes that a successor goes on behind
    int continued;          ///< it has frames already
    struct ScoreOutput *next;   ///< of those that are being written
} ScoreOutput;

typedef struct ScoreCarried {
    void *data;
    size_t size;
} ScoreCarried;

/// What one filter writes.
typedef struct ScoreOutputs {
    // set by the filter
    void *options;          ///< an AVClass context: a successor's are the same
    ScoreOutput *output[SCORE_MAX_OUTPUTS];
    int nb_outputs;
    /// what a successor gets
    ScoreCarried carried[SCORE_MAX_CARRIED];
    int nb_carried;
    /// and memory
    void *owned;
    void (*free_owned)(void *owned);

    int noted;              ///< frames have come
    int64_t pts;            ///< of the last frame
    AVRational time_base;
    int open, closed;
    int error;              ///< first error met
} ScoreOutputs;

/**
 * Note a frame, before anything else is done with it: the first one tells if there
 * is something to go on with. What is carried is set then.
 */
void ff_score_outputs_note(ScoreOutputs *s, void *logctx, const AVFrame *frame,
                           AVRational time_base);

/**
 * Open all, unless that was done. Without a frame, there is nothing to replace
 * older files by.
 *
 * @return 1 if they were opened by this call, 0 if not, or a negative AVERROR
 *         after a message
 */
int ff_score_outputs_open(ScoreOutputs *s, void *logctx);

/**
 * Write text, whole and at once.
 *
 * @param text of an unlimited buffer, which is cleared
 * @return 0, or a negative AVERROR after a message
 */
int ff_score_output_write(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text);

/**
 * Close all, and keep what a successor needs. What has no name yet gets it, unless
 * there was an error: then it is removed. May be called again, and without
 * ff_score_outputs_open().
 *
 * @return 0, or the first error
 */
int ff_score_outputs_close(ScoreOutputs *s, void *logctx);

/// Free what filters have left to others: for tests, which look for leaks.
void ff_score_outputs_forget(void);

#endif /* AVFILTER_SCORE_OUTPUT_H */
