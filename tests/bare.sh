# shellcheck shell=bash disable=SC2034
# What package.sh and container.sh share: [-s SUITE] [-m MIRROR] [-r FOLDER], the bare system that these
# tell of, and how a test is told. The bare system is made by debootstrap, of SUITE (default: that of
# this system) from MIRROR (default: debootstrap's own), or is FOLDER.
# SPDX-License-Identifier: LGPL-2.1-or-later

set -u -o pipefail
PATH=$PATH:/usr/sbin
# shellcheck source=tests/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
    echo "usage: ${0##*/} [-s SUITE] [-m MIRROR] [-r FOLDER]${operands:+ $operands}" >&2
    exit 2
}

suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror='' folder=''
while getopts s:m:r: option; do
    case $option in
    s) suite=$OPTARG ;;
    m) mirror=$OPTARG ;;
    r) folder=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))

trap 'umount "$tmp/bare/proc" 2> /dev/null; rm -rf --one-file-system "$tmp"' EXIT

# Puts a bare system there with a /proc, by which the loader and ffcrf work; or says why it cannot.
make_bare() { # $tmp/bare
    if [ "$(id -u)" != 0 ]; then
        echo "not root, who alone can chroot"
    elif [ "$folder" ] && ! cp -a "$folder" "$1"; then
        echo "$folder cannot be copied"
    elif [ ! "$folder" ] && ! command -v debootstrap > /dev/null; then
        echo "no debootstrap"
    elif [ ! "$folder" ] && ! debootstrap --variant=minbase "$suite" "$1" ${mirror:+"$mirror"} \
            > "$tmp/log" 2>&1; then
        echo "debootstrap cannot make $suite: $(tail -n 1 "$tmp/log")"
    elif ! mount -t proc proc "$1/proc" > "$tmp/log" 2>&1; then
        cat "$tmp/log"
    else
        return 0
    fi
    rm -rf --one-file-system "$1"
    return 1
}
