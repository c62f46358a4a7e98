#!/usr/bin/env bash
# Installs the packages that are missing for some jobs: deps.sh build|full|run|check...
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# "?" after a name marks what we do without, given that it says so in time.
packages() { # job
    case $1 in
    build) echo gcc libc6-dev make nasm git pkgconf xz-utils zlib1g-dev "$clang" \
                libx264-dev? libx265-dev? libsvtav1enc-dev? libdav1d-dev? ;;
    full)  echo libbz2-dev liblzma-dev texinfo? ;;
    run)   echo python3 python3-jinja2? libjs-dygraphs? ;;
    package) echo patchelf binutils perl libsvtav1enc-dev \
                libaom-dev libdav1d-dev libx264-dev libx265-dev ;;
    bare)  echo debootstrap? buildah? ;;
    mingw) echo gcc-mingw-w64-x86-64-posix wine64? ;;
    clip)  echo opencv-doc? ;;
    model) echo python3-numpy python3-scipy libaom-dev? libvpx-dev? libjpeg-turbo-progs? ;;
    fuzz)  echo "libclang-rt-$(tr -dc 0-9 <<< "$clang")-dev" ;;
    check) echo git g++ jq valgrind? shellcheck? libxml2-utils? python3-hypothesis? \
                python3-pytest? python3-jinja2? python3-prometheus-client? python3-numpy? \
                libjs-dygraphs? ;;
    esac
}

is_offered() { # package
    [[ $(apt-cache policy "$1") == *"Candidate: "[!\(]* ]]
}

# What the jobs need and is not here. Debian's package clang is an older compiler than the newest
# that there is, in whose place any other does.
missing() { # job...
    local job entry
    clang=$({ echo "$installed"; apt-cache search --names-only '^clang-[0-9]+$'; } |
        cut -d ' ' -f 1 | grep -xE 'clang-[0-9]+' | sort -V | tail -n 1) || clang=clang
    ! grep -qxE 'clang-[0-9]+' <<< "$installed" || clang+='?'
    for job; do
        packages "$job"
    done | xargs -n 1 | while read -r entry; do
        grep -qx "${entry%\?}" <<< "$installed" || echo "$entry"
    done
}

go_on() { # reason entry...
    local entries=${*:2}
    say "note: going on without ${entries//\?/} ($1)"
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

install() { # package...
    say "installing $*"
    logged "installing packages" "$log" as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -y -o DPkg::Lock::Timeout=600 install --no-install-recommends "$@"
}

set -f # the "?" marks are no patterns
clang=clang
if ! command -v apt-get > /dev/null; then
    for tool in gcc make nasm git pkg-config xz clang; do
        command -v "$tool" > /dev/null || die "$tool is missing, and there is no apt-get here" \
            "install the equivalents of these Debian packages:" "$(for job; do packages "$job"; done)"
    done
    exit
fi

# A run that came to its end is not repeated until packages, apt's lists or this script change.
finished="$build/deps.$*"
if [ "$finished" -nt /var/lib/dpkg/status ] && [ "$finished" -nt /var/lib/apt/lists ] &&
    [ "$finished" -nt "$0" ]; then
    exit
fi
mkdir -p "$build"
installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
wanted=$(missing "$@")
[ "$wanted" ] || { touch "$finished"; exit; }

# shellcheck disable=SC2086
if [ "$(id -u)" != 0 ] && ! command -v sudo > /dev/null; then
    ! grep -qv '?$' <<< "$wanted" || die "packages are missing, and neither root nor sudo is here" \
        "as root: apt-get install $(tr -d '?' <<< "$wanted" | xargs)"
    go_on "no root, no sudo" $wanted
    exit
fi

log=$build/apt.log
say "refreshing the package lists"
as_root apt-get -q update > "$log" 2>&1 || say "note: apt-get update failed, see $log"
needed='' optional=''
for entry in $(missing "$@"); do
    if ! is_offered "${entry%\?}"; then
        [[ $entry = *\? ]] ||
            die "no package $entry can be installed here" "see $log, and apt-cache policy $entry"
        go_on "this system does not offer it" "$entry"
    elif [[ $entry = *\? ]]; then
        optional+=" $entry"
    else
        needed+=" $entry"
    fi
done
# shellcheck disable=SC2086
if [ "$optional" ] && ! (install $needed ${optional//\?/}); then
    go_on "it cannot be installed, see $log" $optional
    optional=
fi
# shellcheck disable=SC2086
[ ! "$needed" ] || [ "$optional" ] || install $needed
touch "$finished"
