# The shots of contents.txt, or of a list like it: which are held back, and short lossless files.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import os

import common

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'contents.txt')
FIELDS = 'name group repository path licence start factor frames author'.split()

# What stands in for contents that are hard to find: made of others, judged against themselves.
VARIANTS = {
    '': '',
    'grain': ',noise=c0s=9:c0f=t+a:c0_seed=7',
    'fade': ',fade=in:0:16',
    'letterbox': ',drawbox=h=ih/8:t=fill:c=black,drawbox=y=ih*7/8:h=ih/8:t=fill:c=black',
    'uhd': ",crop='min(iw,640)':'min(ih,360)',scale=4*iw:4*ih:flags=lanczos+accurate_rnd",
}


def size_of(variant, size):
    """The size of a variant of a shot."""
    return (4 * min(size[0], 640), 4 * min(size[1], 360)) if variant == 'uhd' else size


# Colours are not named: where a decoder names others (MJPEG's says BT.601), FFmpeg would
# convert one to the other before it compares them.
UNTAGGED = 'setparams=range=limited:colorspace=unknown:color_primaries=unknown:color_trc=unknown'


class Content:
    """A line of contents.txt."""

    def __init__(self, line):
        for name, value in zip(FIELDS, line.split(None, len(FIELDS) - 1)):
            setattr(self, name, value)
        self.factor, self.frames = float(self.factor), int(self.frames)

    def input(self, media):
        """What FFmpeg is told to read the shot."""
        start = ['-start_number' if '%' in self.path else '-ss', self.start]
        # a raw stream cannot be sought in, not even to its start
        return (start if self.start != '0' else []) + \
            ['-i', os.path.join(media, self.repository, self.path)]

    def is_there(self, media):
        path = self.input(media)[-1]
        return os.path.exists(path % int(self.start) if '%' in self.path else path)


def contents(path=LIST):
    """All shots. Held back is the third of the groups whose names have the smallest SHA-256."""
    with open(path) as file:
        shots = [Content(line) for line in file if line.strip() and not line.startswith('#')]
    groups = sorted({shot.group for shot in shots},
                    key=lambda group: hashlib.sha256(group.encode()).hexdigest())
    for shot in shots:
        shot.held = shot.group in groups[:len(groups) // 3]
    return shots


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
