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
#include <string.h>

#include "checkasm.h"
#include "libavfilter/vmaf_adm.h"
#include "libavfilter/vmaf_cambi.h"
#include "libavfilter/vmaf_integer_motion.h"
#include "libavfilter/vmaf_speed.h"
#include "libavfilter/vmaf_vif.h"
#include "libavutil/common.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH 163
#define PAD       (VMAF_PAD / 4)        ///< elements before and after a row
/// Elements of a row: of twice as many samples.
#define STRIDE    FFALIGN(2 * MAX_WIDTH + 2 * PAD, 16)
#define NB_BANDS  (PAIR_NB * ADM_BANDS)

static DECLARE_ALIGNED_32(int32_t, src)[NB_BANDS][STRIDE];
static DECLARE_ALIGNED_32(int32_t, dst)[2][ADM_ROWS][STRIDE];

static int width, depth;

// ---- ADM ----

/// Return a coefficient of a number of bits: often 0 or small.
static int value(int bits)
{
    const int v = (int)rnd() >> (32 - bits);

    switch (rnd() % 6) {
    case 0:  return 0;
    case 1:  return v >> (rnd() % bits);
    case 2:  return ((1 << (bits - 1)) - 1) * (rnd() & 1 ? 1 : -1);
    default: return FFMAX(v, 1 - (1 << (bits - 1)));
    }
}

static void set(int band, int bits, int i, int v)
{
    const int max = (1 << (bits - 1)) - 1;

    src[band][i] = av_clip(v, -max, max);
}

/// Fill the bands with coefficients of both pictures: often almost the same, or turned by one degree.
static void set_bands(int bits)
{
    const double sine = sin(M_PI / 180), cosine = cos(M_PI / 180);

    for (int i = 0; i < STRIDE; i++) {
        const int kind = rnd() % 8, shift = rnd() % (bits > 16 ? 29 : 13);

        for (int band = 0; band < ADM_BANDS; band++) {
            const int v = value(bits) >> shift;

            set(ADM_BANDS + band, bits, i, v);
            set(band, bits, i, kind < 3 ? v - v / (40 + (int)(rnd() % 40)) :
                               kind < 5 ? v + (kind & 1) : value(bits) >> shift);
        }
        if (kind == 5) {
            const int h = src[ADM_BANDS + ADM_H][i];
            const int v = src[ADM_BANDS + ADM_V][i];

            set(ADM_H, bits, i, lrint(h * cosine - v * sine));
            set(ADM_V, bits, i, lrint(h * sine + v * cosine));
        }
    }
}

/// Compare rows of width elements.
static void compare(int nb_rows, int bytes)
{
    for (int i = 0; i < nb_rows; i++)
        if (memcmp(dst[0][i] + PAD, dst[1][i] + PAD, width * bytes))
            checkasm_fail_func("row %d of %d elements, %d bits", i, width, depth);
}

#define ROW(type, array, i) ((type *)((array)[i] + PAD))
#define UNPACK(...) __VA_ARGS__

/// Check a function whose arguments are a row of results, others, and the width; set_up is done before
/// each width.
#define CHECK_ROW(func, name, type, set_up, parameters, ...)                                \
    if (check_func(func, name)) {                                                           \
        declare_func(void, UNPACK parameters);                                              \
                                                                                            \
        for (width = 1; width <= MAX_WIDTH; width++) {                                      \
            depth = 8 + width % 3 * 2;                                                      \
            set_up;                                                                         \
            call_ref(ROW(type, dst[0], 0), __VA_ARGS__, width);                             \
            call_new(ROW(type, dst[1], 0), __VA_ARGS__, width);                             \
            compare(1, sizeof(type));                                                       \
        }                                                                                   \
        bench_new(ROW(type, dst[1], 0), __VA_ARGS__, 128);                                  \
    }

