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
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#if HAVE_UNISTD_H
#include <unistd.h>
#endif

#include "libavformat/os_support.h"
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

/// What is left to successors, of so many filters; the oldest goes first.
#define MAX_FINISHED 16

/// Random names that are tried for a file.
#define MAX_NAMES 100

/// A regular file as it was left.
typedef struct Left {
    int is_file;
    struct stat st;
    int64_t body;
} Left;

typedef struct Finished {
    char *key;
    uint8_t *carried;
    void *owned;
    void (*free_owned)(void *owned);
    int64_t pts;
    AVRational time_base;
    Left left[SCORE_MAX_OUTPUTS];
} Finished;

static AVMutex mutex = AV_MUTEX_INITIALIZER;    ///< of what follows
static Finished finished[MAX_FINISHED];         ///< the oldest first
static int nb_finished;
static ScoreOutputs *writers;

static int is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

static int get_stat(const char *path, struct stat *st)
{
    return is_stdout(path) ? fstat(fileno(stdout), st) : stat(path, st);
}

static int has_type(const struct stat *st, int type)
{
    return (st->st_mode & S_IFMT) == type;
}

static int is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_ino && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/// Devices may have several writers.
static int is_same_file(const char *a, const char *b)
{
    struct stat st_a, st_b;

    if (is_stdout(a) && is_stdout(b))
        return 1;
    if (get_stat(a, &st_a) || get_stat(b, &st_b))
        return !strcmp(a, b);
    return !has_type(&st_a, S_IFCHR) && (!strcmp(a, b) || is_same_inode(&st_a, &st_b));
}

static int write_error(ScoreOutputs *s, void *logctx, const char *path)
{
    if (!s->error) {
        s->error = errno ? AVERROR(errno) : AVERROR(EIO);
        av_log(logctx, AV_LOG_ERROR, "Cannot write '%s': %s; free some space or "
               "name another file.\n", path, av_err2str(s->error));
    }
    return s->error;
}

static int open_error(ScoreOutputs *s, void *logctx, const char *path)
{
    s->error = errno ? AVERROR(errno) : AVERROR(EIO);
    av_log(logctx, AV_LOG_ERROR, "Cannot open '%s' for writing: %s.\n",
           path, av_err2str(s->error));
    return s->error;
}

// ---- successors ----

static void free_finished(Finished *f)
{
    if (f->owned)
        f->free_owned(f->owned);
    av_freep(&f->carried);
    av_freep(&f->key);
}

/// Take one out of the table, which has to be locked. Its key is NULL if there is none.
static Finished take_finished(const char *key)
{
    for (int i = 0; i < nb_finished; i++) {
        Finished f = finished[i];

        if (strcmp(f.key, key))
            continue;
        memmove(&finished[i], &finished[i + 1], (--nb_finished - i) * sizeof(f));
        return f;
    }
    return (Finished){ 0 };
}

/// Name and options of the filter.
static const char *get_key(ScoreOutputs *s)
{
    char *options = NULL;

    if (!s->key && av_opt_serialize(s->options, 0, 0, &options, '=', ':') >= 0)
        s->key = av_asprintf("%s=%s", (*(const AVClass **)s->options)->class_name, options);
    av_free(options);
    return s->key;
}

static int is_as_left(const ScoreOutputs *s, const Finished *f)
{
    for (int i = 0; i < s->nb_outputs; i++) {
        const Left *left = &f->left[i];
        struct stat st;

        if (left->is_file &&
            (stat(s->output[i]->path, &st) || st.st_size != left->st.st_size ||
             st.st_dev != left->st.st_dev || st.st_ino != left->st.st_ino))
            return 0;
    }
    return 1;
}

static int is_later(const AVFrame *frame, AVRational time_base, const Finished *f)
{
    return frame->pts != AV_NOPTS_VALUE && f->pts != AV_NOPTS_VALUE &&
           av_compare_ts(frame->pts, time_base, f->pts, f->time_base) > 0;
}

static void warn_of_replacement(const ScoreOutputs *s, void *logctx, const Finished *f)
{
    for (int i = 0; i < s->nb_outputs; i++)
        if (f->left[i].is_file)
            av_log(logctx, AV_LOG_WARNING, "'%s' is REPLACED: this process wrote frames to it "
                   "that are not earlier than those that come now. If ffmpeg has rebuilt the "
                   "filter graph because the frames changed, a filter before this one has begun "
                   "its timestamps again; for one file of all frames give -reinit_filter 0 "
                   "before -i.\n", s->output[i]->path);
}

