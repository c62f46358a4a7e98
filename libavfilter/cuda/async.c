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

#include "libavutil/avassert.h"
#include "libavutil/cuda_check.h"
#include "libavutil/error.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mem.h"
#include "libavutil/time.h"

#include "libavfilter/filters.h"
#include "libavfilter/sample_format.h"

#include "async.h"
#include "load_helper.h"        // needs what async.h includes

/// What the PTX is made for, see Makefile.snippet.
#define MIN_COMPUTE_CAPABILITY 5
/// If frames come at larger intervals, in us, they do not wait for a full batch.
#define SLOW_INTERVAL 5000
/// Bytes of shared memory that a thread block has without cuFuncSetAttribute().
#define PLAIN_SHARED_SIZE (48 << 10)

/// @name Not in CudaFunctions
/// @{
#define HOST_ALLOC_PORTABLE  1
#define HOST_ALLOC_DEVICEMAP 2
typedef CUresult CUDAAPI tHostAlloc(void **ptr, size_t size, unsigned flags);
typedef CUresult CUDAAPI tFreeHost(void *ptr);
#define FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES 8
typedef CUresult CUDAAPI tFuncSetAttribute(CUfunction function, int attribute, int value);
typedef CUresult CUDAAPI tStreamCreate(CUstream *stream, unsigned flags, int priority);

#define DRIVER_FUNCTION(type, name) ((type *)FFNV_SYM_FUNC(q->cu->lib, name))
/// @}

#define CHECK_CU(x) FF_CUDA_CHECK_DL(ctx, q->cu, x)

// ---- the device ----

int ff_cuda_queue_enter(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;

    return CHECK_CU(q->cu->cuCtxPushCurrent(q->hwctx->cuda_ctx));
}

void ff_cuda_queue_leave(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    CUcontext dummy;

    CHECK_CU(q->cu->cuCtxPopCurrent(&dummy));
}

int ff_cuda_queue_alloc(AVFilterContext *ctx, CUdeviceptr *memory, size_t size)
{
    CUDAQueue *q = ctx->priv;
    int i, ret;

    if (!size)
        return 0;
    for (i = 0; q->memory[i] && q->memory[i] != memory; i++)
        av_assert0(i + 1 < CUDA_QUEUE_MAX_MEMORY);
    q->memory[i] = memory;
    if (*memory) {
        // this waits for kernels that still use it
        ret = CHECK_CU(q->cu->cuMemFree(*memory));
        *memory = 0;
        if (ret < 0)
            return ret;
    }
    ret = CHECK_CU(q->cu->cuMemAlloc(memory, size));
    if (ret < 0)
        return ret;
    return CHECK_CU(q->cu->cuMemsetD8Async(*memory, 0, size, q->hwctx->stream));
}

int ff_cuda_queue_upload(AVFilterContext *ctx, CUdeviceptr dst, const void *src, size_t size)
{
    CUDAQueue *q = ctx->priv;
    int ret = CHECK_CU(q->cu->cuMemcpyHtoDAsync(dst, src, size, q->hwctx->stream));

    return ret < 0 ? ret : CHECK_CU(q->cu->cuStreamSynchronize(q->hwctx->stream));
}

int ff_cuda_queue_launch(AVFilterContext *ctx, CUfunction function, int grid_x, int grid_y,
                         int block_x, int block_y, unsigned shared_size, void *params)
{
    CUDAQueue *q = ctx->priv;

    return CHECK_CU(q->cu->cuLaunchKernel(function, grid_x, grid_y, 1, block_x, block_y, 1,
                                          shared_size, q->stream, (void *[]){ params }, NULL));
}

