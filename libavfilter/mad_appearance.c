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
 * Transform a row of a picture's values less one of them: the filters to come
 * have no zero frequency, and the responses of what is flat are zeros then.
 */
static void value_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    const MADPicture *picture = &pair->picture[pair->index];
    const double *table   = picture->tables->value;
    AVComplexDouble *line = scratch->line[0];
    double *sample = scratch->sample[0][0], first;

    ff_mad_get_row(&first, picture, table, 0, 1);
    ff_mad_get_row(sample, picture, table, y, s->width);
    for (int x = 0; x < s->width; x++)
        line[x] = (AVComplexDouble){ sample[x] - first, 0 };
    ff_mad_tx(scratch->row[0], s->work[pair->index] + y * s->row_stride, line);
}

static void spectrum_columns(const MADPair *pair, const MADScratch *scratch, int x)
{
    const MADWork *s  = pair->work;
    const int columns = FFMIN(COLUMNS, s->width - x);

    ff_mad_gather(scratch->line, s->work[pair->index] + x, s->row_stride, columns, s->height);
    for (int i = 0; i < columns; i++)
        ff_mad_tx(scratch->column[0], s->spectrum[pair->index] + (x + i) * s->column_stride,
                  scratch->line[i]);
}

/// Filter the spectra of both pictures, and transform their columns back.
static void response_columns(const MADPair *pair, const MADScratch *scratch, int x)
{
    const MADWork *s = pair->work;
    AVComplexDouble *tmp = scratch->line[COLUMNS];
    double *factor = scratch->padded;
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

/// Transform rows of responses back, to the moments of their magnitude.
static void response_cells(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    AVComplexDouble *line = scratch->line[0];

    for (int p = 0; p < NB_PICTURES; p++) {
        for (int i = 0; i < MAD_STEP; i++) {
            ff_mad_tx(scratch->row[1], line, s->work[p] + (MAD_STEP * y + i) * s->row_stride);
            for (int x = 0; x < s->width; x++)
                scratch->sample[p][i][x] = sqrt(line[x].re * line[x].re + line[x].im * line[x].im);
        }
        ff_mad_cell_row(s, p, y, scratch->sample[p]);
    }
}

static void appearance_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s    = pair->work;
    const double weight = ff_mad_weight(pair->scale);
    const int columns   = mad_nb_blocks(s->width);
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
        s->appearance[y * (ptrdiff_t)columns + x] +=
            weight * mad_difference(v[MAIN], v[REFERENCE], 1);
    }
}

static void sum_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    double *row = scratch->sample[0][0];

    for (int x = 0; x < s->width; x++)
        row[x] = mad_block_value(s, s->appearance, x, y);
    s->sum[1][y] = ff_mad_sum_row(row, s->width);
    if (pair->map[1])
        ff_mad_write_map_row(pair->map[1], y, row, MAD_MAP_LO_SCALE, s->width);
}

void ff_mad_compare_appearance(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s  = pair->work;
    const int nb_rows = mad_nb_blocks(s->height);

    memset(s->appearance, 0, (size_t)mad_nb_blocks(s->width) * nb_rows * sizeof(*s->appearance));
    for (pair->index = 0; pair->index < NB_PICTURES; pair->index++) {
        ff_mad_run(ctx, pair, value_row,        s->height, 1);
        ff_mad_run(ctx, pair, spectrum_columns, s->width,  COLUMNS);
    }
    for (pair->scale = 0; pair->scale < MAD_SCALES; pair->scale++)
        for (pair->orientation = 0; pair->orientation < MAD_ORIENTATIONS; pair->orientation++) {
            ff_mad_run(ctx, pair, response_columns, s->width,             COLUMNS);
            ff_mad_run(ctx, pair, response_cells,   s->height / MAD_STEP, 1);
            ff_mad_run(ctx, pair, appearance_row,   nb_rows,              1);
        }
    ff_mad_run(ctx, pair, sum_row, s->height, 1);
}
