# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests under a memory checker.
# SPDX-License-Identifier: LGPL-2.1-or-later

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
