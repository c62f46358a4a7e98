# shellcheck shell=bash disable=SC2034
# What every script of the front door shares: messages, paths, versions.
# SPDX-License-Identifier: LGPL-2.1-or-later

set -eu -o pipefail

# A make that calls us would hand its own flags and variables to FFmpeg's make.
unset MAKEFLAGS MFLAGS MAKELEVEL

scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$scripts")
build=$root/build

# Supported series, the default first, and libavfilter's major version in each.
series_table='9.0 12
8.1 11'

say() {
    printf '==> %s\n' "$*" >&2
}

die() {
    printf 'error: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '       %s\n' "$@" >&2
    exit 1
}

all_series() {
    awk '{ print $1 }' <<< "$series_table"
}

# Runs git in this checkout, whoever owns it. A repository around the checkout is not ours.
own_git() {
    GIT_CEILING_DIRECTORIES=$(dirname "$root") git -c safe.directory="$root" -C "$root" "$@"
}

# One at a time builds, tests or cleans in a checkout; the others wait. What a script
# calls is part of it. flock is of util-linux, and without it there is no lock.
lock() {
    [ "${QUALITY_LOCKED:-}" != "$root" ] && command -v flock > /dev/null || return 0
    exec 9<> "$root/Makefile"
    flock -n 9 || {
        say "another make works in $root: waiting for its end"
        flock 9
    }
    export QUALITY_LOCKED=$root
}

# Runs a command with its output in a log, and shows every 10 s how far it is;
# steps is how many lines in the form of FFmpeg's make are to come, where known.
logged() { # title log command...
    local title=$1 log=$2 ticker status=0
    shift 2
    (
        SECONDS=0
        while sleep 10 2> /dev/null && kill -0 $$ 2> /dev/null; do
            printf '    %s: %d s%s\n' "$title" $SECONDS \
                "${steps:+, $(grep -c $'^[A-Z0-9]*\t' "$log") of $steps steps}" >&2
        done
    ) > /dev/null 9>&- &
    ticker=$!
    "$@" > "$log" 2>&1 || status=$?
    kill $ticker 2> /dev/null
    wait $ticker 2> /dev/null || true
    [ $status -eq 0 ] || {
        tail -n 25 "$log" >&2
        die "$title failed" "the whole log: $(readlink -f "$log")"
    }
}

case $root in
*[[:space:]]*)
    die "FFmpeg cannot be built under a path with a space: $root" "move this folder elsewhere" ;;
esac
