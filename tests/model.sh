#!/usr/bin/env bash
# Tests what makes models, in about a minute: make model on a few drawn shots, killed on the way and gone
# on with, and the converter of the published model. tests/model.sh FFMPEG; prints a line
# for each test, and fails if one does. Where FFMPEG has no libvmaf, or VMAF_MODELS is not
# set, labels are made of PSNR, and a line of SKIPPED says it.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../scripts/common.sh"

ffmpeg=$(realpath "$1")
train=$root/tools/train
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

export FFMPEG=$tmp/ffmpeg MEDIA=$tmp/media CONTENTS=$tmp/contents.txt WORK=$tmp/training RESULTS=$tmp/results \
    NAME=tiny FAMILIES="x264_slow x264_veryfast x264_1_2 mpeg2" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

check() { # what command...
    local what=$1
    shift
    "$@" || die "$what"
    echo "PASS    $what"
}

# Three groups, of which the rule holds one back. In zoom_far the scene changes, so that there
# is a second I frame.
drawn() {
    local name source
    mkdir -p "$MEDIA/drawn/shots"
    while read -r name source; do
        "$ffmpeg" -nostdin -v error -f lavfi -i "${source/@/s=640x360:r=25}" -frames:v 14 -c:v ffv1 "$MEDIA/drawn/shots/$name.mkv"
        echo "$name ${name%_*} choose drawn/shots $name.mkv none 0 1 12 nobody" >> "$CONTENTS"
    done << END
zoom mandelbrot=@
zoom_far mandelbrot=@:start_scale=0.1,format=gray,negate=enable='gte(n,6)'
chart testsrc2=@,noise=alls=20:allf=t:all_seed=2
grain color=@:c=gray,format=yuv420p,noise=alls=90:allf=t:all_seed=5,gblur=2
END
    "$python" -B "$train/contents.py" split "$CONTENTS"
}

# The program of the tests: the quantizers fail while there is a file $tmp/broken, and without
# libvmaf a label is made of PSNR.
program() {
    if [ -d "${VMAF_MODELS:-}" ] && [[ $("$ffmpeg" -hide_banner -filters) = *" libvmaf "* ]]; then
        judge=libvmaf
    else
        judge=psnr
        export VMAF_MODELS=$tmp/vmaf
        mkdir -p "$tmp/vmaf/folder"
        touch "$tmp/vmaf/folder/vmaf_v"{1.0.16_3d0h,0.6.1}.json
    fi
    { echo "#!/usr/bin/env bash"; declare -p ffmpeg tmp judge; cat << 'SCRIPT'; } > "$FFMPEG"
[ ! -e "$tmp/broken" ] || [[ " $* " != *quantizer_metadata* ]] || { echo "made to fail" >&2; exit 1; }
if [ $judge = libvmaf ] || [[ " $* " != *libvmaf=* && " $* " != *" -filters "* ]]; then
    exec "$ffmpeg" "$@"
fi
"$ffmpeg" "${@/libvmaf=*\'\[out]/psnr=stats_file=vmaf.log[out]}" || exit
if [[ " $* " = *" -filters "* ]]; then
    echo " .. libvmaf           VV->V"
else
    awk '
        {
            sub(/.*psnr_y:/, "")
            score = $1 == "inf" || $1 > 50 ? 100 : $1 < 10 ? 0 : 2.5 * ($1 - 10)
            printf "%s{\"metrics\": {\"v1\": %s, \"v0\": %s}}", NR == 1 ? "{\"frames\": [" : ", ", score, score
        }
        END { print "]}" }' vmaf.log > vmaf.json
fi
SCRIPT
    chmod +x "$FFMPEG"
}

# The split of the video contents is that of its rule, and one that was edited is found.
splits() {
    cp "$train/contents.txt" "$tmp/list" || return
    "$python" -B "$train/contents.py" check && "$python" -B "$train/contents.py" check "$tmp/list" || return
    sed -i '/^bunny /s/ choose / held /' "$tmp/list"
    ! "$python" -B "$train/contents.py" check "$tmp/list" 2> "$tmp/split.log" &&
        grep -q 'does not follow its rule' "$tmp/split.log" || return
    "$python" -B "$train/contents.py" split "$tmp/list" && cmp "$tmp/list" "$train/contents.txt"
}

# Sources that are not there are told, with how to get them, before anything is made.
tells() {
    mkdir "$tmp/few" || return
    ! MEDIA=$tmp/few "$scripts/model.sh" 2> "$tmp/told" &&
        grep -q "git clone .*/drawn/shots $tmp/few/drawn/shots" "$tmp/told" || return
    ! VMAF_MODELS=$tmp/none "$scripts/model.sh" 2> "$tmp/told" && grep -q "^error: VMAF_MODELS=$tmp/none" "$tmp/told" || return
    ! FAMILIES="mpeg2 none" "$scripts/model.sh" > "$tmp/told" 2>&1 && grep -q "^error: .* none$" "$tmp/told" || return
    ! VMAF_MODELS=$tmp/few "$scripts/model.sh" > "$tmp/told" 2>&1 &&
        grep -q "^error: there is no vmaf_v.*json in $tmp/few" "$tmp/told" || return
    [ ! "$(find "$WORK/records" -name '*.json')" ]
}

