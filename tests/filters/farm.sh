# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of quality-farm.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- the farm ----

# Programs in a folder of their own, with an ffmpeg that can be told to behave badly.
farm_programs(){ # body-of-ffmpeg
    mkdir -p ${tmp}/bin
    for program in ffprobe${PROGSUF}${EXECSUF}; do
        ln -sf $(readlink -f ${program}) ${tmp}/bin/$(basename ${program} ${PROGSUF}${EXECSUF})
    done
    real=$(readlink -f ffmpeg${PROGSUF}${EXECSUF})
    { echo "#!/bin/bash"; echo "real='${real}'; tmp='$(readlink -f ${tmp})'"; cat; } > ${tmp}/bin/ffmpeg
    chmod +x ${tmp}/bin/ffmpeg
}

farm_needs(){
    test -z "${target_exec}" || { skip "runs under ${target_exec}"; return 1; }
    need python3 parallel jq "$@" || return 1
    parallel --version < /dev/null 2> /dev/null | grep -q GNU || { skip "parallel is not GNU parallel"; return 1; }
    test -e ${tmp}/bin/ffmpeg || echo 'exec "$real" "$@"' | farm_programs
    tools=$(readlink -f ${base}/../tools)
    # the machine's own devices are for other tests
    export CUDA_VISIBLE_DEVICES=
}

# Ends with its exit code.
farm(){ # arguments...
    "${tools}/farm/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg "$@" < /dev/null 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    return ${status}
}

# A video with another picture in each frame; what is drawn does not repeat.
farm_video(){ # seconds filters options-and-file...
    source=testsrc2=s=96x64:r=25:d=$1,format=yuv420p,$2
    shift 2
    ffmpeg -y -lavfi ${source} "$@"
}

# The logs of a file by the farm, against those of one ffmpeg with the filter.
farm_same(){ # file [name-of-the-log]
    case $1 in
    *.av1.*) filters=av1_frame_split,quantizer_metadata ;;
    *.vp9.*) filters=vp9_superframe_split,quantizer_metadata ;;
    *)       filters=quantizer_metadata ;;
    esac
    ffmpeg -threads 1 -bsf:V:0 ${filters} -i "file:$1" -an -vf bliinds=log_path=${tmp}/whole.json:stats_file=${tmp}/whole.log ${to_null}
    for i in whole:${tmp}/whole "split:${tmp}/results/${2:-$(basename "$1")}"; do
        { grep -v '"fps"' "${i#*:}.json"; cat "${i#*:}.log"; } > ${tmp}/${i%%:*}.both
    done
    same "${2:-$(basename "$1")}: $(farm_row "$1" frames parts message)" ${tmp}/whole.both ${tmp}/split.both
}

# Columns of a file's row of the summary.
farm_row(){ # file column...
    python3 - ${tmp}/results/summary.csv "$@" << 'END'
import csv, os, re, sys
rows = {row["file"]: row for row in csv.DictReader(open(sys.argv[1], newline=""))}
row = rows[os.path.abspath(sys.argv[2])]
# FFmpeg's words are others in each series
row["message"] = re.sub("[0-9]+ errors?: .*?(?=; not split|$)", "with errors", row["message"])
print(", ".join(f"{row[key]} {key}" if key != "message" else row[key] for key in sys.argv[3:] if row[key]))
END
}

