# Fits the score to the records of label.py: writes a model file with models for frames whose
# bitstream is known, for all others, and for flat ones whose bitstream is known, and says what
# they are worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import json
import sys

import numpy as np
from scipy import optimize, special, stats

import common
import models

# Of the bitstream's features nothing but energies: these take the filter a third of the time.
BITSTREAM = models.CODED + models.BANDS + models.BAND_PHASES + models.MOTION
# Features, and hidden units.
FORMS = {'bitstream': (BITSTREAM, 16), 'pixels': (models.STATISTICS + models.PHASES, 0),
         'flat': (BITSTREAM, 4)}
BASIS_FLAT = 2      # the filter's number
STRENGTHS = (0.004, 0.008, 0.016, 0.032)
PARTS = 10          # of the groups, one of which is left out at a time


def table(encode, family, group, predicted, truth, sigma, weight):
    """What predictions are worth, in Markdown. An encode may have several rows."""
    part = np.array([common.part_of(f) for f in family])
    once = ~np.isin(part, (common.TWICE, common.NOISE))
    parts = {'coded once': once, 'of these as large as shown': once & (part != 'scaled'),
             'all': part != '', **{p: part == p for p in sorted(set(part))}}
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
        self.nb_frames = np.array([len(frames) for frames in self.frames])
        # each group of contents counts the same, and so does each encode of one
        nb_encodes = {g: len(np.unique(self.encode[self.group == g])) for g in self.group}
        self.weight = np.array([1 / nb_encodes[g] / (self.encode == e).sum()
                                for g, e in zip(self.group, self.encode)])
        # in the fit, second generations count 2.75 times (they come within 5 points), noise twice
        self.fit_weight = self.weight * [
            {common.TWICE: 2.75, common.NOISE: 2}.get(common.part_of(f), 1) for f in self.family]

    def x(self, names):
        """Of all frames of all rows, one after the other."""
        return np.array([[frame[name] for name in names]
                         for frames in self.frames for frame in frames])

    def mean(self, values):
        """Of each row, over what its frames have."""
        first = np.cumsum(self.nb_frames) - self.nb_frames
        return (np.add.reduceat(values, first).T / self.nb_frames).T

    def table(self, score, sigma):
        return table(self.encode, self.family, self.group, score, self.y, sigma, self.weight)


class Model:
    """score = 100 / (1 + exp(-s)), where s is a weighted sum of features and of units, each
    z / (1 + |z|) of a weighted sum z of features. Fitted to the least squared error plus
    100 * strength * the sum of all weights' squares, for features of unit variance."""

    def __init__(self, x, y, weight, units, strength):
        weight = weight / weight.sum()
        mean = weight @ x
        std = np.sqrt(weight @ (x - mean) ** 2)
        std = np.where(std > 1e-9, std, 1)      # it may be the same everywhere
        z, nb = (x - mean) / std, x.shape[1]
        sizes = 1, nb, nb * units, units, units
        penalty = 100 * strength * np.repeat((0, 1, 1, 0, 1), sizes)

        def split(p):
            constant, w, unit, offset, out = np.split(p, np.cumsum(sizes[:-1]))
            return constant, w, unit.reshape(nb, units), offset, out

        def cost(p):
            constant, w, unit, offset, out = split(p)
            hidden = z @ unit + offset
            slope = 1 / (1 + np.abs(hidden))
            score = 100 * special.expit(constant + z @ w + hidden * slope @ out)
            error = weight * (score - y)
            of_sum = 2 * error * score * (1 - score / 100)
            of_hidden = of_sum[:, None] * out * slope ** 2
            return error @ (score - y) + penalty @ p ** 2, 2 * penalty * p + np.r_[
                of_sum.sum(), z.T @ of_sum, (z.T @ of_hidden).ravel(), of_hidden.sum(0),
                (hidden * slope).T @ of_sum]

        target, random = np.clip(weight @ y, 2, 98), np.random.RandomState(1)
        start = np.r_[np.log(target / (100 - target)), np.zeros(nb),
                      random.normal(0, 0.5 / np.sqrt(nb), nb * units), np.zeros(units),
                      random.normal(0, 0.3, units)]
        best = optimize.minimize(cost, start, jac=True, method='L-BFGS-B',
                                 options={'maxiter': 9999, 'maxcor': 20}).x
        constant, w, unit, self.offset, self.out = split(best)
        self.weights, self.unit = w / std, unit / std[:, None]
        self.constant = constant[0] - mean @ self.weights
        self.offset = self.offset - mean @ self.unit

    def score(self, x):
        hidden = x @ self.unit + self.offset
        return 100 * special.expit(self.constant + x @ self.weights
                                   + hidden / (1 + np.abs(hidden)) @ self.out)


