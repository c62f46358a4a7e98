#!/usr/bin/env bash
# Tests the scripts, then builds and tests the filters on every supported series,
# or only on FFMPEG_VERSION or FFMPEG_SRC. The last line counts.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

passed=0 failed=0 skipped=0

pass() { # name
    passed=$((passed + 1))
    echo "PASS    $1"
}

fail() { # name [why]
    failed=$((failed + 1))
    echo "FAIL    $1"
    [ -z "${2:-}" ] || printf '%s\n' "$2"
}

skip() { # name reason
    skipped=$((skipped + 1))
    echo "SKIPPED $1: $2"
}

expect() { # name command...
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then pass "$name"; else fail "$name" "$output"; fi
}

# Taking the overlay out must leave nothing, and a refusal must change nothing.
round_trip() { # src
    local copy=$build/check/ffmpeg report
    copy_tree() {
        rm -rf "$build/check"
        mkdir -p "$copy"
        tar -C "$1" --exclude=.git -cf - . | tar -C "$copy" -xf -
    }
    overlay() {
        make -s -C "$root" "$1" FFMPEG_SRC="$copy"
    }
    unchanged() {
        diff -rq --exclude=.git "$1" "$copy"
    }
    copy_tree "$1"
    overlay apply && grep -q bliinds "$copy/libavfilter/allfilters.c" || return
    echo "/* edited */" >> "$copy/libavfilter/vf_bliinds.c"
    ! overlay unapply || return
    sed -i '$d' "$copy/libavfilter/vf_bliinds.c"
    overlay unapply && unchanged "$1" || return
    sed -i '/ff_vf_blend/d' "$copy/libavfilter/allfilters.c"
    ! report=$(overlay apply 2>&1) || return
    grep -q 'allfilters.c' <<< "$report" && grep -qi 'hunk' <<< "$report" &&
        grep -q 'supported releases' <<< "$report" || return
    cp "$1/libavfilter/allfilters.c" "$copy/libavfilter/"
    unchanged "$1"
    rm -rf "$build/check"
}

