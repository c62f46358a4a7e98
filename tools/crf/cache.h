// SPDX-License-Identifier: LGPL-2.1-or-later

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
