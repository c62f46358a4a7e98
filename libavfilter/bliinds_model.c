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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/file.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "bliinds_model.h"
#include "quality_number.h"

#define MODEL_VERSION  "1"
#define MODEL_MAX_SIZE (1 << 20)    ///< bytes; a full model of all features has 20 kB

/// In the joint form, one more variable than there are features: the target.
#define TARGET    BLIINDS_NB_FEATURES
#define MAX_KNOWN (BLIINDS_NB_FEATURES + 1)

/// How far P_ij may be from P_ji in the precision, relative to sqrt(P_ii P_jj):
/// what rounding leaves of a symmetric matrix.
#define MAX_ASYMMETRY 1e-4

/// No number of a model is larger, so that what is made of it stays finite.
#define MAX_NUMBER 1e100

#define NAME(name) name,
const char *const ff_bliinds_feature_name[] = { BLIINDS_FEATURES(NAME) };

extern const unsigned char ff_bliinds_model_vmaf_est3_data[];

/// Models compiled in, from models/; the first is the default.
static const struct {
    const char *name;
    const unsigned char *text;
} builtin[] = {
    { "vmaf_est3", ff_bliinds_model_vmaf_est3_data },
};

typedef struct Parser {
    BLIINDSModel *model;
    void *logctx;
    const char *path;
    int line;
    char *next;                         ///< rest of the line

    int got_constant, got_range, got_direction, got_end;
    int has_weight[BLIINDS_NB_FEATURES];
    int nb_weights;

    // the variables of mean and precision, in the order of the mean lines
    int known[MAX_KNOWN];
    double mean[MAX_KNOWN];
    int nb_known;
    int joint;                          ///< the last known one is the target
    double *precision;                  ///< [MAX_KNOWN][MAX_KNOWN]
    int row_line[MAX_KNOWN];            ///< where a row was read, 0 for not yet
    int nb_rows;
} Parser;

#define FAIL(...) do {                                                          \
    av_log(p->logctx, AV_LOG_ERROR, "%s:%d: ", p->path, p->line);               \
    av_log(p->logctx, AV_LOG_ERROR, __VA_ARGS__);                               \
    return AVERROR_INVALIDDATA;                                                 \
} while (0)

static char *next_word(Parser *p)
{
    return av_strtok(NULL, " \t\r", &p->next);
}

static int parse_number(Parser *p, double *dst)
{
    char *word = next_word(p), *end;

    if (!word)
        FAIL("a number is missing.\n");
    *dst = quality_strtod(word, &end);
    if (*end || !isfinite(*dst))
        FAIL("'%s' is not a finite number.\n", word);
    return 0;
}

/// Index of a feature in all features, or TARGET if that is allowed.
static int parse_feature(Parser *p, int allow_target, int *dst)
{
    char *word = next_word(p);

    if (!word)
        FAIL("the name of a feature is missing.\n");
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++) {
        if (!strcmp(word, ff_bliinds_feature_name[i])) {
            *dst = i;
            return 0;
        }
    }
    if (allow_target && !strcmp(word, "target")) {
        *dst = TARGET;
        return 0;
    }
    FAIL("there is no feature '%s'.\n", word);
}

static int parse_end_of_line(Parser *p)
{
    char *word = next_word(p);

    if (word)
        FAIL("'%s' is too much on this line.\n", word);
    return 0;
}

static int parse_version(Parser *p, char *line)
{
    char *word = av_strtok(line, " \t\r", &p->next);

    if (!word || strcmp(word, "bliinds-model") || !(word = next_word(p)))
        FAIL("not a model: it should begin with 'bliinds-model " MODEL_VERSION "'. "
             "tools/bliinds-convert-release makes one of a copy of the "
             "published release.\n");
    if (strcmp(word, MODEL_VERSION))
        FAIL("version %s of the format is not supported, only " MODEL_VERSION ".\n", word);
    return parse_end_of_line(p);
}

static int parse_name(Parser *p)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    char *word = next_word(p);

    if (!word)
        FAIL("the name is missing.\n");
    if (word[strspn(word, allowed)] || strlen(word) >= sizeof(p->model->name))
        FAIL("the name may have up to %d letters, digits and '._-'.\n",
             (int)sizeof(p->model->name) - 1);
    av_strlcpy(p->model->name, word, sizeof(p->model->name));
    return parse_end_of_line(p);
}

