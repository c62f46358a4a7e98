#!/usr/bin/env bash
# Tests what make does around a build, without one: what is installed, the lock, and what models
# are made of. Prints a line for each test.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2016
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
for tool in awk bash cat cut dirname echo env flock grep kill mkdir printf readlink sed sleep sort tail touch tr xargs; do
    ln -s "$(type -P $tool)" "$tmp/bin/$tool"
done

program() { # name; its text is read from stdin
    { echo '#!/bin/bash'; cat; } > "$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

# What apt and dpkg have is told by the test.
export ID INSTALLED OFFERED BROKEN ASKED=$tmp/asked
program id <<< 'echo $ID'
program dpkg-query <<< 'printf "installed %s\n" $INSTALLED'
program apt-cache << 'END2'
case $1 in
search) printf '%s - a package\n' $OFFERED ;;
policy) found=1.0; [[ " $OFFERED " = *" $2 "* ]] || found='(none)'; echo "Candidate: $found" ;;
esac
END2
program apt-get << 'END2'
while [ $# -gt 0 ] && [ "$1" != install ]; do shift; done
[ $# -gt 0 ] || exit 0
shift 2
echo "$*" > "$ASKED"
for name; do [[ " $BROKEN " != *" $name "* ]] || { echo "E: $name"; exit 100; }; done
END2

# deps.sh build where these packages are installed and offered, and some cannot be installed: what
# it asks for last, and says.
needed="gcc libc6-dev make nasm git pkgconf xz-utils zlib1g-dev"
has="$needed libx264-dev libx265-dev libsvtav1enc-dev libdav1d-dev"
offers="clang clang-9 clang-14 clang-19 clang-tools-19 $has"
while IFS='|' read -r name ID INSTALLED OFFERED BROKEN asked text; do
    : > "$ASKED"
    rm -rf "$tmp/checkout/build"
    PATH=$tmp/bin "$tmp/checkout/scripts/deps.sh" build > "$tmp/out" 2>&1 < /dev/null
    echo "status $?" >> "$tmp/out"
    [ "$(cat "$ASKED")" = "$asked" ] && said "$text"
    was "$name"
done << END
the newest clang comes beside an older one|0|$has clang clang-14|$offers||clang-19|status 0
the newest clang is not asked for again|0|$has clang-14 clang-19|$offers|||status 0
an older system has an older one|0|$has|$has clang-11 clang-9||clang-11|status 0
what is installed may be newer|0|$has clang-21|$offers|||status 0
without root the older one does|1000|$has clang-14|$offers|||without clang-19 (no root
without root and without any it fails|1000|$has|$offers|||packages are missing
where the newest does not come as well|0|$has clang-14|$offers|clang-19|clang-19|without clang-19 (it cannot
where the only one cannot be installed it fails|0|$has|$offers|clang-19|clang-19|status 1
what is needed comes without what is not|0|${has#"$needed "} clang-19|$offers||$needed|status 0
what none offers stays out|0|${has/libx265-dev/} clang-14|${offers/libx265-dev/}||clang-19|status 0
and what fails|0|clang-19 libx264-dev|$offers|libx265-dev|$needed|going on without libx265-dev
END

program dpkg-query <<< 'exit 1'
PATH=$tmp/bin "$tmp/checkout/scripts/deps.sh" build > "$tmp/out" 2>&1
was "what is installed is not looked up twice"
touch "$tmp/checkout/scripts/deps.sh"
! PATH=$tmp/bin "$tmp/checkout/scripts/deps.sh" build > "$tmp/out" 2>&1
was "but is when the list of packages has changed"

# Which clang a build takes.
clangs=$(sed -n '/^clangs()/,/^}/p' "$root/scripts/build.sh")
while read -r taken programs; do
    for name in $programs; do program "$name" < /dev/null; done
    [ "$(PATH=$tmp/bin bash -c "$clangs; clangs | sed 's,.*/,,;q'" 2>&1)" = "${taken#none}" ]
    was "of clangs a build takes $taken"
    rm -f "$tmp"/bin/clang*
done << END
clang-19 clang-9 clang-19 clang-14 clang
clang clang
none
END

# The tree of links is made again only if it would differ, and only changed files in it are newer.
src=$tmp/ffmpeg checkout=$tmp/checkout farm=$tmp/farm
mkdir -p "$src"/{libavfilter,other} "$checkout"/{configure-patch,doc,libavcodec,libavfilter,models,tests,tools}
echo 0.0.0 > "$checkout/VERSION"
for file in patched steady; do
    printf '%s\n' text end tail > "$src/other/$file"
    printf '%s\n' "--- a/other/$file" "+++ b/other/$file" '@@ -1,2 +1,3 @@' ' text' '+more' ' end' \
        > "$checkout/configure-patch/$file.patch"
done
state() {
    stat -c "tree %z" "$farm"
    stat -c "%n %y" "$farm"/other/*
}
while IFS='|' read -r name changes command; do
    state > "$tmp/before" 2> /dev/null
    (cd "$tmp" && eval "$command")
    "$checkout/scripts/overlay.sh" tree "$src" "$farm" > "$tmp/out" 2>&1
    state >> "$tmp/out"
    [ "$(tail -n 3 "$tmp/out" | diff "$tmp/before" - | sed -n 's,^> \([^ ]*/\)*\([^ ]*\) .*,\2,p' | xargs)" = "$changes" ] &&
        [ "$(cd "$farm/libavfilter" && echo *)" = "$(cd "$checkout/libavfilter" && echo *) Makefile.snippet" ]
    was "the tree of links after $name"
done << END
nothing was there|tree patched steady|touch checkout/libavfilter/1.c
nothing has changed||
an edit of our file||echo edited > checkout/libavfilter/1.c
a new file of ours|tree|touch checkout/libavfilter/2.c
a new file of FFmpeg|tree|touch ffmpeg/other.c
an edit of a file that is patched|tree patched|echo edited >> ffmpeg/other/patched
an edit of a patch|tree patched|sed -i s/more/less/ checkout/configure-patch/patched.patch
a patch that only got another time||touch checkout/configure-patch/*
an edit that the patch does not fit||sed -i s/text/other/ ffmpeg/other/patched
END

# make run without a build: it takes any file name, and writes the files that the README lists.
dir=$tmp/built
mkdir -p "$dir/ffbuild"
: > "$dir/ffbuild/config.mak"
program python3 < /dev/null
program deps.sh < /dev/null
program build.sh <<< "echo '$dir'"
program quality-report <<< 'touch report.html'
program ffmpeg <<< 'touch frames.log report.json'
ln -s "$tmp/bin/ffmpeg" "$dir"
cp "$tmp/bin"/{build,deps}.sh "$checkout/scripts"
cp "$tmp/bin/quality-report" "$checkout/tools"
for name in -x.mp4 'a$b c".mp4'; do
    : > "$checkout/$name"
    PATH=$tmp/bin:$PATH make -s -C "$checkout" run VIDEO="$name" > "$tmp/out" 2>&1
    said "results/$name: $(sed -n 's,^ *==> in results/Megamind.avi: ,,p' "$root/README.md")"
    was "make run VIDEO='$name'"
done
printf '%%:\n\t@echo $@ to $(prefix)\n' > "$dir/Makefile"
cp "$root/scripts/install.sh" "$checkout/scripts"
PATH=$tmp/bin:$PATH make -s -C "$checkout" install PREFIX=/nowhere > "$tmp/out" 2>&1 && grep ' to ' "$dir/install.log" | diff - /dev/fd/3 >> "$tmp/out" 3<< 'END'
install-progs to /nowhere
install-man to /nowhere
install-quality to /nowhere
END
was "make install installs programs, tools and manual pages"

# make package packs the files that git tracks, also in a checkout of another user; without .git, all files.
program fetch.sh <<< "echo '$src'"
cp "$tmp/bin/fetch.sh" "$root/scripts/package.sh" "$checkout/scripts"
: > "$checkout/untracked"
packed() {
    rm -rf "$checkout/results"
    LICENCES=' ' "$checkout/scripts/package.sh" > "$tmp/out" 2>&1
    tar -tzf "$checkout/results/packages/"*0-sources.tar.gz |
        sed -nE 's,.*/project/(VERSION|untracked|(build|results)/.+)$,\1,p' | xargs
}
[ "$(packed)" = "VERSION untracked" ]
was "make package without .git"
if type -P git > /dev/null; then
    git -C "$checkout" init -q && git -C "$checkout" add VERSION
    [ "$(id -u)" != 0 ] || chown -R 4242 "$checkout"
    [ "$(packed)" = VERSION ]
    was "make package of a checkout of another user"
fi
rm "$tmp"/bin/{python3,*.sh,quality-report,ffmpeg}

# Before a release, VERSION is the number of the coming one with -dev behind it.
top=$(sed -n 's/^## //p' "$root/CHANGELOG.md" | sed q)
case $top in
*"not released yet") [ "$(cat "$root/VERSION")" = "${top%% *}-dev" ] ;;
*) [ "$(cat "$root/VERSION")" = "${top%% *}" ] ;;
esac
was "VERSION is that of the change log"

# What make release says of a checkout with this version, top of CHANGELOG.md, and another command.
while IFS='|' read -r name version top command text; do
    type -P git > /dev/null || { skip "a release: $name" "no git"; continue; }
    checkout=$tmp/released
    rm -rf "$checkout"
    mkdir -p "$checkout"/{build,scripts}
    cp "$root"/scripts/{check,common,release}.sh "$checkout/scripts"
    printf '#!/bin/sh\necho checked; exit 1\n' > "$checkout/scripts/check.sh"
    echo "$version" > "$checkout/VERSION"
    printf '# Changes\n\n## %s\n\n## 0.9.0 - 2020-01-01\n' "$top" > "$checkout/CHANGELOG.md"
    (cd "$checkout" && git init -q && echo build > .git/info/exclude && git add -A &&
        git -c user.name=n -c user.email=e commit -q -m all && eval "$command")
    ! "$checkout/scripts/release.sh" > "$tmp/out" 2>&1 && said "$text"
    was "a release: $name"
done << 'END'
it has a whole version|1.2|1.2 - 2026-01-01||VERSION has "1.2"
it has a section of the change log|1.2.3|1.2.2 - 2026-01-01||CHANGELOG.md begins with "1.2.2 - 20
which has a date|1.2.3|1.2.3||CHANGELOG.md begins with "1.2.3"
it is of a clean tree|1.2.3|1.2.3 - 2026-01-01|echo >> VERSION|the tree is not clean
it is a new one|1.2.3|1.2.3 - 2026-01-01|git tag v1.2.3|there is a tag v1.2.3 already
it has passed make check-all|1.2.3|1.2.3 - 2026-01-01||make check-all failed
which is not run again|1.2.3|1.2.3 - 2026-01-01|git rev-parse HEAD > build/check.passed|has passed
END

# Tests of nothing are no success: make check where FFmpeg's source cannot be had.
checkout=$tmp/unsourced
mkdir -p "$checkout"/{scripts,tests}
cp "$root"/scripts/{check,common,deps,fetch}.sh "$checkout/scripts"
cp "$root"/tests/{common,scripts}.sh "$checkout/tests"
for name in scripts/deps.sh scripts/fetch.sh tests/scripts.sh; do
    printf '#!/bin/sh\necho "PASS    all"\n[ "${0##*/}" != fetch.sh ]\n' > "$checkout/$name"
done
! env -u FFMPEG_SRC -u FFMPEG_VERSION "$checkout/scripts/check.sh" > "$tmp/out" 2>&1 &&
    said "FAIL    9.0: no source of FFmpeg" && ! said "8.1"
was "make check fails without FFmpeg's source"

# Steps of two makes: each says when it begins and ends, and calls another step.
program step << END2
. '$tmp/checkout/scripts/common.sh'
lock
echo "begins \$1"
[ "\$2" = ends ] || step "\$1, inside" ends
[ "\$2" != waits ] || timeout 60 sh -c 'until grep -q waiting "$tmp/out"; do sleep 0.05; done'
[ "\$2" != hangs ] || exec sleep 60
echo "ends \$1"
END2
ln -s "$(type -P timeout)" "$(type -P sh)" "$tmp/bin"
begin() { # what text-to-wait-for
    : > "$tmp/out"
    PATH=$tmp/bin step 1 "$1" >> "$tmp/out" 2>&1 &
    timeout 60 bash -c "until grep -q '$2' '$tmp/out'; do sleep 0.05; done"
}

begin waits begins
PATH=$tmp/bin step 2 goes >> "$tmp/out" 2>&1
wait
[ "$(grep -v '^==>' "$tmp/out" | paste -sd ' ' | sed 's/, inside/b/g')" = \
    "begins 1 begins 1b ends 1b ends 1 begins 2 begins 2b ends 2b ends 2" ] &&
    said "another make works in $tmp/checkout: waiting for its end"
was "of two makes the second waits, and says so"

begin hangs "ends 1, inside"
kill -9 $!
wait $! 2> /dev/null
PATH=$tmp/bin timeout 60 step 2 ends > "$tmp/out" 2>&1
[ "$(paste -sd ' ' "$tmp/out")" = "begins 2 ends 2" ]
was "one that was killed leaves no lock"

# The split is what it was when the models were made; no two encodes of a shot have one name.
PYTHONPATH=$root/tools/train /usr/bin/python3 -B -c '
import contents, encodes, zlib
held = sorted({shot.group for shot in contents.contents() if shot.held})
assert len(held) == 99 and zlib.crc32(" ".join(held).encode()) == 0x28dd9ac2, held
for index in range(12):
    for size in (640, 360), (360, 640), (400, 200), (3840, 2160):
        for families in encodes.FAMILIES, encodes.LOSS:
            names = [job.name for job in encodes.encodes(index, size, families)]
            assert names and len(names) == len(set(names)), names' > "$tmp/out" 2>&1
was "the lists of contents and of encodes"
[ $failed = 0 ]
