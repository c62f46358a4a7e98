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
 * A sample is decoded once and kept. Its candidate is encoded, and then decoded and
 * scored: in turns, so that the time of the encode is its own. Frames meet their own
 * by number, in the order in which they are shown.
 */

#include "config.h"

#include <math.h>
#include <string.h>

#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"
#include "libavutil/avstring.h"
#include "libavutil/fifo.h"
#include "libavutil/hwcontext.h"
#if CONFIG_CUDA
#include "libavutil/hwcontext_cuda_internal.h"
#endif
#include "libavutil/imgutils.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/time.h"

#include "ffcrf.h"

/// Fewer are not scored of a sample: --score-every is lowered before.
#define MIN_SCORED 16

/// So many packets wait to be scored where what they are compared with is not kept anyway.
#define MOST_WAITING 128

/// The last of all streams may end so much before the time that the file states.
#define END_TOLERANCE 0.1

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

static int is_between(const Source *s, int64_t pts)
{
    return pts >= s->start && pts < s->end;
}

/// What cannot be decoded is left out, as ffmpeg does.
static void note_damage(Source *s)
{
    if (!is_between(s, s->position))
        return;
    if (!s->nb_damaged++ || s->damage[0] == AV_NOPTS_VALUE)
        s->damage[0] = s->position;
    s->damage[1] = s->position;
}

/// A decoder that a device does the work for, NULL if there is none.
static const AVCodec *find_hardware(enum AVCodecID id, enum AVHWDeviceType type)
{
    const AVCodec *codec;
    void *iterator = NULL;

    while ((codec = av_codec_iterate(&iterator))) {
        const AVCodecHWConfig *config;

        for (int i = 0; av_codec_is_decoder(codec) && codec->id == id && (config = avcodec_get_hw_config(codec, i)); i++)
            if (config->device_type == type && config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX &&
                !strstr(codec->name, "_cuvid") && !strstr(codec->name, "_qsv"))
                return codec;
    }
    return NULL;
}

/// Take the format of the device, if it can decode that stream.
static enum AVPixelFormat choose_format(AVCodecContext *decoder, const enum AVPixelFormat *formats)
{
    const enum AVHWDeviceType type = ((AVHWDeviceContext *)decoder->hw_device_ctx->data)->type;
    const AVCodecHWConfig *config;

    for (int i = 0; formats[i] != AV_PIX_FMT_NONE; i++)
        for (int j = 0; (config = avcodec_get_hw_config(decoder->codec, j)); j++)
            if (config->pix_fmt == formats[i] && config->device_type == type)
                return formats[i];
    return avcodec_default_get_format(decoder, formats);
}

/**
 * Open a decoder, in the place of one that there is.
 *
 * @param device that decodes, or NULL
 */
static int open_decoder(AVCodecContext **decoder, const AVCodecParameters *par, AVRational time_base,
                        AVBufferRef *device)
{
    const AVCodec *software = avcodec_find_decoder(par->codec_id);
    const AVCodec *codec    = device ? find_hardware(par->codec_id, ((AVHWDeviceContext *)device->data)->type) : NULL;
    AVCodecContext *c;
    int ret;

    avcodec_free_context(decoder);
    if (!codec && !software)
        return ffcrf_fail(AVERROR_DECODER_NOT_FOUND, "This build of FFmpeg cannot decode %s.\n",
                          avcodec_get_name(par->codec_id));
    *decoder = c = avcodec_alloc_context3(codec ? codec : software);
    if (!c)
        return AVERROR(ENOMEM);
    if ((ret = avcodec_parameters_to_context(c, par)) < 0)
        return ret;
    c->pkt_timebase = time_base;
    c->thread_count = 0;
    if (codec) {
        c->get_format    = choose_format;
        c->hw_device_ctx = av_buffer_ref(device);
        if (!c->hw_device_ctx)
            return AVERROR(ENOMEM);
        // what it fails in, the other one may do
        if (codec != software)
            c->log_level_offset = AV_LOG_VERBOSE - AV_LOG_ERROR;
    }
    return avcodec_open2(c, c->codec, NULL);
}

static int64_t file_start(const Source *s)
{
    return s->format->start_time == AV_NOPTS_VALUE ? 0 : s->format->start_time;
}

/// What of the file is decoded, see ffcrf_source_seek().
static void set_part(Source *s, int64_t start, int64_t duration)
{
    const Options *o = s->options;
    const int64_t from = file_start(s) + start + (o ? o->start : 0);

    if (o && o->start)
        s->shift = av_rescale_q(file_start(s) + o->start, AV_TIME_BASE_Q, s->stream->time_base);
    s->start = start || duration || s->shift ? av_rescale_q(from, AV_TIME_BASE_Q, s->stream->time_base) : INT64_MIN;
    if (!duration && o && o->length)
        duration = o->length - start;
    s->end   = duration ? av_rescale_q(from + duration, AV_TIME_BASE_Q, s->stream->time_base) : INT64_MAX;
}

