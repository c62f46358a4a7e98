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
#include "vf_bliinds_cuda.h"

/**
 * The statistics of all blocks of all levels of a batch of frames, in one
 * launch; blockIdx.y is the frame.
 *
 * A tile is 96x48 samples of luma: it owns 32x16 blocks of level 1, 16x8 of
 * level 2 and 8x4 of level 3. A thread block takes one tile after the other:
 * it loads the tile's samples with what its blocks reach beyond it, and makes
 * the tile's part of levels 2 and 3, in shared memory. Then four warps have
 * four rows of 32 blocks of level 1 each, two have the blocks of level 2, and
 * one of these those of level 3. Coarse histograms for the choice of the worst
 * 10 % stay in shared memory over all tiles.
 */
#define NB_WARPS     (BLIINDS_TILE_THREADS / WARP_SIZE)
#define UPPER_WARPS  2
#define LEVEL1_WARPS (NB_WARPS - UPPER_WARPS)

#define TILE_SAMPLES_X (BLIINDS_STEP * BLIINDS_TILE_W)
#define TILE_SAMPLES_Y (BLIINDS_STEP * BLIINDS_TILE_H)

/// @name Samples of each level that a tile needs; the first is HALO before it
/// @{
#define HALO1 4
#define W1 (TILE_SAMPLES_X + 12)                ///< 107, and one to load in fours
#define H1 (TILE_SAMPLES_Y + 11)
#define HALO2 2
#define W2 (TILE_SAMPLES_X / 2 + 5)
#define H2 (TILE_SAMPLES_Y / 2 + 5)
#define HALO3 1
#define W3 (TILE_SAMPLES_X / 4 + 2)
#define H3 (TILE_SAMPLES_Y / 4 + 2)
/// @}

/// Rows that a warp loads at once.
#define LOAD_ROWS 5

/// Level 2 is made by two warps side by side, in as many groups of rows.
#define HALF2  ((W2 + 1) / 2)
#define ROWS2  ((H2 + NB_WARPS / 2 - 1) / (NB_WARPS / 2))

/// The parts of level 2 or 3 of a tile, split for exact single precision.
template<int W, int H> struct Split {
    float high[H][W], low[H][W];
};

template<typename T> struct Tile {
    T level1[H1][W1] __align__(8);              ///< as in memory
    Split<W2 + 1, H2> level2;
    Split<W3 + 1, H3> level3;
};

/// Four samples as they lie in memory.
template<typename T> struct Word;
template<> struct Word<uint8_t>  { typedef uint32_t type; };
template<> struct Word<uint16_t> { typedef uint64_t type; };

/// The batch's data of this thread block's frame.
template<typename T>
static DEVICE_INLINE T *of_frame(const BLIINDSCUDAParams &p, T *first)
{
    return (T *)((uint8_t *)first + blockIdx.y * p.frame_size);
}

/// Four samples of luma from (x, y) on, black where that is outside.
template<typename T>
static DEVICE_INLINE typename Word<T>::type load_outside(const BLIINDSCUDAParams &p,
                                                         const uint8_t *src, int black,
                                                         int x, int y)
{
    typename Word<T>::type word = 0;

    BLIINDS_UNROLL
    for (int i = 0; i < 4; i++) {
        bool inside = y >= 0 && y < p.level[0].h && x + i >= 0 && x + i < p.level[0].w;
        T v = inside ? ((const T *)src)[i] : (T)(black << p.down);

        word |= (typename Word<T>::type)v << (i * 8 * sizeof(T));
    }
    return word;
}

/// Load a tile's samples: a row for each warp in turn, four samples a lane.
template<typename T>
static DEVICE_INLINE void load_level1(Tile<T> &t, const BLIINDSCUDAParams &p,
                                      const BLIINDSCUDAFrame &frame, int tx, int ty)
{
    typedef typename Word<T>::type W;
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int x = tx * TILE_SAMPLES_X - HALO1 + 4 * lane;
    const int y = ty * TILE_SAMPLES_Y - HALO1;
    const int pitch = frame.pitch;
    const uint8_t *src = frame.src + (int64_t)(y + warp) * pitch + x * (int)sizeof(T);
    W *dst = (W *)&t.level1[warp][4 * lane], word[LOAD_ROWS];
    // the same for all threads
    const bool inside = tx > 0 && ty > 0 && y + H1 <= p.level[0].h &&
                        tx * TILE_SAMPLES_X - HALO1 + W1 <= p.level[0].w &&
                        !(((uintptr_t)frame.src | pitch) % sizeof(W));

    if (lane >= W1 / 4)
        return;
    BLIINDS_UNROLL
    for (int row = 0; row < H1; row += LOAD_ROWS * NB_WARPS) {
        BLIINDS_UNROLL
        for (int i = 0; i < LOAD_ROWS; i++) {
            const int r = row + i * NB_WARPS;
            const uint8_t *s = src + r * pitch;

            if (r + NB_WARPS <= H1 || r + warp < H1)
                word[i] = inside ? *(const W *)s
                                 : load_outside<T>(p, s, frame.black, x, y + warp + r);
        }
        BLIINDS_UNROLL
        for (int i = 0; i < LOAD_ROWS; i++) {
            const int r = row + i * NB_WARPS;

            if (r + NB_WARPS <= H1 || r + warp < H1)
                dst[r * (W1 / 4)] = word[i];
        }
    }
}

