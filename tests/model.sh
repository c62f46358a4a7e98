#!/usr/bin/env bash
# Tests what makes models, in under a minute: make model on a few drawn pictures, killed on the way and gone
# on with, and the converter of the published model. tests/model.sh FFMPEG; prints a line
# for each test, and fails if one does.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"

ffmpeg=$(realpath "$1")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

export FFMPEG=$ffmpeg PHOTOS=$tmp/photos VIDEOS=$tmp/videos WORK=$tmp/training \
    RESULTS=$tmp/results NAME=tiny

check() { # what command...
    local what=$1
    shift
    "$@" || die "$what"
    echo "$what"
}

drawn() {
    local i
    mkdir "$tmp/photos" "$tmp/videos"
    for i in 1 2 3; do
        "$ffmpeg" -v error -f lavfi -i "mandelbrot=s=384x288:start_scale=$i" -frames:v 1 \
            "$tmp/photos/$i.png"
    done
    "$ffmpeg" -v error -f lavfi -i testsrc2=s=160x120:r=25 -t 1 -c:v ffv1 "$tmp/videos/clip.mkv"
}

# A photograph is taken at each size that it is large enough for, half its own at most.
sizes() {
    mkdir "$tmp/sizes" || return
    "$ffmpeg" -v error -f lavfi -i color=s=2560x1282 -frames:v 1 "$tmp/sizes/large.png" || return
    "$ffmpeg" -v error -f lavfi -i color=s=450x1279 -frames:v 1 "$tmp/sizes/small.png" || return
    (cd "$root/tools/train" && "$python" -B -c '
import sys, corpus, ff
ff.program = sys.argv[1]
for c in corpus.photos(sys.argv[2]):
    print(c.group, c.name, *c.size)' "$ffmpeg" "$tmp/sizes") | diff - <(
        echo "photo_large photo_large_640 640 320"
        echo "photo_large photo_large_960 960 480"
        echo "photo_large photo_large_1280 1280 642"
        echo "photo_small photo_small_639 224 640")
}

# The split of the video contents is that of its rule, and one that was edited is found.
splits() {
    cp -r "$root/tools/train" "$tmp/train" || return
    "$python" -B "$tmp/train/contents.py" check || return
    sed -i '/^bunny /s/ choose / held /' "$tmp/train/contents.txt"
    ! "$python" -B "$tmp/train/contents.py" check 2> "$tmp/split.log" &&
        grep -q 'does not follow its rule' "$tmp/split.log" || return
    "$python" -B "$tmp/train/contents.py" split && cmp "$tmp/train/contents.txt" "$root/tools/train/contents.txt"
}

