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
 * A host of filters, in the locale of the environment: each argument is a graph
 * that gets its frames and is freed before the next one is made.
 *     FIRST:NUMBER:WIDTHxHEIGHT:END:FILTERS
 * NUMBER frames with the timestamps FIRST... in units of 1/25 s. Their input ends
 * if END is 1; if it is 0, the graph is freed without.
 * Prints a line of what each frame's metadata has of the filter's score.
 */

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/dict.h"
#include "libavutil/frame.h"
#include "libavutil/mem.h"
#include "libavfilter/avfilter.h"
#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"

static void draw(AVFrame *frame)
{
    uint32_t seed = frame->pts;

    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++) {
            seed = seed * 1664525 + 1013904223;
            frame->data[0][y * frame->linesize[0] + x] = 100 + 40 * (x * y >> 6 & 1) + (seed >> 28);
        }
}

static int take_frames(AVFilterContext *sink)
{
    AVFrame *frame = av_frame_alloc();
    int ret = frame ? 0 : AVERROR(ENOMEM);

    while (ret >= 0 && (ret = av_buffersink_get_frame(sink, frame)) >= 0) {
        const AVDictionaryEntry *entry = NULL;

        while ((entry = av_dict_get(frame->metadata, "", entry, AV_DICT_IGNORE_SUFFIX)))
            if (strstr(entry->key, ".score"))
                printf("%"PRId64" %s=%s\n", frame->pts, entry->key, entry->value);
        av_frame_unref(frame);
    }
    av_frame_free(&frame);
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

static int run(const char *job)
{
    AVFilterGraph *graph = avfilter_graph_alloc();
    AVFilterContext *source = NULL, *sink = NULL;
    char *text = NULL;
    int first, number, width, height, end, length, ret = AVERROR(EINVAL);

    if (!graph || sscanf(job, "%d:%d:%dx%d:%d:%n", &first, &number, &width, &height, &end,
                         &length) != 5)
        goto end;
    text = av_asprintf("buffer@in=video_size=%dx%d:pix_fmt=gray:time_base=1/25,%s,buffersink@out",
                       width, height, job + length);
    if (!text || (ret = avfilter_graph_parse_ptr(graph, text, NULL, NULL, NULL)) < 0 ||
        (ret = avfilter_graph_config(graph, NULL)) < 0)
        goto end;
    source = avfilter_graph_get_filter(graph, "buffer@in");
    sink   = avfilter_graph_get_filter(graph, "buffersink@out");

    for (int i = 0; i < number + end; i++) {
        AVFrame *frame = i < number ? av_frame_alloc() : NULL;

        if (frame) {
            frame->format = AV_PIX_FMT_GRAY8;
            frame->width  = width;
            frame->height = height;
            frame->pts    = first + i;
            ret = av_frame_get_buffer(frame, 0);
            if (ret >= 0)
                draw(frame);
        }
        if (ret >= 0)
            ret = av_buffersrc_add_frame(source, frame);
        av_frame_free(&frame);
        if (ret < 0 || (ret = take_frames(sink)) < 0)
            break;
    }

end:
    av_free(text);
    avfilter_graph_free(&graph);
    return ret;
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "");
    for (int i = 1; i < argc; i++)
        if (run(argv[i]) < 0)
            return 1;
    return 0;
}
