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
 * CUDA kernels of BLIINDS: levels, block DCT and statistics, motion and percentile pooling of a
 * batch of frames. bliinds_block.h has the arithmetic, vf_bliinds.c the method.
 *
 * Data flow: a tile kernel (bliinds_blocks_* or bliinds_bands_*) reads luma, computes the blocks of
 * all three levels, and adds their band energies to BLIINDSCUDAState. bliinds_blocks_* also stores
 * the statistics of each block and histograms of them. bliinds_motion compares level 3 with the
 * previous frame. bliinds_pool sums the statistics over all blocks, and over those beyond the
 * histogram bin that contains the 10 % threshold; it lists the values in that bin. bliinds_pool10
 * selects the largest of these. The last kernel moves the sums to the result and clears the state.
 * All sums are integers, so that the order of the atomic additions does not matter.
 */

#include "cuda/kernel.cuh"
#include "vf_bliinds_cuda.h"

/**
 * @name Tile kernels: bliinds_blocks_8, _16 and bliinds_bands_8, _16
 *
 * Grid: (thread blocks per frame, frames). Block: BLIINDS_TILE_THREADS = 384 threads, 12 warps.
 *
 * A tile covers 96x48 luma samples: 32x16 blocks of level 1, 16x8 of level 2 and 8x4 of level 3. A
 * thread block processes tiles blockIdx.x, blockIdx.x + gridDim.x, ..., rotated by frame. It loads
 * the samples of a tile and its halo into shared memory, computes level 2 from them, and then works
 * in two passes:
 *
 * - 8 warps compute a row of 32 blocks of level 1 per pass, one block per thread.
 * - 4 warps, the coarse ones, compute levels 2 and 3. In pass 0 the first of them computes 32
 *   blocks of level 2, and the other three compute the level 3 samples, also stored in global
 *   memory as motion samples. In pass 1 the first computes the 32 blocks of level 3, and the other
 *   three compute the remaining 96 blocks of level 2.
 *
 * Shared memory: the tile at three levels (Tile), reused for the reduction of the sums; for
 * bliinds_blocks_* also the histograms, kept over all tiles of a thread block. bliinds_bands_*
 * computes no statistics and no histograms (ALL = false).
 * @{
 */
#define NB_WARPS     (BLIINDS_TILE_THREADS / WARP_SIZE)
#define COARSE_WARPS 4
#define LEVEL1_WARPS (NB_WARPS - COARSE_WARPS)

/// Number of passes: each warp of level 1 computes one row of blocks per pass.
#define NB_PASSES (BLIINDS_TILE_H / LEVEL1_WARPS)

#define TILE_SAMPLES_X (BLIINDS_STEP * BLIINDS_TILE_W)
#define TILE_SAMPLES_Y (BLIINDS_STEP * BLIINDS_TILE_H)

/// @name Size in samples of each level of a tile with its halo, which begins HALO samples before it
/// @{
#define HALO1 4
#define W1 (TILE_SAMPLES_X + 12)                ///< 107 needed; a multiple of 4 for vector loads
#define H1 (TILE_SAMPLES_Y + 12)                ///< 59 needed; a multiple of NB_WARPS
#define HALO2 2
#define W2 (2 * WARP_SIZE)                      ///< 53 needed; surplus lanes store, too
#define H2 (TILE_SAMPLES_Y / 2 + 6)             ///< 29 needed; a multiple of NB_WARPS / 2
#define HALO3 1
#define W3 (WARP_SIZE + 4)                      ///< 26 needed; 36 limits bank conflicts to 2-way
#define H3 (TILE_SAMPLES_Y / 4 + 2)
/// @}

/// Number of rows of level 1 that a warp loads, at a distance of NB_WARPS.
#define ROWS1 (H1 / NB_WARPS)

/// Two warps side by side compute HALF2 columns each of ROWS2 rows of level 2.
#define HALF2 (TILE_SAMPLES_X / 4 + 3)
#define ROWS2 (H2 / (NB_WARPS / 2))

/// Number of rows of level 3 that each of three coarse warps computes; the last warp has fewer.
#define ROWS3 ((H3 + COARSE_WARPS - 2) / (COARSE_WARPS - 1))

/// Level 2 or 3 of a tile; samples are split into upper and lower bits, exact in single precision.
template<int W, int H> struct SplitLevel {
    float upper[H][W] __align__(8), lower[H][W] __align__(8);
};

/// Shared memory of a tile; T is the type of a luma sample.
template<typename T> struct Tile {
    T level1[H1 + 1][W1] __align__(8);          ///< stored samples; the last row is unused
    SplitLevel<W2, H2> level2;
    SplitLevel<W3, H3> level3;
};

/// Type of four adjacent stored samples.
template<typename T> struct Word;
template<> struct Word<uint8_t>  { typedef uint32_t type; };
template<> struct Word<uint16_t> { typedef uint64_t type; };

/// Return the data of a frame of the batch, given those of the first frame.
template<typename T>
static DEVICE_INLINE T *frame_data(const BLIINDSCUDAParams &p, T *first, int frame)
{
    return (T *)((uint8_t *)first + frame * p.frame_size);
}

/// Return the value of a stored sample; bits beyond the depth are masked.
template<typename T>
static DEVICE_INLINE int sample_value(const BLIINDSCUDAParams &p, T v)
{
    return sizeof(T) == 1 ? v : v >> p.down & p.mask;
}

/// Return black as a stored sample.
template<typename T>
static DEVICE_INLINE T stored_black(const BLIINDSCUDAParams &p, const BLIINDSCUDAFrame &frame)
{
    return frame.black << p.down;
}

/// Load four luma samples at (x, y); those outside of the frame are black.
template<typename T>
static DEVICE_INLINE typename Word<T>::type load_samples(const BLIINDSCUDAParams &p,
                                                         const uint8_t *src, T black,
                                                         int x, int y)
{
    typename Word<T>::type word = 0;

    UNROLL
    for (int i = 0; i < 4; i++) {
        bool inside = y >= 0 && y < p.level[0].h && x + i >= 0 && x + i < p.level[0].w;
        T v = inside ? ((const T *)src)[i] : black;

        word |= (typename Word<T>::type)v << (i * 8 * sizeof(T));
    }
    return word;
}

/// Registers of a lane for the samples of a tile: four samples of each row of its warp.
template<typename T> struct TileLoad {
    typename Word<T>::type word[ROWS1];
    const uint8_t *src;             ///< address of the first row
    int x, y;                       ///< position in the frame; may be outside
    bool word_aligned;              ///< no word crosses the frame edge; uniform in the thread block
};