/// bliinds_lowpass() of level 1 samples, given by their values.
template<typename T>
static DEVICE_INLINE int32_t lowpass1(const BLIINDSCUDAParams &p, int black, int m, int c, int q)
{
    const int d = m + q - 2 * c, shift = BLIINDS_TAP_BITS - BLIINDS_FRAC_BITS;

    if (sizeof(T) == 1)     // 31 bits are enough, with the factor 2^21 applied last
        return ((c - black) << BLIINDS_FRAC_BITS) +
               ((BLIINDS_TAP_SIDE * d + (1 << (shift - 1))) >> shift);
    return bliinds_lowpass((m - black) << p.up, (c - black) << p.up, (q - black) << p.up);
}

/// Value of sample (x, y) of the tile's part of level 1.
template<typename T>
static DEVICE_INLINE int value1(const Tile<T> &t, const BLIINDSCUDAParams &p, int x, int y)
{
    return sizeof(T) == 1 ? t.level1[y][x] : t.level1[y][x] >> p.down;
}

/// The same of level 2.
template<typename T>
static DEVICE_INLINE int32_t sample2(const Tile<T> &t, int x, int y)
{
    int32_t high = t.level2.high[y][x] * (1 << (BLIINDS_FRAC_BITS - BLIINDS_LOW_BITS));
    int32_t low  = t.level2.low[y][x]  * (1 << BLIINDS_FRAC_BITS);

    return (high << BLIINDS_LOW_BITS) + low;
}

/**
 * The low-pass filter along a row, of columns that are filtered: each lane has
 * two, and the next lane's first is its third.
 */
template<int W, int H>
static DEVICE_INLINE void store_sample(Split<W, H> &dst, int x, int y, bool inside,
                                       bool is_mine, int32_t first, int32_t second)
{
    int32_t third = shuffle_down(first, 1);
    int32_t v     = inside ? bliinds_lowpass(first, second, third) : 0;

    if (is_mine) {
        dst.high[y][x] = bliinds_high(v);
        dst.low[y][x]  = bliinds_low(v);
    }
}

template<typename T>
static DEVICE_INLINE void make_level2(Tile<T> &t, const BLIINDSCUDAParams &p,
                                      int black, int tx, int ty)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int x  = warp % 2 * HALF2 + lane;
    const int c0 = 2 * x < W1 - 1 ? 2 * x : W1 - 2, c1 = c0 + 1;
    const int y0 = warp / 2 * ROWS2;
    const int left = tx * TILE_SAMPLES_X / 2 - HALO2 + x;
    const int top  = ty * TILE_SAMPLES_Y / 2 - HALO2;
    const bool is_mine = lane < HALF2 && x < W2, inside = left >= 0 && left < p.level[1].w;
    int above0 = value1(t, p, c0, 2 * y0), above1 = value1(t, p, c1, 2 * y0);

    BLIINDS_UNROLL
    for (int i = 0; i < ROWS2; i++) {
        const int y = y0 + i;

        if (y < H2) {
            const int middle0 = value1(t, p, c0, 2 * y + 1), below0 = value1(t, p, c0, 2 * y + 2);
            const int middle1 = value1(t, p, c1, 2 * y + 1), below1 = value1(t, p, c1, 2 * y + 2);

            store_sample(t.level2, x, y, inside && top + y >= 0 && top + y < p.level[1].h, is_mine,
                         lowpass1<T>(p, black, above0, middle0, below0),
                         lowpass1<T>(p, black, above1, middle1, below1));
            above0 = below0;
            above1 = below1;
        }
    }
}

