# What the modules share: FFmpeg, records, families of encodes.
# SPDX-License-Identifier: LGPL-2.1-or-later
import glob
import json
import os
import re
import subprocess

program = 'ffmpeg'


class Error(Exception):
    pass


def run(arguments, folder=None):
    """Runs FFmpeg, returns what it says; an Error if it fails."""
    command = [program, '-nostdin', '-y', '-threads', '1', '-filter_threads', '1', '-v', 'error',
               *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace')
    if done.returncode:
        raise Error('%s\n%s' % (' '.join(command), '\n'.join(done.stdout.splitlines()[-8:])))
    return done.stdout


def packets(arguments, frames):
    """Codec, width, height of an input, and the bytes of its first packets."""
    said = run(arguments + ['-map', '0:v:0', '-frames:v', str(frames), '-c', 'copy',
                            '-f', 'framecrc', '-'])
    stream = re.search(r'codec_id 0: (\S+)\n#dimensions 0: (\d+)x(\d+)', said)
    sizes = [int(line.split(',')[4]) for line in said.splitlines() if line[:1].isdigit()]
    return stream[1], int(stream[2]), int(stream[3]), sizes


def records(folder, shots, held):
    """Those of the encodes of all shots that are held back or not, each with its shot's group."""
    group = {shot.name: shot.group for shot in shots if shot.held == held}
    for path in sorted(glob.glob(os.path.join(folder, 'records', '*', '*.json'))):
        with open(path) as file:
            record = json.load(file)
        if record['content'] in group and record['generations']:
            yield record, group[record['content']]


def write(folder, name, lines):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), 'w') as file:
        file.write('\n'.join(lines) + '\n')


TWICE, NOISE = 'second generations', 'noise that was added'


def part_of(family):
    """Of which kind an encode is, for reports."""
    if family.startswith('second'):
        return TWICE
    if family.endswith(('_1_2', '_2_3', '_1_3', '_1_4')):
        return 'scaled'
    if family.startswith('noise'):
        return NOISE
    return {'x264': 'H.264', 'x265': 'HEVC', 'av1': 'AV1', 'aom': 'AV1', 'vp9': 'VP9',
            'mpeg2': 'MPEG-2', 'mpeg4': 'MPEG-4', 'mjpeg': 'MJPEG',
            'cjpeg': 'MJPEG'}[family.split('_')[0]]
