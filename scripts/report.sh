#!/usr/bin/env bash
# Makes the page REPORT of the logs LOG, with pictures of VIDEO where it is given; without
# LOG, of the newest in results/.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# LOG is one file, whatever is in its name, or several with spaces between them.
logs() {
    local newest
    if [ -z "${LOG:-}" ]; then
        newest=$(find "$root/results" -name frames.log -printf '%T@ %p\n' 2> /dev/null | sort -n | tail -n 1)
        [ "$newest" ] || die "which log?" "name it with LOG=file, or make one with: make run VIDEO=file"
        echo "${newest#* }"
    elif [ -e "$LOG" ]; then
        echo "$LOG"
    else
        xargs -n 1 <<< "$LOG"
    fi
}

logs=$(logs)
mapfile -t logs <<< "$logs"
"$scripts/deps.sh" report
arguments=()
if [ "${VIDEO:-}" ]; then
    arguments+=(--video "$VIDEO")
    # what was built here, else what is installed
    for ffmpeg in "$build"/*/ffmpeg; do
        [ ! -x "$ffmpeg" ] || { arguments+=(--ffmpeg "$ffmpeg"); break; }
    done
fi
"$root/tools/report/quality-report" "${arguments[@]}" --output "${REPORT:-report.html}" -- "${logs[@]}"
say "in ${REPORT:-report.html}"
