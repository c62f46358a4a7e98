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

#include "libavutil/error.h"
#include "libavutil/log.h"

#include "cambi.h"
#include "sample_format.h"

int ff_cambi_init(CAMBICommon *s, AVFilterContext *ctx, uint64_t *nb_frames)
{
    static const char *const model_name[CAMBI_NB_MODELS] = {
        [CAMBI_MODEL_V1] = "v1", [CAMBI_MODEL_LIBVMAF] = "libvmaf",
    };
    const CAMBIOptions *o = &s->options;

    if (o->width && o->width < 180 || o->height && o->height < 150 || o->depth && o->depth < 6) {
        av_log(ctx, AV_LOG_ERROR, "enc_width=%d, enc_height=%d or enc_bitdepth=%d is too small: set "
               "at least 180, 150 and 6.\n", o->width, o->height, o->depth);
        return AVERROR(EINVAL);
    }
    s->metric = (ScoreMetric){
        .name = "score", .log_name = "cambi", .digits = 6, .pooled = 1, .score_number = 1,
        .max = ff_vmaf_cambi_max(o->model), .model = model_name[o->model],
    };
    s->log.filter     = "cambi";
    s->log.title      = "CAMBI";
    s->log.predicts   = "banding";
    s->log.metric     = &s->metric;
    s->log.nb_metrics = 1;
    return ff_metric_init(&s->log, ctx, nb_frames);
}

int ff_cambi_is_accepted(const AVPixFmtDescriptor *desc)
{
    const int depth = desc->comp[0].depth;

    return luma_is_supported(desc) && !(desc->flags & AV_PIX_FMT_FLAG_ALPHA) &&
           (depth == 8 || depth == 10 || depth == 12);
}
