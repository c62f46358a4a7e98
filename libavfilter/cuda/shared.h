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
 * Declarations for headers with kernel parameters, which C and CUDA C include: device pointers, and
 * the macros of shared_arith.h.
 */

#ifndef AVFILTER_CUDA_SHARED_H
#define AVFILTER_CUDA_SHARED_H

#include "../shared_arith.h"

/// Pointer to device memory: a typed pointer in kernels, a CUdeviceptr on the host.
#if defined(__CUDACC__) || defined(__CUDA__)
#define DEVICE_PTR(type) type *
#else
#if !defined(__cplusplus) && __has_include(<ffnvcodec/dynlink_cuda.h>)
#include <ffnvcodec/dynlink_cuda.h>
#endif
#define DEVICE_PTR(type) CUdeviceptr
#endif

#endif /* AVFILTER_CUDA_SHARED_H */
