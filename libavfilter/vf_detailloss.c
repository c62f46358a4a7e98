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
 * What an encode has lost of its source, in points of VMAF v1
 *
 * Songnan Li, Fan Zhang, Lin Ma and King Ngi Ngan, "Image Quality Assessment by
 * Separately Evaluating Detail Losses and Additive Impairments", IEEE
 * Transactions on Multimedia 13(5), 2011.
 *
 * The luma of both pictures is split into wavelet bands of four scales: see
 * detailloss_wavelet.h. The change of chroma, and the motion of the source, come
 * from sums over small cells. All sums are integers: the result is the same for
 * any number of threads.
 */

#include <string.h>

#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "detailloss.h"
#include "detailloss_dsp.h"
#include "filters.h"
#include "luma.h"
#include "pair_sync.h"

/// Rows of samples that a row of coefficients is made of.
#define TAPS 4

/// Samples before and after a row, which mirror the row.
#define PAD_LEFT  1
#define PAD_RIGHT 3

/// A row of coefficients.
typedef struct Row {
    float *part[DETAIL_NB_PARTS][DETAIL_ORIENTATIONS];
    float *sum[DETAIL_NB_PARTS];        ///< over the orientations, with one more value at each end
} Row;

/// What one job works in.
typedef struct Scratch {
    float *line[PAIR_NB][TAPS];         ///< row y of the first scale is in y % TAPS
    float *low, *high;                  ///< of the columns, padded
    float *band[PAIR_NB][DETAIL_ORIENTATIONS];
    float *unused;                      ///< takes the next scale's samples where nobody needs them
    float *mask[DETAIL_NB_PARTS];       ///< of detail_mask(), by the part that masks
    Row row[3];                         ///< row y is in y % 3
    uint32_t *columns[3];               ///< sums of samples below each other; two of luma, 0 beyond
    DetailSums sums;
} Scratch;

typedef struct DetailLossCPUContext {
    const AVClass *class;
    PairSync sync;
    uint64_t nb_frames;
    DetailLossContext common;
    DetailLossDSPContext dsp;

    const AVPixFmtDescriptor *desc;
    int nb_jobs;
    Scratch *scratch;                   ///< of each job
    float *memory;                      ///< all that is below, and in scratch
    float *image[DETAIL_SCALES][PAIR_NB];   ///< pictures of the scales after the first
    uint32_t *cell[2][PAIR_NB];             ///< sums over the cells of Cb and Cr

    // of the pair
    const AVFrame *frame[PAIR_NB];
    AVFrame *previous;                  ///< the source's last frame, empty before the first
    DetailPicture picture;
    int scale, width, height;           ///< of the picture that is split
} DetailLossCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption detailloss_options[] = {
    DETAIL_OPTIONS(DetailLossCPUContext, common, FLAGS),
    { NULL }
};

FRAMESYNC_DEFINE_CLASS(detailloss, DetailLossCPUContext, sync.fs);

static int query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                         AVFilterFormatsConfig **cfg_out)
{
    return ff_set_common_formats2(ctx, cfg_in, cfg_out, luma_formats());
}

// ---- detail ----

/// The first sample of component i in row y.
static const uint8_t *plane_row(const DetailLossCPUContext *s, const AVFrame *frame, int i, int y)
{
    const AVComponentDescriptor *comp = &s->desc->comp[i];

    return frame->data[comp->plane] + y * (ptrdiff_t)frame->linesize[comp->plane] + comp->offset;
}

static void load_row(float *dst, const DetailLossCPUContext *s, int picture, int y)
{
    const AVComponentDescriptor *luma = &s->desc->comp[0];

    s->dsp.load_row[luma->depth > 8](dst, plane_row(s, s->frame[picture], 0, y), s->width,
                                     luma->shift, (1 << luma->depth) - 1, s->picture.luma_unit);
}

