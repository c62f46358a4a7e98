# Which encodes a shot has.
# SPDX-License-Identifier: LGPL-2.1-or-later
import itertools
from typing import NamedTuple

import contents

X264 = '-preset {} -threads 1 -crf {{}}'
X265 = '-preset {} -x265-params log-level=error:pools=none:frame-threads=1 -crf {{}}'
SVT = '-preset {} -svtav1-params lp=1{} -crf {{}}'
AOM = '-b:v 0 -cpu-used 6 -threads 1 -crf {}'
VP9 = '-b:v 0 -threads 1 {} -crf {{}}'
FIXED = '-threads 1 -bf 2 -g 15 -qscale:v {0} -qmin {0} -qmax {0}'
MJPEG = '-threads 1 -strict unofficial -qscale:v {0} -qmin {0} -qmax {0}'
CBR = '-preset fast -threads 1 -b:v {0} -minrate {0} -maxrate {0} -bufsize {1}'
TWO_PASS = '-preset medium -threads 1 -b:v {0} -pass {{pass}} -passlogfile pass'
AVC, HEVC, AV1 = X264.format('medium'), X265.format('medium'), SVT.format(8, '')

ALL = (1, 0)
RATES = (0.2, 0.08, 0.03)       # bits per sample
LEAST_CODED = 180, 320          # CAMBI takes no less; either way round
LARGE = 1280 * 960              # samples; such shots have few encodes, since they cost as many more


class Family(NamedTuple):
    """Encodes of one kind. What is in most use comes first, by rounds; the first one is what large
    shots have, too."""
    round: int
    name: str
    encoder: str
    options: str
    ladder: tuple           # from the best quality down
    which: tuple = ALL      # of every so many shots the one of that number
    part: tuple = (1, 1)    # of the shot's size, at which it is coded, to be shown at that
    again: tuple = ()       # the encoder and the options that make a fine encode of it
    chain: str = ''         # filters before
    variant: str = ''       # of the shot
    ten_bit: bool = False
    judge: str = ''         # another model of VMAF than that of the score


FAMILIES = [
    Family(0, 'x264', 'libx264', AVC, (14, 20, 26, 32, 38, 44)),
    Family(0, 'x265', 'libx265', HEVC, (10, 16, 22, 28, 34, 40)),
    Family(0, 'av1', 'libsvtav1', AV1, (25, 38, 50, 60)),
    Family(0, 'x264_1_2', 'libx264', AVC, (20, 27, 34), part=(1, 2)),
    Family(1, 'mpeg2', 'mpeg2video', FIXED, (4, 12, 28)),
    Family(1, 'mjpeg', 'mjpeg', MJPEG, (4, 12, 28)),
    Family(1, 'second_x264', 'libx264', AVC, (30, 37), again=('libx265', HEVC.format(20))),
    Family(1, 'second_same', 'libx264', AVC, (26, 34), again=('libx264', AVC.format(22))),
    Family(2, 'x264_ultrafast', 'libx264', X264.format('ultrafast'), (24, 32, 40), (3, 0)),
    Family(2, 'x264_veryslow', 'libx264', X264.format('veryslow'), (24, 32, 40), (3, 1)),
    Family(2, 'x264_veryfast', 'libx264', X264.format('veryfast'), (24, 32, 40), (3, 2)),
    Family(2, 'x264_slow', 'libx264', X264.format('slow'), (24, 32, 40), (3, 0)),
    Family(2, 'x265_ultrafast', 'libx265', X265.format('ultrafast'), (24, 32, 40), (3, 1)),
    Family(2, 'x265_slow', 'libx265', X265.format('slow'), (24, 32, 40), (3, 2)),
    Family(2, 'vp9_good', 'libvpx-vp9', VP9.format('-deadline good -cpu-used 4'), (30, 44, 58),
           (3, 0)),
    Family(2, 'vp9_realtime', 'libvpx-vp9', VP9.format('-deadline realtime -cpu-used 8'),
           (30, 44, 58), (3, 1)),
    Family(2, 'av1_4', 'libsvtav1', SVT.format(4, ''), (30, 45, 58), (3, 2)),
    Family(2, 'av1_12', 'libsvtav1', SVT.format(12, ''), (30, 45, 58), (3, 0)),
    Family(2, 'x264_film', 'libx264', X264.format('medium -tune film'), (26, 34, 42), (5, 0)),
    Family(2, 'x264_grain', 'libx264', X264.format('medium -tune grain'), (26, 34, 42), (5, 1)),
    Family(2, 'x264_animation', 'libx264', X264.format('medium -tune animation'), (26, 34, 42),
           (5, 2)),
    Family(2, 'x264_baseline', 'libx264',
           X264.format('fast -profile:v baseline -x264-params no-deblock=1'), (25, 33, 41), (3, 1)),
    Family(2, 'x264_10', 'libx264', AVC, (24, 34, 44), (5, 3), ten_bit=True),
    Family(2, 'x265_10', 'libx265', HEVC, (24, 34, 44), (5, 4), ten_bit=True),
    Family(2, 'av1_10', 'libsvtav1', AV1, (30, 45, 58), (5, 0), ten_bit=True),
    Family(2, 'x264_2_3', 'libx264', AVC, (22, 30, 38), (2, 1), part=(2, 3)),
    Family(2, 'x265_1_2', 'libx265', HEVC, (24, 34), (5, 1), part=(1, 2)),
    Family(2, 'av1_1_2', 'libsvtav1', AV1, (32, 50), (5, 2), part=(1, 2)),
    Family(2, 'av1_2_3', 'libsvtav1', AV1, (38, 55), (5, 3), part=(2, 3)),
    Family(3, 'x264_cbr', 'libx264', CBR, RATES, (3, 2)),
    Family(3, 'x264_two_pass', 'libx264', TWO_PASS, RATES, (3, 0)),
    Family(3, 'aom', 'libaom-av1', AOM, (30, 45, 58), (3, 1)),
    Family(3, 'mpeg4', 'mpeg4', FIXED, (4, 12, 28), (3, 2)),
    Family(3, 'cjpeg', 'cjpeg', '{}', (85, 50, 20), (3, 0)),
    Family(3, 'second_mpeg2', 'mpeg2video', FIXED, (16,), (3, 1),
           again=('libx264', AVC.format(20))),
    Family(3, 'second_av1', 'libsvtav1', AV1, (56,), (3, 2), again=('libx265', HEVC.format(22))),
    # noise that is not in the source, coded finely
    Family(3, 'noise', 'libx264', AVC.format(16), (6, 15), chain='noise=c0s={}:c0f=t:c0_seed=9'),
    Family(3, 'noise_x265', 'libx265', HEVC.format(24), (4, 10),
           chain='noise=c0s={}:c0f=t:c0_seed=5'),
    *(Family(3, *coded, (3, i), variant=variant)
      for i, variant in enumerate(('grain', 'fade', 'letterbox'))
      for coded in [('x264', 'libx264', AVC, (24, 32, 40)), ('x265', 'libx265', HEVC, (30, 38)),
                    ('av1', 'libsvtav1', AV1, (35, 55))]),
    Family(3, 'av1_synthesis', 'libsvtav1', SVT.format(8, ':film-grain=20'), (35, 55), (5, 4),
           variant='grain'),
]


