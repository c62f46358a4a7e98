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
 *
 * Rows are transformed in bands: cells of MAD_STEP rows, one for each lane. Columns are
 * transformed in tiles: MAD_LANES columns side by side.
 */

#include <math.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "filters.h"
#include "formats.h"
#include "sample_format.h"
#include "mad.h"
#include "mad_tx.h"
#include "dualinput.h"
#include "video.h"

/// Rows of a band.
#define BAND (MAD_STEP * MAD_LANES)

/// Scratch rows of a job.
#define NB_ROWS 7

/// Share of the values themselves that is transformed with their Laplacian.
#define PLAIN 0.125

/// The window of the squared error reaches this far to the left and up.
#define WINDOW_BEFORE (MAD_BLOCK / 2 - 1)

/// Lightness of medium gray: it is subtracted before the transforms, so that they round less.
#define MEDIUM 1.

/// Factor of the error while it is transformed beside the lightness, whose rounding it shares.
#define ERROR_FACTOR 16

/// An input, and tables by its samples.
typedef struct Picture {
    const AVFrame *frame;
    const AVComponentDescriptor *luma;
    MADRange range;                     ///< that the tables are for
    double *value, *lightness;
} Picture;

/// What one job works in.
typedef struct Scratch {
    MADLanes *line[2];                  ///< that are transformed
    float *band[PAIR_NB][MAD_STEP];     ///< samples of each lane's row
    double *sample[3];                  ///< of rows
    float *row[NB_ROWS];                ///< with a window, or with the moments of a row of cells
} Scratch;

