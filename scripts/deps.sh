#!/usr/bin/env bash
# Installs the packages that are missing for some jobs: deps.sh build|full|run|report|check...
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# "a|b" is whichever is installed, else the first that can be; clang is the newest
# that there is. "?" after a name marks what we do without, given that it says so in
# time.
packages() { # job
    case $1 in
    build) echo gcc libc6-dev make nasm git 'pkgconf|pkg-config' xz-utils zlib1g-dev \
                "clang${clang:+?}" libx264-dev? libx265-dev? libsvtav1enc-dev? libdav1d-dev?
           # few systems have it
           ! is_offered libvmaf-dev 2> /dev/null || echo 'libvmaf-dev?' ;;
    full)  echo libbz2-dev liblzma-dev texinfo? ;;
    run)   echo python3 gnuplot-nox? python3-jinja2? libjs-dygraphs? ;;
    package) echo patchelf binutils perl libsvtav1enc-dev \
                libaom-dev libdav1d-dev libx264-dev libx265-dev ;;
    report) echo python3-jinja2 libjs-dygraphs ;;
    series) echo git ;;
    mingw) echo gcc-mingw-w64-x86-64-posix 'wine64?' ;;
    clip)  echo opencv-doc? ;;
    model) echo python3-numpy python3-scipy libaom-dev? libvpx-dev? libjpeg-turbo-progs? ;;
    fuzz)  echo "libclang-rt-${clang#clang-}-dev" ;;
    check) echo git g++ jq gnuplot-nox? valgrind? shellcheck? libxml2-utils? python3-hypothesis? \
                parallel? python3-pytest? python3-jinja2? python3-prometheus-client? python3-numpy? \
                libjs-dygraphs? ;;
    esac
}

# Of names of packages, the newest compiler: Debian's clang is an older one.
newest_clang() {
    grep -xE 'clang-[0-9]+' | sort -V | tail -n 1
}

offered_clang() {
    local name
    for name in $(apt-cache pkgnames clang- | grep -xE 'clang-[0-9]+' | sort -rV); do
        if is_offered "$name"; then
            echo "$name"
            return
        fi
    done
}

is_offered() { # package
    [[ $(apt-cache policy "$1") == *"Candidate: "[!\(]* ]]
}

present() { # entry without "?"
    local name
    if [ "$1" = clang ]; then
        name=$(offered_clang)
        [ "$clang" ] && [ "$(printf '%s\n' "$clang" "$name" | newest_clang)" = "$clang" ]
        return
    fi
    for name in ${1//|/ }; do
        if grep -qx "$name" <<< "$installed"; then return; fi
    done
    return 1
}

installable() { # entry without "?"
    local name=$1
    [ "$1" != clang ] || name=$(offered_clang)
    for name in ${name//|/ }; do
        if is_offered "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

# Says what we do without, or that there is a newer one of.
go_on() { # reason entry...
    local entry names='' reason=$1
    shift
    for entry; do
        if [ "$entry" = "clang?" ]; then
            say "note: going on with $clang, though there is $(offered_clang) ($reason)"
        else
            names="$names ${entry%%[|?]*}"
        fi
    done
    [ ! "$names" ] || say "note: going on without$names ($reason)"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

set -f # the "?" marks are no patterns
clang=
if ! command -v apt-get > /dev/null; then
    wanted=$(for job; do packages "$job"; done | xargs -n 1)
    for tool in gcc make nasm git pkg-config xz clang; do
        command -v "$tool" > /dev/null || die "$tool is missing, and there is no apt-get here" \
            "install the equivalents of these Debian packages: $(xargs <<< "$wanted")"
    done
    exit
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
clang=$(newest_clang <<< "$installed" || true)
wanted=$(for job; do packages "$job"; done | xargs -n 1)
wanted=$(for entry in $wanted; do
    present "${entry%\?}" || echo "$entry"
done)
[ "$wanted" ] || exit 0

if [ "$(id -u)" != 0 ] && ! command -v sudo > /dev/null; then
    # shellcheck disable=SC2001
    names=$(sed 's/[|?].*//' <<< "$wanted" | xargs)
    needed=$(grep -v '?$' <<< "$wanted" || true)
    [ -z "$needed" ] || die "packages are missing, and neither root nor sudo is here" \
        "as root: apt-get install $names"
    # shellcheck disable=SC2086
    go_on "no root, no sudo" $wanted
    exit
fi

log=$build/apt.log
mkdir -p "$build"
: > "$log"
say "refreshing the package lists"
as_root apt-get -q update >> "$log" 2>&1 || say "note: apt-get update failed, see $log"
needed='' optional='' entries=''
for entry in $wanted; do
    if ! name=$(installable "${entry%\?}"); then
        [ "$entry" != "${entry%\?}" ] ||
            die "no package $entry can be installed here" \
                "see $log, and apt-cache policy ${entry%%|*}"
        go_on "this system does not offer it" "$entry"
    elif [ "$entry" = "${entry%\?}" ]; then
        needed="$needed $name"
    else
        optional="$optional $name" entries="$entries $entry"
    fi
done

install() { # package...
    say "installing $*"
    logged "installing packages" "$log" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends "$@"
}

# shellcheck disable=SC2086
if [ "$optional" ] && ! (install $needed $optional); then
    go_on "it cannot be installed, see $log" $entries
    optional=
fi
# shellcheck disable=SC2086
[ ! "$needed" ] || [ "$optional" ] || install $needed
