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
 * Part of the VMAF filters that does not depend on where frames are: options, scores from the results
 * of a pair, logs, and frames that wait for the motion of the next one
 */

#ifndef AVFILTER_VMAF_H
#define AVFILTER_VMAF_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "libavutil/frame.h"
#include "libavutil/opt.h"
#include "libavutil/pixdesc.h"

#include "avfilter.h"
#include "sample_format.h"
#include "score_log.h"
#include "vmaf_model.h"

/// Least width and height for ADM. SpEED and CAMBI need larger pictures, depending on the model.
#define VMAF_MIN_SIZE 33

/// Maximum of pending frames: with the five-frame window, the first two wait for the third.
#define VMAF_MAX_PENDING 3

/// Features with an extractor.
enum VMAFFeature {
    VMAF_FEATURE_SPEED,
    VMAF_FEATURE_CAMBI,
    VMAF_FEATURE_ADM,
    VMAF_FEATURE_VIF,
    VMAF_FEATURE_MOTION,        ///< the last one, which still=1 leaves out
    VMAF_NB_FEATURES
};

/// Pass of an extractor over each pair.
typedef struct VMAFPass {
    enum VMAFFeature feature;
    int instance;               ///< enum VMAFPrescale, enum VMAFWindow, or the first such model
} VMAFPass;

#define VMAF_MAX_PASSES (VMAF_NB_PRESCALES + 3 * VMAF_MAX_MODELS + VMAF_NB_WINDOWS)

/// Results of a pair from the extractors, as far as the models need them.
typedef struct VMAFPairResult {
    ADMSums adm[VMAF_MAX_MODELS];
    VIFSums vif[VMAF_MAX_MODELS];
    double cambi[VMAF_MAX_MODELS];
    double speed[VMAF_NB_PRESCALES][VMAF_CHROMA + 1];   ///< scores of U, V and both
} VMAFPairResult;

/// Frame that waits for its motion, or behind such a frame.
typedef struct VMAFPending {
    AVFrame *frame;
    uint64_t n;                 ///< number among all frames
    int64_t segment_pos;        ///< position in the segment, -1 if it is not compared
    int is_scored;
    double value[METRIC_MAX];
} VMAFPending;

typedef struct VMAFContext {
    // options
    char *models;
    int bitdepth, n_subsample, still, n_threads;
    MetricLog log;

    VMAFModel model[VMAF_MAX_MODELS];
    int nb_models;
    VMAFPass pass[VMAF_MAX_PASSES];     ///< ordered by feature and instance
    int nb_passes;
    int has_window_5;           ///< whether motion is measured over five frames
    ScoreMetric metric[METRIC_MAX];
    char *name[METRIC_MAX];     ///< names in libvmaf's logs
    /// Indices of metrics, -1 without the value. Models may have values in common.
    int metric_of[VMAF_MAX_MODELS][VMAF_NB_VALUES];

    int width, height, depth;   ///< size of the pictures, and bits of the samples that are compared
    int chroma_w, chroma_h;     ///< log2 of the chroma subsampling
    CAMBIDims cambi[VMAF_MAX_MODELS];
    SpeedDims speed[VMAF_NB_PRESCALES];
    ADMScale adm[VMAF_MAX_MODELS][ADM_SCALES];
    VIFDims vif[VMAF_MAX_MODELS];

    uint64_t nb_frames;         ///< frames added so far
    VMAFPending pending[VMAF_MAX_PENDING];
    int nb_pending;
    uint64_t segment_len;       ///< consecutive compared frames: the segment for motion
    MotionState motion[VMAF_NB_FAMILIES][VMAF_NB_WINDOWS];
} VMAFContext;

/// The options of a VMAF filter, whose context has it as member, with two defaults.
#define VMAF_OPTIONS_WITH(type, member, model, log_format, flags)                           \
    { "model", "models, with | between them",                                               \
      offsetof(type, member.models), AV_OPT_TYPE_STRING, { .str = model }, 0, 0, flags },   \
    { "bitdepth", "10 to measure frames of 8 bits as if they were converted",               \
      offsetof(type, member.bitdepth), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 10, flags },       \
    { "n_subsample", "score one of every n frames",                                         \
      offsetof(type, member.n_subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, flags }, \
    { "still", "measure each pair by itself, without motion: for pictures",                 \
      offsetof(type, member.still), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, flags },          \
    { "n_threads", "ignored: see the option threads of filters",                            \
      offsetof(type, member.n_threads), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, INT_MAX, flags }, \
    METRIC_FORMAT_OPTIONS(type, member.log, log_format, flags),                             \
    METRIC_LOG_OPTIONS(type, member.log, flags)

#define VMAF_OPTIONS(type, member, flags)                                                   \
    VMAF_OPTIONS_WITH(type, member, NULL, METRIC_FORMAT_BY_NAME, flags)

/// The options under libvmaf's name, with the defaults of FFmpeg's filter libvmaf.
#define VMAF_COMPAT_OPTIONS(type, member, flags)                                            \
    VMAF_OPTIONS_WITH(type, member, "version=vmaf_v0.6.1", METRIC_FORMAT_XML, flags)

/// @name Functions of type int return 0, or a negative AVERROR after a message
/// @{

/// Check the options. If model= is set, the models are parsed here, otherwise in ff_vmaf_config().
int ff_vmaf_init(VMAFContext *s, AVFilterContext *ctx);

/**
 * Choose a model if none is given, and set up for the configured inputs. Samples of 16 bits are read as
 * 12 bits, which NVDEC stores in them.
 */
int ff_vmaf_config(VMAFContext *s, AVFilterContext *ctx, const LumaInputs *inputs);

/// Set up for pictures of another size, after ff_vmaf_config().
int ff_vmaf_set_size(VMAFContext *s, AVFilterContext *ctx, int width, int height);

/**
 * Add a frame. There must be fewer than VMAF_MAX_PENDING pending frames.
 *
 * @param frame  frame of the main input; becomes the context's
 * @param result results of the pair, NULL if n_subsample leaves the frame out
 * @param sad    [VMAF_NB_WINDOWS] see ff_vmaf_motion_begin(); NULL if the frame is not compared:
 *               motion begins anew after it
 */
void ff_vmaf_add(VMAFContext *s, AVFrame *frame, const VMAFPairResult *result, const uint64_t *sad);

/**
 * Get the next frame, with its score if it has one.
 *
 * @param ended whether the segment has ended, so that no frame waits for the next one
 * @return 1 with a frame; 0 if there is none, or only one that waits for the motion of the next
 */
int ff_vmaf_get(VMAFContext *s, AVFilterContext *ctx, AVFrame **frame, int ended);

/// Finish the log and free the context. @param ended whether the inputs have ended
void ff_vmaf_uninit(VMAFContext *s, AVFilterContext *ctx, int ended);
/// @}

#endif /* AVFILTER_VMAF_H */
