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
#include "libavutil/hwcontext.h"
#include "libavutil/log.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/rational.h"

#include "graph_reinit.h"
#include "dualinput.h"

/**
 * Times of one picture may differ by this much, in microseconds. Matroska rounds
 * to milliseconds: a frame is off by half of one, the first frame, from which
 * setpts=PTS-STARTPTS counts, by another half, and so it is with both inputs.
 */
#define ROUNDING 2000

/// Or by one of so many parts of a frame's duration.
#define FRAME_PARTS 4

/// Reference frames are equally near if their distances differ by no more than this, in
/// microseconds, or than a quarter of the time between them.
#define TOLERANCE 4000

const AVFilterPad ff_pair_sync_inputs[2] = {
    { .name = "main",      .type = AVMEDIA_TYPE_VIDEO },
    { .name = "reference", .type = AVMEDIA_TYPE_VIDEO },
};

static int64_t time_between(int64_t a, int64_t b)
{
    return av_sat_sub64(FFMAX(a, b), FFMIN(a, b));
}

/// Convert a timestamp of an input's link.
static int64_t sync_time(const PairSync *s, int i, int64_t pts)
{
    return av_rescale_q_rnd(pts, s->fs.in[i].time_base, s->fs.time_base,
                            AV_ROUND_NEAR_INF | AV_ROUND_PASS_MINMAX);
}

/// Number of the reference's current frame, from 1.
static uint64_t current_ref(const PairSync *s)
{
    return s->state.in[1].nb_before + ff_filter_link(s->fs.parent->inputs[1])->frame_count_out -
           !!s->fs.in[1].frame_next;
}

/// Whether a frame of the graph before can be one of an input.
static int fits_link(const PairSync *s, int i, const AVFrame *frame)
{
    AVFilterLink *link = s->fs.parent->inputs[i];
    const LumaInputs *inputs = s->fs.parent->priv;
    const AVBufferRef *new = ff_filter_link(link)->hw_frames_ctx, *old = frame->hw_frames_ctx;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(luma_sw_format(frame));

    // gray frames have any range; filters such as hwdownload take only frames of their link's context
    return luma_matches_input(&inputs->input[i], frame) &&
           (desc->nb_components < 3 ||
            luma_is_limited(frame, desc) == (link->color_range != AVCOL_RANGE_JPEG)) &&
           (!new || new->data == old->data ||
            i && ((AVHWFramesContext *)new->data)->device_ref->data ==
                 ((AVHWFramesContext *)old->data)->device_ref->data);
}

/// Read a frame that the graph before has left, unless the new one changes size, format or range.
static int read_queued(PairSync *s, int i)
{
    FFFrameSyncIn *in  = &s->fs.in[i];

    while (s->state.in[i].queue && av_fifo_read(s->state.in[i].queue, &in->frame_next, 1) >= 0) {
        AVFrame *frame = in->frame_next;

        s->state.in[i].nb_before++;
        if (fits_link(s, i, frame)) {
            in->pts_next = av_rescale_q(frame->pts, frame->time_base, s->fs.time_base);
            return 1;
        }
        av_frame_free(&in->frame_next);
        s->state.nb_main          += !i;
        s->state.nb_main_unpaired += !i;
    }
    return 0;
}

/// Timestamp of a frame of the link. A filter such as setpts may count anew in a rebuilt graph.
static int64_t continued_time(PairSync *s, int i, int64_t pts)
{
    const int64_t time = sync_time(s, i, pts), last = s->state.in[i].time;

    if (ff_filter_link(s->fs.parent->inputs[i])->frame_count_out == 1 &&
        last != AV_NOPTS_VALUE && time <= last)
        s->state.in[i].shift = av_sat_add64(last, FFMAX(s->state.in[i].interval, 1)) - time;
    return av_sat_add64(time, s->state.in[i].shift);
}

/// Read the next frame of an input, or its end. @return 1 if one of these is known, else 0
static int read_next(PairSync *s, int i)
{
    AVFilterLink *link = s->fs.parent->inputs[i];
    FFFrameSyncIn *in  = &s->fs.in[i];
    int64_t pts;
    int status, ret;

    if (in->have_next)
        return 1;
    ret = read_queued(s, i);
    if (!ret && (ret = ff_inlink_consume_frame(link, &in->frame_next)) > 0)
        in->pts_next = continued_time(s, i, in->frame_next->pts);
    if (ret > 0) {
        if (s->state.in[i].time != AV_NOPTS_VALUE)
            s->state.in[i].interval = av_sat_sub64(in->pts_next, s->state.in[i].time);
        s->state.in[i].time = in->pts_next;
    } else if (!ret && (ret = ff_inlink_acknowledge_status(link, &status, &pts)) > 0) {
        in->pts_next = av_sat_add64(sync_time(s, i, pts), s->state.in[i].shift);
    } else if (!ret && ff_outlink_frame_wanted(s->fs.parent->outputs[0])) {
        ff_inlink_request_frame(link);
    }
    in->have_next = ret > 0;
    return ret;
}

