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
 * Full-reference quality by two strategies of seeing (MAD)
 *
 * Eric C. Larson and Damon M. Chandler, "Most apparent distortion:
 * full-reference image quality assessment and the role of strategy", Journal of
 * Electronic Imaging 19(1), 2010.
 *
 * Where errors are hardly visible, one looks for them: the detection map is
 * their local energy where the picture does not mask them (HI). Where they are
 * plain, one looks past them: the appearance map is the change of the local
 * statistics of log-Gabor responses (LO). Both are combined to the score.
 *
 * The arithmetic is that of the authors' release, in double precision. All sums
 * are those of one row or block, combined in a fixed order: the result is the
 * same for any number of threads.
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
#include "framesync.h"
#include "mad.h"
#include "mad_tx.h"
#include "release_compat.h"
#include "luma_formats.h"
#include "pair_sync.h"
#include "video.h"

/// Columns that are transformed together, so that whole cache lines are moved.
#define COLUMNS 8

/// The window of the squared error reaches this far to the left and up.
#define WINDOW_BEFORE (MAD_BLOCK / 2 - 1)

/**
 * The variance under which a block of responses is flat. These are of a picture
 * of 0..255 in double precision: it is rounding that is below.
 */
#define MIN_VARIANCE 1e-22

enum { REFERENCE, MAIN, NB_PICTURES };

/// Of some samples: the mean, and the sums of the powers of their distance to it.
typedef struct Moments {
    double mean, m2, m3, m4;
} Moments;

/// From the samples of an input to values and their lightness.
typedef struct Tables {
    int depth;
    MADRange range;
    double *value;
    double *lightness;
} Tables;

/// What one job works in.
typedef struct Scratch {
    MADTransform *row[2], *column[2];   ///< forward, inverse
    AVComplexDouble *line[COLUMNS + 1];
    double *sample[NB_PICTURES][MAD_STEP];  ///< of a row of cells
    double *padded;                     ///< a row with its window
    Moments *block[NB_PICTURES][3];     ///< rows of sub-blocks
} Scratch;

typedef struct MADCPUContext {
    const AVClass *class;
    FFFrameSync fs;
    PairSync sync;
    MADContext common;

    Tables tables[NB_PICTURES];
    int width, height;                  ///< that the buffers are made for
    ptrdiff_t row_stride;               ///< of work, in values
    ptrdiff_t column_stride;            ///< of spectra and filters, in values
    int nb_jobs;
    Scratch *scratch;                   ///< of each job

    // in the frequency domain, by columns
    double *csf;
    double *radial[MAD_SCALES];
    double *angular[MAD_ORIENTATIONS];
    AVComplexDouble *spectrum[NB_PICTURES];

    AVComplexDouble *work[NB_PICTURES]; ///< half transformed, by rows
    Moments *cell[NB_PICTURES];         ///< pairs of cells, side by side
    double *error;                      ///< squared, sums of a row's windows
    double *mask;                       ///< of each block
    double *appearance;                 ///< of each block
    double *sum[2];                     ///< HI and LO, of each row
} MADCPUContext;

typedef struct Picture {
    const AVFrame *frame;
    const AVComponentDescriptor *luma;
    const Tables *tables;
} Picture;

typedef struct ThreadData {
    Picture picture[NB_PICTURES];
    int index;                          ///< of a picture
    int scale, orientation;
    AVFrame *map[2];                    ///< HI and LO, NULL if not wanted
} ThreadData;

#define OFFSET(x) offsetof(MADCPUContext, x)
#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption mad_options[] = {
    MAD_OPTIONS(MADCPUContext, common, FLAGS),
    MAD_MAP_OPTIONS(MADCPUContext, common, FLAGS),
    { NULL }
};

FRAMESYNC_DEFINE_CLASS(mad, MADCPUContext, fs);

static int query_formats(const AVFilterContext *ctx, AVFilterFormatsConfig **cfg_in,
                         AVFilterFormatsConfig **cfg_out)
{
    AVFilterFormats *formats = ff_luma_formats();
    int ret;

    // nothing of the inputs needs to be the same but their size
    if ((ret = ff_formats_ref(formats,               &cfg_in[0]->formats)) < 0 ||
        (ret = ff_formats_ref(formats,               &cfg_out[0]->formats)) < 0 ||
        (ret = ff_formats_ref(ff_luma_formats(),  &cfg_in[1]->formats)) < 0 ||
        (ret = ff_formats_ref(ff_all_color_spaces(), &cfg_in[1]->color_spaces)) < 0 ||
        (ret = ff_formats_ref(ff_all_color_ranges(), &cfg_in[1]->color_ranges)) < 0)
        return ret;

    for (int i = 1; i < ctx->nb_outputs; i++)
        if ((ret = ff_formats_ref(ff_make_formats_list_singleton(MAD_MAP_FORMAT), &cfg_out[i]->formats)) < 0 ||
            (ret = ff_formats_ref(ff_all_color_spaces(), &cfg_out[i]->color_spaces)) < 0 ||
            (ret = ff_formats_ref(ff_make_formats_list_singleton(AVCOL_RANGE_JPEG), &cfg_out[i]->color_ranges)) < 0)
            return ret;
    return 0;
}

