# shellcheck shell=sh disable=SC2010,SC2012,SC2044,SC2046,SC2086,SC2154
# Tests of ffcrf, for CMD in tests/fate/quality.mak: they come after tests/filters/common.sh.
# What an encoder makes differs from version to version, so the tests compare ffcrf
# with what ffmpeg makes of the same, and print what must be so for any version.
# SPDX-License-Identifier: LGPL-2.1-or-later

export FFCRF_CACHE=${tmp}/cache
unset XDG_CACHE_HOME
fast="-c:v libx264 -preset ultrafast --max-encoded-percent 1000"
json=${tmp}/json

# Runs ffcrf, with its standard output in ${tmp}/out and its messages in ${tmp}/err.
ffcrf(){
    status=0
    run ffcrf${PROGSUF}${EXECSUF} "$@" > ${tmp}/out 2> ${tmp}/err || status=$?
    cat ${tmp}/err >&2
    return ${status}
}

# The same with --json, whose lines are all checked to be JSON.
ffcrf_json(){
    ffcrf "$@" --json
    jq -c . ${tmp}/out > ${json} || echo "no JSON"
    return ${status}
}

# A camera that goes over a photograph.
clip(){ # name seconds [size]
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm \
        -t $2 -vf crop=${3:-192:144}:x=2*n:y=n,format=yuv420p -c:v libx264 -preset ultrafast -qp 4 ${tmp}/$1
}

# What a filter of jq gives of the lines of a type.
of_type(){ # type filter
    jq -r "select(.type == \"$1\") | $2" ${json}
}

yes_if(){ # what condition-in-awk
    awk "BEGIN { print \"$1: \" (($2) ? \"yes\" : \"NO, $2\") }"
}

# Runs the command, as it is but for these options, and moves what it makes.
run_command(){ # output
    grep -e ' -nostdin ' ${tmp}/out > ${tmp}/command || { echo "no command"; return; }
    sed 's/ -nostdin / -nostdin -v error -y /' ${tmp}/command > ${tmp}/command.sh
    made=$(eval "set -- $(cat ${tmp}/command)"; eval "printf '%s' \"\${$#}\"")
    ${target_exec} sh ${tmp}/command.sh < /dev/null && mv "${made}" $1
}

# Whether two files have the same packets.
same_packets(){ # name file file streams
    for f in 2 3; do
        run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i "$(eval "printf '%s' \"\${$f}\"")" -map ${4:-0} -c copy -f framecrc - > ${tmp}/packets.${f}
    done
    same "$1" ${tmp}/packets.2 ${tmp}/packets.3
}

video_bytes(){ # file
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i $1 -map 0:v:0 -c copy -f framecrc - |
        awk -F', *' '!/^#/ { sum += $5 } END { print sum + 0 }'
}

# The mean of a metric by ffmpeg's own commands, over all frames.
measure(){ # metric source encode
    count="settb=1/25,setpts=N"
    case $1 in
    loss)
        run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i $3 -i $2 -an -lavfi "[0]${count}[a];[1]${count}[b];[a][b]detailloss,${print}:key=lavfi.detailloss.loss" ${to_null} ;;
    ssim)
        run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i $3 -i $2 -an -lavfi "[0]${count}[a];[1]${count}[b];[a][b]ssim,${print}:key=lavfi.ssim.All" ${to_null} ;;
    mad)
        run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i $3 -i $2 -an -lavfi "[0]${count}[a];[1]${count}[b];[a][b]mad,${print}:key=lavfi.mad.score" ${to_null} ;;
    esac | awk -F= '/^lavfi/ { sum += $2; n++ } END { print sum / n }'
}

# What a filter says at its end of all frames: libvmaf with a model, or the worst plane of xpsnr.
summary(){ # filter source encode [model [options]]
    case $1 in
    libvmaf) bits="format=yuv420p10,"
             test "${4#*v0.}" = "$4" || bits=
             model=$(printf '%s' "$4" | sed 's/:/\\:/g')
             run ffmpeg${PROGSUF}${EXECSUF} -v info -nostdin -i $3 -i $2 -an -lavfi "[0]${bits}settb=1/25,setpts=N[a];[1]${bits}settb=1/25,setpts=N[b];[a][b]libvmaf=model='${model}'$5" ${to_null} 2>&1 |
                 sed -n 's/.*VMAF score: //p' ;;
    xpsnr)   run ffmpeg${PROGSUF}${EXECSUF} -v info -nostdin -i $3 -i $2 -an -lavfi "[1][0]xpsnr" ${to_null} 2>&1 |
                 sed -n 's/.*minimum: \([0-9.]*\)).*/\1/p' ;;
    esac
}

# The score of a whole encode, all frames if nothing else is said.
verified(){ # metric source encode options
    metric=$1 in=$2 out=$3
    shift 3
    ffcrf_json -i ${in} --verify ${out} --metric ${metric} --target 1 "$@" > /dev/null
    of_type verify-done .score
}

is_score(){ # name ffcrf's other's
    yes_if "$1" "${2:-0} > 0 && (${2:-0} - ${3:-1}) ^ 2 < 1e-8"
}

