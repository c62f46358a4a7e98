#!/usr/bin/env python3
# The detail loss in double precision, by the description in libavfilter/detailloss_wavelet.h, to
# compare the filter's numbers with:
#
#   detailloss_reference.py ENCODE SOURCE FORMAT WIDTHxHEIGHT [limited|full [WIDTHxHEIGHT]]
#
# Both files are raw frames in a planar FORMAT of FFmpeg's, as gray, yuv420p or yuv422p10le. A
# line for each frame has loss, detail, added, chroma (nan without any) and motion. The second
# size is that of a picture which goes on without any detail where these frames end.
# SPDX-License-Identifier: LGPL-2.1-or-later
import array
import math
import pathlib
import re
import sys

ROOT3 = math.sqrt(3)
LOW = [(1 + ROOT3) / (4 * math.sqrt(2)), (3 + ROOT3) / (4 * math.sqrt(2)),
       (3 - ROOT3) / (4 * math.sqrt(2)), (1 - ROOT3) / (4 * math.sqrt(2))]
HIGH = [LOW[3], -LOW[2], LOW[1], -LOW[0]]

# How well the eye sees detail, at a display of 2160 lines in the first four octaves and at one of
# 1080 in the last four: straight (horizontal and vertical), diagonal.
SEEN = [(.00226, .000479), (.01183, .004302), (.025026, .011778), (.04295, .023918), (.058621, .035901)]
UNSEEN = .02 ** (1 / 3)
CHROMA_NOISE = .05

# What was fitted last: of detail, its square / 100, added, chroma, detail without chroma, motion.
SOURCE = pathlib.Path(__file__).resolve().parents[1] / 'libavfilter/detailloss.c'
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

    def frames(self, file, width, height):
        """Each a list of planes, these lists of rows of integers."""
        sizes = [(width, height)]
        if self.shifts:
            sizes += 2 * [(-(-width >> self.shifts[0]), -(-height >> self.shifts[1]))]
        while True:
            planes = []
            for w, h in sizes:
                samples = array.array('B' if self.depth == 8 else 'H')
                samples.frombytes(file.read(w * h * samples.itemsize))
                if len(samples) < w * h:
                    return
                planes.append([samples[y * w:(y + 1) * w].tolist() for y in range(h)])
            yield planes


def halve(row, taps):
    """Every other value of a filtered row: the second tap is at its first sample."""
    n = len(row)
    out = []
    for first in range(-1, n - 1, 2):
        places = [abs(i) for i in range(first, first + 4)]
        places = [i if i < n else 2 * (n - 1) - i for i in places]
        out.append(sum(t * row[max(i, 0)] for t, i in zip(taps, places)))
    return out


def transposed(rows):
    return [list(column) for column in zip(*rows)]


def split(picture):
    """The next scale's picture, then horizontal, vertical and diagonal detail."""
    columns = transposed(picture)
    bands = []
    for vertical, horizontal in ((LOW, LOW), (HIGH, LOW), (LOW, HIGH), (HIGH, HIGH)):
        rows = transposed([halve(column, vertical) for column in columns])
        bands.append([halve(row, horizontal) for row in rows])
    return bands


def hidden_by(bands):
    """A fifteenth of each band's value at a place, and a thirtieth of each one around it."""
    sums = [[sum(values) for values in zip(*rows)] for rows in zip(*bands)]
    h, w = len(sums), len(sums[0])
    return [[(sums[y][x] + sum(sums[min(max(j, 0), h - 1)][min(max(i, 0), w - 1)]
                               for j in range(y - 1, y + 2) for i in range(x - 1, x + 2))) / 30
             for x in range(w)] for y in range(h)]


def cubes(band, hidden=None):
    """The sum, each rounded down to a multiple of 2^-16."""
    total = 0
    for y, row in enumerate(band):
        for x, value in enumerate(row):
            left = value - hidden[y][x] if hidden else value
            if left > 0:
                total += int(left ** 3 * 65536)
    return total / 65536


