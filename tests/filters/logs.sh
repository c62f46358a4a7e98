# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the logs.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- logs ----

clip="-lavfi testsrc2=s=96x80:d=2.4,format=yuv420p,drawbox=c=black:t=fill:enable=eq(n\\,5)"

# A log, but for what is another one in each build and run.
logged(){ # file
    sed '/"\{0,1\}fps/d;s/"Lavfi[^"]*"/"LAVFI"/' $1
}

log_json(){
    ffmpeg ${clip},${bliinds}=log_path=${tmp}/log ${to_null} || return
    ls ${tmp} | grep 'tmp$' && echo "the temporary file is still there"
    logged ${tmp}/log
}

# The other forms, with all features; the sixth frame is not valid.
log_csv(){
    ffmpeg ${clip},trim=end_frame=7,${bliinds}=features=1:log_path=${tmp}/log:log_fmt=csv:f=${tmp}/stats ${to_null} || return
    logged ${tmp}/log
    cat ${tmp}/stats
}

log_xml(){
    ffmpeg ${clip},trim=end_frame=7,${bliinds}=features=1:log_path=${tmp}/log:log_fmt=xml ${to_null} || return
    logged ${tmp}/log
}

# Nothing else may be on stdout, nor a log of a graph that no frame saw.
log_stdout(){
    need jq || return 0
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}=log_path=- ${to_null} | jq -c '.frames | length'
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}=f=- ${to_null} | sed 's/ score.*//'
    # without a valid frame there is nothing to pool
    ffmpeg -i ${pictures}/flat0_64x64.pgm -vf ${gray}${bliinds}=log_path=- ${to_null} |
        jq -c '.aggregate_metrics, .pooled_metrics.score'
}

# A log is whole when the output has had enough, or the input ends early.
log_end(){
    need jq || return 0
    ffmpeg -lavfi testsrc2=s=64x64,format=yuv420p,${bliinds}=log_path=${tmp}/log -frames:v 3 ${to_null} || return
    jq -r 'if (.frames | length) >= 3 then "3 frames" else . end' ${tmp}/log
    ffmpeg -lavfi testsrc2=s=64x64:d=1,format=yuv420p,${bliinds}=log_path=${tmp}/log,trim=end_frame=2 ${to_null} || return
    jq -r 'if (.frames | length) >= 2 then "2 frames" else . end' ${tmp}/log
    ffmpeg -lavfi testsrc2=s=64x64:d=1,format=yuv420p,trim=end_frame=0,${bliinds}=log_path=${tmp}/log ${to_null}
    jq -c '.frames, .aggregate_metrics' ${tmp}/log
}

# Where ffmpeg rebuilds the graph, the files go on: they are those of one graph.
log_rebuild(){
    need jq || return 0
    i=0
    for picture in rose_70x46 rose_70x46 camera_crop_300x240 flat128_64x64 rose_70x46 camera_crop_300x240; do
        i=$((i + 1))
        cp ${pictures}/${picture}.pgm ${tmp}/${i}.pgm
    done
    for form in json csv xml; do
        options=features=1:log_fmt=${form}:log_path=${tmp}
        ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds=${options}/one.log:f=${tmp}/one.stats:rr_write=${tmp}/one.rr \
            ${to_null} || return
        heard ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}=${options}/many.log:f=${tmp}/many.stats:rr_write=${tmp}/many.rr \
            ${to_null} || return
        for file in log stats rr; do
            for i in one many; do sed '/"\{0,1\}fps/d' ${tmp}/${i}.${file} > ${tmp}/${i}; done
            same "${form} ${file}" ${tmp}/one ${tmp}/many
        done
    done
    messages < ${tmp}/err | grep -v REPLACED | tail -n 4 | sed 's/mean:.* frames/frames/'
    # each loss is known, and what was matched is counted over all
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}=rr_read=${tmp}/one.rr:log_path=${tmp}/log ${to_null} || return
    jq -c '.aggregate_metrics, [.frames[].frameNum]' ${tmp}/log
    # what cannot go on, since time does not, says so
    ffmpeg -i ${tmp}/%d.pgm -vf setpts=N/25/TB,${gray}${bliinds}=log_path=${tmp}/log ${to_null} 2>&1 |
        messages | sed -n "s,${tmp},folder,;/REPLACED/p"
    jq -c '[.frames[].frameNum]' ${tmp}/log
}

