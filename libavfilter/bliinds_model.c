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
 * Models of BLIINDS: the parser of model files, and the prediction of the score from the features.
 *
 * doc/model-format.md describes the format. A model is linear in the features, with up to
 * BLIINDS_MAX_UNITS hidden units and an optional logistic link. The probabilistic model of the
 * BLIINDS-II paper is not implemented; tools/bliinds-convert-release converts it to a linear one.
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

/// @name Limits of the sigma of a frame, as factors of the sigma of the model
/// @{
#define MIN_SIGMA 0.25
#define MAX_SIGMA 4
/// @}

/// Return nonzero if a model gives weight to a feature.
static int uses(const BLIINDSModel *model, int feature)
{
    for (int i = 0; i < model->nb_units; i++)
        if (model->unit[i].weight[feature])
            return 1;
    return model->weight[feature] || model->sigma_weight[feature];
}

int ff_bliinds_model_needs_statistics(const BLIINDSModel *model)
{
    // features outside of these two ranges need only band energies, motion or the bitstream
    for (int i = 0; i < BLIINDS_FEATURE_MOTION; i++)
        if ((i < BLIINDS_FEATURE_BAND || i >= BLIINDS_FEATURE_GRID_PHASE_STAT) && uses(model, i))
            return 1;
    return 0;
}

/// Add up weighted values; those of weight 0 are skipped, as they may be NAN.
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

// ---- parser of model files ----

#define MAX_SIZE (1 << 20)      ///< bytes; a model with all features and units has 60 kB
#define BLANKS   " \t\r"
#define FEATURE  "the name of a feature"

/// Largest magnitude of a number that keeps scores finite.
#define MAX_NUMBER 1e100

/// Text of models/vmaf1_est5.txt, which ffbuild/bin2c embeds with a terminating 0.
extern const unsigned char ff_vmaf1_est5_txt_data[];
extern const unsigned int  ff_vmaf1_est5_txt_len;

/// State of the parser of one model file.
typedef struct Parser {
    void *logctx;
    const char *path;
    int line;
    char *next;                 ///< rest of the line, NULL at its end
    int error;                  ///< AVERROR of the first error; later ones are not logged

    BLIINDSModel *models;       ///< completed models, by BLIINDSModelKind
    int is_open;                ///< inside of a model: "end" has not been read
    BLIINDSModel model;         ///< model being parsed
    uint64_t seen[2];           ///< bit sets of the features read into weight and sigma_weight
} Parser;

/// Keyword that begins a line of a model.
typedef struct Keyword {
    const char *name;
    /// parse the values of the line into dst, the field at offset
    void (*parse)(Parser *p, void *dst, const struct Keyword *k);
    size_t offset;              ///< offset of the field in BLIINDSModel; 0: text is skipped
    const char *choice[2];      ///< words for 0 and 1
    int is_positive;            ///< require a number above 0
} Keyword;

/// Log an error with file and line, unless there was one before.
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

/**
 * Read the next word of the line.
 *
 * @param needed description of the word for the error message; NULL if it may be missing
 * @return the word, or "" at the end of the line
 */
static const char *next_word(Parser *p, const char *needed)
{
    const char *word = av_strtok(NULL, BLANKS, &p->next);

    if (!word && needed)
        fail(p, "%s is missing.\n", needed);
    return word ? word : "";
}

/// Read a finite number; return 0 after an error.
static double next_number(Parser *p)
{
    const char *word = next_word(p, "a number");
    double number = 0;
    int length = 0;

    // strtod() would depend on the locale
    if (av_sscanf(word, "%lf%n", &number, &length) != 1 || word[length] || !isfinite(number))
        fail(p, "'%s' is not a finite number.\n", word);
    else if (fabs(number) > MAX_NUMBER)
        fail(p, "'%s' is out of range: the magnitude must not exceed %g.\n", word, MAX_NUMBER);
    return number;
}

/// Read the weight of a feature. If nb_weights exceeds the number of features, the last is "score".
static void next_weight(Parser *p, const char *name, double *weight, int nb_weights, uint64_t *seen)
{
    int i = 0;

    while (i < nb_weights &&
           strcmp(name, i < BLIINDS_NB_FEATURES ? ff_bliinds_feature_name[i] : "score"))
        i++;
    if (i == nb_weights) {
        fail(p, "unknown feature '%s'.\n", name);
        return;
    }
    if (*seen >> i & 1)
        fail(p, "duplicate weight of %s.\n", name);
    *seen |= UINT64_C(1) << i;
    weight[i] = next_number(p);
}

