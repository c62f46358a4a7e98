# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of blocksmooth.
# SPDX-License-Identifier: LGPL-2.1-or-later

# 8x8 blocks with steps of all heights, some noise on them, and a few hard edges.
blocks=testsrc2=s=44x32:d=0.12,scale=352:256:flags=neighbor,scale,format=yuv444p,noise=alls=5:allf=t:all_seed=7

# Smoothing by the formulas of the manual, of numbers on stdin, a sample each.
smoothed(){ # width height depth qf block
    awk -v w=$1 -v h=$2 -v depth=$3 -v qf=$4 -v size=$5 '
        function at(line, i)      { return across ? i * w + line : line * w + i }
        function put(line, i, n)  { v[at(line, i)] = n < 0 ? 0 : n > 2 ^ depth - 1 ? 2 ^ depth - 1 : n }
        function get(line, i)     { return v[at(line, i)] }
        function apart(a, b)      { return a < b ? b - a : a - b }
        function pass(lines, n,    line, e, x, unit) {
            unit = 2 ^ (depth - 8)
            for (line = 0; line < lines; line++)
                for (e = size; e + 2 < n; e += size) {
                    x = get(line, e) - get(line, e - 1)
                    if (apart(get(line, e - 2), get(line, e - 1)) < 5 * unit &&
                        apart(get(line, e), get(line, e + 1)) < 5 * unit) {
                        if (apart(x, 0) >= 2.0 * qf * unit)
                            continue
                        put(line, e - 3, get(line, e - 3) + int(x / 8))
                        put(line, e - 2, get(line, e - 2) + int(x / 4))
                        put(line, e - 1, get(line, e - 1) + int(x / 2))
                        put(line, e,     get(line, e)     - int(x / 2))
                        put(line, e + 1, get(line, e + 1) - int(x / 4))
                        put(line, e + 2, get(line, e + 2) - int(x / 8))
                    } else if (apart(x, 0) < 0.8 * qf * unit) {
                        put(line, e - 2, get(line, e - 2) + int(x / 8))
                        put(line, e - 1, get(line, e - 1) + int(x / 2))
                        put(line, e,     get(line, e)     - int(x / 2))
                        put(line, e + 1, get(line, e + 1) - int(x / 8))
                    }
                }
        }
        { for (i = 1; i <= NF; i++) v[n++] = $i }
        END {
            pass(h, w)
            across = 1
            pass(w, h)
            for (i = 0; i < n; i++)
                print v[i]
        }'
}

numbers(){ # depth
    if test $1 -gt 8; then od -A n -v -t u2; else od -A n -v -t u1; fi
}

blocksmooth_numbers(){
    while read -r width height depth qf block filter; do
        format=gray
        test ${depth} = 8 || format=gray${depth}le
        ffmpeg -lavfi $(pattern ${width}x${height} ${format}),${filter} -frames:v 1 -f rawvideo -y ${tmp}/source || return
        ffmpeg -f rawvideo -pix_fmt ${format} -video_size ${width}x${height} -i ${tmp}/source \
            -vf blocksmooth=qf=${qf}:block=${block} -f rawvideo -y ${tmp}/smoothed || return
        numbers ${depth} < ${tmp}/source | smoothed ${width} ${height} ${depth} ${qf} ${block} > ${tmp}/expected
        numbers ${depth} < ${tmp}/smoothed | awk '{ for (i = 1; i <= NF; i++) print $i }' > ${tmp}/got
        numbers ${depth} < ${tmp}/source   | awk '{ for (i = 1; i <= NF; i++) print $i }' > ${tmp}/before
        same "${width}x${height} of ${depth} bits, ${filter}, qf ${qf}, block ${block}, $(
              diff ${tmp}/before ${tmp}/got | grep -c '^>') samples changed" ${tmp}/expected ${tmp}/got
    done << END
176 144 8  127 8 null
176 144 8  1   8 null
176 144 8  7   8 null
176 144 8  20  8 null
176 144 8  255 8 null
177 141 8  60  16 null
177 141 8  60  32 null
177 141 8  60  64 null
175 99  10 127 8 null
175 99  12 33  8 null
175 99  16 127 8 null
175 99  16 255 16 null
1   1   8  127 8 null
10  10  8  127 8 null
11  10  8  127 8 null
10  11  8  127 8 null
11  11  8  127 8 null
176 144 8  127 8 geq=lum=if(eq(mod(X\,8)\,7)\,251\,255)
176 144 8  127 8 geq=lum=if(eq(mod(X\,8)\,7)\,4\,0)
3   40  8  127 8 null
40  3   16 127 8 null
END
}

blocksmooth_formats(){
    for format in gray gray10le gray16le yuv420p yuv422p yuv444p yuv440p yuv410p yuva420p yuv420p9le yuv420p10le \
                  yuv422p12le yuv444p14le yuv420p16le gbrp gbrp10le; do
        echo "#format ${format}"
        framecrc -lavfi $(pattern 175x99 ${format}),blocksmooth | grep -v '^#'
    done
}

# Planes, threads, timeline and commands.
blocksmooth_options(){
    for planes in 0 1 2 4 5; do
        echo "#planes ${planes}"
        framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=planes=${planes} | grep -v '^#'
    done
    framecrc -lavfi ${blocks},scale,format=yuv420p > ${tmp}/0
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=planes=0 > ${tmp}/1
    same "no plane, $(grep -c ^0, ${tmp}/1) frames" ${tmp}/0 ${tmp}/1
    for block in 8 64; do
        framecrc -filter_threads 1 -lavfi ${blocks},scale,format=yuv420p10le,blocksmooth=block=${block} > ${tmp}/1
        for threads in 2 3 16; do
            framecrc -filter_threads ${threads} -lavfi ${blocks},scale,format=yuv420p10le,blocksmooth=block=${block} > ${tmp}/n
            same "${threads} threads, $(grep -c ^0, ${tmp}/n) frames" ${tmp}/1 ${tmp}/n
        done
    done
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=qf=30 > ${tmp}/30
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=qf=99:block=16 > ${tmp}/99
    # the last one is refused
    echo "0.04 blocksmooth qf 99, blocksmooth block 16; 0.08 blocksmooth block 12;" > ${tmp}/list
    framecrc -lavfi ${blocks},scale,format=yuv420p,sendcmd=f=${tmp}/list,blocksmooth=qf=30 > ${tmp}/commands
    { grep '^0, *0,' ${tmp}/30; grep '^0, *[12],' ${tmp}/99; } > ${tmp}/expected
    grep '^0,' ${tmp}/commands > ${tmp}/got
    same "commands, $(wc -l < ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=qf=99:block=16:enable=eq\(n\\,1\) > ${tmp}/enable
    { grep '^0, *0,' ${tmp}/0; grep '^0, *1,' ${tmp}/99; grep '^0, *2,' ${tmp}/0; } > ${tmp}/expected
    grep '^0,' ${tmp}/enable > ${tmp}/got
    same "timeline, $(wc -l < ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
}

blocksmooth_errors(){
    parsed=blocksmooth
    for options in block=12 block=48 block=4 block=128 qf=0 qf=256 planes=16; do
        fails -lavfi ${blocks},blocksmooth=${options} ${to_null}
    done
}
