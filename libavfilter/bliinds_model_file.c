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
 * Reads models from a text file, which doc/model-format.md documents.
 */

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/error.h"
#include "libavutil/file.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "bliinds_model.h"

#define MAX_SIZE (1 << 20)      ///< bytes; a full model of all features has 20 kB
#define BLANKS   " \t\r"

/// Largest magnitude of a number, so that scores stay finite.
#define MAX_NUMBER 1e100

/// How far P_ij may be from P_ji in the precision, relative to sqrt(P_ii P_jj):
/// what rounding leaves of a symmetric matrix.
#define MAX_ASYMMETRY 1e-4

/// Indices behind the features: of the target for a mean or a row of the precision, and of the
/// distance for a sigma_weight, where the score has that of TARGET.
enum {
    TARGET   = BLIINDS_NB_FEATURES,
    DISTANCE = BLIINDS_NB_FEATURES + 1,
};
static const char *const target_name[2]   = { "target" };
static const char *const estimate_name[2] = { "score", "distance" };

/// First words of lines.
enum {
    NAME, PREDICTS, TRAINING, ACCURACY, LICENCE, DIRECTION, LINK, RANGE, STEP, SIGMA,
    SIGMA_WEIGHT, CONSTANT, WEIGHT, MEAN, PRECISION, PERCENTILE, END, NB_KEYWORDS
};
static const char *const keyword[NB_KEYWORDS] = {
    "name", "predicts", "training", "accuracy", "licence", "direction", "link", "range", "step",
    "sigma", "sigma_weight", "constant", "weight", "mean", "precision", "percentile", "end",
};

typedef struct Parser {
    void *logctx;
    const char *path;
    char *text;                         ///< rest of the file
    char *next;                         ///< rest of the line
    int line;
    int error;                          ///< set by the first fault, the only one that is logged

    int is_open;                        ///< a model has begun, and not ended
    BLIINDSModel model;
    int seen[NB_KEYWORDS];              ///< how often
    int has_weight[BLIINDS_NB_FEATURES];
    int joint;                          ///< the last mean is the target's
    int row_line[BLIINDS_MAX_KNOWN];    ///< line of a row of the precision, 0 if there is none
} Parser;

static av_printf_format(2, 3) void fail(Parser *p, const char *format, ...)
{
    va_list args;

    if (p->error)
        return;
    p->error = AVERROR_INVALIDDATA;
    av_log(p->logctx, AV_LOG_ERROR, "%s:%d: ", p->path, p->line);
    va_start(args, format);
    av_vlog(p->logctx, AV_LOG_ERROR, format, args);
    va_end(args);
}

static char *next_word(Parser *p)
{
    return av_strtok(NULL, BLANKS, &p->next);
}

static double next_number(Parser *p)
{
    char *word = next_word(p);
    double number;
    int length;

    if (!word) {
        fail(p, "a number is missing.\n");
        return 0;
    }
    // does not depend on the locale, as strtod() does
    if (av_sscanf(word, "%lf%n", &number, &length) != 1 || word[length] || !isfinite(number)) {
        fail(p, "'%s' is not a finite number.\n", word);
        return 0;
    }
    if (fabs(number) > MAX_NUMBER)
        fail(p, "'%s' is beyond %g: scores would not be finite.\n", word, MAX_NUMBER);
    return number;
}

static double next_positive(Parser *p)
{
    const double number = next_number(p);

    if (number <= 0)
        fail(p, "a number above 0 is expected.\n");
    return number;
}

/// Whether the second of two words comes next, and not the first one.
static int next_choice(Parser *p, const char *first, const char *second)
{
    const char *word = next_word(p);

    if (!word || strcmp(word, first) && strcmp(word, second))
        fail(p, "'%s' or '%s' is expected.\n", first, second);
    return word && !strcmp(word, second);
}

