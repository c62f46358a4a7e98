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

#ifndef AVFILTER_SAMPLE_FORMAT_H
#define AVFILTER_SAMPLE_FORMAT_H

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

/// Whether a format has integers of 8 to 16 bits, with luma, or red, in a plane of its own.
static inline int luma_is_planar(const AVPixFmtDescriptor *desc)
{
    const AVComponentDescriptor *luma = &desc->comp[0];
    const uint64_t refused =
        AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL |
        AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_BAYER | AV_PIX_FMT_FLAG_XYZ;

    return desc->nb_components && !(desc->flags & refused) &&
           luma->depth >= 8 && luma->depth <= 16 && luma->step == (luma->depth + 7) / 8 &&
           (luma->depth == 8 || !(desc->flags & AV_PIX_FMT_FLAG_BE) == !AV_HAVE_BIGENDIAN);
}

/// Whether the filters support a format: gray or YUV with luma in the first plane.
static inline int luma_is_supported(const AVPixFmtDescriptor *desc)
{
    return luma_is_planar(desc) && !(desc->flags & AV_PIX_FMT_FLAG_RGB);
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
        .black   = luma_is_limited(frame, desc) ? 16 << (luma->depth - 8) : 0,
    };
}

/// An input as it was configured. Its frames must agree with it.
typedef struct LumaInput {
    int width, height;
    enum AVPixelFormat format;
    enum AVPixelFormat sw_format;       ///< format of the samples; differs for CUDA frames
    enum AVColorRange range;            ///< range of its frames, unspecified before the first one
    enum AVColorTransferCharacteristic transfer;    ///< the last one that a frame specified
} LumaInput;

/// The inputs of a filter, the first member of its private context; the second one is the reference.
typedef struct LumaInputs {
    const AVClass *class;
    LumaInput input[2];
    // set by the filter in init()
    int (*is_wanted)(const AVPixFmtDescriptor *desc);   ///< whether a format is accepted; NULL for CUDA
    int mixes_ranges;                   ///< whether each input is read by its own range
    int converts_colors;                ///< whether each input is converted by its own matrix, and HDR refused
    int min_size;                       ///< minimum width and height; 0 if any size is accepted

    int width, height;                  ///< size of the last picture
    int hdr_warned;
} LumaInputs;

/**
 * For FILTER_QUERY_FUNC2(): set lists of the formats that is_wanted() accepts such that libavfilter
 * does not convert one of two inputs to the format, range or color space of the other. The output
 * has those of the first input.
 */
int ff_luma_query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                          AVFilterFormatsConfig **cfg_out);

/**
 * config_props of the last input: store the size and format of the inputs' links. Warn of different
 * color matrices, and of a format that is not wanted and therefore converted.
 *
 * @return 0, or AVERROR(EINVAL) after a message if the size is not supported, the sizes differ, or
 *         one of two inputs is converted though its format is wanted
 */
int ff_luma_config(AVFilterLink *inlink);

/// Whether a frame has the configured size and format of an input.
static inline int luma_fits(const LumaInput *in, const AVFrame *frame)
{
    return frame->width == in->width && frame->height == in->height &&
           frame->format == in->format && luma_sw_format(frame) == in->sw_format;
}

/**
 * Check that a frame of input i has the configured size and format. Filters such as scale and crop
 * rewrite those of the link.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_size(AVFilterContext *ctx, int i, const AVFrame *frame);

/**
 * Check also the size of the picture, for frames on a GPU may be cropped, and that neither the range
 * has changed, nor the transfer from or to PQ or HLG. A frame of the reference is compared with the
 * last one of the main input, too: if neither is unspecified, the transfers must both be PQ, both
 * HLG or both others. Warn once of PQ or HLG.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_frame(AVFilterContext *ctx, int i, const AVFrame *frame);

/**
 * Get a frame whose first plane is luma: RGB is converted to gray as by rgb2gray.
 *
 * @return a new frame, or a reference to the given one if it is not RGB; NULL without memory
 */
AVFrame *ff_luma_of_rgb(const AVFrame *frame);

#endif /* AVFILTER_SAMPLE_FORMAT_H */
