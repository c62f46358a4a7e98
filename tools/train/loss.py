#!/usr/bin/env python3
# Fits what an encode has lost of its source to the records of label.py: the factors of
# detailloss, which has both pictures, and the table of the loss by rr_read, which has the
# energies of both. Writes C tables, and says what they are worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import copy
import sys

import numpy as np
from scipy import optimize

import common
import contents
import fit
import models
import score

TARGETS = (95, 90, 80)
FOLDS = 11
MAX_MOTION = 18
# Beyond this, detail lost counts by the straight line that its square ends in.
MAX_SQUARE = 25
# A drop of energy, in log2, below which it tells little.
KNEE = 0.015


class Encodes:
    """Encodes whose losses are known, in rows."""

    def __init__(self, folder, listed, use):
        records, source, groups = [], {}, []
        for record, group in common.records(folder, listed, use):
            if not record['generations']:
                source[record['content']] = record
            elif record.get('detail') and record.get('quantizer'):
                records.append(record)
                groups.append(group)
        self.records, self.source = records, [source.get(r['content']) for r in records]
        self.group = np.array(groups)
        self.content = np.array([common.content_of(r) for r in records])
        self.family = np.array([r['family'] for r in records])
        self.value = np.array([float(r['value'] or 0) for r in records])
        self.y = np.array([100 - np.mean(r['v1']) for r in records])
        self.weight = np.array([1 / (self.group == g).sum() for g in self.group])


# ---- detailloss ----

class Detail:
    """Factors of the five numbers that the filter measures of a frame."""

    def __init__(self, encodes):
        rows, self.at, self.y = [], [], []
        for i, record in enumerate(encodes.records):
            # the first frame has no motion
            for frame, v1 in list(zip(record['detail'], record['v1']))[1:]:
                lost = frame['detail']
                d = min(lost, MAX_SQUARE)
                rows.append([lost, d * (2 * lost - d) / 100, frame['added'],
                             frame.get('chroma') or 0, -min(frame['motion'], MAX_MOTION)])
                self.at.append(i)
                self.y.append(100 - v1)
        self.x, self.at, self.y = np.array(rows), np.array(self.at), np.array(self.y)

    def fit(self, rows):
        x, y = self.x[rows], self.y[rows]

        def error(factors):
            p = x @ factors
            # what is cut off still has a slope
            return (np.clip(p, 0, 100) + 0.02 * (p - np.clip(p, 0, 100)) - y) / np.sqrt(1 + y / 20)
        return optimize.least_squares(error, np.ones(x.shape[1]), loss='soft_l1', f_scale=8).x

    def predict(self, factors, rows=slice(None)):
        return np.clip(self.x[rows] @ factors, 0, 100)

    def of_encodes(self, predicted):
        return np.bincount(self.at, predicted) / np.bincount(self.at)


def sigma_of(predicted, error):
    """a + b loss, of the most likely normal errors."""
    def cost(p):
        s = np.maximum(p[0] + p[1] * predicted, 0.1)
        return np.mean(np.log(s) + error ** 2 / s ** 2 / 2)
    return optimize.minimize(cost, (2, 0.1), method='Nelder-Mead').x


def left_out(group, rows_group, fit_rows, predict_rows):
    """Predictions of each fold of groups by a fit to the others."""
    names, result = np.unique(group), np.empty(len(rows_group))
    for i in range(min(FOLDS, len(names))):
        here = np.isin(rows_group, names[i::FOLDS])
        result[here] = predict_rows(fit_rows(np.flatnonzero(~here)), np.flatnonzero(here))
    return result


# ---- the loss by energies ----

