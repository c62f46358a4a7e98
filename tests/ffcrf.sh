# shellcheck shell=sh disable=SC2010,SC2012,SC2044,SC2046,SC2086,SC2154
# Tests of ffcrf, for tests/fate/ffcrf.mak: they come after tests/filters/common.sh.
# What an encoder makes differs from version to version, so the tests compare ffcrf
# with what ffmpeg makes of the same, and print what must be so for any version.
# SPDX-License-Identifier: LGPL-2.1-or-later

# by AVX-512, x264 164 reads memory that it has not set: it is the same in all programs
export MALLOC_PERTURB_=85
export FFCRF_CACHE=${tmp}/cache
unset XDG_CACHE_HOME
program=${target_path}/ffcrf${PROGSUF}${EXECSUF}
in=${tmp}/in.mkv
out=${tmp}/out.mkv
fast="-c:v libx264 -preset ultrafast --max-encoded-percent 1000"
one="${fast} --min-crf 30 --max-crf 30 --target-loss 100"
json=${tmp}/json

# Runs ffcrf, with its standard output in ${tmp}/out and its messages in ${tmp}/err.
ffcrf(){
    heard run ffcrf${PROGSUF}${EXECSUF} "$@" > ${tmp}/out < /dev/null
}

# The same with --json, whose lines are all checked to be JSON, where it has to find something.
found(){
    has_json "$@" || echo "status $?"
}

has_json(){
    ffcrf "$@" --json
    jq -c . ${tmp}/out > ${json} || echo "no JSON"
    return ${status}
}

# The status, and what is said.
says(){ # name arguments...
    name=$1
    shift
    ffcrf "$@"
    echo "${name}: status ${status}"
    grep -v '^CRF\|^Scoring on\|^\[' ${tmp}/err |
        sed "s,${tmp},folder,g; s,[0-9.]* %,N %,; s,\(loss\|CRF\) [0-9][0-9.]*,\1 N,g; s,ffcrf-[A-Za-z0-9]\{6\},ffcrf-N,; s,[0-9.]* s\b,N s,g"
}

# Lines of "name|arguments", to which those of the function are added.
all_say(){
    while IFS='|' read -r name arguments; do
        eval says '"${name}"' ${arguments} '"$@"'
    done
}

ff(){
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y "$@"
}

streams(){ # file entries [options]
    file=$1 entries=$2
    shift 2
    run ffprobe${PROGSUF}${EXECSUF} -v error "$@" -show_entries ${entries} -of compact=nk=1:p=0 ${file} | grep -v '^$'
}

# A camera that goes over a photograph.
clip(){ # name seconds [size]
    ff -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t $2 -vf crop=${3:-192:144}:x=2*n:y=n,format=yuv420p \
        -c:v libx264 -preset ultrafast -qp 4 ${tmp}/$1
}

# What a filter of jq gives of the lines of a type.
of_type(){ # type filter
    jq -r "select(.type == \"$1\") | $2" ${json}
}

sample() { of_type sample-encode-done "$1"; }
done_() { of_type crf-search-done "$1"; }
whole() { of_type verify-done "$1"; }

yes_if(){ # what condition-in-awk
    awk "BEGIN { print \"$1: \" (($2) ? \"yes\" : \"NO, $2\") }"
}

within(){ # a b tolerance
    printf '%s\n' "(${1:-0} - ${2:-1}) ^ 2 <= ($3) ^ 2"
}

# Runs the command, as it is but for these options, and moves what it makes.
run_command(){ # output
    grep -e ' -nostdin ' ${tmp}/out > ${tmp}/command || { echo "no command"; return; }
    sed 's/ -nostdin / -nostdin -v error -y /' ${tmp}/command > ${tmp}/command.sh
    made=$(eval "set -- $(cat ${tmp}/command)"; eval "printf '%s' \"\${$#}\"")
    ${target_exec} sh ${tmp}/command.sh < /dev/null && mv "${made}" $1
}

packets(){ # file streams
    ff -i "$1" -map $2 -c copy -f framecrc -
}

same_packets(){ # name file file [streams]
    packets "$2" ${4:-0} > ${tmp}/packets.2
    packets "$3" ${4:-0} > ${tmp}/packets.3
    same "$1" ${tmp}/packets.2 ${tmp}/packets.3
}

video_bytes(){ # file
    packets $1 0:v:0 | awk -F', *' '!/^#/ { sum += $5 } END { print sum + 0 }'
}

# The mean of a metric by ffmpeg's own commands, over all frames, which are paired by number.
measure(){ # metric source encode
    case $1 in
    loss) filter=detailloss key=lavfi.detailloss.loss ;;
    ssim) filter=ssim       key=lavfi.ssim.All ;;
    mad)  filter=mad        key=lavfi.mad.score ;;
    esac
    count="settb=1/25,setpts=N"
    ff -i $3 -i $2 -an -lavfi "[0]${count}[a];[1]${count}[b];[a][b]${filter},${print}:key=${key}" ${to_null} |
        awk -F= '/^lavfi/ { sum += $2; n++ } END { print sum / n }'
}

# What libvmaf says at its end, of all frames.
vmaf_of(){ # source encode model [options]
    bits="format=yuv420p10,"
    test "${3#*v0.}" = "$3" || bits=
    model=$(printf '%s' "$3" | sed 's/:/\\:/g')
    ff -v info -i $2 -i $1 -an -lavfi "[0]${bits}settb=1/25,setpts=N[a];[1]${bits}settb=1/25,setpts=N[b];[a][b]libvmaf=model='${model}'$4" ${to_null} 2>&1 |
        sed -n 's/.*VMAF score: //p'
}

# What xpsnr says at its end, of the worst plane.
xpsnr_of(){ # source encode
    ff -v info -i $2 -i $1 -an -lavfi "[1][0]xpsnr" ${to_null} 2>&1 |
        sed -n 's/.*minimum: \([0-9.]*\)).*/\1/p'
}

# The score of a whole encode, all frames if nothing else is said.
verified(){ # metric source encode options
    metric=$1 source=$2 encode=$3
    shift 3
    has_json -i ${source} --verify "${encode}" --metric ${metric} --target 1 "$@" > /dev/null
    whole .score
}

is_score(){ # name ffcrf's other's
    yes_if "$1" "${2:-0} > 0 && $(within "$2" "$3" 1e-4)"
}

# What a search has found reaches the target, and the whole is as the samples.
well_found(){ # condition of f
    found=$(whole .score)
    yes_if "reached, within the tolerance" "$(echo "$1" | sed "s/f/${found}/g")"
    yes_if "as searched" "$(within ${found} "$(done_ .score)" 1e-5)"
    yes_if "at most 5 encodes" "$(sample .crf | wc -l) <= 5"
}

cached(){ # what
    echo "$1: $(sample .from_cache | sort -u | tr '\n' ' ')"
}

