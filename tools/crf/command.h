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

/** @file What is known of files without decoding them, and the commands for a shell. */

#ifndef TOOLS_CRF_COMMAND_H
#define TOOLS_CRF_COMMAND_H

#include "libavformat/avformat.h"

#include "options.h"

typedef struct Unit {
    double time;                ///< in seconds of the part that is used
    int64_t size;
} Unit;

typedef struct Input {
    AVFormatContext *format;
    AVStream *stream;           ///< the largest video
    // of the part that is used
    Unit *unit;                 ///< the packets of the video, by rising time
    int nb_units;
    int64_t bytes;
    double seconds;             ///< to the end of the last one
} Input;

/// What all commands are made of.
typedef struct Job {
    const Options *o;
    const Input *in;
    const char *ffmpeg, *version;
    const AVCodecParameters *encode;    ///< of the encode, once a first frame was encoded
    const char *upload;         ///< format of the frames that are scored on a GPU, or NULL
    int is_mixed;               ///< one of 8 bits is scored against 10
} Job;

int input_open(Input *in, const char *path);

/// Read all packets of a part, of which length 0 is to the end, and warn of what is cut off.
/// @param nb_frames use no more than so many frames, if it is not 0
int input_scan(Input *in, double start, double length, int nb_frames);

/// The packets of so many seconds from a place. @return their number
int input_count(const Input *in, double start, double seconds, int64_t *bytes);

/// What a command that scores prints for each frame that is encoded, packet and decoded frame,
/// beside the scores.
#define LINE_FRAME   "frame"
#define LINE_PACKET  "packet "
#define LINE_DECODED "decoded"

/// The ffmpeg beside this program, or else that of PATH, which has the short name.
const char *command_ffmpeg(void);

/// A word for a shell.
const char *command_word(const char *string);

/// Encode one frame to a file of this number.
const char *command_first(const Job *job, double crf, int file);

/// Encode a sample and score it; duration 0 is all.
const char *command_sample(const Job *job, double crf, double start, double duration, int step);

/// Score an encode.
const char *command_verify(const Job *job, const Input *encode);

/// Encode all, with the other streams; as it is printed, or with scores. Warnings name the streams
/// that are left out. @return NULL after a message
const char *command_whole(const Job *job, double crf, const char *output, int scores, int warns);

#endif /* TOOLS_CRF_COMMAND_H */
