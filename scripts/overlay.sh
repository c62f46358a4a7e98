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

# By libavfilter's major version: RELEASE and VERSION are missing or free-form in a git checkout.
release() { # src
    local major
    major=$(sed -n 's/^#define LIBAVFILTER_VERSION_MAJOR *//p' "$1/libavfilter/version_major.h" 2> /dev/null) ||
        die "$1 is not an FFmpeg source tree" "FFMPEG_SRC must name one" "$supported"
    awk -v major="$major" '$2 == major { print $1; found = 1 } END { exit !found }' <<< "$series_table" ||
        die "$1 has libavfilter $major, which is not known" "$supported"
}

files() {
    (
        cd "$root"
        find libavcodec libavfilter tests tools doc -type d -name __pycache__ -prune -o -type f ! -name '.*' ! -name '*~' -print |
            awk -v root="$root" '{ print $0 "\t" root "/" $0 }'
        for file in models/*; do printf 'libavfilter/%s\t%s\n' "$file" "$root/$file"; done
        printf '%s\t%s\n' libavfilter/Makefile.snippet "$root/Makefile.snippet" tools/quality.version "$root/VERSION"
    ) | sort
}

# All patches or none, at their places: git apply takes no fuzz. A repository around a tree is none of its.
patched() { # tree options...
    local tree=$1
    shift
    cat "$root"/configure-patch/*.patch |
        GIT_CEILING_DIRECTORIES=$(dirname "$tree") git -C "$tree" apply "$@" -
}

# FFmpeg's files stay where they are: in the new tree are links, to ours too, so that make sees an edit of
# either. Only what is patched is a copy, and as new as the newest of what it is made of.
tree() { # src farm
    local file patch
    rm -rf "$2"
    cp -rs "$1" "$2"
    # what a build has left in SRC would stop one outside of it
    find "$2" -name .git -prune -exec rm -rf {} + -o -type l \( -name '*.[oda]' -o -name '*.so' \
        -o -name config.h -o -name config.mak -o -name 'config_components.*' \) -exec rm {} +
    sed -n 's,^+++ b/,,p' "$root"/configure-patch/*.patch | sort -u > "$2.patched"
    while read -r file; do
        cp --remove-destination --preserve=mode,timestamps "$1/$file" "$2/$file"
    done < "$2.patched"
    patched "$2" >&2 || die "our patches do not fit $1" "$supported"
    while read -r file; do
        touch -r "$1/$file" "$2/$file"
        grep -l "^+++ b/$file\$" "$root"/configure-patch/*.patch | while read -r patch; do
            [ "$2/$file" -nt "$patch" ] || touch -r "$patch" "$2/$file"
        done
    done < "$2.patched"
    # a name that FFmpeg has, too, is an error of cp
    cp -rs "$root"/{libavcodec,libavfilter,tests,tools,doc} "$2"
    cp -rs "$root/models" "$root/Makefile.snippet" "$2/libavfilter"
    cp -s "$root/VERSION" "$2/tools/quality.version"
}

apply() { # src
    local file
    while IFS=$'\t' read -r file _; do
        [ ! -e "$1/$file" ] || die "$1/$file is there already; nothing was changed" \
            "\`make unapply FFMPEG_SRC=$1\` takes the overlay out"
    done <<< "$files"
    patched "$1" || die "our patches do not fit $1; nothing was changed" "$supported"
    tree_of_ours | tar -C "$1" -xf -
    say "$1 (FFmpeg $(release "$1")) has the overlay now; configure and build it as ever"
}

unapply() { # src
    local edited
    edited=$(tree_of_ours | tar -C "$1" -df - 2>&1 | grep -vE ': (Mod time|Uid|Gid|Mode) differs?$') || true
    [ -z "$edited" ] || die "files in $1 are not as they are here; nothing was changed" "$edited" \
        "save your edits and bring these back, or check out the version that was applied"
    patched "$1" -R || die "FFmpeg's own files were edited where we patched them; nothing was changed"
    cd "$1"
    cut -f 1 <<< "$files" | xargs -d '\n' rm
    cut -f 1 <<< "$files" | sed 's,/[^/]*$,,' | sort -u | xargs -d '\n' rmdir -p --ignore-fail-on-non-empty
    say "$1 is as it was before"
}

# An archive of our files, where they are in FFmpeg's tree.
tree_of_ours() {
    cut -f 2 <<< "$files" | sed "s,^$root/,," |
        tar -C "$root" -T - --transform='s,^models/,libavfilter/models/,' --transform='s,^Makefile.snippet,libavfilter/&,' \
            --transform='s,^VERSION,tools/quality.version,' -cf -
}

[ "${1:-}" != files ] || { files; exit; }
[ -d "${2:-}" ] || die "which tree?" "give it with FFMPEG_SRC=path-to-your-FFmpeg${2:+: $2 is not a folder}"
src=$(realpath "$2")
files=$(files)
case $1 in
release | apply | unapply) "$1" "$src" ;;
tree) tree "$src" "$(realpath -m "$3")" ;;
*) die "overlay.sh $1 is not known" ;;
esac
