#!/bin/sh
# Checks and times the filters for CUDA frames where there is a GPU:
#
#   tests/gpu.sh FFMPEG CLIP...
#
# FFMPEG is any build with the filters; clips are H.264 and HEVC, of 8 and of 10
# bits, the first HEVC and the first H.264 one are timed. What is done:
#
#   CHECKS=1    scores of the GPU are those of the CPU, byte by byte
#   TIMES=1     frames per second, start-up, memory, and the host's time; of
#               bliinds_cuda also parts: TIMES="one ten seven beside start memory"
#   NCU=1       time of the GPU per frame, by Nsight Compute
#   SANITIZE=1  compute-sanitizer's four tools
#   SOAK=1      a million frames, and 1,000 filters in a row, in constant memory
#
# The first three if none is given. More variables:
#
#   FILTERS="bliinds blocksmooth detailloss mad ssim farm ffcrf"   which filters; farm is quality-farm, ffcrf
#                 the search for a CRF
#   FRAMES=6000   of each run that is timed, at least 5000 for a result
#   RUNS=3        of each, medians are printed
#   LIMIT=300     seconds that a command may take
#   SOAKED=1000000   frames of SOAK
#
# The exit status is 1 if a check failed, and 77 if there is no GPU to use.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086
set -u
export LC_ALL=C

if [ $# -lt 1 ]; then
    sed -n '2,/^# SPDX/{/SPDX/d;s/^# \{0,1\}//;p;}' "$0"
    exit 2
fi
ffmpeg=$1
shift
if [ -z "${CHECKS:-}${TIMES:-}${NCU:-}${SANITIZE:-}${SOAK:-}" ]; then
    CHECKS=1 TIMES=1 NCU=1
fi
filters=${FILTERS:-bliinds blocksmooth detailloss mad ssim farm ffcrf}
frames=${FRAMES:-6000}
runs=${RUNS:-3}
limit=${LIMIT:-300}
soaked=${SOAKED:-1000000}
decode="-hwaccel cuda -hwaccel_output_format cuda"
null="-f null -"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0
: > "$tmp/table"

# ---- tools ----

pass() { # name
    passed=$((passed + 1))
    echo "PASS    $1"
}

fail() { # name [file with the reason]
    failed=$((failed + 1))
    echo "FAIL    $1"
    [ -z "${2:-}" ] || tail -n 5 "$2" | sed 's/^/        /'
}

skip() { # name reason
    skipped=$((skipped + 1))
    echo "SKIPPED $1: $2"
}

row() { # what value
    printf '%-62s %s\n' "$1" "$2" | tee -a "$tmp/table"
}

# Files of an older run are there still where this one fails: what compares asks for ff_status.
ff() {
    timeout "$limit" "$ffmpeg" -nostdin -hide_banner -v error -y "$@" 2> "$tmp/err"
    ff_status=$?
    return $ff_status
}

now() {
    date +%s.%N
}

calc() { # format expression
    awk "BEGIN { printf(\"$1\", $2) }"
}

median() { # of lines
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

same() { # name file file
    if [ "$ff_status" = 0 ] && [ -s "$2" ] && cmp -s "$2" "$3"; then
        pass "$1, $(wc -l < "$2") lines"
    else
        diff "$2" "$3" > "$tmp/diff" 2>&1
        cat "$tmp/err" >> "$tmp/diff"
        fail "$1" "$tmp/diff"
    fi
}

gpu_memory() { # MiB used
    nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i "${CUDA_VISIBLE_DEVICES:-0}" | head -n 1
}

# ---- what there is ----

if ! ff -init_hw_device cuda -f lavfi -i nullsrc=s=64x64:d=0.04 \
        -vf format=nv12,hwupload_cuda,bliinds_cuda -f null -; then
    echo "no usable CUDA device: $(sed -n '1s/^\[[^]]*\] *//p' "$tmp/err")"
    exit 77
fi

has() { # filters|encoders|demuxers|... name
    "$ffmpeg" -v quiet "-$1" | awk -v name="$2" '$2 == name { found = 1 } END { exit !found }'
}

# The format of a clip's frames in GPU memory, as hwdownload needs it.
clip_format() { # clip
    for format in nv12 p010le p012le p016le yuv444p yuv444p10msble yuv444p12msble yuv444p16le nv16 p210le p216le; do
        if ff $decode -i "$1" -an -frames:v 1 -vf hwdownload,format=$format $null; then
            echo $format
            return
        fi
    done
    return 1
}

# Whether there are CUDA frames of a format. The first of these are in all releases, and FFmpeg
# by itself tells of the others.
uploads() { # format name
    case $1 in
    nv12 | p010le | p016le | yuv420p | yuv444p | yuv444p16le) return ;;
    esac
    ff -init_hw_device cuda -f lavfi -i nullsrc=s=64x64:d=0.04 -vf format=$1,hwupload $null || {
        skip "$2" "no CUDA frames of $1 in this FFmpeg"
        return 1
    }
}

codec_of() { # clip
    "$ffmpeg" -nostdin -hide_banner -i "$1" 2>&1 | sed -n 's/.*Video: \([a-z0-9]*\).*/\1/p' | head -n 1
}

head_line() {
    echo "date        $(date -u +%Y-%m-%d)"
    echo "GPU         $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2> /dev/null | head -n 1)"
    echo "host        $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
    "$ffmpeg" -hide_banner -version | head -n 1
    for clip; do
        echo "clip        $(basename "$clip"):$("$ffmpeg" -nostdin -hide_banner -i "$clip" 2>&1 | sed -n 's/.*Video://p' | head -n 1)"
    done
}

# ---- checks ----

# One graph has the GPU's filter and the CPU's.
check_clip() { # clip
    name=$(basename "$1")
    if ! format=$(clip_format "$1"); then
        fail "$name cannot be decoded on the GPU" "$tmp/err"
        return
    fi
    both="bliinds_cuda=features=1:f=$tmp/g,hwdownload,format=$format,bliinds=features=1:f=$tmp/c"
    ff $decode -t 10 -i "$1" -an -vf "$both" $null
    same "$name as $format: GPU and CPU" "$tmp/g" "$tmp/c"
    cp "$tmp/c" "$tmp/expected"
    ff $decode -t 10 -i "$1" -an -vf "$both" $null
    same "$name: once more" "$tmp/expected" "$tmp/g"
    ff $decode -t 10 -i "$1" -an -vf "bliinds_cuda=features=1:queue=1:f=$tmp/g" $null
    same "$name: queue=1" "$tmp/expected" "$tmp/g"
    ff $decode -t 10 -i "$1" -an -vf "bliinds_cuda=features=1:queue=64:f=$tmp/g" $null
    same "$name: queue=64" "$tmp/expected" "$tmp/g"
    ff $decode -extra_hw_frames 16 -hwaccel_flags +unsafe_output -t 10 -i "$1" -an \
        -vf "bliinds_cuda=features=1:f=$tmp/g" $null
    same "$name: +unsafe_output" "$tmp/expected" "$tmp/g"
    if timeout "$limit" "$ffmpeg" -v error -init_hw_device cuda=two:1 -version > /dev/null 2>&1; then
        ff $decode -hwaccel_device 1 -t 10 -i "$1" -an -vf "bliinds_cuda=features=1:f=$tmp/g" $null
        same "$name: on the second GPU" "$tmp/expected" "$tmp/g"
        ff $decode -hwaccel_device 0 -t 10 -i "$1" $decode -hwaccel_device 1 -t 10 -i "$1" \
            -map 0:v -vf "bliinds_cuda=features=1:f=$tmp/g" $null -map 1:v -vf "bliinds_cuda=features=1:f=$tmp/g2" $null
        same "$name: two GPUs in one process, the first" "$tmp/expected" "$tmp/g"
        same "$name: two GPUs in one process, the second" "$tmp/expected" "$tmp/g2"
    fi
}

# The reduced reference: files and losses of both filters. Half a second late, the
# clip is not its own source.
check_rr() { # clip
    name="$(basename "$1"), reduced reference"
    format=$(clip_format "$1") || return
    late="settb=1/1000,setpts=PTS-STARTPTS+500"
    ff $decode -t 10 -i "$1" -an \
        -vf "bliinds_cuda=rr_write=$tmp/g,hwdownload,format=$format,bliinds=rr_write=$tmp/c" $null
    same "$name: files of the GPU and the CPU" "$tmp/c" "$tmp/g"
    for queue in 1 8 64; do
        ff $decode -t 10 -i "$1" -an -vf "bliinds_cuda=rr_write=$tmp/g:queue=$queue" $null
        same "$name: queue=$queue" "$tmp/c" "$tmp/g"
    done
    ff $decode -t 10 -i "$1" -an -vf "$late,bliinds_cuda=rr_read=$tmp/c:f=$tmp/lg" $null
    ff $decode -t 10 -i "$1" -an -vf "hwdownload,format=$format,$late,bliinds=rr_read=$tmp/c:f=$tmp/lc" $null
    same "$name: losses, half a second late" "$tmp/lc" "$tmp/lg"
    ff $decode -t 10 -i "$1" -an -vf "bliinds_cuda=rr_read=$tmp/c:f=$tmp/lg" $null
    if [ "$ff_status" = 0 ] && grep -q 'loss:0\.0' "$tmp/lg" && ! grep -q 'loss:[0-9.]*[1-9]' "$tmp/lg"; then
        pass "$name: nothing is lost against itself"
    else
        fail "$name: a loss against itself" "$tmp/lg"
    fi
}

check_source() { # lavfi-source size format
    name="$1 $2 $3"
    uploads $3 "$name" || return
    ff -noauto_conversion_filters -init_hw_device cuda -f lavfi -i "$1" \
        -filter_complex "[0:v]scale=$2,format=$3,split[a][b];[a]hwupload,bliinds_cuda=features=1:f=$tmp/g[c];[b]bliinds=features=1:f=$tmp/c[d]" \
        -map '[c]' $null -map '[d]' $null
    same "$name" "$tmp/g" "$tmp/c"
}

check_several() { # clip
    name=$(basename "$1")
    ff $decode -t 10 -i "$1" -an -vf "bliinds_cuda=f=$tmp/expected" $null
    ff $decode -t 10 -i "$1" $decode -t 10 -i "$1" $decode -t 10 -i "$1" \
        -map 0:v -vf "bliinds_cuda=f=$tmp/g0" $null -map 1:v -vf "bliinds_cuda=f=$tmp/g1" $null \
        -map 2:v -vf "bliinds_cuda=f=$tmp/g2" $null
    for i in 0 1 2; do
        same "$name: input $i of three in one process" "$tmp/expected" "$tmp/g$i"
    done
    rm -f "$tmp"/g?
    for i in 0 1; do
        timeout "$limit" "$ffmpeg" -nostdin -v error $decode -t 10 -i "$1" -an -vf "bliinds_cuda=f=$tmp/g$i" $null &
    done
    wait
    for i in 0 1; do
        same "$name: process $i of two at once" "$tmp/expected" "$tmp/g$i"
    done
    ff $decode -t 10 -i "$1" -an -filter_complex \
        "[0:v]split[a][b];[a]bliinds_cuda=f=$tmp/g0,bliinds_cuda=f=$tmp/g1[c];[b]bliinds_cuda=f=$tmp/g2[d]" \
        -map '[c]' $null -map '[d]' $null
    for i in 0 1 2; do
        same "$name: instance $i of three in one graph" "$tmp/expected" "$tmp/g$i"
    done
}

# Each part has the scores that it has alone.
check_resize() {
    if has encoders libx264; then
        encoder=libx264 form=h264
    elif has encoders mpeg2video && has muxers mpeg2video; then
        encoder=mpeg2video form=mpeg2video
    else
        skip "size change mid-stream" "this FFmpeg has no encoder libx264 or mpeg2video"
        return
    fi
    : > "$tmp/all"
    : > "$tmp/expected"
    for size in 640x480 352x288 1280x720 640x480; do
        ff -f lavfi -i testsrc2=s=$size:d=0.4 -pix_fmt yuv420p -c:v $encoder -b:v 8M -bf 0 -f $form "$tmp/part" &&
            cat "$tmp/part" >> "$tmp/all"
        ff $decode -i "$tmp/part" -vf "bliinds_cuda=f=$tmp/g" $null
        sed 's/.* score:/score:/' "$tmp/g" >> "$tmp/expected"
    done
    # ffmpeg rebuilds the graph for CUDA frames whatever -reinit_filter says
    ff $decode -i "$tmp/all" -vf "bliinds_cuda=f=$tmp/g" $null
    sed 's/.* score:/score:/' "$tmp/g" > "$tmp/got"
    same "size change mid-stream ($encoder)" "$tmp/expected" "$tmp/got"
}

check_end() {
    source=testsrc2=s=640x360:r=25:d=40
    ff -f lavfi -i $source -vf "format=yuv420p,bliinds=f=$tmp/c" $null
    for queue in 1 8 64; do
        start=$(now)
        ff -f lavfi -i $source -vf "format=yuv420p,hwupload_cuda,bliinds_cuda=queue=$queue:f=$tmp/g" -frames:v 20 $null
        head -n "$(wc -l < "$tmp/g")" "$tmp/c" > "$tmp/expected"
        same "end after 20 frames, queue=$queue" "$tmp/expected" "$tmp/g"
        if [ "$(wc -l < "$tmp/g")" -lt 20 ] || [ "$(calc %d "$(now) - $start")" -gt 20 ]; then
            fail "end after 20 frames, queue=$queue: too few lines, or too late"
        fi
    done
}

refused() { # name message arguments...
    name=$1 message=$2
    shift 2
    ff "$@" $null
    status=$?
    if [ $status != 0 ] && [ $status -lt 256 ] && grep -q -e "$message" "$tmp/err" &&
       ! grep -qi 'assert\|segmentation' "$tmp/err"; then
        case $status in
        124 | 13[2-9]) fail "$name: status $status" "$tmp/err" ;;
        *)             pass "$name: $(grep -o -e "$message.*" "$tmp/err" | head -n 1 | cut -c 1-70)" ;;
        esac
    else
        fail "$name: status $status" "$tmp/err"
    fi
}

