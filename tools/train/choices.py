#!/usr/bin/env python3
# What each metric's choice of CRF scores by VMAF v1: encodes the shots that were held back by
# several encoders and presets on a ladder of CRFs, measures all of them, and prints a table.
# SPDX-License-Identifier: LGPL-2.1-or-later
import concurrent.futures
import json
import os
import re
import shutil
import sys
import tempfile
import time

import numpy as np

import common
import contents
import label
import loss

X = (17, 22, 27, 32, 37, 42, 47)
AV1 = (20, 28, 36, 44, 52, 60)
# Encoder, its options, three presets from fast to slow, CRFs.
ENCODERS = (
    ('x264', '-c:v libx264 -crf {} -threads 1 -preset {}', ('ultrafast', 'medium', 'veryslow'), X),
    ('x265', '-c:v libx265 -crf {} -x265-params log-level=none:pools=1:frame-threads=1 -preset {}',
     ('ultrafast', 'medium', 'slow'), X),
    ('svt-av1', '-c:v libsvtav1 -crf {} -svtav1-params lp=1 -preset {}', (12, 8, 4), AV1),
    ('aom', '-c:v libaom-av1 -crf {} -b:v 0 -threads 1 -cpu-used {}', (8, 6, 4), AV1),
)
SPEEDS = ('fast', 'medium', 'slow')
TARGETS = loss.TARGETS
# Metrics in points of VMAF; the value of the others for a target is the median of the other shots'.
POINTS = {'VMAF v0.6.1': 1, 'detailloss': -1, 'score by the bitstream': -1, 'loss by rr_read': -1}


def pooled(path, name):
    with open(path) as file:
        return json.load(file)['pooled_metrics'][name]['mean']


def measure(encode, source, scratch):
    """All metrics of an encode, as means over its frames."""
    def pair(i, filters):
        return '[e%d][r%d]%s,nullsink' % (i, i, filters)
    vmaf = "libvmaf=log_fmt=json:log_path=vmaf.json:model='" \
           "version=vmaf_v1.0.16_3d0h\\:name=v1\\:cambi.enc_bitdepth=8|" \
           "version=vmaf_v0.6.1\\:name=v0'"
    statistics = os.path.join(scratch, 'rr')
    filters = label.TIME + ',bliinds=side_data=0:rr_write=' + statistics
    common.run(['-i', source, '-vf', filters, '-f', 'null', '-'])
    graph = ['[0:v]%s,split=6[e0][e1][e2][e3][e4][e5]' % label.TIME,
             '[1:v]%s,split=5[r0][r1][r2][r3][r4]' % label.TIME,
             '[e0]format=yuv420p10[a];[r0]format=yuv420p10[b];[a][b]%s[out]' % vmaf,
             pair(1, 'detailloss=log_path=detail.json'), pair(2, 'ssim'), pair(3, 'psnr'),
             '[r4][e4]xpsnr,nullsink', '[e5]bliinds=side_data=0:log_path=bliinds.json:'
             'rr_match=number:rr_read=%s,nullsink' % statistics]
    said = common.run(['-bsf:v', 'quantizer_metadata', '-i', encode, '-i', source,
                       '-filter_complex_threads', '1', '-filter_complex', ';'.join(graph),
                       '-map', '[out]', '-f', 'null', '-'], folder=scratch, quiet=False)
    log = {name: os.path.join(scratch, name + '.json') for name in ('vmaf', 'detail', 'bliinds')}
    planes = re.findall(r' [yuv]: *([0-9.]+)', re.search(r'XPSNR .*', said)[0])
    return {'VMAF v1': pooled(log['vmaf'], 'v1'), 'VMAF v0.6.1': pooled(log['vmaf'], 'v0'),
            'detailloss': pooled(log['detail'], 'loss'),
            'score by the bitstream': pooled(log['bliinds'], 'score'),
            'loss by rr_read': pooled(log['bliinds'], 'loss'),
            'SSIM': -10 * np.log10(1 - float(re.search(r'SSIM .*All:([0-9.]+)', said)[1]) + 1e-9),
            'PSNR': float(re.search(r'PSNR .*average:([0-9.]+)', said)[1]),
            'XPSNR': min(map(float, planes))}


def point(item):
    path, name, options, preset, crf, work = item
    scratch = tempfile.mkdtemp(dir=work)
    try:
        encode = os.path.join(scratch, 'encode.mkv')
        began = time.time()
        common.run(['-i', path, *options.format(crf, preset).split(),
                    '-pix_fmt', 'yuv420p', encode])
        seconds = time.time() - began
        return {**measure(encode, path, scratch), 'encode': seconds}
    finally:
        shutil.rmtree(scratch)