# No two encodes of a shot have one name: one would take the place of the other.
names() {
    (cd "$train" && "$python" -B -c '
import encodes
for index in range(12):
    for size in (640, 360), (360, 640), (400, 200), (3840, 2160):
        names = [job.name for jobs in encodes.rounds(index, size) for job in jobs]
        assert names and len(names) == len(set(names)), names')
}

# A source that shows its coding is refused, until it is made small enough.
pristine() {
    local clip=$tmp/pristine
    judged() { "$python" -B "$train/pristine.py" --ffmpeg "$ffmpeg" --factor "$@" > "$tmp/judged" 2>&1; }
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
    until [ "$(find "$WORK/records" -name '*.json' 2> /dev/null | wc -l)" -ge 8 ]; do
        kill -0 $group 2> /dev/null || { cat "$tmp/killed.log" >&2; return 1; }
        sleep 0.2
    done
    kill -KILL -- -$group
    while kill -0 -- -$group 2> /dev/null; do sleep 0.1; done
    [ ! -e "$RESULTS/tiny.txt" ] || return
    # those of encodes whose quantizers came are whole
    kept=$(grep -l '"quantizer"' -r "$WORK/records" --include='*.json' | wc -l)
    truncate -s 100 "$(grep -l '"quantizer"' -r "$WORK/records" --include='*.json' | head -n 1)"
    "$scripts/model.sh" > "$tmp/first.log" 2>&1 || { cat "$tmp/first.log" >&2; return 1; }
    total=$(find "$WORK/records" -name '*.json' | wc -l)
    grep -q "^$total encodes, $((total - kept + 1)) of them new, 0 failed" "$tmp/first.log"
}

# And with all there it makes none, and the same model.
repeats() {
    cp "$RESULTS/tiny.txt" "$tmp/once.txt"
    "$scripts/model.sh" > "$tmp/second.log" 2>&1 || { cat "$tmp/second.log" >&2; return 1; }
    grep -q ', 0 of them new, 0 failed' "$tmp/second.log" && cmp "$tmp/once.txt" "$RESULTS/tiny.txt"
}

# What fails of the quantizers costs no label, and the next run makes them alone.
quantizers() {
    label() {
        "$python" -B "$train/label.py" --ffmpeg "$FFMPEG" --models "$VMAF_MODELS" --media "$MEDIA" \
            --contents "$CONTENTS" --work "$tmp/one" --only chart --families mpeg2 > "$tmp/label.log" 2>&1
    }
    touch "$tmp/broken"
    ! label && grep -q '^3 encodes, 0 of them new, 3 failed' "$tmp/label.log" &&
        grep -q 'failed: chart mpeg2_4: .*made to fail' <(tr '\n' ' ' < "$tmp/label.log") || return
    cp -r "$tmp/one/records" "$tmp/labels" || return
    rm "$tmp/broken"
    label && grep -q '^3 encodes, 3 of them new, 0 failed' "$tmp/label.log" || return
    "$python" -c '
import glob, json, sys
old, new = ([json.load(open(path)) for path in sorted(glob.glob(folder + "/chart/*.json"))] for folder in sys.argv[1:])
assert len(old) == 3 and all("quantizer" not in record for record in old)
assert all(len(record.pop("quantizer")) == 12 for record in new)
assert old == new' "$tmp/labels" "$tmp/one/records"
}

# Changes records, each by a line of Python of its record r, and fits again.
refits() { # names of shots, in Python; change
    rm -rf "$tmp/changed"
    cp -r "$WORK" "$tmp/changed" || return
    "$python" -c '
import glob, json, sys
sys.path.insert(0, sys.argv[1])
import contents
shots = [c.name for c in contents.contents(sys.argv[2]) if eval(sys.argv[4])]
assert shots
for path in glob.glob(sys.argv[3] + "/records/*/*.json"):
    r = json.load(open(path))
    if r["content"] in shots:
        exec(sys.argv[5])
        json.dump(r, open(path, "w"))' "$train" "$CONTENTS" "$tmp/changed" "$@" || return
    "$python" -B "$train/score.py" --work "$tmp/changed" --results "$tmp/changed/results" --contents "$CONTENTS" \
        --name tiny > "$tmp/fit.log" 2>&1
}

# The contents that are held back have no part in the fit; the others do.
holds() {
    refits 'c.use == "held"' 'r["v1"] = [50.0] * 12' && cmp "$RESULTS/tiny.txt" "$tmp/changed/results/tiny.txt" || return
    refits 'c.name == "chart"' 'r["v1"] = [50.0] * 12' && ! cmp -s "$RESULTS/tiny.txt" "$tmp/changed/results/tiny.txt"
}

# What has no quantizers is left out, and said.
leaves_out() {
    refits 'c.use == "choose"' 'if r["family"] == "mpeg2": del r["quantizer"]' &&
        grep -q '^note: left out [1-9][0-9]* encodes without quantizers' "$tmp/fit.log" &&
        grep -q 'MPEG-2' "$RESULTS/report.md" && ! grep -q 'MPEG-2' "$tmp/changed/results/report.md" || return
    ! refits 'c.use == "choose"' 'r["quantizer"] = []' && grep -q '^error: the records are of 0 groups' "$tmp/fit.log"
}

# The filter makes the score that score.py does of the same features, and has
# the features that score.py makes of records.
predicts() {
    local encode
    for encode in zoom/x264_slow_32 chart/mpeg2_12 zoom_far/x264_1_2_27; do
        [ -s "$WORK/encodes/$encode.mkv" ] || return
        "$ffmpeg" -v error -bsf:v quantizer_metadata -i "$WORK/encodes/$encode.mkv" \
            -vf "bliinds=model=$RESULTS/tiny.txt:features=1:shown_height=360,metadata=print:file=$tmp/bitstream" -f null - || return
        "$ffmpeg" -v error -i "$WORK/encodes/$encode.mkv" \
            -vf "bliinds=model=$RESULTS/tiny.txt:features=1,metadata=print:file=$tmp/pixels" -f null - || return
        "$python" -B -c '
import sys
train, listed, work, encode, *files = sys.argv[1:]
sys.path.insert(0, train)
import numpy as np
import contents, label, score

def frames(path):
    found = []
    for line in open(path):
        if line.startswith("frame:"):
            found.append({})
        elif line.startswith("lavfi.bliinds."):
            name, value = line[len("lavfi.bliinds."):].strip().split("=")
            found[-1][name] = value
    return found

shots = contents.contents(listed)
data = score.Data(work, shots, "choose")
content, name = encode.split("/")
row = next(row for use in ("choose", "held") for row in score.Data(work, shots, use).rows
           if row["encode"] == "%s %s %s" % (content, *name.rsplit("_", 1)))
for path in files:
    basis = path.rsplit("/", 1)[1]
    names = score.FORMS[basis]
    model = score.Model(names, data, score.choose_strength(names, data))
    got = frames(path)
    assert len(got) == 12 and all(f["basis"] == basis for f in got), (basis, got[:1])
    x = np.array([[float(f[n]) for n in names] for f in got])
    off = np.abs(model.raw(x) - [float(f["raw"]) for f in got]).max()
    assert off < 1e-4, (encode, basis, "raw", off)
    off = np.abs(x[label.FIRST_FRAME::label.FRAME_STEP].mean(0) - [row[n] for n in names])
    assert off.max() < 2e-6, (encode, basis, names[off.argmax()], off.max())
' "$train" "$CONTENTS" "$WORK" "$encode" "$tmp/bitstream" "$tmp/pixels" || return
    done
}

# Its score by the filter is that by the other implementation.
scores() { # model
    local picture=$root/tests/oracle/camera_crop_300x240
    "$ffmpeg" -v error -i "$picture.pgm" -vf "bliinds=model=$1,metadata=print:file=-" -f null - |
        sed -n 's/^lavfi.bliinds.raw=//p' > "$tmp/filter"
    "$python" "$root/tools/train/reference.py" "$1" "$picture.pgm" |
        awk -F, 'NR > 1 { print $3 }' | paste - "$tmp/filter" |
        awk '{ d = $1 - $2; if ((d < 0 ? -d : d) > 0.001) bad = 1 } END { exit bad || NR != 1 }'
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
program
drawn
check "the published model's converter and its score" converts
check "the split of the video contents" splits
check "names of encodes" names
check "sources that show their coding are refused" pristine
check "make model says what is missing" tells
check "make model goes on where it was killed" resumes
check "make model repeats itself" repeats
check "make model keeps a label whose quantizers failed" quantizers
check "the fit does not see what is held back" holds
check "the fit leaves out what has no quantizers" leaves_out
check "the filter and the fit agree on the score" predicts
check "the filter and numpy agree on the model's score" scores "$RESULTS/tiny.txt"
check "the filter and numpy agree on the default model's score" scores "$root"/models/*.txt
[ $judge = libvmaf ] ||
    echo "SKIPPED labels by libvmaf: this FFmpeg has none, or VMAF_MODELS=folder is not set; PSNR stood in for it"
