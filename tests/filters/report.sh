# shellcheck shell=sh disable=SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# Tests of the tools: those of tests/tools, by pytest, and what needs a build.
# SPDX-License-Identifier: LGPL-2.1-or-later

ffmpeg_path=$(pwd)/ffmpeg${PROGSUF}${EXECSUF}
# or else output that waits, and files that are left, would not be seen
unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE

# The tests of tests/tools/test_NAME.py, or some of them. What these skip is told.
tools_test(){ # name [some]
    /usr/bin/python3 -m pytest --version > /dev/null 2>&1 || { skip "no python3-pytest"; return 0; }
    FFMPEG=${ffmpeg_path} timeout 15m /usr/bin/python3 -B -m pytest -q -rs -p no:cacheprovider --basetemp=${tmp}/pytest \
        ${project}/tests/tools/test_$1.py ${2:+-k "$2"} > ${tmp}/out
    status=$?
    cat ${tmp}/out >&2
    sed -n 's/^SKIPPED \[[0-9]*\] .*: \(.*\)/\1/p' ${tmp}/out > ${tmp}/skips
    while read -r why; do skipped "${test}, a part" "${why}"; done < ${tmp}/skips
    # 5: the whole file is skipped
    test ${status} = 0 || { test ${status} = 5 && test -s ${tmp}/skips; } && echo "all tests pass"
}

# What make install installs works there, without the build and with the ffmpeg beside it.
report_install(){
    test -z "${target_exec}" || { skip "runs under ${target_exec}"; return 0; }
    need python3 pod2man || return 0
    (unset MAKEFLAGS MFLAGS MAKELEVEL; make install install-man DESTDIR=$(readlink -f ${tmp})/root) > ${tmp}/install.log 2>&1 ||
        { tail -n 25 ${tmp}/install.log; return; }
    mv ${tmp}/root$(sed -n 's/^prefix=//p' ffbuild/config.mak) ${tmp}/usr
    bin=$(readlink -f ${tmp})/usr/bin
    # another ffmpeg would be seen
    printf '#!/bin/sh\necho "another ffmpeg" >&2\nexit 1\n' |
        install -D /dev/stdin ${tmp}/other/ffmpeg
    ln -s ffmpeg ${tmp}/other/ffprobe
    PATH=$(readlink -f ${tmp})/other:${PATH}
    ${bin}/ffmpeg -v error -f lavfi -i testsrc2=s=96x64:r=25:d=4,format=yuv420p -c:v mjpeg ${tmp}/clip.avi
    CUDA_VISIBLE_DEVICES='' \
        ${bin}/quality-farm -o ${tmp}/results --filter bliinds ${tmp}/clip.avi > ${tmp}/table 2> ${tmp}/err
    echo "quality-farm: exit code $?, $(tail -n 1 ${tmp}/results/summary.csv | cut -d, -f3,4)"
    ${bin}/quality-report $(find ${tmp}/results -name 'clip.avi.*.log') --video ${tmp}/clip.avi --worst 1 -o ${tmp}/page.html
    echo "quality-report: exit code $?, $(grep -o 'data:image/jpeg' ${tmp}/page.html | wc -l) pictures"
    ${bin}/quality-compare -m ssim,bliinds -o ${tmp}/compared ${tmp}/clip.avi ${tmp}/clip.avi > ${tmp}/table 2> ${tmp}/err
    echo "quality-compare: exit code $?, $(grep -c frameNum ${tmp}/compared/clip.avi.json) frames"
    seq 50 | awk '{ print "n:" $1 " pts:" $1 " pts_time:" $1 / 25 " score:" $1 }' > ${tmp}/log
    ${bin}/quality-gate --above 40 ${tmp}/log > /dev/null 2>&1
    echo "quality-gate: exit code $?"
    man=${tmp}/usr/share/man/man1
    for tool in ffcrf quality-compare quality-farm quality-gate quality-report; do
        ${bin}/${tool} --version
        ! grep -q '^\.SH "\?OPTIONS' ${man}/${tool}.1 || echo "and its manual"
    done | sed "s/ $(cat ${base}/../tools/quality.version)\b.*/ VERSION/"
    find ${tmp}/usr -name '*.pyc' | wc -l
    sed -n 's/^\.SS "\?\(bliinds\|blocksmooth\|cambi\|mad\|quantizer_metadata\|ssim_cuda\|ssimulacra2\|vmaf\)"\?$/manual of the filter \1/p' \
        ${man}/ffmpeg-filters.1 ${man}/ffmpeg-bitstream-filters.1
    mv ${tmp}/usr ${tmp}/root$(sed -n 's/^prefix=//p' ffbuild/config.mak)
    (unset MAKEFLAGS MFLAGS MAKELEVEL; make uninstall DESTDIR=$(readlink -f ${tmp})/root) > /dev/null
    find ${tmp}/root ! -type d
}
