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
 * Helpers for test programs that run filters through libavfilter: a filter graph between buffer
 * sources and a buffer sink, synthetic frames in several memory layouts, and a description of the
 * metadata that a filter adds. Failures of allocations abort the program.
 */

#ifndef AVFILTER_TESTS_FILTER_GRAPH_H
#define AVFILTER_TESTS_FILTER_GRAPH_H

#include "libavutil/adler32.h"
#include "libavutil/attributes.h"
#include "libavutil/avassert.h"
#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/error.h"
#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
#include "libavutil/imgutils.h"
#include "libavutil/mem.h"
#include "libavutil/pixdesc.h"
#include "libavfilter/avfilter.h"
#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"

#define TEST_MAX_SOURCES 2

/// Filter graph with its sources and its sink. test_graph_open() initializes it.
typedef struct TestGraph {
    AVFilterGraph *graph;
    AVFilterContext *source[TEST_MAX_SOURCES], *sink;
    int nb_sources;
} TestGraph;

/// Add a source of frames with the properties of a frame, and link it to an open input.
static int test_add_source(TestGraph *g, const AVFilterInOut *to, const AVFrame *frame)
{
    AVBufferSrcParameters *par = av_buffersrc_parameters_alloc();
    AVFilterContext *source =
        avfilter_graph_alloc_filter(g->graph, avfilter_get_by_name("buffer"), NULL);
    int ret = AVERROR(ENOMEM);

    if (par && source) {
        par->format        = frame->format;
        par->width         = frame->width;
        par->height        = frame->height;
        par->color_range   = frame->color_range;
        par->hw_frames_ctx = frame->hw_frames_ctx;
        par->time_base     = (AVRational){ 1, 25 };
        if ((ret = av_buffersrc_parameters_set(source, par)) >= 0 &&
            (ret = avfilter_init_dict(source, NULL)) >= 0)
            ret = avfilter_link(source, 0, to->filter_ctx, to->pad_idx);
        g->source[g->nb_sources++] = source;
    }
    av_free(par);
    return ret;
}

/**
 * Create the filters of a parsed graph, connect its open pads to sources and a sink, and configure
 * it.
 *
 * @param segment parsed graph, which this function frees
 * @param frame   for each source, a frame with the properties of its frames
 * @return 0, or a negative AVERROR
 */
static int test_graph_apply(TestGraph *g, AVFilterGraphSegment *segment, AVFrame *const *frame)
{
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    int ret = avfilter_graph_segment_apply(segment, 0, &inputs, &outputs);

    if (ret >= 0)
        ret = avfilter_graph_create_filter(&g->sink, avfilter_get_by_name("buffersink"), NULL, NULL,
                                           NULL, g->graph);
    for (const AVFilterInOut *i = inputs; i && ret >= 0; i = i->next)
        ret = g->nb_sources < TEST_MAX_SOURCES ? test_add_source(g, i, frame[g->nb_sources])
                                               : AVERROR(EINVAL);
    if (ret >= 0)
        ret = outputs ? avfilter_link(outputs->filter_ctx, outputs->pad_idx, g->sink, 0)
                      : AVERROR(EINVAL);
    avfilter_graph_segment_free(&segment);
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    return ret < 0 ? ret : avfilter_graph_config(g->graph, NULL);
}

/// Parse the description of a graph. libavfilter inserts no conversions of formats.
static int test_graph_parse(TestGraph *g, AVFilterGraphSegment **segment, const char *text,
                            int nb_threads)
{
    *g = (TestGraph){ .graph = avfilter_graph_alloc() };
    av_assert0(g->graph);
    g->graph->nb_threads = nb_threads;
    avfilter_graph_set_auto_convert(g->graph, AVFILTER_AUTO_CONVERT_NONE);
    return avfilter_graph_segment_parse(g->graph, text, 0, segment);
}

/**
 * Create and configure a graph from its description.
 *
 * @return 0, or a negative AVERROR, after which the graph is freed
 */
static av_unused int test_graph_open(TestGraph *g, const char *text, AVFrame *const *frame,
                                     int nb_threads)
{
    AVFilterGraphSegment *segment;
    int ret = test_graph_parse(g, &segment, text, nb_threads);

    if (ret >= 0)
        ret = test_graph_apply(g, segment, frame);
    if (ret < 0)
        avfilter_graph_free(&g->graph);
    return ret;
}

