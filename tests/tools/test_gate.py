"""Tests of quality-gate: alarms, live pipes, errors, numbers for Prometheus.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from unittest import mock

import pytest
from common import TOOLS, document, ffmpeg, lines, tool, video, wait_for

import quality_common

LOADER = importlib.machinery.SourceFileLoader('quality_gate', TOOLS['quality-gate'])


# 70 is bad: from 2 to 2.48 s, 4 to 6.96, 8 to 9.96 (not valid from 9 to 9.48), and from 15 to the end at 19.96.
def is_bad(i):
    return 50 <= i < 63 or 100 <= i < 175 or 200 <= i < 250 or i >= 375


LOG = lines(500, lambda i: 70 if is_bad(i) else 40, lambda i: not 225 <= i < 238)
SUMMARY = '{} alarms, 0 stalls, 500 frames, 13 of them without a valid score\n'
WHOLE = lines(50, lambda i: i)
UNTIMED = re.sub('pts_time:\\S*', 'pts_time:NOPTS', LOG)

WARNING = 'quality-gate: warning: {}: {} is better, and these alarms are for good values. Use --{} for bad ones\n'

# Alarms: (start, raised, end) and the time of the worst value where that is not the start. An end of None is the log's.
ALARMS = {
    '--above 60': [(2, 2, 2.52), (4, 4, 7), (8, 8, 10), (15, 15, None)],
    '--above 60 --for 1s': [(4, 5, 7), (8, 9.52, 10), (15, 16, None)],
    '--above 60 --for 1s --recover 1500ms': [(4, 5, 10), (15, 16, None)],
    '--above 60 --for 500ms --recover 3': [(4, 4.52, 10), (15, 15.52, None)],
    '--above 60 --window 1s': [(4.64, 4.64, 7.32, 4.96), (8.64, 8.64, 10.2, 8.96), (15.64, 15.64, None, 15.96)],
    '--above 54 --window 1s --for 2s': [(4.44, 6.44, 7.52, 4.96), (8.44, 10.44, 10.52, 8.96),
                                        (15.44, 17.44, None, 15.96)],
    '--above 70 --for 1s': [],
    '--below 41 --for 3s': [(10, 13, 15)],
    '--below 40': [],
    '--above 0.9 --metric raw --for .1m': [(0, 6, None)],
}


def output(alarms, worst):
    """The lines that report alarms."""
    text = ''
    for start, raised, end, *at in alarms:
        text += (f'alarm_start:{start:.6f} alarm_raised:{raised:.6f}\n'
                 f'alarm_start:{start:.6f} alarm_end:{end or 19.96:.6f} alarm_duration:{(end or 19.96) - start:.6f} '
                 f'worst:{worst:.6f} worst_time:{(at or [start])[0]:.6f}{"" if end else " open:1"}\n')
    return text


@pytest.fixture(name='gate')
def fixture_gate(tmp_path, monkeypatch):
    """Run the gate on a log, and return its exit code and output. It runs in this process, since a new one takes most of
    the time."""
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader('quality_gate', LOADER))
    LOADER.exec_module(module)
    monkeypatch.chdir(tmp_path)

    def run(text, options):
        if text is not None:
            (tmp_path / 'log').write_text(text)
        monkeypatch.setattr(sys, 'argv', [TOOLS['quality-gate'], *options.split(), 'log'])
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err, \
                pytest.raises(SystemExit) as end, mock.patch('os.dup2'):     # which would close the output of the tests
            quality_common.run('quality-gate', module.main)
        return end.value.code, out.getvalue(), err.getvalue()
    return run


@pytest.mark.parametrize('options', ALARMS)
def test_alarms(gate, options):
    alarms = ALARMS[options]
    worst = 40 if '--below' in options else 1 if 'raw' in options else 70
    warning = WARNING.format('score', 'lower', 'above') * ('--below' in options)
    code, out, err = gate(LOG, options)
    assert (code, out) == (1 if alarms else 0, output(alarms, worst))
    assert err == f'{warning}quality-gate: {"FAILED" if alarms else "passed"}: ' + SUMMARY.format(len(alarms))
    # the same as JSON
    code, found, err = gate(LOG, options + ' --json')
    *events, summary = map(json.loads, found.splitlines())
    assert [{name: value for name, value in event.items() if name != 'event'} for event in events] == \
        [{name: float(value) for name, value in (word.split(':') for word in line.split())} for line in out.splitlines()]
    assert [event['event'] for event in events] == ['alarm_start', 'alarm_end'] * len(alarms)
    assert summary == {'event': 'summary', 'result': 'FAILED' if alarms else 'passed', 'alarms': len(alarms), 'stalls': 0,
                       'frames': 500, 'invalid': 13, 'incomplete_lines': 0, 'time_jumps': 0}
    assert (code, err) == (bool(alarms), warning)


# Frames from 4 to 4.96 s and from 6 to 6.16 s are damaged, those from 9 to 9.48 s have no valid score, as in LOG. From 9 to
# 12.96 s the picture is frozen but for an I frame each second. Later every fourth frame has changed: it is not frozen.
DAMAGED = ''.join(row[:-1] + ' damaged:1' * (100 <= i < 125 or 150 <= i < 155) +
                  ' still:1' * (225 <= i < 325 and i % 25 not in (10, 11) or i > 350 and i % 4 != 0) + '\n'
                  for i, row in enumerate(LOG.splitlines(keepends=True)))


@pytest.mark.parametrize('options, alarms', [
    ('--invalid 0', [('invalid', 9, 9, 9.52)]),
    ('--invalid 480ms', [('invalid', 9, 9.48, 9.52)]),
    ('--invalid 481ms', []),
    ('--damaged 0', [('damaged', 4, 4, 5), ('damaged', 6, 6, 6.2)]),
    ('--damaged 160ms --invalid 400ms', [('damaged', 4, 4.16, 5), ('damaged', 6, 6.16, 6.2), ('invalid', 9, 9.4, 9.52)]),
    ('--damaged 161ms', [('damaged', 4, 4.2, 5)]),
    ('--damaged 500ms --recover 1.1', [('damaged', 4, 4.52, 6.2)]),
    ('--damaged 1s', []),
    ('--frozen 1s', [('frozen', 9, 10, 13)]),
    ('--frozen 1s --recover 2s', [('frozen', 9, 10, 13)]),
    ('--frozen 3.96', [('frozen', 9, 12.96, 13)]),
    ('--frozen 4.6', [])])
def test_kinds(gate, options, alarms):
    """Each kind has its own lines and count, beside the alarms of quality."""
    out = ''.join(f'{kind}_start:{start:.6f} {kind}_raised:{raised:.6f}\n{kind}_start:{start:.6f} {kind}_end:{end:.6f} '
                  f'{kind}_duration:{end - start:.6f}\n' for kind, start, raised, end in alarms)
    counts = {f'{kind}_alarms': [alarm[0] for alarm in alarms].count(kind) for kind in ('invalid', 'damaged', 'frozen')
              if f'--{kind}' in options}
    text = ''.join(f', {count} {name.replace("_", " ")}' for name, count in counts.items())
    assert gate(DAMAGED, '--above 99 ' + options) == (
        bool(alarms), out, f'quality-gate: {"FAILED" if alarms else "passed"}: 0 alarms, 0 stalls{text}, 500 frames, '
        '13 of them without a valid score\n')
    *events, summary = map(json.loads, gate(DAMAGED, f'--above 99 {options} --json')[1].splitlines())
    assert [event.pop('event') for event in events] == [f'{kind}_{end}' for kind, *_ in alarms for end in ('start', 'end')]
    assert events == [{name: float(value) for name, value in (word.split(':') for word in line.split())}
                      for line in out.splitlines()]
    assert {name: count for name, count in summary.items() if name.endswith('_alarms')} == counts
    # the alarms of quality are the same
    others = ''.join(line for line in gate(DAMAGED, '--above 60 ' + options)[1].splitlines(keepends=True) if line[:5] == 'alarm')
    assert ('recover' in options) or others == output(ALARMS['--above 60'], 70)


def test_kinds_end(gate):
    """An alarm is open at the end, has one start over a restart, and stops the tool; JSON has the same fields."""
    black = lines(50, lambda i: 5, lambda i: i < 25)
    start, end = 'invalid_start:1.000000 invalid_raised:1.520000\n', 'invalid_start:1.000000 invalid_end:{} open:1\n'
    assert gate(black, '--above 60 --invalid 500ms')[:2] == (1, start + end.format('1.960000 invalid_duration:0.960000'))
    assert gate(black, '--above 60 --invalid 500ms --stop')[:2] == (1, start + end.format('1.520000 invalid_duration:0.520000'))
    assert gate(black + lines(50, lambda i: 5, lambda i: i >= 25), '--above 60 --invalid 500ms')[1] == \
        start + 'invalid_start:1.000000 invalid_end:2.960000 invalid_duration:1.960000\n'
    # a log without any valid score is an error, unless that has been reported
    nothing = lines(50, lambda i: 5, lambda i: False)
    assert [gate(nothing, f'--above 60 --invalid {hold}')[0] for hold in (1, 3)] == [1, 2]
    frames = [{'score': 5, 'damaged': 1}] * 10 + [{'score': 5}] * 10
    assert gate(document(frames), '--above 60 --fps 10 --damaged 900ms')[1] == \
        'damaged_start:0.000000 damaged_raised:0.900000\n' \
        'damaged_start:0.000000 damaged_end:1.000000 damaged_duration:1.000000\n'


def test_black_and_damage(tmp_path, gate):
    """A video that is black for a second, and later damaged in one frame and so up to the next I frame."""
    path = tmp_path / 'in.m2v'
    video(path, '-c:v mpeg2video -g 25 -sc_threshold 1000000000', 4, "drawbox=c=black:t=fill:enable='between(n,25,49)'",
          'testsrc2=s=320x240:r=25')
    data = bytearray(path.read_bytes())
    pictures = [match.start() for match in re.finditer(b'\0\0\1\0', data)]
    data[pictures[80] + 300:pictures[81]] = bytes(pictures[81] - pictures[80] - 300)
    path.write_bytes(data)
    log = ffmpeg('-threads', 1, '-bsf:v', 'quantizer_metadata', '-i', path, '-vf', 'setpts=N/25/TB,bliinds=stats_file=-',
                 '-f', 'null', '-').decode()
    assert log.count('\n') == len(pictures) == 100
    assert gate(log, '--above 99 --invalid 800ms --damaged 600ms --frozen 500ms')[:2] == (
        1, 'invalid_start:1.000000 invalid_raised:1.800000\n'
        'invalid_start:1.000000 invalid_end:2.000000 invalid_duration:1.000000\n'
        'damaged_start:3.200000 damaged_raised:3.800000\n'
        'damaged_start:3.200000 damaged_end:3.960000 damaged_duration:0.760000 open:1\n')


@pytest.mark.parametrize('encoder', ['libx264 -preset veryfast -g 25', 'libx264 -preset veryfast -g 24 -b:v 2M -maxrate 2M '
                                     '-bufsize 2M -x264-params nal-hrd=cbr', 'libx265 -preset ultrafast -crf 35 -g 50',
                                     'libsvtav1 -preset 12 -crf 30 -g 50'])
def test_frozen(tmp_path, gate, encoder):
    """A picture is frozen from 1 to 4 s. A slow fade is not frozen."""
    video(tmp_path / 'in.mkv', f'-c:v {encoder}', 2, "loop=75:1:25,split[a][b];[a]trim=end_frame=125[c];[b]trim=start_frame=124:end_frame=125,"
          "loop=74:1,setpts=N/25/TB,geq='16+(lum(X,Y)-16)*(1-N/250)':cb(X\\,Y):cr(X\\,Y)[d];[c][d]concat", 'testsrc2=s=160x96:r=25')
    log = ffmpeg('-bsf:v', 'quantizer_metadata', '-i', tmp_path / 'in.mkv', '-vf', 'bliinds=stats_file=-', '-f', 'null', '-').decode()
    assert log.count('\n') == 200
    found = re.findall(r'(\w+):([\d.]+)', gate(log, '--above 101 --frozen 2s')[1])
    assert [name for name, _ in found] == [f'frozen_{name}' for name in 'start raised start end duration'.split()]
    assert [float(value) for _, value in found] == pytest.approx([1.04, 3.04, 1.04, 4.04, 3], abs=0.3)


def test_json_of_infinite(gate):
    """JSON has no infinite numbers."""
    out = gate('n:1 psnr_avg:inf psnr_y:inf\n', '--above 60 --fps 25 --json')[1]
    assert json.loads(out.splitlines()[1])['worst'] is None and 'Inf' not in out and 'NaN' not in out


@pytest.mark.parametrize('text, metric, better', [
    (WHOLE, 'score', 'lower'), (WHOLE, 'raw', 'lower'), (WHOLE.replace('raw', 'hi'), 'score', 'lower'),
    (WHOLE.replace('raw', 'cambi'), 'score', 'higher'), (WHOLE.replace('score', 'All'), 'All', 'higher'),
    (WHOLE.replace('score', 'psnr_avg'), 'psnr_avg', 'higher'), (WHOLE.replace('score', 'foo').replace('raw', 'bar'), 'foo', None),
    (document([{'score': 50}] * 2, direction='higher is better'), 'score', 'higher'),
    ('n:    1  XPSNR y: 36.1234  XPSNR u: 40.1234\n', 'xpsnr.score', 'higher')])
def test_direction(gate, text, metric, better):
    """A limit on the side of good values is warned of; it may be wanted, so the exit code is that of the alarms."""
    for side, other, good in ('above', 'below', 'higher'), ('below', 'above', 'lower'):
        code, _, err = gate(text, f'--{side} 45 --fps 25 --metric {metric}')
        assert code == ('FAILED' in err)
        assert (WARNING.format(metric, better, other) in err) == ('warning' in err) == (better == good)


def test_numbers(gate):
    """The same frames without times, as JSON and as lines; one that has lost its time is passed over."""
    options = '--above 60 --for 1s --recover 1500ms'
    frames = [dict(zip(('score', 'valid'), map(int, found))) for found in re.findall(r'score:(\d+) .*valid:(\d)', LOG)]
    for text in document(frames), UNTIMED:
        assert gate(text, options + ' --fps 25')[:2] == (1, output(ALARMS[options], 70))
        for untimed in options, '--above 60':
            assert gate(text, untimed) == (
                2, '', "quality-gate: 'log': has no times: give the frames per second with --fps\n")
    code, _, err = gate(LOG.replace('pts_time:0.76', 'pts_time:NOPTS x:'), '--above 60 --for 1s')
    assert code == 1 and '14 of them without' in err
    assert 'it has no "eof": true' in gate(document(frames, eof=False), '--above 99 --fps 25')[2]


def test_xpsnr(gate):
    """Lines of xpsnr's own stats_file; the score is that of the worst plane."""
    text = ''.join(f'n: {n:4}  XPSNR y: {50 - n:.4f}  XPSNR u: {40 - n:.4f}  XPSNR v: {45 - n:.4f}\n' for n in range(1, 11))
    text += '\nXPSNR average, 10 frames  y: 44.5  u: 34.5  v: 39.5  (minimum: 34.5)\n'
    assert gate(text, '--below 32.5 --fps 1')[1] == \
        'alarm_start:7.000000 alarm_raised:7.000000\nalarm_start:7.000000 alarm_end:9.000000 alarm_duration:2.000000 ' \
        'worst:30.000000 worst_time:9.000000 open:1\n'
    assert 'worst:40.000000' in gate(text, '--below 41 --fps 1 --metric xpsnr.y')[1]


