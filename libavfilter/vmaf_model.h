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
 * VMAF's models: their options, the names of their values in logs, and the regression (SVR) that
 * computes a score from features
 */

#ifndef AVFILTER_VMAF_MODEL_H
#define AVFILTER_VMAF_MODEL_H

#include "libavutil/log.h"

#include "vmaf_adm.h"
#include "vmaf_cambi.h"
#include "vmaf_integer_motion.h"
#include "vmaf_speed.h"
#include "vmaf_vif.h"

#define VMAF_MAX_MODELS 8       ///< models of a filter

/// Models with the same features.
enum VMAFFamily {
    VMAF_V0,                    ///< VMAF v0.6.1: ADM2, motion2 and VIF
    VMAF_V1,                    ///< VMAF v1: CAMBI, SpEED chroma, ADM3 and motion3
    VMAF_NB_FAMILIES
};

/// Parameters of ADM; those of v1 by the lines of the display and the viewing distance in its heights.
enum VMAFADM {
    VMAF_ADM_3240,              ///< product of both: 1080 at 3, 2160 at 1.5
    VMAF_ADM_1080_5H,
    VMAF_ADM_2160_3H,
    VMAF_ADM_WATSON,            ///< all v0 models
    VMAF_NB_ADM
};

extern const ADMParams ff_vmaf_adm_params[VMAF_NB_ADM];

struct VMAFSVR;

/// Properties in which the models differ.
typedef struct VMAFVariant {
    const char *name;           ///< name of the model, without hfr_
    enum VMAFFamily family;
    const struct VMAFSVR *svr;
    enum VMAFADM adm;
    double gain_limit;          ///< of ADM and VIF
    enum VMAFPrescale prescale;
    const char *viewing;        ///< part of the names of ADM's values
    double transform[3], max;   ///< polynomial and maximum of the score
} VMAFVariant;

typedef struct VMAFModel {
    const AVClass *class;
    // options
    char *version, *path;
    char *name;                 ///< name of the score
    CAMBIOptions cambi;
    int disable_clip, enable_transform, motion_force_zero;
    double adm_gain_limit, vif_gain_limit;      ///< the variant's after parsing, if they are not given

    const VMAFVariant *variant;
    enum VMAFWindow window;
    /// @name First model of the filter with the same parameters of a feature
    /// @{
    int cambi_instance, adm_instance, vif_instance;
    /// @}
} VMAFModel;

/// Values that are reported, as far as a model has them, in the order of libvmaf.
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
    VMAF_VIF_SCALE = VMAF_SAD + 1,
    VMAF_MOTION2 = VMAF_VIF_SCALE + VIF_SCALES,
    VMAF_MOTION3,
    VMAF_NB_VALUES
};

/**
 * Parse model=. As in libvmaf's filter, it is split at every '|' before escapes and quotes are read,
 * and empty parts are skipped.
 *
 * @return the number of models, or a negative AVERROR after a message
 */
int ff_vmaf_models_parse(VMAFModel model[VMAF_MAX_MODELS], const char *text, void *logctx);

/// Return the model= that is used for frames of a height if none is given.
const char *ff_vmaf_default_model(int height);

void ff_vmaf_models_free(VMAFModel model[VMAF_MAX_MODELS]);

/// Return whether a model reports a value.
int ff_vmaf_has_value(const VMAFModel *model, enum VMAFValue value);

/// Names of the first model's values in metadata and lines.
extern const char *const ff_vmaf_value_name[VMAF_NB_VALUES];

/// Make the name of a value in libvmaf's logs. @return the caller's string, or NULL without memory
char *ff_vmaf_log_name(const VMAFModel *model, enum VMAFValue value);

/// Compute the score from the other values of a pair.
double ff_vmaf_predict(const VMAFModel *model, const double value[VMAF_NB_VALUES]);

#endif /* AVFILTER_VMAF_MODEL_H */
