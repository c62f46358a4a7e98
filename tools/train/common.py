# What the programs share: FFmpeg, the program; their options; records; families of encodes; tables.
# SPDX-License-Identifier: LGPL-2.1-or-later
import argparse
import glob
import json
import os
import re
import subprocess

program = 'ffmpeg'
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'contents.txt')

OPTIONS = {
    'ffmpeg': {'required': True, 'help': 'with our filters, libvmaf and all encoders'},
    'models': {'required': True, 'help': 'folder with the models of libvmaf'},
    'media': {'help': 'folder with OWNER/REPOSITORY/PATH of the sources'},
    'work': {'required': True, 'help': 'where shots, encodes and records are kept'},
    'results': {'required': True, 'help': 'folder for what is made, and the report'},
    'jobs': {'type': int, 'default': os.cpu_count(), 'help': 'encodes at a time'},
    'contents': {'default': LIST, 'help': 'list of the shots'},
    'held': {'action': 'store_true',
             'help': 'report on the contents that were held back: once, at the end'},
}


def options(description, *names):
    """A parser with some of these options."""
    parser = argparse.ArgumentParser(description=description)
    for name in names:
        parser.add_argument('--' + name, **OPTIONS[name])
    return parser


# ---- FFmpeg ----

class Error(Exception):
    pass


def run(arguments, folder=None, quiet=True):
    """Runs it, returns what it says; an Error if it fails."""
    command = [program, '-hide_banner', '-nostdin', '-y', '-threads', '1']
    command += ['-v', 'error' if quiet else 'info'] + arguments
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors='replace')
    if done.returncode:
        raise Error('%s\n%s' % (' '.join(command), '\n'.join(done.stdout.splitlines()[-8:])))
    return done.stdout


def listed(kind):
    """Names of all 'encoders' or 'filters' of the build."""
    lines = subprocess.run([program, '-hide_banner', '-' + kind], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines()
    return {line.split()[1] for line in lines if len(line.split()) > 2}


def size(path):
    """Width and height of a file's first frame."""
    out = run(['-i', path, '-map', '0:v:0', '-vf', 'showinfo', '-frames:v', '1', '-f', 'null', '-'],
              quiet=False)
    found = re.search(r'showinfo.* n: *0 .* s:(\d+)x(\d+)', out)
    if not found:
        raise Error('no picture in ' + path)
    return int(found[1]), int(found[2])


# ---- records ----

def records(folder, listed, use):
    """Those of the shots of a use, each with the group of its shot."""
    group = {content.name: content.group for content in listed if content.use == use}
    for path in sorted(glob.glob(os.path.join(folder, 'records', '*', '*.json'))):
        with open(path) as file:
            record = json.load(file)
        if record['content'] in group:
            yield record, group[record['content']]


def content_of(record):
    """Its shot and variant."""
    return '_'.join(filter(None, (record['content'], record['variant'])))


def write(folder, name, lines):
    with open(os.path.join(folder, name), 'w') as file:
        file.write('\n'.join(lines))


# ---- families, and what is said of them ----

TWICE, NOISE = 'second generations', 'noise that was added'

def part_of(family):
    if family.startswith('second'):
        return TWICE
    if family.endswith(('_1_2', '_2_3')):
        return 'scaled'
    if family == 'noise':
        return NOISE
    return {'x264': 'H.264', 'x265': 'HEVC', 'av1': 'AV1', 'aom': 'AV1', 'vp9': 'VP9',
            'mpeg2': 'MPEG-2', 'mpeg4': 'MPEG-4', 'mjpeg': 'MJPEG',
            'cjpeg': 'MJPEG'}[family.split('_')[0]]


def table(*rows):
    """Rows of cells, the first one the head, in Markdown."""
    lines = ['| %s |' % ' | '.join(map(str, row)) for row in rows]
    return '\n'.join([lines[0], '|---' * len(rows[0]) + '|'] + lines[1:] + [''])
