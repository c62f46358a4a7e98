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
 * CAMBI: banding without a reference, as a score of each frame and as a heatmap
 *
 * The extractor and the paper are those of vmaf_cambi.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/frame.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cambi.h"
#include "filters.h"
#include "graph_reinit.h"
#include "sample_format.h"
#include "video.h"
#include "vmaf_cambi.h"
#include "vmaf_cpu.h"

typedef struct CAMBIFilterContext {
    LumaInputs inputs;                  ///< the first member
    CAMBICommon common;

    CAMBIContext cambi;
    uint64_t nb_frames;
    int ended;                          ///< whether the input has ended
    AVFrame *map;                       ///< output frame, or NULL for that of the input
} CAMBIFilterContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption cambi_options[] = {
    CAMBI_OPTIONS(CAMBIFilterContext, common, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(cambi);

/// Draw rows of the heatmap.
static int heatmap_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const CAMBIFilterContext *s = ctx->priv;
    const LumaFormat luma = luma_format(s->map);
    const int white   = luma.black ? 219 << (luma.depth - 8) : (1 << luma.depth) - 1;
    const int end     = ff_slice_pos(luma.height, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(luma.height, jobnr, nb_jobs); y < end; y++) {
        uint8_t *dst = s->map->data[0] + y * (ptrdiff_t)s->map->linesize[0];

        for (int x = 0; x < luma.width; x++) {
            const double heat = FFMIN(ff_vmaf_cambi_heat(&s->cambi, x, y) / s->common.max, 1);
            const int sample  = luma.black + (int)(white * heat + 0.5);

            if (luma.depth > 8)
                AV_WN16(dst + 2 * x, sample << luma.shift);
            else
                dst[x] = sample;
        }
    }
    return 0;
}

static int score_frame(AVFilterContext *ctx, AVFrame *frame)
{
    CAMBIFilterContext *s = ctx->priv;
    VMAFTask task;
    double score;

    ff_vmaf_cambi_begin(&s->cambi, frame, &score);
    while (ff_vmaf_cambi_next(&s->cambi, &task))
        ff_filter_execute(ctx, task.func, task.arg, NULL, task.nb_jobs);
    if (s->map)
        ff_filter_execute(ctx, heatmap_slice, NULL, NULL,
                          FFMIN(s->map->height, ff_filter_get_nb_threads(ctx)));
    return ff_metric_frame(&s->common.log, ctx, s->map ? s->map : frame, s->nb_frames - 1, &score, 1);
}

static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx  = inlink->dst;
    AVFilterLink *outlink = ctx->outputs[0];
    CAMBIFilterContext *s = ctx->priv;
    int ret = ff_metric_damage(s->common.log.output, frame, NULL);

    s->nb_frames++;
    if (ret >= 0)
        ret = ff_luma_check_frame(ctx, 0, frame);
    if (ret >= 0 && s->common.heatmap && !(s->map = ff_luma_black_frame(outlink, frame)))
        ret = AVERROR(ENOMEM);
    if (ret >= 0 && !ctx->is_disabled)
        ret = score_frame(ctx, frame);
    // without a score the map stays black, or the frame passes
    if (s->map)
        FFSWAP(AVFrame *, s->map, frame);
    av_frame_free(&s->map);
    if (ret < 0) {
        av_frame_free(&frame);
        return ret;
    }
    return ff_filter_frame(outlink, frame);
}

static int activate(AVFilterContext *ctx)
{
    CAMBIFilterContext *s = ctx->priv;
    AVFilterLink *inlink  = ctx->inputs[0];
    AVFilterLink *outlink = ctx->outputs[0];
    AVFrame *frame;
    int64_t pts;
    int ret, status;

    FF_FILTER_FORWARD_STATUS_BACK(outlink, inlink);
    ret = ff_inlink_consume_frame(inlink, &frame);
    if (ret < 0)
        return ret;
    if (ret > 0)
        return filter_frame(inlink, frame);
    if (ff_inlink_acknowledge_status(inlink, &status, &pts)) {
        s->ended = status == AVERROR_EOF;
        ff_outlink_set_status(outlink, status, pts);
        return 0;
    }
    FF_FILTER_FORWARD_WANTED(outlink, inlink);

    return FFERROR_NOT_READY;
}

static int config_input(AVFilterLink *inlink)
{
    AVFilterContext *ctx  = inlink->dst;
    CAMBIFilterContext *s = ctx->priv;
    const AVComponentDescriptor *luma = &av_pix_fmt_desc_get(inlink->format)->comp[0];
    CAMBIDims dims;
    int ret;

    s->common.log.time_base = inlink->time_base;
    if ((ret = ff_luma_config(inlink)) < 0 ||
        (ret = ff_vmaf_cambi_dims_init(&dims, ctx, inlink->w, inlink->h, luma->depth,
                                       &s->common.options)) < 0)
        return ret;
    dims.shift = luma->shift;
    ff_vmaf_cambi_close(&s->cambi);
    s->cambi = (CAMBIContext){ 0 };
    ret = ff_vmaf_cambi_init(&s->cambi, &dims, inlink->w, inlink->h, ff_filter_get_nb_threads(ctx));
    return ret < 0 || !s->common.heatmap ? ret : ff_vmaf_cambi_keep_heatmap(&s->cambi);
}

static av_cold int init(AVFilterContext *ctx)
{
    CAMBIFilterContext *s = ctx->priv;

    s->inputs.is_wanted = ff_cambi_is_accepted;
    return ff_cambi_init(&s->common, ctx, &s->nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    CAMBIFilterContext *s = ctx->priv;

    ff_metric_uninit(&s->common.log, ctx, s->nb_frames, s->ended);
    ff_vmaf_cambi_close(&s->cambi);
}

static const AVFilterPad cambi_inputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_input },
};

const FFFilter ff_vf_cambi = {
    .p.name         = "cambi",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure banding without a reference."),
    .p.priv_class   = &cambi_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(CAMBIFilterContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = ff_reinit_command,
    FILTER_INPUTS(cambi_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
