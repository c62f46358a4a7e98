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

#include <math.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/mem.h"

#include "mad_stages.h"

/// Share of the values themselves that is transformed with their Laplacian.
#define MAD_PLAIN 0.125

/// The window of the squared error reaches this far to the left and up.
#define WINDOW_BEFORE (MAD_BLOCK / 2 - 1)

/// Lightness of medium gray: it is subtracted before the transforms, so that they round less.
#define MEDIUM 1.

// ---- pictures ----

int ff_mad_tables_make(MADTables *tables, MADRange range, int depth)
{
    const int nb = 1 << depth;

    if (tables->value && depth == tables->depth &&
        range.black == tables->range.black && range.scale == tables->range.scale)
        return 0;

    av_freep(&tables->value);
    av_freep(&tables->lightness);
    tables->value     = av_malloc_array(nb, sizeof(*tables->value));
    tables->lightness = av_malloc_array(nb, sizeof(*tables->lightness));
    if (!tables->value || !tables->lightness) {
        av_freep(&tables->value);
        return AVERROR(ENOMEM);
    }
    tables->depth = depth;
    tables->range = range;
    for (int i = 0; i < nb; i++) {
        tables->value[i]     = ff_mad_value(range, i);
        tables->lightness[i] = ff_mad_lightness(tables->value[i]);
    }
    return 0;
}

void ff_mad_tables_free(MADTables *tables)
{
    av_freep(&tables->value);
    av_freep(&tables->lightness);
}

/// Read a row of samples, by a table.
static void get_row(double *dst, const MADPicture *picture, const double *table, int y, int width)
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

// ---- threads ----

static int run_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADPair *pair = arg;
    const int end = ff_slice_pos(pair->nb, jobnr + 1, nb_jobs);

    for (int i = ff_slice_pos(pair->nb, jobnr, nb_jobs); i < end; i++)
        pair->run(pair, &pair->work->scratch[jobnr], i);
    return 0;
}

/// Call run() for 0 to nb - 1, in all threads.
static void run_all(AVFilterContext *ctx, MADPair *pair, MADFunction *run, int nb)
{
    pair->run = run;
    pair->nb  = nb;
    ff_filter_execute(ctx, run_slice, pair, NULL, pair->work->nb_jobs);
}

// ---- transforms ----

/// Rows i of all cells of a band, one in each lane.
static MADLanes *work_row(const MADWork *s, int band, int i)
{
    return s->work + (MAD_STEP * band + i) * s->row_stride;
}

/// The row of the picture that a lane has of them; below the picture, its last one.
static int lane_row(const MADWork *s, int band, int i, int lane)
{
    return FFMIN(MAD_BAND * band + MAD_STEP * lane + i, s->height - 1);
}

/// Transform a row of each lane to work.
static void tx_row(const MADWork *s, const MADScratch *scratch, int band, int i)
{
    memcpy(work_row(s, band, i), ff_mad_tx(s->row, scratch->line, scratch->line[0]),
           s->width * sizeof(*s->work));
}

/// Read columns x, x + step... of work; the lanes from end on are left as they are.
static void gather(MADLanes *dst, const MADWork *s, int x, int step, int end)
{
    for (int band = 0; band < s->nb_bands; band++, dst += MAD_BAND)
        for (int i = 0; i < MAD_STEP; i++) {
            const MADLanes *src = work_row(s, band, i) + x;

            for (int j = 0; j < end; j++)
                for (int part = 0; part < 2; part++)
                    for (int lane = 0; lane < MAD_LANES; lane++)
                        dst[MAD_STEP * lane + i].v[part][j] = src[step * j].v[part][lane];
        }
}

/// Write columns x + step * begin... to work.
static void scatter(const MADWork *s, const MADLanes *src, int x, int step, int begin, int end)
{
    for (int band = 0; band < s->nb_bands; band++, src += MAD_BAND)
        for (int i = 0; i < MAD_STEP; i++) {
            MADLanes *dst = work_row(s, band, i) + x;

            for (int j = begin; j < end; j++)
                for (int part = 0; part < 2; part++)
                    for (int lane = 0; lane < MAD_LANES; lane++)
                        dst[step * j].v[part][lane] = src[MAD_STEP * lane + i].v[part][j];
        }
}

