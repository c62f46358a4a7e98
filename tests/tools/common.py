"""What the tests of the tools share: made-up logs, videos, and what is on a page.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import base64
import functools
import hashlib
import html.parser
import itertools
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FFMPEG = os.path.abspath(os.environ.get('FFMPEG') or shutil.which('ffmpeg') or 'ffmpeg')
TOOLS = {path.name: str(path) for path in ROOT.glob('tools/*/quality-*')}
sys.path[:0] = [str(ROOT / 'tools'), str(ROOT / 'tools/farm')]
sys.dont_write_bytecode = True


def needs(*programs):
    """A test is skipped, and says so, where one of them is missing."""
    missing = [program for program in programs if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin')]
    return pytest.mark.skipif(bool(missing), reason=f'no {", ".join(missing)}')


@functools.cache
def parts_of_ffmpeg():
    return ''.join(ffmpeg(what).decode() for what in ('-encoders', '-decoders', '-filters', '-bsfs'))


def has(*names):
    """The same of what ffmpeg may be built without."""
    missing = [name for name in names if not re.search(rf'\b{name}\b', parts_of_ffmpeg())]
    return pytest.mark.skipif(bool(missing), reason=f'no {", ".join(missing)} in this FFmpeg')


def tool(name, *arguments, **options):
    """Runs a tool to its end."""
    options = {'capture_output': True, 'text': True, 'timeout': 600, 'check': False} | options
    return subprocess.run([sys.executable, TOOLS[name], *map(str, arguments)], **options)


def ffmpeg(*arguments, check=True, log=False, **options):
    """Its output, or its log."""
    done = subprocess.run([FFMPEG, '-nostdin', '-y', '-v', 'info' if log else 'error', *map(str, arguments)],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)
    assert not check or not done.returncode, done.stderr.decode(errors='replace')[-2000:]
    return done.stderr.decode(errors='replace') if log else done.stdout


def video(path, options='-c:v ffv1', seconds=3, filters='null', source='testsrc2=s=160x96:r=25'):
    """Another picture in each frame; what is drawn does not repeat."""
    ffmpeg('-lavfi', f'{source}:d={seconds},format=yuv420p,{filters}', *options.split(), path)
    return str(path)


def script(path, text):
    """A program that stands in for another one."""
    path.parent.mkdir(exist_ok=True)
    path.write_text('#!/bin/bash\n' + text)
    path.chmod(0o755)
    return path


def wait_for(condition, seconds=240):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def examples(name):
    """Commands and lines of output of a manual page."""
    plain = re.sub(r'@([@{}])', r'\1', (ROOT / f'doc/{name}.texi').read_text())
    return [[line for block in re.findall(rf'^@{kind}\n(.*?)^@end {kind}', plain, re.M | re.S) for line in block.splitlines()]
            for kind in ('example', 'verbatim')]


def lines(frames, score, valid=lambda i: True):
    """Of stats_file: 25 a second; score and valid are functions of the frame's number."""
    return ''.join(f'n:{i + 1} pts:{i} pts_time:{i / 25:f} score:{score(i)} raw:1 valid:{valid(i):d}\n'
                   for i in range(frames))


# Logs that no tool can use, and what is said of them.
BAD_LOGS = {
    'empty': ('', 'is empty'),
    'text': ('some text\n', "is no log that is known here; its first line is 'some text'"),
    'zeros': ('\0' * 300, 'is no log that is known here; its first line is ' + repr('\0' * 60)),
    'noline': ('n:1 pts:0 pts_time:0.0 sco', "is no log that is known here; its first line is 'n:1 pts:0 pts_time:0.0 sco'"),
    'cut.json': ('{\n  "frames": [\n    {"frameNum": 0, "metr', 'this JSON is not whole ('),
    'cut.xml': ('<VMAF>\n  <frames>\n    <frame frameNum="0" sc', 'this XML is not whole ('),
    'noframes.json': ('{"frames": []}\n', 'has no frames'),
    'otherframes.json': ('{"frames": [{"n": 1}]}\n', 'these frames are not in the shape of libvmaf'),
    'other.json': ('{"pictures": []}\n', 'this JSON has neither the "frames" of libvmaf nor those of'),
    'othermetrics.json': ('{"psnr": [{"psnr_avg": 1}]}\n', 'these frames have no number "n"'),
    'noframes.csv': ('Frame,score,\n', 'has no frames'),
    'nan': (lines(3, lambda i: 'nan'), 'none of its 3 frames has a valid number of score'),
    'invalid': (lines(3, lambda i: 5, lambda i: False), 'none of its 3 frames has a valid number of score'),
}


