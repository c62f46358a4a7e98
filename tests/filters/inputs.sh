# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the inputs of the metric filters: formats that they read alike, and frames that they refuse.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Scores and frames are the same for planes and for the formats of hardware.
inputs_formats(){
    for formats in yuv420p:nv12 yuv422p:nv16 yuv444p:nv24 yuv420p10le:p010 yuv422p12le:p212 yuv444p12le:p412; do
        planar=${formats%:*}
        # the smallest picture whose chroma vmaf measures
        size=218x$(test "${planar#yuv420p}" = ${planar} && echo 80 || echo 160)
        graph="$(pattern ${size} ${planar}),split[r][d];[r]split=4[r0][r1][r2][r3];[d]avgblur=2,split[d0][d1]"
        i=0
        for format in ${planar} ${formats#*:}; do
            graph="${graph};[d${i}]${exact},format=${format},split=3[a${i}][b${i}][c${i}]"
            graph="${graph};[a${i}][r${i}]vmaf=f=${tmp}/${i}.vmaf,nullsink;[b${i}][r$((i + 2))]mad=f=${tmp}/${i}.mad,nullsink"
            graph="${graph};[c${i}]${bliinds}:features=1:f=${tmp}/${i}.bliinds,blocksmooth,${exact},format=${planar}[o${i}]"
            i=$((i + 1))
        done
        ffmpeg -filter_complex_threads 1 -lavfi "${graph};[o0][o1]psnr=f=${tmp}/psnr" -frames:v 1 ${to_null}
        # ffmpeg may filter more than the first frame
        for filter in vmaf mad bliinds; do
            for i in 0 1; do
                head -n 1 ${tmp}/${i}.${filter} > ${tmp}/${i}
            done
            same "${filter} ${format}" ${tmp}/0 ${tmp}/1
        done
        echo "blocksmooth ${format}: $(sed -n '1s/.* mse_avg:0.00 .*/same/p' ${tmp}/psnr)"
    done
}

# A score of two inputs that the filter does not refuse.
accepted(){ # ffmpeg's arguments
    ffmpeg "$@" | sed 's/.*\( score:[^ ]*\).*/accepted,\1/'
}

# Depth, subsampling, gray and range of two inputs: neither is converted to match the other.
refused(){
    clip=testsrc2=s=218x160:d=0.04,${exact},format=yuv420p
    while read -r run filter main reference; do
        echo "${filter} ${main} ${reference}"
        parsed=${filter%%=*}
        ${run} ${gpu} -lavfi "${clip},split[a][b];[a]${exact},format=${main}${up}[m];[b]${exact},format=${reference}${up}[r];[m][r]${filter}" \
            ${to_null}
    done
}

inputs_refused(){
    refused << 'END'
fails    vmaf nv12 yuv420p10le
fails    vmaf p010 yuv420p
accepted vmaf=f=-:bitdepth=10 nv12 p010
accepted vmaf=f=- nv12 yuv420p
fails    vmaf yuv420p yuv444p
fails    vmaf nv16 nv12
fails    vmaf gray yuv420p
fails    vmaf nv12 gray
fails    vmaf yuv420p yuvj420p
fails    vmaf yuvj420p nv12
fails    vmaf=bitdepth=10 nv12,setparams=range=full yuv420p
fails    vmaf yuv420p,setparams=range=limited nv12,setparams=range=full
accepted vmaf=f=- yuvj420p yuvj420p
accepted vmaf=f=- yuv420p,setparams=range=limited yuv420p
accepted vmaf=f=- yuv420p,setparams=colorspace=bt709 yuv420p
accepted mad=f=- nv12 yuv420p10le
accepted mad=f=- yuv420p gray10le
fails    mad yuv420p,setparams=color_trc=smpte2084 yuv420p,setparams=range=full:color_trc=bt709
END
}

inputs_refused_cuda(){
    up=,hwupload gpu=${on_gpu}
    refused << 'END'
fails    vmaf_cuda nv12 p010
fails    vmaf_cuda nv12 yuv444p
fails    vmaf_cuda nv12,setparams=range=full nv12
fails    ssim_cuda p010 nv12
fails    ssim_cuda nv12,setparams=range=limited nv12,setparams=range=full
fails    mad_cuda nv12 yuv420p
accepted mad_cuda=f=- nv12,setparams=range=full nv12,setparams=range=full
accepted vmaf_cuda=f=- nv12,setparams=range=limited nv12
fails    ssim_cuda nv12,setparams=color_trc=smpte2084 nv12,setparams=color_trc=bt709
END
}

# What no list of formats contains is converted, with a warning for each input.
inputs_converted(){
    while read -r filter format; do
        echo "${filter} ${format}"
        parsed=${filter%%=*}
        case ${filter} in
        bliinds) graph=${bliinds} ;;
        mad)     graph=split,mad ;;
        *)       graph="setpts=PTS,split[a][b];[b]scale,format=yuv444p[c];[a][c]${filter}" ;;
        esac
        # not by FATE's ffmpeg(), which disables conversions
        run ffmpeg${PROGSUF}${EXECSUF} -nostdin -lavfi testsrc2=s=218x160:d=0.04,scale,format=${format},${graph} ${to_null} \
            2> ${tmp}/err || echo "failed"
        grep converts ${tmp}/err | messages
    done << 'END'