checks() {
    for clip; do
        check_clip "$clip"
        check_rr "$clip"
    done
    for size in 4:4 5:5 7:64 64:7 16:9 33:31 70:46 99:97 451:300 1279:719 1920:1080 3841:2161; do
        for format in nv12 p010le; do
            check_source testsrc2=s=960x540:d=0.24 $size $format
        done
    done
    for format in yuv420p yuv444p p016le yuv444p16le p012le yuv422p nv16 p210le p212le p216le \
                  yuv420p10le yuv422p10le yuv444p10le yuv444p10msble yuv444p12msble; do
        check_source mandelbrot=s=320x180,trim=end_frame=10 175:99 $format
    done
    for color in black gray white; do
        check_source color=$color:s=320x180:d=0.4 321:181 nv12
    done
    for range in limited full; do
        check_source mandelbrot=s=320x180,trim=end_frame=5,format=yuv420p,setrange=$range 321:181 p010le
    done
    [ $# -eq 0 ] || check_several "$1"
    check_resize
    check_end
    source="-f lavfi -i testsrc2=s=64x64:d=0.2"
    refused "frames of the CPU" "Impossible to convert\|not have a common format" \
        $source -vf format=nv12,bliinds_cuda
    refused "3x3" "A frame of 3x3 cannot be scored" \
        $source -vf format=yuv444p,crop=3:3,hwupload_cuda,bliinds_cuda
    refused "RGB" "CUDA frames of bgr0 are not supported" \
        $source -vf format=bgr0,hwupload_cuda,bliinds_cuda
    refused "a GPU that is not there" "." \
        -init_hw_device cuda=c:99 $source -vf format=nv12,hwupload,bliinds_cuda
    refused "a full disk" "No space left on device" \
        $source -vf format=nv12,hwupload_cuda,bliinds_cuda=f=/dev/full
    refused "queue=65" "out of range" \
        $source -vf format=nv12,hwupload_cuda,bliinds_cuda=queue=65
}

# ---- checks of mad_cuda ----

# Lines of the GPU's filter agree with those of mad, within 1e-4.
mad_agree() { # name
    if [ "$ff_status" = 0 ] && paste -d ' ' "$tmp/c" "$tmp/g" 2>> "$tmp/err" | awk '
            {
                if (NF != 12)
                    exit bad = 1
                for (i = 1; i <= 6; i++) {
                    split($i, cpu, ":")
                    split($(i + 6), gpu, ":")
                    difference = gpu[2] - cpu[2]
                    # relative, but for values near 0
                    difference = (difference < 0 ? -difference : difference) / (cpu[2] + .01)
                    if (cpu[1] != gpu[1] || gpu[2] !~ /^[0-9.]+$/ || difference > (i > 3 ? 1e-4 : 0)) {
                        print $i, $(i + 6)
                        bad = 1
                    } else if (i > 3 && difference > worst) {
                        worst = difference
                    }
                }
            }
            END {
                printf("%d pairs, largest difference %.1e\n", NR, worst)
                exit bad || !NR
            }' > "$tmp/verdict"; then
        pass "$1: $(cat "$tmp/verdict")"
    else
        cat "$tmp/err" >> "$tmp/verdict"
        fail "$1" "$tmp/verdict"
    fi
}

# A clip, and the same five frames later; then the GPU's filter alone, byte by byte.
mad_clip() { # clip
    name=$(basename "$1")
    if ! format=$(clip_format "$1"); then
        fail "$name cannot be decoded on the GPU" "$tmp/err"
        return
    fi
    down="hwdownload,format=$format"
    later="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS"
    ff $decode -t 2 -i "$1" $decode -t 2 -i "$1" -filter_complex \
        "[0:v]split[a][b];$later,split[c][d];[b]${down}[e];[d]${down}[f];[e][f]mad=f=$tmp/c[g];[a][c]mad_cuda=f=$tmp/g[h]" \
        -map '[g]' $null -map '[h]' $null
    mad_agree "$name as $format: mad_cuda and mad"
    cp "$tmp/g" "$tmp/expected"
    for options in '' queue=1 queue=64; do
        ff $decode -t 2 -i "$1" $decode -t 2 -i "$1" \
            -filter_complex "${later}[r];[0:v][r]mad_cuda=f=$tmp/g${options:+:$options}" $null
        same "$name: mad_cuda alone ${options}" "$tmp/expected" "$tmp/g"
    done
    ff $decode -extra_hw_frames 24 -hwaccel_flags +unsafe_output -t 2 -i "$1" \
        $decode -extra_hw_frames 24 -hwaccel_flags +unsafe_output -t 2 -i "$1" \
        -filter_complex "${later}[r];[0:v][r]mad_cuda=f=$tmp/g" $null
    same "$name: mad_cuda, +unsafe_output" "$tmp/expected" "$tmp/g"
    ff $decode -t 2 -i "$1" -filter_complex "[0:v]split[a][b];[a][b]mad_cuda=f=$tmp/g" $null
    if [ "$ff_status" = 0 ] && grep -q score "$tmp/g" && ! grep -v 'score:0.000000000 hi:0.000000000 lo:0.000000000' "$tmp/g" > "$tmp/verdict"; then
        pass "$name: mad_cuda of itself is 0, $(wc -l < "$tmp/g") lines"
    else
        fail "$name: mad_cuda of itself is 0" "$tmp/verdict"
    fi
}

mad_source() { # main-filter size format
    name="mad_cuda $1 $2 $3"
    uploads $3 "$name" || return
    ff -noauto_conversion_filters -init_hw_device cuda -f lavfi -i testsrc2=s=960x540:d=0.08 \
        -filter_complex "[0:v]scale=$2,format=yuv420p,noise=alls=6,split[m][r];[m]$1,scale,format=$3,split[m1][m2];
                         [r]scale,format=$3,split[r1][r2];[m2]hwupload[m3];[r2]hwupload[r3];
                         [m1][r1]mad=f=$tmp/c[c];[m3][r3]mad_cuda=f=$tmp/g[d]" -map '[c]' $null -map '[d]' $null
    mad_agree "$name"
}

mad_checks() {
    for clip; do
        mad_clip "$clip"
    done
    # 1279 and 719, 2161 and 3841 have large prime factors
    for size in 64:64 65:67 131:64 300:240 451:300 512:512 1279:719 1920:1080 3841:2161; do
        for format in nv12 p010le; do
            mad_source avgblur=1 $size $format
        done
    done
    for format in yuv420p yuv444p p016le yuv444p16le p012le yuv422p nv16 p210le p212le p216le \
                  yuv420p10le yuv422p10le yuv444p10le yuv444p10msble yuv444p12msble; do
        mad_source negate 175:99 $format
    done
    source="testsrc2=s=64x64:d=0.2,format=nv12"
    refused "another size of the reference" "insert scale_cuda=" \
        -init_hw_device cuda -filter_complex "$source,hwupload[m];testsrc2=s=96x64:d=0.2,format=nv12,hwupload[r];[m][r]mad_cuda"
    refused "two devices" "The inputs are on two CUDA devices" \
        -filter_complex "$source,hwupload_cuda[m];$source,hwupload_cuda[r];[m][r]mad_cuda"
    refused "a full disk" "No space left on device" \
        -init_hw_device cuda -filter_complex "$source,hwupload,split[m][r];[m][r]mad_cuda=f=/dev/full"
}

# ---- checks of detailloss_cuda ----

# A clip, and the same five frames later; the lines are those of detailloss, byte by byte.
detailloss_clip() { # clip
    name=$(basename "$1")
    if ! format=$(clip_format "$1"); then
        fail "$name cannot be decoded on the GPU" "$tmp/err"
        return
    fi
    down="hwdownload,format=$format"
    later="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS"
    for options in n_subsample=1 n_subsample=3; do
        ff $decode -t 4 -i "$1" $decode -t 4 -i "$1" -filter_complex \
            "[0:v]split[a][b];$later,split[c][d];[b]${down}[e];[d]${down}[f];
             [e][f]detailloss=f=$tmp/expected:${options}[g];[a][c]detailloss_cuda=f=$tmp/g:${options}[h]" \
            -map '[g]' $null -map '[h]' $null
        same "$name as $format: detailloss_cuda and detailloss $options" "$tmp/expected" "$tmp/g"
    done
    for options in queue=1 queue=3 queue=64; do
        ff $decode -t 4 -i "$1" $decode -t 4 -i "$1" \
            -filter_complex "${later}[r];[0:v][r]detailloss_cuda=n_subsample=3:f=$tmp/g:$options" $null
        same "$name: detailloss_cuda alone $options" "$tmp/expected" "$tmp/g"
    done
    ff $decode -extra_hw_frames 24 -hwaccel_flags +unsafe_output -t 4 -i "$1" \
        $decode -extra_hw_frames 24 -hwaccel_flags +unsafe_output -t 4 -i "$1" \
        -filter_complex "${later}[r];[0:v][r]detailloss_cuda=n_subsample=3:f=$tmp/g" $null
    same "$name: detailloss_cuda, +unsafe_output" "$tmp/expected" "$tmp/g"
    ff $decode -t 4 -i "$1" -filter_complex "[0:v]split[a][b];[a][b]detailloss_cuda=f=$tmp/g" $null
    if [ "$ff_status" = 0 ] && grep -q loss "$tmp/g" &&
       ! grep -v 'loss:0.000000 .* detail:0.000000 added:0.000000 chroma:0.000000' "$tmp/g" > "$tmp/verdict"; then
        pass "$name: detailloss_cuda of itself is 0, $(wc -l < "$tmp/g") lines"
    else
        fail "$name: detailloss_cuda of itself is 0" "$tmp/verdict"
    fi
}

detailloss_source() { # main-filter size format
    name="detailloss_cuda $1 $2 $3"
    uploads $3 "$name" || return
    ff -noauto_conversion_filters -init_hw_device cuda -f lavfi -i testsrc2=s=960x540:d=0.2 \
        -filter_complex "[0:v]scale=$2,format=yuv420p,noise=alls=6,split[m][r];[m]$1,scale,format=$3,split[m1][m2];
                         [r]scale,format=$3,split[r1][r2];[m2]hwupload[m3];[r2]hwupload[r3];
                         [m1][r1]detailloss=f=$tmp/c[c];[m3][r3]detailloss_cuda=f=$tmp/g[d]" -map '[c]' $null -map '[d]' $null
    same "$name" "$tmp/c" "$tmp/g"
}

detailloss_checks() {
    for clip; do
        detailloss_clip "$clip"
    done
    # FFmpeg does not upload the last row of chroma of an odd height: it is in no cell here
    for size in 16:16 18:19 64:33 66:34 130:65 300:241 1280:719 1920:1080 2160:2160 3840:2161; do
        for format in nv12 p010le; do
            detailloss_source avgblur=1 $size $format
        done
    done
    for format in yuv420p yuv444p p016le yuv444p16le p012le yuv422p nv16 p210le p212le p216le \
                  yuv420p10le yuv422p10le yuv444p10le yuv444p10msble yuv444p12msble; do
        detailloss_source negate 176:99 $format
    done
    source="testsrc2=s=64x64:d=0.2,format=nv12"
    refused "another size of the reference" "insert scale_cuda=" \
        -init_hw_device cuda -filter_complex "$source,hwupload[m];testsrc2=s=96x64:d=0.2,format=nv12,hwupload[r];[m][r]detailloss_cuda"
    refused "two devices" "The inputs are on two CUDA devices" \
        -filter_complex "$source,hwupload_cuda[m];$source,hwupload_cuda[r];[m][r]detailloss_cuda"
    refused "a full disk" "No space left on device" \
        -init_hw_device cuda -filter_complex "$source,hwupload,split[m][r];[m][r]detailloss_cuda=f=/dev/full"
}

# ---- checks of ssim_cuda ----

# The planar form that ssim takes of a format.
planar_of() { # format
    case $1 in
    nv12)   echo yuv420p ;;
    nv16)   echo yuv422p ;;
    p0*)    echo "$1" | sed 's/^p0/yuv420p/' ;;
    p2*)    echo "$1" | sed 's/^p2/yuv422p/' ;;
    *msble) echo "$1" | sed 's/msble/le/' ;;
    *)      echo "$1" ;;
    esac
}

