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
#include "score_number.h"

#define MODEL_VERSION  "1"
#define MODEL_MAX_SIZE (1 << 20)    ///< bytes; a full model of all features has 20 kB

/// What a line may name besides a feature: in the joint form, the variable to be
/// predicted, and what sigma may depend on.
enum {
    TARGET = BLIINDS_NB_FEATURES,
    SCORE  = BLIINDS_NB_FEATURES,
    DISTANCE,
};
static const char *const target_name[]   = { "target", NULL };
static const char *const estimate_name[] = { "score", "distance", NULL };

#define MAX_KNOWN (BLIINDS_NB_FEATURES + 1)

/// Sigma is not less and not more than these times that of the model.
#define MIN_SIGMA 0.25
#define MAX_SIGMA 4

/// How far P_ij may be from P_ji in the precision, relative to sqrt(P_ii P_jj):
/// what rounding leaves of a symmetric matrix.
#define MAX_ASYMMETRY 1e-4

/// No number of a model is larger, so that what is made of it stays finite.
#define MAX_NUMBER 1e100

#define NAME(name) name,
const char *const ff_bliinds_feature_name[] = { BLIINDS_FEATURES(NAME) };

extern const unsigned char ff_bliinds_model_vmaf1_est1_data[];

/// Models compiled in, from models/; the first is the default.
static const struct {
    const char *name;
    const unsigned char *text;
} builtin[] = {
    { "vmaf1_est1", ff_bliinds_model_vmaf1_est1_data },
};

typedef struct Parser {
    void *logctx;
    const char *path;
    int line;
    char *text;                         ///< rest of the file
    char *next;                         ///< rest of the line

    BLIINDSModel *model;
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
    *dst = score_strtod(word, &end);
    if (*end || !isfinite(*dst))
        FAIL("'%s' is not a finite number.\n", word);
    return 0;
}

/**
 * Index of a feature in all features, or after them of one of other names.
 *
 * @param other ends with NULL; NULL for none
 */
