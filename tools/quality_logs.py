"""The logs that the tools read, and what their numbers mean.

A log has the lines of stats_file, `n:1 pts:0 pts_time:0.000000 score:12.9 ... valid:1`, or is
JSON in libvmaf's shape, as log_path and quality-compare write it.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import os
import re
import select
import sys
from typing import NamedTuple

from quality_common import ToolError

WINDOW = 48         # frames in a row that may be the worst ones
LARGEST = 1e15      # what is beyond is no number, time or count of a log's
BLOCK = 1 << 16     # bytes read at once
LONGEST = 1 << 20   # bytes of a line
WHOLE = 1 << 30     # bytes of JSON
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

    @property
    def digits(self):
        return 4 if self.highest == 1 else 2

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
    Metric('detailloss', 'loss', 'detail', 0, 100, 'lower', 'detailloss'),
    Metric('bliinds', 'score|raw', 'raw|basis', 0, 100, 'lower', 'estimated VMAF loss'),
    Metric('mad', 'score|hi|lo', 'hi', 0, math.inf, 'lower', 'MAD'),
    Metric('vmaf', 'score|vmaf', 'vmaf|.*(cambi|adm|motion).*', 0, 100, 'higher', 'VMAF'),
    Metric('ssim', 'All|[YUV]|(float_)?ssim', 'All|(float_)?ssim', 0, 1, 'higher', 'SSIM'),
    Metric('psnr', 'psnr_avg|psnr_.*', 'psnr_.*', 0, math.inf, 'higher', 'PSNR, dB'),
    Metric('xpsnr', 'score|xpsnr.*', 'xpsnr.*', 0, math.inf, 'higher', 'XPSNR, dB'),
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


def count(value):
    """A frame's number, None if it is none."""
    return int(value) if re.fullmatch('[0-9]{1,15}', str(value)) else None


def find(asked, names):
    """The field that is meant: `score`, `bliinds.score`, `lavfi.bliinds.score` or `bliinds`."""
    asked = asked.removeprefix('lavfi.')
    fields = [asked, *(metric.fields.split('|')[0] for metric in METRICS if metric.filter == asked)]
    return next((name for field in fields for name in names
                 if name == field or name.endswith('.' + field)), None)


