#!/usr/bin/env python3
# Trains a model: looks whether the sources show their coding, makes and labels encodes, fits the
# score.
# SPDX-License-Identifier: LGPL-2.1-or-later
import argparse
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import common       # noqa: E402
import contents     # noqa: E402
import encodes      # noqa: E402
import label        # noqa: E402
import loss         # noqa: E402
import pristine     # noqa: E402
import score        # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description='Trains a model, or takes a step of that.')
    add = parser.add_argument
    add('step', choices=['all', 'pristine', 'label', 'fit', 'loss'])
    add('--ffmpeg', default='ffmpeg', help='with our filters and all encoders')
    add('--media', default='media', help='folder with OWNER/REPOSITORY/PATH of the sources')
    add('--contents', default=contents.LIST, help='list of the shots')
    add('--families', nargs='*', default=[], help='families of encodes.py (default: all)')
    add('--jobs', type=int, default=os.cpu_count(), help='encodes at a time')
    add('--work', default='work', type=os.path.abspath, help='for shots, encodes and records')
    add('--results', default='results', help='folder for what is made, and the report')
    add('--name', default='model')
    add('--licence', default='not stated')
    add('--held', action='store_true',
        help='report on the contents that were held back, too: once, at the end')
    return parser.parse_args()


def main():
    options = parse_arguments()
    common.program = options.ffmpeg
    shots = contents.contents(options.contents)
    missing = sorted({shot.repository for shot in shots if not shot.is_there(options.media)})
    if missing and options.step != 'fit':
        sys.exit('\n'.join(
            ['error: MEDIA=%s must have all sources of %s: these commands get those that it lacks, '
             'or give a list of your own with CONTENTS=file' % (options.media, options.contents)]
            + ['       git clone --depth 1 https://github.com/{0} {1}/{0}'.format(
                repository, options.media) for repository in missing]))
    if options.step in ('all', 'pristine'):
        pristine.judge([(shot.name, shot.input(options.media), shot.factor) for shot in shots])
    if options.step in ('all', 'label'):
        label.label(shots, options)
    if options.step == 'loss':
        options.work = os.path.join(options.work, 'loss')
        label.label(shots, options, encodes.LOSS)
        loss.report(options.work, shots)
    if options.step in ('all', 'fit'):
        score.write(shots, options)


if __name__ == '__main__':
    try:
        main()
    except common.Error as error:
        sys.exit('error: %s' % error)