template<typename T>
static DEVICE_INLINE void make_level3(Tile<T> &t, const BLIINDSCUDAParams &p, int tx, int ty)
{
    const int x = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int c0 = 2 * x < W2 ? 2 * x : W2 - 1, c1 = c0 + 1;
    const int left = tx * TILE_SAMPLES_X / 4 - HALO3 + x;
    const int top  = ty * TILE_SAMPLES_Y / 4 - HALO3;

    for (int y = warp; y < H3; y += NB_WARPS)
        store_sample(t.level3, x, y, left >= 0 && left < p.level[2].w &&
                                     top + y >= 0 && top + y < p.level[2].h, x < W3,
                     bliinds_lowpass(sample2(t, c0, 2 * y), sample2(t, c0, 2 * y + 1),
                                     sample2(t, c0, 2 * y + 2)),
                     bliinds_lowpass(sample2(t, c1, 2 * y), sample2(t, c1, 2 * y + 1),
                                     sample2(t, c1, 2 * y + 2)));
}

static DEVICE_INLINE uint32_t float_bits(float x)
{
    union { float f; uint32_t i; } u = { x };

    return u.i;
}

/**
 * Bin of a statistic that is not negative, growing with it: 32 bins an octave
 * from 2^-6 to 2^4, with what is beyond in the first and last.
 */
#define BIN_SHIFT 18
#define BIN_FIRST ((127 - 6) << (23 - BIN_SHIFT))   ///< upper bits of 2^-6
static DEVICE_INLINE int statistic_bin(float x)
{
    int bin = (int)(float_bits(x) >> BIN_SHIFT) - BIN_FIRST;

    bin = bin < 0 ? 0 : bin;
    return bin > BLIINDS_BINS - 1 ? BLIINDS_BINS - 1 : bin;
}

/// Bits of the smallest value in a bin.
static DEVICE_INLINE uint32_t bin_start(int bin)
{
    return bin > 0 ? (uint32_t)(bin + BIN_FIRST) << BIN_SHIFT : 0;
}

static DEVICE_INLINE int gamma_bin(int index)
{
    return index / BLIINDS_GAMMA_FINE;
}

/**
 * A thread's share of the sums that are made with the statistics. Threads with
 * blocks of level 1 have its energy, clear of the grid and straddling, in the
 * first; others have the bands of level 3. The last have the bands of level 1
 * or 2.
 */
#define NB_SUMS 6
#define SUM_BAND 3

/**
 * One block of a tile: its statistics to memory, the histograms and the sums.
 *
 * @param high bliinds_basis() of its rows' samples, or of their upper parts
 * @param low  of their lower parts, NULL at level 1
 * @param bx,by the block, which may be outside
 */
template<int LEVEL>
static DEVICE_INLINE void tile_block(const BLIINDSCUDAParams &p,
                                     unsigned count[BLIINDS_NB_POOLED][BLIINDS_BINS],
                                     uint64_t sums[NB_SUMS], const float high[5][5],
                                     const float (*low)[5], int bx, int by)
{
    const BLIINDSCUDALevel &level = p.level[LEVEL];
    const bool straddles = LEVEL == 0 && (bliinds_straddles(bx) || bliinds_straddles(by));
    const int i = by * level.bw + bx;
    BLIINDSBlock block;
    int gamma;

    if (bx >= level.bw || by >= level.bh)
        return;
    bliinds_block(&block, high, low);
    gamma = bliinds_gamma(p.gamma_table, block.rho);

    of_frame(p, level.statistic[BLIINDS_ZETA])[i] = straddles ? -block.zeta : block.zeta;
    of_frame(p, level.statistic[BLIINDS_SUB])[i]  = straddles ? -block.sub  : block.sub;
    of_frame(p, level.statistic[BLIINDS_ORI])[i]  = straddles ? -block.ori  : block.ori;
    of_frame(p, level.gamma)[i] = gamma | straddles << 15;
    atomic_add(&count[BLIINDS_ZETA][statistic_bin(block.zeta)], 1);
    atomic_add(&count[BLIINDS_SUB][statistic_bin(block.sub)], 1);
    atomic_add(&count[BLIINDS_ORI][statistic_bin(block.ori)], 1);
    atomic_add(&count[BLIINDS_GAMMA][gamma_bin(gamma)], 1);

    if (LEVEL == 0) {
        uint64_t energy = bliinds_fixed(block.energy);

        sums[0] += straddles ? 0 : energy;
        sums[1] += straddles ? energy : 0;
    }
    BLIINDS_UNROLL
    for (int b = 0; b < 3; b++)
        sums[(LEVEL < 2 ? SUM_BAND : 0) + b] += bliinds_fixed(block.band[b]);
}

/// bliinds_basis() of a row's samples from src on.
template<typename T>
static DEVICE_INLINE void basis1(float dst[5], const BLIINDSCUDAParams &p, const T *src)
{
    float x[5];

    // black is not subtracted: it is in the mean only, which is not used
    BLIINDS_UNROLL
    for (int i = 0; i < 5; i++)
        x[i] = sizeof(T) == 1 ? (float)src[i] : (src[i] >> p.down) * p.scale;
    bliinds_basis(dst, x[0], x[1], x[2], x[3], x[4]);
}

