# The model file, and the report on what it is worth.
# SPDX-License-Identifier: LGPL-2.1-or-later
import csv
import os
import subprocess

import numpy as np

import ff
import fit

ENCODERS = ('x264', 'x265', 'av1', 'vp9', 'mpeg2', 'mjpeg')
TEN_BIT = ('x264_10', 'x265_10', 'av1_10')
DISTORTIONS = ('blur', 'noise', 'rescale', 'sharpen', 'contrast')


def number(value):
    return '%.9g' % value


def write_model(path, data, fields, constant, weights, sigma, frames, frame_weight):
    """The file of doc/model-format.md, in the form of weights."""
    frame_weight = frame_weight / frame_weight.sum()
    mean = frame_weight @ frames
    centred = frames - mean
    covariance = (centred * frame_weight[:, None]).T @ centred
    # A little more variance than there is, so that the inverse is no matter of rounding.
    covariance += 1e-4 * np.diag(np.diag(covariance))
    precision = np.linalg.inv(covariance)
    precision = (precision + precision.T) / 2
    distance = np.sqrt(np.einsum('ni,ij,nj->n', centred, precision, centred))
    order = np.argsort(distance)
    share = np.cumsum(frame_weight[order])

    lines = ['bliinds-model 1', '# Format: see doc/model-format.md. Made by `make model`, of FFmpeg %s,' %
             ff.version(), '# out of %d records whose SHA-256 is' % len(data.records), '# ' + data.digest()]
    lines += ['%-12s %s' % item for item in fields]
    lines += ['direction    lower', 'range        0 100', 'sigma        %.4g' % sigma, '']
    lines += ['constant     ' + number(constant)]
    lines += ['weight       %-12s %s' % (n, number(w)) for n, w in zip(fit.FEATURES, weights)]
    lines += ['', '# Where the training set lies, frame by frame.']
    lines += ['mean         %-12s %s' % (n, number(m)) for n, m in zip(fit.FEATURES, mean)]
    lines += ['precision    %-12s %s' % (n, ' '.join('%.7g' % v for v in row))
              for n, row in zip(fit.FEATURES, precision)]
    lines += ['percentile   %d %.3f' % (p, distance[order[np.searchsorted(share, p / 100)]])
              for p in (50, 90, 95, 99)]
    lines += ['end', '']
    with open(path + '.part', 'w') as file:
        file.write('\n'.join(lines))
    os.replace(path + '.part', path)


def table(head, rows):
    return '\n'.join(['| ' + ' | '.join(head) + ' |', '|' + '---|' * len(head)] +
                     ['| ' + ' | '.join(row) + ' |' for row in rows]) + '\n'


def figures(data, prediction, where):
    """Rank and linear correlation and error, the first with its interval."""
    at = np.flatnonzero(where)
    p, y, group = prediction[at], data.y[at], data.group[at]
    if len(at) < 5 or np.ptp(p) == 0:
        return None
    low, high = fit.interval(lambda k: fit.srocc(p[k], y[k]), group)
    low_error, high_error = fit.interval(lambda k: fit.rmse(p[k], y[k]), group)
    return ['%d' % len(at), '%d' % len(np.unique(group)),
            '%.3f [%.2f, %.2f]' % (fit.srocc(p, y), low, high), '%.3f' % fit.plcc(p, y),
            '%.1f [%.1f, %.1f]' % (fit.rmse(p, y), low_error, high_error),
            '%+.1f' % np.mean(p - y)]


def figures_table(data, prediction, parts):
    rows = [[name] + got for name, where in parts
            for got in [figures(data, prediction, where)] if got]
    return table(('left-out contents', 'encodes', 'contents', 'SROCC [95 %]', 'PLCC',
                  'RMSE [95 %]', 'bias'), rows)


def parts(data):
    video, photo = data.kind == 'video', data.kind == 'photo'
    found = [('video: x264 and x265', video & data.is_family('x264', 'x265'))]
    found += [('video: ' + f, video & data.is_family(f)) for f in ENCODERS + TEN_BIT]
    found += [('video: all encodes, 8 bit', video & data.is_family(*ENCODERS)),
              ('video: all encodes, 10 bit', video & data.is_family(*TEN_BIT))]
    found += [('video: ' + f, video & data.is_family(f)) for f in DISTORTIONS]
    found += [('photographs: x264 and MJPEG', photo & data.is_family('x264', 'mjpeg')),
              ('photographs: all encodes', photo & data.is_family(*ENCODERS))]
    found += [('photographs: ' + f, photo & data.is_family(f)) for f in ENCODERS + DISTORTIONS]
    found += [('photographs: encodes, blur, noise, rescaling',
               photo & data.is_family(*ENCODERS, 'blur', 'noise', 'rescale'))]
    return found


def ladder_table(data, predictions):
    rows = []
    for name, prediction in predictions:
        ranks = [fit.ladder_ranks(data, prediction, [f]) for f in ('x264', 'x265', 'av1', 'vp9')]
        ranks = [r for r in ranks if len(r)]
        both = np.concatenate(ranks)
        rows.append([name] + ['%.2f, %.2f' % (np.median(r), r.min()) for r in ranks] +
                    ['%.2f, %.2f' % (np.median(both), both.min()), '%d' % len(both)])
    return table(('rank with CRF in a ladder: median, worst', 'x264', 'x265', 'AV1', 'VP9', 'all',
                  'ladders'), rows)


def crf_table(data, predictions):
    qualities = (95, 90, 80)
    rows = []
    for name, prediction in predictions:
        errors = [fit.crf_errors(data, prediction, q) for q in qualities]
        rows.append([name] + ['%.1f (%d)' % (e.mean(), len(e)) if len(e) else '-' for e in errors])
    errors = [fit.constant_crf_errors(data, q) for q in qualities]
    rows.append(['one CRF for all'] + ['%.1f (%d)' % (e.mean(), len(e)) if len(e) else '-' for e in errors])
    return table(('x264, mean error (ladders) in points when aiming at',) +
                 tuple(str(q) for q in qualities), rows)


def write_predictions(path, data, absolute, loss):
    with open(path + '.part', 'w', newline='') as file:
        out = csv.writer(file)
        out.writerow(('kind', 'group', 'content', 'family', 'value', 'label', 'absolute', 'loss'))
        for row in zip(data.kind, data.group, data.content, data.family, data.value,
                       data.y, absolute, loss):
            out.writerow(['%.4f' % v if isinstance(v, float) else v for v in row])
    os.replace(path + '.part', path)


def plot(script, folder):
    try:
        subprocess.run(['gnuplot', '-c', script, 'predictions.csv', 'predictions.png'],
                       cwd=folder, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True
