# Encodes and distortions of a content, their label and their features.
# SPDX-License-Identifier: LGPL-2.1-or-later
import hashlib
import json
import os
import re
import shutil
import tempfile

import ff
import fit

# Frames whose features are taken. An odd step does not fall in with the pyramid of an
# encoder, and the first frame is left out: an I frame is rare in a real encode.
FIRST_FRAME, FRAME_STEP = 3, 5

# Encoders: name, what FFmpeg calls it, options, ladder from the best quality down.
X264 = '-preset medium -threads 1 -crf {}'
X265 = '-preset fast -x265-params log-level=error:pools=none:frame-threads=1 -crf {}'
AV1 = '-preset 8 -svtav1-params lp=1 -crf {}'
VP9 = '-b:v 0 -deadline good -cpu-used 5 -threads 1 -crf {}'
MPEG2 = '-threads 1 -bf 2 -g 15 -qscale:v {0} -qmin {0} -qmax {0}'
MJPEG = '-threads 1 -strict unofficial -qscale:v {0} -qmin {0} -qmax {0}'

VIDEO_ENCODES = (
    ('x264', 'libx264', X264, (18, 23, 28, 33, 38, 43, 48)),
    ('x265', 'libx265', X265, (20, 26, 32, 38, 45)),
    ('av1', 'libsvtav1', AV1, (22, 34, 45, 55, 63)),
    ('vp9', 'libvpx-vp9', VP9, (18, 32, 42, 52, 63)),
    ('mpeg2', 'mpeg2video', MPEG2, (3, 8, 16, 31)),
    ('mjpeg', 'mjpeg', MJPEG, (4, 10, 18, 31)),
)
TEN_BIT_ENCODES = (
    ('x264_10', 'libx264', X264, (18, 28, 38, 46)),
    ('x265_10', 'libx265', X265, (20, 30, 38, 45)),
    ('av1_10', 'libsvtav1', AV1, (24, 45, 60)),
)
PHOTO_ENCODES = (
    ('x264', 'libx264', X264, (18, 23, 28, 33, 38, 43, 48)),
    ('x265', 'libx265', X265, (26, 36, 46)),
    ('av1', 'libsvtav1', AV1, (34, 50, 63)),
    ('vp9', 'libvpx-vp9', VP9, (36, 54)),
    ('mjpeg', 'mjpeg', MJPEG, (3, 6, 10, 16, 24, 31)),
)

# What is not an encode: name, filters, ladder.
BLUR = 'gblur=sigma={0}:steps=3'
NOISE = 'noise=c0s={}:c0f=t:c0_seed=7'
SHARPEN = 'unsharp=5:5:{}'
RESCALE = 'scale=trunc(iw/{0}/2)*2:-2:flags=bicubic,scale={{w}}:{{h}}:flags=bicubic'
CONTRAST = "lutyuv=y='(val-maxval/2)*{0}+maxval/2'"

VIDEO_DISTORTIONS = (
    ('blur', BLUR, (1.0, 2.0)),
    ('noise', NOISE, (8, 20)),
    ('rescale', RESCALE, (2,)),
    ('sharpen', SHARPEN, (1.0,)),
)
PHOTO_DISTORTIONS = (
    ('blur', BLUR, (0.6, 1.0, 1.6, 2.6)),
    ('noise', NOISE, (5, 10, 20, 40)),
    ('rescale', RESCALE, (1.5, 2, 3)),
    ('sharpen', SHARPEN, (0.5, 1.0, 2.0)),
    ('contrast', CONTRAST, (0.9, 1.1)),
)

# Labels: the damage from 0 to 100 out of what a full-reference filter says.
LABELS = {
    'libvmaf': ('100 - VMAF (v0.6.1)', 'libvmaf=n_threads=1', r'VMAF score: ([0-9.]+)',
                lambda v: 100 - v),
    'mad': ('MAD, up to 100', 'mad', r'MAD mean:([0-9.]+)', lambda v: min(v, 100)),
    'vif': ('100 - 100 VIF (luma, at full size)', 'vif', r'VIF scale=0 average:([0-9.]+)',
            lambda v: 100 - 100 * v),
    'ssim': ('100 - 100 SSIM (luma)', 'ssim', r'SSIM Y:([0-9.]+)', lambda v: 100 - 100 * v),
}


