# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# FATE tests of bliinds: features, content, damage, frames, models, side data.
# SPDX-License-Identifier: LGPL-2.1-or-later

# ---- features ----

# Compare the 24 BLIINDS-II features of the pictures in a folder with those of the authors' release.
oracle(){ # folder
    tail -n +2 $1/features.csv | while IFS=, read -r picture width height rest; do
        case ${width},${height} in
        [1-3],* | *,[1-3]) continue ;;
        esac
        ffmpeg -i $1/${picture}.pgm -vf ${gray}${bliinds}:features=1,${print} ${to_null} |
            grep '\.L[123]\.' | agree $1/features.csv ${picture} | sed "s/^/${picture}: /"
    done
}

# Run a test on more pictures or pairs, which are not in the repository.
oracle_all(){ # test-of-a-folder folder values
    test -n "${ORACLE}" || { skip "no more pictures: name a folder of them with ORACLE"; return 0; }
    $1 ${ORACLE}/$2 > ${tmp}/agree
    grep -v ": $3 values agree$" ${tmp}/agree
    grep -q agree ${tmp}/agree && echo "all values agree"
}

# ---- content ----

# Compare the features of cropped pictures with another implementation; sizes below 4 are errors.
sizes(){
    tail -n +2 ${pictures}/crops.csv | cut -d, -f1,2 | while IFS=, read -r picture filter; do
        ffmpeg -i ${pictures}/${picture}.pgm -vf ${filter},${gray}${bliinds}:features=1,${print} ${to_null} |
            agree ${pictures}/crops.csv ${picture},${filter} | sed "s/^/${filter} /"
    done
    # the smallest picture has blocks of both grid classes, so that no grid phase is NaN
    ffmpeg -i ${pictures}/chelsea_451x300.pgm -vf crop=4:4:100:100,${gray}${bliinds}:features=1,${print} ${to_null} |
        grep -c 'phase.*=-*[0-9]'
    for size in 3:3 3:64 64:3 1:1; do
        fails -i ${pictures}/chelsea_451x300.pgm -vf crop=${size}:0:0,${gray}${bliinds} ${to_null}
    done
    fails -lavfi color=s=16388x4,format=gray,${gray}${bliinds} ${to_null}
}

# Black bars change the features; the range of the video, with black at 0 or 16, does not.
letterbox(){
    for range in full limited; do
        black=0
        test ${range} = full || black=16
        ffmpeg -i ${pictures}/rose_70x46.pgm -vf scale=in_range=full:out_range=full,format=yuv444p,\
pad=70:80:0:20,geq=if\(between\(Y\\,20\\,65\)\\,floor\(lum\(X\\,Y\)/2\)\)+${black},\
setparams=range=${range},${bliinds}:features=1,${print} ${to_null} > ${tmp}/${range}
    done
    agree ${pictures}/letterbox.csv rose_70x46 < ${tmp}/full
    same "limited range" ${tmp}/full ${tmp}/limited
}

# Print the key valid of the only frame with a name.
valid_of(){ # name
    awk -F= -v name="$1" '$1 == "lavfi.bliinds.valid" { print name ": " $2 }'
}

# Check valid for flat and small pictures, and that invalid frames are logged but not pooled.
valid(){
    for color in black white gray; do
        ffmpeg -lavfi color=${color}:s=96x96:d=0.04,format=yuv420p,${bliinds},${print} ${to_null} | valid_of ${color}
    done
    # level 3 has 3x3, 5x2 and 4x3 blocks; 10 are needed
    for size in 39:36 52:24 40:36; do
        ffmpeg -i ${pictures}/chelsea_451x300.pgm -vf crop=${size}:100:100,${gray}${bliinds},${print} ${to_null} | valid_of ${size}
    done
    # 16 of 64 and of 65 rows of blocks have content; up to 3/4 may be flat
    for height in 192 193; do
        ffmpeg -i ${pictures}/rose_70x46.pgm \
            -vf pad=70:${height},${gray}${bliinds},${print} ${to_null} |
            valid_of "rose and black, ${height} rows"
    done
    # a frame that is not valid is logged, but not pooled
    heard ffmpeg -i ${pictures}/rose_70x46.pgm \
        -vf loop=2:1,lut=0:enable=eq\(n\\,1\),${gray}${bliinds}:stats_file=${tmp}/stats ${to_null}
    sed 's/pts.*valid/valid/;s/basis.*//' ${tmp}/stats
    score=$(sed -n '1s/.* score:\([0-9.]*\).*/\1/p' ${tmp}/stats)
    grep -c ":${score} " ${tmp}/stats
    messages < ${tmp}/err | sed "s/${score}/SCORE/g"
}