# Files that can be split, and those that cannot, beside each other.
farm_split(){
    farm_needs || return 0
    for options in "null -c:v mpeg2video -g 15 -bf 2 ${tmp}/open.ts" \
                   "null -c:v mpeg2video -g 15 -bf 2 ${tmp}/open.vob" \
                   "null -c:v mpeg2video -g 15 -bf 2 -output_ts_offset 100 ${tmp}/late.ts" \
                   "null -c:v mpeg2video -g 15 -flags +ilme+ildct ${tmp}/fields.mkv" \
                   "null -c:v mpeg4 -g 20 -bf 2 ${tmp}/b.avi" \
                   "null -c:v mpeg4 -g 20 ${tmp}/p.avi" \
                   "null -c:v mjpeg ${tmp}/i.avi" \
                   "scale,format=yuv422p10le -c:v ffv1 -g 1 ${tmp}/ten.mkv" \
                   "null -c:v mpeg4 -g 20 -output_ts_offset 7.7 ${tmp}/later.mkv" \
                   "select=not(eq(mod(n\\,7)\\,3))*not(between(n\\,100\\,130)) -fps_mode vfr -c:v mpeg4 -g 20 ${tmp}/vfr.mkv"; do
        farm_video 9 ${options%% *} -qscale 4 ${options#* }
    done
    # cut anywhere, damaged, and with a clock that jumps
    tail -c +40001 ${tmp}/open.ts > ${tmp}/tail.ts
    { head -c 100000 ${tmp}/open.ts; head -c 3000 /dev/zero; tail -c +103001 ${tmp}/open.ts; } > ${tmp}/damaged.ts
    cat ${tmp}/open.ts ${tmp}/late.ts > ${tmp}/jump.ts
    set -- $(find ${tmp} -mindepth 1 -maxdepth 1 -name '*.*' | sort)
    farm -o ${tmp}/results --segment 2s --filter bliinds "$@"
    echo "exit code $?"
    for i; do farm_same ${i}; done
    rm -r ${tmp}/results
    farm -o ${tmp}/results --segment 2s --filter bliinds=n_subsample=3 ${tmp}/i.avi ${tmp}/p.avi || echo "failed"
    farm_row ${tmp}/i.avi frames parts message
    cp $(find ${base}/../libavfilter/models/ -name '*.txt' | head -n 1) ${tmp}/model
    farm -o ${tmp}/results --filter bliinds=features=1:range=full:model=${tmp}/model --segment 2s ${tmp}/i.avi || echo "failed"
    ffmpeg -bsf:v quantizer_metadata -i ${tmp}/i.avi -vf bliinds=features=1:range=full:model=${tmp}/model:log_path=${tmp}/whole.json ${to_null}
    for i in ${tmp}/whole.json ${tmp}/results/i.avi.json; do grep -v '"fps"' ${i} > ${i}.nofps; done
    same "features of $(farm_row ${tmp}/i.avi frames parts)" ${tmp}/whole.json.nofps ${tmp}/results/i.avi.json.nofps
}

farm_h264(){
    farm_needs || return 0
    x264="-c:v libx264 -preset veryfast -threads 1 -bf 3"
    farm_video 9 null ${x264} -g 25 ${tmp}/closed.mp4
    for i in open.mp4 open.mkv open.ts; do
        farm_video 9 null ${x264} -x264-params open-gop=1:keyint=30:min-keyint=30:scenecut=0 ${tmp}/${i}
    done
    farm_video 9 null ${x264} -x264-params keyint=25:intra-refresh=1 ${tmp}/refresh.ts
    farm_video 9 null ${x264} -g 25 ${tmp}/no-times.avi
    ffmpeg -ss 1.3 -i ${tmp}/closed.mp4 -c copy ${tmp}/edited.mp4
    ffmpeg -i ${tmp}/closed.mp4 -f lavfi -i sine=d=9.3 -map 0:v -map 1:a -c:v copy -c:a pcm_s16le -output_ts_offset 5 ${tmp}/audio.mkv
    ffmpeg -itsoffset 0.73 -i ${tmp}/closed.mp4 -f lavfi -i sine=d=9.3 -map 0:v -map 1:a -c:v copy -c:a mp2 ${tmp}/late.ts
    set -- $(find ${tmp} -mindepth 1 -maxdepth 1 -name '*.*' | sort)
    farm -o ${tmp}/results --segment 2s --filter bliinds "$@"
    echo "exit code $?"
    for i; do farm_same ${i}; done
}

farm_hevc(){
    farm_needs || return 0
    for i in ten.mp4 ten.mkv ten.ts; do
        farm_video 9 scale,format=yuv420p10le -c:v libx265 -preset ultrafast \
            -x265-params log-level=error:keyint=25:open-gop=1:bframes=3 ${tmp}/${i} || return
    done
    set -- $(find ${tmp} -mindepth 1 -maxdepth 1 -name '*.*' | sort)
    farm -o ${tmp}/results --segment 2s --filter bliinds "$@"
    echo "exit code $?"
    for i; do farm_same ${i}; done
}

# Packets of several frames, which are split before they are read.
farm_codec(){ # name options...
    farm_needs || return 0
    name=$1
    shift
    farm_video 9 null "$@" ${tmp}/clip.${name}.mkv || return
    ffmpeg -i ${tmp}/clip.${name}.mkv -c copy ${tmp}/clip.${name}.mp4
    set -- ${tmp}/clip.${name}.mkv ${tmp}/clip.${name}.mp4
    farm -o ${tmp}/results --segment 2s --filter bliinds "$@"
    echo "exit code $?"
    for i; do farm_row ${i} bitstream; farm_same ${i}; done
}

farm_av1(){
    farm_codec av1 -c:v libsvtav1 -preset 8 -g 25 -svtav1-params lp=1
}

farm_vp9(){
    farm_codec vp9 -c:v libvpx-vp9 -g 25 -auto-alt-ref 1 -lag-in-frames 16 -cpu-used 8 -threads 1
}

# By what frames are scored: by the bitstream where its codec is known and ffmpeg can read it, else
# by the pixels. The model's score is 10 for the one, and 70 for the other.
farm_basis(){
    farm_programs << 'END'
case " $* " in
*" -bsfs "*) [ ! -e "$tmp/old" ] || { "$real" "$@" | grep -v quantizer_metadata; exit; } ;;
*" -bsf:"*)  [ ! -e "$tmp/old" ] || exit 1 ;;
esac
exec "$real" "$@"
END
    farm_needs || return 0
    farm_video 9 null -c:v mpeg4 -g 20 -bf 2 ${tmp}/known.mkv
    farm_video 9 null -c:v ffv1 -g 1 ${tmp}/unknown.mkv
    for weights in "70 L3.ori10 0" "0 coded.mpeg4 10"; do
        printf '%s\nconstant %s\nweight %s %s\nmean L1.zeta10 2\nprecision L1.zeta10 4\npercentile 99 1.9\nend\n' \
            "${head_lines}" ${weights}
    done > ${tmp}/model
    options=model=${tmp}/model:shown_height=1080
    for i in new old; do
        echo "# ${i} ffmpeg"
        : > ${tmp}/${i}
        farm -o ${tmp}/results --segment 2s --filter bliinds=${options} ${tmp}/known.mkv ${tmp}/unknown.mkv
        echo "exit code $?"
        sed -n 's,/.*/,,;/^note/p' ${tmp}/err
        for file in known unknown; do
            ffmpeg -v info -threads 1 $(test ${i} = old || echo -bsf:v quantizer_metadata) -i ${tmp}/${file}.mkv \
                -vf bliinds=${options}:f=${tmp}/lines ${to_null} 2>&1 |
                sed -n 's/.*] BLIINDS.* outside:\([0-9]*\).*/\1/p' > ${tmp}/outside
            same "$(farm_row ${tmp}/${file}.mkv frames parts mean bitstream)" ${tmp}/lines ${tmp}/results/${file}.mkv.log
            test "$(cat ${tmp}/outside) outside" = "$(farm_row ${tmp}/${file}.mkv outside)" &&
                test "$(cat ${tmp}/outside)" -gt 0 && test "$(cat ${tmp}/outside)" -lt 225 || echo "another number is outside"
        done
    done
}

