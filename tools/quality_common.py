"""Functions shared by the quality tools: exit codes, durations, output files, running ffmpeg, and
facts about media files.

They run with Python 3.11, the version of Debian 12, and newer.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import concurrent.futures
import contextlib
import csv
import ctypes
import functools
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

# Exit codes of all tools.
PASSED, MISSED, FAILED, SIGNALED = 0, 1, 2, 128      # SIGNALED + the number of a signal

# Seconds, counted in checks, after which a process without output or CPU time is stopped.
STALL_CHECKS = 60

# Seconds by which a file's last packet may end before the duration in its header.
END_TOLERANCE = 0.2

# Bitstream filters that split the packets of a codec into frames before quantizer_metadata.
SPLITS = {'av1': 'av1_frame_split', 'vp9': 'vp9_superframe_split', 'mpeg4': 'mpeg4_unpack_bframes'}

# The forms of a duration, and the seconds of the units of their numbers.
NUMBER = r'(\d+(?:\.\d*)?|\.\d+)'
BELOW_60 = r'(?=0*[0-5]?\d?(?!\d))'    # lookahead
DURATIONS = {NUMBER: [1],
             rf'(?:(\d+):{BELOW_60})?(\d+):{BELOW_60}{NUMBER}': [3600, 60, 1],
             rf'(?:{NUMBER}h)?(?:{NUMBER}m)?(?:{NUMBER}s)?(?:{NUMBER}ms)?': [3600, 60, 1, 0.001]}

# Signals that interrupt a tool.
ENDING_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

_LIBC = ctypes.CDLL(None)
_interrupted = threading.Event()    # ends the processes of run_process() in all threads


class ToolError(Exception):
    """An error that ends a tool; its text is the message."""


# ---- text ----

def duration(text):
    """Seconds of 90, 90s, 500ms, 1m30s, 12m, 1h, 1:30 or 01:02:03.5, as a type for argparse."""
    for form, units in DURATIONS.items():
        match = text and re.fullmatch(form, text, re.A)
        values = match.groups('0') if match else ['inf']
        seconds = sum(float(value) * unit for value, unit in zip(values, units))
        if seconds <= 1e9:
            return seconds
    raise argparse.ArgumentTypeError(
        f'{text!r} is not a duration: use 90s, 1m30s, 500ms, 1:30 or 01:02:03')


def clock(time, digits=3):
    """A time as 1:02:03.400."""
    minutes, rest = divmod(round(time * 10 ** digits), 60 * 10 ** digits)
    width = digits + 3 if digits else 2
    return f'{minutes // 60}:{minutes % 60:02}:{rest / 10 ** digits:0{width}.{digits}f}'


def printable(text):
    """The text on one line, with control characters and undecodable bytes escaped."""
    return ''.join(c if c.isprintable() else c.encode('unicode_escape').decode() for c in text)


def print_error(text):
    """Print a line to standard error; names in it may have any characters."""
    # One write: other threads print, too.
    print(printable(text) + '\n', end='', file=sys.stderr, flush=True)


# ---- output files ----

def refuse_overwriting(output, inputs):
    """Raise an error if a file to be written is one of those to be read, by whatever name."""
    for path in inputs:
        opened = 0 if path == '-' else path
        if os.path.isfile(output) and os.path.exists(opened) and os.path.samefile(output, opened):
            raise ToolError(f'{output!r} would overwrite the input {path!r}: name another output')


def write_atomically(path, text):
    """Write a string, or several ones, to a file so that readers see the old contents or the new
    ones, never a part.

    A symbolic link stays one, and an existing file keeps its mode. A pipe, a device and an open
    file such as /dev/stdout are written to directly.
    """
    target = os.path.realpath(path)
    is_file = (os.path.isfile(target) or not os.path.exists(target)) and \
        not re.match('/dev/(fd/|std)|/proc/', os.path.abspath(path))

    def write(to):
        with open(to, 'w', encoding='utf-8', errors='replace') as file:
            file.writelines([text] if isinstance(text, str) else text)

    try:
        if not is_file:
            write(path)
            return
        with tempfile.TemporaryDirectory(prefix='.', dir=os.path.dirname(target)) as folder:
            written = pathlib.Path(folder, 'new')
            write(written)
            if os.path.exists(target):
                shutil.copymode(target, written)
            written.replace(target)
    except OSError as error:
        raise ToolError(f'cannot write {path!r}: {error.strerror}') from error


def write_csv(path, columns, rows):
    """Write dictionaries as CSV; columns that a row lacks are empty. A spreadsheet calculates text
    that begins with = + - or @: a ' prevents it."""
    writer = csv.DictWriter(text := io.StringIO(), columns, '', 'ignore', lineterminator='\n')
    writer.writeheader()
    for row in rows:
        writer.writerow({
            name: re.sub(r'^(?=[=+@\t\r\n-])', "'", cell).replace('\r', '\\r')
            if isinstance(cell, str) else cell for name, cell in row.items()})
    write_atomically(path, text.getvalue().encode('utf-8', 'backslashreplace').decode())


