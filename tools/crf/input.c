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

#include <math.h>
#include <stdlib.h>

#include "libavutil/common.h"
#include "libavutil/mem.h"

#include "input.h"
#include "text.h"

#define END_TOLERANCE 0.5   ///< by which the stated duration may be longer than all streams, in s

int input_open(Input *in, const char *path)
{
    int ret;

    *in = (Input){ .path = path };
    if ((ret = avformat_open_input(&in->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(in->format, NULL)) < 0)
        return fail("Cannot read '%s': %s.%s", path, av_err2str(ret),
                    ret == AVERROR_INVALIDDATA ? " Is it a complete video file?" : "");
    for (unsigned i = 0; i < in->format->nb_streams; i++) {
        AVStream *st                = in->format->streams[i];
        const AVCodecParameters *p  = st->codecpar;

        // a picture of the cover is no video
        if (p->codec_type == AVMEDIA_TYPE_VIDEO &&
            !(st->disposition & AV_DISPOSITION_ATTACHED_PIC) &&
            (!in->stream || (int64_t)p->width * p->height >
                            (int64_t)in->stream->codecpar->width * in->stream->codecpar->height))
            in->stream = st;
    }
    return in->stream ? 0 : fail("'%s' has no video stream.", path);
}

static int compare_units(const void *a, const void *b)
{
    return FFDIFFSIGN(((const Unit *)a)->time, ((const Unit *)b)->time);
}

int input_scan(Input *in, double start, double length, int (*is_stopped)(void))
{
    const int64_t first  = in->format->start_time;
    const double offset  = first == AV_NOPTS_VALUE ? 0 : first / (double)AV_TIME_BASE;
    const double stated  = in->format->duration / (double)AV_TIME_BASE;
    AVPacket *p = checked(av_packet_alloc());
    double end  = 0, last = 0;      // of all streams, and of the video

    for (; !is_stopped() && av_read_frame(in->format, p) >= 0; av_packet_unref(p)) {
        const AVStream *st = in->format->streams[p->stream_index];
        const double unit  = av_q2d(st->time_base);
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;
        const Unit u = { time == AV_NOPTS_VALUE ? last : time * unit - offset, p->size };

        end = FFMAX(end, u.time + p->duration * unit);
        if (st != in->stream)
            continue;
        last = u.time + p->duration * unit;
        if (u.time < start || length && u.time >= start + length)
            continue;
        checked(av_dynarray2_add((void **)&in->unit, &in->nb_units, sizeof(u),
                                 (const uint8_t *)&u));
        in->unit[in->nb_units - 1].time -= start;
        in->bytes  += u.size;
        in->seconds = FFMAX(in->seconds, last - start);
    }
    av_packet_free(&p);
    if (is_stopped())
        return -1;
    if (!in->nb_units)
        return fail("'%s' has no frames%s.", in->path, start || length ? " in that part" : "");
    qsort(in->unit, in->nb_units, sizeof(*in->unit), compare_units);
    // other durations are estimates
    if (in->format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM &&
        stated - end > END_TOLERANCE)
        tell("'%s' is cut off: %.2f s are missing at its end. What is there is used.\n", in->path,
             stated - end);
    return 0;
}

void input_limit(Input *in, int nb_frames)
{
    if (nb_frames >= in->nb_units)
        return;
    in->nb_units = nb_frames;
    in->seconds  = in->unit[nb_frames].time;
    input_count(in, 0, in->seconds, &in->bytes);
}

int input_count(const Input *in, double start, double seconds, int64_t *bytes)
{
    int nb = 0;

    *bytes = 0;
    for (const Unit *u = in->unit; u < in->unit + in->nb_units; u++)
        if (u->time >= start && u->time < start + seconds) {
            *bytes += u->size;
            nb++;
        }
    return nb;
}