def test_time_goes_back(gate):
    """If a sender restarts, time and alarms continue: an alarm has one start."""
    code, out, err = gate(LOG + LOG, '--above 60 --for 4s')
    assert (code, out) == (1, 'alarm_start:15.000000 alarm_raised:19.000000\n'
                           'alarm_start:15.000000 alarm_end:19.960000 alarm_duration:4.960000 worst:70.000000 '
                           'worst_time:15.000000\n' + re.sub(
                               r'(start|end|time|raised):(\d+\.\d+)', lambda m: f'{m[1]}:{float(m[2]) + 19.96:f}', output([(15, 19, None)], 70)))
    assert err == 'quality-gate: time goes back from 19.960000 to 0.000000: it is counted on from there\n' \
        'quality-gate: FAILED: 2 alarms, 0 stalls, 1000 frames, 26 of them without a valid score\n'
    # times that begin below 0 do not go back
    assert gate(WHOLE.replace('pts_time:0.000000', 'pts_time:-0.040000'), '--above 99')[2].count('\n') == 1
    # further ones are counted
    code, _, err = gate(''.join(reversed(WHOLE.splitlines(keepends=True))), '--above 99 --window 1s')
    assert code == 0 and len(err.splitlines()) == 3 and 'log: its time went back 49 times\n' in err


