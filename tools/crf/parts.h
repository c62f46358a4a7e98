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
 * What the parts of ffcrf share, from the lowest up. Functions that return int, and say nothing
 * else, return 0, or -1 after a message.
 */

#ifndef TOOLS_CRF_PARTS_H
#define TOOLS_CRF_PARTS_H

#include <signal.h>
#include <stdio.h>

#include "libavformat/avformat.h"
#include "libavutil/avstring.h"

// ---- search.c: which CRF to try next, by what is known so far ----

/// The most encodes of each sample.
#define SEARCH_MOST 11

/// A metric, and what its scores mean.
typedef struct Metric {
    const char *name;           ///< also the name of the filter
    const char *key;            ///< beginning of the metadata keys of its scores
    int higher_is_better;
    int is_in_decibels;
    double best;                ///< score of an identical encode
    double offset;              ///< |best - score| + offset grows about exponentially with the CRF
    double typical;             ///< score in the middle of an encoder's range
    int digits;                 ///< printed decimal places
    double tolerance;           ///< default of --tolerance
    int step;                   ///< default of --score-every for long parts
} Metric;

/// Whether a is at least as good as b.
static inline int reaches(const Metric *m, double a, double b)
{
    return m->higher_is_better ? a >= b : a <= b;
}

/// What is known of a CRF that was tried, for the whole encode.
typedef struct Point {
    double crf, score;          ///< the score is that of --pool
    double size, size_error;    ///< bytes; the error is NAN if one sample does not tell it
    double percent;             ///< of the size of the source's video
    double seconds;
    double mean;                ///< score of all frames
} Point;

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
 * Choose the next CRF, by the points that were tried, which are by rising CRF. The highest that
 * reaches the target is searched, with all below it: all above the first miss are taken to miss.
 *
 * @param crf   set to the one to try
 * @param found set to the point that ended the search, NULL while there is a CRF to try
 */
SearchState search_next(const SearchPlan *plan, const Point *point, int nb_points,
                        double *crf, const Point **found);

// ---- ui.c: messages, a progress meter, and the command line ----

/// Return memory that was allocated, or end the program if there is none.
void *checked(void *memory);

/// Format a string, which is never freed.
#define text(...) ((char *)checked(av_asprintf(__VA_ARGS__)))

#define tell(...) tell_text(text(__VA_ARGS__))
#define fail(...) fail_with(text(__VA_ARGS__))

/// Print a message. Control characters, which names of files may contain, become '?'.
void tell_text(char *message);

extern const char *last_error;
int fail_with(const char *message);         ///< @return -1

/// Start the progress meter. @param doing beginning of its lines
/// @param jobs number of equal jobs that are left, including this one
void progress_begin(const char *doing, double jobs);
void progress_show(int frames, int nb_frames);
void progress_end(void);

const char *clock_time(double seconds);     ///< 1:02:03 or 2:03

/// A file, as far as it is known without decoding.
typedef struct Input {
    AVFormatContext *format;
    AVStream *stream;           ///< the video
    // of the part that is used
    struct Unit {
        double time;            ///< in seconds
        int64_t size;
    } *unit;                    ///< the packets of the video
    int nb_units;
    int64_t bytes;
    double seconds;             ///< to the end of the last one
    uint64_t hash[2];           ///< of all packets of the video
    int is_live;                ///< may wait for data without an end
    int seekable;
} Input;

