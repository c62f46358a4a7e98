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
 * No-reference video quality from the quantizer and from natural scene statistics of the DCT.
 *
 * Michele A. Saad, Alan C. Bovik and Christophe Charrier, "Blind Image Quality
 * Assessment: A Natural Scene Statistics Approach in the DCT Domain", IEEE
 * Transactions on Image Processing 21(8), 2012 (BLIINDS-II).
 *
 * The luma of a frame and two versions of half and quarter size, the levels, are divided into
 * overlapping blocks of 5x5 samples. Four statistics of the DCT of each block are pooled into the
 * 24 features of the paper, with the arithmetic of the authors' release. This filter adds band
 * energies, differences between blocks at the coding grid and others, motion, and the coding
 * parameters that the bitstream filter quantizer_metadata attaches. Instead of the paper's
 * probabilistic model, a network with at most one hidden layer predicts the score. The built-in
 * models predict the loss of VMAF; the one for known bitstreams does not use the 24 features.
 *
 * Data flow of a frame: filter_slice() takes a range of rows of blocks. process_row() passes each
 * row of samples to the DCT and, low-pass filtered, to the next level, so that a job keeps only
 * the last rows of each level. merge_sums() adds the sums of the jobs, pool10_job() pools the
 * 10 % of blocks of worst quality, and ff_bliinds_score() in bliinds.c predicts and reports. All
 * sums are integers: the result does not depend on the number of threads.
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

/// @name Zeros before and after the samples of a row
/// @{
#define PAD_LEFT  1
#define PAD_RIGHT 3
/// @}

/// One level of the frame, shared by all jobs.
typedef struct Level {
    int w, h;                           ///< size in samples
    BLIINDSLevelBlocks blocks;
    BLIINDSLevelSums *sums;             ///< [nb_jobs]; after merge_sums(), [0] holds the total
} Level;

/// Rows of one level that a job needs at a time.
typedef struct LevelRows {
    int first, end;                     ///< range of rows of blocks, times BLIINDS_STEP
    int from, to;                       ///< range of rows of samples, both inclusive
    int32_t *row_buf[3];                ///< buffers of padded rows
    const int32_t *line[3];             ///< ring of the last three rows; row y is at (y + 3) % 3
    float *upper[BLIINDS_BLOCK];        ///< ring of the DCT terms of the last rows, upper bits
    float *lower[BLIINDS_BLOCK];        ///< ring for the lower bits; NULL at level 1: all are 0
} LevelRows;

/// Per-job scratch buffers.
typedef struct Scratch {
    LevelRows level[BLIINDS_LEVELS];
    float *value;                       ///< values of a row of blocks, [row][block_stride]
} Scratch;

