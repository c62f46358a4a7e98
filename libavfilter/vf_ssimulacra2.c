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
 * SSIMULACRA 2.1: full-reference quality of compressed pictures
 *
 * Reference: Cloudinary, https://github.com/cloudinary/ssimulacra2
 *
 * Samples are converted to linear RGB. At six scales, each half the size of the previous one, they are
 * converted to the channels X, Y and B of XYB, an opponent colour space of cone responses. Means and variances
 * by a Gaussian of sigma 1.5 give an SSIM map, and two edge maps: artifacts and lost details. The score is a
 * polynomial of the weighted means and 4-norms of the maps.
 *
 * A slice is a range of bands of SSIMULACRA2_BAND rows. In each tile of SSIMULACRA2_TILE columns, rows go
 * through a ring of SSIMULACRA2_TAPS rows of all planes, from which the Gaussian reads. Sums over a band are
 * integers afterwards, so that the result does not depend on the number of threads.
 */

#include <stdint.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "dualinput.h"
#include "filters.h"
#include "formats.h"
#include "sample_format.h"
#include "ssimulacra2.h"
#include "ssimulacra2_dsp.h"

/// Elements of a row of a tile's buffer.
#define ROW (SSIMULACRA2_TILE + 2 * SSIMULACRA2_PAD)

/// Columns of chroma on each side of a tile's that its interpolation reads.
#define CHROMA_MARGIN 2

typedef float RingRow[SSIMULACRA2_TAPS][ROW];

/// Per-slice buffers and results.
typedef struct Slice {
    // columns of a tile begin at SSIMULACRA2_PAD; row y of a ring is at y % SSIMULACRA2_TAPS
    RingRow x[PAIR_NB][SSIMULACRA2_CHANNELS];
    RingRow squares[SSIMULACRA2_CHANNELS], error[SSIMULACRA2_CHANNELS];
    float linear[PAIR_NB][2][3][ROW];       ///< row y of the first scale is at y % 2
    float filtered[ROW], mu[PAIR_NB][ROW], mu_squares[ROW], mu_error[ROW];
    int32_t luma[ROW], chroma_row[4][ROW], chroma_column[ROW];
    float chroma[2][ROW];
    SSIMULACRA2GroupSums group[SSIMULACRA2_CHANNELS];
    SSIMULACRA2Sum sum[SSIMULACRA2_CHANNELS][SSIMULACRA2_SUMS];     ///< of the current scale
} Slice;