/// Index of a feature, or BLIINDS_NB_FEATURES + i for other[i]; 0 after a fault.
static int next_feature(Parser *p, const char *const other[2])
{
    const char *word = next_word(p);

    for (int i = 0; word && i < BLIINDS_NB_FEATURES; i++)
        if (!strcmp(word, ff_bliinds_feature_name[i]))
            return i;
    for (int i = 0; word && other && i < 2; i++)
        if (other[i] && !strcmp(word, other[i]))
            return BLIINDS_NB_FEATURES + i;
    if (word)
        fail(p, "there is no feature '%s'.\n", word);
    else
        fail(p, "the name of a feature is missing.\n");
    return 0;
}

static void parse_name(Parser *p)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *word = next_word(p);

    if (!word)
        fail(p, "the name is missing.\n");
    else if (word[strspn(word, allowed)] || strlen(word) >= sizeof(p->model.name))
        fail(p, "the name may have up to %d letters, digits and '._-'.\n",
             (int)sizeof(p->model.name) - 1);
    else
        av_strlcpy(p->model.name, word, sizeof(p->model.name));
}

/// Position of a feature in mean and precision, nb_known if it is not there.
static int find_known(const BLIINDSModel *m, int feature)
{
    int i = 0;

    while (i < m->nb_known && m->known[i] != feature)
        i++;
    return i;
}

static const char *known_name(const BLIINDSModel *m, int i)
{
    return m->known[i] == TARGET ? target_name[0] : ff_bliinds_feature_name[m->known[i]];
}

static void parse_mean(Parser *p)
{
    BLIINDSModel *m = &p->model;
    int i;

    if (p->seen[PRECISION])
        fail(p, "all means come before the first row of the precision.\n");
    if (p->joint)
        fail(p, "the mean of the target is the last one.\n");
    i = next_feature(p, target_name);
    if (!p->error && find_known(m, i) < m->nb_known)
        fail(p, "a second mean of %s.\n", ff_bliinds_feature_name[i]);
    if (p->error)
        return;
    m->known[m->nb_known]  = i;
    m->mean[m->nb_known++] = next_number(p);
    p->joint = i == TARGET;
}

static void parse_precision(Parser *p)
{
    BLIINDSModel *m = &p->model;
    const int row = find_known(m, next_feature(p, target_name));

    if (row == m->nb_known)
        fail(p, "a row of the precision without its mean.\n");
    else if (p->row_line[row])
        fail(p, "a second time the same row of the precision.\n");
    if (p->error)
        return;
    p->row_line[row] = p->line;
    for (int i = 0; i < m->nb_known; i++)
        m->precision[row][i] = next_number(p);
}

/// Percentiles of the training set's own distances; beyond the highest, a frame is outside.
static void parse_percentile(Parser *p)
{
    const double percent = next_number(p), distance = next_number(p);

    if (percent <= 0 || percent > 100 || distance < 0)
        fail(p, "a percentile is a percentage up to 100 and a distance.\n");
    if (p->model.outside < distance || isinf(p->model.outside))
        p->model.outside = distance;
}

static void parse_line(Parser *p, const char *word)
{
    BLIINDSModel *m = &p->model;
    int key = 0, i;

    while (key < NB_KEYWORDS && strcmp(word, keyword[key]))
        key++;
    switch (key) {
    case NAME:       parse_name(p);                                      break;
    case DIRECTION:  m->higher_is_better = next_choice(p, "lower", "higher"); break;
    case LINK:       m->logistic = next_choice(p, "linear", "logistic"); break;
    case STEP:       m->step     = next_positive(p);                     break;
    case SIGMA:      m->sigma    = next_positive(p);                     break;
    case CONSTANT:   m->constant = next_number(p);                       break;
    case MEAN:       parse_mean(p);                                      break;
    case PRECISION:  parse_precision(p);                                 break;
    case PERCENTILE: parse_percentile(p);                                break;
    case RANGE:
        m->min = next_number(p);
        m->max = next_number(p);
        if (m->min >= m->max)
            fail(p, "the range ends before it begins.\n");
        break;
    case WEIGHT:
        i = next_feature(p, NULL);
        if (p->has_weight[i]++)
            fail(p, "a second weight of %s.\n", ff_bliinds_feature_name[i]);
        m->weight[i] = next_number(p);
        break;
    case SIGMA_WEIGHT:
        i = next_feature(p, estimate_name);
        m->sigma_weight[i] = next_number(p);
        break;
    case END:
        break;
    case NB_KEYWORDS:
        fail(p, "unknown keyword '%s'.\n", word);
        return;
    default:            // free text, for the reader
        return;
    }
    p->seen[key]++;
    word = next_word(p);
    if (word)
        fail(p, "'%s' is too much on this line.\n", word);
}

