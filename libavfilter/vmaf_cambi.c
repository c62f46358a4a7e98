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
 * CAMBI on the CPU.
 */

#include <stdint.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/intfloat.h"
#include "libavutil/intmath.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "filters.h"
#include "vmaf_cpu.h"

#define SCALES     VMAF_CAMBI_SCALES
#define CONTRASTS  VMAF_CAMBI_CONTRASTS
#define MAX_WINDOW VMAF_CAMBI_MAX_WINDOW
#define NB_VALUES  VMAF_CAMBI_VALUES
#define MASK_SIZE  VMAF_CAMBI_MASK

#define VECTOR     16       ///< counts and contrasts are made in so many

/// Set in the samples of a scale that are masked: they may be part of a band.
#define MASKED     (1 << 15)

/// What one job works in.
typedef struct Job {
    uint16_t *source[2];            ///< row y is in y % 2, with 10 bits
    uint16_t *row[2];               ///< the same without dither
    uint8_t *flat[MASK_SIZE];       ///< whether a sample is that to the right and below
    uint8_t *nb_flat;               ///< in these rows
    uint8_t *mask;
    uint16_t *mode[3];              ///< row y is in y % 3, filtered along itself
    uint16_t *count;                ///< [values][stride] of masked samples in the window around
    float *contrast;                ///< of masked samples
    float *factor;                  ///< of a run
    int nb_contrasts;
    int bits;                       ///< of all samples
} Job;

struct VMAFCambi {
    VMAFCambiPicture picture;
    int has_avx2;
    int *column, *line;             ///< of the source, for each of the encode; NULL if equal
    float reciprocal[MAX_WINDOW * MAX_WINDOW + 1];
    int count_stride;
    int16_t *place;                 ///< 1, 2, 3...
    uint16_t *image[2];             ///< of a scale, and of the one before
    uint8_t *is_start;              ///< whether a run begins there
    int nb_jobs;
    Job *job;
    VMAFMemory memory;
};

typedef struct ThreadData {
    const VMAFCambi *s;
    const AVFrame *frame;
    const uint16_t *src;            ///< the scale before, and how it is sampled
    uint16_t *image;
    int src_w, step, w, h;          ///< of the scale
} ThreadData;

// ---- picture and mask ----

/// Every sample, or every second one.
static av_always_inline void sample(uint16_t *restrict dst, const uint16_t *restrict src, int step,
                                    int w)
{
    if (step == 1)
        memcpy(dst, src, w * sizeof(*dst));
    for (int x = 0; step == 2 && x < w; x++)
        dst[x] = src[2 * x];
}

/// Row y of the encode, with 10 bits.
static av_always_inline void get_source(const VMAFCambi *s, const AVFrame *frame, Job *job,
                                        int y)
{
    const uint8_t *src8   = frame->data[0] + (s->line ? s->line[y] : y) *
                            (ptrdiff_t)frame->linesize[0];
    const uint16_t *src16 = (const uint16_t *)src8;
    uint16_t *dst = job->source[y & 1];
    const int w = s->picture.width, depth = s->picture.depth;

    if (depth == 8) {
        for (int x = 0; x < w; x++)
            dst[x] = vmaf_cambi_value(src8[s->column ? s->column[x] : x], 8);
    } else {
        for (int x = 0; x < w; x++)
            dst[x] = src16[s->column ? s->column[x] : x];
        for (int x = 0; x < w; x++)
            job->bits |= dst[x];
        for (int x = 0; x < w && depth > 10; x++)
            dst[x] = vmaf_cambi_value(dst[x], depth);
    }
    dst[w] = dst[w - 1];
}

/// Row y of the picture that is measured. Row y + 1 of the encode must not be known.
static av_always_inline void get_row(const VMAFCambi *s, const AVFrame *frame, Job *job, int y)
{
    uint16_t *restrict dst = job->row[y & 1];
    const uint16_t *above  = job->source[y & 1], *below = above;
    const int w = s->picture.width;

    if (y + 1 < s->picture.height) {
        get_source(s, frame, job, y + 1);
        below = job->source[(y + 1) & 1];
    }
    // 16 bits are enough for four samples of 10
    if (s->picture.dithers)
        for (int x = 0; x < w; x++)
            dst[x] = (uint16_t)(above[x] + above[x + 1] + below[x] + below[x + 1]) >> 2;
    else
        memcpy(dst, above, w * sizeof(*dst));
    dst[w] = dst[w - 1];
}