/// Load the samples of a tile. If words cross the frame edge, store_level1() loads them instead.
template<typename T>
static DEVICE_INLINE void load_level1(TileLoad<T> &v, const BLIINDSCUDAParams &p,
                                      const BLIINDSCUDAFrame &frame, int tx, int ty)
{
    typedef typename Word<T>::type W;
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int left = tx * TILE_SAMPLES_X - HALO1, top = ty * TILE_SAMPLES_Y - HALO1;
    const int w = p.level[0].w, h = p.level[0].h;
    const W black = stored_black<T>(p, frame) * (~(W)0 / (T)~0);
    bool inside;

    v.x    = left + 4 * lane;
    v.y    = top + warp;
    v.src  = frame.src + (int64_t)v.y * frame.pitch + v.x * (int)sizeof(T);
    v.word_aligned = (w % 4 == 0 || left + W1 <= w) &&
                     !(((uintptr_t)frame.src | frame.pitch) % sizeof(W));
    inside = v.word_aligned && lane < W1 / 4 && (unsigned)v.x < w;
    UNROLL
    for (int i = 0; i < ROWS1; i++)
        v.word[i] = inside && (unsigned)(v.y + i * NB_WARPS) < h ?
                    *(const W *)(v.src + i * NB_WARPS * frame.pitch) : black;
}

/// Store the loaded samples of a tile in shared memory.
template<typename T>
static DEVICE_INLINE void store_level1(Tile<T> &t, const TileLoad<T> &v, const BLIINDSCUDAParams &p,
                                       const BLIINDSCUDAFrame &frame)
{
    typedef typename Word<T>::type W;
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    W *dst = (W *)&t.level1[warp][4 * lane];

    if (lane >= W1 / 4)
        return;
    if (v.word_aligned) {
        UNROLL
        for (int i = 0; i < ROWS1; i++)
            dst[i * NB_WARPS * (W1 / 4)] = v.word[i];
    } else {
#pragma unroll 1
        for (int r = 0; r < H1; r += NB_WARPS)
            dst[r * (W1 / 4)] = load_samples<T>(p, v.src + r * frame.pitch,
                                                stored_black<T>(p, frame), v.x, v.y + r);
    }
}

/**
 * Apply bliinds_lowpass() to three stored samples.
 *
 * Black is not subtracted: a constant offset changes only the mean of a block, which is not used.
 */
static DEVICE_INLINE int32_t lowpass_stored(const BLIINDSCUDAParams &p,
                                            uint8_t above, uint8_t middle, uint8_t below)
{
    // the factor 2^21 is applied last, so that 32 bits are enough
    const int shift = BLIINDS_TAP_BITS - BLIINDS_FRAC_BITS, round = 1 << (shift - 1);
    const unsigned tap_middle = (1 << BLIINDS_TAP_BITS) - 2 * BLIINDS_TAP_SIDE;

    return (tap_middle * middle + (BLIINDS_TAP_SIDE * (unsigned)(above + below) + round)) >> shift;
}

static DEVICE_INLINE int32_t lowpass_stored(const BLIINDSCUDAParams &p,
                                            uint16_t above, uint16_t middle, uint16_t below)
{
    return bliinds_lowpass(sample_value(p, above) << p.up, sample_value(p, middle) << p.up,
                           sample_value(p, below) << p.up);
}

/**
 * Apply bliinds_lowpass() along a row. Each lane holds two adjacent samples; the third is the first
 * sample of the next lane.
 */
static DEVICE_INLINE int32_t lowpass_row(int32_t first, int32_t second)
{
    return bliinds_lowpass(first, second, shuffle_down((unsigned)first, 1));
}

/**
 * Float so large that its last bit has the weight 2^-frac. Adding it converts between floats and
 * integers below 2^22 without a conversion instruction.
 */
#define STEPS(frac) (3.f * (1 << 22) / (1 << (frac)))
#define UPPER_FRAC (BLIINDS_FRAC_BITS - BLIINDS_LOWER_BITS)

/// Unit of the lower bits in a tile, in 8-bit steps.
#define LOWER_UNIT (1.f / (1 << BLIINDS_FRAC_BITS))

/// Store bliinds_upper_bits() of a sample, and bliinds_lower_bits() in units of LOWER_UNIT.
template<int W, int H>
static DEVICE_INLINE void store_sample(SplitLevel<W, H> &dst, int x, int y, int32_t v)
{
    dst.upper[y][x] = bliinds_from_bits(bliinds_bits(STEPS(UPPER_FRAC)) + (v >> BLIINDS_LOWER_BITS)) -
                      STEPS(UPPER_FRAC);
    dst.lower[y][x]  = v & ((1 << BLIINDS_LOWER_BITS) - 1);
}

/// Two adjacent samples of a row.
typedef struct SamplePair {
    int32_t first, second;
} SamplePair;

/// Return the sample that store_sample() has split.
static DEVICE_INLINE int32_t join_bits(float upper, float lower)
{
    // the bits of the addends cancel in the sum of both parts
    const float lower_addend = 1 << 23;
    const float upper_addend = STEPS(UPPER_FRAC) - 0x4b000000 * LOWER_UNIT;

    return (bliinds_bits(upper + upper_addend) << BLIINDS_LOWER_BITS) + bliinds_bits(lower + lower_addend);
}

/// Load two adjacent samples of level 2 or 3.
template<int W, int H>
static DEVICE_INLINE SamplePair load_pair(const SplitLevel<W, H> &src, int x, int y)
{
    const float2 upper = *(const float2 *)&src.upper[y][x], lower = *(const float2 *)&src.lower[y][x];
    const SamplePair ret = { join_bits(upper.x, lower.x), join_bits(upper.y, lower.y) };

    return ret;
}

/// Compute level 2 of a tile from level 1, by all warps.
template<typename T>
static DEVICE_INLINE void lowpass_level2(Tile<T> &t, const BLIINDSCUDAParams &p,
                                         int black, int tx, int ty)
{
    const int lane = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE;
    const int half = warp % 2, x = half * HALF2 + lane;
    // lanes from HALF2 on have no sample: they write to unused columns
    const int stored = lane < HALF2 ? x : HALF2 + half * (WARP_SIZE - HALF2) + lane;
    const int x1 = 2 * x < W1 - 1 ? 2 * x : W1 - 2;
    const int y0 = warp / 2 * ROWS2;
    const int left = tx * TILE_SAMPLES_X / 2 - HALO2, top = ty * TILE_SAMPLES_Y / 2 - HALO2;
    T src[2 * ROWS2 + 1][2];

    // all loads precede the stores; otherwise the compiler reloads after each store
    UNROLL
    for (int i = 0; i < 2 * ROWS2 + 1; i++) {
        src[i][0] = t.level1[2 * y0 + i][x1];
        src[i][1] = t.level1[2 * y0 + i][x1 + 1];
    }
    UNROLL
    for (int i = 0; i < ROWS2; i++) {
        const T *above = src[2 * i], *middle = src[2 * i + 1], *below = src[2 * i + 2];

        store_sample(t.level2, stored, y0 + i,
                     lowpass_row(lowpass_stored(p, above[0], middle[0], below[0]),
                                 lowpass_stored(p, above[1], middle[1], below[1])));
    }
    // samples outside of the frame are black
    if (left >= 0 && top >= 0 && left + W2 <= p.level[1].w && top + H2 <= p.level[1].h)
        return;
#pragma unroll 1
    for (int y = y0; y < y0 + ROWS2; y++)
        if ((unsigned)(left + x) >= p.level[1].w || (unsigned)(top + y) >= p.level[1].h)
            store_sample(t.level2, stored, y, black << p.up);
}

