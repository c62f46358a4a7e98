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
 * Writes the logs of a quality filter from records, which it makes with
 * log_fmt=record. Records of parts of one video are joined to the logs of the
 * whole: the frames go through the filters' own log once more, so that all is as
 * if one process had scored them. Each part has to begin with frames with which
 * the one before it ends. They must be the same in every bit, which shows that
 * nothing was lost, doubled or decoded otherwise where the video was cut.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/mathematics.h"
#include "libavfilter/score_log.c"
#include "libavfilter/score_output.c"
#include "libavfilter/score_pool.c"

/// Exit codes beside 0.
enum {
    EXIT_ERROR = 1,
    EXIT_USAGE,
    EXIT_APART,         ///< the parts are no whole
    EXIT_DAMAGED,       ///< a part is damaged
};

/// FFmpeg takes a jump of the timestamps as long as that for a new clock, and
/// mends it if it comes by it, but not if it starts behind it.
#define MAX_GAP 10

/// What doubles have after the point, at most.
#define MAX_DIGITS 17

/// Seconds that a part takes are no more: a damaged rate makes any number of them.
#define MAX_SECONDS 1e9

typedef struct Part {
    const char *path;
    char *header;       ///< lines before the first frame; the whole text begins here
    char **frame;       ///< lines of frames, from the number on
    int nb_frames;
    int nb_used;        ///< frames that no later part has
    ScoreCounter *counter;
    int nb_counters;
    uint64_t nb_seen;   ///< frames, scored or not
    double fps;
} Part;

typedef struct Merge {
    const AVClass *class;
    ScoreLog log;
    char *header;       ///< strings of the log
    ScoreMetric *metric;
    double *value;
    Part *part;
    int nb_parts;
} Merge;

#define OFFSET(x) offsetof(Merge, x)

static const AVOption merge_options[] = {
    SCORE_LOG_OPTIONS(Merge, log, 0),
    { NULL }
};

static const AVClass merge_class = {
    .class_name = "quality_merge",
    .item_name  = av_default_item_name,
    .option     = merge_options,
    .version    = LIBAVUTIL_VERSION_INT,
};

static char *read_file(Merge *m, const char *path)
{
    FILE *file = avpriv_fopen_utf8(path, "rb");
    size_t size = 0, capacity = 1 << 16;
    char *text = NULL;

    while (file && !feof(file) && !ferror(file)) {
        char *larger = av_realloc(text, capacity *= 2);

        if (!larger) {
            av_freep(&text);
            break;
        }
        text  = larger;
        size += fread(text + size, 1, capacity - size - 1, file);
        text[size] = 0;
    }
    if (!file || ferror(file) || !text) {
        av_log(m, AV_LOG_ERROR, "Cannot read '%s': %s.\n", path, av_err2str(AVERROR(errno)));
        av_freep(&text);
    }
    if (file)
        fclose(file);
    return text;
}

static int damaged(Merge *m, const Part *part)
{
    av_log(m, AV_LOG_ERROR, "'%s' is damaged, or is not whole: make it again.\n", part->path);
    return EXIT_DAMAGED;
}

/// The line at *next, which is set to the one after it; NULL for what has no end.
static char *read_line(char **next)
{
    char *line = *next, *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end  = 0;
    *next = end + 1;
    return line;
}

/// Cut a record to its parts. It stays in memory, with the ends of lines as zeros.
static int read_part(Merge *m, Part *part)
{
    char *next = read_file(m, part->path), *line, *value;

    part->header = next;
    if (!next)
        return EXIT_ERROR;
    if (!av_strstart(next, SCORE_RECORD_MAGIC "\n", NULL)) {
        av_log(m, AV_LOG_ERROR, "'%s' is not a record: make it with log_fmt=record.\n", part->path);
        return EXIT_DAMAGED;
    }
    while (!av_strstart(next, "frame ", NULL) && !av_strstart(next, "counter ", NULL) &&
           !av_strstart(next, "end ", NULL)) {
        next = strchr(next, '\n');
        if (!next)
            return damaged(m, part);
        next++;
    }
    next[-1] = 0;

    while ((line = read_line(&next))) {
        const char *rest;
        int length = 0;

        if (av_strstart(line, "frame ", &rest)) {
            if (!(part->nb_frames % 1024) &&
                av_reallocp_array(&part->frame, part->nb_frames + 1024, sizeof(*part->frame)) < 0)
                return EXIT_ERROR;
            part->frame[part->nb_frames++] = (char *)rest;
        } else if (av_strstart(line, "counter ", &rest)) {
            uint64_t *number;

            value = strchr(rest, ' ');
            if (!value)
                break;
            number = av_malloc(sizeof(*number));
            if (!number || av_reallocp_array(&part->counter, part->nb_counters + 1,
                                             sizeof(*part->counter)) < 0) {
                av_free(number);
                part->nb_counters = 0;
                return EXIT_ERROR;
            }
            *value  = 0;
            *number = strtoull(value + 1, NULL, 10);
            part->counter[part->nb_counters++] = (ScoreCounter){ rest, number };
        } else if (av_strstart(line, "end ", &rest) && !*next &&
                   sscanf(rest, "%"SCNu64" %n", &part->nb_seen, &length) == 1) {
            part->fps     = score_strtod(rest + length, &value);
            part->nb_used = part->nb_frames;
            if (value > rest + length)
                return 0;
            break;
        } else {
            break;
        }
    }
    return damaged(m, part);
}

