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
 * Full-reference quality by two strategies of seeing (MAD)
 *
 * Eric C. Larson and Damon M. Chandler, "Most apparent distortion:
 * full-reference image quality assessment and the role of strategy", Journal of
 * Electronic Imaging 19(1), 2010.
 *
 * Where errors are hardly visible, one looks for them: the detection map is
 * their local energy where the picture does not mask them (HI). Where they are
 * plain, one looks past them: the appearance map is the change of the local
 * statistics of log-Gabor responses (LO). Both are combined to the score.
 *
 * The arithmetic is that of the authors' release, in single precision. All sums
 * are those of one row or block, combined in a fixed order: the result is the
 * same for any number of threads.
 */

#include "libavutil/common.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "filters.h"
#include "formats.h"
#include "luma.h"
#include "mad.h"
#include "mad_stages.h"
#include "pair_sync.h"
#include "video.h"

typedef struct MADCPUContext {
    const AVClass *class;
    PairSync sync;
    uint64_t nb_frames;
    MADContext common;

    MADTables tables[PAIR_NB];
    MADWork work;
} MADCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption mad_options[] = {
    MAD_OPTIONS(MADCPUContext, common, FLAGS),
    { NULL }
};

FRAMESYNC_DEFINE_CLASS(mad, MADCPUContext, sync.fs);

static int query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                         AVFilterFormatsConfig **cfg_out)
{
    AVFilterFormats *formats = luma_formats();
    int ret;

    // nothing of the inputs needs to be the same but their size
    if ((ret = ff_formats_ref(formats,               &cfg_in[0]->formats)) < 0 ||
        (ret = ff_formats_ref(formats,               &cfg_out[0]->formats)) < 0 ||
        (ret = ff_formats_ref(luma_formats(),     &cfg_in[1]->formats)) < 0 ||
        (ret = ff_formats_ref(ff_all_color_spaces(), &cfg_in[1]->color_spaces)) < 0)
        return ret;
    return ff_formats_ref(ff_all_color_ranges(), &cfg_in[1]->color_ranges);
}

static int prepare(AVFilterContext *ctx, MADPair *pair)
{
    MADCPUContext *s = ctx->priv;

    for (int i = 0; i < PAIR_NB; i++) {
        MADPicture *picture = &pair->picture[i];
        const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(picture->frame->format);
        // the range is the frame's
        int ret = ff_mad_tables_make(&s->tables[i], ff_mad_range(picture->frame, desc),
                                     desc->comp[0].depth);

        if (ret < 0)
            return ret;
        picture->luma   = &desc->comp[0];
        picture->tables = &s->tables[i];
    }
    return 0;
}

static int score_frame(AVFilterContext *ctx, MADPair *pair, AVFrame *frame, uint64_t n)
{
    MADCPUContext *s = ctx->priv;
    const MADWork *work = &s->work;
    double sum[2] = { 0 };
    int ret;

    if ((ret = prepare(ctx, pair)) < 0)
        return ret;
    ff_mad_detect(ctx, pair);
    ff_mad_compare_appearance(ctx, pair);

    for (int i = 0; i < 2; i++)
        for (int y = MAD_BORDER_BEGIN; y < work->height - MAD_BORDER_END; y++)
            sum[i] += work->sum[i][y];
    return ff_mad_score(&s->common, ctx, frame, n, sum[0], sum[1]);
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    MADCPUContext *s = ctx->priv;
    MADPair pair = { .work = &s->work };
    AVFrame *main, *reference;
    uint64_t n;
    int ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    n = s->nb_frames++;
    s->common.log.time_base = fs->time_base;
    // where there is nothing to compare with, the frame passes
    if (!reference)
        return ff_filter_frame(ctx->outputs[0], main);

    pair.picture[PAIR_MAIN].frame      = main;
    pair.picture[PAIR_REFERENCE].frame = reference;
    ret = score_frame(ctx, &pair, main, n);
    if (ret < 0) {
        av_frame_free(&main);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], main);
}

static int activate(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;

    return ff_framesync_activate(&s->sync.fs);
}

static int config_output(AVFilterLink *outlink)
{
    MADCPUContext *s = outlink->src->priv;
    int ret = ff_pair_sync_config_output(&s->sync, outlink, MAD_MIN_SIZE);

    return ret < 0 ? ret : ff_mad_work_alloc(&s->work, outlink->src, outlink->w, outlink->h);
}

static av_cold int init(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    return ff_mad_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;

    ff_metric_uninit(&s->common.log, ctx, s->nb_frames, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    ff_mad_work_free(&s->work);
    for (int i = 0; i < PAIR_NB; i++)
        ff_mad_tables_free(&s->tables[i]);
}

static const AVFilterPad mad_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_mad = {
    .p.name         = "mad",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Score quality against a reference (Most Apparent Distortion)."),
    .p.priv_class   = &mad_class,
    .p.flags        = AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(MADCPUContext),
    .preinit        = mad_framesync_preinit,
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = ff_filter_process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(mad_outputs),
    FILTER_QUERY_FUNC2(query_formats),
};
