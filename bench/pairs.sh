#!/usr/bin/env bash
# Counts the pairs of files whose frames a command line pairs wrongly.
#
#   bench/pairs.sh FFMPEG FFPROBE
#
# A lossless copy is compared with its source, each as mp4, mkv and ts whose sound begins before the
# video or after it: 36 pairs of files of each timing. A pair is right if every frame has a score, and
# it is that of equal pictures. Parts are the third second of four.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg="$1 -nostdin -v error -y" ffprobe=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
coded="-fps_mode passthrough -enc_time_base 1/90000 -c:v libx264 -preset ultrafast -qp 0"
silence="-f lavfi -i anullsrc=d=5"
files="early.mp4 early.mkv early.ts late.mp4 late.mkv late.ts"

# The same video in each of the files.
mux() { # video name
    local file outputs=
    for file in $files; do
        case $file in
        early*) outputs+=" -map 1:v -map 2 -c:v copy $2.$file" ;;
        late*)  outputs+=" -map 0:v -map 3 -c:v copy $2.$file" ;;
        esac
    done
    $ffmpeg -i $1 -itsoffset 0.3 -i $1 $silence -itsoffset 0.3 $silence $outputs
}

start() { # file
    "$ffprobe" -v error -select_streams v:0 -show_entries stream=start_time -of csv=p=0 $1 | sed 's/,*$//;q'
}

seek() { # file seconds
    echo "-seek_timestamp 1 -ss $(awk "BEGIN { printf(\"%f\", $(start $1) + $2) }")"
}

# Prints 1 for a pair of files with the right frames, else 0.
compare() { # encode source how
    local before=() filters=setpts=PTS-STARTPTS options=
    case $3 in
    plain)     filters=null ;;
    framesync) options=ts_sync_mode=default: ;;
    trim)      filters+=,trim=2:3 ;;
    seek-both) before=("-ss 2 -t 1" "-ss 2 -t 1") ;;
    seek)
        filters=null
        before=("$(seek $1 2) -t 1" "$(seek $2 2) -t 1") ;;
    esac
    rm -f stats crc
    $ffmpeg -threads 1 ${before[0]:-} -i $1 -threads 1 ${before[1]:-} -i $2 -filter_complex_threads 1 \
        -lavfi "[0:v]${filters}[m];[1:v]${filters}[r];[m][r]mad=${options}f=stats" \
        -fps_mode passthrough -f framecrc crc || true
    awk '/^0/ { out++ } / hi:0\.0* lo:0\.0*$/ { right++ } END { print(out > 0 && out == right) }' crc stats
}

echo "| timing | command line | wrong | of these with ts |"
echo "|---|---|---|---|"
while read -r name rate timing copied ways; do
    $ffmpeg -f lavfi -i "testsrc2=s=64x64:r=$rate:d=4,format=yuv420p,noise=alls=20:allf=t,settb=1/90000,$timing" \
        $coded -bf 2 -g 24 source.nut
    $ffmpeg -i source.nut -vf $copied $coded -bf 3 -g 30 copy.nut
    mux source.nut source
    mux copy.nut copy
    for how in $ways; do
        for copy in $files; do
            for source in $files; do
                echo "$copy.$source $(compare copy.$copy source.$source $how)"
            done
        done | awk -v name="$name, $rate fps" -v how=$how '
            !$2 { wrong++; ts += $1 ~ /ts/ }
            END { printf("| %s | %s | %d of %d | %d |\n", name, how, wrong, NR, ts) }'
    done
done << END
CFR      25         null                                      null        setpts plain seek-both trim seek
CFR      24000/1001 null                                      null        setpts framesync plain seek-both trim seek
CFR      60000/1001 null                                      null        setpts trim seek
VFR      25         select='not(mod(n,3))+not(mod(n,7))'      null        setpts trim seek
jittered 25         setpts='PTS+mod(N*7919,1440)'             null        setpts trim seek
doubled  25         null                                      fps=50      setpts trim seek
halved   25         null                                      framestep=2 setpts trim seek
still    25         trim=end_frame=1                          null        setpts
slides   25         select='not(mod(n,12))',setpts=N*43200    null        setpts trim
END
