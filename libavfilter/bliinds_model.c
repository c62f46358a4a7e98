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
#include <stdarg.h>
#include <string.h>

#include "libavutil/avstring.h"
#include "libavutil/common.h"
#include "libavutil/error.h"
#include "libavutil/file.h"
#include "libavutil/log.h"
#include "libavutil/macros.h"
#include "libavutil/mem.h"

#include "bliinds.h"

/// Limits of the sigma of a frame, as factors of the sigma of the model.
#define MIN_SIGMA 0.25
#define MAX_SIGMA 4

/// Whether a feature is made of the statistics of blocks.
static int is_of_statistics(int feature)
{
    return feature < BLIINDS_FEATURE_BAND ||
           feature >= BLIINDS_FEATURE_MEAN_PHASE && feature < BLIINDS_FEATURE_MOTION;
}

/// Whether a model uses a feature.
static int uses(const BLIINDSModel *model, int feature)
{
    for (int i = 0; i < model->nb_units; i++)
        if (model->unit[i].weight[feature])
            return 1;
    return model->weight[feature] || model->sigma_weight[feature];
}

int ff_bliinds_model_needs_statistics(const BLIINDSModel *model)
{
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        if (is_of_statistics(i) && uses(model, i))
            return 1;
    return 0;
}

/// Values of weight 0 are left out: they may be NAN.
static double weighted_sum(double sum, const double weight[BLIINDS_NB_FEATURES],
                           const double value[BLIINDS_NB_FEATURES])
{
    for (int i = 0; i < BLIINDS_NB_FEATURES; i++)
        if (weight[i])
            sum += weight[i] * value[i];
    return sum;
}

BLIINDSPrediction ff_bliinds_model_predict(const BLIINDSModel *model,
                                           const double feature[BLIINDS_NB_FEATURES])
{
    BLIINDSPrediction p;

    if (!model->name[0])
        return (BLIINDSPrediction){ NAN, NAN, NAN };
    p.raw = weighted_sum(model->constant, model->weight, feature);
    for (int i = 0; i < model->nb_units; i++) {
        const BLIINDSUnit *unit = &model->unit[i];
        const double z = weighted_sum(unit->constant, unit->weight, feature);

        p.raw += unit->out * (z / (1 + fabs(z)));
    }
    if (model->logistic)
        p.raw = model->min + (model->max - model->min) / (1 + exp(-p.raw));
    p.score = model->step ? floor(p.raw / model->step + 0.5) * model->step : p.raw;
    p.score = av_clipd(p.score, model->min, model->max);
    p.sigma = weighted_sum(model->sigma_weight[BLIINDS_NB_FEATURES] * p.score,
                           model->sigma_weight, feature);
    p.sigma = model->sigma * av_clipd(exp(p.sigma), MIN_SIGMA, MAX_SIGMA);
    return p;
}

// ---- the file ----

#define MAX_SIZE (1 << 20)      ///< bytes; a model of all features and units has 60 kB
#define BLANKS   " \t\r"

/// Largest magnitude of a number, so that scores stay finite.
#define MAX_NUMBER 1e100