static void check_symmetry(Parser *p)
{
    const BLIINDSModel *m = &p->model;

    for (int i = 0; i < m->nb_known; i++) {
        for (int j = 0; j < i; j++) {
            const double a = m->precision[i][j], b = m->precision[j][i];
            const double limit = MAX_ASYMMETRY * sqrt(fabs(m->precision[i][i])) *
                                                 sqrt(fabs(m->precision[j][j]));

            if (p->error || fabs(a - b) <= limit)
                continue;
            p->line = FFMAX(p->row_line[i], p->row_line[j]);
            fail(p, "the precision is not symmetric: the row of %s has %.9g for %s, "
                 "that of %s has %.9g for %s; they may differ by %.3g.\n",
                 known_name(m, i), a, known_name(m, j),
                 known_name(m, j), b, known_name(m, i), limit);
        }
    }
}

/**
 * The most probable target given the features, of a joint normal distribution
 * with mean mu and inverse covariance S, is linear in them (algorithm of the
 * paper, section V, whose grid search finds the same maximum):
 * mu_t - sum_i S_ti / S_tt (f_i - mu_i), with variance 1 / S_tt. Without the
 * target, the features' inverse covariance is S_ij - S_ti S_tj / S_tt.
 */
static void condition_on_features(Parser *p)
{
    BLIINDSModel *m = &p->model;
    const int t = --m->nb_known;
    const double *row = m->precision[t];
    double largest;

    if (row[t] <= 0) {
        fail(p, "the precision of the target is not above 0.\n");
        return;
    }
    m->constant = m->mean[t];
    largest     = fabs(1 / row[t]);
    for (int i = 0; i < t; i++) {
        m->weight[m->known[i]] = -row[i] / row[t];
        m->constant += row[i] / row[t] * m->mean[i];
        largest = fmax(largest, fabs(row[i] / row[t]));
        for (int j = 0; j < t; j++) {
            m->precision[i][j] -= row[i] * row[j] / row[t];
            largest = fmax(largest, fabs(m->precision[i][j]));
        }
    }
    if (!(fmax(largest, fabs(m->constant)) <= MAX_NUMBER))
        fail(p, "the precision of the target is too small: scores would not be finite.\n");
    if (isnan(m->sigma))
        m->sigma = sqrt(1 / row[t]);
}

static void check_model(Parser *p)
{
    const BLIINDSModel *m = &p->model;
    const int *seen = p->seen;
    const struct { int fault; const char *text; } rule[] = {
        { !m->name[0],       "there is no 'name'" },
        { !seen[RANGE],      "there is no 'range'" },
        { !seen[DIRECTION],  "there is no 'direction'" },
        { m->nb_known != seen[PRECISION],
          "there are not as many rows of the precision as means" },
        { p->joint && (seen[CONSTANT] || seen[WEIGHT]),
          "weights or a constant, and the mean of the target: one of them must go" },
        { !p->joint && (!seen[CONSTANT] || !seen[WEIGHT]),
          "neither a constant with weights nor the mean of the target" },
        { p->joint && m->logistic,
          "a logistic link, and the mean of the target: one of them must go" },
        { m->sigma_weight[DISTANCE] && !m->nb_known,
          "sigma depends on the distance, but there is no 'mean'" },
    };

    for (int i = 0; i < FF_ARRAY_ELEMS(rule); i++)
        if (rule[i].fault)
            fail(p, "%s.\n", rule[i].text);
    check_symmetry(p);
    if (p->joint && !p->error)
        condition_on_features(p);
}

