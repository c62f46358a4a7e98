#!/usr/bin/env bash
# Runs each fuzzer for some seconds, as many at once as there are processors:
#   fuzz.sh [SECONDS]
# It begins with the seeds in tests/extra/fuzz/seeds, and with what earlier runs have
# found in build/fuzz. An input that fails is kept in results/fuzz. With SECONDS=few
# it makes so many inputs from the seeds that it takes some seconds, the same each time.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"

seconds=${1:-60}
kept=$root/results/fuzz
tests=$root/tests/extra/fuzz

fuzz() { # name
    local name=$1 found=$build/fuzz/$1 log=$build/fuzz/$1.log limit=(-max_total_time="$seconds")
    if [ "$seconds" = few ]; then
        found=$tmp/$name
        limit=(-seed=1 -runs=5000)
        [ "$name" != frames ] || limit=(-seed=1 -runs=60)
    fi
    mkdir -p "$found"
    if "$dir/tests/extra/fuzz/$name" "${limit[@]}" -timeout=100 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$kept/$name-" \
        "$found" "$tests/seeds/$name" > /dev/null 2> "$log"; then
        pass "fuzz $name, $(awk '/number_of_executed_units/ { print $2 }' "$log") inputs"
    else
        echo "To repeat it: $dir/tests/extra/fuzz/$name $kept/$name-..., of all: $log" >> "$log"
        fail "fuzz $name" "$log"
    fi
}

"$scripts/deps.sh" fuzz || {
    skip "fuzz" "no libFuzzer here"
    exit
}
dir=$(PROFILE=fuzz "$scripts/build.sh") || {
    fail "fuzz build"
    exit 1
}
mkdir -p "$kept" "$build/fuzz"
cd "$tmp"
say "fuzzing, $seconds seconds each"
results=$(
    for name in "$tests"/seeds/*; do
        while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
        fuzz "$(basename "$name")" &
    done
    wait
)
echo "$results"
! grep -q '^FAIL ' <<< "$results"
