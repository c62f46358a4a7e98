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
 * The host side of the CUDA filters: device, kernels, and a queue of frames whose
 * results are being computed. The filter does not wait for a result, unless the queue is full.
 *
 * Frames are collected in batches. The kernels of a batch are launched when it is full, when
 * frames come slowly, when the queue is full, and at the end. Frames leave in order, with
 * their results.
 *
 * Functions of type int return 0, or a negative AVERROR after a message. All are called in the
 * thread that runs the filter; no pointer may be NULL where it does not say so.
 *
 * A filter's private context begins with a CUDAQueue, or with a CUDAPair: see dualinput.h. The filter
 * - has CUDA_QUEUE_OPTION among its options,
 * - sets filter in init(), and max_batch there or in setup(),
 * - has the pad and activate() that are declared here, and calls ff_cuda_queue_uninit()
 *   before it frees what report() needs.
 *
 * A filter without results only opens the device. It calls none of the functions after
 * ff_cuda_queue_uninit().
 */

#ifndef AVFILTER_CUDA_ASYNC_H
#define AVFILTER_CUDA_ASYNC_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "libavutil/buffer.h"
#include "libavutil/frame.h"
#include "libavutil/hwcontext_cuda_internal.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "libavfilter/avfilter.h"
#include "libavfilter/filters.h"
#include "libavfilter/graph_reinit.h"
#include "libavfilter/sample_format.h"

#include "shared.h"

#define CUDA_QUEUE_MAX_MEMORY 12
#define CUDA_QUEUE_MAX_OTHERS 2     ///< more frames that kernels read
#define CUDA_QUEUE_MAX_MODULES 5
#define CUDA_QUEUE_MAX_BRANCHES 4

/// A kernel of a module, and where in the filter's context its address goes.
typedef struct CUDAQueueKernel {
    const char *name;
    size_t function;
} CUDAQueueKernel;

/// A module as FFmpeg's build embeds it.
typedef struct CUDAQueueModule {
    const unsigned char *ptx;
    const unsigned *ptx_size;
    const CUDAQueueKernel *kernel;  ///< ends with one without a name
} CUDAQueueModule;

/// Declare the PTX of name.cu, for CUDA_QUEUE_MODULE.
#define CUDA_QUEUE_PTX(name)                            \
    extern const unsigned char ff_ ## name ## _ptx_data[];  \
    extern const unsigned int  ff_ ## name ## _ptx_len

