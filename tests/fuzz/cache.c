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
 * Fuzzer of ffcrf's reader of its cache. The input is an entry's file without its
 * first line. What is taken of it must be a result that could have been
 * found, and must come back as the same once it is kept. The file is in a new
 * folder in the current one.
 */

#define _GNU_SOURCE         // for fuzz.h

#include "tools/crf/cache.c"

#include <math.h>

#include "fuzz.h"

static void check(const Result *r)
{
    av_assert0(r->nb_frames >= 0 && r->nb_scores >= 0 && r->nb_scores <= r->nb_frames);
    av_assert0(isfinite(r->seconds) && r->seconds >= 0);
    av_assert0(isfinite(r->encode_seconds) && r->encode_seconds >= 0);
    for (int i = 0; i < r->nb_scores; i++)
        av_assert0(isfinite(r->score[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char dir[] = "cache-XXXXXX";
    static Cache cache;
    static char *path;
    const Options o = { .step = 1 };
    const Sample sample = { .duration = 4000000 };
    Result result, again;
    FILE *f;

    if (!cache.dir) {
        cache.dir = mkdtemp(dir);
        av_assert0(cache.dir);
        av_bprint_init(&cache.key, 0, AV_BPRINT_SIZE_UNLIMITED);
        path = entry_path(&cache, &o, &sample, 23);
        av_assert0(path);
    }
    f = fopen(path, "w");
    av_assert0(f && fputs(MAGIC, f) >= 0);
    av_assert0(fwrite(data, 1, size, f) == size && !fclose(f));
    if (cache_get(&cache, &o, &sample, 23, &result)) {
        check(&result);
        cache_put(&cache, &o, &sample, 23, &result);
        av_assert0(!cache.failed && cache_get(&cache, &o, &sample, 23, &again));
        av_assert0(again.nb_frames == result.nb_frames && again.bytes == result.bytes &&
                   again.source_bytes == result.source_bytes && again.nb_scores == result.nb_scores);
        av_free(again.score);
        av_free(result.score);
    }
    return 0;
}