typedef struct MADContext {
    LumaInputs inputs;                  ///< the first member
    PairSync sync;
    MetricLog log;
    int output;                         ///< MADOutput
    uint64_t nb_frames;

    int width, height;
    int nb_tiles, nb_bands;
    int passed[MAD_SCALES];             ///< see ff_mad_passed()
    ptrdiff_t row_stride;               ///< of work, in values
    int cell_stride;                    ///< of the moments of a row of cells
    int nb_jobs;
    MADTransform *row, *column;
    Scratch *scratch;                   ///< of each job
    void **memory;                      ///< all that take() has allocated
    int nb_memory;
    int lacks_memory;

    // in the frequency domain, by tiles
    float *csf;
    float *radial[MAD_SCALES], *angular[MAD_ORIENTATIONS];
    MADLanes *spectrum[PAIR_NB];

    MADLanes *work;                     ///< transformed rows: each lane has a row
    float *error;                       ///< squared, and summed along rows; in the memory of work
    float *cell[PAIR_NB];               ///< rows of mean, m2, m3 and m4
    float *mask;                        ///< of each block
    float *appearance;                  ///< of each block
    double *sum[2];                     ///< HI and LO, of each row of the interior

    // of the pair, and of what is computed of it
    Picture picture[PAIR_NB];
    AVFrame *map;                       ///< output frame, or NULL for that of the main input
    int index;                          ///< of a picture
    int scale, orientation;
} MADContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption mad_options[] = {
    METRIC_LOG_OPTIONS(MADContext, log, FLAGS),
    MAD_OUTPUT_OPTION(MADContext, output, FLAGS),
    PAIR_SYNC_OPTIONS(MADContext, sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(mad);

// ---- threads ----

/// The work of a row, band or tile.
typedef void Function(const MADContext *s, const Scratch *scratch, int i);

typedef struct ThreadData {
    Function *run;
    int nb;                             ///< of rows, bands or tiles
} ThreadData;

static int run_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADContext *s  = ctx->priv;
    const ThreadData *td = arg;
    const int end = ff_slice_pos(td->nb, jobnr + 1, nb_jobs);

    for (int i = ff_slice_pos(td->nb, jobnr, nb_jobs); i < end; i++)
        td->run(s, &s->scratch[jobnr], i);
    return 0;
}

/// Call run() for 0 to nb - 1, in all threads.
static void run_all(AVFilterContext *ctx, Function *run, int nb)
{
    const MADContext *s = ctx->priv;
    ThreadData td = { run, nb };

    ff_filter_execute(ctx, run_slice, &td, NULL, s->nb_jobs);
}

// ---- rows and columns ----

/// Make an input's tables for the range of its frame, unless they are there.
static void make_tables(Picture *picture)
{
    const AVFrame *frame = picture->frame;
    const MADRange range = ff_mad_range(frame, av_pix_fmt_desc_get(frame->format));

    if (range.scale == picture->range.scale)
        return;
    picture->range = range;
    for (int i = 0; i < 1 << picture->luma->depth; i++) {
        picture->value[i]     = ff_mad_value(range, i);
        picture->lightness[i] = ff_mad_lightness(picture->value[i]);
    }
}

/// Read a row of samples, by a table.
static void get_row(double *dst, const Picture *picture, const double *table, int y, int width)
{
    const AVComponentDescriptor *luma = picture->luma;
    const uint8_t *src = picture->frame->data[0] + y * (ptrdiff_t)picture->frame->linesize[0];
    const int mask     = (1 << luma->depth) - 1;

    if (luma->depth == 8)
        for (int x = 0; x < width; x++)
            dst[x] = table[src[x]];
    else
        for (int x = 0; x < width; x++)
            dst[x] = table[AV_RN16A(src + 2 * x) >> luma->shift & mask];
}

/// Rows i of all cells of a band, one in each lane.
static MADLanes *work_row(const MADContext *s, int band, int i)
{
    return s->work + (MAD_STEP * band + i) * s->row_stride;
}

/// The row of the picture that a lane has of them; below the picture, its last one.
static int lane_row(const MADContext *s, int band, int i, int lane)
{
    return FFMIN(BAND * band + MAD_STEP * lane + i, s->height - 1);
}

/// Transform a row of each lane to work.
static void tx_row(const MADContext *s, const Scratch *scratch, int band, int i)
{
    memcpy(work_row(s, band, i), ff_mad_tx(s->row, scratch->line, scratch->line[0]),
           s->width * sizeof(*s->work));
}

/// Copy the columns of a tile from work to a line, or put them back.
static av_always_inline void copy_columns(const MADContext *s, MADLanes *line, int tile, int put)
{
    for (int band = 0; band < s->nb_bands; band++, line += BAND)
        for (int i = 0; i < MAD_STEP; i++) {
            MADLanes *work = work_row(s, band, i) + tile * MAD_LANES;

            for (int j = 0; j < MAD_LANES; j++)
                for (int part = 0; part < 2; part++)
                    for (int lane = 0; lane < MAD_LANES; lane++) {
                        float *in_line = &line[MAD_STEP * lane + i].v[part][j];

                        if (put)
                            work[j].v[part][lane] = *in_line;
                        else
                            *in_line = work[j].v[part][lane];
                    }
        }
}

/// Transform the columns of a tile.
static MADLanes *tx_columns(const MADContext *s, const Scratch *scratch, int tile)
{
    copy_columns(s, scratch->line[0], tile, 0);
    return ff_mad_tx(s->column, scratch->line, scratch->line[0]);
}

// ---- moments ----

static const float *cell_row(const MADContext *s, int picture, int y)
{
    return s->cell[picture] + y * (ptrdiff_t)4 * s->cell_stride;
}

/// Make a band of a picture's cells.
static void make_cells(const MADContext *s, const Scratch *scratch, int picture, int band)
{
    float *const *src = scratch->band[picture];
    const int columns = s->width / MAD_STEP, y = band * MAD_LANES;
    const int rows = FFMIN(MAD_LANES, s->height / MAD_STEP - y);
    float *dst = s->cell[picture] + y * (ptrdiff_t)4 * s->cell_stride;

    for (int x = 0; x < columns; x++) {
        float moment[4][MAD_LANES];

        for (int lane = 0; lane < MAD_LANES; lane++) {
            float v[MAD_CELL_SAMPLES];
            MADMoments m;

            for (int i = 0; i < MAD_CELL_SAMPLES; i++)
                v[i] = src[i / MAD_STEP][(MAD_STEP * x + i % MAD_STEP) * MAD_LANES + lane];
            m = mad_cell_moments(v);
            moment[0][lane] = m.mean;
            moment[1][lane] = m.m2;
            moment[2][lane] = m.m3;
            moment[3][lane] = m.m4;
        }
        for (int i = 0; i < 4 * rows; i++)
            dst[i * s->cell_stride + x] = moment[i % 4][i / 4];
    }
}

/// Merge the cells of two rows; each cell has nb_samples samples.
static void merge_row(const MADContext *s, float *restrict dst, const float *a, const float *b,
                      int nb_samples)
{
    const int stride = s->cell_stride, columns = s->width / MAD_STEP;

    for (int x = 0; x < columns; x++) {
        const MADMoments m = mad_merge(
            (MADMoments){ a[x], a[x + stride], a[x + 2 * stride], a[x + 3 * stride] },
            (MADMoments){ b[x], b[x + stride], b[x + 2 * stride], b[x + 3 * stride] }, nb_samples);

        dst[x]              = m.mean;
        dst[x + stride]     = m.m2;
        dst[x + 2 * stride] = m.m3;
        dst[x + 3 * stride] = m.m4;
    }
}

/// Moments of the blocks that begin in row y of cells, in scratch row i; it needs rows 0 and 1.
static const float *block_row(const MADContext *s, const Scratch *scratch, int i,
                              int picture, int y)
{
    float *dst = scratch->row[i], *a = scratch->row[0], *b = scratch->row[1];

    merge_row(s, a, cell_row(s, picture, y),     cell_row(s, picture, y + 1), MAD_CELL_SAMPLES);
    merge_row(s, b, cell_row(s, picture, y + 2), cell_row(s, picture, y + 3), MAD_CELL_SAMPLES);
    merge_row(s, dst, a, b, 2 * MAD_CELL_SAMPLES);
    merge_row(s, a, dst, dst + 1, 4 * MAD_CELL_SAMPLES);
    merge_row(s, dst, a, a + 2,   8 * MAD_CELL_SAMPLES);
    return dst;
}

/// Sum of squares of a row's interior, each value of which is that of a block times its factor.
static double sum_squares(const MADContext *s, float *value, const float *block,
                          const float *factor, int y)
{
    double sum = 0;

    block += y / MAD_STEP * (ptrdiff_t)mad_nb_blocks(s->width);
    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++) {
        value[x] = block[x / MAD_STEP] * (factor ? factor[x] : 1);
        sum     += (double)value[x] * value[x];
    }
    return sum;
}

