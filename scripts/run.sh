#!/usr/bin/env bash
# Scores VIDEO, and writes a log of the frames, a JSON report and a page to results/.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# A clip from a Debian package.
sample() {
    local clip
    clip=$(dpkg -L opencv-doc 2> /dev/null | grep '/Megamind\.avi') ||
        die "there is no package opencv-doc here, which has a clip" \
            "name a video: make run VIDEO=file"
    mkdir -p "$build"
    gzip -dcf "$clip" > "$build/Megamind.avi"
    echo "$build/Megamind.avi"
}

# Whether frames can stay on a GPU from the decoder to the filter.
cuda_works() {
    local why="this build has no bliinds_cuda"
    if grep -qx CONFIG_BLIINDS_CUDA_FILTER=yes "$dir/ffbuild/config.mak"; then
        why="no usable CUDA device"
        ! "$ffmpeg" -v quiet -nostdin -init_hw_device cuda -f lavfi -i color -frames:v 1 -f null - ||
            return 0
    fi
    say "scoring on the CPU: $why"
    return 1
}

# The names of the outputs are plain and the folder is the current one, so that
# no name of the user's needs an escape in the filter's options. Videos of all sizes are
# rated on one display: at its own size a small copy has a better score than a large one.
score() { # filter decoder-options...
    "$ffmpeg" -hide_banner -nostdin -v level+info "${@:2}" ${filters:+-bsf:V:0 "$filters"} \
        -noautorotate -i "$video" -map 0:v:0 -an \
        -vf "$1=shown_height=1080:stats_file=frames.log:log_path=report.json" -f null - 2>&1 | tee ffmpeg.log >&2
}

[ -z "${VIDEO:-}" ] || [ -f "$VIDEO" ] || die "VIDEO=$VIDEO is not a file"
jobs=(build run)
[ "${VIDEO:-}" ] || jobs+=(clip)
"$scripts/deps.sh" "${jobs[@]}"
video=${VIDEO:-$(sample)}
video=$(realpath -- "$video")
dir=$(PROFILE=lean "$scripts/build.sh")
ffmpeg=$dir/ffmpeg

# two files of one name have a folder each
results=$root/results/$(basename "$video")
for ((n = 2; ; n++)); do
    [ "$(cat "$results/source" 2> /dev/null || echo "$video")" != "$video" ] || break
    results=$root/results/$(basename "$video").$n
done
mkdir -p "$results"
cd "$results"
echo "$video" > source
rm -f frames.log report.json report.html
filters=$(python3 -B "$root/tools/quality_common.py" "$ffmpeg" "$video")
[ "$filters" ] || say "note: no quantizer can be read from this format: there are features, but no score"
if cuda_works; then
    say "scoring $video with bliinds_cuda"
    score bliinds_cuda -hwaccel cuda -hwaccel_output_format cuda || {
        say "the GPU cannot decode or score this video: once more on the CPU"
        score bliinds
    }
else
    say "scoring $video with bliinds"
    score bliinds || die "scoring failed" "FFmpeg's words are above and in $results/ffmpeg.log"
fi

"$root/tools/quality-report" frames.log --video "$video" --ffmpeg "$ffmpeg" -o report.html ||
    say "note: no page, see above"

say "summary, as shown on a 1080-line display"
tr '\r' '\n' < ffmpeg.log | sed -n 's/^\[Parsed_bliinds[^]]*\] \[\(info\|warning\)\] *//p' >&2
damaged=$(sed -n 's/^  "aggregate_metrics": .*"damaged": \([1-9][0-9]*\).*/\1/p' report.json)
[ -z "$damaged" ] || say "WARNING: $damaged frames are damaged, and not in the scores: see ffmpeg.log"
say "in $results: $(ls -m -- *.html *.log *.json 2> /dev/null)"