/// Compute level 3 of a tile from level 2, by the last three coarse warps, and its motion samples.
template<typename T>
static DEVICE_INLINE void lowpass_level3(Tile<T> &t, const BLIINDSCUDAParams &p,
                                         const BLIINDSCUDAFrame &frame, int tx, int ty)
{
    const int x = threadIdx.x % WARP_SIZE, warp = threadIdx.x / WARP_SIZE - LEVEL1_WARPS - 1;
    const int32_t black = frame.black << p.up;
    const int left = tx * TILE_SAMPLES_X / 4 - HALO3 + x;
    const int top  = ty * TILE_SAMPLES_Y / 4 - HALO3;
    const bool inside = left >= 0 && left < p.level[2].w;
    const bool owned  = inside && x >= HALO3 && x < HALO3 + TILE_SAMPLES_X / 4;
    const int y0 = warp * ROWS3, y1 = min(y0 + ROWS3, H3);
    SamplePair above = load_pair(t.level2, 2 * x, 2 * y0);

#pragma unroll 1
    for (int y = y0; y < y1; y++) {
        const SamplePair middle = load_pair(t.level2, 2 * x, 2 * y + 1);
        const SamplePair below  = load_pair(t.level2, 2 * x, 2 * y + 2);
        int32_t v = lowpass_row(bliinds_lowpass(above.first,  middle.first,  below.first),
                                bliinds_lowpass(above.second, middle.second, below.second));

        store_sample(t.level3, x, y, inside && (unsigned)(top + y) < p.level[2].h ? v : black);
        if (owned && y >= HALO3 && y < HALO3 + TILE_SAMPLES_Y / 4 && top + y < p.level[2].h)
            frame.motion[(top + y) * p.level[2].w + left] = bliinds_motion_sample(v - black);
        above = below;
    }
}

/**
 * Number of band sums of a thread. The first three are over all its blocks. The other three are
 * over its level 1 blocks that straddle the 8x8 grid, or, in a coarse warp, its level 2 blocks.
 */
#define NB_SUMS 6

/// Histograms of the statistics of all blocks of a thread block.
typedef unsigned Histograms[BLIINDS_LEVELS][BLIINDS_NB_STATISTICS][BLIINDS_BINS];

/// Store the statistics of a block in global memory, and count them in the histograms of its level.
static DEVICE_INLINE void store_statistics(const BLIINDSCUDAParams &p, BLIINDSCUDABlock *dst,
                                           unsigned hist[BLIINDS_NB_STATISTICS][BLIINDS_BINS],
                                           const BLIINDSBlock &block, bool straddles)
{
    const int gamma = bliinds_gamma(p.gamma_table, block.rho);
    BLIINDSCUDABlock out;

    out.statistic[BLIINDS_ZETA] = block.zeta;
    out.statistic[BLIINDS_SUB]  = block.sub;
    out.statistic[BLIINDS_ORI]  = block.ori;
    out.gamma = gamma | (unsigned)straddles << 31;
    *dst = out;
    atomic_add(&hist[BLIINDS_ZETA][bliinds_bin(block.zeta, BLIINDS_ZETA)], 1);
    atomic_add(&hist[BLIINDS_SUB][bliinds_bin(block.sub, BLIINDS_SUB)], 1);
    atomic_add(&hist[BLIINDS_ORI][bliinds_bin(block.ori, BLIINDS_ORI)], 1);
    atomic_add(&hist[BLIINDS_GAMMA][bliinds_gamma_bin(gamma)], 1);
}

/**
 * Compute a block, add its band variances to the sums, and, if ALL, store its statistics.
 *
 * @param dst   first block of the level in global memory
 * @param hist  histograms of the level, if ALL
 * @param terms output of bliinds_dct5_columns()
 * @param bx,by position of the block at its level; may be outside, then nothing is done
 */
template<bool ALL>
static DEVICE_INLINE void tile_block(const BLIINDSCUDAParams &p, BLIINDSCUDABlock *dst,
                                     unsigned hist[BLIINDS_NB_STATISTICS][BLIINDS_BINS],
                                     uint64_t sums[NB_SUMS], unsigned &nb_flat,
                                     const float terms[5][5], int level, int bx, int by)
{
    const bool straddles = level == 0 && (bliinds_is_straddling(bx) || bliinds_is_straddling(by));
    const int bw = p.level[level].bw, bh = p.level[level].bh;
    BLIINDSBlock block;

    if (bx >= bw || by >= bh)
        return;
    bliinds_block(&block, terms);
    if (ALL)
        store_statistics(p, dst + by * bw + bx, hist, block, straddles);

    nb_flat += level == 0 && bliinds_is_flat(block.band);
    UNROLL
    for (int b = 0; b < 3; b++) {
        const uint64_t fixed = bliinds_fixed(block.band[b]);

        sums[b]     += fixed;
        sums[3 + b] += straddles || level == 1 ? fixed : 0;
    }
}

/// Apply bliinds_dct5_integer_stage() to five stored samples of level 1.
template<typename T>
static DEVICE_INLINE void dct5_row1(float dst[5], const BLIINDSCUDAParams &p, const T *src)
{
    float x[5];

    // black is not subtracted: it changes only the mean, which is not used
    UNROLL
    for (int i = 0; i < 5; i++)
        x[i] = sizeof(T) == 1 ? (float)src[i] : sample_value(p, src[i]) * p.scale;
    bliinds_dct5_integer_stage(dst, x[0], x[1], x[2], x[3], x[4]);
}

/// Apply the integer stage to the rows and columns of a block of upper or lower bits.
static DEVICE_INLINE void split_dct5_columns(float dst[5][5], const float *src, int width)
{
    float rows[BLIINDS_BLOCK][5];

    UNROLL
    for (int y = 0; y < BLIINDS_BLOCK; y++, src += width)
        bliinds_dct5_integer_stage(rows[y], src[0], src[1], src[2], src[3], src[4]);
    bliinds_dct5_columns(dst, rows);
}

