"""Runs the commands of doc/recipes.md on clips whose right values are known by their construction.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import csv
import json
import re
import subprocess

import pytest
from common import ROOT, Page, ffmpeg, video

from test_docs import commands, fixture_folder, live, run      # pylint: disable=unused-import

X264 = '-c:v libx264 -preset ultrafast'


@pytest.fixture(name='recipe')
def fixture_recipe(folder, monkeypatch):
    """Return a function that runs the commands of a section, each of which has to end with one of the codes, and returns what they
    print."""
    monkeypatch.setenv('FFCRF_CACHE', str(folder / 'cache'))
    sections = re.split('^## ', (ROOT / 'doc/recipes.md').read_text(), flags=re.M)

    def recipe(title, *codes):
        section, = (text for text in sections if text.startswith(title + '\n'))
        # the search with HLG is not run: swscale needs 3 s for its tables in each process
        found = [command for command in commands(section) if '\n' in command and not command.startswith('ffcrf -i phone')]
        assert len(found) == len(codes)
        printed = []
        for command, code in zip(found, codes):
            done = run(command, folder)
            assert done.returncode == code, (command, done.stdout, done.stderr)
            printed.append(done.stdout + done.stderr)
        return printed
    return recipe


def rows(path, key):
    """The rows of a CSV file, by the base name in a column."""
    with open(path, encoding='utf-8') as file:
        return {row[key].rpartition('/')[2]: row for row in csv.DictReader(file)}


def test_ladder(folder, recipe):
    """The lossless rung is the best one, in each segment as well, and all facts are those of the files."""
    pytest.importorskip('jinja2', reason='no python3-jinja2')
    video(folder / 'source.mp4', '-c:v libx264 -preset ultrafast -qp 0', 5, source='testsrc2=s=320x240:r=25')
    for name, options in {'1080': '-qp 0', '720': '-vf scale=240:180 -crf 20 -force_key_frames expr:eq(n,100)',
                          '480': '-vf scale=160:120 -crf 25', '360': '-vf scale=120:90 -crf 30'}.items():
        ffmpeg('-i', folder / 'source.mp4', *X264.split(), *options.split(), folder / f'{name}.mp4')
    recipe('Compare the rungs of a ladder', 0, 0, 0, 0)
    ladder = rows(folder / 'ladder.csv', 'encode')
    scores = [float(ladder[f'{name}.mp4']['vmaf_mean']) for name in (1080, 720, 480, 360)]
    losses = [float(ladder[f'{name}.mp4']['bliinds_mean']) for name in (720, 480, 360)]
    assert scores == sorted(scores, reverse=True) and losses == sorted(losses) and scores[0] > 95
    assert [row['size'] for row in ladder.values()] == ['320x240', '240x180', '160x120', '120x90']
    for name, row in ladder.items():
        path = folder / name
        packets = json.loads(subprocess.run(
            [folder / 'bin/ffprobe', '-v', 'error', '-of', 'json', '-show_entries', 'packet=size', path],
            capture_output=True, check=True).stdout)['packets']
        bits = 8 * sum(int(packet['size']) for packet in packets)
        assert int(row['bytes']) == path.stat().st_size and row['frames'] == '125' and float(row['fps']) == 25
        assert float(row['kb/s']) == pytest.approx(bits / 5 / 1000, rel=1e-6)
    parts = rows(folder / 'parts.csv', 'encode')
    assert [row['frames'] for row in parts.values()] == ['100', '25']
    offsets = [json.loads((folder / f'compare/part0{n}.ts.json').read_text())['offset'] for n in (0, 1)]
    assert offsets == [0, 4]
    mean = sum(float(row['vmaf_mean']) * int(row['frames']) for row in parts.values()) / 125
    assert mean == pytest.approx(scores[1], abs=0.5)
    Page(folder / 'ladder.html').check()


def test_archive(folder, recipe):
    """Broken files come first, then those without a score, and the others by their quality."""
    (folder / 'archive').mkdir()
    clip = 'testsrc2=s=320x240:r=25'
    video(folder / 'archive/good.mp4', f'{X264} -crf 12', 1, source=clip)
    video(folder / 'archive/coarse.mp4', f'{X264} -crf 45', 1, source=clip)
    video(folder / 'archive/interlaced.mp4', '-c:v libx264 -preset fast -crf 25 -flags +ilme+ildct -x264-params tff=1', 1, source=clip)
    video(folder / 'archive/tape.mov', '-c:v prores_ks', 0.2, source=clip)
    (folder / 'archive/broken.avi').write_bytes(b'no video')
    whole = (folder / 'archive/good.mp4').read_bytes()
    ffmpeg('-i', folder / 'archive/good.mp4', '-c', 'copy', '-movflags', 'faststart', folder / 'cut.mp4')
    (folder / 'archive/cut.mp4').write_bytes((folder / 'cut.mp4').read_bytes()[:len(whole) // 2])
    table, _ = recipe('Find the bad files of an archive', 2, 0)
    order = re.findall(r'archive/(\w+)\.\w+$', table, re.M)
    assert order[:6] == ['broken', 'tape', 'cut', 'coarse', 'interlaced', 'good']
    found = rows(folder / 'results/summary.csv', 'file')
    assert {name: (row['state'], row['codec'], row['interlaced'], row['HDR']) for name, row in found.items()} == {
        'good.mp4': ('ok', 'h264', 'no', 'no'), 'coarse.mp4': ('ok', 'h264', 'no', 'no'),
        'interlaced.mp4': ('ok', 'h264', 'yes', 'no'), 'tape.mov': ('no score (prores)', 'prores', 'no', 'no'),
        'cut.mp4': ('damaged', 'h264', 'no', 'no'), 'broken.avi': ('failed', '', '', '')}
    assert rows(folder / 'interlaced/summary.csv', 'file')['interlaced.mp4']['frames'] == '50'      # one per field


def test_season(folder, recipe):
    """The encodes reach the target in 95 % of their frames, and keep all streams."""
    (folder / 'season').mkdir()
    for n in 1, 2:
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=s=320x24{n}:r=25:d=0.4,scale=320:240,format=yuv420p', '-f', 'lavfi', '-i', 'sine=d=0.4',
               *X264.split(), '-qp', '4', '-c:a', 'aac', folder / f'season/e{n}.mkv')
    printed = recipe('Encode a season', 0, 0)
    assert len(re.findall(r'encodes/e[12]\.mkv: vmaf p5 9[34]\.\d+, mean 9\d\.\d+ \(target 93\) over 10 of 10 frames', printed[0])) == 2
    for n in 1, 2:
        streams = subprocess.run([folder / 'bin/ffprobe', '-v', 'error', '-show_entries', 'stream=codec_name', '-of', 'csv=p=0',
                                  folder / f'encodes/e{n}.mkv'], capture_output=True, text=True, check=True).stdout.split()
        assert streams == ['h264', 'aac']
    again, _ = recipe('Encode a season', 0, 0)
    assert len(re.findall('is finished: vmaf p5', again)) == 2


def test_phone(folder, recipe):
    """A lossless SDR version of rotated HLG of a variable frame rate equals its source."""
    hlg = 'setparams=color_primaries=bt2020:color_trc=arib-std-b67:colorspace=bt2020nc'
    video(folder / 'flat.mov', '-c:v libx265 -preset ultrafast -crf 10 -x265-params log-level=error -fps_mode passthrough -enc_time_base filter', 0.6,
          f"select=mod(n\\,4),scale=320:240,format=yuv420p10,{hlg}", 'testsrc2=s=320x240:r=30')
    ffmpeg('-display_rotation', '90', '-i', folder / 'flat.mov', '-c', 'copy', folder / 'phone.mov')
    recipe('Convert phone video', 0, 0)
    best = json.loads((folder / 'compare/sdr.mp4.json').read_text())
    assert best['offset'] == 0 and best['pooled_metrics']['vmaf.score']['mean'] > 90
    size = subprocess.run([folder / 'bin/ffprobe', '-v', 'error', '-show_entries', 'stream=width,height,avg_frame_rate', '-of', 'csv=p=0',
                           folder / 'sdr.mp4'], capture_output=True, text=True, check=True).stdout.strip()
    assert size == '240,320,25/1'
    # without the filters, HDR against SDR is an error
    assert run('quality-compare phone.mov sdr.mp4 -m vmaf', folder).returncode == 2


def test_channel(folder):
    """A feed of good, black, frozen and coarse parts raises an alarm of each kind at its time."""
    text = (ROOT / 'doc/recipes.md').read_text()
    command, = (command for command in commands(text) if '--frozen' in command)
    assert 'udp://@:5000' in command
    clip = 'testsrc2=s=320x240:r=25'
    for n, (filters, crf) in enumerate([('null', 18), ('drawbox=t=fill:c=black', 18), ('trim=end_frame=1,loop=99:1', 18), ('noise=alls=30:allf=t', 51)]):
        video(folder / f'{n}.ts', f'{X264} -crf {crf} -g 25', 4, filters, clip)
    (folder / 'feed.ts').write_bytes(b''.join((folder / f'{n}.ts').read_bytes() for n in range(4)))
    command = command.replace(' --listen 9100', '')     # another test may have the port
    output = live(command, folder / 'feed.ts')
    assert re.search(r'invalid_start:4\.\d+ invalid_raised:6', output), output
    assert re.search(r'frozen_start:8\.\d+ frozen_raised:10', output), output
    assert re.search(r'alarm_start:12\.\d+ alarm_raised:14', output), output


def test_pictures(folder, recipe):
    """Each pair has its own row; an identical pair is the best one."""
    pytest.importorskip('numpy', reason='no python3-numpy')
    for n, noise in (1, 0), (2, 10), (3, 40):
        ffmpeg('-f', 'lavfi', '-i', f'testsrc2=s=320x240:r=1:d=9,trim=start_frame={2 * n},format=rgb24', '-frames:v', '1', folder / f'source00{n}.png')
        ffmpeg('-i', folder / f'source00{n}.png', '-vf', f'noise=alls={noise}:all_seed=1', folder / f'encode00{n}.png')
    (folder / 'pairs.csv').write_text('source,encode\n' + ''.join(f'source00{n}.png,encode00{n}.png\n' for n in (1, 2, 3)))
    recipe('Score a set of pictures', 0, 0, 0)
    found = rows(folder / 'scores.csv', 'encode')
    assert [row['source'].rpartition('/')[2] for row in found.values()] == [f'source00{n}.png' for n in (1, 2, 3)]
    ssim, vmaf, mad = ([float(row[f'{name}_mean']) for row in found.values()] for name in ('ssim', 'vmaf', 'mad'))
    assert ssim[0] == 1 and mad[0] == 0 and ssim == sorted(ssim, reverse=True) and mad == sorted(mad)
    assert vmaf == sorted(vmaf, reverse=True)
    # the sequence has the same scores as the pairs
    lines = (folder / 'scores.log').read_text().splitlines()
    logged = [float(re.search(r' score:(\S+)', line)[1]) for line in lines if ' score:' in line]
    assert logged == pytest.approx(vmaf, abs=1e-5)
    assert ' score:0.000000' in (folder / 'mad.log').read_text()
