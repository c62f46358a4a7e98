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
 * The detection stage of MAD: local squared errors, weighted by how little the
 * contrast of the reference masks them
 */

#include <math.h>
#include <string.h>

#include "libavutil/common.h"

#include "mad_work.h"

/// The window of the squared error reaches this far to the left and up.
#define WINDOW_BEFORE (MAD_BLOCK / 2 - 1)

/// Lightness of medium gray: it is subtracted before the transforms, so that they round less.
#define MEDIUM 1.

/// Transform rows of the reference's lightness, or of the main picture's minus the reference's.
static void lightness_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s = pair->work;
    const double *main = scratch->sample[PAIR_MAIN], *reference = scratch->sample[PAIR_REFERENCE];

    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            for (int p = pair->index; p < PAIR_NB; p++)
                ff_mad_get_row(scratch->sample[p], &pair->picture[p],
                               pair->picture[p].tables->lightness,
                               mad_lane_row(s, band, i, lane), s->width);
            for (int x = 0; x < s->width; x++) {
                scratch->line[0][x].v[0][lane] = (pair->index == PAIR_MAIN ? main[x] : MEDIUM) -
                                                 reference[x];
                scratch->line[0][x].v[1][lane] = 0;
            }
        }
        ff_mad_tx_row(s, scratch, band, i);
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
            ff_mad_gather(scratch->line[0], s, x, 1, MAD_LANES);
        else
            ff_mad_gather(scratch->line[0], s, s->width - x, -1, mad_right_end(s, tile));
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
            ff_mad_scatter(s, line, x, 1, 0, MAD_LANES);
        else
            ff_mad_scatter_right(s, line, tile);
    }
}

/// Transform rows back, and compute the moments of the reference or of the negative error.
static void contrast_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s   = pair->work;
    const float medium = pair->index == PAIR_MAIN ? 0
                                                  : MEDIUM * ff_mad_csf(0, 0, s->height, s->width);

    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row, scratch->line, mad_work_row(s, band, i));

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++)
                scratch->band[i][x * MAD_LANES + lane] = medium - line[x].v[1][lane];
    }
    ff_mad_cells(s, pair->index, band, scratch->band);
}

static void mask_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s  = pair->work;
    const int columns = mad_nb_blocks(s->width);
    const float *error = ff_mad_block_row(s, scratch, 2, PAIR_MAIN, y)      + s->cell_stride;
    const float *mean  = ff_mad_block_row(s, scratch, 3, PAIR_REFERENCE, y);
    float *sub_block[3];

    for (int i = 0; i < 3; i++) {
        sub_block[i] = scratch->row[4 + i];
        ff_mad_merge_row(s, scratch->row[0], mad_cell_row(s, PAIR_REFERENCE, y + i),
                         mad_cell_row(s, PAIR_REFERENCE, y + i + 1), MAD_CELL_SAMPLES);
        ff_mad_merge_row(s, sub_block[i], scratch->row[0], scratch->row[0] + 1,
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
        ff_mad_get_row(scratch->sample[p], &pair->picture[p], pair->picture[p].tables->value,
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
    const float *mask = mad_row_of_blocks(s, s->mask, y);
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
    s->sum[0][y] = ff_mad_sum_row(row, s->width);
}

void ff_mad_detect(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s = pair->work;

    for (pair->index = 0; pair->index < PAIR_NB; pair->index++) {
        ff_mad_run(ctx, pair, lightness_band, s->nb_bands);
        ff_mad_run(ctx, pair, csf_tile,       s->nb_tiles);
        ff_mad_run(ctx, pair, contrast_band,  s->nb_bands);
    }
    ff_mad_run(ctx, pair, mask_row,      mad_nb_blocks(s->height));
    ff_mad_run(ctx, pair, error_row,     s->height);
    ff_mad_run(ctx, pair, detection_row, s->height - MAD_BORDER_BEGIN - MAD_BORDER_END);
}