/**
 * Compute all blocks of a tile.
 *
 * Blocks of level 1 do not share the DCT of common rows: that would cost more in registers than it
 * saves. All levels share one copy of the arithmetic, which stays in the instruction cache.
 */
template<typename T, bool ALL>
static DEVICE_INLINE void tile_blocks(const BLIINDSCUDAParams &p, Tile<T> &t,
                                      BLIINDSCUDABlock *blocks, Histograms hist,
                                      uint64_t sums[NB_SUMS], unsigned &nb_flat,
                                      const BLIINDSCUDAFrame &frame, int tx, int ty)
{
    const int tid = threadIdx.x, coarse_tid = tid - LEVEL1_WARPS * WARP_SIZE;
    const T *src = &t.level1[BLIINDS_STEP * (tid / BLIINDS_TILE_W * NB_PASSES) + HALO1 - 1]
                            [BLIINDS_STEP * (tid % BLIINDS_TILE_W) + HALO1 - 1];

#pragma unroll 1
    for (int pass = 0; pass < NB_PASSES; pass++) {
        const int level = coarse_tid < 0 ? 0 : pass == 0 || coarse_tid >= WARP_SIZE ? 1 : 2;
        float terms[5][5];
        int bx, by;

        if (pass > 0) {
            __syncthreads();
        } else if (coarse_tid >= WARP_SIZE) {
            lowpass_level3(t, p, frame, tx, ty);
            continue;
        }
        if (level == 0) {
            float basis[BLIINDS_BLOCK][5];

            bx = tx * BLIINDS_TILE_W + tid % BLIINDS_TILE_W;
            by = ty * BLIINDS_TILE_H + tid / BLIINDS_TILE_W * NB_PASSES + pass;
            UNROLL
            for (int y = 0; y < BLIINDS_BLOCK; y++)
                dct5_row1(basis[y], p, src + y * W1);
            bliinds_dct5_columns(terms, basis);
            src += BLIINDS_STEP * W1;
        } else {
            const int x = coarse_tid % (BLIINDS_TILE_W >> level), y = coarse_tid / (BLIINDS_TILE_W >> level);
            const int halo  = level == 1 ? HALO2 : HALO3;
            const int width = level == 1 ? W2 : W3;
            const int first = (BLIINDS_STEP * y + halo - 1) * width + BLIINDS_STEP * x + halo - 1;
            const float *upper = level == 1 ? t.level2.upper[0] : t.level3.upper[0];
            const float *lower = level == 1 ? t.level2.lower[0] : t.level3.lower[0];
            float lower_terms[5][5];

            bx = tx * (BLIINDS_TILE_W >> level) + x;
            by = ty * (BLIINDS_TILE_H >> level) + y;
            split_dct5_columns(terms,     upper + first, width);
            split_dct5_columns(lower_terms, lower  + first, width);
            UNROLL
            for (int y = 0; y < 5; y++) {
                UNROLL
                for (int k = 0; k < 5; k++)
                    terms[y][k] = fused_add(lower_terms[y][k], LOWER_UNIT, terms[y][k]);
            }
        }
        tile_block<ALL>(p, blocks + p.level[level].first, hist[level], sums, nb_flat, terms,
                        level, bx, by);
    }
}

/// Add to a sum in global memory.
static DEVICE_INLINE void add_sum(BLIINDSSum *dst, uint64_t integer, uint64_t fraction)
{
    atomic_add64(&dst->integer, integer);
    atomic_add64(&dst->fraction, fraction);
}

/**
 * Add the band sums of all threads to those in global memory. Each warp reduces one band, of a grid
 * class of level 1 or of level 2 or 3, which have no classes.
 */
static DEVICE_INLINE void flush_sums(BLIINDSLevelSums dst[BLIINDS_LEVELS],
                                     const uint64_t sums[NB_SUMS],
                                     uint64_t shared[NB_SUMS][BLIINDS_TILE_THREADS])
{
    const int tid = threadIdx.x, lane = tid % WARP_SIZE, warp = tid / WARP_SIZE;

    UNROLL
    for (int b = 0; b < 3; b++) {
        shared[b][tid]     = sums[b] - sums[3 + b];
        shared[3 + b][tid] = sums[3 + b];
    }
    __syncthreads();
    for (int i = warp; i < 2 * NB_SUMS; i += NB_WARPS) {
        const bool is_coarse = i >= NB_SUMS;
        const int sum = i % NB_SUMS, second = sum / 3;
        uint64_t integer = 0, fraction = 0;

        for (int j = lane + (is_coarse ? LEVEL1_WARPS * WARP_SIZE : 0);
             j < (is_coarse ? BLIINDS_TILE_THREADS : LEVEL1_WARPS * WARP_SIZE); j += WARP_SIZE) {
            integer  += shared[sum][j] >> 32;
            fraction += (uint32_t)shared[sum][j];
        }
        integer  = warp_sum(integer);
        fraction = warp_sum(fraction);
        if (lane == 0)
            add_sum(&dst[is_coarse ? 2 - second : 0].band[is_coarse ? 0 : second][sum % 3],
                    integer, fraction);
    }
}

/// Clear the histograms of a thread block.
static DEVICE_INLINE void clear_histograms(Histograms hist)
{
    const int4 zero = { 0, 0, 0, 0 };

    for (int i = threadIdx.x; i < sizeof(Histograms) / sizeof(zero); i += BLIINDS_TILE_THREADS)
        ((int4 *)hist)[i] = zero;
}

/// Add the histograms of a thread block to those in global memory.
static DEVICE_INLINE void flush_histograms(Histograms dst, const Histograms hist)
{
    unsigned *total = &dst[0][0][0];

    for (int i = threadIdx.x; i < sizeof(Histograms) / sizeof(int4); i += BLIINDS_TILE_THREADS) {
        const int4 c = ((const int4 *)hist)[i];

        if (c.x) atomic_add(&total[4 * i],     c.x);
        if (c.y) atomic_add(&total[4 * i + 1], c.y);
        if (c.z) atomic_add(&total[4 * i + 2], c.z);
        if (c.w) atomic_add(&total[4 * i + 3], c.w);
    }
}

