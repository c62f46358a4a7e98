# shellcheck shell=sh disable=SC2046,SC2086,SC2154
# FFmpeg's own filters over a change of size: as in the same FFmpeg without our lines.
# SPDX-License-Identifier: LGPL-2.1-or-later

# An ffmpeg whose ffmpeg_filter.c has our lines taken out: one file is compiled, and ffmpeg linked.
make_stock(){
    sed '/command_filters(fgt->graph, "hand_over")/d
         /command_filters(fgt->graph, "drain")/,/while (ret >= 0 && fgt->graph/c\        ret = fgt->graph ? read_frames(fg, fgt, tmp) : 0;' \
        ${base}/../fftools/ffmpeg_filter.c > ${tmp}/ffmpeg_filter.c
    cmp -s ${base}/../fftools/ffmpeg_filter.c ${tmp}/ffmpeg_filter.c && echo "our lines were not found"
    sh -c "$(unset MAKEFLAGS; make -n V=1 -W src/fftools/ffmpeg_filter.c fftools/ffmpeg_filter.o | grep -e ' -c ' |
        sed "s, -o [^ ]*, -o ${tmp}/ffmpeg_filter.o,;s, [^ ]*src/fftools/ffmpeg_filter.c, -Isrc/fftools ${tmp}/ffmpeg_filter.c,;s, -MF [^ ]*, -MF ${tmp}/d,")" &&
        sh -c "$(unset MAKEFLAGS; make -n V=1 -W fftools/ffmpeg_filter.o ffmpeg_g${EXECSUF} | grep -e ' -o ffmpeg_g' |
            sed "s, -o [^ ]*, -o ${tmp}/stock,;s,fftools/ffmpeg_filter.o,${tmp}/ffmpeg_filter.o,")"
} >&2

stock(){
    make_stock || { echo "the stock ffmpeg was not made"; return 0; }
    pictures_of 64x64:10 80x64:10
    ffmpeg -lavfi testsrc2=s=64x64 -frames:v 25 ${tmp}/ref.mkv
    while read -r name graph; do
        for program in ffmpeg${PROGSUF}${EXECSUF} ${tmp}/stock; do
            timeout 60 ${target_path}/${program} -v error -nostdin -i ${tmp}/%d.pgm -filter_complex "${graph}" -frames:v 60 -fps_mode passthrough -f framemd5 - |
                grep -v '^#' > ${tmp}/${program##*/}.out
        done
        echo "${name}: $(wc -l < ${tmp}/stock.out) frames, $(cmp -s ${tmp}/ffmpeg${PROGSUF}${EXECSUF}.out ${tmp}/stock.out && echo the same || echo others)"
    done << END
overlay color=s=16x16:r=25[c];[0][c]overlay=format=auto
overlay-late color=s=16x16:r=25[c];[0][c]overlay=format=auto,setpts=PTS-1/TB
overlay-zero color=s=16x16:r=25[c];[0][c]overlay=format=auto,setpts=0
split split[a][b];[a][b]hstack
tpad tpad=stop=5
loop loop=2:3
fps fps=50
END
    # random in FFmpeg, which pairs what is there; but no pair is made up
    for _ in $(seq 20); do
        ffmpeg -i ${tmp}/%d.pgm -i ${tmp}/ref.mkv -lavfi "[0]scale=64:64,format=yuv420p[m];[1]format=yuv420p[r];[m][r]ssim=f=-" ${to_null} |
            awk '/^n:1 / { part++ } { n[part]++ } END { if (n[1] > 10) print n[1] " pairs of 10 frames" }'
    done
    echo "no pair is made up"
}
