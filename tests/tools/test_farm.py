"""quality-farm: rows, names, keys of results, failures, resuming, Slurm.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import contextlib
import csv
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
from unittest import mock

import pytest
from common import FFMPEG, TOOLS, ffmpeg, tool


def make(path, seconds=0.4, source='mandelbrot=s=64x48:r=25', options='-c:v mjpeg -f avi'):
    ffmpeg('-f', 'lavfi', '-t', seconds, '-i', f'{source},format=yuv420p', *options.split(), path)


@pytest.fixture
def farm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*args, program=FFMPEG, output='out', **options):
        return tool('quality-farm', '--ffmpeg', program, '-o', output, *args,
                    errors='surrogateescape', **options)
    return run


def summary(*names):
    """Columns of the table."""
    with open('out/summary.csv', encoding='utf-8', newline='') as lines:
        rows = list(csv.DictReader(lines))
    return [[row[name] for row in rows] for name in names]


def script(path, text):
    path.write_text('#!/bin/sh\n' + text)
    path.chmod(0o755)


NASTY = ["-it's a \"film\",[1]; $x.avi", '=line\nbreak\r\x1b]0;x\x07.avi', '@50%d `touch x`|calc!A1.avi', '#byte\udcff.avi',
         ' x.avi ', 'L' * 251 + '.avi', '\u3042' * 83 + '.avi', '.hidden.avi']


def test_names(farm, tmp_path):
    """Any name works, failures do not end the others, and nothing reaches the terminal raw."""
    make('a.avi')
    (tmp_path / 'other').mkdir()
    make('other/a.avi', 0.8)
    for name in NASTY:
        os.link('a.avi', name)
    (tmp_path / 'damaged\x1b.avi').write_bytes(b'no video at all')
    ffmpeg('-f', 'lavfi', '-i', 'sine=d=0.1', 'sound.mov')
    folder = "out's [1],;:\\"
    os.symlink(folder, 'out')
    bad = ['damaged\x1b.avi', 'sound.mov', 'missing.avi', 'M' * 300, '/dev/null', '.']
    done = farm('--', *bad, 'a.avi', 'other/a.avi', './a.avi', *NASTY, output=folder)
    assert done.returncode == 2 and 'Traceback' not in done.stderr
    for name, error in ('damaged\\x1b.avi', 'Invalid data'), ('sound.mov', 'matches no streams'), \
            ('missing.avi', 'No such file'), ('MMM', 'File name too long'), ('/dev/null', 'not a regular file'), \
            ('.', 'not a regular file'):
        assert re.search(f'{re.escape(name)} failed: .*{error}', done.stderr), name
    assert not re.search('[\x00-\x09\x0b-\x1f\udc80-\udcff]', done.stdout + done.stderr)
    files, states, frames, means = summary('file', 'state', 'frames', 'mean')
    assert states == ['failed'] * 6 + ['ok'] * 10       # ./a.avi is a.avi
    assert frames == [''] * 6 + ['10', '20'] + ['10'] * 8 and len(set(means[8:])) == 1
    assert means[7] != means[6] == means[8]
    for name, cell in zip(NASTY, files[8:]):
        expected = "'" * (name[0] in '=@-') + name.replace('\r', '\\r').replace('\udcff', '\\udcff')
        assert cell == expected
    # a result can be found by its row
    names, = summary('result')
    assert len(set(names)) == 11 and names[6].startswith('a.avi.')
    assert len((tmp_path / 'out' / f'{names[6]}.log').read_text().splitlines()) == 10
    assert json.loads((tmp_path / 'out' / f'{names[6]}.json').read_text())['pooled_metrics'][
        'score']['mean'] == float(means[6])


def test_list(farm, tmp_path):
    """Lines with an error are named, and are failed rows."""
    make('a b.avi', 2)
    make('byte\udcff.avi', 0.2)
    (tmp_path / 'list').write_bytes(
        b"\xef\xbb\xbf# a comment with ' and more\n'a b.avi' -ss 1 -t 0:00.4\r\n\n  # x\n'a b.avi'\n'a b.avi\n"
        b"a\0b.avi\na.avi -vf x\n'a b.avi' -t\n'a b.avi' -ss x\n'a b.avi' -ss 1s -t 400ms\nbyte\xff.avi\n"
        b"'a b.avi' -ss 60\n")
    done = farm('--list', 'list')
    assert done.returncode == 2 and 'Traceback' not in done.stderr
    for line in 'list:6: No closing quotation', r'a\\x00b.avi failed', 'list:8: a row is', 'list:9: a row is', \
            "list:10: 'x' is not a duration", '-ss|a b.avi failed: no frame was decoded':
        assert re.search(line, done.stderr), line
    options, states, frames, rates = summary('options', 'state', 'frames', 'kb/s')
    good = [row for row in zip(options, frames, states) if row[2] == 'ok']
    assert good == [("'-ss 1 -t 0.4", '10', 'ok'), ('', '50', 'ok'), ('', '5', 'ok')]
    assert states.count('failed') == 6 and len(states) == 9
    part = ffmpeg('-ss', 1, '-t', 0.4, '-i', 'a b.avi', '-c', 'copy', '-f', 'rawvideo', '-')
    assert float(rates[states.index('ok')]) == pytest.approx(len(part) * 8 / 1000 / 0.4, abs=0.01)
    assert 'name files' in farm().stderr


def test_errors(module, tmp_path, monkeypatch, capfd):
    """Errors of the command line, in the process of the tests."""
    monkeypatch.chdir(tmp_path)
    for wrong, error in ('--ffmpeg=none', 'cannot run none'), ('--jobs=0', 'is not a number of jobs'), ('--sbatch="', 'invalid'), \
            ('--filter=', "'' is not NAME"), ('--list=missing', 'No such file'):
        monkeypatch.setattr(sys, 'argv', ['quality-farm', f'--ffmpeg={FFMPEG}', wrong, 'a b.avi'])
        with pytest.raises(SystemExit) as end, contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), mock.patch('os.dup2'):
            module.quality_common.run('quality-farm', module.main)
        assert end.value.code == 2 and error in capfd.readouterr().err, wrong


def test_filter(farm, tmp_path):
    """The command runs in the user's folder, and its options are seen in the results."""
    make('a.avi')
    (tmp_path / 'model').mkdir()
    shutil.copy(os.path.join(os.path.dirname(TOOLS['quality-farm']), '../models/vmaf1_est5.txt'), 'model/small.txt')
    done = farm('--filter', 'gblur=1,bliinds=model=model/small.txt:features=1:shown_height=96', 'a.avi')
    assert not done.returncode and 'bliinds as shown on a 96-line display, 0..100, lower is' in done.stdout
    name, = summary('result')[0]
    assert 'L1.zeta100' in (tmp_path / f'out/{name}.log').read_text()
    assert summary('shown_height') == [['96']]
    planned = farm('--dry-run', '--filter', 'bliinds_cuda', 'a.avi', output='gpu').stdout
    assert not os.path.exists('gpu')
    for words in ' -hwaccel cuda -hwaccel_output_format cuda ', ' bliinds_cuda=shown_height=1080:stats_file=':
        assert planned.count(words) == 1
    # the printed commands work, and nothing is made before they run
    os.rename('a.avi', "it's; 1.avi")
    planned = farm('--dry-run', "it's; 1.avi", output='new folder/a')
    assert planned.returncode == 0 and not os.path.exists('new folder')
    subprocess.run(['sh', '-e'], input=planned.stdout, text=True, check=True, cwd='/')
    log, = (tmp_path / 'new folder/a').glob('*.log')
    assert log.read_text().count('\n') == 10
    os.rename("it's; 1.avi", 'a.avi')
    done = farm('--filter', 'bliinds=model=missing.txt', 'a.avi')
    assert done.returncode == 2 and "missing.txt" in done.stderr        # ffmpeg's first error


