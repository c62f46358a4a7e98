# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154
# Tests of vmaf and vmaf_cuda, for CMD in tests/fate/metrics.mak: they come after
# tests/filters/common.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later

v1=vmaf_v1.0.16_
vmaf=vmaf
# to the GPU, and back
up=
down=

# The same test of CUDA frames.
of_cuda(){ # test
    vmaf=vmaf_cuda
    up=,hwupload
    down=,hwdownload,format=yuv420p
    parsed=vmaf_cuda
    gpu="-init_hw_device cuda"
    "$@"
}

# Draw a source and its encode, ${tmp}/source and ${tmp}/encode: steps of luma and of chroma, and in
# the source noise by the usual 32-bit congruence. Products stay below 2^53.
draw(){ # frames depth chroma-shift-x chroma-shift-y
    awk -v frames=$1 -v depth=$2 -v sx=$3 -v sy=$4 -v source=${tmp}/source -v encode=${tmp}/encode '
        function odd(a) { return int(a / 16) % 2 }
        function put(v, file) { printf(depth > 8 ? "%c%c" : "%c", v % 256, int(v / 256)) > file }
        function draw_sample(t, p, x, y,    z, d, r) {
            s = (s * 1664525 + 1013904223) % 4294967296
            z = int(s / 1073741824)
            if (p == 0) {
                d = 48 + int(x / 12) + int(y / 18) + 6 * (odd(x + 3 * t) != odd(y))
                r = d + z
            } else if (p == 1) {
                r = 110 + int((x * x + 3 * y * t) / 64) % 37 + z
                d = int(r / 4) * 4
            } else {
                r = 120 + int((x * y + 11 * t) / 32) % 29 + z
                d = int(r / 5) * 5
            }
            put(depth == 10 ? r * 4 + int(s / 268435456) % 4 : r, source)
            put(depth == 10 ? d * 4 : d, encode)
        }
        BEGIN {
            s = 1
            for (t = 0; t < frames; t++)
                for (p = 0; p < 3; p++)
                    for (y = 0; y < (p ? 360 / 2 ^ sy : 360); y++)
                        for (x = 0; x < (p ? 480 / 2 ^ sx : 480); x++)
                            draw_sample(t, p, x, y)
        }'
}

# The filter on what was drawn.
on_drawn(){ # format options [filter-of-main filter-of-reference options-of-ffmpeg]
    raw="-f rawvideo -pix_fmt $1 -video_size 480x360"
    ffmpeg ${gpu} ${raw} -i ${tmp}/encode ${raw} -i ${tmp}/source \
        -lavfi "[0]${3:-null}${up}[m];[1]${4:-null}${up}[r];[m][r]${vmaf}=$2" ${5} ${to_null}
}

# Of lines of stats_file.
features(){
    sed 's/^n:\([0-9]*\) .* score:/\1 score:/; s/ speed_chroma_[uv]:[^ ]*//g
         s/ adm_scale[^ ]*//g; s/ motion_sad:[^ ]*//; s/ motion2:[^ ]*//'
}

# All features and scores, for any number of threads.
vmaf_drawn(){
    draw 3 8 1 1
    while read -r format model; do
        test ${format} != yuv444p10 || test -e ${tmp}/deep || { draw 4 10 0 0; touch ${tmp}/deep; }
        echo "${format} ${model}"
        on_drawn ${format} model=version=${v1}${model}:f=- | features | tee ${tmp}/one
        test -z "${up}" || continue
        on_drawn ${format} model=version=${v1}${model}:f=- "" "" "-filter_complex_threads 5" | features > ${tmp}/five
        cmp -s ${tmp}/one ${tmp}/five || echo "and others with five threads"
    done << END
yuv420p   3d0h
yuv420p   hfr_3d0h
yuv444p10 5d0h
yuv444p10 3d0h_2160
yuv444p10 hfr_1d5h_2160
END
}