static int parse_direction(Parser *p)
{
    char *word = next_word(p);

    if (!word || strcmp(word, "lower") && strcmp(word, "higher"))
        FAIL("the direction is 'lower' or 'higher', whichever is better.\n");
    p->model->higher_is_better = !strcmp(word, "higher");
    p->got_direction = 1;
    return parse_end_of_line(p);
}

static int parse_range(Parser *p)
{
    int ret;

    if ((ret = parse_number(p, &p->model->min)) < 0 ||
        (ret = parse_number(p, &p->model->max)) < 0)
        return ret;
    if (p->model->min >= p->model->max)
        FAIL("the range ends before it begins.\n");
    p->got_range = 1;
    return parse_end_of_line(p);
}

static int parse_constant(Parser *p)
{
    int ret = parse_number(p, &p->model->constant);

    if (ret < 0)
        return ret;
    p->got_constant = 1;
    return parse_end_of_line(p);
}

static int parse_positive(Parser *p, double *dst)
{
    int ret = parse_number(p, dst);

    if (ret < 0)
        return ret;
    if (*dst <= 0)
        FAIL("a number above 0 is expected.\n");
    return parse_end_of_line(p);
}

static int parse_weight(Parser *p)
{
    int i, ret;

    if ((ret = parse_feature(p, 0, &i)) < 0)
        return ret;
    if (p->has_weight[i]++)
        FAIL("a second weight of %s.\n", ff_bliinds_feature_name[i]);
    if ((ret = parse_number(p, &p->model->weight[i])) < 0)
        return ret;
    p->nb_weights++;
    return parse_end_of_line(p);
}

static int parse_mean(Parser *p)
{
    int i, ret;

    if (p->nb_rows)
        FAIL("all means come before the first row of the precision.\n");
    if (p->joint)
        FAIL("the mean of the target is the last one.\n");
    if ((ret = parse_feature(p, 1, &i)) < 0)
        return ret;
    for (int j = 0; j < p->nb_known; j++)
        if (p->known[j] == i)
            FAIL("a second mean of %s.\n", ff_bliinds_feature_name[i]);
    if ((ret = parse_number(p, &p->mean[p->nb_known])) < 0)
        return ret;
    p->known[p->nb_known++] = i;
    p->joint = i == TARGET;
    return parse_end_of_line(p);
}

static int parse_precision(Parser *p)
{
    int i, row, ret;

    if ((ret = parse_feature(p, 1, &i)) < 0)
        return ret;
    for (row = 0; row < p->nb_known && p->known[row] != i; row++)
        ;
    if (row == p->nb_known)
        FAIL("a row of the precision without its mean.\n");
    if (p->row_line[row])
        FAIL("a second time the same row of the precision.\n");
    p->row_line[row] = p->line;
    for (int j = 0; j < p->nb_known; j++)
        if ((ret = parse_number(p, &p->precision[row * MAX_KNOWN + j])) < 0)
            return ret;
    p->nb_rows++;
    return parse_end_of_line(p);
}

/// Percentiles of the training set's own distances: for the reader.
static int parse_percentile(Parser *p)
{
    double percent, distance;
    int ret;

    if ((ret = parse_number(p, &percent)) < 0 ||
        (ret = parse_number(p, &distance)) < 0)
        return ret;
    if (percent <= 0 || percent > 100 || distance < 0)
        FAIL("a percentile is a percentage up to 100 and a distance.\n");
    av_log(p->logctx, AV_LOG_VERBOSE, "%g %% of the training set are within "
           "a distance of %g.\n", percent, distance);
    return parse_end_of_line(p);
}

static int parse_line(Parser *p, char *line)
{
    char *word = av_strtok(line, " \t\r", &p->next);

    if (!word || *word == '#')
        return 0;
    if (p->got_end)
        FAIL("nothing may follow 'end'.\n");

    if (!strcmp(word, "name"))
        return parse_name(p);
    // free text, for the reader
    if (!strcmp(word, "predicts") || !strcmp(word, "training") ||
        !strcmp(word, "accuracy") || !strcmp(word, "licence"))
        return 0;
    if (!strcmp(word, "direction"))
        return parse_direction(p);
    if (!strcmp(word, "range"))
        return parse_range(p);
    if (!strcmp(word, "step"))
        return parse_positive(p, &p->model->step);
    if (!strcmp(word, "sigma"))
        return parse_positive(p, &p->model->sigma);
    if (!strcmp(word, "constant"))
        return parse_constant(p);
    if (!strcmp(word, "weight"))
        return parse_weight(p);
    if (!strcmp(word, "mean"))
        return parse_mean(p);
    if (!strcmp(word, "precision"))
        return parse_precision(p);
    if (!strcmp(word, "percentile"))
        return parse_percentile(p);
    if (!strcmp(word, "end")) {
        p->got_end = 1;
        return parse_end_of_line(p);
    }
    FAIL("unknown keyword '%s'.\n", word);
}

