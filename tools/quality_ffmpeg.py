"""What the tools know of ffmpeg: where it is, what it has, and what it says of a file.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import os
import re
import shutil
import subprocess
import sys

from quality_common import ToolError

# What ffmpeg says of a file that is damaged, and what comes before that in a line.
COMPLAINT = re.compile(r'\[(error|fatal)\]|[Cc]orrupt')
PREFIX = re.compile(r'(\[[^]]* @ 0x[0-9a-f]+\] )*(\[\w+\] )?')

# What tells the filter how frames were coded. Where a packet may have several frames, some
# decoders pass this on only after the packet was split; so it is with B-frames of old AVI files.
QUANTIZER = 'quantizer_metadata'
SPLITS = {'av1': 'av1_frame_split', 'vp9': 'vp9_superframe_split', 'mpeg4': 'mpeg4_unpack_bframes'}


def output(*command, check=True):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors='surrogateescape', check=False)
    if check and done.returncode:
        raise RuntimeError(done.stderr.strip() or f'{command[0]} failed with {done.returncode}')
    return done.stdout


def find_program(name, beside):
    for folder in beside, os.path.join(beside, 'tools'):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    path = shutil.which(name)
    if not path:
        raise ToolError(f'no {name} in {beside} or in PATH: install it, or name an ffmpeg that has '
                        'it beside it with --ffmpeg', 2)
    return os.path.abspath(path)


def find_ffprobe(ffmpeg):
    """The one beside an ffmpeg, whose name in PATH may be a link."""
    return find_program('ffprobe', os.path.dirname(os.path.realpath(ffmpeg)))


def find_ffmpeg(name):
    """The ffmpeg and the ffprobe to use; an installed tool is a link beside them."""
    ffmpeg = os.path.abspath(name) if name and '/' in name else \
        find_program(name or 'ffmpeg', os.path.dirname(os.path.abspath(sys.argv[0])))
    if not os.access(ffmpeg, os.X_OK):
        raise ToolError(f'{ffmpeg!r} cannot be run; name an ffmpeg with --ffmpeg')
    return ffmpeg, find_ffprobe(ffmpeg)


def probe(ffprobe, path, *arguments):
    return json.loads(output(ffprobe, '-v', 'error', '-select_streams', 'V:0', '-of', 'json',
                             *arguments, '-i', 'file:' + path))


def known_filters(ffmpeg):
    """The bitstream filters that an ffmpeg has."""
    return set(output(ffmpeg, '-v', 'quiet', '-bsfs', check=False).split())


def bitstream_filters(ffprobe, known, path):
    """What ffmpeg needs to score the video of a file by its bitstream, too; empty if it cannot."""
    try:
        found = probe(ffprobe, path, '-show_entries', 'stream=codec_name')
        codec = found['streams'][0]['codec_name']
    except (RuntimeError, ValueError, LookupError):
        return ''       # scoring it will tell what is wrong
    chain = [SPLITS[codec], QUANTIZER] if codec in SPLITS else [QUANTIZER]
    return ','.join(chain) if known.issuperset(chain) else ''


def complaints(text):
    return [line for line in text.splitlines() if COMPLAINT.search(line)]


def without_prefix(lines):
    """The messages of these lines, each once."""
    return list(dict.fromkeys(PREFIX.sub('', line, count=1).strip() for line in lines))


def errors(log):
    """What ffmpeg complained of, in a line."""
    lines = complaints(log) or log.strip().splitlines()[-2:]
    return '; '.join(without_prefix(lines)[:2])


def gpus():
    """Names of the GPUs that this process may use."""
    visible = os.environ.get('CUDA_VISIBLE_DEVICES')
    if visible is not None:
        return [gpu for gpu in visible.split(',') if gpu]
    try:
        lines = output('nvidia-smi', '-L', check=False).splitlines()
    except OSError:
        lines = []
    return [line.split(':')[0].removeprefix('GPU ') for line in lines if line.startswith('GPU ')]


if __name__ == '__main__':
    programs = find_ffmpeg(sys.argv[1])
    print(bitstream_filters(programs[1], known_filters(programs[0]), sys.argv[2]))
