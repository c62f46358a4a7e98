#!/usr/bin/env bash
# Draws doc/scores.png by gnuplot: how many points encodes of each CRF lose, by VMAF v1 and by bliinds.
#
#   bench/scores.sh FFMPEG PICTURE NAME=VIDEO...
#
#   LENGTH=30     seconds of each video to encode with libx264, preset medium
#   CRFS="18 22 26 30 34 38 42 46"
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
[ $# -ge 3 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg=$1 picture=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for video in "${@:3}"; do
    for crf in ${CRFS:-18 22 26 30 34 38 42 46}; do
        part=(-t "${LENGTH:-30}" -i "${video#*=}")
        "$ffmpeg" -v error -nostdin -y "${part[@]}" -an -c:v libx264 -crf "$crf" "$tmp/encode.mkv"
        "$ffmpeg" -v info -nostats -nostdin -bsf:v quantizer_metadata -i "$tmp/encode.mkv" "${part[@]}" -lavfi "
            [0:v]setpts=PTS-STARTPTS,split[main][alone];[1:v]setpts=PTS-STARTPTS[ref];
            [main][ref]vmaf;[alone]bliinds" -f null - 2>&1 |
            awk -v crf="$crf" -F 'mean:' '/\] (\[info\] )?VMAF mean/ { vmaf = 100 - $2 }
                /BLIINDS mean/ { bliinds = $2 + 0 } END { print crf, vmaf, bliinds }' | tee -a "$tmp/${video%%=*}"
    done
done
gnuplot << END
set terminal pngcairo size $((330 * ($# - 2) + 10)),360 font "sans,11"
set output "$picture"
set multiplot layout 1,$(($# - 2))
set xrange [17:47]
set xtics 18,8
set yrange [0:80]
set xlabel "CRF of libx264"
set ylabel "points lost (0..100, lower is better)"
set key top left Left reverse
do for [name in "$(printf '%s ' "${@:3}" | sed 's/=[^ ]* / /g')"] {
    set title name
    plot "$tmp/".name using 1:2 with lines linewidth 8 linecolor rgb "#c4c4c4" title "100 - VMAF v1", \
         "" using 1:3 with linespoints pointtype 7 linecolor rgb "#c05020" linewidth 2 title "bliinds"
    unset ylabel
    unset key
}
END