/// Let a branch wait for a stream.
static int wait_for_stream(AVFilterContext *ctx, int i, CUstream stream)
{
    CUDAQueue *q = ctx->priv;
    CudaFunctions *cu = q->cu;
    tStreamCreate *create = DRIVER_FUNCTION(tStreamCreate, "cuStreamCreateWithPriority");
    int ret = 0;

    // 0 is the priority of other streams
    if (!q->branch[i].stream)
        ret = create ? CHECK_CU(create(&q->branch[i].stream, CU_STREAM_NON_BLOCKING,
                                       i - CUDA_QUEUE_MAX_BRANCHES)) : AVERROR(ENOSYS);
    if (ret >= 0 && !q->branch[i].event)
        ret = CHECK_CU(cu->cuEventCreate(&q->branch[i].event, CU_EVENT_DISABLE_TIMING));
    if (ret >= 0)
        ret = CHECK_CU(cu->cuEventRecord(q->branch[i].event, stream));
    return ret < 0 ? ret : CHECK_CU(cu->cuStreamWaitEvent(q->branch[i].stream,
                                                          q->branch[i].event, 0));
}

int ff_cuda_queue_branch(AVFilterContext *ctx, int i)
{
    CUDAQueue *q = ctx->priv;
    int ret = wait_for_stream(ctx, i, q->hwctx->stream);

    q->stream = q->branch[i].stream;
    q->branch[i].is_used = 1;
    return ret;
}

/// Go on in a stream where all of the batch has been enqueued.
static int join_branches(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    int ret = 0;

    for (int i = 1; i <= CUDA_QUEUE_MAX_BRANCHES && ret >= 0; i++) {
        if (!q->branch[i].is_used)
            continue;
        ret = wait_for_stream(ctx, 0, q->branch[i].stream);
        q->stream = q->branch[0].stream;
        q->branch[i].is_used = 0;
    }
    return ret;
}

int ff_cuda_queue_allow_shared(AVFilterContext *ctx, CUfunction function, size_t size)
{
    CUDAQueue *q = ctx->priv;
    tFuncSetAttribute *set = DRIVER_FUNCTION(tFuncSetAttribute, "cuFuncSetAttribute");

    return size <= PLAIN_SHARED_SIZE ||
           set && set(function, FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES, size) == CUDA_SUCCESS;
}

// ---- frames ----

int ff_cuda_queue_check_device(AVFilterContext *ctx, const AVFrame *frame)
{
    const CUDAQueue *q = ctx->priv;

    if (frame->hw_frames_ctx && ((AVHWFramesContext *)frame->hw_frames_ctx->data)->device_ref->data
                                == q->device_ref->data)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "A frame is not on the CUDA device of the filter: insert "
           "hwdownload,format=%s,hwupload before this filter.\n",
           av_get_pix_fmt_name(luma_sw_format(frame)));
    return AVERROR(EINVAL);
}

const AVPixFmtDescriptor *ff_cuda_queue_format(const AVBufferRef *frames_ref)
{
    return av_pix_fmt_desc_get(((AVHWFramesContext *)frames_ref->data)->sw_format);
}

CUdeviceptr ff_cuda_queue_plane(const AVFrame *frame, int component)
{
    const AVPixFmtDescriptor *desc    = ff_cuda_queue_format(frame->hw_frames_ctx);
    const AVComponentDescriptor *comp = &desc->comp[component];
    const int x = frame->crop_left >> (component ? desc->log2_chroma_w : 0);
    const int y = frame->crop_top  >> (component ? desc->log2_chroma_h : 0);

    return (CUdeviceptr)frame->data[comp->plane] + y * frame->linesize[comp->plane] +
           x * comp->step;
}

// ---- opening and closing ----

/// Allocate host memory that the device reads and writes: it has the same address for kernels.
static int alloc_pinned(AVFilterContext *ctx, uint8_t **memory, size_t size)
{
    CUDAQueue *q = ctx->priv;
    tHostAlloc *alloc = DRIVER_FUNCTION(tHostAlloc, "cuMemHostAlloc");

    if (!alloc || !DRIVER_FUNCTION(tFreeHost, "cuMemFreeHost")) {
        av_log(ctx, AV_LOG_ERROR, "The driver has no pinned memory; update it.\n");
        return AVERROR(ENOSYS);
    }
    return CHECK_CU(alloc((void **)memory, size, HOST_ALLOC_PORTABLE | HOST_ALLOC_DEVICEMAP));
}