static const char *known_name(const Parser *p, int i)
{
    return p->known[i] == TARGET ? "target" : ff_bliinds_feature_name[p->known[i]];
}

static int check_symmetry(Parser *p)
{
    const double *m = p->precision;

    for (int i = 0; i < p->nb_known; i++) {
        for (int j = 0; j < i; j++) {
            const double a = m[i * MAX_KNOWN + j], b = m[j * MAX_KNOWN + i];
            const double limit = MAX_ASYMMETRY * sqrt(fabs(m[i * MAX_KNOWN + i])) *
                                                 sqrt(fabs(m[j * MAX_KNOWN + j]));

            if (fabs(a - b) > limit) {
                p->line = FFMAX(p->row_line[i], p->row_line[j]);
                FAIL("the precision is not symmetric: the row of %s has %.9g for %s, "
                     "that of %s has %.9g for %s; they may differ by %.3g.\n",
                     known_name(p, i), a, known_name(p, j),
                     known_name(p, j), b, known_name(p, i), limit);
            }
        }
    }
    return 0;
}

/**
 * The most probable target given the features, of a joint normal distribution
 * with mean mu and inverse covariance S, is linear in them (algorithm of the
 * paper, section V, whose grid search finds the same maximum):
 * mu_t - sum_i S_ti / S_tt (f_i - mu_i), with variance 1 / S_tt. Without the
 * target, the features' inverse covariance is S_ij - S_ti S_tj / S_tt.
 */
static int condition_on_features(Parser *p)
{
    BLIINDSModel *m = p->model;
    const int t = --p->nb_known;
    const double *row = p->precision + t * MAX_KNOWN;

    if (row[t] <= 0)
        FAIL("the precision of the target is not above 0.\n");
    m->constant = p->mean[t];
    for (int i = 0; i < t; i++) {
        m->weight[p->known[i]] = -row[i] / row[t];
        m->constant += row[i] / row[t] * p->mean[i];
    }
    for (int i = 0; i < t; i++)
        for (int j = 0; j < t; j++)
            p->precision[i * MAX_KNOWN + j] -= row[i] * row[j] / row[t];
    if (isnan(m->sigma))
        m->sigma = sqrt(1 / row[t]);
    return 0;
}

static int is_too_large(const double *number, int nb)
{
    for (int i = 0; i < nb; i++)
        if (!(fabs(number[i]) <= MAX_NUMBER))
            return 1;
    return 0;
}

static int check_numbers(Parser *p)
{
    const BLIINDSModel *m = p->model;
    int too_large = is_too_large(&m->constant, 1) || is_too_large(&m->min, 1) ||
                    is_too_large(&m->max, 1) || is_too_large(m->weight, BLIINDS_NB_FEATURES) ||
                    is_too_large(p->mean, p->nb_known);

    for (int i = 0; i < p->nb_known; i++)
        too_large |= is_too_large(p->precision + i * MAX_KNOWN, p->nb_known);
    if (too_large)
        FAIL("numbers of more than %g, or a precision of the target that is too small: "
             "scores would not be finite.\n", MAX_NUMBER);
    return 0;
}

