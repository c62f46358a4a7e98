"""Runs the commands that the documentation prints, and looks for the output that it prints with them.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from common import FFMPEG, ROOT, TOOLS, Page, examples, needs, video
import quality_common

# Exit codes of those that are to fail: the clip of the gate's page is bad.
FAILING = {r'\| quality-gate --above 30 --for 2s', r'quality-gate --above 30 --window 1s', r'^test -z', r'^jq -e'}


def test_readme(monkeypatch):
    """The tools take the options of its commands."""
    text = (ROOT / 'README.md').read_text()
    commands = re.findall(r'^    (?:\$ )?(quality-\w+ .*)|^    (?:\$ )?ffmpeg .*\| *(quality-gate .*)|`(quality-\w+ [^`\n]*)`', text, re.M)
    commands = [shlex.split(''.join(command), comments=True) for command in commands]
    assert {command[0] for command in commands} == set(TOOLS)
    for command in commands:
        monkeypatch.setattr(sys, 'argv', command)
        quality_common.load(TOOLS[command[0]]).parse_arguments()


@needs('jq')
@pytest.mark.parametrize('name', ['quality-report', 'quality-gate'])
def test_examples(tmp_path, name):
    for package in 'jinja2', 'prometheus_client':
        pytest.importorskip(package, reason=f'no {package}')
    (tmp_path / 'bin').mkdir()
    (tmp_path / 'bin/ffmpeg').symlink_to(FFMPEG)
    for program in 'quality-report', 'quality-gate':
        (tmp_path / 'bin' / program).symlink_to(TOOLS[program])
    for path in (ROOT / 'doc').glob('quality-alerts*.yml'):
        shutil.copy(path, tmp_path)
    video(tmp_path / 'in.mp4', '-c:v libx264 -preset veryfast', 12)
    commands, wanted = examples(name)
    assert len(commands) > 5
    said = ''
    for command in commands:
        if command.startswith('promtool') and not shutil.which('promtool'):
            continue
        done = subprocess.run(['bash', '-c', command], cwd=tmp_path, capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, env={**os.environ, 'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}'})
        failing = any(re.search(pattern, command) for pattern in FAILING)
        assert done.returncode == failing, (command, done.stderr)
        said += done.stdout + done.stderr
    said += ''.join(path.read_text() for path in tmp_path.glob('*.prom'))
    for line in wanted:
        assert line in said.splitlines(), line
    pages = list(tmp_path.glob('*.html'))
    for page in pages:
        Page(page).check()
    assert len(pages) == (3 if name == 'quality-report' else 0)
    if any(command.startswith('promtool') for command in commands) and not shutil.which('promtool'):
        pytest.skip('no promtool for some of the examples')
