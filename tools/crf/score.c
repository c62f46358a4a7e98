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

#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"
#include "libavutil/cpu.h"

#include "ffcrf.h"

/// What decibels stand for: a mean of decibels means nothing.
#define DISTANCE(decibels) pow(10, -(decibels) / 20)

const Metric metrics[] = {
    {
        .name = "vmaf", .filter = "libvmaf",
        .step_option = "n_subsample", .gets_all = 1,
        .higher_is_better = 1, .best = 100, .worst = 0, .offset = 1, .typical = 85,
        .digits = 2, .tolerance = 1, .step = 5, .target = 95,
    }, {
        .name = "loss", .filter = "detailloss", .cuda_filter = "detailloss_cuda",
        .key = "lavfi.detailloss.loss", .step_option = "n_subsample", .gets_all = 1,
        .best = 0, .worst = 100, .offset = 4, .typical = 20,
        .digits = 2, .tolerance = 1, .step = 5, .target = 5,
    }, {
        .name = "ssim", .filter = "ssim", .cuda_filter = "ssim_cuda", .key = "lavfi.ssim.All",
        .higher_is_better = 1, .best = 1, .worst = 0, .offset = 1e-4, .typical = 0.96,
        .digits = 5, .tolerance = 0.002, .step = 4,
    }, {
        .name = "xpsnr", .filter = "xpsnr", .key = "lavfi.xpsnr.xpsnr.",
        .gets_all = 1, .source_is_first = 1, .is_of_planes = 1, .is_in_decibels = 1,
        .higher_is_better = 1, .best = 100, .worst = 0, .typical = 38,
        .digits = 3, .tolerance = 0.3, .step = 1,
    }, {
        .name = "mad", .filter = "mad", .cuda_filter = "mad_cuda", .key = "lavfi.mad.score",
        .best = 0, .worst = INFINITY, .offset = 0.1, .typical = 15,
        .digits = 3, .tolerance = 1, .step = 24,
    },
    { NULL }
};

/// The models that have names here: for pictures of less than 2160 lines, and of more.
static const char *const vmaf_models[][3] = {
    { "v1",           "vmaf_v1.0.16_3d0h",      "vmaf_v1.0.16_1d5h_2160" },
    { "4k",           "vmaf_v1.0.16_1d5h_2160", "vmaf_v1.0.16_1d5h_2160" },
    { "phone",        "vmaf_v1.0.16_5d0h",      "vmaf_v1.0.16_5d0h" },
    { "v0.6.1",       "vmaf_v0.6.1",            "vmaf_4k_v0.6.1" },
    { "v0.6.1-4k",    "vmaf_4k_v0.6.1",         "vmaf_4k_v0.6.1" },
    { "v0.6.1-phone", "vmaf_v0.6.1:enable_transform=true", "vmaf_v0.6.1:enable_transform=true" },
};

double metric_mean(const Metric *m, const double *value, int nb)
{
    double sum = 0;

    for (int i = 0; i < nb; i++)
        sum += m->is_in_decibels ? DISTANCE(value[i]) : value[i];
    return m->is_in_decibels ? -20 * log10(sum / nb) : sum / nb;
}

