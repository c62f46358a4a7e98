#!/usr/bin/env python3
# Trains a model of the filter bliinds: see scripts/model.sh, and doc/model.md for the why.
# SPDX-License-Identifier: LGPL-2.1-or-later
import argparse
import concurrent.futures
import fcntl
import os
import shutil
import sys
import time

import numpy as np

import corpus
import ff
import fit
import loss
import measure
import report

# What the absolute model is fitted to: doc/model.md says why.
NOT_FITTED = ('sharpen', 'contrast')    # the label takes them for none, or for another damage
DISTORTION_WEIGHT = 0.4                 # of blur, noise and rescaling, where an encode has 1
STRENGTHS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)


def say(text):
    print('==> ' + text, file=sys.stderr, flush=True)


def arguments():
    parser = argparse.ArgumentParser(description='Trains a model of the filter bliinds.')
    parser.add_argument('--ffmpeg', required=True, help='an FFmpeg with the filter bliinds')
    parser.add_argument('--photos', help='folder of pristine pictures')
    parser.add_argument('--videos', help='folder of pristine clips')
    parser.add_argument('--work', required=True, help='folder for what is made; reused')
    parser.add_argument('--jobs', type=int, default=os.cpu_count())
    parser.add_argument('--results', required=True, help='folder for model and report')
    parser.add_argument('--name', default='model')
    parser.add_argument('--licence', default='not stated')
    options = parser.parse_args()
    for name in 'photos', 'videos', 'work', 'results':
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
    return options


class Progress:
    def __init__(self, total):
        self.total, self.done, self.made = total, 0, 0
        self.start = self.shown = time.time()

    def step(self, made):
        self.done += 1
        self.made += made
        now = time.time()
        if now - self.shown > 10 or self.done == self.total:
            self.shown = now
            left = (now - self.start) / self.made * (self.total - self.done) if self.made else 0
            say('%d of %d encodes measured, %d of them new, about %d s to go' %
                (self.done, self.total, self.made, left))


def measure_all(options, label):
    encoders = ff.listed('encoders')
    references, records, scratch = (os.path.join(options.work, name)
                                    for name in ('references', 'records', 'scratch'))
    shutil.rmtree(scratch, ignore_errors=True)      # what a killed run has left
    for folder in references, records, scratch:
        os.makedirs(folder, exist_ok=True)
    contents = []
    if options.photos:
        contents += corpus.photos(options.photos)
    if options.videos:
        contents += corpus.videos(options.videos)
    if not contents:
        sys.exit('error: no pictures and no clips; give folders with PHOTOS= and VIDEOS=')
    say('%d photographs and sizes of them, %d shots of clips' %
        tuple(sum(c.kind == kind for c in contents) for kind in ('photo', 'video')))
    work, missing = [], set()
    for content in contents:
        ten_bit = content.kind == 'video' and content.index % 3 == 2
        todo, lacking = measure.jobs(content, encoders, ten_bit)
        missing |= lacking
        work.append((content, todo))
    progress = Progress(sum(len(todo) for _, todo in work))
    result = []

    def one(content, todo):
        made = {}
        for job in todo:
            if job.ten_bit not in made:
                made[job.ten_bit] = corpus.reference(content, references, job.ten_bit)
            record, new = measure.measure(job, made[job.ten_bit], label, records,
                                           scratch)
            progress.step(new)
            result.append(record)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(one, *item) for item in work]:
            future.result()
    return result, missing


def choose_strength(data, x, weight, fitted):
    """The strongest regularisation whose left-out error is within one standard error, over
    contents, of the least: what differs by less is not told apart by these contents."""
    groups = np.unique(data.group)
    errors = []
    for strength in STRENGTHS:
        p = fit.left_out(x, data.y, weight, data.group, strength * fit.PENALTY, fitted)
        error = np.where(fitted, weight * (np.clip(p, 0, 100) - data.y) ** 2, 0)
        errors.append([error[data.group == g].sum() for g in groups])
    errors = np.array(errors)
    best = errors.sum(1).argmin()
    spread = (errors - errors[best]).std(1) * np.sqrt(len(groups))
    near = errors.sum(1) <= errors[best].sum() + spread
    return max(s for s, good in zip(STRENGTHS, near) if good)


