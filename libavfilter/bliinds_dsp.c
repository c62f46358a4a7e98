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
 * C functions of BLIINDSDSPContext, exact sums over a level, and the 10 % percentile pooling.
 *
 * The pooling sums the k largest values of a statistic by radix selection. For large levels, a
 * sample of the values first yields a narrow range around the k-th largest: values above the range
 * are summed in one pass, and only those within it are sorted by digits.
 */

#include "config.h"
#include "config_components.h"

#include <math.h>
#include <string.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/intfloat.h"

#include "bliinds_dsp.h"

/// Size of the sample that estimates the k-th largest of many values.
#define NB_SAMPLE 4096

#define EXPAND_ROW(bits)                                                        \
static void expand_row ## bits ## _c(int32_t *dst, const uint8_t *src8,         \
                                     int w, int down, int black, int up)        \
{                                                                               \
    const uint ## bits ## _t *src = (const uint ## bits ## _t *)src8;           \
    /* bits beyond the depth, invalid in a frame, would overflow */             \
    const int mask = (1 << (BLIINDS_FRAC_BITS + 8 - up)) - 1;                   \
                                                                                \
    for (int x = 0; x < w; x++)                                                 \
        dst[x] = ((src[x] >> down & mask) - black) * (1 << up);                 \
}

EXPAND_ROW(8)
EXPAND_ROW(16)

static void lowpass_row_c(int32_t *dst, const int32_t *above,
                          const int32_t *middle, const int32_t *below, int w)
{
    int32_t left = bliinds_lowpass(above[0], middle[0], below[0]);

    for (int x = 0; x < w / 2; x++) {
        int i = 2 * x + 1;
        int32_t mid   = bliinds_lowpass(above[i],     middle[i],     below[i]);
        int32_t right = bliinds_lowpass(above[i + 1], middle[i + 1], below[i + 1]);

        dst[x] = bliinds_lowpass(left, mid, right);
        left   = right;
    }
}

static void motion_row_c(uint64_t sum[2], int16_t *prev, const int32_t *line, int w)
{
    for (int x = 0; x < w; x++) {
        const int16_t v = bliinds_motion_sample(line[x]);
        const int d = v - prev[x];

        sum[0] += FFABS(d);
        sum[1] += d * d;
        prev[x] = v;
    }
}

/// Apply the integer stage of the DCT along a row, to the upper or lower bits that part returns.
static av_always_inline void dct5_part(float *restrict dst, ptrdiff_t stride,
                                       const int32_t *restrict line, int nb_blocks,
                                       float (*part)(int32_t))
{
    for (int b = 0; b < nb_blocks; b++) {
        const int32_t *x = line + BLIINDS_STEP * b;
        float t[5];

        bliinds_dct5_integer_stage(t, part(x[0]), part(x[1]), part(x[2]), part(x[3]), part(x[4]));
        for (int k = 0; k < 5; k++)
            dst[k * stride + b] = t[k];
    }
}

static void dct5_row_c(float *upper, float *lower, ptrdiff_t stride,
                       const int32_t *line, int nb_blocks)
{
    dct5_part(upper, stride, line, nb_blocks, bliinds_upper_bits);
    if (lower)
        dct5_part(lower, stride, line, nb_blocks, bliinds_lower_bits);
}

/// Gather the horizontal terms of block b from 5 rows, [row][term].
static av_always_inline void load_block(float dst[5][5], const float *const src[5],
                                        ptrdiff_t stride, int b)
{
    for (int y = 0; y < 5; y++)
        for (int k = 0; k < 5; k++)
            dst[y][k] = src[y][k * stride + b];
}

/// Inlined into each caller, so that the compiler drops the arithmetic of values not stored.
static av_always_inline void compute_blocks(float *restrict dst, const float *const upper[5],
                                            const float *const lower[5], ptrdiff_t stride,
                                            int nb_blocks, int nb_rows, int has_lower)
{
    for (int b = 0; b < nb_blocks; b++) {
        BLIINDSBlock block;
        float rows[5][5], terms[5][5], lower_terms[5][5];

        load_block(rows, upper, stride, b);
        bliinds_dct5_columns(terms, (const float (*)[5])rows);
        if (has_lower) {
            load_block(rows, lower, stride, b);
            bliinds_dct5_columns(lower_terms, (const float (*)[5])rows);
            for (int i = 0; i < 5; i++)
                for (int k = 0; k < 5; k++)
                    terms[i][k] += lower_terms[i][k];
        }
        bliinds_block(&block, (const float (*)[5])terms);

        for (int i = 0; i < 3; i++)
            dst[(BLIINDS_ROW_BAND + i) * stride + b] = block.band[i];
        dst[BLIINDS_ROW_FLAT * stride + b] = bliinds_is_flat(block.band);
        if (nb_rows <= BLIINDS_ROW_STATISTIC)
            continue;
        dst[(BLIINDS_ROW_STATISTIC + BLIINDS_ZETA) * stride + b] = block.zeta;
        dst[(BLIINDS_ROW_STATISTIC + BLIINDS_SUB)  * stride + b] = block.sub;
        dst[(BLIINDS_ROW_STATISTIC + BLIINDS_ORI)  * stride + b] = block.ori;
        dst[BLIINDS_ROW_RHO * stride + b] = block.rho;
    }
}

