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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libavutil/hash.h"
#include "libavutil/mem.h"

#include "cache.h"
#include "text.h"

#define MAGIC "ffcrf-cache 5"

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

const char *cache_hash(const void *data, size_t size)
{
    char *digits = checked(av_mallocz(2 * AV_HASH_MAX_SIZE + 1));
    struct AVHashContext *context;

    if (av_hash_alloc(&context, "SHA160") < 0)
        checked(NULL);
    av_hash_init(context);
    av_hash_update(context, data, size);
    av_hash_final_hex(context, digits, 2 * AV_HASH_MAX_SIZE + 1);
    av_hash_freep(&context);
    return digits;
}

static const char *entry(const char *folder, const char *key)
{
    return text("%s%s", folder, cache_hash(key, strlen(key)));
}

int cache_get(const char *folder, const char *key, Result *r)
{
    FILE *f = folder ? fopen(entry(folder, key), "r") : NULL;
    char end[8] = "";
    int nb = 0;
    double score;

    *r = (Result){ 0 };
    if (!f)
        return 0;
    if (fscanf(f, MAGIC " %d %"SCNd64" %lf %d", &r->nb_frames, &r->bytes, &r->seconds, &nb) == 4)
        // memory for what is there, not for what a damaged number promises
        while (r->nb_scores < nb && fscanf(f, "%lf", &score) == 1 && isfinite(score))
            score_add(r, score);
    if (fscanf(f, "%7s", end) != 1 || strcmp(end, "end") || nb < 1 || r->nb_scores < nb)
        *r = (Result){ 0 };
    fclose(f);
    return r->nb_scores;
}

int cache_put(const char *folder, const char *key, const Result *r)
{
    const char *path      = entry(folder, key);
    const char *temporary = text("%s.%d.tmp", path, getpid());
    FILE *f = fopen(temporary, "w");
    int bad = !f;

    if (f) {
        fprintf(f, MAGIC "\n%d %"PRId64" %.6f %d\n", r->nb_frames, r->bytes, r->seconds,
                r->nb_scores);
        for (int i = 0; i < r->nb_scores; i++)
            fprintf(f, "%.9g\n", r->score[i]);
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