# VMAF by all of its models, as libvmaf has it of the same pair.
crf_vmaf(){
    clip in.mkv 2 384:288
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -c:v libx264 -preset ultrafast -crf 33 ${tmp}/out.mkv
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -c:v ffv1 -pix_fmt yuv420p10 ${tmp}/out10.mkv
    bands=:cambi.enc_bitdepth=8
    while read -r name model; do
        is_score "${name}" "$(verified vmaf ${tmp}/in.mkv ${tmp}/out.mkv --vmaf-model ${name} --score-every 1)" \
                           "$(summary libvmaf ${tmp}/in.mkv ${tmp}/out.mkv "${model}")"
    done << END
v1                      version=vmaf_v1.0.16_3d0h${bands}
4k                      version=vmaf_v1.0.16_1d5h_2160${bands}
phone                   version=vmaf_v1.0.16_5d0h${bands}
v0.6.1                  version=vmaf_v0.6.1
v0.6.1-4k               version=vmaf_4k_v0.6.1
v0.6.1-phone            version=vmaf_v0.6.1:enable_transform=true
vmaf_v1.0.16_hfr_3d0h   version=vmaf_v1.0.16_hfr_3d0h${bands}
vmaf_v0.6.1neg          version=vmaf_v0.6.1neg
END
    is_score "of 10 bits" "$(verified vmaf ${tmp}/in.mkv ${tmp}/out10.mkv --score-every 1)" \
                          "$(summary libvmaf ${tmp}/in.mkv ${tmp}/out10.mkv version=vmaf_v1.0.16_3d0h)"
    # some frames: motion is that from one frame to the next nevertheless
    is_score "one of 3" "$(verified vmaf ${tmp}/in.mkv ${tmp}/out.mkv --score-every 3)" \
                        "$(summary libvmaf ${tmp}/in.mkv ${tmp}/out.mkv version=vmaf_v1.0.16_3d0h${bands} :n_subsample=3)"
    of_type verify-done .scored_frames
    # of 2160 lines, the model that is made for them
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -vf scale=2880:2160 -frames:v 1 -c:v libx264 -preset ultrafast -qp 4 ${tmp}/large.mkv
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/large.mkv -c:v libx264 -preset ultrafast -crf 33 ${tmp}/large.out.mkv
    large=$(verified vmaf ${tmp}/large.mkv ${tmp}/large.out.mkv)
    is_score "of 2160 lines" "${large}" "$(verified vmaf ${tmp}/large.mkv ${tmp}/large.out.mkv --vmaf-model 4k)"
    yes_if "which is another" "(${large} - $(verified vmaf ${tmp}/large.mkv ${tmp}/large.out.mkv --vmaf-model vmaf_v1.0.16_3d0h)) ^ 2 > 0.01"
    # a file, whose name needs all quotes that there are
    name="${tmp}/a b:c'd,e;[f]=%.json"
    cat > "${name}" << 'END'
{"param_dict": {"norm_type": "none", "score_clip": [0, 100]},
 "model_dict": {"model_type": "LIBSVMNUSVR", "norm_type": "none", "score_clip": [0, 100],
  "feature_names": ["VMAF_integer_feature_adm2_score"], "feature_opts_dicts": [{}],
  "model": "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho -3\nSV\n50 1:1\n"}}
END
    cp "${name}" ${tmp}/plain.json
    is_score "a file" "$(verified vmaf ${tmp}/in.mkv ${tmp}/out.mkv --score-every 1 --vmaf-model "${name}")" \
                      "$(summary libvmaf ${tmp}/in.mkv ${tmp}/out.mkv path=${tmp}/plain.json)"
    # it is searched as by any other metric
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-vmaf 90 --score-every 1 --encode ${tmp}/found.mkv || echo "status $?"
    found=$(of_type verify-done .score)
    yes_if "reached, within the tolerance" "${found} >= 90 && ${found} <= 91"
    yes_if "as searched" "(${found} - $(of_type crf-search-done .score)) ^ 2 < 1e-10"
    yes_if "at most 5 encodes" "$(of_type sample-encode-done .crf | wc -l) <= 5"
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-vmaf 90 --score-every 1;                       cached "again"
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-vmaf 90 --score-every 1 --vmaf-model v0.6.1;   cached "another model"
    # what is no model
    echo junk > ${tmp}/junk.json
    good="-i ${tmp}/in.mkv ${fast} --target-vmaf 90 --vmaf-model"
    says "no such model" ${good} v9
    says "no such file"  ${good} ${tmp}/none.json
    says "no model"      ${good} ${tmp}/junk.json
    says "no score"      ${good} v1 --target-vmaf 101
    # libvmaf's log is a temporary file
    TMPDIR=${tmp}/none
    export TMPDIR
    says "no TMPDIR"  ${good} v1 --cache false
    TMPDIR="${tmp}/a b,c:d;e'[f]"
    mkdir "${TMPDIR}"
    says "odd TMPDIR" ${good} v1 --cache false --crf 30 --target-vmaf 1
    ls "${TMPDIR}"
    unset TMPDIR
    clip small.mkv 0.2
    says "too small"     -i ${tmp}/small.mkv ${fast} --target-vmaf 90 | grep -v '^libvmaf ERROR'
    verified vmaf ${tmp}/small.mkv ${tmp}/small.mkv --vmaf-model v0.6.1 > ${tmp}/score
    yes_if "not for v0.6.1" "$(cat ${tmp}/score) > 90"
}

# XPSNR as its filter has it: the worst plane of all frames.
crf_xpsnr(){
    clip in.mkv 2
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -c:v libx264 -preset ultrafast -crf 33 ${tmp}/y.mkv
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -vf "lutyuv=v=val+mod(val\,5)*4" -c:v libx264 -preset ultrafast -crf 23 ${tmp}/v.mkv
    for n in y v; do
        # to the four digits that it prints
        score=$(verified xpsnr ${tmp}/in.mkv ${tmp}/${n}.mkv)
        yes_if "worst in ${n}" "${score} > 20 && (${score} - $(summary xpsnr ${tmp}/in.mkv ${tmp}/${n}.mkv)) ^ 2 < 1e-8"
    done
    echo "identical: $(verified xpsnr ${tmp}/in.mkv ${tmp}/in.mkv)"
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-xpsnr 36 --encode ${tmp}/found.mkv || echo "status $?"
    found=$(of_type verify-done .score)
    yes_if "reached, within the tolerance" "${found} >= 36 && ${found} <= 36.3"
    yes_if "as searched" "(${found} - $(of_type crf-search-done .score)) ^ 2 < 1e-10"
    yes_if "at most 5 encodes" "$(of_type sample-encode-done .crf | wc -l) <= 5"
    says "all frames" -i ${tmp}/in.mkv ${fast} --target-xpsnr 36 --score-every 2
}

# Which metrics there are depends on the filters that are built in.
crf_metrics(){
    clip in.mkv 1 320:240
    run ffmpeg${PROGSUF}${EXECSUF} -v quiet -filters > ${tmp}/filters
    there='' first='' lacks=''
    for pair in vmaf=libvmaf loss=detailloss ssim=ssim xpsnr=xpsnr mad=mad; do
        if grep -q " ${pair#*=} " ${tmp}/filters; then
            there="${there}${there:+, }${pair%=*}"
            first=${first:-${pair%=*}}
        else
            lacks="${lacks} ${pair%=*}"
        fi
    done
    ffcrf_json -i ${tmp}/in.mkv ${fast}
    of_type crf-search-done '"\(.metric) \(.target)"' > ${tmp}/default
    case ${first} in
    vmaf) echo "vmaf 95" ;;
    *)    echo "${first} 5" ;;
    esac > ${tmp}/first
    same "the default is the first that is there" ${tmp}/first ${tmp}/default
    test -n "${lacks}" || skipped "${test}, a filter that is lacking" "all are there"
    for metric in ${lacks}; do
        says lacking -i ${tmp}/in.mkv ${fast} --metric ${metric} --target 1 > ${tmp}/said
        test "$(sed 's/no filter .*, which/no filter, which/; s/: take .*//' ${tmp}/said | paste -sd' ')" = \
            "lacking: status 2 This FFmpeg has no filter, which the metric ${metric} needs. It has those of ${there}" || cat ${tmp}/said
    done
    # all of them on one sample
    ffcrf_json -i ${tmp}/in.mkv ${fast} --probe --sample-duration 400ms || echo "status $?"
    of_type probe-done .metric | uniq | paste -sd, | sed 's/,/, /g' > ${tmp}/probed
    echo "${there}" > ${tmp}/there
    same "all are probed" ${tmp}/there ${tmp}/probed
    of_type probe-done 'keys_unsorted | join(" ")' | uniq
    of_type probe-done 'select(.metric == "ssim") | "\(.crf): \(.frames) \(.scored_frames)"'
    yes_if "by falling quality" "$(of_type probe-done 'select(.metric == "ssim") | .score' | sort -cgr 2>&1 | wc -l) == 0"
    yes_if "time is told" "$(of_type probe-done 'select(.score_seconds > 0 and .score_seconds < 60).crf' | wc -l) == 5 * $(of_type probe-done .metric | uniq | wc -l)"
    probed=$(of_type probe-done 'select(.metric == "ssim" and .crf == 28).score')
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-ssim 0 --min-crf 28 --max-crf 28 --samples 1 --sample-duration 400ms
    is_score "as in a search" ${probed} $(of_type sample-encode-done .score)
    ffcrf -i ${tmp}/in.mkv ${fast} --probe --sample-duration 400ms || echo "status $?"
    awk 'NR < 3 || /^ssim/ { $NF = NR > 2 && $NF > 0 ? "time" : $NF; print $1, NF }' ${tmp}/out
    wc -l < ${tmp}/out > ${tmp}/lines
    yes_if "a line for each" "$(cat ${tmp}/lines) == 2 + $(tr ' ' '\n' < ${tmp}/there | wc -l)"
    says "probe alone" -i ${tmp}/in.mkv ${fast} --probe --encode ${tmp}/out.mkv
}

