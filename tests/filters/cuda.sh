# shellcheck shell=sh disable=SC2015,SC2034,SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# The CUDA filters and their twins on the CPU, of the same frames; and what compilers make of
# their kernels.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- twins ----

on_gpu="-init_hw_device cuda"
twin_clip=testsrc2=s=320x240:d=0.12,format=yuv420p,noise=alls=6
# in whose chroma SpEED finds something: smaller and smoother planes are singular
noisy_clip=testsrc2=s=544x384:d=0.12,format=yuv420p,noise=alls=40:allf=t
cases=0
with_frames=
with_maps=

has_reference(){ # filter
    case $1 in
    bliinds | blocksmooth | cambi) return 1 ;;
    esac
}

# A filter and its twin on the same frames, in one graph: lines, metadata and, if ${with_frames} is
# set, frames have to be the same. Says what fails, and counts. The CPU's frames have another format
# with the same samples, where its filter takes planes only; metrics leave alpha out, and of 16 bits
# vmaf and cambi take 12.
twins(){ # filter frames change-of-the-main-ones reference format [options [cuda-options]]
    cases=$((cases + 1))
    planar=$(echo $5 | sed "s/^nv12/yuv420p/;s/^nv16/yuv422p/;s/^p0/yuv420p/;s/^p2/yuv422p/
        s/msble/le/;$(test $1 = blocksmooth || echo s/yuva/yuv/)
        $(test $1 != vmaf -a $1 != cambi || echo s/16le/12le/)")
    up=${exact},format=$5,hwupload r='' r3='' graph=''
    if has_reference $1; then
        r=[r] r3=[r3] graph="$4,${exact},format=${planar},split[r][r2];[r2]${up}[r3];"
    fi
    cpu_log='' gpu_log='' named='' download=null to_cpu=${to_null} to_gpu=${to_null}
    test $1 != bliinds || named=model=vmaf1_est5:
    if test $1 != blocksmooth; then
        cpu_log=${named}f=${tmp}/cpu.stats: gpu_log=${named}f=${tmp}/gpu.stats:
    fi
    # FFmpeg's ssim has framesync's defaults
    test $1 != ssim || gpu_log=${gpu_log}ts_sync_mode=default:eof_action=repeat:
    if test -n "${with_frames}"; then
        download=hwdownload,format=$5,${exact},format=${planar}
        to_cpu="-f framemd5 -y ${tmp}/cpu.frames" to_gpu="-f framemd5 -y ${tmp}/gpu.frames"
    fi
    if test -n "${with_maps}"; then
        download=hwdownload,format=$5,${exact},format=${planar}
        to_cpu="-f rawvideo -y ${tmp}/cpu.map" to_gpu="-f rawvideo -y ${tmp}/gpu.map"
    fi
    graph="${graph}$2,${exact},format=${planar},$3,split[m][m2]"
    graph="${graph};[m]${r}$1=${cpu_log}$6,metadata=print:file=${tmp}/cpu.metadata[c]"
    graph="${graph};[m2]${up}[m3];[m3]${r3}$1_cuda=${gpu_log}${7:-$6},"
    graph="${graph}metadata=print:file=${tmp}/gpu.metadata,${download}[g]"
    rm -f ${tmp}/cpu.* ${tmp}/gpu.*
    heard ffmpeg ${on_gpu} -lavfi ${graph} -map [c] ${to_cpu} -map [g] ${to_gpu} ||
        { echo "$*: failed"; return; }
    sed -n "s/^\[Parsed_$1_[0-9][^]]*\] SSIM/SSIM/p"      ${tmp}/err > ${tmp}/cpu.summary
    sed -n "s/^\[Parsed_$1_cuda_[0-9][^]]*\] SSIM/SSIM/p" ${tmp}/err > ${tmp}/gpu.summary
    twins_agree $1 ${planar} || echo "$*: differs"
}

# The samples of a map, one per line: little-endian words above 8 bits.
samples_of(){ # file format
    bytes=1
    test "$2" = "${2%le}" || bytes=2
    od -An -v -t u${bytes} -w${bytes} $1
}

# Values of mad within 1e-4, samples of its maps within 1 of at most 10 bits. What is printed of 0 is 0.
twins_agree(){ # filter planar-format
    test -s ${tmp}/cpu.stats || test -s ${tmp}/cpu.frames || return
    for kind in stats metadata summary frames map; do
        case $1.${kind} in
        mad.stats)
            paste -d ' ' ${tmp}/cpu.stats ${tmp}/gpu.stats | awk -F '[ :]' '
                function far(a, b) { return b !~ /^[0-9.]+$/ || (a - b) ^ 2 > (1e-4 * a) ^ 2 }
                NF != 24 { exit bad = 1 }
                {
                    for (i = 1; i <= 12; i++)
                        if ($i != $(i + 12) && (i < 7 || far($i, $(i + 12))))
                            exit bad = 1
                }
                END { exit bad || !NR }' || return ;;
        mad.metadata) ;;
        mad.map)
            test -e ${tmp}/cpu.map || continue
            depth=$(expr $2 : '.*[a-z]\([0-9]*\)le$')
            samples_of ${tmp}/cpu.map $2 > ${tmp}/cpu.samples
            samples_of ${tmp}/gpu.map $2 | paste ${tmp}/cpu.samples - | awk -v depth=${depth:-8} '
                NF != 2 || ($1 - $2) ^ 2 > (depth > 10 ? 2 ^ (depth - 10) : 1) ^ 2 { exit bad = 1 }
                END { exit bad || !NR }' || return ;;
        *) test -e ${tmp}/cpu.${kind} || continue
           cmp ${tmp}/cpu.${kind} ${tmp}/gpu.${kind} >&2 || return ;;
        esac
    done
}