class Energies:
    """100 (1 - exp(-d c)): d are roots of drops and rises of the bands' energies, times factors
    not below 0; c is the exponential of a sum over what the bitstream tells, or 1."""

    def __init__(self, encodes, coded):
        self.names = models.CODED if coded else []
        self.encodes = encodes
        changes, known = [], []
        for record, source in zip(encodes.records, encodes.source):
            frames = record['shown'] or record['features']
            change = [np.mean([f[b] for f in source['features']]) - np.mean([f[b] for f in frames])
                      for b in models.BANDS]
            changes.append([max(c, 0) for c in change] + [max(-c, 0) for c in change])
            told = score.coding(record, np.log2(record['height'] / record['coded'][1]))
            known.append([told[name] for name in self.names])
        self.x = np.sqrt(np.array(changes) + KNEE) - np.sqrt(KNEE)
        self.known = np.array(known).reshape(len(changes), len(self.names))
        self.mean, self.std = self.known.mean(0), self.known.std(0) + 1e-9

    def predict(self, p, rows=slice(None)):
        nb = self.x.shape[1]
        told = (self.known[rows] - self.mean) / self.std @ p[nb:]
        change = self.x[rows] @ np.exp(np.clip(p[:nb], -10, 6))
        return 100 * (1 - np.exp(-change * np.exp(np.clip(told, -3, 3))))

    def fit(self, rows):
        weight = np.sqrt(self.encodes.weight[rows] / self.encodes.weight[rows].mean())
        start = np.r_[np.full(self.x.shape[1], -2.5), np.zeros(len(self.names))]

        def error(p):
            return np.r_[(self.predict(p, rows) - self.encodes.y[rows]) * weight,
                         np.sqrt(len(rows)) * p[self.x.shape[1]:]]
        return optimize.least_squares(error, start, max_nfev=40).x

    def table(self, p, sigma):
        nb = self.x.shape[1] // 2
        factors = np.exp(np.clip(p[:2 * nb], -10, 6))
        factors[factors < 1e-3] = 0
        told = p[2 * nb:] / self.std

        def row(name, values):
            return '        .%-8s = { %s },' % (name, ', '.join('%.5g' % v for v in values))
        lines = [row('drop', factors[:nb]), row('rise', factors[nb:])]
        if len(told):
            lines += ['        .constant = %.5g,' % -(told @ self.mean), row('coded', told)]
        return lines + [row('sigma', sigma)]


# ---- what they are worth ----

def crf_for(value, predicted, target):
    """The CRF at which a loss is met, on a line between those that there are."""
    return np.interp(target, np.maximum.accumulate(predicted) + np.arange(len(value)) * 1e-9, value)


def ladders(encodes, family):
    for content in np.unique(encodes.content):
        at = np.flatnonzero((encodes.content == content) & (encodes.family == family))
        if len(at) >= 3:
            yield at[np.argsort(encodes.value[at])]


def aim(encodes, predicted, chosen):
    """How far a CRF that is chosen for a VMAF is off it, and one CRF for all contents."""
    rows = [['CRF chosen for VMAF v1'] + ['%d: ladders, off by, one CRF' % t for t in TARGETS]]
    for family in np.unique(encodes.family):
        if common.part_of(family) not in common.LADDERS or family in ('x264_cbr', 'x264_two_pass'):
            continue
        cells = []
        for target in TARGETS:
            loss, off, usual = 100 - target, [], []
            met = [crf_for(chosen.value[at], chosen.y[at], loss) for at in ladders(chosen, family)
                   if chosen.y[at].min() <= loss <= chosen.y[at].max()]
            for at in ladders(encodes, family):
                value, y = encodes.value[at], encodes.y[at]
                if y.min() <= loss <= y.max() and met:
                    off.append(abs(np.interp(crf_for(value, predicted[at], loss), value, y) - loss))
                    usual.append(abs(np.interp(np.median(met), value, y) - loss))
            cells.append('%d, %.1f, %.1f' % (len(off), np.mean(off), np.mean(usual))
                         if off else '0')
        rows.append([family] + cells)
    return common.table(*rows)