typedef struct SSIMULACRA2CPUContext {
    LumaInputs inputs;                  ///< the first member
    PairSync sync;
    SSIMULACRA2Context common;

    SSIMULACRA2DSPContext dsp;
    int nb_slices;
    Slice *slice;
    float *linear[SSIMULACRA2_SCALES];  ///< of scales from the second on: planes of both pictures
    ptrdiff_t stride[SSIMULACRA2_SCALES];   ///< of a row of them, in elements

    const AVFrame *frame[PAIR_NB];      ///< the current pair
    int scale;                          ///< the current scale
} SSIMULACRA2CPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption ssimulacra2_options[] = {
    SSIMULACRA2_OPTIONS(SSIMULACRA2CPUContext, common, FLAGS),
    PAIR_SYNC_OPTIONS(SSIMULACRA2CPUContext, sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(ssimulacra2);

// ---- rows of a tile ----

/// A tile's columns, with the margin that the Gaussian reads.
typedef struct Tile {
    int x, w;                   ///< columns
    int begin, end;             ///< columns with the margin, within the picture
} Tile;

/// Return a row of linear light of a scale from the second on.
static float *linear_row(const SSIMULACRA2CPUContext *s, int scale, int picture, int plane, int y)
{
    return s->linear[scale] +
           ((picture * 3 + plane) * s->common.height[scale] + y) * s->stride[scale];
}

/// Read columns of a row of a frame's component.
static void read_row(const SSIMULACRA2CPUContext *s, int32_t *dst, const AVFrame *frame, int component,
                     int x, int y, int w)
{
    const AVComponentDescriptor *comp = &av_pix_fmt_desc_get(frame->format)->comp[component];

    s->dsp.unpack(dst, frame->data[comp->plane] + comp->offset + x * comp->step +
                       y * (ptrdiff_t)frame->linesize[comp->plane],
                  comp->step, comp->depth, comp->shift, w);
}

/// Interpolate a component's chroma at columns of row y of luma.
static void interpolate_chroma(const SSIMULACRA2CPUContext *s, Slice *slice, int picture,
                               int component, const Tile *tile, int y)
{
    const AVFrame *frame = s->frame[picture];
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
    const SSIMULACRA2Input *in = &s->common.input[picture];
    const int log2_w = desc->log2_chroma_w, log2_h = desc->log2_chroma_h;
    const int w = AV_CEIL_RSHIFT(frame->width, log2_w), h = AV_CEIL_RSHIFT(frame->height, log2_h);
    const int phase = log2_h ? y & 1 : 0, first_row = (y >> log2_h) + in->vertical.first[phase];
    const int begin = FFMAX((tile->begin >> log2_w) - CHROMA_MARGIN, 0);
    const int end   = FFMIN(AV_CEIL_RSHIFT(tile->end, log2_w) + CHROMA_MARGIN, w);
    int32_t *column = slice->chroma_column + SSIMULACRA2_PAD - begin;
    float *dst      = slice->chroma[component - 1] + SSIMULACRA2_PAD - tile->x;
    const int32_t *row[4];

    for (int i = 0; i < 4; i++) {
        const int from = ssimulacra2_mirror(first_row + i, h);

        // rows with a weight of 0 only need finite samples
        row[i] = slice->chroma_row[i];
        read_row(s, slice->chroma_row[i], frame, component, begin, from, end - begin);
    }
    s->dsp.chroma_vertical(column + begin, row, in->vertical.tap[phase], end - begin);
    for (int i = 1; i <= CHROMA_MARGIN; i++) {
        if (!begin)
            column[-i] = column[ssimulacra2_mirror(-i, w)];
        if (end == w)
            column[w - 1 + i] = column[ssimulacra2_mirror(w - 1 + i, w)];
    }
    if (log2_w) {
        const int first = tile->begin >> 1;

        s->dsp.chroma_horizontal(dst + 2 * first, column + first, &in->horizontal,
                                 AV_CEIL_RSHIFT(tile->end, 1) - first);
    } else {
        for (int x = tile->begin; x < tile->end; x++)
            dst[x] = column[x] * (1 << SSIMULACRA2_TAP_BITS);
    }
}

/// Convert columns of row y of a frame to linear light.
static void convert_row(const SSIMULACRA2CPUContext *s, Slice *slice, int picture, float *const rgb[3],
                        const Tile *tile, int y)
{
    const AVFrame *frame = s->frame[picture];
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
    const SSIMULACRA2Matrix *matrix = &s->common.input[picture].matrix;
    const SSIMULACRA2Linear *table  = s->common.table;
    const int before = tile->x - tile->begin, w = tile->end - tile->begin;
    int32_t *luma = slice->luma + SSIMULACRA2_PAD - before;
    float *const dst[3] = { rgb[0] - before, rgb[1] - before, rgb[2] - before };

    if (desc->nb_components == 1 || desc->flags & AV_PIX_FMT_FLAG_RGB) {
        for (int i = 0; i < desc->nb_components; i++) {
            read_row(s, luma, frame, i, tile->begin, y, w);
            s->dsp.linear_plane(dst[i], luma, matrix, table, w);
        }
        for (int i = desc->nb_components; i < 3; i++)
            memcpy(dst[i], dst[0], w * sizeof(float));
    } else {
        interpolate_chroma(s, slice, picture, 1, tile, y);
        interpolate_chroma(s, slice, picture, 2, tile, y);
        read_row(s, luma, frame, 0, tile->begin, y, w);
        s->dsp.linear(dst, luma, slice->chroma[0] + SSIMULACRA2_PAD - before,
                      slice->chroma[1] + SSIMULACRA2_PAD - before, matrix, table, w);
    }
}

/// Make the next scale's row of two rows of a tile. @param upper, lower begin at the tile
static void downscale_row(const SSIMULACRA2CPUContext *s, float *dst, float *upper, float *lower,
                          const Tile *tile, int width)
{
    const int w = DIV_UP(tile->w, 2);

    if (tile->x + tile->w == width && tile->w % 2) {
        // the last column is repeated
        s->dsp.downscale(dst, upper, lower, w - 1);
        dst[w - 1] = ssimulacra2_downscale(upper[tile->w - 1], upper[tile->w - 1],
                                           lower[tile->w - 1], lower[tile->w - 1]);
    } else {
        s->dsp.downscale(dst, upper, lower, w);
    }
}

/// Load row y of the current scale into the rings. @param is_own whether it is not of the margin
static void load_row(const SSIMULACRA2CPUContext *s, Slice *slice, const Tile *tile, int y, int is_own)
{
    const SSIMULACRA2Context *c = &s->common;
    const int *mask = c->mask[s->scale];
    const int before = tile->x - tile->begin, w = tile->end - tile->begin;
    const int slot = y % SSIMULACRA2_TAPS, height = c->height[s->scale];

    for (int p = 0; p < PAIR_NB; p++) {
        float *row[2][3];       // of y & ~1 and y | 1
        const float *rgb[3];
        float *xyb[3];

        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 2; j++)
                row[j][i] = s->scale ? linear_row(s, s->scale, p, i, FFMIN(y & ~1 | j, height - 1)) +
                                       tile->x : slice->linear[p][j][i] + SSIMULACRA2_PAD;
            rgb[i] = row[y & 1][i] - before;
            xyb[i] = slice->x[p][i][slot] + SSIMULACRA2_PAD - before;
        }
        if (!s->scale)
            convert_row(s, slice, p, row[y & 1], tile, y);
        if (is_own && s->scale + 1 < c->nb_scales && (y % 2 || y == height - 1))
            for (int i = 0; i < 3; i++)
                downscale_row(s, linear_row(s, s->scale + 1, p, i, y / 2) + tile->x / 2,
                              row[0][i], row[y & 1][i], tile, c->width[s->scale]);
        s->dsp.xyb(xyb[0], xyb[1], xyb[2], rgb[0], rgb[1], rgb[2], w);
        for (int i = 0; i < 3; i++) {
            // samples outside of the picture are 0
            if (before < SSIMULACRA2_RADIUS)
                memset(xyb[i] - SSIMULACRA2_RADIUS, 0, SSIMULACRA2_RADIUS * sizeof(float));
            memset(xyb[i] + w, 0, SSIMULACRA2_RADIUS * sizeof(float));
        }
    }
    for (int i = 0; i < SSIMULACRA2_CHANNELS; i++)
        if (mask[i] & SSIMULACRA2_SSIM_MASK) {
            const int first = SSIMULACRA2_PAD - SSIMULACRA2_RADIUS;

            s->dsp.products(slice->squares[i][slot] + first, slice->error[i][slot] + first,
                            slice->x[0][i][slot] + first, slice->x[1][i][slot] + first,
                            tile->w + 2 * SSIMULACRA2_RADIUS);
        }
}