# The last line of a test.
all_the_same(){
    if test ${cases} -gt 0; then echo "all the same"; else echo "no cases"; fi
}

# What a row of the tables below has one or more of, with | between.
each_of(){
    echo "$1" | tr '|' ' '
}

# Twins by a table: filters, formats, frames up to a filter that takes a size, sizes, changes of the
# main frames, a filter of the reference, and options, of which a row may have some in turn. What is
# of FILTER.gpu takes too long for kernels on the CPU.
twins_of(){ # filter
    while read -r filters formats frames sizes changes reference options; do
        case "${on_cpu},${filters}," in
        *,$1,* | ,*"$1.gpu",*) ;;
        *) continue ;;
        esac
        for format in $(each_of ${formats}); do
            ffmpeg ${on_gpu} -lavfi nullsrc=s=64x64:d=0.04,format=${format},hwupload ${to_null} ||
                { skipped "${test}, ${format}" "not in this FFmpeg"; continue; }
            for size in $(each_of ${sizes}); do
                for change in $(each_of ${changes}); do
                    for option in ${options:-none}; do
                        cut=${frames}=${size} option=${option#none}
                        for queue in ${queues:-none}; do
                            twins $1 ${cut} ${change} ${cut},${reference} ${format} "${option}" \
                                ${queues:+${option:+${option}:}queue=${queue}}
                        done
                    done
                done
            done
        done
    done
    all_the_same
}

# All formats and ranges. Those of the inputs may differ for mad alone.
cuda_formats(){ # filter
    with_frames=yes clip=${twin_clip},scale few="nv12|p010le|yuv444p16le" range=avgblur=1,setrange
    more="yuv420p|yuv444p|p016le|nv16|yuv422p|p012le|p210le|p212le|p216le|yuva420p|yuv420p10le"
    more="${more}|yuv422p10le|yuv444p10le|yuv444p10msble|yuv444p12msble"
    # of much contrast: smoothing goes below black and beyond white
    harsh=${blocks},noise=alls=100:allf=t+u,lutyuv=y=2*val-128:u=2*val-128:v=2*val-128
    twins_of $1 << END
bliinds           ${few}|${more} ${clip}             174:98  avgblur=1 null features=1
blocksmooth       ${few}|${more} ${blocks},scale     174:98  null null qf=127 qf=40:block=16
blocksmooth       ${few}|${more} ${harsh},scale      174:98  null null qf=255
cambi             ${few}         ${clip}             218:160 avgblur=1 null
cambi.gpu         ${more}        ${clip}             480:360 avgblur=1 null enc_width=240:enc_height=180 enc_bitdepth=10
mad               ${few}         ${clip}             174:98  avgblur=1 null
mad.gpu           ${more}        ${clip}             174:98  avgblur=1 null
ssim              ${few}|${more} ${clip}             174:98  null|avgblur=3|hflip|negate null
vmaf              ${few}|${more} ${noisy_clip},scale 480:360 avgblur=1 null
bliinds,mad  nv12|p010le|yuv444p ${clip} 174:98  ${range}=full|${range}=limited setrange=full
bliinds,mad  nv12|p010le|yuv444p ${clip} 174:98  ${range}=full setrange=limited
vmaf         nv12|p010le|yuv444p ${clip} 218:160 ${range}=full setrange=full
vmaf         nv12|p010le|yuv444p ${clip} 218:160 ${range}=limited setrange=limited
END
}

