# shellcheck shell=sh disable=SC2010,SC2015,SC2016,SC2034,SC2046,SC2086,SC2154,SC2317
# Tests of ffcrf, for tests/fate/ffcrf.mak: they come after tests/filters/common.sh. What encoders make
# differs from version to version, so they print what must be so for any.
# SPDX-License-Identifier: LGPL-2.1-or-later

# by AVX-512, x264 164 reads memory that it has not set: it is the same in all programs
export MALLOC_PERTURB_=85
export FFCRF_CACHE=${tmp}/cache
name=ffcrf
program=${target_path}/${name}
tools=${base}/../tools
in=${tmp}/in.mkv
out=${tmp}/out.mkv
fast="-c:v libx264 -preset ultrafast --max-encoded-percent 100000"
json=${tmp}/json

# Puts ffcrf into a folder, with a stand-in for ffmpeg that comes from standard input.
stand_in(){
    mkdir -p ${tmp}/bin
    ln -sf "$(readlink -f ${program})" ${tmp}/bin/ffcrf
    ln -sf "$(readlink -f ${target_path}/ffprobe${PROGSUF}${EXECSUF})" ${tmp}/bin/ffprobe
    install -m 755 /dev/stdin ${tmp}/bin/ffmpeg
}

# Runs ffcrf, with its standard output in ${tmp}/out and its messages in ${tmp}/err.
ffcrf() { heard run ${name} "$@" > ${tmp}/out < /dev/null; }

# The same with --json, whose lines have to be JSON.
has_json(){
    ffcrf "$@" --json
    jq -c . ${tmp}/out > ${json} || echo "no JSON"
    return ${status}
}

found() { has_json "$@" || echo "status $?"; }
ff() { run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y "$@"; }
of_type() { jq -r "select(.type == \"$1\") | $2" ${json}; }
sample() { of_type sample-encode-done "$1"; }
done_() { of_type crf-search-done "$1"; }
whole() { of_type verify-done "$1"; }

yes_if(){ # what condition-in-awk
    awk "BEGIN { print \"$1: \" (($2) ? \"yes\" : \"NO, $2\") }"
}

# A camera that goes over a photograph.
clip(){ # seconds [size]
    ff -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t $1 \
        -vf crop=${2:-192:144}:x=2*n:y=n,format=yuv420p -c:v libx264 -preset ultrafast -qp 4 ${in}
}

# Runs the cases of a test, which are in its reference: of lines with a |, what is before the last
# colon. The last field has the options; a function tells more than the status.
each_case(){ # ffcrf|has_json function [options]
    sed -n '/|/s/: [^:]*$//p' ${ref} > ${tmp}/cases
    while IFS= read -r case; do
        eval "$1 $3 ${case##*|}"
        echo "${case}: status ${status}$($2 "${case%|*}")"
    done < ${tmp}/cases
}

