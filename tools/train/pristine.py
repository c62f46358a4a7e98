# Says which sources are good enough to be taken for pristine: by what factor each must be made
# smaller at least.
# SPDX-License-Identifier: LGPL-2.1-or-later
import math
import re
import sys

import common

# The rule: the mean of log2 of the quantizer step may be LOG2_STEP at full size, and SLOPE
# more for each halving. Pristine shots coded by x264 at such a step, then scaled with their
# source, have a VMAF v1 of 90 or more even where there is much noise, which goes first; and
# of 95 and more on clean ones.
LOG2_STEP, SLOPE = 2.4, 1.6

# Of some codecs the step is not known. Those are halved at least, and must have had
# these bits for each sample of luma that is kept. A rule of thumb.
BITS, HALVED = 0.5, 2

FRAMES = 40
LOSSLESS = ('rawvideo', 'png', 'gif', 'ffv1', 'huffyuv', 'ffvhuff', 'utvideo')


def least_factor(arguments):
    """By which factor it must be made smaller, infinity if none is known to do; and why."""
    try:
        codec, width, height, sizes = common.packets(arguments, FRAMES)
        said = common.run(['-bsf:v', 'quantizer_metadata', *arguments, '-map', '0:v:0', '-frames:v',
                           str(FRAMES), '-vf', 'metadata=print:file=-', '-f', 'null', '-'])
    except common.Error as error:
        sys.exit('error: %s: %s' % (arguments[-1], str(error).splitlines()[-1]))
    steps = [float(s) for s in re.findall(r'lavc\.quantizer\.step=([-0-9.]+)', said)]
    if codec in LOSSLESS:
        return 1, codec + ', lossless'
    if steps:
        step = sum(steps) / len(steps)
        return max(1, 2 ** ((step - LOG2_STEP) / SLOPE)), '%s, step 2^%.2f' % (codec, step)
    bits = 8 * sum(sizes) / max(len(sizes), 1) / width / height
    return max(HALVED, math.sqrt(BITS / bits)) if bits else math.inf, \
        '%s, %.3f bits per sample, no step' % (codec, bits)


def judge(sources):
    """All of (name, FFmpeg's arguments, factor) are judged, also after one was refused."""
    refused = False
    for name, arguments, factor in sources:
        least, why = least_factor(arguments)
        good = factor >= least * 0.999
        refused = refused or not good
        print('%s: %s: at least %.2f, is %.2f%s' % (name, why, least, factor,
                                                   '' if good else ': REFUSED'))
    if refused:
        sys.exit('error: some show their coding: make them smaller, or leave them out')
