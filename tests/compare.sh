# shellcheck shell=sh disable=SC2012,SC2046,SC2086,SC2154,SC2231
# Tests of quality-compare, for CMD in tests/fate/quality.mak: they come after tests/filters/common.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later

compare=${project}/tools/quality-compare

# A film in which no frame is like another: lossless, so that the right pairs are equal.
film(){ # file rate filter
    user_ffmpeg -f lavfi -i testsrc2=s=160x96:r=$2:d=3,format=yuv420p -vf "$3" -c:v ffv1 -y ${tmp}/$1 || echo "no $1"
}

copy(){ # source file filter [options]
    user_ffmpeg -i ${tmp}/$1 -vf "$3" ${4:--c:v ffv1} -y ${tmp}/$2 || echo "no $2"
}

# Of what it says, the way of the files and the page are left out.
compared(){ # arguments...
    (
        cd ${tmp} || exit
        python3 ${compare} --no-gpu --ffmpeg ${ffmpeg_path} -o out "$@" > table 2> said
        status=$?
        grep -v 'page is' said
        test ${status} = 0 || echo "exit code ${status}"
    )
}

# How far the values of a metric are from the best: of lossless copies, 0 means the right pairs.
column(){ # file name
    awk -F, -v name=$2 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) n = i; next } { print $n }' ${tmp}/out/$1.csv
}

worst_ssim(){ # file
    column $1 ssim.All | sort -g | head -n 1
}

