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
 * Most Apparent Distortion (MAD): full-reference quality of the luma of each frame
 *
 * Eric C. Larson and Damon M. Chandler, "Most apparent distortion:
 * full-reference image quality assessment and the role of strategy", Journal of
 * Electronic Imaging 19(1), 2010, section 3.
 *
 * The detection-based strategy models how viewers search for near-threshold errors. Lightness
 * passes a CSF filter; each 16x16 block gets the visibility of its error, the logarithm of error
 * contrast over the masking contrast of the reference. Visibility times the local mean squared
 * error (lmse) of the samples is the detection map, whose root mean square is d_detect (hi).
 *
 * The appearance-based strategy models how viewers judge clearly visible errors. Each block of the
 * magnitude responses to a log-Gabor bank has a standard deviation, a skewness and a kurtosis.
 * Their weighted differences between both pictures are the appearance map, whose root mean square
 * is d_appear (lo). ff_mad_score() combines both to the score.
 *
 * Deviations: constants, block grid and borders are those of the authors' 2011 release, run in GNU
 * Octave, where it differs from the paper. All is computed in single precision; three linear
 * changes keep rounding errors low (MID_GRAY, ERROR_FACTOR, LAPLACIAN_IDENTITY). Where the mean
 * lightness of a block is not positive, which the release does not handle, the visibility is 0.
 *
 * Data flow: rows are transformed in bands of BAND_ROWS rows. Lane l of a band has its cell row l,
 * a row of cells of 4x4 samples, see mad_block.h. Columns are transformed in tiles of MAD_LANES
 * columns, one in each lane. Between both passes, there and back, row_spectrum[] holds rows in
 * frequency along x; the filters are applied to complete columns. Bands, tiles and rows are
 * parallel tasks. Each task sums over its own rows or blocks, and these sums are added in a fixed
 * order: the result does not depend on the number of threads.
 */

#include <math.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "filters.h"
#include "formats.h"
#include "sample_format.h"
#include "mad.h"
#include "mad_tx.h"
#include "dualinput.h"
#include "video.h"

/// Rows of a band: one cell row in each lane.
#define BAND_ROWS (MAD_STEP * MAD_LANES)

/// Scratch rows of a job: two for merging cells, two of block moments, three of sub-block moments.
#define NB_SCRATCH_ROWS 7

/// Weight of the sample itself in the prefilter, which adds it to the Laplacian.
#define LAPLACIAN_IDENTITY 0.125

/// Samples of the 16x16 window of lmse to the left of and above its sample.
#define LMSE_BEFORE (MAD_BLOCK / 2 - 1)

/// Approximate lightness of mid-gray. Subtracting it before the transforms reduces rounding errors.
#define MID_GRAY 1.

/// Gain of the error, the imaginary part of a transform whose real part is the larger lightness.
#define ERROR_FACTOR 16

/// An input of the filter: its current frame, and lookup tables indexed by sample.
typedef struct MADInput {
    const AVFrame *frame;               ///< not owned; its first plane is luma
    const AVComponentDescriptor *luma;
    MADRange range;                     ///< range for which the tables were computed
    double *value_lut, *lightness_lut;  ///< [1 << depth] full-range value, lightness of a sample
} MADInput;

/// Scratch buffers of one job.
typedef struct Scratch {
    MADLanes *fft[2];                   ///< lines before and after a pass of a transform
    float *band[PAIR_NB][MAD_STEP];     ///< [width][MAD_LANES] row i of the cells of each lane
    double *src_row[3];                 ///< [width] converted rows of the inputs
    float *row[NB_SCRATCH_ROWS];        ///< a map row, or mean, m2, m3, m4 of a row of cells
} Scratch;

