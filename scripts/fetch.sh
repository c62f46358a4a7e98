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

# The releases that were tried, as Debian's orig tarballs, which are FFmpeg's own.
pinned='8c3850283eb25fa026482078a04051e0be17347b09ef81a0849bec15a96e002e ffmpeg 9.0.2
464beb5e7bf0c311e68b45ae2f04e9cc2af88851abb4082231742a74d97b524c ffmpeg 8.1.2
0ca1a0c85b149646fa6ce4d600584507fdccf5a23d58e668d8701e89cee0c3fb nv-codec-headers 12.1.14.0'

os_release() { # field
    sed -n "s/^$1=//p" /etc/os-release 2> /dev/null | tr -d '"' || true
}

distribution=$(os_release ID)

pinned_version() { # package version-or-series
    awk -v p="$1" -v v="$2" '$2 == p && ($3 == v || index($3, v ".") == 1) { print $3 }' \
        <<< "$pinned"
}

# apt as configured here, but with lists, sources and packages of our own: the
# machine's are neither read nor written. A mirror that is kept as it was on some
# day serves, too: its signatures are good for an old list as for a new one.
private_apt() { # command arguments...
    local command=$1
    shift
    "$command" -q -o Dir::Etc::SourceList=/dev/null \
        -o Dir::Etc::SourceParts="$cache/apt/sources" \
        -o Dir::State::Lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" \
        -o APT::Sandbox::User="$(id -un)" -o APT::Get::AllowUnauthenticated=false \
        -o Acquire::AllowInsecureRepositories=false -o Acquire::Check-Valid-Until=false "$@"
}

# The machine's own mirror, in whatever form its sources are written.
mirror() {
    mkdir -p "$cache/apt/none"
    apt-get -o Dir::State::Lists="$cache/apt/none" -o Debug::NoLocking=1 update --print-uris |
        sed -n "s,^'\(.*\)/dists/\([^/]*\)/InRelease'.*,\2 \1,p" |
        awk -v own="$(os_release VERSION_CODENAME)" \
            '!found && ($1 == own || $1 ~ /^(oldstable|stable|testing|unstable|sid)$/) {
                print $2
                found = 1
            }'
}

keyring() {
    local file
    for file in "/usr/share/keyrings/$distribution-archive-keyring".{gpg,pgp}; do
        [ ! -f "$file" ] || { echo "$file"; break; }
    done
}

