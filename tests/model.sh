#!/usr/bin/env bash
# Test the training of models: make model on a few synthetic shots, interrupted and resumed, and the
# converter of the published model. tests/model.sh FFMPEG prints a line for each test.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2016,SC2317 source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"

ffmpeg=$(realpath "$1")

export FFMPEG=$ffmpeg MEDIA=$tmp/media CONTENTS=$tmp/contents.txt WORK=$tmp/training \
    RESULTS=$tmp/results NAME=tiny FAMILIES="x264_slow x264_1_2 mpeg2" \
    PYTHONPATH=$root/tools/train:$root/tools:$root/tests/oracle PYTHONDONTWRITEBYTECODE=1

# Make shots of three groups, one of which is held out. zoom_far has a scene change, for a second I frame.
make_shots() {
    local name source
    mkdir -p "$MEDIA/drawn/shots"
    while read -r name source; do
        "$ffmpeg" -nostdin -v error -f lavfi -i "${source/@/s=640x360:r=25}" -frames:v 14 -c:v ffv1 "$MEDIA/drawn/shots/$name.mkv"
        echo "$name ${name%_*} drawn/shots $name.mkv none 0 1 12 nobody" >> "$CONTENTS"
    done << END
zoom mandelbrot=@
zoom_far mandelbrot=@:start_scale=0.1,format=gray,negate=enable='gte(n,6)'
chart testsrc2=@,noise=alls=20:allf=t:all_seed=2
grain color=@:c=gray,format=yuv420p,noise=alls=90:allf=t:all_seed=5,gblur=2
END
}

# Missing inputs are reported before any encode is made; a source with traces of coding is refused.
check_messages() {
    local shot="coarse coarse drawn/shots coarse.mkv none 0"
    mkdir "$tmp/few" || return
    ! MEDIA=$tmp/few "$scripts/model.sh" 2> "$tmp/messages" && grep -q "git clone .*/drawn/shots $tmp/few/drawn/shots" "$tmp/messages" || return
    ! FAMILIES="mpeg2 none" "$scripts/model.sh" > "$tmp/messages" 2>&1 && grep -q "^error: .* none$" "$tmp/messages" || return
    [ ! "$(find "$WORK/records" -name '*.json')" ] || return
    "$ffmpeg" -v error -i "$MEDIA/drawn/shots/chart.mkv" -pix_fmt yuv420p -c:v libx264 -qp 27 \
        "$MEDIA/drawn/shots/coarse.mkv" || return
    ! CONTENTS=<(echo "$shot 1 12 nobody") train pristine && grep -q 'coarse.*REFUSED' "$tmp/messages" &&
        CONTENTS=<(echo "$shot 2 12 nobody") train pristine
}
train() { # step...
    "$python" "$root/tools/train/train.py" "$@" --ffmpeg "$ffmpeg" --media "$MEDIA" \
        --contents "$CONTENTS" > "$tmp/messages" 2>&1
}

# A killed run leaves only complete records, the next run makes the missing ones, and a third run makes none and the same model.
check_resume() {
    local group
    setsid "$scripts/model.sh" > "$tmp/killed.log" 2>&1 &
    group=$!
    timeout 120 bash -c 'until [ "$(find "$WORK/records" -name "*.json" | wc -l)" -ge 8 ]
        do sleep 0.2; done' 2> /dev/null
    kill -KILL -- -$group || { cat "$tmp/killed.log" >&2; return 1; }
    wait $group
    [ ! -e "$RESULTS/tiny.txt" ] || return
    truncate -s 100 "$(find "$WORK/records" -name '*.json' | head -n 1)"
    "$scripts/model.sh" > "$tmp/first.log" 2>&1 || { cat "$tmp/first.log" >&2; return 1; }
    grep -q '[1-9] of them new, 0 failed' "$tmp/first.log" || return
    cp "$RESULTS/tiny.txt" "$tmp/once.txt"
    "$scripts/model.sh" > "$tmp/second.log" 2>&1 && grep -q ', 0 of them new, 0 failed' "$tmp/second.log" &&
        cmp "$tmp/once.txt" "$RESULTS/tiny.txt"
}

# Held-out contents do not affect the fit, others do; one group is too few for a fit.
refit_with() { # expression in Python that selects shots
    rm -rf "$tmp/changed" && cp -r "$WORK" "$tmp/changed" && "$python" -c '
import contents, glob, json, sys
shots = [shot.name for shot in contents.contents(sys.argv[1]) if eval(sys.argv[3])]
assert shots
for path in glob.glob(sys.argv[2] + "/records/*/*.json"):
    record = json.load(open(path))
    if record["content"] in shots:
        json.dump({**record, "v1": [50.0] * 12}, open(path, "w"))' "$CONTENTS" "$tmp/changed" "$@" &&
        refit
}
refit() {
    train fit --work "$tmp/changed" --results "$tmp/refitted" --name tiny
}
check_held_out() {
    refit_with 'shot.held' && cmp "$RESULTS/tiny.txt" "$tmp/refitted/tiny.txt" || return
    refit_with 'shot.name == "chart"' && ! cmp -s "$RESULTS/tiny.txt" "$tmp/refitted/tiny.txt" || return
    rm -r "$tmp/changed/records/chart" && ! refit &&
        grep -q '^error: the records are of 1 groups' "$tmp/messages"
}

