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
 * A tile is 96x24 samples of luma: it owns 32x8 blocks of level 1, 16x4 of
 * level 2 and 8x2 of level 3. A thread block takes one tile after the other.
 * All its warps load the tile's samples, with what its blocks reach beyond it.
 * Then eight warps have a row of 32 blocks of level 1 each, while four make
 * levels 2 and 3 of the tile in shared memory and have their blocks: about the
 * same work. Coarse histograms for the choice of the worst 10 % stay in shared
 * memory over all tiles.
 */
#define NB_WARPS       (BLIINDS_TILE_THREADS / WARP_SIZE)
#define LEVEL1_THREADS (BLIINDS_TILE_W * BLIINDS_TILE_H)
#define UPPER_THREADS  (BLIINDS_TILE_THREADS - LEVEL1_THREADS)
#define UPPER_BARRIER  1

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
#define S2 (W2 + 1)                             ///< row stride
#define HALO3 1
#define W3 (TILE_SAMPLES_X / 4 + 2)
#define H3 (TILE_SAMPLES_Y / 4 + 2)
#define S3 (W3 + 1)
/// @}

#define ROWS_PER_WARP ((H1 + NB_WARPS - 1) / NB_WARPS)

typedef struct Tile {
    float level1[H1][W1] __align__(16);
    int32_t column2[H2][W1];            ///< level 1 filtered vertically
    float high2[H2][S2], low2[H2][S2];  ///< upper and lower parts
    int32_t column3[H3][W2];
    float high3[H3][S3], low3[H3][S3];
} Tile;

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
static DEVICE_INLINE typename Word<T>::type load_word(const BLIINDSCUDAParams &p,
                                                      const BLIINDSCUDAFrame &frame,
                                                      int x, int y)
{
    typedef typename Word<T>::type W;
    const int w = p.level[0].w, bits = 8 * sizeof(T);
    const T *src = (const T *)(frame.src + (int64_t)y * frame.pitch) + x;
    const T black = frame.black << p.down;
    W word = 0;

    if (y >= 0 && y < p.level[0].h && x >= 0 && x + 3 < w && !((uintptr_t)src % sizeof(W)))
        return *(const W *)src;
    BLIINDS_UNROLL
    for (int i = 0; i < 4; i++) {
        bool inside = y >= 0 && y < p.level[0].h && x + i >= 0 && x + i < w;

        word |= (W)(inside ? src[i] : black) << (i * bits);
    }
    return word;
}

/// A tile's samples, as a thread loads them: a row for each warp in turn.
template<typename T>
static DEVICE_INLINE void load_level1(typename Word<T>::type dst[ROWS_PER_WARP],
                                      const BLIINDSCUDAParams &p,
                                      const BLIINDSCUDAFrame &frame, int x0, int y0)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;

    BLIINDS_UNROLL
    for (int i = 0; i < ROWS_PER_WARP; i++)
        if (lane < W1 / 4 && warp + i * NB_WARPS < H1)
            dst[i] = load_word<T>(p, frame, x0 + 4 * lane, y0 + warp + i * NB_WARPS);
}

template<typename T>
static DEVICE_INLINE void store_level1(Tile &t, const typename Word<T>::type src[ROWS_PER_WARP],
                                       const BLIINDSCUDAParams &p, int black)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;

    BLIINDS_UNROLL
    for (int i = 0; i < ROWS_PER_WARP; i++) {
        const int row = warp + i * NB_WARPS;

        if (lane < W1 / 4 && row < H1) {
            float4 v = { ((int)((T)(src[i])                      >> p.down) - black) * p.scale,
                         ((int)((T)(src[i] >>  8 * sizeof(T))    >> p.down) - black) * p.scale,
                         ((int)((T)(src[i] >> 16 * sizeof(T))    >> p.down) - black) * p.scale,
                         ((int)((T)(src[i] >> 24 * sizeof(T))    >> p.down) - black) * p.scale };

            *(float4 *)&t.level1[row][4 * lane] = v;
        }
    }
}

