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
 * Helpers of VMAF's feature extractors on the CPU: buffers with room around them, samples, and tasks
 *
 * An extractor measures a pair by tasks, one after the other. Those of different extractors are
 * independent: they run at the same time.
 */

#ifndef AVFILTER_VMAF_CPU_H
#define AVFILTER_VMAF_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "libavutil/attributes.h"
#include "libavutil/common.h"
#include "libavutil/mem.h"

#include "avfilter.h"

/// Jobs for slice threads.
typedef struct VMAFTask {
    avfilter_action_func *func;
    void *arg;
    int nb_jobs;
} VMAFTask;

/// Bytes before and after a buffer that may be read and written.
#define VMAF_PAD 64

/// Buffers of an extractor, which live as long as its context.
typedef struct VMAFBuffers {
    void **buffer;
    int nb_buffers;
    int alloc_failed;           ///< whether an allocation failed
} VMAFBuffers;

/// Allocate a zeroed buffer with VMAF_PAD bytes before and after it. If that fails, return NULL and set
/// alloc_failed.
static inline void *vmaf_buffer_alloc(VMAFBuffers *s, size_t nb, size_t size)
{
    uint8_t *buffer = av_mallocz(nb * size + 2 * VMAF_PAD);

    if (buffer && av_dynarray_add_nofree(&s->buffer, &s->nb_buffers, buffer) >= 0)
        return buffer + VMAF_PAD;
    av_free(buffer);
    s->alloc_failed = 1;
    return NULL;
}

static inline void vmaf_buffers_free(VMAFBuffers *s)
{
    while (s->nb_buffers)
        av_free(s->buffer[--s->nb_buffers]);
    av_freep(&s->buffer);
}

/// Return log2(n), rounded up; 0 for n < 1.
static inline int ceil_log2(int n)
{
    return n > 1 ? av_log2(n - 1) + 1 : 0;
}

/// Read a sample, without the bits beyond the depth.
static av_always_inline int get_sample(const void *row, int x, int depth)
{
    return depth > 8 ? ((const uint16_t *)row)[x] & ((1 << depth) - 1)
                     : ((const uint8_t *)row)[x];
}

#endif /* AVFILTER_VMAF_CPU_H */