typedef struct MADContext {
    LumaInputs inputs;                  ///< must be the first member
    PairSync sync;
    MetricLog log;
    int output;                         ///< MADOutput
    uint64_t nb_frames;

    int width, height;
    int nb_tiles, nb_bands;
    int passband_cols[MAD_SCALES];      ///< see ff_mad_passband_columns()
    ptrdiff_t row_stride;               ///< elements between the rows of row_spectrum
    int cell_stride;                    ///< elements between mean, m2, m3 and m4 of a row of cells
    int nb_jobs;
    MADTransform *row_fft, *column_fft;
    Scratch *scratch;                   ///< [nb_jobs]
    void **allocs;                      ///< buffers from tracked_alloc(); uninit() frees them
    int nb_allocs;
    int alloc_failed;                   ///< whether an allocation failed

    /// Gains, [nb_tiles][height][MAD_LANES]. csf and radial include the transforms' normalisation.
    float *csf;
    float *radial[MAD_SCALES], *angular[MAD_ORIENTATIONS];
    MADLanes *spectrum[PAIR_NB];        ///< [nb_tiles][height] prefiltered inputs

    MADLanes *row_spectrum;             ///< [nb_bands * MAD_STEP][row_stride] a row in each lane
    float *sq_error;                    ///< [height][width] row sums for lmse; reuses row_spectrum
    float *cell_moments[PAIR_NB];       ///< [height / MAD_STEP][4][cell_stride]
    float *visibility;                  ///< visibility of the error in each block
    float *appearance;                  ///< appearance map, one value for each block
    double *row_sum[2];                 ///< [height] sum of both squared maps over a row, hi and lo

    // state of the current pair, which tasks read
    MADInput input[PAIR_NB];
    AVFrame *map;                       ///< output frame with a map, or NULL if output=main
    int cur_input;                      ///< PAIR_MAIN or PAIR_REFERENCE
    int scale, orientation;             ///< current log-Gabor filter
} MADContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption mad_options[] = {
    METRIC_LOG_OPTIONS(MADContext, log, FLAGS),
    MAD_OUTPUT_OPTION(MADContext, output, FLAGS),
    PAIR_SYNC_OPTIONS(MADContext, sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(mad);

// ---- threads ----

/// Function that processes row, band or tile i, with the scratch buffers of its job.
typedef void task_fn(const MADContext *s, const Scratch *scratch, int i);

/// Argument of run_tasks_slice().
typedef struct ThreadData {
    task_fn *task;
    int nb;                             ///< number of rows, bands or tiles
} ThreadData;

static int run_tasks_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADContext *s  = ctx->priv;
    const ThreadData *td = arg;
    const int end = ff_slice_pos(td->nb, jobnr + 1, nb_jobs);

    for (int i = ff_slice_pos(td->nb, jobnr, nb_jobs); i < end; i++)
        td->task(s, &s->scratch[jobnr], i);
    return 0;
}

/// Run a task for i = 0 to nb - 1 in all threads, and wait for the end.
static void run_tasks(AVFilterContext *ctx, task_fn *task, int nb)
{
    const MADContext *s = ctx->priv;
    ThreadData td = { task, nb };

    ff_filter_execute(ctx, run_tasks_slice, &td, NULL, s->nb_jobs);
}

// ---- rows and columns ----

/// Compute the lookup tables of an input if the range of its frame has changed.
static void init_luts(MADInput *input)
{
    const AVFrame *frame = input->frame;
    const MADRange range = ff_mad_range(frame, av_pix_fmt_desc_get(frame->format));

    if (range.scale == input->range.scale)
        return;
    input->range = range;
    for (int i = 0; i < 1 << input->luma->depth; i++) {
        input->value_lut[i]     = ff_mad_full_range(range, i);
        input->lightness_lut[i] = ff_mad_lightness(input->value_lut[i]);
    }
}

/// Convert row y of an input by a lookup table. Bits beyond the depth are ignored.
static void load_row(double *dst, const MADInput *input, const double *table, int y, int width)
{
    const AVComponentDescriptor *luma = input->luma;
    const uint8_t *src = input->frame->data[0] + y * (ptrdiff_t)input->frame->linesize[0];
    const int mask     = (1 << luma->depth) - 1;

    if (luma->depth == 8)
        for (int x = 0; x < width; x++)
            dst[x] = table[src[x]];
    else
        for (int x = 0; x < width; x++)
            dst[x] = table[AV_RN16A(src + 2 * x) >> luma->shift & mask];
}

/// Return the spectra of row i of all cell rows of a band.
static MADLanes *row_spectrum_at(const MADContext *s, int band, int i)
{
    return s->row_spectrum + (MAD_STEP * band + i) * s->row_stride;
}

/// Return the picture row that is row i of a lane's cells; below the picture, its last row.
static int lane_row(const MADContext *s, int band, int i, int lane)
{
    return FFMIN(BAND_ROWS * band + MAD_STEP * lane + i, s->height - 1);
}

/// Transform the rows in fft[0], row i of each cell row, to row_spectrum.
static void fft_row(const MADContext *s, const Scratch *scratch, int band, int i)
{
    memcpy(row_spectrum_at(s, band, i), ff_mad_tx(s->row_fft, scratch->fft, scratch->fft[0]),
           s->width * sizeof(*s->row_spectrum));
}

/// Copy the columns of a tile from row_spectrum to a line in each lane, or store them back.
static av_always_inline void copy_columns(const MADContext *s, MADLanes *line, int tile, int store)
{
    for (int band = 0; band < s->nb_bands; band++, line += BAND_ROWS)
        for (int i = 0; i < MAD_STEP; i++) {
            MADLanes *dst = row_spectrum_at(s, band, i) + tile * MAD_LANES;

            for (int j = 0; j < MAD_LANES; j++)
                for (int part = 0; part < 2; part++)
                    for (int lane = 0; lane < MAD_LANES; lane++) {
                        float *lane_value = &line[MAD_STEP * lane + i].v[part][j];

                        if (store)
                            dst[j].v[part][lane] = *lane_value;
                        else
                            *lane_value = dst[j].v[part][lane];
                    }
        }
}

/// Transform the columns of a tile; the result is in the scratch buffers.
static MADLanes *fft_columns(const MADContext *s, const Scratch *scratch, int tile)
{
    copy_columns(s, scratch->fft[0], tile, 0);
    return ff_mad_tx(s->column_fft, scratch->fft, scratch->fft[0]);
}

// ---- moments ----

/// Return the moments of cell row y of an input.
static const float *cell_row(const MADContext *s, int input, int y)
{
    return s->cell_moments[input] + y * (ptrdiff_t)4 * s->cell_stride;
}

/// Compute the moments of the cells of a band from the rows in scratch->band.
static void compute_cells(const MADContext *s, const Scratch *scratch, int input, int band)
{
    float *const *src = scratch->band[input];
    const int columns = s->width / MAD_STEP, y = band * MAD_LANES;
    const int rows = FFMIN(MAD_LANES, s->height / MAD_STEP - y);
    float *dst = s->cell_moments[input] + y * (ptrdiff_t)4 * s->cell_stride;

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

/// Merge two rows of moments; each of their elements stands for nb_samples samples.
static void merge_rows(const MADContext *s, float *restrict dst, const float *a, const float *b,
                       int nb_samples)
{
    const int stride = s->cell_stride, columns = s->width / MAD_STEP;

    for (int x = 0; x < columns; x++) {
        const MADMoments m = mad_merge_moments(
            (MADMoments){ a[x], a[x + stride], a[x + 2 * stride], a[x + 3 * stride] },
            (MADMoments){ b[x], b[x + stride], b[x + 2 * stride], b[x + 3 * stride] }, nb_samples);

        dst[x]              = m.mean;
        dst[x + stride]     = m.m2;
        dst[x + 2 * stride] = m.m3;
        dst[x + 3 * stride] = m.m4;
    }
}

/// Compute the moments of the blocks that begin in cell row y, in scratch row i; uses rows 0 and 1.
static const float *block_row(const MADContext *s, const Scratch *scratch, int i, int input, int y)
{
    float *dst = scratch->row[i], *a = scratch->row[0], *b = scratch->row[1];

    merge_rows(s, a, cell_row(s, input, y),     cell_row(s, input, y + 1), MAD_CELL_SAMPLES);
    merge_rows(s, b, cell_row(s, input, y + 2), cell_row(s, input, y + 3), MAD_CELL_SAMPLES);
    merge_rows(s, dst, a, b, 2 * MAD_CELL_SAMPLES);
    merge_rows(s, a, dst, dst + 1, 4 * MAD_CELL_SAMPLES);
    merge_rows(s, dst, a, a + 2,   8 * MAD_CELL_SAMPLES);
    return dst;
}

/**
 * Compute the interior of row y of a map, and return the sum of its squares.
 *
 * @param value  map row
 * @param block  value of each block, which all samples of its first cell share
 * @param factor factor of each sample, or NULL for 1
 */
static double sum_squares(const MADContext *s, float *value, const float *block,
                          const float *factor, int y)
{
    double sum = 0;

    block += y / MAD_STEP * (ptrdiff_t)mad_nb_blocks(s->width);
    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++) {
        value[x] = block[x / MAD_STEP] * (factor ? factor[x] : 1);
        sum     += (double)value[x] * value[x];
    }
    return sum;
}

/// Write the interior of a row to the map frame: to luma, or to all components of RGB.
static void write_map_row(const MADContext *s, const float *value, int y)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(s->map->format);
    const MADRange range = s->input[PAIR_MAIN].range;
    const int white      = lrint(255 / range.scale);

    for (int i = 0; i < (desc->flags & AV_PIX_FMT_FLAG_RGB ? 3 : 1); i++) {
        const AVComponentDescriptor *comp = &desc->comp[i];
        uint8_t *dst = s->map->data[comp->plane] + comp->offset +
                       y * (ptrdiff_t)s->map->linesize[comp->plane];

        for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++) {
            const int sample = range.black +
                               mad_map_sample(value[x], s->output == MAD_OUTPUT_DETECTION, white);

            if (comp->depth > 8)
                AV_WN16A(dst + x * comp->step, sample << comp->shift);
            else
                dst[x * comp->step] = sample;
        }
    }
}

