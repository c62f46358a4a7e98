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
 * Host side of CAMBI on CUDA, for the filters that have its kernels. Their frames are VMAFCUDAPair, of
 * which the luma of the main input is read.
 */

#ifndef AVFILTER_VMAF_CAMBI_CUDA_HOST_H
#define AVFILTER_VMAF_CAMBI_CUDA_HOST_H

#include <stddef.h>

#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "cuda/async.h"
#include "sample_format.h"
#include "vf_vmaf_cambi_cuda.h"
#include "vf_vmaf_cuda.h"
#include "vmaf_cambi.h"

/// Device memory that a batch of more than one pair may take, in bytes.
#define VMAF_CUDA_MAX_MEMORY (768 << 20)

typedef struct CAMBICUDAContext {
    CUfunction prepare, filter, contrast, select;
    CUdeviceptr memory;
    CAMBICUDAParams params;
} CAMBICUDAContext;

/// Kernels of CAMBI; offset is that of the CAMBICUDAContext in the filter's context.
#define CAMBI_CUDA_KERNELS(offset)                                                          \
    { "vmaf_cambi_prepare",  (offset) + offsetof(CAMBICUDAContext, prepare)  },             \
    { "vmaf_cambi_filter",   (offset) + offsetof(CAMBICUDAContext, filter)   },             \
    { "vmaf_cambi_contrast", (offset) + offsetof(CAMBICUDAContext, contrast) },             \
    { "vmaf_cambi_select",   (offset) + offsetof(CAMBICUDAContext, select)   },             \
    { NULL }

/// Lookup tables for pictures of one size, in device memory.
typedef struct CAMBICUDATables {
    float reciprocal[CAMBI_MAX_WINDOW * CAMBI_MAX_WINDOW + 1];
    int src_x[LUMA_MAX_SIZE], src_y[LUMA_MAX_SIZE];
} CAMBICUDATables;

/// Fill tables for frames of width x height.
void ff_vmaf_cambi_cuda_tables(CAMBICUDATables *dst, const CAMBIDims *dims, int width, int height);

/// Return the bytes of device memory for a pair.
size_t ff_vmaf_cambi_cuda_size(const CAMBIDims *dims);

/// Allocate size bytes for each pair of a batch. @return 0, or a negative AVERROR after a message
int ff_vmaf_cambi_cuda_alloc(AVFilterContext *ctx, CAMBICUDAContext *s, size_t size);

/**
 * Enqueue the kernels of a batch.
 *
 * @param is_scaled whether the frames have another size than the encode
 * @param tables    a CAMBICUDATables
 * @param result_at offset of the means of the scales, double[CAMBI_SCALES], in the result of a pair
 */
int ff_vmaf_cambi_cuda_launch(AVFilterContext *ctx, CAMBICUDAContext *s, const CAMBIDims *dims,
                              int is_scaled, CUdeviceptr tables, int result_at);

/// Describe a component of a frame, whose samples are compared with depth bits.
VMAFCUDAPlane ff_vmaf_cuda_plane(const AVFrame *frame, int component, int depth);

#endif /* AVFILTER_VMAF_CAMBI_CUDA_HOST_H */