// ---- moments ----

/// Of two sets of n samples each.
static Moments merge(Moments a, Moments b, int n)
{
    const double d = b.mean - a.mean, d2 = d * d;

    return (Moments){
        .mean = (a.mean + b.mean) / 2,
        .m2   = a.m2 + b.m2 + n / 2. * d2,
        .m3   = a.m3 + b.m3 + 1.5 * d * (b.m2 - a.m2),
        .m4   = a.m4 + b.m4 + 2 * d * (b.m3 - a.m3) + 1.5 * d2 * (a.m2 + b.m2) + n / 8. * d2 * d2,
    };
}

static Moments cell_moments(double *const row[MAD_STEP], int x)
{
    Moments m = { 0 };

    for (int i = 0; i < MAD_STEP; i++)
        for (int j = 0; j < MAD_STEP; j++)
            m.mean += row[i][x + j];
    m.mean /= MAD_STEP * MAD_STEP;
    for (int i = 0; i < MAD_STEP; i++)
        for (int j = 0; j < MAD_STEP; j++) {
            double d = row[i][x + j] - m.mean, d2 = d * d;

            m.m2 += d2;
            m.m3 += d2 * d;
            m.m4 += d2 * d2;
        }
    return m;
}

/// A row of cells, each merged with its right neighbour.
static void cell_row(Moments *dst, double *const row[MAD_STEP], int width)
{
    Moments last = cell_moments(row, 0);

    for (int i = 0; i < width / MAD_STEP - 1; i++) {
        Moments next = cell_moments(row, MAD_STEP * (i + 1));

        dst[i] = merge(last, next, MAD_STEP * MAD_STEP);
        last   = next;
    }
}

/// Sub-blocks that begin in row y of cells.
static const Moments *sub_block_row(const MADCPUContext *s, Moments *dst, int picture, int y)
{
    const int stride   = s->width / MAD_STEP;
    const Moments *row = s->cell[picture] + y * (ptrdiff_t)stride;

    for (int i = 0; i < stride - 1; i++)
        dst[i] = merge(row[i], row[i + stride], MAD_SUB_BLOCK * MAD_STEP);
    return dst;
}

/// The block of which top and bottom are the left sub-blocks.
static Moments block_moments(const Moments *top, const Moments *bottom)
{
    const int n = MAD_SUB_BLOCK * MAD_SUB_BLOCK, right = MAD_SUB_BLOCK / MAD_STEP;

    return merge(merge(top[0],    top[right],    n),
                 merge(bottom[0], bottom[right], n), 2 * n);
}

/// Standard deviation of n samples, as of a part of a larger set.
static double deviation(Moments m, int n)
{
    return sqrt(m.m2 / (n - 1));
}

// ---- pictures and transforms ----

/// Look up a row of samples.
static void get_row(double *dst, const Picture *picture, const double *table, int y, int width)
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

/**
 * Transform the rows of both pictures' lightness, as one complex picture, since
 * the filter to come is symmetric.
 */
static int lightness_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    const Scratch *scratch = &s->scratch[jobnr];
    AVComplexDouble *line  = scratch->line[0];
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        for (int i = 0; i < NB_PICTURES; i++)
            get_row(scratch->sample[i][0], &td->picture[i], td->picture[i].tables->lightness,
                    y, s->width);
        for (int x = 0; x < s->width; x++)
            line[x] = (AVComplexDouble){ scratch->sample[REFERENCE][0][x],
                                         scratch->sample[MAIN][0][x] };
        ff_mad_tx(scratch->row[0], s->work[0] + y * s->row_stride, line);
    }
    return 0;
}

/**
 * Transform the rows of a picture's values less one of them: the filters to come
 * have no zero frequency, and the responses of what is flat are zeros then.
 */
static int value_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    const Scratch *scratch = &s->scratch[jobnr];
    const Picture *picture = &td->picture[td->index];
    const double *table    = picture->tables->value;
    AVComplexDouble *line  = scratch->line[0];
    double *sample = scratch->sample[0][0], first;
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    get_row(&first, picture, table, 0, 1);
    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        get_row(sample, picture, table, y, s->width);
        for (int x = 0; x < s->width; x++)
            line[x] = (AVComplexDouble){ sample[x] - first, 0 };
        ff_mad_tx(scratch->row[0], s->work[td->index] + y * s->row_stride, line);
    }
    return 0;
}

/// Read columns from rows.
static void gather(AVComplexDouble *const *dst, const AVComplexDouble *src,
                   ptrdiff_t stride, int columns, int rows)
{
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            dst[x][y] = src[y * stride + x];
}