@pytest.mark.parametrize('options, first, end', [
    ('--above 60 --stop', 'alarm_start:2.000000 alarm_raised:2.000000\n', 1),
    ('--above 99 --stale 200ms --stop', 'stale_start:2.360000 stale:1\n', 1),
    ('--above 99 --stale 200ms', 'stale_start:2.360000 stale:1\n', None)])
def test_live(options, first, end):
    """Events are printed while the pipe is open; with --stop the tool ends then."""
    process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], *options.split(), '-'], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    rows = LOG.splitlines(keepends=True)
    process.stdin.write(''.join(rows[:60]))
    process.stdin.flush()
    assert process.stdout.readline() == first
    if end is None:
        process.stdin.write(rows[60])
        process.stdin.flush()
        assert process.stdout.readline() == 'stale_end:2.400000 stale:0\n'
        process.stdin.close()
    assert process.wait(timeout=60) == 1


@pytest.mark.parametrize('options, start, end', [
    ('', 'stale_start:NOPTS stale:1', 'stale_end:5.000000 stale:0'),
    ('--json', '{"event": "stale_start", "stale_start": null, "stale": 1}', '{"event": "stale_end", "stale_end": 5.0, "stale": 0}')])
def test_stale_first(options, start, end):
    """A stall before the first frame has no time; it ends with the frame, also by --fps."""
    for frame in 'n:1 pts:5 pts_time:5.0 score:1\n', 'n:126 score:1 raw:1\n':
        process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], '--above', '9', '--stale', '100ms', '--fps', '25', *options.split(), '-'],
                                   text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert process.stdout.readline() == start + '\n'
        assert process.communicate(frame, timeout=60)[0].splitlines()[0] == end
        assert process.returncode == 1


