# shellcheck shell=bash disable=SC2086,SC2154
# GPU memory that is nearly full (nobody else may be on the GPU), a process that is killed, a full disk,
# and two GPUs where there are two. tests/gpu.sh reads this; FATE does more on a stand-in for the driver.
# SPDX-License-Identifier: LGPL-2.1-or-later

on_gpu() {
    ff -init_hw_device cuda=gpu:0 -filter_hw_device gpu "$@"
}

# Takes all of the GPU's memory but so many MiB, until its input ends.
cat > "$tmp/take.py" << 'END'
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

memory() { # filter
    local wrong=0 errors=0 left status pid fd
    # a context of its own takes some 500 MiB, too
    for left in 300 600 700 800 900 1000 1200 1500 2000 4000; do
        coproc taker { python3 "$tmp/take.py" $left 2> "$tmp/taker"; }
        pid=$! fd=${taker[0]:-}
        [ ! "$fd" ] || read -r -t 30 -u "$fd" _
        on_gpu -lavfi "$(graph $1 3840x2160)" $null
        status=$?
        { kill $pid; wait $pid; } 2> /dev/null
        if is_error $status && [ -s "$tmp/err" ]; then
            errors=$((errors + 1))
        elif [ $status != 0 ]; then
            wrong=$((wrong + 1))
        fi
    done
    # it must have failed at least once, and not with much memory
    if [ $wrong = 0 ] && [ $errors -gt 0 ] && [ $status = 0 ]; then
        pass "$1_cuda: memory is full ($errors of 10 runs ended with an error)"
    else
        fail "$1_cuda: memory is full ($errors of 10 runs ended with an error, $wrong went wrong)"
    fi
}

# The log of the run before stays, and the next run is as ever.
killed() { # filter
    local log=$tmp/log.json process
    on_gpu -lavfi "$(graph $1 320x240)=log_path=$log" $null
    cp "$log" "$tmp/before"
    "$ffmpeg" -nostdin -v error -init_hw_device cuda=gpu:0 -filter_hw_device gpu \
        -lavfi "$(graph $1 1920x1080 | sed 's/:d=1//')=log_path=$log" $null 2> "$tmp/err" &
    process=$!
    sleep 3
    kill -9 $process
    wait $process 2> /dev/null
    if cmp -s "$log" "$tmp/before" && on_gpu -lavfi "$(graph $1 320x240)=log_path=$log" $null &&
       [ "$(grep -c frameNum "$log")" = 25 ]; then
        pass "$1_cuda: killed"
    else
        fail "$1_cuda: killed"
    fi
}

# An error in these words.
says() { # words name arguments...
    local words=$1 name=$2 status
    shift 2
    ff "$@" $null
    status=$?
    if is_error $status && grep -qi "$words" "$tmp/err"; then
        pass "$name"
    else
        fail "$name (status $status)"
    fi
}

faults() {
    local filter
    for filter in $filters; do
        memory $filter
        case $filter in
        bliinds | detailloss | mad)
            killed $filter
            says 'no space left' "${filter}_cuda: no room for its log" \
                -init_hw_device cuda -lavfi "$(graph $filter 320x240)=log_path=/dev/full" ;;
        esac
        ! takes_pairs $filter || [ ! "$two_gpus" ] ||
            says 'two CUDA devices' "${filter}_cuda: frames of two GPUs are refused" \
                -lavfi "testsrc2=s=320x240:d=1,format=yuv420p,split[a][b];[a]hwupload_cuda=device=0[c];
                        [b]hwupload_cuda=device=1[d];[c][d]${filter}_cuda"
    done
}