# The source packages of what is installed, from where that came from. Fails if one cannot be had.
from_own_mirrors() { # folder package=version...
    local folder=$1 package signed
    shift
    command -v apt-get > /dev/null || return 1
    signed=$(keyring)
    mkdir -p "$folder" "$cache/apt/lists/partial" "$cache/apt/archives/partial" "$cache/apt/sources"
    rm -f "$cache/apt/sources"/*
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v by="${signed:+[signed-by=$signed] }" -v own="$distribution" \
            'tolower($1) == own { print "deb-src " by $2, $3, $4 }' > "$cache/apt/sources/own.list"
    private_apt apt-get update >> "$cache/apt/log" 2>&1 || return
    for package; do
        (cd "$folder" && private_apt apt-get source --download-only "$package") >> "$cache/apt/log" 2>&1 ||
            { say "the source of $package cannot be had, see $cache/apt/log"; return 1; }
    done
}

suites() {
    case $distribution in
    debian) echo testing unstable stable oldstable ;;
    *)      echo "$(os_release VERSION_CODENAME) devel" ;;
    esac
}

# Asks one suite after the other for a version that fits; the newest in the
# first suite that has one is downloaded. Prints the tarball.
from_apt() { # package version-or-series
    local package=$1 wanted=$2 uri suite list signed version
    command -v apt-get > /dev/null || return 1
    uri=$(mirror)
    [ "$uri" ] || return 1
    mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial" "$cache/apt/sources"
    for suite in $(suites); do
        rm -f "$cache/apt/sources"/*
        {
            printf 'Types: deb-src\nURIs: %s\nSuites: %s\n' "$uri" "$suite"
            case $distribution in
            debian) echo "Components: main" ;;
            *)      echo "Components: main universe" ;;
            esac
            signed=$(keyring)
            [ ! "$signed" ] || echo "Signed-By: $signed"
        } > "$cache/apt/sources/$suite.sources"
        say "looking for $package $wanted in the source packages of $suite"
        private_apt apt-get -o APT::Get::List-Cleanup=false update >> "$cache/apt/log" 2>&1 ||
            continue
        list=$(private_apt apt-cache showsrc "$package" 2>> "$cache/apt/log") || continue
        version=$(awk -v wanted="$wanted" '
            $1 == "Version:" {
                upstream = $2
                sub(/^[0-9]+:/, "", upstream)
                sub(/-[^-]*$/, "", upstream)
                if (upstream == wanted || index(upstream, wanted ".") == 1)
                    print $2
            }' <<< "$list" | sort -V | tail -n 1)
        [ "$version" ] || continue
        say "downloading $package $version"
        (cd "$cache" && private_apt apt-get source --download-only --tar-only \
            "$package=$version") >> "$cache/apt/log" 2>&1 || continue
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
    local version tarball
    for version in $(pinned_version "$1" "$2"); do
        for tarball in "$cache/$1_$version.orig.tar.xz" "$cache/$1-$version.tar.xz"; do
            [ ! -f "$tarball" ] || { echo "$tarball"; return; }
        done
    done
    return 1
}

# Unpacks the tarball of one series or release; prints the tree.
get() { # package version-or-series
    local package=$1 wanted=$2 ways way tarball version sum tree
    case $distribution in
    debian) ways='from_cache from_apt from_release' ;;
    *)      ways='from_cache from_release from_apt' ;;
    esac
    mkdir -p "$cache"
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
        tree=$build/src/$package-$version
        if [ ! -d "$tree" ]; then
            say "unpacking $package $version"
            rm -rf "$tree.part"
            mkdir -p "$tree.part"
            tar -xf "$tarball" -C "$tree.part" --strip-components=1 || return
            mv "$tree.part" "$tree"
        fi
        echo "$tree"
        return
    done
    return 1
}

# Remembers what was got for a name, so that the next run asks nobody.
remembered() { # name package version-or-series...
    local name=$build/src/$1 package=$2 wanted tree=
    shift 2
    if [ ! -d "$name/." ]; then
        mkdir -p "$build/src"
        for wanted; do
            tree=$(get "$package" "$wanted") && break
            say "$package $wanted cannot be had here"
        done
        [ "$tree" ] || return 1
        [ "$wanted" = "$1" ] || say "note: using $package $wanted instead of $1"
        ln -sfn "${tree##*/}" "$name"
    fi
    readlink -f "$name"
}

case $1 in
ffmpeg)
    if [ "${FFMPEG_SRC:-}" ]; then
        [ -d "$FFMPEG_SRC" ] || die "FFMPEG_SRC=$FFMPEG_SRC is not a folder"
        readlink -f "$FFMPEG_SRC"
        exit
    fi
    name=${FFMPEG_VERSION:-default}
    wanted=${FFMPEG_VERSION:-$(all_series | xargs)}
    if [ "${FFMPEG_VERSION:-}" ]; then
        all_series | grep -qxF "$(cut -d. -f1,2 <<< "$wanted")" ||
            die "FFMPEG_VERSION=$wanted is not supported" \
                "supported releases: $(all_series | xargs)"
    fi
    # shellcheck disable=SC2086
    remembered "$name" ffmpeg $wanted ||
        die "no source of FFmpeg $wanted" \
            "tried: $cache, source packages through apt (log: $cache/apt/log), ffmpeg.org" \
            "give a tree of your own with FFMPEG_SRC=, or put ffmpeg-VERSION.tar.xz in $cache;" \
            "versions known: $(awk '$2 == "ffmpeg" { print $3 }' <<< "$pinned" | xargs)" ;;
libraries)
    shift
    from_own_mirrors "$@" ;;
nv-codec-headers)
    # Without them FFmpeg is built without CUDA: an empty folder stands for that.
    remembered nv-codec-headers nv-codec-headers 12.1 12.2 13 || {
        mkdir -p "$build/src/nv-codec-headers"
        echo "$build/src/nv-codec-headers"
    } ;;
esac
