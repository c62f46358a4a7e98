# shellcheck shell=sh disable=SC2015,SC2034,SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# The CUDA filters and their twins on the CPU, of the same frames; and what compilers make of
# their kernels.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- twins ----

on_gpu="-init_hw_device cuda"
twin_clip=testsrc2=s=320x240:d=0.12,format=yuv420p,noise=alls=6
cases=0
with_frames=

# Of these the first one, where kernels run on the CPU, which takes its time.
few(){
    echo $1
    test -n "${on_cpu}" && return
    shift
    echo $*
}

has_reference(){ # filter
    case $1 in
    bliinds | blocksmooth) return 1 ;;
    esac
}

# What a filter and its twin make of the same frames, in one graph: lines, metadata and, if
# ${with_frames} is set, frames, in ${tmp}/cpu.* and ${tmp}/gpu.*. CUDA frames have another format
# where the CPU's filter takes planes only.
run_twins(){ # filter main reference cuda-format cpu-format [options [cuda-options]]
    r='' r3='' graph=''
    if has_reference $1; then
        r=[r] r3=[r3] graph="$3,scale,format=$5,split[r][r2];[r2]scale,format=$4,hwupload[r3];"
    fi
    cpu_log='' gpu_log='' download=null to_cpu=${to_null} to_gpu=${to_null}
    if test $1 != blocksmooth; then
        cpu_log=f=${tmp}/cpu.stats: gpu_log=f=${tmp}/gpu.stats:
    fi
    if test -n "${with_frames}"; then
        download=hwdownload,format=$4,scale,format=$5
        to_cpu="-f framemd5 -y ${tmp}/cpu.frames" to_gpu="-f framemd5 -y ${tmp}/gpu.frames"
    fi
    graph="${graph}$2,scale,format=$5,split[m][m2];[m]${r}$1=${cpu_log}$6,metadata=print:file=${tmp}/cpu.metadata[c]"
    graph="${graph};[m2]scale,format=$4,hwupload[m3]"
    graph="${graph};[m3]${r3}$1_cuda=${gpu_log}${7:-$6},metadata=print:file=${tmp}/gpu.metadata,${download}[g]"
    rm -f ${tmp}/cpu.* ${tmp}/gpu.*
    heard ffmpeg ${on_gpu} -lavfi ${graph} -map [c] ${to_cpu} -map [g] ${to_gpu}
    sed -n "s/^\[Parsed_$1_[0-9][^]]*\] SSIM/SSIM/p"      ${tmp}/err > ${tmp}/cpu.summary
    sed -n "s/^\[Parsed_$1_cuda_[0-9][^]]*\] SSIM/SSIM/p" ${tmp}/err > ${tmp}/gpu.summary
    return ${status}
}

# Lines of mad: the same frames, values within 1e-4. What is printed of 0 is 0.
mads_agree(){
    paste -d ' ' ${tmp}/cpu.stats ${tmp}/gpu.stats | awk '
        {
            if (NF != 12)
                exit bad = 1
            for (i = 1; i <= 6; i++) {
                split($i, cpu, ":")
                split($(i + 6), gpu, ":")
                limit = i > 3 ? 1e-4 * cpu[2] : 0
                if (cpu[1] != gpu[1] || gpu[2] !~ /^[0-9.]+$/ || (gpu[2] - cpu[2]) ^ 2 > limit ^ 2)
                    exit bad = 1
            }
        }
        END { exit bad || !NR }'
}

twins_agree(){ # filter
    test -s ${tmp}/cpu.stats || test -s ${tmp}/cpu.frames || return
    for kind in stats metadata summary frames; do
        case $1.${kind} in
        mad.stats) mads_agree || return ;;
        mad.*a)    ;;
        *)         ! test -e ${tmp}/cpu.${kind} || cmp ${tmp}/cpu.${kind} ${tmp}/gpu.${kind} >&2 || return ;;
        esac
    done
}

