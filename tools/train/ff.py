# What is asked of FFmpeg, the program.
# SPDX-License-Identifier: LGPL-2.1-or-later
import re
import subprocess

program = 'ffmpeg'


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
