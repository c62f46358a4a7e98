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
#include "libavutil/log.h"
#include "libavutil/pixdesc.h"

#include "libavfilter/filters.h"
#include "libavfilter/luma_frame.h"

#include "quality_pairs.h"

#define CHECK_CU(x) FF_CUDA_CHECK_DL(ctx, p->cuda.cu, x)

/// Check that two frames, or those of two links, can be compared.
static int check_pair(AVFilterContext *ctx,
                      const AVBufferRef *main_frames, int main_w, int main_h,
                      const AVBufferRef *ref_frames, int ref_w, int ref_h)
{
    const AVHWFramesContext *main = (AVHWFramesContext *)main_frames->data;
    const AVHWFramesContext *ref  = (AVHWFramesContext *)ref_frames->data;

    if (main->device_ref->data != ref->device_ref->data) {
        av_log(ctx, AV_LOG_ERROR, "The inputs are on two CUDA devices; use one for both, by "
               "-init_hw_device cuda=gpu with -hwaccel_device gpu before each input, or with "
               "-filter_hw_device gpu and hwupload.\n");
        return AVERROR(EINVAL);
    }
    if (main_w != ref_w || main_h != ref_h || main->sw_format != ref->sw_format) {
        const char *name = av_get_pix_fmt_name(main->sw_format);

        av_log(ctx, AV_LOG_ERROR, "The main input is %dx%d %s, but the reference %dx%d %s; "
               "insert scale_cuda=%d:%d:format=%s before the reference.\n",
               main_w, main_h, name, ref_w, ref_h, av_get_pix_fmt_name(ref->sw_format),
               main_w, main_h, name);
        return AVERROR(EINVAL);
    }
    return ff_quality_cuda_check_format(ctx, main->sw_format) ? 0 : AVERROR(ENOSYS);
}

static int check_frames(AVFilterContext *ctx, QualityPairs *p,
                        const AVFrame *frame, const AVFrame *ref)
{
    int ret;

    if ((ret = ff_quality_cuda_check_frame(&p->cuda, ctx, frame)) < 0 ||
        (ret = ff_quality_cuda_check_frame(&p->cuda, ctx, ref))   < 0)
        return ret;
    return check_pair(ctx, frame->hw_frames_ctx,
                      ff_picture_width(frame), ff_picture_height(frame),
                      ref->hw_frames_ctx,
                      ff_picture_width(ref), ff_picture_height(ref));
}

int ff_quality_pairs_flush(AVFilterContext *ctx, QualityPairs *p)
{
    CUcontext dummy;
    int ret;

    if (!p->nb_batch)
        return 0;
    ret = CHECK_CU(p->cuda.cu->cuCtxPushCurrent(p->cuda.hwctx->cuda_ctx));
    if (ret < 0)
        return ret;
    ret = p->launch(ctx);
    CHECK_CU(p->cuda.cu->cuCtxPopCurrent(&dummy));
    p->nb_batch = 0;
    return ret < 0 ? ret : ff_quality_cuda_launched(&p->cuda, ctx);
}

/**
 * Report the frames whose results are there; if more than max_left are in
 * flight, enqueue what is not yet.
 *
 * @param max_left wait until no more than this many are left
 * @param pass_on  0 if nobody takes the frames any more
 */
static int deliver(AVFilterContext *ctx, QualityPairs *p, int max_left, int pass_on)
{
    AVFrame *frame;
    const void *result;
    uint64_t n;
    int ret;

    if (p->cuda.nb_queued > max_left && (ret = ff_quality_pairs_flush(ctx, p)) < 0)
        return ret;
    while ((ret = ff_quality_cuda_pop(&p->cuda, ctx, p->cuda.nb_queued > max_left,
                                      &frame, &n, &result)) > 0) {
        ret = p->report(ctx, frame, result);
        if (ret < 0 || !pass_on)
            av_frame_free(&frame);
        else
            ret = ff_filter_frame(ctx->outputs[0], frame);
        if (ret < 0)
            return ret;
    }
    return ret;
}

/// Keep the reference's frame for the next pair, also where the timeline has switched the filter off.
static int keep_previous(AVFilterContext *ctx, QualityPairs *p, FFFrameSync *fs, AVFrame **previous)
{
    AVFrame *ref;
    int ret = ff_framesync_get_frame(fs, 1, &ref, 0);

    if (ret < 0 || !ref || (ret = ff_quality_cuda_check_frame(&p->cuda, ctx, ref)) < 0)
        return ret;
    *previous   = p->previous;
    p->previous = av_frame_clone(ref);
    return p->previous ? 0 : AVERROR(ENOMEM);
}

/**
 * Add a pair to the batch, if the filter takes it.
 *
 * @param kept set to a reference to ref: framesync may let go of it before the kernels are done
 * @return 1 if it was added, 0 if not, or a negative AVERROR
 */
