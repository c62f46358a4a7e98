# Makes the encodes of all shots of a list, and takes of each VMAF v1 and the features of our
# filters. A record is one JSON file; those that are there are not made again, so a run that was
# stopped goes on where it was.
# SPDX-License-Identifier: LGPL-2.1-or-later
import concurrent.futures
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

import common
import contents
import encodes
import quality_common

# Frames whose features are taken. The first one is left out: an I frame is rare.
PICK = slice(1, None, 3)
TIME = 'settb=1/25,setpts=N'

# The judges: VMAF v1 for a display of 1080 lines, and of 2160 for shots of as many.
V1, V1_4K = 'vmaf_v1.0.16_3d0h', 'vmaf_v1.0.16_3d0h_2160'


def still_images(source, quality, out, scratch):
    """JPEGs by libjpeg's own program, as one stream."""
    common.run(['-i', source, '-vf',
                'scale=flags=bicubic+accurate_rnd+full_chroma_int,format=rgb24',
                os.path.join(scratch, '%03d.ppm')])
    for name in sorted(os.listdir(scratch)):
        path = os.path.join(scratch, name[:-4])
        # tables of 8 bits, which quantizer_metadata reads
        subprocess.run(['cjpeg', '-quality', quality, '-baseline', '-optimize',
                        '-outfile', path + '.jpg', path + '.ppm'], check=True)
    common.run(['-framerate', '25', '-i', os.path.join(scratch, '%03d.jpg'), '-c', 'copy', out])


def encode(job, source, out, scratch):
    chain = ['-vf', job.chain] if job.chain else []
    for number, (codec, options) in enumerate(job.generations, 1):
        to = out if number == len(job.generations) else os.path.join(scratch, 'first.mkv')
        if codec == 'cjpeg':
            still_images(source, options, to, scratch)
            continue
        command = ['-i', source, *chain, '-c:v', codec]
        if '{pass}' in options:
            first = options.replace('{pass}', '1').split()
            common.run([*command, *first, '-f', 'null', '-'], scratch)
        common.run([*command, *options.replace('{pass}', '2').split(), to], scratch)
        source, chain = to, []


def judge(job, encoded, reference, scratch):
    """Labels of all frames, and features of some: as coded, and as shown where that differs."""
    model = job.judge or (V1_4K if min(job.shown) >= 2160 else V1)
    model = 'version=%s\\:name=v1' % model + ''.join(
        '\\:cambi.enc_%s=%d' % item for item in
        zip(('width', 'height', 'bitdepth'), (*job.coded, 10 if job.ten_bit else 8)))
    scored = 'bliinds=features=1:shown_height=%d:log_path=%%s,nullsink' % job.shown[1]
    graph = ['[0:v]%s,split[c][d]' % TIME, '[c]' + scored % 'features.json',
             '[d]scale=%d:%d:flags=bicubic:out_range=limited,%s,split[s][e]'
             % (*job.shown, contents.UNTAGGED), '[e]format=yuv420p10[m]',
             '[s]' + (scored % 'shown.json' if job.is_scaled else 'nullsink'),
             '[1:v]%s,format=yuv420p10[r]' % TIME,
             "[m][r]vmaf=log_path=vmaf.json:model='%s'[out]" % model]
    stream = quality_common.video_stream(quality_common.probe(common.program, encoded))
    bsf = quality_common.bitstream_filters(common.program, stream['codec_name'])
    common.run(['-bsf:v', bsf, '-i', encoded, '-i', reference, '-filter_complex_threads', '1',
                '-filter_complex', ';'.join(graph), '-map', '[out]', '-f', 'null', '-'], scratch)
    logs = {}
    for name in 'vmaf', 'features', *['shown'] * job.is_scaled:
        with open(os.path.join(scratch, name + '.json')) as file:
            frames = json.load(file)['frames']
        logs[name] = [frame['metrics'] for frame in (frames if name == 'vmaf' else frames[PICK])]
    if not all(frame['basis'] for frame in logs['features']):
        raise common.Error('frames without quantizers: ' + encoded)
    return {'v1': [frame['v1'] for frame in logs.pop('vmaf')], 'shown': None, **logs}


