"""The files and ffmpeg commands of ffcrf: facts about the source, encoding and scoring, the cache.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import collections
import contextlib
import functools
import glob
import hashlib
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import stat
import sys
import tempfile
import time
from typing import NamedTuple

import ffcrf_options
import quality_common
import quality_logs
from ffcrf_options import split_name
from quality_common import ToolError, print_error

LEAST_SKIPPED = 120     # frames from which on not all are scored
LEAST_SCORED = 16       # frames that are scored at any rate

CACHE_FORMAT = 9

# Lines for each frame of the source, packet and decoded frame, beside the scores.
FRAME, PACKET, DECODED = 'frame', 'packet', 'decoded'

PASS = ['-fps_mode', 'passthrough', '-enc_time_base', 'filter']

TEXT_ENCODERS = ['subrip', 'mov_text', 'webvtt']
HDR = {'smpte2084', 'arib-std-b67'}


# ---- names and words ----

def url(path):
    """The name of a file as ffmpeg takes it: neither an option nor a protocol."""
    return 'file:' + path if path[:1] == '-' or ':' in path else path


def input_url(path):
    """The URL of an input: a name that exists is a file."""
    return url(path) if os.path.exists(path) else path


def shell_word(word):
    """Quote a word for a POSIX shell. Control characters, which a terminal would obey, and bytes
    that are not UTF-8, which it could not copy, become the output of printf."""
    if re.fullmatch(r'[\w+=:,./@%-]+', word, re.A):
        return word
    if word.isprintable():
        return shlex.quote(word)
    kept = word.rstrip('\n')        # $() removes newlines at the end
    octal = ''.join(chr(byte) if re.match(r'[\w+=:,./@-]', chr(byte), re.A) else f'\\{byte:03o}'
                    for byte in os.fsencode(kept))
    newlines = word[len(kept):]
    return f'''"$(printf '{octal}')"''' + f"'{newlines}'" * bool(newlines)


def shell_command(words):
    """A command line for a POSIX shell."""
    return ' '.join(map(shell_word, words))


def stream_options(options, stream=''):
    """The words of options, with the specifier of a stream."""
    return [word for name, value in options
            for word in ([f'-{name}{stream}', value] if value is not None else [f'-{name}'])]


# ---- the source ----

class Packet(NamedTuple):
    """A packet of the video."""
    time: float     # in seconds, from the start of the part
    size: int


class Source:
    """The input, as far as it is known without decoding, and the packets of the part that is
    used."""

    def __init__(self, job, path):
        self.path, self.ffmpeg = path, job.ffmpeg
        self.is_url = '://' in path and not os.path.exists(path)
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise ToolError(f"'{path}' is a pipe, folder or device, and the input is read several "
                            'times: save it to a file.')
        found = quality_common.probe(job.ffmpeg, path, '-show_pixel_formats')
        self.streams, self.format = found['streams'], found['format']
        self.pixel_formats = {each['name']: each for each in found['pixel_formats']}
        self.stream = quality_common.video_stream(found)
        if not self.stream:
            pictures = any(stream['codec_type'] == 'video' for stream in self.streams)
            raise ToolError(f"'{path}' contains {'an attached picture but ' * pictures}no video "
                            'stream.')
        self.index = self.stream['index']
        # Raw streams have no timestamps.
        self.is_seekable = 'start_time' in self.format
        self.packets, self.hash, self.seconds = [], '', 0

    @property
    def frame_rate(self):
        """Frames per second, 0 if unknown."""
        rates = (self.stream.get(name, '0/0').split('/')
                 for name in ('avg_frame_rate', 'r_frame_rate'))
        return next((int(n) / int(d) for n, d in rates if int(d)), 0)

    def depth(self, pix_fmt):
        """Bits of the samples of a pixel format."""
        components = self.pixel_formats.get(pix_fmt, {}).get('components', [])
        return max((part['bit_depth'] for part in components), default=8)

    def scan(self, start=0.0, length=0.0, nb_frames=0):
        """Read all packets of the video, keep those of a part, and warn if the file is truncated.

        @param length    seconds of the part; 0 is up to the end
        @param nb_frames the most frames of the part, 0 if there is no limit
        """
        offset = float(self.format.get('start_time', 0)) + start
        digest, last = hashlib.sha256(), -start

        def read(line):
            nonlocal last
            digest.update(line)         # packets before the part are decoded, too
            pts, dts, duration, size = line.split(b',')[:4]
            known = pts if pts != b'N/A' else dts
            begin = float(known) - offset if known != b'N/A' else last
            last = begin + float(duration if duration != b'N/A' else 0)
            if begin >= 0 and not (length and begin >= length) and \
                    not (nb_frames and len(self.packets) == nb_frames):
                self.packets.append(Packet(begin, int(size)))
                self.seconds = max(self.seconds, last)

        done = quality_common.run_process(
            [quality_common.find_ffprobe(self.ffmpeg), '-v', 'error', '-select_streams',
             str(self.index), '-show_entries',
             'packet=pts_time,dts_time,duration_time,size,flags,data_hash', '-show_data_hash',
             'murmur3', '-of', 'csv=p=0', '-i', input_url(self.path)], read, self.is_url)
        self.hash = digest.hexdigest()
        if done.code:
            raise ToolError(f"Cannot read the packets of '{self.path}': {done.error}")
        if not self.packets:
            part = ' in that part' if start or length else ''
            raise ToolError(f"'{self.path}' has no frames{part}.")
        if os.path.isfile(self.path):
            missing = quality_common.missing_end(self.ffmpeg, self.path, self.format)
            if missing:
                print_error(f"'{self.path}' is cut off: {missing}. Using the part that can be "
                            'read.')

    @property
    def bytes(self):
        """The size of the part."""
        return sum(packet.size for packet in self.packets)


# ---- scores ----

class Result:
    """Counts and scores of an encode, from the lines that its command prints."""

    def __init__(self, metric, known=None):
        self.metric = metric
        # scores by the letter of their plane
        self.nb_frames = self.nb_source = self.nb_packets = self.bytes = self.seconds = 0
        self.planes = {}
        self.is_cached = known is not None
        vars(self).update(known or {})

    def read(self, line):
        """Read a line. Return whether it is that of a decoded frame."""
        line = line.decode(errors='replace').rstrip('\n')
        name, _, value = line.partition('=')
        if line == FRAME:
            self.nb_source += 1
        elif line == DECODED:
            self.nb_frames += 1
            return True
        elif line.startswith(PACKET + ' '):
            self.nb_packets += 1
            self.bytes += int(line.split()[1])
        elif line.startswith(self.metric.key):
            # decibels are infinite where planes are equal
            score = min(float(value), 100) if self.metric.decibels else float(value)
            self.planes.setdefault(name[-1], []).append(score)
        return False

    @property
    def known(self):
        """What the cache keeps."""
        return {name: vars(self)[name] for name in ('nb_frames', 'nb_source', 'nb_packets',
                                                    'bytes', 'seconds', 'planes')}

    @functools.cached_property
    def scores(self):
        """The scores of all frames, of the plane that is worst on the whole, as in xpsnr's own
        summary."""
        worst = min if self.metric.better == 'higher' else max
        return worst(self.planes.values(), key=lambda scores: mean(self.metric, scores),
                     default=[])


def mean(metric, scores):
    """The mean; for decibels, that of the errors that they stand for."""
    return quality_logs.mean(scores, metric)


def pooled(metric, pool, results):
    """The score of some samples: their mean, that of the worst one, or a percentile, by the nearest
    rank from the worst score, as in the summaries of the filters."""
    scores = [score for result in results for score in result.scores]
    if pool == 'worst':
        worst = min if metric.better == 'higher' else max
        return worst(mean(metric, result.scores) for result in results)
    if pool == 'mean':
        return mean(metric, scores)
    ordered = sorted(scores, reverse=metric.better == 'lower')
    return ordered[(len(scores) * int(pool[1:]) + 99) // 100 - 1]


class Sample(NamedTuple):
    """A part of the source that is encoded."""
    start: float        # in seconds of the part that is used
    duration: float     # 0 is all
    bytes: int          # of the source's packets
    nb_frames: int
    step: int           # one of this many frames is scored


def scoring_step(job, nb_frames):
    """One of how many frames of a part is scored."""
    # A percentile of some frames is not that of all.
    step = 1 if job.pool[0] == 'p' else job.step or \
        (1 if nb_frames < LEAST_SKIPPED else job.metric.step)
    return max(min(nb_frames // LEAST_SCORED, step), 1)


# ---- running ffmpeg ----

class Meter:
    """The progress meter: on a terminal a line that changes, else a line every 10 seconds."""

    def __init__(self, doing='', jobs=1):
        """@param jobs number of equal jobs that are left, including this one"""
        self.doing, self.jobs, self.begin = doing, jobs, time.monotonic()
        self.shown = self.begin
        self.is_terminal = sys.stderr.isatty()

    def show(self, frames, nb_frames):
        """Show how many frames are done."""
        now = time.monotonic()
        if now - self.shown < (0.25 if self.is_terminal else 10):
            return
        self.shown, nb_frames = now, max(frames, nb_frames)
        seconds = now - self.begin
        left = seconds * (self.jobs * nb_frames / frames - 1)
        text = f'{self.doing}frame {frames} of {nb_frames}, {frames / seconds:.1f} fps, ETA ' + \
            clock(left)
        print(f'\r\033[K{text}' if self.is_terminal else text + '\n', end='', file=sys.stderr,
              flush=True)

    def clear(self):
        """Remove the line from the terminal."""
        if self.is_terminal:
            print('\r\033[K', end='', file=sys.stderr, flush=True)


def clock(seconds):
    """A time as 1:02:03 or 2:03."""
    text = quality_common.clock(min(max(seconds, 0), 359999), 0)
    return re.sub('^0:0?', '', text)


def run(job, words, nb_frames=0, result=None):
    """Run ffmpeg; the result reads its output. What it writes to standard error is printed when it
    has ended."""
    nb_decoded = 0

    def read(line):
        nonlocal nb_decoded
        if result.read(line):
            nb_decoded += 1
            job.meter.show(nb_decoded, nb_frames)

    if job.loglevel in ('verbose', 'debug', 'trace'):
        print_error(shell_command([job.ffmpeg_name, *words]))
    done = quality_common.run_process([job.ffmpeg, *words], result and read, job.source.is_url)
    job.meter.clear()
    for line in done.log.splitlines():
        print_error(line)
    if done.code:
        raise ToolError(f'ffmpeg failed: {done.error}')


def ask(job, *words):
    """Run ffmpeg for its answer to a question."""
    return quality_common.run_process([job.ffmpeg, '-nostdin', '-v', 'quiet', *words])


def init(job):
    """Find ffmpeg, and check that it has the metric."""
    job.ffmpeg = quality_common.find_ffmpeg(job.ffmpeg)
    named = shutil.which('ffmpeg')
    # the one that a user starts by its name needs no path
    job.ffmpeg_name = 'ffmpeg' if named and os.path.samefile(named, job.ffmpeg) else job.ffmpeg
    job.meter = Meter()
    help_text = ask(job, '-h', 'filter=' + job.metric.name).output
    if help_text.startswith(b'Unknown filter'):
        raise ToolError(f"This ffmpeg has no filter '{job.metric.name}': use --target-ssim or "
                        '--target-xpsnr, or an ffmpeg that has it.')
    if job.metric.name == 'xpsnr' and 'xpsnr' not in quality_common.has(job.ffmpeg, 'filters'):
        raise ToolError('XPSNR needs FFmpeg 8.0 or newer: use --target-ssim, or another ffmpeg.')
    job.ffmpeg_version = ask(job, '-version').output.decode('latin-1')


def open_source(job, path):
    """Read an input."""
    job.source = Source(job, path)
    job.source.scan(job.start, job.length, job.nb_frames)
    if job.start and not job.source.is_seekable:
        converted = url(ffcrf_options.output_name(path, 'mkv'))
        raise ToolError(f"-ss needs an input with timestamps, unlike '{path}'. Convert it without "
                        f'loss: ffmpeg -i {shell_word(input_url(path))} -c:v ffv1 '
                        f'{shell_word(converted)}')


# ---- the cache: files that are named by the hash of all that the result depends on ----

def cache_folder(job):
    """The folder, which is made if needed; None after a message if there is none."""
    own, xdg, home = map(os.environ.get, ('FFCRF_CACHE', 'XDG_CACHE_HOME', 'HOME'))
    folder = own or xdg and f'{xdg}/ffcrf' or home and f'{home}/.cache/ffcrf'
    try:
        if not folder:
            raise OSError('HOME is not set')
        os.makedirs(folder, exist_ok=True)
        return folder
    except OSError as error:
        reason = f'cannot create {folder}' if folder else error
        print_error(f'Cache disabled: {reason}. Set FFCRF_CACHE to a writable folder.')
        job.cache = False
        return None


def identities(words):
    """The identities of all files that are named in words, such as lookup tables and subtitles of
    filters; names may contain spaces."""
    separators = ' \t\n\'"=:,;[]()'
    found = {name for word in words for split in (separators, separators[1:])
             for name in re.split('[' + re.escape(split) + ']+', word)}
    return [quality_common.identity(name) for name in sorted(found)
            if name and not name.startswith('/dev/') and os.path.isfile(name)]


def program_files(job):
    """The identities of this program and of ffmpeg with its shared libraries."""
    if not job.program_files:
        folder = os.path.dirname(os.path.realpath(__file__))
        # the dynamic linker lists what it would load
        libraries = quality_common.run_process(
            [job.ffmpeg, '-version'], env={**os.environ, 'LD_TRACE_LOADED_OBJECTS': '1'})
        job.program_files = identities([
            job.ffmpeg, libraries.output.decode(errors='surrogateescape'), __file__,
            *glob.glob(f'{glob.escape(folder)}/ffcrf*'), quality_common.__file__,
            quality_logs.__file__])
    return job.program_files


class Entry:
    """An entry of the cache; it contains the hash of its key and of the result."""

    def __init__(self, job, words):
        self.key = json.dumps([CACHE_FORMAT, job.ffmpeg_version, job.source.hash, words,
                               program_files(job), identities([*words, job.source.path])])
        folder = job.cache and cache_folder(job)
        self.path = folder and os.path.join(folder, self.digest(''))

    def digest(self, text):
        """The hash of the key and a text."""
        return hashlib.sha256((self.key + text).encode(errors='surrogateescape')).hexdigest()[:32]

    def read(self):
        """The result, None if there is none, or a damaged one."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            digest, text = pathlib.Path(self.path).read_text(encoding='utf-8').split('\n', 1)
            if digest == self.digest(text):
                return json.loads(text)
        return None

    def write(self, job, result):
        """Keep a result."""
        if not self.path:
            return
        text = json.dumps(result)
        try:
            quality_common.write_atomically(self.path, f'{self.digest(text)}\n{text}')
        except ToolError as error:
            print_error(f'Cache disabled: {error}.')
            job.cache = False


