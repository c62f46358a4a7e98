#!/usr/bin/env python3
# Model files (doc/model-format.md), and C tables of them for the filter's built-in models:
#   tools/train/models.py models/NAME.txt > libavfilter/bliinds_model_data.c
# SPDX-License-Identifier: LGPL-2.1-or-later
import itertools
import os
import sys
import textwrap

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

HEAD = '''
/**
 * @file
 * The built-in models. Made by tools/train/models.py of models/%s: do not edit.
 */

#include <math.h>

#include "bliinds.h"
'''


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


def array(words):
    """All but zeros; no line is broken at the blanks around an equals sign."""
    items = [word if i and words[i - 1] != '0' else '[%d]\xa0=\xa0%s' % (i, word)
             for i, word in enumerate(words) if word != '0']
    return '{ %s }' % ', '.join(items)


def c_table(model):
    """A BLIINDSModel."""
    def values(weights, names=FEATURES):
        return array([weights.get(name, ['0'])[0] for name in names])
    is_flat = model.get('frames') == ['flat']
    fields = {
        'name': '"%s"' % model['name'][0],
        'predicts': '"%s"' % ' '.join(model['predicts']),
        'weight': values(model['weight']),
        'constant': model['constant'][0],
        'nb_units': len(model['unit']),
        **{'unit[%d]' % i: '{ %s, %s, %s }' % (*unit[:2], values(unit[2]))
           for i, unit in enumerate(model['unit'])},
        'of_flat': int(is_flat),
        'logistic': int(model['link'] == ['logistic']),
        'higher_is_better': int(model['direction'] == ['higher']),
        'min': model['range'][0],
        'max': model['range'][1],
        'step': model.get('step', ['0'])[0],
        'sigma': model.get('sigma', ['NAN'])[0],
        'sigma_weight': values(model['sigma_weight'], FEATURES + ['score']),
        'sigma_p80': model.get('sigma_p80', ['NAN'])[0],
    }
    lines = [textwrap.fill('.%s = %s,' % field, 100, initial_indent=8 * ' ',
                           subsequent_indent=12 * ' ', break_on_hyphens=False
                           ).replace('\xa0', ' ')
             for field in fields.items() if field[1] not in (0, '0')]
    basis = 'OF_FLAT' if is_flat else 'BITSTREAM' if is_coded(model) else 'PIXELS'
    return ['    [BLIINDS_%s] = {' % basis] + lines + ['    },']


def c_tables(path):
    """The lines of bliinds_model_data.c for a model file."""
    models = read(path)
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, '../../libavfilter/bliinds_model.c')) as file:
        licence = file.read().split('*/')[0] + '*/\n'
    return [licence + HEAD % os.path.basename(path),
            'const BLIINDSModel ff_bliinds_model_%s[BLIINDS_NB_BASES] = {' % models[0]['name'][0],
            *(line for model in models for line in c_table(model)), '};']


if __name__ == '__main__':
    print('\n'.join(c_tables(sys.argv[1])))
