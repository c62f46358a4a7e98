# shellcheck shell=sh disable=SC2046,SC2086,SC2154
# Tests of the bitstream filter quantizer_metadata, for CMD in tests/fate/quality.mak: they
# come after tests/filters/common.sh. What the keys of each frame are to be is known from what the
# encoder was told, from its own log, or from what FFmpeg's decoders export.
# SPDX-License-Identifier: LGPL-2.1-or-later

with=quantizer_metadata
key=lavc.quantizer

quantizer_ffmpeg(){
    run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v error -y "$@"
}

# A film in which something moves.
film="-f lavfi -i testsrc2=s=320x192:r=25:d="

# The keys of frames in the order of the decoder: step, type, bytes, size, depth, film grain,
# spread, codec.
keys(){ # file [options of the input]
    file=$1
    shift
    quantizer_ffmpeg -bsf:v ${with} "$@" -i ${file} -map 0:v:0 -vf metadata=print:file=- -fps_mode passthrough ${to_null} |
        awk -F= '
            function flush() {
                if (n++)
                    print k["step"], k["pict_type"], k["bytes"], k["width"] "x" k["height"], \
                          k["depth"], k["film_grain"] + 0, k["spread"] + 0, k["codec"]
                split("", k)
            }
            /^frame:/ { flush() }
            sub(/^lavc\.quantizer\./, "") { k[$1] = $2 }
            END { flush() }'
}

# The first of two files has a line per frame of what is known, as awk fields; the other one is of keys.
compare(){ # what known keys condition-in-awk
    awk -v what="$1" -v keys=$3 '
        function near(a, b) { return a != "" && (a - b) ^ 2 < 1e-8 }
        {
            line = $0
            if ((getline < keys) <= 0) { print what ": no keys of frame " NR; bad = 1; exit }
            for (i = 1; i <= NF; i++) k[i] = $i
            split(line, w, " ")
            if (!('"$4"')) { print what ": frame " NR ", " line " against " $0; bad = 1; exit }
        }
        END {
            if (!bad && (getline < keys) > 0) { print what ": keys of too many frames"; bad = 1 }
            if (!bad && NR) print what ": " NR " frames agree"
            if (!NR) print what ": nothing is known"
        }' $2
}

# What x264 says of its frames: they are sorted by their GOP and order of output.
x264_log(){
    sed -n 's/.*frame= *\([0-9]*\) QP=\([0-9.]*\) NAL=[0-9]* Slice:\(.\) Poc:\(-*[0-9]*\) .*size=\([0-9]*\) bytes.*/\1 \2 \3 \4 \5/p' |
        awk '$4 == 0 { gop++ } { print gop, $4, $2, $3, $5 }' | sort -k 1,1n -k 2,2n
}

x264(){ # file x264-params options
    file=$1 params=$2
    shift 2
    quantizer_ffmpeg ${film}2.4 -pix_fmt yuv420p "$@" -c:v libx264 -preset medium -g 24 \
        -x264-params "ipratio=1:pbratio=1:aq-mode=0:mbtree=0:bframes=3:b-pyramid=normal:log=3:${params}" -loglevel debug ${file} 2> ${tmp}/log
    x264_log < ${tmp}/log > ${tmp}/known
}

