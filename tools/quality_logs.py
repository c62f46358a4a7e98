"""The logs that the tools read, and what their numbers mean.

A log has the lines of stats_file, `n:1 pts:0 pts_time:0.000000 score:12.9 ... valid:1`, or is
JSON in libvmaf's shape, as log_path and quality-compare write it.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import re
import statistics
from typing import NamedTuple

from quality_common import ToolError

WINDOW = 48         # frames in a row that may be the worst ones
LARGEST = 1e15      # what is beyond is no number, time or count of a log's
LONGEST = 1 << 20   # characters of a line
PERCENTILES = [1, 5, 10, 50, 90, 95, 99]


class Frame(NamedTuple):
    number: int     # from 0
    time: float     # in seconds, or None
    fields: dict    # name -> a number or its text


class Metric(NamedTuple):
    filter: str     # its name in ffmpeg, also where its frames are the GPU's
    fields: str     # those of its logs that have this scale, the first one its score
    known_by: str   # what no other filter's lines have
    lowest: float
    highest: float
    better: str
    label: str
    decibels: int = 0   # so many of them for a factor of 10: they have no mean of their own
    digits: int = 2     # behind the point, where they are shown

    @property
    def direction(self):
        """0..100, higher is better"""
        limits = f'{self.lowest:g}..{self.highest:g}, '.replace('..inf', ' and up')
        return f'{"" if math.isnan(self.lowest) else limits}{self.better} is better'

    @property
    def axis(self):
        return f'{self.label} ({self.direction})'


# What is looked at when nothing else is asked for is the first of these that a log has.
METRICS = [
    # a model of vmaf may have any name, in a log that names the filter
    Metric('vmaf', '(?!.*cambi)(?!.*speed_)(?!.*adm)(?!.*aim)(?!.*motion).*', '(?!)', 0, 100,
           'higher', 'VMAF'),
    Metric('vmaf', 'score|vmaf', 'vmaf|.*(cambi|adm|motion).*', 0, 100, 'higher', 'VMAF'),
    Metric('bliinds', 'score|raw', 'raw|basis', 0, 100, 'lower', 'estimated VMAF loss'),
    Metric('mad', 'score|hi|lo', 'hi', 0, math.inf, 'lower', 'MAD'),
    Metric('ssim', 'All|[YUV]|(float_)?ssim', 'All|(float_)?ssim', 0, 1, 'higher', 'SSIM',
           digits=4),
    Metric('psnr', 'psnr_avg|psnr_.*', 'psnr_.*', 0, math.inf, 'higher', 'PSNR, dB', 10),
    # that of the worst plane, as in ffcrf; of equal pictures it is the highest
    Metric('xpsnr', 'score|xpsnr.*', 'xpsnr.*', 0, 100, 'higher', 'XPSNR, dB', 20),
    Metric('', 'score', 'score', 0, 100, 'lower', 'score'),
]


def number(value):
    """A field as a float, NaN if it is not known."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return value if abs(value) <= LARGEST or math.isinf(value) else math.nan


def seconds(value):
    """A timestamp, None if there is none."""
    return number(value) if math.isfinite(number(value)) else None


def beside(name, other):
    """The other field of the same filter."""
    return name[:name.rfind('.') + 1] + other


