# shellcheck shell=sh disable=SC2046,SC2086,SC2154
# FATE tests of the bitstream filter quantizer_metadata, run by CMD in tests/fate/metrics.mak after
# tests/filters/common.sh. The expected keys of each frame come from the options of the encoder, from
# its log, or from the quantizers that FFmpeg's decoders export.
# SPDX-License-Identifier: LGPL-2.1-or-later

with=quantizer_metadata

quantizer_ffmpeg(){
    run ffmpeg${PROGSUF}${EXECSUF} -nostdin -nostats -v error -y "$@"
}

# Input with motion.
film="-f lavfi -i testsrc2=s=320x192:r=25:d="

# Print the keys of each frame in output order: step, type, bytes, size, depth, film grain, spread,
# codec; for the group of pictures step, bytes of the I frame and of all others, number of frames.
keys(){ # file [options of the input]
    file=${tmp}/$1
    shift
    quantizer_ffmpeg -bsf:v ${with} "$@" -i ${file} -map 0:v:0 -vf metadata=print:file=- -fps_mode passthrough ${to_null} |
        awk -F= '
            function flush() {
                if (n++)
                    print k["step"], k["pict_type"], k["bytes"], k["width"] "x" k["height"], \
                          k["depth"], k["film_grain"] + 0, k["spread"] + 0, k["codec"], \
                          k["gop_step"], k["gop_intra_bytes"], k["gop_other_bytes"], k["gop_frames"]
                split("", k)
            }
            /^frame:/ { flush() }
            sub(/^lavc\.quantizer\./, "") { k[$1] = $2 }
            END { flush() }'
}

# Check that a file that is read in another way has the same keys.
check_reparse(){ # name file [options of the input]
    name=$1
    shift
    keys "$@" > ${tmp}/other
    same "${name}" ${tmp}/keys ${tmp}/other
}

# Check that the keys are the same in other containers and in a loop.
check_remux(){ # file containers...
    first=$1
    shift
    for container; do
        quantizer_ffmpeg -i ${tmp}/${first} -c copy ${tmp}/in.${container}
        check_reparse ${container} in.${container} -threads 4
    done
    cat ${tmp}/keys > ${tmp}/once
    cat ${tmp}/once ${tmp}/once > ${tmp}/keys
    check_reparse "in a loop" ${first} -stream_loop 1
    mv ${tmp}/once ${tmp}/keys
}

# Check that the keys of the last frames are the same if only these are read.
check_trailing(){ # name file [options of the input]
    name=$1
    shift
    keys "$@" 2> /dev/null | tail -n ${last:-9999} > ${tmp}/other
    tail -n $(wc -l < ${tmp}/other) ${tmp}/keys > ${tmp}/tail
    same "${name}, $(wc -l < ${tmp}/other) frames" ${tmp}/tail ${tmp}/other
}

# Count the frames by the key chroma, which is absent if chroma is as coarse as luma.
chroma(){ # name file
    quantizer_ffmpeg -bsf:v ${with} -i ${tmp}/$2 -vf metadata=print:file=- ${to_null} |
        sed -n "s/^lavc.quantizer.chroma=/$1: chroma /p" | sort | uniq -c
}

# Print the mean quantizer of the blocks of each frame, which the decoder exports and codecview
# draws as chroma.
exported_quantizers(){ # file
    quantizer_ffmpeg -threads 1 -export_side_data venc_params -bsf:v ${with} -i ${tmp}/$1 \
        -vf "codecview=qp=1,signalstats,metadata=print:file=-:key=lavfi.signalstats.UAVG" ${to_null} 2> ${tmp}/said |
        sed -n 's/.*UAVG=//p' > ${tmp}/blocks
}

# Compare the expected line of each frame, fields w, with its keys, fields k.
compare(){ # name condition-in-awk [known]
    paste -d '|' ${3:-${tmp}/known} ${tmp}/keys | awk -F '|' -v name="$1" '
        function near(a, b) { return a != "" && (a - b) ^ 2 < 1e-8 }
        { split($1, w, " "); split($2, k, " ") }
        !('"$2"') { print name ": frame " NR ", " $0; bad = 1; exit }
        END { if (!bad) print name ": " NR " frames agree" }'
}

# Print GOP, output order, QP, type, size and coding order of each frame from the log of x264, in
# output order.
x264_log(){
    sed -n 's/.*frame= *\([0-9]*\) QP=\([0-9.]*\) NAL=[0-9]* Slice:\(.\) Poc:\(-*[0-9]*\) .*size=\([0-9]*\) bytes.*/\1 \2 \3 \4 \5/p' |
        awk '$4 == 0 { gop++ } { print gop, $4, $2, $3, $5, $1 }' | sort -k 1,1n -k 2,2n
}

# Encode with x264; write the expected values and the keys.
x264(){ # file x264-params options
    file=$1 params=$2
    shift 2
    quantizer_ffmpeg ${film}2.4 -pix_fmt yuv420p "$@" -c:v libx264 -preset medium -g 24 \
        -x264-params "ipratio=1:pbratio=1:aq-mode=0:mbtree=0:bframes=3:b-pyramid=normal:log=3:${params}" -loglevel debug ${tmp}/${file} 2> ${tmp}/log
    x264_log < ${tmp}/log > ${tmp}/known
    keys ${file} > ${tmp}/keys
}