/// Write columns to rows.
static void scatter(AVComplexDouble *dst, AVComplexDouble *const *src,
                    ptrdiff_t stride, int columns, int rows)
{
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < columns; x++)
            dst[y * stride + x] = src[x][y];
}

static void multiply(AVComplexDouble *dst, const AVComplexDouble *src, const double *factor, int n)
{
    for (int i = 0; i < n; i++)
        dst[i] = (AVComplexDouble){ src[i].re * factor[i], src[i].im * factor[i] };
}

/// Groups of columns of a job.
static int first_column(const MADCPUContext *s, int jobnr, int nb_jobs)
{
    return FFMIN(ff_slice_pos((s->width + COLUMNS - 1) / COLUMNS, jobnr, nb_jobs) * COLUMNS, s->width);
}

/// Transform the columns, filter, and transform them back.
static int csf_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const Scratch *scratch = &s->scratch[jobnr];
    AVComplexDouble *tmp   = scratch->line[COLUMNS];
    const int end = first_column(s, jobnr + 1, nb_jobs);

    for (int x = first_column(s, jobnr, nb_jobs); x < end; x += COLUMNS) {
        const int columns = FFMIN(COLUMNS, s->width - x);

        gather(scratch->line, s->work[0] + x, s->row_stride, columns, s->height);
        for (int i = 0; i < columns; i++) {
            ff_mad_tx(scratch->column[0], tmp, scratch->line[i]);
            multiply(tmp, tmp, s->csf + (x + i) * s->column_stride, s->height);
            ff_mad_tx(scratch->column[1], scratch->line[i], tmp);
        }
        scatter(s->work[0] + x, scratch->line, s->row_stride, columns, s->height);
    }
    return 0;
}

static int spectrum_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    const Scratch *scratch = &s->scratch[jobnr];
    const int end = first_column(s, jobnr + 1, nb_jobs);

    for (int x = first_column(s, jobnr, nb_jobs); x < end; x += COLUMNS) {
        const int columns = FFMIN(COLUMNS, s->width - x);

        gather(scratch->line, s->work[td->index] + x, s->row_stride, columns, s->height);
        for (int i = 0; i < columns; i++)
            ff_mad_tx(scratch->column[0], s->spectrum[td->index] + (x + i) * s->column_stride,
                      scratch->line[i]);
    }
    return 0;
}

/// Filter the spectra of both pictures, and transform their columns back.
static int response_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    const Scratch *scratch = &s->scratch[jobnr];
    AVComplexDouble *tmp   = scratch->line[COLUMNS];
    double *factor = scratch->padded;
    const int end  = first_column(s, jobnr + 1, nb_jobs);

    for (int x = first_column(s, jobnr, nb_jobs); x < end; x += COLUMNS) {
        const int columns = FFMIN(COLUMNS, s->width - x);

        for (int p = 0; p < NB_PICTURES; p++) {
            for (int i = 0; i < columns; i++) {
                const ptrdiff_t column = (x + i) * s->column_stride;
                const double *radial   = s->radial[td->scale] + column;
                const double *angular  = s->angular[td->orientation] + column;

                for (int y = 0; y < s->height; y++)
                    factor[y] = radial[y] * angular[y];
                multiply(tmp, s->spectrum[p] + column, factor, s->height);
                ff_mad_tx(scratch->column[1], scratch->line[i], tmp);
            }
            scatter(s->work[p] + x, scratch->line, s->row_stride, columns, s->height);
        }
    }
    return 0;
}

// ---- the detection stage ----

/// Transform rows of lightness back, to the moments of the reference and the error.
static int contrast_cells(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const Scratch *scratch = &s->scratch[jobnr];
    AVComplexDouble *line  = scratch->line[0];
    const int columns = s->width / MAD_STEP, rows = s->height / MAD_STEP;
    const int end = ff_slice_pos(rows, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(rows, jobnr, nb_jobs); y < end; y++) {
        for (int i = 0; i < MAD_STEP; i++) {
            ff_mad_tx(scratch->row[1], line, s->work[0] + (MAD_STEP * y + i) * s->row_stride);
            for (int x = 0; x < s->width; x++) {
                scratch->sample[REFERENCE][i][x] = line[x].re;
                scratch->sample[MAIN][i][x]      = line[x].im - line[x].re;
            }
        }
        for (int i = 0; i < NB_PICTURES; i++)
            cell_row(s->cell[i] + y * (ptrdiff_t)columns, scratch->sample[i], s->width);
    }
    return 0;
}

/// How visible an error is, by the logarithms of the contrasts.
static double visibility(double mean, double reference, double error)
{
    // of what is not brighter, the logarithms say nothing
    if (mean < MAD_MIN_MEAN)
        return 0;
    reference = log(reference / mean);
    error     = log(error     / mean);
    return FFMAX(error - FFMAX(reference, MAD_MIN_CONTRAST), 0);
}

