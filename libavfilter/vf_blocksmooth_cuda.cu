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

#include "cuda/kernel.cuh"
#include "vf_blocksmooth_cuda.h"

/**
 * Both passes over all planes of a frame, in one launch.
 *
 * A cell is the 8x8 samples around a crossing of the grid of 8x8 blocks, of one
 * component or of the two that are interleaved: edges change nothing beyond
 * their cell, so cells are independent. Samples are handled in words of 4 bytes
 * as they lie in memory. A cell has WORDS of them in a row, and as many threads;
 * a warp has cells side by side, 32 words and 8 rows.
 *
 * For the pass across horizontal edges a thread holds one column of words of its cell,
 * for the pass across vertical edges 8 / WORDS of its rows: 8 words each time.
 * The warp exchanges them in shared memory after each pass. What is outside
 * of the picture is 0 and is not written.
 */
#define NB_WORDS 8                      ///< of a thread

/// Of a warp; the odd pitch keeps accesses of rows and of columns free of conflicts.
#define EXCHANGE_PITCH (WARP_SIZE + 1)
typedef uint32_t Exchange[BLOCKSMOOTH_CELL][EXCHANGE_PITCH];

/// Elements, which are samples of any channel, in a word and in a row of a warp.
#define PER_WORD(T) (4 / (int)sizeof(T))
#define ELEMENTS(T) (WARP_SIZE * PER_WORD(T))

/// Words of a row of a cell.
#define WORDS(T, C) (BLOCKSMOOTH_CELL * (C) / PER_WORD(T))

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

/// Put the words of a thread's rows in shared memory, or get them from there.
template<typename T, int C, bool PUT>
static DEVICE_INLINE void move_rows(uint32_t (&word)[NB_WORDS], Exchange &x)
{
    const int words = WORDS(T, C), lane = threadIdx.x % WARP_SIZE;

    UNROLL
    for (int i = 0; i < NB_WORDS; i++) {
        uint32_t &shared = x[lane % words + i / words * words][lane / words * words + i % words];

        if (PUT)
            shared = word[i];
        else
            word[i] = shared;
    }
}

/// Load the column of words of a thread.
template<typename T>
static DEVICE_INLINE void load(uint32_t (&word)[NB_WORDS], Exchange &x,
                               const BlockSmoothCUDAPlane &plane, const Place &place)
{
    const int pitch = plane.src_pitch, lane = threadIdx.x % WARP_SIZE;
    const uint8_t *src = plane.src + (int64_t)place.top * pitch + place.left * (int)sizeof(T);

    if (place.has_words) {
        UNROLL
        for (int i = 0; i < NB_WORDS; i++)
            word[i] = place.is_inside(lane * PER_WORD(T), i) ?
                      *(const uint32_t *)(src + i * pitch + lane * 4) : 0;
        return;
    }
#pragma unroll 8
    for (int i = lane; i < BLOCKSMOOTH_CELL * ELEMENTS(T); i += WARP_SIZE) {
        const int column = i % ELEMENTS(T), row = i / ELEMENTS(T);

        ((T *)x[row])[column] = place.is_inside(column, row) ?
                                ((const T *)(src + row * pitch))[column] : 0;
    }
    sync_warp();
    UNROLL
    for (int i = 0; i < NB_WORDS; i++)
        word[i] = x[i][lane];
}

/// Store what the warp has in shared memory.
template<typename T>
static DEVICE_INLINE void store(const Exchange &x, const BlockSmoothCUDAPlane &plane,
                                const Place &place)
{
    const int pitch = plane.dst_pitch, lane = threadIdx.x % WARP_SIZE;
    uint8_t *dst = plane.dst + (int64_t)place.top * pitch + place.left * (int)sizeof(T);

    if (place.has_words) {
        UNROLL
        for (int i = 0; i < NB_WORDS; i++)
            if (place.is_inside(lane * PER_WORD(T), i))
                *(uint32_t *)(dst + i * pitch + lane * 4) = x[i][lane];
        return;
    }
#pragma unroll 1
    for (int i = lane; i < BLOCKSMOOTH_CELL * ELEMENTS(T); i += WARP_SIZE) {
        const int column = i % ELEMENTS(T), row = i / ELEMENTS(T);

        if (place.is_inside(column, row))
            ((T *)(dst + row * pitch))[column] = ((const T *)x[row])[column];
    }
}

/**
 * A word is worked on as it is: its samples are lanes, four of 8 bits or two of
 * 16, which are added and subtracted as one number. Values are in the high bits
 * of a lane. What a condition is about is in the top bit.
 */