/// Get what a filter of the same options has left, if that is where this one goes on.
static void succeed(ScoreOutputs *s, void *logctx, const AVFrame *frame, AVRational time_base)
{
    const char *key = s->nb_outputs ? get_key(s) : NULL;
    Finished f;
    size_t offset = 0;

    if (!key)
        return;
    ff_mutex_lock(&mutex);
    f = take_finished(key);
    ff_mutex_unlock(&mutex);
    if (!f.key)
        return;
    if (!is_as_left(s, &f)) {
        free_finished(&f);
        return;
    }
    if (frame && !is_later(frame, time_base, &f)) {
        warn_of_replacement(s, logctx, &f);
        free_finished(&f);
        return;
    }

    for (int i = 0; i < s->nb_outputs; i++) {
        s->output[i]->continued = f.left[i].is_file;
        s->output[i]->body      = f.left[i].body;
    }
    for (int i = 0; i < s->nb_carried; i++) {
        memcpy(s->carried[i].data, f.carried + offset, s->carried[i].size);
        offset += s->carried[i].size;
    }
    FFSWAP(void *, s->owned, f.owned);
    s->pts       = f.pts;
    s->time_base = f.time_base;
    free_finished(&f);
}

/// Leave everything to a successor.
static int leave(ScoreOutputs *s)
{
    Finished f = { .pts = s->pts, .time_base = s->time_base, .free_owned = s->free_owned };
    Finished old = { 0 };
    size_t size = 0;

    for (int i = 0; i < s->nb_carried; i++)
        size += s->carried[i].size;
    f.carried = av_malloc(size);
    if (!f.carried || !get_key(s)) {
        av_free(f.carried);
        return AVERROR(ENOMEM);
    }
    size = 0;
    for (int i = 0; i < s->nb_carried; i++) {
        memcpy(f.carried + size, s->carried[i].data, s->carried[i].size);
        size += s->carried[i].size;
    }
    FFSWAP(void *, s->owned, f.owned);
    for (int i = 0; i < s->nb_outputs; i++) {
        Left *left = &f.left[i];

        left->is_file = !is_stdout(s->output[i]->path) && !stat(s->output[i]->path, &left->st) &&
                        has_type(&left->st, S_IFREG);
        left->body    = s->output[i]->body;
    }
    FFSWAP(char *, f.key, s->key);

    ff_mutex_lock(&mutex);
    old = take_finished(f.key);
    if (!old.key && nb_finished == MAX_FINISHED)
        old = take_finished(finished[0].key);
    finished[nb_finished++] = f;
    ff_mutex_unlock(&mutex);
    free_finished(&old);
    return 0;
}

void ff_score_outputs_forget(void)
{
    ff_mutex_lock(&mutex);
    while (nb_finished)
        free_finished(&finished[--nb_finished]);
    ff_mutex_unlock(&mutex);
}

void ff_score_outputs_note(ScoreOutputs *s, void *logctx, const AVFrame *frame,
                             AVRational time_base)
{
    if (!s->noted)
        succeed(s, logctx, frame, time_base);
    s->noted     = 1;
    s->pts       = frame->pts;
    s->time_base = time_base;
}

// ---- files ----

/// Enter the list of writers, if nobody in it writes one of the files.
static int claim(ScoreOutputs *s, void *logctx)
{
    const char *taken = NULL;

    ff_mutex_lock(&mutex);
    for (int i = 0; i < s->nb_outputs; i++) {
        const char *path = s->output[i]->path;

        for (int j = 0; j < i; j++)
            if (is_same_file(path, s->output[j]->path))
                taken = path;
        for (const ScoreOutputs *w = writers; w; w = w->next)
            for (int j = 0; j < w->nb_outputs; j++)
                if (is_same_file(path, w->output[j]->path))
                    taken = path;
    }
    if (!taken) {
        s->next = writers;
        writers = s;
    }
    ff_mutex_unlock(&mutex);

    if (taken) {
        s->error = AVERROR(EINVAL);
        av_log(logctx, AV_LOG_ERROR, "%s%s%s is written already, by this filter or another one of "
               "this process: name another file.\n", is_stdout(taken) ? "" : "'",
               is_stdout(taken) ? "Standard output" : taken, is_stdout(taken) ? "" : "'");
    }
    return s->error;
}

static void release(ScoreOutputs *s)
{
    ff_mutex_lock(&mutex);
    for (ScoreOutputs **w = &writers; *w; w = &(*w)->next)
        if (*w == s) {
            *w = s->next;
            break;
        }
    ff_mutex_unlock(&mutex);
}

