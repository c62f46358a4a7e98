#!/usr/bin/env python3
# The features and the score of pictures by another implementation, in double precision:
#   tests/oracle/reference.py models/NAME.txt picture.pgm... > tests/oracle/scores.csv
#   tests/oracle/reference.py motion picture.pgm... > tests/oracle/motion.csv
# The tests compare the filter with it. It shares nothing with libavfilter but the paper.
# SPDX-License-Identifier: LGPL-2.1-or-later
import os
import sys

import numpy as np
from scipy.special import gammaln

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools/train'))
import models  # noqa: E402

SIZE, STEP, EPSILON = 5, 3, 1e-7

# Positions in the 5x5 coefficients, row by row: bands of frequency and orientations.
LOW = [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]
HIGH = [(2, 4), (3, 3), (3, 4), (4, 2), (4, 3), (4, 4)]
MIDDLE = [at for at in np.ndindex(SIZE, SIZE) if at not in [(0, 0), *LOW, *HIGH]]
FLAT = [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 4)]
DIAGONAL = [(1, 1), (2, 2), (2, 3), (3, 2), (3, 3), (3, 4), (4, 3), (4, 4)]
STEEP = [(column, row) for row, column in FLAT]

GAMMA = 0.03 + 0.001 * np.arange(9971)
RATIO = np.exp(gammaln(1 / GAMMA) + gammaln(3 / GAMMA) - 2 * gammaln(2 / GAMMA))


def read_pgm(path):
    with open(path, 'rb') as file:
        magic, size, top, pixels = file.read().split(b'\n', 3)
    width, height = map(int, size.split())
    if magic != b'P5' or top != b'255':
        sys.exit('error: %s is not an 8-bit PGM without comments' % path)
    return np.frombuffer(pixels, np.uint8, width * height).reshape(height, width).astype(float)


def coefficients(image):
    """Of each block, by rows and columns of blocks: 25 coefficients of the 5x5 DCT."""
    k = np.arange(SIZE)
    basis = np.sqrt(np.where(k == 0, 1, 2) / SIZE)[:, None] * \
        np.cos(np.pi * k[:, None] * (2 * k + 1) / (2 * SIZE))
    height, width = (-(-side // STEP) for side in image.shape)
    padded = np.zeros((STEP * height + 2, STEP * width + 2))
    padded[1:1 + image.shape[0], 1:1 + image.shape[1]] = image
    blocks = np.lib.stride_tricks.sliding_window_view(padded, (SIZE, SIZE))[::STEP, ::STEP]
    return basis @ blocks @ basis.T


def variation(values):
    """Standard deviation over mean of the magnitudes."""
    size = np.abs(values)
    return size.std(-1, ddof=1) / (size.mean(-1) + EPSILON)


def take(c, positions):
    rows, columns = zip(*positions)
    return c[..., rows, columns]


def block_statistics(image):
    c = coefficients(image)
    ac = c.reshape(c.shape[:2] + (25,))[..., 1:]
    centred = ac - ac.mean(-1, keepdims=True)
    rho = ac.var(-1, ddof=1) / (np.abs(centred).mean(-1) ** 2 + EPSILON)
    j = np.searchsorted(-RATIO, -rho, side='right') - 1
    gamma = np.where((j >= 0) & (j < len(GAMMA) - 1), GAMMA[np.clip(j, 0, len(GAMMA) - 1)], 11)
    v1, v2, v3 = (take(c, band).var(-1, ddof=1) for band in (LOW, MIDDLE, HIGH))
    middle = (v1 + v2) / 2
    sub = (np.abs(v3 - middle) / (v3 + middle + 1e-8) + np.abs(v2 - v1) / (v3 + v1 + 1e-8)) / 2
    ori = np.stack([variation(take(c, o)) for o in (FLAT, DIAGONAL, STEEP)]).var(0, ddof=1)
    return {'zeta': variation(ac), 'gamma': gamma, 'sub': sub, 'ori': ori}, (v1, v2, v3)


def half(image):
    """The next level: a Gaussian of 3x3 and every other sample."""
    kernel = np.exp(-2.0 * np.arange(-1, 2) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(image, 1)
    rows = sum(kernel[i] * padded[i:i + image.shape[0]] for i in range(3))
    return sum(kernel[i] * rows[:, i:i + image.shape[1]] for i in range(3))[1::2, 1::2]


def straddles(count):
    """Which rows or columns of blocks lie across a line of the 8x8 grid."""
    first = (STEP * np.arange(count) - 1) % 8
    return first + SIZE > 8


def features(image):
    result = {}
    for level in models.LEVELS:
        statistics, bands = block_statistics(image)
        for name, values in statistics.items():
            values = np.sort(values, None)
            worst = -(-len(values) // 10)
            result['%s.%s100' % (level, name)] = values.mean()
            result['%s.%s10' % (level, name)] = \
                (values[:worst] if name == 'gamma' else values[-worst:]).mean()
        for i, band in enumerate(bands):
            result['%s.band%d' % (level, i + 1)] = np.log2(band.mean() + 0.1)
        if level == 'L1':
            rows, columns = bands[0].shape
            on = straddles(rows)[:, None] | straddles(columns)[None, :]
            for i, band in enumerate(bands):
                result['L1.phase%d' % (i + 1)] = np.log2(band[on].mean() + 0.1) - \
                    np.log2(band[~on].mean() + 0.1)
            for name, values in statistics.items():
                result['phase.' + name] = values[on].mean() - values[~on].mean()
        image = half(image)
    return result


def motion(before, image):
    d = half(half(image)) - half(half(before))
    return np.log2(np.abs(d).mean() + 0.1), np.log2((d ** 2).mean() + 0.1)


def evaluate(model, values):
    """The raw score."""
    def weighted(weights):
        return sum(float(weight[0]) * values[name] for name, weight in weights.items())

    raw = float(model['constant'][0]) + weighted(model['weight'])
    for out, constant, weights in model['unit']:
        z = float(constant) + weighted(weights)
        raw += float(out) * z / (1 + abs(z))
    if model['link'] == ['logistic']:
        low, high = map(float, model['range'])
        raw = low + (high - low) / (1 + np.exp(-raw))
    return raw


def main(path, *pictures):
    if path == 'motion':
        print('image,filter,motion.mean,motion.energy')
        for picture in pictures:
            image = read_pgm(picture)
            print('%s,hflip,%.9f,%.9f' % (os.path.splitext(os.path.basename(picture))[0],
                                          *motion(image, image[:, ::-1])))
        return
    model = next(model for model in models.read(path) if not models.is_coded(model))
    print('image,filter,raw')
    for picture in pictures:
        name = os.path.splitext(os.path.basename(picture))[0]
        print('%s,,%.9f' % (name, evaluate(model, features(read_pgm(picture)))))


if __name__ == '__main__':
    main(*sys.argv[1:])
