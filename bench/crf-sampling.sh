#!/usr/bin/env bash
# How far ffcrf's score is off because it skips frames: 12 clips of 40 to 400 frames, three encoders.
#
#   [METRIC=vmaf] bench/crf-sampling.sh FFCRF FOLDER [STEP]
#
# FOLDER contains videos, of which the clips are cut in turn; an ffmpeg with libx264, libx265 and
# libsvtav1 lies beside FFCRF. Each clip is encoded and scored twice: with the default of
# --score-every, or with STEP, and with all frames. A table of the differences is printed. It needs jq.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffcrf=$1 step=${3:+--score-every $3} metric=${METRIC:-vmaf}
ffmpeg="$(dirname "$1")/ffmpeg -nostdin -v quiet -y"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export FFCRF_CACHE=$tmp/cache

# The score of an encode of the clip, and the number of frames that it is made of.
score() { # options
    "$ffcrf" -i "$tmp/clip.mkv" --metric "$metric" --crf 35 --max-encoded-percent 100000 --json "$@" \
        2> /dev/null | jq -r 'select(.type == "sample-encode-done") | "\(.score) \(.scored_frames)"'
}

# Cuts a clip of the first of some videos that is long enough.
cut_clip() { # frames video...
    local video nb=$1
    shift
    for video; do
        $ffmpeg -i "$video" -map 0:v:0 -frames:v "$nb" -vf scale=426:240,format=yuv420p -fps_mode passthrough \
            -c:v ffv1 "$tmp/clip.mkv" || continue
        test "$($ffmpeg -i "$tmp/clip.mkv" -f framecrc - | grep -vc '#')" = "$nb" && break
    done
    name=$(basename "$video")
}

echo "| clip | frames | scored | libx264 | libx265 | libsvtav1 |"
echo "|---|---|---|---|---|---|"
nb=0
for frames in 40 60 80 100 120 150 180 210 240 300 350 400; do
    videos=("${@:2:1}"/*)
    nb=$(((nb + 1) % ${#videos[@]}))
    cut_clip $frames "${videos[@]:nb}" "${videos[@]:0:nb}"
    row=
    for encoder in "libx264 -preset fast" "libx265 -preset fast" "libsvtav1 -preset 8"; do
        read -r some scored < <(score -c:v $encoder $step)
        read -r all _ < <(score -c:v $encoder --score-every 1)
        row+=" $(awk "BEGIN { printf \"%+.3f\", $some - $all }") |"
    done
    echo "| $name | $frames | $scored |$row"
done