/// The length of rows of w elements, see DETAIL_ALIGN.
static int padded_size(int w)
{
    return FFALIGN(w, DETAIL_ALIGN);
}

static void pad_row(float *row, int w)
{
    for (int i = -PAD_LEFT; i < 0; i++)
        row[i] = row[detail_mirror(i, w)];
    for (int i = w; i < w + PAD_RIGHT; i++)
        row[i] = row[detail_mirror(i, w)];
}

static enum DetailBand band_of(int orientation)
{
    return orientation == 2 ? DETAIL_DIAGONAL : DETAIL_STRAIGHT;
}

/**
 * Make a row of coefficients of both pictures.
 *
 * @param is_first the row above was not made before
 * @param is_own   the row is one of the job's own: also make that of the next scale's pictures
 */
static void make_row(const DetailLossCPUContext *s, Scratch *scratch, int y,
                     int is_first, int is_own)
{
    const int w = detail_half(s->width), padded = padded_size(w), scale = s->scale;
    const int width = padded_size(s->width);
    const Row *row = &scratch->row[y % 3];

    for (int p = 0; p < PAIR_NB; p++) {
        const float *line[TAPS];
        float *next = is_own && scale + 1 < DETAIL_SCALES ?
                      s->image[scale + 1][p] + y * (size_t)padded : scratch->unused;

        for (int i = 0; i < TAPS; i++) {
            const int from = 2 * y - 1 + i, mirrored = detail_mirror(from, s->height);
            float *own = scratch->line[p][(from + TAPS) % TAPS];

            line[i] = scale ? s->image[scale][p] + mirrored * (size_t)width : own;
            // the row above has loaded the others
            if (!scale && (is_first || i >= TAPS - 2))
                load_row(own, s, p, mirrored);
        }
        s->dsp.split_columns(scratch->low, scratch->high, line, width);
        pad_row(scratch->low,  s->width);
        pad_row(scratch->high, s->width);
        s->dsp.split_row(next, scratch->band[p][1], scratch->low, padded);
        s->dsp.split_row(scratch->band[p][0], scratch->band[p][2], scratch->high, padded);
    }
    for (int o = 0; o < DETAIL_ORIENTATIONS; o++) {
        float *const part[DETAIL_NB_PARTS] = {
            row->part[DETAIL_SOURCE][o], row->part[DETAIL_KEPT][o], row->part[DETAIL_ADDED][o],
        };

        s->dsp.coefficient_row(part, scratch->band[PAIR_REFERENCE][o],
                               scratch->band[PAIR_MAIN][o], padded,
                               detail_weight(s->picture.octave + scale, band_of(o)));
        for (int i = 0; i < DETAIL_NB_PARTS; i++)
            memset(part[i] + w, 0, (padded - w) * sizeof(*part[i]));
    }
    for (int part = DETAIL_KEPT; part < DETAIL_NB_PARTS; part++) {
        float *sum = row->sum[part];

        s->dsp.sum_row(sum, (const float *const *)row->part[part], padded);
        sum[-1] = sum[0];
        sum[w]  = sum[w - 1];
    }
}

/// Add the cubes of a row to the job's sums.
static void add_row(const DetailLossCPUContext *s, Scratch *scratch,
                    const Row *above, const Row *row, const Row *below)
{
    // what was kept masks what was added, and the other way round
    const float *const mask[DETAIL_NB_PARTS] = {
        [DETAIL_KEPT]  = scratch->mask[DETAIL_ADDED],
        [DETAIL_ADDED] = scratch->mask[DETAIL_KEPT],
    };
    const int w = padded_size(detail_half(s->width));

    for (int part = DETAIL_KEPT; part < DETAIL_NB_PARTS; part++)
        s->dsp.mask_row(scratch->mask[part], above->sum[part], row->sum[part],
                        below->sum[part], w);
    for (int part = 0; part < DETAIL_NB_PARTS; part++)
        for (int o = 0; o < DETAIL_ORIENTATIONS; o++)
            scratch->sums.cube[s->scale][band_of(o)][part] +=
                s->dsp.cube_row(row->part[part][o], mask[part], w);
}