@contextlib.contextmanager
def follow(path, command, text):
    """Start a command with a pipe in which this text is, and with its output in a file."""
    with open(path, 'w') as out, subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=out,
                                                  stderr=subprocess.PIPE) as process:
        process.stdin.write(text)
        process.stdin.flush()
        try:
            yield process
        finally:
            process.kill()


# Runs the tool with a clock that is 100 times as fast.
FAST = """import runpy, signal, sys
sys.path.insert(0, sys.argv[1][:sys.argv[1].rindex('/')])
sys.argv = sys.argv[1:]
timer = signal.setitimer
signal.setitimer = lambda which, seconds, *rest: timer(which, seconds / 100, *rest)
runpy.run_path(sys.argv[0], run_name='__main__')
"""


@pytest.mark.parametrize('options, name, stale', [
    ('', '-', 10), ('--stale 0', '-', 0), ('', '/dev/stdin', 0), ('--stale 10', '/dev/stdin', 10)])
def test_stale_default(tmp_path, options, name, stale):
    """A pipe is stale after 10 s without a frame, unless that is turned off; other logs only if that is asked for."""
    command = [sys.executable, '-c', FAST, TOOLS['quality-gate'], '--above', '99', *options.split(), name]
    with follow(tmp_path / 'out', command, lines(5, lambda i: 5)) as process:
        if stale:
            wait_for((tmp_path / 'out').read_text, 20)
        else:
            time.sleep(0.6)
        err = process.communicate(timeout=60)[1]
    assert (tmp_path / 'out').read_text() == 'stale_start:0.160000 stale:1\n' * bool(stale)
    assert process.returncode == bool(stale) and f' {bool(stale):d} stalls, 5 frames' in err


