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
 * No two filters write one file. A file that has an end gets its name when it is whole.
 *
 * When frames change in size or format, ffmpeg frees the filter and creates another one with
 * the same options, its successor. The successor continues the files if its first frame is
 * later than the last one before, and if nobody has changed the files. Otherwise it is another
 * video, and its files replace the others, as in a new process.
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
#define SCORE_MAX_CARRIED 256

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

#define SCORE_TEXT(...)            score_print((char[SCORE_NUMBER_SIZE]){ 0 }, __VA_ARGS__)
#define SCORE_FIXED(digits, value) SCORE_TEXT("%.*f", digits, value)
#define SCORE_SHORT(value)         SCORE_TEXT("%.*g", 6, value)

typedef struct ScoreOutput {
    // set by the filter
    const char *path;       ///< "-" and "/dev/stdout" are standard output
    int has_end;            ///< it is not valid without its end

    FILE *file;
    char *tmp_path;         ///< written first, then renamed to path
    int64_t body;           ///< bytes without its end: a successor writes behind them
    int continued;          ///< a filter before this one has begun it
    struct ScoreOutput *next;   ///< in the list of all that are being written
} ScoreOutput;

/// What one filter writes.
typedef struct ScoreOutputs {
    // set by the filter
    void *options;          ///< an AVClass context: a successor's are the same
    ScoreOutput *output[SCORE_MAX_OUTPUTS];
    int nb_outputs;
    // what a successor gets
    void *carried;          ///< a struct of so many bytes, which are copied
    size_t carried_size;
    void *owned;            ///< memory, which is handed over
    void (*free_owned)(void *owned);

    int noted;              ///< frames have come
    int64_t pts;            ///< of the last frame
    AVRational time_base;
    int open, closed;
    int error;              ///< first error met
} ScoreOutputs;

/// Note a frame, before anything else is done with it: the first one may go on with files.
void ff_score_outputs_note(ScoreOutputs *s, void *logctx, const AVFrame *frame,
                           AVRational time_base);

/// Whether a path is that of an output.
int ff_score_outputs_have(const ScoreOutputs *s, const char *path);

/**
 * Open all, unless that was done.
 *
 * @return 1 if they were opened by this call, 0 if not, or a negative AVERROR after a message
 */
int ff_score_outputs_open(ScoreOutputs *s, void *logctx);

/**
 * Write text, whole and at once, and clear it.
 *
 * @param text of an unlimited buffer
 * @return 0, or a negative AVERROR after a message
 */
int ff_score_output_write(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text);

/**
 * Close all, opened or not, and keep what a successor needs; may be called again. After an error,
 * what has no name yet is removed.
 *
 * @return 0, or the first error
 */
int ff_score_outputs_close(ScoreOutputs *s, void *logctx);

/// Free what filters have left to successors that never came: for tests, which look for leaks.
void ff_score_outputs_forget(void);

#endif /* AVFILTER_SCORE_OUTPUT_H */