# VMAF by all of its models, as libvmaf has it of the same pair.
crf_vmaf(){
    clip in.mkv 2 384:288
    ff -i ${in} -c:v libx264 -preset ultrafast -crf 33 ${out}
    ff -i ${in} -c:v ffv1 -pix_fmt yuv420p10 ${tmp}/out10.mkv
    bands=:cambi.enc_bitdepth=8
    v1=version=vmaf_v1.0.16_3d0h
    while read -r name model; do
        is_score "${name}" "$(verified vmaf ${in} ${out} --vmaf-model ${name} --score-every 1)" "$(vmaf_of ${in} ${out} "${model}")"
    done << END
v1                      ${v1}${bands}
4k                      version=vmaf_v1.0.16_1d5h_2160${bands}
phone                   version=vmaf_v1.0.16_5d0h${bands}
v0.6.1                  version=vmaf_v0.6.1
v0.6.1-4k               version=vmaf_4k_v0.6.1
v0.6.1-phone            version=vmaf_v0.6.1:enable_transform=true
vmaf_v1.0.16_hfr_3d0h   version=vmaf_v1.0.16_hfr_3d0h${bands}
vmaf_v0.6.1neg          version=vmaf_v0.6.1neg
END
    is_score "of 10 bits" "$(verified vmaf ${in} ${tmp}/out10.mkv --score-every 1)" "$(vmaf_of ${in} ${tmp}/out10.mkv ${v1})"
    # some frames: motion is that from one frame to the next nevertheless
    is_score "one of 3" "$(verified vmaf ${in} ${out} --score-every 3)" "$(vmaf_of ${in} ${out} ${v1}${bands} :n_subsample=3)"
    whole .scored_frames
    # of 2160 lines, the model that is made for them
    ff -i ${in} -vf scale=2880:2160 -frames:v 1 -c:v libx264 -preset ultrafast -qp 4 ${tmp}/large.mkv
    ff -i ${tmp}/large.mkv -c:v libx264 -preset ultrafast -crf 33 ${tmp}/large.out.mkv
    large=$(verified vmaf ${tmp}/large.mkv ${tmp}/large.out.mkv)
    is_score "of 2160 lines" "${large}" "$(verified vmaf ${tmp}/large.mkv ${tmp}/large.out.mkv --vmaf-model 4k)"
    yes_if "which is another" "!($(within ${large} "$(verified vmaf ${tmp}/large.mkv ${tmp}/large.out.mkv --vmaf-model ${v1#*=})" 0.1))"
    # a file, whose name needs all quotes that there are
    name="${tmp}/a b:c'd,e;[f]=%.json"
    cat > "${name}" << 'END'
{"param_dict": {"norm_type": "none", "score_clip": [0, 100]},
 "model_dict": {"model_type": "LIBSVMNUSVR", "norm_type": "none", "score_clip": [0, 100],
  "feature_names": ["VMAF_integer_feature_adm2_score"], "feature_opts_dicts": [{}],
  "model": "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho -3\nSV\n50 1:1\n"}}
END
    cp "${name}" ${tmp}/plain.json
    is_score "a file" "$(verified vmaf ${in} ${out} --score-every 1 --vmaf-model "${name}")" "$(vmaf_of ${in} ${out} path=${tmp}/plain.json)"
    # it is searched as by any other metric
    search="-i ${in} ${fast} --target-vmaf 90 --score-every 1"
    found ${search} --encode ${tmp}/found.mkv
    well_found "f >= 90 && f <= 91"
    has_json ${search};                       cached "again"
    has_json ${search} --vmaf-model v0.6.1;   cached "another model"
    echo junk > ${tmp}/junk.json
    all_say -i ${in} ${fast} --target-vmaf 90 << 'END'
no such model|--vmaf-model v9
no such file|--vmaf-model ${tmp}/none.json
no model|--vmaf-model ${tmp}/junk.json
no score|--target-vmaf 101
END
    # libvmaf's log is a temporary file
    export TMPDIR=${tmp}/none
    says "no TMPDIR"  ${search} --cache false
    TMPDIR="${tmp}/a b,c:d;e'[f]"
    mkdir "${TMPDIR}"
    says "odd TMPDIR" ${search} --cache false --crf 30 --max-encoded-percent 10000 --min-crf 30
    ls "${TMPDIR}"
    unset TMPDIR
    clip small.mkv 0.2
    says "too small" -i ${tmp}/small.mkv ${fast} --target-vmaf 90 | grep -v '^libvmaf ERROR'
    yes_if "not for v0.6.1" "$(verified vmaf ${tmp}/small.mkv ${tmp}/small.mkv --vmaf-model v0.6.1) > 90"
}

# XPSNR as its filter has it: the worst plane of all frames, to the four digits that it prints.
crf_xpsnr(){
    clip in.mkv 1
    ff -i ${in} -c:v libx264 -preset ultrafast -crf 33 ${tmp}/y.mkv
    ff -i ${in} -vf "lutyuv=v=val+mod(val\,5)*4" -c:v libx264 -preset ultrafast -crf 23 ${tmp}/v.mkv
    for n in y v; do
        is_score "worst in ${n}" "$(verified xpsnr ${in} ${tmp}/${n}.mkv)" "$(xpsnr_of ${in} ${tmp}/${n}.mkv)"
    done
    echo "identical: $(verified xpsnr ${in} ${in})"
    found -i ${in} ${fast} --target-xpsnr 36 --encode ${tmp}/found.mkv
    well_found "f >= 36 && f <= 36.3"
    says "all frames" -i ${in} ${fast} --target-xpsnr 36 --score-every 2
}

# Which metrics there are depends on the filters that are built in.
crf_metrics(){
    clip in.mkv 0.5 320:240
    run ffmpeg${PROGSUF}${EXECSUF} -v quiet -filters > ${tmp}/filters
    there='' lacks=''
    for pair in vmaf=libvmaf loss=detailloss ssim=ssim xpsnr=xpsnr mad=mad; do
        if grep -q " ${pair#*=} " ${tmp}/filters; then there="${there}${there:+, }${pair%=*}"; else lacks="${lacks} ${pair%=*}"; fi
    done
    found -i ${in} ${fast}
    case ${there} in vmaf*) default="vmaf 95" ;; *) default="loss 5" ;; esac
    test "$(done_ '"\(.metric) \(.target)"')" = "${default}" && echo "the default is the first that is there"
    test -n "${lacks}" || skipped "${test}, a filter that is lacking" "all are there"
    for metric in ${lacks}; do
        says lacking -i ${in} ${fast} --metric ${metric} --target 1 > ${tmp}/said
        test "$(sed 's/no filter .*, which/no filter, which/; s/: take .*//' ${tmp}/said | paste -sd' ')" = \
            "lacking: status 2 This FFmpeg has no filter, which the metric ${metric} needs. It has those of ${there}" || cat ${tmp}/said
    done
    # all of them on one sample
    search="-i ${in} ${fast} --sample-duration 200ms"
    found ${search} --probe
    probed() { of_type probe-done "select(.metric == \"ssim\") | $1"; }
    test "$(of_type probe-done .metric | uniq | paste -sd, | sed 's/,/, /g')" = "${there}" && echo "all are probed"
    of_type probe-done 'keys_unsorted | join(" ")' | uniq
    probed '"\(.crf): \(.frames) \(.scored_frames)"'
    yes_if "by falling quality" "$(probed .score | sort -cgr 2>&1 | wc -l) == 0"
    yes_if "time is told" "$(of_type probe-done 'select(.score_seconds > 0 and .score_seconds < 60).crf' | wc -l) == 5 * $(of_type probe-done .metric | uniq | wc -l)"
    probed=$(probed 'select(.crf == 28).score')
    has_json ${search} --target-ssim 0 --min-crf 28 --max-crf 28 --samples 1
    is_score "as in a search" ${probed} $(sample .score)
    ffcrf ${search} --probe || echo "status $?"
    awk 'NR < 3 || /^ssim/ { $NF = NR > 2 && $NF > 0 ? "time" : $NF; print $1, NF }' ${tmp}/out
    yes_if "a line for each" "$(wc -l < ${tmp}/out) == 2 + $(echo ${there} | wc -w)"
}

