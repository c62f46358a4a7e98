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
 * The search for a CRF: what its parts share.
 *
 * A source is decoded (media.c), its candidates are encoded and decoded
 * there too, and scored by a filter (score.c). What was found is kept in a
 * cache (cache.c). search.c says which CRF is next, command.c makes
 * the encode.
 */

#ifndef TOOLS_CRF_FFCRF_H
#define TOOLS_CRF_FFCRF_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libavcodec/avcodec.h"
#include "libavfilter/avfilter.h"
#include "libavformat/avformat.h"
#include "libavutil/bprint.h"
#include "libavutil/dict.h"
#include "libavutil/frame.h"
#include "libavutil/log.h"
#include "libavutil/mem.h"

#include "search.h"

/// A measure of what an encode has lost, made by a filter.
typedef struct Metric {
    const char *name;
    const char *filter;         ///< and its options
    const char *cuda_filter;    ///< the same on a GPU, or NULL
    const char *key;            ///< of the score in a frame's metadata, NULL: it is in a log only
    const char *step_option;    ///< of the filter, which scores one of so many frames itself, or NULL
    int gets_all;               ///< its filter looks at the frames before, too: none may be left out
    int source_is_first;        ///< of the two inputs
    int is_of_planes;           ///< a frame has as many scores, whose keys begin with the key
    int is_in_decibels;
    int higher_is_better;
    int digits;                 ///< after the point
    double best, worst;         ///< score of an identical encode, and of the worst
    double offset;              ///< |best - score| + offset grows about exponentially with the CRF, if not decibels
    double typical;             ///< score in the middle of an encoder's range
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every
    double target;              ///< that it is searched by where none is given, 0 if it has to be
} Metric;

/// What --pool makes of the scores.
enum {
    POOL_MEAN,
    POOL_WORST_SAMPLE,
    POOL_PERCENTILE,
};

typedef struct Options {
    const AVClass *class;

    // set from the command line, see the table in ffcrf.c
    char *input;
    int64_t start, end, length; ///< of what is taken of it, in microseconds; length 0: to its end
    char *hwaccel;
    char *encoder_name;
    char *filters, *reference_filters;
    char *keyint;
    char *audio_codec, *audio_rate;
    int downmix, video_only;
    char *ignored;              ///< for options that set others
    char *pix_fmt;
    char *metric_name;
    double target[6];           ///< by --target, and of each metric in their order
    char *vmaf_model;
    char *pool_name;
    SearchPlan plan;
    double crf;
    int thorough;
    int samples, min_samples;
    int64_t every, duration;    ///< of samples, in microseconds
    int step;
    int64_t memory;
    int cache;
    char *gpu;
    char *encode, *verify;
    int probe;
    int overwrite, accept_damage;
    int json;
    char *completion;
    int loglevel, help, version;
    AVDictionary *encoder_options;

    // what that means
    const AVCodec *encoder;
    const char *crf_option;     ///< of the encoder: crf, cq, qp, global_quality
    const Metric *metric;
    int pool, percent;
    AVBufferRef *device;        ///< a GPU that scores, or NULL
    AVBufferRef *decode_device; ///< that decodes the input, or NULL
    int seeks_late;             ///< where ffmpeg would go to, decoding cannot begin
    AVBufferRef *encode_device; ///< of an encoder that takes its frames only, or NULL
} Options;

/// Filters between frames that are put in and taken out.
typedef struct Graph {
    AVFilterGraph *graph;
    AVFilterContext *in[2], *out;
} Graph;

/// Frames of a file, as they go to the encoder.
typedef struct Source {
    AVFormatContext *format;
    AVStream *stream;
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;             ///< decoded, and waiting for a graph to be made for it
    int has_frame, ended;
    int is_downloaded;          ///< a device has decoded it
    int seeks_late;             ///< decoding had to begin before where the file was asked to go

    const char *filters;        ///< the user's
    AVBPrint formats;           ///< that may come out, as the format filter takes them; empty: all
    AVBufferRef *device;        ///< to which they are uploaded, or NULL; not owned
    Graph graph;
    int width, height, pixel_format;                ///< of its input
    int out_width, out_height, out_pixel_format;    ///< of all output
    AVRational time_base, frame_rate;               ///< of the output

    const Options *options;     ///< whose part of the file is taken and that say how, or NULL: all
    int64_t start, end;         ///< in the stream's time base
    int64_t shift;              ///< taken off all times
    int64_t next_pts;           ///< of a frame without a timestamp
    int64_t last_out;
    int keeps_all;              ///< frames whose time does not follow, too
    uint64_t bytes;             ///< of the packets between start and end
    uint64_t nb_repeated;       ///< frames left out, as their time does not follow
    int64_t position;           ///< of the last packet of the video
    uint64_t nb_damaged;        ///< packets and frames that are damaged between start and end
    int64_t damage[2];          ///< position of the first and the last of them
} Source;

