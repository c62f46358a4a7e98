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
 * Run a filter with many formats, ranges, memory layouts, numbers of threads and sizes
 *
 *   filter_matrix formats|ranges|layouts FILTER WIDTHxHEIGHT...
 *   filter_matrix memory < LIST
 *   filter_matrix host FIRST:NUMBER:WIDTHxHEIGHT:END:GRAPH...
 *
 * formats compares the metadata of all formats with that of gray, for filters of luma; ranges
 * compares unspecified with explicit ranges; layouts compares memory layouts and numbers of threads
 * with a plain frame and one thread. In each case, all frames must pass without being copied or
 * changed. Prints the failures and the number of cases; the exit code is the number of failures.
 *
 * memory runs each graph of LIST in several formats, layouts and numbers of threads, for memory
 * checkers. A line of LIST has the size of each frame, separated by commas and equal to the first
 * one, then a space and the graph. Prints for each format whether the graph was refused, failed or
 * was done.
 *
 * host runs graphs one after the other in the locale of the environment, as a program does that
 * embeds libavfilter. Each graph gets NUMBER frames with the timestamps FIRST, FIRST + 1, ... in
 * units of 1/25 s. END is 0 to free the graph without an end of stream, 1 to send the end of
 * stream, 2 to send the commands drain and hand_over. Prints the scores of each frame.
 */

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "filter_graph.h"

#define MAX_FRAMES 3            ///< maximum number of frames of a case

/// A run of the filter.
typedef struct Case {
    TestPicture pic;
    int nb_frames, nb_threads;
    int gray_reference;         ///< whether the second input is gray
    int aborted;                ///< whether the graph is freed without an end of stream
} Case;

static const char *filter;              ///< description of the graph
static AVBPrint expected;               ///< result that cases are compared with
static AVFrame *input[MAX_FRAMES][2];   ///< frames of both inputs
static int nb_cases, nb_wrong, nb_out;

/// Append the result of an output frame, and whether it differs from the input frame.
static int check_frame(void *text, const AVFrame *frame)
{
    const AVFrame *in = input[nb_out++][0];

    test_describe(text, frame);
    if (frame->pts != in->pts || frame->data[0] != in->data[0] ||
        test_checksum(0, frame) != test_checksum(0, in))
        av_bprintf(text, "frame %d has changed\n", nb_out);
    return 0;
}

/// Run a case. The text gets the metadata of all frames, or "refused" if the graph is not valid.
static void run(AVBPrint *text, const Case *c)
{
    TestPicture second = c->pic;
    TestGraph g;
    int ret;

    if (c->gray_reference)
        second.format = AV_PIX_FMT_GRAY8;
    for (int n = 0; n < c->nb_frames; n++)
        for (int i = 0; i < 2; i++)
            input[n][i] = test_draw(i ? &second : &c->pic, i, n);
    av_bprint_init(text, 0, AV_BPRINT_SIZE_UNLIMITED);
    nb_out = 0;
    ret = test_graph_open(&g, filter, input[0], c->nb_threads);
    if (ret < 0)
        av_bprintf(text, "refused\n");
    for (int n = 0; n < c->nb_frames + !c->aborted && ret >= 0; n++) {
        ret = test_graph_send(&g, n < c->nb_frames ? input[n] : NULL, AV_BUFFERSRC_FLAG_KEEP_REF,
                              text, check_frame);
        if (ret < 0)
            av_bprintf(text, "failed\n");
    }
    if (ret >= 0 && nb_out != c->nb_frames)
        av_bprintf(text, "%d frames of %d\n", nb_out, c->nb_frames);
    avfilter_graph_free(&g.graph);
    for (int n = 0; n < c->nb_frames; n++)
        for (int i = 0; i < 2; i++)
            av_frame_free(&input[n][i]);
    av_assert0(av_bprint_is_complete(text));
}

/// Run a case whose result the next cases are compared with.
static void expect(const Case *c)
{
    av_bprint_finalize(&expected, NULL);
    run(&expected, c);
}