static int mask_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const Scratch *scratch = &s->scratch[jobnr];
    const int columns = mad_nb_blocks(s->width), rows = mad_nb_blocks(s->height);
    const int end = ff_slice_pos(rows, jobnr + 1, nb_jobs);
    const int n   = MAD_BLOCK * MAD_BLOCK;

    for (int y = ff_slice_pos(rows, jobnr, nb_jobs); y < end; y++) {
        const Moments *reference[3], *error[3];

        for (int i = 0; i < 3; i++) {
            reference[i] = sub_block_row(s, scratch->block[REFERENCE][i], REFERENCE, y + i);
            error[i]     = sub_block_row(s, scratch->block[MAIN][i],      MAIN,      y + i);
        }
        for (int x = 0; x < columns; x++) {
            Moments least = reference[0][x];

            for (int i = 0; i < mad_nb_sub_blocks(y, s->height); i++)
                for (int j = 0; j < mad_nb_sub_blocks(x, s->width); j++)
                    if (reference[i][x + j].m2 < least.m2)
                        least = reference[i][x + j];
            s->mask[y * (ptrdiff_t)columns + x] =
                visibility(block_moments(reference[0] + x, reference[2] + x).mean,
                           deviation(least, MAD_SUB_BLOCK * MAD_SUB_BLOCK),
                           deviation(block_moments(error[0] + x, error[2] + x), n));
        }
    }
    return 0;
}

/// Place of a sample beyond the border: that is a mirror behind the last one.
static int mirrored(int i, int size)
{
    return i < 0 ? -1 - i : i >= size ? 2 * size - 1 - i : i;
}

/// Squared differences, summed over each row's windows.
static int error_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s  = ctx->priv;
    const ThreadData *td    = arg;
    const Scratch *scratch  = &s->scratch[jobnr];
    const double *reference = scratch->sample[REFERENCE][0], *main = scratch->sample[MAIN][0];
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        double *sum = scratch->padded;

        for (int i = 0; i < NB_PICTURES; i++)
            get_row(scratch->sample[i][0], &td->picture[i], td->picture[i].tables->value,
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
    return 0;
}

/// Sum of squares of a row's interior.
static double sum_row(const double *row, int width)
{
    double sum = 0;

    for (int x = MAD_BORDER_BEGIN; x < width - MAD_BORDER_END; x++)
        sum += row[x] * row[x];
    return sum;
}

/// Value of the block that begins in a sample's cell, 0 if there is none.
static double block_value(const MADCPUContext *s, const double *block, int x, int y)
{
    const int columns = mad_nb_blocks(s->width), rows = mad_nb_blocks(s->height);

    x /= MAD_STEP;
    y /= MAD_STEP;
    return x < columns && y < rows ? block[y * (ptrdiff_t)columns + x] : 0;
}

static void write_map_row(AVFrame *map, int y, const double *value, int scale, int width)
{
    uint16_t *dst = (uint16_t *)(map->data[0] + y * (ptrdiff_t)map->linesize[0]);

    for (int x = 0; x < width; x++)
        dst[x] = lrint(FFMIN(value[x] * scale, UINT16_MAX));
}

static int detection_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    double *row   = s->scratch[jobnr].sample[0][0];
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        memset(row, 0, s->width * sizeof(*row));
        for (int i = 0; i < MAD_BLOCK; i++) {
            const double *error = s->error +
                mirrored(y - WINDOW_BEFORE + i, s->height) * (ptrdiff_t)s->width;

            for (int x = 0; x < s->width; x++)
                row[x] += error[x];
        }
        for (int x = 0; x < s->width; x++)
            row[x] *= block_value(s, s->mask, x, y) / (MAD_BLOCK * MAD_BLOCK);
        s->sum[0][y] = sum_row(row, s->width);

        if (td->map[0]) {
            for (int x = 0; x < s->width; x++)
                row[x] = sqrt(row[x]);
            write_map_row(td->map[0], y, row, MAD_MAP_HI_SCALE, s->width);
        }
    }
    return 0;
}

// ---- the appearance stage ----

/// Transform rows of responses back, to the moments of their magnitude.
static int response_cells(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const Scratch *scratch = &s->scratch[jobnr];
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
            cell_row(s->cell[p] + y * (ptrdiff_t)columns, scratch->sample[p], s->width);
        }
    return 0;
}

/// Standard deviation, skewness and kurtosis of a block.
static void describe(double dst[3], Moments m)
{
    const int n = MAD_BLOCK * MAD_BLOCK;
    const double variance = m.m2 / n;

    dst[0] = dst[1] = dst[2] = 0;
    if (variance < MIN_VARIANCE)
        return;
    dst[0] = deviation(m, n);
    dst[1] = m.m3 / n / (variance * sqrt(variance));
    dst[2] = m.m4 / n / (variance * variance);
}