class Job:
    """One encode or distortion of a content."""

    def __init__(self, content, family, value, codec=None, options='', chain='', ten_bit=False):
        self.content = content
        self.family = family
        self.value = value
        self.codec = codec
        self.options = options
        self.chain = chain
        self.ten_bit = ten_bit
        self.name = family if value is None else '%s_%s' % (family, value)


def jobs(content, encoders, ten_bit):
    """All of a content, and the families that this FFmpeg cannot make."""
    encodes, distortions = {
        'photo': (PHOTO_ENCODES, PHOTO_DISTORTIONS),
        'video': (VIDEO_ENCODES, VIDEO_DISTORTIONS)}[content.kind]
    todo, missing = [Job(content, 'source', None)], set()
    if ten_bit:
        todo.append(Job(content, 'source_10', None, ten_bit=True))
        encodes += TEN_BIT_ENCODES
    for family, codec, options, ladder in encodes:
        if codec in encoders:
            todo += [Job(content, family, v, codec, options.format(v),
                         ten_bit=family.endswith('_10')) for v in ladder]
        else:
            missing.add('%s (%s)' % (family, codec))
    for family, chain, ladder in distortions:
        todo += [Job(content, family, v, chain=chain.format(v)) for v in ladder]
    return todo, missing


def measure(job, reference, label, folder, scratch_folder):
    """The record of a job: label, features of some frames. Made once, then read. One
    that lacks features of today's filter keeps its label."""
    path, key, width, height = reference
    chain = job.chain.format(w=width, h=height)
    title, metric, pattern, damage = LABELS[label]
    photo = job.content.kind == 'photo'
    pick = '' if photo else "select='gte(n,%d)*not(mod(n-%d,%d))'," % (FIRST_FRAME, FIRST_FRAME, FRAME_STEP)
    key = hashlib.sha256(repr((key, job.codec, job.options, chain, metric, pick)).encode()).hexdigest()
    place = os.path.join(folder, job.content.name)
    record = os.path.join(place, job.name + '.json')
    known = None
    try:
        with open(record) as file:
            known = json.load(file)
        if known['key'] != key:
            known = None
        elif all(set(fit.FEATURES) <= set(frame) for frame in known['frames']):
            return known, False
    except (OSError, ValueError, KeyError):
        known = None

    os.makedirs(place, exist_ok=True)
    scratch = tempfile.mkdtemp(dir=scratch_folder)
    try:
        source, bits = path, None
        if job.codec:
            source = os.path.join(scratch, 'encode.mkv')
            ff.run(['-i', path, '-c:v', job.codec] + job.options.split() + [source])
            bits = 8 * os.path.getsize(source)
        time = 'settb=1/25,setpts=N'
        damaged = '[0:v]%s%s' % (time, ',' + chain if chain else '')
        scored = '%sbliinds=features=1:side_data=0:log_path=log.json[out]' % pick
        graph = [damaged + ',' + scored] if known else [
            damaged + ',split=4[d1][d2][d3][d4]',
            '[1:v]%s,split=3[r1][r2][r3]' % time,
            '[d1][r1]%s,nullsink' % metric, '[d2][r2]ssim,nullsink', '[d3][r3]psnr,nullsink',
            '[d4]' + scored]
        said = ff.run(['-i', source, '-i', path, '-filter_complex_threads', '1',
                       '-filter_complex', ';'.join(graph), '-map', '[out]', '-f', 'null', '-'],
                      folder=scratch, quiet=False)

        def value(expression):
            found = re.search(expression, said)
            return float(found[1]) if found else None

        with open(os.path.join(scratch, 'log.json')) as file:
            log = json.load(file)
        frames = [frame['metrics'] for frame in log['frames']]
        for frame in frames:
            for name in ('score', 'raw', 'sigma', 'distance'):
                frame.pop(name, None)
        if known:
            made = dict(known, frames=frames)
        else:
            labelled = value(pattern)
            if labelled is None:
                raise ff.Error('%s gave no value for %s of %s' % (label, job.name, path))
            made = {
                'key': key, 'content': job.content.name, 'group': job.content.group,
                'kind': job.content.kind, 'family': job.family, 'value': job.value,
                'width': width, 'height': height, 'bits': bits,
                'label': damage(labelled), 'ssim': value(r'SSIM Y:([0-9.]+)'),
                'psnr': value(r'PSNR y:([0-9.]+|inf)'), 'frames': frames,
            }
        with open(os.path.join(scratch, 'record'), 'w') as file:
            json.dump(made, file)
        os.replace(os.path.join(scratch, 'record'), record)
        return made, True
    finally:
        shutil.rmtree(scratch)