# Each picture of an encode meets the picture of the source that has its number: their similarity
# says so, of the sample and of the whole. The numbers are those that there have to be.
crf_pairs(){
    # a column for each bit of the number
    ff -f lavfi -i nullsrc=size=192x128:rate=25 -frames:v 60 -c:v ffv1 \
        -vf "geq='if(mod(floor(N/pow(2,floor(X/24))),2),200,40)':128:128,format=yuv420p" ${in}
    all=$(seq 0 59)
    # every third and every seventh picture
    some=$(for n in ${all}; do test $((n % 3)) -gt 0 && test $((n % 7)) -gt 0 || echo ${n}; done)
    ff -i ${in} -vf "select='not(mod(n,3))+not(mod(n,7))',settb=1001/90000,setpts=PTS+mod(N*N\,3)" -fps_mode passthrough \
        -enc_time_base filter -c:v ffv1 ${tmp}/vfr.nut
    # the size changes, and the format
    for n in 0:192:128 20:96:64,format=yuv444p 40:192:128; do
        ff -i ${in} -vf trim=start_frame=${n%%:*}:end_frame=$((${n%%:*} + 20)),scale=${n#*:} \
            -c:v libx264 -preset ultrafast -qp 4 -f h264 -
    done > ${tmp}/change.264
    pair() { # name|numbers
        echo ", $(jq -r 'select(.score > 0.97).type' ${json} | paste -sd' ')"
        ff -i ${out} -map 0:v -fps_mode passthrough -vf scale=8:1:flags=area,format=gray \
            -f rawvideo - | od -An -v -w8 -tu1 |
            awk '{ n = 0; for (i = 8; i; i--) n = 2 * n + ($i > 120); print n }' > ${tmp}/numbers
        eval "printf '%s\n' ${1#*|}" | cmp -s - ${tmp}/numbers || paste -sd' ' ${tmp}/numbers
        yes_if "as long as predicted" "($(done_ .predicted_encode_size) - $(whole .size)) ^ 2 < 64"
    }
    each_case has_json pair "${fast} --crf 8 --target-ssim 0.9 --pool p1 --score-every 1 \
        --cache false --encode ${out} -y"
    # that this is seen: pictures that are off by one
    ff -i ${in} -vf "loop=1:1:0" -frames:v 60 -c:v ffv1 ${tmp}/late.mkv
    has_json -i ${in} --verify ${tmp}/late.mkv --target-ssim 0.9 --score-every 1
    yes_if "off by one is seen" "$(whole .score) < 0.9 && ${status} == 1"
    # numbers of frames that differ end in an error that names both
    for n in 50 54 60 200; do
        ff -stream_loop -1 -i ${in} -frames:v ${n} -c:v libx264 -preset ultrafast ${tmp}/${n}.mkv
    done
    numbers() { echo ", $(of_type error .message | grep -o '[0-9]* frames' | paste -sd' ')"; }
    for n in "50 54" "54 50" "50 60" "60 50" "50 200" "200 50" "50 50 -vf bwdif=1" "60 50 --reference-vfilter null"; do
        set -- ${n}
        source=$1 encode=$2
        shift 2
        has_json -i ${tmp}/${source}.mkv --verify ${tmp}/${encode}.mkv --target-ssim 0.9 "$@"
        echo "source and encode ${n}: status ${status}$(numbers)"
    done
    for n in bwdif=1 fps=5 trim=end_frame=30; do
        has_json -i ${tmp}/50.mkv -c:v libx264 --crf 30 --metric ssim -vf ${n} --reference-vfilter null
        echo "-vf ${n}: status ${status}, $(of_type error .message | grep -o '[0-9][0-9]*' | paste -sd' ')"
    done
    # an encoder that leaves frames out
    has_json -i ${in} ${fast} --crf 8 --target-ssim 0.1 --cache false -bsf:v noise=drop='eq(n\,30)'
    echo "a packet less: status ${status}, $(of_type error '.message | test("60 frames") and test("59")')"
}

# Errors that only a file, an encoder or a muxer shows: the reference has the cases, with a word of
# the message. tests/tools/test_ffcrf.py has those of the command line.
crf_refusals(){
    clip 0.4
    good="-i ${in} ${fast} --target-ssim 0.9"
    export CUDA_VISIBLE_DEVICES=-1
    says() { grep -q -e "$1" ${tmp}/err || echo ", BUT DOES NOT SAY SO"; }
    each_case ffcrf says
    for gpu in "--gpu off" ""; do
        ffcrf ${good} ${gpu} && ! grep -e ' GPU ' -e '--gpu' ${tmp}/err || echo "${gpu}: it is told"
    done
    ffcrf -i ${in} -c:v "x; touch ${tmp}/hole" -x "; touch ${tmp}/hole" -vf "; touch ${tmp}/hole"
    ls ${tmp}/hole 2> /dev/null
    test ! -c /dev/full || { run ${name} ${good} > /dev/full; echo "full output: status $?"; }
}

# The highest CRF that reaches the target, and the command that makes its encode.
crf_search(){ # encoder [most encodes]
    clip 1 320:240
    for target in vmaf=90=1 ssim=0.95=0.002; do
        metric=${target%%=*} tolerance=${target##*=}
        target=${target#*=} target=${target%=*}
        found -i ${in} $1 --max-encoded-percent 1000 --target-${metric} ${target} --score-every 1
        yes_if "${metric}: reached" "$(done_ .score) >= ${target}"
        test $# -gt 1 ||    # whole CRFs are too coarse
        yes_if "${metric}: within the tolerance" "($(done_ .score) - ${target}) ^ 2 <= ${tolerance} ^ 2"
        yes_if "${metric}: few encodes" "$(sample .crf | wc -l) <= ${2:-5}"
        next=$(done_ '.crf + 1') bytes=$(done_ .predicted_encode_size) score=$(done_ .score)
        command=$(done_ .command)
        (eval "${command} -v error -y") < /dev/null
        made=${command##* }
        has_json -i ${in} --verify "${made}" --target-${metric} 0 --score-every 1
        yes_if "${metric}: made as predicted" "$(whole .score) == ${score} && ($(whole .size) - ${bytes}) ^ 2 <= 10000"
    done
    has_json -i ${in} $1 --max-encoded-percent 1000 --target-ssim 0.95 --score-every 1 --crf ${next}
    echo "the next whole CRF: status ${status}"
}

# What was found is found again, unless anything is another.
crf_cache(){
    clip 0.4
    search="-i ${in} ${fast} --target-ssim 0.95 --min-crf 30"
    cached() { echo ", $(sample .from_cache | sort -u | paste -sd' ')"; }
    kept() { # name
        done_ . > "${tmp}/$1"
        cached
    }
    each_case has_json kept "${search}"
    same "found again" ${tmp}/first ${tmp}/again
    ff -i ${in} -c:v libx264 -preset ultrafast -qp 5 ${out}
    mv ${out} ${in}
    has_json ${search}
    echo "other contents$(cached)"
    for damage in "truncate -s -3" "truncate -s 0" "echo junk | tee" "sed -i 1d" "sed -i s/nb_frames/nb_frame/" 'sed -i "s/\[0/[1/"'; do
        eval "${damage} $(find ${tmp}/cache -type f | paste -sd' ')" > /dev/null
        has_json ${search}
        echo "${damage}$(cached)"
    done
    # each part of the key, and that nothing else is in it
    mkdir ${tmp}/bin ${tmp}/lib
    for n in $(ls ${tools} | grep -E '^(ffcrf|quality_)'); do cp ${tools}/${n} ${tmp}/bin; done
    ln -s "$(readlink -f ${target_path}/ffprobe${PROGSUF}${EXECSUF})" ${tmp}/bin/ffprobe
    real=$(command -v ${target_path}/ffmpeg${PROGSUF}${EXECSUF})
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(readlink -f ${real})" | install -m 755 /dev/stdin ${tmp}/bin/ffmpeg
    printf '0 I 20\n' > "${tmp}/qp file"
    for n in testsrc2 mandelbrot; do
        ff -f lavfi -i ${n}=s=192x144:r=25 -frames:v 10 -pix_fmt yuv420p -f yuv4mpegpipe ${tmp}/${n}
        touch -d @1 ${tmp}/${n}
    done
    key() { # name
        status=0
        ${tmp}/bin/ffcrf -i ${tmp}/raw.y4m ${fast} --metric ssim --crf 30 -x264-params "qpfile=${tmp}/qp file" --json \
            > ${tmp}/out 2> ${tmp}/err < /dev/null || status=$?
        jq -c . ${tmp}/out > ${json}
        echo "$1: status ${status}$(cached)"
    }
    raw() { cat ${tmp}/$1 > ${tmp}/raw.y4m; touch -d @${2:-1} ${tmp}/raw.y4m; }
    raw testsrc2
    key "key"
    key "the same"
    raw mandelbrot
    key "packets of other data"
    raw mandelbrot 2
    key "time of the source"
    printf '0 I 21\n' > "${tmp}/qp file"
    key "file that an option names"
    printf '#!/bin/sh\nexec  "%s" "$@"\n' "$(readlink -f ${real})" > ${tmp}/bin/ffmpeg
    key "ffmpeg"
    cp ${tools}/ffcrf ${tmp}/bin/new && mv ${tmp}/bin/new ${tmp}/bin/ffcrf
    key "ffcrf"
    echo >> ${tmp}/bin/ffcrf_search.py
    key "its modules"
    key "the same"
    # without a wrapper, whose libraries are those of the shell
    ln -sf "$(readlink -f ${real})" ${tmp}/bin/ffmpeg
    key "ffmpeg itself"
    library=$(ldd "$(readlink -f ${real})" | sed -n 's/.*=> \([^ ]*libx264[^ ]*\).*/\1/p')
    cp "${library:-${in}}" ${tmp}/lib/
    LD_LIBRARY_PATH=${tmp}/lib key "library of the encoder"
    key "the same"
    (unset HOME XDG_CACHE_HOME FFCRF_CACHE; key "no home")
    grep -c 'HOME is not set' ${tmp}/err
    (unset FFCRF_CACHE XDG_CACHE_HOME; HOME=${tmp}/home key "a new home")
    find ${tmp}/home -type f | sed "s,${tmp}/,,; s,[^/]*$,,"
    FFCRF_CACHE=/dev/null/cache has_json ${search}
    echo "no folder$(cached)"
    # no file may have more than a block: the cache is full, and the search goes on
    rm -r ${tmp}/cache
    (trap '' XFSZ; ulimit -f 0; run ${name} ${search} | cat; exit) > /dev/null 2>&1
    find ${tmp}/cache -type f
    (trap '' XFSZ; ulimit -f 8; run ${name} ${search} --encode ${out}) > /dev/null 2>&1
    echo "full disk of the encode: status $?"
    find ${tmp} -name 'out.*'
}

until_so(){ # condition
    timeout 60 sh -c "until $1; do sleep 0.05; done" || echo "never: $1"
}

# Ends the ffcrf in the background when something is so, and waits until no ffmpeg is left.
interrupt(){ # signal condition
    encodes="pgrep -f '[f]fmpeg.*${in}' > /dev/null"
    until_so "$2 && ${encodes}"
    kill -$1 $!
    until_so "! ${encodes}"
    wait $! 2> /dev/null
    echo "$1: status $?"
}

# Interrupted at any moment, no ffmpeg outlives it; it goes on where it was, and finds the same.
# A filter keeps the encoder waiting, so that none is at its end before it is interrupted.
crf_resume(){
    need pgrep timeout || return 0
    clip 4
    search="-i ${in} ${fast} -vf realtime=speed=2 --target-ssim 0.95 --tolerance 0 --json"
    search="${search} --samples 3 --sample-duration 1s"
    without_time='select(.type == "crf-search-done") | del(.predicted_encode_seconds)'
    has_json ${search}
    jq -c "${without_time}" ${json} > ${tmp}/first
    nb=$(sample .crf | wc -l)
    rm -r ${tmp}/cache
    for step in 2-INT 4-KILL 6-TERM; do
        env --default-signal=INT ${program} ${search} >> ${tmp}/runs 2> ${tmp}/err &
        interrupt ${step#*-} "test \$(ls ${tmp}/cache 2> /dev/null | grep -vc tmp) -ge ${step%-*}"
    done
    ${program} ${search} >> ${tmp}/runs 2> ${tmp}/err || echo "status $?"
    jq -Rc "fromjson? | ${without_time}" ${tmp}/runs > ${tmp}/again
    same "found" ${tmp}/first ${tmp}/again
    jq -Rc 'fromjson?|select(.from_cache == false)|[.sample,.crf]' ${tmp}/runs | sort > ${tmp}/made
    yes_if "measured once" "$(wc -l < ${tmp}/made) == $(uniq ${tmp}/made | wc -l) && $(wc -l < ${tmp}/made) >= ${nb} - 3"
    # while it makes the whole, which takes 130 s; other files of such names stay
    echo precious > ${tmp}/out.part.mkv
    for signal in INT HUP KILL; do
        env --default-signal=INT,HUP ${program} -i ${in} ${fast} -vf realtime=speed=0.03 --metric ssim \
            --crf 30 --samples 1 --sample-duration 80ms --encode ${out} > ${tmp}/messages${signal} 2>&1 &
        interrupt ${signal} "test -e ${tmp}/out.mkv.*.part.mkv && grep -q nostdin ${tmp}/messages${signal}"
        echo "$(ls ${tmp} | grep -c '^out\.mkv') files of the output"
    done
    cat ${tmp}/out.part.mkv
    # two runs to one output: the first one to end has it, the other one keeps its encode
    for crf in 20 40; do
        ${program} -i ${in} ${fast} -vf realtime=speed=2 --metric ssim --crf ${crf} --encode ${tmp}/two.mkv > ${tmp}/two${crf} 2>&1 &
    done
    wait
    echo "$(ls ${tmp} | grep -c '^two\.mkv') files of two runs, $(grep -l 'finished encode' ${tmp}/two20 ${tmp}/two40 | wc -l) reported"
}

# The file of --encode is that of the printed command, for any name, and with side data.
crf_output(){
    ff -f lavfi -i testsrc2=s=64x64:r=25 -frames:v 5 -c:v ffv1 ${tmp}/five.mkv
    facts() { run ffprobe${PROGSUF}${EXECSUF} -v error -show_streams -show_format -show_packets -show_data_hash md5 "$1" | grep -v '^filename='; }
    target_path=$(readlink -f ${target_path})
    both() { # name [options]
        file=$1
        shift
        rm -rf ${tmp}/o
        mkdir ${tmp}/o
        (cd ${tmp} && ${target_path}/${name} -i "${file}" --encode "o/${file}" ${fast} --crf 30 --metric ssim --gpu off --cache false --json "$@" > out 2> err < /dev/null) ||
            echo "status $?: $(cat ${tmp}/err)"
        facts "${tmp}/o/${file}" > ${tmp}/first
        mv "${tmp}/o/${file}" ${tmp}/encode.mkv
        (cd ${tmp} && eval "$(jq -r 'select(.type == "crf-search-done").command' out) -v error" < /dev/null)
        facts "${tmp}/o/${file}" > ${tmp}/second
        LC_ALL=C grep -q "$(printf '[\001-\010\013-\037]')" ${tmp}/out ${tmp}/err && echo "escapes are printed"
        cmp ${tmp}/first ${tmp}/second > ${tmp}/differ || { echo "${file} differs"; diff ${tmp}/first ${tmp}/second | head -n 5; }
    }
    nb=0
    while IFS= read -r case; do
        file=$(printf %b "${case}.mkv")
        cp ${tmp}/five.mkv "${tmp}/${file}"
        both "${file}"
        nb=$((nb + 1))
        rm -- "${tmp}/${file}"
    done << 'END'
-dash
new\nline\n
sp  ace it\047s \047\047\047 "quoted" 100% %03d
[0:v] back\\slash \377\376 \303\244
esc\033]0;x\007\302\2331m\ttab
http:x
concat:a|b
$(touch hole)`touch hole`$HOME*?~#a;touch hole;b&c>d<e{a,b}=!

END
    # given back, the last command with a prefix names the same files
    cp ${tmp}/five.mkv ${tmp}/a:b.mkv
    both a:b.mkv
    (cd ${tmp} && eval "${target_path}/${name} $(jq -r 'select(.type == "crf-search-done").command' out | sed 's/^[^ ]* //') --metric ssim -y" > given 2> err < /dev/null) ||
        cat ${tmp}/err
    ls ${tmp}/o
    echo "${nb} names$(ls ${tmp}/hole 2> /dev/null)"
    # side data, times, rotation and cropping
    ff -f lavfi -i testsrc2=s=96x64:r=25 -frames:v 12 -vf setparams=color_trc=bt709 -c:v libx264 -preset ultrafast ${tmp}/plain.mp4
    ff -display_rotation 90 -i ${tmp}/plain.mp4 -c copy ${tmp}/rotated.mp4
    ff -i ${tmp}/plain.mp4 -vf crop=90:58 -c:v libx264 -preset ultrafast ${tmp}/cropped.mp4
    ff -i ${tmp}/plain.mp4 -vf "select=mod(n\,3),setpts=PTS+mod(N\,2)*100" -fps_mode passthrough -enc_time_base filter -c:v libx264 ${tmp}/vfr.mkv
    ff -i ${tmp}/plain.mp4 -vf format=yuv420p10,setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc \
        -c:v libx265 -preset ultrafast -x265-params "log-level=error:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,1):max-cll=1000,400" ${tmp}/hdr.mkv
    for n in rotated.mp4 cropped.mp4 vfr.mkv; do
        both ${n}
        run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=width,height,nb_read_packets -count_packets -of csv=p=0 ${tmp}/o/${n}
    done
    both hdr.mkv -c:v libx265 -x265-params log-level=error
    grep -c 'max_content=1000\|max_luminance=10000000/10000' ${tmp}/first
    # an HDR encode of SDR, and containers that do not take the codec
    has_json -i ${tmp}/plain.mp4 --verify ${tmp}/hdr.mkv --metric ssim --target 0.5
    echo "HDR and SDR: status ${status}, $(grep -c 'scale=out_transfer=smpte2084' ${tmp}/err)"
}

# All that is written is JSON, whatever the names, the order of options, and how it ends.
crf_json(){
    clip 0.4
    file=${tmp}/$(printf 'a"b\\c d\te\303\244\377.mkv')
    mv ${in} "${file}"
    types() { echo ", $(jq -r .type ${json} | uniq | paste -sd' ')"; }
    each_case has_json types '-i "${file}" ${fast} --target-ssim 0.9'
    iconv -f UTF-8 -t UTF-8 ${tmp}/out | cmp - ${tmp}/out && echo UTF-8
    has_json -i "${file}" ${fast} --target-ssim 0.9
    sample 'keys_unsorted | join(" ")' | uniq
    done_ 'keys_unsorted | join(" ")'
    grep -o '"size": [0-9]*[^0-9,]' ${tmp}/out || echo "whole sizes"
}

# All streams are kept, with what is known of them.
crf_streams(){
    printf ';FFMETADATA1\ntitle=a title\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\ntitle=one\n' > ${tmp}/meta
    printf '1\n00:00:00,100 --> 00:00:01,000\nwords\n\n' > ${tmp}/words.srt
    clip 0.5
    mv ${in} ${tmp}/plain.mkv
    ff -i ${tmp}/plain.mkv -f lavfi -i sine=d=0.5 -f lavfi -i sine=300:d=0.5 -i ${tmp}/words.srt -i ${tmp}/meta -map 1 -map 0 -map 2 -map 3 \
        -map_metadata 4 -map_chapters 4 -metadata:s:a:1 language=deu -metadata:s:v language=fra -disposition:a:1 default -attach ${tmp}/meta \
        -metadata:s:t:0 mimetype=application/x-truetype-font -disposition:v default -c:v ffv1 \
        -vf format=yuv420p10,setparams=color_primaries=bt2020:color_trc=smpte2084:colorspace=bt2020nc -c:a pcm_s16le -c:s copy ${in}
    good="-i ${in} ${fast} --target-ssim 0.9 --score-every 1"
    shown() {
        run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,codec_name,pix_fmt,color_transfer:stream_disposition=default:stream_tags=language,filename:format_tags=title:chapter_tags=title \
            -of compact=nk=1 $1 | grep .
    }
    found ${good} --encode ${out}
    done_ .command > ${tmp}/command
    whole '"reached: \(.reached), frames: \(.frames)"'
    shown ${out}
    for n in ${in} ${out}; do ff -i ${n} -map 0:a -map 0:s -c copy -f framecrc ${n}.crc; done
    same "other streams" ${in}.crc ${out}.crc
    # the command makes the same, and can be given back
    ff -i ${out} -map 0:v -c copy -f framecrc ${tmp}/1.crc
    rm ${out}
    (eval "$(cat ${tmp}/command) -v error") < /dev/null
    ff -i ${out} -map 0:v -c copy -f framecrc ${tmp}/2.crc
    same "its command" ${tmp}/1.crc ${tmp}/2.crc
    eval "found $(sed 's/^[^ ]* //' ${tmp}/command) -y --metric ssim --score-every 1"
    yes_if "given back" "$(sample .crf | wc -l) == 1 && $(whole .frames) == 13"
    ff -i ${out} -map 0:v -c copy -f framecrc ${tmp}/2.crc
    same "its encode" ${tmp}/1.crc ${tmp}/2.crc
    # sound of a part begins with it
    found -i ${in} ${fast} --metric ssim --crf 30 -ss 200ms --encode ${out} -y
    run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,start_time -of csv ${out}
    # to a format that has not all of it
    found ${good} --encode ${tmp}/out.mp4 -c:a aac -pix_fmt:v yuv420p
    shown ${tmp}/out.mp4
    grep -c 'left out' ${tmp}/err
    found ${good} --encode ${out} -y --video-only
    shown ${out}
}

# Where samples are, how many, and what is made of their scores.
crf_samples(){
    clip 4
    laid() { echo ", $(sample '"\(.start) \(.frames) \(.scored_frames)"' | paste -sd';')"; }
    each_case has_json laid "-i ${in} ${fast} --metric ssim --crf 30"
    search="-i ${in} ${fast} --metric ssim --crf 30 --samples 3 --sample-duration 500ms --score-every 1"
    # a step of frames from 120 frames on, unless a percentile is asked for
    ff -stream_loop -1 -i ${in} -frames:v 119 -c:v ffv1 ${tmp}/119.mkv
    ff -stream_loop -1 -i ${in} -frames:v 120 -c:v ffv1 ${tmp}/120.mkv
    for n in "119" "120" "120 --pool p5" "120 --score-every 3" "120 --pool p5 --score-every 3"; do
        has_json -i ${tmp}/${n%% *}.mkv ${fast} --metric ssim --crf 30 --encode ${out} -y ${n#"${n%% *}"}
        echo "${n}: status ${status}$(laid), $(whole '"\(.pool) \(.scored_frames)"')"
    done
    # all that is printed has the pool, and the mean beside it
    for n in p5 worst; do
        ffcrf -i ${tmp}/120.mkv ${fast} --metric ssim --crf 30 --encode ${out} -y --pool ${n}
        cat ${tmp}/out ${tmp}/err | grep -c "ssim ${n} 0\.[0-9]*, mean 0\."
    done
    # what cannot be sought is one sample, and parts without frames are none
    ff -stream_loop -1 -i ${in} -t 40 -c:v libx264 -preset ultrafast -vf scale=96:64 -f h264 ${tmp}/raw.264
    ff -stream_loop -1 -i ${in} -t 40 -vf "select='lt(t,8)+gt(t,30)',scale=96:64" -fps_mode passthrough -c:v libx264 -preset ultrafast ${tmp}/gap.mkv
    has_json -i ${tmp}/raw.264 ${fast} --metric ssim --crf 30
    echo "raw: status ${status}$(laid)"
    has_json -i ${tmp}/raw.264 ${fast} --metric ssim --crf 30 -ss 5
    echo "raw with -ss: status ${status}, $(grep -c 'ffmpeg -i .*raw.264 -c:v ffv1 .*raw.mkv' ${tmp}/err)"
    has_json -i ${tmp}/gap.mkv ${fast} --metric ssim --crf 30 --sample-duration 2s --samples 3
    echo "gap: status ${status}$(laid)"
    # the cache has the scores of all frames
    rm -r ${tmp}/cache
    found ${search}
    sed 1d -s $(find ${tmp}/cache -type f) | jq '.planes.l[]' | sort -n > ${tmp}/scores
    for pool in mean worst p5 p50; do
        found ${search} --pool ${pool}
        case ${pool} in
        mean)  right=$(jq -s 'add / length' ${tmp}/scores) ;;
        worst) right=$(sample .score | sort -n | head -n 1) ;;
        *)     right=$(jq -s ".[(length * ${pool#p} / 100 | ceil) - 1]" ${tmp}/scores) ;;
        esac
        yes_if "${pool} of $(wc -l < ${tmp}/scores)" "($(done_ .score) - ${right}) ^ 2 < 1e-10"
    done
    # scenes that differ take more samples, and the size of the whole is in the range
    ff -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t 60 \
        -vf "crop=192:144:x='mod(n*(1+3*gt(mod(floor(n/125)*7,11),5)),250)':y='mod(n,150)*lt(mod(floor(n/125)*5,7),4)',format=yuv420p" \
        -c:v libx264 -preset ultrafast -qp 10 ${tmp}/scenes.mkv
    found -i ${tmp}/scenes.mkv ${fast} -y -g 25 --crf 30 --metric ssim --sample-duration 2s --encode ${out}
    yes_if "more samples" "$(sample .sample | wc -l) > 3"
    yes_if "in the range" "$(done_ .predicted_encode_size_min) < $(whole .size) && $(whole .size) < $(done_ .predicted_encode_size_max)"
    # thorough: the best of all CRFs
    found -i ${in} ${fast} --target-ssim 0.95 --samples 1 --sample-duration 400ms --thorough --crf-increment 0.5
    has_json -i ${in} ${fast} --target-ssim 0.95 --samples 1 --sample-duration 400ms \
        --crf $(done_ '.crf + 0.5')
    echo "thorough: the next CRF has status ${status}"
}

# Scores are those that the filters have by themselves.
crf_metrics(){
    clip 0.4 320:240
    ff -i ${in} -vf "lutyuv=v=val+mod(val\,5)*4" -c:v libx264 -preset ultrafast -crf 33 ${out}
    count="[0]settb=1/25,setpts=N[e];[1]settb=1/25,setpts=N[r]"
    mean_of() { sed "s/.* $1:\([^ ]*\).*/\1/" ${tmp}/stats | awk '{ n += $1 } END { print n / NR }'; }
    for metric in vmaf=score ssim=All mad=score xpsnr=; do
        key=${metric#*=} metric=${metric%=*} pair="[e][r]"
        test ${metric} != xpsnr || pair="[r][e]"
        has_json -i ${in} --verify ${out} --metric ${metric} --target 1 --score-every 1
        ff -v info -i ${out} -i ${in} -lavfi "${count};${pair}${metric}=stats_file=${tmp}/stats" \
            ${to_null} 2> ${tmp}/log
        # xpsnr's own summary has the worst plane
        mean=$(sed -n 's/.*minimum: \([0-9.]*\)).*/\1/p' ${tmp}/log)
        mean=${mean:-$(mean_of ${key})}
        yes_if "${metric}" "${mean:-0} > 0 && (${mean:-0} - $(whole .score)) ^ 2 < 1e-7"
    done
    # 8 bits against the 10 that they were made of: these are not rounded
    ff -i ${in} -vf "format=yuv420p10,lutyuv=y=val+2,format=yuv420p10" -c:v ffv1 ${tmp}/deep.mkv
    has_json -i ${tmp}/deep.mkv --verify ${out} --metric vmaf --target 1 --score-every 1
    ff -i ${out} -i ${tmp}/deep.mkv -lavfi \
        "${count};[e][r]vmaf=bitdepth=10:stats_file=${tmp}/stats" ${to_null}
    yes_if "vmaf of 8 and 10 bits" "($(mean_of score) - $(whole .score)) ^ 2 < 1e-7"
    # any number of frames, of which some are scored: the first of five, or one of each five or four
    ff -stream_loop -1 -i ${in} -frames:v 96 -c:v ffv1 ${tmp}/96.mkv
    scored() { echo ", $(sample '"\(.scored_frames) of \(.frames)"')"; }
    each_case has_json scored "-i ${tmp}/96.mkv ${fast} --crf 30"
    has_json -i ${in} ${fast}
    echo "by default $(done_ '"\(.metric) of \(.target)"')"
}

# A truncated file is used as far as it goes, with a warning.
crf_damage(){
    clip 4
    ff -i ${in} -c copy -movflags faststart ${tmp}/in.mp4
    ff -i ${in} -c copy ${tmp}/in.ts
    for n in mkv mp4; do part_of ${tmp}/in.${n} 50 > ${tmp}/half.${n}; done
    shorter() {
        part=$(sample 'if .frames > 20 and .frames < 80 then "half" else .frames end')
        echo ", ${part}, $(grep -c 'cut off' ${tmp}/err) warnings"
    }
    each_case has_json shorter "${fast} --metric ssim --crf 40"
}

# The tables of ffmpeg's options are those of the sources: none without a value is missing, and the
# reference has those of an output that are not for the file. FFmpeg 9.0 has dropped three of 8.1.
crf_options(){
    old="filter_script|qphist|top"
    sed 's/ *\\$//' ${base}/../fftools/ffmpeg_opt.c ${base}/../fftools/opt_common.h | tr '\n' ' ' |
        grep -Eo '\{ *"[^"]+", *OPT_TYPE_[A-Z0-9]+, *[^{]*' | tr -s '{", |' ' ' | sort > ${tmp}/tree
    table() { PYTHONPATH=${tools} python3 -Bc "import ffcrf_options; print(*ffcrf_options.$1, sep='\n')" | grep -Evx "${old}" | sort; }
    names() { awk "$1 { print \$1 }" ${tmp}/tree | grep -Evx -e "${old}|-help" | sort -u; }
    table NO_VALUE > ${tmp}/no_value
    table OF_FILE > ${tmp}/of_file
    names '/ OPT_TYPE_BOOL / || / OPT_TYPE_FUNC / && !/ OPT_FUNC_ARG /' > ${tmp}/tree_no_value
    names '/ OPT_OUTPUT /' > ${tmp}/output
    echo "without a value: $(grep -c . ${tmp}/no_value)"
    diff ${tmp}/no_value ${tmp}/tree_no_value
    echo "of the file, but not of an output: $(comm -23 ${tmp}/of_file ${tmp}/output | paste -sd' ')"
    comm -13 ${tmp}/of_file ${tmp}/output
}

# Command lines of ab-av1.
crf_abav1(){
    clip 0.4
    options() { sed -n "s,.* -c copy ,\n,; s,${tmp},folder,; s/\"}$//; /^\n-/p" ${tmp}/out; }
    small="--metric ssim"
    each_case ffcrf options
    for n in mp4 mov; do
        head -c 64 ${tmp}/out.${n} | grep -c moov
        run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_tag_string:format_tags=title -of csv ${tmp}/out.${n}
    done
    # a size that the filter of VMAF gets, and that which it has without the option
    clip 0.2 240:180
    for size in none auto 1280x720; do
        ffcrf -i ${in} ${fast} --crf 30 --vmaf-scale=${size} -v verbose
        echo "${size}: status ${status}, $(grep -o ',scale=[^,]*bicubic' ${tmp}/err | paste -sd' ')"
    done
}

# The meter of a terminal: how far it is, and how long it will go on. Of devices, none is one, too.
crf_meter(){
    need script || return 0
    clip 2
    script -qec "${program} -hwaccel none -i ${in} ${fast} -vf realtime --metric ssim --crf 30" \
        /dev/null < /dev/null | tr '\r' '\n' > ${tmp}/out
    sed -n 's/.*, sample 1 of 1, frame \(.*\) of 50, [0-9.]* fps, ETA 0:[0-9][0-9]$/\1/p' \
        ${tmp}/out > ${tmp}/shown
    yes_if "it goes on" "$(wc -l < ${tmp}/shown) > 1 && $(sort -cnu ${tmp}/shown 2>&1 | wc -l) == 0"
    yes_if "time is left" "$(grep -c 'ETA 0:0[1-9]' ${tmp}/out) > 1"
    yes_if "it is wiped" "$(grep -c "^$(printf '\033\[KCRF 30: ssim')" ${tmp}/out) == 1"
    yes_if "-hwaccel" "$(grep -c 'ffmpeg.* -hwaccel none -i ' ${tmp}/out) == 1"
}

# What is searched, and what else an encoder gets, with a stand-in for ffmpeg.
crf_encoders(){
    clip 0.1
    printf '#!/bin/sh\nprintf "\\n  -%%s \\n" crf cq qp\n' | stand_in
    for encoder in libx264 libaom-av1 libvpx-vp9 librav1e libvvenc h264_nvenc av1_nvenc hevc_qsv \
                   h264_vaapi hevc_vaapi; do
        ${tmp}/bin/ffcrf -i ${in} -c:v ${encoder} -preset 6 --target-ssim 0.9 -v verbose 2>&1 |
            sed -n 's/ -fps_mode.*//; s/.*verbose //; s/-i .* -vf/.../p'
    done
    # one that has no filter of VMAF
    printf '#!/bin/sh\necho "Unknown filter"\n' | stand_in
    ${tmp}/bin/ffcrf -i ${in} 2>&1 || echo "status $?"
}

# The examples of the manual.
crf_docs(){
    clip 0.5
    ff -i ${in} -f lavfi -i sine=d=0.5 -c:v libx264 -s 640x480 ${tmp}/in.mp4
    FFCRF_CACHE=$(readlink -f ${tmp})/cache
    PATH=${target_path}:${PATH}
    grep '^ffcrf -i in' ${base}/../doc/ffcrf.texi | while read -r line; do
        (cd ${tmp} && sh -c "${line} --max-encoded-percent 1000" > log 2>&1 < /dev/null; echo "status $?: ${line}"
            cat log >&2; test -s log || echo "it said nothing")
    done
}