static void check_dwt_vertical(const ADMDSPContext *dsp, int is_next)
{
    const void *line[4];

    declare_func(void, void *low, void *high, const void *const line[4], int shift, int w);

    for (int i = 0; i < 4; i++)
        line[i] = src[i] + PAD;
    if (!check_func(dsp->dwt_vertical[is_next], "vmaf_adm_dwt_vertical_%d_%d", is_next, depth))
        return;
    if (is_next)
        set_bands(29);
    else
        for (int i = 0; i < sizeof(src); i++)
            ((uint8_t *)src)[i] = rnd();
    for (width = 16; width <= MAX_WIDTH; width++) {
        const int shift = is_next ? width % 2 * 16 : depth;

        call_ref(dst[0][0] + PAD, dst[0][1] + PAD, line, shift, width);
        call_new(dst[1][0] + PAD, dst[1][1] + PAD, line, shift, width);
        compare(2, is_next ? 4 : 2);
    }
    bench_new(dst[1][0] + PAD, dst[1][1] + PAD, line, depth, 128);
}

static void check_dwt_horizontal(const ADMDSPContext *dsp, int is_next)
{
    declare_func(void, int32_t *low, int32_t *high, const void *src, int shift, int w);

    if (!check_func(dsp->dwt_horizontal[is_next], "vmaf_adm_dwt_horizontal_%d", is_next))
        return;
    set_bands(29);
    for (width = 1; width <= MAX_WIDTH; width++) {
        const int shift = is_next ? 15 + (width & 1) : 16;

        call_ref(dst[0][0] + PAD, dst[0][1] + PAD, src[0] + PAD, shift, width);
        call_new(dst[1][0] + PAD, dst[1][1] + PAD, src[0] + PAD, shift, width);
        compare(2, 4);
    }
    bench_new(dst[1][0] + PAD, dst[1][1] + PAD, src[0] + PAD, 16, 128);
}

static void check_angle_flag(const ADMDSPContext *dsp)
{
    declare_func(void, int32_t *dst, const int32_t *bands, ptrdiff_t stride, int w);

    if (!check_func(dsp->angle_flag, "vmaf_adm_angle_flag"))
        return;
    for (width = 1; width <= MAX_WIDTH; width++) {
        set_bands(width & 1 ? 29 : 16);
        call_ref(dst[0][0] + PAD, src[0] + PAD, STRIDE, width);
        call_new(dst[1][0] + PAD, src[0] + PAD, STRIDE, width);
        compare(1, 4);
    }
    bench_new(dst[1][0] + PAD, src[0] + PAD, STRIDE, 128);
}

static void check_decouple(const ADMDSPContext *dsp, int is_next)
{
    // with the last one, products are just a half of what their shift drops
    ADMScale scale = { .csf_weight = { is_next ? 251773000 : 24809, 107484000 >> 14,
                                       is_next ? 154194000 : 32768 } };
    int32_t angle_flag[FFALIGN(MAX_WIDTH, 16)];

    declare_func(void, int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                 const int32_t *angle_flag, const ADMScale *scale, int w);

    if (!check_func(dsp->decouple[is_next], "vmaf_adm_decouple_%d", is_next))
        return;
    for (width = 1; width <= MAX_WIDTH; width++) {
        set_bands(is_next ? 29 : 16);
        for (int i = 0; i < FF_ARRAY_ELEMS(angle_flag); i++)
            angle_flag[i] = -(int)(rnd() & 1);
        scale.gain.factor = width & 1 ? 1 : 1 + rnd() % 100;
        scale.gain.max    = UINT32_MAX / scale.gain.factor;
        call_ref(dst[0][0] + PAD, src[0] + PAD, STRIDE, angle_flag, &scale, width);
        call_new(dst[1][0] + PAD, src[0] + PAD, STRIDE, angle_flag, &scale, width);
        compare(ADM_ROWS, 4);
    }
    bench_new(dst[1][0] + PAD, src[0] + PAD, STRIDE, angle_flag, &scale, 128);
}

