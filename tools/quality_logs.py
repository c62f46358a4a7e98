"""What the tools share of logs: their frames one by one, and what the numbers mean.

A log is one of these, told apart by its first line:
  - lines of stats_file: `n:1 pts:0 pts_time:0.000000 score:12.9 ... valid:1`, ssim's and psnr's
  - what the filter metadata prints: `frame:0 pts:0 pts_time:0`, then `lavfi.bliinds.score=12.9`
  - libvmaf's shape: json, csv or xml; those of quality-compare have times, too
  - what ffmpeg-quality-metrics writes: json or csv
  - a CRF search: an object of JSON a line, with a `type`

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import bisect
import codecs
import collections
import contextlib
import csv
import functools
import json
import math
import operator
import os
import re
import select
import sys
import time

from quality_common import PERCENTILES, ToolError

# number: from 0. time: in seconds, or None. fields: name -> a number or its text.
Frame = collections.namedtuple('Frame', 'number time fields')

# What a field means. lowest and highest are None where there is no limit, better is None
# where neither end is known to be the better one.
Scale = collections.namedtuple('Scale', 'filter title lowest highest better')

SCALES = [
    (r'((bliinds|detailloss)\.)?loss', Scale('bliinds', 'loss in VMAF points', 0, 100, 'lower')),
    (r'(bliinds\.)?(score|raw)', Scale('bliinds', 'estimated VMAF loss', 0, 100, 'lower')),
    (r'mad(\.(score|hi|lo))?', Scale('mad', 'MAD', 0, None, 'lower')),
    (r'vmaf.*', Scale('libvmaf', 'VMAF', 0, 100, 'higher')),
    (r'(ssim\.)?(All|Y|U|V)|(float_)?ssim|ssim_(avg|[yuv])', Scale('ssim', 'SSIM', 0, 1, 'higher')),
    (r'ssim\.dB', Scale('ssim', 'SSIM, dB', 0, None, 'higher')),
    (r'(psnr\.)?psnr[._](avg|[yuvrgba]|c[br])', Scale('psnr', 'PSNR, dB', 0, None, 'higher')),
    (r'(psnr\.)?mse[._](avg|[yuvrgba])', Scale('psnr', 'mean squared error', 0, None, 'lower')),
    (r'xpsnr(\.xpsnr\.[yuv])?', Scale('xpsnr', 'XPSNR, dB', 0, None, 'higher')),
    (r'msad_(avg|[yuv])', Scale('msad', 'mean absolute difference', 0, None, 'lower')),
    (r'blur', Scale('blurdetect', 'blur', 0, None, 'lower')),
    (r'block', Scale('blockdetect', 'blockiness', 0, None, 'lower')),
]

# What is looked at when nothing else is asked for: the first of these that a log has.
DEFAULTS = ['loss', 'score', 'vmaf', 'All', 'ssim_avg', 'psnr_avg', 'blur', 'block']

# What says of a frame how its score came about, and is none itself.
MARKS = re.compile(r'(bliinds\.)?basis')

METADATA_FRAME = re.compile(r'frame:\s*([0-9]+)\s+pts:\s*\S+\s+pts_time:\s*(\S+)')

LARGEST = 1e15      # what is beyond is no number, time or count of a log's
LONGEST = 1 << 20   # bytes of a line
BLOCK   = 1 << 16   # bytes read at once
WHOLE   = 1 << 30   # bytes of a log that has its meaning only as a whole


class LogError(ToolError):
    """A log that cannot be used, in words for its user."""


def number(value):
    """A field as a float, NaN if it is not known."""
    try:
        value = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return value if abs(value) <= LARGEST or math.isinf(value) else math.nan


def seconds(text):
    """A timestamp, None if there is none."""
    value = number(text)
    return value if math.isfinite(value) else None


def count(value):
    """A frame's number as an int, None if it is none."""
    return int(value) if re.fullmatch('[0-9]{1,15}', str(value)) else None


def find(asked, names):
    """The name that is meant: `score`, `bliinds.score` or `lavfi.bliinds.score`; or None."""
    asked = asked.removeprefix('lavfi.')
    if asked in names:
        return asked
    return next((name for name in names if name.endswith('.' + asked)), None)


def default(names):
    return next(filter(None, (find(name, names) for name in DEFAULTS)), None)


def beside(name, other, names):
    """The field `other` of the filter that a field is of, or None."""
    other = name.rpartition('.')[0] + '.' + other if '.' in name else other
    return other if other in names else None


def validity(name, names):
    """The field that says whether a frame's `name` means anything, or None."""
    return beside(name, 'valid', names)