#define CUDA_QUEUE_MODULE(name, kernels)                \
    { ff_ ## name ## _ptx_data, &ff_ ## name ## _ptx_len, kernels }

/// A frame in the queue.
typedef struct CUDAQueueSlot {
    AVFrame *frame;
    AVFrame *output;            ///< frame that leaves in place of frame, or NULL
    AVFrame *kept[1 + CUDA_QUEUE_MAX_OTHERS];   ///< others that its kernels read, or NULL
    uint64_t n;                 ///< the frame's number
    void *state;                ///< [state_size] of the frame
    int scored;                 ///< 0 if there are no kernels for it
    CUevent event;              ///< the slot's own
    CUevent done;               ///< event of the last slot of its batch; NULL before the launch
} CUDAQueueSlot;

/// A filter. The queue pushes the CUDA context around every function but check().
typedef struct CUDAQueueFilter {
    CUDAQueueModule module;
    size_t result_size;         ///< bytes of a frame's result, a multiple of 8; 0 for none
    size_t state_size;          ///< bytes that add() knows of a frame and report() needs, or 0
    size_t args_size;           ///< bytes of a frame's arguments in device memory, or 0

    /// Check inputs, which have CUDA frames, before the device is opened; may be NULL.
    int (*check)(AVFilterContext *ctx);
    /// Called once the device is open; may be NULL.
    int (*setup)(AVFilterContext *ctx);
    /**
     * Allocate the frame that leaves in place of an input frame, before add(); may be NULL.
     *
     * @param output the frame, NULL for the input frame itself; the queue frees it after an error
     */
    int (*replace)(AVFilterContext *ctx, const AVFrame *frame, AVFrame **output);
    /**
     * Add a frame to the batch, at index nb_batch. Its result goes to
     * ff_cuda_queue_next_result(), its arguments to ff_cuda_queue_next_args(). Its cropping may
     * differ from that of the last frame.
     *
     * @param ref the second input's; NULL if there is one input
     * @return 1, or 0 if there is nothing to compute for it, or a negative AVERROR
     */
    int (*add)(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *ref);
    /// Enqueue the kernels of the nb_batch frames.
    int (*launch)(AVFilterContext *ctx);
    /**
     * Report a frame before it leaves. Called for every frame, in order.
     *
     * @param result NULL if there are no kernels for it
     */
    int (*report)(AVFilterContext *ctx, AVFrame *frame, const void *result);
    /**
     * Get the next frame that leaves, where that is not each one when it was reported: then
     * report() takes references. May be NULL.
     *
     * @param ended no frame is to come: none waits for others
     * @return 1, 0 if there is none, or a negative AVERROR
     */
    int (*get)(AVFilterContext *ctx, AVFrame **frame, int ended);
} CUDAQueueFilter;

typedef struct CUDAQueue {
    LumaInputs inputs;          ///< the first member
    int size;                   ///< option: number of frames in flight, 1 to wait for each

    // set by the filter
    const CUDAQueueFilter *filter;
    int max_batch;              ///< frames that one launch may take

    // for the filter's use
    AVCUDADeviceContext *hwctx;
    CudaFunctions *cu;
    int nb_multiprocessors;
    int has_fast_double;        ///< whether double is half as fast as float, and not 1/32 or less
    int nb_batch;               ///< frames added since the last launch
    CUdeviceptr batch_args;     ///< [nb_batch][args_size], for launch()
    uint64_t n;                 ///< number of the frame that is added or reported, from 0
    void *state;                ///< [state_size] of that frame
    uint64_t nb_frames;         ///< that came
    int eof;                    ///< the status with which the input has ended, or 0

    AVBufferRef *device_ref;
    CUstream stream;            ///< of the launches: the device's, or a branch's
    struct {
        CUstream stream;
        CUevent event;
        int is_used;            ///< by the batch
    } branch[1 + CUDA_QUEUE_MAX_BRANCHES];      ///< the first one joins the others
    CUmodule module[CUDA_QUEUE_MAX_MODULES];
    CUdeviceptr *memory[CUDA_QUEUE_MAX_MEMORY];
    int advanced;               ///< a frame was taken from the inputs
    int drained;                ///< command: delay no frames any more
    int failed;                 ///< a frame could not be reported
    int error;                  ///< the first one: nothing more is done after it

    CUDAQueueSlot *slot;        ///< [size], a ring
    uint8_t *states;            ///< [size][state_size]
    int first;                  ///< slot of the oldest frame
    int nb_queued;
    int64_t pushed, interval;   ///< time of the last frame, and since the one before, in us

    uint8_t *result;            ///< [size][result_size], pinned
    uint8_t *args;              ///< [2 * size][args_size], pinned: see ff_cuda_queue_next_args()
    CUdeviceptr device_args;    ///< copy of args
    int first_args;             ///< index of the batch's first arguments
} CUDAQueue;

#define CUDA_QUEUE_OPTION_OF(nb, flags)                                         \
    { "queue", "set the number of frames in flight, 1 to wait for each",        \
      offsetof(CUDAQueue, size), AV_OPT_TYPE_INT, { .i64 = nb }, 1, 64, flags },        \
    REINIT_DRAIN(CUDAQueue, drained)
#define CUDA_QUEUE_OPTION(flags) CUDA_QUEUE_OPTION_OF(8, flags)

/// The pad of filters with one input.
extern const AVFilterPad ff_cuda_queue_input[1];

/// config_props of the input: check all, load the kernels, and make the queue.
int ff_cuda_queue_config_input(AVFilterLink *inlink);

/// Load one more module; the queue unloads it.
int ff_cuda_queue_load(AVFilterContext *ctx, const CUDAQueueModule *module);

/// Push the CUDA context. The queue has done that where it calls the filter, see CUDAQueueFilter.
int ff_cuda_queue_enter(AVFilterContext *ctx);

/// Pop the CUDA context after a successful ff_cuda_queue_enter().
void ff_cuda_queue_leave(AVFilterContext *ctx);

/// Allocate zeroed device memory, after freeing *memory; the queue frees it at the end. Nothing is done if
/// size is 0.
int ff_cuda_queue_alloc(AVFilterContext *ctx, CUdeviceptr *memory, size_t size);

/// Copy to the device, after what is enqueued, and wait until src may be freed.
int ff_cuda_queue_upload(AVFilterContext *ctx, CUdeviceptr dst, const void *src, size_t size);

/// Check at compile time that a kernel may be launched with a struct.
#define CUDA_QUEUE_CHECK_PARAMS(type) \
    static_assert(sizeof(type) <= 4096, #type " is larger than the parameters of a kernel may be")

/**
 * Enqueue a kernel whose only parameter is a struct, to which params points: see
 * CUDA_QUEUE_CHECK_PARAMS.
 *
 * @param shared_size bytes of dynamic shared memory of a thread block
 */
int ff_cuda_queue_launch(AVFilterContext *ctx, CUfunction function, int grid_x, int grid_y,
                         int block_x, int block_y, unsigned shared_size, void *params);

/**
 * Launch what follows in a branch: after what was enqueued before the batch and in the same branch,
 * beside all else, also what decodes the next frames. launch() calls it before its first launch in
 * each branch, and launches nothing elsewhere. Branches share no memory that they write.
 *
 * @param i 1 to CUDA_QUEUE_MAX_BRANCHES: of thread blocks that wait, those of the lowest are first
 */
int ff_cuda_queue_branch(AVFilterContext *ctx, int i);

/// Allow a kernel size bytes of dynamic shared memory. @return 1, or 0 if the GPU has less
int ff_cuda_queue_allow_shared(AVFilterContext *ctx, CUfunction function, size_t size);

/// Check that a frame is on the filter's device.
int ff_cuda_queue_check_device(AVFilterContext *ctx, const AVFrame *frame);

/// The format of the samples of frames with this hw_frames_ctx.
const AVPixFmtDescriptor *ff_cuda_queue_format(const AVBufferRef *frames_ref);

/// First sample of the plane of a component, after cropping, which CUDA frames leave to us.
CUdeviceptr ff_cuda_queue_plane(const AVFrame *frame, int component);

/// process_command() of a filter with results, which declares the commands of graph_reinit.h.
int ff_cuda_queue_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                          char *res, int res_len, int flags);

/// Report what is in flight, and free all.
void ff_cuda_queue_uninit(AVFilterContext *ctx);

/// Where kernels write the result of the frame that add() gets.
CUdeviceptr ff_cuda_queue_next_result(AVFilterContext *ctx);

/**
 * Get the arguments of the frame that add() gets, for add() to write. The queue copies those of a
 * batch to the device before launch(), which finds them in batch_args.
 *
 * @return pinned memory that is not reused before the kernels of the batch are done
 */
void *ff_cuda_queue_next_args(AVFilterContext *ctx);

/// Launch the batch, if it is not empty. add() calls it before it changes what a batch shares.
int ff_cuda_queue_flush(AVFilterContext *ctx);

/// activate() of a filter with one input: take its frames, pass on those that are done.
int ff_cuda_queue_activate(AVFilterContext *ctx);

/**
 * The same of a filter with other inputs.
 *
 * @param take queues a frame, or sets eof; returns 0, FFERROR_NOT_READY, or an error
 */
int ff_cuda_queue_run(AVFilterContext *ctx, int (*take)(AVFilterContext *ctx));

/**
 * Put a frame into the ring, which has room, and into the batch if the filter takes it.
 *
 * @param frame the queue's from now on, also after an error
 * @param ref   of the second input; with two inputs, a frame without it only passes
 * @param other [CUDA_QUEUE_MAX_OTHERS] more frames that the kernels read, or NULL
 */
int ff_cuda_queue_frame(AVFilterContext *ctx, AVFrame *frame, const AVFrame *ref,
                        AVFrame *const *other);

#endif /* AVFILTER_CUDA_ASYNC_H */
