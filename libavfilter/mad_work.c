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
    const int nb  = (pair->nb + pair->step - 1) / pair->step;
    const int end = ff_slice_pos(nb, jobnr + 1, nb_jobs);

    for (int i = ff_slice_pos(nb, jobnr, nb_jobs); i < end; i++)
        pair->run(pair, &pair->work->scratch[jobnr], i * pair->step);
    return 0;
}

void ff_mad_run(AVFilterContext *ctx, MADPair *pair, MADRowFunction *run, int nb, int step)
{
    pair->run  = run;
    pair->nb   = nb;
    pair->step = step;
    ff_filter_execute(ctx, run_slice, pair, NULL, pair->work->nb_jobs);
}

// ---- transforms ----

void ff_mad_gather(AVComplexDouble *const *dst, const AVComplexDouble *src,
                   ptrdiff_t stride, int columns, int rows)
{
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            dst[x][y] = src[y * stride + x];
}

void ff_mad_scatter(AVComplexDouble *dst, AVComplexDouble *const *src,
                    ptrdiff_t stride, int columns, int rows)
{
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            dst[y * stride + x] = src[x][y];
}

// ---- moments ----

static MADMoments cell_moments(double *const row[MAD_STEP], int x)
{
    double v[MAD_CELL_SAMPLES];

    for (int i = 0; i < MAD_CELL_SAMPLES; i++)
        v[i] = row[i / MAD_STEP][x + i % MAD_STEP];
    return mad_cell_moments(v);
}

void ff_mad_cell_row(const MADWork *s, int picture, int y, double *const row[MAD_STEP])
{
    const int columns = s->width / MAD_STEP;
    MADMoments *dst = s->cell[picture] + y * (ptrdiff_t)columns;
    MADMoments last = cell_moments(row, 0);

    for (int i = 0; i < columns - 1; i++) {
        MADMoments next = cell_moments(row, MAD_STEP * (i + 1));

        dst[i] = mad_merge(last, next, MAD_STEP * MAD_STEP);
        last   = next;
    }
}

const MADMoments *ff_mad_sub_block_row(const MADWork *s, MADMoments *dst, int picture, int y)
{
    const int stride   = s->width / MAD_STEP;
    const MADMoments *row = s->cell[picture] + y * (ptrdiff_t)stride;

    for (int i = 0; i < stride - 1; i++)
        dst[i] = mad_merge(row[i], row[i + stride], MAD_SUB_BLOCK * MAD_STEP);
    return dst;
}

// ---- maps ----

double ff_mad_sum_row(const double *row, int width)
{
    double sum = 0;

    for (int x = MAD_BORDER_BEGIN; x < width - MAD_BORDER_END; x++)
        sum += row[x] * row[x];
    return sum;
}

void ff_mad_write_map_row(AVFrame *map, int y, const double *value, int scale, int width)
{
    uint16_t *dst = (uint16_t *)(map->data[0] + y * (ptrdiff_t)map->linesize[0]);

    for (int x = 0; x < width; x++)
        dst[x] = lrint(FFMIN(value[x] * scale, UINT16_MAX));
}

// ---- memory and filters for a size ----

/// Compute the filters, with the factor that transforms there and back need.
static void filter_column(const MADPair *pair, const MADScratch *scratch, int x)
{
    const MADWork *s = pair->work;
    const int w = s->width, h = s->height;
    const double factor = 1. / ((double)w * h);
    const double step   = ff_mad_radial_distance(1, 1, 1, h, w) -
                          ff_mad_radial_distance(0, 1, 1, h, w);

    for (int y = 0; y < h; y++) {
        const ptrdiff_t i   = x * s->column_stride + y;
        const double radial = ff_mad_radial_distance(0, y, x, h, w);
        const double angle  = ff_mad_angle(y, x, h, w);

        s->csf[i] = ff_mad_csf(y, x, h, w) * factor;
        for (int j = 0; j < MAD_SCALES; j++) {
            const double distance = radial + j * step;

            s->radial[j][i] = x || y ? mad_gain(distance * distance) * factor : 0;
        }
        for (int j = 0; j < MAD_ORIENTATIONS; j++) {
            const double distance = mad_turn(angle, j * MAD_ANGLE_STEP);

            s->angular[j][i] = mad_gain(distance * distance);
        }
    }
}

/**
 * Make the CSF symmetric. Only the real part of what it yields is used, and that
 * is what its symmetric part yields.
 */