/// Replace the oldest row of what is flat.
static av_always_inline void flat_row(uint8_t *restrict nb_flat, uint8_t *restrict flat,
                                      const uint16_t *restrict row,
                                      const uint16_t *restrict below, int is_inside, int w)
{
    for (int x = 0; x < w; x++) {
        const uint8_t is_flat = (row[x] == row[x + 1]) & (row[x] == below[x]) & is_inside;

        nb_flat[x] += is_flat - flat[x];
        flat[x]     = is_flat;
    }
}

/// Mask what lies where most samples are those beside and below them.
static av_always_inline void mask_row(const VMAFCambi *s, uint16_t *restrict dst,
                                      uint8_t *restrict mask, const uint8_t *restrict nb_flat,
                                      int step, int w)
{
    const uint8_t least = s->picture.mask_min;

    for (int x = 0; x < s->picture.width; x++) {
        const uint8_t *at = nb_flat + x;
        const uint8_t sum = at[-3] + at[-2] + at[-1] + at[0] + at[1] + at[2] + at[3];

        mask[x] = sum > least;
    }
    for (int x = 0; step == 1 && x < w; x++)
        dst[x] |= mask[x] * MASKED;
    for (int x = 0; step == 2 && x < w; x++)
        dst[x] |= mask[2 * x] * MASKED;
}

/// Make the first scale's picture.
static av_always_inline int prepare_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const ThreadData *td = arg;
    const VMAFCambi *s = td->s;
    Job *job = &s->job[jobnr];
    const int begin = td->h * jobnr / nb_jobs, end = td->h * (jobnr + 1) / nb_jobs;
    const int step  = td->step, w = td->w, height = s->picture.height;
    const int first = FFMAX(begin * step - MASK_SIZE / 2, 0);
    const int last  = (end - 1) * step + MASK_SIZE / 2;

    job->bits = 0;
    for (int i = 0; i < MASK_SIZE; i++)
        memset(job->flat[i], 0, s->picture.width);
    memset(job->nb_flat, 0, s->picture.width);
    get_source(s, td->frame, job, first);
    get_row(s, td->frame, job, first);
    for (int y = first; y <= last; y++) {
        const uint16_t *row = job->row[y & 1];
        const int done = y - MASK_SIZE / 2;

        if (y + 1 < height)
            get_row(s, td->frame, job, y + 1);
        flat_row(job->nb_flat, job->flat[y % MASK_SIZE], row,
                 y + 1 < height ? job->row[(y + 1) & 1] : row, y < height, s->picture.width);
        if (y % step == 0 && y / step >= begin && y / step < end)
            sample(td->image + y / step * (size_t)w, row, step, w);
        if (done >= begin * step && done % step == 0)
            mask_row(s, td->image + done / step * (size_t)w, job->mask, job->nb_flat, step, w);
    }
    return 0;
}

// ---- scales ----

static av_always_inline void mode_row(uint16_t *restrict dst, const uint16_t *restrict a,
                                      const uint16_t *restrict b, const uint16_t *restrict c,
                                      int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = vmaf_cambi_mode(a[x] & ~MASKED, b[x] & ~MASKED, c[x] & ~MASKED) |
                 (b[x] & MASKED);
}

/// Row y of a scale, which is the one before or every second sample of it, filtered along itself.
static av_always_inline void get_mode(const ThreadData *td, const Job *job, int y)
{
    uint16_t *dst = job->mode[y % 3], *row = job->source[0];
    const int w   = td->w;

    sample(row, td->src + y * td->step * (size_t)td->src_w, td->step, w);
    dst[0]     = row[0];
    dst[w - 1] = row[w - 1];
    mode_row(dst + 1, row, row + 1, row + 2, w - 2);
}

/// What is counted of a sample: NB_VALUES of one that is not masked, too dark or too bright.
static av_always_inline uint16_t counted(uint16_t sample)
{
    const uint16_t value = sample - (MASKED | VMAF_CAMBI_FIRST);

    return FFMIN(value, NB_VALUES);
}

