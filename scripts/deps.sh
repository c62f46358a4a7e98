#!/usr/bin/env bash
# Installs what is missing of the packages for some jobs: deps.sh build|full|run|report|model|check...
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# "a|b" is whichever is installed, else the first that can be; "?" after a name
# marks what we do without, given that it says so in time.
packages() { # job
    case $1 in
    build) echo gcc libc6-dev make 'nasm' 'pkgconf|pkg-config' patch xz-utils zlib1g-dev \
                'clang-19|clang|clang-18|clang-14' libx264-dev? libx265-dev? libsvtav1enc-dev? libdav1d-dev? ;;
    full)  echo libbz2-dev liblzma-dev texinfo? ;;
    run)   echo gnuplot-nox? python3? ;;
    report) echo gnuplot-nox python3 ;;
    clip)  echo opencv-doc? ;;
    model) echo python3-numpy python3-scipy gnuplot-nox? libvpx-dev? ;;
    fuzz)  echo 'libclang-rt-19-dev|libclang-rt-dev|libclang-rt-14-dev' ;;
    check) echo jq gnuplot-nox? valgrind? shellcheck? libxml2-utils? python3? python3-hypothesis? parallel? \
                slurm-wlm? slurm-wlm-basic-plugins? ;;
    esac
}

present() { # entry without "?"
    local name
    for name in ${1//|/ }; do
        if grep -qx "$name" <<< "$installed"; then return; fi
    done
    return 1
}

installable() { # entry without "?"
    local name
    for name in ${1//|/ }; do
        if [[ $(apt-cache policy "$name") == *"Candidate: "[!\(]* ]]; then
            echo "$name"
            return
        fi
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

set -f # the "?" marks are no patterns
wanted=$(for job; do packages "$job"; done | xargs -n 1)
if ! command -v apt-get > /dev/null; then
    for tool in gcc make nasm pkg-config patch xz clang; do
        command -v "$tool" > /dev/null || die "$tool is missing, and there is no apt-get here" \
            "install the equivalents of these Debian packages: $(xargs <<< "$wanted")"
    done
    exit
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
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
    say "note: going on without $names (no root, no sudo)"
    exit
fi

log=$build/apt.log
mkdir -p "$build"
: > "$log"
say "refreshing the package lists"
as_root apt-get -q update >> "$log" 2>&1 || say "note: apt-get update failed, see $log"
names=
for entry in $wanted; do
    if name=$(installable "${entry%\?}"); then
        names="$names $name"
    elif [ "$entry" = "${entry%\?}" ]; then
        die "no package $entry can be installed here" "see $log, and apt-cache policy ${entry%%|*}"
    else
        say "note: going on without ${entry%\?}, which this system does not offer"
    fi
done
[ "$names" ] || exit 0
say "installing$names"
# shellcheck disable=SC2086
logged "installing packages" "$log" as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -y install --no-install-recommends $names