vmaf rgb24
vmaf yuva444p
vmaf yuv444p16le
vmaf yuv444p
mad rgba
mad yuv444p16le
bliinds ya8
bliinds gbrp
END
    # the user's scaler may take the matrix of the other input
    echo "vmaf, by a scaler"
    parsed=Parsed_vmaf
    for tags in colorspace=bt709 colorspace=unknown; do
        run ffmpeg${PROGSUF}${EXECSUF} -nostdin -lavfi "testsrc2=s=218x160:d=0.04,format=yuv420p,split[a][b];[a]scale[m];[b]setparams=${tags}[r];[m][r]vmaf" ${to_null} 2>&1 |
            sed -n 's/.* converts .* matrix \([a-z0-9]*\),.* to \([a-z0-9]*\),.*/\1 \2/p'
    done
}

# The frames' size, range or transfer changes, but not the graph. A scaler rewrites the size of its link.
changed(){ # ffmpeg's arguments
    fails "$@" | grep -e scale -e failure -e crash
}

inputs_changed(){
    clip=testsrc2=s=480x360:d=0.16,format=yuv420p
    scale="scale=w=if(lt(n\,2)\,480\,640):h=360:eval=frame"
    echo "0.08 crop w 240" > ${tmp}/list
    crop=sendcmd=f=${tmp}/list,crop=480:360
    for filter in vmaf mad; do
        parsed=${filter}
        for graph in "${clip},${scale}[m];${clip}[r];[m][r]${filter}" "${clip}[m];${clip},${scale}[r];[m][r]${filter}" \
                     "${clip},${scale}[m];${clip},${scale}[r];[m][r]${filter}" \
                     "${clip},${crop}[m];${clip}[r];[m][r]${filter}" \
                     "${clip},setparams=color_trc=bt709[a];${clip},setparams=color_trc=smpte2084[b];[a][b]concat,split[m][r];[m][r]${filter}"; do
            changed -lavfi "${graph}" ${to_null}
        done
    done
    for filter in ${bliinds} blocksmooth; do
        parsed=${filter%%=*}
        changed -lavfi "${clip},${scale},${filter}" ${to_null}
        changed -lavfi "${clip},${crop},${filter}" ${to_null}
    done
    for full in off on; do
        ffmpeg -lavfi ${clip}10le -c:v libx264 -preset ultrafast -x264-params colorprim=bt709:fullrange=${full} \
            -f h264 ${tmp}/${full}
    done
    cat ${tmp}/off ${tmp}/on  > ${tmp}/changes
    cat ${tmp}/off ${tmp}/off > ${tmp}/stays
    for filter in vmaf mad; do
        parsed=${filter}
        changed -reinit_filter 0 -f h264 -i ${tmp}/changes -f h264 -i ${tmp}/stays -lavfi ${filter} ${to_null}
    done
    parsed=bliinds
    changed -reinit_filter 0 -f h264 -i ${tmp}/changes -vf ${bliinds} ${to_null}
}

