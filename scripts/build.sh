#!/usr/bin/env bash
# Builds FFmpeg with our filters, in build/SERIES-PROFILE; prints that folder. The PROFILE
#   lean         has what people meet and builds fast
#   full         all of FFmpeg
#   fuzz         the fuzzers and no more, with clang's sanitizers
#   lgpl, gpl    what make package packs: lean, with more formats and without TLS
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

profile=${PROFILE:-lean}
case $profile in
lean | full | fuzz | lgpl | gpl) ;;
*) die "PROFILE=$profile is not known" "the profiles are lean, full, fuzz, lgpl and gpl" ;;
esac

# Our own filters: the one list of them is Makefile.snippet.
our_filters() {
    # shellcheck disable=SC2016
    sed -n 's/^OBJS-\$(CONFIG_\([A-Z0-9_]*\)_FILTER).*/\L\1/p' "$root/Makefile.snippet" | sort -u
}

# The lean parts, a kind a line. Those with a * are only in packages.
lean() {
    cat << END
decoder h264 mpeg1video mpeg2video mpeg4 mjpeg png pgm ppm ffv1 rawvideo wrapped_avframe pcm_s16le aac
decoder hevc vvc vp8 vp9 av1 libdav1d h263 msmpeg4v2 msmpeg4v3 flv vc1 wmv3 prores dnxhd bmp gif pbm pgmyuv
decoder tiff huffyuv ffvhuff utvideo v210 aac_latm ac3 eac3 dca truehd mp2float mp3float opus vorbis
decoder flac alac wmav2 amrnb pcm_s16be pcm_s24le pcm_s24be pcm_s32le pcm_f32le pcm_u8 pcm_alaw
decoder pcm_mulaw pcm_bluray pcm_dvd adpcm_ms adpcm_ima_wav adpcm_ima_qt subrip ass movtext webvtt
decoder dvvideo wmv1 wmv2 theora
encoder rawvideo wrapped_avframe ffv1 png mjpeg mpeg1video mpeg2video mpeg4 pgm ppm libx264 pcm_s16le aac
encoder huffyuv prores_ks libx265 libsvtav1 libaom_av1 h264_nvenc hevc_nvenc av1_nvenc ac3 mp2
encoder subrip ass movtext webvtt
hwaccel h264_nvdec hevc_nvdec av1_nvdec vp8_nvdec vp9_nvdec mpeg1_nvdec mpeg2_nvdec mpeg4_nvdec
hwaccel vc1_nvdec wmv3_nvdec mjpeg_nvdec
parser h264 mpegvideo mpeg4video mjpeg png pnm ffv1 aac
parser hevc vvc vp8 vp9 av1 h263 vc1 dnxhd bmp gif prores aac_latm ac3 dca mlp mpegaudio opus vorbis flac amr
bsf h264_mp4toannexb extract_extradata mpeg4_unpack_bframes noise null quantizer_metadata trace_headers
bsf hevc_mp4toannexb vp9_superframe vp9_superframe_split av1_frame_merge av1_frame_split
demuxer mov matroska mpegts mpegvideo avi nut h264 m4v mjpeg yuv4mpegpipe rawvideo image2 image2pipe
demuxer image_png_pipe image_jpeg_pipe image_pgm_pipe image_ppm_pipe concat ffmetadata wav
demuxer mpegps flv asf mxf ivf obu hevc vvc vc1 image_pgmyuv_pipe image_bmp_pipe image_tiff_pipe gif srt
demuxer hls rtsp sdp rtp ogg dv
muxer null framecrc framemd5 md5 hash crc mov mp4 matroska mpegts avi yuv4mpegpipe rawvideo image2
muxer image2pipe h264 nut mpeg2video
muxer webm hevc ivf mpeg1system mpeg1video mpeg2vob hls segment stream_segment
protocol file pipe fd md5 udp rtp tcp http crypto
indev lavfi
filter testsrc testsrc2 smptebars color nullsrc mandelbrot rgbtestsrc life gradients noise
filter scale crop pad extractplanes format noformat null copy split metadata showinfo select sidedata drawgraph
filter avgblur gblur unsharp geq lut lutyuv negate fillborders drawbox transpose hflip vflip rotate
filter ssim psnr xpsnr signalstats siti blurdetect blockdetect scdet blackdetect
filter setpts settb fps trim tpad loop reverse framestep tile hstack vstack xstack concat interleave overlay
filter setsar setdar setfield setrange setparams yadif bwdif codecview deblock movie buffer buffersink
filter nullsink blend sendcmd streamselect thumbnail realtime libvmaf tonemap freezedetect
filter aresample aformat anull atrim asetpts anullsrc sine
filter hwupload hwdownload hwmap hwupload_cuda scale_cuda bwdif_cuda
filter $(our_filters | xargs)
*decoder vp6 vp6f vp7 mjpegb msmpeg4v1 rv30 rv40 cinepak svq1 svq3 cfhd
*decoder jpeg2000 jpegls hap qtrle rpza magicyuv webp dpx exr dvbsub dvdsub pgssub wmapro adpcm_ima_ws
*encoder dnxhd flac dvbsub gif utvideo v210
*parser cavsvideo dvbsub dvdsub jpeg2000 rv34 webp h261
*bsf aac_adtstoasc dump_extradata setts remove_extradata filter_units h264_metadata hevc_metadata
*demuxer mp3 aac ac3 flac rm av1 mjpeg_2000 vobsub ass webvtt caf live_flv
*muxer adts flac wav ogg tee rtp rtp_mpegts flv mxf ipod gif webvtt srt
*protocol rtmp unix concat data cache async subfile
*filter colorspace idet cropdetect vfrdet telecine fieldmatch decimate
*filter minterpolate hqdn3d atadenoise unsharp entropy greyedge histogram waveform ametadata volume
END
}

