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
 * SpEED of chroma, as VMAF v1 has it: how much the entropy of U and V has changed.
 *
 * Christos G. Bampis, Praful Gupta, Rajiv Soundararajan and Alan C. Bovik, "SpEED-QA: Spatial
 * Efficient Entropic Differencing for Image and Video Quality", IEEE Signal Processing
 * Letters 24(9), 2017.
 *
 * All is floating point in the order of libvmaf's speed.c, where each rounding counts.
 */

#ifndef AVFILTER_VMAF_SPEED_H
#define AVFILTER_VMAF_SPEED_H

#include "libavutil/frame.h"

#include "avfilter.h"

/// The smallest side of chroma, after it is scaled.
#define VMAF_SPEED_MIN_SIZE 80

/// The score of each plane, and of both.
typedef struct VMAFSpeed {
    double u, v, uv;
} VMAFSpeed;

typedef struct VMAFSpeedContext VMAFSpeedContext;

/**
 * @param w,h      of a plane of chroma, its last odd column and row left out
 * @param prescale factor to the size that is measured
 * @return 0, or a negative AVERROR after a message; free it in any case
 */
int ff_vmaf_speed_init(VMAFSpeedContext **s, AVFilterContext *ctx, int w, int h, int depth,
                       double prescale);

VMAFSpeed ff_vmaf_speed(VMAFSpeedContext *s, AVFilterContext *ctx, const AVFrame *reference,
                        const AVFrame *encode);

void ff_vmaf_speed_free(VMAFSpeedContext **s);

#endif /* AVFILTER_VMAF_SPEED_H */
