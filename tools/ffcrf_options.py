"""The command line of ffcrf.

SPDX-License-Identifier: LGPL-2.1-or-later
"""

import argparse
import copy
import difflib
import math
import os
import re
import types
from typing import NamedTuple

import quality_common
from quality_common import ToolError
from ffcrf_search import Metric, Plan

DURATIONS = '90s, 1m30s, 500ms, 1:30 or 01:02:03'


class Option(NamedTuple):
    """An option of ffcrf, with its dashes: one for options of ffmpeg, two for those of ffcrf."""
    name: str
    field: str              # of the job; empty if the option sets other fields
    kind: str               # text, flag, bool, real, whole, time or size
    default: object
    help: str
    low: float = -math.inf
    high: float = math.inf


OPTIONS = {option.name: option for option in (
    Option('-i', 'inputs', 'list', [], 'the video to encode; several with --encode DIR/'),
    Option('-ss', 'start', 'time', 0, 'start at this time of the input', 0),
    Option('-to', 'end', 'time', 0, 'end at this time of the input', 0),
    Option('-t', 'length', 'time', 0, 'use only this much of the input', 1e-6),
    Option('-hwaccel', 'hwaccel', 'text', None,
           'decode the input on a device: auto, cuda, vaapi, qsv, ...'),
    Option('-c:v', 'encoder', 'text', None,
           'the encoder (default: libsvtav1 -preset 8, libx265 or libx264)'),
    Option('-vf', 'filters', 'text', None, 'filters before the encoder, as in ffmpeg'),
    Option('--reference-vfilter', 'reference', 'text', None,
           'filters before the comparison (default: -vf)'),
    Option('-r', 'rate', 'text', None, 'frame rate of the encode'),
    Option('-s', 'size', 'text', None, 'size of the encode, WxH'),
    Option('-frames:v', 'nb_frames', 'whole', 0, 'maximum number of frames to encode', 1, 2**31 - 1),
    Option('--keyint', 'keyint', 'text', None,
           'maximum key frame interval, in frames or as a time (10s)'),
    Option('--enc', '', 'text', None, 'name=value, an option as in ffmpeg: -name value'),
    Option('--svt', '', 'text', None, 'name=value, a parameter of libsvtav1'),
    Option('-pix_fmt', 'pix_fmt', 'text', None, 'pixel format to encode in'),
    Option('--metric', '', 'text', None, 'vmaf (default), ssimulacra2, ssim, xpsnr or mad'),
    Option('--target', 'target', 'real', math.nan, 'the score of --metric to reach'),
    Option('--target-vmaf', 'target', 'real', math.nan,
           'VMAF to reach: higher is better (default 95)', 0, 110),
    Option('--target-ssimulacra2', 'target', 'real', math.nan,
           'SSIMULACRA2 to reach: higher is better', -math.inf, 100),
    Option('--target-ssim', 'target', 'real', math.nan, 'SSIM to reach: higher is better', 0, 1),
    Option('--target-xpsnr', 'target', 'real', math.nan,
           'XPSNR to reach, in dB: higher is better', 0, 100),
    Option('--target-mad', 'target', 'real', math.nan, 'MAD to reach: lower is better', 0),
    Option('--vmaf-model', 'model', 'text', 'v1', 'v1, 4k, phone, or the name of a model'),
    Option('--vmaf-scale', 'scale', 'size', None,
           'scale to this size for VMAF: none (default), auto, WxH'),
    Option('--pool', 'pool', 'text', 'mean',
           'the score that counts: mean, p1 to p50 (percentile), worst (sample)'),
    Option('--tolerance', 'tolerance', 'real', math.nan,
           'accept a score up to this much better than the target', 0),
    Option('--min-crf', 'min_crf', 'real', math.nan, 'lowest CRF to try (default: by encoder)',
           0, 255),
    Option('--max-crf', 'max_crf', 'real', math.nan, 'highest CRF to try (default: by encoder)',
           0, 255),
    Option('--crf-increment', 'increment', 'real', math.nan, 'try multiples of this only',
           0.01, 50),
    Option('--crf', 'crf', 'real', math.nan,
           'try only this CRF: no search, and no target is needed', 0, 255),
    Option('--thorough', 'thorough', 'flag', False,
           'find the highest CRF that reaches the target: no tolerance'),
    Option('--max-encoded-percent', 'max_percent', 'real', 100,
           "maximum size, in % of the source's video (default 100)", 0),
    Option('--samples', 'samples', 'whole', 0, 'number of samples', 1, 1000),
    Option('--sample-every', 'every', 'time', 720,
           'one sample per this much video (default 12m)', 1e-3),
    Option('--min-samples', 'min_samples', 'whole', 3, 'minimum number of samples (default 3)',
           1, 1000),
    Option('--sample-duration', 'duration', 'time', 10, 'length of a sample (default 10s)', 1e-3),
    Option('--score-every', 'step', 'whole', 0,
           'score one of this many frames (default: 7, but all of fewer than 120)', 1, 10000),
    Option('--cache', 'cache', 'bool', True,
           'keep results, and use those that were kept: true (default), false'),
    Option('--gpu', 'gpu', 'text', '',
           'score on a GPU: auto, off, or its number (default: if one works)'),
    Option('--encode', 'encode', 'text', None,
           'write the encode to this file or into this folder, and score all of it'),
    Option('--verify', 'verify', 'text', None,
           'do not search: score all of this encode of the input'),
    Option('--video-only', 'video_only', 'flag', False, 'leave out all streams but the video'),
    Option('-y', 'overwrite', 'flag', False, 'replace the file of --encode'),
    Option('--json', 'json', 'flag', False,
           'write JSON to standard output, one object per line'),
    Option('--stdout-format', '', 'text', None,
           'json is --json, human the default, as in ab-av1'),
    Option('--ffmpeg', 'ffmpeg', 'text', None,
           'the ffmpeg to run (default: the one beside this program, or in PATH)'),
    Option('-loglevel', 'loglevel', 'text', 'error',
           "ffmpeg's messages: quiet, error, warning, info, ..."),
    Option('--version', 'version', 'flag', False, 'print the version'),
    Option('--help', 'help', 'flag', False, 'print this'),
)}