/// Write a row of the interior of the map; all components of RGB get it.
static void put_map_row(const MADContext *s, const float *value, int y)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(s->map->format);
    const MADRange range = s->picture[PAIR_MAIN].range;
    const int white      = lrint(255 / range.scale);

    for (int i = 0; i < (desc->flags & AV_PIX_FMT_FLAG_RGB ? 3 : 1); i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        uint8_t *dst = s->map->data[comp->plane] + comp->offset +
                       y * (ptrdiff_t)s->map->linesize[comp->plane];

        for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++) {
            const int sample = range.black +
                               mad_map_sample(value[x], s->output == MAD_OUTPUT_DETECTION, white);

            if (comp->depth > 8)
                AV_WN16A(dst + x * comp->step, sample << comp->shift);
            else
                dst[x * comp->step] = sample;
        }
    }
}

// ---- detection ----

/// Transform rows of the reference's lightness, and of how far the main picture's is from it.
static void lightness_band(const MADContext *s, const Scratch *scratch, int band)
{
    const double *main = scratch->sample[PAIR_MAIN], *reference = scratch->sample[PAIR_REFERENCE];

    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            for (int p = 0; p < PAIR_NB; p++)
                get_row(scratch->sample[p], &s->picture[p], s->picture[p].lightness,
                        lane_row(s, band, i, lane), s->width);
            for (int x = 0; x < s->width; x++) {
                scratch->line[0][x].v[0][lane] = reference[x] - MEDIUM;
                scratch->line[0][x].v[1][lane] = ERROR_FACTOR * (main[x] - reference[x]);
            }
        }
        tx_row(s, scratch, band, i);
    }
}

