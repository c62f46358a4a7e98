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
 * The statistics of all blocks of all levels, in one launch.
 *
 * A tile is 96x24 samples of luma: it owns 32x8 blocks of level 1, 16x4 of
 * level 2 and 8x2 of level 3. A thread block takes one tile after the other:
 * it loads the tile's samples with what its blocks reach beyond it, makes the
 * tile's part of levels 2 and 3 in shared memory, and gives each block to a
 * thread. A warp has a row of 32 blocks of level 1. Coarse histograms for the
 * choice of the worst 10 % are kept in shared memory over all tiles.
 */
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

#define NB_WARPS (BLIINDS_TILE_THREADS / WARP_SIZE)
#define ROWS_PER_WARP ((H1 + NB_WARPS - 1) / NB_WARPS)

/// Samples of levels 2 and 3 that a thread makes.
#define PER_THREAD2 ((W2 * H2 + BLIINDS_TILE_THREADS - 1) / BLIINDS_TILE_THREADS)
#define PER_THREAD3 ((W3 * H3 + BLIINDS_TILE_THREADS - 1) / BLIINDS_TILE_THREADS)

typedef struct Tile {
    float level1[H1][W1] __align__(16);
    /// upper and lower parts; while a level is made, its rows filtered vertically
    union {
        struct { float high[H2][S2], low[H2][S2]; } level2;
        int32_t column2[H2][W1];
    };
    union {
        struct { float high[H3][S3], low[H3][S3]; } level3;
        int32_t column3[H3][W2];
    };
} Tile;

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

/// Four samples of luma from (x, y) on, black where that is outside.
template<typename T, typename T4>
static DEVICE_INLINE T4 load_word(const BLIINDSCUDAParams &p, int x, int y)
{
    const int w = p.level[0].w, h = p.level[0].h;
    const T *src = (const T *)(p.src + (int64_t)y * p.pitch) + x;
    T black = p.black << p.down;
    T4 v = { black, black, black, black };

    if (y < 0 || y >= h)
        return v;
    if (x >= 0 && x + 3 < w && !((uintptr_t)src % sizeof(T4)))
        return *(const T4 *)src;
    if (x     >= 0 && x     < w) v.x = src[0];
    if (x + 1 >= 0 && x + 1 < w) v.y = src[1];
    if (x + 2 >= 0 && x + 2 < w) v.z = src[2];
    if (x + 3 >= 0 && x + 3 < w) v.w = src[3];
    return v;
}

/// A tile's samples, as a thread loads them: a warp takes every 8th row.
template<typename T, typename T4>
static DEVICE_INLINE void load_level1(T4 dst[ROWS_PER_WARP], const BLIINDSCUDAParams &p,
                                      int x0, int y0)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;

    BLIINDS_UNROLL
    for (int i = 0; i < ROWS_PER_WARP; i++)
        if (lane < W1 / 4 && warp + i * NB_WARPS < H1)
            dst[i] = load_word<T, T4>(p, x0 + 4 * lane, y0 + warp + i * NB_WARPS);
}

template<typename T4>
static DEVICE_INLINE void store_level1(Tile &t, const T4 src[ROWS_PER_WARP],
                                       const BLIINDSCUDAParams &p)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;

    BLIINDS_UNROLL
    for (int i = 0; i < ROWS_PER_WARP; i++) {
        int row = warp + i * NB_WARPS;

        if (lane < W1 / 4 && row < H1) {
            float4 v = { ((int)(src[i].x >> p.down) - p.black) * p.scale,
                         ((int)(src[i].y >> p.down) - p.black) * p.scale,
                         ((int)(src[i].z >> p.down) - p.black) * p.scale,
                         ((int)(src[i].w >> p.down) - p.black) * p.scale };

            *(float4 *)&t.level1[row][4 * lane] = v;
        }
    }
}