# ---- parts of commands ----

def filters(job, is_reference=False):
    """Filters before the encoder, or before the comparison. All that comes out of them is of one
    size and format, those of the encoder's first frame."""
    user = is_reference and job.reference or job.filters
    end = 'null' if not job.pix_fmt else f'format={job.pix_fmt}'
    if job.coded:
        deep = '10' if is_reference and job.mixed_depth else ''
        end = 'scale={width}:{height},format={pix_fmt}'.format(**job.coded) + deep
    return ','.join([*filter(None, [
        user, job.rate and f'fps={job.rate}', job.size and f'scale=s={job.size}',
        job.nb_frames and f'trim=end_frame={job.nb_frames}'])] +
        # a command that was printed has it already
        ['null' if user and end in user else end])


def global_options(job, is_printed=False):
    """Options that apply to all files."""
    gpu = job.gpu_format and not is_printed
    return ['-nostdin', *['-y', '-nostats', '-v', job.loglevel] * (not is_printed),
            *['-init_hw_device', 'vaapi'] * bool(job.upload),
            *['-init_hw_device', f'cuda=gpu:{job.gpu_number}', '-filter_hw_device', 'gpu'] *
            bool(gpu)]


def input_options(job, start=0, length=0):
    """A part of what is used of the source; length 0 is to its end."""
    start, length = start + job.start, length or job.length
    return [*['-hwaccel', job.hwaccel or ''] * bool(job.hwaccel),
            *['-ss', f'{start:.12g}'] * (start > 0), *['-t', f'{length:.12g}'] * (length > 0),
            '-i', input_url(job.source.path)]


