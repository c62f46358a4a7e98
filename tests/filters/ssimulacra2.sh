# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154
# Tests of ssimulacra2, for CMD in tests/fate/metrics.mak: they come after tests/filters/common.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Draw both pictures of a pair in raw planes of a format each, ${tmp}/encode and ${tmp}/source. Where a
# sample is depends on the size of its plane alone, so that formats show the same picture.
draw_pair(){ # kind width height format-of-encode format-of-source
    awk -v kind=$1 -v w=$2 -v h=$3 -v encode_format=$4 -v source_format=$5 \
        -v encode=${tmp}/encode -v source=${tmp}/source '
        function put(v, depth, file) {
            v = v < 0 ? 0 : v > 2 ^ depth - 1 ? 2 ^ depth - 1 : int(v)
            printf(depth > 8 ? "%c%c" : "%c", v % 256, int(v / 256)) > file
        }
        function odd(a) { return int(a) % 2 }
        # a sample of 8 bits with a fraction
        function sample(p, x, y, is_encode,    v) {
            s = (s * 1664525 + 1013904223) % 4294967296
            if (kind == "extremes")
                return p ? 128 : is_encode ? 235 : 16
            if (kind == "random")
                return int(s / 16777216)
            if (p == 0)
                v = 40 + int(x * 140 / w) + int(y / 18) + 30 * (odd(x / 16) != odd(y / 16))
            else
                v = p == 1 ? 110 + int((x * x + 3 * y) / 64) % 37 : 120 + int(x * y / 32) % 29
            if (kind == "equal" || kind == "one")
                return v + (kind == "one" && is_encode && p == 0 && x == int(w / 3) && y == int(h / 2))
            if (kind == "near")
                return v + (is_encode && s < 40000000) + int(s / 67108864) / 64
            return is_encode ? int(v / 6) * 6 : v + int(s / 134217728) / 4
        }
        function draw(format, file, is_encode,    depth, sx, sy, planes, p, x, y, gray) {
            depth  = match(format, /(10|12)le$/) ? substr(format, RSTART, 2) + 0 : 8
            sx     = format ~ /42[02]p/
            sy     = format ~ /420p/
            planes = format ~ /gray/ ? 1 : 3
            s = 1 + is_encode * (kind == "random")
            for (p = 0; p < planes; p++)
                for (y = 0; y < (p && sy ? int((h + 1) / 2) : h); y++)
                    for (x = 0; x < (p && sx ? int((w + 1) / 2) : w); x++)
                        put(sample(p, p && sx ? 2 * x : x, p && sy ? 2 * y : y, is_encode) * 2 ^ (depth - 8),
                            depth, file)
        }
        BEGIN {
            draw(encode_format, encode, 1)
            draw(source_format, source, 0)
        }'
}

# Tags of a table as a filter: matrix:range:location.
tagged(){
    echo "$1" | sed 's/\(.*\):\(.*\):\(.*\)/setparams=colorspace=\1:range=\2:chroma_location=\3/; s/colorspace=rgb/colorspace=gbr/'
}

# The filter on a drawn pair.
on_pair(){ # options tags-of-encode tags-of-source [options-of-ffmpeg]
    ffmpeg -f rawvideo -pix_fmt ${encode_format} -video_size ${size} -i ${tmp}/encode \
           -f rawvideo -pix_fmt ${source_format} -video_size ${size} -i ${tmp}/source \
           -lavfi "[0]${2:-null}[m];[1]${3:-null}[r];[m][r]ssimulacra2=$1" ${4} ${to_null}
}

score_of(){
    sed 's/.* score://'
}

