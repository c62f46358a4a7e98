"""Tests of quality-compare: how encodes are aligned, what is measured, the page, names and errors.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import csv
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
from common import FFMPEG, TOOLS, Page, ffmpeg, has, script, tool, video, wait_for
import quality_logs

X264 = ['-c:v', 'libx264', '-preset', 'ultrafast']


def copy(source, path, filters='null', *options):
    ffmpeg('-i', source, '-vf', filters, *(options or ('-c:v', 'ffv1')), path)


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Runs it in the test's folder. What it says is without what differs from run to run."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, program=FFMPEG, output='out'):
        done = tool('quality-compare', '--no-gpu', '--ffmpeg', program, '-o', output, *arguments)
        said = [line for line in done.stderr.splitlines() if 'page is' not in line]
        return done.returncode, said, done.stdout
    return run


def rows(name):
    with open(f'out/{name}.csv', newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def column(name, field):
    return [float(row[field]) for row in rows(name)]


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
            ('source.mkv', 'half2.mp4', 'scale=80:48', *X264, '-crf', 35),
            ('50.mkv', '25.mkv', start(7) + ',framestep=2'), ('50.mkv', '50cut.mkv', start(13)),
            ('50.mkv', '25all.mkv', 'framestep=2'),
            ('30.mkv', 'ntsc.mp4', start(7) + ',fps=30000/1001', *X264, '-qp', 0), ('30.mkv', '30cut.mkv', start(13)),
            ('30.mkv', 'ntscall.mkv', 'fps=30000/1001'),
            ('source.mkv', 'still.mkv', 'trim=end_frame=1,loop=74:1,setpts=N/25/TB'),
            ('source.mkv', 'again.mkv', 'trim=end_frame=20,loop=3:20,setpts=N/25/TB'),
            ('source.mkv', 'full.mkv', 'scale=out_range=full,format=yuv444p', *X264, '-qp', 0, '-color_range', 'pc')]:
        copy(folder / source, folder / path, filters, *options)
    ffmpeg('-f', 'lavfi', '-i', 'mandelbrot=s=160x96:r=25,format=yuv420p', '-t', 3, '-c:v', 'ffv1', folder / 'other.mkv')
    return folder


def rate(source, encode, which):
    return f'frame rate: source {source} fps, encode {encode} fps; frames of the {which} are dropped'


LATER, BEFORE = ': the encode begins later than the source', ': the encode begins before the source'
SAME = 'no offset: the encode begins with the source'
OFFSETS = [     # source, encode, options, what is said of it, how many frames; an SSIM of 1 tells that the pairs are right
    ('source.mkv', 'source.mkv', '', [SAME], 75),
    ('source.mkv', 'late.mkv', '', ['offset +7 frames (+0.280 s)' + LATER], 68),
    ('later.mkv', 'source.mkv', '', ['offset -13 frames (-0.520 s)' + BEFORE], 62),
    ('50.mkv', '25.mkv', '', ['offset +7 frames (+0.140 s)' + LATER, rate(50, 25, 'source')], 72),
    ('25.mkv', '50.mkv', '', ['offset -3.5 frames (-0.140 s)' + BEFORE, rate(25, 50, 'encode')], 72),
    ('50cut.mkv', '25all.mkv', '', ['offset -13 frames (-0.260 s)' + BEFORE, rate(50, 25, 'source')], 68),
    ('25all.mkv', '50cut.mkv', '', ['offset +6.5 frames (+0.260 s)' + LATER, rate(25, 50, 'encode')], 68),
    ('30.mkv', 'ntsc.mp4', '', ['offset +7 frames (+0.233 s)' + LATER, rate(30, 29.97, 'source')], 83),
    ('ntsc.mp4', '30.mkv', '', ['offset -7 frames (-0.233 s)' + BEFORE, rate(29.97, 30, 'encode')], 83),
    ('30cut.mkv', 'ntscall.mkv', '', ['offset -13 frames (-0.434 s)' + BEFORE, rate(30, 29.97, 'source')], 77),
    ('source.mkv', 'late.mkv', '--offset 7f --duration 1', ['offset +7 frames (+0.280 s), as given'], 25),
    ('source.mkv', 'late.mkv', '--offset 0.28', ['offset +7 frames (+0.280 s), as given'], 68),
]
UNALIKE = [     # the same, where the pictures are not the same
    ('source.mkv', 'half.mp4', '', ['offset +7 frames (+0.280 s)' + LATER,
                                    'size: source 160x96, encode 80x48; the encode is scaled'], 68),
    ('later.mkv', 'half2.mp4', '--encode-size', ['offset -13 frames (-0.520 s)' + BEFORE,
                                                 'size: source 160x96, encode 80x48; the source is scaled'], 62),
    ('source.mkv', 'late.mkv', '--offset 0', ['offset +0 frames (+0.000 s), as given', 'length: source 3.00 s, encode '
                                              '2.72 s; the encode ends 0.28 s before the source'], 68),
    ('source.mkv', 'late.mkv', '--search 0.2', ['WARNING: offset +5 frames (+0.200 s), the last one that was tried; '
                                                'look further with --search'], 68),
    ('source.mkv', 'full.mkv', '', [SAME, 'pixel format: source yuv420p, encode yuvj444p; compared as yuv420p',
                                    'range: source limited, encode full; the encode is converted'], 75),
]
UNKNOWN = ('WARNING: the offset cannot be known, too little moves in the first {} s; it is taken to be 0. '
           'Give it with --offset, or look further with --search')


@pytest.mark.parametrize('source, encode, options, notes, count', OFFSETS + UNALIKE + [
    ('still.mkv', 'still.mkv', '', [UNKNOWN.format('3.0')], 75), ('again.mkv', 'again.mkv', '', [UNKNOWN.format(3.2)], 80)])
def test_offsets(compare, films, source, encode, options, notes, count):
    code, said, _ = compare(films / source, films / encode, '-m', 'ssim,xpsnr', *options.split())
    assert (code, said) == (0, [f'{encode}: {note}' for note in [*notes, f'{count} frames compared']])
    if (source, encode, options, notes, count) in OFFSETS:
        assert set(column(encode, 'ssim.All')) == {1} and set(column(encode, 'xpsnr.xpsnr.y')) == {math.inf}
    elif encode == 'full.mkv':
        assert min(column(encode, 'ssim.Y')) > 0.99     # luma is the same but for rounding


def test_an_offset_for_each(compare, films):
    _, said, _ = compare(films / 'source.mkv', films / 'late.mkv', films / 'later.mkv', '-m', 'ssim',
                         '--offset', '0.28', '--offset', '13f')
    assert said == ['late.mkv: offset +7 frames (+0.280 s), as given', 'later.mkv: offset +13 frames (+0.520 s), as given',
                    'late.mkv: 68 frames compared', 'later.mkv: 62 frames compared']


@pytest.mark.parametrize('encode, options, message', [
    ('late.mkv', '--offset 25', 'no frame of its first 10 s and the source\'s lies at the same time with an offset of 25 s; '
     'look further with --search'),
    ('other.mkv', '', 'or a later or cropped part of it: no offset up to 10 s makes their pictures alike; look further with '
     '--search, or give the offset with --offset')])
def test_no_offset(compare, films, encode, options, message):
    code, said, _ = compare(films / 'source.mkv', films / encode, '-m', 'ssim', *options.split())
    assert code == 1 and said[0].endswith(message)


# ---- what is measured ----

@pytest.fixture(scope='module')
def encodes(tmp_path_factory):
    """Two encodes, and the frames that are to be compared as plain samples."""
    folder = tmp_path_factory.mktemp('encodes')
    video(folder / 'source.mkv')
    copy(folder / 'source.mkv', folder / 'a.mkv', 'trim=start_frame=7,setpts=PTS-STARTPTS', *X264, '-crf', 30)
    copy(folder / 'source.mkv', folder / 'b.mp4', 'scale=120:64', *X264, '-crf', 40, '-pix_fmt', 'yuv420p10')
    raw = '-fps_mode', 'passthrough', '-f', 'rawvideo'
    copy(folder / 'source.mkv', folder / 'a.source', 'trim=start_frame=7', *raw)
    copy(folder / 'a.mkv', folder / 'a.encode', 'null', *raw)
    copy(folder / 'source.mkv', folder / 'b.source', 'scale=flags=bicubic+accurate_rnd,format=yuv420p10', *raw)
    copy(folder / 'b.mp4', folder / 'b.encode', 'scale=160:96:flags=bicubic+accurate_rnd', *raw)
    return folder


def by_hand(first, second, pixels, graph):
    """What a filter writes and says of two files of samples."""
    size = ['-f', 'rawvideo', '-framerate', '25', '-s', '160x96', '-pix_fmt', pixels]
    said = ffmpeg('-nostats', *size, '-i', first, *size, '-i', second, '-lavfi', graph + ',metadata=print:file=values',
                  '-f', 'null', '-', log=True)
    return Path('values').read_text(), said


def printed(text, key):
    return [float(value) for value in re.findall(rf'^lavfi\.{re.escape(key)}=(.*)', text, re.M)]


def test_padded_lines(tmp_path):
    """Values of 10 bits do not depend on where lines are in memory: files of samples have no padding."""
    video(tmp_path / 'clip.mkv', source='testsrc2=s=152x96:r=25')
    for name, change in ('a', 'null'), ('b', 'noise=alls=20'):
        copy(tmp_path / 'clip.mkv', tmp_path / name, change + ',format=yuv420p10', '-f', 'rawvideo')
    files = [part for name in 'ab' for part in ('-f', 'rawvideo', '-s', '152x96', '-pix_fmt', 'yuv420p10', '-i', tmp_path / name)]
    said = [re.findall(r'XPSNR.*', ffmpeg(*files, '-lavfi', graph, '-f', 'null', '-', log=True))[-1]
            for graph in ('[0][1]xpsnr', '[0]copy[a];[1]copy[b];[a][b]xpsnr')]
    assert said[0] == said[1]


def test_values(compare, encodes):
    """They are those of the same frames in plain files of samples; JSON has what CSV has, and the table its numbers."""
    code, _, table = compare(encodes / 'source.mkv', encodes / 'a.mkv', encodes / 'b.mp4', '-m', 'ssim,psnr,xpsnr,bliinds,mad',
                             '--quality-metrics')
    assert code == 0
    for name, pixels in ('a.mkv', 'yuv420p'), ('b.mp4', 'yuv420p10le'):
        source, encode = (encodes / (name[0] + end) for end in ('.source', '.encode'))
        for graph, files, keys in [('psnr', (encode, source), ['psnr.psnr_avg', 'psnr.mse.y']),
                                   ('ssim', (encode, source), ['ssim.All', 'ssim.U']),
                                   ('xpsnr', (source, encode), ['xpsnr.xpsnr.y', 'xpsnr.xpsnr.v']),
                                   ('mad', (encode, source), ['mad.score'])]:
            values, said = by_hand(*files, pixels, graph)
            for key in keys:
                assert column(name, key) == printed(values, key) != []
            said = re.findall(rf'^\[Parsed_{graph}\S* @ \w+\] (.*\S) *$', said, re.M)
            assert graph == 'mad' or f'{name}: {said[-1]}' in table.splitlines()
        # as it is, with the bitstream
        text = ffmpeg('-bsf:v', 'quantizer_metadata', '-i', encodes / name, '-vf', 'bliinds,metadata=print:file=-', '-f', 'null', '-')
        assert column(name, 'bliinds.score') == printed(text.decode(), 'bliinds.score')
        log = json.loads(Path(f'out/{name}.json').read_text())
        assert [(frame['frameNum'], frame['pts_time'], frame['metrics']['psnr.psnr_avg']) for frame in log['frames']] == \
               [(int(row['Frame']), float(row['pts_time']), float(row['psnr.psnr_avg'])) for row in rows(name)]
        pool = log['pooled_metrics']['ssim.All']
        assert log['offset'] == pytest.approx(0.28 if name == 'a.mkv' else 0)
        line = next(line for line in table.splitlines() if f' {name} ' in line).split()
        assert line[-4:-1] == [f'{pool[key]:.4f}' for key in ('mean', 'p5', 'min')]
        # in the shape of ffmpeg-quality-metrics, which the tools read, too
        other = json.loads(Path(f'out/{name}.metrics.json').read_text())
        assert list(other) == ['ssim', 'psnr', 'xpsnr', 'mad', 'bliinds', 'global', 'input_file_dist', 'input_file_ref']
        assert other['ssim'][0].keys() >= {'n', 'ssim_y', 'ssim_u', 'ssim_v', 'ssim_avg'} and 'basis' not in other['bliinds'][0]
        assert other['global']['ssim']['ssim_avg']['average'] == pytest.approx(pool['mean'])
        assert other['global']['ssim']['ssim_avg']['stdev'] == pytest.approx(statistics.pstdev(column(name, 'ssim.All')))
        frames = list(quality_logs.Log(f'out/{name}.metrics.json'))
        assert [frame.number for frame in frames] == [int(row['Frame']) for row in rows(name)]
        for field, there in ('psnr.psnr_avg', 'psnr_avg'), ('psnr.mse.y', 'mse_y'), ('ssim.V', 'ssim_v'), ('bliinds.score', 'score'):
            assert [frame.fields[there] for frame in frames] == column(name, field)
    assert [line.split()[:6] for line in table.splitlines() if line.startswith('SSIM (0')] == \
           ['SSIM (0..1, higher is better) a.mkv'.split()]


@has('libvmaf')
@pytest.mark.parametrize('scale', [1, 2])
def test_vmaf(compare, encodes, scale):
    """By the filter's own model, and by version 1, which is that of larger pictures."""
    for end in 'source', 'encode':
        ffmpeg('-f', 'rawvideo', '-framerate', 25, '-s', '160x96', '-i', encodes / f'a.{end}', '-vf',
               f'scale={160 * scale}:{96 * scale}', '-c:v', 'ffv1', '-y', end + '.mkv')
    compare('source.mkv', 'encode.mkv', '-m', 'vmaf')
    graph = 'libvmaf=log_path=log:log_fmt=json'
    if scale == 2:
        graph = ('[0:v]format=yuv420p10[a];[1:v]format=yuv420p10[b];[a][b]libvmaf=model=version=vmaf_v1.0.16_3d0h'
                 '\\\\:cambi.enc_bitdepth=8:log_path=log:log_fmt=json')
    ffmpeg('-i', 'encode.mkv', '-i', 'source.mkv', '-lavfi', graph, '-f', 'null', '-', check=scale == 1)
    if not os.path.exists('log'):
        pytest.skip('no VMAF v1 in this FFmpeg')
    frames = json.loads(Path('log').read_text())['frames']
    assert column('encode.mkv', 'vmaf') == pytest.approx([frame['metrics']['vmaf'] for frame in frames], abs=1e-6)


