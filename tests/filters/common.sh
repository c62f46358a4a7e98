# shellcheck shell=sh disable=SC1090,SC2013,SC2034,SC2046,SC2086,SC2095,SC2125,SC2154,SC2258
# What the tests of the filters and tools share, for CMD in tests/fate/metrics.mak: they
# run inside of fate-run.sh, with its functions and variables.
# SPDX-License-Identifier: LGPL-2.1-or-later

# the repository, or the tree that has the overlay
project=$(cd $(dirname $(readlink -f ${base}/filters/common.sh))/../.. && pwd)
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

rm -rf ${tmp} ${outdir}/${test}.skipped ${outdir}/${test}.on_cpu
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

# Whether FFmpeg has a pixel format: not all are in all releases.
knows(){ # format
    test -s ${tmp}/formats || run ffmpeg${PROGSUF}${EXECSUF} -v quiet -pix_fmts > ${tmp}/formats
    grep -q " $1 " ${tmp}/formats && return
    # a program that says nothing does not lack a format
    ! test -s ${tmp}/formats || leave_out $1
    return 1
}

# The formats that a filter takes, with the same values of the same samples.
matrix_of_formats(){ # arguments of filter_matrix
    for format in $(sed 's/:.*//' ${ref}); do
        knows ${format} || true
    done
    run libavfilter/tests/filter_matrix${EXECSUF} "$@"
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

has_cuda(){
    run ffmpeg${PROGSUF}${EXECSUF} -nostdin -v error -init_hw_device cuda -version > ${tmp}/probe 2>&1
}

# The same test of the GPU's filter, on a GPU; without one, where tests/extra/extra.mak has made a
# stand-in for the driver, kernels run on the CPU. There are no gray CUDA frames.
on_cuda(){ # test
    if ! has_cuda; then
        why="no usable CUDA device: $(sed -n '1s/^\[[^]]*\] *//p' ${tmp}/probe)"
        test -n "${STAND_IN_FOLDER}" || { skip "${why}"; return 0; }
        export LD_LIBRARY_PATH=${STAND_IN_FOLDER}
        has_cuda || { cat ${tmp}/probe; return 1; }
        test -z "${takes_long}" || { skip "${why}; on the CPU it takes minutes"; return 0; }
        on_cpu=1 limit=600
        touch ${outdir}/${test}.on_cpu
    fi
    # a filter may hang
    test -n "${target_exec}" || ! command -v timeout > /dev/null || target_exec="timeout ${limit:-120}"
    bliinds=hwupload_cuda,bliinds_cuda
    gray=scale=in_range=full:out_range=full,format=yuv444p,
    download=,hwdownload,format=yuv420p
    gray_download=,hwdownload,format=yuv444p
    "$@"
}

check_assembly(){ # test
    heard run tests/checkasm/checkasm${EXECSUF} --test=$1
    ! grep -q 'no tests to perform' ${tmp}/err || skip "there is no assembly for this processor"
    return ${status}
}

# What the filter says in the log of a command.
messages(){
    sed -n "s/^\[Parsed_${parsed}[^]]*\] //p" | grep -v '^Failed to configure'
}

# Runs a command, of which what it says is in ${tmp}/err, too.
heard(){ # command...
    "$@" 2> ${tmp}/err
    status=$?
    cat ${tmp}/err >&2
    return ${status}
}

# The messages of a command that has to fail.
fails(){
    heard ffmpeg "$@" > ${tmp}/out
    messages < ${tmp}/err
    test -s ${tmp}/err || echo "and no message"
    # ffmpeg exits with an error number; signals are in this range, too
    case ${status} in
    0)       echo "but no failure" ;;
    13[2-9]) echo "and a crash: ${status}" ;;
    esac
}

same(){ # name file file [command that compares]
    if ! test -s $2; then
        echo "$1: nothing to compare with"
    elif ${4:-cmp -s} $2 $3; then
        echo "$1: same"
    else
        echo "$1: differs"
        diff $2 $3 >&2 || true
    fi
}

# Whether they are the same but for what single precision rounds.
nearly_same(){ # file file
    test -s $2 && paste -d' ' $1 $2 | awk -F'[ :]' '{
        if (NF % 2)
            exit 1
        for (i = 1; i <= NF / 2; i++) {
            a = $i; b = $(i + NF / 2); d = a - b
            if (a != b && (a !~ /^-?[0-9.]+$/ || (d < 0 ? -d : d) > 2e-7 * (a < 0 ? -a : a) + 1e-6))
                exit 1
        }
    }'
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
                limit = 1e-5 * expected[i] + 1e-8 + slack[i]
                if (i in got && (got[i] - expected[i]) ^ 2 <= limit ^ 2)
                    good++
                else
                    printf("%s is %s and not %s\n", i, got[i], expected[i])
            }
            print good + 0 " features agree"
        }'
}

# Samples of a picture as bytes, with others behind each if these are given. p is the sample
# before, the first itself at the first.
samples(){ # expression-of-v-and-p [other bytes]
    tail -c 3220 ${pictures}/rose_70x46.pgm | od -An -v -tu1 |
        awk "{ for (i = 1; i <= NF; i++) { v = \$i; if (!n++) p = v; printf(\"\\\\%03o$2\", $1); p = v } }" > ${tmp}/octal
    # shellcheck disable=SC2059
    printf "$(cat ${tmp}/octal)"
}

# Metadata of a frame of raw luma in a pixel format; chroma is the same again.
raw_values(){ # file format width height filters
    cat $1 $1 $1 > ${tmp}/planes
    ffmpeg ${device} -f rawvideo -pix_fmt $2 -video_size $3x$4 -t 0.04 -i ${tmp}/planes \
        -vf $5,${print} ${to_null}
}

# those of later patches are missing
for part in bliinds logs stock cuda mad blocksmooth memory report; do
    ! test -e ${base}/filters/${part}.sh || . ${base}/filters/${part}.sh
done