/// Find where runs begin: samples beside each other that count as one value. One is behind the row.
static av_always_inline void find_runs(uint8_t *restrict is_start, const uint16_t *restrict row,
                                       int w)
{
    AV_WN64(is_start + (w & ~7), 0);
    for (int x = 1; x < w; x++)
        is_start[x] = counted(row[x]) != counted(row[x - 1]);
    is_start[0] = 0;
    is_start[w] = 1;
}

static av_always_inline size_t start_stride(int w)
{
    return (w & ~7) + 8;
}

/// Sample the scale before, and replace what is alone among its neighbours.
static av_always_inline int filter_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const ThreadData *td = arg;
    const Job *job  = &td->s->job[jobnr];
    const int begin = td->h * jobnr / nb_jobs, end = td->h * (jobnr + 1) / nb_jobs;
    const int w = td->w;

    for (int y = FFMAX(begin - 1, 0); y <= begin; y++)
        get_mode(td, job, y);
    for (int y = begin; y < end; y++) {
        uint16_t *row = td->image + y * (size_t)w;

        if (y + 1 < td->h)
            get_mode(td, job, y + 1);
        if (y && y < td->h - 1)
            mode_row(row, job->mode[(y + 2) % 3], job->mode[y % 3], job->mode[(y + 1) % 3], w);
        else
            sample(row, td->src + y * td->step * (size_t)td->src_w, td->step, w);
        find_runs(td->s->is_start + y * start_stride(w), row, w);
    }
    return 0;
}

/// Add a run to the counts of all windows that have some of it, or take it away.
static av_always_inline void count_run(uint16_t *restrict count, const int16_t *restrict place,
                                       int nb, int most, int sign)
{
    for (int x = 0; x < FFALIGN(nb, VECTOR); x++) {
        const int16_t after  = nb + 1 - place[x];
        const int16_t of_run = FFMIN3(place[x], after, (int16_t)most);

        count[x] += sign * FFMAX(of_run, 0);
    }
}

/// Whether one of two values is in some of n windows.
static av_always_inline int is_near(const uint16_t *above, const uint16_t *below, int n)
{
    uint64_t some = 0;

    for (int x = 0; x < n; x += 4)
        some |= AV_RN64(above + x) | AV_RN64(below + x);
    return !!some;
}

static av_always_inline void contrast_row(float *restrict dst, float *restrict factor,
                                          const uint16_t *restrict count,
                                          const uint16_t *restrict above,
                                          const uint16_t *restrict below,
                                          const float *restrict reciprocal, int step, int n)
{
    for (int x = 0; x < FFALIGN(n, VECTOR); x++)
        factor[x] = reciprocal[count[x] + FFMAX(above[x], below[x])];
    for (int x = 0; x < FFALIGN(n, VECTOR); x++) {
        const float c = step * count[x] * FFMAX(above[x], below[x]) * factor[x];

        dst[x] = FFMAX(dst[x], c);
    }
}

/// The largest contrasts of a run. If all are zero, they need not be known.
static av_always_inline void contrast_run(const VMAFCambi *s, Job *job,
                                          const uint16_t *restrict count, int value, int n)
{
    float *dst = job->contrast + job->nb_contrasts;
    int is_any = 0;

    memset(dst, 0, FFALIGN(n, VECTOR) * sizeof(*dst));
    for (int step = 1; step <= CONTRASTS; step++) {
        const uint16_t *above = count + step * s->count_stride;
        const uint16_t *below = count - step * s->count_stride;

        if (vmaf_cambi_is_seen(value, step) && is_near(above, below, n)) {
            contrast_row(dst, job->factor, count, above, below, s->reciprocal, step, n);
            is_any = 1;
        }
    }
    job->nb_contrasts += is_any * n;
}