# make run, with what was built: the frames are those of ffmpeg with the bitstream filter.
run_script(){
    farm_needs gnuplot || return 0
    root=${project}
    test -e ${root}/scripts/run.sh || { skip "no scripts/run.sh beside the tests"; return 0; }
    mkdir ${tmp}/checkout
    cp -r ${root}/scripts ${root}/tools ${tmp}/checkout
    printf '#!/bin/sh\n' > ${tmp}/checkout/scripts/deps.sh
    printf '#!/bin/sh\necho %s\n' ${PWD} > ${tmp}/checkout/scripts/build.sh
    farm_video 2 null -c:v mpeg4 -g 20 -bf 2 ${tmp}/known.mkv
    farm_video 2 null -c:v ffv1 ${tmp}/unknown.mkv
    for i in known unknown; do
        VIDEO=${tmp}/${i}.mkv ${tmp}/checkout/scripts/run.sh 2> ${tmp}/err
        echo "${i}: exit code $?, $(sed -n '/^BLIINDS mean/s/.*\(frames:[0-9]*\).*\(bitstream:[0-9]*\).*/\1 \2/p' ${tmp}/err)"
        ffmpeg -bsf:v quantizer_metadata -i ${tmp}/${i}.mkv -vf bliinds=f=${tmp}/lines ${to_null}
        same "lines" ${tmp}/lines ${tmp}/checkout/results/${i}.mkv/frames.log
        sed -n 's/<[^>]*>//g;/scored by the bitstream/s/;.*//p' ${tmp}/checkout/results/${i}.mkv/report.html
    done
}

