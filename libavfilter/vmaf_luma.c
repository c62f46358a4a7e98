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
 * ADM and motion of VMAF v1 on the CPU: rows are streamed, and of each scale only the picture of
 * the next one is kept.
 */

#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/mem.h"

#include "filters.h"
#include "vmaf_arithmetic.h"
#include "vmaf_cpu.h"

enum { REFERENCE, ENCODE, PICTURES };

/// A row of weighed coefficients, from the column left of what is summed to the one right of it.
typedef struct Row {
    int32_t *value[VMAF_ADM_PARTS][VMAF_ADM_BANDS];
    int32_t *near[VMAF_ADM_PARTS];      ///< masks around it, over the bands
    int32_t *here[VMAF_ADM_PARTS];      ///< what masks at its own place is so much more
} Row;

typedef struct Job {
    int32_t *column[2];                 ///< blurred or filtered columns
    int32_t *low;                       ///< the next scale's samples
    int32_t *band[PICTURES][VMAF_ADM_BANDS];
    int32_t *is_aligned, *threshold;
    Row row[3];                         ///< row y is in y % 3
    uint64_t cube[VMAF_ADM_SUMS][VMAF_ADM_BANDS], sad;
} Job;

struct VMAFLuma {
    int depth, has_avx2, nb_jobs;
    int32_t *image[VMAF_ADM_SCALES][PICTURES];  ///< int16_t of scale 1
    Job *job;
    VMAFMemory memory;

    // what is measured now: for motion, the encode is the frame before
    const AVFrame *frame[PICTURES];
    const VMAFADMScale *scale;
};

// ---- loops of ADM ----

#define SPLIT_COLUMNS(name, type, sum_type, shift_sum)                                      \
static av_always_inline void name(int32_t *restrict dst, const void *const line[4],         \
                                  const int tap[4], int offset, int shift, int w)           \
{                                                                                           \
    const type *a = line[0], *b = line[1], *c = line[2], *d = line[3];                      \
    const int t0 = tap[0], t1 = tap[1], t2 = tap[2], t3 = tap[3];                           \
                                                                                            \
    for (int x = 0; x < w; x++)                                                             \
        dst[x] = shift_sum((sum_type)a[x] * t0 + (sum_type)b[x] * t1 +                      \
                           (sum_type)c[x] * t2 + (sum_type)d[x] * t3 - offset, shift);      \
}

#define SHIFT_INT(sum, shift) ((sum) + ((1 << (shift)) >> 1) >> (shift))

SPLIT_COLUMNS(split_columns8,  uint8_t,  int,     SHIFT_INT)
SPLIT_COLUMNS(split_columns16, uint16_t, int,     SHIFT_INT)
SPLIT_COLUMNS(split_columns1,  int16_t,  int,     SHIFT_INT)
SPLIT_COLUMNS(split_columns2,  int32_t,  int64_t, vmaf_adm_shift)

/// Filter a row: coefficient x from src[2 * x - 1] on.
#define SPLIT_ROW(name, type, shift_sum)                                                    \
static av_always_inline void name(int32_t *restrict low, int32_t *restrict high,            \
                                  const int32_t *restrict src, int shift, int w)            \
{                                                                                           \
    static const int l[4] = VMAF_ADM_LOW, h[4] = VMAF_ADM_HIGH;                             \
                                                                                            \
    for (int x = 0; x < w; x++) {                                                           \
        const type a = src[2 * x - 1], b = src[2 * x];                                      \
        const type c = src[2 * x + 1], d = src[2 * x + 2];                                  \
                                                                                            \
        low[x]  = shift_sum(a * l[0] + b * l[1] + c * l[2] + d * l[3], shift);              \
        high[x] = shift_sum(a * h[0] + b * h[1] + c * h[2] + d * h[3], shift);              \
    }                                                                                       \
}

SPLIT_ROW(split_row0, int,     SHIFT_INT)
SPLIT_ROW(split_row,  int64_t, vmaf_adm_shift)

/// Whether reference and encode point to the same side.
#define ALIGN_ROW(name, type)                                                               \
static av_always_inline void name(int32_t *restrict dst,                                    \
                                  const int32_t *restrict rh, const int32_t *restrict rv,   \
                                  const int32_t *restrict eh, const int32_t *restrict ev, int w) \
{                                                                                           \
    for (int x = 0; x < w; x++)                                                             \
        dst[x] = vmaf_adm_is_aligned((type)rh[x] * eh[x] + (type)rv[x] * ev[x],             \
                                     (type)rh[x] * rh[x] + (type)rv[x] * rv[x],             \
                                     (type)eh[x] * eh[x] + (type)ev[x] * ev[x]);            \
}

