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

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#if HAVE_UNISTD_H
#include <unistd.h>
#endif

#include "libavformat/os_support.h"
#include "libavutil/avassert.h"
#include "libavutil/avstring.h"
#include "libavutil/error.h"
#include "libavutil/file_open.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mathematics.h"
#include "libavutil/mem.h"
#include "libavutil/opt.h"
#include "libavutil/random_seed.h"
#include "libavutil/thread.h"

#include "score_output.h"

#ifndef O_BINARY
#define O_BINARY 0
#endif
#ifdef _WIN32   // where it would not know that paths are UTF-8
#define realpath(path, real) NULL
#endif

/// Most legacies that are kept: a new one takes the place of the oldest.
#define MAX_LEGACIES 16

/// What a filter leaves to its successor, which has the same name and options.
typedef struct Legacy {
    char *key;
    uint8_t carried[SCORE_MAX_CARRIED];
    void *owned;
    void (*free_owned)(void *owned);
    int64_t pts;
    AVRational time_base;
    int is_file[SCORE_MAX_OUTPUTS];         ///< a regular one
    struct stat st[SCORE_MAX_OUTPUTS];
    int64_t body[SCORE_MAX_OUTPUTS];
} Legacy;

static AVMutex mutex = AV_MUTEX_INITIALIZER;    ///< of what follows
static Legacy *legacies[MAX_LEGACIES];
static unsigned nb_legacies;                    ///< of all filters so far
static ScoreOutput *writers;

