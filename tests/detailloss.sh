# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154
# Tests of detailloss and detailloss_cuda, for CMD in tests/fate/metrics.mak: they come after
# tests/filters/common.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Against double precision, real pictures that move, in gray, and drawn ones:
# tests/oracle/detailloss.py. What goes on without detail can be large; from 2160 lines on the
# display is another one.
detailloss_numbers(){
    n=0 table=${pictures}/detailloss.csv
    tail -n +2 ${table} | while IFS=, read -r clip format size range filter whole rest; do
        n=$((n + 1)) row=${clip},${format},${size},${range},${filter},${whole}
        drawn=${size} border='' both=setrange=${range}
        if test -n "${whole}"; then
            drawn=96x96 border=,pad=192:192:color=gray
            both=${both},pad=${whole%x*}:${whole#*x}:color=gray
        fi
        crop=loop=2:1,crop=${size%x*}:${size#*x}
        case ${clip} in
        camera)  graph="-i ${pictures}/camera_crop_300x240.pgm -vf ${crop}:n*5:n*3" ;;
        chelsea) graph="-i ${pictures}/chelsea_451x300.pgm -vf ${crop}:100-n*3:n*2" ;;
        drawn)   graph="-lavfi $(pattern ${drawn} ${format})" ;;
        pale)    graph="-lavfi $(pattern ${drawn} ${format}),lutyuv=u=124+val/32:v=124+val/32" ;;
        esac
        raw="-f rawvideo -pix_fmt ${format} -video_size ${size}"
        ffmpeg ${graph}${border} -frames:v 3 -f rawvideo ${tmp}/${n}.source
        ffmpeg ${graph},${filter}${border} -frames:v 3 -f rawvideo ${tmp}/${n}.encode
        ffmpeg ${raw} -i ${tmp}/${n}.encode ${raw} -i ${tmp}/${n}.source -lavfi \
            [0]${both}[m]\;[1]${both}[r]\;[m][r]detailloss,trim=start_frame=2,${print} ${to_null} |
            agree ${table} ${row} 1e-4 1e-4 | sed "s|^|${row}: |"
    done
}

# A picture has lost nothing of itself, however it moves.
detailloss_limits(){
    for format in gray gray12le yuv420p nv12 yuvj422p yuv444p16le p010le; do
        ffmpeg -lavfi testsrc2=s=175x99:d=0.2,format=yuv420p,scale,format=${format},split,detailloss=f=- ${to_null} |
            sed 's/^n:[^l]*//;s/ sigma:[^ ]*//;s/ motion:0.000000/ none/;s/ motion:.*/ some/' | sort | uniq -c | sed "s/^ */${format}: /"
    done
}

# With n_subsample those frames are compared that bliinds would score; the motion is from the frame
# directly before, also where the timeline has left that one alone.
detailloss_subsample(){
    clip=$(mad_source 96x80 1.6)
    ffmpeg -lavfi "${clip}detailloss=f=-" ${to_null} > ${tmp}/all
    for n in 1 2 3 7 100; do
        ffmpeg -lavfi "testsrc2=s=96x80:d=1.6,format=yuv420p,bliinds=n_subsample=${n}:f=-" ${to_null} | sed 's/ .*/ /' > ${tmp}/chosen
        ffmpeg -lavfi "${clip}detailloss=n_subsample=${n}:f=-" ${to_null} > ${tmp}/got
        grep -f ${tmp}/chosen ${tmp}/all > ${tmp}/expected
        same "$(wc -l < ${tmp}/got) of $(wc -l < ${tmp}/all)" ${tmp}/expected ${tmp}/got
    done
    ffmpeg -lavfi "${clip}detailloss=enable='not(mod(n,5))':f=-" ${to_null} > ${tmp}/got
    sed -n '1p;6~5p' ${tmp}/all > ${tmp}/expected
    same "each fifth by the timeline" ${tmp}/expected ${tmp}/got
    # a frame of the source that comes twice has not moved
    ffmpeg -lavfi "testsrc2=s=96x80:d=0.4,format=yuv420p,split[a][b];[b]fps=12.5[c];[a][c]detailloss=f=-" ${to_null} |
        sed 's/.*motion:0.000000/still/;s/.*motion.*/moves/' | xargs
    ffmpeg -lavfi "${clip}detailloss,${print}" ${to_null} | grep detailloss | sed 's/=.*//' | sort | uniq -c | sed 's/^ *//'
    # without chroma there is no value of it, neither that of another filter before
    ffmpeg -lavfi "testsrc2=s=96x80:d=0.04,format=gray,metadata=add:key=lavfi.detailloss.chroma:value=1,split,detailloss,${print}" ${to_null} |
        sed '/detailloss/!d;s/\(sigma=\).*/\1/' | sort
}

detailloss_errors(){
    pair_errors 15x16 16x15 1x1 16385x16
    # a new graph for each size
    pictures_of 96x80:2 65x33:2 16x16:2 96x80:1
    ffmpeg -i ${tmp}/%d.pgm -lavfi split,detailloss=f=${tmp}/stats ${to_null}
    sed 's/ loss.*//' ${tmp}/stats | xargs
}
