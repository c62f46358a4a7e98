# Which encodes a shot has.
# SPDX-License-Identifier: LGPL-2.1-or-later
# Families: name, encoder, options, ladder from the best quality down, and which shots have it:
# of every so many shots the one of that number. What is in most use comes first.
X264 = '-preset {} -threads 1 -crf {{}}'
X265 = '-preset {} -x265-params log-level=error:pools=none:frame-threads=1 -crf {{}}'
SVT = '-preset {} -svtav1-params lp=1{} -crf {{}}'
AOM = '-b:v 0 -cpu-used 6 -threads 1 -crf {}'
VP9 = '-b:v 0 -threads 1 {} -crf {{}}'
FIXED = '-threads 1 -bf 2 -g 15 -qscale:v {0} -qmin {0} -qmax {0}'
MJPEG = '-threads 1 -strict unofficial -qscale:v {0} -qmin {0} -qmax {0}'
CBR = '-preset fast -threads 1 -b:v {0} -minrate {0} -maxrate {0} -bufsize {1}'
TWO_PASS = '-preset medium -threads 1 -b:v {0} -pass {{pass}} -passlogfile pass'

ALL = (1, 0)
RATES = (0.2, 0.08, 0.03)       # bits per sample

FIRST = (
    ('x264', 'libx264', X264.format('medium'), (20, 26, 32, 38, 44), ALL),
    ('x265', 'libx265', X265.format('medium'), (22, 28, 34, 40), ALL),
    ('av1', 'libsvtav1', SVT.format(8, ''), (25, 38, 50, 60), ALL),
    ('mpeg2', 'mpeg2video', FIXED, (4, 12, 28), ALL),
    ('mjpeg', 'mjpeg', MJPEG, (4, 12, 28), ALL),
)
MORE = (
    ('x264_ultrafast', 'libx264', X264.format('ultrafast'), (24, 32, 40), (2, 0)),
    ('x264_veryslow', 'libx264', X264.format('veryslow'), (24, 32, 40), (2, 1)),
    ('x264_veryfast', 'libx264', X264.format('veryfast'), (24, 32, 40), (2, 1)),
    ('x264_slow', 'libx264', X264.format('slow'), (24, 32, 40), (2, 0)),
    ('vp9_good', 'libvpx-vp9', VP9.format('-deadline good -cpu-used 4'), (30, 44, 58), (2, 0)),
    ('vp9_realtime', 'libvpx-vp9', VP9.format('-deadline realtime -cpu-used 8'), (30, 44, 58),
     (2, 1)),
    ('av1_4', 'libsvtav1', SVT.format(4, ''), (30, 45, 58), (2, 1)),
    ('av1_12', 'libsvtav1', SVT.format(12, ''), (30, 45, 58), (2, 0)),
    ('x264_film', 'libx264', X264.format('medium -tune film'), (26, 34, 42), (3, 0)),
    ('x264_grain', 'libx264', X264.format('medium -tune grain'), (26, 34, 42), (3, 1)),
    ('x264_animation', 'libx264', X264.format('medium -tune animation'), (26, 34, 42), (3, 2)),
    ('x264_baseline', 'libx264',
     X264.format('fast -profile:v baseline -x264-params no-deblock=1'), (25, 33, 41), (2, 0)),
)
LAST = (
    ('x264_cbr', 'libx264', CBR, RATES, (2, 0)),
    ('x264_two_pass', 'libx264', TWO_PASS, RATES, (2, 1)),
    ('aom', 'libaom-av1', AOM, (30, 45, 58), (2, 0)),
    ('mpeg4', 'mpeg4', FIXED, (4, 12, 28), (2, 1)),
    ('cjpeg', 'cjpeg', '{}', (85, 50, 20), (2, 0)),
)
TEN_BIT = (
    ('x264_10', 'libx264', X264.format('medium'), (24, 34, 44), (3, 0)),
    ('x265_10', 'libx265', X265.format('medium'), (24, 34, 44), (3, 1)),
    ('av1_10', 'libsvtav1', SVT.format(8, ''), (30, 45, 58), (3, 2)),
)
# Coded at a smaller size, and shown at that of the source: by this part of it.
HALF, TWO_THIRDS = (1, 2), (2, 3)
SCALED = (
    (HALF, ('x264', 'libx264', X264.format('medium'), (20, 27, 34), ALL)),
)
SCALED_MORE = (
    (TWO_THIRDS, ('x264', 'libx264', X264.format('medium'), (22, 30, 38), ALL)),
    (HALF, ('x265', 'libx265', X265.format('medium'), (24, 34), (3, 0))),
    (HALF, ('av1', 'libsvtav1', SVT.format(8, ''), (32, 50), (3, 1))),
    (TWO_THIRDS, ('av1', 'libsvtav1', SVT.format(8, ''), (38, 55), (3, 2))),
)
# A coarse encode, and the fine one that is made of it.
SECOND = (
    ('x264', 'libx264', X264.format('medium'), (30, 37), ALL,
     'libx265', X265.format('medium').format(20)),
)
SECOND_MORE = (
    ('mpeg2', 'mpeg2video', FIXED, (16,), (2, 0), 'libx264', X264.format('medium').format(20)),
    ('av1', 'libsvtav1', SVT.format(8, ''), (56,), (2, 1),
     'libx265', X265.format('medium').format(22)),
)
# Noise that is not in the source, coded finely.
NOISE = (6, 15)
# Shots made of others: variant, which shots, and its families.
CODED = (
    ('x264', 'libx264', X264.format('medium'), (24, 32, 40), ALL),
    ('x265', 'libx265', X265.format('medium'), (30, 38), ALL),
    ('av1', 'libsvtav1', SVT.format(8, ''), (35, 55), ALL),
)
SYNTHESIS = (('av1_synthesis', 'libsvtav1', SVT.format(8, ':film-grain=20'), (35, 55), ALL),)
VARIANTS = (
    ('grain', (3, 0), CODED + SYNTHESIS),
    ('fade', (3, 1), CODED),
    ('letterbox', (3, 2), CODED),
)