# A build with nothing changed compiles nothing, and an edited file only itself.
rebuild() { # dir
    "$scripts/build.sh" > /dev/null || return
    ! grep -P '^[A-Z0-9]+\t' "$1/make.log" || return
    [ "$(make -C "$1" -n -W src/libavfilter/vf_bliinds.c | grep -c '^printf "CC')" = 1 ]
}

# FATE's own reports tell how its tests went; a test that could not run, or not all of
# it, says so in a file beside them.
fate() { # series dir
    local series=$1 reports=$2/tests/data/fate report name status difference messages what why
    local before=$failed whole
    rm -rf "$reports"
    run_fate() {
        make -C "$1" --no-print-directory -k -j"$(nproc)" "fate-quality${first_tested:+-series}" 9>&- || echo "make: a test failed, or could not be built"
    }
    logged "FATE on $series" "$2/fate.log" run_fate "$2"
    for report in "$reports"/*.rep; do
        [ -f "$report" ] || continue
        IFS=: read -r name status difference messages < "$report" || true
        whole=1
        while IFS=: read -r what why; do
            skip "$series $what" "${why# }"
            [ "$what" != "$name" ] || whole=
        done < <(cat "$reports/$name.skipped" 2> /dev/null)
        if [ "$status" != 0 ]; then
            fail "$series $name" "$(base64 -d <<< "${difference:-$messages}" | tail -n 50)"
        elif [ "$whole" ]; then
            pass "$series $name"
        fi
    done
    [ -f "${report:-}" ] || fail "$series fate-quality" "no test has run"
    if tail -n 1 "$2/fate.log" | grep -q '^make:' && [ $failed = $before ]; then
        fail "$series fate-quality" "$(tail -n 25 "$2/fate.log")"
    fi
}

# promtool alone of its package, which would start a server.
get_promtool() {
    local dir=$build/promtool
    command -v promtool > /dev/null || {
        [ -x "$dir/usr/bin/promtool" ] || {
            mkdir -p "$dir"
            (cd "$dir" && apt-get -q download prometheus && dpkg -x prometheus_*.deb .) > "$dir/log" 2>&1 || true
        }
        PATH=$PATH:$dir/usr/bin
    }
}

# The fuzzers do not depend on the series either. A change is not to fail by what was there
# before it: the inputs are the same each time, and make fuzz looks for others.
fuzz() {
    local output
    output=$("$scripts/fuzz.sh" 60 1 2> "$build/fuzz.log") || grep -q '^FAIL ' <<< "$output" ||
        output="FAIL    fuzz"$'\n'$(tail -n 25 "$build/fuzz.log")
    echo "$output"
    passed=$((passed + $(grep -c '^PASS ' <<< "$output" || true)))
    failed=$((failed + $(grep -c '^FAIL ' <<< "$output" || true)))
    skipped=$((skipped + $(grep -c '^SKIPPED ' <<< "$output" || true)))
}

# What make model needs beside FFmpeg: the first build that is tested does for it.
model() { # dir
    local output line
    if ! python3 -c 'import numpy, scipy' 2> /dev/null &&
       ! /usr/bin/python3 -c 'import numpy, scipy' 2> /dev/null; then
        skip "make model" "no Python with numpy and scipy"
    elif output=$("$root/tests/model.sh" "$1/ffmpeg" 2> "$build/model.log"); then
        while read -r line; do
            case $line in
            "SKIPPED "*) line=${line#* }; skip "${line%%: *}" "${line#*: }" ;;
            *)           pass "$line" ;;
            esac
        done <<< "$output"
    else
        fail "make model" "$output"$'\n'"$(tail -n 25 "$build/model.log")"
    fi
}

# Whether the tests see what is broken: of the first build that is tested, too.
broken() { # dir
    local what verdict name
    for what in dead mutants; do
        while read -r verdict name; do
            case $verdict in
            PASS)    pass "$name" ;;
            SKIPPED) skip "${name%%: *}" "${name#*: }" ;;
            *)       fail "$name" "$(tail -n 25 "$build/$what.log")" ;;
            esac
        done < <("$root/tests/broken.sh" $what "$1" 2> "$build/$what.log" || echo "FAIL tests/broken.sh $what")
    done
}

lock
"$scripts/deps.sh" build check model
get_promtool
if [ "${FFMPEG_SRC:-}" ]; then
    versions=your-tree
else
    versions=${FFMPEG_VERSION:-$(all_series)}
fi

if command -v shellcheck > /dev/null; then
    expect "shellcheck" shellcheck -x "$scripts"/*.sh "$root"/tests/{broken,gpu,gpu-exact,gpu-faults,model,scripts,slurm}.sh "$root"/bench/*.sh "$root/tools/farm/task" "$root/.ci/run"
else
    skip "shellcheck" "not installed"
fi
expect "scripts" "$root/tests/scripts.sh"
for version in $versions; do
    [ "${FFMPEG_SRC:-}" ] || export FFMPEG_VERSION=$version
    src=$("$scripts/fetch.sh" ffmpeg) || { skip "$version" "its source cannot be had"; continue; }
    say "testing on $src"
    expect "$version apply and unapply" round_trip "$src"
    if ! dir=$("$scripts/build.sh"); then
        fail "$version build"
        continue
    fi
    pass "$version build"
    expect "$version rebuild" rebuild "$dir"
    fate "$version" "$dir"
    [ "${first_tested:-}" ] || { model "$dir"; fuzz; broken "$dir"; first_tested=1; }
    expect "$version source untouched" \
        test -z "$(find "$src" -newer "$dir/.configured" ! -path '*/.git/*' -print -quit)"
done

[ $passed -gt 0 ] || failed=$((failed + 1))
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
