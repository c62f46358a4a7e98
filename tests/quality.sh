# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the video quality filters, for CMD in tests/fate/quality.mak: they
# run inside of fate-run.sh, with its functions and variables.
# SPDX-License-Identifier: LGPL-2.1-or-later

pictures=${base}/oracle
tmp=${outdir}/${test}.tmp
print=metadata=print:file=-
to_null="-f null /dev/null"

# What is tested, and what comes before it for gray input and after it for other
# filters: see on_cuda.
bliinds=bliinds
parsed=bliinds
gray=
download=
gray_download=
device=

rm -rf ${tmp} ${outdir}/${test}.skipped
mkdir -p ${tmp}
# shellcheck disable=SC2064
test "${keep}" -gt 0 || trap "rm -rf ${tmp}" EXIT

# What cannot run passes, but it says so on the terminal, and is listed: make fate-quality
# and make check count it.
skip(){
    skipped ${test} "$*"
    if test -e "${ref}"; then cat "${ref}"; else echo "${ref}"; fi
}

# What this FFmpeg does not have is left out of a test, and of its reference.
leave_out(){ # format [why]
    skipped "${test}, $1" "${2:-not in this FFmpeg}"
    sed "/^$1[:, ]/d" ${ref} > ${tmp}/left
    mv ${tmp}/left ${tmp}/ref
    ref=${tmp}/ref
}

skipped(){ # what why
    echo "$1: $2" >> ${outdir}/${test}.skipped
    echo "SKIPPED $1: $2" >&3
}

need(){
    for tool; do
        command -v ${tool} > /dev/null || { skip "no ${tool}"; return 1; }
    done
}

# The same test of the GPU's filter, on a GPU. There are no gray CUDA frames.
on_cuda(){ # test
    if ! run ffmpeg${PROGSUF}${EXECSUF} -nostdin -v error -init_hw_device cuda -version \
            > ${tmp}/probe 2>&1; then
        skip "no usable CUDA device: $(sed -n '1s/^\[[^]]*\] *//p' ${tmp}/probe)"
        return 0
    fi
    test -n "${target_exec}" || ! command -v timeout > /dev/null || target_exec="timeout 120"
    bliinds=hwupload_cuda,bliinds_cuda
    gray=scale=in_range=full:out_range=full,format=yuv444p,
    download=,hwdownload,format=yuv420p
    gray_download=,hwdownload,format=yuv444p
    "$@"
}

# What the filter says in the log of a command.
messages(){
    sed -n "s/^\[Parsed_${parsed}[^]]*\] //p" | grep -v '^Failed to configure'
}

# The same, of a command that has to fail.
fails(){
    ffmpeg "$@" > ${tmp}/out 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    messages < ${tmp}/err
    test -s ${tmp}/err || echo "and no message"
    # ffmpeg exits with an error number; signals are in this range, too
    case ${status} in
    0)       echo "but no failure" ;;
    13[2-9]) echo "and a crash: ${status}" ;;
    esac
}

same(){ # name file file
    if ! test -s $2; then
        echo "$1: nothing to compare with"
    elif cmp -s $2 $3; then
        echo "$1: same"
    else
        echo "$1: differs"
        diff $2 $3 >&2 || true
    fi
}

# The same but for what single precision rounds.
near(){ # name file file
    if paste -d' ' $2 $3 | awk -F'[ :]' '{
            if (NF % 2)
                exit 1
            for (i = 1; i <= NF / 2; i++) {
                a = $i; b = $(i + NF / 2); d = a - b
                if (a != b && (a !~ /^-?[0-9.]+$/ || (d < 0 ? -d : d) > 2e-7 * (a < 0 ? -a : a) + 1e-6))
                    exit 1
            }
        }' && test -s $2 && test -s $3; then
        echo "$1: same"
    else
        echo "$1: differs"
        diff $2 $3 >&2 || true
    fi
}

# Compares metadata on stdin with the 24 features of a picture in a table, whose
# rows have a filter too if one is given. The tolerance is relative, and absolute
# for what is a difference of rounding units. In the few blocks of a crop one
# block may get the next shape, 0.001 away.
agree(){ # table picture [filter]
    awk -F, -v table=$1 -v picture=$2 -v filter=$3 '
        function blocks(n) { return int((n + 2) / 3) }
        BEGIN {
            getline line < table
            fields = split(line, name, ",")
            while ((getline line < table) > 0) {
                split(line, value, ",")
                if (value[1] == picture && (filter == "" || value[2] == filter))
                    for (i = 3; i <= fields; i++) {
                        sub(/_/, ".", name[i])
                        if (name[i] ~ /^L[123]\./)
                            expected[name[i]] = value[i]
                    }
            }
            split(filter, size, /[=:]/)
            for (level = 1; level <= 3 && size[1] == "crop"; level++) {
                n = blocks(int(size[2] / 2 ^ (level - 1))) * blocks(int(size[3] / 2 ^ (level - 1)))
                slack["L" level ".gamma100"] = .001 / n
                slack["L" level ".gamma10"]  = .001 / int((n + 9) / 10)
            }
        }
        /^lavfi\.bliinds\.L[123]\.(zeta|gamma|sub|ori)/ {
            split(substr($0, 15), pair, "=")
            got[pair[1]] = pair[2]
        }
        END {
            for (i in expected) {
                difference = got[i] - expected[i]
                if (difference < 0)
                    difference = -difference
                limit = 1e-5 * expected[i] + 1e-8 + slack[i]
                if (i in got && difference <= limit)
                    good++
                else
                    printf("%s is %s and not %s\n", i, got[i], expected[i])
            }
            print good + 0 " features agree"
        }'
}

# Samples of a picture as bytes, or shifted up as 16 bits in little endian. p is
# the sample before, the first itself at the first.
samples(){ # expression-of-v-and-p
    tail -c 3220 ${pictures}/rose_70x46.pgm | od -An -v -tu1 |
        awk "{ for (i = 1; i <= NF; i++) { v = \$i; if (!n++) p = v; printf(\"\\\\%03o\", $1); p = v } }" > ${tmp}/octal
    # shellcheck disable=SC2059
    printf "$(cat ${tmp}/octal)"
}

samples16(){ # expression-of-v
    tail -c 3220 ${pictures}/rose_70x46.pgm | od -An -v -tu1 |
        awk "{ for (i = 1; i <= NF; i++) { v = \$i; v = int($1);
               printf(\"\\\\%03o\\\\%03o\", v % 256, int(v / 256)) } }" > ${tmp}/octal
    # shellcheck disable=SC2059
    printf "$(cat ${tmp}/octal)"
}

# Metadata of a frame of raw luma in a pixel format; chroma is the same again.
raw_values(){ # file format width height filters
    cat $1 $1 $1 > ${tmp}/planes
    ffmpeg ${device} -f rawvideo -pix_fmt $2 -video_size $3x$4 -t 0.04 -i ${tmp}/planes \
        -vf $5,${print} ${to_null}
}

# ---- numbers ----

oracle(){ # picture
    ffmpeg -i ${pictures}/$1.pgm -vf ${gray}${bliinds}=features=1,${print} ${to_null} |
        agree ${pictures}/features.csv $1
}

# More pictures, where this project is developed: ORACLE, or beside the repository.
find_oracle(){
    oracle=${ORACLE:-$(dirname $(readlink -f ${base}/quality.sh))/../../shared/oracle}
    test -f ${oracle}/bliinds/features.csv || { skip "no more pictures: name a folder of them with ORACLE"; return 1; }
}

oracle_all(){
    find_oracle || return 0
    tail -n +2 ${oracle}/bliinds/features.csv | while IFS=, read -r picture width height rest; do
        if test ${width} -lt 4 || test ${height} -lt 4; then
            fails -i ${oracle}/bliinds/${picture}.pgm -vf bliinds ${to_null} | grep -q "cannot be scored" ||
                echo "${picture} is too small"
        else
            ffmpeg -i ${oracle}/bliinds/${picture}.pgm -vf bliinds=features=1,${print} ${to_null} |
                agree ${oracle}/bliinds/features.csv ${picture} | sed "s/^/${picture}: /"
        fi
    done > ${tmp}/agree
    grep -v ': 24 features agree$' ${tmp}/agree
    grep -q agree ${tmp}/agree && echo "all features agree"
}

# The parameters of the published release as a model: the mean of 24 features
# and of the target, which it reports less 1, and the inverse covariance.
release_model(){ # parameters
    awk '/^#/ || NF < 25 { next }
        !n++ {
            print "bliinds-model 1\nname release\ndirection lower\nrange 0 99\nstep 0.5"
            split("zeta100 zeta10 gamma100 gamma10 sub100 sub10 ori100 ori10", s, " ")
            for (i = 0; i < 24; i++)
                name[i + 1] = "L" int(i / 8) + 1 "." s[i % 8 + 1]
            name[25] = "target"
            for (i = 1; i <= 25; i++)
                printf("mean %s %.17g\n", name[i], i == 25 ? $i - 1 : $i)
            next
        }
        { print "precision", name[n - 1], $0 }
        END { print "end" }' $1
}

oracle_scores(){
    find_oracle || return 0
    parameters=${oracle}/../model/live-release.txt
    model=${MODEL:-${tmp}/release}
    if test -z "${MODEL}"; then
        test -f ${parameters} || { skip "no parameters of the published release: name a model of them with MODEL"; return 0; }
        release_model ${parameters} > ${model}
    fi
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "score") column = i; next }
             $column != "NaN" { print $1, $column }' ${oracle}/bliinds/features.csv > ${tmp}/scores
    while read -r picture score; do
        ffmpeg -i ${oracle}/bliinds/${picture}.pgm -vf bliinds=model=${model},${print} ${to_null} |
            awk -F= -v picture=${picture} -v score=${score} '
                $1 == "lavfi.bliinds.score" && $2 == score { good = 1 }
                END { if (!good) print picture ": another score" }'
    done < ${tmp}/scores
    test -s ${tmp}/scores && echo "all scores agree"
}

check_assembly(){ # test
    run tests/checkasm/checkasm${EXECSUF} --test=$1 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    ! grep -q 'no tests to perform' ${tmp}/err || skip "there is no assembly for this processor"
    return ${status}
}

# ---- content ----

sizes(){
    tail -n +2 ${pictures}/crops.csv | cut -d, -f1,2 | while IFS=, read -r picture filter; do
        ffmpeg -i ${pictures}/${picture}.pgm -vf ${filter},${gray}${bliinds}=features=1,${print} ${to_null} |
            agree ${pictures}/crops.csv ${picture} ${filter} | sed "s/^/${filter} /"
    done
    # the smallest picture has blocks that are clear of the grid, and others
    ffmpeg -i ${pictures}/chelsea_451x300.pgm -vf crop=4:4:100:100,${gray}${bliinds}=features=1,${print} ${to_null} |
        grep -c 'phase.*=-*[0-9]'
    for size in 3:3 3:64 64:3 1:1; do
        fails -i ${pictures}/chelsea_451x300.pgm -vf crop=${size}:0:0,${gray}${bliinds} ${to_null}
    done
    fails -lavfi color=s=16388x4,format=gray,${gray}${bliinds} ${to_null}
}

# The picture as luma of a format, in a file; 0 stands for the highest bits.
raw_luma(){ # format shift
    test $2 -gt 0 || set -- $1 8
    case $1 in
    *le) test -f ${tmp}/16.$2 || samples16 "v * 2 ^ $2" > ${tmp}/16.$2
         raw=${tmp}/16.$2 ;;
    *)   test -f ${tmp}/8 || samples v > ${tmp}/8
         raw=${tmp}/8 ;;
    esac
}

# Whether FFmpeg has a pixel format: these are not in all releases.
knows(){ # format
    case $1 in
    *msble) ;;
    *)      return 0 ;;
    esac
    run ffmpeg${PROGSUF}${EXECSUF} -v quiet -pix_fmts | grep -q " $1 " || {
        leave_out $1
        return 1
    }
}