static int alloc_ring(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    int ret;

    q->slot   = av_calloc(q->size, sizeof(*q->slot));
    q->states = av_calloc(q->size, FFMAX(q->filter->state_size, 1));
    if (!q->slot || !q->states)
        return AVERROR(ENOMEM);
    for (int i = 0; i < q->size; i++) {
        q->slot[i].state = q->states + i * q->filter->state_size;
        ret = CHECK_CU(q->cu->cuEventCreate(&q->slot[i].event, CU_EVENT_DISABLE_TIMING |
                                                               CU_EVENT_BLOCKING_SYNC));
        if (ret < 0)
            return ret;
    }
    ret = alloc_pinned(ctx, &q->result, q->size * q->filter->result_size);
    if (ret < 0 || !q->filter->args_size)
        return ret;
    ret = alloc_pinned(ctx, &q->args, 2 * q->size * q->filter->args_size);
    return ret < 0 ? ret : ff_cuda_queue_alloc(ctx, &q->device_args,
                                               2 * q->size * q->filter->args_size);
}

static int check_device(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    CUdevice device;
    int major, minor, ret;

    if ((ret = CHECK_CU(q->cu->cuCtxGetDevice(&device))) < 0 ||
        (ret = CHECK_CU(q->cu->cuDeviceGetAttribute(&major,
                        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device))) < 0 ||
        (ret = CHECK_CU(q->cu->cuDeviceGetAttribute(&minor,
                        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device))) < 0)
        return ret;
    // P100, V100, A100, H100, B200
    q->has_fast_double = major >= 6 && major <= 10 && !minor;
    if (major < MIN_COMPUTE_CAPABILITY) {
        av_log(ctx, AV_LOG_ERROR, "The GPU has compute capability %d, but %d.0 (Maxwell) "
               "is needed; use the filter's CPU form.\n", major, MIN_COMPUTE_CAPABILITY);
        return AVERROR(ENOSYS);
    }
    return CHECK_CU(q->cu->cuDeviceGetAttribute(&q->nb_multiprocessors,
                    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device));
}

int ff_cuda_queue_load(AVFilterContext *ctx, const CUDAQueueModule *module)
{
    CUDAQueue *q = ctx->priv;
    CUmodule *loaded = q->module;
    int ret;

    while (*loaded) {
        loaded++;
        av_assert0(loaded < q->module + CUDA_QUEUE_MAX_MODULES);
    }
    ret = ff_cuda_load_module(ctx, q->hwctx, loaded, module->ptx, *module->ptx_size);
    if (ret < 0) {
        av_log(ctx, AV_LOG_ERROR, "The driver cannot load the kernels; update it.\n");
        return ret;
    }
    for (const CUDAQueueKernel *k = module->kernel; k->name && ret >= 0; k++)
        ret = CHECK_CU(q->cu->cuModuleGetFunction((CUfunction *)((uint8_t *)q + k->function),
                                                  *loaded, k->name));
    return ret;
}

