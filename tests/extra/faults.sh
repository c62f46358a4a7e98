# shellcheck shell=sh disable=SC2013,SC2015,SC2046,SC2086,SC2154
# What the filters do where something fails, and where frames are in flight, for
# tests/extra/extra.mak: it is read after tests/filters/common.sh. The CUDA filters run on a
# stand-in for the driver, so that no GPU is needed: see tests/extra/libcuda.c.
# SPDX-License-Identifier: LGPL-2.1-or-later

export LD_LIBRARY_PATH=${STAND_IN_FOLDER}
program=$(cd ${target_path} && pwd)/tests/extra/filter_faults${EXECSUF}
clip=testsrc2=s=72x64:d=1.2,format=yuv420p

# A small size that a filter takes.
size_of(){ # filter
    if test $1 = vmaf_cuda; then echo 218x160; else echo 72x64; fi
}

# a filter's frames come from here and go there
up=hwupload
down=hwdownload,format=yuv420p

# ffmpeg on the stand-in with these options. What is wrong in its books is said.
on_stand_in(){ # options arguments...
    export CUDA_STAND_IN=$1,calls=1
    shift
    heard ffmpeg -y -init_hw_device cuda=gpu -filter_hw_device gpu "$@" 2> /dev/null
    grep -q '^calls' ${tmp}/err || echo "the stand-in was not used" >&2
    ! grep '^error\|^left' ${tmp}/err >&2
    return ${status}
}

# The same, which has to succeed.
succeeds(){ # options arguments...
    on_stand_in "$@" || { echo "status ${status}"; cat ${tmp}/err; } >&2
}

# A filter with options between what it needs.
chain(){ # filter options
    case $1 in
    ssim_cuda | mad_cuda | vmaf_cuda)
        echo "split[a][b];[a]${up}[c];[b]negate,${up}[d];[c][d]$1=$2,${down}" ;;
    *)
        echo "${up},$1=$2,${down}" ;;
    esac
}

queue_option(){ # filter number
    test $1 = blocksmooth_cuda && echo "qf=5" || echo "queue=$2"
}

# Kernels take their time on the CPU: they run in some of the cases, whose results tell whose they are.
set_idle(){
    case ${queue}.${delay} in
    1.5 | 64.5) idle=0 ;;
    *)          idle=1 ;;
    esac
}

# What the first run of a kind has said is what the others have to say.
said_as_before(){ # file kind
    test -e ${tmp}/$2.first || cp $1 ${tmp}/$2.first
    cmp ${tmp}/$2.first $1
}

# The last lines of a test: what was wrong, and how much there was.
told(){ # text
    head ${tmp}/wrong
    echo "$*"
}

# All frames, in order, with the same metadata, for each queue and each delay: to the
# end, up to a few frames, and where some are left alone.
in_flight(){ # filter
    source=testsrc2=s=$(size_of $1):d=1.2,format=yuv420p runs=0
    # of some frames bliinds_cuda needs the bands alone, of others all
    for pair in gop_step=2 gop_intra_bytes=999 width=72 height=64 codec=h264; do
        source=${source},metadata=add:key=lavc.quantizer.${pair%=*}:value=${pair#*=}:enable=lt\(mod\(n\\,5\)\\,2\)
    done
    # frames that come slowly are not collected
    source=${source},reverse
    ffmpeg -lavfi ${source} -f framecrc - > ${tmp}/all
    ffmpeg -lavfi ${source} -frames:v 7 -f framecrc - > ${tmp}/few
    cp ${tmp}/all ${tmp}/some
    for queue in 1 2 8 64; do
        for delay in 0 5 1000000; do
            set_idle
            for kind in all few some; do
                options=$(queue_option $1 ${queue}) more=
                case ${kind} in
                few)  more="-frames:v 7" ;;
                some) options=${options}:enable=lt\(mod\(n\\,4\)\\,2\) ;;
                esac
                succeeds delay=${delay},idle=${idle} -lavfi "${source},$(chain $1 ${options}),${print}" ${more} \
                    -f framecrc ${tmp}/crc > ${tmp}/metadata
                # this one changes frames
                case $1.${idle} in
                blocksmooth_cuda.0) said_as_before ${tmp}/crc changed.${kind} ;;
                *)                  cmp ${tmp}/${kind} ${tmp}/crc ;;
                esac
                said_as_before ${tmp}/metadata ${kind}.${idle}
                runs=$((runs + 1))
            done
        done
    done > ${tmp}/wrong 2>&1
    told "${runs} runs of $(grep -c '^0' ${tmp}/all) and $(grep -c '^0' ${tmp}/few) frames"
}

# No frame is lost where ffmpeg makes a new graph for each of two sizes, that follow each other.
changes(){ # filter changes frames-between [queue delay]
    total=$((($2 + 1) * $3))
    for size in 64 72; do
        ffmpeg -lavfi testsrc2=s=${size}x64:r=1000,format=gray -frames:v ${total} ${tmp}/${size}.%d.pgm
    done
    seq 0 $((total - 1)) > ${tmp}/expected
    for n in $(cat ${tmp}/expected); do
        cat ${tmp}/$((64 + n / $3 % 2 * 8)).$((n + 1)).pgm
    done > ${tmp}/sizes.pgm
    for queue in ${4:-1 8 64}; do
        for delay in ${5:-0 5 1000000}; do
            set_idle
            succeeds delay=${delay},idle=${idle} -f image2pipe -r 25 -i ${tmp}/sizes.pgm \
                -vf "scale,format=yuv420p,$(chain $1 $(queue_option $1 ${queue})),metadata=add:key=n:value=1,${print}" \
                ${to_null} > ${tmp}/metadata
            sed -n 's/^frame.* pts:\([0-9]*\) .*/\1/p' ${tmp}/metadata | cmp ${tmp}/expected -
            grep -v '^frame' ${tmp}/metadata > ${tmp}/values
            said_as_before ${tmp}/values ${idle}
        done
    done > ${tmp}/wrong 2>&1
    told "${total} frames"
}