int is_scored(const Metric *m, int64_t n, int step)
{
    const uint32_t golden = 2654435769u;    // 2^32 by the golden ratio

    return m->gets_all || n % step == (uint64_t)(uint32_t)(n / step * golden) * step >> 32;
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
        if ((ret = av_buffersrc_parameters_set(g->in[i], par)) >= 0)
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

int graph_open(Graph *g, const char *text, const AVFrame *const frame[2],
               AVRational time_base, AVRational frame_rate, AVBufferRef *device)
{
    AVFilterInOut *inputs = NULL, *outputs = NULL;
    int ret;

    *g = (Graph){ .graph = avfilter_graph_alloc() };
    if (!g->graph)
        return AVERROR(ENOMEM);
    ret = parse_filters(g->graph, text, device, &inputs, &outputs);
    for (int i = 0; i < 2 && ret >= 0 && frame[i]; i++)
        ret = open_input(g, i, frame[i], time_base, frame_rate);
    if (ret >= 0)
        ret = avfilter_graph_create_filter(&g->out, avfilter_get_by_name("buffersink"),
                                           "out", NULL, NULL, g->graph);
    // an end that is linked already is refused
    for (const AVFilterInOut *in = inputs; in && ret >= 0; in = in->next)
        ret = avfilter_link(g->in[frame[1] && in->name && !strcmp(in->name, "in1")], 0,
                            in->filter_ctx, in->pad_idx);
    for (const AVFilterInOut *out = outputs; out && ret >= 0; out = out->next)
        ret = avfilter_link(out->filter_ctx, out->pad_idx, g->out, 0);
    if (ret >= 0)
        ret = avfilter_graph_config(g->graph, NULL);
    avfilter_inout_free(&inputs);
    avfilter_inout_free(&outputs);
    if (ret < 0)
        avfilter_graph_free(&g->graph);
    return ret;
}

enum AVPixelFormat gpu_format(enum AVPixelFormat format)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(format);

    if (!desc || desc->log2_chroma_w != 1 || desc->log2_chroma_h != 1 || desc->nb_components != 3)
        return AV_PIX_FMT_NONE;
    return desc->comp[0].depth == 8  ? AV_PIX_FMT_NV12 :
           desc->comp[0].depth == 10 ? AV_PIX_FMT_P010 : AV_PIX_FMT_NONE;
}

// ---- VMAF ----

/// A model is one of v1 unless its name says that it is not.
static int is_vmaf_v1(const char *model)
{
    return !strstr(model, "v0.");
}

/// The model as libvmaf takes it.
static void describe_model(AVBPrint *text, const char *model, int width, int height, int depth)
{
    const char *name = NULL;

    for (int i = 0; i < FF_ARRAY_ELEMS(vmaf_models); i++)
        if (!strcmp(model, vmaf_models[i][0]))
            name = vmaf_models[i][1 + (FFMIN(width, height) >= 2160)];
    if (!name && !access(model, R_OK)) {
        av_bprintf(text, "path=");
        av_bprint_escape(text, model, ":", AV_ESCAPE_MODE_BACKSLASH, 0);
    } else {
        av_bprintf(text, "version=%s", name ? name : model);
    }
    // the bits of the encode: print_input() converts its frames to 10
    if (is_vmaf_v1(model) && depth < 10)
        av_bprintf(text, ":cambi.enc_bitdepth=%d", depth);
}

