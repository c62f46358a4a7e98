# Records to numbers: ridge regression, leaving one content out, and what is judged by.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import json

import numpy as np
from scipy import stats

LEVELS = ('L1', 'L2', 'L3')
STATISTICS = [level + '.' + name for level in LEVELS
              for name in ('zeta100', 'zeta10', 'gamma100', 'gamma10',
                           'sub100', 'sub10', 'ori100', 'ori10')]
BANDS, BAND_PHASES, QUIET, EMPTY = (
    ['%s.%s%d' % (level, name, band) for level in LEVELS for band in (1, 2, 3)]
    for name in ('band', 'phase', 'quiet', 'empty'))
PHASES = ['phase.' + name for name in ('zeta', 'gamma', 'sub', 'ori')]
FEATURES = STATISTICS + BANDS + BAND_PHASES + QUIET + EMPTY + PHASES

# The 64 features to those that the fit sees; symmetric, so it also turns the weights
# of these into weights of the features.
CENTRE = np.eye(len(FEATURES))
for _level in range(len(LEVELS)):
    _at = len(STATISTICS) + 3 * _level
    CENTRE[_at:_at + 3, _at:_at + 3] -= 1 / 3

# The bands tell blur, but in encodes they tell content rather than damage: their weights
# are held back ten times as much as others.
PENALTY = np.where([name in BANDS for name in FEATURES], 10, 1)


class Data:
    """Records in columns: x[n, 64] is the mean over the frames, frames[n] has each of them."""

    def __init__(self, records):
        records = [r for r in records if r['frames'] and all(f['valid'] for f in r['frames'])]
        records.sort(key=lambda r: (r['content'], r['family'], r['value'] or 0))
        self.records = records
        self.frames = [np.array([[frame[name] for name in FEATURES] for frame in r['frames']])
                       for r in records]
        self.x = np.array([f.mean(0) for f in self.frames])
        self.y = np.array([r['label'] for r in records])
        self.value = np.array([r['value'] or 0 for r in records], float)
        self.ssim = np.array([r['ssim'] for r in records])
        self.psnr = np.array([min(r['psnr'] or 100, 100) for r in records])
        self.size = np.array([(r['width'], r['height']) for r in records])
        for name in ('content', 'group', 'family', 'kind'):
            setattr(self, name, np.array([r[name] for r in records]))
        self.ten_bit = np.array([f.endswith('_10') for f in self.family])

    def design(self):
        """The features with the bands less the mean of their level: how the energy is spread
        over frequencies, and not the contrast, which a fade changes."""
        return self.x @ CENTRE

    def digest(self):
        """What tells if two fits are of the same measurements."""
        text = json.dumps(self.records, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def is_family(self, *names):
        return np.isin(self.family, names)

    def sources(self):
        """For each record, the index of its source's record, or -1."""
        at = {(c, f): i for i, (c, f) in enumerate(zip(self.content, self.family))
              if f in ('source', 'source_10')}
        return np.array([at.get((c, 'source_10' if t else 'source'), -1)
                         for c, t in zip(self.content, self.ten_bit)])


def ridge(x, y, weight, strength):
    """Constant and weights that minimise the squared error plus the sum of strength * w^2,
    for features of unit variance; one strength for all, or one for each."""
    weight = weight / weight.sum()
    mean, target = weight @ x, weight @ y
    std = np.sqrt(weight @ (x - mean) ** 2) + 1e-12
    z = (x - mean) / std
    a = z.T @ (z * weight[:, None]) + strength * np.eye(x.shape[1])
    w = np.linalg.solve(a, z.T @ (weight * (y - target))) / std
    return target - mean @ w, w


def left_out(x, y, weight, group, strength, train=None):
    """Predictions of each group by a fit to the others; train says what may be fitted to."""
    train = np.ones(len(y), bool) if train is None else train
    result = np.empty(len(y))
    for g in np.unique(group):
        rest = train & (group != g)
        constant, w = ridge(x[rest], y[rest], weight[rest], strength)
        result[group == g] = constant + x[group == g] @ w
    return result


def balance(data, of):
    """Weights with which each value of a column, within each kind, counts the same."""
    weight = np.zeros(len(of))
    for kind in np.unique(data.kind):
        here = data.kind == kind
        for value in np.unique(of[here]):
            mine = here & (of == value)
            weight[mine] = 1 / mine.sum() / len(np.unique(of[here]))
    return weight


def srocc(a, b):
    return stats.spearmanr(a, b)[0] if len(a) > 2 and np.ptp(a) and np.ptp(b) else np.nan


def plcc(a, b):
    return np.corrcoef(a, b)[0, 1] if len(a) > 2 and np.ptp(a) and np.ptp(b) else np.nan


def rmse(a, b):
    return np.sqrt(np.mean((a - b) ** 2))


def interval(statistic, group, repeats=500, seed=1):
    """95 % bootstrap interval of statistic(indices), drawing whole groups."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(group == g) for g in np.unique(group)]
    values = []
    for _ in range(repeats):
        drawn = rng.integers(len(members), size=len(members))
        values.append(statistic(np.concatenate([members[i] for i in drawn])))
    known = [v for v in values if not np.isnan(v)]
    return tuple(np.percentile(known, (2.5, 97.5))) if known else (np.nan, np.nan)


def ladders(data, families, kind='video'):
    """Indices of each content's encodes by one encoder, by falling quality."""
    for content in np.unique(data.content[data.kind == kind]):
        for family in families:
            here = np.flatnonzero((data.content == content) & (data.family == family))
            if len(here) >= 3:
                yield here[np.argsort(data.value[here])]


def ladder_ranks(data, prediction, families):
    """Rank correlation of prediction and CRF within each ladder."""
    return np.array([srocc(prediction[at], data.value[at]) for at in ladders(data, families)])


def falling(curve):
    """The damage over CRF, made strictly monotone."""
    return np.maximum.accumulate(curve) + 1e-9 * np.arange(len(curve))


def crf_errors(data, prediction, quality, family='x264'):
    """How far from a quality one ends, in points of the label, when the CRF is chosen by a
    prediction of the damage: a number for each ladder that has this quality in it."""
    errors = []
    for at in ladders(data, [family]):
        crf, truth = data.value[at], falling(data.y[at])
        if truth[0] <= 100 - quality <= truth[-1]:
            chosen = np.interp(100 - quality, falling(prediction[at]), crf)
            errors.append(abs(np.interp(chosen, crf, truth) - (100 - quality)))
    return np.array(errors)


def constant_crf_errors(data, quality, family='x264'):
    """The same with one CRF for all, the best one for the other groups."""
    found = []
    for at in ladders(data, [family]):
        crf, truth = data.value[at], falling(data.y[at])
        if truth[0] <= 100 - quality <= truth[-1]:
            found.append((data.group[at[0]], crf, truth,
                          np.interp(100 - quality, truth, crf)))
    errors = []
    for group, crf, truth, _ in found:
        others = [best for g, _, _, best in found if g != group]
        if others:
            errors.append(abs(np.interp(np.median(others), crf, truth) - (100 - quality)))
    return np.array(errors)


def mapped(data, prediction, train=None):
    """A monotone cubic from a metric to the label, fitted with each group left out."""
    train = np.ones(len(data.y), bool) if train is None else train
    low, high = np.percentile(prediction, (0, 100))
    t = (prediction - low) / (high - low)
    x = np.stack([t, t ** 2, t ** 3, np.sqrt(np.clip(t, 0, 1))], 1)
    return left_out(x, data.y, np.ones(len(t)), data.group, 1e-6, train)