formats(){
    samples v > ${tmp}/8
    raw_values ${tmp}/8 gray 70 46 bliinds=features=1:range=full > ${tmp}/expected
    agree ${pictures}/features.csv rose_70x46 < ${tmp}/expected
    for format in gray:8 yuv410p:8 yuv411p:8 yuv420p:8 yuv422p:8 yuv440p:8 yuv444p:8 \
                  yuvj411p:8 yuvj420p:8 yuvj422p:8 yuvj440p:8 yuvj444p:8 \
                  nv12:8 nv21:8 nv16:8 nv24:8 nv42:8 \
                  gray9le:1 gray10le:2 gray12le:4 gray14le:6 gray16le:0 \
                  yuv420p9le:1 yuv422p9le:1 yuv444p9le:1 \
                  yuv420p10le:2 yuv422p10le:2 yuv440p10le:2 yuv444p10le:2 \
                  yuv420p12le:4 yuv422p12le:4 yuv440p12le:4 yuv444p12le:4 \
                  yuv420p14le:6 yuv422p14le:6 yuv444p14le:6 \
                  yuv420p16le:0 yuv422p16le:0 yuv444p16le:0 \
                  p010le:0 p012le:0 p016le:0 p210le:0 p212le:0 p216le:0 p410le:0 p412le:0 p416le:0 \
                  yuv444p10msble:0 yuv444p12msble:0; do
        shift=${format#*:}
        format=${format%:*}
        knows ${format} || continue
        raw_luma ${format} ${shift}
        raw_values ${raw} ${format} 70 46 bliinds=features=1:range=full > ${tmp}/got
        same ${format} ${tmp}/expected ${tmp}/got
    done
    samples16 "v * 4 + (v % 60 + 1) * 1024" > ${tmp}/beyond
    raw_values ${tmp}/beyond gray10le 70 46 bliinds=features=1:range=full > ${tmp}/got
    same "bits beyond the depth" ${tmp}/expected ${tmp}/got
    for format in rgb24 gbrp monow; do
        raw_values ${tmp}/8 ${format} 32 32 bliinds || echo "${format}: refused"
    done
}

compare_ranges(){
    samples "int(v / 2)"             > ${tmp}/full
    samples "int(v / 2) + 16"        > ${tmp}/limited
    samples16 "int(v / 2) * 4"       > ${tmp}/full.10
    samples16 "(int(v / 2) + 16) * 4" > ${tmp}/limited.10
    samples16 "(int(v / 2) + 16) * 256" > ${tmp}/limited.msb
    raw_values ${tmp}/full gray 70 46 bliinds=features=1 > ${tmp}/expected
    while read -r file format filters; do
        raw_values ${tmp}/${file} ${format} 70 46 ${filters} > ${tmp}/got
        same "${file} ${format} ${filters}" ${tmp}/expected ${tmp}/got
    done
}

ranges(){
    compare_ranges << EOF
full        gray        bliinds=features=1
full        yuvj420p    bliinds=features=1
full        yuv420p     bliinds=features=1:range=full
full        yuv420p     bliinds=features=1:range=pc
full        yuv420p     setrange=full,bliinds=features=1
full.10     gray10le    bliinds=features=1
full.10     yuv420p10le bliinds=features=1:range=full
limited     yuv420p     bliinds=features=1
limited     nv12        bliinds=features=1:range=auto
limited     yuv420p     setrange=limited,bliinds=features=1
limited     gray        bliinds=features=1:range=limited
limited     gray        setrange=limited,bliinds=features=1
limited     yuv420p     setrange=full,bliinds=features=1:range=tv
limited.10  yuv420p10le bliinds=features=1
limited.msb p010le      bliinds=features=1
limited.msb p016le      bliinds=features=1
full        yuv420p     bliinds=features=1
limited     gray        bliinds=features=1
EOF
}

# Bars of black change what is measured, but not whether black is 0 or 16.
letterbox(){
    samples "int(v / 2)" > ${tmp}/a
    { head -c 1400 /dev/zero; cat ${tmp}/a; head -c 980 /dev/zero; } > ${tmp}/full
    samples "int(v / 2) + 16" > ${tmp}/b
    head -c 1400 /dev/zero | tr '\000' '\020' > ${tmp}/bar
    { cat ${tmp}/bar ${tmp}/b; head -c 980 ${tmp}/bar; } > ${tmp}/limited
    raw_values ${tmp}/full gray 70 80 ${gray}${bliinds}=features=1 > ${tmp}/expected
    agree ${pictures}/letterbox.csv rose_70x46 < ${tmp}/expected
    raw_values ${tmp}/limited yuv420p 70 80 ${bliinds}=features=1 > ${tmp}/got
    same "limited range" ${tmp}/expected ${tmp}/got
}

valid(){ # of one frame
    awk -F= -v name="$1" '$1 == "lavfi.bliinds.valid" { print name ": " $2 }'
}

validity(){
    for color in black white gray; do
        ffmpeg -lavfi color=${color}:s=96x96:d=0.04,format=yuv420p,${bliinds},${print} ${to_null} | valid ${color}
    done
    # level 3 has 3x3 blocks, 5x2 blocks and 4x3 blocks
    for size in 39:36 52:24 40:36; do
        ffmpeg -i ${pictures}/chelsea_451x300.pgm -vf crop=${size}:100:100,${gray}${bliinds},${print} ${to_null} | valid ${size}
    done
    # 16 rows of blocks have content, of 64 and of 65: up to 3/4 may be flat
    samples v > ${tmp}/rose
    for height in 192 193; do
        { cat ${tmp}/rose; head -c $((70 * (height - 46))) /dev/zero; } > ${tmp}/raw
        raw_values ${tmp}/raw gray 70 ${height} ${gray}${bliinds} | valid "rose and black, ${height} rows"
    done
    # a frame that is not valid is logged, but not pooled
    { cat ${tmp}/rose; head -c 3220 /dev/zero; cat ${tmp}/rose; } > ${tmp}/raw
    ffmpeg -f rawvideo -pix_fmt gray -video_size 70x46 -i ${tmp}/raw \
        -vf ${gray}${bliinds}=log_path=${tmp}/log:log_fmt=csv:stats_file=${tmp}/stats ${to_null} 2> ${tmp}/err
    cat ${tmp}/err >&2
    cut -d, -f1,6 ${tmp}/log
    grep -c 'valid:0' ${tmp}/stats
    awk -F, 'NR == 2 { score = $2 } NR == 4 { again = $2 } END { print (score == again ? "same" : "another") " score" }' ${tmp}/log
    score=$(awk -F, 'NR == 2 { print $2 }' ${tmp}/log)
    messages < ${tmp}/err | sed "s/${score}/SCORE/g"
}

threads(){
    for size in 321x243 70x46 4x4; do
        for n in 1 2 7 0; do
            ffmpeg -filter_complex_threads ${n} \
                -lavfi testsrc2=s=${size}:d=0.12,format=yuv420p,bliinds=features=1:stats_file=${tmp}/stats,${print} \
                ${to_null} > ${tmp}/${n}
            cat ${tmp}/stats >> ${tmp}/${n}
            same "$(grep -c 'score=' ${tmp}/${n}) frames of ${size}, ${n} threads" ${tmp}/1 ${tmp}/${n}
        done
    done
}

# ---- frames ----

scored_frames(){
    awk '/^frame:/ { n = $1 } /^lavfi.bliinds.score=/ { printf("%s ", n) } END { print "" }'
}

which_frames(){
    source=testsrc2=s=64x64:d=0.4,format=yuv420p
    ffmpeg -lavfi ${source},${bliinds}=n_subsample=3:stats_file=${tmp}/stats,${print} ${to_null} | scored_frames
    sed 's/ score:.*//' ${tmp}/stats
    ffmpeg -lavfi "${source},${bliinds}=enable='between(n,2,4)':stats_file=${tmp}/stats,${print}" ${to_null} | scored_frames
    sed 's/ score:.*//' ${tmp}/stats
    ffmpeg -lavfi "${source},${bliinds}=n_subsample=3:enable='gte(n,4)',${print}" ${to_null} | scored_frames
    # of every eight one, and as many at each place
    ffmpeg -lavfi testsrc2=s=16x16:r=100:d=40,format=yuv420p,${bliinds}=n_subsample=8:f=${tmp}/stats ${to_null}
    sed 's/n:\([0-9]*\).*/\1/' ${tmp}/stats | awk '
        { run = int(($1 - 1) / 8); if (run != NR - 1) wrong++; nb[($1 - 1) % 8]++ }
        END {
            for (i = 0; i < 8; i++)
                if (nb[i] < NR / 8 - 4 * sqrt(NR / 8) || nb[i] > NR / 8 + 4 * sqrt(NR / 8))
                    wrong++
            print NR " frames of 4000, " wrong + 0 " wrong"
        }'
    head -n 8 ${tmp}/stats | sed 's/ .*//' | xargs
}

# Every frame comes out, in order, with its pixels and time.
passthrough(){
    for format in yuv420p gray yuv444p10le; do
        source=testsrc2=s=175x99:d=0.4,format=yuv420p,scale,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -filter_complex_threads 3 -lavfi ${source},bliinds=n_subsample=2 > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

resize(){
    for i in 1:rose_70x46 2:camera_crop_16x9 3:rose_70x46 4:camera_crop_300x240; do
        cp ${pictures}/${i#*:}.pgm ${tmp}/${i%:*}.pgm
        ffmpeg -i ${tmp}/${i%:*}.pgm -vf bliinds=features=1,${print} ${to_null} | grep -v '^frame'
    done > ${tmp}/expected
    ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds=features=1:log_path=${tmp}/log,${print} ${to_null} \
        > ${tmp}/out 2> ${tmp}/err
    cat ${tmp}/err >&2
    grep -v '^frame' ${tmp}/out > ${tmp}/got
    same "one graph" ${tmp}/expected ${tmp}/got
    messages < ${tmp}/err | sed 's/[0-9]*\.[0-9]*/N/g'
    ffmpeg -i ${tmp}/%d.pgm -vf bliinds=features=1,${print} ${to_null} > ${tmp}/out
    grep -v '^frame' ${tmp}/out > ${tmp}/got
    same "a graph for each size" ${tmp}/expected ${tmp}/got
    # the same picture in 16 bits, then in 8, and with more rows
    printf 'P5\n70 46\n65535\n' > ${tmp}/1.pgm
    samples16 v >> ${tmp}/1.pgm
    cp ${pictures}/rose_70x46.pgm ${tmp}/2.pgm
    { printf 'P5\n70 246\n255\n'; samples v; head -c 14000 /dev/zero; } > ${tmp}/3.pgm
    cp ${tmp}/2.pgm ${tmp}/4.pgm
    for i in 2 2 3 4; do
        ffmpeg -i ${tmp}/${i}.pgm -vf bliinds=features=1,${print} ${to_null} | grep -v '^frame'
    done > ${tmp}/expected
    ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds=features=1,${print} ${to_null} | grep -v '^frame' > ${tmp}/got
    same "another depth and height" ${tmp}/expected ${tmp}/got
    cp ${pictures}/camera_crop_16x9.pgm ${tmp}/1.pgm
    printf 'P5\n3 3\n255\n123456789' > ${tmp}/2.pgm
    fails -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds ${to_null} | grep 3x3
}

# Frames of a stream whose size changes twice, for which ffmpeg rebuilds the graph.
sizes_of_a_stream(){
    first=1
    for i in 70x46:20 96x64:25 64x48:20; do
        ffmpeg -lavfi testsrc2=s=${i%:*}:r=25 -frames:v ${i#*:} -start_number ${first} ${tmp}/%d.pgm
        first=$((first + ${i#*:}))
    done
}

# What filters hold when the graph is freed comes out, but not what they add at the end.
rebuild(){
    sizes_of_a_stream
    framecrc -i ${tmp}/%d.pgm -vf null > ${tmp}/null
    for filter in bliinds yadif=deint=interlaced loop=-1:size=100; do
        framecrc -i ${tmp}/%d.pgm -vf ${filter} -frames:v 65 > ${tmp}/got
        same "${filter}, $(grep -vc '^#' ${tmp}/got) frames" ${tmp}/null ${tmp}/got
    done
    for filter in fps=50 reverse; do
        framecrc -i ${tmp}/%d.pgm -vf ${filter} |
            awk -F, -v filter=${filter} '!/^#/ && $3 != n++ { print "gap" } END { print filter ", " n " frames" }'
    done
}

# ---- other filters and tools ----

consumers(){
    picture=${pictures}/rose_70x46.pgm
    ffmpeg -i ${picture} -vf bliinds,${print} ${to_null} > ${tmp}/plain
    ffmpeg -i ${picture} -vf bliinds,${print}:direct=1 ${to_null} > ${tmp}/direct
    same "metadata=print:direct=1" ${tmp}/plain ${tmp}/direct

    run ffprobe${PROGSUF}${EXECSUF} -v error -f lavfi -show_entries frame_tags -of default=nw=1 \
        movie=${picture},bliinds | sed -n 's/^TAG:lavfi.bliinds/lavfi.bliinds/p' | sort > ${tmp}/probe
    grep bliinds ${tmp}/plain | sort > ${tmp}/expected
    same "ffprobe movie=" ${tmp}/expected ${tmp}/probe

    score=$(sed -n 's/^lavfi.bliinds.score=//p' ${tmp}/plain)
    graph=drawgraph=m1=lavfi.bliinds.score:max=100:size=64x100
    framemd5 -i ${picture} -vf bliinds,${graph} > ${tmp}/graph
    framemd5 -i ${picture} -vf metadata=add:key=lavfi.bliinds.score:value=${score},${graph} > ${tmp}/expected
    framemd5 -i ${picture} -vf ${graph} > ${tmp}/empty
    same drawgraph ${tmp}/expected ${tmp}/graph
    same "an empty graph" ${tmp}/empty ${tmp}/graph

    samples v > ${tmp}/rose
    { cat ${tmp}/rose; head -c 3220 /dev/zero; cat ${tmp}/rose; } > ${tmp}/raw
    framemd5 -f rawvideo -pix_fmt gray -video_size 70x46 -i ${tmp}/raw \
        -vf bliinds,metadata=select:key=lavfi.bliinds.valid:value=1:function=equal | grep -c '^0'
}

# ---- models ----

model_error(){ # name; the model is read from stdin
    cat > ${tmp}/$1
    fails -i ${pictures}/rose_70x46.pgm -vf bliinds=model=${tmp}/$1 ${to_null} |
        sed "s,${tmp}/,,"
}

head_lines="bliinds-model 1
name test
direction lower
range 0 100"

# Precision of sqrt(25 * 9) * 1e-4 = 0.0015 and sqrt(9 * 0.25) * 1e-4 = 0.00015.
symmetric(){ # P_01 P_12
    printf '%s\nmean L1.zeta100 1\nmean L1.ori10 1\nmean target 50\n' "${head_lines}"
    printf 'precision target 0 -1 0.25\nprecision L1.zeta100 25 %s 0\nprecision L1.ori10 2 9 %s\nend\n' $1 $2
}

model_errors(){
    model_error empty < /dev/null
    head -c 4000 ${pictures}/rose_70x46.pgm | model_error picture
    echo "bliinds-model 2"                                          | model_error version
    echo "bliinds-model 1junk"                                      | model_error junk
    echo "bliinds-model 1 1"                                        | model_error versions
    echo "bliinds-model"                                            | model_error no-version
    printf '\377\376b\000l\000'                                     | model_error utf-16
    echo "${head_lines}"                                            | model_error truncated
    printf '%s\nconstant 1\nweight L1.zeta100 1\nend' "${head_lines}" | sed '$s/end/en/' | model_error cut
    printf '%s\nconstant 1\nend\n' "${head_lines}"                  | model_error no-weights
    printf '%s\nweight L1.zeta100 1\nend\n' "${head_lines}"         | model_error no-constant
    printf '%s\nconstant one\nend\n' "${head_lines}"                | model_error number
    printf '%s\nconstant nan\nend\n' "${head_lines}"                | model_error nan
    printf '%s\nconstant 1e999\nend\n' "${head_lines}"              | model_error huge
    printf '%s\nconstant\nend\n' "${head_lines}"                    | model_error missing
    printf '%s\nconstant 1 2\nend\n' "${head_lines}"                | model_error two
    printf '%s\nweight L1.zeta 1\nend\n' "${head_lines}"            | model_error feature
    printf '%s\nweight target 1\nend\n' "${head_lines}"             | model_error target
    printf '%s\nweight\nend\n' "${head_lines}"                      | model_error no-feature
    printf '%s\nweight L1.ori10 1\nweight L1.ori10 1\nend\n' "${head_lines}" | model_error duplicate
    printf '%s\nwieght L1.ori10 1\nend\n' "${head_lines}"           | model_error keyword
    printf '%s\nconstant 1\nweight L1.ori10 1\nend\nconstant 1\n' "${head_lines}" | model_error after-end
    printf '%s\nstep 0\n' "${head_lines}"                           | model_error step
    printf '%s\nsigma -1\n' "${head_lines}"                         | model_error sigma
    printf '%s\nlink probit\n' "${head_lines}"                      | model_error link
    printf '%s\nlink logistic\nmean target 1\nprecision target 1\nend\n' "${head_lines}" | model_error joint-link
    printf '%s\nsigma_weight target 1\n' "${head_lines}"            | model_error sigma-of
    printf '%s\nconstant 1\nweight L1.ori10 1\nsigma 1\nsigma_weight distance 1\nend\n' \
        "${head_lines}"                                             | model_error no-distance
    printf '%s\nconstant 1\nweight L1.ori10 1\nend\n%s\nconstant 1\nweight L1.ori10 1\nend\n' \
        "${head_lines}" "${head_lines}"                             | model_error second
    printf '%s\nconstant 1\nweight coded.step 1\nend\n%s\nconstant 1\nweight coded.step 1\nend\n' \
        "${head_lines}" "${head_lines}"                             | model_error second-coded
    printf '%s\nconstant 1\nweight coded.step 1\nend\n%s\nconstant 1\nweight L1.ori10 1\nend\n' \
        "${head_lines}" "${head_lines}" | sed '0,/range/s/100/99/'  | model_error other-range
    printf '%s\nconstant 1\nweight coded.step 1\nend\n%s\n' \
        "${head_lines}" "${head_lines}"                             | model_error cut-second
    printf '%s\npercentile 200 1\n' "${head_lines}"                 | model_error percentile
    printf 'bliinds-model 1\nname a/b\n'                            | model_error name
    printf 'bliinds-model 1\nname\n'                                | model_error no-name-given
    printf 'bliinds-model 1\nname %065d\n' 0                        | model_error long-name
    printf 'bliinds-model 1\nrange 1 0\n'                           | model_error range
    printf 'bliinds-model 1\ndirection up\n'                        | model_error direction
    printf 'bliinds-model 1\nend\n'                                 | model_error no-name
    printf 'bliinds-model 1\nname a\nend\n'                         | model_error no-range
    printf 'bliinds-model 1\nname a\nrange 0 1\nend\n'              | model_error no-direction
    printf '%s\nmean target 1\nmean L1.ori10 1\n' "${head_lines}"   | model_error mean-order
    printf '%s\nmean L1.ori10 1\nmean L1.ori10 1\n' "${head_lines}" | model_error mean-twice
    printf '%s\nprecision L1.ori10 1\n' "${head_lines}"             | model_error no-mean
    printf '%s\nmean L1.ori10 1\nmean target 1\nprecision L1.ori10 1\n' "${head_lines}" | model_error short-row
    printf '%s\nmean L1.ori10 1\nprecision L1.ori10 1\nprecision L1.ori10 1\n' "${head_lines}" | model_error row-twice
    printf '%s\nmean L1.ori10 1\nprecision L1.ori10 1\nmean L1.ori100 1\n' "${head_lines}" | model_error late-mean
    printf '%s\nmean target 1\nend\n' "${head_lines}"               | model_error no-row
    printf '%s\nmean target 1\nprecision target 0\nend\n' "${head_lines}" | model_error singular
    printf '%s\nmean target 1\nprecision target 1\nconstant 1\nend\n' "${head_lines}" | model_error both
    printf '%s\nconstant 0\nweight L1.zeta100 1e308\nend\n' "${head_lines}" | model_error large-weight
    printf '%s\nmean L1.ori10 1\nmean target 1\nprecision target 1e-10 1e-300\nprecision L1.ori10 1 1e-10\nend\n' \
        "${head_lines}"                                             | model_error tiny-precision
    symmetric 3 -1     | model_error asymmetric
    symmetric 2 -1.001 | model_error asymmetric-target
    { echo "${head_lines}"; head -c 1100000 /dev/zero; }            | model_error zeros
    for name in ${tmp}/none ${tmp} vmaf1_est13; do
        fails -i ${pictures}/rose_70x46.pgm -vf bliinds=model=${name} ${to_null} |
            sed "/^\[FILE/d;s,${tmp},folder,;s/: .*:/: WHY:/"
    done
}

model_values(){ # name
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}=model=${tmp}/$1,${print} ${to_null} |
        sed -n "s/^lavfi.bliinds./$1: /p"
}

# By hand: L1.zeta100 of the picture is 1.4074018091, L1.zeta10 is 2.4544873 and
# L1.ori10 is 0.3848570411.
models(){
    printf '%s\nweight L1.zeta100 10 \r\n\t# text\nconstant -4\nsigma 3\nend\n\n' "${head_lines}" > ${tmp}/linear
    printf '%s\nconstant 7.5\nweight L3.ori10 0\nstep 2\nend' "${head_lines}" > ${tmp}/step
    printf '%s\nconstant 7\nweight L3.ori10 0\nstep 2\nend' "${head_lines}" > ${tmp}/half
    printf '%s\nconstant 6.9\nweight L3.ori10 0\nstep 2\nend' "${head_lines}" > ${tmp}/less
    printf '%s\nconstant 107\nweight L3.ori10 0\npredicts a b\nlicence c\npercentile 50 1\nend\n' "${head_lines}" > ${tmp}/above
    printf '%s\nconstant -107\nweight L3.ori10 0\nend\n' "${head_lines}" > ${tmp}/below
    # 50 + 4 (f - 1); sigma 1 / sqrt(0.25); distance |f - 1| sqrt(5 - 1 / 0.25)
    { echo "${head_lines}"
      echo "step 0.5"
      echo "mean L1.zeta100 1"
      echo "mean target 50"
      echo "precision target -1 0.25"
      echo "precision L1.zeta100 5 -1"
      echo "end"; } > ${tmp}/joint
    # sqrt(4 * (2.4544873 - 2)^2), apart from what is predicted
    { echo "${head_lines}"
      echo "constant 1"
      echo "weight L1.zeta100 1"
      echo "mean L1.zeta10 2"
      echo "precision L1.zeta10 4"
      echo "end"; } > ${tmp}/separate
    # 50 + 4 (o - 1); sqrt(25 z^2 + (2.0014 + 2) z o + (9 - 1 / 0.25) o^2), less the
    # means, with a precision that is symmetric within the tolerance; then a model behind
    # the mark of UTF-8, without an end of line
    symmetric 2.0014 -1.00014 > ${tmp}/rounded
    printf '\357\273\277%s\nconstant 5\nweight L3.ori10 0\nend' "${head_lines}" > ${tmp}/utf-8
    for model in linear step half less above below joint separate rounded utf-8; do
        model_values ${model}
    done
}

keys(){ # key=value...
    for pair; do
        printf 'metadata=add:key=lavc.quantizer.%s:value=%s,' ${pair%=*} ${pair#*=}
    done
}

basis_of(){ # name model options keys...
    name=$1 model=$2 options=$3
    shift 3
    ffmpeg -i ${pictures}/rose_70x46.pgm \
        -vf ${gray}$(keys $*)${bliinds}=model=${tmp}/${model}${options},${print} ${to_null} |
        sed -n "s/^lavfi.bliinds./${name}: /p"
}

# The frame is twice as wide and high as what was coded, of 8 bits a sample: coded.intra is 3,
# coded.scale is 1. By hand: 1 + 4 * 1.5 - 2 * 3 + 5 = 6, sigma 5 * exp(0.1 * 1.5 + 0.01 * 6).
basis(){
    all="step=1.5 bytes=805 width=35 height=23 pict_type=I"
    printf '%s\nconstant 10\nweight L3.ori10 0\nsigma 3\nend\n' "${head_lines}" > ${tmp}/pixels
    { echo "${head_lines}"
      echo "constant 1"
      echo "weight coded.step 4"
      echo "weight coded.intra -2"
      echo "weight coded.scale 5"
      echo "sigma 5"
      echo "sigma_weight coded.step 0.1"
      echo "sigma_weight score 0.01"
      echo "end"; } > ${tmp}/bitstream
    { cat ${tmp}/pixels; printf '\n# both\n'; cat ${tmp}/bitstream; echo; } > ${tmp}/both
    basis_of known     both      ""               ${all}
    basis_of turned    both      ""               step=1.5 bytes=805 width=23 height=35 pict_type=I
    basis_of cropped   both      ""               step=1.5 bytes=1610 width=35 height=46 pict_type=I
    basis_of shown     both      :shown_height=92 ${all}
    basis_of none      both      ""
    basis_of no-step   both      ""               bytes=805 width=35 height=23 pict_type=I
    basis_of no-number both      ""               step=1.5x bytes=805 width=35 height=23 pict_type=I
    basis_of nan       both      ""               step=nan bytes=805 width=35 height=23 pict_type=I
    basis_of no-bytes  both      ""               step=1.5 bytes=0 width=35 height=23 pict_type=I
    basis_of no-height both      ""               step=1.5 bytes=805 width=35 height=0 pict_type=I
    basis_of no-intra  both      ""               step=1.5 bytes=805 width=35 height=23 pict_type=P
    basis_of pixels    pixels    ""               ${all}
    basis_of bitstream bitstream ""               ${all}
    basis_of unknown   bitstream ""
    # 100 / (1 + exp(-6))
    sed 's/^direction/link logistic\n&/' ${tmp}/bitstream > ${tmp}/logistic
    basis_of logistic  logistic  ""               ${all}
    for codec in h264 hevc av1 vp9 mpeg2video mpeg1video mpeg4 mjpeg; do
        { echo "${head_lines}"
          echo "constant 1"
          i=1
          for name in hevc av1 vp9 mpeg2 mpeg4 mjpeg; do
              echo "weight coded.${name} $((i += 1))"
          done
          echo "end"; } > ${tmp}/codecs
        basis_of ${codec} codecs "" ${all} codec=${codec} | grep score
    done
    # an I frame of step 1.5, P frames of step 3 and as many bytes, such an I frame: means 1.5, 2.25, 2.5, 3
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf "${gray}loop=3:1,$(keys ${all})metadata=modify:key=lavc.quantizer.step:value=3:enable='gte(n,1)',metadata=modify:key=lavc.quantizer.pict_type:value=P:enable='between(n,1,2)',${bliinds}=model=${tmp}/bitstream,${print}" \
        ${to_null} | sed -n 's/^lavfi.bliinds.score/gop: score/p'
    ffmpeg -v info -i ${pictures}/rose_70x46.pgm \
        -vf ${gray}loop=4:1,$(keys ${all} | sed "s/,/:enable='gte(n,2)',/g")${bliinds}=model=${tmp}/both ${to_null} 2>&1 |
        sed -n 's/.*BLIINDS mean/BLIINDS mean/p'
}

# Where more than half of the frames are outside, a warning says so. By hand: L1.zeta10 of the
# picture is 2.4544873, and so its distance from 2 is 0.9089746.
basis_outside(){
    for i in near:1 far:0.9; do
        printf '%s\nconstant 1\nweight %s 1\nmean L1.zeta10 2\nprecision L1.zeta10 4\npercentile 50 0.1\npercentile 99 %s\npercentile 90 0.2\nend\n' \
            "${head_lines}" L3.ori10 ${i#*:} > ${tmp}/${i%:*}
        sed 's/L3.ori10/coded.step/' ${tmp}/${i%:*} > ${tmp}/${i%:*}.coded
    done
    # 3 of the frames, of 5 or of 6, have keys
    for i in far:near:5 far:near:6 far:near:7 near:far:5 near:far:6 near:near:5; do
        pixels=${i%%:*} frames=${i##*:} bitstream=${i#*:}
        cat ${tmp}/${pixels} ${tmp}/${bitstream%:*}.coded > ${tmp}/both
        ffmpeg -v info -i ${pictures}/rose_70x46.pgm -vf "${gray}loop=$((frames - 1)):1,$(keys step=1.5 bytes=805 width=35 \
            height=23 pict_type=I | sed "s/,/:enable='lt(n,3)',/g")${bliinds}=model=${tmp}/both" ${to_null} 2>&1 |
            sed -n "s/.*] BLIINDS.*\(bitstream:.*\) (.*/${i}: \1/p;s/.*] \([0-9]* of .*\)/${i}: \1/p"
    done
}

# The built-in model's score and distance of pictures, by another implementation.
default_model(){
    tail -n +2 ${pictures}/scores.csv | while IFS=, read -r picture filter raw distance; do
        ffmpeg -i ${pictures}/${picture}.pgm -vf ${gray}${bliinds},${print} ${to_null} |
            awk -F= -v raw=${raw} -v distance=${distance} -v picture=${picture} '
                function near(a, b) { return (a - b) ^ 2 <= (0.001 + 1e-4 * b) ^ 2 }
                $1 == "lavfi.bliinds.raw"      { good += near($2, raw) }
                $1 == "lavfi.bliinds.distance" { good += near($2, distance) }
                $1 == "lavfi.bliinds.score"    { good += near($2, raw < 0 ? 0 : raw > 100 ? 100 : raw) }
                END { print picture ": " (good == 3 ? "same" : "another score") }'
    done
}

# ---- logs ----

clip="-lavfi testsrc2=s=96x80:d=2.4,format=yuv420p,drawbox=c=black:t=fill:enable=eq(n\\,5)"

# Pooled values again, from the frames: what differs.
pool_again(){ # log
    jq -r '
        def near($a; $b): if $a == null or $b == null then $a == $b
                          else (($a - $b) | fabs) <= 2e-6 * ([1, ($b | fabs)] | max) end;
        def percentile($v; $p): (($v | length - 1) * $p / 100) as $r | ($r | floor) as $i |
            $v[$i] + ($v[[$i + 1, ($v | length) - 1] | min] - $v[$i]) * ($r - $i);
        # the largest by batches of 1, 2, 4... frames, while there are four
        def error_of($v; $size): ($v | length) as $n | ($n / $size | floor) as $nb |
            [range($nb) | $v[. * $size:(. + 1) * $size] | add / $size] as $means | ($means | add / $nb) as $mean |
            ($means | map((. - $mean) * (. - $mean)) | add) / ($nb - 1) * $size / $n | sqrt;
        def standard_error($v):
            [1, 2, 4, 8, 16, 32, 64 | select(. * 4 <= ($v | length)) | error_of($v; .)] | max;
        # of windows of 48 frames
        def worst($v; $key): ([48, ($v | length)] | min) as $size |
            if ["score", "raw", "loss"] | index($key) then
                [range(($v | length) - $size + 1) | [($v[.:. + $size] | add / $size), -.]] | max
            else [null, null] end;
        def pooled($rows; $key): ($rows | map(.metrics[$key])) as $v |
            if $v == [] then {} else ($v | sort) as $s | worst($v; $key) as $worst | {
            p1: percentile($s; 1), p5: percentile($s; 5), p10: percentile($s; 10), p50: percentile($s; 50),
            p90: percentile($s; 90), p95: percentile($s; 95), p99: percentile($s; 99)}
            # features and what is counted have none
            | if $key | test("[.]|^(basis|outside)$") then map_values(null) else . end
            | . + {min: $s[0], max: $s[-1], mean: (($s | add) / ($s | length)),
            harmonic_mean: (if $s[0] <= -1 then null
                            else ($s | length) / ($s | map(1 / (. + 1)) | add) - 1 end),
            standard_error: standard_error($v), worst_window: $worst[0],
            worst_window_frame: (if $worst[1] == null then null else $rows[-$worst[1]].frameNum end) } end;
        .frames as $frames | .pooled_metrics | to_entries[] | .key as $key |
        pooled([$frames[] | select((.metrics.valid == 1 or ($key | test("^(loss|loss_sigma|basis|outside)$"))) and .metrics[$key] != null)]; $key) as $expected |
        .value | to_entries[] | select(near(.value; $expected[.key]) | not) |
        "\($key).\(.key) is \(.value) and not \($expected[.key])"' $1
}

log_json(){
    need jq || return 0
    ffmpeg ${clip},${bliinds}=features=1:log_path=${tmp}/log ${to_null} || return
    ls ${tmp} | grep 'tmp$' && echo "the temporary file is still there"
    # not strict, so that a nan would be seen
    grep -i -c 'nan\|inf[^e]' ${tmp}/log
    jq -r '
        "keys: \(keys | join(" "))",
        "filter \(.filter), model \(.model), \(.direction), range \(.range | tojson)",
        "frames: \(.frames | length), numbers in order: \([.frames[].frameNum] == [range(60)])",
        "metrics of a frame: \(.frames[0].metrics | keys_unsorted | join(" "))",
        "valid: \([.frames[] | select(.metrics.valid == 1)] | length)",
        "aggregate: \(.aggregate_metrics | tojson)",
        "sizes: \(.sizes | map(del(.pooled_metrics)) | tojson)",
        "pooled: \(.pooled_metrics | keys_unsorted | length)",
        "a pooled metric: \(.pooled_metrics.score | keys_unsorted | join(" "))",
        "one size: \(.sizes[0].pooled_metrics == .pooled_metrics)"' ${tmp}/log
    pool_again ${tmp}/log
}

# The other forms have the same numbers. From version 1.7 on, jq writes numbers as it
# has read them (0E-9), unless it has computed something.
log_forms(){
    need jq || return 0
    ffmpeg ${clip},split=3[a][b][c]\;[a]${bliinds}=features=1:log_path=${tmp}/json[d]\;[b]${bliinds}=features=1:log_path=${tmp}/csv:log_fmt=csv:f=${tmp}/stats[e]\;[c]${bliinds}=features=1:log_path=${tmp}/xml:log_fmt=xml[f] \
        -map [d] ${to_null} -map [e] ${to_null} -map [f] ${to_null} || return
    jq -r '"Frame,\(.frames[0].metrics | keys_unsorted | join(",")),",
           (.frames[] | "\(.frameNum),\([.metrics[] | if . == null then "" else . + 0 | tostring end] | join(",")),")' ${tmp}/json |
        plain > ${tmp}/expected
    plain < ${tmp}/csv > ${tmp}/got
    same csv ${tmp}/expected ${tmp}/got
    jq -r '.frames[] | "frame frameNum=\"\(.frameNum)\" " + ([.metrics | to_entries[] |
           "\(.key)=\"\(.value | if . == null then "" else . + 0 | tostring end)\""] | join(" ")) + " /"' ${tmp}/json |
        plain > ${tmp}/expected
    sed -n 's/^ *<\(frame .*\)>$/\1/p' ${tmp}/xml | plain > ${tmp}/got
    same xml ${tmp}/expected ${tmp}/got
    jq -r '.frames[] | "n:\(.frameNum + 1) " + ([.metrics | to_entries[] |
           "\(.key):\(.value | if . == null then "nan" else . + 0 | tostring end)"] | join(" "))' ${tmp}/json |
        plain > ${tmp}/expected
    sed 's/ pts:[0-9]* pts_time:[0-9.]*//' ${tmp}/stats | plain > ${tmp}/got
    same stats_file ${tmp}/expected ${tmp}/got
    jq -r '.pooled_metrics | to_entries[] | "metric name=\"\(.key)\" " + ([.value | to_entries[] |
           "\(.key)=\"\(.value | if . == null then "" else . + 0 | tostring end)\""] | join(" ")) + " /"' ${tmp}/json |
        plain > ${tmp}/expected
    sed -n 's/^ *<\(metric .*\)>$/\1/p' ${tmp}/xml | plain > ${tmp}/got
    same "pooled xml" ${tmp}/expected ${tmp}/got
    head -n 2 ${tmp}/stats | sed 's/ score.*//'
}

# Numbers without zeros at their end, as jq writes most of them.
plain(){
    awk '{
        line = ""
        while (match($0, /-?[0-9]+(\.[0-9]+(e-[0-9]+)?|e-[0-9]+)/)) {
            number = substr($0, RSTART, RLENGTH)
            if (number ~ /e/)
                number = sprintf("%.9f", number)
            sub(/0+$/, "", number)
            sub(/\.$/, "", number)
            if (number == "-0")
                number = "0"
            line = line substr($0, 1, RSTART - 1) number
            $0 = substr($0, RSTART + RLENGTH)
        }
        print line $0
    }'
}

log_xml(){
    need xmllint || return 0
    ffmpeg ${clip},${bliinds}=log_path=${tmp}/log:log_fmt=xml ${to_null} || return
    xmllint --xpath 'concat(count(/VMAF/frames/frame), " frames, ", count(/VMAF/frames/frame[@valid=1]),
        " valid, ", count(/VMAF/pooled_metrics/metric), " metrics, ", /VMAF/aggregate_metrics/@frames,
        " ", /VMAF/aggregate_metrics/@scored, " ", /VMAF/aggregate_metrics/@valid)' ${tmp}/log
}

# Nothing else may be on stdout, nor a log of a graph that no frame saw.
log_stdout(){
    need jq || return 0
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}=log_path=- ${to_null} | jq -c '.frames | length'
    ffmpeg -i ${pictures}/rose_70x46.pgm -vf ${gray}${bliinds}=f=- ${to_null} | sed 's/ score.*//'
    # without a valid frame there is nothing to pool
    ffmpeg -i ${pictures}/flat0_64x64.pgm -vf ${gray}${bliinds}=log_path=- ${to_null} |
        jq -c '.aggregate_metrics, .pooled_metrics.score'
}