def direction(scale):
    """0..100, higher is better"""
    limits = f'{scale.lowest:g} and up, ' if scale.lowest is not None else ''
    if limits and scale.highest is not None:
        limits = f'{scale.lowest:g}..{scale.highest:g}, '
    return f'{limits}{scale.better} is better'


class Tail:
    """Whole lines of a file that grows, and of the files that take its place when it is rotated.

    Its place is an inode, an offset, and the end of the line before it. By that line a file is
    known again: copytruncate leaves the inode and takes the lines away.
    """

    POLL = 0.1      # seconds between two looks
    REST = 1        # seconds that a copy needs at most before its original is empty
    KNOWN = 64      # bytes of the line before

    def __init__(self, path, place):
        self.path = path
        self.file, self.inode, self.offset, self.last = None, None, 0, b''
        self.previous = 0, b''      # offset and last, before the newest line
        self.files = None           # those of the last look: names and inodes
        if place:
            inode, self.offset, last = place
            self.last = last.encode('latin-1')
            self._go(self._find(inode), self.offset, self.last)

    def _go(self, file, offset=0, last=b''):
        """Go on with a file; without one, begin with that of the path when there is one."""
        if self.file is not None:
            os.close(self.file)
        self.file, self.offset, self.last = file, offset, last
        if file is None:
            self.offset, self.last = 0, b''
        else:
            self.inode = os.fstat(file).st_ino

    def _open(self, path):
        try:
            return os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise LogError(f'{path!r} cannot be read: {error.strerror}') from error

    def _files(self):
        """That of the path and those that it was rotated to, the oldest first, with their status."""
        folder, name = os.path.split(self.path)
        found = []
        for entry in os.scandir(folder or '.'):
            if re.fullmatch(re.escape(name) + '([-.][0-9]+)*', entry.name):
                with contextlib.suppress(FileNotFoundError):
                    found.append((os.path.join(folder, entry.name), entry.stat()))
        return sorted(found, key=lambda item: (item[0] == self.path, item[1].st_mtime_ns))

    def _holds(self, file):
        """Whether that is the file that was read so far."""
        size = len(self.last)
        return os.fstat(file).st_size >= self.offset and \
            os.pread(file, size, self.offset - size) == self.last

    def _find(self, inode):
        """The file that was read so far, or its copy; or None."""
        for path, status in sorted(self._files(), key=lambda item: item[1].st_ino != inode):
            file = self._open(path) if self.last or status.st_ino == inode else None
            if file is not None:
                if self._holds(file):
                    return file
                os.close(file)
        return None

    def _next(self):
        """What comes after the end of the file, as arguments of _go(), or None."""
        if self.file is None:
            file = self._open(self.path)
            return None if file is None else (file,)
        if not self._holds(self.file):      # it has begun anew
            copy = self._find(None)
            return (os.dup(self.file),) if copy is None else (copy, self.offset, self.last)
        status = os.fstat(self.file)
        if os.path.exists(self.path) and os.stat(self.path).st_ino == status.st_ino:
            return None
        files, before = self._files(), self.files
        self.files = [(path, other.st_ino) for path, other in files]
        if self.files != before:
            return None     # their names may be changing just now
        # who writes may not know of its new name yet: it is at its end when there is a newer one
        for path, other in files:
            if other.st_size and (path == self.path or other.st_mtime_ns > status.st_mtime_ns):
                # what was written just now may be a copy of what the path still has
                is_copy = path != self.path and time.time() - other.st_mtime < self.REST
                file = None if is_copy else self._open(path)
                return None if file is None else (file,)
        return None

    def _block(self):
        """What there is more, in whole lines."""
        if self.file is None:
            return b''
        size = len(self.last)
        data = os.pread(self.file, BLOCK + size, self.offset - size)
        if not data.startswith(self.last):
            return b''
        data = data[size:]
        # the hole that copytruncate makes before the lines of a writer that does not append
        while not size and data.startswith(b'\0'):
            self.offset += len(data) - len(data.lstrip(b'\0'))
            data = os.pread(self.file, BLOCK, self.offset)
        whole, newline, _ = data.rpartition(b'\n')
        if not newline and len(data) >= BLOCK:
            raise LogError(f'{self.path!r}: has a line of more than {BLOCK >> 10} KiB: that is no '
                           'log')
        return whole + newline

    def lines(self, log):
        """Without an end; a None for each timeout of the log."""
        following, heard = None, time.monotonic()
        while True:
            block = self._block()
            for line in block.split(b'\n')[:-1]:
                self.previous = self.offset, self.last
                self.offset += len(line) + 1
                self.last = line[-self.KNOWN:] + b'\n'
                yield line.decode(errors='replace')
            if block:
                heard = time.monotonic()
            elif following:
                self._go(*following)
                following = None
            else:
                # once more to the end of this file, which may have grown meanwhile
                following = self._next()
                if not following:
                    if log.timeout and time.monotonic() - heard >= log.timeout:
                        heard = time.monotonic()
                        yield None
                    time.sleep(self.POLL)


