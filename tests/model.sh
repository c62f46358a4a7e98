#!/usr/bin/env bash
# Tests what makes models, in about a minute: make model on a few drawn shots, killed on the way and gone on with, and
# the converter of the published model. tests/model.sh FFMPEG prints a line for each test, and fails if one does. The
# labels are made of PSNR, in the place of libvmaf's.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"

ffmpeg=$(realpath "$1")
train=$root/tools/train
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

export FFMPEG=$tmp/ffmpeg MEDIA=$tmp/media CONTENTS=$tmp/contents.txt WORK=$tmp/training RESULTS=$tmp/results \
    NAME=tiny FAMILIES="x264_slow x264_1_2 mpeg2" VMAF_MODELS=$tmp/vmaf PYTHONPATH=$train PYTHONDONTWRITEBYTECODE=1

check() { # what command...
    local what=$1
    shift
    "$@" || die "$what"
    echo "PASS    $what"
}

# Three groups, of which the rule holds one back. In zoom_far the scene changes, so that there is a second I frame.
drawn() {
    local name source
    mkdir -p "$MEDIA/drawn/shots" "$VMAF_MODELS"
    touch "$VMAF_MODELS/vmaf_v1.0.16_3d0h.json"
    while read -r name source; do
        "$ffmpeg" -nostdin -v error -f lavfi -i "${source/@/s=640x360:r=25}" -frames:v 14 -c:v ffv1 "$MEDIA/drawn/shots/$name.mkv"
        echo "$name ${name%_*} choose drawn/shots $name.mkv none 0 1 12 nobody" >> "$CONTENTS"
    done << END
zoom mandelbrot=@
zoom_far mandelbrot=@:start_scale=0.1,format=gray,negate=enable='gte(n,6)'
chart testsrc2=@,noise=alls=20:allf=t:all_seed=2
grain color=@:c=gray,format=yuv420p,noise=alls=90:allf=t:all_seed=5,gblur=2
END
    "$python" "$train/contents.py" split "$CONTENTS"
    { echo "#!/usr/bin/env bash"; declare -p ffmpeg; cat << 'SCRIPT'; } > "$FFMPEG"
[[ " $* " = *libvmaf=* || " $* " = *" -filters "* ]] || exec "$ffmpeg" "$@"
"$ffmpeg" "${@/libvmaf=*\'\[out]/psnr=stats_file=vmaf.log[out]}" || exit
if [[ " $* " = *" -filters "* ]]; then
    echo " .. libvmaf           VV->V"
else
    awk '
        {
            sub(/.*psnr_y:/, "")
            score = $1 == "inf" || $1 > 50 ? 100 : $1 < 10 ? 0 : 2.5 * ($1 - 10)
            printf "%s{\"metrics\": {\"v1\": %s}}", NR == 1 ? "{\"frames\": [" : ", ", score
        }
        END { print "]}" }' vmaf.log > vmaf.json
fi
SCRIPT
    chmod +x "$FFMPEG"
}

# The split of the contents is that of its rule; no two encodes of a shot have one name, or one would be lost.
lists() {
    cp "$train/contents.txt" "$tmp/list" && "$python" "$train/contents.py" check &&
        sed -i '/^bunny /s/ choose / held /' "$tmp/list" || return
    ! "$python" "$train/contents.py" check "$tmp/list" 2> /dev/null && "$python" "$train/contents.py" split "$tmp/list" &&
        cmp "$tmp/list" "$train/contents.txt" || return
    "$python" -c '
import encodes
for index in range(12):
    for size in (640, 360), (360, 640), (400, 200), (3840, 2160):
        names = [job.name for jobs in encodes.rounds(index, size) for job in jobs]
        assert names and len(names) == len(set(names)), names'
}