# Other spellings, of ffmpeg and of ab-av1.
ALIASES = {
    '-vcodec': '-c:v', '-acodec': '-c:a', '-scodec': '-c:s', '-filter': '-vf',
    '-frames': '-frames:v', '-vframes': '-frames:v', '-v': '-loglevel', '-h': '--help',
    '-help': '--help', '-version': '--version', '-e': '-c:v', '--input': '-i',
    '--encoder': '-c:v', '--acodec': '-c:a', '--vfilter': '-vf', '--pix-format': '-pix_fmt',
    '--preset': '-preset', '-o': '--encode', '--output': '--encode', '-m': '--metric',
    '--min-vmaf': '--target-vmaf', '--min-xpsnr': '--target-xpsnr', '-crf': '--crf'}

# Options of ab-av1 that ffcrf does not have, without their dashes, and their replacement.
REPLACED = {
    'xpsnr': 'use --metric xpsnr',
    'and-vmaf and-xpsnr': 'score the encode once more with --verify and another --metric',
    'vmaf': 'use --vmaf model=version=NAME or --vmaf-model NAME, and --score-every for n_subsample=',
    'vmaf-fps xpsnr-fps': 'leave it out, frames are paired by number',
    'xpsnr-pix-format': 'leave it out, the format of the encode is scored',
    'scd': 'use --svt scd=1',
    'enc-input': 'use -hwaccel, -ss, -to or -t',
    'downmix-to-stereo': 'use -c:a aac -ac 2',
    'temp-dir keep': 'leave it out, there are no temporary files',
    'verify-decode verify-duration fail-fast': 'leave it out, --encode decodes the whole encode, '
                                               'and fails unless it has all frames',
    'overwrite-input': 'encode to another file, and rename that',
    'high-crf-means-hq': 'use an encoder whose higher CRFs have a lower quality',
    'vv': 'use -loglevel verbose'}

# All options of ffmpeg 8.1 and 9.0 that take no value. Most have a form that begins with "no".
NO_VALUE = set('''
    ? L accurate_seek an auto_conversion_filters autorotate autoscale benchmark benchmark_all
    bitexact bsfs buildconf codecs colors copy_unknown copyinkf copyts debug_ts decoders demuxers
    devices display_hflip display_vflip dispositions dn dump encoders filters find_stream_info
    fix_sub_duration fix_sub_duration_heartbeat force_fps formats h help hex hide_banner hwaccels
    ignore_unknown layouts license muxers n pix_fmts print_graphs protocols qphist re recast_media
    report sample_fmts shortest sn start_at_zero stats stdin version vn vstats xerror y'''.split())

