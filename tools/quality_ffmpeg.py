"""What the tools know of ffmpeg: where it is, what it has, and what it says of a file.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import functools
import os
import re
import shutil
import subprocess
import sys

from quality_common import ToolError

# What ffmpeg says of a file that is damaged, and what comes before that in a line.
COMPLAINT = re.compile(r'\[(error|fatal)\]|[Cc]orrupt')
PREFIX = re.compile(r'(\[[^]]* @ 0x[0-9a-f]+\] )*(\[\w+\] )?')

# The bitstream filter by which bliinds knows how frames were coded. A packet of some codecs has
# to be split before it.
QUANTIZER = 'quantizer_metadata'
SPLITS = {'av1': 'av1_frame_split', 'vp9': 'vp9_superframe_split', 'mpeg4': 'mpeg4_unpack_bframes'}


def find(name):
    """The ffmpeg that is named, or is beside this tool, or of the PATH."""
    beside = os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), 'ffmpeg')
    ffmpeg = shutil.which(name or (beside if os.access(beside, os.X_OK) else 'ffmpeg'))
    if not ffmpeg:
        raise ToolError(f'{name or "ffmpeg"} cannot be run: name an ffmpeg with --ffmpeg')
    return os.path.abspath(ffmpeg)


def run(ffmpeg, *options):
    """Its output, its messages, and whether it failed."""
    done = subprocess.run([ffmpeg, '-nostdin', '-hide_banner', '-nostats', *options],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout, done.stderr.decode(errors='replace'), done.returncode != 0


@functools.cache
def has(ffmpeg, kind):
    """The names of its 'filters', 'bsfs' or 'encoders'."""
    return set(run(ffmpeg, '-v', 'quiet', '-' + kind)[0].decode().split())


def bitstream_filters(ffmpeg, path):
    """What ffmpeg needs to score the video of a file by its bitstream; empty if it cannot."""
    # file: keeps a name with a colon from being taken for an address
    codec = re.search(r'Stream #0:.*: Video: (\w+)(?!.*\(attached pic\))',
                      run(ffmpeg, '-i', 'file:' + path)[1])
    chain = [*filter(None, [SPLITS.get(codec and codec[1])]), QUANTIZER]
    return ','.join(chain) if has(ffmpeg, 'bsfs').issuperset(chain) else ''


def complaints(log):
    """The lines of a log, each once, by which a file is damaged."""
    return list(dict.fromkeys(PREFIX.sub('', line, count=1).strip()
                              for line in log.splitlines() if COMPLAINT.search(line)))


def errors(log):
    """What ffmpeg complained of, in a line."""
    lines = log.strip().splitlines()[-2:]
    return '; '.join(complaints(log)[:2] or (PREFIX.sub('', line, count=1) for line in lines))


if __name__ == '__main__':
    print(bitstream_filters(find(sys.argv[1]), sys.argv[2]))