class Log:
    """The frames of a log, as they come in: `for frame in Log(path)`.

    With a timeout, None comes in place of a frame whenever a line has not come for so many
    seconds. After the first frame `kind` says what the log is, and `header` has what its
    beginning tells. At the end, `notes` has what the reader should know of.
    A log that is followed has no end; it begins at the place where another one was.
    """

    def __init__(self, path, timeout=None, follow=False, place=None):
        self.path = path
        self.timeout = timeout
        self.tail = Tail(path, place) if follow else None
        self.kind = None
        self.header = {}
        self.notes = []
        self.cut = False        # ends in the middle of a frame
        self.damaged = 0        # frames that are left out
        self.objects = []       # of a CRF search
        self.names = []         # of the columns of CSV
        # of metadata: the frame that may go on, those before, and names that all of them have
        self.frame, self.before, self.always = None, 0, None
        if follow:
            return
        try:
            self.file = sys.stdin.fileno() if path == '-' else os.open(path, os.O_RDONLY)
        except OSError as error:
            raise LogError(f'{path!r} cannot be read: {error.strerror}') from error

    def error(self, text):
        return LogError(f'{self.path!r}: {text}')

    def not_whole(self, kind, error):
        return self.error(f'this {kind} is not whole ({error}): was its run stopped, or does it go '
                          'on? The lines of stats_file can be read at any time')

    def scale(self, name, names):
        """What the field of that name means."""
        if 'hi' in names and 'lo' in names and name in ('score', 'hi', 'lo'):
            name = 'mad.' + name
        scale = next((scale for pattern, scale in SCALES if re.fullmatch(pattern, name)),
                     Scale('', name, None, None, None))
        better = re.match('lower|higher', str(self.header.get('direction')))
        if name in ('score', 'mad.score') and better:
            ends = self.header.get('range')
            lowest, highest = map(number, ends) if isinstance(ends, list) and len(ends) == 2 else \
                              (math.nan, math.nan)
            lowest, highest = (end if math.isfinite(end) else None for end in (lowest, highest))
            scale = scale._replace(lowest=lowest, highest=highest, better=better[0])
        return scale

    def place(self):
        """Behind the newest frame, for another log that follows the same file."""
        if not self.tail:
            return None
        offset, last = self.tail.previous if self.kind == 'metadata' else \
            (self.tail.offset, self.tail.last)
        return [self.tail.inode, offset, last.decode('latin-1')]

    def _lines(self):
        """Whole lines, at once when they are there; a None for each timeout."""
        pieces, size, total = [], 0, 0
        while True:
            if self.timeout and not select.select([self.file], [], [], self.timeout)[0]:
                yield None
                continue
            try:
                data = os.read(self.file, BLOCK)
            except OSError as error:
                raise self.error(f'cannot be read: {error.strerror}') from error
            if not data:
                break
            if not total:
                data = data.removeprefix(codecs.BOM_UTF8)
            whole, newline, rest = data.rpartition(b'\n')
            if newline:
                pieces.append(whole)
                yield from b''.join(pieces).decode(errors='replace').split('\n')
                pieces, size = [], 0
            pieces.append(rest)
            size += len(rest)
            total += len(data)
            start = pieces[0].lstrip()[:1]
            if self.kind in ('json', 'xml') or not self.kind and start in (b'{', b'<'):
                if total > WHOLE:
                    raise self.error(f'has more than {WHOLE >> 30} GiB; the lines of stats_file '
                                     'may have any length')
            elif size > LONGEST:
                raise self.error(f'has a line of more than {LONGEST >> 20} MiB: that is no log')
        self.rest = b''.join(pieces).decode(errors='replace')
        if self.path != '-':
            os.close(self.file)

    def __iter__(self):
        first, text, read = None, [], None
        for line in self.tail.lines(self) if self.tail else self._lines():
            if line is None:
                if self.kind not in ('json', 'xml', 'search'):
                    yield None
                continue
            if not self.kind:
                first = first or line.strip()
                self.kind = self._kind_of(line)
                read = {'stats_file': self._stats, 'metadata': self._metadata, 'csv': self._csv,
                        'search': self._search}.get(self.kind, text.append)
                if self.tail and self.kind not in (None, 'stats_file', 'metadata'):
                    raise self.error('only the lines of stats_file and of the filter metadata can '
                                     'be followed')
            if self.kind:
                frame = read(line)
                if frame:
                    yield frame
        if not self.kind:   # nothing yet, or all of it in a line without an end
            first = first or self.rest.strip()
            if not first:
                raise self.error('is empty')
            self.kind = self._kind_of(self.rest)
            if self.kind not in ('json', 'xml'):
                raise self.error('is no log that is known here; its first line is '
                                 f'{first[:60]!r}')
        if self.kind in ('json', 'xml'):
            read = self._json if self.kind == 'json' else self._xml
            yield from read('\n'.join([*text, self.rest]))
        elif self.kind == 'metadata':
            yield from self._last_frame()
        elif self.rest.strip():
            self.cut = True
        if self.cut:
            what = 'frame' if self.kind == 'metadata' else 'line'
            self.notes.append(f'the last {what} is not whole and was left out')
        if self.damaged:
            what = {'metadata': 'frames', 'search': 'lines that are no JSON'}
            what = what.get(self.kind, 'lines')
            self.notes.append(f'left out, since they are damaged: {self.damaged} {what}')

    def _kind_of(self, line):
        """What a log is that has this line near its beginning, or None."""
        start = line.lstrip()
        if start.startswith('{'):
            try:
                return 'search' if 'type' in json.loads(line) else 'json'
            except (ValueError, RecursionError):
                return 'json'
        if start.startswith('<'):
            return 'xml'
        if start.startswith(('Frame,', 'n,')):
            return 'csv'
        if METADATA_FRAME.search(line):
            return 'metadata'
        return 'stats_file' if re.match(r'n:\s*[0-9]+\s|psnr_log_version:', start) else None

    def _stats(self, line):
        words = [word.split(':', 1) for word in line.split() if ':' in word]
        fields = dict(words)
        n = count(fields.pop('n', None))
        if not n:
            return None     # psnr's header, or what else was written to the same place
        if len(fields) < len(words) - 1:    # the rest of a line that has lost its end
            self.damaged += 1
            return None
        fields.pop('pts', None)
        return Frame(n - 1, seconds(fields.pop('pts_time', None)), fields)

    def _metadata(self, line):
        """A frame is known to be whole when the next one begins."""
        if '\r' in line:    # ffmpeg's progress before it
            line = line.rstrip('\r').rpartition('\r')[2]
        # in ffmpeg's log: [Parsed_metadata_1 @ 0x55d0c0] lavfi.bliinds.score=12.9
        if line.startswith('['):
            line = line.partition('] ')[2]
        name, equals, value = line.partition('=')
        frame, match = self.frame, not equals and METADATA_FRAME.match(line)
        if match:
            n = count(match[1])
            self.frame = None if n is None else Frame(n, seconds(match[2]), {})
            if frame:
                self.before += 1
                always = frame.fields if self.always is None else self.always
                self.always = frame.fields.keys() & always
            return frame
        if equals and frame and name.startswith('lavfi.'):
            name = name[len('lavfi.'):]
            if name in frame.fields:    # the next frame has lost its first line
                self.damaged += 1
                self.frame = None
            else:
                frame.fields[name] = value
        return None

    def _last_frame(self):
        frame = self.frame
        if frame and (self.rest.strip() or not frame.fields or
                      self.before > 1 and self.always - frame.fields.keys()):
            self.cut = True
        elif frame:
            yield frame

    def _csv(self, line):
        values = next(csv.reader([line])) if '"' in line else line.strip().split(',')
        if not self.names:
            self.names = [name.strip() for name in values]
            return None
        n = count(values[0])
        if n is not None and len(values) == len(self.names):
            fields = {name: value for name, value in zip(self.names[1:], values[1:])
                      if name and not name.startswith('input_file_')}
            n -= self.names[0] == 'n'       # ffmpeg-quality-metrics counts from 1
            return Frame(max(n, 0), seconds(fields.pop('pts_time', None)), fields)
        self.damaged += bool(line.strip())
        return None

    def _search(self, line):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self.damaged += bool(line.strip())
            return
        if isinstance(value, dict):
            self.objects.append(value)

    def _json(self, text):
        try:
            log = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self.not_whole('JSON', error) from error
        self.header = log
        frames = log.get('frames')
        if not isinstance(frames, list):
            yield from self._metrics(log)
            return
        for frame in frames:
            n = count(frame.get('frameNum')) if isinstance(frame, dict) else None
            if n is None or not isinstance(frame.get('metrics'), dict):
                raise self.error('these frames are not in the shape of libvmaf: "frameNum" and '
                                 '"metrics"')
            yield Frame(n, seconds(frame.get('pts_time')), frame['metrics'])

    def _metrics(self, log):
        """A list of frames for each metric, by ffmpeg-quality-metrics."""
        found = {}
        for frames in log.values():
            for frame in frames if isinstance(frames, list) else ():
                n = count(frame.get('n')) if isinstance(frame, dict) else None
                if not n:
                    raise self.error('these frames have no number "n", as those of '
                                     'ffmpeg-quality-metrics have')
                fields = {name: value for name, value in frame.items() if name != 'n'}
                found.setdefault(n - 1, {}).update(fields)
        if not found:
            raise self.error('this JSON has neither the "frames" of libvmaf nor those of '
                             'ffmpeg-quality-metrics')
        for n, fields in sorted(found.items()):
            yield Frame(n, None, fields)

    def _xml(self, text):
        import xml.etree.ElementTree
        try:
            tree = xml.etree.ElementTree.fromstring(text)
        except xml.etree.ElementTree.ParseError as error:
            raise self.not_whole('XML', error) from error
        for frame in tree.iter('frame'):
            fields = dict(frame.attrib)
            n = count(fields.pop('frameNum', None))
            if n is not None:
                yield Frame(n, None, fields)


