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

#include "libavfilter/tests/filter_graph.h"
#include "fuzz.h"

#define MAX_SIZE    400
#define MAX_FILTERS 3

static const char model[] =
    "bliinds-model 1\nname small\ndirection lower\nrange 0 100\nconstant 50\n"
    "weight L1.zeta100 1\nend\n";

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
}

static void put_frame(AVFilterContext *source, int64_t pts)
{
    AVFrame *frame = test_new_frame(AV_PIX_FMT_YUV420P, 64, 64);

    av_assert0(frame);
    frame->pts = pts;
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < (p ? 32 : 64); y++)
            for (int x = 0; x < (p ? 32 : 64); x++)
                frame->data[p][y * frame->linesize[p] + x] = x * y + 17 * (x >> 3 ^ pts);
    if (av_buffersrc_add_frame(source, frame) < 0)
        av_frame_unref(frame);
    av_frame_free(&frame);
}

static int drop(void *opaque, const AVFrame *frame)
{
    return 0;
}

static void run(TestGraph *g, AVFilterInOut *inputs, AVFilterInOut *outputs)
{
    AVFrame *like[TEST_MAX_PADS], frame = { .format = AV_PIX_FMT_YUV420P, .width = 64, .height = 64 };

    for (int i = 0; i < TEST_MAX_PADS; i++)
        like[i] = &frame;
    if (test_graph_link(g, inputs, outputs, like) < 0)
        return;

    for (int64_t pts = 0; pts < 3; pts++) {
        for (int i = 0; i < g->nb_sources; i++) {
            if (pts < 2)
                put_frame(g->source[i], pts);
            else if (av_buffersrc_add_frame(g->source[i], NULL) < 0)
                continue;
        }
        for (int i = 0; i < g->nb_sinks; i++)
            test_graph_receive(g, i, NULL, drop);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    TestGraph g = { NULL };
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    char text[MAX_SIZE + 1] = { 0 };

    if (size > MAX_SIZE)
        return 0;
    memcpy(text, data, size);
    g.graph = avfilter_graph_alloc();
    av_assert0(g.graph);
    g.graph->nb_threads = 2;
    // other folders are not ours, and neither are FFmpeg's own filters
    if (!strchr(text, '/') && !strstr(text, "buffer")) {
        enter_folder();
        if (avfilter_graph_parse2(g.graph, text, &inputs, &outputs) >= 0 &&
            g.graph->nb_filters <= MAX_FILTERS)
            run(&g, inputs, outputs);
    }
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    avfilter_graph_free(&g.graph);
    return 0;
}