static int split_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const DetailLossCPUContext *s = ctx->priv;
    Scratch *scratch = &s->scratch[jobnr];
    const int h = detail_half(s->height);
    const int start = ff_slice_pos(h, jobnr, nb_jobs), end = ff_slice_pos(h, jobnr + 1, nb_jobs);
    const int first = FFMAX(start - 1, 0);

    // each row needs its neighbours, which belong to other jobs at the ends
    for (int y = first; y <= end; y++) {
        if (y < h)
            make_row(s, scratch, y, y == first, y >= start && y < end);
        if (y > start)
            add_row(s, scratch, &scratch->row[FFMAX(y - 2, 0) % 3],
                    &scratch->row[(y - 1) % 3], &scratch->row[FFMIN(y, h - 1) % 3]);
    }
    return 0;
}

// ---- cells ----

/// Sums of the first w columns of component i, over h samples from row y on.
static void sum_lines(uint32_t *dst, const DetailLossCPUContext *s, const AVFrame *frame,
                      int i, int y, int w, int h)
{
    const AVComponentDescriptor *comp = &s->desc->comp[i];

    s->dsp.sum_lines[comp->depth > 8](dst, plane_row(s, frame, i, y),
                                      frame->linesize[comp->plane], w, h,
                                      comp->shift, (1 << comp->depth) - 1);
}

/// Row y of the cells of chroma component i.
static void sum_cells(const DetailLossCPUContext *s, Scratch *scratch, int picture, int i, int y)
{
    const AVComponentDescriptor *comp = &s->desc->comp[i];
    const DetailPicture *size = &s->picture;
    const int step = comp->step / (comp->depth == 8 ? 1 : 2);
    const uint32_t *column = scratch->columns[2];
    uint32_t *cell = s->cell[i - 1][picture] + y * size->cells_x;

    // the other component may lie between the samples, but not behind the last
    sum_lines(scratch->columns[2], s, s->frame[picture], i, y * size->cell_h,
              (size->cells_x * size->cell_w - 1) * step + 1, size->cell_h);
    for (int x = 0; x < size->cells_x; x++) {
        cell[x] = 0;
        for (int n = 0; n < size->cell_w; n++, column += step)
            cell[x] += *column;
    }
}

static int cell_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const DetailLossCPUContext *s = ctx->priv;
    Scratch *scratch = &s->scratch[jobnr];
    const int size = DETAIL_MOTION_CELL;
    const int w = s->picture.width / size;
    const int h = s->previous->data[0] ? s->picture.height / size : 0;
    const int cells_y = s->picture.cells_x ? s->picture.cells_y : 0;

    for (int y = ff_slice_pos(h, jobnr, nb_jobs); y < ff_slice_pos(h, jobnr + 1, nb_jobs); y++) {
        sum_lines(scratch->columns[0], s, s->frame[PAIR_REFERENCE], 0, y * size, w * size, size);
        sum_lines(scratch->columns[1], s, s->previous, 0, y * size, w * size, size);
        scratch->sums.motion += s->dsp.motion_row(scratch->columns[0], scratch->columns[1],
                                                  padded_size(w));
    }
    for (int y = ff_slice_pos(cells_y, jobnr, nb_jobs);
         y < ff_slice_pos(cells_y, jobnr + 1, nb_jobs); y++)
        for (int i = 1; i <= 2; i++)
            for (int p = 0; p < PAIR_NB; p++)
                sum_cells(s, scratch, p, i, y);
    return 0;
}