static void symmetric_column(const MADPair *pair, const MADScratch *scratch, int x)
{
    const MADWork *s = pair->work;
    const int w = s->width, h = s->height;

    for (int y = 0; y < h; y++) {
        double *one   = s->csf + x           * s->column_stride + y;
        double *other = s->csf + (w - x) % w * s->column_stride + (h - y) % h;

        *one = *other = (*one + *other) / 2;
    }
}

/// Take memory that ff_mad_work_free() gives back. Once there was none, s->lacks_memory is set.
static void *take(MADWork *s, size_t nb, size_t size)
{
    void *memory = av_malloc_array(nb, size);

    if (memory && av_dynarray_add_nofree(&s->memory, &s->nb_memory, memory) < 0)
        av_freep(&memory);
    s->lacks_memory |= !memory;
    return memory;
}

#define TAKE(dst, nb) ((dst) = take(s, nb, sizeof(*(dst))))

static void take_scratch(MADWork *s, MADScratch *scratch)
{
    const int longest = FFMAX(s->width, s->height);

    for (int i = 0; i < 2; i++) {
        scratch->row[i]    = ff_mad_tx_alloc(s->width,  i);
        scratch->column[i] = ff_mad_tx_alloc(s->height, i);
        s->lacks_memory   |= !scratch->row[i] || !scratch->column[i];
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->line); i++)
        TAKE(scratch->line[i], longest);
    for (int p = 0; p < NB_PICTURES; p++) {
        for (int i = 0; i < MAD_STEP; i++)
            TAKE(scratch->sample[p][i], s->width);
        for (int i = 0; i < FF_ARRAY_ELEMS(scratch->block[p]); i++)
            TAKE(scratch->block[p][i], s->width / MAD_STEP);
    }
    TAKE(scratch->padded, longest + MAD_BLOCK);
}

static void take_planes(MADWork *s)
{
    const size_t row_size = s->row_stride * s->height, column_size = s->column_stride * s->width;
    const size_t cells    = (size_t)(s->width / MAD_STEP) * (s->height / MAD_STEP);
    const size_t blocks   = (size_t)mad_nb_blocks(s->width) * mad_nb_blocks(s->height);

    TAKE(s->csf, column_size);
    for (int i = 0; i < MAD_SCALES; i++)
        TAKE(s->radial[i], column_size);
    for (int i = 0; i < MAD_ORIENTATIONS; i++)
        TAKE(s->angular[i], column_size);
    for (int p = 0; p < NB_PICTURES; p++) {
        TAKE(s->spectrum[p], column_size);
        TAKE(s->work[p], row_size);
        TAKE(s->cell[p], cells);
        TAKE(s->sum[p], s->height);
    }
    TAKE(s->error, (size_t)s->width * s->height);
    TAKE(s->mask, blocks);
    TAKE(s->appearance, blocks);
}

int ff_mad_work_alloc(MADWork *s, AVFilterContext *ctx, int width, int height)
{
    MADPair pair = { .work = s };

    ff_mad_work_free(s);
    s->width         = width;
    s->height        = height;
    // aligned for av_tx, and columns of cache lines not all in one set
    s->row_stride    = FFALIGN(width,  4) + 4;
    s->column_stride = FFALIGN(height, 4);
    s->nb_jobs       = ff_filter_get_nb_threads(ctx);

    s->scratch = av_calloc(s->nb_jobs, sizeof(*s->scratch));
    for (int job = 0; s->scratch && job < s->nb_jobs; job++)
        take_scratch(s, &s->scratch[job]);
    take_planes(s);
    if (!s->scratch || s->lacks_memory) {
        ff_mad_work_free(s);
        return AVERROR(ENOMEM);
    }
    ff_mad_run(ctx, &pair, filter_column,    width,         1);
    ff_mad_run(ctx, &pair, symmetric_column, width / 2 + 1, 1);
    return 0;
}

void ff_mad_work_free(MADWork *s)
{
    for (int job = 0; s->scratch && job < s->nb_jobs; job++)
        for (int i = 0; i < 2; i++) {
            ff_mad_tx_free(&s->scratch[job].row[i]);
            ff_mad_tx_free(&s->scratch[job].column[i]);
        }
    av_freep(&s->scratch);
    for (int i = 0; i < s->nb_memory; i++)
        av_free(s->memory[i]);
    av_freep(&s->memory);
    *s = (MADWork){ 0 };
}