static int appearance_rows(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    const Scratch *scratch = &s->scratch[jobnr];
    const double weight = ff_mad_weight(td->scale);
    const int columns = mad_nb_blocks(s->width), rows = mad_nb_blocks(s->height);
    const int end = ff_slice_pos(rows, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(rows, jobnr, nb_jobs); y < end; y++) {
        const Moments *top[NB_PICTURES], *bottom[NB_PICTURES];

        for (int p = 0; p < NB_PICTURES; p++) {
            top[p]    = sub_block_row(s, scratch->block[p][0], p, y);
            bottom[p] = sub_block_row(s, scratch->block[p][1], p, y + MAD_SUB_BLOCK / MAD_STEP);
        }
        for (int x = 0; x < columns; x++) {
            double v[NB_PICTURES][3];

            for (int p = 0; p < NB_PICTURES; p++)
                describe(v[p], block_moments(top[p] + x, bottom[p] + x));
            s->appearance[y * (ptrdiff_t)columns + x] +=
                weight * (    fabs(v[MAIN][0] - v[REFERENCE][0]) +
                          2 * fabs(v[MAIN][1] - v[REFERENCE][1]) +
                              fabs(v[MAIN][2] - v[REFERENCE][2]));
        }
    }
    return 0;
}

static int appearance_sums(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const ThreadData *td   = arg;
    double *row   = s->scratch[jobnr].sample[0][0];
    const int end = ff_slice_pos(s->height, jobnr + 1, nb_jobs);

    for (int y = ff_slice_pos(s->height, jobnr, nb_jobs); y < end; y++) {
        for (int x = 0; x < s->width; x++)
            row[x] = block_value(s, s->appearance, x, y);
        s->sum[1][y] = sum_row(row, s->width);
        if (td->map[1])
            write_map_row(td->map[1], y, row, MAD_MAP_LO_SCALE, s->width);
    }
    return 0;
}

// ---- frames ----

static void detect(AVFilterContext *ctx, ThreadData *td)
{
    const MADCPUContext *s = ctx->priv;

    ff_filter_execute(ctx, lightness_rows, td, NULL, s->nb_jobs);
    ff_filter_execute(ctx, csf_columns,    td, NULL, s->nb_jobs);
    ff_filter_execute(ctx, contrast_cells, td, NULL, s->nb_jobs);
    ff_filter_execute(ctx, mask_rows,      td, NULL, s->nb_jobs);
    ff_filter_execute(ctx, error_rows,     td, NULL, s->nb_jobs);
    ff_filter_execute(ctx, detection_rows, td, NULL, s->nb_jobs);
}

static void compare_appearance(AVFilterContext *ctx, ThreadData *td)
{
    const MADCPUContext *s = ctx->priv;
    const size_t nb = (size_t)mad_nb_blocks(s->width) * mad_nb_blocks(s->height);

    memset(s->appearance, 0, nb * sizeof(*s->appearance));
    for (td->index = 0; td->index < NB_PICTURES; td->index++) {
        ff_filter_execute(ctx, value_rows,       td, NULL, s->nb_jobs);
        ff_filter_execute(ctx, spectrum_columns, td, NULL, s->nb_jobs);
    }
    for (td->scale = 0; td->scale < MAD_SCALES; td->scale++)
        for (td->orientation = 0; td->orientation < MAD_ORIENTATIONS; td->orientation++) {
            ff_filter_execute(ctx, response_columns, td, NULL, s->nb_jobs);
            ff_filter_execute(ctx, response_cells,   td, NULL, s->nb_jobs);
            ff_filter_execute(ctx, appearance_rows,  td, NULL, s->nb_jobs);
        }
    ff_filter_execute(ctx, appearance_sums, td, NULL, s->nb_jobs);
}

static int make_tables(Tables *tables, MADRange range, int depth)
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

static void free_buffers(MADCPUContext *s)
{
    for (int job = 0; s->scratch && job < s->nb_jobs; job++) {
        Scratch *scratch = &s->scratch[job];

        for (int i = 0; i < 2; i++) {
            ff_mad_tx_free(&scratch->row[i]);
            ff_mad_tx_free(&scratch->column[i]);
        }
        for (int i = 0; i < FF_ARRAY_ELEMS(scratch->line); i++)
            av_freep(&scratch->line[i]);
        for (int p = 0; p < NB_PICTURES; p++) {
            for (int i = 0; i < MAD_STEP; i++)
                av_freep(&scratch->sample[p][i]);
            for (int i = 0; i < FF_ARRAY_ELEMS(scratch->block[p]); i++)
                av_freep(&scratch->block[p][i]);
        }
        av_freep(&scratch->padded);
    }
    av_freep(&s->scratch);
    av_freep(&s->csf);
    for (int i = 0; i < MAD_SCALES; i++)
        av_freep(&s->radial[i]);
    for (int i = 0; i < MAD_ORIENTATIONS; i++)
        av_freep(&s->angular[i]);
    for (int p = 0; p < NB_PICTURES; p++) {
        av_freep(&s->spectrum[p]);
        av_freep(&s->work[p]);
        av_freep(&s->cell[p]);
    }
    av_freep(&s->error);
    av_freep(&s->mask);
    av_freep(&s->appearance);
    av_freep(&s->sum[0]);
    av_freep(&s->sum[1]);
    s->width = s->height = 0;
}

