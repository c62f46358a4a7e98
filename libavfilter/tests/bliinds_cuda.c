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
 * bliinds_cuda for users of the API: with a stream of their own, which does not
 * wait for the default one, and on all GPUs of the machine at the same time.
 * Scores are compared with those of bliinds.
 */

#include <stdio.h>
#include <string.h>

#include "libavutil/frame.h"
#include "libavutil/hwcontext.h"
#include "libavutil/hwcontext_cuda_internal.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "libavfilter/avfilter.h"
#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"

#define WIDTH       322
#define HEIGHT      182
#define NB_FRAMES   50
#define MAX_RUNS    16

#define SCORE "lavfi.bliinds.score"

/// One filter with what it needs, on a device or, without one, on the CPU.
typedef struct Run {
    AVBufferRef *device, *frames;
    CUstream stream;                    ///< NULL for the device's own
    AVFilterGraph *graph;
    AVFilterContext *src, *sink;
    char score[NB_FRAMES][32];
    int nb_scores;
} Run;

static int open_stream(Run *r)
{
    AVCUDADeviceContext *hwctx = ((AVHWDeviceContext *)r->device->data)->hwctx;
    CudaFunctions *cu = hwctx->internal->cuda_dl;
    CUcontext dummy;
    CUresult res;

    if (cu->cuCtxPushCurrent(hwctx->cuda_ctx))
        return AVERROR_EXTERNAL;
    res = cu->cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING);
    cu->cuCtxPopCurrent(&dummy);
    hwctx->stream = r->stream;
    return res ? AVERROR_EXTERNAL : 0;
}

static int open_frames(Run *r)
{
    AVHWFramesContext *frames;

    r->frames = av_hwframe_ctx_alloc(r->device);
    if (!r->frames)
        return AVERROR(ENOMEM);
    frames = (AVHWFramesContext *)r->frames->data;
    frames->format    = AV_PIX_FMT_CUDA;
    frames->sw_format = AV_PIX_FMT_NV12;
    frames->width     = WIDTH;
    frames->height    = HEIGHT;
    return av_hwframe_ctx_init(r->frames);
}

static int open_graph(Run *r)
{
    AVBufferSrcParameters *par = av_buffersrc_parameters_alloc();
    AVFilterContext *filter;
    int ret;

    r->graph = avfilter_graph_alloc();
    if (!r->graph || !par) {
        ret = AVERROR(ENOMEM);
        goto end;
    }
    r->src = avfilter_graph_alloc_filter(r->graph, avfilter_get_by_name("buffer"), "in");
    if (!r->src) {
        ret = AVERROR(ENOMEM);
        goto end;
    }
    par->format        = r->frames ? AV_PIX_FMT_CUDA : AV_PIX_FMT_NV12;
    par->width         = WIDTH;
    par->height        = HEIGHT;
    par->time_base     = (AVRational){ 1, 25 };
    par->hw_frames_ctx = r->frames;
    if ((ret = av_buffersrc_parameters_set(r->src, par)) < 0 ||
        (ret = avfilter_init_str(r->src, NULL)) < 0 ||
        (ret = avfilter_graph_create_filter(&filter,
                   avfilter_get_by_name(r->frames ? "bliinds_cuda" : "bliinds"),
                   "score", NULL, NULL, r->graph)) < 0 ||
        (ret = avfilter_graph_create_filter(&r->sink, avfilter_get_by_name("buffersink"),
                                            "out", NULL, NULL, r->graph)) < 0 ||
        (ret = avfilter_link(r->src, 0, filter, 0)) < 0 ||
        (ret = avfilter_link(filter, 0, r->sink, 0)) < 0)
        goto end;
    ret = avfilter_graph_config(r->graph, NULL);

end:
    av_free(par);
    return ret;
}

/**
 * @param device number of a GPU, -1 for the CPU
 * @return 0, AVERROR(ENODEV) if there is no such GPU, or another error
 */
static int open_run(Run *r, int device, int own_stream)
{
    char name[16];
    int ret;

    if (device >= 0) {
        snprintf(name, sizeof(name), "%d", device);
        if (av_hwdevice_ctx_create(&r->device, AV_HWDEVICE_TYPE_CUDA, name, NULL, 0) < 0)
            return AVERROR(ENODEV);
        if ((own_stream && (ret = open_stream(r)) < 0) || (ret = open_frames(r)) < 0)
            return ret;
    }
    return open_graph(r);
}

static void close_run(Run *r)
{
    avfilter_graph_free(&r->graph);
    av_buffer_unref(&r->frames);
    if (r->stream) {
        AVCUDADeviceContext *hwctx = ((AVHWDeviceContext *)r->device->data)->hwctx;
        CudaFunctions *cu = hwctx->internal->cuda_dl;
        CUcontext dummy;

        cu->cuCtxPushCurrent(hwctx->cuda_ctx);
        cu->cuStreamDestroy(r->stream);
        cu->cuCtxPopCurrent(&dummy);
    }
    av_buffer_unref(&r->device);
}