# Says what fails, and counts.
twins(){ # name, arguments of run_twins
    name=$1
    shift
    cases=$((cases + 1))
    if ! run_twins "$@"; then
        echo "${name}: failed"
    elif ! twins_agree $1; then
        echo "${name}: differs"
    fi
}

# The last line of a test.
all_the_same(){ # least number of cases, on a GPU
    least=$1
    test -z "${on_cpu}" || least=$(((least + 4) / 5))
    if test ${cases} -ge ${least}; then echo "all the same"; else echo "${cases} cases of ${least}"; fi
}

# Whether there are CUDA frames of a format. The first six are in all releases, and FFmpeg by
# itself tells of the others.
uploads(){ # format
    case $1 in
    nv12 | yuv420p | yuv444p | p010le | p016le | yuv444p16le) return 0 ;;
    esac
    ffmpeg ${on_gpu} -lavfi nullsrc=s=64x64:d=0.04,format=$1,hwupload ${to_null} || {
        skipped "${test}, $1" "not in this FFmpeg"
        return 1
    }
}

# Frames as they come, what is done to the main ones in their format, and the options.
variants(){ # filter
    case $1 in
    bliinds)     echo ${twin_clip}@avgblur=1@features=1 ;;
    blocksmooth) echo ${blocks}@null@qf=127 ${blocks}@null@qf=40:block=16
                 # of much contrast: smoothing goes below black and beyond white
                 echo "${blocks},noise=alls=100:allf=t+u,lutyuv=y=2*val-128:u=2*val-128:v=2*val-128@null@qf=255" ;;
    ssim)        for main in null avgblur=3 hflip negate; do echo ${twin_clip}@${main}@; done ;;
    *)           echo ${twin_clip}@avgblur=1@ ;;
    esac
}

cuda_formats(){ # filter
    with_frames=yes
    # of CUDA frames, and of the CPU's with the same samples
    cat > ${tmp}/formats << END
nv12 yuv420p
yuv420p yuv420p
yuv444p yuv444p
p010le yuv420p10le
p016le yuv420p16le
yuv444p16le yuv444p16le
nv16 yuv422p
yuv422p yuv422p
p012le yuv420p12le
p210le yuv422p10le
p212le yuv422p12le
p216le yuv422p16le
yuv420p10le yuv420p10le
yuv422p10le yuv422p10le
yuv444p10le yuv444p10le
yuv444p10msble yuv444p10le
yuv444p12msble yuv444p12le
END
    # metrics leave alpha out
    if test $1 = blocksmooth; then echo yuva420p yuva420p; else echo yuva420p yuv420p; fi >> ${tmp}/formats
    # it takes long there
    test $1.${on_cpu} != mad.1 || sed -i '/^nv12\|^p010le\|^yuv444p16le/!d' ${tmp}/formats
    while read -r format planar; do
        uploads ${format} || continue
        for variant in $(variants $1); do
            rest=${variant#*@}
            frames=${variant%%@*},scale=174:98
            twins "${format} ${rest}" $1 ${frames},scale,format=${planar},${rest%@*} ${frames} ${format} ${planar} ${rest#*@}
        done
    done < ${tmp}/formats
    all_the_same 6
}

# Sizes on both sides of what warps, thread blocks and tiles take, tiny ones, and for mad all that its
# kernels transform in another way. FFmpeg does not upload the last row of chroma of an odd height,
# nor make the last column of p010 of an odd width: no window or cell of a metric has these here.
tiles(){ # filter
    case $1 in
    bliinds) cat << END
nv12        yuv420p     321:243 70:46 5:4
p010le      yuv420p10le 321:243 70:46 5:4
END
    ;;
    blocksmooth) cat << END
nv12        yuv420p     2:2 10:12 22:22 23:22 123:124 124:124 125:126 128:130 252:68 253:70 256:72
p010le      yuv420p10le 2:2 10:12 22:22 24:22 60:64 62:64 124:130 126:132 128:134
yuv444p     yuv444p     1:1 3:3 10:10 11:11 123:125 124:123 125:4 133:5 256:131
yuv444p16le yuv444p16le 1:1 3:3 10:10 11:11 59:61 60:63 61:65 62:4 133:5
END
    ;;
    detailloss) cat << END