static void parse_name(Parser *p, void *dst, const Keyword *k)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *word = next_word(p, "the name");

    if (word[strspn(word, allowed)] || strlen(word) >= sizeof(p->model.name))
        fail(p, "invalid name: use up to %d letters, digits and '._-'.\n",
             (int)sizeof(p->model.name) - 1);
    av_strlcpy(dst, word, sizeof(p->model.name));
}

/// Store the rest of the line, or skip it if it is documentation only.
static void parse_text(Parser *p, void *dst, const Keyword *k)
{
    if (k->offset && p->next)
        av_strlcpy(dst, p->next + strspn(p->next, BLANKS), sizeof(p->model.predicts));
    p->next = NULL;
}

static void parse_choice(Parser *p, void *dst, const Keyword *k)
{
    const char *word = next_word(p, NULL);
    int *choice = dst;

    *choice = !strcmp(word, k->choice[1]);
    if (!*choice && strcmp(word, k->choice[0]))
        fail(p, "expected '%s' or '%s'.\n", k->choice[0], k->choice[1]);
}

static void parse_number(Parser *p, void *dst, const Keyword *k)
{
    double *number = dst;

    *number = next_number(p);
    if (k->is_positive && *number <= 0)
        fail(p, "expected a number above 0.\n");
}

static void parse_range(Parser *p, void *dst, const Keyword *k)
{
    p->model.min = next_number(p);
    p->model.max = next_number(p);
    if (p->model.min >= p->model.max)
        fail(p, "empty range: the lowest score must be below the highest.\n");
}

static void parse_weight(Parser *p, void *dst, const Keyword *k)
{
    const int is_sigma = dst == p->model.sigma_weight;

    next_weight(p, next_word(p, FEATURE), dst, BLIINDS_NB_FEATURES + is_sigma, &p->seen[is_sigma]);
}

static void parse_unit(Parser *p, void *dst, const Keyword *k)
{
    BLIINDSUnit *unit = dst;
    const char *word;
    uint64_t seen = 0;

    if (p->model.nb_units == BLIINDS_MAX_UNITS) {
        fail(p, "too many hidden units: a model may have up to %d.\n", BLIINDS_MAX_UNITS);
        return;
    }
    unit += p->model.nb_units++;
    unit->out      = next_number(p);
    unit->constant = next_number(p);
    while (*(word = next_word(p, NULL)))
        next_weight(p, word, unit->weight, BLIINDS_NB_FEATURES, &seen);
}

/// Check and store a complete model. The models of a file must differ in kind, and agree in name,
/// range and direction.
static void end_model(Parser *p, void *dst, const Keyword *k)
{
    static const char *const frames_of_kind[] = {
        "frames without coded features", "frames with coded features", "flat frames"
    };
    const BLIINDSModel *m = &p->model;
    enum BLIINDSModelKind kind = BLIINDS_PIXELS;

    for (int i = BLIINDS_FEATURE_CODED; i < BLIINDS_NB_FEATURES; i++)
        if (uses(m, i))
            kind = m->for_flat ? BLIINDS_FLAT : BLIINDS_BITSTREAM;
    if (!m->name[0] || m->min >= m->max || m->higher_is_better < 0)
        fail(p, "missing '%s'.\n", !m->name[0] ? "name" : m->min >= m->max ? "range" : "direction");
    if (isnan(m->constant) || !p->seen[0])
        fail(p, "a model needs a constant and at least one weight.\n");
    if (m->for_flat && kind != BLIINDS_FLAT)
        fail(p, "a model for flat frames needs a weight for a coded feature.\n");
    if (p->models[kind].name[0])
        fail(p, "duplicate model for %s.\n", frames_of_kind[kind]);
    for (const BLIINDSModel *o = p->models; o < p->models + BLIINDS_NB_MODELS; o++)
        if (o->name[0] && (strcmp(o->name, m->name) || o->min != m->min || o->max != m->max ||
                           o->higher_is_better != m->higher_is_better))
            fail(p, "name, range and direction must equal those of the previous model.\n");
    p->models[kind] = *m;
    p->is_open = 0;
}

