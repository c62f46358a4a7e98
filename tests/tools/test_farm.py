"""quality-farm: the logs of files that were scored in parts are those of one ffmpeg, to the last digit.

FFMPEG names the ffmpeg of the build, with ffprobe beside it.
SPDX-License-Identifier: LGPL-2.1-or-later
"""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from common import FFMPEG, ROOT, TOOLS, examples, ffmpeg, has, needs, script, video, wait_for
import parts

REAL = 'exec "$real" "$@"\n'
pytestmark = needs('parallel')


class Place:
    """A folder with videos, and with an ffmpeg that can be told to behave badly."""

    def __init__(self, folder):
        self.path = folder
        self.program('ffmpeg', REAL)
        (folder / 'bin/ffprobe').symlink_to(Path(FFMPEG).parent / 'ffprobe')
        # the machine's own devices are for other tests
        self.environment = {**os.environ, 'CUDA_VISIBLE_DEVICES': ''}
        self.err = ''

    def program(self, name, body):
        script(self.path / 'bin' / name, f"real='{FFMPEG}'; tmp='{self.path}'\n{body}")

    def video(self, name, options='-c:v mjpeg', seconds=9, filters='null'):
        return video(self.path / name, options, seconds, filters, 'testsrc2=s=96x64:r=25')

    def start(self, *words, **more):
        more = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE} | more
        return subprocess.Popen([sys.executable, TOOLS['quality-farm'], '--ffmpeg', self.path / 'bin/ffmpeg', '-o', 'results', *words],
                                cwd=self.path, env=self.environment, stdin=subprocess.DEVNULL, text=True, errors='replace', **more)

    def run(self, *words):
        """Its exit code. What it says is in err."""
        process = self.start(*words)
        self.out, self.err = process.communicate(timeout=500)
        assert 'Traceback' not in self.err, self.err
        return process.returncode

    def rows(self):
        with open(self.path / 'results/summary.csv', newline='', errors='surrogateescape', encoding='utf-8') as file:
            return {os.path.basename(row['file']): row for row in csv.DictReader(file)}

    def count(self, pattern):
        return len(list((self.path / 'results').rglob(pattern)))

    def calls(self, forget=True):
        path = self.path / 'calls'
        lines = path.read_text().splitlines() if path.exists() else []
        if forget:
            path.unlink(missing_ok=True)
        return lines

    def same(self, name, *before, options='', log=None):
        """The logs of a file are those of one ffmpeg with the filter."""
        split = {'av1': 'av1_frame_split,', 'vp9': 'vp9_superframe_split,'}.get(name.split('.')[1], '')
        before = before or ('-bsf:V:0', split + 'quantizer_metadata')
        ffmpeg('-threads', 1, *before, '-i', f'file:{self.path / name}', '-an', '-vf',
               f'bliinds={options}log_path={self.path}/whole.json:stats_file={self.path}/whole.log', '-f', 'null', '-')
        self.compare(log or os.path.basename(name))

    def compare(self, name):
        results = self.path / 'results'
        assert (self.path / 'whole.log').read_text() == (results / (name + '.log')).read_text()
        if (self.path / 'whole.json').exists():
            whole, split = (re.sub(r'"fps".*', '', path.read_text()) for path in (self.path / 'whole.json', results / (name + '.json')))
            assert whole == split


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


# ---- files that can be split, and those that cannot ----

MPEG2, MPEG4 = '-c:v mpeg2video -qscale 4 -g 15', '-c:v mpeg4 -qscale 4 -g 20'
FILES = {
    'open.ts': (MPEG2 + ' -bf 2', 4), 'open.vob': (MPEG2 + ' -bf 2', 4),
    'late.ts': (MPEG2 + ' -bf 2 -output_ts_offset 100', 4), 'fields.mkv': (MPEG2 + ' -flags +ilme+ildct', 4),
    'b.avi': (MPEG4 + ' -bf 2', 1), 'p.avi': (MPEG4, 4), 'i.avi': ('-c:v mjpeg', 4),
    'ten.mkv': ('-pix_fmt yuv422p10le -c:v ffv1 -g 1', 4), 'later.mkv': (MPEG4 + ' -output_ts_offset 7.7', 4),
}


def check_split(place, expected, code=0):
    """expected: name -> parts, and what the message has to begin with."""
    assert place.run('--segment', '2s', '--filter', 'bliinds', *sorted(expected)) == code, place.err
    rows = place.rows()
    for name, (number, message) in expected.items():
        assert int(rows[name]['parts']) == number, (name, rows[name])
        assert re.match(message or '$', rows[name]['message']), (name, rows[name])
        place.same(name)


