"""Runs the commands that the documentation prints, and looks for the output that it prints with them.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import functools
import http.server
import os
import re
import shlex
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from common import FFMPEG, ROOT, TOOLS, Page, ffmpeg, needs, video, wait_for

FAILING = '| quality-gate --above 30 --for 2s'      # the clip of the gate's page is bad
NOT_RUN = 'make ', '-hwaccel cuda'                  # builds FFmpeg or installs packages; needs a GPU


def commands(text):
    """Return the commands of a Markdown text: indented lines, up to where the shell has a whole command, and inline code."""
    found, begun = [], ''
    for line in text.splitlines():
        found += re.findall(r'`([^`]*)`', line)
        begun += line[4:] + '\n' if line.startswith('    ') else ''
        try:
            shlex.split(begun.removesuffix('\n'), comments=True)
        except ValueError:      # an open quote, or a backslash at the end
            continue
        found, begun = [*found, begun], ''
    return [command for command in found if re.match(r'(make|ff\w+|quality-\w+) ', command)]


def live(command, clip):
    """Run a command that reads udp://@:5000, on another port of the loopback interface, and send it a clip; it ends 1 s later."""
    with socket.socket(type=socket.SOCK_DGRAM) as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    command = command.replace('@:5000', f'@127.0.0.1:{port}?timeout=1000000')
    with subprocess.Popen(['bash', '-c', command], cwd=clip.parent, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        wait_for(lambda: f':{port:04X} ' in Path('/proc/net/udp').read_text() or process.poll() is not None)
        ffmpeg('-readrate', '4', '-i', clip, '-c', 'copy', '-f', 'mpegts', f'udp://127.0.0.1:{port}?pkt_size=1316')
        return process.communicate(timeout=60)[0]


def run(command, folder):
    return subprocess.run(['bash', '-c', command], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=600, stdin=subprocess.DEVNULL)


@pytest.fixture(name='folder')
def fixture_folder(tmp_path, monkeypatch):
    """A folder in which commands find the programs of the build and the tools."""
    (tmp_path / 'bin').mkdir()
    built = {name: Path(FFMPEG).parent / name for name in ('ffcrf', 'ffprobe')}
    for program, path in {**TOOLS, **built, 'ffmpeg': FFMPEG}.items():
        (tmp_path / 'bin' / program).symlink_to(path)
    monkeypatch.setenv('PATH', f'{tmp_path}/bin:{os.environ["PATH"]}')
    return tmp_path


def test_readme(folder, monkeypatch):
    """Its commands work, one after the other, on clips that are named as there."""
    pytest.importorskip('jinja2', reason='no python3-jinja2')
    monkeypatch.setenv('FFCRF_CACHE', str(folder / 'cache'))
    (folder / 'archive').mkdir()
    for name, options in {'source.mp4': '-qp 4', 'encode.mp4': '-crf 30', 'in.mp4': '-crf 10', 'archive/a.mp4': '-crf 40'}.items():
        video(folder / name, f'-c:v libx264 -preset ultrafast {options}', 0.4, source='testsrc2=s=320x240:r=25')
    video(folder / 'live.ts', '-c:v libx264 -preset ultrafast -crf 51', source='testsrc2=s=320x240:r=25')
    text = (ROOT / 'README.md').read_text()
    done = []
    for command in commands(text):
        kind = next((kind for kind in (*NOT_RUN, 'udp://', '') if kind in command))
        done.append(kind)
        if kind == 'udp://':
            output = live(command, folder / 'live.ts')
            assert 'alarm_raised:' in output, output
        elif kind not in NOT_RUN:
            result = run(command, folder)
            assert not result.returncode, (command, result.stderr)
    # each kind occurs: the list of exceptions is not longer than it must be
    assert set(done) == {*NOT_RUN, 'udp://', ''}
    printed, logged = (re.sub(r':\S+', '', line) for line in (
        re.search('^    (n:.*)', text, re.M)[1], (folder / 'frames.log').read_text().splitlines()[1]))
    assert printed == logged


def test_sources(tmp_path):
    """Segments by HTTP, a stream by TCP and a pipe have the frames of the file that they come from."""
    clip = Path(video(tmp_path / 'in.ts', '-c:v libx264 -preset ultrafast -g 5', 1))
    ffmpeg('-i', clip, '-c', 'copy', '-hls_time', '0.2', '-hls_list_size', '0', tmp_path / 'in.m3u8')
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server, socket.create_server(('127.0.0.1', 0)) as stream:
        threading.Thread(target=server.serve_forever, daemon=True).start()

        def send():
            with stream.accept()[0] as connection:
                connection.sendall(clip.read_bytes())
        threading.Thread(target=send, daemon=True).start()
        decoded = {run(f'{FFMPEG} -nostdin -v error -i {source} -f md5 - < in.ts', tmp_path).stdout for source in (
            'in.ts', '-', f'http://127.0.0.1:{server.server_port}/in.m3u8', f'tcp://127.0.0.1:{stream.getsockname()[1]}')}
        server.shutdown()
    assert len(decoded) == 1 and decoded.pop().startswith('MD5=')


@pytest.mark.parametrize('name', ['quality-report', 'quality-gate', 'quality-compare'])
def test_examples(folder, name):
    pytest.importorskip('jinja2', reason='no python3-jinja2')
    video(folder / 'in.mp4', '-c:v libx264 -preset veryfast', 12)
    plain = re.sub(r'@([@{}])', r'\1', (ROOT / f'doc/{name}.texi').read_text())
    lines, wanted = ([line for block in re.findall(rf'^@{kind}\n(.*?)^@end {kind}', plain, re.M | re.S)
                      for line in block.splitlines()] for kind in ('example', 'verbatim'))
    assert lines and (wanted or name == 'quality-report')
    said = ''
    for command in lines:
        done = run(command, folder)
        assert done.returncode == (FAILING in command), (command, done.stderr)
        said += done.stdout + done.stderr
    for line in wanted:
        assert line in said.splitlines(), line
    for page in folder.glob('*.html'):
        Page(page).check()


@needs('perl')
@pytest.mark.parametrize('name', sorted([*TOOLS, 'ffcrf']))
def test_manual_pages(name):
    """FFmpeg's own program makes the pages of the manuals."""
    # a build in FFmpeg's own tree has no src
    programs = (folder / 'doc/texi2pod.pl' for folder in (Path(FFMPEG).parent / 'src', ROOT))
    program = next(filter(os.path.exists, programs))
    done = subprocess.run(['perl', program, ROOT / f'doc/{name}.texi'], capture_output=True,
                          text=True, check=True)
    assert f'=head1 NAME\n\n{name} - ' in done.stdout and '=head1 OPTIONS' in done.stdout