static int finish(Parser *p)
{
    BLIINDSModel *m = p->model;
    int ret;

    if (!p->got_end)
        FAIL("the file ends before its 'end' line: it is cut off.\n");
    if (!m->name[0])
        FAIL("there is no 'name'.\n");
    if (!p->got_range)
        FAIL("there is no 'range'.\n");
    if (!p->got_direction)
        FAIL("there is no 'direction'.\n");
    if (p->nb_rows != p->nb_known)
        FAIL("%d means, but %d rows of the precision.\n", p->nb_known, p->nb_rows);
    if (p->joint && (p->got_constant || p->nb_weights))
        FAIL("weights or a constant, and the mean of the target: one of them "
             "must go.\n");
    if (!p->joint && (!p->got_constant || !p->nb_weights))
        FAIL("neither a constant with weights nor the mean of the target.\n");

    if ((ret = check_symmetry(p)) < 0)
        return ret;
    if (p->joint && (ret = condition_on_features(p)) < 0 ||
        (ret = check_numbers(p)) < 0)
        return ret;

    if (p->nb_known) {
        m->precision = av_malloc_array(p->nb_known * p->nb_known, sizeof(*m->precision));
        if (!m->precision)
            return AVERROR(ENOMEM);
        m->nb_known = p->nb_known;
        for (int i = 0; i < m->nb_known; i++) {
            m->known[i] = p->known[i];
            m->mean[i]  = p->mean[i];
            for (int j = 0; j < m->nb_known; j++)
                m->precision[i * m->nb_known + j] = p->precision[i * MAX_KNOWN + j];
        }
    }
    return 0;
}

static int parse_text(Parser *p, char *text)
{
    int ret;

    *p->model = (BLIINDSModel){ .sigma = NAN };
    p->precision = av_calloc(MAX_KNOWN * MAX_KNOWN, sizeof(*p->precision));
    if (!p->precision)
        return AVERROR(ENOMEM);

    // editors on Windows begin a file with the mark of UTF-8
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        text += 3;
    do {
        char *end = text + strcspn(text, "\n");

        if (*end)
            *end++ = 0;
        ret  = p->line++ ? parse_line(p, text) : parse_version(p, text);
        text = end;
        if (ret < 0)
            return ret;
    } while (*text);
    return finish(p);
}

static int parse(BLIINDSModel *model, void *logctx, const char *path,
                 const uint8_t *data, size_t size)
{
    Parser p = { .model = model, .logctx = logctx, .path = path };
    char *text = av_strndup(size ? (const char *)data : "", size);
    int ret = text ? parse_text(&p, text) : AVERROR(ENOMEM);

    av_free(p.precision);
    av_free(text);
    return ret;
}

int ff_bliinds_model_load(BLIINDSModel *model, void *logctx, const char *name)
{
    uint8_t *data;
    size_t size;
    int ret;

    for (int i = 0; i < FF_ARRAY_ELEMS(builtin); i++)
        if (!strcmp(name, builtin[i].name))
            return parse(model, logctx, name, builtin[i].text,
                         strlen((const char *)builtin[i].text));

    ret = av_file_map(name, &data, &size, 0, logctx);
    if (ret < 0) {
        av_log(logctx, AV_LOG_ERROR, "Cannot read the model '%s': %s. Give the path "
               "of a model file, or a built-in model:", name, av_err2str(ret));
        for (int i = 0; i < FF_ARRAY_ELEMS(builtin); i++)
            av_log(logctx, AV_LOG_ERROR, " %s", builtin[i].name);
        av_log(logctx, AV_LOG_ERROR, ".\n");
        return ret;
    }
    if (size > MODEL_MAX_SIZE) {
        av_log(logctx, AV_LOG_ERROR, "'%s' has %zu bytes: that is not a model.\n",
               name, size);
        ret = AVERROR_INVALIDDATA;
    } else {
        ret = parse(model, logctx, name, data, size);
    }
    av_file_unmap(data, size);
    return ret;
}

void ff_bliinds_model_free(BLIINDSModel *model)
{
    av_freep(&model->precision);
}

double ff_bliinds_model_raw(const BLIINDSModel *model,
                            const double feature[BLIINDS_NB_FEATURES])
{
    double raw = model->constant;

    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        raw += model->weight[i] * feature[i];
    return raw;
}

double ff_bliinds_model_score(const BLIINDSModel *model, double raw)
{
    if (model->step)
        raw = floor(raw / model->step + 0.5) * model->step;
    return av_clipd(raw, model->min, model->max);
}

double ff_bliinds_model_distance(const BLIINDSModel *model,
                                 const double feature[BLIINDS_NB_FEATURES])
{
    double square = 0, d[BLIINDS_NB_FEATURES];

    if (!model->nb_known)
        return NAN;
    for (int i = 0; i < model->nb_known; i++)
        d[i] = feature[model->known[i]] - model->mean[i];
    for (int i = 0; i < model->nb_known; i++) {
        double sum = 0;

        for (int j = 0; j < model->nb_known; j++)
            sum += model->precision[i * model->nb_known + j] * d[j];
        square += d[i] * sum;
    }
    return sqrt(FFMAX(square, 0));
}