# ---- damage ----

# Frames of packets with errors are damaged, and so are all following ones up to an intact I frame.
damage(){
    for encoder in mpeg2video libx264; do
        ffmpeg -lavfi testsrc2=s=96x80:r=24:d=4,noise=alls=9:allf=t,format=yuv420p -c:v ${encoder} -g 24 -bf 2 \
            -b:v 200k -threads 1 ${tmp}/intact.ts
        ffmpeg -i ${tmp}/intact.ts -c copy -bsf:v "noise=amount=if(eq(mod(n\,40)\,20)\,150)" ${tmp}/broken.ts
        for clip in intact broken; do
            heard ffmpeg -i ${tmp}/${clip}.ts -vf "showinfo,${gray:+format=yuv420p,}${bliinds}:f=${tmp}/stats:log_path=${tmp}/log,${print}" \
                ${to_null} > ${tmp}/out
            sed -n 's/.*showinfo.* type:\(.\).*/\1/p' ${tmp}/err > ${tmp}/types
            awk '/^frame:/ { n++ } /^lavfi.bliinds.damaged=1$/ { damaged[n] = 1 } END { for (i = 1; i <= n; i++) print damaged[i] + 0 }' ${tmp}/out |
                paste - ${tmp}/types | awk -v name="${encoder}, ${clip}" '
                    $1 { nb++ }
                    was && !$1 && $2 != "I" { wrong++ }
                    { was = $1 }
                    END { print name ": " (NR > 90 ? "" : "too few frames, ") (nb ? nb > 5 && nb < 60 ? "some" : nb : "none") " damaged" (wrong ? ", and intact without an I frame" : "") }'
            grep -c 'damaged=1$' ${tmp}/out > ${tmp}/number
            grep -c ' damaged:1$' ${tmp}/stats > ${tmp}/lines
            sed -n 's/.*"damaged": \([0-9]*\)}.*"fps".*/\1/p; s/.*"aggregate.*"damaged": \([0-9]*\)}.*/\1/p' ${tmp}/log > ${tmp}/json
            same "their number in lines" ${tmp}/number ${tmp}/lines
            same "in JSON" ${tmp}/number ${tmp}/json
            grep -c ' valid:0 .* damaged:1$' ${tmp}/stats | cmp -s - ${tmp}/number || echo "some are valid"
        done
        # frames that are not scored are marked, too
        for options in n_subsample=5 "enable=lt(t\\,0.5)"; do
            ffmpeg -i ${tmp}/broken.ts -vf "${gray:+format=yuv420p,}${bliinds}:${options}:log_path=${tmp}/log,${print}" ${to_null} |
                grep -c 'damaged=1$' > ${tmp}/got
            same "${options}" ${tmp}/number ${tmp}/got
        done
        # filters with two inputs count each input
        test -z "${gray}" && filters=mad upload=null || filters="mad_cuda ssim_cuda" upload=hwupload
        for filter in ${filters}; do
            for inputs in "broken intact damaged" "intact broken reference_damaged"; do
                set -- ${inputs}
                ffmpeg ${gray:+-init_hw_device cuda} -i ${tmp}/$1.ts -i ${tmp}/$2.ts -lavfi "[0]${upload}[m];[1]${upload}[r];[m][r]${filter},${print}" ${to_null} \
                    2> ${tmp}/err > ${tmp}/out
                grep -c "lavfi.${filter%_cuda}.$3=1$" ${tmp}/out | cmp - ${tmp}/number &&
                    grep -q "[] ]$3:$(cat ${tmp}/number)\\b" ${tmp}/err || echo "${filter}: not as many $3"
            done
        done
        # unpaired frames of the reference begin and end damage, too
        for n in 0 1; do
            ffmpeg ${gray:+-init_hw_device cuda} -i ${tmp}/intact.ts -i ${tmp}/broken.ts -lavfi "[0]select=eq(mod(n\,2)\,${n}),${upload}[m];[1]${upload}[r];[m][r]${filter},${print}" ${to_null}
        done 2> ${tmp}/err | grep -c "reference_damaged=1$" | cmp - ${tmp}/number || echo "${filter}: not as many of every second frame"
    done
}

