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
 * The files that quality filters write, all in one place: so that no two filters
 * write one file, that a file which has an end gets its name when it is whole,
 * and that files go on where a filter graph was rebuilt.
 *
 * When frames change in size or format, ffmpeg frees the filter and creates
 * another with the same options. To that one the first leaves what it knows,
 * for as long as the process lives. It takes it if its first frame is later
 * than the last one of the first filter, and the files are as they were left.
 * Otherwise it is another video, and its files replace the others, as they do
 * in a new process.
 */

#ifndef AVFILTER_SCORE_OUTPUT_H
#define AVFILTER_SCORE_OUTPUT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libavutil/bprint.h"
#include "libavutil/frame.h"
#include "libavutil/rational.h"

#define SCORE_MAX_OUTPUTS 3
#define SCORE_MAX_CARRIED 8

typedef struct ScoreOutput {
    // set by the filter
    const char *path;       ///< "-" is standard output; NULL or "": there is none
    int has_end;            ///< it is not valid without its end: see ff_score_output_end()

    FILE *file;
    char *tmp_path;         ///< written first, then renamed to path
    int64_t body;           ///< bytes before the end
    int continued;          ///< it has frames already
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

    char *key;
    int noted;              ///< frames have come
    int64_t pts;            ///< of the last frame
    AVRational time_base;
    int open, closed;
    int error;              ///< first error met
    struct ScoreOutputs *next;    ///< of those that are open
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

/// Write the end of an output, which a successor will put behind its own frames.
int ff_score_output_end(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text);

/**
 * Close all, and keep what a successor needs. What has no name yet gets it, unless
 * there was an error: then it is removed. owned is NULL afterwards. May be called
 * again, and without ff_score_outputs_open().
 *
 * @return 0, or the first error
 */
int ff_score_outputs_close(ScoreOutputs *s, void *logctx);

/// Free what filters have left to others: for tests, which look for leaks.
void ff_score_outputs_forget(void);

#endif /* AVFILTER_SCORE_OUTPUT_H */