# The command that is printed makes what was found: as many bytes, and the same score.
# Scores of so small a clip jump by more than a point from one whole CRF to the next.
crf_search(){ # encoder options [bytes of a frame that files leave out [encodes]]
    clip in.mkv 1
    for target in loss=10=1 ssim=0.95=0.002 mad=20=1; do
        tolerance=${target##*=} target=${target%=*}
        metric=${target%%=*} target=${target#*=} sign=1
        test ${metric} != ssim || sign=-1
        found -i ${in} $1 --target-${metric} ${target} --score-every 1
        done_ .command > ${tmp}/out
        run_command ${out}
        score=$(done_ .score)
        crf=$(done_ .crf)
        yes_if "${metric}: reached" "${sign} * ${score} <= ${sign} * ${target}"
        test $# -eq 3 || # whole CRFs are too coarse
        yes_if "${metric}: within the tolerance" "$(within ${score} ${target} ${tolerance})"
        yes_if "${metric}: at most ${3:-5} encodes" "$(sample .crf | wc -l) <= ${3:-5}"
        yes_if "${metric}: as measured by ffmpeg" "$(within $(measure ${metric} ${in} ${out}) ${score} "1e-4 * (1 + ${score})")"
        yes_if "${metric}: the command has the CRF" "$(grep -c -e "-crf:v ${crf} " ${tmp}/command) == 1"
        # but for the start codes, of 3 or 4 bytes, which the file has in another form
        yes_if "${metric}: as many bytes"  "$(within $(video_bytes ${out}) $(sample "select(.crf == ${crf}).size") "4 + ${2:-0} * 25")"
    done
    # what the encoder's library does not know, and what ffmpeg writes so that nothing can read it
    params=$(echo "$1" | sed 's/.*lib\(x26.\|svtav1\).*/-\1-params/')
    says "bad parameter" -i ${in} $1 ${params} frobnicate=1 --target-loss 10 --gpu off | head -n 1
    case $1 in
    *libx265*) says "to AVI" -i ${in} $1 --target-loss 10 --gpu off --encode ${tmp}/out.avi
               test ! -e ${tmp}/out.avi || echo "a file is left" ;;
    esac
}

# Some frames score about as all do: they are compared with their own.
crf_step(){
    clip in.mkv 2.6
    for metric in loss ssim; do
        for step in 1 3 4; do
            has_json -i ${in} ${fast} --metric ${metric} --target 0 --crf 34 --score-every ${step}
            test ${step} -gt 1 || all=$(sample .score)
            yes_if "${metric}: $(sample .scored_frames) frames score as all" "$(within "$(sample .score)" ${all} "0.15 * ${all}")"
        done
    done
}

# What was found is found again, unless anything is another.
crf_cache(){
    clip in.mkv 0.5
    search="-i ${in} ${fast} --target-loss 10"
    has_json ${search};                     cached first
    done_ . > ${tmp}/first
    has_json ${search} --memory 1;          cached again
    echo "decoded: $(grep -c 'decoded again' ${tmp}/err)"
    done_ . > ${tmp}/again
    same "found again" ${tmp}/first ${tmp}/again
    while IFS='|' read -r what options; do
        has_json ${search} ${options};      cached "${what}"
    done << END
cache false|--cache false
another option|-g 10
another format|-pix_fmt yuv444p
another filter|-vf hflip
other frames|--score-every 2
another part|--to 400ms
END
    has_json -i ${in} ${fast} --target-ssim 0.9; cached "another metric"
    cp ${in} ${tmp}/kept.mkv
    cp ${tmp}/kept.mkv ${in}
    has_json ${search};                     cached "another time of change"
    clip in.mkv 0.6
    has_json ${search};                     cached "another content"
    for damage in "head -c -3" "head -c 0" "echo junk"; do
        for entry in $(find ${tmp}/cache -type f); do
            ${damage} < ${entry} > ${tmp}/damaged && cp ${tmp}/damaged ${entry}
        done
        has_json ${search};                 cached "${damage}"
    done
    has_json ${search};                     cached "mended"
    # where nothing can be kept
    touch ${tmp}/file
    FFCRF_CACHE=${tmp}/file/cache
    found ${search};                        cached "no folder"
    sed "s,${tmp},folder,g" ${tmp}/err | grep cache
    FFCRF_CACHE=
    export XDG_CACHE_HOME=${PWD}/${tmp}/xdg
    has_json ${search}
    test -n "$(ls ${tmp}/xdg/ffcrf)" && echo "XDG_CACHE_HOME: kept"
}

# Interrupted at any moment, it goes on where it was, measures nothing twice, and finds the same.
crf_resume(){
    clip in.mkv 3
    search="-i ${in} -c:v libx264 -preset medium --max-encoded-percent 1000 --target-loss 10 --samples 3 --sample-duration 700ms --tolerance 0 --json"
    without_time='select(.type == "crf-search-done") | del(.predicted_encode_seconds)'
    begin=$(date +%s%N)
    has_json ${search}
    end=$(date +%s%N)
    jq -c "${without_time}" ${json} > ${tmp}/first
    nb=$(sample .crf | wc -l)
    yes_if "an entry for each sample of each CRF" "${nb} == $(ls ${tmp}/cache | wc -l)"
    test ${nb} -gt 0 || { echo "the search found nothing"; return; }
    has_json ${search}
    from_cache=$(($(date +%s%N) - end))
    n=0
    seed=1
    : > ${tmp}/twice
    while test ${n} -lt 20; do
        rm -rf ${tmp}/cache
        : > ${tmp}/runs
        status=1
        # to the end, with 20 interruptions in all
        while test ${status} -ne 0 && test ${n} -lt 60; do
            seed=$(((seed * 1103515245 + 12345) % 2147483648))
            signal=KILL
            test $((seed / 65536 % 2)) = 0 || signal=INT
            env --default-signal=INT ${program} ${search} >> ${tmp}/runs 2> ${tmp}/err &
            if test ${n} -lt 20; then
                # until about as long as two encodes have taken
                sleep $(awk "BEGIN { print (${from_cache} + ${seed} / 2147483648 * 2 * (${end} - ${begin}) / ${nb}) / 1e9 }")
                kill -${signal} $! 2> /dev/null
            fi
            status=0
            wait $! 2> /dev/null || status=$?
            test ${status} != 130 || tail -n 1 ${tmp}/err >> ${tmp}/told
            test ${status} = 0 || n=$((n + 1))
        done
        jq -Rc 'fromjson? | select(.type == "sample-encode-done" and (.from_cache | not)) | [.sample, .crf]' ${tmp}/runs | sort | uniq -d >> ${tmp}/twice
        for entry in $(find ${tmp}/cache -type f ! -name '*.tmp'); do tail -n 1 ${entry}; done | sort -u
        # one that is interrupted after its last line has found it, too
        jq -Rc "fromjson? | ${without_time}" ${tmp}/runs | uniq > ${tmp}/again
        same "found the same" ${tmp}/first ${tmp}/again
        test "$(find ${tmp}/cache -type f ! -name '*.tmp' | wc -l)" = ${nb} || echo "other encodes were made"
    done > ${tmp}/rounds
    sort -u ${tmp}/rounds ${tmp}/told
    echo "interrupted ${n} times, measured twice: $(wc -l < ${tmp}/twice)"
    rm -r ${tmp}/cache
    ${program} ${search} > ${tmp}/out 2> ${tmp}/err &
    until test -n "$(ls ${tmp}/cache 2> /dev/null)"; do sleep 0.05; done
    kill -TERM $!
    wait $!
    echo "TERM: status $?"
    # there is nothing to go on with
    timeout -s TERM 1 ${program} -i ${in} ${fast} --crf 30 --metric mad --score-every 1 -vf scale=1280:-2 --cache false 2>&1 | tail -n 1
}

crf_status(){
    clip in.mkv 0.5
    ff -f lavfi -i sine=d=1 -c:a pcm_s16le ${tmp}/audio.mkv
    ff -f lavfi -i color=black:size=160x120:d=0.5 -c:v ffv1 ${tmp}/black.mkv
    clip whole.mp4 1
    head -c 20000 ${tmp}/whole.mp4 > ${tmp}/cut.mp4
    head -c $(($(wc -c < ${in}) / 2)) ${in} > ${tmp}/cut.mkv
    : > ${tmp}/empty.mkv
    echo "no video" > ${tmp}/text.txt
    mkdir ${tmp}/folder.mkv
    cp ${in} ${tmp}/x.part.mkv
    ff -f lavfi -i testsrc2=size=4x4:d=0.5 -c:v ffv1 ${tmp}/tiny.mkv
    goal="${fast} --target-loss 10"
    good="-i ${in} ${goal}"
    all_say << 'END'
not reachable|-i ${in} ${fast} --target-loss 0 --min-crf 40
no input|${fast} --target-loss 10
no encoder|-i ${in} --target-loss 10
no target|-i ${in} ${fast} --metric ssim
bad target|-i ${in} ${fast} --target-ssim 3
no score|-i ${in} ${fast} --metric ssim --target 3
bad metric|-i ${in} ${fast} --metric psnr --target 40
no encoder's|-i ${in} --verify ${in} -frobnicate 1
unknown encoder|-i ${in} -c:v libx999 --target-loss 10
audio encoder|-i ${in} -c:v aac --target-loss 10
no CRF encoder|-i ${in} -c:v ffv1 --target-loss 10
no file|-i ${tmp}/none.mkv ${goal}
a folder|-i ${tmp} ${goal}
empty file|-i ${tmp}/empty.mkv ${goal}
a text|-i ${tmp}/text.txt ${goal}
no video|-i ${tmp}/audio.mkv ${goal}
no index|-i ${tmp}/cut.mp4 ${goal}
too small|-i ${tmp}/tiny.mkv ${fast} --target-ssim 0.9
verify a folder|-i ${in} --verify ${tmp} --target-loss 10
black|-i ${tmp}/black.mkv ${goal}
cut off|-i ${tmp}/cut.mkv ${goal}
found|${good}
one without a value|${good} -an
too large|${good} --max-encoded-percent 0.5
two targets|${good} --target-ssim 0.9
bad pool|${good} --pool p99
another bad pool|${good} --pool p5x
bad range|${good} --min-crf 30 --max-crf 20
bad duration|${good} --sample-every 12x
another bad duration|${good} --sample-every 1.5.5s
no frames in a sample|${good} --samples 3 --sample-duration 1ms
no value|${good} --samples
bad value|${good} --samples many
no samples|${good} --samples 0
a CRF|${good} -crf 20
stray word|${good} out.mkv
unknown option|${good} -frobnicate 1
of ab-av1|${good} --thorough --samples 1
no CRF between|${good} --min-crf 21 --max-crf 24 --crf-increment 5
one CRF between|${good} --min-crf 21 --max-crf 24 --crf-increment 7 --target-loss 90
audio option|${good} -b:a 1
bad format|${good} -pix_fmt yuv999p
format of a device|${good} -pix_fmt cuda
bad filter|${good} -vf frobnicate
filters with labels|${good} -vf '[in]split[a][b];[a][b]overlay[out]'
bad encoder option|${good} -tune frobnicate
bad parameter|${good} -x264-params frobnicate=1
bad value of an option|${good} -rc-lookahead -5
bad value of a parameter|${good} -x264-params ref=many
odd size|${good} -vf scale=191:144
no GPU 99|${good} --gpu 99x
no format of output|${good} --encode ${tmp}/encode
no format for H.264|${good} --encode ${tmp}/encode.webm
the input|${good} --encode ${in} -y
the input while it is made|-i ${tmp}/x.part.mkv ${goal} --encode ${tmp}/x.mkv
is there|${good} --encode ${tmp}/black.mkv
a folder is there|${good} --encode ${tmp}/folder.mkv -y
a protocol|${good} --encode a:b.mkv
after the end|${good} -ss 9
nothing|${good} -ss 3 --to 2
-to and -t|${good} -t 1 --to 2
no such option|${good} --enc-input r=25
not the encoder's|${good} --enc c:v=libx265
probe alone|${good} --probe --encode ${out}
no such device|${good} -hwaccel frobnicate
END
    test -s ${tmp}/x.part.mkv || echo "the input is gone"
    echo | { exec 5<&0; says "a pipe" -i /dev/fd/5 ${goal}; }
    if test -c /dev/full; then
        run ffcrf${PROGSUF}${EXECSUF} ${good} > /dev/full 2> ${tmp}/err
        echo "full output: status $?"
        tail -n 1 ${tmp}/err
    fi
}

# All that is written is JSON, whatever the names and however it ends.
crf_json(){
    clip in.mkv 0.5
    name=$(printf 'a"b\\c d\te\303\244.mkv')
    mv ${in} "${tmp}/${name}"
    for options in "" "--min-crf 46" "--max-encoded-percent 0.1" "--pool p101" "--encode ${out}" "--verify ${out}" \
                   "--verify ${out} --target-loss 0" "--verify ${tmp}/none.mkv"; do
        has_json -i "${tmp}/${name}" ${fast} --target-loss 10 ${options}
        echo "${options}: status $?: $(jq -r .type ${json} | uniq | tr '\n' ' ')" | sed "s,${tmp},folder,"
    done
    has_json -i "${tmp}/${name}" ${fast} --target-loss 10
    done_ .command > ${tmp}/out
    run_command ${tmp}/again.mkv
    same_packets "its command" ${out} ${tmp}/again.mkv
    sample 'keys_unsorted | join(" ")' | uniq
    done_ 'keys_unsorted | join(" ")'
    # names that are no UTF-8: a byte, one cut off, and one that is too long
    name=$(printf 'a\377\303\300\257b\342\202.mkv')
    mv ${out} "${tmp}/${name}"
    has_json -i "${tmp}/${name}" ${fast} --verify "${tmp}/${name}" --target-loss 10
    iconv -f UTF-8 -t UTF-8 ${tmp}/out > ${tmp}/utf8 && same "UTF-8" ${tmp}/out ${tmp}/utf8
    whole .file | sed "s,${tmp},folder,"
}

# Times that no encoder's clock has, and frames of all durations.
crf_vfr(){
    vfr=${tmp}/vfr.nut
    ff -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t 3 \
        -vf "crop=192:144:x=2*n:y=n,format=yuv420p,select='not(mod(n,3))+not(mod(n,7))',settb=1001/90000,setpts=PTS+mod(N*N\,3)" \
        -fps_mode passthrough -enc_time_base filter -c:v ffv1 ${vfr}
    search="-c:v libx264 -preset veryfast --max-encoded-percent 1000 --target-loss 10"
    found -i ${vfr} ${search} --score-every 1
    sample .frames | sort -u
    done_ .command > ${tmp}/out
    run_command ${out}
    score=$(done_ .score)
    yes_if "as measured by ffmpeg" "$(within $(measure loss ${vfr} ${out}) ${score} 1e-3)"
    # frames meet their own by number: times that are others change nothing
    ff -i ${out} -c copy -f h264 ${tmp}/no_times.264
    ff -itsscale 1.7 -i ${out} -c copy ${tmp}/slow.mkv
    for encode in out.mkv no_times.264 slow.mkv; do
        yes_if "${encode}, as searched" "$(within "$(verified loss ${vfr} ${tmp}/${encode} --score-every 1)" ${score} 1e-6)"
    done
    # a sample from the middle, and a file that begins late
    ff -i ${vfr} -fps_mode passthrough -enc_time_base filter -output_ts_offset 100 -c:v libx264 -preset ultrafast -qp 4 ${tmp}/late.ts
    for n in vfr.nut late.ts; do
        found -i ${tmp}/${n} ${search} --samples 1 --sample-duration 1200ms
        sample .frames | sort -u
    done
    # another number of frames is no encode
    ff -i ${out} -frames:v 10 -c copy ${tmp}/short.mkv
    ff -i ${out} -vf scale=80:60 -fps_mode passthrough -c:v ffv1 ${tmp}/small.mkv
    all_say --target-loss 10 << 'END'
fewer frames|-i ${vfr} --verify ${tmp}/short.mkv
more frames|-i ${tmp}/short.mkv --verify ${out}
another size|-i ${vfr} --verify ${tmp}/small.mkv
END
}

# All streams are kept, with what is known of them, and the whole is scored.
crf_encode(){
    printf ';FFMETADATA1\ntitle=a title\n' > ${tmp}/meta
    printf '[CHAPTER]\nTIMEBASE=1/1000\nSTART=%s\nEND=%s\ntitle=%s\n' 0 500 one 500 1000 two >> ${tmp}/meta
    printf '1\n00:00:00,100 --> 00:00:01,000\nwords\n\n' > ${tmp}/words.srt
    clip plain.mkv 1
    ff -i ${tmp}/plain.mkv -f lavfi -i sine=d=1 -f lavfi -i sine=300:d=1 -i ${tmp}/words.srt -i ${tmp}/meta -map 1 -map 0 -map 2 -map 3 \
        -map_metadata 4 -map_chapters 4 -metadata:s:a:1 language=deu -disposition:a:1 default -c:v copy -c:a pcm_s16le -c:s copy ${in}
    good="-i ${in} ${fast} --target-loss 10 --score-every 1"
    says encode ${good} --encode ${out}
    sed -n 's/.*: loss [0-9.]* (target 10) over \([0-9]* of [0-9]* frames\).*/\1/p' ${tmp}/out
    run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,codec_name:stream_disposition=default:stream_tags=language:format_tags=title:chapter=start_time:chapter_tags=title -of compact ${out} | grep -v '^$'
    for stream in 0:a:0 0:a:1 0:s:0; do
        same_packets "${stream}" ${in} ${out} ${stream}
    done
    ls ${tmp} | grep part
    found ${good} --encode ${out} -y
    whole '"reached: \(.reached), frames: \(.frames)"'
    yes_if "the whole has the score of the search" "$(within "$(whole .score)" "$(done_ .score)" 1e-6)"
    # what is attached
    echo font > ${tmp}/a.ttf
    ff -i ${pictures}/chelsea_451x300.pgm -vf scale=64:48 -c:v png ${tmp}/a.png
    ff -i ${tmp}/plain.mkv -attach ${tmp}/a.ttf -metadata:s:t:0 mimetype=application/x-truetype-font \
        -attach ${tmp}/a.png -metadata:s:t:1 mimetype=image/png -c copy ${tmp}/attached.mkv
    says "attachments" -i ${tmp}/attached.mkv ${fast} --target-loss 10 --encode ${tmp}/attached.out.mkv
    ff -i ${tmp}/attached.mkv -map 0 -c copy ${tmp}/attached.copy.mkv
    for n in out copy; do
        streams ${tmp}/attached.${n}.mkv stream=codec_type,codec_name,extradata_size:stream_tags=filename | grep -v h264 > ${tmp}/attached.${n}
    done
    grep -c . ${tmp}/attached.copy
    same "streams as ffmpeg copies them" ${tmp}/attached.copy ${tmp}/attached.out
    # what the output cannot hold is told, or converted
    says "to MP4" ${good} --encode ${tmp}/out.mp4
    streams ${tmp}/out.mp4 stream=codec_type,codec_name
    says "to a folder that is not" ${good} --encode ${tmp}/none/out.mkv
    says "to an odd name" ${good} --encode "${tmp}/a b'c.mkv"
    cp "${tmp}/a b'c.mkv" ${tmp}/first.mkv
    run_command ${tmp}/again.mkv
    same_packets "names are quoted" ${tmp}/first.mkv ${tmp}/again.mkv
    says "verify: reached" -i ${in} --verify ${out} --target-loss 20
    says "verify: missed"  -i ${in} --verify ${out} --target-loss 1
    # a sample that tells nothing of the rest
    clip long.mkv 3
    ff -i ${tmp}/long.mkv -vf "drawbox=t=fill:enable='between(t,1,2)'" -c:v libx264 -preset ultrafast -qp 4 ${tmp}/middle.mkv
    says "encode: missed" -i ${tmp}/middle.mkv ${fast} --target-loss 5 --samples 1 --sample-duration 500ms --encode ${out} -y
}

# A part of the input: what ffmpeg takes by the same options is what is searched, made and scored.
crf_part(){
    clip in.mkv 3
    # in which ffmpeg goes to places where decoding cannot begin
    ff -i ${in} -c copy ${tmp}/in.ts
    for n in in.mkv in.ts; do
        for part in "-ss 1.2 --to 2.4" "-ss 1.2 -t 1.2" "--enc-input ss=00:00:01.2 --enc-input to=2.4" "-ss 2.5" "--to 1500ms"; do
            search="-i ${tmp}/${n} ${fast} --crf 30 --target-loss 100 --score-every 1 ${part}"
            found ${search} --encode ${out} -y
            echo "${n} ${part}: $(sample '"\(.start) \(.frames)"'), $(whole .frames) frames made"
            # the clock is another one in MPEG-TS
            test ${n} = in.ts || {
                ff $(echo "${part}" | sed 's/--enc-input \([a-z]*\)=/-\1 /g; s/--to/-to/') -i ${in} \
                    -map 0:v -fps_mode passthrough -enc_time_base filter -c:v libx264 -preset ultrafast -crf 30 ${tmp}/again.mkv
                same_packets "as by ffmpeg" ${tmp}/again.mkv ${out} 0:v
            }
            yes_if "the score of the whole" "$(whole .score) == $(done_ .score)"
            yes_if "the size of the whole" "$(within "$(done_ .predicted_encode_size)" "$(whole .size)" 4)"
        done
    done
    has_json -i ${in} ${fast} --metric loss --crf 30 -ss 0.5 --to 2.5 --samples 2 --sample-duration 400ms
    echo "samples of a part: $(sample '"\(.start) \(.frames)"' | tr '\n' ' ')"
}

# The device that decodes changes nothing but the time, or is told not to be there.
crf_hwaccel(){
    clip in.mkv 0.5
    search="-i ${in} ${fast} --target-loss 10"
    for device in none auto; do
        found ${search} -hwaccel ${device}
        done_ 'del(.predicted_encode_seconds, .command)' > ${tmp}/${device}
    done
    same "auto" ${tmp}/none ${tmp}/auto
    device=$(run ffmpeg${PROGSUF}${EXECSUF} -v error -hwaccels | sed 1d | head -n 1)
    if test -z "${device}"; then
        leave_out told
    elif ff -init_hw_device ${device} -version > /dev/null 2>&1; then
        has_json ${search} -hwaccel ${device}
        yes_if "told" "$(done_ .command | grep -c -e "-hwaccel ${device}") == 1"
    else
        told=$(grep -c "^Decoding the input on the CPU" ${tmp}/err)
        ffcrf ${search} -hwaccel ${device} 2> /dev/null
        yes_if "told" "$? == 2 && ${told} == 1 && $(grep -c "^-hwaccel ${device}: there is no such device" ${tmp}/err) == 1"
    fi
}

# What is compared with has filters of its own, and the encode has those of -vf.
crf_reference(){
    clip in.mkv 0.5
    for filters in "scale=96:72 scale=96:72:flags=neighbor" "hflip,scale=128:-2 hflip,scale=128:96:flags=area"; do
        encode=${filters% *} reference=${filters#* }
        ff -i ${in} -vf ${reference} -c:v ffv1 ${tmp}/reference.mkv
        for metric in loss ssim; do
            search="-i ${in} ${fast} --crf 25 --metric ${metric} --score-every 1 -vf ${encode} --cache false"
            has_json ${search}
            plain=$(done_ .score)
            for memory in 1G 1; do
                found ${search} --reference-vfilter ${reference} --memory ${memory} --encode ${out} -y
                score=$(done_ .score)
                echo "${encode}, ${reference}, ${metric}, memory ${memory}"
                yes_if "as measured by ffmpeg" "${score} != ${plain} && $(within $(measure ${metric} ${tmp}/reference.mkv ${out}) ${score} "1e-4 * (1 + ${score})")"
                yes_if "as the whole" "$(whole .score) == ${score}"
            done
        done
    done
    has_json ${search} --reference-vfilter ${encode}
    yes_if "the same filters" "$(done_ .score) == ${plain}"
    all_say -i ${in} ${fast} --target-loss 10 << 'END'
another size|-vf scale=96:72 --reference-vfilter null
fewer frames|--reference-vfilter 'select=lt(n\,9)'
END
}

# Audio is copied, encoded, mixed down or left out.
crf_audio(){
    clip plain.mkv 0.5
    ff -i ${tmp}/plain.mkv -f lavfi -i sine=d=0.5 -f lavfi -i sine=300:d=0.5 -map 0 -map 1 -map 2 -c:v copy -c:a pcm_s16le -ac:a:0 6 -ac:a:1 2 ${in}
    while read -r output options; do
        says "${output} ${options}" -i ${in} ${one} -y --encode ${tmp}/${output} ${options}
        # what mixes down depends on what was built
        test ! -e ${tmp}/${output} || streams ${tmp}/${output} stream=codec_type,codec_name,channels | case ${options} in
            --downmix*) sed '2s/^\(opus\|aac\)/encoded/' ;;
            *)          cat ;;
        esac
        rm -f ${tmp}/${output}
    done << END
out.mkv -c:a copy
out.mkv --acodec aac -b:a 64k
out.mkv --acodec aac --downmix-to-stereo
out.mkv --enc codec:a=aac --enc b:a=64k
out.mkv --video-only
out.mp4 --acodec aac
out.mkv --acodec libx264
out.mkv -b:a 64k
out.mkv -c:a copy --downmix-to-stereo
out.mkv --downmix-to-stereo
END
}

