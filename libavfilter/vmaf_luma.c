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

typedef struct Job {
    int16_t *difference[VMAF_MOTION_TAPS];      ///< of row y in y % VMAF_MOTION_TAPS
    void *column[2];                    ///< filtered columns: low and high frequencies
    void *low;                          ///< the next scale's samples
    uint8_t *band;                      ///< rows of VMAF_ADM_BANDS of reference, then of encode
    int32_t *is_aligned, *threshold;
    int32_t *part[3];                   ///< rows of enum VMAFADMRow; row y is in y % 3
    uint64_t cube[VMAF_ADM_SUMS][VMAF_ADM_BANDS], sad;
} Job;

struct VMAFLuma {
    int depth, has_avx2, nb_jobs;
    VMAFADMDSP dsp[VMAF_ADM_SCALES];
    ptrdiff_t stride;                   ///< of bands and parts, in bytes
    ptrdiff_t image_stride[VMAF_ADM_SCALES];
    uint8_t *image[VMAF_ADM_SCALES][PICTURES];  ///< bands of low frequencies of the scale before
    Job *job;
    VMAFMemory memory;

    // what is measured now: for motion, the encode is the frame before
    const AVFrame *frame[PICTURES];
    const VMAFADMScale *scale;
};

// ---- loops of ADM ----

#define SHIFT_INT(sum, shift) ((sum) + ((1 << (shift)) >> 1) >> (shift))

#define SPLIT_COLUMNS(name, type, dst_type, sum_type, sample, shift, shift_sum)             \
static void name(void *low, void *high, const void *const line[4], int depth, int w)        \
{                                                                                           \
    static const int taps[2][4] = { VMAF_ADM_LOW, VMAF_ADM_HIGH };                          \
                                                                                            \
    for (int i = 0; i < 2; i++) {                                                           \
        const int *t  = taps[i];                                                            \
        dst_type *dst = i ? high : low;                                                     \
                                                                                            \
        for (int x = 0; x < w; x++) {                                                       \
            const sum_type a = sample(((const type *)line[0])[x]);                          \
            const sum_type b = sample(((const type *)line[1])[x]);                          \
            const sum_type c = sample(((const type *)line[2])[x]);                          \
            const sum_type d = sample(((const type *)line[3])[x]);                          \
                                                                                            \
            dst[x] = shift_sum(a * t[0] + b * t[1] + c * t[2] + d * t[3], shift);           \
        }                                                                                   \
    }                                                                                       \
}

/// From the middle of the range. Samples with more bits than the depth are taken for something, too.
#define CENTRED(sample)        (int16_t)((sample) - (1 << (depth - 1)))
#define AS_IS(sample)          (sample)
#define CLIP_SHIFT(sum, shift) av_clip_int16(SHIFT_INT(sum, shift))

SPLIT_COLUMNS(split_columns8,     uint8_t,  int16_t, int,     CENTRED, depth, CLIP_SHIFT)
SPLIT_COLUMNS(split_columns16,    uint16_t, int16_t, int,     CENTRED, depth, CLIP_SHIFT)
SPLIT_COLUMNS(split_columns_next, int16_t,  int32_t, int,     AS_IS,   0,     SHIFT_INT)
SPLIT_COLUMNS(split_columns_wide, int32_t,  int32_t, int64_t, AS_IS,   16,    vmaf_adm_shift)

#define SPLIT_ROW(name, type, sum_type, shift_sum)                                          \
static void name(void *low, void *high, const void *src, int shift, int w)                  \
{                                                                                           \
    static const int l[4] = VMAF_ADM_LOW, h[4] = VMAF_ADM_HIGH;                             \
                                                                                            \
    for (int x = 0; x < w; x++) {                                                           \
        const type *at = (const type *)src + 2 * x;                                         \
        const sum_type a = at[-1], b = at[0], c = at[1], d = at[2];                         \
                                                                                            \
        ((type *)low)[x]  = shift_sum(a * l[0] + b * l[1] + c * l[2] + d * l[3], shift);    \
        ((type *)high)[x] = shift_sum(a * h[0] + b * h[1] + c * h[2] + d * h[3], shift);    \
    }                                                                                       \
}

