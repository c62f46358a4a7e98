"""Logs that are whole, cut off, damaged or made up: the reader gives the right frames or an error in words; no tool
shows a traceback, hangs, or takes memory without an end. QUALITY_EXAMPLES=100000 tries more than the few that are
always the same.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import ast
import itertools
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from common import ROOT, TOOLS, document, ffmpeg, video

import quality_logs
from quality_common import ToolError
from quality_logs import Frame

hypothesis = pytest.importorskip('hypothesis', reason='no python3-hypothesis')
from hypothesis import HealthCheck, example, given, settings, strategies as st  # noqa: E402

EXAMPLES = int(os.environ.get('QUALITY_EXAMPLES', 0))
settings.register_profile('always', max_examples=EXAMPLES or 100, derandomize=not EXAMPLES, deadline=None, database=None,
                          suppress_health_check=list(HealthCheck))
settings.load_profile('always')
NAMES = ['score', 'raw', 'valid', 'loss', 'bliinds.score', 'bliinds.valid', 'All', 'psnr_avg', 'vmaf']
VALUES = ['0', '12.345678', 'nan', 'inf', '-inf', '-3.25', '1e15', '1e999', '9' * 400, 'x', '']
values = st.sampled_from(VALUES) | st.floats(0, 100).map('{:.6f}'.format)
frames = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True).flatmap(
    lambda names: st.lists(st.tuples(*[values] * len(names)).map(lambda row: dict(zip(names, row))), min_size=1, max_size=8))


def stats(log):
    return ''.join(f'n:{n + 1} pts:{n} pts_time:{n / 25:.6f} ' + ' '.join(f'{name}:{value}' for name, value in fields.items())
                   + '\n' for n, fields in enumerate(log)).encode()


def read(data):
    """The log and its frames, or None and none for an error in words."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        log = quality_logs.Log(file.name)
        try:
            found = list(log)
            for frame in found:
                assert type(frame.number) is int and 0 <= frame.number < 1e16, frame
                assert frame.time is None or math.isfinite(frame.time), frame
                if frame.fields:
                    log.choose(None, frame.fields)
        except ToolError as error:
            assert '\n' not in str(error) and len(str(error)) < 4000, str(error)[:2000]
            return None, []
    return log, found


@given(frames, st.sampled_from(['\n', '\r\n']))
def test_round_trip(log, newline):
    expected = [Frame(n, float(f'{n / 25:.6f}'), fields) for n, fields in enumerate(log)]
    data = stats(log).replace(b'\n', newline.encode())
    for encoded in data, b'\xef\xbb\xbf' + data:
        assert list(read(encoded)[1]) in (expected, [])
    got = read(document(log).encode())[1]
    assert got in ([], [frame._replace(time=None) for frame in expected])


@given(frames, st.integers(0, 400))
def test_cut(log, length):
    """A log without its end is its first frames, and says so unless it ends with a whole line."""
    got, found = read(stats(log)[:length])
    if got:
        assert [frame.fields for frame in found] == log[:len(found)]
        assert got.lost == (stats(log[:len(found)]) != stats(log)[:length])
    whole = document(log).encode()
    assert read(whole[:min(length, len(whole) - 1)])[0] is None


objects = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(VALUES),
                       lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                           st.sampled_from(['frameNum', 'metrics', 'score']) | st.text(), inner, max_size=3), max_leaves=8)


@given(st.dictionaries(st.sampled_from(['frames', 'range', 'direction', 'filter', 'eof']), objects),
       st.lists(st.fixed_dictionaries({'frameNum': objects, 'metrics': objects}) | objects, max_size=3))
@example({'direction': 'lower', 'range': ['a', {}]}, [{'frameNum': 0, 'metrics': {'score': 10 ** 400}}])
@example({'direction': 'lower', 'range': 5}, [{'frameNum': 0, 'metrics': {'score': 1}}])
@example({}, [{'frameNum': 1e400, 'metrics': {}}])
def test_objects(log, of_it):
    read(json.dumps({'frames': of_it, **log}).encode())


@given(frames, st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=9)), max_size=6), st.booleans())
@example([{'score': '1'}], [(0, 0, b'[' * 100000)], True)
@example([{'score': '1'}], [(1, 0, 'n:² score:1\n'.encode())], False)
def test_mutated(log, edits, is_json):
    data = document(log).encode() if is_json else stats(log)
    for place, length, text in edits:
        at = int(place * len(data))
        data = data[:at] + text + data[at + length:]
    read(data)


