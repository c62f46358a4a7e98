# The reduced-reference loss, as libavfilter/bliinds_loss.c has it: constants and figures.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np

import fit

BAND_COLUMNS = [fit.FEATURES.index(name) for name in fit.BANDS]

# Per level one band: low at full size, middle at half, high at a quarter: they lie close
# to each other in frequency, where what coding takes away tells most.
DROP = (fit.BANDS.index('L1.band1'), fit.BANDS.index('L2.band2'), fit.BANDS.index('L3.band3'))


def drop(source, encode):
    """Per frame, the mean energy that is gone in the three bands, in log2."""
    return np.maximum(0, source[:, DROP] - encode[:, DROP]).mean(1)


def noise(source, encode):
    """Per frame, the standard deviation of the white noise that was added: noise adds the
    same variance to the three bands of level 1. What is added unevenly, as by sharpening or
    contrast, is less by half of what the bands differ, and is none."""
    added = np.exp2(encode[:, :3]) - np.exp2(source[:, :3])
    least, most = added.min(1), added.max(1)
    return np.sqrt(np.maximum(0, least - (most - least) / 2))


def terms(data):
    """sqrt(drop) and noise of each record, meaned over its frames, and which have a source."""
    result = np.zeros((len(data.y), 2))
    source = data.sources()
    for i, s in enumerate(source):
        if s >= 0:
            n = min(len(data.frames[s]), len(data.frames[i]))
            pair = [data.frames[j][:n][:, BAND_COLUMNS] for j in (s, i)]
            result[i] = np.sqrt(drop(*pair)).mean(), noise(*pair).mean()
    is_source = data.is_family('source', 'source_10')
    return result, (source >= 0) & ~is_source


def fit_constants(x, y, weight, encodes, noisy):
    """Scale, offset and the factor of the noise. The last is fitted to noise alone, with
    the others held, so that it does not change what encodes get."""
    e = encodes
    offset, w = fit.ridge(x[e, :1], y[e], weight[e], 1e-6)
    rest = y[noisy] - np.maximum(0, offset + x[noisy, 0] * w[0])
    factor = (weight[noisy] * x[noisy, 1]) @ rest / ((weight[noisy] * x[noisy, 1]) @ x[noisy, 1]) \
        if noisy.any() else 0
    return w[0], offset, factor


def predict(x, constants):
    scale, offset, factor = constants
    return np.clip(offset + scale * x[:, 0] + factor * x[:, 1], 0, 100)


def left_out(x, data, weight, encodes, noisy):
    result = np.zeros(len(data.y))
    for g in np.unique(data.group):
        rest = data.group != g
        constants = fit_constants(x[rest], data.y[rest], weight[rest], encodes[rest], noisy[rest])
        result[~rest] = predict(x[~rest], constants)
    return result