static int parse_feature(Parser *p, const char *const *other, int *dst)
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
    for (int i = 0; other && other[i]; i++) {
        if (!strcmp(word, other[i])) {
            *dst = BLIINDS_NB_FEATURES + i;
            return 0;
        }
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

static int parse_link(Parser *p)
{
    char *word = next_word(p);

    if (!word || strcmp(word, "linear") && strcmp(word, "logistic"))
        FAIL("the link is 'linear' or 'logistic'.\n");
    p->model->logistic = !strcmp(word, "logistic");
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

    if ((ret = parse_feature(p, NULL, &i)) < 0)
        return ret;
    if (p->has_weight[i]++)
        FAIL("a second weight of %s.\n", ff_bliinds_feature_name[i]);
    if ((ret = parse_number(p, &p->model->weight[i])) < 0)
        return ret;
    p->nb_weights++;
    return parse_end_of_line(p);
}

static int parse_sigma_weight(Parser *p)
{
    int i, ret;

    if ((ret = parse_feature(p, estimate_name, &i)) < 0 ||
        (ret = parse_number(p, &p->model->sigma_weight[i])) < 0)
        return ret;
    return parse_end_of_line(p);
}

static int parse_mean(Parser *p)
{
    int i, ret;

    if (p->nb_rows)
        FAIL("all means come before the first row of the precision.\n");
    if (p->joint)
        FAIL("the mean of the target is the last one.\n");
    if ((ret = parse_feature(p, target_name, &i)) < 0)
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

    if ((ret = parse_feature(p, target_name, &i)) < 0)
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

/// Percentiles of the training set's own distances; beyond the highest, a frame is outside.
static int parse_percentile(Parser *p)
{
    double percent, distance;
    int ret;

    if ((ret = parse_number(p, &percent)) < 0 ||
        (ret = parse_number(p, &distance)) < 0)
        return ret;
    if (percent <= 0 || percent > 100 || distance < 0)
        FAIL("a percentile is a percentage up to 100 and a distance.\n");
    if (p->model->outside < distance || isinf(p->model->outside))
        p->model->outside = distance;
    av_log(p->logctx, AV_LOG_VERBOSE, "%g %% of the training set are within "
           "a distance of %g.\n", percent, distance);
    return parse_end_of_line(p);
}

static int parse_line(Parser *p, char *line)
{
    char *word = av_strtok(line, " \t\r", &p->next);

    if (!word || *word == '#')
        return 0;
    if (!strcmp(word, "name"))
        return parse_name(p);
    // free text, for the reader
    if (!strcmp(word, "predicts") || !strcmp(word, "training") ||
        !strcmp(word, "accuracy") || !strcmp(word, "licence"))
        return 0;
    if (!strcmp(word, "direction"))
        return parse_direction(p);
    if (!strcmp(word, "link"))
        return parse_link(p);
    if (!strcmp(word, "range"))
        return parse_range(p);
    if (!strcmp(word, "step"))
        return parse_positive(p, &p->model->step);
    if (!strcmp(word, "sigma"))
        return parse_positive(p, &p->model->sigma);
    if (!strcmp(word, "sigma_weight"))
        return parse_sigma_weight(p);
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
                    is_too_large(m->sigma_weight, FF_ARRAY_ELEMS(m->sigma_weight)) || is_too_large(p->mean, p->nb_known);

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

    if (p->joint && m->logistic)
        FAIL("a logistic link, and the mean of the target: one of them must go.\n");
    if (m->sigma_weight[DISTANCE] && !p->nb_known)
        FAIL("sigma depends on the distance, but there is no 'mean'.\n");

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

/// The next line, empty at the end of the file.
static char *next_line(Parser *p)
{
    char *line = p->text;

    p->text += strcspn(line, "\n");
    if (*p->text)
        *p->text++ = 0;
    p->line++;
    return line;
}

/// Skip empty lines and comments.
static void skip_lines(Parser *p)
{
    while (*p->text) {
        char first = p->text[strspn(p->text, " \t\r")];

        if (first && first != '\n' && first != '#')
            return;
        next_line(p);
    }
}

/// A model, from its first line to its 'end'.
static int parse_model(Parser *p, char *line)
{
    int ret = parse_version(p, line);

    while (ret >= 0 && !p->got_end) {
        if (!*p->text)
            FAIL("the file ends before its 'end' line: it is cut off.\n");
        ret = parse_line(p, next_line(p));
    }
    return ret < 0 ? ret : finish(p);
}

static enum BLIINDSBasis find_basis(const BLIINDSModel *m)
{
    for (int i = BLIINDS_FEATURE_CODED; i < BLIINDS_NB_FEATURES; i++)
        if (m->weight[i] || m->sigma_weight[i])
            return BLIINDS_BITSTREAM;
    for (int i = 0; i < m->nb_known; i++)
        if (m->known[i] >= BLIINDS_FEATURE_CODED)
            return BLIINDS_BITSTREAM;
    return BLIINDS_PIXELS;
}

/// One score has one name and one scale, whatever it was made from.
static int check_others(Parser *p, const BLIINDSModel model[BLIINDS_NB_BASES])
{
    const BLIINDSModel *m = p->model;
    const enum BLIINDSBasis basis = find_basis(m);

    if (model[basis].name[0])
        FAIL("a second model for frames %s the numbers of the bitstream.\n",
             basis == BLIINDS_BITSTREAM ? "with" : "without");
    for (int i = 0; i < BLIINDS_NB_BASES; i++)
        if (model[i].name[0] &&
            (strcmp(model[i].name, m->name) || model[i].min != m->min || model[i].max != m->max ||
             model[i].higher_is_better != m->higher_is_better))
            FAIL("name, range and direction must be those of the model before.\n");
    return 0;
}

static int parse_file(Parser *p, BLIINDSModel model[BLIINDS_NB_BASES])
{
    // editors on Windows begin a file with the mark of UTF-8
    if (!strncmp(p->text, "\xef\xbb\xbf", 3))
        p->text += 3;
    do {
        BLIINDSModel m  = { .sigma = NAN, .outside = INFINITY };
        Parser one      = *p;
        int ret;

        one.model = &m;
        ret = parse_model(&one, next_line(&one));
        if (ret >= 0)
            ret = check_others(&one, model);
        if (ret < 0) {
            av_free(m.precision);
            return ret;
        }
        model[find_basis(&m)] = m;

        p->line = one.line;
        p->text = one.text;
        skip_lines(p);
        if (*p->text && !av_strstart(p->text, "bliinds-model", NULL)) {
            p->line++;
            FAIL("nothing but another model may follow 'end'.\n");
        }
    } while (*p->text);
    return 0;
}

static int parse(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *path,
                 const uint8_t *data, size_t size)
{
    Parser p   = { .logctx = logctx, .path = path };
    char *text = av_strndup(size ? (const char *)data : "", size);
    int ret    = AVERROR(ENOMEM);

    p.text      = text;
    p.precision = av_calloc(MAX_KNOWN * MAX_KNOWN, sizeof(*p.precision));
    if (p.text && p.precision)
        ret = parse_file(&p, model);
    if (ret < 0)
        ff_bliinds_model_free(model);
    av_free(p.precision);
    av_free(text);
    return ret;
}

int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name)
{
    uint8_t *data;
    size_t size;
    int ret;

    for (int i = 0; i < BLIINDS_NB_BASES; i++)
        model[i] = (BLIINDSModel){ 0 };
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

void ff_bliinds_model_free(BLIINDSModel model[BLIINDS_NB_BASES])
{
    for (int i = 0; i < BLIINDS_NB_BASES; i++)
        av_freep(&model[i].precision);
}

double ff_bliinds_model_raw(const BLIINDSModel *model,
                            const double feature[BLIINDS_NB_FEATURES])
{
    double raw = model->constant;

    // without a weight, a feature need not be known
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        if (model->weight[i])
            raw += model->weight[i] * feature[i];
    return model->logistic ? model->min + (model->max - model->min) / (1 + exp(-raw)) : raw;
}

double ff_bliinds_model_score(const BLIINDSModel *model, double raw)
{
    if (model->step)
        raw = floor(raw / model->step + 0.5) * model->step;
    return av_clipd(raw, model->min, model->max);
}

double ff_bliinds_model_sigma(const BLIINDSModel *model,
                              const double feature[BLIINDS_NB_FEATURES],
                              double score, double distance)
{
    const double *w = model->sigma_weight;
    double sum = 0;

    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        if (w[i])
            sum += w[i] * feature[i];
    if (w[SCORE])
        sum += w[SCORE] * score;
    if (w[DISTANCE])
        sum += w[DISTANCE] * distance;
    return model->sigma * av_clipd(exp(sum), MIN_SIGMA, MAX_SIGMA);
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