typedef struct BLIINDSCPUContext {
    LumaInputs inputs;                  ///< must be the first member
    BLIINDSContext common;

    BLIINDSDSPContext dsp;
    float gamma_table[BLIINDS_GAMMA_NB];
    uint64_t nb_frames;
    int ended;                          ///< the input has reported its end
    int width, height;                  ///< size of the input
    int nb_jobs;                        ///< maximum number of jobs
    uint8_t *arena;                     ///< one allocation that holds all buffers below
    ptrdiff_t block_stride;             ///< elements of a row of DCT terms or values
    Level level[BLIINDS_LEVELS];
    int16_t *prev_motion;               ///< bliinds_motion_sample() of the previous frame, [h][w]
    int32_t *zero_line;                 ///< padded row outside of the frame
    Scratch *scratch;                   ///< [nb_jobs]

    const AVFrame *frame;               ///< luma of the current frame
    const BLIINDSFrame *f;              ///< information on the current frame
} BLIINDSCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption bliinds_options[] = {
    BLIINDS_OPTIONS(BLIINDSCPUContext, common, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(bliinds);

/// Return row y of level 1, starting with the padding; y may be outside of the frame.
static const int32_t *level1_row(const BLIINDSCPUContext *s, const LevelRows *rows, int y)
{
    const LumaFormat *luma = &s->f->luma;
    int32_t *dst = rows->row_buf[(y + 3) % 3];

    if (y < 0 || y >= s->height)
        return s->zero_line;
    (luma->depth > 8 ? s->dsp.expand_row16 : s->dsp.expand_row8)
        (dst + PAD_LEFT, s->frame->data[0] + y * (ptrdiff_t)s->frame->linesize[0], s->width,
         luma->shift, luma->black, BLIINDS_FRAC_BITS - (luma->depth - 8));
    return dst;
}

/// Return row y of level l + 1, low-pass filtered from the last three rows of level l.
static const int32_t *lowpass_level_row(const BLIINDSCPUContext *s, Scratch *scratch, int l, int y)
{
    const int32_t *const *line = scratch->level[l].line;
    int32_t *dst = scratch->level[l + 1].row_buf[(y + 3) % 3];
    const int w  = s->level[l + 1].w;

    if (y < 0 || y >= s->level[l + 1].h)
        return s->zero_line;
    s->dsp.lowpass_row(dst + PAD_LEFT, line[2 * y % 3] + PAD_LEFT,
                       line[(2 * y + 1) % 3] + PAD_LEFT, line[(2 * y + 2) % 3] + PAD_LEFT,
                       s->level[l].w);
    memset(dst + PAD_LEFT + w, 0, PAD_RIGHT * sizeof(*dst));
    return dst;
}

/// Compute and sum a row of blocks of level l; y is its first row of samples.
static void block_row(const BLIINDSCPUContext *s, const Scratch *scratch, BLIINDSLevelSums *sums,
                      int l, int y)
{
    const BLIINDSLevelBlocks *blocks = &s->level[l].blocks;
    const int nb = FFALIGN(blocks->w, BLIINDS_VECTOR);
    const float *upper[BLIINDS_BLOCK], *lower[BLIINDS_BLOCK];

    for (int i = 0; i < BLIINDS_BLOCK; i++) {
        const int ring = (y + i + 1) % BLIINDS_BLOCK;

        upper[i] = scratch->level[l].upper[ring];
        lower[i] = scratch->level[l].lower[ring];
    }
    (s->f->needs_statistics ? s->dsp.block_row : s->dsp.band_row)
        (scratch->value, upper, l > 0 ? lower : NULL, s->block_stride, nb);
    ff_bliinds_add_row(&s->dsp, sums, blocks, (y + 1) / BLIINDS_STEP, scratch->value,
                       s->block_stride, s->f->needs_statistics ? s->gamma_table : NULL);
}

/// Pass row y of level l to the DCT, the motion sums and the next level; complete rows of blocks.
static void process_row(const BLIINDSCPUContext *s, Scratch *scratch, int job, int l, int y,
                        const int32_t *line)
{
    LevelRows *rows = &scratch->level[l];
    const int ring  = (y + 1) % BLIINDS_BLOCK, next = y / 2 - 1;

    rows->line[(y + 3) % 3] = line;
    // blocks reach one row beyond the range first..end on both sides
    if (y >= rows->first - 1 && y <= rows->end) {
        s->dsp.dct5_row(rows->upper[ring], rows->lower[ring], s->block_stride, line,
                        FFALIGN(s->level[l].blocks.w, BLIINDS_VECTOR));
        if (y % BLIINDS_STEP == 0 && y > rows->first)
            block_row(s, scratch, &s->level[l].sums[job], l, y - BLIINDS_BLOCK + 1);
    }
    if (l == BLIINDS_LEVELS - 1 && y >= rows->first && y < FFMIN(rows->end, s->level[l].h))
        s->dsp.motion_row(s->level[l].sums[job].motion,
                          s->prev_motion + y * (ptrdiff_t)s->level[l].w, line + PAD_LEFT,
                          s->level[l].w);
    if (l < BLIINDS_LEVELS - 1 && y % 2 == 0 && next >= rows[1].from && next <= rows[1].to)
        process_row(s, scratch, job, l + 1, next, lowpass_level_row(s, scratch, l, next));
}

/// Compute the blocks of a job at all levels. Jobs recompute shared rows instead of synchronizing.
static int filter_slice(AVFilterContext *ctx, void *arg, int job, int nb_jobs)
{
    const BLIINDSCPUContext *s = ctx->priv;
    Scratch *scratch = &s->scratch[job];
    LevelRows *rows  = scratch->level;

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
        process_row(s, scratch, job, 0, y, level1_row(s, rows, y));
    return 0;
}

/// Add the sums of all jobs to those of the first job. BLIINDSLevelSums consists of uint64_t only.
static void merge_sums(BLIINDSLevelSums *sums, int nb_jobs)
{
    uint64_t *dst = (uint64_t *)sums;
    const int nb  = sizeof(*sums) / sizeof(*dst);

    for (int job = 1; job < nb_jobs; job++)
        for (int i = 0; i < nb; i++)
            dst[i] += dst[job * nb + i];
}

/// Pool one statistic of one level over the 10 % of blocks of worst quality.
static int pool10_job(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const BLIINDSCPUContext *s = ctx->priv;
    const Level *level = &s->level[jobnr / BLIINDS_NB_STATISTICS];

    ff_bliinds_pool10(&s->dsp, level->sums, &level->blocks, jobnr % BLIINDS_NB_STATISTICS);
    return 0;
}

/// Compute the sums of a frame in parallel, and score it.
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
    ff_filter_execute(ctx, filter_slice, NULL, NULL, nb_jobs);
    av_frame_free(&luma);
    for (int l = 0; l < BLIINDS_LEVELS; l++)
        merge_sums(s->level[l].sums, nb_jobs);
    if (f->needs_statistics)
        ff_filter_execute(ctx, pool10_job, NULL, NULL, BLIINDS_LEVELS * BLIINDS_NB_STATISTICS);

    for (int l = 0; l < BLIINDS_LEVELS; l++)
        sums[l] = s->level[l].sums[0];
    return ff_bliinds_score(&s->common, ctx, frame, f, sums);
}

/**
 * Allocate the next part of the arena.
 *
 * @param used advanced by the size of the part in bytes, a multiple of 64
 * @param nb   number of elements
 * @param size size of an element in bytes
 * @return the part, or NULL if the arena is not allocated yet and only its size is needed
 */
static void *arena_alloc(const BLIINDSCPUContext *s, size_t *used, size_t nb, size_t size)
{
    void *part = s->arena ? s->arena + *used : NULL;

    *used += FFALIGN(nb * size, 64);
    return part;
}

/// Set all buffers for a frame size, and return the size of the arena in bytes.
static size_t init_buffers(BLIINDSCPUContext *s, int width, int height)
{
    size_t used = 0;

    s->block_stride = FFALIGN(bliinds_nb_blocks(width), BLIINDS_VECTOR);
    for (int l = 0; l < BLIINDS_LEVELS; l++) {
        Level *level = &s->level[l];
        const int w  = bliinds_nb_blocks(width >> l), h = bliinds_nb_blocks(height >> l);
        const size_t nb = (size_t)w * h;

        *level = (Level){ .w = width >> l, .h = height >> l, .blocks = { .w = w, .h = h } };
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++) {
            float *value = arena_alloc(s, &used, nb + BLIINDS_VECTOR, sizeof(float));

            level->blocks.statistic[i] = value;
            for (int j = 0; value && j < BLIINDS_VECTOR; j++)
                value[nb + j] = -1;
        }
        for (int i = 0; i < BLIINDS_GAMMA; i++)
            level->blocks.selection[i] = arena_alloc(s, &used, BLIINDS_SELECT_SIZE(nb),
                                                     sizeof(float));
        level->sums = arena_alloc(s, &used, s->nb_jobs, sizeof(*level->sums));
    }
    s->prev_motion = arena_alloc(s, &used, (size_t)(width >> 2) * (height >> 2), sizeof(int16_t));
    s->zero_line   = arena_alloc(s, &used, PAD_LEFT + width + BLIINDS_ROW_PAD, sizeof(int32_t));
    s->scratch     = arena_alloc(s, &used, s->nb_jobs, sizeof(*s->scratch));
    for (int job = 0; job < s->nb_jobs; job++) {
        Scratch scratch = { 0 };

        for (int l = 0; l < BLIINDS_LEVELS; l++) {
            LevelRows *rows = &scratch.level[l];

            for (int i = 0; i < FF_ARRAY_ELEMS(rows->row_buf); i++)
                rows->row_buf[i] = arena_alloc(s, &used, PAD_LEFT + (width >> l) + BLIINDS_ROW_PAD,
                                               sizeof(*rows->row_buf[i]));
            for (int i = 0; i < BLIINDS_BLOCK; i++) {
                rows->upper[i] = arena_alloc(s, &used, 5 * s->block_stride, sizeof(float));
                if (l)
                    rows->lower[i] = arena_alloc(s, &used, 5 * s->block_stride, sizeof(float));
            }
        }
        scratch.value = arena_alloc(s, &used, BLIINDS_NB_ROWS * s->block_stride, sizeof(float));
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
    if (ret >= 0 && (ret = ff_bliinds_frame_init(&s->common, ctx, &f, frame, s->nb_frames++)) > 0)
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
    av_freep(&s->arena);
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
    av_freep(&s->arena);
    s->arena = av_mallocz(init_buffers(s, s->width, s->height));
    if (!s->arena)
        return AVERROR(ENOMEM);
    init_buffers(s, s->width, s->height);
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