def left_out(x, data, units, strength):
    """Scores of each part of the groups by a model of the others, and the squared errors of the
    parts."""
    score, (names, group) = np.empty(len(data.y)), np.unique(data.group, return_inverse=True)
    mean, errors = data.mean(x), []
    for part in range(min(PARTS, len(names))):
        here = group % PARTS == part
        model = Model(mean[~here], data.y[~here], data.fit_weight[~here], units, strength)
        score[here] = data.mean(model.score(x))[here]
        errors.append(np.average((score - data.y)[here] ** 2, weights=data.fit_weight[here]))
    return score, np.array(errors)


def choose(errors):
    """The largest strength that is no worse than the best by more than one standard error (Hastie,
    Tibshirani, Friedman, The Elements of Statistical Learning, 7.10)."""
    best = min(errors.values(), key=np.mean)
    limit = best.mean() + best.std() / np.sqrt(len(best))
    return max(strength for strength in errors if errors[strength].mean() <= limit)


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
        *('weight       %-13s %.9g' % item for item in zip(names, model.weights)),
        *(' '.join(['unit         %.9g %.9g' % unit[:2],
                    *('%s %.9g' % item for item in zip(names, unit[2]))])
          for unit in zip(model.out, model.offset, model.unit.T)), 'end']


def write(shots, options):
    sets = [[Data(options.work, shots, held, flat) if options.held >= held else None
             for held in (False, True)] for flat in (False, True)]
    text, report = [], []
    for basis, (names, units) in FORMS.items():
        is_flat = basis == 'flat'
        data, held = sets[is_flat]
        nb_groups = len(set(data.group))
        if nb_groups < 2 and is_flat:
            continue
        if nb_groups < 2:
            sys.exit('error: the records are of %d groups for choosing, and one is left out at a '
                     'time: label more contents' % nb_groups)
        x = data.x(names)
        tried = {strength: left_out(x, data, units, strength) for strength in STRENGTHS}
        strength = choose({strength: errors for strength, (_, errors) in tried.items()})
        score = tried[strength][0]
        model = Model(data.mean(x), data.y, data.fit_weight, units, strength)
        sigma = fit_sigma(score, score - data.y, data.weight)
        p80 = np.percentile(sigma_of(sigma, score), 80)
        report += ['## %s, strength %g: contents left out, a tenth at a time' % (basis, strength), '',
                   data.table(score, sigma_of(sigma, score))]
        if held and held.frames:
            score = held.mean(model.score(held.x(names)))
            report += ['## %s: contents held back' % basis, '',
                       held.table(score, sigma_of(sigma, score))]
        text += lines_of(names, model, sigma, p80, [
            ('name', options.name), ('predicts', 'estimated VMAF loss'),
            ('training', '100 - VMAF v1.0.16 (1080 lines): %d hidden units (strength %g) on %d '
             'encodes of %d contents, records %s' % (units, strength, len(np.unique(data.encode)),
                                                     nb_groups, data.digest[:16])),
            ('licence', options.licence), ('direction', 'lower'), ('range', '0 100'),
            *[('frames', 'flat')] * is_flat, ('link', 'logistic')])
    common.write(options.results, options.name + '.txt', text)
    common.write(options.results, 'report.md', report)