# Lines of the GPU's filter and of FFmpeg's ssim: a clip, and the same five frames later.
ssim_clip() { # clip
    name=$(basename "$1")
    if ! format=$(clip_format "$1"); then
        fail "$name cannot be decoded on the GPU" "$tmp/err"
        return
    fi
    down="hwdownload,format=$format,format=$(planar_of $format)"
    later="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS"
    ff $decode -t 10 -i "$1" $decode -t 10 -i "$1" -filter_complex \
        "[0:v]split[a][b];$later,split[c][d];[b]${down}[e];[d]${down}[f];[e][f]ssim=f=$tmp/c[g];[a][c]ssim_cuda=f=$tmp/g[h]" \
        -map '[g]' $null -map '[h]' $null
    same "$name as $format: ssim_cuda and ssim" "$tmp/c" "$tmp/g"
    cp "$tmp/c" "$tmp/expected"
    for options in '' queue=1 queue=64; do
        ff $decode -t 10 -i "$1" $decode -t 10 -i "$1" \
            -filter_complex "${later}[r];[0:v][r]ssim_cuda=f=$tmp/g${options:+:$options}" $null
        same "$name: ssim_cuda alone ${options}" "$tmp/expected" "$tmp/g"
    done
    ff $decode -extra_hw_frames 24 -hwaccel_flags +unsafe_output -t 10 -i "$1" \
        $decode -extra_hw_frames 24 -hwaccel_flags +unsafe_output -t 10 -i "$1" \
        -filter_complex "${later}[r];[0:v][r]ssim_cuda=f=$tmp/g" $null
    same "$name: ssim_cuda, +unsafe_output" "$tmp/expected" "$tmp/g"
}