/// A column of blocks of level 1, each of which shares rows with the one above.
template<typename T>
static DEVICE_INLINE void level1_blocks(const BLIINDSCUDAParams &p, const Tile<T> &t,
                                        unsigned count[BLIINDS_NB_POOLED][BLIINDS_BINS],
                                        uint64_t sums[NB_SUMS], int tx, int ty)
{
    const int rows = BLIINDS_TILE_H / LEVEL1_WARPS;
    const int cx = threadIdx.x % BLIINDS_TILE_W, cy = threadIdx.x / BLIINDS_TILE_W * rows;
    const int bx = tx * BLIINDS_TILE_W + cx, by = ty * BLIINDS_TILE_H + cy;
    const T *src = &t.level1[BLIINDS_STEP * cy + HALO1 - 1][BLIINDS_STEP * cx + HALO1 - 1];
    float basis[BLIINDS_BLOCK][5];

    BLIINDS_UNROLL
    for (int y = BLIINDS_STEP; y < BLIINDS_BLOCK; y++)
        basis1(basis[y], p, src + (y - BLIINDS_STEP) * W1);
#pragma unroll 1
    for (int i = 0; i < rows; i++, src += BLIINDS_STEP * W1) {
        BLIINDS_UNROLL
        for (int y = 0; y < BLIINDS_BLOCK; y++) {
            if (y < BLIINDS_BLOCK - BLIINDS_STEP) {
                BLIINDS_UNROLL
                for (int k = 0; k < 5; k++)
                    basis[y][k] = basis[y + BLIINDS_STEP][k];
            } else {
                basis1(basis[y], p, src + y * W1);
            }
        }
        tile_block<0>(p, count, sums, basis, 0, bx, by + i);
    }
}

/// One block of level 2 or 3.
template<int LEVEL, int HALO, int W, int H>
static DEVICE_INLINE void upper_block(const BLIINDSCUDAParams &p, const Split<W, H> &split,
                                      unsigned count[BLIINDS_NB_POOLED][BLIINDS_BINS],
                                      uint64_t sums[NB_SUMS], int tx, int ty, int thread)
{
    const int tile_w = BLIINDS_TILE_W >> LEVEL, tile_h = BLIINDS_TILE_H >> LEVEL;
    const int cx = thread % tile_w, cy = thread / tile_w;
    const int x = BLIINDS_STEP * cx + HALO - 1, y = BLIINDS_STEP * cy + HALO - 1;
    float high[5][5], low[5][5];

    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_BLOCK; i++) {
        const float *h = &split.high[y + i][x], *l = &split.low[y + i][x];

        bliinds_basis(high[i], h[0], h[1], h[2], h[3], h[4]);
        bliinds_basis(low[i],  l[0], l[1], l[2], l[3], l[4]);
    }
    tile_block<LEVEL>(p, count, sums, high, low, tx * tile_w + cx, ty * tile_h + cy);
}

/// Add to a sum in device memory.
static DEVICE_INLINE void add_sum(BLIINDSSum *dst, uint64_t whole, uint64_t fraction)
{
    atomic_add64(&dst->whole, whole);
    atomic_add64(&dst->fraction, fraction);
}

/// Add the threads' sums to those in device memory; a warp has one of a level.
static DEVICE_INLINE void flush_sums(BLIINDSCUDASums dst[BLIINDS_LEVELS],
                                     const uint64_t sums[NB_SUMS],
                                     uint64_t shared[NB_SUMS][BLIINDS_TILE_THREADS])
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;

    BLIINDS_UNROLL
    for (int i = 0; i < NB_SUMS; i++)
        shared[i][threadIdx.x] = sums[i];
    __syncthreads();
    // 0, 1: energy; 2 to 4, 5 to 7, 8 to 10: bands of level 1, 2, 3
    for (int i = warp; i < 2 + 3 * BLIINDS_LEVELS; i += NB_WARPS) {
        const int l   = i < 2 ? 0 : (i - 2) / 3, band = (i - 2) % 3;
        const int sum = i < 2 ? i : l < 2 ? SUM_BAND + band : band;
        const int start = l == 0 ? 0 : LEVEL1_WARPS * WARP_SIZE;
        const int end   = l == 0 ? LEVEL1_WARPS * WARP_SIZE : BLIINDS_TILE_THREADS;
        uint64_t whole = 0, fraction = 0;

        for (int j = start + lane; j < end; j += WARP_SIZE) {
            whole    += shared[sum][j] >> 32;
            fraction += (uint32_t)shared[sum][j];
        }
        whole    = warp_sum(whole);
        fraction = warp_sum(fraction);
        if (lane == 0)
            add_sum(i < 2 ? &dst[l].energy[i] : &dst[l].band[band], whole, fraction);
    }
}

