"""Logs that are whole, cut off, damaged or made up, for quality_logs.py, quality-gate and quality-report:
the reader gives the right frames or an error in words; no tool shows a traceback, hangs, or takes
memory without an end. QUALITY_EXAMPLES=100000 tries more than the few that are always the same.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import contextlib
import functools
import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
from unittest import mock
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from common import TOOLS
import quality_logs
from quality_common import ToolError, load
from quality_logs import Frame, LogError

EXAMPLES = int(os.environ.get('QUALITY_EXAMPLES', 0))
settings.register_profile('always', max_examples=EXAMPLES or 100, derandomize=not EXAMPLES, deadline=None, database=None,
                          suppress_health_check=list(HealthCheck))
settings.load_profile('always')


gate, report = load(TOOLS['quality-gate']), load(TOOLS['quality-report'])
temporary = tempfile.TemporaryDirectory()
folder = temporary.name


# ---- what logs are made of ----

NAMES = ['score', 'raw', 'valid', 'loss', 'bliinds.score', 'bliinds.valid', 'bliinds.L1.sub10', 'mad.score', 'All', 'Y',
         'psnr_avg', 'mse_y', 'vmaf']
VALUES = ['0', '1', '12.345678', '99.5', 'nan', 'inf', '-inf', '-3.25', '1e-30', '1e15', '1e305', '1e999', '-1e308',
          '9' * 400, 'x', '']
values = st.sampled_from(VALUES) | st.floats(0, 100).map('{:.6f}'.format)


@st.composite
def frames(draw, count=st.integers(1, 8)):
    """Of a run: all have the same fields."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    start, step = draw(st.integers(0, 3)), draw(st.integers(1, 3))
    return [Frame(start + i * step, None, {name: draw(values) for name in names}) for i in range(draw(count))]


def words(frame, number, between=':'):
    return ' '.join([number] + [f'{name}{between}{value}' for name, value in frame.fields.items()])


def stats(log):
    return ''.join(words(f, f'n:{f.number + 1} pts:{f.number * 40} pts_time:{f.number / 25:.6f}') + '\n' for f in log)


def ssim(log):
    return ''.join(words(f, f'n:{f.number + 1}') + ' (20.5)\n' for f in log)


def psnr(log):
    return 'psnr_log_version:2 fields:n,mse_avg\n' + ssim(log)


def metadata(log, before=''):
    return ''.join(f'{before}frame:{f.number:<4} pts:{f.number * 40:<7} pts_time:{f.number / 25:g}\n'
                   + ''.join(f'{before}lavfi.{name}={value}\n' for name, value in f.fields.items()) for f in log)


def messages(log):
    return metadata(log, 'frame=   10 fps=0.0 q=-0.0 size=N/A\r[Parsed_metadata_1 @ 0x55d0c0] ')


def csv(log):
    return 'Frame,' + ''.join(name + ',' for name in log[0].fields) + '\n' \
        + ''.join(f'{f.number},' + ''.join(value + ',' for value in f.fields.values()) + '\n' for f in log)


def libvmaf(log, **layout):
    return json.dumps({'version': '9.0', 'frames': [{'frameNum': f.number, 'metrics': f.fields} for f in log],
                       'direction': 'lower is better', 'range': [0, 100]}, **layout)


def metrics(log):
    """Of ffmpeg-quality-metrics: two metrics, each with its frames."""
    names = list(log[0].fields)
    parts = {'a': names[::2], 'b': names[1::2]}
    return json.dumps({metric: [{'n': f.number + 1, **{name: f.fields[name] for name in some}} for f in log]
                       for metric, some in parts.items()}
                      | {'global': {'a': {}}, 'input_file_dist': 'a.mkv', 'input_file_ref': 'b.mkv'})


def metrics_csv(log):
    return ','.join(['n', *log[0].fields, 'input_file_dist,input_file_ref']) + '\n' \
        + ''.join(','.join([str(f.number + 1), *f.fields.values(), '"a, b.mkv",c.mkv']) + '\n' for f in log)


