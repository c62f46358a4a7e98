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

/** @file What is known of a file without decoding it. */

#ifndef TOOLS_CRF_INPUT_H
#define TOOLS_CRF_INPUT_H

#include "libavformat/avformat.h"

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

int input_open(Input *in, const char *path);

/// Read all packets of a part, of which length 0 is to the end, and warn of what is cut off.
/// @param nb_frames use no more than so many frames, if it is not 0
int input_scan(Input *in, double start, double length, int nb_frames);

/// The packets of so many seconds from a place. @return their number
int input_count(const Input *in, double start, double seconds, int64_t *bytes);

#endif /* TOOLS_CRF_INPUT_H */
