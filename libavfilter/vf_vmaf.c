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
 * VMAF v1 (v1.0.16): full-reference quality as libvmaf computes it, to the digit
 *
 * Four features go to a regression that was trained on what people said: the detail that the
 * encode kept and added (ADM3), the motion of the source, banding (CAMBI), and the change of
 * chroma's entropy (SpEED). The motion of a frame needs the next one: frames wait for it.
 *
 * All that jobs sum are integers, and what is not is computed in one order: the result is the same
 * for any number of threads.
 */

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "config.h"

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/cpu.h"
#include "libavutil/error.h"
#include "libavutil/internal.h"
#include "libavutil/intfloat.h"
#include "libavutil/intmath.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/pixfmt.h"

#include "avfilter.h"
#include "filters.h"
#include "formats.h"
#include "luma.h"
#include "pair_sync.h"
#include "vmaf.h"
#include "vmaf_cpu.h"

#define CONTRASTS  CAMBI_NUM_DIFFS
#define NB_VALUES  CAMBI_V_BAND_SIZE
#define MASK_SIZE  CAMBI_MASK_SIZE

#define VECTOR     16       ///< counts and contrasts are made in so many

/// Set in the samples of a scale that are masked: they may be part of a band.
#define MASKED     (1 << 15)

typedef struct CambiJob {
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
} CambiJob;

typedef struct Cambi {
    CAMBIDims picture;
    int *column, *line;             ///< of the source, for each of the encode; NULL if equal
    float reciprocal[CAMBI_MAX_WINDOW * CAMBI_MAX_WINDOW + 1];
    int count_stride;
    int16_t *place;                 ///< 1, 2, 3...
    uint16_t *image[2];             ///< of a scale, and of the one before
    uint8_t *is_start;              ///< whether a run begins there
    CambiJob *job;

    // what is measured now
    const AVFrame *frame;
    const uint16_t *before;         ///< the scale before, and how it is sampled
    uint16_t *now;
    int before_w, step, w, h;       ///< of the scale
} Cambi;

#define SIDE   SPEED_SIDE
#define BLOCK  SPEED_BLOCK
#define STRIDE SPEED_STRIDE
#define TAPS   SPEED_TAPS
#define STEP   SPEED_STEP

/// A plane of chroma. Each one is a job.
typedef struct Plane {
    float *sum;                     ///< w samples
    float *grid, *blurred;          ///< grid_w * grid_h samples
} Plane;

typedef struct Speed {
    const SpeedDims *picture;
    int depth;
    SpeedPosition *column, *line;
    Plane plane[VMAF_CHROMA][PAIR_NB];
    float *found;                   ///< see ff_vmaf_speed_size()
    const AVFrame *frame[PAIR_NB];  ///< that are measured now
} Speed;

typedef struct VMAFCPUContext {
    LumaInputs inputs;                  ///< the first member
    PairSync sync;
    VMAFContext common;

    int drained;                        ///< command: delay no frames any more
    int nb_jobs;
    ADMContext adm;
    MotionContext motion;
    Speed speed[VMAF_NB_PRESCALES];
    Cambi cambi[VMAF_MAX_MODELS];
    AVFrame *before[VMAF_NB_WINDOWS];   ///< the last frames of the reference

    void **memory;
    int nb_memory;
    int is_short;                       ///< not all was had
} VMAFCPUContext;

#define FLAGS (AV_OPT_FLAG_FILTERING_PARAM | AV_OPT_FLAG_VIDEO_PARAM)

static const AVOption vmaf_options[] = {
    VMAF_OPTIONS(VMAFCPUContext, common, FLAGS),
    REINIT_DRAIN(VMAFCPUContext, drained),
    PAIR_SYNC_OPTIONS(VMAFCPUContext, sync, FLAGS),
    { NULL }
};

AVFILTER_DEFINE_CLASS(vmaf);

/// Whether a format is measured, or refused with a message and not given chroma, as gray is.
static int is_accepted(const AVPixFmtDescriptor *desc)
{
    const int depth = desc->comp[0].depth;

    return luma_is_supported(desc) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) &&
           (depth == 8 || depth == 10 || depth == 12) &&
           desc->log2_chroma_w <= 1 && desc->log2_chroma_h <= desc->log2_chroma_w;
}