/// Level 2 of a tile whose first sample of level 1 is (x0, y0).
static DEVICE_INLINE void make_level2(Tile &t, const BLIINDSCUDALevel &level,
                                          int x0, int y0)
{
    int32_t v[PER_THREAD2];

    // two threads walk down a column, one half each
    if (threadIdx.x < 2 * W1) {
        const int half = threadIdx.x / W1, x = threadIdx.x % W1;
        const int first = half * ((H2 + 1) / 2);
        int32_t above = to_level_sample(t.level1[2 * first][x]);

        BLIINDS_UNROLL
        for (int i = 0; i < (H2 + 1) / 2; i++) {
            const int y = first + i;

            if (y < H2) {
                int32_t below = to_level_sample(t.level1[2 * y + 2][x]);

                t.column2[y][x] = bliinds_lowpass(above, to_level_sample(t.level1[2 * y + 1][x]),
                                                  below);
                above = below;
            }
        }
    }
    __syncthreads();
    BLIINDS_UNROLL
    for (int n = 0; n < PER_THREAD2; n++) {
        int i = threadIdx.x + n * BLIINDS_TILE_THREADS;
        int y = i / W2, x = i % W2;
        int left = x0 / 2 + x, top = y0 / 2 + y;

        v[n] = 0;
        if (y < H2 && left >= 0 && left < level.w && top >= 0 && top < level.h)
            v[n] = bliinds_lowpass(t.column2[y][2 * x], t.column2[y][2 * x + 1],
                                   t.column2[y][2 * x + 2]);
    }
    __syncthreads();
    BLIINDS_UNROLL
    for (int n = 0; n < PER_THREAD2; n++) {
        int i = threadIdx.x + n * BLIINDS_TILE_THREADS;
        int y = i / W2, x = i % W2;

        if (y < H2) {
            t.level2.high[y][x] = bliinds_high(v[n]);
            t.level2.low[y][x]  = bliinds_low(v[n]);
        }
    }
    __syncthreads();
}

/// Level 3 of a tile whose first sample of level 2 is (x0, y0).
static DEVICE_INLINE void make_level3(Tile &t, const BLIINDSCUDALevel &level,
                                          int x0, int y0)
{
    int32_t v[PER_THREAD3];

    for (int i = threadIdx.x; i < H3 * W2; i += BLIINDS_TILE_THREADS) {
        int y = i / W2, x = i % W2;
        int32_t s[3];

        BLIINDS_UNROLL
        for (int j = 0; j < 3; j++)
            s[j] = join_parts(t.level2.high[2 * y + j][x], t.level2.low[2 * y + j][x]);
        t.column3[y][x] = bliinds_lowpass(s[0], s[1], s[2]);
    }
    __syncthreads();
    BLIINDS_UNROLL
    for (int n = 0; n < PER_THREAD3; n++) {
        int i = threadIdx.x + n * BLIINDS_TILE_THREADS;
        int y = i / W3, x = i % W3;
        int left = x0 / 2 + x, top = y0 / 2 + y;

        v[n] = 0;
        if (y < H3 && left >= 0 && left < level.w && top >= 0 && top < level.h)
            v[n] = bliinds_lowpass(t.column3[y][2 * x], t.column3[y][2 * x + 1],
                                   t.column3[y][2 * x + 2]);
    }
    __syncthreads();
    BLIINDS_UNROLL
    for (int n = 0; n < PER_THREAD3; n++) {
        int i = threadIdx.x + n * BLIINDS_TILE_THREADS;
        int y = i / W3, x = i % W3;

        if (y < H3) {
            t.level3.high[y][x] = bliinds_high(v[n]);
            t.level3.low[y][x]  = bliinds_low(v[n]);
        }
    }
    __syncthreads();
}

static DEVICE_INLINE uint32_t float_bits(float x)
{
    union { float f; uint32_t i; } u = { x };

    return u.i;
}

/**
 * Bin of a statistic that is not negative, growing with it: 0 for 0, else 64
 * bins an octave from 2^-5 to 2^3 with what is beyond in the first and last.
 */
