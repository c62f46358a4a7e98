#!/usr/bin/env bash
# Gets the default photographs of make model out of Debian packages, without
# installing them; prints the folder. tools/train/photographs.txt lists them.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

list=$root/tools/train/photographs.txt
packages=$build/model/packages
photos=$build/model/photos

command -v apt-get dpkg-deb > /dev/null ||
    die "the default photographs come from Debian packages, and there is no apt-get here" \
        "give a folder of pristine pictures of your own with PHOTOS=dir"

unpack() { # package
    local tree=$packages/$1
    [ ! -d "$tree" ] || return 0
    say "downloading $1"
    rm -rf "$tree.part"
    mkdir -p "$tree.part"
    (cd "$tree.part" && apt-get -q download "$1" > apt.log 2>&1 && dpkg-deb -x ./*.deb . && rm ./*.deb) ||
        die "no package $1 can be had here" "see $tree.part/apt.log; apt-get update may help" \
            "or give a folder of pristine pictures of your own with PHOTOS=dir"
    mv "$tree.part" "$tree"
}

mkdir -p "$photos"
missing=0
while read -r package file; do
    unpack "$package"
    # A wallpaper's file is named after its size, its folder after what it shows.
    name=$(sed -E 's,/contents/images/[^/]*\.,.,; s,.*/,,' <<< "$file")
    if [ -f "$packages/$package$file" ]; then
        ln -sfn "$packages/$package$file" "$photos/${package}_$name"
    else
        say "note: $package has no $file any more"
        missing=$((missing + 1))
    fi
done < <(grep -v '^#' "$list")
[ $missing = 0 ] || say "note: without $missing of the default photographs"
echo "$photos"
