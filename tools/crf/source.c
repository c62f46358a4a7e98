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

#include "ffcrf.h"

/// The last stream may end this many seconds before the duration that the file states.
#define END_TOLERANCE 0.1

// ---- decoders ----

/// A decoder that a device does the work for, NULL if there is none.
static const AVCodec *find_hardware(enum AVCodecID id, const AVBufferRef *device)
{
    const enum AVHWDeviceType type = ((AVHWDeviceContext *)device->data)->type;
    const AVCodec *codec;
    void *iterator = NULL;

    while ((codec = av_codec_iterate(&iterator))) {
        const AVCodecHWConfig *config;

        for (int i = 0; av_codec_is_decoder(codec) && codec->id == id &&
                        (config = avcodec_get_hw_config(codec, i)); i++)
            if (config->device_type == type &&
                config->methods & AV_CODEC_HW_CONFIG_METHOD_HW_DEVICE_CTX &&
                !strstr(codec->name, "_cuvid") && !strstr(codec->name, "_qsv"))
                return codec;
    }
    return NULL;
}

int decoder_open(AVCodecContext **decoder, const AVCodecParameters *par, AVRational time_base,
                 AVBufferRef *device)
{
    const AVCodec *software = avcodec_find_decoder(par->codec_id);
    const AVCodec *hardware = device ? find_hardware(par->codec_id, device) : NULL;
    AVCodecContext *c;
    int ret;

    avcodec_free_context(decoder);
    if (!hardware && !software)
        return fail(AVERROR_DECODER_NOT_FOUND, "This build of FFmpeg cannot decode %s.\n",
                    avcodec_get_name(par->codec_id));
    *decoder = c = avcodec_alloc_context3(hardware ? hardware : software);
    if (!c)
        return AVERROR(ENOMEM);
    if ((ret = avcodec_parameters_to_context(c, par)) < 0)
        return ret;
    c->pkt_timebase = time_base;
    c->thread_count = 0;
    if (hardware) {
        c->hw_device_ctx = av_buffer_ref(device);
        if (!c->hw_device_ctx)
            return AVERROR(ENOMEM);
        // where it fails, the other one may not
        if (hardware != software)
            c->log_level_offset = AV_LOG_VERBOSE - AV_LOG_ERROR;
    }
    return avcodec_open2(c, c->codec, NULL);
}

int decoder_send(AVCodecContext **decoder, const AVCodecParameters *par, const AVPacket *packet)
{
    int ret = avcodec_send_packet(*decoder, packet);

    // FFmpeg's own decoder of AV1 has no software in it, and not all GPUs have AV1
    if (ret == AVERROR(ENOSYS) && (*decoder)->hw_device_ctx && !(*decoder)->frame_num) {
        av_log(NULL, AV_LOG_VERBOSE, "The GPU cannot decode %s, the CPU does.\n",
               avcodec_get_name(par->codec_id));
        ret = decoder_open(decoder, par, (*decoder)->pkt_timebase, NULL);
        if (ret >= 0)
            ret = avcodec_send_packet(*decoder, packet);
    }
    return ret;
}

// ---- files ----

static int is_interrupted(void *opaque)
{
    return !!caught_signal;
}

