#!/usr/bin/env bash
# Builds the filters for Windows by mingw-w64 in build/mingw, and tries them where wine is
# installed: checkasm, and logs that have to be those of the build for this system.
# Prints a line for each test, and fails if one does.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2317 source=scripts/common.sh
. "$(dirname "$0")/common.sh"

"$scripts/deps.sh" mingw
command -v x86_64-w64-mingw32-gcc > /dev/null ||
    die "there is no mingw-w64 here" "install gcc-mingw-w64-x86-64-posix"
native=$("$scripts/build.sh")
lock
src=$("$scripts/fetch.sh" ffmpeg)
tree=$build/tree/$("$scripts/overlay.sh" release "$src")
dir=$build/mingw
mkdir -p "$dir"
cd "$dir"

logged "configure" configure.log "$tree/configure" --cross-prefix=x86_64-w64-mingw32- --arch=x86_64 \
    --target-os=mingw32 --extra-ldflags=-static --disable-everything --disable-autodetect \
    --disable-doc --disable-ffplay --disable-debug \
    --enable-filter=bliinds,blocksmooth,mad,vmaf,testsrc2,noise,format,scale,null,nullsink \
    --enable-decoder=h264,hevc,mpeg4,mpeg2video,rawvideo,wrapped_avframe \
    --enable-demuxer=mov,matroska,mpegts,h264,hevc,rawvideo --enable-bsf=quantizer_metadata \
    --enable-encoder=rawvideo,wrapped_avframe --enable-muxer=null,framecrc \
    --enable-protocol=file,pipe --enable-indev=lavfi
logged "make" make.log make -j"$(nproc)" ffmpeg.exe ffprobe.exe tests/checkasm/checkasm.exe
echo "PASS    build for Windows"

wine=$(command -v wine64 || command -v wine || ls /usr/lib/wine/wine64 2> /dev/null) ||
    { echo "SKIPPED what was built for Windows: no wine"; exit; }
export WINEDEBUG=-all WINEPREFIX=$dir/wine
"$wine" ffmpeg.exe -version > wine.log 2>&1 < /dev/null || die "wine does not run ffmpeg.exe" "see $dir/wine.log"
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"

drawn="testsrc2=s=322x182:d=0.4,format=yuv420p"
frames() { # graph, program...
    "${@:2}" -nostdin -v error -f lavfi -i "${drawn/,/,noise=alls=20:all_seed=3,}" -f lavfi \
        -i "$drawn" -lavfi "$1" -f null - | tr -d '\r'
}

same_log() { # graph
    frames "$1" "$native/ffmpeg" > native.log && [ -s native.log ] &&
        frames "$1" "$wine" ffmpeg.exe | diff native.log -
}

check "checkasm of bliinds" "$wine" tests/checkasm/checkasm.exe --test=vf_bliinds
check "bliinds" same_log "[0]bliinds=features=1:stats_file=-;[1]nullsink"
for filter in mad vmaf; do
    check "$filter" same_log "[0][1]$filter=stats_file=-"
done
[ $failed = 0 ]
