"""What is on a page of quality-report: quality_page.py WHAT PAGE, for tests/filters/report.sh.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import base64
import hashlib
import html.parser
import json
import re
import sys
import zlib


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.text = text
        self.elements, self.scripts, self.rows, self.notes = [], [], [], []
        self.open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ('meta', 'img', 'br', 'link', 'input'):
            self.open.append(tag)
        if tag == 'script':
            self.scripts.append('')
        if tag in ('tr', 'button'):
            self.rows.append([])
        if tag == 'li':
            self.notes.append('')

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open[-1:] == ['script']:
            self.scripts[-1] += data
        elif 'li' in self.open:
            self.notes[-1] += data
        elif data.strip() and ('tr' in self.open or 'button' in self.open):
            self.rows[-1].append(data.strip())

    def pictures(self, kind):
        return [base64.b64decode(element['src'].partition(',')[2]) for tag, element in self.elements
                if tag == 'img' and element['src'].startswith(f'data:image/{kind};base64,')]


def rows(page):
    """The cells of all tables, and the worst moments."""
    for row in page.rows:
        print(*row, sep='|')
    for note in page.notes:
        print('note:', note)


def basis(page):
    """What is said of what scores were made from."""
    for warning, text in re.findall('<p( class="warning")?>([^<]*(?:bitstream|outside)[^<]*)', page.text):
        print('WARNING:' if warning else 'text:', text)


def sound(page):
    """Needs nothing else, and runs nothing but its own script."""
    assert not page.open, page.open
    for tag, attributes in page.elements:
        assert tag not in ('link', 'iframe', 'object', 'embed', 'base', 'form', 'a'), tag
        for name, value in attributes.items():
            assert not name.startswith('on'), (tag, name)
            assert name not in ('src', 'href') or value.startswith('data:image/'), (tag, name)
    assert not re.search(r'(https?:|@import|url\()', page.text)
    policy = next(element['content'] for _, element in page.elements
                  if element.get('http-equiv') == 'Content-Security-Policy')
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert len(page.scripts) == 2
    assert policy.startswith("default-src 'none';") and f"script-src 'sha256-{digest}'" in policy
    print('sound')


def names(page):
    print('title:', re.search('<title>(.*?)</title>', page.text, re.S)[1].replace('\n', ' '))


def jpegs(page):
    for i, picture in enumerate(page.pictures('jpeg'), 1):
        with open(f'{sys.argv[3]}.{i}.jpg', 'wb') as file:
            file.write(picture)


def points(path):
    """Of the path in an SVG, coordinates."""
    return [tuple(map(float, pair)) for pair in re.findall(r'(-?[\d.]+),(-?[\d.]+)', path)]


def film(page):
    """Of a film with one frame worse than all others, 1 second apart: is it in sight, and is each frame there?"""
    data = json.loads(page.scripts[0])
    levels = [page.pictures('svg+xml')[:1]] + [[zlib.decompress(base64.b64decode(part)) for part in level]
                                               for level in data['parts']]
    size = len(page.text)
    print('under 5 MB' if size < 5e6 else f'{size} bytes')
    for n, level in enumerate(levels):
        seen = 0
        for part in level:
            svg = part.decode()
            marks = re.findall(r"<use xlink:href='#gpPt6' transform='translate\(([\d.]+),([\d.]+)\)", svg)
            # the polygon of the band, or else the curve
            curves = [points(curve) for curve in re.findall(r"\b(?:points|d) ?= ?'([^']*)'", svg)]
            curves = [curve for curve in curves if len(curve) > 200]
            top = min(y for curve in curves for _, y in curve)
            seen += any(abs(float(y) - top) < 1 for _, y in marks)
        print(f'level {n}: the bad frame is in {seen or "no"} part{"s" if seen > 1 else ""}')
    span = (data['end'] - data['begin']) / data['zoom'] ** len(data['parts'])
    frames = int(sys.argv[3])
    least = frames * span / (data['end'] - data['begin']) - 2
    for part in levels[-1]:
        curves = re.findall(r"<path stroke='rgb\( ?31,  95, 168\)'\s*d='([^']*)'", part.decode())
        count = sum(len(points(curve)) for curve in curves)
        assert count >= least, (count, least)
    print('the last level has every frame')


with open(sys.argv[2], encoding='utf-8') as file:
    globals()[sys.argv[1]](Page(file.read()))
