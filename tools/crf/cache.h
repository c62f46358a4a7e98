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
 * The cache: a file for each candidate of each sample.
 */

#ifndef TOOLS_CRF_CACHE_H
#define TOOLS_CRF_CACHE_H

#include "libavutil/bprint.h"

#include "options.h"
#include "sample.h"

typedef struct Cache {
    char *dir;                  ///< NULL: nothing is kept
    AVBPrint key;               ///< all that entries depend on but sample and CRF
    int failed;                 ///< it was told that nothing can be written
} Cache;

int cache_open(Cache *cache, const Options *o);

/// @return 1 if there was such an entry, 0 if not
int cache_get(const Cache *cache, const Options *o, const Sample *sample, double crf, Result *result);

/// Keep a result. If that fails it is told once, and the search goes on.
void cache_put(Cache *cache, const Options *o, const Sample *sample, double crf, const Result *result);

void cache_close(Cache *cache);

#endif /* TOOLS_CRF_CACHE_H */