def test_split(place):
    expected = {name: (number, '' if number > 1 else 'not split: no key frame with a timestamp to cut at')
                for name, (_, number) in FILES.items()}
    for name, (options, _) in FILES.items():
        place.video(name, options)
    place.video('vfr.mkv', '-fps_mode vfr ' + MPEG4, filters='select=not(eq(mod(n\\,7)\\,3))*not(between(n\\,100\\,130))')
    # cut anywhere, damaged, and with a clock that jumps
    data, late = ((place.path / name).read_bytes() for name in ('open.ts', 'late.ts'))
    (place.path / 'tail.ts').write_bytes(data[40000:])
    (place.path / 'damaged.ts').write_bytes(data[:100000] + bytes(3000) + data[103000:])
    (place.path / 'jump.ts').write_bytes(data + late)
    errors = r'[0-9]+ errors?: '
    check_split(place, expected | {'vfr.mkv': (4, ''), 'tail.ts': (4, errors), 'damaged.ts': (4, errors),
                                   'jump.ts': (1, errors + '.*; not split: part 5: the timestamps jump')}, code=1)


X264 = '-c:v libx264 -preset veryfast -threads 1 -bf 3 '
OPEN = X264 + '-x264-params open-gop=1:keyint=30:min-keyint=30:scenecut=0'


@has('libx264')
def test_h264(place):
    for name, options in {'closed.mp4': X264 + '-g 25', 'open.mp4': OPEN, 'open.mkv': OPEN, 'open.ts': OPEN,
                          'refresh.ts': X264 + '-x264-params keyint=25:intra-refresh=1', 'no-times.avi': X264 + '-g 25'}.items():
        place.video(name, options)
    closed = ['-i', place.path / 'closed.mp4']
    sound = ['-f', 'lavfi', '-i', 'sine=d=9.3', '-map', '0:v', '-map', '1:a', '-c:v', 'copy', '-c:a']
    ffmpeg('-ss', 1.3, *closed, '-c', 'copy', place.path / 'edited.mp4')
    ffmpeg(*closed, *sound, 'pcm_s16le', '-output_ts_offset', 5, place.path / 'audio.mkv')
    ffmpeg('-itsoffset', 0.73, *closed, *sound, 'mp2', place.path / 'late.ts')
    check_split(place, {name: (4, '') for name in ('closed.mp4', 'open.mp4', 'open.mkv', 'open.ts', 'edited.mp4', 'audio.mkv', 'late.ts')}
                | {'refresh.ts': (1, 'not split: the first frame of part 2 is not in part 1, or not the same there'),
                   'no-times.avi': (1, 'not split: no key frame with a timestamp')})


@pytest.mark.parametrize('names, options', [
    pytest.param(['ten.mp4', 'ten.mkv', 'ten.ts'], '-pix_fmt yuv420p10le -c:v libx265 -preset ultrafast -x265-params '
                 'log-level=error:keyint=25:open-gop=1:bframes=3', marks=has('libx265')),
    # packets of several frames, which are split before they are read
    pytest.param(['clip.av1.mkv', 'clip.av1.mp4'], '-c:v libsvtav1 -preset 8 -g 25 -svtav1-params lp=1', marks=has('libsvtav1', 'libdav1d')),
    pytest.param(['clip.vp9.mkv', 'clip.vp9.mp4'], '-c:v libvpx-vp9 -g 25 -auto-alt-ref 1 -lag-in-frames 16 -cpu-used 8 -threads 1',
                 marks=has('libvpx-vp9'))])
def test_codecs(place, names, options):
    place.video(names[0], options)
    for name in names[1:]:
        ffmpeg('-i', place.path / names[0], '-c', 'copy', place.path / name)
    check_split(place, {name: (4, '') for name in names})
    assert all(row['bitstream'] == row['frames'] == '225' for row in place.rows().values())


def test_options(place):
    place.video('i.avi')
    place.video('p.avi', MPEG4)
    assert place.run('--segment', '2s', '--filter', 'bliinds=n_subsample=3', 'i.avi', 'p.avi') == 0
    assert place.rows()['i.avi']['message'] == 'not split: n_subsample looks at the whole'
    model = place.path / 'model'
    shutil.copy(next((ROOT / 'libavfilter').rglob('models/*.txt'), None) or next((ROOT / 'models').rglob('*.txt')), model)
    options = f'features=1:range=full:model={model}:'
    assert place.run('--segment', '2s', '--filter', 'bliinds=' + options[:-1], 'i.avi') == 0
    assert place.rows()['i.avi']['parts'] == '4'
    place.same('i.avi', options=options)


# ---- against a source ----