template<typename T>
static DEVICE_INLINE void level_blocks(const BLIINDSCUDAParams &p)
{
    __shared__ union {
        Tile<T> t;
        uint64_t sums[NB_SUMS][BLIINDS_TILE_THREADS];
    } s;
    __shared__ unsigned count[BLIINDS_LEVELS][BLIINDS_NB_POOLED][BLIINDS_BINS] __align__(16);
    const int nb_counts = BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS;
    const BLIINDSCUDAFrame &frame = p.frame[blockIdx.y];
    BLIINDSCUDAState *state = p.state + blockIdx.y;
    const int tid = threadIdx.x, upper = tid - LEVEL1_WARPS * WARP_SIZE;
    unsigned *total = &state->count[0][0][0];
    int4 *counts = (int4 *)count;
    uint64_t sums[NB_SUMS] = { 0, 0, 0, 0, 0, 0 };

    for (int i = tid; i < nb_counts / 4; i += BLIINDS_TILE_THREADS) {
        int4 zero = { 0, 0, 0, 0 };

        counts[i] = zero;
    }

    for (int tile = blockIdx.x; tile < p.nb_tiles; tile += gridDim.x) {
        const int tx = tile % p.nb_tiles_x, ty = tile / p.nb_tiles_x;

        __syncthreads();
        load_level1(s.t, p, frame, tx, ty);
        __syncthreads();
        make_level2(s.t, p, frame.black, tx, ty);
        __syncthreads();
        make_level3(s.t, p, tx, ty);
        __syncthreads();

        if (upper < 0) {
            level1_blocks(p, s.t, count[0], sums, tx, ty);
        } else {
#pragma unroll 1
            for (int i = 0; i < 2; i++)
                upper_block<1, HALO2>(p, s.t.level2, count[1], sums, tx, ty,
                                      upper + i * UPPER_WARPS * WARP_SIZE);
            if (upper < WARP_SIZE)
                upper_block<2, HALO3>(p, s.t.level3, count[2], sums, tx, ty, upper);
        }
    }
    __syncthreads();

    for (int i = tid; i < nb_counts / 4; i += BLIINDS_TILE_THREADS) {
        int4 c = counts[i];

        if (c.x) atomic_add(&total[4 * i],     c.x);
        if (c.y) atomic_add(&total[4 * i + 1], c.y);
        if (c.z) atomic_add(&total[4 * i + 2], c.z);
        if (c.w) atomic_add(&total[4 * i + 3], c.w);
    }
    flush_sums(state->result.sums, sums, s.sums);
}

/// Bins in the order of quality, the worst first.
static DEVICE_INLINE int bin_of_rank(int rank, int nb, bool smallest)
{
    return smallest ? rank : nb - 1 - rank;
}

#define POOL_WARPS (BLIINDS_POOL_THREADS / WARP_SIZE)
#define DIGIT_BITS (BIN_SHIFT / 2)
#define NB_DIGITS  (1 << DIGIT_BITS)
#define LIST_SIZE  8192                         ///< of a list in shared memory

/**
 * Find where the sum of nb counts, taken in the order of quality, reaches k.
 *
 * @param found set to the index, and to how many of its count are needed
 */
static DEVICE_INLINE void find_count(int found[2], unsigned warp_total[POOL_WARPS],
                                     const unsigned *count, int nb, bool smallest,
                                     unsigned k)
{
    const int tid = threadIdx.x, lane = tid % WARP_SIZE, warp = tid / WARP_SIZE;
    const int first = 2 * tid, second = 2 * tid + 1;
    unsigned c0 = first  < nb ? count[bin_of_rank(first,  nb, smallest)] : 0;
    unsigned c1 = second < nb ? count[bin_of_rank(second, nb, smallest)] : 0;
    unsigned end = warp_scan(c0 + c1, lane), begin;

    if (lane == WARP_SIZE - 1)
        warp_total[warp] = end;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        end += warp_total[i];
    begin = end - c0 - c1;
    if (begin < k && begin + c0 >= k) {
        found[0] = bin_of_rank(first, nb, smallest);
        found[1] = k - begin;
    } else if (begin + c0 < k && end >= k) {
        found[0] = bin_of_rank(second, nb, smallest);
        found[1] = k - begin - c0;
    }
    __syncthreads();
}

/// What a thread block shares while it pools.
typedef struct Pool {
    unsigned count[NB_DIGITS];
    unsigned warp_total[POOL_WARPS];
    uint64_t warp_sum[POOL_WARPS][3];
    int threshold[2];                   ///< bin, and how many of it are needed
    unsigned nb_listed, first_listed;
    bool is_last;
    float list[LIST_SIZE];
} Pool;

