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
 * No-reference quality by natural scene statistics in the DCT domain
 *
 * Michele A. Saad, Alan C. Bovik and Christophe Charrier, "Blind Image Quality
 * Assessment: A Natural Scene Statistics Approach in the DCT Domain", IEEE
 * Transactions on Image Processing 21(8), 2012 (BLIINDS-II).
 *
 * A frame's luma and two half sized versions of it are cut into overlapping
 * blocks of 5x5 samples; four statistics of each block's DCT are pooled to 24
 * features, from which a linear model predicts the score. The arithmetic is
 * that of the authors' release. All sums are integers: the result is the same
 * for any number of threads.
 */

#include <string.h>

#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "bliinds.h"
#include "bliinds_dsp.h"
#include "bliinds_pool.h"
#include "filters.h"
#include "release_compat.h"
#include "video.h"

/// Zeros around a level's rows: one sample before, three after.
#define PAD_LEFT  1
#define PAD_RIGHT 3

typedef struct Level {
    int w, h;                           ///< samples
    int bw, bh;                         ///< blocks
    int32_t *sample;                    ///< padded rows, NULL at level 1
    ptrdiff_t stride;                   ///< of sample, in samples
    float *statistic[BLIINDS_NB_STATISTICS];    ///< of each block, [bh][bw]
    uint16_t *gamma;                    ///< index of each block, [bh][bw]
    BLIINDSLevelSums *sums;             ///< of each job, the total in the first
} Level;

/// What one job works in.
typedef struct Scratch {
    int32_t *line[3];                   ///< padded rows of level 1
    float *high[BLIINDS_BLOCK];         ///< basis of the last rows
    float *low[BLIINDS_BLOCK];
    float *value;                       ///< of a row of blocks
} Scratch;

typedef struct BLIINDSCPUContext {
    const AVClass *class;
    BLIINDSContext common;

    BLIINDSDSPContext dsp;
    float gamma_table[BLIINDS_GAMMA_NB];
    int width, height;                  ///< that the buffers are made for
    ptrdiff_t block_stride;             ///< of basis and value rows
    int nb_jobs;
    Level level[BLIINDS_LEVELS];
    int32_t *zero_line;                 ///< a padded row outside of the frame
    Scratch *scratch;                   ///< of each job
} BLIINDSCPUContext;

typedef struct ThreadData {
    const AVFrame *frame;
    const AVPixFmtDescriptor *desc;
    int black;
    int level;
} ThreadData;

