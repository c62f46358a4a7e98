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


#include <math.h>
#include <stdint.h>
#include <string.h>

#include "config.h"

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/cpu.h"
#include "libavutil/error.h"
#include "libavutil/macros.h"

#include "filters.h"
#include "vmaf_vif.h"
#include "vmaf_vif_template.c"

static const uint16_t taps[VIF_SCALES][VIF_RADIUS(0) + 1] = VIF_TAPS;

// ---- row functions ----

/// Filter a column for one of two rows, to the mean in 2^-16 of 16 bits, or to the mean square.
static av_always_inline void filter_column(int16_t *dst, ptrdiff_t stride,
                                           const uint16_t (*sample)[2 * VIF_MAX_PAIRS],
                                           const VIFFilter *filter, int output)
{
    uint64_t mean[PAIR_NB] = { 0 }, square[PAIR_NB + 1] = { 0 };

    for (int i = 0; i < 2 * filter->nb_pairs; i++) {
        const uint64_t tap = filter->tap[i / 2][output][i & 1];
        const uint64_t m = sample[PAIR_MAIN][i], r = sample[PAIR_REFERENCE][i];

        mean[PAIR_MAIN]        += tap * m;
        mean[PAIR_REFERENCE]   += tap * r;
        square[PAIR_MAIN]      += tap * m * m;
        square[PAIR_REFERENCE] += tap * r * r;
        square[PAIR_NB]        += tap * m * r;
    }
    for (int i = 0; i < PAIR_NB; i++)
        dst[(VIF_MEAN + i) * stride] = (int)(mean[i] + 32768 >> 16) - 32768;
    for (int i = 0; i <= PAIR_NB; i++) {
        const uint32_t rounded = square[i] + 32768 >> 16;

        dst[(VIF_SQUARE + 2 * i) * stride]     = (int)(rounded & 0xffff) - 32768;
        dst[(VIF_SQUARE + 2 * i + 1) * stride] = (int)(rounded >> 16) - 32768;
    }
}

#define VERTICAL(name, type)                                                                \
static void name(int16_t *dst[2], ptrdiff_t stride,                                         \
                 const uint8_t *const (*row)[2 * VIF_MAX_PAIRS], const VIFFilter *filter,   \
                 int shift, int w)                                                          \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        uint16_t sample[PAIR_NB][2 * VIF_MAX_PAIRS];                                        \
                                                                                            \
        for (int p = 0; p < PAIR_NB; p++)                                                   \
            for (int i = 0; i < 2 * filter->nb_pairs; i++)                                  \
                sample[p][i] = ((const type *)row[p][i])[x] << shift;                       \
        for (int i = 0; i < 2; i++)                                                         \
            filter_column(dst[i] + x, stride, sample, filter, i);                           \
    }                                                                                       \
}

VERTICAL(vertical8,  uint8_t)
VERTICAL(vertical16, uint16_t)

/// Filter one of enum VIFRow at a pair of columns.
static uint32_t filter_row(const int16_t *src, const VIFFilter *filter, int output)
{
    uint32_t sum = 1u << 31;    // the taps add up to 2^16

    for (int i = 0; i < 2 * filter->nb_pairs; i++)
        sum += filter->tap[i / 2][output][i & 1] * src[filter->offset[i / 2] + (i & 1)];
    return sum;
}

static void horizontal_row(uint32_t *dst, const int16_t *src, ptrdiff_t stride,
                           const VIFFilter *filter, int w)
{
    for (int x = 0; x < w; x++) {
        const int16_t *at = src + (x & ~1);

        for (int i = 0; i < PAIR_NB; i++)
            dst[i * stride + x] = filter_row(at + (VIF_MEAN + i) * stride, filter, x & 1);
        for (int i = 0; i <= PAIR_NB; i++) {
            const uint32_t low  = filter_row(at + (VIF_SQUARE + 2 * i) * stride, filter, x & 1);
            const uint32_t high = filter_row(at + (VIF_SQUARE + 2 * i + 1) * stride, filter, x & 1);

            dst[(PAIR_NB + i) * stride + x] = high + (low + 32768 >> 16);
        }
    }
}

