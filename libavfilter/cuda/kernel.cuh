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
 * The CUDA C that FFmpeg's own header for clang lacks, so that kernels build
 * alike with clang, without a CUDA toolkit, and with nvcc. Needs PTX 6.0.
 */

#ifndef AVFILTER_CUDA_KERNEL_CUH
#define AVFILTER_CUDA_KERNEL_CUH

#include <stdint.h>

#include "shared.h"

#ifdef __clang__
#define __shared__           __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

GET(get_grid_dim, nctaid)
#define gridDim (get_grid_dim())
#undef atomicAdd    // FFmpeg's has an order to other memory accesses
#define atomicAdd(dst, value) __atomic_fetch_add(dst, value, __ATOMIC_RELAXED)
#endif

#define WARP_SIZE 32

/// Shared memory whose size the host chooses.
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]

/// A device function that is always part of its caller.
#define DEVICE_INLINE inline __device__ __attribute__((always_inline))

/// a * b + c, rounded once.
static DEVICE_INLINE float fused_add(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/// A function of one instruction, which sets ret.
#define INSTRUCTION(type, name, params, ...)    \
static DEVICE_INLINE type name params           \
{                                               \
    type ret;                                   \
                                                \
    __VA_ARGS__;                                \
    return ret;                                 \
}

/// Return a value that is computed at this place. Compilers move what only a later branch uses to that
/// branch, and everything that it depends on stays in registers until then.
INSTRUCTION(unsigned, compute_here, (unsigned x), asm volatile("mov.b32 %0, %1;" : "=r"(ret) : "r"(x)))

/// a + b, rounded towards zero.
INSTRUCTION(double, add_rz, (double a, double b),
            asm("add.rz.f64 %0, %1, %2;" : "=d"(ret) : "d"(a), "d"(b)))

/// The square root, correctly rounded.
INSTRUCTION(float, exact_sqrt,  (float x), asm("sqrt.rn.f32 %0, %1;" : "=f"(ret) : "f"(x)))

/// @name Approximations: the relative error is below 2^-22, for log2 near 1 the absolute error
/// @{
INSTRUCTION(float, approx_sqrt, (float x), asm("sqrt.approx.f32 %0, %1;" : "=f"(ret) : "f"(x)))
INSTRUCTION(float, approx_exp2, (float x), asm("ex2.approx.f32 %0, %1;" : "=f"(ret) : "f"(x)))
INSTRUCTION(float, approx_log2, (float x), asm("lg2.approx.f32 %0, %1;" : "=f"(ret) : "f"(x)))
/// @}

/// @name The same, where denormal numbers are 0
/// @{
INSTRUCTION(float, guess_rcp,   (float x), asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(ret) : "f"(x)))
INSTRUCTION(float, guess_rsqrt, (float x), asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(ret) : "f"(x)))
/// @}

/// Returns the old value.
static DEVICE_INLINE unsigned atomic_add(unsigned *dst, unsigned value)
{
    return atomicAdd(dst, value);
}

/// Replace a value if it is the expected one; returns the old value.
static DEVICE_INLINE unsigned atomic_cas(unsigned *dst, unsigned expected, unsigned value)
{
#ifdef __clang__
    __atomic_compare_exchange_n(dst, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#else
    return atomicCAS(dst, expected, value);
#endif
}

/// atomic_add() of 64 bits.
static DEVICE_INLINE void atomic_add64(uint64_t *dst, uint64_t value)
{
    atomicAdd((unsigned long long *)dst, (unsigned long long)value);
}

/// The device sees the writes before it before those after it.
static DEVICE_INLINE void fence_device()
{
    asm volatile("membar.gl;" ::: "memory");
}

/// Load a value that other thread blocks of the same launch have written.
template<typename T>
static DEVICE_INLINE T load_relaxed(const T *src)
{
    return *(const volatile T *)src;
}

/// Load a value of device memory from an address that was itself loaded from memory: of those that a
/// kernel gets as parameters the compiler knows where they point to.
template<typename T>
static DEVICE_INLINE T load_global(const T *src)
{
#ifdef __clang__
    return *(const __attribute__((address_space(1))) T *)src;
#else
    return __ldg(src);
#endif
}

/// Four bytes of a (numbered from 0) and b (from 4), by the nibbles of selector.
INSTRUCTION(unsigned, byte_perm, (unsigned a, unsigned b, unsigned selector),
            asm("prmt.b32 %0, %1, %2, %3;" : "=r"(ret) : "r"(a), "r"(b), "r"(selector)))

INSTRUCTION(int, count_bits, (unsigned x), asm("popc.b32 %0, %1;" : "=r"(ret) : "r"(x)))
INSTRUCTION(int, count_leading_zeros, (unsigned x), asm("clz.b32 %0, %1;" : "=r"(ret) : "r"(x)))

/// Wait for all lanes of a warp. Then they see each other's writes to memory.
static DEVICE_INLINE void sync_warp()
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/// The value of lane + delta; the lane's own if there is none.
INSTRUCTION(unsigned, shuffle_down, (unsigned value, unsigned delta),
            asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                         : "=r"(ret) : "r"(value), "r"(delta)))

static DEVICE_INLINE uint64_t shuffle_down(uint64_t value, unsigned delta)
{
    uint64_t low  = shuffle_down((unsigned)value, delta);
    uint64_t high = shuffle_down((unsigned)(value >> 32), delta);

    return high << 32 | low;
}

/// The value of lane - delta; the lane's own if there is none.
INSTRUCTION(unsigned, shuffle_up, (unsigned value, unsigned delta),
            asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;"
                         : "=r"(ret) : "r"(value), "r"(delta)))

/// The value of a lane.
INSTRUCTION(unsigned, shuffle_from, (unsigned value, unsigned lane),
            asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                         : "=r"(ret) : "r"(value), "r"(lane)))

/// A bit of each lane of a warp: whether its value is not 0.
INSTRUCTION(unsigned, warp_ballot, (int value),
            asm volatile("{\n\t"
                         ".reg .pred p;\n\t"
                         "setp.ne.s32 p, %1, 0;\n\t"
                         "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t"
                         "}" : "=r"(ret) : "r"(value)))

/// The least over a warp, in all lanes.
static DEVICE_INLINE unsigned warp_min(unsigned value)
{
    for (int delta = WARP_SIZE / 2; delta; delta /= 2) {
        const unsigned other = shuffle_down(value, delta);

        value = other < value ? other : value;
    }
    return shuffle_from(value, 0);
}

/// Sum over a warp, in its first lane.
static DEVICE_INLINE uint64_t warp_sum(uint64_t value)
{
    for (int delta = WARP_SIZE / 2; delta; delta /= 2)
        value += shuffle_down(value, delta);
    return value;
}

/// Inclusive prefix sum over a warp.
static DEVICE_INLINE unsigned warp_scan(unsigned value, int lane)
{
    for (int delta = 1; delta < WARP_SIZE; delta *= 2) {
        unsigned below = shuffle_up(value, delta);

        if (lane >= delta)
            value += below;
    }
    return value;
}

#endif /* AVFILTER_CUDA_KERNEL_CUH */