ALIGN_ROW(align_row0, int)
ALIGN_ROW(align_row,  int64_t)

/// Split the coefficients of a band to their weighed parts, and add what these mask. Compilers
/// make vectors only of what is restricted among the parameters.
#define PART_ROW(name, kept_of, weigh, mask)                                                \
static av_always_inline void name(int32_t *restrict kept, int32_t *restrict added,          \
                                  int32_t *restrict kept_near, int32_t *restrict kept_here, \
                                  int32_t *restrict added_near,                             \
                                  int32_t *restrict added_here,                             \
                                  const int32_t *restrict reference,                        \
                                  const int32_t *restrict encode,                           \
                                  const int32_t *restrict is_aligned,                       \
                                  int band, int weight, int w)                              \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        const int part = kept_of(reference[x], encode[x], is_aligned[x]);                   \
        const int k = weigh(part, weight), a = weigh(encode[x] - part, weight);             \
        int kept_around, added_around;                                                      \
        const int kept_centre  = mask(k, band, &kept_around);                               \
        const int added_centre = mask(a, band, &added_around);                              \
                                                                                            \
        kept[x]        = k;                                                                 \
        added[x]       = a;                                                                 \
        kept_near[x]  += kept_around;                                                       \
        kept_here[x]  += kept_centre - kept_around;                                         \
        added_near[x] += added_around;                                                      \
        added_here[x] += added_centre - added_around;                                       \
    }                                                                                       \
}

#define WEIGH0(x, weight)   ((x) * (weight))
#define MASK(x, band, near) vmaf_adm_mask(x, near)

PART_ROW(part_row0, vmaf_adm_kept0, WEIGH0,         vmaf_adm_mask0)
PART_ROW(part_row,  vmaf_adm_kept,  vmaf_adm_weigh, MASK)

/// What masks: sums over 3x3.
static av_always_inline void threshold_row(int32_t *restrict dst, const int32_t *restrict above,
                                           const int32_t *restrict row,
                                           const int32_t *restrict below,
                                           const int32_t *restrict here, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = above[x - 1] + above[x] + above[x + 1] + row[x - 1] + row[x] + row[x + 1] +
                 below[x - 1] + below[x] + below[x + 1] + here[x];
}

// ---- ADM ----

/// Row y of a scale's picture.
static av_always_inline void *picture_row(const VMAFLuma *s, int scale, int w, int picture, int y)
{
    const AVFrame *frame = s->frame[picture];

    return !scale     ? frame->data[0] + y * (ptrdiff_t)frame->linesize[0] :
           scale == 1 ? (void *)((int16_t *)s->image[1][picture] + y * (size_t)w) :
                        s->image[scale][picture] + y * (size_t)w;
}

static av_always_inline void split_columns(const VMAFLuma *s, int32_t *dst,
                                           const void *const line[4], int is_high)
{
    static const int taps[2][4] = { VMAF_ADM_LOW, VMAF_ADM_HIGH };
    const int scale  = s->scale->scale, w = s->scale->width;
    const int offset = is_high ? 0 : VMAF_ADM_LOW_SUM << (s->depth - 1);

    if (!scale && s->depth == 8)
        split_columns8(dst, line, taps[is_high], offset, 8, w);
    else if (!scale)
        split_columns16(dst, line, taps[is_high], offset, s->depth, w);
    else if (scale == 1)
        split_columns1(dst, line, taps[is_high], 0, 0, w);
    else
        split_columns2(dst, line, taps[is_high], 0, 16, w);
    dst[-1] = dst[1];
    for (int i = w; i < w + 2; i++)
        dst[i] = dst[vmaf_adm_mirror(i, w)];
}

static av_always_inline void split_rows(const VMAFADMScale *sc, int32_t *low, int32_t *high,
                                        const int32_t *src)
{
    if (sc->scale)
        split_row(low, high, src, sc->scale == 2 ? 16 : 15, sc->w);
    else
        split_row0(low, high, src, 16, sc->w);
}