template<typename T> struct Lanes {
    enum : uint32_t {
        TOP   = sizeof(T) == 1 ? 0x80808080u : 0x80008000u,
        SIGNS = sizeof(T) == 1 ? 0xba98 : 0xbb99        ///< for byte_perm(): the top bit of each
    };
};

/// All bits of the lanes whose top bit is set.
template<typename T>
static DEVICE_INLINE uint32_t lane_mask(uint32_t x)
{
    return byte_perm(x, 0, Lanes<T>::SIGNS);
}

template<typename T>
static DEVICE_INLINE uint32_t abs_diff(uint32_t a, uint32_t b)
{
    return sizeof(T) == 1 ? abs_diff_4(a, b) : abs_diff_2(a, b);
}

/// The top bits of lanes in which a is below b.
template<typename T>
static DEVICE_INLINE uint32_t is_below(uint32_t a, uint32_t b)
{
    const uint32_t difference = (a | Lanes<T>::TOP) - (b & ~Lanes<T>::TOP);

    return (~a & b) | ((~a | b) & ~difference);
}

/// The top bits of lanes that are not below a limit.
template<typename T>
static DEVICE_INLINE uint32_t is_reached(uint32_t x, const BlockSmoothCUDALimit &limit)
{
    const uint32_t sum = (x & ~Lanes<T>::TOP) + limit.bias;

    return (x & sum) | ((x | sum) & limit.is_low);
}

/// The difference of lanes, which is less than half of their range, added to them or subtracted, clipped.
template<typename T>
static DEVICE_INLINE uint32_t move_lanes(uint32_t x, uint32_t by, uint32_t minus)
{
    const uint32_t from = x ^ minus, sum = (from & ~Lanes<T>::TOP) + by;

    return (sum | (from & Lanes<T>::TOP) | lane_mask<T>(from & sum)) ^ minus;
}

/**
 * blocksmooth_edge() of lanes. Where D is below C, values are negated: steps
 * are not negative then, their quotients are rounded down, and A to C only rise.
 *
 * @param mask lanes that are to be smoothed
 */
template<typename T>
static DEVICE_INLINE void smooth_lanes(uint32_t (&v)[BLOCKSMOOTH_TAPS], uint32_t mask,
                                       const BlockSmoothCUDALimits &limits)
{
    const uint32_t down  = lane_mask<T>(is_below<T>(v[3], v[2])), up = ~down;
    const uint32_t step  = (v[3] ^ down) - (v[2] ^ down);
    const uint32_t steep = is_reached<T>(abs_diff<T>(v[1], v[2]), limits.flat) |
                           is_reached<T>(abs_diff<T>(v[3], v[4]), limits.flat);
    const uint32_t strongly = lane_mask<T>(~(steep | is_reached<T>(step, limits.strong))) & mask;
    const uint32_t weakly   = lane_mask<T>(steep & ~is_reached<T>(step, limits.weak)) & mask;
    const uint32_t eighth   = step >> 3 & limits.eighth, quarter = step >> 2 & limits.quarter;
    const uint32_t half     = step >> 1 & limits.half & (strongly | weakly);
    const uint32_t inner    = (quarter & strongly) | (eighth & weakly);

    v[0] = move_lanes<T>(v[0], eighth & strongly, down);
    v[1] = move_lanes<T>(v[1], inner, down);
    v[2] = ((v[2] ^ down) + half) ^ down;
    v[3] = ((v[3] ^ up) + half) ^ up;
    v[4] = move_lanes<T>(v[4], inner, up);
    v[5] = move_lanes<T>(v[5], eighth & strongly, up);
}

/// Bytes of both words, by selectors of byte_perm().
static DEVICE_INLINE void exchange_parts(uint32_t &a, uint32_t &b, unsigned first, unsigned second)
{
    const uint32_t old = a;

    a = byte_perm(old, b, first);
    b = byte_perm(old, b, second);
}

/// Exchange rows and columns of PARTS words that have as many parts.
template<int PARTS>
static DEVICE_INLINE void transpose(uint32_t (&word)[NB_WORDS])
{
    const int next = NB_WORDS / PARTS;

    UNROLL
    for (int i = 0; i < next && PARTS > 1; i++) {
        uint32_t *w = &word[i];

        if (PARTS == 2) {
            exchange_parts(w[0], w[next], 0x5410, 0x7632);
            continue;
        }
        exchange_parts(w[0],        w[next],     0x5140, 0x7362);
        exchange_parts(w[2 * next], w[3 * next], 0x5140, 0x7362);
        exchange_parts(w[0],        w[2 * next], 0x5410, 0x7632);
        exchange_parts(w[next],     w[3 * next], 0x5410, 0x7632);
        // columns 1 and 2 are where the other should be
        const uint32_t other = w[next];

        w[next]     = w[2 * next];
        w[2 * next] = other;
    }
}