quantizer_h264(){
    x264 ${tmp}/in.mkv slices=4 -qp 24
    keys ${tmp}/in.mkv > ${tmp}/keys
    compare "QP 24" ${tmp}/known ${tmp}/keys 'near(k[1], 20 / 6) && w[4] == k[2]'

    # a rate is held by another QP from frame to frame, and two parts have their own
    x264 ${tmp}/in.mkv slices=4:zones=10,19,q=40/30,35,q=12 -b:v 400k
    keys ${tmp}/in.mkv > ${tmp}/keys
    awk '!seen[$3]++ { n++ } END { print (n >= 8 ? "many QPs" : "few QPs") }' ${tmp}/known
    compare "as x264 says" ${tmp}/known ${tmp}/keys \
        'near(k[1], (w[3] - 4) / 6) && w[4] == k[2] && k[4] == "320x192" && k[5] == 8 && !k[6] && k[7] == 0 && k[8] == "h264"'
    # all of a packet but the start codes of four slices, and what comes before an I frame
    compare "bytes" ${tmp}/known ${tmp}/keys 'w[4] == "I" ? w[5] > k[3] && w[5] < k[3] + 1500 : w[5] == k[3] + 13'

    for threads in 1 4; do
        keys ${tmp}/in.mkv -threads ${threads} > ${tmp}/other
        same "threads ${threads}" ${tmp}/keys ${tmp}/other
    done
    for container in mp4 ts h264; do
        quantizer_ffmpeg -i ${tmp}/in.mkv -c copy ${tmp}/in.${container}
        keys ${tmp}/in.${container} -threads 4 > ${tmp}/other
        same "${container}" ${tmp}/keys ${tmp}/other
    done
    keys ${tmp}/in.mkv -ss 1.2 > ${tmp}/other
    tail -n $(wc -l < ${tmp}/other) ${tmp}/keys > ${tmp}/tail
    same "after a seek, $(wc -l < ${tmp}/other) frames" ${tmp}/tail ${tmp}/other
    keys ${tmp}/in.mkv -stream_loop 1 > ${tmp}/other
    cat ${tmp}/keys ${tmp}/keys > ${tmp}/twice
    same "in a loop" ${tmp}/twice ${tmp}/other

    # the QP of macroblocks, drawn as chroma by the decoder's export; 7.1 draws it of MPEG-2 only
    quantizer_ffmpeg -threads 1 -export_side_data venc_params -bsf:v ${with} -i ${tmp}/in.mkv \
        -vf "codecview=qp=1,signalstats,metadata=print:file=${tmp}/drawn:key=lavfi.signalstats.UAVG" \
        ${to_null} 2> ${tmp}/said
    if grep -q "Function not implemented" ${tmp}/said; then
        leave_out "as the decoder exports"
    else
        sed -n 's/.*UAVG=//p' ${tmp}/drawn > ${tmp}/blocks
        compare "as the decoder exports" ${tmp}/blocks ${tmp}/keys 'near(w[1], int(int(k[1] * 6 + 4.5) * 128 / 31))'
    fi

    x264 ${tmp}/in.mkv slices=1 -qp 36 -pix_fmt yuv420p10le
    keys ${tmp}/in.mkv > ${tmp}/keys
    # x264 counts from a lower QP where samples have more bits
    compare "10 bits" ${tmp}/known ${tmp}/keys 'near(k[1], (w[3] - 12 - 4) / 6) && w[4] == k[2] && k[5] == 10'
    x264 ${tmp}/in.mp4 slices=1 -qp 30 -vf scale=322x190
    keys ${tmp}/in.mp4 > ${tmp}/keys
    compare "cropped" ${tmp}/known ${tmp}/keys 'near(k[1], (w[3] - 4) / 6) && k[4] == "322x190"'
}