# Names that a shell, FFmpeg or a table would take for something else.
farm_names(){
    farm_needs || return 0
    mkdir ${tmp}/a ${tmp}/b "${tmp}/it's a \"folder\", \\ %d [x]:=;"
    farm_video 1 null -c:v mjpeg ${tmp}/clip.avi
    farm_video 2 null -c:v mjpeg ${tmp}/long.avi
    newline="two
lines.avi"
    latin=$(printf 'caf\351.avi')
    set -- "${tmp}/a/clip.avi" "${tmp}/b/clip.avi" "${tmp}/it's a \"folder\", \\ %d [x]:=;/clip.avi" "${tmp}/a/-o -vf.avi" \
        "${tmp}/a/żółć ☃.avi" "${tmp}/a/${newline}" "${tmp}/a/a'b\"c\$(d)\`e\`&.avi" "${tmp}/a/file:x%03d.avi" \
        "${tmp}/a/summary.csv" "${tmp}/a/${latin}" "${tmp}/a/$(printf '%0250d' 0)"
    for i; do cp ${tmp}/clip.avi "${i}"; done
    cp ${tmp}/long.avi ${tmp}/b/clip.avi
    printf '%s\0' "$@" > ${tmp}/list
    farm -o "${tmp}/results of it's" --filter bliinds --list ${tmp}/list
    echo "exit code $?"
    ln -s "results of it's" ${tmp}/results
    python3 - ${tmp}/results << 'END'
import csv, json, os, re, sys
rows = list(csv.DictReader(open(sys.argv[1] + "/summary.csv", newline="", errors="surrogateescape")))
for row in rows:
    log = json.load(open(sys.argv[1] + "/" + row["log"]))
    name = re.sub(r"-[0-9a-f]{8}\.json$", "-HASH.json", row["log"]).encode(errors="backslashreplace").decode()
    print(row["status"], row["frames"], len(log["frames"]), os.path.exists(row["file"]), json.dumps(name[:60]))
END
    find ${tmp}/results/ -name '*.json' -not -path '*/.farm/*' | tr -d '\n' | grep -o 'json' | wc -l
    (cd ${tmp}/b && "${tools}/farm/quality-farm" --ffmpeg ../bin/ffmpeg -o ../results --filter bliinds clip.avi ./clip.avi 2>&1 | sed 's/: .*//')
}

# Some files fail, the others are scored; what was mended is scored next time.
farm_failures(){
    farm_needs || return 0
    farm_video 5 null -c:v mjpeg ${tmp}/good.avi
    farm_video 5 null -c:v mjpeg ${tmp}/better.avi
    head -c 2000 /dev/urandom > ${tmp}/noise.mp4
    : > ${tmp}/empty.mkv
    head -c 20000 ${tmp}/good.avi > ${tmp}/short.avi
    ffmpeg -f lavfi -i sine=d=1 -c:a pcm_s16le ${tmp}/sound.mkv
    set -- ${tmp}/good.avi ${tmp}/noise.mp4 ${tmp}/empty.mkv ${tmp}/none.mp4 ${tmp}/short.avi ${tmp}/sound.mkv ${tmp}/better.avi
    farm -o ${tmp}/results --segment 2s --filter bliinds "$@"
    echo "exit code $?"
    for i; do echo "$(basename ${i}): $(farm_row ${i} status frames parts message)" | sed 's/Stream map .*/no such stream/'; done
    sed -n "s,${PWD}/,,;s,.*/results/,,;/^==> [0-9]* of/p" ${tmp}/err
    mv ${tmp}/better.avi ${tmp}/none.mp4
    cp ${tmp}/good.avi ${tmp}/noise.mp4
    farm -o ${tmp}/results --segment 2s --filter bliinds ${tmp}/good.avi ${tmp}/noise.mp4 ${tmp}/none.mp4
    echo "exit code $?"
    grep '^==>' ${tmp}/err | sed 's,: /.*,,;s/, . at a time//'
    for options in "--filter bliinds" "-o ${tmp}/results" "-o ${tmp}/results --filter mad ${tmp}/good.avi" \
            "-o ${tmp}/results --filter bliinds=f=x ${tmp}/good.avi" "-o ${tmp}/results --segment 1x ${tmp}/good.avi" \
            "-o ${tmp}/results --filter bliinds_cuda ${tmp}/empty.mkv"; do
        farm ${options}
        echo "exit code $?: $(tail -n 1 ${tmp}/err)"
    done
}