# ---- frames ----

# Print the numbers of the frames with a score.
scored_frames(){
    awk '/^frame:/ { n = $1 } /^lavfi.bliinds.score=/ { printf("%s ", n) } END { print "" }'
}

# Check which frames n_subsample and enable select.
which_frames(){
    source=testsrc2=s=64x64:d=0.4,format=yuv420p
    ffmpeg -lavfi ${source},${bliinds}:n_subsample=3:stats_file=${tmp}/stats,${print} ${to_null} | scored_frames
    sed 's/ score:.*//' ${tmp}/stats
    ffmpeg -lavfi "${source},${bliinds}:enable='between(n,2,4)':stats_file=${tmp}/stats,${print}" ${to_null} | scored_frames
    sed 's/ score:.*//' ${tmp}/stats
    ffmpeg -lavfi "${source},${bliinds}:n_subsample=3:enable='gte(n,4)',${print}" ${to_null} | scored_frames
    # one of each eight frames, uniformly distributed over the eight positions
    ffmpeg -lavfi testsrc2=s=16x16:r=100:d=8,format=yuv420p,${bliinds}:n_subsample=8:f=${tmp}/stats ${to_null}
    sed 's/n:\([0-9]*\).*/\1/' ${tmp}/stats | awk '
        { run = int(($1 - 1) / 8); if (run != NR - 1) wrong++; nb[($1 - 1) % 8]++ }
        END {
            for (i = 0; i < 8; i++)
                if (nb[i] < NR / 8 - 3 * sqrt(NR / 8) || nb[i] > NR / 8 + 3 * sqrt(NR / 8))
                    wrong++
            print NR " frames of 800, " wrong + 0 " wrong"
        }'
    head -n 8 ${tmp}/stats | sed 's/ .*//' | xargs
}

# Print the frame number and the motion features of each line.
motions(){ # log
    sed 's/^n:\([0-9]*\) .* \(motion.mean:.*\) coded.step.*/\1 \2/' $1
}

