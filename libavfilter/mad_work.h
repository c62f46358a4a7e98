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
 * What mad works in and its stages share: the description of a picture, memory and
 * filters for a size, transforms of rows and columns, and moments.
 */

#ifndef AVFILTER_MAD_WORK_H
#define AVFILTER_MAD_WORK_H

#include <stddef.h>

#include "libavutil/frame.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "filters.h"
#include "mad.h"
#include "mad_tx.h"

/// Columns that are transformed together, so that whole cache lines are moved.
#define COLUMNS 8

enum { REFERENCE, MAIN, NB_PICTURES };

/// From the samples of an input to values and their lightness.
typedef struct MADTables {
    int depth;
    MADRange range;
    double *value;
    double *lightness;
} MADTables;

/// What one job works in.
typedef struct MADScratch {
    MADTransform *row[2], *column[2];   ///< forward, inverse
    AVComplexDouble *line[COLUMNS + 1];
    double *sample[NB_PICTURES][MAD_STEP];  ///< of a row of cells
    double *padded;                     ///< a row with its window
    MADMoments *block[NB_PICTURES][3];  ///< rows of sub-blocks
} MADScratch;

typedef struct MADWork {
    int width, height;                  ///< that it is made for
    ptrdiff_t row_stride;               ///< of work, in values
    ptrdiff_t column_stride;            ///< of spectra and filters, in values
    int nb_jobs;
    MADScratch *scratch;                ///< of each job
    void **memory;                      ///< all that was taken, to be freed
    int nb_memory;
    int lacks_memory;

    // in the frequency domain, by columns
    double *csf;
    double *radial[MAD_SCALES];
    double *angular[MAD_ORIENTATIONS];
    AVComplexDouble *spectrum[NB_PICTURES];

    AVComplexDouble *work[NB_PICTURES]; ///< half transformed, by rows
    MADMoments *cell[NB_PICTURES];      ///< pairs of cells, side by side
    double *error;                      ///< squared, sums of a row's windows
    double *mask;                       ///< of each block
    double *appearance;                 ///< of each block
    double *sum[2];                     ///< HI and LO, of each row
} MADWork;

typedef struct MADPicture {
    const AVFrame *frame;
    const AVComponentDescriptor *luma;
    const MADTables *tables;
} MADPicture;

struct MADPair;

/// The work of row y, or of the group of columns that begins at y.
typedef void MADRowFunction(const struct MADPair *pair, const MADScratch *scratch, int y);

/// What the jobs of a pair are given.
typedef struct MADPair {
    const MADWork *work;
    MADPicture picture[NB_PICTURES];
    int index;                          ///< of a picture
    int scale, orientation;
    MADRowFunction *run;                ///< for rows 0, step, 2 * step... below nb
    int nb, step;
    AVFrame *map[2];                    ///< HI and LO, NULL if not wanted
} MADPair;

/// Do it for rows or columns 0, step, 2 * step... below nb, in all threads.
void ff_mad_run(AVFilterContext *ctx, MADPair *pair, MADRowFunction *run, int nb, int step);

/// Be ready for pictures of a size.
int ff_mad_work_alloc(MADWork *s, AVFilterContext *ctx, int width, int height);
void ff_mad_work_free(MADWork *s);

/// Be ready for samples of a range and depth.
int ff_mad_tables_make(MADTables *tables, MADRange range, int depth);
void ff_mad_tables_free(MADTables *tables);

/// Look up a row of samples.
void ff_mad_get_row(double *dst, const MADPicture *picture, const double *table, int y, int width);

/// Read columns from rows.
void ff_mad_gather(AVComplexDouble *const *dst, const AVComplexDouble *src,
                   ptrdiff_t stride, int columns, int rows);

/// Write columns to rows.
void ff_mad_scatter(AVComplexDouble *dst, AVComplexDouble *const *src,
                    ptrdiff_t stride, int columns, int rows);

static inline void mad_multiply(AVComplexDouble *dst, const AVComplexDouble *src,
                                const double *factor, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = (AVComplexDouble){ src[i].re * factor[i], src[i].im * factor[i] };
}

/// Make row y of a picture's cells, each merged with its right neighbour.
void ff_mad_cell_row(const MADWork *s, int picture, int y, double *const row[MAD_STEP]);

/// Sub-blocks that begin in row y of cells.
const MADMoments *ff_mad_sub_block_row(const MADWork *s, MADMoments *dst, int picture, int y);

/// The block of which top and bottom are the left sub-blocks.
static inline MADMoments mad_block_moments(const MADMoments *top, const MADMoments *bottom)
{
    const int right = MAD_SUB_BLOCK / MAD_STEP;

    return mad_merge(mad_merge(top[0],    top[right],    MAD_SUB_SAMPLES),
                     mad_merge(bottom[0], bottom[right], MAD_SUB_SAMPLES), 2 * MAD_SUB_SAMPLES);
}

/// Value of the block that begins in a sample's cell, 0 if there is none.
static inline double mad_block_value(const MADWork *s, const double *block, int x, int y)
{
    const int columns = mad_nb_blocks(s->width), rows = mad_nb_blocks(s->height);

    x /= MAD_STEP;
    y /= MAD_STEP;
    return x < columns && y < rows ? block[y * (ptrdiff_t)columns + x] : 0;
}

/// Sum of squares of a row's interior.
double ff_mad_sum_row(const double *row, int width);

void ff_mad_write_map_row(AVFrame *map, int y, const double *value, int scale, int width);

/// The detection stage, and the appearance stage, of a pair.
void ff_mad_detect(AVFilterContext *ctx, MADPair *pair);
void ff_mad_compare_appearance(AVFilterContext *ctx, MADPair *pair);

#endif /* AVFILTER_MAD_WORK_H */
