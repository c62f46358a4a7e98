# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the logs.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- logs ----

clip="-lavfi testsrc2=s=96x80:d=2.4,format=yuv420p,drawbox=c=black:t=fill:enable=eq(n\\,5)"

# A log, but for what is another one in each build and run.
logged(){ # file
    sed '/"fps/d;s/"Lavfi[^"]*"/"LAVFI"/' $1
}

log_json(){
    ffmpeg ${clip},${bliinds}:log_path=${tmp}/log ${to_null} || return
    logged ${tmp}/log
}

# Nothing else may be on stdout, nor a log of a graph that no frame saw.
log_stdout(){
    need jq || return 0
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}:log_path=- ${to_null} | jq -c '.frames | length'
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}:f=- ${to_null} | sed 's/ score.*//'
    # without a valid frame there is nothing to pool
    ffmpeg -i ${pictures}/flat0_64x64.pgm -vf ${gray}${bliinds}:log_path=- ${to_null} |
        jq -c '.aggregate_metrics, .pooled_metrics.score'
    # any number of filters may have it
    ffmpeg ${clip},trim=end_frame=10,${bliinds}:f=-${download},${bliinds}:f=- ${to_null} | grep -c ^n:
}

# A log tells whether the end of the input was seen.
log_end(){
    need jq || return 0
    ffmpeg -lavfi testsrc2=s=64x64,format=yuv420p,${bliinds}:log_path=${tmp}/log -frames:v 3 ${to_null} || return
    jq -r 'if (.frames | length) >= 3 then "3 frames", .eof else . end' ${tmp}/log
    ffmpeg -lavfi testsrc2=s=64x64:d=1,format=yuv420p,${bliinds}:log_path=${tmp}/log,trim=end_frame=2 ${to_null} || return
    jq -r 'if (.frames | length) >= 2 then "2 frames", .eof else . end' ${tmp}/log
    ffmpeg -lavfi testsrc2=s=64x64:d=1,format=yuv420p,trim=end_frame=0,${bliinds}:log_path=${tmp}/log ${to_null}
    jq -c '.frames, .aggregate_metrics, .eof' ${tmp}/log
}

frames_logged(){ # log
    jq -c '[.frames[].frameNum] | [length, .[0], .[-1]]' $1
    jq -c '.aggregate_metrics, .eof' $1
}

# Where ffmpeg rebuilds the graph, the log is continued.
log_rebuild(){
    need jq || return 0
    pictures_of 64x64:12 80x64:20
    graph=${gray}${bliinds}:log_path=${tmp}/log:f=${tmp}/stats${gray_download}
    heard ffmpeg -i ${tmp}/%d.pgm -vf ${graph} ${to_null} || return
    frames_logged ${tmp}/log
    sed 's/ .*//' ${tmp}/stats | xargs
    messages < ${tmp}/err | sed 's/mean:.* frames/frames/'
    # what is pooled is what the lines have
    awk '{ sub(/.*score:/, ""); sum += $1 } END { printf("%.4f\n", sum / NR) }' ${tmp}/stats > ${tmp}/expected
    jq .pooled_metrics.score.mean ${tmp}/log | awk '{ printf("%.4f\n", $1) }' > ${tmp}/got
    same "the mean over both sizes" ${tmp}/expected ${tmp}/got
    # each file alone; a change of the format; two filters
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:f=${tmp}/one${gray_download},${gray}${bliinds}:log_path=${tmp}/two${gray_download} ${to_null} || return
    wc -l < ${tmp}/one
    frames_logged ${tmp}/two
    ffmpeg -lavfi testsrc2=s=64x64 -frames:v 5 -pix_fmt rgb24 ${tmp}/rgb%d.ppm
    cat ${tmp}/30.pgm ${tmp}/31.pgm ${tmp}/rgb1.ppm ${tmp}/rgb2.ppm |
        ffmpeg -f image2pipe -c:v ppm -i pipe:0 -vf scale,format=gray,${gray}${bliinds}:f=${tmp}/one${gray_download} ${to_null} || return
    wc -l < ${tmp}/one
    # the log of an earlier run is no beginning
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:f=${tmp}/one -frames:v 4 ${to_null}
    grep -c ^n:1 ${tmp}/one
    # standard output is one log, too
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:f=-${gray_download} ${to_null} | sed -n 's/ .*//;11,14p' | xargs
}

