"""Reading of quality logs, and the meaning of their numbers.

A log consists of lines of stats_file, `n:1 pts:0 pts_time:0.000000 score:12.9 ... valid:1`, or of
JSON in the shape of libvmaf's, as log_path and quality-compare write it.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import re
import statistics
from typing import NamedTuple

from quality_common import ToolError

WINDOW = 48             # consecutive frames whose mean ranks the worst moments
LARGEST = 1e15          # a larger number, time or count of a log is ignored
LONGEST = 1 << 16       # characters of a line, or in JSON of a frame and of the text beside all
SKIPPED = 1 << 20       # characters before the first frame
PERCENTILES = [1, 5, 10, 50, 90, 95, 99]
NUMBER = re.compile(r'[-+]?((\d+\.?\d*|\.\d+)(e[-+]?\d+)?|nan|inf)', re.A)
FRAMES = re.compile(r'"frames"\s*:\s*\[')
BETWEEN = ' \t\r\n,'    # characters between values of JSON


class Frame(NamedTuple):
    number: int     # from 0
    time: float     # in seconds, or None
    fields: dict    # name -> a number or its text


class Metric(NamedTuple):
    filter: str     # the name of the CPU filter in ffmpeg
    fields: str     # pattern of the fields that have this scale; the first alternative is the score
    signature: str  # pattern of a field that only lines of this filter have
    lowest: float
    highest: float
    better: str
    label: str
    meaning: str = ''   # for people, with the source of the metric
    decibels: int = 0   # decibels of a factor of 10; the mean is taken before the logarithm
    digits: int = 2     # decimals that are shown

    @property
    def direction(self):
        """0..100, higher is better"""
        limits = f'{self.lowest:g}..{self.highest:g}, '.replace('..inf', ' and up').replace('-inf..', 'up to ')
        return f'{"" if math.isnan(self.lowest) else limits}{self.better} is better'

    @property
    def axis(self):
        return f'{self.label} ({self.direction})'

    @property
    def worst(self):
        """The function that returns the worst of some values."""
        return max if self.better == 'lower' else min


OF_VMAF = 'Predicts how viewers judge an encode beside its source. Source: Z. Li et al., Netflix ' \
    'Technology Blog, 2016; the models of VMAF v1 are those of github.com/Netflix/vmaf.'

# Without --metric, tools use the first of these that a log contains.
METRICS = [
    # a model of vmaf may have any name in a log that names the filter
    Metric('vmaf', '(?!.*cambi)(?!.*speed_)(?!.*adm)(?!.*aim)(?!.*motion)(?!.*vif_scale).*', '(?!)',
           0, 100, 'higher', 'VMAF', OF_VMAF),
    Metric('vmaf', 'score|vmaf', 'vmaf|.*(cambi|adm|motion).*', 0, 100, 'higher', 'VMAF', OF_VMAF),
    Metric('bliinds', 'score|raw', 'raw|basis', 0, 100, 'lower', 'estimated VMAF loss',
           'Estimates 100 - VMAF without the source; viewers begin to see a loss at about 10. One '
           'frame is often off by 7 or more, the mean of many by less. Source: this project, '
           'doc/model.md; features: M. A. Saad et al. (BLIINDS-II), IEEE TIP 21(8), 2012.'),
    Metric('mad', 'score|hi|lo', 'hi', 0, math.inf, 'lower', 'MAD',
           'Visible errors, and changes of local statistics where errors are plain; 0 is identical '
           'to the source. Source: E. C. Larson and D. M. Chandler, JEI 19(1), 2010.'),
    Metric('cambi', 'score|cambi|', '(?!)', 0, math.inf, 'lower', 'CAMBI',
           'Banding without the source: false contours in smooth areas; 5 and more is annoying. '
           'Source: P. Tandon et al., Picture Coding Symposium 2021.'),
    Metric('ssimulacra2', 'score|ssimulacra2', 'ssimulacra2', -math.inf, 100, 'higher', 'SSIMULACRA2',
           'Errors of structure and edges in a color space of the eye: 30 is low quality, 50 medium, '
           '70 high, 90 visually lossless. Source: J. Sneyers, Cloudinary, SSIMULACRA 2.1.'),
    Metric('ssim', 'All|[YUV]|(float_)?ssim', 'All|(float_)?ssim', 0, 1, 'higher', 'SSIM',
           'Compares local means, contrast and structure with the source; 1 is identical. Source: '
           'Z. Wang et al., IEEE TIP 13(4), 2004.', digits=4),
    Metric('psnr', 'psnr_avg|psnr_.*', 'psnr_.*', 0, math.inf, 'higher', 'PSNR, dB',
           'The squared peak value over the mean squared error, in decibels: infinite for '
           'identical frames. It does not model vision. Source: the psnr filter of FFmpeg.', 10),
    # the score is that of the worst plane, as in ffcrf; equal pictures have the highest
    Metric('xpsnr', 'score|xpsnr.*', 'xpsnr.*', 0, 100, 'higher', 'XPSNR, dB',
           'PSNR with errors weighted by their visibility in each block; the score of a frame is '
           'that of its worst plane. Source: C. R. Helmrich et al., IEEE ICASSP 2020.', 20),
    Metric('', 'score', 'score', 0, 100, 'lower', 'score'),
]
FILTERS = {metric.filter for metric in METRICS}


def number(value):
    """A field as a float, NaN if it is no decimal number."""
    text = str(value).lower()
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    return value if abs(value) <= LARGEST or 'inf' in text else math.nan


def seconds(value):
    """A timestamp, None if there is none."""
    return number(value) if math.isfinite(number(value)) else None


def beside(name, other):
    """The name of another field of the same filter: names of fields contain dots, too."""
    prefix, dot, _ = name.partition('.')
    return f'{prefix}.{other}' if dot and prefix in FILTERS else other


class Log:
    """The frames of a log, read one by one: `for frame in Log(path)`.

    `header` has the values before the frames of JSON and, at the end, those after them, `notes` the
    warnings at the end, and `lost` the number of incomplete lines.
    """

    def __init__(self, path):
        self.path, self.header, self.notes, self.lost = path, {}, [], 0

    def error(self, text):
        return ToolError(f'{self.path!r}: {text}')

    def metric_of(self, name, signed):
        """The metric of a field, in a log with the signatures of these metrics."""
        filter_name, _, field = name.partition('.')
        if filter_name not in FILTERS or not field:
            filter_name, field = str(self.header.get('filter', '')), name
        metric = next((metric for metric in METRICS if re.fullmatch(metric.fields, field) and (
            filter_name == metric.filter or not filter_name and metric in signed)), None)
        better = re.match('lower|higher', str(self.header.get('direction')))
        if metric and better and (field == 'score' or filter_name == 'vmaf'):   # it is the model's
            ends = self.header.get('range')
            low, high = map(number, ends if isinstance(ends, list) and len(ends) == 2 else 'xx')
            metric = metric._replace(lowest=low, highest=math.inf if high != high else high,
                                     better=better[0])
        return metric or Metric('', '', '', math.nan, math.nan, None, name)

    def choose(self, asked, names):
        """The field that `score`, `bliinds.score`, `lavfi.bliinds.score`, `bliinds` or nothing
        means, and its metric."""
        asked = (asked or '').removeprefix('lavfi.')
        signed = {metric for metric in METRICS if any(re.fullmatch(metric.signature, name)
                                                      for name in names)}
        known = {name: self.metric_of(name, signed) for name in names}
        fields = [name for name in names if asked and ('.' + name).endswith('.' + asked)]
        fields += [name for metric in METRICS if asked in ('', metric.filter)
                   for field in metric.fields.split('|') for name in names
                   if known[name].filter == metric.filter and
                   re.fullmatch(field, name.rpartition('.')[2])]
        if not fields:
            raise self.error(f'there is no {asked or "score"} in it; it has '
                             f'{", ".join(names)[:1000]}: name one with --metric')
        return fields[0], known[fields[0]]

    def __iter__(self):
        first, frames, skipped = '', 0, 0
        try:
            with open(0 if self.path == '-' else self.path, encoding='utf-8-sig',
                      errors='replace', closefd=self.path != '-') as file:
                for line in iter(lambda: file.readline(LONGEST), ''):
                    first = first or line.strip()
                    if not frames and first[:1] == '{':
                        yield from self._json(file, line)
                        return
                    if len(line) == LONGEST:
                        raise self.error('has a line of more than 64 KiB: it is not a log')
                    if frame := self._frame(line):
                        frames += 1
                        yield frame
                    skipped += len(line)
                    if not frames and skipped > SKIPPED:
                        break
        except OSError as error:
            raise self.error(f'cannot be read: {error.strerror}') from error
        if not frames:
            raise self.error('is no log that is known here; its first line is '
                             f'{first[:60]!r}' if first else 'is empty')
        if self.lost:
            self.notes.append(f'incomplete lines, which are left out: {self.lost}')

    def _frame(self, line):
        """The frame of a line; None for psnr's header and other output to the same file."""
        is_xpsnr = ' XPSNR ' in line    # `n:    1  XPSNR y: 36.1234  XPSNR u: 40.1234`
        if is_xpsnr:
            line = re.sub(': +', ':', line).replace(' XPSNR ', ' xpsnr.xpsnr.')
        match = re.match(r'n:0*[1-9][0-9]{,14}\s', line)
        words = [word.split(':', 1) for word in line.split() if ':' in word]
        fields = dict(words)
        if not line.endswith('\n') or match and len(fields) < len(words):
            self.lost += 1      # it lacks its end, or contains the line after it
            return None
        index, _, time = (fields.pop(name, None) for name in ('n', 'pts', 'pts_time'))
        if match and is_xpsnr:
            fields['xpsnr.score'] = min(fields.values(), key=number)
        return match and Frame(int(index) - 1, seconds(time), fields)

    def _json(self, file, text):
        """The frames of a JSON document whose first line is the text. They are decoded one by one:
        memory does not grow with the document, and a pipe need not end."""
        decode = json.JSONDecoder().raw_decode
        try:
            while not (begin := FRAMES.search(text)):
                line = file.readline(LONGEST)
                if not line or len(text) > LONGEST:
                    raise ValueError('no frames, or more than 64 KiB before them')
                text += line
            self.header, text = json.loads(text[:begin.end()] + ']}'), text[begin.end():]
            # by lines, as the next frame of a pipe may be late
            while not (text := text.lstrip(BETWEEN) or
                       file.readline(LONGEST).lstrip(BETWEEN)).startswith(']'):
                try:
                    frame, end = decode(text)
                except ValueError:      # it may be incomplete
                    more = file.read(LONGEST)
                    if not more or len(text) > LONGEST:
                        raise ValueError('a frame is damaged, incomplete or longer than 64 KiB') \
                            from None
                    text += more
                    continue
                text = text[end:]
                yield Frame(int(re.fullmatch('[0-9]{1,15}', str(frame['frameNum']))[0]),
                            seconds(frame.get('pts_time')), {**frame['metrics']})
            self.header |= json.loads('{"frames": []' + text[1:] + file.read(LONGEST))
            if self.header['frames'] or file.read(1):
                raise ValueError('more frames, or more than 64 KiB after them')
        except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            # the position in an error of the decoder is not that in the document
            reason = error.msg if isinstance(error, json.JSONDecodeError) else repr(error)
            raise self.error(f'this JSON is incomplete, or not in the shape of libvmaf ({reason}): '
                             'was its run stopped? The lines of stats_file can be read at any '
                             'time') from error
        if 'filter' in self.header and self.header.get('eof') is not True:
            self.notes.append('its run was stopped before the end: it has no "eof": true')


