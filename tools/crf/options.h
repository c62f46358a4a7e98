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

/** @file What is asked for on the command line. Functions return 0, or -1 after a message. */

#ifndef TOOLS_CRF_OPTIONS_H
#define TOOLS_CRF_OPTIONS_H

#include "libavutil/dict.h"
#include "libavutil/log.h"

#include "search.h"

typedef struct Metric {
    const char *name;           ///< of it, and of its filter
    const char *key;            ///< of the score in the metadata, up to the names of planes
    Scale scale;
    int digits;                 ///< after the point
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every
} Metric;

typedef struct Options {
    const AVClass *class;

    // set from the command line, see the table in options.c; times are in microseconds
    char *input;
    int64_t start, end, length; ///< of what is taken of it; length 0: to its end
    char *hwaccel, *encoder;
    char *filters, *reference;  ///< before the encoder, and before what it is compared with
    char *rate, *size, *keyint, *pix_fmt;
    int nb_frames;              ///< the most of the encode, 0 if there is no limit
    char *metric_name, *model, *pool;
    SearchPlan plan;
    double crf;
    int samples, min_samples;
    int64_t every, duration;    ///< of samples
    int step;
    char *gpu, *encode, *verify, *loglevel;
    int thorough, cache, video_only, overwrite, json, help, version;
    char *ignored;              ///< for options that set others
    AVDictionary *encoder_options;
    AVDictionary *other_options;    ///< of streams that are not the video

    // what that means
    const Metric *metric;
    const char *crf_option;     ///< of the encoder: what is searched
    const char *upload;         ///< filters after which it takes frames of a device, or ""
    const char *device;         ///< for that, or NULL
} Options;

int options_parse(Options *o, int argc, char **argv);

/// Take the encoder, of which `ffmpeg -h encoder=` prints this.
int options_take_encoder(Options *o, const char *help, double frame_rate);

void options_print_help(void);

/// A name with another ending.
char *output_name(const char *path, const char *kind);

#endif /* TOOLS_CRF_OPTIONS_H */
