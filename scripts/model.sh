#!/usr/bin/env bash
# Trains a model: makes the encodes of a list of shots, labels them by VMAF, and fits. MEDIA=dir
# has the sources, VMAF_MODELS=dir the models of libvmaf. A run that was stopped goes on
# where it was. FFMPEG=program uses a build of your own.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

train=$root/tools/train
contents=${CONTENTS:-$train/contents.txt}
export PYTHONDONTWRITEBYTECODE=1    # nothing is written beside the sources

# More than `make build` has: an encoder to train with, and libvmaf for the labels.
configure_flags() {
    echo "${FFMPEG_CONFIGURE:-} --enable-libvmaf"
    ! pkg-config --exists vpx || echo "--enable-libvpx"
}

# The system's Python has the system's numpy, another one may not.
python() {
    local name
    for name in python3 /usr/bin/python3; do
        if "$name" -c 'import numpy, scipy' 2> /dev/null; then
            echo "$name"
            return
        fi
    done
    die "no Python with numpy and scipy" "on Debian: apt-get install python3-numpy python3-scipy"
}

[ -f "$contents" ] || die "there is no CONTENTS=$contents" "without it, the shots are those of tools/train/contents.txt"
"$scripts/deps.sh" model
python=$(python)

"$python" "$train/contents.py" check "$contents"
missing=$("$python" "$train/contents.py" missing "${MEDIA:-MEDIA}" "$contents")
if [ "$missing" ]; then
    while read -r repository; do
        say "git clone --depth 1 https://github.com/$repository ${MEDIA:-MEDIA}/$repository"
    done <<< "$missing"
    die "MEDIA=${MEDIA:-folder} must have all sources of $contents" "the commands above get those that it lacks" \
        "or give a list of shots of your own with CONTENTS=file"
fi
[ -d "${VMAF_MODELS:-}" ] || die "VMAF_MODELS=${VMAF_MODELS:-folder} must be the folder with the models of libvmaf" \
    "they are in the folder model of https://github.com/Netflix/vmaf"

if [ "${FFMPEG:-}" ]; then
    ffmpeg=$(command -v "$FFMPEG") || die "FFMPEG=$FFMPEG is not a program"
else
    pkg-config --exists libvmaf || die "FFmpeg cannot be built with libvmaf, which is not installed here" \
        "install https://github.com/Netflix/vmaf, and name the folder of its libvmaf.pc by PKG_CONFIG_PATH" \
        "or give a program that has it, and our filters, with FFMPEG=program"
    FFMPEG_CONFIGURE=$(configure_flags | xargs)
    export FFMPEG_CONFIGURE
    dir=$(PROFILE=full "$scripts/build.sh")
    ffmpeg=$dir/ffmpeg
fi

work=${WORK:-$build/model}
results=${RESULTS:-$root/results/model}
mkdir -p "$work" "$results"
name=${NAME:-model}
ffmpeg=$(realpath "$ffmpeg")
read -ra families <<< "${FAMILIES:-}"
list=(--contents "$contents")
media=(--ffmpeg "$ffmpeg" --media "$MEDIA" "${list[@]}")

"$python" "$train/pristine.py" "${media[@]}"
"$python" "$train/label.py" "${media[@]}" --models "$VMAF_MODELS" --work "$work" \
    ${JOBS:+--jobs "$JOBS"} ${families:+--families "${families[@]}"}
# One thread, so that sums are made in one order and the model has the same bytes each time.
OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$python" "$train/score.py" --work "$work" --results "$results" \
    "${list[@]}" --name "$name" ${LICENCE:+--licence "$LICENCE"}
"$python" "$train/models.py" "$results/$name.txt" > "$results/$name.c"
OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$python" "$train/loss.py" --work "$work" --results "$results" "${list[@]}"
say "in $results: $(cd "$results" && ls -m)"
say "use it: ffmpeg -bsf:v quantizer_metadata -i in.mp4 -an -vf bliinds=model=$results/$name.txt -f null -"