# Flat frames get a third model, which the filter loads; frames that are flat and scaled up train no model.
check_flat_model() {
    local made=$tmp/refitted/tiny
    ! grep -q '^frames' "$RESULTS/tiny.txt" || return
    rm -rf "$tmp/changed" && cp -r "$WORK" "$tmp/changed" && "$python" -c '
import glob, json, sys
for path in glob.glob(sys.argv[1] + "/records/*/*.json"):
    record = json.load(open(path))
    for flat in record["features"][:2]:
        flat["basis"] = 2
    for flat in (record["shown"] or [])[1:]:
        flat["valid"] = 0
    json.dump(record, open(path, "w"))' "$tmp/changed" && refit || return
    [ "$(grep -cx 'frames       flat' "$made.txt")" = 1 ] &&
        [ "$(sed -n 's/^training.* on \(.*\) encodes.*/\1/p' "$made.txt" | xargs)" = "21 21 12" ] &&
        check_scores "$made.txt"
}

# With both models, the score of the filter equals that of the fit, and so do the features.
check_predictions() {
    local encode=$WORK/encodes/zoom_far/x264_1_2_27.mkv filter="bliinds=model=$RESULTS/tiny.txt:features=1"
    "$ffmpeg" -v error -bsf:v quantizer_metadata -i "$encode" -vf "$filter:shown_height=360:log_path=$tmp/bitstream" -f null - &&
        "$ffmpeg" -v error -i "$encode" -vf "$filter:log_path=$tmp/pixels" -f null - && "$python" -c '
import json, sys
import label, models, reference
model, record, *logs = sys.argv[1:]
logs = [[frame["metrics"] for frame in json.load(open(log))["frames"]] for log in logs]
for of, log in zip(models.read(model), logs):
    for frame in log:
        assert abs(reference.evaluate(of, frame) - frame["raw"]) < 1e-4, frame
picked = logs[0][label.PICK]
for a, b in zip(json.load(open(record))["features"], picked, strict=True):
    assert all(abs(a[name] - b[name]) < 2e-6 for name in models.FEATURES), (a, b)
' "$RESULTS/tiny.txt" "$WORK/records/zoom_far/x264_1_2_27.json" "$tmp/bitstream" "$tmp/pixels"
}

# The score of the filter equals that of the implementation in numpy.
check_scores() { # model
    local picture=$root/tests/oracle/camera_crop_300x240.pgm
    "$ffmpeg" -v error -i "$picture" -vf "bliinds=model=$1,metadata=print:file=-" -f null - | sed -n 's/^lavfi.bliinds.raw=//p' > "$tmp/filter"
    "$python" "$root/tests/oracle/reference.py" "$1" "$picture" | awk -F, 'NR > 1 { print $3 }' | paste - "$tmp/filter" |
        awk '{ d = $1 - $2; if ((d < 0 ? -d : d) > 0.001) bad = 1 } END { exit bad || NR != 1 }'
}

# train.py loss prints the table of the loss of quantizer_metadata; it does not touch the records of other models.
check_loss_tables() {
    train loss --work "$WORK" --families mpeg2_{1_1,2_3,1_2,1_3,1_4} &&
        grep -qx 'static const double mpeg2_loss\[\] = { \(-\?[0-9.]*, \)\{5\}-\?[0-9.]* };' "$tmp/messages" &&
        grep -q 'held back: [0-9]* encodes of 1 groups' "$tmp/messages" &&
        [ ! "$(find "$WORK/records" -name 'uhd*')" ]
}

# For a model in the release's format with arbitrary numbers, the filter gives the most probable score of the joint distribution.
check_converter() {
    "$python" -c '
import numpy as np, sys
i = np.arange(1, 25)
sigma = np.diag([30.0] * 24 + [0.02])
sigma[24, :24] = sigma[:24, 24] = -0.01 * i
print("mu_prob_dist = [", *(1 + i / 10), "40 ];\nsigma_prob_dist = [")
np.savetxt(sys.stdout, sigma, "%g", newline=";\n")
print("];")' > "$tmp/bliinds_prediction.m"
    ! "$root/tools/bliinds-convert-release" "$root/VERSION" 2> "$tmp/messages" &&
        grep -q ': there is no matrix with mu in its name: ' "$tmp/messages" || return
    "$root/tools/bliinds-convert-release" "$tmp/bliinds_prediction.m" > "$tmp/release.txt" || return
    "$ffmpeg" -v error -i "$root/tests/oracle/camera_crop_300x240.pgm" -vf "bliinds=model=$tmp/release.txt:features=1,metadata=print:file=-" \
        -f null - | awk -F= '
            $1 == "lavfi.bliinds.raw" { raw = $2 }
            /^lavfi\.bliinds\.L[123]\.(zeta|gamma|sub|ori)/ { i++; expected += 0.01 / 0.02 * i * ($2 - 1 - i / 10) }
            END { d = raw - expected - 39; exit !(i == 24 && (d < 0 ? -d : d) < 0.001) }'
}

python=python3
"$python" -c 'import numpy, scipy' 2> /dev/null || python=/usr/bin/python3
make_shots
check "the published model's converter and its score" check_converter
check "make model says what is missing, and which sources show their coding" check_messages
check "make model resumes after it was killed, and is reproducible" check_resume
check "the fit does not see what is held back" check_held_out
check "flat frames have a model of their own" check_flat_model
check "the loss of quantizer_metadata is fitted" check_loss_tables
check "the filter and the fit agree on features and score" check_predictions
check "the filter and numpy agree on the default model's score" check_scores "$root"/models/*.txt
[ $failed = 0 ]