ssim_source() { # main-filter size format
    name="ssim_cuda $1 $2 $3"
    uploads $3 "$name" || return
    planar=$(planar_of $3)
    ff -noauto_conversion_filters -init_hw_device cuda -f lavfi -i testsrc2=s=960x540:d=0.4 \
        -filter_complex "[0:v]scale=$2,format=$planar,split[m][r];[m]$1,split[m1][m2];[r]split[r1][r2];
                         [m2]scale,format=$3,hwupload[m3];[r2]scale,format=$3,hwupload[r3];
                         [m1][r1]ssim=f=$tmp/c[c];[m3][r3]ssim_cuda=f=$tmp/g[d]" -map '[c]' $null -map '[d]' $null
    same "$name" "$tmp/c" "$tmp/g"
}

ssim_checks() {
    for clip; do
        ssim_clip "$clip"
    done
    # FFmpeg uploads no more than half an odd number of rows of chroma, and its
    # conversion to P010 and the like loses the last of an odd number of columns
    for size in 16:16 17:20 33:30 70:46 451:300 1000:24 1279:718 1920:1080 3841:2160; do
        ssim_source gblur=2 $size nv12
    done
    for size in 16:16 18:20 34:30 70:46 452:300 1000:24 1278:718 1920:1080 3840:2160; do
        ssim_source gblur=2 $size p010le
    done
    for format in yuv420p yuv444p p016le yuv444p16le p012le yuv422p nv16 p210le p212le p216le \
                  yuv420p10le yuv422p10le yuv444p10le yuv444p10msble yuv444p12msble; do
        case $format in
        yuv*) size=175:98 ;;
        *)    size=174:98 ;;
        esac
        for main in null avgblur=3 hflip negate; do
            ssim_source $main $size $format
        done
    done
    source="testsrc2=s=64x64:d=0.2,format=nv12"
    refused "another size of the reference" "insert scale_cuda=64:64:format=nv12" \
        -init_hw_device cuda -filter_complex "$source,hwupload[m];$source,crop=32:32,hwupload[r];[m][r]ssim_cuda"
    refused "two devices" "The inputs are on two CUDA devices" \
        -filter_complex "$source,hwupload_cuda[m];$source,hwupload_cuda[r];[m][r]ssim_cuda"
    refused "frames of the CPU" "Impossible to convert\|not have a common format" \
        -init_hw_device cuda -filter_complex "$source,hwupload[m];${source}[r];[m][r]ssim_cuda"
    refused "a full disk" "No space left on device" \
        -init_hw_device cuda -filter_complex "$source,hwupload,split[m][r];[m][r]ssim_cuda=f=/dev/full"
}

# ---- ffcrf ----

# Runs the ffcrf beside ffmpeg; its JSON is in $tmp/json.
crf() { # arguments...
    timeout "$limit" "$(dirname "$ffmpeg")/ffcrf" "$@" --json --cache false --max-encoded-percent 100000 \
        > "$tmp/json" 2> "$tmp/err"
}

# A candidate that is scored on the GPU has the scores of the CPU's, but for what
# MAD's transforms round. Not all GPUs decode AV1.
ffcrf_same() { # clip metric encoder arguments...
    clip=$1 metric=$2 encoder=$3
    shift 3
    for gpu in off 0; do
        crf -i "$clip" -c:v $encoder --sample-duration 2s --samples 2 --gpu $gpu \
            --metric $metric --target 0 --tolerance 0 --min-crf 28 --max-crf 28 "$@"
        jq -r 'select(.type == "sample-encode-done") | "\(.sample) \(.frames) \(.scored_frames) \(.size) \(.score)"' \
            "$tmp/json" > "$tmp/ffcrf.$gpu"
    done
    if [ -s "$tmp/ffcrf.0" ] && paste -d' ' "$tmp/ffcrf.off" "$tmp/ffcrf.0" | awk '{
            d = $5 - $10
            if ($1 != $6 || $2 != $7 || $3 != $8 || $4 != $9 || d * d > 1e-8 * (1 + $5 * $5))
                exit 1
        }'; then
        pass "ffcrf $encoder $metric $* $(basename "$clip"): $(cut -d' ' -f5 "$tmp/ffcrf.0" | xargs)"
    else
        paste "$tmp/ffcrf.off" "$tmp/ffcrf.0" > "$tmp/diff"
        cat "$tmp/err" >> "$tmp/diff"
        fail "ffcrf $encoder $metric $* $(basename "$clip")" "$tmp/diff"
    fi
}

# A search with NVENC, whose frames stay on the GPU, and what it makes: the whole may miss
# (4) what the sample reached, and the target may be out of reach (1), which is said.
ffcrf_nvenc() { # clip encoder
    name="ffcrf $2 $(basename "$1")"
    if ! ff -f lavfi -i testsrc2=s=256x256:d=0.1 -c:v $2 $null; then
        skip "$name" "$(tail -n 1 "$tmp/err")"
        return
    fi
    status=0
    crf -i "$1" -c:v $2 -preset p4 --sample-duration 4s --samples 1 --gpu 0 --target-loss 8 --encode "$tmp/$2.mkv" || status=$?
    found=$(jq -r 'select(.type == "crf-search-done") | "cq \(.crf) loss \(.score)"' "$tmp/json")
    whole=$(jq -r 'select(.type == "verify-done") | "whole \(.score)"' "$tmp/json")
    missed=$(jq -r 'select(.type == "crf-search-error") | .message' "$tmp/json")
    case $status,${found:+found},${whole:+whole},${missed:+missed} in
    [04],found,whole,) pass "$name: $found, $whole" ;;
    1,,,missed)        pass "$name: $missed" ;;
    *)                 fail "$name: status $status" "$tmp/err" ;;
    esac
}