/// Number of the columns that mirror those of a tile, without columns that are in left tiles.
static int right_end(const MADWork *s, int tile)
{
    return FFMIN(s->width - (s->nb_tiles + tile) * MAD_LANES + 1, MAD_LANES);
}

/// Write a tile's columns of the right side to work.
static void scatter_right(const MADWork *s, const MADLanes *src, int tile)
{
    // there is no column s->width
    scatter(s, src, s->width - tile * MAD_LANES, -1, !tile, right_end(s, tile));
}

// ---- moments ----

static const float *cell_row(const MADWork *s, int picture, int y)
{
    return s->cell[picture] + y * (ptrdiff_t)4 * s->cell_stride;
}

/// Make a band of a picture's cells.
static void make_cells(const MADWork *s, int picture, int band, float *const src[MAD_STEP])
{
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
static void merge_row(const MADWork *s, float *restrict dst, const float *a, const float *b,
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
static const float *block_row(const MADWork *s, const MADScratch *scratch, int i,
                              int picture, int y)
{
    float *dst = scratch->row[i], *a = scratch->row[0], *b = scratch->row[1];
    const float *cell[MAD_BLOCK / MAD_STEP];

    for (int j = 0; j < MAD_BLOCK / MAD_STEP; j++)
        cell[j] = cell_row(s, picture, y + j);
    merge_row(s, a, cell[0], cell[1], MAD_CELL_SAMPLES);
    merge_row(s, b, cell[2], cell[3], MAD_CELL_SAMPLES);
    merge_row(s, dst, a, b, 2 * MAD_CELL_SAMPLES);
    merge_row(s, a, dst, dst + 1, 4 * MAD_CELL_SAMPLES);
    merge_row(s, dst, a, a + 2,   8 * MAD_CELL_SAMPLES);
    return dst;
}

// ---- sums ----

/// The values of the blocks that begin in a row of samples.
static const float *row_of_blocks(const MADWork *s, const float *block, int y)
{
    return block + y / MAD_STEP * (ptrdiff_t)mad_nb_blocks(s->width);
}

/// Sum of squares of a row's interior.
static double sum_squares(const float *row, int width)
{
    double sum = 0;

    for (int x = MAD_BORDER_BEGIN; x < width - MAD_BORDER_END; x++)
        sum += (double)row[x] * row[x];
    return sum;
}

// ---- detection ----

/// Transform rows of the reference's lightness, or of the main picture's minus the reference's.
static void lightness_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s = pair->work;
    const double *main = scratch->sample[PAIR_MAIN], *reference = scratch->sample[PAIR_REFERENCE];

    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            for (int p = pair->index; p < PAIR_NB; p++)
                get_row(scratch->sample[p], &pair->picture[p],
                               pair->picture[p].tables->lightness,
                               lane_row(s, band, i, lane), s->width);
            for (int x = 0; x < s->width; x++) {
                scratch->line[0][x].v[0][lane] = (pair->index == PAIR_MAIN ? main[x] : MEDIUM) -
                                                 reference[x];
                scratch->line[0][x].v[1][lane] = 0;
            }
        }
        tx_row(s, scratch, band, i);
    }
}

/// Transform columns, filter, and transform them back.
static void csf_tile(const MADPair *pair, const MADScratch *scratch, int tile)
{
    const MADWork *s = pair->work;
    const float *csf = s->csf + (ptrdiff_t)tile * s->height * MAD_LANES;
    const int x = tile * MAD_LANES;
    MADLanes *line;

    for (int side = 0; side < NB_SIDES; side++) {
        if (side == LEFT)
            gather(scratch->line[0], s, x, 1, MAD_LANES);
        else
            gather(scratch->line[0], s, s->width - x, -1, right_end(s, tile));
        line = ff_mad_tx(s->column, scratch->line, scratch->line[0]);
        for (int y = 0; y < s->height; y++) {
            const float *gain = csf + (side == RIGHT && y ? s->height - y : y) * MAD_LANES;

            for (int lane = 0; lane < MAD_LANES; lane++) {
                const float re = line[y].v[0][lane];

                line[y].v[0][lane] = gain[lane] * line[y].v[1][lane];
                line[y].v[1][lane] = gain[lane] * re;
            }
        }
        line = ff_mad_tx(s->column, scratch->line, line);
        if (side == LEFT)
            scatter(s, line, x, 1, 0, MAD_LANES);
        else
            scatter_right(s, line, tile);
    }
}

