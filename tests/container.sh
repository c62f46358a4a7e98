#!/usr/bin/env bash
# Builds the container of the tarball in results/packages on a bare system, and runs it:
# container.sh [-s SUITE] [-m MIRROR] [-r FOLDER], which are those of package.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2317
set -u -o pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
suite=bookworm mirror='' folder=''
while getopts s:m:r: option; do
    case $option in
    s) suite=$OPTARG ;;
    m) mirror=$OPTARG ;;
    r) folder=$OPTARG ;;
    *) exit 2 ;;
    esac
done
most_bytes=150000000

skip() { # why
    echo "SKIPPED container: $1"
    exit 0
}

[ "$(id -u)" = 0 ] || skip "not root"
PATH=$PATH:/usr/sbin
command -v buildah > /dev/null || skip "no buildah"
[ "$folder" ] || command -v debootstrap > /dev/null || skip "no debootstrap"
ls "$root"/results/packages/*-linux-gpl.tar.gz > /dev/null 2>&1 || skip "no tarball: run make package"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
buildah() {
    command buildah --root "$tmp/root" --runroot "$tmp/run" "$@"
}

if [ ! "$folder" ]; then
    folder=$tmp/bare
    debootstrap --variant=minbase "$suite" "$folder" ${mirror:+"$mirror"} > "$tmp/log" 2>&1 ||
        skip "debootstrap cannot make $suite: $(tail -n 1 "$tmp/log")"
fi

failed=0
check() { # what command...; its output is shown if it fails
    local what=$1
    shift
    if "$@" > "$tmp/out" 2>&1; then
        echo "PASS    container: $what"
    else
        echo "FAIL    container: $what"
        tail -n 20 "$tmp/out"
        failed=1
    fi
}

builds() {
    local base
    base=$(buildah from scratch) && buildah add "$base" "$folder" / && buildah commit "$base" bare &&
        buildah build --build-arg BASE=localhost/bare --build-arg PACKAGES= -f "$root/Containerfile" -t tried "$root" &&
        buildah from --name container localhost/tried
}

scores() {
    buildah run container ffmpeg -v error -f lavfi -i testsrc2=s=320x240:r=1:d=1,format=yuv420p,gblur=2 \
        -vf bliinds=stats_file=- -f null - | tee /dev/stderr | grep -q '^n:1 .* valid:1 '
}

tells_version() {
    buildah run container ffcrf --version | tee /dev/stderr | grep -q "^ffcrf $(cat "$root/VERSION"),"
}

asks_for_driver() {
    buildah inspect --format '{{.OCIv1.Config.Env}}' container | tee /dev/stderr |
        grep -q 'NVIDIA_DRIVER_CAPABILITIES=video,compute,utility'
}

# of what the project adds to its Debian
is_small() {
    local mounted
    mounted=$(buildah mount container) && du -sb "$mounted/opt" &&
        [ "$(du -sb "$mounted/opt" | cut -f 1)" -le "$most_bytes" ]
}

check "builds" builds
[ $failed = 0 ] || exit 1
check "scores a picture" scores
check "tells its version" tells_version
check "asks for the driver" asks_for_driver
check "adds at most $((most_bytes / 1000000)) MB" is_small
exit $failed