# ---- pooling ----

WINDOW = 48         # frames
MIN_BATCHES = 4
BINS, MIN_OCTAVE, MAX_OCTAVE = 1 << 10, -32, 31


def total(values):
    """Added in their order: sum() is more exact since Python 3.12."""
    return functools.reduce(operator.add, values, 0.)


def bin_of(value):
    """Values of one bin are taken for evenly spaced; bins rise with their values."""
    fraction, exponent = math.frexp(abs(value))
    if not value or exponent <= MIN_OCTAVE:
        place = 0
    elif exponent - 1 > MAX_OCTAVE:
        place = (MAX_OCTAVE - MIN_OCTAVE + 1) * BINS - 1
    else:
        place = (exponent - 1 - MIN_OCTAVE) * BINS + int((2 * fraction - 1) * BINS)
    return -1 - place if value < 0 else place


def percentiles(values):
    ordered = sorted(values)
    bins = [bin_of(value) for value in ordered]

    def value_at(rank):
        first, end = bisect.bisect_left(bins, bins[rank]), bisect.bisect_right(bins, bins[rank])
        low, high = ordered[first], ordered[end - 1]
        return low + (high - low) * ((rank - first) / (end - first - 1)) if end - first > 1 else low
    found = {}
    for p in PERCENTILES:
        rank = (len(ordered) - 1) * (p / 100)
        before, after = value_at(int(rank)), value_at(min(int(rank) + 1, len(ordered) - 1))
        found[f'p{p}'] = before + (after - before) * (rank - int(rank))
    return found


