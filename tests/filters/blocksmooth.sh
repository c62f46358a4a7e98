# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of blocksmooth.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Clip of 8x8 blocks with steps of all heights, noise, and a few hard edges.
blocks=testsrc2=s=44x32:d=0.12,scale=352:256:flags=neighbor,${exact},format=yuv444p,noise=alls=5:allf=t:all_seed=7

# Compare samples with those of tests/oracle/blocksmooth.py.
blocksmooth_numbers(){
    n=0
    table=${pictures}/blocksmooth.csv
    tail -n +2 ${table} | while IFS=, read -r width height depth qf block md5 filter; do
        format=gray size=${width}x${height} n=$((n + 1))
        source=${tmp}/${n}.source
        test ${depth} = 8 || format=gray${depth}le
        ffmpeg -lavfi $(pattern ${size} ${format}),${filter} -frames:v 1 -f rawvideo ${source}
        ffmpeg -f rawvideo -pix_fmt ${format} -video_size ${size} -i ${source} \
            -vf blocksmooth=qf=${qf}:block=${block} -f rawvideo -y ${tmp}/smoothed
        echo ${md5} > ${tmp}/expected
        do_md5sum ${tmp}/smoothed | cut -c-32 > ${tmp}/got
        changed=$(cmp -l ${source} ${tmp}/smoothed | wc -l)
        same "${size} ${format}, ${filter}, qf ${qf}, block ${block}, ${changed} bytes changed" \
            ${tmp}/expected ${tmp}/got
    done
}

# Check samples of each format.
blocksmooth_formats(){
    for format in gray gray10le gray16le yuv420p yuv422p yuv444p yuv440p yuv410p yuva420p yuv420p9le yuv420p10le \
                  yuv422p12le yuv444p14le yuv420p16le gbrp gbrp10le; do
        echo "#format ${format}"
        framecrc -lavfi $(pattern 175x99 ${format}),blocksmooth | grep -v '^#'
    done
}

# Check the option planes, numbers of threads, timeline and commands.
blocksmooth_options(){
    for planes in 0 1 2 4 5; do
        echo "#planes ${planes}"
        framecrc -lavfi ${blocks},${exact},format=yuv420p,blocksmooth=planes=${planes} | grep -v '^#'
    done
    framecrc -lavfi ${blocks},${exact},format=yuv420p > ${tmp}/0
    framecrc -lavfi ${blocks},${exact},format=yuv420p,blocksmooth=planes=0 > ${tmp}/1
    same "no plane, $(grep -c ^0, ${tmp}/1) frames" ${tmp}/0 ${tmp}/1
    for block in 8 64; do
        framecrc -filter_threads 1 -lavfi ${blocks},${exact},format=yuv420p10le,blocksmooth=block=${block} > ${tmp}/1
        for threads in 2 3 16; do
            framecrc -filter_threads ${threads} -lavfi ${blocks},${exact},format=yuv420p10le,blocksmooth=block=${block} > ${tmp}/n
            same "${threads} threads, $(grep -c ^0, ${tmp}/n) frames" ${tmp}/1 ${tmp}/n
        done
    done
    framecrc -lavfi ${blocks},${exact},format=yuv420p,blocksmooth=qf=30 > ${tmp}/30
    framecrc -lavfi ${blocks},${exact},format=yuv420p,blocksmooth=qf=99:block=16 > ${tmp}/99
    # the filter rejects the last command
    echo "0.04 blocksmooth qf 99, blocksmooth block 16; 0.08 blocksmooth block 12;" > ${tmp}/list
    framecrc -lavfi ${blocks},${exact},format=yuv420p,sendcmd=f=${tmp}/list,blocksmooth=qf=30 > ${tmp}/commands
    { grep '^0, *0,' ${tmp}/30; grep '^0, *[12],' ${tmp}/99; } > ${tmp}/expected
    grep '^0,' ${tmp}/commands > ${tmp}/got
    same "commands, $(wc -l < ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
    framecrc -lavfi ${blocks},${exact},format=yuv420p,blocksmooth=qf=99:block=16:enable=eq\(n\\,1\) > ${tmp}/enable
    { grep '^0, *0,' ${tmp}/0; grep '^0, *1,' ${tmp}/99; grep '^0, *2,' ${tmp}/0; } > ${tmp}/expected
    grep '^0,' ${tmp}/enable > ${tmp}/got
    same "timeline, $(wc -l < ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
}

# Check the messages for invalid options.
blocksmooth_errors(){
    parsed=blocksmooth
    for options in block=12 block=48 block=4 block=128 qf=0 qf=256 planes=16; do
        fails -lavfi ${blocks},blocksmooth=${options} ${to_null}
    done
}
