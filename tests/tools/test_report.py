"""Tests of quality-report: numbers, curves, pictures, names, errors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import os
import re
import subprocess

import pytest
from common import FFMPEG, document, ffmpeg, lines, needs, report, tool


def worst(page):
    """(score, frame) of the moments on a page."""
    return [(card[1], int(card[-1].split()[1])) for card in page.cards]


def test_numbers(tmp_path):
    values = {50: 90, 60: 85, 75: 80, 175: 70}     # 60 is within a second of a worse one
    text = lines(250, lambda i: 'nan' if i == 5 else values.get(i, 20 + i / 1000), lambda i: i != 100)
    (tmp_path / 'log').write_text(text)
    page = report(tmp_path, tmp_path / 'log', '--worst', 6)
    assert worst(page) == [('90.00', 50), ('80.00', 75), ('70.00', 175), ('20.25', 249), ('20.22', 224), ('20.15', 150)]
    assert [(mark['x'], mark['text']) for mark in page.data['time']['charts'][0]['marks'][:2]] == [(2, 1), (3, 2)]
    assert page.notes == ['1 of 250 frames without a number: left out',
                          '1 of 250 frames not valid (black or flat: there is nothing to score): left out']
    # higher is better
    (tmp_path / 'ssim').write_text(re.sub(r'.*nan.*\n', '', text.replace(' score:', ' All:')))
    page = report(tmp_path, tmp_path / 'ssim', '--metric', 'All', '--worst', 3)
    assert worst(page) == [('20.0000', 0), ('20.0250', 25), ('20.0510', 51)]
    assert 'SSIM (All): 0..1, higher is better' in page.paragraphs
    # without times; its run was stopped
    (tmp_path / 'json').write_text(document([{'score': {40: 90, 50: 80, 64: 70}.get(i, 1), 'basis': int(i > 9)}
                                             for i in range(100)], eof=False))
    page = report(tmp_path, tmp_path / 'json', '--worst', 2)
    assert page.cards == [['1', '90.00', 'frame 40'], ['2', '70.00', 'frame 64']] and not page.data['time']['isTime']
    assert '90 frames scored by the bitstream, 10 by the pixels alone.' in page.paragraphs
    assert page.notes == ['its run was stopped before the end: it has no "eof": true']


def test_several(tmp_path):
    """Of two logs of other lengths; of two metrics; of one without times beside one that has them."""
    (tmp_path / 'a').write_text(lines(10, lambda i: i))
    (tmp_path / 'b').write_text(lines(20, lambda i: i * 2))
    page = report(tmp_path, tmp_path / 'a', tmp_path / 'b', '--worst', 1)
    assert page.rows[0][:4] == ['frames', 'not valid', 'mean', 'min']
    assert page.rows[1] == ['a', '10', '0', *'4.50 0.00 0.09 0.45 0.90 4.50 8.10 8.55 8.91 9.00 4.50 0:00:00'.split()]
    assert page.rows[2] == ['b', '20', '0', *'19.00 0.00 0.38 1.90 3.80 19.00 34.20 36.10 37.62 38.00 19.00 0:00:00'.split()]
    assert worst(page) == [('9.00', 9), ('38.00', 19)]
    page = report(tmp_path, tmp_path / 'a', '-m', 'score', '-m', 'raw', '--worst', 1)
    assert page.curve(0) == tuple(range(10)) and page.curve(1) == (1,) * 10
    (tmp_path / 'json').write_text(document([{'score': i} for i in range(5)]))
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=0.4', '-c:v', 'mpeg4', tmp_path / 'a.mp4')
    page = report(tmp_path, tmp_path / 'a', tmp_path / 'json', '--video', tmp_path / 'a.mp4', '--ffmpeg', FFMPEG, '--worst', 1)
    assert not page.data['time']['isTime'] and page.times(1) == [0, 1, 2, 3, 4] and len(page.pictures()) == 1
    assert page.cards == [['1', '9.00', 'frame 9'], ['1', '4.00', 'frame 4']]


def test_film(tmp_path):
    """Two hours with a single bad frame: every frame is there, at its time; and the page is small."""
    values = [97.5 if i == 100000 else 30 + 20 * math.sin(i / 900) + i * 7919 % 1000 / 100 for i in range(172800)]
    (tmp_path / 'log').write_text(lines(172800, values.__getitem__))
    page = report(tmp_path, tmp_path / 'log', '--worst', 1)
    assert len(page.text) < 1.5e6
    assert all(abs(a - b) < 1e-4 for a, b in zip(page.curve(), values, strict=True))
    assert all(abs(at - i / 25) < 1e-6 for i, at in enumerate(page.times()))
    assert page.cards == [['1', '97.50', '1:06:40.000', 'frame 100000']]


def test_histogram(tmp_path):
    (tmp_path / 'log').write_text(lines(100, lambda i: 10 if i < 75 else 20))
    chart = report(tmp_path, tmp_path / 'log').data['charts'][0]
    assert {round(x, 6): share for x, share in chart['rows'] if share} == {10: 75, 20: 25}
    assert chart['curves'][0]['mean'] == 12.5 and chart['x'] == 'estimated VMAF loss (0..100, lower is better)'


DRIVER = """<script>setTimeout(() => {
    const canvas = document.querySelectorAll('#time-0 canvas')[1];
    const { x, y } = canvas.getBoundingClientRect();
    const point = (type, at) => canvas.dispatchEvent(new MouseEvent(
        type, { bubbles: true, clientX: x + at, clientY: y + 60 }));
    point('mousemove', 200);
    point('mousedown', 200);
    point('mousemove', 400);
    point('mouseup', 400);
}, 2000)</script>"""


@needs('chromium')
def test_browser(tmp_path):
    """The curves are drawn, tell their values, and show a part; no script fails."""
    (tmp_path / 'log').write_text(lines(5000, lambda i: 50 + i % 10))
    page = report(tmp_path, tmp_path / 'log')
    # another script is one that the page forbids
    (tmp_path / 'driven.html').write_text(re.sub('<meta http-equiv.*', '', page.text) + DRIVER)
    options = ['--headless', '--no-sandbox', '--disable-gpu', '--enable-logging=stderr',
               f'--user-data-dir={tmp_path}/chromium', '--virtual-time-budget=10000', '--dump-dom']
    for name, span in ('page', '0:00:00.000 to 0:03:19.960'), ('driven', '0:0[01].* to 0:0[12].*'):
        done = subprocess.run(['chromium', *options, f'file://{tmp_path}/{name}.html'],
                              capture_output=True, text=True, timeout=300, check=True)
        assert 'CONSOLE' not in done.stderr and done.stdout.count('<canvas') >= 4, done.stderr
        assert re.search(f'<span id="range">{span}</span>', done.stdout)
    assert re.search('<p class="readout" aria-live="polite">0:0.*: 5[0-9]', done.stdout)


VIDEOS = {
    'vfr.mp4': ['-vf', r'select=not(eq(mod(n\,7)\,3))', '-fps_mode', 'vfr', '-c:v', 'mpeg4', '-bf', '2', '-g', '50'],
    # sound begins before the picture
    'a.ts': ['-f', 'lavfi', '-i', 'sine=d=5', '-filter_complex', '[0]setpts=PTS+0.5/TB[v]', '-map', '[v]', '-map', '1',
             '-c:v', 'mpeg4', '-g', '15', '-c:a', 'mp2'],
}


@pytest.mark.parametrize('name', VIDEOS)
def test_pictures(tmp_path, name):
    """They are those of the frames, to the byte, beside those of the source."""
    video, log, json_log = tmp_path / name, tmp_path / 'lines', tmp_path / 'json'

    def frame_of(path, number):
        return ffmpeg('-i', path, '-map', '0:v:0', '-vf', f'select=eq(n\\,{number}),scale=trunc(min(960\\,iw*sar)/2)*2'
                      ':trunc(ow/dar/2)*2', '-frames:v', 1, '-c:v', 'mjpeg', '-q:v', 5, '-f', 'image2pipe', '-')
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=30000/1001:d=4', *VIDEOS[name], video)
    ffmpeg('-i', video, '-vf', 'hflip', '-c:v', 'ffv1', '-fps_mode', 'passthrough', '-copyts', tmp_path / 'source.mkv')
    for audio in [], ['-an']:
        ffmpeg('-i', video, *audio, '-vf', f'bliinds=model=vmaf1_est5:f={log}:log_path={json_log}', '-f', 'null', '-')
        for path in log, json_log:
            page = report(tmp_path, path, '--video', video, '--ffmpeg', FFMPEG, '--worst', 3)
            wanted = [frame_of(video, n) for _, n in worst(page)]
            assert page.pictures() == wanted and len(wanted) == 3
            assert path == log or page.times()[0] == 0
    page = report(tmp_path, log, '--video', video, '--source', tmp_path / 'source.mkv', '--ffmpeg', FFMPEG, '--worst', 3)
    assert page.pictures()[1::2] == wanted
    assert page.pictures()[::2] == [frame_of(tmp_path / 'source.mkv', n) for _, n in worst(page)]
    (tmp_path / 'other').write_text(lines(400, lambda i: i))
    page = report(tmp_path, tmp_path / 'other', '--video', video, '--ffmpeg', FFMPEG, '--worst', 2)
    assert page.notes == ['2 of 2 pictures are missing: its video has no frames at these times. '
                          'Was the log made of another video?']


def test_names(tmp_path):
    """Whatever they have in them."""
    odd = 'a \'"<b>&amp;$(touch pwned)%d {{script}} é\n<script>alert(1)<!--.log'
    (tmp_path / odd).write_text(lines(30, lambda i: i))
    page = report(tmp_path, './' + odd, cwd=tmp_path)
    assert '<title>a &#39;&#34;&lt;b&gt;&amp;amp;$(touch pwned)%d {{script}} é?&lt;script&gt;' in page.text
    (tmp_path / os.fsdecode(b'\xff.log')).write_text(lines(3, lambda i: i))
    assert '?.log' in report(tmp_path, os.fsdecode(os.fsencode(tmp_path) + b'/\xff.log')).text.replace('\ufffd', '?')
    assert 'pwned' not in os.listdir(tmp_path)


@pytest.mark.parametrize('arguments, message', [
    ('log -o none/page.html', "'none/page.html' cannot be written: No such file or directory\n"),
    ('log -o /dev/full', "'/dev/full' cannot be written: No space left on device\n"),
    ('log --metric foo', "'log': there is no foo in it; it has score, raw, valid: name one with --metric\n"),
    ('none', "'none': cannot be read: No such file or directory\n"),
    ('log --video log --ffmpeg ./none', './none cannot be run: name an ffmpeg with --ffmpeg\n'),
    ('log --fps 0', '--fps must be above 0, and --worst from 0 to 1000\n'),
    ('log --worst -1', '--fps must be above 0, and --worst from 0 to 1000\n'),
    ('log --video a --video b', 'more videos than logs\n'),
    ('foo --metric foo', "'foo': which end of foo is the better one? Say it with --better\n"),
    ('log psnr', "these logs have different scales: 'log': score, 0..100, lower is better; 'psnr': psnr_avg, "
     '0 and up, higher is better. Name one that all have with --metric, or make a page of each\n'),
])
def test_errors(tmp_path, arguments, message):
    """The page that is there stays."""
    (tmp_path / 'log').write_text(lines(3, lambda i: 5))
    (tmp_path / 'psnr').write_text(lines(3, lambda i: 5).replace('score', 'psnr_avg').replace(' raw:1', ''))
    (tmp_path / 'foo').write_text(json.dumps({'frames': [{'frameNum': 0, 'metrics': {'foo': 1}}]}))
    done = tool('quality-report', *arguments.split(), cwd=tmp_path)
    assert done.returncode == 2 and done.stderr.endswith(message), done.stderr
    assert sorted(os.listdir(tmp_path)) == ['foo', 'log', 'psnr']


def test_packages_are_missing(tmp_path):
    """It is said how to install them."""
    (tmp_path / 'log').write_text(lines(1, lambda i: 5))
    (tmp_path / 'jinja2.py').write_text('raise ModuleNotFoundError(name="jinja2")')
    done = tool('quality-report', 'log', cwd=tmp_path, env={**os.environ, 'PYTHONPATH': str(tmp_path)})
    assert done.returncode == 2 and 'apt-get install python3-jinja2' in done.stderr