# No two encodes of a shot have one name: one would take the place of the other.
names() {
    (cd "$root/tools/train" && "$python" -B -c '
import encodes
for index in range(12):
    for size in (640, 360), (360, 640), (400, 200), (3840, 2160):
        names = [job.name for jobs in encodes.rounds(index, size) for job in jobs]
        assert names and len(names) == len(set(names)), names')
}

# A source that shows its coding is refused, until it is made small enough.
pristine() {
    local clip=$tmp/pristine
    judged() { "$python" -B "$root/tools/train/pristine.py" "$ffmpeg" "$@" > "$tmp/judged" 2>&1; }
    "$ffmpeg" -v error -f lavfi -i mandelbrot=s=320x240:r=25 -frames:v 5 -c:v ffv1 "$clip.mkv" || return
    "$ffmpeg" -v error -i "$clip.mkv" -pix_fmt yuv420p -c:v libx264 -qp 16 "$clip-fine.mkv" || return
    "$ffmpeg" -v error -i "$clip.mkv" -pix_fmt yuv420p -c:v libx264 -qp 27 "$clip-coarse.mkv" || return
    "$ffmpeg" -v error -i "$clip.mkv" -c:v prores_ks "$clip.mov" || return
    judged 1 "$clip.mkv" "$clip-fine.mkv" || return
    ! judged 1 "$clip.mkv" "$clip-coarse.mkv" && grep -q 'coarse.*REFUSED' "$tmp/judged" || return
    judged 2 "$clip-coarse.mkv" || return
    ! judged 1.9 "$clip.mov" && judged 2 "$clip.mov" || return
    ! judged 2 "$tmp/none.mkv" && grep -q '^error: .*none.mkv' "$tmp/judged"
}

# A run that is killed leaves whole records only, and the next one makes the others.
resumes() {
    local group kept total
    setsid "$scripts/model.sh" > "$tmp/killed.log" 2>&1 &
    group=$!
    until [ "$(find "$tmp/training/records" -name '*.json' 2> /dev/null | wc -l)" -ge 5 ]; do
        kill -0 $group 2> /dev/null || { cat "$tmp/killed.log" >&2; return 1; }
        sleep 0.2
    done
    kill -KILL -- -$group
    while kill -0 -- -$group 2> /dev/null; do sleep 0.1; done
    [ ! -e "$tmp/results/tiny.txt" ] || return
    kept=$(find "$tmp/training/records" -name '*.json' | wc -l)
    truncate -s 100 "$(find "$tmp/training/records" -name '*.json' | head -n 1)"
    "$scripts/model.sh" > "$tmp/first.log" 2>&1 || { cat "$tmp/first.log" >&2; return 1; }
    total=$(find "$tmp/training/records" -name '*.json' | wc -l)
    grep -q "$total of $total encodes measured, $((total - kept + 1)) of them new" "$tmp/first.log"
}

# And with all there it makes none, and the same model.
repeats() {
    cp "$tmp/results/tiny.txt" "$tmp/once.txt"
    "$scripts/model.sh" > "$tmp/second.log" 2>&1 || { cat "$tmp/second.log" >&2; return 1; }
    grep -q 'measured, 0 of them new' "$tmp/second.log" && cmp "$tmp/once.txt" "$tmp/results/tiny.txt"
}

# A record of a filter with other features keeps its label, and only its features are
# made again: as they were, since it is the same filter here.
updates() {
    local record=$tmp/training/records/photo_1_192/mjpeg_10.json
    cp "$record" "$tmp/whole.json" || return
    "$python" -c '
import json, sys
with open(sys.argv[1]) as file:
    record = json.load(file)
for frame in record["frames"]:
    del frame["L2.phase1"]
record["label"] = 12.5
json.dump(record, open(sys.argv[1], "w"))' "$record" || return
    "$scripts/model.sh" > "$tmp/third.log" 2>&1 || { cat "$tmp/third.log" >&2; return 1; }
    grep -q 'measured, 1 of them new' "$tmp/third.log" && "$python" -c '
import json, sys
old, new = (json.load(open(path)) for path in sys.argv[1:])
sys.exit(new.pop("label") != 12.5 or not old.pop("label") or old != new)' "$tmp/whole.json" "$record"
}

# Its score by the filter is that by the other implementation.
scores() { # model
    local picture=$root/tests/oracle/camera_crop_300x240
    "$ffmpeg" -v error -i "$picture.pgm" -vf "bliinds=model=$1,metadata=print:file=-" -f null - |
        sed -n 's/^lavfi.bliinds.\(raw\|distance\)=//p' > "$tmp/filter"
    "$python" "$root/tools/train/reference.py" "$1" "$picture.pgm" |
        awk -F, 'NR > 1 { print $3; print $4 }' | paste - "$tmp/filter" |
        awk '{ d = $1 - $2; if ((d < 0 ? -d : d) > 0.001) bad = 1 } END { exit bad || NR != 2 }'
}

# A model of the release's form, of made-up numbers: the most probable score of the
# joint distribution is what the filter gives.
converts() {
    awk 'BEGIN {
        printf "mu_prob_dist = ["
        for (i = 1; i <= 25; i++) printf " %g", i < 25 ? 1 + i / 10 : 40
        printf " ];\nsigma_prob_dist = [\n"
        for (i = 1; i <= 25; i++) {
            for (j = 1; j <= 25; j++)
                printf " %g", i == j ? (i < 25 ? 30 : 0.02) : i == 25 || j == 25 ? -0.01 * (i + j - 25) : 0
            print ";"
        }
        print "];"
    }' > "$tmp/bliinds_prediction.m"
    "$root/tools/bliinds-convert-release" "$tmp/bliinds_prediction.m" > "$tmp/release.txt" || return
    "$ffmpeg" -v error -i "$root/tests/oracle/camera_crop_300x240.pgm" \
        -vf "bliinds=model=$tmp/release.txt:features=1,metadata=print:file=-" -f null - |
        awk -F= '
            $1 == "lavfi.bliinds.raw" { raw = $2 }
            $1 == "lavfi.bliinds.score" { score = $2 }
            /^lavfi\.bliinds\.L[123]\.(zeta|gamma|sub|ori)/ { i++; expected += 0.01 / 0.02 * i * ($2 - 1 - i / 10) }
            END {
                expected += 39
                d = raw - expected
                r = raw > 99 ? 99 : raw < 0 ? 0 : int(raw * 2 + 0.5) / 2
                exit !(i == 24 && (d < 0 ? -d : d) < 0.001 && score == r)
            }'
}

python=python3
"$python" -c 'import numpy, scipy' 2> /dev/null || python=/usr/bin/python3
drawn
check "the published model's converter and its score" converts
check "a photograph at its sizes" sizes
check "the split of the video contents" splits
check "names of encodes" names
check "sources that show their coding are refused" pristine
check "make model goes on where it was killed" resumes
check "make model repeats itself" repeats
check "make model measures new features of old records" updates
check "the filter and numpy agree on the model's score" scores "$tmp/results/tiny.txt"
check "the filter and numpy agree on the default model's score" scores "$root"/models/*.txt
