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
 * CAMBI of VMAF v1 for a batch of pairs.
 */

#include "vf_vmaf_cuda.cuh"
#include "vmaf_cambi_ops.h"

// ---- CAMBI: pictures ----

/// A sample of a scale's picture: its value, and whether the mask has it.
#define CAMBI_MASKED 0x8000

/// Rows that are loaded before they are looked at: two lanes for each.
#define CAMBI_AHEAD (WARP_SIZE / 4)

/// Of two columns in a row of the encode and of the one after them: values, or their sums with
/// those to their right.
typedef struct CambiRow {
    uint32_t two;           ///< 16 bits each
    uint32_t next;
} CambiRow;

/// Load what is needed of four samples in a row. Past the edges the last one stands.
template<typename T>
static DEVICE_INLINE CambiRow cambi_load(const VMAFCUDAParams &p, const int column[4], int y)
{
    const VMAFCUDAPlane plane = p.pair[blockIdx.y].plane[PAIR_MAIN][0];
    const uint8_t *src = plane.data + p.line[min(y, p.cambi.height - 1)] * plane.pitch;
    uint32_t v[4];

    UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = cambi_to_10bit(load_sample<T>(plane, src + column[i]), p.cambi.depth);
    for (int i = 0; i < 3 && p.cambi.anti_dither; i++)
        v[i] += v[i + 1];
    return { v[1] << 16 | v[0], v[2] };
}

/// Where the encode was dithered, the means of 2x2 samples.
static DEVICE_INLINE CambiRow cambi_mean(bool anti_dither, const CambiRow &row, const CambiRow &below)
{
    if (!anti_dither)
        return row;
    return { row.two + below.two >> 2 & 0x3fff3fff, row.next + below.next >> 2 };
}

/// Take bits from the lower and the upper half in turn.
static DEVICE_INLINE uint32_t interleave_bits(uint32_t x)
{
    const uint32_t kept[] = { 0xff0000ff, 0xf00ff00f, 0xc3c3c3c3, 0x99999999 };

    UNROLL
    for (int i = 0; i < 4; i++) {
        const int shift = 8 >> i;

        x = (x & kept[i]) | (x << shift & ~kept[i] & ~kept[i] << shift) |
            (x >> shift & ~kept[i] & ~kept[i] >> shift);
    }
    return x;
}

/**
 * Make the picture of every sample, or every second one, and tell which samples begin no edge. A
 * lane has two columns.
 */
template<typename T>
static DEVICE_INLINE void cambi_picture(const VMAFCUDAParams &p)
{
    const CAMBIDims &cambi = p.cambi;
    const int nb_words = DIV_UP(cambi.width, WARP_SIZE), nb_runs = DIV_UP(nb_words, 2);
    const int job  = blockIdx.x * VMAF_CAMBI_WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE, x = (job % nb_runs * WARP_SIZE + lane) * 2;
    const int top  = job / nb_runs * VMAF_CAMBI_ROWS;
    const int end  = min(top + VMAF_CAMBI_ROWS, cambi.height);
    const int halving = cambi.high_res_speedup, word = job % nb_runs * 2 + lane % 2;
    uint32_t *flat  = p.flat + (int64_t)blockIdx.y * nb_words * cambi.height + word;
    uint16_t *value = p.value + (int64_t)blockIdx.y * p.level_size + (x >> halving);
    CambiRow row[CAMBI_AHEAD + 1], now;
    int column[4];

    if (top >= end)
        return;
    UNROLL
    for (int i = 0; i < 4; i++)
        column[i] = p.column[min(x + i, cambi.width - 1)] * sizeof(T);
    row[0] = cambi_load<T>(p, column, top);
    row[CAMBI_AHEAD] = cambi_load<T>(p, column, top + 1);
    now    = cambi_mean(cambi.anti_dither, row[0], row[CAMBI_AHEAD]);
    for (int begin = top; begin < end; begin += CAMBI_AHEAD) {
        uint32_t bits = 0;

        row[0] = row[CAMBI_AHEAD];
        UNROLL
        for (int i = 1; i <= CAMBI_AHEAD; i++)
            row[i] = cambi_load<T>(p, column, begin + i + 1);
        UNROLL
        for (int i = 0; i < CAMBI_AHEAD; i++) {
            const int y = begin + i;
            const CambiRow below = cambi_mean(cambi.anti_dither, row[i], row[i + 1]);
            const uint32_t edges = (now.two ^ byte_perm(now.two, now.next, 0x5432)) |
                                   (now.two ^ below.two);
            const uint32_t even  = warp_ballot(x < cambi.width && !(edges & 0xffff));
            const uint32_t odd   = warp_ballot(x + 1 < cambi.width && !(edges >> 16));

            if (lane / 2 == i)
                bits = byte_perm(even, odd, lane % 2 ? 0x7632 : 0x5410);
            if (x < cambi.width && y < end && !halving)
                *(uint32_t *)(value + y * p.level[0].pitch) = now.two;
            else if (x < cambi.width && y < end && !(y & 1))
                value[y / 2 * p.level[0].pitch] = now.two;
            now = below;
        }
        if (begin + lane / 2 < end && lane / 2 < CAMBI_AHEAD && word < nb_words)
            flat[(begin + lane / 2) * nb_words] = interleave_bits(bits);
    }
}

