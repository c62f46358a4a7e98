# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of quality-report and quality-gate.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- report and gate ----

report=${project}/tools/quality-report
gate=${project}/tools/quality-gate
ffmpeg_path=$(pwd)/ffmpeg${PROGSUF}${EXECSUF}
# or else output that waits, and files that are left, would not be seen
unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE

# The tests of tests/tools/test_NAME.py. What these skip is told.
tools_test(){ # name
    /usr/bin/python3 -m pytest --version > /dev/null 2>&1 || { skip "no python3-pytest"; return 0; }
    FFMPEG=${ffmpeg_path} /usr/bin/python3 -B -m pytest -q -rs -p no:cacheprovider --basetemp=${tmp}/pytest \
        ${project}/tests/tools/test_$1.py > ${tmp}/out
    status=$?
    cat ${tmp}/out >&2
    sed -n 's/^SKIPPED \[[0-9]*\] .*: \(.*\)/\1/p' ${tmp}/out > ${tmp}/skips
    while read -r why; do skipped "${test}, a part" "${why}"; done < ${tmp}/skips
    # 5: the whole file is skipped
    test ${status} = 0 || { test ${status} = 5 && test -s ${tmp}/skips; } && echo "all tests pass"
}

# As a user's command, with conversions and its arguments as they are.
user_ffmpeg(){
    run ffmpeg${PROGSUF}${EXECSUF} -nostdin -v error "$@"
}

page(){ # what page
    python3 ${project}/tests/quality_page.py "$@"
}

# Lines of stats_file: 25 a second, numbered by i at the time t, where an expression of awk's
# gives the score and another says whether it is valid.
lines(){ # frames score [valid]
    awk "BEGIN { for (i = 0; i < $1; i++) { t = i / 25; printf(\"n:%d pts:%d pts_time:%f score:%s raw:1 valid:%d\\n\",
                 i + 1, i, t, ($2), (${3:-1})) } }"
}

# All forms of a log give the same page, and its numbers are those that the filter pools.
report_logs(){
    need python3 gnuplot jq || return 0
    source=testsrc2=s=128x96:r=25:d=6,drawbox=t=fill:color=black:enable=between\(t\\,1\\,1.4\)
    ffmpeg -lavfi ${source},bliinds=f=${tmp}/stats_file:log_path=${tmp}/json,metadata=print:file=${tmp}/metadata ${to_null}
    ffmpeg -lavfi ${source},bliinds=log_path=${tmp}/csv:log_fmt=csv ${to_null}
    ffmpeg -lavfi ${source},bliinds=log_path=${tmp}/xml:log_fmt=xml ${to_null}
    # what is pooled of a whole log is not read from it
    jq -r '.pooled_metrics.score | "least \(.min)", "1 % \(.p1)", "5 % \(.p5)", "10 % \(.p10)", "50 % \(.p50)", "90 % \(.p90)",
           "95 % \(.p95)", "99 % \(.p99)", "largest \(.max)", "mean \(.mean)"' ${tmp}/json |
        awk '{ v = $NF; $NF = ""; sub(/ $/, ""); printf("%s|%.2f\n", $0, v) }' > ${tmp}/expected
    jq 'del(.pooled_metrics, .sizes, .aggregate_metrics)' ${tmp}/json > ${tmp}/pretty
    cp ${tmp}/json ${tmp}/stats.json
    jq -c . ${tmp}/json > ${tmp}/compact
    { cat ${tmp}/stats_file; printf 'n:151 pts:150 pts_time:6.0000'; } > ${tmp}/cut
    sed 's/^/[Parsed_metadata_1 @ 0x55d0c0] /' ${tmp}/metadata > ${tmp}/log
    for log in stats_file cut json pretty compact csv xml metadata log; do
        python3 ${report} ${tmp}/${log} --fps 25 -o ${tmp}/${log}.html || { echo "${log}: failed"; continue; }
        page rows ${tmp}/${log}.html > ${tmp}/rows
        sed -n '/^least/,/^mean/p' ${tmp}/rows > ${tmp}/got
        same ${log} ${tmp}/expected ${tmp}/got
        grep '^note' ${tmp}/rows
        grep '^[1-3]|' ${tmp}/rows > ${tmp}/worst.${log}
        cmp -s ${tmp}/worst.stats_file ${tmp}/worst.${log} || echo "${log}: other worst moments"
        grep -c "$(jq -r '.pooled_metrics.score.worst_window' ${tmp}/json | awk '{ printf("<b>%.2f</b><span>worst 48", $1) }')" ${tmp}/${log}.html
    done
}