# Encoders of devices and others that are rarely built, where there are: the command makes what was found.
crf_encoders(){
    clip in.mkv 1
    says "none of FFmpeg's" -i ${in} -c:v h264_none --target-loss 20
    run ffmpeg${PROGSUF}${EXECSUF} -v error -encoders > ${tmp}/encoders
    for encoder in librav1e h264_nvenc hevc_nvenc h264_qsv hevc_qsv h264_vaapi hevc_vaapi av1_vaapi; do
        case ${encoder} in
        *_vaapi) upload="-init_hw_device vaapi -vf format=nv12,hwupload" ;;
        *)       upload="-pix_fmt yuv420p" ;;
        esac
        if ! grep -q " ${encoder} " ${tmp}/encoders || ! ff -i ${in} ${upload} -frames:v 3 -c:v ${encoder} ${to_null} 2> /dev/null; then
            leave_out ${encoder}
            continue
        fi
        has_json -i ${in} -c:v ${encoder} --max-encoded-percent 1000 --target-loss 20 --encode ${out} -y
        echo "${encoder}: status $?"
        yes_if "${encoder}, the whole" "$(within "$(whole .score)" "$(done_ .score)" 0.1)"
    done
}

# Command lines of ab-av1.
crf_abav1(){
    clip in.mkv 1
    options() { sed -n "s,.* -c:v,-c:v,; s,${tmp},folder,; s/\"}$//; /^-c:v/p" ${tmp}/out; }
    ffcrf auto-encode --input ${in} -e svt-av1 --preset 12 --keyint 1s --scd true --svt tune=0 --svt enable-overlays=1 --pix-format yuv420p10le \
        --vfilter scale=96:72 --min-crf 50 --max-crf 50 --target-loss 100 --samples 1 --max-encoded-percent 500 --stdout-format json -o ${out} || echo "status $?"
    options
    streams ${out} stream=codec_name,width,height,pix_fmt
    small="--metric loss --max-encoded-percent 500 --samples 1 --sample-duration 300ms"
    ffcrf auto-encode -i ${in} --encoder libx264 --enc tune=film --enc x264-params=ref=2 --crf 35 ${small} || echo "status $?"
    options
    test -s ${tmp}/in.h264.mkv && echo "named by itself"
    # what nothing tells: the encoder and its preset
    ffcrf crf-search -i ${in} --crf 60 ${small} || echo "status $?"
    options | grep -o -e '^-c:v libsvtav1\|-preset:v 8'
    says "half a CRF" -i ${in} --crf 30.5 ${small}
    says "bad scd" -i ${in} --scd maybe ${small}
    says "another encoder" -i ${in} -e libx264 --svt tune=0 ${small}
    # one CRF, and no target
    found sample-encode -i ${in} -e libx264 --preset ultrafast --crf 31.5 ${small}
    done_ .crf
    ffcrf -i ${in} ${fast} --metric loss --crf 31.5
    sed -n 's/^CRF 31.5: loss [0-9.]*, about.*/one CRF/p' ${tmp}/out
    # other names of presets
    ffcrf -i ${in} -e libaom-av1 --preset 8 --crf 60 -t 0.2 ${small} || echo "status $?"
    grep -o -e '-cpu-used:v 8' ${tmp}/out
    # thorough: the best of all CRFs
    has_json -i ${in} ${fast} ${small} --target 12 --thorough --crf-increment 0.5
    next=$(awk "BEGIN { print $(done_ .crf) + 0.5 }")
    has_json -i ${in} ${fast} ${small} --target 12 --crf ${next}
    echo "thorough: the next CRF has status $?"
}

