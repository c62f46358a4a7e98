#!/usr/bin/env bash
# Times the CUDA filters where there is a GPU, beside the same command without them:
#
#   bench/gpu.sh FFMPEG CLIP...
#
# It runs FRAMES frames, and five times so many: the difference counts. Medians are printed.
#
#   FILTERS="bliinds ssim vmaf mad blocksmooth"
#   PROCESSES=1   at once
#   FRAMES=1500   of the shorter run
#   RUNS=3        of each
#
# The exit status is 77 if there is no GPU to use.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086
set -u
[ $# -ge 2 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg=$1
shift
filters=${FILTERS:-bliinds ssim vmaf mad blocksmooth}
frames=${FRAMES:-1500}
runs=${RUNS:-3}
processes=${PROCESSES:-1}
null="-f null -"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

ff() {
    timeout 300 "$ffmpeg" -nostdin -hide_banner "$@"
}

# Frames per second of all processes, and microseconds of the host for each frame.
timed() { # arguments, in which FRAMES stands for their number
    local i n began
    for n in $frames $((5 * frames)); do
        began=$(date +%s%N)
        for ((i = 0; i < processes; i++)); do
            ff -v info -nostats -benchmark ${1//FRAMES/$n} 2> "$tmp/err$i" &
        done
        wait
        echo "$n $(($(date +%s%N) - began))" "$(sed -n \
            's/.*bench: utime=\(.*\)s stime=\(.*\)s rtime.*/\1 \2/p' "$tmp"/err* | xargs)"
        rm "$tmp"/err*
    done | awk -v processes="$processes" '{
        n = processes * $1 - n
        ns = $2 - ns
        for (i = 3; i <= NF; i++)
            cpu[NR] += $i
    }
    END { printf("%.1f %.1f\n", n / ns * 1e9, (cpu[2] - cpu[1]) / n * 1e6) }'
}

median_of() { # column file...
    awk -v column="$1" '{ print $column }' "${@:2}" | sort -n | sed -n "$(((runs + 1) / 2))p"
}

# In turn without and with a filter.
compare() { # title arguments-without arguments-with
    local run which
    for ((run = 0; run < runs; run++)); do
        timed "$2" > "$tmp/without.$run"
        timed "$3" > "$tmp/with.$run"
    done
    for which in without with; do
        median_of 1 "$tmp/$which".*
        median_of 2 "$tmp/$which".*
    done | xargs | awk -v title="$1" '{
        printf("%-62s %s without, %s with: %.1f %%; host %.1f us a frame\n",
               title, $1, $3, 100 * $3 / $1, $4 - $2)
    }'
}

# Clips are read again and again; the pictures of a pair are five frames apart, or else mad has
# nothing to do.
streams() { # clips
    local filter clip input pair title end="-frames:v FRAMES $null"
    for filter in $filters; do
        for clip; do
            input="-hwaccel cuda -hwaccel_output_format cuda -stream_loop -1 -i $clip"
            pair="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS[r];[0:v][r]${filter}_cuda"
            title="${filter}_cuda, processes: $processes, ${clip##*/}"
            if [[ $filter = ssim || $filter = vmaf || $filter = mad ]]; then
                input="$input $input"
                compare "$title, two streams" "$input -map 0:v $end -map 1:v $end" \
                    "$input -filter_complex $pair $end"
            else
                compare "$title" "$input -an -vf null $end" "$input -an -vf ${filter}_cuda $end"
            fi
        done
    done
}

ff -v error -init_hw_device cuda -f lavfi -i color -vf format=nv12,hwupload,bliinds_cuda \
    -frames:v 1 $null || exit 77
echo "$(date -u +%F), $(nproc) cores"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
"$ffmpeg" -version | sed q
clips=()
for clip; do
    # a clip that is read again and again starts the decoder anew each time
    clips+=("$tmp/${clip##*/}")
    ff -v error -stream_loop -1 -i "$clip" -map 0:v -c copy -frames:v $((5 * frames + 64)) \
        "${clips[-1]}"
done
streams "${clips[@]}"
