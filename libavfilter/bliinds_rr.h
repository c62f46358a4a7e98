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
 * A file of the energies of a source's frames, documented in doc/rr-format.md. It is
 * written while the source is scored. While an encode is scored, it is read, and each
 * frame of the encode is matched with a frame of the source.
 *
 * Functions of type int return 0, or a negative AVERROR after a message.
 */

#ifndef AVFILTER_BLIINDS_RR_H
#define AVFILTER_BLIINDS_RR_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libavutil/opt.h"
#include "libavutil/rational.h"

#include "bliinds_model.h"
#include "score_output.h"

enum BLIINDSRRMatch {
    BLIINDS_RR_TIME,
    BLIINDS_RR_NUMBER,
    BLIINDS_RR_NB
};

typedef struct BLIINDSRRFormat {
    int width, height;
    int limited;            ///< range
    int depth;
} BLIINDSRRFormat;

/// A frame, of the source or of the encode.
typedef struct BLIINDSRRFrame {
    int64_t n;              ///< its number, from 0
    int64_t time;           ///< in microseconds, AV_NOPTS_VALUE if it has none
    BLIINDSRRFormat format;
    int valid;
    int used;               ///< an encode's frame was compared with it
    BLIINDSEnergies energies;
} BLIINDSRRFrame;

/// What a successor takes over, see score_output.h.
typedef struct BLIINDSRRKept {
    BLIINDSRRFormat format;         ///< written last
    uint64_t nb_matched;            ///< frames of the encode that have one of the source
    uint64_t nb_unmatched;          ///< frames that have none
    uint64_t nb_used;               ///< frames of the source that were compared
    BLIINDSRRFrame first_unmatched;
} BLIINDSRRKept;

typedef struct BLIINDSRR {
    // set by options, see BLIINDS_RR_OPTIONS
    char *write_path, *read_path;
    int match;

    ScoreOutput out;

    FILE *in;
    char text[256];                 ///< the part of a line that was read
    int text_size;
    uint64_t nb_lines;
    BLIINDSRRFormat read_format;    ///< read last
    int64_t last_n;                 ///< number read last, -1 at first
    BLIINDSRRFrame *frame;          ///< of the source, in the order of time or number
    uint64_t nb_frames;
    unsigned frame_size;            ///< allocated bytes
    uint64_t nb_ignored;            ///< frames without a time later than the one before

    BLIINDSRRKept kept;
    uint64_t nb_other;              ///< matched frames of which is_other_content() is true
    uint64_t nb_unused;             ///< frames of the source that were not compared; set by closing
    int is_open;                    ///< opening it was tried
    int error;                      ///< first error met
} BLIINDSRR;

/// The options of the file; the filter's context has it as member.
#define BLIINDS_RR_OPTIONS(type, member, flags)                                             \
    { "rr_write", "write the statistics of a source to this file",                          \
      offsetof(type, member.write_path), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }, \
    { "rr_read", "compare an encode with the statistics of its source in this file",        \
      offsetof(type, member.read_path), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }, \
    { "rr_match", "set what the encode's frames are matched by",                            \
      offsetof(type, member.match), AV_OPT_TYPE_INT, { .i64 = BLIINDS_RR_TIME },            \
      0, BLIINDS_RR_NB - 1, flags, .unit = "rr_match" },                                    \
    BLIINDS_RR_MATCH("time",   "timestamp, within half a frame",    BLIINDS_RR_TIME,   flags), \
    BLIINDS_RR_MATCH("number", "number in the order of the frames", BLIINDS_RR_NUMBER, flags)

#define BLIINDS_RR_MATCH(name, help, match, flags)                                          \
    { name, help, 0, AV_OPT_TYPE_CONST, { .i64 = match }, 0, 0, flags, .unit = "rr_match" }

/**
 * Open the file to read, if that was not done, and read what it has.
 *
 * @param outputs all that the filter writes: it must not be one of them
 */
int ff_bliinds_rr_open(BLIINDSRR *s, const ScoreOutputs *outputs, void *logctx);

/// A timestamp in microseconds; AV_NOPTS_VALUE if it is unknown or beyond 36,000 years.
int64_t ff_bliinds_rr_time(int64_t pts, AVRational time_base);

/// Add the file to write, if there is one, and what a successor takes over, to the outputs.
void ff_bliinds_rr_init(BLIINDSRR *s, ScoreOutputs *outputs);

/// Write a frame to the file, which is open; if frame is NULL, only the line of the version.
int ff_bliinds_rr_write(BLIINDSRR *s, ScoreOutputs *outputs, void *logctx,
                        const BLIINDSRRFrame *frame);

/**
 * Find the frame of the source that matches a frame of the encode. If need be, first read the
 * lines that were written since the last call.
 *
 * @param source set to the source's frame, NULL if it has none that matches
 */
int ff_bliinds_rr_find(BLIINDSRR *s, void *logctx, const BLIINDSRRFrame *encode,
                       const BLIINDSRRFrame **source);

/// Close the file that was read, and log what did not match; may be called again.
int ff_bliinds_rr_close(BLIINDSRR *s, void *logctx);

#endif /* AVFILTER_BLIINDS_RR_H */