# Peaks of known heights at known times: no two within a second, no frame that is not valid.
report_worst(){
    need python3 gnuplot || return 0
    lines 250 'i == 50 ? 90 : i == 62 ? 85 : i == 75 ? 80 : i == 175 ? 70 : i == 200 ? 99 : i == 225 ? "nan" : 20 + i / 1000' \
        'i != 200' > ${tmp}/log
    python3 ${report} ${tmp}/log --worst 6 -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep '^[1-9]|\|^note'
    echo "# higher is better"
    sed 's/ score:/ All:/' ${tmp}/log | grep -v nan > ${tmp}/ssim
    python3 ${report} ${tmp}/ssim --metric All --worst 3 -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep '^[1-9]|\|^note'
    echo "# without times"
    { echo "Frame,score,"; awk 'BEGIN { for (i = 0; i < 100; i++) print i "," (i == 40 ? 90 : i == 50 ? 80 : i == 64 ? 70 : 1) "," }'; } > ${tmp}/csv
    python3 ${report} ${tmp}/csv --worst 2 -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep '^[1-9]|'
    python3 ${report} ${tmp}/csv --worst 0 -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep '^[1-9]|' || echo "none"
    echo "# several"
    lines 10 i > ${tmp}/a; lines 20 i*2 > ${tmp}/b
    python3 ${report} ${tmp}/a ${tmp}/b --worst 1 -o ${tmp}/page.html
    page rows ${tmp}/page.html | sed -n '/frames/,$p'
    page sound ${tmp}/page.html
}

# What scores were made from is said, and is no score: in all forms of logs, of one and of several.
report_basis(){
    need python3 gnuplot || return 0
    { echo "${head_lines}"
      echo "constant 70"
      echo "weight L3.ori10 0"
      echo "end"
      echo "${head_lines}"
      echo "constant 10"
      echo "weight coded.step 0"
      echo "mean coded.step 0"
      echo "precision coded.step 1"
      echo "percentile 99 2"
      echo "end"; } > ${tmp}/model
    # 40 of 50 frames have keys, 30 or 20 of them a distance of 3, the others one of 1
    for outside in 30 20; do
        graph="testsrc2=s=64x48:r=25:d=2,$(keys step=1 bytes=99 width=64 height=48 pict_type=I | sed "s/,/:enable='lt(n,40)',/g")"
        graph="${graph}metadata=modify:key=lavc.quantizer.step:value=3:enable='lt(n,${outside})',bliinds=model=${tmp}/model"
        ffmpeg -lavfi "${graph}:f=${tmp}/lines:log_path=${tmp}/json,metadata=print:file=${tmp}/metadata" ${to_null}
        for log_fmt in csv xml; do
            ffmpeg -lavfi "${graph}:log_path=${tmp}/${log_fmt}:log_fmt=${log_fmt}" ${to_null}
        done
        for log in lines json metadata csv xml; do
            echo "# ${log}"
            python3 ${report} ${tmp}/${log} --fps 25 -o ${tmp}/page.html
            page sound ${tmp}/page.html
            page basis ${tmp}/page.html
        done
        cp ${tmp}/lines ${tmp}/log.${outside}
    done
    echo "# several"
    lines 50 i > ${tmp}/plain
    python3 ${report} ${tmp}/log.30 ${tmp}/log.20 ${tmp}/plain -o ${tmp}/page.html
    page basis ${tmp}/page.html
    echo "# no scores"
    for metric in basis outside lavfi.bliinds.basis none; do
        tool_fails ${report} ${tmp}/metadata --metric ${metric} --better lower -o ${tmp}/none.html
    done
    tool_fails ${report} ${tmp}/lines --metric basis --better lower -o ${tmp}/none.html
    # the gate looks at the scores alone: 10, and 70 at the end
    for log in lines metadata; do
        python3 ${gate} --above 60 --for 200ms ${tmp}/${log} 2>&1 || echo $?
    done
}