// ---- detection-based strategy ----

/// Transform rows: real part lightness of the reference, imaginary part lightness error.
static void lightness_band(const MADContext *s, const Scratch *scratch, int band)
{
    const double *main = scratch->src_row[PAIR_MAIN], *reference = scratch->src_row[PAIR_REFERENCE];

    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            for (int p = 0; p < PAIR_NB; p++)
                load_row(scratch->src_row[p], &s->input[p], s->input[p].lightness_lut,
                        lane_row(s, band, i, lane), s->width);
            for (int x = 0; x < s->width; x++) {
                scratch->fft[0][x].v[0][lane] = reference[x] - MID_GRAY;
                scratch->fft[0][x].v[1][lane] = ERROR_FACTOR * (main[x] - reference[x]);
            }
        }
        fft_row(s, scratch, band, i);
    }
}

/// Apply the CSF to columns and transform them back. Swapped parts make the transform inverse.
static void csf_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    const float *csf = s->csf + (ptrdiff_t)tile * s->height * MAD_LANES;
    MADLanes *line   = fft_columns(s, scratch, tile);

    for (int y = 0; y < s->height; y++, csf += MAD_LANES)
        for (int lane = 0; lane < MAD_LANES; lane++) {
            const float re = line[y].v[0][lane];

            line[y].v[0][lane] = csf[lane] * line[y].v[1][lane];
            line[y].v[1][lane] = csf[lane] * re;
        }
    copy_columns(s, ff_mad_tx(s->column_fft, scratch->fft, line), tile, 1);
}