/**
 * Smooth across the edge of a cell, in all lines of the words.
 *
 * @param PARTS of a word, each in a column of its own
 */
template<typename T, int PARTS>
static DEVICE_INLINE void smooth_edge(uint32_t (&word)[NB_WORDS], uint32_t mask,
                                      const BlockSmoothCUDAParams &p)
{
    uint32_t v[BLOCKSMOOTH_TAPS];

    transpose<PARTS>(word);
    UNROLL
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
        const int at = BLOCKSMOOTH_CELL / 2 - BLOCKSMOOTH_BEFORE + i;

        v[i] = word[at % PARTS * (NB_WORDS / PARTS) + at / PARTS];
        if (sizeof(T) > 1)
            v[i] = v[i] << p.shift & p.value << p.shift;
    }
    smooth_lanes<T>(v, mask, p.limits);
    UNROLL
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
        const int at = BLOCKSMOOTH_CELL / 2 - BLOCKSMOOTH_BEFORE + i;
        uint32_t &dst = word[at % PARTS * (NB_WORDS / PARTS) + at / PARTS];

        // what is below the value stays
        dst = sizeof(T) > 1 ? (v[i] >> p.shift & p.value) | (dst & ~p.value) : v[i];
    }
    transpose<PARTS>(word);
}

template<typename T, int C>
static DEVICE_INLINE void smooth_cells(Exchange &x, const BlockSmoothCUDAParams &p,
                                       const BlockSmoothCUDAPlane &plane)
{
    const int row  = (blockIdx.y - plane.first_row) * BLOCKSMOOTH_WARPS + threadIdx.x / WARP_SIZE;
    const int lane = threadIdx.x % WARP_SIZE, cell = lane / WORDS(T, C);
    uint32_t word[NB_WORDS];
    Place place;

    // cells begin half a cell before the picture
    place.left        = blockIdx.x * ELEMENTS(T) - BLOCKSMOOTH_CELL / 2 * C;
    place.top         = row * BLOCKSMOOTH_CELL - BLOCKSMOOTH_CELL / 2;
    place.nb_elements = plane.w * C;
    place.h           = plane.h;
    place.has_words   = (place.left + ELEMENTS(T) <= place.nb_elements ||
                         place.nb_elements % PER_WORD(T) == 0) &&
                        !(((uintptr_t)plane.src | (uintptr_t)plane.dst |
                           plane.src_pitch | plane.dst_pitch) % 4);
    if (place.left >= place.nb_elements || place.top >= plane.h)
        return;
    load<T>(word, x, plane, place);
    // the edges are in the middle of the cell
    if (plane.mask && blocksmooth_is_edge(place.top + BLOCKSMOOTH_CELL / 2, plane.h, p.block))
        smooth_edge<T, 1>(word, plane.mask, p);
    // a thread only writes to the words that it has read
    UNROLL
    for (int i = 0; i < NB_WORDS; i++)
        x[i][lane] = word[i];
    sync_warp();
    move_rows<T, C, false>(word, x);
    if (plane.mask && blocksmooth_is_edge(place.left / C + cell * BLOCKSMOOTH_CELL +
                                          BLOCKSMOOTH_CELL / 2, plane.w, p.block))
        smooth_edge<T, (PER_WORD(T) / C)>(word, plane.mask, p);
    move_rows<T, C, true>(word, x);
    sync_warp();
    store<T>(x, plane, place);
}

template<typename T>
static DEVICE_INLINE void smooth_planes(const BlockSmoothCUDAParams &p)
{
    __shared__ Exchange exchange[BLOCKSMOOTH_WARPS];
    Exchange &x = exchange[threadIdx.x / WARP_SIZE];
    int nb_before = 0;

    UNROLL
    for (int i = 1; i < BLOCKSMOOTH_MAX_PLANES; i++)
        nb_before += blockIdx.y >= p.plane[i].first_row;
    if (p.plane[nb_before].nb_channels == 1)
        smooth_cells<T, 1>(x, p, p.plane[nb_before]);
    else
        smooth_cells<T, 2>(x, p, p.plane[nb_before]);
}

extern "C" {

__global__ void __launch_bounds__(BLOCKSMOOTH_WARPS * WARP_SIZE)
blocksmooth_8(BlockSmoothCUDAParams p)
{
    smooth_planes<uint8_t>(p);
}

__global__ void __launch_bounds__(BLOCKSMOOTH_WARPS * WARP_SIZE)
blocksmooth_16(BlockSmoothCUDAParams p)
{
    smooth_planes<uint16_t>(p);
}

}