def encoder_words(job, crf, stream):
    """The encoder and its options."""
    return stream_options([('c', job.encoder), (job.crf_option, f'{crf:.6g}'),
                           *job.encoder_options.items(), ('fps_mode', 'passthrough'),
                           ('enc_time_base', 'filter')], stream)


def vmaf_scale(job):
    """The filter of --vmaf-scale with a comma before it, or nothing."""
    if not job.scale:
        return ''
    size, is_auto = (job.coded['width'], job.coded['height']), job.scale == 'auto'
    is_4k = '2160' in job.model or job.model == '4k' or job.model == 'v1' and size[1] > 1440
    wanted = job.scale if not is_auto else (3840, 2160) if is_4k else (1920, 1080)
    if is_auto and any(have >= 0.9 * want for have, want in zip(size, wanted)):
        return ''
    # the side that fills the size is scaled to it, the other keeps the shape
    is_tall = size[1] * wanted[0] > size[0] * wanted[1]
    return f',scale=-1:{wanted[1]}:flags=bicubic' if is_tall else \
        f',scale={wanted[0]}:-1:flags=bicubic'


def score_words(job, graph, encode, step):
    """Pair the frames of [encode] with those of [s] by number, and print the scores of one of each
    step frames: the encode's frames go to [c], compared ones to [o].

    @param graph the part of the same graph that makes [s], with ";", or nothing
    """
    metric, options = job.metric, ''
    is_vmaf = metric.name == 'vmaf'
    model = {'4k': 'vmaf_v1.0.16_1d5h_2160', 'phone': 'vmaf_v1.0.16_5d0h'}.get(job.model, job.model)
    # the position in each step changes: encoders repeat their types of frames with a period
    rest = vmaf_scale(job) if step < 2 or is_vmaf else \
        f",select='eq(mod(n,{step}),floor({step}*mod(floor(n/{step})*0.618034,1)))'"
    if job.gpu_format:
        # the first format keeps a scaler from writing the other one, which it rounds differently
        rest += f',format={job.coded["pix_fmt"]},format={job.gpu_format},hwupload'
    # its motion is relative to the previous frame, so it gets all frames; v1 depends on the size
    if is_vmaf:
        options = f':n_subsample={step}' + ':bitdepth=10' * job.mixed_depth + \
            f':model=version={model}' * (model != 'v1')
    pair = '[r][e]' if metric.decibels else '[e][r]'
    # with shortest=1, ffmpeg loses the last frame of a filter that waits for the next one
    graph += f'[{encode}]settb=1/25,setpts=N,split[c][x];[x]null{rest}[e];' \
        f'[s]settb=1/25,setpts=N{rest}[r];{pair}{metric.name}{"_cuda" * bool(job.gpu_format)}' \
        f'=eof_action=pass{options},metadata=print:file=/dev/stdout:direct=1[o]'
    return ['-filter_complex', graph, '-map', '[c]', *PASS, '-stats_enc_pre', '/dev/fd/1',
            '-stats_enc_pre_fmt', DECODED, '-f', 'null', '-', '-map', '[o]', *PASS, '-f', 'null',
            '-']


