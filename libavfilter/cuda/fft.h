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
 * Inverse transforms that kernels do by themselves, in shared memory (fft.cuh):
 * what comes before them and what comes after needs no way through the GPU's
 * memory then. For sizes without prime factors beyond 5, as those of video.
 */

#ifndef AVFILTER_CUDA_FFT_H
#define AVFILTER_CUDA_FFT_H

#include <stddef.h>

/// Transforms that a thread block does side by side.
#define FFT_LANES 4
/// Values that a thread has at once.
#define FFT_EACH 16
#define FFT_MAX_STAGES 4
#define FFT_MAX_THREADS 1024

/// The way to transform a size.
typedef struct FFTPlan {
    int size;
    int nb_stages;                      ///< 0: there is none
    int radix[FFT_MAX_STAGES];          ///< 4, 5, 6, 8, 9, 10, 12, 15 or 16; their product is the size
    unsigned inverse[FFT_MAX_STAGES];   ///< of the product of the radices before, in 32 bits of fraction
    int threads;                        ///< of a thread block
} FFTPlan;

/**
 * Find the way to transform a size.
 *
 * @return 1, or 0 if there is none: the size is no product of up to FFT_MAX_STAGES
 *         radices, or needs more than FFT_MAX_THREADS threads
 */
int ff_fft_plan(FFTPlan *plan, int size);

/// Bytes of shared memory that a thread block needs.
static inline size_t ff_fft_shared_size(const FFTPlan *plan)
{
    return (size_t)plan->size * FFT_LANES * 2 * sizeof(float);
}

#endif /* AVFILTER_CUDA_FFT_H */