static int check_inputs(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    const AVHWFramesContext *frames = NULL;
    const uint8_t *device = NULL;

    for (int i = ctx->nb_inputs - 1; i >= 0; i--) {
        const AVBufferRef *ref = ff_filter_link(ctx->inputs[i])->hw_frames_ctx;
        const AVPixFmtDescriptor *desc;

        if (!ref) {
            av_log(ctx, AV_LOG_ERROR, "The input has no CUDA frames; decode with "
                   "-hwaccel cuda -hwaccel_output_format cuda, or insert hwupload_cuda.\n");
            return AVERROR(EINVAL);
        }
        frames = (const AVHWFramesContext *)ref->data;
        desc   = av_pix_fmt_desc_get(frames->sw_format);
        if (!luma_is_supported(desc)) {
            av_log(ctx, AV_LOG_ERROR, "CUDA frames of %s are not supported; insert "
                   "scale_cuda=format=nv12.\n", desc->name);
            return AVERROR(ENOSYS);
        }
        if (device && device != frames->device_ref->data) {
            av_log(ctx, AV_LOG_ERROR, "The inputs are on two CUDA devices; use one for both, by "
                   "-init_hw_device cuda=gpu with -hwaccel_device gpu before each input, or with "
                   "-filter_hw_device gpu and hwupload.\n");
            return AVERROR(EINVAL);
        }
        device = frames->device_ref->data;
    }

    q->device_ref = av_buffer_ref(frames->device_ref);
    if (!q->device_ref)
        return AVERROR(ENOMEM);
    q->hwctx = frames->device_ctx->hwctx;
    q->cu    = q->hwctx->internal->cuda_dl;
    q->stream = q->hwctx->stream;
    return 0;
}

int ff_cuda_queue_config_input(AVFilterLink *inlink)
{
    AVFilterContext *ctx = inlink->dst;
    CUDAQueue *queue = ctx->priv;
    const CUDAQueueFilter *filter = queue->filter;
    int ret;

    if ((ret = check_inputs(ctx)) < 0 ||
        (ret = ctx->nb_inputs == 1 ? ff_luma_config(inlink) : 0) < 0 ||
        (ret = filter->check ? filter->check(ctx) : 0) < 0 ||
        (ret = ff_cuda_queue_enter(ctx)) < 0)
        return ret;
    if ((ret = check_device(ctx)) >= 0 && (ret = ff_cuda_queue_load(ctx, &filter->module)) >= 0 &&
        (ret = filter->result_size ? alloc_ring(ctx) : 0) >= 0)
        ret = filter->setup ? filter->setup(ctx) : 0;
    ff_cuda_queue_leave(ctx);
    return ret;
}

static void free_device(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;

    // after an error there is nothing left to wait for
    q->cu->cuStreamSynchronize(q->hwctx->stream);
    for (int i = 0; i < FF_ARRAY_ELEMS(q->branch); i++) {
        if (q->branch[i].event)
            CHECK_CU(q->cu->cuEventDestroy(q->branch[i].event));
        if (q->branch[i].stream) {
            q->cu->cuStreamSynchronize(q->branch[i].stream);
            CHECK_CU(q->cu->cuStreamDestroy(q->branch[i].stream));
        }
    }
    for (int i = 0; q->slot && i < q->size; i++)
        if (q->slot[i].event)
            CHECK_CU(q->cu->cuEventDestroy(q->slot[i].event));
    for (int i = 0; i < CUDA_QUEUE_MAX_MEMORY && q->memory[i]; i++)
        if (*q->memory[i])
            CHECK_CU(q->cu->cuMemFree(*q->memory[i]));
    if (q->result)
        DRIVER_FUNCTION(tFreeHost, "cuMemFreeHost")(q->result);
    if (q->args)
        DRIVER_FUNCTION(tFreeHost, "cuMemFreeHost")(q->args);
    for (int i = 0; i < CUDA_QUEUE_MAX_MODULES && q->module[i]; i++)
        CHECK_CU(q->cu->cuModuleUnload(q->module[i]));
}

// ---- the ring ----

/// The slot of frame i in the ring; 0 is the oldest.
static CUDAQueueSlot *queued_slot(const CUDAQueue *q, int i)
{
    return &q->slot[(q->first + i) % q->size];
}

static size_t result_offset(const CUDAQueue *q, const CUDAQueueSlot *slot)
{
    return (slot - q->slot) * q->filter->result_size;
}

CUdeviceptr ff_cuda_queue_next_result(AVFilterContext *ctx)
{
    const CUDAQueue *q = ctx->priv;

    return (uintptr_t)q->result + result_offset(q, queued_slot(q, q->nb_queued));
}

