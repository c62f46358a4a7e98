#!/usr/bin/env bash
# Trains a model: makes the encodes of a list of shots, labels them by VMAF, and fits. MEDIA=dir
# has the sources, VMAF_MODELS=dir the models of libvmaf. A run that was stopped goes on
# where it was. FFMPEG=program uses a build of your own.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

train=$root/tools/train
contents=${CONTENTS:-$train/contents.txt}
# Nothing is written beside the sources; one thread, so that sums are made in one order and the model has the same bytes each time.
export PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

[ -f "$contents" ] || die "there is no CONTENTS=$contents" "without it, the shots are those of tools/train/contents.txt"
"$scripts/deps.sh" model
# the system's Python has the system's numpy, another one may not
python=python3
"$python" -c 'import numpy, scipy' 2> /dev/null || python=/usr/bin/python3
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
    # more than `make build` has: an encoder to train with, and libvmaf for the labels
    vpx=
    ! pkg-config --exists vpx || vpx=--enable-libvpx
    ffmpeg=$(FFMPEG_CONFIGURE="${FFMPEG_CONFIGURE:-} --enable-libvmaf $vpx" PROFILE=full "$scripts/build.sh")/ffmpeg
fi
work=${WORK:-$build/model}
results=${RESULTS:-$root/results/model}
name=${NAME:-model}
mkdir -p "$work" "$results"
read -ra families <<< "${FAMILIES:-}"
media=(--ffmpeg "$(realpath "$ffmpeg")" --media "$MEDIA" --contents "$contents")
fit=(--work "$work" --results "$results" --contents "$contents")
"$python" "$train/pristine.py" "${media[@]}"
"$python" "$train/label.py" "${media[@]}" --models "$VMAF_MODELS" --work "$work" \
    ${JOBS:+--jobs "$JOBS"} ${families:+--families "${families[@]}"}
"$python" "$train/score.py" "${fit[@]}" --name "$name" ${LICENCE:+--licence "$LICENCE"}
"$python" "$train/models.py" "$results/$name.txt" > "$results/$name.c"
"$python" "$train/loss.py" "${fit[@]}"
say "in $results: $(cd "$results" && ls -m)"
say "use it: ffmpeg -bsf:v quantizer_metadata -i in.mp4 -an -vf bliinds=model=$results/$name.txt -f null -"
