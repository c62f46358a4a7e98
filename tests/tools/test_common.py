"""Tests of the functions that the tools share: durations, output files, processes, and facts about files.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import concurrent.futures
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from common import FFMPEG, ROOT, TOOLS, ffmpeg, tool

import quality_common
from quality_common import ToolError

# Lines of a text and its seconds, `-` if it is not a duration. ffcrf has the same table.
DURATIONS = [line.split() for line in (ROOT / 'tests/tools/durations.txt').read_text(encoding='utf-8').splitlines()]
# The bytes of names are arbitrary but for 0 and `/`.
NAMES = [os.fsdecode(name) for name in (
    b'-dash', b' space ', b'new\nline', b'\x1b[31m', b'\xff\xfe', b'%d', b'a:b', b'[0]', b"'\"", b'caf\xc3\xa9', b'\\', b'=1')]


@pytest.mark.parametrize('text, seconds', DURATIONS + [['', '-'], [' 1', '-'], ['1\n', '-'], ['1 s', '-'], ['9' * 5000 + ':00', '-']])
def test_duration(text, seconds):
    if seconds != '-':
        assert quality_common.duration(text) == pytest.approx(float(seconds), abs=1e-9)
        return
    with pytest.raises(argparse.ArgumentTypeError, match='is not a duration: use 90s'):
        quality_common.duration(text)


@pytest.mark.parametrize('name', NAMES)
def test_write_atomically(tmp_path, name, monkeypatch):
    """A new file, one that has a mode, and the target of a link; no other file is left."""
    monkeypatch.chdir(tmp_path)
    quality_common.write_atomically(name, 'one')
    Path('other').touch()
    assert os.stat(name).st_mode == os.stat('other').st_mode
    os.unlink('other')
    os.chmod(name, 0o640)
    os.mkdir('folder')
    os.symlink(os.path.join('..', name), 'folder/link')
    quality_common.write_atomically('folder/link', 'two \udcff')
    assert os.path.islink('folder/link') and Path(name).read_text(encoding='utf-8') == 'two ?'
    assert stat.S_IMODE(os.stat(name).st_mode) == 0o640
    os.unlink(name)
    quality_common.write_atomically('folder/link', 'three')     # the link had no target
    assert Path(name).read_text(encoding='utf-8') == 'three'
    assert sorted(os.listdir()) == sorted(['folder', name]) and os.listdir('folder') == ['link']


def test_write_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path('page').write_text('old', encoding='utf-8')
    monkeypatch.setattr(os, 'replace', lambda *_: (_ for _ in ()).throw(OSError(28, 'No space left on device')))
    with pytest.raises(ToolError, match="^cannot write 'page': No space left on device$"):
        quality_common.write_atomically('page', 'new')
    with pytest.raises(ToolError, match="^cannot write '/dev/full': No space left on device$"):
        quality_common.write_atomically('/dev/full', 'new')
    assert os.listdir() == ['page'] and Path('page').read_text(encoding='utf-8') == 'old'


def test_write_to_stdout(tmp_path):
    """The file that is standard output is continued, not replaced."""
    program = 'import quality_common; print("a", flush=True); quality_common.write_atomically("/dev/stdout", "b")'
    command = [sys.executable, '-B', '-c', program]
    options = {'cwd': ROOT / 'tools', 'check': True}
    assert subprocess.run(command, stdout=subprocess.PIPE, **options).stdout == b'a\nb'
    with open(tmp_path / 'out', 'wb') as file:
        subprocess.run(command, stdout=file, **options)
        assert os.fstat(file.fileno()).st_nlink == 1


@pytest.mark.parametrize('name', NAMES)
def test_refuse_overwriting(tmp_path, monkeypatch, name):
    """An input is known by its device and inode."""
    monkeypatch.chdir(tmp_path)
    Path(name).touch()
    os.link(name, 'hard')
    os.symlink(name, 'soft')
    for output in name, './' + name, str(tmp_path / name), 'hard', 'soft':
        with pytest.raises(ToolError, match='would overwrite the input'):
            quality_common.refuse_overwriting(output, ['other', name])
    Path('other').touch()
    quality_common.refuse_overwriting('other', [name, 'none'])
    quality_common.refuse_overwriting('new', [name, 'none'])
    quality_common.refuse_overwriting('/dev/null', [name, '/dev/null'])


def test_watchdog(monkeypatch):
    """A process that neither computes nor writes is stopped; any other comes to its end."""
    monkeypatch.setattr(quality_common, 'STALL_CHECKS', 1)
    loop = 'import time; end = time.time() + 4\nwhile time.time() < end: '
    with concurrent.futures.ThreadPoolExecutor() as pool:
        busy = [pool.submit(quality_common.run_process, [sys.executable, '-c', loop + work])
                for work in ('pass', 'print(1, flush=True); time.sleep(.2)')]
        with pytest.raises(ToolError, match='^sleep was stopped: it made no progress for 1 s$'):
            quality_common.run_process(['sleep', '300'])
    assert [one.result().code for one in busy] == [0, 0]


def test_run_process():
    done = quality_common.run_process(['sh', '-c', 'printf "out\\377"; printf "\\n[x @ 0x1f] bad \\033\\nworse" >&2; exit 3'])
    assert done == (b'out\xff', '\n[x @ 0x1f] bad \x1b\nworse', 3) and done.error == '[x] bad \x1b'
    assert quality_common.run_process(['sh', '-c', 'kill -9 $$']).error == 'it was ended by signal 9'


@pytest.mark.parametrize('owner, method', [(subprocess.Popen, '__init__'), (threading.Thread, 'start')])
def test_interrupted_start(monkeypatch, owner, method):
    """A signal that arrives while a process is started ends it, too, and at once."""
    processes, original, begin = [], getattr(owner, method), time.time()

    class Process(subprocess.Popen):
        def __init__(self, *arguments, **options):
            processes.append(self)
            super().__init__(*arguments, **options)

    def interrupted(self, *arguments, **options):
        original(self, *arguments, **options)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(owner, method, interrupted)
    monkeypatch.setattr(subprocess, 'Popen', Process)
    with pytest.raises(KeyboardInterrupt):
        quality_common.run_process(['sleep', '30'], read_line=str)
    assert time.time() - begin < 10 and processes[0].returncode == -signal.SIGKILL
    # A process of the next call can be interrupted.
    monkeypatch.undo()
    mask = quality_common.run_process([sys.executable, '-c', 'import signal; print(signal.pthread_sigmask(signal.SIG_BLOCK, []))'])
    assert mask.output == b'set()\n' and not signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_names(tmp_path, capfd):
    """Any name is printed on one line without control characters, also by argparse."""
    for name in NAMES:
        quality_common.print_error(name)
    printed = capfd.readouterr().err.splitlines()
    assert len(printed) == len(NAMES) and all(map(str.isprintable, printed))
    assert printed[2:5] == ['new\\nline', '\\x1b[31m', '\\udcff\\udcfe'] and 'caf\xe9' in printed
    done = tool('quality-gate', '--above', 1, 'log', *(f'--{name}' for name in NAMES), cwd=tmp_path)
    assert done.returncode == 2 and done.stderr[done.stderr.rindex('error: '):-1].isprintable()


def test_facts(tmp_path, monkeypatch):
    """Tags and names of files do not change what is known of a file; an attached picture is no video."""
    monkeypatch.chdir(tmp_path)
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:d=0.2', '-f', 'lavfi', '-i', 'color=s=16x16', '-map', 1, '-map', 0, '-c:v:0', 'mjpeg',
           '-frames:v:0', 1, '-disposition:v:0', 'attached_pic', '-c:v:1', 'mpeg4', '-metadata', 'title=Stream #0:0: Video: av1',
           tmp_path / 'corrupt, Stream #0:0: Video: vp9.mp4')
    found = quality_common.probe(FFMPEG, 'corrupt, Stream #0:0: Video: vp9.mp4')
    assert quality_common.video_stream(found)['codec_name'] == 'mpeg4'
    with pytest.raises(ToolError, match="^cannot read 'none': .*No such file"):
        quality_common.probe(FFMPEG, 'none')


def test_shebangs():
    """Packages want the system's Python."""
    for path in [*TOOLS.values(), ROOT / 'tools/bliinds-convert-release']:
        assert Path(path).read_text(encoding='utf-8').startswith('#!/usr/bin/python3\n'), path
