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
 * LIST has a graph a line, after the sizes of its frames, for a checker of memory. What becomes of
 * it by each format is printed.
 */

#include <stdio.h>
#include <string.h>

#include "libavutil/avassert.h"
#include "libavutil/avstring.h"
#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/pixdesc.h"
#include "filter_graph.h"

#define MAX_WIDTH  1024
#define MAX_FRAMES 8

/// Layouts in memory, which may be added to each other.
enum {
    PADDED = 1, SHIFTED = 2, UPSIDE_DOWN = 4, NB_LAYOUTS = 8
};

typedef struct Case {
    enum AVPixelFormat format;
    enum AVColorRange range;
    int width, height;
    int black;                  ///< what is added to all samples, in 8 bits
    int layout;
    int beyond;                 ///< whether the bits beyond the depth are set
    int of_gray;                ///< whether the second input is gray
    int picture;                ///< number of the first one
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
    AVFrame *frame = av_frame_alloc();
    uint16_t row[MAX_WIDTH];

    av_assert0(frame);
    frame->format      = format;
    frame->width       = c->width;
    frame->height      = c->height;
    frame->color_range = c->range;
    frame->pts         = n;
    av_assert0(test_get_buffer(frame, c->layout & PADDED ? 48 : 0, c->layout & SHIFTED ? 2 : 0,
                               c->layout & UPSIDE_DOWN) >= 0);
    for (int i = 0; i < nb_drawn; i++) {
        const int is_chroma = i == 1 || i == 2;
        const int depth = desc->comp[i].depth;
        const int width  = AV_CEIL_RSHIFT(c->width,  is_chroma ? desc->log2_chroma_w : 0);
        const int height = AV_CEIL_RSHIFT(c->height, is_chroma ? desc->log2_chroma_h : 0);

        for (int y = 0; y < height && depth >= 8 && depth <= 16; y++) {
            for (int x = 0; x < width; x++)
                row[x] = sample(c, input, c->picture + n, i, x, y) << depth - 8 |
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
    int sink;
    int nb_frames;              ///< of the first sink
} Output;

static int take(void *opaque, const AVFrame *frame)
{
    Output *out = opaque;
    const AVFrameSideData *sd = av_frame_get_side_data(frame, AV_FRAME_DATA_SEI_UNREGISTERED);
    const AVDictionaryEntry *e = NULL;

    while ((e = av_dict_iterate(frame->metadata, e)))
        av_bprintf(out->text, "%s=%s\n", e->key, e->value);
    if (sd)
        av_bprintf(out->text, "%08x\n", av_adler32_update(0, sd->data, sd->size));
    if (out->sink) {
        av_bprintf(out->text, "%08x\n", test_checksum(0, frame));
    } else {
        const AVFrame *in = out->input[out->nb_frames];

        if (frame->pts != in->pts || frame->data[0] != in->data[0] ||
            test_checksum(0, frame) != test_checksum(0, in))
            av_bprintf(out->text, "frame %d is not as it was\n", out->nb_frames);
        out->nb_frames++;
    }
    return 0;
}

/// What frames as those of the cases get, one each; "refused" where there is no such graph.
static void run(AVBPrint *text, const char *filter, const char *options, const Case *c, int nb,
                int nb_threads)
{
    AVFrame *input[2][MAX_FRAMES];
    Output out = { .text = text, .input = input[0] };
    TestGraph g;
    AVBPrint graph;
    int ret;

    av_assert0(nb <= MAX_FRAMES);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < nb; n++)
            input[i][n] = draw(&c[n], i, n);
    av_bprint_init(text, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprint_init(&graph, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&graph, "%s%s%s", filter, !*options ? "" : strchr(filter, '=') ? ":" : "=", options);
    ret = test_graph_open(&g, graph.str, (AVFrame *[]){ input[0][0], input[1][0] }, nb_threads);
    if (ret < 0)
        av_bprintf(text, "refused\n");
    for (int n = 0; n < nb + !c->left && ret >= 0; n++) {
        for (int i = 0; i < g.nb_sources && ret >= 0; i++)
            ret = av_buffersrc_add_frame_flags(g.source[i], n < nb ? input[i][n] : NULL,
                                               AV_BUFFERSRC_FLAG_KEEP_REF);
        for (out.sink = 0; out.sink < g.nb_sinks && ret >= 0; out.sink++)
            ret = test_graph_receive(&g, out.sink, &out, take);
        if (ret < 0)
            av_bprintf(text, "failed\n");
    }
    if (ret >= 0 && out.nb_frames != nb)
        av_bprintf(text, "%d frames of %d\n", out.nb_frames, nb);
    avfilter_graph_free(&g.graph);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < nb; n++)
            av_frame_free(&input[i][n]);
    av_bprint_finalize(&graph, NULL);
    av_assert0(av_bprint_is_complete(text));
}

/// Count a case; frees the second text.
static void compare(const AVBPrint *expected, AVBPrint *got, int is_same, const char *name,
                    const char *what)
{
    nb_cases++;
    if (!strchr(expected->str, '=') || strstr(got->str, "frame") ||
        is_same == !!strcmp(expected->str, got->str)) {
        printf("%s %s: %s\n", name, what, is_same ? "differs" : "does not differ");
        fprintf(stderr, "%s\n-- not as --\n%s", got->str, expected->str);
        nb_wrong++;
    }
    av_bprint_finalize(got, NULL);
}

static int is_accepted(const char *filter, const Case *c)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(c->format);
    AVBPrint text;
    int ret;

    if (desc->flags & AV_PIX_FMT_FLAG_HWACCEL || !desc->nb_components)
        return 0;
    run(&text, filter, "", c, 1, 1);
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
    AVBPrint expected, got;
    Case base = c;

    while ((desc = av_pix_fmt_desc_next(desc))) {
        const enum AVPixelFormat plain = has_chroma ? plain_format(desc) : AV_PIX_FMT_GRAY8;

        c.format  = av_pix_fmt_desc_get_id(desc);
        c.of_gray = 0;
        if (plain == AV_PIX_FMT_NONE || !is_accepted(filter, &c))
            continue;
        base.format = plain;
        for (int i = 0; i < 2; i++) {
            // FFmpeg takes yuvj for full, whatever the frames say
            base.range = c.range = i && strncmp(desc->name, "yuvj", 4) ? AVCOL_RANGE_MPEG
                                                                       : AVCOL_RANGE_JPEG;
            run(&expected, filter, "", &base, 1, 1);
            for (int j = 0; j < (has_chroma ? 2 : 4); j++) {
                c.beyond  = j & 1;
                c.of_gray = j >> 1;
                run(&got, filter, "", &c, 1, 1);
                compare(&expected, &got, 1, desc->name, av_color_range_name(c.range));
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
    AVBPrint text[AVCOL_RANGE_NB];

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        c.format = formats[i];
        for (c.range = AVCOL_RANGE_UNSPECIFIED; c.range < AVCOL_RANGE_NB; c.range++)
            run(&text[c.range], filter, "", &c, 1, 1);
        if (c.format == AV_PIX_FMT_YUV420P) {
            AVBPrint yuvj;

            c.format = AV_PIX_FMT_YUVJ420P;
            c.range  = AVCOL_RANGE_JPEG;
            run(&yuvj, filter, "", &c, 1, 1);
            compare(&text[AVCOL_RANGE_JPEG], &yuvj, 1, "yuvj420p", "full range");
        }
        compare(&text[i < 2 ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG], &text[AVCOL_RANGE_UNSPECIFIED],
                1, av_get_pix_fmt_name(formats[i]), "no range");
        compare(&text[AVCOL_RANGE_MPEG], &text[AVCOL_RANGE_JPEG], 0,
                av_get_pix_fmt_name(formats[i]), "by range");
        av_bprint_finalize(&text[AVCOL_RANGE_MPEG], NULL);
    }
}

/// Samples above the black of the limited range are as those above 0 of the full one.
static void test_black(const char *filter, Case c)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_P010, AV_PIX_FMT_P016,
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        AVBPrint expected, got;

        c.format = formats[i];
        c.black  = 0;
        c.range  = AVCOL_RANGE_JPEG;
        run(&expected, filter, "", &c, 1, 1);
        c.black  = 16;
        c.range  = AVCOL_RANGE_MPEG;
        run(&got, filter, "", &c, 1, 1);
        compare(&expected, &got, 1, av_get_pix_fmt_name(c.format), "black");
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

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        AVBPrint expected, got;

        c.format = formats[i];
        c.layout = 0;
        run(&expected, filter, "", (const Case[]){ c, c, c }, 3, 1);
        for (c.layout = 0; c.layout < NB_LAYOUTS; c.layout++) {
            run(&got, filter, "", (const Case[]){ c, c, c }, 3,
                threads[(i + c.layout) % FF_ARRAY_ELEMS(threads)]);
            compare(&expected, &got, 1, av_get_pix_fmt_name(c.format), "layout and threads");
        }
        av_bprint_finalize(&expected, NULL);
    }
}