#define BIN_SHIFT 17
static DEVICE_INLINE int statistic_bin(uint32_t bits)
{
    int bin = (int)(bits >> BIN_SHIFT) - ((127 - 5) << (23 - BIN_SHIFT));

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
    uint64_t energy[2];                 ///< level 1, clear of the grid and straddling
    uint64_t band[BLIINDS_LEVELS][3];
} ThreadSums;

#define NB_SUMS (2 + 3 * BLIINDS_LEVELS)

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

    level.statistic[BLIINDS_ZETA][i] = straddles ? -block.zeta : block.zeta;
    level.statistic[BLIINDS_SUB][i]  = straddles ? -block.sub  : block.sub;
    level.statistic[BLIINDS_ORI][i]  = straddles ? -block.ori  : block.ori;
    level.gamma[i] = gamma | straddles << 15;
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
        sums.band[LEVEL][b] += bliinds_fixed(block.band[b]);
}

/// Add to a sum in device memory.
static DEVICE_INLINE void add_sum(BLIINDSSum *dst, uint64_t whole, uint64_t fraction)
{
    atomic_add64(&dst->whole, whole);
    atomic_add64(&dst->fraction, fraction);
}

/**
 * Add the threads' sums to those in device memory, by way of shared memory
 * with room for them all: a warp takes one sum after the other.
 */
static DEVICE_INLINE void flush_sums(const BLIINDSCUDAParams &p, const ThreadSums &sums,
                                     uint64_t shared[NB_SUMS][BLIINDS_TILE_THREADS])
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    BLIINDSCUDASums *dst = p.state->result.sums;

    BLIINDS_UNROLL
    for (int c = 0; c < 2; c++)
        shared[c][threadIdx.x] = sums.energy[c];
    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_LEVELS * 3; i++)
        shared[2 + i][threadIdx.x] = sums.band[i / 3][i % 3];
    __syncthreads();

    for (int i = warp; i < NB_SUMS; i += NB_WARPS) {
        uint64_t whole = 0, fraction = 0;

        for (int j = lane; j < BLIINDS_TILE_THREADS; j += WARP_SIZE) {
            whole    += shared[i][j] >> 32;
            fraction += (uint32_t)shared[i][j];
        }
        whole    = warp_sum(whole);
        fraction = warp_sum(fraction);
        if (lane == 0)
            add_sum(i < 2 ? &dst[0].energy[i] : &dst[(i - 2) / 3].band[(i - 2) % 3],
                    whole, fraction);
    }
}