/// Count a row, with sign -1 or 1, or measure its contrasts.
static av_always_inline void do_row(const ThreadData *td, Job *job, int y, int sign)
{
    const VMAFCambi *s = td->s;
    const uint16_t *row     = td->image + y * (size_t)td->w;
    const uint8_t *is_start = s->is_start + y * start_stride(td->w);

    for (int x = 0, start = 0; x <= td->w; x += 8)
        for (uint64_t starts = AV_RL64(is_start + x); starts; starts &= starts - 1) {
            const int end   = x + (ff_ctzll(starts) >> 3), n = end - start;
            const int value = counted(row[start]);
            uint16_t *count = job->count + (value + CONTRASTS) * (size_t)s->count_stride + start;

            if (value < NB_VALUES && sign)
                count_run(count, s->place, n + s->picture.window - 1,
                          FFMIN(n, s->picture.window), sign);
            else if (value < NB_VALUES)
                contrast_run(s, job, count + s->picture.window / 2, value + VMAF_CAMBI_FIRST, n);
            start = end;
        }
}

static av_always_inline int contrast_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const ThreadData *td = arg;
    Job *job = &td->s->job[jobnr];
    const int begin = td->h * jobnr / nb_jobs, end = td->h * (jobnr + 1) / nb_jobs;
    const int window = td->s->picture.window, around = window / 2;
    const int first  = FFMAX(begin - around, 0), last = FFMIN(end + around, td->h);

    // all counts are zero again at the end
    job->nb_contrasts = 0;
    for (int y = first; y < last + window; y++) {
        if (y - window >= first)
            do_row(td, job, y - window, -1);
        if (y < last)
            do_row(td, job, y, 1);
        if (y - around >= begin && y - around < end)
            do_row(td, job, y - around, 0);
    }
    return 0;
}

VMAF_JOB_FORMS(prepare_slice)
VMAF_JOB_FORMS(filter_slice)
VMAF_JOB_FORMS(contrast_slice)

// ---- pooling ----

/// The mean of the largest of a scale's contrasts. They are so coarse that any order has one sum.
static double pool(const VMAFCambi *s, int nb_jobs, int nb)
{
    const int nb_top = ff_vmaf_cambi_top(nb);
    uint32_t least = 0;
    double sum = 0;
    int rest = nb_top;

    // the bits of the least of them, from the highest on: those of positive floats are in order
    for (int shift = 20; shift >= 0; shift -= 10) {
        uint32_t nb_of[1 << 11] = { 0 };
        int digit = (1 << 11) - 1;

        for (int j = 0; j < nb_jobs; j++)
            for (int i = 0; i < s->job[j].nb_contrasts; i++)
                nb_of[av_float2int(s->job[j].contrast[i]) - least >> shift]++;
        while (digit && rest > nb_of[digit])
            rest -= nb_of[digit--];
        least += (uint32_t)digit << shift;
        // add what is larger, keep what has that digit
        for (int j = 0; j < nb_jobs; j++) {
            Job *job = &s->job[j];
            int nb_kept = 0;

            for (int i = 0; i < job->nb_contrasts; i++) {
                const float c = job->contrast[i];
                const int64_t above = (int64_t)av_float2int(c) - least;

                sum += above >> shift > 0 ? c : 0;
                job->contrast[nb_kept] = c;
                nb_kept += above >> shift == 0;
            }
            job->nb_contrasts = nb_kept;
        }
    }
    return (sum + (double)av_int2float(least) * rest) / nb_top;
}

int ff_vmaf_cambi(VMAFCambi *s, AVFilterContext *ctx, const AVFrame *encode, double *score)
{
    ThreadData td = {
        .s = s, .frame = encode, .step = 1 + s->picture.is_halved,
        .image = s->image[1],
        .w = s->picture.is_halved ? (s->picture.width  + 1) / 2 : s->picture.width,
        .h = s->picture.is_halved ? (s->picture.height + 1) / 2 : s->picture.height,
    };
    double mean[SCALES];
    int nb_jobs = FFMIN(s->nb_jobs, td.h), bits = 0;

    ff_filter_execute(ctx, VMAF_JOB(s, prepare_slice), &td, NULL, nb_jobs);
    for (int i = 0; i < nb_jobs; i++)
        bits |= s->job[i].bits;
    if (bits >> s->picture.depth)
        return ff_vmaf_refuse_depth(ctx, s->picture.depth);
    for (int scale = 0; scale < SCALES; scale++) {
        td.src   = s->image[!(scale & 1)];
        td.image = s->image[scale & 1];
        td.src_w = td.w;
        td.step  = scale ? 2 : 1;
        td.w     = (td.w + td.step - 1) / td.step;
        td.h     = (td.h + td.step - 1) / td.step;
        nb_jobs  = FFMIN(s->nb_jobs, td.h);
        ff_filter_execute(ctx, VMAF_JOB(s, filter_slice), &td, NULL, nb_jobs);
        ff_filter_execute(ctx, VMAF_JOB(s, contrast_slice), &td, NULL, nb_jobs);
        mean[scale] = pool(s, nb_jobs, td.w * td.h);
    }
    *score = ff_vmaf_cambi_score(&s->picture, mean);
    return 0;
}

