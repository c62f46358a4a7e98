# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of ssim_cuda.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- SSIM ----

# The GPU's filter and FFmpeg's ssim on the same frames, in one graph: their lines,
# metadata and summaries, in ${tmp}/gpu and ${tmp}/cpu. Frames of CUDA have another
# format than ssim takes where components are interleaved.
ssims(){ # main-source reference-source cuda-format cpu-format options cuda-options
    graph="$1,scale,format=$4,split[m][m2];$2,scale,format=$4,split[r][r2]"
    graph="${graph};[m][r]ssim=f=${tmp}/cpu.stats$5,metadata=print:file=${tmp}/cpu.keys[c]"
    graph="${graph};[m2]scale,format=$3,hwupload[m3];[r2]scale,format=$3,hwupload[r3]"
    graph="${graph};[m3][r3]ssim_cuda=f=${tmp}/gpu.stats$6,metadata=print:file=${tmp}/gpu.keys[g]"
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] ${to_null} -map [g] ${to_null} 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    for i in cpu:ssim gpu:ssim_cuda; do
        sed -n "s/^\[Parsed_${i#*:}_[0-9][^]]*\] SSIM/SSIM/p" ${tmp}/err |
            cat ${tmp}/${i%:*}.stats ${tmp}/${i%:*}.keys - > ${tmp}/${i%:*}
    done
    test ${status} = 0 && grep -q '^SSIM' ${tmp}/cpu
}

same_ssims(){ # name
    same "$1, $(grep -c '^n:' ${tmp}/cpu) pairs" ${tmp}/cpu ${tmp}/gpu
}

ssim_formats(){
    list_cuda_formats > ${tmp}/formats
    while read -r format planar; do
        uploads ${format} || continue
        for main in null avgblur=3 hflip negate; do
            if ssims testsrc2=s=320x240:d=0.2,scale=176:97,format=${planar},${main} \
                     testsrc2=s=320x240:d=0.2,scale=176:97 ${format} ${planar}; then
                same_ssims "${format} ${main}"
            else
                echo "${format} ${main}: failed"
            fi
        done
    done < ${tmp}/formats
}

# One window, odd sizes, and both sides of what warps and thread blocks take. FFmpeg
# does not upload the last row of chroma of an odd height, nor make the last column
# of p010 of an odd width: here no window has these.
ssim_sizes(){
    while read -r format planar sizes; do
        for size in ${sizes}; do
            ssims testsrc2=s=320x240:d=0.08,scale=${size},format=${planar},gblur=1 testsrc2=s=320x240:d=0.08,scale=${size} \
                ${format} ${planar} || echo "${size} ${format} failed"
            same_ssims "${size} ${format}"
        done
    done << END
nv12        yuv420p     16:16 17:19 33:33 70:46 126:30 128:30 132:30 254:62 257:41 992:20 998:22 1004:24 2003:51 3841:37
p010le      yuv420p10le 16:16 18:19 34:33 70:46 126:30 128:30 132:30 254:62 258:41 992:20 998:22 1004:24 2004:51 3842:37
yuv444p     yuv444p     8:8 9:11 17:15 63:23 127:27 128:28 133:31 1000:9 1003:10
yuv444p16le yuv444p16le 8:8 9:11 17:15 63:23 127:27 128:28 133:31 1987:9 1991:13 3977:8
END
}

# Inputs that begin and end at different times, in framesync's ways, for any number
# of pairs in flight.
ssim_sync(){
    encoded=testsrc2=s=64x64:r=25:d=1,scale,format=yuv420p,gblur=2
    source=testsrc2=s=64x64:r=25:d=1
    while read -r options trim_main trim_ref; do
        test ${options} != none || options=
        for queue in 1 3 8 64; do
            ssims ${encoded},${trim_main} ${source},${trim_ref} nv12 yuv420p "${options}" "${options}:queue=${queue}" ||
                echo "failed"
            same_ssims "${trim_main} ${trim_ref} ${options} queue ${queue}"
        done
    done << END
none                            null                null
none                            trim=end_frame=9    null
none                            null                trim=end_frame=9
:shortest=1                     null                trim=end_frame=9
:shortest=1                     trim=end_frame=9    null
:repeatlast=0                   null                trim=end_frame=9
:eof_action=pass                null                trim=end_frame=9
:eof_action=endall              null                trim=end_frame=9
none                            null                trim=start_frame=5
none                            trim=start_frame=5  null
none                            fps=10              null
none                            null                fps=7
:ts_sync_mode=nearest           fps=30              fps=7
:enable=lt(mod(n\\,7)\\,3)  null                null
none                            trim=end_frame=1    trim=end_frame=1
END
}

