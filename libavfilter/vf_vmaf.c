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
 * VMAF v1 (v1.0.16): full-reference quality as libvmaf computes it, to the digit
 *
 * Four features go to a regression that was trained on what people said: the detail that the
 * encode kept and added (ADM3), the motion of the source, banding (CAMBI), and the change of
 * chroma's entropy (SpEED). The motion of a frame needs the next one: frames wait for it.
 *
 * All that jobs sum are integers, and what is not is computed in one order: the result is the same
 * for any number of threads.
 */

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/internal.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/pixfmt.h"

#include "avfilter.h"
#include "filters.h"
#include "formats.h"
#include "luma.h"
#include "pair_sync.h"
#include "vmaf.h"
#include "vmaf_cpu.h"

typedef struct VMAFCPUContext {
    const AVClass *class;
    PairSync sync;
    VMAFContext common;

    int depth;                          ///< that is computed with
    enum AVPixelFormat deep_format;     ///< of frames that are converted to it
    VMAFLuma *luma;
    VMAFSpeed *speed[VMAF_NB_PRESCALES];
    VMAFCambi *cambi[VMAF_MAX_MODELS];
    AVFrame *before[VMAF_NB_WINDOWS];   ///< the last frames of the reference
    int is_held;                        ///< the last event gave no frame
} VMAFCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption vmaf_options[] = {
    VMAF_OPTIONS(VMAFCPUContext, common, FLAGS),
    { NULL }
};

FRAMESYNC_DEFINE_CLASS(vmaf, VMAFCPUContext, sync.fs);

// gray is refused with a message, and not given chroma
static const enum AVPixelFormat formats[] = {
    AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,
    AV_PIX_FMT_YUVJ420P,  AV_PIX_FMT_YUVJ422P,  AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_GRAY8,
    AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P10, AV_PIX_FMT_GRAY10,
    AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV444P12, AV_PIX_FMT_GRAY12,
    AV_PIX_FMT_NONE
};

static int query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                         AVFilterFormatsConfig **cfg_out)
{
    const VMAFCPUContext *s = ctx->priv;
    AVFilterFormats *of_main = ff_make_pixel_format_list(formats);
    int ret;

    if (!s->common.bitdepth)
        return ff_set_common_formats2(ctx, cfg_in, cfg_out, of_main);
    // depth and range of the inputs may differ
    if ((ret = ff_formats_ref(of_main, &cfg_in[0]->formats)) < 0 ||
        (ret = ff_formats_ref(of_main, &cfg_out[0]->formats)) < 0 ||
        (ret = ff_formats_ref(ff_make_pixel_format_list(formats), &cfg_in[1]->formats)) < 0)
        return ret;
    return ff_formats_ref(ff_all_color_ranges(), &cfg_in[1]->color_ranges);
}

// ---- a pair ----

static int score_frame(AVFilterContext *ctx, AVFrame *main, const AVFrame *encode,
                       const AVFrame *reference)
{
    VMAFCPUContext *s = ctx->priv;
    VMAFContext *c    = &s->common;
    const int chosen  = ff_vmaf_is_chosen(c, c->nb_frames);
    uint64_t sad[VMAF_NB_WINDOWS] = { 0 };
    VMAFSums sums;
    int ret = 0;

    for (int i = 0; i < VMAF_NB_WINDOWS; i++)
        if (c->needs_window[i] && c->nb_run > i)
            sad[i] = ff_vmaf_motion(s->luma, ctx, s->before[i], reference);
    for (int i = 0; i < VMAF_NB_CSF && chosen; i++)
        if (c->needs_csf[i])
            ff_vmaf_adm(s->luma, ctx, reference, encode, c->adm[i], &sums.adm[i]);
    for (int i = 0; i < VMAF_NB_PRESCALES && chosen; i++)
        if (s->speed[i])
            sums.speed[i] = ff_vmaf_speed(s->speed[i], ctx, reference, encode);
    for (int i = 0; i < c->nb_models && chosen && ret >= 0; i++)
        if (s->cambi[i])
            ret = ff_vmaf_cambi(s->cambi[i], ctx, encode, &sums.cambi[i]);
    if (ret >= 0)
        ff_vmaf_add(c, main, chosen ? &sums : NULL, sad);
    return ret;
}

/// Get a frame as it is computed with. @return a reference, NULL if memory is short
static AVFrame *convert(const VMAFCPUContext *s, const AVFrame *src)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(src->format);
    AVFrame *dst;

    if (desc->comp[0].depth == s->depth)
        return av_frame_clone(src);
    if (!(dst = av_frame_alloc()))
        return NULL;
    dst->format = s->deep_format;
    dst->width  = src->width;
    dst->height = src->height;
    if (av_frame_get_buffer(dst, 0) < 0)
        av_frame_free(&dst);
    for (int p = 0; p < 3 && dst; p++) {
        const int w = p ? AV_CEIL_RSHIFT(src->width,  desc->log2_chroma_w) : src->width;
        const int h = p ? AV_CEIL_RSHIFT(src->height, desc->log2_chroma_h) : src->height;
        // full range reaches from end to end, as swscale has it
        const int repeat = !p && !luma_is_limited(src, desc) ? 6 : 8;

        for (int y = 0; y < h; y++) {
            const uint8_t *from = src->data[p] + y * (ptrdiff_t)src->linesize[p];
            uint16_t *to = (uint16_t *)(dst->data[p] + y * (ptrdiff_t)dst->linesize[p]);

            for (int x = 0; x < w; x++)
                to[x] = from[x] << 2 | from[x] >> repeat;
        }
    }
    return dst;
}

