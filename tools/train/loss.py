#!/usr/bin/env python3
# Fits the loss of VMAF that quantizer_metadata estimates: loss.py RECORDS [HELD], encodes in JSON,
# one a line: "content", "codec", "step" (the last lavc.quantizer.gop_step), rows "coded" and shown
# ("height"), "vmaf" of its frames by model 1d5h_2160. Prints what the fit is worth for contents
# left out one at a time or held back, and the table of the C source.
# SPDX-License-Identifier: LGPL-2.1-or-later
import json
import sys

import numpy as np
from scipy import stats

TERMS = 6
STRENGTH = 3.   # that draws a codec's own constant and slope by the step to those of all


def fit(step, scale, codec, loss, weight):
    """The row of the table of each codec. Predictions are cut off at 0 and 100: what is beyond an
    end, and has its label there, has no error."""
    codecs, one = sorted(set(codec)), np.ones_like(step)
    own = [(codec == name) * term for name in codecs for term in (one, step)]
    x = np.stack([one, step, step ** 2, scale, scale ** 2, step * scale, *own], 1)
    penalty = np.diag(np.r_[np.full(TERMS, 1e-6), np.full(len(own), STRENGTH)])
    counted = np.full(len(loss), True)
    for _ in range(100):
        xw = x[counted] * weight[counted, None]
        beta = np.linalg.solve(xw.T @ x[counted] + penalty, xw.T @ loss[counted])
        raw, before = x @ beta, counted
        counted = ~((loss <= 0) & (raw < 0) | (loss >= 100) & (raw > 100))
        if (before == counted).all():
            break
    return {name: beta[:TERMS] + np.r_[beta[TERMS + 2 * i:][:2], np.zeros(4)]
            for i, name in enumerate(codecs)}


def estimate(rows, step, scale, codec):
    """As estimate_loss() does."""
    c = np.array([rows[name] for name in codec]).T
    step = np.maximum(step, -(c[1] + c[5] * scale) / (2 * c[2]))
    return np.clip(c[0] + step * (c[1] + step * c[2]) +
                   scale * (c[3] + scale * c[4] + step * c[5]), 0, 100)


def read(path):
    """Columns: what fit() takes, with weights by which contents count the same, and contents."""
    with open(path) as file:
        records = [json.loads(line) for line in file]
    content = np.array([r['content'] for r in records])
    return (np.array([r['step'] for r in records]),
            np.log2([r['height'] / r['coded'] for r in records]),
            np.array([r['codec'].removesuffix('video').replace('mpeg1', 'mpeg2') for r in records]),
            np.array([100 - np.mean(r['vmaf']) for r in records]),
            np.array([len(records) / (content == c).sum() for c in content]) / len(set(content)),
            content)


def say(what, guess, loss, content):
    print('// %s: %d encodes of %d contents, SROCC %.3f, RMSE %.1f, bias %+.1f' % (
        what, len(loss), len(set(content)), stats.spearmanr(guess, loss)[0],
        np.sqrt(np.mean((guess - loss) ** 2)), np.mean(guess - loss)))


def main():
    *data, content = read(sys.argv[1])
    loss, guess = data[3], np.empty(len(content))
    for left_out in set(content):
        here = content == left_out
        rows = fit(*(column[~here] for column in data))
        guess[here] = estimate(rows, *(column[here] for column in data[:3]))
    say('left out', guess, loss, content)
    rows = fit(*data)
    for path in sys.argv[2:]:
        *held, content = read(path)
        say('held back', estimate(rows, *held[:3]), held[3], content)
    for name, row in rows.items():
        print('static const double %s_loss[] = { %s };' % (
            name, ', '.join('%.3f' % term for term in row)))


main()
