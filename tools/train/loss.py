# Fits detailloss to the records of label.py: the factors of the five numbers that it measures of
# a frame. Writes them, and says what they are worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np
from scipy import optimize

import common
import fit

FOLDS = 11
MAX_MOTION = 18
# Beyond this, detail lost counts by the straight line that its square ends in.
MAX_SQUARE = 25


class Detail:
    """Frames in rows, and the encodes that they are of."""

    def __init__(self, folder, shots, held):
        rows, at, y, encodes = [], [], [], []
        for record, group in common.records(folder, shots, held):
            # the first frame has no motion
            for frame, v1 in list(zip(record['detail'], record['v1']))[1:]:
                lost = frame['detail']
                d = min(lost, MAX_SQUARE)
                rows.append([lost, d * (2 * lost - d) / 100, frame['added'],
                             frame.get('chroma') or 0, -min(frame['motion'], MAX_MOTION)])
                at.append(len(encodes))
                y.append(100 - v1)
            encodes.append((group, record['family'], 100 - np.mean(record['v1'])))
        self.x, self.at, self.y = np.array(rows), np.array(at), np.array(y)
        self.group, self.family, self.loss = map(np.array, zip(*encodes))

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

    def table(self, of_frames, sigma):
        """By encodes: the mean over their frames."""
        predicted, each = np.bincount(self.at, of_frames) / np.bincount(self.at), len(self.loss)
        return fit.table(np.arange(each), self.family, self.group, predicted, self.loss,
                         sigma[0] + sigma[1] * predicted, np.ones(each))


def sigma_of(predicted, error):
    """a + b loss, of the most likely normal errors."""
    def cost(p):
        s = np.maximum(p[0] + p[1] * predicted, 0.1)
        return np.mean(np.log(s) + error ** 2 / s ** 2 / 2)
    return optimize.minimize(cost, (2, 0.1), method='Nelder-Mead').x


def write(shots, options):
    data = Detail(options.work, shots, False)
    predicted, factors = data.left_out(), data.fit(slice(None))
    sigma = sigma_of(predicted, predicted - data.y)
    report = ['detailloss: detail, its square, added, chroma, motion: '
              + ', '.join('%.4g' % f for f in factors), 'sigma: %.3g, %.3g' % tuple(sigma), '',
              '## Contents left out', '', data.table(predicted, sigma)]
    if options.held:
        held = Detail(options.work, shots, True)
        report += ['## Contents held back', '', held.table(held.predict(factors), sigma)]
    common.write(options.results, 'loss.md', report)