# Frames without a next one, and those that the timeline leaves out.
vmaf_motion(){
    draw 3 8 1 1
    for model in 3d0h hfr_3d0h; do
        for frames in 1 2; do
            echo "${model}, frames: ${frames}"
            on_drawn yuv420p model=version=${v1}${model}:f=- trim=end_frame=${frames} trim=end_frame=${frames} |
                sed 's/.* motion_sad/motion_sad/'
        done
    done
    echo "without frame 1"
    on_drawn yuv420p "enable='not(eq(n,1))':f=-" | sed 's/.* motion_sad/motion_sad/'
    echo "from black to white and back"
    ffmpeg ${gpu} -lavfi "color=black:s=480x360:r=5:d=0.6,format=yuv420p,drawbox=1:3:24:181:white:fill:enable='eq(n,1)'${up},split,${vmaf}=f=-" ${to_null} |
        sed 's/.* motion_sad/motion_sad/'
    echo "one of two"
    on_drawn yuv420p n_subsample=2:f=- | sed 's/pts.* motion_sad/motion_sad/'
    ffmpeg ${gpu} -f rawvideo -pix_fmt yuv420p -video_size 480x360 -i ${tmp}/source \
        -lavfi null${up},split,${vmaf}=model=version=${v1}hfr_3d0h${down} -f framecrc - | grep -c '^0,'
    echo "a graph that is rebuilt"
    pictures_of 480x360:3 400x360:2
    ffmpeg ${gpu} -i ${tmp}/%d.pgm -lavfi scale,format=yuv420p${up},split,${vmaf}=f=${tmp}/stats${down} -f framecrc - |
        grep -c '^0,'
    sed 's/ .*//' ${tmp}/stats | xargs
    echo "a graph that is rebuilt, one of three"
    ffmpeg ${gpu} -i ${tmp}/%d.pgm -lavfi scale,format=yuv420p${up},split,${vmaf}=n_subsample=3:f=-${down} ${to_null} |
        sed 's/ .*//' | xargs
    echo "an output that ends early"
    ffmpeg ${gpu} -lavfi testsrc2=s=480x360:d=1,format=yuv420p${up},split,${vmaf}=log_path=${tmp}/log,trim=end_frame=1 ${to_null}
    sed -n 's/.*"frames": \([0-9]*\), "scored": \([0-9]*\),.*/\1 \2/p' ${tmp}/log | awk '{ print($1 == $2 ? "all scored" : $0) }'
}

# Each pair of a list has the values of a pair alone.
vmaf_still(){
    draw 3 8 1 1
    for options in model=version=${v1}3d0h model=version=${v1}hfr_3d0h n_subsample=2; do
        on_drawn yuv420p ${options}:still=1:f=- | features > ${tmp}/list
        cut -d' ' -f1,2,8 ${tmp}/list
        for n in 0 1 2; do
            one=trim=start_frame=${n}:end_frame=$((n + 1)),setpts=PTS-STARTPTS
            on_drawn yuv420p ${options}:f=- ${one} ${one} | features | sed "s/^1/$((n + 1))/"
        done | sed "$(test ${options} != n_subsample=2 || echo 2d)" > ${tmp}/alone
        same "${options}" ${tmp}/alone ${tmp}/list
    done
    on_drawn yuv420p still=1:f=- | sed 's/.* motion_sad/motion_sad/' | sort -u
}

# bitdepth=10 is what a conversion to 10 bits yields.
vmaf_depth(){
    deep=yuv420p10
    test -z "${up}" || deep=p010le
    draw 2 8 1 1
    for range in limited full; do
        convert=setrange=${range},scale,format=yuv420p10${up:+,scale,format=${deep}}
        on_drawn yuv420p model=version=${v1}3d0h'\\:cambi.enc_bitdepth=8':f=- ${convert} ${convert} > ${tmp}/converted
        on_drawn yuv420p bitdepth=10:f=- setrange=${range} setrange=${range} > ${tmp}/computed
        same "bitdepth=10 of ${range} range" ${tmp}/converted ${tmp}/computed
    done
    on_drawn yuv420p bitdepth=10:f=- scale,format=${deep} | features
    on_drawn yuv420p bitdepth=10:f=- null scale,format=${deep} | features
}