def part_graph(job):
    """The graph of a part: [a] is encoded, and compared with [s]. FFmpeg gives side data, such as
    that of HDR, to the first output of a graph."""
    index = job.source.index
    if job.reference:
        return f'[0:{index}]split[x][y];[x]{filters(job)}{job.upload}[a];' \
            f'[y]{filters(job, True)}[s]'
    encoded = '[a0]' if job.upload else '[a]'
    upload = f'[a0]null{job.upload}[a];' * bool(job.upload)
    return f'[0:{index}]{filters(job)},split{encoded}[x];{upload}[x]null[s]'


# ---- scores of an encode ----

def check_reference(job, sample):
    """Count the frames of both filter chains of a part, if they differ: pairs of unequal numbers
    would let encoder and filters wait for each other."""
    result = Result(job.metric)
    run(job, [*global_options(job), *input_options(job, sample.start, sample.duration),
              '-filter_complex', part_graph(job), '-map', '[a]', *PASS, '-stats_enc_pre',
              '/dev/fd/1', '-stats_enc_pre_fmt', DECODED, '-f', 'null', '-', '-map', '[s]', *PASS,
              '-stats_enc_pre', 'pipe:1', '-stats_enc_pre_fmt', FRAME, '-f', 'null', '-'],
        sample.nb_frames, result)
    if result.nb_frames != result.nb_source:
        raise ToolError(f'-vf makes {result.nb_frames} frames, and --reference-vfilter '
                        f'{result.nb_source}: they cannot be paired. Leave out what drops or adds '
                        'frames.')


