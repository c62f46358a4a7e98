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

#include "libavutil/cuda_check.h"
#include "libavutil/error.h"
#include "libavutil/hwcontext.h"
#include "libavutil/hwcontext_cuda_internal.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"
#include "libavutil/time.h"

#include "load_helper.h"
#include "quality_cuda.h"

/// What the PTX is made for, see Makefile.snippet.
#define MIN_COMPUTE_CAPABILITY 5
/// Time from frame to frame, in us, that is as long as a frame may wait for others.
#define SLOW_INTERVAL 5000
/// Bytes of shared memory that a thread block may have without asking.
#define PLAIN_SHARED_SIZE (48 << 10)

/// @name Not in CudaFunctions
/// @{
#define HOST_ALLOC_PORTABLE  1
#define HOST_ALLOC_DEVICEMAP 2
typedef CUresult CUDAAPI tHostAlloc(void **ptr, size_t size, unsigned flags);
typedef CUresult CUDAAPI tHostGetDevicePointer(CUdeviceptr *device, void *ptr, unsigned flags);
typedef CUresult CUDAAPI tFreeHost(void *ptr);
#define FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES 8
typedef CUresult CUDAAPI tFuncSetAttribute(CUfunction function, int attribute, int value);
/// @}

#define CHECK_CU(x) FF_CUDA_CHECK_DL(logctx, s->cu, x)

/// Memory of the host that kernels write to, where the driver offers it.
static int alloc_pinned(QualityCUDA *s, size_t size)
{
    tHostAlloc *alloc = (tHostAlloc *)FFNV_SYM_FUNC(s->cu->lib, "cuMemHostAlloc");
    tFreeHost *release = (tFreeHost *)FFNV_SYM_FUNC(s->cu->lib, "cuMemFreeHost");
    tHostGetDevicePointer *get_device =
        (tHostGetDevicePointer *)FFNV_SYM_FUNC(s->cu->lib, "cuMemHostGetDevicePointer_v2");
    void *ptr;

    if (!alloc || !release || !get_device ||
        alloc(&ptr, size, HOST_ALLOC_PORTABLE | HOST_ALLOC_DEVICEMAP) != CUDA_SUCCESS)
        return 0;
    if (get_device(&s->result_device, ptr, 0) != CUDA_SUCCESS) {
        release(ptr);
        return 0;
    }
    s->result = ptr;
    return 1;
}

static int alloc_results(QualityCUDA *s, void *logctx)
{
    const size_t size = s->nb_slots * s->result_size;
    int ret;

    s->pinned = alloc_pinned(s, size);
    if (s->pinned)
        return 0;

    av_log(logctx, AV_LOG_VERBOSE, "No pinned memory: results are copied.\n");
    s->result = av_malloc(size);
    if (!s->result)
        return AVERROR(ENOMEM);
    // on a stream of its own, a copy does not wait for the frames behind it
    ret = CHECK_CU(s->cu->cuStreamCreate(&s->read_stream, CU_STREAM_NON_BLOCKING));
    if (ret < 0)
        return ret;
    return CHECK_CU(s->cu->cuMemAlloc(&s->result_device, size));
}