/// Filter columns. The parts are swapped: thus the next transform is the inverse one.
static void csf_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    const float *csf = s->csf + (ptrdiff_t)tile * s->height * MAD_LANES;
    MADLanes *line   = tx_columns(s, scratch, tile);

    for (int y = 0; y < s->height; y++, csf += MAD_LANES)
        for (int lane = 0; lane < MAD_LANES; lane++) {
            const float re = line[y].v[0][lane];

            line[y].v[0][lane] = csf[lane] * line[y].v[1][lane];
            line[y].v[1][lane] = csf[lane] * re;
        }
    copy_columns(s, ff_mad_tx(s->column, scratch->line, line), tile, 1);
}

/// Transform rows back, and compute the moments of the reference and of the error.
static void contrast_band(const MADContext *s, const Scratch *scratch, int band)
{
    const float medium = MEDIUM * ff_mad_csf(0, 0, s->height, s->width);

    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row, scratch->line, work_row(s, band, i));

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++) {
                scratch->band[PAIR_REFERENCE][i][x * MAD_LANES + lane] =
                    medium + line[x].v[1][lane];
                scratch->band[PAIR_MAIN][i][x * MAD_LANES + lane] =
                    line[x].v[0][lane] * (1.f / ERROR_FACTOR);
            }
    }
    for (int p = 0; p < PAIR_NB; p++)
        make_cells(s, scratch, p, band);
}

static void mask_row(const MADContext *s, const Scratch *scratch, int y)
{
    const int columns  = mad_nb_blocks(s->width);
    const float *error = block_row(s, scratch, 2, PAIR_MAIN, y) + s->cell_stride;
    const float *mean  = block_row(s, scratch, 3, PAIR_REFERENCE, y);
    float *sub_block[3];

    for (int i = 0; i < 3; i++) {
        sub_block[i] = scratch->row[4 + i];
        merge_row(s, scratch->row[0], cell_row(s, PAIR_REFERENCE, y + i),
                  cell_row(s, PAIR_REFERENCE, y + i + 1), MAD_CELL_SAMPLES);
        merge_row(s, sub_block[i], scratch->row[0], scratch->row[0] + 1, 2 * MAD_CELL_SAMPLES);
        sub_block[i] += s->cell_stride;
    }
    for (int x = 0; x < columns; x++) {
        float least = sub_block[0][x];

        for (int i = 0; i < mad_nb_sub_blocks(y, s->height); i++)
            for (int j = 0; j < mad_nb_sub_blocks(x, s->width); j++)
                least = FFMIN(least, sub_block[i][x + j]);
        s->mask[y * (ptrdiff_t)columns + x] =
            mad_visibility(mean[x], least / (MAD_SUB_SAMPLES - 1),
                           error[x] / (MAD_BLOCK_SAMPLES - 1));
    }
}

/**
 * Squared errors of a row, summed over the MAD_BLOCK samples from each one on. The interior's
 * windows are within the picture.
 */