@pytest.mark.parametrize('name', ['detailloss', 'mad', 'ssim'])
def test_reference(place, name):
    place.video('source.ts', MPEG2 + ' -bf 2 -output_ts_offset 7')
    (place.path / 'sources').mkdir()
    (place.path / 'sources/b.ts').symlink_to('../source.ts')
    place.video('a.mkv', '-c:v mpeg4 -qscale 12 -g 20')
    place.video('b.avi', '-c:v mjpeg -qscale 20')
    place.video('short.mkv', MPEG4, seconds=6)
    for reference, files in ('source.ts', ['a.mkv', 'short.mkv']), ('sources', ['b.avi']):
        assert place.run('--segment', '2s', '--filter', name, '--reference', reference, *files) == 0, place.err
        for file in files:
            row = place.rows()[file]
            assert row['parts'] == ('3' if file == 'short.mkv' else '4') and row['status'] == 'ok' and not row['message'], row
            output = f'stats_file={place.path}/whole.log' + (f':log_path={place.path}/whole.json' if name != 'ssim' else '')
            graph = ''.join(f'[{i}:v]settb=1/25,setpts=N[{i}];' for i in range(2))
            ffmpeg('-i', place.path / file, '-i', place.path / 'source.ts', '-filter_complex', f'{graph}[0][1]{name}={output}',
                   '-f', 'null', '-')
            place.compare(file)
    pool = json.loads((place.path / 'results/a.mkv.json').read_text())['pooled_metrics']
    assert f"{float(row['mean']):.2f}" != '0.00' and pool
    assert place.run('--filter', name, '--reference', 'sources', 'a.mkv') == 1
    assert 'no reference' in place.rows()['a.mkv']['message']
    assert place.run('--filter', name, 'a.mkv') == 2


def test_forms(place):
    """CSV and XML of a video in parts are the filter's own."""
    place.video('i.avi')
    for form in 'csv', 'xml':
        assert place.run('--segment', '2s', '--filter', 'bliinds=features=1', '--log-fmt', form, 'i.avi') == 0
        ffmpeg('-threads', 1, '-bsf:v', 'quantizer_metadata', '-i', place.path / 'i.avi', '-vf',
               f'bliinds=features=1:log_path={place.path}/whole:log_fmt={form}', '-f', 'null', '-')
        whole, split = (re.sub('fps=.*', '', path.read_text()) for path in (place.path / 'whole', place.path / f'results/i.avi.{form}'))
        assert whole == split


# ---- parts that are not those of a whole ----

HEAD = '{\n  "version": "1",\n  "filter": "x",\n  "direction": "lower is better",\n  "range": [0, 100],\n  "frames": ['
LINE = 'n:{} pts:{} pts_time:{:.6f} score:{:.6f} valid:{}\n'


def part(folder, name, begin, end, head=HEAD, size=(64, 64), edit=lambda lines: lines, invalid=()):
    """Of a video whose frame n has the score n % 7 + n / 100."""
    lines = [LINE.format(i + 1, n * 40, n / 25, n % 7 + n / 100, int(n not in invalid)) for i, n in enumerate(range(begin, end))]
    (folder / (name + '.stats')).write_text(''.join(edit(lines)))
    pool = {'mean': '1.0', 'p50': '1.0', 'worst_window': '1.0'}
    tail = {'pooled_metrics': {'score': pool}, 'aggregate_metrics': {'frames': end - begin, 'scored': end - begin, 'valid': end - begin},
            'sizes': [{'width': size[0], 'height': size[1]}], 'fps': 10}
    text = json.dumps(tail)[1:].replace('"pooled_metrics"', '\n  ],\n  "pooled_metrics"', 1).replace('"1.0"', '1.0')
    (folder / (name + '.json')).write_text(head + text)
    return parts.Part(str(folder / name))


