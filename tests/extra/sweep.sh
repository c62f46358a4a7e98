#!/usr/bin/env bash
# Checks the bitstream filter quantizer_metadata on a folder of samples:
#   tests/extra/sweep.sh FOLDER [FFMPEG [LIST]]
# Each frame that FFmpeg decodes in a supported codec must have keys with its size, and the lines of
# stats_file must be as many as the frames. Exceptions are in LIST (default sweep.txt beside this
# script), each with its reason: PATH:STREAM FRAMES WITHOUT-KEYS OTHER-SIZE LINES REASON. Prints
# PASS or FAIL per video stream. A sample that FFmpeg cannot decode, or of another codec, is skipped.
#
# sweep.txt lists the samples of https://github.com/luke-cha/fate-suite, a copy of FATE's samples,
# at commit 2ce757f11e2c5fbf74ff470bb3db71212f2dc7fa:
#   git clone https://github.com/luke-cha/fate-suite && git -C fate-suite checkout 2ce757f11e2c
#   tests/extra/sweep.sh fate-suite build/9.0-lean/ffmpeg
# The build needs the decoders and demuxers of its samples: make build has those of video.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -uo pipefail

folder=${1:?usage: sweep.sh FOLDER [FFMPEG [LIST]]}
ffmpeg=${2:-ffmpeg}
list=${3:-$(dirname "$0")/sweep.txt}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

codecs='h264|hevc|vvc|av1|vp9|vp8|mpeg1video|mpeg2video|mpeg4|mjpeg'

# Frames, those without keys, those with keys of another size.
frames() { # file stream
    "$ffmpeg" -nostdin -nostats -v info -noautorotate -apply_cropping codec -bsf:v quantizer_metadata \
        -i "$1" -map "0:v:$2" -vf showinfo,metadata=print -fps_mode passthrough -f null - 2>&1 |
        awk '
            function flush() {
                if (!size) return
                n++
                if (width == "") missing++
                else if (width "x" height != size) other++
                size = width = ""
            }
            / n: *[0-9]+ pts:/ { flush(); size = $0; sub(/.* s:/, "", size); sub(/ .*/, "", size) }
            sub(/.*lavc\.quantizer\.width=/, "")  { width  = $0 }
            sub(/.*lavc\.quantizer\.height=/, "") { height = $0 }
            END { flush(); print n + 0, missing + 0, other + 0 }'
}

# Lines of stats_file, without decoding.
lines() { # file stream
    "$ffmpeg" -nostdin -nostats -v quiet -i "$1" -map "0:v:$2" -c copy \
        -bsf:v quantizer_metadata=stats_file=- -f null - | wc -l
}

status=0
while read -r file; do
    name=${file#"$folder"/}
    "$ffmpeg" -nostdin -hide_banner -i "$file" 2>&1 |
        sed -n 's/^ *Stream #0:.*Video: \([a-z0-9]*\).*/\1/p' > "$tmp/streams"
    stream=-1
    while read -r codec; do
        stream=$((stream + 1))
        [[ $codec =~ ^($codecs)$ ]] || continue
        result=$(frames "$file" $stream)
        [ "${result%% *}" != 0 ] || continue
        result+=" $(lines "$file" $stream)"
        read -r n missing other lines <<< "$result"
        if grep -qF "$name:$stream $result " "$list"; then
            echo "PASS $name:$stream $codec, as listed: $result"
        elif ((missing || other || lines != n)) || grep -qF "$name:$stream " "$list"; then
            echo "FAIL $name:$stream $codec: $n frames, $missing without keys, $other with keys of another" \
                "size, $lines lines"
            status=1
        else
            echo "PASS $name:$stream $codec, $n frames"
        fi
    done < "$tmp/streams"
done < <(find "$folder" -type f -not -path '*/.git/*' | sort)
exit $status
