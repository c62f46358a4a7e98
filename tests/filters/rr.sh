# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the reduced reference.
# SPDX-License-Identifier: LGPL-2.1-or-later

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
        heard ffmpeg ${raw} -vf "$(echo "${read}" | sed "s|@|${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats|")" ${to_null}
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
    heard ffmpeg ${raw} -i ${tmp}/encode -vf ${gray}${bliinds}=rr_read=${tmp}/rr:log_path=${tmp}/log ${to_null}
    messages < ${tmp}/err | sed "s,${tmp},folder,;s/[0-9]*\.[0-9]\{6\}/N/g"
    jq -r '"metrics: \(.frames[0].metrics | keys_unsorted | join(" "))",
        "loss: \(.loss)",
        "frames 2, 3, 7: \([.frames[2, 3, 7].metrics | [.valid, (.loss | if . then . + .5 | floor else . end)]] | tojson)",
        "pooled: \([.pooled_metrics.loss | .min, .mean, .p50, .max | . + .5 | floor] | tojson)",
        "aggregate: \(.aggregate_metrics | tojson)"' ${tmp}/log
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
        heard ffmpeg ${raw} -vf ${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats ${to_null} || echo "a failure"
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
    while IFS='|' read -r name script; do
        test ${name} = none || sed "${script}" ${tmp}/good > ${tmp}/${name}
        test ${name} != zeros || head -c 300 /dev/zero >> ${tmp}/zeros
        heard ffmpeg ${raw} -vf ${gray}${bliinds}=rr_read=${tmp}/${name} ${to_null}
        rr_messages < ${tmp}/err | grep -v '^Failed to configure' | sed "s/^/${name}: /"
        case ${status}${name} in
        0no-frames) ;;
        0*)         echo "but no failure" ;;
        13[2-9]*)   echo "and a crash: ${status}" ;;
        esac
    done << 'EOF'
none|
empty|d
version|s/rr 3/rr 2/
junk|s/rr 3/rr 3x/
magic|1s/.*/bliinds-r/;2,$d
no-format|2d
range|2s/full/broad/
width|2s/70/0/
letter|9s/1/x/
short|9s/ [^ ]*$//
long|9s/$/ 1/
huge|9s/ [^ ]*$/ 99999999999999999999/
nan|9s/ [^ ]*$/ nan/
twice|$p
zeros|
no-frames|3,$d
wider|s/ 70 46 / 140 46 /
higher|s/ 70 46 / 70 92 /
EOF
    for path in /dev/full ${tmp}/none/rr ${tmp}; do
        fails ${raw} -vf ${gray}${bliinds}=rr_write=${path} ${to_null} | sed "s,${tmp},folder,"
    done
    for written in rr_write=${tmp}/good rr_write=${tmp}/./good f=${tmp}/good log_path=${tmp}/good; do
        fails ${raw} -vf ${gray}${bliinds}=rr_read=${tmp}/good:${written} ${to_null} | sed "s,${tmp},folder,g"
    done
    wc -l < ${tmp}/good
    # no file may have more than 4 kB here
    (trap '' XFSZ; ulimit -f 8; ffmpeg -lavfi testsrc2=s=64x64:d=10,format=yuv420p,${bliinds}=rr_write=${tmp}/rr ${to_null} 2>&1
     echo "status $?") | tee ${tmp}/err >&2
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
    heard ffmpeg ${raw} -filter_complex "[0:v]${gray}${bliinds}=rr_write=${tmp}/rr${gray_download}[v]" -map "[v]" -c:v rawvideo ${to_null} \
        -dec 0:0 -filter_complex "[dec:0]${gray}${bliinds}=rr_read=${tmp}/rr:f=${tmp}/stats[e]" -map "[e]" ${to_null}
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
