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
 * The cache: a file for each candidate of each sample, of its key and its result.
 *
 * An entry is named by the SHA-256 of its key, which is all that the result
 * depends on, and has that key in it. It is written under another name and
 * renamed when it is whole: whoever is killed leaves no half of one.
 */

#define _GNU_SOURCE         // for dl_iterate_phdr()

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __linux__
#include <link.h>
#endif

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

#include "libavutil/avstring.h"
#include "libavutil/avutil.h"
#include "libavutil/error.h"
#include "libavutil/hash.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "ffcrf.h"

#define MAGIC "ffcrf-cache 2\n"

/// At the beginning, the middle and the end of the source, so much is hashed.
#define PLACE_SIZE 65536

static int make_folders(const char *path)
{
    int ret = 0;

    for (const char *p = path + 1; ret >= 0 && *p; p++)
        if (!p[1] || p[1] == '/') {
            char *dir = av_strndup(path, p + 1 - path);

            ret = !dir ? AVERROR(ENOMEM) : mkdir(dir, 0777) < 0 && errno != EEXIST ? AVERROR(errno) : 0;
            av_free(dir);
        }
    return ret;
}

static char *find_folder(void)
{
    const char *dir = getenv("FFCRF_CACHE"), *home = getenv("HOME");

    if (dir && *dir)
        return av_strdup(dir);
    dir = getenv("XDG_CACHE_HOME");
    if (dir && *dir == '/')
        return av_asprintf("%s/ffcrf", dir);
    return home && *home ? av_asprintf("%s/.cache/ffcrf", home) : NULL;
}

static struct AVHashContext *start_hash(void)
{
    struct AVHashContext *hash = NULL;

    if (av_hash_alloc(&hash, "SHA256") >= 0)
        av_hash_init(hash);
    return hash;
}

