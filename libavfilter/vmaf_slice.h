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
 * Loops that the compiler makes vectors of, for more than one kind of processor.
 */

#ifndef AVFILTER_VMAF_SLICE_H
#define AVFILTER_VMAF_SLICE_H

#include "config.h"

#include "libavutil/cpu.h"

#if ARCH_X86 && (defined(__GNUC__) || defined(__clang__))
#define VMAF_AVX2     __attribute__((target("avx2")))
#define VMAF_HAS_AVX2 !!(av_get_cpu_flags() & AV_CPU_FLAG_AVX2)
#else
#define VMAF_AVX2
#define VMAF_HAS_AVX2 0
#endif

/// The job of an inline function, of which VMAF_SLICE_OF() chooses one.
#define VMAF_SLICE(name)                                                                    \
static int name ## _c(AVFilterContext *ctx, void *arg, int job, int nb_jobs)                \
{                                                                                           \
    return name(ctx, arg, job, nb_jobs);                                                    \
}                                                                                           \
                                                                                            \
VMAF_AVX2 static int name ## _avx2(AVFilterContext *ctx, void *arg, int job, int nb_jobs)   \
{                                                                                           \
    return name(ctx, arg, job, nb_jobs);                                                    \
}

#define VMAF_SLICE_OF(s, name) ((s)->has_avx2 ? name ## _avx2 : name ## _c)

#endif /* AVFILTER_VMAF_SLICE_H */
