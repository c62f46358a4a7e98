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
 * The size of the picture in a frame.
 */

#ifndef AVFILTER_QUALITY_FRAME_H
#define AVFILTER_QUALITY_FRAME_H

#include "libavutil/frame.h"

/// Width of the picture: cropping of frames on a GPU leaves the left and top.
static inline int ff_quality_width(const AVFrame *frame)
{
    return frame->width - (frame->hw_frames_ctx ? (int)frame->crop_left : 0);
}

/// The same for the height.
static inline int ff_quality_height(const AVFrame *frame)
{
    return frame->height - (frame->hw_frames_ctx ? (int)frame->crop_top : 0);
}

#endif /* AVFILTER_QUALITY_FRAME_H */
