#!/usr/bin/env bash
# Checks the CUDA filters where there is a GPU, with what FATE cannot have: NVDEC, NVENC, clips of
# the user's. FATE's own tests of them are `make fate-hw`.
#
#   tests/gpu.sh FFMPEG CLIP...
#
# FFMPEG is any build with the filters; clips are H.264 and HEVC, of 8 and of 10 bits.
#
#   PARTS="clips ffcrf"                             what is done
#   FILTERS="bliinds cambi ssim vmaf mad blocksmooth"  which filters
#   LIMIT=300        seconds that a command may take
#
# The exit status is 1 if a check failed, and 77 if there is no GPU to use.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2317 source=tests/common.sh
. "$(dirname "$0")/common.sh"
set -u

[ $# -ge 1 ] || { sed -n '2,/^# SPDX/{/SPDX/d;s/^# \{0,1\}//;p;}' "$0"; exit 2; }
ffmpeg=$1
shift
filters=${FILTERS:-bliinds cambi ssim vmaf mad blocksmooth}
limit=${LIMIT:-300}
decode=(-hwaccel cuda -hwaccel_output_format cuda)
null="-f null -"

ff() {
    timeout "$limit" "$ffmpeg" -nostdin -hide_banner -v error -y "$@" 2> "$tmp/err"
}

# Two files of lines are the same; scores of mad within 1e-4, for its transforms round. What these are
# made of, hi and lo, may differ more where a picture is almost flat.
same() { # filter file file
    [ -s "$2" ] && [ "$(wc -l < "$2")" = "$(wc -l < "$3")" ] || return
    [ $1 = mad ] || { cmp "$2" "$3"; return; }
    paste -d ' ' "$2" "$3" | awk -F '[ :]' '{
        for (i = 1; i <= NF / 2; i += 2) {
            name = $(i + NF / 2); cpu = $(i + 1); gpu = $(i + 1 + NF / 2)
            limit = (name ~ /^(hi|lo)$/ ? 1e-2 : 1e-4) * (cpu + .01)
            if (name != $i || (gpu - cpu) ^ 2 > limit ^ 2)
                exit 1
        }
    }'
}

# After a command: it went well, and both files are the same.
verdict() { # filter name file file
    local status=$?
    if [ $status = 0 ] && same $1 "$3" "$4" > "$tmp/diff" 2>&1; then
        pass "$2, $(wc -l < "$3") lines"
    else
        cat "$tmp/err" >> "$tmp/diff"
        fail "$2" "$tmp/diff"
    fi
}

# ---- clips ----

# What a filter gives of a clip: lines, or of blocksmooth frames. Of pairs, the second is the same
# five frames later.
given_by() { # filter before after output clip options flags...
    local filter=$1=f=$4$6 to=$null graph="[0:v]$2null[m];[m]"
    local inputs=("${decode[@]}" "${@:7}" -t 4 -i "$5")
    case $1 in
    ssim* | vmaf* | mad*)
        # as FFmpeg's ssim pairs frames
        [ $1 != ssim_cuda ] || filter+=:ts_sync_mode=default:eof_action=repeat
        inputs+=("${inputs[@]}")
        graph="[0:v]$2null[m];[1:v]$2trim=start_frame=5,setpts=PTS-STARTPTS[r];[m][r]" ;;
    bliinds*)
        filter=${filter/=/=model=vmaf1_est5:} ;;
    blocksmooth*)
        filter=$1$3 to="-noauto_conversion_filters -f framemd5 $4" ;;
    esac
    ff "${inputs[@]}" -filter_complex "$graph$filter" -an $to
}

