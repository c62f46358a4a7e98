"""Logs that are whole, cut off, damaged or made up: the reader gives the right frames or an error in words; no tool
shows a traceback, hangs, or takes memory without an end. QUALITY_EXAMPLES=100000 tries more than the few that are
always the same.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import ast
import json
import math
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from common import ROOT, TOOLS, document

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
    ('{"frames": [{"fra', 'this JSON is not whole, or '),
    ('{"pictures": []}', "not in the shape of libvmaf (KeyError('frames'))"),
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
    ('speed_chroma_u integer_adm3 tv phone', OF_VMAF, None, 'tv', 'vmaf', 110),
    ('tv cambi phone', OF_VMAF, 'phone', 'phone', 'vmaf', 110),
    ('Y U V All', {}, None, 'All', 'ssim', 1),
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


@pytest.mark.parametrize('begin', [b'', b'n:1 score:1\nn:2 '])
def test_gigantic(begin):
    """The memory for a line has an end, whatever comes before it."""
    process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], '--above', '1', '-'], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)))
    _, err = process.communicate(begin + b'x' * (8 << 20), timeout=120)
    assert process.returncode == 2 and b'has a line of more than 1 MiB' in err


def test_python_of_debian_12():
    """The tools say no word that Python 3.11 does not know."""
    for path in [*ROOT.glob('tools/*.py'), *ROOT.glob('tools/*/*.py'), *map(Path, TOOLS.values())]:
        assert ast.parse(path.read_text(), feature_version=(3, 11)).body, path