template<typename T, typename T4>
static DEVICE_INLINE void level_blocks(const BLIINDSCUDAParams &p)
{
    __shared__ union {
        Tile t;
        uint64_t sums[NB_SUMS][BLIINDS_TILE_THREADS];
    } s;
    __shared__ unsigned count[BLIINDS_LEVELS][BLIINDS_NB_POOLED][BLIINDS_BINS];
    const int tid = threadIdx.x;
    unsigned *counts = &count[0][0][0], *total = &p.state->count[0][0][0];
    ThreadSums sums = { { 0 } };
    T4 word[ROWS_PER_WARP];
    int tile = blockIdx.x, tx = tile % p.nb_tiles_x, ty = tile / p.nb_tiles_x;

    load_level1<T, T4>(word, p, tx * TILE_SAMPLES_X - HALO1, ty * TILE_SAMPLES_Y - HALO1);
    for (int i = tid; i < BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS; i += BLIINDS_TILE_THREADS)
        counts[i] = 0;

    while (tile < p.nb_tiles) {
        const int x0 = tx * TILE_SAMPLES_X - HALO1, y0 = ty * TILE_SAMPLES_Y - HALO1;
        const int this_tx = tx, this_ty = ty;

        __syncthreads();
        store_level1(s.t, word, p);
        __syncthreads();

        // the next tile's samples come while this one's blocks are worked on
        tile += gridDim.x;
        tx = tile % p.nb_tiles_x;
        ty = tile / p.nb_tiles_x;
        if (tile < p.nb_tiles)
            load_level1<T, T4>(word, p, tx * TILE_SAMPLES_X - HALO1, ty * TILE_SAMPLES_Y - HALO1);

        make_level2(s.t, p.level[1], x0, y0);
        make_level3(s.t, p.level[2], x0 / 2, y0 / 2);

        tile_block<0, W1, HALO1>(p, count[0], sums, &s.t.level1[0][0], 0,
                                 this_tx, this_ty, tid);
        if (tid < BLIINDS_TILE_THREADS / 4)
            tile_block<1, S2, HALO2>(p, count[1], sums, &s.t.level2.high[0][0],
                                     &s.t.level2.low[0][0], this_tx, this_ty, tid);
        else if (tid < BLIINDS_TILE_THREADS / 4 + BLIINDS_TILE_THREADS / 16)
            tile_block<2, S3, HALO3>(p, count[2], sums, &s.t.level3.high[0][0],
                                     &s.t.level3.low[0][0], this_tx, this_ty,
                                     tid - BLIINDS_TILE_THREADS / 4);
    }
    __syncthreads();

    for (int i = tid; i < BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS; i += BLIINDS_TILE_THREADS)
        if (counts[i])
            atomic_add(&total[i], counts[i]);
    flush_sums(p, sums, s.sums);
}

/// Bins in the order of quality, the worst first.
static DEVICE_INLINE int bin_of_rank(int rank, int pooled)
{
    return pooled == BLIINDS_GAMMA ? rank : BLIINDS_BINS - 1 - rank;
}

#define POOL_WARPS (BLIINDS_POOL_THREADS / WARP_SIZE)
#define LIST_SIZE  (2 * BLIINDS_POOL_CHUNK)     ///< of a list in shared memory

/**
 * Find where a sum of counts, taken from the last one down, reaches k.
 *
 * @param found set to the index, and to how many of its count are needed
 */
static DEVICE_INLINE void find_count(int found[2], unsigned warp_total[],
                                         const unsigned *count, int pooled, unsigned k)
{
    const int tid = threadIdx.x, lane = tid % WARP_SIZE, warp = tid / WARP_SIZE;
    unsigned c0 = count[bin_of_rank(2 * tid,     pooled)];
    unsigned c1 = count[bin_of_rank(2 * tid + 1, pooled)];
    unsigned end = warp_scan(c0 + c1, lane), begin;

    if (lane == WARP_SIZE - 1)
        warp_total[warp] = end;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        end += warp_total[i];
    begin = end - c0 - c1;
    if (begin < k && begin + c0 >= k) {
        found[0] = bin_of_rank(2 * tid, pooled);
        found[1] = k - begin;
    } else if (begin + c0 < k && end >= k) {
        found[0] = bin_of_rank(2 * tid + 1, pooled);
        found[1] = k - begin - c0;
    }
    __syncthreads();
}

/// What a thread block shares while it pools.
typedef struct Pool {
    unsigned count[BLIINDS_BINS];       ///< of a digit
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

/// Sums of one of a level's statistics over a chunk of blocks.
static DEVICE_INLINE void pool_statistic(Pool &s, const BLIINDSCUDAParams &p,
                                         int l, int statistic, int start, int n)
{
    const float *value = p.level[l].statistic[statistic] + start;
    BLIINDSCUDAPooled *pooled = &p.state->result.pooled[l][statistic];
    const int tid = threadIdx.x, bin = s.threshold[0];
    uint64_t sum[2] = { 0, 0 }, worst = 0;
    float v[BLIINDS_POOL_EACH];

    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_POOL_EACH; i++)
        v[i] = tid + i * BLIINDS_POOL_THREADS < n ? value[tid + i * BLIINDS_POOL_THREADS] : -0.f;
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
        add_sum(tid < 2 ? &pooled->grid[tid] : &pooled->worst, sum[0] >> 32, (uint32_t)sum[0]);
    if (tid == WARP_SIZE && s.nb_listed)
        s.first_listed = atomic_add(&p.state->nb_listed[l][statistic], s.nb_listed);
    __syncthreads();
    for (int i = tid; i < s.nb_listed; i += BLIINDS_POOL_THREADS)
        p.level[l].list[statistic][s.first_listed + i] = s.list[i];
}