# A log is whole when the output has had enough, or the input ends early.
log_end(){
    need jq || return 0
    ffmpeg -lavfi testsrc2=s=64x64,format=yuv420p,${bliinds}=log_path=${tmp}/log -frames:v 3 ${to_null} || return
    jq -r 'if (.frames | length) >= 3 then "3 frames" else . end' ${tmp}/log
    ffmpeg -lavfi testsrc2=s=64x64:d=1,format=yuv420p,${bliinds}=log_path=${tmp}/log,trim=end_frame=2 ${to_null} || return
    jq -r 'if (.frames | length) >= 2 then "2 frames" else . end' ${tmp}/log
    ffmpeg -lavfi testsrc2=s=64x64:d=1,format=yuv420p,trim=end_frame=0,${bliinds}=log_path=${tmp}/log ${to_null}
    jq -c '.frames, .aggregate_metrics' ${tmp}/log
}

# Where ffmpeg rebuilds the graph, the files go on: they are those of one graph.
log_rebuild(){
    need jq || return 0
    i=0
    for picture in rose_70x46 rose_70x46 camera_crop_300x240 flat128_64x64 rose_70x46 camera_crop_300x240; do
        i=$((i + 1))
        cp ${pictures}/${picture}.pgm ${tmp}/${i}.pgm
    done
    for form in json csv xml record; do
        options=features=1:log_fmt=${form}:log_path=${tmp}
        ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds=${options}/one.log:f=${tmp}/one.stats:rr_write=${tmp}/one.rr \
            ${to_null} || return
        ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}=${options}/many.log:f=${tmp}/many.stats:rr_write=${tmp}/many.rr \
            ${to_null} 2> ${tmp}/err || return
        cat ${tmp}/err >&2
        for file in log stats rr; do
            for i in one many; do sed '/"\{0,1\}fps/d;s/^end \([0-9]*\) .*/end \1/' ${tmp}/${i}.${file} > ${tmp}/${i}; done
            same "${form} ${file}" ${tmp}/one ${tmp}/many
        done
    done
    messages < ${tmp}/err | grep -v REPLACED | tail -n 4 | sed 's/mean:.* frames/frames/'
    # each loss is known, and what was matched is counted over all
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}=rr_read=${tmp}/one.rr:log_path=${tmp}/log ${to_null} || return
    jq -c '.aggregate_metrics, [.frames[].frameNum]' ${tmp}/log
    # what cannot go on, since time does not, says so
    ffmpeg -i ${tmp}/%d.pgm -vf setpts=N/25/TB,${gray}${bliinds}=log_path=${tmp}/log ${to_null} 2>&1 |
        messages | sed -n "s,${tmp},folder,;/REPLACED/p"
    jq -c '[.frames[].frameNum]' ${tmp}/log
}

# In a host, graphs that come one after the other.
log_hosts(){
    need jq || return 0
    host="run libavfilter/tests/score_log${EXECSUF}"
    for jobs in "0:5:64x64:1 5:5:64x64:1" "0:5:64x64:0 5:5:80x64:0" "0:5:64x64:0 9:5:64x64:1 14:1:64x64:1" \
                "0:5:64x64:1 5:0:64x64:1" "0:5:64x64:1 5:0:64x64:0" \
                "0:5:64x64:1 4:3:64x64:1" "0:5:64x64:1 0:5:64x64:1" "0:0:64x64:1" "0:0:64x64:0"; do
        rm -f ${tmp}/log ${tmp}/stats
        set --
        for job in ${jobs}; do set -- "$@" ${job}:bliinds=log_path=${tmp}/log:f=${tmp}/stats; done
        ${host} "$@" > ${tmp}/out 2> ${tmp}/err || echo "a failure"
        cat ${tmp}/err >&2
        echo "${jobs}:"
        test ! -e ${tmp}/log || jq -c '[.frames[].frameNum], .aggregate_metrics.frames' ${tmp}/log | xargs
        test ! -e ${tmp}/stats || cut -d' ' -f1,2 ${tmp}/stats | xargs
        grep -c REPLACED ${tmp}/err
    done
    # of many filters, what the oldest has left goes
    set --
    for i in $(seq 20); do set -- "$@" 0:1:64x64:1:bliinds=f=${tmp}/${i}; done
    ${host} "$@" 1:1:64x64:1:bliinds=f=${tmp}/1 1:1:64x64:1:bliinds=f=${tmp}/20 > ${tmp}/out || echo "a failure"
    cut -d' ' -f1,2 ${tmp}/1 ${tmp}/20
    # another option is another log
    ${host} 0:1:64x64:1:bliinds=f=${tmp}/1 1:1:64x64:1:bliinds=features=1:f=${tmp}/1 > ${tmp}/out || echo "a failure"
    cut -d' ' -f1,2 ${tmp}/1
    # on standard output, lines go on
    ${host} 0:2:64x64:1:bliinds=f=- 2:2:80x64:1:bliinds=f=- | sed -n 's/ pts_.*//;/^n/p'
}

# A file has one writer, and nobody's file is taken for a temporary one.
log_writers(){
    # more frames than are in flight: the first filter has not closed its file when the second opens its own
    clip="-lavfi testsrc2=s=64x64:d=0.8,format=yuv420p"
    echo mine > ${tmp}/log.tmp
    for files in f=-:log_path=- f=${tmp}/log:log_path=${tmp}/log f=${tmp}/log:rr_write=${tmp}/log; do
        fails ${clip},${bliinds}=${files} ${to_null} | sed "s,${tmp},folder,"
    done
    for path in - ${tmp}/log ${tmp}/new; do
        fails ${clip},split[a][b]\;[a]${bliinds}=f=${path}[c]\;[b]${bliinds}=log_path=${path}[d] \
            -map [c] ${to_null} -map [d] ${to_null} | sed "/BLIINDS\|are outside/d;s,${tmp},folder,"
    done
    ln -s log ${tmp}/link
    fails ${clip},${bliinds}=f=${tmp}/log${download},${bliinds}=f=${tmp}/link ${to_null} | sed "/BLIINDS\|are outside/d;s,${tmp},folder,"
    ffmpeg ${clip},${bliinds}=f=/dev/null${download},${bliinds}=f=/dev/null:log_path=/dev/null ${to_null} || echo "a failure"
    ffmpeg ${clip},${bliinds}=log_path=${tmp}/log ${to_null} || echo "a failure"
    cat ${tmp}/log.tmp
    ls ${tmp} | grep -vx probe | xargs
    # as the user's other files
    umask 022
    ffmpeg ${clip},${bliinds}=log_path=${tmp}/mode ${to_null}
    ls -l ${tmp}/mode | cut -c1-10
}

# In a country with decimal commas, in a host that is at home there; and in one whose
# comma has two bytes.
log_locale(){
    need localedef || return 0
    mkdir ${tmp}/locales
    host="run libavfilter/tests/score_log${EXECSUF}"
    printf '%s\nconstant 17.25\nweight L1.band3 1.5\nend' "${head_lines}" > ${tmp}/model
    for locale in C de_DE.UTF-8 ps_AF.UTF-8; do
        if test ${locale} != C && ! localedef -i ${locale%.*} -f UTF-8 ${tmp}/locales/${locale} > ${tmp}/localedef 2>&1 &&
                test ! -d ${tmp}/locales/${locale}; then
            cat ${tmp}/localedef >&2
            skip "cannot make the locale ${locale}; its source is in Debian's package locales"
            return 0
        fi
        for form in json csv xml record; do
            LOCPATH=${tmp}/locales LC_ALL=${locale} ${host} \
                0:8:64x64:1:bliinds=features=1:log_path=${tmp}/log:log_fmt=${form}:f=${tmp}/stats,bliinds=model=${tmp}/model \
                > ${tmp}/out 2> ${tmp}/err || echo "a failure"
            cat ${tmp}/err >&2
            messages < ${tmp}/err > ${tmp}/messages
            for file in log stats out messages; do
                sed '/"\{0,1\}fps/d;s/^end \([0-9]*\) .*/end \1/' ${tmp}/${file} > ${tmp}/${file}.${form}.${locale}
                test ${locale} = C || same "${locale} ${form} ${file}" ${tmp}/${file}.${form}.C ${tmp}/${file}.${form}.${locale}
            done
        done
    done
    wc -l < ${tmp}/out.json.C
}

# Memory does not grow with the frames.
log_memory(){ # [filter]
    test -z "${target_exec}" || { skip "runs under ${target_exec}"; return 0; }
    for frames in 1000 10000; do
        ffmpeg -benchmark -v info -lavfi testsrc2=s=44x44:d=$((frames / 25)),format=gray,${1:-bliinds=features=1} ${to_null} \
            2> ${tmp}/err || return
        cat ${tmp}/err >&2
        sed -n 's/.*maxrss=\([0-9]*\)Ki*B.*/\1/p' ${tmp}/err
    done | xargs | tee -a /dev/stderr | awk '{ print($1 > 0 && $2 < $1 + 2048 ? "the same" : "from " $1 " to " $2 " KiB") }'
}

# Where the arithmetic would not be that of single precision, no filter is built.
log_x87(){
    cc=$(sed -n 's/^CC=//p' ffbuild/config.mak)
    case $(echo '__x86_64__ __clang__' | ${cc} -E -P -x c - 2> /dev/null) in
    1" "__clang__) ;;
    *) skip "not built with gcc for x86_64"; return 0 ;;
    esac
    for header in bliinds_block detailloss_wavelet; do
        for math in sse 387; do
            echo "#include \"${header}.h\"" |
                ${cc} -mfpmath=${math} -fsyntax-only -I${project}/libavfilter -x c - 2>&1 | sed -n 's/.*error: #error/refused:/p'
            echo "${header}, ${math}"
        done
    done
}

log_errors(){
    test -c /dev/full || { skip "no /dev/full"; return 0; }
    clip="-lavfi testsrc2=s=64x64:d=0.4,format=yuv420p"
    echo "an older log" > ${tmp}/log
    for option in stats_file log_path; do
        for path in /dev/full ${tmp}/none/log ${tmp}; do
            fails ${clip},${bliinds}=${option}=${path} ${to_null} | sed "s,${tmp},folder,"
        done
    done
    # an output that ends early
    fails -lavfi testsrc2=s=64x64,format=yuv420p,${bliinds}=log_path=/dev/full -frames:v 2 ${to_null}
    # no file may have more than 4 kB here
    { (trap '' XFSZ; ulimit -f 8; ffmpeg ${clip},${bliinds}=features=1:log_path=${tmp}/log ${to_null} 2>&1
       echo "status $?") | cat; } > ${tmp}/err
    cat ${tmp}/err >&2
    messages < ${tmp}/err | sed "s,${tmp},folder,"
    grep -q '^status 0' ${tmp}/err && echo "but no failure"
    cat ${tmp}/log
    ls ${tmp} | grep 'tmp$' && echo "the temporary file is still there"
    fails ${clip},${bliinds}=log_fmt=yaml ${to_null} > /dev/null
}

summary(){
    printf '%s\nconstant 7\nweight L3.ori10 0\nend' "${head_lines}" > ${tmp}/seven
    for filters in "" trim=end_frame=1, drawbox=c=black:t=fill, ; do
        ffmpeg -lavfi testsrc2=s=64x64:d=0.2,format=yuv420p,${filters}${bliinds}=model=${tmp}/seven ${to_null} 2>&1 | messages
    done
    # of blurred frames among others, the best by one model and the worst by the other
    printf '%s\nconstant 0\nweight L1.band3 10\nend' "${head_lines}" > ${tmp}/lower
    sed s/lower/higher/ ${tmp}/lower > ${tmp}/higher
    for model in lower higher; do
        ffmpeg -lavfi "testsrc2=s=64x64:d=8,format=yuv420p,avgblur=3:enable='between(n,100,147)',${bliinds}=model=${tmp}/${model}" \
            ${to_null} 2>&1 | messages | sed 's/:\([0-9]*\)\.[0-9]*/:\1.N/g'
    done
}

# ---- side data ----

# Payloads in hexadecimal, from showinfo's output. libx265 puts a UUID of its
# own before what it is given.
payloads(){
    sed 's/^\[Parsed_showinfo[^]]*\] *//' | awk '
        /UUID=/ {
            uuid = $0
            sub(/.*UUID=/, "", uuid)
            gsub(/-/, "", uuid)
        }
        sub(/^User Data=/, "") {
            data = uuid $0
            sub(/^2ca2de09b51747dbbb55a4fe7fc2fc4e/, "", data)
            if (sub(/^3c0e4a9b6f524d179a41d8275be360f4/, "", data))
                print data
        }'
}