/// Options of one run of ffcrf, and the state that all its commands depend on.
typedef struct Job {
    const AVClass *class;

    // set from the command line by the table in ui.c; times are in microseconds
    const char *input;
    int64_t start, end, length; ///< part of the input; length 0: to its end
    const char *hwaccel, *encoder;
    const char *filters, *reference;  ///< filters before the encoder, and before the comparison
    const char *rate, *size, *keyint, *pix_fmt;
    int nb_frames;              ///< maximum of the encode, or 0
    const char *model, *pool;
    int scale[2];               ///< size for VMAF, or 0, or SCALE_AUTO
#define SCALE_AUTO (-1)
    SearchPlan plan;
    double crf;
    int samples, min_samples;
    int64_t every, duration;    ///< distance and length of samples
    int step;
    const char *gpu, *encode, *verify, *loglevel;
    int thorough, cache, video_only, overwrite, json, help, version;
    const char *ignored;        ///< field of options that set other fields
    AVDictionary *encoder_options;
    AVDictionary *other_options; ///< options of the output file and of other streams
    int crf_is_ffmpegs;         ///< the CRF is given as -crf, as in a command that was printed
    int is_bare_output;         ///< no option names the output, and it is not of a printed command

    // derived from the options
    int has_target;             ///< otherwise any score reaches plan.target
    const Metric *metric;
    const AVOutputFormat *muxer; ///< of the output
    const char *crf_option;     ///< the encoder's name of the option that is searched
    const char *upload;         ///< filters that upload frames for VAAPI, or ""

    // set by encode_init() and encode_first()
    Input in;
    const char *ffmpeg, *ffmpeg_version;
    const char *ffmpeg_path;    ///< or NULL
    const AVCodecParameters *coded;     ///< of the encode, once a first frame was encoded
    const char *gpu_format;     ///< of the frames that are scored on a GPU, or NULL
    int mixed_depth;               ///< an encode of 8 bits is scored against 10
} Job;

int options_parse(Job *j, int argc, char **argv);

/// Set the options of the encoder. @param help output of `ffmpeg -h encoder=`
int options_take_encoder(Job *j, const char *help);

/// Whether an option of ffmpeg, without its dash, takes a value.
int option_takes_value(const char *name);

void options_print_help(void);

/// A name with another ending.
char *output_name(const char *path, const char *ending);

// ---- encode.c: what is known of files, and ffmpeg, which encodes and scores ----

/// A part of the source that is encoded. Times are in seconds.
typedef struct Sample {
    double start, duration;     ///< in what is taken of the source; duration 0: all
    int64_t bytes;              ///< of the source
    int nb_frames;              ///< of the source
    int step;                   ///< one of this many frames is scored
} Sample;

/// What came of an encode.
typedef struct Result {
    int nb_frames, nb_scores;
    int nb_source, nb_packets;  ///< frames of the source, and packets of the encode, if counted
    int64_t bytes;
    double seconds;             ///< that it took
    double *score;
} Result;

/// The mean; for decibels, that of the errors that they stand for.
double score_mean(const Metric *m, const Result *r);

/// The score of some samples, by "mean", "worst" or a percentile as "p5".
double score_pool(const Metric *m, const char *pool, const Result *sample, int nb);

/// Quote a word for a POSIX shell. Control characters, which a terminal would obey, and bytes that
/// are not UTF-8, which it could not copy, become the output of printf.
const char *shell_quote(const char *string);

extern volatile sig_atomic_t caught_signal;     ///< the one that asks to end, or 0

/// Open and read the input, and find ffmpeg: that beside this program, or else that of PATH, which
/// has the short name. From now on a signal ends it, too.
int encode_init(Job *j);

/// One of how many frames of a part is scored.
int scoring_step(const Job *j, int nb_frames);

/// Choose the encoder, encode one frame, to learn its format and to check all options, and choose
/// the streams of the output, whose container has to accept the codec.
int encode_first(Job *j);

/// Score the encode of --verify.
int encode_verify(Job *j, Result *r);

/// The command that makes an output, for a user.
const char *encode_command(const Job *j, double crf, const char *output);

/// Encode a sample and score it, unless the result is in the cache. It fails if a frame got lost,
/// or may be paired with the wrong frame.
/// @return 1 if the result is from the cache
int encode_part(const Job *j, double crf, const Sample *sample, const char *output, Result *r);

/// Encode the whole input to the file of --encode, and score it. The file gets its name when it is
/// complete; it does not replace another one without -y.
int encode_whole(const Job *j, double crf, Result *r);

#endif /* TOOLS_CRF_PARTS_H */