SPLIT_ROW(split_row0, int16_t, int,     SHIFT_INT)
SPLIT_ROW(split_row,  int32_t, int64_t, vmaf_adm_shift)

#define BAND(type, picture, band)                                                           \
    ((const type *)(bands + ((picture) * VMAF_ADM_BANDS + (band)) * stride))

#define ALIGN_ROW(name, type, sum_type)                                                     \
static void name(int32_t *dst, const uint8_t *bands, ptrdiff_t stride, int w)               \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        const sum_type rh = BAND(type, REFERENCE, VMAF_ADM_H)[x];                           \
        const sum_type rv = BAND(type, REFERENCE, VMAF_ADM_V)[x];                           \
        const sum_type eh = BAND(type, ENCODE, VMAF_ADM_H)[x];                              \
        const sum_type ev = BAND(type, ENCODE, VMAF_ADM_V)[x];                              \
                                                                                            \
        dst[x] = -vmaf_adm_is_aligned(rh * eh + rv * ev, rh * rh + rv * rv,                 \
                                      eh * eh + ev * ev);                                   \
    }                                                                                       \
}

ALIGN_ROW(align_row0, int16_t, int)
ALIGN_ROW(align_row,  int32_t, int64_t)

#define PART_ROW(name, type, kept_of, weigh, mask)                                          \
static void name(int32_t *dst, const uint8_t *bands, ptrdiff_t stride,                      \
                 const int32_t *is_aligned, const uint32_t weight[VMAF_ADM_BANDS], int w)   \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        int near[VMAF_ADM_PARTS] = { 0 }, here[VMAF_ADM_PARTS] = { 0 };                     \
                                                                                            \
        for (int band = 0; band < VMAF_ADM_BANDS; band++) {                                 \
            const int encode = BAND(type, ENCODE, band)[x], factor = weight[band];          \
            const int kept   = kept_of(BAND(type, REFERENCE, band)[x], encode, is_aligned[x]); \
            const int value[VMAF_ADM_PARTS] = { weigh(kept, factor),                        \
                                                weigh(encode - kept, factor) };             \
                                                                                            \
            for (int part = 0; part < VMAF_ADM_PARTS; part++) {                             \
                int around;                                                                 \
                const int centre = mask(value[part], band, &around);                        \
                                                                                            \
                vmaf_adm_row(dst, stride, VMAF_ADM_VALUE(part, band))[x] = value[part];     \
                near[part] += around;                                                       \
                here[part] += centre - around;                                              \
            }                                                                               \
        }                                                                                   \
        for (int part = 0; part < VMAF_ADM_PARTS; part++) {                                 \
            vmaf_adm_row(dst, stride, VMAF_ADM_NEAR(part))[x] = near[part];                 \
            vmaf_adm_row(dst, stride, VMAF_ADM_HERE(part))[x] = here[part];                 \
        }                                                                                   \
    }                                                                                       \
}

#define WEIGH0(x, weight)   ((x) * (weight))
#define MASK(x, band, near) vmaf_adm_mask(x, near)

PART_ROW(part_row0, int16_t, vmaf_adm_kept0, WEIGH0,         vmaf_adm_mask0)
PART_ROW(part_row,  int32_t, vmaf_adm_kept,  vmaf_adm_weigh, MASK)

static void threshold_row(int32_t *dst, const int32_t *above, const int32_t *row,
                          const int32_t *below, const int32_t *here, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = above[x - 1] + above[x] + above[x + 1] + row[x - 1] + row[x] + row[x + 1] +
                 below[x - 1] + below[x] + below[x + 1] + here[x];
}

static uint64_t cube_row(const int32_t *value, const int32_t *threshold, int unit,
                         int square_shift, int shift, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_adm_cube(value[x], (int)((uint32_t)threshold[x] << unit), square_shift, shift);
    return sum;
}

static uint64_t source_row0(const void *src, int square_shift, int shift, int w)
{
    const int16_t *value = src;
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_adm_cube_source0(value[x]);
    return sum;
}

static uint64_t source_row(const void *src, int square_shift, int shift, int w)
{
    const int32_t *value = src;
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_adm_cube_source(value[x], square_shift, shift);
    return sum;
}

