"""The logs of a video that was scored in parts: those of one run, to the last digit.

A part is FIRST.stats, the lines of its frames, and FIRST.json, the log, which says what the
filter is and how it pools; ssim writes only the one and libvmaf only the other. A part ends
with some frames that the next begins with. They must have the same times and values, which
shows that nothing was lost, doubled or decoded otherwise where the video was cut.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import array
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
import quality_logs

# FFmpeg takes a jump of the timestamps as long as that, in seconds, for a new clock: it mends it
# if it comes by it, but not if it starts behind it.
MAX_GAP = 10

# They are known of frames that are not valid, too.
ALWAYS = re.compile('loss|loss_sigma|basis')

OTHERS = ('n', 'pts', 'pts_time')     # of a line, besides the metrics


class Apart(Exception):
    """The parts are not those of a whole."""


def fields_of(line):
    """Names and values, as text."""
    return [tuple(word.split(':', 1)) for word in line.split() if ':' in word]


def metrics_of(line):
    return [field for field in fields_of(line) if field[0] not in OTHERS]


class Part:
    """What a filter wrote of a part, or of a whole video."""

    def __init__(self, stem, name=None, first=0, read=None):
        """first: the number of its first frame; read: of the first that was read, for what looks
        at frames before."""
        self.name = name or os.path.basename(stem)
        self.log, self.head, self.lines, self.columns = {}, '', [], {}
        try:
            if os.path.exists(stem + '.json'):
                self._read_log(stem + '.json')
            if os.path.exists(stem + '.stats'):
                with open(stem + '.stats', encoding='ascii') as file:
                    self.lines = file.read().splitlines()
            before = first - read if read is not None else 0
            self.lines = self.lines[before:]
            self._read_lines(first, before)
            told = self.log['aggregate_metrics'] if self.head else {}
            self.pools = self.log['pooled_metrics'] if self.head else dict.fromkeys(self.names)
            self.nb_frames = told.get('frames', len(self.lines) + before) - before
            self.counters = {name: value for name, value in told.items()
                             if name not in ('frames', 'scored', 'valid')}
            self.sizes = [(size['width'], size['height']) for size in self.log.get('sizes', [])]
            self.fps = float(self.log.get('fps') or 0)
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise quality_logs.LogError(f'{stem!r} is damaged, or is not whole ({error})') \
                from error

    def _read_log(self, path):
        """Of ours, what is before and behind the frames, which are in the lines, too."""
        with open(path, encoding='utf-8') as file:
            text = file.read()
        begin = text.index('"frames": [') + len('"frames": [')
        end = text.find('\n  ],\n  "pooled_metrics"')
        if '\n  "filter": ' in text[:begin]:
            self.head = text[:begin]
            self.log = json.loads(self.head + text[end:], parse_float=str)
        else:
            self.log = json.loads(text, parse_float=str)
            self.lines = [' '.join([f'n:{i}', *(f'{name}:{value}'
                                                for name, value in frame['metrics'].items())])
                          for i, frame in enumerate(self.log['frames'], 1)]

    def _read_lines(self, first, before):
        first_line = metrics_of(self.lines[0]) if self.lines else []
        self.names = [name for name, _ in first_line]
        self.columns = {name: array.array('d') for name in self.names}
        self.digits = {name: len(value.partition('.')[2]) for name, value in first_line}
        self.numbers, self.times = array.array('q'), []
        for i, line in enumerate(self.lines):
            fields = dict(fields_of(line))
            if not self.names or [name for name in fields if name not in OTHERS] != self.names:
                raise ValueError(f'line {i + 1}')
            self.numbers.append(int(fields['n']) - 1 - before)
            pts = fields.get('pts', str(first + i))
            self.times.append((None if pts == 'NOPTS' else int(pts),
                               float(fields.get('pts_time', 0))))
            for name in self.names:
                self.columns[name].append(float(fields[name]))

    def frame(self, i):
        """What has to be the same in two parts: the time and all values."""
        return self.times[i], metrics_of(self.lines[i])

    def check(self):
        """What only a part in which each frame was scored can tell."""
        if self.counters or len(self.sizes) > 1:
            what = 'counts of the whole video' if self.counters else 'frames of several sizes'
            raise Apart(f'{self.name} has {what}')
        if not self.lines or list(self.numbers) != list(range(self.nb_frames)):
            raise Apart(f'{self.name} does not have each frame')
        for (pts, time), (later, later_time) in zip(self.times, self.times[1:]):
            if later is None or pts is None or later <= pts or later_time - time >= MAX_GAP:
                raise Apart(f'{self.name}: the timestamps jump from {pts} to {later}')

    def valid(self):
        return self.columns.get('valid', [1] * len(self.lines))


def join(part, other):
    """Leave out the frames of a part that the next one has, too."""
    if (part.head, part.sizes, part.names) != (other.head, other.sizes, other.names):
        raise Apart(f'{part.name} and {other.name} were made by other filters or options, or of '
                    'other sizes')
    last = len(part.lines)
    place = next((i for i in range(last - 1, -1, -1) if part.frame(i) == other.frame(0)), None)
    if place is None:
        raise Apart(f'the first frame of {other.name} is not in {part.name}, or not the same there')
    if last - place > len(other.lines) or any(part.frame(i) != other.frame(i - place)
                                              for i in range(place, last)):
        raise Apart(f'the frames that {part.name} and {other.name} have both are not the same')
    del part.lines[place:]
    for column in part.columns.values():
        del column[place:]


def merge(parts):
    """The logs of all parts, as those of a whole."""
    whole = parts[0]
    for part in parts:
        part.check()
    seconds = sum(part.nb_frames / part.fps for part in parts if part.fps > 0)
    for part, other in zip(parts, parts[1:]):
        join(part, other)
    whole.lines = sum((part.lines for part in parts), [])
    for name in whole.names:
        for part in parts[1:]:
            whole.columns[name].extend(part.columns[name])
    whole.nb_frames = len(whole.lines)
    whole.numbers = array.array('q', range(whole.nb_frames))
    whole.fps = whole.nb_frames / seconds if seconds else 0
    # a part without a valid frame does not tell what there is of others
    if whole.head:
        whole.pools = {name: next((part.pools[name] for part in parts
                                   if part.pools[name]['mean'] is not None), pool)
                       for name, pool in whole.pools.items()}
    return whole


def better(part, name):
    """'lower', 'higher', or None where the filter looks for no worst frames."""
    if part.head:
        told = part.pools[name]['worst_window'] and (part.log.get(name) or part.log['direction'])
        return told and ('lower' if 'lower' in told else 'higher')
    return next((scale.better for pattern, scale in quality_logs.SCALES
                 if re.fullmatch(pattern, name)), None)


def pooled(part, name):
    """The statistics of a metric as the filter prints them, None for what there is not."""
    known = [(value, number) for value, number, valid
             in zip(part.columns[name], part.numbers, part.valid())
             if value == value and (valid or ALWAYS.fullmatch(name))]
    with_percentiles = not part.head or part.pools[name]['p50'] is not None
    pool = quality_logs.pool(known, better(part, name), with_percentiles)
    # means of whole numbers have digits, and frames have none
    digits = part.digits[name] or 6
    return {key: None if value is None else
            f'{value:.{0 if key == "worst_window_frame" else digits}f}'
            for key, value in pool.items()}


def as_json(part):
    """The log in the filters' own form, with as many digits."""
    def items(pairs):
        return ', '.join(f'"{name}": {"null" if value in (None, "nan") else value}'
                         for name, value in pairs)

    def pools(indent):
        return ','.join(f'\n{indent}"{name}": {{{items(pool.items())}}}'
                        for name, pool in all_pools.items())
    all_pools = {name: pooled(part, name) for name in part.pools} if part.names else part.pools
    counts = f'"scored": {len(part.lines)}, "valid": {int(sum(part.valid()))}'
    counters = ''.join(f', "{name}": {value}' for name, value in part.counters.items())
    frames = ','.join(f'\n    {{"frameNum": {number}, "metrics": {{{items(metrics_of(line))}}}}}'
                      for number, line in zip(part.numbers, part.lines))
    sizes = ','.join(f'\n    {{"width": {width}, "height": {height}, {counts}, '
                     f'"pooled_metrics": {{{pools("      ")}\n    }}}}'
                     for width, height in part.sizes)
    head = part.head or '{\n  "frames": ['
    return f'{head}{frames}\n  ],\n  "pooled_metrics": {{{pools("    ")}\n  }},\n' \
           f'  "aggregate_metrics": {{"frames": {part.nb_frames}, {counts}{counters}}},\n' \
           f'  "sizes": [{sizes}\n  ],\n  "fps": {part.fps:.2f}\n}}\n'