# Files that ffmpeg scores with exit code 0, though a part of them is missing.
farm_damage(){
    farm_needs || return 0
    farm_video 6 null -c:v mpeg4 -g 12 -qscale 4 ${tmp}/a.mkv
    ffmpeg -i ${tmp}/a.mkv -c copy -movflags +faststart ${tmp}/a.mp4
    farm_video 6 null -c:v mpeg2video -g 12 -qscale 4 ${tmp}/a.ts
    for form in mkv mp4 ts; do
        # MPEG-TS does not say how long it should be
        test ${form} = ts || head -c $(($(wc -c < ${tmp}/a.${form}) / 2)) ${tmp}/a.${form} > ${tmp}/half.${form}
        { head -c 150000 ${tmp}/a.${form}; head -c 3000 /dev/zero | tr '\0' x; tail -c +153001 ${tmp}/a.${form}; } > ${tmp}/bad.${form}
    done
    # whole, though their pictures end before the container does: sound, a last frame that lasts, a late start
    ffmpeg -i ${tmp}/a.mkv -f lavfi -i sine=d=9 -map 0 -map 1 -c:v copy -c:a pcm_s16le ${tmp}/longer.mkv
    farm_video 6 "select=not(mod(n\,100)),setpts=N*2/TB" -fps_mode vfr -c:v mpeg4 ${tmp}/slides.mp4
    ffmpeg -i ${tmp}/a.mkv -c copy -output_ts_offset 5 ${tmp}/late.mkv
    set -- $(find ${tmp} -mindepth 1 -maxdepth 1 -name '*.*' | sort)
    for segment in 60 2; do
        echo "# parts of ${segment} s"
        farm -o ${tmp}/results --segment ${segment} --filter bliinds "$@"
        echo "exit code $?"
        for i; do echo "$(basename ${i}): $(farm_row ${i} status parts message)"; done
        sed -n 's,: .*,,;/files scored/p' ${tmp}/err
        farm -o ${tmp}/results --segment ${segment} --filter bliinds --accept-damage "$@"
        echo "exit code $? if that is accepted, $(grep -c '^damaged: ' ${tmp}/err) listed, $(grep -c '^==> scoring' ${tmp}/err) scored again"
        rm -r ${tmp}/results
    done
    echo "# as make run asks"
    for i in ${tmp}/a.mkv ${tmp}/half.mkv ${tmp}/bad.mp4; do
        run ffmpeg${PROGSUF}${EXECSUF} -nostdin -v level+info -i ${i} -vf bliinds=f=${tmp}/frames.log ${to_null} 2> ${tmp}/err
        echo "$(basename ${i}): $(${tools}/farm/quality-farm --ffmpeg ${tmp}/bin/ffmpeg --damage ${i} ${tmp}/frames.log ${tmp}/err |
            sed 's/[0-9]* errors*: .*/with errors/')"
    done
}

# What was done is not done again, whatever has ended the first run.
farm_resume(){
    farm_programs << 'END'
case " $* " in
*part.json*)
    echo "$PPID" >> "$tmp/calls"
    if [ -e "$tmp/slow" ]; then
        sleep 0.3
        [ "$(wc -l < "$tmp/calls")" -lt 4 ] && [ ! -e "$tmp/hang" ] || exec sleep 60
    fi
    # the first to see this file is killed, as by a lack of memory
    ! rm "$tmp/kill" 2> /dev/null || kill -9 $$