class Page(html.parser.HTMLParser):
    """A page of quality-report: rows of its tables, cards of moments, notes, and data of its curves."""

    def __init__(self, path):
        super().__init__()
        self.text = Path(path).read_text(encoding='utf-8')
        self.elements, self.scripts, self.rows, self.cards, self.notes, self.paragraphs = [], [], [], [], [], []
        self.open = []
        self.feed(self.text)
        self.data = json.loads(self.scripts[0])

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ('meta', 'img', 'br', 'link', 'input'):
            self.open.append(tag)
        found = {'script': self.scripts, 'li': self.notes, 'p': self.paragraphs}.get(tag)
        if found is not None:
            found.append('')
        if tag in ('tr', 'figcaption'):
            {'tr': self.rows, 'figcaption': self.cards}[tag].append([])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        for tag, found in ('script', self.scripts), ('li', self.notes), ('p', self.paragraphs):
            if tag in self.open:
                found[-1] += data
        for tag, found in ('tr', self.rows), ('figcaption', self.cards):
            if tag in self.open and data.strip():
                found[-1].append(data.strip())

    def pictures(self):
        return [base64.b64decode(element['src'].partition(',')[2]) for tag, element in self.elements
                if tag == 'img' and element['src'].startswith('data:image/jpeg;base64,')]

    def check(self):
        """It needs nothing else, runs nothing but its own scripts, and says all pictures in words."""
        assert not self.open
        for tag, attributes in self.elements:
            assert tag not in ('link', 'iframe', 'object', 'embed', 'base', 'form', 'a'), tag
            for name, value in attributes.items():
                assert not name.startswith('on'), (tag, name)
                assert name not in ('src', 'href') or value.startswith('data:image/'), (tag, name)
            if tag == 'img' or attributes.get('role') == 'img':
                assert len(attributes.get('alt') or attributes.get('aria-label')) > 10
        own = self.text.replace(self.scripts[1], '')    # the library has its licence's address
        assert not re.search(r'https?:|@import|url\(', own)
        policy = next(element['content'] for _, element in self.elements
                      if element.get('http-equiv') == 'Content-Security-Policy')
        assert policy.startswith("default-src 'none';") and len(self.scripts) == 3
        digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in self.scripts[1:]]
        assert re.search('script-src(.*)', policy)[1].split() == [f"'sha256-{digest}'" for digest in digests]
        return self

    def curve(self, chart=0, curve=0, key='mean'):
        """Values of a curve over time."""
        data = zlib.decompress(base64.b64decode(self.data['time']['charts'][chart]['curves'][curve][key]))
        return struct.unpack(f'<{len(data) // 4}f', data)

    def times(self, log=0):
        data = zlib.decompress(base64.b64decode(self.data['time']['times'][log]))
        return [at / 1e6 for at in itertools.accumulate(struct.unpack(f'<{len(data) // 8}d', data))]

    def marked(self):
        """What is said of what scores were made from."""
        return [text for text in self.paragraphs if 'bitstream' in text]


def report(folder, *arguments, **options):
    """Makes a page, which is checked."""
    done = tool('quality-report', *arguments, '-o', folder / 'page.html', **options)
    assert not done.returncode, done.stderr
    return Page(folder / 'page.html').check()
