#!/usr/bin/env bash
# Tries packages where nothing else but Python is installed: package.sh FILE...
# Each FILE is a tarball or a Debian package. A tarball of the GPL is tried in a container, too. The
# bare system is made by debootstrap, of SUITE (default: that of this system) from MIRROR (default:
# debootstrap's own), or is the folder BARE. It prints a line for each test.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2317
set -u -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"
[ $# -gt 0 ] || { echo "usage: ${0##*/} FILE..." >&2; exit 2; }

PATH=$PATH:/usr/sbin
suite=${SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)}
most_bytes=60000000     # of a file
most_in_container=150   # MB, that is what the project adds to its Debian
most_ms=50              # from the command to its end, of -version
draw="-v error -y -f lavfi -i testsrc2=s=320x240:r=10:d=1,format=yuv420p"
bare=$tmp/bare
trap 'umount "$bare/proc" 2> /dev/null; rm -rf --one-file-system "$tmp"' EXIT

# Puts a bare system with Python there, and a /proc for the loader; or says why it cannot.
make_bare() {
    [ "$(id -u)" = 0 ] || { echo "not root, who alone can chroot"; return 1; }
    if [ "${BARE:-}" ]; then
        cp -a "$BARE" "$bare"
    else
        debootstrap --variant=minbase --include=python3 "$suite" "$bare" ${MIRROR:+"$MIRROR"}
    fi && mount -t proc proc "$bare/proc"
}

inside() {
    chroot "$bare" /usr/bin/env -i PATH="$bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C HOME=/tmp "$@"
}

says() { # pattern command...
    "${@:2}" | tee /dev/stderr | grep -E "$1" > /dev/null
}

has_filters() {
    ! printf '%s\n' {bliinds,blocksmooth,cambi,mad,ssim,vmaf}{,_cuda} |
        grep -vxFf <(inside "$ffmpeg" -v error -filters | awk '{ print $2 }') | grep .
}

scores() { # ffmpeg, as a command
    # shellcheck disable=SC2086
    says '^n:1 .* score:[0-9.]+ .* valid:1 ' "$@" $draw -vf gblur=2,bliinds=model=vmaf1_est5:f=- -f null -
}

encodes() {
    local encoder
    for encoder in mpeg4 libsvtav1 $([ "$licence" = lgpl ] || echo libx264 libx265); do
        # shellcheck disable=SC2086
        inside "$ffmpeg" $draw -c:v "$encoder" /tmp/out.mkv &&
            inside "$ffprobe" -v error -show_entries stream=codec_name /tmp/out.mkv || return
    done
}

# The command that it prints begins with an ffmpeg that a user can start.
finds_crf() {
    # shellcheck disable=SC2086
    inside "$ffmpeg" $draw -c:v ffv1 /tmp/in.mkv &&
        says '^(/usr/lib/ffmpeg-quality/bin/)?ffmpeg -nostdin -i /tmp/in\.mkv .*-crf' \
            inside ffcrf -i /tmp/in.mkv -c:v libsvtav1 -preset:v 8 --target-ssim 0.97
}

# FFmpeg says what it was configured with.
licensed() {
    local found=lgpl
    inside "$ffmpeg" -v error -buildconf > "$tmp/buildconf" || return
    ! grep -e --enable-gpl "$tmp/buildconf" || found=gpl
    [ $found = "$licence" ] && ! grep nonfree "$tmp/buildconf"
}

# The least of ten: what else runs here is not to count.
starts() {
    local began least=999999 took
    for _ in {1..10}; do
        began=${EPOCHREALTIME/./}
        inside "$ffmpeg" -version > /dev/null || return
        took=$((${EPOCHREALTIME/./} - began))
        least=$((took < least ? took : least))
    done
    echo "$((least / 1000)) ms"
    [ "$least" -le $((most_ms * 1000)) ]
}