/// Process the tiles of a thread block: body of the tile kernels.
///
/// @param hist histograms of the thread block in shared memory, if ALL; else NULL
template<typename T, bool ALL>
static DEVICE_INLINE void process_tiles(const BLIINDSCUDAParams &p, Histograms hist)
{
    __shared__ union {
        Tile<T> t;
        uint64_t sums[NB_SUMS][BLIINDS_TILE_THREADS];
    } s;
    const BLIINDSCUDAFrame &frame = p.frame[blockIdx.y];
    BLIINDSCUDAState *state = p.state + blockIdx.y;
    BLIINDSCUDABlock *blocks = frame_data(p, p.blocks, blockIdx.y);
    uint64_t sums[NB_SUMS] = { 0, 0, 0, 0, 0, 0 };
    unsigned nb_flat = 0;
    // equal shares: each frame starts at the thread block after the last one of the previous frame
    const int start = (blockIdx.x + blockIdx.y * (gridDim.x - p.nb_tiles % gridDim.x)) % gridDim.x;
    const int step_x = gridDim.x % p.nb_tiles_x, step_y = gridDim.x / p.nb_tiles_x;
    int tx = start % p.nb_tiles_x, ty = start / p.nb_tiles_x;

    if (ALL)
        clear_histograms(hist);
#pragma unroll 1
    for (int tile = start; tile < p.nb_tiles; tile += gridDim.x) {
        TileLoad<T> loaded;

        load_level1(loaded, p, frame, tx, ty);
        __syncthreads();
        store_level1(s.t, loaded, p, frame);
        __syncthreads();
        lowpass_level2(s.t, p, frame.black, tx, ty);
        __syncthreads();
        tile_blocks<T, ALL>(p, s.t, blocks, hist, sums, nb_flat, frame, tx, ty);
        tx += step_x;
        ty += step_y + (tx >= p.nb_tiles_x);
        tx -= tx >= p.nb_tiles_x ? p.nb_tiles_x : 0;
    }
    __syncthreads();

    if (ALL)
        flush_histograms(state->hist, hist);
    flush_sums(state->sums, sums, s.sums);
    nb_flat = warp_sum((uint64_t)nb_flat);
    if (threadIdx.x % WARP_SIZE == 0 && nb_flat)
        atomic_add64(&state->sums[0].nb_flat, nb_flat);
}

/// @}

/// Bin of a histogram that contains the k-th value.
typedef struct Threshold {
    int index;                      ///< index of the bin
    unsigned remaining;             ///< number of values in the bin that are among the first k
} Threshold;

/**
 * Find the bin in which the cumulative histogram reaches k. One warp executes it.
 *
 * @param found    written by one lane
 * @param smallest true to accumulate from the first bin, false from the last
 */
template<int NB>
static DEVICE_INLINE void find_threshold(Threshold *found, const uint32_t hist[NB],
                                         bool smallest, unsigned k)
{
    const int each = NB / WARP_SIZE, lane = threadIdx.x % WARP_SIZE;
    unsigned c[each], sum = 0, before;

    UNROLL
    for (int i = 0; i < each; i++) {
        const int rank = lane * each + i;

        c[i] = hist[smallest ? rank : NB - 1 - rank];
        sum += c[i];
    }
    before = warp_scan(sum, lane) - sum;
    UNROLL
    for (int i = 0; i < each; i++) {
        const int rank = lane * each + i;

        if (before < k && before + c[i] >= k) {
            found->index     = smallest ? rank : NB - 1 - rank;
            found->remaining = k - before;
        }
        before += c[i];
    }
}

#define POOL_WARPS (BLIINDS_POOL_THREADS / WARP_SIZE)
#define TABLE_SIZE  1024
#define TABLE_TRIES 8               ///< slots probed before a value goes to the list

/// Hash table of values with open addressing.
typedef struct Table {
    uint32_t bits[TABLE_SIZE];      ///< bits of the value; 0 for an empty slot
    unsigned count[TABLE_SIZE];     ///< number of blocks with the value
} Table;

/// Shared memory of bliinds_pool.
typedef struct Pool {
    Threshold threshold[BLIINDS_NB_STATISTICS];
    union {
        Table table[BLIINDS_NB_FLOATS];
        uint64_t sums[BLIINDS_NB_STATISTICS][3][BLIINDS_POOL_THREADS];
    };
    uint32_t shape_hist[BLIINDS_SHAPES_PER_BIN];
    unsigned nb_values[BLIINDS_NB_FLOATS];      ///< number of values in each table
    unsigned first_listed[BLIINDS_NB_FLOATS];   ///< next index for them in each list
} Pool;

/// Store an entry of a list in global memory, unless the list is full.
static DEVICE_INLINE void store_entry(const BLIINDSCUDAParams &p, int frame, int l, int k,
                                      unsigned i, uint32_t bits, unsigned count)
{
    const BLIINDSCUDAValueCount listed = { bits, count };

    if (i < p.level[l].max_list)
        frame_data(p, p.level[l].list[k], frame)[i] = listed;
}

/// Count a value in a table, or append it to the list if no slot is free.
static DEVICE_INLINE void table_add(Pool &s, const BLIINDSCUDAParams &p, int frame, int l,
                                    int k, uint32_t bits)
{
    Table &t = s.table[k];
    unsigned i = bits * 2654435769u >> 22;

#pragma unroll 1
    for (int tries = 0; tries < TABLE_TRIES; tries++) {
        uint32_t old = load_relaxed(&t.bits[i]);

        if (!old)
            old = atomic_cas(&t.bits[i], 0, bits);
        if (!old)
            atomic_add(&s.nb_values[k], 1);
        if (!old || old == bits) {
            atomic_add(&t.count[i], 1);
            return;
        }
        i = (i + 1) % TABLE_SIZE;
    }
    store_entry(p, frame, l, k, atomic_add(&p.state[frame].nb_listed[l][k], 1), bits, 1);
}

/// Append the tables of a thread block to the lists in global memory.
static DEVICE_INLINE void flush_tables(Pool &s, const BLIINDSCUDAParams &p, int frame, int l)
{
    const int tid = threadIdx.x;

    if (tid < BLIINDS_NB_FLOATS && s.nb_values[tid])
        s.first_listed[tid] = atomic_add(&p.state[frame].nb_listed[l][tid], s.nb_values[tid]);
    __syncthreads();
#pragma unroll 1
    for (int i = tid; i < BLIINDS_NB_FLOATS * TABLE_SIZE; i += BLIINDS_POOL_THREADS) {
        const int k = i / TABLE_SIZE;
        const uint32_t bits = s.table[k].bits[i % TABLE_SIZE];

        if (bits)
            store_entry(p, frame, l, k, atomic_add(&s.first_listed[k], 1), bits,
                        s.table[k].count[i % TABLE_SIZE]);
    }
}

/// Load the next blocks of a thread, starting at i; those from end on are not loaded.
static DEVICE_INLINE void load_blocks(BLIINDSCUDABlock dst[BLIINDS_POOL_PER_THREAD],
                                      const BLIINDSCUDABlock *blocks, int i, int end)
{
    UNROLL
    for (int j = 0; j < BLIINDS_POOL_PER_THREAD; j++)
        if (i + j * BLIINDS_POOL_THREADS < end)
            dst[j] = blocks[i + j * BLIINDS_POOL_THREADS];
}

