#!/usr/bin/env python3
# Fits the score to the records of label.py: writes a model file with two models, one for
# frames whose bitstream is known and one for all others, and says what they are worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import json
import os
import sys

import numpy as np
from scipy import optimize

import common
import contents
import fit
import label
import models

# Of the bitstream's features nothing but energies: these take the filter a third of the time.
FORMS = {'bitstream': models.CODED + models.BANDS + models.BAND_PHASES,
         'pixels': models.STATISTICS + models.PHASES}
MEASURED = sorted(set().union(*FORMS.values()) - set(models.CODED))
STRENGTHS = (0.01, 0.03, 0.1, 0.3)


# ---- records ----

def coding(record, scale):
    """What the filter makes of quantizer_metadata's keys, mean over the frames that are scored."""
    step, intra = np.mean(
        [(frame['gop_step'],
          np.log2(8 * frame['gop_intra_bytes'] / (frame['width'] * frame['height'])))
         for frame in record['quantizer'][label.FIRST_FRAME::label.FRAME_STEP]], 0)
    codec = record['quantizer'][0]['codec']
    return {'coded.step': step, 'coded.intra': intra, 'coded.scale': scale,
            **{name: float(codec in names) for name, names in models.CODECS.items()}}


class Data:
    """Encodes in rows; one that was scaled has two, with features of the picture as it was
    coded and as it is shown."""

    def __init__(self, folder, listed, use):
        self.rows, digest, without = [], hashlib.sha256(), 0
        for record, group in common.records(folder, listed, use):
            if not record['generations']:
                continue
            if not record.get('quantizer'):
                without += 1
                continue
            digest.update(json.dumps(record, sort_keys=True).encode())
            scale = np.log2(record['height'] / record['coded'][1])
            for frames in record['features'], record['shown']:
                if frames and all(frame['valid'] for frame in frames):
                    self.add(record, group, frames, scale)
        if without:
            print('note: left out %d encodes without quantizers: run label.py again' % without,
                  file=sys.stderr)
        self.digest = digest.hexdigest()
        for name in 'group', 'family', 'y':
            setattr(self, name, np.array([row[name] for row in self.rows]))
        # each group of contents counts the same, and so does each encode of one
        self.encode = np.array([row['encode'] for row in self.rows])
        nb_encodes = {g: len(np.unique(self.encode[self.group == g])) for g in self.group}
        self.weight = np.array([1 / nb_encodes[g] / (self.encode == e).sum()
                                for g, e in zip(self.group, self.encode)])

    def add(self, record, group, frames, scale):
        content = common.content_of(record)
        row = {'group': group, 'family': record['family'],
               'encode': '%s %s %s' % (content, record['family'], record['value']),
               'y': 100 - np.mean(record['v1'])}
        for name in MEASURED:
            row[name] = np.mean([frame[name] for frame in frames])
        row.update(coding(record, scale))
        self.rows.append(row)

    def x(self, names):
        return np.array([[row[name] for name in names] for row in self.rows])


# ---- fit ----

def taught(names, data):
    """Weights in a fit. Of what was coded twice the bitstream tells the last time only: to
    have it in the fit makes all finely coded frames bad."""
    twice = np.array([common.part_of(family) == common.TWICE for family in data.family])
    return np.where(twice & ('coded.step' in names), 0, data.weight)


class Model:
    """A ridge regression."""

    def __init__(self, names, data, strength, rows=slice(None)):
        self.names = names
        self.constant, self.weights = fit.logistic(data.x(names)[rows], data.y[rows],
                                                   taught(names, data)[rows], strength)

    def raw(self, x):
        return 100 / (1 + np.exp(-self.constant - x @ self.weights))


def left_out(names, data, strength):
    """Scores of each group by a model of the others."""
    x = data.x(names)
    score = np.empty(len(x))
    for g in np.unique(data.group):
        here = data.group == g
        score[here] = Model(names, data, strength, ~here).raw(x[here])
    return score


def choose_strength(names, data):
    errors = [np.average((left_out(names, data, s) - data.y) ** 2, weights=data.weight)
              for s in STRENGTHS]
    return STRENGTHS[int(np.argmin(errors))]


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


# ---- what it is worth ----

def figures(data, score, sigma, where):
    p, y = score[where], data.y[where]
    weight = data.weight[where] / data.weight[where].sum()
    error = p - y
    return (len(np.unique(data.encode[where])), len(np.unique(data.group[where])), fit.srocc(p, y),
            np.sqrt(weight @ error ** 2), weight @ error, weight @ (np.abs(error) <= sigma[where]))


def table(data, score, sigma):
    part = np.array([common.part_of(f) for f in data.family])
    once = ~np.isin(part, (common.TWICE, common.NOISE))
    rows = [('coded once', once), ('all', once | True)]
    rows += [(p, part == p) for p in sorted(set(part))]
    cells = []
    for name, where in rows:
        *most, within = figures(data, score, sigma, where)
        cells.append([name, *('%d %d %.3f %.1f %+.1f' % tuple(most)).split(),
                      '%.0f %%' % (100 * within)])
    lines = [common.table(['', 'encodes', 'contents', 'SROCC', 'RMSE', 'bias', 'within sigma'],
                          *cells)]
    return '\n'.join(lines + [''])


# ---- the model file ----

def lines_of(model, sigma, p80, fields):
    number = '%.9g'
    lines = ['bliinds-model 1'] + ['%-12s %s' % item for item in fields]
    lines += ['direction    lower', 'range        0 100', 'link         logistic']
    lines += ['sigma        ' + number % np.exp(sigma[0])]
    lines += ['sigma_weight score        ' + number % sigma[1], 'sigma_p80    %.4g' % p80]
    lines += ['constant     ' + number % model.constant]
    lines += ['weight       %-12s %s' % (n, number % w) for n, w in zip(model.names, model.weights)]
    return lines + ['end']


def main():
    parser = common.options('Fits the score to the records of label.py.',
                            'work', 'results', 'contents', 'held')
    parser.add_argument('--name', default='model')
    parser.add_argument('--licence', default='not stated')
    options = parser.parse_args()
    listed = contents.contents(options.contents)
    data = Data(options.work, listed, 'choose')
    held = Data(options.work, listed, 'held') if options.held else None
    if len(set(data.group)) < 2:
        sys.exit('error: the records are of %d groups for choosing, and one is left out at a time: '
                 'label more contents' % len(set(data.group)))
    os.makedirs(options.results, exist_ok=True)
    text, report = [], []
    for basis, names in FORMS.items():
        strength = choose_strength(names, data)
        score = left_out(names, data, strength)
        sigma = fit_sigma(score, score - data.y, data.weight)
        p80 = np.percentile(sigma_of(sigma, score), 80)
        model = Model(names, data, strength)
        report += ['## %s, strength %g: contents left out one at a time' % (basis, strength), '',
                   table(data, score, sigma_of(sigma, score))]
        if held:
            score = model.raw(held.x(names))
            report += ['## %s: contents held back' % basis, '',
                       table(held, score, sigma_of(sigma, score))]
        text += lines_of(model, sigma, p80, [
            ('name', options.name), ('predicts', 'estimated VMAF loss'),
            ('training', '100 - VMAF v1.0.16 (1080 lines): ridge regression (strength %g) on %d '
             'encodes of %d contents, records %s' % (strength, len(np.unique(data.encode)), len(np.unique(data.group)), data.digest[:16])),
            ('licence', options.licence)]) + ['']
    common.write(options.results, options.name + '.txt', text)
    common.write(options.results, 'report.md', report)


if __name__ == '__main__':
    main()
