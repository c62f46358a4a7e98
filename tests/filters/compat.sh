# shellcheck shell=sh disable=SC2034,SC2046,SC2086,SC2154
# Tests of libvmaf and libvmaf_cuda, which are vmaf and vmaf_cuda under the names of libvmaf's filters, by
# the command lines and parsers of other programs. They come after tests/filters/vmaf.sh.
# SPDX-License-Identifier: LGPL-2.1-or-later

# The last score in the log of a command, as ab-av1 reads it: src/vmaf.rs, line 85.
ab_av1_score(){
    grep 'VMAF score: ' ${tmp}/err | tail -n 1 | sed 's/.*VMAF score: //' | awk '!/^[0-9.]+$/ { print "not a number: " $0; exit } { print }'
}

# Scores of a JSON log, as Av1an (av1an-core/src/metrics/vmaf.rs, read_vmaf_file) and
# ffmpeg-quality-metrics (ffmpeg_quality_metrics.py, _read_vmaf_temp_file) read them.
json_scores(){
    python3 -c 'import json, sys
for frame in json.load(open(sys.argv[1]))["frames"]:
    print(int(frame["frameNum"]) + 1, float(frame["metrics"]["vmaf"]))' $1
}

# The filter under libvmaf's name by the command lines of other programs.
vmaf_compat(){
    need python3 || return 0
    draw 3 8 1 1
    raw="-f rawvideo -pix_fmt yuv420p -video_size 480x360"
    inputs="${raw} -i ${tmp}/encode ${raw} -i ${tmp}/source"
    # libvmaf in the second column: ffmpeg-quality-metrics, _check_available_filters
    run ffmpeg${PROGSUF}${EXECSUF} -v error -filters | awk '$2 == "libvmaf" { print $2 }'
    # what Av1an looks for: validate_libvmaf
    run ffmpeg${PROGSUF}${EXECSUF} -h 2>&1 | grep -o -e '--enable-libvmaf' | sort -u
    echo "ab-av1"
    # src/command/args/vmaf.rs, lines 267, 277, 348 and 366
    for options in n_threads=5:n_subsample=2 n_threads=4 n_threads=5:model=version=vmaf_v1.0.16_3d0h n_threads=5:n_subsample=4:model=version=vmaf_4k_v0.6.1; do
        heard ffmpeg ${inputs} -filter_complex "[0:v]format=yuv420p,scale=640:-1:flags=bicubic+accurate_rnd+bitexact,setpts=PTS-STARTPTS,settb=AVTB[dis];[1:v]format=yuv420p,scale=640:-1:flags=bicubic+accurate_rnd+bitexact,setpts=PTS-STARTPTS,settb=AVTB[ref];[dis][ref]libvmaf=shortest=true:ts_sync_mode=nearest:${options}" -an -sn -dn ${to_null}
        ab_av1_score
    done
    echo "Av1an"
    # av1an-core/src/metrics/vmaf.rs, run_vmaf
    heard ffmpeg -r 60 ${raw} -i ${tmp}/encode -r 60 ${raw} -i ${tmp}/source -filter_complex "[0:v]scale=480x360:flags=bicubic:force_original_aspect_ratio=decrease,setpts=PTS-STARTPTS,setsar=1[distorted];[1:v]scale=480x360:flags=bicubic:force_original_aspect_ratio=decrease,setpts=PTS-STARTPTS,setsar=1[ref];[distorted][ref]libvmaf=log_fmt='json':eof_action=endall:log_path=${tmp}/log.json:model='version=vmaf_v0.6.1neg\\:motion.motion_force_zero=true':n_threads=2" ${to_null}
    json_scores ${tmp}/log.json
    echo "ffmpeg-quality-metrics"
    # _get_libvmaf_filter_opts, and the chains of calculate()
    for file in vmaf_v0.6.1 vmaf_v1.0.16_5d0h; do
        heard ffmpeg -r 25 ${raw} -i ${tmp}/source -itsoffset 0 -r 25 ${raw} -i ${tmp}/encode -filter_complex "[1][0]scale=rw:rh:flags=bicubic[dist];[dist]settb=AVTB,setpts=PTS-STARTPTS[distpts];[0]settb=AVTB,setpts=PTS-STARTPTS[refpts];[distpts][refpts]libvmaf='model=path=/vmaf_models/${file}.json:log_path=${tmp}/log.json:log_fmt=json:n_threads=0:n_subsample=2:shortest=1:repeatlast=0'" -an ${to_null}
        json_scores ${tmp}/log.json
    done
    echo "defaults"
    for pool in mean min harmonic_mean; do
        heard ffmpeg ${inputs} -lavfi "[0][1]libvmaf=log_path=${tmp}/log:pool=${pool}" ${to_null}
        ab_av1_score
    done
    grep -c 'libvmaf is not linked' ${tmp}/err
    head -n 1 ${tmp}/log | cut -c1-5
    # a shorter reference: its last frame is repeated, as in FFmpeg's filter
    heard ffmpeg ${inputs} -lavfi "[1]trim=end_frame=2[r];[0][r]libvmaf=log_fmt=csv:log_path=-" ${to_null} | grep -c '^[0-9]'
}

# Av1an's weighted scores: a graph of three filters, each on a gray plane (run_vmaf_weighted).
vmaf_compat_planes(){
    need python3 || return 0
    draw 3 8 1 1
    raw="-f rawvideo -pix_fmt yuv420p -video_size 480x360"
    graph="[1:v]format=yuv420p[ref];[0:v]format=yuv420p[dis];[dis]extractplanes=y+u+v[dis_y][dis_u][dis_v];[ref]extractplanes=y+u+v[ref_y][ref_u][ref_v]"
    for p in y u v; do
        graph="${graph};[dis_${p}][ref_${p}]libvmaf=log_path=${tmp}/vmaf_${p}.json:log_fmt=json:n_threads=2:n_subsample=1:model='version=vmaf_v0.6.1':eof_action=endall[vmaf_${p}_out]"
    done
    heard ffmpeg ${raw} -i ${tmp}/encode ${raw} -i ${tmp}/source -filter_complex "${graph}" -map "[vmaf_y_out]" -map "[vmaf_u_out]" -map "[vmaf_v_out]" -an -sn -dn ${to_null}
    for p in y u v; do json_scores ${tmp}/vmaf_${p}.json; done
}
