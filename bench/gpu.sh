#!/usr/bin/env bash
# Times the CUDA filters where there is a GPU:
#
#   bench/gpu.sh FFMPEG CLIP...
#
# FFMPEG is any build with the filters; of the clips the first HEVC and the first H.264 one are
# taken. Medians are printed: frames per second without and with a filter, and the host's time.
#
#   PARTS="streams ten seven alone start memory ffcrf kernels"   what is timed, without it all; kernels
#                 is the time of the GPU, by Nsight Compute, and needs no clip
#   FILTERS="bliinds ssim detailloss mad blocksmooth"        which filters
#   FRAMES=6000   of each run, at least 5000 for a result
#   RUNS=3        of each
#   LIMIT=300     seconds that a command may take
#
# The exit status is 77 if there is no GPU to use.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2086,SC2154,SC2206 source=tests/gpu-common.sh
. "$(dirname "$0")/../tests/gpu-common.sh"

frames=${FRAMES:-6000}
runs=${RUNS:-3}

row() { # what value
    printf '%-62s %s\n' "$1" "$2" | tee -a "$tmp/table"
}

now() {
    date +%s.%N
}

calc() { # format expression
    awk "BEGIN { printf(\"$1\", $2) }"
}

about() { # clip: what FFmpeg says of its video
    "$ffmpeg" -nostdin -hide_banner -i "$1" 2>&1 | sed -n 's/.*Video: //p' | head -n 1
}

of_gpu() { # field
    nvidia-smi "--query-gpu=$1" --format=csv,noheader,nounits -i "${CUDA_VISIBLE_DEVICES:-0}" 2> /dev/null | head -n 1
}

# Runs FFmpeg, and writes down when it had how many frames: lines of "time frames", then "end"
# with the time, then "cpu" with the seconds of user and system time.
sample() { # file arguments...
    local file=$1 line
    shift
    timeout "$limit" "$ffmpeg" -nostdin -hide_banner -v info -nostats -benchmark -stats_period 0.2 \
            -progress pipe:3 "$@" 3>&1 > /dev/null 2> "$file.err" |
        while IFS= read -r line; do
            case $line in
            frame=*)      echo "$(now) ${line#frame=}" ;;
            progress=end) echo "end $(now)" ;;
            esac
        done > "$file"
    sed -n 's/^.*bench: utime=\([0-9.]*\)s stime=\([0-9.]*\)s rtime.*/cpu \1 \2/p' "$file.err" >> "$file"
    grep -q '^cpu' "$file" || { echo "a run did not end well: $*"; tail -n 3 "$file.err"; } >&2
}

# Frames per second of all processes together: the slopes over the time that all
# of them were running, without their first 300 frames and the end.
slope() { # files
    awk '
        FNR == 1                    { file++; n[file] = 0 }
        $1 == "cpu" || $1 == "end"  { next }
        $2 >= 300                   { n[file]++; t[file, n[file]] = $1; f[file, n[file]] = $2 }
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
        $1 == "end"                   { end = $2 }
        $1 + 0 && $2 >= 300 && !first { start = $1; first = $2 }
        END { printf("%.1f\n", first && end > start ? inputs * (frames - first) / (end - start) : 0) }' "$3"
}

# One run of a kind, of which .fps and .cpu (microseconds of the host a frame) get a line.
timed() { # kind inputs processes frames arguments...
    local kind=$tmp/$1 inputs=$2 processes=$3 count=$4 i files=()
    shift 4
    for ((i = 1; i <= processes; i++)); do
        files+=("$tmp/s$i")
        sample "$tmp/s$i" "$@" &
    done
    wait
    if [ $inputs = 1 ]; then slope "${files[@]}"; else rate $inputs $count "$tmp/s1"; fi >> "$kind.fps"
    awk -v n=$((count * inputs)) '$1 == "cpu" { print ($2 + $3) / n * 1e6 }' "$tmp/s1" >> "$kind.cpu"
}

