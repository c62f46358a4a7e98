#!/usr/bin/env bash
# Compares what ffcrf finds with a scan of all CRFs by the same metric, a line a clip:
#   ffcrf-scan.sh folder-of-ffcrf "options of ffcrf" clips...
# SECONDS_OF_CLIP (default 8) is what is taken of each clip, STEP (default 0.1) is what CRFs
# differ by. It takes minutes for a clip, and CI does not run it. It fails if a CRF is off by
# more than 0.5.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -eu -o pipefail

bin=$1
options=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export FFCRF_CACHE=$work/cache
status=0

# Whether a CRF reaches the target.
reaches() { # clip crf
    # shellcheck disable=SC2086
    "$bin/ffcrf" -i "$1" $options --min-crf "$2" --max-crf "$2" --max-encoded-percent 100000 \
        > /dev/null 2> "$work/messages" || { [ $? = 1 ] || cat "$work/messages" >&2; false; }
}

# The highest CRF that reaches the target, with all below it.
scan() { # clip first step last
    local crf best=$2
    for crf in $(seq "$2" "$3" "$4"); do
        reaches "$1" "$crf" || break
        best=$crf
    done
    echo "$best"
}

printf '%-40s %10s %8s %8s %8s %8s\n' clip exhaustive found off encodes score
for clip; do
    name=$(basename "$clip")
    "$bin/ffmpeg" -v error -y -t "${SECONDS_OF_CLIP:-8}" -i "$clip" -map 0:v:0 -c:v ffv1 "$work/$name.mkv"
    whole=$(scan "$work/$name.mkv" 10 1 46)
    exact=$(scan "$work/$name.mkv" "$whole" "${STEP:-0.1}" $((whole < 46 ? whole + 1 : 46)))
    # shellcheck disable=SC2086
    "$bin/ffcrf" -i "$work/$name.mkv" $options --max-encoded-percent 100000 --json \
        2> "$work/messages" > "$work/search" || cat "$work/messages" >&2
    jq -rs --arg name "$name" --arg exact "$exact" '
        (map(select(.type == "crf-search-done")) | first) as $done |
        "\($name) \($exact) \($done.crf) \($done.crf - ($exact | tonumber)) " +
        "\(map(select(.type == "sample-encode-done")) | length) \($done.score)"' "$work/search" |
        awk '{ printf "%-40s %10.1f %8.1f %+8.1f %8d %8.4f\n", $1, $2, $3, $4, $5, $6
               if ($4 > 0.5001 || $4 < -0.5001) exit 1 }' || status=1
done
exit $status
