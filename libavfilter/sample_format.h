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
 * Per-frame information that does not depend on pixel values: size of the picture, depth and
 * range of its samples. Also format negotiation, and the checks that inputs and frames must pass
 * before a filter reads them.
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

/// Maximum width and height of a picture.
#define LUMA_MAX_SIZE 16384

/// Size and sample format of the luma of a frame.
typedef struct LumaFormat {
    int width, height;      ///< size of the picture, without cropped margins
    int depth;              ///< bits of a sample, 8 to 16
    int shift;              ///< left shift of a sample in its word
    int black;              ///< sample of black: 0 in full range
} LumaFormat;

/// Return whether a format has integers of 8 to 16 bits, and luma, or red, in a plane of its own.
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

/// Return whether a format is gray or YUV with luma in its own plane, the first one.
static inline int luma_is_supported(const AVPixFmtDescriptor *desc)
{
    return luma_is_planar(desc) && !(desc->flags & AV_PIX_FMT_FLAG_RGB);
}

/// Return whether ff_luma_from_rgb() converts a format to luma.
static inline int luma_is_rgb(const AVPixFmtDescriptor *desc)
{
    const enum AVPixelFormat format = av_pix_fmt_desc_get_id(desc);

    return format == AV_PIX_FMT_RGB24 || format == AV_PIX_FMT_BGR24 || format == AV_PIX_FMT_GBRP;
}

/// Return whether filters that measure luma alone accept a format. Chroma may have any layout.
static inline int luma_or_rgb_is_supported(const AVPixFmtDescriptor *desc)
{
    return luma_is_supported(desc) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) || luma_is_rgb(desc);
}

/// Return the width of the picture. Decoded frames on a GPU still contain the cropped margins.
static inline int picture_width(const AVFrame *frame)
{
    return frame->width - (frame->hw_frames_ctx ? (int)(frame->crop_left + frame->crop_right) : 0);
}

/// Return the height of the picture, see picture_width().
static inline int picture_height(const AVFrame *frame)
{
    return frame->height - (frame->hw_frames_ctx ? (int)(frame->crop_top + frame->crop_bottom) : 0);
}

/// Return the format of the samples of a frame, in memory or on a GPU.
static inline enum AVPixelFormat luma_sw_format(const AVFrame *frame)
{
    return frame->hw_frames_ctx ? ((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format
                                : frame->format;
}

/**
 * Return whether the luma of a frame has limited range. RGB always has full range. If the range is
 * unspecified, gray and yuvj formats have full range, others limited range.
 *
 * @param desc descriptor of the frame's software format
 */
static inline int luma_is_limited(const AVFrame *frame, const AVPixFmtDescriptor *desc)
{
    if (desc->flags & AV_PIX_FMT_FLAG_RGB)
        return 0;
    if (frame->color_range == AVCOL_RANGE_UNSPECIFIED)
        return desc->nb_components >= 3 && strncmp(desc->name, "yuvj", 4);
    return frame->color_range == AVCOL_RANGE_MPEG;
}

/// Return size and sample format of the luma of a frame, in memory or on a GPU.
static inline LumaFormat luma_format(const AVFrame *frame)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(luma_sw_format(frame));
    const AVComponentDescriptor *luma = &desc->comp[0];

    return (LumaFormat){
        .width   = picture_width(frame),
        .height  = picture_height(frame),
        .depth   = luma->depth,
        .shift   = luma->shift,
        .black   = luma_is_limited(frame, desc) ? 16 << (luma->depth - 8) : 0,
    };
}

/// Configuration of an input. Each of its frames must match it.
typedef struct LumaInput {
    int width, height;
    enum AVPixelFormat format;
    enum AVPixelFormat sw_format;       ///< format of the samples; differs for CUDA frames
    enum AVColorRange range;            ///< range of its frames, unspecified before the first one
    enum AVColorTransferCharacteristic transfer;    ///< last specified transfer characteristics
} LumaInput;

/// Inputs of a filter, the first member of its private context. input[1] is the reference.
typedef struct LumaInputs {
    const AVClass *class;
    LumaInput input[2];
    // the filter sets these in init()
    int (*is_wanted)(const AVPixFmtDescriptor *desc);   ///< whether it accepts a format; NULL: CUDA
    int allow_mixed_ranges;             ///< whether the ranges of both inputs may differ
    int converts_colors;                ///< whether it converts each input by its own matrix, and refuses HDR
    int min_size;                       ///< minimum width and height; 0 if any size is accepted

    int width, height;                  ///< size of the last picture
    int hdr_warned;                     ///< whether the warning about HDR has been printed
} LumaInputs;

/**
 * Set the formats that is_wanted() accepts, for FILTER_QUERY_FUNC2(). The lists of two inputs are
 * independent, so that libavfilter does not convert one to format, range or color space of the
 * other. The output has those of the first input.
 *
 * @return 0, or a negative AVERROR
 */
int ff_luma_query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                          AVFilterFormatsConfig **cfg_out);

/**
 * Store size and format of all input links; config_props of the last input. Warn about different
 * color matrices, and about a scaler that converts an unsupported format.
 *
 * @return 0, or AVERROR(EINVAL) after a message if the size is not supported, the sizes differ, or
 *         a scaler converts one of two inputs although its format is supported
 */
int ff_luma_config(AVFilterLink *inlink);

/// Return whether a frame has the configured size and format of an input.
static inline int luma_matches_input(const LumaInput *in, const AVFrame *frame)
{
    return frame->width == in->width && frame->height == in->height &&
           frame->format == in->format && luma_sw_format(frame) == in->sw_format;
}

/**
 * Check that a frame of input i has the configured size and format. The size and format of the link
 * cannot be compared: filters such as scale and crop change them within a filter graph.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_size(AVFilterContext *ctx, int i, const AVFrame *frame);

/**
 * Check a frame of input i: size and format as ff_luma_check_size(), size of the picture, which may
 * be cropped on a GPU, and no change of the range or from or to PQ or HLG. A frame of the reference
 * must also match the last main frame: the size, the range unless allow_mixed_ranges is set, and
 * PQ or HLG if both specify the transfer characteristics. Warn once about PQ or HLG.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_luma_check_frame(AVFilterContext *ctx, int i, const AVFrame *frame);

/**
 * Return a frame whose first plane is luma. RGB is converted to gray of full range, with the
 * weights of MATLAB's rgb2gray.
 *
 * @return a frame that the caller owns, a new reference to the given one if it is not RGB; NULL if
 *         out of memory
 */
AVFrame *ff_luma_from_rgb(const AVFrame *frame);

/// Allocate a black frame for an output, with the properties of a frame in memory. @return NULL without memory
AVFrame *ff_luma_black_frame(AVFilterLink *outlink, const AVFrame *src);

#endif /* AVFILTER_SAMPLE_FORMAT_H */