class Log:
    """The frames of a log, as they come in: `for frame in Log(path)`.

    With a timeout, None comes in place of a frame whenever nothing has come for so many seconds.
    After the first frame `header` has what JSON tells before its frames. At the end, `notes` has
    what the reader should know.
    """

    def __init__(self, path, timeout=None):
        self.path, self.timeout = path, timeout
        self.header, self.notes = {}, []
        self.cut = False        # ends in the middle of a line
        self.damaged = 0        # lines that are left out
        try:
            self.file = sys.stdin.fileno() if path == '-' else os.open(path, os.O_RDONLY)
        except OSError as error:
            raise self.error(f'cannot be read: {error.strerror}') from error

    def metric_of(self, name, names):
        """What a field means, among those of its frames."""
        prefix, _, field = name.partition('.')
        told = str(self.header.get('filter', ''))
        if prefix in [metric.filter for metric in METRICS]:
            told = prefix
        else:
            field = name
        metric = next((metric for metric in METRICS if re.fullmatch(metric.fields, field) and (
            told == metric.filter or not told and
            any(re.fullmatch(metric.known_by, other) for other in names))), None)
        better = re.match('lower|higher', str(self.header.get('direction')))
        if metric and better and field == 'score':      # a model of the user's own
            ends = self.header.get('range')
            low, high = map(number, ends) if isinstance(ends, list) and len(ends) == 2 else \
                (math.nan, math.nan)
            metric = metric._replace(lowest=low, highest=math.inf if high != high else high,
                                     better=better[0])
        return metric or Metric('', '', '', math.nan, math.nan, None, name)

    def choose(self, asked, names):
        """The field that is asked for, or else the score; the one that tells whether it means
        anything, or None; and the metric."""
        if asked:
            name = find(asked, names)
        else:
            # the first field of a metric's is what it is known for
            main = sorted(names, key=lambda name: name.rpartition('.')[2] !=
                          self.metric_of(name, names).fields.split('|')[0])
            found = {self.metric_of(name, names)[:3]: name for name in reversed(main)}
            name = next((found[metric[:3]] for metric in METRICS if metric[:3] in found), None)
        if not name:
            raise self.error(f'there is no {asked or "score"} in it; it has {", ".join(names)}: '
                             'name one with --metric')
        valid = name.rpartition('.')[0] + '.valid' if '.' in name else 'valid'
        return name, valid if valid in names else None, self.metric_of(name, names)

    def error(self, text):
        return ToolError(f'{self.path!r}: {text}')

    def _read(self):
        """What is there, None at a timeout, nothing at the end."""
        if self.timeout and not select.select([self.file], [], [], self.timeout)[0]:
            return None
        try:
            return os.read(self.file, BLOCK)
        except OSError as error:
            raise self.error(f'cannot be read: {error.strerror}') from error

    def __iter__(self):
        first, rest, is_known = b'', b'', False
        while (data := self._read()) != b'':
            if data is None:
                yield None
                continue
            rest += data if first else data.removeprefix(b'\xef\xbb\xbf')
            first = first or rest.strip()
            if not is_known and first[:1] == b'{':
                yield from self._json(rest)
                return
            *lines, rest = rest.split(b'\n')
            if len(rest) > LONGEST:
                raise self.error(f'has a line of more than {LONGEST >> 20} MiB: that is no log')
            for line in lines:
                frame = self._frame(line.decode(errors='replace'))
                is_known = is_known or frame
                if frame:
                    yield frame
        if not is_known:
            raise self.error('is no log that is known here; its first line is '
                             f'{first.splitlines()[0][:60].decode(errors="replace")!r}'
                             if first else 'is empty')
        self.cut = bool(rest.strip())
        if self.cut:
            self.notes.append('the last line is not whole and was left out')
        if self.damaged:
            self.notes.append(f'left out, since they are damaged: {self.damaged} lines')

    def _frame(self, line):
        words = [word.split(':', 1) for word in line.split() if ':' in word]
        fields = dict(words)
        n = count(fields.pop('n', None)) if line.startswith('n:') else None
        if not n:
            return None     # psnr's header, or what else was written to the same place
        if len(fields) < len(words) - 1:    # the rest of a line that has lost its end
            self.damaged += 1
            return None
        fields.pop('pts', None)
        return Frame(n - 1, seconds(fields.pop('pts_time', None)), fields)

    def _json(self, text):
        parts, size = [text], len(text)
        while data := self._read() or b'':
            parts.append(data)
            size += len(data)
            if size > WHOLE:
                raise self.error(f'has more than {WHOLE >> 30} GiB; the lines of stats_file may '
                                 'have any length')
        try:
            log = json.loads(b''.join(parts).decode(errors='replace'))
        except (ValueError, RecursionError) as error:
            raise self.error(f'this JSON is not whole ({error}): was its run stopped, or does it '
                             'go on? The lines of stats_file can be read at any time') from error
        frames = log.get('frames')
        if not isinstance(frames, list):
            raise self.error('this JSON has no "frames", as that of log_path has')
        self.header = {name: value for name, value in log.items() if name != 'frames'}
        if 'filter' in log and log.get('eof') is not True:
            self.notes.append('its run was stopped before the end of the input: it has no '
                              '"eof": true')
        for frame in frames:
            n = count(frame.get('frameNum')) if isinstance(frame, dict) else None
            if n is None or not isinstance(frame.get('metrics'), dict):
                raise self.error('these frames are not in the shape of libvmaf: "frameNum" and '
                                 '"metrics"')
            yield Frame(n, seconds(frame.get('pts_time')), frame['metrics'])


def pooled(values, better):
    """Least, largest, mean, exact percentiles, and the worst frames in a row: their mean and the
    first one's place."""
    ordered = sorted(values)
    pool = {'min': ordered[0], 'max': ordered[-1], 'mean': math.fsum(values) / len(values)}
    for p in PERCENTILES:
        rank = (len(ordered) - 1) * p / 100
        low, high = ordered[int(rank)], ordered[math.ceil(rank)]
        # infinite ones have no difference
        pool[f'p{p}'] = low if low == high else low + (high - low) * (rank - int(rank))
    ends = ('max', 'p99', 'p95') if better == 'lower' else ('min', 'p1', 'p5')
    pool['worst'], pool['worse'], pool['bad'] = (pool[end] for end in ends)
    size = min(WINDOW, len(values))
    means = [math.fsum(values[i:i + size]) / size for i in range(len(values) - size + 1)]
    pool['window'] = (max if better == 'lower' else min)(means)
    pool['window_at'] = means.index(pool['window'])
    return pool