#define OFFSET(x) offsetof(BLIINDSCPUContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption bliinds_options[] = {
    BLIINDS_OPTIONS(BLIINDSCPUContext, common, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(bliinds);

static const enum AVPixelFormat pix_fmts[] = {
    AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY9, AV_PIX_FMT_GRAY10,
    AV_PIX_FMT_GRAY12, AV_PIX_FMT_GRAY14, AV_PIX_FMT_GRAY16,
    AV_PIX_FMT_YUV410P, AV_PIX_FMT_YUV411P, AV_PIX_FMT_YUV420P,
    AV_PIX_FMT_YUV422P, AV_PIX_FMT_YUV440P, AV_PIX_FMT_YUV444P,
    AV_PIX_FMT_YUVJ411P, AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P,
    AV_PIX_FMT_YUVJ440P, AV_PIX_FMT_YUVJ444P,
    AV_PIX_FMT_YUV420P9, AV_PIX_FMT_YUV422P9, AV_PIX_FMT_YUV444P9,
    AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV440P10,
    AV_PIX_FMT_YUV444P10,
    AV_PIX_FMT_YUV420P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV440P12,
    AV_PIX_FMT_YUV444P12,
    AV_PIX_FMT_YUV420P14, AV_PIX_FMT_YUV422P14, AV_PIX_FMT_YUV444P14,
    AV_PIX_FMT_YUV420P16, AV_PIX_FMT_YUV422P16, AV_PIX_FMT_YUV444P16,
#ifdef AV_PIX_FMT_YUV444P10MSB
    AV_PIX_FMT_YUV444P10MSB, AV_PIX_FMT_YUV444P12MSB,
#endif
    AV_PIX_FMT_NV12, AV_PIX_FMT_NV21, AV_PIX_FMT_NV16, AV_PIX_FMT_NV24, AV_PIX_FMT_NV42,
    AV_PIX_FMT_P010, AV_PIX_FMT_P012, AV_PIX_FMT_P016,
    AV_PIX_FMT_P210, AV_PIX_FMT_P212, AV_PIX_FMT_P216,
    AV_PIX_FMT_P410, AV_PIX_FMT_P412, AV_PIX_FMT_P416,
    AV_PIX_FMT_NONE
};

/// Row y of a level, padded: [0] is the sample before the first.
static const int32_t *get_line(const BLIINDSCPUContext *s, const ThreadData *td,
                               int y, int32_t *scratch)
{
    const Level *level = &s->level[td->level];

    if (y < 0 || y >= level->h)
        return s->zero_line;
    if (td->level == 0) {
        const AVComponentDescriptor *luma = &td->desc->comp[0];
        const uint8_t *src = td->frame->data[0] + y * (ptrdiff_t)td->frame->linesize[0];
        int up = BLIINDS_FRAC_BITS - (luma->depth - 8);

        (luma->depth > 8 ? s->dsp.expand_row16 : s->dsp.expand_row8)
            (scratch + PAD_LEFT, src, level->w, luma->shift, td->black, up);
        return scratch;
    }
    return level->sample + y * level->stride;
}

static void lowpass_rows(const BLIINDSCPUContext *s, const ThreadData *td,
                         const Scratch *scratch, int start, int end)
{
    const Level *level = &s->level[td->level];
    const Level *next  = level + 1;

    for (int y = start; y < end; y++) {
        const int32_t *row[3];

        for (int i = 0; i < 3; i++)
            row[i] = get_line(s, td, 2 * y + i, scratch->line[i]) + PAD_LEFT;
        s->dsp.lowpass_row(next->sample + y * next->stride + PAD_LEFT,
                           row[0], row[1], row[2], level->w);
    }
}

/// Store a row of blocks for the choice of the worst, and add it to the sums.
static void add_row(const BLIINDSCPUContext *s, const Level *level,
                    BLIINDSLevelSums *sums, int by, const float *value)
{
    const ptrdiff_t stride = s->block_stride;
    const float *row[BLIINDS_NB_STATISTICS] = {
        [BLIINDS_ZETA] = value + BLIINDS_ROW_ZETA * stride,
        [BLIINDS_SUB]  = value + BLIINDS_ROW_SUB  * stride,
        [BLIINDS_ORI]  = value + BLIINDS_ROW_ORI  * stride,
    };
    const float *rho  = value + BLIINDS_ROW_RHO  * stride;
    const float *band = value + BLIINDS_ROW_BAND * stride;
    uint16_t *gamma = level->gamma + by * (ptrdiff_t)level->bw;
    uint64_t sum_statistic[2][BLIINDS_NB_STATISTICS] = { 0 };
    uint64_t sum_band[2][3] = { 0 };

    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
        memcpy(level->statistic[i] + by * (ptrdiff_t)level->bw, row[i],
               level->bw * sizeof(*row[i]));

    for (int bx = 0; bx < level->bw; bx++) {
        int c = bliinds_straddles(by) || bliinds_straddles(bx);

        gamma[bx] = bliinds_gamma(s->gamma_table, rho[bx]);
        sums->grid[c].gamma += bliinds_gamma_value(gamma[bx]);
        sums->grid[c].nb_blocks++;
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
            sum_statistic[c][i] += bliinds_fixed(row[i][bx]);
        for (int i = 0; i < 3; i++)
            sum_band[c][i] += bliinds_fixed(band[i * stride + bx]);
    }

    for (int c = 0; c < 2; c++) {
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
            bliinds_sum_add(&sums->grid[c].statistic[i], sum_statistic[c][i]);
        for (int i = 0; i < 3; i++)
            bliinds_sum_add(&sums->grid[c].band[i], sum_band[c][i]);
    }
}

static void block_rows(const BLIINDSCPUContext *s, const ThreadData *td,
                       const Scratch *scratch, BLIINDSLevelSums *sums,
                       int start, int end)
{
    const Level *level = &s->level[td->level];
    const int has_low  = td->level > 0;

    for (int by = start; by < end; by++) {
        const int first = BLIINDS_STEP * by - 1, last = first + BLIINDS_BLOCK - 1;
        const float *high[BLIINDS_BLOCK], *low[BLIINDS_BLOCK];

        // the block row before left all but the last BLIINDS_STEP rows
        for (int y = by == start ? first : last - BLIINDS_STEP + 1; y <= last; y++) {
            int slot = (y + 1) % BLIINDS_BLOCK;

            s->dsp.basis_row(scratch->high[slot], has_low ? scratch->low[slot] : NULL,
                             s->block_stride, get_line(s, td, y, scratch->line[0]),
                             level->bw);
        }
        for (int i = 0; i < BLIINDS_BLOCK; i++) {
            int slot = (first + i + 1) % BLIINDS_BLOCK;

            high[i] = scratch->high[slot];
            low[i]  = scratch->low[slot];
        }
        s->dsp.block_row(scratch->value, high, has_low ? low : NULL,
                         s->block_stride, level->bw);
        add_row(s, level, sums, by, scratch->value);
    }
}

static int level_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const BLIINDSCPUContext *s = ctx->priv;
    const ThreadData *td = arg;
    const Level *level   = &s->level[td->level];
    const Scratch *scratch = &s->scratch[jobnr];

    level->sums[jobnr] = (BLIINDSLevelSums){ 0 };
    block_rows(s, td, scratch, &level->sums[jobnr],
               ff_slice_pos(level->bh, jobnr, nb_jobs),
               ff_slice_pos(level->bh, jobnr + 1, nb_jobs));
    if (td->level < BLIINDS_LEVELS - 1)
        lowpass_rows(s, td, scratch, ff_slice_pos(level[1].h, jobnr, nb_jobs),
                     ff_slice_pos(level[1].h, jobnr + 1, nb_jobs));
    return 0;
}