# Options of ffmpeg for an output file, for its streams other than the video, and for how the muxer
# describes and buffers streams. All others of an output are for the encoder of the video.
OF_FILE = set('''
    ab ac aframes af an apad apre aq ar atag attach bitexact ch_layout channel_layout copyinkf
    copypriorss dcodec dframes disposition dn f fix_sub_duration_heartbeat fs map_chapters
    map_metadata max_muxing_queue_size metadata muxdelay muxing_queue_data_threshold muxpreload
    program sample_fmt sdp_file shortest shortest_buf_duration sn spre stag stream_group streamid
    tag thread_queue_size timecode timestamp vtag'''.split())

# Options that choose frames, streams or timestamps, or make commands of their own.
UNSUPPORTED = set('''
    copytb filter_complex filter_complex_script filter_script fpsmax itsoffset lavfi stats_enc_pre
    stats_enc_pre_fmt stats_mux_pre stats_mux_pre_fmt target vsync'''.split())

# Accepted without effect: defaults, also of commands that were printed here.
NO_EFFECT = set('''
    n hide_banner stats nostats nostdin accurate_seek autorotate autoscale map=0 c=copy
    fps_mode=passthrough enc_time_base=filter copypriorss:a=0'''.split())

# Options that ffcrf sets itself, or that set the quality or rate of an encoder or its library.
REFUSED = set('''
    map c fps_mode enc_time_base b q qscale qp cq crf global_quality rc rc_mode lossless cqp
    cq-level end-usage bitrate tbr quantizer'''.split())

METRICS = {metric.name: metric for metric in (
    Metric('vmaf', 'lavfi.vmaf.score=', 100, 85, 2, 1, offset=1),
    Metric('ssimulacra2', 'lavfi.ssimulacra2.score=', 100, 60, 3, 1, offset=1),
    Metric('ssim', 'lavfi.ssim.All=', 1, 0.96, 5, 0.002, offset=1e-4),
    Metric('xpsnr', 'lavfi.xpsnr.xpsnr.', 100, 38, 3, 0.3, decibels=20, step=1),
    Metric('mad', 'lavfi.mad.score=', 0, 15, 3, 1, 'lower', offset=0.1))}


class Encoder(NamedTuple):
    """Settings of the encoders whose names contain this one."""
    name: str
    crf_option: str
    min_crf: float
    max_crf: float
    increment: float
    preset: str = 'preset'  # name of the option -preset
    defaults: dict = {}     # default options
    formats: str = ''       # pixel formats of a hardware device, if it takes no others


# The first match counts.
ENCODERS = [
    Encoder('libx26', 'crf', 10, 46, 0.1),
    Encoder('libsvtav1', 'crf', 5, 63, 1, defaults={'preset': '8'}),
    Encoder('libaom-av1', 'crf', 5, 63, 1, 'cpu-used'),
    Encoder('libvpx-vp9', 'crf', 10, 63, 1, 'cpu-used'),
    Encoder('libvpx', 'crf', 0, 63, 1, 'cpu-used'),
    Encoder('librav1e', 'qp', 10, 255, 1, 'speed'),
    Encoder('libvvenc', 'qp', 0, 63, 1),
    Encoder('av1_nvenc', 'cq', 10, 63, 0.1, defaults={'rc': 'vbr', 'b': '0'}),
    Encoder('_nvenc', 'cq', 10, 46, 0.1, defaults={'rc': 'vbr', 'b': '0'}),
    Encoder('_qsv', 'global_quality', 10, 46, 1),
    Encoder('av1_vaapi', 'global_quality', 10, 255, 1, 'preset', {'rc_mode': 'CQP'}, 'nv12|p010'),
    Encoder('h264_vaapi', 'global_quality', 10, 46, 1, 'preset', {'rc_mode': 'CQP'}, 'nv12'),
    Encoder('_vaapi', 'global_quality', 10, 46, 1, 'preset', {'rc_mode': 'CQP'}, 'nv12|p010'),
    Encoder('', 'crf', 0, 63, 1),
]