quantizer_h264(){
    x264 in.mkv slices=4 -qp 24
    compare "QP 24" 'near(k[1], 20 / 6) && w[4] == k[2]'

    # rate control changes the QP between frames, and two zones have QPs of their own
    x264 in.mkv slices=4:zones=10,19,q=40/30,35,q=12 -b:v 400k
    awk '!seen[$3]++ { n++ } END { print (n >= 8 ? "many QPs" : "few QPs") }' ${tmp}/known
    compare "as x264 says" \
        'near(k[1], (w[3] - 4) / 6) && w[4] == k[2] && k[4] == "320x192" && k[5] == 8 && !k[6] && k[7] == 0 && k[8] == "h264"'
    # the whole packet except for the start codes of four slices, and parameter sets before an I frame
    compare "bytes" 'w[4] == "I" ? w[5] > k[3] && w[5] < k[3] + 1500 : w[5] == k[3] + 13'
    check_reparse "threads 1" in.mkv -threads 1
    check_reparse "threads 4" in.mkv -threads 4
    check_remux in.mkv mp4 ts h264
    check_trailing "after a seek" in.mkv -ss 1.2
    # in coding order, the keys of a frame cover its group of pictures so far
    paste -d ' ' ${tmp}/known ${tmp}/keys | sort -k 6,6n | awk '
        $8 == "I" { intra = $9; step = size = n = 0 }
        { step += $7 * $9; size += $9; n++ }
        ($15 - step / size) ^ 2 < 1.5e-8 && $16 == intra && $17 == size - intra && $18 == n { good++ }
        END { print "groups: " good " of " NR " frames" }'

    exported_quantizers in.mkv
    compare "as the decoder exports" 'near(w[1], int(int(k[1] * 6 + 4.5) * 128 / 31))' ${tmp}/blocks

    x264 in.mkv slices=1 -qp 36 -pix_fmt yuv420p10le
    # QPs in the log of x264 have an offset at higher depths
    compare "10 bits" 'near(k[1], (w[3] - 12 - 4) / 6) && w[4] == k[2] && k[5] == 10'
    x264 in.mp4 slices=1 -qp 30 -vf scale=322x190
    compare "cropped" 'near(k[1], (w[3] - 4) / 6) && k[4] == "322x190"'

    # with psy-rd 1, x264 lowers the chroma QP offsets by 2
    chroma "psy-rd 1" in.mp4
    x264 in.mkv slices=2:psy=0 -qp 30
    chroma "no psy-rd" in.mkv
    x264 in.mkv slices=1:psy=0:chroma-qp-offset=3 -qp 30
    chroma "QP + 3" in.mkv
}

# Groups of pictures after a seek, without an end, and without an I frame.
quantizer_groups(){
    x264 in.mkv intra-refresh=1:keyint=1200:bframes=0 -b:v 300k
    check_trailing "intra refresh, $(grep -c ' I ' ${tmp}/keys) I frame, after a seek" in.mkv -ss 1.2
    # each frame that reaches bliinds has the keys of its group
    for filters in null trim=start_frame=25 select='gt(n\,25)' fps=5; do
        quantizer_ffmpeg -v info -bsf:v ${with} -ss 0.5 -i ${tmp}/in.mkv \
            -vf ${filters},bliinds ${to_null} 2>&1 |
            sed -n "s/.*BLIINDS.* frames:\([^(]*\).*/${filters%%=*}: \1/p"
    done
    keys in.mkv -bsf:v "noise=drop=not(n),${with}" -flags output_corrupt 2> /dev/null > ${tmp}/other
    tail -n $(wc -l < ${tmp}/other) ${tmp}/keys | paste -d ' ' - ${tmp}/other | awk '
        { size += $3; if ($3 > most) most = $3 }
        $22 == most && $23 == size && $24 == NR { good++ }
        END { print "no I frame: " good " of " NR " frames" }'
    quantizer_ffmpeg -f lavfi -i testsrc2=s=64x48:d=90:r=25 -c:v libx264 -preset ultrafast -g 9999 -sc_threshold 0 ${tmp}/in.mkv
    keys in.mkv | awk '{ size += $3 } $12 > most { most = $12 } END { print "endless: " NR " frames, at most " most ", in the last " $12 }'
}

# Print POC, QP, type and size of each frame from the CSV log of x265, whose columns differ by version.
x265_log(){
    awk -F ' *, *' '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        $column["Type"] ~ /SLICE/ {
            print $column["POC"] + 0, $column["QP"] + 0, toupper(substr($column["Type"], 1, 1)), $column["Bits"] / 8
        }' | sort -n
}

