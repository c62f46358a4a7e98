"""Tests of quality-report: pages of all forms of logs, their numbers and pictures, errors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from common import BAD_LOGS, FFMPEG, TOOLS, Page, ffmpeg, lines, needs, report, tool
from quality_common import load

pytest.importorskip('jinja2', reason='no python3-jinja2')
if not os.path.exists('/usr/share/javascript/dygraphs/dygraph.min.js'):
    pytest.skip('no libjs-dygraphs', allow_module_level=True)


def worst(page):
    """Cards of the worst moments: value and frame."""
    return [(card[1], int(card[-1].removeprefix('frame '))) for card in page.cards]


def frame_of(video, n):
    """A picture of a frame, made in the plain way."""
    return ffmpeg('-i', video, '-an', '-vf', f'select=eq(n\\,{n}),scale=160:120', '-frames:v', 1, '-c:v', 'mjpeg', '-q:v', 5,
                  '-f', 'image2pipe', '-')


# ---- what is read ----

@pytest.fixture(scope='module')
def logs(tmp_path_factory):
    """All forms of the log of a clip that is black for a while."""
    folder = tmp_path_factory.mktemp('logs')
    source = r'testsrc2=s=128x96:r=25:d=6,drawbox=t=fill:color=black:enable=between(t\,1\,1.4),bliinds='
    ffmpeg('-lavfi', source + 'f=stats_file:log_path=json,metadata=print:file=metadata', '-f', 'null', '-', cwd=folder)
    log = json.loads((folder / 'json').read_text())
    (folder / 'frames').write_text(json.dumps({'frames': log['frames']}))  # what is pooled of a whole log is not read from it
    return folder


@pytest.mark.parametrize('form', ['stats_file', 'json', 'frames', 'metadata'])
def test_forms(logs, tmp_path, form):
    """Each gives the same page, with the numbers that the filter pools."""
    page = report(tmp_path, logs / form, '--fps', 25)
    pooled = json.loads((logs / 'json').read_text())['pooled_metrics']['score']
    names = {'min': 'lowest', 'max': 'highest', 'mean': 'mean'}
    shown = {row[0]: row[1] for row in page.rows[1:]}
    assert {name: shown[name] for name in names.values()} == {name: f'{pooled[key]:.2f}' for key, name in names.items()}
    assert '<span>worst 48 frames in a row' in page.text
    assert worst(page) == worst(report(tmp_path, logs / 'stats_file', '--fps', 25))
    assert '10 of 150 frames not valid (black or flat: there is nothing to score): left out' in page.notes


@pytest.mark.parametrize('form', ['lines', 'metadata'])
def test_basis(tmp_path, form):
    """What scores were made from is counted."""
    rows = [{'score': 10, 'valid': 1, 'basis': int(i < 40)} for i in range(50)]
    words = [row | {'basis': 'bitstream' if row['basis'] else 'pixels'} for row in rows]
    (tmp_path / 'log').write_text({
        'lines': ''.join(f'n:{i + 1} pts_time:{i / 25} ' + ' '.join(f'{key}:{value}' for key, value in row.items()) + '\n'
                         for i, row in enumerate(rows)),
        'metadata': ''.join(f'frame:{i} pts:{i} pts_time:{i / 25}\n' + ''.join(
            f'lavfi.bliinds.{key}={value}\n' for key, value in row.items()) for i, row in enumerate(words)),
    }[form])
    marked = report(tmp_path, tmp_path / 'log', '--fps', 25).marked()
    assert marked == ['40 frames scored by the bitstream, 10 by the pixels alone.']


def test_basis_is_no_score(tmp_path):
    (tmp_path / 'log').write_text('frame:0 pts:0 pts_time:0\nlavfi.bliinds.score=1\nlavfi.bliinds.basis=pixels\n')
    for metric in 'basis', 'lavfi.bliinds.basis':
        done = tool('quality-report', 'log', '--metric', metric, '--better', 'lower', cwd=tmp_path)
        assert (done.returncode, done.stderr) == (1, f"quality-report: 'log': {metric} is no score: the page of the "
                                                  'score counts the frames that have it\n')
    done = tool('quality-report', 'log', '--metric', 'none', cwd=tmp_path)
    assert done.stderr == "quality-report: 'log': there is no none in it; it has bliinds.score\n"


def test_bliinds_basis(tmp_path):
    """The filter's own keys, and several logs."""
    graph = 'testsrc2=s=64x48:r=25:d=2,bliinds=f=own,metadata=print:file=metadata'
    ffmpeg('-lavfi', graph, '-f', 'null', '-', cwd=tmp_path)
    (tmp_path / 'plain').write_text(lines(50, lambda i: i))
    for logs, begin in ([['metadata'], ''], [['own', 'plain'], 'own: ']):
        page = report(tmp_path, *(tmp_path / log for log in logs))
        assert page.marked()[-1].startswith(begin + '0 frames scored by the bitstream, 50 by the pixels alone.')