def xml(log):
    return '<VMAF version="9.0">\n  <frames>\n' + ''.join(
        f'    <frame frameNum="{f.number}" '
        + ' '.join(f'{name}={quoteattr(value)}' for name, value in f.fields.items()) + '/>\n' for f in log) \
        + '  </frames>\n</VMAF>\n'


LINES = {'stats': stats, 'ssim': ssim, 'psnr': psnr, 'metadata': metadata, 'messages': messages, 'csv': csv, 'mcsv': metrics_csv}
WHOLE = {'json': libvmaf, 'pretty': functools.partial(libvmaf, indent=2), 'metrics': metrics, 'xml': xml}
TIMED = ['stats', 'metadata', 'messages']
forms = st.sampled_from([*LINES, *WHOLE])

SEARCH = b'''{"type": "sample-encode-done", "crf": 28, "metric": "loss", "score": 12.5, "scored_frames": 9, "size": 9, "seconds": 1}
{"type": "crf-search-done", "crf": 28, "metric": "loss", "pool": "mean", "score": 12.5, "target": 13}
'''


def write(form, log, newline='\n'):
    return (LINES | WHOLE)[form](log).replace('\n', newline).encode()


def expected(form, log):
    return [f._replace(time=float(f'{f.number / 25:.6f}')) for f in log] if form in TIMED else log


# ---- what reads them ----

def stored(data):
    path = os.path.join(folder, 'log')
    with open(path, 'wb') as file:
        file.write(data)
    return path


def read(data):
    """The log and its frames, or the error."""
    log = quality_logs.Log(stored(data))
    try:
        found = list(log)
    except LogError as error:
        assert '\n' not in str(error) and len(str(error)) < 1000, str(error)[:2000]
        return None, []
    for frame in found:
        assert type(frame.number) is int and 0 <= frame.number < 1e16, frame
        assert frame.time is None or math.isfinite(frame.time), frame
        assert type(frame.fields) is dict and all(type(name) is str for name in frame.fields), frame
    return log, found


def exit_code(data, *options):
    """Of the gate, which keeps a file for Prometheus, too."""
    arguments = ['quality-gate', stored(data), '--above', '60', '--prometheus', os.path.join(folder, 'prom'), *options]
    try:
        with mock.patch.object(sys, 'argv', arguments), contextlib.redirect_stdout(io.StringIO()), \
                contextlib.redirect_stderr(io.StringIO()):
            return gate.Session(gate.parse_arguments()).run()
    except ToolError:
        return gate.UNUSABLE


def page(data, fps):
    """Whether there is one."""
    arguments = ['quality-report', stored(data), '-o', os.path.join(folder, 'page'), *(['--fps', '25'] if fps else [])]
    try:
        with mock.patch.object(sys, 'argv', arguments):
            report.main()
        return True
    except ToolError:
        return False


def try_all(data):
    """Whatever the log is, it ends well, and soon."""
    def late(*_):
        raise AssertionError('takes too long')
    signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    try:
        read(data)
        for options in [], ['--for', '100ms', '--window', '1s'], ['--fps', '25', '--window', '1s']:
            assert exit_code(data, *options) in (gate.PASSED, gate.BROKEN, gate.UNUSABLE)
        page(data, fps=False)
        page(data, fps=True)
    finally:
        signal.alarm(0)


objects = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(VALUES),
                       lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                           st.sampled_from(['frameNum', 'metrics', 'score', 'valid', 'type', 'crf']) | st.text(),
                           inner, max_size=3), max_leaves=8)
SCORES = [Frame(n, None, {'score': f'{n}.5', 'valid': '1'}) for n in range(4)]


@given(forms, frames(), st.sampled_from(['\n', '\r\n']))
def test_round_trip(form, log, newline):
    got, found = read(write(form, log, newline))
    assert found == expected(form, log)
    assert not (got.cut or got.damaged or got.notes)


