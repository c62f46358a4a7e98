# Fits the loss of VMAF that quantizer_metadata estimates to the records of label.py, and prints
# what the fit is worth for contents left out one at a time or held back, and the table of the C
# source.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np
from scipy import stats

import common

STRENGTH = 3.   # that draws a codec's terms to those of all


def fit(step, scale, codec, loss, weight):
    """The row of the table of each codec. Predictions are cut off at 0 and 100: what is beyond an
    end, and has its label there, has no error."""
    codecs = sorted(set(codec))
    terms = np.stack([step ** 0, step, step ** 2, scale, scale ** 2, step * scale], 1)
    x = np.hstack([terms, *(terms * (codec == name)[:, None] for name in codecs)])
    penalty = np.diag(np.r_[np.full(6, 1e-6), np.full(6 * len(codecs), STRENGTH)])
    counted = np.full(len(loss), True)
    for _ in range(100):
        xw = x[counted] * weight[counted, None]
        beta = np.linalg.solve(xw.T @ x[counted] + penalty, xw.T @ loss[counted])
        raw, before = x @ beta, counted
        counted = ~((loss <= 0) & (raw < 0) | (loss >= 100) & (raw > 100))
        if (before == counted).all():
            break
    rows = beta.reshape(-1, 6)
    return {name: rows[0] + own for name, own in zip(codecs, rows[1:])}


def estimate(rows, step, scale, codec):
    """As estimate_loss() does."""
    c = np.array([rows[name] for name in codec]).T
    step = np.maximum(step, -(c[1] + c[5] * scale) / (2 * c[2]))
    return np.clip(c[0] + step * (c[1] + step * c[2]) +
                   scale * (c[3] + scale * c[4] + step * c[5]), 0, 100)


def read(folder, shots, held):
    """Columns: what fit() takes, weighted so that each size counts the same, and groups."""
    rows = []
    for record, group in common.records(folder, shots, held):
        codec, part = record['family'].split('_', 1)
        last = (record['shown'] or record['features'])[-1]
        rows.append((last['coded.step'], max(last['coded.scale'], 0), codec,
                     100 - np.mean(record['v1']), part, group))
    *data, part, group = map(np.array, zip(*rows))
    weight = np.array([len(rows) / (part == name).sum() for name in part]) / len(set(part))
    return *data, weight, group


def say(what, guess, loss, group):
    print('// %s: %d encodes of %d groups, SROCC %.3f, RMSE %.1f, bias %+.1f' % (
        what, len(loss), len(set(group)), stats.spearmanr(guess, loss)[0],
        np.sqrt(np.mean((guess - loss) ** 2)), np.mean(guess - loss)))


def report(folder, shots):
    *data, group = read(folder, shots, False)
    loss, guess = data[3], np.empty(len(group))
    for left_out in set(group):
        here = group == left_out
        rows = fit(*(column[~here] for column in data))
        guess[here] = estimate(rows, *(column[here] for column in data[:3]))
    say('left out', guess, loss, group)
    rows = fit(*data)
    *held, group = read(folder, shots, True)
    say('held back', estimate(rows, *held[:3]), held[3], group)
    for name, row in rows.items():
        print('static const double %s_loss[] = { %s };' % (
            name, ', '.join('%.3f' % term for term in row)))
