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
 * Fuzzer of the reader of models. The input is a model file. A model that is
 * taken must score whatever the features are.
 */

#define _GNU_SOURCE
#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libavfilter/bliinds.h"
#include "fuzz.h"

static void check_model(const BLIINDSModel *model, int n)
{
    static const double values[] = { 0, 1, -3.3219, 19, 0.1, 1e6, -1e6 };
    double feature[BLIINDS_NB_FEATURES];
    BLIINDSPrediction p;

    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        feature[i] = values[(n + i * (n & 1)) % FF_ARRAY_ELEMS(values)];
    p = ff_bliinds_model_predict(model, feature);
    av_assert0(isfinite(p.raw));
    av_assert0(p.score >= model->min && p.score <= model->max);
    av_assert0(p.sigma > 0 || isnan(model->sigma));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    BLIINDSModel model[BLIINDS_NB_MODELS];
    const int fd = memfd_create("model", 0);
    char path[32];

    av_log_set_callback(fuzz_log);
    av_assert0(fd >= 0 && write(fd, data, size) == size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (ff_bliinds_model_load(model, NULL, path) >= 0) {
        int nb = 0;

        for (int i = 0; i < BLIINDS_NB_MODELS; i++) {
            nb += !!model[i].name[0];
            for (int j = 0; model[i].name[0] && j < 8; j++)
                check_model(&model[i], j);
        }
        av_assert0(nb);
    }
    close(fd);
    return 0;
}
