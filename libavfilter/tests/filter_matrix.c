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
 * A metric filter by many formats, ranges, layouts in memory, numbers of threads and sizes
 *
 *   filter_matrix TEST FILTER SIZE...
 *   filter_matrix memory < LIST
 *
 * TEST is formats (of luma that counts alone), formats-of-chroma, ranges, black or layouts.
 * Prints what is not as it should be, and how many cases there were. In each, as many frames
 * have to come out as went in, with the same samples in the same memory.
 *
 * LIST has a graph a line, after the size of each of its frames, for a checker of memory.
 * What becomes of it by each format is printed.
 */

#include <stdio.h>
#include <string.h>

#include "libavutil/avassert.h"
#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/pixdesc.h"
#include "filter_graph.h"

#define MAX_WIDTH  1024
#define MAX_FRAMES 3

/// Layouts in memory, which may be added to each other.
enum {
    PADDED = 1, SHIFTED = 2, UPSIDE_DOWN = 4, NB_LAYOUTS = 8
};

typedef struct Case {
    enum AVPixelFormat format;
    enum AVColorRange range;
    int width, height, nb_frames;
    int nb_threads;
    int black;                  ///< what is added to all samples, in 8 bits
    int layout;
    int beyond;                 ///< whether the bits beyond the depth are set
    int of_gray;                ///< whether the second input is gray
    int left;                   ///< whether the graph is freed before the end of the stream
} Case;

static int nb_cases, nb_wrong;

/// Texture on a ramp that moves; the first input is a coarse form of the second.
static int sample(const Case *c, int input, int n, int plane, int x, int y)
{
    const unsigned noise = (x + 3 * n) * 7919 ^ y * 104729 ^ plane * 31;
    const int v = 20 + (x + 2 * y + 5 * n + 40 * plane) % 80 + (noise >> 3) % 24;

    return c->black + (input ? v : v & ~7);
}

static AVFrame *draw(const Case *c, int input, int n)
{
    const enum AVPixelFormat format = input && c->of_gray ? AV_PIX_FMT_GRAY8 : c->format;
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);
    // what is not of planes is refused, whatever is in it
    const int nb_drawn = desc->flags & AV_PIX_FMT_FLAG_PLANAR ? desc->nb_components
                                                              : desc->nb_components == 1;
    AVFrame *frame = test_new_frame(format, c->width, c->height, c->layout & PADDED ? 48 : 0,
                                    c->layout & SHIFTED ? 2 : 0, c->layout & UPSIDE_DOWN);
    uint16_t row[MAX_WIDTH];

    av_assert0(frame);
    frame->color_range = c->range;
    frame->pts         = n;
    for (int i = 0; i < nb_drawn; i++) {
        const int is_chroma = i == 1 || i == 2;
        const int depth = desc->comp[i].depth;
        const int width  = AV_CEIL_RSHIFT(c->width,  is_chroma ? desc->log2_chroma_w : 0);
        const int height = AV_CEIL_RSHIFT(c->height, is_chroma ? desc->log2_chroma_h : 0);

        for (int y = 0; y < height && depth >= 8 && depth <= 16; y++) {
            for (int x = 0; x < width; x++)
                row[x] = sample(c, input, n, i, x, y) << depth - 8 |
                         (c->beyond ? 0xFFFF << depth : 0);
            av_write_image_line(row, frame->data, frame->linesize, desc, 0, y, i, width);
        }
    }
    return frame;
}

/// What comes out of a graph.
typedef struct Output {
    AVBPrint *text;
    AVFrame *const *input;
    int nb_frames;
} Output;

static int take(void *opaque, const AVFrame *frame)
{
    Output *out = opaque;
    const AVFrameSideData *sd = av_frame_get_side_data(frame, AV_FRAME_DATA_SEI_UNREGISTERED);
    const AVFrame *in = out->input[out->nb_frames];
    const AVDictionaryEntry *e = NULL;

    while ((e = av_dict_iterate(frame->metadata, e)))
        av_bprintf(out->text, "%s=%s\n", e->key, e->value);
    if (sd)
        av_bprintf(out->text, "%08x\n", av_adler32_update(0, sd->data, sd->size));
    if (frame->pts != in->pts || frame->data[0] != in->data[0] ||
        test_checksum(0, frame) != test_checksum(0, in))
        av_bprintf(out->text, "frame %d is not as it was\n", out->nb_frames);
    out->nb_frames++;
    return 0;
}