/// Add the jobs' sums, which consist of uint64_t only, to the first's.
static void merge_sums(BLIINDSLevelSums *sums, int nb_jobs)
{
    uint64_t *dst = (uint64_t *)sums;
    const int nb  = sizeof(*sums) / sizeof(*dst);

    for (int job = 1; job < nb_jobs; job++)
        for (int i = 0; i < nb; i++)
            dst[i] += dst[job * nb + i];
}

/// One job for each level and statistic, gamma the last of them.
static int worst_job(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const BLIINDSCPUContext *s = ctx->priv;
    const Level *level  = &s->level[jobnr / (BLIINDS_NB_STATISTICS + 1)];
    const int statistic = jobnr % (BLIINDS_NB_STATISTICS + 1);
    const int n = level->bw * level->bh, k = bliinds_nb_worst(n);

    if (statistic < BLIINDS_NB_STATISTICS)
        ff_bliinds_add_largest(&level->sums->worst[statistic], level->statistic[statistic], n, k);
    else
        ff_bliinds_add_smallest_gamma(level->sums, level->gamma, n, k);
    return 0;
}

static int score_frame(AVFilterContext *ctx, AVFrame *frame, uint64_t n)
{
    BLIINDSCPUContext *s = ctx->priv;
    BLIINDSLevelSums sums[BLIINDS_LEVELS];
    ThreadData td = { .frame = frame, .desc = av_pix_fmt_desc_get(frame->format) };

    td.black = ff_bliinds_black(&s->common, frame, td.desc);
    for (td.level = 0; td.level < BLIINDS_LEVELS; td.level++) {
        Level *level = &s->level[td.level];
        int nb_jobs  = FFMIN(level->bh, s->nb_jobs);

        ff_filter_execute(ctx, level_slice, &td, NULL, nb_jobs);
        merge_sums(level->sums, nb_jobs);
    }
    ff_filter_execute(ctx, worst_job, NULL, NULL,
                      BLIINDS_LEVELS * (BLIINDS_NB_STATISTICS + 1));

    for (int l = 0; l < BLIINDS_LEVELS; l++)
        sums[l] = s->level[l].sums[0];
    return ff_bliinds_score(&s->common, ctx, frame, n, sums);
}

