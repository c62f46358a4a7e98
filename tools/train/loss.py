# The reduced-reference loss, as libavfilter/bliinds_loss.c has it: constants and figures.
# SPDX-License-Identifier: LGPL-2.1-or-later
import numpy as np
from scipy import optimize

import fit

BAND_COLUMNS = [fit.FEATURES.index(name) for name in fit.BANDS]
PHASE_COLUMNS = [fit.FEATURES.index(name) for name in fit.BAND_PHASES]

# A still is not what the loss is for, but tells of contents that the clips have not.
PHOTO_WEIGHT = 0.25

# Bands of the three drops. The main ones, low at full size, middle at half and high at a
# quarter, lie close to each other in frequency, where what coding takes away tells most.
MAIN = [fit.BANDS.index(name) for name in ('L1.band1', 'L2.band2', 'L3.band3')]
LOW = [fit.BANDS.index(level + '.band1') for level in fit.LEVELS]
HIGH = [fit.BANDS.index(level + '.band3') for level in fit.LEVELS]

KNEE = 0.015    # of log2, below which a drop tells little


def share_clear(width, height):
    """The share of blocks that are clear of the 8x8 grid: along a side, four of eight."""
    counts = [-(-side // 3) for side in (width, height)]
    clear = [sum((3 * b - 1) % 8 <= 3 for b in range(count)) for count in counts]
    return clear[0] * clear[1] / (counts[0] * counts[1])


def energies(frames, width, height):
    """Per frame, the nine energies that are compared: of all blocks of level 1, and of those
    of levels 2 and 3 that are clear of their grid, which band and phase tell."""
    result = frames[:, BAND_COLUMNS].copy()
    for level in (1, 2):
        clear = share_clear(width >> level, height >> level)
        at = slice(3 * level, 3 * level + 3)
        phase = frames[:, PHASE_COLUMNS][:, at]
        result[:, at] -= np.log2(clear + (1 - clear) * np.exp2(phase))
    return result


def root(drop):
    """A square root whose slope is finite at 0."""
    return np.sqrt(drop + KNEE) - np.sqrt(KNEE)


def drops(source, encode):
    """Per frame, what the drops of energy in the bands tell. The main drop counts for more
    the softer the source is, that is, the steeper its energy falls with frequency."""
    drop = np.maximum(0, source - encode)
    soft = np.maximum(0, source[:, LOW[2]] - source[:, HIGH[2]])
    return np.stack([soft * root(drop[:, MAIN].mean(1)), root(drop[:, LOW].mean(1)),
                     root(drop[:, HIGH].mean(1))], 1)


def noise(source, encode):
    """Per frame, the standard deviation of the white noise that was added: noise adds the
    same variance to the three bands of level 1. What is added unevenly, as by sharpening or
    contrast, is less by half of what the bands differ, and is none."""
    added = np.exp2(encode[:, :3]) - np.exp2(source[:, :3])
    least, most = added.min(1), added.max(1)
    return np.sqrt(np.maximum(0, least - (most - least) / 2))


def terms(data):
    """Drops and noise of each record, meaned over its frames, and which have a source."""
    result = np.zeros((len(data.y), 4))
    source = data.sources()
    for i, s in enumerate(source):
        if s >= 0:
            n = min(len(data.frames[s]), len(data.frames[i]))
            pair = [energies(data.frames[j][:n], *data.size[j]) for j in (s, i)]
            result[i] = [*drops(*pair).mean(0), noise(*pair).mean()]
    is_source = data.is_family('source', 'source_10')
    return result, (source >= 0) & ~is_source


def fit_constants(x, y, weight, encodes, noisy):
    """Factors of the drops and of the noise. The first are not below 0, so that no loss of
    energy reads as a gain. The last is fitted to noise alone, with the others held, so that
    it does not change what encodes get."""
    root_weight = np.sqrt(weight[encodes])
    factors, _ = optimize.nnls(x[encodes, :3] * root_weight[:, None], y[encodes] * root_weight)
    added = x[noisy, 3]
    rest = y[noisy] - x[noisy, :3] @ factors
    factor = (weight[noisy] * added) @ rest / ((weight[noisy] * added) @ added) if noisy.any() else 0
    return np.array([*factors, factor])


def predict(x, constants):
    return np.clip(x @ constants, 0, 100)


def left_out(x, data, weight, encodes, noisy):
    result = np.zeros(len(data.y))
    for g in np.unique(data.group):
        rest = data.group != g
        constants = fit_constants(x[rest], data.y[rest], weight[rest], encodes[rest], noisy[rest])
        result[~rest] = predict(x[~rest], constants)
    return result