static int alloc_scratch(Scratch *scratch, int width, int height)
{
    const int longest = FFMAX(width, height);

    for (int i = 0; i < 2; i++) {
        scratch->row[i]    = ff_mad_tx_alloc(width,  i);
        scratch->column[i] = ff_mad_tx_alloc(height, i);
        if (!scratch->row[i] || !scratch->column[i])
            return AVERROR(ENOMEM);
    }
    for (int i = 0; i < FF_ARRAY_ELEMS(scratch->line); i++) {
        scratch->line[i] = av_malloc_array(longest, sizeof(*scratch->line[i]));
        if (!scratch->line[i])
            return AVERROR(ENOMEM);
    }
    for (int p = 0; p < NB_PICTURES; p++) {
        for (int i = 0; i < MAD_STEP; i++) {
            scratch->sample[p][i] = av_malloc_array(width, sizeof(*scratch->sample[p][i]));
            if (!scratch->sample[p][i])
                return AVERROR(ENOMEM);
        }
        for (int i = 0; i < FF_ARRAY_ELEMS(scratch->block[p]); i++) {
            scratch->block[p][i] = av_malloc_array(width / MAD_STEP, sizeof(*scratch->block[p][i]));
            if (!scratch->block[p][i])
                return AVERROR(ENOMEM);
        }
    }
    scratch->padded = av_malloc_array(longest + MAD_BLOCK, sizeof(*scratch->padded));
    return scratch->padded ? 0 : AVERROR(ENOMEM);
}

static double gaussian(double distance)
{
    return exp(-distance * distance / 2);
}

/// Compute the filters, with the factor that transforms there and back need.
static int filter_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const int w = s->width, h = s->height;
    const double factor = 1. / ((double)w * h);
    const double step   = ff_mad_radial_distance(1, 1, 1, h, w) - ff_mad_radial_distance(0, 1, 1, h, w);
    const int end = ff_slice_pos(w, jobnr + 1, nb_jobs);

    for (int x = ff_slice_pos(w, jobnr, nb_jobs); x < end; x++)
        for (int y = 0; y < h; y++) {
            const ptrdiff_t i   = x * s->column_stride + y;
            const double radial = ff_mad_radial_distance(0, y, x, h, w);
            const double angle  = ff_mad_angle(y, x, h, w);

            s->csf[i] = ff_mad_csf(y, x, h, w) * factor;
            for (int j = 0; j < MAD_SCALES; j++)
                s->radial[j][i] = x || y ? gaussian(radial + j * step) * factor : 0;
            for (int j = 0; j < MAD_ORIENTATIONS; j++) {
                double distance = fabs(angle - j * MAD_ANGLE_STEP);

                s->angular[j][i] = gaussian(FFMIN(distance, MAD_ANGLE_TURN - distance));
            }
        }
    return 0;
}

/**
 * Make the CSF symmetric. Only the real part of what it yields is used, and that
 * is what its symmetric part yields.
 */
static int symmetric_columns(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MADCPUContext *s = ctx->priv;
    const int w = s->width, h = s->height;
    const int end = ff_slice_pos(w / 2 + 1, jobnr + 1, nb_jobs);

    for (int x = ff_slice_pos(w / 2 + 1, jobnr, nb_jobs); x < end; x++)
        for (int y = 0; y < h; y++) {
            double *one   = s->csf + x           * s->column_stride + y;
            double *other = s->csf + (w - x) % w * s->column_stride + (h - y) % h;

            *one = *other = (*one + *other) / 2;
        }
    return 0;
}