/// Row y of the bands of both pictures and, of a job's own, of the next scale's pictures.
static av_always_inline void make_bands(const VMAFLuma *s, Job *job, int y, int is_own,
                                        int has_detail)
{
    const VMAFADMScale *sc = s->scale;
    const int next = sc->scale + 1;

    for (int p = 0; p < PICTURES; p++) {
        int32_t **band = job->band[p];
        const void *line[4];

        for (int i = 0; i < 4; i++)
            line[i] = picture_row(s, sc->scale, sc->width, p,
                                  vmaf_adm_mirror(2 * y - 1 + i, sc->height));
        split_columns(s, job->column[0], line, 0);
        split_rows(sc, job->low, band[VMAF_ADM_V], job->column[0]);
        if (has_detail) {
            split_columns(s, job->column[1], line, 1);
            split_rows(sc, band[VMAF_ADM_H], band[VMAF_ADM_D], job->column[1]);
        }
        if (is_own && next == 1) {
            int16_t *dst = picture_row(s, next, sc->w, p, y);

            for (int x = 0; x < sc->w; x++)
                dst[x] = job->low[x];
        } else if (is_own && next < VMAF_ADM_SCALES) {
            memcpy(picture_row(s, next, sc->w, p, y), job->low, sc->w * sizeof(*job->low));
        }
    }
}

/// Row y of the parts of all bands.
static av_always_inline void make_row(const VMAFLuma *s, Job *job, int y)
{
    const VMAFADMScale *sc = s->scale;
    const Row *row = &job->row[y % 3];
    const int from = FFMAX(sc->left - 1, 0), w = FFMIN(sc->right + 1, sc->w) - from;
    int32_t *const *r = job->band[REFERENCE], *const *e = job->band[ENCODE];

    if (sc->scale)
        align_row(job->is_aligned + from, r[VMAF_ADM_H] + from, r[VMAF_ADM_V] + from,
                  e[VMAF_ADM_H] + from, e[VMAF_ADM_V] + from, w);
    else
        align_row0(job->is_aligned + from, r[VMAF_ADM_H] + from, r[VMAF_ADM_V] + from,
                   e[VMAF_ADM_H] + from, e[VMAF_ADM_V] + from, w);
    for (int part = 0; part < VMAF_ADM_PARTS; part++) {
        memset(row->near[part] + from, 0, w * sizeof(int32_t));
        memset(row->here[part] + from, 0, w * sizeof(int32_t));
    }
#define PART_ROW_OF(name, band)                                                             \
    name(row->value[VMAF_ADM_KEPT][band] + from, row->value[VMAF_ADM_ADDED][band] + from,   \
         row->near[VMAF_ADM_KEPT] + from,  row->here[VMAF_ADM_KEPT] + from,                 \
         row->near[VMAF_ADM_ADDED] + from, row->here[VMAF_ADM_ADDED] + from,                \
         r[band] + from, e[band] + from, job->is_aligned + from, band, sc->weight[band], w)
    for (int band = 0; band < VMAF_ADM_BANDS; band++)
        if (sc->scale)
            PART_ROW_OF(part_row, band);
        else if (band == VMAF_ADM_D)
            PART_ROW_OF(part_row0, VMAF_ADM_D);
        else
            PART_ROW_OF(part_row0, band);
    for (int part = 0; part < VMAF_ADM_PARTS && !sc->left; part++) {
        int32_t *near = row->near[part];

        near[-1]    = near[1];
        near[sc->w] = near[sc->w - 1];
    }
}

static av_always_inline void add_source(const VMAFADMScale *sc, Job *job)
{
    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        const int32_t *src     = job->band[REFERENCE][band];
        const int square_shift = sc->square_shift[VMAF_ADM_SOURCE][band];
        const int shift        = sc->cube_shift[VMAF_ADM_SOURCE][band];
        uint64_t sum = 0;

        if (sc->scale)
            for (int x = sc->left; x < sc->right; x++)
                sum += vmaf_adm_cube_source(src[x], square_shift, shift);
        else
            for (int x = sc->left; x < sc->right; x++)
                sum += vmaf_adm_cube_source0(src[x]);
        job->cube[VMAF_ADM_SOURCE][band] +=
            vmaf_adm_round_row(sum, sc->row_shift[VMAF_ADM_SOURCE]);
    }
}