# What is told while it works, on a terminal, and why it ended.
crf_told(){
    need script || return 0
    clip in.mkv 2
    script -qec "${program} -i ${in} ${fast} --metric loss --crf 30 --samples 2 --sample-duration 400ms --encode ${out}" ${tmp}/typescript < /dev/null > /dev/null
    tr '\r' '\n' < ${tmp}/typescript | sed -n 's/\x1b\[K//g; s/frame [0-9]* of [0-9]*, [0-9.]* fps, ETA [0-9:?]*$/frame, fps, ETA/p' | sort -u
    for options in "--target-loss 10" "--target-loss 10 --thorough --crf-increment 1" "--target-loss 90" "--target-loss 10 --tolerance 0"; do
        ffcrf -i ${in} ${fast} ${options} --samples 1 --sample-duration 500ms
        sed -n "s/^CRFs tried: [0-9]*. CRF [0-9.]* /${options}: /p" ${tmp}/err
    done
}

# What the shells complete.
crf_completion(){
    for shell in bash zsh fish; do
        ffcrf --completion ${shell} || echo "status $?"
        cp ${tmp}/out ${tmp}/complete.${shell}
        if command -v ${shell} > /dev/null; then
            ${shell} -n ${tmp}/complete.${shell} && echo "${shell}: good syntax"
        else
            leave_out ${shell} "no ${shell}"
        fi
    done
    says "no such" --completion tcsh
    command -v bash > /dev/null || return 0
    cat > ${tmp}/try.bash << 'END'
. "$1"
shift
COMP_WORDS=("$ffcrf" "$@")
COMP_CWORD=$#
_ffcrf
echo "${COMPREPLY[@]}"
END
    export ffcrf=${program}
    for words in "--sample" "--metric ss" "--encoder libx26" "-c : v libx264" "-e h264_nv" "--loglevel v" "--cache ''"; do
        echo "bash: ${words}: $(eval "bash ${tmp}/try.bash ${tmp}/complete.bash ${words}")"
    done
    # every option of the help
    ffcrf --help
    sed -n 's/^  \(-[^ ]*\) .*/\1/p' ${tmp}/out | sort > ${tmp}/help
    bash ${tmp}/try.bash ${tmp}/complete.bash - | tr ' ' '\n' | sort > ${tmp}/completed
    same "bash: all options" ${tmp}/help ${tmp}/completed
}