// ---- CAMBI: picture and mask ----

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
static av_always_inline void get_source(const Cambi *s, CambiJob *job, int y)
{
    const uint8_t *src8   = s->frame->data[0] + (s->line ? s->line[y] : y) *
                            (ptrdiff_t)s->frame->linesize[0];
    const uint16_t *src16 = (const uint16_t *)src8;
    uint16_t *dst = job->source[y & 1];
    const int w = s->picture.width, depth = s->picture.depth;

    if (depth == 8) {
        for (int x = 0; x < w; x++)
            dst[x] = cambi_to_10bit(src8[s->column ? s->column[x] : x], 8);
    } else {
        for (int x = 0; x < w; x++)
            dst[x] = get_sample(src16, s->column ? s->column[x] : x, depth);
        for (int x = 0; x < w && depth > 10; x++)
            dst[x] = cambi_to_10bit(dst[x], depth);
    }
    dst[w] = dst[w - 1];
}

/// Row y of the picture that is measured. Row y + 1 of the encode must not be known.
static av_always_inline void get_row(const Cambi *s, CambiJob *job, int y)
{
    uint16_t *restrict dst = job->row[y & 1];
    const uint16_t *above  = job->source[y & 1], *below = above;
    const int w = s->picture.width;

    if (y + 1 < s->picture.height) {
        get_source(s, job, y + 1);
        below = job->source[(y + 1) & 1];
    }
    // 16 bits are enough for four samples of 10
    if (s->picture.anti_dither)
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
static av_always_inline void mask_row(const Cambi *s, uint16_t *restrict dst,
                                      uint8_t *restrict mask, const uint8_t *restrict nb_flat,
                                      int step, int w)
{
    const uint8_t least = s->picture.mask_index;

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
    const Cambi *s = arg;
    CambiJob *job = &s->job[jobnr];
    const int begin = s->h * jobnr / nb_jobs, end = s->h * (jobnr + 1) / nb_jobs;
    const int step  = s->step, w = s->w, height = s->picture.height;
    const int first = FFMAX(begin * step - MASK_SIZE / 2, 0);
    const int last  = (end - 1) * step + MASK_SIZE / 2;

    for (int i = 0; i < MASK_SIZE; i++)
        memset(job->flat[i], 0, s->picture.width);
    memset(job->nb_flat, 0, s->picture.width);
    get_source(s, job, first);
    get_row(s, job, first);
    for (int y = first; y <= last; y++) {
        const uint16_t *row = job->row[y & 1];
        const int done = y - MASK_SIZE / 2;

        if (y + 1 < height)
            get_row(s, job, y + 1);
        flat_row(job->nb_flat, job->flat[y % MASK_SIZE], row,
                 y + 1 < height ? job->row[(y + 1) & 1] : row, y < height, s->picture.width);
        if (y % step == 0 && y / step >= begin && y / step < end)
            sample(s->now + y / step * (size_t)w, row, step, w);
        if (done >= begin * step && done % step == 0)
            mask_row(s, s->now + done / step * (size_t)w, job->mask, job->nb_flat, step, w);
    }
    return 0;
}

// ---- CAMBI: scales ----

static av_always_inline void mode_row(uint16_t *restrict dst, const uint16_t *restrict a,
                                      const uint16_t *restrict b, const uint16_t *restrict c,
                                      int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = cambi_mode3(a[x] & ~MASKED, b[x] & ~MASKED, c[x] & ~MASKED) |
                 (b[x] & MASKED);
}

/// Row y of a scale, which is the one before or every second sample of it, filtered along itself.
static av_always_inline void get_mode(const Cambi *s, const CambiJob *job, int y)
{
    uint16_t *dst = job->mode[y % 3], *row = job->source[0];
    const int w   = s->w;

    sample(row, s->before + y * s->step * (size_t)s->before_w, s->step, w);
    dst[0]     = row[0];
    dst[w - 1] = row[w - 1];
    mode_row(dst + 1, row, row + 1, row + 2, w - 2);
}

/// What is counted of a sample: NB_VALUES of one that is not masked, too dark or too bright.
static av_always_inline uint16_t counted(uint16_t sample)
{
    const uint16_t value = sample - (MASKED | CAMBI_V_BAND_BASE);

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
    const Cambi *s = arg;
    const CambiJob *job  = &s->job[jobnr];
    const int begin = s->h * jobnr / nb_jobs, end = s->h * (jobnr + 1) / nb_jobs;
    const int w = s->w;

    for (int y = FFMAX(begin - 1, 0); y <= begin; y++)
        get_mode(s, job, y);
    for (int y = begin; y < end; y++) {
        uint16_t *row = s->now + y * (size_t)w;

        if (y + 1 < s->h)
            get_mode(s, job, y + 1);
        if (y && y < s->h - 1)
            mode_row(row, job->mode[(y + 2) % 3], job->mode[y % 3], job->mode[(y + 1) % 3], w);
        else
            sample(row, s->before + y * s->step * (size_t)s->before_w, s->step, w);
        find_runs(s->is_start + y * start_stride(w), row, w);
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

/// The largest contrasts of a run.
static av_always_inline void contrast_run(const Cambi *s, CambiJob *job,
                                          const uint16_t *restrict count, int value, int n)
{
    float *dst = job->contrast + job->nb_contrasts;

    memset(dst, 0, FFALIGN(n, VECTOR) * sizeof(*dst));
    for (int step = 1; step <= CONTRASTS; step++)
        if (tvi_visible(value, step))
            contrast_row(dst, job->factor, count, count + step * s->count_stride,
                         count - step * s->count_stride, s->reciprocal, step, n);
    job->nb_contrasts += n;
}

/// Count a row, with sign -1 or 1, or measure its contrasts.
static av_always_inline void do_row(const Cambi *s, CambiJob *job, int y, int sign)
{
    const uint16_t *row     = s->now + y * (size_t)s->w;
    const uint8_t *is_start = s->is_start + y * start_stride(s->w);

    for (int x = 0, start = 0; x <= s->w; x += 8)
        for (uint64_t starts = AV_RL64(is_start + x); starts; starts &= starts - 1) {
            const int end   = x + (ff_ctzll(starts) >> 3), n = end - start;
            const int value = counted(row[start]);
            uint16_t *count = job->count + (value + CONTRASTS) * (size_t)s->count_stride + start;

            if (value < NB_VALUES && sign)
                count_run(count, s->place, n + s->picture.window - 1,
                          FFMIN(n, s->picture.window), sign);
            else if (value < NB_VALUES)
                contrast_run(s, job, count + s->picture.window / 2, value + CAMBI_V_BAND_BASE, n);
            start = end;
        }
}

static av_always_inline int contrast_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const Cambi *s = arg;
    CambiJob *job = &s->job[jobnr];
    const int begin = s->h * jobnr / nb_jobs, end = s->h * (jobnr + 1) / nb_jobs;
    const int window = s->picture.window, around = window / 2;
    const int first  = FFMAX(begin - around, 0), last = FFMIN(end + around, s->h);

    // all counts are zero again at the end
    job->nb_contrasts = 0;
    for (int y = first; y < last + window; y++) {
        if (y - window >= first)
            do_row(s, job, y - window, -1);
        if (y < last)
            do_row(s, job, y, 1);
        if (y - around >= begin && y - around < end)
            do_row(s, job, y - around, 0);
    }
    return 0;
}

SLICE_FORMS(prepare_slice)
SLICE_FORMS(filter_slice)
SLICE_FORMS(contrast_slice)

/// The mean of the largest of a scale's contrasts. They are so coarse that any order has one sum.
static double pool(const Cambi *s, int nb_jobs)
{
    const int nb_top = ff_vmaf_cambi_top(s->w * s->h);
    uint32_t least = 0, nb_of[1 << 11];
    int rest   = nb_top;
    double sum = 0;

    // the bits of the least of them, from the highest on: those of positive floats are in order
    for (int shift = 20; shift >= 0; shift -= 10) {
        uint32_t digit = shift == 20 ? 1 << 11 : 1 << 10;
        const uint32_t nb_digits = digit--;

        memset(nb_of, 0, sizeof(nb_of));
        for (int j = 0; j < nb_jobs; j++)
            for (int i = 0; i < s->job[j].nb_contrasts; i++) {
                const uint32_t of = av_float2int(s->job[j].contrast[i]) - least >> shift;

                if (of < nb_digits)
                    nb_of[of]++;
            }
        while (digit && rest > nb_of[digit])
            rest -= nb_of[digit--];
        least += digit << shift;
    }
    for (int j = 0; j < nb_jobs; j++)
        for (int i = 0; i < s->job[j].nb_contrasts; i++)
            if (av_float2int(s->job[j].contrast[i]) > least)
                sum += s->job[j].contrast[i];
    return (sum + (double)av_int2float(least) * rest) / nb_top;
}

static double measure_cambi(AVFilterContext *ctx, Cambi *s, const AVFrame *encode)
{
    const int all_jobs = ((VMAFCPUContext *)ctx->priv)->nb_jobs;
    double mean[CAMBI_SCALES];
    int nb_jobs;

    s->frame = encode;
    s->step  = 1 + s->picture.high_res_speedup;
    s->now   = s->image[1];
    s->w     = DIV_UP(s->picture.width,  s->step);
    s->h     = DIV_UP(s->picture.height, s->step);
    nb_jobs  = FFMIN(all_jobs, s->h);
    EXECUTE(ctx, prepare_slice, s, nb_jobs);
    for (int scale = 0; scale < CAMBI_SCALES; scale++) {
        s->before   = s->image[!(scale & 1)];
        s->now      = s->image[scale & 1];
        s->before_w = s->w;
        s->step     = scale ? 2 : 1;
        s->w        = DIV_UP(s->w, s->step);
        s->h        = DIV_UP(s->h, s->step);
        nb_jobs     = FFMIN(all_jobs, s->h);
        EXECUTE(ctx, filter_slice, s, nb_jobs);
        EXECUTE(ctx, contrast_slice, s, nb_jobs);
        mean[scale] = pool(s, nb_jobs);
    }
    return ff_vmaf_cambi_score(&s->picture, mean);
}

// ---- SpEED: samples ----

/// Add so much of row y of what is measured.
static av_always_inline void add_chroma(const Speed *s, float *restrict sum, float tap,
                                        const uint8_t *data, ptrdiff_t linesize, int y)
{
    const int w = s->picture->w, depth = s->depth;
    const SpeedPosition *line = &s->line[y];
    const uint8_t *a = data + line->before * linesize, *b = data + line->after * linesize;

    for (int x = 0; x < w && !s->picture->is_scaled; x++)
        sum[x] += tap * speed_center(get_sample(a, x, depth), depth);
    for (int x = 0; x < w && s->picture->is_scaled; x++) {
        const SpeedPosition *p = &s->column[x];

        sum[x] += tap * speed_bilinear(
            p->weight, line->weight,
            speed_center(get_sample(a, p->before, depth), depth),
            speed_center(get_sample(a, p->after,  depth), depth),
            speed_center(get_sample(b, p->before, depth), depth),
            speed_center(get_sample(b, p->after,  depth), depth));
    }
}

/// Blur a plane, of which only the samples of the grid are made.
static av_always_inline void make_grid(const Speed *s, Plane *p, const uint8_t *data,
                                       ptrdiff_t linesize)
{
    static const float tap[TAPS] = SPEED_BLUR;
    const SpeedDims *picture = s->picture;

    for (int y = 0; y < picture->grid_h; y++) {
        memset(p->sum, 0, picture->w * sizeof(*p->sum));
        for (int i = 0; i < TAPS; i++)
            add_chroma(s, p->sum, tap[i], data, linesize,
                       vmaf_mirror(y * STEP + i - TAPS / 2, picture->h));
        // a step is more than the taps behind it
        for (int i = 1; i <= TAPS / 2; i++)
            p->sum[-i] = p->sum[i];
        for (int x = 0; x < picture->grid_w; x++) {
            float sum = 0;

            for (int i = 0; i < TAPS; i++)
                sum += tap[i] * p->sum[x * STEP + i - TAPS / 2];
            p->grid[y * picture->grid_w + x] = sum;
        }
    }
}

/// Leave only what differs from around.
static void subtract_mean(const SpeedDims *s, Plane *p)
{
    const int w = s->grid_w, h = s->grid_h;

    for (int y = 0; y < h; y++) {
        const float *above = p->grid + vmaf_mirror(y - 1, h) * w, *row = p->grid + y * w;
        const float *below = p->grid + vmaf_mirror(y + 1, h) * w;

        for (int x = 0; x < w; x++)
            p->blurred[y * w + x] = lowpass3(above[x], row[x], below[x]);
    }
    for (int y = 0; y < h; y++) {
        const float *row = p->blurred + y * w;

        for (int x = 0; x < w; x++)
            p->grid[y * w + x] -= lowpass3(row[vmaf_mirror(x - 1, w)], row[x],
                                                    row[vmaf_mirror(x + 1, w)]);
    }
}

// ---- SpEED: statistics ----

static av_always_inline void get_block(float *restrict dst, const float *restrict src, int stride)
{
    for (int y = 0; y < SIDE; y++)
        memcpy(dst + y * SIDE, src + y * stride, SIDE * sizeof(*dst));
}

/// The covariance of the samples of all blocks, also of those that overlap.
static av_always_inline void covariance(const SpeedDims *s, const Plane *p,
                                        SpeedMatrix dst)
{
    const int w = (s->blocks_w - 1) * SIDE + 1, h = (s->nb_blocks / s->blocks_w - 1) * SIDE + 1;
    const int n = w * h;
    float mean[STRIDE] = { 0 }, block[STRIDE] = { 0 };
    double sum[BLOCK][STRIDE] = { { 0 } }, d[STRIDE];

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            get_block(block, p->grid + y * s->grid_w + x, s->grid_w);
            for (int i = 0; i < STRIDE; i++)
                mean[i] += block[i];
        }
    for (int i = 0; i < BLOCK; i++)
        mean[i] /= n;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            get_block(block, p->grid + y * s->grid_w + x, s->grid_w);
            for (int i = 0; i < STRIDE; i++)
                d[i] = (double)block[i] - mean[i];
            for (int i = 0; i < BLOCK; i++)
                for (int j = 0; j < (i | 3) + 1; j++)
                    sum[i][j] += d[i] * d[j];
        }
    for (int i = 0; i < BLOCK; i++)
        for (int j = 0; j <= i; j++)
            dst[i][j] = dst[j][i] = sum[i][j] / n;
}

