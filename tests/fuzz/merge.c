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
 * Fuzzer of quality_merge, which reads records. The first byte of the input
 * tells what to write of them; records follow, with form feeds between them.
 */

#define _GNU_SOURCE         // for fuzz.h

int merge_main(int argc, char **argv);
#define main merge_main
#include "tools/quality_merge.c"
#undef main

#include "fuzz.h"

#define MAX_PARTS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Merge m = { .class = &merge_class, .part = av_calloc(MAX_PARTS, sizeof(*m.part)) };
    char path[MAX_PARTS][32];
    int fd[MAX_PARTS];

    if (size) {
        const uint8_t *end = data + size, *p = data + 1;

        av_assert0(m.part);
        av_opt_set_defaults(&m);
        av_assert0(av_opt_set_int(&m, "log_fmt", *data % SCORE_LOG_NB, 0) >= 0);
        av_assert0(av_opt_set(&m, *data < 128 ? "log_path" : "stats_file", "/dev/null", 0) >= 0);
        do {
            const int i = m.nb_parts++;
            const uint8_t *next = memchr(p, '\f', end - p);

            fd[i] = fuzz_file(path[i], p, (next ? next : end) - p);
            m.part[i].path = path[i];
            p = next ? next + 1 : NULL;
        } while (p && m.nb_parts < MAX_PARTS);
        merge(&m);
        // the next one is another process
        ff_score_outputs_forget();
        for (int i = 0; i < m.nb_parts; i++)
            close(fd[i]);
    }
    free_all(&m);
    return 0;
}
