#!/usr/bin/env bash
# Tests the tests: what is broken must be seen. In a copy of the project and of a build,
#
#   tests/extra/broken.sh dead BUILD            no program does anything, and tests have to fail
#   tests/extra/broken.sh mutants BUILD [all]   a line of the code is wrong, and one of some tests has to fail
#   tests/extra/broken.sh                       all of both, of a build that is made: make mutants
#
# BUILD is what scripts/build.sh has printed, and FATE has passed in it. Prints lines of PASS,
# FAIL and SKIPPED. Without "all", the mutants with a star are tried; with MUTANTS=FILE those of a file.
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"
# shellcheck source=tests/common.sh
. "$root/tests/common.sh"

# What is made wrong in which file, and the tests of which one has to see it. Those that begin
# with a star are tried by make check-all.
mutants() {
    sed 's/ *@ */@/g' << 'END'
  libavfilter/bliinds_block.h @ s/c3 = 0.3717480345f/c3 = 0.3717490345f/ @ bliinds-oracle checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/(v3 + v1)  + 1e-8f/(v3 + v2)  + 1e-8f/ @ bliinds-blocks checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/1.f \/ 12/1.f \/ 13/ @ bliinds-oracle checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/SET_NOISE (16.f/SET_NOISE (4.f/ @ bliinds-blocks bliinds-sizes checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/SUB_MAX 32767.f/SUB_MAX 32766.f/ @ bliinds-blocks checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/(r <= table/(r < table/ @ bliinds-blocks bliinds-yuv checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/BLOCK > 8/BLOCK >= 8/ @ bliinds-yuv
  libavfilter/bliinds_block.h @ s/(1 << (BLIINDS_TAP_BITS - 1))/0/ @ bliinds-blocks bliinds-yuv checkasm-vf_bliinds
  libavfilter/bliinds_block.h @ s/(n + 9) \/ 10/(n + 10) \/ 10/ @ bliinds-oracle bliinds-sizes
  libavfilter/bliinds.c       @ s/MAX_FLAT   0.75/MAX_FLAT   0.76/ @ bliinds-valid
  libavfilter/bliinds.c       @ s/MIN_BLOCKS 10/MIN_BLOCKS 11/ @ bliinds-valid
  libavfilter/bliinds.c       @ s/!s->model_name \&\& f->kind/f->kind/ @ bliinds-no-bitstream
  libavfilter/bliinds.c       @ s/flat <= BLANK \&\& // @ bliinds-basis
  libavfilter/bliinds.c       @ s/ \&\& f->coded\[CODED_SCALE\] <= 0// @ bliinds-basis
  libavfilter/score_log.c        @ s/ (!s->handed_over || can_rewrite(log))/ 1/ @ bliinds-log-reinit
  libavfilter/dualinput.c     @ s/ff_metric_update_damage(.*/;/ @ bliinds-damage
  libavcodec/bsf/quantizer_metadata.c @ s/gop.step_sum += frame->step_sum;/gop.step_sum += frame->step_sum \/ frame->bytes;/ @ quantizer-h264
* libavfilter/bliinds.c       @ s/log2(scale \* shown)/log2(scale)/ @ bliinds-basis
  libavcodec/bsf/quantizer_metadata.c @ s/if (gop.nb_frames == MAX_GOP_FRAMES)/if (0)/ @ quantizer-groups
  models/vmaf1_est5.txt       @ s/^constant     -1.84/constant     -1.85/ @ bliinds-default-model
  libavfilter/bliinds.c       @ s/CODED_AV1   }/CODED_HEVC  }/ @ bliinds-basis
  libavfilter/sample_format.h    @ s/? 16 << (luma/? 15 << (luma/ @ bliinds-letterbox
  libavfilter/bliinds.c       @ s/\[grid_class\]\[b\]) \/ n + 0.1/&1/ @ bliinds-yuv
  libavfilter/bliinds.c       @ s/SUB\] = 2, \[BLIINDS_ORI\] = 3/SUB] = 3, [BLIINDS_ORI] = 2/ @ bliinds-yuv
  libavfilter/bliinds.c       @ s/? SEI_VALID : 0/? 0 : SEI_VALID/ @ bliinds-sei-h264
  libavfilter/bliinds_model.c @ s/step + 0.5)/step + 0.4)/ @ bliinds-models
  libavfilter/bliinds_model.c @ s/sum += weight\[i\] \*/sum += 1.001 * weight[i] */ @ bliinds-models
  libavfilter/bliinds_model.c @ s/unit->out \* (z/(z/ @ bliinds-basis
  libavfilter/bliinds_model.c @ s/(1 + fabs(z))/(1 + z)/ @ bliinds-basis
  libavfilter/bliinds_model.c @ s/weight\[BLIINDS_NB_FEATURES\] \* p/weight[0] * p/ @ bliinds-basis
* libavfilter/bliinds_model.c @ s/i >= BLIINDS_FEATURE_GRID_PHASE_STAT/i >= BLIINDS_FEATURE_CODED/ @ bliinds-bands
  libavfilter/bliinds_model.c @ s/i < BLIINDS_FEATURE_MOTION/i < BLIINDS_FEATURE_CODED/ @ bliinds-blocks
  libavfilter/vf_bliinds.c    @ s/y >= rows->first \&\& y < FFMIN/y < FFMIN/ @ bliinds-motion
  libavfilter/bliinds.c       @ s/n == s->next_n \&\& // @ bliinds-motion
  libavfilter/bliinds.c       @ s/is_chosen(n + 1, s/is_chosen(n, s/ @ bliinds-motion
  libavfilter/bliinds_dsp.c  @ s/sums->nb_flat += sum/sums->nb_flat = sum/ @ bliinds-valid
  libavfilter/bliinds_dsp.c  @ s/while (hist\[bin\] < k)/while (hist[bin] <= k)/ @ bliinds-blocks
  libavfilter/bliinds_dsp.c  @ s/straddling(y) || bliinds_is_straddling(x)/straddling(y) \&\& bliinds_is_straddling(x)/ @ bliinds-yuv
  libavfilter/bliinds_dsp.c  @ s/nb_above += above\[1\]/nb_above += !!above[1]/ @ bliinds-blocks
* libavfilter/x86/vf_bliinds.asm @ s/roundpd         %1, %1, 3/roundpd         %1, %1, 0/ @ checkasm-vf_bliinds
  libavfilter/x86/vf_bliinds.asm @ s/COMPARE          5, le, m0, m5/COMPARE          5, lt, m0, m5/ @ checkasm-vf_bliinds
  libavfilter/vf_bliinds.c    @ s/2 \* rows\[l + 1\].to + 2)/2 * rows[l + 1].to)/ @ bliinds-layouts
  libavfilter/vf_bliinds.c    @ s/FFMIN(rows\[l\].from, 2 \* rows\[l + 1\].from)/rows[l].from/ @ bliinds-layouts
  libavfilter/vf_bliinds.c    @ s/job = 1; job < nb_jobs/job = 1; job + 1 < nb_jobs/ @ bliinds-layouts
  libavfilter/sample_format.h @ s/range == AVCOL_RANGE_MPEG;/range == AVCOL_RANGE_JPEG;/ @ bliinds-ranges
  libavfilter/bliinds.c @ s/n \/ step \* 0x9e3779b9/n \/ step * 0x9e3779b1/ @ bliinds-which-frames
  libavfilter/score_log.c   @ s/nb_valid += !!valid/nb_valid += 1/ @ bliinds-log-json
  libavfilter/cuda/async.c @ s/{ ref, other ?/{ NULL, other ?/ @ faults-in-flight-ssim_cuda
  libavfilter/cuda/async.c @ s/q->error = ret;/q->error = 0;/ @ faults-driver-ssim_cuda
  libavfilter/sample_format.h @ s/(int)(frame->crop_left + frame->crop_right)/(int)frame->crop_left/ @ faults-cropped
* libavfilter/vf_vmaf_cuda.c @ s/ret = features\[pass/ret = !pass->feature ? 0 : features[pass/ @ vmaf-cuda-tiles
* libavfilter/vf_bliinds_cuda.cu @ s/^        if (pass > 0) {$/        if (pass > 9) {/ @ bliinds-cuda-tiles
  libavfilter/vf_bliinds_cuda.cu @ s/(w % 4 == 0 || left/(w % 4 == w % 4 || left/ @ bliinds-cuda-tiles
  libavfilter/vf_bliinds_cuda.cu @ s/if (left >= 0 \&\& top >= 0 \&\& left/if (left >= -9 \&\& top >= 0 \&\& left/ @ bliinds-cuda-tiles
  libavfilter/vf_bliinds_cuda.cu @ s/stored, y, black << p.up/stored, y, 0/ @ bliinds-cuda-tiles
  libavfilter/vf_bliinds_cuda.cu @ s/define HALO3 1/define HALO3 2/ @ bliinds-cuda-tiles
  libavfilter/vf_ssim_cuda.cu @ s/sum += v.w;/sum += v.z;/ @ ssim-cuda-tiles
  libavfilter/vf_mad_cuda.cu @ s/left < MAD_STEP ? left/left < 3 ? left/ @ mad-cuda-tiles
  libavfilter/vf_blocksmooth_cuda.cu @ s/^    sync_warp();/    ;/ @ blocksmooth-cuda-tiles
* libavfilter/mad.c           @ s/exp(-pow(0.114 \* f, 1.1))/exp(-pow(0.1141 * f, 1.1))/ @ mad-oracle
  libavfilter/mad.c           @ s/255. \/ 219/255. \/ 220/ @ mad-cases
  libavfilter/mad.c           @ s/0.15 \* cos(4/0.14 * cos(4/ @ mad-oracle
  libavfilter/mad.c           @ s/(i + (size + 1) \/ 2)/(i + size \/ 2)/ @ mad-cases
  libavfilter/mad_block.h     @ s/BORDER_END   17/BORDER_END   16/ @ mad-oracle
  libavfilter/mad_block.h     @ s/DETECTION_OCTAVES  12/DETECTION_OCTAVES  13/ @ mad-maps
  libavfilter/vf_mad_cuda.cu @ s/p.appearance\[y \/ MAD_STEP/p.appearance[(y + 1) \/ MAD_STEP/ @ mad-cuda-maps
  libavfilter/mad_block.h     @ s/MIN_MEAN 0.5/MIN_MEAN 0.6/ @ mad-oracle mad-cases
  libavfilter/mad_block.h     @ s/4.5399929762484854e-5/3.72e-5/ @ mad-oracle mad-cases
  libavfilter/mad_tx.c        @ s/t->size = 2 \* length - 1;/t->size = 2 * length - 4;/ @ mad-tx
  libavfilter/mad_tx.c        @ s/v\[swap\]\[lane\]  = re \* f.re - im/v[swap][lane]  = re * f.re + im/ @ mad-cases mad-tx
* libavfilter/vmaf_cambi.c    @ s/CAMBI_MODEL_V1 ? CAMBI_VIS_LUM : 0,/CAMBI_MODEL_V1 ? CAMBI_VIS_LUM : CAMBI_VIS_LUM,/ @ cambi-libvmaf
  libavfilter/vmaf_cambi.c    @ s/return 16.0 \* s->heatmap/return 15.0 * s->heatmap/ @ cambi-heatmap
  libavfilter/vf_cambi.c      @ s/dims.shift = luma->shift/dims.shift = 0/ @ cambi-formats
  libavfilter/blocksmooth.h   @ s/+ 4) \/ 5/+ 0) \/ 5/ @ blocksmooth-numbers
  libavfilter/blocksmooth.h   @ s/strong = 2 \* qf/strong = 2 * qf + 1/ @ blocksmooth-numbers
  libavfilter/blocksmooth.h   @ s/step >= (is_flat/step > (is_flat/ @ blocksmooth-numbers
  libavfilter/vf_blocksmooth.c @ s/edge + block \/ 2, c->height/edge + block \/ 2 - 1, c->height/ @ blocksmooth-numbers
* libavcodec/bsf/quantizer_metadata.c @ s/slice->slice_qp_delta;/slice->slice_qp_delta - 1;/ @ quantizer-h264 quantizer-hevc
  libavcodec/bsf/quantizer_metadata.c @ s/gop.other_bytes += frame->bytes;/;/ @ quantizer-h264
  libavcodec/bsf/quantizer_metadata.c @ s/s->ref\[header->frame_to_show_map_idx\] :/s->ref[0] :/ @ quantizer-av1
  libavcodec/bsf/quantizer_metadata.c @ s/\[index\] \/ 8.) - (depth - 8)/[index] \/ 8.)/ @ quantizer-av1
  libavcodec/bsf/quantizer_metadata.c @ s/slice->frame_num == s->field.frame_num/0/ @ quantizer-fields
  libavcodec/bsf/quantizer_metadata.c @ s/        s->gop = s->gop_before_field;/;/ @ quantizer-fields
  libavcodec/bsf/quantizer_metadata.c @ s/container_height \* 3/container_height * 2/ @ quantizer-fields
  libavcodec/bsf/quantizer_metadata.c @ s/ph->ph_qp_delta :/ph->ph_qp_delta + 1 :/ @ quantizer-vvc
  libavcodec/bsf/quantizer_metadata.c @ s/!(pkt->flags \& AV_PKT_FLAG_DISCARD)/1/ @ quantizer-shown
  libavcodec/bsf/quantizer_metadata.c @ s/av_dict_get(stats_files, s->stats_file, NULL, AV_DICT_MATCH_CASE)/0/ @ quantizer-streams
  libavcodec/bsf/quantizer_metadata.c @ s/weight\[type != AV_PICTURE_TYPE_I\]/weight[0]/ @ quantizer-mpeg
  libavcodec/bsf/quantizer_metadata.c @ s/s->non_linear ? ff/0 ? ff/ @ quantizer-mpeg
  libavcodec/bsf/quantizer_metadata.c @ s/int k = 1; k < 64/int k = 0; k < 64/ @ quantizer-mjpeg
  tools/ffcrf_search.py       @ s/MOST - 1 - nb - (not low)/MOST + 1 - nb/ @ tools-ffcrf
  tools/ffcrf_search.py       @ s/start = round(low.crf \/ step)/start = round(low.crf \/ step) + 1/ @ tools-ffcrf
  tools/ffcrf_search.py       @ s/nb >= ENOUGH and end - start <= near/nb >= ENOUGH and end - start <= 2 * near/ @ tools-ffcrf
  tools/ffcrf_search.py       @ s/points\[:points.index(high)\] if high else points/points/ @ tools-ffcrf
  tools/ffcrf_search.py       @ s/            low.percent <= plan.max_percent$/            True/ @ tools-ffcrf
  tools/ffcrf_search.py       @ s/prior \/ 2), prior \* 2/prior), prior/ @ tools-ffcrf
  tools/ffcrf_encode.py       @ s/\[x\]null{rest}\[e\]/[x]loop=1:1:0{rest}[e]/ @ ffcrf-pairs
  tools/ffcrf_encode.py       @ s/ or result.nb_packets not in (0, nb)// @ ffcrf-pairs
  tools/ffcrf_encode.py       @ s/'\[r\]\[e\]' if metric.decibels else '\[e\]\[r\]'/'[r][e]'/ @ ffcrf-metrics
  tools/ffcrf_encode.py       @ s/    entry.write(job, result.known)/    result.nb_frames > 25 and entry.write(job, result.known)/ @ ffcrf-resume
  tools/ffcrf_encode.py       @ s/':bitdepth=10'/''/ @ ffcrf-metrics
  tools/ffcrf_encode.py       @ s/max(nb \/\/ step, 1) <=/max((nb + step - 1) \/\/ step, 1) <=/ @ ffcrf-metrics
  tools/ffcrf_encode.py       @ s/ != quality_common.identity(job.encode)/ is None/ @ tools-ffcrf
  tools/ffcrf_encode.py       @ s/identities(\[\*words, job.source.path\])/identities(words[:1])/ @ ffcrf-cache
  tools/quality_common.py     @ s/prctl(1, signal.SIGKILL)/prctl(1, 0)/ @ ffcrf-resume
  tools/ffcrf_options.py      @ s/'_nvenc', 'cq'/'_nvenc', 'qp'/ @ ffcrf-encoders
  tools/ffcrf_encode.py       @ s/eof_action=pass/shortest=1/ @ ffcrf-metrics
  tools/ffcrf_encode.py       @ s/seconds \* (self.jobs/0 * (self.jobs/ @ ffcrf-meter
  tools/ffcrf_options.py      @ s/? L accurate_seek an /? L accurate_seek / @ ffcrf-options
  tools/ffcrf_options.py      @ s/ or len(job.inputs) != before// @ tools-ffcrf
  tools/ffcrf_encode.py       @ s/size\[1\] \* wanted\[0\] > /size[1] * wanted[0] < / @ ffcrf-abav1
  tools/ffcrf_encode.py       @ s/if is_format or name/if name/ @ ffcrf-abav1
  tools/ffcrf_encode.py       @ s/reverse=metric.better == 'lower'/reverse=metric.better == 'higher'/ @ ffcrf-samples
  tools/ffcrf_encode.py       @ s/^        worst = min if metric.better == 'higher' else max$/        worst = max/ @ ffcrf-samples
  tools/quality-gate   @ s/operator.gt/operator.ge/ @ tools-gate
  tools/quality-gate   @ s/<= self.last - self.options.window/< self.last - self.options.window/ @ tools-gate
  tools/quality-gate   @ s/if at + silence - since < (/if at + silence - since <= (/ @ tools-gate
  tools/quality_logs.py       @ s/int(index) - 1/int(index)/ @ tools-logs
END
}

# The project with the tree that it makes of FFmpeg's, and a build that takes these for its own:
# nothing has to be built again.
make_copy() { # build
    local src tree
    rm -rf "$copy"
    mkdir -p "$copy/build/tree" "$copy/build/$(basename "$1")"
    tar -C "$root" --exclude=./build --exclude=./.git -cf - . | tar -C "$copy" -xf -
    src=$(head -n 1 "$1/.configured")
    tree=$copy/build/tree/$(basename "$(readlink -f "$1/src")")
    "$copy/scripts/overlay.sh" tree "$src" "$tree"
    dir=$copy/build/$(basename "$1")
    reports=$dir/tests/data/fate
    tar -C "$1" --exclude=./tests/data -cf - . | tar -C "$dir" -xf -
    ln -sfn "$tree" "$dir/src"
    echo "include $tree/Makefile" > "$dir/Makefile"
    sed -i "s,^SRC_PATH=.*,SRC_PATH=$tree," "$dir/ffbuild/config.mak"
    touch -r "$1/ffbuild/config.mak" "$dir/ffbuild/config.mak"
}

# FATE in the copy: what hangs is ended after some minutes, and fails.
fate() { # minutes make's-arguments...
    timeout -k 10 "${1}m" make -C "$dir" -j"$(nproc)" EXTRA=yes "${@:2}" > "$dir/broken.log" 2>&1
}

# ---- dead programs ----

# In the place of a program, one that says that there is a GPU, for all formats, as tests are skipped
# else, and does nothing.
kill_program() { # file status
    local python=
    ! head -n 1 "$1" 2> /dev/null | grep -aq python || python=1
    rm -f "$1"
    if [ "$python" ]; then
        printf '#!/usr/bin/env python3\nimport sys\nsys.exit(%d)\n' "$2"
    else
        echo '#!/bin/sh'
        echo 'case " $* " in *" -init_hw_device cuda -version "* | *nullsrc=s=64x64:d=0.04*) exit 0 ;; esac'
        echo "exit $2"
    fi > "$1"
    chmod +x "$1"
}

dead() { # build exit-status
    local report name result program status old=()
    make_copy "$1"
    mkdir "$copy/bin"
    while read -r program; do
        kill_program "$program" "$2"
    done < <(find "$copy/tools" -type f -perm -u+x; printf '%s\n' "$copy"/bin/{clang,clang-14,clang-19,nvcc})
    # all that is built but FATE's own, which make may not build again
    while read -r program; do
        kill_program "$dir/$program" "$2"
        old+=(-o "$program")
    done < <(cd "$dir" && find . -type f -perm -u+x ! -path './ffbuild/*' ! -name '*_g' \
        \( ! -path './tests/*' -o -path './tests/*/*' \) -printf '%P\n')
    PATH=$copy/bin:$PATH fate 20 -k "${old[@]}" fate-quality || true
    for name in $(make -s -C "$dir" EXTRA=yes fate-quality-list); do
        report=$reports/$name.rep
        if ! IFS=: read -r _ result _ 2> /dev/null < "$report"; then
            fail "$name does not end where programs exit with $2"
        elif [ "$result" != 0 ]; then
            pass "$name fails where programs exit with $2"
        elif grep -qs "^$name: " "$reports/$name.skipped"; then
            skip "$name with dead programs" "$(sed 's/^[^:]*: //' "$reports/$name.skipped")"
        else
            # these look at a header, at what the build's compiler makes of kernels and at the
            # documentation, or are FFmpeg's own
            case $name in *-x87 | *-ptx-built | pairs-docs | checkasm-*) ;; *) fail "$name passes where programs exit with $2" ;; esac
        fi
    done
    status=0
    ! PARTS=clips timeout 5m "$copy/tests/gpu.sh" "$dir/ffmpeg" clip.mkv > "$tmp/out" 2>&1 &&
        grep -q '^0 passed, [1-9]' "$tmp/out" || status=$?
    told $status "tests/gpu.sh" "$2"
    status=0    # the lists of encodes need no program
    ! timeout 5m "$copy/tests/model.sh" "$dir/ffmpeg" > "$tmp/out" 2> /dev/null &&
        [ "$(grep '^PASS' "$tmp/out")" = "PASS    the lists of contents and of encodes" ] || status=$?
    told $status "tests/model.sh" "$2"
}

told() { # status script exit-status
    if [ "$1" = 0 ]; then pass "$2 fails where programs exit with $3"; else fail "$2 where programs exit with $3" "$tmp/out"; fi
}

# ---- mutants ----

mutant() { # build file expression tests...
    local base=$1 file=$2 expression=$3 name="mutant $2 $3" status=0 changed
    shift 3
    sed "$expression" "$root/$file" > "$copy/$file"
    ! cmp -s "$root/$file" "$copy/$file" || { fail "$name: there is no such line any more"; return; }
    rm -rf "$reports"
    touch "$copy/stamp"
    fate 5 "${@/#/fate-}" || status=$?
    if grep -qs '^[^:]*:[^0]' "$reports"/*.rep; then
        pass "$name is seen by $(grep -l '^[^:]*:[^0]' "$reports"/*.rep | head -n 1 | xargs basename -s .rep)"
    elif [ $status = 0 ]; then
        fail "$name is not seen by $*"
    else
        fail "$name: cannot be built, or hangs" "$dir/broken.log"
    fi
    cp -p "$root/$file" "$copy/$file"
    # whatever was built since then is as in the build that was copied
    while read -r changed; do
        rm -f "$dir/$changed"
        [ ! -e "$base/$changed" ] || cp -p "$base/$changed" "$dir/$changed"
    done < <(cd "$dir" && find . -path ./tests/data -prune -o -type f -newer "$copy/stamp" -print)
}

all_mutants() { # build some|all
    local file expression tests
    make_copy "$1"
    mutants | case ${MUTANTS:-$2} in
    some) sed -n 's/^\* //p' ;;
    all)  cut -c3- ;;
    *)    cut -c3- | grep "^$MUTANTS@" ;;
    esac > "$tmp/chosen"
    # shellcheck disable=SC2046
    fate 30 $(cut -d@ -f3 "$tmp/chosen" | tr ' ' '\n' | sort -u | sed 's/^/fate-/') ||
        { fail "mutants: the tests do not pass without any" "$dir/broken.log"; return; }
    while IFS=@ read -r file expression tests; do
        # shellcheck disable=SC2086
        mutant "$1" "$file" "$expression" $tests
    done < "$tmp/chosen"
}

which=${1:-both}
if [ "$which" = both ]; then
    lock
    "$scripts/deps.sh" build check model
    base=$("$scripts/build.sh")
else
    base=$(readlink -f "${2:?of which build?}")
fi
copy=$build/broken-$which
case $which in
dead)    dead "$base" 0 ;;
mutants) all_mutants "$base" "${3:-some}" ;;
both)    dead "$base" 0; dead "$base" 1; all_mutants "$base" all ;;
*)       die "$which is not known" "dead and mutants are" ;;
esac
rm -rf "$copy"
[ $failed = 0 ]
