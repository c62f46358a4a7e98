"""Runs the commands that the documentation prints, and looks for the output that it prints with them.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from common import FFMPEG, ROOT, TOOLS, Page, needs, tool, video

FAILING = '| quality-gate --above 30 --for 2s'      # the clip of the gate's page is bad


def test_readme(tmp_path):
    """The tools take the options of its commands: where no files are, only those are wrong."""
    text = (ROOT / 'README.md').read_text()
    commands = re.findall(r'^    (?:\$ )?(quality-\w+ .*)|^    (?:\$ )?ffmpeg .*\| *(quality-gate .*)|`(quality-\w+ [^`\n]*)`', text, re.M)
    assert commands
    for command in commands:
        name, *options = shlex.split(''.join(command), comments=True)
        done = tool(name, *options, cwd=tmp_path, stdin=subprocess.DEVNULL)
        assert done.returncode == 2 and 'usage:' not in done.stderr, done.stderr


@pytest.mark.parametrize('name', ['quality-report', 'quality-gate', 'quality-compare'])
def test_examples(tmp_path, monkeypatch, name):
    pytest.importorskip('jinja2', reason='no python3-jinja2')
    (tmp_path / 'bin').mkdir()
    for program, path in {**TOOLS, 'ffmpeg': FFMPEG}.items():
        (tmp_path / 'bin' / program).symlink_to(path)
    video(tmp_path / 'in.mp4', '-c:v libx264 -preset veryfast', 12)
    plain = re.sub(r'@([@{}])', r'\1', (ROOT / f'doc/{name}.texi').read_text())
    commands, wanted = ([line for block in re.findall(rf'^@{kind}\n(.*?)^@end {kind}', plain, re.M | re.S)
                         for line in block.splitlines()] for kind in ('example', 'verbatim'))
    assert commands and (wanted or name == 'quality-report')
    monkeypatch.setenv('PATH', f'{tmp_path}/bin:{os.environ["PATH"]}')
    said = ''
    for command in commands:
        done = subprocess.run(['bash', '-c', command], cwd=tmp_path, capture_output=True, text=True,
                              check=False, timeout=600, stdin=subprocess.DEVNULL)
        assert done.returncode == (FAILING in command), (command, done.stderr)
        said += done.stdout + done.stderr
    for line in wanted:
        assert line in said.splitlines(), line
    for page in tmp_path.glob('*.html'):
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
