#!/usr/bin/env python3
# Makes the encodes of all shots of a list, labels them by VMAF v1, and
# takes features and quantizers. A record is one JSON file; those that are there
# are not made again, so a run that was stopped goes on where it was.
# SPDX-License-Identifier: LGPL-2.1-or-later
import concurrent.futures
import glob
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import common
import contents
import encodes

# Frames whose features are taken. The first one is left out: an I frame is rare.
FIRST_FRAME, FRAME_STEP = 1, 3
PICK = "select='gte(n,%d)*not(mod(n-%d,%d))'" % (FIRST_FRAME, FIRST_FRAME, FRAME_STEP)
TIME = 'settb=1/25,setpts=N'

# The judges: VMAF v1 for a display of 1080 lines, and of 2160 for shots of as many.
V1, V1_4K = 'vmaf_v1.0.16_3d0h.json', 'vmaf_v1.0.16_3d0h_2160.json'


def arguments():
    parser = common.options('Encodes and labels the shots of a list.',
                            'ffmpeg', 'models', 'media', 'work', 'jobs', 'contents')
    parser.add_argument('--only', nargs='*', help='names of shots')
    parser.add_argument('--families', nargs='*', help='families of encodes.py')
    return parser.parse_args()


def still_images(source, quality, out, scratch):
    """JPEGs by libjpeg's own program, as one stream."""
    common.run(['-i', source, '-vf',
                'scale=flags=bicubic+accurate_rnd+full_chroma_int,format=rgb24',
                os.path.join(scratch, '%03d.ppm')])
    for name in sorted(os.listdir(scratch)):
        if name.endswith('.ppm'):
            path = os.path.join(scratch, name)
            subprocess.run(['cjpeg', '-quality', quality, '-optimize',
                            '-outfile', path[:-3] + 'jpg', path],
                           check=True, stderr=subprocess.DEVNULL)   # it warns of coarse tables
            os.remove(path)
    common.run(['-framerate', '25', '-i', os.path.join(scratch, '%03d.jpg'), '-c', 'copy', out])


def encode(job, source, out, scratch):
    for number, (codec, options) in enumerate(job.generations):
        last = number + 1 == len(job.generations)
        to = out if last else os.path.join(scratch, 'generation%d.mkv' % number)
        chain = ['-vf', job.chain] if job.chain and number == 0 else []
        if codec == 'cjpeg':
            still_images(source, options, to, scratch)
        elif '{pass}' in options:
            for turn, to_file in (1, ['-f', 'null', '-']), (2, [os.path.abspath(to)]):
                common.run(['-i', os.path.abspath(source), *chain, '-c:v', codec,
                            *options.replace('{pass}', str(turn)).split(), *to_file],
                           folder=scratch)
        else:
            common.run(['-i', source] + chain + ['-c:v', codec] + options.split() + [to])
        source = to


def features(path):
    with open(path) as file:
        frames = json.load(file)['frames']
    return [{name: value for name, value in frame['metrics'].items()
             if name not in ('score', 'raw', 'sigma')} for frame in frames]


def vmaf_model(folder, name):
    pattern = os.path.join(glob.escape(os.path.abspath(folder)), '**', name)
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        sys.exit('error: there is no %s in %s: libvmaf has it in its folder model' % (name, folder))
    return found[0]


def judge_of(size):
    return V1_4K if min(size) >= 2160 else V1


def judge(job, encoded, reference, size, models, scratch):
    """Labels of all frames, and features of some: as coded, and as shown where that differs."""
    coded = job.coded or size
    told = ''.join('\\:cambi.enc_%s=%d' % item for item in
                   zip(('width', 'height', 'bitdepth'), coded + ((10 if job.ten_bit else 8),)))
    vmaf = "libvmaf=n_threads=1:log_fmt=json:log_path=vmaf.json:model='path=%s\\:name=v1%s'" % (
        vmaf_model(models, judge_of(size)), told)
    scored = PICK + ',bliinds=features=1:side_data=0:log_path=%s,nullsink'
    graph = ['[0:v]%s,split[c][d]' % TIME, '[c]' + scored % 'coded.json',
             '[d]scale=%d:%d:flags=bicubic:out_range=limited,%s,split[s][e]'
             % (size + (contents.UNTAGGED,)), '[e]format=yuv420p10,split[e1][e2]',
             '[s]' + (scored % 'shown.json' if job.coded else 'nullsink'),
             '[1:v]%s,format=yuv420p10,split[r1][r2]' % TIME, '[e1][r1]%s[out]' % vmaf,
             '[e2][r2]detailloss=log_path=detail.json,nullsink']
    common.run(['-i', os.path.abspath(encoded), '-i', os.path.abspath(reference),
                '-filter_complex_threads', '1', '-filter_complex', ';'.join(graph),
                '-map', '[out]', '-f', 'null', '-'], folder=scratch)
    with open(os.path.join(scratch, 'vmaf.json')) as file:
        frames = [frame['metrics'] for frame in json.load(file)['frames']]
    return {
        'v1': [frame['v1'] for frame in frames],
        'features': features(os.path.join(scratch, 'coded.json')),
        'shown': features(os.path.join(scratch, 'shown.json')) if job.coded else None,
        'detail': features(os.path.join(scratch, 'detail.json')),
    }


