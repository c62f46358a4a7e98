# shellcheck shell=bash
# How the tests tell how they went, a line each, which scripts/check.sh counts, and a folder for them.
# SPDX-License-Identifier: LGPL-2.1-or-later

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0

pass() { # name
    echo "PASS    $1"
    passed=$((passed + 1))
}

fail() { # name [file with the reason]
    echo "FAIL    $1"
    tail -n 20 "${2:-/dev/null}" | sed 's/^/        /'
    failed=$((failed + 1))
}

skip() { # name why
    echo "SKIPPED $1: $2"
}

check() { # name command...; its output is shown if it fails
    local name=$1
    shift
    if "$@" > "$tmp/out" 2>&1 < /dev/null; then pass "$name"; else fail "$name" "$tmp/out"; fi
}
