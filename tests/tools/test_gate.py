"""Tests of quality-gate: alarms, live pipes, errors, metrics for Prometheus.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import bisect
import contextlib
import http.server
import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
from common import BAD_LOGS, FFMPEG, ROOT, TOOLS, ffmpeg, has, lines, needs, tool, video, wait_for


# 70 is bad: from 2 to 2.48 s, 4 to 6.96, 8 to 9.96 (not valid from 9 to 9.48), and from 15 to the end at 19.96.
def is_bad(i):
    return 50 <= i < 63 or 100 <= i < 175 or 200 <= i < 250 or i >= 375


LOG = lines(500, lambda i: 70 if is_bad(i) else 40, lambda i: not 225 <= i < 238)
SUMMARY = '{} alarms, 0 stalls, 500 frames, 13 of them without a valid score\n'

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
    '--above 1.5 --metric raw': [],
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
    def run(text, options, log='log'):
        if text is not None:
            (tmp_path / log).write_text(text)
        done = tool('quality-gate', *options.split(), log, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr
    return run


@pytest.mark.parametrize('options', ALARMS)
def test_alarms(gate, options):
    alarms = ALARMS[options]
    worst = 40 if '--below' in options else 1 if 'raw' in options else 70
    assert gate(LOG, options) == (1 if alarms else 0, told(alarms, worst),
                                  f'quality-gate: {"BROKEN" if alarms else "passed"}: ' + SUMMARY.format(len(alarms)))


def test_stop(gate):
    code, out, err = gate(LOG, '--above 60 --for 2s --stop')
    assert (code, out) == (1, told([(4, 6, 6)], 70).replace('worst_time:4.000000', 'worst_time:4.000000 open:1'))
    assert '151 frames' in err


def test_numbers(gate):
    """The same frames without times; test_logs.py has all forms."""
    options = '--above 60 --for 1s --recover 1500ms'
    csv = 'Frame,score,valid,\n' + ''.join(f'{i},{score},{valid},\n' for i, (score, valid) in enumerate(
        re.findall(r'score:(\d+) .*valid:(\d)', LOG)))
    assert gate(csv, options + ' --fps 25')[:2] == (1, told(ALARMS[options], 70))
    assert gate(csv, options)[::2] == (2, "quality-gate: 'log': has no times: give the frames per second with --fps\n")


def test_time_goes_back(gate):
    """A sender that begins again: what lasts goes on, in the new count of time."""
    code, out, err = gate(LOG + LOG, '--above 60 --for 4s')
    assert (code, out) == (1, 'alarm_start:15.000000 alarm_raised:19.000000\n'
                           'alarm_start:-4.960000 alarm_end:0.000000 alarm_duration:4.960000 worst:70.000000 '
                           'worst_time:-4.960000\n' + told([(15, 19, None)], 70))
    assert err.startswith('quality-gate: time goes back from 19.960000 to 0.000000: it is counted on from there\n')
    # 0.4 s on both sides
    parts = lines(35, lambda i: 70 if i >= 25 else 40) + lines(30, lambda i: 70 if i < 10 else 40)
    assert gate(parts, '--above 60 --for 500ms')[1].startswith('alarm_start:-0.360000 alarm_raised:0.160000\n')


def start(*options, log='-', **pipes):
    return subprocess.Popen([sys.executable, TOOLS['quality-gate'], *map(str, options), log], text=True,
                            **{'stdin': subprocess.PIPE} | pipes)


def takes_hang_ups(process):
    """Waits until it is the gate, which SIGHUP does not end."""
    def ready():
        status = Path(f'/proc/{process.pid}/status').read_text()
        return 'bash' not in status and int(re.search('SigCgt:\\s*(\\w+)', status)[1], 16) & 1
    wait_for(ready)


def test_live(tmp_path):
    """What is told while the pipe is open."""
    pytest.importorskip('prometheus_client', reason='no python3-prometheus-client')
    out = tmp_path / 'out'
    process = start(*'--above 60 --for 1s --recover 1s --stale 1s --prometheus'.split(), tmp_path / 'prom',
                    stdout=open(out, 'w'), stderr=subprocess.PIPE)

    def wait(pattern, path):
        wait_for(lambda: path.exists() and re.search(pattern, path.read_text()))
    rows = LOG.splitlines(keepends=True)
    process.stdin.write(''.join(rows[:126]))    # up to 5 s
    process.stdin.flush()
    wait('alarm_start:4.000000 alarm_raised:5.000000\n', out)
    wait(r'alarm\{.*\} 1', tmp_path / 'prom')
    wait('stale_start:5.000000 stale:1\n', out)
    process.stdin.write(''.join(rows[126:]))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and 'BROKEN: 2 alarms, 1 stalls, 500 frames' in err
    assert 'stale_end:5.040000 stale:0\n' in out.read_text()


def test_stop_ends_at_once():
    """With the pipe still open."""
    process = start('--above', 60, '--stop', stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    process.stdin.write(''.join(LOG.splitlines(keepends=True)[:60]))
    process.stdin.flush()
    assert process.wait(timeout=60) == 1
    assert process.stdout.read().startswith('alarm_start:2.000000 alarm_raised:2.000000\n')


@pytest.mark.parametrize('name', [*BAD_LOGS, 'none'])
def test_bad_logs(gate, name):
    text, message = BAD_LOGS.get(name, (None, 'cannot be read: No such file or directory'))
    code, out, err = gate(text, '--above 60', name)
    assert (code, out, err.count('\n')) == (2, '', 1)
    assert err.startswith('quality-gate: ') and message in err


@pytest.mark.parametrize('options, message', [
    ('--above 60 --metric foo', "'log': there is no foo in it; it has score, raw, valid; name one with --metric"),
    ('', 'one of the arguments --above --below is required'),
    ('--above nan', "argument --above: 'nan' is no number"),
    ('--above 60 --for 2x', "argument --for: '2x' is no duration such as 2s, 500ms or 1m"),
    ('--above 60 --below 50', 'argument --below: not allowed with argument --above'),
    ('--above 60 --fps 0', '--fps must be above 0'),
])
def test_options(gate, options, message):
    code, _, err = gate(lines(50, lambda i: i), options)
    assert code == 2 and message in err


# For python3 -c, with the gate's path as the first argument: a gate that is changed before its main() begins.
LOAD = f"""
import os, signal, sys
sys.path.append({str(ROOT / 'tools')!r})
import quality_common
gate = quality_common.load(sys.argv.pop(1))
def main():
    quality_common.run('quality-gate', lambda: gate.Session(gate.parse_arguments()).run(), gate.UNUSABLE)