# Compare the motion features of two mirrored frames with another implementation. The motion of a
# frame is relative to the previous frame, whichever frames are scored.
motion(){
    for picture in rose_70x46 chelsea_451x300 camera_crop_300x240; do
        ffmpeg -i ${pictures}/${picture}.pgm \
            -vf loop=1:1,hflip=enable=eq\(n\\,1\),${gray}${bliinds}:features=1,${print} ${to_null} |
            sed -n '/^frame:1/,$p' | agree ${pictures}/motion.csv ${picture} | sed "s/^/${picture}: /"
    done
    source=testsrc2=s=97x65:d=0.8,noise=alls=9:allf=t,format=yuv420p
    for threads in 1 5; do
        ffmpeg -filter_complex_threads ${threads} -lavfi ${source},${bliinds}:features=1:f=${tmp}/all${threads} ${to_null}
    done
    same "threads" ${tmp}/all1 ${tmp}/all5
    motions ${tmp}/all1 | head -n 1
    motions ${tmp}/all1 | tail -n +2 > ${tmp}/motions
    sort -u ${tmp}/motions | wc -l
    for options in n_subsample=3 n_subsample=7 "enable='gte(n,4)'" "enable='lt(mod(n,7),2)'"; do
        ffmpeg -lavfi "${source},${bliinds}:features=1:f=${tmp}/some:${options}" ${to_null}
        echo "${options}: $(wc -l < ${tmp}/some) frames"
        motions ${tmp}/some | grep -vxFf ${tmp}/motions
    done
    # two equal frames
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf loop=1:1,${gray}${bliinds}:features=1:f=${tmp}/still ${to_null}
    motions ${tmp}/still
    # a difference of one 10-bit step has a mean square of 1/16, of two steps 1/4; black frames are not still, and marks of
    # an earlier filter are removed
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf "loop=6:1,${exact},format=yuv420p10le,\
geq='if(gte(N,5),64,lum(X,Y)+gte(N,2)+2*gte(N,3))':cb(X\\,Y):cr(X\\,Y),\
${exact},format=p010le,metadata=add:key=lavfi.bliinds.still:value=1,${bliinds}:f=${tmp}/still:log_path=${tmp}/json,${print}" \
        ${to_null} | awk '/^frame:/ { n = $1 } /^lavfi.bliinds.still=1$/ { printf("%s ", n) } END { print "" }'
    echo $(sed -n 's/ .* still:1$//p' ${tmp}/still) $(sed -n 's/.*"frameNum": \([0-9]*\),.* "still": 1}}.*/\1/p' ${tmp}/json)
}

# No frame is lost when ffmpeg rebuilds the filter graph.
rebuild(){
    pictures_of 70x46:20 96x64:25 64x48:20
    framecrc -i ${tmp}/%d.pgm -vf ${gray}${bliinds}${gray_download} | grep -vc '^#'
}

# ---- models ----

# Print the error for the model on standard input.
model_error(){ # name
    cat > ${tmp}/$1
    fails -i ${pictures}/rose_70x46.pgm -vf bliinds=model=${tmp}/$1 ${to_null} | sed "s,folder/,,"
}

head_lines="bliinds-model 1
name test
direction lower
range 0 100"

# Write a model with the given lines.
model(){ # file lines...
    file=${tmp}/$1
    shift
    printf '%s\n' "${head_lines}" "$@" end > ${file}
}