quantizer_hevc(){
    # depth, format, options
    while read -r depth format options; do
        rm -f ${tmp}/csv
        quantizer_ffmpeg ${film}2 -pix_fmt ${format} -vf scale=322x190 -c:v libx265 -preset fast -tag:v hvc1 ${options} -x265-params \
            "log-level=none:keyint=24:ipratio=1:pbratio=1:aq-mode=0:cutree=0:slices=2:csv=${tmp}/csv:csv-log-level=1" ${tmp}/in.mp4
        # x265's own log: order of output, mean QP, type, bytes
        awk -F, '$1 ~ /^ *[0-9]+$/ && $2 ~ /SLICE/ { sub(/^ */, "", $2); print $3 + 0, $4 + 0, toupper(substr($2, 1, 1)), $5 / 8 }' ${tmp}/csv | sort -n > ${tmp}/known
        keys ${tmp}/in.mp4 > ${tmp}/keys
        compare "${format} ${options}" ${tmp}/known ${tmp}/keys \
            '(w[2] - (k[1] * 6 + 4)) ^ 2 < 0.26 && w[3] == k[2] && w[4] == k[3] && k[4] == "322x190" && k[5] == '${depth}' && k[7] == 0 && k[8] == "hevc"'
        awk '!seen[$2]++ { n++ } END { print (n >= 8 ? "many QPs" : "QP " $2) }' ${tmp}/known
        for container in mkv ts hevc; do
            quantizer_ffmpeg -i ${tmp}/in.mp4 -c copy ${tmp}/in.${container}
            keys ${tmp}/in.${container} -threads 4 > ${tmp}/other
            same "${container}" ${tmp}/keys ${tmp}/other
        done
    done << END
8 yuv420p -b:v 300k
10 yuv420p10le -b:v 300k
10 yuv420p10le -qp 28
END
}

# What is shown by each packet of AV1, by the headers that trace_headers prints and the
# rules of the specification: base_q_idx, frame type, bytes of its OBUs.
av1_headers(){ # file
    run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v info -i $1 -map 0:v:0 -c copy -bsf:v trace_headers ${to_null} 2>&1 |
        awk '
            function done() {
                if (!open) return
                for (i = 0; i < 8; i++)
                    if (int(refresh / 2 ^ i) % 2) { slot[i] = q; slot_type[i] = type }
                if (show) shown = q " " type
                open = 0
            }
            function packet() { done(); if (shown != "") print shown; shown = "" }
            { value = $NF }
            / Packet: /                      { packet() }
            / show_existing_frame  /         { done(); existing = value; open = 1; show = existing; refresh = 0 }
            / frame_to_show_map_idx  /       { q = slot[value]; type = slot_type[value]; if (type == 0) refresh = 255 }
            / frame_type  /                  { type = value }
            / show_frame  /                  { show = value; refresh = show && type == 0 ? 255 : 0 }
            / refresh_frame_flags  /         { refresh = value }
            / base_q_idx  /                  { q = value }
            END { packet() }'
}

# By the specification the step of 8 bits is index + 7 up to index 95, 102 there, and 1828 at
# 255. That of 10 bits is four times as wide, but for low indices.
av1_step='(w[1] == 255 ? near(k[1], log(1828 / 8) / log(2)) : w[1] > 95 ? k[1] > log(102 / 8) / log(2) && k[1] < log(1828 / 8) / log(2) :'
av1_step="${av1_step} depth == 8 ? near(k[1], log((w[1] + 7) / 8) / log(2)) : w[1] < 60 || (k[1] - log((w[1] + 7) / 8) / log(2)) ^ 2 < 0.12 ^ 2)"

