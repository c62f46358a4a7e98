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

#include <stdint.h>

#include "config.h"

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/cpu.h"
#include "libavutil/error.h"

#include "filters.h"
#include "vmaf_integer_motion.h"
#include "vmaf_integer_motion_template.c"

av_cold void ff_vmaf_motion_dsp_init(MotionDSPContext *dsp)
{
    *dsp = row_functions;
#if HAVE_AVX2
    if (av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
        ff_vmaf_motion_dsp_init_avx2(dsp);
#endif
}

static const uint8_t *frame_row(const AVFrame *frame, int y)
{
    return frame->data[0] + y * (ptrdiff_t)frame->linesize[0];
}

static int motion_slice(AVFilterContext *ctx, void *arg, int jobnr, int nb_jobs)
{
    const MotionContext *s = arg;
    MotionSlice *slice = &s->slice[jobnr];
    const int w = s->frame->width, h = s->frame->height;
    const int begin = ff_slice_pos(h, jobnr, nb_jobs), end = ff_slice_pos(h, jobnr + 1, nb_jobs);
    int32_t *column = slice->column;

    slice->sad = 0;
    for (int next = FFMAX(begin - MOTION_TAPS / 2, 0), y = begin; y < end; y++) {
        const int16_t *row[MOTION_TAPS];

        for (; next < FFMIN(y + MOTION_TAPS / 2 + 1, h); next++)
            s->dsp.subtract(slice->difference[next % MOTION_TAPS], frame_row(s->prev, next),
                            frame_row(s->frame, next), s->depth, w);
        for (int i = 0; i < MOTION_TAPS; i++)
            row[i] = slice->difference[vmaf_mirror(y + i - MOTION_TAPS / 2, h) % MOTION_TAPS];
        s->dsp.vertical(column, row, s->depth, w);
        for (int i = 1; i <= MOTION_TAPS / 2; i++) {
            column[-i]        = column[i];
            column[w - 1 + i] = column[w - 1 - i];
        }
        slice->sad += s->dsp.horizontal_sad(column, w);
    }
    return 0;
}

av_cold int ff_vmaf_motion_init(MotionContext *s, int width, int depth, int nb_slices)
{
    s->depth     = depth;
    s->nb_slices = nb_slices;
    ff_vmaf_motion_dsp_init(&s->dsp);
    s->slice     = vmaf_buffer_alloc(&s->buffers, nb_slices, sizeof(*s->slice));
    for (int i = 0; i < nb_slices && s->slice; i++) {
        MotionSlice *slice = &s->slice[i];

        for (int row = 0; row < MOTION_TAPS; row++)
            slice->difference[row] = vmaf_buffer_alloc(&s->buffers, width, sizeof(int16_t));
        slice->column = vmaf_buffer_alloc(&s->buffers, width, sizeof(int32_t));
    }
    return s->buffers.alloc_failed ? AVERROR(ENOMEM) : 0;
}

void ff_vmaf_motion_begin(MotionContext *s, const AVFrame *prev, const AVFrame *frame,
                          uint64_t *sad)
{
    s->prev  = prev;
    s->frame = frame;
    s->begun = 0;
    s->sad   = sad;
}

int ff_vmaf_motion_next(MotionContext *s, VMAFTask *task)
{
    if (!s->begun) {
        s->begun = 1;
        *task    = (VMAFTask){ motion_slice, s, s->nb_slices };
        return 1;
    }
    *s->sad = 0;
    for (int i = 0; i < s->nb_slices; i++)
        *s->sad += s->slice[i].sad;
    return 0;
}

av_cold void ff_vmaf_motion_close(MotionContext *s)
{
    vmaf_buffers_free(&s->buffers);
}

// ---- features ----

void ff_vmaf_motion_add(MotionState *s, enum VMAFWindow window, int64_t i, uint64_t sad,
                        int width, int height, double max)
{
    s->sad[i % 4] = i <= window ? 0 : FFMIN(sad / 256. / (width * height), max);
}

double ff_vmaf_motion2(const MotionState *s, enum VMAFWindow window, int64_t i, int64_t length)
{
    const double *sad = s->sad, next = sad[(i + 1) % 4];
    const int first   = window + 1;     // position of the first frame that has a SAD

    if (i < first)
        return 0;
    if (i == length - 1)
        return sad[i % 4];
    if (window == VMAF_WINDOW_3)
        return FFMIN(sad[i % 4], next);
    return i > first ? FFMIN(sad[(i - 1) % 4], next) : next;
}

double ff_vmaf_motion3(MotionState *s, enum VMAFWindow window, int64_t i, int64_t length)
{
    const int first   = window + 1;
    const double prev = s->last;
    double motion     = ff_vmaf_motion2(s, window, i, length);

    // frames without a SAD take that of the first one that has it
    if (i < first)
        motion = length > first ? s->sad[first] : 0;
    s->last = motion;
    return window == VMAF_WINDOW_5 && i >= first ? (motion + prev) / 2 : motion;
}