/// Sum three values of each thread; the first three threads get one each.
static DEVICE_INLINE uint64_t pool_sums(Pool &s, uint64_t a, uint64_t b, uint64_t c)
{
    const int tid = threadIdx.x, warp = tid / WARP_SIZE;
    uint64_t sum = 0;

    a = warp_sum(a);
    b = warp_sum(b);
    c = warp_sum(c);
    if (tid % WARP_SIZE == 0) {
        s.warp_sum[warp][0] = a;
        s.warp_sum[warp][1] = b;
        s.warp_sum[warp][2] = c;
    }
    __syncthreads();
    if (tid < 3) {
        BLIINDS_UNROLL
        for (int i = 0; i < POOL_WARPS; i++)
            sum += s.warp_sum[i][tid];
    }
    return sum;
}

/// Which chunk of blocks a thread block pools.
typedef struct Chunk {
    int level, pooled;
    int start, end;                     ///< blocks of the chunk
    int nb_blocks, nb_chunks;           ///< of the level
} Chunk;

static DEVICE_INLINE Chunk find_chunk(const BLIINDSCUDAParams &p)
{
    Chunk c;
    int chunk = blockIdx.x / BLIINDS_NB_POOLED;

    c.pooled = blockIdx.x % BLIINDS_NB_POOLED;
    for (c.level = 0; ; c.level++) {
        c.nb_blocks = p.level[c.level].bw * p.level[c.level].bh;
        c.nb_chunks = (c.nb_blocks + p.pool_chunk - 1) / p.pool_chunk;
        if (chunk < c.nb_chunks)
            break;
        chunk -= c.nb_chunks;
    }
    c.start = chunk * p.pool_chunk;
    c.end   = c.start + p.pool_chunk;
    if (c.end > c.nb_blocks)
        c.end = c.nb_blocks;
    return c;
}

static DEVICE_INLINE void find_threshold(Pool &s, const BLIINDSCUDAState *state, const Chunk &c)
{
    if (threadIdx.x == 0)
        s.nb_listed = 0;
    find_count(s.threshold, s.warp_total, state->count[c.level][c.pooled], BLIINDS_BINS,
               c.pooled == BLIINDS_GAMMA, bliinds_nb_worst(c.nb_blocks));
}

/// Add to the list in shared memory or, where that is full, in device memory.
static DEVICE_INLINE void append(Pool &s, float *list, unsigned *nb_listed, float x)
{
    unsigned i = atomic_add(&s.nb_listed, 1);

    if (i < LIST_SIZE)
        s.list[i] = x;
    else
        list[atomic_add(nb_listed, 1)] = x;
}

/// Sums of one of a level's statistics over a chunk of blocks.
static DEVICE_INLINE void pool_statistic(Pool &s, const BLIINDSCUDAParams &p, const Chunk &c)
{
    const BLIINDSCUDALevel &level = p.level[c.level];
    const float *value = of_frame(p, level.statistic[c.pooled]);
    float *list = of_frame(p, level.list[c.pooled]);
    BLIINDSCUDAState *state = p.state + blockIdx.y;
    BLIINDSCUDAPooled *sums = &state->result.pooled[c.level][c.pooled];
    unsigned *nb_listed = &state->nb_listed[c.level][c.pooled];
    const int tid = threadIdx.x;
    uint64_t sum[2] = { 0, 0 }, worst = 0;
    uint32_t start = 0, end = 0;

    for (int first = c.start; first < c.end; first += BLIINDS_POOL_CHUNK) {
        float v[BLIINDS_POOL_EACH];

        BLIINDS_UNROLL
        for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
            int block = first + tid + i * BLIINDS_POOL_THREADS;

            v[i] = block < c.end ? value[block] : 0.f;
        }
        if (first == c.start) {
            find_threshold(s, state, c);
            start = bin_start(s.threshold[0]);
            end   = s.threshold[0] < BLIINDS_BINS - 1 ? bin_start(s.threshold[0] + 1) : ~0u;
            start = start ? start : 1;      // zeros add nothing
        }
        BLIINDS_UNROLL
        for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
            const float x = fabsf(v[i]);
            const uint64_t fixed = bliinds_fixed(x);

            sum[0] += fixed;
            if (float_bits(v[i]) >> 31)
                sum[1] += fixed;
            if (float_bits(x) >= end)
                worst += fixed;
            else if (float_bits(x) >= start)
                append(s, list, nb_listed, x);
        }
    }

    sum[0] = pool_sums(s, sum[0] - sum[1], sum[1], worst);
    if (tid < 3)
        add_sum(tid < 2 ? &sums->grid[tid] : &sums->worst, sum[0] >> 32, (uint32_t)sum[0]);
    if (tid == WARP_SIZE) {
        s.nb_listed    = s.nb_listed < LIST_SIZE ? s.nb_listed : LIST_SIZE;
        s.first_listed = s.nb_listed ? atomic_add(nb_listed, s.nb_listed) : 0;
    }
    __syncthreads();
    for (int i = tid; i < s.nb_listed; i += BLIINDS_POOL_THREADS)
        list[s.first_listed + i] = s.list[i];
}