quantizer_av1(){
    # name, QP, options
    while read -r name qp options; do
        quantizer_ffmpeg ${film}2 -c:v libsvtav1 -preset 8 -g 26 ${options} -svtav1-params "rc=0:aq-mode=0:qp=${qp}:lp=2:hierarchical-levels=3:film-grain=$((qp == 21 ? 8 : 0))" \
            ${tmp}/in.mkv 2> ${tmp}/err || cat ${tmp}/err >&2
        av1_headers ${tmp}/in.mkv > ${tmp}/known
        keys ${tmp}/in.mkv > ${tmp}/keys
        depth=8
        test ${name} != 10-bits || depth=10
        compare "${name}" ${tmp}/known ${tmp}/keys \
            "$(echo "${av1_step}" | sed s/depth/${depth}/)"' && k[2] == (w[2] == 0 || w[2] == 2 ? "I" : "P") && k[4] == "320x192" && k[5] == '${depth}' &&
             k[6] == '$((qp == 21))' && k[7] == 0 && k[8] == "av1"'
        awk '!seen[$1]++ { n++ } END { print (n > 2 ? "several indices" : "index " $1) }' ${tmp}/known
        for container in mp4 ivf; do
            quantizer_ffmpeg -i ${tmp}/in.mkv -c copy ${tmp}/in.${container}
            keys ${tmp}/in.${container} -threads 4 > ${tmp}/other
            same "${container}" ${tmp}/keys ${tmp}/other
        done
        # each frame in a packet of its own, and the decoder's output is the same
        with=av1_frame_split,quantizer_metadata
        keys ${tmp}/in.mkv > ${tmp}/other
        same "split" ${tmp}/keys ${tmp}/other
        # after a broken packet all is right again from the next key frame on
        with="noise=amount=3*not(n-5),quantizer_metadata"
        keys ${tmp}/in.mkv 2> /dev/null | tail -n 24 > ${tmp}/other
        tail -n 24 ${tmp}/keys > ${tmp}/tail
        same "second GOP" ${tmp}/tail ${tmp}/other
        with=quantizer_metadata
        keys ${tmp}/in.mkv -stream_loop 1 > ${tmp}/other
        cat ${tmp}/keys ${tmp}/keys > ${tmp}/twice
        same "in a loop" ${tmp}/twice ${tmp}/other
    done << END
8-bits 20 -pix_fmt yuv420p
10-bits 40 -pix_fmt yuv420p10le
film-grain 21 -pix_fmt yuv420p
coarsest 63 -pix_fmt yuv420p
END
}

# The base_q_idx of each frame as FFmpeg's decoder exports it, with hidden frames in the packets of
# others, and in packets of their own.
quantizer_vp9(){
    for depth in 8 10; do
        format=yuv420p
        test ${depth} = 8 || format=yuv420p10le
        quantizer_ffmpeg ${film}3 -pix_fmt ${format} -c:v libvpx-vp9 -cpu-used 8 -b:v 100k -g 40 -auto-alt-ref 1 -lag-in-frames 16 ${tmp}/in.mkv
        run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v info -threads 1 -export_side_data venc_params -i ${tmp}/in.mkv -vf showinfo ${to_null} 2>&1 |
            sed -n 's/.* qp=\([0-9]*\).*/\1/p' > ${tmp}/known
        keys ${tmp}/in.mkv -threads 4 > ${tmp}/keys
        awk '!seen[$1]++ { n++ } END { print (n >= 8 ? "many indices" : "few indices") }' ${tmp}/known
        compare "${depth} bits" ${tmp}/known ${tmp}/keys \
            "$(echo "${av1_step}" | sed s/depth/${depth}/)"' && k[4] == "320x192" && k[5] == '${depth}' && k[8] == "vp9"'
        with=vp9_superframe_split,quantizer_metadata
        keys ${tmp}/in.mkv > ${tmp}/other
        with=quantizer_metadata
        same "split" ${tmp}/keys ${tmp}/other
    done
}

# The types of pictures, as the decoder says.
types(){ # file
    run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v info -i $1 -vf showinfo ${to_null} 2>&1 |
        sed -n 's/.*showinfo.* type:\(.\) .*/\1/p'
}

