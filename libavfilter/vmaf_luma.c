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

typedef struct Job {
    int16_t *difference[VMAF_MOTION_TAPS];      ///< of row y in y % VMAF_MOTION_TAPS
    void *column[2];                    ///< filtered columns: low and high frequencies
    int32_t *low;                       ///< the next scale's samples
    int32_t *band;                      ///< rows of VMAF_ADM_BANDS of both pictures
    int32_t *is_aligned, *threshold;
    int32_t *part[3];                   ///< rows of enum VMAFADMRow; row y is in y % 3
    uint64_t cube[VMAF_ADM_SUMS][VMAF_ADM_BANDS], sad;
} Job;

struct VMAFLuma {
    int depth, has_avx2, nb_jobs;
    VMAFADMDSP dsp;
    ptrdiff_t stride;                   ///< of bands and parts
    ptrdiff_t image_stride[VMAF_ADM_SCALES];
    int32_t *image[VMAF_ADM_SCALES][PAIR_NB];   ///< bands of low frequencies of the scale before
    int32_t *none;                      ///< what the source is masked by
    Job *job;
    VMAFMemory memory;

    // what is measured now: for motion, the main picture is the frame before
    const AVFrame *frame[PAIR_NB];
    const VMAFADMScale *scale;
};

// ---- loops of ADM ----

static const int taps[2][4] = { VMAF_ADM_LOW, VMAF_ADM_HIGH };

/// From the middle of the range. Samples with more bits than the depth are taken for something, too.
static av_always_inline void split_first_columns(int16_t *dst[2], const void *const line[4],
                                                 int depth, int is_deep, int w)
{
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < w; x++) {
            int sum = 1 << (depth - 1);

            for (int tap = 0; tap < 4; tap++) {
                const int sample = is_deep ? ((const uint16_t *)line[tap])[x]
                                           : ((const uint8_t *)line[tap])[x];

                sum += (int16_t)(sample - (1 << (depth - 1))) * taps[i][tap];
            }
            dst[i][x] = av_clip_int16(sum >> depth);
        }
}

static void split_columns8(void *low, void *high, const void *const line[4], int depth, int w)
{
    split_first_columns((int16_t *[]){ low, high }, line, depth, 0, w);
}

static void split_columns16(void *low, void *high, const void *const line[4], int depth, int w)
{
    split_first_columns((int16_t *[]){ low, high }, line, depth, 1, w);
}

static void split_columns(void *low, void *high, const void *const line[4], int shift, int w)
{
    const int32_t *const *row = (const int32_t *const *)line;

    for (int i = 0; i < 2; i++)
        for (int x = 0; x < w; x++)
            ((int32_t *)(i ? high : low))[x] =
                vmaf_adm_shift((int64_t)row[0][x] * taps[i][0] + (int64_t)row[1][x] * taps[i][1] +
                               (int64_t)row[2][x] * taps[i][2] + (int64_t)row[3][x] * taps[i][3],
                               shift);
}

#define SPLIT_ROW(name, type)                                                               \
static void name(int32_t *low, int32_t *high, const void *src, int shift, int w)            \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        const type *at = (const type *)src + 2 * x;                                         \
        int64_t sum[2] = { 0 };                                                             \
                                                                                            \
        for (int tap = 0; tap < 4; tap++) {                                                 \
            sum[0] += (int64_t)at[tap - 1] * taps[0][tap];                                  \
            sum[1] += (int64_t)at[tap - 1] * taps[1][tap];                                  \
        }                                                                                   \
        low[x]  = vmaf_adm_shift(sum[0], shift);                                            \
        high[x] = vmaf_adm_shift(sum[1], shift);                                            \
    }                                                                                       \
}

SPLIT_ROW(split_row0, int16_t)
SPLIT_ROW(split_row,  int32_t)

static int is_aligned(const int32_t *band, ptrdiff_t stride)
{
    const int64_t eh = band[VMAF_ADM_H * stride], ev = band[VMAF_ADM_V * stride];
    const int64_t rh = band[(VMAF_ADM_BANDS + VMAF_ADM_H) * stride];
    const int64_t rv = band[(VMAF_ADM_BANDS + VMAF_ADM_V) * stride];

    return vmaf_adm_is_aligned(rh * eh + rv * ev, rh * rh + rv * rv, eh * eh + ev * ev);
}

static void align_row(int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = -is_aligned(bands + x, stride);
}

/// The same in vectors of float, which decides but for what is too close to one degree.
VMAF_AVX2 static void align_row_avx2(int32_t *restrict dst, const int32_t *restrict bands,
                                     ptrdiff_t stride, int w)
{
    const int32_t *e = bands, *r = bands + VMAF_ADM_BANDS * stride;
    int is_close = 0;

    for (int x = 0; x < w; x++) {
        const float eh = e[x], ev = e[x + stride], rh = r[x], rv = r[x + stride];
        const float product = rh * eh + rv * ev;
        const float least = VMAF_ADM_COS2 * (rh * rh + rv * rv) * (eh * eh + ev * ev);
        const float more  = product * product - least;

        dst[x]    = -((product >= 0) & (more >= 0));
        is_close |= vmaf_fabsf(more) < least * 0x1p-19f;
    }
    if (is_close)
        align_row(dst, bands, stride, w);
}

