#!/usr/bin/env bash
# Tests the scripts, then builds FFmpeg 9.0, or FFMPEG_VERSION or FFMPEG_SRC, and runs its FATE tests.
# `check.sh all` does what takes long, too: the other releases, the series, training, fuzzers and mutants.
# The last line counts.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

results=$build/check.results

# Each test says a line "PASS    name", "FAIL    name" or "SKIPPED name: reason", which are counted.
told() {
    tee -a "$results"
}

expect() { # name command...
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then echo "PASS    $name"; else printf 'FAIL    %s\n%s\n' "$name" "$output"; fi
}

# A script that says such lines itself; what it says on stderr is shown where it fails.
script() { # name command...
    local name=$1 log=$build/$1.log output
    shift
    output=$("$@" 2> "$log") || grep -q '^FAIL' <<< "$output" || output+=$'\n'"FAIL    $name"
    echo "$output"
    ! grep -q '^FAIL' <<< "$output" || tail -n 25 "$log"
}

# Taking the overlay out must leave nothing, and a refusal must change nothing.
round_trip() { # src
    local copy=$build/check/ffmpeg report
    overlay() {
        make -s -C "$root" "$1" FFMPEG_SRC="$copy"
    }
    unchanged() {
        diff -rq --exclude=.git "$1" "$copy"
    }
    rm -rf "$build/check"
    mkdir -p "$copy"
    tar -C "$1" --exclude=.git -cf - . | tar -C "$copy" -xf -
    overlay apply && grep -q bliinds "$copy/libavfilter/allfilters.c" || return
    echo "/* edited */" >> "$copy/libavfilter/vf_bliinds.c"
    ! overlay unapply || return
    sed -i '$d' "$copy/libavfilter/vf_bliinds.c"
    overlay unapply && unchanged "$1" || return
    sed -i '/ret = fgt->graph ? read_frames/d' "$copy/fftools/ffmpeg_filter.c"
    ! report=$(overlay apply 2>&1) || return
    grep -q 'ffmpeg_filter.c: patch does not apply' <<< "$report" &&
        grep -q 'supported releases' <<< "$report" || return
    cp "$1/fftools/ffmpeg_filter.c" "$copy/fftools/"
    unchanged "$1" || return
    rm -rf "$build/check"
}

