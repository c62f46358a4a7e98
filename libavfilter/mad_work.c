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

#include "mad_work.h"

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

void ff_mad_get_row(double *dst, const MADPicture *picture, const double *table, int y, int width)
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

void ff_mad_run(AVFilterContext *ctx, MADPair *pair, MADFunction *run, int nb)
{
    pair->run = run;
    pair->nb  = nb;
    ff_filter_execute(ctx, run_slice, pair, NULL, pair->work->nb_jobs);
}

// ---- transforms ----

void ff_mad_tx_row(const MADWork *s, const MADScratch *scratch, int band, int i)
{
    memcpy(mad_work_row(s, band, i), ff_mad_tx(s->row, scratch->line, scratch->line[0]),
           s->width * sizeof(*s->work));
}

void ff_mad_gather(MADLanes *dst, const MADWork *s, int x, int step, int end)
{
    for (int band = 0; band < s->nb_bands; band++, dst += MAD_BAND)
        for (int i = 0; i < MAD_STEP; i++) {
            const MADLanes *src = mad_work_row(s, band, i) + x;

            for (int j = 0; j < end; j++)
                for (int part = 0; part < 2; part++)
                    for (int lane = 0; lane < MAD_LANES; lane++)
                        dst[MAD_STEP * lane + i].v[part][j] = src[step * j].v[part][lane];
        }
}

void ff_mad_scatter(const MADWork *s, const MADLanes *src, int x, int step, int begin, int end)
{
    for (int band = 0; band < s->nb_bands; band++, src += MAD_BAND)
        for (int i = 0; i < MAD_STEP; i++) {
            MADLanes *dst = mad_work_row(s, band, i) + x;

            for (int j = begin; j < end; j++)
                for (int part = 0; part < 2; part++)
                    for (int lane = 0; lane < MAD_LANES; lane++)
                        dst[step * j].v[part][lane] = src[MAD_STEP * lane + i].v[part][j];
        }
}

void ff_mad_scatter_right(const MADWork *s, const MADLanes *src, int tile)
{
    // there is no column s->width
    ff_mad_scatter(s, src, s->width - tile * MAD_LANES, -1, !tile, mad_right_end(s, tile));
}

// ---- moments ----

void ff_mad_cells(const MADWork *s, int picture, int band, float *const src[MAD_STEP])
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

void ff_mad_merge_row(const MADWork *s, float *restrict dst, const float *a, const float *b,
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

const float *ff_mad_block_row(const MADWork *s, const MADScratch *scratch, int i,
                              int picture, int y)
{
    float *dst = scratch->row[i], *a = scratch->row[0], *b = scratch->row[1];
    const float *cell[MAD_BLOCK / MAD_STEP];

    for (int j = 0; j < MAD_BLOCK / MAD_STEP; j++)
        cell[j] = mad_cell_row(s, picture, y + j);
    ff_mad_merge_row(s, a, cell[0], cell[1], MAD_CELL_SAMPLES);
    ff_mad_merge_row(s, b, cell[2], cell[3], MAD_CELL_SAMPLES);
    ff_mad_merge_row(s, dst, a, b, 2 * MAD_CELL_SAMPLES);
    ff_mad_merge_row(s, a, dst, dst + 1, 4 * MAD_CELL_SAMPLES);
    ff_mad_merge_row(s, dst, a, a + 2,   8 * MAD_CELL_SAMPLES);
    return dst;
}

// ---- sums ----

double ff_mad_sum_row(const float *row, int width)
{
    double sum = 0;

    for (int x = MAD_BORDER_BEGIN; x < width - MAD_BORDER_END; x++)
        sum += (double)row[x] * row[x];
    return sum;
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
    ff_mad_run(ctx, &pair, filter_tile, s->nb_tiles);
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
