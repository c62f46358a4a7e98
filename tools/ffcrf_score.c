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
 * Filter graphs, and the metrics that they compute.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"
#include "libavutil/avstring.h"
#include "libavutil/cpu.h"
#include "libavutil/error.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "ffcrf.h"

#define LOSS_OPTIONS "=side_data=0:rr_match=number"

static const Metric metrics[] = {
    {
        .name        = "loss",
        .filter      = "bliinds"      LOSS_OPTIONS,
        .cuda_filter = "bliinds_cuda" LOSS_OPTIONS,
        .key         = "lavfi.bliinds.loss",
        .digits      = 2,
        .best        = 0,
        .worst       = 100,
        .offset      = 4,
        .typical     = 20,
        .tolerance   = 1,
        .step        = 8,
    }, {
        .name             = "ssim",
        .filter           = "ssim",
        .cuda_filter      = "ssim_cuda",
        .key              = "lavfi.ssim.All",
        .needs_source     = 1,
        .higher_is_better = 1,
        .digits           = 5,
        .best             = 1,
        .worst            = 0,
        .offset           = 1e-4,
        .typical          = 0.96,
        .tolerance        = 0.002,
        .step             = 4,
    }, {
        .name         = "mad",
        .filter       = "mad",
        .cuda_filter  = "mad_cuda",
        .key          = "lavfi.mad.score",
        .needs_source = 1,
        .digits       = 3,
        .best         = 0,
        .worst        = INFINITY,
        .offset       = 0.1,
        .typical      = 15,
        .tolerance    = 1,
        .step         = 24,
    }, {
        .name             = "vmaf",
        .filter           = "libvmaf=log_fmt=csv",
        .needs_source     = 1,
        .higher_is_better = 1,
        .digits           = 2,
        .best             = 100,
        .worst            = 0,
        .offset           = 1,
        .typical          = 85,
        .tolerance        = 1,
        .step             = 4,
    },
};

const Metric *ffcrf_metric(const char *name)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(metrics); i++)
        if (!strcmp(metrics[i].name, name))
            return &metrics[i];
    return NULL;
}

// ---- graphs ----

static int open_input(Graph *g, int i, const AVFrame *frame, AVRational time_base,
                      AVRational frame_rate)
{
    AVBufferSrcParameters *par = av_buffersrc_parameters_alloc();
    int ret = AVERROR(ENOMEM);

    g->in[i] = avfilter_graph_alloc_filter(g->graph, avfilter_get_by_name("buffer"),
                                           i ? "in1" : "in");
    if (par && g->in[i]) {
        par->format              = frame->format;
        par->width               = frame->width;
        par->height              = frame->height;
        par->sample_aspect_ratio = frame->sample_aspect_ratio;
        par->color_space         = frame->colorspace;
        par->color_range         = frame->color_range;
        par->hw_frames_ctx       = frame->hw_frames_ctx;
        par->time_base           = time_base;
        par->frame_rate          = frame_rate;
        ret = av_buffersrc_parameters_set(g->in[i], par);
        if (ret >= 0)
            ret = avfilter_init_dict(g->in[i], NULL);
    }
    av_free(par);
    return ret;
}

/// Parse filters; those that need a device have to have it before they are initialized.
static int parse_filters(AVFilterGraph *graph, const char *text, AVBufferRef *device,
                         AVFilterInOut **inputs, AVFilterInOut **outputs)
{
    AVFilterGraphSegment *segment;
    int ret;

    if ((ret = avfilter_graph_segment_parse(graph, text, 0, &segment)) < 0)
        return ret;
    ret = avfilter_graph_segment_create_filters(segment, 0);
    for (unsigned i = 0; device && ret >= 0 && i < graph->nb_filters; i++) {
        AVFilterContext *filter = graph->filters[i];

        if (filter->filter->flags & AVFILTER_FLAG_HWDEVICE &&
            !(filter->hw_device_ctx = av_buffer_ref(device)))
            ret = AVERROR(ENOMEM);
    }
    if (ret >= 0)
        ret = avfilter_graph_segment_apply(segment, 0, inputs, outputs);
    avfilter_graph_segment_free(&segment);
    return ret;
}

