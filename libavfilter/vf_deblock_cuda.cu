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


#include "cuda/quality_cuda.cuh"
#include "vf_deblock_cuda.h"

/**
 * Both passes over all planes of a frame, in one launch.
 *
 * A cell is the 8x8 samples around a crossing of the grid of 8x8 blocks, of one
 * component or of the two that are interleaved: edges change nothing beyond
 * their cell, so cells are independent. Samples are handled in words of 4 bytes
 * as they lie in memory. A cell has WORDS of them in a row, and as many threads;
 * a warp has cells side by side, 32 words and 8 rows.
 *
 * For the pass across vertical edges a thread holds 8 / WORDS rows of its cell,
 * for the pass across horizontal edges one column of words: 8 words each time.
 * Between the passes the warp exchanges them in shared memory. What is outside
 * of the picture is 0 and is not written.
 */
#define NB_WORDS 8                      ///< of a thread

/// Of a warp; the odd pitch keeps accesses of rows and of columns free of conflicts.
#define EXCHANGE_PITCH (WARP_SIZE + 1)
typedef uint32_t Exchange[DEBLOCK_CELL][EXCHANGE_PITCH];

/// Elements, which are samples of any channel, in a word and in a row of a warp.
#define PER_WORD(T) (4 / (int)sizeof(T))
#define ELEMENTS(T) (WARP_SIZE * PER_WORD(T))

template<typename T, int C> struct Layout {
    enum {
        WORDS = DEBLOCK_CELL * C / PER_WORD(T),         ///< of a row of a cell
        ROWS  = NB_WORDS / WORDS                        ///< of a thread
    };
};

/// The words of a thread: where the first is in the warp's, and the others from it.
template<typename T, int C, bool BY_ROWS> struct Words {
    enum { WORDS = Layout<T, C>::WORDS };

    static DEVICE_INLINE int first_row()
    {
        return BY_ROWS ? threadIdx.x % WORDS : 0;
    }
    static DEVICE_INLINE int first_column()
    {
        return BY_ROWS ? threadIdx.x % WARP_SIZE / WORDS * WORDS : threadIdx.x % WARP_SIZE;
    }
    static DEVICE_INLINE int row(int i)
    {
        return BY_ROWS ? i / WORDS * WORDS : i;
    }
    static DEVICE_INLINE int column(int i)
    {
        return BY_ROWS ? i % WORDS : 0;
    }
};

/// A warp's place in its plane.
struct Place {
    int left;           ///< its first element
    int top;            ///< its first row
    int nb_elements;    ///< of a row of the plane
    int h;              ///< rows of the plane
    bool has_words;     ///< words are aligned, and in the picture or not as a whole