# Sizes on both sides of what warps, thread blocks and tiles take, tiny ones, and for mad all that
# its kernels transform in another way. FFmpeg does not upload the last row of chroma of an odd
# height, nor make the last column of p010 of an odd width: no window or cell of a metric has
# these here. On the CPU, mad-cuda-fft has the lengths of the others.
cuda_tiles(){ # filter
    frames=${twin_clip},scale change=gblur=1
    case $1 in
    blocksmooth) with_frames=yes frames=${blocks},crop change=null ;;
    vmaf)        frames=${noisy_clip},crop ;;
    esac
    while read -r filters formats sizes; do
        echo "${filters} ${formats} ${frames} ${sizes} ${change} null"
    done << END | twins_of $1
bliinds     nv12|p010le 321:243|70:46|5:4
blocksmooth nv12        2:2|10:12|22:22|23:22|123:124|124:124|125:126|128:130|252:68|253:70|256:72
blocksmooth p010le      2:2|10:12|22:22|24:22|60:64|62:64|124:130|126:132|128:134
blocksmooth yuv444p     1:1|3:3|10:10|11:11|123:125|124:123|125:4|133:5|256:131
blocksmooth yuv444p16le 1:1|3:3|10:10|11:11|59:61|60:63|61:65|62:4|133:5
cambi       nv12        160:216|217:163|481:363
cambi       p010le      216:161|482:360
cambi.gpu   nv12        1280:720|1918:1080|1920:1080|3840:2160
mad         yuv444p     64:64|65:67|131:64|163:243|80:96|135:225|108:192
mad.gpu     yuv444p     451:300|1024:600|300:270|640:360|1920:64|160:1080|2592:64
mad.gpu     yuv444p16le 64:64|65:67|131:64|163:243|80:96|135:225|108:192
mad.gpu     yuv444p16le 451:300|1024:600|300:270|640:360|1920:64|160:1080|2592:64
vmaf        nv12        160:216|217:163|530:270|481:363
vmaf        p010le      216:161|482:360
vmaf        yuv444p     217:83|83:217|219:97
ssim        nv12        16:16|17:19|33:33|70:46|126:30|128:30|132:30|254:62|257:41|992:20|998:22
ssim        nv12        1004:24|2003:51|3841:37
ssim        p010le      16:16|18:19|34:33|70:46|126:30|128:30|132:30|254:62|258:41|992:20|998:22
ssim        p010le      1004:24|2004:51|3842:37
ssim        yuv444p     8:8|9:11|17:15|63:23|127:27|128:28|133:31|1000:9|1003:10
ssim        yuv444p16le 8:8|9:11|17:15|63:23|127:27|128:28|133:31|1987:9|1991:13|3977:8
END
}

# Inputs that begin and end at different times, in framesync's ways, frames that are left out, and
# any number of frames in flight. Those of vmaf take their time.
cuda_queue(){ # filter
    with_frames=yes queues="3 $(test -n "${on_cpu}" || echo 1 2 8 64)"
    frames=${twin_clip},loop=-1:3,trim=end_frame=23,crop size=96:80
    test $1 != vmaf || frames=${frames%23,crop}13,crop
    test $1 != vmaf -a $1 != cambi || size=218:160
    while read -r filters change reference options; do
        echo "${filters} nv12 ${frames} ${size} avgblur=1,${change} ${reference} ${options}"
    done << END | twins_of $1
bliinds,cambi,mad,ssim,vmaf null         null
bliinds,vmaf          null               null               n_subsample=3
bliinds,mad,ssim,vmaf trim=end_frame=1   null
bliinds,mad,ssim,vmaf trim=start_frame=5 null
bliinds,cambi,ssim,mad.gpu,vmaf null     null               enable=lt(mod(n\\,7)\\,3)
mad,ssim,vmaf         trim=end_frame=9   null
ssim,mad.gpu,vmaf     trim=end_frame=9   null               shortest=1
mad,ssim,vmaf         null               trim=end_frame=1
mad,ssim,vmaf         null               trim=end_frame=9
ssim,mad.gpu,vmaf     null               trim=end_frame=9   shortest=1 repeatlast=0
ssim,mad.gpu,vmaf     null               trim=end_frame=9   eof_action=pass eof_action=endall
mad,ssim,vmaf         null               trim=start_frame=5
mad,ssim,vmaf         null               fps=7
mad,ssim,vmaf         fps=10             null
mad.gpu,vmaf          fps=30             fps=7              ts_sync_mode=default
END
}