def test_invalid_silence(tmp_path):
    """After a switch of the codec nothing is decoded: once the pipe is stale, there is no valid score, either."""
    rows = lines(60, lambda i: 5).splitlines(keepends=True)
    command = [sys.executable, TOOLS['quality-gate'], *'--above 99 --stale 300ms --invalid 1s -'.split()]
    with follow(tmp_path / 'out', command, ''.join(rows[:50])) as process:
        wait_for(lambda: 'raised' in (tmp_path / 'out').read_text(), 20)
        err = process.communicate(rows[50], timeout=60)[1]
    assert (tmp_path / 'out').read_text() == \
        'stale_start:1.960000 stale:1\ninvalid_start:1.960000 invalid_raised:1.960000\nstale_end:2.000000 stale:0\n' \
        'invalid_start:1.960000 invalid_end:2.000000 invalid_duration:0.040000\n'
    assert process.returncode == 1 and ' 0 alarms, 1 stalls, 1 invalid alarms, 51 frames' in err


def test_live_json(tmp_path):
    """Alarms of JSON are reported while it is written."""
    with open(tmp_path / 'out', 'w') as out, subprocess.Popen(
            [sys.executable, TOOLS['quality-gate'], '--above', '9', '--fps', '25', '-'], text=True, stdin=subprocess.PIPE, stdout=out,
            stderr=subprocess.PIPE) as process:
        process.stdin.write('{"filter": "bliinds",\n"frames": [\n{"frameNum": 0, "metrics": {"score": 50}},\n')
        process.stdin.flush()
        try:
            wait_for((tmp_path / 'out').read_text)
        finally:
            err = process.communicate(timeout=60)[1]
    assert (tmp_path / 'out').read_text() == 'alarm_start:0.000000 alarm_raised:0.000000\n'
    assert process.returncode == 2 and 'this JSON is incomplete' in err