    DEVICE_INLINE bool is_inside(int column, int row) const
    {
        return (unsigned)(left + column) < nb_elements && (unsigned)(top + row) < h;
    }
};

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void get_words(uint32_t (&word)[NB_WORDS], const Exchange &x)
{
    typedef Words<T, C, BY_ROWS> W;
    const uint32_t *first = &x[W::first_row()][W::first_column()];

    UNROLL
    for (int i = 0; i < NB_WORDS; i++)
        word[i] = first[W::row(i) * EXCHANGE_PITCH + W::column(i)];
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void put_words(Exchange &x, const uint32_t (&word)[NB_WORDS])
{
    typedef Words<T, C, BY_ROWS> W;
    uint32_t *first = &x[W::first_row()][W::first_column()];

    UNROLL
    for (int i = 0; i < NB_WORDS; i++)
        first[W::row(i) * EXCHANGE_PITCH + W::column(i)] = word[i];
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void load(uint32_t (&word)[NB_WORDS], Exchange &x,
                               const DeblockCUDAPlane &plane, const Place &place)
{
    typedef Words<T, C, BY_ROWS> W;
    const int pitch = plane.src_pitch;
    const uint8_t *src = plane.src + (int64_t)place.top * pitch + place.left * (int)sizeof(T);

    if (place.has_words) {
        const int x = W::first_column(), y = W::first_row();

        src += y * pitch + x * 4;
        UNROLL
        for (int i = 0; i < NB_WORDS; i++)
            word[i] = place.is_inside((x + W::column(i)) * PER_WORD(T), y + W::row(i)) ?
                      *(const uint32_t *)(src + W::row(i) * pitch + W::column(i) * 4) : 0;
        return;
    }
#pragma unroll 8
    for (int i = threadIdx.x % WARP_SIZE; i < DEBLOCK_CELL * ELEMENTS(T); i += WARP_SIZE) {
        const int column = i % ELEMENTS(T), row = i / ELEMENTS(T);

        ((T *)x[row])[column] = place.is_inside(column, row) ?
                                ((const T *)(src + row * pitch))[column] : 0;
    }
    sync_warp();
    get_words<T, C, BY_ROWS>(word, x);
    sync_warp();
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void store(const uint32_t (&word)[NB_WORDS], Exchange &x,
                                const DeblockCUDAPlane &plane, const Place &place)
{
    typedef Words<T, C, BY_ROWS> W;
    const int pitch = plane.dst_pitch;
    uint8_t *dst = plane.dst + (int64_t)place.top * pitch + place.left * (int)sizeof(T);

    if (place.has_words) {
        const int x = W::first_column(), y = W::first_row();

        dst += y * pitch + x * 4;
        UNROLL
        for (int i = 0; i < NB_WORDS; i++)
            if (place.is_inside((x + W::column(i)) * PER_WORD(T), y + W::row(i)))
                *(uint32_t *)(dst + W::row(i) * pitch + W::column(i) * 4) = word[i];
        return;
    }
    sync_warp();
    put_words<T, C, BY_ROWS>(x, word);
    sync_warp();
#pragma unroll 1
    for (int i = threadIdx.x % WARP_SIZE; i < DEBLOCK_CELL * ELEMENTS(T); i += WARP_SIZE) {
        const int column = i % ELEMENTS(T), row = i / ELEMENTS(T);

        if (place.is_inside(column, row))
            ((T *)(dst + row * pitch))[column] = ((const T *)x[row])[column];
    }
}

/**
 * As many lines of samples side by side as fit in a word: two of 8 bits, each in
 * a half, or one. They are added and subtracted as one number, to which biases
 * are added so that no lane becomes negative.
 */
template<typename T> struct Lanes {
    enum {
        NB   = DEBLOCK_LANES(sizeof(T)),
        BITS = 32 / NB,
        ONE  = DEBLOCK_IN_LANES(sizeof(T), 1),
        SIGN = NB == 2 ? 0xbb99 : 0xbbbb        ///< for byte_perm(): the top bit of each
    };
};

/// All bits of the lanes whose top bit is set.
template<typename T>
static DEVICE_INLINE uint32_t lane_mask(uint32_t x)
{
    return byte_perm(x, 0, Lanes<T>::SIGN);
}

static DEVICE_INLINE uint32_t choose(uint32_t mask, uint32_t a, uint32_t b)
{
    return (a & mask) | (b & ~mask);
}

/// Lanes of a value with a bias of 1 << depth, clipped to depth bits.
template<typename T>
static DEVICE_INLINE uint32_t clip_lanes(uint32_t x, int depth)
{
    const uint32_t above  = lane_mask<T>(x << (Lanes<T>::BITS - 2 - depth));
    const uint32_t inside = lane_mask<T>(x << (Lanes<T>::BITS - 1 - depth));

    return ((x & inside) | above) & Lanes<T>::ONE * ((1u << depth) - 1);
}

/**
 * blocksmooth_edge() of lanes. Its conditions are masks: one is true where the
 * top bit of the sum of the values and of what is in DeblockCUDALimits is set.
 *
 * @param mask lanes that are to be smoothed
 */
template<typename T>
static DEVICE_INLINE void smooth_lanes(uint32_t v[BLOCKSMOOTH_TAPS], uint32_t mask,
                                       const DeblockCUDALimits &limits, int depth)
{
    typedef Lanes<T> L;
    const uint32_t one = L::ONE, unit = one << depth;
    // D - C and its quotients, rounded towards 0, with biases of 8, 1, 2, and 4 units
    const uint32_t x  = v[3] - v[2] + 8 * unit, is_less = (x >> (depth + 3) & one) ^ one;
    const uint32_t x8 = (x + 7 * is_less) >> 3 & one * ((1u << (L::BITS - 3)) - 1);
    const uint32_t x4 = (x + 3 * is_less) >> 2 & one * ((1u << (L::BITS - 2)) - 1);
    const uint32_t x2 = (x +     is_less) >> 1 & one * ((1u << (L::BITS - 1)) - 1);
    const uint32_t minus_x8 = 2 * unit - x8, minus_x4 = 3 * unit - x4, minus_x2 = 4 * unit - x2;
    const uint32_t is_flat   = (limits.flat + v[1] - v[2]) & (limits.flat + v[2] - v[1]) &
                               (limits.flat + v[3] - v[4]) & (limits.flat + v[4] - v[3]);
    const uint32_t is_strong = (limits.strong[0] + x) & (limits.strong[1] - x) & is_flat;
    const uint32_t is_weak   = (limits.weak[0]   + x) & (limits.weak[1]   - x) & ~is_flat;
    const uint32_t strongly  = lane_mask<T>(is_strong) & mask;
    const uint32_t smoothed  = lane_mask<T>(is_strong | is_weak) & mask;
    const uint32_t v1 = choose(strongly, v[1] + x4 - unit, v[1] + x8);
    const uint32_t v4 = v[4] + choose(strongly, minus_x4, minus_x8);

    v[0] = choose(strongly, clip_lanes<T>(v[0] + x8, depth), v[0]);
    v[1] = choose(smoothed, clip_lanes<T>(v1, depth), v[1]);
    v[2] = choose(smoothed, v[2] + x2 - 4 * unit, v[2]);
    v[3] = choose(smoothed, v[3] + minus_x2, v[3]);
    v[4] = choose(smoothed, clip_lanes<T>(v4, depth), v[4]);
    v[5] = choose(strongly, clip_lanes<T>(v[5] + minus_x8, depth), v[5]);
}

/**
 * Smooth across an edge, in as many lines as there are lanes. The six samples
 * of the first are element number first of the words, and each that is stride
 * elements further; those of the second begin with element number second.
 */
template<typename T> struct Smooth;

template<> struct Smooth<uint8_t> {
    static DEVICE_INLINE void lines(uint32_t (&word)[NB_WORDS], int first, int second, int stride,
                                    uint32_t mask, const DeblockCUDAParams &p)
    {
        uint32_t v[BLOCKSMOOTH_TAPS];

        UNROLL
        for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
            const int a = first + i * stride, b = second + i * stride;

            if (a / 4 == b / 4)
                v[i] = byte_perm(word[a / 4], 0, 0x4040 | a % 4 | b % 4 << 8);
            else
                v[i] = byte_perm(word[a / 4], word[b / 4], a % 4 | (4 + b % 4) << 8) & 0x00ff00ff;
        }
        smooth_lanes<uint8_t>(v, mask, p.limits, 8);
        UNROLL
        for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
            const int a = first + i * stride, b = second + i * stride;

            if (a / 4 == b / 4) {
                word[a / 4] = byte_perm(word[a / 4], v[i], put(put(0x3210, a % 4, 4), b % 4, 6));
            } else {
                word[a / 4] = byte_perm(word[a / 4], v[i], put(0x3210, a % 4, 4));
                word[b / 4] = byte_perm(word[b / 4], v[i], put(0x3210, b % 4, 6));
            }
        }
    }
    /// A selector of byte_perm() with another byte at a place.
    static DEVICE_INLINE unsigned put(unsigned selector, int place, unsigned byte)
    {
        return (selector & ~(0xf << 4 * place)) | byte << 4 * place;
    }
};

template<> struct Smooth<uint16_t> {
    static DEVICE_INLINE void lines(uint32_t (&word)[NB_WORDS], int first, int, int stride,
                                    uint32_t mask, const DeblockCUDAParams &p)
    {
        uint32_t before[BLOCKSMOOTH_TAPS], v[BLOCKSMOOTH_TAPS];

        UNROLL
        for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
            const int a = first + i * stride;

            v[i] = before[i] = (word[a / 2] >> a % 2 * 16 & 0xffff) >> p.shift;
        }
        smooth_lanes<uint16_t>(v, mask, p.limits, p.depth);
        UNROLL
        for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
            const int a = first + i * stride;

            // what is below the value stays
            word[a / 2] ^= (v[i] ^ before[i]) << p.shift << a % 2 * 16;
        }
    }
};