def uhd(coders, every, judge=''):
    """Encodes of shots that are made four times as large, and so as sharp as what cameras of 2160
    lines deliver: half the height costs as much as in the VMAF v0.6.1 published for
    AVT-VQDB-UHD-1-NVC. Of each shot one of EVERY families."""
    return [Family(0, '%s_%d_%d' % (coder[0], *part), *coder[1:], (every, number % every), part,
                   variant='uhd', judge=judge)
            for number, (part, coder) in enumerate(itertools.product(
                ((1, 1), (2, 3), (1, 2), (1, 3), (1, 4)), coders))]


FAMILIES += uhd((('x264_uhd', 'libx264', AVC, (18, 26, 34, 42)),
                 ('x265_uhd', 'libx265', HEVC, (20, 28, 36)),
                 ('av1_uhd', 'libsvtav1', AV1, (25, 42, 58))), 6)

# For the loss that quantizer_metadata estimates.
LOSS = uhd((('h264', 'libx264', AVC, (12, 18, 24, 30, 36, 42)),
            ('hevc', 'libx265', HEVC, (14, 20, 26, 32, 38)),
            ('av1', 'libsvtav1', AV1, (12, 25, 38, 50, 60)),
            ('vp9', 'libvpx-vp9', VP9.format('-deadline good -cpu-used 4'), (15, 30, 44, 58)),
            ('mpeg2', 'mpeg2video', FIXED, (2, 4, 12, 28)),
            ('mpeg4', 'mpeg4', FIXED, (2, 4, 12, 28)),
            ('mjpeg', 'mjpeg', MJPEG, (2, 4, 12, 28))), 3, 'vmaf_v1.0.16_1d5h_2160')


class Encode:
    """What is done to a shot: generations of (encoder, options) one after the other."""

    def __init__(self, family, value, size):
        self.family, self.value, self.variant = family.name, value, family.variant
        self.ten_bit, self.round, self.judge = family.ten_bit, family.round, family.judge
        self.shown = size = contents.size_of(family.variant, size)
        self.coded = tuple(side * family.part[0] // family.part[1] // 2 * 2 for side in size)
        self.is_scaled = family.part != (1, 1)
        # filters before the first generation
        self.chain = 'scale=%d:%d:flags=bicubic' % self.coded if self.is_scaled else \
            family.chain.format(value)
        self.name = '_'.join(filter(None, (family.variant, family.name, str(value))))
        # a ladder of bits per sample is one of bits per second, at 25 frames per second
        rate = int(value * size[0] * size[1] * 25) if isinstance(value, float) else value
        self.generations = [(family.encoder, family.options.format(rate, rate // 4)),
                            *([family.again] if family.again else [])]


def encodes(index, size, families=FAMILIES):
    """Those of a shot."""
    is_large = size[0] * size[1] > LARGE
    for family in families:
        if index % family.which[0] == family.which[1] and not (is_large and family.round):
            for value in family.ladder:
                job = Encode(family, value, size)
                if not job.is_scaled or all(map(int.__ge__, sorted(job.coded), LEAST_CODED)):
                    yield job
