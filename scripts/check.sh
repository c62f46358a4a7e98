#!/usr/bin/env bash
# Tests the scripts, then builds FFmpeg 9.0, or FFMPEG_VERSION or FFMPEG_SRC, and runs its FATE
# tests. `check.sh all` does what takes long, too: the other releases, the series, training, Slurm,
# faults, fuzzers (which have the sanitizers), mutants, Windows, packages. The last line counts.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"
# Each test says a line "PASS    name", "FAIL    name" or "SKIPPED name: reason", which are counted.
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"

# A script that says such lines itself; what it says on stderr is shown where it fails.
script() { # name command...
    local log=$build/$1.log output
    output=$("${@:2}" 2> "$log") || grep -q '^FAIL' <<< "$output" || output+=$'\n'"FAIL    $1"
    echo "$output"
    ! grep -q '^FAIL' <<< "$output" || tail -n 25 "$log"
}

# Taking the overlay out must leave nothing, and a refusal must change nothing.
# shellcheck disable=SC2317
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

# A build with nothing changed keeps its tree and compiles nothing, also after a configure that failed;
# an edited file compiles only itself.
rebuild() { # dir
    local tree
    tree=$(stat -Lc %z "$1/src")
    ! FFMPEG_CONFIGURE=--cc=false "$scripts/build.sh" || return
    "$scripts/build.sh" > /dev/null && [ "$(stat -Lc %z "$1/src")" = "$tree" ] || return
    ! grep -P '^[A-Z0-9]+\t' "$1/make.log" || return
    [ "$(make -C "$1" -n -W src/libavfilter/vf_bliinds.c | grep -c '^printf "CC')" = 1 ]
}

# A compiler that would change digits is refused, with the reason.
refuses() ( # dir
    mkdir -p "$1/refused" && cd "$1/refused" || return
    cat > no-contract.sh << 'END'
#!/bin/sh
case "$*" in *-ffp-contract=off*) exit 1;; esac
exec cc "$@"
END
    chmod +x no-contract.sh
    for option in --extra-cflags=-ffast-math "--cc=$PWD/no-contract.sh"; do
        ! "$1/src/configure" --disable-everything --disable-programs --disable-doc --disable-asm \
            --disable-autodetect --enable-filter=bliinds "$option" > configure.log || return
        grep '^bliinds, .*mad and vmaf need' configure.log || return
    done
)

# FATE's own reports tell how its tests went. One that has none was not built; one that could not
# run, or not all of it, says so in a file beside its report. Where there is no GPU, kernels run on
# the CPU.
fate() { # series dir target
    local series=$1 dir=$2 reports=$2/tests/data/fate name tests
    local status difference messages what why whole
    rm -rf "$reports"
    # one more than there are processors: some tests wait
    # shellcheck disable=SC2317
    run_fate() {
        make -C "$1" --no-print-directory -k -j$(($(nproc) + 1)) EXTRA=yes "$2" 9>&- || true
    }
    logged "FATE on $series" "$dir/fate.log" run_fate "$dir" "$3"
    tests=$(make -s -C "$dir" EXTRA=yes "$3-list")
    for name in ${tests:-$3}; do
        if [ ! -f "$reports/$name.rep" ]; then
            fail "$series $name: it could not be built or run, see $dir/fate.log"
            continue
        fi
        IFS=: read -r _ status difference messages < "$reports/$name.rep" || true
        whole=1
        while IFS=: read -r what why; do
            skip "$series $what" "${why# }"
            [ "$what" != "$name" ] || whole=
        done < <(cat "$reports/$name.skipped" 2> /dev/null)
        if [ "$status" != 0 ]; then
            fail "$series $name"
            base64 -d <<< "${difference:-$messages}" | tail -n 50
        elif [ "$whole" ]; then
            pass "$series $name$([ ! -e "$reports/$name.on_cpu" ] ||
                echo ", without a GPU: kernels on the CPU")"
        fi
    done
}

tests() {
    local version src dir others=
    if command -v shellcheck > /dev/null; then
        check "shellcheck" shellcheck -x scripts/*.sh tests/{,filters/,extra/}*.sh bench/*.sh \
            packaging/debian/pack.sh .ci/run
    else
        skip "shellcheck" "not installed"
    fi
    script scripts tests/scripts.sh
    for version in $versions; do
        [ "${FFMPEG_SRC:-}" ] || export FFMPEG_VERSION=$version
        src=$("$scripts/fetch.sh" ffmpeg) || { fail "$version: no source of FFmpeg"; continue; }
        say "testing on $src"
        dir=$("$scripts/build.sh") || { fail "$version build"; continue; }
        pass "$version build"
        check "$version apply and unapply" round_trip "$src"
        [ ! "$all" ] || check "$version series" "$scripts/series.sh"
        if [ "$others" ]; then
            # what depends on the release
            fate "$version" "$dir" fate-quality-series
        else
            check "$version rebuild" rebuild "$dir"
            check "$version configure refuses" refuses "$dir"
            fate "$version" "$dir" fate-quality
            if [ "$all" ]; then
                fate "$version" "$dir" fate-faults
                script model tests/model.sh "$dir/ffmpeg"
                script slurm tests/extra/slurm.sh "$dir/ffmpeg"
                script fuzz "$scripts/fuzz.sh" few
                script dead tests/extra/broken.sh dead "$dir"
                script mutants tests/extra/broken.sh mutants "$dir"
            fi
        fi
        check "$version source untouched" \
            test -z "$(find "$src" -newer "$dir/.configured" ! -path '*/.git/*' -print -quit)"
        others=1
    done
    [ "$all" ] || return 0
    # what follows is made of the first release
    [ "${FFMPEG_SRC:-}" ] || FFMPEG_VERSION=${versions%%$'\n'*}
    if "$scripts/deps.sh" mingw; then
        script mingw "$scripts/mingw.sh"
    else
        skip "Windows" "no mingw-w64"
    fi
    if ! "$scripts/deps.sh" package bare; then
        skip "packages" "what packs them cannot be installed"
    elif "$scripts/package.sh" && "$scripts/package.sh" deb; then
        version=$(cat VERSION)
        # shellcheck disable=SC2086
        script packages tests/package.sh \
            results/packages/*[-_]${version/-/?}[-_]{x86_64-linux-*.tar.gz,*.deb}
    else
        fail "packages cannot be made"
    fi
}

lock
mkdir -p "$build"
cd "$root"
all=${1:-}
given=${FFMPEG_SRC:-}${FFMPEG_VERSION:-}
"$scripts/deps.sh" build check ${all:+model}
versions=${FFMPEG_VERSION:-$(all_series)}
[ "$all" ] || versions=$(sed -n 1p <<< "$versions")
[ ! "${FFMPEG_SRC:-}" ] || versions=your-tree

results=$build/check.results
tests | tee "$results"
passed=$(grep -c '^PASS ' "$results") || true
failed=$(grep -c '^FAIL ' "$results") || true
grep '^FAIL ' "$results" || true
sed -n 's/^SKIPPED [^:]*: //p' "$results" | sort | uniq -c | sort -rn |
    sed -E 's/^ *([0-9]+) /\1 skipped: /'
echo "$passed passed, $((failed + (passed == 0))) failed," \
    "$(grep -c '^SKIPPED ' "$results" || true) skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ] || exit 1
# for make release: the commit that all has passed on
[ "$all" != all ] || [ "$given$(own_git status --porcelain 2>&1)" ] ||
    own_git rev-parse HEAD > "$build/check.passed"
