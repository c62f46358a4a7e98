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
 * A sample is decoded once and kept. For each CRF it is encoded, and the encode is decoded and
 * scored. Encoding and scoring take turns, so that the time of the encode can be told. Frames of
 * the encode and of the source are paired by number, in the order in which they are shown.
 */

#include <dlfcn.h>

#include "libavfilter/buffersink.h"
#include "libavfilter/buffersrc.h"
#include "libavutil/fifo.h"
#include "libavutil/imgutils.h"

// hwcontext_cuda.h needs no more than these of the CUDA toolkit's cuda.h
#define CUDA_VERSION 0
typedef struct CUctx_st *CUcontext;
typedef struct CUstream_st *CUstream;
#include "libavutil/hwcontext_cuda.h"

#include "ffcrf.h"

/// --score-every is lowered where a sample would have fewer scored frames.
#define MIN_SCORED 16

/// So many packets wait to be scored where the source's frames have to be kept for them.
#define MOST_WAITING 128

int64_t gpu_memory(AVBufferRef *device)
{
    const AVCUDADeviceContext *cuda = ((AVHWDeviceContext *)device->data)->hwctx;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*push)(CUcontext)         = driver ? dlsym(driver, "cuCtxPushCurrent_v2") : NULL;
    int (*pop)(CUcontext *)        = driver ? dlsym(driver, "cuCtxPopCurrent_v2")  : NULL;
    int (*get)(size_t *, size_t *) = driver ? dlsym(driver, "cuMemGetInfo_v2")     : NULL;
    size_t available = 0, total;
    CUcontext popped;

    if (push && pop && get && !push(cuda->cuda_ctx)) {
        if (get(&available, &total))
            available = 0;
        pop(&popped);
    }
    if (driver)
        dlclose(driver);
    return available;
}

// ---- samples ----

static void free_frames(Frames *list)
{
    for (int i = 0; i < list->nb; i++)
        av_frame_free(&list->frame[i]);
    av_freep(&list->frame);
    list->nb = 0;
}

static int64_t frame_bytes(const AVFrame *frame)
{
    const AVBufferRef *hw = frame->hw_frames_ctx;
    int64_t bytes = 0;

    if (hw)
        return av_image_get_buffer_size(((AVHWFramesContext *)hw->data)->sw_format,
                                        frame->width, frame->height, 1);
    for (int i = 0; i < FF_ARRAY_ELEMS(frame->buf) && frame->buf[i]; i++)
        bytes += frame->buf[i]->size;
    return bytes;
}

/// Add a frame to those that are kept, or keep none of them if it does not fit into memory.
static int keep_frame(Frames *list, const AVFrame *frame, int64_t *memory)
{
    AVFrame *clone;

    if (list->is_full)
        return 0;
    if (frame_bytes(frame) > *memory) {
        for (int i = 0; i < list->nb; i++)
            *memory += frame_bytes(list->frame[i]);
        free_frames(list);
        list->is_full = 1;
        return 0;
    }
    *memory -= frame_bytes(frame);
    clone = av_frame_clone(frame);
    if (clone && av_dynarray_add_nofree(&list->frame, &list->nb, clone) >= 0)
        return 0;
    av_frame_free(&clone);
    return AVERROR(ENOMEM);
}

/// Bring a frame to a device, by a graph that is made for the first.
static int upload(Graph *g, const Sample *sample, const char *filters, AVBufferRef *device,
                  AVFrame *frame)
{
    const AVFrame *const frames[2] = { frame, NULL };
    int ret = 0;

    if (!g->graph)
        ret = graph_open(g, filters, frames, sample->time_base, sample->frame_rate, device);
    if (ret >= 0 && (ret = av_buffersrc_add_frame(g->in[0], frame)) >= 0)
        ret = av_buffersink_get_frame(g->out, frame);
    return ret;
}