# Size and format change in the middle: no frame is lost, and all is as ffmpeg encodes it.
crf_change(){
    clip in.mkv 1
    n=0
    for format in "192:144,format=yuv420p" "320:180,format=yuv420p" "192:144,format=yuv444p" "160:120,format=yuv420p10le"; do
        n=$((n + 1))
        ff -i ${in} -vf scale=${format} -frames:v $((3 * n + 2)) -c:v libx264 -preset ultrafast -qp 4 -f h264 ${tmp}/${n}.264
    done
    for parts in "1 2 1" "1 3 1" "1 4 2 1"; do
        for n in ${parts}; do cat ${tmp}/${n}.264; done > ${tmp}/parts.264
        for filters in null crop=iw-6:ih-6 hflip,scale=iw/4*2:-2; do
            found -i ${tmp}/parts.264 ${one} --score-every 1 -vf ${filters} --encode ${out} -y
            echo "${parts}, ${filters}: $(sample .frames) frames encoded, $(whole '"\(.frames) made, reached: \(.reached)"')"
            yes_if "as many bytes" "$(within $(video_bytes ${out}) "$(sample .size)" 4)"
            yes_if "the same score" "$(whole .score) == $(sample .score)"
        done
    done
}

# What is cut off or damaged is told, and what is whole is not.
crf_damage(){
    clip in.mkv 4
    ff -i ${in} -f lavfi -i sine=d=3 -map 0 -map 1 -c:v copy -c:a aac ${tmp}/av.mkv
    printf '1\n00:00:00,100 --> 00:00:09,000\nwords\n\n' > ${tmp}/words.srt
    ff -i ${tmp}/av.mkv -i ${tmp}/words.srt -map 0 -map 1 -c copy ${tmp}/words.mkv
    ff -ss 1 -i ${tmp}/av.mkv -c copy ${tmp}/later.mp4
    ff -i ${tmp}/av.mkv -c copy -movflags faststart ${tmp}/av.mp4
    ff -i ${tmp}/av.mkv -c copy ${tmp}/av.ts
    short="${one} --cache false --samples 1 --sample-duration 200ms"
    for n in in.mkv av.mkv words.mkv later.mp4 av.mp4 av.ts; do
        says "whole ${n}" -i ${tmp}/${n} ${short}
    done
    for n in av.mkv av.mp4; do
        for percent in 98 90 50; do
            head -c $(($(wc -c < ${tmp}/${n}) * percent / 100)) ${tmp}/${n} > ${tmp}/cut.${n}
            says "${percent} % of ${n}" -i ${tmp}/cut.${n} ${short} | sed '2s/: .*/: how much/'
        done
        sed -n 's/.*cut off: \([0-9.]*\) s are missing, as its video ends at \([0-9.]*\) s.*/\1 + \2/p' ${tmp}/err > ${tmp}/told
        yes_if "what is missing" "$(within "($(cat ${tmp}/told))" 4 0.1)"
        says "half of ${n}, accepted" -i ${tmp}/cut.${n} ${one} --cache false --accept-damage --encode ${out} -y | sed '2s/: .*/: how much/; 3d'
    done
    # a region of junk
    size=$(wc -c < ${in})
    { head -c $((size / 2)) ${in}; printf %500s ""; tail -c +$((size / 2 + 501)) ${in}; } > ${tmp}/junk.mkv
    all_say << 'END' | sed 's/damaged.*/damaged where/'
junk|-i ${tmp}/junk.mkv ${short}
junk, encode|-i ${tmp}/junk.mkv ${short} --encode ${out} -y
junk, accepted|-i ${tmp}/junk.mkv ${one} --accept-damage --encode ${out} -y
junk, verified|-i ${in} --verify ${tmp}/junk.mkv --target-loss 100
END
    # of which only the decoder tells: what was accepted once is not in the cache for others
    ff -i ${in} -c copy ${tmp}/in.mp4
    { head -c $((size / 2)) ${tmp}/in.mp4; printf %500s ""; tail -c +$((size / 2 + 501)) ${tmp}/in.mp4; } > ${tmp}/junk.mp4
    all_say -i ${tmp}/junk.mp4 ${one} << 'END' | sed 's/damaged.*/damaged where/'
junk, accepted|--accept-damage
junk, no longer accepted|
END
}