/// Find whether the covariance is singular, and the contrast and entropy of each block.
static av_always_inline void measure_blocks(const SpeedDims *s, const Plane *p, float *found)
{
    SpeedWork work = { 0 };
    int is_singular = 0;

    covariance(s, p, work.cov);
    tridiagonalize(&work, 0, 1);
    tridiagonal_eigenvalues(work.eigenvalue, work.subdiag, 0);
    for (int i = 0; i < BLOCK; i++)
        is_singular |= work.eigenvalue[i] < SPEED_SINGULAR;
    found[0] = is_singular || !qr_decompose(&work, 0, 1);
    for (int i = 0; i < s->nb_blocks && !found[0]; i += SPEED_PER_LANE) {
        const float *block[SPEED_PER_LANE];
        float contrast[SPEED_PER_LANE];

        for (int b = 0; b < SPEED_PER_LANE; b++) {
            const int n = FFMIN(i + b, s->nb_blocks - 1);

            block[b] = p->grid + n / s->blocks_w * SIDE * s->grid_w + n % s->blocks_w * SIDE;
        }
        speed_variances(contrast, work.rq, block, s->grid_w);
        for (int b = 0; b < SPEED_PER_LANE && i + b < s->nb_blocks; b++) {
            float *entropy = &found[1 + s->nb_blocks + i + b];

            found[1 + i + b] = contrast[b];
            *entropy = 0;
            for (int j = 0; j < BLOCK; j++)
                *entropy += speed_entropy(work.eigenvalue[j], contrast[b]);
        }
    }
}

