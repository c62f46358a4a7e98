#!/usr/bin/env bash
# Trains a model: makes the encodes of a list of shots, labels them by VMAF, and fits. MEDIA=dir
# has the sources. A run that was stopped goes on where it was. FFMPEG=program uses a build of
# your own.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# Nothing is written beside the sources; one thread, so that sums are made in one order and the
# model has the same bytes each time.
export PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

contents=${CONTENTS:-$root/tools/train/contents.txt}
[ -f "$contents" ] || die "there is no CONTENTS=$contents" \
    "without it, the shots are those of tools/train/contents.txt"
"$scripts/deps.sh" model
python=/usr/bin/python3     # it has the system's numpy, another one may not
if [ "${FFMPEG:-}" ]; then
    ffmpeg=$(command -v "$FFMPEG") || die "FFMPEG=$FFMPEG is not a program"
else
    # an encoder to train with more than `make build` has
    vpx=
    ! pkg-config --exists vpx || vpx=--enable-libvpx
    ffmpeg=$(FFMPEG_CONFIGURE="${FFMPEG_CONFIGURE:-} $vpx" PROFILE=full "$scripts/build.sh")/ffmpeg
fi
results=${RESULTS:-$root/results/model}
name=${NAME:-model}
read -ra families <<< "${FAMILIES:-}"
"$python" "$root/tools/train/train.py" all --ffmpeg "$(realpath "$ffmpeg")" \
    --media "${MEDIA:-media}" --contents "$contents" --work "${WORK:-$build/model}" \
    --results "$results" --name "$name" ${LICENCE:+--licence "$LICENCE"} \
    ${JOBS:+--jobs "$JOBS"} ${families:+--families "${families[@]}"}
say "in $results: $(cd "$results" && ls -m)"
say "use it: ffmpeg -bsf:v quantizer_metadata -i in.mp4 -an -vf bliinds=model=$results/$name.txt -f null -"