/// Transform rows back, and compute the moments of the reference or of the negative error.
static void contrast_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s   = pair->work;
    const float medium = pair->index == PAIR_MAIN ? 0
                                                  : MEDIUM * ff_mad_csf(0, 0, s->height, s->width);

    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row, scratch->line, work_row(s, band, i));

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++)
                scratch->band[i][x * MAD_LANES + lane] = medium - line[x].v[1][lane];
    }
    make_cells(s, pair->index, band, scratch->band);
}

static void mask_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s  = pair->work;
    const int columns = mad_nb_blocks(s->width);
    const float *error = block_row(s, scratch, 2, PAIR_MAIN, y)      + s->cell_stride;
    const float *mean  = block_row(s, scratch, 3, PAIR_REFERENCE, y);
    float *sub_block[3];

    for (int i = 0; i < 3; i++) {
        sub_block[i] = scratch->row[4 + i];
        merge_row(s, scratch->row[0], cell_row(s, PAIR_REFERENCE, y + i),
                  cell_row(s, PAIR_REFERENCE, y + i + 1), MAD_CELL_SAMPLES);
        merge_row(s, sub_block[i], scratch->row[0], scratch->row[0] + 1,
                  2 * MAD_CELL_SAMPLES);
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
static void error_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    const double *reference = scratch->sample[PAIR_REFERENCE], *main = scratch->sample[PAIR_MAIN];
    float *sum = scratch->row[0];

    for (int p = 0; p < PAIR_NB; p++)
        get_row(scratch->sample[p], &pair->picture[p], pair->picture[p].tables->value,
                       y, s->width);
    for (int x = 0; x < s->width; x++) {
        double d = main[x] - reference[x];

        sum[x] = d * d;
    }
    for (int n = 1; n < MAD_BLOCK; n *= 2)
        for (int x = 0; x <= s->width - 2 * n; x++)
            sum[x] += sum[x + n];
    memcpy(s->error + y * (ptrdiff_t)s->width, sum, s->width * sizeof(*sum));
}

static void detection_row(const MADPair *pair, const MADScratch *scratch, int i)
{
    const MADWork *s  = pair->work;
    const int y       = MAD_BORDER_BEGIN + i;
    const float *mask = row_of_blocks(s, s->mask, y);
    float *row        = scratch->row[0];

    memset(row, 0, s->width * sizeof(*row));
    for (int j = 0; j < MAD_BLOCK; j++) {
        const float *error = s->error + (y - WINDOW_BEFORE + j) * (ptrdiff_t)s->width -
                             WINDOW_BEFORE;

        for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
            row[x] += error[x];
    }
    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
        row[x] *= mask[x / MAD_STEP] * (1.f / MAD_BLOCK_SAMPLES);
    s->sum[0][y] = sum_squares(row, s->width);
}

void ff_mad_detect(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s = pair->work;

    for (pair->index = 0; pair->index < PAIR_NB; pair->index++) {
        run_all(ctx, pair, lightness_band, s->nb_bands);
        run_all(ctx, pair, csf_tile,       s->nb_tiles);
        run_all(ctx, pair, contrast_band,  s->nb_bands);
    }
    run_all(ctx, pair, mask_row,      mad_nb_blocks(s->height));
    run_all(ctx, pair, error_row,     s->height);
    run_all(ctx, pair, detection_row, s->height - MAD_BORDER_BEGIN - MAD_BORDER_END);
}

// ---- appearance ----