# The maps of mad, with frames that have no score.
cuda_maps(){ # filter
    with_maps=yes clip=${twin_clip},scale
    twins_of $1 << END
mad     nv12   ${clip} 98:84 avgblur=1,setrange=full null output=detection output=appearance
mad     p010le ${clip} 98:84 avgblur=1               null output=appearance:enable=not(eq(n\\,1))
mad.gpu nv12|yuv420p|nv16|yuva420p|p210le|yuv444p16le|yuv444p10msble ${clip} 450:300 avgblur=1 null output=detection output=appearance
mad.gpu nv12   ${clip} 1920:1080 avgblur=1 null output=detection:enable=not(eq(n\\,1)) output=appearance
END
}

# Models with VIF, all limits of the gain, and a model of each family in one filter.
cuda_models(){ # filter
    e='\\\:' v0=version=vmaf_v0.6.1
    gain=${v0}${e}name=gain${e}vif.vif_enhn_gain_limit=1.2${e}adm.adm_enhn_gain_limit=1.1
    whole=${v0}${e}name=whole${e}vif.vif_enhn_gain_limit=7${e}adm.adm_enhn_gain_limit=3
    models="model=${v0}|${v0}neg${e}name=neg|${gain}|${whole}"
    mixed="model=version=vmaf_v1.0.16_3d0h|${v0}neg${e}name=neg|version=vmaf_4k_v0.6.1${e}name=4k"
    clip=testsrc2=s=640x400:d=0.12,format=yuv444p,noise=alls=20:allf=t
    noise=color=gray:d=0.08,format=yuv444p,noise=alls=100:allf=t
    twins_of $1 << END
vmaf     yuv444p|yuv444p10msble|yuv444p12msble ${clip},crop  33:33|113:66|577:323 avgblur=2 null ${models}
vmaf     yuv444p|yuv444p10msble ${noise},crop  241:67 hflip|null null ${models}
vmaf     yuv444p     ${noise},crop  241:67 avgblur=1 null bitdepth=10:${models}
vmaf     nv12        ${noise},crop 240:130 lutyuv=y=80 null ${models}
vmaf     nv12        ${noise},crop 240:130 null lutyuv=y=80 ${models}
vmaf     yuv444p     ${noise},lutyuv=y=gt(val\\,128)*255,crop 227:131 hflip null ${models}
vmaf     nv12|p012le color=black:d=0.08,crop    160:120 null|negate null ${models}
vmaf     nv12|p010le ${noisy_clip},crop 482:360 unsharp=5:5:2 null ${mixed}
vmaf     p010le      ${noisy_clip},crop 482:360 gblur=1 format=yuv420p ${models}
vmaf.gpu nv12|p010le ${noisy_clip},scale 1920:1080|3840:2160 avgblur=1 null ${models} ${mixed}
END
}

# The exact integer form of VIF, which the stand-in's compute capability chooses.
cuda_integers(){ # filter
    export CUDA_STAND_IN=major=5
    cuda_models $1
}

# What differs nowhere is 0, also what is flat, black, or differs by a constant.
cuda_flat(){ # filter
    twins_of $1 << END
mad yuv444p ${twin_clip},scale          320:240 null   null
mad yuv444p color=black:d=0.04,scale    175:99  null   null
mad yuv444p color=black:d=0.04,scale    175:99  null   lutyuv=y=235
mad yuv444p color=gray:d=0.04,scale     175:99  null   null
mad yuv444p ${twin_clip},scale          320:240 negate lutyuv=y=16
END
}

# What each setting does, and each command.
cuda_settings(){ # filter
    with_frames=yes clip=${blocks},crop formats="nv12|p010le|yuv444p"
    echo "0.04 $1 qf 99, $1_cuda qf 99; 0.08 $1 block 16, $1_cuda block 16;" > ${tmp}/commands
    twins_of $1 << END
blocksmooth ${formats} ${clip} 256:194 null null planes=0 planes=1 planes=2 planes=4 planes=5
blocksmooth ${formats} ${clip} 256:194 null null qf=1 qf=255 block=16 block=32 block=64
blocksmooth ${formats} ${clip} 256:194 sendcmd=f=${tmp}/commands null qf=30
END
}

