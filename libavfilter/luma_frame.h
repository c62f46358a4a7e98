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
 * What is known of a frame before its luma is computed on: if it is scored at all, the
 * size of its picture, and the depth and range of its samples.
 */

#ifndef AVFILTER_LUMA_FRAME_H
#define AVFILTER_LUMA_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/pixfmt.h"

/**
 * The option of the range.
 *
 * @param member member of type int of the filter's context
 */
#define LUMA_RANGE_OPTION(type, member, flags)                                                               \
    { "range",       "set the range of the luma samples", offsetof(type, member), AV_OPT_TYPE_INT, { .i64 = AVCOL_RANGE_UNSPECIFIED }, 0, AVCOL_RANGE_NB - 1, flags, .unit = "range" }, \
    {     "auto",    "as the frame says; gray and yuvj are full, others limited", 0, AV_OPT_TYPE_CONST, { .i64 = AVCOL_RANGE_UNSPECIFIED }, 0, 0, flags, .unit = "range" }, \
    {     "limited", "black is 16 in 8 bits",  0, AV_OPT_TYPE_CONST, { .i64 = AVCOL_RANGE_MPEG }, 0, 0, flags, .unit = "range" }, \
    {     "tv",      "black is 16 in 8 bits",  0, AV_OPT_TYPE_CONST, { .i64 = AVCOL_RANGE_MPEG }, 0, 0, flags, .unit = "range" }, \
    {     "full",    "black is 0",             0, AV_OPT_TYPE_CONST, { .i64 = AVCOL_RANGE_JPEG }, 0, 0, flags, .unit = "range" }, \
    {     "pc",      "black is 0",             0, AV_OPT_TYPE_CONST, { .i64 = AVCOL_RANGE_JPEG }, 0, 0, flags, .unit = "range" }

/**
 * Whether a frame's luma is of limited range.
 *
 * @param range the option
 * @param desc  describes the frame's software format
 */
static inline int ff_luma_is_limited(int range, const AVFrame *frame,
                                        const AVPixFmtDescriptor *desc)
{
    const int is_full = desc->nb_components < 3 || !strncmp(desc->name, "yuvj", 4);

    if (range == AVCOL_RANGE_UNSPECIFIED)
        range = frame->color_range;
    if (range == AVCOL_RANGE_UNSPECIFIED)
        return !is_full;
    return range == AVCOL_RANGE_MPEG;
}

/// Width of the picture: cropping of frames on a GPU leaves what is cut, by a decoder at the left and top alone.
static inline int ff_picture_width(const AVFrame *frame)
{
    return frame->width - (frame->hw_frames_ctx ? (int)(frame->crop_left + frame->crop_right) : 0);
}

/// The same for the height.
static inline int ff_picture_height(const AVFrame *frame)
{
    return frame->height - (frame->hw_frames_ctx ? (int)(frame->crop_top + frame->crop_bottom) : 0);
}

/// The luma of a frame.
typedef struct LumaFrame {
    int width, height;      ///< of the picture
    int depth;              ///< bits of a sample
    int shift;              ///< that a sample has to the left in its 16 bits
    int limited;            ///< range
    int black;              ///< value of black
} LumaFrame;

/**
 * Describe a frame, in memory or on a GPU.
 *
 * @param range the option
 */
static inline LumaFrame ff_luma_frame(const AVFrame *frame, int range)
{
    const AVHWFramesContext *hw = frame->hw_frames_ctx ? (void *)frame->hw_frames_ctx->data : NULL;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(hw ? hw->sw_format : frame->format);
    const AVComponentDescriptor *luma = &desc->comp[0];
    const int limited = ff_luma_is_limited(range, frame, desc);

    return (LumaFrame){
        .width   = ff_picture_width(frame),
        .height  = ff_picture_height(frame),
        .depth   = luma->depth,
        .shift   = luma->shift,
        .limited = limited,
        .black   = limited && luma->depth >= 8 ? 16 << (luma->depth - 8) : 0,
    };
}

/**
 * Whether n_subsample chooses a frame: one of each run of step frames, at a place that
 * changes from run to run as if by chance, but is always the same for a number. A fixed
 * distance would meet some kinds of frames more than others, since encoders repeat theirs.
 *
 * @param n    the frame's number, from 0; that one is chosen
 * @param step 1 chooses all
 */
static inline int ff_frame_is_chosen(uint64_t n, int step)
{
    // a multiplicative hash, twice, of which run of step frames it is
    uint32_t hash = n / step * 0x9e3779b9;

    for (int i = 0; i < 2; i++)
        hash = (hash ^ hash >> 16) * 0x9e3779b9;
    return n % step == (uint64_t)hash * step >> 32;
}

#endif /* AVFILTER_LUMA_FRAME_H */