static void check_minkowski_sum(const ADMDSPContext *dsp)
{
    int32_t *const threshold = src[1] + PAD;
    ADMCubeShifts shifts;

    declare_func(uint64_t, const int32_t *value, const int32_t *threshold,
                 const ADMCubeShifts *shifts, int w);

    if (!check_func(dsp->minkowski_sum, "vmaf_adm_minkowski_sum"))
        return;
    for (width = 1; width <= MAX_WIDTH; width++) {
        const int scale = rnd() % ADM_SCALES, part = rnd() % ADM_SUMS;
        uint64_t ref, new;

        shifts = adm_cube_shifts(scale, part, rnd() % ADM_BANDS, width % 12);
        set_bands(part == ADM_REFERENCE && !scale ? 16 : 29);
        // many have nothing that is seen
        for (int i = 0; i < MAX_WIDTH; i++)
            threshold[i] = part == ADM_REFERENCE ? 0 : i / 16 & 1 ? 1 << 30 >> shifts.unit :
                           (int)(rnd() % (1 << 28 >> shifts.unit)) - 27;
        ref = call_ref(src[0] + PAD, threshold, &shifts, width);
        new = call_new(src[0] + PAD, threshold, &shifts, width);
        if (ref != new)
            checkasm_fail_func("%d elements, scale %d, part %d: %"PRIu64", not %"PRIu64,
                               width, scale, part, new, ref);
    }
    bench_new(src[0] + PAD, threshold, &shifts, 128);
}

static void check_adm(void)
{
    static const int depths[] = { 8, 10, 16 };
    ADMDSPContext dsp;

    for (int i = 0; i < FF_ARRAY_ELEMS(depths); i++) {
        depth = depths[i];
        ff_vmaf_adm_dsp_init(&dsp, depth, 1);
        check_dwt_vertical(&dsp, 0);
    }
    check_dwt_vertical(&dsp, 1);
    for (int is_next = 0; is_next < 2; is_next++)
        check_dwt_horizontal(&dsp, is_next);
    report("wavelet");
    check_angle_flag(&dsp);
    for (int is_next = 0; is_next < 2; is_next++)
        check_decouple(&dsp, is_next);
    report("parts");
    set_bands(26);
    CHECK_ROW(dsp.cm_threshold, "vmaf_adm_cm_threshold", int32_t, ,
              (int32_t *dst, const int32_t *const cm_row[3], const int32_t *excess, int w),
              (const int32_t *[]){ src[0] + PAD, src[1] + PAD, src[2] + PAD }, src[3] + PAD);
    check_minkowski_sum(&dsp);
    report("sums");
}

// ---- motion ----

/// Fill all rows with samples of 16 bits, up to max.
static void set_samples(int max)
{
    for (int i = 0; i < sizeof(src) / 2; i++)
        ((uint16_t *)src)[i] = rnd() % (max + 1);
}

/// Fill all rows with differences of samples.
static void set_differences(void)
{
    for (int i = 0; i < sizeof(src) / 2; i++)
        ((int16_t *)src)[i] = (int)(rnd() % (2 << depth)) - (1 << depth);
}

static void check_horizontal_sad(const MotionDSPContext *dsp)
{
    declare_func(uint32_t, const int32_t *src, int w);

    if (!check_func(dsp->horizontal_sad, "vmaf_motion_horizontal_sad"))
        return;
    set_bands(17);
    for (width = 1; width <= MAX_WIDTH; width++) {
        uint32_t ref, new;

        ref = call_ref(src[0] + PAD, width);
        new = call_new(src[0] + PAD, width);
        if (ref != new)
            checkasm_fail_func("%d elements", width);
    }
    bench_new(src[0] + PAD, 128);
}

static void check_motion(void)
{
    const int16_t *row[MOTION_TAPS];
    MotionDSPContext dsp;

    ff_vmaf_motion_dsp_init(&dsp);
    set_samples(UINT16_MAX);
    CHECK_ROW(dsp.subtract, "vmaf_motion_subtract", int16_t, ,
              (int16_t *dst, const void *prev, const void *row, int depth, int w),
              src[0] + PAD, src[1] + PAD, depth);
    for (int i = 0; i < MOTION_TAPS; i++)
        row[i] = ROW(int16_t, src, i);
    CHECK_ROW(dsp.vertical, "vmaf_motion_vertical", int32_t, set_differences(),
              (int32_t *dst, const int16_t *const row[MOTION_TAPS], int depth, int w), row, depth);
    check_horizontal_sad(&dsp);
    report("motion");
}

