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
 * The host side that the CUDA quality filters share: device, kernels, and a
 * ring of frames whose results are still being computed, so that no frame is
 * waited for.
 */

#ifndef AVFILTER_CUDA_QUALITY_CUDA_H
#define AVFILTER_CUDA_QUALITY_CUDA_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/buffer.h"
#include "libavutil/frame.h"
#include "libavutil/hwcontext_cuda_internal.h"
#include "libavutil/pixdesc.h"

/// A frame in the ring.
typedef struct QualityCUDASlot {
    AVFrame *frame;
    AVFrame *ref;               ///< what it is compared with, or NULL
    AVFrame *previous;          ///< the reference's frame before, or NULL
    uint64_t n;                 ///< the frame's number
    int scored;                 ///< 0 if it only passes through in its turn
    CUevent event;              ///< of the slot
    CUevent done;               ///< after its kernels: the last slot's that were launched with it; NULL before
} QualityCUDASlot;

typedef struct QualityCUDA {
    AVBufferRef *device_ref;
    AVCUDADeviceContext *hwctx;
    CudaFunctions *cu;
    CUmodule module;
    int nb_multiprocessors;

    QualityCUDASlot *slot;
    int nb_slots;
    int first;                  ///< slot of the oldest frame
    int nb_queued;
    int nb_done;                ///< oldest frames that are known to be done
    int64_t pushed, interval;   ///< when the last frame came, and how long after the one before, in us

    size_t result_size;         ///< bytes of a frame's result
    uint8_t *result;            ///< [nb_slots][result_size]
    CUdeviceptr result_device;  ///< where kernels write the same
    int pinned;                 ///< result is memory that the GPU writes to
    CUstream read_stream;       ///< reads results back where it is not
} QualityCUDA;

/**
 * Take a device and load a filter's kernels. May be called again when the
 * frames' size changes: that does nothing while the device stays the same.
 *
 * @param frames_ref  hw_frames_ctx of the input, or NULL if it has none
 * @param ptx         the module, as embedded by FFmpeg's build, and its size
 * @param result_size bytes of a frame's result, a multiple of 8
 * @param nb_slots    frames that may be in flight; 0 for a filter that has no
 *                    results, and needs no ring
 * @return 0, or a negative AVERROR after a message
 */
int ff_quality_cuda_open(QualityCUDA *s, void *logctx, AVBufferRef *frames_ref,
                         const unsigned char *ptx, unsigned ptx_size,
                         size_t result_size, int nb_slots);

/// Wait for what is in flight, drop it, and free all.
void ff_quality_cuda_close(QualityCUDA *s, void *logctx);

/**
 * Check that frames of a software format have luma as the kernels read it: the
 * first component of the first plane, 8 to 16 bits in one or two bytes.
 *
 * @return its descriptor, or NULL after a message
 */
const AVPixFmtDescriptor *ff_quality_cuda_check_format(void *logctx,
                                                       enum AVPixelFormat sw_format);

/**
 * Check that a frame is on the device that was opened.
 *
 * @return 0, or AVERROR(EINVAL) after a message
 */
int ff_quality_cuda_check_frame(const QualityCUDA *s, void *logctx, const AVFrame *frame);

/**
 * Let a kernel be launched with dynamic shared memory.
 *
 * @param size bytes of a thread block
 * @return 1, or 0 if the GPU does not have as much
 */
int ff_quality_cuda_allow_shared(const QualityCUDA *s, CUfunction function, size_t size);

/// Where kernels write the result of the next frame to be pushed.
CUdeviceptr ff_quality_cuda_next_result(const QualityCUDA *s);

/**
 * Queue a frame. The ring must have room.
 *
 * @param frame  now the ring's
 * @param ref,previous now the ring's, too, until the frame's kernels are done; may be
 *               NULL
 * @param scored 0 if no kernels are to be enqueued for it: it only keeps its
 *               place
 */
void ff_quality_cuda_push(QualityCUDA *s, AVFrame *frame, AVFrame *ref, AVFrame *previous,
                          uint64_t n, int scored);

/**
 * Say that the kernels of all frames in the ring are enqueued. Once for many
 * frames costs less than once for each.
 *
 * @return 0, or a negative AVERROR after a message
 */
int ff_quality_cuda_launched(QualityCUDA *s, void *logctx);

/**
 * Whether frames come slowly: then they are launched one by one, as none should
 * wait for the next. A batch takes half of the GPU's time, which counts where
 * many frames come.
 */
int ff_quality_cuda_is_slow(const QualityCUDA *s);

/**
 * Take the oldest frame if its result is there.
 *
 * @param wait   1 to wait for it, if its kernels are enqueued
 * @param frame  set to the frame, now the caller's
 * @param result set to its result, valid until the next push; NULL if it was
 *               not scored
 * @return 1 if there is one, 0 if not yet, or a negative AVERROR after a
 *         message, and then the frame is gone
 */
int ff_quality_cuda_pop(QualityCUDA *s, void *logctx, int wait, AVFrame **frame,
                        uint64_t *n, const void **result);

#endif /* AVFILTER_CUDA_QUALITY_CUDA_H */