# Noise of all strengths, and what FFmpeg draws, at all sizes in turn.
cuda_noise(){ # filter
    sizes="70:46 128:96 322:182 480:270 512:512 640:272 854:480 1280:720 1920:1080"
    for strength in $(seq 1 $(test -n "${on_cpu}" && echo 20 || echo 3) 40); do
        noise=format=yuv444p,noise=alls=${strength}:allf=t:all_seed=${strength}
        for source in color=gray mandelbrot testsrc2,negate \
                      'nullsrc,format=gray,geq=mod(X*(1+N)+Y*N\,256),scale'; do
            n=$((n + 1))
            size=$(echo ${sizes} | cut -d ' ' -f $((n % 9 + 1)))
            frames=${source},trim=end_frame=9,scale=${size},${noise}
            echo "$1 nv12 ${frames},crop ${size} null null features=1"
            # samples of 10 bits come from twice the size
            frames=${source},trim=end_frame=9,scale=2*${size%:*}:2*${size#*:},${noise}
            echo "$1 p010le ${frames},scale ${size} null null features=1"
        done
    done | twins_of $1
}

# Three in one graph, one after another and side by side: the digits are the same.
cuda_instances(){ # filter
    size=96:80
    test $1 != vmaf -a $1 != cambi || size=218:160
    frames=${twin_clip},crop=${size},loop=-1:3,trim=end_frame=23
    twins $1 ${frames} avgblur=1 ${frames} nv12
    up=${exact},format=nv12,hwupload
    graph="${frames},${exact},format=yuv420p,avgblur=1,${up},split[m][m2]" r1='' r2='' r3=''
    if has_reference $1; then
        graph="${graph};${frames},${up},split=3[r1][r2][r3]" r1=[r1] r2=[r2] r3=[r3]
    fi
    ffmpeg ${on_gpu} -lavfi "${graph};[m]${r1}$1_cuda=${named}f=${tmp}/1[x];\
[x]${r2}$1_cuda=${named}f=${tmp}/2:queue=1[c];[m2]${r3}$1_cuda=${named}f=${tmp}/3:queue=3[d]" \
        -map [c] ${to_null} -map [d] ${to_null} || echo failed
    for i in 1 2 3; do
        cmp ${tmp}/gpu.stats ${tmp}/${i} || echo "instance ${i} differs"
    done
    all_the_same
}

# The host's memory does not grow with the frames.
cuda_memory(){ # filter
    test -z "${on_cpu}" || { skip "no GPU; on the CPU it takes minutes"; return 0; }
    pair=
    ! has_reference $1 || pair=,split
    log_memory hwupload_cuda${pair},$1_cuda 320x240 1000 10000
}

# What is also somewhere else is not changed there.
cuda_writable(){ # filter
    for options in qf=127 planes=1 planes=4 planes=0; do
        graph="${blocks},${exact},format=yuv420p,split=3[a][b][c];[a]$1=${options}[d];[b]${exact},format=nv12,hwupload,split[e][f]"
        graph="${graph};[e]$1_cuda=${options},hwdownload,format=nv12,${exact},format=yuv420p[g];[f]hwdownload,format=nv12,${exact},format=yuv420p[h]"
        ffmpeg ${on_gpu} -lavfi ${graph} -map [c] -f framemd5 -y ${tmp}/before -map [d] -f framemd5 -y ${tmp}/cpu \
            -map [g] -f framemd5 -y ${tmp}/gpu -map [h] -f framemd5 -y ${tmp}/other || echo "${options}: failed"
        cases=$((cases + 1))
        cmp ${tmp}/cpu ${tmp}/gpu && cmp ${tmp}/before ${tmp}/other || echo "${options}: differs"
    done
    all_the_same
}

# What cannot be is said: filters after scale of the main frames, of the reference (- for the
# same), options. A filter without a reference has what differs in it left out, and blocksmooth
# takes all sizes.
cuda_errors(){ # filter too-small
    parsed=$1_cuda width=96 height=80
    test $1 != vmaf -a $1 != cambi || width=240 height=180
    source=testsrc2=d=0.08:s=${width}x${height},scale
    while read -r m r options; do
        test "${r}" != - || r=${m}
        graph="${source}${m},$1_cuda${options}"
        if has_reference $1; then
            graph="${source}${m}[m];${source}${r}[r];[m][r]$1_cuda${options}"
        elif test "${m}" != "${r}"; then
            continue
        fi
        case $1${m} in
        blocksmooth=*) continue ;;
        esac
        fails ${on_gpu} -lavfi "${graph}" ${to_null} | grep -v '^$' | sed 's/0\.000000/0/'
        ! grep -q 'Impossible to convert\|not have a common format' ${tmp}/err || echo "frames of the CPU are refused"
    done << END
,format=nv12 -
,format=nv12,hwupload =${height}:${width},format=nv12,hwupload
,format=nv12,hwupload ,format=yuv444p,hwupload
,format=nv12,hwupload ,format=nv12
,format=nv12,hwupload_cuda ,format=nv12,hwupload
=$2:64,format=nv12,hwupload -
=64:$2,format=nv12,hwupload -
=16400:$(($2 + 2)),format=nv12,hwupload -
,format=bgr0,hwupload -
,format=yuv444p,hwupload ,format=bgr0,hwupload
,format=nv12,hwupload - =f=/dev/full
,format=nv12,hwupload - =f=${tmp}/none/stats
,format=nv12,hwupload - =queue=0
,format=nv12,hwupload - =block=12
END
}