/**
 * The arguments of a batch begin at the index of its first frame's slot and have no gaps, as a copy
 * needs it. So they reach beyond the ring, but not to those of another batch in flight: there are
 * no more than slots from its first to its last frame, which leave after the first.
 */
void *ff_cuda_queue_next_args(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;

    if (!q->nb_batch)
        q->first_args = queued_slot(q, q->nb_queued) - q->slot;
    return q->args + (q->first_args + q->nb_batch) * q->filter->args_size;
}

/// Copy the arguments of the batch to the device, before what is enqueued from here on.
static int upload_args(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    const size_t offset = q->first_args * q->filter->args_size;

    if (!q->filter->args_size)
        return 0;
    q->batch_args = q->device_args + offset;
    return CHECK_CU(q->cu->cuMemcpyHtoDAsync(q->batch_args, q->args + offset,
                                             q->nb_batch * q->filter->args_size,
                                             q->hwctx->stream));
}

static void free_frames(CUDAQueueSlot *slot)
{
    av_frame_free(&slot->frame);
    av_frame_free(&slot->output);
    for (int i = 0; i < FF_ARRAY_ELEMS(slot->kept); i++)
        av_frame_free(&slot->kept[i]);
}

/// @return 1 if the result of a frame is there, 0 if not yet, or a negative AVERROR
static int check_result(AVFilterContext *ctx, const CUDAQueueSlot *slot, int wait)
{
    CUDAQueue *q = ctx->priv;
    CUresult status;
    int ret;

    if (!slot->scored)
        return 1;
    if (!slot->done)
        return 0;
    status = q->cu->cuEventQuery(slot->done);
    if (status == CUDA_ERROR_NOT_READY && wait)
        status = q->cu->cuEventSynchronize(slot->done);
    if (status == CUDA_ERROR_NOT_READY)
        return 0;
    ret = CHECK_CU(status);
    if (ret < 0)
        av_log(ctx, AV_LOG_ERROR, "The GPU failed while frame %"PRIu64" was scored.\n", slot->n);
    return ret < 0 ? ret : 1;
}

// ---- frames come and go ----

int ff_cuda_queue_flush(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    CUevent done = NULL;
    int ret;

    if (!q->nb_batch)
        return 0;
    ret = upload_args(ctx);
    if (ret >= 0)
        ret = q->filter->launch(ctx);
    if (ret >= 0)
        ret = join_branches(ctx);
    q->nb_batch = 0;
    // one event for all frames of the batch, the last one's: one for each costs more
    for (int i = q->nb_queued - 1; i >= 0 && ret >= 0; i--) {
        CUDAQueueSlot *slot = queued_slot(q, i);

        if (!slot->scored || slot->done)
            continue;
        if (!done) {
            ret = CHECK_CU(q->cu->cuEventRecord(slot->event, q->stream));
            if (ret < 0)
                return ret;
            done = slot->event;
        }
        slot->done = done;
    }
    return ret;
}

/// Pass on a frame, or free it where nobody takes it.
static int leave(AVFilterContext *ctx, AVFrame *frame, int pass_on)
{
    if (pass_on)
        return ff_filter_frame(ctx->outputs[0], frame);
    av_frame_free(&frame);
    return 0;
}

/// The same with those that the filter has held.
static int leave_held(AVFilterContext *ctx, int ended, int pass_on)
{
    const CUDAQueue *q = ctx->priv;
    AVFrame *frame;
    int ret;

    while ((ret = q->filter->get(ctx, &frame, ended)) > 0)
        if ((ret = leave(ctx, frame, pass_on)) < 0)
            break;
    return ret;
}

/**
 * Report the frames whose results are there, and pass them on.
 *
 * @param max_left if more frames are in the ring, launch the batch, and wait until no
 *                 more than these are left
 * @param pass_on  0 to free the frames
 */