/// The largest video, as ffmpeg chooses. Pictures of the cover are none.
static AVStream *find_video(const AVFormatContext *format)
{
    AVStream *best = NULL;

    for (unsigned i = 0; i < format->nb_streams; i++) {
        AVStream *st = format->streams[i];
        const AVCodecParameters *par = st->codecpar;

        if (par->codec_type == AVMEDIA_TYPE_VIDEO &&
            !(st->disposition & AV_DISPOSITION_ATTACHED_PIC) &&
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

/// Count damage of the part that is used. What cannot be decoded is left out, as ffmpeg does.
static void note_damage(Source *s)
{
    if (!is_between(s, s->position))
        return;
    if (!s->nb_damaged++ || s->damage[0] == AV_NOPTS_VALUE)
        s->damage[0] = s->position;
    s->damage[1] = s->position;
}

static int64_t file_start(const Source *s)
{
    return s->format->start_time == AV_NOPTS_VALUE ? 0 : s->format->start_time;
}

static int64_t stream_time(const Source *s, int64_t microseconds)
{
    return av_rescale_q(file_start(s) + microseconds, AV_TIME_BASE_Q, s->stream->time_base);
}

/// What of the file is decoded, see source_open_part().
static void set_part(Source *s, int64_t start, int64_t duration)
{
    const Options *o   = s->options;
    const int64_t from = start + (o ? o->start : 0);

    if (o && o->start)
        s->shift = stream_time(s, o->start);
    s->start = start || duration || s->shift ? stream_time(s, from) : INT64_MIN;
    if (!duration && o && o->length)
        duration = o->length - start;
    s->end   = duration ? stream_time(s, from + duration) : INT64_MAX;
}

int source_open(Source *s, const char *path, const Options *o)
{
    const int errors = demuxer_errors;
    int ret;

    *s = (Source){
        .format   = avformat_alloc_context(),
        .packet   = av_packet_alloc(),
        .frame    = av_frame_alloc(),
        .filters  = "null",
        .options  = o,
        .start    = INT64_MIN,
        .end      = INT64_MAX,
        .next_pts = AV_NOPTS_VALUE,
        .position = AV_NOPTS_VALUE,
        .last_out = INT64_MIN,
    };
    av_bprint_init(&s->formats, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (!s->format || !s->packet || !s->frame)
        return AVERROR(ENOMEM);
    s->format->interrupt_callback.callback = is_interrupted;
    if ((ret = avformat_open_input(&s->format, path, NULL, NULL)) < 0 ||
        (ret = avformat_find_stream_info(s->format, NULL)) < 0)
        return caught_signal ? ret :
               usage("Cannot read '%s': %s.%s\n", path, av_err2str(ret),
                    ret == AVERROR_INVALIDDATA ? " Is it a complete video file?" : "");
    s->stream = find_video(s->format);
    if (!s->stream)
        return fail(AVERROR_STREAM_NOT_FOUND, "'%s' has no video stream.\n", path);
    // of a short file all is read by now
    if (demuxer_errors != errors)
        note_damage(s);
    set_part(s, 0, 0);
    ret = decoder_open(&s->decoder, s->stream->codecpar, s->stream->time_base,
                       o ? o->decode_device : NULL);
    return ret >= 0 || ret == AVERROR_DECODER_NOT_FOUND ? ret :
           fail(ret, "Cannot decode the video of '%s': %s.\n", path, av_err2str(ret));
}

/// Seek. @return 1 if decoding can begin with the first packet there, or 0
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

static int seek(Source *s, int64_t start, int64_t duration)
{
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
        ret  = try_seek(s, stream_time(s, start - back));
        s->seeks_late |= !ret;
        back = 4 * back + 2 * AV_TIME_BASE;
    } while (!ret && back < 4 * start + 4 * AV_TIME_BASE);
    return ret >= 0 ? 0 :
           fail(ret, "Cannot go to %.1f s of '%s': %s. Let a --sample-duration cover all of it.\n",
                start / 1e6, s->format->url, av_err2str(ret));
}

int source_open_part(Source *s, const Options *o, int is_reference, int64_t start, int64_t duration)
{
    const char *filters = is_reference && o->reference_filters ? o->reference_filters : o->filters;
    int ret = source_open(s, o->input, o);

    if (ret < 0)
        return ret;
    if (filters)
        s->filters = filters;
    if (is_on_gpu(o->encoder))
        s->device = o->device;
    if ((ret = print_formats(o, &s->formats)) < 0)
        return ret;
    return seek(s, start, duration);
}

/// Read a packet, of any stream. @return 0, AVERROR_EOF at an end of any kind, or AVERROR_EXIT
static int read_packet(Source *s)
{
    const int errors = demuxer_errors;
    const AVPacket *p = s->packet;
    int ret = av_read_frame(s->format, s->packet), is_bad;

    if (ret < 0 && caught_signal)
        return AVERROR_EXIT;
    // a file that ends too early ends the video, as it does for ffmpeg
    is_bad = ret < 0 && ret != AVERROR_EOF || demuxer_errors != errors;
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

static double file_seconds(const Source *s)
{
    return s->format->duration == AV_NOPTS_VALUE ? 0 : s->format->duration / (double)AV_TIME_BASE;
}

double source_seconds(const Source *s)
{
    const double rest = FFMAX(file_seconds(s) - s->options->start / 1e6, 0);

    return s->options->length ? FFMIN(rest, s->options->length / 1e6) : rest;
}

static double in_seconds(const Source *s, int64_t time, AVRational time_base)
{
    return time * av_q2d(time_base) - file_start(s) / (double)AV_TIME_BASE;
}

int source_scan(Source *s, Scan *scan)
{
    double end = 0;             // of all streams
    int ret;

    *scan = (Scan){ 0 };
    for (; (ret = read_packet(s)) >= 0; av_packet_unref(s->packet)) {
        const AVPacket *p  = s->packet;
        const AVStream *st = s->format->streams[p->stream_index];
        const int64_t time = p->pts == AV_NOPTS_VALUE ? p->dts : p->pts;
        const double after = time == AV_NOPTS_VALUE ? 0 :
                             in_seconds(s, time + p->duration, st->time_base);

        end = FFMAX(end, after);
        if (st == s->stream && is_between(s, time)) {
            scan->nb_frames++;
            scan->bytes  += p->size;
            scan->seconds = FFMAX(scan->seconds, after - s->options->start / (double)AV_TIME_BASE);
        }
    }
    // other durations are estimates
    if (s->format->duration_estimation_method == AVFMT_DURATION_FROM_STREAM &&
        file_seconds(s) - end > END_TOLERANCE)
        scan->missing = file_seconds(s) - end;
    return ret == AVERROR_EOF ? 0 : ret;
}

int tell_damage(const Options *o, const char *path, const char *what)
{
    av_log(NULL, o->accept_damage ? AV_LOG_WARNING : AV_LOG_ERROR, "'%s' is %s.%s\n", path, what,
           o->accept_damage ? "" : " With --accept-damage what can be decoded is used.");
    return o->accept_damage ? 0 : AVERROR_INVALIDDATA;
}

int source_check(const Source *s, const Options *o)
{
    const double first = in_seconds(s, s->damage[0], s->stream->time_base);
    const double last  = in_seconds(s, s->damage[1], s->stream->time_base);
    char where[128] = "damaged";

    if (!s->nb_damaged)
        return 0;
    if (s->damage[0] != s->damage[1])
        snprintf(where, sizeof(where), "damaged in %"PRIu64" places, the first at %.2f s and the "
                 "last at %.2f s", s->nb_damaged, first, last);
    else if (s->damage[0] != AV_NOPTS_VALUE)
        snprintf(where, sizeof(where), "damaged at %.2f s", first);
    return tell_damage(o, s->format->url, where);
}

void source_close(Source *s)
{
    avfilter_graph_free(&s->graph.graph);
    avcodec_free_context(&s->decoder);
    avformat_close_input(&s->format);
    av_packet_free(&s->packet);
    av_frame_free(&s->frame);
    if (s->formats.size)
        av_bprint_finalize(&s->formats, NULL);
}

// ---- frames ----

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

/// Bring what a device has decoded to memory.
static int download(Source *s)
{
    AVFrame *frame = av_frame_alloc();
    int ret = frame ? av_hwframe_transfer_data(frame, s->frame, 0) : AVERROR(ENOMEM);

    if (ret >= 0 && (ret = av_frame_copy_props(frame, s->frame)) >= 0) {
        av_frame_unref(s->frame);
        av_frame_move_ref(s->frame, frame);
        s->is_downloaded = 1;
    }
    av_frame_free(&frame);
    return ret;
}

/// Give the decoder a packet, or tell it that there are no more.
static int feed_decoder(Source *s)
{
    int ret = read_packet(s);

    if (ret == AVERROR_EOF) {
        ret = avcodec_send_packet(s->decoder, NULL);
    } else if (ret >= 0 && s->packet->stream_index == s->stream->index) {
        if (is_between(s, s->position))
            s->bytes += s->packet->size;
        ret = decoder_send(&s->decoder, s->stream->codecpar, s->packet);
    }
    av_packet_unref(s->packet);
    if (ret < 0 && ret != AVERROR(ENOMEM) && ret != AVERROR_EOF && ret != AVERROR_EXIT) {
        note_damage(s);
        ret = 0;
    }
    return ret;
}

/// Decode to s->frame.
static int decode(Source *s)
{
    int ret = 0;

    while (ret >= 0) {
        ret = avcodec_receive_frame(s->decoder, s->frame);
        if (ret == AVERROR_EOF || ret == AVERROR(ENOMEM))
            return ret;
        if (ret == AVERROR(EAGAIN)) {
            ret = feed_decoder(s);
        } else if (ret < 0) {
            note_damage(s);
            ret = 0;
        } else {
            set_time(s, s->frame);
            if (is_between(s, s->frame->pts)) {
                if (s->frame->flags & AV_FRAME_FLAG_CORRUPT || s->frame->decode_error_flags)
                    note_damage(s);
                s->frame->pts -= s->shift;
                return s->frame->hw_frames_ctx ? download(s) : 0;
            }
            ret = s->frame->pts >= s->end ? AVERROR_EOF : 0;
            av_frame_unref(s->frame);
        }
    }
    return ret;
}

/// All output has the size and the format of the first, as ffmpeg has it.
static int open_filters(Source *s)
{
    const AVFrame *const frame[2] = { s->frame, NULL };
    AVRational rate = av_guess_frame_rate(s->format, s->stream, NULL);
    AVBPrint text;
    int ret = AVERROR(ENOMEM);

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&text, "%s", s->filters);
    if (s->formats.len)
        av_bprintf(&text, s->time_base.num ? "%s" : ",format=%s", s->formats.str);
    if (s->device)
        av_bprintf(&text, ",hwupload");
    if (av_bprint_is_complete(&text))
        ret = graph_open(&s->graph, text.str, frame, s->stream->time_base, rate, s->device);
    av_bprint_finalize(&text, NULL);
    if (ret < 0)
        return usage("The filters before the encoder do not work: %s. Check -vf and -pix_fmt.\n",
                     av_err2str(ret));
    if (!s->time_base.num) {
        const AVFilterContext *out = s->graph.out;
        const AVBufferRef *frames  = av_buffersink_get_hw_frames_ctx(out);
        const int format = frames ? ((AVHWFramesContext *)frames->data)->sw_format
                                  : av_buffersink_get_format(out);

        s->time_base  = av_buffersink_get_time_base(out);
        s->frame_rate = av_buffersink_get_frame_rate(out);
        av_bprint_clear(&s->formats);
        av_bprintf(&s->formats, ",scale=%d:%d,format=%s", av_buffersink_get_w(out),
                   av_buffersink_get_h(out), av_get_pix_fmt_name(format));
    }
    return 0;
}

/// Whether the frame that waits is not as those that the graph was made for.
static int has_changed(const Source *s)
{
    const AVFilterLink *in = s->graph.in[0]->outputs[0];

    return s->frame->width != in->w || s->frame->height != in->h || s->frame->format != in->format;
}

/// Decode a frame if none waits, and make a graph for it if there is none.
static int prepare_frame(Source *s)
{
    int ret = 0;

    if (!s->has_frame && !s->ended) {
        ret = decode(s);
        if (ret < 0 && ret != AVERROR_EOF)
            return ret;
        s->has_frame = ret >= 0;
        s->ended     = ret < 0;
    }
    if (!s->graph.graph)
        return s->has_frame ? open_filters(s) : AVERROR_EOF;
    return 0;
}

int source_next(Source *s, AVFrame *frame)
{
    int ret;

    for (;;) {
        if (caught_signal)
            return AVERROR_EXIT;
        ret = s->graph.graph ? av_buffersink_get_frame(s->graph.out, frame) : AVERROR(EAGAIN);
        if (ret >= 0) {
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
        if ((ret = prepare_frame(s)) < 0)
            return ret;
        if (s->ended || has_changed(s)) {
            // what the graph still holds comes first
            ret = av_buffersrc_add_frame(s->graph.in[0], NULL);
        } else {
            ret = av_buffersrc_add_frame(s->graph.in[0], s->frame);
            av_frame_unref(s->frame);
            s->has_frame = 0;
        }
        if (ret < 0)
            return ret;
    }
}
