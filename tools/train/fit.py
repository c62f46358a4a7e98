# Ridge regression of a logistic curve, and what is judged by.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np
from scipy import stats

def spread(x, weight):
    """Mean and standard deviation; 1 for a feature that is the same everywhere."""
    mean = weight @ x
    std = np.sqrt(weight @ (x - mean) ** 2)
    return mean, np.where(std > 1e-9, std + 1e-12, 1)


def ridge(x, y, weight, strength):
    """Constant and weights that minimise the squared error plus the sum of strength * w^2,
    for features of unit variance."""
    weight = weight / weight.sum()
    target = weight @ y
    mean, std = spread(x, weight)
    z = (x - mean) / std
    a = z.T @ (z * weight[:, None]) + strength * np.eye(x.shape[1])
    w = np.linalg.solve(a, z.T @ (weight * (y - target))) / std
    return target - mean @ w, w


def logistic(x, y, weight, strength):
    """The same where the sum is the logarithm of y / (100 - y): by Newton's method, from a
    ridge regression of that."""
    def curve(t):
        return 100 / (1 + np.exp(-t))

    constant, w = ridge(x, np.log(np.clip(y, 2, 98) / (100 - np.clip(y, 2, 98))), weight, strength)
    weight = weight / weight.sum()
    mean, std = spread(x, weight)
    z = np.c_[np.ones(len(x)), (x - mean) / std]
    beta = np.r_[constant + mean @ w, w * std]
    for _ in range(50):
        p = curve(z @ beta)
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


def srocc(a, b):
    return stats.spearmanr(a, b)[0] if len(a) > 2 and np.ptp(a) and np.ptp(b) else np.nan


def rmse(a, b):
    return np.sqrt(np.mean((a - b) ** 2))