# ---- what is shown ----

def test_worst(tmp_path):
    """Peaks of known heights at known times: no two within a second, no frame that is not valid."""
    peaks = {50: 90, 62: 85, 75: 80, 175: 70, 200: 99, 225: 'nan'}
    text = lines(250, lambda i: peaks.get(i, 20 + i / 1000), lambda i: i != 200)
    (tmp_path / 'log').write_text(text)
    page = report(tmp_path, tmp_path / 'log', '--worst', 6)
    assert page.cards[0] == ['1', '90.00', '0:00:02.000', 'frame 50']
    assert worst(page) == [('90.00', 50), ('80.00', 75), ('70.00', 175), ('20.25', 249), ('20.22', 224), ('20.15', 150)]
    assert [(mark['x'], mark['text']) for mark in page.data['time']['charts'][0]['marks'][:2]] == [(2, 1), (3, 2)]
    assert page.notes == ['1 of 250 frames not valid (black or flat: there is nothing to score): left out',
                          '1 of 250 frames without a number: left out']
    # higher is better
    (tmp_path / 'ssim').write_text(re.sub(r'.*nan.*\n', '', text.replace(' score:', ' All:')))
    page = report(tmp_path, tmp_path / 'ssim', '--metric', 'All', '--worst', 3)
    assert worst(page) == [('20.0000', 0), ('20.0250', 25), ('20.0510', 51)]
    assert 'SSIM (All): 0..1, higher is better' in page.paragraphs
    # without times
    values = {40: 90, 50: 80, 64: 70}
    (tmp_path / 'csv').write_text('Frame,score,\n' + ''.join(f'{i},{values.get(i, 1)},\n' for i in range(100)))
    page = report(tmp_path, tmp_path / 'csv', '--worst', 2)
    assert page.cards == [['1', '90.00', 'frame 40'], ['2', '70.00', 'frame 64']] and not page.data['time']['isTime']
    assert report(tmp_path, tmp_path / 'csv', '--worst', 0).cards == []


def test_several(tmp_path):
    """Of two logs of other lengths, and of two metrics."""
    (tmp_path / 'a').write_text(lines(10, lambda i: i))
    (tmp_path / 'b').write_text(lines(20, lambda i: i * 2))
    page = report(tmp_path, tmp_path / 'a', tmp_path / 'b', '--worst', 1)
    assert page.rows[0][:4] == ['frames', 'not valid', 'mean', 'min']
    assert page.rows[1] == ['a', '10', '0', *'4.50 0.00 0.09 0.45 0.90 4.50 8.10 8.55 8.91 9.00 4.50 0:00:00'.split()]
    assert page.rows[2] == ['b', '20', '0', *'19.00 0.00 0.38 1.90 3.80 19.00 34.20 36.10 37.62 38.00 19.00 0:00:00'.split()]
    assert worst(page) == [('9.00', 9), ('38.00', 19)]
    assert ['5 %', '0.45', '1.90'] in page.rows
    page = report(tmp_path, tmp_path / 'a', '-m', 'score', '-m', 'raw', '--worst', 1)
    assert [chart['axis'] for chart in page.data['time']['charts']] == 2 * ['estimated VMAF loss (0..100, lower is better)']
    assert page.curve(0) == tuple(range(10)) and page.curve(1) == (1,) * 10


def test_film(tmp_path):
    """Two hours with a single bad frame: every frame is there, at its time; and the page is small."""
    values = [97.5 if i == 100000 else 30 + 20 * math.sin(i / 900) + i * 7919 % 1000 / 100 for i in range(172800)]
    (tmp_path / 'log').write_text(lines(172800, values.__getitem__))
    page = report(tmp_path, tmp_path / 'log', '--worst', 1)
    assert page.data['time']['step'] == 1 and len(page.text) < 1.5e6
    assert all(abs(a - b) < 1e-4 for a, b in zip(page.curve(), values, strict=True))
    assert all(abs(at - i / 25) < 1e-6 for i, at in enumerate(page.times()))
    assert page.cards == [['1', '97.50', '1:06:40.000', 'frame 100000']]