GLUED = re.sub(r' score:19.*\n', ' ', WHOLE)


@pytest.mark.parametrize('text, options, code, message', [
    # they may have been bad where they end, or have lost the end of a line
    (WHOLE[:-30], '--above 60', 2, 'INCOMPLETE: 0 alarms, 0 stalls, 49 frames'),
    (WHOLE[:-30], '--above 40', 1, 'FAILED: 1 alarms, 0 stalls, 49 frames'),
    (GLUED, '--above 60', 2, 'incomplete lines, which are left out: 1\nquality-gate: INCOMPLETE: 0 alarms, 0 stalls, 48'),
    (None, '--above 60', 2, "'log': cannot be read: No such file or directory"),
    (lines(3, lambda i: 5, lambda i: False), '--above 60', 2,
     'none of its 3 frames has a valid number'),
    (document([]), '--above 60 --fps 25', 2, 'none of its 0 frames has a valid number'),
    (WHOLE, '--above 60 --metric foo', 2, "'log': there is no foo in it; it has score, raw, valid: name one with --metric"),
    (WHOLE.replace('raw', 'cambi'), '--above 60 --frozen 1s', 2, "'log': --frozen needs scores of bliinds: score is another metric"),
    (WHOLE, '--above nan', 2, 'must be a number'),
    (WHOLE, '--above 60 --for 2x', 2, "argument --for: '2x' is not a duration: use 90s, 1m30s, 500ms, 1:30 or 01:02:03"),
    (WHOLE, '--above 1_0', 2, 'must be a number'),
    (WHOLE, '--above 60 --fps 0', 2, 'and --fps from 0.000001 to 1000000'),
    (UNTIMED, '--above 60 --fps 1e-300', 2, 'and --fps from 0.000001 to 1000000'),
    (WHOLE, '--above 60 --listen x', 2, 'cannot listen at x: ')])