# ---- the program ----

def version():
    """The version of the tools: in a checkout the file VERSION has it, elsewhere the one beside
    this module."""
    here = pathlib.Path(__file__).resolve().parent
    for path in here / 'quality.version', here.parent / 'VERSION':
        if path.exists():
            return path.read_text(encoding='utf-8').strip()
    return 'unknown'


def parse(parser):
    """Parse the command line, with the option --version."""
    error = parser.error
    parser.error = lambda text: error(printable(text))
    parser.add_argument('--version', action='version', version=f'%(prog)s {version()}')
    return parser.parse_args()


def _interrupt(number, _):
    raise KeyboardInterrupt(number)


def run(name, main):
    """Run a tool and exit with its code; errors become a message."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:      # as by nohup
            signal.signal(number, _interrupt)
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        code = SIGNALED + (error.args or [signal.SIGINT])[0]
    except (ToolError, ModuleNotFoundError, OSError) as error:
        code, module = FAILED, getattr(error, 'name', '').replace('_', '-')
        if not isinstance(error, BrokenPipeError):      # the reader of the output has ended
            hint = f'; on Debian: apt-get install python3-{module}' if module else ''
            print_error(f'{name}: {error}{hint}')
    # Python would try to write the rest of the output once more at the end
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


# ---- ffmpeg ----

def identity(path):
    """A file's path, and what changes when the file is written to or replaced."""
    st = os.stat(path)
    return [os.path.abspath(path), st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino, st.st_dev]


def find_ffmpeg(name):
    """The absolute path of the named ffmpeg, or of that beside this tool, or of that in PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), 'ffmpeg')
    ffmpeg = shutil.which(name or (beside if os.access(beside, os.X_OK) else 'ffmpeg'))
    if not ffmpeg:
        raise ToolError(f'cannot run {name or "ffmpeg"}: name an ffmpeg with --ffmpeg')
    return os.path.abspath(ffmpeg)


def find_ffprobe(ffmpeg):
    """The ffprobe beside an ffmpeg, or beside the file that it is a link to, or that in PATH."""
    name = os.path.basename(ffmpeg)
    name = name.replace('ffmpeg', 'ffprobe') if 'ffmpeg' in name else 'ffprobe'     # of a script
    beside = (os.path.join(os.path.dirname(path), name)
              for path in (ffmpeg, os.path.realpath(ffmpeg)))
    ffprobe = next(filter(None, map(shutil.which, [*beside, 'ffprobe'])), None)
    if not ffprobe:
        raise ToolError(f'there is no ffprobe beside {ffmpeg!r} nor in PATH: install one')
    return ffprobe


def url(path):
    """The URL of an input: a colon in the name of a file does not make it a protocol."""
    is_url = re.match(r'\w+:', path) and not os.path.exists(path)
    return path if is_url else 'file:' + path


class Done(NamedTuple):
    """A process that has ended."""
    output: bytes
    log: str            # for people: it contains names and tags, and is never parsed
    code: int           # its exit code, negative for a signal

    @property
    def error(self):
        """The first line of the log, without the address of its context."""
        first = next(iter(self.log.strip().splitlines()), f'it ended with code {self.code}'
                     if self.code >= 0 else f'it was ended by signal {-self.code}')
        return re.sub(r' @ 0x[0-9a-f]+(?=\])', '', first)


def _activity(pid):
    """The ids of a process and of those that it has started, with their CPU times and the numbers
    of bytes that they have written: an ffmpeg may be a script."""
    process, found = pathlib.Path('/proc', str(pid)), []
    with contextlib.suppress(OSError, IndexError):
        times = (process / 'stat').read_bytes().rpartition(b')')[2].split()[11:13]
        found.append((pid, times, (process / 'io').read_bytes().splitlines()[1]))       # wchar
        for path in process.glob('task/*/children'):
            for child in path.read_text(encoding='utf-8').split():
                found += _activity(int(child))
    return found


@contextlib.contextmanager
def _signals_blocked():
    """Delay the signals that interrupt this thread, and yield the signal mask without the delay.

    A process that is started can be interrupted only when it is known which one is to be killed.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _prepare_child(mask):
    """Give a child process its signal mask, and let the kernel kill it if this process is killed."""
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    _LIBC.prctl(1, signal.SIGKILL)      # PR_SET_PDEATHSIG


def _read_lines(file, read_line):
    """Call a function for each line of a file."""
    with file:
        for line in file:
            read_line(line)


def _wait(process, name, may_wait):
    """Wait for the end of a process and return its output and log, unless it is idle for too long."""
    idle, last = 0, None
    while idle < STALL_CHECKS or may_wait:
        try:
            return process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            now = _activity(process.pid)
            idle, last = (idle + 1 if now == last else 0), now
        if _interrupted.is_set():
            raise KeyboardInterrupt
    raise ToolError(f'{os.path.basename(name)} was stopped: it made no progress for {idle} s')