# MPEG-1, MPEG-2, MPEG-4: the quantizer is what FFmpeg's encoder is told. The mean of log2 of the
# AC weights in the standards' matrices is 4.972475 in MPEG-1 and MPEG-2; 4.730484 and, not intra,
# 4.539125 in MPEG-4.
quantizer_mpeg(){
    flat=$(yes 40 | head -n 63 | paste -s -d ,)
    # name, the step of I and of others, encoder and its options
    while read -r name intra inter options; do
        quantizer_ffmpeg ${film}1 -b_qfactor 1 -b_qoffset 0 -i_qfactor 1 -i_qoffset 0 -bf 2 -g 12 \
            ${options} ${tmp}/in.mkv
        types ${tmp}/in.mkv > ${tmp}/known
        keys ${tmp}/in.mkv -threads 4 > ${tmp}/keys
        compare "${name}" ${tmp}/known ${tmp}/keys \
            'k[2] == w[1] && near(k[1], w[1] == "I" ? '${intra}' : '${inter}') && k[4] == "320x192" && k[5] == 8 && k[7] == 0'
        # in the container's own packets, and with the sequence header there
        quantizer_ffmpeg -i ${tmp}/in.mkv -c copy ${tmp}/in.avi
        keys ${tmp}/in.avi > ${tmp}/other
        same "avi" ${tmp}/keys ${tmp}/other
    done << END
mpeg1 log(10)/log(2)+.972475 log(10)/log(2) -c:v mpeg1video -qscale:v 5
mpeg2 log(10)/log(2)+.972475 log(10)/log(2) -c:v mpeg2video -qscale:v 5
mpeg2-matrix log(10*40/16)/log(2) log(10*40/16)/log(2) -c:v mpeg2video -qscale:v 5 -intra_matrix 8,${flat} -inter_matrix 16,${flat}
mpeg4 log(12)/log(2) log(12)/log(2) -c:v mpeg4 -qscale:v 6
mpeg4-interlaced log(12)/log(2) log(12)/log(2) -c:v mpeg4 -qscale:v 6 -flags +ildct+ilme
mpeg4-mpeg log(12)/log(2)+.730484 log(12)/log(2)+.539125 -c:v mpeg4 -qscale:v 6 -mpeg_quant 1
mpeg4-matrix log(12*40/16)/log(2) log(12*40/16)/log(2) -c:v mpeg4 -qscale:v 6 -mpeg_quant 1 -intra_matrix 8,${flat} -inter_matrix 16,${flat}
END

    # the other scale of MPEG-2, and quantizers by the encoder's choice, as the decoder exports them
    for options in "-non_linear_quant 1 -qmax 28 -qscale:v 12" "-non_linear_quant 1 -qmax 28 -qscale:v 27" "-b:v 300k"; do
        quantizer_ffmpeg ${film}2 -c:v mpeg2video -bf 2 ${options} ${tmp}/in.ts
        keys ${tmp}/in.ts > ${tmp}/keys
        quantizer_ffmpeg -threads 1 -export_side_data venc_params -i ${tmp}/in.ts \
            -vf "codecview=qp=1,signalstats,metadata=print:file=${tmp}/drawn:key=lavfi.signalstats.UAVG" ${to_null}
        sed -n 's/.*UAVG=//p' ${tmp}/drawn > ${tmp}/blocks
        # the decoder exports nothing of the last frame
        compare "${options}" ${tmp}/blocks ${tmp}/keys \
            'NR == 50 || near(w[1], int(int(2 ^ (k[1] - .972475 * (k[2] == "I")) / 2 + .01) * 128 / 31))'
    done
}

# The mean of log2 of the first DQT's AC entries, in the bytes of a JPEG.
jpeg_step(){
    od -An -v -tu1 -w1 | awk '
        { b[NR] = $1 }
        END {
            for (i = 1; !(b[i] == 255 && b[i + 1] == 219); i++) if (i > NR) exit
            for (j = 1; j < 64; j++) sum += log(b[i + 5 + j]) / log(2)
            print sum / 63
        }'
}

quantizer_mjpeg(){
    for q in 1 3 31; do
        quantizer_ffmpeg ${film}0.2 -c:v mjpeg -qscale:v ${q} -pix_fmt yuvj420p ${tmp}/in.avi
        quantizer_ffmpeg -i ${tmp}/in.avi -frames:v 1 -c copy -f rawvideo - | jpeg_step > ${tmp}/step
        cat ${tmp}/step ${tmp}/step ${tmp}/step ${tmp}/step ${tmp}/step > ${tmp}/known
        keys ${tmp}/in.avi > ${tmp}/keys
        compare "qscale ${q}" ${tmp}/known ${tmp}/keys \
            'near(k[1], w[1]) && k[2] == "I" && k[4] == "320x192" && k[5] == 8 && !k[6] && k[7] == 0 && k[8] == "mjpeg"'
    done
}