// ---- CAMBI ----

/// Fill a row with runs of few values, many of which are masked.
static void set_runs(uint16_t *row, int w)
{
    for (int x = 0, n = 0, v = 0; x < w; x++, n--) {
        if (n <= 0) {
            v = (rnd() % 8 ? 200 + rnd() % 12 : rnd() % 1024) | (rnd() % 4 ? CAMBI_MASKED : 0);
            n = 1 + rnd() % (rnd() % 4 ? 4 : 90);
        }
        row[x] = v;
    }
}

static void check_image_rows(const CAMBIDSPContext *dsp)
{
    int src_x[MAX_WIDTH];

    for (int x = 0; x < MAX_WIDTH; x++)
        src_x[x] = 3 * x / 2;
    set_samples(UINT16_MAX);
    CHECK_ROW(dsp->source, "vmaf_cambi_source", uint16_t, ,
              (uint16_t *dst, const uint8_t *src, const int *src_x, int depth, int w),
              ROW(uint8_t, src, 0), width & 1 ? src_x : NULL, depth);
    set_samples(1023);
    CHECK_ROW(dsp->anti_dither, "vmaf_cambi_anti_dither", uint16_t, ,
              (uint16_t *dst, const uint16_t *above, const uint16_t *below, int w),
              ROW(uint16_t, src, 0), ROW(uint16_t, src, 1));
    CHECK_ROW(dsp->subsample, "vmaf_cambi_subsample", uint16_t, ,
              (uint16_t *dst, const uint16_t *src, int w), ROW(uint16_t, src, 0));
    CHECK_ROW(dsp->mode3, "vmaf_cambi_mode3", uint16_t,
              for (int i = 0; i < 3; i++) set_runs(ROW(uint16_t, src, i), width),
              (uint16_t *dst, const uint16_t *a, const uint16_t *b, const uint16_t *c, int w),
              ROW(uint16_t, src, 0), ROW(uint16_t, src, 1), ROW(uint16_t, src, 2));
}

static void check_zero_derivative(const CAMBIDSPContext *dsp)
{
    declare_func(void, uint8_t *nb_zero_derivative, uint8_t *zero_derivative, const uint16_t *row,
                 const uint16_t *below, int is_inside, int w);

    if (!check_func(dsp->zero_derivative, "vmaf_cambi_zero_derivative"))
        return;
    memset(dst, 0, sizeof(dst));
    for (width = 1; width <= MAX_WIDTH; width++) {
        for (int i = 0; i < 2; i++)
            set_runs(ROW(uint16_t, src, i), width + 1);
        call_ref(ROW(uint8_t, dst[0], 0), ROW(uint8_t, dst[0], 1), ROW(uint16_t, src, 0), ROW(uint16_t, src, 1), width % 8 > 0,
                 width);
        call_new(ROW(uint8_t, dst[1], 0), ROW(uint8_t, dst[1], 1), ROW(uint16_t, src, 0), ROW(uint16_t, src, 1), width % 8 > 0,
                 width);
        compare(2, 1);
    }
    bench_new(ROW(uint8_t, dst[1], 0), ROW(uint8_t, dst[1], 1), ROW(uint16_t, src, 0), ROW(uint16_t, src, 1), 1, 128);
}

static void check_mask(const CAMBIDSPContext *dsp)
{
    declare_func(void, uint16_t *dst, uint8_t *mask, const uint8_t *nb_zero_derivative,
                 uint8_t mask_index, int step, int w);

    if (!check_func(dsp->mask, "vmaf_cambi_mask"))
        return;
    for (int i = 0; i < sizeof(src); i++)
        ((uint8_t *)src)[i] = rnd() % (CAMBI_MASK_SIZE + 1);
    memset(dst, 0, sizeof(dst));
    for (width = 1; width <= MAX_WIDTH; width++) {
        const int step = 1 + width % 2, mask_index = 18 + rnd() % 14;

        call_ref(ROW(uint16_t, dst[0], 0), ROW(uint8_t, dst[0], 1), ROW(uint8_t, src, 0), mask_index, step, width);
        call_new(ROW(uint16_t, dst[1], 0), ROW(uint8_t, dst[1], 1), ROW(uint8_t, src, 0), mask_index, step, width);
        compare(1, 2);
    }
    bench_new(ROW(uint16_t, dst[1], 0), ROW(uint8_t, dst[1], 1), ROW(uint8_t, src, 0), 24, 1, 128);
}