static void error_row(const MADContext *s, const Scratch *scratch, int y)
{
    const double *reference = scratch->sample[PAIR_REFERENCE], *main = scratch->sample[PAIR_MAIN];
    float *sum = s->error + y * (ptrdiff_t)s->width;

    for (int p = 0; p < PAIR_NB; p++)
        get_row(scratch->sample[p], &s->picture[p], s->picture[p].value, y, s->width);
    for (int x = 0; x < s->width; x++) {
        double d = main[x] - reference[x];

        sum[x] = d * d;
    }
    for (int n = 1; n < MAD_BLOCK; n *= 2)
        for (int x = 0; x <= s->width - 2 * n; x++)
            sum[x] += sum[x + n];
}

/// The sums of both maps over a row.
static void sum_row(const MADContext *s, const Scratch *scratch, int i)
{
    const int y = MAD_BORDER_BEGIN + i;
    float *row  = scratch->row[0];

    memset(row, 0, s->width * sizeof(*row));
    for (int j = 0; j < MAD_BLOCK; j++) {
        const float *error = s->error + (y - WINDOW_BEFORE + j) * (ptrdiff_t)s->width -
                             WINDOW_BEFORE;

        for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
            row[x] += error[x];
    }
    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
        row[x] *= 1.f / MAD_BLOCK_SAMPLES;
    s->sum[0][y] = sum_squares(s, row, s->mask, row, y);
    s->sum[1][y] = sum_squares(s, scratch->row[1], s->appearance, NULL, y);
    if (s->map)
        put_map_row(s, s->output == MAD_OUTPUT_DETECTION ? row : scratch->row[1], y);
}

/// Local squared errors, weighted by how little the contrast of the reference masks them; and the
/// sums, of the appearance map, too, which is there.
static void detect(AVFilterContext *ctx)
{
    const MADContext *s = ctx->priv;

    run_all(ctx, lightness_band, s->nb_bands);
    run_all(ctx, csf_tile,       s->nb_tiles);
    run_all(ctx, contrast_band,  s->nb_bands);
    run_all(ctx, mask_row,       mad_nb_blocks(s->height));
    run_all(ctx, error_row,      s->height);
    run_all(ctx, sum_row,        s->height - MAD_BORDER_BEGIN - MAD_BORDER_END);
}

// ---- appearance ----

/**
 * Transform rows of a picture's Laplacian plus PLAIN of its values. The radial filters undo
 * that. Otherwise rounding errors of the strong low frequencies would hide weak responses to high
 * ones. The first value is subtracted from all: the filters have no zero frequency, and the
 * responses of a flat picture are exact zeros then.
 */
static void value_band(const MADContext *s, const Scratch *scratch, int band)
{
    const Picture *picture = &s->picture[s->index];
    const double *table = picture->value;
    const int w = s->width, h = s->height;
    double *above = scratch->sample[0], *here = scratch->sample[1], *below = scratch->sample[2];
    double first;

    get_row(&first, picture, table, 0, 1);
    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            const int y = lane_row(s, band, i, lane);

            get_row(above, picture, table, (y ? y : h) - 1, w);
            get_row(here,  picture, table, y, w);
            get_row(below, picture, table, y + 1 < h ? y + 1 : 0, w);
            for (int x = 0; x < w; x++) {
                const double left = here[(x ? x : w) - 1], right = here[x + 1 < w ? x + 1 : 0];
                const double laplacian = 4 * here[x] - (above[x] + below[x]) - (left + right);

                scratch->line[0][x].v[0][lane] = PLAIN * (here[x] - first) + laplacian;
                scratch->line[0][x].v[1][lane] = 0;
            }
        }
        tx_row(s, scratch, band, i);
    }
}

static void spectrum_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    memcpy(s->spectrum[s->index] + (ptrdiff_t)tile * s->height, tx_columns(s, scratch, tile),
           s->height * sizeof(*s->spectrum[0]));
}

