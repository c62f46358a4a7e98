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

#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/mem.h"

#include "vmaf_luma.h"
#include "vmaf_motion3.h"
#include "vmaf_slice.h"

/// Samples before and after a row.
#define PAD 16

enum { REFERENCE, ENCODE, PICTURES };

/// A row of weighed coefficients, from the column left of what is summed to the one right of it.
typedef struct Row {
    int32_t *value[VMAF_ADM_PARTS][VMAF_ADM_BANDS];
    int32_t *near[VMAF_ADM_PARTS];      ///< masks around it, over the bands; padded
    int32_t *here[VMAF_ADM_PARTS];      ///< what masks at its own place is so much more
} Row;

typedef struct VMAFLumaJob {
    int32_t *column[2];                 ///< blurred or filtered columns, padded
    int32_t *low;                       ///< the next scale's samples
    int32_t *band[PICTURES][VMAF_ADM_BANDS];
    int32_t *is_aligned;
    int32_t *threshold;
    Row row[3];                         ///< row y is in y % 3
} VMAFLumaJob;

// ---- the loops ----

#define ROW static
#define FUNC(name) name ## _c
#include "vmaf_rows.h"
#undef ROW
#undef FUNC

#define ROW VMAF_AVX2 static
#define FUNC(name) name ## _avx2
#include "vmaf_rows.h"

#define ROWS(s, name) VMAF_SLICE_OF(s, name)

// ---- ADM ----

static void pad_row(int32_t *row, int w)
{
    row[-1] = row[1];
    for (int i = w; i < w + 2; i++)
        row[i] = row[vmaf_adm_mirror(i, w)];
}

/// Row y of a scale's picture.
static void *picture_row(const VMAFLumaContext *s, const VMAFADMScale *sc, const VMAFLuma *luma,
                         int picture, int y)
{
    uint8_t *image = s->image[sc->scale][picture];

    return !sc->scale ? (uint8_t *)luma[picture].data + y * luma[picture].linesize
                      : image + y * (size_t)sc->width * (sc->scale == 1 ? 2 : 4);
}

static void split_columns(const VMAFLumaContext *s, const VMAFADMScale *sc, int32_t *dst,
                          const void *const line[4], int is_high)
{
    static const int taps[2][4] = { VMAF_ADM_LOW, VMAF_ADM_HIGH };
    const int offset = is_high ? 0 : VMAF_ADM_LOW_SUM << (s->depth - 1);

    if (!sc->scale && s->depth == 8)
        ROWS(s, split_columns8)(dst, line, taps[is_high], offset, s->depth, sc->width);
    else if (!sc->scale)
        ROWS(s, split_columns16)(dst, line, taps[is_high], offset, s->depth, sc->width);
    else if (sc->scale == 1)
        ROWS(s, split_columns1)(dst, line, taps[is_high], 0, 0, sc->width);
    else
        ROWS(s, split_columns)(dst, line, taps[is_high], 0, 16, sc->width);
    pad_row(dst, sc->width);
}

static void split_row(const VMAFLumaContext *s, const VMAFADMScale *sc,
                      int32_t *low, int32_t *high, const int32_t *src)
{
    if (sc->scale)
        ROWS(s, split_row)(low, high, src, sc->scale == 2 ? 16 : 15, sc->w);
    else
        ROWS(s, split_row0)(low, high, src, 16, sc->w);
}

/// Row y of the bands of both pictures and, of a job's own, of the next scale's pictures.
static void make_bands(const VMAFLumaContext *s, const VMAFADMScale *sc, const VMAFLuma *luma,
                       VMAFLumaJob *job, int y, int is_own, int has_detail)
{
    const VMAFADMScale next = { .scale = sc->scale + 1, .width = sc->w };

    for (int p = 0; p < PICTURES; p++) {
        int32_t **band = job->band[p];
        const void *line[4];

        for (int i = 0; i < 4; i++)
            line[i] = picture_row(s, sc, luma, p, vmaf_adm_mirror(2 * y - 1 + i, sc->height));
        split_columns(s, sc, job->column[0], line, 0);
        split_row(s, sc, job->low, band[VMAF_ADM_V], job->column[0]);
        if (has_detail) {
            split_columns(s, sc, job->column[1], line, 1);
            split_row(s, sc, band[VMAF_ADM_H], band[VMAF_ADM_D], job->column[1]);
        }
        if (is_own && next.scale < VMAF_ADM_SCALES) {
            void *dst = picture_row(s, &next, NULL, p, y);

            if (next.scale == 1)
                for (int x = 0; x < sc->w; x++)
                    ((int16_t *)dst)[x] = job->low[x];
            else
                memcpy(dst, job->low, sc->w * sizeof(*job->low));
        }
    }
}