static uint64_t sum_chroma(const DetailLossCPUContext *s)
{
    const DetailPicture *picture = &s->picture;
    uint64_t sum = 0;

    for (int y = 0; y < detail_nb_chroma_blocks(picture->cells_y); y++)
        for (int x = 0; x < detail_nb_chroma_blocks(picture->cells_x); x++) {
            const int first = DETAIL_CHROMA_STEP * (y * picture->cells_x + x);

            for (int i = 0; i < 2; i++) {
                float variance[PAIR_NB];

                for (int p = 0; p < PAIR_NB; p++)
                    variance[p] = detail_variance(s->cell[i][p] + first, picture->cells_x,
                                                  picture->chroma_unit);
                sum += detail_chroma(variance[PAIR_REFERENCE], variance[PAIR_MAIN]);
            }
        }
    return sum;
}

// ---- a pair ----

static DetailSums compare(AVFilterContext *ctx)
{
    DetailLossCPUContext *s = ctx->priv;
    DetailSums sums = { 0 };

    for (int job = 0; job < s->nb_jobs; job++)
        s->scratch[job].sums = (DetailSums){ 0 };
    s->width  = s->picture.width;
    s->height = s->picture.height;
    for (s->scale = 0; s->scale < DETAIL_SCALES; s->scale++) {
        ff_filter_execute(ctx, split_slice, NULL, NULL, FFMIN(s->nb_jobs, detail_half(s->height)));
        s->width  = detail_half(s->width);
        s->height = detail_half(s->height);
    }
    ff_filter_execute(ctx, cell_slice, NULL, NULL, s->nb_jobs);

    for (int job = 0; job < s->nb_jobs; job++) {
        const DetailSums *from = &s->scratch[job].sums;

        for (int i = 0; i < sizeof(sums.cube) / sizeof(uint64_t); i++)
            ((uint64_t *)sums.cube)[i] += ((const uint64_t *)from->cube)[i];
        sums.motion += from->motion;
    }
    sums.chroma = sum_chroma(s);
    return sums;
}

/// Take the next n floats of the memory; while there is no memory, only count them.
static float *take(const DetailLossCPUContext *s, size_t *used, size_t n)
{
    float *part = s->memory ? s->memory + *used : NULL;

    *used += FFALIGN(n, DETAIL_ALIGN);
    return part;
}

static void lay_out_scratch(const DetailLossCPUContext *s, size_t *used, Scratch *scratch,
                            int width)
{
    const int w = padded_size(detail_half(width));

    for (int p = 0; p < PAIR_NB; p++)
        for (int i = 0; i < TAPS; i++)
            scratch->line[p][i] = take(s, used, width);
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->columns); i++)
        scratch->columns[i] = (uint32_t *)take(s, used, 4 * (size_t)w);
    take(s, used, PAD_LEFT);
    scratch->low = take(s, used, 2 * w + PAD_RIGHT);
    take(s, used, PAD_LEFT);
    scratch->high = take(s, used, 2 * w + PAD_RIGHT);
    for (int p = 0; p < PAIR_NB; p++)
        for (int o = 0; o < DETAIL_ORIENTATIONS; o++)
            scratch->band[p][o] = take(s, used, w);
    scratch->unused = take(s, used, w);
    for (int part = 0; part < DETAIL_NB_PARTS; part++)
        scratch->mask[part] = take(s, used, w);
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->row); i++)
        for (int part = 0; part < DETAIL_NB_PARTS; part++) {
            take(s, used, 1);
            scratch->row[i].sum[part] = take(s, used, w + 1);
            for (int o = 0; o < DETAIL_ORIENTATIONS; o++)
                scratch->row[i].part[part][o] = take(s, used, w);
        }
}

