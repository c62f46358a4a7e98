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
typedef uint32_t Exchange[DEBLOCK_CELL][WARP_SIZE + 1];

template<typename T, int C> struct Layout {
    enum {
        PER_WORD  = 4 / sizeof(T),                      ///< elements: samples of any channel
        WORDS     = DEBLOCK_CELL * C / PER_WORD,        ///< of a row of a cell
        ROWS      = NB_WORDS / WORDS                    ///< of a thread
    };
};

/// Row and column in the warp's words of a thread's word number i, by the pass.
template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE int row_of(int i)
{
    typedef Layout<T, C> L;

    return BY_ROWS ? i / L::WORDS * L::WORDS + threadIdx.x % L::WORDS : i;
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE int column_of(int i)
{
    typedef Layout<T, C> L;
    const int lane = threadIdx.x % WARP_SIZE;

    return BY_ROWS ? lane / L::WORDS * L::WORDS + i % L::WORDS : lane;
}

/// A warp's place in its plane.
struct Place {
    int left;           ///< its first element
    int top;            ///< its first row
    int nb_elements;    ///< of a row of the plane
    bool is_inside;     ///< all of the warp's words are in the picture
};

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void load(uint32_t (&word)[NB_WORDS], const DeblockCUDAPlane &plane,
                               const Place &place)
{
    const int per_word = Layout<T, C>::PER_WORD;

#pragma unroll
    for (int i = 0; i < NB_WORDS; i++) {
        const int x = place.left + column_of<T, C, BY_ROWS>(i) * per_word;
        const int y = place.top + row_of<T, C, BY_ROWS>(i);
        const uint8_t *src = plane.src + (int64_t)y * plane.src_pitch + x * (int)sizeof(T);

        if (place.is_inside) {
            word[i] = *(const uint32_t *)src;
            continue;
        }
        word[i] = 0;
#pragma unroll
        for (int j = 0; j < per_word; j++)
            if (y >= 0 && y < plane.h && x + j >= 0 && x + j < place.nb_elements)
                word[i] |= (uint32_t)((const T *)src)[j] << (j * 8 * sizeof(T));
    }
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void store(const uint32_t (&word)[NB_WORDS], const DeblockCUDAPlane &plane,
                                const Place &place)
{
    const int per_word = Layout<T, C>::PER_WORD;

#pragma unroll
    for (int i = 0; i < NB_WORDS; i++) {
        const int x = place.left + column_of<T, C, BY_ROWS>(i) * per_word;
        const int y = place.top + row_of<T, C, BY_ROWS>(i);
        uint8_t *dst = plane.dst + (int64_t)y * plane.dst_pitch + x * (int)sizeof(T);

        if (place.is_inside) {
            *(uint32_t *)dst = word[i];
            continue;
        }
#pragma unroll
        for (int j = 0; j < per_word; j++)
            if (y >= 0 && y < plane.h && x + j >= 0 && x + j < place.nb_elements)
                ((T *)dst)[j] = (T)(word[i] >> (j * 8 * sizeof(T)));
    }
}

/**
 * Smooth across an edge. The six samples are element number first of the words,
 * and each that is stride elements further.
 */
template<typename T>
static DEVICE_INLINE void smooth(uint32_t (&word)[NB_WORDS], int first, int stride,
                                 const DeblockCUDAParams &p)
{
    const int per_word = 4 / sizeof(T);
    int before[BLOCKSMOOTH_TAPS], v[BLOCKSMOOTH_TAPS];

#pragma unroll
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
        const int element = first + i * stride, bits = element % per_word * 8 * sizeof(T);

        v[i] = before[i] = (word[element / per_word] >> bits & (T)~0) >> p.shift;
    }
    blocksmooth_edge(v, &p.limits);
#pragma unroll
    for (int i = 0; i < BLOCKSMOOTH_TAPS; i++) {
        const int element = first + i * stride, bits = element % per_word * 8 * sizeof(T);

        // what is below the value stays
        word[element / per_word] ^= (uint32_t)(v[i] ^ before[i]) << (bits + p.shift);
    }
}

/// Across the vertical edge of a cell, in each of the thread's rows.
template<typename T, int C>
static DEVICE_INLINE void smooth_rows(uint32_t (&word)[NB_WORDS], const DeblockCUDAParams &p,
                                      const DeblockCUDAPlane &plane)
{
    typedef Layout<T, C> L;
    const int first = (DEBLOCK_CELL / 2 - BLOCKSMOOTH_BEFORE) * C;

#pragma unroll
    for (int row = 0; row < L::ROWS; row++) {
#pragma unroll
        for (int c = 0; c < C; c++)
            if (plane.channels >> c & 1)
                smooth<T>(word, row * DEBLOCK_CELL * C + first + c, C, p);
    }
}

/// Across the horizontal edge of a cell, in each column of the thread's words.
template<typename T, int C>
static DEVICE_INLINE void smooth_columns(uint32_t (&word)[NB_WORDS], const DeblockCUDAParams &p,
                                         const DeblockCUDAPlane &plane)
{
    const int per_word = Layout<T, C>::PER_WORD;
    const int first = (DEBLOCK_CELL / 2 - BLOCKSMOOTH_BEFORE) * per_word;

#pragma unroll
    for (int column = 0; column < per_word; column++)
        if (plane.channels >> column % C & 1)
            smooth<T>(word, first + column, per_word, p);
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
        if (blocksmooth_is_edge(x, plane.w, p.block))
            smooth_rows<T, C>(word, p, plane);
    } else {
        if (blocksmooth_is_edge(y, plane.h, p.block))
            smooth_columns<T, C>(word, p, plane);
    }
}