static void check_segment(const CAMBIDSPContext *dsp)
{
    declare_func(void, uint8_t *is_start, const uint16_t *row, int w);

    if (!check_func(dsp->segment, "vmaf_cambi_segment"))
        return;
    for (width = 1; width <= MAX_WIDTH; width++) {
        set_runs(ROW(uint16_t, src, 0), width);
        call_ref(ROW(uint8_t, dst[0], 0), ROW(uint16_t, src, 0), width);
        call_new(ROW(uint8_t, dst[1], 0), ROW(uint16_t, src, 0), width);
        if (memcmp(ROW(uint8_t, dst[0], 0), ROW(uint8_t, dst[1], 0), width + 1))
            checkasm_fail_func("%d samples", width);
    }
    bench_new(ROW(uint8_t, dst[1], 0), ROW(uint16_t, src, 0), 128);
}

#define MAX_WINDOW  33
#define HIST_STRIDE FFALIGN(MAX_WIDTH + MAX_WINDOW + 16, 32)

static uint16_t hist[2][CAMBI_V_BAND_SIZE + 2 * CAMBI_NUM_DIFFS][HIST_STRIDE];

static void check_hist(const CAMBIDSPContext *dsp)
{
    int16_t ramp[HIST_STRIDE];

    declare_func(void, uint16_t *hist, ptrdiff_t stride, const int16_t *ramp, const uint16_t *row,
                 const uint8_t *is_start, int window, int sign, int w);

    for (int i = 0; i < HIST_STRIDE; i++)
        ramp[i] = i + 1;
    memset(hist, 0, sizeof(hist));
    if (!check_func(dsp->hist, "vmaf_cambi_hist"))
        return;
    for (width = 8; width <= MAX_WIDTH; width++) {
        const int window = width % MAX_WINDOW | 1, sign = width % 3 ? 1 : -1;

        set_runs(ROW(uint16_t, src, 0), width);
        dsp->segment(ROW(uint8_t, src, 1), ROW(uint16_t, src, 0), width);
        call_ref(hist[0][0], HIST_STRIDE, ramp, ROW(uint16_t, src, 0), ROW(uint8_t, src, 1), window, sign, width);
        call_new(hist[1][0], HIST_STRIDE, ramp, ROW(uint16_t, src, 0), ROW(uint8_t, src, 1), window, sign, width);
        if (memcmp(hist[0], hist[1], sizeof(hist[0])))
            checkasm_fail_func("%d samples, window %d", width, window);
    }
    bench_new(hist[1][0], HIST_STRIDE, ramp, ROW(uint16_t, src, 0), ROW(uint8_t, src, 1), MAX_WINDOW, 1, 128);
}