ffcrf_checks() { # clips
    command -v jq > /dev/null || { skip ffcrf "no jq"; return; }
    for clip; do
        x264="libx264 -preset veryfast"
        for metric in loss ssim mad; do
            ffcrf_same "$clip" $metric "$x264"
        done
        ffcrf_same "$clip" loss "$x264" --memory 1
        ffcrf_same "$clip" ssim "$x264" --memory 1
        for pix_fmt in yuv420p yuv420p10le; do
            ! has encoders libsvtav1 ||
                ffcrf_same "$clip" loss "libsvtav1 -preset 10 -svtav1-params lp=1 -pix_fmt $pix_fmt"
        done
        for encoder in h264_nvenc hevc_nvenc av1_nvenc; do
            ffcrf_nvenc "$clip" $encoder
        done
    done
}

ffcrf_timings() { # clips
    for clip; do
        for gpu in off 0; do
            start=$(now)
            crf -i "$clip" -c:v libx264 -preset veryfast --samples 1 --gpu $gpu --target-loss 8
            row "ffcrf libx264 veryfast $(basename "$clip"), --gpu $gpu, s" \
                "$(calc %.2f "$(now) - $start"), $(grep -c sample-encode-done "$tmp/json") encodes"
        done
        start=$(now)
        crf -i "$clip" -c:v hevc_nvenc --samples 1 --gpu 0 --target-loss 8
        row "ffcrf hevc_nvenc $(basename "$clip"), s" \
            "$(calc %.2f "$(now) - $start"), $(grep -c sample-encode-done "$tmp/json") encodes"
    done
}

# ---- checks of blocksmooth_cuda ----

# Pictures of the GPU's filter and of the CPU's.
blocksmooth_source() { # source format options
    name="blocksmooth_cuda $1 $2 $3"
    uploads $2 "$name" || return
    planar=$(planar_of $2)
    ff -noauto_conversion_filters -init_hw_device cuda -f lavfi -i "$1" \
        -filter_complex "[0:v]scale,format=$planar,split[a][b];[a]blocksmooth=$3[c];
                         [b]scale,format=$2,hwupload,blocksmooth_cuda=$3,hwdownload,format=$2,scale,format=${planar}[d]" \
        -map '[c]' -f framemd5 "$tmp/c" -map '[d]' -f framemd5 "$tmp/g"
    same "$name" "$tmp/c" "$tmp/g"
}

# What comes out of the decoder, in its writable and in its own frames.
blocksmooth_clip() { # clip
    name=$(basename "$1")
    if ! format=$(clip_format "$1"); then
        fail "$name cannot be decoded on the GPU" "$tmp/err"
        return
    fi
    down="hwdownload,format=$format,scale,format=$(planar_of $format)"
    for flags in '' '-hwaccel_flags +unsafe_output'; do
        ff -noauto_conversion_filters $decode $flags -t 5 -i "$1" -an -filter_complex \
            "[0:v]split[a][b];[a]blocksmooth_cuda,${down}[c];[b]${down},blocksmooth[d]" \
            -map '[d]' -f framemd5 "$tmp/c" -map '[c]' -f framemd5 "$tmp/g"
        same "$name as $format, copied: blocksmooth_cuda and blocksmooth $flags" "$tmp/c" "$tmp/g"
        ff -noauto_conversion_filters $decode $flags -t 5 -i "$1" -an -vf "blocksmooth_cuda,$down" -f framemd5 "$tmp/g"
        same "$name as $format: blocksmooth_cuda and blocksmooth $flags" "$tmp/c" "$tmp/g"
    done
}

blocksmooth_checks() {
    blocks="testsrc2=s=120x68:d=0.4,scale=960:544:flags=neighbor,noise=alls=5:allf=t"
    for clip; do
        blocksmooth_clip "$clip"
    done
    for size in 2:2 10:12 22:22 124:124 126:126 128:130 452:300 1280:720 1920:1080 3842:2162; do
        for format in nv12 p010le; do
            blocksmooth_source "$blocks,scale=$size:flags=neighbor" $format qf=127
        done
    done
    for size in 1:1 3:3 11:11 123:125 133:67 1279:719; do
        for format in yuv444p yuv444p16le; do
            blocksmooth_source "$blocks,scale=$size:flags=neighbor" $format qf=127
        done
    done
    for format in yuv420p yuv444p p016le yuv444p16le p012le yuv422p nv16 p210le p212le p216le \
                  yuv420p10le yuv422p10le yuv444p10le yuv444p10msble yuv444p12msble; do
        for options in qf=40 qf=255 block=16 block=64 planes=5; do
            blocksmooth_source "$blocks,crop=354:226" $format $options
        done
    done
    refused "frames of the CPU" "Impossible to convert\|not have a common format" \
        -init_hw_device cuda -f lavfi -i "$blocks" -vf blocksmooth_cuda
    refused "blocks of 12" "Blocks of 12 are not known" \
        -init_hw_device cuda -f lavfi -i "$blocks" -vf format=nv12,hwupload,blocksmooth_cuda=block=12
}

# ---- times ----

# Runs FFmpeg, and writes down when it had how many frames: lines of "time frames".
# The last line of all is "cpu" and the seconds of user and system time.
sample() { # file arguments...
    sample_file=$1
    shift
    timeout "$limit" "$ffmpeg" -nostdin -hide_banner -v info -nostats -benchmark -stats_period 0.2 \
            -progress pipe:3 "$@" 3>&1 > /dev/null 2> "$sample_file.err" |
        while IFS= read -r line; do
            case $line in
            frame=*)      echo "$(now) ${line#frame=}" ;;
            progress=end) echo "end $(now)" ;;
            esac
        done > "$sample_file"
    sed -n 's/^.*bench: utime=\([0-9.]*\)s stime=\([0-9.]*\)s rtime.*/cpu \1 \2/p' "$sample_file.err" >> "$sample_file"
}

# Frames per second of all processes together: the slopes over the time that all
# of them were running, without their first 300 frames and the end.
slope() { # files
    awk '
        FNR == 1        { file++; n[file] = 0 }
        $1 == "cpu" || $1 == "end" { next }
        $2 >= 300       { n[file]++; t[file, n[file]] = $1; f[file, n[file]] = $2 }
        END {
            for (i = 1; i <= file; i++) {
                if (n[i] < 4) { print 0; exit }
                if (i == 1 || t[i, 1] > from) from = t[i, 1]
                if (i == 1 || t[i, n[i] - 1] < to) to = t[i, n[i] - 1]
            }
            for (i = 1; i <= file; i++) {
                k = st = sf = stt = stf = 0
                for (j = 1; j < n[i]; j++)
                    if (t[i, j] >= from && t[i, j] <= to) {
                        x = t[i, j] - from; y = f[i, j]
                        k++; st += x; sf += y; stt += x * x; stf += x * y
                    }
                if (k < 3) { print 0; exit }
                sum += (k * stf - st * sf) / (k * stt - st * st)
            }
            printf("%.1f\n", sum)
        }' "$@"
}

# Frames per second of all inputs of one process: those from the first one's 300th
# on, until all have ended. Progress is of the first only, and the others may be
# faster or slower.
rate() { # inputs frames file
    awk -v inputs="$1" -v frames="$2" '
        $1 == "end"         { end = $2 }
        $1 + 0 && $2 >= 300 && !first { start = $1; first = $2 }
        END { printf("%.1f\n", first && end > start ? inputs * (frames - first) / (end - start) : 0) }' "$3"
}

# One run of a kind; fps goes to a file by the kind, host microseconds per frame too.
timed() { # kind inputs processes frames arguments...
    run_kind=$1 run_inputs=$2 run_frames=$4
    shift
    files=
    i=$2
    shift 3
    while [ $i -gt 0 ]; do
        files="$files $tmp/s$i"
        sample "$tmp/s$i" "$@" &
        i=$((i - 1))
    done
    wait
    if [ "$run_inputs" = 1 ]; then
        slope $files
    else
        rate "$run_inputs" "$run_frames" "$tmp/s1"
    fi >> "$tmp/$run_kind.fps"
    awk -v n="$run_frames" '$1 == "cpu" { print ($2 + $3) / n * 1e6 }' "$tmp/s1" >> "$tmp/$run_kind.cpu"
    if ! grep -q '^cpu' "$tmp/s1"; then
        echo "a run did not end well: $*"
        tail -n 3 "$tmp/s1.err"
    fi >&2
}

