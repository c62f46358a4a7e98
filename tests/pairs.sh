# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2154
# Tests of how the frames of two files are paired, for CMD in tests/fate/metrics.mak: they
# come after tests/filters/common.sh. What is to be right is what the README prints.
# SPDX-License-Identifier: LGPL-2.1-or-later

pairs_ffmpeg(){
    heard run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v warning -threads 1 -filter_complex_threads 1 -y "$@"
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

# A lossless copy scores perfectly in every frame, by the README's graph: of each timing there are six
# files, where sound begins before the video or after it.
pairs_identity(){
    coded="-fps_mode passthrough -enc_time_base 1/90000 -c:v libx264 -preset ultrafast -qp 0 -bf 2 -g 12"
    silence="-f lavfi -i anullsrc=d=1.5"
    one="$(readme_graph mad)"
    while read -r name timing copied; do
        inputs= outputs= graph= maps=
        for i in 0 1 2 3 4 5; do
            file=${tmp}/$((i % 2)).$(echo mp4 mkv ts | cut -d' ' -f$((i / 2 + 1)))
            inputs="${inputs} -i ${file}"
            outputs="${outputs} -map $((i % 2)):v -map $((3 - i % 2)) -c:v copy ${file}"
            graph="${graph}$(echo "${one}" | sed "s/1:v/6:v/; s/0:v/${i}:v/; s/main/m${i}/g; s/ref/r${i}/g")${i}[o${i}];"
            maps="${maps} -map [o${i}] -f framecrc ${tmp}/crc.${i}"
        done
        pairs_ffmpeg -f lavfi -i "testsrc2=s=64x64:r=25:d=0.8,format=yuv420p,noise=alls=20:allf=t,settb=1/90000,${timing}" \
            ${coded} ${tmp}/source.nut -vf ${copied} ${coded} ${tmp}/copy.nut &&
        pairs_ffmpeg -i ${tmp}/copy.nut -itsoffset 0.3 -i ${tmp}/copy.nut -i ${tmp}/source.nut \
            ${silence} -itsoffset 0.3 ${silence} ${outputs} -map 2 -c:v copy ${tmp}/source.mkv &&
        pairs_ffmpeg ${inputs} -i ${tmp}/source.mkv -filter_complex "${graph%;}" ${maps} || echo "a command failed"
        for i in 0 1 2 3 4 5; do
            grep -c '^0' ${tmp}/crc.${i}
            grep -c ' hi:0\.0* lo:0\.0*$' ${tmp}/recipe.mad${i}
        done | xargs echo "${name}:"
    done << END
CFR      null                                       null
VFR      select='not(mod(n,3))+not(mod(n,7))'       null
jittered setpts='PTS+mod(N*7919,1440)'              null
doubled  null                                       fps=50
halved   null                                       framestep=2
still    trim=end_frame=1                           null
slides   select='not(mod(n,12))',setpts=N*180000    null
END
}
# All documents print one way to pair frames.
pairs_docs(){
    for file in README.md doc/mad.texi doc/ssim_cuda.texi doc/vmaf.texi doc/quality-gate.texi; do
        tr -s '\n' ' ' < ${project}/${file} | grep -oE '"\[0:v\][^"]*"' |
            sed 's/[" ]//g; s/scale[^,]*,//g; s/\(.*\[ref\][a-z_]*\).*/\1/' |
            sort -u | sed "s,^,${file}: ,"
    done
}

# By which rules the nearest frame is taken: of each case, how many frames come out, are scored, and are
# compared with the picture that they show; and the messages. Milliseconds stand for Matroska.
pairs_nearest(){ # filter [after the format]
    parsed=$1
    while read -r name main reference options; do
        heard ffmpeg -v warning ${2:+-init_hw_device cuda} -lavfi \
            "testsrc2=s=64x64:r=25:d=0.8,settb=1/1000,split[a][b];[a]${main},scale,format=nv12$2[m];\
[b]${reference},scale,format=nv12$2[r];[m][r]$1=f=${tmp}/stats:${options}${2:+,hwdownload,format=nv12}" -fps_mode passthrough -f framecrc - > ${tmp}/crc || echo failed
        echo "${name}: $(grep -c '^0' ${tmp}/crc) $(wc -l < ${tmp}/stats) $(grep -c ' hi:0\.0* lo:0\.0*$' ${tmp}/stats)"
        messages < ${tmp}/err | sed 's/^/    /'
    done << END
held                        fps=50                                      null
held,rounded                fps=50,settb=1/1000,setpts=PTS+mod(N\\,2)    null
held,4_ms_nearer            fps=50,settb=1/1000,setpts=PTS+2*mod(N\\,2)  null
held,6_ms_nearer            fps=50,settb=1/1000,setpts=PTS+3*mod(N\\,2)  null
held,10_ms,quarter          setpts=PTS/4,fps=200,settb=1/1000,setpts=PTS+mod(N\\,2)    setpts=PTS/4
held,10_ms,more             setpts=PTS/4,fps=200,settb=1/1000,setpts=PTS+2*mod(N\\,2)  setpts=PTS/4
halved                      framestep=2                                 null
reference_held              null                                        fps=50
4_ms_early                  null                                        setpts=PTS+4
5_ms_early                  null                                        setpts=PTS+5
5_ms_late                   setpts=PTS+5                                null
one_frame_late              setpts=PTS-STARTPTS                         trim=start_frame=1,setpts=PTS-STARTPTS
10_of_20                    trim=end_frame=10                           null
20_of_10                    null                                        trim=end_frame=10
20_of_10,no_duration        setpts=PTS:strip_fps=1                      trim=end_frame=10,setpts=PTS:strip_fps=1
20_of_10,held               fps=50                                      trim=end_frame=10
20_of_10,repeat             null                                        trim=end_frame=10    eof_action=repeat
20_of_10,endall             null                                        trim=end_frame=10    eof_action=endall
10_of_20,shortest           trim=end_frame=10                           null                 shortest=1
last_late                   setpts=PTS+3*eq(N\\,19)                     null
last_late,shortest          setpts=PTS+3*eq(N\\,19)                     null                 shortest=1
last_late,repeatlast        setpts=PTS+3*eq(N\\,19)                     null                 repeatlast=0
all_at_0                    setpts=0                                    setpts=0
no_reference                null                                        trim=end_frame=0
no_reference,shortest       null                                        trim=end_frame=0     shortest=1
nothing                     trim=end_frame=0                            null
timeline                    null                                        null                 enable='not(mod(n,5))'
END
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
short_source,repeated       null                            trim=end_frame=20           eof_action=repeat
FFmpeg's                    settb=1/1000                    null                        ts_sync_mode=default
every_fifth                 settb=1/1000                    null                        enable='not(mod(n,5))'
12_fps_source               null                            fps=12                      shortest=0
END
}
