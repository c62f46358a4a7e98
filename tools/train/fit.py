# Regression of a logistic curve, and what is judged by.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np
from scipy import stats

import common


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
