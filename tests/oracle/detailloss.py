#!/usr/bin/env python3
# The detail loss in double precision, by the description in libavfilter/detailloss_wavelet.h, of
# the frames that a test leaves with KEEP=1, row by row:
#
#   make -C build/9.0-lean fate-detailloss-numbers KEEP=1
#   detailloss.py build/9.0-lean/tests/data/fate/detailloss-numbers.tmp tests/oracle/detailloss.csv > new.csv
#
# It prints the table with loss, detail, added, chroma (nan without any) and motion of each row's
# last frame. `whole` is the size of a picture that goes on without any detail where these frames
# end.
# SPDX-License-Identifier: LGPL-2.1-or-later
import math
import pathlib
import re
import sys

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

ROOT3 = math.sqrt(3)
LOW = np.array([1 + ROOT3, 3 + ROOT3, 3 - ROOT3, 1 - ROOT3]) / (4 * math.sqrt(2))
HIGH = LOW[::-1] * (1, -1, 1, -1)

# How well the eye sees detail, at a display of 2160 lines in the first four octaves and at one of
# 1080 in the last four: straight (horizontal and vertical), diagonal.
SEEN = [(.00226, .000479), (.01183, .004302), (.025026, .011778), (.04295, .023918), (.058621, .035901)]
UNSEEN = .02 ** (1 / 3)
CHROMA_NOISE = .05

# What was fitted last: of detail, its square / 100, added, chroma, detail without chroma, motion.
SOURCE = pathlib.Path(__file__).resolve().parents[2] / 'libavfilter/detailloss.c'
FACTORS = [float(f) for f in re.search(r'} factor = {(.*)}', SOURCE.read_text()).group(1).split(',')]


