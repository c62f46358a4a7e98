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
 * Format negotiation, checks of inputs and frames, and conversion of RGB to luma, see
 * sample_format.h
 */

#include <string.h>

#include "libavutil/csp.h"
#include "libavutil/error.h"
#include "libavutil/imgutils.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/rational.h"

#include "filters.h"
#include "sample_format.h"
#include "video.h"

/// Weights of rgb2gray in units of 2^-22; their sum is 1. For each of the 2^24 colors they give the
/// same rounded luma as the weights in double precision.
static const int rgb_weight[3] = { 1253829, 2462237, 478238 };
#define RGB_WEIGHT_BITS 22

// ---- negotiation ----

/// Return the formats that the filter accepts, or NULL if out of memory.
static AVFilterFormats *list_formats(const AVFilterContext *ctx)
{
    const LumaInputs *s = ctx->priv;
    const AVPixFmtDescriptor *desc = NULL;
    AVFilterFormats *formats = NULL;

    if (!s->is_wanted)
        return ff_make_formats_list_singleton(AV_PIX_FMT_CUDA);
    while ((desc = av_pix_fmt_desc_next(desc)))
        if (s->is_wanted(desc) && ff_add_format(&formats, av_pix_fmt_desc_get_id(desc)) < 0)
            return NULL;
    return formats;
}

int ff_luma_query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                          AVFilterFormatsConfig **cfg_out)
{
    int ret;

    if (ctx->nb_inputs > 1 &&
        ((ret = ff_formats_ref(list_formats(ctx), &cfg_in[1]->formats)) < 0 ||
         (ret = ff_formats_ref(ff_all_color_spaces(), &cfg_in[1]->color_spaces)) < 0 ||
         (ret = ff_formats_ref(ff_all_color_ranges(), &cfg_in[1]->color_ranges)) < 0))
        return ret;
    return ff_set_common_formats2(ctx, cfg_in, cfg_out, list_formats(ctx));
}

static const char *input_name(const AVFilterContext *ctx, int i)
{
    return i ? "reference" : ctx->nb_inputs > 1 ? "main input" : "input";
}

static const char *scaler_name(const AVFilterContext *ctx)
{
    return ctx->inputs[0]->format == AV_PIX_FMT_CUDA ? "scale_cuda" : "scale";
}

/**
 * Check that no scaler converts the format of an input. libavfilter inserts a scaler if the filter
 * does not accept the format, and a scaler of the user may negotiate the other input's format.
 */
static int check_conversion(AVFilterContext *ctx, int i)
{
    const LumaInputs *s = ctx->priv;
    const AVFilterLink *to = ctx->inputs[i], *from;
    int is_error;

    // look for a scaler before filters that keep the format; after format= the user has chosen it
    while (to->src->nb_inputs == 1 && to->src->inputs[0]->format == to->format &&
           strcmp(to->src->filter->name, "format")) {
        from = to->src->inputs[0];
        // negotiation may give a scaler before one input the matrix and range of the other input
        if (ctx->nb_inputs > 1 && !strcmp(to->src->filter->name, "scale") &&
            (from->colorspace != to->colorspace || from->color_range != to->color_range))
            av_log(ctx, AV_LOG_WARNING, "%s converts the %s from matrix %s, range %s to %s, %s. If "
                   "only the tags differ, insert setparams before it.\n", to->src->name,
                   input_name(ctx, i), av_color_space_name(from->colorspace),
                   av_color_range_name(from->color_range), av_color_space_name(to->colorspace),
                   av_color_range_name(to->color_range));
        to = from;
    }
    if (strcmp(to->src->filter->name, "scale") || to->src->inputs[0]->format == to->format)
        return 0;
    from     = to->src->inputs[0];
    is_error = ctx->nb_inputs > 1 && s->is_wanted(av_pix_fmt_desc_get(from->format));
    av_log(ctx, is_error ? AV_LOG_ERROR : AV_LOG_WARNING, "A scaler converts the %s from %s to %s: "
           "insert format=%s before this filter to choose the format.\n",
           input_name(ctx, i), av_get_pix_fmt_name(from->format), av_get_pix_fmt_name(to->format),
           av_get_pix_fmt_name(is_error ? from->format : to->format));
    return is_error ? AVERROR(EINVAL) : 0;
}

