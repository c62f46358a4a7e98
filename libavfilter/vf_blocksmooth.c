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
 * Smooth the edges of the blocks that codecs leave
 *
 * Two passes over each plane, on one grid of blocks: first across the horizontal
 * edges, which are those between a block and the one below it, then across the vertical
 * edges, on the result of the first pass. An edge changes samples within half a block
 * of it. A band of rows from the middle of one row of blocks to the middle of the next
 * is therefore independent of all other bands, in both passes.
 *
 * The method, its constants and the order of the passes are those of Fulvio Castello,
 * "N.V.I.D.I.A. - Neat Video Interleaved Deblocking Integer Algorithm", report, GPU
 * Programming 2022/2023, which is based on "A Simple and Efficient Deblocking Algorithm
 * for Low Bit-Rate Video Coding". The code is an independent implementation of its formulas.
 */

#include "libavutil/intreadwrite.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "blocksmooth.h"
#include "filters.h"
#include "luma.h"
#include "video.h"

typedef struct BlockSmoothContext {
    LumaInputs inputs;                  ///< the first member
    BlockSmoothOptions opt;
    BlockSmoothLimits limits;           ///< of the frame
} BlockSmoothContext;

static const AVOption blocksmooth_options[] = {
    BLOCKSMOOTH_OPTIONS(BlockSmoothContext, opt),
    { NULL }
};

AVFILTER_DEFINE_CLASS(blocksmooth);

/// Smooth across an edge that has D at p, of samples that are step bytes apart.
static av_always_inline void smooth(uint8_t *p, ptrdiff_t step, int is_deep, int shift,
                                    const BlockSmoothLimits *limits)
{
    int v[BLOCKSMOOTH_TAPS];

    p -= BLOCKSMOOTH_BEFORE * step;
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++)
        v[i] = is_deep ? AV_RN16(p + i * step) >> shift : p[i * step];
    blocksmooth_edge(v, limits);
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
        if (is_deep)
            AV_WN16(p + i * step, v[i] << shift);
        else
            p[i * step] = v[i];
    }
}

/// Smooth across the horizontal edge in the middle of a band of rows, then across its vertical edges.
static av_always_inline void smooth_band(uint8_t *data, ptrdiff_t linesize, int width, int height,
                                         int band, int block, int is_deep,
                                         const AVComponentDescriptor *comp,
                                         const BlockSmoothLimits *limits)
{
    const int edge  = band * block;
    const int start = FFMAX(edge - block / 2, 0), end = FFMIN(edge + block / 2, height);

    for (int x = 0; x < width && blocksmooth_is_edge(edge, height, block); x++)
        smooth(data + edge * linesize + x * comp->step, linesize, is_deep, comp->shift, limits);
    for (int y = start; y < end; y++)
        for (int x = block; blocksmooth_is_edge(x, width, block); x += block)
            smooth(data + y * linesize + x * comp->step, comp->step, is_deep, comp->shift, limits);
}

static int smooth_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const BlockSmoothContext *s = ctx->priv;
    const AVFrame *frame = arg;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);

    for (int i = 0; i < desc->nb_components; i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        const ptrdiff_t linesize = frame->linesize[comp->plane];
        uint8_t *data = frame->data[comp->plane] + comp->offset;
        const int is_chroma = i == 1 || i == 2;
        const int width  = AV_CEIL_RSHIFT(frame->width,  is_chroma ? desc->log2_chroma_w : 0);
        const int height = AV_CEIL_RSHIFT(frame->height, is_chroma ? desc->log2_chroma_h : 0);
        // from half a block above the picture
        const int nb_bands = (height + s->opt.block / 2 + s->opt.block - 1) / s->opt.block;

        // chroma may share a plane; RGB has planes in another order than components
        if (!(s->opt.planes >> (desc->flags & AV_PIX_FMT_FLAG_RGB ? comp->plane : i) & 1))
            continue;
        for (int band = ff_slice_pos(nb_bands, jobnr, nb_jobs);
             band < ff_slice_pos(nb_bands, jobnr + 1, nb_jobs); band++) {
            if (comp->depth > 8)
                smooth_band(data, linesize, width, height, band, s->opt.block, 1, comp, &s->limits);
            else
                smooth_band(data, linesize, width, height, band, s->opt.block, 0, comp, &s->limits);
        }
    }
    return 0;
}

static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx  = inlink->dst;
    BlockSmoothContext *s = ctx->priv;
    int ret = ff_luma_check_size(ctx, 0, frame);

    if (ret < 0 || (ret = ff_inlink_make_frame_writable(inlink, &frame)) < 0) {
        av_frame_free(&frame);
        return ret;
    }
    s->limits = blocksmooth_limits(s->opt.qf, av_pix_fmt_desc_get(frame->format)->comp[0].depth);
    ff_filter_execute(ctx, smooth_slice, frame, NULL,
                      FFMIN(ff_filter_get_nb_threads(ctx),
                            FFMAX(frame->height / s->opt.block, 1)));
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
    .p.description  = NULL_IF_CONFIG_SMALL("Smooth the edges of a codec's blocks."),
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
