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
 * Inverse Fourier transforms of lines as device functions (fft.cuh), and their plans and tables on
 * the host. A kernel passes functions that load and store the values of a line, so that the steps
 * before and after a transform need no pass through device memory.
 *
 * Lengths with the factors 2, 3 and 5, as those of most videos, are transformed directly. Other
 * lengths are transformed by a convolution with a chirp (Bluestein's algorithm) of a longer
 * length. Both use shared memory, or scratch buffers in device memory for long lines.
 */

#ifndef AVFILTER_CUDA_FFT_H
#define AVFILTER_CUDA_FFT_H

#include <stddef.h>

/// Number of lines that a thread block transforms at once; their values are interleaved.
#define FFT_LANES 4
/// Maximum number of values that a thread holds in registers.
#define FFT_VALUES_PER_THREAD 16
/// Maximum number of stages of a transform.
#define FFT_MAX_STAGES 6
/// Maximum radix in scratch memory, whose addresses need registers.
#define FFT_LARGE_RADIX 9
/// Maximum number of threads of a thread block.
#define FFT_MAX_THREADS 1024

/// Maximum thread blocks of an FFT_LARGE launch, and ff_fft_memory_size() buffers of each of them.
#define FFT_SCRATCH_BLOCKS  128
#define FFT_SCRATCH_BUFFERS 3

/// Methods of transforming, the fastest first.
enum FFTMethod {
    FFT_DIRECT,                         ///< directly, in shared memory
    FFT_CHIRP,                          ///< with a chirp, in shared memory
    FFT_LARGE,                          ///< in scratch memory, directly or with a chirp
    FFT_NB_METHODS
};

/// Plan of the transforms of one length. Kernels receive it by value.
typedef struct FFTPlan {
    int length;                         ///< values of a line
    int size;                           ///< length of the transforms, above length with a chirp
    int nb_stages;
    int radix[FFT_MAX_STAGES];          ///< 4, 5, 6, 8, 9, 10, 12, 15, 16: factors of size
    unsigned stride_inverse[FFT_MAX_STAGES];    ///< 2^32 / previous radices' product, rounded up
    int threads;                        ///< threads of a thread block, a multiple of 32
} FFTPlan;

/**
 * Plan the transforms of lines of up to 16384 values.
 *
 * @return 1, or 0 if the method is not possible for this length; FFT_LARGE always is. The GPU may
 *         have less shared memory than the plan needs, see ff_fft_memory_size().
 */
int ff_fft_plan(FFTPlan *plan, int length, enum FFTMethod method);

/// Return the size in bytes of the shared memory, or of one scratch buffer, of a thread block.
static inline size_t ff_fft_memory_size(const FFTPlan *plan)
{
    return (size_t)plan->size * FFT_LANES * 2 * sizeof(float);
}

/**
 * Return the number of complex values in the table of a plan: size powers of the size-th root of
 * unity and, with a chirp, its length values and the size values of its filter.
 */
static inline size_t ff_fft_table_size(const FFTPlan *plan)
{
    return plan->size == plan->length ? plan->size : 2 * plan->size + plan->length;
}

/**
 * Compute the chirp of Bluestein's algorithm for inverse transforms, and its filter. A forward
 * transform needs the conjugate chirp and the same filter.
 *
 * @param chirp  receives length complex values
 * @param filter receives size complex values: the transform of the conjugate chirp, divided by size
 * @return 0, or a negative AVERROR
 */
int ff_fft_chirp(int length, int size, float (*chirp)[2], float (*filter)[2]);

/**
 * Compute the table of a plan.
 *
 * @param table receives ff_fft_table_size() complex values
 * @return 0, or a negative AVERROR
 */
int ff_fft_table(const FFTPlan *plan, float (*table)[2]);

#endif /* AVFILTER_CUDA_FFT_H */