class Format:
    def __init__(self, name, is_full):
        kind, subsampling, depth = re.fullmatch(r'(gray|yuvj?(4\d\d)p)(\d*)(?:le)?', name).groups()
        self.depth = int(depth or 8)
        self.shifts = None if kind == 'gray' else {
            '410': (2, 2), '411': (2, 0), '420': (1, 1), '422': (1, 0), '440': (0, 1), '444': (0, 0)}[subsampling]
        # to steps of 8 bits in limited range
        self.luma = 2. ** (8 - self.depth) * (219 / 255 if is_full else 1)
        self.chroma = 2. ** (8 - self.depth) * (224 / 255 if is_full else 1)

    def frames(self, path, width, height):
        """Each a list of planes."""
        sizes = [(height, width)]
        if self.shifts:
            sizes += 2 * [(-(-height >> self.shifts[1]), -(-width >> self.shifts[0]))]
        ends = np.cumsum([h * w for h, w in sizes])
        samples = np.fromfile(path, 'u1' if self.depth == 8 else '<u2').astype(float)
        for frame in samples[:len(samples) // ends[-1] * ends[-1]].reshape(-1, ends[-1]):
            yield [plane.reshape(size) for plane, size in zip(np.split(frame, ends[:-1]), sizes)]


def halved(rows, taps):
    """Every other value of filtered rows: the second tap is at its first sample."""
    n = rows.shape[1]
    places = abs(np.arange(-1, n - 1, 2)[:, None] + np.arange(4))
    places = np.maximum(np.where(places < n, places, 2 * (n - 1) - places), 0)
    return rows[:, places] @ taps


def split(picture):
    """The next scale's picture, then horizontal, vertical and diagonal detail."""
    return [halved(halved(picture.T, vertical).T, horizontal)
            for vertical, horizontal in ((LOW, LOW), (HIGH, LOW), (LOW, HIGH), (HIGH, HIGH))]


def hidden_by(bands):
    """A fifteenth of each band's value at a place, and a thirtieth of each one around it."""
    sums = sum(bands)
    return (sums + sliding_window_view(np.pad(sums, 1, 'edge'), (3, 3)).sum((2, 3))) / 30


def cubes(band, hidden):
    """The sum, each rounded down to a multiple of 2^-16."""
    return np.floor(np.maximum(band - hidden, 0) ** 3 * 65536).sum() / 65536


def strengths(source, encode, octave, width, height):
    """Of the source, of what is kept of it, and of what was added."""
    total = np.zeros(3)
    for scale in range(4):
        source, *source_bands = split(source)
        encode, *encode_bands = split(encode)
        width, height = (width + 1) // 2, (height + 1) // 2
        parts = [], [], []
        for band, (s, e) in enumerate(zip(source_bands, encode_bands)):
            weight = SEEN[octave + scale][band == 2]
            # what has changed its sign is lost, and something else is there instead
            kept = np.where((s < 0) == (e < 0), np.minimum(abs(s), abs(e)), 0)
            for part, values in zip(parts, (abs(s), kept, abs(e) - kept)):
                part.append(values * weight)
        for i, hidden in enumerate((0, hidden_by(parts[2]), hidden_by(parts[1]))):
            horizontal, vertical, diagonal = (cubes(band, hidden) / (width * height) for band in parts[i])
            total[i] += 2 * ((horizontal + vertical) / 2) ** (1 / 3) + diagonal ** (1 / 3)
    unseen = 4 * 3 * UNSEEN
    return total + (unseen, unseen, 0)


def cell_sums(plane, w, h):
    rows, columns = plane.shape[0] // h, plane.shape[1] // w
    return plane[:rows * h, :columns * w].reshape(rows, h, columns, w).sum((1, 3))


def nb_blocks(nb_cells):
    return max(0, (nb_cells - 5) // 3 + 1)


def variances(cells):
    """Of blocks of 5x5 cells, every third one."""
    return sliding_window_view(cells, (5, 5))[::3, ::3].var((2, 3), ddof=1)


def chroma_change(source, encode, form, side, width, height):
    w, h = side >> form.shifts[0], side >> form.shifts[1]
    count = nb_blocks(-(-width >> form.shifts[0]) // w) * nb_blocks(-(-height >> form.shifts[1]) // h)
    if not count:
        return math.nan
    unit = (form.chroma / (w * h)) ** 2
    octaves = 0
    for planes in zip(source[1:], encode[1:]):
        s, e = (variances(cell_sums(plane, w, h)) * unit + CHROMA_NOISE for plane in planes)
        octaves += abs(np.log2(s / e)).sum()
    return octaves / (2 * count)


def source_motion(source, previous, form, width, height):
    difference = abs(cell_sums(source[0], 4, 4) - cell_sums(previous[0], 4, 4)).sum()
    return difference * form.luma / ((width // 4) * (height // 4) * 16)


def compare(source, encode, previous, form, width, height):
    is_large = min(width, height) >= 2160
    whole, kept, added = strengths(source[0] * form.luma, encode[0] * form.luma, 0 if is_large else 1, width, height)
    detail, added = 100 * (1 - kept / whole), 100 * added / whole
    chroma = math.nan
    if form.shifts:
        chroma = chroma_change(source, encode, form, 32 if is_large else 16, width, height)
    motion = source_motion(source, previous, form, width, height) if previous else 0
    # a parabola, then the straight line that it ends in
    curved = min(detail, 25)
    linear, square, of_added, of_chroma, of_gray, of_motion = FACTORS
    square /= 100
    loss = linear * curved + square * curved ** 2 + (detail - curved) * (linear + 2 * square * 25)
    loss += of_added * added + (of_gray * detail if math.isnan(chroma) else of_chroma * chroma)
    loss -= of_motion * min(motion, 18)
    return min(max(loss, 0), 100), detail, added, chroma, motion


def main(folder, table):
    with open(table) as file:
        rows = [line.strip().split(',')[:6] for line in file]
    print(*rows[0], 'loss,detail,added,chroma,motion', sep=',')
    for n, row in enumerate(rows[1:], 1):
        form = Format(row[1], row[3] == 'full')
        width, height = map(int, row[2].split('x'))
        whole_size = map(int, (row[5] or row[2]).split('x'))
        sources, encodes = (list(form.frames(f'{folder}/{n}.{name}', width, height)) for name in ('source', 'encode'))
        values = compare(sources[-1], encodes[-1], sources[-2], form, *whole_size)
        print(*row, *('%.6f' % v for v in values), sep=',')


main(*sys.argv[1:])