# In a host, graphs that come one after the other.
log_hosts(){
    need jq || return 0
    host="run libavfilter/tests/score_log${EXECSUF}"
    for jobs in "0:5:64x64:1 5:5:64x64:1" "0:5:64x64:0 5:5:80x64:0" "0:5:64x64:0 9:5:64x64:1 14:1:64x64:1" \
                "0:5:64x64:1 5:0:64x64:1" "0:5:64x64:1 5:0:64x64:0" \
                "0:5:64x64:1 4:3:64x64:1" "0:5:64x64:1 0:5:64x64:1" "0:0:64x64:1" "0:0:64x64:0"; do
        rm -f ${tmp}/log ${tmp}/stats
        set --
        for job in ${jobs}; do set -- "$@" ${job}:bliinds=log_path=${tmp}/log:f=${tmp}/stats; done
        heard ${host} "$@" > ${tmp}/out || echo "a failure"
        echo "${jobs}:"
        test ! -e ${tmp}/log || jq -c '[.frames[].frameNum], .aggregate_metrics.frames' ${tmp}/log | xargs
        test ! -e ${tmp}/stats || cut -d' ' -f1,2 ${tmp}/stats | xargs
        grep -c REPLACED ${tmp}/err
    done
    # of many filters, what the oldest has left goes
    set --
    for i in $(seq 20); do set -- "$@" 0:1:64x64:1:bliinds=f=${tmp}/${i}; done
    ${host} "$@" 1:1:64x64:1:bliinds=f=${tmp}/1 1:1:64x64:1:bliinds=f=${tmp}/20 > ${tmp}/out || echo "a failure"
    cut -d' ' -f1,2 ${tmp}/1 ${tmp}/20
    # another option is another log
    ${host} 0:1:64x64:1:bliinds=f=${tmp}/1 1:1:64x64:1:bliinds=features=1:f=${tmp}/1 > ${tmp}/out || echo "a failure"
    cut -d' ' -f1,2 ${tmp}/1
    # on standard output, lines go on
    ${host} 0:2:64x64:1:bliinds=f=- 2:2:80x64:1:bliinds=f=- | sed -n 's/ pts_.*//;/^n/p'
}

# A file has one writer, and nobody's file is taken for a temporary one.
log_writers(){
    # more frames than are in flight: the first filter has not closed its file when the second opens its own
    clip="-lavfi testsrc2=s=64x64:d=0.8,format=yuv420p"
    echo mine > ${tmp}/log.tmp
    for files in f=-:log_path=- f=-:log_path=/dev/stdout f=${tmp}/log:log_path=${tmp}/log f=${tmp}/log:rr_write=${tmp}/log \
                 f=${tmp}/new:log_path=${tmp}/./new; do
        fails ${clip},${bliinds}=${files} ${to_null} | sed "s,${tmp},folder,"
    done
    for path in - ${tmp}/log ${tmp}/new; do
        fails ${clip},split[a][b]\;[a]${bliinds}=f=${path}[c]\;[b]${bliinds}=log_path=${path}[d] \
            -map [c] ${to_null} -map [d] ${to_null} | sed "/BLIINDS/d;s,${tmp},folder,"
    done
    ln -s log ${tmp}/link
    fails ${clip},${bliinds}=f=${tmp}/log${download},${bliinds}=f=${tmp}/link ${to_null} | sed "/BLIINDS/d;s,${tmp},folder,"
    ffmpeg ${clip},${bliinds}=f=/dev/null${download},${bliinds}=f=/dev/null:log_path=/dev/null ${to_null} || echo "a failure"
    rm ${tmp}/log
    touch ${tmp}/log
    ffmpeg ${clip},${bliinds}=log_path=${tmp}/link ${to_null} || echo "a failure"
    cat ${tmp}/log.tmp
    ls -F ${tmp} | grep -vx probe | xargs
    same "what a link leads to" ${tmp}/log ${tmp}/link
    # as the user's other files
    umask 022
    ffmpeg ${clip},${bliinds}=log_path=${tmp}/mode ${to_null}
    ls -l ${tmp}/mode | cut -c1-10
}

