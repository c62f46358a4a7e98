"""What the tools share: exit codes and errors, durations, whole files, their version; where ffmpeg
is, what it has, and what it says of a file. They run with Python 3.11, Debian 12's, and newer.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import functools
import os
import re
import shutil
import signal
import subprocess
import sys

# Exit codes of all tools, ffcrf among them.
PASSED, MISSED, FAILED, INTERRUPTED = 0, 1, 2, 130

# What ffmpeg says of a file that is damaged or missing, and what comes before that in a line.
COMPLAINT = re.compile(r'\[(error|fatal)\]|[Cc]orrupt')
PREFIX = re.compile(r'(\[[^]]* @ 0x[0-9a-f]+\] )*(\[\w+\] )?')

# What splits a packet of some codecs, before quantizer_metadata tells how frames were coded.
SPLITS = {'av1': 'av1_frame_split', 'vp9': 'vp9_superframe_split', 'mpeg4': 'mpeg4_unpack_bframes'}


class ToolError(Exception):
    """What ends a tool, in words for its user."""


def duration(text):
    """Seconds, of 2, 2s, 500ms, 1m or 1h, for argparse."""
    match = re.fullmatch(r'(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|)', text)
    if not match or float(match[1]) > 1e9:
        raise argparse.ArgumentTypeError(f'{text!r} is no duration such as 2s, 500ms or 1m')
    return float(match[1]) * {'ms': 0.001, 'm': 60, 'h': 3600}.get(match[2], 1)


def clock(time, digits=3):
    """1:02:03.400"""
    minutes, rest = divmod(round(time * 10 ** digits), 60 * 10 ** digits)
    width = digits + 3 if digits else 2
    return f'{minutes // 60}:{minutes % 60:02}:{rest / 10 ** digits:0{width}.{digits}f}'


def printable(text):
    """Text in a line, whatever is in a file's name."""
    return ''.join(c if c.isprintable() else '?' for c in text)


def say(text):
    print(text, file=sys.stderr, flush=True)


def write_whole(path, text):
    """Writes a file, so that readers see the old one or the new one and never a part."""
    is_file = os.path.isfile(path) or not os.path.exists(path)      # not /dev/stdout
    temporary = f'{path}.{os.getpid()}.tmp' if is_file else path
    try:
        with open(temporary, 'w', encoding='utf-8', errors='replace') as file:
            file.write(text)
        if is_file:
            os.replace(temporary, path)
    except OSError as error:
        raise ToolError(f'{path!r} cannot be written: {error.strerror}') from error
    finally:
        if is_file and os.path.exists(temporary):
            os.unlink(temporary)


def parse(parser):
    """The options, --version among them. In a checkout the number is in the file VERSION, anywhere
    else beside this one."""
    here = os.path.dirname(os.path.realpath(__file__))
    paths = [os.path.join(here, name) for name in ('quality.version', '../VERSION')]
    with open(next(filter(os.path.exists, paths)), encoding='utf-8') as file:
        version = file.read().strip()
    parser.add_argument('--version', action='version', version=f'%(prog)s {version}')
    return parser.parse_args()


def run(name, main):
    """Runs a tool to its exit code, and says what ended it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except (ToolError, ModuleNotFoundError, OSError) as error:
        code, module = FAILED, getattr(error, 'name', '').replace('_', '-')
        if not isinstance(error, BrokenPipeError):      # who read the output has gone
            hint = f'; on Debian: apt-get install python3-{module}' if module else ''
            say(printable(f'{name}: {error}{hint}'))
    # what could not be written is not tried once more at the end
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)


# ---- ffmpeg ----

def find_ffmpeg(name):
    """The ffmpeg that is named, or is beside this tool, or of the PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), 'ffmpeg')
    ffmpeg = shutil.which(name or (beside if os.access(beside, os.X_OK) else 'ffmpeg'))
    if not ffmpeg:
        raise ToolError(f'{name or "ffmpeg"} cannot be run: name an ffmpeg with --ffmpeg')
    return os.path.abspath(ffmpeg)


def run_ffmpeg(ffmpeg, *options):
    """Its output, its messages, and whether it failed."""
    done = subprocess.run([ffmpeg, '-nostdin', '-hide_banner', '-nostats', '-v', 'level+info',
                           *options], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout, done.stderr.decode(errors='replace'), done.returncode != 0


@functools.cache
def has(ffmpeg, kind):
    """The names of its 'filters', 'bsfs' or 'encoders'."""
    return set(run_ffmpeg(ffmpeg, '-v', 'quiet', '-' + kind)[0].decode().split())


def bitstream_filters(ffmpeg, path):
    """What ffmpeg needs to score the video of a file by its bitstream; empty if it cannot."""
    # file: keeps a name with a colon from being taken for an address
    codec = re.search(r'Stream #0:.*: Video: (\w+)(?!.*\(attached pic\))',
                      run_ffmpeg(ffmpeg, '-i', 'file:' + path)[1])
    chain = [*filter(None, [SPLITS.get(codec and codec[1])]), 'quantizer_metadata']
    return ','.join(chain) if has(ffmpeg, 'bsfs').issuperset(chain) else ''


def complaints(log):
    """What ffmpeg complained of, in a line; empty if nothing is damaged."""
    lines = dict.fromkeys(PREFIX.sub('', line, count=1).strip()
                          for line in log.splitlines() if COMPLAINT.search(line))
    return '; '.join([*lines][:2])


if __name__ == '__main__':
    print(bitstream_filters(find_ffmpeg(sys.argv[1]), sys.argv[2]))