quantizer_hevc(){
    for mounted in /sys/devices /dev/pts/ptmx; do
        test -e ${mounted} || { skip "x265 needs ${mounted}"; return 0; }
    done
    # depth, format, options
    while read -r depth format options; do
        rm -f ${tmp}/csv
        quantizer_ffmpeg ${film}2 -pix_fmt ${format} -vf scale=322x190 -c:v libx265 -preset fast -tag:v hvc1 ${options} -x265-params \
            "log-level=error:keyint=24:ipratio=1:pbratio=1:aq-mode=0:cutree=0:slices=2:csv=${tmp}/csv:csv-log-level=1" ${tmp}/in.mp4
        x265_log < ${tmp}/csv > ${tmp}/known
        keys in.mp4 > ${tmp}/keys
        compare "${format} ${options}" \
            '(w[2] - (k[1] * 6 + 4)) ^ 2 < 0.26 && w[3] == k[2] && w[4] == k[3] && k[4] == "322x190" && k[5] == '${depth}' && k[7] == 0 && k[8] == "hevc"'
        awk '!seen[$2]++ { n++ } END { print (n >= 8 ? "many QPs" : "QP " $2) }' ${tmp}/known
        check_remux in.mp4 mkv ts hevc
    done << END
8 yuv420p -b:v 300k
10 yuv420p10le -b:v 300k
10 yuv420p10le -qp 28
END
    quantizer_ffmpeg ${film}1 -pix_fmt yuv420p -c:v libx265 -preset fast \
        -x265-params log-level=error:cbqpoffs=3:crqpoffs=-1 ${tmp}/in.mp4
    chroma "QP + 3 and - 1" in.mp4
}

