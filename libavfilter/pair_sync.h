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
 * What the filters that compare two inputs have to say of the frames that
 * framesync has paired: a warning where their times tell of two pictures.
 */

#ifndef AVFILTER_PAIR_SYNC_H
#define AVFILTER_PAIR_SYNC_H

#include <stdint.h>

#include "libavutil/frame.h"

#include "avfilter.h"
#include "framesync.h"

typedef struct PairSync {
    int64_t main_time;      ///< of the last main frame, if there was one
    uint64_t nb_main;       ///< main frames
    uint64_t nb_pairs;
    uint64_t nb_apart;      ///< pairs whose times differ by more than a rounding
    uint64_t nb_early;      ///< main frames before the first one of the reference
} PairSync;

/**
 * Look at what ff_framesync_dualinput_get() has just given, and warn of the
 * first pair whose times differ.
 *
 * @param ref the reference's frame, NULL if there is none
 */
void ff_pair_sync_check(PairSync *s, AVFilterContext *ctx,
                           const FFFrameSync *fs, const AVFrame *ref);

/**
 * Check the size of a pair of pictures.
 *
 * @param min,max   of width and height
 * @param scale     name of the filter that would mend it
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_pair_sync_check_size(AVFilterContext *ctx, int main_width, int main_height,
                               int reference_width, int reference_height, int min, int max,
                               const char *scale);

/// Say how many frames were not compared as they should be, once no more come.
void ff_pair_sync_report(const PairSync *s, AVFilterContext *ctx);

#endif /* AVFILTER_PAIR_SYNC_H */