static enum BLIINDSBasis find_basis(const BLIINDSModel *m)
{
    for (int i = BLIINDS_FEATURE_CODED; i < BLIINDS_NB_FEATURES; i++)
        if (m->weight[i] || m->sigma_weight[i] || find_known(m, i) < m->nb_known)
            return BLIINDS_BITSTREAM;
    return BLIINDS_PIXELS;
}

/// Two models of a file must be for different frames, and have the same name and scale.
static void check_others(Parser *p, const BLIINDSModel model[BLIINDS_NB_BASES])
{
    const BLIINDSModel *m = &p->model;
    const enum BLIINDSBasis basis = find_basis(m);

    if (model[basis].name[0])
        fail(p, "a second model for frames %s the numbers of the bitstream.\n",
             basis == BLIINDS_BITSTREAM ? "with" : "without");
    for (int i = 0; i < BLIINDS_NB_BASES; i++)
        if (model[i].name[0] &&
            (strcmp(model[i].name, m->name) || model[i].min != m->min || model[i].max != m->max ||
             model[i].higher_is_better != m->higher_is_better))
            fail(p, "name, range and direction must be those of the model before.\n");
}

static void begin_model(Parser *p, const char *word, int is_first)
{
    *p = (Parser){
        .logctx = p->logctx, .path = p->path, .text = p->text, .next = p->next, .line = p->line,
        .is_open = 1, .model = { .sigma = NAN, .outside = INFINITY },
    };
    if (!is_first && strcmp(word, "bliinds-model"))
        fail(p, "nothing but another model may follow 'end'.\n");
    else if (!word || strcmp(word, "bliinds-model") || !(word = next_word(p)))
        fail(p, "not a model: it should begin with 'bliinds-model 1'. "
             "tools/bliinds-convert-release makes one of a copy of the published release.\n");
    else if (strcmp(word, "1"))
        fail(p, "version %s of the format is not supported, only 1.\n", word);
    else if ((word = next_word(p)))
        fail(p, "'%s' is too much on this line.\n", word);
}

static void parse_file(Parser *p, BLIINDSModel model[BLIINDS_NB_BASES])
{
    // editors on Windows begin a file with the byte order mark of UTF-8
    av_strstart(p->text, "\xef\xbb\xbf", (const char **)&p->text);
    do {
        char *line = p->text, *word;

        p->text += strcspn(line, "\n");
        if (*p->text)
            *p->text++ = 0;
        p->line++;
        word = av_strtok(line, BLANKS, &p->next);
        if (p->line > 1 && (!word || *word == '#'))
            continue;
        if (!p->is_open) {
            begin_model(p, word, p->line == 1);
            continue;
        }
        parse_line(p, word);
        if (p->seen[END] && !p->error) {
            check_model(p);
            check_others(p, model);
            model[find_basis(&p->model)] = p->model;
            p->is_open = 0;
        }
    } while (*p->text && !p->error);
    if (p->is_open)
        fail(p, "the file ends before its 'end' line: it is cut off.\n");
}

int ff_bliinds_model_read(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *path)
{
    Parser p = { .logctx = logctx, .path = path };
    uint8_t *data;
    size_t size;
    char *text;
    int ret;

    for (int i = 0; i < BLIINDS_NB_BASES; i++)
        model[i] = (BLIINDSModel){ 0 };
    ret = av_file_map(path, &data, &size, 0, logctx);
    if (ret < 0) {
        av_log(logctx, AV_LOG_ERROR, "Cannot read the model '%s': %s. Give the path of a model "
               "file, or a built-in model: %s.\n", path, av_err2str(ret),
               ff_bliinds_model_vmaf1_est1->name);
        return ret;
    }
    if (size > MAX_SIZE) {
        av_log(logctx, AV_LOG_ERROR, "'%s' has %zu bytes: that is not a model.\n", path, size);
        ret = AVERROR_INVALIDDATA;
    } else {
        p.text = text = size ? av_strndup((const char *)data, size) : av_strdup("");
        if (text)
            parse_file(&p, model);
        av_free(text);
        ret = text ? p.error : AVERROR(ENOMEM);
    }
    av_file_unmap(data, size);
    return ret;
}
