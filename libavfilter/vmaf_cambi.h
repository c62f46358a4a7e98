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
 * CAMBI, the banding that VMAF v1 measures in the luma of the encode.
 *
 * Pulkit Tandon, Mariana Afonso, Joel Sole and Lukas Krasula, "CAMBI: Contrast-aware Multiscale
 * Banding Index", Picture Coding Symposium 2021.
 *
 * The contrast to each of the four nearest steps counts as far as many pixels around have either
 * value. All is integer but for one multiplication, in libvmaf's order.
 */

#ifndef AVFILTER_VMAF_CAMBI_H
#define AVFILTER_VMAF_CAMBI_H

#include "libavutil/frame.h"

#include "avfilter.h"

/// The picture that was encoded, if it is not what is shown.
typedef struct VMAFCambiOptions {
    int width, height, depth;   ///< 0 for those of what is shown
} VMAFCambiOptions;

typedef struct VMAFCambiContext VMAFCambiContext;

/// @return 0, or a negative AVERROR after a message; free it in any case
int ff_vmaf_cambi_init(VMAFCambiContext **s, AVFilterContext *ctx, int width, int height, int depth,
                       const VMAFCambiOptions *options);

/// @return 0, or AVERROR_INVALIDDATA after a message if a sample has more bits than the depth
int ff_vmaf_cambi(VMAFCambiContext *s, AVFilterContext *ctx, const AVFrame *encode, double *score);

void ff_vmaf_cambi_free(VMAFCambiContext **s);

#endif /* AVFILTER_VMAF_CAMBI_H */