static int check_device(QualityCUDA *s, void *logctx)
{
    CUdevice device;
    int major, ret;

    ret = CHECK_CU(s->cu->cuCtxGetDevice(&device));
    if (ret < 0)
        return ret;
    ret = CHECK_CU(s->cu->cuDeviceGetAttribute(&major,
                   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    if (ret < 0)
        return ret;
    if (major < MIN_COMPUTE_CAPABILITY) {
        av_log(logctx, AV_LOG_ERROR, "The GPU has compute capability %d, but %d.0 (Maxwell) "
               "is needed; use the filter's CPU form.\n", major, MIN_COMPUTE_CAPABILITY);
        return AVERROR(ENOSYS);
    }
    return CHECK_CU(s->cu->cuDeviceGetAttribute(&s->nb_multiprocessors,
                    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
}

static int setup(QualityCUDA *s, void *logctx, const unsigned char *ptx, unsigned ptx_size)
{
    int ret = check_device(s, logctx);

    if (ret < 0)
        return ret;
    ret = ff_cuda_load_module(logctx, s->hwctx, &s->module, ptx, ptx_size);
    if (ret < 0) {
        av_log(logctx, AV_LOG_ERROR, "The driver cannot load the kernels; update it.\n");
        return ret;
    }
    for (int i = 0; i < s->nb_slots; i++) {
        ret = CHECK_CU(s->cu->cuEventCreate(&s->slot[i].event, CU_EVENT_DISABLE_TIMING |
                                                               CU_EVENT_BLOCKING_SYNC));
        if (ret < 0)
            return ret;
    }
    return s->nb_slots ? alloc_results(s, logctx) : 0;
}

int ff_quality_cuda_open(QualityCUDA *s, void *logctx, AVBufferRef *frames_ref,
                         const unsigned char *ptx, unsigned ptx_size,
                         size_t result_size, int nb_slots)
{
    AVHWFramesContext *frames_ctx;
    CUcontext dummy;
    int ret;

    if (!frames_ref) {
        av_log(logctx, AV_LOG_ERROR, "The input has no CUDA frames; decode with "
               "-hwaccel cuda -hwaccel_output_format cuda, or insert hwupload_cuda.\n");
        return AVERROR(EINVAL);
    }
    frames_ctx = (AVHWFramesContext *)frames_ref->data;
    if (s->device_ref && s->device_ref->data == frames_ctx->device_ref->data)
        return 0;
    ff_quality_cuda_close(s, logctx);

    s->device_ref = av_buffer_ref(frames_ctx->device_ref);
    s->slot       = nb_slots ? av_calloc(nb_slots, sizeof(*s->slot)) : NULL;
    if (!s->device_ref || (nb_slots && !s->slot)) {
        ff_quality_cuda_close(s, logctx);
        return AVERROR(ENOMEM);
    }
    s->hwctx       = frames_ctx->device_ctx->hwctx;
    s->cu          = s->hwctx->internal->cuda_dl;
    s->result_size = result_size;
    s->nb_slots    = nb_slots;

    ret = CHECK_CU(s->cu->cuCtxPushCurrent(s->hwctx->cuda_ctx));
    if (ret >= 0) {
        ret = setup(s, logctx, ptx, ptx_size);
        CHECK_CU(s->cu->cuCtxPopCurrent(&dummy));
    }
    if (ret < 0)
        ff_quality_cuda_close(s, logctx);
    return ret;
}

static void free_results(QualityCUDA *s, void *logctx)
{
    if (s->pinned) {
        tFreeHost *release = (tFreeHost *)FFNV_SYM_FUNC(s->cu->lib, "cuMemFreeHost");

        release(s->result);
    } else {
        av_free(s->result);
        if (s->result_device)
            CHECK_CU(s->cu->cuMemFree(s->result_device));
    }
    if (s->read_stream)
        CHECK_CU(s->cu->cuStreamDestroy(s->read_stream));
}

void ff_quality_cuda_close(QualityCUDA *s, void *logctx)
{
    CUcontext dummy;

    if (s->cu && CHECK_CU(s->cu->cuCtxPushCurrent(s->hwctx->cuda_ctx)) >= 0) {
        // after an error there is nothing left to wait for
        s->cu->cuStreamSynchronize(s->hwctx->stream);
        for (int i = 0; i < s->nb_slots; i++)
            if (s->slot[i].event)
                CHECK_CU(s->cu->cuEventDestroy(s->slot[i].event));
        free_results(s, logctx);
        if (s->module)
            CHECK_CU(s->cu->cuModuleUnload(s->module));
        CHECK_CU(s->cu->cuCtxPopCurrent(&dummy));
    }
    for (int i = 0; i < s->nb_slots; i++) {
        av_frame_free(&s->slot[i].frame);
        av_frame_free(&s->slot[i].ref);
        av_frame_free(&s->slot[i].previous);
    }
    av_freep(&s->slot);
    av_buffer_unref(&s->device_ref);
    *s = (QualityCUDA){ 0 };
}

const AVPixFmtDescriptor *ff_quality_cuda_check_format(void *logctx,
                                                       enum AVPixelFormat sw_format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(sw_format);
    const AVComponentDescriptor *luma = &desc->comp[0];

    if (desc->flags & (AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_PAL) ||
        luma->plane || luma->offset || luma->depth < 8 || luma->depth > 16 ||
        luma->step != (luma->depth + 7) / 8) {
        av_log(logctx, AV_LOG_ERROR, "CUDA frames of %s are not supported; insert "
               "scale_cuda=format=nv12.\n", desc->name);
        return NULL;
    }
    return desc;
}

int ff_quality_cuda_check_frame(const QualityCUDA *s, void *logctx, const AVFrame *frame)
{
    const AVHWFramesContext *frames_ctx;

    if (!frame->hw_frames_ctx) {
        av_log(logctx, AV_LOG_ERROR, "A frame is not on the GPU.\n");
        return AVERROR(EINVAL);
    }
    frames_ctx = (AVHWFramesContext *)frame->hw_frames_ctx->data;
    if (frames_ctx->device_ref->data != s->device_ref->data) {
        av_log(logctx, AV_LOG_ERROR, "A frame is on another CUDA device than the filter's "
               "input was configured with; use one device for both.\n");
        return AVERROR(EINVAL);
    }
    return 0;
}

int ff_quality_cuda_allow_shared(const QualityCUDA *s, CUfunction function, size_t size)
{
    tFuncSetAttribute *set = (tFuncSetAttribute *)FFNV_SYM_FUNC(s->cu->lib, "cuFuncSetAttribute");

    return size <= PLAIN_SHARED_SIZE ||
           set && set(function, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, size) == CUDA_SUCCESS;
}

/// The slot of a frame in the ring, 0 is the oldest.
static QualityCUDASlot *queued_slot(const QualityCUDA *s, int i)
{
    return &s->slot[(s->first + i) % s->nb_slots];
}

static size_t result_offset(const QualityCUDA *s, const QualityCUDASlot *slot)
{
    return (slot - s->slot) * s->result_size;
}

CUdeviceptr ff_quality_cuda_next_result(const QualityCUDA *s)
{
    return s->result_device + result_offset(s, queued_slot(s, s->nb_queued));
}

void ff_quality_cuda_push(QualityCUDA *s, AVFrame *frame, AVFrame *ref, AVFrame *previous,
                          uint64_t n, int scored)
{
    QualityCUDASlot *slot = queued_slot(s, s->nb_queued);
    const int64_t now = av_gettime_relative();

    s->interval    = now - s->pushed;
    s->pushed      = now;
    slot->frame    = frame;
    slot->ref      = ref;
    slot->previous = previous;
    slot->n        = n;
    slot->scored   = scored;
    slot->done     = NULL;
    s->nb_queued++;
}

int ff_quality_cuda_launched(QualityCUDA *s, void *logctx)
{
    CUevent done = NULL;
    CUcontext dummy;
    int ret;

    for (int i = s->nb_done; i < s->nb_queued; i++) {
        QualityCUDASlot *slot = queued_slot(s, i);

        if (slot->scored && !slot->done)
            done = slot->event;
    }
    if (!done)
        return 0;
    ret = CHECK_CU(s->cu->cuCtxPushCurrent(s->hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = CHECK_CU(s->cu->cuEventRecord(done, s->hwctx->stream));
    CHECK_CU(s->cu->cuCtxPopCurrent(&dummy));
    for (int i = s->nb_done; i < s->nb_queued && ret >= 0; i++) {
        QualityCUDASlot *slot = queued_slot(s, i);

        if (slot->scored && !slot->done)
            slot->done = done;
    }
    return ret;
}

int ff_quality_cuda_is_slow(const QualityCUDA *s)
{
    return s->interval > SLOW_INTERVAL;
}

/// Read the results of the frames that were launched with the oldest, as those are done.
static int fetch_results(QualityCUDA *s, void *logctx)
{
    const CUevent done = queued_slot(s, 0)->done;
    int ret = 0, copied = 0;

    for (s->nb_done = 0; s->nb_done < s->nb_queued && ret >= 0; s->nb_done++) {
        const QualityCUDASlot *slot = queued_slot(s, s->nb_done);

        if (slot->scored && slot->done != done)
            break;
        if (slot->scored && !s->pinned) {
            ret = CHECK_CU(s->cu->cuMemcpyDtoHAsync(s->result + result_offset(s, slot),
                                                    s->result_device + result_offset(s, slot),
                                                    s->result_size, s->read_stream));
            copied = 1;
        }
    }
    if (copied && ret >= 0)
        ret = CHECK_CU(s->cu->cuStreamSynchronize(s->read_stream));
    if (ret < 0)
        s->nb_done = 0;
    return ret;
}

/// @return 1 if the oldest frame's result is there, 0 if not yet, or a negative AVERROR
static int check_oldest(QualityCUDA *s, void *logctx, int wait)
{
    const QualityCUDASlot *slot = queued_slot(s, 0);
    CUcontext dummy;
    CUresult status;
    int ret;

    if (s->nb_done || !slot->scored)
        return 1;
    if (!slot->done)
        return 0;
    ret = CHECK_CU(s->cu->cuCtxPushCurrent(s->hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    status = s->cu->cuEventQuery(slot->done);
    if (status == CUDA_ERROR_NOT_READY && wait)
        status = s->cu->cuEventSynchronize(slot->done);
    if (status != CUDA_ERROR_NOT_READY) {
        ret = CHECK_CU(status);
        if (ret < 0)
            av_log(logctx, AV_LOG_ERROR, "The GPU failed while frame %"PRIu64" was scored.\n",
                   slot->n);
        else
            ret = fetch_results(s, logctx);
        ret = ret < 0 ? ret : 1;
    }
    CHECK_CU(s->cu->cuCtxPopCurrent(&dummy));
    return ret;
}

int ff_quality_cuda_pop(QualityCUDA *s, void *logctx, int wait, AVFrame **frame,
                        uint64_t *n, const void **result)
{
    QualityCUDASlot *slot;
    int ret;

    if (!s->nb_queued)
        return 0;
    ret = check_oldest(s, logctx, wait);
    if (!ret)
        return 0;

    slot    = queued_slot(s, 0);
    *frame  = slot->frame;
    *n      = slot->n;
    *result = slot->scored ? s->result + result_offset(s, slot) : NULL;
    slot->frame = NULL;
    av_frame_free(&slot->ref);
    av_frame_free(&slot->previous);
    s->first    = (s->first + 1) % s->nb_slots;
    s->nb_queued--;
    s->nb_done  = FFMAX(s->nb_done - 1, 0);
    if (ret < 0)
        av_frame_free(frame);
    return ret;
}
