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
 * A file's video: decoded, filtered, and what of it is damaged.
 */

#ifndef TOOLS_CRF_SOURCE_H
#define TOOLS_CRF_SOURCE_H

#include "libavcodec/avcodec.h"
#include "libavformat/avformat.h"

#include "options.h"
#include "score.h"

typedef struct Source {
    AVFormatContext *format;
    AVStream *stream;
    const Options *options;     ///< whose part of the file is taken, and how, or NULL: all
    int seeks_late;             ///< decoding had to begin before where the file was asked to go
    int is_downloaded;          ///< a device has decoded it
    int keeps_all;              ///< frames whose time does not follow, too
    uint64_t nb_repeated;       ///< frames left out, as their time does not follow
    uint64_t bytes;             ///< of the packets between start and end
    AVRational time_base, frame_rate;               ///< of the output

    // private
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;             ///< decoded, and waiting for a graph to be made for it
    int has_frame, ended;
    const char *filters;        ///< the user's
    AVBPrint formats;           ///< filters that all output has to go through after these
    AVBufferRef *device;        ///< to which frames are uploaded, or NULL; not owned
    Graph graph;
    int64_t start, end;         ///< in the stream's time base
    int64_t shift;              ///< taken off all times
    int64_t next_pts;           ///< of a frame without a timestamp
    int64_t last_out;
    int64_t position;           ///< of the last packet of the video
    uint64_t nb_damaged;        ///< packets and frames that are damaged between start and end
    int64_t damage[2];          ///< position of the first and the last of them
} Source;

/// What is known of a file's video once all packets were read.
typedef struct Scan {
    int nb_frames;
    uint64_t bytes;
    double seconds;             ///< to its end
    double missing;             ///< by which the file says to be longer than any of its streams
} Scan;

/**
 * Open a decoder, in the place of one that there is.
 *
 * @param device that decodes, or NULL
 */
int decoder_open(AVCodecContext **decoder, const AVCodecParameters *par, AVRational time_base,
                 AVBufferRef *device);

/// Send a packet to a decoder, which is another one if the device cannot decode that at all.
int decoder_send(AVCodecContext **decoder, const AVCodecParameters *par, const AVPacket *packet);

/**
 * Open a file, at the first video stream that is no picture.
 *
 * @param o what is taken of it, and how it is decoded, or NULL
 * @return 0, or < 0 after a message
 */
int source_open(Source *s, const char *path, const Options *o);

/// Open a part of the input as it goes to the encoder, or as that is compared with: microseconds
/// from the start of what is taken of it, duration 0 for all.
int source_open_part(Source *s, const Options *o, int is_reference, int64_t start, int64_t duration);

/// @return 0, AVERROR_EOF, or another error after a message
int source_next(Source *s, AVFrame *frame);

/// How long what is taken of it is, as the file tells.
double source_seconds(const Source *s);

/// Read a file that is open, to its end, without decoding it.
int source_scan(Source *s, Scan *scan);

/// Tell what was found damaged. @return 0 if nothing was, or that is accepted
int source_check(const Source *s, const Options *o);

void source_close(Source *s);

#endif /* TOOLS_CRF_SOURCE_H */