/// A picture that is another one for each number: noise over a pattern.
static int draw(AVFrame **picture, int n)
{
    AVFrame *frame = *picture = av_frame_alloc();
    unsigned seed = n;
    int ret;

    if (!frame)
        return AVERROR(ENOMEM);
    frame->format = AV_PIX_FMT_NV12;
    frame->width  = WIDTH;
    frame->height = HEIGHT;
    frame->pts    = n;
    ret = av_frame_get_buffer(frame, 0);
    if (ret < 0)
        return ret;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            seed = seed * 1664525 + 1013904223;
            frame->data[0][y * frame->linesize[0] + x] =
                (x * (n + 3) / 7 ^ y) / 2 % 128 + 64 + (seed >> 28) * n / NB_FRAMES;
        }
    for (int y = 0; y < (HEIGHT + 1) / 2; y++)
        memset(frame->data[1] + y * frame->linesize[1], 128, WIDTH);
    return 0;
}

/// Take what has left the filter.
static int receive(Run *r)
{
    AVFrame *frame = av_frame_alloc();
    int ret;

    if (!frame)
        return AVERROR(ENOMEM);
    while ((ret = av_buffersink_get_frame(r->sink, frame)) >= 0) {
        const AVDictionaryEntry *score = av_dict_get(frame->metadata, SCORE, NULL, 0);

        if (frame->pts != r->nb_scores || r->nb_scores == NB_FRAMES || !score) {
            ret = AVERROR_BUG;
            break;
        }
        snprintf(r->score[r->nb_scores++], sizeof(*r->score), "%s", score->value);
        av_frame_unref(frame);
    }
    av_frame_free(&frame);
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/// Give a picture to the filter, NULL at the end.
static int send(Run *r, const AVFrame *picture)
{
    AVFrame *frame = NULL;
    int ret = 0;

    if (picture) {
        frame = r->frames ? av_frame_alloc() : av_frame_clone(picture);
        if (!frame)
            return AVERROR(ENOMEM);
        if (r->frames && ((ret = av_hwframe_get_buffer(r->frames, frame, 0)) < 0 ||
                          (ret = av_hwframe_transfer_data(frame, picture, 0)) < 0))
            goto end;
        frame->pts = picture->pts;
    }
    ret = av_buffersrc_add_frame(r->src, frame);
    if (ret >= 0)
        ret = receive(r);

end:
    av_frame_free(&frame);
    return ret;
}

/// Give a few pictures to a filter, none of which it is to give back before it is closed.
static int send_early(Run *r)
{
    int ret = 0;

    for (int n = 0; n < 3 && ret >= 0; n++) {
        AVFrame *picture = NULL;

        ret = draw(&picture, n);
        if (ret >= 0)
            ret = send(r, picture);
        av_frame_free(&picture);
    }
    return ret;
}

int main(void)
{
    static Run run[MAX_RUNS], early;
    AVFrame *picture = NULL;
    int nb_runs = 0, nb_devices = 0, ret;

    av_log_set_level(AV_LOG_FATAL);
    ret = open_run(&run[nb_runs++], -1, 0);
    while (ret >= 0 && nb_runs + 2 <= MAX_RUNS) {
        ret = open_run(&run[nb_runs++], nb_devices, 0);
        if (ret >= 0)
            ret = open_run(&run[nb_runs++], nb_devices, 1);
        nb_devices += ret >= 0;
    }
    if (ret == AVERROR(ENODEV)) {
        nb_runs--;
        ret = 0;
    }
    for (int n = 0; ret >= 0 && n <= NB_FRAMES; n++) {
        ret = n < NB_FRAMES ? draw(&picture, n) : 0;
        for (int i = 0; i < nb_runs && ret >= 0; i++)
            ret = send(&run[i], picture);
        av_frame_free(&picture);
    }
    av_frame_free(&picture);
    if (ret < 0)
        printf("error: %s\n", av_err2str(ret));

    for (int i = 1; i < nb_runs && ret >= 0; i++) {
        int alike = 0;

        for (int n = 0; n < run[i].nb_scores; n++)
            alike += !strcmp(run[i].score[n], run[0].score[n]);
        fprintf(stderr, "GPU %d, %s stream: %d of %d scores are those of the CPU\n",
                (i - 1) / 2, run[i].stream ? "a" : "no", alike, NB_FRAMES);
        if (alike < NB_FRAMES)
            ret = AVERROR_BUG;
    }
    // closed with frames in flight, as ffmpeg does when it is interrupted
    if (ret >= 0 && nb_devices && (ret = open_run(&early, 0, 0)) >= 0)
        ret = send_early(&early);
    if (ret >= 0)
        printf(nb_devices ? "the same scores\n" : "no GPU\n");
    close_run(&early);
    for (int i = 0; i < nb_runs; i++)
        close_run(&run[i]);
    return ret < 0;
}
