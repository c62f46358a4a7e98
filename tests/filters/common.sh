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
bliinds=bliinds=model=vmaf1_est5
parsed=bliinds
gray=
download=
gray_download=
# without these flags libswscale's results are those of a CPU
exact=scale=flags=accurate_rnd+bitexact

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
leave_out(){ # format
    skipped "${test}, $1" "not in this FFmpeg"
    sed "/^$1[:, ]/d" ${ref} > ${tmp}/left
    mv ${tmp}/left ${tmp}/ref
    ref=${tmp}/ref
}

# The formats that a filter takes, with the same values of the same samples; of those in the
# reference that this FFmpeg has, unless it says nothing.
matrix_of_formats(){ # arguments of filter_matrix
    run ffmpeg${PROGSUF}${EXECSUF} -v quiet -pix_fmts > ${tmp}/formats
    for format in $(test -s ${tmp}/formats && sed 's/:.*//' ${ref}); do
        grep -q " ${format} " ${tmp}/formats || leave_out ${format}
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
    bliinds=hwupload_cuda,bliinds_cuda=model=vmaf1_est5
    gray=scale=in_range=full:out_range=full,format=yuv444p,
    download=,hwdownload,format=yuv420p
    gray_download=,hwdownload,format=yuv444p
    "$@"
}

# What the filter says in the log of a command: of each message the figures and the names.
messages(){
    sed -n "s,${tmp},folder,g;s/^\[Parsed_${parsed}[^]]*\] //p" | awk '
        /^Failed to configure|^\[FILE/ { next }
        {
            line = ""
            for (i = 1; i <= NF; i++) {
                sub(/[.,:;]+$/, "", $i)
                if ($i ~ /[0-9=\047]/)
                    line = line " " $i
            }
            print substr(line, 2)
        }'
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

# Compares metadata on stdin with a row of a table, by the names of its columns. The absolute
# tolerance is for what is a difference of rounding units; in a crop of few blocks one may get the
# next shape.
agree(){ # table how-the-row-begins [relative-tolerance absolute-tolerance]
    awk -v table=$1 -v row="$2," -v relative=${3:-1e-5} -v absolute=${4:-1e-8} '
        BEGIN {
            getline line < table
            columns = split(line, name, ",")
            while ((getline line < table) > 0)
                if (index(line, row) == 1) {
                    split(line, value, ",")
                    for (i = 1; i <= columns; i++)
                        expected[name[i] == "mad" ? "score" : name[i]] = value[i]
                }
        }
        sub(/^lavfi\.[a-z]*\./, "") {
            split($0, got, "=")
            if (!(got[1] in expected))
                next
            limit = relative * expected[got[1]] + absolute
            if (row ~ /crop=/ && got[1] ~ /gamma/)
                limit += .001
            if (got[2] ~ /^-?[0-9.]+$/ && (got[2] - expected[got[1]]) ^ 2 <= limit ^ 2)
                good++
            else
                print got[1] " is " got[2] " and not " expected[got[1]]
        }
        END { print good + 0 " values agree" }'
}

# The first part of a file, which may not be there.
part_of(){ # file percent
    size=$(wc -c < $1)
    head -c $((${size:-0} * $2 / 100)) $1
}

# Frames of a stream whose size changes, for which ffmpeg rebuilds the graph: ${tmp}/%d.pgm.
pictures_of(){ # size:number...
    first=1
    for i; do
        ffmpeg -lavfi testsrc2=s=${i%:*}:r=25,format=gray -frames:v ${i#*:} \
            -start_number ${first} ${tmp}/%d.pgm
        first=$((first + ${i#*:}))
    done
}

# Blocks that move, in any planar format, with no scaler, which differs from release
# to release: blocks with steps of up to 115, and a texture that is not always flat.
pattern(){ # size format
    depth=$(expr $2 : '.*[a-z]\([0-9]*\)le$')
    unit=$((1 << ${depth:-8} - 8))
    values="100+mod(floor(X/8)*5+floor(Y/8)*7+N*3\\,24)*mod(floor(X/32)+floor(Y/32)\\,6)"
    values="${values}+mod(X*X*3+Y*7+X*Y\\,7)-3"
    values="(${values})*${unit}+mod(X*5+Y*3\\,${unit})"
    case $2 in
    gbr*) values="g=${values}:b=${values}:r=${values}" ;;
    *)    values="lum=${values}" ;;
    esac
    echo "nullsrc=s=$1:d=0.12,format=$2,geq=${values}"
}

# those of later patches are missing
for part in bliinds logs stock cuda mad blocksmooth memory report inputs; do
    ! test -e ${base}/filters/${part}.sh || . ${base}/filters/${part}.sh
done