/// Run and count a case whose result must be the expected one, or must differ if is_same is 0.
static void compare(const Case *c, int is_same, const char *name)
{
    AVBPrint got;

    run(&got, c);
    nb_cases++;
    if (!strchr(expected.str, '=') || strstr(got.str, "frame") ||
        is_same == !!strcmp(expected.str, got.str)) {
        printf("%s %s: %s\n", av_get_pix_fmt_name(c->pic.format), name,
               is_same ? "differs" : "does not differ");
        fprintf(stderr, "%s\n-- expected --\n%s", got.str, expected.str);
        nb_wrong++;
    }
    av_bprint_finalize(&got, NULL);
}

/// Run a case as the expected one, and return whether the filter accepts its format.
static int is_accepted(const Case *c)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(c->pic.format);

    if (desc->flags & AV_PIX_FMT_FLAG_HWACCEL || !desc->nb_components)
        return 0;
    expect(c);
    return strcmp(expected.str, "refused\n");
}

/// Compare all formats with gray, also with excess bits set, and print the accepted formats.
static void test_formats(Case c)
{
    const AVPixFmtDescriptor *desc = NULL;
    Case base = c;

    base.pic.format = AV_PIX_FMT_GRAY8;
    while ((desc = av_pix_fmt_desc_next(desc))) {
        c.pic.format = av_pix_fmt_desc_get_id(desc);
        c.gray_reference = 0;
        if (!is_accepted(&c))
            continue;
        for (int i = 0; i < 2; i++) {
            // yuvj and RGB always have full range
            base.pic.range = c.pic.range =
                i && strncmp(desc->name, "yuvj", 4) && !(desc->flags & AV_PIX_FMT_FLAG_RGB) ?
                AVCOL_RANGE_MPEG : AVCOL_RANGE_JPEG;
            expect(&base);
            for (int j = 0; j < 4; j++) {
                c.pic.excess_bits = j & 1;
                c.gray_reference  = j >> 1;
                compare(&c, 1, av_color_range_name(c.pic.range));
            }
        }
        printf("%s: %s\n", desc->name, nb_wrong ? "something differs" : "same");
    }
}

/// Check that the range is that of the frames or, if unspecified, of the format.
static void test_ranges(Case c)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY10,
        AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV420P10, AV_PIX_FMT_NV12, AV_PIX_FMT_P010,
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++)
        for (int is_full = 0; is_full < 2; is_full++) {
            c.pic.format = formats[i];
            c.pic.range  = is_full ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
            expect(&c);
            c.pic.range  = AVCOL_RANGE_UNSPECIFIED;
            compare(&c, is_full == i < 2, "without a range");
            c.pic.format = AV_PIX_FMT_YUVJ420P;
            c.pic.range  = AVCOL_RANGE_JPEG;
            if (is_full && formats[i] == AV_PIX_FMT_YUV420P)
                compare(&c, 1, "of full range");
        }
}

/// Check that memory layout and number of threads do not change the result.
static void test_layouts(Case c)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, AV_PIX_FMT_P010,
        AV_PIX_FMT_YUV444P16, AV_PIX_FMT_YUV422P10, AV_PIX_FMT_YUV444P12,
    };
    static const int threads[] = { 1, 2, 3, 7, 16 };

    c.nb_frames = 3;
    for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
        c.pic.format = formats[i];
        c.pic.layout = 0;
        c.nb_threads = 1;
        for (int accepted = is_accepted(&c); accepted; accepted = c.pic.layout < TEST_NB_LAYOUTS) {
            c.nb_threads = threads[(i + c.pic.layout) % FF_ARRAY_ELEMS(threads)];
            compare(&c, 1, "by layout and threads");
            c.pic.layout++;
        }
    }
}