/// Add row y of the parts, of which the rows around it are known.
static av_always_inline void add_parts(const VMAFADMScale *sc, Job *job, int y)
{
    const Row *above = &job->row[vmaf_adm_mirror(y - 1, sc->h) % 3], *row = &job->row[y % 3];
    const Row *below = &job->row[vmaf_adm_mirror(y + 1, sc->h) % 3];

    const int left = sc->left;

    for (int part = 0; part < VMAF_ADM_PARTS; part++) {
        threshold_row(job->threshold + left, above->near[!part] + left, row->near[!part] + left,
                      below->near[!part] + left, row->here[!part] + left, sc->right - left);
        for (int band = 0; band < VMAF_ADM_BANDS; band++) {
            const int32_t *value   = row->value[part][band];
            const int unit         = sc->scale ? 0 : band == VMAF_ADM_D ? 12 : 10;
            const int square_shift = sc->square_shift[part][band];
            const int shift        = sc->cube_shift[part][band];
            uint64_t sum = 0;

            for (int x = sc->left; x < sc->right; x++)
                sum += vmaf_adm_cube(value[x], (int)((uint32_t)job->threshold[x] << unit),
                                     square_shift, shift);
            job->cube[part][band] += vmaf_adm_round_row(sum, sc->row_shift[part]);
        }
    }
}

static av_always_inline int adm_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const VMAFLuma *s      = arg;
    const VMAFADMScale *sc = s->scale;
    Job *job = &s->job[jobnr];
    const int start = ff_slice_pos(sc->h, jobnr, nb_jobs);
    const int end   = ff_slice_pos(sc->h, jobnr + 1, nb_jobs);

    memset(job->cube, 0, sizeof(job->cube));
    // each row needs its neighbours, which belong to other jobs at the ends
    for (int y = FFMAX(start - 1, 0); y <= end; y++) {
        const int is_own = y >= start && y < end, has_detail = y >= sc->top - 1 && y <= sc->bottom;

        if (y < sc->h && (is_own || has_detail))
            make_bands(s, job, y, is_own, has_detail);
        if (y < sc->h && has_detail)
            make_row(s, job, y);
        if (is_own && y >= sc->top && y < sc->bottom)
            add_source(sc, job);
        if (y > start && y > sc->top && y <= sc->bottom)
            add_parts(sc, job, y - 1);
    }
    return 0;
}

VMAF_JOB_FORMS(adm_slice)

void ff_vmaf_adm(VMAFLuma *s, AVFilterContext *ctx, const AVFrame *reference,
                 const AVFrame *encode, const VMAFADMScale scale[VMAF_ADM_SCALES],
                 VMAFADMSums *sums)
{
    *sums = (VMAFADMSums){ 0 };
    s->frame[REFERENCE] = reference;
    s->frame[ENCODE]    = encode;
    for (int i = 0; i < VMAF_ADM_SCALES; i++) {
        const int nb_jobs = FFMIN(s->nb_jobs, scale[i].h);

        s->scale = &scale[i];
        ff_filter_execute(ctx, VMAF_JOB(s, adm_slice), s, NULL, nb_jobs);
        for (int job = 0; job < nb_jobs; job++)
            for (int part = 0; part < VMAF_ADM_SUMS; part++)
                for (int band = 0; band < VMAF_ADM_BANDS; band++)
                    sums->cube[i][part][band] += s->job[job].cube[part][band];
    }
}

// ---- motion ----

/// Blur the columns of the difference of five rows.
#define BLUR_COLUMNS(name, type)                                                            \
static av_always_inline void name(int32_t *restrict half, int32_t *restrict odd,            \
                                  const void *const before[5], const void *const now[5],    \
                                  int depth, int w)                                         \
{                                                                                           \
    const type *a0 = before[0], *a1 = before[1], *a2 = before[2], *a3 = before[3],          \
               *a4 = before[4];                                                             \
    const type *b0 = now[0], *b1 = now[1], *b2 = now[2], *b3 = now[3], *b4 = now[4];        \
                                                                                            \
    for (int x = 0; x < w; x++) {                                                           \
        const int d = vmaf_motion_columns(a0[x] - b0[x], a1[x] - b1[x], a2[x] - b2[x],      \
                                          a3[x] - b3[x], a4[x] - b4[x], depth);             \
                                                                                            \
        half[x] = d >> 1;                                                                   \
        odd[x]  = d & 1;                                                                    \
    }                                                                                       \
}

BLUR_COLUMNS(blur_columns8,  uint8_t)
BLUR_COLUMNS(blur_columns16, uint16_t)

