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

    *in = (Input){ 0 };
    if ((ret = avformat_open_input(&in->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(in->format, NULL)) < 0)
        return fail("Cannot read '%s': %s.", path, av_err2str(ret));
    for (unsigned i = 0; i < in->format->nb_streams; i++) {
        AVStream *st               = in->format->streams[i];
        const AVCodecParameters *p = st->codecpar;

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

int input_scan(Input *in, double start, double length, int nb_frames)
{
    const AVFormatContext *format = in->format;
    const double offset = format->start_time == AV_NOPTS_VALUE ? 0 : format->start_time / 1e6;
    const double stated = format->duration / 1e6;
    AVPacket *p = checked(av_packet_alloc());
    double end  = 0, last = 0;      // of all streams, and of the video

    for (; av_read_frame(in->format, p) >= 0; av_packet_unref(p)) {
        const AVStream *st = format->streams[p->stream_index];
        const double unit  = av_q2d(st->time_base);
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;
        const double begin = time == AV_NOPTS_VALUE ? last : time * unit - offset;
        const Unit u       = { begin - start, p->size };

        end = FFMAX(end, begin + p->duration * unit);
        if (st != in->stream)
            continue;
        last = begin + p->duration * unit;
        if (u.time < 0 || length && u.time >= length)
            continue;
        checked(av_dynarray2_add((void **)&in->unit, &in->nb_units, sizeof(u), (uint8_t *)&u));
        in->seconds = FFMAX(in->seconds, last - start);
    }
    av_packet_free(&p);
    if (!in->nb_units)
        return fail("'%s' has no frames%s.", format->url, start || length ? " in that part" : "");
    qsort(in->unit, in->nb_units, sizeof(*in->unit), compare_units);
    if (nb_frames && nb_frames < in->nb_units)
        in->seconds = in->unit[nb_frames].time;
    in->nb_units = input_count(in, 0, INFINITY, &in->bytes);
    // other durations are estimates
    if (format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM &&
        stated - end > END_TOLERANCE)
        tell("'%s' is cut off: %.2f s are missing at its end. What is there is used.\n",
             format->url, stated - end);
    return 0;
}

int input_count(const Input *in, double start, double seconds, int64_t *bytes)
{
    const double end = FFMIN(start + seconds, in->seconds);
    int nb = 0;

    *bytes = 0;
    for (const Unit *u = in->unit; u < in->unit + in->nb_units; u++)
        if (u->time >= start && u->time < end) {
            *bytes += u->size;
            nb++;
        }
    return nb;
}
