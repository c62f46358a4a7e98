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
 * What the files of ffcrf share, in the order in which they build on each other.
 * If nothing else is said, functions return 0, or < 0 after an error message.
 */

#ifndef TOOLS_CRF_FFCRF_H
#define TOOLS_CRF_FFCRF_H

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libavcodec/avcodec.h"
#include "libavfilter/avfilter.h"
#include "libavformat/avformat.h"
#include "libavutil/avstring.h"
#include "libavutil/bprint.h"
#include "libavutil/common.h"
#include "libavutil/hwcontext.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"
#include "libavutil/time.h"

#define CACHE_VERSION 1     ///< what was measured by another one is measured again

// ---- output.c: messages, progress and JSON; errors that libraries only log ----

extern volatile int caught_signal;  ///< the signal that asks to end, or 0
extern int demuxer_errors;          ///< that were logged: not all demuxers return them
extern char refused_option[256];    ///< what an encoder has logged of an option that it ignores
extern char last_error[1024];       ///< the last message of fail()

void output_init(void);

/// Print an error message. @return ret
int fail(int ret, const char *format, ...) av_printf_format(2, 3);

#define usage(...) fail(AVERROR(EINVAL), __VA_ARGS__)
#define warn(...)  av_log(NULL, AV_LOG_WARNING, __VA_ARGS__)

/// Print a message at any log level.
void tell(const char *format, ...) av_printf_format(1, 2);

void show_meter(const char *doing, const char *what);   ///< on a terminal, until the next message
void clear_meter(void);

/// Start the progress display: its lines begin with doing; jobs are left, this one included.
void progress_begin(const char *doing, double jobs);

/// Show that this part of the job is done. @return 0, or AVERROR_EXIT after a signal
int progress(const char *what, int frames, int nb_frames, double part);

/// Minutes and seconds, with hours if there are any.
const char *clock_time(char text[16], double seconds);
#define CLOCK(seconds) clock_time((char[16]){ 0 }, seconds)

/// A string, one of JSON's words, or else a number, which is null if it is not finite.
typedef struct JSONField {
    const char *key;
    double number;
    const char *string, *word;
} JSONField;

/// Write an object on a line to standard output.
void json_write(const char *type, const JSONField *field);
#define JSON(type, ...) json_write(type, (const JSONField[]){ __VA_ARGS__, { NULL } })

// ---- score.c: filter graphs, and the metrics that they compute ----

typedef struct Metric {
    const char *name;
    const char *filter;
    const char *cuda_filter;    ///< the same on a GPU, or NULL
    const char *key;            ///< of the score in a frame's metadata; NULL: it is in a log only
    const char *step_option;    ///< of the filter, to score one of this many frames, or NULL
    int gets_all;               ///< its filter needs all frames, as it looks at earlier ones
    int source_is_first;        ///< the source is the filter's first input
    int is_of_planes;           ///< there is a score for each plane; their keys begin with key
    int is_in_decibels;
    int higher_is_better;
    int digits;                 ///< after the point
    double best, worst;         ///< score of an identical encode, and of the worst
    double offset;              ///< |best - score| + offset grows about exponentially with the CRF
    double typical;             ///< score in the middle of an encoder's range
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every
    double target;              ///< by default, 0 if there is none
} Metric;

/// All of them; the last has no name.
extern const Metric metrics[];

/// Whether this FFmpeg has a filter; NULL is none.
static inline int has_filter(const char *filter)
{
    return filter && avfilter_get_by_name(filter);
}

/// The mean; for decibels, that of the errors that they stand for.
double metric_mean(const Metric *m, const double *value, int nb);

/// Whether a is at least as good as b.
static inline int metric_reaches(const Metric *m, double a, double b)
{
    return m->higher_is_better ? a >= b : a <= b;
}

/// Whether a frame is scored: one of each step frames. Which one changes, since encoders repeat
/// their types of frames with a period.
int is_scored(const Metric *m, int64_t n, int step);

int check_vmaf_model(const char *model);

/// A filter graph with one or two inputs and an output.
typedef struct Graph {
    AVFilterGraph *graph;
    AVFilterContext *in[2], *out;
} Graph;

/// Make a graph for frames like these. In the text, the label of a second input is in1.
int graph_open(Graph *g, const char *text, const AVFrame *const frame[2],
               AVRational time_base, AVRational frame_rate, AVBufferRef *device);

/// The format in which a GPU takes frames of that format, or NONE.
enum AVPixelFormat gpu_format(enum AVPixelFormat format);

/// Scores pairs of frames by a filter.
typedef struct Scorer {
    const Metric *metric;
    const char *model;          ///< of VMAF
    AVBufferRef *device;        ///< a GPU, or NULL; not owned
    int step;                   ///< one of this many frames is scored
    int64_t time;               ///< that scoring took, in microseconds
    int nb_scores;
    double *score;

    // private
    Graph graph;                ///< made for the first frame
    int64_t nb_frames;
    FILE *log;                  ///< of a metric without metadata
    int nb_planes;              ///< score[] has as many of each frame, until it is complete
    double distance[4];         ///< sum of each plane's
} Scorer;