#define OFFSET(x) offsetof(BLIINDSModel, x)
static const Keyword keywords[] = {
    { "name",         parse_name,   OFFSET(name) },
    { "predicts",     parse_text,   OFFSET(predicts) },
    { "training",     parse_text },
    { "accuracy",     parse_text },
    { "licence",      parse_text },
    { "frames",       parse_choice, OFFSET(for_flat),         { "all",    "flat" } },
    { "direction",    parse_choice, OFFSET(higher_is_better), { "lower",  "higher" } },
    { "link",         parse_choice, OFFSET(logistic),         { "linear", "logistic" } },
    { "range",        parse_range },
    { "step",         parse_number, OFFSET(step),      .is_positive = 1 },
    { "sigma",        parse_number, OFFSET(sigma),     .is_positive = 1 },
    { "sigma_p80",    parse_number, OFFSET(sigma_p80), .is_positive = 1 },
    { "sigma_weight", parse_weight, OFFSET(sigma_weight) },
    { "constant",     parse_number, OFFSET(constant) },
    { "weight",       parse_weight, OFFSET(weight) },
    { "unit",         parse_unit,   OFFSET(unit) },
    { "end",          end_model },
};

static void parse_line(Parser *p, const char *word)
{
    for (int i = 0; i < FF_ARRAY_ELEMS(keywords); i++)
        if (!strcmp(word, keywords[i].name)) {
            keywords[i].parse(p, (char *)&p->model + keywords[i].offset, &keywords[i]);
            return;
        }
    fail(p, "unknown keyword '%s'.\n", word);
}

static void begin_model(Parser *p, const char *word)
{
    p->is_open = 1;
    p->seen[0] = p->seen[1] = 0;
    p->model   = (BLIINDSModel){
        .constant = NAN, .higher_is_better = -1, .sigma = NAN, .sigma_p80 = NAN
    };
    if (p->line > 1 && strcmp(word, "bliinds-model"))
        fail(p, "unexpected text after 'end': only another model may follow.\n");
    else if (strcmp(word, "bliinds-model") || !*(word = next_word(p, NULL)))
        fail(p, "not a model file: the first line must be 'bliinds-model 1'. To convert a copy "
             "of the published release, use tools/bliinds-convert-release.\n");
    else if (strcmp(word, "1"))
        fail(p, "unsupported format version %s: only version 1 is supported.\n", word);
}

static void parse_file(Parser *p, char *text)
{
    // some editors begin a file with the byte order mark of UTF-8
    av_strstart(text, "\xef\xbb\xbf", (const char **)&text);
    do {
        const char *word;

        p->line++;
        p->next = text;
        text   += strcspn(text, "\n");
        if (*text)
            *text++ = 0;
        word = next_word(p, NULL);
        if (p->line > 1 && (!*word || *word == '#'))
            continue;
        if (p->is_open)
            parse_line(p, word);
        else
            begin_model(p, word);
        word = next_word(p, NULL);
        if (*word)
            fail(p, "unexpected '%s' at the end of the line.\n", word);
    } while (*text && !p->error);
    if (p->is_open)
        fail(p, "the file is truncated: its 'end' line is missing.\n");
}

int ff_bliinds_model_load(BLIINDSModel model[BLIINDS_NB_MODELS], void *logctx, const char *name)
{
    Parser p = { .logctx = logctx, .path = name, .models = model };
    const char *data = (const char *)ff_vmaf1_est5_txt_data;
    size_t size = ff_vmaf1_est5_txt_len;
    uint8_t *file = NULL;
    char *text = NULL;

    memset(model, 0, BLIINDS_NB_MODELS * sizeof(*model));
    if (strcmp(name, BLIINDS_BUILT_IN_MODEL)) {
        int ret = av_file_map(name, &file, &size, 0, logctx);

        if (ret < 0) {
            av_log(logctx, AV_LOG_ERROR, "Cannot read the model '%s': %s. Set model to the path "
                   "of a model file or to %s.\n", name, av_err2str(ret), BLIINDS_BUILT_IN_MODEL);
            return ret;
        }
        data = size ? (const char *)file : "";
    }
    if (size > MAX_SIZE) {
        av_log(logctx, AV_LOG_ERROR, "'%s' is not a model file: %zu bytes are too large.\n", name, size);
        p.error = AVERROR_INVALIDDATA;
    } else if (!(text = av_strndup(data, size))) {
        p.error = AVERROR(ENOMEM);
    } else {
        parse_file(&p, text);
    }
    av_free(text);
    av_file_unmap(file, size);
    return p.error;
}