# Bits beyond the depth do not count: neither in luma nor chroma, main nor reference.
vmaf_bits(){
    raw16="-f rawvideo -pix_fmt gray16le -video_size 480x540"
    for side in encode source; do
        test ${side} = source && change=null || change=avgblur=1
        ffmpeg -lavfi testsrc2=s=480x360:d=0.12,scale,format=gbrp,${change} -f rawvideo - | head -c 1555200 > ${tmp}/${side}
        ffmpeg ${raw16} -i ${tmp}/${side} -vf "geq=bitand(lum(X\,Y)\,1023)" -f rawvideo - > ${tmp}/${side}.valid
        cmp -s ${tmp}/${side} ${tmp}/${side}.valid && echo "no bits beyond the depth"
    done
    on_drawn yuv420p10le n_subsample=2:f=- > ${tmp}/beyond
    for side in encode source; do mv ${tmp}/${side}.valid ${tmp}/${side}; done
    on_drawn yuv420p10le n_subsample=2:f=- > ${tmp}/within
    same "samples without the bits beyond their depth" ${tmp}/within ${tmp}/beyond
    features < ${tmp}/within
}

# The v0.6.1 family: all values, for any number of threads. libvmaf's order is that of its JSON.
vmaf_v0(){
    draw 3 8 1 1
    while read -r format model; do
        test ${format} != yuv444p10 || test -e ${tmp}/deep || { draw 4 10 0 0; touch ${tmp}/deep; }
        echo "${format} ${model}"
        on_drawn ${format} "model=${model}:f=${tmp}/one:log_path=${tmp}/log"
        sed -n '/frameNum/{s/.*"metrics": {//; s/}}.*//; s/"//gp;}' ${tmp}/log
        test -z "${up}" || continue
        on_drawn ${format} "model=${model}:f=${tmp}/five" "" "" "-filter_complex_threads 5"
        cmp -s ${tmp}/one ${tmp}/five || echo "and others with five threads"
    done << END
yuv420p   version=vmaf_v0.6.1
yuv420p   version=vmaf_v0.6.1neg\\\\:enable_transform=true
yuv420p   version=vmaf_4k_v0.6.1\\\\:enable_transform=true
yuv420p   path=/models/vmaf_v0.6.1.json\\\\:vif.vif_enhn_gain_limit=1.2\\\\:adm.adm_enhn_gain_limit=1.1\\\\:motion.motion_force_zero=true
yuv444p10 version=vmaf_v0.6.1|version=vmaf_4k_v0.6.1neg\\\\:name=4kneg|version=${v1}3d0h\\\\:name=v1
END
}