/// The frames of a sample, from the file.
typedef struct Feed {
    Source s, r;                ///< r: what is compared with, where that has filters of its own
    double seconds;             ///< that the frames of s took
} Feed;

static int feed_open(Feed *f, const Options *o, const Sample *sample)
{
    int ret = source_open_part(&f->s, o, 0, sample->start, sample->duration);

    if (ret >= 0 && o->reference_filters)
        ret = source_open_part(&f->r, o, 1, sample->start, sample->duration);
    return ret;
}

static void feed_close(Feed *f)
{
    source_close(&f->s);
    source_close(&f->r);
}

/// The next frame as the encoder gets it, and what its encode is compared with.
static int feed_next(Feed *f, AVFrame *frame, AVFrame *reference)
{
    const int64_t begin = av_gettime_relative();
    int ret = source_next(&f->s, frame);

    f->seconds += (av_gettime_relative() - begin) / 1e6;
    if (ret < 0)
        return ret;
    if (!f->r.format)
        return av_frame_ref(reference, frame);
    ret = source_next(&f->r, reference);
    if (ret == AVERROR_EOF)
        return usage("--reference-vfilter makes fewer frames than -vf: they cannot be compared.\n");
    if (ret >= 0 && (reference->width != frame->width || reference->height != frame->height))
        return usage("-vf makes %dx%d, and --reference-vfilter %dx%d: end one of them with a scale "
                     "to the size of the other.\n", frame->width, frame->height, reference->width,
                     reference->height);
    return ret;
}

/// How many frames to expect decides how many are scored.
static int choose_step(const Options *o, const Source *s, double seconds)
{
    AVRational rate = av_guess_frame_rate(s->format, s->stream, NULL);
    double nb = rate.num && rate.den ? av_q2d(rate) * seconds : s->stream->nb_frames;

    return nb > 0 ? av_clip(nb / MIN_SCORED, 1, o->step) : o->step;
}

/// Keep a frame that is compared with, in the memory of the GPU if one scores.
static int keep_reference(const Options *o, Sample *sample, Graph *g, AVFrame *reference,
                          int64_t memory[NB_MEMORIES])
{
    char text[64];
    int ret = 0;

    if (o->device && !reference->hw_frames_ctx) {
        snprintf(text, sizeof(text), "format=%s,hwupload",
                 av_get_pix_fmt_name(gpu_format(reference->format)));
        ret = upload(g, sample, text, o->device, reference);
    }
    return ret < 0 ? ret : keep_frame(&sample->references, reference,
                                      &memory[o->device ? MEMORY_GPU : MEMORY_SYSTEM]);
}

/// Note a frame of the source, and keep it and its reference if they fit.
static int load_frame(const Options *o, Sample *sample, Graph *g, const AVFrame *frame,
                      AVFrame *reference, int64_t memory[NB_MEMORIES])
{
    const int is_uploaded = !!frame->hw_frames_ctx, is_full = sample->frames.is_full;
    int ret = keep_frame(&sample->frames, frame, &memory[is_uploaded ? MEMORY_GPU : MEMORY_SYSTEM]);

    if (sample->frames.is_full && !is_full)
        warn("Sample %d does not fit into %s: it will be decoded again for each candidate.\n",
             sample->number + 1, is_uploaded ? "the GPU's memory" : "--memory");
    if (ret >= 0 && !sample->references.is_full && (!is_uploaded || o->reference_filters) &&
        is_scored(o->metric, sample->nb_frames, sample->step))
        ret = keep_reference(o, sample, g, reference, memory);
    if (ret >= 0 && !av_dynarray2_add((void **)&sample->pts, &sample->nb_frames,
                                      sizeof(*sample->pts), (const uint8_t *)&frame->pts))
        ret = AVERROR(ENOMEM);
    return ret;
}