static DEVICE_INLINE void cambi_prepare(const VMAFCUDAParams &p)
{
    if (p.pair[blockIdx.y].plane[PAIR_MAIN][0].size == 1)
        cambi_picture<uint8_t>(p);
    else
        cambi_picture<uint16_t>(p);
}

/// Add the bits of three words: the lower bits of the sums, and the upper ones.
static DEVICE_INLINE uint32_t add_bits(uint32_t a, uint32_t b, uint32_t c, uint32_t *carry)
{
    *carry = (a & b) | (c & (a ^ b));
    return a ^ b ^ c;
}

/// Tell of 32 columns in a row of the encode around which enough samples begin no edge, a bit each.
static DEVICE_INLINE uint32_t cambi_mask(const VMAFCUDAParams &p, int word, int y)
{
    const int nb_words = DIV_UP(p.cambi.width, WARP_SIZE);
    uint32_t digit[6] = { 0, 0, 0, 0, 0, 0 }, is_more = 0;

    UNROLL
    for (int i = -CAMBI_MASK_SIZE / 2; i <= CAMBI_MASK_SIZE / 2; i++) {
        const uint32_t *row = p.flat + (int64_t)blockIdx.y * p.cambi.height * nb_words +
                              (y + i) * nb_words;
        uint32_t near[3], bits[CAMBI_MASK_SIZE], upper[3], sum[3], carry = 0;

        UNROLL
        for (int j = 0; j < 3; j++)
            near[j] = y + i >= 0 && y + i < p.cambi.height && word + j > 0 &&
                      word + j <= nb_words ? row[word + j - 1] : 0;
        UNROLL
        for (int j = 0; j < CAMBI_MASK_SIZE; j++) {
            const int at = WARP_SIZE + j - CAMBI_MASK_SIZE / 2;

            bits[j] = ((uint64_t)near[at / WARP_SIZE + 1] << 32 | near[at / WARP_SIZE]) >>
                      at % WARP_SIZE;
        }
        sum[0] = add_bits(add_bits(bits[0], bits[1], bits[2], &upper[0]),
                          add_bits(bits[3], bits[4], bits[5], &upper[1]), bits[6], &upper[2]);
        sum[1] = add_bits(upper[0], upper[1], upper[2], &sum[2]);
        UNROLL
        for (int j = 0; j < 6; j++)
            digit[j] = add_bits(digit[j], j < 3 ? sum[j] : 0, carry, &carry);
    }
    UNROLL
    for (int j = 0; j < 6; j++)
        is_more = p.cambi.mask_index >> j & 1 ? digit[j] & is_more : digit[j] | is_more;
    return is_more;
}

/**
 * Sample the scale before, and replace what is alone among its neighbours. A thread has a part of a
 * column. The first scale is masked: a lane tells of one or two words of a row.
 */