# Nothing of the system's FFmpeg is touched.
beside() {
    dpkg-deb -c "$path" | awk '{ print $6 }' | sed 's,^\.,,' > "$tmp/list" && [ -s "$tmp/list" ] &&
        ! grep -vE '^/(usr/(bin/(ffmpeg-quality|ffprobe-quality|ffcrf|quality-[a-z]+|bliinds-convert-release)?|lib/(ffmpeg-quality/.*)?|share/.*)?)?$' \
            "$tmp/list"
}

try() {
    local what=$system,\ $file
    case $file in *-lgpl[_.]*) licence=lgpl ;; *) licence=gpl ;; esac
    case $file in
    *.deb)
        bin=/usr/bin ffmpeg=ffmpeg-quality ffprobe=ffprobe-quality
        check "$what: is beside the system's FFmpeg" beside
        cp "$path" "$bare/tmp/package.deb"
        check "$what: installs" inside dpkg --force-depends -i /tmp/package.deb ;;
    *)
        bin=/opt/${file%.tar.gz}/bin ffmpeg=ffmpeg ffprobe=ffprobe
        mkdir -p "$bare/opt"
        check "$what: unpacks" tar -C "$bare/opt" -xf "$path" ;;
    esac
    check "$what: is small" test "$(stat -c %s "$path")" -le "$most_bytes"
    check "$what: has the filters" has_filters
    check "$what: scores a picture" scores inside "$ffmpeg"
    check "$what: encodes" encodes
    check "$what: finds a CRF" finds_crf
    check "$what: has a licence as its name says" licensed
    check "$what: tells its version" \
        says "^ffcrf $(grep -oE '[0-9]+(\.[0-9]+)+' <<< "$file" | sed q)\b" inside ffcrf --version
    check "$what: starts in $most_ms ms" starts
    echo "        $(stat -c %s "$path") bytes, starts in $(cat "$tmp/out")"
    case $file in
    *.deb) check "$what: is removed" inside dpkg --purge "$(dpkg-deb -f "$path" Package)" ;;
    *)     rm -r "$bare/opt/"* ;;
    esac
}

# ---- the container of the tarball ----

# no mounts: vfs copies
export BUILDAH_ISOLATION=chroot
buildah() {
    command buildah --storage-driver vfs --root "$tmp/root" --runroot "$tmp/run" "$@"
}

builds() {
    local base
    base=$(buildah from scratch) && buildah add "$base" "$bare" / && buildah commit "$base" bare &&
        buildah build --build-arg BASE=localhost/bare --build-arg PACKAGES= \
            -f "$root/Containerfile" -t tried "$root" &&
        buildah from --name container localhost/tried
}

adds_little() {
    local mounted
    mounted=$(buildah mount container) && du -sm "$mounted/opt" &&
        [ "$(du -sm "$mounted/opt" | cut -f 1)" -le "$most_in_container" ]
}

try_container() {
    type -P buildah > /dev/null || { skip container "no buildah"; return; }     # not the function
    umount "$bare/proc"
    check "container: builds" builds
    [ "$(buildah containers -q --filter name=container)" ] || return
    check "container: scores a picture" scores buildah run container ffmpeg
    check "container: tells its version" \
        says "^ffcrf $(cat "$root/VERSION")$" buildah run container ffcrf --version
    check "container: asks for the driver" says 'DRIVER_CAPABILITIES=video,compute,utility' \
        buildah inspect --format '{{.OCIv1.Config.Env}}' container
    check "container: adds at most $most_in_container MB" adds_little
}

make_bare > "$tmp/log" 2>&1 || { skip packages "$(tail -n 1 "$tmp/log")"; exit; }
system=$(sed -n 's/^PRETTY_NAME=//p' "$bare/etc/os-release" | tr -d '"')
for path; do
    file=$(basename "$path")
    try
done
[[ $* != *-linux-gpl.tar.gz* ]] || try_container
[ $failed = 0 ]
