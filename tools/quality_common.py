"""What the tools share: durations, percentiles, text, whole files, errors and exit codes.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import math
import os
import re
import signal
import sys
import threading

UNITS = {'ms': 0.001, '': 1, 's': 1, 'm': 60, 'h': 3600}

PERCENTILES = [1, 5, 10, 50, 90, 95, 99]


class ToolError(Exception):
    """What ends a tool, in words for its user; and the exit code, where it is a certain one."""

    def __init__(self, text, code=None):
        super().__init__(text)
        self.code = code


def duration(text, least=0, most=1e9):
    """Seconds, of 2, 2s, 500ms, 1m or 1h, for argparse."""
    match = re.fullmatch(r'(\d+(?:\.\d*)?|\.\d+)(ms|s|m|h|)', text)
    if not match:
        raise argparse.ArgumentTypeError(f'{text!r} is no duration such as 2s, 500ms or 1m')
    seconds = float(match[1]) * UNITS[match[2]]
    if not least <= seconds <= most:
        size = 'short' if seconds < least else 'long'
        raise argparse.ArgumentTypeError(f'{text!r} is too {size}')
    return seconds


def clock(time, digits=3):
    """1:02:03.400"""
    whole = round(abs(time) * 10 ** digits)
    minutes, rest = divmod(whole, 60 * 10 ** digits)
    sign = '-' if time < 0 and whole else ''
    width = digits + 3 if digits else 2
    return f'{sign}{minutes // 60}:{minutes % 60:02}:{rest / 10 ** digits:0{width}.{digits}f}'


def pooled(values):
    """Least, largest, mean and exact percentiles. The filters keep no values: theirs are within
    0.1 % of these."""
    values = sorted(values)
    pool = {'min': values[0], 'max': values[-1], 'mean': math.fsum(values) / len(values)}
    for p in PERCENTILES:
        rank = (len(values) - 1) * p / 100
        low, high = values[int(rank)], values[math.ceil(rank)]
        # infinite ones have no difference
        pool[f'p{p}'] = low if low == high else low + (high - low) * (rank - int(rank))
    return pool


def printable(text):
    """Text with a mark for each byte of a file's name that is none."""
    return re.sub('[\ud800-\udfff]', '\ufffd', text)


def add_version(parser):
    """--version. In a checkout the number is in the file VERSION, anywhere else beside this one."""
    def text():
        here = os.path.dirname(os.path.realpath(__file__))
        for path in os.path.join(here, 'quality.version'), os.path.join(here, '../VERSION'):
            if os.path.exists(path):
                with open(path, encoding='utf-8') as file:
                    return file.read().strip()
        return 'of an unknown version'

    parser.add_argument('--version', action='version', version=f'%(prog)s {text()}')


def say(text):
    print(printable(text), file=sys.stderr, flush=True)


def write_whole(path, text, errors='replace'):
    """Writes a file so that readers see the old one or the new one, and never a part."""
    if path == '-':
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    if os.path.exists(path) and not os.path.isfile(path):   # /dev/stdout
        with open(path, 'w', encoding='utf-8', errors=errors) as file:
            file.write(text)
        return
    # other machines may write there, too
    name = f'.{os.uname().nodename}.{os.getpid()}.{threading.get_ident()}.tmp'
    temporary = os.path.join(os.path.dirname(path), name)
    try:
        with open(temporary, 'w', encoding='utf-8', errors=errors) as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def package(name, debian):
    """A Python module that is not Python's own."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolError(f'the Python module {name} is missing; on Debian: apt-get install '
                        f'{debian}') from error


def load(path):
    """A tool, whose name is none of a module, as a module."""
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path).replace('-', '_'), path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def end_with_children():
    """A tool that is ended by a signal ends what it runs, as for Ctrl-C."""
    for number in signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def forget_output():
    """What could not be written to standard output is not tried once more at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def run(name, main, failed=1, interrupted=130):
    """Runs a tool to its exit code, and says what ended it."""
    try:
        sys.exit(main())
    except BrokenPipeError:     # who read the output has gone
        forget_output()
        sys.exit(failed)
    except (ToolError, OSError) as error:
        say(f'{name}: {error}')
        forget_output()
        sys.exit(getattr(error, 'code', None) or failed)
    except KeyboardInterrupt:
        sys.exit(interrupted)