def test_merge(tmp_path):
    def again(*more, **options):
        return parts.merge([part(tmp_path, 'a', 0, 53), part(tmp_path, 'b', *(more or (50, 100)), **options)])
    whole, merged = part(tmp_path, 'w', 0, 100), again()
    assert parts.as_lines(merged) == parts.as_lines(whole)
    assert merged.fps == pytest.approx(100 / 10.3)
    merged.fps = whole.fps
    for form in parts.FORMS.values():
        assert form(merged) == form(whole)
    # a part that has no valid frame does not know what is pooled
    invalid = range(53)
    whole, merged = part(tmp_path, 'w', 0, 100, invalid=invalid), parts.merge([
        part(tmp_path, 'a', 0, 53, invalid=invalid), part(tmp_path, 'b', 50, 100, invalid=invalid)])
    merged.fps = whole.fps
    assert parts.as_json(merged) == parts.as_json(whole)

    apart = [
        ((54, 100), {}, 'the first frame of b is not in a'),
        ((49, 52), {}, 'the frames that a and b have both are not the same'),
        ((50, 100), {'head': HEAD.replace('"x"', '"y"')}, 'a and b were made by other filters or options'),
        ((50, 100), {'size': (64, 66)}, 'of other sizes'),
        ((50, 100), {'edit': lambda lines: lines[:1] + [lines[1].replace('score:2', 'score:3')] + lines[2:]}, 'have both are not the same'),
        ((50, 100), {'edit': lambda lines: lines[:7] + lines[8:]}, 'b does not have each frame'),
        ((50, 100), {'edit': lambda lines: lines[:-1] + [lines[-1].replace('pts_time:3', 'pts_time:13')]}, 'b: the timestamps jump'),
        ((50, 100), {'edit': lambda lines: lines[:-1] + [lines[-1].replace('pts:3960', 'pts:3920')]}, 'b: the timestamps jump'),
        ((50, 100), {'edit': lambda lines: lines[:-1] + [re.sub('pts:[0-9]*', 'pts:NOPTS', lines[-1])]}, 'b: the timestamps jump'),
    ]
    for more, options, message in apart:
        with pytest.raises(parts.Apart, match=message):
            again(*more, **options)
    for damage in (lambda lines: [lines[0][:20]], lambda lines: lines[:3] + ['n:4 score:x\n'], lambda lines: ['\0\n']):
        with pytest.raises(parts.quality_logs.LogError, match='is damaged'):
            part(tmp_path, 'c', 0, 10, edit=damage)
    (tmp_path / 'w.json').write_text(HEAD)
    with pytest.raises(parts.quality_logs.LogError, match='is damaged'):
        parts.Part(str(tmp_path / 'w'))


def test_vmaf(tmp_path):
    """libvmaf writes a log, and no lines."""
    for name, begin, end in ('0', 0, 53), ('1', 50, 100):
        frames = [{'frameNum': n - begin, 'metrics': {'integer_motion2': n / 10, 'vmaf': 90 + n / 100}} for n in range(begin, end)]
        text = json.dumps({'version': '3.0.0', 'fps': 9, 'frames': frames, 'pooled_metrics': {}, 'aggregate_metrics': {}})
        (tmp_path / (name + '.json')).write_text(text)
    whole = parts.merge([parts.Part(str(tmp_path / '0')), parts.Part(str(tmp_path / '1'), first=50)])
    log = json.loads(parts.as_json(whole))
    assert [frame['metrics']['vmaf'] for frame in log['frames']] == [90 + n / 100 for n in range(100)]
    assert log['pooled_metrics']['vmaf']['worst_window_frame'] == 0 and log['aggregate_metrics']['frames'] == 100


# ---- by what frames are scored ----

OLD = '''case " $* " in
*" -bsfs "*) [ ! -e "$tmp/old" ] || { "$real" "$@" | grep -v quantizer_metadata; exit; } ;;
*" -bsf:"*)  [ ! -e "$tmp/old" ] || exit 1 ;;
esac
'''


def test_basis(place):
    """By the bitstream where its codec is known and ffmpeg can read it; the model's score is 10 then, else 70."""
    place.program('ffmpeg', OLD + REAL)
    place.video('known.mkv', MPEG4 + ' -bf 2')
    place.video('unknown.mkv', '-c:v ffv1 -g 1')
    head = 'bliinds-model 1\nname test\ndirection lower\nrange 0 100\n'
    model = place.path / 'model'
    model.write_text(''.join(f'{head}constant {constant}\nweight {weight}\nend\n'
                             for constant, weight in ((70, 'L3.ori10 0'), (0, 'coded.mpeg4 10'))))
    options = f'model={model}:shown_height=1080'
    for is_old in False, True:
        if is_old:
            (place.path / 'old').touch()
        assert place.run('--segment', '2s', '--filter', 'bliinds=' + options, 'known.mkv', 'unknown.mkv') == 0
        assert ('has no quantizer_metadata' in place.err) == is_old
        rows = place.rows()
        for name in 'known.mkv', 'unknown.mkv':
            by_bitstream = name == 'known.mkv' and not is_old
            assert float(rows[name]['mean']) == (10 if by_bitstream else 70)
            assert rows[name]['bitstream'] == ('225' if by_bitstream else '0')
            ffmpeg('-threads', 1, *([] if is_old else ['-bsf:v', 'quantizer_metadata']), '-i', place.path / name, '-vf',
                   f'bliinds={options}:f={place.path}/whole.log', '-f', 'null', '-')
            place.compare(name)


# ---- names, failures, damage ----

