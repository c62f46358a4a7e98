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
#include "shared_arith.h"
#include "vmaf_adm.h"
#include "vmaf_adm_template.c"

// ---- row functions ----

static const int taps[2][4] = { ADM_DWT_LOW, ADM_DWT_HIGH };

/// Centre the samples on zero, and filter them.
static void dwt_vertical0(void *low, void *high, const void *const line[4], int depth, int w)
{
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < w; x++) {
            int sum = 1 << (depth - 1);

            for (int tap = 0; tap < 4; tap++)
                sum += (get_sample(line[tap], x, depth) - (1 << (depth - 1))) * taps[i][tap];
            ((int16_t *)(i ? high : low))[x] = av_clip_int16(sum >> depth);
        }
}

static void dwt_vertical(void *low, void *high, const void *const line[4], int shift, int w)
{
    const int32_t *const *row = (const int32_t *const *)line;

    for (int i = 0; i < 2; i++)
        for (int x = 0; x < w; x++)
            ((int32_t *)(i ? high : low))[x] =
                adm_round_shift((int64_t)row[0][x] * taps[i][0] + (int64_t)row[1][x] * taps[i][1] +
                                (int64_t)row[2][x] * taps[i][2] + (int64_t)row[3][x] * taps[i][3],
                                shift);
}

#define DWT_HORIZONTAL(name, type)                                                          \
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
        low[x]  = adm_round_shift(sum[0], shift);                                           \
        high[x] = adm_round_shift(sum[1], shift);                                           \
    }                                                                                       \
}

DWT_HORIZONTAL(dwt_horizontal0, int16_t)
DWT_HORIZONTAL(dwt_horizontal,  int32_t)

static int within_1deg(const int32_t *band, ptrdiff_t stride)
{
    const int64_t eh = band[ADM_H * stride], ev = band[ADM_V * stride];
    const int64_t rh = band[(ADM_BANDS + ADM_H) * stride];
    const int64_t rv = band[(ADM_BANDS + ADM_V) * stride];

    return adm_within_1deg(rh * eh + rv * ev, rh * rh + rv * rv, eh * eh + ev * ev);
}

void ff_vmaf_adm_angle_flag_c(int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = -within_1deg(bands + x, stride);
}

static av_always_inline void decouple_row(int is_first, int32_t *dst, const int32_t *bands,
                                          ptrdiff_t stride, const int32_t *angle_flag,
                                          const ADMScale *scale, int w)
{
    for (int x = 0; x < w; x++) {
        int cm_row[ADM_PARTS] = { 0 }, cm_centre_excess[ADM_PARTS] = { 0 };

        for (int band = 0; band < ADM_BANDS; band++) {
            const int encode    = bands[band * stride + x];
            const int reference = bands[(ADM_BANDS + band) * stride + x];
            const int restored  = adm_decouple(is_first, reference, encode, angle_flag[x],
                                                   scale->gain);

            for (int part = 0; part < ADM_PARTS; part++) {
                const int value = adm_csf(is_first, part == ADM_RESTORED ? restored
                                                    : encode - restored, scale->csf_weight[band]);
                int cm_neighbour;
                const int cm_centre = adm_contrast_mask(is_first, value, band, &cm_neighbour);

                dst[(part * ADM_BANDS + band) * stride + x] = value;
                cm_row[part]           += cm_neighbour;
                cm_centre_excess[part] += cm_centre - cm_neighbour;
            }
        }
        for (int part = 0; part < ADM_PARTS; part++) {
            dst[(ADM_CM_ROW + part) * stride + x]           = cm_row[part];
            dst[(ADM_CM_CENTRE_EXCESS + part) * stride + x] = cm_centre_excess[part];
        }
    }
}

static void decouple0(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                      const int32_t *angle_flag, const ADMScale *scale, int w)
{
    decouple_row(1, dst, bands, stride, angle_flag, scale, w);
}

static void decouple(int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                     const int32_t *angle_flag, const ADMScale *scale, int w)
{
    decouple_row(0, dst, bands, stride, angle_flag, scale, w);
}

static uint64_t minkowski_sum(const int32_t *value, const int32_t *threshold,
                              const ADMCubeShifts *shifts, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += adm_cube(value[x], threshold[x], *shifts);
    return sum;
}