/// Transform rows back, and compute the cell moments of filtered reference and error.
static void error_moments_band(const MADContext *s, const Scratch *scratch, int band)
{
    const float mid_gray = MID_GRAY * ff_mad_csf(0, 0, s->height, s->width);

    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row_fft, scratch->fft, row_spectrum_at(s, band, i));

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++) {
                scratch->band[PAIR_REFERENCE][i][x * MAD_LANES + lane] =
                    mid_gray + line[x].v[1][lane];
                scratch->band[PAIR_MAIN][i][x * MAD_LANES + lane] =
                    line[x].v[0][lane] * (1.f / ERROR_FACTOR);
            }
    }
    for (int p = 0; p < PAIR_NB; p++)
        compute_cells(s, scratch, p, band);
}

/// Compute the visibility of the error in the blocks that begin in cell row y.
static void visibility_row(const MADContext *s, const Scratch *scratch, int y)
{
    const int columns  = mad_nb_blocks(s->width);
    const float *error = block_row(s, scratch, 2, PAIR_MAIN, y) + s->cell_stride;
    const float *mean  = block_row(s, scratch, 3, PAIR_REFERENCE, y);
    float *sub_block[3];

    for (int i = 0; i < 3; i++) {
        sub_block[i] = scratch->row[4 + i];
        merge_rows(s, scratch->row[0], cell_row(s, PAIR_REFERENCE, y + i),
                  cell_row(s, PAIR_REFERENCE, y + i + 1), MAD_CELL_SAMPLES);
        merge_rows(s, sub_block[i], scratch->row[0], scratch->row[0] + 1, 2 * MAD_CELL_SAMPLES);
        sub_block[i] += s->cell_stride;
    }
    for (int x = 0; x < columns; x++) {
        float min_masking = sub_block[0][x];

        for (int i = 0; i < mad_nb_sub_blocks(y, s->height); i++)
            for (int j = 0; j < mad_nb_sub_blocks(x, s->width); j++)
                min_masking = FFMIN(min_masking, sub_block[i][x + j]);
        s->visibility[y * (ptrdiff_t)columns + x] =
            mad_visibility(mean[x], min_masking / (MAD_SUB_SAMPLES - 1),
                           error[x] / (MAD_BLOCK_SAMPLES - 1));
    }
}

/**
 * Compute the squared errors of a row, and sum MAD_BLOCK of them from each sample on. Windows of
 * interior samples lie within the picture.
 */