/// A level 1 sample, exact in 8-bit steps, as an integer.
static DEVICE_INLINE int32_t to_level_sample(float x)
{
    union { float f; int32_t i; } u;

    // adding 1.5 * 2^15 leaves 8 fractional bits at the end of the mantissa
    u.f = x + 49152.f;
    return (u.i - 0x47400000) << (BLIINDS_FRAC_BITS - 8);
}

/// A sample from its parts.
static DEVICE_INLINE int32_t join_parts(float high, float low)
{
    return ((int32_t)(high * (1 << (BLIINDS_FRAC_BITS - BLIINDS_LOW_BITS))) << BLIINDS_LOW_BITS) +
           (int32_t)(low * (1 << BLIINDS_FRAC_BITS));
}

/**
 * The second half of the low-pass filter, along rows.
 *
 * @param high,low W x H samples with the given stride; 0 outside of the level
 * @param x0,y0    the first one's place in the level
 */
template<int W, int H, int STRIDE, int COLUMN_STRIDE>
static DEVICE_INLINE void filter_rows(float *high, float *low, const int32_t *column,
                                      const BLIINDSCUDALevel &level, int x0, int y0,
                                      int thread)
{
    for (int i = thread; i < W * H; i += UPPER_THREADS) {
        const int y = i / W, x = i % W;
        const int32_t *c = column + y * COLUMN_STRIDE + 2 * x;
        int32_t v = 0;

        if (x0 + x >= 0 && x0 + x < level.w && y0 + y >= 0 && y0 + y < level.h)
            v = bliinds_lowpass(c[0], c[1], c[2]);
        high[y * STRIDE + x] = bliinds_high(v);
        low[y * STRIDE + x]  = bliinds_low(v);
    }
}

/// Levels 2 and 3 of a tile whose first sample of level 1 is (x0, y0).
static DEVICE_INLINE void make_upper_levels(Tile &t, const BLIINDSCUDAParams &p,
                                            int x0, int y0, int thread)
{
    if (thread < W1) {
        int32_t above = to_level_sample(t.level1[0][thread]);

        BLIINDS_UNROLL
        for (int y = 0; y < H2; y++) {
            int32_t middle = to_level_sample(t.level1[2 * y + 1][thread]);
            int32_t below  = to_level_sample(t.level1[2 * y + 2][thread]);

            t.column2[y][thread] = bliinds_lowpass(above, middle, below);
            above = below;
        }
    }
    barrier(UPPER_BARRIER, UPPER_THREADS);
    filter_rows<W2, H2, S2, W1>(&t.high2[0][0], &t.low2[0][0], &t.column2[0][0],
                                p.level[1], x0 / 2, y0 / 2, thread);
    barrier(UPPER_BARRIER, UPPER_THREADS);
    for (int i = thread; i < H3 * W2; i += UPPER_THREADS) {
        const int y = i / W2, x = i % W2;

        t.column3[y][x] = bliinds_lowpass(join_parts(t.high2[2 * y][x],     t.low2[2 * y][x]),
                                          join_parts(t.high2[2 * y + 1][x], t.low2[2 * y + 1][x]),
                                          join_parts(t.high2[2 * y + 2][x], t.low2[2 * y + 2][x]));
    }
    barrier(UPPER_BARRIER, UPPER_THREADS);
    filter_rows<W3, H3, S3, W2>(&t.high3[0][0], &t.low3[0][0], &t.column3[0][0],
                                p.level[2], x0 / 4, y0 / 4, thread);
    barrier(UPPER_BARRIER, UPPER_THREADS);
}

static DEVICE_INLINE uint32_t float_bits(float x)
{
    union { float f; uint32_t i; } u = { x };

    return u.i;
}

/**
 * Bin of a statistic that is not negative, growing with it: 0 for 0, else 32
 * bins an octave from 2^-6 to 2^4 with what is beyond in the first and last.
 */
#define BIN_SHIFT 18
static DEVICE_INLINE int statistic_bin(uint32_t bits)
{
    int bin = (int)(bits >> BIN_SHIFT) - ((127 - 6) << (23 - BIN_SHIFT));

    bin = bin < 1 ? 1 : bin;
    bin = bin > BLIINDS_BINS - 1 ? BLIINDS_BINS - 1 : bin;
    return bits ? bin : 0;
}

static DEVICE_INLINE int gamma_bin(int index)
{
    return index / BLIINDS_GAMMA_FINE;
}