# Print base_q_idx and frame type of the frame that each AV1 packet shows, from the headers that
# trace_headers prints and by the rules of the specification.
av1_headers(){ # file
    quantizer_ffmpeg -v info -i ${tmp}/$1 -map 0:v:0 -c copy -bsf:v trace_headers ${to_null} 2>&1 |
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

# Expected step: by the specification, the AC step of 8 bits is index + 7 up to 102 at index 95, and
# 1828 at index 255. The step of 10 bits is four times as large, except at low indices.
av1_step='(w[1] == 255 ? near(k[1], log(1828 / 8) / log(2)) : w[1] > 95 ? k[1] > log(102 / 8) / log(2) && k[1] < log(1828 / 8) / log(2) :'
av1_step="${av1_step} k[5] == 8 ? near(k[1], log((w[1] + 7) / 8) / log(2)) : w[1] < 60 || (k[1] - log((w[1] + 7) / 8) / log(2)) ^ 2 < 0.12 ^ 2)"

quantizer_av1(){
    # name, QP, depth, options
    while read -r name qp depth options; do
        params=rc=0:aq-mode=0:qp=${qp}:lp=1:hierarchical-levels=3:film-grain=$((qp == 21 ? 8 : 0))
        quantizer_ffmpeg ${film}2 -c:v libsvtav1 -preset 8 -g 26 ${options} \
            -svtav1-params ${params} ${tmp}/in.mkv 2> ${tmp}/err || cat ${tmp}/err >&2
        av1_headers in.mkv > ${tmp}/known
        keys in.mkv > ${tmp}/keys
        compare "${name}" \
            "${av1_step}"' && k[2] == (w[2] == 0 || w[2] == 2 ? "I" : "P") && k[4] == "320x192" && k[5] == '${depth}' &&
             k[6] == '$((qp == 21))' && k[7] == 0 && k[8] == "av1"'
        awk '!seen[$1]++ { n++ } END { print (n > 2 ? "several indices" : "index " $1) }' ${tmp}/known
        check_remux in.mkv mp4 ivf
        # one frame per packet; the output of the decoder is the same
        check_reparse "split" in.mkv -bsf:v av1_frame_split,${with}
        # after a broken packet, the keys are correct from the next key frame on
        last=24 check_trailing "second GOP" in.mkv -bsf:v "noise=amount=3*not(n-5),${with}"
    done << END
8-bits 20 8 -pix_fmt yuv420p
10-bits 40 10 -pix_fmt yuv420p10le
film-grain 21 8 -pix_fmt yuv420p
coarsest 63 8 -pix_fmt yuv420p
END
    # a gray picture coded by libaom with a chroma index higher by 2: log2(89 / 87)
    echo REtJRgAAIABBVjAxEAAQABkAAAABAAAAAQAAAAAAAAAdAAAAAAAAAAAAAAASAAoKAAAAAZ/5tfIAgDINEACoIKCAAAkAAAB0gA== |
        base64 -d > ${tmp}/in.ivf
    chroma "index + 2" in.ivf
}

# Compare base_q_idx with the export of FFmpeg's decoder, with hidden frames in the packets of other
# frames and in separate packets.
quantizer_vp9(){
    for depth in 8 10; do
        format=yuv420p
        test ${depth} = 8 || format=yuv420p10le
        quantizer_ffmpeg ${film}3 -pix_fmt ${format} -c:v libvpx-vp9 -cpu-used 8 -b:v 100k -g 40 -auto-alt-ref 1 -lag-in-frames 16 ${tmp}/in.mkv
        quantizer_ffmpeg -v info -threads 1 -export_side_data venc_params -i ${tmp}/in.mkv \
            -vf showinfo ${to_null} 2>&1 |
            sed -n 's/.* qp=\([0-9]*\).*/\1/p' > ${tmp}/known
        keys in.mkv -threads 4 > ${tmp}/keys
        awk '!seen[$1]++ { n++ } END { print (n >= 8 ? "many indices" : "few indices") }' ${tmp}/known
        compare "${depth} bits" "${av1_step}"' && k[4] == "320x192" && k[5] == '${depth}' && k[8] == "vp9"'
        check_reparse "split" in.mkv -bsf:v vp9_superframe_split,${with}
    done
}

# MPEG-1, MPEG-2, MPEG-4: the quantizer is an option of FFmpeg's encoder. The mean log2 of the AC
# weights in the default matrices is 4.972475 in MPEG-1 and MPEG-2, intra only; in MPEG-4 it is
# 4.730484 for the intra and 4.539125 for the non-intra matrix.
quantizer_mpeg(){
    flat=$(yes 40 | head -n 63 | paste -s -d ,)
    # name, the step of I and of others, encoder and its options
    while read -r name intra inter options; do
        quantizer_ffmpeg ${film}1 -b_qfactor 1 -b_qoffset 0 -i_qfactor 1 -i_qoffset 0 -bf 2 -g 12 \
            ${options} ${tmp}/in.mkv
        # picture types from the decoder
        quantizer_ffmpeg -v info -i ${tmp}/in.mkv -vf showinfo ${to_null} 2>&1 |
            sed -n 's/.*showinfo.* type:\(.\) .*/\1/p' > ${tmp}/known
        keys in.mkv -threads 4 > ${tmp}/keys
        compare "${name}" 'k[2] == w[1] && near(k[1], w[1] == "I" ? '${intra}' : '${inter}') && k[4] == "320x192" && k[5] == 8 && k[7] == 0'
        # AVI has packets and a sequence header of its own
        check_remux in.mkv avi
    done << END
mpeg1 log(10)/log(2)+.972475 log(10)/log(2) -c:v mpeg1video -qscale:v 5
mpeg2 log(10)/log(2)+.972475 log(10)/log(2) -c:v mpeg2video -qscale:v 5
mpeg2-matrix log(10*40/16)/log(2) log(10*40/16)/log(2) -c:v mpeg2video -qscale:v 5 -intra_matrix 8,${flat} -inter_matrix 16,${flat}
mpeg4 log(12)/log(2) log(12)/log(2) -c:v mpeg4 -qscale:v 6
mpeg4-interlaced log(12)/log(2) log(12)/log(2) -c:v mpeg4 -qscale:v 6 -flags +ildct+ilme
mpeg4-mpeg log(12)/log(2)+.730484 log(12)/log(2)+.539125 -c:v mpeg4 -qscale:v 6 -mpeg_quant 1
mpeg4-matrix log(12*40/16)/log(2) log(12*40/16)/log(2) -c:v mpeg4 -qscale:v 6 -mpeg_quant 1 -intra_matrix 8,${flat} -inter_matrix 16,${flat}
END

    # the non-linear scale of MPEG-2, and quantizers by rate control, compared with the export of the decoder
    for options in "-non_linear_quant 1 -qmax 28 -qscale:v 12" "-non_linear_quant 1 -qmax 28 -qscale:v 27" "-b:v 300k"; do
        quantizer_ffmpeg ${film}2 -c:v mpeg2video -bf 2 ${options} ${tmp}/in.ts
        keys in.ts > ${tmp}/keys
        exported_quantizers in.ts
        # the decoder exports no quantizers for the last frame
        compare "${options}" 'NR == 50 || near(w[1], int(int(2 ^ (k[1] - .972475 * (k[2] == "I")) / 2 + .01) * 128 / 31))' ${tmp}/blocks
    done
}

# Print the mean log2 of the AC entries of the first DQT in the bytes of a JPEG.
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
    flat=$(yes 40 | head -n 63 | paste -s -d ,)
    while read -r q options; do
        quantizer_ffmpeg ${film}0.2 -c:v mjpeg -qscale:v ${q} -pix_fmt yuvj420p ${options} ${tmp}/in.avi
        quantizer_ffmpeg -i ${tmp}/in.avi -frames:v 1 -c copy -f rawvideo - | jpeg_step > ${tmp}/step
        yes "$(cat ${tmp}/step)" | head -n 5 > ${tmp}/known
        keys in.avi > ${tmp}/keys
        compare "qscale ${q}" 'near(k[1], w[1]) && k[2] == "I" && k[4] == "320x192" && k[5] == 8 && !k[6] && k[7] == 0 && k[8] == "mjpeg"'
        chroma "qscale ${q}" in.avi
    done << END
1
3
31
4 -intra_matrix 8,${flat} -chroma_intra_matrix 8,$(echo ${flat} | sed 's/40/80/g')
END
}

# Encode a clip with each codec.
clips(){
    while read -r clip options; do
        quantizer_ffmpeg ${film}1 ${options} ${tmp}/${clip} 2> ${tmp}/err || cat ${tmp}/err >&2
    done << END
h264.ts -c:v libx264 -preset veryfast -crf 30 -g 10
avc.mp4 -c:v libx264 -preset veryfast -crf 30 -g 10
hevc.mkv -c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=10
av1.mp4 -c:v libsvtav1 -preset 10 -g 10
mpeg2.ts -c:v mpeg2video -b:v 500k -bf 2
mpeg4.avi -c:v mpeg4 -b:v 500k -bf 2
mjpeg.avi -c:v mjpeg -qscale:v 5 -pix_fmt yuvj420p
ffv1.mkv -c:v ffv1
END
}
all_clips="h264.ts avc.mp4 hevc.mkv av1.mp4 mpeg2.ts mpeg4.avi mjpeg.avi ffv1.mkv"