/// Check the size of a picture of input i: the limits, and for the reference the last main one.
static int check_picture_size(AVFilterContext *ctx, int i, int width, int height)
{
    LumaInputs *s = ctx->priv;

    if (i && (width != s->width || height != s->height)) {
        av_log(ctx, AV_LOG_ERROR, "The main input is %dx%d, the reference %dx%d: insert %s=%d:%d "
               "before the main input.\n", s->width, s->height, width, height, scaler_name(ctx),
               width, height);
        return AVERROR(EINVAL);
    }
    if (s->min_size && (FFMIN(width, height) < s->min_size || FFMAX(width, height) > LUMA_MAX_SIZE)) {
        av_log(ctx, AV_LOG_ERROR, "A frame of %dx%d cannot be scored: width and height must be "
               "%d to %d; insert %s before this filter.\n", width, height, s->min_size,
               LUMA_MAX_SIZE, scaler_name(ctx));
        return AVERROR(EINVAL);
    }
    s->width  = width;
    s->height = height;
    return 0;
}

/// Warn about different color matrices, which are not converted.
static void check_matrices(AVFilterContext *ctx)
{
    const enum AVColorSpace main = ctx->inputs[0]->colorspace, ref = ctx->inputs[1]->colorspace;
    const AVLumaCoefficients *main_luma = av_csp_luma_coeffs_from_avcsp(main);
    const AVLumaCoefficients *ref_luma  = av_csp_luma_coeffs_from_avcsp(ref);

    if (main_luma && ref_luma && av_cmp_q(main_luma->cr, ref_luma->cr) &&
        main != AVCOL_SPC_RGB && ref != AVCOL_SPC_RGB)
        av_log(ctx, AV_LOG_WARNING, "The color matrix of the main input is %s, but the reference's "
               "is %s. They are compared without a conversion: if the tags are right, insert "
               "scale=out_color_matrix=%s before the main input.\n", av_color_space_name(main),
               av_color_space_name(ref), av_color_space_name(ref));
}

int ff_luma_config(AVFilterLink *inlink)
{
    AVFilterContext *ctx = inlink->dst;
    LumaInputs *s = ctx->priv;
    int ret;

    for (int i = 0; i < ctx->nb_inputs; i++) {
        const AVFilterLink *link  = ctx->inputs[i];
        const AVBufferRef *frames = ff_filter_link(ctx->inputs[i])->hw_frames_ctx;

        s->input[i] = (LumaInput){
            .width     = link->w,
            .height    = link->h,
            .format    = link->format,
            .sw_format = frames ? ((AVHWFramesContext *)frames->data)->sw_format : link->format,
            .transfer  = AVCOL_TRC_UNSPECIFIED,
        };
        if ((ret = check_picture_size(ctx, i, link->w, link->h)) < 0 ||
            (ret = check_conversion(ctx, i)) < 0)
            return ret;
    }
    if (ctx->nb_inputs > 1 && !s->converts_colors)
        check_matrices(ctx);
    return 0;
}

// ---- frames ----

int ff_luma_check_size(AVFilterContext *ctx, int i, const AVFrame *frame)
{
    const LumaInput *in = &((const LumaInputs *)ctx->priv)->input[i];
    const enum AVPixelFormat format = luma_sw_format(frame);

    if (luma_matches_input(in, frame))
        return 0;
    av_log(ctx, AV_LOG_ERROR, "The %s has changed from %dx%d %s to %dx%d %s: insert %s=%d:%d "
           "before this filter.\n", input_name(ctx, i), in->width, in->height,
           av_get_pix_fmt_name(in->sw_format), frame->width, frame->height,
           av_get_pix_fmt_name(format), scaler_name(ctx), in->width, in->height);
    return AVERROR(EINVAL);
}

/// Return whether transfer characteristics are PQ or HLG.
static int is_hdr(enum AVColorTransferCharacteristic transfer)
{
    return transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67;
}

static const char *color_value_name(const LumaInput *in, int by_transfer)
{
    return by_transfer ? av_color_transfer_name(in->transfer) :
           in->range == AVCOL_RANGE_MPEG ? "limited" : "full";
}

/**
 * Check that an input has the same range as wanted, and PQ or HLG if wanted has it. Unspecified
 * properties are not compared.
 *
 * @param in        properties of input i
 * @param wanted_by words of the message before the wanted property, such as "was previously"
 * @param any_range whether the ranges may differ
 */
