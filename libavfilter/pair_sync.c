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

#include <inttypes.h>

#include "libavutil/avutil.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/log.h"
#include "libavutil/mathematics.h"
#include "libavutil/rational.h"

#include "pair_sync.h"

/**
 * Times of one picture may differ by this much, in microseconds. Matroska rounds
 * to milliseconds: a frame is off by half of one, the first frame, from which
 * setpts=PTS-STARTPTS counts, by another half, and so it is with both inputs.
 */
#define ROUNDING 2000

/// Or by one of so many parts of a frame's duration.
#define FRAME_PARTS 4

const AVFilterPad ff_pair_sync_inputs[2] = {
    { .name = "main",      .type = AVMEDIA_TYPE_VIDEO },
    { .name = "reference", .type = AVMEDIA_TYPE_VIDEO },
};

static int check_size(const PairSync *s, AVFilterContext *ctx, int main_w, int main_h,
                      int ref_w, int ref_h)
{
    const char *scale = ctx->inputs[0]->format == AV_PIX_FMT_CUDA ? "scale_cuda" : "scale";

    if (main_w != ref_w || main_h != ref_h) {
        av_log(ctx, AV_LOG_ERROR, "The main input is %dx%d, the reference %dx%d: "
               "insert %s=%d:%d before the main input.\n", main_w, main_h, ref_w, ref_h,
               scale, ref_w, ref_h);
        return AVERROR(EINVAL);
    }
    if (FFMIN(main_w, main_h) < s->min_size || FFMAX(main_w, main_h) > LUMA_MAX_SIZE) {
        av_log(ctx, AV_LOG_ERROR, "A frame of %dx%d cannot be scored: width and height must be "
               "%d to %d; %s both inputs first.\n", main_w, main_h, s->min_size, LUMA_MAX_SIZE, scale);
        return AVERROR(EINVAL);
    }
    return 0;
}

int ff_pair_sync_config_output(PairSync *s, AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    AVFilterLink *main   = ctx->inputs[0], *ref = ctx->inputs[1];
    int ret;

    if ((ret = check_size(s, ctx, main->w, main->h, ref->w, ref->h)) < 0 ||
        (ret = ff_luma_config(&s->inputs, ctx)) < 0 ||
        (ret = ff_framesync_init_dualinput(&s->fs, ctx)) < 0 ||
        (ret = ff_framesync_configure(&s->fs)) < 0)
        return ret;
    outlink->w                   = main->w;
    outlink->h                   = main->h;
    outlink->sample_aspect_ratio = main->sample_aspect_ratio;
    outlink->time_base           = s->fs.time_base;
    ff_filter_link(outlink)->frame_rate = ff_filter_link(main)->frame_rate;
    return 0;
}

static void check_times(PairSync *s, AVFilterContext *ctx, const AVFrame *ref)
{
    const FFFrameSync *fs = &s->fs;
    // framesync has these in one time base, the reference's frame may not
    const int64_t main_time = fs->in[0].pts, ref_time = fs->in[1].pts;
    const int64_t apart     = av_sat_sub64(FFMAX(main_time, ref_time), FFMIN(main_time, ref_time));
    // how long frames last is not known before the second
    const int64_t duration  = s->nb_main ? av_sat_sub64(main_time, s->main_time) : INT64_MAX;

    s->main_time = main_time;
    s->nb_main++;
    if (!ref) {
        s->nb_early += !ctx->is_disabled && ref_time == AV_NOPTS_VALUE;
        return;
    }

    s->nb_pairs++;
    if (apart <= duration / FRAME_PARTS ||
        av_compare_ts(apart, fs->time_base, ROUNDING, AV_TIME_BASE_Q) <= 0)
        return;
    if (!s->nb_apart++)
        av_log(ctx, AV_LOG_WARNING, "The main input's frame at %f s is compared with the "
               "reference's at %f s, which may be another picture. Set ts_sync_mode=nearest, put "
               "setpts=PTS-STARTPTS before both inputs, and see that both have the same first "
               "frame, frame rate and length.\n",
               main_time * av_q2d(fs->time_base), ref_time * av_q2d(fs->time_base));
}

int ff_pair_sync_get(PairSync *s, AVFrame **main, AVFrame **reference)
{
    AVFilterContext *ctx = s->fs.parent;
    AVFrame *ref;
    int ret = ff_framesync_dualinput_get(&s->fs, main, reference);

    if (ret < 0)
        return ret;
    check_times(s, ctx, *reference);
    // also where the timeline leaves the pair out: the reference's frame may be kept for the next
    if ((ret = ff_luma_check_frame(&s->inputs, ctx, 0, *main)) < 0 ||
        (ret = ff_framesync_get_frame(&s->fs, 1, &ref, 0)) < 0 ||
        ref && (ret = ff_luma_check_frame(&s->inputs, ctx, 1, ref)) < 0 ||
        *reference && (ret = check_size(s, ctx, picture_width(*main), picture_height(*main),
                                        picture_width(ref), picture_height(ref))) < 0)
        av_frame_free(main);
    return ret;
}

void ff_pair_sync_uninit(PairSync *s, AVFilterContext *ctx)
{
    if (s->nb_apart)
        av_log(ctx, AV_LOG_WARNING, "The times of %"PRIu64" of %"PRIu64" pairs differ by more "
               "than a quarter of a frame: their scores may be of different pictures.\n",
               s->nb_apart, s->nb_pairs);
    if (s->nb_early)
        av_log(ctx, AV_LOG_WARNING, "Frames that came before the reference's first one, and were "
               "not compared: %"PRIu64". Put setpts=PTS-STARTPTS before both inputs.\n",
               s->nb_early);
    ff_framesync_uninit(&s->fs);
}