/// What the frames of a case get; "refused" where there is no such graph.
static void run(AVBPrint *text, const char *filter, const Case *c)
{
    AVFrame *input[2][MAX_FRAMES];
    Output out = { .text = text, .input = input[0] };
    TestGraph g;
    int ret;

    for (int i = 0; i < 2; i++)
        for (int n = 0; n < c->nb_frames; n++)
            input[i][n] = draw(c, i, n);
    av_bprint_init(text, 0, AV_BPRINT_SIZE_UNLIMITED);
    ret = test_graph_open(&g, filter, (AVFrame *[]){ input[0][0], input[1][0] }, c->nb_threads);
    if (ret < 0)
        av_bprintf(text, "refused\n");
    for (int n = 0; n < c->nb_frames + !c->left && ret >= 0; n++) {
        for (int i = 0; i < g.nb_sources && ret >= 0; i++)
            ret = av_buffersrc_add_frame_flags(g.source[i], n < c->nb_frames ? input[i][n] : NULL,
                                               AV_BUFFERSRC_FLAG_KEEP_REF);
        if (ret >= 0)
            ret = test_graph_receive(&g, &out, take);
        if (ret < 0)
            av_bprintf(text, "failed\n");
    }
    if (ret >= 0 && out.nb_frames != c->nb_frames)
        av_bprintf(text, "%d frames of %d\n", out.nb_frames, c->nb_frames);
    avfilter_graph_free(&g.graph);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < c->nb_frames; n++)
            av_frame_free(&input[i][n]);
    av_assert0(av_bprint_is_complete(text));
}

/// Run a case, and count it: what it gets has to be what is expected, or something else.
static void compare(const AVBPrint *expected, const char *filter, const Case *c, int is_same,
                    const char *what)
{
    AVBPrint got;

    run(&got, filter, c);
    nb_cases++;
    if (!strchr(expected->str, '=') || strstr(got.str, "frame") ||
        is_same == !!strcmp(expected->str, got.str)) {
        printf("%s %s: %s\n", av_get_pix_fmt_name(c->format), what,
               is_same ? "differs" : "does not differ");
        fprintf(stderr, "%s\n-- not as --\n%s", got.str, expected->str);
        nb_wrong++;
    }
    av_bprint_finalize(&got, NULL);
}

static int is_accepted(const char *filter, const Case *c)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(c->format);
    AVBPrint text;
    int ret;

    if (desc->flags & AV_PIX_FMT_FLAG_HWACCEL || !desc->nb_components)
        return 0;
    run(&text, filter, c);
    ret = strcmp(text.str, "refused\n");
    av_bprint_finalize(&text, NULL);
    return ret;
}

/// The 8-bit format of the same planes, as FFmpeg's first ones are.
static enum AVPixelFormat plain_format(const AVPixFmtDescriptor *desc)
{
    const AVPixFmtDescriptor *plain = NULL;

    if (desc->nb_components == 1)
        return AV_PIX_FMT_GRAY8;
    while ((plain = av_pix_fmt_desc_next(plain)))
        if (plain->flags == AV_PIX_FMT_FLAG_PLANAR && plain->nb_components == 3 &&
            plain->comp[0].depth == 8 && plain->log2_chroma_w == desc->log2_chroma_w &&
            plain->log2_chroma_h == desc->log2_chroma_h)
            break;
    return plain ? av_pix_fmt_desc_get_id(plain) : AV_PIX_FMT_NONE;
}

/// Formats of the same samples, also where the bits beyond their depth are set; tells which.
static void test_formats(const char *filter, Case c, int has_chroma)
{
    const AVPixFmtDescriptor *desc = NULL;
    AVBPrint expected;
    Case base = c;

    while ((desc = av_pix_fmt_desc_next(desc))) {
        base.format = has_chroma ? plain_format(desc) : AV_PIX_FMT_GRAY8;
        c.format    = av_pix_fmt_desc_get_id(desc);
        c.of_gray   = 0;
        if (base.format == AV_PIX_FMT_NONE || !is_accepted(filter, &c))
            continue;
        for (int i = 0; i < 2; i++) {
            // FFmpeg takes yuvj for full, whatever the frames say
            base.range = c.range = i && strncmp(desc->name, "yuvj", 4) ? AVCOL_RANGE_MPEG
                                                                       : AVCOL_RANGE_JPEG;
            run(&expected, filter, &base);
            for (int j = 0; j < (has_chroma ? 2 : 4); j++) {
                c.beyond  = j & 1;
                c.of_gray = j >> 1;
                compare(&expected, filter, &c, 1, av_color_range_name(c.range));
            }
            av_bprint_finalize(&expected, NULL);
        }
        printf("%s: %s\n", desc->name, nb_wrong ? "something differs" : "same");
    }
}

