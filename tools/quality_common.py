"""What the tools share: their exit codes and errors, durations, whole files, their version.

They run with Python 3.11, Debian 12's, and newer.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import importlib
import os
import re
import signal
import sys

# Exit codes of all tools, ffcrf among them.
PASSED, MISSED, FAILED, INTERRUPTED = 0, 1, 2, 130

UNITS = {'ms': 0.001, '': 1, 's': 1, 'm': 60, 'h': 3600}


class ToolError(Exception):
    """What ends a tool, in words for its user."""


def duration(text):
    """Seconds, of 2, 2s, 500ms, 1m or 1h, for argparse."""
    match = re.fullmatch(r'(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|)', text)
    if not match or float(match[1]) * UNITS[match[2]] > 1e9:
        raise argparse.ArgumentTypeError(f'{text!r} is no duration such as 2s, 500ms or 1m')
    return float(match[1]) * UNITS[match[2]]


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
    if path == '-':
        print(text, end='', flush=True)
        return
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


def package(name, debian):
    """A Python module that is not Python's own."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolError(f'the Python module {name} is missing; on Debian: apt-get install '
                        f'{debian}') from error


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
    except (ToolError, OSError) as error:
        if not isinstance(error, BrokenPipeError):      # who read the output has gone
            say(printable(f'{name}: {error}'))
        code = FAILED
    # what could not be written is not tried once more at the end
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