static int deliver(AVFilterContext *ctx, int max_left, int pass_on)
{
    CUDAQueue *q = ctx->priv;
    int ret = q->nb_queued > max_left ? ff_cuda_queue_flush(ctx) : 0;

    while (q->nb_queued && ret >= 0) {
        CUDAQueueSlot *slot = queued_slot(q, 0);
        AVFrame *frame = NULL;

        ret = check_result(ctx, slot, q->nb_queued > max_left);
        if (!ret)
            return 0;
        if (slot->output)
            FFSWAP(AVFrame *, slot->frame, slot->output);
        if (ret > 0) {
            q->n     = slot->n;
            q->state = slot->state;
            ret = q->filter->report(ctx, slot->frame,
                                    slot->scored ? q->result + result_offset(q, slot) : NULL);
        }
        // after an error, uninit() does not report the frames behind it
        q->failed = ret < 0;
        if (ret >= 0 && !q->filter->get)
            FFSWAP(AVFrame *, frame, slot->frame);
        free_frames(slot);
        q->first = (q->first + 1) % q->size;
        q->nb_queued--;
        if (frame)
            ret = leave(ctx, frame, pass_on);
        else if (ret >= 0)
            ret = leave_held(ctx, 0, pass_on);
    }
    if (ret >= 0 && q->filter->get && (q->eof || q->drained))
        ret = leave_held(ctx, 1, pass_on);
    return ret;
}

/**
 * Add a frame to the batch, if the filter takes it, and keep what its kernels read.
 *
 * @return 1 if it was added, 0 if not, or a negative AVERROR
 */
static int add_to_batch(AVFilterContext *ctx, CUDAQueueSlot *slot, const AVFrame *ref,
                        AVFrame *const *other)
{
    CUDAQueue *q = ctx->priv;
    const AVFrame *kept[] = { ref, other ? other[0] : NULL, other ? other[1] : NULL };
    // those of two inputs have been checked before they were paired
    int added, ret = ref ? 0 : ff_luma_check_frame(ctx, 0, slot->frame);

    if (ret >= 0)
        ret = ff_cuda_queue_check_device(ctx, slot->frame);
    for (int i = 0; i < FF_ARRAY_ELEMS(kept) && ret >= 0; i++)
        ret = kept[i] ? ff_cuda_queue_check_device(ctx, kept[i]) : 0;
    if (ret < 0)
        return ret;
    added = q->filter->add(ctx, slot->frame, ref);
    for (int i = 0; i < FF_ARRAY_ELEMS(kept) && added > 0; i++) {
        if (kept[i] && !(slot->kept[i] = av_frame_clone(kept[i])))
            return AVERROR(ENOMEM);
    }
    return added;
}

int ff_cuda_queue_frame(AVFilterContext *ctx, AVFrame *frame, const AVFrame *ref,
                        AVFrame *const *other)
{
    CUDAQueue *q = ctx->priv;
    const int64_t now = av_gettime_relative();
    CUDAQueueSlot *slot;
    // kernels had time to finish since the last frame
    int added, ret = deliver(ctx, q->size, 1);

    if (ret < 0) {
        av_frame_free(&frame);
        return ret;
    }
    slot = queued_slot(q, q->nb_queued);
    slot->frame = frame;
    slot->done  = NULL;
    slot->n     = q->n = q->nb_frames++;
    q->state    = slot->state;
    added = q->filter->replace ? q->filter->replace(ctx, frame, &slot->output) : 0;
    if (added >= 0)
        added = ref || ctx->nb_inputs == 1 ? add_to_batch(ctx, slot, ref, other) : 0;
    if (added < 0) {
        free_frames(slot);
        return added;
    }
    slot->scored = added;
    q->interval  = now - q->pushed;
    q->pushed    = now;
    q->nb_batch += added;
    q->nb_queued++;
    q->advanced = 1;
    return q->nb_batch == q->max_batch ? ff_cuda_queue_flush(ctx) : 0;
}