def print_help():
    """Print the options."""
    print('usage: ffcrf -i INPUT [-c:v ENCODER] [encoder options] [--target-vmaf 95] [options]\n'
          'Finds the CRF that gives an encode of INPUT the wanted quality.\n')
    for option in OPTIONS.values():
        print(f'  {option.name:<21} {option.help}')
    print('\nOther options with one dash are passed to ffmpeg, for the encoder or the output:\n'
          '`ffmpeg -h encoder=NAME` and `ffmpeg -h muxer=NAME` list them.\n'
          'Exit status: 0 found, 1 not reached, 2 failed, 128 + n ended by signal n.')


# ---- words of the command line ----

def takes_value(name):
    """Whether an option of ffmpeg, without its dash, takes a value."""
    bare = name.split(':')[0]
    return bare not in NO_VALUE and not (bare[:2] == 'no' and bare[2:] in NO_VALUE)


def canonical_name(word):
    """The name of an option in OPTIONS, or of one of ffmpeg's, without a specifier of the video."""
    name = re.sub('^-codec(?=:|$)', '-c', word)
    bare = re.sub(r'(?<=.):v[:\d]*$', '', name) if name[:2] != '--' else name
    if bare in ALIASES:
        return ALIASES[bare]
    # Options of ffmpeg in the table may have two dashes.
    if bare[1:] in OPTIONS:
        return bare[1:]
    return '-c:v' if bare == '-c' != name else bare


def is_option(word):
    """Whether a word is an option of the table, so that it is hardly the value of another one."""
    name = word.split('=')[0]
    return name[:1] == '-' and (canonical_name(name) != name or name in OPTIONS)


def unknown_option(word):
    """The error that names the replacement of an option, or the nearest one."""
    for names, advice in REPLACED.items():
        if word.lstrip('-') in names.split():
            return ToolError(f'There is no option {word}: {advice}.')
    nearest = difflib.get_close_matches(word, [*ALIASES, *OPTIONS], 1, 0.8)
    return ToolError(f'There is no option {word}; did you mean {nearest[0]}?' if nearest else
                     f'There is no option {word}: `ffcrf --help` lists the options. Those of '
                     'ffmpeg have one dash.')


def parsed(option, word, value):
    """The value of an option."""
    kind = option.kind
    if kind in ('text', 'list'):
        return value
    if kind == 'time':
        try:
            number = quality_common.duration(value)
        except argparse.ArgumentTypeError:
            number = -1
        wanted = 'a duration: use ' + DURATIONS
    elif kind == 'size':
        if value in ('none', 'auto'):
            return None if value == 'none' else value
        match = re.fullmatch(r'([1-9]\d{0,4})x([1-9]\d{0,4})', value, re.A)
        if match:
            return int(match[1]), int(match[2])
        number, wanted = math.nan, 'none, auto, or a size like 1920x1080'
    elif kind in ('flag', 'bool'):
        names = {'1': True, 'true': True, 'yes': True, '0': False, 'false': False, 'no': False}
        if value in names:
            return names[value]
        number, wanted = math.nan, 'true or false'
    else:
        form = r'-?(\d+\.?\d*|\.\d+)' if kind == 'real' else r'\d{1,10}'
        number = float(value) if re.fullmatch(form, value, re.A) else math.nan
        wanted = f'a {"whole " * (kind == "whole")}number from {option.low:g} to {option.high:g}'
    if not option.low <= number <= option.high:
        raise ToolError(f"{word}: '{value}' is not {wanted}.")
    return int(number) if kind == 'whole' else number