// ---- set-up ----

static av_cold void init_job(const VMAFCambi *s, VMAFMemory *m, Job *job, int w, int h)
{
    for (int i = 0; i < 2; i++) {
        job->source[i] = vmaf_alloc(m, s->picture.width, sizeof(uint16_t));
        job->row[i]    = vmaf_alloc(m, s->picture.width, sizeof(uint16_t));
    }
    for (int i = 0; i < MASK_SIZE; i++)
        job->flat[i] = vmaf_alloc(m, s->picture.width, 1);
    job->nb_flat = vmaf_alloc(m, s->picture.width, 1);
    job->mask    = vmaf_alloc(m, s->picture.width, 1);
    for (int i = 0; i < 3; i++)
        job->mode[i] = vmaf_alloc(m, w, sizeof(uint16_t));
    job->count    = vmaf_alloc(m, (NB_VALUES + 2 * CONTRASTS) * (size_t)s->count_stride,
                               sizeof(uint16_t));
    job->factor   = vmaf_alloc(m, w, sizeof(float));
    job->contrast = vmaf_alloc(m, (h / s->nb_jobs + 1) * (size_t)w, sizeof(float));
}

av_cold int ff_vmaf_cambi_init(VMAFCambi **ps, AVFilterContext *ctx, int width, int height,
                               int depth, const VMAFCambiOptions *options)
{
    VMAFCambi *s  = *ps = av_mallocz(sizeof(*s));
    VMAFMemory *m = &s->memory;
    int w, h, ret;

    if (!s)
        return AVERROR(ENOMEM);
    if ((ret = ff_vmaf_cambi_picture(&s->picture, ctx, width, height, depth, options)) < 0)
        return ret;
    s->has_avx2 = VMAF_HAS_AVX2;
    ff_vmaf_cambi_reciprocals(s->reciprocal, s->picture.window);
    w = s->picture.is_halved ? (s->picture.width  + 1) / 2 : s->picture.width;
    h = s->picture.is_halved ? (s->picture.height + 1) / 2 : s->picture.height;
    s->count_stride = FFALIGN(w + s->picture.window + VECTOR, 32);
    s->place = vmaf_alloc(m, s->count_stride, sizeof(*s->place));
    for (int i = 0; i < s->count_stride && s->place; i++)
        s->place[i] = i + 1;
    for (int i = 0; i < 2; i++)
        s->image[i] = vmaf_alloc(m, (size_t)w * h, sizeof(*s->image[i]));
    s->is_start = vmaf_alloc(m, h * start_stride(w), 1);
    s->nb_jobs  = ff_filter_get_nb_threads(ctx);
    s->job      = vmaf_alloc(m, s->nb_jobs, sizeof(*s->job));
    for (int i = 0; i < s->nb_jobs && s->job; i++)
        init_job(s, m, &s->job[i], w, h);
    if (s->picture.width != width || s->picture.height != height) {
        s->column = vmaf_alloc(m, s->picture.width,  sizeof(*s->column));
        s->line   = vmaf_alloc(m, s->picture.height, sizeof(*s->line));
    }
    if (m->is_short)
        return AVERROR(ENOMEM);
    if (s->column) {
        ff_vmaf_cambi_positions(s->column, width,  s->picture.width);
        ff_vmaf_cambi_positions(s->line,   height, s->picture.height);
    }
    return 0;
}

av_cold void ff_vmaf_cambi_free(VMAFCambi **s)
{
    if (*s)
        vmaf_free(&(*s)->memory);
    av_freep(s);
}
