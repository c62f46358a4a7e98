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

#include "libavutil/avstring.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/opt.h"

#include "filters.h"
#include "luma.h"

/// Weights of rgb2gray in units of 2^-22; their sum is 1. Rounded to 8 bits, the luma of each of
/// the 2^24 colors is that of the weights in double precision.
static const int rgb_weight[3] = { 1253829, 2462237, 478238 };
#define RGB_WEIGHT_BITS 22

// ---- negotiation ----

AVFilterFormats *ff_luma_formats(int (*is_wanted)(const AVPixFmtDescriptor *desc))
{
    const AVPixFmtDescriptor *desc = NULL;
    AVFilterFormats *formats = NULL;

    while ((desc = av_pix_fmt_desc_next(desc)))
        if (is_wanted(desc) &&
            ff_add_format(&formats, av_pix_fmt_desc_get_id(desc)) < 0)
            return NULL;
    return formats;
}

int ff_luma_pair_formats(const LumaInputs *s, const AVFilterContext *ctx,
                         AVFilterFormatsConfig **cfg_in, AVFilterFormatsConfig **cfg_out)
{
    int ret;

    if ((ret = ff_formats_ref(ff_luma_formats(s->is_wanted), &cfg_in[1]->formats)) < 0 ||
        (ret = ff_formats_ref(ff_all_color_spaces(),         &cfg_in[1]->color_spaces)) < 0 ||
        (ret = ff_formats_ref(ff_all_color_ranges(),         &cfg_in[1]->color_ranges)) < 0)
        return ret;
    // the output has those of the main input
    return ff_set_common_formats2(ctx, cfg_in, cfg_out, ff_luma_formats(s->is_wanted));
}

static const char *input_name(const AVFilterContext *ctx, int i)
{
    return i ? "reference" : ctx->nb_inputs > 1 ? "main input" : "input";
}

static const char *range_name(int is_limited)
{
    return is_limited ? "limited" : "full";
}

/// Whether frames of a format may have either range.
static int has_range(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);

    return luma_is_supported(desc) && desc->nb_components >= 3 && strncmp(desc->name, "yuvj", 4);
}

/**
 * Check what a scaler before an input does. libavfilter inserts one for formats that are not wanted.
 * A scaler of the user takes the format and range of the output where it can, and so those of the
 * other input.
 */
static int check_scaler(const LumaInputs *s, AVFilterContext *ctx, int i)
{
    const AVFilterLink *to = ctx->inputs[i], *from;
    const char *name;
    int64_t out_range = 0;
    int by_range = 0, was_full, is_full, is_error;

    for (;; to = to->src->inputs[0]) {
        name = to->src->filter->name;
        if (to->src->nb_inputs != 1)
            return 0;
        if (!strcmp(name, "scale"))
            break;
        // the user has chosen the format, but maybe not the range
        if (!strcmp(name, "format") || av_strstart(name, "hwupload", NULL))
            by_range = 1;
        else if (fffilter(to->src->filter)->formats_state != FF_FILTER_FORMATS_PASSTHROUGH)
            return 0;
    }
    from      = to->src->inputs[0];
    by_range |= from->format == to->format;
    was_full  = from->color_range == AVCOL_RANGE_JPEG;
    is_full   = to->color_range == AVCOL_RANGE_JPEG;
    av_opt_get_int(to->src->priv, "out_range", 0, &out_range);
    if (by_range && (out_range || was_full == is_full ||
                     !has_range(from->format) || !has_range(to->format)))
        return 0;
    is_error = ctx->nb_inputs > 1 && (by_range || s->is_wanted(av_pix_fmt_desc_get(from->format)));
    av_log(ctx, is_error ? AV_LOG_ERROR : AV_LOG_WARNING, "A scaler converts the %s from %s to %s, "
           "which may change the score: %s%s.\n", input_name(ctx, i),
           by_range ? range_name(!was_full) : av_get_pix_fmt_name(from->format),
           by_range ? range_name(!is_full)  : av_get_pix_fmt_name(to->format),
           by_range ? "set its option out_range=" : is_error ? "insert after it format=" :
           "to choose the conversion, insert scale and format=",
           by_range ? range_name(!was_full) :
           av_get_pix_fmt_name(is_error ? from->format : to->format));
    return is_error ? AVERROR(EINVAL) : 0;
}

int ff_luma_config(LumaInputs *s, AVFilterContext *ctx)
{
    int ret = 0;

    for (int i = 0; i < ctx->nb_inputs && ret >= 0; i++) {
        const AVFilterLink *link  = ctx->inputs[i];
        const AVBufferRef *frames = ff_filter_link(ctx->inputs[i])->hw_frames_ctx;

        s->input[i] = (LumaInput){
            .width     = link->w,
            .height    = link->h,
            .format    = link->format,
            .sw_format = frames ? ((AVHWFramesContext *)frames->data)->sw_format : link->format,
        };
        ret = s->is_wanted || ctx->nb_inputs > 1 ? check_scaler(s, ctx, i) : 0;
    }
    return ret;
}