static void sq_error_row(const MADContext *s, const Scratch *scratch, int y)
{
    const double *reference = scratch->src_row[PAIR_REFERENCE], *main = scratch->src_row[PAIR_MAIN];
    float *sum = s->sq_error + y * (ptrdiff_t)s->width;

    for (int p = 0; p < PAIR_NB; p++)
        load_row(scratch->src_row[p], &s->input[p], s->input[p].value_lut, y, s->width);
    for (int x = 0; x < s->width; x++) {
        double d = main[x] - reference[x];

        sum[x] = d * d;
    }
    for (int n = 1; n < MAD_BLOCK; n *= 2)
        for (int x = 0; x <= s->width - 2 * n; x++)
            sum[x] += sum[x + n];
}

/// Compute interior row i of both maps, sum their squares, and write the map frame.
static void pool_row(const MADContext *s, const Scratch *scratch, int i)
{
    const int y = MAD_BORDER_BEGIN + i;
    float *row  = scratch->row[0];

    memset(row, 0, s->width * sizeof(*row));
    for (int j = 0; j < MAD_BLOCK; j++) {
        const float *error = s->sq_error + (y - LMSE_BEFORE + j) * (ptrdiff_t)s->width -
                             LMSE_BEFORE;

        for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
            row[x] += error[x];
    }
    for (int x = MAD_BORDER_BEGIN; x < s->width - MAD_BORDER_END; x++)
        row[x] *= 1.f / MAD_BLOCK_SAMPLES;
    s->row_sum[0][y] = sum_squares(s, row, s->visibility, row, y);
    s->row_sum[1][y] = sum_squares(s, scratch->row[1], s->appearance, NULL, y);
    if (s->map)
        write_map_row(s, s->output == MAD_OUTPUT_DETECTION ? row : scratch->row[1], y);
}

/// Compute the detection map, and pool both maps. The appearance map must be complete.
static void compute_detection(AVFilterContext *ctx)
{
    const MADContext *s = ctx->priv;

    run_tasks(ctx, lightness_band,     s->nb_bands);
    run_tasks(ctx, csf_tile,           s->nb_tiles);
    run_tasks(ctx, error_moments_band, s->nb_bands);
    run_tasks(ctx, visibility_row,     mad_nb_blocks(s->height));
    run_tasks(ctx, sq_error_row,       s->height);
    run_tasks(ctx, pool_row,           s->height - MAD_BORDER_BEGIN - MAD_BORDER_END);
}

// ---- appearance-based strategy ----

/**
 * Prefilter the current input and transform its rows. The prefilter, the Laplacian plus
 * LAPLACIAN_IDENTITY times the sample, raises high frequencies: otherwise rounding errors of the
 * strong low ones would hide weak responses. The radial filters contain its inverse. The first
 * sample is subtracted from all samples, so that a flat picture has responses of exactly 0; the
 * filters reject the zero frequency anyway.
 */
static void prefilter_band(const MADContext *s, const Scratch *scratch, int band)
{
    const MADInput *input = &s->input[s->cur_input];
    const double *table = input->value_lut;
    const int w = s->width, h = s->height;
    double *above = scratch->src_row[0], *here = scratch->src_row[1], *below = scratch->src_row[2];
    double first;

    load_row(&first, input, table, 0, 1);
    for (int i = 0; i < MAD_STEP; i++) {
        for (int lane = 0; lane < MAD_LANES; lane++) {
            const int y = lane_row(s, band, i, lane);

            load_row(above, input, table, (y ? y : h) - 1, w);
            load_row(here,  input, table, y, w);
            load_row(below, input, table, y + 1 < h ? y + 1 : 0, w);
            for (int x = 0; x < w; x++) {
                const double left = here[(x ? x : w) - 1], right = here[x + 1 < w ? x + 1 : 0];
                const double laplacian = 4 * here[x] - (above[x] + below[x]) - (left + right);

                scratch->fft[0][x].v[0][lane] = LAPLACIAN_IDENTITY * (here[x] - first) + laplacian;
                scratch->fft[0][x].v[1][lane] = 0;
            }
        }
        fft_row(s, scratch, band, i);
    }
}

/// Transform the columns of a tile, and store them as spectrum of the current input.
static void spectrum_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    memcpy(s->spectrum[s->cur_input] + (ptrdiff_t)tile * s->height, fft_columns(s, scratch, tile),
           s->height * sizeof(*s->spectrum[0]));
}

