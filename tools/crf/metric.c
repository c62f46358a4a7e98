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

const Metric metrics[] = {
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
    { NULL }
};

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
        sum += m->scale.is_in_decibels ? pow(10, -r->score[i] / 20) : r->score[i];
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

double score_pool(const Metric *m, const char *pool, const Result *sample, int nb)
{
    double worst = m->scale.best, score;
    Result all   = { 0 };

    for (int i = 0; i < nb; i++) {
        const double mean = score_mean(m, &sample[i]);

        worst = reaches(&m->scale, worst, mean) ? mean : worst;
        for (int j = 0; j < sample[i].nb_scores; j++)
            score_add(&all, sample[i].score[j]);
    }
    score = *pool == 'm' ? score_mean(m, &all) :
            *pool == 'w' ? worst : percentile(m, &all, atoi(pool + 1));
    return score;
}
