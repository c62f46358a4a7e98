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

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/cpu.h"
#include "libavutil/error.h"
#include "libavutil/intfloat.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"

#include "filters.h"
#include "shared_arith.h"
#include "vmaf_cambi.h"
#include "vmaf_cambi_template.c"

#define CAMBI_MIN_SIZE 216              ///< least size of the longer side
#define CAMBI_HIGH_RES (1920 * 1080)    ///< cambi_high_res_speedup: samples of a frame

av_cold void ff_vmaf_cambi_dsp_init(CAMBIDSPContext *dsp)
{
    *dsp = row_functions;
#if HAVE_AVX2
    if (av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
        ff_vmaf_cambi_dsp_init_avx2(dsp);
#endif
}

// ---- image and mask ----

/// Copy every sample of a row, or every second one.
static void subsample(const CAMBIContext *s, uint16_t *dst, const uint16_t *src, int step, int w)
{
    if (step == 1)
        memcpy(dst, src, w * sizeof(*dst));
    else
        s->dsp.subsample(dst, src, w);
}

/// Read row y of the encode, with 10 bits.
static void get_source(const CAMBIContext *s, CAMBISlice *slice, int y)
{
    uint16_t *dst = slice->source[y & 1];
    const int w   = s->dims.width;

    s->dsp.source(dst, s->frame->data[0] + (s->src_y ? s->src_y[y] : y) *
                                           (ptrdiff_t)s->frame->linesize[0],
                  s->src_x, s->dims.depth, s->dims.shift, w);
    dst[w] = dst[w - 1];
}

/// Make row y of the image: libvmaf's anti_dithering_filter(). Reads row y + 1 of the encode.
static void get_image(const CAMBIContext *s, CAMBISlice *slice, int y)
{
    uint16_t *dst = slice->row[y & 1];
    const uint16_t *above = slice->source[y & 1], *below = above;
    const int w = s->dims.width;

    if (y + 1 < s->dims.height) {
        get_source(s, slice, y + 1);
        below = slice->source[(y + 1) & 1];
    }
    if (s->dims.anti_dither)
        s->dsp.anti_dither(dst, above, below, w);
    else
        memcpy(dst, above, w * sizeof(*dst));
    dst[w] = dst[w - 1];
}

/// Make the image of the first scale, with its mask.
static int image_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const CAMBIContext *s = arg;
    CAMBISlice *slice = &s->slice[jobnr];
    const int begin = s->h * jobnr / nb_jobs, end = s->h * (jobnr + 1) / nb_jobs;
    const int step  = s->step, w = s->w, height = s->dims.height;
    const int first = FFMAX(begin * step - CAMBI_MASK_SIZE / 2, 0);
    const int last  = (end - 1) * step + CAMBI_MASK_SIZE / 2;

    for (int i = 0; i < CAMBI_MASK_SIZE; i++)
        memset(slice->zero_derivative[i], 0, s->dims.width);
    memset(slice->nb_zero_derivative, 0, s->dims.width);
    get_source(s, slice, first);
    get_image(s, slice, first);
    for (int y = first; y <= last; y++) {
        const uint16_t *row = slice->row[y & 1];
        const int done = y - CAMBI_MASK_SIZE / 2;

        if (y + 1 < height)
            get_image(s, slice, y + 1);
        s->dsp.zero_derivative(slice->nb_zero_derivative,
                               slice->zero_derivative[y % CAMBI_MASK_SIZE], row,
                               y + 1 < height ? slice->row[(y + 1) & 1] : row, y < height,
                               s->dims.width);
        if (y % step == 0 && y / step >= begin && y / step < end)
            subsample(s, s->dst + y / step * (size_t)w, row, step, w);
        if (done >= begin * step && done % step == 0)
            s->dsp.mask(s->dst + done / step * (size_t)w, slice->mask, slice->nb_zero_derivative,
                        s->dims.mask_index, step, w);
    }
    return 0;
}

// ---- pooling of the largest c-values ----

/// Add c-values to the histogram of a slice.
static void add_c_values(CAMBISlice *slice, const float *c_values, int nb)
{
    for (int i = 0; i < nb; i++) {
        const int bin = (int)(av_float2int(c_values[i]) >> CAMBI_C_SHIFT) - CAMBI_C_BASE;

        slice->c_hist[FFMAX(bin, 0)]++;
    }
}

