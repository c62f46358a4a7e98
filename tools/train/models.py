# Reads model files (doc/model-format.md).
# SPDX-License-Identifier: LGPL-2.1-or-later
import itertools

LEVELS = ('L1', 'L2', 'L3')
NAMES = ('zeta100', 'zeta10', 'gamma100', 'gamma10', 'sub100', 'sub10', 'ori100', 'ori10')
STATISTICS = [level + '.' + name for level in LEVELS for name in NAMES]
BANDS = ['%s.band%d' % (level, band) for level in LEVELS for band in (1, 2, 3)]
BAND_PHASES = ['L1.phase1', 'L1.phase2', 'L1.phase3']
PHASES = BAND_PHASES + ['phase.zeta', 'phase.gamma', 'phase.sub', 'phase.ori']
MOTION = ['motion.mean', 'motion.energy']
CODED = ['coded.' + name for name in
         'step intra scale chroma hevc av1 vp9 mpeg2 mpeg4 mjpeg'.split()]
FEATURES = STATISTICS + BANDS + PHASES + MOTION + CODED     # the filter's order


def read(path):
    """The models of a file: words by keyword, or numbers by keyword and feature; a list of units,
    each with its output's weight, its constant, and weights by feature."""
    models = []
    with open(path) as file:
        for line in file:
            key, *words = line.split() or '#'
            if key == 'bliinds-model':
                models.append({'link': ['linear'], 'unit': [], **{key: {} for key in (
                    'weight', 'sigma_weight')}})
            elif key == 'unit':
                models[-1]['unit'].append(
                    (*words[:2], {name: [word] for name, word in zip(words[2::2], words[3::2])}))
            elif not key.startswith('#') and isinstance(models[-1].get(key), dict):
                models[-1][key][words[0]] = words[1:]
            elif not key.startswith('#'):
                models[-1][key] = words
    return models


def is_coded(model):
    """Whether it is for frames of which the numbers of the bitstream are known."""
    weights = model['weight'], model['sigma_weight'], *(unit[2] for unit in model['unit'])
    return any(name.startswith('coded.') for name in itertools.chain(*weights))
