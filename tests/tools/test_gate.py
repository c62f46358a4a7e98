"""Tests of quality-gate: alarms, live pipes, errors, numbers for Prometheus.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import re
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from common import TOOLS, document, lines, tool, wait_for


# 70 is bad: from 2 to 2.48 s, 4 to 6.96, 8 to 9.96 (not valid from 9 to 9.48), and from 15 to the end at 19.96.
def is_bad(i):
    return 50 <= i < 63 or 100 <= i < 175 or 200 <= i < 250 or i >= 375


LOG = lines(500, lambda i: 70 if is_bad(i) else 40, lambda i: not 225 <= i < 238)
SUMMARY = '{} alarms, 0 stalls, 500 frames, 13 of them without a valid score\n'
WHOLE = lines(50, lambda i: i)
UNTIMED = re.sub('pts_time:\\S*', 'pts_time:NOPTS', LOG)

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


def told(alarms, worst):
    """What is printed of them."""
    text = ''
    for start, raised, end, *at in alarms:
        text += (f'alarm_start:{start:.6f} alarm_raised:{raised:.6f}\n'
                 f'alarm_start:{start:.6f} alarm_end:{end or 19.96:.6f} alarm_duration:{(end or 19.96) - start:.6f} '
                 f'worst:{worst:.6f} worst_time:{(at or [start])[0]:.6f}{"" if end else " open:1"}\n')
    return text


@pytest.fixture
def gate(tmp_path):
    """Runs the gate on a log; says its exit code, and what it prints."""
    def run(text, options):
        if text is not None:
            (tmp_path / 'log').write_text(text)
        done = tool('quality-gate', *options.split(), 'log', cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr
    return run


@pytest.mark.parametrize('options', ALARMS)
def test_alarms(gate, options):
    alarms = ALARMS[options]
    worst = 40 if '--below' in options else 1 if 'raw' in options else 70
    assert gate(LOG, options) == (1 if alarms else 0, told(alarms, worst),
                                  f'quality-gate: {"BROKEN" if alarms else "passed"}: ' + SUMMARY.format(len(alarms)))


def test_numbers(gate):
    """The same frames without times, as JSON and as lines; one that has lost its time is passed over."""
    options = '--above 60 --for 1s --recover 1500ms'
    frames = [dict(zip(('score', 'valid'), map(int, found))) for found in re.findall(r'score:(\d+) .*valid:(\d)', LOG)]
    for text in document(frames), UNTIMED:
        assert gate(text, options + ' --fps 25')[:2] == (1, told(ALARMS[options], 70))
        assert gate(text, options)[::2] == (
            2, "quality-gate: 'log': has no times: give the frames per second with --fps\n")
    code, _, err = gate(LOG.replace('pts_time:0.76', 'pts_time:NOPTS x:'), '--above 60 --for 1s')
    assert code == 1 and '14 of them without' in err
    # a run that was stopped is told of
    assert 'it has no "eof": true' in gate(document(frames, eof=False), '--above 99')[2]


def test_time_goes_back(gate):
    """A sender that begins again: what lasts goes on, in the new count of time."""
    code, out, err = gate(LOG + LOG, '--above 60 --for 4s')
    assert (code, out) == (1, 'alarm_start:15.000000 alarm_raised:19.000000\n'
                           'alarm_start:-4.960000 alarm_end:0.000000 alarm_duration:4.960000 worst:70.000000 '
                           'worst_time:-4.960000\n' + told([(15, 19, None)], 70))
    assert err.startswith('quality-gate: time goes back from 19.960000 to 0.000000: it is counted on from there\n')


@pytest.mark.parametrize('options, first, end', [
    ('--above 60 --stop', 'alarm_start:2.000000 alarm_raised:2.000000\n', 1),
    ('--above 99 --stale 200ms --stop', 'stale_start:2.360000 stale:1\n', 1),
    ('--above 99 --stale 200ms', 'stale_start:2.360000 stale:1\n', None)])
def test_live(options, first, end):
    """What is told while the pipe is open; with --stop it ends then."""
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


GLUED = re.sub(r' score:19.*\n', ' ', WHOLE)


@pytest.mark.parametrize('text, options, code, message', [
    # they may have been bad where they end, or have lost the end of a line
    (WHOLE[:-30], '--above 60', 2, 'NOT WHOLE: 0 alarms, 0 stalls, 49 frames'),
    (WHOLE[:-30], '--above 40', 1, 'BROKEN: 1 alarms, 0 stalls, 49 frames'),
    (GLUED, '--above 60', 2, 'left out, since they are not whole: 1 lines\n'
     'quality-gate: NOT WHOLE: 0 alarms, 0 stalls, 48'),
    (None, '--above 60', 2, "'log': cannot be read: No such file or directory"),
    (lines(3, lambda i: 5, lambda i: False), '--above 60', 2,
     'none of its 3 frames has a valid number'),
    (document([]), '--above 60', 2, 'none of its 0 frames has a valid number'),
    (WHOLE, '--above 60 --metric foo', 2, "'log': there is no foo in it; it has score, raw, valid: name one with --metric"),
    (WHOLE, '--above nan', 2, 'must be a number'),
    (WHOLE, '--above 60 --for 2x', 2, "argument --for: '2x' is no duration such as 2s, 500ms or 1m"),
    (WHOLE, '--above 60 --fps 0', 2, '--fps must be above 0'),
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
    """Numbers by HTTP, while there are frames; the filter is known by its fields."""
    pytest.importorskip('prometheus_client', reason='no python3-prometheus-client')
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        port = taken.getsockname()[1]
        taken.listen()
        code, _, err = gate(WHOLE, f'--above 40 --listen {port}')
        assert code == 2 and f'cannot listen at {port}: ' in err
    process = subprocess.Popen([sys.executable, TOOLS['quality-gate'], '--above', '60', '--listen', f'127.0.0.1:{port}',
                                '--stream', 'a "b"\\c', '-'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, text=True)
    text = ''.join(LOG.splitlines(keepends=True)[170:240]).replace('raw', 'cambi')
    process.stdin.write(text)
    process.stdin.flush()

    def come():
        nonlocal text
        try:
            with urllib.request.urlopen(f'http://127.0.0.1:{port}/metrics', timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return False
        return re.search(r'frames_total\{.*\} 70', text)
    wait_for(come)
    process.communicate(timeout=60)
    assert 'filter="vmaf",' in text and 'metric="score",stream="a \\"b\\"\\\\c"' in text
    found = {name + le: float(value) for name, le, value in
             re.findall(r'^ffmpeg_quality_(\w+)\{[^}]*?(?:le="([^"]*)")?,?metric.*\} (\S+)$', text, re.M)}
    assert abs(time.time() - found.pop('last_frame_timestamp_seconds')) < 60
    assert found.pop('score_distribution_created')
    buckets = {f'score_distribution_bucket{le}.0': 0 if le < 40 else 25 if le < 70 else 57 for le in range(10, 100, 10)}
    assert found == {'score': 70, 'frames_total': 70, 'invalid_frames_total': 13, 'alarm': 1, 'alarms_total': 2, **buckets,
                     'score_distribution_bucket+Inf': 57, 'score_distribution_sum': 3240, 'score_distribution_count': 57}
