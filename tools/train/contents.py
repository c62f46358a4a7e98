#!/usr/bin/env python3
# The video contents of contents.txt, or of a list like it: their split, and their shots as
# short lossless files.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import os
import sys

import common

FIELDS = 'name group use repository path licence start factor frames author'.split()

# What stands in for contents that are hard to find: made of others, judged against themselves.
VARIANTS = {
    '': '',
    'grain': ',noise=c0s=9:c0f=t+a:c0_seed=7',
    'fade': ',fade=in:0:16',
    'letterbox': ',drawbox=h=ih/8:t=fill:c=black,drawbox=y=ih*7/8:h=ih/8:t=fill:c=black',
}

# Colours are not named: where a decoder names others (MJPEG's says BT.601), FFmpeg would
# convert one to the other before it compares them.
UNTAGGED = 'setparams=range=limited:colorspace=unknown:color_primaries=unknown:color_trc=unknown'


class Content:
    """A line of contents.txt."""

    def __init__(self, line):
        for name, value in zip(FIELDS, line.split(None, len(FIELDS) - 1)):
            setattr(self, name, value)
        self.pictures = '%' in self.path
        self.factor = float(self.factor)
        self.frames = int(self.frames)

    def source(self, media):
        return os.path.join(media, self.repository, self.path)

    def there(self, media):
        source = self.source(media)
        return os.path.exists(source % int(self.start) if self.pictures else source)

    def input(self, media):
        """What FFmpeg is told to read the shot."""
        start = ['-start_number' if self.pictures else '-ss', self.start]
        # a raw stream cannot be sought in, not even to its start
        return (start if self.start != '0' else []) + ['-i', self.source(media)]


def lines(path):
    with open(path) as file:
        return file.read().splitlines()


def contents(path=common.LIST):
    return [Content(line) for line in lines(path) if line and not line.startswith('#')]


def missing(path, media):
    """The repositories of sources that the folder has not."""
    return sorted({content.repository for content in contents(path) if not content.there(media)})


def uses(groups):
    """'held' or 'choose' of each group."""
    ranked = sorted(set(groups), key=lambda group: hashlib.sha256(group.encode()).hexdigest())
    return {group: 'held' if i < len(ranked) // 3 else 'choose' for i, group in enumerate(ranked)}


def split(path):
    """The lines with the column that the rule asks for."""
    of = uses(content.group for content in contents(path))
    result = []
    for line in lines(path):
        if line and not line.startswith('#'):
            parts = line.split(None, 3)
            line = ' '.join([parts[0], parts[1], of[parts[1]], parts[3]])
        result.append(line)
    return result


def reference(content, media, folder, variant='', ten_bit=False):
    """Makes the lossless file of a shot, unless it is there."""
    path = os.path.join(folder, content.name + ('_' + variant if variant else '') +
                        ('_10' if ten_bit else '') + '.mkv')
    if not os.path.exists(path):
        # without the frame rate of the source: one that changes would repeat frames
        chain = ("settb=1/25,setpts=N,scale='trunc(iw/{0}/2+0.5)*2':'trunc(ih/{0}/2+0.5)*2'"
                 ':flags=lanczos+accurate_rnd:out_range=limited,format={1},setsar=1,{3}{2}').format(
                     content.factor, 'yuv420p10' if ten_bit else 'yuv420p',
                     VARIANTS[variant], UNTAGGED)
        common.run(content.input(media) + [
            '-map', '0:v:0', '-an', '-vf', chain, '-r', '25',
            '-frames:v', str(content.frames), '-c:v', 'ffv1', '-f', 'matroska', path + '.part'])
        os.replace(path + '.part', path)
    return path


if __name__ == '__main__':
    action, *rest = sys.argv[1:] or ['']
    media = rest.pop(0) if action == 'missing' and rest else None
    chosen = rest.pop(0) if rest else common.LIST
    if action == 'split' and not rest:
        text = '\n'.join(split(chosen)) + '\n'
        with open(chosen, 'w') as file:
            file.write(text)
    elif action == 'check' and not rest:
        if split(chosen) != lines(chosen):
            sys.exit('error: %s does not follow its rule: run contents.py split' % chosen)
    elif action == 'missing' and media and not rest:
        print('\n'.join(missing(chosen, media)))
    else:
        sys.exit('usage: contents.py split|check [LIST] | contents.py missing MEDIA [LIST]')