class Log:
    """The frames of a log, as they come in: `for frame in Log(path)`.

    After the first one `header` has what JSON tells beside them. At the end `notes` has what the
    reader should know, and `lost` is how many lines are not whole.
    """

    def __init__(self, path):
        self.path, self.header, self.notes, self.lost = path, {}, [], 0

    def error(self, text):
        return ToolError(f'{self.path!r}: {text}')

    def metric_of(self, name, names):
        """What a field means, among those of its frames."""
        told, _, field = name.partition('.')
        if told not in [metric.filter for metric in METRICS]:
            told, field = str(self.header.get('filter', '')), name
        metric = next((metric for metric in METRICS if re.fullmatch(metric.fields, field) and (
            told == metric.filter or not told and
            any(re.fullmatch(metric.known_by, other) for other in names))), None)
        better = re.match('lower|higher', str(self.header.get('direction')))
        if metric and better and (field == 'score' or told == 'vmaf'):      # it is the model's
            ends = self.header.get('range')
            low, high = map(number, ends if isinstance(ends, list) and len(ends) == 2 else 'xx')
            metric = metric._replace(lowest=low, highest=math.inf if high != high else high,
                                     better=better[0])
        return metric or Metric('', '', '', math.nan, math.nan, None, name)

    def choose(self, asked, names):
        """The field that is meant by `score`, `bliinds.score`, `lavfi.bliinds.score`, `bliinds` or
        nothing, and its metric."""
        asked = (asked or '').removeprefix('lavfi.')
        known = {name: self.metric_of(name, names) for name in names}
        fields = [name for name in names if asked and ('.' + name).endswith('.' + asked)]
        fields += [name for metric in METRICS if asked in ('', metric.filter)
                   for field in metric.fields.split('|') for name in names
                   if known[name].filter == metric.filter and
                   re.fullmatch(field, name.rpartition('.')[2])]
        if not fields:
            raise self.error(f'there is no {asked or "score"} in it; it has {", ".join(names)}: '
                             'name one with --metric')
        return fields[0], known[fields[0]]

    def __iter__(self):
        first, frames = '', 0
        try:
            with open(0 if self.path == '-' else self.path, encoding='utf-8-sig',
                      errors='replace') as file:
                for line in iter(lambda: file.readline(LONGEST), ''):
                    first = first or line.strip()
                    if not frames and first[:1] == '{':
                        yield from self._json(line + file.read())
                        return
                    if len(line) == LONGEST:
                        raise self.error('has a line of more than 1 MiB: that is no log')
                    if frame := self._frame(line):
                        frames += 1
                        yield frame
        except OSError as error:
            raise self.error(f'cannot be read: {error.strerror}') from error
        if not frames:
            raise self.error('is no log that is known here; its first line is '
                             f'{first[:60]!r}' if first else 'is empty')
        if self.lost:
            self.notes.append(f'left out, since they are not whole: {self.lost} lines')

    def _frame(self, line):
        """None for psnr's header, or what else was written to the same place."""
        match = re.match(r'n:0*[1-9][0-9]{,14}\s', line)
        words = [word.split(':', 1) for word in line.split() if ':' in word]
        fields = dict(words)
        if not line.endswith('\n') or match and len(fields) < len(words):
            self.lost += 1      # its end, or that of the line before, which stands in it, too
            return None
        number, _, time = (fields.pop(name, None) for name in ('n', 'pts', 'pts_time'))
        return match and Frame(int(number) - 1, seconds(time), fields)

    def _json(self, text):
        try:
            log = json.loads(text)
            frames = [Frame(int(re.fullmatch('[0-9]{1,15}', str(frame['frameNum']))[0]),
                            seconds(frame.get('pts_time')), {**frame['metrics']})
                      for frame in log.pop('frames')]
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            raise self.error(f'this JSON is not whole, or not in the shape of libvmaf ({error!r}): '
                             'was its run stopped, or does it go on? The lines of stats_file can '
                             'be read at any time') from error
        self.header = log
        if 'filter' in log and log.get('eof') is not True:
            self.notes.append('its run was stopped before the end: it has no "eof": true')
        yield from frames


def mean(values, metric):
    """Of decibels, what their logarithms are of has a mean, as in the filters' own summaries."""
    if not metric.decibels:
        return statistics.fmean(values)
    of = statistics.fmean(10 ** (-value / metric.decibels) for value in values)
    return -metric.decibels * math.log10(of) if of else math.inf


def pooled(values, metric):
    """Least, largest, means, percentiles, and the worst frames in a row: their mean and place."""
    ordered = sorted(values)
    pool = {'min': ordered[0], 'max': ordered[-1], 'mean': mean(values, metric)}
    if ordered[0] >= 0:
        inverse = statistics.fmean(1 / (value + 1) for value in values)
        pool['harmonic_mean'] = 1 / inverse - 1 if inverse else math.inf
    for p in PERCENTILES:
        rank = (len(ordered) - 1) * p / 100
        low, high = ordered[int(rank)], ordered[math.ceil(rank)]
        # infinite ones have no difference
        pool[f'p{p}'] = low if low == high else low + (high - low) * (rank - int(rank))
    is_lower = metric.better == 'lower'
    ends = ('max', 'p99', 'p95') if is_lower else ('min', 'p1', 'p5')
    pool |= zip(('worst', 'worse', 'bad'), map(pool.get, ends))
    size = min(WINDOW, len(values))
    means = [mean(values[i:i + size], metric) for i in range(len(values) - size + 1)]
    pool['window'] = (max if is_lower else min)(means)
    pool['window_at'] = means.index(pool['window'])
    return pool