def run_process(command, read_line=None, may_wait=False, **options):
    """Run a program to its end. It is killed, with the programs that it has started, if this one is
    interrupted, or, unless it may wait for data, if it is idle for too long.

    If read_line is given, it gets each line of the output as it comes, in another thread, and the
    result has no output.
    """
    with _signals_blocked() as mask, \
         subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=lambda: _prepare_child(mask),
                          **options) as process:
        reader = None
        if read_line:
            reader = threading.Thread(target=_read_lines, args=(process.stdout, read_line),
                                      daemon=True)
            process.stdout = None       # communicate() reads only the errors
            reader.start()
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            output, log = _wait(process, command[0], may_wait)
            if reader:
                reader.join()
            return Done(output, log.decode(errors='replace'), process.returncode)
        except BaseException:
            signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
            for member, *_ in _activity(process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
            process.kill()      # in case that /proc cannot be read
            # Each of them holds the pipes until it has ended.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=10)
            raise


def in_parallel(function, items, jobs, report=lambda done: None):
    """Return the results of a function that runs programs, for each item in a thread of a pool.

    report() gets the number of finished items after each one. If this is interrupted, the programs
    are killed, and have ended before the exception continues.
    """
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(function, item) for item in items]
            for done, _ in enumerate(concurrent.futures.as_completed(futures), 1):
                report(done)
        except BaseException:
            _interrupted.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [future.result() for future in futures]


def run_ffmpeg(ffmpeg, *arguments, **options):
    """Run ffmpeg with its errors only."""
    return run_process([ffmpeg, '-nostdin', '-hide_banner', '-nostats', '-v', 'error', *arguments],
                       **options)


@functools.cache
def has(ffmpeg, kind):
    """The names of its 'filters', 'bsfs' or 'encoders'; of filters, those that the tools can use."""
    names = set(run_ffmpeg(ffmpeg, '-v', 'quiet', '-' + kind).output.decode().split())
    if kind == 'filters' and 'xpsnr' in names:
        # Before FFmpeg 8.0, xpsnr divides by a frame rate that is unknown behind setpts.
        version = run_ffmpeg(ffmpeg, '-v', 'quiet', '-version').output
        names -= {'xpsnr'} if re.search(rb'libavfilter +([1-9]|10)\.', version) else set()
    return names


# ---- facts about files ----

def probe(ffmpeg, path, *options):
    """The report of ffprobe on a file, as a dictionary with `format` and `streams`."""
    # a stream may begin seconds after the others
    done = run_process([find_ffprobe(ffmpeg), '-v', 'error', '-analyzeduration', '60M',
                        '-probesize', '100M', '-of', 'json', '-show_format', '-show_streams',
                        *options, '-i', url(path)])
    try:
        found = json.loads(done.output)
    except ValueError:
        found = {}
    if done.code or not found.get('streams'):
        raise ToolError(f'cannot read {path!r}: {done.error}')
    return found


def video_stream(found):
    """The video stream that ffmpeg calls 0:V:0, None if there is none: attached pictures are none.
    """
    return next((stream for stream in found['streams'] if stream.get('codec_type') == 'video' and
                 not stream.get('disposition', {}).get('attached_pic')), None)


def missing_end(ffmpeg, path, container=None):
    """A message if a file ends before the duration in its header, else an empty one. The container
    is the `format` of probe(), if that is known.

    Only Matroska and MP4 have a duration that is no estimate.
    """
    container = container or probe(ffmpeg, path)['format']
    if not re.search('matroska|mov', container['format_name']) or 'duration' not in container:
        return ''
    # The duration of Matroska is the time of its end.
    start = 0 if 'matroska' in container['format_name'] else container.get('start_time', 0)
    end = float(container['duration']) + float(start)
    # All packets are read only if those of the last seconds end too early: a long subtitle begins
    # before them.
    for part in ['-read_intervals', f'{max(end - 5, 0):g}%'], []:
        packets = probe(ffmpeg, path, '-show_packets', *part)
        last = max((float(packet['pts_time']) + float(packet.get('duration_time', 0))
                    for packet in packets.get('packets', []) if 'pts_time' in packet), default=0)
        if last > end - END_TOLERANCE:
            return ''
    return f'its packets end at {last:.3f} s, its duration is {end:.3f} s'


def bitstream_filters(ffmpeg, codec):
    """The bitstream filters that make a codec's frames scorable by bliinds, joined by commas; empty
    if this ffmpeg lacks one."""
    chain = [*filter(None, [SPLITS.get(codec)]), 'quantizer_metadata']
    return ','.join(chain) if has(ffmpeg, 'bsfs').issuperset(chain) else ''


def main():
    """Print the bitstream filters for the video of a file; scripts use this."""
    ffmpeg = find_ffmpeg(sys.argv[1])
    stream = video_stream(probe(ffmpeg, sys.argv[2]))
    print(bitstream_filters(ffmpeg, stream and stream.get('codec_name')))
    return PASSED


if __name__ == '__main__':
    run('quality_common', main)