# version, flags, score, raw, sigma, distance, model
decode_payloads(){
    awk '
        function digit(i) { return index("0123456789abcdef", substr($0, i, 1)) - 1 }
        function byte(i)  { return 16 * digit(2 * i + 1) + digit(2 * i + 2) }
        function single(i,    b, e, m) {
            b = byte(i) * 256 + byte(i + 1)
            e = int(b % 32768 / 128)
            m = (b % 128) * 65536 + byte(i + 2) * 256 + byte(i + 3)
            if (e == 255)
                return "nan"
            m = (1 + m / 8388608) * 2 ^ (e - 127)
            return sprintf("%.9g", b >= 32768 ? -m : m)
        }
        {
            name = ""
            for (i = 0; i < byte(18); i++)
                name = name sprintf("%c", byte(19 + i))
            print "version:" byte(0), "valid:" byte(1) % 2, "score:" single(2), "raw:" single(6),
                  "sigma:" single(10), "distance:" single(14), "model:" name,
                  "bytes:" length($0) / 2 - 19 - byte(18)
        }'
}

# Through an encoder that keeps them, and back.
sei(){ # encoder format options
    printf '%s\nconstant 1\nweight L1.zeta100 20\nsigma 2.5\nmean L1.zeta10 2\nprecision L1.zeta10 4\nend' \
        "${head_lines}" > ${tmp}/model
    source="testsrc2=s=96x80:d=0.4,format=yuv420p,drawbox=c=black:t=fill:enable=eq(n\\,5)"
    ffmpeg -lavfi ${source},${bliinds}=model=${tmp}/model:f=${tmp}/stats${download} -c:v $1 $3 -udu_sei 1 -f $2 -y ${tmp}/video || return
    ffmpeg -i ${tmp}/video -vf showinfo ${to_null} 2>&1 | payloads | decode_payloads > ${tmp}/got
    awk '{
        for (i = 1; i <= NF; i++) {
            n = index($i, ":")
            v[substr($i, 1, n - 1)] = substr($i, n + 1)
        }
        print "version:1 valid:" v["valid"], "score:" v["score"], "raw:" v["raw"],
              "sigma:" v["sigma"], "distance:" v["distance"], "model:test bytes:0"
    }' ${tmp}/stats > ${tmp}/expected
    near "$1" ${tmp}/expected ${tmp}/got
    wc -l < ${tmp}/got
    sort -u ${tmp}/got | wc -l
    # scored again, a frame has the new payload in the place of the old one
    ffmpeg -i ${tmp}/video -vf ${bliinds}${download},showinfo ${to_null} 2>&1 | payloads | decode_payloads |
        cut -d' ' -f7 | sort | uniq -c
    ffmpeg -lavfi ${source},${bliinds}=side_data=0${download},showinfo ${to_null} 2>&1 | payloads | wc -l
}

# ---- reduced reference ----

# Energies by another implementation, in double precision; the file has four digits.
rr_energies(){
    tail -n +2 ${pictures}/energies.csv | while IFS=, read -r picture energies; do
        ffmpeg -i ${pictures}/${picture}.pgm -vf ${gray}${bliinds}=rr_write=${tmp}/rr ${to_null}
        tail -n 1 ${tmp}/rr | awk -v picture=${picture} -v energies=${energies} '
            {
                split(energies, expected, ",")
                for (i = 1; i <= 9; i++) {
                    difference = $(i + 3) / 10000 - expected[i]
                    if (difference < 6e-5 && difference > -6e-5)
                        good++
                    else
                        printf("energy %d is %d and not %s\n", i, $(i + 3), expected[i])
                }
                print picture ": " good + 0 " energies agree"
            }'
    done
}

# The loss of pairs of pictures, by the same, from its energies with four digits; then
# where it is told how the encode was coded.
rr_known(){
    coded=$(keys step=4.5 bytes=900 width=70 height=46 pict_type=I codec=hevc)
    while read -r name loss of_coded source encode; do
        samples "int(${source})" > ${tmp}/source
        samples "int(${encode})" > ${tmp}/encode
        raw_values ${tmp}/source gray 70 46 ${gray}${bliinds}=rr_write=${tmp}/rr > /dev/null
        for expected in ${loss} ${of_coded}; do
            raw_values ${tmp}/encode gray 70 46 ${told}${gray}${bliinds}=rr_read=${tmp}/rr
            told=${coded}
        done | awk -F= -v name=${name} -v loss="${loss} ${of_coded}" '
            BEGIN { split(loss, expected, " "); split("4.7414 3.7039", least, " "); split("0.10484 0.12367", slope, " ") }
            $1 == "lavfi.bliinds.loss" {
                i++
                good = $2 - expected[i] < 2e-6 && expected[i] - $2 < 2e-6
                print name ": " (good ? "loss " expected[i] : "loss is " $2 " and not " expected[i])
                sigma = least[i] + slope[i] * $2
            }
            $1 == "lavfi.bliinds.loss_sigma" && ($2 - sigma > 2e-6 || sigma - $2 > 2e-6) {
                print name ": sigma is " $2 " and not " sigma
            }'
        told=
    done << EOF
same      0         0         v                v
smooth    20.352267 15.189674 v                (v+p)/2
rough     8.596545  8.788011  (v+p)/2          v
less      71.914100 55.962380 v                int(v*3/4)
quarter   94.976207 85.512136 v                v/4
louder    21.491675 25.662173 v/2              v
steps     45.116287 32.362641 v                int(v/32)*32
unstepped 5.756378  9.509870  int(v/32)*32     v
noise16   10.155963 10.849816 v/4+96           int(v/4)+88+int(n*n*7919%65537/4096)
noise32   15.690614 14.988136 v/4+96           int(v/4)+80+int(n*n*7919%65537/2048)
noise64   21.773094 19.686938 v/4+96           int(v/4)+64+int(n*n*7919%65537/1024)
louder64  21.406726 21.373831 v/4+96           int(v/2)+32+int(n*n*7919%65537/1024)
grain64   14.803403 14.865161 v/2+64           int(v/2)+32+int((7*(n*n*7919%65537)+(n-1)*(n-1)*7919%65537)/8192)
detail16  8.923756  9.046276  v/2+64           int(v/2)+56+int(n*n*7919%65537/4096)
denoised  14.614599 17.148291 int(v/4)+80+int(n*n*7919%65537/2048) v/4+96
sharp     10.743839 10.381100 v/2+64           int(v/2)+64+(v-p)/3
EOF
}

losses(){
    sed 's/.*loss:\([^ ]*\).*/\1/' ${tmp}/stats | awk '
        $1 == "nan" { unknown++; next }
                    { lost += $1 > 0; none += $1 == 0 }
        END { printf("%d without a loss, %d with, %d unknown\n", none, lost, unknown) }'
}

rr_messages(){
    messages | sed "s,${tmp},folder,g;/^BLIINDS /d"
}

# Whether this FFmpeg makes samples of more bits by a shift: the one of 7.1 does not for P010 and
# its kin.
made_by_a_shift(){ # format
    case $1 in
    p01*) ;;
    *)    return 0 ;;
    esac
    sum="-lavfi testsrc2=s=176x98:d=0.04,format=yuv420p,scale"
    test "$(ffmpeg ${sum},format=$1,scale,format=yuv420p16le -f md5 -)" = "$(ffmpeg ${sum},format=yuv420p16le -f md5 -)" && return
    leave_out $1 "P010 is not made by a shift in this FFmpeg"
    return 1
}