fps_of() { # kind
    median < "$tmp/$1.fps" | awk '{ printf("%.1f", $1) }'
}

# With and without in turn: @ in the arguments is the filter.
compared=bliinds_cuda
compare() { # title kind inputs processes frames arguments...
    title=$1 kind=$2 inputs=$3 processes=$4 of_each=$5
    shift 5
    rm -f "$tmp/$kind".*
    run=0
    while [ $run -lt "$runs" ]; do
        for filter in null $compared; do
            # shellcheck disable=SC2046
            timed $kind.$filter "$inputs" "$processes" "$of_each" $(printf '%s ' "$@" | sed "s/@/$filter/g")
        done
        run=$((run + 1))
    done
    without=$(fps_of $kind.null) with=$(fps_of $kind.$compared)
    cpu=$(calc %.1f "($(median < "$tmp/$kind.$compared.cpu") - $(median < "$tmp/$kind.null.cpu")) / $inputs")
    case " $without $with " in
    *" 0.0 "*) row "$title" "too short for a slope: more FRAMES" ;;
    *) row "$title" "$without without, $with with: $(calc %.1f "100 * $with / $without") %; host $cpu us/frame" ;;
    esac
}

single() { # title frames arguments...
    title=$1 of_each=$2
    shift 2
    rm -f "$tmp/single".*
    run=0
    while [ $run -lt "$runs" ]; do
        timed single 1 1 "$of_each" "$@"
        run=$((run + 1))
    done
    row "$title" "$(fps_of single) fps; host $(median < "$tmp/single.cpu") us/frame"
}

# Until the first frame has left the filter: the end of a process is not in it.
first_frame() { # arguments...
    run=0
    while [ $run -lt 5 ]; do
        start=$(now)
        timeout "$limit" "$ffmpeg" -nostdin -v error "$@" 2> /dev/null |
            { IFS= read -r _; calc '%.3f\n' "$(now) - $start"; cat > /dev/null; }
        run=$((run + 1))
    done | median
}

# GPU memory while frames of 1080p flow, and how much of it an instance has: all
# instances look at the same frames.
memory_of() { # instances
    graph="[0:v]format=nv12,hwupload_cuda,split=4[a][b][c][d]"
    maps=
    i=0
    for pad in a b c d; do
        filter=null
        [ $i -ge "$1" ] || filter=bliinds_cuda
        graph="$graph;[$pad]${filter}[${pad}1]"
        maps="$maps -map [${pad}1] $null"
        i=$((i + 1))
    done
    timeout 20 "$ffmpeg" -nostdin -v error -re -f lavfi -i testsrc2=s=1920x1080:r=25:d=8 -filter_complex "$graph" $maps &
    for i in 1 2 3 4 5 6 7 8 9; do
        sleep 0.5
        gpu_memory
    done | sort -n | tail -n 1
    wait
}

# Whether a part of the timings is asked for.
part() { # name
    case " $TIMES " in
    *" 1 "* | *" $1 "*) ;;
    *) return 1 ;;
    esac
}

timings() {
    loop="$decode -stream_loop -1 -i"
    end="-an -frames:v $frames $null"
    fewer=$((frames / 3))
    for clip in $(part one && echo $hevc $h264); do
        compare "one stream, $(basename "$clip")" one 1 1 "$frames" $loop "$clip" -vf @ $end
    done
    for clip in $(part ten && echo $hevc $h264); do
        compare "ten processes, $(basename "$clip")" ten 1 10 "$frames" $loop "$clip" -vf @ $end
    done
    for clip in $(part seven && echo $hevc $h264); do
        inputs='' outputs=''
        for i in 0 1 2 3 4 5 6; do
            inputs="$inputs $loop $clip"
            outputs="$outputs -map $i:v -vf @ -frames:v $frames $null"
        done
        compare "seven inputs in one process, $(basename "$clip")" seven 7 1 $frames $inputs $outputs
    done
    for clip in $(part beside && echo ${hevc:-$h264}); do
        format=$(clip_format "$clip")
        single "queue=1, one wait per frame" "$frames" $loop "$clip" -vf bliinds_cuda=queue=1 $end
        end="-an -frames:v $fewer $null"
        single "CPU filter, CPU decoder, all cores" $fewer -stream_loop -1 -i "$clip" -vf bliinds $end
        single "CPU filter on NVDEC frames, hwdownload" $fewer $loop "$clip" -vf "hwdownload,format=$format,bliinds" $end
    done

    for clip in $(part start && echo ${hevc:-$h264}); do
        print=metadata=add:key=a:value=b,metadata=print:file=-:direct=1
        one="$decode -i $clip -an -frames:v 1"
        row "first frame, without (seconds)" "$(first_frame $one -vf $print $null)"
        row "first frame, with, kernels in the JIT cache" "$(first_frame $one -vf bliinds_cuda=queue=1,$print $null)"
        row "first frame, with, no JIT cache" \
            "$(CUDA_CACHE_DISABLE=1; export CUDA_CACHE_DISABLE; first_frame $one -vf bliinds_cuda=queue=1,$print $null)"
    done

    part memory || return 0
    none=$(memory_of 0) one=$(memory_of 1) four=$(memory_of 4)
    row "GPU memory at 1920x1080, with 0, 1 and 4 instances (MiB)" "$none $one $four"
    row "of which an instance beyond the frames (MiB)" "$(calc %.1f "($four - $one) / 3") more, $(calc %d "$one - $none") the first"
}

# Frames per second with and without, as above.
blocksmooth_timings() {
    compared=blocksmooth_cuda
    for clip; do
        compare "blocksmooth_cuda, one stream, $(basename "$clip")" blocksmooth 1 1 "$frames" \
            $decode -stream_loop -1 -i "$clip" -vf @ -an -frames:v "$frames" $null
    done
    compared=bliinds_cuda
}

# Frames per second of two streams that are decoded, and with them compared.
pair_timings() { # filter clip...
    filter=$1
    shift
    fewer=$((frames / 3))
    for clip; do
        name=$(basename "$clip")
        format=$(clip_format "$clip") || continue
        two="$decode -stream_loop -1 -i $clip $decode -stream_loop -1 -i $clip"
        alone="-map 0:v -frames:v $frames $null -map 1:v -frames:v $frames $null"
        rm -f "$tmp/pair".*
        run=0
        while [ $run -lt "$runs" ]; do
            timed pair.without 2 1 "$frames" $two $alone
            timed pair.with 2 1 "$frames" $two -filter_complex [0:v][1:v]${filter}_cuda -frames:v "$frames" $null
            run=$((run + 1))
        done
        without=$(fps_of pair.without) with=$(fps_of pair.with)
        cpu=$(calc %.1f "$(median < "$tmp/pair.with.cpu") - $(median < "$tmp/pair.without.cpu")")
        row "${filter}_cuda, two streams in one process, $name" \
            "$without frames/s without, $with with: $(calc %.1f "100 * $with / ($without ? $without : 1)") %; host $cpu us/pair"
        down="hwdownload,format=$format,format=$(planar_of $format)"
        single "$filter on NVDEC frames, two hwdownloads, $name" $fewer $two \
            -filter_complex "[0:v]${down}[a];[1:v]${down}[b];[a][b]$filter" -frames:v $fewer $null
        single "$filter, CPU decoders, all cores, $name" $fewer -stream_loop -1 -i "$clip" -stream_loop -1 -i "$clip" \
            -filter_complex [0:v][1:v]$filter -frames:v $fewer $null
    done
}

# The same of mad_cuda, and the memory that it says it takes.
mad_timings() {
    few=$((frames / 2))
    for clip; do
        name=$(basename "$clip")
        format=$(clip_format "$clip") || continue
        two="$decode -stream_loop -1 -i $clip $decode -stream_loop -1 -i $clip"
        graph="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS[r];[0:v][r]"
        single "mad_cuda, two streams in one process, $name" $few $two \
            -filter_complex "${graph}mad_cuda" -frames:v $few $null
        single "mad_cuda, queue=1, $name" $few $two -filter_complex "${graph}mad_cuda=queue=1" -frames:v $few $null
        down="hwdownload,format=$format"
        "$ffmpeg" -nostdin -hide_banner -benchmark $two -filter_complex \
            "[0:v]${down}[a];[1:v]trim=start_frame=5,setpts=PTS-STARTPTS,${down}[b];[a][b]mad" -frames:v 20 $null 2>&1 |
            sed -n 's/.*utime=\(.*\)s stime=\(.*\)s rtime=\(.*\)s.*/\1 \2 \3/p' > "$tmp/cpu"
        row "mad on NVDEC frames, all cores, $name, 20 pairs and start (s)" "$(awk '{ print $3 " by the clock, " $1 + $2 " of CPU" }' "$tmp/cpu")"
    done
    for size in 512x512 1920x1080 3840x2160; do
        row "GPU memory of mad_cuda at $size" "$("$ffmpeg" -nostdin -v verbose -init_hw_device cuda -f lavfi -i nullsrc=s=$size:d=0.04 \
            -filter_complex format=nv12,hwupload,split,mad_cuda $null 2>&1 | sed -n 's/.* takes \(.*\) of GPU memory, and \(.*\)\.$/\1 and \2/p')"
    done
}