static void check_c_value(const CAMBIDSPContext *dsp)
{
    float factor[MAX_WIDTH + 16], reciprocal[2 * MAX_WINDOW * MAX_WINDOW + 1] = { 0 };

    declare_func(int, float *dst, float *factor, const uint16_t *hist, ptrdiff_t stride,
                 const float *reciprocal, const uint16_t *row, const uint8_t *is_start, int window,
                 int w);

    if (!check_func(dsp->c_value, "vmaf_cambi_c_value"))
        return;
    for (int i = 1; i < FF_ARRAY_ELEMS(reciprocal); i++)
        reciprocal[i] = 1.f / i;
    for (int bin = 0; bin < FF_ARRAY_ELEMS(hist[0]); bin++)
        for (int x = 0; x < HIST_STRIDE; x++)
            hist[0][bin][x] = rnd() % 4 ? rnd() % (MAX_WINDOW * MAX_WINDOW) : 0;
    for (width = 8; width <= MAX_WIDTH; width++) {
        const int window = width % MAX_WINDOW | 1;
        int nb_ref, nb_new;

        set_runs(ROW(uint16_t, src, 0), width);
        dsp->segment(ROW(uint8_t, src, 1), ROW(uint16_t, src, 0), width);
        nb_ref = call_ref((float *)dst[0][0] + PAD, factor, hist[0][0], HIST_STRIDE, reciprocal,
                          ROW(uint16_t, src, 0), ROW(uint8_t, src, 1), window, width);
        nb_new = call_new((float *)dst[1][0] + PAD, factor, hist[0][0], HIST_STRIDE, reciprocal,
                          ROW(uint16_t, src, 0), ROW(uint8_t, src, 1), window, width);
        if (nb_ref != nb_new || memcmp(dst[0][0] + PAD, dst[1][0] + PAD, nb_ref * sizeof(float)))
            checkasm_fail_func("%d samples, window %d", width, window);
    }
    bench_new((float *)dst[1][0] + PAD, factor, hist[0][0], HIST_STRIDE, reciprocal, ROW(uint16_t, src, 0),
              ROW(uint8_t, src, 1), MAX_WINDOW, 128);
}

static void check_cambi(void)
{
    CAMBIDSPContext dsp;

    ff_vmaf_cambi_dsp_init(&dsp);
    check_image_rows(&dsp);
    check_zero_derivative(&dsp);
    check_mask(&dsp);
    report("cambi_image");
    check_segment(&dsp);
    check_hist(&dsp);
    check_c_value(&dsp);
    report("cambi_c_values");
}

// ---- SpEED ----

/// Fill a row of both results with the same floats.
static void set_sums(void)
{
    for (int i = 0; i < STRIDE; i++)
        ((float *)dst[0][0])[i] = ((float *)dst[1][0])[i] = (int)(rnd() % 4096) / 16.f - 128;
}

static void check_add_rows(const SpeedDSPContext *dsp)
{
    SpeedPosition src_x[MAX_WIDTH];

    for (int x = 0; x < MAX_WIDTH; x++)
        src_x[x] = (SpeedPosition){ 5 * x / 3, 5 * x / 3 + 1, (x % 9) / 9.f };
    set_samples(UINT16_MAX);
    CHECK_ROW(dsp->add_row, "vmaf_speed_add_row", float, set_sums(),
              (float *sum, float tap, const uint8_t *row, int depth, int w),
              0.107f, ROW(uint8_t, src, 0), depth);
    CHECK_ROW(dsp->add_bilinear, "vmaf_speed_add_bilinear", float, set_sums(),
              (float *sum, float tap, const uint8_t *a, const uint8_t *b, float weight,
               const SpeedPosition *src_x, int depth, int w),
              0.107f, ROW(uint8_t, src, 0), ROW(uint8_t, src, 1), 0.3f, src_x, depth);
}

#define GRID_W 43
#define GRID_H 27

static void check_plane_stats(const SpeedDSPContext *dsp)
{
    const SpeedDims dims = {
        .grid_w = GRID_W, .grid_h = GRID_H, .blocks_w = GRID_W / SPEED_SIDE,
        .nb_blocks = GRID_W / SPEED_SIDE * (GRID_H / SPEED_SIDE),
    };
    float grid[GRID_W * GRID_H];
    float *const stats[2] = { (float *)dst[0][0], (float *)dst[1][0] };

    declare_func(void, const SpeedDims *s, const float *grid, float *stats);

    if (!check_func(dsp->plane_stats, "vmaf_speed_plane_stats"))
        return;
    for (int n = 0; n < 8; n++) {
        // the first one has a singular covariance
        for (int i = 0; i < GRID_W * GRID_H; i++)
            grid[i] = n ? (int)(rnd() % (16 << n)) / 16.f - (1 << n >> 1) + i % n : 0;
        memset(dst, 0, sizeof(dst));
        call_ref(&dims, grid, stats[0]);
        call_new(&dims, grid, stats[1]);
        if (memcmp(stats[0], stats[1], (1 + 2 * dims.nb_blocks) * sizeof(float)) ||
            !n != !!stats[0][0])
            checkasm_fail_func("grid %d", n);
    }
    bench_new(&dims, grid, stats[1]);
}