/// The same for gamma, whose bins hold few shapes: no list is needed.
static DEVICE_INLINE void pool_gamma(Pool &s, const BLIINDSCUDAParams &p, const Chunk &c)
{
    const uint16_t *value = of_frame(p, p.level[c.level].gamma);
    BLIINDSCUDAState *state = p.state + blockIdx.y;
    BLIINDSCUDAPooled *sums = &state->result.pooled[c.level][BLIINDS_GAMMA];
    const int tid = threadIdx.x;
    // number of blocks in the upper, sum of values in the lower half
    uint64_t sum[2] = { 0, 0 }, worst = 0;
    int bin = 0;

    if (tid < BLIINDS_GAMMA_FINE)
        s.count[tid] = 0;
    for (int first = c.start; first < c.end; first += BLIINDS_POOL_CHUNK) {
        int v[BLIINDS_POOL_EACH];

        BLIINDS_UNROLL
        for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
            int block = first + tid + i * BLIINDS_POOL_THREADS;

            v[i] = block < c.end ? value[block] : -1;
        }
        if (first == c.start) {
            find_threshold(s, state, c);
            bin = s.threshold[0];
        }
        BLIINDS_UNROLL
        for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
            int straddles = v[i] >> 15, index = v[i] & 0x7fff;
            int shape = bliinds_gamma_value(index);
            uint64_t one = (1ULL << 32) + shape;

            if (v[i] < 0)
                continue;
            sum[0] += straddles ? 0 : one;
            sum[1] += straddles ? one : 0;
            worst  += (uint64_t)(index == BLIINDS_GAMMA_NONE) << 32;
            if (gamma_bin(index) < bin)
                worst += shape;
            else if (gamma_bin(index) == bin)
                atomic_add(&s.count[index % BLIINDS_GAMMA_FINE], 1);
        }
    }

    sum[0] = pool_sums(s, sum[0], sum[1], worst);
    if (tid < 2)
        add_sum(&sums->grid[tid], sum[0] >> 32, (uint32_t)sum[0]);
    else if (tid == 2)
        add_sum(&sums->worst, (uint32_t)sum[0], sum[0] >> 32);
    if (tid < BLIINDS_GAMMA_FINE && s.count[tid])
        atomic_add(&state->gamma_fine[c.level][tid], s.count[tid]);
}

/**
 * Sum of the need largest of n listed values, for the third thread to add.
 * They share the upper bits but where the bin is one of the two open ones.
 */
static DEVICE_INLINE uint64_t sum_largest(Pool &s, const float *list, int n,
                                          unsigned need, bool open)
{
    const int tid = threadIdx.x;
    uint32_t mask   = open ? 0 : ~0u << BIN_SHIFT;
    uint32_t prefix = float_bits(list[0]) & mask;
    uint64_t sum = 0;
    union { uint32_t i; float f; } threshold;

    for (int shift = open ? 3 * DIGIT_BITS : DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        for (int i = tid; i < NB_DIGITS; i += BLIINDS_POOL_THREADS)
            s.count[i] = 0;
        __syncthreads();
        for (int i = tid; i < n; i += BLIINDS_POOL_THREADS) {
            uint32_t v = float_bits(list[i]);

            if ((v & mask) == prefix)
                atomic_add(&s.count[v >> shift & (NB_DIGITS - 1)], 1);
        }
        __syncthreads();
        find_count(s.threshold, s.warp_total, s.count, NB_DIGITS, false, need);
        prefix |= (uint32_t)s.threshold[0] << shift;
        mask   |= (uint32_t)(NB_DIGITS - 1) << shift;
        need    = s.threshold[1];
    }

    for (int i = tid; i < n; i += BLIINDS_POOL_THREADS)
        if (float_bits(list[i]) > prefix)
            sum += bliinds_fixed(list[i]);
    threshold.i = prefix;
    if (tid == 0)
        sum += need * bliinds_fixed(threshold.f);
    return pool_sums(s, 0, 0, sum);
}