# Pictures are those of the frames, to the byte, also where sound begins before the picture.
report_video(){
    need python3 gnuplot || return 0
    set +f  # fate-run.sh has file name patterns off
    pattern="testsrc2=s=160x120:r=30000/1001:d=4"
    user_ffmpeg -f lavfi -i ${pattern} -c:v mpeg4 -bf 2 -g 50 -y ${tmp}/a.mp4
    user_ffmpeg -f lavfi -i ${pattern} -vf "select=not(eq(mod(n\,7)\,3))" -fps_mode vfr -c:v mpeg4 -y ${tmp}/vfr.mp4
    user_ffmpeg -f lavfi -i ${pattern} -f lavfi -i sine=d=5 -filter_complex "[0]setpts=PTS+0.5/TB[v]" -map "[v]" -map 1 \
        -c:v mpeg4 -g 15 -c:a mp2 -y ${tmp}/a.ts
    for video in a.mp4 vfr.mp4 a.ts; do
        for audio in "" -an; do
            rm -f ${tmp}/lines ${tmp}/json
            user_ffmpeg -i ${tmp}/${video} ${audio} -vf bliinds=f=${tmp}/lines:log_path=${tmp}/json ${to_null}
            for log in lines json; do
                rm -f ${tmp}/*.jpg ${tmp}/page.html
                python3 ${report} ${tmp}/${log} --video ${tmp}/${video} --ffmpeg ${ffmpeg_path} --worst 3 -o ${tmp}/page.html
                page jpegs ${tmp}/page.html ${tmp}/got
                for n in $(page rows ${tmp}/page.html | sed -n 's/^[0-9]*|.*frame \([0-9]*\)$/\1/p'); do
                    user_ffmpeg -i ${tmp}/${video} -an -vf "select=eq(n\,${n}),scale=320:trunc(320/dar/2)*2" -frames:v 1 -c:v mjpeg -q:v 5 \
                        -f image2pipe - > ${tmp}/expected.${n}.jpg
                done
                cat $(page rows ${tmp}/page.html | sed -n "s,^[0-9]*|.*frame \([0-9]*\)$,${tmp}/expected.\1.jpg,p") > ${tmp}/expected
                cat ${tmp}/got.*.jpg > ${tmp}/got
                same "${video} ${audio} ${log}, $(ls ${tmp}/got.*.jpg | wc -l) pictures" ${tmp}/expected ${tmp}/got
            done
        done
    done
    echo "# another video"
    lines 400 i > ${tmp}/log
    python3 ${report} ${tmp}/log --video ${tmp}/a.mp4 --ffmpeg ${ffmpeg_path} --worst 2 -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep '^note'
}

# Two hours with a single bad frame, which is in sight at all levels.
report_film(){
    need python3 gnuplot || return 0
    lines 172800 'i == 100000 ? 97.5 : 30 + 20 * sin(i / 900) + (i * 7919 % 1000) / 100' > ${tmp}/log
    python3 ${report} ${tmp}/log --worst 1 -o ${tmp}/page.html
    page film ${tmp}/page.html 172800
    page rows ${tmp}/page.html | grep '^1|'
}

# Whatever names have in them.
report_names(){
    need python3 gnuplot || return 0
    mkdir ${tmp}/names
    cd ${tmp}/names
    odd="a '\"<b>&amp;\$(touch pwned)\`touch pwned\`%d {{script}} é
<script>alert(1)<!--.log"
    lines 30 i > "${odd}"
    python3 ${report} "./${odd}" -o "page of ${odd}"
    { echo "Frame,a'b<i>\`touch pwned\`,"; echo "0,1,"; echo "1,2,"; } > csv
    python3 ${report} csv --metric "a'b<i>\`touch pwned\`" --better lower -o page.html
    cd - > /dev/null
    for file in "${tmp}/names/page of ${odd}" ${tmp}/names/page.html; do
        page sound "${file}"
        page names "${file}"
    done
    ls ${tmp}/names | grep -x pwned || echo "nothing was run"
}

# A command of a tool that has to fail; paths are left out of what it says.
tool_fails(){ # tool arguments...
    python3 "$@" > ${tmp}/out 2> ${tmp}/err
    status=$?
    echo "${status}: $(sed "s,${tmp}/,,g; s,\.[0-9]*\.tmp,.PID.tmp,; s,whole (.*):,whole (...):," ${tmp}/err | grep -v '^usage\|^  ')"
}

bad_logs(){
    : > ${tmp}/empty
    echo "some text" > ${tmp}/text
    head -c 300 /dev/zero > ${tmp}/zeros
    printf 'n:1 pts:0 pts_time:0.0 sco' > ${tmp}/noline
    printf '{\n  "frames": [\n    {"frameNum": 0, "metr' > ${tmp}/cut.json
    printf '<VMAF>\n  <frames>\n    <frame frameNum="0" sc' > ${tmp}/cut.xml
    echo '{"frames": []}' > ${tmp}/noframes.json
    echo '{"frames": [{"n": 1}]}' > ${tmp}/otherframes.json
    echo '{"pictures": []}' > ${tmp}/other.json
    echo 'Frame,score,' > ${tmp}/noframes.csv
    lines 3 '"nan"' > ${tmp}/nan
    lines 3 5 0 > ${tmp}/invalid
    echo empty text zeros noline cut.json cut.xml noframes.json otherframes.json other.json noframes.csv nan invalid none
}

report_errors(){
    need python3 gnuplot || return 0
    for log in $(bad_logs); do
        tool_fails ${report} ${tmp}/${log} -o ${tmp}/page.html
    done
    lines 3 5 > ${tmp}/log
    tool_fails ${report} ${tmp}/log -o ${tmp}/none/page.html
    tool_fails ${report} ${tmp}/log -o /dev/full
    python3 ${report} ${tmp}/log -o - > /dev/full 2> ${tmp}/err
    echo "$? $(cat ${tmp}/err)"
    tool_fails ${report} ${tmp}/log --metric foo -o ${tmp}/page.html
    tool_fails ${report} ${tmp}/log --metric raw --video ${tmp}/none -o ${tmp}/page.html
    tool_fails ${report} ${tmp}/log --video ${tmp}/log --ffmpeg ${tmp}/none -o ${tmp}/page.html
    tool_fails ${report} ${tmp}/log --fps 0
    tool_fails ${report}
    echo 'Frame,foo,' > ${tmp}/foo; echo '0,1,' >> ${tmp}/foo
    tool_fails ${report} ${tmp}/foo --metric foo -o ${tmp}/page.html
    lines 3 5 | sed 's/score/psnr_avg/' > ${tmp}/psnr
    tool_fails ${report} ${tmp}/log ${tmp}/psnr -o ${tmp}/page.html
    # only python3 is there, and no gnuplot
    mkdir ${tmp}/bin
    ln -s "$(python3 -c 'import sys; print(sys.executable)')" ${tmp}/bin/python3
    PATH=${tmp}/bin python3 ${report} ${tmp}/log -o ${tmp}/page.html 2>&1
    # one that fails
    printf '#!/bin/sh\necho "it failed" >&2\nexit 3\n' > ${tmp}/bin/gnuplot
    chmod +x ${tmp}/bin/gnuplot
    (PATH=${tmp}/bin:${PATH}; tool_fails ${report} ${tmp}/log -o ${tmp}/page.html)
    ls ${tmp} | grep 'html\|\.tmp' || echo "nothing is left"
    echo "# a page that is there stays when there is no new one"
    echo old > ${tmp}/page.html
    tool_fails ${report} ${tmp}/empty -o ${tmp}/page.html
    cat ${tmp}/page.html
    echo "# one frame"
    lines 1 5 > ${tmp}/log
    python3 ${report} ${tmp}/log -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep '^1|\|^mean'
}

# What ffcrf --json writes.
report_search(){
    need python3 gnuplot || return 0
    sample='"samples": 2, "seconds": 10, "metric": "loss", "frames": 250'
    for try in '28 12.5 250 900000 12' '28 10.5 125 1200000 14' '22 5.5 250 1900000 22' '22 4.5 250 2200000 24' '40 null 0 1 1'; do
        set -- ${try}
        echo "{\"type\": \"sample-encode-done\", ${sample}, \"crf\": $1, \"score\": $2, \"scored_frames\": $3, \"size\": $4, \"encode_percent\": $5}"
    done > ${tmp}/search
    { cat ${tmp}/search; echo '{"type": "crf-search-done", "crf": 22, "metric": "loss", "pool": "mean", "score": 5, "target": 8}'; } > ${tmp}/found
    { cat ${tmp}/search; echo '{"type": "crf-search-error", "message": "no CRF <x>"}'; printf '{"type": "sam'; } > ${tmp}/failed
    python3 ${report} ${tmp}/found ${tmp}/failed -o ${tmp}/page.html
    page rows ${tmp}/page.html
    page sound ${tmp}/page.html
    for pool in worst p5; do
        sed "s/\"pool\": \"mean\"/\"pool\": \"${pool}\"/" ${tmp}/found > ${tmp}/${pool}
        echo '{"type": "verify-done", "file": "a<b>.mkv", "metric": "loss", "score": 6.5, "frames": 9000}' >> ${tmp}/${pool}
        python3 ${report} ${tmp}/${pool} -o ${tmp}/page.html
        page rows ${tmp}/page.html
        page sound ${tmp}/page.html
    done
    lines 30 i > ${tmp}/log
    python3 ${report} ${tmp}/log ${tmp}/found -o ${tmp}/page.html
    page rows ${tmp}/page.html | grep -c 'found\|^mean'
    echo '{"type": "crf-search-error", "message": "no such encoder"}' > ${tmp}/failed
    tool_fails ${report} ${tmp}/failed -o ${tmp}/none.html
}

# What make install installs works there, without the build and with the ffmpeg beside it.
report_install(){
    test -z "${target_exec}" || { skip "runs under ${target_exec}"; return 0; }
    need python3 gnuplot parallel || return 0
    (unset MAKEFLAGS MFLAGS MAKELEVEL; make install DESTDIR=$(readlink -f ${tmp})/root) > ${tmp}/install.log 2>&1 ||
        { tail -n 25 ${tmp}/install.log; return; }
    mv ${tmp}/root$(sed -n 's/^prefix=//p' ffbuild/config.mak) ${tmp}/usr
    bin=$(readlink -f ${tmp})/usr/bin
    # another ffmpeg would be seen
    mkdir ${tmp}/other
    printf '#!/bin/sh\necho "another ffmpeg" >&2\nexit 1\n' | tee ${tmp}/other/ffmpeg > ${tmp}/other/ffprobe
    chmod +x ${tmp}/other/*
    PATH=$(readlink -f ${tmp})/other:${PATH}
    ${bin}/ffmpeg -v error -f lavfi -i testsrc2=s=96x64:r=25:d=4,format=yuv420p -c:v mjpeg ${tmp}/clip.avi
    CUDA_VISIBLE_DEVICES= ${bin}/quality-farm -o ${tmp}/results --filter bliinds --segment 2s ${tmp}/clip.avi 2> ${tmp}/err
    echo "quality-farm: exit code $?, $(tail -n 1 ${tmp}/results/summary.csv | cut -d, -f2,3,16)"
    ${bin}/quality-report ${tmp}/results/clip.avi.log --video ${tmp}/clip.avi --worst 2 -o ${tmp}/page.html
    echo "quality-report: exit code $?, $(page sound ${tmp}/page.html), $(grep -o 'data:image/jpeg' ${tmp}/page.html | wc -l) pictures"
    ${bin}/quality-compare -m ssim,bliinds -o ${tmp}/results ${tmp}/clip.avi ${tmp}/clip.avi > ${tmp}/table 2> ${tmp}/err
    echo "quality-compare: exit code $?, $(wc -l < ${tmp}/results/clip.avi.csv) lines, $(page sound ${tmp}/results/report.html)"
    lines 50 i > ${tmp}/log
    ${bin}/quality-gate --above 40 ${tmp}/log > /dev/null 2>&1
    echo "quality-gate: exit code $?"
    ${bin}/ffcrf -h > ${tmp}/out 2>&1
    echo "ffcrf: exit code $?"
    find ${tmp}/usr -name '*.pyc' | wc -l
    mv ${tmp}/usr ${tmp}/root$(sed -n 's/^prefix=//p' ffbuild/config.mak)
    (unset MAKEFLAGS MFLAGS MAKELEVEL; make uninstall DESTDIR=$(readlink -f ${tmp})/root) > /dev/null
    find ${tmp}/root ! -type d
}

# 70 is bad: from 2 to 2.48 s, 4 to 6.96, 8 to 9.96 (not valid from 9 to 9.48), and from 15 to the end at 19.96.
gate_log(){
    lines 500 't >= 2 && t < 2.5 || t >= 4 && t < 7 || t >= 8 && t < 10 || t >= 15 ? 70 : 40' 't < 9 || t >= 9.5'
}

gate_alarms(){
    need python3 || return 0
    gate_log > ${tmp}/log
    while read -r options; do
        echo "# ${options}"
        python3 ${gate} ${options} ${tmp}/log 2> ${tmp}/err
        echo "$? $(cat ${tmp}/err)"
    done << EOF
--above 60
--above 60 --for 1s
--above 60 --for 1s --recover 1500ms
--above 60 --for 500ms --recover 3
--above 60 --window 1s
--above 54 --window 1s --for 2s
--above 60 --for 2s --stop
--above 70 --for 1s
--below 41 --for 3s
--below 40
--above 0.9 --metric raw --for .1m
--above 1.5 --metric raw
EOF
    echo "# the same frames by their numbers"
    { echo "Frame,score,valid,"; sed 's/.*n:\([0-9]*\) .* score:\([0-9]*\) .* valid:\([01]\)/\1 \2 \3/' ${tmp}/log | awk '{ print $1 - 1 "," $2 "," $3 "," }'; } > ${tmp}/csv
    python3 ${gate} --above 60 --for 1s --recover 1500ms --fps 25 ${tmp}/csv 2> /dev/null
    tool_fails ${gate} --above 60 --for 1s ${tmp}/csv
    echo "# as metadata"
    awk -F'[ :]' '{ printf("frame:%-4d pts:%-7s pts_time:%s\nlavfi.bliinds.score=%s\nlavfi.bliinds.valid=%s\n", $2 - 1, $4, $6, $8, $12) }' ${tmp}/log > ${tmp}/metadata
    python3 ${gate} --above 60 --for 1s --recover 1500ms ${tmp}/metadata 2> /dev/null
    echo "# twice"
    cat ${tmp}/log ${tmp}/log | python3 ${gate} --above 60 --for 4s - 2>&1 || echo $?
    cat ${tmp}/log ${tmp}/log | python3 ${gate} --above 60 --window 4s - 2>&1 || echo $?
}

# Waits for a line, ten seconds.
await(){ # pattern file
    for i in $(seq 200); do
        grep -q "$1" $2 2> /dev/null && return
        sleep 0.05
    done
    echo "no $1"
}

# What is told while the pipe is open.
gate_live(){
    need python3 mkfifo timeout || return 0
    mkfifo ${tmp}/pipe
    timeout 60 python3 ${gate} --above 60 --for 1s --recover 1s --stale 1s --prometheus ${tmp}/prom - < ${tmp}/pipe > ${tmp}/out 2> ${tmp}/err &
    exec 9> ${tmp}/pipe
    gate_log > ${tmp}/log
    head -n 126 ${tmp}/log >&9     # up to 5 s
    await alarm_raised ${tmp}/out
    head -n 1 ${tmp}/out
    await 'alarm{.*} 1' ${tmp}/prom
    await stale:1 ${tmp}/out
    tail -n +127 ${tmp}/log >&9
    exec 9>&-
    wait $!
    echo "$? $(cat ${tmp}/err)"
    tail -n +2 ${tmp}/out
    echo "# stop"
    : > ${tmp}/out
    timeout 60 python3 ${gate} --above 60 --stop - < ${tmp}/pipe > ${tmp}/out 2> /dev/null &
    exec 9> ${tmp}/pipe
    head -n 60 ${tmp}/log >&9
    wait $!     # with the pipe still open
    echo "$? $(cat ${tmp}/out)"
    exec 9>&-
}

gate_errors(){
    need python3 || return 0
    for log in $(bad_logs); do
        tool_fails ${gate} --above 60 ${tmp}/${log}
    done
    lines 50 i > ${tmp}/log
    tool_fails ${gate} --above 60 --metric foo ${tmp}/log
    tool_fails ${gate} ${tmp}/log
    tool_fails ${gate} --above nan ${tmp}/log
    tool_fails ${gate} --above 60 --for 2x ${tmp}/log
    tool_fails ${gate} --above 60 --below 50 ${tmp}/log
    tool_fails ${gate} --above 60 --fps 0 ${tmp}/log
    # ends in a frame, or has lost the end of a line, and so may have been bad there
    sed '$d' ${tmp}/log > ${tmp}/shorter
    tail -n 1 ${tmp}/log | head -c 40 | cat ${tmp}/shorter - > ${tmp}/cut
    tool_fails ${gate} --above 60 ${tmp}/cut
    tool_fails ${gate} --above 40 ${tmp}/cut
    sed 's/^n:\([0-9]*\) pts:\([0-9]*\) pts_time:\([^ ]*\) score:\([^ ]*\).*/frame:\1 pts:\2 pts_time:\3\nlavfi.score=\4\nlavfi.valid=1/' \
        ${tmp}/log > ${tmp}/metadata
    for text in 1 "\nlavfi.valid=1" "\nlavfi.score=49\nlavfi.valid=1"; do
        head -c -$(printf "${text}\n" | wc -c) ${tmp}/metadata > ${tmp}/cut
        tool_fails ${gate} --above 60 ${tmp}/cut
    done
    sed '20{N;s/ score.*\n/ /}' ${tmp}/log > ${tmp}/glued
    tool_fails ${gate} --above 60 ${tmp}/glued
    # one without a time is passed over, a hundred are not
    sed '20s/pts_time:[^ ]*/pts_time:NOPTS/' ${tmp}/log > ${tmp}/untimed
    tool_fails ${gate} --above 40 --for 100ms ${tmp}/untimed
    lines 150 0 | sed '20,$s/pts_time:[^ ]* //' > ${tmp}/untimed
    tool_fails ${gate} --above 60 --for 1s ${tmp}/untimed
    # judged all the same
    tool_fails ${gate} --above 60 --prometheus ${tmp}/none/prom ${tmp}/log
    tool_fails ${gate} --above 40 --prometheus /dev/full ${tmp}/log
    python3 ${gate} --above 40 ${tmp}/log > /dev/full 2> ${tmp}/err
    echo "$? $(cat ${tmp}/err)"
    lines 20000 'i % 2' | { python3 ${gate} --above 0 - 2> ${tmp}/err; echo $? > ${tmp}/status; } | head -n 1
    cat ${tmp}/status ${tmp}/err
}

