# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2154
# What the filters do where something fails, for tests/fate/metrics.mak: it is read
# after tests/filters/common.sh. The CUDA filters run on a stand-in for the driver, so that
# no GPU is needed: see tests/faults/libcuda.c.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Without a GPU, a filter's frames come from here and go there.
up=hwupload
down=hwdownload,format=yuv420p

# Runs a command on the stand-in with these options; says on stderr what is wrong in its books.
books(){ # options command...
    export CUDA_STAND_IN=report=${tmp}/report,$1
    shift
    rm -f ${tmp}/report
    LD_LIBRARY_PATH=${stand_in} "$@" 2> ${tmp}/err
    books_status=$?
    grep -qs '^calls' ${tmp}/report || echo "the stand-in was not used" >&2
    ! grep '^error\|^left' ${tmp}/report >&2
}

# The same of ffmpeg, which has to succeed.
on_stand_in(){ # options arguments...
    options=$1
    shift
    books ${options} ffmpeg -y -init_hw_device cuda=gpu -filter_hw_device gpu "$@"
    test ${books_status} = 0 || { echo "status ${books_status}"; cat ${tmp}/err; } >&2
}

# A filter with options between what it needs.
chain(){ # filter options
    case $1 in
    ssim_cuda | detailloss_cuda | mad_cuda)
        echo "split[a][b];[a]${up}[c];[b]negate,${up}[d];[c][d]$1=$2,${down}" ;;
    *)
        echo "${up},$1=$2,${down}" ;;
    esac
}

queue_option(){ # filter number
    test $1 = blocksmooth_cuda && echo "qf=5" || echo "queue=$2"
}

# All frames, in order, with the same metadata, for each queue and each delay: to the
# end, up to a few frames, and where some are left alone.
in_flight(){ # filter
    source=testsrc2=s=72x64:d=1.2,format=yuv420p
    # of some frames bliinds_cuda needs the bands alone, of others all
    for pair in gop_step=2 gop_intra_bytes=999 width=72 height=64 codec=h264; do
        source=${source},metadata=add:key=lavc.quantizer.${pair%=*}:value=${pair#*=}:enable=lt\(mod\(n\\,5\)\\,2\)
    done
    ffmpeg -lavfi ${source} -f framecrc - > ${tmp}/all
    ffmpeg -lavfi ${source} -frames:v 7 -f framecrc - > ${tmp}/few
    runs=0
    for queue in 1 2 8 64; do
        for delay in 0 5 1000000; do
            for more in "" "-frames:v 7" enable=lt\(mod\(n\\,4\)\\,2\); do
                options=$(queue_option $1 ${queue})
                frames=all kind=all
                case ${more} in
                -*)   frames=few kind=few ;;
                en*)  options=${options}:${more} more="" kind=enable ;;
                esac
                on_stand_in delay=${delay} -lavfi "${source},$(chain $1 ${options}),${print}" ${more} \
                    -f framecrc ${tmp}/crc > ${tmp}/metadata
                cmp ${tmp}/${frames} ${tmp}/crc
                # what the first of its kind has said
                test -e ${tmp}/${kind}.metadata || cp ${tmp}/metadata ${tmp}/${kind}.metadata
                cmp ${tmp}/${kind}.metadata ${tmp}/metadata
                runs=$((runs + 1))
            done
        done
    done > ${tmp}/wrong 2>&1
    head ${tmp}/wrong
    echo "${runs} runs of $(grep -c '^0' ${tmp}/all) and $(grep -c '^0' ${tmp}/few) frames"
}

# Three instances at once.
in_parallel(){ # filter
    source=testsrc2=s=72x64:d=1.2,format=yuv420p
    ffmpeg -lavfi ${source} -f framecrc - > ${tmp}/all
    for delay in 0 5; do
        on_stand_in delay=${delay} -lavfi "${source},split=3[x][y][z];[x]$(chain $1 $(queue_option $1 1))[o1];[y]$(chain $1 $(queue_option $1 3) | sed 's/\[\([a-d]\)\]/[\12]/g')[o2];[z]$(chain $1 $(queue_option $1 64) | sed 's/\[\([a-d]\)\]/[\13]/g')[o3]" \
            -map [o1] -f framecrc ${tmp}/1 -map [o2] -f framecrc ${tmp}/2 -map [o3] -f framecrc ${tmp}/3
        for i in 1 2 3; do
            cmp ${tmp}/all ${tmp}/${i}
        done
    done
    echo "$(grep -c '^0' ${tmp}/all) frames"
}

# Pictures of two sizes, so many of each in turn.
two_sizes(){ # changes frames
    ffmpeg -lavfi testsrc2=s=64x64:r=1000,format=gray -frames:v $((($1 + 1) * $2)) ${tmp}/a%d.pgm
    ffmpeg -lavfi testsrc2=s=72x64:r=1000,format=gray -frames:v $((($1 + 1) * $2)) ${tmp}/b%d.pgm
    n=1
    for i in $(seq 0 $1); do
        for j in $(seq $2); do
            size=a
            test $((i % 2)) = 0 || size=b
            cat ${tmp}/${size}${n}.pgm
            n=$((n + 1))
        done
    done > ${tmp}/sizes.pgm
}