/**
 * Sum the statistics over a chunk of the blocks of a level.
 *
 * Leaves in s.sums, for each thread and statistic, the sums over the blocks aligned with the 8x8
 * grid, over those straddling it, and over the values beyond the threshold bin. The sums of gamma
 * are in thousandths. Values in the threshold bin go to the lists, or to s.shape_hist for gamma.
 */
static DEVICE_INLINE void pool_chunk(Pool &s, const BLIINDSCUDAParams &p, int frame, int l,
                                     int start, int end)
{
    const BLIINDSCUDABlock *blocks = frame_data(p, p.blocks, frame) + p.level[l].first;
    const int tid = threadIdx.x, threshold_bin = s.threshold[BLIINDS_GAMMA].index;
    uint64_t sums[BLIINDS_NB_STATISTICS][3] = { { 0 } };    // all, straddling, beyond the bin
    uint32_t bin[BLIINDS_NB_FLOATS][2];
    BLIINDSCUDABlock next[BLIINDS_POOL_PER_THREAD];

    UNROLL
    for (int k = 0; k < BLIINDS_NB_FLOATS; k++) {
        bin[k][0] = bliinds_bin_start(k, s.threshold[k].index);
        bin[k][1] = bliinds_bin_start(k, s.threshold[k].index + 1);
        bin[k][0] = bin[k][0] ? bin[k][0] : 1;          // zeros do not change the sum
    }

    load_blocks(next, blocks, start + tid, end);
#pragma unroll 1
    for (int first = start + tid; first < end; first += BLIINDS_POOL_CHUNK) {
        BLIINDSCUDABlock block[BLIINDS_POOL_PER_THREAD];
        unsigned listed = 0;                            // one bit per block and statistic

        UNROLL
        for (int i = 0; i < BLIINDS_POOL_PER_THREAD; i++)
            block[i] = next[i];
        load_blocks(next, blocks, first + BLIINDS_POOL_CHUNK, end);
        UNROLL
        for (int i = 0; i < BLIINDS_POOL_PER_THREAD; i++) {
            const bool straddles = block[i].gamma >> 31;
            const int index = block[i].gamma & 0x7fffffff;
            const int shape = bliinds_gamma_value(index);

            // with a break, clang 14 would not unroll the loop and would keep the blocks in memory
            if (first + i * BLIINDS_POOL_THREADS >= end)
                continue;
            UNROLL
            for (int k = 0; k < BLIINDS_NB_FLOATS; k++) {
                const float x = block[i].statistic[k];
                const uint64_t fixed = bliinds_fixed(x);

                sums[k][0] += fixed;
                if (straddles)
                    sums[k][1] += fixed;
                if (bliinds_bits(x) >= bin[k][1])
                    sums[k][2] += fixed;
                else if (bliinds_bits(x) >= bin[k][0])
                    listed |= 1 << (i * BLIINDS_NB_FLOATS + k);
            }
            sums[BLIINDS_GAMMA][0] += shape;
            if (straddles)
                sums[BLIINDS_GAMMA][1] += shape;
            if (bliinds_gamma_bin(index) < threshold_bin)
                sums[BLIINDS_GAMMA][2] += shape;
            if (bliinds_gamma_bin(index) == threshold_bin)
                atomic_add(&s.shape_hist[index % BLIINDS_SHAPES_PER_BIN], 1);
        }
#pragma unroll 1
        for (; listed; listed &= listed - 1) {
            const int i = 31 - count_leading_zeros(listed & -listed);
            const int k = i % BLIINDS_NB_FLOATS;

            table_add(s, p, frame, l, k,
                      bliinds_bits(blocks[first + i / BLIINDS_NB_FLOATS * BLIINDS_POOL_THREADS]
                                 .statistic[k]));
        }
    }
    __syncthreads();
    flush_tables(s, p, frame, l);
    __syncthreads();
    UNROLL
    for (int k = 0; k < BLIINDS_NB_STATISTICS; k++) {
        s.sums[k][0][tid] = sums[k][0] - sums[k][1];
        s.sums[k][1][tid] = sums[k][1];
        s.sums[k][2][tid] = sums[k][2];
    }
}

/// Add the sums of a thread block to those of the level in global memory.
static DEVICE_INLINE void flush_pool(const Pool &s, BLIINDSCUDAState *state, int l)
{
    const int tid = threadIdx.x, lane = tid % WARP_SIZE, warp = tid / WARP_SIZE;

    if (tid < BLIINDS_SHAPES_PER_BIN && s.shape_hist[tid])
        atomic_add(&state->shape_hist[l][tid], s.shape_hist[tid]);
    for (int i = warp; i < BLIINDS_NB_STATISTICS * 3; i += POOL_WARPS) {
        const int k = i / 3, c = i % 3;
        BLIINDSPooled *sums = &state->sums[l].pooled[k];
        uint64_t sum = 0;

        UNROLL
        for (int j = 0; j < POOL_WARPS; j++)
            sum += s.sums[k][c][j * WARP_SIZE + lane];
        // sums of shapes are integers
        sum = warp_sum(sum) << (k == BLIINDS_GAMMA ? 32 : 0);
        if (lane == 0)
            add_sum(c < 2 ? &sums->by_class[c] : &sums->pooled10, sum >> 32, (uint32_t)sum);
    }
}

#define DIGIT_BITS (BLIINDS_BIN_BITS / 2)
#define NB_DIGITS  (1 << DIGIT_BITS)
#define POOL10_WARPS (BLIINDS_POOL10_THREADS / WARP_SIZE)
#define POOL10_PER_THREAD 4                     ///< values that a thread holds at a time
#define POOL10_STEP  (POOL10_PER_THREAD * BLIINDS_POOL10_THREADS)

/// Shared memory of bliinds_pool10.
typedef struct SelectShared {
    Threshold bin, digit;
    uint32_t hist[NB_DIGITS];
    uint64_t warp_sum[2][POOL10_WARPS];
} SelectShared;

/// Source of the values in the threshold bin of a statistic.
typedef struct Values {
    const BLIINDSCUDAValueCount *list;  ///< list of the values; NULL if it has overflowed
    const BLIINDSCUDABlock *blocks;     ///< all blocks of the level
    int nb;                             ///< number of list entries, or of blocks without a list
    int statistic, bin;
} Values;

/// Load the next values of a thread with their counts; values outside of the bin have count 0.
static DEVICE_INLINE void load_entries(BLIINDSCUDAValueCount value[POOL10_PER_THREAD],
                                       const Values &v, int first)
{
    UNROLL
    for (int i = 0; i < POOL10_PER_THREAD; i++) {
        const int j = first + i * BLIINDS_POOL10_THREADS;

        value[i].bits = value[i].count = 0;
        if (j < v.nb && v.list) {
            value[i] = v.list[j];
        } else if (j < v.nb) {
            const float x = v.blocks[j].statistic[v.statistic];

            value[i].bits  = bliinds_bits(x);
            value[i].count = x > 0.f && bliinds_bin(x, v.statistic) == v.bin;
        }
    }
}