/// Apply the Gaussian to row y of a plane.
static void filter_row(const SSIMULACRA2CPUContext *s, Slice *slice, float *dst, const RingRow ring,
                       const Tile *tile, int y)
{
    static const float zero[ROW];
    const SSIMULACRA2Context *c = &s->common;
    const int width = c->width[s->scale], first = SSIMULACRA2_PAD - SSIMULACRA2_RADIUS;
    const float *row[SSIMULACRA2_TAPS], *filtered = slice->filtered + SSIMULACRA2_PAD;

    for (int i = 0; i < SSIMULACRA2_TAPS; i++) {
        const int from = ff_ssimulacra2_tap_index(c->variant, y, i - SSIMULACRA2_RADIUS,
                                                  c->height[s->scale]);

        row[i] = (from < 0 ? zero : ring[from % SSIMULACRA2_TAPS]) + first;
    }
    s->dsp.vertical(slice->filtered + first, row, &c->gaussian, tile->w + 2 * SSIMULACRA2_RADIUS);
    s->dsp.horizontal(dst + SSIMULACRA2_PAD, filtered, &c->gaussian, tile->w);
    for (int x = tile->x; c->variant == SSIMULACRA2_VSZIP && x < tile->x + tile->w; x++) {
        float sample[SSIMULACRA2_TAPS];

        if (x >= SSIMULACRA2_RADIUS && x < width - SSIMULACRA2_RADIUS) {
            x = width - SSIMULACRA2_RADIUS - 1;
            continue;
        }
        for (int i = 0; i < SSIMULACRA2_TAPS; i++)
            sample[i] = filtered[ff_ssimulacra2_tap_index(c->variant, x, i - SSIMULACRA2_RADIUS,
                                                          width) - tile->x];
        dst[SSIMULACRA2_PAD + x - tile->x] =
            ssimulacra2_horizontal(&c->gaussian, sample + SSIMULACRA2_RADIUS);
    }
}