# The command that is printed makes what was found: as many bytes, and the same score.
# Scores of so small a clip jump by more than a point from one whole CRF to the next.
crf_search(){ # encoder options [bytes of a frame that files leave out [encodes]]
    clip in.mkv 1
    for target in loss=10=1 ssim=0.95=0.002 mad=20=1; do
        tolerance=${target##*=}
        target=${target%=*}
        metric=${target%%=*}
        ffcrf_json -i ${tmp}/in.mkv $1 --target-${metric} ${target#*=} --score-every 1 || echo "status $?"
        of_type crf-search-done .command > ${tmp}/out
        run_command ${tmp}/out.mkv
        found=$(of_type crf-search-done .score)
        crf=$(of_type crf-search-done .crf)
        sign=1
        test ${metric} = ssim && sign=-1
        yes_if "${metric}: reached"        "${sign} * ${found} <= ${sign} * ${target#*=}"
        test $# -eq 3 || # whole CRFs are too coarse
        yes_if "${metric}: within the tolerance" "(${found} - ${target#*=}) ^ 2 <= ${tolerance} ^ 2"
        yes_if "${metric}: at most ${3:-5} encodes" "$(of_type sample-encode-done .crf | wc -l) <= ${3:-5}"
        measured=$(measure ${metric} ${tmp}/in.mkv ${tmp}/out.mkv)
        yes_if "${metric}: as measured by ffmpeg" "(${measured} - ${found}) ^ 2 < 1e-8 * (1 + ${found} ^ 2)"
        yes_if "${metric}: the command has the CRF" "$(grep -c -e "-crf:v ${crf} " ${tmp}/command) == 1"
        # but for the start codes, of 3 or 4 bytes, which the file has in another form
        yes_if "${metric}: as many bytes"  "($(video_bytes ${tmp}/out.mkv) - $(of_type sample-encode-done "select(.crf == ${crf}).size")) ^ 2 <= (4 + ${2:-0} * 25) ^ 2"
    done
    # what the encoder's library does not know, and what ffmpeg writes so that nothing can read it
    params=$(echo "$1" | sed 's/.*lib\(x26.\|svtav1\).*/-\1-params/')
    says "bad parameter" -i ${tmp}/in.mkv $1 ${params} frobnicate=1 --target-loss 10 --gpu off | head -n 1
    case $1 in
    *libx265*) says "to AVI" -i ${tmp}/in.mkv $1 --target-loss 10 --gpu off --encode ${tmp}/out.avi
                test ! -e ${tmp}/out.avi || echo "a file is left" ;;
    esac
}

# Some frames score about as all do: they are compared with their own.
crf_step(){
    clip in.mkv 2.6
    for metric in loss ssim mad; do
        for step in 1 3 4; do
            ffcrf_json -i ${tmp}/in.mkv ${fast} --metric ${metric} --target 0 --min-crf 34 --max-crf 34 --score-every ${step}
            score=$(of_type sample-encode-done .score)
            test ${step} -gt 1 || all=${score}
            echo "${metric}: $(of_type sample-encode-done .scored_frames) frames"
            yes_if "as all" "(${score} - ${all}) ^ 2 <= (0.15 * ${all}) ^ 2"
        done
    done
}

# All CRFs one by one, against the search.
crf_scan(){
    clip in.mkv 1
    for goal in 5 20; do
        best=0
        for crf in $(seq 10 46); do
            ffcrf -i ${tmp}/in.mkv ${fast} --target-loss ${goal} --min-crf ${crf} --max-crf ${crf} || break
            best=${crf}
        done
        ffcrf_json -i ${tmp}/in.mkv ${fast} --target-loss ${goal} --cache false --crf-increment 0.5
        found=$(of_type crf-search-done .crf)
        # scores that go up and down miss the target in more than one place
        missed=0
        for more in 0.5 1; do
            ffcrf -i ${tmp}/in.mkv ${fast} --target-loss ${goal} --crf $(awk "BEGIN { print ${found} + ${more} }") || missed=1
        done
        yes_if "loss ${goal}: within half a CRF" "${found} >= ${best} - 0.5 && (${found} < ${best} + 1 || ${missed})"
        yes_if "loss ${goal}: at most 5 encodes" "$(of_type sample-encode-done .crf | wc -l) <= 5"
        # none is passed over
        ffcrf_json -i ${tmp}/in.mkv ${fast} --target-loss ${goal} --min-crf $((best - 1)) --max-crf ${best} --crf-increment 1 --tolerance 0
        yes_if "loss ${goal}: the better one of two" "$(of_type crf-search-done .crf) == ${best}"
    done
}

cached(){ # what
    echo "$1: $(of_type sample-encode-done .from_cache | sort -u | tr '\n' ' ')"
}

# What was found is found again, unless anything is another.
crf_cache(){
    clip in.mkv 1
    search="-i ${tmp}/in.mkv ${fast} --target-loss 10"
    ffcrf_json ${search}
    cached first
    cp ${json} ${tmp}/first
    start=$(date +%s%N)
    ffcrf_json ${search}
    end=$(date +%s%N)
    cached again
    yes_if "within a second" "${end} - ${start} < 1e9"
    for n in first json; do
        jq -c 'select(.type == "crf-search-done")' ${tmp}/${n} > ${tmp}/${n}.done
    done
    same "found again" ${tmp}/first.done ${tmp}/json.done
    ffcrf_json ${search} --cache false;            cached "cache false"
    ffcrf_json ${search} -g 10;                    cached "another option"
    ffcrf_json ${search} -pix_fmt yuv444p;         cached "another format"
    ffcrf_json ${search} -vf hflip;                cached "another filter"
    ffcrf_json ${search} --score-every 2;          cached "other frames"
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-ssim 0.9; cached "another metric"
    cp ${tmp}/in.mkv ${tmp}/kept.mkv
    cp ${tmp}/kept.mkv ${tmp}/in.mkv
    ffcrf_json ${search};                          cached "another time of change"
    clip in.mkv 1.2
    ffcrf_json ${search};                          cached "another content"
    # damage: cut off, empty, of another entry
    for entry in $(find ${tmp}/cache -type f); do
        head -c $(($(wc -c < ${entry}) - 3)) ${entry} > ${tmp}/cut && cp ${tmp}/cut ${entry}
    done
    ffcrf_json ${search};                          cached "cut off"
    for entry in $(find ${tmp}/cache -type f); do : > ${entry}; done
    ffcrf_json ${search};                          cached "empty"
    for entry in $(find ${tmp}/cache -type f); do echo junk > ${entry}; done
    ffcrf_json ${search};                          cached "junk"
    ffcrf_json ${search};                          cached "mended"
    # where nothing can be kept
    touch ${tmp}/file
    FFCRF_CACHE=${tmp}/file/cache
    ffcrf_json ${search} || echo "status $?"
    cached "no folder"
    sed "s,${tmp},folder,g" ${tmp}/err | grep cache
    FFCRF_CACHE=
    XDG_CACHE_HOME=${PWD}/${tmp}/xdg
    export XDG_CACHE_HOME
    ffcrf_json ${search}
    test -n "$(ls ${tmp}/xdg/ffcrf)" && echo "XDG_CACHE_HOME: kept"
}

# Interrupted at any moment, it goes on where it was, measures nothing twice, and finds the same.
crf_resume(){
    clip in.mkv 3
    search="-i ${tmp}/in.mkv -c:v libx264 -preset medium --max-encoded-percent 1000 --target-loss 10 --samples 3 --sample-duration 700ms --tolerance 0 --json"
    begin=$(date +%s%N)
    ffcrf_json ${search}
    end=$(date +%s%N)
    cp ${json} ${tmp}/first
    nb=$(of_type sample-encode-done .crf | wc -l)
    yes_if "an entry for each sample of each CRF" "${nb} == $(ls ${tmp}/cache | wc -l)"
    test ${nb} -gt 0 || { echo "the search found nothing"; return; }
    ffcrf_json ${search}
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
            env --default-signal=INT ${target_path}/ffcrf${PROGSUF}${EXECSUF} ${search} >> ${tmp}/runs 2> ${tmp}/err &
            if test ${n} -lt 20; then
                # until about as long as two encodes have taken
                sleep $(awk "BEGIN { print (${from_cache} + ${seed} / 2147483648 * 2 * (${end} - ${begin}) / ${nb}) / 1e9 }")
                kill -${signal} $! 2> /dev/null
            fi
            status=0
            wait $! 2> /dev/null || status=$?
            case ${status} in
            130) tail -n 1 ${tmp}/err >> ${tmp}/told ;;
            esac
            test ${status} = 0 || n=$((n + 1))
        done
        jq -Rc 'fromjson? | select(.type == "sample-encode-done" and (.from_cache | not)) | [.sample, .crf]' ${tmp}/runs | sort | uniq -d >> ${tmp}/twice
        for entry in $(find ${tmp}/cache -type f ! -name '*.tmp'); do tail -n 1 ${entry}; done | sort -u
        jq -Rc 'fromjson? | select(.type == "crf-search-done") | del(.predicted_encode_seconds)' ${tmp}/runs > ${tmp}/json.done
        jq -c 'select(.type == "crf-search-done") | del(.predicted_encode_seconds)' ${tmp}/first > ${tmp}/first.done
        same "found the same" ${tmp}/first.done ${tmp}/json.done
        test "$(find ${tmp}/cache -type f ! -name '*.tmp' | wc -l)" = ${nb} || echo "other encodes were made"
    done > ${tmp}/rounds
    sort -u ${tmp}/rounds
    sort -u ${tmp}/told
    echo "interrupted ${n} times, measured twice: $(wc -l < ${tmp}/twice)"
    rm -r ${tmp}/cache
    env --default-signal=INT ${target_path}/ffcrf${PROGSUF}${EXECSUF} ${search} > ${tmp}/out 2> ${tmp}/err &
    sleep 0.2
    kill -TERM $!
    wait $!
    echo "TERM: status $?"
}