/// Name, size, time of the last change, and contents at three places.
static int describe_source(AVBPrint *key, const char *path)
{
    const int fd = open(path, O_RDONLY);
    struct AVHashContext *hash = start_hash();
    uint8_t *data = av_malloc(PLACE_SIZE);
    struct stat st;
    char text[65];
    int ret = 0;

    if (!hash || !data)
        ret = AVERROR(ENOMEM);
    else if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        ret = AVERROR(EINVAL);
    if (ret >= 0) {
        const int64_t last = FFMAX(st.st_size - PLACE_SIZE, 0);

        for (int i = 0; i < 3; i++) {
            ssize_t size = pread(fd, data, PLACE_SIZE, last * i / 2);

            if (size > 0)
                av_hash_update(hash, data, size);
        }
        av_hash_final_hex(hash, text, sizeof(text));
        av_bprintf(key, "source %"PRId64" %"PRId64".%09ld %s %s\n", (int64_t)st.st_size,
                   (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, text, av_basename(path));
    }
    if (fd >= 0)
        close(fd);
    av_free(data);
    av_hash_freep(&hash);
    return ret;
}

static void describe_file(AVBPrint *key, const char *path)
{
    struct stat st;

    if (!stat(path, &st))
        av_bprintf(key, "file %s %"PRId64" %"PRId64"\n", av_basename(path),
                   (int64_t)st.st_size, (int64_t)st.st_mtim.tv_sec);
}

#ifdef __linux__
static int describe_library(struct dl_phdr_info *info, size_t size, void *key)
{
    if (info->dlpi_name && *info->dlpi_name == '/')
        describe_file(key, info->dlpi_name);
    return 0;
}
#endif

/**
 * The version of FFmpeg says little of the encoders, which are other libraries and
 * do not all tell theirs: the files of all that are loaded do.
 */
static void describe_programs(AVBPrint *key)
{
    av_bprintf(key, "ffcrf %d, FFmpeg %s %s\n", FFCRF_VERSION, av_version_info(), avcodec_configuration());
#ifdef __linux__
    describe_file(key, "/proc/self/exe");
    dl_iterate_phdr(describe_library, key);
#endif
}

int ffcrf_cache_open(Cache *cache, const Options *o)
{
    const AVDictionaryEntry *e = NULL;
    int ret;

    *cache = (Cache){ 0 };
    av_bprint_init(&cache->key, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (!o->cache)
        return 0;
    if (describe_source(&cache->key, o->input) < 0) {
        av_log(NULL, AV_LOG_WARNING, "'%s' is no file that can be told from others: nothing is "
               "kept in the cache.\n", o->input);
        return 0;
    }
    describe_programs(&cache->key);
    av_bprintf(&cache->key, "metric %s%s\n", o->metric->filter, o->device ? " cuda" : "");
    av_bprintf(&cache->key, "vmaf_model %s\n", o->vmaf_model);
    describe_file(&cache->key, o->vmaf_model);
    av_bprintf(&cache->key, "filters %s\npix_fmt %s\nencoder %s\n", o->filters ? o->filters : "",
               o->pix_fmt ? o->pix_fmt : "", o->encoder->name);
    av_bprintf(&cache->key, "part %"PRId64" %"PRId64" %s\nreference %s\n", o->start, o->length,
               o->hwaccel ? o->hwaccel : "", o->reference_filters ? o->reference_filters : "");
    while ((e = av_dict_iterate(o->encoder_options, e)))
        av_bprintf(&cache->key, "option %s=%s\n", e->key, e->value);
    if (!av_bprint_is_complete(&cache->key))
        return AVERROR(ENOMEM);

    cache->dir = find_folder();
    ret = cache->dir ? make_folders(cache->dir) : AVERROR(ENOENT);
    if (ret < 0) {
        av_log(NULL, AV_LOG_WARNING, "Nothing is kept, the cache '%s' cannot be made: %s. "
               "Set FFCRF_CACHE to a folder.\n", cache->dir ? cache->dir : "", av_err2str(ret));
        av_freep(&cache->dir);
    }
    return 0;
}

/// The key of an entry, and the path of its file.
static int describe_entry(const Cache *cache, const Options *o, const Sample *sample, double crf,
                          AVBPrint *key, char **path)
{
    struct AVHashContext *hash = start_hash();
    char name[65];

    av_bprint_init(key, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(key, "%ssample %"PRId64" %"PRId64"\nstep %d\ncrf %.6f\n", cache->key.str,
               sample->start, sample->duration, o->step, crf);
    *path = NULL;
    if (hash && av_bprint_is_complete(key)) {
        av_hash_update(hash, (const uint8_t *)key->str, key->len);
        av_hash_final_hex(hash, name, sizeof(name));
        *path = av_asprintf("%s/%s", cache->dir, name);
    }
    av_hash_freep(&hash);
    return *path ? 0 : AVERROR(ENOMEM);
}

/// Read what follows the key; whatever is not as it was written is no entry.
static int read_result(FILE *f, Result *r)
{
    unsigned size = 0;
    double score;
    char end[8];

    if (fscanf(f, "frames %d bytes %"SCNu64" source_bytes %"SCNu64" seconds %lf encode_seconds %lf "
               "scores %d", &r->nb_frames, &r->bytes, &r->source_bytes, &r->seconds,
               &r->encode_seconds, &r->nb_scores) != 6 ||
        r->nb_scores < 1 || r->nb_scores > r->nb_frames ||
        !isfinite(r->seconds) || r->seconds < 0 ||
        !isfinite(r->encode_seconds) || r->encode_seconds < 0)
        return 0;
    // memory for what is there, not for what a damaged number promises
    for (int i = 0; i < r->nb_scores; i++)
        if (fscanf(f, "%lf", &score) != 1 || !isfinite(score) ||
            ffcrf_append(&r->score, &size, i, sizeof(score), &score) < 0)
            return 0;
    return fscanf(f, "%7s", end) == 1 && !strcmp(end, "end");
}

int ffcrf_cache_get(const Cache *cache, const Options *o, const Sample *sample, double crf, Result *result)
{
    AVBPrint key;
    char *path = NULL, *text = NULL;
    FILE *f = NULL;
    int found = 0;

    *result = (Result){ 0 };
    if (!cache->dir)
        return 0;
    if (describe_entry(cache, o, sample, crf, &key, &path) >= 0 && (f = fopen(path, "r"))) {
        const size_t magic = strlen(MAGIC), size = magic + key.len;

        text = av_malloc(size);
        found = text && fread(text, 1, size, f) == size && !memcmp(text, MAGIC, magic) &&
                !memcmp(text + magic, key.str, key.len) && read_result(f, result);
        result->is_cached = found;
        if (!found)
            av_freep(&result->score);
        fclose(f);
    }
    av_free(text);
    av_free(path);
    av_bprint_finalize(&key, NULL);
    return found;
}

static int write_entry(const char *path, const AVBPrint *key, const Result *r)
{
    char *name = av_asprintf("%s.%d.tmp", path, getpid());
    FILE *f    = name ? fopen(name, "w") : NULL;
    int ret    = name ? AVERROR(errno) : AVERROR(ENOMEM);

    if (f) {
        int good;

        errno = 0;
        good  = fprintf(f, MAGIC "%sframes %d bytes %"PRIu64" source_bytes %"PRIu64" seconds %.6f "
                        "encode_seconds %.6f scores %d\n", key->str, r->nb_frames, r->bytes,
                        r->source_bytes, r->seconds, r->encode_seconds, r->nb_scores) > 0;

        for (int i = 0; i < r->nb_scores; i++)
            good = good && fprintf(f, "%.9g\n", r->score[i]) > 0;
        good = good && fputs("end\n", f) >= 0 && !fflush(f);
        ret  = good ? 0 : errno ? AVERROR(errno) : AVERROR(EIO);
        if (fclose(f) && good)
            ret = AVERROR(errno);
        if (ret >= 0 && rename(name, path) < 0)
            ret = AVERROR(errno);
        if (ret < 0)
            unlink(name);
    }
    av_free(name);
    return ret;
}

void ffcrf_cache_put(Cache *cache, const Options *o, const Sample *sample, double crf, const Result *result)
{
    AVBPrint key;
    char *path;
    int ret;

    if (!cache->dir)
        return;
    ret = describe_entry(cache, o, sample, crf, &key, &path);
    if (ret >= 0)
        ret = write_entry(path, &key, result);
    if (ret < 0 && !cache->failed) {
        av_log(NULL, AV_LOG_WARNING, "The cache '%s' cannot be written: %s. The search goes on, and "
               "what it finds is not kept.\n", cache->dir, av_err2str(ret));
        cache->failed = 1;
    }
    av_free(path);
    av_bprint_finalize(&key, NULL);
}

void ffcrf_cache_close(Cache *cache)
{
    av_freep(&cache->dir);
    if (cache->key.size)
        av_bprint_finalize(&cache->key, NULL);
}