# PQ and HLG: one warning, or an error where the inputs differ. Unspecified tags are not compared. A
# warning of different matrices.
inputs_hdr(){
    clip=testsrc2=s=218x160:d=0.08,${exact},format=yuv420p${up}
    for filter in ${filters:-vmaf mad ${bliinds}}; do
        cases="smpte2084:smpte2084 arib-std-b67:unknown unknown:smpte2084 bt709:unknown bt709:bt2020-10
               smpte2084:bt709 bt709:arib-std-b67 smpte2084:arib-std-b67"
        test ${filter} = ${filter#bliinds} || cases="smpte2084: arib-std-b67: bt709: unknown:"
        for transfers in ${cases}; do
            echo "${filter%%=*} ${transfers}"
            graph="${clip},setparams=color_trc=${transfers%:*}[m];${clip},setparams=color_trc=${transfers#*:}[r];[m][r]${filter}"
            test ${transfers} = ${transfers%:} || graph="${clip},setparams=color_trc=${transfers%:},${filter}"
            if heard ffmpeg ${gpu} -lavfi "${graph}" ${to_null} 2> ${tmp}/log; then
                grep -c SDR ${tmp}/err
            else
                parsed=${filter%%=*}
                grep -v SDR ${tmp}/err | messages
            fi
        done
    done
    test -z "${up}" || return 0
    parsed=mad
    for matrices in bt709:bt2020nc bt470bg:smpte170m bt709:unknown; do
        echo "${matrices}"
        graph="${clip},setparams=colorspace=${matrices%:*}[m];${clip},setparams=colorspace=${matrices#*:}[r];[m][r]mad"
        heard ffmpeg -lavfi "${graph}" ${to_null} 2> ${tmp}/log
        grep matrix ${tmp}/err | messages
    done
}

inputs_hdr_cuda(){
    up=,hwupload gpu=${on_gpu} filters="vmaf_cuda ssim_cuda mad_cuda bliinds_cuda=model=vmaf1_est5"
    inputs_hdr
}

# RGB has the scores of gray by the weights of rgb2gray, in any layout.
inputs_rgb(){
    awk -v original=${tmp}/original -v coarse=${tmp}/coarse 'BEGIN {
        s = 1
        for (i = 0; i < 96 * 80 * 3; i++) {
            s = (s * 1664525 + 1013904223) % 4294967296
            v = (int(i / 3) % 96 * (1 + i % 3) + int(i / 288) + int(s / 67108864)) % 256
            printf("%c", v) > original
            printf("%c", v - v % 96) > coarse
        }
    }'
    for picture in original coarse; do
        od -An -v -tu1 -w3 ${tmp}/${picture} | awk '{
            gray = 0.2989360212937753847527155 * $1 + 0.5870430744511212909351327 * $2
            printf("%c", int(gray + 0.1140209042551033243121518 * $3 + 0.5))
        }' > ${tmp}/${picture}.gray
    done
    raw="-f rawvideo -video_size 96x80"
    ffmpeg ${raw} -pix_fmt gray -i ${tmp}/coarse.gray ${raw} -pix_fmt gray -i ${tmp}/original.gray \
        -lavfi [0]split[a][b]\;[a][1]mad=f=${tmp}/gray.mad,nullsink\;[b]${bliinds}:features=1:f=${tmp}/gray.bliinds ${to_null}
    cat ${tmp}/gray.mad
    for format in rgb24 bgr24 gbrp; do
        ffmpeg ${raw} -pix_fmt rgb24 -i ${tmp}/coarse ${raw} -pix_fmt rgb24 -i ${tmp}/original \
            -lavfi [0]scale,format=${format},split[a][b]\;[a][1]mad=f=${tmp}/rgb.mad,nullsink\;[b]${bliinds}:features=1:f=${tmp}/rgb.bliinds ${to_null}
        for filter in mad bliinds; do
            same "${filter} ${format}" ${tmp}/gray.${filter} ${tmp}/rgb.${filter}
        done
    done
}