# What is missing is told before anything is made; a source that shows its coding is refused.
tells() {
    mkdir "$tmp/few" || return
    ! MEDIA=$tmp/few "$scripts/model.sh" 2> "$tmp/told" && grep -q "git clone .*/drawn/shots $tmp/few/drawn/shots" "$tmp/told" || return
    ! VMAF_MODELS=$tmp/none "$scripts/model.sh" 2> "$tmp/told" && grep -q "^error: VMAF_MODELS=$tmp/none" "$tmp/told" || return
    ! FAMILIES="mpeg2 none" "$scripts/model.sh" > "$tmp/told" 2>&1 && grep -q "^error: .* none$" "$tmp/told" || return
    [ ! "$(find "$WORK/records" -name '*.json')" ] || return
    "$ffmpeg" -v error -i "$MEDIA/drawn/shots/chart.mkv" -pix_fmt yuv420p -c:v libx264 -qp 27 "$tmp/coarse.mkv" || return
    ! "$python" "$train/pristine.py" --ffmpeg "$ffmpeg" "$tmp/coarse.mkv" > "$tmp/told" 2>&1 && grep -q 'coarse.*REFUSED' "$tmp/told" &&
        "$python" "$train/pristine.py" --ffmpeg "$ffmpeg" --factor 2 "$tmp/coarse.mkv" > /dev/null
}

# A run that is killed leaves whole records only, the next one makes the others, and a third one none, and the same model.
resumes() {
    local group i
    setsid "$scripts/model.sh" > "$tmp/killed.log" 2>&1 &
    group=$!
    for ((i = 0; i < 600; i++)); do
        if [ "$(find "$WORK/records" -name '*.json' 2> /dev/null | wc -l)" -ge 8 ]; then break; fi
        sleep 0.2
    done
    kill -KILL -- -$group || { cat "$tmp/killed.log" >&2; return 1; }
    wait $group
    [ ! -e "$RESULTS/tiny.txt" ] || return
    truncate -s 100 "$(grep -l '"quantizer"' -r "$WORK/records" --include='*.json' | head -n 1)"
    "$scripts/model.sh" > "$tmp/first.log" 2>&1 || { cat "$tmp/first.log" >&2; return 1; }
    grep -q '[1-9] of them new, 0 failed' "$tmp/first.log" || return
    cp "$RESULTS/tiny.txt" "$tmp/once.txt"
    "$scripts/model.sh" > "$tmp/second.log" 2>&1 && grep -q ', 0 of them new, 0 failed' "$tmp/second.log" &&
        cmp "$tmp/once.txt" "$RESULTS/tiny.txt" && grep -q 'detailloss: detail' "$RESULTS/loss.md"
}

# Contents that are held back have no part in the fit, the others do; what has no quantizers is left out, and said.
refits() { # names of shots, in Python; change of a record r
    rm -rf "$tmp/changed" && cp -r "$WORK" "$tmp/changed" && "$python" -c '
import contents, glob, json, sys
shots = [c.name for c in contents.contents(sys.argv[1]) if eval(sys.argv[3])]
assert shots
for path in glob.glob(sys.argv[2] + "/records/*/*.json"):
    r = json.load(open(path))
    if r["content"] in shots:
        exec(sys.argv[4])
        json.dump(r, open(path, "w"))' "$CONTENTS" "$tmp/changed" "$@" &&
        "$python" "$train/score.py" --work "$tmp/changed" --results "$tmp/changed/results" --contents "$CONTENTS" \
            --name tiny > "$tmp/fit.log" 2>&1
}
holds() {
    refits 'c.use == "held"' 'r["v1"] = [50.0] * 12' && cmp "$RESULTS/tiny.txt" "$tmp/changed/results/tiny.txt" || return
    refits 'c.name == "chart"' 'r["v1"] = [50.0] * 12' && ! cmp -s "$RESULTS/tiny.txt" "$tmp/changed/results/tiny.txt" || return
    refits 'c.use == "choose"' 'if r["family"] == "mpeg2": del r["quantizer"]' &&
        grep -q '^note: left out [1-9][0-9]* encodes without quantizers' "$tmp/fit.log" || return
    ! refits 'c.use == "choose"' 'r["quantizer"] = []' && grep -q '^error: the records are of 0 groups' "$tmp/fit.log"
}

