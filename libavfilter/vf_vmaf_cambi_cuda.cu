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
#include "vf_vmaf_cambi_cuda.h"

// ---- pictures ----

/// Flag of a sample of a scale's picture: the spatial mask contains it.
#define CAMBI_MASKED 0x8000

/// Rows that are loaded ahead: two lanes write the derivatives of each.
#define CAMBI_AHEAD (WARP_SIZE / 4)

/// Values of two columns in a row of the encode and of the next one, or their sums with the values
/// to their right.
typedef struct CAMBIRow {
    uint32_t two;           ///< 16 bits each
    uint32_t next;
} CAMBIRow;

/// Word of two samples.
template<typename T> struct CAMBIWord           { typedef uint16_t type; };
template<>           struct CAMBIWord<uint16_t> { typedef uint32_t type; };

/// Source of four samples in a row, of which those past the edge are the last one of the row.
typedef struct CAMBISource {
    VMAFCUDAPlane plane;
    int at[4];              ///< offsets of the samples in a row, in bytes; with words, of two words
    unsigned selector[2];   ///< selectors of the samples of each word, for byte_perm()
} CAMBISource;

template<typename T, bool IN_WORDS>
static DEVICE_INLINE CAMBISource cambi_source(const CAMBICUDAParams &p, int x)
{
    const int last = p.dims.width - 1;
    CAMBISource s;

    s.plane = p.pair[blockIdx.y].plane[PAIR_MAIN][0];
    UNROLL
    for (int i = 0; i < 4 && !IN_WORDS; i++)
        s.at[i] = p.src_x[min(x + i, last)] * sizeof(T);
    UNROLL
    for (int i = 0; i < 2 && IN_WORDS; i++) {
        const int a = x + 2 * i <= last ? 0 : last & 1, b = x + 2 * i + 1 <= last ? 1 : last & 1;

        s.at[i]       = min(x + 2 * i, last & ~1) * sizeof(T);
        s.selector[i] = sizeof(T) == 1 ? 0x4040 + 0x100 * b + a : 0x1010 + 0x2200 * b + 0x22 * a;
    }
    return s;
}

/// Load two samples and convert them to 10 bits, in 16 bits each: no product or sum has more.
template<typename T>
static DEVICE_INLINE uint32_t cambi_load_word(const CAMBISource &s, const uint8_t *src, int i,
                                              int depth)
{
    typedef typename CAMBIWord<T>::type Word;
    const uint32_t both = 0x10001, two = byte_perm(load_global((const Word *)(src + s.at[i])), 0,
                                                   s.selector[i]);
    const uint32_t sample = sizeof(T) == 1 ? two * s.plane.factor >> 6 & 0x3ff * both :
                                             two >> s.plane.down & s.plane.mask * both;
    const int shift = depth - 8;

    return 4 * sample + (1 << shift >> 1) * both >> shift & (0xffff >> shift) * both;
}

/// Load four samples in a row.
template<typename T, bool IN_WORDS>
static DEVICE_INLINE CAMBIRow cambi_load(const CAMBICUDAParams &p, const CAMBISource &s, int y)
{
    const int row = min(y, p.dims.height - 1);
    const uint8_t *src = s.plane.data + (IN_WORDS ? row : p.src_y[row]) * s.plane.pitch;
    uint32_t v[4];

    if (IN_WORDS) {
        const uint32_t a = cambi_load_word<T>(s, src, 0, p.dims.depth);
        const uint32_t b = cambi_load_word<T>(s, src, 1, p.dims.depth);

        if (!p.dims.anti_dither)
            return { a, b & 0xffff };
        return { a + byte_perm(a, b, 0x5432), (b & 0xffff) + (b >> 16) };
    }
    UNROLL
    for (int i = 0; i < 4; i++)
        v[i] = cambi_to_10bit(load_sample<T>(s.plane, src + s.at[i]), p.dims.depth);
    for (int i = 0; i < 3 && p.dims.anti_dither; i++)
        v[i] += v[i + 1];
    return { v[1] << 16 | v[0], v[2] };
}

