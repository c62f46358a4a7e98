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
 * What was measured, in files that are named by the hash of all that the result depends on.
 */

#ifndef TOOLS_CRF_CACHE_H
#define TOOLS_CRF_CACHE_H

#include "metric.h"

/// The folder of the cache, which is made; NULL, and a warning, if there is none.
const char *cache_folder(void);

/// A hash in hexadecimal digits.
const char *cache_hash(const void *data, size_t size);

/// @param folder NULL has nothing. @return whether there was a complete result
int cache_get(const char *folder, const char *key, Result *result);

/// Keep a result. @return 0, or -1 after a warning
int cache_put(const char *folder, const char *key, const Result *result);

#endif /* TOOLS_CRF_CACHE_H */
