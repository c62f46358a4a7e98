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
 * What is known of a frame before its luma is read: the size of its picture, and the depth and
 * range of its samples.
 */

#ifndef AVFILTER_LUMA_H
#define AVFILTER_LUMA_H

#include <stdint.h>
#include <string.h>

#include "libavutil/error.h"
#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
#include "libavutil/log.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "formats.h"

/// The largest width and height of a picture.
#define LUMA_MAX_SIZE 16384

/// The luma of a frame.
typedef struct LumaFrame {
    int width, height;      ///< of the picture
    int depth;              ///< bits of a sample
    int shift;              ///< left shift of a sample in its 16 bits
    int black;              ///< value of black
} LumaFrame;

/// Whether the filters support a format: gray or YUV of 8 to 16 bits, luma in its own plane.
static inline int luma_is_supported(const AVPixFmtDescriptor *desc)
{
    const AVComponentDescriptor *luma = &desc->comp[0];
    const uint64_t refused =
        AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM |
        AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER |
        AV_PIX_FMT_FLAG_XYZ;

    return desc->nb_components && !(desc->flags & refused) &&
           luma->depth >= 8 && luma->depth <= 16 &&
           luma->plane == 0 && luma->offset == 0 && luma->step == (luma->depth + 7) / 8 &&
           (luma->depth == 8 || !(desc->flags & AV_PIX_FMT_FLAG_BE) == !AV_HAVE_BIGENDIAN);
}

/// All formats that the CPU filters support; the chroma may have any layout.
static inline AVFilterFormats *luma_formats(void)
{
    const AVPixFmtDescriptor *desc = NULL;
    AVFilterFormats *formats = NULL;

    while ((desc = av_pix_fmt_desc_next(desc)))
        if (luma_is_supported(desc) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) &&
            ff_add_format(&formats, av_pix_fmt_desc_get_id(desc)) < 0)
            return NULL;
    return formats;
}

/// Width of the picture. Frames on a GPU still have the margins that are to be cropped.
static inline int picture_width(const AVFrame *frame)
{
    return frame->width - (frame->hw_frames_ctx ? (int)(frame->crop_left + frame->crop_right) : 0);
}

/// Height of the picture.
static inline int picture_height(const AVFrame *frame)
{
    return frame->height - (frame->hw_frames_ctx ? (int)(frame->crop_top + frame->crop_bottom) : 0);
}

/**
 * Check that a frame has the size and format of its link, which FFmpeg's filters rely on.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
static inline int luma_check_frame(void *logctx, const AVFilterLink *link, const AVFrame *frame)
{
    if (frame->width == link->w && frame->height == link->h && frame->format == link->format)
        return 0;
    av_log(logctx, AV_LOG_ERROR, "A frame of %dx%d %s came on a link of %dx%d %s: insert scale%s "
           "before this filter.\n", frame->width, frame->height,
           av_get_pix_fmt_name(frame->format), link->w, link->h,
           av_get_pix_fmt_name(link->format), link->format == AV_PIX_FMT_CUDA ? "_cuda" : "");
    return AVERROR(EINVAL);
}

/**
 * Whether a frame's luma is of limited range. If the frame does not say it, gray and yuvj formats
 * are not.
 *
 * @param desc describes the frame's software format
 */
static inline int luma_is_limited(const AVFrame *frame, const AVPixFmtDescriptor *desc)
{
    if (frame->color_range == AVCOL_RANGE_UNSPECIFIED)
        return desc->nb_components >= 3 && strncmp(desc->name, "yuvj", 4);
    return frame->color_range == AVCOL_RANGE_MPEG;
}

/// Describe a frame, in memory or on a GPU.
static inline LumaFrame luma_frame(const AVFrame *frame)
{
    const AVHWFramesContext *hw = frame->hw_frames_ctx ? (void *)frame->hw_frames_ctx->data : NULL;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(hw ? hw->sw_format : frame->format);
    const AVComponentDescriptor *luma = &desc->comp[0];

    return (LumaFrame){
        .width   = picture_width(frame),
        .height  = picture_height(frame),
        .depth   = luma->depth,
        .shift   = luma->shift,
        .black   = luma->depth >= 8 && luma_is_limited(frame, desc) ? 16 << (luma->depth - 8) : 0,
    };
}

#endif /* AVFILTER_LUMA_H */