static int add_pair(AVFilterContext *ctx, QualityPairs *p, const AVFrame *frame,
                    const AVFrame *ref, AVFrame **kept)
{
    int ret = check_frames(ctx, p, frame, ref);

    if (ret < 0)
        return ret;
    *kept = av_frame_clone(ref);
    return *kept ? p->add(ctx, frame, ref) : AVERROR(ENOMEM);
}

/// Take a frame into the ring and, if it is to be compared, into the batch.
static int queue_pair(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    QualityPairs *p      = fs->opaque;
    AVFrame *frame, *ref, *kept[2] = { NULL };
    int added = 0;
    int ret = ff_framesync_dualinput_get(fs, &frame, &ref);

    if (ret < 0)
        return ret;
    ff_pair_sync_check(&p->sync, ctx, fs, ref);
    // kernels that were enqueued with the last pair have had time since
    ret = deliver(ctx, p, p->queue, 1);
    if (ret < 0)
        goto fail;
    if (ref) {
        added = ret = add_pair(ctx, p, frame, ref, &kept[0]);
        if (ret < 0)
            goto fail;
    }
    if (p->keeps_previous && (ret = keep_previous(ctx, p, fs, &kept[1])) < 0)
        goto fail;
    p->nb_batch += added;
    ff_quality_cuda_push(&p->cuda, frame, kept[0], kept[1], p->nb_frames++, added);
    p->advanced = 1;
    return p->nb_batch == p->max_batch ? ff_quality_pairs_flush(ctx, p) : 0;

fail:
    av_frame_free(&frame);
    av_frame_free(&kept[0]);
    av_frame_free(&kept[1]);
    return ret;
}

int ff_quality_pairs_config_inputs(AVFilterContext *ctx, QualityPairs *p,
                                   const unsigned char *ptx, unsigned ptx_size,
                                   size_t result_size)
{
    AVFilterLink *main = ctx->inputs[0], *ref = ctx->inputs[1];
    AVBufferRef *main_frames = ff_filter_link(main)->hw_frames_ctx;
    AVBufferRef *ref_frames  = ff_filter_link(ref)->hw_frames_ctx;
    int ret = ff_quality_cuda_open(&p->cuda, ctx, ref_frames ? main_frames : NULL,
                                   ptx, ptx_size, result_size, p->queue);

    if (ret < 0)
        return ret;
    return check_pair(ctx, main_frames, main->w, main->h, ref_frames, ref->w, ref->h);
}

int ff_quality_pairs_config_output(AVFilterLink *outlink, QualityPairs *p)
{
    AVFilterContext *ctx = outlink->src;
    AVFilterLink *main   = ctx->inputs[0];
    int ret              = ff_framesync_init_dualinput(&p->fs, ctx);

    if (ret < 0)
        return ret;
    p->fs.on_event = queue_pair;
    p->fs.opaque   = p;
    ret = ff_framesync_configure(&p->fs);
    if (ret < 0)
        return ret;

    outlink->w                           = main->w;
    outlink->h                           = main->h;
    outlink->sample_aspect_ratio         = main->sample_aspect_ratio;
    outlink->time_base                   = p->fs.time_base;
    ff_filter_link(outlink)->frame_rate  = ff_filter_link(main)->frame_rate;
    return 0;
}

int ff_quality_pairs_activate(AVFilterContext *ctx, QualityPairs *p)
{
    int ret, status;

    if (ff_outlink_get_status(ctx->outputs[0])) {
        // nobody takes the frames any more; framesync tells the inputs
        ret = ff_framesync_activate(&p->fs);
        return ret < 0 ? ret : deliver(ctx, p, 0, 0);
    }

    do {
        p->advanced = 0;
        status = ff_framesync_activate(&p->fs);
        if (status < 0 && status != FFERROR_NOT_READY)
            return status;
        // at the end, framesync has set the output's status: it comes after
        // the frames that are passed on before this function returns
        if (p->fs.eof || p->cuda.nb_queued == p->queue) {
            ret = deliver(ctx, p, p->fs.eof ? 0 : p->queue - 1, 1);
            if (ret < 0)
                return ret;
        }
    } while (p->advanced);

    // what is done leaves; what came since does not wait for a batch if it comes slowly
    if (!p->fs.eof) {
        ret = deliver(ctx, p, p->queue, 1);
        if (ret >= 0 && ff_quality_cuda_is_slow(&p->cuda))
            ret = ff_quality_pairs_flush(ctx, p);
        if (ret < 0)
            return ret;
    }
    return status;
}

void ff_quality_pairs_uninit(AVFilterContext *ctx, QualityPairs *p)
{
    // nobody takes these frames any more, but the logs have them
    deliver(ctx, p, 0, 0);
    ff_pair_sync_report(&p->sync, ctx);
    ff_framesync_uninit(&p->fs);
    av_frame_free(&p->previous);
}