# The same bytes for any number of threads, from the GPU as from the CPU; and
# nothing is lost against itself.
rr_round(){
    source=testsrc2=s=176x98:d=0.48,format=yuv420p
    ffmpeg -lavfi ${source},bliinds=rr_write=${tmp}/expected ${to_null} || return
    sed 's/^\(. .* 1 \).*/\1.../;4q' ${tmp}/expected
    awk 'length($0) > 98 { print "too long: " $0 }
         NR > 2 && NF == 12 { n++ }
         END { print n " frames of " NR " lines" }' ${tmp}/expected
    for n in 1 2 7; do
        ffmpeg -filter_complex_threads ${n} -lavfi ${source},${bliinds}=rr_write=${tmp}/rr ${to_null}
        same "${n} threads" ${tmp}/expected ${tmp}/rr
    done
    for format in yuv420p p010le yuv444p; do
        ffmpeg -lavfi ${source},scale,format=${format},${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats ${to_null} 2>&1 | rr_messages
        ! made_by_a_shift ${format} || echo "${format}: $(losses)"
    done
}

# The more blur, the more is lost.
rr_blur(){
    source=testsrc2=s=176x98:d=0.48,format=yuv420p
    ffmpeg -lavfi ${source},${bliinds}=rr_write=${tmp}/rr ${to_null} || return
    last=0
    for sigma in 0.5 0.8 1.2 2; do
        ffmpeg -lavfi ${source},gblur=${sigma}:planes=1,${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats ${to_null} || return
        mean=$(sed 's/.*loss:\([^ ]*\).*/\1/' ${tmp}/stats | awk '{ sum += $1 } END { print sum / NR }')
        echo "${last} ${mean}" | awk -v sigma=${sigma} '
            { print "sigma " sigma ": " ($2 > $1 + 3 ? "more" : "not more than " $1 ": " $2) }'
        last=${mean}
    done
}

# Twelve frames, of which each differs from those near it by a loss.
twelve(){
    for k in 8 3 6 2 7 4 8 5 3 7 2 6; do
        samples "int(v * ${k} / 8)"
    done > ${tmp}/raw
    raw="-f rawvideo -pix_fmt gray -video_size 70x46 -framerate 25 -i ${tmp}/raw"
}

# What is before the filter where the source is written, - for the file of the
# test before; and the filters that read, where @ is the one with rr_read.
rr_match(){
    twelve
    while IFS='|' read -r name write read; do
        test "${write}" = - ||
            ffmpeg ${raw} -vf "${write}${gray}${bliinds}=rr_write=${tmp}/rr" ${to_null} || return
        rm -f ${tmp}/stats
        ffmpeg ${raw} -vf "$(echo "${read}" | sed "s|@|${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats|")" \
            ${to_null} 2> ${tmp}/err
        cat ${tmp}/err >&2
        echo "${name}: $(losses)"
        rr_messages < ${tmp}/err
    done << 'EOF'
the same frames||@
time base of milliseconds|-|settb=1/1000,@
time base of 90 kHz|-|settb=1/90000,@
frames 4 to 6 dropped|-|select='not(between(n,4,6))',@
the first three dropped|-|select='gte(n,3)',@
every other dropped|-|framestep=2,@
each twice|-|fps=50,@
each twice, 10 ms later|-|fps=50,settb=1/1000,setpts='floor(N/2)*40+mod(N,2)*10',@
0.4 frames late|-|settb=1/1000,setpts=PTS+16,@
0.6 frames late|-|settb=1/1000,setpts=PTS+24,@
a frame late|-|setpts=PTS+1,@
jitter|-|settb=1/1000,setpts='PTS+mod(N*7,19)',@
begins at 10 s|-|setpts=PTS+250,@
from 0 again|-|setpts=PTS+250,setpts=PTS-STARTPTS,@
by number|-|setpts=PTS+250,@:rr_match=number
by number, the first three dropped|-|select='gte(n,3)',@:rr_match=number
no timestamps|-|setpts=NAN,@
no timestamps, by number|-|setpts=NAN,@:rr_match=number
the first half|-|trim=end_frame=6,@
the first five|-|trim=end_frame=5,@
the last five|-|select='gte(n,7)',@
the last five, from 0 on|-|select='gte(n,7)',setpts=PTS-STARTPTS,@
the last five, by number|-|select='gte(n,7)',setpts=NAN,@:rr_match=number
one of three|-|@:n_subsample=3
from 0.2 s on|-|@:enable='gte(t,0.2)'
the source has a pause|setpts='PTS+if(gte(N,6),25,0)',|setpts='PTS+if(gte(N,6),25,0)',@
that is filled|-|setpts='PTS+if(gte(N,6),25,0)',fps=25,@
the source begins at 10 s|setpts=PTS+250,|setpts=PTS+250,@
the source has no timestamps|setpts=NAN,|@
by number|-|@:rr_match=number
the source goes back|setpts='mod(N,6)',|@
by number|-|@:rr_match=number
the source is one frame|select='eq(n,0)',|settb=1/10000,setpts=PTS+9,@
1.1 ms late|-|settb=1/10000,setpts=PTS+11,@
EOF
    # one of three frames of the source, whose distance is that of frames all the same
    ffmpeg ${raw} -vf ${gray}${bliinds}=rr_write=${tmp}/rr:n_subsample=3 ${to_null}
    for n in 1 3; do
        ffmpeg ${raw} -vf ${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats:n_subsample=${n} ${to_null} 2>&1 | rr_messages
        losses
    done
}

# Coding, and what is like it, leaves large shapes; other pictures have others, and so has
# what was regraded.
rr_other(){
    camera="-i ${pictures}/camera_crop_300x240"
    ffmpeg ${camera}.pgm -vf ${gray}${bliinds}=rr_write=${tmp}/rr ${to_null}
    while IFS='|' read -r name input; do
        echo "${name}:"
        ffmpeg ${input},${gray}${bliinds}=rr_read=${tmp}/rr ${to_null} 2>&1 | rr_messages
    done << EOF
the same|${camera}.pgm -vf null
coarse coding|${camera}_jpeg15.png -vf null
blurred|${camera}.pgm -vf gblur=3
a quarter of its size|${camera}.pgm -vf scale=75:60,scale=300:240
noise|${camera}_noise.png -vf null
half the contrast|${camera}.pgm -vf lut=y=val/2
another picture, which is missed|-i ${pictures}/chelsea_451x300.pgm -vf crop=300:240
EOF
    echo "the other way round:"
    ffmpeg -i ${pictures}/chelsea_451x300.pgm -vf crop=300:240,${gray}${bliinds}=rr_write=${tmp}/rr ${to_null}
    ffmpeg ${camera}.pgm -vf ${gray}${bliinds}=rr_read=${tmp}/rr ${to_null} 2>&1 | rr_messages
}

# Black frames of the source have nothing to lose; black ones of the encode have
# lost all, valid or not.
rr_json(){
    need jq || return 0
    samples v > ${tmp}/plain
    samples "int((v + p) / 2)" > ${tmp}/smooth
    samples 0 > ${tmp}/black
    for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do
        if test ${n} = 3; then cat ${tmp}/black; else cat ${tmp}/plain; fi >&3
        if test ${n} = 7; then cat ${tmp}/black; else cat ${tmp}/smooth; fi
    done 3> ${tmp}/source > ${tmp}/encode
    raw="-f rawvideo -pix_fmt gray -video_size 70x46 -framerate 25"
    ffmpeg ${raw} -i ${tmp}/source -vf ${gray}${bliinds}=rr_write=${tmp}/rr ${to_null}
    ffmpeg ${raw} -i ${tmp}/encode -vf ${gray}${bliinds}=rr_read=${tmp}/rr:log_path=${tmp}/log ${to_null} 2> ${tmp}/err
    cat ${tmp}/err >&2
    messages < ${tmp}/err | sed "s,${tmp},folder,;s/[0-9]*\.[0-9]\{6\}/N/g"
    jq -r '"metrics: \(.frames[0].metrics | keys_unsorted | join(" "))",
        "loss: \(.loss)",
        "frames 2, 3, 7: \([.frames[2, 3, 7].metrics | [.valid, (.loss | if . then . + .5 | floor else . end)]] | tojson)",
        "pooled: \([.pooled_metrics.loss | .min, .p50, .max | . + .5 | floor] | tojson)",
        "aggregate: \(.aggregate_metrics | tojson)"' ${tmp}/log
    pool_again ${tmp}/log
    ffmpeg ${raw} -i ${tmp}/encode -vf ${gray}${bliinds}=rr_read=${tmp}/rr:log_path=${tmp}/log:log_fmt=xml ${to_null}
    sed -n '/<metric name="loss"/s/"[0-9]*\.[0-9]*"/"N"/gp;/<aggregate/p' ${tmp}/log
}

# A file that was cut off is as good as what is left of it.
rr_cut(){
    twelve
    ffmpeg ${raw} -vf ${gray}${bliinds}=rr_write=${tmp}/whole ${to_null} || return
    size=$(wc -c < ${tmp}/whole)
    for less in 0 1 2 9 17 40 60 69 70 71 72 73 74 100 500; do
        head -c $((size - less)) ${tmp}/whole > ${tmp}/rr
        ffmpeg ${raw} -vf ${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats ${to_null} 2> ${tmp}/err || echo "a failure"
        cat ${tmp}/err >&2
        left=$(($(wc -l < ${tmp}/rr) - 2))
        ends_whole=$(tail -c 1 ${tmp}/rr | wc -l)
        said=$(grep -c 'ends within a line' ${tmp}/err)
        grep -q "matched:${left} unmatched:$((12 - left)) " ${tmp}/err && test ${said} = $((1 - ends_whole)) &&
            losses | grep -q "^${left} without a loss, 0 with," || echo "cut by ${less} bytes: wrong"
    done
    rr_messages < ${tmp}/err
}

rr_errors(){
    test -c /dev/full || { skip "no /dev/full"; return 0; }
    twelve
    ffmpeg ${raw} -vf ${gray}${bliinds}=rr_write=${tmp}/good ${to_null} || return
    : > ${tmp}/empty
    sed 's/rr 3/rr 2/' ${tmp}/good                      > ${tmp}/version
    sed 's/rr 3/rr 3x/' ${tmp}/good                     > ${tmp}/junk
    head -c 9 ${tmp}/good                               > ${tmp}/magic
    sed 2d ${tmp}/good                                  > ${tmp}/no-format
    sed '2s/full/broad/' ${tmp}/good                    > ${tmp}/range
    sed '2s/70/0/' ${tmp}/good                          > ${tmp}/width
    sed '9s/1/x/' ${tmp}/good                           > ${tmp}/letter
    sed '9s/ [^ ]*$//' ${tmp}/good                      > ${tmp}/short
    sed '9s/$/ 1/' ${tmp}/good                          > ${tmp}/long
    sed '9s/ [^ ]*$/ 99999999999999999999/' ${tmp}/good > ${tmp}/huge
    sed '9s/ [^ ]*$/ nan/' ${tmp}/good                  > ${tmp}/nan
    { cat ${tmp}/good; tail -n 1 ${tmp}/good; }         > ${tmp}/twice
    { cat ${tmp}/good; head -c 300 /dev/zero; }         > ${tmp}/zeros
    head -n 2 ${tmp}/good                               > ${tmp}/no-frames
    sed 's/ 70 46 / 140 46 /' ${tmp}/good               > ${tmp}/wider
    sed 's/ 70 46 / 70 92 /' ${tmp}/good                > ${tmp}/higher
    for name in none empty version junk magic no-format range width letter short long huge nan twice zeros no-frames wider higher; do
        ffmpeg ${raw} -vf ${gray}${bliinds}=rr_read=${tmp}/${name} ${to_null} 2> ${tmp}/err
        status=$?
        cat ${tmp}/err >&2
        rr_messages < ${tmp}/err | grep -v '^Failed to configure' | sed "s/^/${name}: /"
        case ${status}${name} in
        0no-frames) ;;
        0*)         echo "but no failure" ;;
        13[2-9]*)   echo "and a crash: ${status}" ;;
        esac
    done
    for path in /dev/full ${tmp}/none/rr ${tmp}; do
        fails ${raw} -vf ${gray}${bliinds}=rr_write=${path} ${to_null} | sed "s,${tmp},folder,"
    done
    fails ${raw} -vf ${gray}${bliinds}=rr_write=${tmp}/good:rr_read=${tmp}/good ${to_null} | sed "s,${tmp},folder,g"
    wc -l < ${tmp}/good
    # no file may have more than 4 kB here
    { (trap '' XFSZ; ulimit -f 8
       ffmpeg -lavfi testsrc2=s=64x64:d=10,format=yuv420p,${bliinds}=rr_write=${tmp}/rr ${to_null} 2>&1
       echo "status $?") | cat; } > ${tmp}/err
    cat ${tmp}/err >&2
    rr_messages < ${tmp}/err
    grep -q '^status 0' ${tmp}/err && echo "but no failure"
    # another size in the course of the source, and of the encode
    cp ${pictures}/rose_70x46.pgm ${tmp}/1.pgm
    cp ${pictures}/camera_crop_300x240.pgm ${tmp}/2.pgm
    ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds=rr_write=${tmp}/rr ${to_null}
    cut -d' ' -f1-3 ${tmp}/rr
    ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -vf bliinds=rr_read=${tmp}/rr:f=${tmp}/stats ${to_null} 2>&1 | rr_messages
    losses
    fails -i ${tmp}/1.pgm -vf loop=1:1,${gray}${bliinds}=rr_read=${tmp}/rr ${to_null} | sed "s,${tmp},folder,g"
    fails -i ${tmp}/1.pgm -vf ${gray}${bliinds}=range=limited:rr_read=${tmp}/rr ${to_null} | sed "s,${tmp},folder,g"
}

# While the source is encoded, what was encoded of it is compared with it.
rr_live(){
    twelve
    ffmpeg ${raw} -filter_complex "[0:v]${gray}${bliinds}=rr_write=${tmp}/rr${gray_download}[v]" -map "[v]" -c:v rawvideo ${to_null} \
        -dec 0:0 -filter_complex "[dec:0]${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats[e]" -map "[e]" ${to_null} 2> ${tmp}/err
    cat ${tmp}/err >&2
    rr_messages < ${tmp}/err
    losses
}

# While its source still comes, a file has its frames at once, in whole lines, and
# who has begun to read it gets those that follow.
rr_flush(){
    twelve
    raw="-f rawvideo -pix_fmt gray -video_size 70x46 -framerate 25"
    mkfifo ${tmp}/source ${tmp}/encode
    ffmpeg ${raw} -i ${tmp}/source -vf bliinds=rr_write=${tmp}/rr ${to_null} &
    exec 4<> ${tmp}/source
    head -c 19320 ${tmp}/raw >&4
    wait_for_lines 8 ${tmp}/rr
    tail -c 1 ${tmp}/rr | wc -l
    ffmpeg ${raw} -i ${tmp}/encode -vf bliinds=rr_read=${tmp}/rr:f=${tmp}/stats ${to_null} 4>&- 2> ${tmp}/err &
    exec 5<> ${tmp}/encode
    head -c 12880 ${tmp}/raw >&5
    wait_for_lines 4 ${tmp}/stats
    tail -c 19320 ${tmp}/raw >&4
    wait_for_lines 14 ${tmp}/rr
    tail -c 25760 ${tmp}/raw >&5
    exec 4>&- 5>&-
    wait
    cat ${tmp}/err >&2
    rr_messages < ${tmp}/err
    losses
}

wait_for_lines(){ # number file
    n=0
    while test ${n} -lt 200; do
        lines=$(wc -l < $2) || lines=0
        test ${lines} -lt $1 || break
        sleep 0.1
        n=$((n + 1))
    done 2> /dev/null
    echo "${lines} lines"
}

# ---- CUDA ----

# Whether there are CUDA frames of a format: the first of these are in all releases, and
# FFmpeg by itself tells of the others.
uploads(){ # format
    case $1 in
    nv12 | yuv420p | yuv444p | p010le | p016le | yuv444p16le) return 0 ;;
    esac
    ffmpeg -init_hw_device cuda -lavfi nullsrc=s=64x64:d=0.04,format=$1,hwupload ${to_null} || {
        leave_out $1
        return 1
    }
}

# What is expected is the CPU filter's, of the same picture.
cuda_formats(){
    device="-init_hw_device cuda"
    samples v > ${tmp}/8
    raw_values ${tmp}/8 gray 70 46 bliinds=features=1:range=full > ${tmp}/expected
    for format in yuv420p:8 yuv444p:8 nv12:8 p010le:0 p016le:0 yuv444p16le:0 \
                  nv16:8 yuv422p:8 p012le:0 p210le:0 p212le:0 p216le:0 \
                  yuv420p10le:2 yuv422p10le:2 yuv444p10le:2 yuv444p10msble:0 yuv444p12msble:0; do
        shift=${format#*:}
        format=${format%:*}
        uploads ${format} || continue
        raw_luma ${format} ${shift}
        raw_values ${raw} ${format} 70 46 hwupload,bliinds_cuda=features=1:range=full > ${tmp}/got
        same ${format} ${tmp}/expected ${tmp}/got
    done
}

cuda_ranges(){
    device="-init_hw_device cuda"
    compare_ranges << EOF
full        yuv420p     hwupload,bliinds_cuda=features=1:range=full
full        yuv420p     hwupload,bliinds_cuda=features=1:range=pc
full        yuv420p     setrange=full,hwupload,bliinds_cuda=features=1
limited     yuv420p     hwupload,bliinds_cuda=features=1
limited     nv12        hwupload,bliinds_cuda=features=1:range=auto
limited     yuv444p     setrange=limited,hwupload,bliinds_cuda=features=1
limited     yuv420p     setrange=full,hwupload,bliinds_cuda=features=1:range=tv
limited.msb p010le      hwupload,bliinds_cuda=features=1
limited.msb p016le      hwupload,bliinds_cuda=features=1
full        yuv420p     hwupload,bliinds_cuda=features=1
EOF
}

# The same for any number of frames in flight.
cuda_queue(){
    for size in 321:243 70:46 5:4; do
        for format in nv12 p010le; do
            source=testsrc2=s=320x240:d=0.72,format=yuv420p,scale=${size},format=${format}
            ffmpeg -lavfi ${source},bliinds=features=1:stats_file=${tmp}/stats,${print} ${to_null} > ${tmp}/expected
            cat ${tmp}/stats >> ${tmp}/expected
            for queue in 1 2 3 8 64; do
                ffmpeg -lavfi ${source},${bliinds}=features=1:queue=${queue}:stats_file=${tmp}/stats,${print} \
                    ${to_null} > ${tmp}/got
                cat ${tmp}/stats >> ${tmp}/got
                same "$(grep -c 'score=' ${tmp}/got) frames of ${size} ${format}, queue ${queue}" \
                    ${tmp}/expected ${tmp}/got
            done
        done
    done
}

cuda_passthrough(){
    # FFmpeg does not upload the last row of chroma of an odd height
    for format in yuv420p p010le yuv444p; do
        source=testsrc2=s=320x240:d=0.4,format=yuv420p,scale=174:98,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -lavfi ${source},${bliinds}=n_subsample=2,hwdownload,format=${format} > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

# Three in one graph, one after another and side by side, and the CPU filter.
cuda_instances(){
    ffmpeg -lavfi testsrc2=s=320x240:d=1,format=yuv420p,scale=175:99,format=yuv420p,hwupload_cuda,split=3[a][b][c]\;[a]bliinds_cuda=f=${tmp}/1,bliinds_cuda=f=${tmp}/2:queue=3[d]\;[b]bliinds_cuda=f=${tmp}/3:queue=1[e]\;[c]hwdownload,format=yuv420p,bliinds=f=${tmp}/cpu[f] \
        -map [d] ${to_null} -map [e] ${to_null} -map [f] ${to_null} || return
    for i in 1 2 3; do
        same "instance ${i}" ${tmp}/cpu ${tmp}/${i}
    done
    wc -l < ${tmp}/cpu
}

# The log has the frames that came in, whoever ended it.
cuda_end(){
    source=testsrc2=s=64x64:d=10,format=yuv420p
    ffmpeg -lavfi ${source},bliinds=f=${tmp}/cpu ${to_null}
    for queue in 1 8 64; do
        ffmpeg -lavfi ${source},${bliinds}=queue=${queue}:f=${tmp}/stats -frames:v 5 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 5 || echo "${lines} lines for 5 frames"
        head -n ${lines} ${tmp}/cpu > ${tmp}/expected
        same "5 frames, queue ${queue}" ${tmp}/expected ${tmp}/stats
        ffmpeg -lavfi ${source},${bliinds}=queue=${queue}:f=${tmp}/stats,trim=end_frame=2 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 2 || echo "${lines} lines for 2 frames"
        head -n ${lines} ${tmp}/cpu > ${tmp}/expected
        same "trim, queue ${queue}" ${tmp}/expected ${tmp}/stats
    done
}

# A new graph for each size.
cuda_resize(){
    for i in 1:rose_70x46 2:camera_crop_16x9 3:rose_70x46 4:camera_crop_300x240; do
        cp ${pictures}/${i#*:}.pgm ${tmp}/${i%:*}.pgm
    done
    ffmpeg -i ${tmp}/%d.pgm -vf bliinds=features=1,${print} ${to_null} | grep -v '^frame' > ${tmp}/expected
    ffmpeg -i ${tmp}/%d.pgm -vf ${gray}${bliinds}=features=1:queue=1,${print} ${to_null} | grep -v '^frame' > ${tmp}/got
    same "a graph for each size" ${tmp}/expected ${tmp}/got
    grep -c score= ${tmp}/got
    # ffmpeg does not take the frames in flight of a graph that it replaces, but they are logged
    for filters in bliinds ${gray}${bliinds}; do
        ffmpeg -i ${tmp}/%d.pgm -vf ${filters}=f=- ${to_null} > ${tmp}/${filters%%[=,]*}
    done
    same "their lines" ${tmp}/bliinds ${tmp}/scale
    grep -c score ${tmp}/scale
}

cuda_errors(){
    source=testsrc2=s=64x64:d=0.04,format=yuv420p
    fails -lavfi ${source},bliinds_cuda ${to_null}
    grep -q 'Impossible to convert\|not have a common format' ${tmp}/err && echo "frames of the CPU are refused"
    fails -lavfi ${source},scale,format=bgr0,${bliinds} ${to_null}
    fails -lavfi ${source},${bliinds}=queue=0 ${to_null} | sed 's/^Error applying.*//;/^$/d'
    fails -lavfi ${source},${bliinds}=f=/dev/full ${to_null}
}

# The GPU's filter has the same options, and queue.
cuda_options(){
    for filter in bliinds bliinds_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed '1,/ AVOptions:$/d' > ${tmp}/${filter}
    done
    grep -c model ${tmp}/bliinds_cuda
    diff ${tmp}/bliinds ${tmp}/bliinds_cuda | awk '/^[<>]/ { print $1, $2, $3 }'
}

# What ptxas makes of the PTX for a GPU goes to the log, what is wrong to stdout.
ptx_use(){ # compiler gpu
    if ! ptxas -v -arch=$2 -o /dev/null ${tmp}/ptx > ${tmp}/ptxas 2>&1; then
        cat ${tmp}/ptxas >&2
        if grep -q "not defined for option 'gpu-name'" ${tmp}/ptxas; then
            missing="ptxas does not know $2"
        else
            echo "ptxas does not accept it for $2"
        fi
        return
    fi
    awk -v title="PTX of $1 on $2:" '
        function before(word,    i) {
            for (i = 2; i <= NF; i++)
                if ($i ~ "^" word)
                    return $(i - 1)
        }
        / entry function /  { name = substr($7, 2, length($7) - 2) }
        / spill stores/     { spilled = $5 }
        / Used .*registers/ { print title, name, before("registers"), "registers,", spilled, "bytes spilled" }' \
        ${tmp}/ptxas > ${tmp}/use
    cat ${tmp}/use >&3
    # so few are not seen in the time
    awk -v kernels=$(grep -c '\.entry' ${tmp}/ptx) '
        $(NF - 2) > 200 { print "too much: " $0 }
        END { if (!NR || NR != kernels) print NR " kernels and not " kernels }' ${tmp}/use
}

# The kernels by one compiler: what it makes of them and, in the log, what they
# take of a GPU.
#
# No float operation may be contracted: PTX says so by .rn, without it ptxas may.
# Fused ones are where __builtin_fmaf() is written. Without these there are none.
ptx(){ # filter compiler flags
    kernels=${base}/../libavfilter/vf_$1.cu
    shift
    PATH=${PATH}:/usr/local/cuda/bin
    need $1 || return 0
    compiler=$1
    case ${compiler} in
    *nvcc*)
        # the first GPU that it knows, as configure does
        for gpu in 30 60 75 none; do
            ! ${compiler} -gencode arch=compute_${gpu},code=sm_${gpu} -ptx -o /dev/null -x cu /dev/null || break
        done
        set -- "$@" -gencode arch=compute_${gpu},code=sm_${gpu} -O2 -std=c++11 -m64 -ptx ;;
    esac
    echo "#define __builtin_fmaf(a, b, c) ((a) * (b) + (c))" > ${tmp}/unfused.h
    "$@" -o ${tmp}/ptx ${kernels} && "$@" -include ${tmp}/unfused.h -o ${tmp}/unfused ${kernels} || return
    grep -q '\.entry' ${tmp}/ptx && grep -q '\.entry' ${tmp}/unfused || { echo "no kernels"; return; }
    missing=
    command -v ptxas > /dev/null || missing="no ptxas"
    {
        case ${compiler} in
        *clang*) grep -q '^\.version 6\.0' ${tmp}/ptx && grep -q '^\.target sm_50' ${tmp}/ptx ||
                     echo "not PTX 6.0 for sm_50: $(grep -E '^\.(version|target)' ${tmp}/ptx | xargs)" ;;
        esac
        ! grep -E '(fma|mad)\.(rn\.)?(ftz\.)?f' ${tmp}/unfused || echo "fused by the compiler"
        ! grep -E '(add|sub|mul)\.(ftz\.)?f(32|64)' ${tmp}/ptx || echo "may be fused by ptxas"
        for gpu in sm_75 sm_90 sm_100; do
            test -n "${missing}" || ptx_use ${compiler} ${gpu}
        done
    } > ${tmp}/problems
    cat ${tmp}/problems
    if test -n "${missing}" && ! test -s ${tmp}/problems; then
        skip "${missing}, the PTX itself is good"
    else
        echo "good PTX"
    fi
}

# Formats of CUDA frames, and the CPU's with the same samples.
list_cuda_formats(){
    cat << END
nv12 yuv420p
yuv420p yuv420p
yuv444p yuv444p
p010le yuv420p10le
p016le yuv420p16le
yuv444p16le yuv444p16le
nv16 yuv422p
yuv422p yuv422p
p012le yuv420p12le
p210le yuv422p10le
p212le yuv422p12le
p216le yuv422p16le
yuv420p10le yuv420p10le
yuv422p10le yuv422p10le
yuv444p10le yuv444p10le
yuv444p10msble yuv444p10le
yuv444p12msble yuv444p12le
END
}

# ---- SSIM ----

# The GPU's filter and FFmpeg's ssim on the same frames, in one graph: their lines,
# metadata and summaries, in ${tmp}/gpu and ${tmp}/cpu. Frames of CUDA have another
# format than ssim takes where components are interleaved.
ssims(){ # main-source reference-source cuda-format cpu-format options cuda-options
    graph="$1,scale,format=$4,split[m][m2];$2,scale,format=$4,split[r][r2]"
    graph="${graph};[m][r]ssim=f=${tmp}/cpu.stats$5,metadata=print:file=${tmp}/cpu.keys[c]"
    graph="${graph};[m2]scale,format=$3,hwupload[m3];[r2]scale,format=$3,hwupload[r3]"
    graph="${graph};[m3][r3]ssim_cuda=f=${tmp}/gpu.stats$6,metadata=print:file=${tmp}/gpu.keys[g]"
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] ${to_null} -map [g] ${to_null} 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    for i in cpu:ssim gpu:ssim_cuda; do
        sed -n "s/^\[Parsed_${i#*:}_[0-9][^]]*\] SSIM/SSIM/p" ${tmp}/err |
            cat ${tmp}/${i%:*}.stats ${tmp}/${i%:*}.keys - > ${tmp}/${i%:*}
    done
    test ${status} = 0 && grep -q '^SSIM' ${tmp}/cpu
}

same_ssims(){ # name
    same "$1, $(grep -c '^n:' ${tmp}/cpu) pairs" ${tmp}/cpu ${tmp}/gpu
}

ssim_formats(){
    list_cuda_formats > ${tmp}/formats
    while read -r format planar; do
        uploads ${format} || continue
        for main in null avgblur=3 hflip negate; do
            if ssims testsrc2=s=320x240:d=0.2,scale=176:97,format=${planar},${main} \
                     testsrc2=s=320x240:d=0.2,scale=176:97 ${format} ${planar}; then
                same_ssims "${format} ${main}"
            else
                echo "${format} ${main}: failed"
            fi
        done
    done < ${tmp}/formats
}

# One window, odd sizes, and both sides of what warps and thread blocks take. FFmpeg
# does not upload the last row of chroma of an odd height, nor make the last column
# of p010 of an odd width: here no window has these.
ssim_sizes(){
    while read -r format planar sizes; do
        for size in ${sizes}; do
            ssims testsrc2=s=320x240:d=0.08,scale=${size},format=${planar},gblur=1 testsrc2=s=320x240:d=0.08,scale=${size} \
                ${format} ${planar} || echo "${size} ${format} failed"
            same_ssims "${size} ${format}"
        done
    done << END
nv12        yuv420p     16:16 17:19 33:33 70:46 126:30 128:30 132:30 254:62 257:41 992:20 998:22 1004:24 2003:51 3841:37
p010le      yuv420p10le 16:16 18:19 34:33 70:46 126:30 128:30 132:30 254:62 258:41 992:20 998:22 1004:24 2004:51 3842:37
yuv444p     yuv444p     8:8 9:11 17:15 63:23 127:27 128:28 133:31 1000:9 1003:10
yuv444p16le yuv444p16le 8:8 9:11 17:15 63:23 127:27 128:28 133:31 1987:9 1991:13 3977:8
END
}

# Inputs that begin and end at different times, in framesync's ways, for any number
# of pairs in flight.
ssim_sync(){
    encoded=testsrc2=s=64x64:r=25:d=1,scale,format=yuv420p,gblur=2
    source=testsrc2=s=64x64:r=25:d=1
    while read -r options trim_main trim_ref; do
        test ${options} != none || options=
        for queue in 1 3 8 64; do
            ssims ${encoded},${trim_main} ${source},${trim_ref} nv12 yuv420p "${options}" "${options}:queue=${queue}" ||
                echo "failed"
            same_ssims "${trim_main} ${trim_ref} ${options} queue ${queue}"
        done
    done << END
none                            null                null
none                            trim=end_frame=9    null
none                            null                trim=end_frame=9
:shortest=1                     null                trim=end_frame=9
:shortest=1                     trim=end_frame=9    null
:repeatlast=0                   null                trim=end_frame=9
:eof_action=pass                null                trim=end_frame=9
:eof_action=endall              null                trim=end_frame=9
none                            null                trim=start_frame=5
none                            trim=start_frame=5  null
none                            fps=10              null
none                            null                fps=7
:ts_sync_mode=nearest           fps=30              fps=7
:enable=lt(mod(n\\,7)\\,3)  null                null
none                            trim=end_frame=1    trim=end_frame=1
END
}

# Frames leave unchanged, with their time stamps, in order.
ssim_passthrough(){
    for format in yuv420p p010le; do
        source=testsrc2=s=320x240:d=0.8,scale=175:98,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -init_hw_device cuda -lavfi ${source},hwupload,split[a][b]\;[a][b]ssim_cuda,hwdownload,format=${format} > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

# An output that has enough ends it: all that came in is in the file.
ssim_end(){
    inputs="testsrc2=s=64x64:d=20,scale,format=yuv420p,gblur=2,scale,format=nv12,hwupload[m];testsrc2=s=64x64:d=20,scale,format=nv12,hwupload[r];[m][r]"
    ssims testsrc2=s=64x64:d=3,scale,format=yuv420p,gblur=2 testsrc2=s=64x64:d=3 nv12 yuv420p
    for queue in 1 8 64; do
        ffmpeg -init_hw_device cuda -lavfi "${inputs}ssim_cuda=queue=${queue}:f=${tmp}/stats" -frames:v 5 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 5 || echo "${lines} lines for 5 frames"
        head -n ${lines} ${tmp}/cpu.stats | head -n 75 > ${tmp}/expected
        head -n 75 ${tmp}/stats > ${tmp}/got
        same "5 frames, queue ${queue}" ${tmp}/expected ${tmp}/got
    done
}

# Two of them in a graph, and one after the other.
ssim_instances(){
    ssims testsrc2=s=176x98:d=0.8,scale,format=yuv420p,gblur=2 testsrc2=s=176x98:d=0.8 nv12 yuv420p || return
    graph="testsrc2=s=176x98:d=0.8,scale,format=yuv420p,gblur=2,scale,format=nv12,hwupload,split[m][m2]"
    graph="${graph};testsrc2=s=176x98:d=0.8,scale,format=yuv420p,scale,format=nv12,hwupload,split=3[r][r2][r3]"
    graph="${graph};[m][r]ssim_cuda=f=${tmp}/1[x];[x][r2]ssim_cuda=f=${tmp}/2:queue=1[c]"
    graph="${graph};[m2][r3]ssim_cuda=f=${tmp}/3:queue=3[d]"
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] ${to_null} -map [d] ${to_null} || return
    for i in 1 2 3; do
        same "instance ${i}" ${tmp}/cpu.stats ${tmp}/${i}
    done
}

ssim_errors(){
    parsed=ssim_cuda
    device="-init_hw_device cuda"
    clip=testsrc2=d=0.08
    cpu="${clip}:s=64x64,scale,format=nv12"
    gpu="${cpu},hwupload"
    while read -r m r options; do
        fails ${device} -lavfi "${m}[m];${r}[r];[m][r]ssim_cuda${options}" ${to_null} | sed "s,${tmp},folder,"
        ! grep -q 'Impossible to convert\|not have a common format' ${tmp}/err || echo "frames of the CPU are refused"
    done << END
${gpu} ${clip}:s=66x64,scale,format=nv12,hwupload
${gpu} ${clip}:s=64x64,scale,format=yuv420p,hwupload
${gpu} ${cpu}
${cpu} ${gpu}
${cpu},hwupload_cuda ${cpu},hwupload_cuda
${clip}:s=14x16,scale,format=nv12,hwupload ${clip}:s=14x16,scale,format=nv12,hwupload
${clip}:s=64x6,scale,format=yuv444p,hwupload ${clip}:s=64x6,scale,format=yuv444p,hwupload
${clip}:s=64x64,scale,format=bgr0,hwupload ${clip}:s=64x64,scale,format=bgr0,hwupload
${gpu} ${gpu} =f=/dev/full
${gpu} ${gpu} =f=${tmp}/none/stats
${gpu} ${gpu} =queue=0
END
}

# The GPU's filter has the same options, and queue.
ssim_options(){
    for filter in ssim ssim_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed "1,/^${filter} AVOptions:$/d" > ${tmp}/${filter}
    done
    grep -c 'stats_file\|eof_action\|shortest' ${tmp}/ssim_cuda
    diff ${tmp}/ssim ${tmp}/ssim_cuda | awk '/^[<>]/ { print $1, $2, $3 }'
}

# ---- MAD ----

# Metadata of a pair of pictures.
mad_pair(){ # distorted reference [options [filter-of-distorted filter-of-reference]]
    ffmpeg -i ${pictures}/$1 -i ${pictures}/$2 \
        -lavfi [0]${4:-null}[m]\;[1]${5:-null}[r]\;[m][r]mad$3,${print} ${to_null}
}

# Compares metadata on stdin with the three values of one frame, which is relative
# but for what is not printed.
mad_agree(){ # score hi lo [tolerance]
    awk -F= -v expected="$1 $2 $3" -v tolerance=${4:-1e-6} '
        BEGIN { split(expected, value, " ") }
        /^lavfi\.mad\./ {
            difference = $2 - value[++n]
            if (difference < 0)
                difference = -difference
            if ($2 ~ /^[0-9.]+$/ && difference <= tolerance * value[n] + 1e-9)
                good++
            else
                printf("%s and not %s\n", $0, value[n])
        }
        END { print good + 0 " values agree" }'
}

# By the authors' release.
mad_oracle(){ # distorted
    grep ",$1," ${pictures}/mad.csv | while IFS=, read -r reference distorted width height score hi lo rest; do
        mad_pair ${distorted}.png ${reference}.pgm | mad_agree ${score} ${hi} ${lo}
    done
}

mad_oracle_all(){
    find_oracle || return 0
    pictures=${oracle}/mad
    test -f ${pictures}/mad.csv || { skip "no pairs in ${oracle}"; return 0; }
    tail -n +2 ${pictures}/mad.csv | while IFS=, read -r reference distorted width height score hi lo rest; do
        mad_pair ${distorted} ${reference} | mad_agree ${score} ${hi} ${lo} | sed "s/^/${distorted}: /"
    done > ${tmp}/agree
    grep -v ': 3 values agree$' ${tmp}/agree
    grep -q agree ${tmp}/agree && echo "all values agree"
}

# Odd sizes, black and flat pictures, large errors that are not seen, none at all.
mad_cases(){
    tail -n +2 ${pictures}/mad_cases.csv |
        while IFS=, read -r reference distorted reference_filter main_filter score hi lo; do
            mad_pair ${distorted}.png ${reference}.pgm "" ${main_filter} ${reference_filter} |
                mad_agree ${score} ${hi} ${lo} | sed "s|^|${reference_filter} ${main_filter}: |"
        done
    echo "identical pictures"
    mad_pair chelsea_451x300.pgm chelsea_451x300.pgm | grep mad
    ffmpeg -lavfi testsrc2=s=175x99:d=0.2,format=yuv420p,split[a][b]\;[a][b]mad,${print} ${to_null} |
        grep mad | sort | uniq -c | sed 's/^ *//'
}

# The luma of a picture as bytes in a file, three times: planes or frames.
mad_luma(){ # picture file filter
    ffmpeg -i ${pictures}/$1 -vf crop=96:80:100:60,$3 -f rawvideo -y ${tmp}/luma
    cat ${tmp}/luma ${tmp}/luma ${tmp}/luma > $2
}

# The same as 16 bits in little endian, shifted up, with more bits added.
mad_shift(){ # file shift [more]
    od -An -v -tu1 $1 | awk -v shift=$2 -v more=${3:-0} '{
        for (i = 1; i <= NF; i++) {
            v = $i * 2 ^ shift + more
            printf("\\%03o\\%03o", v % 256, int(v / 256))
        } }' > ${tmp}/octal
    # shellcheck disable=SC2059
    printf "$(cat ${tmp}/octal)"
}