/// Sum of what is needed of the threshold's bin of a statistic.
static DEVICE_INLINE uint64_t finish_statistic(Pool &s, const BLIINDSCUDAParams &p, const Chunk &c)
{
    const int tid = threadIdx.x, bin = s.threshold[0];
    const int n = load_relaxed(&p.state[blockIdx.y].nb_listed[c.level][c.pooled]);
    const int need = s.threshold[1] < n ? s.threshold[1] : n;
    const float *list = of_frame(p, p.level[c.level].list[c.pooled]);

    if (!n)
        return 0;
    if (n <= LIST_SIZE) {
        for (int i = tid; i < n; i += BLIINDS_POOL_THREADS)
            s.list[i] = load_relaxed(&list[i]);
        list = s.list;
    }
    __syncthreads();
    return sum_largest(s, list, n, need, bin == 0 || bin == BLIINDS_BINS - 1);
}

/// The same for gamma, by the first warp.
static DEVICE_INLINE uint64_t finish_gamma(Pool &s, const BLIINDSCUDAParams &p, const Chunk &c)
{
    unsigned *fine = p.state[blockIdx.y].gamma_fine[c.level];
    const int tid = threadIdx.x;
    const unsigned need = s.threshold[1];
    unsigned count, before, take;

    if (tid >= WARP_SIZE)
        return 0;
    count  = load_relaxed(&fine[tid]);
    before = warp_scan(count, tid) - count;
    take   = before < need ? need - before : 0;
    take   = take < count ? take : count;
    fine[tid] = 0;
    // the third thread is to add the sum
    return broadcast(warp_sum((uint64_t)take *
                     bliinds_gamma_value(s.threshold[0] * BLIINDS_GAMMA_FINE + tid)));
}

/// Move the words of a struct from the state to the result, a thread each.
template<typename T>
static DEVICE_INLINE void move_words(T *dst, T *src)
{
    const int i = threadIdx.x;

    if (i < sizeof(T) / sizeof(uint64_t)) {
        ((uint64_t *)dst)[i] = load_relaxed((uint64_t *)src + i);
        ((uint64_t *)src)[i] = 0;
    }
}

extern "C" {

__global__ void __launch_bounds__(BLIINDS_TILE_THREADS, BLIINDS_TILES_PER_SM)
bliinds_blocks_8(BLIINDSCUDAParams p)
{
    level_blocks<uint8_t>(p);
}

__global__ void __launch_bounds__(BLIINDS_TILE_THREADS, BLIINDS_TILES_PER_SM)
bliinds_blocks_16(BLIINDSCUDAParams p)
{
    level_blocks<uint16_t>(p);
}

/**
 * Sums over all blocks, and over the worst 10 % of them, to the results of a
 * batch of frames; blockIdx.y is the frame.
 *
 * A thread block takes a chunk of blocks of one level and statistic. The bin
 * of the coarse histogram in which the threshold lies is known; what is beyond
 * it is added, what is in it is listed. The last to finish chooses from the
 * list by its digits, writes the result and leaves the state as it was.
 */
__global__ void __launch_bounds__(BLIINDS_POOL_THREADS, BLIINDS_POOLS_PER_SM)
bliinds_pool(BLIINDSCUDAParams p)
{
    __shared__ Pool s;
    const Chunk c = find_chunk(p);
    const bool is_gamma = c.pooled == BLIINDS_GAMMA;
    const int tid = threadIdx.x;
    BLIINDSCUDAState *state   = p.state + blockIdx.y;
    BLIINDSCUDAResult *result = p.frame[blockIdx.y].result;
    BLIINDSCUDAPooled *sums   = &state->result.pooled[c.level][c.pooled];
    uint64_t rest;

    if (is_gamma)
        pool_gamma(s, p, c);
    else
        pool_statistic(s, p, c);

    __syncthreads();
    if (tid == 0) {
        fence_device();
        s.is_last = atomic_add(&state->nb_done[c.level][c.pooled], 1) == c.nb_chunks - 1;
        fence_device();
    }
    __syncthreads();
    if (!s.is_last)
        return;

    rest = is_gamma ? finish_gamma(s, p, c) : finish_statistic(s, p, c);
    if (tid == 2) {
        sums->worst.whole    = load_relaxed(&sums->worst.whole)    + (is_gamma ? rest : rest >> 32);
        sums->worst.fraction = load_relaxed(&sums->worst.fraction) + (is_gamma ? 0 : (uint32_t)rest);
    }
    __syncthreads();
    move_words(&result->pooled[c.level][c.pooled], sums);
    if (is_gamma)
        move_words(&result->sums[c.level], &state->result.sums[c.level]);
    for (int i = tid; i < BLIINDS_BINS; i += BLIINDS_POOL_THREADS)
        state->count[c.level][c.pooled][i] = 0;
    if (tid == 0) {
        state->nb_done[c.level][c.pooled] = 0;
        if (!is_gamma)
            state->nb_listed[c.level][c.pooled] = 0;
    }
}

}
