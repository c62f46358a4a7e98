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
 * The loops of vmaf_luma.c, for the processor that FUNC() and ROW are defined for.
 */

#define VERTICAL(name, type, sum_type, shift_sum)                                           \
ROW void FUNC(name)(int32_t *restrict dst, const void *const line[4], const int taps[4],    \
                    int offset, int shift, int w)                                           \
{                                                                                           \
    const type *a = line[0], *b = line[1], *c = line[2], *d = line[3];                      \
    const int t0 = taps[0], t1 = taps[1], t2 = taps[2], t3 = taps[3];                       \
                                                                                            \
    for (int x = 0; x < w; x++)                                                             \
        dst[x] = shift_sum((sum_type)a[x] * t0 + (sum_type)b[x] * t1 +                      \
                           (sum_type)c[x] * t2 + (sum_type)d[x] * t3 - offset, shift);      \
}

#define SHIFT_INT(sum, shift) ((sum) + ((1 << (shift)) >> 1) >> (shift))

VERTICAL(split_columns8,  uint8_t,  int,     SHIFT_INT)
VERTICAL(split_columns16, uint16_t, int,     SHIFT_INT)
VERTICAL(split_columns1,  int16_t,  int,     SHIFT_INT)
VERTICAL(split_columns,   int32_t,  int64_t, vmaf_adm_shift)

/// Filter a padded row: dst[x] from src[2 * x - 1] on.
#define HORIZONTAL(name, type, shift_sum)                                                   \
ROW void FUNC(name)(int32_t *restrict low, int32_t *restrict high,                          \
                    const int32_t *restrict src, int shift, int w)                          \
{                                                                                           \
    static const int l[4] = VMAF_ADM_LOW, h[4] = VMAF_ADM_HIGH;                             \
                                                                                            \
    for (int x = 0; x < w; x++) {                                                           \
        const type a = src[2 * x - 1], b = src[2 * x], c = src[2 * x + 1], d = src[2 * x + 2]; \
                                                                                            \
        low[x]  = shift_sum(a * l[0] + b * l[1] + c * l[2] + d * l[3], shift);              \
        high[x] = shift_sum(a * h[0] + b * h[1] + c * h[2] + d * h[3], shift);              \
    }                                                                                       \
}

HORIZONTAL(split_row0, int,     SHIFT_INT)
HORIZONTAL(split_row,  int64_t, vmaf_adm_shift)

/// Whether reference and encode point to the same side.
#define ALIGN(name, type)                                                                   \
ROW void FUNC(name)(int32_t *restrict dst, const int32_t *restrict rh, const int32_t *restrict rv, \
                    const int32_t *restrict eh, const int32_t *restrict ev, int w)          \
{                                                                                           \
    for (int x = 0; x < w; x++)                                                             \
        dst[x] = vmaf_adm_is_aligned((type)rh[x] * eh[x] + (type)rv[x] * ev[x],             \
                                     (type)rh[x] * rh[x] + (type)rv[x] * rv[x],             \
                                     (type)eh[x] * eh[x] + (type)ev[x] * ev[x]);            \
}

ALIGN(align_row0, int)
ALIGN(align_row,  int64_t)

/// Split the coefficients of a band to their weighed parts, and add what these mask.
#define PART(name, kept_of, weigh, mask)                                                    \
ROW void FUNC(name)(int32_t *restrict kept, int32_t *restrict added,                        \
                    int32_t *restrict kept_near, int32_t *restrict kept_here,               \
                    int32_t *restrict added_near, int32_t *restrict added_here,             \
                    const int32_t *restrict reference, const int32_t *restrict encode,      \
                    const int32_t *restrict is_aligned, int weight, int shift, int rounding, \
                    int w)                                                                  \
{                                                                                           \
    for (int x = 0; x < w; x++) {                                                           \
        const int part = kept_of(reference[x], encode[x], is_aligned[x]);                   \
        const int k = weigh(part, weight), a = weigh(encode[x] - part, weight);             \
        int kept_around, added_around;                                                      \
        const int kept_centre = mask(k, &kept_around), added_centre = mask(a, &added_around); \
                                                                                            \
        kept[x]        = k;                                                                 \
        added[x]       = a;                                                                 \
        kept_near[x]  += kept_around;                                                       \
        kept_here[x]  += kept_centre - kept_around;                                         \
        added_near[x] += added_around;                                                      \
        added_here[x] += added_centre - added_around;                                       \
    }                                                                                       \
}

#define WEIGH0(x, weight) ((x) * (weight))
#define MASK0(x, near)    vmaf_adm_mask0(x, shift, rounding, near)

PART(part_row0, vmaf_adm_kept0, WEIGH0,         MASK0)
PART(part_row,  vmaf_adm_kept,  vmaf_adm_weigh, vmaf_adm_mask)

ROW uint64_t FUNC(source_row0)(const int32_t *src, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++) {
        const uint32_t e = vmaf_adm_abs(src[x]);

        sum += (uint64_t)(e * e) * e;
    }
    return sum;
}

ROW uint64_t FUNC(source_row)(const int32_t *src, int square_shift, int shift, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_adm_cube_source(src[x], square_shift, shift);
    return sum;
}

ROW void FUNC(threshold_row)(int32_t *restrict dst, const int32_t *above, const int32_t *middle,
                             const int32_t *below, const int32_t *here, int w)
{
    for (int x = 0; x < w; x++)
        dst[x] = above[x - 1]  + above[x]  + above[x + 1] +
                 middle[x - 1] + middle[x] + middle[x + 1] +
                 below[x - 1]  + below[x]  + below[x + 1] + here[x];
}

ROW uint64_t FUNC(cube_row)(const int32_t *src, const int32_t *threshold, int unit,
                            int square_shift, int shift, int w)
{
    uint64_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_adm_cube(src[x], (int)((uint32_t)threshold[x] << unit), square_shift, shift);
    return sum;
}

/// Blur the columns of the difference of five rows.
#define BLUR(name, type)                                                                    \
ROW void FUNC(name)(int32_t *restrict half, int32_t *restrict odd,                          \
                    const void *const before[5], const void *const now[5], int depth, int w) \
{                                                                                           \
    const type *a0 = before[0], *a1 = before[1], *a2 = before[2], *a3 = before[3],          \
               *a4 = before[4];                                                             \
    const type *b0 = now[0], *b1 = now[1], *b2 = now[2], *b3 = now[3], *b4 = now[4];        \
                                                                                            \
    for (int x = 0; x < w; x++) {                                                           \
        const int d = vmaf_motion_columns(a0[x] - b0[x], a1[x] - b1[x], a2[x] - b2[x],      \
                                          a3[x] - b3[x], a4[x] - b4[x], depth);             \
                                                                                            \
        half[x] = d >> 1;                                                                   \
        odd[x]  = d & 1;                                                                    \
    }                                                                                       \
}

BLUR(blur_columns8,  uint8_t)
BLUR(blur_columns16, uint16_t)

ROW uint32_t FUNC(motion_row)(const int32_t *half, const int32_t *odd, int w)
{
    uint32_t sum = 0;

    for (int x = 0; x < w; x++)
        sum += vmaf_motion_row(half + x, odd + x);
    return sum;
}