av_cold void ff_vmaf_adm_dsp_init(ADMDSPContext *dsp, int depth, int gain_factor)
{
    *dsp = (ADMDSPContext){
        .dwt_vertical   = { dwt_vertical0, dwt_vertical },
        .dwt_horizontal = { dwt_horizontal0, dwt_horizontal },
        .angle_flag     = ff_vmaf_adm_angle_flag_c,
        .decouple       = { decouple0, decouple },
        .cm_threshold   = cm_threshold,
        .minkowski_sum  = minkowski_sum,
    };
#if HAVE_AVX2
    if (av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
        ff_vmaf_adm_dsp_init_avx2(dsp);
#endif
#if ARCH_X86 && HAVE_X86ASM
    ff_vmaf_adm_dsp_init_x86(dsp, depth, gain_factor);
#endif
}

// ---- slices ----

/// Return row y of a scale's picture.
static void *picture_row(const ADMContext *s, int scale, int picture, int y)
{
    const AVFrame *frame = s->frame[picture];

    return scale ? (void *)(s->image[scale][picture] + y * s->image_stride[scale]) :
                   frame->data[0] + y * (ptrdiff_t)frame->linesize[0];
}

/// Mirror the ends of a row of elements of a size in bytes.
static void mirror_row(uint8_t *row, size_t size, int w)
{
    memcpy(row - size, row + size, size);
    for (int x = w; x < w + 2; x++)
        memcpy(row + x * size, row + adm_mirror(x, w) * size, size);
}

/**
 * Transform row y of both pictures.
 *
 * @param is_own     whether the row is the slice's own, so that band_a is stored for the next scale
 * @param has_detail whether the bands of detail are needed
 */
static void dwt_row(const ADMContext *s, ADMSlice *slice, int y, int is_own, int has_detail)
{
    const ADMScale *sc = s->scale;
    const int next = sc->scale + 1, is_next = sc->scale > 0, shift = sc->scale & 1 ? 15 : 16;
    const int vertical_shift = !is_next ? s->depth : sc->scale == 1 ? 0 : 16;
    const size_t size = is_next ? sizeof(int32_t) : sizeof(int16_t);

    for (int p = 0; p < PAIR_NB; p++) {
        int32_t *band   = slice->band + p * ADM_BANDS * s->stride;
        int32_t *band_a = slice->scratch;
        const void *line[4];

        if (is_own && next < ADM_SCALES)
            band_a = picture_row(s, next, p, y);
        for (int i = 0; i < 4; i++)
            line[i] = picture_row(s, sc->scale, p, adm_mirror(2 * y - 1 + i, sc->height));
        s->dsp.dwt_vertical[is_next](slice->column[0], slice->column[1], line, vertical_shift,
                                     sc->width);
        mirror_row(slice->column[0], size, sc->width);
        s->dsp.dwt_horizontal[is_next](band_a, band + ADM_V * s->stride, slice->column[0], shift,
                                       sc->w);
        if (has_detail) {
            mirror_row(slice->column[1], size, sc->width);
            s->dsp.dwt_horizontal[is_next](band + ADM_H * s->stride, band + ADM_D * s->stride,
                                           slice->column[1], shift, sc->w);
        }
    }
}

/// Decouple row y of all bands, from the column left of the pooled area to the one right of it.
static void decouple_bands(const ADMContext *s, ADMSlice *slice, int y)
{
    const ADMScale *sc = s->scale;
    const int from = FFMAX(sc->left - 1, 0), w = FFMIN(sc->right + 1, sc->w) - from;
    int32_t *dst = slice->part[y % 3];

    s->dsp.angle_flag(slice->scratch, slice->band + from, s->stride, w);
    s->dsp.decouple[sc->scale > 0](dst + from, slice->band + from, s->stride, slice->scratch,
                                   sc, w);
    for (int part = 0; part < ADM_PARTS && !sc->left; part++) {
        int32_t *cm_row = dst + (ADM_CM_ROW + part) * s->stride;

        cm_row[-1]    = cm_row[1];
        cm_row[sc->w] = cm_row[sc->w - 1];
    }
}

/// Pool a row of a part of all bands.
static void pool_bands(const ADMContext *s, ADMSlice *slice, int part, const int32_t *value,
                       const int32_t *threshold)
{
    const ADMScale *sc = s->scale;

    for (int band = 0; band < ADM_BANDS; band++)
        slice->sum_cubed[part][band] +=
            adm_round_row(s->dsp.minkowski_sum(value + band * s->stride, threshold,
                                               &sc->cube_shifts[part][band],
                                               sc->right - sc->left), sc->row_shift[part]);
}

/// Pool row y of both parts. The rows above and below must be decoupled.
static void pool_parts(const ADMContext *s, ADMSlice *slice, int y)
{
    const ADMScale *sc = s->scale;
    const int32_t *row[3];

    for (int i = 0; i < 3; i++)
        row[i] = slice->part[adm_mirror(y - 1 + i, sc->h) % 3] + sc->left;
    for (int part = 0; part < ADM_PARTS; part++) {
        const int32_t *cm_row[3];

        for (int i = 0; i < 3; i++)
            cm_row[i] = row[i] + (ADM_CM_ROW + !part) * s->stride;
        s->dsp.cm_threshold(slice->scratch, cm_row,
                            row[1] + (ADM_CM_CENTRE_EXCESS + !part) * s->stride,
                            sc->right - sc->left);
        pool_bands(s, slice, part, row[1] + part * ADM_BANDS * s->stride, slice->scratch);
    }
}

static int adm_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const ADMContext *s = arg;
    const ADMScale *sc  = s->scale;
    ADMSlice *slice = &s->slice[jobnr];
    const int start = ff_slice_pos(sc->h, jobnr, nb_jobs);
    const int end   = ff_slice_pos(sc->h, jobnr + 1, nb_jobs);

    memset(slice->sum_cubed, 0, sizeof(slice->sum_cubed));
    // each row needs its neighbours, which belong to other slices at the ends
    for (int y = FFMAX(start - 1, 0); y <= end; y++) {
        const int is_own = y >= start && y < end, has_detail = y >= sc->top - 1 && y <= sc->bottom;

        if (y < sc->h && (is_own || has_detail))
            dwt_row(s, slice, y, is_own, has_detail);
        if (y < sc->h && has_detail)
            decouple_bands(s, slice, y);
        if (is_own && y >= sc->top && y < sc->bottom)
            pool_bands(s, slice, ADM_REFERENCE,
                       slice->band + PAIR_REFERENCE * ADM_BANDS * s->stride + sc->left,
                       s->zero_row);
        if (y > start && y > sc->top && y <= sc->bottom)
            pool_parts(s, slice, y - 1);
    }
    return 0;
}