def test_errors(gate, text, options, code, message):
    got, _, err = gate(text, options)
    assert got == code and message in err


def test_output_fails(tmp_path):
    (tmp_path / 'log').write_text(WHOLE)
    with open('/dev/full', 'w') as full:
        done = tool('quality-gate', '--above', 40, tmp_path / 'log', capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, 'quality-gate: [Errno 28] No space left on device\n')


def test_listen(gate):
    """Numbers by HTTP, from the start; the filter is known by the fields of the first frame."""
    pytest.importorskip('prometheus_client', reason='no python3-prometheus-client')
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        port = taken.getsockname()[1]
        taken.listen()
        code, _, err = gate(WHOLE, f'--above 40 --listen {port}')
        assert code == 2 and f'cannot listen at {port}: ' in err
    process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], '--above', '60', '--listen', f'127.0.0.1:{port}',
                                '--stale', '400ms', '--damaged', '0', '--frozen', '1s', '--stream', 'a "b"\\c', '-'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, text=True)
    text = ''

    def come(pattern):
        nonlocal text
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return False
        return re.search(pattern, text)

    def states():
        return {kind: int(float(value)) for kind, value in
                re.findall(r'^ffmpeg_quality_state\{kind="(\w+)",stream="a \\"b\\"\\\\c"\} (\S+)$', text, re.M)}
    wait_for(lambda: come(r'state\{.*} 0'))
    assert states() == {'quality': 0, 'stale': 0, 'invalid': 0, 'damaged': 0, 'frozen': 0} and text.count('\n') == 7
    wait_for(lambda: come(r'state\{.*} 1'))
    assert states() == {'quality': 0, 'stale': 1, 'invalid': 0, 'damaged': 0, 'frozen': 0}
    process.stdin.write(''.join(LOG.splitlines(keepends=True)[170:240]).replace('valid:1', 'valid:1 damaged:1').replace('raw', 'still:1 raw'))
    process.stdin.flush()
    wait_for(lambda: come(r'frames_total\{.*\} 70'))
    assert states() | {'stale': 0} == {'quality': 1, 'stale': 0, 'invalid': 0, 'damaged': 1, 'frozen': 1}
    process.communicate(timeout=60)
    assert 'filter="bliinds",' in text and 'metric="score",stream="a \\"b\\"\\\\c"' in text
    found = {name + le: float(value) for name, le, value in
             re.findall(r'^ffmpeg_quality_(\w+)\{[^}]*?(?:le="([^"]*)")?,?metric.*\} (\S+)$', text, re.M)}
    assert abs(time.time() - found.pop('last_frame_timestamp_seconds')) < 60
    assert found.pop('score_distribution_created')
    buckets = {f'score_distribution_bucket{le}.0': 0 if le < 40 else 25 if le < 70 else 57 for le in range(10, 100, 10)}
    assert found == {'score': 70, 'frames_total': 70, 'invalid_frames_total': 13, 'alarm': 1, 'alarms_total': 2, **buckets,
                     'score_distribution_bucket+Inf': 57, 'score_distribution_sum': 3240, 'score_distribution_count': 57}