def test_equal_files(compare):
    """What is infinite has no curve."""
    video('source.mkv')
    compare('source.mkv', 'source.mkv', '-m', 'ssim,psnr,xpsnr,mad')
    for key, value in ('ssim.All', 1), ('psnr.psnr_avg', math.inf), ('xpsnr.xpsnr.y', math.inf), ('mad.score', 0):
        assert set(column('source.mkv', key)) == {value}
    metrics = json.loads(Path('out/source.mkv.json').read_text())['frames'][74]['metrics']
    assert (metrics['psnr.psnr_avg'], metrics['ssim.All']) == ('inf', 1)
    page = Page('out/report.html').check()
    assert 'SSIM (All): 0..1, higher is better' not in page.text and 'SSIM (0..1, higher is better)' in page.text
    assert page.notes == [f"'out/source.mkv.json': none of its 75 frames has a valid number of {name}"
                          for name in ('psnr.psnr_avg', 'xpsnr.xpsnr.y')]


# ---- the page ----

def test_page(compare):
    """It has all metrics, and its pictures are those of the frames it names, beside the source's."""
    video('source.mkv')
    copy('source.mkv', 'a.mkv', 'trim=start_frame=7,setpts=PTS-STARTPTS', *X264, '-crf', 30)
    copy('source.mkv', 'b.mp4', r'drawbox=c=red:t=fill:enable=eq(n\,30)', *X264, '-crf', 30)
    code, said, _ = compare('source.mkv', 'a.mkv', 'b.mp4', '-m', 'ssim,psnr,bliinds')
    assert (code, said) == (0, ['a.mkv: offset +7 frames (+0.280 s): the encode begins later than the source',
                                'b.mp4: no offset: the encode begins with the source',
                                'a.mkv: 68 frames compared', 'b.mp4: 75 frames compared'])
    page = Page('out/report.html').check()
    assert [row[0] for row in page.rows[1:10]] == ['SSIM (0..1, higher is better)', 'a.mkv', 'b.mp4',
                                                   'PSNR, dB (0 and up, higher is better)', 'a.mkv', 'b.mp4',
                                                   'estimated VMAF loss (0..100, lower is better)', 'a.mkv', 'b.mp4']
    # the frame that is red lies at the source's time, and no other is
    cards = [card for card in page.cards if card[-1] == 'frame 30' and card[2] == '0:00:01.200']
    assert len(cards) == 1 and cards[0][0] == '1'
    colours = [ffmpeg_picture(picture) for picture in page.pictures()]
    assert len(colours) == 2 * len(page.cards) and len(page.cards) == 6
    assert [red > 200 and green < 60 for red, green, _ in colours].count(True) == 1
    # the same of its CSV, by hand
    done = tool('quality-report', 'out/b.mp4.csv', '-m', 'ssim.All', '-m', 'psnr.psnr_avg', '-o', 'page.html')
    assert not done.returncode and len(Page('page.html').check().data['time']['charts']) == 2