@pytest.fixture
def module():
    loader = importlib.machinery.SourceFileLoader('quality_farm', TOOLS['quality-farm'])
    loaded = importlib.util.module_from_spec(importlib.util.spec_from_loader('quality_farm', loader))
    sys.modules['quality_farm'] = loaded
    loader.exec_module(loaded)
    return loaded


def test_key(farm, tmp_path, module, monkeypatch):
    """Everything that the result depends on gives it another name."""
    make('a.avi')
    make('b.avi', 0.4, 'testsrc2=s=64x48:r=25')
    for name in 'model.txt', 'pr\\:x':
        (tmp_path / name).write_text('x')
    script(tmp_path / 'program', f'exec {FFMPEG} "$@"\n')

    monkeypatch.setattr(module, 'find_facts', lambda *_: {})
    monkeypatch.setattr(module.quality_common, 'missing_end', lambda *_: '')

    def base(file='a.avi', options=(), chain='bliinds=model=model.txt:x=pr\\\\:x'):
        row = module.Row(file, list(options))
        module.plan(row, 'out', module.shared_key(str(tmp_path / 'program'), chain))
        assert row.base
        return row.base

    seen = [base()]
    assert base() == seen[0]

    def is_new(**how):
        seen.append(base(**how))
        assert len(set(seen)) == len(seen)

    def restore(path, stat):
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    is_new(options=['-ss', '1'])
    is_new(options=['-t', '1'])
    is_new(chain='bliinds=shown_height=1080:')
    is_new(chain='bliinds_cuda=shown_height=1080:')
    os.utime('a.avi')
    is_new()
    old = os.stat('a.avi')
    with open('a.avi', 'r+b') as file:      # other contents, the same size and time
        file.seek(-1, 2)
        file.write(b'x')
    restore('a.avi', old)
    is_new()
    shutil.copy('a.avi', 'copy')            # another inode, the same contents and time
    restore('copy', old)
    os.replace('copy', 'a.avi')
    is_new()
    with open('a.avi', 'ab') as file:
        file.write(b'x')
    is_new()
    os.mkdir('other')
    os.replace('a.avi', 'other/a.avi')
    is_new(file='other/a.avi')
    os.replace('other/a.avi', 'a.avi')
    for name in 'model.txt', 'pr\\:x'.replace('\\', ''), 'program':
        (tmp_path / name).touch()
        is_new()
    script(tmp_path / 'program', f'[ "$1" != -version ] || echo "new libx264"; exec {FFMPEG} "$@"\n')
    is_new()
    monkeypatch.setattr(module.quality_common, 'bitstream_filters', lambda *_: 'null')
    is_new()
    monkeypatch.setattr(module.quality_common, 'version', lambda: 'newer')
    is_new()