def test_too_many_frames(tmp_path, monkeypatch):
    """Above a million neighbours are put together, the lowest and the highest stay."""
    module = load(TOOLS['quality-report'])
    assert module.POINTS == 1 << 20
    monkeypatch.setattr(module, 'POINTS', 10000)
    with open(tmp_path / 'csv', 'w') as file:
        file.write('Frame,score,\n' + ''.join(f'{i},{99 if i == 7777 else i % 7},\n' for i in range(12001)))
    monkeypatch.setattr(sys, 'argv', ['quality-report', str(tmp_path / 'csv'), '--worst', '1', '-o', str(tmp_path / 'page.html')])
    module.main()
    page = Page(tmp_path / 'page.html').check()
    assert page.data['time']['step'] == 2 and 'the mean of 2 frames' in page.text
    curves = {key: page.curve(key=key) for key in ('low', 'mean', 'high')}
    assert {len(curve) for curve in curves.values()} == {6001} and len(page.times()) == 6001
    assert curves['high'].index(99) == 3888 and curves['low'][:3] == (0, 2, 4) and curves['mean'][:3] == (.5, 2.5, 4.5)


def test_histogram(tmp_path):
    (tmp_path / 'log').write_text(lines(100, lambda i: 10 if i < 75 else 20))
    chart = report(tmp_path, tmp_path / 'log').data['charts'][0]
    assert {round(x, 6): share for x, share in chart['rows'] if share} == {10: 75, 20: 25}
    assert chart['lines'][0]['x'] == 12.5 and chart['x'] == 'estimated VMAF loss (0..100, lower is better)'


@needs('chromium')
def test_browser(tmp_path):
    """The curves are drawn, and no script fails."""
    (tmp_path / 'log').write_text(lines(5000, lambda i: 50 + i % 10))
    report(tmp_path, tmp_path / 'log')
    done = subprocess.run(['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr',
                           f'--user-data-dir={tmp_path}/chromium', '--virtual-time-budget=10000', '--dump-dom',
                           f'file://{tmp_path}/page.html'], capture_output=True, text=True, timeout=300, check=True)
    assert 'CONSOLE' not in done.stderr, done.stderr
    assert '<span id="range">0:00:00 to 0:03:20</span>' in done.stdout and done.stdout.count('<canvas') >= 4


# ---- pictures ----

VIDEOS = {
    'a.mp4': ['-c:v', 'mpeg4', '-bf', '2', '-g', '50'],
    'vfr.mp4': ['-vf', r'select=not(eq(mod(n\,7)\,3))', '-fps_mode', 'vfr', '-c:v', 'mpeg4'],
    # sound begins before the picture
    'a.ts': ['-f', 'lavfi', '-i', 'sine=d=5', '-filter_complex', '[0]setpts=PTS+0.5/TB[v]', '-map', '[v]', '-map', '1',
             '-c:v', 'mpeg4', '-g', '15', '-c:a', 'mp2'],
}


@pytest.mark.parametrize('name', VIDEOS)
def test_pictures(tmp_path, name):
    """They are those of the frames, to the byte, beside those of the source."""
    video, log, json_log = tmp_path / name, tmp_path / 'lines', tmp_path / 'json'
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=30000/1001:d=4', *VIDEOS[name], '-y', video)
    ffmpeg('-i', video, '-vf', 'hflip', '-c:v', 'ffv1', '-fps_mode', 'passthrough', '-copyts', tmp_path / 'source.mkv')
    for audio in [], ['-an']:
        ffmpeg('-i', video, *audio, '-vf', f'bliinds=f={log}:log_path={json_log}', '-f', 'null', '-y', '-')
        for path in log, json_log:
            page = report(tmp_path, path, '--video', video, '--ffmpeg', FFMPEG, '--worst', 3)
            wanted = [frame_of(video, n) for _, n in worst(page)]
            assert page.pictures() == wanted and len(wanted) == 3
    page = report(tmp_path, log, '--video', video, '--source', tmp_path / 'source.mkv', '--ffmpeg', FFMPEG, '--worst', 3)
    pictures = page.pictures()
    assert pictures[1::2] == wanted and len(pictures) == 6
    assert pictures[::2] == [frame_of(tmp_path / 'source.mkv', n) for _, n in worst(page)]


def test_another_video(tmp_path):
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=160x120:d=4', '-c:v', 'mpeg4', tmp_path / 'a.mp4')
    (tmp_path / 'log').write_text(lines(400, lambda i: i))
    page = report(tmp_path, tmp_path / 'log', '--video', tmp_path / 'a.mp4', '--ffmpeg', FFMPEG, '--worst', 2)
    assert page.notes == ['2 of 2 pictures are missing: its video has no frames at these times. '
                          'Was the log made of another video, or of a part of it?']


