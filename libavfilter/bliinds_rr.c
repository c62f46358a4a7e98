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

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/avutil.h"
#include "libavutil/bprint.h"
#include "libavutil/error.h"
#include "libavutil/file_open.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"

#include "bliinds_rr.h"

#define MAGIC   "bliinds-rr"
#define VERSION 3

/// Largest number of a frame, and time in us (36,000 years): twice a difference does not overflow.
#define MAX_POSITION (INT64_MAX / 8)

/// Distance in us that is taken for the only frame of a source: half of it covers the rounding
/// of time bases.
#define LONE_DISTANCE 2000

/**
 * Largest change of the energy of large shapes that coding can cause, see
 * is_other_content(): 0.75 in log2, a factor of 1.7.
 */
#define MAX_CHANGE (BLIINDS_ENERGY_ONE * 3 / 4)

/// Warn if more than one of this many frames has a larger change.
#define OTHER_PARTS 10

#define TIME(time) time_string((char[32]){ 0 }, 32, time)

static const char *const range_name[] = { "full", "limited" };

static const char *time_string(char *text, size_t size, int64_t time)
{
    if (time == AV_NOPTS_VALUE)
        return "an unknown time";
    snprintf(text, size, "%f s", time / (double)AV_TIME_BASE);
    return text;
}

// ---- writing ----

void ff_bliinds_rr_init(BLIINDSRR *s, ScoreOutputs *outputs)
{
    if (s->write_path) {
        s->out.path = s->write_path;
        outputs->output[outputs->nb_outputs++] = &s->out;
    }
    outputs->carried      = &s->kept;
    outputs->carried_size = sizeof(s->kept);
}

int ff_bliinds_rr_write(BLIINDSRR *s, ScoreOutputs *outputs, void *logctx,
                        const BLIINDSRRFrame *frame)
{
    AVBPrint text;
    int ret;

    av_bprint_init(&text, 0, AV_BPRINT_SIZE_AUTOMATIC);
    if (!s->out.body)
        av_bprintf(&text, MAGIC " " AV_STRINGIFY(VERSION) "\n");
    if (frame && memcmp(&frame->format, &s->kept.format, sizeof(s->kept.format))) {
        s->kept.format = frame->format;
        av_bprintf(&text, "format %d %d %s %d\n", s->kept.format.width, s->kept.format.height,
                   range_name[s->kept.format.limited], s->kept.format.depth);
    }
    if (frame) {
        av_bprintf(&text, "%"PRId64" ", frame->n);
        if (frame->time == AV_NOPTS_VALUE)
            av_bprintf(&text, "- %d", frame->valid);
        else
            av_bprintf(&text, "%"PRId64" %d", frame->time, frame->valid);
        for (int i = 0; i < BLIINDS_NB_BANDS; i++)
            av_bprintf(&text, " %d", frame->energies.band[i]);
        av_bprintf(&text, "\n");
    }
    ret = ff_score_output_write(outputs, logctx, &s->out, &text);
    av_bprint_finalize(&text, NULL);
    return ret;
}

// ---- reading ----

static int damaged(const BLIINDSRR *s, void *logctx, const char *what)
{
    av_log(logctx, AV_LOG_ERROR, "Line %"PRIu64" of '%s' is not %s: the file is "
           "damaged; write it again from the source.\n", s->nb_lines, s->read_path, what);
    return AVERROR_INVALIDDATA;
}

/// Take a number and the space before it from a line.
static int take_number(const char **p, int64_t min, int64_t max, int64_t *number)
{
    char *end;

    *p   += **p == ' ';
    errno = 0;
    *number = strtoll(*p, &end, 10);
    if (end == *p || errno || *number < min || *number > max)
        return 0;
    *p = end;
    return 1;
}

static int read_version(const BLIINDSRR *s, void *logctx, const char *line)
{
    const char *p;
    int64_t version;

    if (!av_strstart(line, MAGIC " ", &p) || !take_number(&p, 1, INT_MAX, &version) || *p) {
        av_log(logctx, AV_LOG_ERROR, "'%s' is not a file that rr_write has written.\n",
               s->read_path);
        return AVERROR_INVALIDDATA;
    }
    if (version != VERSION) {
        av_log(logctx, AV_LOG_ERROR, "'%s' has version %"PRId64" of its format, and this "
               "filter reads %d: write it again from the source, by this filter.\n",
               s->read_path, version, VERSION);
        return AVERROR_INVALIDDATA;
    }
    return 0;
}