/// What a log is told of its filter.
static int read_header(Merge *m, Part *part)
{
    ScoreLog *log = &m->log;
    char *next, *line;

    m->header = next = av_asprintf("%s\n", part->header);
    while (next && (line = read_line(&next))) {
        char *key = line, *value = strchr(line, ' ');

        if (!value)
            break;
        *value++ = 0;
        if (!strcmp(key, "version")) {
            if (strcmp(value, LIBAVFILTER_IDENT)) {
                av_log(m, AV_LOG_ERROR, "'%s' was made by %s, and this is " LIBAVFILTER_IDENT
                       ": take quality_merge of the same build.\n", part->path, value);
                return EXIT_ERROR;
            }
        } else if (!strcmp(key, "filter")) {
            log->filter = value;
        } else if (!strcmp(key, "title")) {
            log->title = value;
        } else if (!strcmp(key, "model")) {
            log->model = value;
        } else if (!strcmp(key, "range")) {
            log->min = score_strtod(value, &value);
            log->max = score_strtod(value, &value);
        } else if (!strcmp(key, "metric")) {
            ScoreMetric *metric;
            int length = 0, pooled, direction;

            if (av_reallocp_array(&m->metric, log->nb_metrics + 1, sizeof(*m->metric)) < 0)
                return EXIT_ERROR;
            metric  = &m->metric[log->nb_metrics++];
            *metric = (ScoreMetric){ .name = value };
            value   = strchr(value, ' ');
            if (!value ||
                sscanf(value, " %d %d %d%n", &metric->digits, &pooled, &direction, &length) != 3 ||
                metric->digits < 0 || metric->digits > MAX_DIGITS ||
                pooled < SCORE_POOL_NONE || pooled >= SCORE_POOL_NB ||
                direction < SCORE_NO_DIRECTION || direction > SCORE_HIGHER_IS_BETTER)
                return damaged(m, part);
            *value            = 0;
            metric->pooled    = pooled;
            metric->direction = direction;
            if (value[length] && value[length + 1])
                metric->scale = value + length + 1;
        }
    }
    return 0;
}

/// A frame without its number, which is another in each part.
static const char *unnumbered(const char *frame)
{
    return frame + strcspn(frame, " ");
}

/// What only a part in which each frame was scored can tell.
static int check_part(Merge *m, const Part *part)
{
    int64_t last = 0;

    if (part->nb_counters) {
        av_log(m, AV_LOG_ERROR, "'%s' has counts of the whole video: they cannot be joined.\n", part->path);
        return EXIT_APART;
    }
    for (int i = 0; i < part->nb_frames; i++) {
        uint64_t number;
        int64_t pts;
        AVRational tb;

        if (sscanf(part->frame[i], "%"SCNu64" %"SCNd64" %d/%d", &number, &pts, &tb.num, &tb.den) != 4 ||
            number != i || tb.num <= 0 || tb.den <= 0) {
            av_log(m, AV_LOG_ERROR, "'%s' does not have each frame: score them all.\n", part->path);
            return EXIT_APART;
        }
        if (i && (pts <= last || (pts - (double)last) * av_q2d(tb) >= MAX_GAP)) {
            av_log(m, AV_LOG_ERROR, "'%s': the timestamps jump from %"PRId64" to %"PRId64
                   " at frame %d.\n", part->path, last, pts, i);
            return EXIT_APART;
        }
        last = pts;
    }
    if (part->nb_seen != part->nb_frames || !part->nb_frames) {
        av_log(m, AV_LOG_ERROR, "'%s' does not have each frame: score them all.\n", part->path);
        return EXIT_APART;
    }
    return 0;
}

/// Find the frames that two parts have both.
static int join(Merge *m, Part *part, const Part *next)
{
    const char *first = unnumbered(next->frame[0]);
    int i = part->nb_frames - 1, nb;

    if (strcmp(part->header, next->header)) {
        av_log(m, AV_LOG_ERROR, "'%s' and '%s' were made by other filters or options.\n",
               part->path, next->path);
        return EXIT_APART;
    }
    while (i >= 0 && strcmp(unnumbered(part->frame[i]), first))
        i--;
    if (i < 0) {
        av_log(m, AV_LOG_ERROR, "The first frame of '%s' is not in '%s', or not the same there.\n",
               next->path, part->path);
        return EXIT_APART;
    }
    nb = part->nb_frames - i;
    for (int j = 0; j < nb; j++)
        if (j == next->nb_frames || strcmp(unnumbered(part->frame[i + j]), unnumbered(next->frame[j]))) {
            av_log(m, AV_LOG_ERROR, "Frame %d of '%s' is not the same as frame %d of '%s'.\n",
                   i + j, part->path, j, next->path);
            return EXIT_APART;
        }
    part->nb_used = i;
    return 0;
}

