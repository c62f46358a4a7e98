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
 * Fuzzer of the options of the filters. The input is a filter graph; its open
 * inputs get two frames each. Files are made in a new folder in the current one.
 */

#define _GNU_SOURCE         // for fuzz.h

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/frame.h"
#include "libavfilter/avfilter.h"
#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"
#include "fuzz.h"

#define MAX_SIZE    400
#define MAX_FILTERS 3
#define MAX_PADS    8

static const char model[] =
    "bliinds-model 1\nname small\ndirection lower\nrange 0 100\nconstant 50\n"
    "weight L1.zeta100 1\nend\n";
static const char statistics[] =
    "bliinds-rr 2\nformat 64 64 limited 8\n"
    "0 0 1 97323 63796 30395 100401 69012 46767 105571 74656 53313\n";

static void write_file(const char *name, const char *text)
{
    FILE *f = fopen(name, "w");

    av_assert0(f && fputs(text, f) >= 0 && !fclose(f));
}

/// Begin anew: what inputs wrote must not help those after them.
static void clean_folder(void)
{
    struct dirent *entry;
    DIR *dir = opendir(".");

    av_assert0(dir);
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            av_assert0(!unlink(entry->d_name));
    closedir(dir);
}

static void enter_folder(void)
{
    static char dir[] = "options-XXXXXX";
    static int entered;

    if (!entered) {
        av_log_set_callback(fuzz_log);
        av_assert0(mkdtemp(dir) && !chdir(dir));
        entered = 1;
    }
    clean_folder();
    write_file("model.txt", model);
    write_file("rr.txt", statistics);
}

static AVFilterContext *add(AVFilterGraph *graph, const char *filter, const char *args, AVFilterInOut *open)
{
    AVFilterContext *ctx;
    int ret = avfilter_graph_create_filter(&ctx, avfilter_get_by_name(filter), NULL, args, NULL, graph);

    av_assert0(ret >= 0);
    ret = args ? avfilter_link(ctx, 0, open->filter_ctx, open->pad_idx)
               : avfilter_link(open->filter_ctx, open->pad_idx, ctx, 0);
    return ret >= 0 ? ctx : NULL;
}

static void put_frame(AVFilterContext *source, int64_t pts)
{
    AVFrame *frame = av_frame_alloc();

    av_assert0(frame);
    frame->format = AV_PIX_FMT_YUV420P;
    frame->width  = frame->height = 64;
    frame->pts    = pts;
    av_assert0(av_frame_get_buffer(frame, 0) >= 0);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < (p ? 32 : 64); y++)
            for (int x = 0; x < (p ? 32 : 64); x++)
                frame->data[p][y * frame->linesize[p] + x] = x * y + 17 * (x >> 3 ^ pts);
    if (av_buffersrc_add_frame(source, frame) < 0)
        av_frame_unref(frame);
    av_frame_free(&frame);
}

static void run(AVFilterGraph *graph, AVFilterInOut *inputs, AVFilterInOut *outputs)
{
    AVFilterContext *source[MAX_PADS], *sink[MAX_PADS];
    int nb_sources = 0, nb_sinks = 0;
    AVFrame *frame;

    for (AVFilterInOut *in = inputs; in; in = in->next)
        if (nb_sources == MAX_PADS ||
            !(source[nb_sources++] = add(graph, "buffer", "video_size=64x64:pix_fmt=yuv420p:time_base=1/25", in)))
            return;
    for (AVFilterInOut *out = outputs; out; out = out->next)
        if (nb_sinks == MAX_PADS || !(sink[nb_sinks++] = add(graph, "buffersink", NULL, out)))
            return;
    if (avfilter_graph_config(graph, NULL) < 0)
        return;

    frame = av_frame_alloc();
    av_assert0(frame);
    for (int64_t pts = 0; pts < 3; pts++) {
        for (int i = 0; i < nb_sources; i++) {
            if (pts < 2)
                put_frame(source[i], pts);
            else if (av_buffersrc_add_frame(source[i], NULL) < 0)
                continue;
        }
        for (int i = 0; i < nb_sinks; i++)
            while (av_buffersink_get_frame(sink[i], frame) >= 0)
                av_frame_unref(frame);
    }
    av_frame_free(&frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AVFilterGraph *graph;
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    char text[MAX_SIZE + 1] = { 0 };

    if (size > MAX_SIZE)
        return 0;
    memcpy(text, data, size);
    graph = avfilter_graph_alloc();
    av_assert0(graph);
    graph->nb_threads = 2;
    // other folders are not ours, and neither are FFmpeg's own filters
    if (!strchr(text, '/') && !strstr(text, "buffer")) {
        enter_folder();
        if (avfilter_graph_parse2(graph, text, &inputs, &outputs) >= 0 &&
            graph->nb_filters <= MAX_FILTERS)
            run(graph, inputs, outputs);
    }
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    avfilter_graph_free(&graph);
    return 0;
}