av_cold void ff_vmaf_vif_dsp_init(VIFDSPContext *dsp)
{
    *dsp = (VIFDSPContext){
        .vertical        = { vertical8, vertical16 },
        .horizontal      = horizontal_row,
        .statistics      = statistics_row,
        .next_vertical   = { next_vertical8, next_vertical16 },
        .next_horizontal = next_horizontal,
    };
#if HAVE_AVX2
    if (av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
        ff_vmaf_vif_dsp_init_avx2(dsp);
#endif
#if ARCH_X86 && HAVE_X86ASM
    ff_vmaf_vif_dsp_init_x86(dsp);
#endif
}

// ---- slices ----

/// Return row y of the current scale's picture, mirrored outside of it.
static const uint8_t *picture_row(const VIFContext *s, int picture, int y)
{
    const AVFrame *frame = s->frame[picture];

    y = vmaf_mirror(y, s->dims.h[s->scale]);
    return s->scale ? (const uint8_t *)(s->image[s->scale][picture] + y * s->image_stride[s->scale])
                    : frame->data[0] + y * (ptrdiff_t)frame->linesize[0];
}

/// Mirror the ends of a row of 16 bits.
static void mirror_row(uint16_t *row, int radius, int w)
{
    for (int i = 1; i <= radius; i++) {
        row[-i]        = row[i];
        row[w - 1 + i] = row[w - 1 - i];
    }
}

/// Filter the columns of rows y and y + 1.
static void filter_columns(const VIFContext *s, VIFSlice *slice, int y)
{
    const VIFFilter *filter = &s->filter[s->scale];
    const int is_deep = s->scale || s->depth > 8, w = s->dims.w[s->scale];
    const uint8_t *row[PAIR_NB][2 * VIF_MAX_PAIRS];

    for (int p = 0; p < PAIR_NB; p++)
        for (int i = 0; i < 2 * filter->nb_pairs; i++)
            row[p][i] = picture_row(s, p, y + filter->offset[i / 2] + (i & 1));
    s->dsp.vertical[is_deep](slice->row, s->stride, (const uint8_t *const (*)[2 * VIF_MAX_PAIRS])row,
                             filter, s->scale ? 0 : 16 - s->depth, w);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < VIF_ROWS; j++)
            mirror_row((uint16_t *)slice->row[i] + j * s->stride, VIF_RADIUS(s->scale), w);
}

/// Filter row y of the next scale's pictures, by its taps.
static void filter_next(const VIFContext *s, VIFSlice *slice, int y)
{
    const int next    = s->scale + 1, radius = VIF_RADIUS(next);
    const int is_deep = s->scale || s->depth > 8, w = s->dims.w[s->scale];
    const uint8_t *row[2 * VIF_RADIUS(1) + 1];

    for (int p = 0; p < PAIR_NB; p++) {
        for (int i = -radius; i <= radius; i++)
            row[radius + i] = picture_row(s, p, 2 * y + i);
        s->dsp.next_vertical[is_deep](slice->column, row, taps[next], radius,
                                      s->scale ? 16 : s->depth, w);
        mirror_row(slice->column, radius, w);
        s->dsp.next_horizontal(s->image[next][p] + y * s->image_stride[next], slice->column,
                               taps[next], radius, s->dims.w[next]);
    }
}

static int vif_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const VIFContext *s = arg;
    VIFSlice *slice = &s->slice[jobnr];
    const int w = s->dims.w[s->scale], h = s->dims.h[s->scale], nb_pairs = (h + 1) / 2;
    const int start = 2 * ff_slice_pos(nb_pairs, jobnr, nb_jobs);
    const int end   = 2 * ff_slice_pos(nb_pairs, jobnr + 1, nb_jobs);

    memset(&slice->sums, 0, sizeof(slice->sums));
    for (int y = start; y < end; y += 2) {
        filter_columns(s, slice, y);
        for (int i = 0; i < FFMIN(h - y, 2); i++) {
            s->dsp.horizontal(slice->stats, slice->row[i], s->stride, &s->filter[s->scale], w);
            s->dsp.statistics(&slice->sums, slice->stats, s->stride, s->log2_table,
                              &s->dims.gain_limit, w);
        }
        if (s->scale + 1 < VIF_SCALES && y / 2 < s->dims.h[s->scale + 1])
            filter_next(s, slice, y / 2);
    }
    return 0;
}

// ---- extractor ----

av_cold void ff_vmaf_vif_filter_init(VIFFilter *filter, int scale)
{
    const int radius = VIF_RADIUS(scale), centre = taps[scale][0], is_split = centre > INT16_MAX;

    *filter = (VIFFilter){ .nb_pairs = radius + 1 + is_split };
    for (int pair = 0; pair < filter->nb_pairs; pair++) {
        const int is_extra = pair > radius;

        filter->offset[pair] = is_extra ? 0 : 2 * pair - radius;
        for (int output = 0; output < 2; output++)
            for (int i = 0; i < 2; i++) {
                const int distance = FFABS(filter->offset[pair] + i - output);

                if (!distance)
                    filter->tap[pair][output][i] = centre >> is_split;
                else if (!is_extra && distance <= radius)
                    filter->tap[pair][output][i] = taps[scale][distance];
            }
    }
}