/**
 * Transform rows of a picture's Laplacian plus MAD_PLAIN of its values. The radial filters undo
 * that. Otherwise rounding errors of the strong low frequencies would hide weak responses to high
 * ones. The first value is subtracted from all: the filters have no zero frequency, and the
 * responses of a flat picture are exact zeros then.
 */
static void value_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s = pair->work;
    const MADPicture *picture = &pair->picture[pair->index];
    const double *table = picture->tables->value;
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

                scratch->line[0][x].v[0][lane] = MAD_PLAIN * (here[x] - first) + laplacian;
                scratch->line[0][x].v[1][lane] = 0;
            }
        }
        tx_row(s, scratch, band, i);
    }
}

static void spectrum_tile(const MADPair *pair, const MADScratch *scratch, int tile)
{
    const MADWork *s = pair->work;

    gather(scratch->line[0], s, tile * MAD_LANES, 1, MAD_LANES);
    memcpy(s->spectrum[pair->index] + (ptrdiff_t)tile * s->height,
           ff_mad_tx(s->column, scratch->line, scratch->line[0]), s->height * sizeof(*s->work));
}

/// Filter a tile of the left side, for the inverse transform.
static void filter_left(MADLanes *dst, const MADLanes *src, const float *radial,
                        const float *angular, int height)
{
    for (int y = 0; y < height; y++, radial += MAD_LANES, angular += MAD_LANES)
        for (int lane = 0; lane < MAD_LANES; lane++) {
            const float gain = radial[lane] * angular[lane];

            dst[y].v[0][lane] = gain * src[y].v[1][lane];
            dst[y].v[1][lane] = gain * src[y].v[0][lane];
        }
}

/// The same for the right side, where the spectrum is the conjugate of what mirrors it.
static void filter_right(MADLanes *dst, const MADLanes *src, const float *radial,
                         const float *angular, int height)
{
    for (int y = 0; y < height; y++, radial += MAD_LANES, angular += MAD_LANES) {
        const MADLanes *mirrored = &src[y ? height - y : 0];

        for (int lane = 0; lane < MAD_LANES; lane++) {
            const float gain = radial[lane] * angular[lane];

            dst[y].v[0][lane] = -gain * mirrored->v[1][lane];
            dst[y].v[1][lane] =  gain * mirrored->v[0][lane];
        }
    }
}

/// Filter the spectrum of a picture, and transform its columns back.
static void response_tile(const MADPair *pair, const MADScratch *scratch, int tile)
{
    const MADWork *s      = pair->work;
    const ptrdiff_t place = (ptrdiff_t)tile * s->height;
    const MADLanes *src   = s->spectrum[pair->index] + place;
    MADLanes *line        = scratch->line[0];
    const int is_passed   = tile < s->passed[pair->scale];

    // these columns were cleared for the first orientation of the scale
    if (!is_passed && (pair->orientation || pair->index))
        return;
    for (int side = 0; side < NB_SIDES; side++) {
        const float *radial  = s->radial[side][pair->scale]        + place * MAD_LANES;
        const float *angular = s->angular[side][pair->orientation] + place * MAD_LANES;

        if (is_passed) {
            (side == LEFT ? filter_left : filter_right)(scratch->line[0], src, radial, angular,
                                                        s->height);
            line = ff_mad_tx(s->column, scratch->line, scratch->line[0]);
        } else
            memset(line, 0, s->height * sizeof(*line));
        if (side == LEFT)
            scatter(s, line, tile * MAD_LANES, 1, 0, MAD_LANES);
        else
            scatter_right(s, line, tile);
    }
}

/// Transform rows of responses back, and compute the moments of their magnitudes.
static void response_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s = pair->work;

    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row, scratch->line, work_row(s, band, i));
        float *magnitude = scratch->band[i];

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++)
                magnitude[x * MAD_LANES + lane] = sqrtf(line[x].v[0][lane] * line[x].v[0][lane] +
                                                        line[x].v[1][lane] * line[x].v[1][lane]);
    }
    make_cells(s, pair->index, band, scratch->band);
}

static void appearance_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s   = pair->work;
    const float weight = ff_mad_weight(pair->scale);
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

