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

/// Samples of levels 2 and 3 that a thread makes.
#define PER_THREAD2 ((W2 * H2 + BLIINDS_TILE_THREADS - 1) / BLIINDS_TILE_THREADS)
#define PER_THREAD3 ((W3 * H3 + BLIINDS_TILE_THREADS - 1) / BLIINDS_TILE_THREADS)

typedef struct Tile {
    float level1[H1][W1];
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

/// Load four samples with one access where they are aligned and inside.
template<typename T, typename T4>
static DEVICE_INLINE void load_level1(float dst[H1][W1], const BLIINDSCUDAParams &p,
                                          int x0, int y0)
{
    const int w = p.level[0].w, h = p.level[0].h;

    for (int i = threadIdx.x; i < H1 * (W1 / 4); i += BLIINDS_TILE_THREADS) {
        int row = i / (W1 / 4), col = i % (W1 / 4) * 4;
        int x = x0 + col, y = y0 + row;
        const uint8_t *line = p.src + (int64_t)y * p.pitch;
        const T *src = (const T *)line + x;
        float v[4] = { 0.f, 0.f, 0.f, 0.f };

        if (y >= 0 && y < h) {
            if (x >= 0 && x + 3 < w && !((uintptr_t)src % sizeof(T4))) {
                T4 s = *(const T4 *)src;

                v[0] = (int)(s.x >> p.down) - p.black;
                v[1] = (int)(s.y >> p.down) - p.black;
                v[2] = (int)(s.z >> p.down) - p.black;
                v[3] = (int)(s.w >> p.down) - p.black;
            } else {
                BLIINDS_UNROLL
                for (int j = 0; j < 4; j++)
                    if (x + j >= 0 && x + j < w)
                        v[j] = (int)(src[j] >> p.down) - p.black;
            }
        }
        BLIINDS_UNROLL
        for (int j = 0; j < 4; j++)
            dst[row][col + j] = v[j] * p.scale;
    }
}

/// Level 2 of a tile whose first sample of level 1 is (x0, y0).
static DEVICE_INLINE void make_level2(Tile &t, const BLIINDSCUDALevel &level,
                                          int x0, int y0)
{
    int32_t v[PER_THREAD2];

    for (int i = threadIdx.x; i < H2 * W1; i += BLIINDS_TILE_THREADS) {
        int y = i / W1, x = i % W1;

        t.column2[y][x] = bliinds_lowpass(to_level_sample(t.level1[2 * y][x]),
                                          to_level_sample(t.level1[2 * y + 1][x]),
                                          to_level_sample(t.level1[2 * y + 2][x]));
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

/// Add a value of each thread to a sum in device memory.
static DEVICE_INLINE void add_sum(BLIINDSSum *dst, uint64_t value)
{
    uint64_t whole    = warp_sum(value >> 32);
    uint64_t fraction = warp_sum((uint32_t)value);

    if (threadIdx.x % WARP_SIZE == 0) {
        atomic_add64(&dst->whole, whole);
        atomic_add64(&dst->fraction, fraction);
    }
}

template<typename T, typename T4>
static DEVICE_INLINE void level_blocks(const BLIINDSCUDAParams &p)
{
    __shared__ Tile t;
    __shared__ unsigned count[BLIINDS_LEVELS][BLIINDS_NB_POOLED][BLIINDS_BINS];
    const int tid = threadIdx.x;
    ThreadSums sums = { { 0 } };
    unsigned *counts = &count[0][0][0], *total = &p.state->count[0][0][0];

    for (int i = tid; i < BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS; i += BLIINDS_TILE_THREADS)
        counts[i] = 0;

    for (int tile = blockIdx.x; tile < p.nb_tiles; tile += gridDim.x) {
        const int tx = tile % p.nb_tiles_x, ty = tile / p.nb_tiles_x;
        const int x0 = tx * TILE_SAMPLES_X - HALO1, y0 = ty * TILE_SAMPLES_Y - HALO1;

        __syncthreads();
        load_level1<T, T4>(t.level1, p, x0, y0);
        __syncthreads();
        make_level2(t, p.level[1], x0, y0);
        make_level3(t, p.level[2], x0 / 2, y0 / 2);

        tile_block<0, W1, HALO1>(p, count[0], sums, &t.level1[0][0], 0, tx, ty, tid);
        if (tid < BLIINDS_TILE_THREADS / 4)
            tile_block<1, S2, HALO2>(p, count[1], sums, &t.level2.high[0][0],
                                     &t.level2.low[0][0], tx, ty, tid);
        else if (tid < BLIINDS_TILE_THREADS / 4 + BLIINDS_TILE_THREADS / 16)
            tile_block<2, S3, HALO3>(p, count[2], sums, &t.level3.high[0][0],
                                     &t.level3.low[0][0], tx, ty,
                                     tid - BLIINDS_TILE_THREADS / 4);
    }
    __syncthreads();

    for (int i = tid; i < BLIINDS_LEVELS * BLIINDS_NB_POOLED * BLIINDS_BINS; i += BLIINDS_TILE_THREADS)
        if (counts[i])
            atomic_add(&total[i], counts[i]);
    BLIINDS_UNROLL
    for (int c = 0; c < 2; c++)
        add_sum(&p.state->sums[0].grid[c].energy, sums.energy[c]);
    BLIINDS_UNROLL
    for (int i = 0; i < 3; i++) {
        add_sum(&p.state->sums[0].band[i], sums.band[0][i]);
        if (tid < BLIINDS_TILE_THREADS / 4)
            add_sum(&p.state->sums[1].band[i], sums.band[1][i]);
        else if (tid < BLIINDS_TILE_THREADS / 4 + WARP_SIZE)
            add_sum(&p.state->sums[2].band[i], sums.band[2][i]);
    }
}

/// Bins in the order of quality, the worst first.
static DEVICE_INLINE int bin_of_rank(int rank, int pooled)
{
    return pooled == BLIINDS_GAMMA ? rank : BLIINDS_BINS - 1 - rank;
}

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
    unsigned warp_total[BLIINDS_POOL_THREADS / WARP_SIZE];
    int threshold[2];                   ///< bin, and how many of it are needed
    unsigned nb_listed, first_listed;
    bool is_last;
    float list[BLIINDS_POOL_CHUNK];
} Pool;

/**
 * Add the need largest of n listed values to dst, by the thread block. They
 * share the upper bits but where the bin is one of the two that are open.
 */
static DEVICE_INLINE void add_largest(BLIINDSSum *dst, Pool &s, const float *list,
                                          int n, unsigned need, bool open)
{
    const int tid = threadIdx.x;
    uint32_t prefix = float_bits(list[0]) >> BIN_SHIFT << BIN_SHIFT;
    uint32_t mask   = ~0u << BIN_SHIFT;
    uint64_t sum = 0;

    if (open)
        prefix = mask = 0;
    for (int shift = open ? 24 : 8; shift >= 0; shift -= 8) {
        // the digits are 24 (7 bits), 16, 8 (9 bits where 17 are left) and 0
        const int bits = shift == 8 && !open ? 9 : 8;
        const uint32_t digit = (1 << bits) - 1;

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
        __syncthreads();
    }

    for (int i = tid; i < n; i += BLIINDS_POOL_THREADS)
        if (float_bits(list[i]) > prefix)
            sum += bliinds_fixed(list[i]);
    add_sum(dst, sum);
    if (tid == 0) {
        union { uint32_t i; float f; } u = { prefix };
        uint64_t fixed = bliinds_fixed(u.f);

        atomic_add64(&dst->whole,    need * (fixed >> 32));
        atomic_add64(&dst->fraction, need * (uint64_t)(uint32_t)fixed);
    }
}

/// Move a sum out of the state.
static DEVICE_INLINE uint64_t take(uint64_t *src)
{
    uint64_t value = *(volatile uint64_t *)src;

    *src = 0;
    return value;
}

static DEVICE_INLINE void take_sum(BLIINDSSum *dst, BLIINDSSum *src)
{
    dst->whole    = take(&src->whole);
    dst->fraction = take(&src->fraction);
}

/// Sums of one of a level's statistics over a chunk of blocks.
static DEVICE_INLINE void pool_statistic(Pool &s, const BLIINDSCUDAParams &p,
                                             int l, int statistic, int start, int end)
{
    const float *value = p.level[l].statistic[statistic];
    BLIINDSLevelSums *sums = &p.state->sums[l];
    const int bin = s.threshold[0];
    uint64_t sum[2] = { 0, 0 }, worst = 0;

    for (int i = start + threadIdx.x; i < end; i += BLIINDS_POOL_THREADS) {
        float v = value[i];
        bool straddles = float_bits(v) >> 31;
        float x = fabsf(v);
        uint64_t fixed = bliinds_fixed(x);
        int b = statistic_bin(float_bits(x));

        sum[0] += straddles ? 0 : fixed;
        sum[1] += straddles ? fixed : 0;
        if (b > bin)
            worst += fixed;
        else if (b == bin && bin > 0)
            s.list[atomic_add(&s.nb_listed, 1)] = x;
    }
    add_sum(&sums->grid[0].statistic[statistic], sum[0]);
    add_sum(&sums->grid[1].statistic[statistic], sum[1]);
    add_sum(&sums->worst[statistic], worst);

    __syncthreads();
    if (threadIdx.x == 0 && s.nb_listed)
        s.first_listed = atomic_add(&p.state->nb_listed[l][statistic], s.nb_listed);
    __syncthreads();
    for (int i = threadIdx.x; i < s.nb_listed; i += BLIINDS_POOL_THREADS)
        p.level[l].list[statistic][s.first_listed + i] = s.list[i];
}

/// The rest once all chunks are pooled: what of the threshold's bin is needed.
static DEVICE_INLINE void finish_statistic(Pool &s, const BLIINDSCUDAParams &p,
                                               int l, int statistic)
{
    const int bin = s.threshold[0], need = s.threshold[1];
    const int n = *(volatile uint32_t *)&p.state->nb_listed[l][statistic];
    BLIINDSLevelSums *sums = &p.state->sums[l], *result = &p.result[l];
    const float *list = p.level[l].list[statistic];

    __syncthreads();
    if (bin > 0) {
        if (n <= BLIINDS_POOL_CHUNK) {
            for (int i = threadIdx.x; i < n; i += BLIINDS_POOL_THREADS)
                s.list[i] = ((const volatile float *)list)[i];
            list = s.list;
            __syncthreads();
        }
        add_largest(&sums->worst[statistic], s, list, n, need,
                    bin == 1 || bin == BLIINDS_BINS - 1);
        fence_device();
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        for (int c = 0; c < 2; c++)
            take_sum(&result->grid[c].statistic[statistic], &sums->grid[c].statistic[statistic]);
        take_sum(&result->worst[statistic], &sums->worst[statistic]);
        p.state->nb_listed[l][statistic] = 0;
    }
}

/// The same for gamma, whose bins hold few shapes: no list is needed.
static DEVICE_INLINE void pool_gamma(Pool &s, const BLIINDSCUDAParams &p,
                                         int l, int start, int end)
{
    const uint16_t *value = p.level[l].gamma;
    BLIINDSLevelSums *sums = &p.state->sums[l];
    const int bin = s.threshold[0];
    // values in the lower, numbers of blocks in the upper half
    uint64_t sum[2] = { 0, 0 }, worst = 0, flat = 0;

    for (int i = threadIdx.x; i < BLIINDS_GAMMA_FINE; i += BLIINDS_POOL_THREADS)
        s.count[i] = 0;
    __syncthreads();
    for (int i = start + threadIdx.x; i < end; i += BLIINDS_POOL_THREADS) {
        int v = value[i], straddles = v >> 15, index = v & 0x7fff;
        int shape = bliinds_gamma_value(index);
        uint64_t one = (1ULL << 32) + shape;

        sum[0] += straddles ? 0 : one;
        sum[1] += straddles ? one : 0;
        flat   += index == BLIINDS_GAMMA_NONE;
        if (gamma_bin(index) < bin)
            worst += shape;
        else if (gamma_bin(index) == bin)
            atomic_add(&s.count[index % BLIINDS_GAMMA_FINE], 1);
    }
    BLIINDS_UNROLL
    for (int c = 0; c < 2; c++) {
        uint64_t all = warp_sum(sum[c]);

        if (threadIdx.x % WARP_SIZE == 0) {
            atomic_add64(&sums->grid[c].nb_blocks, all >> 32);
            atomic_add64(&sums->grid[c].gamma, (uint32_t)all);
        }
    }
    worst = warp_sum(worst);
    flat  = warp_sum(flat);
    if (threadIdx.x % WARP_SIZE == 0) {
        atomic_add64(&sums->worst_gamma, worst);
        atomic_add64(&sums->nb_flat, flat);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < BLIINDS_GAMMA_FINE; i += BLIINDS_POOL_THREADS)
        if (s.count[i])
            atomic_add(&p.state->gamma_fine[l][i], s.count[i]);
}

static DEVICE_INLINE void finish_gamma(Pool &s, const BLIINDSCUDAParams &p, int l)
{
    BLIINDSLevelSums *sums = &p.state->sums[l], *result = &p.result[l];

    if (threadIdx.x == 0) {
        uint64_t worst = take(&sums->worst_gamma);
        unsigned need = s.threshold[1];

        for (int i = 0; i < BLIINDS_GAMMA_FINE; i++) {
            unsigned n = *(volatile uint32_t *)&p.state->gamma_fine[l][i];
            int shape  = bliinds_gamma_value(s.threshold[0] * BLIINDS_GAMMA_FINE + i);

            n = n < need ? n : need;
            worst += (uint64_t)n * shape;
            need  -= n;
            p.state->gamma_fine[l][i] = 0;
        }
        result->worst_gamma = worst;
        result->nb_flat     = take(&sums->nb_flat);
        for (int c = 0; c < 2; c++) {
            result->grid[c].nb_blocks = take(&sums->grid[c].nb_blocks);
            result->grid[c].gamma     = take(&sums->grid[c].gamma);
            take_sum(&result->grid[c].energy, &sums->grid[c].energy);
        }
        for (int i = 0; i < 3; i++)
            take_sum(&result->band[i], &sums->band[i]);
    }
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
    const int pooled = blockIdx.x % BLIINDS_NB_POOLED;
    int chunk = blockIdx.x / BLIINDS_NB_POOLED, l = 0, n, nb_chunks, start, end;
    unsigned *count;

    for (;; l++) {
        n = p.level[l].bw * p.level[l].bh;
        nb_chunks = (n + BLIINDS_POOL_CHUNK - 1) / BLIINDS_POOL_CHUNK;
        if (chunk < nb_chunks)
            break;
        chunk -= nb_chunks;
    }
    start = chunk * BLIINDS_POOL_CHUNK;
    end   = start + BLIINDS_POOL_CHUNK < n ? start + BLIINDS_POOL_CHUNK : n;
    count = p.state->count[l][pooled];

    if (threadIdx.x == 0)
        s.nb_listed = 0;
    find_count(s.threshold, s.warp_total, count, pooled, bliinds_nb_worst(n));

    if (pooled == BLIINDS_GAMMA)
        pool_gamma(s, p, l, start, end);
    else
        pool_statistic(s, p, l, pooled, start, end);

    fence_device();
    __syncthreads();
    if (threadIdx.x == 0)
        s.is_last = atomic_add(&p.state->nb_done[l][pooled], 1) == nb_chunks - 1;
    __syncthreads();
    if (!s.is_last)
        return;
    fence_device();

    if (pooled == BLIINDS_GAMMA)
        finish_gamma(s, p, l);
    else
        finish_statistic(s, p, l, pooled);
    for (int i = threadIdx.x; i < BLIINDS_BINS; i += BLIINDS_POOL_THREADS)
        count[i] = 0;
    if (threadIdx.x == 0) {
        p.state->nb_done[l][pooled] = 0;
        fence_system();
    }
}

}