class Job(types.SimpleNamespace):
    """The options of a run by their fields, and what is derived from them.

    other_options are those of the output file and of its streams other than the video, in order:
    pairs of a name without its dash, and a value, None if it takes none.
    """

    def __init__(self):
        super().__init__(
            **{option.field: copy.copy(option.default) for option in OPTIONS.values()
               if option.field},
            encoder_options={}, other_options=[], metric=None, words=[],
            # derived from the options, the input, the encoder and a first frame
            coded=None, upload='', mixed_depth=False, gpu_format=None, gpu_number='', program_files=[],
            crf_is_ffmpegs=False)       # the CRF is given as -crf, as in a command that was printed

    def take_ffmpegs(self, word, name, value):
        """Take an option of ffmpeg that is not in the table."""
        bare = name.split(':')[0]
        plain = bare if takes_value(name) or bare in NO_VALUE else bare[2:]
        if (bare if value is None else f'{name}={value}') in NO_EFFECT or \
                name == 'map' and value[:1] == '-':
            return
        # Options of the file keep the specifier of the stream, and may be repeated.
        if ':' in name or plain in OF_FILE:
            self.other_options.append((name if ':' in name else word[1:], value))
        elif value is None or bare in UNSUPPORTED:
            raise ToolError(f'{word} is not supported: ffcrf makes the commands of ffmpeg itself. '
                            'Leave it out.')
        else:
            self.encoder_options[name] = value

    def take(self, word, following):
        """Take an option, whose value is the next word, or behind its "=" if it is joined to it.
        Return whether it took the next word."""
        is_joined = word[:2] == '--' and '=' in word
        word, _, joined = word.partition('=') if is_joined else (word, '', None)
        name, value = canonical_name(word), joined if is_joined else following
        # as for ab-av1
        if word == '--vmaf' and re.fullmatch('model=version=[^:|]+', value or ''):
            name, value = '--vmaf-model', value.removeprefix('model=version=')
        option = OPTIONS.get(name)
        if not option and (name[:2] == '--' or name == '-vv' or '-' + name in OPTIONS):
            raise unknown_option(word)
        if option and option.kind == 'flag' and not is_joined:
            setattr(self, option.field, True)
            return False
        if not option and not takes_value(name[1:]):
            self.take_ffmpegs(word, name[1:], None)
            return False
        if value is None or not is_joined and is_option(value):
            raise ToolError(f'{word} needs a value.')
        if not option:
            self.take_ffmpegs(word, name[1:], value)
        elif name == '--enc':
            self.take_joined(value.lstrip('-'))
        elif name == '--svt':
            known = self.encoder_options.get('svtav1-params')
            self.encoder_options['svtav1-params'] = f'{known}:{value}' if known else value
        else:
            self.set(option, word, value)
        return not is_joined

    def take_joined(self, text):
        """Take the value of --enc: name=value, or a name."""
        name, has_value, value = text.partition('=')
        if self.take('-' + name, value if has_value else None) != bool(has_value):
            raise ToolError(f'--enc {text}: -{name} takes no value.')

    def set(self, option, word, value):
        """Set the field of an option."""
        metric = option.name.removeprefix('--target-')
        if option.name == '--metric' or metric != option.name:
            metric = value if option.name == '--metric' else metric
            if metric not in METRICS or self.metric and self.metric.name != metric:
                already = f', and already {self.metric.name}' if self.metric else ''
                raise ToolError(f'{word} {value}: the metric is one of vmaf, ssimulacra2, ssim, xpsnr and mad'
                                f'{already}.')
            self.metric = METRICS[metric]
        if option.name == '--crf' and word[:2] != '--':
            self.crf_is_ffmpegs = True
        if option.name == '-c:v' and value == 'svt-av1':
            value = 'libsvtav1'
        result = parsed(option, word, value)
        if option.kind == 'list':
            self.inputs.append(result)
        elif option.field:
            setattr(self, option.field, result)


# ---- the whole command line ----

def path_of(name):
    """A file's name without "file:", as names in a printed command may need it."""
    return name[5:] if name and name[:5] == 'file:' and not os.path.exists(name) else name


def place_words(job, is_bare):
    """Decide which words without an option are inputs, and which is the output."""
    is_folder = job.encode and (job.encode.endswith('/') or os.path.isdir(job.encode))
    if is_folder and not job.verify:
        job.inputs += job.words
    elif job.words:
        if job.encode or len(job.words) > 1:
            raise ToolError(f"'{job.words[-1]}' is a second output: ffcrf takes one input, with "
                            '-i, and one output. For several inputs, name a folder: --encode DIR/. '
                            'Quote names with spaces.')
        job.encode = job.words[0]
    if not job.inputs:
        as_output = f", as '{job.words[0]}' without an option is the output" if job.words else ''
        raise ToolError(f'No input: give it with -i{as_output}. `ffcrf --help` lists the options.')
    if len(job.inputs) > 1 and not is_folder:
        raise ToolError(f"'{job.inputs[1]}' is a second input: for several inputs, name the "
                        'folder of their encodes, --encode DIR/.')
    job.inputs = [path_of(name) for name in job.inputs]
    job.encode, job.verify = path_of(job.encode), path_of(job.verify)
    for name in job.inputs:
        if name == '-' or name.startswith('pipe:'):
            raise ToolError(f"'{name}' cannot be read several times: give a file with -i.")
    job.is_folder = bool(is_folder)
    if job.encode is not None and not is_folder:
        refuse_output(job, job.encode, is_bare)