/// First words of lines.
enum {
    NAME, PREDICTS, TRAINING, ACCURACY, LICENCE, FRAMES, DIRECTION, LINK, RANGE, STEP, SIGMA,
    SIGMA_P80, SIGMA_WEIGHT, CONSTANT, WEIGHT, UNIT, END, NB_KEYWORDS
};
static const char *const keyword[NB_KEYWORDS] = {
    "name", "predicts", "training", "accuracy", "licence", "frames", "direction", "link", "range",
    "step", "sigma", "sigma_p80", "sigma_weight", "constant", "weight", "unit",
    "end",
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

/// Index of a feature, or BLIINDS_NB_FEATURES for the other name; 0 after a fault.
static int find_feature(Parser *p, const char *word, const char *other)
{
    for (int i = 0; word && i < BLIINDS_NB_FEATURES; i++)
        if (!strcmp(word, ff_bliinds_feature_name[i]))
            return i;
    if (word && other && !strcmp(word, other))
        return BLIINDS_NB_FEATURES;
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

static void parse_weight(Parser *p)
{
    const char *word = next_word(p);
    const int i = find_feature(p, word, NULL);

    if (p->has_weight[i]++)
        fail(p, "a second weight of %s.\n", word);
    p->model.weight[i] = next_number(p);
}

static void parse_unit(Parser *p)
{
    BLIINDSUnit *unit = &p->model.unit[p->model.nb_units];
    const char *word;

    if (p->model.nb_units == BLIINDS_MAX_UNITS) {
        fail(p, "a model may have up to %d units.\n", BLIINDS_MAX_UNITS);
        return;
    }
    unit->out      = next_number(p);
    unit->constant = next_number(p);
    while (!p->error && (word = next_word(p))) {
        const int i = find_feature(p, word, NULL);

        if (unit->weight[i])
            fail(p, "a second weight of %s in a unit.\n", word);
        unit->weight[i] = next_number(p);
    }
    p->model.nb_units++;
}

static void parse_line(Parser *p, const char *word)
{
    BLIINDSModel *m = &p->model;
    int key = 0;

    while (key < NB_KEYWORDS && strcmp(word, keyword[key]))
        key++;
    switch (key) {
    case NAME:      parse_name(p); break;
    case DIRECTION: m->higher_is_better = next_choice(p, "lower", "higher"); break;
    case LINK:      m->logistic = next_choice(p, "linear", "logistic"); break;
    case FRAMES:    m->of_flat = next_choice(p, "all", "flat"); break;
    case STEP:      m->step  = next_positive(p); break;
    case SIGMA:     m->sigma = next_positive(p); break;
    case SIGMA_P80: m->sigma_p80 = next_positive(p); break;
    case CONSTANT:  m->constant = next_number(p); break;
    case RANGE:
        m->min = next_number(p);
        m->max = next_number(p);
        if (m->min >= m->max)
            fail(p, "the range ends before it begins.\n");
        break;
    case WEIGHT:    parse_weight(p); break;
    case UNIT:      parse_unit(p); break;
    case SIGMA_WEIGHT:
        m->sigma_weight[find_feature(p, next_word(p), "score")] = next_number(p);
        break;
    case END:
        break;
    case NB_KEYWORDS:
        fail(p, "unknown keyword '%s'.\n", word);
        return;
    case PREDICTS:
        if (p->next)
            av_strlcpy(m->predicts, p->next + strspn(p->next, BLANKS), sizeof(m->predicts));
        return;
    default:            // free text, for the reader
        return;
    }
    p->seen[key]++;
    word = next_word(p);
    if (word)
        fail(p, "'%s' is too much on this line.\n", word);
}

static enum BLIINDSBasis find_basis(const BLIINDSModel *m)
{
    for (int i = BLIINDS_FEATURE_CODED; i < BLIINDS_NB_FEATURES; i++)
        if (uses(m, i))
            return m->of_flat ? BLIINDS_OF_FLAT : BLIINDS_BITSTREAM;
    return BLIINDS_PIXELS;
}

static void check_model(Parser *p)
{
    static const int needed[] = { NAME, RANGE, DIRECTION };

    for (int i = 0; i < FF_ARRAY_ELEMS(needed); i++)
        if (!p->seen[needed[i]])
            fail(p, "there is no '%s'.\n", keyword[needed[i]]);
    if (!p->seen[CONSTANT] || !p->seen[WEIGHT])
        fail(p, "there is no constant, or no weight.\n");
    if (p->model.of_flat && find_basis(&p->model) != BLIINDS_OF_FLAT)
        fail(p, "a model for flat frames needs the weight of a coded feature.\n");
}

/// The models of a file must be for different frames, and have the same name and scale.
static void check_others(Parser *p, const BLIINDSModel model[BLIINDS_NB_BASES])
{
    static const char *const of_basis[] = {
        "frames without the numbers of the bitstream", "frames with them", "flat frames"
    };
    const BLIINDSModel *m = &p->model;
    const enum BLIINDSBasis basis = find_basis(m);

    if (model[basis].name[0])
        fail(p, "a second model for %s.\n", of_basis[basis]);
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
        .is_open = 1, .model = { .sigma = NAN, .sigma_p80 = NAN },
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

int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_BASES], void *logctx, const char *name)
{
    Parser p = { .logctx = logctx, .path = name };
    uint8_t *data;
    size_t size;
    char *text;
    int ret;

    if (!strcmp(name, ff_bliinds_model_vmaf1_est5->name)) {
        memcpy(model, ff_bliinds_model_vmaf1_est5, sizeof(ff_bliinds_model_vmaf1_est5));
        return 0;
    }
    memset(model, 0, BLIINDS_NB_BASES * sizeof(*model));
    ret = av_file_map(name, &data, &size, 0, logctx);
    if (ret < 0) {
        av_log(logctx, AV_LOG_ERROR, "Cannot read the model '%s': %s. Give the path of a model "
               "file, or a built-in model: %s.\n", name, av_err2str(ret),
               ff_bliinds_model_vmaf1_est5->name);
        return ret;
    }
    if (size > MAX_SIZE) {
        av_log(logctx, AV_LOG_ERROR, "'%s' has %zu bytes: that is not a model.\n", name, size);
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