# The GPU's filter has the same options, and queue if it has results; of FFmpeg's ssim, whose defaults
# of framesync differ, the same names.
cuda_options(){ # filter
    for filter in $1 $1_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed '1,/ AVOptions:$/d' > ${tmp}/${filter}
        test $1 != ssim || awk '/^ +[a-z]/ { print $1, $2 }' ${tmp}/${filter} > ${tmp}/names
        test $1 != ssim || sort ${tmp}/names > ${tmp}/${filter}
    done
    test -s ${tmp}/$1 || echo "no options"
    diff ${tmp}/$1 ${tmp}/$1_cuda | awk '/^[<>]/ { print $1, $2, $3 } END { if (!NR) print "the same" }'
}

# ---- kernels ----

# The kernels that the build has by its compiler, or those by another one. The kernels of
# mad_chirp are those of mad_large with more lengths, and take a compiler long.
#
# No float operation may be contracted: PTX says so by .rn, without it the driver may. Fused ones
# are where __builtin_fmaf() is written: clang tells them apart from its own before it makes PTX;
# of nvcc there are none where that is a macro.
ptx(){ # filter [built] compiler flags
    source=${base}/../libavfilter/vf_$1.cu made=${tmp}/ptx
    case $1 in
    mad_chirp_cuda | mad_large_cuda) source="-DMAD_LARGE ${base}/../libavfilter/vf_mad_cuda.cu" ;;
    esac
    if test $2 = built; then
        made=libavfilter/vf_$1.ptx
        shift
    fi
    shift
    PATH=${PATH}:/usr/local/cuda/bin
    need $1 || return 0
    compiler=$1 unfused="-emit-llvm -O0" oldest='^\.version 6\.0\|^\.target sm_50'
    case ${compiler} in
    *nvcc*)
        # a GPU that nvcc 10 to 13 know
        set -- "$@" -gencode arch=compute_75,code=sm_75 -O2 -std=c++11 -m64 -ptx
        echo "#define __builtin_fmaf(a, b, c) ((a) * (b) + (c))" > ${tmp}/unfused.h
        # one PTX for all: it compiles long, and two operations are as good as a fused one
        unfused="-include ${tmp}/unfused.h" made=${tmp}/unfused
        oldest='^\.version\|^\.target sm_75' ;;
    esac
    test ${made} != ${tmp}/ptx || "$@" -o ${made} ${source} || return
    "$@" ${unfused} -o ${tmp}/unfused ${source} || return
    grep -q '\.entry' ${made} && grep -q '\.entry\|^define ' ${tmp}/unfused || echo "no kernels"
    test $(grep -c "${oldest}" ${made}) = 2 || echo "not for the oldest GPU"
    ! grep -e '[[:space:]]\(fma\|mad\)\.\(rn\.\)\?\(ftz\.\)\?f' -e 'llvm\.fmuladd' \
           -e ' f\(add\|sub\|mul\) .*\(contract\|fast\) ' ${tmp}/unfused ||
        echo "fused by the compiler"
    ! grep -E '(add|sub|mul)\.(ftz\.)?f(32|64)' ${made} || echo "may be fused by the driver"
    echo "good PTX"
}