// ---- frames ----

/// Pass on the frames that have their scores. @param ended none waits for the next
static int deliver(AVFilterContext *ctx, int ended)
{
    VMAFCPUContext *s = ctx->priv;
    AVFrame *frame;
    int ret;

    while ((ret = ff_vmaf_get(&s->common, ctx, &frame, ended)) > 0) {
        s->is_held = 0;
        if ((ret = ff_filter_frame(ctx->outputs[0], frame)) < 0)
            return ret;
    }
    return ret;
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    VMAFCPUContext *s = ctx->priv;
    AVFrame *main, *reference;
    int ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    s->common.log.time_base = fs->time_base;
    s->is_held = 1;
    if (reference) {
        AVFrame *encode = convert(s, main);

        reference = convert(s, reference);
        ret = encode && reference ? score_frame(ctx, main, encode, reference) : AVERROR(ENOMEM);
        av_frame_free(&encode);
        if (ret < 0) {
            av_frame_free(&reference);
            av_frame_free(&main);
            return ret;
        }
        av_frame_free(&s->before[1]);
        s->before[1] = s->before[0];
        s->before[0] = reference;
    } else {
        // where there is nothing to compare with, the frame passes
        ff_vmaf_add(&s->common, main, NULL, NULL);
    }
    return deliver(ctx, 0);
}

static int activate(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;
    int ret, status;

    do {
        s->is_held = 0;
        status = ff_framesync_activate(&s->sync.fs);
        if (status < 0 && status != FFERROR_NOT_READY)
            return status;
        // the output has its end already, but that comes after frames that are passed on now
        if ((s->sync.fs.eof || s->common.log.drained) && (ret = deliver(ctx, 1)) < 0)
            return ret;
    } while (s->is_held);
    return status;
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    int ret = ff_filter_process_command(ctx, cmd, arg, res, res_len, flags);

    return ret < 0 || strcmp(cmd, "drain") ? ret : deliver(ctx, 1);
}

// ---- set-up ----

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    VMAFCPUContext *s = ctx->priv;
    VMAFContext *c    = &s->common;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(ctx->inputs[PAIR_MAIN]->format);
    const AVPixFmtDescriptor *reference =
        av_pix_fmt_desc_get(ctx->inputs[PAIR_REFERENCE]->format);
    int ret;

    s->deep_format = desc->log2_chroma_h ? AV_PIX_FMT_YUV420P10 :
                     desc->log2_chroma_w ? AV_PIX_FMT_YUV422P10 : AV_PIX_FMT_YUV444P10;
    if ((ret = s->depth = ff_vmaf_depth(c, ctx, desc, reference, "format")) < 0 ||
        (ret = ff_pair_sync_config_output(&s->sync, outlink)) < 0 ||
        (ret = ff_vmaf_config(c, ctx, outlink->w, outlink->h, desc->comp[0].depth)) < 0 ||
        (ret = ff_vmaf_luma_init(&s->luma, ctx, outlink->w, outlink->h, s->depth)) < 0)
        return ret;
    // libvmaf has no half sample of chroma at the end of odd sizes
    for (int i = 0; i < VMAF_NB_PRESCALES; i++)
        if (c->needs_prescale[i] &&
            (ret = ff_vmaf_speed_init(&s->speed[i], ctx, outlink->w >> desc->log2_chroma_w,
                                      outlink->h >> desc->log2_chroma_h, s->depth,
                                      ff_vmaf_prescale[i])) < 0)
            return ret;
    for (int i = 0; i < c->nb_models; i++)
        if (c->model[i].cambi_of == i &&
            (ret = ff_vmaf_cambi_init(&s->cambi[i], ctx, outlink->w, outlink->h, s->depth,
                                      &c->model[i].cambi)) < 0)
            return ret;
    return 0;
}

static av_cold int init(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    s->sync.min_size    = VMAF_MIN_SIZE;
    return ff_vmaf_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    ff_vmaf_uninit(&s->common, ctx, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    ff_vmaf_luma_free(&s->luma);
    for (int i = 0; i < VMAF_NB_PRESCALES; i++)
        ff_vmaf_speed_free(&s->speed[i]);
    for (int i = 0; i < VMAF_MAX_MODELS; i++)
        ff_vmaf_cambi_free(&s->cambi[i]);
    for (int i = 0; i < VMAF_NB_WINDOWS; i++)
        av_frame_free(&s->before[i]);
}

static const AVFilterPad vmaf_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_vmaf = {
    .p.name         = "vmaf",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure VMAF v1 against a reference."),
    .p.priv_class   = &vmaf_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(VMAFCPUContext),
    .preinit        = vmaf_framesync_preinit,
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(vmaf_outputs),
    FILTER_QUERY_FUNC2(query_formats),
};