# However a run ends at a rebuild or after it: the files are valid, and there is one summary.
log_reinit(){
    need jq || return 0
    pictures_of 64x64:6 80x64:6
    log="log_path=${tmp}/log:f=${tmp}/stats"
    reinit(){ # name, arguments of ffmpeg
        name=$1
        shift
        heard ffmpeg -v info "$@" > ${tmp}/out && result="done" || result=failed
        echo "${name}: ${result}, $(jq '.frames | length' ${tmp}/log) in JSON, $(wc -l < ${tmp}/stats) lines," \
            "$(jq .pooled_metrics.score.mean ${tmp}/log | wc -l) mean, $(grep -c ' BLIINDS .* frames:' ${tmp}/err) summary"
    }
    for frames in 5 6 7; do
        reinit "ends after ${frames}" -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:${log}${gray_download} -frames:v ${frames} ${to_null} |
            awk '{ print($0 ~ /done, ([0-9]+) in JSON.* 1 mean, 1 summary/ ? "one log" : $0) }'
    done
    reinit "the new graph has no frames" -i ${tmp}/%d.pgm -vf "select=lt(n\,6)*lt(iw\,80),${gray}${bliinds}:${log}${gray_download}" ${to_null}
    reinit "the new graph cannot be configured" -i ${tmp}/%d.pgm -vf "${gray}${bliinds}:${log}${gray_download},crop=64-(iw-64)*9:64" ${to_null}
    # SIGINT
    rm -f ${tmp}/log ${tmp}/stats
    ${target_path}/ffmpeg${PROGSUF}${EXECSUF} -v info -nostdin -re -loop 1 -t 60 -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:${log}${gray_download} ${to_null} 2> ${tmp}/err &
    for _ in $(seq 100); do
        sleep .1
        test ! -e ${tmp}/stats || test $(wc -l < ${tmp}/stats) -lt 8 || break
    done
    kill -INT $!
    wait $!
    echo "SIGINT: $(jq '.frames | length >= 8' ${tmp}/log), $(grep -c ' BLIINDS .* frames:' ${tmp}/err) summary"
    # two graphs at once, without files, too
    ffmpeg -v info -i ${tmp}/%d.pgm -vf ${gray}${bliinds}${gray_download} ${to_null} -vf ${gray}${bliinds}${gray_download} ${to_null} 2>&1 |
        grep -c ' BLIINDS .* frames:12 '
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:log_path=${tmp}/one${gray_download} ${to_null} -vf ${gray}${bliinds}:log_path=${tmp}/two${gray_download} ${to_null}
    jq -c '.frames | length' ${tmp}/one ${tmp}/two | xargs
    # files without a way back
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:log_path=-${gray_download} ${to_null} | jq -c '[(.frames | length), .aggregate_metrics.frames, .eof]'
    mkfifo ${tmp}/fifo
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}:log_path=${tmp}/fifo${gray_download} ${to_null} &
    jq -c '[(.frames | length), .aggregate_metrics.frames, .eof]' < ${tmp}/fifo
    wait $!
}

# No file has two writers, no old log outlives a run that fails, and commands are no options.
log_owner(){
    clip="-lavfi testsrc2=s=64x64:d=0.2,format=yuv420p"
    touch ${tmp}/log
    ln -s log ${tmp}/link
    for filters in log_path=${tmp}/log:f=${tmp}/log log_path=${tmp}/log:f=${tmp}/./log f=${tmp}/log${download},${bliinds}:f=${tmp}/link; do
        fails ${clip},${bliinds}:${filters} ${to_null} | sed 's/Parsed_.*/a filter/'
    done
    ffmpeg ${clip},${bliinds}:f=/dev/null${download},${bliinds}:f=/dev/null ${to_null} && echo "any number to /dev/null"
    echo old > ${tmp}/log
    fails ${clip},${bliinds}:log_path=${tmp}/log${download},crop=99 ${to_null} > ${tmp}/messages
    wc -c < ${tmp}/log
    fails ${clip},${bliinds}:hand_over=1 ${to_null} > ${tmp}/messages
    grep -c "option 'hand_over'" ${tmp}/err
    ffmpeg -h filter=bliinds | grep hand_over || echo "no option"
}

