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
 * Pools rows of values: each line of the input is a direction and values, of frames 0, 1...,
 * and each line of the output has what is computed of them, in all bits.
 * tests/tools/test_logs.py compares that with Python.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "libavfilter/score_pool.c"

int main(void)
{
    static char line[1 << 20];

    while (fgets(line, sizeof(line), stdin)) {
        char *p, *next;
        ScorePool pool = { .direction = strtol(line, &p, 10), .percentiles = 1 };
        double value, pooled[SCORE_POOLED_NB];

        for (uint64_t n = 0; value = strtod(p, &next), next > p; n++, p = next)
            if (ff_score_pool_add(&pool, value, n) < 0)
                return 1;
        ff_score_pool_get(pooled, &pool);
        for (int i = 0; i < SCORE_POOLED_NB; i++)
            printf("%a ", pooled[i]);
        printf("\n");
        ff_score_pool_free(&pool);
    }
    return 0;
}