av_cold int ff_vmaf_vif_init(VIFContext *s, const VIFDims *dims, int depth, int nb_slices)
{
    VMAFBuffers *b = &s->buffers;
    uint32_t log2_words[VIF_LOG2_WORDS];

    s->depth     = depth;
    s->nb_slices = nb_slices;
    s->dims      = *dims;
    ff_vmaf_vif_dsp_init(&s->dsp);
    // rows do not share sets of a cache
    s->stride = FFALIGN(dims->w[0] + 2 * VMAF_PAD / 2, 32) + 16;
    for (int i = 0; i < VIF_SCALES; i++) {
        ff_vmaf_vif_filter_init(&s->filter[i], i);
        s->image_stride[i] = FFALIGN(dims->w[i] + VMAF_PAD / 2, 16);
        for (int p = 0; p < PAIR_NB && i; p++)
            s->image[i][p] = vmaf_buffer_alloc(b, dims->h[i] * s->image_stride[i], sizeof(uint16_t));
    }
    if ((s->log2_table = vmaf_buffer_alloc(b, 1 << 15, sizeof(*s->log2_table)))) {
        ff_vmaf_vif_log2_init(log2_words);
        for (int m = 0; m < 1 << 15; m++)
            s->log2_table[m] = vif_log2_fraction(log2_words, m << 16) + 2048 * 15;
    }
    s->slice = vmaf_buffer_alloc(b, nb_slices, sizeof(*s->slice));
    for (int i = 0; i < nb_slices && s->slice; i++) {
        VIFSlice *slice = &s->slice[i];

        for (int j = 0; j < 2; j++)
            slice->row[j] = vmaf_buffer_alloc(b, VIF_ROWS * s->stride, sizeof(int16_t));
        slice->stats  = vmaf_buffer_alloc(b, VIF_STATS_ROWS * s->stride, sizeof(uint32_t));
        slice->column = vmaf_buffer_alloc(b, s->stride, sizeof(uint16_t));
    }
    return b->alloc_failed ? AVERROR(ENOMEM) : 0;
}

void ff_vmaf_vif_begin(VIFContext *s, const AVFrame *encode, const AVFrame *reference, VIFSums *sums)
{
    s->frame[PAIR_MAIN]      = encode;
    s->frame[PAIR_REFERENCE] = reference;
    s->scale = -1;
    s->sums  = sums;
    *sums    = (VIFSums){ 0 };
}

int ff_vmaf_vif_next(VIFContext *s, VMAFTask *task)
{
    for (int job = 0; s->scale >= 0 && job < s->nb_jobs; job++) {
        const VIFScaleSums *part = &s->slice[job].sums;
        VIFScaleSums *sums       = &s->sums->scale[s->scale];

        sums->num_log     += part->num_log;
        sums->den_log     += part->den_log;
        sums->num_non_log += part->num_non_log;
        sums->den_non_log += part->den_non_log;
    }
    if (++s->scale == VIF_SCALES)
        return 0;
    s->nb_jobs = FFMIN(s->nb_slices, (s->dims.h[s->scale] + 1) / 2);
    *task      = (VMAFTask){ vif_slice, s, s->nb_jobs };
    return 1;
}

av_cold void ff_vmaf_vif_close(VIFContext *s)
{
    vmaf_buffers_free(&s->buffers);
}

// ---- features ----

av_cold void ff_vmaf_vif_dims_init(VIFDims *dims, int w, int h, double gain_limit)
{
    dims->gain_limit = gain_limit;
    for (int i = 0; i < VIF_SCALES; i++) {
        dims->w[i] = w >> i;
        dims->h[i] = h >> i;
    }
}

av_cold void ff_vmaf_vif_log2_init(uint32_t table[VIF_LOG2_WORDS])
{
    int last = 0;

    for (int i = 0; i < 1 << 15; i++) {
        // through float, as libvmaf rounds glibc's log2f()
        const int entry = roundf((float)log2((1 << 15) + i) * 2048) - 2048 * 15;

        if (i % 16)
            table[i / 16] |= (uint32_t)(entry - last) << (31 - i % 16);
        else
            table[i / 16] = entry;
        last = entry;
    }
}

void ff_vmaf_vif_features(double vif[VIF_SCALES], const VIFSums *sums)
{
    for (int i = 0; i < VIF_SCALES; i++) {
        const VIFScaleSums *s = &sums->scale[i];
        // libvmaf divides floats
        const float num = s->num_log / 2048. + (s->den_non_log - s->num_non_log / 16384. / 65025);
        const float den = s->den_log / 2048. + s->den_non_log;

        vif[i] = num / den;
    }
}
