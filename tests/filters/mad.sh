# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of mad and mad_cuda.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- MAD ----

# Compare score, hi and lo of pairs of pictures with a table. A row names the reference and the
# distorted picture; then come a filter for each of them, in some tables, and the expected values.
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

# Compare with the authors' release.
mad_oracle(){ # folder
    mad_table $1/mad.csv
}

# Check odd sizes, black and flat pictures, large invisible errors, limited range, and no error.
mad_cases(){
    mad_table ${pictures}/mad_cases.csv
    ffmpeg -i ${pictures}/chelsea_451x300.pgm -lavfi split,mad,${print} ${to_null} | grep mad
    ffmpeg -lavfi testsrc2=s=175x99:d=0.2,format=yuv420p,split,mad,${print} ${to_null} |
        grep mad | sort | uniq -c
}

# Print the filters of a synthetic clip, as main input blurred, as reference unchanged.
mad_source(){ # size duration
    echo "testsrc2=s=$1:d=$2,format=yuv420p,split[r][d];[d]avgblur=1[m];[m][r]"
}

# Check that framesync's own pairing scores and outputs the same frames as FFmpeg's ssim with the
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

# Check that logs of all formats have the values of the metadata, and the mean of the frames.
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
    # frames that the timeline leaves out have a number in the logs
    ffmpeg -lavfi "$(mad_source 64x64 0.8)mad=enable='not(mod(n,4))':log_path=${tmp}/json:f=${tmp}/stats" ${to_null} || return
    cut -d' ' -f1,2 ${tmp}/stats | xargs
    jq -c '[.frames[].frameNum], .aggregate_metrics' ${tmp}/json
}

# Check that the root mean square of a map's interior, decoded by the formula of the manual, equals
# the value in the metadata. Prints "same", or the difference.
map_agrees(){ # width height black white unit octaves name tolerance
    awk -v w=$1 -v h=$2 -v black=$3 -v white=$4 -v unit=$5 -v octaves=$6 -v tolerance=$8 \
        -v value=$(sed -n "s/^lavfi.mad.$7=//p" ${tmp}/metadata) '
        NR > w * h { exit }
        {
            x = (NR - 1) % w
            y = int((NR - 1) / w)
            v = unit * (2 ^ (octaves * ($1 - black) / white) - 1)
            if (x >= 16 && x < w - 17 && y >= 16 && y < h - 17)
                sum += v * v
            else if (v)
                bad = "a border that is not black"
        }
        END {
            rms = sqrt(sum / (w - 33) / (h - 33))
            if ((rms - value) ^ 2 > (tolerance * value) ^ 2)
                bad = rms " for " value
            print bad ? bad : "same"
        }' ${tmp}/samples
}

# Print the bounding box of the samples that reach a value.
extent(){ # width value
    awk -v w=$1 -v value=$2 '
        BEGIN { left = top = 1e9 }
        $1 >= value {
            x = (NR - 1) % w
            y = int((NR - 1) / w)
            if (x < left)   left   = x
            if (x > right)  right  = x
            if (y < top)    top    = y
            if (y > bottom) bottom = y
        }
        END { print left " to " right ", " top " to " bottom }' ${tmp}/samples
}

# Check the maps: values, positions, chroma, properties of the frames, and frames without a score.
mad_maps(){
    while read -r map unit octaves name format bytes black white tolerance; do
        as=${exact},format=${format}
        graph="testsrc2=s=96x80:d=0.04,format=yuv444p,split[a][b];[a]avgblur=1,${as}[m];[b]${as}[r]"
        ffmpeg -lavfi "${graph};[m][r]mad=output=${map},metadata=print:file=${tmp}/metadata" \
            -f rawvideo -y ${tmp}/map || return
        od -An -v -t u${bytes} -w${bytes} ${tmp}/map > ${tmp}/samples
        echo "${map} ${format}: $(map_agrees 96 80 ${black} ${white} ${unit} ${octaves} ${name} ${tolerance})," \
            chroma: $(tail -n +$((96 * 80 + 1)) ${tmp}/samples | sort -u)
    done << EOF
detection  256 12 hi gray16le    2 0  65280 1e-5
detection  256 12 hi nv12        1 16 219   5e-3
appearance 1   6  lo yuvj444p    1 0  255   2e-3
appearance 1   6  lo yuv422p10le 2 64 876   5e-4
EOF
    # errors appear where they were drawn
    main=color=gray:s=128x96:d=0.04,format=yuv420p
    for map in detection appearance; do
        ffmpeg -lavfi ${main},noise=alls=9:all_seed=1,split[r][d]\;[d]drawbox=x=40:y=28:w=8:h=8:c=white:t=fill[m]\;[m][r]mad=output=${map} \
            -f rawvideo -y ${tmp}/map
        head -c $((128 * 96)) ${tmp}/map | od -An -v -t u1 -w1 > ${tmp}/samples
        echo "${map}: not black at $(extent 128 17), bright at $(extent 128 160)"
    done
    # output frames have the properties of the main input, whose own picture does not change
    frames=testsrc2=s=64x64:d=0.4,format=yuv420p,setpts=2*PTS
    for output in main detection; do
        graph="${frames},split[m][o];${frames},lutyuv=y=val/2,trim=end_frame=4[r]"
        graph="${graph};[m][r]mad=output=${output}:repeatlast=0:enable=not(eq(n\\,2)),metadata=print:file=${tmp}/${output}[a]"
        ffmpeg -lavfi "${graph}" \
            -map [a] -f framemd5 -y ${tmp}/${output}.frames -map [o] -f framemd5 -y ${tmp}/${output}.other || return
        cut -d, -f1-5 ${tmp}/${output}.frames > ${tmp}/${output}.times
    done
    same metadata ${tmp}/main ${tmp}/detection
    same times    ${tmp}/main.times ${tmp}/detection.times
    same input    ${tmp}/main.other ${tmp}/detection.other
    same "output=main" ${tmp}/main.other ${tmp}/main.frames
    ffmpeg -lavfi color=black:s=64x64:d=0.4,format=yuv420p -f framemd5 -y ${tmp}/black
    echo "black frames: $(grep -v '^#' ${tmp}/detection.frames | grep -c "$(sed -n '$s/.* //p' ${tmp}/black)")"
    # the map does not depend on the number of threads
    for threads in 1 3; do
        ffmpeg -filter_complex_threads ${threads} -lavfi "$(mad_source 175x99 0.08)mad=output=appearance" -f framemd5 -y ${tmp}/${threads}
    done
    same threads ${tmp}/1 ${tmp}/3
}

# Check the messages for unsupported and different sizes.
mad_errors(){
    for size in 63x64 64x63 1x1 16385x64; do
        fails -lavfi color=s=${size}:d=0.04,format=gray,split,mad ${to_null}
    done
    fails -lavfi testsrc2=s=96x80:d=0.04,format=yuv420p[a]\;testsrc2=s=80x96:d=0.04,format=yuv420p[b]\;[a][b]mad ${to_null}
}
