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
 * From the source to samples of it, and from these to candidates and their scores.
 *
 * A sample is decoded once and kept. Its candidate is encoded in the caller's
 * thread; another one decodes the packets and scores the frames meanwhile. Frames
 * meet their own by number, in the order in which they are shown.
 */

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "libavfilter/buffersink.h"
#include "libavutil/avstring.h"
#include "libavutil/hwcontext.h"
#include "libavutil/imgutils.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/threadmessage.h"
#include "libavutil/time.h"

#include "ffcrf.h"

/// Fewer are not scored of a sample: --score-every is lowered before.
#define MIN_SCORED 16

/// Packets between the encoder and the decoder.
#define QUEUE_SIZE 64

// ---- the source ----

static int interrupted(void *opaque)
{
    return !!ffcrf_signal;
}

/// The largest video, as ffmpeg chooses. Pictures of the cover are none.
static AVStream *find_video(const AVFormatContext *format)
{
    AVStream *best = NULL;

    for (unsigned i = 0; i < format->nb_streams; i++) {
        AVStream *st = format->streams[i];
        const AVCodecParameters *par = st->codecpar;

        if (par->codec_type == AVMEDIA_TYPE_VIDEO && !(st->disposition & AV_DISPOSITION_ATTACHED_PIC) &&
            (!best || (int64_t)par->width * par->height >
                      (int64_t)best->codecpar->width * best->codecpar->height))
            best = st;
    }
    return best;
}

static int open_decoder(Source *s, const char *path)
{
    const AVCodecParameters *par = s->stream->codecpar;
    const AVCodec *codec = avcodec_find_decoder(par->codec_id);
    int ret;

    if (!codec) {
        av_log(NULL, AV_LOG_ERROR, "This build of FFmpeg cannot decode %s, which the video of "
               "'%s' is.\n", avcodec_get_name(par->codec_id), path);
        return AVERROR_DECODER_NOT_FOUND;
    }
    s->decoder = avcodec_alloc_context3(codec);
    if (!s->decoder)
        return AVERROR(ENOMEM);
    if ((ret = avcodec_parameters_to_context(s->decoder, par)) < 0)
        return ret;
    s->decoder->pkt_timebase = s->stream->time_base;
    s->decoder->thread_count = 0;
    return avcodec_open2(s->decoder, codec, NULL);
}