# The compilers that can make PTX, the newest first.
clangs() {
    # shellcheck disable=SC2046
    type -P $(compgen -c clang | grep -xE 'clang(-[0-9]+)?' | sort -urV)
}

# Of a compiler that has libFuzzer and the sanitizers; they are packages of their own. Comparisons
# are not traced: the transforms would take twice as long.
fuzz_arguments() {
    local compiler sanitizers=address,undefined,float-cast-overflow
    for compiler in $(clangs) none; do
        ! "$compiler" -fsanitize=fuzzer,address,undefined -x c -o /dev/null - 2> /dev/null \
            <<< 'int LLVMFuzzerTestOneInput(void *data, long size) { return 0; }' || break
    done
    [ "$compiler" != none ] ||
        die "no clang here has libFuzzer" "install libclang-rt-VERSION-dev of your clang"
    printf '%s\n' --disable-everything --disable-autodetect --disable-doc --disable-programs \
        --disable-avdevice --disable-avformat --disable-swscale --disable-swresample \
        --disable-x86asm --enable-filter=bliinds,blocksmooth,cambi,mad,vmaf,buffer,buffersink \
        --enable-bsf=quantizer_metadata "--cc=$compiler" \
        --disable-debug --optflags=-O2 "--extra-cflags=-gline-tables-only \
-fsanitize=fuzzer-no-link,$sanitizers -fno-sanitize=function -fno-sanitize-recover=all \
-fno-sanitize-coverage=trace-cmp" "--extra-ldflags=-fsanitize=$sanitizers" --libfuzzer=-fsanitize=fuzzer
}

configure_arguments() {
    local kind names clang
    if [ "$profile" = fuzz ]; then
        fuzz_arguments
        return
    fi
    if [ "$profile" != full ]; then
        printf '%s\n' --disable-everything --disable-autodetect --disable-ffplay --disable-debug --enable-zlib
        case $profile in
        lean) printf '%s\n' --disable-doc --assert-level=2; lean | grep -v '^[*]' ;;
        *)    printf '%s\n' --disable-{html,pod,txt}pages; lean | tr -d '*' ;;
        esac | while read -r kind names; do
            echo "${names:+--enable-}$kind${names:+=${names// /,}}"
        done
    fi
    [[ $profile = *gpl ]] || ! pkg-config --exists gnutls || printf '%s\n' --enable-gnutls --enable-protocol=https,tls
    ! pkg-config --exists SvtAv1Enc || echo --enable-libsvtav1
    ! pkg-config --exists aom || echo --enable-libaom
    ! pkg-config --exists dav1d || echo --enable-libdav1d
    for names in x264 x265; do
        [ "$profile" = lgpl ] || ! pkg-config --exists $names ||
            printf '%s\n' --enable-gpl "--enable-lib$names"
    done
    clang=$(clangs | sed -n 1p)
    if pkg-config --exists ffnvcodec && [ "$clang" ]; then
        printf '%s\n' --enable-ffnvcodec --enable-cuda --enable-cuvid --enable-nvdec \
            --enable-nvenc --enable-cuda-llvm "--nvcc=$clang"
    fi
    echo --enable-libvmaf-compat
    echo "--prefix=${PREFIX:-/usr/local}"
}