static DEVICE_INLINE void cambi_filter(const VMAFCUDAParams &p)
{
    const int step = p.scale ? 2 : 1, halving = p.cambi.high_res_speedup;
    const int src_pitch = p.level[p.scale].pitch * step, pitch = p.level[p.scale + 1].pitch;
    const int w = p.level[p.scale + 1].w, h = p.level[p.scale + 1].h;
    const int nb_columns = DIV_UP(w, WARP_SIZE) * WARP_SIZE;
    const int job = blockIdx.x * VMAF_CAMBI_WARPS * WARP_SIZE + threadIdx.x, x = job % nb_columns;
    const int lane = threadIdx.x % WARP_SIZE, top = job / nb_columns * VMAF_CAMBI_FILTER_ROWS;
    const bool is_edge  = x == 0 || x >= w - 1;
    const uint16_t *src = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale].at +
                          min(x, w - 1) * step;
    uint16_t *dst = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale + 1].at + x;
    // samples, and the most frequent of each and those to its left and right
    int sample[VMAF_CAMBI_FILTER_ROWS + 2], mode[VMAF_CAMBI_FILTER_ROWS + 2];
    uint32_t mask = 0;

    if (top >= h)
        return;
    UNROLL
    for (int i = 0; i < VMAF_CAMBI_FILTER_ROWS + 2; i++) {
        const uint16_t *row = src + min(max(top + i - 1, 0), h - 1) * src_pitch;
        const int middle    = row[0] & ~CAMBI_MASKED;

        sample[i] = row[0];
        mode[i]   = is_edge ? middle : cambi_mode3(row[-step] & ~CAMBI_MASKED, middle,
                                                       row[step] & ~CAMBI_MASKED);
    }
    if (!p.scale)
        mask = cambi_mask(p, ((x - lane) << halving) / WARP_SIZE + lane / VMAF_CAMBI_FILTER_ROWS,
                          (top + lane % VMAF_CAMBI_FILTER_ROWS) << halving);
    UNROLL
    for (int i = 0; i < VMAF_CAMBI_FILTER_ROWS; i++) {
        const int y = top + i, bit = lane << halving;
        int value = y && y < h - 1 ? cambi_mode3(mode[i], mode[i + 1], mode[i + 2])
                                   : sample[i + 1] & ~CAMBI_MASKED;

        if (!p.scale)
            value |= shuffle_from(mask, i + bit / WARP_SIZE * VMAF_CAMBI_FILTER_ROWS) >>
                     bit % WARP_SIZE << 15 & CAMBI_MASKED;
        else
            value |= sample[i + 1] & CAMBI_MASKED;
        if (x < w && y < h)
            dst[y * pitch] = value;
    }
}

// ---- CAMBI: contrasts ----

/// Values that are counted at a time, and of these those whose neighbours all are.
#define COUNTED (2 * WARP_SIZE)
#define CENTRAL (COUNTED - 2 * CAMBI_NUM_DIFFS)

/// How often each column has each value in the window's rows. A word has four columns.
typedef uint32_t CambiCounts[COUNTED][WARP_SIZE];

/// What a warp has, which is a thread block: 9 KB.
typedef struct CambiShared {
    CambiCounts counts;
    uint32_t list[4 * WARP_SIZE];       ///< of a row: values, in which of four columns, and these
} CambiShared;

static DEVICE_INLINE int cambi_sample(uint64_t quad, int i)
{
    return quad >> 16 * i & 0xffff;
}

/// Whether a sample counts, and is one of nb values from this on.
static DEVICE_INLINE bool cambi_has(int sample, int least, int nb)
{
    return (unsigned)sample - CAMBI_MASKED - least < (unsigned)nb &&
           (unsigned)sample - CAMBI_MASKED - CAMBI_V_BAND_BASE < CAMBI_V_BAND_SIZE;
}

/// Add four samples of a row to the counts of their columns, or take them away.
static DEVICE_INLINE void cambi_add(CambiCounts &counts, uint64_t quad, int base, int sign)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int sample = cambi_sample(quad, i);

        if (cambi_has(sample, base, COUNTED))
            atomic_add(&counts[sample - CAMBI_MASKED - base][threadIdx.x % WARP_SIZE],
                       (unsigned)sign << 8 * i);
    }
}

/// Values whose counts make a contrast.
#define NEAR (2 * CAMBI_NUM_DIFFS + 1)

/// Add up four bytes of each, to one of 32 bits or two of 16.
static DEVICE_INLINE void cambi_join(unsigned nb[NEAR], unsigned four[NEAR])
{
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        nb[j]  += (four[j] & 0xff00ff) + byte_perm(four[j], 0, 0x4341);
        four[j] = 0;
    }
}

/**
 * The largest contrasts of a value in four columns in a row, of those that are counted. The window
 * of the first one is added up, in bytes as long as none overflows: it has no more than the
 * window's rows, which are at most 65. The other windows have some of the columns after it, and not
 * the same number of those at its start.
 */