/// Row y of the parts of all bands.
static void make_row(const VMAFLumaContext *s, const VMAFADMScale *sc, VMAFLumaJob *job, int y)
{
    const Row *row = &job->row[y % 3];
    const int from = FFMAX(sc->left - 1, 0), w = FFMIN(sc->right + 1, sc->w) - from;
    int32_t *const *r = job->band[REFERENCE], *const *e = job->band[ENCODE];

    (sc->scale ? ROWS(s, align_row) : ROWS(s, align_row0))
        (job->is_aligned + from, r[VMAF_ADM_H] + from, r[VMAF_ADM_V] + from,
         e[VMAF_ADM_H] + from, e[VMAF_ADM_V] + from, w);
    for (int part = 0; part < VMAF_ADM_PARTS; part++) {
        memset(row->near[part] + from, 0, w * sizeof(int32_t));
        memset(row->here[part] + from, 0, w * sizeof(int32_t));
    }
    for (int band = 0; band < VMAF_ADM_BANDS; band++)
        // libvmaf's rounding of the diagonal is one less than a half
        (sc->scale ? ROWS(s, part_row) : ROWS(s, part_row0))
            (row->value[VMAF_ADM_KEPT][band] + from, row->value[VMAF_ADM_ADDED][band] + from,
             row->near[VMAF_ADM_KEPT] + from, row->here[VMAF_ADM_KEPT] + from,
             row->near[VMAF_ADM_ADDED] + from, row->here[VMAF_ADM_ADDED] + from,
             r[band] + from, e[band] + from, job->is_aligned + from, sc->weight[band],
             band == VMAF_ADM_D ? 17 : 15, band == VMAF_ADM_D ? 65535 : 16384, w);
    for (int part = 0; part < VMAF_ADM_PARTS && !sc->left; part++) {
        int32_t *near = row->near[part];

        near[-1]    = near[1];
        near[sc->w] = near[sc->w - 1];
    }
}

static void add_source(const VMAFLumaContext *s, const VMAFADMScale *sc, const VMAFLumaJob *job,
                       uint64_t sum[VMAF_ADM_BANDS])
{
    const int w = sc->right - sc->left;

    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        const int32_t *src = job->band[REFERENCE][band] + sc->left;

        sum[band] += vmaf_adm_round_row(
            sc->scale ? ROWS(s, source_row)(src, sc->square_shift[VMAF_ADM_SOURCE][band],
                                            sc->cube_shift[VMAF_ADM_SOURCE][band], w)
                      : ROWS(s, source_row0)(src, w), sc->row_shift[VMAF_ADM_SOURCE]);
    }
}

/// Add row y of the parts, of which the rows around it are known.
static void add_parts(const VMAFLumaContext *s, const VMAFADMScale *sc, const VMAFLumaJob *job,
                      uint64_t sum[VMAF_ADM_PARTS][VMAF_ADM_BANDS], int y)
{
    const Row *above = &job->row[vmaf_adm_mirror(y - 1, sc->h) % 3], *row = &job->row[y % 3];
    const Row *below = &job->row[vmaf_adm_mirror(y + 1, sc->h) % 3];
    const int left = sc->left, w = sc->right - left;

    for (int part = 0; part < VMAF_ADM_PARTS; part++) {
        const int masker = !part;

        ROWS(s, threshold_row)(job->threshold, above->near[masker] + left,
                               row->near[masker] + left, below->near[masker] + left,
                               row->here[masker] + left, w);
        for (int band = 0; band < VMAF_ADM_BANDS; band++)
            sum[part][band] += vmaf_adm_round_row(
                ROWS(s, cube_row)(row->value[part][band] + left, job->threshold,
                                  sc->scale ? 0 : band == VMAF_ADM_D ? 12 : 10,
                                  sc->square_shift[part][band], sc->cube_shift[part][band], w),
                sc->row_shift[part]);
    }
}

void ff_vmaf_adm_slice(const VMAFLumaContext *s, const VMAFADMScale *sc, const VMAFLuma luma[2],
                       VMAFADMSums *sums, int jobnr, int nb_jobs)
{
    uint64_t (*cube)[VMAF_ADM_BANDS] = sums->cube[sc->scale];
    VMAFLumaJob *job = &s->job[jobnr];
    const int start  = sc->h * jobnr / nb_jobs, end = sc->h * (jobnr + 1) / nb_jobs;

    memset(cube, 0, sizeof(sums->cube[sc->scale]));
    // each row needs its neighbours, which belong to other jobs at the ends
    for (int y = FFMAX(start - 1, 0); y <= end; y++) {
        const int is_own = y >= start && y < end, has_detail = y >= sc->top - 1 && y <= sc->bottom;

        if (y < sc->h && (is_own || has_detail))
            make_bands(s, sc, luma, job, y, is_own, has_detail);
        if (y < sc->h && has_detail)
            make_row(s, sc, job, y);
        if (is_own && y >= sc->top && y < sc->bottom)
            add_source(s, sc, job, cube[VMAF_ADM_SOURCE]);
        if (y > start && y > sc->top && y <= sc->bottom)
            add_parts(s, sc, job, cube, y - 1);
    }
}

