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
 * The two stages of MAD on the CPU, and what they work in.
 */

#ifndef AVFILTER_MAD_STAGES_H
#define AVFILTER_MAD_STAGES_H

#include <stddef.h>

#include "libavutil/frame.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "filters.h"
#include "mad.h"
#include "mad_tx.h"
#include "pair_sync.h"

/// Rows that are transformed one after the other: cells of MAD_STEP rows, one for each lane.
#define MAD_BAND (MAD_STEP * MAD_LANES)

/// Scratch rows of a job.
#define NB_ROWS 7

/// The columns of the left half of a spectrum, and the columns that mirror them.
enum { LEFT, RIGHT, NB_SIDES };

/// Tables by the samples of an input.
typedef struct MADTables {
    int depth;
    MADRange range;
    double *value;
    double *lightness;
} MADTables;

/// What one job works in.
typedef struct MADScratch {
    MADLanes *line[2];                  ///< that are transformed
    float *band[MAD_STEP];              ///< samples of each lane's row
    double *sample[3];                  ///< of rows
    float *row[NB_ROWS];                ///< with a window, or with the moments of a row of cells
} MADScratch;

/**
 * Columns are in tiles: MAD_LANES columns side by side. Of spectra and filters only the tiles of
 * the left half are stored, since the right half of a real picture's spectrum mirrors the left one.
 */
typedef struct MADWork {
    int width, height;                  ///< that it is made for
    int nb_tiles;                       ///< of the left half
    int nb_bands;
    int shares_filters;                 ///< frequencies that mirror each other have one distance
    int passed[MAD_SCALES];             ///< tiles in which the filters of a scale are not 0
    ptrdiff_t row_stride;               ///< of work, in values
    int cell_stride;                    ///< of the moments of a row of cells
    int nb_jobs;
    MADTransform *row, *column;
    MADScratch *scratch;                ///< of each job
    void **memory;                      ///< all that take() has allocated
    int nb_memory;
    int lacks_memory;

    // in the frequency domain, by tiles
    float *csf;
    float *radial[NB_SIDES][MAD_SCALES];
    float *angular[NB_SIDES][MAD_ORIENTATIONS];
    MADLanes *spectrum[PAIR_NB];

    MADLanes *work;                     ///< transformed rows: each lane has a row
    float *error;                       ///< squared, and summed along rows; in the memory of work
    float *cell[PAIR_NB];           ///< rows of mean, m2, m3 and m4
    float *mask;                        ///< of each block
    float *appearance;                  ///< of each block
    double *sum[2];                     ///< HI and LO, of each row of the interior
} MADWork;

typedef struct MADPicture {
    const AVFrame *frame;
    const AVComponentDescriptor *luma;
    const MADTables *tables;
} MADPicture;

struct MADPair;

/// The work of a row, band or tile.
typedef void MADFunction(const struct MADPair *pair, const MADScratch *scratch, int i);

/// What the jobs of a pair are given.
typedef struct MADPair {
    const MADWork *work;
    MADPicture picture[PAIR_NB];
    int index;                          ///< of a picture
    int scale, orientation;
    MADFunction *run;
    int nb;                             ///< of rows, bands or tiles
} MADPair;

/// Allocate the memory, and compute the filters, for pictures of a size.
int ff_mad_work_alloc(MADWork *s, AVFilterContext *ctx, int width, int height);
void ff_mad_work_free(MADWork *s);

/// Make the tables for samples of a range and depth, unless they are there.
int ff_mad_tables_make(MADTables *tables, MADRange range, int depth);
void ff_mad_tables_free(MADTables *tables);

/// The detection stage: local squared errors, weighted by how little the contrast of the
/// reference masks them.
void ff_mad_detect(AVFilterContext *ctx, MADPair *pair);

/// The appearance stage: the change of the local statistics of the responses to log-Gabor filters.
void ff_mad_compare_appearance(AVFilterContext *ctx, MADPair *pair);

#endif /* AVFILTER_MAD_STAGES_H */