# Each broken model gives one error. HEAD stands for the first lines of a model.
model_errors(){
    head_text=$(printf '%s|' "${head_lines}" | tr '\n' '|' | sed 's/|/\\\\n/g')
    model_error empty < /dev/null
    head -c 4000 ${pictures}/rose_70x46.pgm | model_error picture
    while read -r name text; do
        # shellcheck disable=SC2059
        printf "$(printf '%s' "${text}" | sed "s/HEAD/${head_text}/g")" | model_error ${name}
    done << 'END'
version bliinds-model 2\n
junk bliinds-model 1junk\n
versions bliinds-model 1 1\n
no-version bliinds-model\n
utf-16 \377\376b\000l\000
truncated HEAD
cut HEADconstant 1\nweight L1.zeta100 1\nen
no-weights HEADconstant 1\nend\n
no-constant HEADweight L1.zeta100 1\nend\n
number HEADconstant one\nend\n
nan HEADconstant nan\nend\n
huge HEADconstant 1e999\nend\n
missing HEADconstant\nend\n
two HEADconstant 1 2\nend\n
feature HEADweight L1.zeta 1\nend\n
target HEADweight target 1\nend\n
no-feature HEADweight\nend\n
duplicate HEADweight L1.ori10 1\nweight L1.ori10 1\nend\n
no-unit HEADunit\nend\n
unit-constant HEADunit 1\nend\n
unit-weight HEADunit 1 2 L1.ori10\nend\n
unit-target HEADunit 1 2 target 3\nend\n
unit-duplicate HEADunit 1 2 L1.ori10 3 coded.step 4 L1.ori10 5\nend\n
unit-large HEADunit 1 2 L1.ori10 1e308\nend\n
unit-alone HEADconstant 1\nunit 1 2 coded.step 3\nend\n
keyword HEADwieght L1.ori10 1\nend\n
frames HEADframes none\n
flat-pixels HEADframes flat\nconstant 1\nweight L1.ori10 1\nend\n
second-flat HEADframes flat\nconstant 1\nweight coded.step 1\nend\nHEADframes flat\nconstant 1\nweight coded.step 1\nend\n
after-end HEADconstant 1\nweight L1.ori10 1\nend\nconstant 1\n
step HEADstep 0\n
sigma HEADsigma -1\n
link HEADlink probit\n
sigma-p80 HEADsigma_p80 0
sigma-of HEADsigma_weight target 1\n
sigma-second HEADsigma_weight score 1\nsigma_weight score 1\n
second HEADconstant 1\nweight L1.ori10 1\nend\nHEADconstant 1\nweight L1.ori10 1\nend\n
second-coded HEADconstant 1\nweight coded.step 1\nend\nHEADconstant 1\nweight coded.step 1\nend\n
cut-second HEADconstant 1\nweight coded.step 1\nend\nHEAD
name bliinds-model 1\nname a/b\n
no-name-given bliinds-model 1\nname\n
range bliinds-model 1\nrange 1 0\n
direction bliinds-model 1\ndirection up\n
no-name bliinds-model 1\nend\n
no-range bliinds-model 1\nname a\nend\n
no-direction bliinds-model 1\nname a\nrange 0 1\nend\n
large-weight HEADconstant 0\nweight L1.zeta100 1e308\nend\n
END
    printf '%s\nconstant 1\nweight coded.step 1\nend\n%s\nconstant 1\nweight L1.ori10 1\nend\n' \
        "${head_lines}" "${head_lines}" | sed '0,/range/s/100/99/' | model_error other-range
    printf 'bliinds-model 1\nname %065d\n' 0 | model_error long-name
    { echo "${head_lines}"; yes unit 1 1 | head -n 17; }            | model_error units
    { echo "${head_lines}"; head -c 1100000 /dev/zero; }            | model_error zeros
    for name in ${tmp}/none ${tmp} vmaf1_est53; do
        fails -i ${pictures}/rose_70x46.pgm -vf bliinds=model=${name} ${to_null}
    done
}

# Scores of models computed by hand: L1.zeta100 of the picture is 1.4074018091, L1.zeta10 is
# 2.4544873 and L1.ori10 is 0.3848570411.
models(){
    printf '%s\nweight L1.zeta100 10 \r\n\t# text\nconstant -4\nsigma 3\nend\n\n' "${head_lines}" > ${tmp}/linear
    model step "constant 7.5" "weight L3.ori10 0" "step 2"
    model half "constant 7" "weight L3.ori10 0" "step 2"
    model less "constant 6.9" "weight L3.ori10 0" "step 2"
    model above "constant 107" "weight L3.ori10 0" "predicts a b" "licence c" "sigma_p80 4"
    model below "constant -107" "weight L3.ori10 0"
    # a model after a UTF-8 byte order mark, without a final newline
    printf '\357\273\277%s\nconstant 5\nweight L3.ori10 0\nend' "${head_lines}" > ${tmp}/utf-8
    for model in linear step half less above below utf-8; do
        basis_of ${model} ${model} ""
    done
}