# A build with nothing changed compiles nothing, and an edited file only itself.
rebuild() { # dir
    "$scripts/build.sh" > /dev/null || return
    ! grep -P '^[A-Z0-9]+\t' "$1/make.log" || return
    [ "$(make -C "$1" -n -W src/libavfilter/vf_bliinds.c | grep -c '^printf "CC')" = 1 ]
}

# A compiler that would change digits is refused, with the reason.
refuses() { # dir
    local folder=$1/refused compiler=$1/refused/no-contract.sh
    mkdir -p "$folder" && cd "$folder" || return
    printf '#!/bin/sh\ncase "$*" in *-ffp-contract=off*) exit 1;; esac\nexec cc "$@"\n' > "$compiler"
    chmod +x "$compiler"
    for option in --extra-cflags=-ffast-math "--cc=$compiler"; do
        ! "$1/src/configure" --disable-everything --disable-programs --disable-doc --disable-autodetect \
            --disable-asm --enable-filter=bliinds "$option" > configure.log || return
        grep '^bliinds, detailloss, mad and vmaf need' configure.log || return
    done
}

# FATE's own reports tell how its tests went. One that has none was not built; one that could not run,
# or not all of it, says so in a file beside its report.
fate() { # series dir target
    local series=$1 dir=$2 reports=$2/tests/data/fate name status difference messages what why whole tests
    rm -rf "$reports"
    # one more than there are processors: some tests wait
    # shellcheck disable=SC2317
    run_fate() {
        make -C "$1" --no-print-directory -k -j$(($(nproc) + 1)) ${all:+EXTRA=yes} "$2" 9>&- || true
    }
    logged "FATE on $series" "$dir/fate.log" run_fate "$dir" "$3"
    tests=$(make -s -C "$dir" ${all:+EXTRA=yes} "$3-list")
    for name in ${tests:-$3}; do
        if [ ! -f "$reports/$name.rep" ]; then
            echo "FAIL    $series $name: it could not be built or run, see $dir/fate.log"
            continue
        fi
        IFS=: read -r _ status difference messages < "$reports/$name.rep" || true
        whole=1
        while IFS=: read -r what why; do
            echo "SKIPPED $series $what: ${why# }"
            [ "$what" != "$name" ] || whole=
        done < <(cat "$reports/$name.skipped" 2> /dev/null)
        if [ "$status" != 0 ]; then
            echo "FAIL    $series $name"
            base64 -d <<< "${difference:-$messages}" | tail -n 50
        elif [ "$whole" ]; then
            echo "PASS    $series $name$([ ! -e "$reports/$name.on_cpu" ] || echo ", without a GPU: kernels on the CPU")"
        fi
    done
}

lock
mkdir -p "$build"
: > "$results"
all=${1:-}
given=${FFMPEG_SRC:-}${FFMPEG_VERSION:-}
"$scripts/deps.sh" build check ${all:+model}
versions=${FFMPEG_VERSION:-$(all_series)}
[ "$all" ] || versions=$(sed -n 1p <<< "$versions")
[ ! "${FFMPEG_SRC:-}" ] || versions=your-tree

cd "$root"
if command -v shellcheck > /dev/null; then
    expect "shellcheck" shellcheck -x scripts/*.sh tests/{,filters/,extra/}*.sh \
        packaging/debian/pack.sh bench/*.sh .ci/run
else
    echo "SKIPPED shellcheck: not installed"
fi | told
script scripts tests/scripts.sh | told
for version in $versions; do
    [ "${FFMPEG_SRC:-}" ] || export FFMPEG_VERSION=$version
    src=$("$scripts/fetch.sh" ffmpeg) || { echo "FAIL    $version: no source of FFmpeg" | told; continue; }
    say "testing on $src"
    if ! dir=$(PROFILE=${first_tested:+small} "$scripts/build.sh"); then
        echo "FAIL    $version build" | told
        continue
    fi
    {
        echo "PASS    $version build"
        expect "$version apply and unapply" round_trip "$src"
        [ ! "$all" ] || expect "$version series" "$scripts/series.sh"
        if [ "${first_tested:-}" ]; then
            # what depends on the release
            fate "$version" "$dir" fate-quality-series
        else
            expect "$version rebuild" rebuild "$dir"
            expect "$version configure refuses" refuses "$dir"
            fate "$version" "$dir" fate-quality
            if [ "$all" ]; then
                fate "$version" "$dir" fate-faults
                script model tests/model.sh "$dir/ffmpeg"
                script fuzz "$scripts/fuzz.sh" few
                script dead tests/broken.sh dead "$dir"
                script mutants tests/broken.sh mutants "$dir"
            fi
        fi
        expect "$version source untouched" \
            test -z "$(find "$src" -newer "$dir/.configured" ! -path '*/.git/*' -print -quit)"
    } | told
    first_tested=1
done

passed=$(grep -c '^PASS ' "$results") || true
failed=$(grep -c '^FAIL ' "$results") || true
grep '^FAIL ' "$results" || true
sed -n 's/^SKIPPED [^:]*: //p' "$results" | sort | uniq -c | sort -rn | awk '{ n = $1; sub(/^ *[0-9]+ /, ""); print n " skipped: " $0 }'
echo "$passed passed, $((failed + (passed == 0))) failed, $(grep -c '^SKIPPED ' "$results" || true) skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ] || exit 1
# for make release: the commit that all has passed on
[ "$all" != all ] || [ "$given$(git status --porcelain 2>&1)" ] || git rev-parse HEAD > "$build/check.passed"
