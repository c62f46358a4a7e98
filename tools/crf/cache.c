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
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libavutil/common.h"
#include "libavutil/mem.h"
#include "libavutil/sha.h"

#include "cache.h"
#include "text.h"

#define MAGIC "ffcrf-cache 4"
#define PLACE 65536         ///< bytes that are hashed at each place of the source

const char *cache_folder(void)
{
    const char *own = getenv("FFCRF_CACHE"), *xdg = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    char *folder    = own && *own        ? text("%s/", own) :
                      xdg && *xdg == '/' ? text("%s/ffcrf/", xdg) :
                      home && *home      ? text("%s/.cache/ffcrf/", home) : NULL;

    for (char *p = folder; p && (p = strchr(p + 1, '/')); *p = '/') {
        *p = 0;
        if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
            tell("The cache '%s' cannot be made: %s. Nothing is kept. Set FFCRF_CACHE to a "
                 "folder.\n", folder, strerror(errno));
            return NULL;
        }
    }
    return folder;
}

/// A hash in hexadecimal digits.
static const char *hash(const uint8_t *data, size_t size)
{
    struct AVSHA *sha = checked(av_sha_alloc());
    uint8_t digest[20];
    char *digits = text("%40s", "");

    av_sha_init(sha, 160);
    av_sha_update(sha, data, size);
    av_sha_final(sha, digest);
    av_free(sha);
    for (int i = 0; i < 20; i++)
        snprintf(digits + 2 * i, 3, "%02x", digest[i]);
    return digits;
}

const char *cache_describe(const char *path)
{
    FILE *f       = fopen(path, "rb");
    uint8_t *data = checked(av_malloc(3 * PLACE));
    const char *made = NULL;
    size_t size = 0;
    struct stat st;

    if (f && fstat(fileno(f), &st) >= 0 && S_ISREG(st.st_mode)) {
        for (int i = 0; i < 3; i++)
            if (!fseeko(f, FFMAX(st.st_size - PLACE, 0) / 2 * i, SEEK_SET))
                size += fread(data + size, 1, PLACE, f);
        made = text("%s %"PRId64" %"PRId64" %s", path, (int64_t)st.st_size, (int64_t)st.st_mtime,
                    hash(data, size));
    }
    if (f)
        fclose(f);
    av_free(data);
    return made;
}

int cache_get(const char *folder, const char *key, Result *r)
{
    FILE *f = folder ? fopen(text("%s%s", folder, hash(key, strlen(key))), "r") : NULL;
    char end[8] = "";
    int nb = 0;
    double score;

    *r = (Result){ 0 };
    if (!f)
        return 0;
    if (fscanf(f, MAGIC " %d %"SCNd64" %lf %d", &r->nb_frames, &r->bytes, &r->seconds, &nb) == 4)
        // memory for what is there, not for what a damaged number promises
        while (r->scores.nb < nb && fscanf(f, "%lf", &score) == 1 && isfinite(score))
            scores_add(&r->scores, score);
    if (fscanf(f, "%7s", end) != 1 || strcmp(end, "end") || nb < 1 || r->scores.nb < nb)
        *r = (Result){ 0 };
    fclose(f);
    return r->scores.nb;
}

int cache_put(const char *folder, const char *key, const Result *r)
{
    const char *path      = text("%s%s", folder, hash(key, strlen(key)));
    const char *temporary = text("%s.%d.tmp", path, getpid());
    FILE *f = fopen(temporary, "w");
    int bad = !f;

    if (f) {
        fprintf(f, MAGIC "\n%d %"PRId64" %.6f %d\n", r->nb_frames, r->bytes, r->seconds,
                r->scores.nb);
        for (int i = 0; i < r->scores.nb; i++)
            fprintf(f, "%.9g\n", r->scores.score[i]);
        fputs("end\n", f);
        bad = ferror(f);
        // it gets its name when it is complete
        bad = fclose(f) || bad || rename(temporary, path) < 0;
    }
    if (bad) {
        tell("The cache '%s' cannot be written: %s. The search goes on, and what it finds is not "
             "kept.\n", folder, strerror(errno));
        unlink(temporary);
    }
    return bad ? -1 : 0;
}