static int read_format(BLIINDSRR *s, void *logctx, const char *line)
{
    BLIINDSRRFormat *f = &s->read_format;
    char range[8];
    int end = 0;

    if (sscanf(line, "format %5d %5d %7s %2d%n", &f->width, &f->height, range, &f->depth,
               &end) < 4 ||
        line[end] || f->width < 1 || f->height < 1 || f->depth < 8 || f->depth > 16)
        return damaged(s, logctx, "a format");
    f->limited = !strcmp(range, range_name[1]);
    return strcmp(range, range_name[f->limited]) ? damaged(s, logctx, "a format") : 0;
}

static int read_frame(BLIINDSRR *s, void *logctx, const char *p)
{
    BLIINDSRRFrame frame = { .format = s->read_format, .time = AV_NOPTS_VALUE };
    BLIINDSRRFrame *frames;
    int64_t number = 0;
    int good = take_number(&p, 0, MAX_POSITION, &frame.n);

    if (!strncmp(p, " - ", 3))
        p += 2;
    else
        good = good && take_number(&p, -MAX_POSITION, MAX_POSITION, &frame.time);
    good = good && take_number(&p, 0, 1, &number);
    frame.valid = number;
    for (int i = 0; i < BLIINDS_NB_BANDS; i++) {
        good = good && take_number(&p, BLIINDS_ENERGY_MIN, BLIINDS_ENERGY_MAX, &number);
        frame.energies.band[i] = number;
    }
    if (!good || *p || !frame.format.width)
        return damaged(s, logctx, "a frame");
    if (frame.n <= s->last_n)
        return damaged(s, logctx, "a frame after the one before");
    s->last_n = frame.n;

    if (s->match == BLIINDS_RR_TIME &&
        (frame.time == AV_NOPTS_VALUE ||
         s->nb_frames && frame.time <= s->frame[s->nb_frames - 1].time)) {
        s->nb_ignored++;
        return 0;
    }
    if (s->nb_frames + 1 > UINT_MAX / sizeof(frame))
        return AVERROR(ENOMEM);
    frames = av_fast_realloc(s->frame, &s->frame_size, (s->nb_frames + 1) * sizeof(frame));
    if (!frames)
        return AVERROR(ENOMEM);
    s->frame = frames;
    frames[s->nb_frames++] = frame;
    return 0;
}

static int read_line(BLIINDSRR *s, void *logctx)
{
    s->nb_lines++;
    return s->nb_lines == 1 ? read_version(s, logctx, s->text) :
           av_strstart(s->text, "format", NULL) ? read_format(s, logctx, s->text) :
           read_frame(s, logctx, s->text);
}

/// Read the whole lines that were written since the last call.
static int read_lines(BLIINDSRR *s, void *logctx)
{
    int ret = 0;

    clearerr(s->in);
    errno = 0;
    while (ret >= 0 && fgets(s->text + s->text_size, sizeof(s->text) - s->text_size, s->in)) {
        const size_t nb = strlen(s->text + s->text_size);

        s->text_size += nb;
        if (nb && s->text[s->text_size - 1] != '\n' && s->text_size < sizeof(s->text) - 1)
            continue;
        // a line that is too long, or has a zero byte, is made empty: that is an error
        s->text[nb && s->text[s->text_size - 1] == '\n' ? s->text_size - 1 : 0] = 0;
        s->text_size = 0;
        ret = read_line(s, logctx);
    }
    if (ret >= 0 && ferror(s->in)) {
        ret = errno ? AVERROR(errno) : AVERROR(EIO);
        av_log(logctx, AV_LOG_ERROR, "Cannot read '%s': %s.\n", s->read_path, av_err2str(ret));
    }
    return ret;
}

// ---- matching ----

/// The time or the number by which frames are matched.
static int64_t position(const BLIINDSRR *s, const BLIINDSRRFrame *frame)
{
    return s->match == BLIINDS_RR_TIME ? frame->time : frame->n;
}

/// Index of the nearest frame of the source, of two the earlier one. The source has frames.
static uint64_t find_nearest(const BLIINDSRR *s, int64_t pos)
{
    uint64_t low = 0, high = s->nb_frames - 1;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        int64_t before  = position(s, &s->frame[middle]);
        int64_t after   = position(s, &s->frame[middle + 1]);

        if (pos - before <= after - pos)
            high = middle;
        else
            low  = middle + 1;
    }
    return low;
}

/**
 * The shorter distance from a frame of the source to its neighbours. By their numbers,
 * frames that were not written are counted in.
 */