/// Lanes to smooth, of lines whose channels follow each other; there is one to smooth.
template<typename T, int C>
static DEVICE_INLINE uint32_t channel_mask(const DeblockCUDAPlane &plane, int line)
{
    uint32_t mask = 0;

    if (C == 1)
        return ~0u;
    UNROLL
    for (int i = 0; i < Lanes<T>::NB; i++)
        if (plane.channels >> (line + i) % C & 1)
            mask |= ~0u >> (32 - Lanes<T>::BITS) << i * Lanes<T>::BITS % 32;
    return mask;
}

/// Across the vertical edge of a cell, in each of the thread's rows.
template<typename T, int C>
static DEVICE_INLINE void smooth_rows(uint32_t (&word)[NB_WORDS], const DeblockCUDAParams &p,
                                      const DeblockCUDAPlane &plane)
{
    const int nb_lines = Layout<T, C>::ROWS * C, nb_lanes = Lanes<T>::NB;

    UNROLL
    for (int i = 0; i < nb_lines; i += nb_lanes) {
        const int last = i + nb_lanes - 1, edge = DEBLOCK_CELL / 2 - BLOCKSMOOTH_BEFORE;

        Smooth<T>::lines(word, (i / C * DEBLOCK_CELL + edge) * C + i % C,
                         (last / C * DEBLOCK_CELL + edge) * C + last % C, C,
                         channel_mask<T, C>(plane, i), p);
    }
}

