# shellcheck shell=sh disable=SC2086,SC2154
# Tests under a checker of memory.
# SPDX-License-Identifier: LGPL-2.1-or-later

with_valgrind(){ # command...
    test -z "${target_exec}" || { skip "runs under ${target_exec} already"; return 0; }
    need valgrind || return 0
    grep -q __asan_init ffmpeg${PROGSUF}${EXECSUF} && { skip "built with another checker of memory"; return 0; }
    target_exec="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite"
    "$@"
}

# Odd sizes, 16 bits, threads, early ends, and what fails.
metric_memory(){
    run libavfilter/tests/filter_matrix${EXECSUF} memory > ${tmp}/out << EOF || echo "status $?"
16x9,16x9,16x9 bliinds=features=1:log_path=${tmp}/log:f=${tmp}/stats
33x31 bliinds=log_path=${tmp}/log
16x9 bliinds=model=${tmp}/none
16x9 bliinds=model=${pictures}/crops.csv
16x9 bliinds=log_path=${tmp}/none/log
16x9,16x9 bliinds=f=/dev/full
21x23,21x23 bliinds=log_path=${tmp}/log
3x3 bliinds
33x31,33x31 blocksmooth
67x74,67x74 mad=log_path=${tmp}/log:f=${tmp}/stats
71x64 mad=repeatlast=0:log_path=${tmp}/log,trim=end_frame=1
67x74 mad=output=appearance
63x65 mad
64x65 mad=log_path=${tmp}/none/log
64x65,64x65 mad=f=/dev/full
217x219,217x219,217x219 vmaf=log_path=${tmp}/log:f=${tmp}/stats
217x219 vmaf=repeatlast=0:model=version=vmaf_v1.0.16_hfr_3d0h,trim=end_frame=1
215x215 vmaf
217x219 vmaf=log_path=${tmp}/none/log
217x219,217x219 vmaf=f=/dev/full
EOF
    sed "s,${tmp},folder,g;s,${pictures},pictures,g" ${tmp}/out
}