/// Find the bin of the least c-value that is pooled.
static void find_threshold_bin(CAMBIContext *s)
{
    int bin = CAMBI_C_BINS;

    s->nb_top = s->nb_remaining = ff_vmaf_cambi_top(s->w * s->h);
    while (--bin) {
        int nb = 0;

        for (int j = 0; j < s->nb_slices; j++)
            nb += s->slice[j].c_hist[bin];
        if (nb >= s->nb_remaining)
            break;
        s->nb_remaining -= nb;
    }
    s->threshold_bin = bin;
}

/// Sum up the c-values above the threshold's bin, and collect those of the bin.
static void split_c_values(const CAMBIContext *s, CAMBISlice *slice)
{
    // in the order of the floats; zeros are not collected, as they add nothing
    const uint32_t end   = s->threshold_bin + 1 + CAMBI_C_BASE << CAMBI_C_SHIFT;
    const uint32_t begin = s->threshold_bin ? end - (1 << CAMBI_C_SHIFT) : end;
    uint64_t sum = 0;
    int nb = 0;

    for (int i = 0; i < slice->nb_c_values; i++) {
        const float c       = slice->c_values[i];
        const uint32_t bits = av_float2int(c);

        sum += bits >= end ? (int64_t)(c * 0x1p24f) : 0;
        slice->c_values[nb] = c;
        nb += bits >= begin && bits < end;
    }
    slice->sum           = sum;
    slice->nb_candidates = nb;
}

/// Return the mean of a scale's largest c-values, after split_c_values().
static double topk_mean(const CAMBIContext *s)
{
    int remaining = s->nb_remaining;
    uint32_t threshold = s->threshold_bin ? s->threshold_bin + CAMBI_C_BASE << CAMBI_C_SHIFT : 0;
    uint64_t sum = 0;

    // radix select: find the other bits of the threshold
    for (int shift = CAMBI_C_SHIFT / 2; shift >= 0 && threshold; shift -= CAMBI_C_SHIFT / 2) {
        uint32_t histogram[1 << CAMBI_C_SHIFT / 2] = { 0 }, digit = FF_ARRAY_ELEMS(histogram) - 1;

        for (int j = 0; j < s->nb_slices; j++)
            for (int i = 0; i < s->slice[j].nb_candidates; i++) {
                const uint32_t radix_digit =
                    av_float2int(s->slice[j].c_values[i]) - threshold >> shift;

                if (radix_digit < FF_ARRAY_ELEMS(histogram))
                    histogram[radix_digit]++;
            }
        while (digit && remaining > histogram[digit])
            remaining -= histogram[digit--];
        threshold += digit << shift;
    }
    for (int j = 0; j < s->nb_slices; j++) {
        sum += s->slice[j].sum;
        for (int i = 0; i < s->slice[j].nb_candidates; i++)
            if (av_float2int(s->slice[j].c_values[i]) > threshold)
                sum += (int64_t)(s->slice[j].c_values[i] * 0x1p24f);
    }
    return (sum * 0x1p-24 + (double)av_int2float(threshold) * remaining) / s->nb_top;
}

// ---- scales ----

/// Make row y of the current scale: subsample the previous one, and filter the row.
static void get_mode(const CAMBIContext *s, const CAMBISlice *slice, int y)
{
    uint16_t *dst = slice->mode[y % 3], *row = slice->source[0];
    const int w   = s->w;

    subsample(s, row, s->src + y * s->step * (size_t)s->src_w, s->step, w);
    dst[0]     = row[0];
    dst[w - 1] = row[w - 1];
    s->dsp.mode3(dst + 1, row, row + 1, row + 2, w - 2);
}

static size_t start_stride(int w)
{
    return (w & ~7) + 8;
}

/// Subsample the previous scale, and apply the mode filter (libvmaf's filter_mode()). Before that, split
/// the c-values of the previous scale.
static int filter_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const CAMBIContext *s = arg;
    CAMBISlice *slice     = &s->slice[jobnr];
    const int begin = s->h * jobnr / nb_jobs, end = s->h * (jobnr + 1) / nb_jobs;
    const int w = s->w;

    split_c_values(s, slice);
    for (int y = FFMAX(begin - 1, 0); y <= begin; y++)
        get_mode(s, slice, y);
    for (int y = begin; y < end; y++) {
        uint16_t *row = s->dst + y * (size_t)w;

        if (y + 1 < s->h)
            get_mode(s, slice, y + 1);
        if (y && y < s->h - 1)
            s->dsp.mode3(row, slice->mode[(y + 2) % 3], slice->mode[y % 3],
                         slice->mode[(y + 1) % 3], w);
        else
            subsample(s, row, s->src + y * s->step * (size_t)s->src_w, s->step, w);
        s->dsp.segment(s->is_start + y * start_stride(w), row, s->dims.vis_lum, w);
    }
    return 0;
}