def ffmpeg_picture(data):
    """The mean colour of a JPEG."""
    Path('picture.jpg').write_bytes(data)
    return ffmpeg('-i', 'picture.jpg', '-vf', 'scale=1:1:flags=area,format=rgb24', '-f', 'rawvideo', '-')


# ---- names and errors ----

def test_names(compare, monkeypatch):
    """Whatever they have in them."""
    odd = 'a \'b",c:d;e[f]%d\\g=é\nh.mkv'
    os.makedirs("a:b'c")
    video('source.mkv')
    for path in ":s'rc,.mkv", odd, "a:b'c/" + odd:
        os.link('source.mkv', path)
    monkeypatch.setenv('TMPDIR', os.path.abspath("a:b'c"))
    output = "o:'[,;] é"
    for dashes in [], ['--']:
        code, said, table = compare('-m', 'ssim,xpsnr', *dashes, ":s'rc,.mkv", odd, "a:b'c/" + odd, '-x' if dashes else './-x',
                                    output=output)
        assert code == (0 if dashes else 1)
        os.path.exists('-x') or os.link('source.mkv', '-x')
    shown = odd.replace('\n', '?')
    assert said == [f'{name}: {note}' for note in (SAME, '75 frames compared') for name in (shown, shown, '-x')]
    assert table.count(f'{shown}  1.0000') == 2
    assert sorted(os.listdir(output)) == sorted([
        '-x.csv', '-x.json', odd + '.csv', odd + '.json', odd + '-2.csv', odd + '-2.json', 'report.html'])
    assert os.listdir("a:b'c") == [odd]