def test_names(place):
    """What a shell, FFmpeg or a table would take for something else."""
    folders = ['a', 'b', 'it\'s a "folder", \\ %d [x]:=;']
    for folder in folders:
        (place.path / folder).mkdir()
    clip = place.video('clip.avi', seconds=1)
    names = [b'a/clip.avi', b'b/clip.avi', (folders[2] + '/clip.avi').encode(), b'a/-o -vf.avi', 'a/żółć ☃.avi'.encode(),
             b'a/two\nlines.avi', b'a/a\'b"c$(d)`e`&.avi', b'a/file:x%03d.avi', b'a/summary.csv', b'a/caf\xe9.avi', b'a/' + b'0' * 250]
    for name in names:
        shutil.copy(clip, os.path.join(os.fsencode(place.path), name))
    (place.path / 'list').write_bytes(b''.join(os.path.join(os.fsencode(place.path), name) + b'\0' for name in names))
    assert place.run('--filter', 'bliinds', '--list', 'list') == 0, place.err
    with open(place.path / 'results/summary.csv', newline='', errors='surrogateescape', encoding='utf-8') as file:
        rows = list(csv.DictReader(file))
    assert [os.path.relpath(os.fsencode(row['file']), os.fsencode(place.path)) for row in rows] == names
    assert len({row['log'] for row in rows}) == len(names)
    for row in rows:
        assert row['status'] == 'ok' and row['frames'] == '25', row
        assert len(json.loads((place.path / 'results' / row['log']).read_text())['frames']) == 25
    logs = [re.sub('-[0-9a-f]{8}[.]json$', '-HASH.json', row['log']) for row in rows]
    assert logs[:4] == ['clip.avi.json', 'clip.avi-HASH.json', 'clip.avi-HASH.json', '-o -vf.avi.json'] and logs[8] == 'summary.csv-HASH.json'
    assert place.run('--filter', 'bliinds', 'clip.avi', './clip.avi') == 0 and '==> 1 of 1 files' in place.err


def test_failures(place):
    """Some files fail, the others are scored; what was mended is scored next time."""
    good = Path(place.video('good.avi', seconds=5))
    shutil.copy(good, place.path / 'better.avi')
    (place.path / 'noise.mp4').write_bytes(bytes(i * i % 251 for i in range(2000)))
    (place.path / 'empty.mkv').touch()
    (place.path / 'short.avi').write_bytes(good.read_bytes()[:20000])
    ffmpeg('-f', 'lavfi', '-i', 'sine=d=1', '-c:a', 'pcm_s16le', place.path / 'sound.mkv')
    options = ['--segment', '2s', '--filter', 'bliinds']
    expected = {'good.avi': 'ok', 'noise.mp4': 'failed', 'empty.mkv': 'failed', 'none.mp4': 'failed', 'short.avi': 'damaged',
                'sound.mkv': 'failed', 'better.avi': 'ok'}
    assert place.run(*options, *expected) == 1
    assert {name: row['status'] for name, row in place.rows().items()} == expected
    assert 'moov atom not found; Error opening input' in place.rows()['noise.mp4']['message']
    (place.path / 'better.avi').rename(place.path / 'none.mp4')
    shutil.copy(good, place.path / 'noise.mp4')
    assert place.run(*options, 'good.avi', 'noise.mp4', 'none.mp4') == 0
    assert '==> scoring 4 parts' in place.err


@pytest.mark.parametrize('words, message', [
    ('', 'no files to score'), ('--filter psnr good.avi', 'the farm knows bliinds'), ('--filter bliinds=f=x good.avi', 'f names a file'),
    ('--filter libvmaf_cuda good.avi', 'the farm knows'), ('--filter mad good.avi', '--reference'),
    ('--filter bliinds --reference x good.avi', 'leave --reference out'), ('--segment 1x good.avi', "'1x' is no duration"),
    ('--filter bliinds_cuda {}', 'needs a GPU'), ('--filter bliinds=full good.avi', 'with its name')])
def test_usage(place, words, message):
    (place.path / 'empty.mkv').touch()
    assert place.run(*words.format(place.path / 'empty.mkv').split()) == 2
    assert message in place.err and len(place.err.splitlines()[-1]) < 300


