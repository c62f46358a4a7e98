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
LOSSLESS = ('rawvideo', 'png', 'ffv1', 'huffyuv', 'ffvhuff', 'utvideo')


def least_factor(arguments):
    """By which factor it must be made smaller, infinity if none is known to do; and why."""
    frames = ['-map', '0:v:0', '-frames:v', str(FRAMES)]
    try:
        said = common.run(['-bsf:v', 'quantizer_metadata'] + arguments + frames +
                          ['-vf', 'metadata=print', '-f', 'null', '-'], quiet=False)
        copied = common.run(arguments + frames + ['-c', 'copy', '-f', 'framecrc', '-'])
    except common.Error as error:
        sys.exit('error: %s: %s' % (arguments[-1], str(error).splitlines()[-1]))
    stream = re.search(r'Stream #0:.*?: Video: (\w+).*?, (\d\d+)x(\d+)', said)
    steps = [float(s) for s in re.findall(r'lavc\.quantizer\.step=([-0-9.]+)', said)]
    if stream[1] in LOSSLESS:
        return 1, stream[1] + ', lossless'
    if steps:
        step = sum(steps) / len(steps)
        return max(1, 2 ** ((step - LOG2_STEP) / SLOPE)), '%s, step 2^%.2f' % (stream[1], step)
    sizes = [int(line.split(',')[4]) for line in copied.splitlines() if line[:1].isdigit()]
    bits = 8 * sum(sizes) / max(len(sizes), 1) / int(stream[2]) / int(stream[3])
    return max(HALVED, math.sqrt(BITS / bits)) if bits else math.inf, \
        '%s, %.3f bits per sample, no step' % (stream[1], bits)


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