#define FUNCTIONS(columns, suffix) (VMAFADMDSP){                                            \
    .split_columns = columns,                                                               \
    .split_row     = split_row ## suffix,                                                   \
    .align_row     = align_row ## suffix,                                                   \
    .part_row      = part_row ## suffix,                                                    \
    .source_row    = source_row ## suffix,                                                  \
    .threshold_row = threshold_row,                                                         \
    .cube_row      = cube_row,                                                              \
}

av_cold void ff_vmaf_adm_dsp_init(VMAFADMDSP dsp[VMAF_ADM_SCALES], int depth)
{
    dsp[0] = FUNCTIONS(depth == 8 ? split_columns8 : split_columns16, 0);
    dsp[1] = FUNCTIONS(split_columns_next, );
    for (int scale = 2; scale < VMAF_ADM_SCALES; scale++)
        dsp[scale] = FUNCTIONS(split_columns_wide, );
#if ARCH_X86 && HAVE_X86ASM
    ff_vmaf_adm_dsp_init_x86(dsp, depth);
#endif
}

// ---- ADM ----

/// Bytes of a band's sample.
static size_t band_size(const VMAFADMScale *sc)
{
    return sc->scale ? sizeof(int32_t) : sizeof(int16_t);
}

/// Row y of a scale's picture.
static uint8_t *picture_row(const VMAFLuma *s, int scale, int picture, int y)
{
    const AVFrame *frame = s->frame[picture];

    return scale ? s->image[scale][picture] + y * s->image_stride[scale] :
                   frame->data[0] + y * (ptrdiff_t)frame->linesize[0];
}

/// Make the samples beside a row.
static void mirror_row(uint8_t *row, size_t size, int w)
{
    memcpy(row - size, row + size, size);
    for (int x = w; x < w + 2; x++)
        memcpy(row + x * size, row + vmaf_adm_mirror(x, w) * size, size);
}

/// Row y of the bands of both pictures and, of a job's own, of the next scale's pictures.
static void make_bands(const VMAFLuma *s, Job *job, int y, int is_own, int has_detail)
{
    const VMAFADMScale *sc = s->scale;
    const VMAFADMDSP *dsp  = &s->dsp[sc->scale];
    const int next = sc->scale + 1, shift = sc->scale & 1 ? 15 : 16;
    const size_t size = band_size(sc);

    for (int p = 0; p < PICTURES; p++) {
        uint8_t *band = job->band + p * VMAF_ADM_BANDS * s->stride;
        void *low = is_own && next < VMAF_ADM_SCALES ? picture_row(s, next, p, y) : job->low;
        const void *line[4];

        for (int i = 0; i < 4; i++)
            line[i] = picture_row(s, sc->scale, p, vmaf_adm_mirror(2 * y - 1 + i, sc->height));
        dsp->split_columns(job->column[0], job->column[1], line, s->depth, sc->width);
        mirror_row(job->column[0], size, sc->width);
        dsp->split_row(low, band + VMAF_ADM_V * s->stride, job->column[0], shift, sc->w);
        if (has_detail) {
            mirror_row(job->column[1], size, sc->width);
            dsp->split_row(band + VMAF_ADM_H * s->stride, band + VMAF_ADM_D * s->stride,
                           job->column[1], shift, sc->w);
        }
    }
}

/// Row y of the parts of all bands, from the column left of what is summed to the one right of it.
static void make_parts(const VMAFLuma *s, Job *job, int y)
{
    const VMAFADMScale *sc = s->scale;
    const VMAFADMDSP *dsp  = &s->dsp[sc->scale];
    const int from = FFMAX(sc->left - 1, 0), w = FFMIN(sc->right + 1, sc->w) - from;
    const uint8_t *bands = job->band + from * band_size(sc);
    int32_t *dst = job->part[y % 3];

    dsp->align_row(job->is_aligned, bands, s->stride, w);
    dsp->part_row(dst + from, bands, s->stride, job->is_aligned, sc->weight, w);
    for (int part = 0; part < VMAF_ADM_PARTS && !sc->left; part++) {
        int32_t *near = vmaf_adm_row(dst, s->stride, VMAF_ADM_NEAR(part));

        near[-1]    = near[1];
        near[sc->w] = near[sc->w - 1];
    }
}