/// Across the horizontal edge of a cell, in each column of the thread's words.
template<typename T, int C>
static DEVICE_INLINE void smooth_columns(uint32_t (&word)[NB_WORDS], const DeblockCUDAParams &p,
                                         const DeblockCUDAPlane &plane)
{
    const int per_word = PER_WORD(T), nb_lanes = Lanes<T>::NB;
    const int first = (DEBLOCK_CELL / 2 - BLOCKSMOOTH_BEFORE) * per_word;

    UNROLL
    for (int i = 0; i < per_word; i += nb_lanes)
        Smooth<T>::lines(word, first + i, first + i + nb_lanes - 1, per_word,
                         channel_mask<T, C>(plane, i), p);
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void smooth_words(uint32_t (&word)[NB_WORDS], const DeblockCUDAParams &p,
                                       const DeblockCUDAPlane &plane, const Place &place)
{
    const int cell = threadIdx.x % WARP_SIZE / Layout<T, C>::WORDS;
    // the edge is in the middle of the cell
    const int x = place.left / C + cell * DEBLOCK_CELL + DEBLOCK_CELL / 2;
    const int y = place.top + DEBLOCK_CELL / 2;

    if (BY_ROWS) {
        if (plane.channels && blocksmooth_is_edge(x, plane.w, p.block))
            smooth_rows<T, C>(word, p, plane);
    } else {
        if (plane.channels && blocksmooth_is_edge(y, plane.h, p.block))
            smooth_columns<T, C>(word, p, plane);
    }
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void smooth_both(Exchange &x, const DeblockCUDAParams &p,
                                      const DeblockCUDAPlane &plane, const Place &place)
{
    uint32_t word[NB_WORDS];

    load<T, C, BY_ROWS>(word, x, plane, place);
    smooth_words<T, C, BY_ROWS>(word, p, plane, place);
    put_words<T, C, BY_ROWS>(x, word);
    sync_warp();
    get_words<T, C, !BY_ROWS>(word, x);
    smooth_words<T, C, !BY_ROWS>(word, p, plane, place);
    store<T, C, !BY_ROWS>(word, x, plane, place);
}

template<typename T, int C>
static DEVICE_INLINE void smooth_cells(Exchange &x, const DeblockCUDAParams &p,
                                       const DeblockCUDAPlane &plane)
{
    const int row = (blockIdx.y - plane.first_row) * DEBLOCK_WARPS + threadIdx.x / WARP_SIZE;
    Place place;

    // cells begin half a cell before the picture
    place.left        = blockIdx.x * ELEMENTS(T) - DEBLOCK_CELL / 2 * C;
    place.top         = row * DEBLOCK_CELL - DEBLOCK_CELL / 2;
    place.nb_elements = plane.w * C;
    place.h           = plane.h;
    place.has_words   = (place.left + ELEMENTS(T) <= place.nb_elements ||
                         place.nb_elements % PER_WORD(T) == 0) &&
                        !(((uintptr_t)plane.src | (uintptr_t)plane.dst |
                           plane.src_pitch | plane.dst_pitch) % 4);
    if (place.left >= place.nb_elements || place.top >= plane.h)
        return;
    if (p.vertical_first)
        smooth_both<T, C, false>(x, p, plane, place);
    else
        smooth_both<T, C, true>(x, p, plane, place);
}

template<typename T>
static DEVICE_INLINE void smooth_planes(const DeblockCUDAParams &p)
{
    __shared__ Exchange exchange[DEBLOCK_WARPS];
    Exchange &x = exchange[threadIdx.x / WARP_SIZE];
    int nb_before = 0;

    UNROLL
    for (int i = 1; i < DEBLOCK_MAX_PLANES; i++)
        nb_before += blockIdx.y >= p.plane[i].first_row;
    if (p.plane[nb_before].nb_channels == 1)
        smooth_cells<T, 1>(x, p, p.plane[nb_before]);
    else
        smooth_cells<T, 2>(x, p, p.plane[nb_before]);
}

extern "C" {

__global__ void __launch_bounds__(DEBLOCK_WARPS * WARP_SIZE)
deblock_8(DeblockCUDAParams p)
{
    smooth_planes<uint8_t>(p);
}

__global__ void __launch_bounds__(DEBLOCK_WARPS * WARP_SIZE)
deblock_16(DeblockCUDAParams p)
{
    smooth_planes<uint16_t>(p);
}

}