int ffcrf_source_open(Source *s, const char *path, const Options *o)
{
    int errors, ret;

    *s = (Source){
        .format  = avformat_alloc_context(),
        .packet  = av_packet_alloc(),
        .frame   = av_frame_alloc(),
        .filters = "null",
        .options = o,
        .start   = INT64_MIN,
        .end     = INT64_MAX,
        .out_pixel_format = AV_PIX_FMT_NONE,
        .next_pts = AV_NOPTS_VALUE,
        .position = AV_NOPTS_VALUE,
        .last_out = INT64_MIN,
    };
    av_bprint_init(&s->formats, 0, AV_BPRINT_SIZE_UNLIMITED);
    errors = ffcrf_demuxer_errors;
    if (!s->format || !s->packet || !s->frame)
        return AVERROR(ENOMEM);
    s->format->interrupt_callback.callback = interrupted;
    if ((ret = avformat_open_input(&s->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(s->format, NULL)) < 0)
        return ffcrf_signal ? ret : ffcrf_fail(ret, "Cannot read '%s': %s.%s\n", path, av_err2str(ret),
                                               ret == AVERROR_INVALIDDATA ? " Is it a complete video file?" : "");
    s->stream = find_video(s->format);
    if (!s->stream)
        return ffcrf_fail(AVERROR_STREAM_NOT_FOUND, "'%s' has no video stream.\n", path);
    // of a short file all is read by now
    if (ffcrf_demuxer_errors != errors)
        note_damage(s);
    set_part(s, 0, 0);
    ret = open_decoder(&s->decoder, s->stream->codecpar, s->stream->time_base, o ? o->decode_device : NULL);
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
    const int64_t origin = file_start(s);
    int64_t back = 0;
    int ret;

    if (!start && !duration && !s->shift)
        return 0;
    s->nb_damaged = 0;          // that was elsewhere
    set_part(s, start, duration);
    start += s->options->start;
    // Formats without an index do not know where key frames are. The first may be decoded before
    // the file's start, which is that of what is shown.
    do {
        ret  = try_seek(s, av_rescale_q(origin + start - back, AV_TIME_BASE_Q, s->stream->time_base));
        s->seeks_late |= !ret;
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

/// Read a packet, of any stream. @return 0, AVERROR_EOF at an end of any kind, or AVERROR_EXIT
static int read_packet(Source *s)
{
    const int errors = ffcrf_demuxer_errors;
    const AVPacket *p = s->packet;
    int ret = av_read_frame(s->format, s->packet), is_bad;

    if (ret < 0 && ffcrf_signal)
        return AVERROR_EXIT;
    // a file that ends too early ends the video, as it does for ffmpeg
    is_bad = ret < 0 && ret != AVERROR_EOF || ffcrf_demuxer_errors != errors;
    if (ret >= 0 && p->stream_index == s->stream->index) {
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;

        if (time != AV_NOPTS_VALUE)
            s->position = time;
        is_bad |= p->flags & AV_PKT_FLAG_CORRUPT;
    }
    if (is_bad)
        note_damage(s);
    return ret < 0 ? AVERROR_EOF : 0;
}

/// FFmpeg's own decoder of AV1 has no software in it, and not all GPUs have AV1.
static int send_packet(AVCodecContext **decoder, const AVCodecParameters *par, const AVPacket *packet)
{
    int ret = avcodec_send_packet(*decoder, packet);

    if (ret == AVERROR(ENOSYS) && (*decoder)->hw_device_ctx && !(*decoder)->frame_num) {
        av_log(NULL, AV_LOG_VERBOSE, "The GPU cannot decode %s, the CPU does.\n", avcodec_get_name(par->codec_id));
        ret = open_decoder(decoder, par, (*decoder)->pkt_timebase, NULL);
        if (ret >= 0)
            ret = avcodec_send_packet(*decoder, packet);
    }
    return ret;
}

/// Bring what a device has decoded to memory.
static int download(Source *s)
{
    AVFrame *frame = av_frame_alloc();
    int ret = frame ? av_hwframe_transfer_data(frame, s->frame, 0) : AVERROR(ENOMEM);

    if (ret >= 0)
        ret = av_frame_copy_props(frame, s->frame);
    if (ret >= 0) {
        av_frame_unref(s->frame);
        av_frame_move_ref(s->frame, frame);
        s->is_downloaded = 1;
    }
    av_frame_free(&frame);
    return ret;
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
            if (is_between(s, s->frame->pts)) {
                if (s->frame->flags & AV_FRAME_FLAG_CORRUPT || s->frame->decode_error_flags)
                    note_damage(s);
                s->frame->pts -= s->shift;
                return s->frame->hw_frames_ctx ? download(s) : 0;
            }
            av_frame_unref(s->frame);
            continue;
        }
        if (ret == AVERROR_EOF || ret == AVERROR(ENOMEM))
            return ret;
        if (ret != AVERROR(EAGAIN)) {
            note_damage(s);
            continue;
        }

        ret = read_packet(s);
        if (ret == AVERROR_EXIT)
            return ret;
        if (ret < 0) {
            ret = avcodec_send_packet(s->decoder, NULL);
        } else if (s->packet->stream_index == s->stream->index) {
            if (is_between(s, s->position))
                s->bytes += s->packet->size;
            ret = send_packet(&s->decoder, s->stream->codecpar, s->packet);
        }
        av_packet_unref(s->packet);
        if (ret == AVERROR(ENOMEM) || ret == AVERROR_EOF)
            return ret;
        if (ret < 0)
            note_damage(s);
    }
}

/// All output has the size and the format of the first, as ffmpeg has it, if the video changes its own.
static int open_filters(Source *s)
{
    const AVFrame *const frame[2] = { s->frame, NULL };
    AVRational rate = av_guess_frame_rate(s->format, s->stream, NULL);
    AVBPrint text;
    int ret = AVERROR(ENOMEM);

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&text, "%s", s->filters);
    if (s->out_width)
        av_bprintf(&text, ",scale=%d:%d", s->out_width, s->out_height);
    if (s->out_pixel_format != AV_PIX_FMT_NONE)
        av_bprintf(&text, ",format=%s", av_get_pix_fmt_name(s->out_pixel_format));
    else if (s->formats.len)
        av_bprintf(&text, ",format=%s", s->formats.str);
    if (s->device)
        av_bprintf(&text, ",hwupload");
    if (av_bprint_is_complete(&text))
        ret = ffcrf_graph_open(&s->graph, text.str, frame, s->stream->time_base, rate, s->device);
    av_bprint_finalize(&text, NULL);
    if (ret < 0)
        return ffcrf_fail(ret, "The filters before the encoder do not work: %s. See to -vf and -pix_fmt.\n",
                          av_err2str(ret));
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
            ret = av_buffersink_get_frame(s->graph.out, frame);
            if (ret >= 0) {
                if (!s->time_base.num) {
                    s->time_base  = av_buffersink_get_time_base(s->graph.out);
                    s->frame_rate = av_buffersink_get_frame_rate(s->graph.out);
                    s->out_width  = frame->width;
                    s->out_height = frame->height;
                    s->out_pixel_format = frame->hw_frames_ctx ?
                        ((AVHWFramesContext *)frame->hw_frames_ctx->data)->sw_format : frame->format;
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
            ret = av_buffersrc_add_frame(s->graph.in[0], NULL);
        } else if (s->graph.graph) {
            ret = av_buffersrc_add_frame(s->graph.in[0], s->frame);
            av_frame_unref(s->frame);
            s->has_frame = 0;
        }
        if (ret < 0)
            return ret;
    }
}