@given(forms, frames(), st.data())
@example('stats', SCORES[:2], None)
@example('metadata', SCORES[:1], None)
@example('metadata', SCORES, None)
@example('xml', SCORES, None)
def test_cut(form, log, data):
    """A log without its end is its first frames, and says so unless it ends with a whole one."""
    whole = write(form, log)
    ends = [len(whole) - 1] + [len(whole) - 9] if data is None else [data.draw(st.integers(0, len(whole) - 1))]
    for end in ends:
        got, found = read(whole[:end])
        complete = expected(form, log)[:len(found)]
        if form in ('metadata', 'messages') and 0 < len(found) <= 2 and whole[:end].endswith(b'\n'):
            # a first or second frame may have had more fields than are there yet
            fields = list(complete[-1].fields.items())[:len(found[-1].fields)]
            complete[-1] = complete[-1]._replace(fields=dict(fields))
        assert found == complete
        # a document without its last line feed is whole
        between = any(whole[:end] == write(form, log[:n]) for n in range(1, len(log) + 1)) if form in LINES \
            else whole[:end].strip() == whole.strip()
        if got and not got.cut and form in LINES and not between:
            # what is not there yet cannot be missed: fields of the first two frames, and the frames after a header
            assert len(found) <= 2 and form in ('metadata', 'messages') or not found
            assert whole[:end].endswith(b'\n')
        elif got and form in WHOLE:
            assert between
        if not between and len(found) > 2:
            assert exit_code(whole[:end]) != gate.PASSED


def test_glued():
    """Two lines in one are no frame."""
    for form in 'stats', 'csv':
        whole = write(form, SCORES)
        first = whole.index(b'\n', whole.index(b'\n') + 1)
        for lost in range(1, 5):
            rest = whole[:first + 1 - lost] + whole[first + 1:]
            got, found = read(rest)
            assert all(frame in expected(form, SCORES) for frame in found), (form, lost, found)
            assert got.damaged == 1 and exit_code(rest) == gate.UNUSABLE
    got, found = read(write('metadata', SCORES).replace(b'frame:2 ', b'frams:2 '))
    assert [frame.number for frame in found] == [0, 3] and got.damaged == 1


@given(st.sampled_from(['stats', 'csv']), frames(), st.data())
def test_lost(form, log, data):
    """Bytes are missing in the middle."""
    whole = write(form, log)
    begin = data.draw(st.integers(whole.index(b'\n') if form == 'csv' else 0, len(whole)))
    try_all(whole[:begin] + whole[data.draw(st.integers(begin, len(whole))):])


@given(forms, frames(), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=9)), max_size=6))
@example('json', SCORES, [(0, 0, b'[' * 100000)])
@example('csv', SCORES[:1], [(.7, 0, '\n²,1,\n'.encode())])
@example('metadata', SCORES[:1], [(0, 0, b'frame:' + b'9' * 5000 + b' pts:0 pts_time:0\n')])
@example('stats', SCORES[:1], [(1, 0, b'n:2 pts_time:1e308 score:1\nn:' + b'9' * 400 + b' score:2\n')])
@example('xml', SCORES[:1], [(0, 21, '<a><frame frameNum="²"/>'.encode())])
def test_mutated(form, log, edits):
    data = write(form, log)
    for place, length, text in edits:
        at = int(place * len(data))
        data = data[:at] + text + data[at + length:]
    try_all(data)


@given(forms, frames(), st.sampled_from(['utf-16', 'utf-16-be', 'utf-32', 'utf-8-sig', 'utf-7', 'cp037']))
@example('stats', SCORES[:2], 'utf-8-sig')
def test_encodings(form, log, encoding):
    data = write(form, log).decode().encode(encoding)
    assert read(data)[1] in ([], expected(form, log))
    try_all(data)


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode(errors='replace')) | st.builds(
    lambda begin, rest: (begin + rest).encode(),
    st.sampled_from(['n:1 ', 'frame:0 pts:0 pts_time:0\nlavfi.', 'Frame,score,\n', '{"frames": [{"frameNum": 0, ',
                     '{"type": "sample-encode-done", ', '<a><frame frameNum="0" ']),
    st.text(alphabet='nptsime_:=.,"[]{}<>/ 0123456789e-\n\rscorevalid\x00\ud7ff')))
