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
 * Deblocking filter: smooth the edges of a fixed grid of blocks
 *
 * Fulvio Castello, "N.V.I.D.I.A. - Neat Video Interleaved Deblocking Integer Algorithm", report,
 * GPU Programming 2022/2023, based on "A Simple and Efficient Deblocking Algorithm for Low Bit-Rate
 * Video Coding". The formulas, constants and the order of the passes are those of the report; the
 * code is an independent implementation. Deviations: quotients are rounded towards zero, which the
 * report leaves open; depths above 8 bits and blocks above 8 samples are supported; chroma
 * is smoothed at its own resolution.
 *
 * Each component is smoothed in place in two passes: first across the horizontal edges, between
 * blocks above each other, then across the vertical edges. An edge changes samples within half a
 * block. A band of rows from the middle of a row of blocks to the middle of the next row is
 * therefore independent of other bands in both passes, and bands are distributed over threads.
 */

#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "blocksmooth.h"
#include "filters.h"
#include "sample_format.h"
#include "video.h"

typedef struct BlockSmoothContext {
    LumaInputs inputs;                  ///< must be the first member
    BlockSmoothOptions opt;
} BlockSmoothContext;

static const AVOption blocksmooth_options[] = {
    BLOCKSMOOTH_OPTIONS(BlockSmoothContext, opt),
    { NULL }
};

AVFILTER_DEFINE_CLASS(blocksmooth);

/// Smooth the horizontal edge in the middle of a band of rows, then the band's vertical edges.
static void smooth_band(const BlockSmoothComponent *c, int band)
{
    const int block = c->block, edge = band * block;
    const int start = FFMAX(edge - block / 2, 0), end = FFMIN(edge + block / 2, c->height);

    for (int x = 0; x < c->width && blocksmooth_is_edge(edge, c->height, block); x++)
        blocksmooth_line(blocksmooth_sample(c, x, edge), c->linesize, c);
    for (int y = start; y < end; y++)
        for (int x = block; blocksmooth_is_edge(x, c->width, block); x += block)
            blocksmooth_line(blocksmooth_sample(c, x, y), c->step, c);
}

/// Smooth the bands of a job in all components.
static int smooth_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const BlockSmoothContext *s = ctx->priv;
    const AVFrame *frame = arg;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);

    for (int i = 0; i < desc->nb_components; i++) {
        const BlockSmoothComponent c = blocksmooth_component(&s->opt, desc, frame, i);
        // the first band begins half a block above the picture
        const int nb_bands = (c.height + c.block / 2 + c.block - 1) / c.block;

        for (int band = ff_slice_pos(nb_bands, jobnr, nb_jobs);
             band < ff_slice_pos(nb_bands, jobnr + 1, nb_jobs) && c.is_smoothed; band++)
            smooth_band(&c, band);
    }
    return 0;
}

/// Smooth a frame, or a copy if it is not writable, and output it.
static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx  = inlink->dst;
    BlockSmoothContext *s = ctx->priv;
    int ret = ff_luma_check_size(ctx, 0, frame);

    if (ret < 0 || (ret = ff_inlink_make_frame_writable(inlink, &frame)) < 0) {
        av_frame_free(&frame);
        return ret;
    }
    ff_filter_execute(ctx, smooth_slice, frame, NULL,
                      FFMIN(ff_filter_get_nb_threads(ctx), FFMAX(frame->height / s->opt.block, 1)));
    return ff_filter_frame(ctx->outputs[0], frame);
}

static av_cold int init(AVFilterContext *ctx)
{
    BlockSmoothContext *s = ctx->priv;

    s->inputs.is_wanted = luma_is_planar;
    return blocksmooth_check_options(ctx);
}

static const AVFilterPad blocksmooth_inputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO,
      .config_props = ff_luma_config, .filter_frame = filter_frame },
};

const FFFilter ff_vf_blocksmooth = {
    .p.name         = "blocksmooth",
    .p.description  = NULL_IF_CONFIG_SMALL("Smooth block edges (deblocking)."),
    .p.priv_class   = &blocksmooth_class,
    .p.flags        = AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_GENERIC,
    .priv_size      = sizeof(BlockSmoothContext),
    .init           = init,
    .process_command = blocksmooth_command,
    FILTER_INPUTS(blocksmooth_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
