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
 * What is asked for on the command line.
 */

#ifndef TOOLS_CRF_OPTIONS_H
#define TOOLS_CRF_OPTIONS_H

#include <stdint.h>

#include "libavcodec/codec.h"
#include "libavutil/bprint.h"
#include "libavutil/buffer.h"
#include "libavutil/dict.h"
#include "libavutil/log.h"

#include "score.h"
#include "search.h"

#define FFCRF_VERSION 1

/// What --pool makes of the scores.
enum { POOL_MEAN, POOL_WORST_SAMPLE, POOL_PERCENTILE };

typedef struct Options {
    const AVClass *class;

    // set from the command line, see the table in options.c
    char *input;
    int64_t start, end, length; ///< of what is taken of it, in microseconds; length 0: to its end
    char *hwaccel;
    char *encoder_name;
    char *filters, *reference_filters;
    char *keyint;
    char *audio_codec, *audio_rate;
    int downmix, video_only;
    char *ignored;              ///< for options that set others
    char *pix_fmt;
    char *metric_name;
    double target[6];           ///< by --target, and of each metric in their order
    char *vmaf_model;
    char *pool_name;
    SearchPlan plan;
    double crf;
    int thorough;
    int samples, min_samples;
    int64_t every, duration;    ///< of samples, in microseconds
    int step;
    int64_t memory;
    int cache;
    char *gpu;
    char *encode, *verify;
    int probe;
    int overwrite, accept_damage;
    int json;
    char *completion, *complete;
    int loglevel, help, version;
    AVDictionary *encoder_options;

    // what that means
    const AVCodec *encoder;
    const Metric *metric;
    int pool, percent;

    // devices, or NULL
    AVBufferRef *device;        ///< a GPU that scores
    AVBufferRef *decode_device; ///< that decodes the input
    AVBufferRef *encode_device; ///< of an encoder that takes its frames only
} Options;

/// Set all options, those of no mention to their defaults. @return 0, or < 0 after a message
int options_parse(Options *o, int argc, char **argv);

/// Find what is wrong or does not go together. @return 0, or < 0 after a message
int options_check(Options *o);

void options_free(Options *o);

void print_help(void);

/// Print what the shell of that name completes command lines by.
int print_completion(const char *shell);

/// Print what may follow a word of the command line.
void print_completions(const char *word);

/// "12m", "1h30m", "20s", "500ms", seconds, or hh:mm:ss. @return microseconds, < 0 if it is none
int64_t parse_duration(const char *text);

/// The encode's name, where none was given.
char *default_output(const Options *o, const char *kind);

/// All options that the encoder gets.
int encoder_options(const Options *o, double crf, AVDictionary **options);

/// Whether it takes frames of the GPU that scores.
int is_on_gpu(const AVCodec *encoder);

/// Whether it takes frames in memory.
int has_software_format(const AVCodec *encoder);

/// In what an encoder takes frames on its device, as the format filter takes it.
const char *upload_formats(const Options *o);

/// In what the encoder takes frames, as the format filter takes it; nothing if that does not matter.
int print_formats(const Options *o, AVBPrint *text);

#endif /* TOOLS_CRF_OPTIONS_H */
