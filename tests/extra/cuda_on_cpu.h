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
 * CUDA C for the CPU: it stands for cuda/kernel.cuh where kernels are compiled as C++. The
 * threads of a thread block are coroutines, which run in turn up to where they wait for each
 * other; thread blocks run one after the other.
 */

#ifndef TESTS_EXTRA_CUDA_ON_CPU_H
#define TESTS_EXTRA_CUDA_ON_CPU_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wunknown-pragmas"

#define AVFILTER_CUDA_KERNEL_CUH
#define WARP_SIZE 32
#define DEVICE_INLINE inline
#define DYNAMIC_SHARED(type, name) type *name = (type *)on_cpu.shared

#define __device__
#define __global__
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#include "libavfilter/cuda/shared.h"
#undef DEVICE_PTR
#define DEVICE_PTR(type) type *

typedef struct OnCPUIndex { unsigned x, y, z; } OnCPUIndex;

/// Where the thread that runs is, and what its thread block has.
typedef struct OnCPU {
    OnCPUIndex thread, block, block_dim, grid_dim;
    int lane;
    void *shared;
} OnCPU;

extern "C" OnCPU on_cpu __attribute__((visibility("hidden")));
#define threadIdx on_cpu.thread
#define blockIdx  on_cpu.block
#define blockDim  on_cpu.block_dim
#define gridDim   on_cpu.grid_dim

typedef struct float2 { float x, y; } __align__(8) float2;
typedef struct float4 { float x, y, z, w; } __align__(16) float4;
typedef struct int2   { int x, y; } __align__(8) int2;
typedef struct int4   { int x, y, z, w; } __align__(16) int4;
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
static inline float2 make_float2(float x, float y) { return { x, y }; }
static inline float4 make_float4(float x, float y, float z, float w) { return { x, y, z, w }; }

/// Where a thread of a thread block is.
enum OnCPUState { ON_CPU_DONE, ON_CPU_IN_WARP_SYNC, ON_CPU_IN_BLOCK_SYNC };

/// Let other threads run until this state is over.
extern "C" void on_cpu_yield(enum OnCPUState state) __attribute__((visibility("hidden")));
#define __syncthreads() on_cpu_yield(ON_CPU_IN_BLOCK_SYNC)
static inline void sync_warp() { on_cpu_yield(ON_CPU_IN_WARP_SYNC); }

/// The values that the lanes of a warp give.
extern "C" const uint64_t *on_cpu_share(uint64_t value) __attribute__((visibility("hidden")));

/// That of another lane; the own one where there is none.
template<typename T>
static inline T shuffle(T value, int distance)
{
    const uint64_t *values = on_cpu_share(value);
    const int from = on_cpu.lane + distance;

    return from < 0 || from >= WARP_SIZE ? value : (T)values[from];
}

template<typename T>
static inline T shuffle_down(T value, unsigned delta) { return shuffle(value, delta); }
template<typename T>
static inline T shuffle_up(T value, unsigned delta) { return shuffle(value, -(int)delta); }

static inline unsigned shuffle_from(unsigned value, unsigned lane)
{
    return on_cpu_share(value)[lane];
}

static inline unsigned warp_ballot(int value)
{
    const uint64_t *values = on_cpu_share(value);
    unsigned bits = 0;

    for (int i = 0; i < WARP_SIZE; i++)
        bits |= (unsigned)!!values[i] << i;
    return bits;
}

static inline unsigned warp_min(unsigned value)
{
    const uint64_t *values = on_cpu_share(value);

    for (int i = 0; i < WARP_SIZE; i++)
        value = min(value, (unsigned)values[i]);
    return value;
}

/// The sum of what the first nb lanes give.
static inline uint64_t sum_of_lanes(uint64_t value, int nb)
{
    const uint64_t *values = on_cpu_share(value);

    value = 0;
    for (int i = 0; i < nb; i++)
        value += values[i];
    return value;
}

static inline uint64_t warp_sum(uint64_t value) { return sum_of_lanes(value, WARP_SIZE); }
static inline unsigned warp_scan(unsigned value, int lane) { return sum_of_lanes(value, lane + 1); }

static inline float fused_add(float a, float b, float c) { return fmaf(a, b, c); }
static inline float guess_rcp(float x) { return 1 / x; }
static inline float approx_sqrt(float x) { return sqrtf(x); }
static inline float approx_exp2(float x) { return exp2f(x); }
static inline float approx_log2(float x) { return log2f(x); }

static inline unsigned compute_here(unsigned x) { return x; }

static inline double add_rz(double a, double b)
{
    const double sum = a + b, of_b = sum - a, error = (a - (sum - of_b)) + (b - of_b);

    return sum > 0 && error < 0 || sum < 0 && error > 0 ? nextafter(sum, 0) : sum;
}

static inline unsigned atomic_add(unsigned *dst, unsigned value)
{
    const unsigned old = *dst;

    *dst += value;
    return old;
}

static inline unsigned atomic_cas(unsigned *dst, unsigned expected, unsigned value)
{
    const unsigned old = *dst;

    if (old == expected)
        *dst = value;
    return old;
}

static inline void atomic_add64(uint64_t *dst, uint64_t value) { *dst += value; }
static inline void fence_device() {}
template<typename T> static inline T load_relaxed(const T *src) { return *(const volatile T *)src; }
template<typename T> static inline T load_global(const T *src) { return *src; }

static inline unsigned byte_perm(unsigned a, unsigned b, unsigned selector)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    unsigned ret = 0;

    for (int i = 0; i < 4; i++) {
        const unsigned from = selector >> 4 * i, byte = bytes >> 8 * (from & 7) & 255;

        ret |= (from & 8 ? byte >> 7 ? 255 : 0 : byte) << 8 * i;
    }
    return ret;
}

static inline int count_bits(unsigned x) { return __builtin_popcount(x); }
static inline int count_leading_zeros(unsigned x) { return x ? __builtin_clz(x) : 32; }

#endif /* TESTS_EXTRA_CUDA_ON_CPU_H */