/// What is known of a sample once all of its frames were seen.
static int finish_sample(const Options *o, Sample *sample, const Source *s)
{
    const int nb = sample->nb_frames;

    // frames and references are both kept, or both decoded again
    if (o->reference_filters && !(sample->frames.nb && sample->references.nb)) {
        free_frames(&sample->frames);
        free_frames(&sample->references);
    }
    if (!nb)
        return fail(AVERROR_INVALIDDATA, "'%s' has no frames at %.1f s. Give a longer "
                    "--sample-duration, unless the file is damaged there.\n", o->input,
                    (o->start + sample->start) / 1e6);
    sample->bytes   = s->bytes;
    sample->seconds = s->frame_rate.num ? 1 / av_q2d(s->frame_rate) : 0.04;
    if (nb > 1)
        sample->seconds = av_q2d(s->time_base) * (sample->pts[nb - 1] - sample->pts[0]) *
                          nb / (nb - 1.);
    if (s->nb_repeated)
        warn("%"PRIu64" frames of sample %d have the time of others, and are left out.\n",
             s->nb_repeated, sample->number + 1);
    return source_check(s, o);
}

int sample_load(const Options *o, Sample *sample, int64_t memory[NB_MEMORIES])
{
    AVFrame *frame = av_frame_alloc(), *reference = av_frame_alloc();
    Graph g   = { 0 };
    Feed feed = { 0 };
    int ret   = frame && reference ? feed_open(&feed, o, sample) : AVERROR(ENOMEM);

    sample->loaded = 1;
    sample->references.is_full = !o->device && !o->reference_filters;
    if (ret >= 0)
        sample->step = choose_step(o, &feed.s, sample->duration ? sample->duration / 1e6
                                                                : source_seconds(&feed.s));
    while (ret >= 0 && (ret = feed_next(&feed, frame, reference)) >= 0) {
        sample->time_base  = feed.s.time_base;
        sample->frame_rate = feed.s.frame_rate;
        ret = load_frame(o, sample, &g, frame, reference, memory);
        av_frame_unref(frame);
        av_frame_unref(reference);
    }
    sample->decode_seconds = feed.seconds;
    if (ret == AVERROR_EOF)
        ret = finish_sample(o, sample, &feed.s);
    avfilter_graph_free(&g.graph);
    feed_close(&feed);
    av_frame_free(&frame);
    av_frame_free(&reference);
    return ret;
}

void sample_unload(Sample *sample)
{
    free_frames(&sample->frames);
    free_frames(&sample->references);
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
    Feed feed;                          ///< of frames that are not kept
    AVFifo *packets;                    ///< that wait to be decoded and scored
    AVFifo *sources;                    ///< frames that those are compared with, if not kept
    Scorer scorer;
    int nb_encoded, nb_frames, nb_scored;
} Candidate;

static int score_frame(Candidate *c, const AVFrame *frame)
{
    const Sample *sample = c->sample;
    AVFrame *waiting = NULL, *source = NULL;
    int ret = 0;

    if (sample->references.nb)
        source = sample->references.frame[c->nb_scored];
    else if (sample->frames.nb)
        source = sample->frames.frame[c->nb_frames];
    else if ((ret = av_fifo_read(c->sources, &waiting, 1)) >= 0)
        source = waiting;
    if (ret >= 0)
        ret = scorer_add(&c->scorer, frame, source);
    av_frame_free(&waiting);
    c->nb_scored++;
    return ret;
}

/// Encoding a frame is one half, decoding and scoring it the other.
static int tell_progress(const Candidate *c, const char *what, int frames)
{
    const int nb = c->sample->nb_frames;

    return progress(what, frames, nb, (c->nb_encoded + c->nb_frames) / 2. / nb);
}