/// From the words of one pass to those of the other.
template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void exchange(Exchange &x, uint32_t (&word)[NB_WORDS])
{
#pragma unroll
    for (int i = 0; i < NB_WORDS; i++)
        x[row_of<T, C, BY_ROWS>(i)][column_of<T, C, BY_ROWS>(i)] = word[i];
    sync_warp();
#pragma unroll
    for (int i = 0; i < NB_WORDS; i++)
        word[i] = x[row_of<T, C, !BY_ROWS>(i)][column_of<T, C, !BY_ROWS>(i)];
}

template<typename T, int C, bool BY_ROWS>
static DEVICE_INLINE void smooth_both(Exchange &x, const DeblockCUDAParams &p,
                                      const DeblockCUDAPlane &plane, const Place &place)
{
    uint32_t word[NB_WORDS];

    load<T, C, BY_ROWS>(word, plane, place);
    smooth_words<T, C, BY_ROWS>(word, p, plane, place);
    exchange<T, C, BY_ROWS>(x, word);
    smooth_words<T, C, !BY_ROWS>(word, p, plane, place);
    store<T, C, !BY_ROWS>(word, plane, place);
}

template<typename T, int C>
static DEVICE_INLINE void smooth_cells(Exchange &x, const DeblockCUDAParams &p,
                                       const DeblockCUDAPlane &plane, int warp)
{
    const int nb_elements = WARP_SIZE * Layout<T, C>::PER_WORD;
    Place place;

    // cells begin half a cell before the picture
    place.left        = warp % plane.nb_warps_x * nb_elements - DEBLOCK_CELL / 2 * C;
    place.top         = warp / plane.nb_warps_x * DEBLOCK_CELL - DEBLOCK_CELL / 2;
    place.nb_elements = plane.w * C;
    place.is_inside   = place.left >= 0 && place.left + nb_elements <= place.nb_elements &&
                        place.top >= 0 && place.top + DEBLOCK_CELL <= plane.h &&
                        !(((uintptr_t)plane.src | (uintptr_t)plane.dst |
                           plane.src_pitch | plane.dst_pitch) % 4);

    if (p.vertical_first)
        smooth_both<T, C, false>(x, p, plane, place);
    else
        smooth_both<T, C, true>(x, p, plane, place);
}

template<typename T>
static DEVICE_INLINE void smooth_planes(Exchange *exchange, const DeblockCUDAParams &p)
{
    const int warp_in_block = threadIdx.x / WARP_SIZE;
    const int warp = blockIdx.x * DEBLOCK_WARPS + warp_in_block;
    int i = 0;

    if (warp >= p.nb_warps)
        return;
    while (i + 1 < p.nb_planes && warp >= p.plane[i + 1].first_warp)
        i++;
    if (p.plane[i].nb_channels == 1)
        smooth_cells<T, 1>(exchange[warp_in_block], p, p.plane[i], warp - p.plane[i].first_warp);
    else
        smooth_cells<T, 2>(exchange[warp_in_block], p, p.plane[i], warp - p.plane[i].first_warp);
}

extern "C" {

__global__ void __launch_bounds__(DEBLOCK_WARPS * WARP_SIZE)
deblock_8(DeblockCUDAParams p)
{
    __shared__ Exchange exchange[DEBLOCK_WARPS];

    smooth_planes<uint8_t>(exchange, p);
}

__global__ void __launch_bounds__(DEBLOCK_WARPS * WARP_SIZE)
deblock_16(DeblockCUDAParams p)
{
    __shared__ Exchange exchange[DEBLOCK_WARPS];

    smooth_planes<uint16_t>(exchange, p);
}

}