/// Pass all available frames to on_frame(), until it returns an error. End of stream is no error.
static int test_graph_receive(TestGraph *g, void *opaque,
                              int (*on_frame)(void *opaque, const AVFrame *frame))
{
    AVFrame *frame = av_frame_alloc();
    int ret = frame ? 0 : AVERROR(ENOMEM);

    while (ret >= 0 && (ret = av_buffersink_get_frame(g->sink, frame)) >= 0) {
        ret = on_frame(opaque, frame);
        av_frame_unref(frame);
    }
    av_frame_free(&frame);
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/**
 * Send a frame, or the end of stream, to each source, and pass all available output to on_frame().
 *
 * @param frame frame of each source, or NULL for the end of stream
 * @param flags flags of av_buffersrc_add_frame_flags()
 * @return 0, or the first error
 */
static av_unused int test_graph_send(TestGraph *g, AVFrame *const *frame, int flags, void *opaque,
                                     int (*on_frame)(void *opaque, const AVFrame *frame))
{
    int ret = 0, err;

    for (int i = 0; i < g->nb_sources; i++) {
        err = av_buffersrc_add_frame_flags(g->source[i], frame ? frame[i] : NULL, flags);
        ret = ret < 0 ? ret : err;
    }
    err = test_graph_receive(g, opaque, on_frame);
    return ret < 0 ? ret : err;
}

/// Append metadata and a checksum of SEI side data of a frame to a text.
static av_unused void test_describe(AVBPrint *text, const AVFrame *frame)
{
    const AVFrameSideData *sd = av_frame_get_side_data(frame, AV_FRAME_DATA_SEI_UNREGISTERED);
    const AVDictionaryEntry *e = NULL;

    while ((e = av_dict_iterate(frame->metadata, e)))
        av_bprintf(text, "%s=%s\n", e->key, e->value);
    if (sd)
        av_bprintf(text, "%08x\n", av_adler32_update(0, sd->data, sd->size));
}

/// Compute the bytes of a row and the number of rows of each plane; 0 for a palette.
static void test_plane_sizes(const AVFrame *frame, int row[4], int nb_rows[4])
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);

    av_image_fill_linesizes(row, frame->format, frame->width);
    for (int p = 0; p < 4; p++)
        nb_rows[p] = !row[p] ? 0 : AV_CEIL_RSHIFT(frame->height,
                                                  p == 1 || p == 2 ? desc->log2_chroma_h : 0);
}

/// Update a checksum with the pixels of a frame, without padding.
static av_unused uint32_t test_checksum(uint32_t sum, const AVFrame *frame)
{
    int row[4], nb_rows[4];

    test_plane_sizes(frame, row, nb_rows);
    for (int p = 0; p < 4; p++)
        for (int y = 0; y < nb_rows[p]; y++)
            sum = av_adler32_update(sum, frame->data[p] + y * (ptrdiff_t)frame->linesize[p],
                                    row[p]);
    return sum;
}

/**
 * Allocate a zeroed frame with a buffer for each plane. The plane ends with its buffer, so that
 * memory checkers detect any access after it.
 *
 * @param padding     bytes between the rows
 * @param offset      bytes before the first row
 * @param upside_down whether the rows are in reverse order, with a negative linesize
 */
static av_unused AVFrame *test_new_frame(enum AVPixelFormat format, int width, int height,
                                         int padding, int offset, int upside_down)
{
    AVFrame *frame = av_frame_alloc();
    int row[4], nb_rows[4];

    av_assert0(frame);
    frame->format = format;
    frame->width  = width;
    frame->height = height;
    test_plane_sizes(frame, row, nb_rows);
    for (int p = 0; p < 4 && nb_rows[p]; p++) {
        const int stride  = row[p] + padding;
        const size_t last = (size_t)stride * (nb_rows[p] - 1);

        frame->buf[p] = av_buffer_allocz(offset + last + row[p]);
        av_assert0(frame->buf[p]);
        frame->data[p]     = frame->buf[p]->data + offset + (upside_down ? last : 0);
        frame->linesize[p] = upside_down ? -stride : stride;
    }
    if (format == AV_PIX_FMT_PAL8) {
        frame->buf[1] = av_buffer_allocz(AVPALETTE_SIZE);
        av_assert0(frame->buf[1]);
        frame->data[1] = frame->buf[1]->data;
    }
    return frame;
}