compare_offsets(){
    need python3 || return 0
    film source.mkv 25 null
    copy source.mkv late.mkv trim=start_frame=7,setpts=PTS-STARTPTS
    copy source.mkv later.mkv trim=start_frame=13,setpts=PTS-STARTPTS
    echo "# lossless copies"
    for pair in source.mkv:source.mkv source.mkv:late.mkv later.mkv:source.mkv; do
        compared ${pair%:*} ${pair#*:} -m ssim
        echo "worst: $(worst_ssim ${pair#*:})"
    done
    echo "# half the size, and not lossless; both ways"
    copy late.mkv half.mp4 scale=80:48 "-c:v libx264 -crf 35 -preset ultrafast"
    copy source.mkv half2.mp4 scale=80:48 "-c:v libx264 -crf 35 -preset ultrafast"
    compared source.mkv half.mp4 -m ssim
    compared later.mkv half2.mp4 -m ssim --encode-size
    echo "# 50 and 25 frames per second"
    film 50.mkv 50 null
    copy 50.mkv 25.mkv trim=start_frame=7,setpts=PTS-STARTPTS,framestep=2
    copy 50.mkv 50cut.mkv trim=start_frame=13,setpts=PTS-STARTPTS
    copy 50.mkv 25all.mkv framestep=2
    for pair in 50.mkv:25.mkv 25.mkv:50.mkv 50cut.mkv:25all.mkv 25all.mkv:50cut.mkv; do
        compared ${pair%:*} ${pair#*:} -m ssim,xpsnr
        echo "worst: $(worst_ssim ${pair#*:}) $(column ${pair#*:} xpsnr.xpsnr.y | sort -u | xargs)"
    done
    echo "# 30000/1001 and 30"
    film 30.mkv 30 null
    copy 30.mkv ntsc.mp4 trim=start_frame=7,setpts=PTS-STARTPTS,fps=30000/1001 "-c:v libx264 -qp 0 -preset ultrafast"
    copy 30.mkv 30cut.mkv trim=start_frame=13,setpts=PTS-STARTPTS
    copy 30.mkv ntscall.mkv fps=30000/1001
    for pair in 30.mkv:ntsc.mp4 ntsc.mp4:30.mkv 30cut.mkv:ntscall.mkv; do
        compared ${pair%:*} ${pair#*:} -m ssim
        echo "worst: $(worst_ssim ${pair#*:})"
    done
    echo "# given by hand, and a limit of time"
    compared source.mkv late.mkv -m ssim --offset 7f --duration 1
    compared source.mkv late.mkv -m ssim --offset 0.28
    echo "worst: $(worst_ssim late.mkv)"
    compared source.mkv late.mkv later.mkv -m ssim --offset 0.28 --offset 13f
    compared source.mkv late.mkv -m ssim --offset 0
    compared source.mkv late.mkv -m ssim --offset 25
    echo "# nothing moves, a part repeats, nothing in common, too far"
    copy source.mkv still.mkv trim=end_frame=1,loop=74:1,setpts=N/25/TB
    compared still.mkv still.mkv -m ssim
    copy source.mkv again.mkv trim=end_frame=20,loop=3:20,setpts=N/25/TB
    compared again.mkv again.mkv -m ssim
    user_ffmpeg -f lavfi -i mandelbrot=s=160x96:r=25,format=yuv420p -t 3 -c:v ffv1 ${tmp}/other.mkv
    compared source.mkv other.mkv -m ssim
    compared source.mkv late.mkv -m ssim --search 0.2
}

# The values must be those of the same frames in plain files of samples.
compare_values(){
    need python3 jq || return 0
    film source.mkv 25 null
    copy source.mkv a.mkv trim=start_frame=7,setpts=PTS-STARTPTS "-c:v libx264 -crf 30 -preset ultrafast"
    copy source.mkv b.mp4 scale=120:64 "-c:v libx264 -crf 40 -preset ultrafast -pix_fmt yuv420p10"
    (cd ${tmp} && python3 ${compare} --no-gpu --ffmpeg ${ffmpeg_path} -o out source.mkv a.mkv b.mp4 -m ssim,psnr,xpsnr,bliinds,mad) > ${tmp}/table 2> ${tmp}/said
    cat ${tmp}/said >&2
    raw="-fps_mode passthrough -f rawvideo -y"
    size="-f rawvideo -framerate 25 -s 160x96 -pix_fmt"
    user_ffmpeg -i ${tmp}/source.mkv -vf trim=start_frame=7 ${raw} ${tmp}/a.source
    user_ffmpeg -i ${tmp}/a.mkv ${raw} ${tmp}/a.encode
    user_ffmpeg -i ${tmp}/source.mkv -vf scale=flags=bicubic+accurate_rnd,format=yuv420p10 ${raw} ${tmp}/b.source
    user_ffmpeg -i ${tmp}/b.mp4 -vf scale=160:96:flags=bicubic+accurate_rnd ${raw} ${tmp}/b.encode
    for try in a.mkv:yuv420p b.mp4:yuv420p10le; do
        file=${try%:*}; i=${file%.*}; format=${try#*:}
        for filter in psnr ssim mad; do
            run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v info ${size} ${format} -i ${tmp}/${i}.encode ${size} ${format} -i ${tmp}/${i}.source \
                -lavfi ${filter},metadata=print:file=${tmp}/${i}.${filter} -f null - 2> ${tmp}/${i}.${filter}.said
        done
        run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v info ${size} ${format} -i ${tmp}/${i}.source ${size} ${format} -i ${tmp}/${i}.encode \
            -lavfi xpsnr,metadata=print:file=${tmp}/${i}.xpsnr -f null - 2> ${tmp}/${i}.xpsnr.said
        for key in psnr.psnr_avg psnr.mse.y ssim.All ssim.U xpsnr.xpsnr.y xpsnr.xpsnr.v mad.score; do
            column ${file} ${key} > ${tmp}/got
            sed -n "s/^lavfi.${key}=//p" ${tmp}/${i}.${key%%.*} > ${tmp}/wanted
            same "${file}, $(wc -l < ${tmp}/got) frames, ${key}" ${tmp}/wanted ${tmp}/got
        done
        for filter in psnr ssim xpsnr; do
            sed -n "s/^\[Parsed_${filter}[^]]*\] \(.*[^ ]\) *$/\1/p" ${tmp}/${i}.${filter}.said > ${tmp}/wanted
            sed -n "s/^${file}: //p" ${tmp}/table | grep -i "^${filter} " > ${tmp}/got
            same "${file}, what ${filter} prints" ${tmp}/wanted ${tmp}/got
        done
    done
    echo "# bliinds sees the encode as it is, with the bitstream"
    for try in a.mkv b.mp4; do
        user_ffmpeg -bsf:v quantizer_metadata -i ${tmp}/${try} -vf bliinds,metadata=print:file=${tmp}/bliinds -f null -
        sed -n "s/^lavfi.bliinds.score=//p" ${tmp}/bliinds > ${tmp}/wanted
        column ${try} bliinds.score > ${tmp}/got
        same "${try}, bliinds" ${tmp}/wanted ${tmp}/got
    done
    if ffmpeg -v quiet -filters | grep -q ' libvmaf '; then
        (cd ${tmp} && python3 ${compare} --no-gpu --ffmpeg ${ffmpeg_path} -o vmaf source.mkv a.mkv -m vmaf) > ${tmp}/with_vmaf
        user_ffmpeg ${size} yuv420p -i ${tmp}/a.encode ${size} yuv420p -i ${tmp}/a.source -lavfi libvmaf=log_path=${tmp}/vmaf.json:log_fmt=json -f null -
        jq -r '.frames[].metrics.vmaf' ${tmp}/vmaf.json | awk '{ printf("%.6f\n", $1) }' > ${tmp}/wanted
        tail -n +2 ${tmp}/vmaf/a.mkv.csv | awk -F, '{ printf("%.6f\n", $NF) }' > ${tmp}/got
        same vmaf ${tmp}/wanted ${tmp}/got
        user_ffmpeg ${size} yuv420p -i ${tmp}/a.encode -vf scale=320:192 -c:v ffv1 ${tmp}/large.mkv
        user_ffmpeg ${size} yuv420p -i ${tmp}/a.source -vf scale=320:192 -c:v ffv1 ${tmp}/large_source.mkv
        (cd ${tmp} && python3 ${compare} --no-gpu --ffmpeg ${ffmpeg_path} -o vmaf large_source.mkv large.mkv -m vmaf) >> ${tmp}/with_vmaf
        if user_ffmpeg -i ${tmp}/large.mkv -i ${tmp}/large_source.mkv -lavfi \
            "[0:v]format=yuv420p10[a];[1:v]format=yuv420p10[b];[a][b]libvmaf=model=version=vmaf_v1.0.16_3d0h\\\\:cambi.enc_bitdepth=8:log_path=${tmp}/v1.json:log_fmt=json" -f null -
        then
            jq -r '.frames[].metrics.vmaf' ${tmp}/v1.json | awk '{ printf("%.6f\n", $1) }' > ${tmp}/wanted
            tail -n +2 ${tmp}/vmaf/large.mkv.csv | awk -F, '{ printf("%.6f\n", $NF) }' > ${tmp}/got
            same "vmaf v1" ${tmp}/wanted ${tmp}/got
        else
            leave_out "vmaf v1"
        fi
    else
        leave_out vmaf
        leave_out "vmaf v1"
    fi
    echo "# JSON has what CSV has, and the table its numbers"
    for try in a.mkv b.mp4; do
        jq -r '.frames[] | "\(.frameNum) \(.pts_time) \(.metrics["psnr.psnr_avg"])"' ${tmp}/out/${try}.json > ${tmp}/wanted
        paste -d, ${tmp}/out/${try}.csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "psnr.psnr_avg") n = i; next }
            { printf("%d %.15g %.15g\n", $1, $2, $n) }' > ${tmp}/got
        same "${try}, JSON" ${tmp}/wanted ${tmp}/got
        jq -r '.offset, .pooled_metrics["ssim.All"].mean, .pooled_metrics["ssim.All"].p5, .pooled_metrics["bliinds.score"].p95' ${tmp}/out/${try}.json |
            awk '{ printf("%.*f\n", NR == 4 ? 2 : 4, $1) }' | xargs
    done
    grep -A 1 '^SSIM (\|^BLIINDS' ${tmp}/table | grep -v -e '^--'
    echo "# equal files"
    compared source.mkv source.mkv -m ssim,psnr,xpsnr,mad
    for key in ssim.All psnr.psnr_avg xpsnr.xpsnr.y mad.score; do
        echo "${key}: $(column source.mkv ${key} | sort -u | xargs)"
    done
    jq -c '.frames[74].metrics | .["psnr.psnr_avg"], .["ssim.All"]' ${tmp}/out/source.mkv.json
    echo "# range and chroma"
    copy source.mkv full.mkv scale=out_range=full,format=yuv444p "-c:v libx264 -qp 0 -preset ultrafast -color_range pc"
    compared source.mkv full.mkv -m ssim
    column full.mkv ssim.Y | sort -g | awk 'NR == 1 { print $1 > 0.99 ? "luma is the same but for rounding" : $1 }'
}

# The page has all metrics, and its pictures are those of the frames it names.
compare_page(){
    need python3 gnuplot || return 0
    film source.mkv 25 null
    copy source.mkv a.mkv trim=start_frame=7,setpts=PTS-STARTPTS "-c:v libx264 -crf 30 -preset ultrafast"
    copy source.mkv b.mp4 "drawbox=c=red:t=fill:enable=eq(n\,30)" "-c:v libx264 -crf 30 -preset ultrafast"
    compared source.mkv a.mkv b.mp4 -m ssim,psnr,bliinds
    page sound ${tmp}/out/report.html
    page rows ${tmp}/out/report.html > ${tmp}/rows
    grep -c '^[ab]\.\(mkv\|mp4\)|' ${tmp}/rows
    grep 'is better' ${tmp}/rows
    # the frame that is red is in both files' time that of the source
    sed -n 's/^1|//p' ${tmp}/rows
    page jpegs ${tmp}/out/report.html ${tmp}/picture
    set +f
    for i in ${tmp}/picture.*.jpg; do
        user_ffmpeg -i ${i} -vf scale=1:1:flags=area,format=rgb24 -f rawvideo - | od -An -tu1 | awk '{ print ($1 > 200 && $2 < 60) ? "red" : "not red" }'
    done | sort | uniq -c | xargs
    echo "# the same of its CSV, by hand"
    python3 ${report} ${tmp}/out/b.mp4.csv -m ssim.All -m psnr.psnr_avg -o ${tmp}/page.html && page sound ${tmp}/page.html
    echo "# equal files: what is infinite has no curve"
    compared source.mkv source.mkv -m psnr,ssim
    page sound ${tmp}/out/report.html
    page rows ${tmp}/out/report.html | grep 'is better\|^note'
}

compare_names(){
    need python3 || return 0
    mkdir -p ${tmp}/names "${tmp}/names/a:b'c"
    film source.mkv 25 null
    odd="a 'b\",c:d;e[f]%d\\g=é
h.mkv"
    (
        cd ${tmp}/names || exit
        cp ../source.mkv ":s'rc,.mkv"
        cp ../source.mkv "${odd}"
        cp ../source.mkv "a:b'c/${odd}"
        TMPDIR="$(pwd)/a:b'c" python3 ${compare} --no-gpu --ffmpeg ${ffmpeg_path} -o "o:'[,;] é" -m ssim,xpsnr \
            ":s'rc,.mkv" "${odd}" "a:b'c/${odd}" ./-x 2> ../said
        echo "exit code $?"
        cp ../source.mkv ./-x
        TMPDIR="$(pwd)/a:b'c" python3 ${compare} --no-gpu --ffmpeg ${ffmpeg_path} -o "o:'[,;] é" -m ssim,xpsnr \
            -- ":s'rc,.mkv" "${odd}" "a:b'c/${odd}" -x 2> ../said
        echo "exit code $?"
        grep -v 'page is' ../said
        ls "o:'[,;] é" | LC_ALL=C sort | tr '\n' '|'
        echo
        ls "a:b'c" | wc -l
    )
}

# A stand-in for ffmpeg that does something else in one place.
stand_in(){ # file case-pattern command
    mkdir -p ${tmp}/$1
    ln -sf $(dirname ${ffmpeg_path})/ffprobe${PROGSUF}${EXECSUF} ${tmp}/$1/ffprobe
    printf '#!/bin/sh\ncase "$*" in\n%s) %s ;;\n*) exec %s "$@" ;;\nesac\n' "$2" "$3" ${ffmpeg_path} > ${tmp}/$1/ffmpeg
    chmod +x ${tmp}/$1/ffmpeg
}

compare_errors(){
    need python3 || return 0
    film source.mkv 25 null
    copy source.mkv a.mkv null "-c:v libx264 -crf 20 -preset ultrafast"
    user_ffmpeg -f lavfi -i sine=d=1 -c:a pcm_s16le ${tmp}/sound.mkv
    echo text > ${tmp}/text.mp4
    : > ${tmp}/empty.mkv
    echo "# files that are none"
    compared none.mkv a.mkv -m ssim
    compared source.mkv none.mkv -m ssim
    compared source.mkv sound.mkv -m ssim
    compared source.mkv . -m ssim
    compared text.mp4 a.mkv -m ssim
    compared source.mkv empty.mkv -m ssim
    echo "# cut off: what is there is compared, and it is an error"
    head -c $(($(wc -c < ${tmp}/a.mkv) * 6 / 10)) ${tmp}/a.mkv > ${tmp}/cut.mkv
    compared source.mkv cut.mkv -m ssim | sed 's/^cut.mkv: [0-9]* frames/cut.mkv: N frames/; s/\(File ended prematurely\).*/\1/'
    echo "# a size that changes"
    copy source.mkv small.mkv scale=80:48 "-c:v libx264 -f mpegts"
    copy source.mkv large.mkv null "-c:v libx264 -f mpegts"
    cat ${tmp}/large.mkv ${tmp}/small.mkv > ${tmp}/both.ts
    compared both.ts both.ts -m ssim
    echo "# options"
    for i in "-m foo" "-m ," "--offset x" "--offset 1 --offset 2" "--search 0" "--duration nan"; do
        compared source.mkv a.mkv ${i} | grep -v '^usage\|^  '
    done
    compared source.mkv | grep -v '^usage\|^  '
    compared source.mkv a.mkv -m ssim -o source.mkv
    compared source.mkv a.mkv --ffmpeg ./none | sed "s;/.*/;;"
    echo "# what this ffmpeg does not have"
    stand_in few '*-filters*' "${ffmpeg_path} \"\$@\" | grep -v ' xpsnr \| bliinds'"
    compared source.mkv a.mkv -m ssim,xpsnr,bliinds --ffmpeg few/ffmpeg
    compared source.mkv a.mkv -m xpsnr,bliinds --ffmpeg few/ffmpeg
    echo "# an ffmpeg that fails"
    stand_in bad '*-filter_complex*' 'echo "[fatal] it failed" >&2; exit 3'
    compared source.mkv a.mkv -m ssim --ffmpeg bad/ffmpeg
    echo "# interrupted, it leaves what was there, and nothing else"
    stand_in slow '*-filter_complex*' 'echo $$ > slow.pid; exec sleep 100'
    for i in INT TERM; do
        rm -rf ${tmp}/out ${tmp}/slow.pid
        mkdir ${tmp}/out
        echo old > ${tmp}/out/a.mkv.json
        (cd ${tmp} && exec env --default-signal=INT python3 ${compare} --no-gpu --ffmpeg slow/ffmpeg -o out source.mkv a.mkv -m ssim > table 2> said) &
        pid=$!
        for _ in $(seq 300); do test -s ${tmp}/slow.pid && break; sleep 0.1; done
        kill -${i} ${pid}
        wait ${pid}
        echo "${i}: exit code $?, $(ls ${tmp}/out), $(cat ${tmp}/out/a.mkv.json)"
        ! kill -0 $(cat ${tmp}/slow.pid) 2> /dev/null || echo "its ffmpeg goes on"
    done
}