mad_raw(){ # main format reference format [options]
    ffmpeg -f rawvideo -pix_fmt $2 -video_size 96x80 -t 0.04 -i $1 \
        -f rawvideo -pix_fmt $4 -video_size 96x80 -t 0.04 -i $3 -lavfi [0][1]mad$5,${print} ${to_null}
}

# Each with itself, and with the reference in 8 bits.
mad_formats(){
    mad_luma camera_crop_300x240_jpeg15.png ${tmp}/main.8      null
    mad_luma camera_crop_300x240.pgm        ${tmp}/reference.8 null
    mad_raw ${tmp}/main.8 gray ${tmp}/reference.8 gray > ${tmp}/expected
    grep -c 'mad.*=[1-9]' ${tmp}/expected
    for format in gray:0 yuv410p:0 yuv411p:0 yuv420p:0 yuv422p:0 yuv440p:0 yuv444p:0 yuvj420p:0 \
                  nv12:0 nv21:0 nv16:0 nv24:0 nv42:0 \
                  gray9le:1 gray10le:2 gray12le:4 gray14le:6 gray16le:8 \
                  yuv420p9le:1 yuv420p10le:2 yuv422p10le:2 yuv440p10le:2 yuv444p10le:2 \
                  yuv420p12le:4 yuv420p14le:6 yuv420p16le:8 p010le:8 p012le:8 p016le:8 p210le:8 p416le:8 \
                  yuv444p10msble:8; do
        shift=${format#*:}
        format=${format%:*}
        knows ${format} || continue
        for picture in main reference; do
            if test ${shift} -gt 0; then
                mad_shift ${tmp}/${picture}.8 ${shift} > ${tmp}/${picture}
            else
                cp ${tmp}/${picture}.8 ${tmp}/${picture}
            fi
        done
        mad_raw ${tmp}/main ${format} ${tmp}/reference ${format} =range=full > ${tmp}/got
        same ${format} ${tmp}/expected ${tmp}/got
        mad_raw ${tmp}/main ${format} ${tmp}/reference.8 gray =range=full > ${tmp}/got
        same "${format} and gray" ${tmp}/expected ${tmp}/got
    done
    # high bits that are not the sample's
    mad_shift ${tmp}/main.8 2 64512 > ${tmp}/main
    mad_raw ${tmp}/main yuv420p10le ${tmp}/reference.8 gray =range=full > ${tmp}/got
    same "stray bits" ${tmp}/expected ${tmp}/got
    for format in rgb24 gbrp yuva420p ya8 yuyv422 grayf32le; do
        mad_raw ${tmp}/main.8 ${format} ${tmp}/reference.8 gray || echo "${format}: refused"
    done
}

# The numbers are double precision's of (v - 16) * 255 / 219.
mad_ranges(){
    limited=lut=c0=16+floor\(val*219/255\)
    while read -r score hi lo main reference options; do
        mad_pair camera_crop_300x240_jpeg15.png camera_crop_300x240.pgm "${options}" ${main} ${reference} |
            mad_agree ${score} ${hi} ${lo} | sed "s|^|${main} ${reference} ${options}: |"
    done << EOF
54.8169887968 4118.15392679 2.36506789685 null null
54.8169887968 4118.15392679 2.36506789685 setrange=limited setrange=limited =range=full
54.8169887968 4118.15392679 2.36506789685 setrange=limited setrange=limited =range=pc
57.342825071 5523.27986643 2.33760870491 null null =range=limited
57.342825071 5523.27986643 2.33760870491 setrange=full setrange=full =range=tv
57.342825071 5523.27986643 2.33760870491 setrange=limited setrange=limited =range=auto
54.5543035907 4134.40895515 2.34257023917 ${limited} ${limited} =range=limited
54.5543035907 4134.40895515 2.34257023917 ${limited},setrange=limited ${limited},setrange=limited
54.6761984318 4137.32833612 2.35108874703 ${limited},setrange=limited null
EOF
    # formats whose frames say nothing
    mad_luma camera_crop_300x240_jpeg15.png ${tmp}/main      ${limited}
    mad_luma camera_crop_300x240.pgm        ${tmp}/reference ${limited}
    mad_shift ${tmp}/main 2      > ${tmp}/main.10
    mad_shift ${tmp}/reference 2 > ${tmp}/reference.10
    mad_raw ${tmp}/main gray ${tmp}/reference gray =range=limited > ${tmp}/expected
    mad_raw ${tmp}/main gray ${tmp}/reference gray > ${tmp}/full
    cmp -s ${tmp}/full ${tmp}/expected && echo "gray is limited"
    while read -r file format options; do
        mad_raw ${tmp}/main${file#-} ${format} ${tmp}/reference${file#-} ${format} ${options} > ${tmp}/got
        same "${format} ${options}" ${tmp}/expected ${tmp}/got
    done << EOF
-    yuv420p
-    nv12        =range=auto
.10  yuv420p10le
.10  gray10le    =range=tv
EOF
}

# The luma of a drawn clip, blurred, and as it is.
mad_source(){ # size duration
    echo "testsrc2=s=$1:d=$2,format=yuv420p,split[r][d];[d]avgblur=1[m];[m][r]"
}

mad_threads(){
    for size in 321x243 64x64 131x64; do
        for n in 1 2 7 0; do
            ffmpeg -filter_complex_threads ${n} \
                -lavfi $(mad_source ${size} 0.12)mad=map=both:stats_file=${tmp}/stats[a][b][c]\;[a]${print}[d] \
                -map [d] ${to_null} -map [b] -f framemd5 -y ${tmp}/hi -map [c] -f framemd5 -y ${tmp}/lo > ${tmp}/${n}
            cat ${tmp}/stats ${tmp}/hi ${tmp}/lo >> ${tmp}/${n}
            same "$(grep -c 'score=[1-9]' ${tmp}/${n}) frames of ${size}, ${n} threads" ${tmp}/1 ${tmp}/${n}
        done
    done
}

# What is scored, and what comes out, is what FFmpeg's ssim makes of the same
# streams and options.
mad_sync(){
    source=testsrc2=s=64x64:d=0.4,format=yuv420p
    while read -r main reference options; do
        for filter in ssim ${parsed}; do
            ffmpeg -lavfi ${source},${main}[m]\;${source},negate,${reference}[r]\;[m][r]${filter}=${options},${print} \
                -bitexact -f framemd5 -y ${tmp}/md5 | grep '^frame' > ${tmp}/${filter}
            cat ${tmp}/md5 >> ${tmp}/${filter}
        done
        same "$(grep -c ^frame ${tmp}/ssim) scored of $(grep -c '^0' ${tmp}/ssim): ${main} ${reference} ${options}" \
            ${tmp}/ssim ${tmp}/${parsed}
    done << EOF
null null shortest=0
null trim=end_frame=4 shortest=0
null trim=end_frame=4 shortest=1
null trim=end_frame=4 repeatlast=0
null trim=end_frame=4 eof_action=endall
null trim=end_frame=4 eof_action=pass
trim=end_frame=4 null shortest=0
trim=end_frame=4 null shortest=1
fps=10 null ts_sync_mode=nearest
null fps=10 ts_sync_mode=nearest
null setpts=PTS+3/25/TB shortest=0
null trim=end_frame=0 shortest=0
trim=end_frame=0 null shortest=0
null null enable='between(n,2,4)'
EOF
}

# How many frames a file of framecrc or framemd5 has.
frames(){
    for file; do
        grep -c '^0' ${file}
    done | xargs
}

# The maps are double precision's, sample by sample.
mad_maps(){
    set -- -i ${pictures}/camera_crop_300x240_jpeg15.png -i ${pictures}/camera_crop_300x240.pgm
    md5="-bitexact -f framemd5 -y"
    ffmpeg "$@" -lavfi [0][1]mad=map=both[a][b][c] -map [a] ${to_null} -map [b] ${md5} ${tmp}/hi -map [c] ${md5} ${tmp}/lo || return
    cat ${tmp}/hi ${tmp}/lo
    ffmpeg "$@" -lavfi [0][1]mad=map=hi[a][b] -map [a] ${to_null} -map [b] ${md5} ${tmp}/one
    same "hi alone" ${tmp}/hi ${tmp}/one
    ffmpeg "$@" -lavfi [0][1]mad=map=lo[a][b] -map [a] ${to_null} -map [b] ${md5} ${tmp}/one
    same "lo alone" ${tmp}/lo ${tmp}/one
    # a map's frame for each scored one, at its time, whoever asks first or stops
    source="$(mad_source 64x64 0.4)mad=map=both:enable=gte(n\\,3)[a][b][c]"
    ffmpeg -lavfi ${source} -map [c] ${md5} ${tmp}/2 -map [b] ${md5} ${tmp}/1 -map [a] ${md5} ${tmp}/0
    frames ${tmp}/0 ${tmp}/1 ${tmp}/2
    sed -n 's/^0, *[0-9]*, *\([0-9]*\),.*/\1/p' ${tmp}/2 | xargs
    ffmpeg -lavfi ${source}\;[b][c]hstack[d] -map [d] ${md5} ${tmp}/1 -map [a] ${md5} ${tmp}/0
    frames ${tmp}/0 ${tmp}/1
    ffmpeg -lavfi ${source}\;[c]trim=end_frame=2[d] -map [d] ${md5} ${tmp}/2 -map [b] ${md5} ${tmp}/1 -map [a] ${md5} ${tmp}/0
    frames ${tmp}/0 ${tmp}/1 ${tmp}/2
    ffmpeg -lavfi ${source}\;[a]nullsink -map [c] ${md5} ${tmp}/2 -map [b] ${md5} ${tmp}/1
    frames ${tmp}/1 ${tmp}/2
    ffmpeg -lavfi ${source}\;[a]trim=end_frame=6[d] -map [c] ${md5} ${tmp}/2 -map [b] ${md5} ${tmp}/1 -map [d] ${md5} ${tmp}/0
    frames ${tmp}/0 ${tmp}/1 ${tmp}/2
}

mad_passthrough(){
    for format in yuv420p gray yuv444p10le; do
        source=testsrc2=s=175x99:d=0.4,format=yuv420p,scale,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -filter_complex_threads 3 -lavfi ${source},split[a][b]\;[b]hflip[c]\;[a][c]${parsed} > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

# All forms have the same numbers, and pooled values are those of the frames.
mad_logs(){ # name-of-a-value...
    need jq || return 0
    for form in json csv xml; do
        ffmpeg -lavfi $(mad_source 96x80 0.4)${parsed}=log_path=${tmp}/${form}:log_fmt=${form}:f=${tmp}/stats,${print} \
            ${to_null} > ${tmp}/out 2> ${tmp}/err || return
    done
    sed -n "s/^lavfi.${parsed}.[a-z]*=//p" ${tmp}/out | xargs -n $# | plain > ${tmp}/expected
    grep -c '^[1-9].* [1-9].* ' ${tmp}/expected
    jq -r '.frames[].metrics | map(tostring) | join(" ")' ${tmp}/json | plain > ${tmp}/got
    same json ${tmp}/expected ${tmp}/got
    head -n 1 ${tmp}/csv
    sed '1d;s/^[0-9]*,//;s/,$//;s/,/ /g' ${tmp}/csv | plain > ${tmp}/got
    same csv ${tmp}/expected ${tmp}/got
    sed -n '/^ *<frame /{s/.* frameNum="[0-9]*" //;s/[a-zA-Z]*="\([^"]*\)"/\1/g;p}' ${tmp}/xml | cut -d' ' -f 1-$# | plain > ${tmp}/got
    same xml ${tmp}/expected ${tmp}/got
    sed "s/.*\( $1:\)/\1/;s/[a-z]*://g;s/^ //" ${tmp}/stats | plain > ${tmp}/got
    same stats_file ${tmp}/expected ${tmp}/got
    sed "s/ $1.*//" ${tmp}/stats | head -n 2
    jq -c '.filter, .direction, .range, .aggregate_metrics, (.pooled_metrics | keys_unsorted)' ${tmp}/json
    # but for what is rounded away
    digits=$(sed -n "1s/.* $1:[0-9]*\.\([0-9]*\).*/\1/p" ${tmp}/stats)
    jq -r "([.frames[].metrics.$1] | add / length) - .pooled_metrics.$1.mean | fabs < 2e-${#digits}" ${tmp}/json
    mean=$(awk '{ sum += $1 } END { printf("%.6f", sum / NR) }' ${tmp}/expected)
    messages < ${tmp}/err | sed "s/mean:${mean}/mean:MEAN/;s/[0-9][0-9]*\.[0-9]*/N/g"
    # frames that are not compared have numbers, too
    ffmpeg -lavfi "$(mad_source 64x64 0.8)${parsed}=enable='not(mod(n,4))':log_path=${tmp}/json:f=${tmp}/stats" ${to_null} || return
    cut -d' ' -f1,2 ${tmp}/stats | xargs
    jq -c '[.frames[].frameNum], .aggregate_metrics' ${tmp}/json
    # an output that has had enough
    ffmpeg -lavfi $(mad_source 64x64 10)${parsed}=log_path=${tmp}/json -frames:v 3 ${to_null} || return
    jq -r 'if (.frames | length) >= 3 then "3 frames" else . end' ${tmp}/json
}

mad_errors(){
    for size in 63x64 64x63 1x1 16385x64; do
        fails -lavfi color=s=${size}:d=0.04,format=gray,split[a][b]\;[a][b]mad ${to_null}
    done
    fails -lavfi testsrc2=s=96x80:d=0.04,format=yuv420p[a]\;testsrc2=s=80x96:d=0.04,format=yuv420p[b]\;[a][b]mad ${to_null}
    fails -lavfi $(mad_source 64x64 0.4)mad=log_path=${tmp}/none/log ${to_null} | sed "s,${tmp},folder,"
    if test -c /dev/full; then
        fails -lavfi $(mad_source 64x64 0.4)mad=f=/dev/full ${to_null}
    fi
    fails -lavfi $(mad_source 64x64 0.4)mad=map=all ${to_null} > /dev/null
    # what changes on the way: the frames take turns, so that none is early
    i=0
    for picture in camera_crop_300x240_jpeg15.png camera_crop_300x240.pgm chelsea_451x300_blur.png chelsea_451x300.pgm \
                   camera_crop_300x240_blur.png camera_crop_300x240.pgm chelsea_451x300.pgm; do
        i=$((i + 1))
        size=${picture#*_}
        size=${size#crop_}
        size=${size%%[_.]*}
        { printf 'P5\n%s\n255\n' "$(echo ${size} | tr x ' ')"; ffmpeg -i ${pictures}/${picture} -f rawvideo -; } > ${tmp}/${i}.pgm
    done
    for i in 1 3 5; do
        ffmpeg -i ${tmp}/${i}.pgm -i ${tmp}/$((i + 1)).pgm -lavfi [0][1]mad,${print} ${to_null} | grep mad
    done > ${tmp}/expected
    turns=split[a][b]\;[a]select=not\(mod\(n\\,2\)\),setpts=N[c]\;[b]select=mod\(n\\,2\),setpts=N[d]\;[c][d]
    ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -lavfi ${turns}mad=eof_action=endall,${print} ${to_null} | grep mad > ${tmp}/got
    same "$(grep -c 'score=[1-9]' ${tmp}/expected) sizes in one graph" ${tmp}/expected ${tmp}/got
    mv ${tmp}/7.pgm ${tmp}/6.pgm
    fails -reinit_filter 0 -i ${tmp}/%d.pgm -lavfi ${turns}mad ${to_null} | sed 's/[0-9][0-9]*\.[0-9]*/N/g'
}

# ---- MAD on a GPU ----

# The same test where there is cuFFT, too.
on_cufft(){ # test
    on_cuda with_cufft "$@"
}

with_cufft(){ # test
    if ! ffmpeg -init_hw_device cuda -lavfi "nullsrc=s=64x64:d=0.04,format=nv12,hwupload,split[m][r];[m][r]mad_cuda" \
            ${to_null} > ${tmp}/probe 2>&1 && grep -q 'cuFFT is not there' ${tmp}/probe; then
        skip "no cuFFT"
        return 0
    fi
    "$@"
}

# The CPU's and the GPU's filter on the same frames, in one graph: their lines are
# in ${tmp}/cpu and ${tmp}/gpu.
mad=mad
mads(){ # main-source reference-source format [options [cuda-options]]
    graph="$1,scale,format=$3,split[m][m2];$2,scale,format=$3,split[r][r2]"
    graph="${graph};[m][r]${mad}=f=${tmp}/cpu$4[c]"
    graph="${graph};[m2]hwupload[m3];[r2]hwupload[r3];[m3][r3]${mad}_cuda=f=${tmp}/gpu${5:-$4}[g]"
    rm -f ${tmp}/cpu ${tmp}/gpu
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] ${to_null} -map [g] ${to_null} 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    return ${status}
}

# Compares the lines of both: the same frames, values within 1e-4. What is printed
# of 0 is 0.
mads_agree(){ # name
    paste -d ' ' ${tmp}/cpu ${tmp}/gpu | awk -v name="$1" '
        {
            if (NF != 12)
                bad = "another number of frames"
            for (i = 1; i <= 6; i++) {
                split($i, cpu, ":")
                split($(i + 6), gpu, ":")
                difference = gpu[2] - cpu[2]
                if (difference < 0)
                    difference = -difference
                if (cpu[1] != gpu[1] || gpu[2] !~ /^[0-9.]+$/ || difference > (i > 3 ? 1e-4 * cpu[2] : 0))
                    bad = $i " and " $(i + 6)
            }
        }
        END { print name ", " NR " pairs: " (bad ? bad : NR ? "agree" : "none") }'
}

# A drawn clip with some noise, blurred, and as it is.
mad_main=testsrc2=s=320x240:d=0.12,format=yuv420p,noise=alls=6,avgblur=1
mad_reference=testsrc2=s=320x240:d=0.12,format=yuv420p,noise=alls=6

# By the authors' release.
mad_cuda_oracle(){ # distorted
    gray=scale=in_range=full:out_range=full,format=yuv444p,hwupload
    grep ",$1," ${pictures}/mad.csv | while IFS=, read -r reference distorted width height score hi lo rest; do
        ffmpeg -init_hw_device cuda -i ${pictures}/${distorted}.png -i ${pictures}/${reference}.pgm \
            -lavfi "[0]${gray}[m];[1]${gray}[r];[m][r]mad_cuda=range=full,${print}" ${to_null} |
            mad_agree ${score} ${hi} ${lo} 1e-5
    done
}

# Thread blocks and sub-blocks end at other places in each.
mad_cuda_sizes(){
    # the last ones are of what the kernels transform by themselves, with all radices
    for size in 64:64 65:67 131:64 163:243 451:300 1024:600 80:96 135:225 108:192 300:270 640:360 1920:64 160:1080 2592:64; do
        for format in yuv444p yuv444p16le; do
            mads ${mad_main},scale=${size} ${mad_reference},scale=${size} ${format} || echo failed
            mads_agree "${size} ${format}"
        done
    done
}

mad_cuda_formats(){
    list_cuda_formats > ${tmp}/formats
    while read -r format planar; do
        uploads ${format} || continue
        if mads ${mad_main} ${mad_reference} ${format}; then
            mads_agree ${format}
        else
            echo "${format}: failed"
        fi
    done < ${tmp}/formats
}

mad_cuda_ranges(){
    while read -r main reference options; do
        mads ${mad_main},${main} ${mad_reference},${reference} yuv444p ${options} || echo failed
        mads_agree "${main} ${reference} ${options}"
    done << END
null                null
null                null                :range=full
setrange=full       setrange=full
setrange=full       setrange=full       :range=tv
setrange=limited    setrange=full
setrange=full       setrange=limited    :range=limited
END
}

# What differs nowhere is 0, also what is flat, black, or differs by a constant.
mad_cuda_flat(){
    while read -r main reference; do
        ffmpeg -init_hw_device cuda -lavfi "${main},scale,format=yuv444p,hwupload[m];${reference},scale,format=yuv444p,hwupload[r];[m][r]mad_cuda,${print}" \
            ${to_null} | grep mad | sort | uniq -c | sed 's/^ *//'
    done << END
${mad_reference} ${mad_reference}
color=black:s=175x99:d=0.04 color=black:s=175x99:d=0.04
color=gray:s=175x99:d=0.04 color=gray:s=175x99:d=0.04
color=black:s=175x99:d=0.04 color=white:s=175x99:d=0.04
END
    mads ${mad_main},negate color=black:s=320x240:d=0.12 yuv420p
    mads_agree "against black"
}

# Inputs that begin and end at different times, for any number of pairs in flight.
mad_cuda_sync(){
    while read -r main reference options; do
        test ${options} != none || options=
        for queue in 1 3 64; do
            mads ${mad_main},crop=96:80,loop=-1:3,trim=end_frame=15,${main} ${mad_reference},crop=96:80,loop=-1:3,trim=end_frame=15,${reference} \
                nv12 "${options}" "${options}:queue=${queue}" || echo failed
            mads_agree "${main} ${reference} ${options} queue ${queue}"
        done
    done << END
null                null                none
null                trim=end_frame=4    none
null                trim=end_frame=4    :shortest=1
null                trim=end_frame=4    :repeatlast=0
null                trim=end_frame=4    :eof_action=pass
trim=end_frame=4    null                none
trim=start_frame=5  null                none
null                null                :enable=lt(mod(n\\,5)\\,2)
END
}

# Frames leave unchanged, with their time stamps, in order.
mad_cuda_passthrough(){
    for format in yuv420p p010le; do
        source=testsrc2=s=320x240:d=0.8,scale=174:98,format=${format},setpts=PTS*3+7
        framemd5 -lavfi ${source} > ${tmp}/without
        framemd5 -init_hw_device cuda -lavfi ${source},hwupload,split[a][b]\;[a][b]${mad}_cuda,hwdownload,format=${format} > ${tmp}/with
        same ${format} ${tmp}/without ${tmp}/with
    done
    grep -c '^0' ${tmp}/with
}

# Run after run, and beside others in a graph, the bits are the same.
mad_cuda_instances(){
    upload=scale,format=nv12,hwupload
    mads ${mad_main} ${mad_reference} nv12 || return
    mads_agree "one"
    cp ${tmp}/gpu ${tmp}/expected
    graph="${mad_main},${upload},split[m][m2];${mad_reference},${upload},split=3[r][r2][r3]"
    graph="${graph};[m][r]${mad}_cuda=f=${tmp}/1[x];[x][r2]${mad}_cuda=f=${tmp}/2:queue=1[c];[m2][r3]${mad}_cuda=f=${tmp}/3:queue=2[d]"
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] ${to_null} -map [d] ${to_null} || return
    for i in 1 2 3; do
        same "instance ${i}" ${tmp}/expected ${tmp}/${i}
    done
}

# An output that has enough ends it: all that came in is in the file.
mad_cuda_end(){
    inputs="${mad_main},crop=64:64,loop=-1:3,scale,format=nv12,hwupload[m];${mad_reference},crop=64:64,loop=-1:3,scale,format=nv12,hwupload[r];[m][r]"
    mads ${mad_main},crop=64:64,loop=-1:3,trim=end_frame=150 ${mad_reference},crop=64:64,loop=-1:3,trim=end_frame=150 nv12
    cp ${tmp}/gpu ${tmp}/all
    for queue in 1 8 64; do
        ffmpeg -init_hw_device cuda -lavfi "${inputs}${mad}_cuda=queue=${queue}:f=${tmp}/stats" -frames:v 5 ${to_null} || return
        lines=$(wc -l < ${tmp}/stats)
        test ${lines} -ge 5 || echo "${lines} lines for 5 frames"
        head -n ${lines} ${tmp}/all | head -n 150 > ${tmp}/expected
        head -n 150 ${tmp}/stats > ${tmp}/got
        same "5 frames, queue ${queue}" ${tmp}/expected ${tmp}/got
    done
}

mad_cuda_errors(){ # least-size
    least=$1
    parsed=${mad}_cuda
    clip=testsrc2=d=0.08
    while read -r m r options; do
        fails -init_hw_device cuda -lavfi "${clip}:${m}[m];${clip}:${r}[r];[m][r]${parsed}${options}" ${to_null} |
            sed "s,${tmp},folder,;s/0\.000000/0/"
        ! grep -q 'Impossible to convert\|not have a common format' ${tmp}/err || echo "frames of the CPU are refused"
    done << END
s=96x80,scale,format=nv12,hwupload s=80x96,scale,format=nv12,hwupload
s=96x80,scale,format=nv12,hwupload s=96x80,scale,format=yuv444p,hwupload
s=96x80,scale=$((least - 1)):64,format=nv12,hwupload s=96x80,scale=$((least - 1)):64,format=nv12,hwupload
s=96x80,scale=64:$((least - 1)),format=nv12,hwupload s=96x80,scale=64:$((least - 1)),format=nv12,hwupload
s=96x80,scale,format=nv12,hwupload s=96x80,scale,format=nv12
s=96x80,scale,format=nv12 s=96x80,scale,format=nv12,hwupload
s=96x80,scale,format=nv12,hwupload_cuda s=96x80,scale,format=nv12,hwupload_cuda
s=96x80,scale,format=bgr0,hwupload s=96x80,scale,format=bgr0,hwupload
s=96x80,scale,format=nv12,hwupload s=96x80,scale,format=nv12,hwupload =f=/dev/full
s=96x80,scale,format=nv12,hwupload s=96x80,scale,format=nv12,hwupload =log_path=${tmp}/none/log
s=96x80,scale,format=nv12,hwupload s=96x80,scale,format=nv12,hwupload =queue=0
END
}

# Without cuFFT, and with something else of its name: no GPU is needed for that.
mad_cuda_cufft(){
    need cc || return 0
    parsed=mad_cuda
    for version in 12 11 10; do
        : > ${tmp}/libcufft.so.${version}
    done
    LD_LIBRARY_PATH=${tmp}
    export LD_LIBRARY_PATH
    fails -lavfi testsrc2=d=0.04,split[a][b]\;[a][b]mad_cuda ${to_null}
    echo "int cufftCreate;" | cc -x c -shared -o ${tmp}/libcufft.so.11 -
    fails -lavfi testsrc2=d=0.04,split[a][b]\;[a][b]mad_cuda ${to_null}
}

# The GPU's filter has the same options, but maps, and queue.
mad_cuda_options(){
    for filter in ${mad} ${mad}_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed "1,/^${filter} AVOptions:$/d" > ${tmp}/${filter}
    done
    grep -c 'stats_file\|eof_action\|shortest' ${tmp}/${mad}_cuda
    diff ${tmp}/${mad} ${tmp}/${mad}_cuda | awk '/^[<>]/ { print $1, $2, $3 }'
}

# ---- blocks ----

# 8x8 blocks with steps of all heights, some noise on them, and a few hard edges.
blocks=testsrc2=s=44x32:d=0.12,scale=352:256:flags=neighbor,scale,format=yuv444p,noise=alls=5:allf=t:all_seed=7

# Smoothing as the papers say it, of numbers on stdin, a sample each.
smoothed(){ # width height depth qf block order
    awk -v w=$1 -v h=$2 -v depth=$3 -v qf=$4 -v size=$5 -v order=$6 '
        function at(line, i)      { return across ? i * w + line : line * w + i }
        function put(line, i, n)  { v[at(line, i)] = n < 0 ? 0 : n > 2 ^ depth - 1 ? 2 ^ depth - 1 : n }
        function get(line, i)     { return v[at(line, i)] }
        function apart(a, b)      { return a < b ? b - a : a - b }
        function pass(lines, n,    line, e, x, unit) {
            unit = 2 ^ (depth - 8)
            for (line = 0; line < lines; line++)
                for (e = size; e + 2 < n; e += size) {
                    x = get(line, e) - get(line, e - 1)
                    if (apart(get(line, e - 2), get(line, e - 1)) < 5 * unit &&
                        apart(get(line, e), get(line, e + 1)) < 5 * unit) {
                        if (apart(x, 0) >= 2.0 * qf * unit)
                            continue
                        put(line, e - 3, get(line, e - 3) + int(x / 8))
                        put(line, e - 2, get(line, e - 2) + int(x / 4))
                        put(line, e - 1, get(line, e - 1) + int(x / 2))
                        put(line, e,     get(line, e)     - int(x / 2))
                        put(line, e + 1, get(line, e + 1) - int(x / 4))
                        put(line, e + 2, get(line, e + 2) - int(x / 8))
                    } else if (apart(x, 0) < 0.8 * qf * unit) {
                        put(line, e - 2, get(line, e - 2) + int(x / 8))
                        put(line, e - 1, get(line, e - 1) + int(x / 2))
                        put(line, e,     get(line, e)     - int(x / 2))
                        put(line, e + 1, get(line, e + 1) - int(x / 8))
                    }
                }
        }
        { for (i = 1; i <= NF; i++) v[n++] = $i }
        END {
            for (i = 0; i < 2; i++) {
                across = (order == "vertical") != i
                if (across) pass(w, h)
                else        pass(h, w)
            }
            for (i = 0; i < n; i++)
                print v[i]
        }'
}

# The same kind of picture in any format, with no scaler, which differs from release
# to release: blocks with steps of up to 115, and a texture that is not always flat.
pattern(){ # size format
    case $2 in
    *16le) unit=256 ;; *14le) unit=64 ;; *12le) unit=16 ;; *10le) unit=4 ;; *9le) unit=2 ;; *) unit=1 ;;
    esac
    values="100+mod(floor(X/8)*5+floor(Y/8)*7+N*3\\,24)*mod(floor(X/32)+floor(Y/32)\\,6)+mod(X*X*3+Y*7+X*Y\\,7)-3"
    values="(${values})*${unit}+mod(X*5+Y*3\\,${unit})"
    case $2 in
    gbr*) values="g=${values}:b=${values}:r=${values}" ;;
    *)    values="lum=${values}" ;;
    esac
    echo "nullsrc=s=$1:d=0.12,format=$2,geq=${values}"
}

