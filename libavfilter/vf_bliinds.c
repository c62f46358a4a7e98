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
 * No-reference quality by the quantizer and natural scene statistics in the DCT domain
 *
 * Michele A. Saad, Alan C. Bovik and Christophe Charrier, "Blind Image Quality
 * Assessment: A Natural Scene Statistics Approach in the DCT Domain", IEEE
 * Transactions on Image Processing 21(8), 2012 (BLIINDS-II).
 *
 * A frame's luma and two half sized versions of it are cut into overlapping
 * blocks of 5x5 samples; four statistics of each block's DCT are pooled to the 24
 * features of BLIINDS-II, by the arithmetic of the authors' release. With the energies of
 * bands, the motion since the frame before and, where it is known, what the frame was coded with,
 * a model of up to one hidden layer predicts the score from them: the built-in one the VMAF loss,
 * by the bitstream without the 24. All sums are integers: the result is the same for any number
 * of threads.
 */

#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "bliinds.h"
#include "bliinds_dsp.h"
#include "filters.h"
#include "sample_format.h"
#include "video.h"

/// Zeros around a level's rows: one sample before, three after.
#define PAD_LEFT  1
#define PAD_RIGHT 3

typedef struct Level {
    int w, h;                           ///< samples
    BLIINDSBlocks blocks;
    BLIINDSLevelSums *sums;             ///< of each job, the total in the first
} Level;

/// What a job keeps of a level: only the last rows of samples.
typedef struct Rows {
    int first, end;                     ///< rows of blocks of the job, times BLIINDS_STEP
    int from, to;                       ///< first and last row of samples that all levels need
    int32_t *memory[3];                 ///< padded rows
    const int32_t *line[3];             ///< the last three: row y is at (y + 3) % 3
    float *high[BLIINDS_BLOCK];         ///< basis of the last rows
    float *low[BLIINDS_BLOCK];          ///< NULL at level 1
} Rows;

typedef struct Scratch {
    Rows level[BLIINDS_LEVELS];
    float *value;                       ///< of a row of blocks
} Scratch;