/// Filter the spectrum of a picture, and transform its columns back, with swapped parts.
static void response_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    const ptrdiff_t place = (ptrdiff_t)tile * s->height;
    const MADLanes *src   = s->spectrum[s->index] + place;
    const float *radial   = s->radial[s->scale]        + place * MAD_LANES;
    const float *angular  = s->angular[s->orientation] + place * MAD_LANES;
    const int passed = s->passed[s->scale], first = tile * MAD_LANES;
    MADLanes *line   = scratch->line[0];

    if (first < passed || first + MAD_LANES > s->width - passed + 1) {
        for (int y = 0; y < s->height; y++, radial += MAD_LANES, angular += MAD_LANES)
            for (int lane = 0; lane < MAD_LANES; lane++) {
                const float gain = radial[lane] * angular[lane];

                line[y].v[0][lane] = gain * src[y].v[1][lane];
                line[y].v[1][lane] = gain * src[y].v[0][lane];
            }
        line = ff_mad_tx(s->column, scratch->line, line);
    } else if (s->orientation || s->index)
        return;                     // cleared for the first response of the scale
    else
        memset(line, 0, s->height * sizeof(*line));
    copy_columns(s, line, tile, 1);
}

/// Transform rows of responses back, and compute the moments of their magnitudes.
static void response_band(const MADContext *s, const Scratch *scratch, int band)
{
    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row, scratch->line, work_row(s, band, i));
        float *magnitude = scratch->band[s->index][i];

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++)
                magnitude[x * MAD_LANES + lane] = sqrtf(line[x].v[0][lane] * line[x].v[0][lane] +
                                                        line[x].v[1][lane] * line[x].v[1][lane]);
    }
    make_cells(s, scratch, s->index, band);
}

static void appearance_row(const MADContext *s, const Scratch *scratch, int y)
{
    const float weight = ff_mad_weight(s->scale);
    const int columns  = mad_nb_blocks(s->width), stride = s->cell_stride;
    const float *main  = block_row(s, scratch, 2, PAIR_MAIN, y);
    const float *reference = block_row(s, scratch, 3, PAIR_REFERENCE, y);
    float *dst = s->appearance + y * (ptrdiff_t)columns;

    for (int x = 0; x < columns; x++) {
        float a[3], b[3];

        mad_describe(a, main[x + stride], main[x + 2 * stride], main[x + 3 * stride]);
        mad_describe(b, reference[x + stride], reference[x + 2 * stride],
                     reference[x + 3 * stride]);
        dst[x] += weight * mad_difference(a, b, 1);
    }
}

/// The change of the local statistics of the responses to log-Gabor filters.
static void compare_appearance(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;
    const int nb_rows = mad_nb_blocks(s->height);

    memset(s->appearance, 0, (size_t)mad_nb_blocks(s->width) * nb_rows * sizeof(*s->appearance));
    for (s->index = 0; s->index < PAIR_NB; s->index++) {
        run_all(ctx, value_band,    s->nb_bands);
        run_all(ctx, spectrum_tile, s->nb_tiles);
    }
    for (s->scale = 0; s->scale < MAD_SCALES; s->scale++)
        for (s->orientation = 0; s->orientation < MAD_ORIENTATIONS; s->orientation++) {
            for (s->index = 0; s->index < PAIR_NB; s->index++) {
                run_all(ctx, response_tile, s->nb_tiles);
                run_all(ctx, response_band, s->nb_bands);
            }
            run_all(ctx, appearance_row, nb_rows);
        }
}

// ---- a pair ----