@settings(max_examples=EXAMPLES or 200)
def test_anything(data):
    try_all(data)


@given(st.dictionaries(st.sampled_from(['frames', 'range', 'direction', 'pooled_metrics']), objects),
       st.lists(st.fixed_dictionaries({'frameNum': objects, 'metrics': objects}) | objects, max_size=3))
@example({'direction': 'lower', 'range': [0]}, [{'frameNum': 0, 'metrics': {'score': 1}}])
@example({'direction': 'lower', 'range': ['a', {}]}, [{'frameNum': 0, 'metrics': {'score': 10 ** 400}}])
@example({}, [{'frameNum': 1e400, 'metrics': {}}])
@example({}, [{'frameNum': 0, 'metrics': {'\ud800.score': 5}}])
def test_objects(log, frames_of_it):
    try_all(json.dumps({'frames': frames_of_it, **log}).encode())


@given(st.lists(st.fixed_dictionaries({'type': st.sampled_from(['sample-encode-done', 'crf-search-done',
                'crf-search-error', 'verify-done'])}, optional={name: objects for name in (
                    'crf', 'metric', 'pool', 'score', 'scored_frames', 'size', 'seconds', 'encode_percent',
                    'target')}), min_size=1, max_size=4))
def test_searches(items):
    try_all(''.join(json.dumps(item) + '\n' for item in items).encode() + SEARCH)


def test_search():
    assert page(SEARCH, fps=False)
    log = quality_logs.Log(stored(SEARCH + b'{"type": "crf-sea'))
    assert list(log) == [] and log.cut and len(log.objects) == 2


def test_times():
    """Of quality-compare, in the shape of libvmaf."""
    log = [Frame(n, n / 25 + 0.28, {'ssim.All': '0.5', 'psnr.psnr_avg': 'inf'}) for n in range(3)]
    document = {'frames': [{'frameNum': f.number, 'pts_time': f.time, 'metrics': f.fields} for f in log]}
    rows = ['Frame,pts_time,' + ','.join(log[0].fields), *(f'{f.number},{f.time!r},' + ','.join(f.fields.values()) for f in log)]
    for data in json.dumps(document), '\n'.join(rows) + '\n':
        got, found = read(data.encode())
        assert (found, got.notes) == (log, [])


@pytest.mark.parametrize('form', [*LINES, *WHOLE])
def test_number_of_frames(form):
    """A page of every form; the gate gives the same answer to all of them."""
    data = write(form, [Frame(n, None, {'score': '70' if 20 <= n < 30 else '40', 'valid': '1'}) for n in range(100)])
    assert exit_code(data, '--fps', '25', '--for', '300ms') == gate.BROKEN
    assert exit_code(data, '--fps', '25', '--for', '500ms') == gate.PASSED
    assert page(data, fps=True)


def test_entities():
    """An XML that grows without an end when it is read."""
    entities = ''.join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(12))
    try_all(f'<!DOCTYPE a [<!ENTITY e0 "0123456789">{entities}]><a><frame frameNum="0" score="&e12;"/></a>'.encode())


@pytest.mark.parametrize('begin', [b'', b'n:1 score:1\nn:2 ', b'Frame,score,\n0,', b'frame:0 pts:0 pts_time:0\n', SEARCH + b'{'])
def test_gigantic(begin):
    """The memory for a line has an end, whatever comes before it."""
    process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], '--above', '1', '-'], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (200 << 20, 200 << 20)))
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(begin)
        for _ in range(300):
            process.stdin.write(b'a' * (1 << 20))
    message = process.communicate()[1].decode()
    assert (process.returncode, message.count('\n')) == (gate.UNUSABLE, 1), message[-500:]