def mean(values, metric):
    """The mean. That of decibels is the mean before the logarithm, as in the filters' summaries."""
    low = min(values)
    if not metric.decibels or math.isinf(low):
        return statistics.fmean(values)
    # no power is above 1
    powers = statistics.fmean(10 ** ((low - value) / metric.decibels) for value in values)
    return low - metric.decibels * math.log10(powers)


def worst_windows(values, metric, count):
    """The means and positions of up to count windows of consecutive values that do not overlap, the
    worst first."""
    size, found, taken = min(WINDOW, len(values)), [], set()
    means = [mean(values[i:i + size], metric) for i in range(len(values) - size + 1)]
    for i in sorted(range(len(means)), key=means.__getitem__, reverse=metric.better == 'lower'):
        if len(found) == count:
            break
        if i not in taken:
            found.append((means[i], i))
            taken.update(range(i - size + 1, i + size))
    return found


def pooled(values, metric):
    """The minimum, maximum, means and percentiles; the mean and position of the worst window."""
    ordered = sorted(values)
    pool = {'min': ordered[0], 'max': ordered[-1], 'mean': mean(values, metric)}
    if ordered[0] >= 0:
        inverse = statistics.fmean(1 / (value + 1) for value in values)
        pool['harmonic_mean'] = 1 / inverse - 1 if inverse else math.inf
    # the least value that at least p % do not exceed, as in the filters' summaries
    pool |= {f'p{p}': ordered[(len(ordered) * p + 99) // 100 - 1] for p in PERCENTILES}
    ends = ('max', 'p99', 'p95') if metric.better == 'lower' else ('min', 'p1', 'p5')
    pool |= zip(('worst', 'worse', 'bad'), map(pool.get, ends))
    pool['window'], pool['window_at'] = worst_windows(values, metric, 1)[0]
    return pool
