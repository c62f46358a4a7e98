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
 * cuFFT, the library of the CUDA toolkit, opened at run time: nothing is linked,
 * and nothing of the toolkit is needed to build.
 */

#ifndef AVFILTER_CUDA_CUFFT_H
#define AVFILTER_CUDA_CUFFT_H

#include <stddef.h>

#include "libavutil/hwcontext_cuda_internal.h"

/// Kinds of transforms of single precision, as cuFFT names them.
enum CUFFTType {
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_C2C = 0x29,
};

typedef struct CUFFT {
    const char *name;           ///< of the library, NULL if it is not loaded
    int (CUDAAPI *Create)(int *plan);
    int (CUDAAPI *Destroy)(int plan);
    int (CUDAAPI *SetAutoAllocation)(int plan, int on);
    int (CUDAAPI *MakePlanMany)(int plan, int rank, int *size,
                                int *in_size, int in_stride, int in_distance,
                                int *out_size, int out_stride, int out_distance,
                                int type, int batch, size_t *work_size);
    int (CUDAAPI *SetWorkArea)(int plan, void *work);
    int (CUDAAPI *SetStream)(int plan, CUstream stream);
    int (CUDAAPI *ExecR2C)(int plan, void *in, void *out);
    int (CUDAAPI *ExecC2R)(int plan, void *in, void *out);
    int (CUDAAPI *ExecC2C)(int plan, void *in, void *out, int direction);
} CUFFT;

typedef struct CUFFTPlan {
    int handle;
    int made;                   ///< handle is one
    enum CUFFTType type;
} CUFFTPlan;

/// What of an array is transformed, in elements.
typedef struct CUFFTLayout {
    int pitch;                  ///< from row to row
    int distance;               ///< from transform to transform
} CUFFTLayout;

/**
 * Load the library. It stays loaded until the process ends, since it registers
 * its kernels with CUDA.
 *
 * @return 0, or AVERROR(ENOSYS) after a message
 */
int ff_cufft_load(CUFFT *s, void *logctx);

/**
 * Make a plan of transforms of two dimensions, that works on a stream. The CUDA
 * context is to be current.
 *
 * @param batch     number of transforms
 * @param work_size raised to the bytes of the work area that the plan is to be
 *                  given
 * @return 0, or a negative AVERROR after a message
 */
int ff_cufft_plan(const CUFFT *s, void *logctx, CUFFTPlan *plan, CUstream stream,
                  enum CUFFTType type, int rows, int columns, CUFFTLayout in,
                  CUFFTLayout out, int batch, size_t *work_size);

/// Give a plan its work area, which it may share with others of its stream.
int ff_cufft_set_work(const CUFFT *s, void *logctx, const CUFFTPlan *plan, CUdeviceptr work);

/// Enqueue the transforms; those of complex numbers are inverse ones.
int ff_cufft_exec(const CUFFT *s, void *logctx, const CUFFTPlan *plan, CUdeviceptr in,
                  CUdeviceptr out);

/// Free a plan, if it is made. The CUDA context is to be current.
void ff_cufft_free(const CUFFT *s, void *logctx, CUFFTPlan *plan);

#endif /* AVFILTER_CUDA_CUFFT_H */