int ffcrf_source_open(Source *s, const char *path)
{
    int ret;

    *s = (Source){
        .format  = avformat_alloc_context(),
        .packet  = av_packet_alloc(),
        .frame   = av_frame_alloc(),
        .filters = "null",
        .start   = INT64_MIN,
        .end     = INT64_MAX,
        .next_pts = AV_NOPTS_VALUE,
        .last_out = INT64_MIN,
    };
    if (!s->format || !s->packet || !s->frame)
        return AVERROR(ENOMEM);
    s->format->interrupt_callback.callback = interrupted;
    if ((ret = avformat_open_input(&s->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(s->format, NULL)) < 0) {
        if (!ffcrf_signal)
            av_log(NULL, AV_LOG_ERROR, "Cannot read '%s': %s. Is it a complete video file?\n",
                   path, av_err2str(ret));
        return ret;
    }
    s->stream = find_video(s->format);
    if (!s->stream) {
        av_log(NULL, AV_LOG_ERROR, "'%s' has no video stream.\n", path);
        return AVERROR_STREAM_NOT_FOUND;
    }
    for (unsigned i = 0; i < s->format->nb_streams; i++)
        if (s->format->streams[i] != s->stream)
            s->format->streams[i]->discard = AVDISCARD_ALL;
    ret = open_decoder(s, path);
    if (ret < 0 && ret != AVERROR_DECODER_NOT_FOUND)
        av_log(NULL, AV_LOG_ERROR, "Cannot decode the video of '%s': %s.\n", path, av_err2str(ret));
    return ret;
}

/// Go there, and see if decoding can begin with what comes first.
static int try_seek(Source *s, int64_t pts)
{
    int is_start = 0, ret = av_seek_frame(s->format, s->stream->index, pts, AVSEEK_FLAG_BACKWARD);

    while (ret >= 0 && (ret = av_read_frame(s->format, s->packet)) >= 0) {
        const int is_video = s->packet->stream_index == s->stream->index;

        is_start = s->packet->flags & AV_PKT_FLAG_KEY &&
                   (s->packet->pts == AV_NOPTS_VALUE || s->packet->pts <= s->start);
        av_packet_unref(s->packet);
        if (is_video)
            break;
    }
    if (ret >= 0)
        ret = av_seek_frame(s->format, s->stream->index, pts, AVSEEK_FLAG_BACKWARD);
    return ret < 0 ? ret : is_start;
}

int ffcrf_source_seek(Source *s, int64_t start, int64_t duration)
{
    const int64_t origin = s->format->start_time == AV_NOPTS_VALUE ? 0 : s->format->start_time;
    int64_t back = 0;
    int ret;

    if (!duration)
        return 0;
    s->start = av_rescale_q(origin + start, AV_TIME_BASE_Q, s->stream->time_base);
    s->end   = av_rescale_q(origin + start + duration, AV_TIME_BASE_Q, s->stream->time_base);
    // formats without an index do not know where key frames are
    do {
        ret  = try_seek(s, av_rescale_q(origin + FFMAX(start - back, 0), AV_TIME_BASE_Q, s->stream->time_base));
        back = 4 * back + 2 * AV_TIME_BASE;
    } while (!ret && back < 4 * start + 4 * AV_TIME_BASE);
    if (ret < 0)
        av_log(NULL, AV_LOG_ERROR, "Cannot go to %.1f s of '%s': %s. Let a --sample-duration cover "
               "all of it.\n", start / 1e6, s->format->url, av_err2str(ret));
    return ret < 0 ? ret : 0;
}

/// Give a time to a frame that has none, or none that can be relied on.
static void set_time(Source *s, AVFrame *frame)
{
    const AVRational rate = av_guess_frame_rate(s->format, s->stream, frame);
    const int64_t duration = rate.num && rate.den ?
        av_rescale_q(1, av_inv_q(rate), s->stream->time_base) : frame->duration;

    frame->pts = frame->best_effort_timestamp;
    if (s->format->iformat->flags & AVFMT_NOTIMESTAMPS || frame->pts == AV_NOPTS_VALUE)
        frame->pts = s->next_pts == AV_NOPTS_VALUE ? 0 : s->next_pts;
    s->next_pts = frame->pts + FFMAX(1, frame->duration > 0 ? frame->duration : duration);
}

static int is_between(const Source *s, int64_t pts)
{
    return s->start == INT64_MIN || pts >= s->start && pts < s->end;
}

/// What cannot be decoded is left out, as ffmpeg does.
static void tell_damage(Source *s, int error)
{
    if (!s->nb_damaged++)
        av_log(NULL, AV_LOG_WARNING, "Part of '%s' cannot be decoded: %s.\n",
               s->format->url, av_err2str(error));
}

/// Decode to s->frame.
static int decode(Source *s)
{
    int ret;

    for (;;) {
        ret = avcodec_receive_frame(s->decoder, s->frame);
        if (ret >= 0) {
            set_time(s, s->frame);
            if (s->frame->pts >= s->end) {
                av_frame_unref(s->frame);
                return AVERROR_EOF;
            }
            if (is_between(s, s->frame->pts))
                return 0;
            av_frame_unref(s->frame);
            continue;
        }
        if (ret == AVERROR_EOF || ret == AVERROR(ENOMEM))
            return ret;
        if (ret != AVERROR(EAGAIN)) {
            tell_damage(s, ret);
            continue;
        }

        ret = av_read_frame(s->format, s->packet);
        if (ret < 0 && ffcrf_signal)
            return AVERROR_EXIT;
        if (ret < 0) {
            // a file that ends too early ends the video, as it does for ffmpeg
            if (ret != AVERROR_EOF)
                av_log(NULL, AV_LOG_WARNING, "Reading '%s' stopped: %s.\n", s->format->url, av_err2str(ret));
            ret = avcodec_send_packet(s->decoder, NULL);
        } else if (s->packet->stream_index == s->stream->index) {
            int64_t pts = s->packet->pts == AV_NOPTS_VALUE ? s->packet->dts : s->packet->pts;

            if (is_between(s, pts))
                s->bytes += s->packet->size;
            ret = avcodec_send_packet(s->decoder, s->packet);
        }
        av_packet_unref(s->packet);
        if (ret == AVERROR(ENOMEM) || ret == AVERROR_EOF)
            return ret;
        if (ret < 0)
            tell_damage(s, ret);
    }
}

/// All output has the size of the first, if the video changes its own.
static int open_filters(Source *s)
{
    const AVFrame *const frame[2] = { s->frame, NULL };
    AVRational rate = av_guess_frame_rate(s->format, s->stream, NULL);
    char *text = s->out_width ? av_asprintf("scale=%d:%d,%s", s->out_width, s->out_height, s->filters)
                              : av_strdup(s->filters);
    int ret = AVERROR(ENOMEM);

    if (text)
        ret = ffcrf_graph_open(&s->graph, text, frame, s->stream->time_base, rate, s->device);
    av_free(text);
    if (ret < 0) {
        av_log(NULL, AV_LOG_ERROR, "The filters before the encoder do not work: %s. See to -vf "
               "and -pix_fmt.\n", av_err2str(ret));
        return ret;
    }
    s->width        = s->frame->width;
    s->height       = s->frame->height;
    s->pixel_format = s->frame->format;
    return 0;
}

int ffcrf_source_next(Source *s, AVFrame *frame)
{
    int ret;

    for (;;) {
        if (ffcrf_signal)
            return AVERROR_EXIT;
        if (s->graph.graph) {
            ret = ffcrf_graph_get(&s->graph, frame);
            if (ret >= 0) {
                if (!s->time_base.num) {
                    s->time_base  = av_buffersink_get_time_base(s->graph.out);
                    s->frame_rate = av_buffersink_get_frame_rate(s->graph.out);
                    s->out_width  = s->width;
                    s->out_height = s->height;
                }
                if (frame->pts > s->last_out || s->keeps_all) {
                    s->last_out = frame->pts;
                    return 0;
                }
                s->nb_repeated++;
                av_frame_unref(frame);
                continue;
            }
            if (ret == AVERROR_EOF)
                avfilter_graph_free(&s->graph.graph);
            else if (ret != AVERROR(EAGAIN))
                return ret;
        }
        if (s->has_frame && !s->graph.graph) {
            if ((ret = open_filters(s)) < 0)
                return ret;
        } else if (!s->has_frame) {
            if (s->ended)
                return AVERROR_EOF;
            ret = decode(s);
            if (ret < 0 && ret != AVERROR_EOF)
                return ret;
            s->has_frame = ret >= 0;
            s->ended     = ret < 0;
            if (s->ended && !s->graph.graph)
                return AVERROR_EOF;
        }
        if (s->ended || s->graph.graph &&
            (s->frame->width != s->width || s->frame->height != s->height ||
             s->frame->format != s->pixel_format)) {
            // what the graph still holds comes first
            ret = ffcrf_graph_put(&s->graph, 0, NULL);
        } else if (s->graph.graph) {
            ret = ffcrf_graph_put(&s->graph, 0, s->frame);
            av_frame_unref(s->frame);
            s->has_frame = 0;
        }
        if (ret < 0)
            return ret;
    }
}

void ffcrf_source_close(Source *s)
{
    avfilter_graph_free(&s->graph.graph);
    avcodec_free_context(&s->decoder);
    avformat_close_input(&s->format);
    av_packet_free(&s->packet);
    av_frame_free(&s->frame);
}

static int is_on_gpu(const AVCodec *encoder)
{
    return encoder && strstr(encoder->name, "_nvenc");
}

/// Filters that make of a source's frames what the encoder takes.
static int encoder_filters(const Options *o, AVBPrint *text)
{
    const int upload = o->device && is_on_gpu(o->encoder);
    const enum AVPixelFormat *formats = NULL;
    int ret;

    if (o->filters)
        av_bprintf(text, "%s,", o->filters);
    if (o->pix_fmt) {
        enum AVPixelFormat format = av_get_pix_fmt(o->pix_fmt);

        if (upload)
            format = ffcrf_gpu_format(format);
        av_bprintf(text, "format=%s", av_get_pix_fmt_name(format));
    } else if (upload) {
        av_bprintf(text, "format=nv12|p010");
    } else if (!o->encoder) {
        av_bprintf(text, "null");
    } else {
        ret = avcodec_get_supported_config(NULL, o->encoder, AV_CODEC_CONFIG_PIX_FORMAT, 0,
                                           (const void **)&formats, NULL);
        if (ret < 0)
            return ret;
        av_bprintf(text, formats ? "format=" : "null");
        for (int i = 0; formats && formats[i] != AV_PIX_FMT_NONE; i++)
            if (!(av_pix_fmt_desc_get(formats[i])->flags & AV_PIX_FMT_FLAG_HWACCEL))
                av_bprintf(text, "%s%s", i ? "|" : "", av_get_pix_fmt_name(formats[i]));
    }
    if (upload)
        av_bprintf(text, ",hwupload");
    return av_bprint_is_complete(text) ? 0 : AVERROR(ENOMEM);
}

/// Open the input as it goes to the encoder; filters lives as long as the source.
static int open_source(Source *s, const Options *o, AVBPrint *filters)
{
    int ret;

    av_bprint_init(filters, 0, AV_BPRINT_SIZE_UNLIMITED);
    *s = (Source){ 0 };
    if ((ret = encoder_filters(o, filters)) < 0 ||
        (ret = ffcrf_source_open(s, o->input)) < 0)
        return ret;
    s->filters = filters->str;
    s->device  = o->device;
    return 0;
}

// ---- samples ----

/**
 * One frame of each run of step frames, at a place that changes from run to run,
 * as encoders repeat their kinds of frames with a period. The first is one.
 */
static int is_scored(int64_t n, int step)
{
    const uint32_t golden = 2654435769u;    // 2^32 by the golden ratio

    return n % step == (uint64_t)(uint32_t)(n / step * golden) * step >> 32;
}

static int append(void *array, unsigned *size, int nb, size_t element_size, const void *element)
{
    void *new = av_fast_realloc(*(void **)array, size, (nb + 1) * element_size);

    if (!new)
        return AVERROR(ENOMEM);
    memcpy((char *)new + nb * element_size, element, element_size);
    memcpy(array, &new, sizeof(new));
    return 0;
}

static int append_frame(AVFrame ***array, unsigned *size, int nb, const AVFrame *frame)
{
    AVFrame *clone = av_frame_clone(frame);
    int ret = clone ? append(array, size, nb, sizeof(clone), &clone) : AVERROR(ENOMEM);

    if (ret < 0)
        av_frame_free(&clone);
    return ret;
}

static void free_frames(AVFrame ***frame, int nb)
{
    for (int i = 0; *frame && i < nb; i++)
        av_frame_free(&(*frame)[i]);
    av_freep(frame);
}

static int64_t frame_bytes(const AVFrame *frame)
{
    int64_t bytes = 0;

    if (frame->hw_frames_ctx)
        return av_image_get_buffer_size(((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format,
                                        frame->width, frame->height, 1);
    for (int i = 0; i < FF_ARRAY_ELEMS(frame->buf) && frame->buf[i]; i++)
        bytes += frame->buf[i]->size;
    return bytes;
}

/// Keep a frame, or give up keeping any if they do not fit.
static int keep_frame(Sample *sample, int64_t *memory, const AVFrame *frame)
{
    int64_t bytes = frame_bytes(frame);

    if (bytes > *memory) {
        for (int i = 0; i < sample->nb_frames; i++)
            *memory += frame_bytes(sample->frame[i]);
        free_frames(&sample->frame, sample->nb_frames);
        sample->frame_size = 0;
        av_log(NULL, AV_LOG_WARNING, "Sample %d does not fit into --memory: it will be decoded "
               "again for each candidate.\n", sample->number + 1);
        return 0;
    }
    *memory -= bytes;
    return append_frame(&sample->frame, &sample->frame_size, sample->nb_frames, frame);
}

/// A frame of the source in the GPU's memory, for a metric that compares with it.
static int keep_reference(const Options *o, Sample *sample, Graph *upload, AVFrame *frame)
{
    const AVFrame *const frames[2] = { frame, NULL };
    AVFrame *uploaded = av_frame_alloc();
    char text[64];
    int ret = 0;

    if (!uploaded)
        return AVERROR(ENOMEM);
    if (frame->format == AV_PIX_FMT_CUDA) {
        ret = av_frame_ref(uploaded, frame);
    } else {
        snprintf(text, sizeof(text), "format=%s,hwupload",
                 av_get_pix_fmt_name(ffcrf_gpu_format(frame->format)));
        if (!upload->graph)
            ret = ffcrf_graph_open(upload, text, frames, sample->time_base, sample->frame_rate, o->device);
        if (ret >= 0 && (ret = ffcrf_graph_put(upload, 0, frame)) >= 0)
            ret = ffcrf_graph_get(upload, uploaded);
    }
    if (ret >= 0)
        ret = append_frame(&sample->reference, &sample->reference_size, sample->nb_references, uploaded);
    if (ret >= 0)
        sample->nb_references++;
    av_frame_free(&uploaded);
    return ret;
}

/// How many frames to expect decides how many are scored.
static int choose_step(const Options *o, const Source *s, double seconds)
{
    AVRational rate = av_guess_frame_rate(s->format, s->stream, NULL);
    double nb = rate.num && rate.den ? av_q2d(rate) * seconds : s->stream->nb_frames;

    return nb > 0 ? av_clip(nb / MIN_SCORED, 1, o->step) : o->step;
}

static double file_seconds(const Source *s)
{
    return s->format->duration == AV_NOPTS_VALUE ? 0 : s->format->duration / (double)AV_TIME_BASE;
}

int ffcrf_sample_load(const Options *o, Sample *sample, int64_t *memory)
{
    const Metric *m = o->metric;
    AVFrame *frame  = av_frame_alloc();
    Scorer statistics;
    Graph upload = { 0 };
    Source s;
    AVBPrint filters;
    int keeps = 1, ret;

    sample->statistics_fd = -1;
    sample->loaded        = 1;
    ffcrf_scorer_open(&statistics, m, o->device, sample->statistics, 1);
    ret = open_source(&s, o, &filters);
    if (!frame)
        ret = AVERROR(ENOMEM);
    if (ret < 0 ||
        (ret = ffcrf_source_seek(&s, sample->start, sample->duration)) < 0 ||
        !m->needs_source &&
        (ret = ffcrf_unnamed_file(sample->statistics, sizeof(sample->statistics),
                                  &sample->statistics_fd)) < 0)
        goto end;
    sample->step = choose_step(o, &s, sample->duration ? sample->duration / 1e6 : file_seconds(&s));

    while ((ret = ffcrf_source_next(&s, frame)) >= 0) {
        sample->time_base  = s.time_base;
        sample->frame_rate = s.frame_rate;
        if (is_scored(sample->nb_frames, sample->step)) {
            if (!m->needs_source)
                ret = ffcrf_scorer_add(&statistics, frame, NULL);
            else if (o->device)
                ret = keep_reference(o, sample, &upload, frame);
        }
        if (ret >= 0 && keeps) {
            ret   = keep_frame(sample, memory, frame);
            keeps = !!sample->frame;
        }
        if (ret >= 0)
            ret = append(&sample->pts, &sample->pts_size, sample->nb_frames, sizeof(frame->pts), &frame->pts);
        if (ret < 0)
            goto end;
        sample->nb_frames++;
        av_frame_unref(frame);
    }
    if (ret != AVERROR_EOF)
        goto end;
    ret = ffcrf_scorer_finish(&statistics);
    if (ret >= 0 && !sample->nb_frames) {
        av_log(NULL, AV_LOG_ERROR, "'%s' has no frames at %.1f s: it may be damaged or cut off.\n",
               o->input, sample->start / 1e6);
        ret = AVERROR_INVALIDDATA;
    }
    if (ret < 0)
        goto end;
    sample->bytes   = s.bytes;
    sample->seconds = av_q2d(s.time_base) * (sample->pts[sample->nb_frames - 1] - sample->pts[0]);
    sample->seconds *= sample->nb_frames / FFMAX(1, sample->nb_frames - 1.);
    if (sample->nb_frames == 1)
        sample->seconds = s.frame_rate.num ? 1 / av_q2d(s.frame_rate) : 0.04;
    if (s.nb_repeated)
        av_log(NULL, AV_LOG_WARNING, "%"PRIu64" frames of sample %d have the time of others, and are "
               "left out.\n", s.nb_repeated, sample->number + 1);

end:
    ffcrf_scorer_close(&statistics);
    avfilter_graph_free(&upload.graph);
    ffcrf_source_close(&s);
    av_bprint_finalize(&filters, NULL);
    av_frame_free(&frame);
    return ret;
}

void ffcrf_sample_unload(Sample *sample)
{
    if (!sample->loaded)
        return;
    free_frames(&sample->frame, sample->nb_frames);
    free_frames(&sample->reference, sample->nb_references);
    av_freep(&sample->pts);
    if (sample->statistics_fd >= 0)
        close(sample->statistics_fd);
    sample->loaded = 0;
}

// ---- candidates ----

/// What the thread that decodes and scores shares with the one that encodes.
typedef struct Candidate {
    const Options *o;
    const Sample *sample;
    AVCodecContext *encoder, *decoder;
    AVCodecParameters *par;             ///< of what the encoder makes
    AVThreadMessageQueue *packets;      ///< from the encoder
    AVThreadMessageQueue *sources;      ///< its frames that are to be scored
    Scorer scorer;
    int nb_frames, nb_scored;
    pthread_t thread;
    int has_thread;
    int ret;                            ///< of the thread
} Candidate;

static void free_packet(void *message)
{
    av_packet_free(message);
}

static void free_frame(void *message)
{
    av_frame_free(message);
}

/// Frames stay on the GPU if it can decode them.
static enum AVPixelFormat choose_cuda(AVCodecContext *decoder, const enum AVPixelFormat *formats)
{
    for (int i = 0; formats[i] != AV_PIX_FMT_NONE; i++)
        if (formats[i] == AV_PIX_FMT_CUDA)
            return formats[i];
    return avcodec_default_get_format(decoder, formats);
}

/**
 * Open the decoder of what the encoder makes, in the place of one that there is.
 *
 * @param on_gpu use NVDEC, where there is a decoder that has it
 */
static int open_candidate_decoder(Candidate *c, int on_gpu)
{
    const AVCodec *software = avcodec_find_decoder(c->par->codec_id);
    const AVCodec *codec = NULL, *other;
    void *iterator = NULL;
    int ret;

    avcodec_free_context(&c->decoder);
    while (on_gpu && !codec && (other = av_codec_iterate(&iterator))) {
        const AVCodecHWConfig *config;

        for (int i = 0; av_codec_is_decoder(other) && other->id == c->par->codec_id &&
                        (config = avcodec_get_hw_config(other, i)); i++)
            if (config->device_type == AV_HWDEVICE_TYPE_CUDA &&
                config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX &&
                !strstr(other->name, "_cuvid"))
                codec = other;
    }
    if (!codec)
        codec = software;
    if (!codec) {
        av_log(NULL, AV_LOG_ERROR, "This build of FFmpeg cannot decode what %s makes.\n",
               c->o->encoder->name);
        return AVERROR_DECODER_NOT_FOUND;
    }
    c->decoder = avcodec_alloc_context3(codec);
    if (!c->decoder)
        return AVERROR(ENOMEM);
    ret = avcodec_parameters_to_context(c->decoder, c->par);
    if (ret < 0)
        return ret;
    c->decoder->pkt_timebase = c->encoder->time_base;
    c->decoder->thread_count = 0;
    if (on_gpu) {
        c->decoder->get_format    = choose_cuda;
        c->decoder->hw_device_ctx = av_buffer_ref(c->o->device);
        if (!c->decoder->hw_device_ctx)
            return AVERROR(ENOMEM);
        // what it fails in, the other one may do
        if (codec != software)
            c->decoder->log_level_offset = AV_LOG_VERBOSE - AV_LOG_ERROR;
    }
    return avcodec_open2(c->decoder, codec, NULL);
}

static int score_frame(Candidate *c, const AVFrame *frame)
{
    AVFrame *source = NULL;
    int ret = 0;

    if (c->o->metric->needs_source) {
        if (c->sample->reference)
            source = c->sample->reference[c->nb_scored];
        else if ((ret = av_thread_message_queue_recv(c->sources, &source, 0)) < 0)
            return ret;
    }
    ret = ffcrf_scorer_add(&c->scorer, frame, source);
    if (!c->sample->reference)
        av_frame_free(&source);
    c->nb_scored++;
    return ret;
}

static int score_packet(Candidate *c, const AVPacket *packet, AVFrame *frame)
{
    const Sample *sample = c->sample;
    int ret = avcodec_send_packet(c->decoder, packet);

    // FFmpeg's own decoder of AV1 has no software in it, and not all GPUs have AV1
    if (ret == AVERROR(ENOSYS) && !c->nb_frames && c->decoder->hw_device_ctx) {
        av_log(NULL, AV_LOG_VERBOSE, "The GPU cannot decode what %s makes, the CPU does.\n",
               c->o->encoder->name);
        ret = open_candidate_decoder(c, 0);
        if (ret >= 0)
            ret = avcodec_send_packet(c->decoder, packet);
    }

    while (ret >= 0 && (ret = avcodec_receive_frame(c->decoder, frame)) >= 0) {
        if (c->nb_frames == sample->nb_frames || frame->pts != sample->pts[c->nb_frames]) {
            av_log(NULL, AV_LOG_ERROR, "%s has made other frames of the source's, from number %d on: "
                   "they cannot be compared. Leave out options that drop or add frames.\n",
                   c->o->encoder->name, c->nb_frames);
            return AVERROR_INVALIDDATA;
        }
        if (is_scored(c->nb_frames, sample->step))
            ret = score_frame(c, frame);
        c->nb_frames++;
        av_frame_unref(frame);
    }
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

static void *score_packets(void *arg)
{
    Candidate *c   = arg;
    AVFrame *frame = av_frame_alloc();
    AVPacket *packet;
    int ret = frame ? 0 : AVERROR(ENOMEM);

    while (ret >= 0) {
        ret = av_thread_message_queue_recv(c->packets, &packet, 0);
        if (ret == AVERROR_EOF) {
            ret = score_packet(c, NULL, frame);
            if (ret >= 0)
                ret = ffcrf_scorer_finish(&c->scorer);
            break;
        }
        if (ret >= 0) {
            ret = score_packet(c, packet, frame);
            av_packet_free(&packet);
        }
    }
    av_frame_free(&frame);
    c->ret = ret;
    if (ret < 0)
        av_thread_message_queue_set_err_send(c->packets, ret);
    return NULL;
}

static int set_encoder_options(const Options *o, AVDictionary **options, double crf)
{
    char value[32];
    int ret;

    snprintf(value, sizeof(value), "%.6g", crf);
    if ((ret = av_dict_copy(options, o->encoder_options, 0)) < 0 ||
        (ret = av_dict_set(options, o->crf_option, value, 0)) < 0 ||
        (ret = av_dict_set(options, "threads", "auto", AV_DICT_DONT_OVERWRITE)) < 0)
        return ret;
    if (is_on_gpu(o->encoder) &&
        ((ret = av_dict_set(options, "rc", "vbr", AV_DICT_DONT_OVERWRITE)) < 0 ||
         (ret = av_dict_set(options, "b",  "0",   AV_DICT_DONT_OVERWRITE)) < 0))
        return ret;
    return 0;
}

/// As ffmpeg opens it.
static int open_encoder(Candidate *c, const AVFrame *frame, double crf)
{
    const Options *o = c->o;
    AVCodecContext *e = avcodec_alloc_context3(o->encoder);
    AVDictionary *options = NULL;
    const AVDictionaryEntry *left;
    int ret = AVERROR(ENOMEM);

    c->encoder = e;
    if (!e)
        return ret;
    e->width                  = frame->width;
    e->height                 = frame->height;
    e->sample_aspect_ratio    = frame->sample_aspect_ratio;
    e->pix_fmt                = frame->format;
    e->time_base              = c->sample->time_base;
    e->framerate              = c->sample->frame_rate;
    e->color_range            = frame->color_range;
    e->color_primaries        = frame->color_primaries;
    e->color_trc              = frame->color_trc;
    e->colorspace             = frame->colorspace;
    e->chroma_sample_location = frame->chroma_location;
    e->field_order            = !(frame->flags & AV_FRAME_FLAG_INTERLACED)     ? AV_FIELD_PROGRESSIVE :
                                frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST ? AV_FIELD_TB : AV_FIELD_BT;
    e->flags                 |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_FRAME_DURATION;
    if (frame->hw_frames_ctx) {
        e->hw_frames_ctx = av_buffer_ref(frame->hw_frames_ctx);
        if (!e->hw_frames_ctx)
            goto end;
    }
    for (int i = 0; i < frame->nb_side_data; i++) {
        const AVSideDataDescriptor *desc = av_frame_side_data_desc(frame->side_data[i]->type);

        if (desc && desc->props & AV_SIDE_DATA_PROP_GLOBAL &&
            (ret = av_frame_side_data_clone(&e->decoded_side_data, &e->nb_decoded_side_data,
                                            frame->side_data[i], 0)) < 0)
            goto end;
    }
    if ((ret = set_encoder_options(o, &options, crf)) >= 0)
        ret = avcodec_open2(e, o->encoder, &options);
    left = av_dict_iterate(options, NULL);
    if (ret < 0) {
        av_log(NULL, AV_LOG_ERROR, "%s cannot be opened for %s of %dx%d: %s. See to its options.\n",
               o->encoder->name, av_get_pix_fmt_name(frame->format), frame->width, frame->height,
               av_err2str(ret));
    } else if (left) {
        av_log(NULL, AV_LOG_ERROR, "%s does not take the option '%s'.\n", o->encoder->name, left->key);
        ret = AVERROR_OPTION_NOT_FOUND;
    }

end:
    av_dict_free(&options);
    return ret;
}

static int start_thread(Candidate *c)
{
    int ret;

    c->par = avcodec_parameters_alloc();
    if (!c->par)
        return AVERROR(ENOMEM);
    if ((ret = avcodec_parameters_from_context(c->par, c->encoder)) < 0 ||
        (ret = open_candidate_decoder(c, !!c->o->device)) < 0)
        return ret;
    ret = pthread_create(&c->thread, NULL, score_packets, c);
    c->has_thread = !ret;
    return AVERROR(ret);
}

/// Send a frame to the encoder, NULL to end, and its packets to the other thread.
static int encode_frame(Candidate *c, AVFrame *frame, Result *result)
{
    int ret;

    if (frame) {
        frame->pict_type = AV_PICTURE_TYPE_NONE;
        frame->quality   = 0;
    }
    ret = avcodec_send_frame(c->encoder, frame);
    while (ret >= 0) {
        AVPacket *packet = av_packet_alloc();

        if (!packet)
            return AVERROR(ENOMEM);
        ret = avcodec_receive_packet(c->encoder, packet);
        if (ret >= 0) {
            result->bytes += packet->size;
            ret = av_thread_message_queue_send(c->packets, &packet, 0);
        }
        if (ret < 0)
            av_packet_free(&packet);
    }
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/// The frames of a sample, from memory or from the file.
static int next_frame(Candidate *c, Source *s, int n, AVFrame *frame)
{
    if (n == c->sample->nb_frames)
        return AVERROR_EOF;
    return c->sample->frame ? av_frame_ref(frame, c->sample->frame[n]) : ffcrf_source_next(s, frame);
}

static int encode_sample(Candidate *c, Source *s, double crf, Result *result,
                         ProgressFunc progress, void *opaque)
{
    const int sends_sources = c->o->metric->needs_source && !c->sample->reference;
    AVFrame *frame = av_frame_alloc();
    int n, ret = frame ? 0 : AVERROR(ENOMEM);

    for (n = 0; ret >= 0 && (ret = next_frame(c, s, n, frame)) >= 0; n++) {
        if (!n && ((ret = open_encoder(c, frame, crf)) < 0 || (ret = start_thread(c)) < 0))
            break;
        if (sends_sources && is_scored(n, c->sample->step)) {
            AVFrame *clone = av_frame_clone(frame);

            ret = clone ? av_thread_message_queue_send(c->sources, &clone, 0) : AVERROR(ENOMEM);
            if (ret < 0)
                av_frame_free(&clone);
        }
        if (ret >= 0)
            ret = encode_frame(c, frame, result);
        if (ret >= 0)
            ret = ffcrf_signal ? AVERROR_EXIT : progress(opaque, n + 1, c->sample->nb_frames);
        av_frame_unref(frame);
    }
    av_frame_free(&frame);
    if (ret == AVERROR_EOF)
        ret = encode_frame(c, NULL, result);
    result->nb_frames = n;
    return ret;
}

int ffcrf_candidate(const Options *o, Sample *sample, double crf, Result *result,
                    ProgressFunc progress, void *opaque)
{
    const int64_t begin = av_gettime_relative();
    Candidate c = { .o = o, .sample = sample };
    Source s = { 0 };
    AVBPrint filters;
    int ret;

    *result = (Result){ .source_bytes = sample->bytes, .seconds = sample->seconds };
    av_bprint_init(&filters, 0, AV_BPRINT_SIZE_UNLIMITED);
    ffcrf_scorer_open(&c.scorer, o->metric, o->device,
                      o->metric->needs_source ? NULL : sample->statistics, 0);
    if ((ret = av_thread_message_queue_alloc(&c.packets, QUEUE_SIZE, sizeof(AVPacket *))) < 0 ||
        // room for all of them, so that the encoder never waits for who waits for it
        (ret = av_thread_message_queue_alloc(&c.sources, sample->nb_frames, sizeof(AVFrame *))) < 0)
        goto end;
    av_thread_message_queue_set_free_func(c.packets, free_packet);
    av_thread_message_queue_set_free_func(c.sources, free_frame);
    if (!sample->frame &&
        ((ret = open_source(&s, o, &filters)) < 0 ||
         (ret = ffcrf_source_seek(&s, sample->start, sample->duration)) < 0))
        goto end;

    ret = encode_sample(&c, &s, crf, result, progress, opaque);
    if (c.has_thread) {
        if (ret < 0)
            av_thread_message_flush(c.packets);
        av_thread_message_queue_set_err_recv(c.packets, ret < 0 ? ret : AVERROR_EOF);
        av_thread_message_queue_set_err_recv(c.sources, AVERROR_EOF);
        pthread_join(c.thread, NULL);
        if (ret >= 0 && c.ret < 0)
            ret = c.ret;
    }
    if (ret >= 0 && (c.nb_frames != sample->nb_frames || result->nb_frames != sample->nb_frames)) {
        av_log(NULL, AV_LOG_ERROR, "%s has made %d frames of %d: they cannot be compared. Leave out "
               "options that drop or add frames.\n", o->encoder->name, c.nb_frames, sample->nb_frames);
        ret = AVERROR_INVALIDDATA;
    }
    if (ret >= 0) {
        result->encode_seconds = (av_gettime_relative() - begin) / 1e6;
        result->nb_scores      = c.scorer.nb_scores;
        FFSWAP(double *, result->score, c.scorer.score);
    }

end:
    ffcrf_scorer_close(&c.scorer);
    av_thread_message_queue_free(&c.packets);
    av_thread_message_queue_free(&c.sources);
    avcodec_free_context(&c.encoder);
    avcodec_free_context(&c.decoder);
    avcodec_parameters_free(&c.par);
    ffcrf_source_close(&s);
    av_bprint_finalize(&filters, NULL);
    return ret;
}

// ---- a whole file ----

int ffcrf_verify(const Options *o, const char *path, Result *result,
                 ProgressFunc progress, void *opaque)
{
    const int64_t begin = av_gettime_relative();
    const Metric *m = o->metric;
    AVFrame *frame[2] = { av_frame_alloc(), av_frame_alloc() };   // encode, source
    Source s[2] = { 0 };
    Scorer scorer, statistics;
    AVBPrint filters;
    char file[32] = "";
    int fd = -1, step, nb_expected, ret;

    *result = (Result){ 0 };
    ret = open_source(&s[1], o, &filters);
    ffcrf_scorer_open(&scorer,     m, o->device, m->needs_source ? NULL : file, 0);
    ffcrf_scorer_open(&statistics, m, o->device, file, 1);
    if (!frame[0] || !frame[1])
        ret = AVERROR(ENOMEM);
    if (ret < 0 || (ret = ffcrf_source_open(&s[0], path)) < 0 ||
        !m->needs_source && (ret = ffcrf_unnamed_file(file, sizeof(file), &fd)) < 0)
        goto end;
    s[0].keeps_all = 1;
    step        = choose_step(o, &s[1], file_seconds(&s[1]));
    nb_expected = file_seconds(&s[1]) * av_q2d(av_guess_frame_rate(s[1].format, s[1].stream, NULL));

    for (;; result->nb_frames++) {
        int end[2];

        for (int i = 0; i < 2; i++) {
            ret    = ffcrf_source_next(&s[i], frame[i]);
            end[i] = ret == AVERROR_EOF;
            if (ret < 0 && !end[i])
                goto end;
        }
        if (end[0] && end[1])
            break;
        if (end[0] || end[1]) {
            av_log(NULL, AV_LOG_ERROR, "'%s' has %s frames than '%s', which has %s%d: it is no encode "
                   "of it, frame by frame.\n", path, end[0] ? "less" : "more", o->input,
                   end[0] ? "more than " : "", result->nb_frames);
            ret = AVERROR_INVALIDDATA;
            goto end;
        }
        if (frame[0]->width != frame[1]->width || frame[0]->height != frame[1]->height) {
            av_log(NULL, AV_LOG_ERROR, "'%s' is %dx%d, and '%s' is %dx%d with its filters: give the "
                   "-vf that the encode was made with.\n", path, frame[0]->width, frame[0]->height,
                   o->input, frame[1]->width, frame[1]->height);
            ret = AVERROR(EINVAL);
            goto end;
        }
        if (is_scored(result->nb_frames, step) &&
            (!m->needs_source && (ret = ffcrf_scorer_add(&statistics, frame[1], NULL)) < 0 ||
             (ret = ffcrf_scorer_add(&scorer, frame[0], m->needs_source ? frame[1] : NULL)) < 0))
            goto end;
        av_frame_unref(frame[0]);
        av_frame_unref(frame[1]);
        if ((ret = progress(opaque, result->nb_frames + 1, nb_expected)) < 0)
            goto end;
    }
    if ((ret = ffcrf_scorer_finish(&statistics)) < 0 ||
        (ret = ffcrf_scorer_finish(&scorer)) < 0)
        goto end;
    result->bytes          = s[0].bytes;
    result->source_bytes   = s[1].bytes;
    result->seconds        = file_seconds(&s[1]);
    result->encode_seconds = (av_gettime_relative() - begin) / 1e6;
    result->nb_scores      = scorer.nb_scores;
    FFSWAP(double *, result->score, scorer.score);

end:
    ffcrf_scorer_close(&scorer);
    ffcrf_scorer_close(&statistics);
    if (fd >= 0)
        close(fd);
    ffcrf_source_close(&s[0]);
    ffcrf_source_close(&s[1]);
    av_bprint_finalize(&filters, NULL);
    av_frame_free(&frame[0]);
    av_frame_free(&frame[1]);
    return ret;
}