numbers(){ # depth
    if test $1 -gt 8; then od -A n -v -t u2; else od -A n -v -t u1; fi
}

blocksmooth_numbers(){
    while read -r width height depth qf block order filter; do
        format=gray
        test ${depth} = 8 || format=gray${depth}le
        ffmpeg -lavfi $(pattern ${width}x${height} ${format}),${filter} -frames:v 1 -f rawvideo -y ${tmp}/source || return
        ffmpeg -f rawvideo -pix_fmt ${format} -video_size ${width}x${height} -i ${tmp}/source \
            -vf blocksmooth=qf=${qf}:block=${block}:order=${order} -f rawvideo -y ${tmp}/smoothed || return
        numbers ${depth} < ${tmp}/source | smoothed ${width} ${height} ${depth} ${qf} ${block} ${order} > ${tmp}/expected
        numbers ${depth} < ${tmp}/smoothed | awk '{ for (i = 1; i <= NF; i++) print $i }' > ${tmp}/got
        numbers ${depth} < ${tmp}/source   | awk '{ for (i = 1; i <= NF; i++) print $i }' > ${tmp}/before
        same "${width}x${height} of ${depth} bits, ${filter}, qf ${qf}, block ${block}, ${order}, $(
              diff ${tmp}/before ${tmp}/got | grep -c '^>') samples changed" ${tmp}/expected ${tmp}/got
    done << END
176 144 8  127 8  horizontal  null
176 144 8  127 8  vertical    null
176 144 8  1   8  horizontal  null
176 144 8  7   8  horizontal  null
176 144 8  20  8  horizontal  null
176 144 8  255 8  vertical    null
177 141 8  60  16 horizontal  null
177 141 8  60  32 vertical    null
177 141 8  60  64 horizontal  null
175 99  10 127 8  horizontal  null
175 99  12 33  8  vertical    null
175 99  16 127 8  horizontal  null
175 99  16 255 16 vertical    null
1   1   8  127 8  horizontal  null
10  10  8  127 8  horizontal  null
11  10  8  127 8  horizontal  null
10  11  8  127 8  horizontal  null
11  11  8  127 8  vertical    null
176 144 8  127 8  horizontal  geq=lum=if(eq(mod(X\,8)\,7)\,251\,255)
176 144 8  127 8  vertical    geq=lum=if(eq(mod(X\,8)\,7)\,4\,0)
3   40  8  127 8  horizontal  null
40  3   16 127 8  vertical    null
END
}

blocksmooth_formats(){
    for format in gray gray10le gray16le yuv420p yuv422p yuv444p yuv440p yuv410p yuva420p yuv420p9le yuv420p10le \
                  yuv422p12le yuv444p14le yuv420p16le gbrp gbrp10le; do
        echo "#format ${format}"
        framecrc -lavfi $(pattern 175x99 ${format}),blocksmooth | grep -v '^#'
    done
}

# Planes, threads, timeline and commands.
blocksmooth_options(){
    for planes in 0 1 2 4 5; do
        echo "#planes ${planes}"
        framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=planes=${planes} | grep -v '^#'
    done
    framecrc -lavfi ${blocks},scale,format=yuv420p > ${tmp}/0
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=planes=0 > ${tmp}/1
    same "no plane, $(grep -c ^0, ${tmp}/1) frames" ${tmp}/0 ${tmp}/1
    for block in 8 64; do
        framecrc -filter_threads 1 -lavfi ${blocks},scale,format=yuv420p10le,blocksmooth=block=${block} > ${tmp}/1
        for threads in 2 3 16; do
            framecrc -filter_threads ${threads} -lavfi ${blocks},scale,format=yuv420p10le,blocksmooth=block=${block} > ${tmp}/n
            same "${threads} threads, $(grep -c ^0, ${tmp}/n) frames" ${tmp}/1 ${tmp}/n
        done
    done
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=qf=30 > ${tmp}/30
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=qf=99:order=vertical > ${tmp}/99
    # the last one is refused
    echo "0.04 blocksmooth qf 99, blocksmooth order vertical; 0.08 blocksmooth block 12;" > ${tmp}/list
    framecrc -lavfi ${blocks},scale,format=yuv420p,sendcmd=f=${tmp}/list,blocksmooth=qf=30 > ${tmp}/commands
    { grep '^0, *0,' ${tmp}/30; grep '^0, *[12],' ${tmp}/99; } > ${tmp}/expected
    grep '^0,' ${tmp}/commands > ${tmp}/got
    same "commands, $(wc -l < ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
    framecrc -lavfi ${blocks},scale,format=yuv420p,blocksmooth=qf=99:order=vertical:enable=eq\(n\\,1\) > ${tmp}/enable
    { grep '^0, *0,' ${tmp}/0; grep '^0, *1,' ${tmp}/99; grep '^0, *2,' ${tmp}/0; } > ${tmp}/expected
    grep '^0,' ${tmp}/enable > ${tmp}/got
    same "timeline, $(wc -l < ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
}

# Frames that change on the fly, which another branch of the graph has, too.
blocksmooth_changes(){
    smoothed="blocksmooth,bliinds=features=1,${print}"
    for i in 1:camera_crop_300x240 2:rose_70x46 3:chelsea_451x300 4:rose_70x46; do
        cp ${pictures}/${i#*:}.pgm ${tmp}/${i%:*}.pgm
        ffmpeg -i ${tmp}/${i%:*}.pgm -vf ${smoothed} ${to_null} | grep -v '^frame'
    done > ${tmp}/expected
    ffmpeg -reinit_filter 0 -i ${tmp}/%d.pgm -lavfi split[a][b]\;[a]${smoothed}[c] \
        -map [c] ${to_null} -map [b] ${to_null} | grep -v '^frame' > ${tmp}/got
    same "$(grep -c score ${tmp}/got) frames" ${tmp}/expected ${tmp}/got
    # one of bits
    { printf 'P4\n300 240\n'; head -c 9120 /dev/zero; } > ${tmp}/2.pgm
    parsed=blocksmooth
    fails -reinit_filter 0 -i ${tmp}/%d.pgm -vf blocksmooth ${to_null}
}

blocksmooth_errors(){
    parsed=blocksmooth
    for options in block=12 block=48 block=4 block=128 qf=0 qf=256 planes=16; do
        fails -lavfi ${blocks},blocksmooth=${options} ${to_null}
    done
}

# ---- blocks on a GPU ----

# Pictures of the GPU's filter and of the CPU's, in ${tmp}/gpu and ${tmp}/cpu.
smooths(){ # size cuda-format planar-format options [filter]
    graph="${blocks},crop=$1,scale,format=$3,${5:-null},split[a][b];[a]blocksmooth=$4[c]"
    graph="${graph};[b]scale,format=$2,hwupload,deblock_cuda=$4,hwdownload,format=$2,scale,format=$3[d]"
    ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] -f framemd5 -y ${tmp}/cpu -map [d] -f framemd5 -y ${tmp}/gpu 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    return ${status}
}