int ffcrf_graph_open(Graph *g, const char *text, const AVFrame *const frame[2],
                     AVRational time_base, AVRational frame_rate, AVBufferRef *device)
{
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    int ret = AVERROR(ENOMEM);

    *g = (Graph){ .graph = avfilter_graph_alloc() };
    if (!g->graph)
        return ret;
    if ((ret = parse_filters(g->graph, text, device, &inputs, &outputs)) < 0 ||
        (ret = open_input(g, 0, frame[0], time_base, frame_rate)) < 0 ||
        frame[1] && (ret = open_input(g, 1, frame[1], time_base, frame_rate)) < 0 ||
        (ret = avfilter_graph_create_filter(&g->out, avfilter_get_by_name("buffersink"),
                                            "out", NULL, NULL, g->graph)) < 0)
        goto end;
    // an end that is linked already is refused
    for (const AVFilterInOut *in = inputs; in && ret >= 0; in = in->next) {
        const int i = frame[1] && in->name && !strcmp(in->name, "in1");

        ret = avfilter_link(g->in[i], 0, in->filter_ctx, in->pad_idx);
    }
    for (const AVFilterInOut *out = outputs; out && ret >= 0; out = out->next)
        ret = avfilter_link(out->filter_ctx, out->pad_idx, g->out, 0);
    if (ret >= 0)
        ret = avfilter_graph_config(g->graph, NULL);

end:
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    if (ret < 0)
        avfilter_graph_free(&g->graph);
    return ret;
}

int ffcrf_graph_put(Graph *g, int in, const AVFrame *frame)
{
    return av_buffersrc_add_frame_flags(g->in[in], (AVFrame *)frame, AV_BUFFERSRC_FLAG_KEEP_REF);
}

int ffcrf_graph_get(Graph *g, AVFrame *frame)
{
    return av_buffersink_get_frame(g->out, frame);
}

enum AVPixelFormat ffcrf_gpu_format(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);

    if (!desc || desc->log2_chroma_w != 1 || desc->log2_chroma_h != 1 || desc->nb_components != 3)
        return AV_PIX_FMT_NONE;
    return desc->comp[0].depth == 8  ? AV_PIX_FMT_NV12 :
           desc->comp[0].depth == 10 ? AV_PIX_FMT_P010 : AV_PIX_FMT_NONE;
}

// ---- temporary files ----

int ffcrf_temporary_file(char **path)
{
    const char *dir = getenv("TMPDIR");
    int fd, ret;

    *path = av_asprintf("%s/ffcrf-XXXXXX", dir && *dir ? dir : "/tmp");
    if (!*path)
        return AVERROR(ENOMEM);
    fd = mkstemp(*path);
    if (fd >= 0)
        return close(fd);
    ret = AVERROR(errno);
    av_log(NULL, AV_LOG_ERROR, "Cannot make a temporary file '%s': %s; set TMPDIR to "
           "another folder.\n", *path, av_err2str(ret));
    av_freep(path);
    return ret;
}

void ffcrf_temporary_remove(char **path)
{
    if (*path)
        unlink(*path);
    av_freep(path);
}

// ---- scoring ----

void ffcrf_scorer_open(Scorer *s, const Metric *metric, AVBufferRef *device,
                       const char *statistics, int of_source)
{
    *s = (Scorer){
        .metric     = metric,
        .device     = device,
        .statistics = statistics,
        .of_source  = of_source,
    };
}

/// What brings a frame to where it is scored.
static void describe_upload(const Scorer *s, AVBPrint *text, const AVFrame *frame)
{
    if (s->device && frame->format != AV_PIX_FMT_CUDA)
        av_bprintf(text, "format=%s,hwupload,",
                   av_get_pix_fmt_name(ffcrf_gpu_format(frame->format)));
}