static void block_row_c(float *dst, const float *const upper[5], const float *const lower[5],
                        ptrdiff_t stride, int nb_blocks)
{
    if (lower)
        compute_blocks(dst, upper, lower, stride, nb_blocks, BLIINDS_NB_ROWS, 1);
    else
        compute_blocks(dst, upper, lower, stride, nb_blocks, BLIINDS_NB_ROWS, 0);
}

static void band_row_c(float *dst, const float *const upper[5], const float *const lower[5],
                       ptrdiff_t stride, int nb_blocks)
{
    if (lower)
        compute_blocks(dst, upper, lower, stride, nb_blocks, BLIINDS_ROW_STATISTIC, 1);
    else
        compute_blocks(dst, upper, lower, stride, nb_blocks, BLIINDS_ROW_STATISTIC, 0);
}

static void sum_rows_c(uint64_t (*sum)[BLIINDS_NB_LANES], const float *value,
                       ptrdiff_t stride, int nb_rows, int nb_blocks)
{
    for (int r = 0; r < nb_rows; r++)
        for (int b = 0; b < nb_blocks; b++)
            sum[r][b % BLIINDS_NB_LANES] += bliinds_fixed(value[r * stride + b]);
}

static void gamma_row_c(float *rho, const float *table, int nb_blocks)
{
    for (int b = 0; b < nb_blocks; b++)
        rho[b] = bliinds_gamma_value(bliinds_gamma(table, rho[b]));
}

static int select_range_c(float *dst, uint64_t above[2], const float *value, int n,
                          const float range[2])
{
    int nb = 0;

    for (int i = 0; i < n; i++) {
        if (value[i] > range[1]) {
            above[0] += bliinds_fixed(value[i]);
            above[1]++;
        } else if (value[i] >= range[0]) {
            dst[nb++] = value[i];
        }
    }
    return nb;
}

av_cold void ff_bliinds_dsp_init(BLIINDSDSPContext *dsp)
{
    dsp->expand_row8  = expand_row8_c;
    dsp->expand_row16 = expand_row16_c;
    dsp->lowpass_row  = lowpass_row_c;
    dsp->motion_row   = motion_row_c;
    dsp->dct5_row     = dct5_row_c;
    dsp->block_row    = block_row_c;
    dsp->band_row     = band_row_c;
    dsp->sum_rows     = sum_rows_c;
    dsp->gamma_row    = gamma_row_c;
    dsp->select_range = select_range_c;

#if ARCH_X86 && HAVE_X86ASM && CONFIG_BLIINDS_FILTER
    ff_bliinds_dsp_init_x86(dsp);
#endif
}

// ---- sums over the blocks of a level ----

void ff_bliinds_gamma_table(float table[BLIINDS_GAMMA_NB])
{
    for (int j = 0; j < BLIINDS_GAMMA_NB; j++) {
        double g = (BLIINDS_GAMMA_MIN + j) / 1000.;

        table[j] = exp(lgamma(1 / g) + lgamma(3 / g) - 2 * lgamma(2 / g));
    }
}

void ff_bliinds_add_row(const BLIINDSDSPContext *dsp, BLIINDSLevelSums *sums,
                        const BLIINDSLevelBlocks *blocks, int y,
                        float *value, ptrdiff_t stride, const float *table)
{
    const ptrdiff_t first = y * (ptrdiff_t)blocks->w;
    const int nb_rows     = table ? BLIINDS_NB_ROWS : BLIINDS_ROW_STATISTIC;
    const int nb          = FFALIGN(blocks->w, BLIINDS_VECTOR);
    uint64_t sum[BLIINDS_NB_ROWS][BLIINDS_NB_LANES] = { 0 };

    if (table)
        dsp->gamma_row(value + BLIINDS_ROW_RHO * stride, table, nb);
    for (int i = 0; i < nb_rows; i++)
        memset(value + i * stride + blocks->w, 0, (nb - blocks->w) * sizeof(*value));
    dsp->sum_rows(sum, value, stride, nb_rows, nb);
    for (int i = 0; table && i < BLIINDS_NB_STATISTICS; i++)
        memcpy(blocks->statistic[i] + first, value + (BLIINDS_ROW_STATISTIC + i) * stride,
               blocks->w * sizeof(*value));

    // the grid class of a block repeats every 8 blocks
    for (int x = 0; x < BLIINDS_NB_LANES; x++) {
        const int grid_class = bliinds_is_straddling(y) || bliinds_is_straddling(x);

        sums->nb_flat += sum[BLIINDS_ROW_FLAT][x] >> 32;
        for (int i = 0; i < 3; i++)
            bliinds_sum_add(&sums->band[grid_class][i], sum[BLIINDS_ROW_BAND + i][x]);
        for (int i = 0; i < BLIINDS_NB_STATISTICS; i++)
            bliinds_sum_add(&sums->pooled[i].by_class[grid_class], sum[BLIINDS_ROW_STATISTIC + i][x]);
    }
}