# Size and time that are predicted.
crf_predict(){
    # scenes that differ in what they take, and 5 s of each
    ff -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t 60 \
        -vf "crop=192:144:x='mod(n*(1+3*gt(mod(floor(n/125)*7,11),5)),250)':y='mod(n,150)*lt(mod(floor(n/125)*5,7),4)',format=yuv420p" \
        -c:v libx264 -preset ultrafast -qp 10 ${tmp}/scenes.mkv
    search="-i ${tmp}/scenes.mkv ${one} -g 25"
    source=$(video_bytes ${tmp}/scenes.mkv)
    found ${search} --sample-duration 60s --encode ${out}
    whole=$(video_bytes ${out})
    yes_if "all of it is exact" "$(done_ '.predicted_encode_size_max - .predicted_encode_size_min') == 0 && $(within "$(done_ .predicted_encode_size)" ${whole} 4)"
    # the encode may have more frames than the source, or fewer
    for filter in fps=50 framestep=2; do
        found ${search} --sample-duration 60s -vf ${filter}
        yes_if "${filter}: all of it is exact" "$(done_ '.predicted_encode_size_max - .predicted_encode_size_min') == 0 && $(within "$(done_ .predicted_encode_seconds)" "$(sample .encode_seconds)" 1e-6)"
        found ${search} --sample-duration 15s --samples 3 -vf ${filter}
        yes_if "${filter}: a part is not" "$(done_ '.predicted_encode_size_max - .predicted_encode_size_min') > 0"
    done
    # a file without times
    ff -i ${tmp}/scenes.mkv -t 4 -c copy ${tmp}/scenes.264
    found -i ${tmp}/scenes.264 ${one} -t 2
    yes_if "a part of it is exact" "$(done_ .predicted_encode_size) == $(sample .size)"
    # scenes that differ so much that the range begins at 0
    found ${search} --to 20 --sample-duration 1s --samples 2
    done_ '"from \(.predicted_encode_size_min)"'
    for options in "" "--samples 1" "--samples 5"; do
        found ${search} --sample-duration 2s ${options}
        done_ '"\(.predicted_encode_size) \(.predicted_encode_percent) \(.predicted_encode_size_min) \(.predicted_encode_size_max)"' > ${tmp}/predicted
        read -r size percent least most < ${tmp}/predicted
        echo "${options}: of $(sample .sample | wc -l) samples"
        yes_if "the size is the percentage of the source's" "$(within ${size} "${percent} / 100 * ${source}" 1)"
        case ${options} in
        *1) echo "range: ${least} ${most}" ;;
        *)  yes_if "the whole is in a range that is not wide" "${least} < ${whole} && ${whole} < ${most} && ${most} - ${least} < 0.8 * ${size}" ;;
        esac
        # and so in the text
        ffcrf ${search} --sample-duration 2s ${options} || echo "status $?"
        yes_if "the same in the text" "$(sed -n "s/^CRF.*about \([0-9.]*\) MB.*, \([0-9.]*\) % of the \([0-9.]*\) MB of.*/$(
            within '\1' "${size} \/ 1e6" 0.0051) \&\& $(within '\2' ${percent} 0.051) \&\& $(within '\3' "${source} \/ 1e6" 0.0051)/p" ${tmp}/out)"
    done
    # scoring takes far more time here than encoding
    clip in.mkv 1
    for metric in ssim=0.1 mad=100; do
        found -i ${in} ${fast} --target-${metric%=*} ${metric#*=} --crf 40 --score-every 1
        done_ .predicted_encode_seconds
    done > ${tmp}/seconds
    yes_if "the time is that of the encode" "$(tail -n 1 ${tmp}/seconds) < 0.3 + 4 * $(head -n 1 ${tmp}/seconds)"
}