"""
WHOLE = lines(50, lambda i: i)
METADATA = ''.join(f'frame:{i} pts:{i} pts_time:{i / 25}\nlavfi.score={i}\nlavfi.valid=1\n' for i in range(50))
GLUED = ''.join(re.sub(' score.*\n', ' ', line) if i == 19 else line
                for i, line in enumerate(WHOLE.splitlines(keepends=True)))


@pytest.mark.parametrize('text, options, code, message', [
    # they may have been bad where they end, or have lost the end of a line
    (WHOLE[:-30], '--above 60', 2, 'NOT WHOLE: 0 alarms, 0 stalls, 49 frames'),
    (WHOLE[:-30], '--above 40', 1, 'BROKEN: 1 alarms, 0 stalls, 49 frames'),
    (METADATA[:-2], '--above 60', 2, 'NOT WHOLE: 0 alarms, 0 stalls, 49 frames'),
    (METADATA[:METADATA.rindex('\nlavfi.valid') + 1], '--above 60', 2, 'NOT WHOLE: 0 alarms, 0 stalls, 49 frames'),
    (METADATA[:METADATA.rindex('\nlavfi.score')], '--above 60', 2, 'NOT WHOLE: 0 alarms, 0 stalls, 48 frames'),
    (GLUED, '--above 60', 2, 'left out, since they are damaged: 1 lines\nquality-gate: NOT WHOLE: 0 alarms, 0 stalls, 48'),
    # one without a time is passed over, a hundred are not
    (re.sub('pts_time:0.76\\S*', 'pts_time:NOPTS', WHOLE), '--above 40 --for 100ms', 1, '50 frames, 1 of them without'),
    (re.sub('(n:(?:[2-9].|1..) .*)pts_time:\\S* ', r'\1', lines(150, lambda i: 0)), '--above 60 --for 1s', 2,
     '100 frames in a row have no time: give the frames per second with --fps'),
])
def test_not_whole(gate, text, options, code, message):
    got, _, err = gate(text, options)
    assert got == code and message in err


def test_output_fails(tmp_path):
    (tmp_path / 'log').write_text(WHOLE)
    with open('/dev/full', 'w') as full:
        done = tool('quality-gate', '--above', 40, tmp_path / 'log', capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, 'quality-gate: [Errno 28] No space left on device\n')
    (tmp_path / 'log').write_text(lines(20000, lambda i: i % 2))
    done = subprocess.run(f'"{sys.executable}" "{TOOLS["quality-gate"]}" --above 0 log; echo $? >&2', shell=True,
                          cwd=tmp_path, text=True, stderr=subprocess.PIPE, check=False,
                          stdout=subprocess.Popen(['head', '-n', '1'], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL).stdin)
    assert done.stderr == '2\n'


# ---- Prometheus ----

@pytest.fixture
def metrics(tmp_path):
    pytest.importorskip('prometheus_client', reason='no python3-prometheus-client')

    def run(text, *options):
        (tmp_path / 'log').write_text(text)
        tool('quality-gate', '--above', 60, '--prometheus', tmp_path / 'quality.prom', *options, tmp_path / 'log')
        assert not [name for name in os.listdir(tmp_path) if name.endswith('.tmp')]
        text = (tmp_path / 'quality.prom').read_text()
        return {name + le: float(value) for name, le, value in
                re.findall(r'^ffmpeg_quality_(\w+)\{[^}]*?(?:le="([^"]*)")?,?metric.*\} (\S+)$', text, re.M)}, text
    return run


def test_metrics(metrics):
    found, text = metrics(LOG, '--for', '4s', '--stream', 'a "b"\\c\nd')
    assert 'stream="a \\"b\\"\\\\c\\nd"' in text and 'filter="bliinds",' in text and 'metric="score",' in text
    assert abs(time.time() - found.pop('last_frame_timestamp_seconds')) < 60
    distribution = {f'score_distribution_bucket{le}.0': 0 if le < 40 else 237 if le < 70 else 487
                    for le in range(10, 100, 10)}
    assert found == {'score': 70, 'frames_total': 500, 'invalid_frames_total': 13, 'alarm': 1, 'alarms_total': 1,
                     'webhook_failures_total': 0,
                     **distribution, 'score_distribution_bucket+Inf': 487,
                     'score_distribution_sum': 26980, 'score_distribution_count': 487}


def test_listen(gate):
    """The same metrics by HTTP, while there are frames."""
    pytest.importorskip('prometheus_client', reason='no python3-prometheus-client')
    with socket.socket() as taken:
        taken.bind(('127.0.0.1', 0))
        port = taken.getsockname()[1]
        taken.listen()
        code, _, err = gate(WHOLE, f'--above 40 --listen {port}')
        assert code == 2 and f'cannot listen at 127.0.0.1:{port}' in err
    process = start('--above', 60, '--listen', port, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process.stdin.write(''.join(LOG.splitlines(keepends=True)[:60]))
    process.stdin.flush()
    text = ''

    def come():
        nonlocal text
        try:
            with urllib.request.urlopen(f'http://localhost:{port}/metrics', timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return False
        return re.search(r'frames_total\{.*\} 60', text)
    wait_for(come)
    assert re.search(r'alarm\{.*\} 1', text)
    process.communicate(timeout=60)
    assert gate(WHOLE, '--above 40 --listen nowhere')[0] == 2


def test_dashboard(metrics):
    """It asks for metrics that there are."""
    text = (ROOT / 'doc/quality-dashboard.json').read_text()
    there = set(re.findall(r'^(ffmpeg_quality_\w+)\{', metrics(LOG)[1], re.M))
    asked = {name for target in re.findall(r'"(?:expr|query)": "(.*)"', text)
             for name in re.findall(r'ffmpeg_quality_\w+', target)}
    assert json.loads(text)['panels'] and len(asked) > 8 and asked <= there, asked - there


@needs('systemd-analyze')
def test_unit(tmp_path):
    """systemd takes it; what it starts is in the folder of a test."""
    for program in 'ffmpeg', 'quality-gate':
        (tmp_path / program).write_text('#!/bin/sh\n')
    unit = tmp_path / 'quality-gate@.service'
    shutil.copy(ROOT / 'doc/quality-gate@.service', unit)
    done = subprocess.run(['systemd-analyze', 'verify', '--man=no', unit], capture_output=True, text=True, check=False)
    assert not done.returncode and unit.name not in done.stderr, done.stderr


@has('bliinds', 'quantizer_metadata', 'libx264')
def test_command_of_unit(tmp_path):
    """It sends the stream on as it is, and judges it; its process is the gate, which takes the SIGHUP of a reload."""
    video(tmp_path / 'in.ts', '-c:v libx264 -bf 0')
    (tmp_path / 'cam1.options').write_text('--above 0 --for 1s')
    for name, path in ('ffmpeg', FFMPEG), ('quality-gate', TOOLS['quality-gate']):
        (tmp_path / 'bin').mkdir(exist_ok=True)
        (tmp_path / 'bin' / name).symlink_to(path)
    line = re.search('^ExecStart=(.*)', (ROOT / 'doc/quality-gate@.service').read_text(), re.M)[1]
    command = [word.replace('$$', '$').replace('%i', 'cam1').replace('/etc/quality-gate', str(tmp_path))
               for word in shlex.split(line)]
    os.mkfifo(tmp_path / 'fifo')
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={
        **os.environ, 'PATH': f'{tmp_path}/bin:{os.environ["PATH"]}', 'STATE_DIRECTORY': str(tmp_path),
        'INPUT': str(tmp_path / 'fifo'), 'OUTPUT': '-f mpegts out.ts'})
    with open(tmp_path / 'fifo', 'wb') as fifo:
        takes_hang_ups(process)
        process.send_signal(signal.SIGHUP)
        fifo.write((tmp_path / 'in.ts').read_bytes())
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and re.match('alarm_start:(.*) alarm_raised:.*\n$', out) and 'settings are read anew' in err
    packets = [ffmpeg('-i', tmp_path / name, '-map', '0:v', '-c', 'copy', '-f', 'framemd5', '-') for name in ('in.ts', 'out.ts')]
    assert packets[0] == packets[1] and packets[0].count(b'\n') > 75
    assert json.loads((tmp_path / 'cam1.state').read_text())['gate']['alarm']


def test_metrics_of_few(metrics):
    """Nothing valid yet, and a score of 0; and a scale without an upper end."""
    found, _ = metrics(lines(4, lambda i: 0, lambda i: i == 3))
    assert [found[name] for name in ('score', 'frames_total', 'invalid_frames_total', 'score_distribution_sum',
                                     'score_distribution_count')] == [0, 4, 3, 0, 1]
    found, text = metrics(lines(4, lambda i: 5, lambda i: False))
    assert found['score'] != found['score'] and found['score_distribution_count'] == 0
    found, text = metrics(lines(4, lambda i: 70).replace('score', 'psnr_avg'))
    assert found['score_distribution_sum'] == 280 and 'filter="psnr"' in text


def test_metrics_cannot_be_written(gate):
    pytest.importorskip('prometheus_client', reason='no python3-prometheus-client')
    assert gate(WHOLE, '--above 60 --prometheus none/prom') == (
        0, '', "quality-gate: 'none/prom' cannot be written: No such file or directory\n"
        'quality-gate: passed: 0 alarms, 0 stalls, 50 frames, 0 of them without a valid score\n')
    code, _, err = gate(WHOLE, '--above 40 --prometheus /dev/full')
    assert code == 1 and err.startswith("quality-gate: '/dev/full' cannot be written: No space left on device\n")


def test_metrics_need_a_package(tmp_path):
    (tmp_path / 'log').write_text(WHOLE)
    (tmp_path / 'prometheus_client.py').write_text('raise ImportError')
    done = tool('quality-gate', '--above', 60, '--prometheus', 'prom', 'log', cwd=tmp_path,
                env={**os.environ, 'PYTHONPATH': str(tmp_path)})
    assert done.returncode == 2 and 'apt-get install python3-prometheus-client' in done.stderr


def test_names_in_alerts(metrics):
    """Names in the rules are those that the gate writes."""
    found, _ = metrics(LOG)
    rules = (ROOT / 'doc/quality-alerts.yml').read_text()
    names = set(re.findall(r'ffmpeg_quality_(\w+)', rules)) - {'score'}
    assert names and names <= set(found)


@needs('promtool')
def test_alerts(metrics, tmp_path):
    _, text = metrics(LOG)
    subprocess.run(['promtool', 'check', 'metrics'], input=text, text=True, check=True)
    for name in 'quality-alerts.yml', 'quality-alerts-test.yml':
        shutil.copy(ROOT / 'doc' / name, tmp_path)
    subprocess.run(['promtool', 'check', 'rules', 'quality-alerts.yml'], cwd=tmp_path, check=True)
    subprocess.run(['promtool', 'test', 'rules', 'quality-alerts-test.yml'], cwd=tmp_path, check=True)


# ---- webhook and state ----

@pytest.fixture
def receiver():
    """A server that refuses as many posts as `refuse` says, then keeps them."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers['Content-Length'])))
            server.refuse -= 1
            if server.refuse < 0:
                server.got.append(body)
            self.send_response(500 if server.refuse >= 0 else 200)
            self.end_headers()

        def log_message(self, *_):
            pass
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    server.got, server.refuse = [], 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server, f'http://127.0.0.1:{server.server_port}/'
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize('refuse', [0, 2])
def test_webhook(gate, receiver, refuse):
    server, url = receiver
    server.refuse = refuse
    code, _, err = gate(LOG, f'--above 60 --for 1s --recover 1500ms --stream cam1 --webhook {url}')
    assert code == 1 and err.count('takes no events') == bool(refuse) and 'taken' not in err
    ids = [event.pop('id').split('-') for event in server.got]
    assert ids[0][0] == ids[1][0] != ids[2][0] and [name for _, name in ids] == ['alarm', 'recovery'] * 2
    assert [event['event'] for event in server.got] == ['alarm', 'recovery'] * 2
    assert server.got[1] == {'event': 'recovery', 'stream': 'cam1', 'metric': 'score', 'alarm_start': 4, 'alarm_end': 10,
                             'alarm_duration': 6, 'worst': 70, 'worst_time': 4}