/// Flags of memory layouts.
enum {
    TEST_PADDED = 1, TEST_SHIFTED = 2, TEST_UPSIDE_DOWN = 4, TEST_NB_LAYOUTS = 8
};

#define TEST_MAX_WIDTH 1024

/// Properties of synthetic frames.
typedef struct TestPicture {
    enum AVPixelFormat format;
    enum AVColorRange range;
    int width, height;
    int layout;                 ///< TEST_PADDED | TEST_SHIFTED | TEST_UPSIDE_DOWN
    int excess_bits;            ///< whether the bits above the depth of a sample are set
} TestPicture;

/// Return a sample of 8 bits: texture on a moving ramp. Input 0 is a coarsely quantized input 1.
static int test_sample(int input, int n, int plane, int x, int y)
{
    const unsigned noise = (x + 3 * n) * 7919 ^ y * 104729 ^ plane * 31;
    const int v = 20 + (x + 2 * y + 5 * n + 40 * plane) % 80 + (noise >> 3) % 24;

    return input ? v : v & ~7;
}

/// Draw frame n of an input in memory. RGB frames are gray.
static av_unused AVFrame *test_draw(const TestPicture *pic, int input, int n)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(pic->format);
    // filters reject packed YUV formats: they need no content
    const int is_rgb   = !!(desc->flags & AV_PIX_FMT_FLAG_RGB);
    const int nb_drawn = desc->flags & AV_PIX_FMT_FLAG_PLANAR || is_rgb ? desc->nb_components
                                                              : desc->nb_components == 1;
    AVFrame *frame = test_new_frame(pic->format, pic->width, pic->height,
                                    pic->layout & TEST_PADDED ? 48 : 0,
                                    pic->layout & TEST_SHIFTED ? 2 : 0,
                                    pic->layout & TEST_UPSIDE_DOWN);
    uint16_t row[TEST_MAX_WIDTH];

    av_assert0(pic->width <= TEST_MAX_WIDTH);
    frame->color_range = pic->range;
    frame->pts         = n;
    for (int i = 0; i < nb_drawn; i++) {
        const int is_chroma = (i == 1 || i == 2) && !is_rgb;
        const int depth = desc->comp[i].depth;
        const int width  = AV_CEIL_RSHIFT(pic->width,  is_chroma ? desc->log2_chroma_w : 0);
        const int height = AV_CEIL_RSHIFT(pic->height, is_chroma ? desc->log2_chroma_h : 0);

        for (int y = 0; y < height && depth >= 8 && depth <= 16; y++) {
            for (int x = 0; x < width; x++)
                row[x] = test_sample(input, n, is_rgb ? 0 : i, x, y) << depth - 8 |
                         (pic->excess_bits ? 0xFFFF << depth : 0);
            av_write_image_line(row, frame->data, frame->linesize, desc, 0, y, i, width);
        }
    }
    return frame;
}

/// Create a pool of frames with the format and size of a picture on a device.
static av_unused AVBufferRef *test_open_frames(AVBufferRef *device, const TestPicture *pic)
{
    AVBufferRef *frames = av_hwframe_ctx_alloc(device);
    AVHWFramesContext *context;

    av_assert0(frames);
    context = (AVHWFramesContext *)frames->data;
    context->format    = AV_PIX_FMT_CUDA;
    context->sw_format = pic->format;
    context->width     = pic->width;
    context->height    = pic->height;
    av_assert0(av_hwframe_ctx_init(frames) >= 0);
    return frames;
}

/// Draw frame n of an input, in device memory if frames is not NULL.
static av_unused AVFrame *test_frame(AVBufferRef *frames, const TestPicture *pic, int input, int n)
{
    AVFrame *picture = test_draw(pic, input, n), *frame;

    if (!frames)
        return picture;
    frame = av_frame_alloc();
    av_assert0(frame && av_hwframe_get_buffer(frames, frame, 0) >= 0 &&
               av_hwframe_transfer_data(frame, picture, 0) >= 0);
    frame->pts = picture->pts;
    av_frame_free(&picture);
    return frame;
}

#endif /* AVFILTER_TESTS_FILTER_GRAPH_H */