nv12        yuv420p     16:16 17:19 64:32 65:33 66:34 129:65 161:99 451:305 1921:101 2162:2161
p010le      yuv420p10le 16:16 18:19 66:33 162:99 2160:161
yuv420p     yuv420p     79:161 96:80
yuv444p     yuv444p     17:31 63:33 161:99 2161:2161
yuv444p16le yuv444p16le 17:31 161:99 333:201
END
    ;;
    mad) for format in $(few yuv444p yuv444p16le); do
             echo ${format} ${format} 64:64 65:67 131:64 163:243 80:96 135:225 108:192
             # on the CPU, mad-cuda-fft has all lengths
             test -n "${on_cpu}" || echo ${format} ${format} 451:300 1024:600 300:270 640:360 1920:64 160:1080 2592:64
         done ;;
    ssim) cat << END
nv12        yuv420p     16:16 17:19 33:33 70:46 126:30 128:30 132:30 254:62 257:41 992:20 998:22 1004:24 2003:51 3841:37
p010le      yuv420p10le 16:16 18:19 34:33 70:46 126:30 128:30 132:30 254:62 258:41 992:20 998:22 1004:24 2004:51 3842:37
yuv444p     yuv444p     8:8 9:11 17:15 63:23 127:27 128:28 133:31 1000:9 1003:10
yuv444p16le yuv444p16le 8:8 9:11 17:15 63:23 127:27 128:28 133:31 1987:9 1991:13 3977:8
END
    esac
}

cuda_tiles(){ # filter
    frames=${twin_clip} change=gblur=1
    if test $1 = blocksmooth; then
        with_frames=yes frames=${blocks} change=null
    fi
    tiles $1 > ${tmp}/tiles
    while read -r format planar sizes; do
        for size in ${sizes}; do
            crop=scale=${size}
            test $1 != blocksmooth || crop=crop=${size}
            twins "${size} ${format}" $1 ${frames},${crop},scale,format=${planar},${change} ${frames},${crop} ${format} ${planar}
        done
    done < ${tmp}/tiles
    all_the_same 6
}

# Inputs that begin and end at different times, in framesync's ways, frames that are left out, and
# any number of frames in flight.
cuda_queue(){ # filter
    with_frames=yes
    frames=${twin_clip},crop=96:80,loop=-1:3,trim=end_frame=23
    while read -r main reference options; do
        if ! has_reference $1; then
            test ${reference} = null || continue
        fi
        case $1.${options} in
        *.none)                   options= ;;
        mad.n_sub* | ssim.n_sub* | bliinds.shortest*) continue ;;
        mad.*=*) test -z "${on_cpu}" || continue ;;
        esac
        for queue in $(few 3 1 2 8 64); do
            twins "${main} ${reference} ${options} queue ${queue}" $1 ${frames},avgblur=1,${main} ${frames},${reference} \
                nv12 yuv420p "${options}" "${options:+${options}:}queue=${queue}"
        done
    done << END
null                null                none
null                null                n_subsample=3
null                null                enable=lt(mod(n\\,7)\\,3)
trim=end_frame=1    null                none
trim=start_frame=5  null                none
trim=end_frame=9    null                none
trim=end_frame=9    null                shortest=1
null                trim=end_frame=1    none
null                trim=end_frame=9    none
null                trim=end_frame=9    shortest=1
null                trim=end_frame=9    repeatlast=0
null                trim=end_frame=9    eof_action=pass
null                trim=end_frame=9    eof_action=endall
null                trim=start_frame=5  none
null                fps=7               none
fps=10              null                none
fps=30              fps=7               ts_sync_mode=nearest
END
    all_the_same 25
}

