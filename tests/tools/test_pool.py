"""What the filters pool without keeping the values, and what quality_logs.py pools, against what is
computed of all values in the plain way: percentiles within the stated resolution, the rest in each bit.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import math
import os
import random
import statistics
import subprocess

import pytest
from common import FFMPEG
import quality_logs

PROGRAM = os.path.join(os.path.dirname(FFMPEG), 'libavfilter/tests/score_pool')
LENGTHS = [1, 2, 3, 4, 5, 16, 47, 48, 49, 96, 1000, 5000]
DIRECTIONS = [None, 'lower', 'higher']
random.seed(1)
even = random.random


def edges(_):
    edge = math.ldexp(1 + random.randrange(1024) / 1024, random.randrange(-4, 4))
    return random.choice([edge, math.nextafter(edge, math.inf), math.nextafter(edge, -math.inf)])


SOURCES = {
    'scores': lambda i: 100 * even(), 'steps': lambda i: random.randrange(21) * .5, 'equal': lambda i: 41.7,
    'one other': lambda i: -7.3 if i == 3 else 41.7, 'zeros': lambda i: 0. if i % 2 else -0.,
    'both signs': lambda i: even() - .5, 'slow': lambda i: 30 + 10 * math.sin(i / 500) + even() * .001,
    'rising': lambda i: i * .01, 'falling': lambda i: -i * .01, 'minus one': lambda i: i % 9 - 1.,
    'close': lambda i: 64 + even() * .01, 'lopsided': lambda i: 64. if i % 10 else 64.2,
    'octaves': lambda i: math.ldexp(even() - .5, random.randrange(-29, 31)), 'edges': edges,
    'tiny': lambda i: math.ldexp(even() - .5, -40 - i % 900), 'huge': lambda i: math.ldexp(even() - .5, 40 + i % 900),
}


def plain_error(values):
    """By the formula for each length of batches."""
    largest = None
    for size in (1 << i for i in range(40)):
        if len(values) // size < 4:
            return largest and math.sqrt(largest)
        means = [math.fsum(values[i:i + size]) / size for i in range(0, len(values) // size * size, size)]
        largest = max(largest or 0, statistics.variance(means) * size / len(values))
    return None


def close_to(value, expected, scale):
    return value == expected or abs(value - expected) <= 1e-9 * scale


@pytest.mark.parametrize('name', SOURCES)
def test_plain(name):
    for length in LENGTHS:
        values = [SOURCES[name](i) for i in range(length)]
        ordered, size = sorted(values), min(48, length)
        scale = max(map(abs, values))
        for better in DIRECTIONS:
            pool = quality_logs.pool([(value, 7 + 2 * i) for i, value in enumerate(values)], better)
            assert (pool['min'], pool['max']) == (ordered[0], ordered[-1])
            assert close_to(pool['mean'], math.fsum(values) / length, scale)
            assert (pool['harmonic_mean'] is None) == (ordered[0] <= -1)
            if ordered[0] > -1:
                inverse = math.fsum(1 / (value + 1) for value in values)
                assert close_to(pool['harmonic_mean'], length / inverse - 1, max(scale, 1))
            error = plain_error(values) if name != 'huge' else None
            assert (pool['standard_error'] is None) == (length < 4)
            if error is not None:
                assert close_to(pool['standard_error'], error, scale)
            if better:
                sums = [math.fsum(values[i:i + size]) for i in range(length - size + 1)]
                worst = max(sums) if better == 'lower' else min(sums)
                place = (pool['worst_window_frame'] - 7) // 2
                assert close_to(pool['worst_window'], worst / size, scale)
                assert close_to(sums[place], worst, 48 * scale)
            else:
                assert pool['worst_window'] is None and pool['worst_window_frame'] is None
            for p in quality_logs.PERCENTILES:
                rank = (length - 1) * p / 100
                low, high = ordered[int(rank)], ordered[min(int(rank) + 1, length - 1)]
                limit = max(max(abs(low), abs(high)) * 2 ** -10, 2 ** -32)
                assert ordered[0] <= pool[f'p{p}'] <= ordered[-1]
                if name != 'huge':
                    assert abs(pool[f'p{p}'] - (low + (high - low) * (rank - int(rank)))) <= limit
                if length <= 2 or ordered[0] == ordered[-1]:    # exact, where values are few or the same
                    assert close_to(pool[f'p{p}'], low + (high - low) * (rank - int(rank)), 1e-3 * scale)


@pytest.mark.skipif(not os.path.exists(PROGRAM), reason='no libavfilter/tests/score_pool beside FFMPEG')
def test_filters():
    """Python has the bits of the filters."""
    rows = [(better, [source(i) for i in range(length)]) for better in DIRECTIONS for length in LENGTHS
            for source in SOURCES.values()]
    lines = ''.join(' '.join([str(DIRECTIONS.index(better)), *map(float.hex, values)]) + '\n' for better, values in rows)
    done = subprocess.run([PROGRAM], input=lines + '0\n', capture_output=True, text=True, check=True)
    found = [list(map(float.fromhex, line.split())) for line in done.stdout.splitlines()]
    assert all(map(math.isnan, found.pop())), 'nothing has a result'
    assert len(found) == len(rows)
    for (better, values), got in zip(rows, found):
        pool = quality_logs.pool([(value, i) for i, value in enumerate(values)], better)
        expected = [math.nan if value is None else float(value) for value in pool.values()]
        assert list(map(repr, got)) == list(map(repr, expected)), (better, len(values))