/// Apply the current filter to the columns of a tile, and transform them back, with swapped parts.
static void response_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    const ptrdiff_t offset = (ptrdiff_t)tile * s->height;
    const MADLanes *src   = s->spectrum[s->cur_input] + offset;
    const float *radial   = s->radial[s->scale]        + offset * MAD_LANES;
    const float *angular  = s->angular[s->orientation] + offset * MAD_LANES;
    const int nb_cols = s->passband_cols[s->scale], first = tile * MAD_LANES;
    MADLanes *line   = scratch->fft[0];

    if (first < nb_cols || first + MAD_LANES > s->width - nb_cols + 1) {
        for (int y = 0; y < s->height; y++, radial += MAD_LANES, angular += MAD_LANES)
            for (int lane = 0; lane < MAD_LANES; lane++) {
                const float gain = radial[lane] * angular[lane];

                line[y].v[0][lane] = gain * src[y].v[1][lane];
                line[y].v[1][lane] = gain * src[y].v[0][lane];
            }
        line = ff_mad_tx(s->column_fft, scratch->fft, line);
    } else if (s->orientation || s->cur_input)
        return;                     // the first response of the scale has cleared these columns
    else
        memset(line, 0, s->height * sizeof(*line));
    copy_columns(s, line, tile, 1);
}

/// Transform rows of the response back, and compute the cell moments of its magnitude.
static void magnitude_band(const MADContext *s, const Scratch *scratch, int band)
{
    for (int i = 0; i < MAD_STEP; i++) {
        const MADLanes *line = ff_mad_tx(s->row_fft, scratch->fft, row_spectrum_at(s, band, i));
        float *magnitude = scratch->band[s->cur_input][i];

        for (int x = 0; x < s->width; x++)
            for (int lane = 0; lane < MAD_LANES; lane++)
                magnitude[x * MAD_LANES + lane] = sqrtf(line[x].v[0][lane] * line[x].v[0][lane] +
                                                        line[x].v[1][lane] * line[x].v[1][lane]);
    }
    compute_cells(s, scratch, s->cur_input, band);
}

/// Add the current filter to the appearance map, for the blocks that begin in cell row y.
static void appearance_row(const MADContext *s, const Scratch *scratch, int y)
{
    const float weight = ff_mad_scale_weight(s->scale);
    const int columns  = mad_nb_blocks(s->width), stride = s->cell_stride;
    const float *main  = block_row(s, scratch, 2, PAIR_MAIN, y);
    const float *reference = block_row(s, scratch, 3, PAIR_REFERENCE, y);
    float *dst = s->appearance + y * (ptrdiff_t)columns;

    for (int x = 0; x < columns; x++) {
        float a[3], b[3];

        mad_std_skew_kurt(a, main[x + stride], main[x + 2 * stride], main[x + 3 * stride]);
        mad_std_skew_kurt(b, reference[x + stride], reference[x + 2 * stride],
                     reference[x + 3 * stride]);
        dst[x] += weight * mad_stat_diff(a, b, 1);
    }
}

/// Compute the appearance map: eta of the paper for each block.
static void compute_appearance(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;
    const int nb_rows = mad_nb_blocks(s->height);

    memset(s->appearance, 0, (size_t)mad_nb_blocks(s->width) * nb_rows * sizeof(*s->appearance));
    for (s->cur_input = 0; s->cur_input < PAIR_NB; s->cur_input++) {
        run_tasks(ctx, prefilter_band, s->nb_bands);
        run_tasks(ctx, spectrum_tile,  s->nb_tiles);
    }
    for (s->scale = 0; s->scale < MAD_SCALES; s->scale++)
        for (s->orientation = 0; s->orientation < MAD_ORIENTATIONS; s->orientation++) {
            for (s->cur_input = 0; s->cur_input < PAIR_NB; s->cur_input++) {
                run_tasks(ctx, response_tile,  s->nb_tiles);
                run_tasks(ctx, magnitude_band, s->nb_bands);
            }
            run_tasks(ctx, appearance_row, nb_rows);
        }
}

// ---- frames ----

/**
 * Score a pair of frames, and fill s->map if it is set.
 *
 * @param main frame that receives the score, unless s->map does
 * @param n    index of the frame among all frames of the main input
 * @return 0, or a negative AVERROR
 */
