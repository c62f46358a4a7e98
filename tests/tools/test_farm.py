"""quality-farm: rows, failures, going on after a kill, Slurm.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import csv
import json
import os
import select
import subprocess

import pytest
from common import FFMPEG, TOOLS, needs, tool, video


def make(path, seconds=0.4, size='64x48'):
    video(path, '-c:v mjpeg -f avi', seconds, source=f'testsrc2=s={size}:r=25')


@pytest.fixture
def farm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args, program=FFMPEG, output='out'):
        return tool('quality-farm', '--ffmpeg', program, '-o', output, *args)
    return run


def summary(*names):
    """Columns of the table."""
    with open('out/summary.csv', encoding='utf-8') as lines:
        rows = list(csv.DictReader(lines))
    return [[row[name] for row in rows] for name in names]


@needs('parallel')
def test_files(farm, tmp_path):
    (tmp_path / 'other').mkdir()
    names = 'a.avi', 'other/a.avi', "it's a \"film\",[1]; $x.avi"
    for name in names:
        make(name)
    (tmp_path / 'damaged.avi').write_bytes(b'no video at all')
    done = farm(*names, 'damaged.avi')
    assert done.returncode == 2 and 'damaged.avi failed: ' in done.stderr and 'Invalid data' in done.stderr
    states, frames, means = summary('state', 'frames', 'mean')
    assert states == ['ok', 'ok', 'ok', 'failed'] and frames == ['10', '10', '10', '']
    log = json.loads((tmp_path / 'out/a.avi.2.json').read_text())
    assert [float(mean) for mean in means[:3]] == [log['pooled_metrics']['score']['mean']] * 3
    assert len((tmp_path / 'out/a.avi.log').read_text().splitlines()) == 10


@needs('parallel')
def test_list(farm, tmp_path):
    make('a b.avi', 2)
    (tmp_path / 'list').write_text("'a b.avi' -ss 1 -t 0.4\n\n'a b.avi'\n")
    assert farm('--list', 'list', '--filter', 'bliinds=features=1').returncode == 0
    assert summary('frames') == [['10', '50']]
    assert 'L1.zeta100' in (tmp_path / 'out/a_b.avi.log').read_text()
    planned = farm('--dry-run', '--filter', 'bliinds_cuda', '--list', 'list', output='gpu').stdout
    for words in ' -hwaccel cuda -hwaccel_output_format cuda ', ' bliinds_cuda=stats_file=':
        assert planned.count(words) == 2
    (tmp_path / 'list').write_text('a.avi -vf x\n')
    assert 'a row is' in farm('--list', 'list').stderr
    assert 'name files' in farm().stderr
    assert 'none cannot be run' in farm('a b.avi', program='none').stderr


@needs('parallel')
def test_resume(farm, tmp_path):
    make('short.avi', 0.2)
    make('long.avi', 8)
    # slow, and it holds a pipe open while it runs
    (tmp_path / 'slow').write_text(
        f'#!/bin/sh\ncase "$*" in *long.avi*-vf*) exec 9> {tmp_path}/alive; esac\n'
        f'exec {FFMPEG} -readrate 0.1 "$@"\n')
    (tmp_path / 'slow').chmod(0o755)
    os.mkfifo('alive')
    run = subprocess.Popen([TOOLS['quality-farm'], '--ffmpeg', './slow', '--jobs', '1', '-o', 'out',
                            'short.avi', 'long.avi'], stderr=subprocess.DEVNULL)
    with open('alive', 'rb') as alive:
        run.terminate()
        assert run.wait() == 130
        assert select.select([alive], [], [], 0)[0]     # its commands have ended, too
    old = (tmp_path / 'out/short.avi.json').stat().st_mtime_ns
    planned = farm('--dry-run', 'short.avi', 'long.avi').stdout
    assert 'long.avi' in planned and 'short.avi' not in planned
    assert farm('short.avi', 'long.avi').returncode == 0
    assert summary('frames') == [['5', '200']]
    assert (tmp_path / 'out/short.avi.json').stat().st_mtime_ns == old


def test_slurm(farm, tmp_path, monkeypatch):
    """What sbatch is asked for: its place is taken by one that runs the array at once."""
    make('a.avi')
    make('b.avi', 0.28)
    (tmp_path / 'sbatch').write_text(
        '#!/bin/sh\necho "$@" > asked\nfor i; do last=$i; done\n'
        'SLURM_ARRAY_TASK_ID=1 sh -c "$last"\nSLURM_ARRAY_TASK_ID=2 sh -c "$last"\n')
    (tmp_path / 'sbatch').chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    done = farm('--slurm', '--sbatch=--partition=x', 'a.avi', 'b.avi')
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / 'out/asked').read_text()
    assert '--wait --array=1-2' in asked and '--partition=x' in asked
    assert summary('frames') == [['10', '7']]