static double file_seconds(const Source *s)
{
    return s->format->duration == AV_NOPTS_VALUE ? 0 : s->format->duration / (double)AV_TIME_BASE;
}

/// Of what is taken of it.
static double part_seconds(const Source *s)
{
    const double rest = FFMAX(file_seconds(s) - s->options->start / 1e6, 0);

    return s->options->length ? FFMIN(rest, s->options->length / 1e6) : rest;
}

static double in_seconds(const Source *s, int64_t time)
{
    return time * av_q2d(s->stream->time_base) - file_start(s) / (double)AV_TIME_BASE;
}

int ffcrf_source_scan(Source *s, Scan *scan)
{
    const double from = s->options->start / (double)AV_TIME_BASE;
    double end = 0;             // of all streams
    int ret;

    *scan = (Scan){ 0 };
    for (; (ret = read_packet(s)) >= 0; av_packet_unref(s->packet)) {
        const AVPacket *p  = s->packet;
        const AVStream *st = s->format->streams[p->stream_index];
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;
        const double after = time == AV_NOPTS_VALUE ? 0 :
            (time + p->duration) * av_q2d(st->time_base) - file_start(s) / (double)AV_TIME_BASE;

        end = FFMAX(end, after);
        if (st == s->stream && is_between(s, time)) {
            scan->nb_frames++;
            scan->bytes  += p->size;
            scan->seconds = FFMAX(scan->seconds, after - from);
        }
    }
    // other durations are estimates
    if (s->format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM &&
        file_seconds(s) - end > END_TOLERANCE)
        scan->missing = file_seconds(s) - end;
    return ret == AVERROR_EOF ? 0 : ret;
}

int ffcrf_source_check(const Source *s, const Options *o)
{
    AVBPrint places;

    if (!s->nb_damaged)
        return 0;
    av_bprint_init(&places, 0, AV_BPRINT_SIZE_AUTOMATIC);
    if (s->damage[0] != s->damage[1])
        av_bprintf(&places, " in %"PRIu64" places, the first at %.2f s and the last at %.2f s",
                   s->nb_damaged, in_seconds(s, s->damage[0]), in_seconds(s, s->damage[1]));
    else if (s->damage[0] != AV_NOPTS_VALUE)
        av_bprintf(&places, " at %.2f s", in_seconds(s, s->damage[0]));
    av_log(NULL, o->accept_damage ? AV_LOG_WARNING : AV_LOG_ERROR, "'%s' is damaged%s.%s\n", s->format->url,
           places.str, o->accept_damage ? "" : " With --accept-damage what can be decoded is taken.");
    return o->accept_damage ? 0 : AVERROR_INVALIDDATA;
}

void ffcrf_source_close(Source *s)
{
    avfilter_graph_free(&s->graph.graph);
    avcodec_free_context(&s->decoder);
    avformat_close_input(&s->format);
    av_packet_free(&s->packet);
    av_frame_free(&s->frame);
    if (s->formats.size)
        av_bprint_finalize(&s->formats, NULL);
}

int ffcrf_is_on_gpu(const AVCodec *encoder)
{
    return encoder && strstr(encoder->name, "_nvenc");
}

