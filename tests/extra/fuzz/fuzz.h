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
 * What the fuzzers share. Each is a program for libFuzzer, and must not crash, leak, or take too
 * long or too much memory, whatever the input is. scripts/fuzz.sh builds and runs them.
 */

#ifndef TESTS_EXTRA_FUZZ_FUZZ_H
#define TESTS_EXTRA_FUZZ_FUZZ_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "libavutil/avassert.h"
#include "libavutil/log.h"

/// What libFuzzer calls, with an input.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Messages are made, since that may fail, too, but only assertions are shown.
static void fuzz_log(void *ctx, int level, const char *format, va_list args)
{
    char text[1024];

    if (level <= AV_LOG_PANIC)
        av_log_default_callback(ctx, level, format, args);
    else
        vsnprintf(text, sizeof(text), format, args);
}

#endif /* TESTS_EXTRA_FUZZ_FUZZ_H */