def test_webhook_fails(gate, receiver, tmp_path):
    """An event that was not taken waits in the state for the next start."""
    server, url = receiver
    server.refuse = 99
    ends_soon = ['-c', f'{LOAD}gate.POST_END = 1; main()', TOOLS['quality-gate'], '--above', '60', '--for', '4s', '--stop',
                 '--webhook', url, 'log']
    (tmp_path / 'log').write_text(LOG)

    def run(*options):
        done = subprocess.run([sys.executable, *ends_soon, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1 and 'alarm_raised:19.000000' in done.stdout and not server.got
        assert done.stderr.count('takes no events, which is tried on: HTTP Error 500') == 1
        return done.stderr
    assert '2 events that the webhook has not taken are lost' in run()
    assert "1 events that the webhook has not taken wait in 'state'" in run('--state', 'state')
    server.refuse = 0
    # it is posted without any new frame, and what else is kept stays
    process = start('--above', 60, '--follow', '--state', tmp_path / 'state', '--webhook', url, log=tmp_path / 'none')
    wait_for(lambda: not json.loads((tmp_path / 'state').read_text())['events'], 30)
    process.kill()
    process.wait()
    gate(WHOLE, f'--above 60 --state state --webhook {url}')
    assert [event['event'] for event in server.got] == ['alarm', 'recovery']
    assert gate(LOG, '--above 60 --webhook file:///etc/passwd')[0] == 2


@pytest.mark.parametrize('again', [lambda i: 70, lambda i: 70 if i < 25 else 40])
def test_state(gate, again):
    """A restart in an alarm: it is neither raised again nor lost, and its length goes on."""
    options = '--above 60 --for 1s --state state'
    code, out, _ = gate(lines(100, lambda i: 40 if i < 25 else 70), options)
    assert (code, out) == (1, 'alarm_start:1.000000 alarm_raised:2.000000\n')
    code, out, _ = gate(lines(50, again), options)
    assert code == 1
    # 1 to 3.96 s before, 1 s after it
    assert out == ('' if again(49) == 70 else 'alarm_start:-2.960000 alarm_end:1.000000 alarm_duration:3.960000 '
                   'worst:70.000000 worst_time:-2.960000\n')
    code, out, _ = gate(lines(50, lambda i: 40), options)
    assert (code, out.count('alarm_end')) == ((1, 1) if again(49) == 70 else (0, 0))


def test_bad_state(gate, tmp_path):
    code, _, err = gate(WHOLE, '--above 60 --state none/state')
    assert code == 0 and err.count("quality-gate: 'none/state' cannot be written: No such file or directory\n") == 1
    gate(WHOLE, '--above 60 --state state')
    good = (tmp_path / 'state').read_text()
    for text in '', '[]', '{"gate": {}, "events": []}', good[:-3], good.replace('false', '1'), good.replace('[]}', '{}}'):
        (tmp_path / 'state').write_text(text)
        code, _, err = gate(WHOLE, '--above 60 --state state')
        assert code == 2 and err.startswith("quality-gate: 'state' "), text


# ---- live: logs that are followed, restarts, a day ----

def events_of(frames, above, window, hold, recover):
    """What the gate is to tell of (time, value), in microseconds; None for a value that is not valid. Unlike the gate, it
    looks at all frames at once, as runs of good and bad ones."""
    shift, last, valid, runs = 0, 0, [], []
    for time_of_log, value in frames:
        shift = max(shift, last - time_of_log)
        last = time_of_log + shift
        if value is not None:
            valid.append((last, value, shift))
    times = [at for at, _, _ in valid]
    sums = [0, *itertools.accumulate(value for _, value, _ in valid)]
    for i, (at, _, shift) in enumerate(valid):
        first = bisect.bisect_right(times, at - window)
        mean = (sums[i + 1] - sums[first]) / (i + 1 - first)
        if not runs or runs[-1][0] != (mean > above):
            runs.append((mean > above, []))
        runs[-1][1].append((at, mean, shift))
    found, alarm, worst = [], False, []
    for bad, run in runs:
        begin = run[0][0]
        if bad:
            worst = (worst if alarm else []) + run
        after = [(at, shift) for at, _, shift in run if at - begin >= (hold if bad else recover)]
        if bad == alarm or not after:
            continue
        alarm, (at, shift) = bad, after[0]
        if bad:
            start = begin
            found.append({'alarm_start': begin - shift, 'alarm_raised': at - shift})
        else:
            most = max(mean for _, mean, _ in worst)
            found.append({'alarm_start': start - shift, 'alarm_end': begin - shift, 'alarm_duration': begin - start,
                          'worst': micro(f'{most:.6f}'),
                          'worst_time': min(at for at, mean, _ in worst if mean == most) - shift})
    return found


def micro(value):
    return round(float(value) * 1000000)


class Stream:
    """An ffmpeg that writes a log which is rotated, and what it wrote."""

    LINES = 'n:{0} pts_time:{1:f} score:{2} valid:{3:d}\n'
    METADATA = 'frame:{0} pts:1 pts_time:{1:f}\nlavfi.score={2}\nlavfi.valid={3:d}\n'

    def __init__(self, path, rate, form=LINES):
        self.path, self.rate, self.form, self.frames = path, rate, form, []
        self.begin()

    def begin(self):
        """ffmpeg begins; the log is begun anew where there is one."""
        self.file, self.number = open(self.path, 'w'), 0

    def write(self, scores):
        """Also parts of lines; a score of None is not valid."""
        text = []
        for score in scores:
            at = self.number * 1000000 // self.rate
            self.number += 1
            self.frames.append((at, score))
            text.append(self.form.format(self.number, at / 1e6, score or 0, score is not None))
        text = ''.join(text)
        for part in text[:-20], text[-20:]:
            self.file.write(part)
            self.file.flush()

    def names(self):
        """Those of earlier logs go up by one."""
        old = sorted(self.path.parent.glob(self.path.name + '.*'), key=lambda path: -int(path.suffix[1:]))
        for path in old:
            path.rename(self.path.with_suffix('.' + str(int(path.suffix[1:]) + 1)))
        return self.path.with_suffix('.1')

    def rename(self):
        """ffmpeg goes on writing to the file that has another name now."""
        self.path.rename(self.names())
        self.path.touch()

    def copytruncate(self, appends):
        """With a hole before the next line, or without it."""
        shutil.copyfile(self.path, self.names())
        os.truncate(self.path, 0)
        if appends:
            self.file = open(self.path, 'a')


def of_posts(posts):
    """The events of a receiver, without those that came twice."""
    known = {post['id']: post for post in posts}
    return [{name: micro(value) for name, value in post.items() if isinstance(value, (int, float))}
            for post in known.values()]


OPTIONS = '--above 60 --window 1500ms --for 2s --recover 1s --follow'.split()
LIMITS = 60, 1500000, 2000000, 1000000


def episode(number):
    """30 s with an alarm, which is raised just before the frame that is worst."""
    return [40] * 5 + [None] + [61 + number] * 3 + [90] + [61 + number] * 6 + [40] * 14


@pytest.mark.parametrize('rotation', ['rename', 'append', 'hole', 'restart'])
def test_rotation(tmp_path, rotation):
    """No line is lost or read twice, by a gate that runs and by one that is begun again and again."""
    stream = Stream(tmp_path / 'log', 1)
    stream.write([40])
    outs = [tmp_path / 'always', tmp_path / 'at times']

    @contextlib.contextmanager
    def gate_to(out):
        with open(out, 'a') as file:
            process = start(*OPTIONS, '--state', out.with_suffix('.state'), log=stream.path, stdout=file)
        try:
            wait_for(out.with_suffix('.state').exists)
            yield
        finally:
            process.kill()
            process.wait()

    def told_by(path):
        rows = [line for line in path.read_text().splitlines(keepends=True) if line.endswith('\n')]
        # who is killed just then tells it once more
        words = [dict(word.split(':') for word in line.split()) for line, _ in itertools.groupby(rows)]
        return [{name: micro(value) for name, value in event.items()} for event in words]

    def come(path):
        wait_for(lambda: len(told_by(path)) >= len(events_of(stream.frames, *LIMITS)), 10)
        assert told_by(path) == events_of(stream.frames, *LIMITS)
    with gate_to(outs[1]):
        pass
    with gate_to(outs[0]):
        for number in range(7):
            scores = episode(number)
            stream.write(scores[:9])
            if rotation in ('append', 'hole'):
                come(outs[0])
                stream.copytruncate(rotation == 'append')
            else:
                stream.rename()
                if rotation == 'restart' or number == 4:
                    stream.begin()
            stream.write(scores[9:])
            if number % 3 == 0:     # the other one was not there for some rotations
                with gate_to(outs[1]):
                    come(outs[1])
        come(outs[0])


def test_settings(tmp_path):
    """They are read again at SIGHUP; an alarm stays open over it."""
    settings, out, err = (tmp_path / name for name in ('settings', 'out', 'err'))
    settings.write_text("--above 60 --stream 'cam 1'     # of the evening\n--for 1s\n")
    process = start(f'@{settings}', stdout=open(out, 'w'), stderr=open(err, 'w'))
    rows = lines(300, lambda i: 50).splitlines(keepends=True)

    def feed(number, text, said):
        settings.write_text(text)
        process.send_signal(signal.SIGHUP)
        process.stdin.write(''.join(rows[:number]))
        process.stdin.flush()
        # until it sleeps: all of these lines are judged
        status = Path(f'/proc/{process.pid}/status')
        wait_for(lambda: '\nState:\tS' in status.read_text() and err.read_text().endswith(said), 30)
        del rows[:number]
    takes_hang_ups(process)
    feed(100, '--above 60 --for 1x', 'is no duration such as 2s, 500ms or 1m\nquality-gate: the settings stay as they were\n')
    feed(50, '--above 40 --for 1s --stop', 'stream changes with a restart only\nquality-gate: the settings are read anew\n')
    feed(50, '--above 40 --for 1h', 'the settings are read anew\n')
    feed(100, '--below 60', 'the settings are read anew\n')
    process.communicate(timeout=60)
    assert out.read_text() == told([(4, 5, None)], 50).replace('19.96', '11.96').replace('15.96', '7.96')


# What is seen from outside has points before and behind it; at one of them the gate is killed.
KILLED = f"""{LOAD}
import urllib.request
left = int(sys.argv.pop(1))
def point():
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
def around(call):
    def called(*arguments, **options):
        point()
        result = call(*arguments, **options)
        point()
        return result
    return called
gate.say, os.replace = around(gate.say), around(os.replace)
urllib.request.urlopen = around(urllib.request.urlopen)
main()
"""


def test_killed(tmp_path, receiver):
    """At each point after its start: no event is lost, none is new when it is told again."""
    server, url = receiver
    stream = Stream(tmp_path / 'log', 1, Stream.METADATA)
    for number in range(60):
        stream.write(episode(number))
    printed = ''
    for left in range(1, 31):
        done = subprocess.run([sys.executable, '-c', KILLED, TOOLS['quality-gate'], str(left), *OPTIONS, '--state',
                               tmp_path / 'state', '--webhook', url, stream.path], capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        printed += done.stdout
    expected = events_of(stream.frames, *LIMITS)
    assert 4 < len(of_posts(server.got)) < len(server.got) < len(expected)
    with open(tmp_path / 'out', 'w') as out:
        process = start(*OPTIONS, '--state', tmp_path / 'state', '--webhook', url, log=stream.path, stdout=out)
    try:
        wait_for(lambda: len(of_posts(server.got)) >= len(expected))
    finally:
        process.kill()
        process.wait()
    assert of_posts(server.got) == expected
    printed += (tmp_path / 'out').read_text()
    rows = list(dict.fromkeys(printed.splitlines()))
    assert [micro(value) for value in re.findall(r':(\S+)', ' '.join(rows))] == \
        [value for event in expected for value in event.values()]


def test_day(tmp_path, receiver):
    """24 h with frames that are lost or not valid, restarts of ffmpeg, rotations, and a gate that is killed.
    QUALITY_RATE=25 has all the frames of it."""
    server, url = receiver
    stream = Stream(tmp_path / 'log', int(os.environ.get('QUALITY_RATE', 2)))
    chance = random.Random(1)
    memory = []

    def begin():
        return start(*OPTIONS, '--state', tmp_path / 'state', '--webhook', url, log=stream.path, stdout=subprocess.DEVNULL)

    def hour():
        left = 3600 * stream.rate
        while left > 0:
            length = min(int(chance.expovariate(1 / 60) * stream.rate) + 1, left)
            low, high = chance.choice([(20, 60)] * 20 + [(61, 99)] * 4 + [(50, 70)])
            stream.write([None if chance.random() < .01 else chance.randint(low, high) for _ in range(length)])
            left -= length
            if chance.random() < .02:       # lost
                stream.number += min(length, left)
                left -= length
    process = begin()
    try:
        stream.write([20])
        wait_for((tmp_path / 'state').exists)
        for number in range(24):
            hour()
            if number % 4 == 0:
                stream.rename()
                stream.begin()
            elif number % 4 == 2:
                stream.copytruncate(appends=number % 8 == 2)
            if number in (5, 6, 13):
                process.kill()
                process.wait()
            if number in (5, 7, 13):
                process = begin()
            if number in (14, 23):
                expected = events_of(stream.frames, *LIMITS)
                wait_for(lambda: len(of_posts(server.got)) >= len(expected), 60)
                memory.append(int(re.search('VmRSS:\\s*(\\d+)', Path(f'/proc/{process.pid}/status').read_text())[1]))
    finally:
        process.kill()
        process.wait()
    assert of_posts(server.got) == expected and len(expected) > 200
    assert memory[1] - memory[0] < 1024