static DEVICE_INLINE void cambi_most(float most[4], const VMAFCUDAParams &p,
                                     const CambiCounts &counts, int value, int base, int column)
{
    const int left = column - p.cambi.window / 2, right = column + p.cambi.window / 2;
    const int first = left / 4, last = right / 4, nb_words = 255 / p.cambi.window;
    const uint32_t first_mask = ~0u << left % 4 * 8, last_mask = ~0u >> (3 - right % 4) * 8;
    const uint32_t (*row)[WARP_SIZE] = &counts[value - base - CAMBI_NUM_DIFFS];
    unsigned nb[NEAR] = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, four[NEAR], two[2][NEAR];

    UNROLL
    for (int j = 0; j < NEAR; j++)
        four[j] = row[j][first] & first_mask & (first < last ? ~0u : last_mask);
    for (int i = first + 1, more = nb_words - 1; i < last; i++, more--) {
        if (!more) {
            more = nb_words;
            cambi_join(nb, four);
        }
        UNROLL
        for (int j = 0; j < NEAR; j++)
            four[j] += row[j][i];
    }
    cambi_join(nb, four);
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        const uint64_t out = (uint64_t)row[j][(left + 3) / 4] << 32 | row[j][first];
        const uint64_t in  = (uint64_t)row[j][(right + 3) / 4] << 32 | row[j][last];
        // sums of the first ones in each byte
        const uint32_t less = (uint32_t)(out >> left % 4 * 8) * 0x1010100;
        const uint32_t more = ((uint32_t)(in >> right % 4 * 8) & ~0xff) * 0x1010101;

        four[j] = first < last ? row[j][last] & last_mask : 0;
        two[0][j] = byte_perm(more, 0, 0x4140) - byte_perm(less, 0, 0x4140);
        two[1][j] = byte_perm(more, 0, 0x4342) - byte_perm(less, 0, 0x4342);
    }
    cambi_join(nb, four);
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        nb[j]      = byte_perm(nb[j] * 0x10001, 0, 0x3232);
        two[0][j] += nb[j];
        two[1][j] += nb[j];
    }
    UNROLL
    for (int i = 0; i < 4; i++)
        most[i] = 0;
    UNROLL
    for (int step = 1; step <= CAMBI_NUM_DIFFS; step++)
        UNROLL
        for (int i = 0; i < 4 && tvi_visible(value, step); i++) {
            const unsigned *of = two[i / 2];
            const int shift = i % 2 * 16;
            const int here  = of[CAMBI_NUM_DIFFS] >> shift & 0xffff;
            const int near  = max(of[CAMBI_NUM_DIFFS + step] >> shift & 0xffff,
                                  of[CAMBI_NUM_DIFFS - step] >> shift & 0xffff);

            if (near)
                most[i] = max(most[i], c_value(step, here, near, p.reciprocal));
        }
}

/// The bits of a warp's lanes below the own one.
static DEVICE_INLINE unsigned bits_below(unsigned bits)
{
    return count_bits(bits & (1u << threadIdx.x) - 1);
}

/// Measure the contrasts of a row, of samples that have one of the central values. Those that are
/// more than nothing are noted in any order, as they are sums.
static DEVICE_INLINE void cambi_measure(const VMAFCUDAParams &p, CambiShared &s, int scale,
                                        uint64_t quad, int base)
{
    const int lane = threadIdx.x;
    float *dst = p.contrast + (int64_t)blockIdx.y * p.nb_contrasts +
                 p.level[scale + 1].at - p.level[1].at;
    unsigned nb = 0;

    // few lanes have some, but all can measure: each value of four samples in a row once
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int sample = cambi_sample(quad, i);
        bool is_first    = cambi_has(sample, base + CAMBI_NUM_DIFFS, CENTRAL);
        unsigned alike   = 0;

        UNROLL
        for (int j = 0; j < 4; j++) {
            alike    |= (cambi_sample(quad, j) == sample) << j;
            is_first &= j >= i || cambi_sample(quad, j) != sample;
        }
        const unsigned bits = warp_ballot(is_first);

        if (is_first)
            s.list[nb + bits_below(bits)] = sample - CAMBI_MASKED << 16 | alike << 8 | lane;
        nb += count_bits(bits);
    }
    sync_warp();
    for (unsigned i = lane; i < nb + lane; i += WARP_SIZE) {
        const uint32_t one = s.list[min(i, nb - 1)];
        float contrast[4];
        unsigned bits[4], nb_left = 0, at = 0;

        cambi_most(contrast, p, s.counts, one >> 16, base, (one & 0xff) * 4);
        UNROLL
        for (int j = 0; j < 4; j++) {
            bits[j]  = warp_ballot(i < nb && one >> (8 + j) & 1 && contrast[j] > 0);
            nb_left += count_bits(bits[j]);
        }
        if (lane == 0 && nb_left)
            at = atomic_add(&p.state[blockIdx.y].select[scale].nb, nb_left);
        at = shuffle_from(at, 0);
        UNROLL
        for (int j = 0; j < 4; j++) {
            if (bits[j] >> lane & 1)
                dst[at + bits_below(bits[j])] = contrast[j];
            at += count_bits(bits[j]);
        }
    }
    sync_warp();
}

