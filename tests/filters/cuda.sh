# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the CUDA filters, and of what compilers make of their kernels.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- CUDA ----

# Whether there are CUDA frames of a format: the first of these are in all releases, and
# FFmpeg by itself tells of the others.
uploads(){ # format
    case $1 in
    nv12 | yuv420p | yuv444p | p010le | p016le | yuv444p16le) return 0 ;;
    esac
    ffmpeg -init_hw_device cuda -lavfi nullsrc=s=64x64:d=0.04,format=$1,hwupload ${to_null} || {
        leave_out $1
        return 1
    }
}

# What is expected is the CPU filter's, of the same picture.
cuda_formats(){
    device="-init_hw_device cuda"
    samples v > ${tmp}/8
    raw_values ${tmp}/8 gray 70 46 bliinds=features=1:range=full > ${tmp}/expected
    for format in yuv420p:8 yuv444p:8 nv12:8 p010le:0 p016le:0 yuv444p16le:0 \
                  nv16:8 yuv422p:8 p012le:0 p210le:0 p212le:0 p216le:0 \
                  yuv420p10le:2 yuv422p10le:2 yuv444p10le:2 yuv444p10msble:0 yuv444p12msble:0; do
        shift=${format#*:}
        format=${format%:*}
        uploads ${format} || continue
        raw_luma ${format} ${shift}
        raw_values ${raw} ${format} 70 46 hwupload,bliinds_cuda=features=1:range=full > ${tmp}/got
        same ${format} ${tmp}/expected ${tmp}/got
    done
}

cuda_ranges(){
    device="-init_hw_device cuda"
    compare_ranges << EOF
full        yuv420p     hwupload,bliinds_cuda=features=1:range=full
full        yuv420p     hwupload,bliinds_cuda=features=1:range=pc
full        yuv420p     setrange=full,hwupload,bliinds_cuda=features=1
limited     yuv420p     hwupload,bliinds_cuda=features=1
limited     nv12        hwupload,bliinds_cuda=features=1:range=auto
limited     yuv444p     setrange=limited,hwupload,bliinds_cuda=features=1
limited     yuv420p     setrange=full,hwupload,bliinds_cuda=features=1:range=tv
limited.msb p010le      hwupload,bliinds_cuda=features=1
limited.msb p016le      hwupload,bliinds_cuda=features=1
full        yuv420p     hwupload,bliinds_cuda=features=1
EOF
}

# The same for any number of frames in flight.
cuda_queue(){
    for size in 321:243 70:46 5:4; do
        for format in nv12 p010le; do
            source=testsrc2=s=320x240:d=0.72,format=yuv420p,scale=${size},format=${format}
            ffmpeg -lavfi ${source},bliinds=features=1:stats_file=${tmp}/stats,${print} ${to_null} > ${tmp}/expected
            cat ${tmp}/stats >> ${tmp}/expected
            for queue in 1 2 3 8 64; do
                ffmpeg -lavfi ${source},${bliinds}=features=1:queue=${queue}:stats_file=${tmp}/stats,${print} \
                    ${to_null} > ${tmp}/got
                cat ${tmp}/stats >> ${tmp}/got
                same "$(grep -c 'score=' ${tmp}/got) frames of ${size} ${format}, queue ${queue}" \
                    ${tmp}/expected ${tmp}/got
            done
        done
    done
}

cuda_passthrough(){
    # FFmpeg does not upload the last row of chroma of an odd height
    for format in yuv420p p010le yuv444p; do
        source=testsrc2=s=320x240:d=0.4,format=yuv420p,scale=174:98,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -lavfi ${source},${bliinds}=n_subsample=2,hwdownload,format=${format} > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

# Three in one graph, one after another and side by side, and the CPU filter.
cuda_instances(){
    ffmpeg -lavfi testsrc2=s=320x240:d=1,format=yuv420p,scale=175:99,format=yuv420p,hwupload_cuda,split=3[a][b][c]\;[a]bliinds_cuda=f=${tmp}/1,bliinds_cuda=f=${tmp}/2:queue=3[d]\;[b]bliinds_cuda=f=${tmp}/3:queue=1[e]\;[c]hwdownload,format=yuv420p,bliinds=f=${tmp}/cpu[f] \
        -map [d] ${to_null} -map [e] ${to_null} -map [f] ${to_null} || return
    for i in 1 2 3; do
        same "instance ${i}" ${tmp}/cpu ${tmp}/${i}
    done
    wc -l < ${tmp}/cpu
}

# The log has the frames that came in, whoever ended it.
cuda_end(){
    source=testsrc2=s=64x64:d=10,format=yuv420p
    ffmpeg -lavfi ${source},bliinds=f=${tmp}/cpu ${to_null}
    for queue in 1 8 64; do
        ffmpeg -lavfi ${source},${bliinds}=queue=${queue}:f=${tmp}/stats -frames:v 5 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 5 || echo "${lines} lines for 5 frames"
        head -n ${lines} ${tmp}/cpu > ${tmp}/expected
        same "5 frames, queue ${queue}" ${tmp}/expected ${tmp}/stats
        ffmpeg -lavfi ${source},${bliinds}=queue=${queue}:f=${tmp}/stats,trim=end_frame=2 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 2 || echo "${lines} lines for 2 frames"
        head -n ${lines} ${tmp}/cpu > ${tmp}/expected
        same "trim, queue ${queue}" ${tmp}/expected ${tmp}/stats
    done
}

# A new graph for each size.
cuda_resize(){
    for i in 1:rose_70x46 2:camera_crop_16x9 3:rose_70x46 4:camera_crop_300x240; do
        cp ${pictures}/${i#*:}.pgm ${tmp}/${i%:*}.pgm
    done
    ffmpeg -i ${tmp}/%d.pgm -vf bliinds=features=1,${print} ${to_null} | grep -v '^frame' > ${tmp}/expected
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}=features=1:queue=1,${print} ${to_null} | grep -v '^frame' > ${tmp}/got
    same "a graph for each size" ${tmp}/expected ${tmp}/got
    grep -c score= ${tmp}/got
    # ffmpeg does not take the frames in flight of a graph that it replaces, but they are logged
    for filters in bliinds ${gray}${bliinds}; do
        ffmpeg -i ${tmp}/%d.pgm -vf ${filters}=f=- ${to_null} > ${tmp}/${filters%%[=,]*}
    done
    same "their lines" ${tmp}/bliinds ${tmp}/scale
    grep -c score ${tmp}/scale
}

cuda_errors(){
    source=testsrc2=s=64x64:d=0.04,format=yuv420p
    fails -lavfi ${source},bliinds_cuda ${to_null}
    grep -q 'Impossible to convert\|not have a common format' ${tmp}/err && echo "frames of the CPU are refused"
    fails -lavfi ${source},scale,format=bgr0,${bliinds} ${to_null}
    fails -lavfi ${source},${bliinds}=queue=0 ${to_null} | sed 's/^Error applying.*//;/^$/d'
    fails -lavfi ${source},${bliinds}=f=/dev/full ${to_null}
}

# The GPU's filter has the same options, and queue.
cuda_options(){
    for filter in bliinds bliinds_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed '1,/ AVOptions:$/d' > ${tmp}/${filter}
    done
    grep -c model ${tmp}/bliinds_cuda
    diff ${tmp}/bliinds ${tmp}/bliinds_cuda | awk '/^[<>]/ { print $1, $2, $3 }'
}

# What ptxas makes of the PTX for a GPU goes to the log, what is wrong to stdout.
ptx_use(){ # compiler gpu
    if ! ptxas -v -arch=$2 -o /dev/null ${tmp}/ptx > ${tmp}/ptxas 2>&1; then
        cat ${tmp}/ptxas >&2
        if grep -q "not defined for option 'gpu-name'" ${tmp}/ptxas; then
            missing="ptxas does not know $2"
        else
            echo "ptxas does not accept it for $2"
        fi
        return
    fi
    awk -v title="PTX of $1 on $2:" '
        function before(word,    i) {
            for (i = 2; i <= NF; i++)
                if ($i ~ "^" word)
                    return $(i - 1)
        }
        / entry function /  { name = substr($7, 2, length($7) - 2) }
        / spill stores/     { spilled = $5 }
        / Used .*registers/ { print title, name, before("registers"), "registers,", spilled, "bytes spilled" }' \
        ${tmp}/ptxas > ${tmp}/use
    cat ${tmp}/use >&3
    # so few are not seen in the time
    awk -v kernels=$(grep -c '\.entry' ${tmp}/ptx) '
        $(NF - 2) > 200 { print "too much: " $0 }
        END { if (!NR || NR != kernels) print NR " kernels and not " kernels }' ${tmp}/use
}

# The kernels by one compiler: what it makes of them and, in the log, what they
# take of a GPU.
#
# No float operation may be contracted: PTX says so by .rn, without it ptxas may.
# Fused ones are where __builtin_fmaf() is written. Without these there are none.
ptx(){ # filter compiler flags
    kernels=${base}/../libavfilter/vf_$1.cu
    shift
    PATH=${PATH}:/usr/local/cuda/bin
    need $1 || return 0
    compiler=$1
    case ${compiler} in
    *nvcc*)
        # the first GPU that it knows, as configure does
        for gpu in 30 60 75 none; do
            ! ${compiler} -gencode arch=compute_${gpu},code=sm_${gpu} -ptx -o /dev/null -x cu /dev/null || break
        done
        set -- "$@" -gencode arch=compute_${gpu},code=sm_${gpu} -O2 -std=c++11 -m64 -ptx ;;
    esac
    echo "#define __builtin_fmaf(a, b, c) ((a) * (b) + (c))" > ${tmp}/unfused.h
    "$@" -o ${tmp}/ptx ${kernels} && "$@" -include ${tmp}/unfused.h -o ${tmp}/unfused ${kernels} || return
    grep -q '\.entry' ${tmp}/ptx && grep -q '\.entry' ${tmp}/unfused || { echo "no kernels"; return; }
    missing=
    command -v ptxas > /dev/null || missing="no ptxas"
    {
        case ${compiler} in
        *clang*) grep -q '^\.version 6\.0' ${tmp}/ptx && grep -q '^\.target sm_50' ${tmp}/ptx ||
                     echo "not PTX 6.0 for sm_50: $(grep -E '^\.(version|target)' ${tmp}/ptx | xargs)" ;;
        esac
        ! grep -E '(fma|mad)\.(rn\.)?(ftz\.)?f' ${tmp}/unfused || echo "fused by the compiler"
        ! grep -E '(add|sub|mul)\.(ftz\.)?f(32|64)' ${tmp}/ptx || echo "may be fused by ptxas"
        for gpu in sm_75 sm_90 sm_100; do
            test -n "${missing}" || ptx_use ${compiler} ${gpu}
        done
    } > ${tmp}/problems
    cat ${tmp}/problems
    if test -n "${missing}" && ! test -s ${tmp}/problems; then
        skip "${missing}, the PTX itself is good"
    else
        echo "good PTX"
    fi
}

# Formats of CUDA frames, and the CPU's with the same samples.
list_cuda_formats(){
    cat << END
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
}