static void free_buffers(BLIINDSCPUContext *s)
{
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        Level *level = &s->level[l];

        av_freep(&level->sample);
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
            av_freep(&level->statistic[i]);
        av_freep(&level->gamma);
        av_freep(&level->sums);
    }
    for (int job = 0; s->scratch && job < s->nb_jobs; job++) {
        Scratch *scratch = &s->scratch[job];

        for (int i = 0; i < FF_ARRAY_ELEMS(scratch->line); i++)
            av_freep(&scratch->line[i]);
        for (int i = 0; i < BLIINDS_BLOCK; i++) {
            av_freep(&scratch->high[i]);
            av_freep(&scratch->low[i]);
        }
        av_freep(&scratch->value);
    }
    av_freep(&s->scratch);
    av_freep(&s->zero_line);
    s->width = s->height = 0;
}

static int alloc_level(Level *level, int w, int h, int is_first, int nb_jobs)
{
    level->w  = w;
    level->h  = h;
    level->bw = bliinds_nb_blocks(w);
    level->bh = bliinds_nb_blocks(h);

    if (!is_first) {
        level->stride = PAD_LEFT + w + PAD_RIGHT;
        level->sample = av_calloc(h, level->stride * sizeof(*level->sample));
        if (!level->sample)
            return AVERROR(ENOMEM);
    }
    for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
        level->statistic[i] = av_malloc_array(level->bh, level->bw * sizeof(float));
        if (!level->statistic[i])
            return AVERROR(ENOMEM);
    }
    level->gamma = av_malloc_array(level->bh, level->bw * sizeof(*level->gamma));
    level->sums  = av_calloc(nb_jobs, sizeof(*level->sums));
    return level->gamma && level->sums ? 0 : AVERROR(ENOMEM);
}

static int alloc_scratch(Scratch *scratch, size_t line_size, size_t block_stride)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->line); i++) {
        scratch->line[i] = av_calloc(line_size, sizeof(*scratch->line[i]));
        if (!scratch->line[i])
            return AVERROR(ENOMEM);
    }
    for (int i = 0; i < BLIINDS_BLOCK; i++) {
        scratch->high[i] = av_malloc_array(5 * block_stride, sizeof(*scratch->high[i]));
        scratch->low[i]  = av_malloc_array(5 * block_stride, sizeof(*scratch->low[i]));
        if (!scratch->high[i] || !scratch->low[i])
            return AVERROR(ENOMEM);
    }
    scratch->value = av_malloc_array(BLIINDS_NB_ROWS * block_stride, sizeof(*scratch->value));
    return scratch->value ? 0 : AVERROR(ENOMEM);
}

static int alloc_buffers(AVFilterContext *ctx, int width, int height)
{
    BLIINDSCPUContext *s = ctx->priv;
    const size_t line_size = PAD_LEFT + width + PAD_RIGHT;
    int ret;

    free_buffers(s);
    s->nb_jobs      = ff_filter_get_nb_threads(ctx);
    s->block_stride = bliinds_nb_blocks(width);
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        ret = alloc_level(&s->level[l], width >> l, height >> l, l == 0, s->nb_jobs);
        if (ret < 0)
            return ret;
    }
    s->zero_line = av_calloc(line_size, sizeof(*s->zero_line));
    s->scratch   = av_calloc(s->nb_jobs, sizeof(*s->scratch));
    if (!s->zero_line || !s->scratch)
        return AVERROR(ENOMEM);
    for (int job = 0; job < s->nb_jobs; job++) {
        ret = alloc_scratch(&s->scratch[job], line_size, s->block_stride);
        if (ret < 0)
            return ret;
    }
    s->width  = width;
    s->height = height;
    return 0;
}

