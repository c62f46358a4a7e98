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

#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
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

/// Whether a format is RGB that is converted to luma by ff_luma_of_rgb().
static inline int luma_is_rgb(const AVPixFmtDescriptor *desc)
{
    const enum AVPixelFormat format = av_pix_fmt_desc_get_id(desc);

    return format == AV_PIX_FMT_RGB24 || format == AV_PIX_FMT_BGR24 || format == AV_PIX_FMT_GBRP;
}

/// Whether a filter that measures luma alone accepts a format; the chroma may have any layout.
static inline int luma_is_readable(const AVPixFmtDescriptor *desc)
{
    return luma_is_supported(desc) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) || luma_is_rgb(desc);
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

/// The format of a frame's samples, in memory or on a GPU.
static inline enum AVPixelFormat luma_sw_format(const AVFrame *frame)
{
    return frame->hw_frames_ctx ? ((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format
                                : frame->format;
}

/**
 * Whether a frame's luma is of limited range. RGB never is; if the frame does not say it, gray and
 * yuvj formats are not.
 *
 * @param desc describes the frame's software format
 */
static inline int luma_is_limited(const AVFrame *frame, const AVPixFmtDescriptor *desc)
{
    if (desc->flags & AV_PIX_FMT_FLAG_RGB)
        return 0;
    if (frame->color_range == AVCOL_RANGE_UNSPECIFIED)
        return desc->nb_components >= 3 && strncmp(desc->name, "yuvj", 4);
    return frame->color_range == AVCOL_RANGE_MPEG;
}

/// Describe a frame, in memory or on a GPU.
static inline LumaFrame luma_frame(const AVFrame *frame)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(luma_sw_format(frame));
    const AVComponentDescriptor *luma = &desc->comp[0];

    return (LumaFrame){
        .width   = picture_width(frame),
        .height  = picture_height(frame),
        .depth   = luma->depth,
        .shift   = luma->shift,
        .black   = luma->depth >= 8 && luma_is_limited(frame, desc) ? 16 << (luma->depth - 8) : 0,
    };
}

/// An input as it was configured. Its frames must agree with it.
typedef struct LumaInput {
    int width, height;
    enum AVPixelFormat format;
    enum AVPixelFormat sw_format;       ///< format of the samples; differs for CUDA frames
    int has_frames;                     ///< the first frame has set the members below
    int is_limited;                     ///< see luma_is_limited()
    enum AVColorTransferCharacteristic transfer;
    int matrix;                         ///< enum AVColorSpace, or 0 if it does not matter
} LumaInput;

/// The inputs of a filter; the second one is the reference.
typedef struct LumaInputs {
    LumaInput input[2];
    // set by the filter
    int (*is_wanted)(const AVPixFmtDescriptor *desc);   ///< NULL for CUDA, and if conversions do not matter
    int mixes_ranges;                   ///< whether each input is read by its own range

    int hdr_warned;
} LumaInputs;

/// List the formats that is_wanted() accepts.
AVFilterFormats *ff_luma_formats(int (*is_wanted)(const AVPixFmtDescriptor *desc));

/**
 * Set lists of the formats that s->is_wanted() accepts such that libavfilter converts neither input
 * to the format, range or color space of the other. The output has the format of the first input.
 */
int ff_luma_pair_formats(const LumaInputs *s, const AVFilterContext *ctx,
                         AVFilterFormatsConfig **cfg_in, AVFilterFormatsConfig **cfg_out);

/**
 * Store the size and format of the inputs' links. Warn if a scaler converts a format that is not
 * wanted.
 *
 * @return 0, or AVERROR(EINVAL) after a message if one of two inputs is converted though its format
 *         is wanted
 */
int ff_luma_config(LumaInputs *s, AVFilterContext *ctx);

/**
 * Check that a frame of input i has the configured size and format. Filters such as scale and crop
 * rewrite those of the link.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_size(const LumaInputs *s, AVFilterContext *ctx, int i, const AVFrame *frame);

/**
 * Check also that the range has not changed, nor the transfer from or to PQ or HLG. A frame of the
 * reference is compared with the last one of the main input, too: if neither is unspecified, the
 * transfers must both be PQ, both HLG or both others. Warn once of PQ or HLG, and of different
 * color matrices.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_frame(LumaInputs *s, AVFilterContext *ctx, int i, const AVFrame *frame);

/**
 * Get a frame whose first plane is luma: RGB is converted to gray as by rgb2gray.
 *
 * @return a new frame, or a reference to the given one if it is not RGB; NULL without memory
 */
AVFrame *ff_luma_of_rgb(const AVFrame *frame);

#endif /* AVFILTER_LUMA_H */
