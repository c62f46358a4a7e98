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
 * The detection stage of MAD: local squared errors, weighed by how far the
 * contrast of the reference masks them
 */

#include <math.h>
#include <string.h>

#include "libavutil/common.h"

#include "mad_work.h"

/// The window of the squared error reaches this far to the left and up.
#define WINDOW_BEFORE (MAD_BLOCK / 2 - 1)

/**
 * Transform a row of both pictures' lightness, as one complex picture, since the filter to come is
 * symmetric.
 */
static void lightness_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    AVComplexDouble *line = scratch->line[0];

    for (int i = 0; i < NB_PICTURES; i++)
        ff_mad_get_row(scratch->sample[i][0], &pair->picture[i],
                       pair->picture[i].tables->lightness, y, s->width);
    for (int x = 0; x < s->width; x++)
        line[x] = (AVComplexDouble){ scratch->sample[REFERENCE][0][x],
                                     scratch->sample[MAIN][0][x] };
    ff_mad_tx(scratch->row[0], s->work[0] + y * s->row_stride, line);
}

/// Transform columns, filter, and transform them back.
static void csf_columns(const MADPair *pair, const MADScratch *scratch, int x)
{
    const MADWork *s = pair->work;
    AVComplexDouble *tmp = scratch->line[COLUMNS];
    const int columns = FFMIN(COLUMNS, s->width - x);

    ff_mad_gather(scratch->line, s->work[0] + x, s->row_stride, columns, s->height);
    for (int i = 0; i < columns; i++) {
        ff_mad_tx(scratch->column[0], tmp, scratch->line[i]);
        mad_multiply(tmp, tmp, s->csf + (x + i) * s->column_stride, s->height);
        ff_mad_tx(scratch->column[1], scratch->line[i], tmp);
    }
    ff_mad_scatter(s->work[0] + x, scratch->line, s->row_stride, columns, s->height);
}

/// Transform rows of lightness back, to the moments of the reference and the error.
static void contrast_cells(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    AVComplexDouble *line = scratch->line[0];

    for (int i = 0; i < MAD_STEP; i++) {
        ff_mad_tx(scratch->row[1], line, s->work[0] + (MAD_STEP * y + i) * s->row_stride);
        for (int x = 0; x < s->width; x++) {
            scratch->sample[REFERENCE][i][x] = line[x].re;
            scratch->sample[MAIN][i][x]      = line[x].im - line[x].re;
        }
    }
    for (int i = 0; i < NB_PICTURES; i++)
        ff_mad_cell_row(s, i, y, scratch->sample[i]);
}

static void mask_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s  = pair->work;
    const int columns = mad_nb_blocks(s->width);
    const MADMoments *reference[3], *error[3];

    for (int i = 0; i < 3; i++) {
        reference[i] = ff_mad_sub_block_row(s, scratch->block[REFERENCE][i], REFERENCE, y + i);
        error[i]     = ff_mad_sub_block_row(s, scratch->block[MAIN][i],      MAIN,      y + i);
    }
    for (int x = 0; x < columns; x++) {
        const MADMoments whole = mad_block_moments(error[0] + x, error[2] + x);
        MADMoments least = reference[0][x];

        for (int i = 0; i < mad_nb_sub_blocks(y, s->height); i++)
            for (int j = 0; j < mad_nb_sub_blocks(x, s->width); j++)
                if (reference[i][x + j].m2 < least.m2)
                    least = reference[i][x + j];
        s->mask[y * (ptrdiff_t)columns + x] =
            mad_visibility(mad_block_moments(reference[0] + x, reference[2] + x).mean,
                           least.m2 / (MAD_SUB_SAMPLES - 1), whole.m2 / (MAD_BLOCK_SAMPLES - 1));
    }
}

/// Place of a sample beyond the border: that is a mirror behind the last one.
static int mirrored(int i, int size)
{
    return i < 0 ? -1 - i : i >= size ? 2 * size - 1 - i : i;
}

/// Squared differences, summed over a row's windows.
static void error_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    const double *reference = scratch->sample[REFERENCE][0], *main = scratch->sample[MAIN][0];
    double *sum = scratch->padded;

    for (int i = 0; i < NB_PICTURES; i++)
        ff_mad_get_row(scratch->sample[i][0], &pair->picture[i], pair->picture[i].tables->value,
                       y, s->width);
    for (int i = 0; i < s->width + MAD_BLOCK - 1; i++) {
        int x    = mirrored(i - WINDOW_BEFORE, s->width);
        double d = main[x] - reference[x];

        sum[i] = d * d;
    }
    for (int n = 1; n < MAD_BLOCK; n *= 2)
        for (int i = 0; i < s->width + MAD_BLOCK - 2 * n; i++)
            sum[i] += sum[i + n];
    memcpy(s->error + y * (ptrdiff_t)s->width, sum, s->width * sizeof(*sum));
}

static void detection_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s = pair->work;
    double *row = scratch->sample[0][0];

    memset(row, 0, s->width * sizeof(*row));
    for (int i = 0; i < MAD_BLOCK; i++) {
        const double *error = s->error +
            mirrored(y - WINDOW_BEFORE + i, s->height) * (ptrdiff_t)s->width;

        for (int x = 0; x < s->width; x++)
            row[x] += error[x];
    }
    for (int x = 0; x < s->width; x++)
        row[x] *= mad_block_value(s, s->mask, x, y) / (MAD_BLOCK * MAD_BLOCK);
    s->sum[0][y] = ff_mad_sum_row(row, s->width);

    if (pair->map[0]) {
        for (int x = 0; x < s->width; x++)
            row[x] = sqrt(row[x]);
        ff_mad_write_map_row(pair->map[0], y, row, MAD_MAP_HI_SCALE, s->width);
    }
}

void ff_mad_detect(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s = pair->work;

    ff_mad_run(ctx, pair, lightness_row,  s->height,                1);
    ff_mad_run(ctx, pair, csf_columns,    s->width,                 COLUMNS);
    ff_mad_run(ctx, pair, contrast_cells, s->height / MAD_STEP,     1);
    ff_mad_run(ctx, pair, mask_row,       mad_nb_blocks(s->height), 1);
    ff_mad_run(ctx, pair, error_row,      s->height,                1);
    ff_mad_run(ctx, pair, detection_row,  s->height,                1);
}
