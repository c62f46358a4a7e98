#!/usr/bin/env bash
# Trains a model: PHOTOS=dir and VIDEOS=dir have the pristine pictures and clips,
# the default is the photographs of photos.sh. A run that was stopped goes on where
# it was. FFMPEG=program uses a build of your own; it must have our filter bliinds.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# More than `make build` has: encoders to train with, and libvmaf for the labels.
configure_flags() {
    local library
    echo "${FFMPEG_CONFIGURE:-}"
    for library in vpx libvmaf; do
        ! pkg-config --exists $library || echo "--enable-lib${library#lib}"
    done
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

for folder in "${PHOTOS:-}" "${VIDEOS:-}"; do
    [ -z "$folder" ] || [ -d "$folder" ] || die "$folder is not a folder"
done
"$scripts/deps.sh" model
python=$(python)
if [ "${FFMPEG:-}" ]; then
    ffmpeg=$(command -v "$FFMPEG") || die "FFMPEG=$FFMPEG is not a program"
else
    FFMPEG_CONFIGURE=$(configure_flags | xargs)
    export FFMPEG_CONFIGURE
    dir=$(PROFILE=full "$scripts/build.sh")
    ffmpeg=$dir/ffmpeg
fi
[ "${PHOTOS:-}${VIDEOS:-}" ] || PHOTOS=$("$scripts/photos.sh")

work=${WORK:-$build/model}
results=${RESULTS:-$root/results/model}
mkdir -p "$work" "$results"
arguments=(--ffmpeg "$(realpath "$ffmpeg")" --work "$work" --results "$results")
[ -z "${PHOTOS:-}" ] || arguments+=(--photos "$PHOTOS")
[ -z "${VIDEOS:-}" ] || arguments+=(--videos "$VIDEOS")
[ -z "${NAME:-}" ] || arguments+=(--name "$NAME")
[ -z "${LICENCE:-}" ] || arguments+=(--licence "$LICENCE")
[ -z "${JOBS:-}" ] || arguments+=(--jobs "$JOBS")
# One thread, so that sums are made in one order and the model has the same bytes each time.
OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 "$python" "$root/tools/train/train.py" "${arguments[@]}"
say "in $results: $(cd "$results" && ls -m)"
say "use it: ffmpeg -i in.mp4 -an -vf bliinds=model=$results/${NAME:-model}.txt -f null -"