esac
exec "$real" "$@"
END
    farm_needs || return 0
    farm_video 12 null -c:v mjpeg ${tmp}/a.avi
    : > ${tmp}/slow
    "${tools}/farm/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg -o ${tmp}/results --jobs 1 --segment 2s --filter bliinds ${tmp}/a.avi \
        < /dev/null 2> ${tmp}/err &
    pid=$!
    tries=100
    while test "$(cat ${tmp}/calls 2> /dev/null | wc -l)" -lt 4 && test ${tries} -gt 0; do sleep 0.1; tries=$((tries - 1)); done
    "${tools}/farm/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg -o ${tmp}/results --filter bliinds ${tmp}/a.avi 2> /dev/null
    echo "exit code $? beside it"
    kill -9 ${pid}
    wait ${pid}
    echo "killed with $(find ${tmp}/results -name '*.done' | wc -l) of $(find ${tmp}/results -name '*.cpu' | wc -l) parts"
    rm ${tmp}/calls
    : > ${tmp}/hang
    "${tools}/farm/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg -o ${tmp}/results --jobs 1 --segment 2s --filter bliinds ${tmp}/a.avi < /dev/null 2> ${tmp}/err &
    pid=$!
    tries=100
    while test ! -e ${tmp}/calls && test ${tries} -gt 0; do sleep 0.1; tries=$((tries - 1)); done
    # what ran is not waited for
    grep '^==> ending' ${tmp}/err
    kill ${pid}
    wait ${pid}
    echo "exit code $? when it is asked to end"
    rm ${tmp}/slow ${tmp}/hang ${tmp}/calls
    : > ${tmp}/kill
    farm -o ${tmp}/results --jobs 1 --segment 2s --filter bliinds ${tmp}/a.avi
    echo "exit code $?, $(wc -l < ${tmp}/calls) more calls, one of them killed"
    farm_same ${tmp}/a.avi
    rm ${tmp}/calls
    farm -o ${tmp}/results --jobs 1 --segment 2s --filter bliinds ${tmp}/a.avi
    echo "exit code $?, $(cat ${tmp}/calls 2> /dev/null | wc -l) calls, $(find ${tmp}/results/.farm -mindepth 2 | wc -l) file left"
    touch ${tmp}/a.avi
    farm -o ${tmp}/results --jobs 1 --filter bliinds ${tmp}/a.avi
    echo "exit code $?, $(wc -l < ${tmp}/calls) call for a file that changed"
    # a log that is gone comes again
    rm ${tmp}/results/a.avi.json
    farm -o ${tmp}/results --jobs 1 --filter bliinds ${tmp}/a.avi
    echo "exit code $?"
    farm_same ${tmp}/a.avi
}

# The commands that the documentation prints, without those that Slurm runs or with them.
farm_examples(){ # v-option-of-grep
    sed -n 's/^    //p' ${project}/doc/farm.md ${project}/README.md | grep -E '^(quality-farm|quality_merge|find|tail|ffmpeg .*record) ?' | grep $1 -e ' --slurm' > ${tmp}/examples
    mkdir -p ${tmp}/here/archive
    test -e ${tmp}/here/film.mkv || farm_video 10 null -c:v mpeg4 -g 25 ${tmp}/here/film.mkv
    for i in archive/a.mp4 archive/b.mp4 other.mp4; do test -e ${tmp}/here/${i} || farm_video 2 null -c:v mpeg4 ${tmp}/here/${i}; done
    cp ${tmp}/here/film.mkv ${tmp}/here/archive/c.mkv
    ln -sf ${tools}/farm/quality-farm ${tmp}/bin/
    (cd ${tmp}/here && PATH=$(readlink -f ../bin):${PATH} bash -e ../examples > ../out) && echo "$(wc -l < ${tmp}/examples) examples run"
}

