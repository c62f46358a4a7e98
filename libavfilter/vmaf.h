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
 * What the VMAF filters share: options, models, and all that is computed of the sums over a pair of
 * pictures: features, scores, logs, and the frames that wait for the motion of the next one.
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
#include "luma.h"
#include "metric.h"
#include "vmaf_adm.h"
#include "vmaf_cambi.h"
#include "vmaf_integer_motion.h"
#include "vmaf_speed.h"

/// ADM's smallest picture. SpEED and CAMBI need larger ones, as the model has it.
#define VMAF_MIN_SIZE 33

#define VMAF_MAX_DEPTH 12

/// The most models of a filter.
#define VMAF_MAX_MODELS 8

/// Frames that wait, at most: with the five frame window, the first two wait for the third.
#define VMAF_MAX_WAITING 3

/// What tells the models apart.
typedef struct VMAFForm {
    const char *name;           ///< in that of a model
    enum VMAFCSF csf;
    enum VMAFPrescale prescale;
    const char *viewing;        ///< of ADM's names
    double transform[3], max;
} VMAFForm;

typedef struct VMAFModel {
    const AVClass *class;
    // options
    char *version;
    char *name;                 ///< of the score
    CAMBIOptions cambi;
    int disable_clip, enable_transform;

    const VMAFForm *form;
    enum VMAFWindow window;
    int cambi_of;               ///< the first model with the same CAMBI
} VMAFModel;

/// What a filter's CPU or GPU part hands to the shared part: what the models need of it.
typedef struct VMAFSums {
    ADMSums adm[VMAF_NB_CSF];
    double cambi[VMAF_MAX_MODELS];
    double speed[VMAF_NB_PRESCALES][VMAF_CHROMA + 1];   ///< of each plane, and of both
} VMAFSums;

/// What is reported for each model.
enum VMAFValue {
    VMAF_SCORE,
    VMAF_CAMBI,
    VMAF_SPEED_U,
    VMAF_SPEED_V,
    VMAF_SPEED_UV,
    VMAF_ADM2,
    VMAF_AIM,
    VMAF_ADM3,
    VMAF_ADM_SCALE,
    VMAF_SAD = VMAF_ADM_SCALE + ADM_SCALES,
    VMAF_MOTION2,
    VMAF_MOTION3,
    VMAF_NB_VALUES
};

/// A frame that has been measured, or one that passes.
typedef struct VMAFWaiting {
    AVFrame *frame;
    uint64_t n;                 ///< its number among all frames
    int64_t run;                ///< its number among those that follow each other, or -1
    int is_scored;
    double value[METRIC_MAX];
} VMAFWaiting;

typedef struct VMAFContext {
    // options
    char *models, *pool, *log_format;
    int bitdepth, n_subsample, still, n_threads;
    MetricLog log;

    VMAFModel model[VMAF_MAX_MODELS];
    int nb_models;
    int needs_csf[VMAF_NB_CSF], needs_prescale[VMAF_NB_PRESCALES], needs_window[VMAF_NB_WINDOWS];
    ScoreMetric metric[METRIC_MAX];
    char *name[METRIC_MAX];     ///< in libvmaf's logs
    int metric_of[VMAF_MAX_MODELS][VMAF_NB_VALUES];     ///< models may have values in common

    int width, height, depth;   ///< that are measured
    int chroma_w, chroma_h;     ///< log2 of its steps
    CAMBIDims cambi[VMAF_MAX_MODELS];
    SpeedDims speed[VMAF_NB_PRESCALES];
    ADMScale adm[VMAF_NB_CSF][ADM_SCALES];

    uint64_t nb_frames;         ///< that the filter was given
    VMAFWaiting waiting[VMAF_MAX_WAITING];
    int nb_waiting;
    /// Frames that follow each other, since the first or the last one that was not compared.
    uint64_t nb_run;
    MotionState motion[VMAF_NB_WINDOWS];
} VMAFContext;

/// The options of a VMAF filter, whose context has it as member.
#define VMAF_OPTIONS(type, member, flags)                                                   \
    { "model", "models, with | between them",                                               \
      offsetof(type, member.models), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags },    \
    { "bitdepth", "10 to measure frames of 8 bits as if they were converted",               \
      offsetof(type, member.bitdepth), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, 10, flags },       \
    { "n_subsample", "score one of every n frames",                                         \
      offsetof(type, member.n_subsample), AV_OPT_TYPE_INT, { .i64 = 1 }, 1, INT_MAX, flags }, \
    { "still", "measure each pair by itself, without motion: for pictures",                 \
      offsetof(type, member.still), AV_OPT_TYPE_BOOL, { .i64 = 0 }, 0, 1, flags },          \
    { "n_threads", "ignored: see the option threads of filters",                            \
      offsetof(type, member.n_threads), AV_OPT_TYPE_INT, { .i64 = 0 }, 0, INT_MAX, flags }, \
    { "pool", "ignored: the summary has all means",                                         \
      offsetof(type, member.pool), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags },      \
    { "log_fmt", "format of log_path: only json is supported",                              \
      offsetof(type, member.log_format), AV_OPT_TYPE_STRING, { .str = NULL }, 0, 0, flags }, \
    METRIC_LOG_OPTIONS(type, member.log, flags)

/// @name Functions of type int return 0, or a negative AVERROR after a message
/// @{

/// Check the options. If model= is set, the models are parsed here, otherwise in ff_vmaf_config().
int ff_vmaf_init(VMAFContext *s, AVFilterContext *ctx);

/**
 * Choose a model where none is given, and set up for the configured inputs. Samples of 16 bits are
 * measured as of 12, which is what NVDEC puts there.
 */
int ff_vmaf_config(VMAFContext *s, AVFilterContext *ctx, const LumaInputs *inputs);

/// The same for pictures of another size, if the models can measure them.
int ff_vmaf_set_size(VMAFContext *s, AVFilterContext *ctx, int width, int height);

/**
 * Take a frame: at most VMAF_MAX_WAITING, with those that still wait.
 *
 * @param sums of the pair, NULL for a frame that is not chosen
 * @param sad  absolute differences of the blurred frames of the reference, of the windows that are
 *             needed; NULL for a frame that is not compared: motion begins anew after it
 */
void ff_vmaf_add(VMAFContext *s, AVFrame *frame, const VMAFSums *sums, const uint64_t *sad);

/**
 * Get the next frame, with its score where it has one.
 *
 * @param ended no frame is to come, or none that follows on these
 * @return 1 with a frame; 0 if there is none, or one that waits for the motion of the next
 */
int ff_vmaf_get(VMAFContext *s, AVFilterContext *ctx, AVFrame **frame, int ended);

void ff_vmaf_uninit(VMAFContext *s, AVFilterContext *ctx, int ended);
/// @}

#endif /* AVFILTER_VMAF_H */
