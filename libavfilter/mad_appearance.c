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

    ff_mad_get_row(&first, picture, table, 0, 1);
    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            const int y = mad_lane_row(s, band, i, lane);

            ff_mad_get_row(above, picture, table, (y ? y : h) - 1, w);
            ff_mad_get_row(here,  picture, table, y, w);
            ff_mad_get_row(below, picture, table, y + 1 < h ? y + 1 : 0, w);
            for (int x = 0; x < w; x++) {
                const double left = here[(x ? x : w) - 1], right = here[x + 1 < w ? x + 1 : 0];
                const double laplacian = 4 * here[x] - (above[x] + below[x]) - (left + right);

                scratch->line[0][x].v[0][lane] = MAD_PLAIN * (here[x] - first) + laplacian;
                scratch->line[0][x].v[1][lane] = 0;
            }
        }
        ff_mad_tx_row(s, scratch, band, i);
    }
}

static void spectrum_tile(const MADPair *pair, const MADScratch *scratch, int tile)
{
    const MADWork *s = pair->work;

    ff_mad_gather(scratch->line[0], s, tile * MAD_LANES, 1, MAD_LANES);
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
            ff_mad_scatter(s, line, tile * MAD_LANES, 1, 0, MAD_LANES);
        else
            ff_mad_scatter_right(s, line, tile);
    }
}

/// Transform rows of responses back, and compute the moments of their magnitudes.
static void response_band(const MADPair *pair, const MADScratch *scratch, int band)
{
    const MADWork *s = pair->work;

    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row, scratch->line, mad_work_row(s, band, i));
        float *magnitude = scratch->band[i];

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++)
                magnitude[x * MAD_LANES + lane] = sqrtf(line[x].v[0][lane] * line[x].v[0][lane] +
                                                        line[x].v[1][lane] * line[x].v[1][lane]);
    }
    ff_mad_cells(s, pair->index, band, scratch->band);
}

static void appearance_row(const MADPair *pair, const MADScratch *scratch, int y)
{
    const MADWork *s   = pair->work;
    const float weight = ff_mad_weight(pair->scale);
    const int columns  = mad_nb_blocks(s->width), stride = s->cell_stride;
    const float *main  = ff_mad_block_row(s, scratch, 2, PAIR_MAIN, y);
    const float *reference = ff_mad_block_row(s, scratch, 3, PAIR_REFERENCE, y);
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
    const float *block = mad_row_of_blocks(s, s->appearance, y);
    float *row         = scratch->row[0];

    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
        row[x] = block[x / MAD_STEP];
    s->sum[1][y] = ff_mad_sum_row(row, s->width);
}

void ff_mad_compare_appearance(AVFilterContext *ctx, MADPair *pair)
{
    const MADWork *s  = pair->work;
    const int nb_rows = mad_nb_blocks(s->height);

    memset(s->appearance, 0, (size_t)mad_nb_blocks(s->width) * nb_rows * sizeof(*s->appearance));
    for (pair->index = 0; pair->index < PAIR_NB; pair->index++) {
        ff_mad_run(ctx, pair, value_band,    s->nb_bands);
        ff_mad_run(ctx, pair, spectrum_tile, s->nb_tiles);
    }
    for (pair->scale = 0; pair->scale < MAD_SCALES; pair->scale++)
        for (pair->orientation = 0; pair->orientation < MAD_ORIENTATIONS; pair->orientation++) {
            for (pair->index = 0; pair->index < PAIR_NB; pair->index++) {
                ff_mad_run(ctx, pair, response_tile, s->nb_tiles);
                ff_mad_run(ctx, pair, response_band, s->nb_bands);
            }
            ff_mad_run(ctx, pair, appearance_row, nb_rows);
        }
    ff_mad_run(ctx, pair, sum_row, s->height - MAD_BORDER_BEGIN - MAD_BORDER_END);
}