static int read_sizes(Case c[MAX_FRAMES], char *const *size, int nb)
{
    for (int i = 0; i < nb; i++)
        if (i == MAX_FRAMES || sscanf(size[i], "%dx%d", &c[i].width, &c[i].height) != 2 ||
            c[i].width > MAX_WIDTH)
            return 0;
    return 1;
}

/// Graphs of stdin, in different layouts and by different threads; every other one is left.
static void test_memory(void)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV410P, AV_PIX_FMT_YUV420P, AV_PIX_FMT_P010,
    };
    char line[512];

    while (fgets(line, sizeof(line), stdin)) {
        char *graph = strchr(line, ' '), *size[MAX_FRAMES + 1], *rest = NULL;
        Case c[MAX_FRAMES] = { 0 };
        int nb = 0;

        av_assert0(graph);
        *graph++ = 0;
        graph[strcspn(graph, "\n")] = 0;
        for (char *word = av_strtok(line, ",", &rest); word && nb <= MAX_FRAMES;
             word = av_strtok(NULL, ",", &rest))
            size[nb++] = word;
        av_assert0(read_sizes(c, size, nb));
        printf("%s:", graph);
        for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
            AVBPrint text;

            for (int n = 0; n < nb; n++) {
                c[n].format = formats[i];
                c[n].layout = i;
                c[n].left   = i & 1;
            }
            run(&text, graph, "", c, nb, 1 + i);
            printf(" %s", strstr(text.str, "refused") ? "refused" :
                          strstr(text.str, "failed")  ? "failed"  : "done");
            av_bprint_finalize(&text, NULL);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    const char *test = argc > 3 ? argv[1] : "";
    Case c[MAX_FRAMES] = { 0 };
    const int nb = argc - 3;

    av_log_set_level(AV_LOG_QUIET);
    if (argc == 2 && !strcmp(argv[1], "memory")) {
        test_memory();
        return 0;
    }
    if (!read_sizes(c, argv + 3, nb))
        return 2;
    for (int i = 0; i < nb; i++)
        if (!strcmp(test, "formats") || !strcmp(test, "formats-of-chroma"))
            test_formats(argv[2], c[i], !!strchr(test, '-'));
        else if (!strcmp(test, "ranges"))
            test_ranges(argv[2], c[i]);
        else if (!strcmp(test, "black"))
            test_black(argv[2], c[i]);
        else if (!strcmp(test, "layouts"))
            test_layouts(argv[2], c[i]);
    // of formats there are not so many in each release
    if (strncmp(test, "formats", 7))
        printf("%d cases\n", nb_cases);
    return !nb_cases || nb_wrong;
}