/// A thread's share of the sums that are made with the statistics.
typedef struct ThreadSums {
    uint64_t energy[2];         ///< level 1, clear of the grid and straddling
    uint64_t band[3];           ///< of the level of the thread's blocks
} ThreadSums;

/**
 * One block of a tile: its statistics to memory, the histograms and the sums.
 *
 * @param high first sample of the tile's part of the level, or its upper parts
 * @param low  its lower parts, NULL at level 1
 * @param tx,ty the tile
 * @param index of the block in the tile
 */
template<int LEVEL, int STRIDE, int HALO>
static DEVICE_INLINE void tile_block(const BLIINDSCUDAParams &p,
                                     unsigned count[BLIINDS_NB_POOLED][BLIINDS_BINS],
                                     ThreadSums &sums, const float *high,
                                     const float *low, int tx, int ty, int index)
{
    const BLIINDSCUDALevel &level = p.level[LEVEL];
    const int tile_w = BLIINDS_TILE_W >> LEVEL, tile_h = BLIINDS_TILE_H >> LEVEL;
    const int cx = index % tile_w, cy = index / tile_w;
    const int bx = tx * tile_w + cx, by = ty * tile_h + cy;
    const int window = (BLIINDS_STEP * cy + HALO - 1) * STRIDE + BLIINDS_STEP * cx + HALO - 1;
    const bool straddles = LEVEL == 0 && (bliinds_straddles(bx) || bliinds_straddles(by));
    const int64_t i = (int64_t)by * level.bw + bx;
    float h[5][5], l[5][5];
    BLIINDSBlock block;
    int gamma;

    if (bx >= level.bw || by >= level.bh)
        return;

    BLIINDS_UNROLL
    for (int y = 0; y < BLIINDS_BLOCK; y++) {
        const float *s = high + window + y * STRIDE;

        bliinds_basis(h[y], s[0], s[1], s[2], s[3], s[4]);
        if (LEVEL > 0) {
            s = low + window + y * STRIDE;
            bliinds_basis(l[y], s[0], s[1], s[2], s[3], s[4]);
        }
    }
    bliinds_block(&block, h, LEVEL > 0 ? l : (const float (*)[5])0);
    gamma = bliinds_gamma(p.gamma_table, block.rho);

    of_frame(p, level.statistic[BLIINDS_ZETA])[i] = straddles ? -block.zeta : block.zeta;
    of_frame(p, level.statistic[BLIINDS_SUB])[i]  = straddles ? -block.sub  : block.sub;
    of_frame(p, level.statistic[BLIINDS_ORI])[i]  = straddles ? -block.ori  : block.ori;
    of_frame(p, level.gamma)[i] = gamma | straddles << 15;
    atomic_add(&count[BLIINDS_ZETA][statistic_bin(float_bits(block.zeta))], 1);
    atomic_add(&count[BLIINDS_SUB][statistic_bin(float_bits(block.sub))], 1);
    atomic_add(&count[BLIINDS_ORI][statistic_bin(float_bits(block.ori))], 1);
    atomic_add(&count[BLIINDS_GAMMA][gamma_bin(gamma)], 1);

    if (LEVEL == 0) {
        uint64_t energy = bliinds_fixed(block.energy);

        sums.energy[0] += straddles ? 0 : energy;
        sums.energy[1] += straddles ? energy : 0;
    }
    BLIINDS_UNROLL
    for (int b = 0; b < 3; b++)
        sums.band[b] += bliinds_fixed(block.band[b]);
}

/// Add to a sum in device memory.
static DEVICE_INLINE void add_sum(BLIINDSSum *dst, uint64_t whole, uint64_t fraction)
{
    atomic_add64(&dst->whole, whole);
    atomic_add64(&dst->fraction, fraction);
}

/**
 * Add the threads' sums to those in device memory, by way of shared memory:
 * a warp takes one sum of a level.
 */