same_smooths(){ # name
    same "$1, $(grep -c '^0' ${tmp}/cpu) frames" ${tmp}/cpu ${tmp}/gpu
}

deblock_formats(){
    { list_cuda_formats; echo yuva420p yuva420p; } > ${tmp}/formats
    while read -r format planar; do
        uploads ${format} || continue
        for options in qf=127 qf=40:order=vertical; do
            if smooths 174:98 ${format} ${planar} ${options}; then
                same_smooths "${format} ${options}"
            else
                echo "${format} ${options}: failed"
            fi
        done
    done < ${tmp}/formats
    # noise of much contrast, of which smoothing goes below black and beyond white
    for format in nv12:yuv420p yuv444p:yuv444p; do
        smooths 174:98 ${format%:*} ${format#*:} qf=255 noise=alls=100:allf=t+u,lutyuv=y=2*val-128:u=2*val-128:v=2*val-128
        same_smooths "${format%:*} noise"
    done
}

# Odd and tiny sizes, and both sides of what a warp takes. FFmpeg neither uploads
# the last row of chroma of an odd height nor makes the last column of p010 of an
# odd width.
deblock_sizes(){
    while read -r format planar sizes; do
        for size in ${sizes}; do
            smooths ${size} ${format} ${planar} qf=127 || echo "${size} ${format} failed"
            same_smooths "${size} ${format}"
        done
    done << END
nv12        yuv420p     2:2 10:12 22:22 23:22 123:124 124:124 125:126 128:130 252:68 253:70 256:72
p010le      yuv420p10le 2:2 10:12 22:22 24:22 60:64 62:64 124:130 126:132 128:134
yuv444p     yuv444p     1:1 3:3 10:10 11:11 123:125 124:123 125:4 133:5 256:131
yuv444p16le yuv444p16le 1:1 3:3 10:10 11:11 59:61 60:63 61:65 62:4 133:5
END
}

deblock_options(){
    for options in planes=0 planes=1 planes=2 planes=4 planes=5 qf=1 qf=255 block=16 block=32:order=vertical block=64; do
        for format in nv12:yuv420p p010le:yuv420p10le yuv444p:yuv444p; do
            smooths 256:194 ${format%:*} ${format#*:} ${options} || echo "failed"
            same_smooths "${format%:*} ${options}"
        done
    done
    echo "0.04 blocksmooth qf 99, deblock_cuda qf 99; 0.08 blocksmooth order vertical, deblock_cuda order vertical;" > ${tmp}/list
    smooths 256:194 nv12 yuv420p qf=30 sendcmd=f=${tmp}/list || echo "failed"
    same_smooths "commands"
}

# What is also somewhere else is not changed there.
deblock_writable(){
    for options in qf=127 planes=1 planes=4 planes=0; do
        graph="${blocks},scale,format=yuv420p,split=3[a][b][c];[a]blocksmooth=${options}[d];[b]scale,format=nv12,hwupload,split[e][f]"
        graph="${graph};[e]deblock_cuda=${options},hwdownload,format=nv12,scale,format=yuv420p[g];[f]hwdownload,format=nv12,scale,format=yuv420p[h]"
        ffmpeg -init_hw_device cuda -lavfi ${graph} -map [c] -f framemd5 -y ${tmp}/before -map [d] -f framemd5 -y ${tmp}/cpu \
            -map [g] -f framemd5 -y ${tmp}/gpu -map [h] -f framemd5 -y ${tmp}/other || echo "${options}: failed"
        same "${options}: smoothed, $(grep -c '^0' ${tmp}/gpu) frames" ${tmp}/cpu ${tmp}/gpu
        same "${options}: not smoothed, $(grep -c '^0' ${tmp}/other) frames" ${tmp}/before ${tmp}/other
    done
}

deblock_errors(){
    parsed=deblock_cuda
    device="-init_hw_device cuda"
    fails ${device} -lavfi ${blocks},deblock_cuda ${to_null}
    ! grep -q 'Impossible to convert\|not have a common format' ${tmp}/err || echo "frames of the CPU are refused"
    fails ${device} -lavfi ${blocks},scale,format=bgr0,hwupload,deblock_cuda ${to_null}
    fails ${device} -lavfi ${blocks},scale,format=nv12,hwupload,deblock_cuda=block=12 ${to_null}
}

# Both filters have the same options.
deblock_same_options(){
    for filter in blocksmooth deblock_cuda; do
        run ffmpeg${PROGSUF}${EXECSUF} -v quiet -h filter=${filter} | sed '1,/ AVOptions:$/d' > ${tmp}/${filter}
    done
    grep -c qf ${tmp}/deblock_cuda
    same options ${tmp}/blocksmooth ${tmp}/deblock_cuda
}

# ---- the farm ----

# Programs in a folder of their own, with an ffmpeg that can be told to behave badly.
farm_programs(){ # body-of-ffmpeg
    mkdir -p ${tmp}/bin
    for program in ffprobe${PROGSUF}${EXECSUF} tools/quality_merge${EXECSUF}; do
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
    "${tools}/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg "$@" < /dev/null 2> ${tmp}/err
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
    root=$(dirname $(readlink -f ${base}/quality.sh))/..
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
    (cd ${tmp}/b && "${tools}/quality-farm" --ffmpeg ../bin/ffmpeg -o ../results --filter bliinds clip.avi ./clip.avi 2>&1 | sed 's/: .*//')
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
        echo "$(basename ${i}): $(${tools}/quality-farm --ffmpeg ${tmp}/bin/ffmpeg --damage ${i} ${tmp}/frames.log ${tmp}/err |
            sed 's/[0-9]* errors*: .*/with errors/')"
    done
}

# What was done is not done again, whatever has ended the first run.
farm_resume(){
    farm_programs << 'END'
case " $* " in
*" log_fmt=record"* | *log_fmt=record*)
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
    "${tools}/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg -o ${tmp}/results --jobs 1 --segment 2s --filter bliinds ${tmp}/a.avi \
        < /dev/null 2> ${tmp}/err &
    pid=$!
    tries=100
    while test "$(cat ${tmp}/calls 2> /dev/null | wc -l)" -lt 4 && test ${tries} -gt 0; do sleep 0.1; tries=$((tries - 1)); done
    "${tools}/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg -o ${tmp}/results --filter bliinds ${tmp}/a.avi 2> /dev/null
    echo "exit code $? beside it"
    kill -9 ${pid}
    wait ${pid}
    echo "killed with $(find ${tmp}/results -name '*.record' | wc -l) of $(find ${tmp}/results -name '*.cpu' | wc -l) parts"
    rm ${tmp}/calls
    : > ${tmp}/hang
    "${tools}/quality-farm" --ffmpeg ${tmp}/bin/ffmpeg -o ${tmp}/results --jobs 1 --segment 2s --filter bliinds ${tmp}/a.avi < /dev/null 2> ${tmp}/err &
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
    project=$(dirname $(readlink -f ${base}/quality.sh))/..
    sed -n 's/^    //p' ${project}/doc/farm.md ${project}/README.md | grep -E '^(quality-farm|quality_merge|find|tail|ffmpeg .*record) ?' | grep $1 -e ' --slurm' > ${tmp}/examples
    mkdir -p ${tmp}/here/archive
    test -e ${tmp}/here/film.mkv || farm_video 10 null -c:v mpeg4 -g 25 ${tmp}/here/film.mkv
    for i in archive/a.mp4 archive/b.mp4 other.mp4; do test -e ${tmp}/here/${i} || farm_video 2 null -c:v mpeg4 ${tmp}/here/${i}; done
    cp ${tmp}/here/film.mkv ${tmp}/here/archive/c.mkv
    ln -sf ${tools}/quality-farm ${tmp}/bin/
    (cd ${tmp}/here && PATH=$(readlink -f ../bin):${PATH} bash -e ../examples > ../out) && echo "$(wc -l < ${tmp}/examples) examples run"
}

farm_docs(){
    farm_needs || return 0
    test -e $(dirname $(readlink -f ${base}/quality.sh))/../doc/farm.md || { skip "no doc/farm.md beside the tests"; return 0; }
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
    while test ${tries} -gt 0 && ! { test "$(grep -c ^n2 ${tmp}/calls 2> /dev/null)" = 2 && find ${tmp}/results -name '*.record' | grep -q .; }; do
        sleep 0.1
        tries=$((tries - 1))
    done
    ${slurm} kill ${tmp}/slurm n2
    echo "a node is lost with $(find ${tmp}/results -name '*.record' | wc -l | awk '{ print ($1 > 0 && $1 < 16) ? "some" : $1 }') of $(find ${tmp}/results -name '*.gpu' | wc -l) parts scored"
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
    test ! -e $(dirname $(readlink -f ${base}/quality.sh))/../doc/farm.md || farm_examples -i
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

# Records that are not those of a whole.
farm_merge(){
    farm_needs || return 0
    merge="run tools/quality_merge${EXECSUF}"
    farm_video 4 null -c:v ffv1 -g 25 ${tmp}/a.mkv
    record=log_path=${tmp}/whole:log_fmt=record
    ffmpeg -i ${tmp}/a.mkv -vf bliinds=${record} ${to_null}
    for part in a:0:53 b:50:100 c:54:100 d:49:52; do
        range=${part#*:}
        ffmpeg -i ${tmp}/a.mkv -vf "select=between(n\\,${range%:*}\\,${range#*:}),bliinds=log_path=${tmp}/${part%%:*}:log_fmt=record" ${to_null}
    done
    ffmpeg -i ${tmp}/a.mkv -vf "select=not(between(n\\,20\\,20))*lt(n\\,54),bliinds=log_path=${tmp}/gap:log_fmt=record" ${to_null}
    ffmpeg -i ${tmp}/a.mkv -vf "bliinds=n_subsample=2:log_path=${tmp}/some:log_fmt=record" ${to_null}
    ffmpeg -i ${tmp}/a.mkv -vf "select=gte(n\\,50),bliinds=range=full:log_path=${tmp}/range:log_fmt=record" ${to_null}
    sed '/^frame 2 /s/ 0x1\.\(.\)/ 0x1.\10/2' ${tmp}/b > ${tmp}/value
    sed '/^frame 1 /d' ${tmp}/b > ${tmp}/lost
    sed '$d' ${tmp}/b > ${tmp}/cut
    sed 's/^model .*/model other/' ${tmp}/b > ${tmp}/model
    sed 's/^version .*/version Lavfi1.2.3/' ${tmp}/whole > ${tmp}/version
    sed 's/^metric score [0-9]*/metric score 999999999/' ${tmp}/whole > ${tmp}/digits
    sed 's/^\(metric score .*\) [0-9]* $/\1 9 /' ${tmp}/whole > ${tmp}/direction
    sed 's/^frame 99 /frame 18446744073709551615 /' ${tmp}/whole > ${tmp}/number
    sed 's/^frame 7 /frame 8 /' ${tmp}/whole > ${tmp}/twice
    sed '/^frame 7 /s/ [^ ]*$//' ${tmp}/whole > ${tmp}/short
    while read -r parts; do
        set --
        for i in ${parts}; do set -- "$@" ${tmp}/${i}; done
        rm -f ${tmp}/log
        ${merge} -log_path ${tmp}/log "$@" > ${tmp}/out 2> ${tmp}/err
        status=$?
        cat ${tmp}/err >&2
        echo "${parts}: exit code ${status}, $(test -e ${tmp}/log && grep -c frameNum ${tmp}/log || echo no) frames"
        sed "s/^\[[^]]*\] */    /;s,${tmp}/,,g;s/mean:.*//;s/this is Lavfi[0-9.]*/this is another/" ${tmp}/err
    done << EOF
whole
a b
a c
a d
b a
a a
a b b
gap b
a some
a range
a value
a lost
a cut
a model
some
version
digits
direction
number
twice
short
none
EOF
    for fmt in json csv xml record; do
        ffmpeg -i ${tmp}/a.mkv -vf bliinds=log_path=${tmp}/whole.${fmt}:log_fmt=${fmt}:f=${tmp}/whole.stats ${to_null}
        ${merge} -log_path ${tmp}/parts.${fmt} -log_fmt ${fmt} -stats_file ${tmp}/parts.stats ${tmp}/a ${tmp}/b
        for i in whole parts; do sed '/"\{0,1\}fps/d;/^end/d' ${tmp}/${i}.${fmt} > ${tmp}/${i}.nofps; done
        same ${fmt} ${tmp}/whole.nofps ${tmp}/parts.nofps
    done
    same stats_file ${tmp}/whole.stats ${tmp}/parts.stats
    ${merge} -log_path ${tmp}/none/log ${tmp}/a 2>&1 | messages_of_merge
    ${merge} -log_path /dev/full ${tmp}/a 2>&1 | messages_of_merge
    ${merge} -nothing x ${tmp}/a > /dev/null 2>&1
    echo "exit code $?"
}

messages_of_merge(){
    sed -n "s/^\[[^]]*\] *//p" | sed "s,${tmp}/,," | head -n 1
}

# ---- memory ----

# Runs what stdin has, a name and arguments a line.
check_memory(){
    test -z "${target_exec}" || { skip "runs under ${target_exec} already"; return 0; }
    need valgrind || return 0
    grep -q __asan_init ffmpeg${PROGSUF}${EXECSUF} && { skip "built with another checker of memory"; return 0; }
    target_exec="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"
    while read -r name options; do
        rm -f ${tmp}/progress
        ffmpeg -progress ${tmp}/progress ${options} ${to_null}
        status=$?
        test ${status} != 0 || grep -qs 'progress=end' ${tmp}/progress || status="no end"
        case ${status} in
        0)  echo "${name}: ok" ;;
        99) echo "${name}: an error of memory" ;;
        *)  echo "${name}: failed" ;;
        esac
    done
}

# Odd sizes, 16 bits, threads, a change of size, an early end, and what fails.
memory(){
    cp ${pictures}/camera_crop_16x9.pgm ${tmp}/1.pgm
    cp ${pictures}/camera_crop_7x64.pgm ${tmp}/2.pgm
    cp ${pictures}/camera_crop_16x9.pgm ${tmp}/3.pgm
    printf 'P5\n3 3\n255\n123456789' > ${tmp}/small.pgm
    check_memory << EOF
sizes    -reinit_filter 0 -i ${tmp}/%d.pgm -filter_threads 2 -vf bliinds=features=1:log_path=${tmp}/log:f=${tmp}/stats
bits     -f rawvideo -pix_fmt p010le -video_size 33x31 -i ${pictures}/rose_70x46.pgm -filter_threads 3 -vf bliinds=log_path=${tmp}/log:log_fmt=xml
end      -f rawvideo -pix_fmt gray -video_size 21x23 -i ${pictures}/rose_70x46.pgm -vf bliinds=log_path=${tmp}/log -frames:v 2
nomodel  -i ${tmp}/1.pgm -vf bliinds=model=${tmp}/none
badmodel -i ${tmp}/1.pgm -vf bliinds=model=${pictures}/crops.csv
nolog    -i ${tmp}/1.pgm -vf bliinds=log_path=${tmp}/none/log
fulllog  -i ${tmp}/1.pgm -vf bliinds=f=/dev/full
rrwrite  -f rawvideo -pix_fmt gray -video_size 21x23 -i ${pictures}/rose_70x46.pgm -vf bliinds=rr_write=${tmp}/rr
rrread   -f rawvideo -pix_fmt gray -video_size 21x23 -i ${pictures}/rose_70x46.pgm -vf bliinds=rr_read=${tmp}/rr:log_path=${tmp}/log
rrsize   -i ${tmp}/1.pgm -vf bliinds=rr_read=${tmp}/rr
rrbad    -i ${tmp}/1.pgm -vf bliinds=rr_read=${pictures}/crops.csv
rrfull   -i ${tmp}/1.pgm -vf bliinds=rr_write=/dev/full
small    -i ${tmp}/small.pgm -vf bliinds
EOF
}

mad_memory(){
    picture=${pictures}/camera_crop_300x240.pgm
    for i in 1:64x65 2:71x66 3:64x64; do
        size=${i#*:}
        { printf 'P5\n%s\n255\n' "$(echo ${size} | tr x ' ')"; tail -c 5000 ${picture}; } > ${tmp}/${i%:*}.pgm
    done
    check_memory << EOF
maps   -i ${picture} -filter_complex_threads 3 -lavfi crop=67:74,split[a][b];[a]hflip[c];[c][b]mad=map=both:log_path=${tmp}/log:f=${tmp}/stats[d][e][f];[e][f]hstack[g];[d]nullsink -map [g]
bits   -f rawvideo -pix_fmt p010le -video_size 66x65 -i ${picture} -f rawvideo -pix_fmt yuv420p14le -video_size 66x65 -i ${picture} -lavfi [0][1]mad=log_path=${tmp}/log:log_fmt=xml
end    -f rawvideo -pix_fmt gray -video_size 71x64 -i ${picture} -f rawvideo -pix_fmt gray -video_size 71x64 -t 0.16 -i ${picture} -lavfi [0][1]mad=repeatlast=0:map=lo[a][b];[b]trim=end_frame=1[c] -map [a] -frames:v 2 ${to_null} -map [c]
sizes  -reinit_filter 0 -i ${tmp}/%d.pgm -filter_complex_threads 2 -lavfi split[a][b];[a][b]mad
small  -i ${tmp}/1.pgm -lavfi crop=63:65,split[a][b];[a][b]mad
nolog  -i ${tmp}/1.pgm -lavfi split[a][b];[a][b]mad=log_path=${tmp}/none/log
full   -i ${tmp}/1.pgm -lavfi split[a][b];[a][b]mad=f=/dev/full:map=both[c][d][e];[c]nullsink;[d]nullsink -map [e]
EOF
}

# ---- report and gate ----

project=$(cd ${base}/.. && pwd)
report=${project}/tools/quality-report
gate=${project}/tools/quality-gate
ffmpeg_path=$(pwd)/ffmpeg${PROGSUF}${EXECSUF}
# or else output that waits, and files that are left, would not be seen
unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE

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
    echo "quality-farm: exit code $?, $(farm_row ${tmp}/clip.avi status frames parts)"
    ${bin}/quality-report ${tmp}/results/clip.avi.log --video ${tmp}/clip.avi --worst 2 -o ${tmp}/page.html
    echo "quality-report: exit code $?, $(page sound ${tmp}/page.html), $(grep -o 'data:image/jpeg' ${tmp}/page.html | wc -l) pictures"
    ${bin}/quality-compare -m ssim,bliinds -o ${tmp}/results ${tmp}/clip.avi ${tmp}/clip.avi > ${tmp}/table 2> ${tmp}/err
    echo "quality-compare: exit code $?, $(wc -l < ${tmp}/results/clip.avi.csv) lines, $(page sound ${tmp}/results/report.html)"
    lines 50 i > ${tmp}/log
    ${bin}/quality-gate --above 40 ${tmp}/log > /dev/null 2>&1
    echo "quality-gate: exit code $?"
    ${bin}/quality_merge ${tmp}/none 2> ${tmp}/err
    echo "quality_merge: exit code $?"
    ${bin}/ffcrf -h > ${tmp}/out 2>&1
    echo "ffcrf: exit code $?"
    find ${tmp}/usr -name '*.pyc' | wc -l
    mv ${tmp}/usr ${tmp}/root$(sed -n 's/^prefix=//p' ffbuild/config.mak)
    (unset MAKEFLAGS MFLAGS MAKELEVEL; make uninstall-quality DESTDIR=$(readlink -f ${tmp})/root) > /dev/null
    find ${tmp}/root -name 'quality*'
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
    readme=$(dirname $(readlink -f ${base}/quality.sh))/../README.md
    test -f ${readme} && grep -q '^## The page and the gate' ${readme} || { skip "no README here"; return 0; }
    sed -n '/^## The page and the gate/,/^## /p' ${readme} | sed '$d' > ${tmp}/readme
    printed ${tmp}/readme
}
