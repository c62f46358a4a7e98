#!/usr/bin/env bash
# Lays this project over an FFmpeg source tree:
#   overlay.sh release SRC     prints the series of a tree, such as 9.0
#   overlay.sh tree SRC FARM   makes a tree of links to build from; SRC stays as it is
#   overlay.sh apply SRC       patches the user's own tree, and copies our files there
#   overlay.sh unapply SRC     undoes that
#   overlay.sh files           lists our files: where each is there, a tab, where it is here
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

supported="supported releases: $(all_series | xargs)"
patches=("$root"/configure-patch/*.patch)

# By libavfilter's major version: RELEASE and VERSION are missing or free-form in a git checkout.
release() { # src
    local header=$1/libavfilter/version_major.h major
    major=$(sed -n 's/^#define LIBAVFILTER_VERSION_MAJOR *//p' "$header" 2> /dev/null) ||
        die "$1 is not an FFmpeg source tree" "FFMPEG_SRC must name one" "$supported"
    sed -n "s/ $major\$//p" <<< "$series_table" | grep . ||
        die "$1 has libavfilter $major, which is not known" "$supported"
}

files() {
    cd "$root"
    find libavcodec libavfilter tests tools doc -name __pycache__ -prune -o \
        -type f ! -name '.*' ! -name '*~' -printf "%p\t$root/%p\n"
    printf "libavfilter/%s\t$root/%s\n" Makefile.snippet{,}
    find models -type f -printf "libavfilter/%p\t$root/%p\n"
    printf '%s\t%s\n' tools/quality.version "$root/VERSION"
}

# Calls a command for each of our files, with its name and with that in a tree.
each() { # tree command...
    local there ours
    while IFS=$'\t' read -r there ours; do
        mkdir -p "$1/${there%/*}"
        "${@:2}" "$ours" "$1/$there"
    done <<< "$files"
}

# All of a patch or none, at its places: git apply takes no fuzz. A repository
# around a tree is not its own.
patched() { # tree options...
    GIT_CEILING_DIRECTORIES=$(dirname "$1") git -C "$1" apply --whitespace=nowarn "${@:2}" -
}

# FFmpeg's files stay where they are: the new tree has links, to ours too, so that make sees an edit of
# either. Only what is patched is a copy, as old as the same text in the tree before. A tree is made if
# the files of SRC, our files' names or what is patched have changed since the last one.
tree() { # src farm
    local file changed made new=$2.new
    mapfile -t changed < <(sed -n 's,^+++ b/,,p' "${patches[@]}" | sort -u)
    made=$({ echo "$1 $files"; find "$1" -name .git -prune -o ! -type d -printf '%P\n'
        (cd "$1" && cat "${patches[@]}" "${changed[@]}" "$scripts/overlay.sh"); } | sha256sum)
    [ "$made" != "$(cat "$2/.made" 2> /dev/null)" ] || return 0
    rm -rf "$new"
    cp -rs "$1" "$new"
    # what a build has left in SRC would stop one outside of it
    find "$new" -name .git -prune -exec rm -rf {} + -o -type l \( -name '*.[oda]' -o -name '*.so' \
        -o -name config.h -o -name config.mak -o -name 'config_components.*' \) -exec rm {} +
    (cd "$1" && cp --parents --remove-destination -t "$new" "${changed[@]}")
    cat "${patches[@]}" | patched "$new" >&2 || die "our patches do not fit $1" "$supported"
    for file in "${changed[@]}"; do
        ! cmp -s "$2/$file" "$new/$file" || touch -r "$2/$file" "$new/$file"
    done
    # a name that FFmpeg has, too, is an error of ln
    each "$new" ln -s
    echo "$made" > "$new/.made"
    rm -rf "$2"
    mv "$new" "$2"
}

# Our files as a patch, too: git tells what is there already, or is not as it was applied.
whole_patch() {
    local stage
    stage=$(mktemp -d)
    each "$stage" cp -p
    git -C "$stage" init -q
    git -C "$stage" -c core.autocrlf=false add -Af .
    git -C "$stage" diff --cached --binary
    cat "${patches[@]}"
    rm -rf "$stage"
}

apply() { # src
    local series
    series=$(release "$1")
    whole_patch | patched "$1" || die "$1 does not take the overlay; nothing was changed" \
        "\`make unapply FFMPEG_SRC=$1\` takes out what is there already" "$supported"
    say "$1 (FFmpeg $series) has the overlay now; configure and build it as ever"
}

unapply() { # src
    local series
    series=$(release "$1")
    whole_patch | patched "$1" -R || die "$1 is not as it was applied; nothing was changed" \
        "save your edits and bring these files back, or check out the version that was applied"
    say "$1 is as it was before"
}

files=$(files | sort)
if [ "${1:-}" = files ]; then
    echo "$files"
    exit
fi
[ -d "${2:-}" ] || die "which tree?" \
    "give it with FFMPEG_SRC=path-to-your-FFmpeg${2:+: $2 is not a folder}"
src=$(realpath "$2")
case $1 in
release | apply | unapply) "$1" "$src" ;;
tree) tree "$src" "$(realpath -m "$3")" ;;
*) die "overlay.sh $1 is not known" ;;
esac