#define THREAD_SUMS (sizeof(ThreadSums) / sizeof(uint64_t))
static DEVICE_INLINE void flush_sums(BLIINDSCUDASums dst[BLIINDS_LEVELS], const ThreadSums &sums,
                                     uint64_t shared[THREAD_SUMS][BLIINDS_TILE_THREADS])
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    // warps 0 to 4: level 1, its energies first; 5 to 7: level 2; 8 to 10: level 3
    const int l     = warp < 5 ? 0 : warp < 8 ? 1 : 2;
    const int sum   = warp < 5 ? warp : 2 + (warp - 5) % 3;
    const int first = l == 0 ? 0 : l == 1 ? LEVEL1_THREADS : LEVEL1_THREADS + LEVEL1_THREADS / 4;
    const int nb    = l == 0 ? LEVEL1_THREADS : l == 1 ? LEVEL1_THREADS / 4 : LEVEL1_THREADS / 16;
    uint64_t whole = 0, fraction = 0;

    BLIINDS_UNROLL
    for (int i = 0; i < 2; i++)
        shared[i][threadIdx.x] = sums.energy[i];
    BLIINDS_UNROLL
    for (int i = 0; i < 3; i++)
        shared[2 + i][threadIdx.x] = sums.band[i];
    __syncthreads();
    if (warp >= 11)
        return;
    for (int i = first + lane; i < first + nb; i += WARP_SIZE) {
        whole    += shared[sum][i] >> 32;
        fraction += (uint32_t)shared[sum][i];
    }
    whole    = warp_sum(whole);
    fraction = warp_sum(fraction);
    if (lane == 0)
        add_sum(sum < 2 ? &dst[l].energy[sum] : &dst[l].band[sum - 2], whole, fraction);
}

template<typename T>
static DEVICE_INLINE void level_blocks(const BLIINDSCUDAParams &p)
{
    __shared__ union {
        Tile t;
        uint64_t sums[THREAD_SUMS][BLIINDS_TILE_THREADS];
    } s;
    __shared__ unsigned count[BLIINDS_LEVELS][BLIINDS_NB_POOLED][BLIINDS_BINS];
    const BLIINDSCUDAFrame &frame = p.frame[blockIdx.y];
    BLIINDSCUDAState *state = p.state + blockIdx.y;
    const int tid = threadIdx.x, upper = tid - LEVEL1_THREADS;
    unsigned *counts = &count[0][0][0], *total = &state->count[0][0][0];
    ThreadSums sums = { { 0, 0 }, { 0, 0, 0 } };
    typename Word<T>::type word[ROWS_PER_WARP];
    int tile = blockIdx.x, tx = tile % p.nb_tiles_x, ty = tile / p.nb_tiles_x;

    load_level1<T>(word, p, frame, tx * TILE_SAMPLES_X - HALO1, ty * TILE_SAMPLES_Y - HALO1);
    for (int i = tid; i < BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS; i += BLIINDS_TILE_THREADS)
        counts[i] = 0;

    while (tile < p.nb_tiles) {
        const int this_tx = tx, this_ty = ty;

        __syncthreads();
        store_level1<T>(s.t, word, p, frame.black);
        __syncthreads();

        // the next tile's samples come while this one's blocks are worked on
        tile += gridDim.x;
        tx = tile % p.nb_tiles_x;
        ty = tile / p.nb_tiles_x;
        if (tile < p.nb_tiles)
            load_level1<T>(word, p, frame, tx * TILE_SAMPLES_X - HALO1,
                           ty * TILE_SAMPLES_Y - HALO1);

        if (tid < LEVEL1_THREADS) {
            tile_block<0, W1, HALO1>(p, count[0], sums, &s.t.level1[0][0], 0,
                                     this_tx, this_ty, tid);
            continue;
        }
        make_upper_levels(s.t, p, this_tx * TILE_SAMPLES_X - HALO1,
                          this_ty * TILE_SAMPLES_Y - HALO1, upper);
        if (upper < LEVEL1_THREADS / 4)
            tile_block<1, S2, HALO2>(p, count[1], sums, &s.t.high2[0][0], &s.t.low2[0][0],
                                     this_tx, this_ty, upper);
        else if (upper < LEVEL1_THREADS / 4 + LEVEL1_THREADS / 16)
            tile_block<2, S3, HALO3>(p, count[2], sums, &s.t.high3[0][0], &s.t.low3[0][0],
                                     this_tx, this_ty, upper - LEVEL1_THREADS / 4);
    }
    __syncthreads();

    for (int i = tid; i < BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS; i += BLIINDS_TILE_THREADS)
        if (counts[i])
            atomic_add(&total[i], counts[i]);
    flush_sums(state->result.sums, sums, s.sums);
}