def made(job, content, options):
    """Makes the record of one encode if it is not there; says whether it was made."""
    key = (content.repository, content.path, content.start, content.factor, content.frames,
           contents.VARIANTS[job.variant], job.ten_bit, job.chain, job.generations, job.judge or V1,
           PICK)
    key = hashlib.sha256(repr(key).encode()).hexdigest()
    path, out = (os.path.join(options.work, kind, content.name, job.name) + ending
                 for kind, ending in (('records', '.json'), ('encodes', '.mkv')))
    try:
        with open(path) as file:
            if json.load(file)['key'] == key:
                return False
    except (OSError, ValueError):
        pass
    for made_file in path, out:
        os.makedirs(os.path.dirname(made_file), exist_ok=True)
    source = contents.reference(content, options.media, os.path.join(options.work, 'clips'),
                                job.variant, job.ten_bit)
    with tempfile.TemporaryDirectory(dir=os.path.join(options.work, 'scratch')) as scratch:
        encode(job, source, out, scratch)
        judged = judge(job, out, source, scratch)
    if len(judged['v1']) != content.frames:
        raise common.Error('%d frames, not %d: %s' % (len(judged['v1']), content.frames, out))
    with open(path + '.part', 'w') as file:
        json.dump({'key': key, 'content': content.name, 'variant': job.variant,
                   'family': job.family, 'value': job.value, 'generations': job.generations,
                   **judged}, file)
    os.replace(path + '.part', path)
    return True


def complain(order, families):
    """Says what is missing for all of it, before any of it is done."""
    needed = {codec for job, *_ in order for codec, _ in job.generations}
    needed |= {'bliinds', 'vmaf'}
    lacking = needed.difference(*(quality_common.has(common.program, kind)
                                  for kind in ('filters', 'encoders')))
    lacking = [name for name in sorted(lacking) if name != 'cjpeg' or not shutil.which(name)]
    if lacking:
        sys.exit('error: this FFmpeg, or this system, has no %s: take another, or name the '
                 'families that it can make by FAMILIES' % ', '.join(lacking))
    unknown = set(families) - {job.family for job, *_ in order}
    if unknown or not order:
        sys.exit('error: no encode is of the family %s' % ', '.join(sorted(unknown)))


def label(shots, options, families=encodes.FAMILIES):
    for folder in 'clips', 'records', 'encodes', 'scratch':
        os.makedirs(os.path.join(options.work, folder), exist_ok=True)
    clips, order = os.path.join(options.work, 'clips'), []
    for index, shot in enumerate(shots):
        clip = contents.reference(shot, options.media, clips)
        size = common.packets(['-i', clip], 1)[1:3]
        order += enumerate([(job, shot, options)
                            for job in encodes.encodes(index, size, families)
                            if not options.families or job.family in options.families])
    # one encode of each shot, then the next of each: what there is at any time is spread well
    order = [item for _, item in sorted(order, key=lambda entry: (entry[1][0].round, entry[0]))]
    complain(order, options.families)
    # the files of a shot that several encodes share are made once, by one of them
    for job, shot, *_ in order:
        contents.reference(shot, options.media, clips, job.variant, job.ten_bit)
    new = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = {pool.submit(made, *item): item for item in order}
        for number, future in enumerate(concurrent.futures.as_completed(waiting), 1):
            job, shot, *_ = waiting[future]
            try:
                new += future.result()
            except (common.Error, subprocess.CalledProcessError, OSError, KeyError) as error:
                failed += 1
                print('failed: %s %s: %s' % (shot.name, job.name, str(error)[-300:]), flush=True)
            if new and number % 20 == 0:
                print('%d of %d encodes' % (number, len(order)), flush=True)
    print('%d encodes, %d of them new, %d failed' % (len(order), new, failed))
    if failed:
        sys.exit('error: run it again, after the cause was mended')