@pytest.fixture
def small(compare):
    video('source.mkv')
    copy('source.mkv', 'a.mkv', 'null', *X264, '-crf', 20)
    return compare


@pytest.mark.parametrize('source, encode, message', [
    ('none.mkv', 'a.mkv', "'none.mkv' is no file"), ('source.mkv', 'none.mkv', "'none.mkv' is no file"),
    ('source.mkv', 'sound.mkv', "'sound.mkv' has no video"), ('source.mkv', '.', "'.' is no file"),
    ('text.mp4', 'a.mkv', "'text.mp4' cannot be read: moov atom not found; file:text.mp4: Invalid data found when processing input"),
    ('source.mkv', 'empty.mkv', "'empty.mkv' cannot be read: EBML header parsing failed; file:empty.mkv: Invalid data found "
     'when processing input'),
    ('both.ts', 'both.ts', "'both.ts', or its source, changes its size or format on the way: compare the parts")])
def test_bad_files(small, source, encode, message):
    ffmpeg('-f', 'lavfi', '-i', 'sine=d=1', '-c:a', 'pcm_s16le', 'sound.mkv')
    Path('text.mp4').write_text('text\n')
    Path('empty.mkv').touch()
    for name, filters in ('small', 'scale=80:48'), ('large', 'null'):
        copy('source.mkv', name + '.ts', filters, *X264)
    Path('both.ts').write_bytes(Path('large.ts').read_bytes() + Path('small.ts').read_bytes())
    code, said, _ = small(source, encode, '-m', 'ssim')
    assert (code, said[-1]) == (1, 'quality-compare: ' + message)