# Frames leave unchanged, with their time stamps, in order.
ssim_passthrough(){
    for format in yuv420p p010le; do
        source=testsrc2=s=320x240:d=0.8,scale=175:98,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -init_hw_device cuda -lavfi ${source},hwupload,split[a][b]\;[a][b]ssim_cuda,hwdownload,format=${format} > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

# An output that has enough ends it: all that came in is in the file.
ssim_end(){
    inputs="testsrc2=s=64x64:d=20,scale,format=yuv420p,gblur=2,scale,format=nv12,hwupload[m];testsrc2=s=64x64:d=20,scale,format=nv12,hwupload[r];[m][r]"
    ssims testsrc2=s=64x64:d=3,scale,format=yuv420p,gblur=2 testsrc2=s=64x64:d=3 nv12 yuv420p
    for queue in 1 8 64; do
        ffmpeg -init_hw_device cuda -lavfi "${inputs}ssim_cuda=queue=${queue}:f=${tmp}/stats" -frames:v 5 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 5 || echo "${lines} lines for 5 frames"
        head -n ${lines} ${tmp}/cpu.stats | head -n 75 > ${tmp}/expected
        head -n 75 ${tmp}/stats > ${tmp}/got
        same "5 frames, queue ${queue}" ${tmp}/expected ${tmp}/got
    done
}

# Two of them in a graph, and one after the other.
ssim_instances(){
    ssims testsrc2=s=176x98:d=0.8,scale,format=yuv420p,gblur=2 testsrc2=s=176x98:d=0.8 nv12 yuv420p || return
    graph="testsrc2=s=176x98:d=0.8,scale,format=yuv420p,gblur=2,scale,format=nv12,hwupload,split[m][m2]"
    graph="${graph};testsrc2=s=176x98:d=0.8,scale,format=yuv420p,scale,format=nv12,hwupload,split=3[r][r2][r3]"
    graph="${graph};[m][r]ssim_cuda=f=${tmp}/1[x];[x][r2]ssim_cuda=f=${tmp}/2:queue=1[c]"
    graph="${graph};[m2][r3]ssim_cuda=f=${tmp}/3:queue=3[d]"
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] ${to_null} -map [d] ${to_null} || return
    for i in 1 2 3; do
        same "instance ${i}" ${tmp}/cpu.stats ${tmp}/${i}
    done
}

ssim_errors(){
    parsed=ssim_cuda
    device="-init_hw_device cuda"
    clip=testsrc2=d=0.08
    cpu="${clip}:s=64x64,scale,format=nv12"
    gpu="${cpu},hwupload"
    while read -r m r options; do
        fails ${device} -lavfi "${m}[m];${r}[r];[m][r]ssim_cuda${options}" ${to_null} | sed "s,${tmp},folder,"
        ! grep -q 'Impossible to convert\|not have a common format' ${tmp}/err || echo "frames of the CPU are refused"
    done << END
${gpu} ${clip}:s=66x64,scale,format=nv12,hwupload
${gpu} ${clip}:s=64x64,scale,format=yuv420p,hwupload
${gpu} ${cpu}
${cpu} ${gpu}
${cpu},hwupload_cuda ${cpu},hwupload_cuda
${clip}:s=14x16,scale,format=nv12,hwupload ${clip}:s=14x16,scale,format=nv12,hwupload
${clip}:s=64x6,scale,format=yuv444p,hwupload ${clip}:s=64x6,scale,format=yuv444p,hwupload
${clip}:s=64x64,scale,format=bgr0,hwupload ${clip}:s=64x64,scale,format=bgr0,hwupload
${gpu} ${gpu} =f=/dev/full
${gpu} ${gpu} =f=${tmp}/none/stats
${gpu} ${gpu} =queue=0
END
}

# The GPU's filter has the same options, and queue.
ssim_options(){
    for filter in ssim ssim_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed "1,/^${filter} AVOptions:$/d" > ${tmp}/${filter}
    done
    grep -c 'stats_file\|eof_action\|shortest' ${tmp}/ssim_cuda
    diff ${tmp}/ssim ${tmp}/ssim_cuda | awk '/^[<>]/ { print $1, $2, $3 }'
}