# A clip of each codec.
clips(){
    quantizer_ffmpeg ${film}1 -c:v libx264 -preset veryfast -crf 30 -g 10 ${tmp}/h264.ts
    quantizer_ffmpeg ${film}1 -c:v libx264 -preset veryfast -crf 30 -g 10 ${tmp}/avc.mp4
    quantizer_ffmpeg ${film}1 -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=10 ${tmp}/hevc.mkv
    quantizer_ffmpeg ${film}1 -c:v libsvtav1 -preset 10 -g 10 ${tmp}/av1.mp4 2> /dev/null
    quantizer_ffmpeg ${film}1 -c:v mpeg2video -b:v 500k -bf 2 ${tmp}/mpeg2.ts
    quantizer_ffmpeg ${film}1 -c:v mpeg4 -b:v 500k -bf 2 ${tmp}/mpeg4.avi
    quantizer_ffmpeg ${film}1 -c:v mjpeg -qscale:v 5 -pix_fmt yuvj420p ${tmp}/mjpeg.avi
    quantizer_ffmpeg ${film}1 -c:v ffv1 ${tmp}/ffv1.mkv
}
all_clips="h264.ts avc.mp4 hevc.mkv av1.mp4 mpeg2.ts mpeg4.avi mjpeg.avi ffv1.mkv"

packets(){ # file bitstream-filters
    quantizer_ffmpeg -i ${tmp}/$1 -map 0:v -c copy -bsf:v $2 -f framemd5 - 2> ${tmp}/err | sed 's/, S=.*//'
    cat ${tmp}/err >&2
}

# Packets are as they were, whole ones and broken ones; of what is broken as many frames are
# decoded, and the filter says nothing of it.
quantizer_pass(){
    clips
    for clip in ${all_clips}; do
        packets ${clip} null > ${tmp}/without
        packets ${clip} ${with} > ${tmp}/with
        same "${clip}" ${tmp}/without ${tmp}/with
        sed 's/^\[[^]]*\] //' ${tmp}/err
        for amount in 20 200 2000; do
            packets ${clip} noise=amount=${amount} > ${tmp}/without
            packets ${clip} noise=amount=${amount},${with} > ${tmp}/with
            same "noise ${amount}" ${tmp}/without ${tmp}/with
            for filter in null ${with}; do
                run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v verbose -bsf:v noise=amount=${amount},${filter} \
                    -i ${tmp}/${clip} -an -fps_mode passthrough -f framemd5 - 2> ${tmp}/err | grep -vc '^#' > ${tmp}/frames.${filter}
                grep ${with} ${tmp}/err | grep -v ' --enable-\|Of the codec ffv1 '
            done
            same "as many frames" ${tmp}/frames.null ${tmp}/frames.${with}
        done
        head -c $(($(wc -c < ${tmp}/${clip}) * 2 / 3)) ${tmp}/${clip} > ${tmp}/cut.${clip##*.}
        test ${clip##*.} = mp4 || {
            packets cut.${clip##*.} null > ${tmp}/without
            packets cut.${clip##*.} ${with} > ${tmp}/with
            same "cut off" ${tmp}/without ${tmp}/with
        }
    done
}

# Strings of packets add up, and so does the frames' metadata.
quantizer_strings(){
    clips
    for clip in ${all_clips}; do
        keys ${tmp}/${clip} > ${tmp}/keys
        keys ${tmp}/${clip} -bsf:v ${with},${with} > ${tmp}/other
        test ${clip} = ffv1.mkv || same "${clip}, twice" ${tmp}/keys ${tmp}/other
        quantizer_ffmpeg -bsf:v ${with} -i ${tmp}/${clip} -vf bliinds,metadata=print:file=${tmp}/both ${to_null} > /dev/null
        echo "$(grep -c '^lavfi.bliinds.score=' ${tmp}/both) scores, $(grep -c "^${key}.step=" ${tmp}/both) steps"
    done
}