/// The range is that of the frames, or else the format's.
static void test_ranges(const char *filter, Case c)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10,
        AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_NV12, AV_PIX_FMT_P010,
    };
    AVBPrint expected;

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++)
        for (int is_full = 0; is_full < 2; is_full++) {
            c.format = formats[i];
            c.range  = is_full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
            run(&expected, filter, &c);
            c.range  = AVCOL_RANGE_UNSPECIFIED;
            compare(&expected, filter, &c, is_full == i < 2, "without a range");
            c.format = AV_PIX_FMT_YUVJ420P;
            c.range  = AVCOL_RANGE_JPEG;
            if (is_full && formats[i] == AV_PIX_FMT_YUV420P)
                compare(&expected, filter, &c, 1, "of full range");
            av_bprint_finalize(&expected, NULL);
        }
}

/// Samples above the black of the limited range are as those above 0 of the full one.
static void test_black(const char *filter, Case c)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_P010, AV_PIX_FMT_P016,
    };
    AVBPrint expected;

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        c.format = formats[i];
        c.black  = 0;
        c.range  = AVCOL_RANGE_JPEG;
        run(&expected, filter, &c);
        c.black  = 16;
        c.range  = AVCOL_RANGE_MPEG;
        compare(&expected, filter, &c, 1, "above black");
        av_bprint_finalize(&expected, NULL);
    }
}

/// Where in memory the samples are does not matter, nor how many threads there are.
static void test_layouts(const char *filter, Case c)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_P010,
        AV_PIX_FMT_YUV444P16,
    };
    static const int threads[] = { 1, 2, 3, 7, 16 };
    AVBPrint expected;

    c.nb_frames = 3;
    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        c.format     = formats[i];
        c.layout     = 0;
        c.nb_threads = 1;
        run(&expected, filter, &c);
        for (c.layout = 0; c.layout < NB_LAYOUTS; c.layout++) {
            c.nb_threads = threads[(i + c.layout) % FF_ARRAY_ELEMS(threads)];
            compare(&expected, filter, &c, 1, "by layout and threads");
        }
        av_bprint_finalize(&expected, NULL);
    }
}

/// Graphs of stdin, in different layouts and by different threads; every other one is left.
static void test_memory(void)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV410P, AV_PIX_FMT_YUV420P, AV_PIX_FMT_P010,
    };
    char line[512];

    while (fgets(line, sizeof(line), stdin)) {
        Case c = { .nb_frames = 1 };
        char *graph = strchr(line, ' ');

        av_assert0(graph && sscanf(line, "%dx%d", &c.width, &c.height) == 2);
        for (char *p = line; p < graph; p++)
            c.nb_frames += *p == ',';
        av_assert0(c.width <= MAX_WIDTH && c.nb_frames <= MAX_FRAMES);
        graph++;
        graph[strcspn(graph, "\n")] = 0;
        printf("%s:", graph);
        for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
            AVBPrint text;

            c.format     = formats[i];
            c.layout     = i;
            c.left       = i & 1;
            c.nb_threads = 1 + i;
            run(&text, graph, &c);
            printf(" %s", strstr(text.str, "refused") ? "refused" :
                          strstr(text.str, "failed")  ? "failed"  : "done");
            av_bprint_finalize(&text, NULL);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const char *test = argc > 1 ? argv[1] : "";

    av_log_set_level(AV_LOG_QUIET);
    if (!strcmp(test, "memory")) {
        test_memory();
        return 0;
    }
    for (int i = 3; i < argc; i++) {
        Case c = { .nb_frames = 1, .nb_threads = 1 };

        if (sscanf(argv[i], "%dx%d", &c.width, &c.height) != 2 || c.width > MAX_WIDTH)
            return 2;
        if (!strncmp(test, "formats", 7))
            test_formats(argv[2], c, !strcmp(test, "formats-of-chroma"));
        else if (!strcmp(test, "ranges"))
            test_ranges(argv[2], c);
        else if (!strcmp(test, "black"))
            test_black(argv[2], c);
        else if (!strcmp(test, "layouts"))
            test_layouts(argv[2], c);
    }
    // of formats there are not so many in each release
    if (strncmp(test, "formats", 7))
        printf("%d cases\n", nb_cases);
    return !nb_cases || nb_wrong;
}