static int64_t frame_distance(const BLIINDSRR *s, uint64_t i)
{
    int64_t distance = INT64_MAX;

    if (s->match == BLIINDS_RR_NUMBER)
        return 1;
    for (uint64_t j = FFMAX(i, 1); j <= i + 1 && j < s->nb_frames; j++) {
        const BLIINDSRRFrame *f = &s->frame[j];

        distance = FFMIN(distance, (f->time - f[-1].time) / (int64_t)(f->n - f[-1].n));
    }
    return distance < INT64_MAX ? distance : LONE_DISTANCE;
}

static int is_within_half(const BLIINDSRR *s, uint64_t i, int64_t pos)
{
    const int64_t distance = FFABS(pos - position(s, &s->frame[i]));

    // 2 * distance of numbers may overflow
    return distance < frame_distance(s, i) - distance;
}

/// Warn if the first frames have different times: the encode may be a part, or be delayed.
static void check_start(const BLIINDSRR *s, void *logctx, const BLIINDSRRFrame *encode)
{
    const BLIINDSRRFrame *first = &s->frame[0];

    if (s->match == BLIINDS_RR_TIME && encode->n == first->n &&
        !is_within_half(s, 0, encode->time))
        av_log(logctx, AV_LOG_WARNING, "The first frame is at %s, but that of the source in '%s' "
               "at %s. If both are the same picture, put setpts=PTS-STARTPTS before the filter, "
               "here and where rr_write is.\n", TIME(encode->time), s->read_path,
               TIME(first->time));
}

static BLIINDSRRFrame *find_match(BLIINDSRR *s, void *logctx, const BLIINDSRRFrame *encode)
{
    const int64_t pos = position(s, encode);
    uint64_t i;

    if (!s->nb_frames || pos == AV_NOPTS_VALUE)
        return NULL;
    if (!s->kept.nb_matched && !s->kept.nb_unmatched)
        check_start(s, logctx, encode);
    i = find_nearest(s, pos);
    return is_within_half(s, i, pos) ? &s->frame[i] : NULL;
}

/**
 * Whether a frame cannot be an encode of the source's, however coarse. Coding removes
 * the low band of level 3 last, and the edges of its blocks add nothing to the low bands
 * of levels 2 and 3.
 */
static int is_other_content(const BLIINDSEnergies *source, const BLIINDSEnergies *encode)
{
    const int l2 = 1 * 3, l3 = 2 * 3;

    return FFABS(encode->band[l3] - source->band[l3]) > MAX_CHANGE ||
           encode->band[l2] - source->band[l2] > MAX_CHANGE;
}

int ff_bliinds_rr_find(BLIINDSRR *s, void *logctx, const BLIINDSRRFrame *encode,
                       const BLIINDSRRFrame **source)
{
    BLIINDSRRFrame *f;

    *source = NULL;
    if (!s->nb_frames || position(s, encode) > position(s, &s->frame[s->nb_frames - 1])) {
        s->error = read_lines(s, logctx);
        if (s->error < 0)
            return s->error;
    }
    f = find_match(s, logctx, encode);
    if (!f) {
        if (!s->kept.nb_unmatched++)
            s->kept.first_unmatched = *encode;
        return 0;
    }
    if (f->format.width != encode->format.width || f->format.height != encode->format.height ||
        f->format.limited != encode->format.limited) {
        const BLIINDSRRFormat *e = &encode->format;

        av_log(logctx, AV_LOG_ERROR, "A frame of %dx%d and %s range cannot be compared with the "
               "source's in '%s', which is %dx%d and of %s range: write the source in the encode's "
               "form, with scale=%d:%d:out_range=%s before the filter that has rr_write.\n",
               e->width, e->height, range_name[e->limited], s->read_path,
               f->format.width, f->format.height, range_name[f->format.limited],
               e->width, e->height, range_name[e->limited]);
        return s->error = AVERROR(EINVAL);
    }
    s->kept.nb_matched++;
    s->nb_other += f->valid && is_other_content(&f->energies, &encode->energies);
    s->kept.nb_used += !f->used;
    f->used = 1;
    *source = f;
    return 0;
}

// ---- files ----

int64_t ff_bliinds_rr_time(int64_t pts, AVRational time_base)
{
    int64_t time = AV_NOPTS_VALUE;

    if (pts != AV_NOPTS_VALUE)
        time = av_rescale_q(pts, time_base, AV_TIME_BASE_Q);
    return time >= -MAX_POSITION && time <= MAX_POSITION ? time : AV_NOPTS_VALUE;
}