static av_always_inline int motion_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const VMAFLuma *s = arg;
    Job *job    = &s->job[jobnr];
    const int w = s->frame[0]->width, h = s->frame[0]->height;
    int32_t *half = job->column[0], *odd = job->column[1];

    job->sad = 0;
    for (int y = ff_slice_pos(h, jobnr, nb_jobs); y < ff_slice_pos(h, jobnr + 1, nb_jobs); y++) {
        const void *line[PICTURES][VMAF_MOTION_TAPS];
        uint32_t sum = 0;

        for (int p = 0; p < PICTURES; p++)
            for (int i = 0; i < VMAF_MOTION_TAPS; i++)
                line[p][i] = picture_row(s, 0, w, p,
                                         vmaf_mirror(y + i - VMAF_MOTION_TAPS / 2, h));
        if (s->depth == 8)
            blur_columns8(half, odd, line[ENCODE], line[REFERENCE], 8, w);
        else
            blur_columns16(half, odd, line[ENCODE], line[REFERENCE], s->depth, w);
        for (int i = 1; i <= VMAF_MOTION_TAPS / 2; i++) {
            half[-i]        = half[i];
            odd[-i]         = odd[i];
            half[w - 1 + i] = half[w - 1 - i];
            odd[w - 1 + i]  = odd[w - 1 - i];
        }
        for (int x = 0; x < w; x++) {
            const int32_t *a = half + x, *b = odd + x;

            sum += vmaf_motion_row(vmaf_motion_taps(a[-2], a[-1], a[0], a[1], a[2]),
                                   vmaf_motion_taps(b[-2], b[-1], b[0], b[1], b[2]));
        }
        job->sad += sum;
    }
    return 0;
}

VMAF_JOB_FORMS(motion_slice)

uint64_t ff_vmaf_motion(VMAFLuma *s, AVFilterContext *ctx, const AVFrame *before,
                        const AVFrame *now)
{
    uint64_t sum = 0;

    s->frame[REFERENCE] = now;
    s->frame[ENCODE]    = before;
    ff_filter_execute(ctx, VMAF_JOB(s, motion_slice), s, NULL, s->nb_jobs);
    for (int job = 0; job < s->nb_jobs; job++)
        sum += s->job[job].sad;
    return sum;
}

// ---- set-up ----

static av_cold void init_job(VMAFMemory *m, Job *job, int w)
{
    for (int i = 0; i < 2; i++)
        job->column[i] = vmaf_alloc(m, 2 * w, sizeof(int32_t));
    job->low        = vmaf_alloc(m, w, sizeof(int32_t));
    job->is_aligned = vmaf_alloc(m, w, sizeof(int32_t));
    job->threshold  = vmaf_alloc(m, w, sizeof(int32_t));
    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        for (int p = 0; p < PICTURES; p++)
            job->band[p][band] = vmaf_alloc(m, w, sizeof(int32_t));
        for (int i = 0; i < 3 * VMAF_ADM_PARTS; i++)
            job->row[i % 3].value[i / 3][band] = vmaf_alloc(m, w, sizeof(int32_t));
    }
    for (int i = 0; i < 3 * VMAF_ADM_PARTS; i++) {
        job->row[i % 3].near[i / 3] = vmaf_alloc(m, w, sizeof(int32_t));
        job->row[i % 3].here[i / 3] = vmaf_alloc(m, w, sizeof(int32_t));
    }
}

av_cold int ff_vmaf_luma_init(VMAFLuma **ps, AVFilterContext *ctx, int width, int height,
                              int depth)
{
    VMAFLuma *s = *ps = av_mallocz(sizeof(*s));
    int w = width, h = height;

    if (!s)
        return AVERROR(ENOMEM);
    s->has_avx2 = VMAF_HAS_AVX2;
    s->depth    = depth;
    s->nb_jobs  = ff_filter_get_nb_threads(ctx);
    for (int scale = 1; scale < VMAF_ADM_SCALES; scale++) {
        w = (w + 1) / 2;
        h = (h + 1) / 2;
        for (int p = 0; p < PICTURES; p++)
            s->image[scale][p] = vmaf_alloc(&s->memory, (size_t)w * h, scale == 1 ? 2 : 4);
    }
    s->job = vmaf_alloc(&s->memory, s->nb_jobs, sizeof(*s->job));
    for (int i = 0; i < s->nb_jobs && s->job; i++)
        init_job(&s->memory, &s->job[i], (width + 1) / 2);
    return s->memory.is_short ? AVERROR(ENOMEM) : 0;
}

av_cold void ff_vmaf_luma_free(VMAFLuma **s)
{
    if (*s)
        vmaf_free(&(*s)->memory);
    av_freep(s);
}
