#!/bin/sh
# Demands that bliinds_cuda gives what bliinds gives, all features to the last digit:
#
#   tests/gpu-exact.sh FFMPEG [CLIP...]
#
# 20,000 frames: noise of strengths 1 to 40, gradients, text, drawn pictures and the
# clips, in 8 and 10 bits, at ten sizes. One process for each source; in it both
# filters get the same frames.
#
#   SEED=0        another one makes other noise
#   PART=24       frames for each of the small sizes; large ones have fewer
#   SIZES="W:H/D..."   sizes, and by what PART is divided for each
#
# The exit status is 1 if a frame differs, and 77 if there is no GPU to use.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u
export LC_ALL=C

default_sizes="70:46/1 128:96/1 322:182/1 480:270/1 512:512/1 640:272/1 854:480/2 1280:720/3 1920:1080/6 3840:2160/12"
SIZES=${SIZES:-$default_sizes} PART=${PART:-24} SEED=${SEED:-0}
export SIZES PART SEED

# A source in one format, at all sizes; prints frames, 1 if they differ, and the name.
if [ "${1:-}" = --one ]; then
    IFS='|' read -r name input filter format << END
$2
END
    log=$(mktemp -d -p "$TMP")
    # shellcheck disable=SC2086
    set -- $SIZES
    graph="[0:v]split=$#" chains='' maps=''
    for of; do
        size=${of%/*} n=$((PART / ${of#*/}))
        id=$(echo "$size" | tr : x) n=$((n > 0 ? n : 1))
        echo "$id $n" >> "$log/sizes"
        graph="${graph}[s$id]"
        # the way back from twice the size leaves samples of 10 bits between those of 8
        case $format in
        *10*) twice=",scale=2*iw:2*ih:flags=bilinear" ;;
        *)    twice='' ;;
        esac
        chains="${chains};[s$id]trim=end_frame=$n,scale=$size:flags=bilinear,$filter$twice,scale=$size:flags=bilinear,format=$format,split[a$id][b$id];
            [a$id]hwupload,bliinds_cuda=features=1:f=$log/$id.gpu[c$id];[b$id]bliinds=features=1:f=$log/$id.cpu[d$id]"
        maps="$maps -map [c$id] -f null - -map [d$id] -f null -"
    done
    # shellcheck disable=SC2086
    timeout 500 "$FFMPEG" -nostdin -v error -init_hw_device cuda $input -filter_complex "$graph$chains" $maps \
        < /dev/null > "$log/err" 2>&1 || echo "exit status $?" >> "$log/err"
    while read -r id n; do
        touch "$log/$id.cpu" "$log/$id.gpu"
        lines=$(wc -l < "$log/$id.cpu")
        if [ "$lines" != "$n" ]; then
            echo "$lines 1 $name $id $format: $lines of $n frames; $(tail -n 1 "$log/err")"
        elif cmp -s "$log/$id.cpu" "$log/$id.gpu"; then
            echo "$lines 0 $name $id $format"
        else
            echo "$lines 1 $name $id $format: $(diff "$log/$id.cpu" "$log/$id.gpu" | grep -c '^<') frames"
        fi
    done < "$log/sizes"
    rm -rf "$log"
    exit
fi

[ $# -ge 1 ] || { sed -n '2,/^# SPDX/{/SPDX/d;s/^# \{0,1\}//;p;}' "$0"; exit 2; }
FFMPEG=$1
TMP=$(mktemp -d)
export FFMPEG TMP
trap 'rm -rf "$TMP"' EXIT
shift
"$FFMPEG" -v error -init_hw_device cuda -version > "$TMP/probe" 2>&1 ||
    { echo "SKIPPED: $(sed 1q "$TMP/probe")"; exit 77; }

source_of() { # name input filter
    echo "$1|$2|$3|nv12"
    echo "$1|$2|$3|p010le"
}

{
    for strength in $(seq 1 40); do
        source_of "noise $strength" "-f lavfi -i color=gray:s=640x360:r=25" \
            "format=yuv444p,noise=all_seed=$((SEED * 100 + strength)):alls=$strength:allf=t"
    done
    for drawn in gradients=s=960x540:seed=$((SEED + 1)) mandelbrot=s=960x540 testsrc2=s=960x540 testsrc=s=960x540 \
                 smptebars=s=960x540 rgbtestsrc=s=960x540 life=s=320x180:seed=$((SEED + 7)):mold=10; do
        source_of "${drawn%%=*}" "-f lavfi -i $drawn" null
        source_of "${drawn%%=*} with noise" "-f lavfi -i $drawn" "format=yuv444p,noise=all_seed=$SEED:alls=3:allf=t"
    done
    source_of ramps "-f lavfi -i color=s=256x256" "geq=lum='mod(X*(1+N)+Y*N,256)':cb=128:cr=128"
    for clip; do
        source_of "$(basename "$clip")" "-i $clip" null
        source_of "$(basename "$clip") sharpened" "-i $clip" "unsharp"
    done
} > "$TMP/jobs"
xargs -d '\n' -P "$(nproc)" -n 1 sh "$0" --one < "$TMP/jobs" > "$TMP/results"
awk '{ frames += $1; differ += $2 > 0; if ($2 > 0 && shown++ < 20) print "FAIL    " $0 }
     END { print frames " frames of " NR " sources, sizes and formats: in " differ + 0 " of these CPU and GPU differ"
           exit differ > 0 || !frames }' "$TMP/results"
