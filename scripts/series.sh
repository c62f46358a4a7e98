#!/usr/bin/env bash
# Writes the overlay as patches for a mailing list, one a filter, for each release or for
# FFMPEG_VERSION: series.sh; `series.sh series-check` builds and tests each patch of it, too.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# The patches after the general ones of configure-patch, in their order: a name, by which lines of files
# that all share are known, a subject, and patterns of our files. The last that a file fits is its own.
steps() {
    step quantizer_metadata "avcodec/bsf: add quantizer_metadata" '*quantizer*' \
        tests/{fate/metrics.mak,filters/{common,stock}.sh,ref/fate/metric-stock}
    step ssim_cuda "avfilter: add the ssim_cuda filter" libavfilter/{score_log,graph_reinit,dualinput,sample_format,shared_arith}'.*' \
        libavfilter/cuda/{kernel,shared,async,dualinput}'.*' tests/fate/cuda.mak \
        tests/ref/fate/{'metric-[!s]',ssim-}'*' '*ssim_cuda*' \
        libavfilter/tests/{filter_graph,filter_matrix}'.*' tests/filters/{cuda,logs,memory}.sh
    step bliinds "avfilter: add the bliinds filter" '*bliinds*' '*/models/*' 'tests/oracle/*'
    step bliinds_cuda "avfilter: add the bliinds_cuda filter" '*bliinds?cuda*'
    step blocksmooth "avfilter: add the blocksmooth filter" '*blocksmooth*'
    step blocksmooth_cuda "avfilter: add the blocksmooth_cuda filter" '*blocksmooth?cuda*'
    step mad "avfilter: add the mad filter" '*[/_]mad[_.-]*' 'libavfilter/cuda/fft.[ch]'
    step mad_cuda "avfilter: add the mad_cuda filter" '*mad?cuda*' libavfilter/cuda/fft.cuh
    step vmaf "avfilter: add the vmaf filter" 'libavfilter/*vmaf[_.]*' 'tests/*/*vmaf*' \
        'tests/ref/fate/vmaf-*' '*pairs*' '*inputs*' doc/vmaf.texi
    step vmaf_cuda "avfilter: add the vmaf_cuda filter" '*vmaf*cuda*'
    step cambi "avfilter: add the cambi filter" 'libavfilter/cambi.[ch]' '*vf_cambi.c' 'tests/*/cambi.*' \
        'tests/ref/fate/cambi-*' 'doc/cambi.*'
    step cambi_cuda "avfilter: add the cambi_cuda filter" '*vf_cambi?cuda*' 'tests/ref/fate/cambi-cuda*'
    step ssimulacra2 "avfilter: add the ssimulacra2 filter" '*ssimulacra2*'
}
# What is for the overlay alone.
left_out='^(tools/|tests/(extra|tools|gpu|ffcrf)|tests/(common|model|package|scripts)\.sh|'
left_out+='tests/(fate|filters)/compat|tests/ref/fate/vmaf-compat|'
left_out+='tests/fate/(ffcrf|score_tools)|tests/filters/report|tests/ref/fate/(ffcrf|report)|'
left_out+='doc/(benchmarks|install|model|quality-|recipes|scores|ffcrf)|libavfilter/Makefile.snippet)'

names=() subjects=() patterns=()
step() { # name subject pattern...
    names+=("$1") subjects+=("$2") patterns+=("${*:3}")
}

git_as_us() {
    GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 \
        git -C "$repository" -c user.name="overlay maintainers" -c user.email=maintainers@users.noreply.example "$@"
}

# A repository of FFmpeg's files: of some, or of all.
begin() { # src folder file...
    repository=$2
    rm -rf "$repository"
    mkdir -p "$repository"
    git_as_us init -q .
    # what has returns at the ends of its lines would lose them in a mail
    echo '*.p?m binary' > "$repository/.git/info/attributes"
    tar -C "$1" --exclude=.git -chf - "${@:3}" | tar -C "$repository" -xf -
    git_as_us add -Af .
    git_as_us commit -q -m FFmpeg
}

# The patch of each file of ours: its number, where the file is there, and here.
assign() (
    local file ours number i pattern
    set -f
    "$scripts/overlay.sh" files | while IFS=$'\t' read -r file ours; do
        [[ ! $file =~ $left_out ]] || continue
        number=
        for i in "${!names[@]}"; do
            for pattern in ${patterns[i]}; do
                # shellcheck disable=SC2053
                [[ $file != $pattern ]] || number=$i
            done
        done
        [ "$number" ] || die "$file is in no patch of the series" "name it in scripts/series.sh"
        printf '%s\t%s\t%s\n' "$number" "$file" "$ours"
    done
)

# A pattern of lines that name a filter of a later patch, behind a mark at their beginning.
later() { # number mark
    local name later=@@
    for name in "${names[@]:$1 + 1}"; do
        later+="|(.*[^a-z_])?${name}[_.]|.*(vf|check)_$name(_|\\b)|.*${name^^}_"
    done
    [ "$1" -ge 1 ] || later+='|.*Makefile.snippet'
    echo "$2($later)"
}

# Without the lines that name what comes with a later patch.
so_far() { # number file mark-of-lines
    grep -vE "$(later "$1" "$3")" "$2"
}