def standard_error(values):
    """Of the mean of frames that depend on their neighbours, by batches of 1, 2, 4... of them."""
    largest, length, sums = -1., 1, values
    while len(sums) >= MIN_BATCHES:
        mean = squares = 0.
        for i, value in enumerate(sums, 1):
            difference = value / length - mean
            mean += difference / i
            squares += difference * (value / length - mean)
        largest = max(largest, squares / (len(sums) - 1) * length / len(values))
        sums = [a + b for a, b in zip(sums[::2], sums[1::2])]
        length *= 2
    return math.sqrt(largest) if largest >= 0 else None


def worst_window(values, better):
    """The mean over the worst frames in a row, and the first one's place."""
    size = min(WINDOW, len(values))
    sums = [0.] * (len(values) - size + 1)
    for i in range(size):
        sums = list(map(operator.add, sums, values[i:]))
    worst = (max if better == 'lower' else min)(sums)
    return worst / size, sums.index(worst)


def pool(known, better=None, with_percentiles=True):
    """The statistics of (value, frame), as the filters have them in their logs; None for what
    is not known."""
    keys = ['min', 'max', 'mean', 'harmonic_mean', *(f'p{p}' for p in PERCENTILES),
            'standard_error', 'worst_window', 'worst_window_frame']
    found = dict.fromkeys(keys)
    values = [value for value, _ in known]
    if not values:
        return found
    found.update(min=min(values), max=max(reversed(values)), mean=total(values) / len(values),
                 standard_error=standard_error(values))
    if found['min'] > -1:
        found['harmonic_mean'] = len(values) / total(1 / (value + 1) for value in values) - 1
    if with_percentiles:
        found.update(percentiles(values))
    if better:
        found['worst_window'], place = worst_window(values, better)
        found['worst_window_frame'] = known[place][1]
    return found
