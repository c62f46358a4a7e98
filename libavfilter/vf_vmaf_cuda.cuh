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
 * Common code of the kernels of VMAF v1's features. blockIdx.y is the pair.
 *
 * A launch extracts one variant of a feature from all pairs: a contrast sensitivity of ADM, a
 * window of motion, a picture of CAMBI, a prescaled size of chroma. Powers are left to the host,
 * which gets sums. Sums of integers are added in any order, sums of floats by one thread each in
 * the order of the CPU.
 *
 * Times are in doc/benchmarks.md; they chose the sizes of tiles and runs, on an H100.
 */

#ifndef AVFILTER_VMAF_CUDA_CUH
#define AVFILTER_VMAF_CUDA_CUH

#include "cuda/kernel.cuh"
#include "vf_vmaf_cuda.h"
#include "vmaf_ops.h"

/// Load a sample of a plane whose samples have sizeof(T) bytes.
template<typename T>
static DEVICE_INLINE int load_sample(const VMAFCUDAPlane &p, const uint8_t *at)
{
    const int sample = load_global((const T *)at);

    return sizeof(T) == 1 ? sample * p.factor >> 6 : sample >> p.down & p.mask;
}

static DEVICE_INLINE int get_sample(const VMAFCUDAPlane &p, int x, int y)
{
    const uint8_t *at = p.data + y * p.pitch + x * p.step;

    return p.size == 1 ? load_sample<uint8_t>(p, at) : load_sample<uint16_t>(p, at);
}

/// Mirror an index at 0 and at last / 2. Far outside it is clamped: the sample is not used.
static DEVICE_INLINE int mirror(int i, int last)
{
    return max(min(vmaf_abs(i), last - vmaf_abs(i)), 0);
}

/// Add a warp's values to a sum in device memory.
static DEVICE_INLINE void add_sum(uint64_t *dst, uint64_t value)
{
    value = warp_sum(value);
    if (threadIdx.x % WARP_SIZE == 0 && value)
        atomic_add64(dst, value);
}

/// Return whether this thread block is the last to get here. All threads call it after their last
/// writes, which the last thread block sees.
static DEVICE_INLINE bool is_last(uint32_t *nb_done, unsigned nb_blocks)
{
    __shared__ bool last;

    fence_device();
    __syncthreads();
    if (threadIdx.x == 0) {
        last = atomic_add(nb_done, 1) == nb_blocks - 1;
        if (last)
            *nb_done = 0;
    }
    __syncthreads();
    fence_device();
    return last;
}

/// Declare a kernel that runs for the pairs that need it.
#define KERNEL(name, params, is_needed, function, ...)                  \
__global__ void __launch_bounds__(__VA_ARGS__) name(params p)           \
{                                                                       \
    if (is_needed)                                                      \
        function(p);                                                    \
}
#define IS_CHOSEN p.pair[blockIdx.y].is_chosen

#endif /* AVFILTER_VMAF_CUDA_CUH */