# Print metadata filters that attach keys of quantizer_metadata.
keys(){ # key=value...
    for pair; do
        printf 'metadata=add:key=lavc.quantizer.%s:value=%s,' ${pair%=*} ${pair#*=}
    done
}

# Frames that need band energies only, mixed with frames that need all statistics, have the same
# energies, to 1e-9, and flat blocks as with features=1, which computes all statistics.
bands(){
    for name in L1.band1 L1.band2 L1.band3 L2.band1 L2.band2 L2.band3 L3.band1 L3.band2 L3.band3 \
                L1.phase1 L1.phase2 L1.phase3; do
        set -- "$@" "weight ${name} $(($# + 1))e3"
    done
    model pixels "constant 0" "weight phase.zeta 1e6"
    model bitstream "constant 0" "weight coded.step 1" "$@"
    cat ${tmp}/pixels ${tmp}/bitstream > ${tmp}/model
    known=$(keys gop_step=2 gop_intra_bytes=999 width=64 height=64 codec=hevc |
        sed "s/,/:enable='lt(mod(n\\\\,7)\\\\,4)',/g")
    for size in 70x46 16x9 4x4 96x48 97x49 321x243 520x130; do
        for format in yuv420p p010le; do
            # most of every other frame is flat
            ffmpeg -lavfi "testsrc2=s=${size}:r=10:d=1.1,noise=alls=9:allf=t,\
drawbox=0:ih/8:iw:ih:gray:fill:enable='mod(n\,2)',${exact},format=${format},${known}split[a][b];\
[a]${bliinds}:model=${tmp}/model:f=${tmp}/a[x];[b]${bliinds}:model=${tmp}/model:features=1:f=${tmp}/b[y]" \
                -map [x] ${to_null} -map [y] ${to_null}
            for log in a b; do
                tr ' ' '\n' < ${tmp}/${log} | grep -E '^(n|raw|valid|basis):' > ${tmp}/${log}.lines
            done
            same "${size} ${format}, $(grep -c basis:1 ${tmp}/a.lines) of $(wc -l < ${tmp}/a) frames by the bands, \
$(grep -c valid:1 ${tmp}/a.lines) valid, $(grep raw ${tmp}/a.lines | sort -u | wc -l) values" ${tmp}/a.lines ${tmp}/b.lines
        done
    done
}

# Print the metadata of a frame with keys of quantizer_metadata, scored by a model.
basis_of(){ # name model options keys...
    name=$1 model=$2 options=$3
    shift 3
    ffmpeg -i ${pictures}/rose_70x46.pgm \
        -vf ${gray}$(keys "$@" codec=h264)${bliinds}:model=${tmp}/${model}${options},${print} ${to_null} |
        sed -n "s/^lavfi.bliinds./${name}: /p"
}

# Check the selection of the model and the coded features. The frame is twice as wide and high as
# the coded size, with 8 bits per sample: coded.intra is 3, coded.scale is 1. The score is
# 1 + 4 * 1.5 - 2 * 3 + 5 = 6, sigma 5 * exp(0.1 * 1.5 + 0.01 * 6).
basis(){
    all="gop_step=1.5 gop_intra_bytes=805 width=35 height=23"
    model pixels "constant 10" "weight L3.ori10 0" "sigma 3"
    model bitstream "constant 1" "weight coded.step 4" "weight coded.intra -2" "weight coded.scale 5" \
        "sigma 5" "sigma_weight coded.step 0.1" "sigma_weight score 0.01"
    { cat ${tmp}/pixels; printf '\n# both\n'; cat ${tmp}/bitstream; echo; } > ${tmp}/both
    basis_of known     both      ""               ${all}
    basis_of turned    both      ""               gop_step=1.5 gop_intra_bytes=805 width=23 height=35
    basis_of cropped   both      ""               gop_step=1.5 gop_intra_bytes=1610 width=35 height=46
    basis_of shown     both      :shown_height=92 ${all}
    # coded.scale is clipped to 0 to 2, the range of the training
    basis_of shown-more both     :shown_height=736 ${all}
    basis_of shown-less both     :shown_height=10 ${all}
    basis_of scaled-down both    ""               gop_step=1.5 gop_intra_bytes=805 width=140 height=92
    basis_of none      both      ""
    basis_of no-step   both      ""               gop_intra_bytes=805 width=35 height=23
    basis_of no-number both      ""               gop_step=1.5x gop_intra_bytes=805 width=35 height=23
    basis_of nan       both      ""               gop_step=nan gop_intra_bytes=805 width=35 height=23
    basis_of no-bytes  both      ""               gop_step=1.5 gop_intra_bytes=0 width=35 height=23
    basis_of no-height both      ""               gop_step=1.5 gop_intra_bytes=805 width=35 height=0
    basis_of no-intra  both      ""               gop_step=1.5 width=35 height=23
    basis_of pixels    pixels    ""               ${all}
    basis_of bitstream bitstream ""               ${all}
    basis_of unknown   bitstream ""
    # quantizer_metadata omits the key chroma if it is 0
    model chroma "constant 1" "weight coded.chroma 4"
    basis_of chroma           chroma ""          ${all} chroma=-0.25
    basis_of chroma-none      chroma ""          ${all}
    basis_of chroma-no-number both   ""          ${all} chroma=0.5x
    # 1 + 1.5 + 4 * 3 / (1 + 3) - 5 * 4 / (1 + 4): z is 2 * 1.5, and 2 - 2 * 3, plus 5 for HEVC
    model units "constant 1" "weight coded.step 1" "unit 4 0 coded.step 2" \
        "unit 5 2 coded.intra -2 coded.hevc 5"
    basis_of units        units    ""            ${all}
    basis_of units-hevc   units    ""            ${all} codec=hevc
    basis_of units-none   units    ""
    # a statistic used by a unit only: 1.4074018091 / 2.4074018091
    model deep "constant 1" "weight coded.step 0" "unit 10 0 L1.zeta100 1 coded.step 1e-12"
    basis_of unit-of-statistics deep ""          ${all}
    # a flat frame, 49 of 65 rows of blocks, is scored by the flat model, unless it is blank or was
    # scaled up: 3 + 2 * 1.5
    model flat "frames flat" "constant 3" "weight coded.step 2"
    cat ${tmp}/both ${tmp}/flat > ${tmp}/three
    whole="gop_step=1.5 gop_intra_bytes=3220 width=70 height=46"
    basis_of not-flat  three     ""               ${whole}
    basis_of no-other  flat      ""               ${whole}
    bright=${gray} gray=pad=70:193,${gray} whole="gop_step=1.5 gop_intra_bytes=13510 width=70 height=193"
    for model in three both; do
        basis_of flat         ${model} ""         ${whole}
        basis_of flat-scaled  ${model} ""         ${all}
        basis_of flat-unknown ${model} ""
    done
    gray=lut=0,${gray}
    basis_of blank     three     ""               ${whole}
    gray=${bright}
    # 100 / (1 + exp(-6))
    sed 's/^direction/link logistic\n&/' ${tmp}/bitstream > ${tmp}/logistic
    basis_of logistic  logistic  ""               ${all}
    model codecs "constant 1" "weight coded.hevc 2" "weight coded.av1 3" "weight coded.vp9 4" \
        "weight coded.mpeg2 5" "weight coded.mpeg4 6" "weight coded.mjpeg 7"
    for codec in h264 hevc av1 vp9 mpeg2video mpeg1video mpeg4 mjpeg; do
        basis_of ${codec} codecs "" ${all} codec=${codec} | grep score
    done
    # an unsupported codec is not scored as H.264
    basis_of vvc both "" ${all} codec=vvc
    ffmpeg -v info -i ${pictures}/rose_70x46.pgm \
        -vf ${gray}loop=4:1,$(keys ${all} codec=h264 | sed "s/,/:enable='gte(n,2)',/g")${bliinds}:model=${tmp}/both ${to_null} 2>&1 |
        sed -n 's/.*BLIINDS mean/BLIINDS mean/p'
}

# Compare the scores of the built-in model with another implementation.
default_model(){
    tail -n +2 ${pictures}/scores.csv | while IFS=, read -r picture rest; do
        ffmpeg -i ${pictures}/${picture}.pgm -vf ${gray}${bliinds},${print} ${to_null} |
            agree ${pictures}/scores.csv ${picture} 1e-4 1e-3 | sed "s/^/${picture}: /"
    done
}

# Frames without quantizer_metadata get features and sigma by default, but no score, and a warning.
# All reported values equal those with the built-in model named by the option model.
no_bitstream(){
    need jq || return 0
    coded=$(keys gop_step=1.5 gop_intra_bytes=805 width=35 height=23 codec=h264 | sed "s/,/:enable='gte(n,2)',/g")
    for coded in "${coded}" ""; do
        heard ffmpeg -i ${pictures}/rose_70x46.pgm -lavfi "${gray}loop=3:1,${coded}split[a][b];\
[a]${bliinds%=model*}=f=${tmp}/default:log_path=${tmp}/log,${print}[x];[b]${bliinds}:features=1:f=${tmp}/named[y]" \
            -map [x] ${to_null} -map [y] ${to_null} > ${tmp}/metadata
        messages < ${tmp}/err
        sed 's/:-*[0-9][0-9.]*//g' ${tmp}/default
        awk '/^frame/ { n++ } /\.(score|raw|sigma|L[123].*)=/ { nb[n]++ } END { print nb[1], nb[2], nb[3], nb[4] }' ${tmp}/metadata
        # jq 1.7 keeps the zeros at the end of a number, 1.6 does not
        jq -c '.frames[0].metrics.score, .pooled_metrics.score.mean, (.pooled_metrics | length)' ${tmp}/log |
            sed '/\./s/0*$//'
        for log in default named; do
            awk '/basis:0/ { sub("score.* sigma", "sigma") } { print $1, $2, $3, $4, $5, $6, $7, $8, /basis:0/ ? $30 : "" }' ${tmp}/${log} > ${tmp}/${log}.cut
        done
        same "values" ${tmp}/default.cut ${tmp}/named.cut
    done
}

# ---- side data ----

# Print the fields of the side data in the output of showinfo: version, flags, score, raw, sigma,
# length of the model name, model name.
payloads(){
    sed -n '/UUID=/{s/.*UUID=//;s/-//g;N;s/\n.*User Data=//;s/^3c0e4a9b6f524d179a41d8275be360f4//p}' | tr a-f A-F | while read -r payload; do
        echo ${payload} | basenc --base16 -d > ${tmp}/payload
        echo $(od -An -N2 -tu1 ${tmp}/payload) $(od -An -j2 -N12 -tf4 --endian=big ${tmp}/payload) \
             $(od -An -j14 -N1 -tu1 ${tmp}/payload) $(tail -c +16 ${tmp}/payload)
    done
}

# The side data survives encoding and decoding.
sei(){ # encoder format options
    model model "constant 1" "weight L1.zeta100 20" "sigma 2.5"
    source="testsrc2=s=96x80:d=0.4,format=yuv420p,drawbox=c=black:t=fill:enable=eq(n\\,5)"
    ffmpeg -lavfi ${source},${bliinds}:model=${tmp}/model:f=${tmp}/stats${download} -c:v $1 $3 -udu_sei 1 -f $2 -y ${tmp}/video || return
    ffmpeg -i ${tmp}/video -vf showinfo ${to_null} 2>&1 | payloads > ${tmp}/got
    # equal up to rounding to single precision
    v=':\([^ ]*\)'
    sed "s/.* score${v} raw${v} sigma${v} .*valid${v}.*/2 \4 \1 \2 \3 4 test/" ${tmp}/stats |
        paste -d' ' - ${tmp}/got | awk '
        function far(a, b) { return a !~ /^-?[0-9.]+$/ || (a - b) ^ 2 > (2e-7 * a + 1e-6) ^ 2 }
        { for (i = 1; i <= 7; i++) if ($i != $(i + 7) && far($i, $(i + 7))) print }
        END { print NR " payloads" }'
    sort -u ${tmp}/got | wc -l
    # the side data of a second score replaces the first
    ffmpeg -i ${tmp}/video -vf ${bliinds}${download},showinfo ${to_null} 2>&1 | payloads |
        cut -d' ' -f7 | sort | uniq -c
    ffmpeg -lavfi ${source},${bliinds}:side_data=0${download},showinfo ${to_null} 2>&1 | payloads | wc -l
}
