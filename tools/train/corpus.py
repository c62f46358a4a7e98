# The pristine contents: photographs and shots of clips, as short lossless files.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import os
import re

import ff

PHOTO_TYPES = ('.jpg', '.jpeg', '.png', '.tif', '.tiff', '.pgm', '.ppm', '.bmp')
VIDEO_TYPES = ('.mp4', '.mkv', '.mov', '.avi', '.webm', '.y4m', '.ts', '.mpg', '.ogv')

# Long sides, so that the model sees several sizes: a photograph has all that it is large
# enough for, shots have one in turn. Whatever was compressed before loses its traces when
# it is made smaller by SHRINK or more.
PHOTO_SIDES = (640, 960, 1280)
VIDEO_SIDES = (640, 854, 1280)
SHRINK = 2

SHOT_FRAMES = 24
SHOTS_PER_FILE = 3
SHOT_DISTANCE = 4       # seconds between shots where no cut tells them apart


class Content:
    """A photograph in one size or a shot: name, group and where it comes from.

    Contents of one group (the sizes of a photograph, the shots of a file, the files of
    a folder inside of the given one) are left out of the fit together.
    """

    def __init__(self, name, group, kind, path, start, index, size):
        self.name = name
        self.group = group
        self.kind = kind        # 'photo' or 'video'
        self.path = path
        self.start = start      # seconds
        self.index = index      # among its kind
        self.size = size        # width and height of its frames


def files(folder, types):
    for where, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        for name in sorted(names):
            if name.lower().endswith(types):
                yield os.path.join(where, name)


def plain(path, folder):
    """Name and group of a file: the group is the folder inside of the given one, if any."""
    relative = os.path.splitext(os.path.relpath(path, folder))[0]
    name = re.sub(r'[^A-Za-z0-9]+', '_', relative).strip('_')
    return name, relative.split(os.sep)[0] if os.sep in relative else name


def resized(width, height, long_side):
    return tuple(max(2, int(side * long_side / max(width, height) / 2 + 0.5) * 2)
                 for side in (width, height))


def photos(folder):
    found = []
    for path in files(folder, PHOTO_TYPES):
        name, _ = plain(path, folder)
        size = ff.size(path)
        most = max(size) // SHRINK
        for side in [s for s in PHOTO_SIDES if s <= most] or [most]:
            found.append(Content('photo_%s_%d' % (name, side), 'photo_' + name, 'photo', path,
                                 0, len(found), resized(*size, side)))
    return found


def shots(path):
    """Starts of up to SHOTS_PER_FILE shots, in seconds, spread over a file."""
    duration, cuts = ff.cuts(path)
    edges = [0] + cuts + [duration]
    length = max(ff.SHOT_SECONDS, 1.2)
    starts = []
    for begin, end in zip(edges, edges[1:]):
        begin += 0.1        # not the frame of the cut
        while end - begin >= length and len(edges) + len(starts) < 1000:
            starts.append(begin)
            begin += length + SHOT_DISTANCE
    if len(starts) > SHOTS_PER_FILE:
        step = len(starts) / SHOTS_PER_FILE
        starts = [starts[int((i + 0.5) * step)] for i in range(SHOTS_PER_FILE)]
    return starts or [0]


def videos(folder):
    found = []
    for path in files(folder, VIDEO_TYPES):
        name, group = plain(path, folder)
        size = ff.size(path)
        for i, start in enumerate(shots(path)):
            side = max(size)    # a small clip is taken as it is: choose good ones
            if side >= SHRINK * VIDEO_SIDES[0]:
                side = min(VIDEO_SIDES[len(found) % len(VIDEO_SIDES)], side // SHRINK)
            found.append(Content('video_%s_%d' % (name, i), 'video_' + group, 'video', path,
                                 start, len(found), resized(*size, side)))
    # the first shots of all before the second ones: what there is at any time is spread well
    return sorted(found, key=lambda c: (int(c.name.rsplit('_', 1)[1]), c.index))


def reference(content, folder, ten_bit=False):
    """Makes the lossless file of a content, unless it is there: (path, key, width, height)."""
    width, height = content.size
    chain = 'scale=%d:%d:flags=lanczos+accurate_rnd:out_range=limited,format=%s,setsar=1' % (
        width, height, 'yuv420p10' if ten_bit else 'yuv420p')
    frames = 1 if content.kind == 'photo' else SHOT_FRAMES
    with open(content.path, 'rb') as file:
        key = hashlib.sha256(file.read())
    key.update(repr((content.start, frames, chain)).encode())
    key = key.hexdigest()
    path = os.path.join(folder, content.name + ('_10' if ten_bit else '') + '.mkv')
    stamp = path + '.key'
    if not os.path.exists(path) or not os.path.exists(stamp) or open(stamp).read() != key:
        seek = ['-ss', '%.3f' % content.start] if content.start else []
        ff.run(seek + ['-i', content.path, '-map', '0:v:0', '-an', '-vf', chain,
                       '-frames:v', str(frames), '-c:v', 'ffv1', '-f', 'matroska', path + '.part'])
        os.replace(path + '.part', path)
        with open(stamp, 'w') as file:
            file.write(key)
    return path, key, width, height