// ---- extractor ----

av_cold int ff_vmaf_adm_init(ADMContext *s, const ADMScale scale[ADM_SCALES], int depth,
                             int nb_slices)
{
    VMAFBuffers *b = &s->buffers;

    s->depth     = depth;
    s->nb_slices = nb_slices;
    ff_vmaf_adm_dsp_init(&s->dsp, depth, scale->gain.factor);
    // rows of neighbouring bands do not share sets of a cache
    s->stride = FFALIGN(scale->w + 2 * VMAF_PAD / 4, 32) + 16;
    for (int i = 1; i < ADM_SCALES; i++) {
        s->image_stride[i] = FFALIGN(scale[i].width + VMAF_PAD / 4, 16);
        for (int p = 0; p < PAIR_NB; p++)
            s->image[i][p] = vmaf_buffer_alloc(b, scale[i].height * s->image_stride[i],
                                               sizeof(int32_t));
    }
    s->zero_row = vmaf_buffer_alloc(b, s->stride, sizeof(int32_t));
    s->slice    = vmaf_buffer_alloc(b, nb_slices, sizeof(*s->slice));
    for (int i = 0; i < nb_slices && s->slice; i++) {
        ADMSlice *slice = &s->slice[i];

        for (int j = 0; j < 2; j++)
            slice->column[j] = vmaf_buffer_alloc(b, scale->width, sizeof(int32_t));
        slice->scratch = vmaf_buffer_alloc(b, s->stride, sizeof(int32_t));
        slice->band    = vmaf_buffer_alloc(b, PAIR_NB * ADM_BANDS * s->stride, sizeof(int32_t));
        for (int j = 0; j < 3; j++)
            slice->part[j] = vmaf_buffer_alloc(b, ADM_ROWS * s->stride, sizeof(int32_t));
    }
    return b->alloc_failed ? AVERROR(ENOMEM) : 0;
}

void ff_vmaf_adm_begin(ADMContext *s, const AVFrame *encode, const AVFrame *reference,
                       const ADMScale scale[ADM_SCALES], ADMSums *sums)
{
    s->frame[PAIR_MAIN]      = encode;
    s->frame[PAIR_REFERENCE] = reference;
    s->scale     = scale;
    s->nb_scales = 0;
    s->sums      = sums;
    *sums        = (ADMSums){ 0 };
}

int ff_vmaf_adm_next(ADMContext *s, VMAFTask *task)
{
    const int last = s->nb_scales - 1;

    for (int job = 0; last >= 0 && job < FFMIN(s->nb_slices, s->scale->h); job++)
        for (int part = 0; part < ADM_SUMS; part++)
            for (int band = 0; band < ADM_BANDS; band++)
                s->sums->sum_cubed[last][part][band] += s->slice[job].sum_cubed[part][band];
    if (s->nb_scales == ADM_SCALES)
        return 0;
    s->scale += s->nb_scales++ > 0;
    *task     = (VMAFTask){ adm_slice, s, FFMIN(s->nb_slices, s->scale->h) };
    return 1;
}