# With valgrind looking on, which does not know what kernels do with their stacks.
faults_checked(){
    for filter in bliinds_cuda ssim_cuda mad_cuda blocksmooth_cuda; do
        : > ${tmp}/crc
        on_stand_in delay=5,idle=1 -lavfi ${clip},trim=end_frame=10,$(chain ${filter} $(queue_option ${filter} 3)) \
            -f framecrc ${tmp}/crc
        echo "${filter}: ${status} for $(grep -c '^0' ${tmp}/crc) frames"
    done | paste -sd ' '
}

# It is the same whether frames are cropped before they are on the GPU, or there.
faults_cropped(){
    down=null
    for filter in bliinds_cuda ssim_cuda mad_cuda vmaf_cuda; do
        crop=crop=$(size_of ${filter} | tr x :):8:4
        for up in ${crop},hwupload hwupload,${crop}; do
            succeeds delay=5 -lavfi "testsrc2=s=240x180:d=0.16,format=yuv420p,$(chain ${filter} queue=3),${print}" ${to_null} |
                grep '^lavfi' > ${tmp}/${up%%[=,]*}
        done
        same ${filter} ${tmp}/crop ${tmp}/hwupload
    done | paste -sd ' '
}

# What is wrong with the devices is said.
faults_devices(){
    told=0
    for filter in ssim_cuda mad_cuda; do
        on_stand_in devices=2 -init_hw_device cuda=two:1 -lavfi "${clip},split[a][b];\
[a]hwupload_cuda=device=0[c];[b]hwupload_cuda=device=1[d];[c][d]${filter}" ${to_null} && continue
        grep -q 'two CUDA devices' ${tmp}/err && told=$((told + 1))
    done
    for filter in bliinds_cuda ssim_cuda mad_cuda blocksmooth_cuda; do
        on_stand_in major=3 -lavfi "${clip},$(chain ${filter} $(queue_option ${filter} 2))" ${to_null} && continue
        grep -q 'compute capability 3' ${tmp}/err && told=$((told + 1))
    done
    echo "${told} errors are told"
}

# Frames that are not as their link are refused. FFmpeg's assertions end those of another size.
faults_others(){
    kinds="72x64.p010 96x80.nv12"
    if ffmpeg -buildconf 2>&1 | grep -q 'assert-level=[12]'; then
        kinds=72x64.p010
        skipped "${test}, another size" "FFmpeg's assertions end it"
    fi
    for filter in bliinds_cuda ssim_cuda mad_cuda blocksmooth_cuda; do
        for kind in ${kinds}; do
            (cd ${tmp} && CUDA_STAND_IN=idle=1 ${program} other ${kind%.*} ${kind#*.} ${filter}) > ${tmp}/said &&
                grep -q 'insert scale_cuda' ${tmp}/said || { cat ${tmp}/said; echo "${filter}, ${kind}: not refused"; }
        done
    done
    echo "others are refused"
}

# Each allocation, or driver's call, fails in turn, alone and with all behind it. What
# went wrong is printed; how many faults there were goes to the log. Files are in the
# folder where the program runs.
each(){ # alloc|driver size format filter [file...]
    kind=$1
    shift
    for and_more in "" +; do
        (cd ${tmp} && CUDA_STAND_IN=idle=1 ${program} ${kind}${and_more} "$@") 2> ${tmp}/faults ||
            echo "$3, ${kind}${and_more}: status $?"
        cat ${tmp}/faults >&2
        grep -q '^[1-9][0-9]* faults, 0 went wrong' ${tmp}/faults || echo "$3, ${kind}${and_more}: no faults"
    done
}

faults_driver(){ # filter
    for options in $(queue_option $1 1) $(queue_option $1 3) $(queue_option $1 8); do
        each driver $(size_of $1) nv12 $1=${options}
    done
    # also where mad_cuda allocates its output frames
    test $1 != mad_cuda || set -- mad_cuda =output=appearance
    each driver $(size_of $1) p010 $1$2
    each alloc $(size_of $1) nv12 $1$2
    echo "nothing went wrong"
}

faults_alloc(){
    each alloc 72x64 gray bliinds=features=1:n_subsample=4:stats_file=a:log_path=b a b
    each alloc 72x64 yuv420p10 bliinds=log_path=a a
    each alloc 72x64 yuv420p mad=output=detection:stats_file=a:log_path=b a b
    each alloc 218x216 yuv420p vmaf=stats_file=a:log_path=b:model=version=vmaf_v1.0.16_hfr_3d0h a b
    each alloc 216x216 yuv422p10 "vmaf=model=version=vmaf_v1.0.16_3d0h|version=vmaf_v1.0.16_3d0h\\\\:name=b"
    each alloc 72x64 yuv420p blocksmooth
    echo "nothing went wrong"
}
