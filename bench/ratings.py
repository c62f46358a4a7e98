#!/usr/bin/env python3
# Compares the loss that quantizer_metadata estimates, and the score of bliinds by step, size and
# codec alone, with people's ratings: bench/ratings.py MEDIA, with the tables of these repositories
# as MEDIA/OWNER/REPOSITORY (git clone --depth 1):
#   Telecommunication-Telemedia-Assessment/AVT-VQDB-UHD-1-NVC   daelee711/ETRI-LIVE_STSVQ
#   itu-p1203/open-dataset
# Prints rank correlations of both with mean opinion scores. Nothing may be fitted to these.
# SPDX-License-Identifier: LGPL-2.1-or-later
import csv
import glob
import json
import os
import re
import sys

import numpy as np
from scipy import stats

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
sys.path += [ROOT + '/tools/train', ROOT + '/tests/oracle']
import loss         # noqa: E402
import models       # noqa: E402
import reference    # noqa: E402

with open(ROOT + '/libavcodec/bsf/quantizer_metadata.c') as file:
    ROWS = {name: [float(term) for term in row.split(',')] for name, row in re.findall(
        r'static const double (\w+)_loss\[\] = \{(.*?)\}', file.read())}
MODEL = next(filter(models.is_coded, models.read(ROOT + '/models/vmaf1_est5.txt')))
# the mean of the encodes that it was fitted to
TYPICAL = {**dict.fromkeys(models.CODED, 0), 'coded.intra': -1.9,
           **dict(zip(models.MOTION, (0.6, 4))),
           **dict(zip(models.BANDS, (8.8, 5, 0.7, 9.7, 6, 2.4, 10.4, 6.9, 3.7))),
           **dict(zip(models.BAND_PHASES, (0.5, 1.1, 0.4)))}


def step_of_qp(qp):
    return (np.asarray(qp) - 4) / 6


def estimate(codec, step, height, shown):
    step, scale = np.asarray(step, float), np.maximum(0, np.log2(shown / np.asarray(height, float)))
    # libx264's usual offset
    chroma = -1 / 3 if codec == 'h264' else 0
    features = {**TYPICAL, 'coded.' + codec: 1, 'coded.step': step, 'coded.scale': scale,
                'coded.chroma': chroma}
    return np.array([loss.estimate(ROWS, step, scale, [codec] * len(scale)),
                     reference.evaluate(MODEL, features)])


def table(*path):
    with open(os.path.join(sys.argv[1], *path), encoding='utf-8-sig') as file:
        return json.load(file) if path[-1].endswith('.json') else list(csv.DictReader(file))


def say(what, guess, opinion):
    print('%-36s %4d clips  loss %.3f  bliinds %.3f' % (
        what, len(opinion), *(-stats.spearmanr(row, opinion)[0] for row in guess)))


def nvc():
    """VVC is taken for HEVC. AV1's step is that of our own encodes by SVT-AV1 at such a CRF."""
    clips = table('Telecommunication-Telemedia-Assessment/AVT-VQDB-UHD-1-NVC/results.json')
    for codec, row, step in (('AV1', 'av1', lambda q: 1.1 + 0.08 * q), ('VVC', 'hevc', step_of_qp)):
        of = [clip for clip in clips if clip['codec'] == codec]
        guess = estimate(row, step(np.array([clip['quality'] for clip in of])),
                         [int(clip['resolution'][:-1]) for clip in of], 2160)
        say('AVT-VQDB-UHD-1-NVC, ' + codec, guess, [clip['mos'] for clip in of])


def etri():
    folder = 'daelee711/ETRI-LIVE_STSVQ/subjective_scores'
    opinion = {clip['videoName']: float(clip['MOS']) for clip in table(folder, 'ETRI-LIVE_MOS.csv')}
    clips = table(folder, 'ETRI-LIVE_videoInfo.csv')
    for what, of in (('', clips), (', full frame rates', [
            clip for clip in clips if clip['processedFrameRateRatio'] == '1'])):
        names = [clip['videoName'] for clip in of]
        guess = estimate('hevc', step_of_qp([int(name.split('_q_')[1]) for name in names]),
                         [int(clip['processedSpatialResolution']) for clip in of], 2160)
        say('ETRI-LIVE STSVQ' + what, guess, [opinion[name] for name in names])


def p1203():
    """The QP is that at which mode 3 gives its score of each second: ITU-T P.1203.1 (2017), 8."""
    folder = 'itu-p1203/open-dataset'
    seconds = {(s['pvs_id'], int(s['sample_index'])): [float(s[name]) for name in (
        'coding_res', 'display_res', 'framerate', 'coding_height')]
        for s in table(folder, 'features/features_mode0.csv')}
    opinion = {(clip['pvs_id'], clip['context']): float(clip['mos'])
               for clip in table(folder, 'mos.csv')}
    r = np.linspace(0, 100, 10001)

    def mos(r):
        return 1.05 + 3.85 * r / 100 + r * (r - 60) * (100 - r) * 7e-6

    quant = np.linspace(0, 1, 2001)
    coding = 100 - np.interp(np.clip(4.66 - .07 * np.exp(4.06 * quant), 1.05, 4.9), mos(r), r)

    def qp(score, coded, shown, rate):
        scaling = np.clip(72.61 * np.log10(.32 * (max(shown / coded, 1) - 1) + 1), 0, 100)
        slow = (100 - coding - scaling) * (30.98 - 1.29 * rate) / (64.65 + rate) * (rate < 24)
        all_of_it = np.clip(coding + scaling + np.clip(slow, 0, 100), 0, 100)
        return 51 * np.interp(-score, -mos(100 - all_of_it), quant)

    for context in 'pc', 'mobile':
        guess, opinions = [], []
        for path in sorted(glob.glob(os.path.join(sys.argv[1], folder, 'mode3',
                                                  '*-%s-input.json' % context))):
            clip, said = re.search(r'-(\w+)-', path)[1], table(path)
            rows = [(score, *seconds[clip, i]) for i, score in enumerate(said['O22'])
                    if (clip, i) in seconds]
            if rows and (clip, context) in opinion and not said['I23']['stalling']:
                guess.append(np.mean(estimate('h264', step_of_qp([qp(*row[:4]) for row in rows]),
                                              [row[4] for row in rows], 1080), 1))
                opinions.append(opinion[clip, context])
        say('ITU-T P.1203, no stalls, ' + context, np.transpose(guess), opinions)


nvc()
etri()
p1203()