/// Queue a frame, or tell that there is none any more, or ask for one.
static int take_frame(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    AVFrame *frame;
    int64_t pts;
    int status, ret = ff_inlink_consume_frame(ctx->inputs[0], &frame);

    if (ret < 0)
        return ret;
    if (ret)
        return ff_cuda_queue_frame(ctx, frame, NULL, NULL);
    if (ff_inlink_acknowledge_status(ctx->inputs[0], &status, &pts)) {
        q->eof = status;
        ret = deliver(ctx, 0, 1);
        ff_outlink_set_status(ctx->outputs[0], status, pts);
        return ret;
    }
    FF_FILTER_FORWARD_WANTED(ctx->outputs[0], ctx->inputs[0]);
    return FFERROR_NOT_READY;
}

static int run(AVFilterContext *ctx, int (*take)(AVFilterContext *ctx))
{
    CUDAQueue *q = ctx->priv;
    int ret, status = ff_outlink_get_status(ctx->outputs[0]);

    if (status) {
        // nobody takes the frames any more
        for (int i = 0; i < ctx->nb_inputs; i++)
            ff_inlink_set_status(ctx->inputs[i], status);
        return deliver(ctx, 0, 0);
    }

    do {
        q->advanced = 0;
        status = take(ctx);
        if (status < 0 && status != FFERROR_NOT_READY)
            return status;
        // framesync has set the output's status at the end, but it comes after the frames that
        // are passed on before this function returns
        if (q->eof || q->drained || q->nb_queued == q->size) {
            ret = deliver(ctx, q->eof || q->drained ? 0 : q->size - 1, 1);
            if (ret < 0)
                return ret;
        }
    } while (q->advanced);
    if (q->eof)
        return status;

    // A batch takes half of the time of its frames alone. But frames that come slowly do not wait.
    ret = deliver(ctx, q->size, 1);
    if (ret >= 0 && q->interval > SLOW_INTERVAL)
        ret = ff_cuda_queue_flush(ctx);
    return ret < 0 ? ret : status;
}

int ff_cuda_queue_run(AVFilterContext *ctx, int (*take)(AVFilterContext *ctx))
{
    CUDAQueue *q = ctx->priv;
    int ret;

    if (q->error)
        return q->error;
    ret = ff_cuda_queue_enter(ctx);
    if (ret >= 0) {
        ret = run(ctx, take);
        ff_cuda_queue_leave(ctx);
    }
    if (ret < 0 && ret != FFERROR_NOT_READY)
        q->error = ret;
    return ret;
}

int ff_cuda_queue_activate(AVFilterContext *ctx)
{
    return ff_cuda_queue_run(ctx, take_frame);
}

int ff_cuda_queue_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                          char *res, int res_len, int flags)
{
    CUDAQueue *q = ctx->priv;
    int ret = ff_reinit_command(ctx, cmd, arg, res, res_len, flags);

    if (ret < 0 || strcmp(cmd, "drain"))
        return ret;
    if (q->error || !q->cu || ff_outlink_get_status(ctx->outputs[0]))
        return q->error;
    ret = ff_cuda_queue_enter(ctx);
    if (ret >= 0) {
        ret = deliver(ctx, 0, 1);
        ff_cuda_queue_leave(ctx);
    }
    if (ret < 0)
        q->error = ret;
    return ret;
}

void ff_cuda_queue_uninit(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;

    if (q->cu && ff_cuda_queue_enter(ctx) >= 0) {
        // these frames go nowhere, but into the logs
        if (!q->failed)
            deliver(ctx, 0, 0);
        free_device(ctx);
        ff_cuda_queue_leave(ctx);
    }
    for (int i = 0; q->slot && i < q->size; i++)
        free_frames(&q->slot[i]);
    av_freep(&q->slot);
    av_freep(&q->states);
    av_buffer_unref(&q->device_ref);
}

const AVFilterPad ff_cuda_queue_input[1] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = ff_cuda_queue_config_input },
};