/// Add row y to the histograms, or subtract it.
static void add_row(const CAMBIContext *s, CAMBISlice *slice, int y, int sign)
{
    s->dsp.hist(slice->hist, s->hist_stride, s->ramp, s->dst + y * (size_t)s->w,
                s->is_start + y * start_stride(s->w), s->dims.window, s->dims.vis_lum, sign,
                s->w);
}

/// Number of tasks when the c-values of the first scale are computed.
#define HEATMAP_TASK 3

/// Put the c-values of a row at their samples of the heatmap.
static void keep_row(const CAMBIContext *s, int y, const float *c_values)
{
    const uint16_t *row = s->dst + y * (size_t)s->w;
    float *dst = s->heatmap + y * (size_t)s->w;

    for (int x = 0; x < s->w; x++)
        dst[x] = cambi_bin(row[x], s->dims.vis_lum) < cambi_band_size(s->dims.vis_lum) ? *c_values++ : 0;
}

static int c_value_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const CAMBIContext *s = arg;
    CAMBISlice *slice = &s->slice[jobnr];
    const int begin  = s->h * jobnr / nb_jobs, end = s->h * (jobnr + 1) / nb_jobs;
    const int window = s->dims.window, radius = window / 2;
    const int first  = FFMAX(begin - radius, 0), last = FFMIN(end + radius, s->h);

    // all histograms of samples are zero again at the end
    slice->nb_c_values = 0;
    memset(slice->c_hist, 0, sizeof(slice->c_hist));
    for (int y = first; y < last + window; y++) {
        const int centre = y - radius;

        if (y - window >= first)
            add_row(s, slice, y - window, -1);
        if (y < last)
            add_row(s, slice, y, 1);
        if (centre >= begin && centre < end) {
            float *c_values = slice->c_values + slice->nb_c_values;
            const int nb    = s->dsp.c_value(c_values, slice->factor, slice->hist, s->hist_stride,
                                             s->reciprocal, s->dst + centre * (size_t)s->w,
                                             s->is_start + centre * start_stride(s->w), window,
                                             s->dims.vis_lum, s->w);

            if (s->heatmap && s->nb_tasks == HEATMAP_TASK)
                keep_row(s, centre, c_values);
            add_c_values(slice, c_values, nb);
            slice->nb_c_values += nb;
        }
    }
    return 0;
}

// ---- extractor ----

static av_cold void init_slice(CAMBIContext *s, CAMBISlice *slice, int w, int h)
{
    const int width = s->dims.width;
    VMAFBuffers *b  = &s->buffers;

    for (int i = 0; i < 2; i++) {
        slice->source[i] = vmaf_buffer_alloc(b, width, sizeof(uint16_t));
        slice->row[i]    = vmaf_buffer_alloc(b, width, sizeof(uint16_t));
    }
    for (int i = 0; i < CAMBI_MASK_SIZE; i++)
        slice->zero_derivative[i] = vmaf_buffer_alloc(b, width, 1);
    slice->nb_zero_derivative = vmaf_buffer_alloc(b, width, 1);
    slice->mask = vmaf_buffer_alloc(b, width, 1);
    for (int i = 0; i < 3; i++)
        slice->mode[i] = vmaf_buffer_alloc(b, w, sizeof(uint16_t));
    slice->hist     = vmaf_buffer_alloc(b, (cambi_band_size(s->dims.vis_lum) + 2 * CAMBI_NUM_DIFFS) *
                                           (size_t)s->hist_stride, sizeof(uint16_t));
    slice->factor   = vmaf_buffer_alloc(b, w, sizeof(float));
    slice->c_values = vmaf_buffer_alloc(b, (h / s->nb_slices + 1) * (size_t)w, sizeof(float));
}