# All forms of logs, whole and damaged: what is in tests/quality_logs_test.py.
quality_logs(){
    need python3 || return 0
    for python in python3 /usr/bin/python3; do
        if ${python} -c 'import hypothesis' 2> /dev/null; then
            ${python} ${project}/tests/quality_logs_test.py > ${tmp}/out 2>&1 && grep -q '^OK' ${tmp}/out &&
                echo "all logs are read, or refused in words"
            cat ${tmp}/out >&2
            return
        fi
    done
    skip "no Python with hypothesis"
}

gate_prometheus(){
    need python3 promtool || return 0
    set +f  # fate-run.sh has file name patterns off
    gate_log > ${tmp}/log
    python3 ${gate} --above 60 --for 4s --prometheus ${tmp}/quality.prom --stream 'a "b"\c
d' ${tmp}/log > /dev/null 2>&1
    promtool check metrics < ${tmp}/quality.prom 2>&1 && echo "metrics are good"
    grep -v '^#\|timestamp' ${tmp}/quality.prom
    awk -v now=$(date +%s) '/^ffmpeg_quality_last_frame_timestamp/ { d = now - $NF; print "seen just now:", (d > -5 && d < 60) }' ${tmp}/quality.prom
    echo "# nothing valid yet, and a score of 0"
    { lines 3 5 0; echo "n:4 pts:3 pts_time:0.12 score:0.000000 raw:0 valid:1"; } | python3 ${gate} --above 60 --prometheus ${tmp}/zero.prom - 2> /dev/null
    promtool check metrics < ${tmp}/zero.prom 2>&1 && grep '^ffmpeg_quality_\(score\|frames_total\|inv\)' ${tmp}/zero.prom | grep -v bucket
    cp ${project}/doc/quality-alerts*.yml ${tmp}/
    (cd ${tmp} && promtool check rules quality-alerts.yml && promtool test rules quality-alerts-test.yml) 2>&1 | sed '/^$/d'
    # names in the rules are names of the gate's
    grep -o 'ffmpeg_quality_[a-z_]*' ${tmp}/quality-alerts.yml | sort -u | while read -r name; do
        grep -q "^${name}{" ${tmp}/quality.prom || echo "no ${name}"
    done
    ls ${tmp} | grep '\.tmp' || echo "nothing is left"
}

