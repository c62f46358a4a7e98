#!/usr/bin/env bash
# Gets a source tree and prints where it is: fetch.sh ffmpeg | nv-codec-headers
# or Debian's sources of libraries, into a folder: fetch.sh libraries FOLDER PACKAGE=VERSION...
#
# FFmpeg comes from FFMPEG_SRC, or in the version FFMPEG_VERSION (a series such
# as 9.0, or an exact release) from the cache, from the distribution's source
# packages through apt, or from the release page. Only two kinds of tarballs are
# taken: pinned by sha256, or authenticated by apt and of a supported series.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

cache=${CACHE:-$build/cache}
trees=$build/src

# The releases that were tried, as Debian's orig tarballs, which are FFmpeg's own.
pinned='8c3850283eb25fa026482078a04051e0be17347b09ef81a0849bec15a96e002e ffmpeg 9.0.2
464beb5e7bf0c311e68b45ae2f04e9cc2af88851abb4082231742a74d97b524c ffmpeg 8.1.2
0ca1a0c85b149646fa6ce4d600584507fdccf5a23d58e668d8701e89cee0c3fb nv-codec-headers 12.1.14.0'

# shellcheck disable=SC1091
[ ! -e /etc/os-release ] || . /etc/os-release
distribution=${ID:-}

pinned_version() { # package version-or-series
    awk -v p="$1" -v v="$2" '$2 == p && index($3 ".", v ".") == 1 { print $3 }' <<< "$pinned"
}

# apt as configured here, but with lists, sources and packages of our own: the
# machine's are neither read nor written.
private_apt() { # command arguments...
    "$1" -q -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$cache/apt/sources" \
        -o Dir::State::Lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" \
        -o APT::Sandbox::User="$(id -un)" -o APT::Get::AllowUnauthenticated=false \
        -o APT::Get::List-Cleanup=false -o Acquire::AllowInsecureRepositories=false "${@:2}" \
        2>> "$cache/apt/log"
}

# The sources of this system's own packages, in apt's lines. A mirror that is kept as it was on some
# day serves, too: its signatures are good for an old list as for a new one.
own_sources() {
    local keyring options='check-valid-until=no'
    for keyring in "/usr/share/keyrings/$distribution-archive-keyring".{gpg,pgp}; do
        [ ! -f "$keyring" ] || options="check-valid-until=no signed-by=$keyring"
    done
    # shellcheck disable=SC2016
    apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
        'Created-By: Packages' | awk -v options="$options" -v own="${VERSION_CODENAME:-}" '
            $2 ~ "^(" own "|oldstable|stable|testing|unstable|sid)(-|$)" && !seen[$0]++ {
                print "deb-src [" options "]", $0
            }'
}

# Reads the lists of sources, which are on stdin.
refresh() {
    mkdir -p "$cache"/apt/{lists,archives}/partial "$cache/apt/sources"
    cat > "$cache/apt/sources/own.list"
    private_apt apt-get update >> "$cache/apt/log"
}

# The source packages of what is installed, from where that came from. Fails if one cannot be had.
from_own_mirrors() { # folder package=version...
    local package
    command -v apt-get > /dev/null || return 1
    mkdir -p "$1"
    own_sources | refresh || true
    cd "$1"
    for package in "${@:2}"; do
        private_apt apt-get source --download-only "$package" >> "$cache/apt/log" ||
            { say "the source of $package cannot be had, see $cache/apt/log"; return 1; }
    done
}

