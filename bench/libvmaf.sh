#!/usr/bin/env bash
# Times the filter vmaf against libvmaf's tool, one thread each: milliseconds of processor time for a pair,
# and how much of libvmaf's that is.
#
#   bench/libvmaf.sh FFMPEG VMAF CLIP
#
# VMAF is libvmaf's tool, built with assembly. The first frames of CLIP are scaled to the size; the encode is
# the clip scaled to two thirds and back. Start-up is left out: one run measures FRAMES frames,
# another three times as many.
#
#   MODELS="vmaf_v0.6.1"    more with spaces between them
#   SIZE=1920x1080
#   FRAMES=10
#   RUNS=5                  of each program, in turn; the median counts
# SPDX-License-Identifier: LGPL-2.1-or-later
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,/^# SPDX/{/^# SPDX/d;s/^# \{0,1\}//;p}' "$0"; exit 2; }
ffmpeg=$1 vmaf=$2 clip=$3
size=${SIZE:-1920x1080} frames=${FRAMES:-10} runs=${RUNS:-5}
w=${size%x*} h=${size#*x}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
TIMEFORMAT=%U

"$ffmpeg" -v error -nostdin -i "$clip" -lavfi "[0:v]scale=$w:$h,format=yuv420p,split[r][a];
    [a]scale=$((w * 2 / 3)):$((h * 2 / 3)),scale=$w:${h}[d]" \
    -map '[r]' -frames:v "$frames" -f rawvideo "$tmp/r" -map '[d]' -frames:v "$frames" -f rawvideo "$tmp/d"
for name in r d; do
    for ((i = 0; i < 3; i++)); do cat "$tmp/$name"; done > "$tmp/$name.3"
done

# Seconds of processor time for that many times the frames
ours() { # model times
    local raw=(-f rawvideo -pix_fmt yuv420p -video_size "$size")
    { time "$ffmpeg" -v error -nostdin -filter_complex_threads 1 "${raw[@]}" -i "$tmp/d" "${raw[@]}" -i "$tmp/r" \
        -lavfi "[0]loop=-1:$frames,setpts=N[d];[1]loop=-1:$frames,setpts=N[r];[d][r]vmaf=model=version=$1" \
        -frames:v $((frames * $2)) -fps_mode passthrough -f null - 2>&3; } 3>&2 2>&1
}
libvmaf() { # model times cpumask
    local suffix=
    [ "$2" = 1 ] || suffix=.3
    { time "$vmaf" -r "$tmp/r$suffix" -d "$tmp/d$suffix" -w "$w" -h "$h" -p 420 -b 8 -m "version=$1" \
        --threads 1 --cpumask "$3" -q -o "$tmp/log" 2>&3; } 3>&2 2>&1
}

echo "| model | size | program | ms a pair | share |"
echo "|---|---|---|---|---|"
for model in ${MODELS:-vmaf_v0.6.1}; do
    for ((run = 0; run < runs; run++)); do
        echo "ours $(ours "$model" 1) $(ours "$model" 3)"
        echo "AVX2 $(libvmaf "$model" 1 48) $(libvmaf "$model" 3 48)"
        echo "AVX-512 $(libvmaf "$model" 1 0) $(libvmaf "$model" 3 0)"
    done | awk -v model="$model" -v size="$size" -v n=$((2 * frames)) '
        function median(name,    i, j, t) {
            for (i = 1; i <= nb[name]; i++)
                for (j = i + 1; j <= nb[name]; j++)
                    if (v[name, j] < v[name, i]) { t = v[name, i]; v[name, i] = v[name, j]; v[name, j] = t }
            return v[name, int((nb[name] + 1) / 2)]
        }
        { v[$1, ++nb[$1]] = ($3 - $2) * 1000 / n }
        END {
            own = median("ours")
            printf("| %s | %s | vmaf | %.1f | |\n", model, size, own)
            printf("| %s | %s | libvmaf, AVX2 | %.1f | %.2f |\n", model, size, median("AVX2"), own / median("AVX2"))
            printf("| %s | %s | libvmaf, AVX-512 | %.1f | %.2f |\n", model, size, median("AVX-512"), own / median("AVX-512"))
        }'
done