# The status, and what is said.
says(){ # name arguments...
    name=$1
    shift
    ffcrf "$@"
    status=$?
    echo "${name}: status ${status}"
    grep -v '^CRF\|^Scoring on\|^\[' ${tmp}/err | sed "s,${tmp},folder,g; s,[0-9.]* %,N %,; s,\(loss\|CRF\) [0-9][0-9.]*,\1 N,g; s,ffcrf-[A-Za-z0-9]\{6\},ffcrf-N,; s,[0-9.]* s\b,N s,g"
}

crf_status(){
    clip in.mkv 1
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -f lavfi -i sine=d=1 -c:a pcm_s16le ${tmp}/audio.mkv
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -f lavfi -i color=black:size=160x120:d=1 -c:v ffv1 ${tmp}/black.mkv
    clip whole.mp4 1
    head -c 20000 ${tmp}/whole.mp4 > ${tmp}/cut.mp4
    head -c $(($(wc -c < ${tmp}/in.mkv) / 2)) ${tmp}/in.mkv > ${tmp}/cut.mkv
    : > ${tmp}/empty.mkv
    echo "no video" > ${tmp}/text.txt
    in="-i ${tmp}/in.mkv"
    good="${in} ${fast} --target-loss 10"
    says found        ${good}
    says "not reachable" ${in} ${fast} --target-loss 0 --min-crf 40
    says "too large"  ${good} --max-encoded-percent 0.5
    says "no input"   ${fast} --target-loss 10
    says "no encoder" ${in} --target-loss 10
    says "no target"  ${in} ${fast} --metric ssim
    says "two targets" ${good} --target-ssim 0.9
    says "bad target" ${in} ${fast} --target-ssim 3
    says "bad metric" ${in} ${fast} --metric psnr --target 40
    says "bad pool"   ${good} --pool p99
    says "bad range"  ${good} --min-crf 30 --max-crf 20
    says "bad duration" ${good} --sample-every 12x
    says "no value"   ${good} --samples
    says "bad value"  ${good} --samples many
    says "a CRF"      ${good} -crf 20
    says "stray word" ${good} out.mkv
    says "unknown option" ${good} -frobnicate 1
    says "one without a value" -i ${tmp}/in.mkv -an -c:v libx264 --target-loss 10
    says "of ab-av1"      ${good} --thorough --samples 1
    says "no such target" ${in} ${fast} --min-psnr 40
    says "no encoder's"   ${in} --verify ${tmp}/in.mkv -frobnicate 1 --target-loss 10
    says "no samples"     ${good} --samples 0
    says "score none"     ${good} --score-every 0
    says "no CRF between" ${good} --min-crf 21 --max-crf 24 --crf-increment 5
    says "one CRF between" ${good} --min-crf 21 --max-crf 24 --crf-increment 7 --target-loss 90
    says "audio option"   ${good} -b:a 1
    says "unknown encoder" ${in} -c:v libx999 --target-loss 10
    says "audio encoder"   ${in} -c:v aac --target-loss 10
    says "no CRF encoder"  ${in} -c:v ffv1 --target-loss 10
    says "bad format" ${good} -pix_fmt yuv999p
    says "bad filter" ${good} -vf frobnicate
    says "bad encoder option" ${good} -tune frobnicate
    says "bad parameter"  ${good} -x264-params frobnicate=1
    says "bad value of a parameter" ${good} -x264-params ref=many
    says "odd size"       ${good} -vf scale=191:144
    says "no file"    -i ${tmp}/none.mkv ${fast} --target-loss 10
    says "a folder"   -i ${tmp} ${fast} --target-loss 10
    says "empty file" -i ${tmp}/empty.mkv ${fast} --target-loss 10
    says "a text"     -i ${tmp}/text.txt ${fast} --target-loss 10
    says "no video"   -i ${tmp}/audio.mkv ${fast} --target-loss 10
    says "no index"   -i ${tmp}/cut.mp4 ${fast} --target-loss 10
    says "black"      -i ${tmp}/black.mkv ${fast} --target-loss 10
    says "cut off"    -i ${tmp}/cut.mkv ${fast} --target-loss 10
    says "no GPU 99"  ${good} --gpu 99x
    says "no format of output" ${good} --encode ${tmp}/encode
    says "no format for H.264" ${good} --encode ${tmp}/encode.webm
    says "the input"  ${good} --encode ${tmp}/in.mkv -y
    says "is there"   ${good} --encode ${tmp}/black.mkv
    if test -c /dev/full; then
        run ffcrf${PROGSUF}${EXECSUF} ${good} > /dev/full 2> ${tmp}/err
        echo "full output: status $?"
        tail -n 1 ${tmp}/err
    fi
}

# All that is written is JSON, whatever the names and however it ends.
crf_json(){
    clip in.mkv 1
    name=$(printf 'a"b\\c d\te\303\244.mkv')
    mv ${tmp}/in.mkv "${tmp}/${name}"
    for options in "" "--min-crf 46" "--max-encoded-percent 0.1" "--pool p101" "--encode ${tmp}/out.mkv" "--verify ${tmp}/out.mkv" \
                   "--verify ${tmp}/out.mkv --target-loss 0" "--verify ${tmp}/none.mkv"; do
        ffcrf_json -i "${tmp}/${name}" ${fast} ${options} $(test "${options##* }" = 0 || echo --target-loss 10)
        echo "${options}: status $?: $(jq -r .type ${json} | uniq | tr '\n' ' ')" | sed "s,${tmp},folder,"
    done
    ffcrf_json -i "${tmp}/${name}" ${fast} --target-loss 10
    of_type crf-search-done .command > ${tmp}/out
    run_command ${tmp}/again.mkv
    same_packets "its command" ${tmp}/out.mkv ${tmp}/again.mkv
    of_type sample-encode-done 'keys_unsorted | join(" ")' | uniq
    of_type crf-search-done 'keys_unsorted | join(" ")'
    # names that are no UTF-8: a byte, one cut off, and one that is too long
    name=$(printf 'a\377\303\300\257b\342\202.mkv')
    mv ${tmp}/out.mkv "${tmp}/${name}"
    ffcrf_json -i "${tmp}/${name}" ${fast} --verify "${tmp}/${name}" --target-loss 10
    iconv -f UTF-8 -t UTF-8 ${tmp}/out > ${tmp}/utf8 && same "UTF-8" ${tmp}/out ${tmp}/utf8
    of_type verify-done .file | sed "s,${tmp},folder,"
}