/// Four samples of a column's rows, of a picture of h rows.
typedef struct CambiColumn {
    const uint16_t *value;
    int pitch, h;
    uint64_t inside;            ///< those in the picture
} CambiColumn;

static DEVICE_INLINE uint64_t cambi_quad(const CambiColumn &c, int y)
{
    return c.inside && y >= 0 && y < c.h ?
           *(const uint64_t *)(c.value + y * c.pitch) & c.inside : 0;
}

/// The least value from one on that a warp's columns have in some rows; none is very large.
static DEVICE_INLINE unsigned cambi_least(const CambiColumn &c, int top, int end, int from)
{
    unsigned least = ~0u;

#pragma unroll 4
    for (int y = top; y < end; y++) {
        const uint64_t quad = cambi_quad(c, y);

        UNROLL
        for (int i = 0; i < 4; i++) {
            const unsigned sample = cambi_sample(quad, i);

            if (cambi_has(sample, from, CAMBI_V_BAND_SIZE))
                least = min(least, sample - CAMBI_MASKED);
        }
    }
    return warp_min(least);
}

/**
 * The largest contrast of each masked sample. A warp counts the values of 128 columns in the
 * window's rows, which slide down; the outer columns are only there for the windows of those
 * between. It does so again until all values have had their turn: each time those from the least
 * on that is left.
 */
static DEVICE_INLINE void cambi_contrast(const VMAFCUDAParams &p)
{
    __shared__ CambiShared s;
    const int lane = threadIdx.x, job = blockIdx.x;
    unsigned value = CAMBI_V_BAND_BASE;
    int scale = 0;

    while (scale < CAMBI_SCALES - 1 && job >= p.first[scale + 1])
        scale++;
    const int w = p.level[scale + 1].w, h = p.level[scale + 1].h, pitch = p.level[scale + 1].pitch;
    const int around   = p.cambi.window / 2, margin = DIV_UP(around, 4);
    const int nb_tiles = DIV_UP(w, 4 * (WARP_SIZE - 2 * margin)), tile = job - p.first[scale];
    const int x   = 4 * (tile % nb_tiles * (WARP_SIZE - 2 * margin) - margin + lane);
    const int top = tile / nb_tiles * VMAF_CAMBI_TILE_H, end = min(top + VMAF_CAMBI_TILE_H, h);
    const CambiColumn column = {
        p.value + (int64_t)blockIdx.y * p.level_size + p.level[scale + 1].at + x, pitch, h,
        x < 0 || x >= w ? 0 : ~0ull >> 16 * max(x + 4 - w, 0),
    };
    CambiColumn inner = column;

    if (lane < margin || lane >= WARP_SIZE - margin)
        inner.inside = 0;
    for (; (value = cambi_least(inner, top, end, value)) < CAMBI_MASKED; value += CENTRAL) {
        const int base  = value - CAMBI_NUM_DIFFS;
        uint64_t enters = cambi_quad(column, top - around), leaves = 0, quad = 0;

        for (int i = 0; i < COUNTED; i++)
            s.counts[i][lane] = 0;
        for (int y = top - around; y < end + around; y++) {
            const int now = y - around;

            cambi_add(s.counts, enters, base, 1);
            cambi_add(s.counts, leaves, base, -1);
            // for the next row
            enters = cambi_quad(column, y + 1);
            leaves = now - around >= top - around ? cambi_quad(column, now - around) : 0;
            if (now >= top) {
                sync_warp();
                cambi_measure(p, s, scale, quad, base);
            }
            quad = now + 1 >= top ? cambi_quad(inner, now + 1) : 0;
        }
    }
}

// ---- CAMBI: the largest contrasts ----

/// Contrasts that a thread looks at in a turn, and a thread block.
#define SELECT_AHEAD 8
#define SELECT_SHARE (SELECT_AHEAD * VMAF_SELECT_THREADS)

/// What is less than the bits of any contrast, which are in order: none is below 0.5.
#define SELECT_OFFSET 0x3e800000