# The Changelog, and the versions of the libraries: a minor one for each filter.
count() { # number
    local new library
    for library in avcodec avfilter; do
        new=$(printf '%s\n' "${subjects[@]::$1 + 1}" | grep -c "^$library.* add") || continue
        awk -v new="$new" '/VERSION_MINOR +[0-9]/ { sub(/[0-9]+$/, $NF + new) } /VERSION_MICRO +[0-9]/ { sub(/[0-9]+$/, 100) } 1' \
            "$repository/lib$library/version.h" > "$repository/version.h"
        mv "$repository/version.h" "$repository/lib$library/version.h"
    done
    printf '%s\n' "" "version <next>:" "${subjects[@]::$1 + 1}" | sed 's/^av.*: add \(the \)\?/- /' |
        sed -i '1r /dev/stdin' "$repository/Changelog"
}

# The first paragraph of its section in the manual.
body() { # name
    if [ -f "$root/doc/$1.texi" ]; then
        sed -E '/^@[a-z]+( |$)/d' "$root/doc/$1.texi" | sed -n '/./,$p' | sed '/^$/q; s/@[a-z]*{\([^}]*\)}/\1/g'
    else
        echo "It is ${1%_cuda} on CUDA frames."
    fi
}

write() { # src folder
    local number i file ours changed general register
    general=("$root"/configure-patch/000[1-3]-*.patch)
    register=$(echo "$root"/configure-patch/*-register-*.patch)
    mapfile -t changed < <(sed -n 's,^+++ b/,,p' "$root"/configure-patch/*.patch | sort -u)
    begin "$1" "$work/repository" "${changed[@]}" lib{avcodec,avfilter}/version.h Changelog
    git_as_us am -q "${general[@]}"
    assign > "$work/files"
    for number in "${!names[@]}"; do
        # FFmpeg's files are made anew from what they are without any filter of ours
        git_as_us checkout -q "HEAD~$number" -- .
        so_far "$number" "$register" "^[+]" > "$work/register.patch"
        git_as_us apply --recount "$work/register.patch"
        : > "$work/snippet"
        [ "$number" -lt 1 ] ||
            so_far "$number" "$root/Makefile.snippet" "^" | sed '/_COMPAT_FILTER/d' > "$work/snippet"
        sed -i -e "/^include .*Makefile.snippet/{r $work/snippet" -e 'd}' "$repository/libavfilter/Makefile"
        count "$number"
        while IFS=$'\t' read -r i file ours; do
            [ "$i" = "$number" ] || continue
            install -D -m "$(stat -c %a "$ours")" "$ours" "$repository/$file"
            # the filters under libvmaf's names are for the overlay alone
            sed -zi 's,\n\n#if CONFIG_VMAF[A-Z_]*COMPAT_FILTER\n.*#endif[^\n]*,,' "$repository/$file"
        done < "$work/files"
        git_as_us add -Af .
        git_as_us commit -q -m "${subjects[number]}" -m "$(body "${names[number]}")"
        # what describes all filters may name a later one: manuals and tests; headers its own on CUDA, and
        # vmaf's files its feature CAMBI
        [ "${names[number + 1]:-}" != "${names[number]}_cuda" ] || number=$((number + 1))
        ! git_as_us diff -U0 HEAD~ -- configure libavcodec libavfilter tests/checkasm ':!*vmaf*' |
            grep -E "$(later "$number" '^[+]')" || die "the patch before ${names[number]} names a later filter"
    done
    rm -rf "$2"
    git_as_us format-patch -q --binary -o "$2" "HEAD~$((${#names[@]} + ${#general[@]}))"
    say "$(find "$2" -name '*.patch' | wc -l) patches in $2"
}

# Each patch builds, as the overlay was configured, and passes the tests that it brings.
check() { # src folder built
    local patch tests brought=''
    begin "$1" "$work/tree" .
    mkdir -p "$work/build"
    cd "$work/build"
    export GIT_CEILING_DIRECTORIES=$work
    for patch in "$2"/*.patch; do
        git_as_us am -q "$patch"
        eval "$repository/configure $(sed -n 's/^FFMPEG_CONFIGURATION=//p' "$3/ffbuild/config.mak")" > log 2>&1
        logged "${patch##*/}" log make -j"$(nproc)" all
        tests=$(make fate-list | grep '^fate-' | sort)
        [ ! "$brought" ] || comm -23 <(echo "$tests") <(echo "$brought") | xargs -r make -k -j"$(nproc)" > log 2>&1 ||
            { grep -F '***' log; die "tests of $patch fail"; }
        brought=$tests
        say "${patch##*/}: builds, and its tests pass ($(grep -c '^SKIPPED' log || true) skipped)"
    done
}

lock
steps
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH=$build/ffnvcodec/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
"$scripts/deps.sh" build
for version in ${FFMPEG_VERSION:-$(all_series)}; do
    export FFMPEG_VERSION=$version
    src=$("$scripts/fetch.sh" ffmpeg)
    write "$src" "$build/series/$version"
    if [ "${1:-}" = series-check ]; then
        check "$src" "$build/series/$version" "$("$scripts/build.sh")"
    fi
done