/// Return the means of 2x2 samples if the anti-dithering filter is on.
static DEVICE_INLINE CAMBIRow cambi_mean(bool anti_dither, const CAMBIRow &row,
                                         const CAMBIRow &below)
{
    if (!anti_dither)
        return row;
    return { row.two + below.two >> 2 & 0x3fff3fff, row.next + below.next >> 2 };
}

/// Interleave the bits of the lower and the upper half.
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
 * Write the values of all samples, or of every second one with high_res_speedup, and the bits of
 * zero_derivative of all. A lane has two columns.
 */
template<typename T, bool IN_WORDS>
static DEVICE_INLINE void cambi_picture(const CAMBICUDAParams &p)
{
    const CAMBIDims &cambi = p.dims;
    const int nb_words = DIV_UP(cambi.width, WARP_SIZE), nb_runs = DIV_UP(nb_words, 2);
    const int job  = blockIdx.x * CAMBI_WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE, x = (job % nb_runs * WARP_SIZE + lane) * 2;
    const int top  = job / nb_runs * CAMBI_ROWS;
    const int end  = min(top + CAMBI_ROWS, cambi.height);
    const int halving = cambi.high_res_speedup, word = job % nb_runs * 2 + lane % 2;
    uint32_t *flat  = p.zero_derivative + (int64_t)blockIdx.y * nb_words * cambi.height + word;
    uint16_t *value = p.value + (int64_t)blockIdx.y * p.level_size + (x >> halving);
    const CAMBISource src = cambi_source<T, IN_WORDS>(p, x);
    CAMBIRow row[CAMBI_AHEAD + 1], now;

    if (top >= end)
        return;
    row[0] = cambi_load<T, IN_WORDS>(p, src, top);
    row[CAMBI_AHEAD] = cambi_load<T, IN_WORDS>(p, src, top + 1);
    now    = cambi_mean(cambi.anti_dither, row[0], row[CAMBI_AHEAD]);
    for (int begin = top; begin < end; begin += CAMBI_AHEAD) {
        uint32_t bits = 0;

        row[0] = row[CAMBI_AHEAD];
        UNROLL
        for (int i = 1; i <= CAMBI_AHEAD; i++)
            row[i] = cambi_load<T, IN_WORDS>(p, src, begin + i + 1);
        UNROLL
        for (int i = 0; i < CAMBI_AHEAD; i++) {
            const int y = begin + i;
            const CAMBIRow below = cambi_mean(cambi.anti_dither, row[i], row[i + 1]);
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

/// Load words of two samples if the picture is not scaled, unless it was cropped to an odd column.
template<typename T>
static DEVICE_INLINE void cambi_preprocess(const CAMBICUDAParams &p)
{
    const VMAFCUDAPlane &plane = p.pair[blockIdx.y].plane[PAIR_MAIN][0];

    if (!p.is_scaled && ((uintptr_t)plane.data | plane.pitch) % (2 * sizeof(T)) == 0)
        cambi_picture<T, true>(p);
    else
        cambi_picture<T, false>(p);
}

static DEVICE_INLINE void cambi_prepare(const CAMBICUDAParams &p)
{
    if (p.pair[blockIdx.y].plane[PAIR_MAIN][0].size == 1)
        cambi_preprocess<uint8_t>(p);
    else
        cambi_preprocess<uint16_t>(p);
}

/// Add the bits of three words: return the lower bits of the sums, and set carry to the upper ones.
static DEVICE_INLINE uint32_t add_bits(uint32_t a, uint32_t b, uint32_t c, uint32_t *carry)
{
    *carry = (a & b) | (c & (a ^ b));
    return a ^ b ^ c;
}

/// Compute the spatial mask of 32 columns in a row of the encode: a bit each, set if more than
/// mask_index samples of the window have a zero derivative.
static DEVICE_INLINE uint32_t cambi_mask(const CAMBICUDAParams &p, int word, int y)
{
    const int nb_words = DIV_UP(p.dims.width, WARP_SIZE);
    uint32_t digit[6] = { 0, 0, 0, 0, 0, 0 }, is_more = 0;

    UNROLL
    for (int i = -CAMBI_MASK_SIZE / 2; i <= CAMBI_MASK_SIZE / 2; i++) {
        const uint32_t *row = p.zero_derivative + (int64_t)blockIdx.y * p.dims.height * nb_words +
                              (y + i) * nb_words;
        uint32_t near[3], bits[CAMBI_MASK_SIZE], upper[3], sum[3], carry = 0;

        UNROLL
        for (int j = 0; j < 3; j++)
            near[j] = y + i >= 0 && y + i < p.dims.height && word + j > 0 &&
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
        is_more = p.dims.mask_index >> j & 1 ? digit[j] & is_more : digit[j] | is_more;
    return is_more;
}

/**
 * Decimate the previous scale and apply the mode filter. A thread has a part of a column. The first
 * scale gets the spatial mask, of which a lane computes one or two words of a row.
 */
static DEVICE_INLINE void cambi_filter(const CAMBICUDAParams &p)
{
    const int step = p.scale ? 2 : 1, halving = p.dims.high_res_speedup;
    const int src_pitch = p.level[p.scale].pitch * step, pitch = p.level[p.scale + 1].pitch;
    const int w = p.level[p.scale + 1].w, h = p.level[p.scale + 1].h;
    const int nb_columns = DIV_UP(w, WARP_SIZE) * WARP_SIZE;
    const int job = blockIdx.x * CAMBI_WARPS * WARP_SIZE + threadIdx.x, x = job % nb_columns;
    const int lane = threadIdx.x % WARP_SIZE, top = job / nb_columns * CAMBI_FILTER_ROWS;
    const bool is_edge  = x == 0 || x >= w - 1;
    const uint16_t *src = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale].at +
                          min(x, w - 1) * step;
    uint16_t *dst = p.value + (int64_t)blockIdx.y * p.level_size + p.level[p.scale + 1].at + x;
    // samples, and the mode of each and its left and right neighbours
    int sample[CAMBI_FILTER_ROWS + 2], mode[CAMBI_FILTER_ROWS + 2];
    uint32_t mask = 0;

    if (top >= h)
        return;
    UNROLL
    for (int i = 0; i < CAMBI_FILTER_ROWS + 2; i++) {
        const uint16_t *row = src + min(max(top + i - 1, 0), h - 1) * src_pitch;
        const int middle    = row[0] & ~CAMBI_MASKED;

        sample[i] = row[0];
        mode[i]   = is_edge ? middle : cambi_mode3(row[-step] & ~CAMBI_MASKED, middle,
                                                       row[step] & ~CAMBI_MASKED);
    }
    if (!p.scale)
        mask = cambi_mask(p, ((x - lane) << halving) / WARP_SIZE + lane / CAMBI_FILTER_ROWS,
                          (top + lane % CAMBI_FILTER_ROWS) << halving);
    UNROLL
    for (int i = 0; i < CAMBI_FILTER_ROWS; i++) {
        const int y = top + i, bit = lane << halving;
        int value = y && y < h - 1 ? cambi_mode3(mode[i], mode[i + 1], mode[i + 2])
                                   : sample[i + 1] & ~CAMBI_MASKED;

        if (!p.scale)
            value |= shuffle_from(mask, i + bit / WARP_SIZE * CAMBI_FILTER_ROWS) >>
                     bit % WARP_SIZE << 15 & CAMBI_MASKED;
        else
            value |= sample[i + 1] & CAMBI_MASKED;
        if (x < w && y < h)
            dst[y * pitch] = value;
    }
}

// ---- c-values ----

/// Number of values in the histograms, and of those whose CAMBI_NUM_DIFFS neighbours are, too.
#define COUNTED (2 * WARP_SIZE)
#define CENTRAL (COUNTED - 2 * CAMBI_NUM_DIFFS)

/// Histograms of the columns over the rows of the window. Each 32-bit word packs the 8-bit counts
/// of four columns.
typedef uint32_t CAMBIHist[COUNTED][WARP_SIZE];

/// Shared memory of a thread block, which is a warp: 9 KB.
typedef struct CAMBIShared {
    CAMBIHist hist;
    uint32_t list[4 * WARP_SIZE];   ///< values of a row, bits of the four columns, and their lane
} CAMBIShared;

static DEVICE_INLINE int cambi_sample(uint64_t quad, int i)
{
    return quad >> 16 * i & 0xffff;
}

/// Check that a sample is masked and is one of nb values from least on that have a c-value.
static DEVICE_INLINE bool cambi_has(int sample, int least, int nb)
{
    return (unsigned)sample - CAMBI_MASKED - least < (unsigned)nb &&
           (unsigned)sample - CAMBI_MASKED - CAMBI_V_BAND_BASE < CAMBI_V_BAND_SIZE;
}

/// Add four samples of a row to the histograms of their columns, or subtract them.
static DEVICE_INLINE void hist_add(CAMBIHist &hist, uint64_t quad, int base, int sign)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        const int sample = cambi_sample(quad, i);

        if (cambi_has(sample, base, COUNTED))
            atomic_add(&hist[sample - CAMBI_MASKED - base][threadIdx.x % WARP_SIZE],
                       (unsigned)sign << 8 * i);
    }
}

/// Number of values whose counts make a c-value.
#define NEAR (2 * CAMBI_NUM_DIFFS + 1)

/// Add the four bytes of each word to a sum of 32 bits, or two of 16.
static DEVICE_INLINE void cambi_join(unsigned nb[NEAR], unsigned four[NEAR])
{
    UNROLL
    for (int j = 0; j < NEAR; j++) {
        nb[j]  += (four[j] & 0xff00ff) + byte_perm(four[j], 0, 0x4341);
        four[j] = 0;
    }
}

/**
 * Compute the c-values of a value in four columns in a row: the largest over all differences. The
 * window of the first column is summed in bytes, which do not overflow within nb_words: a count is
 * at most the window's height. The windows of the other columns are derived from it.
 */
static DEVICE_INLINE void max_c_values(float most[4], const CAMBICUDAParams &p,
                                     const CAMBIHist &hist, int value, int base, int column)
{
    const int left = column - p.dims.window / 2, right = column + p.dims.window / 2;
    const int first = left / 4, last = right / 4, nb_words = 255 / p.dims.window;
    const uint32_t first_mask = ~0u << left % 4 * 8, last_mask = ~0u >> (3 - right % 4) * 8;
    const uint32_t (*row)[WARP_SIZE] = &hist[value - base - CAMBI_NUM_DIFFS];
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
        // prefix sums: each byte has the sum of the bytes up to it
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
        for (int i = 0; i < 4 && tvi_visible(value, step, CAMBI_VIS_LUM); i++) {
            const unsigned *of = two[i / 2];
            const int shift = i % 2 * 16;
            const int here  = of[CAMBI_NUM_DIFFS] >> shift & 0xffff;
            const int near  = max(of[CAMBI_NUM_DIFFS + step] >> shift & 0xffff,
                                  of[CAMBI_NUM_DIFFS - step] >> shift & 0xffff);

            if (near)
                most[i] = max(most[i], c_value(step, here, near, p.reciprocal));
        }
}

/// Count the bits of the lanes below the own one.
static DEVICE_INLINE unsigned bits_below(unsigned bits)
{
    return count_bits(bits & (1u << threadIdx.x) - 1);
}

/// Compute the c-values of the samples of a row that have one of the central values. Those above 0
/// are stored in any order, as only their sum matters.
static DEVICE_INLINE void measure_row(const CAMBICUDAParams &p, CAMBIShared &s, int scale,
                                        uint64_t quad, int base)
{
    const int lane = threadIdx.x;
    float *dst = p.c_value + (int64_t)blockIdx.y * p.nb_c_values +
                 p.level[scale + 1].at - p.level[1].at;
    unsigned nb = 0;

    // few lanes have such samples, but all share the work: a list of the distinct values of each
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
        float value[4];
        unsigned bits[4], nb_left = 0, at = 0;

        max_c_values(value, p, s.hist, one >> 16, base, (one & 0xff) * 4);
        UNROLL
        for (int j = 0; j < 4; j++) {
            bits[j]  = warp_ballot(i < nb && one >> (8 + j) & 1 && value[j] > 0);
            nb_left += count_bits(bits[j]);
        }
        if (lane == 0 && nb_left)
            at = atomic_add(&p.state[blockIdx.y].topk[scale].nb, nb_left);
        at = shuffle_from(at, 0);
        UNROLL
        for (int j = 0; j < 4; j++) {
            if (bits[j] >> lane & 1)
                dst[at + bits_below(bits[j])] = value[j];
            at += count_bits(bits[j]);
        }
    }
    sync_warp();
}