# Runs the commands that a text has, those in lines that begin with four spaces, as they are
# printed; prints each one's exit code. What is between lines of ``` is to be in the output
# of the command before it.
printed(){ # text
    set +f
    mkdir -p ${tmp}/bin ${tmp}/examples
    ln -s ${ffmpeg_path} ${report} ${gate} ${tmp}/bin/
    cp $1 ${tmp}/text
    cp ${project}/doc/quality-alerts*.yml ${tmp}/examples/
    (
        PATH=$(cd ${tmp}/bin && pwd):${PATH}
        cd ${tmp}/examples
        test -f in.mp4 || ffmpeg -v error -f lavfi -i testsrc2=r=25:d=12 -c:v libx264 in.mp4 < /dev/null
        fence=
        while IFS= read -r line; do
            case ${fence}${line} in
            '    make '* | '    ffcrf '* | '    apt-get '*) ;;
            '    '*)
                sh -c "${line#    }" > output 2>&1 < /dev/null
                echo "$? ${line#    }"
                sed 's/^/    /' output >&2 ;;
            '```'*) if test -n "${fence}"; then fence=; else fence='>'; fi ;;
            '>```') fence= ;;
            '>'*)   cat output *.prom 2> /dev/null | grep -qxF "${line}" || echo "not in the output: ${line}" ;;
            esac
        done < ../text
        for file in *.html; do
            test ! -f ${file} || echo "${file}: $(page sound ${file})"
        done
    )
}