/// NULL if it does not tell.
static const enum AVPixelFormat *supported_formats(const AVCodec *encoder)
{
    const enum AVPixelFormat *formats = NULL;

    avcodec_get_supported_config(NULL, encoder, AV_CODEC_CONFIG_PIX_FORMAT, 0, (const void **)&formats, NULL);
    return formats;
}

int ffcrf_has_software_format(const AVCodec *encoder)
{
    const enum AVPixelFormat *formats = supported_formats(encoder);

    for (int i = 0; formats && formats[i] != AV_PIX_FMT_NONE; i++)
        if (!(av_pix_fmt_desc_get(formats[i])->flags & AV_PIX_FMT_FLAG_HWACCEL))
            return 1;
    return !formats;
}

const char *ffcrf_upload_formats(const Options *o)
{
    // of encoders with frames of their own only, those of H.264 have 8 bits
    return o->pix_fmt ? av_get_pix_fmt_name(ffcrf_gpu_format(av_get_pix_fmt(o->pix_fmt))) :
           o->encode_device && o->encoder->id == AV_CODEC_ID_H264 ? "nv12" : "nv12|p010";
}

/// The formats that the encoder takes; nothing if they do not matter.
static int encoder_formats(const Options *o, AVBPrint *text)
{
    const int upload = o->device && ffcrf_is_on_gpu(o->encoder) || o->encode_device;
    const enum AVPixelFormat *formats;

    if (upload) {
        av_bprintf(text, "%s", ffcrf_upload_formats(o));
    } else if (o->pix_fmt) {
        av_bprintf(text, "%s", av_get_pix_fmt_name(av_get_pix_fmt(o->pix_fmt)));
    } else if (o->encoder) {
        formats = supported_formats(o->encoder);
        for (int i = 0; formats && formats[i] != AV_PIX_FMT_NONE; i++)
            if (!(av_pix_fmt_desc_get(formats[i])->flags & AV_PIX_FMT_FLAG_HWACCEL))
                av_bprintf(text, "%s%s", i ? "|" : "", av_get_pix_fmt_name(formats[i]));
    }
    return av_bprint_is_complete(text) ? 0 : AVERROR(ENOMEM);
}

/// Open a part of the input as it goes to the encoder, or as it is compared with.
static int open_source(Source *s, const Options *o, int is_reference, int64_t start, int64_t duration)
{
    int ret = ffcrf_source_open(s, o->input, o);

    if (ret < 0 || (ret = encoder_formats(o, &s->formats)) < 0)
        return ret;
    if (is_reference && o->reference_filters)
        s->filters = o->reference_filters;
    else if (o->filters)
        s->filters = o->filters;
    if (ffcrf_is_on_gpu(o->encoder))
        s->device = o->device;
    return ffcrf_source_seek(s, start, duration);
}

int ffcrf_first_frame(Options *o, AVFrame *frame)
{
    Source s;
    int ret = open_source(&s, o, 0, 0, 0);

    if (ret >= 0)
        ret = ffcrf_source_next(&s, frame);
    if (ret == AVERROR_EOF)
        ret = ffcrf_fail(AVERROR_INVALIDDATA, "'%s' has no frames%s: it may be damaged or cut off.\n", o->input,
                         o->start || o->length ? " between -ss and -to" : "");
    o->seeks_late = s.seeks_late;
    if (ret >= 0 && o->decode_device && !s.is_downloaded)
        av_log(NULL, AV_LOG_WARNING, "The CPU decodes '%s', as the device of -hwaccel cannot.\n", o->input);
    ffcrf_source_close(&s);
    return ret;
}

int64_t ffcrf_gpu_memory(AVBufferRef *device)
{
    size_t available = 0;
#if CONFIG_CUDA
    // the loader of FFmpeg's headers lacks this call
    typedef CUresult CUDAAPI tMemGetInfo(size_t *available, size_t *total);
    AVCUDADeviceContext *hw = ((AVHWDeviceContext *)device->data)->hwctx;
    CudaFunctions *cu = hw->internal->cuda_dl;
    tMemGetInfo *get  = (tMemGetInfo *)FFNV_SYM_FUNC(cu->lib, "cuMemGetInfo_v2");
    CUcontext popped;
    size_t total;

    if (get && cu->cuCtxPushCurrent(hw->cuda_ctx) == CUDA_SUCCESS) {
        if (get(&available, &total) != CUDA_SUCCESS)
            available = 0;
        cu->cuCtxPopCurrent(&popped);
    }
#endif
    return available;
}

// ---- samples ----

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

/// Add a frame to those that are kept, or keep none of them if it does not fit into memory.
static int keep_frame(AVFrame ***array, unsigned *size, int nb, const AVFrame *frame, int64_t *memory)
{
    const int64_t bytes = frame_bytes(frame);

    if (bytes <= *memory) {
        AVFrame *clone = av_frame_clone(frame);
        int ret = clone ? ffcrf_append(array, size, nb, sizeof(clone), &clone) : AVERROR(ENOMEM);

        if (ret < 0)
            av_frame_free(&clone);
        *memory -= bytes;
        return ret;
    }
    for (int i = 0; i < nb; i++)
        *memory += frame_bytes((*array)[i]);
    free_frames(array, nb);
    *size = 0;
    return 0;
}

