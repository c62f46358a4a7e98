"""What the tests of the tools share: made-up logs, videos, and what is on a page.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import base64
import hashlib
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
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
FFMPEG = os.path.abspath(os.environ.get('FFMPEG') or shutil.which('ffmpeg') or 'ffmpeg')
TOOLS = {path.name: str(path) for path in ROOT.glob('tools/quality-*') if not path.suffix}
sys.path.insert(0, str(ROOT / 'tools'))
sys.dont_write_bytecode = True


def needs(*programs):
    """A test is skipped, and says so, where one of them is missing."""
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(missing), reason=f'no {", ".join(missing)}')


def tool(name, *arguments, **options):
    """Runs a tool to its end."""
    options = {'capture_output': True, 'text': True, 'timeout': 600, 'check': False} | options
    return subprocess.run([sys.executable, TOOLS[name], *map(str, arguments)], **options)


def ffmpeg(*arguments, **options):
    """What it writes to its output."""
    done = subprocess.run([FFMPEG, '-nostdin', '-y', '-v', 'error', *map(str, arguments)],
                          stdin=subprocess.DEVNULL, capture_output=True, check=False, **options)
    assert not done.returncode, done.stderr.decode(errors='replace')[-2000:]
    return done.stdout


def video(path, options='-c:v ffv1', seconds=3, filters='null', source='testsrc2=s=160x96:r=25'):
    """Another picture in each frame; what is drawn does not repeat."""
    ffmpeg('-f', 'lavfi', '-i', f'{source}:d={seconds},format=yuv420p,{filters}', *options.split(), path)
    return str(path)


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def lines(frames, score, valid=lambda i: True):
    """Of stats_file: 25 a second; score and valid are functions of the frame's number."""
    return ''.join(f'n:{i + 1} pts:{i} pts_time:{i / 25:f} score:{score(i)} raw:1 valid:{valid(i):d}\n'
                   for i in range(frames))


def document(frames, **more):
    """JSON of log_path: its frames are fields, and have no times."""
    return json.dumps({'filter': 'bliinds', 'direction': 'lower is better', 'range': [0, 100], 'eof': True,
                       'frames': [{'frameNum': n, 'metrics': fields} for n, fields in enumerate(frames)], **more})


class Page:
    """A page of quality-report: rows of its tables, cards of moments, notes, and data of its curves."""

    def __init__(self, path):
        self.text = Path(path).read_text(encoding='utf-8')
        self.scripts = re.findall('<script[^>]*>(.*?)</script>', self.text, re.S)
        self.data = json.loads(self.scripts[0])
        body = re.sub(r'(<(script|style)[^>]*>).*?(</\2>)', r'\1\3', self.text, flags=re.S)
        # what is in a name does not end an element
        self.root = ElementTree.fromstring(re.sub('<((?:meta|img) [^>]*)>', r'<\1/>', body))
        self.rows, self.cards, notes, paragraphs = (
            [[text.strip() for text in element.itertext() if text.strip()]
             for element in self.root.iter(tag)] for tag in ('tr', 'figcaption', 'li', 'p'))
        self.notes, self.paragraphs = ([*map(''.join, of)] for of in (notes, paragraphs))

    def pictures(self):
        return [base64.b64decode(image.get('src').partition(',')[2])
                for image in self.root.iter('img')]

    def check(self):
        """It needs nothing else, runs nothing but its own scripts, and says all pictures in words."""
        for element in self.root.iter():
            assert element.tag not in ('link', 'iframe', 'object', 'embed', 'base', 'form', 'a')
            assert not [name for name in element.keys() if name.startswith('on') or name == 'href']
            assert element.get('src', 'data:image/').startswith('data:image/')
            if element.tag == 'img' or element.get('role') == 'img':
                assert len(element.get('alt') or element.get('aria-label')) > 10
        own = self.text.replace(self.scripts[1], '')    # the library has its licence's address
        assert not re.search(r'https?:|@import|url\(', own)
        policy = self.root.find('.//meta[@http-equiv]').get('content')
        digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
                   for script in self.scripts[1:]]
        assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'; " \
            f"script-src 'sha256-{digests[0]}' 'sha256-{digests[1]}'"
        return self

    def curve(self, chart=0, curve=0):
        """Values of a curve over time."""
        data = zlib.decompress(base64.b64decode(self.data['time']['charts'][chart]['curves'][curve]['values']))
        return struct.unpack(f'<{len(data) // 4}f', data)

    def times(self, log=0):
        data = zlib.decompress(base64.b64decode(self.data['time']['times'][log]))
        return [at / 1e6 for at in itertools.accumulate(struct.unpack(f'<{len(data) // 8}d', data))]


def report(folder, *arguments, **options):
    """Makes a page, which is checked."""
    done = tool('quality-report', *arguments, '-o', folder / 'page.html', **options)
    assert not done.returncode, done.stderr
    return Page(folder / 'page.html').check()
