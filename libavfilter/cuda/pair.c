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

#include "libavutil/error.h"
#include "libavutil/hwcontext.h"
#include "libavutil/log.h"

#include "libavfilter/filters.h"
#include "libavfilter/framesync.h"

#include "pair.h"

static int check_devices(AVFilterContext *ctx)
{
    const AVHWFramesContext *m = (void *)ff_filter_link(ctx->inputs[0])->hw_frames_ctx->data;
    const AVHWFramesContext *r = (void *)ff_filter_link(ctx->inputs[1])->hw_frames_ctx->data;

    if (m->device_ref->data != r->device_ref->data) {
        av_log(ctx, AV_LOG_ERROR, "The inputs are on two CUDA devices; use one for both, by "
               "-init_hw_device cuda=gpu with -hwaccel_device gpu before each input, or with "
               "-filter_hw_device gpu and hwupload.\n");
        return AVERROR(EINVAL);
    }
    if (m->sw_format != r->sw_format) {
        const char *format = av_get_pix_fmt_name(m->sw_format);

        av_log(ctx, AV_LOG_ERROR, "The main input is %s, the reference %s: insert "
               "scale_cuda=format=%s before the reference.\n", format,
               av_get_pix_fmt_name(r->sw_format), format);
        return AVERROR(EINVAL);
    }
    return 0;
}

static int check_sizes(AVFilterContext *ctx)
{
    const CUDAQueue *q = ctx->priv;

    return ff_pair_sync_check_links(ctx, q->filter->min_size);
}

static int check_frames(AVFilterContext *ctx, const AVFrame *frame, const AVFrame *ref)
{
    const CUDAQueue *q = ctx->priv;

    return ff_pair_sync_check_frames(ctx, frame, ref, q->filter->min_size);
}

static int get_reference(AVFilterContext *ctx, AVFrame **ref)
{
    CUDAQueue *q = ctx->priv;

    return ff_framesync_get_frame(&q->sync.fs, 1, ref, 0);
}

static int activate(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;
    int status = ff_framesync_activate(&q->sync.fs);

    if (q->sync.fs.eof && (status >= 0 || status == FFERROR_NOT_READY))
        q->eof = AVERROR_EOF;
    return status;
}

const CUDAQueuePairs ff_cuda_pairs = {
    .check_sizes   = check_sizes,
    .check_devices = check_devices,
    .check_frames  = check_frames,
    .get_reference = get_reference,
    .activate      = activate,
};

static int queue_pair(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    CUDAQueue *q = ctx->priv;
    AVFrame *frame, *ref;
    int ret = ff_pair_sync_get(&q->sync, &frame, &ref);

    return ret < 0 ? ret : ff_cuda_queue_frame(ctx, frame, ref);
}

static int config_output(AVFilterLink *outlink)
{
    CUDAQueue *q = outlink->src->priv;

    q->sync.fs.on_event = queue_pair;
    return ff_pair_sync_config_output(&q->sync, outlink, q->filter->min_size);
}

void ff_cuda_pair_uninit(AVFilterContext *ctx)
{
    CUDAQueue *q = ctx->priv;

    ff_cuda_queue_uninit(ctx);
    ff_pair_sync_uninit(&q->sync, ctx);
}

const AVFilterPad ff_cuda_pair_inputs[2] = {
    { .name = "main",      .type = AVMEDIA_TYPE_VIDEO },
    { .name = "reference", .type = AVMEDIA_TYPE_VIDEO, .config_props = ff_cuda_queue_config_input },
};

const AVFilterPad ff_cuda_pair_output[1] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_output },
};