/// Bring a frame to where a device has it, by a graph that is made for the first.
static int upload_frame(Graph *g, const char *filters, const AVFrame *frame, AVRational time_base,
                        AVRational frame_rate, AVBufferRef *device, AVFrame *uploaded)
{
    const AVFrame *const frames[2] = { frame, NULL };
    int ret = g->graph ? 0 : ffcrf_graph_open(g, filters, frames, time_base, frame_rate, device);

    if (ret >= 0 && (ret = av_buffersrc_write_frame(g->in[0], frame)) >= 0)
        ret = av_buffersink_get_frame(g->out, uploaded);
    return ret;
}

/// Keep a frame that is compared with, in the memory of the GPU if one scores.
static int keep_reference(const Options *o, Sample *sample, Graph *upload, const AVFrame *frame,
                          int64_t memory[NB_MEMORIES])
{
    AVFrame *kept = frame->hw_frames_ctx || !o->device ? av_frame_clone(frame) : av_frame_alloc();
    char text[64];
    int ret = kept ? 0 : AVERROR(ENOMEM);

    if (kept && !kept->buf[0]) {
        snprintf(text, sizeof(text), "format=%s,hwupload", av_get_pix_fmt_name(ffcrf_gpu_format(frame->format)));
        ret = upload_frame(upload, text, frame, sample->time_base, sample->frame_rate, o->device, kept);
    }
    if (ret >= 0)
        ret = keep_frame(&sample->reference, &sample->reference_size, sample->nb_references, kept,
                         &memory[o->device ? MEMORY_GPU : MEMORY_SYSTEM]);
    sample->nb_references = ret >= 0 && sample->reference ? sample->nb_references + 1 : 0;
    av_frame_free(&kept);
    return ret;
}

/**
 * The next frame that is compared with: that of the encode's source, or where the reference has
 * filters of its own, of another source.
 */
static int next_reference(Source *s, const AVFrame *frame, AVFrame *reference)
{
    int ret;

    av_frame_unref(reference);
    if (!s->format)
        return av_frame_ref(reference, frame);
    ret = ffcrf_source_next(s, reference);
    if (ret == AVERROR_EOF)
        return ffcrf_fail(AVERROR(EINVAL), "--reference-vfilter makes fewer frames than -vf: they cannot be "
                          "compared.\n");
    if (ret >= 0 && (reference->width != frame->width || reference->height != frame->height))
        return ffcrf_fail(AVERROR(EINVAL), "-vf makes %dx%d, and --reference-vfilter %dx%d: end one of them "
                          "with a scale to the size of the other.\n", frame->width, frame->height,
                          reference->width, reference->height);
    return ret;
}

/// How many frames to expect decides how many are scored.
static int choose_step(const Options *o, const Source *s, double seconds)
{
    AVRational rate = av_guess_frame_rate(s->format, s->stream, NULL);
    double nb = rate.num && rate.den ? av_q2d(rate) * seconds : s->stream->nb_frames;

    return nb > 0 ? av_clip(nb / MIN_SCORED, 1, o->step) : o->step;
}

int ffcrf_sample_load(const Options *o, Sample *sample, int64_t memory[NB_MEMORIES])
{
    AVFrame *frame = av_frame_alloc(), *reference = av_frame_alloc();
    Graph upload = { 0 };
    Source s, r = { 0 };
    int64_t begin;
    int keeps = 1, keeps_references = o->device || o->reference_filters, ret;

    sample->loaded = 1;
    ret = open_source(&s, o, 0, sample->start, sample->duration);
    if (ret >= 0 && o->reference_filters)
        ret = open_source(&r, o, 1, sample->start, sample->duration);
    if (!frame || !reference)
        ret = AVERROR(ENOMEM);
    if (ret < 0)
        goto end;
    sample->step = choose_step(o, &s, sample->duration ? sample->duration / 1e6 : part_seconds(&s));

    while (begin = av_gettime_relative(), (ret = ffcrf_source_next(&s, frame)) >= 0) {
        const int is_uploaded = !!frame->hw_frames_ctx;

        sample->decode_seconds += (av_gettime_relative() - begin) / 1e6;
        sample->time_base  = s.time_base;
        sample->frame_rate = s.frame_rate;
        if (keeps) {
            ret = keep_frame(&sample->frame, &sample->frame_size, sample->nb_frames, frame,
                             &memory[is_uploaded ? MEMORY_GPU : MEMORY_SYSTEM]);
            if (!sample->frame && ret >= 0)
                av_log(NULL, AV_LOG_WARNING, "Sample %d does not fit into %s: it will be decoded again for "
                       "each candidate.\n", sample->number + 1, is_uploaded ? "the GPU's memory" : "--memory");
            keeps = !!sample->frame;
        }
        if (ret >= 0)
            ret = next_reference(&r, frame, reference);
        if (ret >= 0 && keeps_references && (!is_uploaded || o->reference_filters) &&
            ffcrf_is_scored(o->metric, sample->nb_frames, sample->step)) {
            ret = keep_reference(o, sample, &upload, reference, memory);
            keeps_references = !!sample->reference;
        }
        if (ret >= 0)
            ret = ffcrf_append(&sample->pts, &sample->pts_size, sample->nb_frames, sizeof(frame->pts), &frame->pts);
        if (ret < 0)
            goto end;
        sample->nb_frames++;
        av_frame_unref(frame);
    }
    // those of another source are kept or decoded again with the frames
    if (o->reference_filters && !(sample->frame && sample->reference)) {
        free_frames(&sample->frame, sample->nb_frames);
        free_frames(&sample->reference, sample->nb_references);
    }
    if (ret != AVERROR_EOF)
        goto end;
    ret = 0;
    if (!sample->nb_frames)
        ret = ffcrf_fail(AVERROR_INVALIDDATA, "'%s' has no frames at %.1f s: it may be damaged or cut off.\n",
                         o->input, sample->start / 1e6);
    if (ret < 0 || (ret = ffcrf_source_check(&s, o)) < 0)
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
    avfilter_graph_free(&upload.graph);
    ffcrf_source_close(&s);
    ffcrf_source_close(&r);
    av_frame_free(&frame);
    av_frame_free(&reference);
    return ret;
}