/// What is known of a file's video once all packets were read.
typedef struct Scan {
    int nb_frames;
    uint64_t bytes;
    double seconds;             ///< to its end
    double missing;             ///< by which the file says to be longer than any of its streams
} Scan;

/// A part of the source that candidates are made of.
typedef struct Sample {
    int number;                 ///< from 0
    int64_t start, duration;    ///< in microseconds from the file's start; duration 0: all

    // once it is loaded
    int loaded;
    int step;                   ///< one of so many frames is scored
    AVFrame **frame;            ///< NULL: they did not fit, and are decoded again
    AVFrame **reference;        ///< those that are scored, in the memory of the GPU that does
    int64_t *pts;               ///< of all frames
    int nb_frames, nb_references;
    unsigned frame_size, reference_size, pts_size;  ///< allocated bytes
    AVRational time_base, frame_rate;
    uint64_t bytes;
    double seconds;
    double decode_seconds;      ///< that decoding and filtering it took
} Sample;

/// Bytes that are left for frames: in the machine's memory, and in that of the GPU.
enum { MEMORY_SYSTEM, MEMORY_GPU, NB_MEMORIES };

/// What a candidate of a sample came out as.
typedef struct Result {
    int nb_frames;
    uint64_t bytes, source_bytes;
    double seconds;             ///< that the sample lasts
    double encode_seconds;      ///< that decoding, filtering and encoding it took, without scoring
    double score_seconds;       ///< that scoring it took; the cache does not know it
    int is_cached;              ///< it was in the cache
    int nb_scores;              ///< 1 at least
    double *score;
} Result;

/// Scores frames by a filter.
typedef struct Scorer {
    const Options *options;
    const Metric *metric;
    AVBufferRef *device;        ///< not owned
    int step;                   ///< one of so many frames is scored
    Graph graph;                ///< made for the first frame
    int64_t nb_frames;
    int64_t time;               ///< in microseconds, that its filter took
    char *log;                  ///< file of a metric that has no metadata
    int nb_scores;
    unsigned score_size;
    double *score;
    int nb_planes;              ///< score[] has as many of each frame, until it is complete
    double distance[4];         ///< sum of each plane's
} Scorer;

/**
 * Called for each frame; a negative AVERROR stops.
 *
 * @param what is done to it: always the same string
 * @param part of all the work that is done
 */
typedef int (*ProgressFunc)(void *opaque, const char *what, int frames, int nb_frames, double part);

/// The number of the signal that asks to end, or 0.
extern volatile int ffcrf_signal;

/// How many errors demuxers told in their logs: some go on after them as if nothing were missing.
extern int ffcrf_demuxer_errors;

/// What an encoder told in its log of an option that it opens without, if there was one.
extern char ffcrf_refused_option[256];

/// Append an element to an array that is allocated in size bytes.
static inline int ffcrf_append(void *array, unsigned *size, int nb, size_t element_size, const void *element)
{
    void *new = av_fast_realloc(*(void **)array, size, (nb + 1) * element_size);

    if (!new)
        return AVERROR(ENOMEM);
    memcpy((char *)new + nb * element_size, element, element_size);
    memcpy(array, &new, sizeof(new));
    return 0;
}

/// Tell what is wrong. @return the given status
int ffcrf_fail(int ret, const char *format, ...) av_printf_format(2, 3);

#define FFCRF_VERSION 1

// ---- media.c ----

/**
 * Open a file, at the first video stream that is no picture.
 *
 * @param o what is taken of it, and how it is decoded, or NULL
 * @return 0, or a negative AVERROR after a message
 */
int ffcrf_source_open(Source *s, const char *path, const Options *o);

/// Go to a part of what is taken: microseconds from its start, duration 0 for all.
int ffcrf_source_seek(Source *s, int64_t start, int64_t duration);

/// @return 0, AVERROR_EOF, or a negative AVERROR after a message
int ffcrf_source_next(Source *s, AVFrame *frame);

/// Read a file that is open, to its end, without decoding it.
int ffcrf_source_scan(Source *s, Scan *scan);

/// Tell what was found damaged. @return 0 if nothing was, or that is accepted, else AVERROR_INVALIDDATA
int ffcrf_source_check(const Source *s, const Options *o);

void ffcrf_source_close(Source *s);

/// Whether it takes frames of the GPU that scores.
int ffcrf_is_on_gpu(const AVCodec *encoder);

