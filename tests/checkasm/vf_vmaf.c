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
#include "libavfilter/vmaf_cpu.h"
#include "libavutil/common.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH 163
#define PAD       VMAF_PAD      ///< bytes before and after a row
/// Bytes of a row: of twice as many samples.
#define STRIDE    FFALIGN(2 * MAX_WIDTH * 4 + 2 * PAD, 64)
#define NB_SRC    FFMAX(2 * VMAF_ADM_BANDS, 4)

static DECLARE_ALIGNED_32(uint8_t, src)[NB_SRC][STRIDE];
static DECLARE_ALIGNED_32(uint8_t, dst)[2][VMAF_ADM_ROWS][STRIDE];

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

static int get(int band, int bytes, int i)
{
    return bytes == 2 ? ((int16_t *)src[band])[i] : ((int32_t *)src[band])[i];
}

static void set(int band, int bytes, int i, int v)
{
    const int max = bytes == 2 ? INT16_MAX : (1 << 28) - 1;

    v = av_clip(v, -max, max);
    if (bytes == 2)
        ((int16_t *)src[band])[i] = v;
    else
        ((int32_t *)src[band])[i] = v;
}

/// Coefficients, and those of an encode: often almost the same, or turned by one degree.
static void set_bands(int bytes)
{
    const double sine = sin(M_PI / 180), cosine = cos(M_PI / 180);

    for (int i = 0; i < sizeof(src[0]) / bytes; i++) {
        const int kind = rnd() % 8, shift = rnd() % (8 * bytes - 3);

        for (int band = 0; band < VMAF_ADM_BANDS; band++) {
            const int v = value(bytes == 2 ? 16 : 29) >> shift;

            set(band, bytes, i, v);
            set(VMAF_ADM_BANDS + band, bytes, i,
                kind < 3 ? v - v / (40 + (int)(rnd() % 40)) : kind < 5 ? v + (kind & 1) :
                value(bytes == 2 ? 16 : 29) >> shift);
        }
        if (kind == 5) {
            const int h = get(VMAF_ADM_H, bytes, i), v = get(VMAF_ADM_V, bytes, i);

            set(VMAF_ADM_BANDS + VMAF_ADM_H, bytes, i, lrint(h * cosine - v * sine));
            set(VMAF_ADM_BANDS + VMAF_ADM_V, bytes, i, lrint(h * sine + v * cosine));
        }
    }
}

/// Rows of so many samples are the same.
static void compare(int nb_rows, int bytes, int w)
{
    for (int i = 0; i < nb_rows; i++)
        if (memcmp(dst[0][i] + PAD, dst[1][i] + PAD, w * bytes))
            checkasm_fail_func("row %d of %d elements, %d bits", i, width, depth);
}

static void compare_sums(uint64_t ref, uint64_t new)
{
    if (ref != new)
        checkasm_fail_func("%d elements: %"PRIu64", not %"PRIu64, width, new, ref);
}

static void check_split(const VMAFADMDSP *dsp, int scale)
{
    const int bytes = scale == 1 || !scale && depth > 8 ? 2 : scale ? 4 : 1;
    const int row_bytes = scale ? 4 : 2;
    const void *line[4];

    for (int i = 0; i < 4; i++)
        line[i] = src[i] + PAD;
    set_bands(bytes == 4 ? 4 : 2);
    if (check_func(dsp->split_columns, "vmaf_split_columns_%d_%d", scale, depth)) {
        declare_func(void, void *low, void *high, const void *const line[4], int depth, int w);

        for (width = 16; width <= MAX_WIDTH; width++) {
            call_ref(dst[0][0] + PAD, dst[0][1] + PAD, line, depth, width);
            call_new(dst[1][0] + PAD, dst[1][1] + PAD, line, depth, width);
            compare(2, row_bytes, width);
        }
        bench_new(dst[1][0] + PAD, dst[1][1] + PAD, line, depth, 128);
    }
    set_bands(row_bytes);
    if (check_func(dsp->split_row, "vmaf_split_row_%d", scale)) {
        declare_func(void, void *low, void *high, const void *src, int shift, int w);

        for (width = 1; width <= MAX_WIDTH; width++) {
            const int shift = scale ? 15 + (width & 1) : 16;

            call_ref(dst[0][0] + PAD, dst[0][1] + PAD, src[0] + PAD, shift, width);
            call_new(dst[1][0] + PAD, dst[1][1] + PAD, src[0] + PAD, shift, width);
            compare(2, row_bytes, width);
        }
        bench_new(dst[1][0] + PAD, dst[1][1] + PAD, src[0] + PAD, 16, 128);
    }
}

