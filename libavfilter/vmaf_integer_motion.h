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
 * VMAF's motion: the sum of absolute differences (SAD) of two blurred frames of the reference, and the
 * features that are computed from those of consecutive frames (libvmaf's integer_motion.c).
 * vmaf_motion.h belongs to another filter, vmafmotion.
 */

#ifndef AVFILTER_VMAF_INTEGER_MOTION_H
#define AVFILTER_VMAF_INTEGER_MOTION_H

#include <stdint.h>

#include "libavutil/frame.h"

#include "avfilter.h"
#include "vmaf_cpu.h"
#include "vmaf_motion_ops.h"

/// Distance of the two frames that are compared.
enum VMAFWindow {
    VMAF_WINDOW_3,              ///< to the previous frame
    VMAF_WINDOW_5,              ///< to frame n-2
    VMAF_NB_WINDOWS
};

/// Motion of a segment: consecutive compared frames. Zero before its first frame.
typedef struct MotionState {
    double sad[4];              ///< SADs per sample of the last frames; frame i is at i % 4
    double last;                ///< motion3 of the last frame, before it is averaged
} MotionState;

/// Set the SAD of frame i of the segment. Frames without a frame to compare with have none.
/// @param max motion_max_val: masking saturates
void ff_vmaf_motion_add(MotionState *s, enum VMAFWindow window, int64_t i, uint64_t sad,
                        int width, int height, double max);

/**
 * Compute libvmaf's motion2 of a frame, which depends on the frames around it.
 *
 * @param i      position of the frame in the segment
 * @param length number of frames of the segment so far, up to frame i + 1
 */
double ff_vmaf_motion2(const MotionState *s, enum VMAFWindow window, int64_t i, int64_t length);

/// Compute libvmaf's motion3 of a frame. Frame i - 1 must be the last one it was called for.
double ff_vmaf_motion3(MotionState *s, enum VMAFWindow window, int64_t i, int64_t length);

/// Row functions, of w samples. Buffers may be read and written VMAF_PAD bytes before and after; rows of
/// frames may not.
typedef struct MotionDSPContext {
    /// Subtract a row of a frame from that of the previous frame.
    void (*subtract)(int16_t *dst, const void *prev, const void *row, int depth, int w);
    /// Apply motion_filter_vertical() to five rows.
    void (*vertical)(int32_t *dst, const int16_t *const row[MOTION_TAPS], int depth, int w);
    /// Return the sum of motion_filter_horizontal(). Reads two elements before and after.
    uint32_t (*horizontal_sad)(const int32_t *src, int w);
} MotionDSPContext;

void ff_vmaf_motion_dsp_init(MotionDSPContext *dsp);
void ff_vmaf_motion_dsp_init_avx2(MotionDSPContext *dsp);

/// Per-slice buffers and result.
typedef struct MotionSlice {
    int16_t *difference[MOTION_TAPS];   ///< ring of rows; row y is at y % MOTION_TAPS
    int32_t *column;                    ///< a row of vertically filtered differences
    uint64_t sad;
} MotionSlice;

/// Extractor on the CPU.
typedef struct MotionContext {
    int depth, nb_slices;
    MotionDSPContext dsp;
    MotionSlice *slice;
    VMAFBuffers buffers;

    const AVFrame *prev, *frame;        ///< frames that are compared
    int begun;                          ///< whether the task is set
    uint64_t *sad;                      ///< result of these frames
} MotionContext;

/// Allocate the buffers of an extractor. @return 0 or AVERROR(ENOMEM)
int ff_vmaf_motion_init(MotionContext *s, int width, int depth, int nb_slices);

/**
 * Begin to compare two frames of the reference.
 *
 * @param sad set to the sum of absolute differences of the blurred frames, in 2^-8 of a sample with 8
 *            bits
 */
void ff_vmaf_motion_begin(MotionContext *s, const AVFrame *prev, const AVFrame *frame,
                          uint64_t *sad);

/// Set the task, or the result when the task is done. @return 0 if the result is set
int ff_vmaf_motion_next(MotionContext *s, VMAFTask *task);

void ff_vmaf_motion_close(MotionContext *s);

#endif /* AVFILTER_VMAF_INTEGER_MOTION_H */