# No frame is lost where ffmpeg makes a new graph for each size.
changes(){ # filter changes frames-between [queue delay]
    two_sizes $2 $3
    total=$((($2 + 1) * $3))
    seq 0 $((total - 1)) > ${tmp}/expected
    for queue in ${4:-1 8 64}; do
        for delay in ${5:-0 5 1000000}; do
            on_stand_in delay=${delay} -f image2pipe -r 25 -i ${tmp}/sizes.pgm \
                -vf "scale,format=yuv420p,$(chain $1 $(queue_option $1 ${queue})),metadata=add:key=n:value=1,${print}" \
                ${to_null} > ${tmp}/metadata
            sed -n 's/^frame.* pts:\([0-9]*\) .*/\1/p' ${tmp}/metadata > ${tmp}/got
            cmp -s ${tmp}/expected ${tmp}/got ||
                echo "queue ${queue}, delay ${delay}: $(wc -l < ${tmp}/got) frames of ${total}"
            grep -v '^frame' ${tmp}/metadata > ${tmp}/values
            test -e ${tmp}/first || cp ${tmp}/values ${tmp}/first
            cmp ${tmp}/first ${tmp}/values
        done
    done > ${tmp}/wrong 2>&1
    head ${tmp}/wrong
    echo "${total} frames"
}

# With valgrind looking on.
checked(){
    source=testsrc2=s=72x64:d=0.4,format=yuv420p
    export LD_LIBRARY_PATH=${stand_in} CUDA_STAND_IN=delay=5
    on_gpu="-init_hw_device cuda=gpu -filter_hw_device gpu"
    for filter in bliinds_cuda ssim_cuda detailloss_cuda mad_cuda blocksmooth_cuda; do
        : > ${tmp}/crc
        ffmpeg ${on_gpu} -lavfi ${source},$(chain ${filter} $(queue_option ${filter} 3)) -f framecrc -y ${tmp}/crc
        echo "${filter}: $? for $(grep -c '^0' ${tmp}/crc) frames"
    done | paste -sd ' '
}

# It is the same whether frames are cropped before they are on the GPU, or there.
cropped(){
    down=null
    for filter in bliinds_cuda ssim_cuda detailloss_cuda mad_cuda; do
        for up in crop=72:64:8:4,hwupload hwupload,crop=72:64:8:4; do
            on_stand_in delay=5 -lavfi "testsrc2=s=96x80:d=0.4,format=yuv420p,$(chain ${filter} queue=3),${print}" ${to_null} |
                grep '^lavfi' > ${tmp}/${up%%[=,]*}
        done
        same ${filter} ${tmp}/crop ${tmp}/hwupload
    done | paste -sd ' '
}

# Frames on the GPU cannot be converted: mad_cuda takes each range as it is, as mad does.
ranges(){
    on_stand_in delay=5 -lavfi "testsrc2=s=72x64:d=0.4,format=yuv420p,split[a][b];\
[a]setrange=limited,hwupload[c];[b]setrange=full,hwupload[d];[c][d]mad_cuda,${print}" ${to_null} | grep -c score
}

# What is wrong with the devices is said.
devices(){
    source=testsrc2=s=72x64:d=0.2,format=yuv420p
    told=0
    for filter in ssim_cuda detailloss_cuda mad_cuda; do
        books devices=2 ffmpeg -init_hw_device cuda=one:0 -init_hw_device cuda=two:1 \
            -lavfi "${source},split[a][b];[a]hwupload_cuda=device=0[c];[b]hwupload_cuda=device=1[d];[c][d]${filter}" ${to_null} 2>&1
        grep -q 'two CUDA devices' ${tmp}/err && test ${books_status} != 0 && told=$((told + 1))
    done
    for filter in bliinds_cuda ssim_cuda detailloss_cuda mad_cuda blocksmooth_cuda; do
        books major=3 ffmpeg -init_hw_device cuda=gpu -filter_hw_device gpu \
            -lavfi "${source},$(chain ${filter} $(queue_option ${filter} 2))" ${to_null} 2>&1
        grep -q 'compute capability 3' ${tmp}/err && test ${books_status} != 0 && told=$((told + 1))
    done
    echo "${told} errors are told"
}

# Each allocation, or driver's call, fails in turn, alone and with all behind it. What
# went wrong is printed; how many faults there were goes to the log.
each(){ # alloc|driver size format filter [file...]
    kind=$1
    shift
    program=$(cd ${target_path} && pwd)/libavfilter/tests/filter_faults${EXECSUF}
    for and_more in "" +; do
        (cd ${tmp} && LD_LIBRARY_PATH=${stand_in} ${program} ${kind}${and_more} "$@") 2> ${tmp}/faults ||
            echo "$3, ${kind}${and_more}: status $?"
        cat ${tmp}/faults >&2
        grep -q '^[1-9][0-9]* faults, 0 went wrong' ${tmp}/faults || echo "$3, ${kind}${and_more}: no faults"
    done
}

faults_driver(){ # filter
    for options in $(queue_option $1 1) $(queue_option $1 3) $(queue_option $1 8); do
        each driver 72x64 nv12 $1=${options}
    done
    each driver 72x64 p010 $1
    each alloc 72x64 nv12 $1
    echo "nothing went wrong"
}

# Files are in the folder where the program runs.
faults_alloc(){
    each alloc 72x64 gray bliinds=features=1:n_subsample=4:stats_file=a:log_path=b a b
    each alloc 72x64 yuv420p10 bliinds=log_path=a a
    each alloc 72x64 yuv420p mad=stats_file=a:log_path=b a b
    each alloc 72x64 yuv420p detailloss=stats_file=a:log_path=b a b
    each alloc 72x64 gray detailloss
    each alloc 72x64 yuv420p blocksmooth
    echo "nothing went wrong"
}