/// Lay out the memory, and return how many floats it is.
static size_t lay_out(DetailLossCPUContext *s)
{
    const DetailPicture *picture = &s->picture;
    int w = picture->width, h = picture->height;
    size_t used = 0;

    for (int i = 1; i < DETAIL_SCALES; i++) {
        w = detail_half(w);
        h = detail_half(h);
        for (int p = 0; p < PAIR_NB; p++)
            s->image[i][p] = take(s, &used, (size_t)padded_size(w) * h);
    }
    for (int i = 0; i < 2; i++)
        for (int p = 0; p < PAIR_NB; p++)
            s->cell[i][p] = (uint32_t *)take(s, &used, (size_t)picture->cells_x * picture->cells_y);
    for (int job = 0; job < s->nb_jobs; job++)
        lay_out_scratch(s, &used, &s->scratch[job], picture->width);
    return used;
}

static int score_frame(AVFilterContext *ctx, AVFrame *main, const AVFrame *reference, uint64_t n)
{
    DetailLossCPUContext *s = ctx->priv;
    DetailSums sums;

    s->frame[PAIR_MAIN]      = main;
    s->frame[PAIR_REFERENCE] = reference;
    s->picture = ff_detailloss_picture(main->width, main->height, luma_is_limited(main, s->desc),
                                       s->desc);
    sums = compare(ctx);
    return ff_detailloss_score(&s->common, ctx, main, n, &s->picture, &sums);
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    DetailLossCPUContext *s = ctx->priv;
    AVFrame *main, *reference, *source;
    uint64_t n;
    int ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    n = s->nb_frames++;
    s->common.log.time_base = fs->time_base;
    // where there is nothing to compare with, the frame passes
    if (reference && frame_is_chosen(n, s->common.n_subsample))
        ret = score_frame(ctx, main, reference, n);
    // the next frame's motion is counted from this one, even if the timeline leaves this one out
    if (ret >= 0)
        ret = ff_framesync_get_frame(fs, 1, &source, 0);
    if (ret >= 0 && source)
        ret = av_frame_replace(s->previous, source);
    if (ret < 0) {
        av_frame_free(&main);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], main);
}

static int activate(AVFilterContext *ctx)
{
    DetailLossCPUContext *s = ctx->priv;

    return ff_framesync_activate(&s->sync.fs);
}

static av_cold int init(AVFilterContext *ctx)
{
    DetailLossCPUContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    s->sync.min_size    = DETAIL_MIN_SIZE;
    s->previous         = av_frame_alloc();
    return s->previous ? ff_detailloss_init(&s->common, ctx) : AVERROR(ENOMEM);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    DetailLossCPUContext *s = ctx->priv;

    ff_metric_uninit(&s->common.log, ctx, s->nb_frames, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    av_frame_free(&s->previous);
    av_freep(&s->scratch);
    av_freep(&s->memory);
}

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx    = outlink->src;
    DetailLossCPUContext *s = ctx->priv;
    int ret = ff_pair_sync_config_output(&s->sync, outlink);

    if (ret < 0)
        return ret;
    s->desc    = av_pix_fmt_desc_get(outlink->format);
    // the memory does not depend on the range
    s->picture = ff_detailloss_picture(outlink->w, outlink->h, 1, s->desc);
    s->nb_jobs = ff_filter_get_nb_threads(ctx);
    s->scratch = av_calloc(s->nb_jobs, sizeof(*s->scratch));
    if (!s->scratch)
        return AVERROR(ENOMEM);
    s->memory = av_calloc(lay_out(s), sizeof(*s->memory));
    if (!s->memory)
        return AVERROR(ENOMEM);
    lay_out(s);
    ff_detailloss_dsp_init(&s->dsp, s->picture.cells_x ? s->picture.cells_x * s->picture.cell_w
                                                       : outlink->w);
    return 0;
}

static const AVFilterPad detailloss_outputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_output },
};

const FFFilter ff_vf_detailloss = {
    .p.name         = "detailloss",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Measure what an encode has lost of its source."),
    .p.priv_class   = &detailloss_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(DetailLossCPUContext),
    .preinit        = detailloss_framesync_preinit,
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = ff_filter_process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(detailloss_outputs),
    FILTER_QUERY_FUNC2(query_formats),
};