def test_cut_off(small):
    """What is there is compared, and it is an error."""
    data = Path('a.mkv').read_bytes()
    Path('cut.mkv').write_bytes(data[:len(data) * 6 // 10])
    code, said, _ = small('source.mkv', 'cut.mkv', '-m', 'ssim')
    assert code == 1 and said[0] == 'cut.mkv: ' + SAME
    assert re.fullmatch('cut.mkv: [0-9]+ frames compared', said[1])
    assert said[2].startswith('cut.mkv: DAMAGED, or its source is: File ended prematurely')
    assert os.path.exists('out/cut.mkv.csv') and os.path.exists('out/report.html')


@pytest.mark.parametrize('options, code, message', [
    ('-m foo', 2, 'foo is no metric: these are vmaf, detailloss, ssim, psnr, xpsnr, mad, bliinds'),
    ('-m ,', 2, 'nothing is no metric: these are vmaf, detailloss, ssim, psnr, xpsnr, mad, bliinds'),
    ('--offset x', 2, "'x' is no time such as 0.28 or -1.5s, and no frames such as 7f"),
    ('--offset 1 --offset 2', 2, '2 offsets for 1 encodes'), ('--search 0', 2, "'0' is too short"),
    ('--duration nan', 2, "'nan' is no duration such as 2s, 500ms or 1m"),
    ('-o source.mkv', 1, "'source.mkv' cannot be the folder of the results: File exists"),
    ('--ffmpeg ./none', 1, "none' cannot be run; name an ffmpeg with --ffmpeg")])
def test_options(small, options, code, message):
    got, said, _ = small('source.mkv', 'a.mkv', *options.split())
    assert got == code and said[-1].endswith(message)


def stand_in(pattern, command):
    """An ffmpeg that does something else in one place."""
    path = script(Path('bin/ffmpeg').absolute(), f'case "$*" in\n{pattern}) {command} ;;\n*) exec {FFMPEG} "$@" ;;\nesac\n')
    path.with_name('ffprobe').symlink_to(Path(FFMPEG).with_name('ffprobe'))
    return path


def test_what_it_lacks(small):
    few = stand_in('*-filters*', f"{FFMPEG} \"$@\" | grep -v ' xpsnr \\| bliinds'")
    skipped = [f'SKIPPED {name}: this ffmpeg has no {name}' for name in ('xpsnr', 'bliinds')]
    assert small('source.mkv', 'a.mkv', '-m', 'ssim,xpsnr,bliinds', program=few)[:2] == (
        0, [*skipped, 'a.mkv: ' + SAME, 'a.mkv: 75 frames compared'])
    assert small('source.mkv', 'a.mkv', '-m', 'xpsnr,bliinds', program=few)[:2] == (
        1, [*skipped, 'quality-compare: nothing is left to measure'])


def test_setpts_of_ffmpeg_7(compare, films):
    """There it forgets the frame rate, so none may stand between the encode and xpsnr."""
    old = stand_in('*filter=setpts*) exit 0 ;;\n*[[]0:V:0]*setpts*[[]1:V:0]*', 'exit 8')
    ffmpeg('-i', films / 'half2.mp4', '-c', 'copy', '-output_ts_offset', 3, 'late.ts')
    for source, encode in (films / 'later.mkv', films / 'source.mkv'), (films / 'source.mkv', 'late.ts'):
        values = []
        for program in FFMPEG, old:
            assert compare(source, encode, '-m', 'ssim,xpsnr', program=program)[0] == 0
            values.append([column(Path(encode).name, field) for field in ('ssim.All', 'xpsnr.xpsnr.y', 'pts_time')])
        assert values[0] == values[1] != []


def test_ffmpeg_fails(small):
    bad = stand_in('*-filter_complex*', 'echo "[fatal] it failed" >&2; exit 3')
    assert small('source.mkv', 'a.mkv', '-m', 'ssim', program=bad)[:2] == (
        1, ['a.mkv: ' + SAME, "quality-compare: 'a.mkv': ffmpeg failed: it failed"])


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_interrupted(small, number):
    """It leaves what was there, and nothing else."""
    slow = stand_in('*-filter_complex*', 'echo $$ > slow.pid; exec sleep 100')
    os.mkdir('out')
    Path('out/a.mkv.json').write_text('old')
    process = subprocess.Popen([sys.executable, TOOLS['quality-compare'], '--no-gpu', '--ffmpeg', slow, '-o', 'out',
                                'source.mkv', 'a.mkv', '-m', 'ssim'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    wait_for(lambda: os.path.exists('slow.pid') and Path('slow.pid').read_text())
    process.send_signal(number)
    assert process.wait(timeout=60) == 130
    assert os.listdir('out') == ['a.mkv.json'] and Path('out/a.mkv.json').read_text() == 'old'
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path('slow.pid').read_text()), 0)
