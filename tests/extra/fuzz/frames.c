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
 * Fuzzer of the filters by frames: of any size, format, range and layout in
 * memory, that change from one to the next. The first byte of the input chooses
 * the filter, the second how it is run; a Command for each frame follows.
 *
 * As many frames must come out as went in, those of filters that only look at
 * them with the very same samples, and all the same with another number of threads. A frame of another
 * size than the first one of its graph must fail, also where its link has that size.
 */

#include <stdlib.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/intreadwrite.h"
#include "libavutil/pixdesc.h"
#include "libavfilter/tests/filter_graph.h"
#include "fuzz.h"

#define MAX_FRAMES 4

static const struct {
    const char *name;
    int area;                   ///< the most samples, so that one input is done in time
    int min_size;               ///< below that, one in eight is an error
    int passes;                 ///< frames go through as they are
    int nb_inputs;
} filters[] = {
    { "bliinds=features=1",                1 << 14,   4, 1, 1 },
    { "bliinds=n_subsample=2:side_data=0", 1 << 14,   4, 1, 1 },
    { "bliinds=enable=mod(n\\,2)",         1 << 14,   4, 1, 1 },
    { "mad",                               4400,     64, 1, 2 },
    { "mad=enable=mod(n\\,2):shortest=1",  4400,     64, 1, 2 },
    { "blocksmooth",                       1 << 14,   1, 0, 1 },
    { "blocksmooth=qf=255:block=16",       1 << 14,   1, 0, 1 },
    { "blocksmooth=qf=1:block=64:planes=6", 1 << 14,  1, 0, 1 },
    { "vmaf",                              1 << 16, 216, 1, 2 },
    { "vmaf=bitdepth=10:n_subsample=2:model=version=vmaf_v1.0.16_hfr_5d0h",
                                           1 << 17, 266, 1, 2 },
};

/// The second byte.
enum {
    REBUILD = 1,                ///< a new graph where frames change, as ffmpeg does
    ALONE   = 2,                ///< nobody else has the frames: they may be written to
    THREADS = 0x1c,             ///< of the second run, less 2
    RESIZE  = 0x20,             ///< links get the sizes of frames, as by scale=eval=frame
};

/// A frame, byte by byte.
typedef struct Command {
    uint8_t width[2], height[2];
    uint8_t format[2];          ///< of each input, see get_format()
    uint8_t range;              ///< two bits for each input
    uint8_t layout;
    uint8_t content;
    uint8_t step;               ///< to the next pts; 0 for a frame without
} Command;

/// What a run is judged by.
typedef struct Run {
    AVBPrint text;              ///< all that can be seen of the frames that came out
    unsigned sums[MAX_FRAMES];  ///< of the frames that went in
    int filter, nb_in, nb_out, failed;
} Run;

/// Those that filters take, and half of all.
static enum AVPixelFormat get_format(int byte)
{
    static const enum AVPixelFormat common[] = {
        AV_PIX_FMT_YUV420P,   AV_PIX_FMT_YUV422P,   AV_PIX_FMT_YUV444P,   AV_PIX_FMT_YUV410P,
        AV_PIX_FMT_YUVJ420P,  AV_PIX_FMT_GRAY8,     AV_PIX_FMT_NV12,      AV_PIX_FMT_NV24,
        AV_PIX_FMT_YUV420P10, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P12, AV_PIX_FMT_YUV420P16,
        AV_PIX_FMT_GRAY10,    AV_PIX_FMT_GRAY16,    AV_PIX_FMT_P010,      AV_PIX_FMT_P416,
    };
    const int any = 2 * (byte & 127) + 1;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(any);

    return byte < 128 || !desc || desc->flags & AV_PIX_FMT_FLAG_HWACCEL || !desc->nb_components
           ? common[byte % FF_ARRAY_ELEMS(common)] : any;
}

static uint8_t sample_byte(int content, int x, int y, unsigned *random)
{
    *random = *random * 1664525 + 1013904223;
    switch (content & 7) {
    case 0: return content;                             // flat
    case 1: return *random >> 24;                       // in 16 bits beyond the depth, too
    case 2: return x + y;
    case 3: return (x >> 4 ^ y >> 3) & 1 ? 255 : 0;
    case 4: return (x >> 3) * 16 + (*random >> 30);
    case 5: return x & 1 ? 3 & content >> 3 : *random >> 24;    // in 16 bits, of 10
    case 6: return 255;
    }
    return (content >> 3) + (*random >> 31);
}