static int open_file(BLIINDSRR *s, const ScoreOutputs *outputs, void *logctx)
{
    int ret;

    if (ff_score_outputs_have(outputs, s->read_path)) {
        av_log(logctx, AV_LOG_ERROR, "The filter would replace '%s', which rr_read reads: name "
               "another file to write.\n", s->read_path);
        return AVERROR(EINVAL);
    }
    s->in = avpriv_fopen_utf8(s->read_path, "rb");
    if (!s->in) {
        ret = AVERROR(errno);
        av_log(logctx, AV_LOG_ERROR, "Cannot open '%s' for reading: %s.\n",
               s->read_path, av_err2str(ret));
        return ret;
    }
    s->last_n = -1;
    ret = read_lines(s, logctx);
    return ret < 0 || s->nb_lines ? ret : read_version(s, logctx, "");
}

int ff_bliinds_rr_open(BLIINDSRR *s, const ScoreOutputs *outputs, void *logctx)
{
    if (!s->is_open && s->read_path) {
        s->is_open = 1;
        s->error   = open_file(s, outputs, logctx);
    }
    return s->error;
}

/**
 * Warn if most of the source was not compared. An encode of a part whose times begin at 0
 * matches the beginning of the source, wherever the part is from: the times cannot tell.
 */
static void check_use(const BLIINDSRR *s, void *logctx)
{
    uint64_t first = 0, last = s->nb_frames;

    if (!s->kept.nb_used)
        return;
    while (!s->frame[first].used)
        first++;
    while (!s->frame[--last].used)
        ;
    // frames that are missing in between were left out or lost
    if (2 * (last - first + 1) < s->nb_frames)
        av_log(logctx, AV_LOG_WARNING, "Most of the source was not compared: '%s' has numbers "
               "%"PRId64" to %"PRId64", from %s to %s, and those compared are %"PRId64" to "
               "%"PRId64", from %s to %s. If the encode is of another part, its loss is wrong: "
               "keep its times, by -copyts before -ss, or write the statistics of that part "
               "alone.\n", s->read_path, s->frame[0].n, s->frame[s->nb_frames - 1].n,
               TIME(s->frame[0].time), TIME(s->frame[s->nb_frames - 1].time),
               s->frame[first].n, s->frame[last].n,
               TIME(s->frame[first].time), TIME(s->frame[last].time));
}

static void report(BLIINDSRR *s, void *logctx)
{
    // after a rebuild of the filter graph, frames may be counted as used twice
    s->nb_unused = s->nb_frames - FFMIN(s->kept.nb_used, s->nb_frames);
    av_log(logctx, AV_LOG_INFO, "'%s': matched:%"PRIu64" unmatched:%"PRIu64" unused:%"PRIu64"\n",
           s->read_path, s->kept.nb_matched, s->kept.nb_unmatched, s->nb_unused);
    if (s->nb_ignored)
        av_log(logctx, AV_LOG_WARNING, "'%s' has %"PRIu64" frames whose timestamps do not "
               "follow: they were not compared. Try rr_match=number.\n",
               s->read_path, s->nb_ignored);
    if (s->text_size)
        av_log(logctx, AV_LOG_WARNING, "'%s' ends within a line, which was not compared: "
               "was its writing cut off?\n", s->read_path);
    if (!s->nb_frames)
        av_log(logctx, AV_LOG_WARNING, "'%s' has no frames to compare with.\n", s->read_path);
    else if (s->kept.nb_unmatched)
        av_log(logctx, AV_LOG_WARNING, "No frame of the source was found for %"PRIu64" of "
               "%"PRIu64" frames, first for number %"PRId64" at %s: they have no loss. '%s' has "
               "numbers %"PRId64" to %"PRId64", from %s to %s.\n", s->kept.nb_unmatched,
               s->kept.nb_matched + s->kept.nb_unmatched, s->kept.first_unmatched.n,
               TIME(s->kept.first_unmatched.time), s->read_path, s->frame[0].n,
               s->frame[s->nb_frames - 1].n, TIME(s->frame[0].time),
               TIME(s->frame[s->nb_frames - 1].time));
    check_use(s, logctx);
    if (OTHER_PARTS * s->nb_other > s->kept.nb_matched)
        av_log(logctx, AV_LOG_WARNING, "In %"PRIu64" of %"PRIu64" frames the large shapes differ "
               "from the source's by more than coding makes: is '%s' of this film, and of this "
               "part of it? If it is, something else was done to one of both, as to contrast, "
               "borders or sharpness, and the loss is not that of the encode.\n",
               s->nb_other, s->kept.nb_matched, s->read_path);
}

int ff_bliinds_rr_close(BLIINDSRR *s, void *logctx)
{
    if (s->in) {
        if (!s->error)
            s->error = read_lines(s, logctx);
        if (!s->error)
            report(s, logctx);
        fclose(s->in);
        s->in = NULL;
    }
    av_freep(&s->frame);
    s->nb_frames = 0;
    return s->error;
}