static av_always_inline int measure_plane(AVFilterContext *ctx, void *arg, int job, int nb_jobs)
{
    Speed *s = arg;
    const int i  = job / PAIR_NB, picture = job % PAIR_NB;
    const AVFrame *frame = s->frame[picture];
    Plane *p = &s->plane[i][picture];

    make_grid(s, p, frame->data[1 + i], frame->linesize[1 + i]);
    subtract_mean(s->picture, p);
    measure_blocks(s->picture, p, s->found + job * ff_vmaf_speed_size(s->picture));
    return 0;
}

SLICE_FORMS(measure_plane)

static void measure_speed(AVFilterContext *ctx, Speed *s, const AVFrame *reference,
                          const AVFrame *encode, double score[VMAF_CHROMA + 1])
{
    s->frame[PAIR_REFERENCE] = reference;
    s->frame[PAIR_MAIN]      = encode;
    EXECUTE(ctx, measure_plane, s, VMAF_CHROMA * PAIR_NB);
    ff_vmaf_speed_score(s->picture, s->found, score);
}

// ---- a pair ----

static void score_frame(AVFilterContext *ctx, AVFrame *main, const AVFrame *encode,
                       const AVFrame *reference)
{
    VMAFCPUContext *s = ctx->priv;
    VMAFContext *c    = &s->common;
    const int chosen  = c->nb_frames % c->n_subsample == 0;
    uint64_t sad[VMAF_NB_WINDOWS] = { 0 };
    VMAFSums sums;

    for (int i = 0; i < VMAF_NB_WINDOWS; i++)
        if (c->needs_window[i] && c->nb_run > i)
            sad[i] = ff_vmaf_motion_extract(&s->motion, ctx, s->before[i], reference);
    for (int i = 0; i < VMAF_NB_CSF && chosen; i++)
        if (c->needs_csf[i])
            ff_vmaf_adm_extract(&s->adm, ctx, encode, reference, c->adm[i], &sums.adm[i]);
    for (int i = 0; i < VMAF_NB_PRESCALES && chosen; i++)
        if (c->needs_prescale[i])
            measure_speed(ctx, &s->speed[i], reference, encode, sums.speed[i]);
    for (int i = 0; i < c->nb_models && chosen; i++)
        if (c->model[i].cambi_of == i)
            sums.cambi[i] = measure_cambi(ctx, &s->cambi[i], encode);
    ff_vmaf_add(c, main, chosen ? &sums : NULL, sad);
}

