"""quality-farm: rows, failures, going on after a kill, Slurm.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import csv
import json
import os
import signal
import subprocess
import time

from common import FFMPEG, TOOLS, needs

FARM = TOOLS['quality-farm']


def make(path, frames=10, size='64x48'):
    subprocess.run([FFMPEG, '-nostdin', '-v', 'error', '-f', 'lavfi', '-i', f'testsrc2=s={size}', '-frames:v', str(frames),
                    '-c:v', 'mjpeg', '-f', 'avi', path], check=True)


def farm(folder, *args, **options):
    return subprocess.run([FARM, '--ffmpeg', FFMPEG, '-o', folder / 'out', *map(str, args)], capture_output=True, text=True,
                          cwd=folder, **options)


def summary(folder):
    with open(folder / 'out/summary.csv', encoding='utf-8') as lines:
        return list(csv.DictReader(lines))


@needs('parallel')
def test_files(tmp_path):
    other = tmp_path / 'other'
    other.mkdir()
    quoted = tmp_path / "it's a \"film\",[1]; $x.avi"
    for path in (tmp_path / 'a.avi', other / 'a.avi', quoted):
        make(path)
    (tmp_path / 'damaged.avi').write_bytes(b'no video at all')
    done = farm(tmp_path, tmp_path / 'a.avi', other / 'a.avi', quoted, 'damaged.avi')
    assert done.returncode == 2 and 'damaged.avi failed: ' in done.stderr and 'Invalid data' in done.stderr
    table = summary(tmp_path)
    assert [row['state'] for row in table] == ['ok', 'ok', 'ok', 'failed']
    assert [row['frames'] for row in table] == ['10', '10', '10', '']
    assert table[0]['mean'] == table[1]['mean'] == table[2]['mean'] != ''
    log = json.loads((tmp_path / 'out/a.avi.2.json').read_text())
    assert float(table[1]['mean']) == log['pooled_metrics']['score']['mean']
    assert len((tmp_path / 'out/a.avi.log').read_text().splitlines()) == 10


@needs('parallel')
def test_list(tmp_path):
    make(tmp_path / 'a b.avi', 50)
    (tmp_path / 'list').write_text("'a b.avi' -ss 1 -t 0.4\n\n'a b.avi'\n")
    assert farm(tmp_path, '--list', 'list', '--filter', 'bliinds=features=1').returncode == 0
    assert [row['frames'] for row in summary(tmp_path)] == ['10', '50']
    assert 'L1.zeta100' in (tmp_path / 'out/a_b.avi.log').read_text()
    (tmp_path / 'list').write_text('a.avi -vf x\n')
    assert 'a row is' in farm(tmp_path, '--list', 'list').stderr
    assert 'name files' in farm(tmp_path).stderr
    assert 'none cannot be run' in farm(tmp_path, '--ffmpeg', 'none', 'a b.avi').stderr


@needs('parallel')
def test_resume(tmp_path):
    make(tmp_path / 'short.avi', 5)
    make(tmp_path / 'long.avi', 200, '1280x720')
    run = subprocess.Popen([FARM, '--ffmpeg', FFMPEG, '-o', tmp_path / 'out', '--jobs', '1', '--filter', 'bliinds=features=1', 'short.avi',
                            'long.avi'], cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / 'out/long.avi.log').exists():
            break
        time.sleep(0.05)
    # parallel ends its commands at the second signal
    for _ in range(200):
        try:
            os.killpg(run.pid, signal.SIGTERM)
        except ProcessLookupError:
            break
        run.poll()
        time.sleep(0.1)
    old = (tmp_path / 'out/short.avi.json').stat().st_mtime_ns
    planned = farm(tmp_path, '--dry-run', 'short.avi', 'long.avi').stdout
    assert 'long.avi' in planned and 'short.avi' not in planned
    assert farm(tmp_path, 'short.avi', 'long.avi').returncode == 0
    assert [row['frames'] for row in summary(tmp_path)] == ['5', '200']
    assert (tmp_path / 'out/short.avi.json').stat().st_mtime_ns == old


def test_slurm(tmp_path):
    """What sbatch is asked for: its place is taken by one that runs the array at once."""
    make(tmp_path / 'a.avi')
    make(tmp_path / 'b.avi', 7)
    bin_ = tmp_path / 'bin'
    bin_.mkdir()
    (bin_ / 'sbatch').write_text('#!/bin/sh\necho "$@" > asked\nfor i; do last=$i; done\n'
                                 'for SLURM_ARRAY_TASK_ID in 1 2; do export SLURM_ARRAY_TASK_ID; sh -c "$last"; done\n')
    (bin_ / 'sbatch').chmod(0o755)
    done = farm(tmp_path, '--slurm', '--sbatch=--partition=x', 'a.avi', 'b.avi',
                env=dict(os.environ, PATH=f'{bin_}:{os.environ["PATH"]}'))
    assert done.returncode == 0, done.stderr
    assert '--wait --array=1-2' in (tmp_path / 'out/asked').read_text()
    assert '--partition=x' in (tmp_path / 'out/asked').read_text()
    assert [row['frames'] for row in summary(tmp_path)] == ['10', '7']