static int score_packet(Candidate *c, const AVPacket *packet, AVFrame *frame)
{
    const Sample *sample = c->sample;
    int ret = decoder_send(&c->decoder, c->par, packet);

    while (ret >= 0 && (ret = avcodec_receive_frame(c->decoder, frame)) >= 0) {
        if (c->nb_frames == sample->nb_frames || frame->pts != sample->pts[c->nb_frames])
            return fail(AVERROR_INVALIDDATA, "%s has dropped or added frames, from frame %d on: "
                        "they cannot be compared. Leave out options that drop or add frames.\n",
                        c->o->encoder->name, c->nb_frames);
        if (is_scored(c->o->metric, c->nb_frames, sample->step))
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
    int ret = frame ? 0 : AVERROR(ENOMEM);

    if (ret >= 0 && !c->decoder) {
        c->par = avcodec_parameters_alloc();
        ret    = c->par ? avcodec_parameters_from_context(c->par, c->encoder) : AVERROR(ENOMEM);
        if (ret >= 0)
            ret = decoder_open(&c->decoder, c->par, c->encoder->time_base, c->o->device);
    }
    while (ret >= 0 && av_fifo_read(c->packets, &packet, 1) >= 0) {
        ret = score_packet(c, packet, frame);
        av_packet_free(&packet);
    }
    if (ret >= 0 && is_all && (ret = score_packet(c, NULL, frame)) >= 0)
        ret = scorer_finish(&c->scorer);
    av_frame_free(&frame);
    return ret;
}

/// Make an encoder for frames like this one, as ffmpeg does.
static int alloc_encoder(Candidate *c, const AVFrame *frame)
{
    AVCodecContext *e = c->encoder = avcodec_alloc_context3(c->o->encoder);
    int ret = 0;

    if (!e)
        return AVERROR(ENOMEM);
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
    if (frame->flags & AV_FRAME_FLAG_INTERLACED)
        e->field_order = frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST ? AV_FIELD_TB : AV_FIELD_BT;
    else
        e->field_order = AV_FIELD_PROGRESSIVE;
    e->flags                 |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_FRAME_DURATION;
    // SVT-AV1 opens without an option that it does not know, and cannot be closed before a frame
    e->err_recognition       |= AV_EF_EXPLODE;
    if (frame->hw_frames_ctx && !(e->hw_frames_ctx = av_buffer_ref(frame->hw_frames_ctx)))
        return AVERROR(ENOMEM);
    for (int i = 0; i < frame->nb_side_data && ret >= 0; i++) {
        const AVSideDataDescriptor *desc = av_frame_side_data_desc(frame->side_data[i]->type);

        if (desc && desc->props & AV_SIDE_DATA_PROP_GLOBAL)
            ret = av_frame_side_data_clone(&e->decoded_side_data, &e->nb_decoded_side_data,
                                           frame->side_data[i], 0);
    }
    return ret;
}

static int open_encoder(Candidate *c, const AVFrame *frame, double crf)
{
    const AVCodec *codec  = c->o->encoder;
    AVDictionary *options = NULL;
    const AVDictionaryEntry *left;
    int ret = alloc_encoder(c, frame);

    *refused_option = 0;
    if (ret < 0 || (ret = encoder_options(c->o, crf, &options)) < 0 ||
        (ret = av_dict_set(&options, "threads", "auto", AV_DICT_DONT_OVERWRITE)) < 0)
        goto end;
    ret  = avcodec_open2(c->encoder, codec, &options);
    left = av_dict_iterate(options, NULL);
    if (ret < 0) {
        const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(frame->format);
        const int is_odd = frame->width  & (1 << desc->log2_chroma_w) - 1 ||
                           frame->height & (1 << desc->log2_chroma_h) - 1;

        ret = fail(is_odd ? AVERROR(EINVAL) : ret, "%s cannot be opened for %s of %dx%d: %s. %s\n",
                   codec->name, desc->name, frame->width, frame->height,
                   is_odd ? "that format needs even sizes" : av_err2str(ret),
                   is_odd ? "Crop it, as by -vf crop=trunc(iw/2)*2:trunc(ih/2)*2."
                          : "Check its options.");
    } else if (*refused_option) {
        ret = fail(AVERROR_OPTION_NOT_FOUND, "%s ignores one of its options: %s\n",
                   codec->name, refused_option);
    } else if (left) {
        ret = fail(AVERROR_OPTION_NOT_FOUND, "%s does not take the option '%s'.\n", codec->name,
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
    if (sample->frames.nb)
        return av_frame_ref(frame, sample->frames.frame[c->nb_encoded]);
    reference = av_frame_alloc();
    ret = reference ? feed_next(&c->feed, frame, reference) : AVERROR(ENOMEM);
    if (ret >= 0 && !sample->references.nb &&
        is_scored(c->o->metric, c->nb_encoded, sample->step) &&
        (ret = av_fifo_write(c->sources, &reference, 1)) >= 0)
        return 0;
    av_frame_free(&reference);
    return ret;
}

static int encode_frames(Candidate *c, double crf, Result *result)
{
    AVBufferRef *device = c->o->encode_device;
    AVFrame *frame      = av_frame_alloc();
    int ended = 0, ret = frame ? 0 : AVERROR(ENOMEM);

    while (ret >= 0 && !ended) {
        // scoring is not part of the time
        const int64_t begin = av_gettime_relative();

        ret   = next_frame(c, frame);
        ended = ret == AVERROR_EOF;
        if (ret >= 0 && device)
            ret = upload(&c->upload, c->sample, "hwupload", device, frame);
        if (ret >= 0 && !c->encoder)
            ret = open_encoder(c, frame, crf);
        if (ret >= 0 || ended)
            ret = encode_frame(c, ended ? NULL : frame, result);
        c->nb_encoded += !ended;
        av_frame_unref(frame);
        result->encode_seconds += (av_gettime_relative() - begin) / 1e6;
        if (ret >= 0 && !c->sample->frames.nb && av_fifo_can_read(c->packets) >= MOST_WAITING)
            ret = score_waiting(c, 0);
        if (ret >= 0)
            ret = tell_progress(c, "encoding", c->nb_encoded);
    }
    av_frame_free(&frame);
    return ret;
}

static void free_candidate(Candidate *c)
{
    AVPacket *packet;
    AVFrame *frame;

    scorer_close(&c->scorer);
    while (c->packets && av_fifo_read(c->packets, &packet, 1) >= 0)
        av_packet_free(&packet);
    while (c->sources && av_fifo_read(c->sources, &frame, 1) >= 0)
        av_frame_free(&frame);
    av_fifo_freep2(&c->packets);
    av_fifo_freep2(&c->sources);
    avcodec_free_context(&c->encoder);
    avcodec_free_context(&c->decoder);
    avcodec_parameters_free(&c->par);
    avfilter_graph_free(&c->upload.graph);
    feed_close(&c->feed);
}

Scorer scorer_new(const Options *o, int step)
{
    return (Scorer){
        .metric = o->metric, .model = o->vmaf_model, .device = o->device, .step = step,
    };
}

/// Hand the scores over.
static void take_scores(Result *result, Scorer *scorer)
{
    result->nb_scores     = scorer->nb_scores;
    result->score_seconds = scorer->time / 1e6;
    FFSWAP(double *, result->score, scorer->score);
}

int sample_encode(const Options *o, const Sample *sample, double crf, Result *result)
{
    Candidate c = {
        .o = o, .sample = sample,
        .packets = av_fifo_alloc2(MOST_WAITING, sizeof(AVPacket *), AV_FIFO_FLAG_AUTO_GROW),
        .sources = av_fifo_alloc2(MOST_WAITING, sizeof(AVFrame *),  AV_FIFO_FLAG_AUTO_GROW),
        .scorer  = scorer_new(o, sample->step),
    };
    int ret = c.packets && c.sources ? 0 : AVERROR(ENOMEM);

    *result = (Result){ .source_bytes = sample->bytes, .seconds = sample->seconds,
                        .encode_seconds = sample->frames.nb ? sample->decode_seconds : 0 };
    if (ret >= 0 && !sample->frames.nb)
        ret = feed_open(&c.feed, o, sample);
    if (ret >= 0)
        ret = encode_frames(&c, crf, result);
    if (ret >= 0)
        ret = score_waiting(&c, 1);
    if (ret >= 0 && (c.nb_frames != sample->nb_frames || c.nb_encoded != sample->nb_frames))
        ret = fail(AVERROR_INVALIDDATA, "%s has made %d frames of %d: they cannot be compared. "
                   "Leave out options that drop or add frames.\n", o->encoder->name, c.nb_frames,
                   sample->nb_frames);
    if (ret >= 0) {
        result->nb_frames = c.nb_frames;
        take_scores(result, &c.scorer);
    }
    free_candidate(&c);
    return ret;
}

// ---- a whole file ----

/// Take the next frame of an encode and of its source. @return 0, or AVERROR_EOF at the end of both
static int next_pair(const Options *o, Source s[2], AVFrame *frame[2], const char *path, int number)
{
    int end[2], ret;

    for (int i = 0; i < 2; i++) {
        av_frame_unref(frame[i]);
        ret    = source_next(&s[i], frame[i]);
        end[i] = ret == AVERROR_EOF;
        if (ret < 0 && !end[i])
            return ret;
    }
    if ((end[0] || end[1]) &&
        ((ret = source_check(&s[0], o)) < 0 || (ret = source_check(&s[1], o)) < 0))
        return ret;
    if (end[0] && end[1])
        return AVERROR_EOF;
    if (end[0] || end[1])
        return fail(AVERROR_INVALIDDATA, "'%s' has %s frames than '%s', which has %s%d: it is not "
                    "an encode of it, frame by frame.\n", path, end[0] ? "fewer" : "more",
                    o->input, end[0] ? "more than " : "", number);
    if (frame[0]->width != frame[1]->width || frame[0]->height != frame[1]->height)
        return usage("'%s' is %dx%d, and '%s' is %dx%d with its filters: give the -vf that the "
                     "encode was made with.\n", path, frame[0]->width, frame[0]->height, o->input,
                     frame[1]->width, frame[1]->height);
    return 0;
}

int score_file(const Options *o, const char *path, Result *result)
{
    AVFrame *frame[2] = { av_frame_alloc(), av_frame_alloc() };   // encode, source
    Source s[2]   = { 0 };
    Scorer scorer = { 0 };
    int n = 0, nb_expected, ret;

    *result = (Result){ 0 };
    if (!frame[0] || !frame[1])
        ret = AVERROR(ENOMEM);
    else if ((ret = source_open_part(&s[1], o, 1, 0, 0)) >= 0)
        ret = source_open(&s[0], path, NULL);
    if (ret < 0)
        goto end;
    scorer = scorer_new(o, choose_step(o, &s[1], source_seconds(&s[1])));
    s[0].keeps_all = 1;
    nb_expected = source_seconds(&s[1]) *
                  av_q2d(av_guess_frame_rate(s[1].format, s[1].stream, NULL));

    while (ret >= 0 && (ret = next_pair(o, s, frame, path, n)) >= 0) {
        if (is_scored(o->metric, n, scorer.step))
            ret = scorer_add(&scorer, frame[0], frame[1]);
        n++;
        if (ret >= 0)
            ret = progress("scoring", n, nb_expected, n / (double)FFMAX(n, nb_expected));
    }
    if (ret == AVERROR_EOF && (ret = scorer_finish(&scorer)) >= 0) {
        result->nb_frames    = n;
        result->bytes        = s[0].bytes;
        result->source_bytes = s[1].bytes;
        take_scores(result, &scorer);
    }

end:
    scorer_close(&scorer);
    source_close(&s[0]);
    source_close(&s[1]);
    av_frame_free(&frame[0]);
    av_frame_free(&frame[1]);
    return ret;
}