# Intact and broken packets pass unchanged, the number of decoded frames is the same, and the filter
# logs nothing about broken packets.
quantizer_pass(){
    clips
    for clip in ${all_clips}; do
        part_of ${tmp}/${clip} 67 > ${tmp}/cut.${clip##*.}
        for before in "" "noise=amount=20," "noise=amount=200," "noise=amount=2000," cut; do
            file=${clip}
            if test "${before}" = cut; then file=cut.${clip##*.} before=; fi
            # a truncated MP4 cannot be opened
            test ${file} != cut.mp4 || continue
            for filter in null ${with}; do
                quantizer_ffmpeg -i ${tmp}/${file} -map 0:v -c copy -bsf:v ${before}${filter} \
                    -f framemd5 - | sed 's/, S=.*//' > ${tmp}/${filter}
                quantizer_ffmpeg -v verbose -bsf:v ${before}${filter} -i ${tmp}/${file} -an \
                    -fps_mode passthrough -f framemd5 - 2> ${tmp}/err |
                    grep -v '^#' | sed -n '$=' >> ${tmp}/${filter}
                grep ${with} ${tmp}/err | grep -v ' --enable-\|Quantizers of ffv1 '
            done
            same "${file} ${before}" ${tmp}/null ${tmp}/${with}
        done
    done
}

# The filter keeps strings that a packet already has, and bliinds keeps metadata of the frame.
quantizer_strings(){
    clips
    for clip in ${all_clips}; do
        keys ${clip} > ${tmp}/keys
        test ${clip} = ffv1.mkv || check_reparse "${clip}, twice" ${clip} -bsf:v ${with},${with}
        quantizer_ffmpeg -bsf:v ${with} -i ${tmp}/${clip} -vf bliinds,metadata=print:file=${tmp}/both ${to_null} > /dev/null
        echo "$(grep -c '^lavfi.bliinds.score=' ${tmp}/both) scores, $(grep -c '\.step=' ${tmp}/both) steps"
    done
}

# Print the messages of the filter without paths and addresses.
loss_messages(){
    sed -n "s,${tmp},folder,g;s/^\[quantizer_metadata[^]]*\] //p"
}

# Write a stream of a few handcrafted pictures from Base64 on standard input.
crafted(){ # file
    base64 -d > ${tmp}/$1
}

# Print the number of decoded frames, and of the lines that a stream copy writes to stats_file.
frames_and_lines(){ # name file [options of the input]
    name=$1 file=$2
    shift 2
    quantizer_ffmpeg "$@" -i ${tmp}/${file} -map 0:v:0 -fps_mode passthrough -f framemd5 - | grep -c '^0' > ${tmp}/frames
    quantizer_ffmpeg "$@" -i ${tmp}/${file} -map 0:v:0 -c copy -bsf:v ${with}=stats_file=- ${to_null} 2> ${tmp}/err > ${tmp}/lines
    echo "${name}: $(cat ${tmp}/frames) frames, $(wc -l < ${tmp}/lines) lines"
}

# Fields in separate packets form one frame: the second field begins no group and gets no line. The
# fields have QP 30 and 42, 36 and 24, 33 and 39, in slices of 6 and 5, 5 and 5, 5 and 6 bytes; the
# first field of the third frame begins a group. Decoders take the keys from the first field, which
# counts twice until the second one arrives: gop_step of the second frame is (6 * 26 / 6 + 5 * 38 / 6 +
# 10 * 32 / 6) / 21, with 11 bytes of the I frame. In MJPEG, a packet contains both fields.
quantizer_fields(){
    crafted in.h264 << END
AAAAAWdNAAraZIAAAAABaM44gAAAAAFliIUEE8AAAAABQZoYBAoAAAABQZowCigAAAABQZo4KoAAAAABQYiUHE8AAAABQYiWDRPA
END
    keys in.h264 | tee ${tmp}/keys
    quantizer_ffmpeg -i ${tmp}/in.h264 -c copy ${tmp}/fields.mp4 2> /dev/null
    check_reparse "mp4" fields.mp4
    check_remux fields.mp4 mkv ts
    frames_and_lines h264 fields.mp4

    for field in 1 2; do
        quantizer_ffmpeg -f lavfi -i testsrc2=s=320x96:d=1:r=1 -c:v mjpeg -qscale:v 4 -frames:v 1 -update 1 ${tmp}/${field}.jpg
        cat ${tmp}/${field}.jpg >> ${tmp}/both.jpg
    done
    for height in 96 120 144 192; do
        quantizer_ffmpeg -f image2 -c:v mjpeg -i ${tmp}/both.jpg -c copy -bsf:v null ${tmp}/in.avi
        # patch the height in the container: biHeight is 16 bytes after the name of the chunk
        strf=$(grep -abo strf ${tmp}/in.avi | head -n 1)
        # shellcheck disable=SC2059
        printf "$(printf '\\%o' ${height})" | dd of=${tmp}/in.avi bs=1 seek=$((${strf%%:*} + 16)) conv=notrunc 2> /dev/null
        echo "mjpeg ${height}: $(keys in.avi 2> /dev/null | cut -d ' ' -f 4)," \
            "decoded $(quantizer_ffmpeg -v info -i ${tmp}/in.avi -vf showinfo ${to_null} 2>&1 | sed -n 's/.* n: .* s:\([0-9x]*\) .*/\1/p')"
    done
}

# VVC: QP = 26 + pps_init_qp_minus26 + ph_qp_delta or sh_qp_delta, as trace_headers prints them in
# coding order. The stream contains the headers of mp4ff's annexb.vvc (1280x720, 10 bits).
quantizer_vvc(){
    crafted in.vvc << END
AAABAHkArQIzgAAAgAoCALRGoAc3TbpkaRSbzhNlYwQIJ4A0gzYQhkxEIGSINSHo9WpLySakskRaiLxEmoiRSREmSIk1GWIhCyQhahC8IXq1Je
S9Q0gzYkGbEBIhAgJFQgQEjSECAkWIEBIiCAkWQQEiQgJMgSIhAkWQgSJECTQSJIJOEnCbIiIRFkIiRE0iSTp/6XZf5yQAAAMABAAAAwBnhOwA
YagABMS0ADDUAAJiWhAAAAEAgQAABQEAWiIkH7ggAAABAIkH+EgJGYiikIoLAKK4CkOOGCg0MEnnHAgOM5RMlwgGEJfRUJmLlfVl7I5DkCIQjh
jEhFs6F2a52xKEoLN/qnkVKJYk+IHhEwyqR6MXZCxhCkdxhaKtKuLhUWhjBAjIyJUCh2NwxEBsRgKCCGRqaM6kRkZkgAAAAQA5xGB0//+nfk2/
//4tf///ylogyQif/8xkBo8zhYAAAAEAigbgoKbAIQJABKQkjqcSpImGwgxYhcQLlhCHQ99nkoiVM/VNdWUw0bUaIMC4f6uSNN5rVKHEJYZ//V
E1QAAAAQASlDzR1v7/ISQkEO/A8j6r5GXMlo/wWBOMPUXMOoAAAAEAiwWg1DSJqoQlyIy8rT/kDDEoKoAAAAEAE5Qc0db9eYgJMQEiMd+A+iN/
5JWSHL2Vx4SRnyOAAAABAIwEwIApe0AHocoWJFqWLgkHEKVotaVRKoogaJqcaUClcom4iIjBELEAAAEAFJQM0dzfoZAgQgQEiObfgP6yhqphbq
/6to5V8bmAAAABAI0DoNZd3dSNCjzUILOMMUd//QAAAQAVlATR3N9hoQVCBASISd+AcOsHzaAYw3Dq+QBCX4AAAAEAjgLxgqEpVDKIMkhAiNDM
EUFhxQPLiRrKeSJTykUwQFR4GkFgWMQtUSHxBR1Q7xbQrsHg0AAAAQAWlADR4pvqhyGkIEBIhRr4aiet8Iy+tHxuhPOv/4A=
END
    quantizer_ffmpeg -v info -i ${tmp}/in.vvc -c copy -bsf:v trace_headers ${to_null} 2>&1 | awk '
        function flush() { if (n++) print (26 + init + (in_ph ? ph : sh) - 4) / 6, substr("BPI", type + 1, 1); type = 2 }
        { value = $NF }
        / Packet: /                        { flush() }
        / pps_init_qp_minus26  /           { init  = value }
        / pps_qp_delta_info_in_ph_flag  /  { in_ph = value }
        / ph_qp_delta  /                   { ph    = value }
        / sh_qp_delta  /                   { sh    = value }
        / sh_slice_type  /                 { type  = value }
        END { flush() }' > ${tmp}/known
    # without slice data the decoder may drop the last frame
    keys in.vvc -threads 1 -flags output_corrupt 2> /dev/null | sort -k 12,12n | head -n 5 > ${tmp}/keys
    head -n 5 ${tmp}/known > ${tmp}/known.head
    compare "as the headers say" \
        'near(k[1], int(w[1] * 1e4 + .5) / 1e4) && w[2] == k[2] && k[4] == "1280x720" && k[5] == 10 && k[8] == "vvc" && k[12] == NR' ${tmp}/known.head
    cat ${tmp}/keys
    # VVC has no model of the loss
    quantizer_ffmpeg -v warning -i ${tmp}/in.vvc -c copy -bsf:v ${with}=stats_file=- ${to_null} 2> ${tmp}/err | sed 's/pts.* loss/loss/'
    loss_messages < ${tmp}/err
}

# VP8: base_q_idx 20, 60, 127 and 4 have the AC steps 24, 70, 284 and 8; the filter reports half of
# these. The third frame is not shown, and two-byte partitions end after their headers.
quantizer_vp8(){
    crafted in.ivf << END
REtJRgAAIABWUDgwEAAQABkAAAABAAAABQAAAAAAAAASAAAAAAAAAAAAAACwAACdASoQABAAAAAoAAAAAAAMAAAAAQAAAAAAAADRAAAAAeBMAA
AAAAALAAAAAgAAAAAAAAChAAAAAFAAAAAAAAsAAAADAAAAAAAAALEAAAAD+AAAAAAACwAAAAQAAAAAAAAAsQAAAAAgAAAAAAA=
END
    keys in.ivf > ${tmp}/keys
    printf '%s\n' 12 35 142 4 > ${tmp}/known
    compare "VP8" 'near(k[1], int(log(w[1]) / log(2) * 1e4 + .5) / 1e4) && k[2] == (NR == 1 ? "I" : "P") && k[4] == "16x16" && k[5] == 8 && k[8] == "vp8"'
    cat ${tmp}/keys
    check_remux in.ivf mkv
    frames_and_lines vp8 in.ivf
    quantizer_ffmpeg -v warning -bsf:v ${with} -i ${tmp}/in.ivf -vf bliinds=f=- ${to_null} 2> ${tmp}/err | sed 's/ sigma.*//'
    sed -n 's/^\[Parsed_bliinds[^]]*\] //p' ${tmp}/err
}

# MPEG-4 with global motion compensation: an I-VOP with quantizer 5, an S-VOP with 9 and two warping
# points, a B-VOP with 13, a P-VOP with 17, a VOP that is not coded, and an S-VOP with 21.
quantizer_gmc(){
    crafted in.m4v << END
AAABAAAAASAAyI0IAM0AhAIWCAwfAAABthBgsbbfvwAAAbbRYGX6DWk3AAABtpDhpN8AAAG2UeETfwAAAbZSTwAAAbbS4GX6DXU3
END
    keys in.m4v | tee ${tmp}/keys
    frames_and_lines gmc in.m4v
}

# Only shown frames get a line: not those before an edit list, not the lower of two spatial layers,
# also if each layer has a separate packet, and not packets without a picture.
quantizer_shown(){
    quantizer_ffmpeg ${film}2 -c:v libx264 -preset ultrafast -g 20 ${tmp}/whole.mp4
    quantizer_ffmpeg -ss 1.2 -i ${tmp}/whole.mp4 -c copy ${tmp}/cut.mp4
    frames_and_lines "edit list" cut.mp4
    crafted layers.ivf << END
REtJRgAAIABBVjAxQABAABkAAAABAAAAAgAAAAAAAAAyAAAAAAAAAAAAAAASAAoMABMBAICBV//AAACANgAOEJ4AAAAAgICAgICAgIA2CA4Qtw
AAAACAgICAgICAgDIAAAABAAAAAAAAABIACgwAEwEAgIFX/8AAAIA2AA4QsgAAAACAgICAgICAgDYIDhDLAAAAAICAgICAgICA
END
    for before in "" "av1_frame_split,"; do
        quantizer_ffmpeg -i ${tmp}/layers.ivf -c copy -bsf:v ${before}${with}=stats_file=- ${to_null} 2> /dev/null |
            sed "s/^/layers ${before} /;s/pts.* loss/loss/"
    done
    # superres halves the coded width
    quantizer_ffmpeg ${film}0.4 -c:v libsvtav1 -preset 10 -svtav1-params superres-mode=1:superres-denom=16:lp=1 ${tmp}/in.mkv 2> ${tmp}/err || cat ${tmp}/err >&2
    echo "superres: $(keys in.mkv | cut -d ' ' -f 4 | sort | uniq -c | tr -s '\n ' ' ')"
}

# Lossless streams have an estimated loss of 0 unless they are scaled; nearly lossless ones do not.
quantizer_lossless(){
    while read -r name depth options; do
        quantizer_ffmpeg ${film}0.2 -pix_fmt ${depth} ${options} ${tmp}/in.mkv
        for shown in 0 384; do
            quantizer_ffmpeg -i ${tmp}/in.mkv -c copy -bsf:v ${with}=stats_file=-:shown_height=${shown} ${to_null} |
                awk -F : -v name="${name} ${depth} at ${shown}" '{ $NF > 0 ? some++ : none++ } END { print name ": " none + 0 " without loss, " some + 0 " with" }'
        done
    done << END
x264 yuv420p -c:v libx264 -qp 0
x264 yuv420p10le -c:v libx264 -qp 0
x264-fine yuv420p -c:v libx264 -qp 1
x265 yuv420p -c:v libx265 -x265-params lossless=1:log-level=none
x265-fine yuv420p -c:v libx265 -x265-params qp=4:log-level=none
END
    # base_q_idx is 0; 0 with delta_q_y_dc 1; and 1
    crafted in.ivf << END
REtJRgAAIABBVjAxQABAABkAAAABAAAAAwAAAAAAAAAXAAAAAAAAAAAAAAASAAoGGBV//AAIMgsQAACAgICAgICAgBoAAAABAAAAAAAAABIACg
YYFX/8AAgyDhAIEAAAAICAgICAgICAGQAAAAIAAAAAAAAAEgAKBhgVf/wACDINEBAAAACAgICAgICAgA==
END
    quantizer_ffmpeg -i ${tmp}/in.ivf -c copy -bsf:v ${with}=stats_file=- ${to_null} | sed 's/.* loss/av1 loss/'
}

# ffmpeg creates one filter per stream: two filters must not write to the same file.
quantizer_streams(){
    quantizer_ffmpeg ${film}0.4 -f lavfi -i sine=d=0.4 -c:v libx264 -preset ultrafast -c:a aac ${tmp}/in.mp4
    quantizer_ffmpeg -i ${tmp}/in.mp4 -frames:v 1 -c:v mjpeg -update 1 ${tmp}/cover.jpg
    quantizer_ffmpeg -i ${tmp}/in.mp4 -i ${tmp}/cover.jpg -map 0 -map 1 -c copy -disposition:v:1 attached_pic ${tmp}/cover.mp4
    while read -r file options; do
        rm -f ${tmp}/lines
        quantizer_ffmpeg -v warning -i ${tmp}/${file} -map 0 -c copy ${options} ${to_null} 2> ${tmp}/err > ${tmp}/stdout
        echo "${file} $(echo "${options}" | sed "s,${tmp}/,,g"): status $(($? > 0)), $(cat ${tmp}/lines ${tmp}/stdout 2> /dev/null | wc -l) lines"
        loss_messages < ${tmp}/err
    done << END
cover.mp4 -bsf:v ${with}=stats_file=${tmp}/lines
cover.mp4 -bsf:v ${with}=stats_file=-
cover.mp4 -bsf:v:0 ${with}=stats_file=${tmp}/lines
cover.mp4 -bsf:v ${with}
in.mp4 -bsf ${with}=stats_file=${tmp}/lines
END
    # a file of an earlier run is overwritten
    quantizer_ffmpeg -i ${tmp}/in.mp4 -map 0:v -c copy -bsf:v ${with}=stats_file=${tmp}/lines ${to_null}
    wc -l < ${tmp}/lines
}

# The loss of each codec equals the polynomial in the source, evaluated at gop_step and the display
# height. Lines, keys and summary agree; damaged packets have an unknown loss.
quantizer_loss(){
    clips
    for clip in h264.ts hevc.mkv av1.mp4 mpeg2.ts mpeg4.avi mjpeg.avi; do
        row=$(sed -n "s/^static const double ${clip%.*}_loss\[\] = { \(.*\) };/\1/p" \
            ${project}/libavcodec/bsf/quantizer_metadata.c)
        for shown in 0 96 480; do
            quantizer_ffmpeg -bsf:v ${with}=shown_height=${shown}:stats_file=${tmp}/lines \
                -i ${tmp}/${clip} -vf metadata=print:file=${tmp}/printed \
                -fps_mode passthrough ${to_null}
            awk -F = -v row="${row}" -v shown=${shown} -v name="${clip} at ${shown}" '
                BEGIN                 { split(row, c, ", ") }
                /quantizer.height=/   { s = shown > $2 ? log(shown / $2) / log(2) : 0 }
                /quantizer.gop_step=/ { q = $2 }
                /quantizer.loss=/ {
                    least = -(c[2] + c[6] * s) / (2 * c[3])
                    if (q < least) q = least
                    x = c[1] + c[2] * q + c[3] * q * q + c[4] * s + c[5] * s * s + c[6] * q * s
                    x = x < 0 ? 0 : x > 100 ? 100 : x
                    if (($2 - x) ^ 2 < 0.01 ^ 2) good++
                    inside += x > 0 && x < 100
                }
                END {
                    print name ": " good " frames agree, " \
                        (inside ? "some" : "none") " of them not at an end"
                }' ${tmp}/printed
            sed -n 's/.*loss:\(.*\)/\1/p' ${tmp}/lines | sort > ${tmp}/other
            sed -n 's/.*quantizer.loss=//p' ${tmp}/printed | sort > ${tmp}/keys
            same "lines" ${tmp}/keys ${tmp}/other
        done
    done

    while read -r clip options before; do
        quantizer_ffmpeg -v info -i ${tmp}/${clip} -map 0:v -c copy \
            -bsf:v "${before}${with}=stats_file=-${options}" ${to_null} 2> ${tmp}/err > ${tmp}/lines
        loss_messages < ${tmp}/err | awk -F '[ :]' -v name="${clip} ${before}" '
            NR == FNR { n++; if ($NF == "nan") unknown++; else sum += $NF; next }
            /^Headers-only estimate/ {
                for (i = 1; i < NF; i++) said[$i] = $(i + 1)
                known = n - unknown
                ok = said["frames"] == n && said["unknown"] == unknown + 0
                ok = ok && (known ? (said["mean"] - sum / known) ^ 2 < 1e-6 : said["mean"] == "nan")
                some = !known ? "none" : unknown ? "some" : "all"
                # the number of packets that noise breaks depends on the version of x264
                lines = some == "some" ? "" : n " "
                print name ": " (ok ? "as its " lines "lines say, " some " known" : $0)
                sub(/.*[(]/, "(")
            }
            { print }' ${tmp}/lines -
    done << END
h264.ts :shown_height=1080
h264.ts :shown_height=0 noise=amount=20,
ffv1.mkv :shown_height=0
END

    # if lines cannot be written, all packets pass and the end of the stream is an error
    for path in ${tmp}/none/lines /dev/full; do
        quantizer_ffmpeg -xerror -i ${tmp}/mjpeg.avi -map 0:v -c copy \
            -bsf:v ${with}=stats_file=${path} -f framemd5 ${tmp}/other 2> ${tmp}/err
        echo "${path##*/}: status $(($? > 0))"
        loss_messages < ${tmp}/err
    done
    quantizer_ffmpeg -i ${tmp}/mjpeg.avi -map 0:v -c copy -bsf:v ${with} -f framemd5 ${tmp}/keys
    same "packets" ${tmp}/keys ${tmp}/other
}