def table(encodes, predicted, sigma):
    error = predicted - encodes.y
    part = np.array([common.part_of(f) for f in encodes.family])
    rows = [('all', part != '')] + [(p, part == p) for p in sorted(set(part))] + \
           [(f, encodes.family == f) for f in common.PRESETS if (encodes.family == f).any()]
    cells = [[name, where.sum(), '%.3f' % fit.srocc(predicted[where], encodes.y[where]),
              '%.1f' % fit.rmse(error[where], 0), '%+.1f' % error[where].mean(),
              '%.0f %%' % (100 * np.mean(np.abs(error[where]) <= sigma[where]))]
             for name, where in rows]
    spread = [fit.interval(lambda i, f=f: f(predicted[i], encodes.y[i]), encodes.group)
              for f in (fit.srocc, fit.rmse)]
    text = common.table(['', 'encodes', 'SROCC', 'RMSE', 'bias', 'within sigma'], *cells)
    return text + '\n95 %% intervals over contents: SROCC %.3f to %.3f, RMSE %.1f to %.1f.\n' % \
        (*spread[0], *spread[1])


def main():
    options = common.options('Fits the losses to the records of label.py.',
                             'work', 'results', 'contents', 'held').parse_args()
    listed = contents.contents(options.contents)
    chosen = Encodes(options.work, listed, 'choose')
    held = Encodes(options.work, listed, 'held') if options.held else None
    report, tables = [], []

    def judge(title, encodes, predicted, sigma):
        report.extend(['## ' + title, '',
                       table(encodes, predicted, sigma[0] + sigma[1] * predicted),
                       aim(encodes, predicted, chosen)])

    detail = Detail(chosen)
    out = left_out(chosen.group, chosen.group[detail.at], detail.fit, detail.predict)
    sigma = sigma_of(out, out - detail.y)
    factors = detail.fit(slice(None))
    judge('detailloss: contents left out', chosen, detail.of_encodes(out), sigma)
    if held:
        other = Detail(held)
        predicted = other.of_encodes(other.predict(factors))
        judge('detailloss: contents held back', held, predicted, sigma)
    tables += ['detailloss: detail, its square, added, chroma, motion: '
               + ', '.join('%.4g' % f for f in factors),
               'sigma: %.3g, %.3g' % tuple(sigma), '']

    # a source that was changed first has no record of its own
    plain = without_variants(chosen)
    if held:
        held = without_variants(held)
    for name, coded in ('pixels', False), ('bitstream', True):
        if len(set(plain.group)) < 2:
            print('note: no loss by energies: there are no encodes with detail of two groups',
                  file=sys.stderr)
            break
        energies = Energies(plain, coded)
        out = left_out(plain.group, plain.group, energies.fit, energies.predict)
        sigma = sigma_of(out, out - energies.encodes.y)
        p = energies.fit(np.arange(len(energies.x)))
        judge('rr_read, %s: contents left out' % name, energies.encodes, out, sigma)
        if held:
            other = Energies(held, coded)
            other.mean, other.std = energies.mean, energies.std
            judge('rr_read, %s: contents held back' % name, other.encodes, other.predict(p), sigma)
        tables += ['    [BLIINDS_%s] = {' % name.upper()] + energies.table(p, sigma) + ['    },']
    common.write(options.results, 'loss.md', report + [''])
    common.write(options.results, 'loss-tables.txt', tables + [''])


def without_variants(encodes):
    """Those whose source has a record, and whose frames are all valid."""
    keep = [i for i, (record, source) in enumerate(zip(encodes.records, encodes.source))
            if source and not record['variant'] and
            all(f['valid'] for f in record['shown'] or record['features'])]
    result = copy.copy(encodes)
    for name in 'group', 'content', 'family', 'value', 'y', 'weight':
        setattr(result, name, getattr(encodes, name)[keep])
    result.records = [encodes.records[i] for i in keep]
    result.source = [encodes.source[i] for i in keep]
    return result


if __name__ == '__main__':
    main()