def test_trust(farm, tmp_path, module):
    """A result that is not complete, or is another's, is made again; a complete one is not."""
    make('a.avi')
    assert not farm('a.avi').returncode
    name, = summary('result')[0]
    key, log, lines = (tmp_path / f'out/{name}.{suffix}' for suffix in ('key', 'json', 'log'))
    row, good = module.Row('a.avi', [], base=str(log)[:-5], key=json.loads(key.read_text())), log.read_text()

    def is_trusted():
        module.collect(row)
        assert not row.result or row.result['frames'] == 10
        return bool(row.result)
    assert is_trusted()
    for damage in '{"eof": true}', '[' * 100000, '\xff\0', '', '[]', 'null', good[:-20], \
            json.dumps(json.loads(good) | {'pooled_metrics': {}}), good.replace('"mean": ', '"mean": []+'), \
            good.replace('"mean": ', '"mean": "x'), good.replace('"frames": 10', '"frames": "many"'), \
            good.replace('"frames": 10', '"frames": 1e999'), good.replace('"eof": true', '"eof": 1'), \
            good.replace('[0, 100]', '0'), good.replace('"range"', '"x"'):
        log.write_bytes(damage.encode('latin-1'))
        assert not is_trusted(), damage[:60]
    log.write_text(good)
    for path, damages in (key, ['', '[]', '{}', key.read_text().replace('64', '63')]), (lines, []):
        old = path.read_text()
        path.unlink()
        assert not is_trusted()
        for damage in damages:
            path.write_text(damage)
            assert not is_trusted()
        path.write_text(old)
    assert is_trusted() and not farm('--dry-run', 'a.avi').stdout
    log.write_text('{"eof": true}')
    means = summary('mean')
    assert not farm('a.avi').returncode and summary('mean') == means and '"eof": true' in log.read_text()