# Without and with a filter in turn; @ in the arguments is the filter, and for pairs the graph.
compare() { # title filter inputs processes frames arguments...
    local title=$1 filter=$2 inputs=$3 processes=$4 count=$5 run without with cpu
    shift 5
    rm -f "$tmp"/{without,with}.{fps,cpu}
    for ((run = 0; run < runs; run++)); do
        timed without $inputs $processes $count "${@//@/null}"
        timed with $inputs $processes $count "${@//@/$filter}"
    done
    without=$(median < "$tmp/without.fps") with=$(median < "$tmp/with.fps")
    cpu=$(calc %.1f "$(median < "$tmp/with.cpu") - $(median < "$tmp/without.cpu")")
    case " $without $with " in
    *" 0 "*) row "$title" "too short for a slope: more FRAMES" ;;
    *) row "$title" "$without without, $with with: $(calc %.1f "100 * $with / $without") %; host $cpu us/frame" ;;
    esac
}

single() { # title frames arguments...
    local title=$1 count=$2 run
    shift 2
    rm -f "$tmp"/single.*
    for ((run = 0; run < runs; run++)); do
        timed single 1 1 $count "$@"
    done
    row "$title" "$(median < "$tmp/single.fps") fps; host $(median < "$tmp/single.cpu") us/frame"
}

# What decodes a clip again and again, and compares it or two of it.
input_of() { # filter clip
    input=($decode -stream_loop -1 -i "$2")
    inputs=1 graph=@ with=$1_cuda
    takes_pairs $1 || return 0
    input+=("${input[@]}")
    # five frames apart, or else mad has nothing to do
    inputs=2 graph="[1:v]trim=start_frame=5,setpts=PTS-STARTPTS[r];[0:v][r]"
}

streams() {
    local filter file
    for filter in $filters; do
        for file in "${clips[@]}"; do
            input_of $filter "$file"
            if [ $inputs = 1 ]; then
                compare "$with, one stream, $(basename "$file")" $with 1 1 $frames "${input[@]}" -vf @ -an -frames:v $frames $null
            else
                # decoding both without comparing them is one output for each
                local alone=(-map 0:v -frames:v $frames $null -map 1:v -frames:v $frames $null) run fps cpu
                rm -f "$tmp"/pair{0,1}.*
                for ((run = 0; run < runs; run++)); do
                    timed pair0 2 1 $frames "${input[@]}" "${alone[@]}"
                    timed pair1 2 1 $frames "${input[@]}" -filter_complex "$graph$with" -frames:v $frames $null
                done
                fps=$(median < "$tmp/pair1.fps") cpu=$(calc %.1f "2 * ($(median < "$tmp/pair1.cpu") - $(median < "$tmp/pair0.cpu"))")
                row "$with, two streams in one process, $(basename "$file")" \
                    "$(median < "$tmp/pair0.fps") frames/s without, $fps with; host $cpu us/pair"
            fi
        done
    done
}

ten() {
    local file
    for file in "${clips[@]}"; do
        input_of bliinds "$file"
        compare "bliinds_cuda, ten processes, $(basename "$file")" $with 1 10 $frames "${input[@]}" -vf @ -an -frames:v $frames $null
    done
}

seven() {
    local file i all outputs
    for file in "${clips[@]}"; do
        all=() outputs=()
        input_of bliinds "$file"
        for i in {0..6}; do
            all+=("${input[@]}")
            outputs+=(-map $i:v -vf @ -frames:v $frames $null)
        done
        compare "bliinds_cuda, seven inputs in one process, $(basename "$file")" $with 7 1 $frames "${all[@]}" "${outputs[@]}"
    done
}

