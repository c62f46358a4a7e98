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

#include <string.h>

#include "checkasm.h"
#include "libavfilter/ssimulacra2_dsp.h"
#include "libavutil/macros.h"
#include "libavutil/mem_internal.h"

#define MAX_WIDTH 163
#define PAD       SSIMULACRA2_PAD
/// Elements of a row: of twice as many samples.
#define STRIDE    FFALIGN(2 * MAX_WIDTH + 2 * PAD, 16)

static DECLARE_ALIGNED_32(float, src)[SSIMULACRA2_TAPS][STRIDE];
static DECLARE_ALIGNED_32(int32_t, samples)[4][STRIDE];
static DECLARE_ALIGNED_32(float, dst)[2][3][STRIDE];

static int width;

/// Fill the rows with floats up to a maximum.
static void set_floats(float max)
{
    for (int i = 0; i < SSIMULACRA2_TAPS; i++)
        for (int x = 0; x < STRIDE; x++)
            src[i][x] = rnd() % 16 ? max * (rnd() / (float)UINT32_MAX) : rnd() % 2 * max;
}

/// Fill the rows of integers with samples of a depth.
static void set_samples(int depth)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(samples); i++)
        for (int x = 0; x < STRIDE; x++)
            samples[i][x] = rnd() & ((1 << depth) - 1);
}

/// Compare rows of a number of elements, which all have 4 bytes.
static void compare(int nb_rows, int nb)
{
    for (int i = 0; i < nb_rows; i++)
        if (memcmp(dst[0][i] + PAD, dst[1][i] + PAD, nb * sizeof(float)))
            checkasm_fail_func("row %d, width %d", i, width);
}

#define EACH_WIDTH for (width = 1; width <= MAX_WIDTH; width++)

static void check_unpack(const SSIMULACRA2DSPContext *dsp)
{
    static const struct {
        int step, depth, shift;
    } layout[] = { { 1, 8 }, { 2, 8 }, { 2, 10 }, { 2, 12, 4 }, { 4, 10, 6 } };

    declare_func(void, int32_t *dst, const uint8_t *src, int step, int depth, int shift, int w);

    for (int i = 0; i < FF_ARRAY_ELEMS(layout); i++) {
        const int step = layout[i].step, depth = layout[i].depth, shift = layout[i].shift;

        if (!check_func(dsp->unpack, "ssimulacra2_unpack_%d_%d", step, depth))
            continue;
        for (int x = 0; x < sizeof(src); x++)
            ((uint8_t *)src)[x] = rnd();
        EACH_WIDTH {
            call_ref((int32_t *)dst[0][0] + PAD, (uint8_t *)src, step, depth, shift, width);
            call_new((int32_t *)dst[1][0] + PAD, (uint8_t *)src, step, depth, shift, width);
            compare(1, width);
        }
        bench_new((int32_t *)dst[1][0] + PAD, (uint8_t *)src, step, depth, shift, 128);
    }
}

static void check_chroma_vertical(const SSIMULACRA2DSPContext *dsp)
{
    static const int tap[4] = { -9, 111, 29, -3 };
    const int32_t *const row[4] = { samples[0] + PAD, samples[1] + PAD, samples[2] + PAD, samples[3] + PAD };

    declare_func(void, int32_t *dst, const int32_t *const row[4], const int tap[4], int w);

    if (!check_func(dsp->chroma_vertical, "ssimulacra2_chroma_vertical"))
        return;
    set_samples(12);
    EACH_WIDTH {
        call_ref((int32_t *)dst[0][0] + PAD, row, tap, width);
        call_new((int32_t *)dst[1][0] + PAD, row, tap, width);
        compare(1, width);
    }
    bench_new((int32_t *)dst[1][0] + PAD, row, tap, 128);
}