def as_csv(part):
    rows = [['Frame', *part.names]]
    rows += [[str(number), *('' if value == 'nan' else value for _, value in metrics_of(line))]
             for number, line in zip(part.numbers, part.lines)]
    return ''.join(','.join(row) + ',\n' for row in rows)


def as_xml(part):
    def attributes(pairs):
        return ''.join(f' {name}="{"" if value in (None, "nan") else value}"'
                       for name, value in pairs)
    frames = ''.join(f'    <frame frameNum="{number}"{attributes(metrics_of(line))} />\n'
                     for number, line in zip(part.numbers, part.lines))
    pools = ''.join(f'    <metric name="{name}"{attributes(pooled(part, name).items())} />\n'
                    for name in part.pools)
    return f'<VMAF version="{part.log.get("version", "")}">\n  <frames>\n{frames}  </frames>\n' \
           f'  <pooled_metrics>\n{pools}  </pooled_metrics>\n' \
           f'  <aggregate_metrics frames="{part.nb_frames}" scored="{len(part.lines)}" ' \
           f'valid="{int(sum(part.valid()))}" />\n  <fyi fps="{part.fps:.2f}" />\n</VMAF>\n'


FORMS = {'json': as_json, 'csv': as_csv, 'xml': as_xml}


def as_lines(part):
    return ''.join(re.sub('^n: *[0-9]+', f'n:{number + 1}', line) + '\n'
                   for number, line in zip(part.numbers, part.lines))