# The same work in other ways: one wait per frame, and the filter of the CPU.
alone() {
    local filter file=${clips[0]} format down few software
    format=$(clip_format "$file")
    for filter in $filters; do
        down="hwdownload,format=$format,format=$(planar_of $format)"
        input_of $filter "$file"
        # mad has some pairs a second: its slope is that of few
        few=$((frames / 3))
        [ $filter != mad ] || few=400
        software=(-stream_loop -1 -i "$file")
        if [ $inputs = 1 ]; then
            gives_frames $filter ||
                single "$with, queue=1, one wait per frame" $frames "${input[@]}" -vf $with=queue=1 -an -frames:v $frames $null
            single "$filter, CPU decoder, all cores" $few "${software[@]}" -vf format="$(planar_of $format)",$filter -an -frames:v $few $null
            single "$filter on NVDEC frames, hwdownload" $few "${input[@]}" -vf "$down,$filter" -an -frames:v $few $null
        else
            single "$filter, CPU decoders, all cores" $few "${software[@]}" "${software[@]}" -filter_complex "$graph$filter" -frames:v $few $null
            single "$filter on NVDEC frames, two hwdownloads" $few "${input[@]}" -filter_complex \
                "[0:v]${down}[a];[1:v]trim=start_frame=5,setpts=PTS-STARTPTS,${down}[b];[a][b]$filter" -frames:v $few $null
        fi
    done
}

# Until the first frame has left the filter: the end of a process is not in it.
first_frame() { # filter
    local run begun
    for run in 1 2 3 4 5; do
        begun=$(now)
        timeout "$limit" "$ffmpeg" -nostdin -v error $decode -i "${clips[0]}" -an -frames:v 1 \
            -vf "$1,metadata=add:key=a:value=b,metadata=print:file=-:direct=1" $null 2> /dev/null |
            { IFS= read -r _; calc '%.3f\n' "$(now) - $begun"; cat > /dev/null; }
    done | median
}

start() {
    row "first frame, without (seconds)" "$(first_frame null)"
    row "first frame, with bliinds_cuda, kernels in the JIT cache" "$(first_frame bliinds_cuda=queue=1)"
    row "first frame, with bliinds_cuda, no JIT cache" "$(export CUDA_CACHE_DISABLE=1; first_frame bliinds_cuda=queue=1)"
}

# GPU memory while frames of 1080p flow through so many instances, which all look at the same frames.
memory_of() { # instances
    local graph="[0:v]format=nv12,hwupload_cuda,split=4[a][b][c][d]" maps='' pad i=0
    for pad in a b c d; do
        graph+=";[$pad]$([ $i -lt $1 ] && echo bliinds_cuda || echo null)[${pad}1]"
        maps+=" -map [${pad}1] $null"
        i=$((i + 1))
    done
    timeout 20 "$ffmpeg" -nostdin -v error -re -f lavfi -i testsrc2=s=1920x1080:r=25:d=8 -filter_complex "$graph" $maps &
    for i in {1..9}; do
        sleep 0.5
        of_gpu memory.used
    done | sort -n | tail -n 1
    wait
}

memory() {
    local size
    row "GPU memory at 1920x1080, with 0, 1 and 4 of bliinds_cuda (MiB)" "$(memory_of 0) $(memory_of 1) $(memory_of 4)"
    for size in 512x512 1920x1080 3840x2160; do
        row "GPU memory of mad_cuda at $size" "$("$ffmpeg" -nostdin -v verbose -init_hw_device cuda -f lavfi -i nullsrc=s=$size:d=0.04 \
            -filter_complex format=nv12,hwupload,split,mad_cuda $null 2>&1 | sed -n 's/.* takes \(.*\) of GPU memory, and \(.*\)\.$/\1 and \2/p')"
    done
}

ffcrf() {
    local file how begun
    for file in "${clips[@]}"; do
        for how in "libx264 -preset veryfast --gpu off" "libx264 -preset veryfast --gpu 0" "hevc_nvenc --gpu 0"; do
            begun=$(now)
            timeout "$limit" "$(dirname "$ffmpeg")/ffcrf" -i "$file" -c:v $how --samples 1 --target-loss 8 --json \
                --cache false --max-encoded-percent 100000 > "$tmp/json" 2> "$tmp/err"
            row "ffcrf $how, $(basename "$file"), s" "$(calc %.2f "$(now) - $begun"), $(grep -c sample-encode-done "$tmp/json") encodes"
        done
    done
}

