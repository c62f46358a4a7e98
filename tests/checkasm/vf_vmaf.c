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

/// A coefficient of so many bits: often 0 or small.
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

/// Coefficients, and those of an encode: often almost the same, or turned by one degree.
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

/// Rows of so many elements are the same.
static void compare(int nb_rows, int bytes)
{
    for (int i = 0; i < nb_rows; i++)
        if (memcmp(dst[0][i] + PAD, dst[1][i] + PAD, width * bytes))
            checkasm_fail_func("row %d of %d elements, %d bits", i, width, depth);
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
    const uint32_t csf_weight[ADM_BANDS] = { is_next ? 251773000 : 24809, 107484000 >> 14,
                                              is_next ? 154194000 : 32768 };
    int32_t angle_flag[FFALIGN(MAX_WIDTH, 16)];

    declare_func(void, int32_t *dst, const int32_t *bands, ptrdiff_t stride,
                 const int32_t *angle_flag, const uint32_t *csf_weight, int w);

    if (!check_func(dsp->decouple[is_next], "vmaf_adm_decouple_%d", is_next))
        return;
    for (width = 1; width <= MAX_WIDTH; width++) {
        set_bands(is_next ? 29 : 16);
        for (int i = 0; i < FF_ARRAY_ELEMS(angle_flag); i++)
            angle_flag[i] = -(int)(rnd() & 1);
        call_ref(dst[0][0] + PAD, src[0] + PAD, STRIDE, angle_flag, csf_weight, width);
        call_new(dst[1][0] + PAD, src[0] + PAD, STRIDE, angle_flag, csf_weight, width);
        compare(ADM_ROWS, 4);
    }
    bench_new(dst[1][0] + PAD, src[0] + PAD, STRIDE, angle_flag, csf_weight, 128);
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

void checkasm_check_vmaf(void)
{
    static const int depths[] = { 8, 10, 16 };
    ADMDSPContext dsp;

    for (int i = 0; i < FF_ARRAY_ELEMS(depths); i++) {
        depth = depths[i];
        ff_vmaf_adm_dsp_init(&dsp, depth);
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
    check_minkowski_sum(&dsp);
    report("sums");
}