def test_title(farm):
    """Facts come from the streams, not from tags; the first video that is no picture is scored."""
    make('mandel.mkv', 0.4, options='-c:v mpeg2video')
    ffmpeg('-f', 'lavfi', '-i', 'color=s=640x480:d=0.04', '-c:v', 'png', 'cover.png')
    make('large.avi', 0.2, 'mandelbrot=s=320x240:r=25')
    ffmpeg('-i', 'mandel.mkv', '-c', 'copy', '-metadata', 'title=Stream #0:0: Video: av1', 'title.mkv')
    ffmpeg('-i', 'cover.png', '-i', 'mandel.mkv', '-i', 'large.avi', '-map', '0', '-map', '1', '-map', '2', '-c',
           'copy', '-disposition:v:0', 'attached_pic', 'cover.mov')
    done = farm('mandel.mkv', 'title.mkv', 'cover.mov')
    assert not done.returncode, done.stderr
    states, means, frames, codecs, sizes = summary('state', 'mean', 'frames', 'codec', 'size')
    assert states == ['ok'] * 3 and len(set(means)) == 1 and frames == ['10'] * 3
    assert codecs == ['mpeg2video'] * 3 and sizes == ['64x48'] * 3


def test_truncated(farm, tmp_path):
    """A file that ends before its duration has the score of the rest, and is an error, again each time."""
    make('whole.mkv', 1, options='-c:v mpeg4')
    make('whole.mp4', 1, options='-c:v mpeg4 -movflags +faststart')
    for name in 'mkv', 'mp4':
        stream = (tmp_path / f'whole.{name}').read_bytes()
        (tmp_path / f'cut.{name}').write_bytes(stream[:len(stream) * 6 // 10])
    done = farm('whole.mkv', 'cut.mkv', 'whole.mp4', 'cut.mp4')
    assert done.returncode == 2 and done.stderr.count('\n') == 2
    for name in 'mkv', 'mp4':
        assert re.search(rf'cut.{name} failed: it is damaged: its packets end at 0\.\d+ s, its duration is 1\.0', done.stderr)
    states, frames = summary('state', 'frames')
    assert states == ['ok', 'damaged'] * 2 and all(10 < int(count) < 25 for count in frames[1::2])
    assert ['damaged' in line for line in done.stdout.splitlines()[2:]] == [True] * 2 + [False] * 2
    again = farm('cut.mp4')
    assert again.returncode == 2 and again.stderr in done.stderr and summary('state') == [['damaged']]
    # a duration of Matroska is the time of its end; a subtitle may be longer than the video
    ffmpeg('-i', 'whole.mkv', '-c', 'copy', '-output_ts_offset', 1, 'late.mkv')
    (tmp_path / 'words.srt').write_text('1\n00:00:00,500 --> 00:00:20,000\nwords\n')
    ffmpeg('-i', 'whole.mkv', '-i', 'words.srt', '-c:v', 'copy', 'words.mkv')
    assert farm('late.mkv', 'words.mkv').returncode == 0
    assert summary('state', 'frames') == [['ok', 'ok'], ['25', '25']]


def test_table(farm, tmp_path):
    """Broken files are first, then damaged ones, then the worst scores. On one display a small copy is worse than its original."""
    x264 = '-c:v libx264 -preset veryfast -crf 24 -threads 1'
    for height in 540, 180:
        make(f'{height}.mkv', 0.2, f'mandelbrot=s=960x540:r=25,scale=-2:{height}', x264)
    make('none.mkv', 0.2, 'mandelbrot=s=64x48:r=25,setparams=color_trc=arib-std-b67', '-c:v ffv1')
    make('pq.mkv', 0.2, 'mandelbrot=s=64x48:r=25,setparams=color_trc=smpte2084',
         '-c:v libx265 -preset ultrafast -x265-params log-level=error -pix_fmt yuv420p10le')
    ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=64x48:r=25,format=yuv420p', '-f', 'lavfi', '-i', 'sine', '-t', 0.2, *x264.split(),
           '-x264-params', 'tff=1', '-c:a', 'pcm_s16le', 'tff.mov')
    make('loss.avi', 0.8, options='-c:v mpeg2video -g 3 -f mpegts')
    stream = bytearray((tmp_path / 'loss.avi').read_bytes())
    at = len(stream) * 2 // 3
    stream[at:at + 150] = bytes(150)
    (tmp_path / 'loss.avi').write_bytes(stream)
    (tmp_path / 'bad.avi').touch()
    names = '540.mkv', '180.mkv', 'none.mkv', 'loss.avi', 'bad.avi', 'tff.mov', 'pq.mkv'
    done = farm(*names)
    assert done.returncode == 2 and 'none.mkv failed: none of its 5 frames has a score (ffv1)' in done.stderr
    title, _, *lines = done.stdout.splitlines()
    assert title == 'bliinds as shown on a 1080-line display, 0..100, lower is better, worst first:'
    order = [line.split()[-1] for line in lines]
    assert order[:3] == ['bad.avi', 'none.mkv', 'loss.avi'] and sorted(order) == sorted(names)
    states, means, damaged, heights, frames, rates, *facts = summary(
        'state', 'mean', 'damaged', 'shown_height', 'frames', 'kb/s', 'codec', 'size', 'interlaced', 'HDR')
    assert states == ['ok', 'ok', 'no score (ffv1)', 'ok', 'failed', 'ok', 'ok'] and means[2] == means[4] == ''
    assert order[3:] == sorted((names[at] for at in (0, 1, 5, 6)), key=lambda name: -float(means[names.index(name)]))
    assert int(damaged[3]) and damaged[0] == '0' and set(heights) == {'1080'}
    facts = dict(zip(names, zip(*facts)))
    assert facts == {
        '540.mkv': ('h264', '960x540', 'no', 'no'), '180.mkv': ('h264', '320x180', 'no', 'no'), 'bad.avi': ('',) * 4,
        'none.mkv': ('ffv1', '64x48', 'no', 'HLG'), 'pq.mkv': ('hevc', '64x48', 'no', 'PQ'),
        'tff.mov': ('h264', '64x48', 'yes', 'no'), 'loss.avi': ('mpeg2video', '64x48', 'no', 'no')}
    cells = {line.split()[-1]: line.split() for line in lines}
    for name, count, rate in zip(names, frames, rates):
        if name not in ('bad.avi', 'loss.avi'):     # the sound of the others is not counted
            size = len(ffmpeg('-i', name, '-map', '0:V:0', '-c', 'copy', '-f', 'rawvideo', '-'))
            assert float(rate) == pytest.approx(size * 8 / 1000 / (int(count) / 25), abs=0.01), name
            assert [*facts[name][:2], str(round(float(rate), 2)), *facts[name][2:]] == cells[name][5:10]
    script(tmp_path / 'program', f'exec {FFMPEG} "$@"\n')     # there is no ffprobe beside it
    farm('540.mkv', '180.mkv', '--filter', 'bliinds=shown_height=0', program='./program', env=os.environ | {'PATH': ''})
    large, small = map(float, summary('mean')[0])
    assert small < large and float(means[0]) < float(means[1])
    assert summary('codec', 'size', 'kb/s', 'interlaced', 'HDR') == [['', '']] * 5


def test_inputs(farm, tmp_path):
    """Results may be in the folder of the videos, but are never written onto one of them."""
    make('a.avi')
    os.link('a.avi', 'link.avi')
    contents = (tmp_path / 'a.avi').read_bytes()
    (tmp_path / '.lock').write_text('mine')
    for name, make_link in ('summary.csv', os.link), ('rows.jsonl', os.symlink):
        make_link('link.avi', name)
        done = farm('a.avi', output='.')
        assert done.returncode == 2 and 'would overwrite' in done.stderr and name in done.stderr
        os.unlink(name)
    os.symlink('list', 'summary.csv')
    (tmp_path / 'list').write_text('a.avi\n')
    assert 'would overwrite' in farm('--list', 'list', output='.').stderr
    os.unlink('summary.csv')
    (tmp_path / 'mine.json').write_text('mine')
    assert not farm('a.avi', output='.').returncode
    assert (tmp_path / 'a.avi').read_bytes() == contents and (tmp_path / 'mine.json').read_text() == 'mine'
    assert (tmp_path / '.lock').read_text() == 'mine'


def test_report(farm, tmp_path):
    pytest.importorskip('jinja2', reason='no python3-jinja2')
    make('a.avi')
    make('none.mkv', 0.2, options='-c:v ffv1')
    os.rename('a.avi', '-a.avi')
    done = farm('--report', '--list', '-', input='-a.avi\n-a.avi -ss 0.2\nnone.mkv\n')
    assert done.returncode == 2 and 'page' not in done.stderr
    pages = [tmp_path / f'out/{name}.html' for name in summary('result')[0]]
    assert [page.exists() for page in pages] == [True, True, False]
    assert 'data:image/jpeg' in pages[0].read_text() and 'data:image/jpeg' not in pages[1].read_text()
    pages[0].unlink()
    assert farm('--report', '--', '-a.avi').returncode == 0 and pages[0].exists()


def test_progress(module, monkeypatch):
    """A line on a terminal shows the progress. A script that waits for a busy program makes progress, too."""
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(module.quality_common, 'STALL_CHECKS', 2)
    monkeypatch.setattr(sys, 'stderr', terminal)

    def run(command):
        try:
            return module.quality_common.run_process(['sh', '-c', f'{command}; exit 3']).code
        except module.ToolError as error:
            return str(error)
    codes = module.quality_common.in_parallel(
        run, ['timeout 3 sh -c "while :; do :; done"', 'sleep 60', 'true'], 3,
        lambda done: module.show_progress(done, 3))
    assert codes == [3, 'sh was stopped: it made no progress for 2 s', 3]
    assert terminal.getvalue() == '\r1 of 3 done\r2 of 3 done\r3 of 3 done\n'


def test_resume(farm, tmp_path):
    make('short.avi', 0.2)
    make('long.avi', 8)
    # slow, and it holds a pipe open while it runs
    script(tmp_path / 'slow',
           f'case "$*" in *long.avi*-vf*) exec 9> {tmp_path}/alive; {FFMPEG} -readrate 0.1 "$@"; exit;; esac\n'
           f'exec {FFMPEG} "$@"\n')
    os.mkfifo('alive')
    old = None
    for number, code in (signal.SIGTERM, 143), (signal.SIGKILL, -9):
        with subprocess.Popen([TOOLS['quality-farm'], '--ffmpeg', './slow', '--jobs', '1', '-o', 'out',
                               'short.avi', 'long.avi'], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
            with open('alive', 'rb') as alive:
                second = farm('short.avi', program='./slow')
                assert second.returncode == 2 and 'in use by another quality-farm' in second.stderr
                run.send_signal(number)
                assert run.wait() == code
                if code == 143:
                    assert select.select([alive], [], [], 0)[0]     # its commands have ended, too
                    assert not [name for name in os.listdir('out') if name.startswith('.long')]
        result, = (path for path in (tmp_path / 'out').glob('short*.json'))
        assert old in (None, result.stat().st_mtime_ns)
        old = result.stat().st_mtime_ns
    planned = farm('--dry-run', 'short.avi', 'long.avi', program='./slow').stdout
    assert 'long.avi' in planned and 'short.avi' not in planned
    # the lock ended with its process; the ffmpeg of the killed one may still run
    assert farm('short.avi', program='./slow').returncode == 0
    assert summary('frames') == [['5']] and result.stat().st_mtime_ns == old


def test_slurm(farm, tmp_path, monkeypatch):
    """The job of an array: sbatch is replaced by a program that runs some of its tasks."""
    make('a.avi')
    make('b\n\udcff.avi', 0.28)
    make('c.avi')
    script(tmp_path / 'sbatch',
           'for i; do last=$i; done\nprintf "%s\\n" "$@" > asked\n'
           'for i in $TASKS; do SLURM_ARRAY_TASK_ID=$i sh -c "$last"; done\necho $SAID\nexit $CODE\n')
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    files = 'a.avi', 'b\n\udcff.avi', 'c.avi'

    def run(tasks, said='Submitted batch job 1', code=0):
        return farm('--slurm', '--sbatch=--partition=x', *files,
                    env={**os.environ, 'TASKS': tasks, 'SAID': said, 'CODE': str(code)})
    done = run('', '', 1)
    assert done.returncode == 2 and 'refused an array of 3 tasks' in done.stderr and 'MaxArraySize' in done.stderr
    done = run('1 2', code=1)
    assert done.returncode == 2 and 'c.avi failed: its task ended without a result' in done.stderr
    assert summary('frames', 'state') == [['10', '7', ''], ['ok', 'ok', 'failed']]
    done = run('1')
    assert done.returncode == 0, done.stderr
    asked = (tmp_path / 'out/asked').read_text().splitlines()
    assert '--wait' in asked and '--array=1-1' in asked and '--partition=x' in asked
    assert asked[-1] == 'exec "$QUALITY_FARM" --row "$SLURM_ARRAY_TASK_ID"'
    assert summary('frames') == [['10', '7', '10']]