static int is_stdout(const char *path)
{
    return !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

/// The path of a file, or of one that is to be made, without links.
static const char *real_path(char real[PATH_MAX], const char *path)
{
    char *folder;

    if (realpath(path, real))
        return real;
    folder = av_strdup(path);
    if (folder && realpath(av_dirname(folder), real))
        av_strlcatf(real, PATH_MAX, "/%s", av_basename(path));
    else
        av_strlcpy(real, path, PATH_MAX);
    av_free(folder);
    return real;
}

static int get_stat(const char *path, struct stat *st)
{
    return is_stdout(path) ? fstat(fileno(stdout), st) : stat(path, st);
}

static int has_type(const struct stat *st, int type)
{
    return (st->st_mode & S_IFMT) == type;
}

/// Devices may have several writers.
static int is_same_file(const char *a, const char *b)
{
    char real_a[PATH_MAX], real_b[PATH_MAX];
    struct stat st_a, st_b;
    int is_there;

    if (is_stdout(a) && is_stdout(b))
        return 1;
    is_there = !get_stat(a, &st_a) && !get_stat(b, &st_b);
    if (is_there && has_type(&st_a, S_IFCHR))
        return 0;
    return !strcmp(real_path(real_a, a), real_path(real_b, b)) ||
           is_there && st_a.st_ino && st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino;
}

int ff_score_outputs_have(const ScoreOutputs *s, const char *path)
{
    for (int i = 0; i < s->nb_outputs; i++)
        if (is_same_file(s->output[i]->path, path))
            return 1;
    return 0;
}

static int fail(ScoreOutputs *s, void *logctx, const char *format, const char *path)
{
    if (!s->error) {
        s->error = errno ? AVERROR(errno) : AVERROR(EIO);
        av_log(logctx, AV_LOG_ERROR, format, path, av_err2str(s->error));
    }
    return s->error;
}

#define WRITE_ERROR "Cannot write '%s': %s; free some space or name another file.\n"
#define OPEN_ERROR  "Cannot open '%s' for writing: %s.\n"

// ---- successors ----

static void free_legacy(Legacy **legacy)
{
    if (*legacy && (*legacy)->owned)
        (*legacy)->free_owned((*legacy)->owned);
    if (*legacy)
        av_free((*legacy)->key);
    av_freep(legacy);
}

/// The name and options of the filter, by which its successor finds its legacy.
static char *get_key(const ScoreOutputs *s)
{
    char *options = NULL, *key = NULL;

    if (av_opt_serialize(s->options, 0, 0, &options, '=', ':') >= 0)
        key = av_asprintf("%s=%s", (*(const AVClass **)s->options)->class_name, options);
    av_free(options);
    return key;
}

static Legacy *take_legacy(const ScoreOutputs *s)
{
    char *key      = s->nb_outputs ? get_key(s) : NULL;
    Legacy *legacy = NULL;

    ff_mutex_lock(&mutex);
    for (int i = 0; key && i < MAX_LEGACIES && !legacy; i++)
        if (legacies[i] && !strcmp(legacies[i]->key, key))
            FFSWAP(Legacy *, legacy, legacies[i]);
    ff_mutex_unlock(&mutex);
    av_free(key);
    return legacy;
}

/// Whether the files are still those that the legacy is of.
static int has_its_files(const ScoreOutputs *s, const Legacy *legacy)
{
    for (int i = 0; i < s->nb_outputs; i++) {
        const struct stat *old = &legacy->st[i];
        struct stat st;

        if (legacy->is_file[i] &&
            (stat(s->output[i]->path, &st) || st.st_size != old->st_size ||
             st.st_dev != old->st_dev || st.st_ino != old->st_ino))
            return 0;
    }
    return 1;
}

static int is_later(const AVFrame *frame, AVRational time_base, const Legacy *legacy)
{
    return frame->pts != AV_NOPTS_VALUE && legacy->pts != AV_NOPTS_VALUE &&
           av_compare_ts(frame->pts, time_base, legacy->pts, legacy->time_base) > 0;
}

static void inherit(ScoreOutputs *s, Legacy *legacy)
{
    for (int i = 0; i < s->nb_outputs; i++) {
        s->output[i]->continued = legacy->is_file[i];
        s->output[i]->body      = legacy->body[i];
    }
    if (s->carried)
        memcpy(s->carried, legacy->carried, s->carried_size);
    FFSWAP(void *, s->owned, legacy->owned);
    s->pts       = legacy->pts;
    s->time_base = legacy->time_base;
}

/// Continue what a filter of the same options has ended, unless this is another video.
static void take_over(ScoreOutputs *s, void *logctx, const AVFrame *frame, AVRational time_base)
{
    Legacy *legacy = take_legacy(s);

    if (!legacy || !has_its_files(s, legacy)) {
        // there is none, or somebody has changed the files
    } else if (!frame || is_later(frame, time_base, legacy)) {
        inherit(s, legacy);
    } else {
        for (int i = 0; i < s->nb_outputs; i++)
            if (legacy->is_file[i])
                av_log(logctx, AV_LOG_WARNING, "'%s' is REPLACED: this process wrote frames to "
                       "it that are not earlier than those that come now. If ffmpeg has rebuilt "
                       "the filter graph because the frames changed, a filter before this one has "
                       "begun its timestamps again; for one file of all frames give "
                       "-reinit_filter 0 before -i.\n", s->output[i]->path);
    }
    free_legacy(&legacy);
}

/// Without memory there is no legacy, and the successor begins new files.
static void leave_legacy(ScoreOutputs *s)
{
    Legacy *legacy = av_mallocz(sizeof(*legacy)), *old = take_legacy(s);

    free_legacy(&old);
    if (!legacy || !(legacy->key = get_key(s))) {
        av_free(legacy);
        return;
    }
    av_assert0(s->carried_size <= sizeof(legacy->carried));
    if (s->carried)
        memcpy(legacy->carried, s->carried, s->carried_size);
    FFSWAP(void *, s->owned, legacy->owned);
    legacy->free_owned = s->free_owned;
    legacy->pts        = s->pts;
    legacy->time_base  = s->time_base;
    for (int i = 0; i < s->nb_outputs; i++) {
        const char *path = s->output[i]->path;

        legacy->is_file[i] = !is_stdout(path) && !stat(path, &legacy->st[i]) &&
                           has_type(&legacy->st[i], S_IFREG);
        legacy->body[i]    = s->output[i]->body;
    }
    ff_mutex_lock(&mutex);
    // the macro reads its arguments twice
    FFSWAP(Legacy *, legacy, legacies[nb_legacies % MAX_LEGACIES]);
    nb_legacies++;
    ff_mutex_unlock(&mutex);
    free_legacy(&legacy);
}

void ff_score_outputs_forget(void)
{
    ff_mutex_lock(&mutex);
    for (int i = 0; i < MAX_LEGACIES; i++)
        free_legacy(&legacies[i]);
    ff_mutex_unlock(&mutex);
}

void ff_score_outputs_note(ScoreOutputs *s, void *logctx, const AVFrame *frame,
                           AVRational time_base)
{
    if (!s->noted)
        take_over(s, logctx, frame, time_base);
    s->noted     = 1;
    s->pts       = frame->pts;
    s->time_base = time_base;
}

// ---- files ----

/// Enter the list of writers, if none of them writes this file.
static int claim(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    const char *quote = is_stdout(output->path) ? "" : "'";
    ScoreOutput *other;

    ff_mutex_lock(&mutex);
    for (other = writers; other && !is_same_file(output->path, other->path); other = other->next);
    if (!other) {
        output->next = writers;
        writers      = output;
    }
    ff_mutex_unlock(&mutex);
    if (other) {
        s->error = AVERROR(EINVAL);
        av_log(logctx, AV_LOG_ERROR, "%s%s%s is written already, by this filter or another one of "
               "this process: name another file.\n", quote,
               is_stdout(output->path) ? "Standard output" : output->path, quote);
    }
    return s->error;
}

static void release(ScoreOutput *output)
{
    ScoreOutput **o = &writers;

    ff_mutex_lock(&mutex);
    while (*o && *o != output)
        o = &(*o)->next;
    if (*o)
        *o = output->next;
    ff_mutex_unlock(&mutex);
}

/// Create a new file in the folder of the one that it will become.
static int create_tmp(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    char real[PATH_MAX];
    int fd;

    output->tmp_path = av_asprintf("%s.%08"PRIx32".tmp", real_path(real, output->path),
                                   av_get_random_seed());
    if (!output->tmp_path)
        return s->error = AVERROR(ENOMEM);
    fd = avpriv_open(output->tmp_path, O_CREAT | O_EXCL | O_WRONLY | O_BINARY, 0666);
    if (fd >= 0)
        output->file = fdopen(fd, "wb");
    if (output->file)
        return 0;
    fail(s, logctx, OPEN_ERROR, output->path);
    if (fd >= 0) {
        close(fd);
        unlink(output->tmp_path);
    }
    av_freep(&output->tmp_path);
    return s->error;
}

/// Copy the frames that a finished file has.
static int copy_body(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    FILE *from = avpriv_fopen_utf8(output->path, "rb");
    int64_t rest = output->body;
    char buffer[4096];

    while (from && rest > 0) {
        size_t nb = fread(buffer, 1, FFMIN(rest, sizeof(buffer)), from);

        if (!nb || fwrite(buffer, 1, nb, output->file) < nb)
            break;
        rest -= nb;
    }
    if (rest)
        fail(s, logctx, WRITE_ERROR, output->path);
    if (from)
        fclose(from);
    return s->error;
}

static int open_output(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    struct stat st;
    int ret;

    errno = 0;
    if (!output->continued)
        output->body = 0;
    if (is_stdout(output->path)) {
        output->file = stdout;
    } else if (output->has_end && (stat(output->path, &st) || has_type(&st, S_IFREG))) {
        ret = create_tmp(s, logctx, output);
        return ret < 0 || !output->continued ? ret : copy_body(s, logctx, output);
    } else {
        // devices and pipes are written directly
        output->file = avpriv_fopen_utf8(output->path, output->continued ? "ab" : "wb");
    }
    return output->file ? 0 : fail(s, logctx, OPEN_ERROR, output->path);
}

int ff_score_outputs_open(ScoreOutputs *s, void *logctx)
{
    if (s->open || s->closed || s->error)
        return s->error;
    if (!s->noted)
        take_over(s, logctx, NULL, (AVRational){ 0, 1 });
    s->open = 1;
    for (int i = 0; i < s->nb_outputs && !s->error; i++)
        claim(s, logctx, s->output[i]);
    for (int i = 0; i < s->nb_outputs && !s->error; i++)
        open_output(s, logctx, s->output[i]);
    return s->error < 0 ? s->error : 1;
}

int ff_score_output_write(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text)
{
    if (!av_bprint_is_complete(text))
        s->error = AVERROR(ENOMEM);
    if (s->error || s->closed)
        return s->error;
    errno = 0;
    // flushed at once: where the output has ended early, an error at the end would not be seen
    if (fwrite(text->str, 1, text->len, output->file) < text->len || fflush(output->file))
        fail(s, logctx, WRITE_ERROR, output->path);
    output->body += text->len;
    av_bprint_clear(text);
    return s->error;
}

static void close_output(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    char real[PATH_MAX];

    errno = 0;
    if (output->file && output->file != stdout && fclose(output->file))
        fail(s, logctx, WRITE_ERROR, output->path);
    output->file = NULL;
    if (output->tmp_path) {
        if (!s->error && rename(output->tmp_path, real_path(real, output->path)))
            fail(s, logctx, WRITE_ERROR, output->path);
        if (s->error)
            unlink(output->tmp_path);
    }
    av_freep(&output->tmp_path);
}

int ff_score_outputs_close(ScoreOutputs *s, void *logctx)
{
    for (int i = 0; i < s->nb_outputs; i++)
        close_output(s, logctx, s->output[i]);
    if (s->open && !s->error && s->nb_outputs)
        leave_legacy(s);
    for (int i = 0; i < s->nb_outputs; i++)
        release(s->output[i]);
    if (s->owned)
        s->free_owned(s->owned);
    s->owned  = NULL;
    s->open   = 0;
    s->closed = 1;
    return s->error;
}
