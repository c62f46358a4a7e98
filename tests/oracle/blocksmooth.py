#!/usr/bin/env python3
# Independent implementation of blocksmooth, by the formulas and the order of the passes in Fulvio
# Castello, "N.V.I.D.I.A. - Neat Video Interleaved Deblocking Integer Algorithm", report, GPU
# Programming 2022/2023. It reads the samples that a test leaves with KEEP=1:
#
#   make -C build/9.0-lean fate-blocksmooth-numbers KEEP=1
#   blocksmooth.py build/9.0-lean/tests/data/fate/blocksmooth-numbers.tmp tests/oracle/blocksmooth.csv > new.csv
#
# Prints the table with the MD5 of each smoothed picture.
# SPDX-License-Identifier: LGPL-2.1-or-later
import array
import hashlib
import sys


def smooth(line, depth, qf, size):
    """Smooth the edges of a line of samples in place."""
    unit = 2 ** (depth - 8)

    def add(i, change):
        line[i] = min(max(line[i] + change, 0), 2 ** depth - 1)

    for e in range(size, len(line) - 2, size):
        step = line[e] - line[e - 1]
        if abs(line[e - 2] - line[e - 1]) < 5 * unit and abs(line[e] - line[e + 1]) < 5 * unit:
            parts = (2, 4, 8) if abs(step) < 2 * qf * unit else ()
        else:
            parts = (2, 8) if abs(step) * 5 < 4 * qf * unit else ()
        for i, divisor in enumerate(parts):
            part = int(step / divisor)      # rounded towards zero
            add(e - 1 - i, part)
            add(e + i, -part)


def smoothed(samples, width, depth, qf, size):
    """Return the samples of a smoothed picture."""
    # "first, all the horizontal block edges are corrected": each column crosses them
    columns = [list(samples[i::width]) for i in range(width)]
    for column in columns:
        smooth(column, depth, qf, size)
    lines = [list(line) for line in zip(*columns)]
    for line in lines:
        smooth(line, depth, qf, size)
    return [sample for line in lines for sample in line]


def main(folder, table):
    with open(table) as file:
        head, *rows = (line.rstrip('\n').split(',', 6) for line in file)
    print(*head, sep=',')
    for n, row in enumerate(rows, 1):
        width, _, depth, qf, size = map(int, row[:5])
        kind = 'B' if depth == 8 else 'H'
        with open(f'{folder}/{n}.source', 'rb') as file:
            result = smoothed(array.array(kind, file.read()), width, depth, qf, size)
        row[5] = hashlib.md5(array.array(kind, result)).hexdigest()
        print(*row, sep=',')


main(*sys.argv[1:])