static void sum_row(const MADPair *pair, const MADScratch *scratch, int i)
{
    const MADWork *s   = pair->work;
    const int y        = MAD_BORDER_BEGIN + i;
    const float *block = row_of_blocks(s, s->appearance, y);
    float *row         = scratch->row[0];

    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
        row[x] = block[x / MAD_STEP];
    s->sum[1][y] = sum_squares(row, s->width);
}

void ff_mad_compare_appearance(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s  = pair->work;
    const int nb_rows = mad_nb_blocks(s->height);

    memset(s->appearance, 0, (size_t)mad_nb_blocks(s->width) * nb_rows * sizeof(*s->appearance));
    for (pair->index = 0; pair->index < PAIR_NB; pair->index++) {
        run_all(ctx, pair, value_band,    s->nb_bands);
        run_all(ctx, pair, spectrum_tile, s->nb_tiles);
    }
    for (pair->scale = 0; pair->scale < MAD_SCALES; pair->scale++)
        for (pair->orientation = 0; pair->orientation < MAD_ORIENTATIONS; pair->orientation++) {
            for (pair->index = 0; pair->index < PAIR_NB; pair->index++) {
                run_all(ctx, pair, response_tile, s->nb_tiles);
                run_all(ctx, pair, response_band, s->nb_bands);
            }
            run_all(ctx, pair, appearance_row, nb_rows);
        }
    run_all(ctx, pair, sum_row, s->height - MAD_BORDER_BEGIN - MAD_BORDER_END);
}

// ---- memory and filters for a size ----

/// Gain of the Laplacian along an axis.
static double laplacian(int i, int size)
{
    return 4 * pow(sin(M_PI * i / size), 2);
}

/**
 * Compute the filters of a tile, with the factor that the two transforms, forward and inverse,
 * need. Of what the CSF yields only the real part is used: that is what its symmetric part yields.
 */
static void filter_tile(const MADPair *pair, const MADScratch *scratch, int tile)
{
    const MADWork *s = pair->work;
    const int w = s->width, h = s->height;
    const double factor = 1. / ((double)w * h);
    const double step   = ff_mad_radial_distance(1, 1, 1, h, w) -
                          ff_mad_radial_distance(0, 1, 1, h, w);

    for (int i = 0; i < h * MAD_LANES; i++) {
        const int y = i / MAD_LANES, x = tile * MAD_LANES + i % MAD_LANES;
        const ptrdiff_t place = (ptrdiff_t)tile * h * MAD_LANES + i;

        s->csf[place] = (ff_mad_csf(y, x, h, w) +
                         ff_mad_csf((h - y) % h, (w - x) % w, h, w)) / 2 * factor;
        for (int side = 0; side < NB_SIDES; side++) {
            const int column    = side == LEFT ? x : (w - x) % w;
            const double radial = ff_mad_radial_distance(0, y, column, h, w);
            const double angle  = ff_mad_angle(y, column, h, w);
            const double undo   = factor / (MAD_PLAIN + laplacian(column, w) + laplacian(y, h));
            const int shared    = side == RIGHT && s->shares_filters;

            for (int j = 0; j < MAD_SCALES && !shared; j++) {
                const double distance = radial + j * step;

                s->radial[side][j][place] = column || y ? mad_gain(distance * distance) * undo
                                                        : 0;
            }
            for (int j = 0; j < (shared ? 1 : MAD_ORIENTATIONS); j++) {
                const double distance = mad_turn(angle, j * MAD_ANGLE_STEP);

                s->angular[side][j][place] = mad_gain(distance * distance);
            }
        }
    }
}

/// Allocate memory that ff_mad_work_free() frees. Without memory s->lacks_memory is set.
static void *take(MADWork *s, size_t nb, size_t size)
{
    void *memory = av_calloc(nb, size);

    if (memory && av_dynarray_add_nofree(&s->memory, &s->nb_memory, memory) < 0)
        av_freep(&memory);
    s->lacks_memory |= !memory;
    return memory;
}

#define TAKE(dst, nb) ((dst) = take(s, nb, sizeof(*(dst))))