static int alloc_buffers(AVFilterContext *ctx, int width, int height)
{
    MADCPUContext *s = ctx->priv;
    const size_t cells  = (size_t)(width / MAD_STEP) * (height / MAD_STEP);
    const size_t blocks = (size_t)mad_nb_blocks(width) * mad_nb_blocks(height);
    size_t row_size, column_size;
    int ret;

    free_buffers(s);
    // aligned for av_tx, and columns of cache lines not all in one set
    s->row_stride    = FFALIGN(width,  4) + 4;
    s->column_stride = FFALIGN(height, 4);
    row_size         = s->row_stride * height;
    column_size      = s->column_stride * width;
    s->nb_jobs       = ff_filter_get_nb_threads(ctx);

    s->scratch = av_calloc(s->nb_jobs, sizeof(*s->scratch));
    if (!s->scratch)
        return AVERROR(ENOMEM);
    for (int job = 0; job < s->nb_jobs; job++) {
        ret = alloc_scratch(&s->scratch[job], width, height);
        if (ret < 0)
            return ret;
    }
    for (int i = 0; i < MAD_SCALES; i++) {
        s->radial[i] = av_malloc_array(column_size, sizeof(*s->radial[i]));
        if (!s->radial[i])
            return AVERROR(ENOMEM);
    }
    for (int i = 0; i < MAD_ORIENTATIONS; i++) {
        s->angular[i] = av_malloc_array(column_size, sizeof(*s->angular[i]));
        if (!s->angular[i])
            return AVERROR(ENOMEM);
    }
    for (int p = 0; p < NB_PICTURES; p++) {
        s->spectrum[p] = av_malloc_array(column_size, sizeof(*s->spectrum[p]));
        s->work[p]     = av_malloc_array(row_size,    sizeof(*s->work[p]));
        s->cell[p]     = av_malloc_array(cells,       sizeof(*s->cell[p]));
        if (!s->spectrum[p] || !s->work[p] || !s->cell[p])
            return AVERROR(ENOMEM);
    }
    s->csf        = av_malloc_array(column_size, sizeof(*s->csf));
    s->error      = av_malloc_array((size_t)width * height, sizeof(*s->error));
    s->mask       = av_malloc_array(blocks, sizeof(*s->mask));
    s->appearance = av_malloc_array(blocks, sizeof(*s->appearance));
    s->sum[0]     = av_malloc_array(height, sizeof(*s->sum[0]));
    s->sum[1]     = av_malloc_array(height, sizeof(*s->sum[1]));
    if (!s->csf || !s->error || !s->mask || !s->appearance || !s->sum[0] || !s->sum[1])
        return AVERROR(ENOMEM);

    s->width  = width;
    s->height = height;
    ff_filter_execute(ctx, filter_columns,    NULL, NULL, s->nb_jobs);
    ff_filter_execute(ctx, symmetric_columns, NULL, NULL, s->nb_jobs);
    return 0;
}

/// Frames may change on the fly, where the user asked not to rebuild the graph.
static int prepare(AVFilterContext *ctx, ThreadData *td)
{
    MADCPUContext *s = ctx->priv;
    const AVFrame *main = td->picture[MAIN].frame, *reference = td->picture[REFERENCE].frame;
    int ret = ff_mad_check_size(ctx, main->width, main->height,
                                reference->width, reference->height, "scale");

    if (ret < 0)
        return ret;
    for (int i = 0; i < NB_PICTURES; i++) {
        Picture *picture = &td->picture[i];
        const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(picture->frame->format);

        if (!ff_luma_is_supported(desc)) {
            av_log(ctx, AV_LOG_ERROR, "The frame format changed to %s, which is not "
                   "supported; insert format=yuv420p before.\n", desc->name);
            return AVERROR(ENOSYS);
        }
        picture->luma   = &desc->comp[0];
        picture->tables = &s->tables[i];
        ret = make_tables(&s->tables[i], ff_mad_range(&s->common, picture->frame, desc),
                          desc->comp[0].depth);
        if (ret < 0)
            return ret;
    }
    if (main->width != s->width || main->height != s->height)
        return alloc_buffers(ctx, main->width, main->height);
    return 0;
}

/// Get the frames of the maps that have somebody to look at them.
static int get_maps(AVFilterContext *ctx, AVFrame *map[2], const AVFrame *frame)
{
    const MADCPUContext *s = ctx->priv;

    for (int i = 0, output = 1; i < 2; i++) {
        AVFilterLink *outlink;
        int ret;

        if (!(s->common.map & 1 << i))
            continue;
        outlink = ctx->outputs[output++];
        if (ff_outlink_get_status(outlink))
            continue;
        map[i] = ff_get_video_buffer(outlink, frame->width, frame->height);
        if (!map[i])
            return AVERROR(ENOMEM);
        ret = av_frame_copy_props(map[i], frame);
        if (ret < 0)
            return ret;
        map[i]->color_range = AVCOL_RANGE_JPEG;
    }
    return 0;
}

static int score_frame(AVFilterContext *ctx, ThreadData *td, AVFrame *frame, uint64_t n)
{
    MADCPUContext *s = ctx->priv;
    double sum[2] = { 0 };
    int ret;

    if ((ret = prepare(ctx, td)) < 0 ||
        (ret = get_maps(ctx, td->map, frame)) < 0)
        return ret;
    detect(ctx, td);
    compare_appearance(ctx, td);

    for (int i = 0; i < 2; i++)
        for (int y = MAD_BORDER_BEGIN; y < s->height - MAD_BORDER_END; y++)
            sum[i] += s->sum[i][y];
    return ff_mad_score(&s->common, ctx, frame, n, ctx->outputs[0]->time_base,
                        s->width, s->height, sum[0], sum[1]);
}