static void check_chroma_horizontal(const SSIMULACRA2DSPContext *dsp)
{
    static const SSIMULACRA2Chroma left   = { { { 0, 128, 0, 0 }, { -8, 72, 72, -8 } }, { -1, -1 } };
    static const SSIMULACRA2Chroma centre = { { { -3, 29, 111, -9 }, { -9, 111, 29, -3 } }, { -2, -1 } };

    declare_func(void, float *dst, const int32_t *src, const SSIMULACRA2Chroma *chroma, int w);

    if (!check_func(dsp->chroma_horizontal, "ssimulacra2_chroma_horizontal"))
        return;
    set_samples(19);
    EACH_WIDTH {
        const SSIMULACRA2Chroma *chroma = width & 1 ? &left : &centre;

        call_ref(dst[0][0] + PAD, samples[0] + PAD, chroma, width);
        call_new(dst[1][0] + PAD, samples[0] + PAD, chroma, width);
        compare(1, 2 * width);
    }
    bench_new(dst[1][0] + PAD, samples[0] + PAD, &centre, 128);
}

static void check_linear(const SSIMULACRA2DSPContext *dsp)
{
    static SSIMULACRA2Linear table[SSIMULACRA2_MAX_INDEX + 1];
    // of BT.709 with 10 bits, from far below 0 to far above 1
    static const SSIMULACRA2Matrix matrix = { 1.17f, 1.1e-4f, -1.3e-5f, -3.3e-5f, 1.3e-4f, -999, 315, -1183 };
    float *const ref[3] = { dst[0][0] + PAD, dst[0][1] + PAD, dst[0][2] + PAD };
    float *const new[3] = { dst[1][0] + PAD, dst[1][1] + PAD, dst[1][2] + PAD };

    for (int i = 0; i < FF_ARRAY_ELEMS(table); i++)
        table[i] = (SSIMULACRA2Linear){ rnd() / (float)UINT32_MAX, rnd() / (float)UINT32_MAX };
    set_samples(10);
    set_floats(1 << 24);
    if (check_func(dsp->linear, "ssimulacra2_linear")) {
        declare_func(void, float *const rgb[3], const int32_t *y, const float *u, const float *v,
                     const SSIMULACRA2Matrix *matrix, const SSIMULACRA2Linear *table, int w);

        EACH_WIDTH {
            call_ref(ref, samples[0] + PAD, src[0] + PAD, src[1] + PAD, &matrix, table, width);
            call_new(new, samples[0] + PAD, src[0] + PAD, src[1] + PAD, &matrix, table, width);
            compare(3, width);
        }
        bench_new(new, samples[0] + PAD, src[0] + PAD, src[1] + PAD, &matrix, table, 128);
    }
    if (check_func(dsp->linear_plane, "ssimulacra2_linear_plane")) {
        declare_func(void, float *dst, const int32_t *src, const SSIMULACRA2Matrix *matrix,
                     const SSIMULACRA2Linear *table, int w);

        EACH_WIDTH {
            call_ref(ref[0], samples[0] + PAD, &matrix, table, width);
            call_new(new[0], samples[0] + PAD, &matrix, table, width);
            compare(1, width);
        }
        bench_new(new[0], samples[0] + PAD, &matrix, table, 128);
    }
}

static void check_planes(const SSIMULACRA2DSPContext *dsp)
{
    float *const ref[3] = { dst[0][0] + PAD, dst[0][1] + PAD, dst[0][2] + PAD };
    float *const new[3] = { dst[1][0] + PAD, dst[1][1] + PAD, dst[1][2] + PAD };

    set_floats(2.5f);
    if (check_func(dsp->xyb, "ssimulacra2_xyb")) {
        declare_func(void, float *x, float *y, float *b, const float *red, const float *green,
                     const float *blue, int w);

        EACH_WIDTH {
            call_ref(ref[0], ref[1], ref[2], src[0] + PAD, src[1] + PAD, src[2] + PAD, width);
            call_new(new[0], new[1], new[2], src[0] + PAD, src[1] + PAD, src[2] + PAD, width);
            compare(3, width);
        }
        bench_new(new[0], new[1], new[2], src[0] + PAD, src[1] + PAD, src[2] + PAD, 128);
    }
    if (check_func(dsp->products, "ssimulacra2_products")) {
        declare_func(void, float *squares, float *error, const float *x1, const float *x2, int w);

        EACH_WIDTH {
            call_ref(ref[0], ref[1], src[0] + PAD, src[1] + PAD, width);
            call_new(new[0], new[1], src[0] + PAD, src[1] + PAD, width);
            compare(2, width);
        }
        bench_new(new[0], new[1], src[0] + PAD, src[1] + PAD, 128);
    }
    if (check_func(dsp->downscale, "ssimulacra2_downscale")) {
        declare_func(void, float *dst, const float *upper, const float *lower, int w);

        EACH_WIDTH {
            call_ref(ref[0], src[0] + PAD, src[1] + PAD, width);
            call_new(new[0], src[0] + PAD, src[1] + PAD, width);
            compare(1, width);
        }
        bench_new(new[0], src[0] + PAD, src[1] + PAD, 128);
    }
}