/// Get a frame in planes and with the depth that are computed with.
/// @return a reference, NULL if memory is short
static AVFrame *convert(const VMAFCPUContext *s, const AVFrame *src)
{
    static const enum AVPixelFormat planar[][3] = {
        { AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV420P   },
        { AV_PIX_FMT_YUV444P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV420P10 },
        { AV_PIX_FMT_YUV444P12, AV_PIX_FMT_YUV422P12, AV_PIX_FMT_YUV420P12 },
    };
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(src->format);
    const int depth = desc->comp[0].depth, up = s->common.depth - depth;
    AVFrame *dst;

    if (!up && !desc->comp[0].shift && desc->comp[2].plane == 2)
        return av_frame_clone(src);
    if (!(dst = av_frame_alloc()))
        return NULL;
    dst->format = planar[s->common.depth / 2 - 4][desc->log2_chroma_w + desc->log2_chroma_h];
    dst->width  = src->width;
    dst->height = src->height;
    if (av_frame_get_buffer(dst, 0) < 0)
        av_frame_free(&dst);
    for (int p = 0; p < 3 && dst; p++) {
        const AVComponentDescriptor *comp = &desc->comp[p];
        const int w = p ? AV_CEIL_RSHIFT(src->width,  desc->log2_chroma_w) : src->width;
        const int h = p ? AV_CEIL_RSHIFT(src->height, desc->log2_chroma_h) : src->height;
        // full range reaches from end to end, as swscale has it
        const int repeat = !up ? 16 : !p && !luma_is_limited(src, desc) ? 6 : 8;

        for (int y = 0; y < h; y++) {
            const uint8_t *from = src->data[comp->plane] + comp->offset +
                                  y * (ptrdiff_t)src->linesize[comp->plane];
            uint8_t *to = dst->data[p] + y * (ptrdiff_t)dst->linesize[p];

            for (int x = 0; x < w; x++, from += comp->step) {
                const int sample = depth > 8 ? AV_RN16(from) >> comp->shift : *from;

                if (s->common.depth > 8)
                    AV_WN16(to + 2 * x, sample << up | sample >> repeat);
                else
                    to[x] = sample;
            }
        }
    }
    return dst;
}