static int send_maps(AVFilterContext *ctx, AVFrame *map[2])
{
    const MADCPUContext *s = ctx->priv;

    for (int i = 0, output = 1; i < 2; i++) {
        AVFrame *frame = map[i];
        int ret;

        output += s->common.map >> i & 1;
        if (!frame)
            continue;
        map[i] = NULL;
        ret = ff_filter_frame(ctx->outputs[output - 1], frame);
        if (ret < 0)
            return ret;
    }
    return 0;
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    MADCPUContext *s = ctx->priv;
    ThreadData td = { 0 };
    AVFrame *main, *reference;
    uint64_t n;
    int ret = ff_framesync_dualinput_get(fs, &main, &reference);

    if (ret < 0)
        return ret;
    n = ff_score_log_count(&s->common.log, ctx, main, ctx->outputs[0]->time_base);
    ff_pair_sync_check(&s->sync, ctx, fs, reference);
    // where there is nothing to compare with, the frame passes
    if (!reference)
        return ff_filter_frame(ctx->outputs[0], main);

    td.picture[MAIN].frame      = main;
    td.picture[REFERENCE].frame = reference;
    ret = score_frame(ctx, &td, main, n);
    if (ret >= 0)
        ret = send_maps(ctx, td.map);
    if (ret < 0) {
        av_frame_free(&td.map[0]);
        av_frame_free(&td.map[1]);
        av_frame_free(&main);
        return ret;
    }
    return ff_filter_frame(ctx->outputs[0], main);
}

/// Framesync asks for frames, and ends, only for the first output.
static void serve_maps(AVFilterContext *ctx, int ended)
{
    MADCPUContext *s = ctx->priv;

    for (int i = 1; i < ctx->nb_outputs; i++) {
        AVFilterLink *outlink = ctx->outputs[i];

        if (ended && !ff_outlink_get_status(outlink))
            ff_outlink_set_status(outlink, AVERROR_EOF, AV_NOPTS_VALUE);
        if (!ended && ff_outlink_frame_wanted(outlink))
            for (int j = 0; j < ctx->nb_inputs; j++)
                if (!s->fs.in[j].have_next && !ff_outlink_get_status(ctx->inputs[j]))
                    ff_inlink_request_frame(ctx->inputs[j]);
    }
}

static int activate(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;
    int ended, ret;

    ret = ff_framesync_activate(&s->fs);
    if (ret < 0 && ret != FFERROR_NOT_READY)
        return ret;
    ended = !!ff_outlink_get_status(ctx->outputs[0]);
    serve_maps(ctx, ended);
    if (ended) {
        int err = ff_mad_finish(&s->common, ctx);

        if (err < 0)
            return err;
    }
    return ret;
}

/// Done for whichever output comes first.
static int config_sync(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;
    const unsigned nb_outputs = ctx->nb_outputs;
    int ret = ff_mad_config(&s->common, ctx, "scale");

    if (ret < 0)
        return ret;
    // framesync looks after the first output, serve_maps() after the others
    ctx->nb_outputs = 1;
    ret = ff_framesync_init_dualinput(&s->fs, ctx);
    ctx->nb_outputs = nb_outputs;
    return ret < 0 ? ret : ff_framesync_configure(&s->fs);
}

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    MADCPUContext *s = ctx->priv;
    const AVFilterLink *inlink = ctx->inputs[0];

    if (!s->fs.in) {
        int ret = config_sync(ctx);

        if (ret < 0)
            return ret;
    }
    outlink->w = inlink->w;
    outlink->h = inlink->h;
    outlink->sample_aspect_ratio = inlink->sample_aspect_ratio;
    outlink->time_base = s->fs.time_base;
    ff_filter_link(outlink)->frame_rate = ff_filter_link(ctx->inputs[0])->frame_rate;
    return 0;
}

static av_cold int init(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;

    s->fs.on_event = filter_frames;
    return ff_mad_init(&s->common, ctx, config_output);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    MADCPUContext *s = ctx->priv;

    ff_mad_uninit(&s->common, ctx);
    ff_pair_sync_report(&s->sync, ctx);
    ff_framesync_uninit(&s->fs);
    free_buffers(s);
    for (int i = 0; i < NB_PICTURES; i++) {
        av_freep(&s->tables[i].value);
        av_freep(&s->tables[i].lightness);
    }
}

static const AVFilterPad mad_inputs[] = {
    {
        .name         = "main",
        .type         = AVMEDIA_TYPE_VIDEO,
    },{
        .name         = "reference",
        .type         = AVMEDIA_TYPE_VIDEO,
    },
};

static const AVFilterPad mad_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_mad = {
    FILTER_PUBLIC(name)        = "mad",
    FILTER_PUBLIC(description) = NULL_IF_CONFIG_SMALL("Score quality against a reference (Most Apparent Distortion)."),
    FILTER_PUBLIC(priv_class)  = &mad_class,
    FILTER_PUBLIC(flags)       = AVFILTER_FLAG_SLICE_THREADS | AVFILTER_FLAG_DYNAMIC_OUTPUTS |
                                 AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size                 = sizeof(MADCPUContext),
    .preinit                   = mad_framesync_preinit,
    .init                      = init,
    .activate                  = activate,
    .uninit                    = uninit,
    FILTER_INPUTS(mad_inputs),
    FILTER_OUTPUTS(mad_outputs),
    FILTER_QUERY_FUNC2(query_formats),
};
