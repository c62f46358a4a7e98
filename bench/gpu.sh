#!/usr/bin/env bash
# Times the CUDA filters where there is a GPU, beside the same command without them:
#
#   bench/gpu.sh FFMPEG [CLIP...]
#
# It runs FRAMES frames, and five times so many: the difference counts. Medians are printed.
#
#   PARTS="streams kernels"    what is timed; kernels needs no clip, but Nsight Compute
#   FILTERS="bliinds ssim vmaf mad blocksmooth"
#   PROCESSES=1                of streams, at once
#   SIZES="512x512 1920x1080 3840x2160"    of kernels
#   SOURCE=mandelbrot=s=SIZE     their picture, by lavfi
#   FRAMES=1500   of the shorter run
#   RUNS=3        of each
#
# The exit status is 77 if there is no GPU to use.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154 source=bench/common.sh
set -u
[ $# -ge 1 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg=$1
shift
. "$(dirname "$0")/common.sh"
filters=${FILTERS:-bliinds ssim vmaf mad blocksmooth}
sizes=${SIZES:-512x512 1920x1080 3840x2160}
frames=${FRAMES:-1500}
runs=${RUNS:-3}
processes=${PROCESSES:-1}
null="-f null -"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

ff() {
    timeout 300 "$ffmpeg" -nostdin -hide_banner "$@"
}

takes_pairs() { # filter
    case $1 in
    bliinds | blocksmooth) return 1 ;;
    esac
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
    awk -v column="$1" '{ print $column }' "${@:2}" | median
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
streams() {
    local filter clip input pair title end="-frames:v FRAMES $null"
    for filter in $filters; do
        for clip in "${clips[@]}"; do
            input="-hwaccel cuda -hwaccel_output_format cuda -stream_loop -1 -i $clip"
            pair="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS[r];[0:v][r]${filter}_cuda"
            title="${filter}_cuda, processes: $processes, ${clip##*/}"
            if takes_pairs $filter; then
                input="$input $input"
                compare "$title, two streams" "$input -map 0:v $end -map 1:v $end" \
                    "$input -filter_complex $pair $end"
            else
                compare "$title" "$input -an -vf null $end" "$input -an -vf ${filter}_cuda $end"
            fi
        done
    done
}

# A drawn picture that goes through a filter again and again.
graph_of() { # filter format
    local up="format=$2,hwupload,loop=-1:1,setpts=N/25/TB"
    if takes_pairs $1; then
        echo "split[m][r];[m]gblur,${up}[m2];[r]${up}[r2];[m2][r2]${1}_cuda"
    else
        echo "$up,${1}_cuda"
    fi
}

# The kernels of so many frames; without a number those of a batch, as many as the first of them has
# rows of thread blocks.
profile() { # title frames-to-run graph [frames] [options of ncu]
    timeout 300 ncu --clock-control none --cache-control none --csv --print-units base \
        --metrics gpu__time_duration.sum "${@:5}" "$ffmpeg" -nostdin -v quiet -init_hw_device cuda \
        -f lavfi -i "$source" -frames:v $2 -filter_complex "$3" $null > "$tmp/ncu" 2>&1
    awk -F '","' -v title="$1" -v n="${4:-}" '
        /"ID"/ {
            for (i = 1; i <= NF; i++) {
                gsub(/"/, "", $i)
                column[$i] = i
            }
            next
        }
        "Metric Value" in column {
            name = $column["Kernel Name"]
            sub(/\(.*/, "", name)
            value = $column["Metric Value"]
            gsub(/[",]/, "", value)
            split($column["Grid Size"], grid, ",")
            n = n ? n : grid[2] + 0
            sum[name] += value / 1000
            count[name]++
            all += value / 1000
        }
        END {
            for (name in sum)
                each = each sprintf("%s %.2f in %.1f, ", name, sum[name] / n, count[name] / n)
            printf("%-62s %.2f us (%s%d frames)\n", title, all / n, each, n)
        }' "$tmp/ncu"
}

# Kernels are slow to start where they are looked at, so that each frame goes alone. Those behind
# many that are not looked at have a batch, as frames come fast until then.
kernels() {
    local filter size format known graph title each source
    command -v ncu > /dev/null || { echo "SKIPPED kernels: no ncu"; return; }
    for filter in $filters; do
        for size in $sizes; do
            source=${SOURCE:-mandelbrot=s=SIZE}
            source=${source//SIZE/$size}
            for format in nv12 p010le; do
                for known in '' $([ $filter != bliinds ] || echo "$coded"); do
                    graph=$known$(graph_of $filter $format)
                    title="${filter}_cuda${known:+ by the bitstream}, $size $format"
                    profile "$title, alone" 4 "$graph" 4
                    each=$(($(grep -c gpu__time "$tmp/ncu") / 4))
                    [[ $filter = mad || $filter = vmaf ]] ||
                        profile "$title, in batches" 4000 "$graph" \
                            "$([ $filter != blocksmooth ] || echo 1)" \
                            --launch-skip $((300 * each)) --launch-count $each
                done
            done
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
for part in ${PARTS:-${1:+streams} kernels}; do
    $part
done
