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
 * Fourier transforms as functions of kernels (fft.cuh): the steps before and after a
 * transform need no pass through the GPU's memory.
 *
 * Lengths of the factors 2, 3 and 5, as most videos have, are transformed directly,
 * others by a convolution with a chirp (Bluestein). This is done in shared memory, or
 * in scratch memory if shared memory is too small.
 */

#ifndef AVFILTER_CUDA_FFT_H
#define AVFILTER_CUDA_FFT_H

#include <stddef.h>

/// Lines that a thread block transforms side by side.
#define FFT_LANES 4
/// Values that a thread has in registers.
#define FFT_VALUES_PER_THREAD 16
#define FFT_MAX_STAGES 6
/// Largest radix in scratch memory, see fft.cuh.
#define FFT_LARGE_RADIX 9
#define FFT_MAX_THREADS 1024

/// Thread blocks of a launch in scratch memory, and buffers of ff_fft_memory_size() that each has.
#define FFT_SCRATCH_BLOCKS  128
#define FFT_SCRATCH_BUFFERS 3

/// Ways to transform, the fastest first.
enum FFTMethod {
    FFT_DIRECT,                         ///< in shared memory
    FFT_CHIRP,                          ///< in shared memory, by a chirp
    FFT_LARGE,                          ///< in scratch memory, by a chirp if it must be
    FFT_NB_METHODS
};

typedef struct FFTPlan {
    int length;                         ///< of the lines
    int size;                           ///< of the transforms: the length, or more for a chirp
    int nb_stages;
    int radix[FFT_MAX_STAGES];          ///< 4, 5, 6, 8, 9, 10, 12, 15, 16: factors of size
    unsigned stride_inverse[FFT_MAX_STAGES];   ///< 2^32 / product of the radices before, rounded up
    int threads;                        ///< of a thread block
} FFTPlan;

/**
 * Plan the transforms of lines of up to 16384 values.
 *
 * @return 1, or 0 if this way does not fit; FFT_LARGE always fits
 */
int ff_fft_plan(FFTPlan *plan, int length, enum FFTMethod method);

/// Bytes of shared memory, or of one buffer of scratch memory, that a thread block needs.
static inline size_t ff_fft_memory_size(const FFTPlan *plan)
{
    return (size_t)plan->size * FFT_LANES * 2 * sizeof(float);
}

/**
 * Complex values in the table of a plan: the size powers of the size-th root of 1 and,
 * for a chirp, its length values and the size values of its transform.
 */
static inline size_t ff_fft_table_size(const FFTPlan *plan)
{
    return plan->size == plan->length ? plan->size : 2 * plan->size + plan->length;
}

/**
 * Make what Bluestein's algorithm convolves lines with: the first length values of a chirp, and
 * the transform of its conjugate, divided by the size. Of forward transforms, the chirp is the
 * conjugate of this, and the other is the same.
 *
 * @return 0, or a negative AVERROR
 */
int ff_fft_chirp(int length, int size, float (*chirp)[2], float (*filter)[2]);

/**
 * Make the table of a plan.
 *
 * @param table takes ff_fft_table_size() pairs
 * @return 0, or a negative AVERROR
 */
int ff_fft_table(const FFTPlan *plan, float (*table)[2]);

#endif /* AVFILTER_CUDA_FFT_H */
