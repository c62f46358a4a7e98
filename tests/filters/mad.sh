# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of mad and mad_cuda.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- MAD ----

# MAD and its parts of pairs of pictures, by a table whose rows begin with the reference and the
# distorted picture, and go on with a filter of each where these are not those of another table.
mad_table(){ # table
    up='' filter=mad device=
    if test -n "${gray}"; then
        device="-init_hw_device cuda" filter=mad_cuda
        up=,scale=in_range=full:out_range=full,format=yuv444p,hwupload
    fi
    tail -n +2 $1 | while IFS=, read -r reference distorted r m rest; do
        row=${reference},${distorted},${r},${m}
        test ${r} = "${r#[0-9]}" || r=null m=null
        ffmpeg ${device} -i ${1%/*}/${distorted} -i ${1%/*}/${reference} \
            -lavfi [0]${m}${up}[m]\;[1]${r}${up}[r]\;[m][r]${filter},${print} ${to_null} |
            agree $1 ${row} | sed "s|^|${row}: |"
    done
}

# By the authors' release.
mad_oracle(){ # folder
    mad_table $1/mad.csv
}

# Odd sizes, black and flat pictures, large errors that are not seen, limited range, none at all.
mad_cases(){
    mad_table ${pictures}/mad_cases.csv
    ffmpeg -i ${pictures}/chelsea_451x300.pgm -lavfi split,mad,${print} ${to_null} | grep mad
    ffmpeg -lavfi testsrc2=s=175x99:d=0.2,format=yuv420p,split,mad,${print} ${to_null} |
        grep mad | sort | uniq -c
}

# The luma of a drawn clip, blurred, and as it is.
mad_source(){ # size duration
    echo "testsrc2=s=$1:d=$2,format=yuv420p,split[r][d];[d]avgblur=1[m];[m][r]"
}

# With framesync's own pairing, what is scored and what comes out is what FFmpeg's ssim makes of the
# same streams and options.
mad_sync(){
    source=testsrc2=s=64x64:d=0.4,format=yuv420p
    while read -r main reference options; do
        for filter in ssim mad; do
            ffmpeg -lavfi ${source},${main}[m]\;${source},negate,${reference}[r]\;[m][r]${filter}=ts_sync_mode=default:${options},${print} \
                -bitexact -f framemd5 -y ${tmp}/md5 | grep '^frame' > ${tmp}/${filter}
            cat ${tmp}/md5 >> ${tmp}/${filter}
        done
        same "$(grep -c ^frame ${tmp}/ssim) scored of $(grep -c '^0' ${tmp}/ssim): ${main} ${reference} ${options}" \
            ${tmp}/ssim ${tmp}/mad
    done << EOF
null null eof_action=repeat
null trim=end_frame=4 eof_action=repeat
null trim=end_frame=4 shortest=1
null trim=end_frame=4 repeatlast=0
null trim=end_frame=4 eof_action=endall
null trim=end_frame=4 eof_action=pass
trim=end_frame=4 null eof_action=repeat
trim=end_frame=4 null shortest=1
fps=10 null eof_action=repeat
null fps=10 eof_action=repeat
null fps=10 eof_action=repeat:ts_sync_mode=nearest
null setpts=PTS+3/25/TB eof_action=repeat
null trim=end_frame=0 eof_action=repeat
trim=end_frame=0 null eof_action=repeat
null null enable='between(n,2,4)'
EOF
}

# All forms have the numbers of the metadata, and the mean is that of the frames.
mad_logs(){
    need jq || return 0
    ffmpeg -lavfi $(mad_source 96x80 0.4)mad=log_path=${tmp}/json:f=${tmp}/stats,${print} \
        ${to_null} > ${tmp}/out 2> ${tmp}/err || return
    sed -n "s/^lavfi.mad.[a-z]*=//p" ${tmp}/out > ${tmp}/expected
    for form in json stats; do
        grep '^[0-9]\|frameNum\|^n:' ${tmp}/${form} | sed 's/pts_time:[^ ]*//' | grep -o '[0-9]*\.[0-9]*' > ${tmp}/got
        same ${form} ${tmp}/expected ${tmp}/got
        logged ${tmp}/${form} | sed 's/[0-9]*\.[0-9]*/N/g' | uniq
    done
    mean=$(sed -n "s/^lavfi.mad.score=//p" ${tmp}/out | awk '{ sum += $1 } END { printf("%.6f", sum / NR) }')
    messages < ${tmp}/err | sed "s/mean:${mean}/mean:MEAN/;s/[0-9][0-9]*\.[0-9]*/N/g"
    # frames that are not compared have numbers, too
    ffmpeg -lavfi "$(mad_source 64x64 0.8)mad=enable='not(mod(n,4))':log_path=${tmp}/json:f=${tmp}/stats" ${to_null} || return
    cut -d' ' -f1,2 ${tmp}/stats | xargs
    jq -c '[.frames[].frameNum], .aggregate_metrics' ${tmp}/json
}

# Sizes that cannot be, or that differ.
mad_errors(){
    for size in 63x64 64x63 1x1 16385x64; do
        fails -lavfi color=s=${size}:d=0.04,format=gray,split,mad ${to_null}
    done
    fails -lavfi testsrc2=s=96x80:d=0.04,format=yuv420p[a]\;testsrc2=s=80x96:d=0.04,format=yuv420p[b]\;[a][b]mad ${to_null}
}