// ---- frames ----

/// Pass on the frames that have their scores. @param ended none waits for the next
static int deliver(AVFilterContext *ctx, int ended)
{
    VMAFCPUContext *s = ctx->priv;
    AVFrame *frame;
    int ret;

    while ((ret = ff_vmaf_get(&s->common, ctx, &frame, ended)) > 0)
        if ((ret = ff_filter_frame(ctx->outputs[0], frame)) < 0)
            break;
    return ret;
}

static int filter_frames(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    VMAFCPUContext *s = ctx->priv;
    AVFrame *main, *reference;
    int nb_waiting, ret = ff_pair_sync_get(&s->sync, &main, &reference);

    if (ret < 0)
        return ret;
    s->common.log.time_base = fs->time_base;
    if (reference) {
        AVFrame *encode = convert(s, main);

        reference = convert(s, reference);
        if (!encode || !reference) {
            av_frame_free(&encode);
            av_frame_free(&reference);
            av_frame_free(&main);
            return AVERROR(ENOMEM);
        }
        score_frame(ctx, main, encode, reference);
        av_frame_free(&encode);
        av_frame_free(&s->before[1]);
        s->before[1] = s->before[0];
        s->before[0] = reference;
    } else {
        // where there is nothing to compare with, the frame passes
        ff_vmaf_add(&s->common, main, NULL, NULL);
    }
    nb_waiting = s->common.nb_waiting;
    ret        = deliver(ctx, 0);
    // without a frame for the output, the next ones are to be asked for
    if (s->common.nb_waiting == nb_waiting)
        ff_filter_set_ready(ctx, 100);
    return ret;
}