// ---- frames ----

int ff_luma_check_size(const LumaInputs *s, AVFilterContext *ctx, int i, const AVFrame *frame)
{
    const LumaInput *in = &s->input[i];
    const enum AVPixelFormat format = luma_sw_format(frame);

    if (frame->width == in->width && frame->height == in->height &&
        frame->format == in->format && format == in->sw_format)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "The %s has changed from %dx%d %s to %dx%d %s: insert scale%s=%d:%d "
           "before this filter.\n", input_name(ctx, i), in->width, in->height,
           av_get_pix_fmt_name(in->sw_format), frame->width, frame->height,
           av_get_pix_fmt_name(format), in->format == AV_PIX_FMT_CUDA ? "_cuda" : "",
           in->width, in->height);
    return AVERROR(EINVAL);
}

/// PQ, HLG, or 0 for SDR and what is not specified.
static int hdr_transfer(enum AVColorTransferCharacteristic transfer)
{
    return transfer == AVCOL_TRC_SMPTE2084 || transfer == AVCOL_TRC_ARIB_STD_B67 ? transfer : 0;
}

/// A matrix, or 0 for RGB and what is not specified.
static int yuv_matrix(enum AVColorSpace matrix)
{
    return matrix == AVCOL_SPC_SMPTE170M ? AVCOL_SPC_BT470BG :      // the same
           matrix == AVCOL_SPC_UNSPECIFIED ? 0 : matrix;
}

/// Report that the range or transfer of an input differs from the wanted one.
static int refuse_color(AVFilterContext *ctx, const char *name, const LumaInput *in,
                        const char *wanted_by, const LumaInput *wanted)
{
    const int by_range = in->is_limited != wanted->is_limited;
    const char *option = by_range ? "range" : "transfer";
    const char *of_in     = by_range ? range_name(in->is_limited)
                                     : av_color_transfer_name(in->transfer);
    const char *of_wanted = by_range ? range_name(wanted->is_limited)
                                     : av_color_transfer_name(wanted->transfer);

    av_log(ctx, AV_LOG_ERROR, "The %s of the %s is %s, %s %s: insert scale=out_%s=%s,format=%s "
           "before it%s, or setparams=%s=%s if only its tag is wrong.\n", option, name, of_in,
           wanted_by, of_wanted, option, of_wanted, av_get_pix_fmt_name(wanted->sw_format),
           in->format == AV_PIX_FMT_CUDA ? " and its hwupload" : "",
           by_range ? option : "color_trc", of_wanted);
    return AVERROR(EINVAL);
}

int ff_luma_check_frame(LumaInputs *s, AVFilterContext *ctx, int i, const AVFrame *frame)
{
    LumaInput *in = &s->input[i], *main = &s->input[0], now = *in;
    const int hdr = hdr_transfer(frame->color_trc);
    int ret = ff_luma_check_size(s, ctx, i, frame);

    if (ret < 0)
        return ret;
    now.has_frames = 1;
    now.is_limited = luma_is_limited(frame, av_pix_fmt_desc_get(in->sw_format));
    now.transfer   = frame->color_trc;
    now.matrix     = yuv_matrix(frame->colorspace);
    if (in->has_frames && (now.is_limited != in->is_limited || hdr != hdr_transfer(in->transfer)))
        return refuse_color(ctx, input_name(ctx, i), &now, "until now", in);
    if (!in->has_frames && hdr && !s->hdr_warned++)
        av_log(ctx, AV_LOG_WARNING, "HDR is not supported: frames with the transfer "
               "characteristics %s are scored as if they were SDR.\n",
               av_color_transfer_name(hdr));
    if (!in->has_frames && i && now.matrix != main->matrix && now.matrix && main->matrix)
        av_log(ctx, AV_LOG_WARNING, "The color matrix of the main input is %s, the reference's %s, "
               "and they are compared without a conversion: if the tags are right, insert "
               "scale=out_color_matrix=%s before the main input.\n",
               av_color_space_name(main->matrix), av_color_space_name(now.matrix),
               av_color_space_name(now.matrix));
    *in = now;
    if (i && (main->is_limited != in->is_limited && !s->mixes_ranges ||
              main->transfer != AVCOL_TRC_UNSPECIFIED && in->transfer != AVCOL_TRC_UNSPECIFIED &&
              hdr != hdr_transfer(main->transfer)))
        return refuse_color(ctx, "main input", main, "the reference's", in);
    return 0;
}

// ---- RGB ----

AVFrame *ff_luma_of_rgb(const AVFrame *frame)
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
