#!/usr/bin/env bash
# Builds the container of the tarball in results/packages on a bare system, and runs it:
# container.sh [-s SUITE] [-m MIRROR] [-r FOLDER], which are those of bare.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2317 source=tests/bare.sh
. "$(dirname "$0")/bare.sh"
[ $# = 0 ] || usage

root=$(cd "$(dirname "$0")/.." && pwd)
most_bytes=150000000

command -v buildah > /dev/null || { skip container "no buildah"; exit; }
ls "$root"/results/packages/*-linux-gpl.tar.gz > /dev/null 2>&1 ||
    { skip container "no tarball: run make package"; exit; }
export BUILDAH_ISOLATION=chroot
# no mounts: vfs copies
buildah() {
    command buildah --storage-driver vfs --root "$tmp/root" --runroot "$tmp/run" "$@"
}

why=$(make_bare "$tmp/bare") || { skip container "$why"; exit; }
umount "$tmp/bare/proc"

builds() {
    local base
    base=$(buildah from scratch) && buildah add "$base" "$tmp/bare" / && buildah commit "$base" bare &&
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

check "container: builds" builds
[ $failed = 0 ] || exit 1
check "container: scores a picture" scores
check "container: tells its version" tells_version
check "container: asks for the driver" asks_for_driver
check "container: adds at most $((most_bytes / 1000000)) MB" is_small
[ $failed = 0 ]
