// SPDX-License-Identifier: LGPL-2.1-or-later

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