def train(data, options, label, missing):
    title = measure.LABELS[label][0]
    equal = fit.balance(data, data.group)
    weight = equal * np.where(data.is_family(*report.DISTORTIONS), DISTORTION_WEIGHT, 1)
    fitted = ~data.is_family(*NOT_FITTED)
    x = data.design()
    strength = choose_strength(data, x, weight, fitted)
    held_out = fit.left_out(x, data.y, weight, data.group, strength * fit.PENALTY, fitted)
    score = np.clip(held_out, 0, 100)
    constant, weights = fit.ridge(x[fitted], data.y[fitted], weight[fitted], strength * fit.PENALTY)
    weights = fit.CENTRE @ weights
    sigma = np.sqrt(np.average((score - data.y)[fitted] ** 2, weights=weight[fitted]))

    drops, has_source = loss.terms(data)
    encodes = has_source & data.is_family(*report.ENCODERS, *report.TEN_BIT)
    noisy = has_source & data.is_family('noise')
    weight_of_loss = equal * np.where(data.kind == 'photo', loss.PHOTO_WEIGHT, 1)
    constants = loss.fit_constants(drops, data.y, weight_of_loss, encodes, noisy)
    lost = loss.left_out(drops, data, weight_of_loss, encodes, noisy)

    at = np.flatnonzero(fitted)
    frames = np.concatenate([data.frames[i] for i in at])
    frame_weight = np.concatenate([np.full(len(data.frames[i]), weight[i] / len(data.frames[i]))
                                   for i in at])
    kinds = ['%d %s in %d %s' % (len(np.unique(data.group[data.kind == k])), of,
                                 len(np.unique(data.content[data.kind == k])), name)
             for k, of, name in (('photo', 'photographs', 'sizes'), ('video', 'videos', 'shots'))
             if (data.kind == k).any()]
    parts = [(n, w) for n, w in report.parts(data) if w.any()]
    main_parts = [(n, w) for n, w in parts if n in ('video: x264 and x265', 'photographs: all encodes')]
    accuracy = '; '.join('%s %.2f' % (n, fit.srocc(score[w], data.y[w])) for n, w in main_parts)
    fields = [('name', options.name), ('predicts', title),
              ('training', 'ridge regression (strength %g relative to features of unit variance) on %d '
               'encodes and distortions of %s' % (strength, fitted.sum(), ' and '.join(kinds))),
              ('accuracy', 'rank correlation on contents left out: ' + (accuracy or 'too few contents')),
              ('licence', options.licence)]
    model = os.path.join(options.results, options.name + '.txt')
    report.write_model(model, data, fields, constant, weights, sigma, frames, frame_weight)

    video_loss = 100 - 100 * data.ssim, -data.psnr
    compared = [('absolute score', score), ('loss', lost)]
    text = ['# Report of make model', '',
            'FFmpeg %s; label: %s; %d records of %s, in %d groups that were left out one at a time.' %
            (ff.version(), title, len(data.y), ' and '.join(kinds), len(np.unique(data.group))), '']
    text += ['Not made, since this FFmpeg lacks the encoder: ' + ', '.join(sorted(missing)) + '.', ''] \
        if missing else []
    text += ['## Absolute score', '', 'Strength %g, sigma %.1f.' % (strength, sigma), '',
             report.figures_table(data, score, parts)]
    if has_source.any():
        text += ['## Loss', '',
                 'loss = %.2f soft root(main) + %.2f root(low) + %.2f root(high) + %.2f noise, cut to 0..100.' %
                 tuple(constants), '',
                 report.figures_table(data, lost, [(n, w & has_source) for n, w in parts])]
    if any(True for _ in fit.ladders(data, ['x264'])):
        metrics = [('SSIM, mapped', fit.mapped(data, video_loss[0], encodes)),
                   ('PSNR, mapped', fit.mapped(data, video_loss[1], encodes))]
        text += ['## Within a ladder', '', report.ladder_table(data, compared),
                 report.crf_table(data, compared + metrics)]
    with open(os.path.join(options.results, 'report.md'), 'w') as file:
        file.write('\n'.join(text))
    report.write_predictions(os.path.join(options.results, 'predictions.csv'), data, score, lost)
    report.plot(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'plot.gp'), options.results)
    say('wrote ' + model)


def main():
    options = arguments()
    ff.program = options.ffmpeg
    filters = ff.listed('filters')
    if 'bliinds' not in filters:
        sys.exit('error: %s has no filter bliinds' % options.ffmpeg)
    label = next(name for name in measure.LABELS if name in filters)
    say('label: ' + measure.LABELS[label][0])
    with open(os.path.join(options.work, 'lock'), 'w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            sys.exit('error: another run is at work in %s' % options.work)
        records, missing = measure_all(options, label)
    for name in sorted(missing):
        say('note: no %s, which this FFmpeg cannot encode' % name)
    data = fit.Data(records)
    if len(np.unique(data.group)) < 3:
        sys.exit('error: %d contents are too few: one is left out at a time, 3 are needed' %
                 len(np.unique(data.group)))
    os.makedirs(options.results, exist_ok=True)
    train(data, options, label, missing)


if __name__ == '__main__':
    try:
        main()
    except ff.Error as error:
        sys.exit('error: %s' % error)