def test_damage(place):
    """Files that ffmpeg scores with exit code 0, though a part of them is missing."""
    a = place.path / 'a.mkv'
    place.video('a.mkv', '-c:v mpeg4 -g 12 -qscale 4', seconds=6)
    ffmpeg('-i', a, '-c', 'copy', '-movflags', '+faststart', place.path / 'a.mp4')
    place.video('a.ts', '-c:v mpeg2video -g 12 -qscale 4', seconds=6)
    expected = {name: 'ok' for name in ('a.mkv', 'a.mp4', 'a.ts', 'longer.mkv', 'slides.mp4', 'late.mkv')}
    for form in 'mkv', 'mp4', 'ts':
        data = (place.path / f'a.{form}').read_bytes()
        expected[f'bad.{form}'] = 'damaged'
        (place.path / f'bad.{form}').write_bytes(data[:150000] + b'x' * 3000 + data[153000:])
        if form != 'ts':    # which does not say how long it should be
            expected[f'half.{form}'] = 'damaged'
            (place.path / f'half.{form}').write_bytes(data[:len(data) // 2])
    # whole, though their pictures end before the container does: sound, a last frame that lasts, a late start
    ffmpeg('-i', a, '-f', 'lavfi', '-i', 'sine=d=9', '-map', '0', '-map', '1', '-c:v', 'copy', '-c:a', 'pcm_s16le', place.path / 'longer.mkv')
    place.video('slides.mp4', '-fps_mode vfr -c:v mpeg4', seconds=6, filters='select=not(mod(n\\,100)),setpts=N*2/TB')
    ffmpeg('-i', a, '-c', 'copy', '-output_ts_offset', 5, place.path / 'late.mkv')
    for segment in '60', '2':
        options = ['--segment', segment, '--filter', 'bliinds']
        assert place.run(*options, *sorted(expected)) == 1
        rows = place.rows()
        assert {name: row['status'] for name, row in rows.items()} == expected
        assert all(rows[name]['message'].startswith('cut off after 3.2 of 6.0 s; ') for name in ('half.mkv', 'half.mp4'))
        assert '11 of 11 files scored, 5 of them damaged, 0 failed' in place.err
        assert place.run(*options, '--accept-damage', *sorted(expected)) == 0
        assert place.err.count('\ndamaged: ') + place.err.startswith('damaged: ') == 5 and 'scoring' not in place.err
        shutil.rmtree(place.path / 'results')
    # as make run asks
    for name, message in ('a.mkv', '$'), ('half.mkv', 'cut off after 3.2 of 6.0 s; '), ('bad.mp4', '[0-9]+ errors?: '):
        log = subprocess.run([FFMPEG, '-nostdin', '-v', 'level+info', '-i', place.path / name, '-vf', f'bliinds=f={place.path}/frames',
                              '-f', 'null', '-'], capture_output=True, text=True, check=True).stderr
        (place.path / 'log').write_text(log)
        assert place.run('--damage', name, 'frames', 'log') == 0 and re.match(message, place.out), place.out


# ---- what was done is not done again, whatever has ended the first run ----

BAD = '''case "$*" in
*part.json*)
    echo "$PPID" >> "$tmp/calls"
    if [ -e "$tmp/slow" ]; then
        sleep 0.3
        [ "$(wc -l < "$tmp/calls")" -lt 4 ] && [ ! -e "$tmp/hang" ] || exec sleep 60
    fi
    # the first to see this file is killed, as by a lack of memory
    ! rm "$tmp/kill" 2> /dev/null || kill -9 $$
esac
'''


def test_resume(place):
    place.program('ffmpeg', BAD + REAL)
    place.video('a.avi', seconds=12)
    words = ['--jobs', '1', '--segment', '2s', '--filter', 'bliinds', 'a.avi']
    (place.path / 'slow').touch()
    # its children would keep a pipe open
    first = place.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: len(place.calls(forget=False)) >= 4)
    assert place.run(*words) == 3 and 'another quality-farm works' in place.err
    first.kill()
    first.wait()
    assert (place.count('*.done'), place.count('*.cpu')) == (3, 6)
    place.calls()
    (place.path / 'hang').touch()
    second = place.start(*words)
    wait_for(lambda: place.calls(forget=False))
    second.terminate()
    # what ran is not waited for
    assert 'ending the processes of a quality-farm that was killed' in second.communicate(timeout=50)[1]
    assert second.returncode == 3
    for name in 'slow', 'hang':
        (place.path / name).unlink()
    place.calls()
    (place.path / 'kill').touch()
    assert place.run(*words) == 0 and len(place.calls()) == 4
    place.same('a.avi')
    assert place.run(*words) == 0 and not place.calls() and len(list((place.path / 'results/.farm').glob('*/*'))) == 1
    os.utime(place.path / 'a.avi', (1, 1))
    assert place.run('--filter', 'bliinds', 'a.avi') == 0 and len(place.calls()) == 1
    # a log that is gone comes again
    (place.path / 'results/a.avi.json').unlink()
    assert place.run('--filter', 'bliinds', 'a.avi') == 0
    place.same('a.avi')


# ---- GPUs and Slurm, by an ffmpeg that does on the CPU what the GPU's filter is asked for, and slowly ----

STAND_IN = '''case " $* " in
*bliinds_cuda=*)
    echo "${SLURMD_NODENAME:-} ${CUDA_VISIBLE_DEVICES:-none} ${SLURM_RESTART_COUNT:-0}" >> "$tmp/calls"
    [ ! -e "$tmp/broken" ] || { echo "[x @ 0x1] [error] no such decoder" >&2; exit 1; }
    [ ! -e "$tmp/slow" ] || sleep $([ "${SLURMD_NODENAME:-}" = n2 ] && echo 1000 || echo 1)
    words=()
    while [ $# -gt 0 ]; do
        case $1 in
        -hwaccel | -hwaccel_output_format) echo "$1 $2" >> "$tmp/hwaccel"; shift ;;
        *) words+=("${1//bliinds_cuda=/bliinds=}") ;;
        esac
        shift
    done
    set -- "${words[@]}" ;;
*" -init_hw_device cuda "*) [ ! -e "$tmp/dead" ]; exit ;;
*" -filters "*) "$real" "$@" | sed 's/ bliinds  / bliinds_cuda /'; exit ;;
esac
'''


def with_gpus(place):
    place.program('ffmpeg', STAND_IN + REAL)
    place.program('nvidia-smi', 'echo "GPU 0: One (UUID: GPU-1)"\necho "GPU 1: Two (UUID: GPU-2)"\n')
    place.program('scontrol', 'echo "scontrol $*"\n')
    place.environment.pop('CUDA_VISIBLE_DEVICES')
    place.video('long.avi')
    place.video('short.avi', seconds=2)


def test_gpu(place):
    with_gpus(place)
    place.environment['PATH'] = f"{place.path / 'bin'}:{os.environ['PATH']}"
    assert place.run('--segment', '3s', '--dry-run', 'long.avi') == 0
    second = place.out.splitlines()[1].replace(str(place.path), '')
    assert second == ('/bin/ffmpeg -filter_threads "$threads" -filter_complex_threads "$threads" -nostdin -hide_banner -v level+warning -copyts '
                      '-start_at_zero -bsf:V:0 quantizer_metadata -hwaccel cuda -hwaccel_output_format cuda -noaccurate_seek '
                      '-ss 1.000000 -noautorotate -reinit_filter 0 -i file:/long.avi -map 0:V:0 -vf \'select=\'"\'"\'gte(pts,75)'
                      '+gt(selected_n,0)\'"\'"\',trim=end_pts=158,bliinds_cuda=stats_file=part.stats:log_path=part.json\' '
                      '-fps_mode passthrough -f null -')
    (place.path / 'slow').touch()
    assert place.run('--segment', '3s', 'long.avi', 'short.avi') == 0 and 'on 2 GPUs' in place.err
    place.same('long.avi')
    place.same('short.avi')
    assert set(place.calls()) == {' 0 0', ' 1 0'}
    # one GPU of those that were given to it
    (place.path / 'slow').unlink()
    shutil.rmtree(place.path / 'results')
    place.environment['CUDA_VISIBLE_DEVICES'] = '7'
    assert place.run('--jobs', '2', 'long.avi', 'short.avi') == 0 and 'on 1 GPU\n' in place.err
    assert set(place.calls()) == {' 7 0'}


def test_broken_gpu(place):
    """A task that was started without its GPU goes back, and a broken GPU is no fault of the file."""
    with_gpus(place)
    # the end of what is given back comes as a signal
    place.program('scontrol', 'echo "scontrol $*"\n(sleep 0.3; kill 0) &\n')
    assert place.run('--filter', 'bliinds_cuda', '--dry-run', 'short.avi') == 0
    work = place.path / 'results/.farm'
    (work / 'queue').write_text(str(next(work.rglob('*.gpu')).relative_to(work).with_suffix('')) + '\n')
    slurm = {'SLURM_JOB_ID': '5', 'SLURM_ARRAY_JOB_ID': '4', 'SLURM_ARRAY_TASK_ID': '0', 'SLURM_ARRAY_TASK_COUNT': '1',
             'PATH': f"{place.path / 'bin'}:{os.environ['PATH']}"}

    def task(**more):
        done = subprocess.run(['timeout', '100', ROOT / 'tools/farm/task', place.path / 'results'], env={**place.environment, **slurm, **more},
                              capture_output=True, text=True, check=False)
        return re.sub('^[^ ]*: ', '', done.stderr) + done.stdout
    assert task() == 'no GPU was given to this task\nscontrol requeue 4_0\n'
    assert task(SLURM_RESTART_COUNT='5') == 'no GPU was given to this task\n'
    (place.path / 'broken').touch()
    (place.path / 'dead').touch()
    assert task(CUDA_VISIBLE_DEVICES='1') == 'GPU 1 does not work\nscontrol requeue 4_0\n'
    (place.path / 'dead').unlink()
    assert task(CUDA_VISIBLE_DEVICES='1') == ''
    place.environment.update(slurm, CUDA_VISIBLE_DEVICES='1')
    assert place.run('--filter', 'bliinds_cuda', 'short.avi') == 0
    assert place.rows()['short.avi']['message'] == 'on the CPU: no such decoder'
    place.same('short.avi')


@needs('sbatch', 'slurmctld', 'slurmd')
def test_slurm(place):
    """Two nodes, one of which is lost in the middle."""
    with_gpus(place)
    folder, script = place.path / 'slurm', ROOT / 'tests/slurm.sh'
    started = subprocess.run([script, 'start', folder], capture_output=True, text=True, check=False)
    if started.returncode:
        pytest.skip('Slurm does not start here: ' + (re.findall('.*(?:error|fatal).*', started.stderr) or ['?'])[-1])
    try:
        place.environment['SLURM_CONF'] = str(folder / 'slurm.conf')
        place.video('long.avi', seconds=30)
        (place.path / 'noise.mp4').write_bytes(bytes(i * i % 251 for i in range(2000)))
        (place.path / 'slow').touch()
        process = place.start('--slurm', '--segment', '2s', 'long.avi', 'short.avi')
        wait_for(lambda: ''.join(place.calls(forget=False)).count('n2') >= 2 and place.count('*.done'))
        subprocess.run([script, 'kill', folder, 'n2'], check=True)
        assert 0 < place.count('*.done') < 16 == place.count('*.gpu')
        process.communicate(timeout=500)
        assert process.returncode == 0
        place.same('long.avi')
        place.same('short.avi')
        found = [line.split() for line in place.calls()]
        assert {tuple(call[:2]) for call in found} == {(node, gpu) for node in ('n1', 'n2') for gpu in '01'}
        assert any(int(call[2]) for call in found), 'no part was given to another node'
        # what is there is not done again; failures are told, by the merge job too
        (place.path / 'slow').unlink()
        assert place.run('--slurm', '--no-wait', 'long.avi', 'noise.mp4') == 0
        assert place.run('--slurm', 'long.avi', 'noise.mp4') == 1
        assert 'moov atom not found' in place.rows()['noise.mp4']['message'] and len(place.calls()) == 2
        run_examples(place, True)
    finally:
        subprocess.run([script, 'stop', folder], check=False)


# ---- the documentation ----

def run_examples(place, slurm):
    """The commands of the manual page, in a folder that has what they name."""
    commands = [line for line in examples('quality-farm')[0] if ('--slurm' in line) == slurm]
    here = place.path / 'here'
    for folder in 'archive', 'encodes', 'masters':
        (here / folder).mkdir(parents=True)
    (place.path / 'bin/quality-farm').symlink_to(TOOLS['quality-farm'])
    place.video('here/film.mkv', '-c:v mpeg4 -g 25', seconds=4)
    for copy in 'archive/c.mkv', 'encodes/film-1.mp4', 'masters/film-1.mkv':
        ffmpeg('-i', here / 'film.mkv', '-c', 'copy', here / copy)
    for name in 'archive/a.mp4', 'archive/b.mp4', 'other.mp4':
        place.video('here/' + name, '-c:v mpeg4', seconds=2)
    environment = {**place.environment, 'PATH': f"{place.path / 'bin'}:{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(['bash', '-ec', command], cwd=here, env=environment, capture_output=True, text=True, check=False)
        assert not done.returncode, (command, done.stderr)
    assert len(commands) >= 3
    names = ['a.mp4', 'b.mp4', 'film.mkv'] + ([] if slurm else ['c.mkv'])
    assert all((here / 'results' / (name + form)).exists() for name in names for form in ('.json', '.log'))


def test_examples(place):
    run_examples(place, False)


def test_run(place):
    """make run, with what was built: the frames are those of ffmpeg with the bitstream filter."""
    checkout = place.path / 'checkout'
    for folder in 'scripts', 'tools':
        shutil.copytree(ROOT / folder, checkout / folder, ignore=shutil.ignore_patterns('__pycache__'))
    (checkout / 'scripts/deps.sh').write_text('#!/bin/sh\n')
    (checkout / 'scripts/build.sh').write_text(f'#!/bin/sh\necho {Path(FFMPEG).parent}\n')
    for name, options, number in ('known.mkv', MPEG4 + ' -bf 2', 50), ('unknown.mkv', '-c:v ffv1', 0):
        place.video(name, options, seconds=2)
        done = subprocess.run([checkout / 'scripts/run.sh'], env={**place.environment, 'VIDEO': str(place.path / name)},
                              capture_output=True, text=True, check=False)
        assert not done.returncode and re.search(f'BLIINDS mean.* frames:50 .* bitstream:{number} ', done.stderr), done.stderr
        ffmpeg('-bsf:v', 'quantizer_metadata', '-i', place.path / name, '-vf', f'bliinds=f={place.path}/lines', '-f', 'null', '-')
        assert (place.path / 'lines').read_text() == (checkout / 'results' / name / 'frames.log').read_text()
