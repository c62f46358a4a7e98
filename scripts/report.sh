#!/usr/bin/env bash
# Makes the page REPORT of the logs LOG, with pictures of VIDEO where it is given; without
# LOG, of the newest in results/.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# LOG is one file, whatever is in its name, or several with spaces between them.
logs=("${LOG:-$(find "$root/results" -name frames.log -printf '%T@ %p\n' 2> /dev/null | sort -n | tail -n 1 | cut -d ' ' -f 2-)}")
[ "${logs[0]}" ] || die "which log?" "name it with LOG=file, or make one with: make run VIDEO=file"
[ -e "${logs[0]}" ] || mapfile -t logs < <(xargs -n 1 <<< "${logs[0]}")
"$scripts/deps.sh" report
ffmpeg=$(find "$build"/*/ffmpeg -prune -type f -perm -u+x 2> /dev/null | head -n 1)
"$root/tools/report/quality-report" ${VIDEO:+--video "$VIDEO"} ${ffmpeg:+--ffmpeg "$ffmpeg"} \
    --output "${REPORT:-report.html}" -- "${logs[@]}"
say "in ${REPORT:-report.html}"