static void add_source(const VMAFLuma *s, Job *job)
{
    const VMAFADMScale *sc = s->scale;

    for (int band = 0; band < VMAF_ADM_BANDS; band++) {
        const uint64_t sum =
            s->dsp[sc->scale].source_row(job->band + band * s->stride + sc->left * band_size(sc),
                                         sc->square_shift[VMAF_ADM_SOURCE][band],
                                         sc->cube_shift[VMAF_ADM_SOURCE][band],
                                         sc->right - sc->left);

        job->cube[VMAF_ADM_SOURCE][band] +=
            vmaf_adm_round_row(sum, sc->row_shift[VMAF_ADM_SOURCE]);
    }
}

/// Add row y of the parts, of which the rows around it are known.
static void add_parts(const VMAFLuma *s, Job *job, int y)
{
    const VMAFADMScale *sc = s->scale;
    const VMAFADMDSP *dsp  = &s->dsp[sc->scale];
    const int w = sc->right - sc->left;
    int32_t *row[3];

    for (int i = 0; i < 3; i++)
        row[i] = job->part[vmaf_adm_mirror(y - 1 + i, sc->h) % 3] + sc->left;
    for (int part = 0; part < VMAF_ADM_PARTS; part++) {
        const int near = VMAF_ADM_NEAR(!part);

        dsp->threshold_row(job->threshold, vmaf_adm_row(row[0], s->stride, near),
                           vmaf_adm_row(row[1], s->stride, near),
                           vmaf_adm_row(row[2], s->stride, near),
                           vmaf_adm_row(row[1], s->stride, VMAF_ADM_HERE(!part)), w);
        for (int band = 0; band < VMAF_ADM_BANDS; band++) {
            const int unit = sc->scale ? 0 : band == VMAF_ADM_D ? 12 : 10;
            const uint64_t sum =
                dsp->cube_row(vmaf_adm_row(row[1], s->stride, VMAF_ADM_VALUE(part, band)),
                              job->threshold, unit, sc->square_shift[part][band],
                              sc->cube_shift[part][band], w);

            job->cube[part][band] += vmaf_adm_round_row(sum, sc->row_shift[part]);
        }
    }
}

static int adm_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
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
            make_parts(s, job, y);
        if (is_own && y >= sc->top && y < sc->bottom)
            add_source(s, job);
        if (y > start && y > sc->top && y <= sc->bottom)
            add_parts(s, job, y - 1);
    }
    return 0;
}

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
        ff_filter_execute(ctx, adm_slice, s, NULL, nb_jobs);
        for (int job = 0; job < nb_jobs; job++)
            for (int part = 0; part < VMAF_ADM_SUMS; part++)
                for (int band = 0; band < VMAF_ADM_BANDS; band++)
                    sums->cube[i][part][band] += s->job[job].cube[part][band];
    }
}

// ---- motion ----

#define DIFFERENCE(name, type)                                                              \
static av_always_inline void name(int16_t *restrict dst, const type *restrict before,       \
                                  const type *restrict now, int w)                          \
{                                                                                           \
    for (int x = 0; x < w; x++)                                                             \
        dst[x] = before[x] - now[x];                                                        \
}

DIFFERENCE(difference8,  uint8_t)
DIFFERENCE(difference16, uint16_t)

static av_always_inline void blur_columns(int32_t *restrict dst, const int16_t *restrict a,
                                          const int16_t *restrict b, const int16_t *restrict c,
                                          const int16_t *restrict d, const int16_t *restrict e,
                                          int depth, int w)
{
    for (int x = 0; x < w; x++) {
        const int16_t ae = a[x] + e[x], bd = b[x] + d[x];

        dst[x] = vmaf_motion_columns(ae, bd, c[x], 0, 0, depth);
    }
}

static av_always_inline uint32_t add_row(const int32_t *src, int w)
{
    uint32_t sum = 0;

    for (int x = 0; x < w; x++) {
        const int32_t *at = src + x;    // with src[x - 2] clang makes no vectors

        sum += vmaf_motion_row(at[-2], at[-1], at[0], at[1], at[2]);
    }
    return sum;
}