def quantizers(path):
    """What quantizer_metadata says of each frame."""
    filters = 'vp9_superframe_split,' if 'vp9' in os.path.basename(path) else ''
    said = common.run(['-bsf:v', filters + 'quantizer_metadata', '-i', path,
                   '-vf', 'metadata=print:file=-', '-f', 'null', '-'])
    frames = []
    for line in said.splitlines():
        if line.startswith('frame:'):
            frames.append({})
        elif line.startswith('lavc.quantizer.'):
            name, value = line[len('lavc.quantizer.'):].split('=', 1)
            frames[-1][name] = value if name in ('codec', 'pict_type') else float(value)
    if not frames or not all('step' in frame for frame in frames):
        raise common.Error('no quantizers in ' + path)
    return frames


def write(record, path):
    with open(path + '.part', 'w') as file:
        json.dump(record, file)
    os.replace(path + '.part', path)


def made(job, content, size, options):
    """The record of one encode, made if it is not there; and whether it was made."""
    key = (content.repository, content.path, content.start, content.factor, content.frames,
           contents.VARIANTS[job.variant], job.ten_bit, job.chain, job.generations, V1, PICK)
    key = hashlib.sha256(repr(key).encode()).hexdigest()
    path = os.path.join(options.work, 'records', content.name, job.name + '.json')
    try:
        with open(path) as file:
            record = json.load(file)
    except (OSError, ValueError):
        record = {}
    new = record.get('key') != key
    os.makedirs(os.path.dirname(path), exist_ok=True)
    file = os.path.join('encodes', content.name, job.name + '.mkv')
    out = os.path.join(options.work, file)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    if new:
        began = time.time()
        reference = contents.reference(content, options.media, os.path.join(options.work, 'clips'),
                                       job.variant, job.ten_bit)
        scratch = tempfile.mkdtemp(dir=os.path.join(options.work, 'scratch'))
        try:
            if job.generations:
                encode(job, reference, out, scratch)
            judged = judge(job, out if job.generations else reference, reference, size,
                           options.models, scratch)
        finally:
            shutil.rmtree(scratch)
        if len(judged['v1']) != content.frames:
            raise common.Error('%d frames, not %d: %s' % (len(judged['v1']), content.frames, out))
        record = {
            'key': key, 'content': content.name,
            'variant': job.variant, 'family': job.family, 'value': job.value,
            'generations': job.generations, 'file': file if job.generations else None,
            'bytes': os.path.getsize(out) if job.generations else None,
            'width': size[0], 'height': size[1], 'coded': job.coded or size,
            'depth': 10 if job.ten_bit else 8, **judged, 'seconds': round(time.time() - began, 2),
        }
        # before the quantizers, so that what they fail of does not cost the label
        write(record, path)
    if job.generations and not record.get('quantizer'):
        record['quantizer'] = quantizers(out)
        write(record, path)
        new = True
    return new


def complain(order, options):
    """Says what is missing for all of it, before any of it is done."""
    for size in {item[2] for item in order}:
        vmaf_model(options.models, judge_of(size))
    asked = {codec for item in order for codec, _ in item[0].generations}
    lacking = [name for name in sorted(asked - {'cjpeg'}) if name not in common.listed('encoders')]
    lacking += [name for name in ('bliinds', 'detailloss', 'libvmaf')
                if name not in common.listed('filters')]
    if 'cjpeg' in asked and not shutil.which('cjpeg'):
        lacking.append('cjpeg')
    if lacking:
        sys.exit('error: this FFmpeg, or this system, has no %s: take another, or name the '
                 'families that it can make by --families' % ', '.join(lacking))
    unknown = set(options.families or ()) - {item[0].family for item in order}
    if unknown or not order:
        sys.exit('error: no encode is of the family %s' % ', '.join(sorted(unknown)))


def main():
    options = arguments()
    common.program = options.ffmpeg
    clips = os.path.join(options.work, 'clips')
    for folder in 'clips', 'records', 'encodes', 'scratch':
        os.makedirs(os.path.join(options.work, folder), exist_ok=True)
    work = [[], [], []]
    for index, content in enumerate(contents.contents(options.contents)):
        if options.only and content.name not in options.only:
            continue
        size = common.size(contents.reference(content, options.media, clips))
        for number, jobs in enumerate(encodes.rounds(index, size)):
            work[number].append([(job, content, size, options) for job in jobs
                                 if not options.families or job.family in options.families])
    # one encode of each shot, then the next of each: what there is at any time is spread well
    order = [jobs[i] for part in work for i in range(max(map(len, part), default=0))
             for jobs in part if i < len(jobs)]
    complain(order, options)
    # the files of a shot that several encodes share are made once, by one of them
    shared = {(job.variant, job.ten_bit, content.name): content for job, content, *_ in order}
    for (variant, ten_bit, _), content in sorted(shared.items(), key=lambda item: item[0]):
        contents.reference(content, options.media, clips, variant, ten_bit)
    made_now = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(made, *item): item for item in order}
        for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            job, content = waiting[future][:2]
            try:
                new = future.result()
            except (common.Error, subprocess.CalledProcessError, OSError, KeyError) as error:
                failed += 1
                print('failed: %s %s: %s' % (content.name, job.name, str(error)[-300:]), flush=True)
                continue
            made_now += new
            if new and number % 20 == 0:
                print('%d of %d encodes' % (number, len(order)), flush=True)
    print('%d encodes, %d of them new, %d failed' % (len(order), made_now, failed))
    if failed:
        sys.exit('error: run it again, after the cause was mended')


if __name__ == '__main__':
    main()