static void take_next(FFFrameSyncIn *in)
{
    av_frame_free(&in->frame);
    in->frame      = in->frame_next;
    in->pts        = in->pts_next;
    in->frame_next = NULL;
    in->have_next  = 0;
}

// ---- a rebuilt graph ----

static void free_queue(AVFifo **queue)
{
    AVFrame *frame;

    while (*queue && av_fifo_read(*queue, &frame, 1) >= 0)
        av_frame_free(&frame);
    av_fifo_freep2(queue);
}

static void free_state(void *opaque, uint8_t *data)
{
    PairSyncState *state = (PairSyncState *)data;

    for (int i = 0; i < 2; i++)
        free_queue(&state->in[i].queue);
    av_free(state);
}

static int64_t rescale(const PairSync *s, int64_t time)
{
    return av_rescale_q_rnd(time, s->state.time_base, s->fs.time_base,
                            AV_ROUND_NEAR_INF | AV_ROUND_PASS_MINMAX);
}

/// Continue with the frames and counters of the graph before, once.
static void resume(PairSync *s)
{
    AVBufferRef **ref = &(*s->output)->inputs;

    for (int i = 0; i < 2; i++)
        s->state.in[i].time = AV_NOPTS_VALUE;
    if (!*ref)
        return;
    FFSWAP(PairSyncState, s->state, *(PairSyncState *)(*ref)->data);
    av_buffer_unref(ref);
    s->state.main_time = rescale(s, s->state.main_time);
    for (int i = 0; i < 2; i++) {
        PairSyncInput *in = &s->state.in[i];

        in->time     = rescale(s, in->time);
        in->interval = rescale(s, in->interval);
        in->shift    = 0;
    }
}

/// Put an input's frames that are not paired in a queue.
static int queue_frames(PairSync *s, int i, AVFifo *queue)
{
    FFFrameSyncIn *in = &s->fs.in[i];
    // the reference's current frame may be the nearest one to the next main frame, too
    const uint64_t nb_before = i ? current_ref(s) - !!in->frame : 0;
    int ret = 0;

    if (!i)
        av_frame_free(&in->frame);
    while (ret >= 0 && (in->frame || (ret = read_next(s, i)) > 0)) {
        if (!in->frame)
            take_next(in);
        if (!in->frame)
            break;
        in->frame->pts       = in->pts;
        in->frame->time_base = s->fs.time_base;
        if ((ret = av_fifo_write(queue, &in->frame, 1)) >= 0)
            in->frame = NULL;
    }
    s->state.in[i].nb_before = nb_before;
    return ret;
}

/// Leave the frames that are not paired, and the counters.
static int hand_over(PairSync *s)
{
    PairSyncState *state = av_mallocz(sizeof(*state));
    int ret = 0;

    if (!state || !((*s->output)->inputs = av_buffer_create((uint8_t *)state, sizeof(*state),
                                                            free_state, NULL, 0))) {
        av_free(state);
        return AVERROR(ENOMEM);
    }
    for (int i = 0; i < 2 && ret >= 0; i++) {
        AVFifo *queue = av_fifo_alloc2(8, sizeof(AVFrame *), AV_FIFO_FLAG_AUTO_GROW);

        ret = queue ? queue_frames(s, i, queue) : AVERROR(ENOMEM);
        FFSWAP(AVFifo *, s->state.in[i].queue, queue);
        free_queue(&queue);
    }
    s->state.time_base = s->fs.time_base;
    FFSWAP(PairSyncState, s->state, *state);
    return ret;
}

int ff_pair_sync_pass_waiting(PairSync *s)
{
    FFFrameSync *fs = &s->fs;
    int ret;

    if (fs->opt_ts_sync_mode != TS_NEAREST || !fs->in)
        return 0;
    while ((ret = read_next(s, 0)) > 0 && fs->in[0].frame_next) {
        av_frame_free(&fs->in[1].frame);
        take_next(&fs->in[0]);
        fs->pts = fs->in[0].pts;
        if ((ret = fs->on_event(fs)) < 0)
            return ret;
    }
    return ret;
}