static AVFrame *make_frame(const Command *c, int input, int width, int height)
{
    const int content = c->content ^ (input ? c->layout >> 7 : 0);
    unsigned random = c->content + input;
    AVFrame *frame  = test_new_frame(get_format(c->format[input]), width, height,
                                     (c->layout & 31) * 16, 0, c->layout >> 5 + input & 1);

    frame->color_range = (c->range >> 2 * input & 3) % AVCOL_RANGE_NB;
    for (int p = 0; p < 4 && frame->linesize[p]; p++) {
        const int stride = FFABS(frame->linesize[p]);

        for (size_t i = 0; i < frame->buf[p]->size; i++)
            frame->buf[p]->data[i] = sample_byte(content, i % stride, i / stride, &random);
    }
    return frame;
}

static int take(void *opaque, const AVFrame *frame)
{
    Run *run = opaque;

    av_bprintf(&run->text, "%d %dx%d %s %lld %08x\n", run->nb_out, frame->width, frame->height,
               av_get_pix_fmt_name(frame->format), (long long)frame->pts, test_checksum(1, frame));
    test_describe(&run->text, frame);
    av_assert0(run->nb_out < run->nb_in);
    av_assert0(!filters[run->filter].passes || test_checksum(1, frame) == run->sums[run->nb_out]);
    run->nb_out++;
    return 0;
}

static void close_graph(TestGraph *g, Run *run)
{
    if (g->graph && !run->failed)
        run->failed = test_graph_send(g, NULL, 0, run, take) < 0;
    avfilter_graph_free(&g->graph);
}

static void get_size(const Command *c, int filter, int *width, int *height)
{
    const int min = c->layout >> 5 == 7 ? 1 : filters[filter].min_size;
    const int w   = AV_RL16(c->width) & 0x7fff, h = AV_RL16(c->height) & 0x7fff;

    *width  = FFMAX(FFMIN(w, filters[filter].area / min), min);
    *height = FFMAX(FFMIN(h, filters[filter].area / *width), min);
    // the other way round: long columns, too
    if (AV_RL16(c->width) & 0x8000)
        FFSWAP(int, *width, *height);
}

static int same_form(const Command *a, const Command *b)
{
    return !memcmp(a, b, offsetof(Command, layout)) && a->layout >> 5 == b->layout >> 5;
}

static void run_filter(Run *run, int filter, int flags, const Command *c, int nb_frames,
                       int nb_threads)
{
    const int keep = flags & ALONE ? 0 : AV_BUFFERSRC_FLAG_KEEP_REF;
    TestGraph g = { NULL };
    int64_t pts = 0;
    int resized = 0;

    *run = (Run){ .filter = filter };
    av_bprint_init(&run->text, 0, AV_BPRINT_SIZE_UNLIMITED);
    for (int i = 0; i < nb_frames && !run->failed; i++) {
        AVFrame *frame[2] = { NULL };
        int width, height;
        unsigned sum;

        get_size(&c[i], filter, &width, &height);
        for (int j = 0; j < filters[filter].nb_inputs; j++) {
            frame[j] = make_frame(&c[i], j, width, height);
            frame[j]->pts = c[i].step ? pts : AV_NOPTS_VALUE;
        }
        pts += c[i].step;
        sum  = test_checksum(1, frame[0]);
        if (!g.graph || flags & REBUILD && !same_form(&c[i - 1], &c[i])) {
            close_graph(&g, run);
            run->failed |= test_graph_open(&g, filters[filter].name, frame, nb_threads) < 0;
        }
        for (int j = 0; j < g.nb_sources && flags & RESIZE && !run->failed; j++) {
            resized |= g.source[j]->outputs[0]->w != width || g.source[j]->outputs[0]->h != height;
            g.source[j]->outputs[0]->w = width;
            g.source[j]->outputs[0]->h = height;
        }
        if (!run->failed) {
            run->sums[run->nb_in++] = sum;
            run->failed = test_graph_send(&g, frame, keep, run, take) < 0;
        }
        av_assert0(run->failed || !keep || test_checksum(1, frame[0]) == sum);
        for (int j = 0; j < 2; j++)
            av_frame_free(&frame[j]);
    }
    close_graph(&g, run);
    av_assert0(run->failed || run->nb_out == run->nb_in && !resized);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Run run[2];
    int nb;

    av_log_set_callback(fuzz_log);
    if (size < 2 || size > 2 + MAX_FRAMES * sizeof(Command))
        return 0;
    nb = (size - 2) / sizeof(Command);
    for (int i = 0; i < 2; i++)
        run_filter(&run[i], data[0] % FF_ARRAY_ELEMS(filters), data[1],
                   (const Command *)(data + 2), nb,
                   i ? 2 + ((data[1] & THREADS) >> 2) : 1);
    av_assert0(run[0].nb_out == run[1].nb_out && !strcmp(run[0].text.str, run[1].text.str));
    for (int i = 0; i < 2; i++)
        av_bprint_finalize(&run[i].text, NULL);
    return 0;
}