/**
 * Add the k largest of n values to a sum.
 *
 * Radix selection over the bits of the values, whose order is that of non-negative floats.
 *
 * @param value n values, at least 0; overwritten
 * @param k     1..n
 * @return the k-th largest value
 */
static float sum_k_largest(BLIINDSSum *dst, float *value, int n, int k)
{
    static const struct { int shift, bits; } digit[] = { { 21, 11 }, { 10, 11 }, { 0, 10 } };
    uint64_t fixed;

    for (int d = 0; d < FF_ARRAY_ELEMS(digit); d++) {
        const unsigned mask = (1 << digit[d].bits) - 1;
        unsigned hist[1 << 11] = { 0 }, bin = mask;
        int nb_equal = 0;

        for (int i = 0; i < n; i++)
            hist[av_float2int(value[i]) >> digit[d].shift & mask]++;
        while (hist[bin] < k)
            k -= hist[bin--];

        // values with a larger digit are among the k largest; equal digits go to the next pass
        for (int i = 0; i < n; i++) {
            unsigned v = av_float2int(value[i]) >> digit[d].shift & mask;

            if (v > bin)
                bliinds_sum_add(dst, bliinds_fixed(value[i]));
            else if (v == bin)
                value[nb_equal++] = value[i];
        }
        n = nb_equal;
    }

    fixed = bliinds_fixed(value[0]);
    dst->integer  += k * (fixed >> 32);
    dst->fraction += k * (fixed & UINT32_MAX);
    return value[0];
}

/// Return the k-th largest of nb values that are sampled at equal distances from n values.
static float sample_kth_largest(const float *value, int n, float *sample, int nb, int k)
{
    BLIINDSSum unused = { 0 };

    for (int i = 0; i < nb; i++)
        sample[i] = value[(int64_t)i * n / nb];
    return sum_k_largest(&unused, sample, nb, k);
}

/// Add the k largest of n values to a sum; a sample bounds the values that need radix selection.
static void sum_k_largest_sampled(const BLIINDSDSPContext *dsp, BLIINDSSum *dst,
                                  float *value, int n, int k, float *selection)
{
    // expected rank of the k-th largest value in the sample, and four standard deviations of it
    const int middle = (int64_t)NB_SAMPLE * k / n;
    const int margin = 4 * sqrtf(middle);
    const int max    = BLIINDS_SELECT_SIZE(n) - BLIINDS_SELECT_CHUNK;
    BLIINDSSum sum = { 0 };
    int nb = 0, nb_above = 0;
    float range[2];

    range[0] = sample_kth_largest(value, n, selection, NB_SAMPLE, FFMIN(middle + margin, NB_SAMPLE));
    range[1] = sample_kth_largest(value, n, selection, NB_SAMPLE, FFMAX(middle - margin, 1));

    for (int i = 0; i < n && nb <= max; i += BLIINDS_SELECT_CHUNK) {
        uint64_t above[2] = { 0 };

        nb += dsp->select_range(selection + nb, above, value + i,
                                FFMIN(FFALIGN(n - i, BLIINDS_VECTOR), BLIINDS_SELECT_CHUNK), range);
        bliinds_sum_add(&sum, above[0]);
        nb_above += above[1];
    }
    if (nb <= max && k > nb_above && k <= nb_above + nb) {
        dst->integer  += sum.integer;
        dst->fraction += sum.fraction;
        sum_k_largest(dst, selection, nb, k - nb_above);
    } else {
        sum_k_largest(dst, value, n, k);
    }
}

/// Add the k smallest of n shapes to a sum, by their histogram.
static void sum_k_smallest_shapes(BLIINDSSum *dst, const float *value, int n, int k)
{
    unsigned hist[BLIINDS_GAMMA_FLAT + 1] = { 0 };

    for (int i = 0; i < n; i++)
        hist[(int)value[i]]++;
    for (int shape = 0; k > 0; shape++) {
        const int nb = FFMIN(k, hist[shape]);

        dst->integer += (uint64_t)nb * shape;
        k -= nb;
    }
}

void ff_bliinds_pool10(const BLIINDSDSPContext *dsp, BLIINDSLevelSums *sums,
                       const BLIINDSLevelBlocks *blocks, enum BLIINDSStatistic statistic)
{
    const int n = blocks->w * blocks->h, k = bliinds_nb_pooled10(n);
    float *value    = blocks->statistic[statistic];
    BLIINDSSum *dst = &sums->pooled[statistic].pooled10;

    if (statistic == BLIINDS_GAMMA)
        sum_k_smallest_shapes(dst, value, n, k);
    else if (n < 8 * NB_SAMPLE)
        sum_k_largest(dst, value, n, k);
    else
        sum_k_largest_sampled(dsp, dst, value, n, k, blocks->selection[statistic]);
}
