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

for folder in "${PHOTOS:-}" "${VIDEOS:-}"; do
    [ -z "$folder" ] || [ -d "$folder" ] || die "$folder is not a folder"
done
"$scripts/deps.sh" model
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
results=$root/results/model
mkdir -p "$work" "$results"
arguments=(--ffmpeg "$(realpath "$ffmpeg")" --work "$work" --results "$results")
[ -z "${PHOTOS:-}" ] || arguments+=(--photos "$PHOTOS")
[ -z "${VIDEOS:-}" ] || arguments+=(--videos "$VIDEOS")
[ -z "${NAME:-}" ] || arguments+=(--name "$NAME")
[ -z "${JOBS:-}" ] || arguments+=(--jobs "$JOBS")
python3 "$root/tools/train/train.py" "${arguments[@]}"
say "in $results: $(cd "$results" && ls -m)"
say "use it: ffmpeg -i in.mp4 -an -vf bliinds=model=$results/${NAME:-model}.txt -f null -"
