#!/usr/bin/env bash
# Lays this project over an FFmpeg source tree:
#   overlay.sh tree SRC   a tree of links beside it to build from, SRC unchanged; prints it
#   overlay.sh apply      copies and patches into the user's own tree FFMPEG_SRC
#   overlay.sh unapply    undoes that
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# Which of our files goes where: lines of "file place".
files() {
    cd "$root" || exit
    echo Makefile.snippet libavfilter/Makefile.snippet
    find models -name '*.txt' -printf '%p libavfilter/%p\n'
    find libavcodec libavfilter tests tools doc -type f ! -name '.*' ! -name '*~' \
        ! -path '*/__pycache__/*' -printf '%p %p\n'
}

patches() { # series
    sed "s,^,$root/configure-patch/$1/," "$root/configure-patch/$1/series"
}

patched_files() { # series
    # shellcheck disable=SC2046
    sed -n 's,^+++ b/,,p' $(patches "$1") | sort -u
}

# Applies the patches to copies of the files that they change, all or nothing.
# A patch without its place is an error that names the file and the hunk.
patch_copies() { # series src dir
    local series=$1 src=$2 dir=$3 file report patch
    while read -r file; do
        mkdir -p "$dir/$(dirname "$file")"
        cp -L "$src/$file" "$dir/$file" || die "$src has no $file" \
            "supported releases: $(all_series | xargs)"
    done < <(patched_files "$series")
    while read -r patch; do
        # Fuzz would let a line land where it does not belong.
        report=$(patch -d "$dir" -p1 -N -F0 --no-backup-if-mismatch -r - < "$patch" 2>&1) ||
            die "$(basename "$patch") does not apply to $src" "$report" \
                "supported releases: $(all_series | xargs), this tree was taken for $series"
    done < <(patches "$series")
}

# The tree to build from is a farm of links: FFmpeg's files stay where they are,
# ours are links too, so that make sees an edit of either, and only the files
# that we patch are copies. What was there already is left alone.
tree() { # src
    local src=$1 series farm copies file place is_new=
    series=$(series_of "$src")
    farm=$build/tree/$([ "${FFMPEG_SRC:-}" ] && echo user || echo "$series")
    # A folder newer than the farm tells that a file of FFmpeg's came or went.
    if [ "$(head -n 1 "$farm/.overlay" 2> /dev/null)" != "$src" ] ||
       [ "$(find "$src" -type d -name .git -prune -o -type d -newer "$farm/.overlay" -print -quit)" ]; then
        rm -rf "$farm"
        mkdir -p "$farm"
        cp -as "$src"/* "$farm"
        # What a build inside that tree has left would stop one outside.
        (cd "$farm" && find . \( -name '*.[oda]' -o -name '*.so*' \) -delete &&
            rm -f config.h config_components.h config.asm ffbuild/config.mak)
        echo "$src" > "$farm/.overlay"
        is_new=1
    fi

    copies=$build/tree/.patched
    rm -rf "$copies"
    patch_copies "$series" "$src" "$copies"
    while read -r file; do
        cmp -s "$copies/$file" "$farm/$file" || {
            # In a new farm it is as old as its original: nothing needs a rebuild.
            [ ! "$is_new" ] || touch -r "$src/$file" "$copies/$file"
            rm -f "$farm/$file"
            mv "$copies/$file" "$farm/$file"
        }
    done < <(patched_files "$series")
    rm -rf "$copies"

    { echo "$src"; files; } > "$farm/.overlay.new"
    while read -r file place; do
        [ ! -e "$src/$place" ] || die "$place is a file of FFmpeg's, and ours has the same name"
        [ "$(readlink "$farm/$place")" = "$root/$file" ] || {
            mkdir -p "$farm/$(dirname "$place")"
            ln -sfn "$root/$file" "$farm/$place"
        }
    done < <(tail -n +2 "$farm/.overlay.new")
    tail -n +2 "$farm/.overlay" | grep -vxFf "$farm/.overlay.new" | while read -r file place; do
        rm -f "$farm/$place"
    done || true
    cmp -s "$farm/.overlay.new" "$farm/.overlay" || cp "$farm/.overlay.new" "$farm/.overlay"
    rm "$farm/.overlay.new"
    echo "$farm"
}

user_tree() {
    [ "${FFMPEG_SRC:-}" ] || die "which tree?" "give it with FFMPEG_SRC=path-to-your-FFmpeg"
    [ -d "$FFMPEG_SRC" ] || die "FFMPEG_SRC=$FFMPEG_SRC is not a folder"
    readlink -f "$FFMPEG_SRC"
}

# Two files remember in the user's tree what was done, so that it can be undone
# even when this project has moved on: .overlay.patch and .overlay.sums.
apply() { # src
    local src=$1 series copies file place
    series=$(series_of "$src")
    [ ! -e "$src/.overlay.sums" ] || die "$src has the overlay already" \
        "\`make unapply FFMPEG_SRC=$src\` takes it out"
    while read -r file place; do
        [ ! -e "$src/$place" ] || die "$src/$place is there already; nothing was changed"
    done < <(files)
    copies=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "rm -rf $copies" EXIT
    patch_copies "$series" "$src" "$copies"
    while read -r file; do
        diff -u --label "a/$file" --label "b/$file" "$src/$file" "$copies/$file" || true
    done < <(patched_files "$series") > "$src/.overlay.patch"
    patch -d "$src" -p1 -s < "$src/.overlay.patch"
    while read -r file place; do
        mkdir -p "$src/$(dirname "$place")"
        cp "$root/$file" "$src/$place"
    done < <(files)
    (cd "$src" && files_there=$(files | awk '{ print $2 }') &&
        xargs sha256sum <<< "$files_there" > .overlay.sums)
    say "$src (FFmpeg $series) has the overlay now; configure and build it as ever"
}

unapply() { # src
    local src=$1 report place
    [ -e "$src/.overlay.sums" ] || die "$src does not have the overlay"
    cd "$src"
    report=$(sha256sum --quiet -c .overlay.sums 2>&1) ||
        die "files of ours were edited in $src; nothing was changed" "$report" \
            "save the edits, bring these files back or remove their lines from .overlay.sums"
    report=$(patch -p1 -R -s -f --dry-run < .overlay.patch 2>&1) ||
        die "FFmpeg's own files were edited where we patched them; nothing was changed" "$report"
    patch -p1 -R -s < .overlay.patch
    while read -r _ place; do
        rm "$place"
        rmdir -p --ignore-fail-on-non-empty "$(dirname "$place")"
    done < .overlay.sums
    rm .overlay.sums .overlay.patch
    say "$src is as it was before"
}

case $1 in
tree)
    tree "$2" ;;
apply | unapply)
    src=$(user_tree)
    "$1" "$src" ;;
esac