cuda_ranges(){ # filter
    formats="nv12:yuv420p p010le:yuv420p10le yuv444p:yuv444p"
    test $1.${on_cpu} != mad.1 || formats=nv12:yuv420p
    for format in ${formats}; do
        for ranges in null@null setrange=full@setrange=full setrange=limited@setrange=full setrange=full@setrange=limited; do
            twins "${format} ${ranges}" $1 ${twin_clip},avgblur=1,${ranges%@*} ${twin_clip},${ranges#*@} ${format%:*} ${format#*:}
        done
    done
    all_the_same 12
}

# Three in one graph, one after another and side by side: the digits are the same. Where the graph
# ends early, all that came in is in the file.
cuda_instances(){ # filter
    frames=${twin_clip},crop=96:80,loop=-1:3,trim=end_frame=23
    twins "one" $1 ${frames},avgblur=1 ${frames} nv12 yuv420p
    up=scale,format=nv12,hwupload
    graph="${frames},avgblur=1,${up}" pads='' r1='' r2='' r3=''
    if has_reference $1; then
        pads=";${frames},${up},split=3[r1][r2][r3]" r1=[r1] r2=[r2] r3=[r3]
    fi
    ffmpeg ${on_gpu} -lavfi "${graph},split[m][m2]${pads};[m]${r1}$1_cuda=f=${tmp}/1[x];[x]${r2}$1_cuda=f=${tmp}/2:queue=1[c];\
[m2]${r3}$1_cuda=f=${tmp}/3:queue=3[d]" -map [c] ${to_null} -map [d] ${to_null} || echo failed
    for i in 1 2 3; do
        cmp ${tmp}/gpu.stats ${tmp}/${i} && cases=$((cases + 1))
    done
    pads=${pads%,split*}
    for queue in 1 8 64; do
        ffmpeg ${on_gpu} -lavfi "${graph}[m]${pads:+${pads}[r]};[m]${pads:+[r]}$1_cuda=f=${tmp}/4:queue=${queue}" -frames:v 5 ${to_null}
        lines=$(wc -l < ${tmp}/4)
        test ${lines} -ge 5 || echo "queue ${queue}: ${lines} lines for 5 frames"
        head -n ${lines} ${tmp}/gpu.stats | cmp - ${tmp}/4 && cases=$((cases + 1))
    done
    all_the_same 7
}

# A new graph for each size: the log goes on, with what was in flight.
cuda_resize(){ # filter
    i=0
    for size in 96x80 96x80 66x70 66x70 66x70 96x80; do
        i=$((i + 1))
        ffmpeg -lavfi testsrc2=s=${size}:r=50,format=gray -frames:v 1 -y ${tmp}/${i}.pgm
    done
    cpu="scale,format=yuv420p[m];[m]"
    gpu="scale,format=yuv420p,hwupload[m];[m]"
    if has_reference $1; then
        cpu="scale,format=yuv420p,split[r][a];[a]avgblur=1[m];[m][r]"
        gpu="scale,format=yuv420p,split[b][a];[a]avgblur=1,hwupload[m];[b]hwupload[r];[m][r]"
    fi
    for queue in 1 3 8; do
        ffmpeg -i ${tmp}/%d.pgm -lavfi "${cpu}$1=f=${tmp}/cpu.stats" ${to_null}
        ffmpeg ${on_gpu} -i ${tmp}/%d.pgm -lavfi "${gpu}$1_cuda=f=${tmp}/gpu.stats:queue=${queue}" ${to_null}
        twins_agree $1 && cases=$((cases + 1))
    done
    all_the_same 3
}

# What each setting does, and each command.
cuda_settings(){ # filter
    with_frames=yes
    echo "0.04 $1 qf 99, $1_cuda qf 99; 0.08 $1 block 16, $1_cuda block 16;" > ${tmp}/commands
    for format in nv12:yuv420p p010le:yuv420p10le yuv444p:yuv444p; do
        frames=${blocks},crop=256:194
        for options in planes=0 planes=1 planes=2 planes=4 planes=5 qf=1 qf=255 block=16 block=32 block=64; do
            twins "${format} ${options}" $1 ${frames} "" ${format%:*} ${format#*:} ${options}
        done
        twins "${format} commands" $1 ${frames},sendcmd=f=${tmp}/commands "" ${format%:*} ${format#*:} qf=30
    done
    all_the_same 33
}

# What is also somewhere else is not changed there.
cuda_writable(){ # filter
    for options in qf=127 planes=1 planes=4 planes=0; do
        graph="${blocks},scale,format=yuv420p,split=3[a][b][c];[a]$1=${options}[d];[b]scale,format=nv12,hwupload,split[e][f]"
        graph="${graph};[e]$1_cuda=${options},hwdownload,format=nv12,scale,format=yuv420p[g];[f]hwdownload,format=nv12,scale,format=yuv420p[h]"
        ffmpeg ${on_gpu} -lavfi ${graph} -map [c] -f framemd5 -y ${tmp}/before -map [d] -f framemd5 -y ${tmp}/cpu \
            -map [g] -f framemd5 -y ${tmp}/gpu -map [h] -f framemd5 -y ${tmp}/other || echo "${options}: failed"
        cmp ${tmp}/cpu ${tmp}/gpu && cmp ${tmp}/before ${tmp}/other && cases=$((cases + 1))
    done
    all_the_same 4
}

# What cannot be is said.
cuda_errors(){ # filter too-small
    parsed=$1_cuda
    still=testsrc2=d=0.08
    gpu=format=nv12,hwupload
    while read -r m r options; do
        graph="${still}:${m},$1_cuda${options}"
        if has_reference $1; then
            graph="${still}:${m}[m];${still}:${r}[r];[m][r]$1_cuda${options}"
        else
            test "${m}" = "${r}" || continue
        fi
        # no size is too small or too large
        case ${m} in
        *=0:64,* | *=64:0,* | *=16400:2,*) continue ;;
        esac
        fails ${on_gpu} -lavfi "${graph}" ${to_null} | sed "s,${tmp},folder,;s/^Error applying.*//;/^$/d;s/0\.000000/0/"
        ! grep -q 'Impossible to convert\|not have a common format' ${tmp}/err || echo "frames of the CPU are refused"
    done << END
s=96x80,scale,format=nv12 s=96x80,scale,format=nv12
s=96x80,scale,${gpu} s=80x96,scale,${gpu}
s=96x80,scale,${gpu} s=96x80,scale,format=yuv444p,hwupload
s=96x80,scale,${gpu} s=96x80,scale,format=nv12
s=96x80,scale,${gpu}_cuda s=96x80,scale,${gpu}
s=96x80,scale=$2:64,${gpu} s=96x80,scale=$2:64,${gpu}
s=96x80,scale=64:$2,${gpu} s=96x80,scale=64:$2,${gpu}
s=96x80,scale=16400:$(($2 + 2)),${gpu} s=96x80,scale=16400:$(($2 + 2)),${gpu}
s=96x80,scale,format=bgr0,hwupload s=96x80,scale,format=bgr0,hwupload
s=96x80,scale,${gpu} s=96x80,scale,${gpu} =f=/dev/full
s=96x80,scale,${gpu} s=96x80,scale,${gpu} =f=${tmp}/none/stats
s=96x80,scale,${gpu} s=96x80,scale,${gpu} =queue=0
s=96x80,scale,${gpu} s=96x80,scale,${gpu} =block=12
END
}

# The GPU's filter has the same options, and queue if it has results.
cuda_options(){ # filter
    for filter in $1 $1_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed '1,/ AVOptions:$/d' > ${tmp}/${filter}
    done
    test -s ${tmp}/$1 || echo "no options"
    diff ${tmp}/$1 ${tmp}/$1_cuda | awk '/^[<>]/ { print $1, $2, $3 } END { if (!NR) print "the same" }'
}

# ---- kernels ----

# What is wrong with the PTX for a GPU, by ptxas; what it takes of that goes to the log.
ptx_use(){ # gpu
    ptxas -v -arch=$1 -o /dev/null ${tmp}/ptx > ${tmp}/ptxas 2>&1 || {
        cat ${tmp}/ptxas >&2
        if grep -q "not defined for option 'gpu-name'" ${tmp}/ptxas; then
            missing="ptxas does not know $1"
        else
            echo "ptxas does not accept it for $1"
        fi
        return
    }
    cat ${tmp}/ptxas >&2
    # so few spilled bytes are not seen in the time
    awk -v kernels=$(grep -c '\.entry' ${tmp}/ptx) '
        / entry function / { name = $7; n++ }
        / spill stores/ && $5 > 200 { print "too much is spilled: " name ", " $5 }
        END { if (n != kernels) print n " kernels and not " kernels }' ${tmp}/ptxas
}

# The kernels by one compiler: what it makes of them and, in the log, what they
# take of a GPU.
#
# No float operation may be contracted: PTX says so by .rn, without it ptxas may. Fused ones
# are where __builtin_fmaf() is written: clang tells them apart from its own before it makes PTX; of
# nvcc there are none where that is a macro. The kernels of mad_chirp are those of mad_large with
# more lengths, and take a compiler long.
ptx(){ # filter compiler flags
    kernels=${base}/../libavfilter/vf_$1.cu
    lines=${base}/../libavfilter/vf_mad_cuda.cu
    case $1 in
    mad_chirp_cuda) kernels="-DMAD_CHIRP ${lines}" ;;
    mad_large_cuda) kernels="-DMAD_LARGE ${lines}" ;;
    esac
    to_look_at=${kernels} gpus="sm_75 sm_90"
    if test $1 = mad_chirp_cuda; then
        to_look_at="-DMAD_LARGE ${lines}" gpus=sm_90
    fi
    shift
    PATH=${PATH}:/usr/local/cuda/bin
    need $1 || return 0
    compiler=$1 unfused="-emit-llvm -O0"
    case ${compiler} in
    *nvcc*)
        # the first GPU that it knows, as configure does
        for gpu in 30 60 75 none; do
            ! ${compiler} -gencode arch=compute_${gpu},code=sm_${gpu} -ptx -o /dev/null -x cu /dev/null || break
        done
        set -- "$@" -gencode arch=compute_${gpu},code=sm_${gpu} -O2 -std=c++11 -m64 -ptx
        echo "#define __builtin_fmaf(a, b, c) ((a) * (b) + (c))" > ${tmp}/unfused.h
        unfused="-include ${tmp}/unfused.h" ;;
    esac
    "$@" -o ${tmp}/ptx ${kernels} && "$@" ${unfused} -o ${tmp}/unfused ${to_look_at} || return
    grep -q '\.entry' ${tmp}/ptx && grep -q '\.entry\|^define ' ${tmp}/unfused || { echo "no kernels"; return; }
    missing=
    command -v ptxas > /dev/null || missing="no ptxas"
    {
        case ${compiler} in
        *clang*) grep -q '^\.version 6\.0' ${tmp}/ptx && grep -q '^\.target sm_50' ${tmp}/ptx ||
                     echo "not PTX 6.0 for sm_50: $(grep -E '^\.(version|target)' ${tmp}/ptx | xargs)" ;;
        esac
        ! grep -E '[[:space:]](fma|mad)\.(rn\.)?(ftz\.)?f|llvm\.fmuladd| f(add|sub|mul) .*(contract|fast) ' ${tmp}/unfused ||
            echo "fused by the compiler"
        ! grep -E '(add|sub|mul)\.(ftz\.)?f(32|64)' ${tmp}/ptx || echo "may be fused by ptxas"
        for gpu in ${gpus}; do
            test -n "${missing}" || ptx_use ${gpu}
        done
    } > ${tmp}/problems
    cat ${tmp}/problems
    if test -n "${missing}" && ! test -s ${tmp}/problems; then
        skip "${missing}, the PTX itself is good"
    else
        echo "good PTX"
    fi
}
