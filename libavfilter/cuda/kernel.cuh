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
 * Built-in variables and functions of CUDA C that compat/cuda/cuda_runtime.h lacks. With this
 * header, kernels build with clang, without a CUDA toolkit, and with nvcc. It needs PTX 6.0.
 *
 * Functions of a warp must be called by all of its 32 lanes.
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
#undef atomicAdd    // FFmpeg's version also orders other memory accesses
#define atomicAdd(dst, value) __atomic_fetch_add(dst, value, __ATOMIC_RELAXED)
#endif

/// Number of lanes of a warp.
#define WARP_SIZE 32

/// Declare shared memory whose size is a parameter of the launch.
#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]

/// Specifiers of a device function that is always inlined.
#define DEVICE_INLINE inline __device__ __attribute__((always_inline))

/// Return a * b + c, rounded once.
static DEVICE_INLINE float fused_add(float a, float b, float c)
{
    return __builtin_fmaf(a, b, c);
}

/// Define a function of one instruction, which sets ret.
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

/// Return a + b, rounded towards zero.
INSTRUCTION(double, add_rz, (double a, double b),
            asm("add.rz.f64 %0, %1, %2;" : "=d"(ret) : "d"(a), "d"(b)))

/// Return the correctly rounded square root.
INSTRUCTION(float, exact_sqrt,  (float x), asm("sqrt.rn.f32 %0, %1;" : "=f"(ret) : "f"(x)))

/// @name Approximations with a relative error below 2^-22; near 1, the absolute error of log2 is
/// @{
INSTRUCTION(float, approx_sqrt, (float x), asm("sqrt.approx.f32 %0, %1;" : "=f"(ret) : "f"(x)))
INSTRUCTION(float, approx_exp2, (float x), asm("ex2.approx.f32 %0, %1;" : "=f"(ret) : "f"(x)))
INSTRUCTION(float, approx_log2, (float x), asm("lg2.approx.f32 %0, %1;" : "=f"(ret) : "f"(x)))
/// @}

/// @name Approximations that flush denormal numbers to 0
/// @{
INSTRUCTION(float, guess_rcp,   (float x), asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(ret) : "f"(x)))
INSTRUCTION(float, guess_rsqrt, (float x), asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(ret) : "f"(x)))
/// @}

/// Add to a value in memory, without ordering other accesses, and return the old value.
static DEVICE_INLINE unsigned atomic_add(unsigned *dst, unsigned value)
{
    return atomicAdd(dst, value);
}

/// Replace a value in memory if it equals expected, and return the old value.
static DEVICE_INLINE unsigned atomic_cas(unsigned *dst, unsigned expected, unsigned value)
{
#ifdef __clang__
    __atomic_compare_exchange_n(dst, &expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
#else
    return atomicCAS(dst, expected, value);
#endif
}

/// Add to a 64-bit value in memory, without ordering other accesses.
static DEVICE_INLINE void atomic_add64(uint64_t *dst, uint64_t value)
{
    atomicAdd((unsigned long long *)dst, (unsigned long long)value);
}

/// Make the thread's previous writes visible to the device before its later ones.
static DEVICE_INLINE void fence_device()
{
    asm volatile("membar.gl;" ::: "memory");
}

/// Load a value that other thread blocks of the launch have written, bypassing the L1 cache.
template<typename T>
static DEVICE_INLINE T load_relaxed(const T *src)
{
    return *(const volatile T *)src;
}

/// Load from an address in device memory that was itself loaded from memory. Compilers know the
/// address space only of addresses that are kernel parameters.
template<typename T>
static DEVICE_INLINE T load_global(const T *src)
{
#ifdef __clang__
    return *(const __attribute__((address_space(1))) T *)src;
#else
    return __ldg(src);
#endif
}

/// Select four bytes of a, bytes 0 to 3, and b, bytes 4 to 7, by the nibbles of selector.
INSTRUCTION(unsigned, byte_perm, (unsigned a, unsigned b, unsigned selector),
            asm("prmt.b32 %0, %1, %2, %3;" : "=r"(ret) : "r"(a), "r"(b), "r"(selector)))

/// Count the bits that are set.
INSTRUCTION(int, count_bits, (unsigned x), asm("popc.b32 %0, %1;" : "=r"(ret) : "r"(x)))
/// Count the zero bits above the highest bit that is set; 32 for 0.
INSTRUCTION(int, count_leading_zeros, (unsigned x), asm("clz.b32 %0, %1;" : "=r"(ret) : "r"(x)))

/// Wait for all lanes of a warp, and make their writes to memory visible to each other.
static DEVICE_INLINE void sync_warp()
{
    asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

/// Return the value of lane + delta, or the lane's own value at the end of the warp.
INSTRUCTION(unsigned, shuffle_down, (unsigned value, unsigned delta),
            asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                         : "=r"(ret) : "r"(value), "r"(delta)))

/// shuffle_down() for 64-bit values.
static DEVICE_INLINE uint64_t shuffle_down(uint64_t value, unsigned delta)
{
    uint64_t low  = shuffle_down((unsigned)value, delta);
    uint64_t high = shuffle_down((unsigned)(value >> 32), delta);

    return high << 32 | low;
}

/// Return the value of lane - delta, or the lane's own value at the beginning of the warp.
INSTRUCTION(unsigned, shuffle_up, (unsigned value, unsigned delta),
            asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;"
                         : "=r"(ret) : "r"(value), "r"(delta)))

/// Return the value of a lane.
INSTRUCTION(unsigned, shuffle_from, (unsigned value, unsigned lane),
            asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;"
                         : "=r"(ret) : "r"(value), "r"(lane)))

/// Return a mask of the lanes whose value is not 0.
INSTRUCTION(unsigned, warp_ballot, (int value),
            asm volatile("{\n\t"
                         ".reg .pred p;\n\t"
                         "setp.ne.s32 p, %1, 0;\n\t"
                         "vote.sync.ballot.b32 %0, p, 0xffffffff;\n\t"
                         "}" : "=r"(ret) : "r"(value)))

/// Return the minimum over a warp, in all lanes.
static DEVICE_INLINE unsigned warp_min(unsigned value)
{
    for (int delta = WARP_SIZE / 2; delta; delta /= 2) {
        const unsigned other = shuffle_down(value, delta);

        value = other < value ? other : value;
    }
    return shuffle_from(value, 0);
}

/// Return the sum over a warp; only valid in lane 0.
static DEVICE_INLINE uint64_t warp_sum(uint64_t value)
{
    for (int delta = WARP_SIZE / 2; delta; delta /= 2)
        value += shuffle_down(value, delta);
    return value;
}

/// Return the inclusive prefix sum over a warp: lane i gets the sum of lanes 0 to i.
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
