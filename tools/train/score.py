# Fits the score to the records of label.py: writes a model file with models for frames whose
# bitstream is known, for all others, and for flat ones whose bitstream is known, and says what
# they are worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import itertools
import json
import math
import sys

import numpy as np
from scipy import optimize, stats

import common
import models

# Of the bitstream's features nothing but energies: these take the filter a third of the time.
# Squares and product of step and size, and their slopes of each codec.
NUMBERS, CODECS = models.CODED[:2], models.CODED[3:]
PRODUCTS = ['*'.join(pair) for pair in (*itertools.combinations_with_replacement(NUMBERS, 2),
                                        *itertools.product(NUMBERS, CODECS))]
BITSTREAM = models.CODED + PRODUCTS + models.BANDS + models.BAND_PHASES
FORMS = {'bitstream': BITSTREAM, 'pixels': models.STATISTICS + models.PHASES, 'flat': BITSTREAM}
BASIS_FLAT = 2      # the filter's number
STRENGTHS = (0.01, 0.03, 0.1, 0.3)


def logistic(x, y, weight, strength):
    """Constant and weights that minimise the squared error plus the sum of strength * w^2, for
    features of unit variance; the sum is the logarithm of y / (100 - y). By Newton's method."""
    weight = weight / weight.sum()
    mean = weight @ x
    std = np.sqrt(weight @ (x - mean) ** 2)
    std = np.where(std > 1e-9, std + 1e-12, 1)      # it may be the same everywhere
    z = np.c_[np.ones(len(x)), (x - mean) / std]
    target = np.clip(weight @ y, 2, 98)
    beta = np.r_[np.log(target / (100 - target)), np.zeros(x.shape[1])]
    for _ in range(200):
        p = 100 / (1 + np.exp(-z @ beta))
        slope = p * (1 - p / 100)
        scale = weight @ slope ** 2
        penalty = np.r_[0, np.full(x.shape[1], strength)] * scale
        j = z * slope[:, None]
        step = np.linalg.solve(j.T @ (j * weight[:, None]) + np.diag(penalty + 1e-9 * scale),
                               j.T @ (weight * (y - p)) - penalty * beta)
        beta += np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    w = beta[1:] / std
    return beta[0] - mean @ w, w


def table(encode, family, group, predicted, truth, sigma, weight):
    """What predictions are worth, in Markdown. An encode may have several rows."""
    part = np.array([common.part_of(f) for f in family])
    parts = {'coded once': ~np.isin(part, (common.TWICE, common.NOISE)), 'all': part != '',
             **{p: part == p for p in sorted(set(part))}}
    rows = ['| | encodes | contents | SROCC | RMSE | bias | within sigma |', '|---' * 7 + '|']
    for name, here in parts.items():
        p, y, w = predicted[here], truth[here], weight[here] / max(weight[here].sum(), 1e-9)
        srocc = stats.spearmanr(p, y)[0] if len(p) > 2 and np.ptp(p) and np.ptp(y) else np.nan
        rows.append('| %s | %d | %d | %.3f | %.1f | %+.1f | %.0f %% |' % (
            name, len(np.unique(encode[here])), len(np.unique(group[here])), srocc,
            np.sqrt(w @ (p - y) ** 2), w @ (p - y), 100 * (w @ (np.abs(p - y) <= sigma[here]))))
    return '\n'.join([*rows, ''])


def fits(frame, flat):
    """Whether a frame is for the model of flat frames, or for the others. What is flat and was
    scaled up is for none, as in the filter."""
    if frame['basis'] == BASIS_FLAT or not frame['valid']:
        return flat and frame['coded.scale'] <= 0
    return not flat


class Data:
    """Encodes in rows, by their flat frames or by the others; one that was scaled has two, with
    features of the picture as it was coded and as it is shown."""

    def __init__(self, folder, shots, held, flat):
        rows, digest = [], hashlib.sha256()
        for record, group in common.records(folder, shots, held):
            digest.update(json.dumps(record, sort_keys=True).encode())
            encode = ' '.join(map(str, (record['content'], record['variant'], record['family'],
                                        record['value'])))
            for shown in record['features'], record['shown'] or []:
                frames = [frame for frame in shown if fits(frame, flat)]
                if frames:
                    rows.append((encode, group, record['family'], 100 - np.mean(record['v1']),
                                 frames))
        self.digest = digest.hexdigest()
        self.encode, self.group, self.family, self.y = (
            np.array([row[i] for row in rows]) for i in range(4))
        self.frames = [row[4] for row in rows]
        # each group of contents counts the same, and so does each encode of one
        nb_encodes = {g: len(np.unique(self.encode[self.group == g])) for g in self.group}
        self.weight = np.array([1 / nb_encodes[g] / (self.encode == e).sum()
                                for g, e in zip(self.group, self.encode)])

    def x(self, names):
        return np.array([[np.mean([math.prod(frame[factor] for factor in name.split('*'))
                                   for frame in frames]) for name in names]
                         for frames in self.frames]).reshape(-1, len(names))

    def table(self, score, sigma):
        return table(self.encode, self.family, self.group, score, self.y, sigma, self.weight)