static av_always_inline int motion_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const VMAFLuma *s = arg;
    Job *job    = &s->job[jobnr];
    const int w = s->frame[0]->width, h = s->frame[0]->height;
    const int begin = ff_slice_pos(h, jobnr, nb_jobs), end = ff_slice_pos(h, jobnr + 1, nb_jobs);
    int32_t *column = job->column[0];

    job->sad = 0;
    for (int next = FFMAX(begin - VMAF_MOTION_TAPS / 2, 0), y = begin; y < end; y++) {
        const int16_t *row[VMAF_MOTION_TAPS];

        for (; next < FFMIN(y + VMAF_MOTION_TAPS / 2 + 1, h); next++) {
            int16_t *dst = job->difference[next % VMAF_MOTION_TAPS];
            const void *before = picture_row(s, 0, ENCODE, next);
            const void *now    = picture_row(s, 0, REFERENCE, next);

            if (s->depth == 8)
                difference8(dst, before, now, w);
            else
                difference16(dst, before, now, w);
        }
        for (int i = 0; i < VMAF_MOTION_TAPS; i++)
            row[i] = job->difference[vmaf_mirror(y + i - VMAF_MOTION_TAPS / 2, h) %
                                     VMAF_MOTION_TAPS];
        blur_columns(column, row[0], row[1], row[2], row[3], row[4], s->depth, w);
        for (int i = 1; i <= VMAF_MOTION_TAPS / 2; i++) {
            column[-i]        = column[i];
            column[w - 1 + i] = column[w - 1 - i];
        }
        job->sad += add_row(column, w);
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

static av_cold void init_job(VMAFMemory *m, Job *job, int w, ptrdiff_t stride)
{
    for (int i = 0; i < VMAF_MOTION_TAPS; i++)
        job->difference[i] = vmaf_alloc(m, w, sizeof(int16_t));
    for (int i = 0; i < 2; i++)
        job->column[i] = vmaf_alloc(m, w, sizeof(int32_t));
    job->low        = vmaf_alloc(m, 1, stride);
    job->is_aligned = vmaf_alloc(m, 1, stride);
    job->threshold  = vmaf_alloc(m, 1, stride);
    job->band       = vmaf_alloc(m, PICTURES * VMAF_ADM_BANDS, stride);
    for (int i = 0; i < 3; i++)
        job->part[i] = vmaf_alloc(m, VMAF_ADM_ROWS, stride);
}

av_cold int ff_vmaf_luma_init(VMAFLuma **ps, AVFilterContext *ctx, int width, int height,
                              int depth)
{
    VMAFLuma *s = *ps = av_mallocz(sizeof(*s));
    int w = width, h = height;

    if (!s)
        return AVERROR(ENOMEM);
    ff_vmaf_adm_dsp_init(s->dsp, depth);
    s->has_avx2 = VMAF_HAS_AVX2;
    s->depth    = depth;
    s->nb_jobs  = ff_filter_get_nb_threads(ctx);
    // rows of neighbouring bands do not share sets of a cache
    s->stride   = FFALIGN((width + 1) / 2 * sizeof(int32_t) + 2 * VMAF_PAD, 128) + 64;
    for (int scale = 1; scale < VMAF_ADM_SCALES; scale++) {
        w = (w + 1) / 2;
        h = (h + 1) / 2;
        s->image_stride[scale] = FFALIGN(w * (scale == 1 ? 2 : 4) + VMAF_PAD, VMAF_PAD);
        for (int p = 0; p < PICTURES; p++)
            s->image[scale][p] = vmaf_alloc(&s->memory, h, s->image_stride[scale]);
    }
    s->job = vmaf_alloc(&s->memory, s->nb_jobs, sizeof(*s->job));
    for (int i = 0; i < s->nb_jobs && s->job; i++)
        init_job(&s->memory, &s->job[i], width, s->stride);
    return s->memory.is_short ? AVERROR(ENOMEM) : 0;
}

av_cold void ff_vmaf_luma_free(VMAFLuma **s)
{
    if (*s)
        vmaf_free(&(*s)->memory);
    av_freep(s);
}
