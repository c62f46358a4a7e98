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

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/mem.h"

#include "metric.h"
#include "text.h"

/// What decibels stand for: a mean of decibels means nothing.
#define DISTANCE(decibels) pow(10, -(decibels) / 20)

const Metric metrics[NB_METRICS] = {
    { "vmaf", "target-vmaf", " score:",
      { .higher_is_better = 1, .best = 100, .worst = 0, .offset = 1, .typical = 85 },
      .digits = 2, .tolerance = 1, .step = 5, .scored = ":n_subsample" },
    { "detailloss", "target-loss", " loss:",
      { .best = 0, .worst = 100, .offset = 4, .typical = 20 },
      .digits = 2, .tolerance = 1, .step = 5, .scored = ":n_subsample" },
    { "ssim", "target-ssim", "lavfi.ssim.All=",
      { .higher_is_better = 1, .best = 1, .worst = 0, .offset = 1e-4, .typical = 0.96 },
      .digits = 5, .tolerance = 0.002, .step = 4 },
    { "xpsnr", "target-xpsnr", "lavfi.xpsnr.xpsnr.",
      { .higher_is_better = 1, .is_in_decibels = 1, .best = 100, .typical = 38 },
      .digits = 3, .tolerance = 0.3, .step = 1 },
    { "mad", "target-mad", " score:",
      { .best = 0, .worst = INFINITY, .offset = 0.1, .typical = 15 },
      .digits = 3, .tolerance = 1, .step = 24 },
};

/// The models that have names here: for pictures of up to 1440 lines, and for larger ones.
static const char *const models[][3] = {
    { "v1",    "vmaf_v1.0.16_3d0h",      "vmaf_v1.0.16_1d5h_2160" },
    { "4k",    "vmaf_v1.0.16_1d5h_2160", "vmaf_v1.0.16_1d5h_2160" },
    { "phone", "vmaf_v1.0.16_5d0h",      "vmaf_v1.0.16_5d0h" },
};

char *measure_graph(const Measure *m, const char *encode, int step)
{
    const Metric *metric = m->metric;
    const char *options  = "", *model = m->model;
    // which one of each step changes: encoders repeat their types of frames with a period
    const char *rest     = step < 2 || metric->scored ? "" :
        text(",select='eq(mod(n,%d),floor(%d*mod(floor(n/%d)*0.618034,1)))'", step, step, step);

    if (m->upload)
        rest = text("%s,format=%s,hwupload", rest, m->upload);
    if (metric->scored)
        options = text("%s=%d", metric->scored, step);
    for (int i = 0; i < FF_ARRAY_ELEMS(models); i++)
        if (!strcmp(model, models[i][0]))
            model = models[i][1 + (m->height > 1440)];
    if (!strcmp(metric->name, "vmaf"))
        options = text("%s%s:model=version=%s", options, m->is_mixed ? ":bitdepth=10" : "", model);
    // a log has the last frame, too, which does not always come out; but FFmpeg's own filters write
    // parts of lines, between which others may come
    options = text("%s%s", options, *metric->key == ' ' ? ":stats_file=/dev/stdout" :
                                    ",metadata=print:file=/dev/stdout:direct=1");
    return text("[%s]settb=1/25,setpts=N,split[c][x];[x]null%s[e];[s]settb=1/25,setpts=N%s[r];"
                "%s%s%s=shortest=1%s[o]", encode, rest, rest,
                metric->scale.is_in_decibels ? "[r][e]" : "[e][r]", metric->name,
                m->upload ? "_cuda" : "", options);
}

// ---- scores ----

void score_read(const Metric *m, const char *line, Result *planes)
{
    const char *value = strstr(line, m->key), *plane;

    if (!value)
        return;
    value += strlen(m->key);
    if ((plane = strchr(SCORED_PLANES, *value))) {
        planes += 1 + plane - SCORED_PLANES;
        value  += 2;
    }
    // decibels are infinite where planes are equal
    score_add(planes, FFMIN(strtod(value, NULL), m->scale.is_in_decibels ? 100 : INFINITY));
}

void score_add(Result *r, double score)
{
    checked(av_dynarray2_add((void **)&r->score, &r->nb_scores, sizeof(score), (uint8_t *)&score));
}

double score_mean(const Metric *m, const Result *r)
{
    double sum = 0;

    for (int i = 0; i < r->nb_scores; i++)
        sum += m->scale.is_in_decibels ? DISTANCE(r->score[i]) : r->score[i];
    sum /= r->nb_scores;
    return m->scale.is_in_decibels ? -20 * log10(sum) : sum;
}

static int compare_doubles(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const double *)a, *(const double *)b);
}

/// The value that this percentage of all values is worse than; linear between ranks.
static double percentile(const Metric *m, Result *r, double percent)
{
    const int nb       = r->nb_scores;
    const double place = (m->scale.higher_is_better ? percent : 100 - percent) / 100 * (nb - 1);
    const int i        = FFMIN(place, nb - 2);
    const double *s    = r->score;

    qsort(r->score, nb, sizeof(*s), compare_doubles);
    return nb == 1 ? s[0] : s[i] + (s[i + 1] - s[i]) * (place - i);
}

double score_pool(const Metric *m, const Pool *pool, const Result *sample, int nb)
{
    double worst = m->scale.best, score;
    Result all   = { 0 };

    for (int i = 0; i < nb; i++) {
        const double mean = score_mean(m, &sample[i]);

        worst = reaches(&m->scale, worst, mean) ? mean : worst;
        for (int j = 0; j < sample[i].nb_scores; j++)
            score_add(&all, sample[i].score[j]);
    }
    score = pool->kind == POOL_MEAN       ? score_mean(m, &all) :
            pool->kind == POOL_PERCENTILE ? percentile(m, &all, pool->percent) : worst;
    av_free(all.score);
    return score;
}