# Asks one suite after the other for a version that fits; the newest in the
# first suite that has one is downloaded. Prints the tarball.
from_apt() { # package version-or-series
    local package=$1 wanted=$2 source suites suite components version
    command -v apt-get > /dev/null || return 1
    source=$(own_sources | sed -nE '/ [a-z]+ [^ ]+$/{s///p;q}')
    [ "$source" ] || return 1
    suites='testing unstable stable oldstable' components=main
    [ "$distribution" = debian ] ||
        suites="${VERSION_CODENAME:-} devel" components='main universe'
    for suite in $suites; do
        say "looking for $package $wanted in the source packages of $suite"
        echo "$source $suite $components" | refresh || continue
        version=$(private_apt apt-cache madison "$package" | awk -v wanted="$wanted" '
            { upstream = $3; sub(/^[0-9]+:/, "", upstream); sub(/-[^-]*$/, "", upstream) }
            index(upstream ".", wanted ".") == 1 { print $3 }' | sort -V | tail -n 1)
        [ "$version" ] || continue
        say "downloading $package $version"
        (cd "$cache" && private_apt apt-get source --download-only --tar-only "$package=$version") \
            >> "$cache/apt/log" || continue
        version=${version#*:}
        echo "$cache/${package}_${version%-*}.orig.tar.xz"
        return
    done
    return 1
}

# The release page vouches for nothing, so only pinned versions come from there.
from_release() { # package version-or-series
    local version tarball url
    version=$(pinned_version "$1" "$2")
    [ "$1" = ffmpeg ] && [ "$version" ] || return 1
    tarball=$cache/ffmpeg_$version.orig.tar.xz
    url=https://ffmpeg.org/releases/ffmpeg-$version.tar.xz
    say "downloading $url"
    curl -fsSL --connect-timeout 20 -o "$tarball.part" "$url" 2> /dev/null ||
        wget -q -T 20 -t 1 -O "$tarball.part" "$url" 2> /dev/null || return 1
    mv "$tarball.part" "$tarball"
    echo "$tarball"
}

from_cache() { # package version-or-series
    local version
    version=$(pinned_version "$1" "$2")
    [ "$version" ] && find "$cache" -maxdepth 1 -name "$1[_-]$version.*tar.xz" | grep -m 1 .
}

# Prints the tree of the first series or release that can be had, unpacked where it was not yet.
get() { # package version-or-series...
    local package=$1 wanted ways way tarball version sum tree
    ways='from_cache from_apt from_release'
    [ "$distribution" = debian ] || ways='from_cache from_release from_apt'
    for wanted in "${@:2}"; do
        tree=$(find "$trees" -maxdepth 1 -type d -regex ".*/$package-$wanted\(\.[0-9.]*\)?" |
            sort -V | tail -n 1)
        [ ! "$tree" ] || { echo "$tree"; return; }
        for way in $ways; do
            tarball=$($way "$package" "$wanted") || continue
            version=${tarball##*/"$package"?}
            version=${version%.tar.xz}
            version=${version%.orig}
            sum=$(sed -n "s/ $package $version\$//p" <<< "$pinned")
            if [ -z "$sum" ]; then
                say "note: $package $version was not tried yet; apt has authenticated it"
            elif ! sha256sum --status -c <<< "$sum  $tarball"; then
                say "$tarball is not the $package $version that is known here: not used"
                rm -f "$tarball"
                continue
            fi
            say "unpacking $package $version"
            tree=$trees/$package-$version
            rm -rf "$tree.part"
            mkdir "$tree.part"
            tar -xf "$tarball" -C "$tree.part" --strip-components=1 || return
            mv "$tree.part" "$tree"
            echo "$tree"
            return
        done
        say "$package $wanted cannot be had here"
    done
    return 1
}

mkdir -p "$cache/apt" "$trees"
case $1 in
ffmpeg)
    if [ "${FFMPEG_SRC:-}" ]; then
        [ -d "$FFMPEG_SRC" ] || die "FFMPEG_SRC=$FFMPEG_SRC is not a folder"
        readlink -f "$FFMPEG_SRC"
        exit
    fi
    supported=$(all_series | xargs)
    wanted=${FFMPEG_VERSION:-$supported}
    [[ " $supported " = *" $(cut -d. -f1,2 <<< "${wanted%% *}") "* ]] ||
        die "FFMPEG_VERSION=$wanted is not supported" "supported releases: $supported"
    # shellcheck disable=SC2086
    get ffmpeg $wanted ||
        die "no source of FFmpeg $wanted" \
            "tried: $cache, source packages through apt (log: $cache/apt/log), ffmpeg.org" \
            "give a tree of your own with FFMPEG_SRC=, or put ffmpeg-VERSION.tar.xz in $cache;" \
            "versions known: $(awk '$2 == "ffmpeg" { print $3 }' <<< "$pinned" | xargs)" ;;
libraries)
    from_own_mirrors "${@:2}" ;;
nv-codec-headers)
    # Without them FFmpeg is built without CUDA. For that an empty folder stands, so that nobody is
    # asked again.
    none=$trees/no-codec-headers
    if [ -d "$none" ] || ! get nv-codec-headers 12.1 12.2 13; then
        mkdir -p "$none"
        echo "$none"
    fi ;;
esac