# So are those of pairs, of which vmaf names its values when it knows their size.
pair_rebuild(){ # filter
    need jq || return 0
    pictures_of 240x180:3 320x240:4
    ffmpeg -i ${tmp}/%d.pgm -lavfi "[0]scale=240:180,format=yuv420p,split[a][b];[a]gblur=2[a];[a][b]$1=f=${tmp}/stats:log_path=${tmp}/log" ${to_null} || return
    awk '{ sub(/.* score:/, ""); sum += $1 } END { printf("%d frames, mean %.4f\n", NR, sum / NR) }' ${tmp}/stats > ${tmp}/expected
    jq '(.frames | length), [.pooled_metrics[].mean][0]' ${tmp}/log | xargs printf '%d frames, mean %.4f\n' > ${tmp}/got
    same "pairs of both sizes" ${tmp}/expected ${tmp}/got
}

# Two inputs whose size changes at the same frame: ffmpeg rebuilds the graph for each of them, at any
# time, while frames of the other one are on their way. Every frame comes out, and is compared with its
# own; on a GPU, those that wait at a rebuild are counted as unpaired.
inputs_rebuild(){ # filter perfect-score [before-it behind-it]
    pictures_of 72x64:9 96x80:9
    gpu=${3:+-init_hw_device cuda}
    for pts in "" "" setpts=PTS-STARTPTS, setpts=PTS-STARTPTS,; do
        heard ffmpeg ${gpu} -i ${tmp}/%d.pgm -i ${tmp}/%d.pgm -lavfi \
            "[0]${pts}scale=72:64,format=yuv444p$3[a];[1]${pts}scale=72:64,format=yuv444p$3[b];[a][b]$1=f=${tmp}/stats$4" -f framecrc - |
            grep -c '^0,'
        pairs=$(grep -c "^n:.* $2" ${tmp}/stats)
        unpaired=$(sed -n 's/.*Unpaired frames: \([0-9]*\) of.*/\1/p' ${tmp}/err)
        echo ${pairs} + ${unpaired:-0} unpaired
        test -z "$3" || test $((pairs + ${unpaired:-0})) != 18 || echo "all are compared, or counted"
    done | sed "${3:+/unpaired/d}" | sort | uniq
}

# In a host: graphs that come one after the other are logs of their own, the last of which stays.
# One that hands over is continued in the next; END 2 stands for that.
log_hosts(){
    need jq || return 0
    host="run libavfilter/tests/filter_matrix${EXECSUF} host"
    for jobs in "0:5:64x64:1 5:5:64x64:1" "0:5:64x64:0 5:5:80x64:0" "0:5:64x64:2 5:5:80x64:1" "0:5:64x64:2 0:5:64x64:2 9:1:16x16:1" \
                "0:5:64x64:2" "0:5:64x64:2 5:0:64x64:1" "0:5:64x64:2 5:0:64x64:0" "0:0:64x64:2 0:3:64x64:1" "0:0:64x64:1" "0:0:64x64:0"; do
        rm -f ${tmp}/log ${tmp}/stats
        set --
        for job in ${jobs}; do set -- "$@" ${job}:bliinds=model=vmaf1_est5:log_path=${tmp}/log:f=${tmp}/stats; done
        heard ${host} "$@" > ${tmp}/out || echo "a failure"
        echo "${jobs}:"
        jq -c '[.frames[].frameNum], .aggregate_metrics.frames, .eof' ${tmp}/log 2> /dev/null | xargs
        cut -d' ' -f1,2 ${tmp}/stats | sed 's/ pid.*//' | xargs
        messages < ${tmp}/err | sed 's/mean:.*frames/frames/'
    done
}