/// A contrast in 2^-24.
static DEVICE_INLINE uint64_t select_value(int key)
{
    const union { uint32_t i; float f; } contrast = { (uint32_t)key + SELECT_OFFSET };

    return contrast.f * 0x1p24f;
}

/**
 * The mean of a scale's largest contrasts. Each launch finds a digit of the least of them, from the
 * highest on: a thread counts one digit. The last launch adds what is above the least, too; if all
 * of them count, that is its only task.
 */
static DEVICE_INLINE void cambi_select(const VMAFCUDAParams &p)
{
    __shared__ uint32_t nb_of[VMAF_SELECT_THREADS];
    const int scale = blockIdx.x / VMAF_SELECT_BLOCKS, tid = threadIdx.x, nb_top = p.top[scale];
    const uint32_t *contrast = (const uint32_t *)p.contrast +
                               (int64_t)blockIdx.y * p.nb_contrasts +
                               p.level[scale + 1].at - p.level[1].at;
    VMAFCUDASelect *select = &p.state[blockIdx.y].select[scale];
    uint32_t *nb_of_all = &p.state[blockIdx.y].nb_of[scale][tid];
    const bool is_end   = p.digit == VMAF_SELECT_DIGITS - 1;
    const int shift     = (VMAF_SELECT_DIGITS - 1 - p.digit) * VMAF_SELECT_BITS;
    const int nb = select->nb, least = select->least, block = blockIdx.x % VMAF_SELECT_BLOCKS;
    const int nb_blocks = max(1, min(nb / SELECT_SHARE, VMAF_SELECT_BLOCKS));
    uint32_t rest = nb_top - select->nb_above, above = 0;
    uint64_t sum  = 0;

    if (block >= nb_blocks || nb <= nb_top && !is_end)
        return;
    nb_of[tid] = 0;
    __syncthreads();
    for (int begin = block * SELECT_SHARE; begin < nb; begin += nb_blocks * SELECT_SHARE) {
        int key[SELECT_AHEAD];

        UNROLL
        for (int i = 0; i < SELECT_AHEAD; i++) {
            const int at = begin + i * VMAF_SELECT_THREADS + tid;

            key[i] = at < nb ? (int)contrast[at] - SELECT_OFFSET : -1;
        }
        UNROLL
        for (int i = 0; i < SELECT_AHEAD; i++) {
            // of those with the known digits
            const int digit      = (key[i] >> shift) - (least >> shift);
            const bool is_one    = digit >= 0 && digit < VMAF_SELECT_THREADS;
            const unsigned lanes = warp_ballot(is_one);
            // many are alike
            const int first      = WARP_SIZE - 1 - count_leading_zeros(lanes);
            const int common     = shuffle_from(digit, max(first, 0));
            const unsigned alike = warp_ballot(is_one && digit == common);

            if (is_one && (digit != common || tid % WARP_SIZE == first))
                atomic_add(&nb_of[digit], digit == common ? count_bits(alike) : 1);
            if (is_end && digit >= VMAF_SELECT_THREADS)
                sum += select_value(key[i]);
        }
    }
    __syncthreads();
    if (nb_of[tid])
        atomic_add(nb_of_all, nb_of[tid]);
    if (is_end)
        add_sum(&select->sum, sum);
    if (!is_last(&select->nb_done, nb_blocks))
        return;
    nb_of[tid] = load_relaxed(nb_of_all);
    *nb_of_all = 0;
    __syncthreads();
    for (int i = tid + 1; i < VMAF_SELECT_THREADS; i++)
        above += nb_of[i];
    if (above < rest && above + nb_of[tid] >= rest) {
        select->least     = least + (tid << shift);
        select->nb_above += above;
    }
    if (!is_end)
        return;
    sum = select_value(least + tid) * min(nb_of[tid], max(rest, above) - above);
    add_sum(&select->sum, sum);
    __syncthreads();
    if (tid == 0) {
        double *mean = (double *)(p.pair[blockIdx.y].result + p.result_at) + scale;

        *mean   = load_relaxed(&select->sum) * 0x1p-24 / nb_top;
        *select = VMAFCUDASelect();
    }
}

extern "C" {

KERNEL(vmaf_cambi_prepare, IS_CHOSEN, cambi_prepare, VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_filter, IS_CHOSEN, cambi_filter, VMAF_CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_contrast, IS_CHOSEN, cambi_contrast, WARP_SIZE)
KERNEL(vmaf_cambi_select, IS_CHOSEN, cambi_select, VMAF_SELECT_THREADS)

}
