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
#include "libavutil/log.h"

#include "libavfilter/filters.h"
#include "libavfilter/framesync.h"

#include "dualinput.h"

static int check_formats(AVFilterContext *ctx)
{
    const CUDAPair *p = ctx->priv;
    const LumaInput *input = p->queue.inputs.input;
    const char *format = av_get_pix_fmt_name(input[0].sw_format);

    if (input[0].sw_format == input[1].sw_format || p->mixes_formats)
        return 0;
    av_log(ctx, AV_LOG_ERROR, "The main input is %s, the reference %s: insert scale_cuda=format=%s "
           "before the reference.\n", format, av_get_pix_fmt_name(input[1].sw_format), format);
    return AVERROR(EINVAL);
}

static int queue_pair(FFFrameSync *fs)
{
    AVFilterContext *ctx = fs->parent;
    CUDAPair *p = ctx->priv;
    AVFrame *frame, *ref;
    int ret = ff_pair_sync_get(&p->sync, &frame, &ref);

    if (ret < 0)
        return ret;
    ret = ff_cuda_queue_frame(ctx, frame, ref, p->previous);
    if (ret < 0 || !p->nb_previous)
        return ret;
    // also where the timeline leaves this pair out
    if ((ret = ff_framesync_get_frame(fs, 1, &ref, 0)) < 0 || !ref)
        return ret;
    av_frame_free(&p->previous[p->nb_previous - 1]);
    for (int i = p->nb_previous - 1; i > 0; i--)
        p->previous[i] = p->previous[i - 1];
    p->previous[0] = av_frame_clone(ref);
    return p->previous[0] ? 0 : AVERROR(ENOMEM);
}

static int config_output(AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    CUDAPair *p = ctx->priv;
    int ret;

    p->sync.fs.on_event = queue_pair;
    if ((ret = ff_pair_sync_config_output(&p->sync, outlink)) < 0 ||
        (ret = ff_cuda_queue_config_input(ctx->inputs[0])) < 0)
        return ret;
    return check_formats(ctx);
}

static int take_pair(AVFilterContext *ctx)
{
    CUDAPair *p = ctx->priv;
    int status = ff_pair_sync_activate(&p->sync);

    if (p->sync.fs.eof && (status >= 0 || status == FFERROR_NOT_READY))
        p->queue.eof = AVERROR_EOF;
    return status;
}

int ff_cuda_pair_activate(AVFilterContext *ctx)
{
    return ff_cuda_queue_run(ctx, take_pair);
}

int ff_cuda_pair_command(AVFilterContext *ctx, const char *cmd, const char *arg,
                         char *res, int res_len, int flags)
{
    CUDAPair *p = ctx->priv;
    int ret;

    if (strcmp(cmd, "drain"))
        return ff_pair_sync_command(&p->sync, ctx, cmd, arg, res, res_len, flags);
    // these frames have no place in the new graph, which may have other hw_frames_ctx
    if (p->queue.error || !p->queue.cu || (ret = ff_cuda_queue_enter(ctx)) < 0)
        return p->queue.error ? p->queue.error : ret;
    ret = ff_pair_sync_pass_waiting(&p->sync);
    ff_cuda_queue_leave(ctx);
    return ret < 0 ? ret : ff_cuda_queue_command(ctx, cmd, arg, res, res_len, flags);
}

void ff_cuda_pair_uninit(AVFilterContext *ctx)
{
    CUDAPair *p = ctx->priv;

    ff_cuda_queue_uninit(ctx);
    for (int i = 0; i < CUDA_QUEUE_MAX_OTHERS; i++)
        av_frame_free(&p->previous[i]);
    ff_pair_sync_uninit(&p->sync, ctx);
}

const AVFilterPad ff_cuda_pair_output[1] = {
    { .name = "default", .type = AVMEDIA_TYPE_VIDEO, .config_props = config_output },
};