typedef struct BLIINDSCPUContext {
    LumaInputs inputs;                  ///< the first member
    BLIINDSContext common;

    BLIINDSDSPContext dsp;
    float gamma_table[BLIINDS_GAMMA_NB];
    uint64_t nb_frames;
    int ended;                          ///< the end of the input was seen
    int width, height;                  ///< of the input
    int nb_jobs;
    uint8_t *memory;                    ///< all that is below
    ptrdiff_t block_stride;             ///< of basis and value rows
    Level level[BLIINDS_LEVELS];
    int16_t *before;                    ///< bliinds_coarse() of level 3 of the frame before, [h][w]
    int32_t *zero_line;                 ///< a padded row outside of the frame
    Scratch *scratch;                   ///< of each job

    const AVFrame *frame;               ///< that is scored
    const BLIINDSFrame *f;
} BLIINDSCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption bliinds_options[] = {
    BLIINDS_OPTIONS(BLIINDSCPUContext, common, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(bliinds);

/// Row y of level 1, padded: [0] is the sample before the first.
static const int32_t *first_row(const BLIINDSCPUContext *s, const Rows *rows, int y)
{
    const LumaFormat *luma = &s->f->luma;
    int32_t *dst = rows->memory[(y + 3) % 3];

    if (y < 0 || y >= s->height)
        return s->zero_line;
    (luma->depth > 8 ? s->dsp.expand_row16 : s->dsp.expand_row8)
        (dst + PAD_LEFT, s->frame->data[0] + y * (ptrdiff_t)s->frame->linesize[0], s->width,
         luma->shift, luma->black, BLIINDS_FRAC_BITS - (luma->depth - 8));
    return dst;
}

/// Row y of the next level, from the last three rows of one.
static const int32_t *next_row(const BLIINDSCPUContext *s, Scratch *scratch, int l, int y)
{
    const int32_t *const *line = scratch->level[l].line;
    int32_t *dst = scratch->level[l + 1].memory[(y + 3) % 3];
    const int w  = s->level[l + 1].w;

    if (y < 0 || y >= s->level[l + 1].h)
        return s->zero_line;
    s->dsp.lowpass_row(dst + PAD_LEFT, line[2 * y % 3] + PAD_LEFT,
                       line[(2 * y + 1) % 3] + PAD_LEFT, line[(2 * y + 2) % 3] + PAD_LEFT,
                       s->level[l].w);
    memset(dst + PAD_LEFT + w, 0, PAD_RIGHT * sizeof(*dst));
    return dst;
}

/// A row of blocks, of which the first row of samples is y.
static void block_row(const BLIINDSCPUContext *s, const Scratch *scratch, BLIINDSLevelSums *sums,
                      int l, int y)
{
    const BLIINDSBlocks *blocks = &s->level[l].blocks;
    const int nb = FFALIGN(blocks->w, BLIINDS_VECTOR);
    const float *high[BLIINDS_BLOCK], *low[BLIINDS_BLOCK];

    for (int i = 0; i < BLIINDS_BLOCK; i++) {
        const int slot = (y + i + 1) % BLIINDS_BLOCK;

        high[i] = scratch->level[l].high[slot];
        low[i]  = scratch->level[l].low[slot];
    }
    (s->f->needs_statistics ? s->dsp.block_row : s->dsp.band_row)
        (scratch->value, high, l > 0 ? low : NULL, s->block_stride, nb);
    ff_bliinds_add_row(&s->dsp, sums, blocks, (y + 1) / BLIINDS_STEP, scratch->value,
                       s->block_stride, s->f->needs_statistics ? s->gamma_table : NULL);
}

/// The next row of samples of a level, and all that can be done with it.
static void add_row(const BLIINDSCPUContext *s, Scratch *scratch, int job, int l, int y,
                    const int32_t *line)
{
    Rows *rows     = &scratch->level[l];
    const int slot = (y + 1) % BLIINDS_BLOCK, next = y / 2 - 1;

    rows->line[(y + 3) % 3] = line;
    // blocks reach one row beyond those that they step over
    if (y >= rows->first - 1 && y <= rows->end) {
        s->dsp.basis_row(rows->high[slot], rows->low[slot], s->block_stride, line,
                         FFALIGN(s->level[l].blocks.w, BLIINDS_VECTOR));
        if (y % BLIINDS_STEP == 0 && y > rows->first)
            block_row(s, scratch, &s->level[l].sums[job], l, y - BLIINDS_BLOCK + 1);
    }
    if (l == BLIINDS_LEVELS - 1 && y >= rows->first && y < FFMIN(rows->end, s->level[l].h))
        s->dsp.motion_row(s->level[l].sums[job].motion,
                          s->before + y * (ptrdiff_t)s->level[l].w, line + PAD_LEFT,
                          s->level[l].w);
    if (l < BLIINDS_LEVELS - 1 && y % 2 == 0 && next >= rows[1].from && next <= rows[1].to)
        add_row(s, scratch, job, l + 1, next, next_row(s, scratch, l, next));
}

/// A job's blocks of all levels. Rows that two jobs need, both make: they need no synchronization.
static int slice(AVFilterContext *ctx, void *arg, int job, int nb_jobs)
{
    const BLIINDSCPUContext *s = ctx->priv;
    Scratch *scratch = &s->scratch[job];
    Rows *rows       = scratch->level;

    for (int l = BLIINDS_LEVELS - 1; l >= 0; l--) {
        const Level *level = &s->level[l];

        level->sums[job] = (BLIINDSLevelSums){ 0 };
        rows[l].first = BLIINDS_STEP * ff_slice_pos(level->blocks.h, job, nb_jobs);
        rows[l].end   = BLIINDS_STEP * ff_slice_pos(level->blocks.h, job + 1, nb_jobs);
        rows[l].from  = rows[l].first - 1;
        rows[l].to    = rows[l].end;
        if (l < BLIINDS_LEVELS - 1) {
            rows[l].from = FFMAX(FFMIN(rows[l].from, 2 * rows[l + 1].from), -1);
            rows[l].to   = FFMAX(rows[l].to, 2 * rows[l + 1].to + 2);
        }
    }
    for (int y = rows->from; y <= rows->to; y++)
        add_row(s, scratch, job, 0, y, first_row(s, rows, y));
    return 0;
}

/// Add the jobs' sums, which consist of uint64_t only, to those of the first job.
static void merge_sums(BLIINDSLevelSums *sums, int nb_jobs)
{
    uint64_t *dst = (uint64_t *)sums;
    const int nb  = sizeof(*sums) / sizeof(*dst);

    for (int job = 1; job < nb_jobs; job++)
        for (int i = 0; i < nb; i++)
            dst[i] += dst[job * nb + i];
}

/// The worst blocks: a job for each level and statistic.
static int worst_job(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const BLIINDSCPUContext *s = ctx->priv;
    const Level *level = &s->level[jobnr / BLIINDS_NB_STATISTICS];

    ff_bliinds_add_worst(&s->dsp, level->sums, &level->blocks, jobnr % BLIINDS_NB_STATISTICS);
    return 0;
}

static int score_frame(AVFilterContext *ctx, AVFrame *frame, const BLIINDSFrame *f)
{
    BLIINDSCPUContext *s = ctx->priv;
    const int nb_jobs = FFMIN(s->level[0].blocks.h, s->nb_jobs);
    BLIINDSLevelSums sums[BLIINDS_LEVELS];
    AVFrame *luma = ff_luma_from_rgb(frame);

    if (!luma)
        return AVERROR(ENOMEM);
    s->frame = luma;
    s->f     = f;
    ff_filter_execute(ctx, slice, NULL, NULL, nb_jobs);
    av_frame_free(&luma);
    for (int l = 0; l < BLIINDS_LEVELS; l++)
        merge_sums(s->level[l].sums, nb_jobs);
    if (f->needs_statistics)
        ff_filter_execute(ctx, worst_job, NULL, NULL, BLIINDS_LEVELS * BLIINDS_NB_STATISTICS);

    for (int l = 0; l < BLIINDS_LEVELS; l++)
        sums[l] = s->level[l].sums[0];
    return ff_bliinds_score(&s->common, ctx, frame, f, sums);
}

/// Take the next part of the memory; while there is no memory, only count its size.
static void *take(const BLIINDSCPUContext *s, size_t *used, size_t nb, size_t size)
{
    void *part = s->memory ? s->memory + *used : NULL;

    *used += FFALIGN(nb * size, 64);
    return part;
}

/// Lay out the memory for a size of frames, and return how much it is.
static size_t lay_out(BLIINDSCPUContext *s, int width, int height)
{
    size_t used = 0;

    s->block_stride = FFALIGN(bliinds_nb_blocks(width), BLIINDS_VECTOR);
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        Level *level = &s->level[l];
        const int w  = bliinds_nb_blocks(width >> l), h = bliinds_nb_blocks(height >> l);
        const size_t nb = (size_t)w * h;

        *level = (Level){ .w = width >> l, .h = height >> l, .blocks = { .w = w, .h = h } };
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            float *value = take(s, &used, nb + BLIINDS_VECTOR, sizeof(float));

            level->blocks.statistic[i] = value;
            for (int j = 0; value && j < BLIINDS_VECTOR; j++)
                value[nb + j] = -1;
        }
        for (int i = 0; i < BLIINDS_GAMMA; i++)
            level->blocks.candidate[i] = take(s, &used, BLIINDS_NB_CANDIDATES(nb), sizeof(float));
        level->sums = take(s, &used, s->nb_jobs, sizeof(*level->sums));
    }
    s->before    = take(s, &used, (size_t)(width >> 2) * (height >> 2), sizeof(*s->before));
    s->zero_line = take(s, &used, PAD_LEFT + width + BLIINDS_ROW_PAD, sizeof(*s->zero_line));
    s->scratch   = take(s, &used, s->nb_jobs, sizeof(*s->scratch));
    for (int job = 0; job < s->nb_jobs; job++) {
        Scratch scratch = { 0 };

        for (int l = 0; l < BLIINDS_LEVELS; l++) {
            Rows *rows = &scratch.level[l];

            for (int i = 0; i < FF_ARRAY_ELEMS(rows->memory); i++)
                rows->memory[i] = take(s, &used, PAD_LEFT + (width >> l) + BLIINDS_ROW_PAD,
                                       sizeof(*rows->memory[i]));
            for (int i = 0; i < BLIINDS_BLOCK; i++) {
                rows->high[i] = take(s, &used, 5 * s->block_stride, sizeof(float));
                if (l)
                    rows->low[i] = take(s, &used, 5 * s->block_stride, sizeof(float));
            }
        }
        scratch.value = take(s, &used, BLIINDS_NB_ROWS * s->block_stride, sizeof(float));
        if (s->scratch)
            s->scratch[job] = scratch;
    }
    return used;
}