# Luma is all that these models measure: gray has the scores of any chroma format.
vmaf_v0_gray(){
    draw 2 8 1 1
    while read -r format options; do
        convert=setrange=full,scale,format=yuv422p${format#gray}
        on_drawn yuv420p model=version=vmaf_v0.6.1:${options}f=${tmp}/color ${convert} ${convert}
        convert=${convert},scale,format=${format}
        on_drawn yuv420p model=version=vmaf_v0.6.1:${options}f=${tmp}/gray ${convert} ${convert}
        same "${format} ${options}" ${tmp}/color ${tmp}/gray
    done << END
gray
gray bitdepth=10:
gray10
gray12
END
}

# Sides that are odd at every scale, and pictures of which one has no structure.
vmaf_v0_sizes(){
    texture="geq=lum='mod(X*X+7*Y*Y+31*N\,251)':cb=128:cr=128"
    for size in 33x33 35x47 64x33 167x231 577x323; do
        for change in null negate avgblur=1 lutyuv=y=128 lutyuv=y=val/8+99 reference:lutyuv=y=128; do
            order="[m][r]"
            test ${change} = ${change#reference:} || order="[r][m]"
            echo "${size} ${change}"
            ffmpeg ${gpu} -lavfi "color=gray:s=${size}:r=25:d=0.08,format=yuv444p,${texture},split[a][b];[a]${change#reference:}${up}[m];[b]null${up}[r];${order}${vmaf}=model=version=vmaf_v0.6.1|version=vmaf_v0.6.1neg\\\\:name=neg:f=-" ${to_null} |
                grep -o 'score:[^ ]*\|adm2:[^ ]*\|vif_scale.:[^ ]*\|neg:[^ ]*' | xargs
        done
    done
}

# The keys are libvmaf's.
vmaf_json(){
    draw 2 8 1 1
    on_drawn yuv420p "model=version=${v1}5d0h\\\\:name=phone|version=${v1}hfr_1d5h_2160\\\\:cambi.enc_width=320\\\\:cambi.enc_height=240\\\\:cambi.enc_bitdepth=8:log_path=-:log_fmt=json:n_threads=2:pool=harmonic_mean" |
        sed '/"version"/d; /"fps"/d; /frameNum": 1/d; /"[a-oq-z].*"min"/d; s/, "/,\
"/g'
    ffmpeg ${gpu} -lavfi "testsrc2=s=480x360:d=0.08,format=yuv420p${up},split,${vmaf},${print}" ${to_null} | grep -v ^frame | sed 's/=.*//' | sort | uniq -c | sed 's/^ *//'
}

# Metadata of several models, whose keys may be long, have the values of the log.
vmaf_keys(){
    ffmpeg -lavfi "testsrc2=s=480x360:d=0.08,format=yuv420p,split[a][b];[a]avgblur=2[m];[m][b]vmaf=model=version=${v1}3d0h|version=${v1}5d0h\\\\:name=p|version=${v1}3d0h_2160\\\\:name=q|version=${v1}1d5h_2160\\\\:name=r:log_path=${tmp}/log,${print}" ${to_null} |
        sed -n 's/^lavfi.vmaf.//p' > ${tmp}/keys
    sed -n 's/.*"metrics": {//p' ${tmp}/log | sed 's/}}.*//; s/"//g; s/: /=/g; s/, /\
/g' > ${tmp}/log_keys
    sed 's/.*=/=/' ${tmp}/keys > ${tmp}/keys.values
    sed 's/.*=/=/' ${tmp}/log_keys > ${tmp}/log.values
    same "$(($(wc -l < ${tmp}/keys) / 2)) values of metadata" ${tmp}/log.values ${tmp}/keys.values
    sed 's/=.*//' ${tmp}/keys | sort | uniq -c | awk '{ if (length($2) > n) n = length($2) } $1 != 2 { print } END { print "longest key: " n }'
}

# A summary of each score, with percentiles by nearest rank; none where a score is not clipped.
# Of 40 frames, the 5th percentile is the second least score: exactly 5 % are at or below it.
vmaf_summary(){
    heard ffmpeg -lavfi "testsrc2=s=360x320:r=30:d=2,trim=end_frame=40,format=yuv420p,split[a][b];[a]avgblur=1[m];[m][b]vmaf=model=version=${v1}3d0h|version=${v1}3d0h_2160\\\\:name=p|version=${v1}1d5h_2160\\\\:name=q\\\\:disable_clip=1:log_path=${tmp}/log:f=${tmp}/lines" ${to_null}
    grep -o 'VMAF.*' ${tmp}/err | sed 's/[0-9]*\.[0-9]\{6\}/N/g'
    grep -o '"[a-z]*": {"min.*' ${tmp}/log | sed 's/[0-9]*\.[0-9]\{6\}/N/g'
    for score in score p q; do
        sed "s/.* ${score}:\([0-9.]*\).*/\1/" ${tmp}/lines | awk '{ printf("%.2f\n", $1) }' | sort -n | awk -v name=${score} '
            { v[NR] = $1 }
            END { print name, v[int((NR + 99) / 100)], v[int((5 * NR + 99) / 100)] }'
    done
}

# Command lines of libvmaf's filter.
vmaf_libvmaf(){
    while read -r model; do
        echo "${model}"
        ffmpeg -lavfi "testsrc2=s=480x360:d=0.04,format=yuv420p,split,vmaf=${model}:log_path=${tmp}/log.xml:log_fmt=json" ${to_null}
        grep -o '"range": [^"]*,\|"[a-z]*": [0-9.]*, "cambi_hrs' ${tmp}/log.xml
    done << 'END'
model=version=vmaf_v1.0.16_3d0h_2160\\:enable_transform=true|
model=version=vmaf_v1.0.16_5d0h\\:disable_clip=true
model=|version='vmaf_v1.0.16_5d0h'\\:name='phone'
END
}

vmaf_errors(){
    while read -r size format options; do
        fails -lavfi testsrc2=d=0.04,scale=${size},format=${format},split,vmaf=${options} ${to_null}
    done << 'END'
480x360 yuv420p model=version=vmaf_v0.6.2
480x360 yuv420p model=version=vmaf_b_v0.6.3
480x360 yuv420p model=version=vmaf_v1.0.16_hfr_vmaf_v0.6.1
480x360 yuv420p model=path=model.json
480x360 yuv420p model=path=model/vmaf_float_v0.6.1.json
480x360 yuv420p model=version=vmaf_v0.6.1\\:adm.adm_enhn_gain_limit=0.5
480x360 yuv420p model=version=vmaf_v0.6.1\\:vif.vif_enhn_gain_limit=101
480x360 yuv420p model=version=vmaf_v0.6.1\\:name=vif_scale0
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h\\:motion.motion_fps_weight=2
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h\\:cambi.enc_width=9
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h\\:cambi.enc_width=200\\:cambi.enc_height=160
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h|version=vmaf_v1.0.16_5d0h
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h|version=vmaf_v1.0.16_5d0h\\:name=VMAF
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h\\:name=a+b
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h\\:name=
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h\\:name=adm2
480x360 yuv420p model=version=vmaf_v1.0.16_3d0h|version=vmaf_v1.0.16_5d0h\\:name=score
480x360 yuv420p model=version=vmaf_v1.0.16_5d0h\\:name=integer_motion2_mmxv_18|version=vmaf_v1.0.16_3d0h
480x360 yuv420p model=|
480x360 yuv420p bitdepth=9
480x360 gray
480x360 gray model=version=vmaf_v0.6.1|version=vmaf_v1.0.16_3d0h\\:name=v1
216x158 yuv420p
480x264 yuv420p model=version=vmaf_v1.0.16_5d0h
215x215 yuv420p
1920x160 yuv420p
5000x400 yuv420p
8192x4608 yuv420p
END
    # the default model would be another one
    pictures_of 240x1440:2 240x1442:2
    fails -i ${tmp}/%d.pgm -lavfi scale,format=yuv420p,split,vmaf=f=${tmp}/stats ${to_null}
    wc -l < ${tmp}/stats
    source=testsrc2=d=0.04,scale=480x360,format=yuv420p,split[a][b]
    fails -lavfi "${source};[b]scale,format=yuv422p[c];[a][c]vmaf=bitdepth=10" ${to_null}
    fails -lavfi "${source};[b]scale=240x180[c];[a][c]vmaf" ${to_null}
}

# Logs of other formats, by libvmaf's tool but for the frame rate and the version, and what a rebuilt
# graph and pipes make of them.
vmaf_log_formats(){
    draw 3 8 1 1
    for format in xml csv sub; do
        echo "${format}"
        on_drawn yuv420p "model=version=vmaf_v0.6.1:log_path=${tmp}/log.${format}"
        sed 's/version="[^"]*"/version=""/; /<fyi fps="[0-9.]*" \/>/d' ${tmp}/log.${format}
        on_drawn yuv420p "model=version=vmaf_v0.6.1:log_fmt=${format}:log_path=-" > ${tmp}/piped
        sed -i '/<fyi/d' ${tmp}/piped ${tmp}/log.${format}
        same "${format} to stdout" ${tmp}/log.${format} ${tmp}/piped
        pictures_of 480x360:3 400x360:2
        ffmpeg -i ${tmp}/%d.pgm -lavfi "scale,format=yuv420p,split,vmaf=model=version=vmaf_v0.6.1:log_path=${tmp}/rebuilt.${format}" ${to_null}
        ffmpeg -i ${tmp}/%d.pgm -lavfi "scale,format=yuv420p,split,vmaf=model=version=vmaf_v0.6.1:log_fmt=${format}:log_path=-" ${to_null} > ${tmp}/piped
        sed -i '/<fyi/d; s/ *$//' ${tmp}/piped ${tmp}/rebuilt.${format}
        same "${format} of a rebuilt graph to stdout" ${tmp}/rebuilt.${format} ${tmp}/piped
        grep -c '^ *<frame \|^[0-9]*,\|^{' ${tmp}/rebuilt.${format}
        sed -n '$p' ${tmp}/rebuilt.${format} | cut -c1-24
    done
}