// ---- sums ----

/// Add a float of 0 to 2^22.
static void add_value(SSIMULACRA2Sum *sum, float value)
{
    const int64_t high = value * 0x1p40;
    const int64_t low  = (value - high * 0x1p-40) * 0x1p90;

    sum->high[0] += (uint32_t)high;
    sum->high[1] += (uint64_t)high >> 32;
    sum->low[0]  += (uint32_t)low;
    sum->low[1]  += (uint64_t)low >> 32;
}

/// Add the groups of a tile in a band to the sums of the slice, and clear them.
static void add_groups(const SSIMULACRA2CPUContext *s, Slice *slice, const Tile *tile)
{
    for (int i = 0; i < SSIMULACRA2_CHANNELS; i++)
        for (int j = 0; j < SSIMULACRA2_SUMS; j++)
            if (s->common.mask[s->scale][i] >> j & 1)
                for (int phase = 0; phase < SSIMULACRA2_PHASES; phase++) {
                    float *group = slice->group[i][j][phase];

                    for (int x = 0; x < DIV_UP(tile->w, SSIMULACRA2_GROUP); x++)
                        add_value(&slice->sum[i][j], group[x]);
                    memset(group, 0, sizeof(slice->group[i][j][phase]));
                }
}

/// Add the error maps of row y.
static void measure_row(const SSIMULACRA2CPUContext *s, Slice *slice, const Tile *tile, int y)
{
    const int slot = y % SSIMULACRA2_TAPS;

    for (int i = 0; i < SSIMULACRA2_CHANNELS; i++) {
        const int mask = s->common.mask[s->scale][i];
        const SSIMULACRA2Rows rows = {
            { slice->x[0][i][slot] + SSIMULACRA2_PAD, slice->x[1][i][slot] + SSIMULACRA2_PAD },
            { slice->mu[0] + SSIMULACRA2_PAD, slice->mu[1] + SSIMULACRA2_PAD },
            slice->mu_squares + SSIMULACRA2_PAD, slice->mu_error + SSIMULACRA2_PAD,
        };

        if (!mask)
            continue;
        for (int p = 0; p < PAIR_NB; p++)
            filter_row(s, slice, slice->mu[p], slice->x[p][i], tile, y);
        if (mask & SSIMULACRA2_SSIM_MASK) {
            filter_row(s, slice, slice->mu_squares, slice->squares[i], tile, y);
            filter_row(s, slice, slice->mu_error,   slice->error[i],   tile, y);
        }
        s->dsp.add_maps(slice->group[i], y % SSIMULACRA2_PHASES, &rows, mask, tile->w);
    }
}

static int scale_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const SSIMULACRA2CPUContext *s = arg;
    Slice *slice = &s->slice[jobnr];
    const int width = s->common.width[s->scale], height = s->common.height[s->scale];
    const int nb_bands = DIV_UP(height, SSIMULACRA2_BAND);
    const int begin = nb_bands * jobnr / nb_jobs * SSIMULACRA2_BAND;
    const int end   = FFMIN(nb_bands * (jobnr + 1) / nb_jobs * SSIMULACRA2_BAND, height);

    memset(slice->sum, 0, sizeof(slice->sum));
    for (int x = 0; x < width; x += SSIMULACRA2_TILE) {
        const int w = FFMIN(SSIMULACRA2_TILE, width - x);
        const Tile tile = { x, w, FFMAX(x - SSIMULACRA2_RADIUS, 0),
                            FFMIN(x + w + SSIMULACRA2_RADIUS, width) };
        int next = FFMAX(begin - SSIMULACRA2_RADIUS, 0);

        for (int y = begin; y < end; y++) {
            for (; next < FFMIN(y + SSIMULACRA2_RADIUS + 1, height); next++)
                load_row(s, slice, &tile, next, next >= begin && next < end);
            measure_row(s, slice, &tile, y);
            if ((y + 1) % SSIMULACRA2_BAND == 0 || y + 1 == height)
                add_groups(s, slice, &tile);
        }
    }
    return 0;
}