// ---- motion ----

uint64_t ff_vmaf_motion_slice(const VMAFLumaContext *s, const VMAFLuma *before,
                              const VMAFLuma *now, int job, int nb_jobs)
{
    const int start = s->height * job / nb_jobs, end = s->height * (job + 1) / nb_jobs;
    int32_t *half = s->job[job].column[0], *odd = s->job[job].column[1];
    const int w = s->width;
    uint64_t sum = 0;

    for (int y = start; y < end; y++) {
        const void *a[VMAF_MOTION_TAPS], *b[VMAF_MOTION_TAPS];

        for (int i = 0; i < VMAF_MOTION_TAPS; i++) {
            const int from = vmaf_motion_mirror(y + i - VMAF_MOTION_TAPS / 2, s->height);

            a[i] = before->data + from * before->linesize;
            b[i] = now->data    + from * now->linesize;
        }
        (s->depth == 8 ? ROWS(s, blur_columns8) : ROWS(s, blur_columns16))
            (half, odd, a, b, s->depth, w);
        for (int i = 1; i <= VMAF_MOTION_TAPS / 2; i++) {
            half[-i]        = half[i];
            odd[-i]         = odd[i];
            half[w - 1 + i] = half[w - 1 - i];
            odd[w - 1 + i]  = odd[w - 1 - i];
        }
        sum += ROWS(s, motion_row)(half, odd, w);
    }
    return sum;
}

// ---- memory ----

/// Take the next samples of the memory; while there is no memory, only count them.
static int32_t *take(const VMAFLumaContext *s, size_t *used, size_t nb)
{
    int32_t *part = s->memory ? (int32_t *)s->memory + *used + PAD : NULL;

    *used += FFALIGN(nb + 2 * PAD, 16);
    return part;
}

/// Lay out the memory, and return how much it is.
static size_t lay_out(VMAFLumaContext *s)
{
    int w = s->width, h = s->height;
    size_t used = 0;

    for (int scale = 1; scale < VMAF_ADM_SCALES; scale++) {
        w = (w + 1) / 2;
        h = (h + 1) / 2;
        for (int p = 0; p < PICTURES; p++)
            s->image[scale][p] = take(s, &used, scale == 1 ? ((size_t)w * h + 1) / 2
                                                           : (size_t)w * h);
    }
    w = (s->width + 1) / 2;
    for (int i = 0; i < s->nb_jobs; i++) {
        VMAFLumaJob *job = &s->job[i];

        for (int n = 0; n < 2; n++)
            job->column[n] = take(s, &used, s->width);
        job->low        = take(s, &used, w);
        job->is_aligned = take(s, &used, w);
        job->threshold  = take(s, &used, w);
        for (int p = 0; p < PICTURES; p++)
            for (int band = 0; band < VMAF_ADM_BANDS; band++)
                job->band[p][band] = take(s, &used, w);
        for (int y = 0; y < 3; y++)
            for (int part = 0; part < VMAF_ADM_PARTS; part++) {
                for (int band = 0; band < VMAF_ADM_BANDS; band++)
                    job->row[y].value[part][band] = take(s, &used, w);
                job->row[y].near[part] = take(s, &used, w);
                job->row[y].here[part] = take(s, &used, w);
            }
    }
    return used * sizeof(int32_t);
}

av_cold int ff_vmaf_luma_init(VMAFLumaContext *s, int width, int height, int depth, int nb_jobs)
{
    *s = (VMAFLumaContext){ .width = width, .height = height, .depth = depth, .nb_jobs = nb_jobs,
                            .has_avx2 = VMAF_HAS_AVX2 };
    s->job = av_calloc(nb_jobs, sizeof(*s->job));
    if (!s->job)
        return AVERROR(ENOMEM);
    s->memory = av_malloc(lay_out(s));
    if (!s->memory)
        return AVERROR(ENOMEM);
    lay_out(s);
    return 0;
}

av_cold void ff_vmaf_luma_uninit(VMAFLumaContext *s)
{
    av_freep(&s->job);
    av_freep(&s->memory);
}