/// Columns of a lane: four samples in each of the h rows of a picture.
typedef struct CAMBIColumn {
    const uint16_t *value;
    int pitch, h;
    uint64_t inside;            ///< mask of the samples inside the picture
} CAMBIColumn;

static DEVICE_INLINE uint64_t cambi_quad(const CAMBIColumn &c, int y)
{
    return c.inside && y >= 0 && y < c.h ?
           *(const uint64_t *)(c.value + y * c.pitch) & c.inside : 0;
}

/// Return the least value from one on that a warp's columns have in some rows, ~0 if there is none.
static DEVICE_INLINE unsigned least_value(const CAMBIColumn &c, int top, int end, int from)
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
 * Compute the c-value of each masked sample. A warp keeps histograms of 128 columns over the rows
 * of the window, which slides down; the outer columns only belong to the windows of the inner ones.
 * Each pass covers CENTRAL values, from the least one on that the passes before have not covered.
 */
static DEVICE_INLINE void cambi_contrast(const CAMBICUDAParams &p)
{
    __shared__ CAMBIShared s;
    const int lane = threadIdx.x, job = blockIdx.x;
    unsigned value = CAMBI_V_BAND_BASE;
    int scale = 0;

    while (scale < CAMBI_SCALES - 1 && job >= p.first[scale + 1])
        scale++;
    const int w = p.level[scale + 1].w, h = p.level[scale + 1].h, pitch = p.level[scale + 1].pitch;
    const int around   = p.dims.window / 2, margin = DIV_UP(around, 4);
    const int nb_tiles = DIV_UP(w, 4 * (WARP_SIZE - 2 * margin)), tile = job - p.first[scale];
    const int x   = 4 * (tile % nb_tiles * (WARP_SIZE - 2 * margin) - margin + lane);
    const int top = tile / nb_tiles * CAMBI_TILE_H, end = min(top + CAMBI_TILE_H, h);
    const CAMBIColumn column = {
        p.value + (int64_t)blockIdx.y * p.level_size + p.level[scale + 1].at + x, pitch, h,
        x < 0 || x >= w ? 0 : ~0ull >> 16 * max(x + 4 - w, 0),
    };
    CAMBIColumn inner = column;

    if (lane < margin || lane >= WARP_SIZE - margin)
        inner.inside = 0;
    for (; (value = least_value(inner, top, end, value)) < CAMBI_MASKED; value += CENTRAL) {
        const int base  = value - CAMBI_NUM_DIFFS;
        uint64_t enters = cambi_quad(column, top - around), leaves = 0, quad = 0;

        for (int i = 0; i < COUNTED; i++)
            s.hist[i][lane] = 0;
        for (int y = top - around; y < end + around; y++) {
            const int now = y - around;

            hist_add(s.hist, enters, base, 1);
            hist_add(s.hist, leaves, base, -1);
            // for the next row
            enters = cambi_quad(column, y + 1);
            leaves = now - around >= top - around ? cambi_quad(column, now - around) : 0;
            if (now >= top) {
                sync_warp();
                measure_row(p, s, scale, quad, base);
            }
            quad = now + 1 >= top ? cambi_quad(inner, now + 1) : 0;
        }
    }
}