# Times that no encoder's clock has, and frames of all durations.
crf_vfr(){
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t 3 \
        -vf "crop=192:144:x=2*n:y=n,format=yuv420p,select='not(mod(n,3))+not(mod(n,7))',settb=1001/90000,setpts=PTS+mod(N*N\,3)" \
        -fps_mode passthrough -enc_time_base filter -c:v ffv1 ${tmp}/vfr.nut
    ffcrf_json -i ${tmp}/vfr.nut -c:v libx264 -preset veryfast --max-encoded-percent 1000 --target-loss 10 --score-every 1 || echo "status $?"
    of_type sample-encode-done .frames | sort -u
    of_type crf-search-done .command > ${tmp}/out
    run_command ${tmp}/out.mkv
    found=$(of_type crf-search-done .score)
    yes_if "as measured by ffmpeg" "($(measure loss ${tmp}/vfr.nut ${tmp}/out.mkv) - ${found}) ^ 2 < 1e-6"
    ffcrf_json -i ${tmp}/vfr.nut --verify ${tmp}/out.mkv --target-loss 10 --score-every 1 || echo "status $?"
    yes_if "as verified" "($(of_type verify-done .score) - ${found}) ^ 2 < 1e-12"
    # a sample from the middle, and a file that begins late
    ffcrf_json -i ${tmp}/vfr.nut -c:v libx264 -preset veryfast --max-encoded-percent 1000 --target-loss 10 --samples 1 --sample-duration 1200ms || echo "status $?"
    of_type sample-encode-done .frames | sort -u
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/vfr.nut -fps_mode passthrough -enc_time_base filter -output_ts_offset 100 \
        -c:v libx264 -preset ultrafast -qp 4 ${tmp}/late.ts
    ffcrf_json -i ${tmp}/late.ts -c:v libx264 -preset veryfast --max-encoded-percent 1000 --target-loss 10 --samples 1 --sample-duration 1200ms || echo "status $?"
    of_type sample-encode-done .frames | sort -u
    # another number of frames is no encode
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/out.mkv -frames:v 10 -c copy ${tmp}/short.mkv
    says "fewer frames" -i ${tmp}/vfr.nut --verify ${tmp}/short.mkv --target-loss 10
    says "more frames"  -i ${tmp}/short.mkv --verify ${tmp}/out.mkv --target-loss 10
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/out.mkv -vf scale=80:60 -fps_mode passthrough -c:v ffv1 ${tmp}/small.mkv
    says "another size" -i ${tmp}/vfr.nut --verify ${tmp}/small.mkv --target-loss 10
}

# All streams are kept, with what is known of them, and the whole is scored.
crf_encode(){
    cat > ${tmp}/meta << END
;FFMETADATA1
title=a title
[CHAPTER]
TIMEBASE=1/1000
START=0
END=1000
title=one
[CHAPTER]
TIMEBASE=1/1000
START=1000
END=2000
title=two
END
    printf '1\n00:00:00,100 --> 00:00:01,000\nwords\n\n' > ${tmp}/words.srt
    clip plain.mkv 2
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/plain.mkv -f lavfi -i sine=d=2 -f lavfi -i sine=300:d=2 \
        -i ${tmp}/words.srt -i ${tmp}/meta -map 1 -map 0 -map 2 -map 3 -map_metadata 4 -map_chapters 4 \
        -metadata:s:a:1 language=deu -disposition:a:1 default -c:v copy -c:a pcm_s16le -c:s copy ${tmp}/in.mkv
    good="-i ${tmp}/in.mkv ${fast} --target-loss 10 --score-every 1"
    says encode ${good} --encode ${tmp}/out.mkv
    sed -n 's/.*: loss [0-9.]* (target 10) over \([0-9]* of [0-9]* frames\).*/\1/p' ${tmp}/out
    run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,codec_name:stream_disposition=default:stream_tags=language:format_tags=title:chapter=start_time:chapter_tags=title -of compact ${tmp}/out.mkv | grep -v '^$'
    for stream in 0:a:0 0:a:1 0:s:0; do
        same_packets "${stream}" ${tmp}/in.mkv ${tmp}/out.mkv ${stream}
    done
    ls ${tmp} | grep part
    says "is there" ${good} --encode ${tmp}/out.mkv
    ffcrf_json ${good} --encode ${tmp}/out.mkv -y || echo "status $?"
    of_type verify-done '"reached: \(.reached), frames: \(.frames)"'
    yes_if "the whole has the score of the search" "($(of_type verify-done .score) - $(of_type crf-search-done .score)) ^ 2 < 1e-12"
    # what is attached
    echo font > ${tmp}/a.ttf
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${pictures}/chelsea_451x300.pgm -vf scale=64:48 -c:v png ${tmp}/a.png
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/plain.mkv -attach ${tmp}/a.ttf -metadata:s:t:0 mimetype=application/x-truetype-font \
        -attach ${tmp}/a.png -metadata:s:t:1 mimetype=image/png -c copy ${tmp}/attached.mkv
    says "attachments" -i ${tmp}/attached.mkv ${fast} --target-loss 10 --encode ${tmp}/attached.out.mkv
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/attached.mkv -map 0 -c copy ${tmp}/attached.copy.mkv
    for n in out copy; do
        run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,codec_name,extradata_size:stream_tags=filename -of compact ${tmp}/attached.${n}.mkv | grep -v '^$\|h264' > ${tmp}/attached.${n}
    done
    grep -c . ${tmp}/attached.copy
    same "streams as ffmpeg copies them" ${tmp}/attached.copy ${tmp}/attached.out
    # what the output cannot hold is told, or converted
    says "to MP4" ${good} --encode ${tmp}/out.mp4
    run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,codec_name -of compact=nk=1 ${tmp}/out.mp4 2> /dev/null
    says "to a folder that is not" ${good} --encode ${tmp}/none/out.mkv
    says "to an odd name" ${good} --encode "${tmp}/a b'c.mkv"
    cp "${tmp}/a b'c.mkv" ${tmp}/first.mkv
    run_command ${tmp}/again.mkv
    same_packets "names are quoted" ${tmp}/first.mkv ${tmp}/again.mkv
    says "verify: reached" -i ${tmp}/in.mkv --verify ${tmp}/out.mkv --target-loss 20
    says "verify: missed"  -i ${tmp}/in.mkv --verify ${tmp}/out.mkv --target-loss 1
}

