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

#define _GNU_SOURCE         // for getline()

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/common.h"
#include "libavutil/cpu.h"
#include "libavutil/mem.h"

#include "metric.h"
#include "text.h"

/// What decibels stand for: a mean of decibels means nothing.
#define DISTANCE(decibels) pow(10, -(decibels) / 20)

const Metric metrics[NB_METRICS] = {
    { "vmaf", "vmaf", "libvmaf", " score:", "target-vmaf",
      { .higher_is_better = 1, .best = 100, .worst = 0, .offset = 1, .typical = 85 },
      .digits = 2, .tolerance = 1, .step = 5, .target = 95, .has_n_subsample = 1 },
    { "detailloss", "detailloss", NULL, " loss:", "target-loss",
      { .best = 0, .worst = 100, .offset = 4, .typical = 20 },
      .digits = 2, .tolerance = 1, .step = 5, .target = 5, .has_n_subsample = 1 },
    { "ssim", "ssim", NULL, " All:", "target-ssim",
      { .higher_is_better = 1, .best = 1, .worst = 0, .offset = 1e-4, .typical = 0.96 },
      .digits = 5, .tolerance = 0.002, .step = 4 },
    { "xpsnr", "xpsnr", NULL, "XPSNR ", "target-xpsnr",
      { .higher_is_better = 1, .is_in_decibels = 1, .best = 100, .typical = 38 },
      .digits = 3, .tolerance = 0.3, .step = 1 },
    { "mad", "mad", NULL, " score:", "target-mad",
      { .best = 0, .worst = INFINITY, .offset = 0.1, .typical = 15 },
      .digits = 3, .tolerance = 1, .step = 24 },
};

/// The models that have names here: for pictures of up to 1440 lines, and for larger ones.
static const char *const models[][3] = {
    { "v1",           "vmaf_v1.0.16_3d0h",      "vmaf_v1.0.16_1d5h_2160" },
    { "4k",           "vmaf_v1.0.16_1d5h_2160", "vmaf_v1.0.16_1d5h_2160" },
    { "phone",        "vmaf_v1.0.16_5d0h",      "vmaf_v1.0.16_5d0h" },
    { "v0.6.1",       "vmaf_v0.6.1",            "vmaf_4k_v0.6.1" },
    { "v0.6.1-4k",    "vmaf_4k_v0.6.1",         "vmaf_4k_v0.6.1" },
    { "v0.6.1-phone", "vmaf_v0.6.1:enable_transform=true", "vmaf_v0.6.1:enable_transform=true" },
};

static int is_file(const char *model)
{
    return strchr(model, '/') || strlen(model) > 5 && !strcmp(strchr(model, 0) - 5, ".json");
}

/// A model is one of v1 unless its name says that it is not.
static int is_v1(const char *model)
{
    return !strstr(model, "v0.");
}

void measure_choose(Measure *m, const char *filters, int with_gpu)
{
    const Metric *metric   = m->metric;
    const char *const name = text(" %s ", metric->filter);
    // our filter of VMAF has the models of v1
    const int is_ours = !metric->stand_in || is_v1(m->model) && !is_file(m->model);

    m->on_gpu = is_ours && with_gpu && strstr(filters, text(" %s_cuda ", metric->filter));
    m->filter = is_ours && strstr(filters, name) ? metric->filter :
                metric->stand_in && strstr(filters, text(" %s ", metric->stand_in)) ?
                metric->stand_in : NULL;
}

const char *upload_format(enum AVPixelFormat format)
{
    return format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUVJ420P ? "nv12" :
           format == AV_PIX_FMT_YUV420P10 ? "p010" : NULL;
}

/// Text with the characters of a set escaped.
static const char *escape(const char *string, const char *set)
{
    char *escaped = text("%*s", 2 * (int)strlen(string), ""), *p = escaped;

    for (; *string; *p++ = *string++)
        if (*string == '\\' || *string == '\'' || strchr(set, *string))
            *p++ = '\\';
    *p = 0;
    return escaped;
}

/// The options of VMAF's filters.
static const char *model_options(const Measure *m, int is_libvmaf, int height, int depth)
{
    const char *name = m->model, *model;

    for (int i = 0; i < FF_ARRAY_ELEMS(models); i++)
        if (!strcmp(name, models[i][0]))
            name = models[i][1 + (height > 1440)];
    model = is_file(name) ? text("path=%s", escape(name, ":")) : text("version=%s", name);
    if (is_libvmaf && is_v1(name) && depth < 10)
        model = text("%s:cambi.enc_bitdepth=%d", model, depth);
    // the filter and the graph each take off one escape
    model = escape(escape(model, ":"), "[],;");
    return is_libvmaf ? text(":n_threads=%d:log_fmt=xml:model=%s", av_cpu_count(), model)
                      : text(":bitdepth=10:model=%s", model);
}