static int filter_frame(AVFilterLink *inlink, AVFrame *frame)
{
    AVFilterContext *ctx = inlink->dst;
    BLIINDSCPUContext *s = ctx->priv;
    BLIINDSFrame f;
    int ret = ff_metric_damage(s->common.log.output, frame, NULL);

    if (ret >= 0)
        ret = ff_luma_check_frame(ctx, 0, frame);
    if (ret >= 0 &&
        (ret = ff_bliinds_describe(&s->common, ctx, &f, frame, s->nb_frames++)) > 0)
        ret = score_frame(ctx, frame, &f);
    if (ret < 0) {
        av_frame_free(&frame);
        return ret;
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

static av_cold int init(AVFilterContext *ctx)
{
    BLIINDSCPUContext *s = ctx->priv;

    s->inputs.is_wanted = luma_or_rgb_is_supported;
    s->inputs.min_size  = BLIINDS_MIN_SIZE;
    ff_bliinds_dsp_init(&s->dsp);
    ff_bliinds_gamma_table(s->gamma_table);
    return ff_bliinds_init(&s->common, ctx, &s->nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    BLIINDSCPUContext *s = ctx->priv;

    ff_metric_uninit(&s->common.log, ctx, s->nb_frames, s->ended);
    av_freep(&s->memory);
}

static int config_input(AVFilterLink *inlink)
{
    AVFilterContext *ctx = inlink->dst;
    BLIINDSCPUContext *s = ctx->priv;
    int ret = ff_luma_config(inlink);

    if (ret < 0)
        return ret;
    s->common.log.time_base = inlink->time_base;
    s->width   = inlink->w;
    s->height  = inlink->h;
    s->nb_jobs = ff_filter_get_nb_threads(ctx);
    av_freep(&s->memory);
    s->memory = av_mallocz(lay_out(s, s->width, s->height));
    if (!s->memory)
        return AVERROR(ENOMEM);
    lay_out(s, s->width, s->height);
    return 0;
}

static const AVFilterPad bliinds_inputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_input },
};

const FFFilter ff_vf_bliinds = {
    .p.name         = "bliinds",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Estimate the VMAF loss of frames without a reference."),
    .p.priv_class   = &bliinds_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(BLIINDSCPUContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = ff_reinit_command,
    FILTER_INPUTS(bliinds_inputs),
    FILTER_OUTPUTS(ff_video_default_filterpad),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