/// Whether it takes frames in memory.
int ffcrf_has_software_format(const AVCodec *encoder);

/// Those in which frames are uploaded to the device of an encoder, as the format filter takes them.
const char *ffcrf_upload_formats(const Options *o);

/// All options that the encoder gets.
int ffcrf_encoder_options(const Options *o, double crf, AVDictionary **options);

/// Make the first frame that an encoder of the input gets, and see how the input can be decoded.
int ffcrf_first_frame(Options *o, AVFrame *frame);

/// So much of the GPU's memory is free, 0 if that is not known.
int64_t ffcrf_gpu_memory(AVBufferRef *device);

/// Decode a sample, once: count its frames, and keep them if they fit into what is left of memory.
int ffcrf_sample_load(const Options *o, Sample *sample, int64_t memory[NB_MEMORIES]);

void ffcrf_sample_unload(Sample *sample);

/// Encode a sample, decode and score that.
int ffcrf_candidate(const Options *o, Sample *sample, double crf, Result *result,
                    ProgressFunc progress, void *opaque);

/// Score a whole file that was encoded from the source.
int ffcrf_verify(const Options *o, const char *path, Result *result,
                 ProgressFunc progress, void *opaque);

// ---- score.c ----

/// Those that there are; the last has no name.
extern const Metric ffcrf_metrics[];

/// @param filter with options, or NULL
int ffcrf_has_filter(const char *filter);

/// The mean of scores: of decibels, it is made of the distances that they stand for.
double ffcrf_mean(const Metric *m, const double *value, int nb);

/**
 * One frame of each run of step frames, at a place that changes from run to run,
 * as encoders repeat their kinds of frames with a period. The first is one.
 * A filter that looks at the frames before gets all.
 */
int ffcrf_is_scored(const Metric *m, int64_t n, int step);

/// @return 0, or AVERROR(EINVAL) after a message
int ffcrf_check_vmaf_model(const Options *o);

/**
 * Make a graph.
 *
 * @param text   filters; the second input's label is in1
 * @param frame  what goes into each input looks like these
 * @param device for hwupload, or NULL
 */
int ffcrf_graph_open(Graph *g, const char *text, const AVFrame *const frame[2],
                     AVRational time_base, AVRational frame_rate, AVBufferRef *device);

/// The form in which a GPU scores frames of that format, NONE if it cannot.
enum AVPixelFormat ffcrf_gpu_format(enum AVPixelFormat format);

/**
 * Prepare to score.
 *
 * @param step of the frames of which ffcrf_is_scored(), one of so many is scored
 */
void ffcrf_scorer_open(Scorer *s, const Options *o, int step);

/// Score a frame of an encode by that of the source.
int ffcrf_scorer_add(Scorer *s, const AVFrame *encode, const AVFrame *source);

/// Take what the filter still holds: score[] is complete then.
int ffcrf_scorer_finish(Scorer *s);

void ffcrf_scorer_close(Scorer *s);

// ---- cache.c ----

typedef struct Cache {
    char *dir;                  ///< NULL: nothing is kept
    AVBPrint key;               ///< what the key of all entries begins with
    int failed;                 ///< it was told that nothing can be written
} Cache;

/// Find the folder, and all that entries depend on but sample and CRF.
int ffcrf_cache_open(Cache *cache, const Options *o);

/// @return 1 if there was such an entry, 0 if not
int ffcrf_cache_get(const Cache *cache, const Options *o, const Sample *sample, double crf, Result *result);

/// Keep a result. If that fails it is told once, and the search goes on.
void ffcrf_cache_put(Cache *cache, const Options *o, const Sample *sample, double crf, const Result *result);

void ffcrf_cache_close(Cache *cache);

// ---- command.c ----

/// The ffmpeg command that makes the encode.
typedef struct Command {
    char **argument;            ///< the last, before a NULL, is the output's name
    int nb;
    int error;                  ///< of what was added, or 0
    int is_quiet;               ///< set it to hear only of errors
} Command;

/**
 * Make the command for a CRF.
 *
 * @param command empty
 * @param format the input, opened
 * @param video  its stream that is encoded
 * @return 0, or a negative AVERROR after a message
 */
int ffcrf_command_make(Command *command, const Options *o, AVFormatContext *format,
                       const AVStream *video, double crf, const char *output);

/// Write it as a shell takes it.
void ffcrf_command_print(AVBPrint *text, const Command *command);

/// Run it. The output gets its name only once it is whole.
int ffcrf_command_run(const Command *command, int nb_frames, ProgressFunc progress, void *opaque);

void ffcrf_command_free(Command *command);

#endif /* TOOLS_CRF_FFCRF_H */
