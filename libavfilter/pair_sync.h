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
 * The inputs and the output of a filter that compares two videos, by framesync: one description
 * of its pads, sizes and times, and a warning where frames that are paired are of two times.
 *
 * Functions of type int return 0, or a negative AVERROR after a message. All are called in the
 * thread that runs the filter.
 */

#ifndef AVFILTER_PAIR_SYNC_H
#define AVFILTER_PAIR_SYNC_H

#include <stdint.h>

#include "libavutil/frame.h"

#include "avfilter.h"
#include "cuda/shared.h"
#include "filters.h"
#include "framesync.h"
#include "luma.h"

typedef struct PairSync {
    FFFrameSync fs;         ///< its class is the filter's: FRAMESYNC_DEFINE_CLASS()
    int min_size;           ///< set by the filter: the least width and height of both inputs
    LumaInputs inputs;      ///< the filter sets is_wanted and mixes_ranges

    int64_t main_time;      ///< of the last main frame, if there was one
    uint64_t nb_main;       ///< main frames
    uint64_t nb_pairs;
    uint64_t nb_apart;      ///< pairs whose times differ by more than a rounding
    uint64_t nb_early;      ///< main frames before the first one of the reference
} PairSync;

extern const AVFilterPad ff_pair_sync_inputs[2];

/**
 * Check the sizes of both inputs' links, equal and from min_size to LUMA_MAX_SIZE, and configure
 * framesync and the output, which is like the main input.
 */
int ff_pair_sync_config_output(PairSync *s, AVFilterLink *outlink);

/**
 * Get what framesync has paired, as ff_framesync_dualinput_get() does, and warn of the first pair
 * whose times differ. Frames that are not as configured are an error, see ff_luma_check_frame(), and so
 * are pictures of two sizes: frames on a GPU may be cropped.
 *
 * @param main      the caller's
 * @param reference framesync's; NULL where there is nothing to compare with
 */
int ff_pair_sync_get(PairSync *s, AVFrame **main, AVFrame **reference);

/// Say how many frames were not compared as they should be, and free framesync.
void ff_pair_sync_uninit(PairSync *s, AVFilterContext *ctx);

#endif /* AVFILTER_PAIR_SYNC_H */