av_cold void ff_vmaf_adm_close(ADMContext *s)
{
    vmaf_buffers_free(&s->buffers);
}

// ---- features ----

av_cold void ff_vmaf_adm_scales_init(ADMScale scale[ADM_SCALES], const ADMParams *params,
                                     double gain_limit, int w, int h)
{
    ADMGain gain = { .limit = gain_limit };

    if (gain_limit == (int)gain_limit) {
        gain.factor = gain_limit;
        gain.max    = UINT32_MAX / gain.factor;
    }
    for (int i = 0; i < ADM_SCALES; i++) {
        ADMScale *s = &scale[i];

        *s = (ADMScale){ .gain = gain, .scale = i, .width = w, .height = h };
        s->w = w  = (w + 1) / 2;
        s->h = h  = (h + 1) / 2;
        s->left   = w * 0.1 - 0.5;
        s->top    = h * 0.1 - 0.5;
        s->right  = w - s->left;
        s->bottom = h - s->top;
        for (int band = 0; band < ADM_BANDS; band++) {
            const int is_diagonal = band == ADM_D;
            const double unit     = i ? 0x1p32 : is_diagonal ? 0x1p23 : 0x1p21;

            s->csf_weight[band] = params->csf[is_diagonal][i] * unit;
            if (!i && params->first_weight[is_diagonal])
                s->csf_weight[band] = params->first_weight[is_diagonal];
            for (int part = 0; part < ADM_SUMS; part++) {
                const int shift = part != ADM_REFERENCE ?
                                  ceil_log2(w) - (i ? 0 : is_diagonal ? 3 : 4) :
                                  i ? ceil_log2(s->right - s->left) : 0;

                s->cube_shifts[part][band] = adm_cube_shifts(i, part, band, shift);
            }
        }
        for (int part = 0; part < ADM_PARTS; part++)
            s->row_shift[part] = ceil_log2(h);
        s->row_shift[ADM_REFERENCE] =
            i ? ceil_log2(s->bottom - s->top)
              : FFMAX(ceil_log2((s->bottom - s->top) * (s->right - s->left)) - 20, 0);
    }
}

/// Pool a part of a scale: the cube roots of its bands' sums, with those of the noise.
static float adm_pooled_scale(const ADMScale *s, const ADMSums *sums,
                              const ADMParams *params, int part, double noise_weight)
{
    static const int part_bits[] = { 0, 45, 39, 36 }, reference_bits[] = { 18, 32, 27, 23 };
    const int scale = s->scale, area = (s->bottom - s->top) * (s->right - s->left);
    float pooled[ADM_BANDS];

    for (int band = 0; band < ADM_BANDS; band++) {
        const int64_t sum = sums->sum_cubed[scale][part][band];
        const int shift   = s->row_shift[part] + s->cube_shifts[part][band].shift;
        const int bits    = part == ADM_REFERENCE ? reference_bits[scale] :
                            scale ? part_bits[scale] : band == ADM_D ? 57 : 52;
        // libvmaf uses float for the parts of all scales but the first
        double mean = (scale && part != ADM_REFERENCE ? (float)sum : (double)sum) /
                      ldexp(1, bits - shift);

        if (part == ADM_REFERENCE)
            mean *= pow(params->csf[band == ADM_D][scale], 3);
        pooled[band] = powf(mean, 1 / 3.f) + powf(area * noise_weight, 1 / 3.f);
    }
    return pooled[ADM_H] + pooled[ADM_V] + pooled[ADM_D];
}

ADMFeatures ff_vmaf_adm_features(const ADMScale scale[ADM_SCALES], const ADMSums *sums,
                                 const ADMParams *params)
{
    double num_dlm = 0, num_aim = 0, den = 0;
    ADMFeatures f;

    for (int i = 0; i < ADM_SCALES; i++) {
        const float num_scale = adm_pooled_scale(&scale[i], sums, params, ADM_RESTORED,
                                                 params->noise_weight);
        const float den_scale = adm_pooled_scale(&scale[i], sums, params, ADM_REFERENCE,
                                                 params->noise_weight);

        num_dlm += num_scale;
        den     += den_scale;
        num_aim += adm_pooled_scale(&scale[i], sums, params, ADM_ADDITIVE, 0);
        f.scale[i] = (double)num_scale / den_scale;
    }
    f.adm2 = num_dlm / den;
    f.aim  = num_aim / den;
    f.adm3 = FFMAX(f.adm2 * params->dlm_weight + (1 - f.aim) * (1 - params->dlm_weight),
                   params->min_val);
    return f;
}
