"""Tests of quality-report: numbers, curves, pictures, names, errors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import os
import re
import subprocess

import pytest
from common import FFMPEG, TOOLS, document, ffmpeg, lines, needs, report, tool

import quality_logs


def worst(page):
    """(score, frame) of the moments on a page."""
    return [(card[1], int(card[-1].split()[1])) for card in page.cards]


def window_means(page):
    return [float(text.removeprefix('mean of 48 frames: ')) for text in page.paragraphs if text.startswith('mean of 48')]


def test_numbers(tmp_path):
    values = {50: 90, 60: 85, 75: 80, 175: 70}
    text = lines(250, lambda i: 'nan' if i == 5 else values.get(i, 20 + i / 1000), lambda i: i != 100)
    (tmp_path / 'log').write_text(text)
    page = report(tmp_path, tmp_path / 'log', '--worst', 6)
    # the window of frames 175 to 222 is the worst without those of the first one; no other is worse than the mean
    assert worst(page) == [('90.00', 50), ('70.00', 175)] and window_means(page) == [24.13, 21.24]
    assert [(mark['x'], mark['text']) for mark in page.data['time']['charts'][0]['marks']] == [(2, 1), (7, 2)]
    assert page.notes == ['1 of 250 frames without a number: left out',
                          '1 of 250 frames not valid (black, flat or damaged: there is nothing to score): left out']
    # higher is better
    (tmp_path / 'ssim').write_text(re.sub(r'.*nan.*\n', '', text.replace(' score:', ' All:')))
    page = report(tmp_path, tmp_path / 'ssim', '--metric', 'All', '--worst', 3)
    assert worst(page) == [('20.0000', 0), ('20.0760', 76), ('20.1250', 125)]
    assert 'SSIM (All): 0..1, higher is better' in page.paragraphs
    # without times; its run was stopped
    (tmp_path / 'json').write_text(document([{'score': {40: 90, 50: 80, 64: 70}.get(i, 1), 'basis': int(i > 9)}
                                             for i in range(100)], eof=False))
    page = report(tmp_path, tmp_path / 'json', '--worst', 2)
    assert page.cards == [['1', '90.00', 'frame 40']] and not page.data['time']['isTime']
    assert '90 frames scored by the bitstream, 10 by the pixels alone.' in page.paragraphs
    assert page.notes == ['its run was stopped before the end: it has no "eof": true']


@pytest.mark.parametrize('values, moments, means', [
    ([5] * 200, [('5.00', 0)], [5]),                                    # no other one is worse than the mean
    ([90] + [5] * 150 + [50] * 48, [('50.00', 151)], [50]),             # a bad second is worse than a bad frame
    ([50] * 96 + [5] * 96, [('50.00', 0), ('50.00', 48)], [50, 50]),    # windows do not overlap
    ([90] + [5] * 47 + [90], [], [])])                                  # each window has one of the two bad frames
def test_windows(tmp_path, values, moments, means):
    """The worst moments are windows of 48 frames, none of which is better than the mean."""
    (tmp_path / 'log').write_text(lines(len(values), values.__getitem__))
    page = report(tmp_path, tmp_path / 'log')
    assert worst(page) == moments and window_means(page) == means
    assert page.notes == ['no 48 frames in a row are worse than the mean'] * (not moments)


def test_several(tmp_path):
    """Of two logs of other lengths; of two metrics; of one without times beside one that has them."""
    (tmp_path / 'a').write_text(lines(10, lambda i: i))
    (tmp_path / 'b').write_text(lines(20, lambda i: i * 2))
    page = report(tmp_path, tmp_path / 'a', tmp_path / 'b', '--worst', 1)
    assert page.rows[0][:4] == ['frames', 'not valid', 'mean', 'min']
    assert page.rows[1] == ['a', '10', '0', *'4.50 0.00 0.00 0.00 0.00 4.00 8.00 9.00 9.00 9.00 4.50 0:00:00'.split()]
    assert page.rows[2] == ['b', '20', '0', *'19.00 0.00 0.00 0.00 2.00 18.00 34.00 36.00 38.00 38.00 19.00 0:00:00'.split()]
    assert worst(page) == [('9.00', 9), ('38.00', 19)]
    page = report(tmp_path, tmp_path / 'a', '-m', 'score,raw', '-m', 'raw', '--worst', 1)
    assert len(page.data['time']['charts']) == 2 and page.curve(0) == tuple(range(10)) and page.curve(1) == (1,) * 10
    (tmp_path / 'json').write_text(document([{'score': i} for i in range(5)]))
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=0.4', '-c:v', 'mpeg4', tmp_path / 'a.mp4')
    page = report(tmp_path, tmp_path / 'a', tmp_path / 'json', '-v', tmp_path / 'a.mp4', '--ffmpeg', FFMPEG, '--worst', 1)
    assert not page.data['time']['isTime'] and page.times(1) == [0, 1, 2, 3, 4] and len(page.pictures()) == 1
    assert page.cards == [['1', '9.00', 'frame 9'], ['1', '4.00', 'frame 4']]


@pytest.mark.parametrize('log, options, title', [
    ('a.log', '--video v.mp4', 'v.mp4'), ('a.log b.log', '--video v.mp4 --video w/v.mp4', 'v.mp4, w/v.mp4'),
    ('a.log b.log', '--video v.mp4', 'v.mp4, b.log'), ('a.log b.log', '--video v.mp4 --video v.mp4', 'a.log, b.log'),
    ('json', '', 'e\\x1b.mp4'), ('- json', '--video v.mp4 --video w/x.mp4', 'v.mp4, x.mp4'), ('fifo', '', 'fifo')])
def test_titles(tmp_path, log, options, title):
    """A page is named after its videos."""
    for name in 'a.log', 'b.log':
        (tmp_path / name).write_text(lines(3, lambda i: i))
    (tmp_path / 'json').write_text(document([{'score': 1}], encode='x/e\x1b.mp4'))
    os.mkfifo(tmp_path / 'fifo')
    os.mkdir(tmp_path / 'w')
    for name in 'v.mp4', 'w/v.mp4', 'w/x.mp4':
        (tmp_path / name).touch()
    feeder = subprocess.Popen('exec cat a.log >fifo', shell=True, cwd=tmp_path)
    with open(tmp_path / 'a.log') as stdin:
        page = report(tmp_path, *log.split(), *options.split(), '--worst', 0, '--fps', 25, '--ffmpeg', FFMPEG, cwd=tmp_path, stdin=stdin)
    feeder.kill()
    feeder.wait()
    assert f'<title>{title}</title>' in page.text and f'<h1>{title}</h1>' in page.text


def test_damage(tmp_path):
    """Damaged frames are counted, from marks of lines or the total of JSON."""
    rows = lines(50, lambda i: i, lambda i: i % 10).splitlines()
    text = '\n'.join(row + ' damaged:1' * (i < 7) + ' reference_damaged:1' * (i == 20) for i, row in enumerate(rows)) + '\n'
    (tmp_path / 'log').write_text(text)
    (tmp_path / 'json').write_text(document([{'score': 1, 'basis': i % 3} for i in range(9)], aggregate_metrics={'damaged': 12, 'frames': 99}))
    notes = ['7 frames damaged: the decoder concealed errors', '1 frames compared with a damaged reference']
    assert report(tmp_path, tmp_path / 'log').notes[1:] == notes
    page = report(tmp_path, tmp_path / 'json')
    assert page.notes == ['12 frames damaged: the decoder concealed errors']
    assert '3 frames scored by the bitstream, 3 by the model of flat pictures, 3 by the pixels alone.' in page.paragraphs
    (tmp_path / 'json').write_text(document([{'score': 1}], aggregate_metrics={'damaged': 0}))
    assert not report(tmp_path, tmp_path / 'json').notes
    (tmp_path / 'json').write_text(document([{'score': 1}], aggregate_metrics=[1]))
    assert not report(tmp_path, tmp_path / 'json').notes


def test_few_frames(tmp_path):
    """The tiles of percentiles name the number of frames."""
    (tmp_path / 'log').write_text(lines(7, lambda i: i, lambda i: i))
    assert '<b>6.00</b><span>or worse: 5 % of 6 frames</span>' in report(tmp_path, tmp_path / 'log').text


def test_xpsnr(tmp_path):
    """The lines that the filter writes."""
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:d=0.4', '-f', 'lavfi', '-i', 'testsrc2=s=64x48:d=0.4,noise=alls=20', '-lavfi',
           f'xpsnr=f={tmp_path}/log', '-f', 'null', '-')
    page = report(tmp_path, tmp_path / 'log')
    found = [min(map(float, re.findall(r'XPSNR [yuv]: +(\S+)', row))) for row in (tmp_path / 'log').read_text().splitlines() if row.startswith('n')]
    assert page.curve() == pytest.approx(found) and len(found) == 10
    assert 'XPSNR, dB (xpsnr.score): 0..100, higher is better' in page.paragraphs


def test_film(tmp_path):
    """Two hours with two bad seconds: every frame is there, at its time; and the page is small."""
    values = [97.5 if i == 100000 else 90 if 100000 < i < 100048 else 30 + 20 * math.sin(i / 900) + i * 7919 % 1000 / 100 for i in range(172800)]
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
    # timestamps are missing, or those of decoding
    'a.264': ['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '2', '-g', '50'],
    'a.m2v': ['-c:v', 'mpeg2video', '-bf', '2'],
    'a.avi': ['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '2', '-g', '50'],
}


def frame_of(path, number):
    return ffmpeg('-i', path, '-map', '0:v:0', '-vf', f'select=eq(n\\,{number}),scale=trunc(min(960\\,iw*sar)/2)*2'
                  ':trunc(ow/dar/2)*2', '-frames:v', 1, '-c:v', 'mjpeg', '-q:v', 5, '-f', 'image2pipe', '-')


@pytest.mark.parametrize('name', VIDEOS)
def test_pictures(tmp_path, name):
    """They are those of the frames, to the byte, beside those of the source."""
    video, log, json_log = tmp_path / name, tmp_path / 'lines', tmp_path / 'json'
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=160x120:r=30000/1001:d=4', *VIDEOS[name], video)
    for audio in ([], ['-an']) if name == 'a.ts' else [[]]:
        ffmpeg('-i', video, *audio, '-vf', f'bliinds=model=vmaf1_est5:f={log}:log_path={json_log}', '-f', 'null', '-')
        for path in [log, json_log][name in ('a.m2v', 'a.avi'):]:
            page = report(tmp_path, path, '--video', video, '--ffmpeg', FFMPEG, '--worst', 3)
            wanted = [frame_of(video, n) for _, n in worst(page)]
            assert page.pictures() == wanted and wanted and not any('missing' in note for note in page.notes)
            assert path == log or page.times()[0] == 0
            assert any(re.search(f'^{name}: .*, 160x120, .* fps, [0-9]* kb/s, 0:00:0[34]', text) for text in page.paragraphs)
    if name != 'a.ts':
        return
    ffmpeg('-i', video, '-vf', 'hflip', '-c:v', 'ffv1', '-fps_mode', 'passthrough', '-copyts', tmp_path / 'source.mkv')
    page = report(tmp_path, log, '--video', video, '--source', tmp_path / 'source.mkv', '--ffmpeg', FFMPEG, '--worst', 3)
    assert page.pictures()[1::2] == wanted
    assert page.pictures()[::2] == [frame_of(tmp_path / 'source.mkv', n) for _, n in worst(page)]


def test_missing_pictures(tmp_path):
    """The page says why it lacks pictures; what cannot be read is an error."""
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=0.4', '-c:v', 'mpeg4', tmp_path / 'v.mp4')
    (tmp_path / 'log').write_text(lines(400, lambda i: i))
    page = report(tmp_path, 'log', '--video', 'v.mp4', '--ffmpeg', FFMPEG, '--worst', 2, cwd=tmp_path)
    assert page.notes == ['2 of 2 pictures are missing: its video has no frames at these times. '
                          'Was the log made of another video?']
    (tmp_path / 'ffmpeg').write_text(f"""#!/bin/sh
        case "$*" in *-encoders*) ;; *mjpeg*) exit 1 ;; *) exec '{FFMPEG}' "$@" ;; esac""")
    (tmp_path / 'ffmpeg').chmod(0o755)
    (tmp_path / 'ffprobe').symlink_to(os.path.join(os.path.dirname(FFMPEG), 'ffprobe'))
    (tmp_path / 'log').write_text(lines(10, lambda i: i))
    page = report(tmp_path, 'log', '--video', 'v.mp4', '--ffmpeg', './ffmpeg', '--worst', 2, cwd=tmp_path)
    assert page.notes == ['1 of 1 pictures are missing: this ffmpeg has no mjpeg encoder']
    (tmp_path / 'json').write_text(document([{'score': i} for i in range(10)]))
    ffmpeg('-f', 'lavfi', '-i', 'sine=d=0.1', '-c:a', 'mp2', '-f', 'mpegts', tmp_path / 'sound.ts')
    for arguments, message in [('log --video sound.ts', "'sound.ts' contains no video"), ('log --video none', "cannot read 'none'"),
                               ('json --source v.mp4', "'json': has no times: give its video with --video, or --fps")]:
        done = tool('quality-report', *arguments.split(), '--ffmpeg', FFMPEG, cwd=tmp_path)
        assert done.returncode == 2 and message in done.stderr and 'Traceback' not in done.stderr, done.stderr


def test_same_moment(tmp_path):
    """Source and all encodes are shown at each moment, with their scores there; facts of each are on the page."""
    source, *encodes = paths = [tmp_path / name for name in ('source.mkv', 'a.mp4', 'b.264')]
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=8', '-c:v', 'ffv1', source)
    ffmpeg('-i', source, '-c:v', 'mpeg4', '-q:v', 9, '-bf', 2, encodes[0])
    ffmpeg('-ss', 2, '-i', source, '-vf', 'scale=32:24', '-c:v', 'libx264', '-crf', 40, '-preset', 'ultrafast', encodes[1])
    # frame n of the second encode is frame n + 50 of the source
    (tmp_path / 'a.log').write_text(lines(200, lambda i: {120: 80}.get(i, 50 + 10 * (100 <= i < 148))))
    of_b = {'tool': 'quality-compare', 'offset': 2.0, 'model': 'm<1>', 'frames': [
        {'frameNum': n, 'pts_time': 2 + n / 25, 'metrics': {'bliinds.score': {20: 90}.get(n, 30 + n / 10)}} for n in range(150)]}
    (tmp_path / 'b.json').write_text(json.dumps({**of_b, 'eof': True}))
    page = report(tmp_path, tmp_path / 'a.log', tmp_path / 'b.json', '--video', encodes[0], '--video', encodes[1],
                  '--source', source, '--ffmpeg', FFMPEG, '--worst', 1)
    assert worst(page) == [('80.00', 120), ('44.90', 149)] and not page.notes
    assert page.pictures() == [frame_of(path, n - 50 * (path == paths[2])) for n in (120, 199) for path in paths]
    assert re.findall('<small>(source|[ab][.].*?)</small>', page.text) == ['source', 'a.mp4 80.00', 'b.264 37.00', 'source', 'a.mp4 50.00', 'b.264 44.90']
    facts = [text for text in page.paragraphs if ' fps, ' in text]
    size = encodes[1].stat().st_size
    assert facts[0].startswith('source: ffv1 yuv420p, 64x48, 25 fps, ') and facts[1].startswith('a.mp4: mpeg4 Advanced Simple Profile yuv420p, 64x48, 25 fps, ')
    assert facts[2] == f'b.264: h264 Constrained Baseline yuv420p, 32x24, 25 fps, {size * 8 / 6000:,.0f} kb/s, 0:00:06.000, {size / 1e6:.3f} MB, model m<1>'


def test_command(tmp_path):
    """The command on a page makes it again, in sh."""
    names = ['a \'"<b>&amp;$(touch pwned)%d {{script}} é.log', '-x\n\x1b\t\r\u202e.log', os.fsdecode(b'\xff\\.log')]
    for name in names:
        (tmp_path / name).write_text(lines(3, lambda i: i))
    page = report(tmp_path, *('./' + name for name in names), '--worst', 0, cwd=tmp_path)
    command = ''.join(page.root.find('.//pre').itertext())
    assert command.replace('\n', '').isprintable()
    (tmp_path / 'page.html').unlink()
    (tmp_path / 'quality-report').symlink_to(TOOLS['quality-report'])
    subprocess.run(['sh', '-c', command], cwd=tmp_path, check=True, env={**os.environ, 'PATH': f'{tmp_path}:{os.environ["PATH"]}'})
    assert (tmp_path / 'page.html').read_text() == page.text and 'pwned' not in os.listdir(tmp_path)


def test_dotted_field(tmp_path):
    """Frames that are not valid are left out, whatever the name of the field."""
    (tmp_path / 'log').write_text(lines(9, lambda i: i, lambda i: i > 3).replace(' raw:', ' L1.zeta100:'))
    page = report(tmp_path, tmp_path / 'log', '--metric', 'L1.zeta100', '--better', 'lower')
    assert page.notes == ['4 of 9 frames not valid (black, flat or damaged: there is nothing to score): left out']


def test_lines_and_json(tmp_path):
    """Both logs of one filter have one scale."""
    (tmp_path / 'log').write_text(lines(3, lambda i: i).replace('raw', 'motion2'))
    (tmp_path / 'json').write_text(document([{'vmaf': 1}], filter='vmaf', direction='higher is better', model='m'))
    page = report(tmp_path, tmp_path / 'log', tmp_path / 'json')
    assert 'VMAF (score): 0..100, higher is better' in page.paragraphs and 'json: model m' in page.paragraphs


def test_meaning(tmp_path):
    """A page says how to read its numbers, and where these come from."""
    (tmp_path / 'log').write_text(lines(3, lambda i: i))
    page = report(tmp_path, tmp_path / 'log')
    assert any('viewers begin to see a loss at about 10' in text for text in page.paragraphs)
    assert all('Source: ' in metric.meaning for metric in quality_logs.METRICS if metric.filter)


def test_titles_of_videos(tmp_path):
    """Tags of a file are not taken for its times."""
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x48:r=25:d=0.4', '-c:v', 'mpeg4', '-metadata', 'title=pts: 99000000 #tb 0: 1/3', tmp_path / 'v.mp4')
    (tmp_path / 'log').write_text(lines(10, lambda i: i))
    # nor is text that should be a number
    (tmp_path / 'json').write_text(document([{'score': i} for i in range(10)], offset='x'))
    for log in 'log', 'json':
        page = report(tmp_path, tmp_path / log, '--video', tmp_path / 'v.mp4', '--ffmpeg', FFMPEG, '--worst', 1)
        assert len(page.pictures()) == 1 and not page.notes


@pytest.mark.parametrize('arguments', [
    'log -o log', 'log -o ./log', 'log -o hard', 'log -o soft', '- -o log', 'log --video v.mkv -o v.mkv', 'log --source v.mkv -o v.mkv',
    '-o log other', '-o v.mkv log'])
def test_inputs_stay(tmp_path, arguments):
    """Neither an input nor any other file that is not a page is overwritten."""
    (tmp_path / 'log').write_text(lines(3, lambda i: i))
    (tmp_path / 'other').write_text(lines(3, lambda i: 5))
    (tmp_path / 'v.mkv').write_bytes(b'\x1a\x45\xdf\xa3' * 9)
    os.link(tmp_path / 'log', tmp_path / 'hard')
    os.symlink('log', tmp_path / 'soft')
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with open(tmp_path / 'log') as stdin:
        done = tool('quality-report', *arguments.split(), cwd=tmp_path, stdin=stdin)
    assert done.returncode == 2 and re.search('would overwrite the input|exists and is not a page', done.stderr)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before and os.path.islink(tmp_path / 'soft')


def test_page_is_replaced(tmp_path):
    """An older page keeps its mode, by any name; its link stays one."""
    (tmp_path / 'log').write_text(lines(3, lambda i: i))
    (tmp_path / 'page').touch(mode=0o600)
    os.symlink('page', tmp_path / 'link')
    for _ in range(2):
        done = tool('quality-report', 'log', '-o', 'link', cwd=tmp_path)
        assert not done.returncode and os.path.islink(tmp_path / 'link'), done.stderr
        assert (tmp_path / 'page').stat().st_mode & 0o777 == 0o600 and 'DOCTYPE' in (tmp_path / 'page').read_text()


def test_names(tmp_path):
    """Whatever they have in them."""
    odd = 'a \'"<b>&amp;$(touch pwned)%d {{script}} é\n<script>alert(1)<!--.log'
    (tmp_path / odd).write_text(lines(30, lambda i: i))
    page = report(tmp_path, './' + odd, cwd=tmp_path)
    assert '<title>a &#39;&#34;&lt;b&gt;&amp;amp;$(touch pwned)%d {{script}} é\\n&lt;script&gt;' in page.text
    (tmp_path / os.fsdecode(b'\xff.log')).write_text(lines(3, lambda i: i))
    assert '<title>\\udcff.log</title>' in report(tmp_path, os.fsdecode(os.fsencode(tmp_path) + b'/\xff.log')).text
    assert 'pwned' not in os.listdir(tmp_path)


@pytest.mark.parametrize('arguments, message', [
    ('log -o none/page.html', "cannot write 'none/page.html': No such file or directory\n"),
    ('log -o /dev/full', "cannot write '/dev/full': No space left on device\n"),
    ('log --metric foo', "'log': there is no foo in it; it has score, raw, valid: name one with --metric\n"),
    ('none', "'none': cannot be read: No such file or directory\n"),
    ('log --video log --ffmpeg ./none', 'cannot run ./none: name an ffmpeg with --ffmpeg\n'),
    ('log --fps 0', '--fps must be from 0.000001 to 1000000, and --worst from 0 to 1000\n'),
    ('log --fps 1e-9', '--fps must be from 0.000001 to 1000000, and --worst from 0 to 1000\n'),
    ('log --worst -1', '--fps must be from 0.000001 to 1000000, and --worst from 0 to 1000\n'),
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
    assert done.returncode == 2 and done.stderr.endswith(message) and 'Traceback' not in done.stderr, done.stderr
    assert sorted(os.listdir(tmp_path)) == ['foo', 'log', 'psnr']


def test_packages_are_missing(tmp_path):
    """It is said how to install them."""
    (tmp_path / 'log').write_text(lines(1, lambda i: 5))
    (tmp_path / 'jinja2.py').write_text('raise ModuleNotFoundError(name="jinja2")')
    done = tool('quality-report', 'log', cwd=tmp_path, env={**os.environ, 'PYTHONPATH': str(tmp_path)})
    assert done.returncode == 2 and 'apt-get install python3-jinja2' in done.stderr