def value_at(crf, values, wanted):
    """The CRF at which a metric that falls with it has a value."""
    falling = np.minimum.accumulate(values) - np.arange(len(values)) * 1e-9
    return np.interp(-wanted, -falling, crf)


def choices(ladders, target):
    """For each metric and ladder how far VMAF v1 is off the target at the CRF that it chooses."""
    off = {}
    usable = {key: rows for key, rows in ladders.items()
              if rows['VMAF v1'].min() <= target <= rows['VMAF v1'].max()}
    for (content, name, preset), rows in usable.items():
        like = [r for (c, n, p), r in usable.items() if (n, p) == (name, preset) and c != content]
        if not like:
            continue
        for metric in [m for m in rows if m not in ('crf', 'encode', 'VMAF v1')] + ['one CRF']:
            if metric == 'one CRF':
                crf = np.median([value_at(r['crf'], r['VMAF v1'], target) for r in like])
            elif metric in POINTS:
                sign = POINTS[metric]
                wanted = target if sign > 0 else target - 100
                crf = value_at(rows['crf'], sign * rows[metric], wanted)
            else:
                usual = np.median([
                    np.interp(value_at(r['crf'], r['VMAF v1'], target), r['crf'], r[metric])
                    for r in like])
                crf = value_at(rows['crf'], rows[metric], usual)
            off.setdefault(metric, {})[content, name, preset] = \
                abs(np.interp(crf, rows['crf'], rows['VMAF v1']) - target)
    return off


def report(ladders):
    speed = {(name, preset): SPEEDS[i]
             for name, _, presets, _ in ENCODERS for i, preset in enumerate(presets)}
    groups = [(s, lambda k, s=s: speed[k[1:]] == s) for s in SPEEDS] + \
             [(e[0], lambda k, e=e: k[1] == e[0]) for e in ENCODERS]
    for target in TARGETS:
        off = choices(ladders, target)
        if not off:
            continue
        title = 'VMAF v1 of %d, %d ladders' % (target, len(off['one CRF']))
        rows = [[title, 'all', 'worst', *(name for name, _ in groups)]]
        for metric, values in sorted(off.items(), key=lambda item: np.mean(list(item[1].values()))):
            parts = [list(values.values())]
            parts += [[v for k, v in values.items() if of(k)] or [np.nan] for _, of in groups]
            means = ['%.1f' % np.mean(part) for part in parts]
            rows.append([metric, means[0], '%.1f' % max(values.values())] + means[1:])
        print(common.table(*rows))


def main():
    options = common.options('Compares the CRFs that metrics choose.',
                             'ffmpeg', 'media', 'work', 'jobs', 'contents').parse_args()
    common.program = os.path.realpath(options.ffmpeg)
    listed = [c for c in contents.contents(options.contents) if c.use == 'held']
    clips = os.path.join(options.work, 'clips')
    work = os.path.join(options.work, 'choices')
    os.makedirs(work, exist_ok=True)
    items = {}
    for content in listed:
        path = os.path.join(clips, content.name + '.mkv')
        if not os.path.exists(path):
            path = contents.reference(content, options.media, clips, '', False)
        for name, arguments_of, presets, crfs in ENCODERS:
            for preset in presets:
                for crf in crfs:
                    items[content.name, name, preset, crf] = \
                        os.path.abspath(path), name, arguments_of, preset, crf, work
    found = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(point, item): key for key, item in items.items()}
        for job in concurrent.futures.as_completed(jobs):
            try:
                found[jobs[job]] = job.result()
            except common.Error as error:
                print(error, file=sys.stderr)
    ladders = {}
    for key in sorted(found, key=str):
        ladders.setdefault(key[:3], []).append({'crf': key[3], **found[key]})
    ladders = {key: sorted(rows, key=lambda row: row['crf'])
               for key, rows in ladders.items() if len(rows) > 2}
    ladders = {key: {name: np.array([row[name] for row in rows]) for name in rows[0]}
               for key, rows in ladders.items()}
    with open(os.path.join(options.work, 'choices.json'), 'w') as file:
        json.dump([{'key': list(key), **{n: v.tolist() for n, v in rows.items()}}
                   for key, rows in ladders.items()], file)
    report(ladders)


if __name__ == '__main__':
    main()
