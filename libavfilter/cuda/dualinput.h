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
 * The queue of a filter that compares two videos.
 *
 * The filter's private context begins with a CUDAPair. The filter has the options
 * PAIR_SYNC_OPTIONS(context, pair.sync, flags), sets pair.queue.inputs.min_size in init(), has the
 * pads and activate() that are declared here, and calls ff_cuda_pair_uninit(); else see async.h.
 */

#ifndef AVFILTER_CUDA_DUALINPUT_H
#define AVFILTER_CUDA_DUALINPUT_H

#include "libavfilter/dualinput.h"

#include "async.h"

typedef struct CUDAPair {
    CUDAQueue queue;
    PairSync sync;

    // set by the filter
    int nb_previous;        ///< kernels read so many of the reference's frames before
    int mixes_formats;      ///< the filter itself checks the formats of the inputs
    AVFrame *previous[CUDA_QUEUE_MAX_OTHERS];   ///< those, NULL or perhaps the same again
} CUDAPair;

/// The output of filters whose inputs are ff_pair_sync_inputs.
extern const AVFilterPad ff_cuda_pair_output[1];

/// Take pairs, report and pass on the main input's frames that are done.
int ff_cuda_pair_activate(AVFilterContext *ctx);

/// process_command() of a filter with pairs, which declares the commands of graph_reinit.h.
int ff_cuda_pair_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                         char *res, int res_len, int flags);

/// ff_cuda_queue_uninit(), and what dualinput.c has to say and to free.
void ff_cuda_pair_uninit(AVFilterContext *ctx);

#endif /* AVFILTER_CUDA_DUALINPUT_H */