static int score_frame(AVFilterContext *ctx, AVFrame *main, const AVFrame *reference, uint64_t n)
{
    MADContext *s = ctx->priv;
    double sum[2] = { 0 };
    AVFrame *luma[PAIR_NB] = {
        [PAIR_MAIN]      = ff_luma_from_rgb(main),
        [PAIR_REFERENCE] = ff_luma_from_rgb(reference),
    };
    int ret = luma[0] && luma[1] ? 0 : AVERROR(ENOMEM);

    for (int p = 0; p < PAIR_NB && ret >= 0; p++) {
        s->input[p].frame = luma[p];
        init_luts(&s->input[p]);
    }
    if (ret >= 0) {
        compute_appearance(ctx);
        compute_detection(ctx);
    }
    for (int p = 0; p < PAIR_NB; p++)
        av_frame_free(&luma[p]);
    if (ret < 0)
        return ret;

    for (int i = 0; i < 2; i++)
        for (int y = MAD_BORDER_BEGIN; y < s->height - MAD_BORDER_END; y++)
            sum[i] += s->row_sum[i][y];
    return ff_mad_score(&s->log, ctx, s->map ? s->map : main, n, sum[0], sum[1]);
}

/// Output the main frame, or its map, with the score of the pair.
static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    MADContext *s = ctx->priv;
    AVFrame *main, *reference;
    uint64_t n;
    int ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    n = s->nb_frames++;
    s->log.time_base = fs->time_base;
    if (s->output && !(s->map = ff_luma_black_frame(ctx->outputs[0], main)))
        ret = AVERROR(ENOMEM);
    else if (reference)
        ret = score_frame(ctx, main, reference, n);
    // a frame without a reference passes, or becomes a black map
    if (s->map)
        FFSWAP(AVFrame *, s->map, main);
    av_frame_free(&s->map);
    if (ret < 0) {
        av_frame_free(&main);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], main);
}

static int activate(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;

    return ff_pair_sync_activate(&s->sync);
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    MADContext *s = ctx->priv;

    return ff_pair_sync_command(&s->sync, ctx, cmd, arg, res, res_len, flags);
}

// ---- buffers and filters ----

/// Return the gain of the negated second difference along an axis at frequency i.
static double laplacian_gain(int i, int size)
{
    return 2 - 2 * cos(2 * M_PI * i / size);
}

/// Compute the gains of a tile, which include the normalisation of both transforms.
static void filter_tile(const MADContext *s, const Scratch *scratch, int tile)
{
    const int w = s->width, h = s->height;
    const double factor = 1. / ((double)w * h);
    const double step   = ff_mad_radial_distance(1, 1, 1, h, w) -
                          ff_mad_radial_distance(0, 1, 1, h, w);

    for (int i = 0; i < h * MAD_LANES; i++) {
        const int y = i / MAD_LANES, x = tile * MAD_LANES + i % MAD_LANES;
        const ptrdiff_t offset = (ptrdiff_t)tile * h * MAD_LANES + i;
        const double radial = ff_mad_radial_distance(0, y, x, h, w);
        const double angle  = ff_mad_angle(y, x, h, w);
        const double prefilter_inverse =
            factor / (LAPLACIAN_IDENTITY + laplacian_gain(x, w) + laplacian_gain(y, h));

        if (x >= w)
            continue;
        s->csf[offset] = ff_mad_csf(y, x, h, w) * factor;
        for (int j = 0; j < MAD_SCALES; j++) {
            const double d = radial + j * step;

            s->radial[j][offset] = x || y ? mad_log_gabor_gain(d * d) * prefilter_inverse : 0;
        }
        for (int j = 0; j < MAD_ORIENTATIONS; j++) {
            const double distance = mad_angle_distance(angle, j * MAD_ANGLE_STEP);

            s->angular[j][offset] = mad_log_gabor_gain(distance * distance);
        }
    }
}

/// Allocate a zeroed array that uninit() frees. Set s->alloc_failed and return NULL on failure.
static void *tracked_alloc(MADContext *s, size_t nb, size_t size)
{
    void *memory = av_calloc(nb, size);

    if (memory && av_dynarray_add_nofree(&s->allocs, &s->nb_allocs, memory) < 0)
        av_freep(&memory);
    s->alloc_failed |= !memory;
    return memory;
}

/// Allocate an array of nb elements, and set dst to it.
#define ALLOC_ARRAY(dst, nb) ((dst) = tracked_alloc(s, nb, sizeof(*(dst))))

/// Allocate the scratch buffers of a job.
static void alloc_scratch(MADContext *s, Scratch *scratch)
{
    const int max_length = FFMAX3(ff_mad_tx_size(s->row_fft), ff_mad_tx_size(s->column_fft),
                                  s->nb_bands * BAND_ROWS);

    for (int i = 0; i < 2; i++)
        ALLOC_ARRAY(scratch->fft[i], max_length);
    for (int i = 0; i < PAIR_NB * MAD_STEP; i++)
        ALLOC_ARRAY(scratch->band[i / MAD_STEP][i % MAD_STEP], s->width * MAD_LANES);
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->src_row); i++)
        ALLOC_ARRAY(scratch->src_row[i], s->width);
    for (int i = 0; i < NB_SCRATCH_ROWS; i++)
        ALLOC_ARRAY(scratch->row[i], s->width + MAD_BLOCK);
}