# What Nsight Compute sees of each kernel, of so many frames or, without a number, of a batch: the
# first of its kernels has as many rows of thread blocks as there are frames.
ncu_rows() { # title metric [frames]
    awk -F'","' -v title="$1" -v metric="$2" -v n="${3:-}" '
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
            value = $column["Metric Value"]
            gsub(/[",]/, "", value)
            unit = $column["Metric Unit"]
            # to us or MB
            value *= unit ~ /^n/ ? .001 : unit ~ /^ms/ ? 1000 : unit == "byte" ? 1e-6 : unit ~ /^K/ ? .001 : unit ~ /^G/ ? 1000 : 1
            if (!n) {
                split($column["Grid Size"], grid, ",")
                n = grid[2] + 0
            }
            sum[name] += value
            count[name]++
            all += value
        }
        END {
            for (name in sum)
                each = each sprintf("%s %.2f in %.1f, ", name, sum[name] / n, count[name] / n)
            printf("%-62s %.2f %s (%s%d frames)\n", title, all / n, metric ~ /time/ ? "us" : "MB", each, n)
        }' "$tmp/ncu" | tee -a "$tmp/table"
}

# What Nsight Compute says of one metric, while one picture goes through a filter again and again.
profile() { # metric frames graph options...
    local metric=$1 count=$2 graph=$3
    shift 3
    timeout "$limit" ncu --clock-control none --csv --metrics $metric "$@" "$ffmpeg" -nostdin -v quiet -init_hw_device cuda \
        -f lavfi -i mandelbrot=s=$size -frames:v $count -filter_complex "$graph" $null > "$tmp/ncu" 2>&1
}

# Kernels are slow to start where they are looked at, so that each frame goes alone. Those behind many that
# are not looked at have a batch, as frames come fast until then.
kernels() {
    local filter size how caches title count metric metrics known up graph each
    command -v ncu > /dev/null || { echo "SKIPPED kernels: no ncu"; return; }
    for filter in $filters; do
        for size in 512x512 1280x720 1920x1080 3840x2160; do
            for how in nv12:none nv12:all p010le:none $([ $filter != bliinds ] || echo bitstream,nv12:none bitstream,p010le:none); do
                count=24 metrics=gpu__time_duration.sum
                [ $filter != mad ] || count=4 metrics="gpu__time_duration.sum dram__bytes.sum"
                known=
                [[ $how != bitstream* ]] || known=$coded
                how=${how#bitstream,} caches=${how#*:}
                up="format=${how%:*},hwupload,loop=-1:1,setpts=N/25/TB"
                graph="$up,${filter}_cuda"
                ! takes_pairs $filter ||
                    graph="split[m][r];[m]gblur,${up}[m2];[r]${up}[r2];[m2][r2]${filter}_cuda"
                title="${filter}_cuda${known:+ by the bitstream}, $size ${how%:*}"
                for metric in $metrics; do
                    profile $metric $count "$known$graph" --cache-control $caches
                    ncu_rows "$title: $metric a frame, caches $caches" $metric $count
                done
                if [ $filter = mad ] || [ $caches = all ]; then continue; fi
                each=$(($(grep -c "$metric" "$tmp/ncu") / count))
                profile $metric 4000 "$known$graph" --cache-control none --launch-skip $((300 * each)) --launch-count $each
                ncu_rows "$title: $metric a frame, in batches" $metric
            done
        done
    done
}

echo "date        $(date -u +%Y-%m-%d)"
echo "GPU         $(of_gpu name,driver_version)"
echo "host        $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
"$ffmpeg" -hide_banner -version | head -n 1
clips=()
for codec in hevc h264; do
    for clip; do
        [[ $(about "$clip") = $codec* ]] || continue
        echo "clip        $(basename "$clip"): $(about "$clip")"
        # a clip that is read again and again starts the decoder anew each time: a long one seldom does
        long=$tmp/$codec-$(basename "$clip")
        ff -stream_loop -1 -i "$clip" -map 0:v -c copy -frames:v 1500 "$long" || long=$clip
        clips+=("$long")
        break
    done
done
parts="memory kernels"
[ ${#clips[@]} = 0 ] || parts="streams ten seven alone start memory ffcrf kernels"
for part in ${PARTS:-$parts}; do
    $part
done
echo
cat "$tmp/table"