static int check_color(AVFilterContext *ctx, int i, const LumaInput *in, const char *wanted_by,
                       const LumaInput *wanted, int any_range)
{
    const int by_transfer = in->transfer != wanted->transfer &&
                            in->transfer != AVCOL_TRC_UNSPECIFIED &&
                            wanted->transfer != AVCOL_TRC_UNSPECIFIED &&
                            (is_hdr(in->transfer) || is_hdr(wanted->transfer));
    const char *option = by_transfer ? "transfer" : "range";
    const char *value  = color_value_name(wanted, by_transfer);

    if (!by_transfer && (any_range || in->range == wanted->range ||
                         wanted->range == AVCOL_RANGE_UNSPECIFIED))
        return 0;
    av_log(ctx, AV_LOG_ERROR, "The %s of the %s is %s, but %s %s: insert scale=out_%s=%s,format=%s "
           "before it%s, or setparams=%s=%s if only its tag is wrong.\n", option,
           input_name(ctx, i), color_value_name(in, by_transfer), wanted_by, value, option, value,
           av_get_pix_fmt_name(wanted->sw_format),
           in->format == AV_PIX_FMT_CUDA ? " and its hwupload" : "",
           by_transfer ? "color_trc" : option, value);
    return AVERROR(EINVAL);
}

int ff_luma_check_frame(AVFilterContext *ctx, int i, const AVFrame *frame)
{
    LumaInputs *s = ctx->priv;
    LumaInput *in = &s->input[i], current = *in;
    int ret;

    current.range = luma_is_limited(frame, av_pix_fmt_desc_get(in->sw_format)) ? AVCOL_RANGE_MPEG
                                                                           : AVCOL_RANGE_JPEG;
    if (frame->color_trc != AVCOL_TRC_UNSPECIFIED)
        current.transfer = frame->color_trc;
    if ((ret = ff_luma_check_size(ctx, i, frame)) < 0 ||
        (ret = check_picture_size(ctx, i, picture_width(frame), picture_height(frame))) < 0 ||
        (ret = check_color(ctx, i, &current, "was previously", in, 0)) < 0)
        return ret;
    if (is_hdr(current.transfer) && !s->converts_colors && !s->hdr_warned++)
        av_log(ctx, AV_LOG_WARNING, "HDR is not supported: frames with the transfer "
               "characteristics %s are scored as if they were SDR.\n",
               av_color_transfer_name(current.transfer));
    *in = current;
    return i ? check_color(ctx, 0, &s->input[0], "the reference's is", in,
                           s->allow_mixed_ranges) : 0;
}

AVFrame *ff_luma_black_frame(AVFilterLink *outlink, const AVFrame *src)
{
    const int is_limited = luma_is_limited(src, av_pix_fmt_desc_get(src->format));
    AVFrame *frame = ff_get_video_buffer(outlink, outlink->w, outlink->h);
    ptrdiff_t linesize[4];

    for (int i = 0; frame && i < 4; i++)
        linesize[i] = frame->linesize[i];
    if (frame && (av_frame_copy_props(frame, src) < 0 ||
                  av_image_fill_black(frame->data, linesize, frame->format,
                                      is_limited ? AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG,
                                      frame->width, frame->height) < 0))
        av_frame_free(&frame);
    return frame;
}

// ---- RGB ----

AVFrame *ff_luma_from_rgb(const AVFrame *frame)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
    AVFrame *gray;

    if (!luma_is_rgb(desc))
        return av_frame_clone(frame);
    if (!(gray = av_frame_alloc()))
        return NULL;
    gray->format      = AV_PIX_FMT_GRAY8;
    gray->color_range = AVCOL_RANGE_JPEG;
    gray->width       = frame->width;
    gray->height      = frame->height;
    if (av_frame_get_buffer(gray, 0) < 0)
        av_frame_free(&gray);
    for (int y = 0; gray && y < frame->height; y++) {
        uint8_t *dst = gray->data[0] + y * (ptrdiff_t)gray->linesize[0];
        const uint8_t *src[3];

        for (int i = 0; i < 3; i++)
            src[i] = frame->data[desc->comp[i].plane] + desc->comp[i].offset +
                     y * (ptrdiff_t)frame->linesize[desc->comp[i].plane];
        for (int x = 0, at = 0; x < frame->width; x++, at += desc->comp[0].step)
            dst[x] = (rgb_weight[0] * src[0][at] + rgb_weight[1] * src[1][at] +
                      rgb_weight[2] * src[2][at] + (1 << (RGB_WEIGHT_BITS - 1))) >> RGB_WEIGHT_BITS;
    }
    return gray;
}
