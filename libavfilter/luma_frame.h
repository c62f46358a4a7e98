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
 * What is known of a frame before its luma is read: whether it is scored, the size of its
 * picture, and the depth and range of its samples.
 */

#ifndef AVFILTER_LUMA_FRAME_H
#define AVFILTER_LUMA_FRAME_H

#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "formats.h"

/// Whether the CPU filters support a format: gray or YUV of 8 to 16 bits, luma in its own plane.
int ff_luma_is_supported(const AVPixFmtDescriptor *desc);

/**
 * Check that a frame has the size and format of its link, which FFmpeg's filters rely on.
 *
 * @return 1, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_frame(void *logctx, const AVFilterLink *link, const AVFrame *frame);

/// All supported formats; the chroma may have any layout.
AVFilterFormats *ff_luma_formats(void);

/**
 * Whether a frame's luma is of limited range. If the frame does not say it, gray and yuvj formats
 * are not.
 *
 * @param desc describes the frame's software format
 */
int ff_luma_is_limited(const AVFrame *frame, const AVPixFmtDescriptor *desc);

/// Width of the picture. Frames on a GPU still have the margins that are to be cropped.
static inline int ff_picture_width(const AVFrame *frame)
{
    return frame->width - (frame->hw_frames_ctx ? (int)(frame->crop_left + frame->crop_right) : 0);
}

/// Height of the picture.
static inline int ff_picture_height(const AVFrame *frame)
{
    return frame->height - (frame->hw_frames_ctx ? (int)(frame->crop_top + frame->crop_bottom) : 0);
}

/// The luma of a frame.
typedef struct LumaFrame {
    int width, height;      ///< of the picture
    int depth;              ///< bits of a sample
    int shift;              ///< left shift of a sample in its 16 bits
    int limited;            ///< range
    int black;              ///< value of black
} LumaFrame;

/// Describe a frame, in memory or on a GPU.
LumaFrame ff_luma_frame(const AVFrame *frame);

/**
 * Whether n_subsample chooses a frame: one of each run of step frames, at a place that
 * changes from run to run in a pseudo-random, but repeatable way. A fixed distance would
 * prefer some types of frames, since encoders use these in a fixed pattern.
 *
 * @param n    the frame's number, from 0; frame 0 is always chosen
 * @param step 1 chooses all
 */
int ff_frame_is_chosen(uint64_t n, int step);

#endif /* AVFILTER_LUMA_FRAME_H */