# The features of the fit are those of the filter, and its model scores as the filter does, by both models.
predicts() {
    local encode=$WORK/encodes/zoom_far/x264_1_2_27.mkv filter="bliinds=model=$RESULTS/tiny.txt:features=1"
    "$ffmpeg" -v error -bsf:v quantizer_metadata -i "$encode" -vf "$filter:shown_height=360:log_path=$tmp/bitstream" -f null - &&
        "$ffmpeg" -v error -i "$encode" -vf "$filter:log_path=$tmp/pixels" -f null - && "$python" -c '
import json, os, sys
import numpy as np
import contents, label, score
listed, work, *files = sys.argv[1:]
shots = contents.contents(listed)
data = score.Data(work, shots, "choose")
row = next(row for use in ("choose", "held") for row in score.Data(work, shots, use).rows if row["encode"] == "zoom_far x264_1_2 27")
for path in files:
    names = score.FORMS[os.path.basename(path)]
    model = score.Model(names, data, score.choose_strength(names, data))
    got = [frame["metrics"] for frame in json.load(open(path))["frames"]]
    x = np.array([[f[n] for n in names] for f in got])
    assert len(got) == 12 and np.abs(model.raw(x) - [f["raw"] for f in got]).max() < 1e-4
    off = np.abs(x[label.FIRST_FRAME::label.FRAME_STEP].mean(0) - [row[n] for n in names])
    assert off.max() < 2e-6, (path, names[off.argmax()], off.max())' "$CONTENTS" "$WORK" "$tmp/bitstream" "$tmp/pixels"
}

# Scores by the filter are those by the other implementation.
scores() { # model
    local picture=$root/tests/oracle/camera_crop_300x240.pgm
    "$ffmpeg" -v error -i "$picture" -vf "bliinds=model=$1,metadata=print:file=-" -f null - | sed -n 's/^lavfi.bliinds.raw=//p' > "$tmp/filter"
    "$python" "$root/tests/oracle/reference.py" "$1" "$picture" | awk -F, 'NR > 1 { print $3 }' | paste - "$tmp/filter" |
        awk '{ d = $1 - $2; if ((d < 0 ? -d : d) > 0.001) bad = 1 } END { exit bad || NR != 1 }'
}

# A model of the release's form, of made-up numbers: the filter gives the most probable score of the joint distribution.
converts() {
    awk 'BEGIN {
        printf "mu_prob_dist = ["
        for (i = 1; i <= 25; i++) printf " %g", i < 25 ? 1 + i / 10 : 40
        printf " ];\nsigma_prob_dist = [\n"
        for (i = 1; i <= 25; i++) {
            for (j = 1; j <= 25; j++) printf " %g", i == j ? (i < 25 ? 30 : 0.02) : i == 25 || j == 25 ? -0.01 * (i + j - 25) : 0
            print ";"
        }
        print "];"
    }' > "$tmp/bliinds_prediction.m"
    "$root/tools/bliinds-convert-release" "$tmp/bliinds_prediction.m" > "$tmp/release.txt" || return
    "$ffmpeg" -v error -i "$root/tests/oracle/camera_crop_300x240.pgm" -vf "bliinds=model=$tmp/release.txt:features=1,metadata=print:file=-" \
        -f null - | awk -F= '
            $1 == "lavfi.bliinds.raw" { raw = $2 }
            /^lavfi\.bliinds\.L[123]\.(zeta|gamma|sub|ori)/ { i++; expected += 0.01 / 0.02 * i * ($2 - 1 - i / 10) }
            END { d = raw - expected - 39; exit !(i == 24 && (d < 0 ? -d : d) < 0.001) }'
}

python=python3
"$python" -c 'import numpy, scipy' 2> /dev/null || python=/usr/bin/python3
drawn
check "the published model's converter and its score" converts
check "the lists of contents and of encodes" lists
check "make model says what is missing, and which sources show their coding" tells
check "make model goes on where it was killed, and repeats itself" resumes
check "the fit does not see what is held back or has no quantizers" holds
check "the filter and the fit agree on features and score" predicts
check "the filter and numpy agree on the model's score" scores "$RESULTS/tiny.txt"
check "the filter and numpy agree on the default model's score" scores "$root"/models/*.txt
