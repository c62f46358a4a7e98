# shellcheck shell=sh disable=SC2046,SC2086,SC2154
# Tests of how the frames of two files are paired, for CMD in tests/fate/metrics.mak: they
# come after tests/filters/common.sh. What is to be right is what the README prints.
# SPDX-License-Identifier: LGPL-2.1-or-later

doc=${project}
encoder="-fps_mode passthrough -c:v libx264 -preset ultrafast -bf 2 -g 12 -y"
audio="-f lavfi -i sine=d=1"

pairs_ffmpeg(){
    heard run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v warning "$@"
}

# In FFmpeg's own tree there is no README of ours.
with_readme(){ # test
    grep -q '^## Against a source' ${doc}/README.md || { skip "no README here"; return 0; }
    "$@"
}

# The graph of the README's command, with a log of lines.
readme_graph(){ # filter
    sed -n '/^## Against a source/,/^## /s/^    //p' ${doc}/README.md | tr -d '\n' |
        sed "s,.*-lavfi \"\([^\"]*\)\".*,\1,; s,detailloss=,$1=,; s,log_path=loss.json,stats_file=${tmp}/recipe.$1,"
}

# A film of noise, in which no frame is like another.
film(){ # file rate [filter]
    pairs_ffmpeg -f lavfi -i "testsrc2=s=64x64:r=$2:d=1,format=yuv420p,noise=alls=20:allf=t,${3:-null}" \
        ${encoder} -qp 4 ${tmp}/$1 || echo "no $1"
}

encode(){ # source-with-options file [options]
    pairs_ffmpeg $1 ${encoder} -crf 35 $3 ${tmp}/$2 || echo "no $2"
}

# What the README's command gives must be that of frame n against frame n of both files,
# once decoded, and nothing is to be warned of.
paired(){ # name encode-with-options source-with-options [filter of the source]
    raw="-fps_mode passthrough -f rawvideo -y"
    pairs_ffmpeg $2 $3 -lavfi "[1:v]${4:-null}[s]" -map 0:v ${raw} ${tmp}/encode.yuv -map '[s]' ${raw} ${tmp}/source.yuv &&
    pairs_ffmpeg -f rawvideo -s 64x64 -i ${tmp}/encode.yuv -f rawvideo -s 64x64 -i ${tmp}/source.yuv \
        -lavfi "[0]split[a][b];[1]split[c][d];[a][c]mad=stats_file=${tmp}/mad[e];[b][d]ssim=stats_file=${tmp}/ssim[f]" \
        -map '[e]' -f null - -map '[f]' -f null - || echo "no numbers"
    for filter in mad ssim; do
        graph=$(readme_graph ${filter} | sed "s/\[1:v\]/&${4:+$4,}/")
        pairs_ffmpeg $2 $3 -lavfi "${graph}" -f null - || echo "the command failed"
        # ssim warns of all time bases that differ
        sed -n 's/^\[Parsed_mad[^]]*\] //p' ${tmp}/err
        for i in ${tmp}/${filter} ${tmp}/recipe.${filter}; do
            sed 's/pts[^ ]* //g' ${i} > ${i}.numbers
        done
        same "$1, $(($(wc -c < ${tmp}/source.yuv) / 6144)) frames, ${filter}" ${tmp}/${filter}.numbers ${tmp}/recipe.${filter}.numbers
    done
}

# An encode in one container of a source in another.
pairs_of(){ # encode source
    for rate in 24 60000/1001; do
        film source.$2 ${rate}
        encode "-i ${tmp}/source.$2" encode.$1
        paired "${rate} fps" "-i ${tmp}/encode.$1" "-i ${tmp}/source.$2"
    done
}

pairs_rates(){
    for rate in 24000/1001 25 30000/1001 50 120; do
        film source.mp4 ${rate}
        encode "-i ${tmp}/source.mp4" encode.mkv
        paired "${rate} fps" "-i ${tmp}/encode.mkv" "-i ${tmp}/source.mp4"
    done
    encode "-i ${tmp}/source.mp4" encode.mkv "-vf fps=25"
    paired "25 of 120 fps" "-i ${tmp}/encode.mkv" "-i ${tmp}/source.mp4" fps=25
}