/// Bins in the order of quality, the worst first.
static DEVICE_INLINE int bin_of_rank(int rank, int nb, bool smallest)
{
    return smallest ? rank : nb - 1 - rank;
}

#define POOL_WARPS (BLIINDS_POOL_THREADS / WARP_SIZE)
#define DIGIT_BITS (BIN_SHIFT / 2)
#define NB_DIGITS  (1 << DIGIT_BITS)            ///< two for each thread
#define LIST_SIZE  (2 * BLIINDS_POOL_CHUNK)     ///< of a list in shared memory

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
        c.nb_chunks = (c.nb_blocks + BLIINDS_POOL_CHUNK - 1) / BLIINDS_POOL_CHUNK;
        if (chunk < c.nb_chunks)
            break;
        chunk -= c.nb_chunks;
    }
    c.start = chunk * BLIINDS_POOL_CHUNK;
    c.end   = c.start + BLIINDS_POOL_CHUNK;
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

/// Sums of one of a level's statistics over a chunk of blocks.
static DEVICE_INLINE void pool_statistic(Pool &s, const BLIINDSCUDAParams &p, const Chunk &c)
{
    const BLIINDSCUDALevel &level = p.level[c.level];
    const float *value = of_frame(p, level.statistic[c.pooled]);
    float *list = of_frame(p, level.list[c.pooled]);
    BLIINDSCUDAState *state = p.state + blockIdx.y;
    BLIINDSCUDAPooled *sums = &state->result.pooled[c.level][c.pooled];
    const int tid = threadIdx.x;
    uint64_t sum[2] = { 0, 0 }, worst = 0;
    float v[BLIINDS_POOL_EACH];
    int bin;

    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
        int block = c.start + tid + i * BLIINDS_POOL_THREADS;

        v[i] = block < c.end ? value[block] : 0.f;
    }
    find_threshold(s, state, c);
    bin = s.threshold[0];
    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
        bool straddles = float_bits(v[i]) >> 31;
        float x = fabsf(v[i]);
        uint64_t fixed = bliinds_fixed(x);
        int b = statistic_bin(float_bits(x));

        sum[0] += straddles ? 0 : fixed;
        sum[1] += straddles ? fixed : 0;
        if (b > bin)
            worst += fixed;
        else if (b == bin && bin > 0)
            s.list[atomic_add(&s.nb_listed, 1)] = x;
    }

    sum[0] = pool_sums(s, sum[0], sum[1], worst);
    if (tid < 3)
        add_sum(tid < 2 ? &sums->grid[tid] : &sums->worst, sum[0] >> 32, (uint32_t)sum[0]);
    if (tid == WARP_SIZE && s.nb_listed)
        s.first_listed = atomic_add(&state->nb_listed[c.level][c.pooled], s.nb_listed);
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
    int v[BLIINDS_POOL_EACH], bin;

    if (tid < BLIINDS_GAMMA_FINE)
        s.count[tid] = 0;
    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_POOL_EACH; i++) {
        int block = c.start + tid + i * BLIINDS_POOL_THREADS;

        v[i] = block < c.end ? value[block] : -1;
    }
    find_threshold(s, state, c);
    bin = s.threshold[0];
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
    const int tid = threadIdx.x, bin = s.threshold[0], need = s.threshold[1];
    const int n = load_relaxed(&p.state[blockIdx.y].nb_listed[c.level][c.pooled]);
    const float *list = of_frame(p, p.level[c.level].list[c.pooled]);

    if (bin == 0)
        return 0;
    if (n <= LIST_SIZE) {
        for (int i = tid; i < n; i += BLIINDS_POOL_THREADS)
            s.list[i] = load_relaxed(&list[i]);
        list = s.list;
    }
    __syncthreads();
    return sum_largest(s, list, n, need, bin == 1 || bin == BLIINDS_BINS - 1);
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
__global__ void __launch_bounds__(BLIINDS_POOL_THREADS)
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
