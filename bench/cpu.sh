#!/usr/bin/env bash
# Times filters on the CPU, side by side: frames per second by the clock, and of 25 frames how
# many times real time that is.
#
#   bench/cpu.sh FFMPEG CLIP
#
# The first frames of CLIP are scaled to each size, and shown again and again from memory.
# "bitstream" is bliinds with what quantizer_metadata tells. libvmaf needs a build that has it:
# FFMPEG_CONFIGURE="--enable-libvmaf --extra-libs=-lstdc++" make build
#
#   FILTERS="bitstream bliinds vmaf ssimulacra2 mad ssim libvmaf"
#   SIZES="1280x720 1920x1080 3840x2160"
#   THREADS="1 2"  of the filter
#   FLAGS=""       such as "-cpuflags -avx2", to see what assembly gives
#   FRAMES=10      in memory; a run shows so many, and five times so many: the difference counts
#   RUNS=3         of each, in turn; the median counts
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg=$1 clip=$2
frames=${FRAMES:-10} runs=${RUNS:-3}
# what quantizer_metadata tells, so that bliinds takes the bitstream's model
coded=$(printf 'metadata=add:key=lavc.quantizer.%s,' gop_step:value=2 \
    gop_intra_bytes:value=9999 width:value=640 height:value=360 codec:value=h264)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

graph() { # filter threads
    case $1 in
    bitstream) echo "${coded}bliinds" ;;
    bliinds)   echo "$1" ;;
    libvmaf)   echo "split,libvmaf=n_threads=$2" ;;
    *)         echo "split,$1" ;;
    esac
}

seconds() { # filter threads frames
    local start end
    start=$(date +%s%N)
    "$ffmpeg" -v error -nostdin ${FLAGS:-} -filter_complex_threads "$2" -i "$tmp/clip.nut" \
        -filter_complex "loop=-1:$frames,setpts=N/25/TB,$(graph "$1" "$2")" -frames:v "$3" \
        -f null - || return
    end=$(date +%s%N)
    echo $((end - start))
}

echo "| filter | size | threads | frames a second | times real time |"
echo "|---|---|---|---|---|"
for size in ${SIZES:-1280x720 1920x1080 3840x2160}; do
    "$ffmpeg" -v error -nostdin -y -i "$clip" -frames:v "$frames" -vf "scale=${size/x/:},format=yuv420p" \
        -c:v rawvideo "$tmp/clip.nut"
    for filter in ${FILTERS:-bitstream bliinds vmaf ssimulacra2 mad ssim libvmaf}; do
        "$ffmpeg" -v quiet -h "filter=${filter/bitstream/bliinds}" | grep '^Filter' > /dev/null ||
            { echo "SKIPPED $filter: not in this build" >&2; continue; }
        for threads in ${THREADS:-1 2}; do
            for ((run = 0; run < runs; run++)); do
                few=$(seconds $filter $threads $frames)
                many=$(seconds $filter $threads $((5 * frames)))
                echo $((many - few))
            done | sort -n | sed -n "$(((runs + 1) / 2))p" | awk -v n=$((4 * frames)) -v row="| \`$filter\` | $size | $threads |" \
                '{ fps = n / ($1 / 1e9); printf("%s %.1f | %.1f |\n", row, fps, fps / 25) }'
        done
    done
done
