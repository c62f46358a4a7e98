#!/usr/bin/env python3
"""Measures quality-gate at many live streams: its CPU time, memory, and the time from a line to its alarm.

    gate.py [--streams 100] [--rate 25] [--seconds 60] [--follow] [options of quality-gate; %n is the stream's number]

Each stream is a gate of its own, as the unit of systemd starts them, with a pipe, or a log that it
follows, to which a line comes in real time. Each has an alarm every 10 s, at other times than the others.
SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import os
import re
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

GATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../tools/report/quality-gate')
PERIOD = 10     # seconds from alarm to alarm of a stream; it lasts half of them


class Stream:
    """A gate, and what feeds it."""

    def __init__(self, number, options, folder):
        path = os.path.join(folder, f'{number}.log') if options.follow else '-'
        source, output = (open(path, 'wb', 0), subprocess.DEVNULL) if options.follow else (None, subprocess.PIPE)
        more = [word.replace('%n', str(number)) for word in options.more]
        self.gate = subprocess.Popen(
            [sys.executable, GATE, '--above', '60', *(['--follow'] if options.follow else []), '--state',
             os.path.join(folder, f'{number}.state'), *more, path],
            bufsize=0, stdin=output, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.file = source or self.gate.stdin
        self.number, self.frame, self.was_bad, self.sent = number, 0, False, None

    def write(self, rate):
        at = self.frame / rate
        bad = (at + self.number / 9) % PERIOD >= PERIOD / 2
        if bad and not self.was_bad:
            self.sent = time.monotonic()
        self.was_bad = bad
        self.frame += 1
        self.file.write(b'n:%d pts:%d pts_time:%f score:%f raw:0.5 basis:pixels valid:1\n' % (
            self.frame, self.frame, at, 70 if bad else 40))


def memory(pid):
    """MiB of a process that are its own, or its part of what it shares."""
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as file:
        return int(re.search(r'Pss:\s*(\d+)', file.read())[1]) / 1024


def cpu_seconds(pid):
    with open(f'/proc/{pid}/stat', encoding='ascii') as file:
        fields = file.read().rpartition(') ')[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf('SC_CLK_TCK')


def feed(streams, rate, seconds):
    """Lines at their time. Returns the times from a line to its alarm."""
    delays, due = [], time.monotonic()
    end = due + seconds
    selector = selectors.DefaultSelector()
    for stream in streams:
        selector.register(stream.gate.stdout, selectors.EVENT_READ, stream)
    turn = 0
    while due < end:
        # they are spread over the time of a frame
        streams[turn % len(streams)].write(rate)
        turn += 1
        due += 1 / rate / len(streams)
        while True:
            for key, _ in selector.select(max(due - time.monotonic(), 0)):
                text = os.read(key.fd, 1 << 16)
                if b'alarm_raised' in text:
                    delays.append(time.monotonic() - key.data.sent)
            if time.monotonic() >= due:
                break
    return delays


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--streams', type=int, default=100)
    parser.add_argument('--rate', type=int, default=25)
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--follow', action='store_true')
    options, options.more = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        streams = [Stream(number, options, folder) for number in range(options.streams)]
        try:
            while not all(os.path.exists(os.path.join(folder, f'{n}.state')) for n in range(options.streams)):
                feed(streams, options.rate, 2)
            begin, before = time.monotonic(), [cpu_seconds(stream.gate.pid) for stream in streams]
            delays = feed(streams, options.rate, options.seconds)
            wall = time.monotonic() - begin
            cpu = sum(cpu_seconds(stream.gate.pid) for stream in streams) - sum(before)
            sizes = [memory(stream.gate.pid) for stream in streams]
        finally:
            for stream in streams:
                stream.gate.kill()
                stream.gate.wait()
    delays.sort()
    print(f'{options.streams} streams, {options.rate} lines a second, {wall:.0f} s: {cpu / wall:.1%} of a core, '
          f'{sum(sizes):.0f} MiB ({statistics.mean(sizes):.1f} each); {len(delays)} alarms, '
          f'{delays[len(delays) // 2] * 1000:.1f} ms after their line (at most {delays[-1] * 1000:.0f} ms)')


if __name__ == '__main__':
    main()
