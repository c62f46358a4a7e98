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

#define VMAF_MAX_MODELS  8      ///< models of a filter
#define VMAF_NB_VARIANTS 4

/// Contrast sensitivities, by the lines of the display and the viewing distance in its heights.
enum VMAFCSF {
    VMAF_CSF_3240,              ///< product of both: 1080 at 3, 2160 at 1.5
    VMAF_CSF_1080_5H,
    VMAF_CSF_2160_3H,
    VMAF_NB_CSF
};

/// [csf][is_diagonal][scale]
extern const float ff_vmaf_adm_csf[VMAF_NB_CSF][2][ADM_SCALES];

/// Properties in which the models differ.
typedef struct VMAFVariant {
    const char *name;           ///< part of the model's name
    enum VMAFCSF csf;
    enum VMAFPrescale prescale;
    const char *viewing;        ///< part of the names of ADM's values
    double transform[3], max;   ///< polynomial and maximum of the score
} VMAFVariant;

typedef struct VMAFModel {
    const AVClass *class;
    // options
    char *version;
    char *name;                 ///< name of the score
    CAMBIOptions cambi;
    int disable_clip, enable_transform;

    const VMAFVariant *variant;
    enum VMAFWindow window;
    int cambi_instance;         ///< first model of the filter with the same CAMBI
} VMAFModel;

/// Values that are reported for each model.
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

/// Names of the first model's values in metadata and lines.
extern const char *const ff_vmaf_value_name[VMAF_NB_VALUES];

/// Make the name of a value in libvmaf's logs. @return the caller's string, or NULL without memory
char *ff_vmaf_log_name(const VMAFModel *model, enum VMAFValue value);

/// Compute the score from CAMBI, SpEED chroma, ADM3 and motion3.
double ff_vmaf_predict(const VMAFModel *model, const double feature[4]);

#endif /* AVFILTER_VMAF_MODEL_H */