void ffcrf_sample_unload(Sample *sample)
{
    if (!sample->loaded)
        return;
    free_frames(&sample->frame, sample->nb_frames);
    free_frames(&sample->reference, sample->nb_references);
    av_freep(&sample->pts);
    sample->loaded = 0;
}

// ---- candidates ----

/// An encode of a sample.
typedef struct Candidate {
    const Options *o;
    const Sample *sample;
    AVCodecContext *encoder, *decoder;
    AVCodecParameters *par;             ///< of what it makes
    Graph upload;                       ///< to the device of the encoder
    Source s, r;                        ///< of the frames that are not kept: to encode, and to compare with
    AVFifo *packets;                    ///< that wait to be decoded and scored
    AVFifo *sources;                    ///< frames that those are compared with, if they are not kept
    Scorer scorer;
    int nb_encoded, nb_frames, nb_scored;
    ProgressFunc progress;
    void *opaque;
} Candidate;

static int score_frame(Candidate *c, const AVFrame *frame)
{
    const Sample *sample = c->sample;
    AVFrame *waiting = NULL, *source = NULL;
    int ret = 0;

    if (sample->reference)
        source = sample->reference[c->nb_scored];
    else if (sample->frame)
        source = sample->frame[c->nb_frames];
    else if ((ret = av_fifo_read(c->sources, &waiting, 1)) >= 0)
        source = waiting;
    if (ret >= 0)
        ret = ffcrf_scorer_add(&c->scorer, frame, source);
    av_frame_free(&waiting);
    c->nb_scored++;
    return ret;
}

/// Encoding a frame is one half, decoding and scoring it the other.
static int tell_progress(Candidate *c, const char *what, int frames)
{
    return ffcrf_signal ? AVERROR_EXIT :
           c->progress(c->opaque, what, frames, c->sample->nb_frames,
                       (c->nb_encoded + c->nb_frames) / 2. / c->sample->nb_frames);
}

static int score_packet(Candidate *c, const AVPacket *packet, AVFrame *frame)
{
    const Sample *sample = c->sample;
    int ret = send_packet(&c->decoder, c->par, packet);

    while (ret >= 0 && (ret = avcodec_receive_frame(c->decoder, frame)) >= 0) {
        if (c->nb_frames == sample->nb_frames || frame->pts != sample->pts[c->nb_frames])
            return ffcrf_fail(AVERROR_INVALIDDATA, "%s has made other frames of the source's, from number %d "
                              "on: they cannot be compared. Leave out options that drop or add frames.\n",
                              c->o->encoder->name, c->nb_frames);
        if (ffcrf_is_scored(c->o->metric, c->nb_frames, sample->step))
            ret = score_frame(c, frame);
        c->nb_frames++;
        av_frame_unref(frame);
        if (ret >= 0)
            ret = tell_progress(c, "scoring", c->nb_frames);
        if (ret < 0)
            return ret;
    }
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/// Decode and score what waits, and what the decoder holds if that was all.
static int score_waiting(Candidate *c, int is_all)
{
    AVFrame *frame = av_frame_alloc();
    AVPacket *packet;
    int ret = !frame ? AVERROR(ENOMEM) : 0;

    if (ret >= 0 && !c->decoder) {
        c->par = avcodec_parameters_alloc();
        ret    = c->par ? avcodec_parameters_from_context(c->par, c->encoder) : AVERROR(ENOMEM);
        if (ret >= 0)
            ret = open_decoder(&c->decoder, c->par, c->encoder->time_base, c->o->device);
    }

    while (ret >= 0 && av_fifo_read(c->packets, &packet, 1) >= 0) {
        ret = score_packet(c, packet, frame);
        av_packet_free(&packet);
    }
    if (ret >= 0 && is_all && (ret = score_packet(c, NULL, frame)) >= 0)
        ret = ffcrf_scorer_finish(&c->scorer);
    av_frame_free(&frame);
    return ret;
}

int ffcrf_encoder_options(const Options *o, double crf, AVDictionary **options)
{
    char value[32];
    int ret;

    snprintf(value, sizeof(value), "%.6g", crf);
    ret = av_dict_set(options, o->crf_option, value, 0);
    if (ret >= 0 && strstr(o->encoder->name, "_vaapi"))
        ret = av_dict_set(options, "rc_mode", "CQP", 0);
    if (ret >= 0 && ffcrf_is_on_gpu(o->encoder) && (ret = av_dict_set(options, "rc", "vbr", 0)) >= 0)
        ret = av_dict_set(options, "b", "0", 0);
    return ret < 0 ? ret : av_dict_copy(options, o->encoder_options, 0);
}

/// As ffmpeg opens it.
static int open_encoder(Candidate *c, const AVFrame *frame, double crf)
{
    const Options *o = c->o;
    AVCodecContext *e = avcodec_alloc_context3(o->encoder);
    AVDictionary *options = NULL;
    const AVDictionaryEntry *left;
    const AVPixFmtDescriptor *desc;
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
    // SVT-AV1 opens without an option that it does not know, and cannot be closed before a frame
    e->err_recognition       |= AV_EF_EXPLODE;
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
    *ffcrf_refused_option = 0;
    if ((ret = ffcrf_encoder_options(o, crf, &options)) >= 0 &&
        (ret = av_dict_set(&options, "threads", "auto", AV_DICT_DONT_OVERWRITE)) >= 0)
        ret = avcodec_open2(e, o->encoder, &options);
    left = av_dict_iterate(options, NULL);
    desc = av_pix_fmt_desc_get(e->pix_fmt);
    if (ret < 0) {
        const int is_odd = e->width  & (1 << desc->log2_chroma_w) - 1 ||
                           e->height & (1 << desc->log2_chroma_h) - 1;

        av_log(NULL, AV_LOG_ERROR, "%s cannot be opened for %s of %dx%d: %s. %s\n",
               o->encoder->name, desc->name, e->width, e->height,
               is_odd ? "that format needs even sizes" : av_err2str(ret),
               is_odd ? "Crop it, as by -vf crop=trunc(iw/2)*2:trunc(ih/2)*2." : "See to its options.");
        ret = is_odd ? AVERROR(EINVAL) : ret;
    } else if (*ffcrf_refused_option) {
        ret = ffcrf_fail(AVERROR_OPTION_NOT_FOUND, "%s goes on without an option of yours: %s\n",
                         o->encoder->name, ffcrf_refused_option);
    } else if (left) {
        ret = ffcrf_fail(AVERROR_OPTION_NOT_FOUND, "%s does not take the option '%s'.\n", o->encoder->name,
                         left->key);
    }

end:
    av_dict_free(&options);
    return ret;
}

/// Send a frame to the encoder, NULL to end, and put its packets where they wait.
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
            ret = av_fifo_write(c->packets, &packet, 1);
        }
        if (ret < 0)
            av_packet_free(&packet);
    }
    return ret == AVERROR(EAGAIN) || ret == AVERROR_EOF ? 0 : ret;
}

