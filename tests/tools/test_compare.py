"""Tests of quality-compare: how encodes are aligned, what is measured, names and errors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import csv
import itertools
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from common import FFMPEG, TOOLS, ffmpeg, report, tool, video

X264_LOSSLESS = '-c:v libx264 -preset ultrafast -qp 0'
X264 = ['-c:v', 'libx264', '-preset', 'ultrafast']


def copy(source, path, filters='null', *options):
    copies(source, [(path, filters, *options)])


def copies(source, rows):
    """Make all copies of a video in one run: rows of path, filters and options."""
    ffmpeg('-i', source, *itertools.chain(*(
        ['-vf', filters, '-fps_mode', 'passthrough', *(options or ['-c:v', 'ffv1']), path]
        for path, filters, *options in rows)))


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Runs it in the test's folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, program=FFMPEG, output='out'):
        done = tool('quality-compare', '--ffmpeg', program, '-o', output, *arguments)
        return done.returncode, done.stderr.splitlines(), done.stdout
    def pairs(rows, *arguments):
        Path('pairs.csv').write_text(''.join(f'{source},{encode}\n' for source, encode in rows))
        return run('--pairs', 'pairs.csv', *arguments)

    run.pairs = pairs
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
    video(folder / 'long.mkv', X264_LOSSLESS, 33, source='testsrc2=s=160x96:r=25')
    # Small pictures of these frames differ less than noticeably.
    video(folder / 'slow.mkv', seconds=2, source='color=gray:s=160x96:r=25', filters="geq=lum='128+20*(mod(Y,2)*2-1)*"
          "(2*gt(sin(X*3+N*13),0)-1)+between(X,mod(N,6)*8,mod(N,6)*8+7)*between(Y,40,47)':cb=128:cr=128")
    for source, rows in {
            'source.mkv': [
                ('late.mkv', start(7)), ('later.mkv', start(13)), ('vfr.mkv', "select='mod(n+1,6)*mod(n+1,7)'"),
                ('bt709.mkv', 'setparams=colorspace=bt709'), ('bt2020.mkv', 'setparams=colorspace=bt2020nc'),
                ('sdr.mkv', 'setparams=color_trc=bt709'), ('hlg.mkv', 'setparams=color_trc=arib-std-b67'),
                ('full.mkv', 'scale=out_range=full,format=yuv444p', *X264, '-qp', 0, '-color_range', 'pc'),
                ('large.ts', 'null', '-c:v', 'mpeg2video'), ('small.ts', 'scale=80:48', '-c:v', 'mpeg2video')],
            'late.mkv': [('half.mp4', 'scale=80:48', *X264, '-crf', 35)],
            '50.mkv': [('25.mkv', start(7) + ',framestep=2'), ('50cut.mkv', start(13)), ('25all.mkv', 'framestep=2')],
            'vfr.mkv': [('vfrlate.mkv', start(7))], 'slow.mkv': [('slowlate.mkv', start(1))],
            '30.mkv': [('ntsc.mp4', start(7) + ',fps=30000/1001', *X264, '-qp', 0)],
            'long.mkv': [('end.mkv', start(750) + ',trim=end_frame=25'),
                         ('segment.ts', 'trim=start_frame=750:end_frame=775', '-c:v', 'mpeg2video', '-qscale:v', 2)]}.items():
        copies(folder / source, [(folder / path, *row) for path, *row in rows])
    for path, filters in ('still.mkv', 'trim=end_frame=1,loop=74:1'), ('again.mkv', 'trim=end_frame=20,loop=3:20'):
        copy(folder / 'source.mkv', folder / path, filters + ',setpts=N/25/TB')
    ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=160x96:r=25,format=yuv420p', '-t', 3, '-c:v', 'ffv1', folder / 'other.mkv')
    parts = [(folder / name).read_bytes() for name in ('large.ts', 'small.ts')]
    (folder / 'both.ts').write_bytes(b''.join(parts))
    ffmpeg('-f', 'lavfi', '-i', 'sine=d=1', '-c:a', 'pcm_s16le', folder / 'sound.mkv')
    (folder / 'empty.mkv').write_bytes(b'')
    return folder


# source, encode, options, offset in frames and seconds, frames compared; their SSIM is 1
OFFSETS = [
    ('source.mkv', 'late.mkv', '', '+7.0 frames (+0.280 s)', 68),
    ('later.mkv', 'source.mkv', '', '-13.0 frames (-0.520 s)', 62),
    ('50.mkv', '25.mkv', '', '+7.0 frames (+0.140 s)', 72),
    ('30.mkv', 'ntsc.mp4', '', '+7.0 frames (+0.233 s)', 83),
    ('ntsc.mp4', '30.mkv', '', '-7.0 frames (-0.233 s)', 83),
    ('source.mkv', 'vfr.mkv', '', '+0.0 frames (+0.000 s)', 54),
    ('vfr.mkv', 'vfrlate.mkv', '', '+6.4 frames (+0.360 s)', 47),
    ('source.mkv', 'late.mkv', '--offset 0.28', '+7.0 frames (+0.280 s)', 68),
    ('source.mkv', 'late.mkv', '--offset 0.279', '+7.0 frames (+0.279 s)', 68),
    ('long.mkv', 'end.mkv', '--offset 30', '+750.0 frames (+30.000 s)', 25),
    ('long.mkv', 'end.mkv', '--search 31', '+750.0 frames (+30.000 s)', 25),
    ('still.mkv', 'still.mkv', '', '+0.0 frames (+0.000 s)', 75),
    ('again.mkv', 'again.mkv', '', '+0.0 frames (+0.000 s)', 80),
    ('slow.mkv', 'slowlate.mkv', '', '+1.0 frames (+0.040 s)', 49)]
UNALIKE = [     # The pictures are not the same.
    ('source.mkv', 'half.mp4', '', '+7.0 frames (+0.280 s)', 68),
    ('25all.mkv', '50cut.mkv', '', '+6.5 frames (+0.260 s)', 137),
    ('source.mkv', 'full.mkv', '', '+0.0 frames (+0.000 s)', 75),
    ('bt709.mkv', 'bt2020.mkv', '', '+0.0 frames (+0.000 s)', 75)]


@pytest.mark.parametrize('options', [*dict.fromkeys(row[2] for row in OFFSETS)])
def test_offsets(compare, films, options):
    rows = [row for row in OFFSETS + UNALIKE if row[2] == options]
    code, said, _ = compare.pairs([(films / source, films / encode) for source, encode, *_ in rows],
                                  '-m', 'ssim,psnr', '-m', 'xpsnr', *options.split())
    assert code == 0
    notes = [note for note in said if 'WARNING' in note]
    assert notes == ['bt2020.mkv: WARNING: colours are not converted from bt2020nc to bt709'] * (not options)
    for row in rows:
        _, encode, _, offset, count = row
        assert f'{encode}: offset {offset}' in said
        assert [note for note in said if note.startswith(f'{encode}: {count} frames compared')]
        if row in OFFSETS:
            fields = {'ssim.All': 1, 'psnr.psnr_avg': math.inf, 'xpsnr.score': 100}
            assert all(set(column(encode, name)) == {value} for name, value in fields.items())
        elif encode == 'full.mkv':
            assert min(column(encode, 'ssim.Y')) > 0.99     # luma is the same but for rounding
        log = json.loads(Path(f'out/{encode}.json').read_text())
        assert f'({log["offset"]:+.3f} s)' in offset and len(log['frames']) == count


@pytest.mark.parametrize('encodes, options, message', [
    ('late.mkv', '--offset 0', 'at --offset 0: it fits at 0.28 s'),
    ('late.mkv', '--offset 0.32', 'at --offset 0.32: it fits at 0.28 s'),
    ('late.mkv', '--offset 20', 'at any offset up to 10 s from 20 s: is it'),
    ('late.mkv other.mkv', '--search 0.2', 'at any offset up to 0.2 s from 0 s: is it'),
    ('other.mkv', '--offset 0', 'at any offset up to 10 s from 0 s: is it')])
def test_wrong_offsets(compare, films, encodes, options, message):
    """An encode that does not fit has no number, also at a given offset."""
    source, encodes = films / 'source.mkv', [films / name for name in encodes.split()]
    code, said, table = compare(source, *encodes, '-m', 'ssim', *options.split())
    assert (code, len(said), table) == (2, len(encodes), '')
    for line, encode in zip(said, encodes):
        assert f"'{encode}' does not fit '{source}' {message}" in line


def test_segments(compare, films):
    """A segment of a file with the same times is found without --search, if it fits there."""
    code, said, _ = compare(films / 'long.mkv', films / 'segment.ts', '-m', 'ssim')
    assert code == 0 and said == ['segment.ts: offset +750.0 frames (+30.000 s)', 'segment.ts: 25 frames compared']
    ffmpeg('-itsoffset', 30, '-i', films / 'source.mkv', '-c', 'copy', 'moved.mkv')
    code, said, _ = compare(films / 'source.mkv', 'moved.mkv', '-m', 'ssim')
    assert code == 0 and said[0] == 'moved.mkv: offset +0.0 frames (+0.000 s)'


def test_drifts(compare):
    """Another speed, and frames that are lost or inserted without a trace in the timestamps, are errors."""
    video('source.mkv', seconds=5, source='testsrc2=s=160x96:r=24')
    renumber, x264 = ',setpts=N/24/TB', [*X264, '-crf', 40, '-enc_time_base', '1/90000']
    false = {'lost30': "select='not(between(n,60,89))'" + renumber, 'lost1': "select='n-60'" + renumber,
             'inserted': 'setpts=(N+12*gte(N\\,60))/24/TB,fps=24', 'pal': 'setpts=PTS*24/25', 'double': 'setpts=PTS*2',
             'fast': 'setpts=PTS/2', 'slow': 'setpts=PTS*1.04,fps=24'}
    black = "drawbox=t=fill:c=black:enable='between(n,30,80)'"
    true = {'plain': 'null', 'ntsc': 'fps=30000/1001', 'gap': "select='not(between(n,60,89))'", 'halved': 'framestep=2'}
    for name, filters in (false | true).items():
        copy('source.mkv', f'{name}.mkv', filters, *x264)
    copy('source.mkv', 'black.mkv', black)
    copy('source.mkv', 'still.mkv', 'trim=end_frame=1,loop=100:1' + renumber)
    ffmpeg('-i', 'source.mkv', '-r', 30, *x264[:-2], 'r30.mkv', '-r', 25, *x264[:-2], 'r25.mkv')
    code, said, table = compare('source.mkv', *(f'{name}.mkv' for name in false), '-m', 'ssim')
    assert (code, table, len(said)) == (2, '', len(false))
    assert said[0].startswith("quality-compare: 'lost30.mkv' does not fit 'source.mkv' at ")
    assert {*re.findall(r'fits at (\S+) s', said[0])} <= {'0', '1.25'} and 'restore the timestamps' in said[0]
    encodes = [f'{name}.mkv' for name in ('r30', 'r25', *true)]
    code, said, _ = compare.pairs([*itertools.product(['source.mkv'], encodes), ('black.mkv',) * 2, ('still.mkv',) * 2],
                                  '-m', 'ssim')
    assert code == 0 and not [note for note in said if 'offset' in note and '+0.0 frames' not in note]
    code, said, _ = compare('source.mkv', 'pal.mkv', '-m', 'ssim', '--source-filter', 'setpts=PTS*24/25')
    assert code == 0 and said[0] == 'pal.mkv: offset +0.0 frames (+0.000 s)'


# The timings of the source and of its lossless copies, as in tests/pairs.sh; the frames of the copies.
TIMINGS = [
    ('CFR', 'null', 'null', 20, 0),
    ('VFR', "select='not(mod(n,3))+not(mod(n,7))'", 'null', 9, 0),
    ('jittered', "setpts='PTS+mod(N*7919,1440)'", 'null', 20, 0),
    ('doubled', 'null', 'fps=50', 40, 0),
    ('halved', 'null', 'framestep=2', 10, 9),
    ('still', 'trim=end_frame=1', 'null', 1, 0)]


def test_identity(compare):
    """A lossless copy scores perfectly, and every frame counts."""
    coded = ['-fps_mode', 'passthrough', '-enc_time_base', '1/90000', *X264, '-qp', 0, '-bf', 2, '-g', 12]
    rows = []
    for name, timing, copied, count, unpaired in TIMINGS:
        source = f'{name}.mkv'
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=s=64x64:r=25:d=0.8,format=yuv420p,noise=alls=20:allf=t,settb=1/90000,{timing}',
               *coded, source)
        encodes = [f'{name}-copy.{container}' for container in ('mp4', 'mkv', 'ts')]
        ffmpeg('-i', source, *itertools.chain(*(['-vf', copied, *coded, path] for path in encodes)))
        rows += [(source, path, count, unpaired) for path in encodes]
    code, said, _ = compare.pairs([row[:2] for row in rows], '-m', 'ssim,psnr')
    assert code == 0, said
    for _, name, count, unpaired in rows:
        assert column(name, 'ssim.All') == [1] * count and column(name, 'psnr.psnr_avg') == [math.inf] * count
        log = json.loads(Path(f'out/{name}.json').read_text())
        assert log['offset'] == 0 and log['unpaired'] == {'encode': 0, 'source': unpaired}


def test_brightness(compare):
    """Flat pictures of another brightness are no encode; an encode may be a little brighter."""
    for name in 'black', 'white', 'gray':
        video(f'{name}.mkv', seconds=0.4, source=f'color={name}:s=160x96:r=25')
    video('testsrc2.mkv', seconds=0.4)
    pairs = []
    for name in 'black', 'testsrc2':
        copy(f'{name}.mkv', f'{name}+8.mkv', 'lutyuv=y=val+8')
        pairs += [(f'{name}.mkv', f'{other}.mkv') for other in (f'{name}+8', 'white', 'gray')]
    code, said, table = compare.pairs(pairs, '-m', 'ssim')
    assert code == 2 and re.findall(r'^\S+mkv', table, re.M) == ['black+8.mkv', 'testsrc2+8.mkv']
    for name, other in itertools.product(('black', 'testsrc2'), ('white', 'gray')):
        assert f"quality-compare: '{other}.mkv' does not fit '{name}.mkv' at any offset" in '\n'.join(said)


def test_first_frames(compare, films):
    """Encodes without their first frames are found in each container."""
    encodes = {'1.mp4': 1, '5.mkv': 5, '48.ts': 48}
    copies(films / 'source.mkv', [(name, f'trim=start_frame={n},setpts=PTS-STARTPTS', *X264, '-crf', 30)
                                  for name, n in encodes.items()])
    code, said, _ = compare(films / 'source.mkv', *encodes, '-m', 'psnr')
    assert code == 0 and said == [f'{name}: {note}' for name, n in encodes.items() for note in (
        f'offset +{n}.0 frames (+{n / 25:.3f} s)', f'{75 - n} frames compared')]


def test_unpaired(compare, films):
    """Frames before and after the source are counted, and have no scores."""
    code, said, _ = compare(films / 'later.mkv', films / 'source.mkv', '-m', 'ssim')
    assert code == 0 and said[1] == 'source.mkv: 62 frames compared, unpaired: 13 of the encode, 0 of the source'


# ---- what is measured ----

def test_means(compare):
    """They are those that the filters print; XPSNR is that of the worst plane, and 100 for equal pictures."""
    video('source.mkv', seconds=1)
    copy('source.mkv', 'a.mkv', "lutyuv=u=val+8:enable='gte(n,9)'", *X264, '-crf', 30)
    code, _, table = compare('source.mkv', 'a.mkv', 'source.mkv', '-m', 'ssim,psnr,xpsnr')
    assert code == 0
    found = {line.split()[0]: line.split()[6::2] for line in table.splitlines()}
    assert found['source.mkv'] == ['1.0000', 'inf', '100.00']
    wanted = []
    for graph, mean in ('ssim', 'SSIM .*All:'), ('psnr', 'PSNR .*average:'), ('[1][0]xpsnr', 'minimum: *'):
        done = subprocess.run([FFMPEG, '-nostdin', '-i', 'a.mkv', '-i', 'source.mkv', '-lavfi', graph,
                               '-f', 'null', '-'], capture_output=True, text=True, check=True)
        wanted.append(float(re.search(mean + r'([\d.]+)', done.stderr)[1]))
    assert [float(mean) for mean in found['a.mkv']] == pytest.approx(wanted, abs=0.006)


def test_all_metrics(compare):
    """All of them in one call; the JSON makes a page, with pictures of source and encode."""
    video('source.mkv', seconds=2)
    copy('source.mkv', 'a.mkv', "trim=start_frame=7,setpts=PTS-STARTPTS,drawbox=c=red:t=fill:enable='eq(n,23)'", *X264, '-crf', 30)
    code, said, table = compare('source.mkv', 'a.mkv', '-m', 'bliinds,ssim,psnr,mad')
    assert code == 0 and said == ['a.mkv: offset +7.0 frames (+0.280 s)', 'a.mkv: 43 frames compared',
                                  'a.mkv: bliinds: for a display of 96 lines']
    for label in 'ssim: SSIM (0..1, higher is better)', 'mad: MAD (0 and up, lower is better)', \
            'bliinds: estimated VMAF loss (0..100, lower is better)':
        assert f'\n{label}\n' in table
    # the frame that is red lies at the source's time
    assert column('a.mkv', 'ssim.All').index(min(column('a.mkv', 'ssim.All'))) == 23
    page = report(Path(), 'out/a.mkv.json', '--source', 'source.mkv', '--video', 'a.mkv',
                  '--ffmpeg', FFMPEG, '-m', 'ssim', '-m', 'mad', '--worst', 1)
    assert page.cards == [['1', page.cards[0][1], '0:00:01.200', 'frame 23']] and len(page.pictures()) == 2
    # The red one is flat.
    counts = '42 frames scored by the bitstream, 1 by the model of flat pictures, 0 by the pixels alone.'
    assert counts in report(Path(), 'out/a.mkv.json', '-m', 'bliinds').paragraphs
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
    assert code == 0 and '\nvmaf: VMAF (0..100, higher is better)\n' in table
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
    assert code == 0 and table.count(odd.replace(chr(10), '\\n') + ' ') == table.count(' 1.0000 1.0000') == 2
    assert sorted(os.listdir(output)) == sorted([odd + '.json', odd + '-2.json']) and os.listdir("a:b'c") == [odd]


def test_output_names(compare):
    """No input is overwritten, by whatever name, and the longest names have a file."""
    video('x', '-c:v ffv1 -f matroska', 1)
    for name in 'x.json', 'y', 'y.json-2', 'n' * 255, 'n' * 254 + 'm':
        os.link('x', name)
    code, said, _ = compare('y', 'x', 'y', '-m', 'ssim', output='.')
    assert (code, said) == (2, ["quality-compare: './x.json' would overwrite the input 'y': name another output"])
    os.unlink('x.json')
    code, _, table = compare('x', 'y', 'y', 'n' * 255, 'n' * 254 + 'm', '-m', 'ssim')
    assert code == 0 and table.count(' 1.0000 1.0000') == 4
    names = ['y.json', 'y-2.json', 'n' * 250 + '.json', 'n' * 248 + '-2.json']
    assert sorted(os.listdir('out')) == sorted(names)


@pytest.mark.parametrize('source, encode, options, message', [
    ('sdr.mkv', 'hlg.mkv', '', "hlg.mkv' has the transfer characteristics arib-std-b67, "),
    ('hlg.mkv', 'sdr.mkv', '', "hlg.mkv' has arib-std-b67: HDR and SDR cannot be compared"),
    ('source.mkv', 'late.mkv', '--offset x', "'x' is not a number of seconds, such as -1.5"),
    ('source.mkv', 'late.mkv', '--offset nan', "'nan' is not a number of seconds, such as -1.5"),
    ('source.mkv', 'late.mkv', '-o /dev/null', "File exists: '/dev/null'")])
def test_errors(compare, films, source, encode, options, message):
    code, said, _ = compare(films / source, films / encode, '-m', 'ssim', *options.split())
    assert code == 2 and message in said[-1]


def test_bad_encodes(compare, films):
    """The table has the others."""
    bad = ['none.mkv', 'empty.mkv', 'sound.mkv', 'both.ts']
    code, said, table = compare(films / 'source.mkv', *(films / name for name in bad), films / 'late.mkv', '--metrics', 'ssim')
    assert code == 2 and len(said) == 6 and re.search(r'\nlate\.mkv .* 1\.0000 1\.0000\n', table)
    for line, message in zip(said, ["cannot read '", "cannot read '", "sound.mkv' contains no video stream that can be decoded",
                                    "both.ts' changes its size, format or colours at frame 7"]):
        assert message in line
    code, said, _ = compare(films / 'both.ts', films / 'late.mkv', '-m', 'ssim')
    assert code == 2 and "both.ts' changes its size, format or colours at frame 7" in said[0]


def test_video_streams(compare):
    """Of several video streams the first one is compared; an attached picture is none."""
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x64:d=1', '-f', 'lavfi', '-i', 'color=red:s=80x80:d=1', '-map', 0, '-map', 1,
           '-c:v', 'ffv1', 'two.mkv', '-map', 0, '-c:v', 'ffv1', 'one.mkv')
    ffmpeg('-f', 'lavfi', '-i', 'color=red:s=80x80', '-frames:v', 1, 'cover.png')
    ffmpeg('-i', 'one.mkv', '-i', 'cover.png', '-map', 0, '-map', 1, *X264, '-qp', 0, '-c:v:1', 'png',
           '-disposition:v:1', 'attached_pic', 'cover.mp4')
    code, said, _ = compare('one.mkv', 'two.mkv', 'cover.mp4', '-m', 'ssim')
    assert code == 0 and [note for note in said if 'streams' in note] == [
        "two.mkv: 'two.mkv' has 2 video streams: the first one is compared"]
    assert set(column('two.mkv', 'ssim.All') + column('cover.mp4', 'ssim.All')) == {1}


def test_memory(compare):
    """It does not grow by the pictures and values of the frames."""
    program = 'import os, runpy, sys\nsys.argv = sys.argv[1:]\nsys.path[0] = os.path.dirname(sys.argv[0])\ntry:\n' \
        ' runpy.run_path(sys.argv[0], run_name="__main__")\nfinally:\n print(open("/proc/self/status").read(), file=sys.stderr)'
    kilobytes = []
    for frames in 100, 3000:
        video('source.mkv', seconds=frames / 25, source='testsrc2=s=48x32:r=25')
        done = subprocess.run([sys.executable, '-c', program, TOOLS['quality-compare'], '--ffmpeg', FFMPEG, 'source.mkv',
                               'source.mkv', '-m', 'ssim,psnr', '--search', '1'], capture_output=True, text=True, check=True)
        kilobytes.append(int(re.search(r'VmHWM:\s+(\d+)', done.stderr)[1]))
    assert len(json.loads(Path('compare/source.mkv.json').read_text())['frames']) == 3000
    assert kilobytes[1] - kilobytes[0] < 1500, kilobytes


def test_table(compare):
    """A row has the facts of the encode, and the CSV the same numbers with all their digits."""
    video('source.mkv', seconds=1)
    sine = ['-f', 'lavfi', '-i', 'sine=d=1', '-c:a', 'pcm_s16le', '-shortest']
    raw = [*sine, '-c:v', 'rawvideo', '-fps_mode', 'passthrough']
    ffmpeg('-i', 'source.mkv', *raw, '-vf', "select='gte(n,5)',setpts=PTS-STARTPTS,noise=alls=9:allf=t", '=1+1.nut')
    ffmpeg('-i', 'source.mkv', *raw, '-vf', 'fps=50,scale=80:48', 'b.nut')
    names = 'bliinds,mad,ssim,psnr,xpsnr'
    code, said, table = compare('source.mkv', '=1+1.nut', 'b.nut', '-m', names, '--csv', 'table.csv')
    heads, keys, *lines = map(str.split, table.splitlines())
    assert code == 0 and heads == names.split(',') and max(map(len, table.splitlines())) <= 120
    assert keys == 'name size fps kb/s MB frames mean p95 mean p95 mean p5 mean p5 mean p5'.split()
    # the sound does not count as video, but in the size of the file
    assert lines[0][:4] == ['=1+1.nut', '160x96', '25', '4608'] and lines[0][5] == '20'
    assert lines[1][:4] == ['b.nut', '80x48', '50', '2304'] and lines[1][5] == '50'
    with open('table.csv', encoding='utf-8', newline='') as file:
        rows = [*csv.DictReader(file)]
    assert [row['encode'] for row in rows] == ["'=1+1.nut", 'b.nut']
    for name, cells, row in zip(('=1+1.nut', 'b.nut'), lines, rows):
        log = json.loads(Path(row['json'].replace("'", '')).read_text())
        pools = {field.split('.')[0]: pool for field, pool in log['pooled_metrics'].items()}
        for metric, mean, bad in zip(heads, cells[6::2], cells[7::2]):
            percentile = 'p95' if metric in ('bliinds', 'mad') else 'p5'
            if f'{name}: {metric}: no frame has a valid score' in said:
                assert metric == 'bliinds' and mean == bad == '-' and row['bliinds_mean'] == ''
                continue
            assert float(row[f'{metric}_mean']) == pools[metric]['mean'] == pytest.approx(float(mean), abs=0.006)
            assert float(row[f'{metric}_{percentile}']) == pools[metric][percentile] == pytest.approx(float(bad), abs=0.006)
        at = [frame['pts_time'] for frame in log['frames'] if frame['metrics']['psnr.psnr_avg'] == pools['psnr']['worst']]
        assert pools['psnr']['worst_at'] == at[0] and int(row['bytes']) == os.path.getsize(name)
        assert cells[4] == f'{os.path.getsize(name) / 1e6:.3f}' and row['error'] == ''
    for path, message in ('b.nut', "'b.nut' would overwrite the input 'b.nut'"), ('./out/b.nut.json', 'is the JSON of an encode'):
        before = Path(path).read_bytes()
        code, said, _ = compare('source.mkv', 'b.nut', '-m', 'ssim', '--csv', path)
        assert code == 2 and message in said[-1] and Path(path).read_bytes() == before


def test_pairs(compare, films):
    """A list has videos and pictures; a bad one does not keep the others from the table."""
    for name in 'one.png', 'a, b.png':
        ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=64x64', '-frames:v', 1, name)
    late, sound = films / 'late.mkv', films / 'sound.mkv'
    source = films / 'source.mkv'
    Path('list.csv').write_text(f'source,encode\n# "a comment\n{source},{sound}\n\none.png,"a, b.png"\n'
                                f'none.png, one.png\n{source}, {late}\n"a, b.png",one.png\n')
    code, said, table = compare('--pairs', 'list.csv', '-m', 'ssim', '--csv', 'table.csv')
    lines = [line for line in table.splitlines() if ' 1.0000 1.0000' in line]
    assert code == 2 and [re.split(r' +\d+x\d+ +', line)[0] for line in lines] == [
        'a, b.png', 'late.mkv', 'one.png']
    assert lines[2].split()[:4] == ['one.png', '64x64', '-', '-']
    assert sum(line.startswith('quality-compare: ') for line in said) == 2
    with open('table.csv', encoding='utf-8', newline='') as file:
        rows = [*csv.DictReader(file)]
    assert [(row['source'], row['encode']) for row in rows] == [
        (str(source), str(sound)), ('one.png', 'a, b.png'), ('none.png', 'one.png'), (str(source), str(late)), ('a, b.png', 'one.png')]
    assert [bool(row['error']) for row in rows] == [True, False, True, False, False]
    assert [row['ssim_mean'] for row in rows] == ['', '1.0', '', '1.0', '1.0'] and rows[1]['fps'] == rows[1]['kb/s'] == ''
    assert sorted(os.listdir('out')) == ['a, b.png.json', 'late.mkv.json', 'one.png-2.json']
    code, said, _ = compare('--pairs', 'list.csv', '-m', 'ssim', '--csv', 'list.csv')
    assert code == 2 and "'list.csv' would overwrite the input 'list.csv'" in said[-1]


@pytest.mark.parametrize('text, message', [
    ('# nothing\n\n', "contains 'no row': write a row SOURCE,ENCODE"), ('a.mkv\n', "contains 'a.mkv': write a row"),
    ('a,b,c\n', "contains 'a,b,c': write a row"), ('a,\n', "contains 'a,': write a row"), ('a,b\0\n', 'write a row'),
    ('a,"b\n', 'is no CSV file: ')])
def test_bad_lists(compare, text, message):
    Path('list.csv').write_text(text)
    code, said, table = compare('--pairs', 'list.csv')
    assert (code, len(said), table) == (2, 1, '') and message in said[0]


def test_no_inputs(compare):
    for arguments in [], ['a.mkv'], ['--pairs', 'list.csv', 'a.mkv', 'b.mkv']:
        code, said, _ = compare(*arguments)
        assert code == 2 and 'name a source and its encodes, or a list with --pairs' in said[-1]


def test_tone_mapping(compare):
    """The error shows filters with which a good encode has a good score."""
    video('hdr.mkv', '-c:v ffv1 -pix_fmt yuv420p10le', 0.4,
          'format=yuv420p10,setparams=color_trc=smpte2084:color_primaries=bt2020:colorspace=bt2020nc:range=limited')
    copy('hdr.mkv', 'sdr.mkv', 'format=yuv420p,setparams=color_trc=bt709')
    _, said, table = compare('hdr.mkv', 'sdr.mkv', '-m', 'ssim,psnr')
    filters = re.search('HDR and SDR cannot be compared.* --source-filter "(.*)"$', said[-1])[1]
    assert not table
    picture = ffmpeg('-i', 'hdr.mkv', '-frames:v', 1, '-vf', filters, '-c:v', 'ffv1', '-f', 'matroska', '-')
    Path('sdr.mkv').write_bytes(picture)
    code, said, _ = compare('sdr.mkv', 'hdr.mkv', '-m', 'ssim')
    assert code == 2 and ' has smpte2084, ' in said[-1] or "'sdr.mkv' has bt709" in said[-1]


def test_source_filter(compare, films):
    """Filters may change the size, the rate and the number of the frames, and have labels."""
    for n, filters in enumerate(['crop=96:64,trim=start_frame=4', 'fps=50,split[e][s];[e][s]hstack,format=gray,transpose']):
        copy(films / 'source.mkv', f'{n}.mkv', filters)
        code, said, _ = compare(films / 'source.mkv', f'{n}.mkv', '-m', 'ssim,psnr,xpsnr', '--source-filter', filters)
        assert code == 0 and said[0] == f'{n}.mkv: offset +0.0 frames (+0.000 s)'
        assert set(column(f'{n}.mkv', 'psnr.psnr_avg')) == {math.inf}
    code, said, _ = compare(films / 'source.mkv', '0.mkv', '--source-filter', 'crap=96')
    assert code == 2 and "source.mkv' cannot be decoded: " in said[-1]


def test_text_is_no_fact(compare):
    """Names and tags do not matter."""
    video('source.mkv', seconds=0.4)
    names = []
    for title in 'corrupt', '[error] The Corruption', 'Reconfiguring filter graph', 'Stream #0:0: Video: av1':
        names.append(f'{title}.mkv')
        ffmpeg('-i', 'source.mkv', '-c', 'copy', '-metadata', f'title={title}', 'file:' + names[-1])
    code, said, _ = compare('source.mkv', *names, '-m', 'bliinds,ssim')
    assert code == 0 and not re.search('DAMAGED|WARNING', ''.join(said))
    assert all(column(name, 'ssim.All') == [1] * 10 for name in names)


def test_damage(compare):
    """What can be decoded is compared, and it is an error, also where the decoder conceals it."""
    video('source.mkv', seconds=1)
    ffmpeg('-i', 'source.mkv', *X264, '-crf', 30, '-g', 12, '-movflags', '+faststart', 'e.mp4')
    ffmpeg('-i', 'e.mp4', '-c', 'copy', 'e.ts')
    mkv, mp4, ts = (bytearray(Path(name).read_bytes()) for name in ('source.mkv', 'e.mp4', 'e.ts'))
    packets = json.loads(subprocess.run([FFMPEG.replace('ffmpeg', 'ffprobe'), '-v', 'error', '-show_packets', '-of', 'json', 'e.mp4'],
                                        capture_output=True, check=True).stdout)['packets']
    cut = min(int(packet['pos']) for packet in packets if float(packet['dts_time']) > 0.6)
    files = {'cut.mkv': mkv[:len(mkv) * 6 // 10], 'between.mp4': mp4[:cut], 'lost.ts': ts[:188 * 60] + ts[188 * 63:]}
    for at in range(len(mp4) // 2, len(mp4) - 200, 600):
        mp4[at:at + 30] = bytes(range(30))
    for name, data in (files := files | {'spots.mp4': mp4}).items():
        Path(name).write_bytes(data)
    code, said, table = compare('source.mkv', *files, '-m', 'ssim')
    assert code == 2 and table.count('.m') + table.count('.ts') == len(files)
    for name in files:
        notes = [note for note in said if note.startswith(name)]
        assert notes[0] == f'{name}: offset +0.0 frames (+0.000 s)'
        assert notes[-1].startswith(f"{name}: DAMAGED: '{name}': ")
        log = json.loads(Path(f'out/{name}.json').read_text())
        assert log['eof'] is False and [*log['damage']] == [name]


def test_display(compare):
    """bliinds is that on the source's display: the order of a ladder is that of VMAF."""
    video('source.mkv', '-c:v libx264 -preset ultrafast -qp 8', 0.2, 'noise=alls=6:allf=t', 'testsrc2=s=960x540:r=25')
    names = []
    for height, crf in (540, 18), (360, 26), (270, 28), (216, 28):
        names.append(f'{height}.mkv')
        copy('source.mkv', names[-1], f'scale=-2:{height}', *X264, '-crf', crf)
    code, said, _ = compare('source.mkv', *names, '-m', 'bliinds,vmaf')
    assert code == 0 and said.count('216.mkv: bliinds: for a display of 540 lines') == 1
    loss, score = ([statistics.fmean(column(name, field)) for name in names] for field in ('bliinds.score', 'vmaf.score'))
    assert loss == sorted(loss) and score == sorted(score, reverse=True)


