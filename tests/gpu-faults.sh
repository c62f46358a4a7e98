#!/bin/sh
# What the filters for CUDA frames do on a GPU where something fails:
#
#   tests/gpu-faults.sh FFMPEG
#
# FFMPEG is any build with the filters. GPU memory that is nearly full (it needs
# python3, and nobody else on the GPU), a process that is killed, a full disk, and two
# GPUs where there are two. The exit status is 1 if a check failed, and 77 if there is
# no GPU to use. Without a GPU, `make check` does the same and more on a stand-in for
# the driver: see tests/faults.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086
set -u
export LC_ALL=C

if [ $# != 1 ]; then
    sed -n '2,/^# SPDX/{/SPDX/d;s/^# \{0,1\}//;p;}' "$0"
    exit 2
fi
ffmpeg=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0
null="-f null -"

pass() { # name
    passed=$((passed + 1))
    echo "PASS    $1"
}

fail() { # name
    failed=$((failed + 1))
    echo "FAIL    $1"
    tail -n 5 "$tmp/err" | sed 's/^/        /'
}

skip() { # name reason
    skipped=$((skipped + 1))
    echo "SKIPPED $1: $2"
}

ff() {
    timeout 120 "$ffmpeg" -nostdin -hide_banner -v error -y \
        -init_hw_device cuda=gpu:0 -filter_hw_device gpu "$@" > "$tmp/out" 2> "$tmp/err"
}

# Whether an exit status is an error that the program chose: no signal, no limit of time.
is_error() { # status
    case $1 in
    0 | 124 | 132 | 134 | 135 | 136 | 137 | 139) return 1 ;;
    esac
}

# A source, and a filter with what it needs.
graph() { # filter size
    source=testsrc2=s=$2:r=25:d=1,format=yuv420p
    case $1 in
    ssim_cuda | detailloss_cuda | mad_cuda) echo "$source,split[a][b];[a]hwupload[c];[b]negate,hwupload[d];[c][d]$1" ;;
    *)                    echo "$source,hwupload,$1" ;;
    esac
}

# Takes all of the GPU's memory but so many MiB, until its input ends.
take_memory() {
    cat << 'END'
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
context, free, total, p = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_uint64()
assert not cu.cuInit(0) and not cu.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
size = 1 << 30
while size >= 1 << 20:
    cu.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    if free.value < (int(sys.argv[1]) << 20) + size or cu.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t(size)):
        size >>= 1
print("ready", flush=True)
sys.stdin.read()
END
}

memory() { # filter
    wrong=0 failures=0
    # a context of its own takes some 500 MiB, too
    for left in 300 600 700 800 900 1000 1200 1500 2000 4000; do
        rm -f "$tmp/go" "$tmp/ready"
        mkfifo "$tmp/go"
        python3 "$tmp/take.py" $left < "$tmp/go" > "$tmp/ready" 2> "$tmp/err" &
        taker=$!
        exec 3> "$tmp/go"
        for _ in $(seq 300); do
            ! grep -q ready "$tmp/ready" || break
            sleep 0.1
        done
        ff -lavfi "$(graph "$1" 3840x2160)" $null
        status=$?
        exec 3>&-
        wait $taker
        if is_error $status; then
            failures=$((failures + 1))
            [ -s "$tmp/err" ] || { wrong=$((wrong + 1)); echo "        $left MiB: no message"; }
        elif [ $status != 0 ]; then
            wrong=$((wrong + 1))
            echo "        $left MiB: status $status"
        fi
    done
    # it must have failed at least once, and not with much memory
    if [ $wrong = 0 ] && [ $failures -gt 0 ] && [ $status = 0 ]; then
        pass "$1: memory is full ($failures of 10 runs ended with an error)"
    else
        fail "$1: memory is full ($failures of 10 runs ended with an error, $wrong went wrong)"
    fi
}

# The log of the run before stays, and the next run is as ever.
killed() { # filter
    log=$tmp/log.json
    ff -lavfi "$(graph "$1" 320x240)=log_path=$log" $null
    cp "$log" "$tmp/before"
    "$ffmpeg" -nostdin -v error -init_hw_device cuda=gpu:0 -filter_hw_device gpu \
        -lavfi "$(graph "$1" 1920x1080 | sed 's/:d=1//')=log_path=$log" $null 2> "$tmp/err" &
    process=$!
    sleep 3
    kill -9 $process
    wait $process 2> /dev/null
    if cmp -s "$log" "$tmp/before" && ff -lavfi "$(graph "$1" 320x240)=log_path=$log" $null &&
       [ "$(grep -c frameNum "$log")" = 25 ]; then
        pass "$1: killed"
    else
        fail "$1: killed"
    fi
}

full_disk() { # filter option
    ff -lavfi "$(graph "$1" 320x240)=$2=/dev/full" $null
    status=$?
    if is_error $status && grep -qi 'no space left' "$tmp/err"; then
        pass "$1: no room for $2"
    else
        fail "$1: no room for $2 (status $status)"
    fi
}

two_gpus() {
    for filter in ssim_cuda detailloss_cuda mad_cuda; do
        timeout 120 "$ffmpeg" -nostdin -v error -lavfi "testsrc2=s=320x240:d=1,format=yuv420p,split[a][b];[a]hwupload_cuda=device=0[c];[b]hwupload_cuda=device=1[d];[c][d]$filter" \
            $null > /dev/null 2> "$tmp/err"
        status=$?
        if is_error $status && grep -q 'two CUDA devices' "$tmp/err"; then
            pass "$filter: frames of two GPUs are refused"
        else
            fail "$filter: frames of two GPUs are refused"
        fi
    done
    timeout 120 "$ffmpeg" -nostdin -v error -lavfi "testsrc2=s=1280x720:d=4,format=yuv420p,split=3[a][b][c];[a]hwupload_cuda=device=0,bliinds_cuda=f=$tmp/0[x];[b]hwupload_cuda=device=1,bliinds_cuda=f=$tmp/1[y];[c]bliinds=f=$tmp/cpu[z]" \
        -map '[x]' $null -map '[y]' $null -map '[z]' $null > /dev/null 2> "$tmp/err"
    if [ -s "$tmp/cpu" ] && cmp -s "$tmp/cpu" "$tmp/0" && cmp -s "$tmp/cpu" "$tmp/1"; then
        pass "bliinds_cuda: two GPUs at once"
    else
        fail "bliinds_cuda: two GPUs at once"
    fi
}

ff -version || { cat "$tmp/err"; echo "no usable CUDA device"; exit 77; }
filters="bliinds_cuda ssim_cuda detailloss_cuda blocksmooth_cuda"
if ff -lavfi "$(graph mad_cuda 320x240)" $null; then
    filters="$filters mad_cuda"
else
    skip mad_cuda "$(head -n 1 "$tmp/err")"
fi
if command -v python3 > /dev/null; then
    take_memory > "$tmp/take.py"
    for filter in $filters; do
        memory $filter
    done
else
    skip "memory is full" "no python3"
fi
for filter in $filters; do
    case $filter in
    bliinds_cuda | detailloss_cuda | mad_cuda)
        killed $filter
        full_disk $filter log_path
        full_disk $filter stats_file ;;
    ssim_cuda)
        full_disk $filter stats_file ;;
    esac
done
if timeout 60 "$ffmpeg" -v error -init_hw_device cuda=two:1 -version > /dev/null 2>&1; then
    two_gpus
else
    skip "two GPUs" "there is one"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
