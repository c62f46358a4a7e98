"""Tests of quality-compare: how encodes are aligned, what is measured, names and errors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import json
import math
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from common import FFMPEG, TOOLS, ffmpeg, report, tool, video

X264 = ['-c:v', 'libx264', '-preset', 'ultrafast']


def copy(source, path, filters='null', *options):
    ffmpeg('-i', source, '-vf', filters, '-fps_mode', 'passthrough',
           *(options or ('-c:v', 'ffv1')), path)


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Runs it in the test's folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, program=FFMPEG, output='out'):
        done = tool('quality-compare', '--ffmpeg', program, '-o', output, *arguments)
        return done.returncode, done.stderr.splitlines(), done.stdout
    return run


def column(name, field):
    log = json.loads(Path(f'out/{name}.json').read_text())
    return [float(frame['metrics'][field]) for frame in log['frames']]


# ---- how they lie in time ----

@pytest.fixture(scope='module')
def films(tmp_path_factory):
    """Lossless films, and parts of them at other rates."""
    folder = tmp_path_factory.mktemp('films')
    start = 'trim=start_frame={},setpts=PTS-STARTPTS'.format
    for rate, path in (25, 'source.mkv'), (50, '50.mkv'), (30, '30.mkv'):
        video(folder / path, source=f'testsrc2=s=160x96:r={rate}')
    for source, path, filters, *options in [
            ('source.mkv', 'late.mkv', start(7)), ('source.mkv', 'later.mkv', start(13)),
            ('late.mkv', 'half.mp4', 'scale=80:48', *X264, '-crf', 35),
            ('50.mkv', '25.mkv', start(7) + ',framestep=2'), ('50.mkv', '50cut.mkv', start(13)),
            ('50.mkv', '25all.mkv', 'framestep=2'),
            ('source.mkv', 'vfr.mkv', "select='mod(n+1,6)*mod(n+1,7)'"),
            ('30.mkv', 'ntsc.mp4', start(7) + ',fps=30000/1001', *X264, '-qp', 0),
            ('source.mkv', 'still.mkv', 'trim=end_frame=1,loop=74:1,setpts=N/25/TB'),
            ('source.mkv', 'again.mkv', 'trim=end_frame=20,loop=3:20,setpts=N/25/TB'),
            ('source.mkv', 'bt709.mkv', 'setparams=colorspace=bt709'),
            ('source.mkv', 'bt2020.mkv', 'setparams=colorspace=bt2020nc'),
            ('source.mkv', 'full.mkv', 'scale=out_range=full,format=yuv444p', *X264, '-qp', 0, '-color_range', 'pc'),
            ('source.mkv', 'large.ts', 'null', '-c:v', 'mpeg2video'),
            ('source.mkv', 'small.ts', 'scale=80:48', '-c:v', 'mpeg2video')]:
        copy(folder / source, folder / path, filters, *options)
    ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=160x96:r=25,format=yuv420p', '-t', 3, '-c:v', 'ffv1', folder / 'other.mkv')
    parts = [(folder / name).read_bytes() for name in ('large.ts', 'small.ts')]
    (folder / 'both.ts').write_bytes(b''.join(parts))
    ffmpeg('-f', 'lavfi', '-i', 'sine=d=1', '-c:a', 'pcm_s16le', folder / 'sound.mkv')
    return folder


FITS = 'WARNING: {} s fits as well; give it with --offset'
# source, encode, options, notes, frames; an SSIM of 1 tells that the pairs are right
OFFSETS = [
    ('source.mkv', 'late.mkv', '', ['+7.0 frames (+0.280 s)'], 68),
    ('later.mkv', 'source.mkv', '', ['-13.0 frames (-0.520 s)'], 62),
    ('50.mkv', '25.mkv', '', ['+7.0 frames (+0.140 s)'], 72),
    ('25.mkv', '50.mkv', '', ['-3.5 frames (-0.140 s)'], 72),
    ('25all.mkv', '50cut.mkv', '', ['+6.5 frames (+0.260 s)'], 68),
    ('30.mkv', 'ntsc.mp4', '', ['+7.0 frames (+0.233 s)'], 82),
    ('ntsc.mp4', '30.mkv', '', ['-7.0 frames (-0.233 s)'], 83),
    ('source.mkv', 'vfr.mkv', '', ['+0.0 frames (+0.000 s)'], 54),
    ('source.mkv', 'late.mkv', '--offset 0.28', ['+7.0 frames (+0.280 s)'], 68),
    ('still.mkv', 'still.mkv', '', ['+0.0 frames (+0.000 s)', FITS.format('-0.040')], 75),
    ('again.mkv', 'again.mkv', '', ['+0.0 frames (+0.000 s)', FITS.format('-0.800')], 80),
]
UNALIKE = [     # the same, where the pictures are not the same
    ('source.mkv', 'half.mp4', '', ['+7.0 frames (+0.280 s)'], 68),
    ('source.mkv', 'late.mkv', '--offset 0', ['+0.0 frames (+0.000 s)'], 68),
    ('source.mkv', 'late.mkv', '--search 0.2',
     ['+5.0 frames (+0.200 s)',
      'WARNING: no larger offset was tried; look further with --search'], 68),
    ('source.mkv', 'other.mkv', '--offset 0',
     ['+0.0 frames (+0.000 s)', 'WARNING: the pictures are not alike with this offset'], 75),
    ('source.mkv', 'full.mkv', '', ['+0.0 frames (+0.000 s)'], 75),
    ('bt709.mkv', 'bt2020.mkv', '',
     ['+0.0 frames (+0.000 s)', 'WARNING: colours are not converted from bt2020nc to bt709'], 75),
]


@pytest.mark.parametrize('source, encode, options, notes, count', OFFSETS + UNALIKE)
def test_offsets(compare, films, source, encode, options, notes, count):
    code, said, _ = compare(films / source, films / encode, '-m', 'ssim,psnr,xpsnr',
                            *options.split())
    assert (code, said) == (0, [f'{encode}: {note}' for note in
                                [f'offset {notes[0]}', *notes[1:], f'{count} frames compared']])
    if (source, encode, options, notes, count) in OFFSETS:
        fields = {'ssim.All': 1, 'psnr.psnr_avg': math.inf, 'xpsnr.score': 100}
        assert all(set(column(encode, name)) == {value} for name, value in fields.items())
    elif encode == 'full.mkv':
        assert min(column(encode, 'ssim.Y')) > 0.99     # luma is the same but for rounding


# ---- what is measured ----

def test_means(compare):
    """They are those that the filters print; XPSNR is that of the worst plane, and 100 for equal pictures."""
    video('source.mkv', seconds=1)
    copy('source.mkv', 'a.mkv', "lutyuv=u=val+8:enable='gte(n,9)'", *X264, '-crf', 30)
    code, _, table = compare('source.mkv', 'a.mkv', 'source.mkv', '-m', 'ssim,psnr,xpsnr')
    assert code == 0
    found = re.findall(r'(?:^|  )(a|source)\.mkv +(\S+) +(\S+) +(\S+) +0:00:0', table, re.M)
    assert [mean for name, mean, _, _ in found if name == 'source'] == ['1.0000', 'inf', '100.00']
    wanted = []
    for graph, mean in ('ssim', 'SSIM .*All:'), ('psnr', 'PSNR .*average:'), ('[1][0]xpsnr', 'minimum: *'):
        done = subprocess.run([FFMPEG, '-nostdin', '-i', 'a.mkv', '-i', 'source.mkv', '-lavfi', graph,
                               '-f', 'null', '-'], capture_output=True, text=True, check=True)
        wanted.append(float(re.search(mean + r'([\d.]+)', done.stderr)[1]))
    means = [float(mean) for name, mean, _, _ in found if name == 'a']
    assert means == pytest.approx(wanted, abs=0.006)


def test_all_metrics(compare):
    """All of them in one call; the JSON makes a page, with pictures of source and encode."""
    video('source.mkv', seconds=2)
    copy('source.mkv', 'a.mkv', "trim=start_frame=7,setpts=PTS-STARTPTS,drawbox=c=red:t=fill:enable='eq(n,23)'", *X264, '-crf', 30)
    code, said, table = compare('source.mkv', 'a.mkv', '-m', 'bliinds,ssim,psnr,mad')
    assert code == 0 and said == ['a.mkv: offset +7.0 frames (+0.280 s)',
                                  'a.mkv: 43 frames compared']
    for label in 'SSIM (0..1, higher is better)', 'MAD (0 and up, lower is better)', \
            'estimated VMAF loss (0..100, lower is better)':
        assert f'\n{label} ' in table
    # the frame that is red lies at the source's time
    assert column('a.mkv', 'ssim.All').index(min(column('a.mkv', 'ssim.All'))) == 23
    page = report(Path(), 'out/a.mkv.json', '--source', 'source.mkv', '--video', 'a.mkv',
                  '--ffmpeg', FFMPEG, '-m', 'ssim', '-m', 'mad', '--worst', 1)
    assert page.cards == [['1', page.cards[0][1], '0:00:01.200', 'frame 23']] and len(page.pictures()) == 2
    valid = column('a.mkv', 'bliinds.valid').count(1)      # the red one may be blank
    counts = f'{valid} frames scored by the bitstream, 0 by the pixels alone.'
    assert valid >= 42 and counts in report(Path(), 'out/a.mkv.json', '-m', 'bliinds').paragraphs
    Path('picture.jpg').write_bytes(page.pictures()[1])
    red, green, _ = ffmpeg('-i', 'picture.jpg', '-vf', 'scale=1:1:flags=area,format=rgb24', '-f', 'rawvideo', '-')
    assert red > 200 and green < 60


@pytest.mark.parametrize('source, encode, options', [
    ('yuv420p', 'yuv420p', ''), ('yuv420p', 'yuv420p10le', 'bitdepth=10'),
    ('yuv420p10le', 'yuv420p', 'bitdepth=10')])
def test_vmaf(compare, source, encode, options):
    """The digits are those of the filter on the files, also of other depths."""
    video('source.mkv', f'-c:v ffv1 -pix_fmt {source}', 0.4,
          'format=yuv420p10,noise=c0s=9:c0f=t:c0_seed=1', 'testsrc2=s=320x240:r=25')
    copy('source.mkv', 'a.mkv', 'gblur=1', '-c:v', 'ffv1', '-pix_fmt', encode)
    ffmpeg('-i', 'a.mkv', '-i', 'source.mkv', '-lavfi', f'vmaf=f=alone.log:{options}',
           '-f', 'null', '-')
    code, _, table = compare('source.mkv', 'a.mkv', '-m', 'ssim,bliinds,vmaf')
    assert code == 0 and '\nVMAF (0..100, higher is better) ' in table
    alone = re.findall(r' score:(\S+)', Path('alone.log').read_text())
    assert column('a.mkv', 'vmaf.score') == [float(score) for score in alone] and len(alone) == 10


# ---- names and errors ----

def test_names(compare, monkeypatch):
    """Whatever they have in them."""
    odd = 'a \'b",c:d;e[f]%d\\g=é\nh.mkv'
    os.makedirs("a:b'c")
    video('source.mkv', seconds=1)
    for path in ":s'rc,.mkv", odd, "a:b'c/" + odd:
        os.link('source.mkv', path)
    monkeypatch.setenv('TMPDIR', os.path.abspath("a:b'c"))
    output = "o:'[,;] é"
    code, said, table = compare('-m', 'ssim', '--', ":s'rc,.mkv", odd, "a:b'c/" + odd, output=output)
    assert code == 0 and table.count(f'{odd.replace(chr(10), "?")}   1.0000') == 2
    assert sorted(os.listdir(output)) == sorted([odd + '.json', odd + '-2.json']) and os.listdir("a:b'c") == [odd]


@pytest.mark.parametrize('source, encode, options, message', [
    ('none.mkv', 'late.mkv', '', "none.mkv' cannot be decoded"),
    ('source.mkv', 'sound.mkv', '', "sound.mkv' cannot be decoded"),
    ('both.ts', 'both.ts', '', "both.ts', or its source, fails, or changes its size or format"),
    ('source.mkv', 'other.mkv', '', "source.mkv': no offset"),
    ('source.mkv', 'late.mkv', '--offset x', "invalid float value: 'x'"),
    ('source.mkv', 'late.mkv', '--offset nan', "source.mkv': no offset"),
    ('source.mkv', 'late.mkv', '-o /dev/null', "File exists: '/dev/null'")])
def test_errors(compare, films, source, encode, options, message):
    code, said, _ = compare(films / source, films / encode, '-m', 'ssim', *options.split())
    assert code == 2 and message in said[-1]


def test_cut_off(compare):
    """What is there is compared, and it is an error."""
    video('source.mkv', seconds=1)
    data = Path('source.mkv').read_bytes()
    Path('cut.mkv').write_bytes(data[:len(data) * 6 // 10])
    code, said, _ = compare('source.mkv', 'cut.mkv', '-m', 'ssim')
    assert code == 2 and said[0] == 'cut.mkv: offset +0.0 frames (+0.000 s)'
    assert re.fullmatch('cut.mkv: [0-9]+ frames compared', said[1])
    assert said[2].startswith('cut.mkv: DAMAGED, or its source is: ')
    assert json.loads(Path('out/cut.mkv.json').read_text())['eof'] is False


def stand_in(pattern, command):
    """An ffmpeg that does something else in one place."""
    path = Path('bin/ffmpeg').absolute()
    path.parent.mkdir()
    path.write_text(f'#!/bin/bash\ncase "$*" in\n{pattern}) {command} ;;\n*) exec {FFMPEG} "$@" ;;\nesac\n')
    path.chmod(0o755)
    return path


def test_messages_between(compare):
    """A decoder's thread may write in the middle of what showinfo tells of a frame."""
    video('source.mkv', seconds=1)
    broken = f"{FFMPEG} \"$@\" 2> log; status=$?; sed '/color_range/s/ color_space/\\n&/' log >&2; exit $status"
    code, said, _ = compare('source.mkv', 'source.mkv', '-m', 'ssim', program=stand_in('*showinfo*', broken))
    assert code == 0 and said[1] == 'source.mkv: 25 frames compared'


def test_what_it_lacks(compare):
    """What there is not, is not measured, and an error where it is named."""
    video('source.mkv', seconds=1)
    few = stand_in('*-filters*', "echo ' ssim scale'")
    code, _, table = compare('source.mkv', 'source.mkv', program=few)
    assert code == 0 and len(table.splitlines()) == 2 and '\nSSIM ' in table
    code, said, _ = compare('source.mkv', 'source.mkv', '-m', 'ssim,vmaf', program=few)
    assert (code, said) == (2, ['quality-compare: this ffmpeg can measure ssim, not ssim,vmaf'])


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_interrupted(compare, number):
    """It leaves no program behind, and nothing else."""
    video('source.mkv', seconds=1)
    os.mkfifo('pipe')
    slow = stand_in('*-filter_complex*', 'sleep 0.5; exec sleep 1000 > pipe')
    process = subprocess.Popen([sys.executable, TOOLS['quality-compare'], '--ffmpeg', slow, '-o', 'out',
                                'source.mkv', 'source.mkv', '-m', 'ssim'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    with open('pipe') as pipe:      # once it runs; what is read of it ends when it does
        process.send_signal(number)
        assert process.wait(timeout=60) == 130 and os.listdir('out') == [] and not pipe.read()