av_cold int ff_vmaf_cambi_init(CAMBIContext *s, const CAMBIDims *dims, int width, int height,
                               int nb_slices)
{
    const int w = DIV_UP(dims->width,  1 + dims->high_res_speedup);
    const int h = DIV_UP(dims->height, 1 + dims->high_res_speedup);
    VMAFBuffers *b = &s->buffers;

    s->dims      = *dims;
    // each slice has a row of the last scale
    s->nb_slices = nb_slices = FFMIN(nb_slices, DIV_UP(h, 1 << (CAMBI_SCALES - 1)));
    ff_vmaf_cambi_dsp_init(&s->dsp);
    ff_vmaf_cambi_reciprocals(s->reciprocal, dims->window);
    s->hist_stride = FFALIGN(w + dims->window + VECTOR, 32);
    s->ramp = vmaf_buffer_alloc(b, s->hist_stride, sizeof(*s->ramp));
    for (int i = 0; i < s->hist_stride && s->ramp; i++)
        s->ramp[i] = i + 1;
    for (int i = 0; i < 2; i++)
        s->image[i] = vmaf_buffer_alloc(b, (size_t)w * h, sizeof(*s->image[i]));
    s->is_start = vmaf_buffer_alloc(b, h * start_stride(w), 1);
    s->slice    = vmaf_buffer_alloc(b, nb_slices, sizeof(*s->slice));
    for (int i = 0; i < nb_slices && s->slice; i++)
        init_slice(s, &s->slice[i], w, h);
    if (dims->width != width || dims->height != height) {
        s->src_x = vmaf_buffer_alloc(b, dims->width,  sizeof(*s->src_x));
        s->src_y = vmaf_buffer_alloc(b, dims->height, sizeof(*s->src_y));
    }
    if (b->alloc_failed)
        return AVERROR(ENOMEM);
    if (s->src_x) {
        ff_vmaf_cambi_positions(s->src_x, width,  dims->width);
        ff_vmaf_cambi_positions(s->src_y, height, dims->height);
    }
    return 0;
}

av_cold int ff_vmaf_cambi_keep_heatmap(CAMBIContext *s)
{
    const int divisor = 1 + s->dims.high_res_speedup;

    s->heatmap = vmaf_buffer_alloc(&s->buffers, (size_t)DIV_UP(s->dims.width, divisor) *
                                   DIV_UP(s->dims.height, divisor), sizeof(*s->heatmap));
    return s->heatmap ? 0 : AVERROR(ENOMEM);
}

double ff_vmaf_cambi_heat(const CAMBIContext *s, int x, int y)
{
    const int divisor = 1 + s->dims.high_res_speedup, w = DIV_UP(s->dims.width, divisor);
    const int column  = (int64_t)x * s->dims.width  / s->frame->width  / divisor;
    const int row     = (int64_t)y * s->dims.height / s->frame->height / divisor;

    return 16.0 * s->heatmap[row * (size_t)w + column] / (s->dims.window * s->dims.window);
}

void ff_vmaf_cambi_begin(CAMBIContext *s, const AVFrame *encode, double *score)
{
    s->frame    = encode;
    s->nb_tasks = 0;
    s->score    = score;
}

/// Set up for the next scale.
static void begin_scale(CAMBIContext *s, int scale)
{
    s->src   = s->image[!(scale & 1)];
    s->dst   = s->image[scale & 1];
    s->src_w = s->w;
    s->step  = scale ? 2 : 1;
    s->w     = DIV_UP(s->w, s->step);
    s->h     = DIV_UP(s->h, s->step);
}

int ff_vmaf_cambi_next(CAMBIContext *s, VMAFTask *task)
{
    const int scale = (s->nb_tasks - 1) / 2;

    *task = (VMAFTask){ .arg = s, .nb_jobs = s->nb_slices };
    if (!s->nb_tasks) {
        s->step    = 1 + s->dims.high_res_speedup;
        s->dst     = s->image[1];
        s->w       = DIV_UP(s->dims.width,  s->step);
        s->h       = DIV_UP(s->dims.height, s->step);
        task->func = image_slice;
    } else if (!(s->nb_tasks & 1)) {
        if (scale)
            s->mean[scale - 1] = topk_mean(s);
        task->func = c_value_slice;
    } else {
        if (scale)
            find_threshold_bin(s);
        if (scale == CAMBI_SCALES) {
            for (int i = 0; i < s->nb_slices; i++)
                split_c_values(s, &s->slice[i]);
            s->mean[scale - 1] = topk_mean(s);
            *s->score = ff_vmaf_cambi_score(&s->dims, s->mean);
            return 0;
        }
        begin_scale(s, scale);
        task->func = filter_slice;
    }
    s->nb_tasks++;
    return 1;
}

