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
 * What the CUDA filters that compare two inputs share: main frames and their
 * references come in step by framesync, go through the ring of
 * quality_cuda.h, and the main frames leave in order with their results. No
 * frame is waited for, but where the queue is full and at the end.
 *
 * A filter has QualityPairs in its context, and
 * - defines its class with FRAMESYNC_DEFINE_CLASS(name, context, pairs.fs),
 * - sets the functions below in its init(),
 * - calls ff_quality_pairs_config_inputs() where its second input is configured,
 *   ff_quality_pairs_config_output() where its output is,
 * - calls ff_quality_pairs_activate() in activate(), and
 *   ff_quality_pairs_uninit(), then ff_quality_cuda_close() in uninit().
 */

#ifndef AVFILTER_CUDA_QUALITY_PAIRS_H
#define AVFILTER_CUDA_QUALITY_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"

#include "libavfilter/avfilter.h"
#include "libavfilter/framesync.h"
#include "libavfilter/pair_sync.h"

#include "quality_cuda.h"

typedef struct QualityPairs {
    FFFrameSync fs;
    PairSync sync;
    QualityCUDA cuda;
    int queue;              ///< option: number of frames in flight, 1 to wait for each

    /**
     * Add a pair to the batch, as its pair number nb_batch. Both frames are on
     * the opened device and have one size and format, which may be another one
     * than that of the pair before. Kernels are to write the result to
     * ff_quality_cuda_next_result().
     *
     * @return 1, or 0 for a pair that only passes, or a negative AVERROR
     */
    int (*add)(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *ref);
    /// Enqueue the kernels of the nb_batch pairs; the CUDA context is pushed.
    int (*launch)(AVFilterContext *ctx);
    /**
     * Report a frame, before it leaves: called for every one, in order.
     *
     * @param result NULL if it was not compared
     */
    int (*report)(AVFilterContext *ctx, AVFrame *frame, const void *result);

    int max_batch;          ///< pairs that one launch may take, set by the filter
    int keeps_previous;     ///< set by a filter whose kernels read the reference's frame before
    AVFrame *previous;      ///< that frame, NULL if there is none; the same as ref where that repeats
    int nb_batch;           ///< pairs added since the last launch
    uint64_t nb_frames;     ///< main frames
    int advanced;           ///< framesync had a pair
} QualityPairs;

/**
 * Check that both inputs are on one device, of one size and format that
 * ff_quality_cuda_check_format() takes, and open the ring on it.
 *
 * @param ptx         the module, as embedded by FFmpeg's build, and its size
 * @param result_size bytes of a pair's result, a multiple of 8
 * @return 0, or a negative AVERROR after a message
 */
int ff_quality_pairs_config_inputs(AVFilterContext *ctx, QualityPairs *p,
                                   const unsigned char *ptx, unsigned ptx_size,
                                   size_t result_size);

/// Configure the output like the main input, and framesync.
int ff_quality_pairs_config_output(AVFilterLink *outlink, QualityPairs *p);

/**
 * Launch the batch, if there is one. add() does so before it changes what all
 * pairs of a batch share.
 */
int ff_quality_pairs_flush(AVFilterContext *ctx, QualityPairs *p);

/**
 * Take pairs, report and pass on what is done. When it returns and the output
 * has a status, all frames have been reported.
 */
int ff_quality_pairs_activate(AVFilterContext *ctx, QualityPairs *p);

/// Report what is in flight, and free framesync.
void ff_quality_pairs_uninit(AVFilterContext *ctx, QualityPairs *p);

#endif /* AVFILTER_CUDA_QUALITY_PAIRS_H */