# In a country with decimal commas, in a host that is at home there; and in one whose
# comma has two bytes.
log_locale(){
    need localedef || return 0
    mkdir ${tmp}/locales
    host="run libavfilter/tests/score_log${EXECSUF}"
    model model "constant 17.25" "weight L1.band3 1.5"
    for locale in C de_DE.UTF-8 ps_AF.UTF-8; do
        if test ${locale} != C && ! localedef -i ${locale%.*} -f UTF-8 ${tmp}/locales/${locale} > ${tmp}/localedef 2>&1 &&
                test ! -d ${tmp}/locales/${locale}; then
            cat ${tmp}/localedef >&2
            skip "cannot make the locale ${locale}; its source is in Debian's package locales"
            return 0
        fi
        for form in json csv xml; do
            LOCPATH=${tmp}/locales LC_ALL=${locale} ${host} \
                0:8:64x64:1:bliinds=features=1:log_path=${tmp}/log:log_fmt=${form}:f=${tmp}/stats,bliinds=model=${tmp}/model \
                > ${tmp}/out 2> ${tmp}/err || echo "a failure"
            cat ${tmp}/err >&2
            messages < ${tmp}/err > ${tmp}/messages
            for file in log stats out messages; do
                sed '/"\{0,1\}fps/d' ${tmp}/${file} > ${tmp}/${file}.${form}.${locale}
                test ${locale} = C || same "${locale} ${form} ${file}" ${tmp}/${file}.${form}.C ${tmp}/${file}.${form}.${locale}
            done
        done
    done
    wc -l < ${tmp}/out.json.C
}

# Memory does not grow with the frames.
log_memory(){ # filter
    test -z "${target_exec}" || { skip "runs under ${target_exec}"; return 0; }
    for frames in 1000 10000; do
        heard ffmpeg -benchmark -v info -lavfi testsrc2=s=44x44:d=$((frames / 25)),format=gray,$1 ${to_null} || return
        sed -n 's/.*maxrss=\([0-9]*\)Ki*B.*/\1/p' ${tmp}/err
    done | xargs | tee -a /dev/stderr | awk '{ print($1 > 0 && $2 < $1 + 2048 ? "the same" : "from " $1 " to " $2 " KiB") }'
}

# Where the arithmetic would not be that of single precision, no filter is built.
log_x87(){
    cc=$(sed -n 's/^CC=//p' ffbuild/config.mak)
    case $(echo '__x86_64__ __clang__' | ${cc} -E -P -x c - 2> /dev/null) in
    1" "__clang__) ;;
    *) skip "not built with gcc for x86_64"; return 0 ;;
    esac
    for header in bliinds_block detailloss_wavelet; do
        for math in sse 387; do
            echo "#include \"${header}.h\"" |
                ${cc} -mfpmath=${math} -fsyntax-only -I${project}/libavfilter -x c - 2>&1 | sed -n 's/.*error: #error/refused:/p'
            echo "${header}, ${math}"
        done
    done
}

log_errors(){
    test -c /dev/full || { skip "no /dev/full"; return 0; }
    clip="-lavfi testsrc2=s=64x64:d=0.4,format=yuv420p"
    echo "an older log" > ${tmp}/log
    for option in stats_file log_path; do
        for path in /dev/full ${tmp}/none/log ${tmp}; do
            fails ${clip},${bliinds}=${option}=${path} ${to_null} | sed "s,${tmp},folder,"
        done
    done
    # an output that ends early
    fails -lavfi testsrc2=s=64x64,format=yuv420p,${bliinds}=log_path=/dev/full -frames:v 2 ${to_null}
    # no file may have more than 4 kB here
    (trap '' XFSZ; ulimit -f 8; ffmpeg ${clip},${bliinds}=features=1:log_path=${tmp}/log ${to_null} 2>&1
     echo "status $?") | tee ${tmp}/err >&2
    messages < ${tmp}/err | sed "s,${tmp},folder,"
    grep -q '^status 0' ${tmp}/err && echo "but no failure"
    cat ${tmp}/log
    ls ${tmp} | grep 'tmp$' && echo "the temporary file is still there"
    fails ${clip},${bliinds}=log_fmt=yaml ${to_null} > /dev/null
}

summary(){
    model seven "constant 7" "weight L3.ori10 0"
    for filters in "" trim=end_frame=1, drawbox=c=black:t=fill, ; do
        ffmpeg -lavfi testsrc2=s=64x64:d=0.2,format=yuv420p,${filters}${bliinds}=model=${tmp}/seven ${to_null} 2>&1 | messages
    done
    # of blurred frames among others, the best by one model and the worst by the other
    model lower "constant 0" "weight L1.band3 10"
    sed s/lower/higher/ ${tmp}/lower > ${tmp}/higher
    for model in lower higher; do
        ffmpeg -lavfi "testsrc2=s=64x64:d=8,format=yuv420p,avgblur=3:enable='between(n,100,147)',${bliinds}=model=${tmp}/${model}" \
            ${to_null} 2>&1 | messages | sed 's/:\([0-9]*\)\.[0-9]*/:\1.N/g'
    done
}