/// Run the graphs of stdin in each format, with a layout, threads and an end of stream of its own.
static void test_memory(void)
{
    static const enum AVPixelFormat formats[] = {
        AV_PIX_FMT_GRAY8, AV_PIX_FMT_YUV410P, AV_PIX_FMT_YUV420P, AV_PIX_FMT_P010,
    };
    char line[512];

    while (fgets(line, sizeof(line), stdin)) {
        Case c = { .nb_frames = 1 };
        char *graph = strchr(line, ' ');

        av_assert0(graph && sscanf(line, "%dx%d", &c.pic.width, &c.pic.height) == 2);
        for (char *p = line; p < graph; p++)
            c.nb_frames += *p == ',';
        av_assert0(c.nb_frames <= MAX_FRAMES);
        filter = graph + 1;
        graph[strcspn(graph, "\n")] = 0;
        printf("%s:", filter);
        for (int i = 0; i < FF_ARRAY_ELEMS(formats); i++) {
            c.pic.format = formats[i];
            c.pic.layout = i;
            c.aborted    = i & 1;
            c.nb_threads = 1 + i;
            expect(&c);
            printf(" %s", strstr(expected.str, "refused") ? "refused" :
                          strstr(expected.str, "failed")  ? "failed"  : "done");
        }
        printf("\n");
    }
}

/// Print timestamp and scores of a frame.
static int print_scores(void *opaque, const AVFrame *frame)
{
    const AVDictionaryEntry *entry = NULL;

    while ((entry = av_dict_iterate(frame->metadata, entry)))
        if (strstr(entry->key, ".score"))
            printf("%"PRId64" %s=%s\n", frame->pts, entry->key, entry->value);
    return 0;
}

/// Run a graph, see the description of the file. Return 0, or a negative AVERROR.
static int host(const char *job)
{
    TestPicture pic = { .format = AV_PIX_FMT_GRAY8 };
    AVFrame *frame;
    TestGraph g;
    int first, nb, end, length, ret;

    if (sscanf(job, "%d:%d:%dx%d:%d:%n", &first, &nb, &pic.width, &pic.height, &end, &length) != 5)
        return AVERROR(EINVAL);
    frame = test_draw(&pic, 1, 0);
    ret   = test_graph_open(&g, job + length, &frame, 0);
    av_frame_free(&frame);
    for (int i = 0; i < nb && ret >= 0; i++) {
        frame = test_draw(&pic, 1, first + i);
        ret   = test_graph_send(&g, &frame, 0, NULL, print_scores);
        av_frame_free(&frame);
    }
    if (ret >= 0 && end == 1)
        ret = test_graph_send(&g, NULL, 0, NULL, print_scores);
    if (ret >= 0 && end == 2) {
        avfilter_graph_send_command(g.graph, "all", "drain", "1", NULL, 0, 0);
        ret = test_graph_receive(&g, NULL, print_scores);
        avfilter_graph_send_command(g.graph, "all", "hand_over", "1", NULL, 0, 0);
    }
    avfilter_graph_free(&g.graph);
    return ret;
}

int main(int argc, char **argv)
{
    const char *test = argc > 1 ? argv[1] : "";

    if (!strcmp(test, "host")) {
        setlocale(LC_ALL, "");
        for (int i = 2; i < argc; i++)
            if (host(argv[i]) < 0)
                return 1;
        return 0;
    }
    av_log_set_level(AV_LOG_QUIET);
    if (!strcmp(test, "memory"))
        test_memory();
    for (int i = 3; i < argc; i++) {
        Case c = { .nb_frames = 1, .nb_threads = 1 };

        filter = argv[2];
        if (sscanf(argv[i], "%dx%d", &c.pic.width, &c.pic.height) != 2)
            return 2;
        if (!strcmp(test, "formats"))
            test_formats(c);
        else if (!strcmp(test, "ranges"))
            test_ranges(c);
        else if (!strcmp(test, "layouts"))
            test_layouts(c);
    }
    // the number of formats depends on the release of FFmpeg
    if (nb_cases && strcmp(test, "formats"))
        printf("%d cases\n", nb_cases);
    return nb_wrong;
}
