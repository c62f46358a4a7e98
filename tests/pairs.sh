# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2154
# Tests of how the frames of two files are paired, for CMD in tests/fate/metrics.mak: they
# come after tests/filters/common.sh. What is to be right is what the README prints.
# SPDX-License-Identifier: LGPL-2.1-or-later

pairs_ffmpeg(){
    heard run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v warning -y "$@"
}

# In FFmpeg's own tree there is no README of ours.
with_readme(){ # test
    grep -q '^## Against a source' ${project}/README.md || { skip "no README here"; return 0; }
    "$@"
}

# The graph of the README's command, with a log of lines.
readme_graph(){ # filter
    sed -n '/^## Against a source/,/^## /s/^    //p' ${project}/README.md | tr -d '\n' |
        sed "s,.*-lavfi \"\([^\"]*\)\".*,\1,; s,vmaf=,$1=,; s,log_path=vmaf.json,stats_file=${tmp}/recipe.$1,"
}

# What the README's command gives is that of frame n against frame n of both files, once decoded,
# and nothing is warned of. How frames are paired is FFmpeg's: here is what each container does to
# times, and a part that begins between two frames.
pairs_recipe(){
    parsed=mad
    encoder="-fps_mode passthrough -c:v libx264 -preset ultrafast -bf 2 -g 12"
    count="[0]settb=1/25,setpts=N[m];[1]settb=1/25,setpts=N[r];[m][r]"
    while read -r source encode rate part; do
        inputs="-i ${tmp}/encode.${encode} ${part} -i ${tmp}/source.${source}"
        pairs_ffmpeg -f lavfi -i "testsrc2=s=64x64:r=${rate}:d=1,format=yuv420p,noise=alls=20:allf=t" \
            ${encoder} -qp 4 ${tmp}/source.${source} &&
        pairs_ffmpeg ${part} -i ${tmp}/source.${source} ${encoder} -crf 35 \
            ${tmp}/encode.${encode} &&
        pairs_ffmpeg ${inputs} -lavfi "${count}mad=f=${tmp}/mad" ${to_null} &&
        pairs_ffmpeg ${inputs} -lavfi "$(readme_graph mad)" ${to_null} || echo "a command failed"
        messages < ${tmp}/err
        for i in ${tmp}/mad ${tmp}/recipe.mad; do
            sed 's/pts[^ ]* //g' ${i} > ${i}.numbers
        done
        same "${encode} of ${source}, ${rate} fps, $(wc -l < ${tmp}/mad) frames${part:+, ${part}}" ${tmp}/mad.numbers ${tmp}/recipe.mad.numbers
    done << END
mp4 mkv 60000/1001
mp4 ts  24
ts  mkv 30000/1001
mkv mp4 24 -ss 0.51
END
}

# All documents print one way to pair frames.
pairs_docs(){
    for file in README.md doc/mad.texi doc/ssim_cuda.texi doc/quality-gate.texi; do
        tr -s '\n' ' ' < ${project}/${file} | grep -oE '"\[0:v\][^"]*"' |
            sed 's/[" ]//g; s/scale[^,]*,//g; s/\(nearest\).*/\1/' |
            sort -u | sed "s,^,${file}: ,"
    done
}

# Pairs that are apart are warned of and counted, by what is said at the first one and at the
# end; of what is right nothing is said. Milliseconds stand for Matroska.
pairs_warning(){ # filter [after the format]
    parsed=$1
    source=testsrc2=s=64x64:r=24:d=1
    while read -r name main reference options; do
        echo "${name}:"
        heard ffmpeg -v warning ${2:+-init_hw_device cuda} -lavfi \
            "${source},${main},scale,format=nv12$2[m];\
${source},${reference},scale,format=nv12$2[r];[m][r]$1=${options}" ${to_null} || echo failed
        messages < ${tmp}/err | sed 's/^/    /'
    done << END
exact                       null                            null                        shortest=0
rounded                     settb=1/1000                    null                        shortest=0
rounded,nearest             settb=1/1000                    null                        ts_sync_mode=nearest
rounded_differently,120_fps fps=120,settb=1/90000,setpts=PTS+44,settb=1/1000,setpts=PTS-STARTPTS fps=120,settb=1/90000,setpts=PTS+46,settb=1/1000,setpts=PTS-STARTPTS ts_sync_mode=nearest
9_ms_late                   settb=1/1000,setpts=PTS+9       settb=1/1000                shortest=0
12_ms_late                  settb=1/1000,setpts=PTS+12      settb=1/1000                shortest=0
one_frame_late              setpts=PTS-STARTPTS             trim=start_frame=1          shortest=0
short_encode                trim=end_frame=20               null                        shortest=0
short_encode,shortest       trim=end_frame=20               null                        shortest=1
short_source                null                            trim=end_frame=20           shortest=0
short_source,passed         null                            trim=end_frame=20           repeatlast=0
every_fifth                 settb=1/1000                    null                        enable='not(mod(n,5))'
12_fps_source               null                            fps=12                      shortest=0
END
}
