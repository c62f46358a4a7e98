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
 * An entry is named by the SHA-256 of its key, which is all that the result depends on. It gets its
 * name when it is complete: no entry is ever half written.
 */

#define _GNU_SOURCE         // for dl_iterate_phdr()

#include <fcntl.h>
#include <sys/stat.h>

#ifdef __linux__
#include <link.h>
#endif

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

#include "libavutil/hash.h"

#include "ffcrf.h"

#define MAGIC "ffcrf-cache 3\n"
#define HEADER(u64, real) "frames %d bytes " u64 " source_bytes " u64 \
                          " seconds " real " encode_seconds " real " scores %d"

/// So many bytes are hashed at the beginning, in the middle and at the end of the source.
#define PLACE_SIZE 65536

static int make_folders(const char *path)
{
    int ret = 0;

    for (const char *p = path; ret >= 0 && *p; p++)
        if (!p[1] || p[1] == '/') {
            char *dir = av_strndup(path, p + 1 - path);

            ret = !dir ? AVERROR(ENOMEM) :
                  mkdir(dir, 0777) < 0 && errno != EEXIST ? AVERROR(errno) : 0;
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

/// @param text set to the hash in hexadecimal digits
static int hash(const void *data, size_t size, char text[65])
{
    struct AVHashContext *context;
    int ret = av_hash_alloc(&context, "SHA256");

    if (ret < 0)
        return ret;
    av_hash_init(context);
    av_hash_update(context, data, size);
    av_hash_final_hex(context, text, 65);
    av_hash_freep(&context);
    return 0;
}

/// Name, size, time of the last change, and contents at three places.
static int describe_source(AVBPrint *key, const char *path)
{
    const int fd  = open(path, O_RDONLY);
    uint8_t *data = av_malloc(3 * PLACE_SIZE);
    struct stat st;
    char text[65];
    int ret = data ? 0 : AVERROR(ENOMEM);

    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        ret = AVERROR(EINVAL);
    if (ret >= 0) {
        const int64_t last = FFMAX(st.st_size - PLACE_SIZE, 0);
        size_t size = 0;

        for (int i = 0; i < 3; i++) {
            const ssize_t got = pread(fd, data + size, PLACE_SIZE, last * i / 2);

            size += FFMAX(got, 0);
        }
        ret = hash(data, size, text);
    }
    if (ret >= 0)
        av_bprintf(key, "source %"PRId64" %"PRId64".%09ld %s %s\n", (int64_t)st.st_size,
                   (int64_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, text, av_basename(path));
    if (fd >= 0)
        close(fd);
    av_free(data);
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

/// FFmpeg's version says little of the encoders, which are other libraries: their files do.
static void describe_programs(AVBPrint *key)
{
    av_bprintf(key, "ffcrf %d, FFmpeg %s %s\n", CACHE_VERSION, av_version_info(),
               avcodec_configuration());
#ifdef __linux__
    describe_file(key, "/proc/self/exe");
    dl_iterate_phdr(describe_library, key);
#endif
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

int cache_open(Cache *cache, const Options *o)
{
    const AVDictionaryEntry *e = NULL;
    AVBPrint *key = &cache->key;
    int ret;

    *cache = (Cache){ 0 };
    av_bprint_init(key, 0, AV_BPRINT_SIZE_UNLIMITED);
    if (!o->cache)
        return 0;
    if (describe_source(key, o->input) < 0) {
        warn("'%s' is not a regular file: nothing is kept in the cache.\n", o->input);
        return 0;
    }
    describe_programs(key);
    av_bprintf(key, "metric %s%s\nvmaf_model %s\n", o->metric->filter,
               o->device ? " cuda" : "", o->vmaf_model);
    describe_file(key, o->vmaf_model);
    av_bprintf(key, "filters %s\nreference %s\npix_fmt %s\n", or_nothing(o->filters),
               or_nothing(o->reference_filters), or_nothing(o->pix_fmt));
    av_bprintf(key, "part %"PRId64" %"PRId64" %s\n", o->start, o->length, or_nothing(o->hwaccel));
    // the score of a damaged source is only for those who accept the damage
    av_bprintf(key, "accept_damage %d\n", o->accept_damage);
    av_bprintf(key, "encoder %s\n", o->encoder->name);
    while ((e = av_dict_iterate(o->encoder_options, e)))
        av_bprintf(key, "option %s=%s\n", e->key, e->value);
    if (!av_bprint_is_complete(key))
        return AVERROR(ENOMEM);

    cache->dir = find_folder();
    ret = cache->dir ? make_folders(cache->dir) : AVERROR(ENOENT);
    if (ret < 0) {
        warn("The cache '%s' cannot be made: %s. Nothing is kept. Set FFCRF_CACHE to a folder.\n",
             or_nothing(cache->dir), av_err2str(ret));
        av_freep(&cache->dir);
    }
    return 0;
}

/// The path of an entry's file, NULL if there is none.
static char *entry_path(const Cache *cache, const Options *o, const Sample *sample, double crf)
{
    AVBPrint key;
    char name[65], *path = NULL;

    if (!cache->dir)
        return NULL;
    av_bprint_init(&key, 0, AV_BPRINT_SIZE_UNLIMITED);
    av_bprintf(&key, "%ssample %"PRId64" %"PRId64"\nstep %d\ncrf %.6f\n", cache->key.str,
               sample->start, sample->duration, o->step, crf);
    if (av_bprint_is_complete(&key) && hash(key.str, key.len, name) >= 0)
        path = av_asprintf("%s/%s", cache->dir, name);
    av_bprint_finalize(&key, NULL);
    return path;
}

/// @return 1, or 0 if the entry is damaged
static int read_entry(FILE *f, Result *r)
{
    char magic[sizeof(MAGIC)] = "", end[8];
    int nb;

    if (!fgets(magic, sizeof(magic), f) || strcmp(magic, MAGIC) ||
        fscanf(f, HEADER("%"SCNu64, "%lf"), &r->nb_frames, &r->bytes, &r->source_bytes,
               &r->seconds, &r->encode_seconds, &nb) != 6 ||
        nb < 1 || nb > r->nb_frames || !isfinite(r->seconds) || r->seconds < 0 ||
        !isfinite(r->encode_seconds) || r->encode_seconds < 0)
        return 0;
    // memory for what is there, not for what a damaged number promises
    while (r->nb_scores < nb) {
        double score;

        if (fscanf(f, "%lf", &score) != 1 || !isfinite(score) ||
            !av_dynarray2_add((void **)&r->score, &r->nb_scores, sizeof(score),
                              (const uint8_t *)&score))
            return 0;
    }
    return fscanf(f, "%7s", end) == 1 && !strcmp(end, "end");
}

int cache_get(const Cache *cache, const Options *o, const Sample *sample, double crf, Result *r)
{
    char *path = entry_path(cache, o, sample, crf);
    FILE *f    = path ? fopen(path, "r") : NULL;

    *r = (Result){ 0 };
    if (f) {
        r->is_cached = read_entry(f, r);
        if (!r->is_cached)
            av_freep(&r->score);
        fclose(f);
    }
    av_free(path);
    return r->is_cached;
}

static int write_entry(const char *path, const Result *r)
{
    char *name = av_asprintf("%s.%d.tmp", path, getpid());
    FILE *f    = name ? fopen(name, "w") : NULL;
    int ret    = name ? AVERROR(errno) : AVERROR(ENOMEM);

    if (f) {
        errno = 0;
        fprintf(f, MAGIC HEADER("%"PRIu64, "%.6f") "\n", r->nb_frames, r->bytes,
                r->source_bytes, r->seconds, r->encode_seconds, r->nb_scores);
        for (int i = 0; i < r->nb_scores; i++)
            fprintf(f, "%.9g\n", r->score[i]);
        fputs("end\n", f);
        ret = fflush(f) || ferror(f) ? AVERROR(errno ? errno : EIO) : 0;
        if ((fclose(f) || ret >= 0 && rename(name, path) < 0) && ret >= 0)
            ret = AVERROR(errno);
        if (ret < 0)
            unlink(name);
    }
    av_free(name);
    return ret;
}

void cache_put(Cache *cache, const Options *o, const Sample *sample, double crf, const Result *r)
{
    char *path = entry_path(cache, o, sample, crf);
    int ret    = path ? write_entry(path, r) : AVERROR(ENOMEM);

    if (cache->dir && ret < 0 && !cache->failed) {
        warn("The cache '%s' cannot be written: %s. The search goes on, and what it finds is not "
             "kept.\n", cache->dir, av_err2str(ret));
        cache->failed = 1;
    }
    av_free(path);
}

void cache_close(Cache *cache)
{
    av_freep(&cache->dir);
    if (cache->key.size)
        av_bprint_finalize(&cache->key, NULL);
}