# In a country with decimal commas, in a host that is at home there; and in one whose
# comma has two bytes.
log_locale(){
    need localedef || return 0
    mkdir ${tmp}/locales
    model model "constant 17.25" "weight L1.band3 1.5"
    graph=bliinds=model=vmaf1_est5:features=1:log_path=${tmp}/log:f=${tmp}/stats,bliinds=model=${tmp}/model
    for locale in C de_DE.UTF-8 ps_AF.UTF-8; do
        made=${tmp}/locales/${locale}
        test ${locale} = C || localedef -i ${locale%.*} -f UTF-8 ${made} > ${tmp}/out 2>&1 ||
            test -d ${made} || {
            skip "cannot make the locale ${locale}; its source is in Debian's package locales"
            return 0
        }
        LOCPATH=${tmp}/locales LC_ALL=${locale} heard run libavfilter/tests/filter_matrix${EXECSUF} host \
            0:8:64x64:2:${graph} 8:8:64x64:1:${graph} > ${tmp}/out || echo "a failure"
        sed '/"fps/d' ${tmp}/log ${tmp}/stats ${tmp}/out > ${tmp}/${locale}
        messages < ${tmp}/err >> ${tmp}/${locale}
        same ${locale} ${tmp}/C ${tmp}/${locale}
    done
    wc -l < ${tmp}/out
}

# Memory does not grow with the frames.
log_memory(){ # filter size frames...
    case ${target_exec} in
    "" | timeout*) ;;
    *) skip "runs under ${target_exec}"; return 0 ;;
    esac
    for frames in $3 $4; do
        heard ffmpeg -benchmark -v info -lavfi testsrc2=s=$2:d=$((frames / 25)),format=yuv420p,$1 ${to_null} || return
        sed -n 's/.*maxrss=\([0-9]*\)Ki*B.*/\1/p' ${tmp}/err
    done | xargs | tee -a /dev/stderr | awk '{ print($1 > 0 && $2 < $1 + 2048 ? "all the same" : "from " $1 " to " $2 " KiB") }'
}

# Where the arithmetic of a header would not be that of single precision, no filter is built.
x87(){
    cc=$(sed -n 's/^CC=//p' ffbuild/config.mak)
    case $(echo '__x86_64__ __clang__' | ${cc} -E -P -x c - 2> /dev/null) in
    1" "__clang__) ;;
    *) skip "not built with gcc for x86_64"; return 0 ;;
    esac
    echo "#include \"$1.h\"" > ${tmp}/x87.c
    for math in sse 387; do
        ${cc} -mfpmath=${math} -fsyntax-only -I${project}/libavfilter ${tmp}/x87.c 2> ${tmp}/err
        echo "${math} $(grep -c 'error: #error.*mfpmath=sse' ${tmp}/err)"
    done
}

log_errors(){
    test -c /dev/full || { skip "no /dev/full"; return 0; }
    clip="-lavfi testsrc2=s=64x64:d=0.4,format=yuv420p"
    for option in stats_file log_path; do
        for path in /dev/full ${tmp}/none/log ${tmp}; do
            fails ${clip},${bliinds}:${option}=${path} ${to_null}
        done
    done
    # an output that ends early
    fails -lavfi testsrc2=s=64x64,format=yuv420p,${bliinds}:log_path=/dev/full -frames:v 2 ${to_null}
    # no file may have more than 4 kB here
    (trap '' XFSZ; ulimit -f 8
     ffmpeg ${clip},${bliinds}:features=1:log_path=${tmp}/log ${to_null} 2>&1 &&
         echo "[Parsed_${parsed}] status 0") | tee ${tmp}/err >&2
    messages < ${tmp}/err
}

summary(){
    model seven "constant 7" "weight L3.ori10 0"
    for filters in "" trim=end_frame=1, drawbox=c=black:t=fill, ; do
        ffmpeg -lavfi testsrc2=s=64x64:d=0.2,format=yuv420p,${filters}${bliinds}:model=${tmp}/seven ${to_null} 2>&1 | messages
    done
}