/// Frames may change on the fly, where the user asked not to rebuild the graph.
static int prepare(AVFilterContext *ctx, int width, int height, int format)
{
    const BLIINDSCPUContext *s = ctx->priv;
    int i, ret = ff_bliinds_check_size(ctx, width, height);

    if (ret < 0)
        return ret;
    for (i = 0; pix_fmts[i] != AV_PIX_FMT_NONE && pix_fmts[i] != format; i++)
        ;
    if (pix_fmts[i] == AV_PIX_FMT_NONE) {
        av_log(ctx, AV_LOG_ERROR, "The frame format changed to %s, which is not "
               "supported; insert format=yuv420p before.\n",
               av_get_pix_fmt_name(format));
        return AVERROR(ENOSYS);
    }
    if (width != s->width || height != s->height)
        return alloc_buffers(ctx, width, height);
    return 0;
}

static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx = inlink->dst;
    BLIINDSCPUContext *s = ctx->priv;
    uint64_t n;

    if (ff_bliinds_wanted(&s->common, ctx, frame, &n)) {
        int ret = prepare(ctx, frame->width, frame->height, frame->format);

        if (ret >= 0)
            ret = score_frame(ctx, frame, n);
        if (ret < 0) {
            av_frame_free(&frame);
            return ret;
        }
    }
    return ff_filter_frame(ctx->outputs[0], frame);
}

static int activate(AVFilterContext *ctx)
{
    BLIINDSCPUContext *s  = ctx->priv;
    AVFilterLink *inlink  = ctx->inputs[0];
    AVFilterLink *outlink = ctx->outputs[0];
    AVFrame *frame;
    int64_t pts;
    int ret, status;

    status = ff_outlink_get_status(outlink);
    if (status) {
        ff_inlink_set_status(inlink, status);
        return ff_bliinds_finish(&s->common, ctx);
    }

    ret = ff_inlink_consume_frame(inlink, &frame);
    if (ret < 0)
        return ret;
    if (ret > 0)
        return filter_frame(inlink, frame);

    if (ff_inlink_acknowledge_status(inlink, &status, &pts)) {
        ff_outlink_set_status(outlink, status, pts);
        return ff_bliinds_finish(&s->common, ctx);
    }
    FF_FILTER_FORWARD_WANTED(outlink, inlink);

    return FFERROR_NOT_READY;
}

static av_cold int init(AVFilterContext *ctx)
{
    BLIINDSCPUContext *s = ctx->priv;

    ff_bliinds_dsp_init(&s->dsp);
    ff_bliinds_gamma_table(s->gamma_table);
    return ff_bliinds_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    BLIINDSCPUContext *s = ctx->priv;

    ff_bliinds_uninit(&s->common, ctx);
    free_buffers(s);
}

static int config_input(AVFilterLink *inlink)
{
    AVFilterContext *ctx = inlink->dst;
    BLIINDSCPUContext *s = ctx->priv;
    int ret = ff_bliinds_config(&s->common, inlink);

    return ret < 0 ? ret : prepare(ctx, inlink->w, inlink->h, inlink->format);
}

static const AVFilterPad bliinds_inputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_input,
    },
};

const FFFilter ff_vf_bliinds = {
    FILTER_PUBLIC(name)        = "bliinds",
    FILTER_PUBLIC(description) = NULL_IF_CONFIG_SMALL("Score quality without a reference (BLIINDS-II)."),
    FILTER_PUBLIC(priv_class)  = &bliinds_class,
    FILTER_PUBLIC(flags)       = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                                 AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size                 = sizeof(BLIINDSCPUContext),
    .init                      = init,
    .activate                  = activate,
    .uninit                    = uninit,
    FILTER_PIXFMTS_ARRAY(pix_fmts),
    FILTER_INPUTS(bliinds_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
};