static void check_parts(const VMAFADMDSP *dsp, int scale)
{
    // with the last one, products are just a half of what their shift drops
    const uint32_t weight[VMAF_ADM_BANDS] = { scale ? 251773000 : 24809, 107484000 >> 14,
                                              scale ? 154194000 : 32768 };
    int32_t *const ref = (int32_t *)(dst[0][0] + PAD), *const new = (int32_t *)(dst[1][0] + PAD);
    int32_t is_aligned[FFALIGN(MAX_WIDTH, 16)];

    if (check_func(dsp->align_row, "vmaf_align_row_%d", scale)) {
        declare_func(void, int32_t *dst, const uint8_t *bands, ptrdiff_t stride, int w);

        for (width = 1; width <= MAX_WIDTH; width++) {
            set_bands(scale ? 4 : 2);
            call_ref(ref, src[0] + PAD, STRIDE, width);
            call_new(new, src[0] + PAD, STRIDE, width);
            compare(1, 4, width);
        }
        bench_new(new, src[0] + PAD, STRIDE, 128);
    }
    if (check_func(dsp->part_row, "vmaf_part_row_%d", scale)) {
        declare_func(void, int32_t *dst, const uint8_t *bands, ptrdiff_t stride,
                     const int32_t *is_aligned, const uint32_t *weight, int w);

        for (width = 1; width <= MAX_WIDTH; width++) {
            set_bands(scale ? 4 : 2);
            for (int i = 0; i < FF_ARRAY_ELEMS(is_aligned); i++)
                is_aligned[i] = -(int)(rnd() & 1);
            call_ref(ref, src[0] + PAD, STRIDE, is_aligned, weight, width);
            call_new(new, src[0] + PAD, STRIDE, is_aligned, weight, width);
            compare(VMAF_ADM_ROWS, 4, width);
        }
        bench_new(new, src[0] + PAD, STRIDE, is_aligned, weight, 128);
    }
}

static void check_sums(const VMAFADMDSP *dsp, int scale)
{
    const int32_t *row[NB_SRC];

    for (int i = 0; i < NB_SRC; i++)
        row[i] = (const int32_t *)(src[i] + PAD);
    if (check_func(dsp->source_row, "vmaf_source_row_%d", scale)) {
        declare_func(uint64_t, const void *src, int square_shift, int shift, int w);

        set_bands(scale ? 4 : 2);
        for (width = 1; width <= MAX_WIDTH; width++) {
            const uint64_t ref = call_ref(row[0], 30, width % 12, width);
            const uint64_t new = call_new(row[0], 30, width % 12, width);

            compare_sums(ref, new);
        }
        bench_new(row[0], 30, 9, 128);
    }
    if (check_func(dsp->threshold_row, "vmaf_threshold_row")) {
        declare_func(void, int32_t *dst, const int32_t *above, const int32_t *row,
                     const int32_t *below, const int32_t *here, int w);

        set_bands(2);
        for (width = 1; width <= MAX_WIDTH; width++) {
            call_ref((int32_t *)(dst[0][0] + PAD), row[0], row[1], row[2], row[3], width);
            call_new((int32_t *)(dst[1][0] + PAD), row[0], row[1], row[2], row[3], width);
            compare(1, 4, width);
        }
        bench_new((int32_t *)(dst[1][0] + PAD), row[0], row[1], row[2], row[3], 128);
    }
    if (check_func(dsp->cube_row, "vmaf_cube_row")) {
        declare_func(uint64_t, const int32_t *value, const int32_t *threshold, int unit,
                     int square_shift, int shift, int w);

        set_bands(4);
        for (width = 1; width <= MAX_WIDTH; width++) {
            const int unit = width % 3 ? 8 + 2 * (width % 3) : 0, square_shift = 29 + (width & 1);
            uint64_t ref, new;

            for (int i = 0; i < MAX_WIDTH; i++)
                ((int32_t *)(src[3] + PAD))[i] = (int)(rnd() % (1 << 28 >> unit)) - 27;
            // many have nothing that is seen
            for (int i = 0; i < MAX_WIDTH; i++)
                if (i / 16 & 1)
                    ((int32_t *)(src[3] + PAD))[i] = 1 << 30 >> unit;
            ref = call_ref(row[0], row[3], unit, square_shift, width % 12, width);
            new = call_new(row[0], row[3], unit, square_shift, width % 12, width);
            compare_sums(ref, new);
        }
        bench_new(row[0], row[3], 10, 29, 6, 128);
    }
}

void checkasm_check_vmaf(void)
{
    static const int depths[] = { 8, 10, 16 };
    VMAFADMDSP dsp[VMAF_ADM_SCALES];

    for (int i = 0; i < FF_ARRAY_ELEMS(depths); i++) {
        depth = depths[i];
        ff_vmaf_adm_dsp_init(dsp, depth);
        for (int scale = 0; scale < 3; scale++)
            check_split(&dsp[scale], scale);
    }
    report("wavelet");
    for (int scale = 0; scale < 2; scale++)
        check_parts(&dsp[scale], scale);
    report("parts");
    for (int scale = 0; scale < 2; scale++)
        check_sums(&dsp[scale], scale);
    report("sums");
}
