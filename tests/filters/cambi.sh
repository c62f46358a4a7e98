# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154
# Tests of cambi, for CMD in tests/fate/metrics.mak: they come after tests/filters/vmaf.sh, whose draw()
# they use.
# SPDX-License-Identifier: LGPL-2.1-or-later

raw8="-f rawvideo -pix_fmt yuv420p -video_size 480x360 -i ${tmp}/encode"
raw10="-f rawvideo -pix_fmt yuv444p10 -video_size 480x360 -i ${tmp}/encode"

scores(){ # options-of-ffmpeg filters options
    ffmpeg $1 -vf $2cambi=$3:f=- ${to_null} | sed 's/.*score://' | xargs
}

# Both models, by libvmaf's tool; any number of threads.
cambi_libvmaf(){
    for depth in 8 10; do
        draw 3 ${depth} $((depth == 8)) $((depth == 8))
        test ${depth} = 8 && raw=${raw8} || raw=${raw10}
        for options in model=libvmaf model=v1 model=libvmaf:enc_bitdepth=8 model=v1:enc_width=320:enc_height=240 \
                       model=libvmaf:enc_width=333:enc_height=217:enc_bitdepth=10; do
            one=$(scores "${raw}" "" ${options})
            echo "${depth} bits, ${options}: ${one}"
            test "${one}" = "$(scores "-filter_threads 5 ${raw}" "" ${options})" || echo "and others with five threads"
        done
    done
    # model=libvmaf has no luminance threshold
    for model in libvmaf v1; do
        echo "dark, ${model}: $(scores "${raw10}" "geq=lum=lum(X\,Y)-140," model=${model})"
    done
    # above 1920x1080 samples model=v1 alone halves the picture
    ffmpeg ${raw10} -vf crop=480:240,scale=1920:1200:flags=neighbor -f rawvideo ${tmp}/large
    for model in libvmaf v1; do
        echo "1920x1200, ${model}: $(scores "-f rawvideo -pix_fmt yuv444p10 -video_size 1920x1200 -i ${tmp}/large" "" model=${model})"
    done
}

# Scores are those of vmaf's models.
cambi_vmaf(){
    draw 3 8 1 1
    for enc in "" :enc_width=320:enc_height=240 :enc_bitdepth=10; do
        on_drawn yuv420p "model=version=vmaf_v1.0.16_3d0h$(echo ${enc} | sed 's/:/\\\\:cambi./g'):f=-" |
            sed 's/.* cambi:\([^ ]*\).*/\1/' > ${tmp}/vmaf
        ffmpeg ${raw8} -vf cambi=model=v1${enc}:f=- ${to_null} | sed 's/.*score://' > ${tmp}/cambi
        same "vmaf's${enc}" ${tmp}/vmaf ${tmp}/cambi
    done
}