LEAST_CODED = 320, 180      # CAMBI takes no less; either way round
LARGE = 1280 * 960          # samples; such shots have few encodes, since they cost as many more


class Encode:
    """What is done to a shot: generations of (encoder, options) one after the other."""

    def __init__(self, family, value, generations, chain='', coded=None, variant='', ten_bit=False):
        self.family = family
        self.value = value
        self.generations = generations
        self.chain = chain          # filters before the first generation
        self.coded = coded          # its size where it is not that of the shot
        self.variant = variant
        self.ten_bit = ten_bit
        parts = (variant, family, value)
        self.name = '_'.join(str(part) for part in parts if part not in ('', None))


def turn(index, which):
    return index % which[0] == which[1]


def filled(options, value, size):
    """A ladder of bits per sample is one of bits per second, at 25 frames per second."""
    if isinstance(value, float):
        rate = int(value * size[0] * size[1] * 25)
        return options.format(rate, rate // 4)
    return options.format(value)


def simple(families, index, size, variant='', ten_bit=False):
    return [Encode(name, value, [(codec, filled(options, value, size))],
                   variant=variant, ten_bit=ten_bit)
            for name, codec, options, ladder, which in families if turn(index, which)
            for value in ladder]


def scaled(families, index, size):
    result = []
    for (over, under), (name, codec, options, ladder, which) in families:
        coded = tuple(side * over // under // 2 * 2 for side in size)
        if turn(index, which) and min(coded) >= min(LEAST_CODED) and max(coded) >= max(LEAST_CODED):
            scale = 'scale=%d:%d:flags=bicubic' % coded
            result += [Encode('%s_%d_%d' % (name, over, under), value,
                              [(codec, options.format(value))], scale, coded)
                       for value in ladder]
    return result


def second(families, index):
    return [Encode('second_' + name, value, [(codec, options.format(value)), (again, finely)])
            for name, codec, options, ladder, which, again, finely in families if turn(index, which)
            for value in ladder]


def rounds(index, size):
    """The encodes of a shot, in three rounds: those that matter most first."""
    large = size[0] * size[1] > LARGE
    first = [Encode('source', None, [])] + simple(FIRST[:3] if large else FIRST, index, size)
    first += scaled(SCALED, index, size)
    if large:
        return [[], [], first]
    more = simple(MORE, index, size) + simple(TEN_BIT, index, size, ten_bit=True)
    last = simple(LAST, index, size) + second(SECOND_MORE, index)
    last += [Encode('noise', sigma, [('libx264', X264.format('medium').format(16))],
                    'noise=c0s=%d:c0f=t:c0_seed=9' % sigma) for sigma in NOISE]
    for variant, which, families in VARIANTS:
        if turn(index, which):
            last += simple(families, index, size, variant=variant)
    return [first + second(SECOND, index), more + scaled(SCALED_MORE, index, size), last]