static int score_frame(AVFilterContext *ctx, AVFrame *main, const AVFrame *reference, uint64_t n)
{
    MADContext *s = ctx->priv;
    double sum[2] = { 0 };
    AVFrame *luma[PAIR_NB] = {
        [PAIR_MAIN]      = ff_luma_of_rgb(main),
        [PAIR_REFERENCE] = ff_luma_of_rgb(reference),
    };
    int ret = luma[0] && luma[1] ? 0 : AVERROR(ENOMEM);

    for (int p = 0; p < PAIR_NB && ret >= 0; p++) {
        s->picture[p].frame = luma[p];
        make_tables(&s->picture[p]);
    }
    if (ret >= 0) {
        compare_appearance(ctx);
        detect(ctx);
    }
    for (int p = 0; p < PAIR_NB; p++)
        av_frame_free(&luma[p]);
    if (ret < 0)
        return ret;

    for (int i = 0; i < 2; i++)
        for (int y = MAD_BORDER_BEGIN; y < s->height - MAD_BORDER_END; y++)
            sum[i] += s->sum[i][y];
    return ff_mad_score(&s->log, ctx, s->map ? s->map : main, n, sum[0], sum[1]);
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    MADContext *s = ctx->priv;
    AVFrame *main, *reference;
    uint64_t n;
    int ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    n = s->nb_frames++;
    s->log.time_base = fs->time_base;
    if (s->output && !(s->map = ff_luma_black_frame(ctx->outputs[0], main)))
        ret = AVERROR(ENOMEM);
    else if (reference)
        ret = score_frame(ctx, main, reference, n);
    // without a reference the map stays black, or the frame passes
    if (s->map)
        FFSWAP(AVFrame *, s->map, main);
    av_frame_free(&s->map);
    if (ret < 0) {
        av_frame_free(&main);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], main);
}

static int activate(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;

    return ff_pair_sync_activate(&s->sync);
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    MADContext *s = ctx->priv;

    return ff_pair_sync_command(&s->sync, ctx, cmd, arg, res, res_len, flags);
}

// ---- memory and filters ----

/// Gain of the Laplacian along an axis.
static double laplacian(int i, int size)
{
    return 2 - 2 * cos(2 * M_PI * i / size);
}

/// Compute the filters of a tile, with the factor that the transforms there and back need.
static void filter_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    const int w = s->width, h = s->height;
    const double factor = 1. / ((double)w * h);
    const double step   = ff_mad_radial_distance(1, 1, 1, h, w) -
                          ff_mad_radial_distance(0, 1, 1, h, w);

    for (int i = 0; i < h * MAD_LANES; i++) {
        const int y = i / MAD_LANES, x = tile * MAD_LANES + i % MAD_LANES;
        const ptrdiff_t place = (ptrdiff_t)tile * h * MAD_LANES + i;
        const double radial = ff_mad_radial_distance(0, y, x, h, w);
        const double angle  = ff_mad_angle(y, x, h, w);
        const double undo   = factor / (PLAIN + laplacian(x, w) + laplacian(y, h));

        if (x >= w)
            continue;
        s->csf[place] = ff_mad_csf(y, x, h, w) * factor;
        for (int j = 0; j < MAD_SCALES; j++) {
            const double distance = radial + j * step;

            s->radial[j][place] = x || y ? mad_gain(distance * distance) * undo : 0;
        }
        for (int j = 0; j < MAD_ORIENTATIONS; j++) {
            const double distance = mad_turn(angle, j * MAD_ANGLE_STEP);

            s->angular[j][place] = mad_gain(distance * distance);
        }
    }
}

/// Allocate memory that uninit() frees. Without memory s->lacks_memory is set.
static void *take(MADContext *s, size_t nb, size_t size)
{
    void *memory = av_calloc(nb, size);

    if (memory && av_dynarray_add_nofree(&s->memory, &s->nb_memory, memory) < 0)
        av_freep(&memory);
    s->lacks_memory |= !memory;
    return memory;
}

#define TAKE(dst, nb) ((dst) = take(s, nb, sizeof(*(dst))))

static void take_scratch(MADContext *s, Scratch *scratch)
{
    const int longest = FFMAX3(ff_mad_tx_size(s->row), ff_mad_tx_size(s->column),
                               s->nb_bands * BAND);

    for (int i = 0; i < 2; i++)
        TAKE(scratch->line[i], longest);
    for (int i = 0; i < PAIR_NB * MAD_STEP; i++)
        TAKE(scratch->band[i / MAD_STEP][i % MAD_STEP], s->width * MAD_LANES);
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->sample); i++)
        TAKE(scratch->sample[i], s->width);
    for (int i = 0; i < NB_ROWS; i++)
        TAKE(scratch->row[i], s->width + MAD_BLOCK);
}