farm_docs(){
    farm_needs || return 0
    test -e ${project}/doc/farm.md || { skip "no doc/farm.md beside the tests"; return 0; }
    farm_examples -v
    sed "s,$(readlink -f ${tmp})/,,;s/,[0-9][^/]*,/,...,/" ${tmp}/out | grep -v '^/' | cut -c1-60 | LC_ALL=C sort
    find ${tmp}/here/results ${tmp}/here/film.* -not -path '*/.farm*' -type f | sed "s,${tmp}/,," | LC_ALL=C sort
    ffmpeg -threads 1 -bsf:v quantizer_metadata -i ${tmp}/here/film.mkv -an -vf bliinds=log_path=${tmp}/whole.json:f=${tmp}/whole.log ${to_null}
    for i in ${tmp}/whole ${tmp}/here/film; do { grep -v '"fps"' ${i}.json; cat ${i}.log; } > ${i}.both; done
    same "by hand" ${tmp}/whole.both ${tmp}/here/film.both
}

# A ffmpeg for a machine with stand-ins for GPUs: what the GPU's filter is asked for
# is noted, and the CPU's does it. It is slow, for there to be a middle.
farm_stand_in(){
    farm_programs << 'END'
case " $* " in
*bliinds_cuda=*)
    echo "${SLURMD_NODENAME:-} ${CUDA_VISIBLE_DEVICES:-none} ${SLURM_RESTART_COUNT:-0}" >> "$tmp/calls"
    [ ! -e "$tmp/slow" ] || sleep $([ "${SLURMD_NODENAME:-}" = n2 ] && echo 30 || echo 1)
    words=()
    while [ $# -gt 0 ]; do
        case $1 in
        -hwaccel | -hwaccel_output_format) echo "$1 $2" >> "$tmp/hwaccel"; shift ;;
        *) words+=("${1//bliinds_cuda=/bliinds=}") ;;
        esac
        shift
    done
    set -- "${words[@]}" ;;
*" -init_hw_device cuda "*) exit 0 ;;
*" -filters "*) "$real" "$@" | sed 's/ bliinds  / bliinds_cuda /'; exit ;;
esac
exec "$real" "$@"
END
}

# Two nodes, one of which is lost in the middle.
farm_slurm(){
    farm_stand_in
    farm_needs sbatch slurmctld slurmd || return 0
    PATH=${PATH}:/usr/sbin
    slurm=${base}/slurm.sh
    if ! ${slurm} start ${tmp}/slurm 2> ${tmp}/err; then
        cat ${tmp}/err >&2
        skip "Slurm does not start here: $(grep -E 'error|fatal' ${tmp}/err | grep -v 'ization failed\|plugin' | tail -n 1)"
        return 0
    fi
    # shellcheck disable=SC2064
    trap "${slurm} stop ${tmp}/slurm; rm -rf ${tmp}" EXIT
    trap 'exit 1' HUP INT TERM
    export SLURM_CONF=$(readlink -f ${tmp})/slurm/slurm.conf
    unset CUDA_VISIBLE_DEVICES
    farm_video 30 null -c:v mjpeg ${tmp}/long.avi
    farm_video 2 null -c:v mjpeg ${tmp}/short.avi
    head -c 2000 /dev/urandom > ${tmp}/noise.mp4
    : > ${tmp}/slow
    farm -o ${tmp}/results --slurm --segment 2s ${tmp}/long.avi ${tmp}/short.avi &
    pid=$!
    tries=300
    while test ${tries} -gt 0 && ! { test "$(grep -c ^n2 ${tmp}/calls 2> /dev/null)" = 2 && find ${tmp}/results -name '*.done' | grep -q .; }; do
        sleep 0.1
        tries=$((tries - 1))
    done
    ${slurm} kill ${tmp}/slurm n2
    echo "a node is lost with $(find ${tmp}/results -name '*.done' | wc -l | awk '{ print ($1 > 0 && $1 < 16) ? "some" : $1 }') of $(find ${tmp}/results -name '*.gpu' | wc -l) parts scored"
    wait ${pid}
    echo "exit code $?"
    farm_same ${tmp}/long.avi
    farm_same ${tmp}/short.avi
    awk '{ gpu[$1 " " $2] = 1; n += $3 > 0 } END { for (i in gpu) print "GPU", i; print (n ? "some" : "no"), "parts were given to another node" }' ${tmp}/calls | sort
    sort -u ${tmp}/hwaccel

    # what is there is not done again; failures are told, by the merge job too
    rm ${tmp}/slow ${tmp}/calls
    farm -o ${tmp}/results --slurm --no-wait ${tmp}/long.avi ${tmp}/noise.mp4
    echo "exit code $?"
    farm -o ${tmp}/results --slurm ${tmp}/long.avi ${tmp}/noise.mp4
    echo "exit code $?"
    sed -n 's/^failed: .*noise.mp4: //p' ${tmp}/err
    grep -c . ${tmp}/calls
    test ! -e ${project}/doc/farm.md || farm_examples -i
}

