#!/usr/bin/env python3
# What the built-in model is worth on the contents held back, beyond the report of train.py:
# bench/held.py WORK, with the records of `tools/train/train.py label --work WORK`. Prints, of what
# is as large as coded by five codecs, rank correlation and error; by how much each preset is off
# from the usual one of its encoder on the same content, between two of its encodes at the same
# VMAF; and how many neighbours on a ladder of CRFs, a point or more apart, are in the wrong order.
# SPDX-License-Identifier: LGPL-2.1-or-later
import itertools
import os
import sys

import numpy as np
from scipy import stats

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path += [ROOT + '/tools', ROOT + '/tools/train', ROOT + '/tests/oracle']
import common       # noqa: E402
import contents     # noqa: E402
import encodes      # noqa: E402
import models       # noqa: E402
import reference    # noqa: E402
import score        # noqa: E402

data = score.Data(sys.argv[1], contents.contents(), True, False)
model = next(filter(models.is_coded, models.read(ROOT + '/models/vmaf1_est5.txt')))
guess = data.mean(reference.evaluate(model, dict(zip(score.BITSTREAM,
                                                     data.x(score.BITSTREAM).T))))
error = guess - data.y

five = np.isin([common.part_of(f) for f in data.family], ('AV1', 'H.264', 'HEVC', 'MPEG-2', 'VP9'))
print('five codecs: %d encodes, SROCC %.4f, RMSE %.3f' % (
    five.sum(), stats.spearmanr(guess[five], data.y[five])[0],
    np.sqrt(np.average(error[five] ** 2, weights=data.weight[five]))))

rows, ladders = [encode.split(' ') for encode in data.encode], {}
for i, (content, variant, family, value) in enumerate(rows):
    ladders.setdefault((family, content, variant), {}).setdefault(float(value), i)

for family in encodes.FAMILIES:
    usual, off = family.name.split('_')[0], []
    if family.round != 2 or family.part != (1, 1) or usual == 'vp9':
        continue
    for i, (content, _, name, _) in enumerate(rows):
        near = sorted(ladders.get((usual, content, ''), {}).values(), key=data.y.__getitem__)
        if name == family.name and near and data.y[near[0]] <= data.y[i] <= data.y[near[-1]]:
            off.append(error[i] - np.interp(data.y[i], data.y[near], error[near]))
    print('%s: %+.1f (%d encodes)' % (family.name, np.mean(off), len(off)))

crf = {f.name for f in encodes.FAMILIES if 'crf' in f.options and not f.again and not f.chain}
pairs = [pair for (family, *_), ladder in ladders.items() if family in crf
         for pair in itertools.pairwise([ladder[value] for value in sorted(ladder)])
         if abs(np.diff(data.y[[*pair]])) >= 1]
print('order: %d of %d neighbours wrong' % (
    sum(np.diff(guess[[*pair]]) * np.diff(data.y[[*pair]]) <= 0 for pair in pairs), len(pairs)))