/// Score a frame of an encode by that of the source, of which is_scored().
int scorer_add(Scorer *s, const AVFrame *encode, const AVFrame *source);
int scorer_finish(Scorer *s);               ///< takes what the filter holds: score[] is complete
void scorer_close(Scorer *s);

// ---- search.c: which CRF to try next, by what was measured so far ----

/// The most encodes of each sample.
#define SEARCH_MOST 11

/// What is known of a CRF that was tried.
typedef struct Point {
    double crf;
    double score;
    // of the whole encode
    double size, size_error;    ///< bytes; the error is NAN if one sample does not tell it
    double percent;             ///< of the size of the source's video
    double encode_seconds;
} Point;

/// What is searched.
typedef struct SearchPlan {
    const Metric *metric;
    double min_crf, max_crf, increment;
    double target, tolerance;   ///< scores; the tolerance may be 0
    double max_percent;         ///< of the size of the source's video
    double exact;               ///< the CRF need not be found more exactly than this
} SearchPlan;

typedef enum SearchState {
    SEARCH_TRY,                 ///< a CRF is to be tried
    SEARCH_TOLERANCE,           ///< found: the score is within the tolerance
    SEARCH_EXACT,               ///< found: the next CRF misses the target
    SEARCH_NEAR,                ///< found: a CRF that is hardly higher misses it
    SEARCH_LAST,                ///< found: the highest CRF that may be tried
    SEARCH_MISSED,              ///< none: the lowest CRF misses the target
    SEARCH_TOO_LARGE,           ///< none: that CRF is too large, and a higher one misses the target
} SearchState;

/// CRFs are tried from this multiple of the increment to that.
double search_first(const SearchPlan *plan);
double search_last(const SearchPlan *plan);

/**
 * Choose the next CRF, by the points that were tried, which are by rising CRF.
 *
 * The CRF that is searched is the highest that reaches the target, with all below it. A
 * metric that is worse in between is taken as if all above the first miss missed.
 *
 * @param crf   set to the one to try
 * @param found set to the point that ended the search, NULL while there is a CRF to try
 */
SearchState search_next(const SearchPlan *plan, const Point *point, int nb_points,
                        double *crf, const Point **found);

// ---- options.c: what is asked for on the command line ----

/// What --pool makes of the scores.
enum { POOL_MEAN, POOL_WORST_SAMPLE, POOL_PERCENTILE };

typedef struct Options {
    const AVClass *class;

    // set from the command line, see the table in options.c
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
    char *completion, *complete;
    int loglevel, help, version;
    AVDictionary *encoder_options;

    // what that means
    const AVCodec *encoder;
    const Metric *metric;
    int pool, percent;

    // devices, or NULL
    AVBufferRef *device;        ///< a GPU that scores
    AVBufferRef *decode_device; ///< that decodes the input
    AVBufferRef *encode_device; ///< of an encoder that takes its frames only
} Options;

int options_parse(Options *o, int argc, char **argv);   ///< every option, or its default
int options_check(Options *o);              ///< finds what is wrong, or does not go together
void options_free(Options *o);

void print_help(void);
int print_completion(const char *shell);    ///< a script for this shell
void print_completions(const char *word);   ///< what may follow this word of a command line

/// "12m", "1h30m", "20s", "500ms", seconds, or hh:mm:ss. @return microseconds, or < 0
int64_t parse_duration(const char *text);

/// The encode's name, where none was given.
char *default_output(const Options *o, const char *kind);

/// Its name until it is complete.
char *output_part(const char *output);

/// All options that the encoder gets.
int encoder_options(const Options *o, double crf, AVDictionary **options);

int is_on_gpu(const AVCodec *encoder);              ///< it takes frames of the GPU that scores
int has_software_format(const AVCodec *encoder);    ///< it takes frames in memory

/// The formats that an encoder takes on its device, for the format filter.
const char *upload_formats(const Options *o);

/// The formats that the encoder takes, as upload_formats(); nothing if they do not matter.
int print_formats(const Options *o, AVBPrint *text);

// ---- source.c: a file's video: decoded, filtered, and what of it is damaged ----

typedef struct Source {
    AVFormatContext *format;
    AVStream *stream;
    const Options *options;     ///< whose part of the file is taken, and how, or NULL: all
    int seeks_late;             ///< a seek to the start went too far: decoding began earlier
    int is_downloaded;          ///< a device has decoded it
    int keeps_all;              ///< also frames whose time does not rise
    uint64_t nb_repeated;       ///< frames left out, as their time does not rise
    uint64_t bytes;             ///< of the packets between start and end
    AVRational time_base, frame_rate;               ///< of the output

    // private
    AVCodecContext *decoder;
    AVPacket *packet;
    AVFrame *frame;             ///< decoded, and waiting for a graph to be made for it
    int has_frame, ended;
    const char *filters;        ///< the user's
    AVBPrint formats;           ///< filters that all output has to go through after these
    AVBufferRef *device;        ///< to which frames are uploaded, or NULL; not owned
    Graph graph;
    int64_t start, end;         ///< in the stream's time base
    int64_t shift;              ///< taken off all times
    int64_t next_pts;           ///< of a frame without a timestamp
    int64_t last_out;
    int64_t position;           ///< of the last packet of the video
    uint64_t nb_damaged;        ///< packets and frames that are damaged between start and end
    int64_t damage[2];          ///< position of the first and the last of them
} Source;