@pytest.mark.parametrize('text, message', [
    ('', 'is empty'), ('some text\n', "is no log that is known here; its first line is 'some text'"),
    ('n:1 pts:0 pts_time:0.0 sco', 'is no log that is known here'),
    ('{"frames": [{"fra', 'this JSON is incomplete, or '),
    ('{"pictures": []}', "not in the shape of libvmaf (ValueError('no frames, or more than 64 KiB before them'))"),
    ('{"a": {"frames": []}}', "not in the shape of libvmaf (Expecting ',' delimiter)"),
    ('{"frames": []} {', 'not in the shape of libvmaf (Extra data)'),
    ('{"frames": [], "frames": [1]}', "not in the shape of libvmaf (ValueError('more frames, or more than 64 KiB after them'))"),
    ('{"frames": [' + '[' * 100000, 'this JSON is incomplete, or '),
    ('text\n' * 500000 + 'n:1 score:1\n', "is no log that is known here; its first line is 'text'"),
    ('n:1 ' + 'a:1 ' * 20000 + '\n', 'has a line of more than 64 KiB: it is not a log'),
    ('{"frames": [{"n": 1}]}', "not in the shape of libvmaf (KeyError('frameNum'))")])
def test_bad_logs(tmp_path, text, message):
    (tmp_path / 'log').write_text(text)
    with pytest.raises(ToolError, match=re.escape(message)):
        list(quality_logs.Log(str(tmp_path / 'log')))


OF_VMAF = {'filter': 'vmaf', 'direction': 'higher is better', 'range': [0, 110]}
COMPARED = 'ssim.All vmaf.score vmaf.motion2 bliinds.raw bliinds.score mad.score'


@pytest.mark.parametrize('names, header, asked, name, of, highest', [
    ('score raw valid', {}, None, 'score', 'bliinds', 100),
    ('score hi lo', {}, None, 'score', 'mad', math.inf),
    ('score motion2 cambi', {}, None, 'score', 'vmaf', 100),
    ('integer_adm3 float_ssim vmaf', {}, None, 'vmaf', 'vmaf', 100),
    ('integer_adm3 float_ssim vmaf', {}, 'ssim', 'float_ssim', 'ssim', 1),
    ('score cambi', OF_VMAF, None, 'score', 'vmaf', 110),
    ('vmaf integer_adm3', OF_VMAF, None, 'vmaf', 'vmaf', 110),
    ('integer_adm2 integer_vif_scale0 integer_motion2 vmaf', OF_VMAF, None, 'vmaf', 'vmaf', 110),
    ('speed_chroma_u integer_adm3 tv phone', OF_VMAF, None, 'tv', 'vmaf', 110),
    ('tv cambi phone', OF_VMAF, 'phone', 'phone', 'vmaf', 110),
    ('Y U V All', {}, None, 'All', 'ssim', 1),
    ('ssimulacra2', {'filter': 'ssimulacra2'}, None, 'ssimulacra2', 'ssimulacra2', 100),
    ('ssim.All ssimulacra2.score', {}, None, 'ssimulacra2.score', 'ssimulacra2', 100),
    ('mse_avg psnr_y psnr_avg', {}, None, 'psnr_avg', 'psnr', math.inf),
    (COMPARED, {}, None, 'vmaf.score', 'vmaf', 100),
    (COMPARED, {}, 'bliinds', 'bliinds.score', 'bliinds', 100),
    (COMPARED, {}, 'mad', 'mad.score', 'mad', math.inf),
    (COMPARED, {}, 'lavfi.mad.score', 'mad.score', 'mad', math.inf)])
def test_metrics(names, header, asked, name, of, highest):
    log = quality_logs.Log('/dev/null')
    log.header = header
    found, metric = log.choose(asked, names.split())
    assert (found, metric.filter, metric.highest) == (name, of, highest)


@pytest.mark.parametrize('name, valid', [
    ('score', 'valid'), ('bliinds.score', 'bliinds.valid'), ('bliinds.L1.zeta100', 'bliinds.valid'), ('L1.zeta100', 'valid'),
    ('integer_adm2_nw_0.02', 'valid'), ('xpsnr.xpsnr.y', 'xpsnr.valid')])
def test_beside(name, valid):
    assert quality_logs.beside(name, 'valid') == valid


def gate(data, kilobytes, seconds=60):
    """Run quality-gate with limited memory, as it begins to read from a pipe that does not end."""
    process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], '--above', '1', '--fps', '25', '-'],
                               stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (kilobytes << 10, kilobytes << 10)))
    return process.communicate(data, timeout=seconds)[1], process.returncode


@pytest.mark.parametrize('begin', [b'', b'n:1 score:1\nn:2 '])
def test_gigantic(begin):
    """The memory for a line is limited, whatever comes before it."""
    err, code = gate(begin + b'x' * (8 << 20), 200000)
    assert code == 2 and b'has a line of more than 64 KiB' in err


ENDLESS = {
    'header': (b'{', b'"a": [[], {}],'), 'list': (b'{"a": [', b'{},'), 'frame': (b'{"frames": [{"frameNum": 0, "metrics": {', b'"a": 1,'),
    'string': (b'{"filter": "', b'x'), 'spaces': (b'{"frames": [', b' \n'), 'nested': (b'{"a": ', b'[\n')}