/// The same for gamma, whose bins hold few shapes: no list is needed.
static DEVICE_INLINE void pool_gamma(Pool &s, const BLIINDSCUDAParams &p,
                                     int l, int start, int n)
{
    const uint16_t *value = p.level[l].gamma + start;
    BLIINDSCUDAPooled *pooled = &p.state->result.pooled[l][BLIINDS_GAMMA];
    const int tid = threadIdx.x, bin = s.threshold[0];
    // number of blocks in the upper, sum of values in the lower half
    uint64_t sum[2] = { 0, 0 }, worst = 0;
    int v[BLIINDS_POOL_EACH];

    if (tid < BLIINDS_GAMMA_FINE)
        s.count[tid] = 0;
    BLIINDS_UNROLL
    for (int i = 0; i < BLIINDS_POOL_EACH; i++)
        v[i] = tid + i * BLIINDS_POOL_THREADS < n ? value[tid + i * BLIINDS_POOL_THREADS] : -1;
    __syncthreads();
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
        add_sum(&pooled->grid[tid], sum[0] >> 32, (uint32_t)sum[0]);
    else if (tid == 2)
        add_sum(&pooled->worst, (uint32_t)sum[0], sum[0] >> 32);
    if (tid < BLIINDS_GAMMA_FINE && s.count[tid])
        atomic_add(&p.state->gamma_fine[l][tid], s.count[tid]);
}

/**
 * Sum of the need largest of n listed values, for the third thread to add.
 * They share the upper bits but where the bin is one of the two open ones.
 */