# The GPU's filter by its command line, and what is done where a GPU fails.
farm_gpu(){
    farm_stand_in
    farm_needs timeout || return 0
    unset CUDA_VISIBLE_DEVICES
    PATH=$(readlink -f ${tmp})/bin:${PATH}
    printf '#!/bin/sh\necho "GPU 0: One (UUID: GPU-1)"\necho "GPU 1: Two (UUID: GPU-2)"\n' > ${tmp}/bin/nvidia-smi
    printf '#!/bin/sh\necho "scontrol $*"\n' > ${tmp}/bin/scontrol
    chmod +x ${tmp}/bin/nvidia-smi ${tmp}/bin/scontrol
    farm_video 9 null -c:v mjpeg ${tmp}/long.avi
    farm_video 2 null -c:v mjpeg ${tmp}/short.avi
    farm -o ${tmp}/results --segment 3s --dry-run ${tmp}/long.avi | sed "s,$(readlink -f ${tmp}),,g"
    : > ${tmp}/slow
    farm -o ${tmp}/results --segment 3s ${tmp}/long.avi ${tmp}/short.avi
    echo "exit code $?, on $(sed -n 's/.*at a time, on //p' ${tmp}/err)"
    farm_same ${tmp}/long.avi
    farm_same ${tmp}/short.avi
    sort -u ${tmp}/calls
    rm ${tmp}/slow ${tmp}/calls

    # one GPU of those that were given to it
    CUDA_VISIBLE_DEVICES=7 farm -o ${tmp}/other --jobs 2 ${tmp}/long.avi ${tmp}/short.avi
    echo "exit code $?, on $(sed -n 's/.*at a time, on //p' ${tmp}/err)"
    sort -u ${tmp}/calls

    # a task that was started without its GPU goes back, and a broken GPU is no fault of the file
    rm -r ${tmp}/results ${tmp}/calls
    farm -o ${tmp}/results --filter bliinds_cuda --dry-run ${tmp}/short.avi > /dev/null
    (cd ${tmp}/results/.farm && find . -name '*.gpu' | sed 's,^./,,;s/.gpu$//' > queue)
    slurm="SLURM_JOB_ID=5 SLURM_ARRAY_JOB_ID=4 SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=1"
    env ${slurm} timeout 1 ${tools}/farm/task $(readlink -f ${tmp}/results) 2>&1 | sed 's/^[^ ]*: //'
    env ${slurm} SLURM_RESTART_COUNT=5 timeout 1 ${tools}/farm/task $(readlink -f ${tmp}/results) 2>&1 | sed 's/^[^ ]*: //'
    cp ${tmp}/bin/ffmpeg ${tmp}/bin/good
    sed -i 's/.*init_hw_device cuda.*/*" -init_hw_device cuda "*) exit 1 ;;/;s/^\*bliinds_cuda=\*)/&\n    exit 1/' ${tmp}/bin/ffmpeg
    env ${slurm} CUDA_VISIBLE_DEVICES=1 timeout 1 ${tools}/farm/task $(readlink -f ${tmp}/results) 2>&1 | sed 's/^[^ ]*: //'
    sed -i 's/.*init_hw_device cuda.*/*" -init_hw_device cuda "*) exit 0 ;;/;s/^    exit 1/    echo "[x @ 0x1] [error] no such decoder" >\&2; exit 1/' ${tmp}/bin/ffmpeg
    env ${slurm} CUDA_VISIBLE_DEVICES=1 ${tools}/farm/task $(readlink -f ${tmp}/results)
    echo "exit code $?"
    farm -o ${tmp}/results --filter bliinds_cuda ${tmp}/short.avi
    farm_same ${tmp}/short.avi
}