def test_rgb(compare):
    """Pictures have the digits of vmaf on limited range."""
    ffmpeg('-f', 'lavfi', '-i', 'testsrc2=s=320x240:r=25', '-frames:v', 1, '-pix_fmt', 'rgb24', 'source.png')
    ffmpeg('-i', 'source.png', '-vf', 'gblur=1.5', '-pix_fmt', 'rgb24', 'encode.png')
    convert = 'scale=out_range=limited,format=yuv444p'
    ffmpeg('-i', 'encode.png', '-i', 'source.png', '-lavfi', f'[0]{convert}[e];[1]{convert}[s];[e][s]vmaf=f=alone.log', '-f', 'null', '-')
    code, _, _ = compare('source.png', 'encode.png', '-m', 'vmaf')
    assert code == 0
    assert column('encode.png', 'vmaf.score') == [float(re.search(r' score:(\S+)', Path('alone.log').read_text())[1])]


def stand_in(pattern, command):
    """An ffmpeg that does something else in one place."""
    path = Path('bin/ffmpeg').absolute()
    path.parent.mkdir()
    (path.parent / 'ffprobe').symlink_to(FFMPEG.replace('ffmpeg', 'ffprobe'))
    path.write_text(f'#!/bin/bash\ncase "$*" in\n{pattern}) {command} ;;\n*) exec {FFMPEG} "$@" ;;\nesac\n')
    path.chmod(0o755)
    return path


def test_what_it_lacks(compare):
    """What there is not, is not measured, and an error where it is named."""
    video('source.mkv', seconds=1)
    few = stand_in('*-filters*', "echo ' ssim scale'")
    code, _, table = compare('source.mkv', 'source.mkv', program=few)
    assert code == 0 and len(table.splitlines()) == 4 and '\nssim: ' in table
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
        assert process.wait(timeout=60) == 128 + number and os.listdir('out') == [] and not pipe.read()
