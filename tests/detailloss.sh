# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2095,SC2125,SC2154
# Tests of detailloss and detailloss_cuda, for CMD in tests/fate/metrics.mak: they come after
# tests/filters/common.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later

# Real pictures that move, and a drawn clip with colours.
clip_of(){ # name width height
    case $1 in
    camera)  echo "-i ${pictures}/camera_crop_300x240.pgm -vf loop=2:1,crop=$2:$3:n*5:n*3" ;;
    chelsea) echo "-i ${pictures}/chelsea_451x300.pgm -vf loop=2:1,crop=$2:$3:100-n*3:n*2" ;;
    drawn)   echo "-lavfi testsrc2=s=320x240:d=0.12,noise=alls=6:allf=t,scale=$2:$3:flags=neighbor" ;;
    pale)    echo "$(clip_of drawn $2 $3),scale,format=yuv444p,lutyuv=u=124+val/32:v=124+val/32" ;;
    esac
}

# Raw frames of a clip and of what a filter makes of it: ${tmp}/source and ${tmp}/encode.
make_raw(){ # clip format size filter
    graph=$(clip_of $1 ${3%x*} ${3#*x}),scale,format=$2
    ffmpeg ${graph} -frames:v ${frames:-3} -f rawvideo -y ${tmp}/source &&
        ffmpeg ${graph},$4,format=$2 -frames:v ${frames:-3} -f rawvideo -y ${tmp}/encode
}

# The filter on raw frames, and its lines.
on_raw(){ # format size [filter-of-both]
    raw="-f rawvideo -pix_fmt $1 -video_size $2"
    ffmpeg ${raw} -i ${tmp}/encode ${raw} -i ${tmp}/source \
        -lavfi [0]${3:-null}[m]\;[1]${3:-null}[r]\;[m][r]detailloss=f=- ${to_null}
}

# The filter's lines on stdin against the reference's in a file: within 1e-4, of what is larger
# than 1 relatively.
agree_with(){ # name file
    sed 's/^n:.* loss:/loss:/; s/ sigma:[^ ]*//; s/[a-z]*://g' | paste -d' ' - $2 | awk -v name="$1" '
        function far(a, b,    d) {
            d = a > b ? a - b : b - a
            return a ~ /^[0-9.]+$/ ? b !~ /^[0-9.]+$/ || d > 1e-4 * (b > 1 ? b : 1) : a != "nan" || b != "nan"
        }
        {
            bad = bad || NF != 10
            for (i = 1; i <= 5; i++)
                bad = bad || far($i, $(i + 5))
            if (bad)
                print
            lost += $2 > 0 || $4 ~ /[1-9]/
        }
        END { print name ": " (bad ? "differ" : NR " frames agree, " lost " have lost something") }'
}

# Against double precision, by a program of its own.
detailloss_numbers(){
    /usr/bin/python3 -c 'import numpy' 2> /dev/null || { skip "no python3-numpy"; return 0; }
    reference="/usr/bin/python3 ${project}/tests/detailloss_reference.py"
    frames=2
    while read -r clip format size range filter; do
        make_raw ${clip} ${format} ${size} ${filter} || echo failed
        ${reference} ${tmp}/encode ${tmp}/source ${format} ${size} ${range} > ${tmp}/expected
        on_raw ${format} ${size} setrange=${range} | agree_with "${clip} ${format} ${size} ${range} ${filter}" ${tmp}/expected
    done << END
camera  gray         96x80   full    avgblur=1
camera  gray16le     17x31   full    avgblur=1
camera  gray10le     19x16   limited negate
chelsea gray         16x16   limited avgblur=1
chelsea gray         131x97  limited lut=c0=bitand(val\\,240)
chelsea gray         96x80   full    scale=24:20,scale=96:80
chelsea gray         96x80   full    lut=c0=128
chelsea gray         96x80   full    lut=c0=255-val/4
drawn   yuv420p      176x113 limited avgblur=1
drawn   yuv420p      96x80   limited negate
drawn   yuv420p      16x16   limited avgblur=1
drawn   yuv420p      79x160  limited avgblur=1
drawn   yuv422p10le  165x83  limited scale=80:40,scale=165:83
drawn   yuv444p      97x99   full    gblur=2
drawn   yuv410p      99x101  limited avgblur=2
drawn   yuv411p      99x101  limited avgblur=2
drawn   yuv440p      97x99   full    avgblur=1
drawn   yuv420p16le  113x81  full    avgblur=1
drawn   yuv444p12le  97x81   limited lutyuv=u=1024+val/2
pale    yuv444p      96x80   full    avgblur=5
END
    # what goes on without detail can be large; from 2160 lines on the display is another one
    for whole in 2159x2304 2160x2304; do
        make_raw drawn yuv420p 96x96 avgblur=1
        for i in source encode; do
            ffmpeg -f rawvideo -pix_fmt yuv420p -video_size 96x96 -i ${tmp}/${i} -vf pad=192:192:color=gray -f rawvideo -y ${tmp}/padded
            mv ${tmp}/padded ${tmp}/${i}
        done
        ${reference} ${tmp}/encode ${tmp}/source yuv420p 192x192 limited ${whole} > ${tmp}/expected
        on_raw yuv420p 192x192 pad=$(echo ${whole} | tr x :):color=gray | agree_with "padded to ${whole}" ${tmp}/expected
    done
}

# A picture has lost nothing of itself, however it moves; nothing is of more worth than a blank one.
detailloss_limits(){
    for format in gray gray12le yuv420p nv12 yuvj422p yuv444p16le p010le; do
        ffmpeg -lavfi testsrc2=s=175x99:d=0.2,format=yuv420p,scale,format=${format},split,detailloss=f=- ${to_null} |
            sed 's/^n:[^l]*//;s/ sigma:[^ ]*//;s/ motion:0.000000/ none/;s/ motion:.*/ some/' | sort | uniq -c | sed "s/^ */${format}: /"
    done
    # the more is lost, the larger the loss; without anything left it is all
    for clip in camera chelsea drawn; do
        for filter in null avgblur=1 avgblur=2 avgblur=4 avgblur=8 avgblur=16 avgblur=32 lut=c0=128; do
            make_raw ${clip} yuv420p 192x160 ${filter} || echo failed
            on_raw yuv420p 192x160 | head -n 1 | sed 's/.* loss:\([^ ]*\).*/\1/'
        done | awk -v name=${clip} '
            NR > 1 && ($1 < last || $1 == last && last < 100) { print name ": " last ", then " $1 }
            { last = $1 }
            END { print name ": " NR " steps up to " last }'
    done
    for encoder in mpeg4 mjpeg; do
        for q in 2 3 5 8 12 18 26 31; do
            clip=testsrc2=s=320x240:d=0.2,noise=alls=8,scale,format=yuv420p
            test ${encoder} = mpeg4 || clip=${clip},scale,format=yuvj420p
            ffmpeg -lavfi ${clip} -c:v ${encoder} -q:v ${q} -flags +bitexact -y ${tmp}/encode.avi || echo failed
            ffmpeg -i ${tmp}/encode.avi -lavfi "[0]null[m];${clip}[r];[m][r]detailloss=f=${tmp}/stats" ${to_null} || echo failed
            sed 's/.* loss://' ${tmp}/stats | awk '{ sum += $1 } END { print sum / NR }'
        done | awk -v name=${encoder} '
            $1 <= last { print name ": " last ", then " $1 }
            { last = $1 }
            END { print name ": " NR " steps" (last > 10 && last < 100 ? "" : " up to " last) }'
    done
}

# With n_subsample those frames are compared that bliinds would score; the motion is from the frame
# directly before, also where the timeline has left that one alone.
detailloss_subsample(){
    clip=$(mad_source 96x80 1.6)
    ffmpeg -lavfi "${clip}detailloss=f=-" ${to_null} > ${tmp}/all
    for n in 1 2 3 7 100; do
        ffmpeg -lavfi "testsrc2=s=96x80:d=1.6,format=yuv420p,bliinds=n_subsample=${n}:f=-" ${to_null} | sed 's/ .*/ /' > ${tmp}/chosen
        ffmpeg -lavfi "${clip}detailloss=n_subsample=${n}:f=-" ${to_null} > ${tmp}/got
        grep -f ${tmp}/chosen ${tmp}/all > ${tmp}/expected
        same "$(wc -l < ${tmp}/got) of $(wc -l < ${tmp}/all)" ${tmp}/expected ${tmp}/got
    done
    ffmpeg -lavfi "${clip}detailloss=enable='not(mod(n,5))':f=-" ${to_null} > ${tmp}/got
    sed -n '1p;6~5p' ${tmp}/all > ${tmp}/expected
    same "each fifth by the timeline" ${tmp}/expected ${tmp}/got
    # a frame of the source that comes twice has not moved
    ffmpeg -lavfi "testsrc2=s=96x80:d=0.4,format=yuv420p,split[a][b];[b]fps=12.5[c];[a][c]detailloss=f=-" ${to_null} |
        sed 's/.*motion:0.000000/still/;s/.*motion.*/moves/' | xargs
    ffmpeg -lavfi "${clip}detailloss,${print}" ${to_null} | grep detailloss | sed 's/=.*//' | sort | uniq -c | sed 's/^ *//'
    # without chroma there is no value of it, neither that of another filter before
    ffmpeg -lavfi "testsrc2=s=96x80:d=0.04,format=gray,metadata=add:key=lavfi.detailloss.chroma:value=1,split,detailloss,${print}" ${to_null} |
        sed '/detailloss/!d;s/\(sigma=\).*/\1/' | sort
}

detailloss_errors(){
    pair_errors 15x16 16x15 1x1 16385x16
    # a new graph for each size
    i=0
    for size in 96x80 96x80 65x33 65x33 16x16 16x16 96x80; do
        i=$((i + 1))
        ffmpeg -lavfi testsrc2=s=${size}:r=50,format=gray,avgblur=$((1 + i % 2 * 3)) -frames:v 1 -y ${tmp}/${i}.pgm
    done
    ffmpeg -i ${tmp}/%d.pgm -lavfi split,detailloss=f=${tmp}/stats ${to_null}
    sed 's/ loss.*//' ${tmp}/stats | xargs
}