/// Add count times a value. Integer and fraction are separate: 64 bits could overflow.
static DEVICE_INLINE void add_value(BLIINDSSum &sum, uint32_t bits, unsigned count)
{
    const uint64_t fixed = bliinds_fixed(bliinds_from_bits(bits));

    sum.integer  += count * (fixed >> 32);
    sum.fraction += (uint64_t)count * (uint32_t)fixed;
}

/**
 * Sum the largest values in the threshold bin, by radix selection over digits of DIGIT_BITS bits.
 *
 * @param remaining number of values to sum
 * @return partial sum of each thread
 */
static DEVICE_INLINE BLIINDSSum sum_largest(SelectShared &s, const Values &v, unsigned remaining)
{
    const int tid = threadIdx.x;
    const bool known = v.list && !bliinds_bin_is_open(v.bin);   // upper bits are equal
    uint32_t mask   = known ? ~0u << BLIINDS_BIN_BITS : 0;
    uint32_t prefix = known ? v.list[0].bits & mask : 0;
    BLIINDSSum sum  = { 0, 0 };
    BLIINDSCUDAValueCount value[POOL10_PER_THREAD];

    load_entries(value, v, tid);
#pragma unroll 1
    for (int shift = known ? DIGIT_BITS : 3 * DIGIT_BITS; shift >= 0; shift -= DIGIT_BITS) {
        // zeros are not listed: assume as many as needed in the first bin
        if (tid < NB_DIGITS)
            s.hist[tid] = tid == 0 && prefix == 0 && v.bin == 0 ? remaining : 0;
        __syncthreads();
        for (int first = tid; first < v.nb; first += POOL10_STEP) {
            if (v.nb > POOL10_STEP)
                load_entries(value, v, first);
            UNROLL
            for (int i = 0; i < POOL10_PER_THREAD; i++)
                if (value[i].count && (value[i].bits & mask) == prefix)
                    atomic_add(&s.hist[value[i].bits >> shift & (NB_DIGITS - 1)], value[i].count);
        }
        __syncthreads();
        if (tid < WARP_SIZE)
            find_threshold<NB_DIGITS>(&s.digit, s.hist, false, remaining);
        __syncthreads();
        prefix   |= (uint32_t)s.digit.index << shift;
        mask     |= (uint32_t)(NB_DIGITS - 1) << shift;
        remaining = s.digit.remaining;
    }

    for (int first = tid; first < v.nb; first += POOL10_STEP) {
        if (v.nb > POOL10_STEP)
            load_entries(value, v, first);
        UNROLL
        for (int i = 0; i < POOL10_PER_THREAD; i++)
            if (value[i].bits > prefix)
                add_value(sum, value[i].bits, value[i].count);
    }
    if (tid == 0)
        add_value(sum, prefix, remaining);
    return sum;
}

/// Sum the values in the threshold bin that belong to the 10 %. @return partial sum of each thread
static DEVICE_INLINE BLIINDSSum select_statistic(SelectShared &s, const BLIINDSCUDAParams &p,
                                                 int l, int statistic)
{
    const BLIINDSCUDALevel &level = p.level[l];
    const unsigned n = p.state[blockIdx.y].nb_listed[l][statistic];
    const bool listed = n <= level.max_list;
    const BLIINDSSum zero = { 0, 0 };
    Values v;

    if (!n)
        return zero;
    v.statistic = statistic;
    v.bin       = s.bin.index;
    v.list      = listed ? frame_data(p, level.list[statistic], blockIdx.y) : 0;
    v.blocks    = frame_data(p, p.blocks, blockIdx.y) + level.first;
    v.nb        = listed ? n : level.bw * level.bh;
    return sum_largest(s, v, s.bin.remaining);
}

/// Sum the shapes in the threshold bin that belong to the 10 %, from their histogram; by one warp.
static DEVICE_INLINE BLIINDSSum select_gamma(const SelectShared &s,
                                             const uint32_t shape_hist[BLIINDS_SHAPES_PER_BIN])
{
    const int tid = threadIdx.x;
    BLIINDSSum sum = { 0, 0 };
    unsigned count, before, take;

    if (tid >= WARP_SIZE)
        return sum;
    count  = shape_hist[tid];
    before = warp_scan(count, tid) - count;
    take   = before < s.bin.remaining ? min(s.bin.remaining - before, count) : 0;
    sum.integer = (uint64_t)take * bliinds_gamma_value(s.bin.index * BLIINDS_SHAPES_PER_BIN + tid);
    return sum;
}

/// Return the sum over a thread block in its first thread.
static DEVICE_INLINE BLIINDSSum block_sum(SelectShared &s, BLIINDSSum sum)
{
    const int tid = threadIdx.x;

    sum.integer  = warp_sum(sum.integer);
    sum.fraction = warp_sum(sum.fraction);
    if (tid % WARP_SIZE == 0) {
        s.warp_sum[0][tid / WARP_SIZE] = sum.integer;
        s.warp_sum[1][tid / WARP_SIZE] = sum.fraction;
    }
    __syncthreads();
    if (tid < WARP_SIZE) {
        sum.integer  = warp_sum(s.warp_sum[0][tid]);
        sum.fraction = warp_sum(s.warp_sum[1][tid]);
    }
    return sum;
}

/// Move a struct from the state to the result, one word per thread, and clear it in the state.
template<typename T>
static DEVICE_INLINE void move_result(T *dst, T *src)
{
    const int i = threadIdx.x;

    if (i < sizeof(T) / sizeof(uint64_t)) {
        ((uint64_t *)dst)[i] = ((uint64_t *)src)[i];
        ((uint64_t *)src)[i] = 0;
    }
}