# A clip that is read again and again starts the decoder anew each time: a long one
# of the same frames, which seldom does, is what is timed.
lengthen() { # clip
    mkdir -p "$tmp/long"
    if ff -stream_loop -1 -i "$1" -map 0:v -c copy -frames:v 1500 "$tmp/long/$(basename "$1")"; then
        echo "$tmp/long/$(basename "$1")"
    else
        echo "$1"
    fi
}

# ---- time of the GPU ----

# The y dimension of most kernels is the number of frames that they work on.
ncu_sum() { # title
    awk -F'","' -v title="$1" '
        /"ID"/ {
            for (i = 1; i <= NF; i++) {
                gsub(/"/, "", $i)
                column[$i] = i
            }
            next
        }
        "Grid Size" in column && $column["Metric Name"] == "gpu__time_duration.sum" {
            name = $column["Kernel Name"]
            sub(/\(.*/, "", name)
            value = $column["Metric Value"]
            gsub(/[",]/, "", value)
            unit = $column["Metric Unit"]
            size = $column["Grid Size"]
            gsub(/[()]/, "", size)
            split(size, grid, /[, ]+/)
            time[name] += value * (unit ~ /^n/ ? .001 : unit ~ /^m/ ? 1000 : 1)
            # a launch of blocksmooth has one frame, others as many as rows of thread blocks; some
            # kernels have several launches
            if (name !~ /_(pool|split)$/ && (frames[name] += name ~ /^blocksmooth/ ? 1 : grid[2]) > n)
                n = frames[name]
        }
        END {
            for (name in time) {
                all += time[name] / n
                each = each sprintf("%s %.2f, ", name, time[name] / n)
            }
            printf("%-62s %.2f us (%s%d frames)\n", title, all, each, n)
        }'
}

# What ncu sees of a filter: with caches flushed before each kernel, or kept.
ncu_time() { # filter title caches arguments...
    kernels=$1 title=$2 caches=$3
    shift 3
    timeout "$limit" ncu --clock-control none --cache-control $caches --csv \
        --metrics gpu__time_duration.sum -k regex:"^$kernels" \
        "$ffmpeg" -nostdin -v error "$@" > "$tmp/ncu" 2>&1
    if ! grep -q gpu__time_duration "$tmp/ncu"; then
        fail "$title" "$tmp/ncu"
        return 1
    fi
    case $caches in
    all) title="$title, caches flushed" ;;
    *)   title="$title, caches kept" ;;
    esac
    ncu_sum "$title" < "$tmp/ncu" | tee -a "$tmp/table"
}

ncu_times() {
    if ! command -v ncu > /dev/null; then
        skip "time of the GPU" "no ncu"
        return
    fi
    for size in 512x512 1280x720 1920x1080 3840x2160; do
        for how in nv12:none nv12:all p010le:none; do
            for filter in $filters; do
                case $filter in
                bliinds) graph="hwupload,bliinds_cuda" each=frame ;;
                blocksmooth) graph="hwupload,blocksmooth_cuda" each=frame ;;
                detailloss) graph="split[m][r];[m]gblur,format=${how%:*},hwupload[m2];[r]hwupload[r2];[m2][r2]detailloss_cuda" each=pair ;;
                mad)     ncu_mad $size ${how%:*} ${how#*:} || return
                         continue ;;
                ssim)    graph="split[m][r];[m]gblur,format=${how%:*},hwupload[m2];[r]hwupload[r2];[m2][r2]ssim_cuda" each=pair ;;
                esac
                ncu_time "${filter%loss}" "$filter: GPU time per $each, $size ${how%:*}" ${how#*:} \
                    -init_hw_device cuda -f lavfi -i mandelbrot=s=$size -frames:v 24 \
                    -filter_complex "format=${how%:*},$graph" $null || return
            done
        done
    done
    case " $filters " in
    *" bliinds "*) ;;
    *) return ;;
    esac
    for clip in $hevc $h264; do
        for size in 1920:1080 3840:2160; do
            ncu_time bliinds "bliinds: GPU time per frame, $(basename "$clip") at $size" none \
                $decode -stream_loop -1 -i "$clip" -an -frames:v 95 -vf scale_cuda=$size,bliinds_cuda $null || return
        done
    done
}

# A pair has many kernels of mad_cuda, the rest are cuFFT's.
ncu_mad() { # size format caches
    case $1 in
    3840*) pairs=2 ;;
    *)     pairs=4 ;;
    esac
    for metric in gpu__time_duration.sum dram__bytes.sum; do
        timeout "$limit" ncu --clock-control none --cache-control $3 --csv --metrics $metric \
            "$ffmpeg" -nostdin -v error -init_hw_device cuda -f lavfi -i mandelbrot=s=$1 -frames:v $pairs \
            -filter_complex "format=$2,split[m][r];[m]hflip,hwupload[m2];[r]hwupload[r2];[m2][r2]mad_cuda" $null > "$tmp/ncu" 2>&1
        if ! grep -q "$metric" "$tmp/ncu"; then
            fail "ncu of mad at $1" "$tmp/ncu"
            return 1
        fi
        awk -F'","' -v title="mad: $metric per pair, $1 $2, caches $3" -v metric=$metric '
            /"ID"/ {
                for (i = 1; i <= NF; i++) {
                    gsub(/"/, "", $i)
                    column[$i] = i
                }
                next
            }
            "Metric Name" in column && $column["Metric Name"] == metric {
                name = $column["Kernel Name"]
                sub(/\(.*/, "", name)
                pairs += name == "mad_pool"
                if (name !~ /^mad_/)
                    name = "cuFFT"
                value = $column["Metric Value"]
                gsub(/[",]/, "", value)
                unit = $column["Metric Unit"]
                # to us or MB
                value *= unit ~ /^n/ ? .001 : unit ~ /^ms/ ? 1000 : unit == "byte" ? 1e-6 : unit ~ /^K/ ? .001 : unit ~ /^G/ ? 1000 : 1
                sum[name] += value
                count[name]++
                all += value
            }
            END {
                for (name in sum)
                    each = each sprintf("%s %.1f in %d, ", name, sum[name] / pairs, count[name] / pairs)
                printf("%-62s %.1f %s (%s%d pairs)\n", title, all / pairs, metric ~ /time/ ? "us" : "MB", each, pairs)
            }' "$tmp/ncu" | tee -a "$tmp/table"
    done
}

# ---- compute-sanitizer ----

sanitize() {
    if ! command -v compute-sanitizer > /dev/null; then
        skip "compute-sanitizer" "not installed"
        return
    fi
    for tool in memcheck racecheck initcheck synccheck; do
        for filter in $filters; do
            case $filter in
            bliinds) sources="nv12:175x99 p010le:175x99 nv12:4x4 nv12:640x360"
                     graph="hwupload,bliinds_cuda=features=1" ;;
            blocksmooth) sources="nv12:175x98 p010le:174x98 nv12:16x16 yuv444p:133x67 yuv444p16le:133x67 nv12:640x360"
                     graph="hwupload,split[a][b];[a]blocksmooth_cuda[c];[b]blocksmooth_cuda=planes=2:block=16,nullsink;[c]blocksmooth_cuda" ;;
            detailloss) sources="nv12:175x99 p010le:174x99 nv12:16x16 yuv444p:133x67 yuv444p16le:133x67 nv12:640x360"
                     graph="split[m][r];[m]gblur,format=FORMAT,hwupload[m2];[r]hwupload[r2];[m2][r2]detailloss_cuda" ;;
            mad)     sources="nv12:175x99 p010le:64x67 yuv444p:320x240"
                     graph="split[m][r];[m]hflip,hwupload[m2];[r]hwupload[r2];[m2][r2]mad_cuda" ;;
            ssim)    sources="nv12:175x99 p010le:175x99 nv12:16x16 yuv444p:1004x24 yuv444p16le:1004x24 p010le:2050x36"
                     graph="split[m][r];[m]gblur,format=FORMAT,hwupload[m2];[r]hwupload[r2];[m2][r2]ssim_cuda" ;;
            esac
            for source in $sources; do
                each=$(echo "$graph" | sed "s/FORMAT/${source%:*}/")
                if timeout "$limit" compute-sanitizer --tool $tool --error-exitcode 9 \
                        "$ffmpeg" -nostdin -v error -init_hw_device cuda -f lavfi -i "testsrc2=s=${source#*:}:d=0.48" \
                        -filter_complex "format=${source%:*},$each" $null > "$tmp/out" 2>&1; then
                    pass "$tool $filter $source: $(grep -i 'summary' "$tmp/out" | tail -n 1)"
                else
                    fail "$tool $filter $source" "$tmp/out"
                fi
            done
        done
    done
}