# ---- names and errors ----

def test_names(tmp_path):
    """Whatever they have in them."""
    odd = 'a \'"<b>&amp;$(touch pwned)`touch pwned`%d {{script}} é\n<script>alert(1)<!--.log'
    (tmp_path / odd.replace('/', '')).write_text(lines(30, lambda i: i))
    odd = next(name for name in os.listdir(tmp_path))
    done = tool('quality-report', './' + odd, '-o', 'page of ' + odd, cwd=tmp_path)
    assert not done.returncode, done.stderr
    page = Page(tmp_path / ('page of ' + odd)).check()
    assert '<title>a &#39;&#34;&lt;b&gt;&amp;amp;$(touch pwned)`touch pwned`%d {{script}} é\n&lt;script&gt;' in page.text
    assert page.data['time']['charts'][0]['curves'][0]['name'] == odd
    metric = "a'b<i>`touch pwned`"
    (tmp_path / 'csv').write_text(f'Frame,{metric},\n0,1,\n1,2,\n')
    assert metric in report(tmp_path, tmp_path / 'csv', '--metric', metric, '--better', 'lower').data['charts'][0]['x']
    (tmp_path / os.fsdecode(b'\xff.log')).write_text(lines(3, lambda i: i))
    assert '\ufffd.log' in report(tmp_path, os.fsdecode(os.fsencode(tmp_path) + b'/\xff.log')).text
    assert 'pwned' not in os.listdir(tmp_path)


