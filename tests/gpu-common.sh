# shellcheck shell=bash disable=SC2034,SC2086
# What tests/gpu.sh and bench/gpu.sh share: the program, the filters and the clips.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=bench/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../bench/common.sh"
# shellcheck source=tests/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
set -u
export LC_ALL=C

[ $# -ge 1 ] || { sed -n '2,/^# SPDX/{/SPDX/d;s/^# \{0,1\}//;p;}' "$0"; exit 2; }
ffmpeg=$1
shift
filters=${FILTERS:-bliinds ssim vmaf mad blocksmooth}
limit=${LIMIT:-300}
decode="-hwaccel cuda -hwaccel_output_format cuda"
null="-f null -"
trap 'exit 130' INT TERM

ff() {
    timeout "$limit" "$ffmpeg" -nostdin -hide_banner -v error -y "$@" 2> "$tmp/err"
}

# What a filter takes: a frame, or a pair; and what it gives: lines, or frames.
takes_pairs() { [[ $1 = ssim || $1 = vmaf || $1 = mad ]]; }
gives_frames() { [ $1 = blocksmooth ]; }

# A drawn second of video through a CUDA filter.
graph() { # filter size
    local source="testsrc2=s=$2:r=25:d=1,format=yuv420p"
    if takes_pairs $1; then
        echo "$source,split[a][b];[a]hwupload[c];[b]avgblur,format=yuv420p,hwupload[d];[c][d]$1_cuda"
    else
        echo "$source,hwupload,$1_cuda"
    fi
}

# The format of a clip's frames in GPU memory, as hwdownload needs it.
clip_format() { # clip
    local format
    for format in nv12 p010le p012le p016le yuv444p yuv444p10msble yuv444p12msble yuv444p16le nv16 p210le p212le p216le; do
        ff $decode -i "$1" -an -frames:v 1 -vf hwdownload,format=$format $null || continue
        echo $format
        return
    done
    return 1
}

# The planar form of a format, which all filters of the CPU take.
planar_of() { # format
    sed 's/^nv12/yuv420p/;s/^nv16/yuv422p/;s/^p0/yuv420p/;s/^p2/yuv422p/;s/msble/le/' <<< "$1"
}

if ! ff -init_hw_device cuda -f lavfi -i nullsrc=s=64x64:d=0.04 -vf format=nv12,hwupload_cuda,bliinds_cuda $null; then
    echo "no usable CUDA device: $(sed -n '1s/^\[[^]]*\] *//p' "$tmp/err")"
    exit 77
fi
