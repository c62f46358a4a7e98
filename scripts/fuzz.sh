#!/usr/bin/env bash
# Runs each fuzzer for some seconds, as many at once as there are processors:
#   fuzz.sh [SECONDS]
# It begins with the seeds in tests/extra/fuzz/seeds, and with what earlier runs have
# found in build/fuzz. An input that fails is kept in results/fuzz. With SECONDS=few
# it makes so many inputs from the seeds that it takes some seconds, the same each time.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

seconds=${1:-60}
kept=$root/results/fuzz
tests=$root/tests/extra/fuzz

few() { # name
    case $1 in
    frames) echo 60 ;;
    *) echo 5000 ;;
    esac
}

fuzz() { # name
    local name=$1 found=$build/fuzz/$1 log=$build/fuzz/$1.log dictionary=() report limit=(-max_total_time="$seconds")
    if [ "$seconds" = few ]; then
        found=$scratch/$name
        limit=(-seed=1 -runs="$(few "$name")")
    fi
    mkdir -p "$found"
    [ ! -f "$tests/$name.dict" ] || dictionary=("-dict=$tests/$name.dict")
    if "$dir/tests/extra/fuzz/$name" "${limit[@]}" -timeout=100 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$kept/$name-" "${dictionary[@]}" "$found" "$tests/seeds/$name" > /dev/null 2> "$log"; then
        report=$(awk '/number_of_executed_units/ { print $2 }' "$log")
        echo "PASS    fuzz $name, $report inputs"
    else
        report=$(grep -v '^#[0-9]' "$log" | tail -n 50)
        printf '%s\n' "FAIL    fuzz $name" "$report" \
            "To repeat it: $dir/tests/extra/fuzz/$name $kept/$name-..."
    fi
}

"$scripts/deps.sh" fuzz || {
    echo "SKIPPED fuzz: no libFuzzer here"
    exit
}
if ! dir=$(PROFILE=fuzz "$scripts/build.sh"); then
    echo "FAIL    fuzz build"
    exit 1
fi
mkdir -p "$kept" "$build/fuzz"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
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