# Frames that do not fit are decoded again, and nothing else changes.
crf_memory(){
    clip in.mkv 1.5
    for metric in loss=10 ssim=0.95; do
        for memory in 1G 500k 1; do
            found -i ${in} ${fast} --target-${metric%=*} ${metric#*=} --samples 2 --sample-duration 400ms --cache false --memory ${memory}
            echo "${metric%=*}, ${memory}: $(grep -c 'decoded again' ${tmp}/err) again"
            jq -c 'del(.encode_seconds, .predicted_encode_seconds)' ${json} > ${tmp}/${memory}
            same "${metric%=*}" ${tmp}/1G ${tmp}/${memory}
        done
    done
}

# Where samples are, how many, and what is made of their scores.
crf_samples(){
    clip in.mkv 4
    for options in "" "--samples 2" "--samples 2 --sample-duration 500ms" "--sample-every 1s --sample-duration 0.2s" \
                   "--sample-every 00:00:02 --min-samples 3 --sample-duration 200ms" "--samples 4 --sample-duration 1s"; do
        found -i ${in} ${fast} --target-loss 10 ${options}
        echo "${options}: $(sample '"\(.start) \(.frames) \(.scored_frames)"' | sort -un | tr '\n' ';')"
    done
    search="-i ${in} ${fast} --metric loss --samples 3 --sample-duration 500ms --score-every 1"
    for options in "--pool mean" "--pool worst" "--pool p5" "--pool p50"; do
        found ${search} --target 12 ${options}
        crf=$(done_ .crf)
        score=$(done_ .score)
        sample "select(.crf == ${crf}).score" | sort -n > ${tmp}/samples
        yes_if "${options}: reached" "${score} <= 12"
        # a cache of that CRF alone has the scores of all frames
        FFCRF_CACHE=${tmp}/one
        ffcrf ${search} --crf ${crf}
        for entry in $(find ${tmp}/one -type f); do sed '1,/^frames/d; /^end/d' ${entry}; done | sort -n > ${tmp}/scores
        rm -r ${tmp}/one
        FFCRF_CACHE=${tmp}/cache
        awk -v options="${options}" -v score=${score} -v worst=$(tail -n 1 ${tmp}/samples) '
            { v[NR] = $1; sum += $1 }
            END {
                p = options ~ /p5$/ ? 95 : 50
                at = p / 100 * (NR - 1)
                i = int(at)
                e = options ~ /mean/ ? sum / NR : options ~ /worst/ ? worst : v[i + 1] + (v[i + 2] - v[i + 1]) * (at - i)
                d = e - score
                print options ": " (d * d < 1e-10 ? "right" : "WRONG, " e " and not " score) " of " NR
            }' ${tmp}/scores
    done
}

# Disks that are full: of the cache, of the encode.
crf_disk(){
    clip in.mkv 4
    for blocks in 1 40; do
        rm -rf ${tmp}/cache
        # no file may have more than so many blocks
        (trap '' XFSZ
         ulimit -f ${blocks}
         run ffcrf${PROGSUF}${EXECSUF} -i ${in} ${fast} --metric ssim --crf 15 --score-every 1 --encode ${out} -y 2>&1
         echo "status $?") 2>&1 | tee ${tmp}/messages >&2
        sed -n "s,${tmp},folder,g; s/^\[[^]]*\] //; /annot write\|stopped\|cannot be written\|could not\|status/p" ${tmp}/messages |
            sed "s/^/${blocks}: /"
        find ${tmp} -name '*.tmp' -type f -o -name '*.part*'
        find ${tmp}/cache -type f -exec tail -n 1 {} \; | sort -u
    done
}

# What the memory checker says of the ways through the program.
crf_leaks(){
    test -z "${target_exec}" || { skip "runs under ${target_exec} already"; return 0; }
    need valgrind || return 0
    grep -q __asan_init ffcrf${PROGSUF}${EXECSUF} && { skip "built with another checker of memory"; return 0; }
    clip in.mkv 0.2
    head -c $(($(wc -c < ${in}) / 2)) ${in} > ${tmp}/cut.mkv
    target_exec="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"
    good="-i ${in} ${fast} -threads 1 --min-crf 30 --max-crf 30"
    while read -r name options; do
        eval ffcrf ${options}
        echo "${name}: status $?"
    done << END
part   ${good} --memory 1 --cache false --target-ssim 0.1 -ss 0.04 --to 0.16 -vf hflip --reference-vfilter hflip --keyint 1s --enc tune=film --pool p5
none   ${good} --target-loss 0
cut    -i ${tmp}/cut.mkv ${fast} --target-loss 10
option ${good} --target-loss 60 -tune frobnicate
encode ${good} --target-loss 60 --encode ${out}
END
}

# The examples of the documentation, as they are printed. That of a GPU is in tests/gpu.sh.
crf_docs(){
    clip plain.mkv 1 192:144
    ff -i ${tmp}/plain.mkv -f lavfi -i sine=d=1 -c:v copy -c:a aac ${tmp}/in.mp4
    ff -i ${tmp}/in.mp4 -c:v libx264 -crf 20 -c:a copy ${out}
    sed -n '/^@example/,/^@end example/{/nvenc/d; /^ffcrf /p;}' ${base}/../doc/ffcrf.texi > ${tmp}/examples
    FFCRF_CACHE=${PWD}/${tmp}/cache
    PATH=${target_path}:${PATH}
    while read -r line; do
        (cd ${tmp} && sh -c "${line}" > log 2> messages < /dev/null
         echo "status $?: ${line}"
         cat messages >&2
         case ${line} in
         *--json*) grep -c . log ;;
         *)        head -n 1 log | sed 's/[0-9.]\{1,\}/N/g' ;;
         esac)
    done < ${tmp}/examples
}

# Built with the libraries as a system has them, it does the same.
crf_alone(){
    need pkg-config || return 0
    system=$(readlink -f ${tmp})/system
    unset MAKEFLAGS MFLAGS MAKELEVEL
    make install-headers install-libs DESTDIR=${system} > ${tmp}/log 2>&1 &&
        find ${system} -name '*.pc' -exec sed -i "s,=/,=${system}/," {} + &&
        PKG_CONFIG_PATH=$(dirname $(find ${system} -name libavutil.pc)):${PKG_CONFIG_PATH} \
            make -C ${base}/../tools/crf install BUILD=${system} DESTDIR=${system}/root PREFIX=/usr \
            PKG_CONFIG="pkg-config --static" >> ${tmp}/log 2>&1 || { tail -n 25 ${tmp}/log; return; }
    clip in.mkv 1
    search="-i ${in} ${fast} --target-loss 10 --cache false"
    for alone in ${program} ${system}/root/usr/bin/ffcrf; do
        ${alone} ${search} --json 2>&1 | jq -Rc 'fromjson? | select(.type == "crf-search-done") | [.crf, .score]'
    done > ${tmp}/both
    test $(uniq ${tmp}/both | wc -l) = 1 && test $(wc -l < ${tmp}/both) = 2 && echo "the same CRF and score" || cat ${tmp}/both
    find ${system}/root -type f | sed "s,${system}/root,," | sort
}