# A part of the input: what ffmpeg takes by the same options is what is searched, made and scored.
crf_part(){
    clip in.mkv 4
    # in which ffmpeg goes to places where decoding cannot begin
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -c copy ${tmp}/in.ts
    for n in in.mkv in.ts; do
        for part in "-ss 1.2 --to 3" "-ss 1.2 -t 1.8" "--enc-input ss=00:00:01.2 --enc-input to=3" "-ss 2.5" "--to 1500ms"; do
            search="-i ${tmp}/${n} ${fast} --crf 30 --target-loss 100 --score-every 1 ${part}"
            ffcrf_json ${search} --encode ${tmp}/out.mkv -y || echo "status $?"
            echo "${n} ${part}: $(of_type sample-encode-done '"\(.start) \(.frames)"'), $(of_type verify-done .frames) frames made"
            run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y $(echo "${part}" | sed 's/--enc-input \([a-z]*\)=/-\1 /g; s/--to/-to/') -i ${tmp}/in.mkv \
                -map 0:v -fps_mode passthrough -enc_time_base filter -c:v libx264 -preset ultrafast -crf 30 ${tmp}/again.mkv
            # the clock is another one in MPEG-TS
            test ${n} = in.ts || same_packets "as by ffmpeg" ${tmp}/again.mkv ${tmp}/out.mkv 0:v
            yes_if "the score of the whole" "$(of_type verify-done .score) == $(of_type crf-search-done .score)"
            yes_if "the size of the whole" "($(of_type crf-search-done .predicted_encode_size) - $(of_type verify-done .size)) ^ 2 <= 16"
            ffcrf_json ${search}
            cached "again"
        done
    done
    ffcrf_json ${search} --to 1400ms
    cached "another part"
    ffcrf_json -i ${tmp}/in.mkv ${fast} --metric loss --crf 30 -ss 1 --to 3.5 --samples 2 --sample-duration 400ms
    echo "samples of a part: $(of_type sample-encode-done '"\(.start) \(.frames)"' | tr '\n' ' ')"
    good="-i ${tmp}/in.mkv ${fast} --target-loss 10"
    says "after the end"  ${good} -ss 9
    says "nothing"        ${good} -ss 3 --to 2
    says "-to and -t"     ${good} -t 1 --to 2
    says "no such option" ${good} --enc-input r=25
    says "not the encoder's" ${good} --enc c:v=libx265
}

# The device that decodes changes nothing but the time, or is told not to be there.
crf_hwaccel(){
    clip in.mkv 1
    search="-i ${tmp}/in.mkv ${fast} --target-loss 10"
    ffcrf_json ${search}
    jq -c 'select(.type == "crf-search-done") | del(.predicted_encode_seconds, .command)' ${json} > ${tmp}/cpu
    ffcrf_json ${search} -hwaccel auto || echo "status $?"
    jq -c 'select(.type == "crf-search-done") | del(.predicted_encode_seconds, .command)' ${json} > ${tmp}/auto
    same "auto" ${tmp}/cpu ${tmp}/auto
    says "no such" ${search} -hwaccel frobnicate
    device=$(run ffmpeg${PROGSUF}${EXECSUF} -v error -hwaccels | sed 1d | head -n 1)
    if test -z "${device}"; then
        leave_out told
    elif run ffmpeg${PROGSUF}${EXECSUF} -nostdin -v error -init_hw_device ${device} -version > /dev/null 2>&1; then
        ffcrf_json ${search} -hwaccel ${device}
        yes_if "told" "$(of_type crf-search-done .command | grep -c -e "-hwaccel ${device}") == 1"
    else
        ffcrf ${search} -hwaccel ${device} 2> /dev/null
        yes_if "told" "$? == 2 && $(grep -c "^-hwaccel ${device}: there is no such device" ${tmp}/err) == 1"
        ffcrf ${search} -hwaccel auto 2> /dev/null
        yes_if "told" "$? == 0 && $(grep -c "^Decoding the input on the CPU" ${tmp}/err) == 1"
    fi | sort -u
}

# What is compared with has filters of its own, and the encode has those of -vf.
crf_reference(){
    clip in.mkv 1
    for filters in "scale=96:72 scale=96:72:flags=neighbor" "hflip,scale=128:-2 hflip,scale=128:96:flags=area"; do
        encode=${filters% *}
        reference=${filters#* }
        run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/in.mkv -vf ${reference} -c:v ffv1 ${tmp}/reference.mkv
        for metric in loss ssim; do
            search="-i ${tmp}/in.mkv ${fast} --crf 25 --metric ${metric} --score-every 1 -vf ${encode} --cache false"
            ffcrf_json ${search}
            plain=$(of_type crf-search-done .score)
            for memory in 1G 1; do
                ffcrf_json ${search} --reference-vfilter ${reference} --memory ${memory} --encode ${tmp}/out.mkv -y || echo "status $?"
                found=$(of_type crf-search-done .score)
                measured=$(measure ${metric} ${tmp}/reference.mkv ${tmp}/out.mkv)
                echo "${encode}, ${reference}, ${metric}, memory ${memory}"
                yes_if "as measured by ffmpeg" "(${measured} - ${found}) ^ 2 < 1e-8 * (1 + ${found} ^ 2) && ${found} != ${plain}"
                yes_if "as the whole" "$(of_type verify-done .score) == ${found}"
            done
        done
    done
    ffcrf_json ${search} --reference-vfilter ${encode}
    yes_if "the same filters" "$(of_type crf-search-done .score) == ${plain}"
    says "another size"   -i ${tmp}/in.mkv ${fast} --target-loss 10 -vf scale=96:72 --reference-vfilter null
    says "fewer frames"   -i ${tmp}/in.mkv ${fast} --target-loss 10 --reference-vfilter "select=lt(n\,9)"
}

# Audio is copied, encoded, mixed down or left out.
crf_audio(){
    clip plain.mkv 1
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/plain.mkv -f lavfi -i sine=d=1 -f lavfi -i sine=300:d=1 \
        -map 0 -map 1 -map 2 -c:v copy -c:a pcm_s16le -ac:a:0 6 -ac:a:1 2 ${tmp}/in.mkv
    good="-i ${tmp}/in.mkv ${fast} --target-loss 20 -y --encode"
    while read -r output options; do
        says "${output} ${options}" ${good} ${tmp}/${output} ${options} < /dev/null
        test ! -e ${tmp}/${output} ||
            run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_type,codec_name,channels -of compact=nk=1:p=0 ${tmp}/${output} | grep -v '^$'
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
END
    says "downmix" ${good} ${tmp}/out.mkv --downmix-to-stereo
    run ffprobe${PROGSUF}${EXECSUF} -v error -select_streams a -show_entries stream=codec_name,channels -of compact=nk=1:p=0 ${tmp}/out.mkv |
        sed '1s/^\(opus\|aac\)/encoded/'
}

# Encoders of devices and others that are rarely built, where there are: the command makes what was found.
crf_encoders(){
    clip in.mkv 1
    says "none of FFmpeg's" -i ${tmp}/in.mkv -c:v h264_none --target-loss 20
    run ffmpeg${PROGSUF}${EXECSUF} -v error -encoders > ${tmp}/encoders
    for encoder in librav1e h264_nvenc hevc_nvenc h264_qsv hevc_qsv h264_vaapi hevc_vaapi av1_vaapi; do
        case ${encoder} in
        *_vaapi) upload="-init_hw_device vaapi -vf format=nv12,hwupload" ;;
        *)       upload="-pix_fmt yuv420p" ;;
        esac
        if ! grep -q " ${encoder} " ${tmp}/encoders ||
           ! run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv ${upload} -frames:v 3 -c:v ${encoder} ${to_null} 2> /dev/null; then
            leave_out ${encoder}
            continue
        fi
        ffcrf_json -i ${tmp}/in.mkv -c:v ${encoder} --max-encoded-percent 1000 --target-loss 20 --encode ${tmp}/out.mkv -y
        echo "${encoder}: status $?"
        yes_if "${encoder}, the whole" "($(of_type verify-done .score) - $(of_type crf-search-done .score)) ^ 2 < 0.01"
    done
}