static av_always_inline void part_row_of(int is_first, int32_t *dst, const int32_t *bands,
                                         ptrdiff_t stride, const int32_t *is_aligned,
                                         const uint32_t weight[VMAF_ADM_BANDS], int w)
{
    for (int x = 0; x < w; x++) {
        int near[VMAF_ADM_PARTS] = { 0 }, here[VMAF_ADM_PARTS] = { 0 };

        for (int band = 0; band < VMAF_ADM_BANDS; band++) {
            const int encode = bands[band * stride + x];
            const int source = bands[(VMAF_ADM_BANDS + band) * stride + x];
            const int kept   = vmaf_adm_kept(is_first, source, encode, is_aligned[x]);

            for (int part = 0; part < VMAF_ADM_PARTS; part++) {
                const int value = vmaf_adm_weigh(is_first, part == VMAF_ADM_KEPT ? kept
                                                           : encode - kept, weight[band]);
                int around;
                const int centre = vmaf_adm_mask(is_first, value, band, &around);

                dst[(part * VMAF_ADM_BANDS + band) * stride + x] = value;
                near[part] += around;
                here[part] += centre - around;
            }
        }
        for (int part = 0; part < VMAF_ADM_PARTS; part++) {
            dst[(VMAF_ADM_NEAR + part) * stride + x] = near[part];
            dst[(VMAF_ADM_HERE + part) * stride + x] = here[part];
        }
    }
}

static void part_row0(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                      const int32_t *is_aligned, const uint32_t *weight, int w)
{
    part_row_of(1, dst, bands, stride, is_aligned, weight, w);
}

static void part_row(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                     const int32_t *is_aligned, const uint32_t *weight, int w)
{
    part_row_of(0, dst, bands, stride, is_aligned, weight, w);
}

static uint64_t cube_row(const int32_t *value, const int32_t *threshold, const VMAFADMCube *cube,
                         int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_adm_cube(value[x], threshold[x], *cube);
    return sum;
}

av_cold void ff_vmaf_adm_dsp_init(VMAFADMDSP *dsp, int depth)
{
    *dsp = (VMAFADMDSP){
        .split_columns = { depth == 8 ? split_columns8 : split_columns16, split_columns },
        .split_row     = { split_row0, split_row },
        .align_row     = VMAF_HAS_AVX2 ? align_row_avx2 : align_row,
        .part_row      = { part_row0, part_row },
        .cube_row      = cube_row,
    };
#if ARCH_X86 && HAVE_X86ASM
    ff_vmaf_adm_dsp_init_x86(dsp, depth);
#endif
}

// ---- ADM ----

/// Row y of a scale's picture.
static void *picture_row(const VMAFLuma *s, int scale, int picture, int y)
{
    const AVFrame *frame = s->frame[picture];

    return scale ? (void *)(s->image[scale][picture] + y * s->image_stride[scale]) :
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
    const int next = sc->scale + 1, is_next = sc->scale > 0, shift = sc->scale & 1 ? 15 : 16;
    const int column_shift = !is_next ? s->depth : sc->scale == 1 ? 0 : 16;
    const size_t size = is_next ? sizeof(int32_t) : sizeof(int16_t);

    for (int p = 0; p < PAIR_NB; p++) {
        int32_t *band = job->band + p * VMAF_ADM_BANDS * s->stride;
        int32_t *low  = is_own && next < VMAF_ADM_SCALES ? picture_row(s, next, p, y) : job->low;
        const void *line[4];

        for (int i = 0; i < 4; i++)
            line[i] = picture_row(s, sc->scale, p, vmaf_adm_mirror(2 * y - 1 + i, sc->height));
        s->dsp.split_columns[is_next](job->column[0], job->column[1], line, column_shift,
                                      sc->width);
        mirror_row(job->column[0], size, sc->width);
        s->dsp.split_row[is_next](low, band + VMAF_ADM_V * s->stride, job->column[0], shift, sc->w);
        if (has_detail) {
            mirror_row(job->column[1], size, sc->width);
            s->dsp.split_row[is_next](band + VMAF_ADM_H * s->stride, band + VMAF_ADM_D * s->stride,
                                      job->column[1], shift, sc->w);
        }
    }
}

/// Row y of the parts of all bands, from the column left of what is summed to the one right of it.
static void make_parts(const VMAFLuma *s, Job *job, int y)
{
    const VMAFADMScale *sc = s->scale;
    const int from = FFMAX(sc->left - 1, 0), w = FFMIN(sc->right + 1, sc->w) - from;
    int32_t *dst = job->part[y % 3];

    s->dsp.align_row(job->is_aligned, job->band + from, s->stride, w);
    s->dsp.part_row[sc->scale > 0](dst + from, job->band + from, s->stride, job->is_aligned,
                                   sc->weight, w);
    for (int part = 0; part < VMAF_ADM_PARTS && !sc->left; part++) {
        int32_t *near = dst + (VMAF_ADM_NEAR + part) * s->stride;

        near[-1]    = near[1];
        near[sc->w] = near[sc->w - 1];
    }
}