char *measure_graph(const Measure *m, const char *encode, const char *log, int height,
                    enum AVPixelFormat format, int step)
{
    const Metric *metric = m->metric;
    const int is_libvmaf = m->filter == metric->stand_in;
    // which one of each step changes: encoders repeat their types of frames with a period
    const char *chosen   = step < 2 || metric->has_n_subsample ? "" :
        text(",select='eq(mod(n,%d),floor(%d*mod(floor(n/%d)*0.618034,1)))'", step, step, step);
    // CAMBI, a part of VMAF v1, is made for 10 bits
    const char *bits     = is_libvmaf && is_v1(m->model) ?
                           ",format=yuv420p10|yuv422p10|yuv444p10" : "";
    const char *upload   = m->on_gpu ? text(",format=%s,hwupload", upload_format(format)) : "";
    const char *rest     = text("%s%s%s", chosen, bits, upload);

    return text("[%s]settb=1/25,setpts=N,split[c]%s[e];[s]settb=1/25,setpts=N%s[r];"
                "%s%s%s=shortest=1:%s=%s%s%s[o]", encode, *rest ? text("[x];[x]%s", rest + 1) : "",
                rest, metric->scale.is_in_decibels ? "[r][e]" : "[e][r]", m->filter,
                m->on_gpu ? "_cuda" : "", is_libvmaf ? "log_path" : "stats_file", log,
                metric->has_n_subsample ? text(":n_subsample=%d", step) : "",
                !metric->stand_in ? "" : model_options(m, is_libvmaf, height,
                                                       av_pix_fmt_desc_get(format)->comp[0].depth));
}

// ---- scores ----

void scores_add(Scores *s, double score)
{
    checked(av_dynarray2_add((void **)&s->score, &s->nb, sizeof(score), (const uint8_t *)&score));
}

int measure_read(const Measure *m, FILE *log, Scores *scores)
{
    const Scale *scale    = &m->metric->scale;
    const char *const key = m->filter == m->metric->stand_in ? " vmaf=\"" : m->metric->key;
    double distance[4]    = { 0 };
    char *line  = NULL;
    size_t size = 0;
    int worst = 0, nb_planes = 1;

    *scores = (Scores){ 0 };
    while (getline(&line, &size, log) >= 0) {
        const char *found = line;

        for (int i = 0; i < FF_ARRAY_ELEMS(distance) && (found = strstr(found, key)); i++) {
            // in decibels, the name of a plane is between
            char *end;
            double score = strtod(found += strlen(key) + 2 * scale->is_in_decibels, &end);

            if (end == found)       // a summary
                break;
            if (scale->is_in_decibels)
                score = FFMIN(score, scale->best);      // infinite where planes are equal
            if (!isfinite(score))
                return fail("%s has no score for these pictures: take another metric.",
                            m->metric->name);
            distance[i] += DISTANCE(score);
            nb_planes    = FFMAX(nb_planes, i + 1);
            scores_add(scores, score);
        }
    }
    free(line);
    // the plane that is worst over all frames, as the filter's own summary has it
    for (int i = 1; i < nb_planes; i++)
        if (distance[i] > distance[worst])
            worst = i;
    scores->nb /= nb_planes;
    for (int i = 0; i < scores->nb; i++)
        scores->score[i] = scores->score[i * nb_planes + worst];
    return 0;
}

double scores_mean(const Metric *m, const Scores *s)
{
    double sum = 0;

    for (int i = 0; i < s->nb; i++)
        sum += m->scale.is_in_decibels ? DISTANCE(s->score[i]) : s->score[i];
    return m->scale.is_in_decibels ? -20 * log10(sum / s->nb) : sum / s->nb;
}

static int compare_doubles(const void *a, const void *b)
{
    return FFDIFFSIGN(*(const double *)a, *(const double *)b);
}

/// The value that this percentage of all values is worse than; linear between ranks.
static double percentile(const Metric *m, Scores *s, double percent)
{
    const double place = (m->scale.higher_is_better ? percent : 100 - percent) / 100 * (s->nb - 1);
    const int i        = FFMIN(place, s->nb - 2);

    qsort(s->score, s->nb, sizeof(*s->score), compare_doubles);
    return s->nb == 1 ? s->score[0] : s->score[i] + (s->score[i + 1] - s->score[i]) * (place - i);
}

double scores_pool(const Metric *m, const Pool *pool, const Scores *sample, int nb)
{
    double worst = m->scale.best, score;
    Scores all   = { 0 };

    for (int i = 0; i < nb; i++) {
        const double mean = scores_mean(m, &sample[i]);

        worst = reaches(&m->scale, worst, mean) ? mean : worst;
        for (int j = 0; j < sample[i].nb; j++)
            scores_add(&all, sample[i].score[j]);
    }
    score = pool->kind == POOL_MEAN       ? scores_mean(m, &all) :
            pool->kind == POOL_PERCENTILE ? percentile(m, &all, pool->percent) : worst;
    av_free(all.score);
    return score;
}
