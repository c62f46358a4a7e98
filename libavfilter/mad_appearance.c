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
 * The appearance stage of MAD: the change of the local statistics of the responses
 * to log-Gabor filters
 */

#include <math.h>
#include <string.h>

#include "mad_work.h"

/**
 * Transform the rows of a picture's values less one of them: the filters to come
 * have no zero frequency, and the responses of what is flat are zeros then.
 */
static int value_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADPair *pair = arg;
    const MADWork *s  = pair->work;
    const MADScratch *scratch = &s->scratch[jobnr];
    const MADPicture *picture = &pair->picture[pair->index];
    const double *table    = picture->tables->value;
    AVComplexDouble *line  = scratch->line[0];
    double *sample = scratch->sample[0][0], first;
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    ff_mad_get_row(&first, picture, table, 0, 1);
    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        ff_mad_get_row(sample, picture, table, y, s->width);
        for (int x = 0; x < s->width; x++)
            line[x] = (AVComplexDouble){ sample[x] - first, 0 };
        ff_mad_tx(scratch->row[0], s->work[pair->index] + y * s->row_stride, line);
    }
    return 0;
}

static int spectrum_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADPair *pair = arg;
    const MADWork *s  = pair->work;
    const MADScratch *scratch = &s->scratch[jobnr];
    const int end = mad_first_column(s, jobnr + 1, nb_jobs);

    for (int x = mad_first_column(s, jobnr, nb_jobs); x < end; x += COLUMNS) {
        const int columns = FFMIN(COLUMNS, s->width - x);

        ff_mad_gather(scratch->line, s->work[pair->index] + x, s->row_stride, columns, s->height);
        for (int i = 0; i < columns; i++)
            ff_mad_tx(scratch->column[0], s->spectrum[pair->index] + (x + i) * s->column_stride,
                      scratch->line[i]);
    }
    return 0;
}

/// Filter the spectra of both pictures, and transform their columns back.
static int response_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADPair *pair = arg;
    const MADWork *s  = pair->work;
    const MADScratch *scratch = &s->scratch[jobnr];
    AVComplexDouble *tmp   = scratch->line[COLUMNS];
    double *factor = scratch->padded;
    const int end  = mad_first_column(s, jobnr + 1, nb_jobs);

    for (int x = mad_first_column(s, jobnr, nb_jobs); x < end; x += COLUMNS) {
        const int columns = FFMIN(COLUMNS, s->width - x);

        for (int p = 0; p < NB_PICTURES; p++) {
            for (int i = 0; i < columns; i++) {
                const ptrdiff_t column = (x + i) * s->column_stride;
                const double *radial   = s->radial[pair->scale] + column;
                const double *angular  = s->angular[pair->orientation] + column;

                for (int y = 0; y < s->height; y++)
                    factor[y] = radial[y] * angular[y];
                mad_multiply(tmp, s->spectrum[p] + column, factor, s->height);
                ff_mad_tx(scratch->column[1], scratch->line[i], tmp);
            }
            ff_mad_scatter(s->work[p] + x, scratch->line, s->row_stride, columns, s->height);
        }
    }
    return 0;
}

/// Transform rows of responses back, to the moments of their magnitude.
static int response_cells(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADWork *s = ((const MADPair *)arg)->work;
    const MADScratch *scratch = &s->scratch[jobnr];
    AVComplexDouble *line  = scratch->line[0];
    const int columns = s->width / MAD_STEP, rows = s->height / MAD_STEP;
    const int end = ff_slice_pos(rows, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(rows, jobnr, nb_jobs); y < end; y++)
        for (int p = 0; p < NB_PICTURES; p++) {
            for (int i = 0; i < MAD_STEP; i++) {
                ff_mad_tx(scratch->row[1], line, s->work[p] + (MAD_STEP * y + i) * s->row_stride);
                for (int x = 0; x < s->width; x++)
                    scratch->sample[p][i][x] = sqrt(line[x].re * line[x].re + line[x].im * line[x].im);
            }
            ff_mad_cell_row(s->cell[p] + y * (ptrdiff_t)columns, scratch->sample[p], s->width);
        }
    return 0;
}

static int appearance_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADPair *pair = arg;
    const MADWork *s  = pair->work;
    const MADScratch *scratch = &s->scratch[jobnr];
    const double weight = ff_mad_weight(pair->scale);
    const int columns = mad_nb_blocks(s->width), rows = mad_nb_blocks(s->height);
    const int end = ff_slice_pos(rows, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(rows, jobnr, nb_jobs); y < end; y++) {
        const MADMoments *top[NB_PICTURES], *bottom[NB_PICTURES];

        for (int p = 0; p < NB_PICTURES; p++) {
            top[p]    = ff_mad_sub_block_row(s, scratch->block[p][0], p, y);
            bottom[p] = ff_mad_sub_block_row(s, scratch->block[p][1], p, y + MAD_SUB_BLOCK / MAD_STEP);
        }
        for (int x = 0; x < columns; x++) {
            double v[NB_PICTURES][3];

            for (int p = 0; p < NB_PICTURES; p++) {
                const MADMoments m = mad_block_moments(top[p] + x, bottom[p] + x);

                mad_describe(v[p], m.m2, m.m3, m.m4);
            }
            s->appearance[y * (ptrdiff_t)columns + x] += weight * mad_difference(v[MAIN], v[REFERENCE], 1);
        }
    }
    return 0;
}

static int appearance_sums(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADPair *pair = arg;
    const MADWork *s  = pair->work;
    double *row   = s->scratch[jobnr].sample[0][0];
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        for (int x = 0; x < s->width; x++)
            row[x] = mad_block_value(s, s->appearance, x, y);
        s->sum[1][y] = ff_mad_sum_row(row, s->width);
        if (pair->map[1])
            ff_mad_write_map_row(pair->map[1], y, row, MAD_MAP_LO_SCALE, s->width);
    }
    return 0;
}

void ff_mad_compare_appearance(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s = pair->work;
    const size_t nb = (size_t)mad_nb_blocks(s->width) * mad_nb_blocks(s->height);

    memset(s->appearance, 0, nb * sizeof(*s->appearance));
    for (pair->index = 0; pair->index < NB_PICTURES; pair->index++) {
        ff_filter_execute(ctx, value_rows,       pair, NULL, s->nb_jobs);
        ff_filter_execute(ctx, spectrum_columns, pair, NULL, s->nb_jobs);
    }
    for (pair->scale = 0; pair->scale < MAD_SCALES; pair->scale++)
        for (pair->orientation = 0; pair->orientation < MAD_ORIENTATIONS; pair->orientation++) {
            ff_filter_execute(ctx, response_columns, pair, NULL, s->nb_jobs);
            ff_filter_execute(ctx, response_cells,   pair, NULL, s->nb_jobs);
            ff_filter_execute(ctx, appearance_rows,  pair, NULL, s->nb_jobs);
        }
    ff_filter_execute(ctx, appearance_sums, pair, NULL, s->nb_jobs);
}