# Luma has the same scores in every format.
cambi_formats(){
    draw 2 8 1 1
    for formats in yuv420p:nv12 yuv420p:yuv444p yuv420p10le:p010 yuv422p12le:p212; do
        for format in ${formats%:*} ${formats#*:}; do
            ffmpeg ${raw8} -vf ${exact},format=${formats%:*},${exact},format=${format},cambi=f=- ${to_null} > ${tmp}/${format}
        done
        same ${format} ${tmp}/${formats%:*} ${tmp}/${format}
    done
    head -c 172800 ${tmp}/encode > ${tmp}/gray
    ffmpeg -f rawvideo -pix_fmt gray -video_size 480x360 -i ${tmp}/gray -vf cambi=f=- ${to_null} > ${tmp}/gray.stats
    head -n 1 ${tmp}/yuv420p > ${tmp}/first
    same gray ${tmp}/first ${tmp}/gray.stats
    # bits below the sample do not count
    for bits in 0 63; do
        ffmpeg ${raw8} -vf ${exact},format=gray10le,format=gray10le -f rawvideo - | od -An -v -tu2 -w2 |
            awk -v bits=${bits} '{ v = $1 * 64 + bits; printf("%c%c", v % 256, int(v / 256)) }' > ${tmp}/luma
        head -c 345600 ${tmp}/luma > ${tmp}/p010
        head -c 172800 ${tmp}/luma >> ${tmp}/p010
        ffmpeg -f rawvideo -pix_fmt p010le -video_size 480x360 -i ${tmp}/p010 -vf cambi=f=- ${to_null} > ${tmp}/bits${bits}
    done
    same "p010 with lower bits" ${tmp}/bits0 ${tmp}/bits63
}

# The heatmap of a vertical edge of some values, computed by its definition. The window of 320x240 is
# 7x7, and the spatial mask contains every sample.
expected_heatmap(){ # step max black white
    awk -v step=$1 -v max=$2 -v black=$3 -v white=$4 '
        function min(a, b) { return a < b ? a : b }
        function most(a, b) { return a > b ? a : b }
        BEGIN {
            for (y = 0; y < 240; y++)
                for (x = 0; x < 320; x++) {
                    rows  = min(y + 3, 239) - most(y - 3, 0) + 1
                    left  = most(min(x + 3, 159) - most(x - 3, 0) + 1, 0) * rows
                    right = most(min(x + 3, 319) - most(x - 3, 160) + 1, 0) * rows
                    c     = step * left * right / (left + right)
                    print black + int(white * min(16 * c / 49 / max, 1) + 0.5)
                }
        }'
}

cambi_heatmap(){
    while read -r format step options black white; do
        ffmpeg -lavfi "nullsrc=s=320x240:d=0.04,format=${format},geq=lum=150+gte(X\,160)*${step}:cb=512:cr=512,cambi=heatmap=1${options}" \
            -f rawvideo - | head -c 153600 | od -An -v -tu2 -w2 | tr -d ' ' > ${tmp}/map
        expected_heatmap ${step} $(expr "${options}:max=5" : ':[^0-9]*\([0-9.]*\)') ${black} ${white} > ${tmp}/expected
        same "${format}, step ${step}${options}" ${tmp}/expected ${tmp}/map
    done << 'END'
yuv420p10le 1 :max=3.3 64 876
yuv420p10le 2 :max=5 64 876
yuv420p10le 3 :max=16 64 876
yuv444p10le 4 :max=0.7 64 876
END
    echo "chroma, and frames without a score"
    ffmpeg -lavfi "testsrc2=s=320x240:d=0.08,format=yuv420p,cambi=heatmap=1:enable=eq(n\,1)" -f rawvideo - > ${tmp}/frames
    head -c 115200 ${tmp}/frames | tail -c 38400 | od -An -v -tu1 -w1 | sort -u | xargs
    head -c 76800 ${tmp}/frames | od -An -v -tu1 -w1 | sort -u | xargs
    # the halved scale of a large picture, and an encode of another size, are shown at the frame's size
    for options in 1920:1080:flags=neighbor "640:480:flags=neighbor,cambi=enc_width=320:enc_height=240:heatmap=1"; do
        test "${options%cambi*}" != "${options}" || options=${options},cambi=heatmap=1
        ffmpeg -lavfi "nullsrc=s=320x240:d=0.04,format=gray10le,geq=200+gte(X\,160)*4,scale=${options}" -f rawvideo - |
            od -An -v -tu2 -w2 | awk '$1 > most { most = $1 } { sum += $1 > 64 } END { print(most, (sum > 0 && sum < NR / 8)) }'
    done
}

# Log, metadata, summary; sizes that change.
cambi_logs(){
    draw 3 8 1 1
    heard ffmpeg ${raw8} -vf "cambi=log_path=-,${print}" ${to_null} | sed '/"version"/d; /"fps"/d'
    grep -o 'CAMBI.*' ${tmp}/err
    heard ffmpeg ${raw8} -vf "cambi=model=libvmaf:enable=lt(n\,2)" ${to_null}
    grep -o 'CAMBI.*' ${tmp}/err
    pictures_of 480x360:3 400x360:2
    heard ffmpeg -i ${tmp}/%d.pgm -vf cambi=f=- -f framecrc - | sed 's/ .*//; s/^0,.*/frame/' | grep -v '#' | sort | uniq -c | xargs
    grep -o 'frames:[0-9]*' ${tmp}/err
}

cambi_errors(){
    parsed=cambi
    while read -r size options; do
        fails -lavfi testsrc2=d=0.04:s=${size},format=yuv420p,cambi=${options} ${to_null}
    done << 'END'
215x215
64x64
1920x100
8192x4320
4096x2160 model=libvmaf
480x360 enc_width=179:enc_height=180
480x360 enc_bitdepth=5
480x360 enc_width=200:enc_height=160
480x360 max=0
END
    fails -lavfi "testsrc2=d=0.16:s=480x360,format=yuv420p,scale=w=if(lt(n\,2)\,480\,640):h=360:eval=frame,cambi" ${to_null}
    heard ffmpeg -lavfi testsrc2=d=0.04:s=480x360,format=yuv420p,cambi=enc_width=400 ${to_null} 2>&1 | messages | grep enc_
}