static void check_speed(void)
{
    SpeedDSPContext dsp;

    ff_vmaf_speed_dsp_init(&dsp);
    check_add_rows(&dsp);
    check_plane_stats(&dsp);
    report("speed");
}

// ---- VIF ----

#define VIF_STRIDE STRIDE               ///< elements of 16 bits: two rows in one of src or dst
typedef const uint8_t *const (*ROWS)[2 * VIF_MAX_PAIRS];

static void set_bytes(void)
{
    for (int i = 0; i < sizeof(src); i++)
        ((uint8_t *)src)[i] = rnd() % 4 ? rnd() : rnd() & 1 ? 255 : 0;
}

static void check_vif_vertical(const VIFDSPContext *dsp, int is_deep, int scale)
{
    const uint8_t *row[PAIR_NB][2 * VIF_MAX_PAIRS];
    VIFFilter filter;
    int16_t *out[2][2];

    declare_func(void, int16_t *dst[2], ptrdiff_t stride,
                 const uint8_t *const (*row)[2 * VIF_MAX_PAIRS], const VIFFilter *filter,
                 int shift, int w);

    if (!check_func(dsp->vertical[is_deep], "vmaf_vif_vertical_%d_%d", is_deep, scale))
        return;
    ff_vmaf_vif_filter_init(&filter, scale);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            out[i][j] = ROW(int16_t, dst[i], 0) + j * VIF_STRIDE;
    // a last vector may overlap the one before
    for (width = is_deep ? 1 : 16; width <= MAX_WIDTH; width++) {
        depth = is_deep ? 16 - width % 7 : 8;
        set_bytes();
        for (int p = 0; p < PAIR_NB; p++)
            for (int i = 0; i < 2 * filter.nb_pairs; i++)
                row[p][i] = (const uint8_t *)(src[rnd() % NB_BANDS] + rnd() % PAD);
        call_ref(out[0], 2 * VIF_STRIDE, (ROWS)row, &filter, 16 - depth, width);
        call_new(out[1], 2 * VIF_STRIDE, (ROWS)row, &filter, 16 - depth, width);
        for (int i = 0; i < 2 * VIF_ROWS; i++)
            if (memcmp(out[0][0] + i * VIF_STRIDE, out[1][0] + i * VIF_STRIDE, 2 * width))
                checkasm_fail_func("row %d of %d elements, %d bits", i, width, depth);
    }
    bench_new(out[1], 2 * VIF_STRIDE, (ROWS)row, &filter, 0, 128);
}

static void check_vif_horizontal(const VIFDSPContext *dsp, int scale)
{
    const int16_t *in = (const int16_t *)src + 2 * PAD;
    VIFFilter filter;

    declare_func(void, uint32_t *dst, const int16_t *src, ptrdiff_t stride,
                 const VIFFilter *filter, int w);

    if (!check_func(dsp->horizontal, "vmaf_vif_horizontal_%d", scale))
        return;
    ff_vmaf_vif_filter_init(&filter, scale);
    for (width = 1; width <= MAX_WIDTH; width++) {
        uint32_t *out[2] = { ROW(uint32_t, dst[0], 0), ROW(uint32_t, dst[1], 0) };

        set_bytes();
        call_ref(out[0], in, VIF_STRIDE, &filter, width);
        call_new(out[1], in, VIF_STRIDE, &filter, width);
        compare(VIF_STATS_ROWS, 4);
    }
    bench_new(ROW(uint32_t, dst[1], 0), in, VIF_STRIDE, &filter, 128);
}