/// Add a row of a part of all bands.
static void add_cubes(const VMAFLuma *s, Job *job, int part, const int32_t *value,
                      const int32_t *threshold)
{
    const VMAFADMScale *sc = s->scale;

    for (int band = 0; band < VMAF_ADM_BANDS; band++)
        job->cube[part][band] +=
            vmaf_adm_round_row(s->dsp.cube_row(value + band * s->stride, threshold,
                                               &sc->cube[part][band], sc->right - sc->left),
                               sc->row_shift[part]);
}

/// What masks: sums over 3x3, and what is more at the own place.
static av_always_inline void sum_masks(int32_t *restrict dst, const int32_t *restrict a,
                                       const int32_t *restrict b, const int32_t *restrict c,
                                       const int32_t *restrict here, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = a[x - 1] + a[x] + a[x + 1] + b[x - 1] + b[x] + b[x + 1] +
                 c[x - 1] + c[x] + c[x + 1] + here[x];
}

/// Add row y of the parts, of which the rows around it are known.
static av_always_inline void add_parts(const VMAFLuma *s, Job *job, int y)
{
    const VMAFADMScale *sc = s->scale;
    const int32_t *row[3];

    for (int i = 0; i < 3; i++)
        row[i] = job->part[vmaf_adm_mirror(y - 1 + i, sc->h) % 3] + sc->left;
    for (int part = 0; part < VMAF_ADM_PARTS; part++) {
        const ptrdiff_t near = (VMAF_ADM_NEAR + !part) * s->stride;

        sum_masks(job->threshold, row[0] + near, row[1] + near, row[2] + near,
                  row[1] + (VMAF_ADM_HERE + !part) * s->stride, sc->right - sc->left);
        add_cubes(s, job, part, row[1] + part * VMAF_ADM_BANDS * s->stride, job->threshold);
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
            make_parts(s, job, y);
        if (is_own && y >= sc->top && y < sc->bottom)
            add_cubes(s, job, VMAF_ADM_SOURCE,
                      job->band + PAIR_REFERENCE * VMAF_ADM_BANDS * s->stride + sc->left, s->none);
        if (y > start && y > sc->top && y <= sc->bottom)
            add_parts(s, job, y - 1);
    }
    return 0;
}

VMAF_JOB_FORMS(adm_slice)

void ff_vmaf_adm(VMAFLuma *s, AVFilterContext *ctx, const AVFrame *reference,
                 const AVFrame *encode, const VMAFADMScale scale[VMAF_ADM_SCALES],
                 VMAFADMSums *sums)
{
    *sums = (VMAFADMSums){ 0 };
    s->frame[PAIR_REFERENCE] = reference;
    s->frame[PAIR_MAIN]      = encode;
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
            const void *before = picture_row(s, 0, PAIR_MAIN, next);
            const void *now    = picture_row(s, 0, PAIR_REFERENCE, next);

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

    s->frame[PAIR_REFERENCE] = now;
    s->frame[PAIR_MAIN]      = before;
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
    job->low        = vmaf_alloc(m, stride, sizeof(int32_t));
    job->is_aligned = vmaf_alloc(m, stride, sizeof(int32_t));
    job->threshold  = vmaf_alloc(m, stride, sizeof(int32_t));
    job->band       = vmaf_alloc(m, PAIR_NB * VMAF_ADM_BANDS * stride, sizeof(int32_t));
    for (int i = 0; i < 3; i++)
        job->part[i] = vmaf_alloc(m, VMAF_ADM_ROWS * stride, sizeof(int32_t));
}

av_cold int ff_vmaf_luma_init(VMAFLuma **ps, AVFilterContext *ctx, int width, int height,
                              int depth)
{
    VMAFLuma *s = *ps = av_mallocz(sizeof(*s));
    int w = width, h = height;

    if (!s)
        return AVERROR(ENOMEM);
    ff_vmaf_adm_dsp_init(&s->dsp, depth);
    s->has_avx2 = VMAF_HAS_AVX2;
    s->depth    = depth;
    s->nb_jobs  = ff_filter_get_nb_threads(ctx);
    // rows of neighbouring bands do not share sets of a cache
    s->stride   = FFALIGN((width + 1) / 2 + 2 * VMAF_PAD / 4, 32) + 16;
    for (int scale = 1; scale < VMAF_ADM_SCALES; scale++) {
        w = (w + 1) / 2;
        h = (h + 1) / 2;
        s->image_stride[scale] = FFALIGN(w + VMAF_PAD / 4, 16);
        for (int p = 0; p < PAIR_NB; p++)
            s->image[scale][p] = vmaf_alloc(&s->memory, h * s->image_stride[scale],
                                            sizeof(int32_t));
    }
    s->none = vmaf_alloc(&s->memory, s->stride, sizeof(int32_t));
    s->job  = vmaf_alloc(&s->memory, s->nb_jobs, sizeof(*s->job));
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