static void take_scratch(MADWork *s, MADScratch *scratch)
{
    const int longest = FFMAX3(ff_mad_tx_size(s->row), ff_mad_tx_size(s->column),
                               s->nb_bands * MAD_BAND);

    for (int i = 0; i < 2; i++)
        TAKE(scratch->line[i], longest);
    for (int i = 0; i < MAD_STEP; i++)
        TAKE(scratch->band[i], s->width * MAD_LANES);
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->sample); i++)
        TAKE(scratch->sample[i], s->width);
    for (int i = 0; i < NB_ROWS; i++)
        TAKE(scratch->row[i], s->width + MAD_BLOCK);
}

static void take_planes(MADWork *s)
{
    const size_t half   = (size_t)s->nb_tiles * s->height * MAD_LANES;
    const size_t cells  = (size_t)s->cell_stride * 4 * (s->height / MAD_STEP);
    const size_t blocks = (size_t)mad_nb_blocks(s->width) * mad_nb_blocks(s->height);

    TAKE(s->csf, half);
    for (int i = 0; i < MAD_SCALES; i++) {
        TAKE(s->radial[LEFT][i], half);
        if (s->shares_filters)
            s->radial[RIGHT][i] = s->radial[LEFT][i];
        else
            TAKE(s->radial[RIGHT][i], half);
    }
    for (int i = 0; i < MAD_ORIENTATIONS; i++) {
        TAKE(s->angular[LEFT][i], half);
        // angles of the right side are 180 degrees less those of the left one
        if (s->shares_filters && i)
            s->angular[RIGHT][MAD_ORIENTATIONS - i] = s->angular[LEFT][i];
        else
            TAKE(s->angular[RIGHT][i], half);
    }
    for (int p = 0; p < PAIR_NB; p++) {
        TAKE(s->spectrum[p], half / MAD_LANES);
        TAKE(s->cell[p], cells + MAD_STEP);
        TAKE(s->sum[p], s->height);
    }
    TAKE(s->work, s->nb_bands * MAD_STEP * s->row_stride);
    s->error = (float *)s->work;
    TAKE(s->mask, blocks);
    TAKE(s->appearance, blocks);
}

int ff_mad_work_alloc(MADWork *s, AVFilterContext *ctx, int width, int height)
{
    MADPair pair = { .work = s };

    ff_mad_work_free(s);
    s->width       = width;
    s->height      = height;
    // in odd widths, the release has the zero frequency between two columns
    s->shares_filters = width % 2 == 0;
    s->nb_tiles    = DIV_UP(width / 2 + 1, MAD_LANES);
    s->nb_bands    = DIV_UP(height, MAD_BAND);
    // rows are shifted, so that a column is not in one set of the cache; a tile may reach beyond
    s->row_stride  = FFALIGN(width, 64) + MAD_LANES;
    s->cell_stride = width / MAD_STEP;
    s->nb_jobs     = ff_filter_get_nb_threads(ctx);

    s->row     = ff_mad_tx_alloc(width);
    s->column  = ff_mad_tx_alloc(height);
    s->scratch = av_calloc(s->nb_jobs, sizeof(*s->scratch));
    s->lacks_memory = !s->row || !s->column || !s->scratch;
    for (int job = 0; !s->lacks_memory && job < s->nb_jobs; job++)
        take_scratch(s, &s->scratch[job]);
    take_planes(s);
    if (s->lacks_memory) {
        ff_mad_work_free(s);
        return AVERROR(ENOMEM);
    }
    run_all(ctx, &pair, filter_tile, s->nb_tiles);
    for (int i = 0; i < MAD_SCALES; i++)
        s->passed[i] = DIV_UP(ff_mad_passed(i, width), MAD_LANES);
    return 0;
}

void ff_mad_work_free(MADWork *s)
{
    ff_mad_tx_free(&s->row);
    ff_mad_tx_free(&s->column);
    av_freep(&s->scratch);
    for (int i = 0; i < s->nb_memory; i++)
        av_free(s->memory[i]);
    av_freep(&s->memory);
    *s = (MADWork){ 0 };
}