static int activate(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;
    int ret, status = ff_pair_sync_activate(&s->sync);

    if (status < 0 && status != FFERROR_NOT_READY)
        return status;
    // the output has its end already, but that comes after frames that are passed on now
    if ((s->sync.fs.eof || s->drained) && (ret = deliver(ctx, 1)) < 0)
        return ret;
    return status;
}

static int process_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                           char *res, int res_len, int flags)
{
    VMAFCPUContext *s = ctx->priv;
    int ret = ff_pair_sync_command(&s->sync, ctx, cmd, arg, res, res_len, flags);

    return ret < 0 || strcmp(cmd, "drain") ? ret : deliver(ctx, 1);
}

// ---- set-up ----

/// Get zeros, to be freed with the filter; VMAF_PAD bytes before and after them are free, too.
static av_cold void *alloc(VMAFCPUContext *s, size_t nb, size_t size)
{
    uint8_t *part = av_mallocz(nb * size + 2 * VMAF_PAD);

    if (part && av_dynarray_add_nofree(&s->memory, &s->nb_memory, part) >= 0)
        return part + VMAF_PAD;
    av_free(part);
    s->is_short = 1;
    return NULL;
}

static av_cold void init_cambi(VMAFCPUContext *s, int model)
{
    Cambi *cambi = &s->cambi[model];
    const CAMBIDims *picture = &s->common.cambi[model];
    const int width = s->common.width, height = s->common.height;
    const int w = DIV_UP(picture->width,  1 + picture->high_res_speedup);
    const int h = DIV_UP(picture->height, 1 + picture->high_res_speedup);

    cambi->picture = *picture;
    ff_vmaf_cambi_reciprocals(cambi->reciprocal, picture->window);
    cambi->count_stride = FFALIGN(w + picture->window + VECTOR, 32);
    cambi->place = alloc(s, cambi->count_stride, sizeof(*cambi->place));
    for (int i = 0; i < cambi->count_stride && cambi->place; i++)
        cambi->place[i] = i + 1;
    for (int i = 0; i < 2; i++)
        cambi->image[i] = alloc(s, (size_t)w * h, sizeof(*cambi->image[i]));
    cambi->is_start = alloc(s, h * start_stride(w), 1);
    cambi->job = alloc(s, s->nb_jobs, sizeof(*cambi->job));
    for (CambiJob *job = cambi->job; job && job < cambi->job + s->nb_jobs; job++) {
        for (int i = 0; i < 2; i++) {
            job->source[i] = alloc(s, picture->width, sizeof(uint16_t));
            job->row[i]    = alloc(s, picture->width, sizeof(uint16_t));
        }
        for (int i = 0; i < MASK_SIZE; i++)
            job->flat[i] = alloc(s, picture->width, 1);
        job->nb_flat = alloc(s, picture->width, 1);
        job->mask    = alloc(s, picture->width, 1);
        for (int i = 0; i < 3; i++)
            job->mode[i] = alloc(s, w, sizeof(uint16_t));
        job->count    = alloc(s, (NB_VALUES + 2 * CONTRASTS) * (size_t)cambi->count_stride,
                              sizeof(uint16_t));
        job->factor   = alloc(s, w, sizeof(float));
        job->contrast = alloc(s, (h / s->nb_jobs + 1) * (size_t)w, sizeof(float));
    }
    if (picture->width == width && picture->height == height)
        return;
    cambi->column = alloc(s, picture->width,  sizeof(*cambi->column));
    cambi->line   = alloc(s, picture->height, sizeof(*cambi->line));
    if (s->is_short)
        return;
    ff_vmaf_cambi_positions(cambi->column, width,  picture->width);
    ff_vmaf_cambi_positions(cambi->line,   height, picture->height);
}