# Command lines of ab-av1.
crf_abav1(){
    clip in.mkv 2
    ffcrf auto-encode --input ${tmp}/in.mkv -e svt-av1 --preset 12 --keyint 1s --scd true --svt tune=0 --svt enable-overlays=1 --pix-format yuv420p10le \
        --vfilter scale=96:72 --min-crf 50 --max-crf 50 --target-loss 100 --samples 1 --max-encoded-percent 500 --stdout-format json -o ${tmp}/out.mkv || echo "status $?"
    jq -r 'select(.type == "crf-search-done").command' ${tmp}/out | sed "s,.*-c:v,-c:v,; s,${tmp},folder,"
    run ffprobe${PROGSUF}${EXECSUF} -v error -show_entries stream=codec_name,width,height,pix_fmt -of compact=nk=1:p=0 ${tmp}/out.mkv | grep -v '^$'
    ffcrf auto-encode -i ${tmp}/in.mkv --encoder libx264 --enc tune=film --enc x264-params=ref=2 --metric loss --crf 35 --max-encoded-percent 500 || echo "status $?"
    sed -n "s,.* -c:v,-c:v,; s,${tmp},folder,; /^-c:v/p" ${tmp}/out
    test -s ${tmp}/in.h264.mkv && echo "named by itself"
    # what nothing tells: the encoder and its preset
    ffcrf crf-search -i ${tmp}/in.mkv --target-loss 100 --min-crf 60 --max-crf 60 --max-encoded-percent 500 || echo "status $?"
    sed -n 's/.* \(-c:v libsvtav1\) .*\(-preset:v 8\) .*/\1 \2/p' ${tmp}/out
    # one CRF, and no target
    ffcrf_json sample-encode -i ${tmp}/in.mkv -e libx264 --preset ultrafast --metric loss --crf 31.5 --max-encoded-percent 500 || echo "status $?"
    of_type crf-search-done .crf
    ffcrf -i ${tmp}/in.mkv ${fast} --metric loss --crf 31.5
    sed -n 's/^CRF 31.5: loss [0-9.]*, about.*/one CRF/p' ${tmp}/out
    # other names of presets
    ffcrf -i ${tmp}/in.mkv -e libaom-av1 --preset 8 --metric loss --crf 60 --samples 1 -t 0.2 --max-encoded-percent 500 || echo "status $?"
    grep -o -e '-cpu-used:v 8' ${tmp}/out
    # thorough: the best of all CRFs
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-loss 12 --thorough --crf-increment 0.5 --samples 1 --sample-duration 300ms
    found=$(of_type crf-search-done .crf)
    next=$(awk "BEGIN { print ${found} + 0.5 }")
    ffcrf_json -i ${tmp}/in.mkv ${fast} --target-loss 12 --crf ${next} --samples 1 --sample-duration 300ms
    echo "thorough: the next CRF has status $?"
}

# What is told while it works, on a terminal, and why it ended.
crf_told(){
    need script || return 0
    clip in.mkv 2
    script -qec "${target_path}/ffcrf${PROGSUF}${EXECSUF} -i ${tmp}/in.mkv ${fast} --metric loss --crf 30 --samples 2 --sample-duration 400ms --encode ${tmp}/out.mkv" ${tmp}/typescript < /dev/null > /dev/null
    tr '\r' '\n' < ${tmp}/typescript | sed -n 's/\x1b\[K//g; s/frame [0-9]* of [0-9]*, [0-9.]* fps, ETA [0-9:?]*$/frame, fps, ETA/p' | sort -u
    for options in "--target-loss 10" "--target-loss 10 --thorough --crf-increment 1" "--target-loss 90" "--target-loss 10 --tolerance 0"; do
        ffcrf -i ${tmp}/in.mkv ${fast} ${options} --samples 1 --sample-duration 500ms
        sed -n "s/^CRFs tried: [0-9]*. CRF [0-9.]* /${options}: /p" ${tmp}/err
    done
}

# What the shells complete.
crf_completion(){
    for shell in bash zsh fish; do
        ffcrf --completion ${shell} > /dev/null || echo "status $?"
        cp ${tmp}/out ${tmp}/complete.${shell}
        if ! command -v ${shell} > /dev/null; then
            leave_out ${shell} "no ${shell}"
            continue
        fi
        ${shell} -n ${tmp}/complete.${shell} && echo "${shell}: good syntax"
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
    export ffcrf=${target_path}/ffcrf${PROGSUF}${EXECSUF}
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
    clip in.mkv 2
    n=0
    for format in "192:144,format=yuv420p" "320:180,format=yuv420p" "192:144,format=yuv444p" "160:120,format=yuv420p10le"; do
        n=$((n + 1))
        run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/in.mkv -vf scale=${format} -frames:v $((10 * n + 5)) \
            -c:v libx264 -preset ultrafast -qp 4 -f h264 ${tmp}/${n}.264
    done
    for parts in "1 2 1" "1 3 1" "1 4 2 1"; do
        for n in ${parts}; do cat ${tmp}/${n}.264; done > ${tmp}/parts.264
        for filters in null crop=iw-6:ih-6 hflip,scale=iw/4*2:-2; do
            ffcrf_json -i ${tmp}/parts.264 ${fast} --target-loss 10 --min-crf 30 --max-crf 30 --target-loss 100 --score-every 1 -vf ${filters} --encode ${tmp}/out.mkv -y || echo "status $?"
            echo "${parts}, ${filters}: $(of_type sample-encode-done '"\(.frames) frames encoded"'), $(of_type verify-done '"\(.frames) made, reached: \(.reached)"')"
            yes_if "as many bytes" "($(video_bytes ${tmp}/out.mkv) - $(of_type sample-encode-done .size)) ^ 2 <= 16"
            yes_if "the same score" "$(of_type verify-done .score) == $(of_type sample-encode-done .score)"
        done
    done
}

# What is cut off or damaged is told, and what is whole is not.
crf_damage(){
    clip in.mkv 4
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/in.mkv -f lavfi -i sine=d=3 -map 0 -map 1 -c:v copy -c:a aac ${tmp}/av.mkv
    printf '1\n00:00:00,100 --> 00:00:09,000\nwords\n\n' > ${tmp}/words.srt
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/av.mkv -i ${tmp}/words.srt -map 0 -map 1 -c copy ${tmp}/words.mkv
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -ss 1 -i ${tmp}/av.mkv -c copy ${tmp}/later.mp4
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/av.mkv -c copy -movflags faststart ${tmp}/av.mp4
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -i ${tmp}/av.mkv -c copy ${tmp}/av.ts
    one="${fast} --min-crf 30 --max-crf 30 --target-loss 100 --cache false --samples 1"
    for n in in.mkv av.mkv words.mkv later.mp4 av.mp4 av.ts; do
        says "whole ${n}" -i ${tmp}/${n} ${one} --sample-duration 1s
    done
    for n in av.mkv av.mp4; do
        for percent in 50 90 98; do
            head -c $(($(wc -c < ${tmp}/${n}) * percent / 100)) ${tmp}/${n} > ${tmp}/cut.${n}
            says "${percent} % of ${n}" -i ${tmp}/cut.${n} ${one} --sample-duration 500ms | sed '2s/: .*/: how much/'
        done
        head -c $(($(wc -c < ${tmp}/${n}) / 2)) ${tmp}/${n} > ${tmp}/cut.${n}
        ffcrf -i ${tmp}/cut.${n} ${one} || sed -n 's/.*cut off: \([0-9.]*\) s are missing, as its video ends at \([0-9.]*\) s.*/\1 \2/p' ${tmp}/err > ${tmp}/told
        yes_if "what is missing" "$(sed 's/ / + /' ${tmp}/told) > 3.9 && $(sed 's/ / + /' ${tmp}/told) < 4.1"
        for options in "" "--accept-damage"; do
            says "encode half of ${n} ${options}" -i ${tmp}/cut.${n} ${one} ${options} --encode ${tmp}/out.mkv -y | sed '2s/: .*/: how much/; 3d'
        done
    done
    # a region of junk
    size=$(wc -c < ${tmp}/in.mkv)
    { head -c $((size / 2)) ${tmp}/in.mkv; printf %500s ""; tail -c +$((size / 2 + 501)) ${tmp}/in.mkv; } > ${tmp}/junk.mkv
    says "junk"          -i ${tmp}/junk.mkv ${one} | sed '2s/damaged.*/damaged where/'
    says "junk, encode"  -i ${tmp}/junk.mkv ${one} --sample-duration 100ms --encode ${tmp}/out.mkv -y | sed '2s/damaged.*/damaged where/'
    says "junk, accepted" -i ${tmp}/junk.mkv ${one} --accept-damage --encode ${tmp}/out.mkv -y | sed '2,$s/damaged.*/damaged where/'
    says "junk, verified" -i ${tmp}/in.mkv --verify ${tmp}/junk.mkv --target-loss 100 | sed '2s/damaged.*/damaged where/'
}