/// The frames of a sample, from memory or from the file.
static int next_frame(Candidate *c, AVFrame *frame)
{
    const Sample *sample = c->sample;
    AVFrame *reference;
    int ret;

    if (c->nb_encoded == sample->nb_frames)
        return AVERROR_EOF;
    if (sample->frame)
        return av_frame_ref(frame, sample->frame[c->nb_encoded]);
    ret = ffcrf_source_next(&c->s, frame);
    if (ret < 0 || sample->reference)
        return ret;
    reference = av_frame_alloc();
    ret = reference ? next_reference(&c->r, frame, reference) : AVERROR(ENOMEM);
    if (ret >= 0 && ffcrf_is_scored(c->o->metric, c->nb_encoded, sample->step) && (ret = av_fifo_write(c->sources, &reference, 1)) >= 0)
        return 0;
    av_frame_free(&reference);
    return ret;
}

static int encode_sample(Candidate *c, double crf, Result *result)
{
    const Sample *sample = c->sample;
    AVFrame *frame = av_frame_alloc(), *uploaded = av_frame_alloc();
    AVBufferRef *device = c->o->encode_device;
    int ended = 0, ret = frame && uploaded ? 0 : AVERROR(ENOMEM);

    while (ret >= 0 && !ended) {
        // the clock stands while there is scored
        const int64_t begin = av_gettime_relative();

        ret   = next_frame(c, frame);
        ended = ret == AVERROR_EOF;
        if (ret >= 0 && device &&
            (ret = upload_frame(&c->upload, "hwupload", frame, sample->time_base, sample->frame_rate, device, uploaded)) >= 0) {
            av_frame_unref(frame);
            av_frame_move_ref(frame, uploaded);
        }
        if (ret >= 0 && !c->encoder)
            ret = open_encoder(c, frame, crf);
        if (ret >= 0 || ended)
            ret = encode_frame(c, ended ? NULL : frame, result);
        c->nb_encoded += !ended;
        av_frame_unref(frame);
        result->encode_seconds += (av_gettime_relative() - begin) / 1e6;
        if (ret >= 0 && !sample->frame && av_fifo_can_read(c->packets) >= MOST_WAITING)
            ret = score_waiting(c, 0);
        if (ret >= 0)
            ret = tell_progress(c, "encoding", c->nb_encoded);
    }
    av_frame_free(&frame);
    av_frame_free(&uploaded);
    return ret;
}