@pytest.mark.parametrize('name', ['empty', 'cut.json', 'nan', 'missing'])     # all of them: test_gate.py
def test_bad_logs(tmp_path, name):
    """The page that is there stays."""
    text, message = BAD_LOGS.get(name, (None, 'cannot be read: No such file or directory'))
    if text is not None:
        (tmp_path / name).write_text(text)
    (tmp_path / 'page.html').write_text('old')
    done = tool('quality-report', name, '-o', 'page.html', cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.count('\n') == 1
    assert done.stderr.startswith(f"quality-report: '{name}'") and message in done.stderr
    assert (tmp_path / 'page.html').read_text() == 'old' and not [n for n in os.listdir(tmp_path) if n.endswith('.tmp')]


@pytest.mark.parametrize('arguments, code, message', [
    ('log -o none/page.html', 1, "'none/page.html' cannot be written: No such file or directory\n"),
    ('log -o /dev/full', 1, "'/dev/full' cannot be written: No space left on device\n"),
    ('log --metric foo', 1, "'log': there is no foo in it; it has score, raw, valid\n"),
    ('log --metric raw --video none', 1, "'none' is no file\n"),
    ('log --source none', 1, "'none' is no file\n"),
    ('log --video log --ffmpeg ./none', 1, './none cannot be run: No such file or directory; name an ffmpeg with --ffmpeg\n'),
    ('log --fps 0', 2, '--fps must be above 0\n'),
    ('log --worst -1', 2, '--worst must be from 0 to 1000\n'),
    ('log --video a --video b', 2, 'more videos than logs\n'),
    ('', 2, 'the following arguments are required: LOG\n'),
    ('foo --metric foo', 1, "'foo': which end of foo is the better one? Say it with --better lower or higher\n"),
    ('log psnr', 1, "these logs have different scales: 'log': score, 0..100, lower is better; 'psnr': psnr_avg, "
     '0 and up, higher is better. Name one that all have with --metric, or make a page of each\n'),
])
def test_errors(tmp_path, arguments, code, message):
    (tmp_path / 'log').write_text(lines(3, lambda i: 5))
    (tmp_path / 'psnr').write_text(lines(3, lambda i: 5).replace('score', 'psnr_avg'))
    (tmp_path / 'foo').write_text('Frame,foo,\n0,1,\n')
    done = tool('quality-report', *arguments.split(), cwd=tmp_path)
    assert done.returncode == code and done.stderr.endswith(message), done.stderr
    assert sorted(os.listdir(tmp_path)) == ['foo', 'log', 'psnr']


def test_output_fails(tmp_path):
    (tmp_path / 'log').write_text(lines(3, lambda i: 5))
    with open('/dev/full', 'w') as full:
        done = tool('quality-report', tmp_path / 'log', '-o', '-', capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "quality-report: '-' cannot be written: No space left on device\n")


def test_packages_are_missing(tmp_path):
    """It is said how to install them."""
    (tmp_path / 'log').write_text(lines(3, lambda i: 5))
    (tmp_path / 'jinja2.py').write_text('raise ImportError')
    done = tool('quality-report', 'log', cwd=tmp_path, env={**os.environ, 'PYTHONPATH': str(tmp_path)})
    assert done.returncode == 1 and 'apt-get install python3-jinja2' in done.stderr
    (tmp_path / 'jinja2.py').unlink()
    path = Path(TOOLS['quality-report'])
    (tmp_path / 'tool').write_text(path.read_text().replace("'/usr/share/javascript", "'/none").replace(
        'os.path.dirname(os.path.realpath(__file__))', repr(str(path.parent))))
    done = subprocess.run([sys.executable, 'tool', 'log'], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and 'apt-get install libjs-dygraphs' in done.stderr


def test_one_frame(tmp_path):
    (tmp_path / 'log').write_text(lines(1, lambda i: 5))
    page = report(tmp_path, tmp_path / 'log')
    assert worst(page) == [('5.00', 0)] and ['mean', '5.00'] in page.rows


# ---- CRF searches ----

SAMPLES = ''.join(json.dumps(dict(zip(
    ('crf', 'score', 'scored_frames', 'size', 'encode_percent'), sample), type='sample-encode-done', metric='loss', seconds=10))
    + '\n' for sample in [(28, 12.5, 250, 900000, 12), (28, 10.5, 125, 1200000, 14), (22, 5.5, 250, 1900000, 22),
                          (22, 4.5, 250, 2200000, 24), (40, None, 0, 1, 1)])


def found(pool):
    return SAMPLES + json.dumps({'type': 'crf-search-done', 'crf': 22, 'metric': 'loss', 'pool': pool, 'score': 5,
                                 'target': 8}) + '\n'


def test_search(tmp_path):
    """What ffcrf --json writes."""
    (tmp_path / 'found').write_text(found('mean'))
    (tmp_path / 'failed').write_text(SAMPLES + '{"type": "crf-search-error", "message": "no CRF <x>"}\n{"type": "sam')
    page = report(tmp_path, tmp_path / 'found', tmp_path / 'failed')
    assert page.rows == [['CRF', 'score', 'rate', 'of the source'],
                         ['found', '22', '5.00', '1,640 kbit/s', '23.0 %', 'found'],
                         ['found', '28', '11.83', '840 kbit/s', '13.1 %'],
                         ['failed', '22', '5.00', '1,640 kbit/s', '23.0 %'], ['failed', '28', '11.83', '840 kbit/s', '13.1 %']]
    assert page.notes == ['failed: no CRF <x>', 'found: CRF 40 has no score: left out',
                          'failed: the last line is not whole and was left out', 'failed: CRF 40 has no score: left out']
    chart = page.data['charts'][0]
    assert chart['lines'] == [{'y': 8, 'text': 'target 8'}] and len(chart['marks']) == 4
    assert chart['y'] == 'loss in VMAF points (0..100, lower is better)'
    # beside a log of frames
    (tmp_path / 'log').write_text(lines(30, lambda i: i))
    page = report(tmp_path, tmp_path / 'log', tmp_path / 'found')
    assert ['mean', '14.50'] in page.rows and page.rows[-2][-1] == 'found'


@pytest.mark.parametrize('pool, scores, note', [('worst', ['5.50', '12.50'], []), (
    'p5', ['5.00', '11.83'], ['the search went by p5, and the curve has the means'])])
def test_search_pools(tmp_path, pool, scores, note):
    (tmp_path / 'log').write_text(found(pool) + json.dumps(
        {'type': 'verify-done', 'file': 'a<b>.mkv', 'metric': 'loss', 'score': 6.5, 'frames': 9000}) + '\n')
    page = report(tmp_path, tmp_path / 'log')
    assert [row[2] for row in page.rows[1:]] == scores
    assert page.notes == ['a<b>.mkv: loss 6.5 over 9000 frames, verified', *note, 'CRF 40 has no score: left out']


def test_search_errors(tmp_path):
    (tmp_path / 'failed').write_text('{"type": "crf-search-error", "message": "no such encoder"}\n')
    done = tool('quality-report', 'failed', cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        1, "quality-report: 'failed': this search has scored nothing: no such encoder\n")
    (tmp_path / 'two').write_text(SAMPLES + SAMPLES.replace('loss', 'vmaf'))
    done = tool('quality-report', 'two', cwd=tmp_path)
    assert done.stderr == "quality-report: 'two': has searches of different metrics: loss, vmaf; make a log of each\n"