int check_vmaf_model(const char *model)
{
    const int level = av_log_get_level();
    const AVFilter *libvmaf = avfilter_get_by_name("libvmaf");
    AVFilterGraph *graph    = avfilter_graph_alloc();
    AVFilterContext *filter = graph ? avfilter_graph_alloc_filter(graph, libvmaf, NULL) : NULL;
    AVBPrint text, names;
    int ret = AVERROR(ENOMEM);

    av_bprint_init(&text,  0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprint_init(&names, 0, AV_BPRINT_SIZE_UNLIMITED);
    describe_model(&text, model, 0, 0, 10);
    av_log_set_level(AV_LOG_QUIET);
    if (filter && (ret = av_opt_set(filter, "model", text.str, AV_OPT_SEARCH_CHILDREN)) >= 0)
        ret = avfilter_init_dict(filter, NULL);
    av_log_set_level(level);
    avfilter_graph_free(&graph);
    for (int i = 0; i < FF_ARRAY_ELEMS(vmaf_models); i++)
        av_bprintf(&names, "%s, ", vmaf_models[i][0]);
    if (ret < 0)
        ret = usage("VMAF has no model '%s': libvmaf does not take %s. --vmaf-model takes %sa "
                    "file, and a name that libvmaf knows; v1 is in libvmaf 3.2 and newer.\n",
                    model, text.str, names.str);
    av_bprint_finalize(&text, NULL);
    av_bprint_finalize(&names, NULL);
    return FFMIN(ret, 0);
}

/// Open a temporary file that has no name any more.
static int open_temporary(FILE **file)
{
    const char *dir = getenv("TMPDIR");
    char *path      = av_asprintf("%s/ffcrf-XXXXXX", dir && *dir ? dir : "/tmp");
    int fd, ret = 0;

    if (!path)
        return AVERROR(ENOMEM);
    fd = mkstemp(path);
    if (fd < 0 || unlink(path) < 0 || !(*file = fdopen(fd, "r")))
        ret = fail(AVERROR(errno), "Cannot make a temporary file '%s': %s; set TMPDIR to another "
                   "folder.\n", path, strerror(errno));
    if (ret < 0 && fd >= 0)
        close(fd);
    av_free(path);
    return ret;
}

/// The options of libvmaf, which writes its scores to a file only.
static int print_vmaf_options(Scorer *s, AVBPrint *text, const AVFrame *encode)
{
    AVBPrint model, escaped;
    int ret = open_temporary(&s->log);

    if (ret < 0)
        return ret;
    av_bprint_init(&model,   0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprint_init(&escaped, 0, AV_BPRINT_SIZE_UNLIMITED);
    describe_model(&model, s->model, encode->width, encode->height,
                   av_pix_fmt_desc_get(encode->format)->comp[0].depth);
    av_bprintf(text, ":n_threads=%d:log_fmt=xml:log_path=/dev/fd/%d:model=", av_cpu_count(),
               fileno(s->log));
    // the filter and the graph each take off one escape
    av_bprint_escape(&escaped, model.str, ":", AV_ESCAPE_MODE_BACKSLASH, 0);
    av_bprint_escape(text, escaped.str, "[],;", AV_ESCAPE_MODE_BACKSLASH, 0);
    av_bprint_finalize(&model, NULL);
    av_bprint_finalize(&escaped, NULL);
    return 0;
}

static int add_score(Scorer *s, double score)
{
    if (!isfinite(score))
        return usage("%s has no score for pictures of this size: take another metric.\n",
                     s->metric->name);
    return av_dynarray2_add((void **)&s->score, &s->nb_scores, sizeof(score),
                            (const uint8_t *)&score) ? 0 : AVERROR(ENOMEM);
}

/// Read libvmaf's log, which has a line for each frame.
static int read_log(Scorer *s)
{
    char line[4096];
    int ret = 0;

    rewind(s->log);
    while (ret >= 0 && fgets(line, sizeof(line), s->log)) {
        const char *score = strstr(line, " vmaf=\"");

        if (score && strstr(line, "<frame "))
            ret = add_score(s, strtod(score + strlen(" vmaf=\""), NULL));
    }
    return ret;
}

// ---- scoring ----

/// Convert a frame, and upload it if a GPU scores.
static void print_input(const Scorer *s, AVBPrint *text, const AVFrame *frame)
{
    if (!s->metric->key && is_vmaf_v1(s->model))
        // it detects banding, and is made for 10 bits
        av_bprintf(text, "format=yuv420p10|yuv422p10|yuv444p10,");
    if (s->device && frame->format != AV_PIX_FMT_CUDA)
        av_bprintf(text, "format=%s,hwupload,", av_get_pix_fmt_name(gpu_format(frame->format)));
}

static int open_graph(Scorer *s, const AVFrame *encode, const AVFrame *source)
{
    const Metric *m = s->metric;
    const AVFrame *const frame[2] = { encode, source };
    AVBPrint text;
    int ret = 0;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&text, "[in1]");
    print_input(s, &text, source);
    av_bprintf(&text, "null[source];[in]");
    print_input(s, &text, encode);
    av_bprintf(&text, "null[encode];%s%s",
               m->source_is_first ? "[source][encode]" : "[encode][source]",
               s->device ? m->cuda_filter : m->filter);
    if (m->step_option)
        av_bprintf(&text, "=%s=%d", m->step_option, s->step);
    if (!m->key)
        ret = print_vmaf_options(s, &text, encode);
    if (ret >= 0)
        ret = av_bprint_is_complete(&text) ?
              graph_open(&s->graph, text.str, frame, (AVRational){ 1, 25 },
                         (AVRational){ 25, 1 }, s->device) : AVERROR(ENOMEM);
    av_bprint_finalize(&text, NULL);
    return ret;
}

static int take_scores(Scorer *s)
{
    const Metric *m = s->metric;
    AVFrame *frame  = av_frame_alloc();
    int ret = frame ? 0 : AVERROR(ENOMEM);

    while (ret >= 0 && (ret = av_buffersink_get_frame(s->graph.out, frame)) >= 0) {
        const AVDictionaryEntry *e = NULL;

        s->nb_planes = 0;
        while (ret >= 0 && m->key && (e = av_dict_get(frame->metadata, m->key, e,
                                      m->is_of_planes ? AV_DICT_IGNORE_SUFFIX : 0))) {
            double score = strtod(e->value, NULL);

            if (m->is_of_planes) {
                score = FFMIN(score, m->best);  // infinite if they are identical
                s->distance[s->nb_planes++] += DISTANCE(score);
            }
            ret = add_score(s, score);
        }
        av_frame_unref(frame);
    }
    av_frame_free(&frame);
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/// Keep the scores of the plane that is worst over all frames, as the filter's own summary does.
static void take_worst_plane(Scorer *s)
{
    int worst = 0;

    for (int i = 1; i < s->nb_planes; i++)
        if (s->distance[i] > s->distance[worst])
            worst = i;
    s->nb_scores /= s->nb_planes;
    for (int i = 0; i < s->nb_scores; i++)
        s->score[i] = s->score[i * s->nb_planes + worst];
}

/// Put a frame in, with a time that only its counterpart has, too.
static int put(Scorer *s, int in, const AVFrame *src)
{
    AVFrame *frame = av_frame_clone(src);
    int ret;

    if (!frame)
        return AVERROR(ENOMEM);
    frame->pts      = s->nb_frames;
    frame->duration = 1;
    av_dict_free(&frame->metadata);
    ret = av_buffersrc_add_frame(s->graph.in[in], frame);
    av_frame_free(&frame);
    return ret;
}

int scorer_add(Scorer *s, const AVFrame *encode, const AVFrame *source)
{
    const int64_t begin = av_gettime_relative();
    int ret;

    if (!s->graph.graph && (ret = open_graph(s, encode, source)) < 0 ||
        (ret = put(s, 0, encode)) < 0 ||
        (ret = put(s, 1, source)) < 0)
        return ret;
    s->nb_frames++;
    ret = take_scores(s);
    s->time += av_gettime_relative() - begin;
    return ret;
}

int scorer_finish(Scorer *s)
{
    const int64_t begin = av_gettime_relative();
    int ret = 0;

    if (!s->graph.graph)
        return 0;
    for (int i = 0; i < 2 && ret >= 0; i++)
        ret = av_buffersrc_add_frame(s->graph.in[i], NULL);
    if (ret >= 0)
        ret = take_scores(s);
    avfilter_graph_free(&s->graph.graph);
    if (ret >= 0 && s->log)
        ret = read_log(s);
    if (ret >= 0 && !s->nb_scores)
        ret = usage("%s has scored no frame: models of VMAF v1 do not take small pictures. "
                    "Take --vmaf-model v0.6.1, or another metric.\n", s->metric->name);
    else if (ret >= 0 && s->metric->is_of_planes)
        take_worst_plane(s);
    s->time += av_gettime_relative() - begin;
    return ret;
}

void scorer_close(Scorer *s)
{
    avfilter_graph_free(&s->graph.graph);
    if (s->log)
        fclose(s->log);
    av_freep(&s->score);
}