av_cold void ff_vmaf_cambi_close(CAMBIContext *s)
{
    vmaf_buffers_free(&s->buffers);
}

// ---- shared with CUDA ----

int ff_vmaf_cambi_max(enum CAMBIModel model)
{
    // cambi_max_val
    return model == CAMBI_MODEL_V1 ? 17 : 1000;
}

av_cold int ff_vmaf_cambi_dims_init(CAMBIDims *s, AVFilterContext *ctx, int width, int height,
                                    int depth, const CAMBIOptions *options)
{
    int shift, min, max;

    *s = (CAMBIDims){ .width = width, .height = height, .depth = depth,
                      .vis_lum = options->model == CAMBI_MODEL_V1 ? CAMBI_VIS_LUM : 0,
                      .max_val = ff_vmaf_cambi_max(options->model) };
    if (options->width && options->height &&
        options->width <= width && options->height <= height) {
        s->width  = options->width;
        s->height = options->height;
    } else if (options->width || options->height) {
        // as in libvmaf
        const char *prefix = strncmp(ctx->filter->name, "cambi", 5) ? "cambi." : "";

        av_log(ctx, AV_LOG_WARNING, "%senc_width=%d and %senc_height=%d have no effect: "
               "set both, to no more than %dx%d.\n", prefix, options->width, prefix, options->height,
               width, height);
    }
    s->anti_dither      = (options->depth ? options->depth : depth) < 10;
    s->high_res_speedup = options->model == CAMBI_MODEL_V1 &&
                          s->width * s->height >= CAMBI_HIGH_RES;
    s->window           = CAMBI_MAX_WINDOW * (s->width + s->height) / 375 >> 4;
    if (s->high_res_speedup)
        s->window = s->window + 1 >> 1;
    s->window    |= 1;
    s->mask_index = CAMBI_MASK_SIZE * CAMBI_MASK_SIZE +
                    3 * (ceil_log2((s->width >> 6) * (s->height >> 6)) - 11) - 1 >> 1;
    max = 375 * 16 * ((1 + s->high_res_speedup) * (CAMBI_MAX_WINDOW + 1) - s->high_res_speedup) /
          CAMBI_MAX_WINDOW;
    // the last scale, whose size is rounded up at each step, has at least half a window
    shift = CAMBI_SCALES - 1 + s->high_res_speedup;
    min   = FFMAX((s->window / 2 - 1) * (1 << shift) + 1, 1);
    if (s->width + s->height > max || FFMAX(s->width, s->height) < CAMBI_MIN_SIZE ||
        FFMIN(s->width, s->height) < min) {
        av_log(ctx, AV_LOG_ERROR, "CAMBI cannot measure a picture of %dx%d: the longer side must "
               "be at least %d, the shorter one at least %d, and both together at most %d.\n",
               s->width, s->height, CAMBI_MIN_SIZE, min, max);
        return AVERROR(EINVAL);
    }
    return 0;
}

av_cold void ff_vmaf_cambi_reciprocals(float *dst, int window)
{
    // libvmaf's table has nine decimal digits
    for (int i = 1; i <= window * window; i++) {
        char text[32];

        snprintf(text, sizeof(text), "%.9g", 1.0 / i);
        dst[i] = strtof(text, NULL);
    }
}

av_cold void ff_vmaf_cambi_positions(int *dst, int n, int nb)
{
    // libvmaf adds up steps of float
    const float ratio = (float)n / nb;
    float at = ratio / 2 - 0.5;

    for (int i = 0; i < nb; i++, at += ratio)
        dst[i] = at + 0.5;
}

int ff_vmaf_cambi_top(int nb)
{
    return av_clip(0.6 * nb, 1, nb);
}

double ff_vmaf_cambi_score(const CAMBIDims *s, const double mean[CAMBI_SCALES])
{
    double sum = 0;

    for (int i = 0; i < CAMBI_SCALES; i++)
        sum += (16 >> i) * mean[i];
    return FFMIN(sum / (s->window * s->window), s->max_val);
}