# Size and time that are predicted.
crf_predict(){
    # scenes that differ in what they take, and 5 s of each
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -loop 1 -framerate 25 -i ${pictures}/chelsea_451x300.pgm -t 60 \
        -vf "crop=192:144:x='mod(n*(1+3*gt(mod(floor(n/125)*7,11),5)),250)':y='mod(n,150)*lt(mod(floor(n/125)*5,7),4)',format=yuv420p" \
        -c:v libx264 -preset ultrafast -qp 10 ${tmp}/scenes.mkv
    search="-i ${tmp}/scenes.mkv ${fast} -g 25 --min-crf 30 --max-crf 30 --target-loss 100 --sample-duration 2s"
    for options in "" "--samples 1" "--samples 5"; do
        ffcrf_json ${search} ${options} --encode ${tmp}/out.mkv -y || echo "status $?"
        of_type crf-search-done '"\(.predicted_encode_size) \(.predicted_encode_percent) \(.predicted_encode_size_min) \(.predicted_encode_size_max)"' > ${tmp}/predicted
        read -r size percent least most < ${tmp}/predicted
        whole=$(video_bytes ${tmp}/out.mkv)
        source=$(video_bytes ${tmp}/scenes.mkv)
        echo "${options}: of $(of_type sample-encode-done .sample | wc -l) samples"
        yes_if "the size is the percentage of the source's" "(${size} - ${percent} / 100 * ${source}) ^ 2 < 1"
        if test ${least} = null; then
            echo "no range"
        else
            yes_if "the whole is in the range" "${least} < ${whole} && ${whole} < ${most}"
            yes_if "the range is no wide one" "${most} - ${least} < 0.8 * ${size}"
        fi
        # and so in the text
        ffcrf ${search} ${options} || echo "status $?"
        sed -n 's/^CRF.*about \([0-9.]*\) MB.*, \([0-9.]*\) % of the \([0-9.]*\) MB of.*/\1 \2 \3/p' ${tmp}/out > ${tmp}/told
        read -r mb told of < ${tmp}/told
        yes_if "the same in the text" "(${mb} - ${size} / 1e6) ^ 2 <= 0.0051 ^ 2 && (${told} - ${percent}) ^ 2 < 0.051 ^ 2 && (${of} - ${source} / 1e6) ^ 2 < 0.0051 ^ 2"
    done
    # all of it
    ffcrf_json ${search} --sample-duration 60s --encode ${tmp}/out.mkv -y || echo "status $?"
    yes_if "all of it is exact" "$(of_type crf-search-done '.predicted_encode_size_max - .predicted_encode_size_min') == 0 && ($(of_type crf-search-done .predicted_encode_size) - $(video_bytes ${tmp}/out.mkv)) ^ 2 <= 16"
    # scoring takes far more time here than encoding
    clip in.mkv 2
    for metric in ssim=0.1 mad=100; do
        ffcrf_json -i ${tmp}/in.mkv ${fast} --target-${metric%=*} ${metric#*=} --min-crf 40 --max-crf 40 --score-every 1 || echo "status $?"
        of_type crf-search-done .predicted_encode_seconds
    done > ${tmp}/seconds
    yes_if "the time is that of the encode" "$(tail -n 1 ${tmp}/seconds) < 0.3 + 4 * $(head -n 1 ${tmp}/seconds)"
}

# Frames that do not fit are decoded again, and nothing else changes.
crf_memory(){
    clip in.mkv 1.5
    for metric in loss=10 ssim=0.95; do
        search="-i ${tmp}/in.mkv ${fast} --target-${metric%=*} ${metric#*=} --samples 2 --sample-duration 400ms --cache false"
        for memory in 1G 500k 1; do
            ffcrf_json ${search} --memory ${memory} || echo "status $?"
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
        ffcrf_json -i ${tmp}/in.mkv ${fast} --target-loss 10 ${options} || echo "status $?"
        echo "${options}: $(of_type sample-encode-done '"\(.start) \(.frames) \(.scored_frames)"' | sort -un | tr '\n' ';')"
    done
    for options in "--pool mean" "--pool worst" "--pool p5" "--pool p50"; do
        ffcrf_json -i ${tmp}/in.mkv ${fast} --target-loss 12 --samples 3 --sample-duration 500ms --score-every 1 ${options} || echo "status $?"
        crf=$(of_type crf-search-done .crf)
        score=$(of_type crf-search-done .score)
        of_type sample-encode-done "select(.crf == ${crf}).score" | sort -n > ${tmp}/samples
        yes_if "${options}: reached" "${score} <= 12"
        # a cache of that CRF alone has the scores of all frames
        FFCRF_CACHE=${tmp}/one
        ffcrf -i ${tmp}/in.mkv ${fast} --metric loss --samples 3 --sample-duration 500ms --score-every 1 --crf ${crf}
        for entry in $(find ${tmp}/one -type f); do sed '1,/^frames/d; /^end/d' ${entry}; done | sort -n > ${tmp}/scores
        rm -r ${tmp}/one
        FFCRF_CACHE=${tmp}/cache
        # by awk, of the scores that were kept
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
        # no file may have more than so many times 512 bytes
        (trap '' XFSZ
         ulimit -f ${blocks}
         run ffcrf${PROGSUF}${EXECSUF} -i ${tmp}/in.mkv ${fast} --metric ssim --crf 15 --score-every 1 --encode ${tmp}/out.mkv -y 2>&1
         echo "status $?") 2>&1 | cat > ${tmp}/messages
        cat ${tmp}/messages >&2
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
    head -c $(($(wc -c < ${tmp}/in.mkv) / 2)) ${tmp}/in.mkv > ${tmp}/cut.mkv
    target_exec="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"
    good="-i ${tmp}/in.mkv ${fast} -threads 1 --min-crf 30 --max-crf 30"
    while read -r name options; do
        eval ffcrf ${options}
        echo "${name}: status $?"
    done << END
search ${good} --target-loss 60
decode ${good} --memory 1 --cache false --target-ssim 0.1 --pool p5
apart  ${good} --memory 1 --cache false --target-ssim 0.1 -vf hflip --reference-vfilter hflip
part   ${good} --cache false --target-ssim 0.1 -ss 0.04 --to 0.16 --reference-vfilter null --keyint 1s --enc tune=film
none   ${good} --target-loss 0
cut    -i ${tmp}/cut.mkv ${fast} --target-loss 10
option ${good} --target-loss 60 -tune frobnicate
encode ${good} --target-loss 60 --encode ${tmp}/out.mkv
END
}

# The examples of the documentation, as they are printed. That of a GPU is in tests/gpu.sh.
crf_docs(){
    clip plain.mkv 4 320:240
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/plain.mkv -f lavfi -i sine=d=4 -c:v copy -c:a aac ${tmp}/in.mp4
    run ffmpeg${PROGSUF}${EXECSUF} -v error -nostdin -y -i ${tmp}/in.mp4 -c:v libx264 -crf 20 -c:a copy ${tmp}/out.mkv
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