int ff_pair_sync_command(PairSync *s, AVFilterContext *ctx, const char *cmd, const char *arg,
                         char *res, int res_len, int flags)
{
    int ret = ff_reinit_command(ctx, cmd, arg, res, res_len, flags);

    return ret < 0 || strcmp(cmd, "hand_over") || s->fs.opt_ts_sync_mode != TS_NEAREST ||
           !s->fs.in ? ret : hand_over(s);
}

int ff_pair_sync_config_output(PairSync *s, AVFilterLink *outlink)
{
    AVFilterContext *ctx = outlink->src;
    AVFilterLink *main   = ctx->inputs[0], *ref = ctx->inputs[1];
    FFFrameSync *fs      = &s->fs;
    int ret;

    // keep framesync from resetting its options, which the filter's options have set
    fs->class = &ff_framesync_class;
    // framesync itself ignores the reference's time base if its last frame is not repeated
    fs->time_base = av_gcd_q(main->time_base, ref->time_base, AV_TIME_BASE / 2, AV_TIME_BASE_Q);
    s->first_ref  = AV_NOPTS_VALUE;
    if ((ret = ff_luma_config(main)) < 0 ||
        (ret = ff_framesync_init_dualinput(fs, ctx)) < 0 ||
        (ret = ff_framesync_configure(fs)) < 0)
        return ret;
    resume(s);
    outlink->w                   = main->w;
    outlink->h                   = main->h;
    outlink->sample_aspect_ratio = main->sample_aspect_ratio;
    outlink->time_base           = fs->time_base;
    ff_filter_link(outlink)->frame_rate = ff_filter_link(main)->frame_rate;
    return 0;
}

// ---- pairing ----

/// @return the tolerance in framesync's time base, for frames so far apart
static int64_t tolerance(const PairSync *s, int64_t interval)
{
    return FFMIN(interval / 4, av_rescale_q_rnd(TOLERANCE, AV_TIME_BASE_Q, s->fs.time_base,
                                                AV_ROUND_DOWN));
}

/// Whether the next main frame is paired with the reference's current frame, whatever comes next.
static int is_settled(const PairSync *s)
{
    const FFFrameSyncIn *ref = &s->fs.in[1];
    const int64_t time = s->fs.in[0].pts_next;

    // frames of one time are paired in their order
    return ref->frame && (ref->pts > time || ref->pts == time && current_ref(s) != s->state.last_ref);
}

/// Whether the reference's next frame is nearer than its current one to the next main frame.
static int is_nearer(const PairSync *s)
{
    const FFFrameSyncIn *ref = &s->fs.in[1];
    const int64_t time = s->fs.in[0].pts_next;

    if (ref->pts_next <= time)
        return 1;
    if (!ref->frame)
        return time_between(ref->pts_next, time) <= tolerance(s, INT64_MAX);
    return time_between(time, ref->pts) - time_between(time, ref->pts_next) >
           tolerance(s, time_between(ref->pts, ref->pts_next));
}

/// Whether the next main frame comes after the time for which the reference's last one is shown.
static int is_after_end(const PairSync *s)
{
    const FFFrameSyncIn *ref = &s->fs.in[1];
    int64_t duration = s->state.in[1].interval;

    if (!ref->frame || !ref->have_next || ref->frame_next)
        return 0;
    if (ref->frame->duration > 0)
        duration = sync_time(s, 1, ref->frame->duration);
    return av_sat_sub64(s->fs.in[0].pts_next, ref->pts) >=
           FFMAX(duration - tolerance(s, duration), 1);
}

/// Pair each main frame with the nearest frame of the reference.
static int pair_nearest(PairSync *s)
{
    FFFrameSync *fs      = &s->fs;
    FFFrameSyncIn *main  = &fs->in[0], *ref = &fs->in[1];
    AVFilterContext *ctx = fs->parent;
    int ret;

    FF_FILTER_FORWARD_STATUS_BACK_ALL(ctx->outputs[0], ctx);
    for (;;) {
        if ((ret = read_next(s, 0)) <= 0)
            return ret;
        // after the end of the main input, the reference is read only to count its frames
        fs->eof = !main->frame_next;
        if (main->frame_next ? is_settled(s) : fs->opt_shortest)
            break;
        if ((ret = read_next(s, 1)) <= 0)
            return ret;
        if (!ref->frame_next || main->frame_next && !is_nearer(s))
            break;
        take_next(ref);
        // a skipped reference frame begins or ends damage, too
        ff_metric_update_damage(*s->output, METRIC_REFERENCE, ref->frame);
    }
    if (!main->frame_next || fs->opt_shortest && is_after_end(s)) {
        s->state.nb_ref = current_ref(s);
        fs->eof   = 1;
        ff_outlink_set_status(ctx->outputs[0], AVERROR_EOF, main->pts_next);
        return 0;
    }
    if (!fs->opt_repeatlast && is_after_end(s))
        av_frame_free(&ref->frame);
    take_next(main);
    fs->pts = main->pts;
    return fs->on_event(fs);
}