static int replay(Merge *m, const Part *part, AVFrame *frame)
{
    for (int i = 0; i < part->nb_used; i++) {
        uint64_t number, n;
        AVRational tb;
        int valid, length = 0;
        char *next;

        if (sscanf(part->frame[i], "%"SCNu64" %"SCNd64" %d/%d %dx%d %d%n", &number, &frame->pts,
                   &tb.num, &tb.den, &frame->width, &frame->height, &valid, &length) != 7 ||
            tb.num <= 0 || tb.den <= 0 || number >= part->nb_seen)
            return damaged(m, part);
        next = part->frame[i] + length;
        for (int j = 0; j < m->log.nb_metrics; j++) {
            const char *value = next;

            m->value[j] = score_strtod(value, &next);
            if (next == value)
                return damaged(m, part);
        }
        if (m->nb_parts == 1) {
            // frames that were not scored were counted, too
            if (number < m->log.nb_frames)
                return damaged(m, part);
            m->log.nb_frames = number;
        }
        n = ff_score_log_count(&m->log, m, frame, tb);
        if (ff_score_log_frame(&m->log, m, frame, n, tb, m->value, valid) < 0)
            return EXIT_ERROR;
    }
    return 0;
}

static int merge(Merge *m)
{
    ScoreLog *log = &m->log;
    AVFrame *frame;
    double seconds = 0;
    int ret;

    for (int i = 0; i < m->nb_parts; i++) {
        ret = read_part(m, &m->part[i]);
        if (ret)
            return ret;
        if (m->part[i].fps > 0)
            seconds += FFMIN(m->part[i].nb_seen / m->part[i].fps, MAX_SECONDS);
    }
    for (int i = 0; i < m->nb_parts && m->nb_parts > 1; i++) {
        ret = check_part(m, &m->part[i]);
        if (!ret && i)
            ret = join(m, &m->part[i - 1], &m->part[i]);
        if (ret)
            return ret;
    }

    ret = read_header(m, &m->part[0]);
    if (ret)
        return ret;
    if (!log->filter || !log->title || !log->nb_metrics || !m->metric[0].direction)
        return damaged(m, &m->part[0]);
    log->metric      = m->metric;
    log->counter     = m->part[0].counter;
    log->nb_counters = m->part[0].nb_counters;
    m->value = av_calloc(log->nb_metrics, sizeof(*m->value));
    frame    = av_frame_alloc();
    if (!m->value || !frame)
        return EXIT_ERROR;
    ff_score_log_init(log, m);

    for (int i = 0; i < m->nb_parts; i++) {
        ret = replay(m, &m->part[i], frame);
        if (ret)
            break;
    }
    if (m->nb_parts == 1)
        log->nb_frames = m->part[0].nb_seen;
    av_frame_free(&frame);
    // the rate is that of the filters
    log->start = av_gettime_relative() - seconds * 1000000;
    if (ret && !log->outputs.error)
        log->outputs.error = AVERROR_INVALIDDATA;
    if (ff_score_log_close(log, m, 1) < 0 && !ret)
        ret = EXIT_ERROR;
    return ret;
}

static void free_all(Merge *m)
{
    for (int i = 0; i < m->nb_parts; i++) {
        Part *part = &m->part[i];

        for (int j = 0; j < part->nb_counters; j++)
            av_free((void *)part->counter[j].value);
        av_free(part->counter);
        av_free(part->frame);
        av_free(part->header);
    }
    av_free(m->part);
    av_free(m->value);
    av_free(m->metric);
    av_free(m->header);
    av_opt_free(m);
}

static void usage(FILE *to)
{
    fprintf(to, "usage: quality_merge [-stats_file FILE] [-log_path FILE] [-log_fmt json|csv|xml] PART...\n\n"
            "Writes the logs of a quality filter, as its options of these names do, from records\n"
            "that it made with log_fmt=record: of a whole video, or of its parts in order. A part\n"
            "ends with some frames that the next begins with, and they must be the same.\n\n"
            "Exit code: 0 done, 1 failed, 2 bad arguments, 3 the parts are not those of a whole,\n"
            "4 one is damaged.\n");
}

int main(int argc, char **argv)
{
    Merge m = { .class = &merge_class };
    int i, ret;

    av_opt_set_defaults(&m);
    for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i += 2) {
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) {
            usage(stdout);
            return 0;
        }
        if (i + 1 == argc || av_opt_set(&m, argv[i] + 1, argv[i + 1], 0) < 0) {
            usage(stderr);
            return EXIT_USAGE;
        }
    }
    if (i == argc) {
        usage(stderr);
        return EXIT_USAGE;
    }
    m.part = av_calloc(argc - i, sizeof(*m.part));
    if (!m.part)
        return EXIT_ERROR;
    while (i < argc)
        m.part[m.nb_parts++].path = argv[i++];

    ret = merge(&m);
    free_all(&m);
    return ret;
}