# Installs the headers of the CUDA loader beside the builds; prints where their
# pkg-config file is, or nothing when they cannot be had.
ffnvcodec() {
    local headers
    headers=$("$scripts/fetch.sh" nv-codec-headers)
    if [ -f "$headers/Makefile" ]; then
        [ -d "$build/ffnvcodec/lib/pkgconfig" ] ||
            make -s -C "$headers" install PREFIX="$build/ffnvcodec" >&2
        echo "$build/ffnvcodec/lib/pkgconfig"
    else
        say "note: no nv-codec-headers here, so this build has no CUDA filters"
    fi
}

# Runs configure if its arguments, or the files that it reads of the tree, have changed. If it fails, the
# build stays usable. A build of another tree, whose objects may be newer than the files of this one, is
# replaced after configure has succeeded.
configure() { # arguments...
    local stamp place=$dir
    stamp=$(printf '%s\n' "$src" "$@" && cd "$tree" &&
        sha256sum configure libav*/all*.c libavcodec/parsers.c libavformat/protocols.c \
            libavcodec/bitstream_filters.c libavcodec/hwaccels.h)
    # A newer config.mak was written by a configure that was interrupted, or that the user ran.
    [ "$stamp" != "$(cat .configured 2> /dev/null)" ] || [ ffbuild/config.mak -nt .configured ] || return 0
    [ "$(head -n 1 .configured 2> /dev/null)" = "$src" ] || place=$dir.new
    say "configuring FFmpeg $series, profile $profile (log: $place/configure.log)"
    [ "$place" = "$dir" ] || rm -rf "$place"
    mkdir -p "$place"
    cd "$place"
    logged "configure" configure.log "$tree/configure" "$@"
    # It is left as it is when it would not change, and make takes it for older than
    # what it is made of: each time, what includes it would be compiled again.
    touch config_components.h
    echo "$stamp" > .configured
    [ "$place" = "$dir" ] || { rm -rf "$dir" && mv "$place" "$dir" && cd "$dir"; }
}

lock
jobs=(build)
[ "$profile" != full ] || jobs+=(full)
"$scripts/deps.sh" "${jobs[@]}"
src=$("$scripts/fetch.sh" ffmpeg)
series=$("$scripts/overlay.sh" release "$src")
tree=$build/tree/$([ "${FFMPEG_SRC:-}" ] && echo user || echo "$series")
mkdir -p "$build/tree"
"$scripts/overlay.sh" tree "$src" "$tree"
PKG_CONFIG_PATH=$(ffnvcodec)${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
# A tree without .git of its own must not take its version from this project's.
export GIT_CEILING_DIRECTORIES=$build

dir=$build/$(basename "$tree")-$profile
mkdir -p "$dir"
cd "$dir"
arguments=$(configure_arguments)
mapfile -t arguments <<< "$arguments"
# The user's own come last and are split as a shell would.
eval "arguments+=(${FFMPEG_CONFIGURE:-})" 2> /dev/null ||
    die "FFMPEG_CONFIGURE=$FFMPEG_CONFIGURE is not what a shell can split" "see to its quotes"
configure "${arguments[@]}"

# A filter whose needs are not met is only warned about, and nonfree would make
# the result one that nobody may pass on.
for filter in $(our_filters); do
    grep -qx "CONFIG_${filter^^}_FILTER=yes" ffbuild/config.mak ||
        case $filter in
        *_compat) ;; # libvmaf's own filters may have these names
        *_cuda) [ "$profile" = fuzz ] || say "note: this build has no $filter" ;;
        *)      die "FFmpeg's configure has left $filter out" "see $dir/configure.log" ;;
        esac
done
case " ${FFMPEG_CONFIGURE:-} " in
*" --enable-nonfree "*) say "note: nonfree by your own flags: this build must not be passed on" ;;
*) grep -qx 'CONFIG_NONFREE=yes' ffbuild/config.mak && die "this build came out nonfree" ;;
esac

targets=(all)
[ "$profile" != fuzz ] || targets=(EXTRA=yes fuzzers)
steps=$(make -n "${targets[@]}" 2> /dev/null | grep -c '^printf') || true
say "building FFmpeg $series, profile $profile: $steps steps (log: $dir/make.log)"
logged "make" make.log make -j"$(nproc)" "${targets[@]}"
say "ready: $dir/$([ "$profile" = fuzz ] && echo tests/extra/fuzz || echo ffmpeg)"
echo "$dir"