static void check_gaussian(const SSIMULACRA2DSPContext *dsp)
{
    static const SSIMULACRA2Gaussian gaussian = { { 0.2646f, 0.2129f, 0.1093f, 0.0360f, 0.0094f } };
    const float *row[SSIMULACRA2_TAPS];

    for (int i = 0; i < SSIMULACRA2_TAPS; i++)
        row[i] = src[i] + PAD;
    set_floats(1);
    if (check_func(dsp->vertical, "ssimulacra2_vertical")) {
        declare_func(void, float *dst, const float *const row[SSIMULACRA2_TAPS],
                     const SSIMULACRA2Gaussian *gaussian, int w);

        EACH_WIDTH {
            call_ref(dst[0][0] + PAD, row, &gaussian, width);
            call_new(dst[1][0] + PAD, row, &gaussian, width);
            compare(1, width);
        }
        bench_new(dst[1][0] + PAD, row, &gaussian, 128);
    }
    if (check_func(dsp->horizontal, "ssimulacra2_horizontal")) {
        declare_func(void, float *dst, const float *src, const SSIMULACRA2Gaussian *gaussian, int w);

        EACH_WIDTH {
            call_ref(dst[0][0] + PAD, src[0] + PAD, &gaussian, width);
            call_new(dst[1][0] + PAD, src[0] + PAD, &gaussian, width);
            compare(1, width);
        }
        bench_new(dst[1][0] + PAD, src[0] + PAD, &gaussian, 128);
    }
}

static void check_add_maps(const SSIMULACRA2DSPContext *dsp)
{
    static SSIMULACRA2GroupSums sums[2];
    const SSIMULACRA2Rows rows = {
        { src[0] + PAD, src[1] + PAD }, { src[2] + PAD, src[3] + PAD }, src[4] + PAD, src[5] + PAD,
    };

    declare_func(void, SSIMULACRA2GroupSums sums, int phase, const SSIMULACRA2Rows *rows, int mask, int w);

    if (!check_func(dsp->add_maps, "ssimulacra2_add_maps"))
        return;
    EACH_WIDTH {
        const int mask = rnd() % (1 << SSIMULACRA2_SUMS), phase = width % SSIMULACRA2_PHASES;

        set_floats(1);
        memset(sums, 0, sizeof(sums));
        // variances are not negative
        for (int x = 0; x < STRIDE; x++)
            src[4][x] += src[2][x] * src[2][x] + src[3][x] * src[3][x];
        call_ref(sums[0], phase, &rows, mask, width);
        call_new(sums[1], phase, &rows, mask, width);
        if (memcmp(sums[0], sums[1], sizeof(*sums)))
            checkasm_fail_func("width %d, mask %x", width, mask);
    }
    bench_new(sums[1], 0, &rows, (1 << SSIMULACRA2_SUMS) - 1, 128);
}

void checkasm_check_ssimulacra2(void)
{
    SSIMULACRA2DSPContext dsp;

    ff_ssimulacra2_dsp_init(&dsp);
    check_unpack(&dsp);
    check_chroma_vertical(&dsp);
    check_chroma_horizontal(&dsp);
    check_linear(&dsp);
    report("linear");
    check_planes(&dsp);
    report("planes");
    check_gaussian(&dsp);
    report("gaussian");
    check_add_maps(&dsp);
    report("maps");
}