/// What is known of a file's video once all packets were read.
typedef struct Scan {
    int nb_frames;
    uint64_t bytes;
    double seconds;             ///< to its end
    double missing;             ///< by which the stated duration is longer than all streams
} Scan;

/// Open a decoder in place of *decoder, on a device if it is not NULL.
int decoder_open(AVCodecContext **decoder, const AVCodecParameters *par, AVRational time_base,
                 AVBufferRef *device);

/// Send a packet to a decoder. If the device cannot decode it, the CPU takes over.
int decoder_send(AVCodecContext **decoder, const AVCodecParameters *par, const AVPacket *packet);

/// Open a file and its largest video stream. Without options, all of it is used.
int source_open(Source *s, const char *path, const Options *o);

/// Open a part of the input, with the filters of the encode or of the reference. start is in
/// microseconds from -ss; duration 0 is all.
int source_open_part(Source *s, const Options *o, int is_reference,
                     int64_t start, int64_t duration);

/// @return 0, AVERROR_EOF, or another error after a message
int source_next(Source *s, AVFrame *frame);

double source_seconds(const Source *s);     ///< length of the used part, as the file states it
int source_scan(Source *s, Scan *scan);     ///< reads all packets, without decoding them

/// Tell that a file is damaged or cut off. @return 0 if that is accepted
int tell_damage(const Options *o, const char *path, const char *what);

/// Tell what was found damaged. @return 0 if nothing was, or that is accepted
int source_check(const Source *s, const Options *o);

void source_close(Source *s);

// ---- sample.c: samples of the source, and candidates: their encodes, with scores ----

/// Where memory is left for frames, in bytes.
enum { MEMORY_SYSTEM, MEMORY_GPU, NB_MEMORIES };

/// Frames that are kept in memory: all, or none if they did not fit.
typedef struct Frames {
    AVFrame **frame;
    int nb, is_full;
} Frames;

/// A part of the source that candidates are made of.
typedef struct Sample {
    int number;                 ///< from 0
    int64_t start, duration;    ///< in microseconds of what is taken; duration 0: all

    // once it is loaded
    int loaded;
    int step;                   ///< one of this many frames is scored
    Frames frames;              ///< as the encoder gets them
    Frames references;          ///< those to compare with, if these are not the same frames
    int64_t *pts;               ///< of all frames
    int nb_frames;
    AVRational time_base, frame_rate;
    uint64_t bytes;
    double seconds;
    double decode_seconds;      ///< that decoding and filtering it took
} Sample;

/// What is known of a candidate.
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

int64_t gpu_memory(AVBufferRef *device);        ///< that is free, 0 if that is not known
Scorer scorer_new(const Options *o, int step);  ///< scores as the options say

/// Decode a sample, once: count its frames, and keep them if the memory that is left is enough.
int sample_load(const Options *o, Sample *sample, int64_t memory[NB_MEMORIES]);
void sample_unload(Sample *sample);

/// Encode a sample; decode and score the encode.
int sample_encode(const Options *o, const Sample *sample, double crf, Result *result);

/// Score a whole file that was encoded from the source.
int score_file(const Options *o, const char *path, Result *result);

// ---- cache.c: a file for each candidate of each sample ----

typedef struct Cache {
    char *dir;                  ///< NULL: nothing is kept
    AVBPrint key;               ///< all that entries depend on but sample and CRF
    int failed;                 ///< a warning has said that nothing can be written
} Cache;

int cache_open(Cache *cache, const Options *o);

/// @return 1 if there was such an entry, 0 if not
int cache_get(const Cache *cache, const Options *o, const Sample *sample, double crf, Result *r);

/// Keep a result. If that fails, there is one warning, and the search goes on.
void cache_put(Cache *cache, const Options *o, const Sample *sample, double crf, const Result *r);

void cache_close(Cache *cache);

// ---- command.c: the ffmpeg command that makes the encode; the printed one is also run ----

/// Make the command for a CRF, quoted for a shell; the caller frees it. If not quiet, warnings
/// name the streams that are left out. progress_options come first, and may be "".
int command_make(char **command, const Options *o, const Source *input, double crf,
                 const char *output, int is_quiet, const char *progress_options);

/// Run the command. The output gets its name when it is complete.
int command_run(const Options *o, const Source *input, double crf, int nb_frames);

#endif /* TOOLS_CRF_FFCRF_H */
