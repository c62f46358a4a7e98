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

bare=$tmp/bare

inside() {
    chroot "$bare" /usr/bin/env -i PATH="$bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C HOME=/tmp "$@"
}

small_enough() {
    stat -c %s "$1"
    [ "$(stat -c %s "$1")" -le "$most_bytes" ]
}

has_filters() {
    inside "$ffmpeg" -v error -filters > "$tmp/filters" || return
    local filter missing=0
    for filter in bliinds{,_cuda} blocksmooth{,_cuda} detailloss{,_cuda} mad{,_cuda} ssim{,_cuda} vmaf; do
        grep -q " $filter " "$tmp/filters" || { echo "no $filter"; missing=1; }
    done
    return "$missing"
}

# The picture is drawn, and the score the same wherever it runs.
scores() {
    inside "$ffmpeg" -v error -f lavfi -i testsrc2=s=320x240:r=1:d=1,format=yuv420p,gblur=2 \
        -vf bliinds=stats_file=- -f null - > "$tmp/score" || return
    cat "$tmp/score"
    grep -qE '^n:1 .* score:[0-9.]+ .* valid:1 ' "$tmp/score" && [ "$(wc -l < "$tmp/score")" = 1 ]
}

encodes() {
    local encoder
    for encoder in mpeg4 libsvtav1 $([ "$licence" = lgpl ] || echo libx264 libx265); do
        inside "$ffmpeg" -v error -y -f lavfi -i testsrc2=s=320x240:r=10:d=1,format=yuv420p \
            -c:v "$encoder" /tmp/out.mkv || return
        inside "$ffprobe" -v error -show_entries stream=codec_name /tmp/out.mkv || return
    done
    ! { [ "$licence" = lgpl ] && inside "$ffmpeg" -v error -encoders | grep -E 'libx26[45]'; }
}

# The command that it prints begins with an ffmpeg that a user can start.
finds_crf() {
    inside "$ffmpeg" -v error -y -f lavfi -i testsrc2=s=320x240:r=10:d=1,format=yuv420p -c:v ffv1 /tmp/in.mkv &&
        inside ffcrf -i /tmp/in.mkv -c:v libsvtav1 -preset:v 8 --target-ssim 0.97 > "$tmp/crf" || return
    cat "$tmp/crf"
    grep -qE '^(/usr/lib/ffmpeg-quality/bin/)?ffmpeg -nostdin -i /tmp/in\.mkv .*-crf' "$tmp/crf"
}

# FFmpeg says what it was configured with.
licensed() {
    inside "$ffmpeg" -v error -buildconf > "$tmp/buildconf" || return
    ! grep nonfree "$tmp/buildconf" || return
    case $licence in
    lgpl) ! grep -e --enable-gpl "$tmp/buildconf" ;;
    gpl)  grep -e --enable-gpl "$tmp/buildconf" ;;
    esac
}

# The least of ten: what else runs here is not to count.
starts() { # program
    local began ended least=999999
    for _ in {1..10}; do
        began=$(date +%s%N)
        inside "$1" -version > /dev/null || return
        ended=$(date +%s%N)
        least=$(((ended - began) / 1000 < least ? (ended - began) / 1000 : least))
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
beside() { # deb
    dpkg-deb -c "$1" | awk '{ print $6 }' | sed 's,^\.,,' > "$tmp/list" &&
        [ -s "$tmp/list" ] &&
        ! grep -E '^/(usr/)?(s?bin|lib/x86_64-linux-gnu|include)/(ff(mpeg|probe|play)$|lib)' "$tmp/list" &&
        ! grep -vE '^/(usr/(bin/(ffmpeg-quality|ffprobe-quality|ffcrf|quality-[a-z]+|bliinds-convert-release)?|lib/(ffmpeg-quality/.*)?|share/.*)?)?$' \
            "$tmp/list"
}

# Makes it once; fails, and says SKIPPED, where that cannot be.
bare_system() {
    local why
    [ -d "$bare" ] || why=$(make_bare "$bare") || { echo "SKIPPED $file: $why"; return 1; }
    system=$(sed -n 's/^PRETTY_NAME=//p' "$bare/etc/os-release" | tr -d '"')
}

try_bare() { # path
    case $file in
    *.deb)
        case $file in *-lgpl_*) licence=lgpl ;; *) licence=gpl ;; esac
        bin=/usr/bin ffmpeg=ffmpeg-quality ffprobe=ffprobe-quality
        check "$system, $file: is beside the system's FFmpeg" beside "$1"
        cp "$1" "$bare/tmp/package.deb"
        # a bare system has no Python
        check "$system, $file: installs" inside dpkg --force-depends -i /tmp/package.deb ;;
    *)
        case $file in *-lgpl.*) licence=lgpl ;; *) licence=gpl ;; esac
        mkdir -p "$bare/opt"
        check "$system, $file: unpacks" tar -C "$bare/opt" -xf "$1"
        bin=/opt/${file%.tar.gz}/bin ffmpeg=ffmpeg ffprobe=ffprobe ;;
    esac
    check "$system, $file: is small" small_enough "$1"
    check "$system, $file: has the filters" has_filters
    check "$system, $file: scores a picture" scores
    check "$system, $file: encodes" encodes
    check "$system, $file: finds a CRF" finds_crf
    check "$system, $file: has a licence as its name says" licensed
    check "$system, $file: tells its version" versions
    check "$system, $file: starts in $most_ms ms" starts "$ffmpeg"
    echo "        $(stat -c %s "$1") bytes, starts in $(cat "$tmp/out")"
    if [ "$bin" = /usr/bin ]; then
        check "$system, $file: is removed" inside dpkg --purge "$(dpkg-deb -f "$1" Package)"
    fi
}

for path; do
    file=$(basename "$path")
    bare_system && try_bare "$path"
done
[ $failed = 0 ]
