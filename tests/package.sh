#!/usr/bin/env bash
# Tries packages where nothing else is installed: package.sh [-s SUITE] [-m MIRROR] [-r FOLDER] FILE...
# Each FILE is a tarball or a Debian package; the options are those of bare.sh.
# It prints a line for each test.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2317,SC2034 source=tests/bare.sh
operands=FILE...
. "$(dirname "$0")/bare.sh"
[ $# -gt 0 ] || usage

most_bytes=60000000     # of a file
most_ms=50              # from the command to its end, of -version
draw="-v error -y -f lavfi -i testsrc2=s=320x240:r=10:d=1,format=yuv420p"
bare=$tmp/bare

inside() {
    chroot "$bare" /usr/bin/env -i PATH="$bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C HOME=/tmp "$@"
}

small_enough() {
    [ "$(stat -c %s "$path")" -le "$most_bytes" ]
}

has_filters() {
    printf '%s\n' {bliinds,blocksmooth,mad,ssim,vmaf}{,_cuda} |
        grep -vxFf <(inside "$ffmpeg" -v error -filters | awk '{ print $2 }') | grep . && return 1
    inside "$ffmpeg" -v error -filters > /dev/null
}

# The picture is drawn, and the score the same wherever it runs.
scores() {
    # shellcheck disable=SC2086
    inside "$ffmpeg" $draw -vf trim=end_frame=1,gblur=2,bliinds=f=- -f null - |
        tee "$tmp/score" /dev/stderr | grep -qE '^n:1 .* score:[0-9.]+ .* valid:1 ' &&
        [ "$(wc -l < "$tmp/score")" = 1 ]
}

encodes() {
    local encoder
    for encoder in mpeg4 libsvtav1 $([ "$licence" = lgpl ] || echo libx264 libx265); do
        # shellcheck disable=SC2086
        inside "$ffmpeg" $draw -c:v "$encoder" /tmp/out.mkv &&
            inside "$ffprobe" -v error -show_entries stream=codec_name /tmp/out.mkv || return
    done
    [ "$licence" = gpl ] || ! inside "$ffmpeg" -v error -encoders | grep -E 'libx26[45]'
}

# The command that it prints begins with an ffmpeg that a user can start.
finds_crf() {
    # shellcheck disable=SC2086
    inside "$ffmpeg" $draw -c:v ffv1 /tmp/in.mkv &&
        inside ffcrf -i /tmp/in.mkv -c:v libsvtav1 -preset:v 8 --target-ssim 0.97 |
        tee /dev/stderr |
        grep -qE '^(/usr/lib/ffmpeg-quality/bin/)?ffmpeg -nostdin -i /tmp/in\.mkv .*-crf'
}

# FFmpeg says what it was configured with.
licensed() {
    inside "$ffmpeg" -v error -buildconf > "$tmp/buildconf" && ! grep nonfree "$tmp/buildconf" &&
        case $licence in
        gpl)  grep -e --enable-gpl "$tmp/buildconf" ;;
        lgpl) ! grep -e --enable-gpl "$tmp/buildconf" ;;
        esac
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

# A system without Python says so itself; the rest of a tool's needs are its own to tell.
versions() {
    local tool wanted
    wanted=$(grep -oE '[0-9]+(\.[0-9]+)+' <<< "$file" | sed -n 1p)
    for tool in ffcrf $(inside sh -c 'command -v python3' > /dev/null && echo quality-{compare,farm,gate,report}); do
        inside "$tool" --version | tee /dev/stderr | grep -q "^$tool $wanted\b" || return
    done
}

# Nothing of the system's FFmpeg is touched.
beside() {
    dpkg-deb -c "$path" | awk '{ print $6 }' | sed 's,^\.,,' > "$tmp/list" && [ -s "$tmp/list" ] &&
        ! grep -E '^/(usr/)?(s?bin|lib/x86_64-linux-gnu|include)/(ff(mpeg|probe|play)$|lib)' "$tmp/list" &&
        ! grep -vE '^/(usr/(bin/(ffmpeg-quality|ffprobe-quality|ffcrf|quality-[a-z]+|bliinds-convert-release)?|lib/(ffmpeg-quality/.*)?|share/.*)?)?$' \
            "$tmp/list"
}

try_bare() {
    local what=$system,\ $file
    case $file in *-lgpl[_.]*) licence=lgpl ;; *) licence=gpl ;; esac
    case $file in
    *.deb)
        bin=/usr/bin ffmpeg=ffmpeg-quality ffprobe=ffprobe-quality
        check "$what: is beside the system's FFmpeg" beside
        cp "$path" "$bare/tmp/package.deb"
        # a bare system has no Python
        check "$what: installs" inside dpkg --force-depends -i /tmp/package.deb ;;
    *)
        bin=/opt/${file%.tar.gz}/bin ffmpeg=ffmpeg ffprobe=ffprobe
        mkdir -p "$bare/opt"
        check "$what: unpacks" tar -C "$bare/opt" -xf "$path" ;;
    esac
    check "$what: is small" small_enough
    check "$what: has the filters" has_filters
    check "$what: scores a picture" scores
    check "$what: encodes" encodes
    check "$what: finds a CRF" finds_crf
    check "$what: has a licence as its name says" licensed
    check "$what: tells its version" versions
    check "$what: starts in $most_ms ms" starts
    echo "        $(stat -c %s "$path") bytes, starts in $(cat "$tmp/out")"
    [ $ffmpeg = ffmpeg ] ||
        check "$what: is removed" inside dpkg --purge "$(dpkg-deb -f "$path" Package)"
}

for path; do
    file=$(basename "$path")
    if [ -d "$bare" ] || why=$(make_bare "$bare"); then
        system=$(sed -n 's/^PRETTY_NAME=//p' "$bare/etc/os-release" | tr -d '"')
        try_bare
    else
        skip "$file" "$why"
    fi
done
[ $failed = 0 ]
