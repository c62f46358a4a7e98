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
 * The inputs and the output of a filter that compares two videos: its pads, sizes and times, the
 * pairing of its frames, and warnings about frames that may be paired wrongly.
 *
 * By default the nearest frames are paired, here; ts_sync_mode=default leaves it to framesync.
 *
 * Functions of type int return 0, or a negative AVERROR after a message. All are called in the
 * thread that runs the filter.
 */

#ifndef AVFILTER_DUALINPUT_H
#define AVFILTER_DUALINPUT_H

#include <stdint.h>

#include "libavutil/fifo.h"
#include "libavutil/frame.h"
#include "libavutil/opt.h"

#include "avfilter.h"
#include "filters.h"
#include "framesync.h"
#include "sample_format.h"
#include "score_log.h"
#include "shared_arith.h"

/// Frames of an input.
typedef struct PairSyncInput {
    AVFifo *queue;          ///< unpaired AVFrame *, with a time_base, of the previous graph; or NULL
    uint64_t nb_before;     ///< frames read in previous graphs, or from the queue
    int64_t time;           ///< time of the last frame read, AV_NOPTS_VALUE before the first one
    int64_t interval;       ///< time between the last two frames read
    int64_t shift;          ///< offset added to the timestamps of the link
} PairSyncInput;

/// Frames and counters that the filter of a rebuilt graph takes over.
typedef struct PairSyncState {
    AVRational time_base;   ///< framesync's time base, of all times and intervals here
    PairSyncInput in[2];
    int64_t main_time;      ///< time of the last main frame; unused while nb_main is 0
    uint64_t nb_main;       ///< main frames
    uint64_t nb_main_unpaired;  ///< main frames for which the reference had none
    uint64_t nb_ref;        ///< reference frames, without the next one
    uint64_t nb_ref_paired;
    uint64_t last_ref;      ///< number of the last paired reference frame, from 1
    uint64_t nb_pairs;
    uint64_t nb_mismatched; ///< pairs whose times differ by more than a rounding
} PairSyncState;

typedef struct PairSync {
    FFFrameSync fs;         ///< holds the frames of the current pair and the next ones
    // set by the filter in init()
    MetricOutput **output;  ///< counts damaged frames, and keeps frames for a rebuilt graph

    PairSyncState state;
    int64_t first_ref;      ///< timestamp of the reference's first frame
} PairSync;

#define PAIR_SYNC_OPTION(name, help, offset, type, value, min, max, flags, group)               \
    { name, help, offset, type, { .i64 = value }, min, max, flags, .unit = group }
#define PAIR_SYNC_CONST(name, help, value, flags, group)                                        \
    PAIR_SYNC_OPTION(name, help, 0, AV_OPT_TYPE_CONST, value, 0, 0, flags, group)

/// The options of framesync with other defaults; the filter's context has a PairSync as member.
#define PAIR_SYNC_OPTIONS(type, member, flags)                                                  \
    PAIR_SYNC_OPTIONS_WITH(type, member, EOF_ACTION_PASS, TS_NEAREST, flags)

/// The options of framesync with two defaults.
#define PAIR_SYNC_OPTIONS_WITH(type, member, eof_action, ts_sync_mode, flags)                   \
    PAIR_SYNC_OPTION("eof_action", "action after the reference's last frame",                   \
        offsetof(type, member.fs.opt_eof_action), AV_OPT_TYPE_INT, eof_action,                  \
        EOF_ACTION_REPEAT, EOF_ACTION_PASS, flags, "eof_action"),                               \
    PAIR_SYNC_CONST("repeat", "compare with that frame", EOF_ACTION_REPEAT, flags, "eof_action"), \
    PAIR_SYNC_CONST("endall", "end the output", EOF_ACTION_ENDALL, flags, "eof_action"),        \
    PAIR_SYNC_CONST("pass", "pass main frames unscored", EOF_ACTION_PASS, flags, "eof_action"), \
    PAIR_SYNC_OPTION("shortest", "end the output with the shorter input",                       \
        offsetof(type, member.fs.opt_shortest), AV_OPT_TYPE_BOOL, 0, 0, 1, flags, NULL),        \
    PAIR_SYNC_OPTION("repeatlast", "0 for eof_action=pass",                                     \
        offsetof(type, member.fs.opt_repeatlast), AV_OPT_TYPE_BOOL, 1, 0, 1, flags, NULL),      \
    PAIR_SYNC_OPTION("ts_sync_mode", "reference frame that a main frame is compared with",      \
        offsetof(type, member.fs.opt_ts_sync_mode), AV_OPT_TYPE_INT, ts_sync_mode,              \
        TS_DEFAULT, TS_NEAREST, flags, "ts_sync_mode"),                                         \
    PAIR_SYNC_CONST("default", "the last one at or before it", TS_DEFAULT, flags, "ts_sync_mode"), \
    PAIR_SYNC_CONST("nearest", "the nearest one in time", TS_NEAREST, flags, "ts_sync_mode")

extern const AVFilterPad ff_pair_sync_inputs[2];

/**
 * Check both inputs, see ff_luma_config(), and configure framesync and the output, which is like the
 * main input.
 */
int ff_pair_sync_config_output(PairSync *s, AVFilterLink *outlink);

/// Read frames and call on_event() for a main frame, as ff_framesync_activate() does.
int ff_pair_sync_activate(PairSync *s);

/**
 * Get the current pair, as ff_framesync_dualinput_get() does, and warn of the first pair
 * whose times differ. Frames that are not as configured are an error, see ff_luma_check_frame().
 *
 * @param main      the caller's
 * @param reference framesync's; NULL where there is nothing to compare with
 */
int ff_pair_sync_get(PairSync *s, AVFrame **main, AVFrame **reference);

/**
 * process_command() of a filter with a PairSync. At hand_over, leave the frames that are not paired yet to
 * the rebuilt graph.
 */
int ff_pair_sync_command(PairSync *s, AVFilterContext *ctx, const char *cmd, const char *arg,
                         char *res, int res_len, int flags);

/// Output the main frames that wait for the reference, unpaired. @return 0 or more, or an error
int ff_pair_sync_pass_waiting(PairSync *s);

/// Report the frames that were unpaired or may be paired wrongly, and free framesync.
void ff_pair_sync_uninit(PairSync *s, AVFilterContext *ctx);

#endif /* AVFILTER_DUALINPUT_H */