report_examples(){
    need python3 gnuplot || return 0
    # the search is made up, as ffcrf need not be there
    mkdir -p ${tmp}/examples
    echo '{"type": "sample-encode-done", "crf": 22, "metric": "loss", "score": 5, "scored_frames": 9, "size": 9, "seconds": 1}' > ${tmp}/examples/search.json
    printed ${project}/doc/quality-report.md
}

gate_examples(){
    need python3 jq promtool || return 0
    printed ${project}/doc/quality-gate.md
    # what is said of the functions that compare
    score=$(sed -n '7s/.* score:\([^ ]*\) .*/\1/p' ${tmp}/examples/frames.log)
    ls ${tmp}/examples | grep -c '^bad.*png' > ${tmp}/greater
    for function in less equal; do
        user_ffmpeg -i ${tmp}/examples/in.mp4 -an -f null -vf \
            bliinds,metadata=print:key=lavfi.bliinds.score:value=${score}:function=${function}:file=- - | grep -c ^frame > ${tmp}/${function}
    done
    tr ' ' '\n' < ${tmp}/examples/frames.log | awk -F: -v score=${score} -v got="$(cat ${tmp}/greater ${tmp}/less ${tmp}/equal | xargs)" '
        $1 == "score" { greater += $2 > 30; less += $2 <= score; equal += $2 == score }
        END { print (got == greater " " less " " equal) ? "greater, less or equal, equal" : "other frames: " got " and not " greater " " less " " equal }'
}

# Those of the README, where it is at hand.
report_readme(){
    need python3 gnuplot || return 0
    readme=${project}/README.md
    test -f ${readme} && grep -q '^## The page and the gate' ${readme} || { skip "no README here"; return 0; }
    sed -n '/^## The page and the gate/,/^## /p' ${readme} | sed '$d' > ${tmp}/readme
    printed ${tmp}/readme
}
