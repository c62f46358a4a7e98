#!/usr/bin/env python3
# Fits detailloss to the records of label.py: the factors of the five numbers that it measures of
# a frame. Writes them, and says what they are worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np
from scipy import optimize

import common
import contents
import fit

FOLDS = 11
MAX_MOTION = 18
# Beyond this, detail lost counts by the straight line that its square ends in.
MAX_SQUARE = 25


class Detail:
    """Frames in rows, and the encodes that they are of."""

    def __init__(self, folder, listed, use):
        rows, at, y, self.of = [], [], [], []
        for record, group in common.records(folder, listed, use):
            if not record['generations'] or not record.get('detail') or not record.get('quantizer'):
                continue
            # the first frame has no motion
            for frame, v1 in list(zip(record['detail'], record['v1']))[1:]:
                lost = frame['detail']
                d = min(lost, MAX_SQUARE)
                rows.append([lost, d * (2 * lost - d) / 100, frame['added'],
                             frame.get('chroma') or 0, -min(frame['motion'], MAX_MOTION)])
                at.append(len(self.of))
                y.append(100 - v1)
            self.of.append((group, common.part_of(record['family']), 100 - np.mean(record['v1'])))
        self.x, self.at, self.y = np.array(rows), np.array(at), np.array(y)
        self.group, self.part, self.loss = map(np.array, zip(*self.of))

    def fit(self, rows):
        x, y = self.x[rows], self.y[rows]

        def error(factors):
            p = x @ factors
            # what is cut off still has a slope
            return (np.clip(p, 0, 100) + 0.02 * (p - np.clip(p, 0, 100)) - y) / np.sqrt(1 + y / 20)
        return optimize.least_squares(error, np.ones(x.shape[1]), loss='soft_l1', f_scale=8).x

    def predict(self, factors, rows=slice(None)):
        return np.clip(self.x[rows] @ factors, 0, 100)

    def left_out(self):
        """Predictions of each fold of groups by a fit to the others."""
        names, result = np.unique(self.group), np.empty(len(self.y))
        for i in range(min(FOLDS, len(names))):
            here = np.isin(self.group[self.at], names[i::FOLDS])
            result[here] = self.predict(self.fit(~here), here)
        return result


def sigma_of(predicted, error):
    """a + b loss, of the most likely normal errors."""
    def cost(p):
        s = np.maximum(p[0] + p[1] * predicted, 0.1)
        return np.mean(np.log(s) + error ** 2 / s ** 2 / 2)
    return optimize.minimize(cost, (2, 0.1), method='Nelder-Mead').x


def table(data, of_frames, sigma):
    """By encodes: the mean over their frames."""
    predicted = np.bincount(data.at, of_frames) / np.bincount(data.at)
    error = predicted - data.loss
    within = np.abs(error) <= sigma[0] + sigma[1] * predicted
    rows = [('all', data.part != '')] + [(p, data.part == p) for p in sorted(set(data.part))]
    return common.table(['', 'encodes', 'SROCC', 'RMSE', 'bias', 'within sigma'], *(
        [name, here.sum(), '%.3f' % fit.srocc(predicted[here], data.loss[here]),
         '%.1f' % fit.rmse(error[here], 0), '%+.1f' % error[here].mean(),
         '%.0f %%' % (100 * within[here].mean())] for name, here in rows))


def main():
    options = common.options('Fits detailloss to the records of label.py.',
                             'work', 'results', 'contents', 'held').parse_args()
    listed = contents.contents(options.contents)
    data = Detail(options.work, listed, 'choose')
    predicted = data.left_out()
    sigma = sigma_of(predicted, predicted - data.y)
    factors = data.fit(slice(None))
    report = ['detailloss: detail, its square, added, chroma, motion: '
              + ', '.join('%.4g' % f for f in factors), 'sigma: %.3g, %.3g' % tuple(sigma), '',
              '## Contents left out', '', table(data, predicted, sigma)]
    if options.held:
        held = Detail(options.work, listed, 'held')
        report += ['## Contents held back', '', table(held, held.predict(factors), sigma)]
    common.write(options.results, 'loss.md', report)


if __name__ == '__main__':
    main()
