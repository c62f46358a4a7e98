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
 * ADM and motion of VMAF v1 on the CPU: rows are streamed, and of each scale only the picture of
 * the next one is kept.
 */

#ifndef AVFILTER_VMAF_LUMA_H
#define AVFILTER_VMAF_LUMA_H

#include <stddef.h>
#include <stdint.h>

#include "vmaf_adm.h"

/// Rows of the luma of a picture: uint8_t for a depth of 8, else uint16_t.
typedef struct VMAFLuma {
    const uint8_t *data;
    ptrdiff_t linesize;
} VMAFLuma;

typedef struct VMAFLumaContext {
    int width, height, depth;
    int nb_jobs;
    int has_avx2;
    void *image[VMAF_ADM_SCALES][2];    ///< int16_t of scale 1, int32_t after it
    struct VMAFLumaJob *job;
    uint8_t *memory;                    ///< all of image
} VMAFLumaContext;

/// Set up for pictures of a size. @return 0 or AVERROR(ENOMEM); free it in any case
int ff_vmaf_luma_init(VMAFLumaContext *s, int width, int height, int depth, int nb_jobs);

void ff_vmaf_luma_uninit(VMAFLumaContext *s);

/**
 * Job's part of a scale, which comes after all jobs of the scale before.
 *
 * @param luma of the reference and of the encode
 * @param sums set by the first scale
 */
void ff_vmaf_adm_slice(const VMAFLumaContext *s, const VMAFADMScale *scale,
                       const VMAFLuma luma[2], VMAFADMSums *sums, int job, int nb_jobs);

/// Job's part of the absolute differences of two blurred frames of the reference.
uint64_t ff_vmaf_motion_slice(const VMAFLumaContext *s, const VMAFLuma *before,
                              const VMAFLuma *now, int job, int nb_jobs);

#endif /* AVFILTER_VMAF_LUMA_H */