static av_cold void init_speed(VMAFCPUContext *s, enum VMAFPrescale prescale)
{
    Speed *speed = &s->speed[prescale];
    const SpeedDims *picture = &s->common.speed[prescale];
    const size_t grid = picture->grid_w * picture->grid_h;

    speed->picture = picture;
    speed->depth   = s->common.depth;
    for (int i = 0; i < VMAF_CHROMA * PAIR_NB; i++) {
        Plane *p = &speed->plane[i / PAIR_NB][i % PAIR_NB];

        p->sum     = alloc(s, picture->w, sizeof(float));
        p->grid    = alloc(s, grid, sizeof(float));
        p->blurred = alloc(s, grid, sizeof(float));
    }
    speed->found  = alloc(s, VMAF_CHROMA * PAIR_NB * ff_vmaf_speed_size(picture), sizeof(float));
    speed->column = alloc(s, picture->w, sizeof(*speed->column));
    speed->line   = alloc(s, picture->h, sizeof(*speed->line));
    if (s->is_short)
        return;
    ff_vmaf_speed_positions(speed->column, picture->chroma_w, picture->w);
    ff_vmaf_speed_positions(speed->line,   picture->chroma_h, picture->h);
}

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    VMAFCPUContext *s = ctx->priv;
    VMAFContext *c    = &s->common;
    int ret;

    if ((ret = ff_pair_sync_config_output(&s->sync, outlink)) < 0 ||
        (ret = ff_vmaf_config(c, ctx, &s->inputs)) < 0)
        return ret;
    s->nb_jobs = ff_filter_get_nb_threads(ctx);
    if ((ret = ff_vmaf_motion_init(&s->motion, c->width, c->depth, s->nb_jobs)) < 0 ||
        (ret = ff_vmaf_adm_init(&s->adm, c->adm[0], c->depth, s->nb_jobs)) < 0)
        return ret;
    for (int i = 0; i < VMAF_NB_PRESCALES; i++)
        if (c->needs_prescale[i])
            init_speed(s, i);
    for (int i = 0; i < c->nb_models; i++)
        if (c->model[i].cambi_of == i)
            init_cambi(s, i);
    return s->is_short ? AVERROR(ENOMEM) : 0;
}

static av_cold int init(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    s->sync.fs.on_event = filter_frames;
    s->inputs.is_wanted = is_accepted;
    s->inputs.min_size  = VMAF_MIN_SIZE;
    s->sync.output      = &s->common.log.output;
    return ff_vmaf_init(&s->common, ctx);
}

static av_cold void uninit(AVFilterContext *ctx)
{
    VMAFCPUContext *s = ctx->priv;

    ff_vmaf_uninit(&s->common, ctx, s->sync.fs.eof);
    ff_pair_sync_uninit(&s->sync, ctx);
    ff_vmaf_motion_close(&s->motion);
    ff_vmaf_adm_close(&s->adm);
    while (s->nb_memory)
        av_free(s->memory[--s->nb_memory]);
    av_freep(&s->memory);
    for (int i = 0; i < VMAF_NB_WINDOWS; i++)
        av_frame_free(&s->before[i]);
}

static const AVFilterPad vmaf_outputs[] = {
    {
        .name         = "default",
        .type         = AVMEDIA_TYPE_VIDEO,
        .config_props = config_output,
    },
};

const FFFilter ff_vf_vmaf = {
    .p.name         = "vmaf",
    .p.description  = NULL_IF_CONFIG_SMALL("Measure VMAF v1 against a reference."),
    .p.priv_class   = &vmaf_class,
    .p.flags        = AVFILTER_FLAG_METADATA_ONLY | AVFILTER_FLAG_SLICE_THREADS |
                       AVFILTER_FLAG_SUPPORT_TIMELINE_INTERNAL,
    .priv_size      = sizeof(VMAFCPUContext),
    .init           = init,
    .activate       = activate,
    .uninit         = uninit,
    .process_command = process_command,
    FILTER_INPUTS(ff_pair_sync_inputs),
    FILTER_OUTPUTS(vmaf_outputs),
    FILTER_QUERY_FUNC2(ff_luma_query_formats),
};
