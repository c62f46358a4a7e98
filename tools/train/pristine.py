#!/usr/bin/env python3
# Says which sources are good enough to be taken for pristine: those of contents.txt, or of
# any files, by what factor each must be made smaller at least.
# SPDX-License-Identifier: LGPL-2.1-or-later
import math
import re
import sys

import common
import contents

# The rule: the mean of log2 of the quantizer step may be LOG2_STEP at full size, and SLOPE
# more for each halving. Pristine shots coded by x264 at such a step, then scaled with their
# source, have a VMAF v1 of 90 or more even where there is much noise, which goes first; and
# of 95 and more on clean ones.
LOG2_STEP, SLOPE = 2.4, 1.6

# Of some codecs the step is not known. Those are halved at least, and must have had
# these bits for each sample of luma that is kept. A rule of thumb.
BITS, HALVED = 0.5, 2

FRAMES = 40


def coded(arguments):
    """The codec, the mean of log2 of the step, and bits per sample; None where not known."""
    frames = ['-map', '0:v:0', '-frames:v', str(FRAMES)]
    try:
        said = common.run(['-bsf:v', 'quantizer_metadata'] + arguments + frames +
                          ['-vf', 'metadata=print', '-f', 'null', '-'], quiet=False)
        stream = re.search(r'Stream #0:.*?: Video: (\w+).*?, (\d\d+)x(\d+)', said)
        steps = [float(s) for s in re.findall(r'lavc\.quantizer\.step=([-0-9.]+)', said)]
        if steps:
            return stream[1], sum(steps) / len(steps), None
        copied = common.run(arguments + frames + ['-c', 'copy', '-f', 'framecrc', '-'])
    except common.Error as error:
        raise SystemExit('error: %s: %s' % (arguments[-1], str(error).splitlines()[-1]))
    sizes = [int(line.split(',')[4]) for line in copied.splitlines() if line[:1].isdigit()]
    samples = len(sizes) * int(stream[2]) * int(stream[3])
    return stream[1], None, 8 * sum(sizes) / samples if samples else 0


LOSSLESS = ('rawvideo', 'png', 'ffv1', 'huffyuv', 'ffvhuff', 'utvideo')


def least_factor(codec, step, bits):
    """By which factor it must be made smaller; infinity if none is known to do."""
    if codec in LOSSLESS:
        return 1
    if step is not None:
        return max(1, 2 ** ((step - LOG2_STEP) / SLOPE))
    return max(HALVED, math.sqrt(BITS / bits)) if bits else math.inf


def judge(name, arguments, factor):
    codec, step, bits = coded(arguments)
    least = least_factor(codec, step, bits)
    good = factor >= least * 0.999
    how = 'lossless' if codec in LOSSLESS else 'step 2^%.2f' % step if step is not None else \
        '%.3f bits per sample, no step' % bits
    print('%s: %s, %s: at least %.2f, is %.2f%s' % (name, codec, how, least, factor,
                                                   '' if good else ': REFUSED'))
    return good


def main():
    parser = common.options('Says which sources show their coding.', 'ffmpeg', 'media', 'contents')
    parser.add_argument('--factor', type=float, default=1,
                        help='by which the files are made smaller')
    parser.add_argument('files', nargs='*')
    options = parser.parse_args()
    common.program = options.ffmpeg
    work = [(file, ['-i', file], options.factor) for file in options.files]
    if options.media:
        work += [(c.name, c.input(options.media), c.factor)
                 for c in contents.contents(options.contents)]
    # all are judged, also after one was refused
    if not all([judge(*item) for item in work]):
        sys.exit('error: some show their coding: make them smaller, or leave them out')


if __name__ == '__main__':
    main()