class Model:
    """A ridge regression."""

    def __init__(self, names, x, data, strength, rows=slice(None)):
        self.constant, self.weights = logistic(x[rows], data.y[rows], data.weight[rows], strength)

    def raw(self, x):
        return 100 / (1 + np.exp(-self.constant - x @ self.weights))


def left_out(names, x, data, strength):
    """Scores of each group by a model of the others."""
    score = np.empty(len(x))
    for g in np.unique(data.group):
        here = data.group == g
        score[here] = Model(names, x, data, strength, ~here).raw(x[here])
    return score


def fit_sigma(score, error, weight):
    """log sigma = a + b score, of the most likely normal errors."""
    weight = weight / weight.sum()

    def cost(p):
        log = np.clip(p[0] + p[1] * score, -3, 6)
        return weight @ (log + error ** 2 * np.exp(-2 * log) / 2)

    start = np.log(np.sqrt(weight @ error ** 2)), 0
    best = optimize.minimize(cost, start, method='Nelder-Mead',
                             options={'maxiter': 4000, 'xatol': 1e-6, 'fatol': 1e-9})
    return best.x


def sigma_of(p, score):
    """As the filter does: doc/model-format.md."""
    return np.exp(p[0]) * np.clip(np.exp(p[1] * score), 0.25, 4)


def lines_of(names, model, sigma, p80, fields):
    """A model file."""
    return [
        'bliinds-model 1', *('%-12s %s' % item for item in fields),
        'sigma        %.9g' % np.exp(sigma[0]), 'sigma_weight score        %.9g' % sigma[1],
        'sigma_p80    %.4g' % p80, 'constant     %.9g' % model.constant,
        *('weight       %-12s %.9g' % item for item in zip(names, model.weights)), 'end']


def write(shots, options):
    sets = [[Data(options.work, shots, held, flat) if options.held >= held else None
             for held in (False, True)] for flat in (False, True)]
    text, report = [], []
    for basis, names in FORMS.items():
        is_flat = basis == 'flat'
        data, held = sets[is_flat]
        nb_groups = len(set(data.group))
        if nb_groups < 2 and is_flat:
            continue
        if nb_groups < 2:
            sys.exit('error: the records are of %d groups for choosing, and one is left out at a '
                     'time: label more contents' % nb_groups)
        x = data.x(names)
        scores = {strength: left_out(names, x, data, strength) for strength in STRENGTHS}
        strength = min(STRENGTHS, key=lambda s: data.weight @ (scores[s] - data.y) ** 2)
        score, model = scores[strength], Model(names, x, data, strength)
        sigma = fit_sigma(score, score - data.y, data.weight)
        report += ['## %s, strength %g: contents left out one at a time' % (basis, strength), '',
                   data.table(score, sigma_of(sigma, score))]
        if held and held.frames:
            score = model.raw(held.x(names))
            report += ['## %s: contents held back' % basis, '',
                       held.table(score, sigma_of(sigma, score))]
        p80 = np.percentile(sigma_of(sigma, scores[strength]), 80)
        text += lines_of(names, model, sigma, p80, [
            ('name', options.name), ('predicts', 'estimated VMAF loss'),
            ('training', '100 - VMAF v1.0.16 (1080 lines): ridge regression (strength %g) on %d '
             'encodes of %d contents, records %s' % (strength, len(np.unique(data.encode)),
                                                     nb_groups, data.digest[:16])),
            ('licence', options.licence), ('direction', 'lower'), ('range', '0 100'),
            *[('frames', 'flat')] * is_flat, ('link', 'logistic')])
    common.write(options.results, options.name + '.txt', text)
    common.write(options.results, 'report.md', report)