def refuse_output(job, output, is_bare=False):
    """Raise an error if an output would replace a file without leave."""
    if output in ('', '-'):
        raise ToolError(f"'{output}' is not the name of an output: the container needs one.")
    if not os.path.exists(output):
        return
    is_input = any(os.path.exists(name) and os.path.samefile(name, output) for name in job.inputs)
    if not job.overwrite or is_bare or is_input or not os.path.isfile(output):
        raise ToolError(f"'{output}' exists. To overwrite a file that is not the input, name it "
                        'with --encode, and add -y.')


def split_name(path):
    """The name of a file without its ending, and the ending with its dot. ffmpeg takes that of
    ".mkv", too."""
    match = re.fullmatch(r'(.*?)(\.[^./]*)?', path, re.S)
    return match[1], match[2] or ''


def output_name(path, ending):
    """A name with another ending."""
    return f'{split_name(path)[0]}.{ending}'


def folder_outputs(job):
    """The output of each input in the folder of --encode."""
    container = dict(job.other_options).get('f')
    ending = container if container in ('mp4', 'mov', 'webm') else 'mkv'
    outputs = [os.path.join(job.encode, output_name(os.path.basename(name), ending))
               for name in job.inputs]
    for at, output in enumerate(outputs):
        if output in outputs[:at]:
            raise ToolError(f"'{job.inputs[outputs.index(output)]}' and '{job.inputs[at]}' would "
                            f"have the same output '{output}': encode them into two folders.")
    return outputs


def check(job, is_sample_encode):
    """Check the options, and set what they imply."""
    percentile = re.fullmatch(r'p([1-9]\d?)', job.pool, re.A)
    metric, is_one_crf = job.metric or METRICS['vmaf'], not math.isnan(job.crf)
    has_no_target = math.isnan(job.target)
    if job.end and (job.length or job.end <= job.start):
        raise ToolError('-to must be later than -ss and cannot be combined with -t.')
    if job.pool not in ('mean', 'worst') and not (percentile and int(percentile[1]) <= 50):
        raise ToolError(f"--pool: '{job.pool}' is not mean, worst, or p1 to p50.")
    if job.scale and metric.name != 'vmaf':
        raise ToolError(f'--vmaf-scale is for vmaf: leave it out with {metric.name}.')
    if job.step > 1 and (metric.step == 1 or percentile):
        name = f'--pool {job.pool}' if percentile else metric.name
        raise ToolError(f'{name} needs all frames: --score-every cannot be used with it.')
    if job.verify and job.encode:
        raise ToolError(f"--verify scores an encode that exists: leave out '{job.encode}'.")
    if is_sample_encode and not is_one_crf:
        raise ToolError('sample-encode needs a CRF: give it with --crf, or use crf-search.')
    job.has_target = not has_no_target or not is_one_crf and not job.verify
    if has_no_target and job.metric and job.has_target:
        raise ToolError(f'No target given: set --target-{metric.name}.')
    if not has_no_target and job.crf_is_ffmpegs:
        raise ToolError(f'-crf {job.crf:g} sets the quality that is searched: leave it out. --crf '
                        'tries one CRF.')
    if has_no_target:
        job.target = 95 if job.has_target else \
            -math.inf if metric.better == 'higher' else math.inf
    if math.isnan(job.tolerance) or job.thorough:
        job.tolerance = 0 if job.thorough else metric.tolerance
    if is_one_crf:
        job.max_percent = math.inf
    if job.end:
        job.length = job.end - job.start
    job.metric = metric
    for name, value in job.encoder_options.items():
        parameters = value.split(':') if re.search('-params|opts', name) else []
        for word in [name, *parameters]:
            if word.split('=')[0] in REFUSED:
                raise ToolError(f'-{name} {value} is not allowed: ffcrf sets '
                                f'{word.split("=")[0]} itself. Leave it out; --crf tries one CRF.')