def measure(job, words, sample):
    """Run a command and read its scores. It fails if a frame got lost, or may be paired with the
    wrong frame."""
    begin = time.monotonic()
    result = Result(job.metric)
    run(job, words, sample.nb_frames, result)
    result.seconds = time.monotonic() - begin
    nb, nb_scores, step = result.nb_frames, len(result.scores), sample.step
    if result.nb_source != nb or result.nb_packets not in (0, nb):
        packets = f' in {result.nb_packets} packets' if result.nb_packets else ''
        advice = 'Give the part, -vf and -r that the encode was made with.' if job.verify else \
            'Leave out what drops or adds frames.'
        raise ToolError(f'The encode has {nb} frames{packets}, and its reference has '
                        f'{result.nb_source} frames: they cannot be paired. {advice}')
    # an incomplete step at the end may have no score
    if not max(nb // step, 1) <= nb_scores <= (nb + step - 1) // step:
        raise ToolError(f'{nb_scores} of {nb} frames were scored, and not one of each {step}.')
    if not math.isfinite(mean(job.metric, result.scores)):
        raise ToolError(f'{job.metric.name} has no score for this video: choose another metric.')
    return result


# ---- the encoder and the container ----

def assign_options(job, encoder_help):
    """Move options of the muxer to those of the file, by the tables of the libraries, as ffmpeg
    does. The others are for the encoder."""
    if not job.encoder_options:
        return
    text = ask(job, '-h', 'full').output.decode(errors='replace')
    sections = re.split(r'^(.*) AVOptions:\n', text, flags=re.M)
    tables = collections.defaultdict(set)
    for title, body in zip(sections[1::2], [*sections[2::2]]):
        kind = title if title in ('AVCodecContext', 'AVFormatContext') else \
            'muxer' if 'muxer' in title else 'other'
        tables[kind].update(re.findall(r'^  -(\S+) +<\w+> +E', body, re.M))
    of_codec = tables['AVCodecContext'].union(re.findall(r'^  -(\S+) +<', encoder_help, re.M))
    for name, value in [*job.encoder_options.items()]:
        is_format = name in tables['AVFormatContext']
        if is_format or name in tables['muxer'] - of_codec:
            job.other_options.append((name, value))
            if name not in of_codec:
                del job.encoder_options[name]


def find_encoder(job):
    """Choose the encoder, and set its options."""

    def ask_encoder(name, option):
        text = ask(job, '-h', 'encoder=' + name).output.decode(errors='replace')
        if text.startswith("Codec '"):
            raise ToolError(f"This ffmpeg has no encoder '{name}' for -{option}: `ffmpeg "
                            '-encoders` lists those it has.')
        return text

    if not job.encoder:
        known = quality_common.has(job.ffmpeg, 'encoders')
        job.encoder = next((name for name in ('libsvtav1', 'libx265') if name in known), 'libx264')
    text = ask_encoder(job.encoder, 'c:v')
    ffcrf_options.take_encoder(job, text, job.source.frame_rate)
    assign_options(job, text)
    for name, value in job.other_options:
        if name.startswith('c:') and value != 'copy':
            ask_encoder(value, name)


def container_options(job, stream):
    """The default options of the output's container. @param stream specifier of the video, ":v" """
    given = [name for name, _ in job.other_options]
    container = dict(job.other_options).get('f') or split_name(job.output)[1][1:].lower()
    if container not in ('mp4', 'mov'):
        return []
    # as ab-av1: playback can begin before the download ends, and Apple's players take HEVC
    has_tag = any(name == 'vtag' or name.split(':')[0] == 'tag' for name in given)
    return ['-movflags', '+faststart'] * ('movflags' not in given) + \
        [f'-tag{stream}', 'hvc1'] * (job.coded['codec_name'] == 'hevc' and not has_tag)


def check_muxer(job, first, folder):
    """Let the muxer of the output begin a file with the encode's stream: ffmpeg may wait forever
    for one that has failed, and what muxers accept depends on more than the codec."""
    options = [(name, value) for name, value in job.other_options
               if ':' not in name or re.search(':v(:|$)', name)]
    trial = os.path.join(folder, 'trial' + split_name(job.output)[1])
    done = quality_common.run_ffmpeg(job.ffmpeg, '-y', '-i', first, '-c', 'copy',
                                     *container_options(job, ':v'), *stream_options(options), trial)
    if done.code:
        given = shell_command([job.coded['codec_name'], *stream_options(options)])
        raise ToolError(f"'{job.output}' cannot contain {given}: let the name end with .mkv, or "
                        f'choose other options. {done.error.replace(trial, job.output)}')


def stream_encoder(job, stream, folder):
    """Choose "copy" or an encoder for a stream of the output; None if no encoder fits."""
    container = [(name, value) for name, value in job.other_options if name == 'f']
    trial = os.path.join(folder, 'stream' + split_name(job.output)[1])
    for name in ['copy'] + TEXT_ENCODERS * (stream['codec_type'] == 'subtitle'):
        if not quality_common.run_ffmpeg(
                job.ffmpeg, '-y', '-i', input_url(job.source.path), '-map', f'0:{stream["index"]}',
                '-c', name, '-t', '0', *stream_options(container), trial).code:
            return name
    return None


class OutputMaps(NamedTuple):
    """Options that map and encode the streams of the output."""
    printed: list       # as they are printed
    scored: list        # with [a] for the video
    stream: str         # specifier of the video
    place: int          # index of the video


def choose_streams(job, folder):
    """Choose the streams of the output, and warn of those that are left out."""
    options, video = dict(job.other_options), job.source.index
    encoded = {'audio': any(name.startswith('c:a') for name in options)}
    dropped = {'audio': 'an' in options, 'subtitle': 'sn' in options, 'data': 'dn' in options}
    printed = ['-map', f'0:{video}'] if job.video_only else ['-map', '0']
    # or else copied audio begins before the part in some containers
    coders = ['-c', 'copy'] + ['-copypriorss:a', '0'] * (job.start > 0)
    scored, data, kinds, place = [], [], [], 0
    for stream in job.source.streams:
        index, kind = stream['index'], stream.get('codec_type', 'data')
        name = stream.get('codec_name', 'unknown')
        if index != video and (job.video_only or dropped.get(kind)):
            continue
        coder = 'copy' if index == video or encoded.get(kind) else \
            stream_encoder(job, stream, folder)
        if not coder and kind == 'audio':
            raise ToolError(f"'{job.output}' cannot contain {name}, which stream {index} is: let "
                            'the name end with .mkv, or choose an encoder by -c:a.')
        if not coder:
            print_error(f"Stream {index} ({name}) is left out: '{job.output}' cannot contain it.")
            printed += ['-map', f'-0:{index}']
            continue
        scored += ['-map', '[a]' if index == video else f'0:{index}']
        # what comes from a graph has lost what is known of it
        data += [f'-map_metadata:s:{len(kinds)}', f'0:s:{index}']
        if index == video:
            place, ordinal = len(kinds), kinds.count('video')
            if stream['disposition']['default']:
                data += [f'-disposition:{place}', 'default']
        if coder != 'copy':
            coders += [f'-c:{len(kinds)}', coder]
        kinds.append(kind)
    specifier = f':v:{ordinal}' if kinds.count('video') > 1 else ':v'
    coders += container_options(job, specifier) + stream_options(job.other_options)
    job.maps = OutputMaps(printed + coders, scored + data + coders, specifier, place)


def check_gpu(job):
    """Score on a GPU only if one can."""
    if job.gpu == 'off':
        return
    number = re.match(r'\d*', job.gpu, re.A)[0] or '0'
    form = {'yuv420p10le': 'p010', 'yuv420p': 'nv12', 'yuvj420p': 'nv12'}.get(job.coded['pix_fmt'])
    if form and not job.upload and not job.mixed_depth and job.gpu in ('', 'auto', number):
        done = quality_common.run_process(
            [job.ffmpeg, '-nostdin', '-v', 'error' if job.gpu else 'quiet', '-init_hw_device',
             f'cuda=gpu:{number}', '-filter_hw_device', 'gpu', '-f', 'lavfi', '-i',
             'color=s=320x320:d=0.04', '-vf',
             f'format={form},hwupload,split,{job.metric.name}_cuda', '-f', 'null', '-'])
        for line in done.log.splitlines():
            print_error(line)
        if not done.code:
            job.gpu_format, job.gpu_number = form, number
            return
    if job.gpu == 'auto':
        print_error(f'Scoring on the CPU: no GPU can score {job.metric.name} of this format.')
    elif job.gpu:
        raise ToolError(f'--gpu {job.gpu}: it cannot score {job.metric.name} of this format, see '
                        '-pix_fmt.')


# ---- commands ----

def encode_command(job, crf):
    """The command that makes the output, for a user."""
    return shell_command([
        job.ffmpeg_name, *global_options(job, True), *input_options(job), *job.maps.printed,
        *encoder_words(job, crf, job.maps.stream),
        f'-filter{job.maps.stream}', filters(job) + job.upload, url(job.output_of(crf))])


def reserve_output(output):
    """Create a file of a new name beside the output, for an incomplete encode."""
    folder, name = os.path.split(output)
    # the longest name of a file has 255 bytes
    start = os.fsdecode(os.fsencode(name)[:100])
    part = os.path.join(folder, f'{start}.{time.time_ns():x}.part{split_name(name)[1]}')
    try:
        with open(part, 'x', encoding='utf-8'):
            return part
    except OSError as error:
        raise ToolError(f"Cannot create '{part}': {error.strerror}.") from error


def encode_first(job):
    """Choose the encoder, encode one frame, to learn its format and to check all options, and
    choose the streams of the output, whose container has to accept the codec."""
    if job.encode:
        os.remove(reserve_output(job.encode))
    find_encoder(job)
    with tempfile.TemporaryDirectory() as folder:
        first = os.path.join(folder, 'first.mkv')
        run(job, [*global_options(job), *input_options(job), '-map', f'0:{job.source.index}', '-vf',
                  filters(job) + job.upload, *encoder_words(job, job.plan.min_crf, ':v'),
                  '-frames:v', '1', first])
        job.coded = quality_common.video_stream(quality_common.probe(job.ffmpeg, first)) or {}
        if 'pix_fmt' not in job.coded:
            raise ToolError(f'The pixel format of {job.encoder} is not known.')
        check_muxer(job, first, folder)
        choose_streams(job, folder)
    check_gpu(job)


def encode_words(job, crf, sample, output=None):
    """The command that encodes a sample, or the whole to a file, and scores it."""
    is_sample = output is None
    maps = OutputMaps([], ['-map', '[a]'], ':v', 0) if is_sample else job.maps
    # headers where most files have them
    to = ['-flags:v', '+global_header', '-f', 'null', '-'] if is_sample else [url(output)]
    # ffmpeg has one buffer for all that it prints to files of one name, and no lock: each kind of
    # line, as that of score_words(), needs another name of standard output
    stats = [('stats_enc_pre', 'pipe:1'), ('stats_enc_pre_fmt', FRAME),
             ('stats_mux_pre', '/dev/stdout'), ('stats_mux_pre_fmt', PACKET + ' {size}')]
    return [*global_options(job), *input_options(job, sample.start, sample.duration),
            '-filter_complex', part_graph(job), *maps.scored,
            *encoder_words(job, crf, maps.stream), *stream_options(stats, maps.stream), *to,
            '-dec', f'0:{maps.place}', *score_words(job, '', 'dec:0', sample.step)]


def encode_part(job, crf, sample):
    """Encode a sample and score it, unless the result is in the cache."""
    words = encode_words(job, crf, sample)
    entry = Entry(job, words)
    known = entry.read()
    if known:
        return Result(job.metric, known)
    if job.reference:
        check_reference(job, sample)
    result = measure(job, words, sample)
    entry.write(job, result.known)
    return result


def encode_whole(job, crf):
    """Encode the whole input to the file of --encode, and score it. The file gets its name when it
    is complete. It does not replace another one without -y; one that the same command made is taken
    as it is if the output is in a folder."""
    nb = len(job.source.packets)
    sample = Sample(0, 0, 0, nb, scoring_step(job, nb))
    entry = Entry(job, encode_words(job, crf, sample, ''))
    if os.path.exists(job.encode) and not job.overwrite:
        known = entry.path and entry.read() or {}
        if known.pop('file', None) != quality_common.identity(job.encode):
            raise ToolError(f"'{job.encode}' exists, and it is not known to be the encode of "
                            f"'{job.source.path}' by this command: remove it, or add -y.")
        return Result(job.metric, known)
    if job.reference:
        check_reference(job, sample)
    part = reserve_output(job.encode)
    try:
        result = measure(job, encode_words(job, crf, sample, part), sample)
    except BaseException:
        os.unlink(part)
        raise
    try:
        if job.overwrite:
            os.replace(part, job.encode)
        else:
            link(part, job.encode)
    except OSError as error:
        raise ToolError(f"Cannot rename '{part}', which is the finished encode, to "
                        f"'{job.encode}': {error.strerror}.") from error
    entry.write(job, {**result.known, 'file': quality_common.identity(job.encode)})
    return result


def link(part, output):
    """Rename a file, unless the new name exists."""
    try:
        os.link(part, output)       # which replaces nothing
        os.unlink(part)
    except FileExistsError:
        raise
    except OSError:                 # not all file systems have links
        if os.path.exists(output):
            raise
        os.rename(part, output)


# ---- an encode that exists ----

def check_transfer(job):
    """Refuse to compare PQ or HLG with another transfer, as the filters do of their inputs."""
    transfers = [stream.get('color_transfer', 'unknown')
                 for stream in (job.source.stream, job.coded)]
    if job.filters or job.reference or 'unknown' in transfers or \
            transfers[0] == transfers[1] or not HDR & {*transfers}:
        return
    raise ToolError(f"The transfer of '{job.source.path}' is {transfers[0]}, and that of "
                    f"'{job.verify}' is {transfers[1]}: convert the source as for the encode, for "
                    f'example by -vf scale=out_transfer={transfers[1]}:out_primaries='
                    f'{job.coded.get("color_primaries", "unknown")}:out_color_matrix='
                    f'{job.coded.get("color_space", "unknown")}')


def encode_verify(job):
    """Score the encode of --verify."""
    encode = Source(job, job.verify)
    encode.scan()
    job.coded = encode.stream
    if 'pix_fmt' not in job.coded:
        raise ToolError(f"'{job.verify}' contains no video stream that can be decoded.")
    # vmaf compares 8 bits with the 10 that they were made of, and need not round these
    job.mixed_depth = job.metric.name == 'vmaf' and \
        job.source.depth(job.source.stream.get('pix_fmt')) > 8 and \
        f'{job.coded["pix_fmt"]}10le' in job.source.pixel_formats
    check_transfer(job)
    check_gpu(job)
    nb = len(encode.packets)
    sample = Sample(0, 0, 0, nb, scoring_step(job, nb))
    # in a graph of its own, the reference would wait for the encode, and that for the reference
    reference = f'[1:{job.source.index}]{filters(job, True)},split[s][d];'
    result = measure(job, [
        *global_options(job), '-i', input_url(job.verify), *input_options(job),
        *score_words(job, reference, f'0:{encode.index}', sample.step), '-map', '[d]', *PASS,
        '-stats_enc_pre', 'pipe:1', '-stats_enc_pre_fmt', FRAME, '-f', 'null', '-'], sample)
    result.bytes = encode.bytes
    return result