def strengths(source, encode, octave, width, height):
    """Of the source, of what is kept of it, and of what was added."""
    total = [0, 0, 0]
    for scale in range(4):
        source, *source_bands = split(source)
        encode, *encode_bands = split(encode)
        width, height = (width + 1) // 2, (height + 1) // 2
        parts = [[], [], []]
        for band in range(3):
            weight = SEEN[octave + scale][band == 2]
            rows = [[], [], []]
            for source_row, encode_row in zip(source_bands[band], encode_bands[band]):
                for part in rows:
                    part.append([])
                for s, e in zip(source_row, encode_row):
                    # what has changed its sign is lost, and something else is there instead
                    kept = min(abs(s), abs(e)) if (s < 0) == (e < 0) else 0
                    rows[0][-1].append(abs(s) * weight)
                    rows[1][-1].append(kept * weight)
                    rows[2][-1].append((abs(e) - kept) * weight)
            for part, part_rows in zip(parts, rows):
                part.append(part_rows)
        hidden = [None, hidden_by(parts[2]), hidden_by(parts[1])]
        for i, part in enumerate(parts):
            straight = cubes(part[0], hidden[i]) + cubes(part[1], hidden[i])
            diagonal = cubes(part[2], hidden[i])
            total[i] += 2 * ((straight / (2 * width * height)) ** (1 / 3)) + (diagonal / (width * height)) ** (1 / 3)
    unseen = 4 * 3 * UNSEEN
    return total[0] + unseen, total[1] + unseen, total[2]


def cell_sums(plane, w, h):
    return [[sum(sum(row[x:x + w]) for row in plane[y:y + h]) for x in range(0, len(plane[0]) - w + 1, w)]
            for y in range(0, len(plane) - h + 1, h)]


def nb_blocks(nb_cells):
    return max(0, (nb_cells - 5) // 3 + 1)


def variances(cells):
    """Of blocks of 5x5 cells, every third one."""
    for y in range(nb_blocks(len(cells))):
        for x in range(nb_blocks(len(cells[0]))):
            values = [v for row in cells[3 * y:3 * y + 5] for v in row[3 * x:3 * x + 5]]
            mean = sum(values) / 25
            yield sum((v - mean) ** 2 for v in values) / 24


def chroma_change(source, encode, form, side, width, height):
    w, h = side >> form.shifts[0], side >> form.shifts[1]
    count = nb_blocks(-(-width >> form.shifts[0]) // w) * nb_blocks(-(-height >> form.shifts[1]) // h)
    unit = (form.chroma / (w * h)) ** 2
    octaves = 0
    for plane in 1, 2:
        for s, e in zip(variances(cell_sums(source[plane], w, h)), variances(cell_sums(encode[plane], w, h))):
            octaves += abs(math.log2((s * unit + CHROMA_NOISE) / (e * unit + CHROMA_NOISE)))
    return octaves / (2 * count) if count else math.nan


def source_motion(source, previous, form, width, height):
    difference = sum(abs(a - b) for rows in zip(cell_sums(source[0], 4, 4), cell_sums(previous[0], 4, 4))
                     for a, b in zip(*rows))
    return difference * form.luma / ((width // 4) * (height // 4) * 16)


def compare(source, encode, previous, form, width, height):
    is_large = min(width, height) >= 2160
    def luma(planes):
        return [[v * form.luma for v in row] for row in planes[0]]
    whole, kept, added = strengths(luma(source), luma(encode), 0 if is_large else 1, width, height)
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


def main(encode_file, source_file, name, size, color_range='limited', whole_size=None):
    form = Format(name, color_range == 'full')
    width, height = map(int, size.split('x'))
    whole_width, whole_height = map(int, (whole_size or size).split('x'))
    previous = None
    with open(encode_file, 'rb') as encodes, open(source_file, 'rb') as sources:
        for encode, source in zip(form.frames(encodes, width, height), form.frames(sources, width, height)):
            print(*('%.6f' % v for v in compare(source, encode, previous, form, whole_width, whole_height)))
            previous = source


main(*sys.argv[1:])