def parse(job, words):
    """Set a job by a command line."""
    first, before, is_bare = words[0] if words else '', 0, False
    if first == 'encode':
        raise ToolError('There is no command encode: use ffcrf auto-encode -i INPUT --crf CRF, '
                        'with the same options.')
    if first in ('vmaf', 'xpsnr'):
        raise ToolError(f'There is no command {first}: use ffcrf -i REFERENCE --verify DISTORTED '
                        f'--metric {first}.')
    at = int(first in ('auto-encode', 'crf-search', 'sample-encode'))    # commands of ab-av1
    while at < len(words):
        nb_inputs, word = len(job.inputs), words[at]
        if word[:1] == '-' and word != '-':
            at += job.take(word, words[at + 1] if at + 1 < len(words) else None)
        else:
            # The shell makes an input and more names of "-i *.mkv": only in a command that was
            # printed is the last name an output that may be replaced.
            is_bare = not job.crf_is_ffmpegs or len(job.inputs) != before
            job.words.append(word)
        before, at = nb_inputs, at + 1
    if job.help or job.version:
        return
    if first == 'auto-encode' and not job.encode and not job.words and job.inputs:
        job.encode = output_name(job.inputs[0], 'encode.mkv')
    place_words(job, is_bare)
    check(job, first == 'sample-encode')


# ---- the encoder ----

def take_encoder(job, text, frame_rate):
    """Set the options of the encoder, and the plan of the search.

    @param text       output of `ffmpeg -h encoder=`
    @param frame_rate of the input, or 0
    """
    known = next(encoder for encoder in ENCODERS if encoder.name in job.encoder)
    # ffmpeg ignores options of another encoder
    if known.crf_option != 'global_quality' and f'\n  -{known.crf_option} ' not in text:
        raise ToolError(f"'{job.encoder}' has no option -{known.crf_option} to search: use "
                        'libx264, libx265, libsvtav1, libaom-av1 or one of NVENC, QSV or VAAPI.')
    # -preset as in ab-av1
    job.encoder_options = options = {known.preset if name == 'preset' else name: value
                                     for name, value in job.encoder_options.items()}
    if 'svtav1-params' in options and 'svtav1' not in job.encoder:
        raise ToolError('--svt and -svtav1-params are for libsvtav1: leave them out with '
                        f'{job.encoder}.')
    job.crf_option = known.crf_option
    job.upload = f',format={known.formats},hwupload' * bool(known.formats)
    if job.keyint and not job.keyint.isdigit():
        try:
            time = quality_common.duration(job.keyint)
        except argparse.ArgumentTypeError:
            time = 0
        if not time or not frame_rate:
            raise ToolError(f"--keyint: '{job.keyint}' is not a number of frames, or a duration "
                            f'({DURATIONS}) of a video that has a frame rate.')
        job.keyint = f'{max(1, round(time * frame_rate))}'
    if job.keyint:
        options['g'] = job.keyint
    for name, value in known.defaults.items():
        options.setdefault(name, value)

    is_whole, is_one_crf = known.increment == 1, not math.isnan(job.crf)
    if is_one_crf:
        job.min_crf = job.max_crf = job.crf
    if math.isnan(job.increment):
        job.increment = known.increment if is_whole or not is_one_crf else 0.01
    job.plan = plan = Plan(
        job.metric, known.min_crf if math.isnan(job.min_crf) else job.min_crf,
        known.max_crf if math.isnan(job.max_crf) else job.max_crf, job.increment,
        job.target, job.tolerance, job.max_percent, 0 if job.thorough else 0.4)
    if plan.min_crf > plan.max_crf or plan.first > plan.last or \
            is_whole and plan.increment != int(plan.increment):
        raise ToolError(f'{job.encoder} has no CRF from --min-crf {plan.min_crf:g} to --max-crf '
                        f'{plan.max_crf:g} by --crf-increment {plan.increment:g}'
                        f'{": it takes whole numbers" if is_whole else ""}.')