/// Add up the error maps of a pair.
static void measure_pair(AVFilterContext *ctx, SSIMULACRA2Sums sums)
{
    SSIMULACRA2CPUContext *s = ctx->priv;

    memset(sums, 0, sizeof(SSIMULACRA2Sums));
    for (s->scale = 0; s->scale < s->common.nb_scales; s->scale++) {
        const int nb_bands = DIV_UP(s->common.height[s->scale], SSIMULACRA2_BAND);
        const int nb_jobs  = FFMIN(s->nb_slices, nb_bands);

        ff_filter_execute(ctx, scale_slice, s, NULL, nb_jobs);
        for (int job = 0; job < nb_jobs; job++)
            for (int c = 0; c < SSIMULACRA2_CHANNELS; c++)
                for (int i = 0; i < SSIMULACRA2_SUMS; i++)
                    for (int half = 0; half < 2; half++) {
                        const SSIMULACRA2Sum *sum = &s->slice[job].sum[c][i];

                        sums[s->scale][c][i].high[half] += sum->high[half];
                        sums[s->scale][c][i].low[half]  += sum->low[half];
                    }
    }
}

// ---- frames ----

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    SSIMULACRA2CPUContext *s = ctx->priv;
    SSIMULACRA2Sums sums;
    AVFrame *main, *reference;
    int ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    s->common.log.time_base = fs->time_base;
    if (reference) {
        s->frame[PAIR_MAIN]      = main;
        s->frame[PAIR_REFERENCE] = reference;
        if ((ret = ff_ssimulacra2_set_colors(&s->common, ctx, s->frame)) >= 0)
            measure_pair(ctx, sums);
    }
    if (ret >= 0)
        ret = ff_ssimulacra2_add(&s->common, ctx, main, reference ? sums : NULL);
    if (ret < 0) {
        av_frame_free(&main);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], main);
}

static int activate(AVFilterContext *ctx)
{
    SSIMULACRA2CPUContext *s = ctx->priv;

    return ff_pair_sync_activate(&s->sync);
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    SSIMULACRA2CPUContext *s = ctx->priv;

    return ff_pair_sync_command(&s->sync, ctx, cmd, arg, res, res_len, flags);
}

// ---- set-up ----

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    SSIMULACRA2CPUContext *s = ctx->priv;
    int ret = ff_pair_sync_config_output(&s->sync, outlink);

    if (ret < 0)
        return ret;
    ff_ssimulacra2_set_size(&s->common, outlink->w, outlink->h);
    s->nb_slices = FFMIN(ff_filter_get_nb_threads(ctx), DIV_UP(outlink->h, SSIMULACRA2_BAND));
    if (!(s->slice = av_calloc(s->nb_slices, sizeof(*s->slice))))
        return AVERROR(ENOMEM);
    for (int i = 1; i < s->common.nb_scales; i++) {
        // with the columns that row functions read beyond the picture
        s->stride[i] = FFALIGN(s->common.width[i], 16) + SSIMULACRA2_PAD;
        s->linear[i] = av_calloc(PAIR_NB * 3 * s->common.height[i] + 1,
                                 s->stride[i] * sizeof(float));
        if (!s->linear[i])
            return AVERROR(ENOMEM);
    }
    return 0;
}

static av_cold int init(AVFilterContext *ctx)
{
    SSIMULACRA2CPUContext *s = ctx->priv;

    s->sync.fs.on_event          = filter_frames;
    s->inputs.is_wanted          = ff_ssimulacra2_is_supported;
    s->inputs.allow_mixed_ranges = 1;
    s->inputs.converts_colors    = 1;
    s->inputs.min_size           = SSIMULACRA2_MIN_SIZE;
    s->sync.output               = &s->common.log.output;
    ff_ssimulacra2_dsp_init(&s->dsp);
    return ff_ssimulacra2_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    SSIMULACRA2CPUContext *s = ctx->priv;

    ff_ssimulacra2_uninit(&s->common, ctx, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    av_freep(&s->slice);
    for (int i = 0; i < SSIMULACRA2_SCALES; i++)
        av_freep(&s->linear[i]);
}

static const AVFilterPad ssimulacra2_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_ssimulacra2 = {
    .p.name         = "ssimulacra2",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure SSIMULACRA 2.1 against a reference."),
    .p.priv_class   = &ssimulacra2_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(SSIMULACRA2CPUContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(ssimulacra2_outputs),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