@pytest.mark.parametrize('name', ENDLESS)
def test_gigantic_json(name):
    """So is that for JSON, and its time is linear."""
    begin, part = ENDLESS[name]
    err, code = gate(begin + part * ((4 << 20) // len(part)), 80000)
    assert code == 2 and err.startswith(b"quality-gate: '-': this JSON is incomplete") and err.count(b'\n') == 1


def test_large_json(tmp_path):
    """Frames of JSON take no memory, and are found in any layout."""
    text = document([{'score': n / 1000, 'raw': 1} for n in range(15000)])
    for layout in text, json.dumps(json.loads(text), indent=1):
        assert gate(layout.encode(), 80000) == (
            b'quality-gate: FAILED: 1 alarms, 0 stalls, 15000 frames, 0 of them without a valid score\n', 1)
    (tmp_path / 'log').write_text(text)
    assert [frame.fields['score'] for frame in quality_logs.Log(str(tmp_path / 'log'))] == [n / 1000 for n in range(15000)]


@pytest.mark.parametrize('rows, columns', [(1, 7000), (300, 100)])
def test_many_names(tmp_path, rows, columns):
    """Time is linear in the number of names: of a line, or of all lines."""
    names = [[f'k{row}x{column}' for column in range(columns)] for row in range(rows)]
    log = quality_logs.Log('')
    begin = time.process_time()
    name, metric = log.choose(None, dict.fromkeys([*itertools.chain(*names), 'score', 'raw']))
    assert (name, metric.filter) == ('score', 'bliinds')
    with pytest.raises(ToolError) as error:
        log.choose('none', dict.fromkeys(itertools.chain(*names)))
    assert time.process_time() - begin < 20 and len(str(error.value)) < 2000


@pytest.mark.parametrize('text, value', [
    ('1', 1), ('-1.5', -1.5), ('+.5', .5), ('5.', 5), ('1e-05', 1e-5), ('1E3', 1000), ('inf', math.inf), ('-INF', -math.inf), *((text, math.nan) for text in ('nan', '', '1_0', '１０', '٣', '0x10', '1e', 'e5', '.', ' 1', '1\n', '1,5', 'infinity', True, None, [1], {},
                                    '1e16', '1e999', '9' * 400))])
def test_number(text, value):
    """Numbers are decimal and ASCII."""
    assert math.isclose(quality_logs.number(text), value) or math.isnan(value) and math.isnan(quality_logs.number(text))


def test_xpsnr(tmp_path):
    (tmp_path / 'log').write_text('n:    1  XPSNR y: 37.8360  XPSNR u: inf  XPSNR v: 34.3095\nn: 2000  XPSNR y: inf\n')
    assert list(quality_logs.Log(str(tmp_path / 'log'))) == [
        Frame(0, None, {'xpsnr.xpsnr.y': '37.8360', 'xpsnr.xpsnr.u': 'inf', 'xpsnr.xpsnr.v': '34.3095', 'xpsnr.score': '34.3095'}),
        Frame(1999, None, {'xpsnr.xpsnr.y': 'inf', 'xpsnr.score': 'inf'})]


@pytest.mark.parametrize('metric', quality_logs.METRICS)
def test_means(metric):
    """Means are finite for all finite values, and within them; those of decibels are as in ffmpeg's summaries."""
    for values in [1, 2, 4], [-4000, 1], [1e15, -1e15], [30.0] * 5:
        assert min(values) <= quality_logs.mean(values, metric) <= max(values)
    assert quality_logs.mean([math.inf] * 2, metric) == math.inf
    if metric.decibels:
        of = [10 ** (-value / metric.decibels) for value in (20, 30, 50)]
        assert quality_logs.mean([20, 30, 50], metric) == pytest.approx(-metric.decibels * math.log10(sum(of) / 3))
        assert quality_logs.mean([20, math.inf], metric) == pytest.approx(20 + metric.decibels * math.log10(2))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=300))
def test_percentiles(values):
    """The percentile is the least value that at least p % of all do not exceed."""
    pool = quality_logs.pooled(values, quality_logs.METRICS[0])
    for p in quality_logs.PERCENTILES:
        found = pool[f'p{p}']
        assert found in values and sum(value <= found for value in values) * 100 >= p * len(values)
        assert sum(value < found for value in values) * 100 < p * len(values)


def test_filter_percentiles(tmp_path):
    """They are those of a filter's own summary."""
    video(tmp_path / 'v.mp4', '-c:v mpeg4 -q:v 20', 4)
    ffmpeg('-bsf:v', 'quantizer_metadata', '-i', tmp_path / 'v.mp4', '-vf', f'bliinds=f={tmp_path}/lines:log_path={tmp_path}/json', '-f', 'null', '-')
    summary = json.loads((tmp_path / 'json').read_text())['pooled_metrics']['score']
    for path in 'lines', 'json':
        values = [quality_logs.number(frame.fields['score']) for frame in quality_logs.Log(str(tmp_path / path))]
        pool = quality_logs.pooled(values, quality_logs.METRICS[2])
        for name, value in summary.items():
            assert abs(pool[name] - value) < (.0051 if name[0] == 'p' else 1e-5), name


def test_python_of_debian_12():
    """The tools say no word that Python 3.11 does not know."""
    for path in [*ROOT.glob('tools/*.py'), *ROOT.glob('tools/*/*.py'), *map(Path, TOOLS.values())]:
        assert ast.parse(path.read_text(), feature_version=(3, 11)).body, path