static void take_planes(MADContext *s)
{
    const size_t plane  = (size_t)s->nb_tiles * s->height;
    const size_t cells  = (size_t)s->cell_stride * 4 * (s->height / MAD_STEP);
    const size_t blocks = (size_t)mad_nb_blocks(s->width) * mad_nb_blocks(s->height);

    TAKE(s->csf, plane * MAD_LANES);
    for (int i = 0; i < MAD_SCALES; i++)
        TAKE(s->radial[i], plane * MAD_LANES);
    for (int i = 0; i < MAD_ORIENTATIONS; i++)
        TAKE(s->angular[i], plane * MAD_LANES);
    for (int p = 0; p < PAIR_NB; p++) {
        TAKE(s->picture[p].value,     1 << s->picture[p].luma->depth);
        TAKE(s->picture[p].lightness, 1 << s->picture[p].luma->depth);
        TAKE(s->spectrum[p], plane);
        TAKE(s->cell[p], cells + MAD_STEP);
        TAKE(s->sum[p], s->height);
    }
    TAKE(s->work, s->nb_bands * MAD_STEP * s->row_stride);
    s->error = (float *)s->work;
    TAKE(s->mask, blocks);
    TAKE(s->appearance, blocks);
}

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    MADContext *s = ctx->priv;
    int ret = ff_pair_sync_config_output(&s->sync, outlink);

    if (ret < 0)
        return ret;
    s->width       = outlink->w;
    s->height      = outlink->h;
    s->nb_tiles    = DIV_UP(s->width, MAD_LANES);
    s->nb_bands    = DIV_UP(s->height, BAND);
    // rows are shifted, so that a column is not in one set of the cache; a tile may reach beyond
    s->row_stride  = FFALIGN(s->width, 64) + MAD_LANES;
    s->cell_stride = s->width / MAD_STEP;
    s->nb_jobs     = ff_filter_get_nb_threads(ctx);
    for (int p = 0; p < PAIR_NB; p++)
        s->picture[p].luma = &av_pix_fmt_desc_get(ctx->inputs[p]->format)->comp[0];

    TAKE(s->scratch, s->nb_jobs);
    if ((ret = ff_mad_tx_alloc(&s->row,    s->width))  < 0 ||
        (ret = ff_mad_tx_alloc(&s->column, s->height)) < 0)
        return ret;
    for (int job = 0; !s->lacks_memory && job < s->nb_jobs; job++)
        take_scratch(s, &s->scratch[job]);
    take_planes(s);
    if (s->lacks_memory)
        return AVERROR(ENOMEM);
    for (int i = 0; i < MAD_SCALES; i++)
        s->passed[i] = ff_mad_passed(i, s->width);
    run_all(ctx, filter_tile, s->nb_tiles);
    return 0;
}

// ---- the filter ----

static av_cold int init(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    s->inputs.is_wanted    = luma_is_readable;
    s->inputs.mixes_ranges = 1;
    s->inputs.min_size     = MAD_MIN_SIZE;
    s->sync.output      = &s->log.output;
    return ff_mad_init(&s->log, ctx, &s->nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;

    ff_metric_uninit(&s->log, ctx, s->nb_frames, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    ff_mad_tx_free(&s->row);
    ff_mad_tx_free(&s->column);
    for (int i = 0; i < s->nb_memory; i++)
        av_free(s->memory[i]);
    av_freep(&s->memory);
}

static const AVFilterPad mad_outputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_output },
};

const FFFilter ff_vf_mad = {
    .p.name         = "mad",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Score quality against a reference (Most Apparent Distortion)."),
    .p.priv_class   = &mad_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(MADContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(mad_outputs),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