/// Set means, and mean squares with variances of all magnitudes, many about the noise's.
static void set_windows(void)
{
    for (int x = 0; x < STRIDE; x++) {
        const uint32_t mean[PAIR_NB] = { rnd(), rnd() };
        const int ref  = rnd() % 4 ? (int)(rnd() >> (2 + rnd() % 30)) : VIF_NOISE - 2 + (int)(rnd() % 4);
        const int kind = rnd() % 4;
        // the gain is 1, less, or anything, and the encode may have less variance than that
        const int cov  = !kind ? ref : kind == 1 ? ref / 3 : (int)(rnd() >> (2 + rnd() % 30)) - 3000;
        const int dis  = kind < 3 ? cov + (int)(rnd() % 9) - 4 : (int)(rnd() >> (2 + rnd() % 30));

        for (int i = 0; i < PAIR_NB; i++) {
            src[i][x]           = mean[i];
            src[PAIR_NB + i][x] = vif_mean_product(mean[i], mean[i]) +
                                  (i == PAIR_REFERENCE ? ref : dis);
        }
        src[2 * PAIR_NB][x] = vif_mean_product(mean[0], mean[1]) + cov;
    }
}

static void check_vif_statistics(const VIFDSPContext *dsp, const uint16_t *log2_table)
{
    static const double limits[] = { 1, 100, 1.2, 7.5 };

    declare_func(void, VIFScaleSums *sums, uint32_t *src, ptrdiff_t stride,
                 const uint16_t *log2_table, const double *gain_limit, int w);

    if (!check_func(dsp->statistics, "vmaf_vif_statistics"))
        return;
    for (width = 1; width <= MAX_WIDTH; width++) {
        VIFScaleSums sums[2] = { { 1, 2, 3, 4 }, { 1, 2, 3, 4 } };

        set_windows();
        call_ref(&sums[0], (uint32_t *)src + PAD, STRIDE, log2_table, &limits[width % 4], width);
        call_new(&sums[1], (uint32_t *)src + PAD, STRIDE, log2_table, &limits[width % 4], width);
        if (memcmp(&sums[0], &sums[1], sizeof(sums[0])))
            checkasm_fail_func("%d elements", width);
    }
    set_windows();
    bench_new(&(VIFScaleSums){ 0 }, (uint32_t *)src + PAD, STRIDE, log2_table, &limits[1], 128);
}

static void check_vif(void)
{
    static const uint16_t taps[VIF_SCALES][VIF_RADIUS(0) + 1] = VIF_TAPS;
    static uint16_t log2_table[(1 << 15) + 1];
    uint32_t words[VIF_LOG2_WORDS];
    const uint8_t *row[2 * VIF_RADIUS(1) + 1];
    VIFDSPContext dsp;

    ff_vmaf_vif_dsp_init(&dsp);
    ff_vmaf_vif_log2_init(words);
    for (int m = 0; m < 1 << 15; m++)
        log2_table[m] = vif_log2_fraction(words, m << 16) + 2048 * 15;
    for (int scale = 0; scale < VIF_SCALES; scale++) {
        check_vif_vertical(&dsp, 0, scale);
        check_vif_vertical(&dsp, 1, scale);
        check_vif_horizontal(&dsp, scale);
    }
    report("vif_window");
    check_vif_statistics(&dsp, log2_table);
    report("vif_statistics");
    for (int radius = VIF_RADIUS(3); radius <= VIF_RADIUS(1); radius *= 2) {
        const uint16_t *tap = taps[radius == 4 ? 1 : radius == 2 ? 2 : 3];

        for (int i = 0; i <= 2 * radius; i++)
            row[i] = (const uint8_t *)(src[i % NB_BANDS] + i);
        for (int is_deep = 0; is_deep < 2; is_deep++) {
            CHECK_ROW(dsp.next_vertical[is_deep], is_deep ? "vmaf_vif_next_vertical16" :
                      "vmaf_vif_next_vertical8", uint16_t, set_bytes(),
                      (uint16_t *dst, const uint8_t *const *row, const uint16_t *taps, int radius,
                       int depth, int w), row, tap, radius, is_deep ? 16 : 8);
        }
        CHECK_ROW(dsp.next_horizontal, "vmaf_vif_next_horizontal", uint16_t, set_bytes(),
                  (uint16_t *dst, const uint16_t *src, const uint16_t *taps, int radius, int w),
                  ROW(uint16_t, src, 0), tap, radius);
    }
    report("vif_next");
}

void checkasm_check_vmaf(void)
{
    check_vif();
    check_adm();
    check_motion();
    check_cambi();
    check_speed();
}
