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
 * if END is 1; if it is 0, the graph is freed without; if it is 2, it is told to drain first.
 * Prints a line of what each frame's metadata has of the filter's score.
 */

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/dict.h"
#include "filter_graph.h"

static void draw(AVFrame *frame)
{
    uint32_t seed = frame->pts;

    for (int y = 0; y < frame->height; y++)
        for (int x = 0; x < frame->width; x++) {
            seed = seed * 1664525 + 1013904223;
            frame->data[0][y * frame->linesize[0] + x] = 100 + 40 * (x * y >> 6 & 1) + (seed >> 28);
        }
}

static int take(void *opaque, const AVFrame *frame)
{
    const AVDictionaryEntry *entry = NULL;

    while ((entry = av_dict_iterate(frame->metadata, entry)))
        if (strstr(entry->key, ".score"))
            printf("%"PRId64" %s=%s\n", frame->pts, entry->key, entry->value);
    return 0;
}

static int run(const char *job)
{
    AVFrame like = { .format = AV_PIX_FMT_GRAY8 };
    TestGraph g;
    int first, number, end, length, ret;

    if (sscanf(job, "%d:%d:%dx%d:%d:%n", &first, &number, &like.width, &like.height, &end,
               &length) != 5)
        return AVERROR(EINVAL);
    ret = test_graph_open(&g, job + length, (AVFrame *[]){ &like }, 0);
    for (int i = 0; i < number + (end == 1) && ret >= 0; i++) {
        AVFrame *frame = NULL;

        if (i < number) {
            frame = test_new_frame(like.format, like.width, like.height, 0, 0, 0);
            if (!frame) {
                ret = AVERROR(ENOMEM);
                break;
            }
            frame->pts = first + i;
            draw(frame);
        }
        ret = av_buffersrc_add_frame(g.source[0], frame);
        if (ret >= 0)
            ret = test_graph_receive(&g, NULL, take);
        av_frame_free(&frame);
    }
    if (ret >= 0 && end == 2) {
        avfilter_graph_send_command(g.graph, "all", "drain", "1", NULL, 0, 0);
        ret = test_graph_receive(&g, NULL, take);
    }
    avfilter_graph_free(&g.graph);
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