extern "C" {

/// Define the two tile kernels for samples stored in 8 or 16 bits.
#define BLOCKS_KERNELS(bits)                                                        \
__global__ void __launch_bounds__(BLIINDS_TILE_THREADS, BLIINDS_TILES_PER_SM)       \
bliinds_blocks_##bits(BLIINDSCUDAParams p)                                          \
{                                                                                   \
    __shared__ Histograms hist __align__(16);                                      \
                                                                                    \
    process_tiles<uint##bits##_t, true>(p, hist);                                   \
}                                                                                   \
                                                                                    \
__global__ void __launch_bounds__(BLIINDS_TILE_THREADS, BLIINDS_TILES_PER_SM)       \
bliinds_bands_##bits(BLIINDSCUDAParams p)                                           \
{                                                                                   \
    process_tiles<uint##bits##_t, false>(p, 0);                                      \
}

BLOCKS_KERNELS(8)
BLOCKS_KERNELS(16)

/**
 * Sum the differences of the level 3 motion samples from the previous frame.
 *
 * Grid: (thread blocks per frame, frames). Block: BLIINDS_MOTION_THREADS = 256 threads, each with
 * about BLIINDS_MOTION_PER_THREAD samples at a distance of the grid size. No shared memory.
 */
__global__ void __launch_bounds__(BLIINDS_MOTION_THREADS)
bliinds_motion(BLIINDSCUDAParams p)
{
    const BLIINDSCUDAFrame &frame = p.frame[blockIdx.y];
    const int nb = p.level[2].w * p.level[2].h, step = gridDim.x * BLIINDS_MOTION_THREADS;
    uint64_t *motion = p.state[blockIdx.y].sums[2].motion;
    uint64_t sum[2] = { 0, 0 };

    if (!frame.prev_motion)
        return;
    for (int i = blockIdx.x * BLIINDS_MOTION_THREADS + threadIdx.x; i < nb; i += step) {
        const int d = frame.motion[i] - frame.prev_motion[i];

        sum[0] += d < 0 ? -d : d;
        sum[1] += d * d;
    }
    UNROLL
    for (int i = 0; i < 2; i++) {
        sum[i] = warp_sum(sum[i]);
        if (threadIdx.x % WARP_SIZE == 0)
            atomic_add64(&motion[i], sum[i]);
    }
}

/**
 * Move the band sums, nb_flat and the motion sums to the result, and clear the state.
 *
 * Grid: (1, frames). Block: BLIINDS_FINISH_THREADS = 64 threads, one word each. No shared memory.
 */
__global__ void __launch_bounds__(BLIINDS_FINISH_THREADS)
bliinds_bands_finish(BLIINDSCUDAParams p)
{
    BLIINDSLevelSums *result = p.frame[blockIdx.y].result;
    BLIINDSLevelSums *sums   = p.state[blockIdx.y].sums;

    for (int l = 0; l < BLIINDS_LEVELS; l++)
        move_result(&result[l].band, &sums[l].band);
    move_result(&result->nb_flat, &sums->nb_flat);
    move_result(&result[2].motion, &sums[2].motion);
}

/**
 * Sum the statistics over all blocks, and over those of the worst 10 % beyond the threshold bin.
 *
 * Grid: (frames, chunks of blocks of all levels). Block: BLIINDS_POOL_THREADS = 256 threads, 8
 * warps; a thread block pools one chunk of pool_chunk blocks of one level. The first warps find the
 * threshold bin of one statistic each.
 *
 * Shared memory: Pool, with hash tables of the values in the threshold bins, whose space the
 * reduction of the sums reuses.
 */
__global__ void __launch_bounds__(BLIINDS_POOL_THREADS, BLIINDS_POOLS_PER_SM)
bliinds_pool(BLIINDSCUDAParams p)
{
    __shared__ Pool s;
    const int frame = blockIdx.x, tid = threadIdx.x, warp = tid / WARP_SIZE;
    // last written first: these blocks are still in the cache
    int chunk = gridDim.y - 1 - blockIdx.y, level, nb_blocks;
    BLIINDSCUDAState *state = p.state + frame;

    for (level = 0; ; level++) {
        int nb_chunks;

        nb_blocks = p.level[level].bw * p.level[level].bh;
        nb_chunks = (nb_blocks + p.pool_chunk - 1) / p.pool_chunk;
        if (chunk < nb_chunks)
            break;
        chunk -= nb_chunks;
    }
    for (int i = tid; i < BLIINDS_NB_FLOATS * TABLE_SIZE; i += BLIINDS_POOL_THREADS) {
        s.table[i / TABLE_SIZE].bits[i % TABLE_SIZE]  = 0;
        s.table[i / TABLE_SIZE].count[i % TABLE_SIZE] = 0;
    }
    if (tid < BLIINDS_NB_FLOATS)
        s.nb_values[tid] = 0;
    if (tid < BLIINDS_SHAPES_PER_BIN)
        s.shape_hist[tid] = 0;
    if (warp < BLIINDS_NB_STATISTICS)
        find_threshold<BLIINDS_BINS>(&s.threshold[warp], state->hist[level][warp],
                                     warp == BLIINDS_GAMMA, bliinds_nb_pooled10(nb_blocks));
    __syncthreads();
    pool_chunk(s, p, frame, level, chunk * p.pool_chunk, min((chunk + 1) * p.pool_chunk, nb_blocks));
    __syncthreads();
    flush_pool(s, state, level);
}

/**
 * Add the values in the threshold bin that belong to the worst 10 %, move the sums to the result,
 * and clear the state.
 *
 * Grid: (levels x statistics, frames). Block: BLIINDS_POOL10_THREADS = 1024 threads, 32 warps, for
 * one statistic of one level. The thread block of gamma also moves the other sums of its level.
 *
 * Shared memory: SelectShared, with the histogram of a digit and the sums of the warps.
 */
__global__ void __launch_bounds__(BLIINDS_POOL10_THREADS)
bliinds_pool10(BLIINDSCUDAParams p)
{
    __shared__ SelectShared s;
    const int l = blockIdx.x / BLIINDS_NB_STATISTICS, k = blockIdx.x % BLIINDS_NB_STATISTICS;
    const int nb_blocks = p.level[l].bw * p.level[l].bh, tid = threadIdx.x;
    const bool is_gamma = k == BLIINDS_GAMMA;
    BLIINDSCUDAState *state  = p.state + blockIdx.y;
    BLIINDSLevelSums *result = p.frame[blockIdx.y].result + l, *sums = state->sums + l;
    BLIINDSSum rest;

    if (tid < WARP_SIZE)
        find_threshold<BLIINDS_BINS>(&s.bin, state->hist[l][k], is_gamma,
                                     bliinds_nb_pooled10(nb_blocks));
    __syncthreads();
    rest = is_gamma ? select_gamma(s, state->shape_hist[l]) : select_statistic(s, p, l, k);
    rest = block_sum(s, rest);
    if (tid == 0) {
        sums->pooled[k].pooled10.integer  += rest.integer;
        sums->pooled[k].pooled10.fraction += rest.fraction;
    }
    __syncthreads();
    move_result(&result->pooled[k], &sums->pooled[k]);
    if (is_gamma) {
        move_result(&result->band,    &sums->band);
        move_result(&result->nb_flat, &sums->nb_flat);
        move_result(&result->motion,  &sums->motion);
    }
    if (tid < BLIINDS_BINS)
        state->hist[l][k][tid] = 0;
    if (is_gamma && tid < BLIINDS_SHAPES_PER_BIN)
        state->shape_hist[l][tid] = 0;
    if (!is_gamma && tid == 0)
        state->nb_listed[l][k] = 0;
}

}