/// Write an option whose value may have any character: the graph and the filter each unescape it.
static void print_option(AVBPrint *text, const char *name, const char *value)
{
    AVBPrint escaped;

    av_bprint_init(&escaped, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprint_escape(&escaped, value, ":", AV_ESCAPE_MODE_BACKSLASH, 0);
    av_bprintf(text, ":%s=", name);
    av_bprint_escape(text, escaped.str, "[],;", AV_ESCAPE_MODE_BACKSLASH, 0);
    av_bprint_finalize(&escaped, NULL);
}

static int open_graph(Scorer *s, const AVFrame *encode, const AVFrame *source)
{
    const Metric *m = s->metric;
    const AVFrame *const frame[2] = { encode, source };
    AVBPrint text;
    int ret = 0;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (source) {
        av_bprintf(&text, "[in1]");
        describe_upload(s, &text, source);
        av_bprintf(&text, "null[source];[in]");
    }
    describe_upload(s, &text, encode);
    if (source)
        av_bprintf(&text, "null[encode];[encode][source]");
    av_bprintf(&text, "%s", s->device ? m->cuda_filter : m->filter);
    if (s->statistics)
        print_option(&text, s->of_source ? "rr_write" : "rr_read", s->statistics);
    if (!m->key && (ret = ffcrf_temporary_file(&s->log)) >= 0) {
        av_bprintf(&text, ":n_threads=%d", av_cpu_count());
        print_option(&text, "log_path", s->log);
    }
    if (ret >= 0)
        ret = av_bprint_is_complete(&text) ?
              ffcrf_graph_open(&s->graph, text.str, frame, (AVRational){ 1, 25 },
                               (AVRational){ 25, 1 }, s->device) : AVERROR(ENOMEM);
    av_bprint_finalize(&text, NULL);
    return ret;
}

static int add_score(Scorer *s, double score)
{
    double *scores = av_fast_realloc(s->score, &s->score_size, (s->nb_scores + 1) * sizeof(*scores));

    if (!scores)
        return AVERROR(ENOMEM);
    s->score = scores;
    scores[s->nb_scores++] = score;
    return 0;
}

/// Frames that have no score are black or flat: nothing can be lost of them.
static int take_scores(Scorer *s)
{
    AVFrame *frame = av_frame_alloc();
    int ret = frame ? 0 : AVERROR(ENOMEM);

    while (ret >= 0 && (ret = ffcrf_graph_get(&s->graph, frame)) >= 0) {
        const char *key = s->metric->key;
        const AVDictionaryEntry *e = key ? av_dict_get(frame->metadata, key, NULL, 0) : NULL;

        if (e && !s->of_source)
            ret = add_score(s, strtod(e->value, NULL));
        av_frame_unref(frame);
    }
    av_frame_free(&frame);
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/// Put a frame in, under a time that it shares with its counterpart only.
static int put(Scorer *s, int in, const AVFrame *src)
{
    AVFrame *frame = av_frame_clone(src);
    int ret;

    if (!frame)
        return AVERROR(ENOMEM);
    frame->pts      = s->nb_frames;
    frame->duration = 1;
    av_dict_free(&frame->metadata);
    ret = ffcrf_graph_put(&s->graph, in, frame);
    av_frame_free(&frame);
    return ret;
}

int ffcrf_scorer_add(Scorer *s, const AVFrame *encode, const AVFrame *source)
{
    int ret;

    if (!s->graph.graph && (ret = open_graph(s, encode, source)) < 0 ||
        (ret = put(s, 0, encode)) < 0 ||
        source && (ret = put(s, 1, source)) < 0)
        return ret;
    s->nb_frames++;
    return take_scores(s);
}

/// Read the column of the scores in libvmaf's CSV.
static int read_log(Scorer *s)
{
    FILE *f = fopen(s->log, "r");
    char line[4096], *field, *rest;
    int column = -1, i, ret = 0;

    if (!f)
        return AVERROR(errno);
    while (ret >= 0 && fgets(line, sizeof(line), f)) {
        const int is_header = column < 0;

        rest = line;
        for (i = 0; (field = av_strtok(rest, ",\n", &rest)); i++)
            if (is_header && !strcmp(field, s->metric->name))
                column = i;
            else if (!is_header && i == column)
                ret = add_score(s, strtod(field, NULL));
        if (column < 0)
            break;
    }
    fclose(f);
    return ret;
}

int ffcrf_scorer_finish(Scorer *s)
{
    int ret = 0;

    if (s->graph.graph) {
        for (int i = 0; i < 2 && s->graph.in[i] && ret >= 0; i++)
            ret = ffcrf_graph_put(&s->graph, i, NULL);
        if (ret >= 0)
            ret = take_scores(s);
        avfilter_graph_free(&s->graph.graph);
        if (ret >= 0 && !s->metric->key)
            ret = read_log(s);
    }
    return ret;
}

void ffcrf_scorer_close(Scorer *s)
{
    avfilter_graph_free(&s->graph.graph);
    ffcrf_temporary_remove(&s->log);
    av_freep(&s->score);
    s->nb_scores = 0;
}