/// Create a file that nobody has, beside the one that it will become.
static int create_tmp(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    int fd = -1;

    for (int i = 0; i < MAX_NAMES && fd < 0; i++) {
        av_freep(&output->tmp_path);
        output->tmp_path = av_asprintf("%s.%08"PRIx32".tmp", output->path, av_get_random_seed());
        if (!output->tmp_path)
            return s->error = AVERROR(ENOMEM);
        fd = avpriv_open(output->tmp_path, O_CREAT | O_EXCL | O_WRONLY | O_BINARY, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    if (fd >= 0)
        output->file = fdopen(fd, "wb");
    if (!output->file) {
        int ret = open_error(s, logctx, output->path);

        if (fd >= 0) {
            close(fd);
            unlink(output->tmp_path);
        }
        av_freep(&output->tmp_path);
        return ret;
    }
    return 0;
}

/// Copy the frames that a finished file has.
static int copy_body(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    FILE *from = avpriv_fopen_utf8(output->path, "rb");
    int64_t left = output->body;
    char buffer[4096];

    while (from && left > 0) {
        size_t nb = fread(buffer, 1, FFMIN(left, sizeof(buffer)), from);

        if (!nb || fwrite(buffer, 1, nb, output->file) < nb)
            break;
        left -= nb;
    }
    if (left)
        write_error(s, logctx, output->path);
    if (from)
        fclose(from);
    return s->error;
}

static int open_output(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    struct stat st;

    errno = 0;
    if (!output->continued)
        output->body = 0;
    if (is_stdout(output->path)) {
        output->file = stdout;
        return 0;
    }
    // devices and pipes are written directly
    if (output->has_end && (stat(output->path, &st) || has_type(&st, S_IFREG))) {
        int ret = create_tmp(s, logctx, output);

        return ret < 0 || !output->continued ? ret : copy_body(s, logctx, output);
    }
    output->file = avpriv_fopen_utf8(output->path, output->continued ? "ab" : "wb");
    return output->file ? 0 : open_error(s, logctx, output->path);
}

int ff_score_outputs_open(ScoreOutputs *s, void *logctx)
{
    int ret;

    if (s->open || s->closed || s->error)
        return s->error;
    if (!s->noted)
        succeed(s, logctx, NULL, (AVRational){ 0, 1 });
    ret = claim(s, logctx);
    if (ret < 0)
        return ret;
    s->open = 1;
    for (int i = 0; i < s->nb_outputs; i++) {
        ret = open_output(s, logctx, s->output[i]);
        if (ret < 0)
            return ret;
    }
    return 1;
}

static int write_text(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text)
{
    int failed;

    if (!av_bprint_is_complete(text))
        s->error = AVERROR(ENOMEM);
    if (s->error || s->closed)
        return s->error;
    errno  = 0;
    // at the end, an output that has had enough would not see the error
    failed = fwrite(text->str, 1, text->len, output->file) < text->len || fflush(output->file);
    av_bprint_clear(text);
    return failed ? write_error(s, logctx, output->path) : 0;
}

int ff_score_output_write(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text)
{
    const unsigned size = text->len;
    int ret = write_text(s, logctx, output, text);

    if (ret >= 0)
        output->body += size;
    return ret;
}

int ff_score_output_end(ScoreOutputs *s, void *logctx, ScoreOutput *output, AVBPrint *text)
{
    return write_text(s, logctx, output, text);
}

static void close_output(ScoreOutputs *s, void *logctx, ScoreOutput *output)
{
    errno = 0;
    if (output->file && output->file != stdout && fclose(output->file))
        write_error(s, logctx, output->path);
    output->file = NULL;
    if (output->tmp_path) {
        if (!s->error && rename(output->tmp_path, output->path))
            write_error(s, logctx, output->path);
        if (s->error)
            unlink(output->tmp_path);
    }
    av_freep(&output->tmp_path);
}

int ff_score_outputs_close(ScoreOutputs *s, void *logctx)
{
    if (s->open) {
        for (int i = 0; i < s->nb_outputs; i++)
            close_output(s, logctx, s->output[i]);
        if (!s->error && s->nb_outputs)
            leave(s);
        release(s);
        s->open = 0;
    }
    s->closed = 1;
    if (s->owned)
        s->free_owned(s->owned);
    s->owned = NULL;
    av_freep(&s->key);
    return s->error;
}