static DEVICE_INLINE uint64_t sum_largest(Pool &s, const float *list, int n,
                                          unsigned need, bool open)
{
    const int tid = threadIdx.x;
    uint32_t prefix = float_bits(list[0]) >> BIN_SHIFT << BIN_SHIFT;
    uint32_t mask   = ~0u << BIN_SHIFT;
    uint64_t sum = 0;
    union { uint32_t i; float f; } threshold;

    if (open)
        prefix = mask = 0;
    for (int shift = open ? 24 : 8; shift >= 0; shift -= 8) {
        // 9 bits where 17 are left, else 8
        const uint32_t digit = shift == 8 && !open ? 0x1ff : 0xff;

        for (int i = tid; i < BLIINDS_BINS; i += BLIINDS_POOL_THREADS)
            s.count[i] = 0;
        __syncthreads();
        for (int i = tid; i < n; i += BLIINDS_POOL_THREADS) {
            uint32_t v = float_bits(list[i]);

            if ((v & mask) == prefix)
                atomic_add(&s.count[v >> shift & digit], 1);
        }
        __syncthreads();
        find_count(s.threshold, s.warp_total, s.count, BLIINDS_ZETA, need);
        prefix |= (uint32_t)s.threshold[0] << shift;
        mask   |= digit << shift;
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
static DEVICE_INLINE uint64_t finish_statistic(Pool &s, const BLIINDSCUDAParams &p,
                                               int l, int statistic)
{
    const int tid = threadIdx.x, bin = s.threshold[0], need = s.threshold[1];
    const int n = load_relaxed(&p.state->nb_listed[l][statistic]);
    const float *list = p.level[l].list[statistic];

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
static DEVICE_INLINE uint64_t finish_gamma(Pool &s, const BLIINDSCUDAParams &p, int l)
{
    const int tid = threadIdx.x;
    unsigned count, before, take;

    if (tid >= WARP_SIZE)
        return 0;
    count  = load_relaxed(&p.state->gamma_fine[l][tid]);
    before = warp_scan(count, tid) - count;
    take   = before < s.threshold[1] ? s.threshold[1] - before : 0;
    take   = take < count ? take : count;
    p.state->gamma_fine[l][tid] = 0;
    // the third thread is to add the sum
    return broadcast(warp_sum((uint64_t)take *
                     bliinds_gamma_value(s.threshold[0] * BLIINDS_GAMMA_FINE + tid)));
}

/// Move 64-bit words from the state to the result, a thread each.
static DEVICE_INLINE void move_words(void *dst, void *src, int i)
{
    ((uint64_t *)dst)[i] = load_relaxed((uint64_t *)src + i);
    ((uint64_t *)src)[i] = 0;
}

extern "C" {

__global__ void __launch_bounds__(BLIINDS_TILE_THREADS, BLIINDS_TILES_PER_SM)
bliinds_blocks_8(BLIINDSCUDAParams p)
{
    level_blocks<uint8_t, uchar4>(p);
}

__global__ void __launch_bounds__(BLIINDS_TILE_THREADS, BLIINDS_TILES_PER_SM)
bliinds_blocks_16(BLIINDSCUDAParams p)
{
    level_blocks<uint16_t, ushort4>(p);
}

/**
 * Sums over all blocks, and over the worst 10 % of them, to the result.
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
    const int tid = threadIdx.x, pooled = blockIdx.x % BLIINDS_NB_POOLED;
    int chunk = blockIdx.x / BLIINDS_NB_POOLED, l = 0, n, nb_chunks, start;
    BLIINDSCUDAPooled *state;
    unsigned *count;
    uint64_t rest;

    for (;; l++) {
        n = p.level[l].bw * p.level[l].bh;
        nb_chunks = (n + BLIINDS_POOL_CHUNK - 1) / BLIINDS_POOL_CHUNK;
        if (chunk < nb_chunks)
            break;
        chunk -= nb_chunks;
    }
    start = chunk * BLIINDS_POOL_CHUNK;
    count = p.state->count[l][pooled];

    if (tid == 0)
        s.nb_listed = 0;
    find_count(s.threshold, s.warp_total, count, pooled, bliinds_nb_worst(n));

    if (pooled == BLIINDS_GAMMA)
        pool_gamma(s, p, l, start, n - start);
    else
        pool_statistic(s, p, l, pooled, start, n - start);

    __syncthreads();
    if (tid == 0) {
        fence_device();
        s.is_last = atomic_add(&p.state->nb_done[l][pooled], 1) == nb_chunks - 1;
        fence_device();
    }
    __syncthreads();
    if (!s.is_last)
        return;

    rest = pooled == BLIINDS_GAMMA ? finish_gamma(s, p, l) : finish_statistic(s, p, l, pooled);
    state = &p.state->result.pooled[l][pooled];
    if (tid == 2) {
        state->worst.whole    = load_relaxed(&state->worst.whole) +
                                (pooled == BLIINDS_GAMMA ? rest : rest >> 32);
        state->worst.fraction = load_relaxed(&state->worst.fraction) +
                                (pooled == BLIINDS_GAMMA ? 0 : (uint32_t)rest);
    }
    __syncthreads();
    if (tid < sizeof(*state) / sizeof(uint64_t))
        move_words(&p.result->pooled[l][pooled], state, tid);
    if (pooled == BLIINDS_GAMMA && tid < sizeof(BLIINDSCUDASums) / sizeof(uint64_t))
        move_words(&p.result->sums[l], &p.state->result.sums[l], tid);
    for (int i = tid; i < BLIINDS_BINS; i += BLIINDS_POOL_THREADS)
        count[i] = 0;
    if (tid == 0) {
        p.state->nb_done[l][pooled] = 0;
        if (pooled != BLIINDS_GAMMA)
            p.state->nb_listed[l][pooled] = 0;
    }
}

}