// ---- top-k pooling ----

/// C-values that a thread loads ahead, and those of its thread block.
#define TOPK_AHEAD 8
#define TOPK_SHARE (TOPK_AHEAD * CAMBI_TOPK_THREADS)

/// Offset of the bits of a c-value, which is 0.5 or more: they have the order of the values.
#define TOPK_OFFSET 0x3e800000

/// Return a c-value in 2^-24.
static DEVICE_INLINE uint64_t topk_value(int key)
{
    const union { uint32_t i; float f; } c_value = { (uint32_t)key + TOPK_OFFSET };

    return c_value.f * 0x1p24f;
}

/**
 * Compute the mean of a scale's nb_top largest c-values by a radix select: each launch finds a
 * digit of the threshold, the highest first, by a histogram with a bin for each thread. The last
 * one also sums the c-values above the threshold, or all if there are no more than nb_top.
 */
static DEVICE_INLINE void cambi_select(const CAMBICUDAParams &p)
{
    __shared__ uint32_t hist[CAMBI_TOPK_THREADS];
    const int scale = blockIdx.x / CAMBI_TOPK_BLOCKS, tid = threadIdx.x, nb_top = p.nb_top[scale];
    const uint32_t *c_value = (const uint32_t *)p.c_value + (int64_t)blockIdx.y * p.nb_c_values +
                              p.level[scale + 1].at - p.level[1].at;
    CAMBITopK *topk = &p.state[blockIdx.y].topk[scale];
    uint32_t *hist_all  = &p.state[blockIdx.y].hist[scale][tid];
    const bool is_end   = p.digit == CAMBI_TOPK_DIGITS - 1;
    const int shift     = (CAMBI_TOPK_DIGITS - 1 - p.digit) * CAMBI_TOPK_BITS;
    const int nb = topk->nb, threshold = topk->threshold, block = blockIdx.x % CAMBI_TOPK_BLOCKS;
    const int nb_blocks = max(1, min(nb / TOPK_SHARE, CAMBI_TOPK_BLOCKS));
    uint32_t nb_remaining = nb_top - topk->nb_above, above = 0;
    uint64_t sum = 0;

    if (block >= nb_blocks || nb <= nb_top && !is_end)
        return;
    hist[tid] = 0;
    __syncthreads();
    for (int begin = block * TOPK_SHARE; begin < nb; begin += nb_blocks * TOPK_SHARE) {
        int key[TOPK_AHEAD];

        UNROLL
        for (int i = 0; i < TOPK_AHEAD; i++) {
            const int at = begin + i * CAMBI_TOPK_THREADS + tid;

            key[i] = at < nb ? (int)c_value[at] - TOPK_OFFSET : -1;
        }
        UNROLL
        for (int i = 0; i < TOPK_AHEAD; i++) {
            // in the range of a digit if the higher digits are those of the threshold
            const int digit      = (key[i] >> shift) - (threshold >> shift);
            const bool is_one    = digit >= 0 && digit < CAMBI_TOPK_THREADS;
            const unsigned lanes = warp_ballot(is_one);
            // many are the same: one lane counts for all
            const int first      = WARP_SIZE - 1 - count_leading_zeros(lanes);
            const int common     = shuffle_from(digit, max(first, 0));
            const unsigned alike = warp_ballot(is_one && digit == common);

            if (is_one && (digit != common || tid % WARP_SIZE == first))
                atomic_add(&hist[digit], digit == common ? count_bits(alike) : 1);
            if (is_end && digit >= CAMBI_TOPK_THREADS)
                sum += topk_value(key[i]);
        }
    }
    __syncthreads();
    if (hist[tid])
        atomic_add(hist_all, hist[tid]);
    if (is_end)
        add_sum(&topk->sum, sum);
    if (!is_last(&topk->nb_done, nb_blocks))
        return;
    hist[tid] = load_relaxed(hist_all);
    *hist_all = 0;
    __syncthreads();
    for (int i = tid + 1; i < CAMBI_TOPK_THREADS; i++)
        above += hist[i];
    if (above < nb_remaining && above + hist[tid] >= nb_remaining) {
        topk->threshold    = threshold + (tid << shift);
        topk->nb_above    += above;
    }
    if (!is_end)
        return;
    sum = topk_value(threshold + tid) * min(hist[tid], max(nb_remaining, above) - above);
    add_sum(&topk->sum, sum);
    __syncthreads();
    if (tid == 0) {
        ((double *)(p.pair[blockIdx.y].result + p.result_at))[scale] =
            load_relaxed(&topk->sum) * 0x1p-24 / nb_top;
        *topk = CAMBITopK();
    }
}

extern "C" {

KERNEL(vmaf_cambi_prepare, CAMBICUDAParams, IS_CHOSEN, cambi_prepare, CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_filter, CAMBICUDAParams, IS_CHOSEN, cambi_filter, CAMBI_WARPS * WARP_SIZE)
KERNEL(vmaf_cambi_contrast, CAMBICUDAParams, IS_CHOSEN, cambi_contrast, WARP_SIZE)
KERNEL(vmaf_cambi_select, CAMBICUDAParams, IS_CHOSEN, cambi_select, CAMBI_TOPK_THREADS)

}
