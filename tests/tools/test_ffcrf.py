"""Tests of ffcrf that need no encoder: its choice of CRFs, its command line, quoting; and a season.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import itertools
import json
import math
import os
import random
import subprocess
import sys

import pytest

from common import FFMPEG, ROOT, ffmpeg, video

import ffcrf_encode
import ffcrf_options
import ffcrf_search
import quality_common
from ffcrf_search import Metric, Plan, Point, State

FFCRF = str(ROOT / 'tools/ffcrf')
FAST = ['-c:v', 'libx264', '-preset', 'ultrafast', '--metric', 'ssim', '--ffmpeg', FFMPEG]


# ---- the choice of CRFs ----

def curves(seed):
    """Distortions of all CRFs, of many shapes, with a plan to search on them."""
    draw = random.Random(seed)
    kind = ['smooth', 'plateaus', 'steps', 'noise', 'bumps', 'random'][seed % 6]
    higher = draw.random() < 0.5
    worst = draw.choice([1, 100])
    typical, level = worst * draw.uniform(0.02, 0.6), worst * draw.uniform(0.01, 0.2)
    rise, middle = draw.uniform(1, 7), draw.uniform(0.2, 0.8)
    metric = Metric('', '', worst if higher else 0, worst * (0.8 if higher else 0.2), 0, 0,
                    'higher' if higher else 'lower', offset=worst * 0.02)
    exact = draw.choice([0, 0.4, 0.4])
    while True:
        low, high = draw.choice([(10, 46), (10, 46), (5, 63), (0, 255), (20, 20.6), (22, 22)])
        increment = draw.choice([0.05, 0.1, 0.1, 0.25, 0.3, 0.5, 1, 1, 2, 7, 50])
        plan = Plan(metric, low, high, increment, 0, exact * worst * draw.uniform(0, 0.05),
                    draw.choice([math.inf] * 4 + [draw.uniform(1, 200)]), exact)
        count = plan.last - plan.first + 1
        if count > 0:
            break
    found = []
    for i in range(count):
        loss = max((typical + metric.offset) * math.exp((i / count - middle) * rise) -
                   metric.offset, 0)
        if kind == 'plateaus':
            loss = loss // level * level
        elif kind == 'steps':
            loss = (found[-1] if found else 0) + \
                (worst * draw.uniform(0, 0.3) if draw.random() < 12 / count else 0)
        elif kind == 'noise':
            loss += level * draw.uniform(-0.5, 0.5)
        elif kind == 'bumps':
            loss += level * math.sin(i * 40 / count)
        elif kind == 'random':
            loss = worst * draw.random() if draw.random() < 0.99 else math.inf
        found.append(max(loss, 0) if kind == 'random' else min(max(loss, 0), worst))
    # one of the scores, or any: better than the best, or worse than the worst, too
    aim = worst * draw.uniform(-0.05, 0.7) if draw.random() < 0.8 else \
        min(draw.choice(found), worst)
    return kind, plan._replace(target=metric.best + (-aim if higher else aim)), found


def search(plan, losses):
    """The end of a search, and the points that it tried."""
    sign, count, points = -1 if plan.metric.better == 'higher' else 1, len(losses), []

    def encode(at):
        return Point((plan.first + at) * plan.increment, plan.metric.best + sign * losses[at],
                     150 * math.exp(-4 * at / count))

    while (step := ffcrf_search.search_next(plan, points))[0] == State.TRY:
        at = round(step[1] / plan.increment) - plan.first
        assert 0 <= at < count and len(points) < ffcrf_search.MOST
        assert all(abs(point.crf - step[1]) > 1e-9 for point in points), 'tried again'
        points = sorted([*points, encode(at)])
    return step[0], step[2], points, encode


def test_choice():
    """Each search ends at the best CRF of a curve, or at the one that the state promises."""
    tries = dict.fromkeys(['smooth', 'plateaus', 'steps', 'noise', 'bumps', 'random'], 0)
    for seed in range(2400):
        kind, plan, losses = curves(seed)
        state, found, points, encode = search(plan, losses)
        tries[kind] += len(points)
        at, count = round(found.crf / plan.increment) - plan.first, len(losses)
        near = max(1, int(plan.exact / plan.increment + 1e-6), (count + 1024) // 1024)
        after = points[points.index(found) + 1:]
        misses = round(after[0].crf / plan.increment) - plan.first if after else count
        reached = plan.metric.reaches(found.score, plan.target)
        close = abs(found.score - plan.target) <= plan.tolerance
        fits = reached and found.percent <= plan.max_percent
        holds = {State.TOLERANCE: fits and close,
                 State.EXACT: fits and misses == at + 1 < count,
                 State.NEAR: fits and misses <= at + near, State.LAST: fits and at == count - 1,
                 State.MISSED: not reached and at == 0,
                 State.TOO_LARGE: found.percent > plan.max_percent}
        best = -1 + sum(1 for _ in itertools.takewhile(
            lambda i: plan.metric.reaches(encode(i).score, plan.target), range(count)))
        if kind in ('smooth', 'plateaus', 'steps'):
            right = best < 0 if state == State.MISSED else \
                at <= best and (at > best - near or close) if state != State.TOO_LARGE else \
                best < 0 or encode(best).percent > plan.max_percent or reached and at > best - near
            assert right, (seed, kind, state, at, best)
        assert holds[state], (seed, kind, state, at, best)
    # as many tries as it takes; rounding may differ from machine to machine
    most = {'smooth': 1095, 'plateaus': 1474, 'steps': 1791, 'noise': 1256, 'bumps': 1397, 'random': 1196}
    assert all(tries[kind] <= most[kind] + 3 for kind in most), tries


# ---- the command line ----

def parsed(words, **files):
    job = ffcrf_options.Job()
    ffcrf_options.parse(job, words.split() if isinstance(words, str) else words)
    return job


GOOD = '-i in.mkv -c:v libx264 --target-ssim 0.9'


@pytest.mark.parametrize('words', ['--vmaf model=version=vmaf_v0.6.1', '--vmaf=model=version=vmaf_v0.6.1',
                                   '--vmaf-model vmaf_v0.6.1'])
def test_model(words):
    assert parsed('-i in.mkv -c:v libx264 --crf 30 ' + words).model == 'vmaf_v0.6.1'


@pytest.mark.parametrize('says, words', [line.split('|') for line in f"""
crf 20|{GOOD} -crf:v 20
qp 20|{GOOD} -qp 20
crf itself|-i in.mkv -c:v libsvtav1 --target-ssim 0.9 -svtav1-params tune=0:crf=20
crf itself|-i in.mkv -c:v libx265 --target-ssim 0.9 -x265-params crf=18
fps_mode|{GOOD} -fps_mode cfr
-i|-c:v libx264 --target-ssim 0.9
psnr|-i in.mkv --metric psnr --target 40
xpsnr|{GOOD} --metric xpsnr
target-ssim|-i in.mkv --metric ssim
There is no option --target-loss|-i in.mkv --target-loss 8
did you mean --target-vmaf?|--taget-vmaf 90
did you mean --max-encoded-percent?|--max-encoded-procent=90
did you mean --json?|-json
lists the options|--frobnicate 1
use --svt scd=1|--scd true
-c:a aac -ac 2|--downmix-to-stereo
use --metric xpsnr|sample-encode -i in.mkv --xpsnr
frames are paired|--vmaf-fps=30
use --vmaf model=version=NAME|--vmaf n_subsample=4
use --vmaf model=version=NAME|--vmaf model=version=vmaf_v0.6.1:n_threads=4
another --metric|--and-vmaf
has all frames|--fail-fast
no temporary files|--temp-dir /tmp
-loglevel verbose|-vv
use ffcrf auto-encode -i INPUT --crf CRF|encode -i in.mkv --crf 30
use ffcrf -i REFERENCE --verify DISTORTED --metric vmaf|vmaf --reference a --distorted b
--metric xpsnr|xpsnr --reference=a --distorted=b
sample-encode needs a CRF|sample-encode -i in.mkv
already ssim|{GOOD} --target-xpsnr 40
already ssimulacra2|-i in.mkv --target-ssimulacra2 70 --target-ssim 0.9
--target-ssimulacra2|-i in.mkv --target-ssimulacra2 100.5
second input|-i in.mkv -i in.mkv
second output|-i in.mkv a.mkv b.mkv
second output|{GOOD} out.mkv stray
name it with --encode|-y -i in.mkv there.mkv
name it with --encode|-i in.mkv there.mkv -y -crf 20
name it with --encode|-crf 20 -y --input=in.mkv there.mkv
not the input|-y -i in.mkv --encode link.mkv
not the input|-y -i file:in.mkv -o file:link.mkv
not the input|{GOOD} --encode in.mkv -y
exists|{GOOD} --encode there.mkv
several times|-i -
several times|-i pipe:0
name of an output|-i in.mkv --crf 30 -
'in.mkv' without an option|in.mkv
leave out 'x.mkv'|--verify in.mkv -i in.mkv -o x.mkv
same output|-i in.mkv folder/in.mkv --encode folder
not a whole number from 1 to 1000|{GOOD} --samples many
not a whole number|{GOOD} --samples=2.5
not a number from 0 to 110|-i in.mkv --target-vmaf nan
not a number|{GOOD} --tolerance 1e1
not a number|{GOOD} --max-crf=
true or false|{GOOD} --cache maybe
is for vmaf|{GOOD} --vmaf-scale auto
1920x1080|-i in.mkv --vmaf-scale 1920
-map 0:v is not allowed|{GOOD} -map 0:v
-copyts is not supported|{GOOD} -copyts
-noautorotate is not supported|{GOOD} -noautorotate
-lavfi is not supported|{GOOD} -lavfi null
needs a value|{GOOD} -preset --crf=30
needs a value|{GOOD} --verify -o x.mkv
needs a value|{GOOD} --samples
takes no value|{GOOD} --enc an=1
1.5.5s|{GOOD} --sample-every 1.5.5s
90s, 1m30s, 500ms, 1:30 or 01:02:03|{GOOD} -ss 1:60
a duration|{GOOD} -ss 30s1m
a duration|{GOOD} -ss 1m30
a duration|{GOOD} -ss -1
a duration|{GOOD} --sample-every=
a duration|{GOOD} -t 1:2:3:4
a duration|{GOOD} -t 0
p99|{GOOD} --pool p99
p0|{GOOD} --pool p0
-to|{GOOD} -ss 3 --to 2
xpsnr|-i in.mkv --target-xpsnr 40 --score-every 2
needs all frames|{GOOD} --pool p5 --score-every 2
""".strip().splitlines()])
def test_refused(says, words, tmp_path, monkeypatch):
    """Each error contains the option or value that is wrong, and what to do."""
    monkeypatch.chdir(tmp_path)
    for name in 'in.mkv', 'there.mkv':
        (tmp_path / name).touch()
    (tmp_path / 'folder').mkdir()
    os.link('in.mkv', 'link.mkv')
    with pytest.raises(quality_common.ToolError) as error:
        job = parsed(words)
        ffcrf_options.folder_outputs(job)
    assert says in str(error.value)


def test_accepted(tmp_path, monkeypatch):
    """Options of ffmpeg, of ab-av1 and of ffcrf set what they name."""
    monkeypatch.chdir(tmp_path)
    job = parsed('auto-encode --input a.mkv -e svt-av1 --preset 4 --svt tune=0 --svt scd=1 '
                 '--acodec aac --enc metadata=title=one --enc -an --keyint=10s --min-vmaf=90 '
                 '-hide_banner -map -0:2 -nostats -c copy')
    assert (job.encoder, job.inputs, job.encode) == ('libsvtav1', ['a.mkv'], 'a.encode.mkv')
    assert job.encoder_options == {'preset': '4', 'svtav1-params': 'tune=0:scd=1'}
    assert job.other_options == [('c:a', 'aac'), ('metadata', 'title=one'), ('an', None)]
    assert (job.keyint, job.target, job.metric.name) == ('10s', 90, 'vmaf')
    job = parsed('-i a.mkv -codec:v:0 libx264 -filter:v hflip -frames:v 9 -tag:v hvc1 -flags -cgop '
                 '-ss 01:02:03.5 -t 500ms --sample-every 1h2m3s4ms --cache=false -crf:v 20 b.mp4')
    assert (job.encoder, job.filters, job.nb_frames, job.crf) == ('libx264', 'hflip', 9, 20)
    assert (job.start, job.length, job.every) == (3723.5, 0.5, 3723.004)
    assert (job.cache, job.encode, job.has_target) == (False, 'b.mp4', False)
    assert job.other_options == [('tag:v', 'hvc1')] and job.encoder_options == {'flags': '-cgop'}
    # a command that was printed may replace its output
    (tmp_path / 'b.mp4').touch()
    assert parsed('-i a.mkv -crf 20 -y b.mp4').encode == 'b.mp4'
    job = parsed('-i a.mkv b.mkv --encode folder/ c/d.mov --crf 30')
    assert ffcrf_options.folder_outputs(job) == ['folder/a.mkv', 'folder/b.mkv', 'folder/d.mkv']


def test_shell_word():
    """A word that was quoted is the same for a shell."""
    words = ['', 'a b', "it's", '$(touch hole)', '`x`', 'a\tb', 'a\nb\n\n', '\x1b[1m', '-n', '%s%%',
             '\\', '\\101\n', 'é', '\udcff', '\u202e', '*?[a]{b,c}~#&|;<>"', '-dash', "'''", '"q"',
             '100%', '%03d', '[0:v]', 'a:b', '$HOME', 'a;touch hole;b', 'a|b&c>d<e', '{a,b}=!',
             '\ttab', '\n', '\x9b1m', '~']
    line = 'printf "%s\\0" ' + ' '.join(map(ffcrf_encode.shell_word, words))
    assert line.isprintable() or '\n' in line
    done = subprocess.run(['sh', '-c', os.fsencode(line)], capture_output=True, check=True)
    assert done.stdout.split(b'\0')[:-1] == [*map(os.fsencode, words)]


# ---- whole runs ----

def run(*words, **options):
    """Run ffcrf with JSON; return the exit code, its objects and messages."""
    done = subprocess.run([sys.executable, FFCRF, *words, '--json'], capture_output=True,
                          text=True, check=False, timeout=600, **options)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_season(tmp_path, monkeypatch):
    """All inputs are encoded into the folder, whatever happens to the others. Finished ones are
    not encoded again, and the exit code is the worst one."""
    monkeypatch.setenv('FFCRF_CACHE', str(tmp_path / 'cache'))
    names = [str(tmp_path / f'{n}.mkv') for n in range(3)]
    for n, name in enumerate(names):
        video(name, seconds=0.2, source=f'testsrc2=s={96 + 32 * n}x96:r=25')
    (tmp_path / '1.mkv').write_bytes(b'no video')
    words = ['-i', *names, *FAST, '--crf', '30', '--encode', f'{tmp_path}/o/']
    code, lines, errors = run(*words)
    done = [line['file'] for line in lines if line['type'] == 'verify-done']
    assert code == 2 and '1.mkv' in errors
    assert done == [str(tmp_path / 'o' / f'{n}.mkv') for n in (0, 2)]
    times = [os.stat(name).st_mtime_ns for name in done]
    video(names[1], seconds=0.2)
    code, lines, errors = run(*words)
    assert code == 0 and len([line for line in lines if line['type'] == 'verify-done']) == 3
    assert [os.stat(name).st_mtime_ns for name in done] == times
    # of another CRF, or changed since then: neither skipped nor replaced
    code, lines, errors = run(*words, '--crf', '31')
    assert code == 2 and errors.count('exists') == 3
    ffmpeg('-i', names[0], '-c:v', 'libx264', done[0])
    code, lines, errors = run(*words)
    assert code == 2 and errors.count('exists') == 1
    code, lines, errors = run(*words, '-y', '--target', '0.9999')
    assert code == 1 and os.stat(done[0]).st_mtime_ns != times[0]


def test_stall(tmp_path):
    """An ffmpeg that waits without an end is stopped, and one that works is not."""
    source = video(tmp_path / 'in.mkv', seconds=0.2)
    program = tmp_path / 'ffmpeg'
    (tmp_path / 'ffprobe').symlink_to(quality_common.find_ffprobe(FFMPEG))
    for work, says in ('exec sleep 60', 'was stopped'), ('sleep 1; exit 3', 'ended with code 3'):
        program.write_text('#!/bin/sh\ncase "$*" in *-map*) ' + work + ' ;; '
                           '*) printf "\\n  -crf \\n" ;; esac\n', encoding='utf-8')
        program.chmod(0o755)
        script = 'import runpy, sys, quality_common; quality_common.STALL_CHECKS = 3; ' \
            'runpy.run_path(sys.argv[0], run_name="__main__")'
        done = subprocess.run(
            [sys.executable, '-c', f'import sys; sys.argv[0] = {FFCRF!r}; '
             f'sys.path.insert(0, {str(ROOT / "tools")!r}); {script}', '-i', source, '-c:v',
             'libx264', '--crf', '30', '--ffmpeg', program], capture_output=True, text=True,
            check=False, timeout=60)
        assert done.returncode == 2 and says in done.stderr