/// Allocate the buffers that all jobs share.
static void alloc_planes(MADContext *s)
{
    const size_t plane  = (size_t)s->nb_tiles * s->height;
    const size_t cells  = (size_t)s->cell_stride * 4 * (s->height / MAD_STEP);
    const size_t blocks = (size_t)mad_nb_blocks(s->width) * mad_nb_blocks(s->height);

    ALLOC_ARRAY(s->csf, plane * MAD_LANES);
    for (int i = 0; i < MAD_SCALES; i++)
        ALLOC_ARRAY(s->radial[i], plane * MAD_LANES);
    for (int i = 0; i < MAD_ORIENTATIONS; i++)
        ALLOC_ARRAY(s->angular[i], plane * MAD_LANES);
    for (int p = 0; p < PAIR_NB; p++) {
        ALLOC_ARRAY(s->input[p].value_lut,     1 << s->input[p].luma->depth);
        ALLOC_ARRAY(s->input[p].lightness_lut, 1 << s->input[p].luma->depth);
        ALLOC_ARRAY(s->spectrum[p], plane);
        ALLOC_ARRAY(s->cell_moments[p], cells + MAD_STEP);
        ALLOC_ARRAY(s->row_sum[p], s->height);
    }
    ALLOC_ARRAY(s->row_spectrum, s->nb_bands * MAD_STEP * s->row_stride);
    s->sq_error = (float *)s->row_spectrum;
    ALLOC_ARRAY(s->visibility, blocks);
    ALLOC_ARRAY(s->appearance, blocks);
}

/// Configure the pairs of frames, allocate all buffers and compute the filters.
static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    MADContext *s = ctx->priv;
    int ret = ff_pair_sync_config_output(&s->sync, outlink);

    if (ret < 0)
        return ret;
    s->width       = outlink->w;
    s->height      = outlink->h;
    s->nb_tiles    = DIV_UP(s->width, MAD_LANES);
    s->nb_bands    = DIV_UP(s->height, BAND_ROWS);
    // rows do not start in the same cache set; the last tile may reach beyond the width
    s->row_stride  = FFALIGN(s->width, 64) + MAD_LANES;
    s->cell_stride = s->width / MAD_STEP;
    s->nb_jobs     = ff_filter_get_nb_threads(ctx);
    for (int p = 0; p < PAIR_NB; p++)
        s->input[p].luma = &av_pix_fmt_desc_get(ctx->inputs[p]->format)->comp[0];

    ALLOC_ARRAY(s->scratch, s->nb_jobs);
    if ((ret = ff_mad_tx_alloc(&s->row_fft,    s->width))  < 0 ||
        (ret = ff_mad_tx_alloc(&s->column_fft, s->height)) < 0)
        return ret;
    for (int job = 0; !s->alloc_failed && job < s->nb_jobs; job++)
        alloc_scratch(s, &s->scratch[job]);
    alloc_planes(s);
    if (s->alloc_failed)
        return AVERROR(ENOMEM);
    for (int i = 0; i < MAD_SCALES; i++)
        s->passband_cols[i] = ff_mad_passband_columns(i, s->width);
    run_tasks(ctx, filter_tile, s->nb_tiles);
    return 0;
}

// ---- the filter ----

static av_cold int init(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    s->inputs.is_wanted    = luma_or_rgb_is_supported;
    s->inputs.allow_mixed_ranges = 1;
    s->inputs.min_size     = MAD_MIN_SIZE;
    s->sync.output      = &s->log.output;
    return ff_mad_init(&s->log, ctx, &s->nb_frames);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    MADContext *s = ctx->priv;

    ff_metric_uninit(&s->log, ctx, s->nb_frames, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    ff_mad_tx_free(&s->row_fft);
    ff_mad_tx_free(&s->column_fft);
    for (int i = 0; i < s->nb_allocs; i++)
        av_free(s->allocs[i]);
    av_freep(&s->allocs);
}

static const AVFilterPad mad_outputs[] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_output },
};

const FFFilter ff_vf_mad = {
    .p.name         = "mad",
    .p.description  =
        NULL_IF_CONFIG_SMALL("Score quality against a reference (Most Apparent Distortion)."),
    .p.priv_class   = &mad_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(MADContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(mad_outputs),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