clip() { # filter clip
    local name options flags format planar down
    name="$1_cuda $(basename "$2")"
    for format in nv12 p010le; do
        planar=${format/nv12/yuv420p}
        down=hwdownload,format=$format,scale,format=${planar/p0/yuv420p}
        ! ff "${decode[@]}" -i "$2" -an -frames:v 1 -vf "$down" $null || break
        down=
    done
    [ "$down" ] || { fail "$name cannot be decoded on the GPU"; return; }
    given_by $1 "$down," "" "$tmp/cpu" "$2" "" &&
        given_by $1_cuda "" ",$down" "$tmp/expected" "$2" ""
    verdict $1 "$name as $format: as $1 on the CPU" "$tmp/cpu" "$tmp/expected"
    while read -r options flags; do
        [[ $options != :queue* ]] || [ $1 != blocksmooth ] || continue
        [[ $flags != *device* ]] || [ "$two_gpus" ] || continue
        given_by $1_cuda "" ",$down" "$tmp/gpu" "$2" "${options#-}" $flags
        verdict - "$name: $options $flags" "$tmp/expected" "$tmp/gpu"
    done << END
:queue=1
:queue=64
- -extra_hw_frames 24 -hwaccel_flags +unsafe_output
- -hwaccel_device 1
END
}

clips() {
    local file filter
    for file; do
        for filter in $filters; do clip $filter "$file"; done
    done
}

# ---- ffcrf ----

# Runs the ffcrf beside ffmpeg; its JSON is in $tmp/json.
crf() { # arguments...
    timeout "$limit" "$(dirname "$ffmpeg")/ffcrf" "$@" --json --cache false --max-encoded-percent 100000 \
        > "$tmp/json" 2> "$tmp/err"
}

# A candidate that is scored on the GPU has the scores of the CPU's, but for what MAD's transforms
# round.
crf_same() { # clip metric
    local gpu
    for gpu in off 0; do
        crf -i "$1" -c:v libx264 -preset veryfast --sample-duration 2s --samples 2 --gpu $gpu \
            --metric $2 --target 0 --tolerance 0 --min-crf 28 --max-crf 28
        jq -r 'select(.type == "sample-encode-done") |
            "sample:\(.sample) frames:\(.frames) scored:\(.scored_frames) size:\(.size) score:\(.score)"' "$tmp/json" > "$tmp/crf.$gpu"
    done
    verdict mad "ffcrf $2 $(basename "$1")" "$tmp/crf.off" "$tmp/crf.0"
}

# A search with NVENC, and what it makes: the whole may miss what the sample reached, and the target
# may be out of reach (1).
crf_nvenc() { # clip encoder
    local name status=0 types
    name="ffcrf $2 $(basename "$1")"
    ff -f lavfi -i testsrc2=s=256x256:d=0.1 -c:v $2 $null ||
        { skip "$name" "$(tail -n 1 "$tmp/err")"; return; }
    crf -i "$1" -c:v $2 -preset p4 --sample-duration 4s --samples 1 --gpu 0 --target-vmaf 92 \
        --encode "$tmp/$2.mkv" || status=$?
    types=$(jq -r 'select(.type == "crf-search-done" or .type == "verify-done" or .type == "crf-search-error") | .type' "$tmp/json" | xargs)
    case "$status $types" in
    "0 crf-search-done verify-done" | "1 crf-search-done verify-done" | "1 crf-search-error") pass "$name: status $status" ;;
    *) fail "$name: status $status, $types" ;;
    esac
}

ffcrf() { # clips
    local file what
    command -v jq > /dev/null || { skip ffcrf "no jq"; return; }
    for file; do
        for what in vmaf ssim mad; do crf_same "$file" $what; done
        for what in h264_nvenc hevc_nvenc av1_nvenc; do crf_nvenc "$file" $what; done
    done
}

# ---- all ----

if ! ff -init_hw_device cuda -f lavfi -i nullsrc=s=64x64:d=0.04 -vf format=nv12,hwupload_cuda,bliinds_cuda $null; then
    echo "no usable CUDA device: $(sed -n '1s/^\[[^]]*\] *//p' "$tmp/err")"
    exit 77
fi
two_gpus=1
ff -init_hw_device cuda=two:1 -version > /dev/null || { two_gpus=; skip "two GPUs" "there is one"; }
for part in ${PARTS:-clips ffcrf}; do
    $part "$@"
done
[ $passed -gt 0 ] || fail "nothing was checked"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