int ff_pair_sync_activate(PairSync *s)
{
    AVFilterLink *ref = s->fs.parent->inputs[1];

    if (s->first_ref == AV_NOPTS_VALUE && ff_inlink_check_available_frame(ref))
        s->first_ref = sync_time(s, 1, ff_inlink_peek_frame(ref, 0)->pts);
    return s->fs.opt_ts_sync_mode == TS_NEAREST ? pair_nearest(s) : ff_framesync_activate(&s->fs);
}

static int exceeds_rounding(const PairSync *s, int64_t interval)
{
    return av_compare_ts(interval, s->fs.time_base, ROUNDING, AV_TIME_BASE_Q) > 0;
}

static void check_times(PairSync *s, AVFilterContext *ctx, const AVFrame *ref)
{
    const FFFrameSync *fs = &s->fs;
    // framesync has these in one time base, the reference's frame may not
    const int64_t main_time = fs->in[0].pts, ref_time = fs->in[1].pts;
    const int64_t apart     = time_between(main_time, ref_time);
    // how long frames last is not known before the second
    const int64_t duration  = s->state.nb_main ? av_sat_sub64(main_time, s->state.main_time) : INT64_MAX;

    // an offset of whole frames leaves no trace in the pairs
    if (!s->state.nb_main++ && s->first_ref != AV_NOPTS_VALUE &&
        exceeds_rounding(s, time_between(main_time, s->first_ref)))
        av_log(ctx, AV_LOG_WARNING, "The main input begins at %f s, the reference at %f s, "
               "%f s apart: insert setpts=PTS-STARTPTS before both inputs.\n",
               main_time * av_q2d(fs->time_base), s->first_ref * av_q2d(fs->time_base),
               time_between(main_time, s->first_ref) * av_q2d(fs->time_base));
    s->state.main_time = main_time;
    s->state.nb_ref    = current_ref(s);
    // also where the timeline leaves the pair out
    if (fs->in[1].frame && s->state.nb_ref != s->state.last_ref) {
        s->state.last_ref = s->state.nb_ref;
        s->state.nb_ref_paired++;
    }
    if (!ref) {
        s->state.nb_main_unpaired += !fs->in[1].frame;
        return;
    }

    s->state.nb_pairs++;
    if (apart <= duration / FRAME_PARTS || !exceeds_rounding(s, apart))
        return;
    if (!s->state.nb_mismatched++)
        av_log(ctx, AV_LOG_WARNING, "The main input's frame at %f s is compared with the "
               "reference's at %f s, which may be another picture. %snsert setpts=PTS-STARTPTS "
               "before both inputs, and check that both have the same first frame and frame rate.\n",
               main_time * av_q2d(fs->time_base), ref_time * av_q2d(fs->time_base),
               fs->opt_ts_sync_mode == TS_NEAREST ? "I" : "Set ts_sync_mode=nearest, i");
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
    if ((ret = ff_luma_check_frame(ctx, 0, *main)) < 0 ||
        (ret = ff_framesync_get_frame(&s->fs, 1, &ref, 0)) < 0 ||
        ref && (ret = ff_luma_check_frame(ctx, 1, ref)) < 0 ||
        (ret = ff_metric_damage(*s->output, *main, ref)) < 0)
        av_frame_free(main);
    return ret;
}

void ff_pair_sync_uninit(PairSync *s, AVFilterContext *ctx)
{
    if (s->state.nb_mismatched)
        av_log(ctx, AV_LOG_WARNING, "The times of %"PRIu64" of %"PRIu64" pairs differ by more "
               "than a quarter of a frame: their scores may be of different pictures.\n",
               s->state.nb_mismatched, s->state.nb_pairs);
    if (s->state.nb_main_unpaired || s->state.nb_ref > s->state.nb_ref_paired)
        av_log(ctx, AV_LOG_WARNING, "Unpaired frames: %"PRIu64" of %"PRIu64" of the main input, "
               "which have no score, and %"PRIu64" of %"PRIu64" of the reference.\n",
               s->state.nb_main_unpaired, s->state.nb_main,
               s->state.nb_ref - s->state.nb_ref_paired, s->state.nb_ref);
    ff_framesync_uninit(&s->fs);
    for (int i = 0; i < 2; i++)
        free_queue(&s->state.in[i].queue);
}
