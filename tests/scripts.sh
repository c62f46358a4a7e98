#!/usr/bin/env bash
# Tests what make does around a build, without one: what is installed, and the lock. Prints
# a line for each test.
# SPDX-License-Identifier: LGPL-2.1-or-later
set -u

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"

was() { # what; after what is to be true
    # shellcheck disable=SC2319
    if [ $? = 0 ]; then pass "$1"; else fail "$1" "$tmp/out"; fi
}

said() { # text
    grep -qF -- "$1" "$tmp/out"
}

# A checkout of its own, and a system of which only what is here can be run.
mkdir -p "$tmp/checkout" "$tmp/bin"
cp -r "$root/scripts" "$root/Makefile" "$root/Makefile.snippet" "$tmp/checkout"
for tool in awk bash cat cut dirname echo env flock grep kill mkdir printf readlink sed sleep sort tail tr xargs; do
    ln -s "$(type -P $tool)" "$tmp/bin/$tool"
done

program() { # name; its text is read from stdin
    { echo '#!/bin/bash'; cat; } > "$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

program id <<< "cat '$tmp/id'"
program dpkg-query <<< "sed 's/^/installed /' '$tmp/installed'"
program apt-cache << END2
case \$1 in
pkgnames) cat '$tmp/offered' ;;
policy)   if grep -qx "\$2" '$tmp/offered'; then echo 'Candidate: 1.0'; else echo 'Candidate: (none)'; fi ;;
esac
END2
program apt-get << END2
while [ \$# -gt 0 ] && [ "\$1" != install ]; do shift; done
[ \$# -gt 0 ] || exit 0
shift 2
echo "\$*" >> '$tmp/asked'
for name; do ! grep -qx "\$name" '$tmp/broken' || { echo "E: \$name"; exit 100; }; done
END2

# Runs deps.sh build where these packages are installed and offered, and some cannot be installed.
needed="gcc libc6-dev make nasm git pkgconf xz-utils zlib1g-dev"
others="libx264-dev libx265-dev libsvtav1enc-dev libdav1d-dev"
deps() { # user installed offered [broken]
    echo "$1" > "$tmp/id"
    # shellcheck disable=SC2086
    printf '%s\n' $2 > "$tmp/installed"
    # shellcheck disable=SC2086
    printf '%s\n' $3 > "$tmp/offered"
    echo "${4:-}" > "$tmp/broken"
    : > "$tmp/asked"
    PATH=$tmp/bin "$tmp/checkout/scripts/deps.sh" build > "$tmp/out" 2>&1
}

asked() { # packages
    [ "$(cat "$tmp/asked")" = "$1" ]
}

has="$needed $others"
offers="clang clang-9 clang-14 clang-19 clang-tools-19 $has"
deps 0 "$has clang clang-14" "$offers" && asked clang-19
was "the newest clang comes beside an older one"
deps 0 "$has clang-14 clang-19" "$offers" && asked ""
was "the newest clang is not asked for again"
deps 0 "$has" "$has clang-11 clang-9" && asked clang-11
was "an older system has an older one"
deps 0 "$has clang-21" "$offers" && asked ""
was "what is installed may be newer"
deps 1000 "$has clang-14" "$offers" && asked "" &&
    said "going on with clang-14, though there is clang-19 (no root, no sudo)"
was "without root the older one does"
! deps 1000 "$has" "$offers" && said "packages are missing"
was "without root and without any it fails"
deps 0 "$has clang-14" "$offers" clang-19 &&
    said "going on with clang-14, though there is clang-19 (it cannot be installed"
was "where the newest cannot be installed the older one does"
! deps 0 "$has" "$offers" clang-19
was "where the only one cannot be installed it fails"
deps 0 "$others clang-19" "$offers" &&
    asked "$needed" && deps 0 "$has clang-14" "${offers/libx265-dev/}" && asked clang-19
was "what is needed is installed without what is not"
deps 0 "clang-19 libx264-dev" "$offers" libx265-dev && said "going on without libx265-dev" &&
    [ "$(tail -n 1 "$tmp/asked")" = "$needed" ]
was "a package that does not come does not keep others away"

# Which clang a build takes.
for version in 9.0.1 14.0.6 19.1.4; do
    program "clang-${version%%.*}" <<< "echo $version"
done
newest() {
    PATH=$tmp/bin bash -c "$(sed -n '/^clangs()/,/^}/p' "$root/scripts/build.sh"); clangs | sed -n 1p" > "$tmp/out" 2>&1
}
program clang <<< "echo 14.0.6"
newest && [ "$(cat "$tmp/out")" = "$tmp/bin/clang-19" ]
was "a build takes the newest clang"
program clang <<< "echo 20.1.0"
newest && [ "$(cat "$tmp/out")" = "$tmp/bin/clang" ]
was "whatever its name is"
rm "$tmp"/bin/clang*
newest && [ ! -s "$tmp/out" ]
was "and none where there is none"

# What make release looks at before it begins: a checkout of which the version is 1.2.3.
released() { # VERSION top-of-CHANGELOG.md; what is said
    local checkout=$tmp/released
    rm -rf "$checkout"
    mkdir -p "$checkout/scripts"
    cp "$root"/scripts/{common,release}.sh "$checkout/scripts"
    printf '#!/bin/sh\necho checked; exit 1\n' > "$checkout/scripts/check.sh"
    chmod +x "$checkout/scripts/check.sh"
    echo "$1" > "$checkout/VERSION"
    printf '# Changes\n\n## %s\n\n## 0.9.0 - 2020-01-01\n' "$2" > "$checkout/CHANGELOG.md"
    touch "$checkout/Makefile"
    git -C "$checkout" init -q
    git -C "$checkout" add -A
    git -C "$checkout" -c user.name=n -c user.email=e commit -q -m all
    [ -z "${3:-}" ] || (cd "$checkout" && eval "$3")
    ! "$checkout/scripts/release.sh" > "$tmp/out" 2>&1
}
if command -v git > /dev/null; then
    released 1.2 '1.2 - 2026-01-01' && said 'VERSION has "1.2"'
    was "a release has a whole version"
    released 1.2.3 '1.2.2 - 2026-01-01' && said 'CHANGELOG.md begins with "1.2.2 - 2026-01-01"'
    was "it has a section of the change log"
    released 1.2.3 '1.2.3' && said 'CHANGELOG.md begins with "1.2.3"'
    was "which has a date"
    released 1.2.3 '1.2.3 - 2026-01-01' 'echo >> VERSION' && said "the tree is not clean"
    was "it is of a clean tree"
    released 1.2.3 '1.2.3 - 2026-01-01' 'git tag v1.2.3' && said "there is a tag v1.2.3 already"
    was "it is a new one"
    released 1.2.3 '1.2.3 - 2026-01-01' && said checked && said "make check-all failed"
    was "it has passed make check-all"
    released 1.2.3 '1.2.3 - 2026-01-01' 'mkdir build; echo build > .git/info/exclude; git rev-parse HEAD > build/check.passed' &&
        said "make check-all has passed on this commit" && ! said checked
    was "which is not run again"
else
    skip "what make release looks at" "no git"
fi

# Tests of nothing are no success: make check where FFmpeg's source cannot be had.
unsourced() {
    local checkout=$tmp/unsourced name
    mkdir -p "$checkout"/{scripts,tests}
    cp "$root"/scripts/{common,check}.sh "$checkout/scripts"
    cp "$root/tests/common.sh" "$checkout/tests"
    touch "$checkout/Makefile"
    for name in scripts/deps.sh scripts/fetch.sh tests/scripts.sh; do
        # shellcheck disable=SC2016
        printf '#!/bin/sh\necho "PASS    all"\n[ "${0##*/}" != fetch.sh ]\n' > "$checkout/$name"
        chmod +x "$checkout/$name"
    done
    ! env -u FFMPEG_SRC -u FFMPEG_VERSION "$checkout/scripts/check.sh" > "$tmp/out" 2>&1 &&
        said "FAIL    9.0: no source of FFmpeg" && ! said "8.1"
}
unsourced
check "make check fails without FFmpeg's source"

# Steps of two makes: each says when it begins and ends, and calls another step.
program step << END2
. '$tmp/checkout/scripts/common.sh'
lock
echo "begins \$1"
[ "\$2" = ends ] || step "\$1, inside" ends
until [ "\$2" != waits ] || grep -q waiting '$tmp/out'; do sleep 0.05; done
[ "\$2" != hangs ] || read -r < '$tmp/fifo'
echo "ends \$1"
END2
await() { # text; a minute
    for _ in {1..1200}; do
        ! said "$1" || return 0
        sleep 0.05
    done
}
two() {
    : > "$tmp/out"
    PATH=$tmp/bin step 1 waits >> "$tmp/out" 2>&1 &
    await begins
    PATH=$tmp/bin step 2 goes >> "$tmp/out" 2>&1
    wait
    [ "$(grep -v '^==>' "$tmp/out" | tr -d '\n')" = \
        "begins 1begins 1, insideends 1, insideends 1begins 2begins 2, insideends 2, insideends 2" ] &&
        said "another make works in $tmp/checkout: waiting for its end"
}
two
was "of two makes the second waits, and says so"

killed() {
    : > "$tmp/out"
    mkfifo "$tmp/fifo"
    PATH=$tmp/bin step 1 hangs >> "$tmp/out" 2>&1 &
    await "ends 1, inside"
    kill -9 $!
    wait $! 2> /dev/null
    PATH=$tmp/bin step 2 ends > "$tmp/out" 2>&1
    [ "$(cat "$tmp/out")" = "begins 2"$'\n'"ends 2" ]
}
killed
was "one that was killed leaves no lock"
[ $failed = 0 ]