int ffcrf_candidate(const Options *o, Sample *sample, double crf, Result *result,
                    ProgressFunc progress, void *opaque)
{
    Candidate c = { .o = o, .sample = sample, .progress = progress, .opaque = opaque };
    AVPacket *packet;
    AVFrame *frame;
    int ret = AVERROR(ENOMEM);

    *result = (Result){ .source_bytes = sample->bytes, .seconds = sample->seconds,
                        .encode_seconds = sample->frame ? sample->decode_seconds : 0 };
    ffcrf_scorer_open(&c.scorer, o, sample->step);
    c.packets = av_fifo_alloc2(MOST_WAITING, sizeof(packet), AV_FIFO_FLAG_AUTO_GROW);
    c.sources = av_fifo_alloc2(MOST_WAITING, sizeof(frame),  AV_FIFO_FLAG_AUTO_GROW);
    if (!c.packets || !c.sources ||
        !sample->frame && (ret = open_source(&c.s, o, 0, sample->start, sample->duration)) < 0 ||
        !sample->frame && o->reference_filters &&
        (ret = open_source(&c.r, o, 1, sample->start, sample->duration)) < 0)
        goto end;

    ret = encode_sample(&c, crf, result);
    if (ret >= 0)
        ret = score_waiting(&c, 1);
    if (ret >= 0 && (c.nb_frames != sample->nb_frames || c.nb_encoded != sample->nb_frames))
        ret = ffcrf_fail(AVERROR_INVALIDDATA, "%s has made %d frames of %d: they cannot be compared. Leave out "
                         "options that drop or add frames.\n", o->encoder->name, c.nb_frames,
                         sample->nb_frames);
    if (ret >= 0) {
        result->nb_frames = c.nb_frames;
        result->nb_scores = c.scorer.nb_scores;
        result->score_seconds = c.scorer.time / 1e6;
        FFSWAP(double *, result->score, c.scorer.score);
    }

end:
    ffcrf_scorer_close(&c.scorer);
    while (c.packets && av_fifo_read(c.packets, &packet, 1) >= 0)
        av_packet_free(&packet);
    while (c.sources && av_fifo_read(c.sources, &frame, 1) >= 0)
        av_frame_free(&frame);
    av_fifo_freep2(&c.packets);
    av_fifo_freep2(&c.sources);
    avcodec_free_context(&c.encoder);
    avcodec_free_context(&c.decoder);
    avcodec_parameters_free(&c.par);
    avfilter_graph_free(&c.upload.graph);
    ffcrf_source_close(&c.s);
    ffcrf_source_close(&c.r);
    return ret;
}

// ---- a whole file ----

int ffcrf_verify(const Options *o, const char *path, Result *result,
                 ProgressFunc progress, void *opaque)
{
    AVFrame *frame[2] = { av_frame_alloc(), av_frame_alloc() };   // encode, source
    Source s[2] = { 0 };
    Scorer scorer;
    int step, nb_expected, ret;

    *result = (Result){ 0 };
    ret = open_source(&s[1], o, 1, 0, 0);
    if (!frame[0] || !frame[1])
        ret = AVERROR(ENOMEM);
    step = ret < 0 ? 1 : choose_step(o, &s[1], part_seconds(&s[1]));
    ffcrf_scorer_open(&scorer, o, step);
    if (ret < 0 || (ret = ffcrf_source_open(&s[0], path, NULL)) < 0)
        goto end;
    s[0].keeps_all = 1;
    nb_expected = part_seconds(&s[1]) * av_q2d(av_guess_frame_rate(s[1].format, s[1].stream, NULL));

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
            if ((ret = ffcrf_source_check(&s[0], o)) < 0 || (ret = ffcrf_source_check(&s[1], o)) < 0)
                goto end;
            ret = ffcrf_fail(AVERROR_INVALIDDATA, "'%s' has %s frames than '%s', which has %s%d: it is no "
                             "encode of it, frame by frame.\n", path, end[0] ? "less" : "more", o->input, end[0]
                             ? "more than " : "", result->nb_frames);
            goto end;
        }
        if (frame[0]->width != frame[1]->width || frame[0]->height != frame[1]->height) {
            ret = ffcrf_fail(AVERROR(EINVAL), "'%s' is %dx%d, and '%s' is %dx%d with its filters: give the -vf "
                             "that the encode was made with.\n", path, frame[0]->width, frame[0]->height,
                             o->input, frame[1]->width, frame[1]->height);
            goto end;
        }
        if (ffcrf_is_scored(o->metric, result->nb_frames, step) &&
            (ret = ffcrf_scorer_add(&scorer, frame[0], frame[1])) < 0)
            goto end;
        av_frame_unref(frame[0]);
        av_frame_unref(frame[1]);
        if ((ret = progress(opaque, "scoring", result->nb_frames + 1, nb_expected,
                            (result->nb_frames + 1.) / FFMAX(result->nb_frames + 1, nb_expected))) < 0)
            goto end;
    }
    if ((ret = ffcrf_source_check(&s[0], o)) < 0 ||
        (ret = ffcrf_source_check(&s[1], o)) < 0 ||
        (ret = ffcrf_scorer_finish(&scorer)) < 0)
        goto end;
    result->bytes          = s[0].bytes;
    result->source_bytes   = s[1].bytes;
    result->nb_scores      = scorer.nb_scores;
    FFSWAP(double *, result->score, scorer.score);

end:
    ffcrf_scorer_close(&scorer);
    ffcrf_source_close(&s[0]);
    ffcrf_source_close(&s[1]);
    av_frame_free(&frame[0]);
    av_frame_free(&frame[1]);
    return ret;
}