# ---- soak ----

# Runs FFmpeg and writes down its memory: lines of "GPU-MiB host-KiB".
watched() { # seconds-between arguments...
    pause=$1
    shift
    "$ffmpeg" -nostdin -v error "$@" 2> "$tmp/err" &
    child=$!
    end=$(calc %d "$(now) + 580")
    while rss=$(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' /proc/$child/status 2> /dev/null) && [ -n "$rss" ]; do
        echo "$(gpu_memory) $rss"
        sleep "$pause"
        [ "$(date +%s)" -lt "$end" ] || kill $child
    done > "$tmp/memory"
    wait $child
}

# After the first quarter neither may grow, but for a megabyte of the host's.
constant() { # name
    if awk '
        { gpu[NR] = $1; host[NR] = $2 }
        END {
            first = int(NR / 4) + 1
            for (i = first; i <= NR; i++) {
                if (gpu[i] > gmax) gmax = gpu[i]
                if (host[i] > hmax) hmax = host[i]
            }
            printf("GPU %d to %d MiB, host %d to %d KiB, %d samples\n", gpu[first], gmax, host[first], hmax, NR)
            exit !(NR >= 8 && gmax <= gpu[first] && hmax <= host[first] + 1024)
        }' "$tmp/memory" > "$tmp/verdict"; then
        pass "$1: $(cat "$tmp/verdict")"
    else
        fail "$1" "$tmp/verdict"
    fi
}

soak() { # filter
    case $1 in
    blocksmooth) graph=blocksmooth_cuda,metadata=add:key=a:value=b,metadata=print:key=a:file=$tmp/g ;;
    bliinds) graph=bliinds_cuda=f=$tmp/g ;;
    *)       graph=split,$1_cuda=f=$tmp/g ;;
    esac
    rm -f "$tmp/g"
    if watched 1 -f lavfi -i color=s=64x64:r=25 \
            -filter_complex "format=nv12,hwupload_cuda,loop=-1:32,$graph" -frames:v "$soaked" $null &&
            [ "$(grep -c '^n:\|^frame:' "$tmp/g")" -ge "$soaked" ]; then
        constant "$soaked frames through $1_cuda"
    else
        fail "$soaked frames through $1_cuda: $(grep -c '^n:\|^frame:' "$tmp/g") lines" "$tmp/err"
    fi
    [ "$1" = bliinds ] || return 0
    # pictures of two sizes in turn: each one ends the graph and starts another
    i=1
    while [ $i -le 1000 ]; do
        if [ $((i % 2)) = 0 ]; then width=64; else width=96; fi
        { printf 'P5\n%d 48\n255\n' $width; head -c $((width * 48)) /dev/urandom; } > "$tmp/$i.pgm"
        i=$((i + 1))
    done
    rm -f "$tmp/g"
    if watched 0.4 -init_hw_device cuda -i "$tmp/%d.pgm" -vf "format=nv12,hwupload,bliinds_cuda=f=$tmp/g" $null &&
            [ "$(grep -c '^n:' "$tmp/g")" = 1000 ]; then
        constant "1000 filters in a row, one log"
    else
        fail "1000 filters in a row: $(grep -c '^n:' "$tmp/g") lines" "$tmp/err"
    fi
}

# ---- all ----

head_line "$@"
# ---- the farm ----

# Clips in parts of 3 s, by the task script itself, against one ffmpeg.
farm_checks() { # clip...
    tools=$(dirname "$0")/../tools
    command -v python3 > /dev/null || { skip "farm" "no python3"; return; }
    for clip; do
        name="farm: $(basename "$clip")"
        rm -rf "$tmp/farm"
        "$tools/farm/quality-farm" --ffmpeg "$ffmpeg" -o "$tmp/farm" --filter bliinds_cuda --segment 3s --dry-run "$clip" > "$tmp/out" 2>&1 ||
            { fail "$name" "$tmp/out"; continue; }
        for part in "$tmp"/farm/.farm/*/*.gpu; do
            part=${part%.gpu}
            CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0} "$tools/farm/task" "$tmp/farm" "${part#"$tmp"/farm/.farm/}" 1 > "$tmp/out" 2>&1
        done
        "$tools/farm/quality-farm" --ffmpeg "$ffmpeg" --merge "$tmp/farm" >> "$tmp/out" 2>&1
        row "$name" "$(cut -d , -f 2,3,14,16- "$tmp/farm/summary.csv" | tail -n 1)"
        bsf=$("$tools/farm/quality-farm" --ffmpeg "$ffmpeg" --bitstream-filters "$clip")
        ff $decode ${bsf:+-bsf:v "$bsf"} -i "$clip" -an -vf "bliinds_cuda=log_path=$tmp/whole.json:f=$tmp/whole.log" $null
        for log in "$tmp/whole" "$tmp/farm/$(basename "$clip")"; do
            { grep -v '"fps"' "$log.json"; cat "$log.log"; } > "$log.both"
        done 2> "$tmp/out"
        if grep -q 'on the CPU' "$tmp/farm/summary.csv"; then
            fail "$name" "$tmp/farm/summary.csv"
        else
            same "$name" "$tmp/whole.both" "$tmp/farm/$(basename "$clip").both"
        fi
    done
}

hevc='' h264=''
for clip; do
    case $(codec_of "$clip") in
    hevc) hevc=${hevc:-$clip} ;;
    h264) h264=${h264:-$clip} ;;
    esac
done
if [ -n "${TIMES:-}" ]; then
    hevc=${hevc:+$(lengthen "$hevc")}
    h264=${h264:+$(lengthen "$h264")}
fi
for filter in $filters; do
    case $filter in
    bliinds | blocksmooth | detailloss | mad | ssim) [ -z "${SOAK:-}" ] || soak "$filter" ;;
    esac
    case $filter in
    bliinds) [ -z "${CHECKS:-}" ] || checks "$@"
             [ -z "${TIMES:-}" ]  || timings ;;
    blocksmooth) [ -z "${CHECKS:-}" ] || blocksmooth_checks "$@"
             [ -z "${TIMES:-}" ]  || blocksmooth_timings $hevc $h264 ;;
    detailloss) [ -z "${CHECKS:-}" ] || detailloss_checks "$@"
                [ -z "${TIMES:-}" ]  || pair_timings detailloss $hevc $h264 ;;
    mad)     [ -z "${CHECKS:-}" ] || mad_checks "$@"
             [ -z "${TIMES:-}" ]  || mad_timings $hevc ;;
    ffcrf)   [ -z "${CHECKS:-}" ] || ffcrf_checks "$@"
             [ -z "${TIMES:-}" ]  || ffcrf_timings $hevc $h264 ;;
    ssim)    [ -z "${CHECKS:-}" ] || ssim_checks "$@"
             [ -z "${TIMES:-}" ]  || pair_timings ssim $hevc $h264 ;;
    farm)    [ -z "${CHECKS:-}" ] || farm_checks "$@" ;;
    *)       fail "no filter $filter" ;;
    esac
done
[ -z "${SANITIZE:-}" ] || sanitize
[ -z "${NCU:-}" ] || ncu_times
[ -z "${CHECKS:-}${SANITIZE:-}${SOAK:-}" ] || [ $passed -gt 0 ] || fail "nothing was checked"
echo
echo "$passed passed, $failed failed, $skipped skipped"
if [ -s "$tmp/table" ]; then
    echo
    cat "$tmp/table"
fi
[ $failed -eq 0 ]