# Frames that were dropped, that come early and late, and that are held.
pairs_vfr(){
    encoder="${encoder} -enc_time_base filter"
    while read -r name timing; do
        for source in mkv mp4 ts; do
            film source.${source} 24 "${timing}"
            for container in mkv mp4 ts; do
                test ${container} != ${source} || continue
                encode "-i ${tmp}/source.${source}" encode.${container}
                paired "${container} of ${source}, ${name}" "-i ${tmp}/encode.${container}" "-i ${tmp}/source.${source}"
            done
        done
    done << END
dropped select='not(mod(n,3))+not(mod(n,7))'
jitter  settb=1/90000,setpts='(N/24+mod(N*7,13)/1000)/TB'
held    settb=1/90000,setpts='(N/24+floor(N/6)*0.7)/TB'
END
}

# An encode of a part against the same part.
pairs_part(){
    while read -r container source part; do
        film source.${source} 24
        encode "${part} -i ${tmp}/source.${source}" encode.${container}
        paired "${container} of ${source}, ${part}" "-i ${tmp}/encode.${container}" "${part} -i ${tmp}/source.${source}"
        encode "-i ${tmp}/source.${source}" encode.${container} "${part}"
        paired "${container} of ${source}, ${part} after -i" "-i ${tmp}/encode.${container}" "${part} -i ${tmp}/source.${source}"
    done << END
mkv mp4 -ss 0.51
mp4 mkv -ss 0.51
mkv mkv -ss 0.233 -t 0.4
ts  mp4 -ss 0.233 -t 0.4
mp4 mp4 -ss 0.72
END
}

# Files that do not begin at 0, or begin with other streams.
pairs_start(){
    film source.mp4 24
    encode "-i ${tmp}/source.mp4" encode.mp4 "-use_editlist 0"
    paired "no edit list" "-i ${tmp}/encode.mp4" "-i ${tmp}/source.mp4"
    encode "-itsoffset 0.027 -i ${tmp}/source.mp4 ${audio}" encode.mkv "-c:a aac"
    paired "27 ms behind the sound" "-i ${tmp}/encode.mkv" "-i ${tmp}/source.mp4"
    paired "27 ms before it" "-i ${tmp}/source.mp4" "-i ${tmp}/encode.mkv"
    encode "-i ${tmp}/source.mp4 -itsoffset 0.013 ${audio}" encode.ts "-c:a mp2"
    paired "the sound 13 ms behind" "-i ${tmp}/encode.ts" "-i ${tmp}/encode.mkv"
    paired "-copyts" "-copyts -i ${tmp}/encode.ts" "-i ${tmp}/source.mp4"
}

# All documents print one way to pair frames.
pairs_docs(){
    for file in README.md doc/detailloss.texi doc/mad.texi doc/ssim_cuda.texi doc/quality-gate.texi; do
        tr -s '\n' ' ' < ${doc}/${file} | grep -oE '"\[0:v\][^"]*"' |
            sed 's/[" ]//g; s/scale[^,]*,//g; s/\(nearest\).*/\1/' |
            sort -u | sed "s,^,${file}: ,"
    done
}

# Pairs that are apart are warned of and counted, by what is said at the first one and at the
# end; of what is right nothing is said. Milliseconds stand for Matroska.
pairs_warning(){ # filter [after the format]
    while read -r name main reference options; do
        echo "${name}:"
        pairs_ffmpeg ${2:+-init_hw_device cuda} -f lavfi -i testsrc2=s=64x64:r=24:d=1 -f lavfi -i testsrc2=s=64x64:r=24:d=1 \
            -lavfi "[0]${main},format=nv12$2[m];[1]${reference},format=nv12$2[r];[m][r]$1=${options}" -f null - || echo failed
        sed -n "s/^\[Parsed_$1[^]]*\] /    /p" ${tmp}/err
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