# A picture as tests/oracle/ssimulacra2.c reads it.
described(){ # file format tags
    layout=$(echo $2 | sed 's/^gbrp/rgbp/; s/^yuvj*//; s/p*\([0-9]*\)le$/:\1/; s/p$/:8/; s/^gray$/gray:8/')
    location=$(echo ${3##*:} | sed 's/bottomleft/02/; s/topleft/00/; s/left/01/; s/center/11/; s/top/10/; s/bottom/12/')
    echo "$1 ${layout} $(echo $3 | sed 's/\(.*\):\(.*\):.*/\1 \2/') ${location}"
}

# Scores in exact arithmetic. With EXACT, tests/oracle/ssimulacra2.c compiled, the table is printed anew. The
# float form of near-equal pictures is less precise, and so are scores of large numbers.
ssimulacra2_exact(){
    while read -r size kind encode_format encode_tags source_format source_tags variant transfer exact; do
        draw_pair ${kind} ${size%x*} ${size#*x} ${encode_format} ${source_format}
        if test -n "${EXACT:-}"; then
            echo "${size} ${kind} ${encode_format} ${encode_tags} ${source_format} ${source_tags} ${variant} ${transfer}" \
                $(${EXACT} ${variant} ${transfer} ${size} $(described ${tmp}/encode ${encode_format} ${encode_tags}) \
                    $(described ${tmp}/source ${source_format} ${source_tags}))
            continue
        fi
        options="variant=${variant}:transfer=${transfer}:f=-"
        score=$(on_pair ${options} $(tagged ${encode_tags}) $(tagged ${source_tags}) | score_of)
        test -z "${LIST}" || echo "${score} ${exact} ${size} ${kind} ${encode_format} ${source_format}" >> ${LIST}
        echo "${score:-none} ${exact}" | awk -v name="${size} ${kind} ${encode_format} ${source_format}" '
            function size(a) { return a < 0 ? -a : a }
            {
                limit = $2 >= 99.5 ? .02 : size($2) * 3e-6 > 1e-3 ? size($2) * 3e-6 : 1e-3
                print name ($1 != "none" && size($1 - $2) <= limit ? ": agrees" : ": " $1 " and not " $2)
            }'
    done < ${pictures}/ssimulacra2.txt
}

# Any number of threads has the same digits: more rows than a band, and more columns than a tile.
ssimulacra2_threads(){
    size=530x300 encode_format=yuv420p source_format=yuv422p10le
    draw_pair steps 530 300 ${encode_format} ${source_format}
    for variant in reference vszip; do
        for threads in 1 2 3 16; do
            on_pair variant=${variant}:f=- "" "" "-filter_complex_threads ${threads}" | score_of > ${tmp}/${threads}
        done
        for threads in 2 3 16; do
            same "${variant}, ${threads} threads" ${tmp}/1 ${tmp}/${threads}
        done
    done
}

# Interleaved chroma, and samples in the upper bits.
ssimulacra2_layouts(){
    size=142x117
    while read -r format layout; do
        encode_format=${format} source_format=${format}
        draw_pair steps 142 117 ${format} ${format}
        on_pair f=- > ${tmp}/planar
        on_pair f=- scale,format=${layout} > ${tmp}/main
        on_pair f=- scale,format=${layout} scale,format=${layout} > ${tmp}/both
        same "${layout} against ${format}" ${tmp}/planar ${tmp}/main
        same "${layout}" ${tmp}/planar ${tmp}/both
    done << END
yuv420p     nv12
yuv420p     nv21
yuv422p     nv16
yuv444p     nv24
yuv420p10le p010le
yuv420p12le p012le
yuv422p10le p210le
yuv444p12le p412le
END
}

# Tags that a frame lacks are those of the other input, or assumed with a warning.
ssimulacra2_tags(){
    while read -r size format encode_tags source_tags all; do
        encode_format=${format} source_format=${format}
        draw_pair steps ${size%x*} ${size#*x} ${format} ${format}
        test ${encode_tags} != - || encode_tags=null
        test ${source_tags} != - || source_tags=null
        heard on_pair f=- ${encode_tags} ${source_tags} > ${tmp}/assumed
        on_pair f=- $(tagged ${all}) $(tagged ${all}) > ${tmp}/tagged
        same "${size} ${format} ${encode_tags} ${source_tags}" ${tmp}/tagged ${tmp}/assumed
        grep -o 'The [a-z]* *[a-z]* is not tagged: .*' ${tmp}/err || true
    done << END
120x114 yuv420p  - - smpte170m:tv:left
16x650  yuv420p  - - smpte170m:tv:left
16x651  yuv420p  - - bt709:tv:left
120x114 yuvj420p - - smpte170m:pc:center
120x114 yuv420p  setparams=colorspace=bt2020nc:range=pc:chroma_location=bottom - bt2020nc:pc:bottom
120x114 yuv420p  - setparams=colorspace=fcc fcc:tv:left
120x114 yuv422p  - setparams=chroma_location=top smpte170m:tv:top
120x114 yuv420p  setparams=color_primaries=bt470bg setparams=color_primaries=smpte240m smpte170m:tv:left
120x114 gray     - setparams=range=pc smpte170m:pc:left
END
}

ssimulacra2_errors(){
    while read -r size format options tags; do
        fails -lavfi "testsrc2=s=${size}:d=0.04,scale=${size},format=${format},split[a][b];[b]${tags:-null}[c];[a][c]ssimulacra2=${options}" ${to_null}
    done << END
7x16 gray transfer=srgb
16x7 gray transfer=srgb
64x48 yuv420p transfer=srgb setparams=color_trc=smpte2084
64x48 yuv420p transfer=srgb setparams=color_trc=arib-std-b67
64x48 yuv420p transfer=srgb setparams=color_primaries=bt2020
64x48 yuv420p transfer=srgb setparams=color_primaries=smpte432
64x48 yuv444p transfer=srgb setparams=colorspace=ycgco
64x48 yuv420p transfer=srgb setparams=colorspace=bt2020c
64x48 yuv420p transfer=srgb scale=64x50
END
}

# Scores below 0 have no harmonic mean; percentiles are by nearest rank.
ssimulacra2_logs(){
    heard ffmpeg -lavfi "testsrc2=s=160x128:r=25:d=1.6,format=yuv420p,setparams=colorspace=bt709:range=tv:chroma_location=left,split[a][b];[a]lutyuv=y='if(between(val,0,90),235,val)',gblur=2:enable='lt(n,20)'[m];[m][b]ssimulacra2=log_path=${tmp}/log:f=${tmp}/lines,${print}" ${to_null} |
        sed -n 's/lavfi.ssimulacra2.score=//p' > ${tmp}/metadata
    score_of < ${tmp}/lines > ${tmp}/scores
    same "metadata and lines" ${tmp}/scores ${tmp}/metadata
    sed -n 's/.*"ssimulacra2": \(-*[0-9.]*\)}.*/\1/p' ${tmp}/log > ${tmp}/json
    same "log and lines" ${tmp}/scores ${tmp}/json
    sort -n ${tmp}/scores | awk '{ v[NR] = $1 } END { print NR, v[1] < 0, sprintf("%.2f %.2f", v[1], v[2]) }' > ${tmp}/sorted
    cut -d' ' -f1,2 ${tmp}/sorted
    grep -o '"range".*, ' ${tmp}/log
    grep -o '"harmonic_mean": [a-z0-9.]*' ${tmp}/log
    grep -o '"p1.*[0-9]' ${tmp}/log | sed 's/"//g; s/p[15]: //g; s/,//' > ${tmp}/percentiles
    cut -d' ' -f3,4 ${tmp}/sorted > ${tmp}/ranks
    same "percentiles" ${tmp}/ranks ${tmp}/percentiles
    grep -o 'SSIMULACRA2 .*' ${tmp}/err | sed 's/-*[0-9]*\.[0-9]\{2,6\}/N/g'
}
